//! The [`Host`] of a simulated statement.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use fiber::Suspender;
use governor::Runner;
use sql_api::host::{Host, Interrupt, WaitEnd, wait_end};
use tokio::time::Instant;

use super::connections::Handle;

/// Suspends its fiber to wait, by the clock of the node's runtime.
pub struct SimHost<'a> {
    suspender: &'a Suspender<'a>,
    handle: &'a Handle,
    deadline: Cell<Option<Instant>>,
}

impl<'a> SimHost<'a> {
    pub fn new(suspender: &'a Suspender<'a>, handle: &'a Handle) -> SimHost<'a> {
        SimHost {
            suspender,
            handle,
            deadline: Cell::new(None),
        }
    }

    /// What a client does between its statements.
    pub fn sleep(&self, time: Duration) {
        self.suspender.wait(pin!(tokio::time::sleep(time)));
    }
}

impl Host for SimHost<'_> {
    fn wait(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        self.suspender.wait(future);
    }

    fn wait_interruptible(&self, future: Pin<&mut dyn Future<Output = ()>>, timeout: Option<Duration>) -> WaitEnd {
        let until = timeout.map(|timeout| Instant::now() + timeout);
        let first = until.into_iter().chain(self.deadline.get()).min();
        let end = wait_end(future, first.map(tokio::time::sleep_until), |context| {
            self.handle.wake_by(context.waker());
            Runner::interrupted(self)
        });
        self.suspender.wait(pin!(end))
    }

    fn interrupted(&self) -> Option<Interrupt> {
        Runner::interrupted(self)
    }

    fn show_state(&self, state: &'static str) {
        self.handle.show_state(state);
    }

    fn limit_time(&self, limit: Option<Duration>) {
        self.deadline.set(limit.map(|limit| Instant::now() + limit));
    }
}

impl Runner for SimHost<'_> {
    fn yield_now(&self) {
        let mut has_waited = false;
        self.suspender.wait(pin!(poll_fn(|context| {
            if std::mem::replace(&mut has_waited, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })));
    }

    fn interrupted(&self) -> Option<Interrupt> {
        let is_late = || self.deadline.get().is_some_and(|deadline| deadline <= Instant::now());
        let late = || is_late().then_some(Interrupt::Timeout);
        self.handle.interrupted().or_else(late)
    }
}
