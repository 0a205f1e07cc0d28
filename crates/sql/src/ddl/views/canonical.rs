//! A view's query with its names written out.
//!
//! Tables get their databases, columns their tables, the items of the select list their names, and `*` becomes the columns that it
//! stands for when the view is made (MySQL manual, "CREATE VIEW": the definition is frozen at creation time).

use catalog::Names;
use parser::ast::{self, ColumnName, Expr, Ident, Part, Query, QueryBody, Select, SelectItem, SourceText, TableRef};
use sql_api::result::ResultColumn;
use types::{ErrorKind, SqlError, SqlResult};

use crate::plan::Planner;
use crate::plan::query::plan_query;

pub(super) fn canonical(planner: &Planner<'_>, query: &Query) -> SqlResult<Query> {
    let mut query = query.clone();
    let mut writer = Writer {
        planner,
        common: Vec::new(),
        recursive: false,
        scopes: Vec::new(),
    };
    writer.query(&mut query)?;
    // Rows that a view shows are not locked by it.
    query.locks.clear();
    Ok(query)
}

/// Longer texts of expressions are no names of columns: those are called `Name_exp_1` and so on.
const MAX_NAME_CHARS: usize = 64;

struct Writer<'a, 'p> {
    planner: &'a Planner<'p>,
    /// The common tables in sight, the outermost first.
    common: Vec<ast::CommonTable>,
    recursive: bool,
    /// The columns of the FROM clauses in sight, the innermost last.
    scopes: Vec<Shown>,
}

/// The columns that a FROM clause shows.
#[derive(Default)]
struct Shown {
    names: Names,
    columns: Vec<ResultColumn>,
}

impl Writer<'_, '_> {
    fn query(&mut self, query: &mut Query) -> SqlResult<()> {
        let common = self.common.len();
        if let Some(with) = &mut query.with {
            self.recursive |= with.recursive;
            for table in &mut with.tables {
                if with.recursive {
                    // It may name itself: as it stands.
                    self.common.push(table.clone());
                    self.query(&mut table.query)?;
                    self.common.pop();
                } else {
                    self.query(&mut table.query)?;
                }
                self.common.push(table.clone());
            }
        }
        let order = std::mem::take(&mut query.order_by);
        query.order_by = self.body(&mut query.body, order)?;
        self.common.truncate(common);
        Ok(())
    }

    /// Returns ORDER BY, whose names are those of a SELECT that stands alone.
    fn body(&mut self, body: &mut QueryBody, order: Vec<ast::OrderItem>) -> SqlResult<Vec<ast::OrderItem>> {
        if let QueryBody::Table(name) = body {
            let factor = ast::TableFactor::plain(name.clone());
            let select = Select::all_of(vec![TableRef::Table(Box::new(factor))]);
            *body = QueryBody::Select(Box::new(select));
        }
        match body {
            QueryBody::Select(select) => return self.select(select, order),
            QueryBody::Query(query) => self.query(query)?,
            QueryBody::SetOperation(set) => {
                self.body(&mut set.first, Vec::new())?;
                for term in &mut set.rest {
                    self.body(&mut term.body, Vec::new())?;
                }
            }
            QueryBody::Values(rows) => {
                for value in rows.iter_mut().flatten() {
                    self.expr(value, &Names::default())?;
                }
            }
            QueryBody::Table(_) => {}
        }
        Ok(order)
    }

    fn select(&mut self, select: &mut Select, mut order: Vec<ast::OrderItem>) -> SqlResult<Vec<ast::OrderItem>> {
        // Tables in FROM do not see the columns of the queries around them.
        let around = std::mem::take(&mut self.scopes);
        for table in &mut select.from {
            self.tables(table)?;
        }
        self.scopes = around;
        let shown = self.shown(&select.from);
        self.expand(select, shown.as_ref());
        self.scopes.push(shown.unwrap_or_default());
        let result = self.clauses(select, &mut order);
        self.scopes.pop();
        result.map(|()| order)
    }

    fn clauses(&mut self, select: &mut Select, order: &mut [ast::OrderItem]) -> SqlResult<()> {
        for table in &mut select.from {
            self.conditions(table)?;
        }
        let mut aliases = Names::default();
        for (at, item) in select.items.iter_mut().enumerate() {
            let name = match item.column_name() {
                Some(name) if name.chars().count() > MAX_NAME_CHARS || name.ends_with(' ') || name.is_empty() => {
                    format!("Name_exp_{}", at + 1)
                }
                Some(name) => name.to_owned(),
                None => continue,
            };
            if let SelectItem::Expr { expr, alias, text } = item {
                let written = alias.is_some();
                self.expr(expr, &Names::default())?;
                alias.get_or_insert_with(|| name.as_str().into());
                *text = SourceText::default();
                // An item that is a column means the same under its name.
                if written || !matches!(expr, Expr::Column(_)) {
                    aliases.push(&name);
                }
            }
        }
        if let Some(filter) = &mut select.filter {
            self.expr(filter, &Names::default())?;
        }
        for item in &mut select.group_by {
            self.expr(&mut item.expr, &Names::default())?;
        }
        if let Some(having) = &mut select.having {
            self.expr(having, &aliases)?;
        }
        for (_, window) in &mut select.windows {
            let mut outcome = Ok(());
            window.for_each_part(&mut |part| {
                if outcome.is_ok() {
                    outcome = self.part(part, &Names::default());
                }
            });
            outcome?;
        }
        for item in order {
            self.expr(&mut item.expr, &aliases)?;
        }
        Ok(())
    }

    fn is_common(&self, name: &str) -> bool {
        governor::pause();
        self.common.iter().any(|table| catalog::same_name(&table.name, name))
    }

    /// Names of tables.
    fn tables(&mut self, table: &mut TableRef) -> SqlResult<()> {
        match table {
            TableRef::Table(factor) => {
                let name = &mut factor.name;
                let is_common = name.schema.is_none() && self.is_common(&name.name);
                if is_common {
                    return Ok(());
                }
                let database = match &name.schema {
                    Some(schema) => schema.as_str(),
                    None => self.planner.current_database().ok_or(ErrorKind::NoDb)?,
                };
                if self.planner.temporary_table(database, &name.name).is_some() {
                    return Err(SqlError::new(ErrorKind::ViewSelectTmptable, &[&name.name.as_str()]));
                }
                name.schema = Some(database.into());
                Ok(())
            }
            TableRef::Derived(derived) => self.query(&mut derived.query),
            // Its document may name columns of the tables before it.
            TableRef::JsonTable(_) => Ok(()),
            TableRef::Join(join) => {
                self.tables(&mut join.left)?;
                self.tables(&mut join.right)
            }
            TableRef::List(list) => list.iter_mut().try_for_each(|table| self.tables(table)),
        }
    }

    /// Columns in ON, and in the documents of JSON_TABLE.
    fn conditions(&mut self, table: &mut TableRef) -> SqlResult<()> {
        match table {
            TableRef::Join(join) => {
                self.conditions(&mut join.left)?;
                self.conditions(&mut join.right)?;
                match &mut join.condition {
                    ast::JoinCondition::On(condition) => self.expr(condition, &Names::default()),
                    _ => Ok(()),
                }
            }
            TableRef::List(list) => list.iter_mut().try_for_each(|table| self.conditions(table)),
            TableRef::JsonTable(table) => self.expr(&mut table.document, &Names::default()),
            TableRef::Table(_) | TableRef::Derived(_) => Ok(()),
        }
    }

    /// What `*` stands for; `None` where the clause cannot be planned by itself: its ON names columns from around.
    fn shown(&self, from: &[TableRef]) -> Option<Shown> {
        self.shown_by(SelectItem::Wildcard, from)
    }

    /// What `*`, or `table.*`, stands for.
    fn shown_by(&self, wildcard: SelectItem, from: &[TableRef]) -> Option<Shown> {
        if from.is_empty() {
            return Some(Shown::default());
        }
        let select = Select {
            items: vec![wildcard],
            ..Select::all_of(from.to_vec())
        };
        let mut query = Query::plain(QueryBody::Select(Box::new(select)));
        if !self.common.is_empty() {
            query.with = Some(ast::With {
                recursive: self.recursive,
                tables: self.common.clone(),
            });
        }
        let plan = plan_query(self.planner, &query).ok()?;
        let columns = plan.shape.columns.clone();
        Some(Shown {
            names: columns.iter().map(|column| column.name.as_str()).collect(),
            columns,
        })
    }

    fn expand(&self, select: &mut Select, shown: Option<&Shown>) {
        let Some(shown) = shown else { return };
        let mut items = Vec::with_capacity(select.items.len());
        for item in std::mem::take(&mut select.items) {
            // A table by itself shows what USING has in common with another one, too.
            let of_table;
            let shown = match &item {
                SelectItem::Wildcard => Some(shown),
                SelectItem::TableWildcard(_) => {
                    of_table = self.shown_by(item.clone(), &select.from);
                    of_table.as_ref()
                }
                SelectItem::Expr { .. } => {
                    items.push(item);
                    continue;
                }
            };
            let before = items.len();
            let columns = shown.map_or(&[][..], |shown| &shown.columns[..]);
            let columns = columns.iter().inspect(|_| governor::pause());
            items.extend(columns.map(|column| SelectItem::Expr {
                expr: Expr::Column(Box::new(ColumnName {
                    schema: None,
                    table: Some(column.table.as_str().into()),
                    name: column.name.as_str().into(),
                })),
                alias: Some(column.name.as_str().into()),
                text: SourceText::default(),
            }));
            if items.len() == before {
                // Nothing by that name: the planner says so.
                items.push(item);
            }
        }
        select.items = items;
    }

    fn part(&mut self, part: Part<'_>, aliases: &Names) -> SqlResult<()> {
        match part {
            Part::Expr(expr) => self.expr(expr, aliases),
            Part::Query(query) => self.query(query),
            Part::Column(column) => {
                self.column(column, aliases);
                Ok(())
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr, aliases: &Names) -> SqlResult<()> {
        match expr {
            Expr::Column(column) => {
                self.column(column, aliases);
                return Ok(());
            }
            Expr::UserVar(_) | Expr::SystemVar(_) | Expr::Assign(_) | Expr::Param(_) | Expr::Local(_) => {
                return Err(ErrorKind::ViewSelectVariable.into());
            }
            // The function of this name that the definer means, whatever database the view is read from.
            Expr::Function(call) if call.schema.is_none() && crate::expr::functions::find(&call.name).is_none() => {
                call.schema = self.planner.current_database().map(Ident::from);
            }
            _ => {}
        }
        let mut outcome = Ok(());
        expr.for_each_part(&mut |part| {
            if outcome.is_ok() {
                outcome = self.part(part, aliases);
            }
        });
        outcome
    }

    /// Writes the table of a column that only one has, looked for from the inside out.
    fn column(&self, column: &mut ColumnName, aliases: &Names) {
        if column.table.is_some() || aliases.contains(&column.name) {
            return;
        }
        for scope in self.scopes.iter().rev() {
            let Some(place) = scope.names.get(&column.name) else {
                continue;
            };
            let table = &scope.columns[place.first].table;
            if !place.is_repeated && !table.is_empty() {
                column.table = Some(Ident::from(table.as_str()));
            }
            return;
        }
    }
}
