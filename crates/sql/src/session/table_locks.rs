//! `LOCK TABLES`, `FLUSH TABLES WITH READ LOCK` and `UNLOCK TABLES`.
//!
//! The locks live until they are given up, however many transactions pass meanwhile. So a transaction of their own holds
//! them, apart from those of the session's statements, which leave out the locks that are held here. They are locks of
//! definitions, which every statement has to share: READ keeps other sessions' changes away, WRITE their reads, too.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

use parser::ast::{self, Statement, TableLockMode};
use store::{LockKey, LockMode};
use transaction::Transaction;
use types::{ErrorKind, SqlError, SqlResult, TableId};

use super::Session;
use crate::ddl::EVERYTHING;
use crate::errors::is_for_another_leader;
use crate::exec::Runtime;
use crate::host::Host;
use crate::plan::LockedTables;
use crate::statement_class::{UnderLockTables, class_of};
use crate::table::Table;

/// The locks that a session holds beside its transaction.
#[derive(Default)]
pub struct TableLocks {
    tables: Option<Locked>,
    /// `FLUSH TABLES WITH READ LOCK`: nobody changes anything.
    everything: Option<[Transaction; 2]>,
}

/// Who uses tables under LOCK TABLES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocksUser {
    /// The session's statements, which may use what is locked alone.
    Session,
    /// Functions and triggers, as parts of these.
    Program,
}

struct Locked {
    list: Vec<LockedTable>,
    /// Holds the locks; dropping it gives them up.
    holder: Transaction,
}

#[derive(Clone)]
struct LockedTable {
    database: String,
    name: String,
    /// The only name by which statements may use it.
    alias: String,
    writes: bool,
    id: TableId,
}

impl TableLocks {
    /// Whether plans have to be looked at before they run.
    pub fn is_empty(&self) -> bool {
        self.tables.is_none() && self.everything.is_none()
    }

    /// Whether LOCK TABLES is in force.
    pub fn has_tables(&self) -> bool {
        self.tables.is_some()
    }

    /// 1099 for a change of what is locked to be read, 1223 under the lock of everything.
    pub fn check_change<'t>(&self, mut tables: impl Iterator<Item = &'t Arc<Table>>, user: LocksUser) -> SqlResult<()> {
        if self.everything.is_some() {
            return Err(ErrorKind::CantUpdateWithReadlock.into());
        }
        let Some(locked) = &self.tables else { return Ok(()) };
        let may_write = |table: &Arc<Table>| {
            let mut known = locked.list.iter().filter(|known| known.id == table.id());
            known.any(|known| known.writes)
        };
        // What a function or a trigger changes need not be named.
        let is_free =
            |table: &Arc<Table>| user == LocksUser::Program && locked.list.iter().all(|known| known.id != table.id());
        match tables.find(|table| !may_write(table) && !is_free(table)) {
            Some(table) => Err(SqlError::new(ErrorKind::TableNotLockedForWrite, &[&table.def.name])),
            None => Ok(()),
        }
    }

    /// 1223 for a change of the schema or of accounts under the lock of everything.
    pub fn check_schema_change(&self) -> SqlResult<()> {
        match self.everything {
            Some(_) => Err(ErrorKind::CantUpdateWithReadlock.into()),
            None => Ok(()),
        }
    }

    fn check_definition(&self, session: &Session, statement: &Statement) -> SqlResult<()> {
        let Some(locked) = &self.tables else { return Ok(()) };
        let check = |name: &ast::TableName| {
            let (database, name) = session.qualified(name)?;
            let mut known = locked
                .list
                .iter()
                .filter(|known| known.database == database && known.name == name)
                .peekable();
            if known.peek().is_none() {
                return Err(SqlError::new(ErrorKind::TableNotLocked, &[&name]));
            }
            match known.any(|known| known.writes) {
                true => Ok(()),
                false => Err(SqlError::new(ErrorKind::TableNotLockedForWrite, &[&name])),
            }
        };
        match statement {
            Statement::CreateTable(create) => check(&create.name),
            Statement::DropTable(drop) => drop.names.iter().try_for_each(check),
            Statement::RenameTable(renames) => {
                // A name that the statement has just given is that of a locked table.
                let is_given = |at: usize| renames[..at].iter().any(|earlier| earlier.to == renames[at].from);
                let mut from = (0..renames.len()).filter(|at| !is_given(*at));
                from.try_for_each(|at| check(&renames[at].from))
            }
            Statement::Truncate(name) => check(name),
            Statement::CreateIndex(create) => check(&create.table),
            Statement::DropIndex(drop) => check(&drop.table),
            Statement::AlterTable(alter) => check(&alter.table),
            // No other kind is said to look for its tables here.
            _ => Err(ErrorKind::LockOrActiveTransaction.into()),
        }
    }
}

impl LockedTables for TableLocks {
    fn holds(&self, table: &Table) -> bool {
        let is_listed = |locked: &Locked| locked.list.iter().any(|known| known.id == table.id());
        self.everything.is_some() || self.tables.as_ref().is_some_and(is_listed)
    }

    fn check_use(&self, database: &str, name: &str, alias: &str) -> SqlResult<()> {
        let Some(locked) = &self.tables else { return Ok(()) };
        let is_it = |known: &LockedTable| known.database == database && known.name == name && known.alias == alias;
        match locked.list.iter().any(is_it) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorKind::TableNotLocked, &[&alias])),
        }
    }
}

impl Session {
    /// To change them, which no part of a statement does.
    fn own_table_locks(&mut self) -> &mut TableLocks {
        self.table_locks
            .get_mut()
            .expect("the parts of a statement end with it")
    }

    /// `LOCK TABLES`: commits, gives up what was locked, and locks anew.
    pub(super) fn lock_tables(&mut self, wanted: &[ast::LockTable], host: &dyn Host) -> SqlResult<()> {
        self.transaction.commit(host)?;
        self.own_table_locks().tables = None;
        let mut list = Vec::with_capacity(wanted.len());
        let mut aliases = HashSet::with_capacity(wanted.len());
        for lock in wanted {
            governor::tick()?;
            let (database, name) = self.qualified(&lock.table)?;
            // A view brings the tables that it reads.
            let tables = match self.view(&lock.table)? {
                Some(_) => self.tables_of_view(&lock.table, host)?,
                None => vec![self.table(&lock.table)?],
            };
            let alias = lock
                .alias
                .as_ref()
                .map_or(name.clone(), |alias| alias.as_str().to_owned());
            if !aliases.insert((database.clone(), alias.clone())) {
                return Err(SqlError::new(ErrorKind::NonUniqTable, &[&alias]));
            }
            list.extend(tables.iter().map(|table| LockedTable {
                database: database.clone(),
                name: name.clone(),
                alias: alias.clone(),
                writes: lock.mode == TableLockMode::Write,
                id: table.id(),
            }));
        }
        if self.table_locks.everything.is_some() && list.iter().any(|table| table.writes) {
            return Err(ErrorKind::CantUpdateWithReadlock.into());
        }
        self.own_table_locks().tables = Some(self.locked(list, host)?);
        Ok(())
    }

    /// The tables that a view reads, its views' tables with them.
    fn tables_of_view(&mut self, name: &ast::TableName, host: &dyn Host) -> SqlResult<Vec<Arc<Table>>> {
        let plan = self.plan_of_view(name, host)?;
        Ok(plan.uses.tables.clone())
    }

    /// Takes the locks in the order of the tables' ids, so that two such statements cannot wait for each other.
    fn locked(&self, list: Vec<LockedTable>, host: &dyn Host) -> SqlResult<Locked> {
        let mut order: Vec<&LockedTable> = list.iter().collect();
        order.sort_by_key(|table| (table.id, !table.writes));
        order.dedup_by_key(|table| table.id);
        let wanted = order.iter().map(|table| match table.writes {
            true => (LockKey::Definition(table.id), LockMode::Exclusive),
            false => (LockKey::Definition(table.id), LockMode::Shared),
        });
        let wanted: Vec<_> = wanted.collect();
        let holder = self.hold(&wanted, host)?;
        Ok(Locked { list, holder })
    }

    /// Ends LOCK TABLES and FLUSH TABLES WITH READ LOCK whose locks went with the lead: 1213, and others may have changed the tables.
    pub(super) fn confirm_table_locks(&mut self, host: &dyn Host) -> SqlResult<()> {
        if self.table_locks.is_empty() || self.transaction.is_part() {
            return Ok(());
        }
        // What was locked here is, if this node leads still.
        self.wait_for_newest(host)?;
        let locks = std::mem::take(self.own_table_locks());
        let (locks, confirmed) = self.confirmed(locks, host);
        if !confirmed.as_ref().is_err_and(is_for_another_leader) {
            *self.own_table_locks() = locks;
        }
        confirmed
    }

    fn confirmed(&self, locks: TableLocks, host: &dyn Host) -> (TableLocks, SqlResult<()>) {
        let mut result = Ok(());
        let mut confirm = |holder: Transaction| {
            let holder = RefCell::new(holder);
            if result.is_ok() {
                let settings = self.variables.settings.of_statement(false);
                result = Runtime::new(self.engine.participant(), host, &holder, settings).confirm_locks();
            }
            holder.into_inner()
        };
        let locks = TableLocks {
            tables: locks.tables.map(|locked| Locked {
                holder: confirm(locked.holder),
                ..locked
            }),
            everything: locks.everything.map(|holders| holders.map(&mut confirm)),
        };
        (locks, result)
    }

    /// A transaction that does nothing but hold these locks.
    fn hold(&self, wanted: &[(LockKey<'_>, LockMode)], host: &dyn Host) -> SqlResult<Transaction> {
        let holder = RefCell::new(self.engine.begin());
        let runtime = Runtime::new(
            self.engine.participant(),
            host,
            &holder,
            self.variables.settings.of_statement(false),
        );
        for (key, mode) in wanted {
            runtime.lock_definition(*key, *mode)?;
        }
        drop(runtime);
        Ok(holder.into_inner())
    }

    /// `UNLOCK TABLES`: commits, where tables were locked.
    pub(super) fn unlock_tables(&mut self, host: &dyn Host) -> SqlResult<()> {
        self.own_table_locks().everything = None;
        self.give_up_locked_tables(host)
    }

    /// `START TRANSACTION` gives up what LOCK TABLES holds, but not the lock of everything.
    pub(super) fn give_up_locked_tables(&mut self, host: &dyn Host) -> SqlResult<()> {
        match self.own_table_locks().tables.take() {
            Some(_) => self.transaction.commit(host),
            None => Ok(()),
        }
    }

    /// `FLUSH TABLES …`: there is nothing to close; WITH READ LOCK and FOR EXPORT lock tables, or everything.
    pub(crate) fn flush_tables(
        &mut self,
        tables: &[ast::TableName],
        mode: ast::FlushTables,
        host: &dyn Host,
    ) -> SqlResult<()> {
        self.transaction.check_not_xa()?;
        if mode == ast::FlushTables::Close {
            return tables.iter().try_for_each(|name| self.table(name).map(drop));
        }
        if self.table_locks.tables.is_some() {
            return Err(ErrorKind::LockOrActiveTransaction.into());
        }
        if !tables.is_empty() {
            let locks = tables.iter().map(|name| ast::LockTable {
                table: name.clone(),
                alias: None,
                mode: TableLockMode::Read,
            });
            return self.lock_tables(&locks.collect::<Vec<_>>(), host);
        }
        self.transaction.commit(host)?;
        self.own_table_locks().everything = None;
        // While it is held, no table comes or goes.
        let definitions = self.hold(&[(EVERYTHING, LockMode::Shared)], host)?;
        let catalog = self.engine.catalog();
        let tables = catalog.databases().flat_map(|database| database.tables.values());
        let mut all: Vec<TableId> = tables.map(|table| table.id).collect();
        all.sort_unstable();
        let tables = all.into_iter().map(|id| (LockKey::Definition(id), LockMode::Shared));
        let tables = self.hold(&tables.collect::<Vec<_>>(), host)?;
        self.own_table_locks().everything = Some([definitions, tables]);
        Ok(())
    }

    /// Runs a change of the schema under LOCK TABLES: it takes the place of the session's own locks, which are taken again, on the
    /// tables that are still there.
    pub(crate) fn define_locked<R>(
        &mut self,
        statement: &Statement,
        host: &dyn Host,
        define: impl FnOnce(&mut Session) -> SqlResult<R>,
    ) -> SqlResult<R> {
        if self.table_locks.tables.is_none() || class_of(statement).under_lock_tables != UnderLockTables::ByTable {
            return define(self);
        }
        self.table_locks.check_definition(self, statement)?;
        let Some(locked) = self.own_table_locks().tables.take() else {
            return define(self);
        };
        let mut list = locked.list.clone();
        drop(locked);
        let result = define(self);
        let catalog = self.engine.catalog();
        list.retain_mut(|table| match catalog.table(&table.database, &table.name) {
            None if catalog.view(&table.database, &table.name).is_some() => catalog.table_by_id(table.id).is_some(),
            None => match catalog.table_by_id(table.id) {
                None => false,
                // It stays locked under its new name.
                Some(def) => {
                    if table.alias == table.name {
                        table.alias.clone_from(&def.name);
                    }
                    table.database.clone_from(&def.database);
                    table.name.clone_from(&def.name);
                    true
                }
            },
            Some(def) => {
                table.id = def.id;
                true
            }
        });
        // With the last of its tables, LOCK TABLES has come to its end.
        if !list.is_empty() {
            self.own_table_locks().tables = Some(self.locked(list, host)?);
        }
        result
    }
}
