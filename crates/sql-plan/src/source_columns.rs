//! Columns of the query of an INSERT … SELECT that its ON DUPLICATE KEY UPDATE names: they are added to the rows of the query.

use catalog::same_name;
use parser::ast::{self, QueryBody, SelectItem};
use sql_expr::Clause;
use sql_expr::scope::unknown_column;
use types::{ErrorKind, SqlError, SqlResult, SqlType};

use super::Planner;

/// The query with what has been named so far.
pub struct SourceColumns {
    query: ast::Query,
    /// Of the query as it was written.
    width: usize,
    named: Vec<SourceColumn>,
}

#[derive(Clone)]
pub struct SourceColumn {
    pub name: ast::ColumnName,
    /// Among the columns of the query's rows.
    pub position: usize,
    pub ty: SqlType,
}

impl SourceColumns {
    /// Nothing where the rows of the query are not those of its tables: then they have no other columns.
    pub fn of(query: &ast::Query, width: usize) -> Option<SourceColumns> {
        let QueryBody::Select(select) = &query.body else {
            return None;
        };
        (select.group_by.is_empty() && !select.from.is_empty()).then(|| SourceColumns {
            query: query.clone(),
            width,
            named: Vec::new(),
        })
    }

    /// The query whose rows have the columns that were named; nothing if none was.
    pub fn into_query(self) -> Option<ast::Query> {
        (!self.named.is_empty()).then_some(self.query)
    }

    /// 1054 for a column that the tables of the query do not have.
    pub fn column(&mut self, planner: &Planner<'_>, name: &ast::ColumnName) -> SqlResult<SourceColumn> {
        if let Some(known) = self.named.iter().find(|known| known.name == *name) {
            return Ok(known.clone());
        }
        let mut query = self.query.clone();
        let Some(position) = self.position(&mut query, name) else {
            return Err(unknown_column(name, Clause::FieldList));
        };
        let plan = planner
            .aside(|| super::query::plan_query(planner, &query))
            .map_err(|error| not_there(error, name))?;
        let column = SourceColumn {
            name: name.clone(),
            position,
            ty: plan.shape.columns[position].ty.clone(),
        };
        self.query = query;
        self.named.push(column.clone());
        Ok(column)
    }

    /// Whether the tables of the query have the column.
    pub fn has(&self, planner: &Planner<'_>, name: &ast::ColumnName) -> SqlResult<bool> {
        let mut query = self.query.clone();
        if self.position(&mut query, name).is_none() {
            return Ok(false);
        }
        match planner.aside(|| super::query::plan_query(planner, &query)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::BadField => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Where the column is in the query's rows, to whose list it is added. DISTINCT allows no other columns than those that it looks at.
    fn position(&self, query: &mut ast::Query, name: &ast::ColumnName) -> Option<usize> {
        let QueryBody::Select(select) = &mut query.body else {
            return None;
        };
        if select.options.distinct {
            let same_column = |item: &SelectItem| match item {
                SelectItem::Expr {
                    expr: ast::Expr::Column(column),
                    ..
                } => {
                    let same_table = name.table.is_none() || column.table.is_none() || column.table == name.table;
                    same_table && same_name(&column.name, &name.name)
                }
                _ => false,
            };
            let is_wildcard = |item: &SelectItem| !matches!(item, SelectItem::Expr { .. });
            return match select.items.iter().any(is_wildcard) {
                true => None,
                false => select.items.iter().position(same_column),
            };
        }
        let position = self.width + self.named.len();
        select.items.push(SelectItem::Expr {
            expr: ast::Expr::Column(Box::new(name.clone())),
            // ORDER BY and HAVING must not find it.
            alias: Some(format!("of the source {position}").as_str().into()),
            text: ast::SourceText::default(),
        });
        Some(position)
    }
}

fn not_there(error: SqlError, name: &ast::ColumnName) -> SqlError {
    match error.code() == ErrorKind::BadField.code() {
        true => unknown_column(name, Clause::FieldList),
        false => error,
    }
}
