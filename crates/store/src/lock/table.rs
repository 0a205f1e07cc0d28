//! The table of locks, and a transaction's share of it.

use super::deadlock::{WaitGraph, victim};
use super::elsewhere::Alias;
use super::intent::{Gates, Note};
use super::mode::{LockMode, LockModes};
use super::queue::{Grant, LockState, LockWait};
use super::{LockKey, LockOutcome};
use crate::memory::{MemoryBudget, MemoryUse};
use governor::hashing::FastHashing;
use hashbrown::hash_table::{Entry, HashTable};
use parking_lot::{Mutex, MutexGuard};
use std::hash::BuildHasher;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;
use types::{IndexId, TableId};

const SHARDS: usize = 256;
/// A shard tells the memory budget when it has changed by this many bytes.
const ACCOUNT_STEP: i64 = 16 << 10;
/// These stand where an index is: for the whole table, for its definition, and for a name, which belongs to no table.
const WHOLE_TABLE: u16 = u16::MAX;
const DEFINITION: u16 = u16::MAX - 1;
const NAME: u16 = u16::MAX - 2;
/// Counts for more than any number of locks.
const DEFINES: usize = 1 << 40;

/// A transaction as the lock table knows it; greater is younger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockOwner(pub u64);

#[derive(Debug)]
pub(super) struct Owner {
    pub(super) id: LockOwner,
    /// Of the client whose transaction it is; 0: nobody's on this node.
    pub(super) connection: u32,
    locks: AtomicUsize,
    /// Keeps others away from a definition, or wants to.
    defines: AtomicBool,
    /// How the node that leads knows it, while this one follows; 0: not at all.
    pub(super) number: AtomicU64,
    /// A circle of waits is to end by this one's giving up.
    pub(super) gives_up: AtomicBool,
    /// See [`LockTable::begin_epoch`].
    epoch: u64,
    /// Held without a lock in the table; see [`super::intent`].
    pub(super) notes: Mutex<Vec<Note>>,
}

impl Owner {
    /// What is lost when it gives up.
    pub(super) fn weight(&self) -> usize {
        let defines = self.defines.load(Ordering::Relaxed);
        self.locks.load(Ordering::Relaxed) + if defines { DEFINES } else { 0 }
    }
}

/// The hash of what is locked: it tells the shard, and where to look in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(u64);

impl Place {
    fn shard(self) -> usize {
        // The low bits choose the bucket within the shard.
        (self.0 >> 48) as usize % SHARDS
    }
}

/// All locks of one shard's running transactions.
pub struct LockTable {
    shards: Box<[Shard]>,
    hashing: FastHashing,
    pub(super) gates: Gates,
    /// Locked before a shard, never after one.
    pub(super) graph: Mutex<WaitGraph>,
    next_owner: AtomicU64,
    epoch: AtomicU64,
    waits: AtomicU64,
    pub(super) deadlocks: AtomicU64,
    memory: Arc<MemoryBudget>,
}

/// The lock table in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockStatistics {
    /// Held and waited for now.
    pub held: u64,
    pub waiting: u64,
    /// Requests that had to wait, and those that gave up to break a cycle, since the start.
    pub waits: u64,
    pub deadlocks: u64,
}

#[repr(align(128))]
struct Shard(Mutex<ShardLocks>);

#[derive(Default)]
struct ShardLocks {
    locks: HashTable<Lock>,
    bytes: i64,
    charged: i64,
}

struct Lock {
    place: Place,
    table: TableId,
    index: u16,
    key: KeyBytes,
    state: LockState,
}

/// Most keys are short.
enum KeyBytes {
    Short(u8, [u8; 22]),
    Long(Box<[u8]>),
}

impl KeyBytes {
    fn new(key: &[u8]) -> KeyBytes {
        let mut short = [0; 22];
        match short.get_mut(..key.len()) {
            Some(bytes) => {
                bytes.copy_from_slice(key);
                KeyBytes::Short(key.len() as u8, short)
            }
            None => KeyBytes::Long(key.into()),
        }
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            KeyBytes::Short(length, bytes) => &bytes[..usize::from(*length)],
            KeyBytes::Long(bytes) => bytes,
        }
    }
}

impl Lock {
    fn bytes(&self) -> i64 {
        let key = match &self.key {
            KeyBytes::Short(..) => 0,
            KeyBytes::Long(key) => key.len(),
        };
        // The hash table is between half and nearly full.
        (size_of::<Lock>() * 3 / 2 + key) as i64
    }

    fn is(&self, place: Place, (table, index, key): (TableId, u16, &[u8])) -> bool {
        self.place == place && self.table == table && self.index == index && self.key.as_slice() == key
    }

    fn target(&self) -> LockTarget {
        let key = || self.key.as_slice().to_vec();
        match self.index {
            WHOLE_TABLE => LockTarget::Table(self.table),
            DEFINITION => LockTarget::Definition(self.table),
            NAME => LockTarget::Name(key()),
            index => LockTarget::Key(self.table, IndexId(index), key()),
        }
    }

    fn info(&self, owner: &Owner, mode: LockMode, is_waiting: bool) -> LockInfo {
        LockInfo {
            owner: owner.id,
            connection: owner.connection,
            target: self.target(),
            mode,
            is_waiting,
        }
    }
}

fn parts(key: LockKey<'_>) -> (TableId, u16, &[u8]) {
    match key {
        LockKey::Table(table) => (table, WHOLE_TABLE, &[]),
        LockKey::Key(table, index, key) => (table, index.0, key),
        LockKey::Definition(table) => (table, DEFINITION, &[]),
        LockKey::Name(name) => (TableId(0), NAME, name),
    }
}

impl ShardLocks {
    fn account(&mut self, bytes: i64, memory: &MemoryBudget) {
        self.bytes += bytes;
        let uncharged = self.bytes - self.charged;
        if uncharged.abs() >= ACCOUNT_STEP {
            self.charged = self.bytes;
            memory.charge(MemoryUse::Locks, uncharged);
        }
    }

    /// Asks for a lock; `None`: it is not free.
    fn request(
        &mut self,
        place: Place,
        key: LockKey<'_>,
        owner: &Arc<Owner>,
        mode: LockMode,
        memory: &MemoryBudget,
    ) -> Grant {
        self.with_made(place, key, memory, |lock| lock.request(owner, mode))
    }

    /// The lock of a key, made if there is none.
    fn with_made<R>(
        &mut self,
        place: Place,
        key: LockKey<'_>,
        memory: &MemoryBudget,
        act: impl FnOnce(&mut LockState) -> R,
    ) -> R {
        let parts = parts(key);
        match self
            .locks
            .entry(place.0, |lock| lock.is(place, parts), |lock| lock.place.0)
        {
            Entry::Occupied(mut lock) => act(&mut lock.get_mut().state),
            Entry::Vacant(vacant) => {
                let (table, index, key) = parts;
                let mut lock = Lock {
                    place,
                    table,
                    index,
                    key: KeyBytes::new(key),
                    state: LockState::default(),
                };
                let result = act(&mut lock.state);
                let bytes = lock.bytes();
                vacant.insert(lock);
                self.account(bytes, memory);
                result
            }
        }
    }

    /// The lock at a place that the owner has to do with; should two of its locks share a hash, either.
    fn with_lock(&mut self, place: Place, owner: LockOwner, act: impl FnOnce(&mut LockState), memory: &MemoryBudget) {
        let found = self
            .locks
            .find_entry(place.0, |lock| lock.place == place && lock.state.concerns(owner));
        if let Ok(mut lock) = found {
            act(&mut lock.get_mut().state);
            if lock.get().state.is_free() {
                let bytes = lock.get().bytes();
                lock.remove();
                self.account(-bytes, memory);
            }
        }
    }
}

/// What is locked, as seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LockTarget {
    Table(TableId),
    Key(TableId, IndexId, Vec<u8>),
    Definition(TableId),
    Name(Vec<u8>),
}

impl LockTarget {
    pub fn key(&self) -> LockKey<'_> {
        match self {
            LockTarget::Table(table) => LockKey::Table(*table),
            LockTarget::Key(table, index, key) => LockKey::Key(*table, *index, key),
            LockTarget::Definition(table) => LockKey::Definition(*table),
            LockTarget::Name(name) => LockKey::Name(name),
        }
    }
}

/// One lock as seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockInfo {
    pub owner: LockOwner,
    /// Of the client whose transaction it is; 0: nobody's on this node.
    pub connection: u32,
    pub target: LockTarget,
    pub mode: LockMode,
    pub is_waiting: bool,
}

/// A request that waits, as seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitInfo {
    pub waiter: LockInfo,
    /// Of the same lock: held, or waited for.
    pub blockers: Vec<LockInfo>,
}

impl LockTable {
    pub fn new(memory: Arc<MemoryBudget>) -> Arc<LockTable> {
        Arc::new(LockTable {
            shards: (0..SHARDS).map(|_| Shard(Mutex::default())).collect(),
            hashing: FastHashing::default(),
            gates: Gates::default(),
            graph: Mutex::default(),
            next_owner: AtomicU64::new(1),
            epoch: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            deadlocks: AtomicU64::new(0),
            memory,
        })
    }

    /// Starts a set of locks of nobody's.
    pub fn transaction(self: &Arc<Self>) -> TransactionLocks {
        self.transaction_of(0)
    }

    /// Starts a transaction's set of locks. `connection` tells whoever looks at them whose it is; 0: nobody's.
    pub fn transaction_of(self: &Arc<Self>, connection: u32) -> TransactionLocks {
        let id = LockOwner(self.next_owner.fetch_add(1, Ordering::Relaxed));
        TransactionLocks {
            table: Arc::clone(self),
            owner: Arc::new(Owner {
                id,
                connection,
                locks: AtomicUsize::new(0),
                defines: AtomicBool::new(false),
                number: AtomicU64::new(0),
                gives_up: AtomicBool::new(false),
                epoch: self.epoch.load(Ordering::Acquire),
                notes: Mutex::default(),
            }),
            places: Vec::new(),
            tables: Vec::new(),
            definitions: Vec::new(),
            raised: Vec::new(),
            is_listed: false,
        }
    }

    /// From now on locks of rows, tables and names that were taken before are good no more, for another replica may have given the same
    /// ones. They are free, whoever waits for one is woken, and the transactions that had them are told so when they ask for more
    /// ([`TransactionLocks::are_lost`]). Locks of definitions stay: they are this node's own.
    pub fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.gates.set_elsewhere(&[]);
        self.graph.lock().told.clear();
        let mut woken = Vec::new();
        for shard in &self.shards {
            let shard = &mut *shard.0.lock();
            let mut bytes = 0;
            shard.locks.retain(|lock| {
                if lock.index == DEFINITION {
                    return true;
                }
                lock.state.void(&mut woken);
                bytes += lock.bytes();
                false
            });
            shard.account(-bytes, &self.memory);
        }
        woken.into_iter().for_each(Waker::wake);
    }

    /// All locks held and waited for, shard by shard; not a picture of one moment.
    pub fn inspect(&self) -> Vec<LockInfo> {
        let mut all = Vec::new();
        self.gates.for_each_note(|owner, table, modes| {
            all.extend(modes.iter().map(|mode| LockInfo {
                owner: owner.id,
                connection: owner.connection,
                target: LockTarget::Definition(table),
                mode,
                is_waiting: false,
            }));
        });
        for shard in self.shards.iter().take_while(|_| governor::go_on()) {
            for lock in shard.0.lock().locks.iter() {
                for holder in lock.state.holders() {
                    all.extend(holder.modes.iter().map(|mode| lock.info(&holder.owner, mode, false)));
                }
                all.extend(
                    lock.state
                        .waiters()
                        .map(|waiter| lock.info(&waiter.owner, waiter.mode, true)),
                );
            }
        }
        all
    }

    /// Those who wait now, each with whom it waits for: who holds the lock in a conflicting mode, and whoever came just before, so that a
    /// long queue is told in as many steps. Not a picture of one moment.
    pub fn inspect_waits(&self) -> Vec<WaitInfo> {
        let mut all = Vec::new();
        for shard in self.shards.iter().take_while(|_| governor::go_on()) {
            for lock in shard.0.lock().locks.iter() {
                let mut before = None;
                for waiter in lock.state.waiters() {
                    let id = waiter.owner.id;
                    let holders = lock.state.holders().iter().flat_map(|holder| {
                        let modes = holder.modes.iter();
                        let against = modes.filter(|mode| LockModes::of(*mode).conflict_with(waiter.mode));
                        against.map(|mode| lock.info(&holder.owner, mode, false))
                    });
                    let waits = lock.info(&waiter.owner, waiter.mode, true);
                    let blockers = holders.chain(before.replace(waits.clone()));
                    all.push(WaitInfo {
                        blockers: blockers.filter(|other| other.owner != id).collect(),
                        waiter: waits,
                    });
                }
            }
        }
        all
    }

    /// Whether somebody holds, or waits for, more of a definition than to use it; perhaps of another one that shares its gate.
    #[inline]
    pub fn is_definition_wanted(&self, table: TableId) -> bool {
        self.gates.is_up(table) || self.gates.is_up_elsewhere(table)
    }

    /// As [`is_definition_wanted`](Self::is_definition_wanted), on the node that leads, while this one follows.
    #[inline]
    pub fn is_definition_wanted_elsewhere(&self, table: TableId) -> bool {
        self.gates.is_up_elsewhere(table)
    }

    /// What `look` sees, and which definitions are wanted here, as numbers for [`set_wanted_elsewhere`](Self::set_wanted_elsewhere): below
    /// 1024, a few as a rule. What was done under any other definition's lock is seen as a whole, or not at all.
    pub fn with_wanted_definitions<T>(&self, look: impl Fn() -> T) -> (T, Vec<u16>) {
        self.gates.before(look)
    }

    /// What the node that leads has said of itself.
    pub fn set_wanted_elsewhere(&self, definitions: &[u16]) {
        self.gates.set_elsewhere(definitions);
    }

    /// Requests that had to wait, since the start: without a look at any lock.
    pub fn waits_so_far(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    pub fn statistics(&self) -> LockStatistics {
        let mut statistics = LockStatistics {
            waits: self.waits_so_far(),
            deadlocks: self.deadlocks.load(Ordering::Relaxed),
            ..LockStatistics::default()
        };
        self.gates.for_each_note(|_, _, _| statistics.held += 1);
        for shard in &self.shards {
            for lock in shard.0.lock().locks.iter() {
                statistics.held += lock.state.holders().len() as u64;
                statistics.waiting += lock.state.waiters().count() as u64;
            }
        }
        statistics
    }

    fn place(&self, key: LockKey<'_>) -> Place {
        Place(self.hashing.hash_one(parts(key)))
    }

    fn shard(&self, place: Place) -> MutexGuard<'_, ShardLocks> {
        self.shards[place.shard()].0.lock()
    }

    /// Queues a request that was not granted, unless that would close a cycle.
    fn wait(self: &Arc<Self>, place: Place, key: LockKey<'_>, owner: &Arc<Owner>, mode: LockMode) -> LockOutcome {
        let mut graph = self.graph.lock();
        let handle = {
            let mut shard = self.shard(place);
            if shard.request(place, key, owner, mode, &self.memory) != Grant::No {
                return LockOutcome::Granted;
            }
            if owner.gives_up.swap(false, Ordering::Relaxed) {
                return LockOutcome::Deadlock;
            }
            let parts = parts(key);
            let lock = shard
                .locks
                .find_mut(place.0, |lock| lock.is(place, parts))
                .expect("a lock that is not free exists");
            lock.state.enqueue(owner, mode)
        };
        graph.begin(owner, place);
        // Made before the search: leaving by an early return withdraws the request, but only after the graph is unlocked.
        let wait = LockWait::new(handle, Arc::clone(self), place, owner.id);
        let mut woken = Vec::new();
        let mut is_victim = false;
        while let Some(cycle) = graph.cycle(owner, self) {
            let victim = victim(&cycle);
            self.deadlocks.fetch_add(1, Ordering::Relaxed);
            is_victim = victim.id == owner.id;
            if is_victim {
                break;
            }
            // It will ask again, and be told.
            let place = graph.place(victim.id).expect("the members of a cycle wait");
            self.dismiss(victim, place, &mut woken);
        }
        drop(graph);
        woken.into_iter().for_each(Waker::wake);
        if is_victim {
            return LockOutcome::Deadlock;
        }
        self.waits.fetch_add(1, Ordering::Relaxed);
        LockOutcome::Wait(wait)
    }

    /// Takes a request out of its queue, and asks the owner to try again. False: it does not wait any more.
    pub(super) fn dismiss(&self, owner: &Owner, place: Place, woken: &mut Vec<Waker>) -> bool {
        let mut has_waited = false;
        let dismiss = |lock: &mut LockState| has_waited = lock.dismiss(owner.id, woken);
        self.shard(place).with_lock(place, owner.id, dismiss, &self.memory);
        has_waited
    }

    /// Moves a note into the table. Nobody holds the lock in a mode that excludes it: who wants one has to move all notes first.
    pub(super) fn hold_noted(&self, owner: &Arc<Owner>, table: TableId, modes: LockModes) -> Place {
        let key = LockKey::Definition(table);
        let place = self.place(key);
        let mut shard = self.shard(place);
        shard.with_made(place, key, &self.memory, |lock| lock.hold(owner, modes));
        place
    }

    pub(super) fn stop_waiting(&self, owner: LockOwner, place: Place) {
        let mut woken = Vec::new();
        let mut graph = self.graph.lock();
        graph.end(owner, place);
        self.shard(place).with_lock(
            place,
            owner,
            |lock| {
                if lock.withdraw(owner) {
                    lock.grant_next(&mut woken);
                }
            },
            &self.memory,
        );
        drop(graph);
        woken.into_iter().for_each(Waker::wake);
    }

    pub(super) fn blockers(&self, owner: LockOwner, place: Place) -> Vec<Arc<Owner>> {
        let mut blockers = Vec::new();
        self.shard(place)
            .with_lock(place, owner, |lock| blockers = lock.blockers(owner), &self.memory);
        blockers
    }

    pub(super) fn nearest_blockers(&self, owner: LockOwner, place: Place) -> Vec<Arc<Owner>> {
        let mut blockers = Vec::new();
        let look = |lock: &mut LockState| blockers = lock.nearest_blockers(owner);
        self.shard(place).with_lock(place, owner, look, &self.memory);
        blockers
    }
}

/// The locks of one transaction; given back when dropped.
pub struct TransactionLocks {
    table: Arc<LockTable>,
    owner: Arc<Owner>,
    /// Where there are locks, or requests, of this transaction; some perhaps twice.
    places: Vec<Place>,
    /// Table locks are asked for by every statement.
    tables: Vec<(TableId, LockModes)>,
    definitions: Vec<(TableId, LockModes)>,
    /// The definitions whose gates are up because of this transaction.
    raised: Vec<TableId>,
    /// Whether the gates know of this transaction.
    is_listed: bool,
}

impl TransactionLocks {
    pub fn owner(&self) -> LockOwner {
        self.owner.id
    }

    /// Where the number is noted that another node gives this transaction.
    pub fn alias(&self) -> Alias {
        Alias(Arc::clone(&self.owner))
    }

    /// Whether the locks are of an epoch that is over: what they kept others from may have happened.
    #[inline]
    pub fn are_lost(&self) -> bool {
        self.owner.epoch != self.table.epoch.load(Ordering::Relaxed)
    }

    /// Asks for a lock, queueing if it is not free. Never blocks.
    pub fn lock(&mut self, key: LockKey<'_>, mode: LockMode) -> LockOutcome {
        if self.is_covered(key, mode) {
            return LockOutcome::Granted;
        }
        if let LockKey::Definition(table) = key {
            match mode.is_intention() {
                true if self.note(table, mode) => return LockOutcome::Granted,
                true => {}
                false => self.raise_gate(table),
            }
        }
        if matches!(key, LockKey::Name(_)) && !mode.is_intention() {
            self.owner.defines.store(true, Ordering::Relaxed);
        }
        let place = self.table.place(key);
        match self.request(place, key, mode) {
            Grant::No => {
                self.add(place);
                self.table.wait(place, key, &self.owner, mode)
            }
            _ => LockOutcome::Granted,
        }
    }

    /// Takes a lock on rows if it is free at once: NOWAIT and SKIP LOCKED.
    pub fn try_lock(&mut self, key: LockKey<'_>, mode: LockMode) -> bool {
        self.is_covered(key, mode) || self.request(self.table.place(key), key, mode) != Grant::No
    }

    /// Holds a lock without asking for it: whoever was given it holds it still, or its epoch is over and nobody has been given anything
    /// since.
    pub fn hold(&mut self, key: LockKey<'_>, modes: LockModes) {
        let place = self.table.place(key);
        let hold = |lock: &mut LockState| lock.hold(&self.owner, modes);
        self.table.shard(place).with_made(place, key, &self.table.memory, hold);
        self.add(place);
    }

    /// What it holds: rows, keys and tables, and definitions in intention modes. Names are left out.
    pub fn held(&self) -> Vec<(LockTarget, LockModes)> {
        let mut places = self.places.clone();
        places.sort_unstable();
        places.dedup();
        let mut held = Vec::with_capacity(places.len() + self.definitions.len());
        for place in places {
            governor::pause();
            let shard = self.table.shard(place);
            let here = shard.locks.iter_hash(place.0).filter(|lock| lock.place == place);
            let of_rows = here.filter(|lock| !matches!(lock.index, DEFINITION | NAME));
            held.extend(of_rows.filter_map(|lock| {
                let mut holders = lock.state.holders().iter();
                let own = holders.find(|holder| holder.owner.id == self.owner.id)?;
                Some((lock.target(), own.modes))
            }));
        }
        let shared = self
            .definitions
            .iter()
            .filter_map(|(table, modes)| Some((*table, modes.intentions()?)));
        held.extend(shared.map(|(table, modes)| (LockTarget::Definition(table), modes)));
        held
    }

    /// Gives the lock of a name back. Nobody relies on more of it than that it is held.
    pub fn unlock_name(&mut self, name: &[u8]) {
        let place = self.table.place(LockKey::Name(name));
        self.places.retain(|held| *held != place);
        self.owner.locks.store(self.places.len(), Ordering::Relaxed);
        let mut woken = Vec::new();
        self.table.shard(place).with_lock(
            place,
            self.owner.id,
            |lock| lock.release(self.owner.id, &mut woken),
            &self.table.memory,
        );
        woken.into_iter().for_each(Waker::wake);
    }

    /// How many locks there are.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Gives everything back.
    pub fn release_all(&mut self) {
        self.tables.clear();
        self.forget_notes();
        let mut woken = Vec::new();
        for place in self.places.drain(..) {
            governor::pause();
            self.table.shard(place).with_lock(
                place,
                self.owner.id,
                |lock| lock.release(self.owner.id, &mut woken),
                &self.table.memory,
            );
            woken.drain(..).for_each(Waker::wake);
        }
        self.places.shrink_to(1024);
        self.owner.locks.store(0, Ordering::Relaxed);
        self.lower_gates();
    }

    /// Holds a definition in an intention mode by a note. False while its gate is up: then the lock table decides.
    fn note(&mut self, table: TableId, mode: LockMode) -> bool {
        if !self.is_listed {
            self.table.gates.list(&self.owner);
            self.is_listed = true;
        }
        let mut notes = self.owner.notes.lock();
        if self.table.gates.is_up(table) {
            // Whoever raised it may not have come by yet, and what is held has to be known where more is asked for.
            Note::move_all(&mut notes, &self.owner, table, &self.table);
            return false;
        }
        Note::add(&mut notes, table, mode);
        drop(notes);
        add_mode(&mut self.definitions, table, mode);
        true
    }

    /// From now on nobody gets hold of the definition but by the lock table, and everybody who does is in it.
    fn raise_gate(&mut self, table: TableId) {
        self.owner.defines.store(true, Ordering::Relaxed);
        if self.raised.contains(&table) {
            return;
        }
        self.raised.push(table);
        self.table.gates.raise(table);
        self.table.gates.for_each_owner(|owner| {
            Note::move_all(&mut owner.notes.lock(), owner, table, &self.table);
        });
    }

    fn forget_notes(&mut self) {
        self.definitions.clear();
        if std::mem::take(&mut self.is_listed) {
            self.table.gates.unlist(&self.owner);
            let notes = std::mem::take(&mut *self.owner.notes.lock());
            self.places.extend(notes.into_iter().filter_map(Note::place));
        }
    }

    /// After the locks are gone, so that nobody goes past them.
    fn lower_gates(&mut self) {
        for table in self.raised.drain(..) {
            self.table.gates.lower(table);
        }
        self.owner.defines.store(false, Ordering::Relaxed);
    }

    fn request(&mut self, place: Place, key: LockKey<'_>, mode: LockMode) -> Grant {
        let grant = self
            .table
            .shard(place)
            .request(place, key, &self.owner, mode, &self.table.memory);
        if grant == Grant::Now {
            self.add(place);
        }
        if grant != Grant::No {
            // What it was to give up for is over.
            if self.owner.gives_up.load(Ordering::Relaxed) {
                self.owner.gives_up.store(false, Ordering::Relaxed);
            }
            match key {
                LockKey::Table(table) => add_mode(&mut self.tables, table, mode),
                LockKey::Definition(table) => add_mode(&mut self.definitions, table, mode),
                LockKey::Key(..) | LockKey::Name(_) => {}
            }
        }
        grant
    }

    /// Whether a lock on the table says it all: that very one, or one that includes all its keys.
    fn is_covered(&self, key: LockKey<'_>, mode: LockMode) -> bool {
        let (held, table) = match key {
            LockKey::Table(table) | LockKey::Key(table, ..) => (&self.tables, table),
            LockKey::Definition(table) => (&self.definitions, table),
            LockKey::Name(_) => return false,
        };
        held.iter().any(|(held, modes)| *held == table && modes.cover(mode))
    }

    fn add(&mut self, place: Place) {
        self.places.push(place);
        self.owner.locks.store(self.places.len(), Ordering::Relaxed);
    }
}

fn add_mode(held: &mut Vec<(TableId, LockModes)>, table: TableId, mode: LockMode) {
    match held.iter_mut().find(|(held, _)| *held == table) {
        Some((_, modes)) => modes.add(mode),
        None => held.push((table, LockModes::of(mode))),
    }
}

impl Drop for TransactionLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}
