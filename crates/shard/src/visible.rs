//! Waiting until the rows here are as new as somebody else has seen them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use store::Store;
use types::Timestamp;

/// Who waits for commits that this replica has not applied.
#[derive(Default)]
pub(crate) struct Visible {
    waiting: Mutex<Vec<(Timestamp, Waker)>>,
    /// How many: looked at for every entry that is applied.
    count: AtomicUsize,
}

impl Visible {
    /// Something was published.
    pub fn published(&self, newest: Timestamp) {
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let woken: Vec<_> = {
            let waiting = &mut *self.waiting.lock();
            let woken = waiting.extract_if(.., |(wanted, _)| *wanted <= newest).collect();
            self.count.store(waiting.len(), Ordering::SeqCst);
            woken
        };
        for (_, waker) in woken {
            waker.wake();
        }
    }

    /// Ready when commits up to then can be seen.
    pub fn wait(self: &Arc<Self>, store: &Arc<Store>, wanted: Timestamp) -> UntilVisible {
        UntilVisible {
            visible: self.clone(),
            store: store.clone(),
            wanted,
        }
    }
}

pub(crate) struct UntilVisible {
    visible: Arc<Visible>,
    store: Arc<Store>,
    wanted: Timestamp,
}

impl Future for UntilVisible {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.store.published() >= self.wanted {
            return Poll::Ready(());
        }
        let waiting = &mut *self.visible.waiting.lock();
        let is_known =
            |(wanted, waker): &(Timestamp, Waker)| *wanted == self.wanted && waker.will_wake(context.waker());
        if !waiting.iter().any(is_known) {
            waiting.push((self.wanted, context.waker().clone()));
            self.visible.count.store(waiting.len(), Ordering::SeqCst);
        }
        // It may have been published just before.
        match self.store.published() >= self.wanted {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}
