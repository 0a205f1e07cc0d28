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
//!
//! The first turn of a statement is as long as any other. Fifty clients that send one heavy statement after the other, each of which
//! fails or ends soon, would take fifty turns before a fresh one. So a connection that has lately had [`LongTurns`] has no fresh
//! statements: they begin in the queue.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

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

/// How long a connection is known for its long turns.
const KNOWN_FOR: Duration = Duration::from_millis(250);

/// Whether a connection's statements have lately taken long turns. Short statements take none, and cost no look at a clock.
#[derive(Debug, Default)]
pub struct LongTurns {
    last: Option<Instant>,
}

impl LongTurns {
    /// Notes what the statements did that have ended at `now`.
    pub fn note(&mut self, had_long: bool, now: impl FnOnce() -> Instant) {
        if had_long {
            self.last = Some(now());
        }
    }

    /// Whether the connection's next statement begins in the queue.
    pub fn are_recent(&mut self, now: impl FnOnce() -> Instant) -> bool {
        self.last = self
            .last
            .filter(|last| now().saturating_duration_since(*last) < KNOWN_FOR);
        self.last.is_some()
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
    fn long_turns_are_forgotten_in_time() {
        let begin = Instant::now();
        let at = |millis| move || begin + Duration::from_millis(millis);
        let mut turns = LongTurns::default();
        turns.note(false, || unreachable!("a short statement asks for no time"));
        assert!(!turns.are_recent(|| unreachable!("there are none")));
        turns.note(true, at(0));
        turns.note(false, at(100));
        assert!(turns.are_recent(at(249)));
        assert!(!turns.are_recent(at(250)));
        assert!(!turns.are_recent(|| unreachable!("they are forgotten")));
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
