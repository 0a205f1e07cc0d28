//! Events: what the clock starts.
//!
//! ```text
//!   catalog: schedules ──▶ due ──▶ its row says that it runs (a commit: nobody else runs this turn) ──▶ run as its definer
//!                                          └─ its last turn: disabled, and dropped afterwards, unless it is to stay
//! ```
//!
//! The node that leads looks what is due; whoever asks it ([`Engine::due_events`]) lends the thread that runs it ([`Engine::run_event`]).
//! A turn whose run fails, or whose node dies, is not run again: what it was about may have happened.

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
            if def.status != EventStatus::Enabled {
                continue;
            }
            match def.next(now) {
                // It cannot run again, and only has to be told so.
                Next::Due | Next::Never => found.due.push(def.clone()),
                Next::At(at) => found.next = Some(found.next.map_or(at, |next| next.min(at))),
            }
        }
        found
    }

    /// Runs an event that is due, once; what goes wrong in it goes to the server's log. `taken`: it is known who runs this turn.
    pub fn run_event(self: &Arc<Self>, def: &EventDef, connection_id: u32, host: &dyn Host, taken: impl FnOnce()) {
        let turn = self.take_turn(def, host);
        taken();
        let outcome = turn.and_then(|turn| match turn {
            Turn::Taken { is_last } => {
                let ran = self.run_as_definer(def, connection_id, host);
                let is_over = is_last && !def.preserve;
                ran.and(if is_over { self.drop_finished(def, host) } else { Ok(()) })
            }
            Turn::Over => match def.preserve {
                true => Ok(()),
                false => self.drop_finished(def, host),
            },
            Turn::OfSomebodyElse => Ok(()),
        });
        if let Err(error) = outcome {
            tracing::warn!(
                event = %format_args!("{}.{}", def.database, def.name),
                definer = %format_args!("{}@{}", def.definer.0, def.definer.1),
                %error,
                "an event has failed"
            );
        }
    }

    /// A session of the server's own.
    fn own_session(self: &Arc<Self>) -> SqlResult<Session> {
        Session::new(self.clone(), SessionOptions::default())
    }

    /// Notes in the catalog that the event runs now. Who comes second finds it so.
    fn take_turn(self: &Arc<Self>, due: &EventDef, host: &dyn Host) -> SqlResult<Turn> {
        let now = self.clock_micros();
        self.own_session()?.change_events(host, |change| {
            let Some(known) = change.before.event(&due.database, &due.name) else {
                return Ok(Turn::OfSomebodyElse);
            };
            if **known != *due {
                return Ok(Turn::OfSomebodyElse);
            }
            let mut taken = EventDef::clone(known);
            let is_due = known.next(now) == Next::Due;
            if is_due {
                taken.last_run = Some(now);
            }
            let is_last = taken.next(now) == Next::Never;
            if is_last {
                taken.status = EventStatus::Disabled;
            }
            let turn = match (is_due, is_last) {
                (true, is_last) => Turn::Taken { is_last },
                (false, true) => Turn::Over,
                (false, false) => return Ok(Turn::OfSomebodyElse),
            };
            change.edit.put_event(taken);
            Ok(turn)
        })
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

    /// Drops an event that has run for the last time, unless somebody has changed it meanwhile.
    fn drop_finished(self: &Arc<Self>, ran: &EventDef, host: &dyn Host) -> SqlResult<()> {
        self.own_session()?.change_events(host, |change| {
            let known = change.before.event(&ran.database, &ran.name);
            if known.is_some_and(|known| known.altered_at == ran.altered_at && known.status == EventStatus::Disabled) {
                change.edit.remove_event(&ran.database, &ran.name);
            }
            Ok(())
        })
    }
}

/// Whose turn it is.
enum Turn {
    Taken {
        is_last: bool,
    },
    /// There are no more.
    Over,
    OfSomebodyElse,
}
