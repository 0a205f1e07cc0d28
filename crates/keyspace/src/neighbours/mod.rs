//! Messages between nodes: what is published on one reaches those who listen on the others.
//!
//! ```text
//!   publish ──▶ whoever listens here
//!      └──▶ for each node that wants it: queue ──▶ frame ══ one at a time ══▶ hear ──▶ whoever listens there
//!                 ▲                                                             │
//!                 └── interest: what its clients listen to  ◀═══════════════════┘
//! ```
//!
//! * Each node tells the others what its clients listen to ([`interest`]): before a client's subscription is answered, and again whenever one of the others
//!   says that it holds another version, as after its start. A node that nobody listens on gets nothing.
//! * A node has one frame on its way to another. What is published meanwhile gathers, and is the next one. So messages keep their order, and a busy
//!   node sends few frames.
//! * Frames are numbered. One that may have arrived is never sent again, and one that comes behind a later one is passed over: a message is heard once,
//!   or lost.
//! * Nobody who publishes waits for another node. What has no room in the queue ([`queue`]) or finds the node out of reach is lost, and counted.
//!
//! Here is no way to other nodes: whoever owns one takes frames from here, and brings answers ([`Neighbours::next_words`],
//! [`Neighbours::next_interest`], [`Neighbours::hear`]).

mod bell;
#[doc(hidden)]
pub mod fuzz;
mod hearing;
pub mod interest;
mod queue;
#[cfg(test)]
mod tests;
pub mod words;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};

use bell::Bell;
use hearing::Hearing;
pub use hearing::{Heard, Speaker, Telling};
use interest::{Channels, Interest, Own};
use queue::{Put, Queue};
use words::{Answer, Frame, Message, Word};

use crate::hub::Listens;

/// The other nodes of the cluster, as far as messages go. Of a node that is alone there are none.
#[derive(Default)]
pub struct Neighbours {
    all: RwLock<BTreeMap<u32, Arc<Neighbour>>>,
    own: Mutex<Own>,
    /// The version of what is told, and what has become of telling it, have changed.
    telling: Bell,
    /// Nodes that somebody listens on.
    interested: AtomicUsize,
    /// Notifications that any of the others wants.
    notified: AtomicU32,
    sequence: AtomicU64,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    heard: AtomicU64,
    lost: AtomicU64,
}

/// How many messages went to other nodes, came from them, and were lost on their way there.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub sent: u64,
    pub heard: u64,
    pub lost: u64,
}

/// Another node.
#[derive(Default)]
struct Neighbour {
    /// What it wants to hear; `None`: it has not said so.
    wants: RwLock<Option<Interest>>,
    queue: Mutex<Queue>,
    /// There are words for it, or it is none of the cluster's any more.
    outgoing: Bell,
    is_gone: AtomicBool,
    told: Mutex<Told>,
    hearing: Mutex<Hearing>,
}

/// What another node knows of this one's interest.
#[derive(Default)]
struct Told {
    version: u64,
    /// The last attempt was in vain: nobody waits for it.
    is_silent: bool,
}

impl Neighbours {
    // --- who there is ---

    /// The other nodes, as they are known now. Returns those that are new.
    pub fn know(&self, nodes: &[u32]) -> Vec<u32> {
        let mut all = self.all.write();
        all.retain(|node, neighbour| {
            let stays = nodes.contains(node);
            if !stays {
                neighbour.is_gone.store(true, Ordering::SeqCst);
                neighbour.outgoing.ring();
            }
            stays
        });
        let mut new = Vec::new();
        for &node in nodes {
            if let std::collections::btree_map::Entry::Vacant(place) = all.entry(node) {
                place.insert(Arc::default());
                new.push(node);
            }
        }
        drop(all);
        self.sum_up();
        self.telling.ring();
        new
    }

    pub fn knows(&self, node: u32) -> bool {
        self.all.read().contains_key(&node)
    }

    fn find(&self, node: u32) -> Option<Arc<Neighbour>> {
        self.all.read().get(&node).cloned()
    }

    pub fn counted(&self) -> Counted {
        let Counts { sent, heard, lost } = &self.counts;
        Counted {
            sent: sent.load(Ordering::Relaxed),
            heard: heard.load(Ordering::Relaxed),
            lost: lost.load(Ordering::Relaxed),
        }
    }

    /// After a change of what the others want.
    fn sum_up(&self) {
        let all = self.all.read();
        let (mut interested, mut notified) = (0, 0);
        for neighbour in all.values() {
            if let Some(wants) = &*neighbour.wants.read()
                && !wants.is_empty()
            {
                interested += 1;
                notified |= wants.notified;
            }
        }
        self.interested.store(interested, Ordering::SeqCst);
        self.notified.store(notified, Ordering::SeqCst);
    }

    // --- what this node's clients listen to ---

    pub fn listens(&self, how: Listens, name: &[u8]) {
        let mut own = self.own.lock();
        let is_new = match how {
            Listens::ToChannel => own.add(Channels::Plain, name),
            Listens::ToShard => own.add(Channels::Shard, name),
            Listens::ToPattern => own.add_pattern(name),
        };
        drop(own);
        if is_new {
            self.telling.ring();
        }
    }

    pub fn listens_no_more(&self, how: Listens, name: &[u8]) {
        let mut own = self.own.lock();
        match how {
            Listens::ToChannel => own.remove(Channels::Plain, name),
            Listens::ToShard => own.remove(Channels::Shard, name),
            Listens::ToPattern => own.remove_pattern(name),
        }
    }

    pub fn set_notified(&self, bits: u32) {
        if self.own.lock().set_notified(bits) {
            self.telling.ring();
        }
    }

    /// Whether the others know what this node's clients listen to, but those that do not answer.
    pub fn is_told(&self) -> bool {
        let version = self.own.lock().version();
        let all = self.all.read();
        all.values().all(|neighbour| {
            let told = neighbour.told.lock();
            told.is_silent || told.version >= version
        })
    }

    /// Done when they do. What is published on any of them from then on is heard here.
    pub async fn told(&self) {
        self.telling.until(|| self.is_told()).await;
    }

    /// What is to be said of it to a node; `None`: it is told.
    pub fn next_interest(&self, node: u32) -> Option<Frame> {
        let neighbour = self.find(node)?;
        let own = self.own.lock();
        let is_told = neighbour.told.lock().version == own.version();
        (!is_told).then(|| Frame::Interest {
            version: own.version(),
            interest: own.told().clone(),
        })
    }

    /// To be said now and then where everything is told: the node may have forgotten it.
    pub fn check(&self) -> Frame {
        let mut own = self.own.lock();
        let is_new = own.narrow();
        let version = own.version();
        drop(own);
        if is_new {
            self.telling.ring();
        }
        Frame::Check { version }
    }

    /// What came of a frame of these. False: the node does not answer, or not to this; it is to be told again, later.
    pub fn interest_answered(&self, node: u32, frame: &Frame, answer: Option<&[u8]>) -> bool {
        let Some(neighbour) = self.find(node) else { return false };
        let holds = match answer.and_then(Answer::decode) {
            Some(Answer::Holds(version)) => Some(version),
            _ => None,
        };
        let is_understood = match frame {
            Frame::Interest { version, .. } => holds >= Some(*version),
            _ => holds.is_some(),
        };
        let mut told = neighbour.told.lock();
        told.version = holds.unwrap_or(0);
        told.is_silent = !is_understood;
        drop(told);
        if is_understood {
            neighbour.queue.lock().is_reached();
        }
        self.telling.ring();
        is_understood
    }

    /// Done when there is something to be said of this node's interest to another one, or that one is gone.
    pub async fn has_interest_for(&self, node: u32) {
        self.telling
            .until(|| !self.knows(node) || self.next_interest(node).is_some())
            .await;
    }

    /// Done when a node that did not answer has begun a new life, or is gone.
    pub async fn is_heard_again(&self, node: u32) {
        self.telling.until(|| !self.is_silent(node)).await;
    }

    fn is_silent(&self, node: u32) -> bool {
        self.find(node).is_some_and(|neighbour| neighbour.told.lock().is_silent)
    }

    // --- what is published here ---

    /// Notifications that are wanted anywhere else.
    pub fn notified(&self) -> u32 {
        match self.interested.load(Ordering::SeqCst) {
            0 => 0,
            _ => self.notified.load(Ordering::SeqCst),
        }
    }

    /// Sends a message to the nodes where somebody may listen. `bits`: those that a notification needs.
    pub fn publish(&self, to: Channels, channel: &[u8], text: &[u8], bits: u32) {
        if self.interested.load(Ordering::SeqCst) == 0 {
            return;
        }
        let place = to.place(channel);
        let mut word: Option<Word> = None;
        for neighbour in self.all.read().values() {
            let is_wanted = neighbour
                .wants
                .read()
                .as_ref()
                .is_some_and(|wants| wants.notified & bits == bits && wants.wants(to, channel, place));
            if is_wanted {
                // Another thread frees it.
                governor::given_away(|| {
                    let word = word.get_or_insert_with(|| Message { to, channel, text }.encode());
                    self.put(neighbour, word);
                });
            }
        }
    }

    fn put(&self, neighbour: &Neighbour, word: &Word) {
        let put = neighbour.queue.lock().put(word);
        match put {
            Put::First => neighbour.outgoing.ring(),
            Put::BehindOthers => {}
            Put::Lost => self.lost(1),
        }
    }

    fn lost(&self, words: u64) {
        self.counts.lost.fetch_add(words, Ordering::Relaxed);
    }

    /// Done when there is something to be said to a node. False: it is none of the cluster's any more.
    pub async fn has_words_for(&self, node: u32) -> bool {
        let Some(neighbour) = self.find(node) else { return false };
        let is_gone = || neighbour.is_gone.load(Ordering::SeqCst);
        neighbour
            .outgoing
            .until(|| is_gone() || !neighbour.queue.lock().is_empty())
            .await;
        !is_gone()
    }

    /// The next frame for a node, and how many messages end in it. There is one on its way at a time.
    pub fn next_words(&self, node: u32) -> Option<(Frame, u64)> {
        let neighbour = self.find(node)?;
        let mut queue = neighbour.queue.lock();
        queue.next(|| 1 + self.sequence.fetch_add(1, Ordering::Relaxed))
    }

    /// What came of it: an answer, or none. Without one the node is out of reach until it has answered again.
    pub fn words_answered(&self, node: u32, words: u64, answer: Option<&[u8]>) {
        let Some(neighbour) = self.find(node) else { return };
        match answer.map(Answer::decode) {
            Some(Some(Answer::Heard)) => {
                self.counts.sent.fetch_add(words, Ordering::Relaxed);
            }
            // It is there, and does not take this one.
            Some(_) => self.lost(words + neighbour.queue.lock().forget_piece()),
            None => {
                self.lost(words + neighbour.queue.lock().lose());
                // Whether it is there again is asked until it answers.
                let mut told = neighbour.told.lock();
                told.version = 0;
                told.is_silent = true;
                drop(told);
                self.telling.ring();
            }
        }
    }
}
