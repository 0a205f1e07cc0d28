//! The names of a statement over one table.

use std::sync::Arc;

use parser::ast;
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::Planner;
use crate::accounts::access::Access;
use crate::expr::scope::{ambiguous_column, unknown_column};
use crate::expr::{Clause, Expr, Resolved, Scope, Subquery};
use crate::table::Table;
use crate::temporary::is_temporary;
use catalog::{Privileges, same_name};

/// The columns of one table, in slots from 0; for ON DUPLICATE KEY UPDATE also those of the new row, behind them.
pub struct TableScope<'a> {
    pub planner: &'a Planner<'a>,
    pub table: Arc<Table>,
    /// The name that qualifies columns.
    pub alias: &'a str,
    /// Names of the new row and of its columns (`INSERT … AS new(a, b)`), where VALUES() is allowed.
    pub new_row: Option<NewRow<'a>>,
    pub clause: Clause,
    /// Columns that were asked for.
    pub used: Vec<usize>,
    /// Who must be allowed to read the columns; nobody for what belongs to the table's definition.
    pub reader: Option<Arc<Access>>,
}

/// The new row of an INSERT as ON DUPLICATE KEY UPDATE can name it.
pub struct NewRow<'a> {
    pub alias: Option<&'a str>,
    /// Own names for the columns that the INSERT lists.
    pub columns: Vec<(&'a str, usize)>,
}

impl<'a> TableScope<'a> {
    pub fn new(planner: &'a Planner<'a>, table: Arc<Table>, alias: &'a str, clause: Clause) -> TableScope<'a> {
        TableScope {
            planner,
            table,
            alias,
            new_row: None,
            clause,
            used: Vec::new(),
            reader: None,
        }
    }

    /// The same for expressions of a statement that whoever has this access runs.
    pub fn read_by(self, access: Arc<Access>) -> TableScope<'a> {
        TableScope {
            reader: Some(access),
            ..self
        }
    }

    fn check_read(&self, column: usize) -> SqlResult<()> {
        let def = &self.table.def;
        match &self.reader {
            Some(reader) if !is_temporary(self.table.id()) => {
                let name = &def.columns[column].name;
                reader.check_column(&def.database, &def.name, name, Privileges::SELECT)
            }
            _ => Ok(()),
        }
    }

    fn own_column(&self, name: &ast::ColumnName) -> Option<usize> {
        let database = name
            .schema
            .as_ref()
            .is_none_or(|schema| schema.as_str() == self.table.def.database);
        let table = name.table.as_ref().is_none_or(|table| table.as_str() == self.alias);
        if database && table {
            self.table.def.column(&name.name)
        } else {
            None
        }
    }

    fn new_column(&self, name: &ast::ColumnName) -> Option<usize> {
        let new_row = self.new_row.as_ref()?;
        let alias = new_row.alias?;
        if name.table.as_ref().is_some_and(|table| table.as_str() != alias) {
            return None;
        }
        if new_row.columns.is_empty() {
            return self.table.def.column(&name.name);
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
                column
            }
            (None, Some(column)) => {
                return Ok(Resolved::Expr(Box::new(
                    self.column_expr(column, self.table.def.columns.len()),
                )));
            }
            (None, None) => return Err(unknown_column(name, self.clause)),
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
        super::query::plan_subquery(self.planner, query, &super::query::CommonTables::default(), self)
    }

    fn insert_value(&mut self, name: &ast::ColumnName) -> SqlResult<Expr> {
        let column = self.own_column(name).ok_or_else(|| unknown_column(name, self.clause))?;
        match self.new_row {
            Some(_) => Ok(self.column_expr(column, self.table.def.columns.len())),
            None => Ok(Expr::literal(Value::Null, self.table.def.columns[column].ty.clone())),
        }
    }

    fn default_of(&mut self, name: &ast::ColumnName) -> SqlResult<Expr> {
        let column = self.own_column(name).ok_or_else(|| unknown_column(name, self.clause))?;
        let definition = &self.table.def.columns[column];
        match crate::ddl::constant_default(definition) {
            Some(value) => Ok(Expr::literal(value, definition.ty.clone())),
            None => Err(SqlError::new(ErrorKind::NoDefaultForField, &[&definition.name])),
        }
    }

    fn clause(&self) -> Clause {
        self.clause
    }
}
