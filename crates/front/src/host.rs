//! The [`Host`] of a statement that runs on a fiber.

use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::{Duration, Instant};

use fiber::Suspender;
use governor::{Governor, Runner};
use sql_api::host::{Host, Interrupt, WaitEnd, wait_end};

use crate::registry::Handle;
use crate::schedule;
use crate::socket::Socket;

/// Suspends its fiber to wait, and hears of KILL and of a client that went away.
pub struct FiberHost<'a> {
    suspender: &'a Suspender<'a>,
    handle: &'a Handle,
    /// None: there is no client.
    socket: Option<&'a Socket>,
    client_gone: Cell<bool>,
    deadline: Cell<Option<Instant>>,
    gave_way: Cell<bool>,
}

impl<'a> FiberHost<'a> {
    pub fn new(suspender: &'a Suspender<'a>, handle: &'a Handle, socket: Option<&'a Socket>) -> Self {
        FiberHost {
            suspender,
            handle,
            socket,
            client_gone: Cell::new(false),
            deadline: Cell::new(None),
            gave_way: Cell::new(false),
        }
    }

    /// What holds the work on the fiber to its limits.
    pub fn governor(&self) -> Governor<'_> {
        Governor::new(self)
            .with_account(self.handle.account.clone())
            .with_stack(self.suspender.bounds)
    }

    /// Whether a turn has been long, that of now among them.
    pub fn had_long_turns(&self) -> bool {
        self.gave_way.get() || governor::turn::is_long()
    }

    /// Waits for something with a result of its own.
    pub fn wait_for<T>(&self, future: impl Future<Output = T>) -> T {
        self.suspender.wait(pin!(future))
    }
}

impl Host for FiberHost<'_> {
    fn wait(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        self.suspender.wait(future);
    }

    fn wait_interruptible(&self, future: Pin<&mut dyn Future<Output = ()>>, timeout: Option<Duration>) -> WaitEnd {
        let until_deadline = self
            .deadline
            .get()
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let shortest = timeout.into_iter().chain(until_deadline).min();
        self.wait_for(wait_end(future, shortest.map(tokio::time::sleep), |context| {
            if self.socket.is_some_and(|socket| socket.poll_gone(context).is_ready()) {
                self.client_gone.set(true);
            }
            Runner::interrupted(self)
        }))
    }

    fn interrupted(&self) -> Option<Interrupt> {
        Runner::interrupted(self)
    }

    fn show_state(&self, state: &'static str) {
        self.handle.show_state(state);
    }

    fn show_statement(&self, text: &[u8]) {
        self.handle.show_statement(text);
    }

    fn limit_time(&self, limit: Option<Duration>) {
        self.deadline.set(limit.map(|limit| Instant::now() + limit));
    }
}

impl Runner for FiberHost<'_> {
    fn yield_now(&self) {
        self.gave_way.set(true);
        self.wait_for(schedule::turn(|| Runner::interrupted(self).is_some()));
        if !self.client_gone.get() && self.socket.is_some_and(Socket::is_gone) {
            self.client_gone.set(true);
        }
    }

    fn interrupted(&self) -> Option<Interrupt> {
        let gone = || self.client_gone.get().then_some(Interrupt::KillConnection);
        let late = || {
            self.deadline
                .get()
                .filter(|deadline| *deadline <= Instant::now())
                .map(|_| Interrupt::Timeout)
        };
        self.handle.interrupted().or_else(gone).or_else(late)
    }
}
