//! Who waits for keys, and who listens to channels: of this node.
//!
//! A blocking command that finds nothing waits for its keys in the order in which it came. Whoever changes a key wakes the first of them
//! when the change can be seen; that one looks again, and wakes the next one when it is done.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;

/// Waiting commands by database and key, and subscriptions.
#[derive(Default)]
pub struct Hub {
    waiting: Mutex<HashMap<(u32, Vec<u8>), VecDeque<Arc<Waiter>>>>,
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
}

impl Hub {
    /// Stands in line for keys. Look for them again after this, and before waiting.
    pub fn wait_for(&self, db: u32, keys: Vec<Vec<u8>>) -> Place<'_> {
        let waiter = Arc::new(Waiter::default());
        let mut waiting = self.waiting.lock();
        for key in &keys {
            let line = waiting.entry((db, key.clone())).or_default();
            line.push_back(waiter.clone());
        }
        drop(waiting);
        Place {
            hub: self,
            db,
            keys,
            waiter,
        }
    }

    /// A key has changed: whoever has waited longest for it looks again.
    pub fn changed(&self, db: u32, key: &[u8]) {
        let waiting = self.waiting.lock();
        if waiting.is_empty() {
            return;
        }
        let first = waiting.get(&(db, key.to_vec())).and_then(|line| line.front().cloned());
        drop(waiting);
        if let Some(first) = first {
            first.call();
        }
    }

    /// How many commands wait.
    pub fn waiting(&self) -> usize {
        self.waiting.lock().values().map(VecDeque::len).sum()
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
        let waiting = self.hub.waiting.lock();
        self.keys.iter().any(|key| {
            let line = waiting.get(&(self.db, key.clone()));
            line.and_then(VecDeque::front)
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
            let Some(line) = waiting.get_mut(&place) else { continue };
            let was_first = line.front().is_some_and(|first| Arc::ptr_eq(first, &self.waiter));
            line.retain(|other| !Arc::ptr_eq(other, &self.waiter));
            if was_first {
                next.extend(line.front().cloned());
            }
            if line.is_empty() {
                waiting.remove(&place);
            }
        }
        drop(waiting);
        // There may be something left for the next one.
        next.iter().for_each(|next| next.call());
    }
}
