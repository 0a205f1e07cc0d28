//! The tables that a query names.

use super::{Expr, JoinCondition, Part, Query, QueryBody, SelectItem, TableName, TableRef};

impl Query {
    /// Visits every table that the query names, at any depth.
    pub fn for_each_table_name(&mut self, visit: &mut dyn FnMut(&mut TableName)) {
        of_query(self, visit);
    }
}

fn of_query(query: &mut Query, visit: &mut dyn FnMut(&mut TableName)) {
    if let Some(with) = &mut query.with {
        for table in &mut with.tables {
            of_query(&mut table.query, visit);
        }
    }
    of_body(&mut query.body, visit);
    for item in &mut query.order_by {
        of_expr(&mut item.expr, visit);
    }
}

fn of_body(body: &mut QueryBody, visit: &mut dyn FnMut(&mut TableName)) {
    match body {
        QueryBody::Select(select) => {
            for table in &mut select.from {
                of_table(table, visit);
            }
            let items = select.items.iter_mut().filter_map(|item| match item {
                SelectItem::Expr { expr, .. } => Some(expr),
                _ => None,
            });
            let groups = select.group_by.iter_mut().map(|item| &mut item.expr);
            for expr in items.chain(&mut select.filter).chain(groups).chain(&mut select.having) {
                of_expr(expr, visit);
            }
            for (_, window) in &mut select.windows {
                window.for_each_part(&mut |part| of_part(part, visit));
            }
        }
        QueryBody::Values(rows) => {
            for value in rows.iter_mut().flatten() {
                of_expr(value, visit);
            }
        }
        QueryBody::Table(name) => visit(name),
        QueryBody::SetOperation(set) => {
            of_body(&mut set.first, visit);
            for term in &mut set.rest {
                of_body(&mut term.body, visit);
            }
        }
        QueryBody::Query(query) => of_query(query, visit),
    }
}

fn of_table(table: &mut TableRef, visit: &mut dyn FnMut(&mut TableName)) {
    match table {
        TableRef::Table(factor) => visit(&mut factor.name),
        TableRef::Derived(derived) => of_query(&mut derived.query, visit),
        TableRef::JsonTable(table) => of_expr(&mut table.document, visit),
        TableRef::Join(join) => {
            of_table(&mut join.left, visit);
            of_table(&mut join.right, visit);
            if let JoinCondition::On(condition) = &mut join.condition {
                of_expr(condition, visit);
            }
        }
        TableRef::List(list) => list.iter_mut().for_each(|table| of_table(table, visit)),
    }
}

fn of_expr(expr: &mut Expr, visit: &mut dyn FnMut(&mut TableName)) {
    expr.for_each_part(&mut |part| of_part(part, visit));
}

fn of_part(part: Part<'_>, visit: &mut dyn FnMut(&mut TableName)) {
    match part {
        Part::Expr(expr) => of_expr(expr, visit),
        Part::Query(query) => of_query(query, visit),
        Part::Column(_) => {}
    }
}
