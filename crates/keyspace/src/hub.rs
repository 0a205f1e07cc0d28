//! Who waits for keys, and who listens to channels: of this node.
//!
//! A blocking command that finds nothing waits for its keys in the order in which it came. Whoever changes a key wakes the first of them
//! when the change can be seen; that one looks again, and wakes the next one when it is done. Who only reads, as XREAD does, takes nothing
//! from the others and stands beside the line: all such look.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;

use crate::failure::Turn;

/// Waiting commands by database and key, and subscriptions.
#[derive(Default)]
pub struct Hub {
    waiting: Mutex<HashMap<(u32, Vec<u8>), Waiters>>,
}

/// Who waits for a key.
#[derive(Default)]
struct Waiters {
    line: VecDeque<Arc<Waiter>>,
    beside: Vec<Arc<Waiter>>,
}

impl Waiters {
    fn first(&self) -> Option<&Arc<Waiter>> {
        self.line.front()
    }

    fn is_empty(&self) -> bool {
        self.line.is_empty() && self.beside.is_empty()
    }
}

/// A command that waits.
#[derive(Default)]
struct Waiter {
    is_called: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Waiter {
    fn call(&self) {
        self.is_called.store(true, Ordering::Release);
        if let Some(waker) = self.waker.lock().take() {
            waker.wake();
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
    /// Stands in line for keys. Look for them again after this, and before waiting.
    pub fn wait_for(&self, db: u32, keys: Vec<Vec<u8>>, turn: Turn) -> Place<'_> {
        let waiter = Arc::new(Waiter::default());
        let mut waiting = self.waiting.lock();
        for key in &keys {
            let waiters = waiting.entry((db, key.clone())).or_default();
            match turn {
                Turn::First => waiters.line.push_back(waiter.clone()),
                Turn::Everybody => waiters.beside.push(waiter.clone()),
            }
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

    /// A key has changed: whoever has waited longest for it looks again.
    pub fn changed(&self, db: u32, key: &[u8]) {
        let waiting = self.waiting.lock();
        if waiting.is_empty() {
            return;
        }
        let called: Vec<Arc<Waiter>> = match waiting.get(&(db, key.to_vec())) {
            Some(waiters) => waiters.first().into_iter().chain(&waiters.beside).cloned().collect(),
            None => Vec::new(),
        };
        drop(waiting);
        called.iter().for_each(|waiter| waiter.call());
    }

    /// How many commands wait.
    pub fn waiting(&self) -> usize {
        let waiting = self.waiting.lock();
        waiting
            .values()
            .map(|waiters| waiters.line.len() + waiters.beside.len())
            .sum()
    }
}

impl Place<'_> {
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
            let line = waiting.get(&(self.db, key.clone()));
            line.and_then(Waiters::first)
                .is_some_and(|first| Arc::ptr_eq(first, &self.waiter))
        })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut next = Vec::new();
        let mut waiting = self.hub.waiting.lock();
        for key in self.keys.drain(..) {
            let place = (self.db, key);
            let Some(waiters) = waiting.get_mut(&place) else {
                continue;
            };
            let was_first = waiters.first().is_some_and(|first| Arc::ptr_eq(first, &self.waiter));
            waiters.line.retain(|other| !Arc::ptr_eq(other, &self.waiter));
            waiters.beside.retain(|other| !Arc::ptr_eq(other, &self.waiter));
            if was_first {
                next.extend(waiters.first().cloned());
            }
            if waiters.is_empty() {
                waiting.remove(&place);
            }
        }
        drop(waiting);
        // There may be something left for the next one.
        next.iter().for_each(|next| next.call());
    }
}
