//! Events: what the clock starts.
//!
//! ```text
//!   catalog: schedules ──▶ due ──▶ the catalog says that they run (one commit for all: nobody else takes these turns) ──▶ each run as its definer
//!                                          └─ the last turn: disabled, and dropped when it has been run, unless it is to stay
//! ```
//!
//! The node that leads looks what is due; whoever asks it ([`Engine::due_events`]) takes the turns ([`Engine::take_turns`]) and lends the threads that run
//! them ([`Engine::run_event`]). A turn whose run fails, or whose node dies, is not run again: what it was about may have happened.

use std::sync::Arc;

use catalog::{EventDef, EventStatus, Next, Privileges};
use sql_api::session::{SessionAccount, SessionOptions};
use types::{ErrorKind, SqlError, SqlResult};

use crate::accounts::rights::Scope;
use crate::ddl::NoAnswer;
use crate::engine::Engine;
use crate::host::Host;
use crate::session::Session;
use crate::variables;

/// What the clock says of all events.
#[derive(Debug, Default)]
pub struct DueEvents {
    pub due: Vec<Arc<EventDef>>,
    /// They have had their last turn.
    pub over: Vec<Arc<EventDef>>,
    /// When the next one is due, in microseconds since 1970.
    pub next: Option<i64>,
}

impl Engine {
    /// The events that are due now, while `event_scheduler` is on. Meant for the node that leads.
    pub fn due_events(&self) -> DueEvents {
        let mut found = DueEvents::default();
        if !self.is_on("event_scheduler") {
            return found;
        }
        let now = self.clock_micros();
        let catalog = self.catalog();
        for def in catalog.databases().flat_map(|database| database.events.values()) {
            match (def.status, def.next(now)) {
                (EventStatus::Over, _) | (EventStatus::Enabled, Next::Never) => found.over.push(def.clone()),
                (EventStatus::Enabled, Next::Due) => found.due.push(def.clone()),
                (EventStatus::Enabled, Next::At(at)) => found.next = Some(found.next.map_or(at, |next| next.min(at))),
                (EventStatus::Disabled | EventStatus::DisabledOnReplica, _) => {}
            }
        }
        found
    }

    /// Notes in the catalog that these events run now, and lets go of those that are over. Gives those whose turn it was: somebody may have changed one
    /// meanwhile, or another node may have taken its turn.
    pub fn take_turns(
        self: &Arc<Self>,
        due: &[Arc<EventDef>],
        over: &[Arc<EventDef>],
        host: &dyn Host,
    ) -> SqlResult<Vec<Arc<EventDef>>> {
        let now = self.clock_micros();
        let mut own = Session::new(self.clone(), SessionOptions::default())?;
        own.change_catalog(host, |change| {
            let is_same = |def: &EventDef| {
                let known = change.before.event(&def.database, &def.name);
                known.is_some_and(|known| **known == *def)
            };
            let mut taken = Vec::with_capacity(due.len());
            for def in due.iter().filter(|def| is_same(def)) {
                governor::tick()?;
                let mut running = EventDef::clone(def);
                running.last_run = Some(now);
                if running.next(now) == Next::Never {
                    running.status = end_of(def);
                }
                change.edit.put_event(running);
                taken.push(def.clone());
            }
            for def in over.iter().filter(|def| is_same(def)) {
                governor::tick()?;
                match end_of(def) {
                    EventStatus::Over => drop(change.edit.remove_event(&def.database, &def.name)),
                    status => change.edit.put_event(EventDef {
                        status,
                        ..EventDef::clone(def)
                    }),
                }
            }
            Ok(taken)
        })
    }

    /// Runs an event whose turn was taken; what goes wrong in it goes to the server's log.
    pub fn run_event(self: &Arc<Self>, def: &EventDef, connection_id: u32, host: &dyn Host) {
        if let Err(error) = self.run_as_definer(def, connection_id, host) {
            tracing::warn!(
                event = %format_args!("{}.{}", def.database, def.name),
                definer = %format_args!("{}@{}", def.definer.0, def.definer.1),
                %error,
                "an event has failed"
            );
        }
    }

    fn run_as_definer(self: &Arc<Self>, def: &EventDef, connection_id: u32, host: &dyn Host) -> SqlResult<()> {
        let (user, account_host) = &def.definer;
        if self.catalog().account(user, account_host).is_none() {
            return Err(SqlError::new(ErrorKind::NoSuchUser, &[user, account_host]));
        }
        let mut session = Session::new(
            self.clone(),
            SessionOptions {
                connection_id,
                user: user.clone(),
                host: account_host.clone(),
                account: SessionAccount::Account {
                    user: user.clone(),
                    host: account_host.clone(),
                },
                ..SessionOptions::default()
            },
        )?;
        let held = session.access().rights().on_database(Scope::Database(&def.database));
        if !held.contains(Privileges::EVENT) {
            let names: [&dyn std::fmt::Display; 3] = [user, account_host, &def.database];
            return Err(SqlError::new(ErrorKind::DbAccessDenied, &names));
        }
        session
            .variables
            .set(variables::find("time_zone")?, def.time_zone.as_str().into())?;
        session.begin_statement();
        session.run_event(def, host, &mut NoAnswer)
    }
}

/// What becomes of an event after its last turn.
fn end_of(def: &EventDef) -> EventStatus {
    match def.preserve {
        true => EventStatus::Disabled,
        false => EventStatus::Over,
    }
}
