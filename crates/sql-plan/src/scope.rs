//! The names of a statement over one table.

use std::sync::Arc;

use catalog::{Privileges, ViewDef, same_name};
use parser::ast;
use sql_expr::scope::{ambiguous_column, unknown_column};
use sql_expr::{Clause, Expr, Resolved, Scope, Subquery};
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::Planner;
use super::source_columns::SourceColumns;
use super::views::Question;
use crate::changes::ViewRule;
use crate::node::Authorizer;
use crate::table::Table;

/// The columns of one table, in slots from 0; for ON DUPLICATE KEY UPDATE also those of the new row, and of the query
/// that it comes from, behind them.
pub struct TableScope<'a> {
    pub planner: &'a Planner<'a>,
    pub table: Arc<Table>,
    /// The name that qualifies columns.
    pub alias: &'a str,
    /// Names of the new row and of its columns (`INSERT … AS new(a, b)`), where VALUES() is allowed.
    pub new_row: Option<NewRow<'a>>,
    /// The columns of the query that gives the new row, in slots behind it.
    pub source: Option<SourceColumns>,
    pub clause: Clause,
    /// Columns that were asked for.
    pub used: Vec<usize>,
    /// Who must be allowed to read the columns; nobody for what belongs to the table's definition.
    pub reader: Option<Arc<dyn Authorizer>>,
    /// The view that the statement names instead of the table.
    pub through: Option<&'a Through>,
}

/// A view in front of a table: its columns are all that has a name, and whoever reads or changes them is asked for privileges on it.
pub struct Through {
    pub view: Arc<ViewDef>,
    /// For each column of the view the column of the table; none where it is another table's.
    pub columns: Vec<Option<usize>>,
    /// What the view's CHECK OPTION lets through, over the row.
    pub rules: Vec<ViewRule>,
    /// What is to be asked of whoever reads them.
    pub questions: Arc<[Question]>,
}

impl Through {
    pub fn column(&self, name: &str) -> Option<usize> {
        let mut names = self.view.columns.iter();
        self.columns[names.position(|known| same_name(known, name))?]
    }

    /// What the view calls a column of the table.
    pub fn name_of(&self, column: usize) -> Option<&str> {
        let at = self.columns.iter().position(|known| *known == Some(column))?;
        Some(&self.view.columns[at])
    }
}

/// The new row of an INSERT as ON DUPLICATE KEY UPDATE can name it.
pub struct NewRow<'a> {
    pub alias: Option<&'a str>,
    /// The columns that the INSERT lists, by their names in the new row: it has no others.
    pub columns: Vec<(&'a str, usize)>,
}

impl<'a> TableScope<'a> {
    pub fn new(planner: &'a Planner<'a>, table: Arc<Table>, alias: &'a str, clause: Clause) -> TableScope<'a> {
        TableScope {
            planner,
            table,
            alias,
            new_row: None,
            source: None,
            clause,
            used: Vec::new(),
            reader: None,
            through: None,
        }
    }

    /// The same for a statement that names this view.
    pub fn through(self, through: Option<&'a Through>) -> TableScope<'a> {
        let alias = through.map_or(self.alias, |through| through.view.name.as_str());
        TableScope { alias, through, ..self }
    }

    /// The same for expressions of a statement that whoever has this access runs.
    pub fn read_by(self, access: Arc<dyn Authorizer>) -> TableScope<'a> {
        TableScope {
            reader: Some(access),
            ..self
        }
    }

    fn check_read(&self, column: usize) -> SqlResult<()> {
        let def = &self.table.def;
        match (&self.reader, self.through) {
            (Some(reader), Some(Through { view, questions, .. })) => {
                let name = self.name_of(column);
                reader.check_column(&view.database, &view.name, name, Privileges::SELECT)?;
                self.planner.ask_deferred(view, questions)
            }
            (Some(reader), None) if !self.table.id().is_local() => {
                reader.check_column(&def.database, &def.name, self.name_of(column), Privileges::SELECT)
            }
            _ => Ok(()),
        }
    }

    /// What the statement calls a column.
    pub fn name_of(&self, column: usize) -> &str {
        let viewed = self.through.and_then(|through| through.name_of(column));
        viewed.unwrap_or(&self.table.def.columns[column].name)
    }

    /// What a statement means that names no columns.
    pub fn all_columns(&self) -> Vec<usize> {
        match self.through {
            Some(through) => through.columns.iter().flatten().copied().collect(),
            None => {
                let columns = self.table.def.columns.iter().enumerate();
                let visible = columns.filter(|(_, column)| !column.invisible);
                visible.map(|(position, _)| position).collect()
            }
        }
    }

    /// The column that the statement calls so.
    pub fn column_named(&self, name: &str) -> Option<usize> {
        match self.through {
            Some(through) => through.column(name),
            None => self.table.column(name),
        }
    }

    fn own_column(&self, name: &ast::ColumnName) -> Option<usize> {
        let named = match self.through {
            Some(through) => &through.view.database,
            None => &self.table.def.database,
        };
        let database = name.schema.as_ref().is_none_or(|schema| schema.as_str() == named);
        let table = name.table.as_ref().is_none_or(|table| table.as_str() == self.alias);
        self.column_named(&name.name).filter(|_| database && table)
    }

    fn new_column(&self, name: &ast::ColumnName) -> Option<usize> {
        let new_row = self.new_row.as_ref()?;
        let alias = new_row.alias?;
        if name.table.as_ref().is_some_and(|table| table.as_str() != alias) {
            return None;
        }
        new_row
            .columns
            .iter()
            .find(|(known, _)| same_name(known, &name.name))
            .map(|(_, column)| *column)
    }

    fn column_expr(&self, column: usize, offset: usize) -> Expr {
        let definition = &self.table.def.columns[column];
        Expr::column(column + offset, definition.name.as_str(), definition.ty.clone())
    }
}

impl Scope for TableScope<'_> {
    fn resolve(&mut self, name: &ast::ColumnName) -> SqlResult<Resolved> {
        let column = match (self.own_column(name), self.new_column(name)) {
            (Some(_), Some(_)) if name.table.is_none() => return Err(ambiguous_column(name, self.clause)),
            (Some(column), _) => {
                self.check_read(column)?;
                if let Some(source) = &self.source
                    && source.has(self.planner, name)?
                {
                    return Err(ambiguous_column(name, self.clause));
                }
                column
            }
            (None, Some(column)) => {
                self.check_read(column)?;
                return Ok(Resolved::Expr(Box::new(
                    self.column_expr(column, self.table.def.columns.len()),
                )));
            }
            (None, None) => {
                let source = self.source.as_mut().ok_or_else(|| unknown_column(name, self.clause))?;
                let column = source.column(self.planner, name)?;
                return Ok(Resolved::Column {
                    slot: 2 * self.table.def.columns.len() + column.position,
                    name: column.name.name.as_str().into(),
                    ty: column.ty,
                });
            }
        };
        if !self.used.contains(&column) {
            self.used.push(column);
        }
        let definition = &self.table.def.columns[column];
        Ok(Resolved::Column {
            slot: column,
            name: definition.name.as_str().into(),
            ty: definition.ty.clone(),
        })
    }

    fn subquery(&mut self, query: &ast::Query) -> SqlResult<Arc<dyn Subquery>> {
        let common = super::query::CommonTables::default();
        Ok(Arc::new(super::query::plan_subquery(
            self.planner,
            query,
            &common,
            self,
        )?))
    }

    fn stored_function(&mut self, call: &ast::FunctionCall) -> SqlResult<Option<Arc<dyn Subquery>>> {
        self.planner.stored_function(call)
    }

    fn insert_value(&mut self, name: &ast::ColumnName) -> SqlResult<Expr> {
        let column = self.own_column(name).ok_or_else(|| unknown_column(name, self.clause))?;
        self.check_read(column)?;
        match self.new_row {
            Some(_) => Ok(self.column_expr(column, self.table.def.columns.len())),
            None => Ok(Expr::literal(Value::Null, self.table.def.columns[column].ty.clone())),
        }
    }

    fn default_of(&mut self, name: &ast::ColumnName) -> SqlResult<Expr> {
        let column = self.own_column(name).ok_or_else(|| unknown_column(name, self.clause))?;
        self.check_read(column)?;
        let definition = &self.table.def.columns[column];
        default_of_column(definition)
    }

    fn clause(&self) -> Clause {
        self.clause
    }
}

/// `DEFAULT(column)`: 3773 for one that is computed, 1364 where there is none.
pub fn default_of_column(column: &catalog::ColumnDef) -> SqlResult<Expr> {
    match (crate::columns::constant_default(column), &column.default) {
        (Some(value), _) => Ok(Expr::literal(value, column.ty.clone())),
        (None, Some(catalog::ColumnDefault::Expression(_))) => Err(ErrorKind::DefaultAsValGenerated.into()),
        (None, _) => Err(SqlError::new(ErrorKind::NoDefaultForField, &[&column.name])),
    }
}
