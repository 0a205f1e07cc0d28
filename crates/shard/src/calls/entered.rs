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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;
    use std::task::Waker;

    use governor::{Governor, Interrupt, Runner, turn};

    use super::*;

    /// Counts how often it gave way, and how often with a runtime that others would find.
    #[derive(Default)]
    struct GivesWay {
        all: Cell<u32>,
        entered: Cell<u32>,
    }

    impl Runner for GivesWay {
        fn yield_now(&self) {
            self.all.set(self.all.get() + 1);
            self.entered
                .set(self.entered.get() + u32::from(Handle::try_current().is_ok()));
        }

        fn interrupted(&self) -> Option<Interrupt> {
            None
        }
    }

    #[test]
    fn a_statement_does_not_give_way_with_another_threads_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .expect("a runtime without a network needs nothing of the system");
        turn::count_on_this_thread(1);
        let way = GivesWay::default();
        turn::take(|| {
            Governor::new(&way).run(|| {
                governor::tick().expect("nobody stops it");
                let ticking = async { (0..10).for_each(|_| governor::pause()) };
                let mut entered = pin!(Entered::new(runtime.handle().clone(), ticking));
                let mut context = Context::from_waker(Waker::noop());
                assert!(entered.as_mut().poll(&mut context).is_ready());
                governor::tick().expect("nobody stops it");
            });
        });
        assert_eq!((way.all.get(), way.entered.get()), (2, 0));
    }
}
