//! The tables that describe the others: information_schema, and a little of performance_schema and mysql.
//!
//! They are made up when they are read. [`tables`] lists them, each with its columns in MySQL's order and the function that
//! gives its rows; [`unused`] has those that never have a row here. SHOW statements are queries over them. Where a query names a
//! database or a table, only that one is described ([`Wanted`]).

mod accounts;
mod grants;
mod keywords;
mod locks;
mod memory;
pub(crate) mod schema;
mod server;
mod tables;
mod unused;
mod users;
mod views;

pub use schema::default_text;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{Catalog, Database, TableDef, ViewDef};
use types::{CollationId, SqlError, SqlResult, SqlType, TypeKind, Value};

use crate::accounts::access::Access;
use crate::engine::Engine;
use crate::exec::ServerTables;
use crate::expr::{CompareOp, Comparison, EvalContext, Expr, ExprKind};
use crate::host::Host;
use crate::plan;
use crate::result::ResultColumn;
use crate::session::Encryption;
use crate::table::Table;
use crate::temporary::TemporaryTables;

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
    /// The name of a database or a table, which other case makes another.
    Name,
    /// The name of a column, an index or a constraint, which other case does not.
    Label,
    LongText,
    Number,
    Signed,
    Real,
    Moment,
    /// With microseconds.
    FineMoment,
    /// In hundredths of seconds.
    Hundredths,
}

impl ColumnKind {
    fn sql_type(self) -> SqlType {
        let collation = CollationId::UTF8MB3_GENERAL_CI;
        match self {
            ColumnKind::Text(chars) => SqlType::varchar(chars, collation),
            ColumnKind::Name => SqlType::varchar(64, NAMES),
            ColumnKind::Label => SqlType::varchar(64, CollationId::UTF8MB3_TOLOWER_CI),
            ColumnKind::LongText => SqlType::text(TypeKind::LongText, collation),
            ColumnKind::Number => SqlType::bigint_unsigned(),
            ColumnKind::Signed => SqlType::bigint(),
            ColumnKind::Real => SqlType::double(),
            ColumnKind::Moment => SqlType::datetime(0),
            ColumnKind::Hundredths => SqlType::timestamp(2),
            ColumnKind::FineMoment => SqlType::datetime(6),
        }
    }
}

/// What a statement can show of its node and its session.
#[derive(Clone, Copy)]
pub struct SessionView<'a> {
    pub engine: &'a Engine,
    pub access: &'a Access,
    pub temporary: &'a TemporaryTables,
    pub encryption: Option<&'a Encryption>,
    pub compression: Option<sql_api::session::Compression>,
    /// Waits for what other nodes say.
    pub host: &'a dyn Host,
}

/// What a producer of rows can ask.
pub struct Source<'a> {
    pub ctx: &'a EvalContext<'a>,
    /// Who reads: rows tell nobody of what he may not touch.
    pub session: SessionView<'a>,
    pub wanted: Wanted,
}

/// What a query asks for by `TABLE_SCHEMA = …` and `TABLE_NAME = …`. Rows of other tables may be left out; the conditions are checked on
/// those that are given.
#[derive(Debug, Default)]
pub struct Wanted {
    schema: Option<String>,
    table: Option<String>,
}

/// The collation that names of databases and tables are compared by in conditions.
const NAMES: CollationId = CollationId::UTF8MB3_BIN;

/// A name that conditions ask for, as the catalog has it: they are compared without regard to spaces at the end.
fn stored_name(name: &str) -> &str {
    name.trim_end_matches(' ')
}

/// What has the name, or everything.
fn named<'c, T>(of: &'c BTreeMap<String, T>, name: Option<&str>) -> impl Iterator<Item = &'c T> {
    let one = name.and_then(|name| of.get(stored_name(name)));
    let all = name.is_none().then(|| of.values());
    one.into_iter()
        .chain(all.into_iter().flatten())
        .take_while(|_| governor::go_on())
}

impl Wanted {
    /// What `conditions` ask for of the virtual table whose first column has the slot `offset`.
    fn of(table: &VirtualTable, offset: usize, conditions: &[Expr], ctx: &EvalContext<'_>) -> SqlResult<Wanted> {
        let mut wanted = Wanted::default();
        for condition in conditions {
            let ExprKind::Compare(compare) = &condition.kind else {
                continue;
            };
            if compare.op != CompareOp::Eq || compare.how != Comparison::Text(NAMES) {
                continue;
            }
            let (column, operand) = match (compare.left.as_column(), compare.right.as_column()) {
                (Some(slot), None) => (slot, &compare.right),
                (None, Some(slot)) => (slot, &compare.left),
                _ => continue,
            };
            if !operand.is_constant() || operand.is_volatile() || operand.has_subquery() {
                continue;
            }
            let place = match column.checked_sub(offset).and_then(|at| table.columns.get(at)) {
                Some(column) if column.name.eq_ignore_ascii_case("TABLE_SCHEMA") => &mut wanted.schema,
                Some(column) if column.name.eq_ignore_ascii_case("TABLE_NAME") => &mut wanted.table,
                _ => continue,
            };
            if let Value::Str(name) = operand.eval(&[], ctx)? {
                *place = Some(name.as_str().to_owned());
            }
        }
        Ok(wanted)
    }

    fn schema(&self, name: &str) -> bool {
        Wanted::is(&self.schema, name)
    }

    fn table(&self, name: &str) -> bool {
        Wanted::is(&self.table, name)
    }

    fn is(wanted: &Option<String>, name: &str) -> bool {
        wanted
            .as_ref()
            .is_none_or(|wanted| NAMES.compare(wanted.as_bytes(), name.as_bytes()).is_eq())
    }
}

impl Source<'_> {
    /// The databases that are asked for.
    pub(crate) fn databases<'c>(&self, catalog: &'c Catalog) -> impl Iterator<Item = &'c Arc<Database>> {
        let wanted = self.wanted.schema.as_deref();
        let one = wanted.and_then(|name| catalog.database(stored_name(name)));
        let all = wanted.is_none().then(|| catalog.databases());
        one.into_iter().chain(all.into_iter().flatten())
    }

    /// The tables of a database that are asked for and may be seen. Gives way between them; a statement that has to end sees no more.
    fn tables_of<'c>(&self, database: &'c Database) -> impl Iterator<Item = &'c Arc<TableDef>> {
        let tables = named(&database.tables, self.wanted.table.as_deref());
        tables.filter(|def| self.session.access.sees_table(&def.database, &def.name))
    }

    fn views_of<'c>(&self, database: &'c Database) -> impl Iterator<Item = &'c Arc<ViewDef>> {
        let views = named(&database.views, self.wanted.table.as_deref());
        views.filter(|view| self.session.access.sees_table(&view.database, &view.name))
    }

    /// The session's own tables.
    fn temporary_tables(&self) -> impl Iterator<Item = &Table> {
        self.session.temporary.iter().map(|table| &**table)
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

impl plan::VirtualTable for VirtualTable {
    fn database(&self) -> &'static str {
        self.database
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn is_view(&self) -> bool {
        const TABLES: [&str; 5] = ["ENGINES", "OPTIMIZER_TRACE", "PLUGINS", "PROCESSLIST", "PROFILING"];
        self.database == "information_schema"
            && !TABLES.contains(&self.name)
            && !self.name.starts_with("INNODB_")
            && !self.name.ends_with("_PRIVILEGES")
    }

    fn columns(&self, alias: &str) -> Vec<ResultColumn> {
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
}

impl ServerTables for SessionView<'_> {
    fn rows(
        &self,
        table: &'static dyn plan::VirtualTable,
        ctx: &EvalContext<'_>,
        offset: usize,
        conditions: &[Expr],
    ) -> SqlResult<Vec<Vec<Value>>> {
        let foreign = || SqlError::internal(format_args!("{} is not a table of this server", table.name()));
        let table: &VirtualTable = (table as &dyn Any).downcast_ref().ok_or_else(foreign)?;
        let wanted = Wanted::of(table, offset, conditions, ctx)?;
        let rows = (table.rows)(&Source {
            ctx,
            session: *self,
            wanted,
        });
        // Where the statement has to end, they are not all.
        governor::check()?;
        debug_assert!(
            rows.iter().all(|row| row.len() == table.columns.len()),
            "{} has rows of another width",
            table.name
        );
        Ok(rows)
    }
}

/// The virtual table of a name, whatever its case.
pub fn find(database: &str, name: &str) -> Option<&'static VirtualTable> {
    let is_it =
        |table: &&VirtualTable| table.database.eq_ignore_ascii_case(database) && table.name.eq_ignore_ascii_case(name);
    all_tables().find(is_it)
}

/// Every virtual table.
fn all_tables() -> impl Iterator<Item = &'static VirtualTable> {
    tables::TABLES.iter().chain(unused::tables())
}

/// Text that is never NULL.
pub(crate) fn text(value: impl AsRef<str>) -> Value {
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
