//! A point in time after which a connection is not waited for.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::Sleep;

use crate::clock::CoarseInstant;

/// A deadline that is set for every command and hardly ever reached: setting it is a store, and the timer behind it is
/// moved only when it fires too early.
#[derive(Default)]
pub struct Deadline {
    at: Cell<Option<CoarseInstant>>,
    timer: RefCell<Option<Timer>>,
}

/// A timer that wakes the connection's task.
struct Timer {
    sleep: Pin<Box<Sleep>>,
    fires_at: CoarseInstant,
    /// Whether the timer knows the task.
    polled: bool,
}

impl Timer {
    fn new(at: CoarseInstant) -> Timer {
        Timer {
            sleep: Box::pin(tokio::time::sleep(at.left())),
            fires_at: at,
            polled: false,
        }
    }

    fn move_to(&mut self, at: CoarseInstant) {
        self.sleep.as_mut().reset(tokio::time::Instant::now() + at.left());
        (self.fires_at, self.polled) = (at, false);
    }
}

impl Deadline {
    pub fn set(&self, after: Duration) {
        let at = CoarseInstant::now().after(after);
        self.at.set(Some(at));
        if let Some(timer) = self.timer.borrow_mut().as_mut().filter(|timer| timer.fires_at > at) {
            timer.move_to(at);
        }
    }

    /// Ready once the deadline has passed.
    pub fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at.get() else { return Poll::Pending };
        let mut timer = self.timer.borrow_mut();
        let timer = timer.get_or_insert_with(|| Timer::new(at));
        loop {
            if timer.polled && !timer.sleep.is_elapsed() {
                return Poll::Pending;
            }
            timer.polled = true;
            ready!(timer.sleep.as_mut().poll(context));
            if at.left().is_zero() {
                return Poll::Ready(());
            }
            timer.move_to(at);
        }
    }
}
