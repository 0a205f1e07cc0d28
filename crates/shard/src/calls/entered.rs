//! A future of the thread for calls, polled by whoever waits for it.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// Polled by whoever waits, with the timers of the thread for calls: so an answer wakes nobody but him.
pub struct Entered<T> {
    runtime: Handle,
    future: Pin<Box<dyn Future<Output = T> + Send>>,
}

impl<T> Entered<T> {
    pub fn new(runtime: Handle, future: impl Future<Output = T> + Send + 'static) -> Entered<T> {
        Entered {
            runtime,
            future: Box::pin(future),
        }
    }
}

impl<T> Future for Entered<T> {
    type Output = T;

    /// Whoever polls may be a statement on a fiber. It does not give way here: the thread's other statements would run with this runtime's
    /// timers, and leave theirs and this one in the wrong order.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let runtime = self.runtime.clone();
        governor::without_yield(|| {
            let _entered = runtime.enter();
            self.future.as_mut().poll(context)
        })
    }
}
