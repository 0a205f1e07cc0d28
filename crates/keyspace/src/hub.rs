//! Who waits for keys, and who listens to channels: of this node. Those of the others are [`neighbours`](crate::neighbours).
//!
//! What is published goes into the outbox of everybody who listens, which his connection sends when it can. Who does not read, and has
//! too much in it, is sent away.
//!
//! A blocking command that finds nothing waits for its keys in the order in which it came. Whoever changes a key wakes the first of them
//! when the change can be seen; that one looks again, and wakes the next one when it is done. There is a line for each type of value, and
//! for the consumers of each group: who waits for a sorted set has nothing to do with a list. Who only reads, as XREAD does, takes nothing
//! from the others: all such look.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;
use redis_wire::{Protocol, Reply};

use crate::clients::Unblock;
use crate::failure::Turn;
use crate::glob::Glob;

/// Waiting commands by database and key, and subscriptions.
#[derive(Default)]
pub struct Hub {
    waiting: Mutex<HashMap<(u32, Vec<u8>), Waiters>>,
    channels: Mutex<Channels>,
    /// Places in lines.
    places: AtomicUsize,
    /// `notify-keyspace-events`, as bits of [`notify`](crate::notify).
    notified: AtomicU32,
}

/// Who waits for a key: lines that are not empty, one for each kind of turn.
#[derive(Default)]
struct Waiters {
    lines: Vec<(Turn, VecDeque<Arc<Waiter>>)>,
}

impl Waiters {
    fn enter(&mut self, turn: &Turn, waiter: &Arc<Waiter>) {
        match self.lines.iter_mut().find(|(of, _)| of == turn) {
            Some((_, line)) => line.push_back(waiter.clone()),
            None => self.lines.push((turn.clone(), [waiter.clone()].into())),
        }
    }

    /// Returns who is the first of the line now, if the waiter was.
    fn leave(&mut self, turn: &Turn, waiter: &Arc<Waiter>) -> Option<Arc<Waiter>> {
        let at = self.lines.iter().position(|(of, _)| of == turn)?;
        let line = &mut self.lines[at].1;
        let was_first = line.front().is_some_and(|first| Arc::ptr_eq(first, waiter));
        line.retain(|other| !Arc::ptr_eq(other, waiter));
        let next = line.front().cloned();
        if next.is_none() {
            self.lines.swap_remove(at);
        }
        next.filter(|_| was_first && *turn != Turn::Everybody)
    }

    fn is_first(&self, turn: &Turn, waiter: &Arc<Waiter>) -> bool {
        let line = self.lines.iter().find(|(of, _)| of == turn);
        let first = line.and_then(|(_, line)| line.front());
        first.is_some_and(|first| Arc::ptr_eq(first, waiter))
    }

    /// Those who look when the key has changed.
    fn whose_turn(&self) -> impl Iterator<Item = &Arc<Waiter>> {
        self.lines.iter().flat_map(|(turn, line)| {
            line.iter().take(match turn {
                Turn::First(_) | Turn::OfGroup(_) => 1,
                Turn::Everybody => usize::MAX,
            })
        })
    }
}

/// Who listens to what.
#[derive(Default)]
struct Channels {
    by_name: HashMap<Vec<u8>, Vec<Arc<Subscriber>>>,
    by_pattern: BTreeMap<Vec<u8>, OfPattern>,
    /// Those of SSUBSCRIBE.
    of_shards: HashMap<Vec<u8>, Vec<Arc<Subscriber>>>,
}

/// Who listens to the channels that a pattern takes.
struct OfPattern {
    glob: Arc<Glob>,
    listening: Vec<Arc<Subscriber>>,
}

impl OfPattern {
    fn new(pattern: &[u8]) -> OfPattern {
        OfPattern {
            glob: Arc::new(Glob::new(pattern)),
            listening: Vec::new(),
        }
    }
}

/// Longer names of channels are compared with patterns while nobody else waits for that.
const COMPARED_BYTES_MAX: usize = 1 << 10;

/// The kinds of subscriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    ToChannel,
    ToPattern,
    ToShard,
}

/// Somebody who listens.
pub struct Subscriber {
    outbox: Mutex<Outbox>,
}

#[derive(Default)]
struct Outbox {
    reply: Reply,
    waker: Option<Waker>,
    /// It held too much, and is closed.
    is_over: bool,
}

/// The most that waits for a subscriber that does not read (`client-output-buffer-limit pubsub`).
pub(crate) const OUTBOX_MAX: usize = 32 << 20;
/// The most where the node's memory is used up: nobody else is charged for what waits.
const OUTBOX_MAX_WHEN_FULL: usize = 256 << 10;

impl Subscriber {
    pub fn new(protocol: Protocol) -> Arc<Subscriber> {
        Arc::new(Subscriber {
            outbox: Mutex::new(Outbox {
                reply: Reply::new(protocol),
                ..Outbox::default()
            }),
        })
    }

    /// The form of the messages from here on.
    pub fn set_protocol(&self, protocol: Protocol) {
        self.outbox.lock().reply.protocol = protocol;
    }

    /// Ready when there is something to be sent, or the client has to go.
    pub async fn has_messages(&self) {
        poll_fn(|context| {
            let mut outbox = self.outbox.lock();
            if !outbox.reply.bytes.is_empty() || outbox.is_over {
                return Poll::Ready(());
            }
            outbox.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Moves the messages to the end of a buffer. False: there were too many, and the client has to go.
    pub fn take(&self, out: &mut Vec<u8>) -> bool {
        let mut outbox = self.outbox.lock();
        out.append(&mut outbox.reply.bytes);
        !outbox.is_over
    }

    /// Appends a message.
    pub(crate) fn push(&self, write: impl FnOnce(&mut Reply)) {
        let mut outbox = self.outbox.lock();
        if outbox.is_over {
            return;
        }
        // It is the subscriber's, who is charged when it is sent.
        governor::given_away(|| write(&mut outbox.reply));
        let len = outbox.reply.bytes.len();
        if len > OUTBOX_MAX || len > OUTBOX_MAX_WHEN_FULL && governor::memory::is_used_up(0) {
            outbox.is_over = true;
            outbox.reply.bytes = Vec::new();
        }
        if let Some(waker) = outbox.waker.take() {
            waker.wake();
        }
    }
}

impl Hub {
    pub fn subscribe(&self, how: Listens, name: &[u8], subscriber: &Arc<Subscriber>) {
        let mut channels = self.channels.lock();
        let name = name.to_vec();
        let listening = match how {
            Listens::ToChannel => channels.by_name.entry(name).or_default(),
            Listens::ToShard => channels.of_shards.entry(name).or_default(),
            Listens::ToPattern => {
                let place = channels.by_pattern.entry(name);
                &mut place.or_insert_with_key(|pattern| OfPattern::new(pattern)).listening
            }
        };
        listening.push(subscriber.clone());
    }

    pub fn unsubscribe(&self, how: Listens, name: &[u8], subscriber: &Arc<Subscriber>) {
        let channels = &mut *self.channels.lock();
        let listening = match how {
            Listens::ToChannel => channels.by_name.get_mut(name),
            Listens::ToShard => channels.of_shards.get_mut(name),
            Listens::ToPattern => channels.by_pattern.get_mut(name).map(|of| &mut of.listening),
        };
        let Some(listening) = listening else { return };
        listening.retain(|other| !Arc::ptr_eq(other, subscriber));
        if listening.is_empty() {
            match how {
                Listens::ToChannel => drop(channels.by_name.remove(name)),
                Listens::ToShard => drop(channels.of_shards.remove(name)),
                Listens::ToPattern => drop(channels.by_pattern.remove(name)),
            }
        }
    }

    /// How many listen to a channel, or a pattern, of this name.
    pub fn subscribers(&self, how: Listens, name: &[u8]) -> usize {
        let channels = self.channels.lock();
        let listening = match how {
            Listens::ToChannel => channels.by_name.get(name),
            Listens::ToShard => channels.of_shards.get(name),
            Listens::ToPattern => channels.by_pattern.get(name).map(|of| &of.listening),
        };
        listening.map_or(0, Vec::len)
    }

    /// How many a message of PUBLISH would reach.
    pub fn listeners(&self, channel: &[u8]) -> usize {
        let taking = self.taking(channel);
        let channels = self.channels.lock();
        let by_name = channels.by_name.get(channel).map_or(0, Vec::len);
        let by_pattern = channels.taken_by(channel, &taking).map(|(_, of)| of.listening.len());
        by_name + by_pattern.sum::<usize>()
    }

    /// The patterns that take a channel of a long name.
    fn taking(&self, channel: &[u8]) -> BTreeSet<Vec<u8>> {
        if channel.len() <= COMPARED_BYTES_MAX {
            return BTreeSet::new();
        }
        let patterns: Vec<(Vec<u8>, Arc<Glob>)> = {
            let channels = self.channels.lock();
            let patterns = channels.by_pattern.iter();
            patterns
                .map(|(pattern, of)| (pattern.clone(), of.glob.clone()))
                .collect()
        };
        let taking = patterns
            .into_iter()
            .filter(|(_, glob)| glob.matches(channel).unwrap_or(false));
        taking.map(|(pattern, _)| pattern).collect()
    }

    /// Gives a message to all who listen; how many do.
    pub fn publish(&self, channel: &[u8], message: &[u8]) -> usize {
        let taking = self.taking(channel);
        let channels = self.channels.lock();
        let mut reached = 0;
        for subscriber in channels.by_name.get(channel).into_iter().flatten() {
            reached += 1;
            subscriber.push(|reply| {
                reply.push(3);
                reply.bulk(b"message");
                reply.bulk(channel);
                reply.bulk(message);
            });
        }
        for (pattern, of) in channels.taken_by(channel, &taking) {
            for subscriber in &of.listening {
                reached += 1;
                subscriber.push(|reply| {
                    reply.push(4);
                    reply.bulk(b"pmessage");
                    reply.bulk(pattern);
                    reply.bulk(channel);
                    reply.bulk(message);
                });
            }
        }
        reached
    }

    /// As [`publish`](Self::publish), to those of SSUBSCRIBE.
    pub fn publish_to_shard(&self, channel: &[u8], message: &[u8]) -> usize {
        let channels = self.channels.lock();
        let listening = channels.of_shards.get(channel).map_or(&[][..], Vec::as_slice);
        for subscriber in listening {
            subscriber.push(|reply| {
                reply.push(3);
                reply.bulk(b"smessage");
                reply.bulk(channel);
                reply.bulk(message);
            });
        }
        listening.len()
    }

    /// The channels that somebody listens to.
    pub fn channels(&self, how: Listens) -> Vec<Vec<u8>> {
        let channels = self.channels.lock();
        let by_name = match how {
            Listens::ToShard => &channels.of_shards,
            Listens::ToChannel | Listens::ToPattern => &channels.by_name,
        };
        by_name.keys().cloned().collect()
    }

    /// How many different patterns somebody listens to.
    pub fn patterns(&self) -> usize {
        self.channels.lock().by_pattern.len()
    }
}

impl Channels {
    /// The patterns that take a channel. `taking`: those that take one of a long name.
    fn taken_by<'s>(
        &'s self,
        channel: &'s [u8],
        taking: &'s BTreeSet<Vec<u8>>,
    ) -> impl Iterator<Item = (&'s Vec<u8>, &'s OfPattern)> {
        self.by_pattern
            .iter()
            .filter(move |(pattern, of)| match channel.len() <= COMPARED_BYTES_MAX {
                true => of.glob.takes(channel),
                false => taking.contains(*pattern),
            })
    }
}

/// A command that waits.
#[derive(Default)]
pub struct Waiter {
    is_called: AtomicBool,
    /// Somebody else has ended its waiting.
    ended: Mutex<Option<Unblock>>,
    waker: Mutex<Option<Waker>>,
    /// It was called, and has not looked yet. Those who wait for that are woken.
    is_looking: AtomicBool,
    callers: Mutex<Vec<Waker>>,
}

impl Waiter {
    /// It waits no longer.
    pub fn end(&self, how: Unblock) {
        *self.ended.lock() = Some(how);
        self.call();
    }

    fn call(&self) {
        self.is_looking.store(true, Ordering::Release);
        self.is_called.store(true, Ordering::Release);
        if let Some(waker) = self.waker.lock().take() {
            waker.wake();
        }
    }

    /// It has looked: whoever has called it goes on.
    pub fn has_looked(&self) {
        self.is_looking.store(false, Ordering::Release);
        self.callers.lock().drain(..).for_each(Waker::wake);
    }

    /// Done when the waiter, which was called, has looked.
    async fn looks(&self) {
        poll_fn(|context| {
            if !self.is_looking.load(Ordering::Acquire) {
                return Poll::Ready(());
            }
            self.callers.lock().push(context.waker().clone());
            match self.is_looking.load(Ordering::Acquire) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
    }
}

/// Those whom a change has called.
#[derive(Default)]
pub struct Called(Vec<Arc<Waiter>>);

impl Called {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Done when all of them have looked.
    pub async fn have_looked(&self) {
        for waiter in &self.0 {
            waiter.looks().await;
        }
    }
}

/// A place among those who wait for some keys, until it is dropped.
pub struct Place<'h> {
    hub: &'h Hub,
    db: u32,
    keys: Vec<Vec<u8>>,
    waiter: Arc<Waiter>,
    turn: Turn,
}

impl Hub {
    /// Whether anybody of this node is to be told of changes.
    #[inline]
    pub fn wants_events(&self) -> bool {
        self.places.load(Ordering::SeqCst) > 0 || self.notified.load(Ordering::Relaxed) > 0
    }

    /// Which notifications are wanted, as bits of [`notify`](crate::notify).
    pub fn notified(&self) -> u32 {
        self.notified.load(Ordering::Relaxed)
    }

    pub fn set_notified(&self, bits: u32) {
        self.notified.store(bits, Ordering::Relaxed);
    }

    /// Stands in line for keys. Look for them again after this, and before waiting.
    pub fn wait_for(&self, db: u32, keys: Vec<Vec<u8>>, turn: Turn) -> Place<'_> {
        let waiter = Arc::new(Waiter::default());
        self.places.fetch_add(1, Ordering::SeqCst);
        let mut waiting = self.waiting.lock();
        for key in &keys {
            let waiters = waiting.entry((db, key.clone())).or_default();
            waiters.enter(&turn, &waiter);
        }
        drop(waiting);
        Place {
            hub: self,
            db,
            keys,
            waiter,
            turn,
        }
    }

    /// A key has changed: whoever has waited longest for a value of its type looks again.
    pub fn changed(&self, db: u32, key: &[u8], called: &mut Called) {
        let waiting = self.waiting.lock();
        if waiting.is_empty() {
            return;
        }
        let waiters = waiting.get(&(db, key.to_vec()));
        let found: Vec<Arc<Waiter>> = waiters.into_iter().flat_map(Waiters::whose_turn).cloned().collect();
        drop(waiting);
        found.iter().for_each(|waiter| waiter.call());
        called.0.extend(found);
    }

    /// Keys have changed, nobody knows which: all look whose turn it is.
    pub fn changed_any(&self, called: &mut Called) {
        if self.places.load(Ordering::SeqCst) == 0 {
            return;
        }
        let found: Vec<Arc<Waiter>> = {
            let waiting = self.waiting.lock();
            waiting.values().flat_map(Waiters::whose_turn).cloned().collect()
        };
        found.iter().for_each(|waiter| waiter.call());
        called.0.extend(found);
    }

    /// How many commands wait.
    pub fn waiting(&self) -> usize {
        self.places.load(Ordering::SeqCst)
    }
}

impl Place<'_> {
    pub fn waiter(&self) -> &Arc<Waiter> {
        &self.waiter
    }

    /// How somebody else has ended the waiting, if he has.
    pub fn ended(&self) -> Option<Unblock> {
        *self.waiter.ended.lock()
    }

    /// Done when one of the keys has changed since the last time.
    pub async fn called(&self) {
        poll_fn(|context| {
            *self.waiter.waker.lock() = Some(context.waker().clone());
            match self.waiter.is_called.swap(false, Ordering::AcqRel) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// Whether its turn has come for one of the keys.
    pub fn is_first(&self) -> bool {
        if self.turn == Turn::Everybody {
            return true;
        }
        let waiting = self.hub.waiting.lock();
        self.keys.iter().any(|key| {
            let waiters = waiting.get(&(self.db, key.clone()));
            waiters.is_some_and(|waiters| waiters.is_first(&self.turn, &self.waiter))
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.hub.places.fetch_sub(1, Ordering::SeqCst);
        let mut next = Vec::new();
        let mut waiting = self.hub.waiting.lock();
        for key in self.keys.drain(..) {
            let place = (self.db, key);
            let Some(waiters) = waiting.get_mut(&place) else {
                continue;
            };
            next.extend(waiters.leave(&self.turn, &self.waiter));
            if waiters.lines.is_empty() {
                waiting.remove(&place);
            }
        }
        drop(waiting);
        self.waiter.has_looked();
        // There may be something left for the next one.
        next.iter().for_each(|next| next.call());
    }
}
