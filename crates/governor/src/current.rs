//! The governor of the running statement.
//!
//! A statement's code finds its governor in a thread-local variable: deep leaf code (collations, decimals, documents) ticks too,
//! and no signature has to carry it there. [`Governor::run`] makes it the current one for as long as a closure runs; where the closure
//! is suspended, [`aside`] takes it out, so that it is never seen from another statement's or the event loop's code:
//!
//! ```text
//!   run ─────────────── aside ┐                       ┌ back in place ───────────── end of run
//!                             └─ other statements … ──┘
//! ```

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::alloc;
use crate::memory::{self, Account};
use crate::stack::{self, StackBounds};
use crate::stop::{Interrupt, MemoryStop, Stop};
use crate::turn;

/// Whoever runs the statement: suspends it, and knows who wants it to end.
pub trait Runner {
    /// Lets the other statements of this core run.
    fn yield_now(&self);

    /// Whether the statement has to end.
    fn interrupted(&self) -> Option<Interrupt>;

    /// A tick has found that the turn is over, and is about to ask [`interrupted`](Self::interrupted).
    fn looked(&self) {}
}

/// What watches over one session's statement.
pub struct Governor<'a> {
    runner: &'a dyn Runner,
    account: Option<Arc<Account>>,
    stack: Option<StackBounds>,
    /// Why the statement has to end, once that is known: it does not go on after that.
    stop: Cell<Option<Stop>>,
    /// What the session held as the statement began.
    held_before: Cell<i64>,
    /// What the reaper had freed of the session's by then.
    dropped_before: Cell<i64>,
    /// The most that the statement may hold on top of that.
    statement_limit: Cell<i64>,
    /// What the statement has allocated and somebody else is charged for: its transaction's writes.
    charged_elsewhere: Cell<i64>,
    /// The thread's count of allocated bytes up to which the account is settled.
    settled_at: Cell<i64>,
    /// What the account has been settled by, in all: without what the reaper has freed of it meanwhile.
    settled: Cell<i64>,
    /// How many [`without_yield`] the statement is in.
    yields_forbidden: Cell<u32>,
}

thread_local! {
    static CURRENT: Cell<Option<NonNull<Governor<'static>>>> = const { Cell::new(None) };
}

impl<'a> Governor<'a> {
    pub fn new(runner: &'a dyn Runner) -> Governor<'a> {
        Governor {
            runner,
            account: None,
            stack: None,
            stop: Cell::new(None),
            held_before: Cell::new(0),
            dropped_before: Cell::new(0),
            statement_limit: Cell::new(i64::MAX),
            charged_elsewhere: Cell::new(0),
            settled_at: Cell::new(0),
            settled: Cell::new(0),
            yields_forbidden: Cell::new(0),
        }
    }

    /// Whatever is allocated while the governor is the current one is the account's.
    pub fn with_account(self, account: Arc<Account>) -> Governor<'a> {
        Governor {
            account: Some(account),
            ..self
        }
    }

    /// The bounds of the stack that [`run`](Self::run) is called on.
    pub fn with_stack(self, bounds: StackBounds) -> Governor<'a> {
        Governor {
            stack: Some(bounds),
            ..self
        }
    }

    /// Runs `work` under this governor.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        let _current = Installed::new(Some(NonNull::from(self).cast()));
        work()
    }

    fn held(&self) -> i64 {
        let settled = self.account.as_ref().map_or(0, |account| account.held());
        settled + (alloc::counted() - self.settled_at.get())
    }

    /// What the session has allocated under this governor, less what it has freed itself.
    fn allocated(&self) -> i64 {
        self.settled.get() + (alloc::counted() - self.settled_at.get())
    }

    /// What the reaper has freed of an earlier statement's is no credit of this one.
    fn dropped_meanwhile(&self) -> i64 {
        let dropped = self.account.as_ref().map_or(0, |account| account.dropped_aside());
        dropped - self.dropped_before.get()
    }

    fn settle(&self) {
        let counted = alloc::counted();
        let change = counted - self.settled_at.replace(counted);
        self.settled.set(self.settled.get() + change);
        if let Some(account) = &self.account {
            account.add(change);
        }
    }

    fn must_stop(&self) -> Result<(), Stop> {
        let stop = match self.stop.get() {
            Some(stop) => Some(stop),
            None => match self.runner.interrupted() {
                Some(interrupt) => Some(Stop::Interrupt(interrupt)),
                None => self.lacks_memory(0).map(Stop::Memory),
            },
        };
        self.stop.set(stop);
        match stop {
            None => Ok(()),
            Some(stop) => {
                // Every further tick fails, too.
                turn::set_over(true);
                Err(stop)
            }
        }
    }

    /// Has the next tick fail if the statement was told to end. Where it mostly pauses, a tick would seldom be what a turn ends with.
    fn hear_interrupt(&self) {
        if self.stop.get().is_none() {
            self.stop.set(self.runner.interrupted().map(Stop::Interrupt));
        }
        if self.stop.get().is_some() {
            turn::set_over(true);
        }
    }

    fn lacks_memory(&self, more: i64) -> Option<MemoryStop> {
        self.account.as_ref()?;
        let held = self.held().saturating_add(more);
        let own = held.saturating_sub(self.charged_elsewhere.get().max(0));
        let by_statement = own.saturating_sub(self.held_before.get()) + self.dropped_meanwhile();
        if by_statement > self.statement_limit.get() {
            return Some(MemoryStop::Statement {
                bytes: by_statement as u64,
                limit: self.statement_limit.get() as u64,
            });
        }
        memory::lacks_memory(own, more)
    }
}

/// A governor in its place until dropped; then the one before is back.
struct Installed {
    before: Option<NonNull<Governor<'static>>>,
    stack_before: Option<StackBounds>,
}

impl Installed {
    fn new(governor: Option<NonNull<Governor<'static>>>) -> Installed {
        with(|governor| governor.settle());
        let before = CURRENT.replace(governor);
        with(|governor| governor.settled_at.set(alloc::counted()));
        let bounds = with(|governor| governor.stack).flatten();
        Installed {
            before,
            stack_before: bounds.map(stack::set_bounds),
        }
    }
}

impl Drop for Installed {
    fn drop(&mut self) {
        with(|governor| governor.settle());
        CURRENT.set(self.before);
        with(|governor| governor.settled_at.set(alloc::counted()));
        if let Some(bounds) = self.stack_before {
            stack::set_bounds(bounds);
        }
    }
}

/// The current governor, where there is one.
#[allow(unsafe_code)]
fn with<R>(look: impl FnOnce(&Governor<'_>) -> R) -> Option<R> {
    // SAFETY: `run` alone puts a governor here, one that it borrows, and takes it out again before it returns, also by a panic.
    // While its closure is suspended, and so could be forgotten with its stack, `aside` has taken it out.
    CURRENT.get().map(|governor| look(unsafe { governor.as_ref() }))
}

/// Runs `suspend`, which switches to other code of this thread, with the running statement's governor out of the way.
pub fn aside<R>(suspend: impl FnOnce() -> R) -> R {
    let bounds = with(|governor| governor.stack).flatten();
    let _nobody = Installed::new(None);
    let result = suspend();
    if let Some(bounds) = bounds {
        stack::set_bounds(bounds);
    }
    result
}

/// A session's next statement begins: nothing has stopped it yet, and it may allocate `limit` bytes.
pub fn begin_statement(limit: u64) {
    with(|governor| {
        governor.settle();
        governor.stop.set(None);
        governor.charged_elsewhere.set(0);
        if let Some(account) = &governor.account {
            // What others have allocated and it has freed is not its credit.
            account.add((-account.held()).max(0));
        }
        governor.held_before.set(governor.held());
        governor.dropped_before.set(0);
        governor.dropped_before.set(governor.dropped_meanwhile());
        governor.statement_limit.set(i64::try_from(limit).unwrap_or(i64::MAX));
    });
}

/// Runs `work`, which holds a lock that other statements of this thread may want, without giving way. Interrupts still end it.
pub fn without_yield<R>(work: impl FnOnce() -> R) -> R {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            change_forbidden(|depth| depth - 1);
        }
    }
    change_forbidden(|depth| depth + 1);
    let _end = End;
    work()
}

fn change_forbidden(change: impl FnOnce(u32) -> u32) {
    with(|governor| governor.yields_forbidden.set(change(governor.yields_forbidden.get())));
}

/// Tells that `bytes` of what the statement allocates are charged to the node's data (negative: not any more). They do not count
/// towards the statement's own limit.
pub fn charge_elsewhere(bytes: i64) {
    with(|governor| {
        governor.charged_elsewhere.set(governor.charged_elsewhere.get() + bytes);
    });
}

/// Runs `work`, whose allocations other threads will free: they are not the session's.
pub fn given_away<R>(work: impl FnOnce() -> R) -> R {
    // What others allocate while `work` gives way is not in it, nor what the reaper frees.
    let before = allocated();
    let result = work();
    disown(allocated() - before);
    result
}

fn allocated() -> i64 {
    with(|governor| governor.allocated()).unwrap_or(0)
}

/// Runs `work`, and tells by how many bytes the session holds more after it.
pub fn measured<R>(work: impl FnOnce() -> R) -> (R, u64) {
    let before = allocated();
    let result = work();
    (result, (allocated() - before).max(0) as u64)
}

/// Counts `bytes` of what the statement allocated as somebody else's from now on (negative: as its own again): what goes to a
/// cache, or is charged to the node's data.
pub fn disown(bytes: i64) {
    with(|governor| governor.settled_at.set(governor.settled_at.get() + bytes));
}

/// What the session holds now, with its running statement.
pub fn held() -> u64 {
    with(|governor| governor.held().max(0) as u64).unwrap_or(0)
}

/// An allocation step: the account learns of it, and one that is over its limits is looked at soon.
#[cold]
pub(crate) fn note_allocation() {
    with(|governor| {
        governor.settle();
        if governor.lacks_memory(0).is_some() {
            turn::set_over(true);
        }
    });
}

#[cold]
#[inline(never)]
pub(crate) fn time_is_up() -> Result<(), Stop> {
    turn::set_over(false);
    // What runs while a stack unwinds has to come to its end, and cannot be suspended.
    if std::thread::panicking() {
        return Ok(());
    }
    let outcome = with(|governor| {
        governor.runner.looked();
        governor.must_stop()?;
        if governor.yields_forbidden.get() == 0 {
            governor.runner.yield_now();
        }
        governor.must_stop()
    });
    outcome.unwrap_or(Ok(()))
}

#[cold]
#[inline(never)]
pub(crate) fn pause() {
    if std::thread::panicking() {
        return turn::set_over(false);
    }
    let governed = with(|governor| {
        // What a statement has to finish that has been told to end takes whole turns, too, though every tick of it fails.
        if governor.stop.get().is_some() && !turn::has_lasted() {
            return;
        }
        turn::set_over(false);
        if governor.yields_forbidden.get() == 0 {
            governor.runner.yield_now();
        }
        governor.hear_interrupt();
    });
    if governed.is_none() {
        turn::set_over(false);
    }
}

/// As [`crate::pause`]; tells whether others ran.
#[inline]
pub(crate) fn gave_way() -> bool {
    let is_over = turn::is_over();
    if is_over {
        pause();
    }
    is_over
}

/// Whether somebody waits for the statement's end. One that ends for want of memory is in no hurry: what it held is to be free first.
pub(crate) fn is_interrupted() -> bool {
    with(|governor| match governor.stop.get() {
        Some(stop) => matches!(stop, Stop::Interrupt(_)),
        None => governor.runner.interrupted().is_some(),
    })
    .unwrap_or(false)
}

/// The account of the running statement's session.
pub(crate) fn account() -> Option<Arc<Account>> {
    with(|governor| governor.account.clone()).flatten()
}

#[inline]
pub(crate) fn check() -> Result<(), Stop> {
    match with(|governor| governor.stop.get()).flatten() {
        None => Ok(()),
        Some(stop) => Err(stop),
    }
}

#[cold]
#[inline(never)]
pub(crate) fn ensure(bytes: usize) -> Result<(), Stop> {
    let more = i64::try_from(bytes).unwrap_or(i64::MAX);
    match with(|governor| governor.lacks_memory(more)).flatten() {
        None => Ok(()),
        Some(stop) => Err(Stop::Memory(stop)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe;

    #[test]
    fn a_suspended_statement_is_not_the_current_one() {
        let probed = probe::kill_at(1, || {
            let inside = crate::tick();
            let outside = aside(crate::tick);
            (inside.is_err(), outside.is_ok(), crate::tick().is_err())
        });
        assert_eq!(probed.result, (true, true, true));
        assert_eq!(crate::check(), Ok(()));
    }

    /// Told to end at its first yield.
    #[derive(Default)]
    struct EndsSoon {
        yields: Cell<u32>,
    }

    impl Runner for EndsSoon {
        fn yield_now(&self) {
            self.yields.set(self.yields.get() + 1);
        }

        fn interrupted(&self) -> Option<Interrupt> {
            (self.yields.get() > 0).then_some(Interrupt::KillQuery)
        }
    }

    fn with_turns<R: Send>(runner: impl FnOnce() -> R + Send) -> R {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                turn::watch_this_thread();
                turn::take(runner)
            });
            thread.join().expect("the checks hold")
        })
    }

    fn spin() {
        let begun = std::time::Instant::now();
        while begun.elapsed().as_micros() < 5 {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn what_mostly_pauses_ends_at_its_next_tick() {
        let pauses = with_turns(|| {
            let runner = EndsSoon::default();
            Governor::new(&runner).run(|| {
                let mut pauses = 0;
                while crate::tick().is_ok() {
                    for _ in 0..1000 {
                        spin();
                        crate::pause();
                        pauses += u32::from(runner.yields.get() > 0);
                    }
                }
                pauses
            })
        });
        assert!(pauses <= 1000, "{pauses} after it was told to end");
    }

    #[test]
    fn what_has_to_be_finished_takes_whole_turns() {
        let (yields, turns) = with_turns(|| {
            let runner = EndsSoon::default();
            Governor::new(&runner).run(|| {
                while crate::tick().is_ok() {}
                let (before, begun) = (runner.yields.get(), std::time::Instant::now());
                for _ in 0..2000 {
                    spin();
                    crate::pause();
                }
                let turns = begun.elapsed().as_micros() / 500;
                (runner.yields.get() - before, turns as u32)
            })
        });
        assert!((1..=turns + 1).contains(&yields), "{yields} in {turns}");
    }

    #[test]
    fn nothing_is_suspended_while_it_unwinds() {
        struct TicksInDrop;
        impl Drop for TicksInDrop {
            fn drop(&mut self) {
                assert_eq!(crate::tick(), Ok(()));
            }
        }
        probe::kill_at(1, || {
            std::panic::catch_unwind(|| {
                let _held = TicksInDrop;
                std::panic::resume_unwind(Box::new(()));
            })
            .expect_err("it panicked")
        });
    }

    #[test]
    fn a_stopped_statement_does_not_stop_the_next() {
        probe::kill_at(1, || {
            assert!(crate::tick().is_err() && crate::check().is_err());
            begin_statement(u64::MAX);
            assert_eq!(crate::check(), Ok(()));
        });
    }
}
