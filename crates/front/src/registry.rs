//! The node's open connections: ids, limits, the process list, KILL.
//!
//! Each connection has a [`Handle`] that other threads may read and interrupt. A connection writes to its own handle at
//! every command, so that part is a few uncontended stores; the map is locked when a connection comes or goes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::Waker;
use std::time::Instant;

use governor::memory::Account;
use parking_lot::Mutex;
use sql_api::host::Interrupt;
use sql_api::login::Standing;
use sql_api::processes::{Kill, NODE_SHIFT, Process, Processes, STATEMENT_TEXT_MAX, Traffic};
use types::SqlResult;

use crate::backend::Limits;
use crate::clock::CoarseInstant;
use crate::peer::Peer;
use crate::places::{AccountName, Arrival, Place, Places};

/// Nodes of a cluster have ids up to this one: the handshake has 32 bits for a connection's id.
pub const NODE_ID_MAX: u8 = u8::MAX;

/// All connections of one node, of whichever front. Made before the SQL engine, which shows it, and the fronts, which fill it.
#[derive(Debug)]
pub struct Registry {
    connections: Mutex<BTreeMap<u32, Arc<Handle>>>,
    places: Mutex<Places>,
    ids: Ids,
    started: Instant,
    /// Set when the server stops: connections close as soon as they are idle.
    draining: Arc<AtomicBool>,
    prepared_statements: AtomicUsize,
    counters: Counters,
}

/// Totals since the start, for status variables and metrics.
#[derive(Debug, Default)]
pub struct Counters {
    pub connections: AtomicU64,
    /// Refused at the limit.
    pub connections_refused: AtomicU64,
    /// Logins that failed.
    pub logins_denied: AtomicU64,
    /// Of these, with a wrong password or an unknown user.
    pub passwords_denied: AtomicU64,
    /// Logins that waited because of earlier failures.
    pub logins_delayed: AtomicU64,
    /// Logins that ended because too many others waited, or were being checked.
    pub logins_refused: AtomicU64,
    /// Unfinished logins that ended to make room for new ones.
    pub logins_pushed_out: AtomicU64,
    /// Of closed connections; open ones count their own.
    commands_of_closed: AtomicU64,
    bytes_received_of_closed: AtomicU64,
    bytes_sent_of_closed: AtomicU64,
    /// Errors that commands were answered with, by their number.
    errors: Mutex<BTreeMap<u16, u64>>,
}

/// A moment's view of the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    pub uptime_seconds: u64,
    pub connected: usize,
    pub running: usize,
    pub connections: u64,
    pub connections_refused: u64,
    pub logins_denied: u64,
    pub passwords_denied: u64,
    pub logins_delayed: u64,
    pub logins_refused: u64,
    pub logins_pushed_out: u64,
    pub commands: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub prepared_statements: usize,
}

/// Which ids the node's connections get.
#[derive(Debug)]
struct Ids {
    last: AtomicU32,
    /// In the upper bits of each; 0: a node without others.
    node: u8,
}

impl Ids {
    /// They count up and, when the bits are used up, around those in use.
    fn next(&self, is_taken: impl Fn(u32) -> bool) -> u32 {
        let node = u32::from(self.node) << NODE_SHIFT;
        let bits = match self.node {
            0 => u32::MAX,
            _ => (1 << NODE_SHIFT) - 1,
        };
        loop {
            let count = self.last.fetch_add(1, Relaxed).wrapping_add(1) & bits;
            if count != 0 && !is_taken(node | count) {
                return node | count;
            }
        }
    }
}

/// One connection, as others see it.
#[derive(Debug)]
pub struct Handle {
    pub id: u32,
    pub peer: Peer,
    place: Mutex<Place>,
    identity: Mutex<Identity>,
    phase: AtomicU8,
    /// When the phase began.
    since_ms: AtomicU64,
    commands: AtomicU64,
    pub(crate) bytes_received: AtomicU64,
    bytes_sent: AtomicU64,
    command: Mutex<Command>,
    /// What it waits for.
    state: Mutex<&'static str>,
    interrupt: AtomicU8,
    waker: Mutex<Option<Waker>>,
    draining: Arc<AtomicBool>,
    /// It asks for pages of the node's own, and is nobody's session: neither counted nor listed.
    is_visitor: AtomicBool,
    /// What sessions are asked and answer goes through it.
    carries_exchanges: AtomicBool,
    /// What the session holds of the node's memory.
    pub(crate) account: Arc<Account>,
}

#[derive(Debug, Default)]
struct Identity {
    user: Option<String>,
    database: Option<String>,
    attributes: Vec<(String, String)>,
}

/// The command that runs, or the last one that did.
#[derive(Debug, Default)]
struct Command {
    /// What the process list calls it.
    label: &'static str,
    /// As the client sent it, cut at `STATEMENT_TEXT_MAX`.
    text: Vec<u8>,
}

impl Command {
    fn set_text(&mut self, text: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(&text[..text.len().min(STATEMENT_TEXT_MAX)]);
    }
}

/// `Handle::phase`
mod phase {
    pub const LOGIN: u8 = 0;
    pub const IDLE: u8 = 1;
    pub const COMMAND: u8 = 2;
}

/// `Handle::interrupt`: the weightier the larger.
mod interrupt {
    pub const NONE: u8 = 0;
    pub const KILL_QUERY: u8 = 1;
    pub const KILL_CONNECTION: u8 = 2;
    pub const SHUTDOWN: u8 = 3;
}

impl Registry {
    /// Of a node without others: ids count from 1.
    pub fn new() -> Arc<Registry> {
        Registry::with_ids_of(0)
    }

    /// Of a node among others: an id tells which node's it is (`sql_api::processes`).
    pub fn of_node(node: u8) -> Arc<Registry> {
        Registry::with_ids_of(node)
    }

    fn with_ids_of(node: u8) -> Arc<Registry> {
        Arc::new(Registry {
            connections: Mutex::default(),
            places: Mutex::default(),
            ids: Ids {
                last: AtomicU32::new(0),
                node,
            },
            started: Instant::now(),
            draining: Arc::default(),
            prepared_statements: AtomicUsize::new(0),
            counters: Counters::default(),
        })
    }

    /// Enters a new connection, which has to log in; none where all places for logins are taken.
    pub fn enter(&self, peer: Peer) -> Option<Arc<Handle>> {
        let mut connections = self.connections.lock();
        let id = self.ids.next(|id| connections.contains_key(&id));
        let arrival = self.places.lock().arrive(id, peer.network(), Instant::now());
        let Arrival::Welcome { place, pushed_out } = arrival else {
            self.counters.connections_refused.fetch_add(1, Relaxed);
            return None;
        };
        if let Some(handle) = pushed_out.and_then(|id| connections.get(&id)) {
            self.counters.logins_pushed_out.fetch_add(1, Relaxed);
            handle.interrupt(interrupt::KILL_CONNECTION);
        }
        let handle = Arc::new(Handle::new(id, peer, place, self.draining.clone()));
        connections.insert(id, handle.clone());
        self.counters.connections.fetch_add(1, Relaxed);
        Some(handle)
    }

    /// Enters a new connection that may never log in.
    pub fn enter_visitor(&self, peer: Peer) -> Option<Arc<Handle>> {
        let handle = self.enter(peer)?;
        handle.is_visitor.store(true, Relaxed);
        self.counters.connections.fetch_sub(1, Relaxed);
        Some(handle)
    }

    /// Enters work of the node's own.
    pub(crate) fn enter_job(&self, user: &str, database: Option<&str>) -> Arc<Handle> {
        let mut connections = self.connections.lock();
        let id = self.ids.next(|id| connections.contains_key(&id));
        let handle = Arc::new(Handle::new(id, Peer::Inside, Place::outside(), self.draining.clone()));
        handle.set_user(user);
        handle.set_database(database);
        connections.insert(id, handle.clone());
        handle
    }

    /// Gives a connection that has proved who it is its place as a session; the one that it had is given up.
    pub(crate) fn open(
        &self,
        handle: &Handle,
        account: AccountName,
        standing: &Standing,
        limits: &Limits,
    ) -> SqlResult<()> {
        let opened = self
            .places
            .lock()
            .open(&mut handle.place.lock(), account, standing, limits);
        if opened.is_ok() {
            self.is_no_visitor(handle);
        }
        opened.inspect_err(|_| {
            self.counters.connections_refused.fetch_add(1, Relaxed);
        })
    }

    /// A visitor becomes a session's connection: of whoever runs the node, say, who needs no place.
    pub fn is_no_visitor(&self, handle: &Handle) {
        if handle.is_visitor.swap(false, Relaxed) {
            self.counters.connections.fetch_add(1, Relaxed);
        }
    }

    /// A visitor becomes a connection of the user of `session`, which depends on it, and whose place is good for both.
    pub fn carries(&self, handle: &Handle, session: &Handle) {
        self.places.lock().release(&mut handle.place.lock());
        let user = session.identity.lock().user.clone();
        handle.identity.lock().user = user;
        self.is_no_visitor(handle);
    }

    pub(crate) fn leave(&self, handle: &Handle) {
        self.connections.lock().remove(&handle.id);
        self.places.lock().release(&mut handle.place.lock());
        let closed = &self.counters;
        closed
            .commands_of_closed
            .fetch_add(handle.commands.load(Relaxed), Relaxed);
        closed
            .bytes_received_of_closed
            .fetch_add(handle.bytes_received.load(Relaxed), Relaxed);
        closed
            .bytes_sent_of_closed
            .fetch_add(handle.bytes_sent.load(Relaxed), Relaxed);
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Takes one of the `limit` places for prepared statements.
    pub fn take_statement(&self, limit: usize) -> bool {
        let taken = self.prepared_statements.fetch_add(1, Relaxed) < limit;
        if !taken {
            self.return_statements(1);
        }
        taken
    }

    pub fn return_statements(&self, count: usize) {
        self.prepared_statements.fetch_sub(count, Relaxed);
    }

    /// Makes every connection close once it is idle, but for those of visitors.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Relaxed);
        self.connections.lock().values().for_each(|handle| handle.wake());
    }

    pub fn is_draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    /// Interrupts every running statement with 1053.
    pub(crate) fn interrupt_sessions(&self) {
        self.connections
            .lock()
            .values()
            .filter(|handle| !handle.is_visitor())
            .for_each(|handle| handle.interrupt(interrupt::SHUTDOWN));
    }

    /// Whether anybody is connected who is not a visitor, or what sessions are asked goes through.
    pub(crate) fn has_sessions(&self) -> bool {
        let connections = self.connections.lock();
        connections
            .values()
            .any(|handle| !handle.is_visitor() || handle.carries_exchanges.load(Relaxed))
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.connections.lock().is_empty()
    }

    pub fn count_error(&self, number: u16) {
        *self.counters.errors.lock().entry(number).or_default() += 1;
    }

    /// How often commands were answered with which error.
    pub fn errors(&self) -> Vec<(u16, u64)> {
        self.counters
            .errors
            .lock()
            .iter()
            .map(|(number, count)| (*number, *count))
            .collect()
    }

    pub fn statistics(&self) -> Statistics {
        let connections = self.connections.lock();
        let counters = &self.counters;
        let total = |of_closed: &AtomicU64, of_open: fn(&Handle) -> &AtomicU64| {
            let open: u64 = connections.values().map(|handle| of_open(handle).load(Relaxed)).sum();
            of_closed.load(Relaxed) + open
        };
        Statistics {
            uptime_seconds: self.started.elapsed().as_secs(),
            connected: connections.values().filter(|handle| !handle.is_visitor()).count(),
            running: connections
                .values()
                .filter(|handle| !handle.is_visitor() && handle.phase.load(Relaxed) != phase::IDLE)
                .count(),
            connections: counters.connections.load(Relaxed),
            connections_refused: counters.connections_refused.load(Relaxed),
            logins_denied: counters.logins_denied.load(Relaxed),
            passwords_denied: counters.passwords_denied.load(Relaxed),
            logins_delayed: counters.logins_delayed.load(Relaxed),
            logins_refused: counters.logins_refused.load(Relaxed),
            logins_pushed_out: counters.logins_pushed_out.load(Relaxed),
            commands: total(&counters.commands_of_closed, |handle| &handle.commands),
            bytes_received: total(&counters.bytes_received_of_closed, |handle| &handle.bytes_received),
            bytes_sent: total(&counters.bytes_sent_of_closed, |handle| &handle.bytes_sent),
            prepared_statements: self.prepared_statements.load(Relaxed),
        }
    }
}

impl Processes for Registry {
    fn list(&self) -> Vec<Process> {
        let handles: Vec<_> = self.connections.lock().values().cloned().collect();
        let sessions = handles.iter().filter(|handle| !handle.is_visitor());
        sessions.map(|handle| handle.process()).collect()
    }

    fn traffic(&self) -> Traffic {
        let now = self.statistics();
        Traffic {
            connected: now.connected as u64,
            running: now.running as u64,
            connections: now.connections,
            connections_refused: now.connections_refused,
            logins_denied: now.logins_denied,
            commands: now.commands,
            bytes_received: now.bytes_received,
            bytes_sent: now.bytes_sent,
        }
    }

    fn kill(&self, connection_id: u32, what: Kill) -> bool {
        let handle = self.connections.lock().get(&connection_id).cloned();
        if let Some(handle) = &handle {
            handle.interrupt(match what {
                Kill::Query => interrupt::KILL_QUERY,
                Kill::Connection => interrupt::KILL_CONNECTION,
            });
        }
        handle.is_some()
    }
}

impl Handle {
    fn new(id: u32, peer: Peer, place: Place, draining: Arc<AtomicBool>) -> Handle {
        Handle {
            id,
            peer,
            place: Mutex::new(place),
            identity: Mutex::default(),
            phase: AtomicU8::new(phase::LOGIN),
            since_ms: AtomicU64::new(CoarseInstant::now().as_millis()),
            commands: AtomicU64::new(0),
            bytes_received: AtomicU64::new(0),
            bytes_sent: AtomicU64::new(0),
            command: Mutex::default(),
            state: Mutex::default(),
            interrupt: AtomicU8::new(interrupt::NONE),
            waker: Mutex::default(),
            draining,
            is_visitor: AtomicBool::new(false),
            carries_exchanges: AtomicBool::new(false),
            account: Arc::default(),
        }
    }

    /// Registers the task that an interrupt wakes.
    pub fn set_waker(&self, waker: Waker) {
        *self.waker.lock() = Some(waker);
    }

    /// What the statement waits for; empty: it executes.
    pub fn show_state(&self, state: &'static str) {
        *self.state.lock() = state;
    }

    /// What the command that has begun runs.
    pub fn show_statement(&self, text: &[u8]) {
        self.command.lock().set_text(text);
    }

    pub fn set_user(&self, user: &str) {
        self.identity.lock().user = Some(user.to_owned());
    }

    pub fn set_attributes(&self, attributes: Vec<(String, String)>) {
        self.identity.lock().attributes = attributes;
    }

    pub fn set_database(&self, database: Option<&str>) {
        let mut identity = self.identity.lock();
        if identity.database.as_deref() != database {
            identity.database = database.map(str::to_owned);
        }
    }

    /// A command begins, which the process list shows by `label` and `text`. A KILL QUERY that came too late for the one before does
    /// not concern it.
    pub fn begin(&self, label: &'static str, text: &[u8]) {
        if self.interrupt.load(Relaxed) == interrupt::KILL_QUERY {
            // Unless it has become a weightier one in between.
            let _ = self
                .interrupt
                .compare_exchange(interrupt::KILL_QUERY, interrupt::NONE, Relaxed, Relaxed);
        }
        let mut command = self.command.lock();
        command.label = label;
        command.set_text(text);
        drop(command);
        self.enter(phase::COMMAND);
        add(&self.commands, 1);
    }

    pub fn count_received(&self, bytes: usize) {
        add(&self.bytes_received, bytes);
    }

    pub fn count_sent(&self, bytes: usize) {
        add(&self.bytes_sent, bytes);
    }

    /// The login or the command is over; the connection waits for its client.
    pub fn end(&self) {
        self.enter(phase::IDLE);
    }

    fn enter(&self, phase: u8) {
        self.phase.store(phase, Relaxed);
        self.since_ms.store(CoarseInstant::now().as_millis(), Relaxed);
    }

    /// A node that stops waits for it, as it does for sessions.
    pub fn carries_exchanges(&self, carries: bool) {
        self.carries_exchanges.store(carries, Relaxed);
    }

    pub fn is_visitor(&self) -> bool {
        self.is_visitor.load(Relaxed)
    }

    fn interrupt(&self, weight: u8) {
        self.interrupt.fetch_max(weight, Relaxed);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.lock() {
            waker.wake_by_ref();
        }
    }

    /// Why the running command should stop.
    #[inline]
    pub fn interrupted(&self) -> Option<Interrupt> {
        match self.interrupt.load(Relaxed) {
            interrupt::NONE => None,
            interrupt::KILL_QUERY => Some(Interrupt::KillQuery),
            interrupt::KILL_CONNECTION => Some(Interrupt::KillConnection),
            _ => Some(Interrupt::Shutdown),
        }
    }

    /// Whether the server is stopping, so that an idle connection should close. A visitor's does not: he gets to hear of it.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Relaxed) && !self.is_visitor()
    }

    fn process(&self) -> Process {
        let identity = self.identity.lock();
        let phase = self.phase.load(Relaxed);
        let since = CoarseInstant::from_millis(self.since_ms.load(Relaxed));
        let sleeping = phase == phase::IDLE;
        let command = self.command.lock();
        Process {
            id: self.id,
            user: identity.user.clone().unwrap_or_else(|| "unauthenticated user".into()),
            host: self.peer.text(),
            database: identity.database.clone(),
            attributes: identity.attributes.clone(),
            command: match phase {
                phase::LOGIN => "Connect",
                phase::IDLE => "Sleep",
                _ => command.label,
            }
            .into(),
            seconds: since.elapsed().as_secs(),
            state: match *self.state.lock() {
                _ if sleeping => "",
                "" => "executing",
                state => state,
            }
            .into(),
            statement: (!sleeping && !command.text.is_empty())
                .then(|| String::from_utf8_lossy(&command.text).into_owned()),
            memory_bytes: self.account.bytes(),
            memory_bytes_max: self.account.peak_bytes(),
        }
    }
}

/// Only the connection's own thread counts, so a read and a write are enough.
fn add(counter: &AtomicU64, n: usize) {
    counter.store(counter.load(Relaxed) + n as u64, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql_api::login::Standing;
    use sql_api::processes::node_of;

    fn peer() -> Peer {
        Peer::Tcp {
            client: ([127, 0, 0, 1], 4711).into(),
            server: ([127, 0, 0, 1], 3306).into(),
        }
    }

    #[test]
    fn the_process_list_shows_who_does_what() {
        let registry = Registry::new();
        let handle = registry.enter(peer()).unwrap();
        assert_eq!(registry.list()[0].user, "unauthenticated user");
        handle.set_user("root");
        handle.set_database(Some("test"));
        handle.begin("Query", b"select sleep(1)");
        let process = registry.list().remove(0);
        assert_eq!(
            (process.user.as_str(), process.host.as_str()),
            ("root", "localhost:4711")
        );
        assert_eq!(
            (&*process.command, process.statement.as_deref()),
            ("Query", Some("select sleep(1)"))
        );
        handle.end();
        let process = registry.list().remove(0);
        assert_eq!((&*process.command, process.statement), ("Sleep", None));
        registry.leave(&handle);
        assert!(registry.list().is_empty());
        assert_eq!(registry.statistics().commands, 1);
    }

    #[test]
    fn a_late_kill_query_spares_the_next_command_and_a_kill_does_not() {
        let registry = Registry::new();
        let handle = registry.enter(peer()).unwrap();
        assert!(registry.kill(handle.id, Kill::Query));
        assert_eq!(handle.interrupted(), Some(Interrupt::KillQuery));
        handle.begin("Ping", b"");
        assert_eq!(handle.interrupted(), None);
        assert!(registry.kill(handle.id, Kill::Connection));
        registry.kill(handle.id, Kill::Query);
        handle.begin("Ping", b"");
        assert_eq!(handle.interrupted(), Some(Interrupt::KillConnection));
        assert!(!registry.kill(handle.id + 1, Kill::Query));
    }

    #[test]
    fn visitors_are_not_listed_until_they_log_in() {
        let registry = Registry::new();
        let handle = registry.enter_visitor(peer()).unwrap();
        assert!(registry.list().is_empty());
        assert_eq!(
            (registry.statistics().connected, registry.statistics().connections),
            (0, 0)
        );
        let opened = registry.open(
            &handle,
            ("u".into(), "%".into()),
            &Standing::default(),
            &Limits::default(),
        );
        assert_eq!(
            (opened.is_ok(), registry.list().len(), registry.statistics().connections),
            (true, 1, 1)
        );
    }

    #[test]
    fn ids_tell_the_node_and_go_around_those_in_use() {
        let registry = Registry::of_node(3);
        let first = registry.enter(peer()).unwrap();
        assert_eq!((first.id, node_of(first.id)), (3 << 24 | 1, Some(3)));
        registry.ids.last.store((1 << 24) - 1, Relaxed);
        let next = registry.enter(peer()).unwrap();
        assert_eq!(next.id, 3 << 24 | 2, "0 is left out, and 1 is taken");
        assert_eq!(node_of(Registry::new().enter(peer()).unwrap().id), None);
    }

    #[test]
    fn prepared_statements_have_a_limit() {
        let registry = Registry::new();
        assert!(registry.take_statement(1) && !registry.take_statement(1));
        registry.return_statements(1);
        assert!(registry.take_statement(1));
    }

    #[test]
    fn a_connection_gives_its_place_back() {
        let registry = Registry::new();
        let limits = Limits {
            connections_max: 1,
            ..Limits::default()
        };
        let open = || {
            let handle = registry.enter(peer()).unwrap();
            let opened = registry.open(&handle, ("u".into(), "%".into()), &Standing::default(), &limits);
            (handle, opened.is_ok())
        };
        let (first, is_open) = open();
        assert!(is_open);
        let (second, is_open) = open();
        assert!(!is_open);
        registry.leave(&second);
        registry.leave(&first);
        assert!(open().1);
    }
}
