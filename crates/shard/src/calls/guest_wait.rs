//! A guest's request while it is under way, and what becomes of it when nobody waits for it any more.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::entered::Entered;
use super::guest::Remote;
use super::message::Call;

/// A request on its way to the leader.
#[must_use]
pub struct GuestWait {
    remote: Arc<Remote>,
    number: u64,
    asking: Entered<()>,
    is_over: bool,
}

impl GuestWait {
    /// `number`: of the guest that waits for a lock; 0 where it waits for something else.
    pub(super) fn new(
        remote: &Arc<Remote>,
        number: u64,
        asking: impl Future<Output = ()> + Send + 'static,
    ) -> GuestWait {
        GuestWait {
            remote: remote.clone(),
            number,
            asking: remote.entered(asking),
            is_over: false,
        }
    }
}

impl Future for GuestWait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let over = Pin::new(&mut self.asking).poll(context);
        self.is_over = over.is_ready();
        over
    }
}

impl Drop for GuestWait {
    fn drop(&mut self) {
        if !self.is_over && self.number != 0 {
            self.remote.tell(Call::Withdraw { number: self.number });
        }
    }
}

impl std::fmt::Debug for GuestWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GuestWait({})", self.number)
    }
}
