//! Connections that are open and ask for nothing: what a server keeps for the pools of its many clients.
//!
//! They log in before the warm-up, some at a time. Then one thread keeps them until the rung is over: it pings each often enough that
//! no server and nothing on the way takes it for dead, and notes those that close.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lab_results::UnixMicros;
use lab_results::run::Event;
use lab_results::rung::IdleConnections;
use rustix::event::{Timespec, epoll};

use crate::client::{Control, Dialer, OpenLimits, Sent, Session};
use crate::run::{Idle, Outcome};
use crate::statement::{Catalog, Protocol};
use crate::{DriverError, Stop};

/// Connections that log in at the same time.
const OPENERS: usize = 8;
/// Between two pings of a connection; shorter where the server's `wait_timeout` is. Load balancers cut silence after minutes.
const PING_AFTER: Duration = Duration::from_secs(60);
const LOOK_UP_AFTER: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// An answer to a ping may take so long.
const PATIENCE: Duration = Duration::from_secs(10);
const EVENTS_MAX: usize = 256;
const BUFFER_LEN: usize = 64 << 10;

/// Keeps them until it is finished or dropped.
pub(crate) struct Keeper {
    stop: Stop,
    thread: Option<JoinHandle<Kept>>,
    opened: u32,
    prepared_statements: u32,
}

#[derive(Default)]
struct Kept {
    kept: u32,
    events: Vec<Event>,
}

/// Opens them all, or says why one could not be.
pub(crate) fn open(dialer: &Dialer, catalog: &Catalog, idle: Idle, stop: &Stop) -> Result<Keeper, DriverError> {
    let mut catalog = catalog.clone();
    if !idle.prepared {
        catalog.statements.clear();
    }
    let total = idle.per_server as usize * dialer.target.servers.len();
    let ping_after = ping_after(dialer)?;
    let opened = thread::scope(|scope| {
        let openers: Vec<_> = (0..OPENERS.min(total))
            .map(|number| {
                let catalog = &catalog;
                scope.spawn(move || -> Result<Vec<_>, DriverError> {
                    let mut opened = Vec::new();
                    for connection in (number..total).step_by(OPENERS) {
                        if stop.is_requested() {
                            return Err(DriverError::Stopped);
                        }
                        let server = dialer.target.server(connection)?;
                        let turn = connection / dialer.target.servers.len();
                        let session = Session::open(dialer, server, turn, catalog, OpenLimits::default())?;
                        opened.push((server.to_owned(), session));
                    }
                    Ok(opened)
                })
            })
            .collect();
        let panicked = |_| Err(DriverError::Spec("an opener of idle connections panicked".into()));
        openers
            .into_iter()
            .map(|opener| opener.join().unwrap_or_else(panicked))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let sessions: Vec<(String, Session)> = opened.into_iter().flatten().collect();
    let prepared = catalog
        .statements
        .iter()
        .filter(|statement| statement.protocol == Protocol::Prepared);
    let (opened, prepared_statements) = (sessions.len() as u32, prepared.count() as u32);
    let keeping = Keeping::new(sessions, ping_after)?;
    let stop = Stop::new();
    let asked = stop.clone();
    let thread = thread::Builder::new()
        .name("idle".to_owned())
        .spawn(move || keeping.keep(&asked))
        .map_err(DriverError::System)?;
    Ok(Keeper {
        stop,
        thread: Some(thread),
        opened,
        prepared_statements,
    })
}

/// A third of what the server waits for a command.
fn ping_after(dialer: &Dialer) -> Result<Duration, DriverError> {
    let mut control = Control::connect(dialer.target, dialer.target.server(0)?)?;
    let seconds = match control.value("SELECT @@wait_timeout") {
        Ok(value) => value.and_then(|value| value.parse::<f64>().ok()),
        // A server without the variable has no such limit.
        Err(DriverError::Server { .. }) => None,
        Err(error) => return Err(error),
    };
    let third = seconds
        .filter(|seconds| *seconds > 0.0)
        .map(|seconds| Duration::from_secs_f64(seconds / 3.0));
    Ok(third.map_or(PING_AFTER, |third| third.min(PING_AFTER)))
}

impl Keeper {
    /// Closes them and writes into `outcome` what became of them.
    pub fn finish(mut self, outcome: &mut Outcome) {
        let kept = self.join();
        outcome.idle = Some(IdleConnections {
            opened: self.opened,
            kept: kept.kept,
            prepared_statements: self.prepared_statements,
        });
        outcome.events.extend(kept.events);
        outcome.events.sort_by_key(|event| event.at);
    }

    fn join(&mut self) -> Kept {
        self.stop.request();
        let thread = self.thread.take();
        thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.join();
    }
}

struct Keeping {
    epoll: OwnedFd,
    sessions: Vec<Connection>,
    ping_after: Duration,
    buffer: Vec<u8>,
    lost: BTreeMap<(u64, String), u32>,
}

/// One connection, `None` once it is lost.
struct Connection {
    server: String,
    session: Option<Session>,
    /// Since when an answer to a ping is waited for.
    pinged: Option<Instant>,
}

impl Keeping {
    fn new(sessions: Vec<(String, Session)>, ping_after: Duration) -> Result<Keeping, DriverError> {
        let system = |errno: rustix::io::Errno| DriverError::System(errno.into());
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system)?;
        for (index, (_, session)) in sessions.iter().enumerate() {
            let data = epoll::EventData::new_u64(index as u64);
            epoll::add(&epoll, session, data, epoll::EventFlags::IN).map_err(system)?;
        }
        Ok(Keeping {
            epoll,
            sessions: sessions
                .into_iter()
                .map(|(server, session)| Connection {
                    server,
                    session: Some(session),
                    pinged: None,
                })
                .collect(),
            ping_after,
            buffer: vec![0; BUFFER_LEN],
            lost: BTreeMap::new(),
        })
    }

    fn keep(mut self, stop: &Stop) -> Kept {
        let begun = Instant::now();
        let mut pinged: u64 = 0;
        let mut events = Vec::with_capacity(EVENTS_MAX);
        loop {
            let is_last = stop.is_requested();
            // One after the other, evenly over the time that each may be silent.
            let rounds = begun.elapsed().as_secs_f64() / self.ping_after.as_secs_f64();
            while !is_last && (pinged as f64) < (rounds * self.sessions.len() as f64).floor() {
                self.ping((pinged % self.sessions.len() as u64) as usize);
                pinged += 1;
            }
            // The last look takes only what is there already.
            let timeout = if is_last {
                Timespec { tv_sec: 0, tv_nsec: 0 }
            } else {
                LOOK_UP_AFTER
            };
            events.clear();
            let waited = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout));
            for event in &events {
                self.ready(event.data.u64() as usize);
            }
            let is_interrupted = waited == Err(rustix::io::Errno::INTR);
            if (is_last && events.is_empty()) || (waited.is_err() && !is_interrupted) {
                return self.end();
            }
        }
    }

    fn ping(&mut self, index: usize) {
        let kept = &mut self.sessions[index];
        let Some(session) = &mut kept.session else { return };
        if let Some(pinged) = kept.pinged {
            // A machine that is busy answers late, and this thread may be late itself: only long silence is death.
            let patience = self.ping_after.max(PATIENCE);
            if pinged.elapsed() > patience {
                let text = format!("no answer to a ping within {:.0} s", patience.as_secs_f64());
                self.lose(index, &text);
            }
            return;
        }
        kept.pinged = Some(Instant::now());
        match session.ping() {
            Ok(Sent::Whole) => {}
            Ok(Sent::Partly) => self.lose(index, "it takes no more bytes"),
            Err(error) => self.lose(index, &error.to_string()),
        }
    }

    fn ready(&mut self, index: usize) {
        let kept = &mut self.sessions[index];
        let Some(session) = &mut kept.session else { return };
        match session.receive(&mut self.buffer) {
            Ok(None) => {}
            Ok(Some(summary)) => match summary.error {
                // Unasked: a server that says why it closes.
                Some(refusal) => self.lose(index, &format!("{} ({})", refusal.message, refusal.code)),
                None => kept.pinged = None,
            },
            Err(error) => self.lose(index, &error.to_string()),
        }
    }

    fn lose(&mut self, index: usize, why: &str) {
        let kept = &mut self.sessions[index];
        kept.session = None;
        let text = format!("to {} lost: {why}", kept.server);
        let second = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        *self.lost.entry((second, text)).or_default() += 1;
    }

    /// Losses of one second, server and reason are one event.
    fn end(self) -> Kept {
        let mut kept = Kept::default();
        for session in self.sessions.into_iter().filter_map(|kept| kept.session) {
            kept.kept += 1;
            session.quit();
        }
        kept.events = self
            .lost
            .into_iter()
            .map(|((second, text), count)| Event {
                at: UnixMicros(second * 1_000_000),
                what: format!("{count} idle connection{} {text}", if count == 1 { "" } else { "s" }),
            })
            .collect();
        kept
    }
}
