//! The clients of a node, as CLIENT shows them, and what one may do to others: end them, end their waiting, make all of them pause.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use redis_wire::Protocol;

use crate::hub::{Subscriber, Waiter};

/// One client, as others see it.
pub struct Client {
    pub id: u64,
    pub address: String,
    /// Where it has connected to.
    pub local_address: String,
    /// Milliseconds since 1970.
    connected_ms: i64,
    last_ms: AtomicI64,
    db: AtomicU32,
    is_resp3: AtomicBool,
    /// It listens to channels.
    listens: AtomicBool,
    monitors: AtomicBool,
    is_gone: AtomicBool,
    about: Mutex<About>,
    waits: Mutex<Option<Arc<Waiter>>>,
    /// What is to be sent that is no reply. Only of those to whom something may be.
    outbox: OnceLock<Arc<Subscriber>>,
}

/// What a client has said of itself, and what it does.
#[derive(Default, Clone)]
struct About {
    name: Vec<u8>,
    library: (Vec<u8>, Vec<u8>),
    user: String,
    command: &'static str,
    /// How many channels, patterns and channels of shards it listens to.
    subscriptions: [usize; 3],
    /// How many commands wait for EXEC; none: no transaction has begun.
    queued: Option<usize>,
    /// Of one that tracks: the client that is told instead (0: none), whether it broadcasts, whether the other one is gone.
    tracking: Option<(u64, bool, bool)>,
}

/// How the waiting of a blocked client is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unblock {
    AsAfterTimeout,
    WithError,
}

impl Client {
    pub fn new(id: u64, address: String, local_address: String, now_ms: i64) -> Arc<Client> {
        Arc::new(Client {
            id,
            address,
            local_address,
            connected_ms: now_ms,
            last_ms: AtomicI64::new(now_ms),
            db: AtomicU32::new(0),
            is_resp3: AtomicBool::new(false),
            listens: AtomicBool::new(false),
            monitors: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            outbox: OnceLock::new(),
            about: Mutex::default(),
            waits: Mutex::default(),
        })
    }

    pub fn set_name(&self, name: &[u8]) {
        self.about.lock().name = name.to_vec();
    }

    pub fn name(&self) -> Vec<u8> {
        self.about.lock().name.clone()
    }

    pub fn set_library(&self, name: Option<&[u8]>, version: Option<&[u8]>) {
        let mut about = self.about.lock();
        if let Some(name) = name {
            about.library.0 = name.to_vec();
        }
        if let Some(version) = version {
            about.library.1 = version.to_vec();
        }
    }

    pub fn set_user(&self, user: &str) {
        self.about.lock().user = user.to_owned();
    }

    pub fn user(&self) -> String {
        self.about.lock().user.clone()
    }

    /// What it does now.
    pub fn note(&self, command: &'static str, db: u32, is_resp3: bool, listens: bool, now_ms: i64) {
        self.last_ms.store(now_ms, Ordering::Relaxed);
        self.db.store(db, Ordering::Relaxed);
        self.is_resp3.store(is_resp3, Ordering::Relaxed);
        self.listens.store(listens, Ordering::Relaxed);
        self.about.lock().command = command;
    }

    pub fn listens(&self) -> bool {
        self.listens.load(Ordering::Relaxed)
    }

    /// How many channels, patterns and channels of shards it listens to.
    pub fn set_subscriptions(&self, counts: [usize; 3]) {
        self.listens.store(counts != [0; 3], Ordering::Relaxed);
        self.about.lock().subscriptions = counts;
    }

    /// How many commands wait for EXEC; none: no transaction has begun.
    pub fn set_queued(&self, count: Option<usize>) {
        self.about.lock().queued = count;
    }

    pub fn set_monitors(&self, monitors: bool) {
        self.monitors.store(monitors, Ordering::Relaxed);
    }

    /// It has ended.
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Acquire)
    }

    pub fn outbox(&self) -> Option<&Arc<Subscriber>> {
        self.outbox.get()
    }

    /// From here on something may be sent to it that is no reply.
    pub fn open_outbox(&self, protocol: Protocol) -> &Arc<Subscriber> {
        let outbox = self.outbox.get_or_init(|| Subscriber::new(protocol));
        outbox.set_protocol(protocol);
        outbox
    }

    /// It tracks what it reads; of whom is told, and whether it broadcasts.
    pub fn set_tracking(&self, tracking: Option<(u64, bool)>) {
        self.about.lock().tracking = tracking.map(|(redirect, broadcasts)| (redirect, broadcasts, false));
    }

    pub fn tracking(&self) -> Option<(u64, bool, bool)> {
        self.about.lock().tracking
    }

    /// Whom it redirects to is gone.
    pub fn lose_redirect(&self) {
        if let Some((_, _, is_broken)) = &mut self.about.lock().tracking {
            *is_broken = true;
        }
    }

    /// It waits for keys, or no longer.
    pub fn set_waiting(&self, waiter: Option<Arc<Waiter>>) {
        *self.waits.lock() = waiter;
    }

    /// Ends its waiting; false: it does not wait.
    pub fn unblock(&self, how: Unblock) -> bool {
        let waits = self.waits.lock();
        let Some(waiter) = &*waits else { return false };
        waiter.end(how);
        true
    }

    fn is_blocked(&self) -> bool {
        self.waits.lock().is_some()
    }

    /// Its line of CLIENT LIST. `request` is how many bytes are held of what it has sent.
    pub fn line(&self, now_ms: i64, request: usize) -> String {
        let about = self.about.lock().clone();
        let mut flags = String::new();
        let (_, broadcasts, is_broken) = about.tracking.unwrap_or_default();
        let [channels, patterns, shards] = about.subscriptions;
        for (is_set, flag) in [
            (self.monitors.load(Ordering::Relaxed), 'O'),
            (self.listens(), 'P'),
            (about.queued.is_some(), 'x'),
            (self.is_blocked(), 'b'),
            (about.tracking.is_some(), 't'),
            (is_broken, 'R'),
            (broadcasts, 'B'),
        ] {
            if is_set {
                flags.push(flag);
            }
        }
        if flags.is_empty() {
            flags.push('N');
        }
        let seconds = |since: i64| (now_ms - since).max(0) / 1000;
        format!(
            "id={} addr={} laddr={} fd=0 name={} age={} idle={} flags={flags} db={} sub={channels} psub={patterns} ssub={shards} multi={} qbuf={request} qbuf-free=0 \
             argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 events=r cmd={} user={} redir={} resp={} lib-name={} lib-ver={}",
            self.id,
            self.address,
            self.local_address,
            String::from_utf8_lossy(&about.name),
            seconds(self.connected_ms),
            seconds(self.last_ms.load(Ordering::Relaxed)),
            self.db.load(Ordering::Relaxed),
            about.queued.map_or(-1, |queued| queued as i64),
            if about.command.is_empty() {
                "NULL"
            } else {
                about.command
            },
            if about.user.is_empty() { "default" } else { &about.user },
            about.tracking.map_or(-1, |(redirect, ..)| redirect as i64),
            if self.is_resp3.load(Ordering::Relaxed) { 3 } else { 2 },
            String::from_utf8_lossy(&about.library.0),
            String::from_utf8_lossy(&about.library.1),
        )
    }
}

/// All clients of a node.
#[derive(Default)]
pub struct Clients {
    by_id: Mutex<BTreeMap<u64, Arc<Client>>>,
    /// Nobody's commands run until then, in milliseconds since 1970; of those that write.
    paused_until_ms: AtomicI64,
    /// Those that only read wait, too.
    pauses_all: AtomicBool,
}

impl Clients {
    pub fn enter(&self, client: &Arc<Client>) {
        self.by_id.lock().insert(client.id, client.clone());
    }

    pub fn leave(&self, id: u64) {
        if let Some(client) = self.by_id.lock().remove(&id) {
            client.is_gone.store(true, Ordering::Release);
        }
    }

    pub fn all(&self) -> Vec<Arc<Client>> {
        self.by_id.lock().values().cloned().collect()
    }

    pub fn find(&self, id: u64) -> Option<Arc<Client>> {
        self.by_id.lock().get(&id).cloned()
    }

    pub fn count(&self) -> usize {
        self.by_id.lock().len()
    }

    /// CLIENT PAUSE. A shorter pause does not cut a longer one short.
    pub fn pause(&self, until_ms: i64, all: bool) {
        self.paused_until_ms.fetch_max(until_ms, Ordering::SeqCst);
        self.pauses_all.store(all, Ordering::SeqCst);
    }

    pub fn unpause(&self) {
        self.paused_until_ms.store(0, Ordering::SeqCst);
    }

    /// Until when a command has to wait.
    #[inline]
    pub fn paused(&self, writes: bool) -> Option<i64> {
        let until = self.paused_until_ms.load(Ordering::Relaxed);
        (until > 0 && (writes || self.pauses_all.load(Ordering::Relaxed))).then_some(until)
    }
}
