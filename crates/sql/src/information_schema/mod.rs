//! The tables that describe the others.

use std::sync::Arc;

use parser::ast;
use types::{SqlError, SqlResult, Value};

use crate::exec::Runtime;
use crate::expr::EvalContext;
use crate::plan::Planner;
use crate::result::ResultColumn;

/// Databases that exist without being stored.
const VIRTUAL: [&str; 3] = ["information_schema", "performance_schema", "mysql"];

/// Whether a database is one of those that are made up when they are read.
pub fn is_virtual_database(name: &str) -> bool {
    VIRTUAL.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a table belongs to one of them.
pub fn is_virtual(planner: &Planner<'_>, name: &ast::TableName) -> bool {
    match &name.schema {
        Some(schema) => is_virtual_database(schema),
        None => planner.database.is_some_and(is_virtual_database),
    }
}

/// A table that is made up when it is read.
#[derive(Debug)]
pub struct VirtualTable {
    database: &'static str,
}

impl VirtualTable {
    pub fn database(&self) -> &str {
        self.database
    }

    /// Its columns under an alias.
    pub fn columns(&self, _alias: &str) -> Vec<ResultColumn> {
        Vec::new()
    }

    /// Its rows as of now.
    pub fn rows(&self, _runtime: &Runtime<'_>, _ctx: &EvalContext<'_>) -> SqlResult<Vec<Vec<Value>>> {
        Ok(Vec::new())
    }
}

/// The virtual table of a name; `None` for a name in another database, 1109 for an unknown one in these.
pub fn find(planner: &Planner<'_>, name: &ast::TableName) -> SqlResult<Option<Arc<VirtualTable>>> {
    match is_virtual(planner, name) {
        true => Err(SqlError::not_supported("information_schema")),
        false => Ok(None),
    }
}
