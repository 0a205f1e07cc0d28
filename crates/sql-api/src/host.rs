//! What a statement asks of the thread that runs it.
//!
//! The executor is plain synchronous code. Where it has to wait for a row lock, a commit, a slow client or its turn
//! on the core, it hands a future to its [`Host`], which suspends the statement until the future is done and runs other sessions
//! meanwhile. The fronts implement it with stackful coroutines; tests with [`BlockingHost`].

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

pub use governor::Interrupt;

/// The runner of a session's statements.
pub trait Host {
    /// Suspends the statement until `future` is done. Cannot be interrupted: for commits, whose outcome must be known.
    fn wait(&self, future: Pin<&mut dyn Future<Output = ()>>);

    /// Suspends the statement until `future` is done, `timeout` has passed, or somebody interrupts the statement.
    fn wait_interruptible(&self, future: Pin<&mut dyn Future<Output = ()>>, timeout: Option<Duration>) -> WaitEnd;

    /// Whether the statement should stop. Long work asks the governor instead.
    fn interrupted(&self) -> Option<Interrupt>;

    /// What the process list says that the statement waits for; empty: it executes.
    fn show_state(&self, _state: &'static str) {}

    /// The text of the statement that runs, where the command that brought it says less: the process list shows it.
    fn show_statement(&self, _text: &[u8]) {}

    /// Once so much time has passed, and until this is set anew, the statement is interrupted with [`Interrupt::Timeout`].
    fn limit_time(&self, _limit: Option<Duration>) {}
}

/// How an interruptible wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    Done,
    TimedOut,
    Interrupted(Interrupt),
}

/// Polls what a statement waits for, whether it is interrupted, and the timer, in this order. Who is interrupted when the time is over is told that.
pub async fn wait_end(
    mut future: Pin<&mut dyn Future<Output = ()>>,
    timer: Option<impl Future<Output = ()>>,
    mut interrupted: impl FnMut(&mut Context<'_>) -> Option<Interrupt>,
) -> WaitEnd {
    let mut timer = pin!(timer);
    poll_fn(|context| {
        if future.as_mut().poll(context).is_ready() {
            return Poll::Ready(WaitEnd::Done);
        }
        if let Some(interrupt) = interrupted(context) {
            return Poll::Ready(WaitEnd::Interrupted(interrupt));
        }
        match timer.as_mut().as_pin_mut().map(|timer| timer.poll(context)) {
            Some(Poll::Ready(())) => Poll::Ready(interrupted(context).map_or(WaitEnd::TimedOut, WaitEnd::Interrupted)),
            _ => Poll::Pending,
        }
    })
    .await
}

/// A host that blocks its thread: for tests and tools that own theirs.
#[derive(Debug, Default, Clone, Copy)]
pub struct BlockingHost;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Host for BlockingHost {
    fn wait(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        self.wait_interruptible(future, None);
    }

    fn wait_interruptible(&self, mut future: Pin<&mut dyn Future<Output = ()>>, timeout: Option<Duration>) -> WaitEnd {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let deadline = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            if let Poll::Ready(()) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return WaitEnd::Done;
            }
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => std::thread::park(),
                Some(Duration::ZERO) => return WaitEnd::TimedOut,
                Some(left) => std::thread::park_timeout(left),
            }
        }
    }

    fn interrupted(&self) -> Option<Interrupt> {
        None
    }
}
