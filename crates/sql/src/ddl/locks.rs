//! What a change of the schema keeps others away from, and how it waits for them.
//!
//! Everything that has a definition is locked apart: databases, names in them (tables and views, those that are not there, too), and
//! tables by their numbers. Whoever uses a table or a view in a transaction shares it until the transaction ends. A change of the schema
//! takes what it is about for itself, in one order, before it looks at anything:
//!
//! ```text
//!   all definitions ──▶ databases ──▶ names ──▶ tables ──▶ … work … ──▶ the catalog ──▶ commit
//!    (shared: FLUSH      by name      by name    by number               short, and nobody
//!     TABLES WITH                                                        is waited for
//!     READ LOCK)
//! ```
//!
//! So it waits for the users of its own tables, in the queue of each, and nobody else waits for it. Names come before
//! tables: who has a name for itself knows that what it means, and who refers to it, stays so. Only when all waits are over the
//! catalog is locked, as it is then, for the short time until the commit.

use std::cell::RefCell;
use std::collections::BTreeMap;

use catalog::{Catalog, TableDef};
use parser::ast::{self, AlterAction, Statement, TableElement};
use store::{LockKey, LockMode};
use transaction::{Options, Transaction, WriteRule};
use types::{SqlResult, TableId};

use crate::engine::Engine;
use crate::exec::Runtime;
use crate::host::Host;
use crate::session::Session;
use crate::variables::Settings;

/// The lock of a database: shared by who makes or removes something in it.
fn database_key(name: &str) -> Vec<u8> {
    [b"database ", name.as_bytes()].concat()
}

/// The lock of a name in a database.
pub(crate) fn name_key(database: &str, name: &str) -> Vec<u8> {
    [b"name ", database.as_bytes(), &[0], name.as_bytes()].concat()
}

pub(crate) use crate::exec::runtime::{CATALOG, EVERYTHING};

/// What a statement is about.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Objects {
    databases: BTreeMap<String, LockMode>,
    names: BTreeMap<(String, String), Use>,
}

/// How a statement takes a name, and the table that has it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Use {
    name: LockMode,
    table: Option<LockMode>,
}

impl Objects {
    /// Makes, changes or removes a database.
    fn take_database(&mut self, name: &str) {
        self.databases.insert(name.to_owned(), LockMode::Exclusive);
    }

    /// Makes or changes something that is no table in a database.
    fn stay_in(&mut self, database: String) {
        self.databases.entry(database).or_insert(LockMode::IntentionExclusive);
    }

    /// Makes something of this name.
    fn take_name(&mut self, (database, name): (String, String)) {
        self.take((database, name), LockMode::Exclusive, None);
    }

    /// Changes or removes what has this name.
    fn change(&mut self, (database, name): (String, String)) {
        self.take((database, name), LockMode::Exclusive, Some(LockMode::Exclusive));
    }

    /// Refers to what has this name: it stays, and nobody changes its rows.
    fn refer(&mut self, (database, name): (String, String)) {
        self.take((database, name), LockMode::Shared, Some(LockMode::Shared));
    }

    fn take(&mut self, object: (String, String), name: LockMode, table: Option<LockMode>) {
        self.databases
            .entry(object.0.clone())
            .or_insert(LockMode::IntentionExclusive);
        let taken = self.names.entry(object).or_insert(Use { name, table });
        if name == LockMode::Exclusive {
            taken.name = name;
        }
        if table == Some(LockMode::Exclusive) || taken.table.is_none() {
            taken.table = table;
        }
    }

    /// Those whose definition changes with that of a table: its children, which name it.
    fn change_children(&mut self, catalog: &Catalog, table: &(String, String)) {
        for child in catalog.children(&table.0, &table.1) {
            self.change(name_of(child));
        }
    }
}

fn name_of(table: &TableDef) -> (String, String) {
    (table.database.clone(), table.name.clone())
}

/// The locks of a change of the schema, on their way to its transaction.
pub(crate) struct ObjectLocks(pub(super) RefCell<Transaction>);

impl Session {
    /// Waits until nobody uses what a definition is about.
    pub(super) fn lock_objects(&self, statement: &Statement, host: &dyn Host) -> SqlResult<ObjectLocks> {
        let mut objects = self.objects_of(statement, &self.engine.catalog())?;
        loop {
            let transaction = begin(&self.engine);
            let runtime = runtime(&self.engine, host, &transaction, &self.variables.settings);
            runtime.lock_definition(EVERYTHING, LockMode::IntentionExclusive)?;
            for (database, mode) in &objects.databases {
                runtime.lock_definition(LockKey::Name(&database_key(database)), *mode)?;
            }
            for ((database, name), taken) in &objects.names {
                runtime.lock_definition(LockKey::Name(&name_key(database, name)), taken.name)?;
            }
            // While it waited, others may have come to be concerned: other children, other tables in a database.
            let catalog = self.engine.catalog();
            let current = self.objects_of(statement, &catalog)?;
            if current != objects {
                objects = current;
                continue;
            }
            let tables = objects.names.iter().filter_map(|((database, name), taken)| {
                let table = catalog.table(database, name)?;
                Some((table.id, taken.table?))
            });
            let mut tables: Vec<(TableId, LockMode)> = tables.collect();
            tables.sort_unstable_by_key(|(table, _)| *table);
            for (table, mode) in tables {
                runtime.lock_definition(LockKey::Definition(table), mode)?;
            }
            drop(runtime);
            return Ok(ObjectLocks(transaction));
        }
    }

    /// What a definition is about, as the catalog says now.
    fn objects_of(&self, statement: &Statement, catalog: &Catalog) -> SqlResult<Objects> {
        let mut objects = Objects::default();
        match statement {
            Statement::CreateDatabase(create) => objects.take_database(create.name.as_str()),
            Statement::AlterDatabase(alter) => match (&alter.name, &self.database) {
                (Some(name), _) => objects.take_database(name.as_str()),
                (None, Some(current)) => objects.take_database(current),
                (None, None) => {}
            },
            Statement::DropDatabase(drop) => {
                let name = drop.name.as_str();
                objects.take_database(name);
                if let Some(database) = catalog.database(name) {
                    let names = database.tables.keys().chain(database.views.keys());
                    names.for_each(|table| objects.change((name.to_owned(), table.clone())));
                }
            }
            Statement::CreateTable(create) => {
                let table = self.qualified(&create.name)?;
                match &create.body {
                    ast::CreateTableBody::Like(other) => {
                        objects.take(
                            self.qualified(other)?,
                            LockMode::Shared,
                            Some(LockMode::IntentionShared),
                        );
                    }
                    ast::CreateTableBody::Definition(definition) => {
                        refer_to_parents(&mut objects, &table.0, definition.elements.iter());
                    }
                }
                objects.take_name(table);
            }
            Statement::DropTable(drop) => {
                for name in &drop.names {
                    objects.change(self.qualified(name)?);
                }
            }
            Statement::CreateView(create) => objects.take_name(self.qualified(&create.name)?),
            Statement::DropView(drop) => {
                for name in &drop.names {
                    objects.take_name(self.qualified(name)?);
                }
            }
            Statement::RenameTable(renames) => {
                for rename in renames {
                    let from = self.qualified(&rename.from)?;
                    objects.change_children(catalog, &from);
                    objects.change(from);
                    objects.take_name(self.qualified(&rename.to)?);
                }
            }
            Statement::Truncate(name) => objects.change(self.qualified(name)?),
            Statement::CreateIndex(create) => self.alters(&mut objects, &create.table, &[], catalog)?,
            Statement::DropIndex(drop) => self.alters(&mut objects, &drop.table, &[], catalog)?,
            Statement::AlterTable(alter) => self.alters(&mut objects, &alter.table, &alter.actions, catalog)?,
            Statement::CreateRoutine(create) => objects.stay_in(self.qualified(&create.name)?.0),
            Statement::AlterRoutine(alter) => objects.stay_in(self.qualified(&alter.name)?.0),
            Statement::CreateEvent(create) => objects.stay_in(self.qualified(&create.name)?.0),
            Statement::AlterEvent(alter) => {
                objects.stay_in(self.qualified(&alter.name)?.0);
                if let Some(to) = &alter.rename_to {
                    objects.stay_in(self.qualified(to)?.0);
                }
            }
            Statement::CreateTrigger(create) => {
                let (database, _) = self.qualified(&create.name)?;
                objects.change(self.qualified(&super::triggers::subject(create, &database))?);
            }
            Statement::DropObject(drop) if drop.kind == ast::DropKind::Trigger => {
                let (database, name) = self.qualified(&drop.name)?;
                match catalog.trigger(&database, &name) {
                    Some((table, _)) => objects.change(name_of(table)),
                    None => objects.stay_in(database),
                }
            }
            Statement::DropObject(drop) => objects.stay_in(self.qualified(&drop.name)?.0),
            // There is nothing of this kind to be locked.
            _ => {}
        }
        Ok(objects)
    }

    /// An altered table can be read until the new one takes its place: see [`SchemaChange::take_altered`](super::SchemaChange).
    fn alters(
        &self,
        objects: &mut Objects,
        table: &ast::TableName,
        actions: &[AlterAction],
        catalog: &Catalog,
    ) -> SqlResult<()> {
        let table = self.qualified(table)?;
        objects.take(table.clone(), LockMode::Exclusive, Some(LockMode::Shared));
        // What the table's keys refer to stays, whoever changes its rows.
        let def = catalog.table(&table.0, &table.1);
        for key in def.iter().flat_map(|def| &def.foreign_keys) {
            let parent = (key.parent_database.clone(), key.parent_table.clone());
            objects.take(parent, LockMode::Shared, None);
        }
        let mut leads_children = false;
        for action in actions {
            match action {
                AlterAction::RenameTable(to) => {
                    let database = to.schema.as_ref().map_or(table.0.as_str(), |schema| schema.as_str());
                    objects.take_name((database.to_owned(), to.name.as_str().to_owned()));
                    leads_children = true;
                }
                AlterAction::RenameColumn { .. } | AlterAction::ChangeColumn { .. } => leads_children = true,
                AlterAction::AddConstraint(element) => {
                    refer_to_parents(objects, &table.0, std::slice::from_ref(element).iter());
                }
                AlterAction::AddElements(elements) => refer_to_parents(objects, &table.0, elements.iter()),
                _ => {}
            }
        }
        if leads_children {
            objects.change_children(catalog, &table);
        }
        Ok(())
    }
}

fn refer_to_parents<'e>(objects: &mut Objects, database: &str, elements: impl Iterator<Item = &'e TableElement>) {
    for element in elements {
        if let TableElement::ForeignKey(key) = element {
            let parent = &key.references.table;
            let schema = parent.schema.as_ref().map_or(database, |schema| schema.as_str());
            objects.refer((schema.to_owned(), parent.name.as_str().to_owned()));
        }
    }
}

/// Keeps FLUSH TABLES WITH READ LOCK away: all that a change of accounts has to lock, beside the catalog.
pub(super) fn lock_nothing(engine: &Engine, host: &dyn Host, settings: &Settings) -> SqlResult<ObjectLocks> {
    let transaction = begin(engine);
    runtime(engine, host, &transaction, settings).lock_definition(EVERYTHING, LockMode::IntentionExclusive)?;
    Ok(ObjectLocks(transaction))
}

/// The transaction holds the locks of what it changes; parts of it that have been committed beside it are no conflict.
fn begin(engine: &Engine) -> RefCell<Transaction> {
    let options = Options {
        write_rule: WriteRule::NewestCommitted,
        ..Options::default()
    };
    RefCell::new(Transaction::begin(engine.participant().clone(), options))
}

pub(crate) fn runtime<'a>(
    engine: &'a Engine,
    host: &'a dyn Host,
    transaction: &'a RefCell<Transaction>,
    settings: &Settings,
) -> Runtime<'a> {
    Runtime::new(engine.participant(), host, transaction, settings.of_statement(false))
}
