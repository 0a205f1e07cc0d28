//! Something that is waited for: whoever waits is woken when it rings, and looks for himself.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use parking_lot::Mutex;

/// Who waits, and who did since it rang last.
#[derive(Default)]
pub struct Bell(Mutex<Vec<Waker>>);

impl Bell {
    pub fn ring(&self) {
        let waiting = std::mem::take(&mut *self.0.lock());
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Done when the condition holds, which is looked at now and whenever it rings.
    pub async fn until(&self, holds: impl Fn() -> bool) {
        poll_fn(|context| {
            if holds() {
                return Poll::Ready(());
            }
            self.0.lock().push(context.waker().clone());
            // It may have come to hold meanwhile.
            match holds() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}
