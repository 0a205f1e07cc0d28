//! Calls of the operating system that may take long, on a thread of their own, so that other statements go on meanwhile.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;

use parking_lot::Mutex;
use types::{SqlError, SqlResult};

use crate::errors::interrupted;
use crate::host::Host;
use crate::waiting::until;

enum Handoff<T> {
    Awaited(Option<Waker>),
    /// `None`: the work has panicked.
    Done(Option<T>),
}

/// Gives the outcome on, whatever became of the work.
struct Giver<T>(Arc<Mutex<Handoff<T>>>);

impl<T> Giver<T> {
    fn give(&self, outcome: Option<T>) {
        let before = std::mem::replace(&mut *self.0.lock(), Handoff::Done(outcome));
        if let Handoff::Awaited(Some(waker)) = before {
            waker.wake();
        }
    }
}

impl<T> Drop for Giver<T> {
    fn drop(&mut self) {
        if matches!(*self.0.lock(), Handoff::Awaited(_)) {
            self.give(None);
        }
    }
}

/// Runs `work`, and suspends the statement until it is done. A statement that is interrupted meanwhile leaves the work to its thread.
pub(crate) fn aside<T: Send + 'static>(
    state: &'static str,
    host: &dyn Host,
    work: impl FnOnce() -> T + Send + 'static,
) -> SqlResult<T> {
    let handoff = Arc::new(Mutex::new(Handoff::Awaited(None)));
    let giver = Giver(handoff.clone());
    let spawned = thread::Builder::new().name("server-files".to_owned()).spawn(move || {
        let outcome = work();
        giver.give(Some(outcome));
    });
    spawned.map_err(|error| SqlError::internal(format!("no thread for a file: {error}")))?;
    let outcome = poll_fn(|context| {
        let mut handoff = handoff.lock();
        match &mut *handoff {
            Handoff::Awaited(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            Handoff::Done(outcome) => Poll::Ready(outcome.take()),
        }
    });
    let outcome = until(outcome, state, host).map_err(interrupted)?;
    outcome.ok_or_else(|| SqlError::internal("a thread for a file has panicked"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::BlockingHost;

    #[test]
    fn the_outcome_comes_back_and_a_panic_is_an_error() {
        assert_eq!(aside("", &BlockingHost, || 7).unwrap(), 7);
        let failed: SqlResult<()> = aside("", &BlockingHost, || panic!("on purpose"));
        assert_eq!(failed.unwrap_err().code(), 1815);
    }
}
