//! `SET PERSIST`, `SET PERSIST_ONLY` and `RESET PERSIST`: values of global variables that the next start finds in the catalog.

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{CatalogEdit, PersistedVariable};
use parking_lot::Mutex;
use store::LockMode;
use types::{ErrorKind, Severity, SqlError, SqlResult};

use super::{Session, wait_for_commit};
use crate::exec::Runtime;
use crate::exec::runtime::CATALOG;
use crate::expr::Services;
use crate::host::Host;
use crate::statement_class::needs::GLOBAL_VARIABLES;
use crate::table_ids::write_rows;
use crate::variables::{Origin, VariableId};

/// A value that outlasts the node.
pub(super) struct Persistent {
    pub(super) id: VariableId,
    pub(super) value: Arc<str>,
    /// `PERSIST`: it counts from now on, and not just from the next start.
    pub(super) at_once: bool,
}

impl Session {
    /// Commits the values, and sets those that count at once while nobody else can persist others.
    pub(super) fn persist(&mut self, values: &[Persistent], host: &dyn Host) -> SqlResult<()> {
        if values.is_empty() {
            return Ok(());
        }
        let (user, from) = self.set_by(host);
        let set_at = self.engine.clock_micros();
        let engine = self.engine.clone();
        let failed = Mutex::new(Ok(()));
        let rows = values.iter().zip(0..).map(|(wanted, place)| PersistedVariable {
            name: wanted.id.definition().name.to_owned(),
            value: (*wanted.value).to_owned(),
            // In the order of the statement.
            set_at: set_at + place,
            user: user.clone(),
            host: from.clone(),
        });
        self.edit_persisted(
            host,
            |edit| {
                rows.for_each(|row| edit.put_persisted(row));
                Ok(())
            },
            || {
                for wanted in values.iter().filter(|wanted| wanted.at_once) {
                    let origin = Origin::Statement {
                        at: set_at,
                        user: user.clone(),
                        host: from.clone(),
                    };
                    let set = engine.globals().set(wanted.id, wanted.value.clone(), origin);
                    let mut failed = failed.lock();
                    *failed = std::mem::replace(&mut *failed, Ok(())).and(set);
                }
            },
        )?;
        failed.into_inner()
    }

    /// `RESET PERSIST [[IF EXISTS] name]`. Privileges are asked for where there is something to remove.
    pub(crate) fn reset_persist(&mut self, name: Option<&str>, if_exists: bool, host: &dyn Host) -> SqlResult<()> {
        let catalog = self.engine.catalog();
        let shown = name;
        let name = name.map(str::to_ascii_lowercase);
        let is_there = match &name {
            Some(name) => catalog.persisted_variable(name).is_some(),
            None => catalog.persisted_variables().next().is_some(),
        };
        if is_there {
            self.check_need(&GLOBAL_VARIABLES)?;
            let remove = |edit: &mut CatalogEdit| {
                let names: Vec<String> = match name {
                    Some(name) => vec![name],
                    None => edit.catalog().persisted_variables().map(|it| it.name.clone()).collect(),
                };
                names.iter().for_each(|name| edit.remove_persisted(name));
                Ok(())
            };
            return self.edit_persisted(host, remove, || ());
        }
        let Some(name) = shown else { return Ok(()) };
        let missing = SqlError::new(ErrorKind::VarNotPersisted, &[&name]);
        match if_exists {
            true => {
                self.warnings.push(Severity::Warning, missing);
                Ok(())
            }
            false => Err(missing),
        }
    }

    /// Commits a change of the catalog beside the session's transaction, and does something when it is durable, before another one
    /// can come.
    fn edit_persisted(
        &mut self,
        host: &dyn Host,
        edit: impl FnOnce(&mut CatalogEdit) -> SqlResult<()>,
        then: impl FnOnce() + Send,
    ) -> SqlResult<()> {
        let engine = self.engine.clone();
        let transaction = RefCell::new(engine.begin());
        let settings = &self.variables.settings;
        let runtime = Runtime::new(engine.participant(), host, &transaction, settings.of_statement(false));
        runtime.lock_definition(CATALOG, LockMode::Exclusive)?;
        let mut change = CatalogEdit::new(engine.catalog());
        edit(&mut change)?;
        let mut transaction = transaction.into_inner();
        write_rows(&mut transaction, &change)?;
        wait_for_commit(transaction.commit_then(|_| then()), host)
    }

    /// User and address of the client, as `variables_info` shows who set a variable.
    pub(super) fn set_by(&mut self, host: &dyn Host) -> (String, String) {
        let name = self.services(host).user();
        let (user, from) = name.rsplit_once('@').unwrap_or((&name, ""));
        (user.to_owned(), from.to_owned())
    }
}
