//! `SET PERSIST`, `SET PERSIST_ONLY` and `RESET PERSIST`: values of global variables that the next start finds in the catalog. On a node of a
//! cluster `SET GLOBAL`, too: the other nodes find them there.

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{CatalogEdit, GlobalVariable, PersistedVariable};
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

/// A value that is committed: it outlasts the node, or is that of all nodes.
pub(super) struct Committed {
    pub(super) id: VariableId,
    pub(super) value: Arc<str>,
    pub(super) lasts: Lasts,
}

/// From when to when a committed value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lasts {
    /// `GLOBAL`, of a cluster: while it runs.
    Run,
    /// `PERSIST`: from now on.
    FromNowOn,
    /// `PERSIST_ONLY`
    FromNextStart,
}

impl Session {
    /// Commits the values. Those that count at once are set while nobody else can set others: in a cluster by the log, on every node.
    pub(super) fn commit_variables(&mut self, values: &[Committed], host: &dyn Host) -> SqlResult<()> {
        if values.is_empty() {
            return Ok(());
        }
        let (user, from) = self.set_by(host);
        let engine = self.engine.clone();
        let of_cluster = engine.other_nodes().is_some();
        let now = engine.clock_micros();
        let failed = Mutex::new(Ok(()));
        self.edit_variables(
            host,
            |edit| {
                // Clocks of nodes differ; what is set later counts.
                let newest = edit
                    .catalog()
                    .global_variables()
                    .map(|variable| variable.set.set_at + 1)
                    .max();
                let set_at = now.max(newest.unwrap_or(now));
                // In the order of the statement.
                for (wanted, place) in values.iter().zip(0..) {
                    let set = PersistedVariable {
                        name: wanted.id.definition().name.to_owned(),
                        value: (*wanted.value).to_owned(),
                        set_at: set_at + place,
                        user: user.clone(),
                        host: from.clone(),
                    };
                    if wanted.lasts != Lasts::Run {
                        edit.put_persisted(set.clone());
                    }
                    if wanted.lasts != Lasts::FromNextStart && of_cluster {
                        edit.put_global(GlobalVariable { set, by_start: false });
                    }
                }
            },
            || {
                let at_once = values.iter().filter(|wanted| wanted.lasts != Lasts::FromNextStart);
                for wanted in at_once.filter(|_| !of_cluster) {
                    let origin = Origin::Statement {
                        at: now,
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
                let names: Vec<String> = match &name {
                    Some(name) => vec![name.clone()],
                    None => edit.catalog().persisted_variables().map(|it| it.name.clone()).collect(),
                };
                names.iter().for_each(|name| edit.remove_persisted(name));
            };
            return self.edit_variables(host, remove, || ());
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
    /// can come. Where the lead changes meanwhile, nothing was done, and it is tried again.
    fn edit_variables(
        &mut self,
        host: &dyn Host,
        edit: impl Fn(&mut CatalogEdit),
        then: impl Fn() + Sync,
    ) -> SqlResult<()> {
        self.while_leads_change(host, |session| session.try_to_edit_variables(host, &edit, &then))
    }

    fn try_to_edit_variables(
        &self,
        host: &dyn Host,
        edit: &impl Fn(&mut CatalogEdit),
        then: &(impl Fn() + Sync),
    ) -> SqlResult<()> {
        let engine = self.engine.clone();
        let transaction = RefCell::new(engine.begin());
        let settings = &self.variables.settings;
        let runtime = Runtime::new(engine.participant(), host, &transaction, settings.of_statement(false));
        runtime.lock_definition(CATALOG, LockMode::Exclusive)?;
        let mut change = CatalogEdit::new(engine.catalog());
        edit(&mut change);
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
