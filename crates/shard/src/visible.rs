//! Waiting until the rows here are as new as somebody else has seen them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use store::Store;
use types::Timestamp;

/// Who waits for commits that this replica has not applied.
#[derive(Default)]
pub(crate) struct Visible {
    waiting: Mutex<Vec<Waiter>>,
    /// How many: looked at for every entry that is applied.
    count: AtomicUsize,
    next: AtomicU64,
}

struct Waiter {
    id: u64,
    wanted: Timestamp,
    waker: Waker,
}

impl Visible {
    /// Something was published.
    pub fn published(&self, newest: Timestamp) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        for waiter in self.take(|waiter| waiter.wanted <= newest) {
            waiter.waker.wake();
        }
    }

    /// Ready when commits up to then can be seen.
    pub fn wait(self: &Arc<Self>, store: &Arc<Store>, wanted: Timestamp) -> UntilVisible {
        UntilVisible {
            visible: self.clone(),
            store: store.clone(),
            id: self.next.fetch_add(1, Ordering::Relaxed),
            wanted,
            waits: false,
        }
    }

    fn take(&self, is_meant: impl Fn(&Waiter) -> bool) -> Vec<Waiter> {
        let waiting = &mut *self.waiting.lock();
        let taken = waiting.extract_if(.., |waiter| is_meant(waiter)).collect();
        self.count.store(waiting.len(), Ordering::SeqCst);
        taken
    }

    fn put(&self, id: u64, wanted: Timestamp, waker: &Waker) {
        let waiting = &mut *self.waiting.lock();
        match waiting.iter_mut().find(|waiter| waiter.id == id) {
            Some(known) => known.waker.clone_from(waker),
            None => waiting.push(Waiter {
                id,
                wanted,
                waker: waker.clone(),
            }),
        }
        self.count.store(waiting.len(), Ordering::SeqCst);
    }
}

pub(crate) struct UntilVisible {
    visible: Arc<Visible>,
    store: Arc<Store>,
    id: u64,
    wanted: Timestamp,
    /// It is among those that wait, or was.
    waits: bool,
}

impl Future for UntilVisible {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.store.published() >= self.wanted {
            return Poll::Ready(());
        }
        self.waits = true;
        self.visible.put(self.id, self.wanted, context.waker());
        // It may have been published just before.
        match self.store.published() >= self.wanted {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Drop for UntilVisible {
    fn drop(&mut self) {
        if self.waits {
            self.visible.take(|waiter| waiter.id == self.id);
        }
    }
}
