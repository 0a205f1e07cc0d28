//! Which client has read which keys, and has to hear when they change (CLIENT TRACKING).
//!
//! ```text
//!   GET k by a client that tracks ──▶ k is noted for it ──▶ snapshot ──▶ reply
//!   the log changes a row of redis.db0, on whatever node, by whatever protocol ──▶ visible ──▶ who has noted it is told, once
//! ```
//!
//! A key is noted before the snapshot is taken that it is read at. So every change that the reply does not show comes after the note, and is
//! told. What is told goes into the outbox of the client, or of the one that it redirects to.
//!
//! The notes are bounded, in keys (`tracking-table-max-keys`) and in bytes: for a new one an old one goes, and its clients are told that it
//! has changed. Clients in broadcast mode have no notes: they hear of all keys that begin as they say.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use catalog::Catalog;
use parking_lot::Mutex;
use redis_wire::Protocol;
use sql::row_follower::{Changed, Follows, RowChange, RowChanges, RowFollower};
use types::key::KeyPart;
use types::{KeyLayout, SqlType, TableId, Value};

use crate::clients::Client;
use crate::tables::{DATABASE, DATABASES, KEY_MAX, Part};

/// How a client tracks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mode {
    pub broadcasts: bool,
    /// Only what follows CLIENT CACHING YES.
    pub opt_in: bool,
    /// All but what follows CLIENT CACHING NO.
    pub opt_out: bool,
    /// Not what the client has changed itself.
    pub no_loop: bool,
}

/// What the clients of a node track.
pub struct Tracking {
    /// Clients that track. Nobody looks further while there are none.
    count: AtomicUsize,
    /// How often the first one has come.
    epoch: AtomicUsize,
    /// `tracking-table-max-keys`; 0: only bytes count.
    keys_max: AtomicUsize,
    bytes_max: usize,
    tables: Mutex<Tables>,
    notes: Mutex<Notes>,
    keys: KeyLayout,
}

/// The tables that keys are in.
#[derive(Default)]
struct Tables {
    /// Of the catalog that they were looked up in.
    version: u64,
    epoch: usize,
    by_id: HashMap<TableId, (u32, Part)>,
}

#[derive(Default)]
struct Notes {
    clients: HashMap<u64, Tracker>,
    /// By database and key: the ids of clients that have read it, some of which may be gone.
    readers: BTreeMap<(u32, Vec<u8>), Vec<u64>>,
    /// Clients, in all of these.
    pairs: usize,
    bytes: usize,
    /// The last one that had to go.
    evicted: Option<(u32, Vec<u8>)>,
    /// Who is told of all keys that begin so.
    by_prefix: BTreeMap<Vec<u8>, BTreeSet<u64>>,
    prefix_bytes: usize,
    /// Keys that clients are changing who do not want to hear of that.
    own: HashMap<(u32, Vec<u8>), u64>,
    /// Transactions that remove all keys. Everybody is told so when one is over, and of nothing else before.
    flushes: usize,
}

struct Tracker {
    client: Arc<Client>,
    mode: Mode,
    redirect: Option<(u64, Weak<Client>)>,
    prefixes: BTreeSet<Vec<u8>>,
}

/// What a note takes beside its key.
const NOTE_BYTES: usize = 96;
/// What all prefixes of a node may take.
const PREFIX_BYTES_MAX: usize = 4 << 20;
/// `tracking-table-max-keys`, as long as nobody says otherwise.
const KEYS_MAX: usize = 1_000_000;
/// The channel of those that others redirect to.
const CHANNEL: &[u8] = b"__redis__:invalidate";

/// What a client is told.
#[derive(Clone, Copy)]
enum Invalid<'k> {
    Keys(&'k [&'k [u8]]),
    All,
}

/// There is no room for more prefixes.
#[derive(Debug)]
pub struct TooManyPrefixes;

impl Tracking {
    /// The notes take `bytes_max` at most.
    pub fn new(bytes_max: usize) -> Tracking {
        let key = SqlType::varbinary(KEY_MAX as u32).not_null();
        Tracking {
            count: AtomicUsize::new(0),
            epoch: AtomicUsize::new(0),
            keys_max: AtomicUsize::new(KEYS_MAX),
            bytes_max,
            tables: Mutex::default(),
            notes: Mutex::default(),
            keys: KeyLayout::new(vec![KeyPart::ascending(0, key)]),
        }
    }

    pub fn keys_max(&self) -> usize {
        self.keys_max.load(Ordering::Relaxed)
    }

    pub fn set_keys_max(&self, keys: usize) {
        self.keys_max.store(keys, Ordering::Relaxed);
        governor::given_away(|| self.notes.lock().make_room(0, keys, self.bytes_max));
    }

    /// Clients that track, keys that they have read, and how often one of them has read one.
    pub fn counts(&self) -> (usize, usize, usize) {
        let notes = self.notes.lock();
        (notes.clients.len(), notes.readers.len(), notes.pairs)
    }

    pub fn prefixes_count(&self) -> usize {
        self.notes.lock().by_prefix.len()
    }

    // --- clients ---

    /// A client tracks from here on, or does so in another way. Prefixes are added to those that there are.
    pub fn begin(
        &self,
        client: &Arc<Client>,
        mode: Mode,
        redirect: Option<&Arc<Client>>,
        prefixes: &[&[u8]],
    ) -> Result<(), TooManyPrefixes> {
        governor::given_away(|| {
            let notes = &mut *self.notes.lock();
            let added: usize = prefixes.iter().map(|prefix| prefix.len() + NOTE_BYTES).sum();
            if notes.prefix_bytes + added > PREFIX_BYTES_MAX {
                return Err(TooManyPrefixes);
            }
            if notes.clients.is_empty() {
                self.epoch.fetch_add(1, Ordering::SeqCst);
            }
            let tracker = notes.clients.entry(client.id).or_insert_with(|| Tracker {
                client: client.clone(),
                mode,
                redirect: None,
                prefixes: BTreeSet::new(),
            });
            tracker.mode = mode;
            tracker.redirect = redirect.map(|target| (target.id, Arc::downgrade(target)));
            for &prefix in prefixes {
                if tracker.prefixes.insert(prefix.to_vec()) {
                    notes.prefix_bytes += prefix.len() + NOTE_BYTES;
                    let clients = notes.by_prefix.entry(prefix.to_vec()).or_default();
                    clients.insert(client.id);
                }
            }
            self.count.store(notes.clients.len(), Ordering::SeqCst);
            Ok(())
        })
    }

    /// A client tracks no more. What it has read stays noted until that changes.
    pub fn end(&self, id: u64) {
        if self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let notes = &mut *self.notes.lock();
        let Some(tracker) = notes.clients.remove(&id) else {
            return;
        };
        tracker.client.set_tracking(None);
        for prefix in tracker.prefixes {
            notes.prefix_bytes -= prefix.len() + NOTE_BYTES;
            if let Some(clients) = notes.by_prefix.get_mut(&prefix) {
                clients.remove(&id);
                if clients.is_empty() {
                    notes.by_prefix.remove(&prefix);
                }
            }
        }
        if notes.clients.is_empty() {
            notes.forget_readers();
        }
        self.count.store(notes.clients.len(), Ordering::SeqCst);
    }

    /// The prefixes of a client.
    pub fn prefixes(&self, id: u64) -> Vec<Vec<u8>> {
        let notes = self.notes.lock();
        let tracker = notes.clients.get(&id);
        tracker.map_or_else(Vec::new, |tracker| tracker.prefixes.iter().cloned().collect())
    }

    // --- notes ---

    /// A client is about to read keys.
    pub fn note<'k>(&self, id: u64, db: u32, keys: impl Iterator<Item = &'k [u8]>) {
        governor::given_away(|| {
            let notes = &mut *self.notes.lock();
            for key in keys {
                notes.add(id, db, key, self.keys_max(), self.bytes_max);
            }
        });
    }

    /// A key has changed that a client has read at an older snapshot.
    pub fn note_changed(&self, db: u32, key: &[u8]) {
        governor::given_away(|| self.notes.lock().tell_readers(db, key.to_vec()));
    }

    /// The client is about to commit changes of these keys, of which it does not want to hear.
    pub fn own(self: &Arc<Self>, id: u64, keys: Vec<(u32, Vec<u8>)>) -> Own {
        governor::given_away(|| {
            let notes = &mut *self.notes.lock();
            notes.own.extend(keys.iter().map(|key| (key.clone(), id)));
        });
        Own {
            tracking: self.clone(),
            id,
            keys,
        }
    }

    /// All keys are about to be removed: whoever has read any is told when that is over.
    pub fn flush(self: &Arc<Self>) -> Option<Flush> {
        if !self.listens() {
            return None;
        }
        self.notes.lock().flushes += 1;
        Some(Flush { tracking: self.clone() })
    }

    /// Everything may have changed.
    pub fn changed_all(&self) {
        let notes = &mut *self.notes.lock();
        notes.forget_readers();
        notes.clients.values().for_each(|tracker| tracker.tell(Invalid::All));
    }
}

/// Keys that a client is changing, until that is over.
pub struct Own {
    tracking: Arc<Tracking>,
    id: u64,
    keys: Vec<(u32, Vec<u8>)>,
}

impl Drop for Own {
    fn drop(&mut self) {
        governor::given_away(|| {
            let notes = &mut *self.tracking.notes.lock();
            for key in &self.keys {
                if notes.own.get(key) == Some(&self.id) {
                    notes.own.remove(key);
                }
            }
        });
    }
}

/// All keys are being removed, until that is over.
pub struct Flush {
    tracking: Arc<Tracking>,
}

impl Drop for Flush {
    fn drop(&mut self) {
        self.tracking.notes.lock().flushes -= 1;
        self.tracking.changed_all();
    }
}

impl Notes {
    fn add(&mut self, id: u64, db: u32, key: &[u8], keys_max: usize, bytes_max: usize) {
        let place = (db, key.to_vec());
        if let Some(readers) = self.readers.get_mut(&place) {
            if let Err(at) = readers.binary_search(&id) {
                readers.insert(at, id);
                self.pairs += 1;
                self.bytes += size_of::<u64>();
            }
        } else {
            self.make_room(1, keys_max, bytes_max);
            self.bytes += key.len() + NOTE_BYTES + size_of::<u64>();
            self.pairs += 1;
            self.readers.insert(place, vec![id]);
        }
    }

    /// Lets old notes go, one after the other in the order of the keys.
    fn make_room(&mut self, more: usize, keys_max: usize, bytes_max: usize) {
        let keys_max = if keys_max == 0 { usize::MAX } else { keys_max };
        while !self.readers.is_empty() && (self.readers.len() + more > keys_max || self.bytes > bytes_max) {
            let after = self.evicted.take();
            let next = after.and_then(|after| {
                let mut later = self.readers.range((Bound::Excluded(after), Bound::Unbounded));
                later.next().map(|(place, _)| place.clone())
            });
            let next = next.or_else(|| self.readers.keys().next().cloned());
            if let Some((db, key)) = next {
                self.tell_readers(db, key.clone());
                self.evicted = Some((db, key));
            }
        }
    }

    fn forget_readers(&mut self) {
        let readers = std::mem::take(&mut self.readers);
        governor::large::drop_aside(readers, self.bytes as u64);
        (self.pairs, self.bytes, self.evicted) = (0, 0, None);
    }

    /// Whoever has read a key is told, once; but for who is changing it and does not want to hear of that.
    fn tell_readers(&mut self, db: u32, key: Vec<u8>) {
        let place = (db, key);
        let Some(readers) = self.readers.remove(&place) else {
            return;
        };
        self.pairs -= readers.len();
        self.bytes -= place.1.len() + NOTE_BYTES + readers.len() * size_of::<u64>();
        let own = self.own.get(&place);
        for id in readers.iter().filter(|id| own != Some(id)) {
            if let Some(tracker) = self.clients.get(id).filter(|tracker| !tracker.mode.broadcasts) {
                tracker.tell(Invalid::Keys(&[&place.1]));
            }
        }
    }

    /// What the log has changed.
    fn changed(&mut self, changes: Vec<(u32, Vec<u8>)>) {
        if !self.by_prefix.is_empty() {
            self.broadcast(&changes);
        }
        for (db, key) in changes {
            let place = (db, key);
            let owner = self.own.get(&place).copied();
            self.tell_readers(place.0, place.1.clone());
            if owner.is_some() {
                // What comes after is somebody else's change.
                self.own.remove(&place);
            }
        }
    }

    /// Tells of keys that begin as somebody has said: for each prefix all of them at once.
    fn broadcast(&self, changes: &[(u32, Vec<u8>)]) {
        let lengths: BTreeSet<usize> = self.by_prefix.keys().map(Vec::len).collect();
        let mut found: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (at, (_, key)) in changes.iter().enumerate() {
            for prefix in lengths.iter().filter_map(|&length| key.get(..length)) {
                if let Some((prefix, _)) = self.by_prefix.get_key_value(prefix) {
                    found.entry(prefix).or_default().push(at);
                }
            }
        }
        for (prefix, at) in found {
            for id in self.by_prefix.get(prefix).into_iter().flatten() {
                let Some(tracker) = self.clients.get(id) else { continue };
                let is_told = |at: &&usize| !tracker.mode.no_loop || self.own.get(&changes[**at]) != Some(id);
                let mut keys: Vec<&[u8]> = at.iter().filter(is_told).map(|&at| &changes[at].1[..]).collect();
                keys.sort_unstable();
                keys.dedup();
                if !keys.is_empty() {
                    tracker.tell(Invalid::Keys(&keys));
                }
            }
        }
    }
}

impl Tracker {
    fn tell(&self, what: Invalid<'_>) {
        let target = match &self.redirect {
            None => self.client.clone(),
            Some((id, target)) => match target.upgrade().filter(|target| !target.is_gone()) {
                Some(target) => target,
                None => return self.tell_of_loss(*id),
            },
        };
        let Some(outbox) = target.outbox() else { return };
        let by_channel = self.redirect.is_some() && target.listens();
        outbox.push(|reply| {
            match reply.protocol {
                Protocol::Resp3 => {
                    reply.push(2);
                    reply.bulk(b"invalidate");
                }
                Protocol::Resp2 if by_channel => {
                    reply.push(3);
                    reply.bulk(b"message");
                    reply.bulk(CHANNEL);
                }
                Protocol::Resp2 => return,
            }
            match what {
                Invalid::Keys(keys) => {
                    reply.array(keys.len());
                    keys.iter().for_each(|key| reply.bulk(key));
                }
                Invalid::All if reply.protocol == Protocol::Resp3 => reply.null(),
                Invalid::All => reply.null_array(),
            }
        });
    }

    /// Whom it redirects to is gone.
    fn tell_of_loss(&self, redirect: u64) {
        self.client.lose_redirect();
        if let Some(outbox) = self.client.outbox() {
            outbox.push(|reply| {
                if reply.protocol == Protocol::Resp3 {
                    reply.push(2);
                    reply.bulk(b"tracking-redir-broken");
                    reply.integer(redirect as i64);
                }
            });
        }
    }
}

impl RowFollower for Tracking {
    #[inline]
    fn listens(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    fn see(&self, version: u64, catalog: &dyn Fn() -> Arc<Catalog>) {
        let tables = &mut *self.tables.lock();
        let epoch = self.epoch.load(Ordering::SeqCst);
        if (tables.version, tables.epoch) == (version, epoch) {
            return;
        }
        let catalog = catalog();
        let mut by_id = HashMap::new();
        for db in 0..DATABASES {
            for part in Part::ALL {
                if let Some(def) = catalog.table(DATABASE, &part.name(db)) {
                    by_id.insert(def.id, (db, part));
                }
            }
        }
        // Others have taken the places of some, or nobody has.
        let is_other = |(id, place): (&TableId, &(u32, Part))| by_id.get(id) != Some(place);
        // What became of them while nobody tracked is nobody's concern.
        let were_others = tables.epoch == epoch && tables.by_id.iter().any(is_other);
        *tables = Tables { version, epoch, by_id };
        if were_others {
            self.changed_all();
        }
    }

    fn follows(&self, table: TableId) -> Follows {
        match self.tables.lock().by_id.get(&table) {
            None => Follows::Nothing,
            Some((_, Part::Keys)) => Follows::Rows,
            Some(_) => Follows::Table,
        }
    }

    fn changed(&self, changes: RowChanges) {
        if self.notes.lock().flushes > 0 {
            return;
        }
        let RowChanges::Known(transactions) = changes else {
            return self.changed_all();
        };
        let tables = self.tables.lock();
        let mut changed = Vec::new();
        for transaction in transactions {
            let db_of = |change: &RowChange| tables.by_id.get(&change.table).map(|(db, _)| *db);
            let mut with_keys = BTreeSet::new();
            let mut with_elements = BTreeSet::new();
            for change in transaction {
                // A table that is gone from the catalog already.
                let Some(db) = db_of(&change) else {
                    drop(tables);
                    return self.changed_all();
                };
                match change.what {
                    Changed::Row(row_key) => {
                        with_keys.insert(db);
                        if let Some(Value::Bytes(key)) = self.keys.decode_part(&row_key, 0) {
                            changed.push((db, key.to_vec()));
                        }
                    }
                    Changed::Rows => {
                        with_elements.insert(db);
                    }
                    Changed::Dropped => {
                        drop(tables);
                        return self.changed_all();
                    }
                }
            }
            // Whoever changes elements writes their key's row, unless he is a statement of SQL: then it may be any.
            if !with_elements.is_subset(&with_keys) {
                drop(tables);
                return self.changed_all();
            }
        }
        drop(tables);
        if !changed.is_empty() {
            self.notes.lock().changed(changed);
        }
    }
}
