//! Which statement runs next on a core.
//!
//! Statements that have just arrived, and those that something has happened for (a lock, a commit, a client that reads on),
//! are tasks that the event loop polls first. One that gave way stands in a queue instead; from it one statement goes on at a
//! time, after the sockets have been looked at and everything else has run:
//!
//! ```text
//!   sockets, timers ──▶ fresh statements, all ──▶ one from the queue, for a turn ──┐
//!        ▲─────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! So a fresh statement waits for one turn of another at most, however many stand in the queue.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// A statement that gave way.
struct Waiting {
    /// Set when it is its turn. Nobody shares it any more once the statement has gone on or ended by other means.
    may_go_on: Rc<Cell<bool>>,
    waker: Waker,
}

thread_local! {
    static QUEUE: RefCell<VecDeque<Waiting>> = const { RefCell::new(VecDeque::new()) };
}

/// Where a statement stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Nowhere,
    Back,
    Front,
}

/// Waits at the end of this core's queue. Whoever `is_interrupted` goes to its front, once its task is woken: there is little left to
/// do for it, but what is left may be a long copy, which gives way like any other.
pub async fn turn(is_interrupted: impl Fn() -> bool) {
    let may_go_on = Rc::new(Cell::new(false));
    let mut place = Place::Nowhere;
    poll_fn(|context| {
        if may_go_on.get() {
            return Poll::Ready(());
        }
        let wanted = match is_interrupted() {
            true => Place::Front,
            false => Place::Back,
        };
        if place == Place::Nowhere || (place, wanted) == (Place::Back, Place::Front) {
            place = wanted;
            let waiting = Waiting {
                may_go_on: may_go_on.clone(),
                waker: context.waker().clone(),
            };
            QUEUE.with_borrow_mut(|queue| match wanted {
                // Its place at the back is nobody's by the time that it is reached.
                Place::Front => queue.push_front(waiting),
                _ => queue.push_back(waiting),
            });
        }
        Poll::Pending
    })
    .await;
}

/// Whether statements of this core wait for their turn.
pub fn is_waiting() -> bool {
    QUEUE.with_borrow(|queue| !queue.is_empty())
}

/// Wakes the statement that has waited longest.
pub fn wake_next() {
    while let Some(waiting) = QUEUE.with_borrow_mut(VecDeque::pop_front) {
        if Rc::strong_count(&waiting.may_go_on) > 1 && !waiting.may_go_on.get() {
            waiting.may_go_on.set(true);
            return waiting.waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    #[test]
    fn who_gave_way_goes_on_in_order_and_one_at_a_time() {
        let mut context = Context::from_waker(Waker::noop());
        let (mut first, mut second) = (pin!(turn(|| false)), pin!(turn(|| false)));
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(
            first.as_mut().poll(&mut context).is_pending(),
            "a wake-up for another reason"
        );
        wake_next();
        assert!(second.as_mut().poll(&mut context).is_pending());
        assert!(first.as_mut().poll(&mut context).is_ready());
        wake_next();
        assert!(second.as_mut().poll(&mut context).is_ready());
        assert!(!is_waiting());
    }

    #[test]
    fn an_interrupted_statement_is_next_and_costs_one_turn() {
        let mut context = Context::from_waker(Waker::noop());
        let killed = Cell::new(false);
        let mut first = pin!(turn(|| false));
        let mut last = pin!(turn(|| false));
        assert!(first.as_mut().poll(&mut context).is_pending());
        {
            let mut interrupted = pin!(turn(|| killed.get()));
            assert!(interrupted.as_mut().poll(&mut context).is_pending());
            assert!(last.as_mut().poll(&mut context).is_pending());
            killed.set(true);
            assert!(interrupted.as_mut().poll(&mut context).is_pending());
            wake_next();
            assert!(first.as_mut().poll(&mut context).is_pending());
            assert!(interrupted.as_mut().poll(&mut context).is_ready());
        }
        // `pin!` keeps the future to the end of its block; by now it is gone, and with it its place at the back.
        wake_next();
        assert!(first.as_mut().poll(&mut context).is_ready());
        wake_next();
        assert!(last.as_mut().poll(&mut context).is_ready());
        assert!(!is_waiting());
    }
}
