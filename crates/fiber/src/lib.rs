//! Plain synchronous code as a future.
//!
//! A statement runs on a stack of its own. Where it waits it switches back to the event loop, which polls the future it
//! waits for together with the connection's task:
//!
//! ```text
//!   task ── poll ──▶ Fiber ── resume ──▶ statement … host.wait(future)
//!                      ▲                                  │ poll future: not ready
//!                      └──────────── suspend ◀────────────┘
//! ```
//!
//! A fiber that is dropped while it waits has its stack unwound, so that what the statement holds is released. [`is_unwinding`] tells that
//! from a fault.

mod stacks;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use governor::stack::StackBounds;
use governor::turn;

/// A running or waiting piece of synchronous code that will return `R`.
pub struct Fiber<R> {
    coroutine: Option<Coroutine<Waker, (), R, DefaultStack>>,
}

/// The code's way to wait.
pub struct Suspender<'a> {
    yielder: &'a Yielder<Waker, ()>,
    waker: RefCell<Waker>,
    /// Of the stack that the code runs on.
    pub bounds: StackBounds,
}

thread_local! {
    static UNWINDING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is unwinding the stack of a dropped fiber: the panic underway is not a fault and must pass.
pub fn is_unwinding() -> bool {
    UNWINDING.get()
}

impl<R: 'static> Fiber<R> {
    /// Fails when the system has no memory for a stack.
    pub fn new(body: impl FnOnce(&Suspender) -> R + 'static) -> io::Result<Self> {
        let stack = stacks::take()?;
        let bounds = StackBounds {
            low: stack.limit().get(),
            high: stack.base().get(),
        };
        let coroutine = Coroutine::with_stack(stack, move |yielder, waker| {
            body(&Suspender {
                yielder,
                waker: RefCell::new(waker),
                bounds,
            })
        });
        Ok(Fiber {
            coroutine: Some(coroutine),
        })
    }
}

impl<R> Future for Fiber<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let coroutine = self.coroutine.as_mut().expect("a fiber is not polled after its end");
        match turn::take(|| coroutine.resume(context.waker().clone())) {
            CoroutineResult::Yield(()) => Poll::Pending,
            CoroutineResult::Return(result) => {
                if let Some(coroutine) = self.coroutine.take() {
                    stacks::give_back(coroutine.into_stack());
                }
                Poll::Ready(result)
            }
        }
    }
}

impl<R> Unpin for Fiber<R> {}

impl<R> Drop for Fiber<R> {
    fn drop(&mut self) {
        UNWINDING.set(true);
        self.coroutine = None;
        UNWINDING.set(false);
    }
}

impl Suspender<'_> {
    /// Runs the event loop until `future` is done.
    pub fn wait<T>(&self, mut future: Pin<&mut dyn Future<Output = T>>) -> T {
        loop {
            // Not borrowed meanwhile: what the future does may take turns, and so come back here.
            let waker = self.waker.borrow().clone();
            let polled = future.as_mut().poll(&mut Context::from_waker(&waker));
            match polled {
                Poll::Ready(value) => return value,
                Poll::Pending => {
                    let waker = governor::aside(|| self.yielder.suspend(()));
                    self.waker.replace(waker);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;
    use std::rc::Rc;
    use std::time::Duration;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(future)
    }

    #[test]
    fn code_waits_on_its_own_stack_while_others_run() {
        let sleep_then = |millis, value| {
            Fiber::new(move |suspender: &Suspender| {
                suspender.wait(pin!(tokio::time::sleep(Duration::from_millis(millis))));
                value
            })
        };
        let (slow, fast) = (sleep_then(20, "slow").unwrap(), sleep_then(1, "fast").unwrap());
        block_on(async {
            let mut order = Vec::new();
            let (mut slow, mut fast) = (Some(slow), Some(fast));
            std::future::poll_fn(|context| {
                for fiber in [&mut slow, &mut fast] {
                    if let Some(Poll::Ready(name)) = fiber.as_mut().map(|fiber| Pin::new(fiber).poll(context)) {
                        order.push(name);
                        *fiber = None;
                    }
                }
                if slow.is_none() && fast.is_none() {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
            assert_eq!(order, ["fast", "slow"]);
        });
    }

    #[test]
    fn a_dropped_fiber_releases_what_its_code_holds() {
        let held = Rc::new(());
        let inside = held.clone();
        let mut fiber = Fiber::new(move |suspender: &Suspender| {
            let _inside = inside;
            suspender.wait(pin!(std::future::pending::<()>()));
        })
        .unwrap();
        block_on(async {
            std::future::poll_fn(|context| {
                assert!(Pin::new(&mut fiber).poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
        });
        assert_eq!(Rc::strong_count(&held), 2);
        drop(fiber);
        assert_eq!(Rc::strong_count(&held), 1);
    }

    #[test]
    fn a_panic_can_be_caught_inside() {
        let fiber = Fiber::new(|_: &Suspender| std::panic::catch_unwind(|| panic!("boom")).is_err()).unwrap();
        assert!(block_on(fiber));
    }
}
