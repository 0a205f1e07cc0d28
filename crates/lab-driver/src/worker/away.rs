//! Connections that are gone, and connections that are not where they belong.
//!
//! A lost connection is opened again by a connector thread: its own server first, then the next of the list, with growing pauses. One
//! that found a place elsewhere looks whether its own server is back, and moves there between two transactions; so the load is spread
//! again as it was. With [`Survive::reopen_after`](crate::Survive::reopen_after), all connections are opened anew now and then: a name that stands for
//! several servers is then resolved again, and servers that were added get their share.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::event::epoll;

use super::{CANNOT_CONNECT, Job, LOST, Message, SECOND, Shared, State, Worker, client_side};
use crate::client::{Session, greets};
use crate::error::{DriverError, Refusal};
use crate::target::resolve;

/// The longest stay elsewhere, in multiples of the first: a server may take connections and be of no use.
const STAY_MAX: i64 = 32;

/// When a connection looks for its replacement first: connections take turns.
pub(super) fn first_replacement(shared: &Shared, connection: usize) -> i64 {
    let warmup = shared.spec.warmup.as_nanos() as i64;
    let reopen_after = shared.spec.survive.and_then(|survive| survive.reopen_after);
    let after = reopen_after.map_or(0, |after| {
        nanos(after) + nanos(after) * connection as i64 / i64::from(shared.share.of)
    });
    after - warmup
}

fn nanos(duration: Duration) -> i64 {
    duration.as_nanos() as i64
}

impl Worker<'_> {
    /// The connection is gone, with what was under way on it.
    #[cold]
    pub(super) fn lost(&mut self, index: usize, refusal: Refusal) {
        self.count_error(index, &refusal);
        let now = self.now();
        let slot = &mut self.slots[index];
        slot.session = None;
        slot.replacement = None;
        let server = slot.server.clone();
        let text = format!("{server}: connection lost: {} ({})", refusal.message, refusal.code);
        let Some(survive) = &self.shared.spec.survive else {
            return self.fail(text);
        };
        if self
            .shared
            .target
            .server(slot.connection)
            .is_ok_and(|home| home == server)
        {
            let first = nanos(survive.spread_after);
            slot.stay = (slot.stay * 2).clamp(first, first * STAY_MAX);
            slot.replace_at = now + slot.stay;
        }
        let transaction = slot.state != State::Idle;
        slot.attempts = 0;
        slot.retry_at = now + nanos(survive.backoff_first);
        slot.state = State::Away {
            transaction,
            asked: false,
        };
        self.away += 1;
        if !transaction {
            self.idle.retain(|idle| *idle != index);
        }
        if self.lost_servers.insert(server) {
            let _ = self.messages.send(Message::Event(text));
        }
    }

    /// Asks for connections whose turn has come, and takes those that were opened.
    pub(super) fn look_for_connections(&mut self, now: i64) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if let State::Away { asked, .. } = &mut slot.state
                && !*asked
                && now >= slot.retry_at
            {
                *asked = true;
                let job = Job {
                    worker: self.number,
                    slot: index,
                    turn: slot.connection + slot.attempts as usize,
                };
                if let Some(jobs) = &self.jobs {
                    let _ = jobs.send(job);
                }
            }
        }
        self.look_home(now);
        while let Ok((index, server, opened)) = self.opened.try_recv() {
            let away = matches!(self.slots[index].state, State::Away { .. });
            match opened {
                Ok(session) if away => self.back(index, server, session),
                Ok(session) => self.found_home(index, now, server, session),
                Err(error) if away => self.still_away(index, now, &error),
                Err(_) => self.no_home_yet(index, now),
            }
        }
        if !self.recording {
            // Nobody waits for what is away when the interval is over.
            for index in 0..self.slots.len() {
                if let State::Away {
                    transaction: true,
                    asked,
                } = self.slots[index].state
                {
                    self.slots[index].state = State::Away {
                        transaction: false,
                        asked,
                    };
                    self.busy -= 1;
                }
            }
        }
    }

    fn back(&mut self, index: usize, server: String, session: Session) {
        let State::Away { transaction, .. } = self.slots[index].state else {
            return;
        };
        let data = epoll::EventData::new_u64(index as u64);
        if let Err(error) = epoll::add(&self.epoll, &session, data, epoll::EventFlags::IN) {
            return self.fail(format!("epoll: {error}"));
        }
        self.server_is_back(&server);
        let slot = &mut self.slots[index];
        slot.session = Some(session);
        slot.failures = 0;
        slot.server = server;
        slot.replacing = false;
        slot.state = State::Idle;
        self.away -= 1;
        if self.recording {
            self.part.totals.reconnects += 1;
        }
        let now = self.now();
        if transaction {
            self.begin_again(index, now);
        } else if self.arrivals.is_some() || !self.recording {
            self.idle.push_back(index);
        } else {
            self.begin(index, now, now);
        }
    }

    fn still_away(&mut self, index: usize, now: i64, error: &DriverError) {
        if self.recording {
            let refusal = match error {
                DriverError::Server {
                    code,
                    sqlstate,
                    message,
                    ..
                } => Refusal {
                    code: *code,
                    sqlstate: sqlstate.clone(),
                    message: message.clone(),
                },
                error => client_side(CANNOT_CONNECT, &error.to_string()),
            };
            self.part.failed(self.shared.catalog.kinds.len(), &refusal);
        }
        let Some(survive) = &self.shared.spec.survive else {
            return;
        };
        let slot = &mut self.slots[index];
        slot.attempts += 1;
        let backoff = survive
            .backoff_first
            .saturating_mul(1 << slot.attempts.min(16))
            .min(survive.backoff_most);
        slot.retry_at = now + nanos(backoff);
        if let State::Away { asked, .. } = &mut slot.state {
            *asked = false;
        }
    }

    /// A server that was cut off neither answers nor closes.
    pub(super) fn give_up_the_silent(&mut self, now: i64) {
        let Some(survive) = &self.shared.spec.survive else {
            return;
        };
        let patience = nanos(survive.answer_timeout);
        for index in 0..self.slots.len() {
            let slot = &self.slots[index];
            let waits = matches!(slot.state, State::InFlight | State::RollingBack);
            if waits && now - slot.statement_sent > patience {
                let text = format!("no answer within {:.1} s", survive.answer_timeout.as_secs_f64());
                self.lost(index, client_side(LOST, &text));
            }
        }
    }

    /// Without `survive` nobody gives up a connection. A server that has answered none of them for `patience` and greets nobody
    /// hangs, and ends the rung; if it is only slow, what is still waited for is an event: such transactions are in no figure.
    #[cold]
    pub(super) fn look_for_hanging(&mut self, now: i64, patience: i64) {
        if self.shared.spec.survive.is_some() || self.failed {
            return;
        }
        let mut servers: BTreeMap<&str, (usize, usize, i64, usize)> = BTreeMap::new();
        for slot in &self.slots {
            let (connections, waiting, longest, turn) = servers.entry(&slot.server).or_default();
            *connections += 1;
            *turn = slot.connection / self.shared.target.servers.len();
            let waited = now - slot.statement_sent;
            if slot.state == State::InFlight && waited >= patience {
                *waiting += 1;
                *longest = waited.max(*longest);
            }
        }
        let mut hanging = None;
        for (server, (connections, waiting, longest, turn)) in servers {
            let waited_s = longest / SECOND;
            if waiting == 0 {
                continue;
            }
            let hangs = waiting == connections && !resolve(server, turn).is_ok_and(greets);
            if hangs {
                hanging = Some(format!(
                    "{server} hangs: its connections here ({waiting}) have waited up to {waited_s} s for an answer, and it greets no \
                     new one"
                ));
            } else if !self.recording {
                let _ = self.messages.send(Message::Event(format!(
                    "{server}: {waiting} of {connections} connections still waited for an answer when the rung was over, up to \
                     {waited_s} s: their transactions are in no figure"
                )));
            }
        }
        if let Some(text) = hanging {
            self.fail(text);
        }
    }

    /// Asks for a connection in the place of each that is not where it belongs, or whose time has come.
    fn look_home(&mut self, now: i64) {
        let (Some(survive), Some(jobs)) = (&self.shared.spec.survive, &self.jobs) else {
            return;
        };
        if !self.recording {
            return;
        }
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if slot.replacing || slot.session.is_none() || now < slot.replace_at {
                continue;
            }
            let elsewhere = self
                .shared
                .target
                .server(slot.connection)
                .is_ok_and(|home| home != slot.server);
            if elsewhere || survive.reopen_after.is_some() {
                slot.replacing = true;
                let job = Job {
                    worker: self.number,
                    slot: index,
                    turn: slot.connection,
                };
                let _ = jobs.send(job);
            }
        }
    }

    fn found_home(&mut self, index: usize, now: i64, server: String, session: Session) {
        self.wait_to_replace(index, now);
        let slot = &mut self.slots[index];
        slot.replacement = Some((server, session));
        if slot.state == State::Idle {
            self.replace(index);
        }
    }

    fn no_home_yet(&mut self, index: usize, now: i64) {
        self.wait_to_replace(index, now);
    }

    fn wait_to_replace(&mut self, index: usize, now: i64) {
        let Some(survive) = &self.shared.spec.survive else {
            return;
        };
        let slot = &mut self.slots[index];
        slot.replacing = false;
        slot.replace_at = now + survive.reopen_after.map_or(slot.stay, nanos);
    }

    /// Puts the replacement in the present connection's place.
    pub(super) fn replace(&mut self, index: usize) {
        let Some((server, session)) = self.slots[index].replacement.take() else {
            return;
        };
        let data = epoll::EventData::new_u64(index as u64);
        if let Err(error) = epoll::add(&self.epoll, &session, data, epoll::EventFlags::IN) {
            return self.fail(format!("epoll: {error}"));
        }
        self.server_is_back(&server);
        let slot = &mut self.slots[index];
        slot.server = server;
        if let Some(old) = slot.session.replace(session) {
            old.quit();
        }
        if self.recording {
            self.part.totals.reconnects += 1;
        }
    }

    fn server_is_back(&mut self, server: &str) {
        if self.lost_servers.remove(server) {
            let _ = self.messages.send(Message::Event(format!("{server}: connected again")));
        }
    }
}
