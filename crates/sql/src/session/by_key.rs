//! Rows by their primary keys, without a statement: what a front asks for that knows a table and keys, and wants rows.
//!
//! The rights are those of a SELECT, and so is what is waited for. Where more would have to be looked at than a table's own stored columns (views,
//! computed columns, the tables of the server, an open transaction, a log of statements, limits of the account), [`Session::by_key`] gives nothing,
//! and the front sends a SELECT.

use std::sync::Arc;

use catalog::Privileges;
use transaction::{Isolation, Options, Transaction, WriteRule};
use types::{ErrorKind, IndexId, RowLayout, SqlError, SqlResult, SqlType, TypeKind, ValueRef};

use super::Session;
use super::statement::wait_for_freshness;
use crate::host::Host;
use crate::plan::{Authorizer, is_virtual_database};
use crate::statement_logs::Switches;
use crate::statistics::StatementKind;
use crate::table::Table;

/// A table whose rows a session may read by key, and the columns that it wants.
pub struct ByKey {
    table: Arc<Table>,
    columns: Vec<usize>,
    catalog_version: u64,
}

/// A row that was found.
pub struct FoundRow<'r> {
    by_key: &'r ByKey,
    row: &'r [u8],
}

impl ByKey {
    /// The name and the type of each column that is wanted.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = (&str, &SqlType)> {
        self.columns.iter().map(|&column| {
            let def = &self.table.def.columns[column];
            (def.name.as_str(), &def.ty)
        })
    }

    /// Columns of the primary key, in its order.
    pub fn key_columns(&self) -> Vec<&str> {
        let parts = self.table.key_columns(IndexId::PRIMARY);
        parts
            .into_iter()
            .map(|column| self.table.def.columns[column].name.as_str())
            .collect()
    }

    /// Whether the table is still the one that was looked up.
    pub fn is_of(&self, catalog_version: u64) -> bool {
        self.catalog_version == catalog_version
    }

    /// Appends the primary key that texts stand for. False: a statement has to convert them.
    pub fn write_key<'k>(&self, texts: impl ExactSizeIterator<Item = &'k str>, out: &mut Vec<u8>) -> bool {
        let (Some(layout), Some(primary)) = (self.table.rows.primary_layout(), self.table.def.primary()) else {
            return false;
        };
        if texts.len() != layout.parts().len() {
            return false;
        }
        for (part, text) in texts.enumerate() {
            let column = primary.parts[part].column;
            match value_of(text, &self.table.def.columns[column].ty) {
                Some(value) => layout.encode_part_ref_to(part, value, out),
                None => return false,
            }
        }
        true
    }
}

/// The value that a text stands for in a column, if no statement is needed to convert it.
fn value_of<'t>(text: &'t str, ty: &SqlType) -> Option<ValueRef<'t>> {
    match ty.kind {
        kind if kind.is_integer() => {
            // As the number is written, and in no other way: `01` and `+1` are for a statement to judge.
            let digits = text.strip_prefix('-').unwrap_or(text);
            if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
                return None;
            }
            match ty.unsigned {
                true => text.parse().ok().map(ValueRef::UInt),
                false => text.parse().ok().map(ValueRef::Int),
            }
        }
        TypeKind::Char | TypeKind::VarChar => Some(ValueRef::Str(text)),
        _ => None,
    }
}

impl<'r> FoundRow<'r> {
    /// The values of the columns that are wanted.
    pub fn values(&self) -> impl ExactSizeIterator<Item = ValueRef<'r>> {
        let (layout, row) = (self.layout(), self.row);
        self.by_key
            .columns
            .iter()
            .map(move |&column| layout.column(row, column))
    }

    fn layout(&self) -> &'r RowLayout {
        self.by_key.table.layout()
    }
}

impl Session {
    /// Looks a table up that rows are to be read of by key: all columns that `*` means, or those that are named. `Ok(None)`: it takes a statement.
    pub fn by_key(&mut self, database: &str, name: &str, columns: Option<&[&str]>) -> SqlResult<Option<ByKey>> {
        let catalog_version = self.engine.catalog_version();
        if !self.reads_by_key() || is_virtual_database(database) {
            return Ok(None);
        }
        let access = self.access();
        let catalog = self.engine.catalog();
        if catalog.view(database, name).is_some() {
            return Ok(None);
        }
        access.check_table_or_columns(database, name, Privileges::SELECT)?;
        let missing = || crate::names::missing_table(&catalog, database, name);
        let def = catalog.table(database, name).ok_or_else(missing)?;
        let table = self.engine.table(def).ok_or_else(missing)?;
        let columns = match columns {
            None => {
                let all = def.named_columns().iter().enumerate();
                all.filter(|(_, column)| !column.invisible).map(|(at, _)| at).collect()
            }
            Some(names) => {
                let at = |name: &&str| {
                    let unknown = || SqlError::new(ErrorKind::BadField, &[name, &"field list"]);
                    table.column(name).ok_or_else(unknown)
                };
                names.iter().map(at).collect::<SqlResult<Vec<_>>>()?
            }
        };
        for &column in &columns {
            access.check_column(database, name, &def.columns[column].name, Privileges::SELECT)?;
        }
        let Some(primary) = def.primary() else { return Ok(None) };
        for part in &primary.parts {
            access.check_column(database, name, &def.columns[part.column].name, Privileges::SELECT)?;
        }
        let is_plain = columns.iter().all(|&column| !def.columns[column].is_virtual())
            && primary.parts.iter().all(|part| part.prefix.is_none());
        Ok(is_plain.then_some(ByKey {
            table,
            columns,
            catalog_version,
        }))
    }

    /// Whether the session's own state leaves reads without statements.
    fn reads_by_key(&self) -> bool {
        !self.transaction.in_transaction()
            && !self.options.password_expired
            && self.account_use.is_none()
            && self.temporary.is_empty()
            && self.table_locks.is_empty()
            && !self.engine.logs().switches().has(Switches::GENERAL)
            && !self.engine.logs().switches().has(Switches::SLOW)
    }

    /// Reads rows of tables that were looked up before, all of them as they were at one moment. False: a table is another one now, or it takes a
    /// statement; nothing was read.
    pub fn read_by_key(
        &mut self,
        tables: &[&ByKey],
        host: &dyn Host,
        read: impl FnOnce(&Moment) -> SqlResult<()>,
    ) -> SqlResult<bool> {
        let version = self.engine.catalog_version();
        let is_current = |session: &Session| session.engine.catalog_version() == version;
        let is_free = tables
            .iter()
            .all(|by_key| by_key.is_of(version) && !self.engine.is_definition_wanted(by_key.table.id()));
        if !is_free || !self.reads_by_key() {
            return Ok(false);
        }
        self.begin_statement();
        if let Some(freshness) = self.engine.participant().freshness() {
            wait_for_freshness(freshness, host)?;
        }
        let options = Options {
            isolation: Isolation::RepeatableRead,
            write_rule: WriteRule::FirstCommitterWins,
            durability: self.variables.settings.durability,
            connection: self.options.connection_id,
        };
        let moment = Moment(Transaction::begin(self.engine.participant().clone(), options));
        // Taken before the catalog is looked at, it shows the tables as they were looked up.
        moment.0.snapshot();
        let is_readable = |by_key: &&ByKey| moment.0.check_readable(&by_key.table.rows, IndexId::PRIMARY).is_ok();
        if !is_current(self) || !tables.iter().all(is_readable) {
            return Ok(false);
        }
        self.engine.statistics().count(StatementKind::Select);
        read(&moment)?;
        governor::check()?;
        Ok(true)
    }
}

/// What was committed at one moment.
pub struct Moment(Transaction);

impl Moment {
    /// Has the processor load the rows of these keys, before [`get`](Self::get) shows them one by one.
    pub fn fetch_ahead(&self, by_key: &ByKey, keys: &[&[u8]]) {
        by_key.table.rows.fetch_ahead(keys);
    }

    /// Shows the row of a key.
    #[inline]
    pub fn get<R>(&self, by_key: &ByKey, key: &[u8], show: impl FnOnce(FoundRow<'_>) -> R) -> Option<R> {
        self.0
            .get(&by_key.table.rows, key, |row| show(FoundRow { by_key, row }))
    }
}

impl Session {
    /// Whether a transaction is open that outlives its statements.
    pub fn in_transaction(&self) -> bool {
        self.transaction.in_transaction()
    }

    /// Rows that the session has changed since it began, in the open transaction too. Definitions are none of them.
    pub fn changed_rows(&self) -> u64 {
        self.transaction.changed_rows()
    }

    /// Does work of the node's own for the session's client, in his transaction if one is open: with all rights, and without his seeing it.
    pub fn as_server<T>(&mut self, work: impl FnOnce(&mut Session) -> T) -> T {
        use super::SessionAccount;
        let account = std::mem::replace(&mut self.options.account, SessionAccount::Server);
        let account_use = self.account_use.take();
        self.access = None;
        let done = work(self);
        self.options.account = account;
        self.account_use = account_use;
        self.access = None;
        done
    }
}

impl Session {
    /// The definition of a table of which the session may see something. 1146 where there is none, 1347 of a view.
    pub fn definition_of(&mut self, database: &str, name: &str) -> SqlResult<Arc<catalog::TableDef>> {
        let access = self.access();
        if !access.sees_table(database, name) {
            return Err(access.table_denied("SELECT", name));
        }
        let catalog = self.engine.catalog();
        if catalog.view(database, name).is_some() {
            return Err(SqlError::new(
                ErrorKind::WrongObject,
                &[&database, &name, &"BASE TABLE"],
            ));
        }
        let def = catalog.table(database, name);
        def.cloned()
            .ok_or_else(|| crate::names::missing_table(&catalog, database, name))
    }

    /// Whether the session may see a column.
    pub fn sees_column(&mut self, database: &str, table: &str, column: &str) -> bool {
        !self.access().shown_on_column(database, table, column).is_empty()
    }
}
