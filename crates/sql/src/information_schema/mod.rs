//! The tables that describe the others: information_schema, and a little of performance_schema and mysql.
//!
//! They are made up when they are read. [`tables`] lists them, each with its columns in MySQL 8.0's order and the function that
//! gives its rows; SHOW statements are queries over them.

mod schema;
mod server;
mod tables;
mod views;

pub use schema::default_text;

use parser::ast;
use types::{CollationId, ErrorKind, SqlError, SqlResult, SqlType, TypeKind, Value};

use crate::accounts::access::Access;
use crate::exec::Runtime;
use crate::expr::EvalContext;
use crate::plan::Planner;
use crate::result::ResultColumn;
use crate::table::Table;

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
        None => planner.current_database().is_some_and(is_virtual_database),
    }
}

/// A column of a virtual table.
#[derive(Debug, Clone, Copy)]
pub struct VirtualColumn {
    pub name: &'static str,
    pub kind: ColumnKind,
}

#[derive(Debug, Clone, Copy)]
pub enum ColumnKind {
    /// VARCHAR of this many characters.
    Text(u32),
    LongText,
    Number,
    Signed,
    Moment,
}

impl ColumnKind {
    fn sql_type(self) -> SqlType {
        // MySQL's dictionary compares names by utf8mb3_general_ci.
        let collation = CollationId::UTF8MB3_GENERAL_CI;
        match self {
            ColumnKind::Text(chars) => SqlType::varchar(chars, collation),
            ColumnKind::LongText => SqlType::text(TypeKind::LongText, collation),
            ColumnKind::Number => SqlType::bigint_unsigned(),
            ColumnKind::Signed => SqlType::bigint(),
            ColumnKind::Moment => SqlType::datetime(0),
        }
    }
}

/// What a producer of rows can ask.
pub struct Source<'a> {
    pub runtime: &'a Runtime<'a>,
    pub ctx: &'a EvalContext<'a>,
    /// Who reads: rows tell nobody of what he may not touch.
    pub access: &'a Access,
}

impl Source<'_> {
    /// The session's own tables.
    fn temporary_tables(&self) -> impl Iterator<Item = &Table> {
        let own = self.ctx.statement.services.temporary_tables();
        own.into_iter().flat_map(|tables| tables.iter()).map(|table| &**table)
    }
}

/// A table that is made up when it is read.
#[derive(Debug)]
pub struct VirtualTable {
    pub database: &'static str,
    pub name: &'static str,
    pub columns: &'static [VirtualColumn],
    pub rows: fn(&Source<'_>) -> Vec<Vec<Value>>,
}

impl VirtualTable {
    pub fn database(&self) -> &str {
        self.database
    }

    /// Its columns under an alias.
    pub fn columns(&self, alias: &str) -> Vec<ResultColumn> {
        let column = |column: &VirtualColumn| ResultColumn {
            database: self.database.to_owned(),
            table: alias.to_owned(),
            original_table: self.name.to_owned(),
            name: column.name.to_owned(),
            original_name: column.name.to_owned(),
            ty: column.kind.sql_type(),
            flags: crate::result::ColumnFlags::default(),
        };
        self.columns.iter().map(column).collect()
    }

    /// Its rows as of now.
    pub fn rows(&self, runtime: &Runtime<'_>, ctx: &EvalContext<'_>) -> SqlResult<Vec<Vec<Value>>> {
        let access = ctx
            .statement
            .services
            .access()
            .ok_or_else(|| SqlError::not_supported("information_schema in a table's definition"))?;
        let rows = (self.rows)(&Source { runtime, ctx, access });
        debug_assert!(
            rows.iter().all(|row| row.len() == self.columns.len()),
            "{} has rows of another width",
            self.name
        );
        Ok(rows)
    }
}

/// The virtual table of a name; `None` for a name in another database, 1146 or 1109 for an unknown one in these.
pub fn find(planner: &Planner<'_>, name: &ast::TableName) -> SqlResult<Option<&'static VirtualTable>> {
    if !is_virtual(planner, name) {
        return Ok(None);
    }
    let database = name
        .schema
        .as_ref()
        .map_or(planner.current_database().unwrap_or_default(), |schema| schema.as_str());
    let found = tables::TABLES
        .iter()
        .find(|table| table.database.eq_ignore_ascii_case(database) && table.name.eq_ignore_ascii_case(&name.name));
    match found {
        Some(table) => {
            if table.database == "mysql" {
                planner.check_table(table.database, table.name, &["SELECT"])?;
            }
            Ok(Some(table))
        }
        None if database.eq_ignore_ascii_case("information_schema") => Err(SqlError::new(
            ErrorKind::UnknownTable,
            &[&name.name.as_str(), &"information_schema"],
        )),
        None => Err(SqlError::new(ErrorKind::NoSuchTable, &[&database, &name.name.as_str()])),
    }
}

/// Text that is never NULL.
fn text(value: impl AsRef<str>) -> Value {
    Value::str(value.as_ref())
}

fn number(value: impl Into<u64>) -> Value {
    Value::UInt(value.into())
}

fn yes_no(yes: bool) -> Value {
    Value::str(if yes { "YES" } else { "NO" })
}

/// Shared by producers that have nothing to tell.
fn no_rows(_: &Source<'_>) -> Vec<Vec<Value>> {
    Vec::new()
}
