//! How a statement learns that its time is up.
//!
//! Each core's thread has a [`Core`] with a flag that one timer thread sets. A statement's run between two switches is a *turn*; the
//! timer looks at all cores every [`LOOK`] and sets the flag of those that are in the turn that it saw at its last look. So a
//! turn lasts between one and two looks, the statement pays one load per tick, and nobody reads a clock.
//!
//! While all cores are idle the timer looks rarely; the first statement after that wakes it.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

/// Between two looks of the timer.
const LOOK: Duration = Duration::from_micros(500);
/// Looks without any turn after which the timer goes to sleep.
const IDLE_LOOKS: u32 = 40;
/// A sleeping timer looks all the same from time to time: whoever wakes it and its falling asleep may miss each other.
const SLEEP: Duration = Duration::from_millis(10);

/// What the timer and a core's thread share.
#[derive(Debug)]
#[repr(align(128))]
struct Core {
    is_over: AtomicBool,
    /// Odd during a turn; only the core's thread writes.
    turns: AtomicU64,
}

impl Core {
    const fn new() -> Core {
        Core {
            is_over: AtomicBool::new(false),
            turns: AtomicU64::new(0),
        }
    }
}

/// Of threads that no timer watches.
static UNWATCHED: Core = Core::new();
/// Of threads whose every tick counts as the end of a turn ([`crate::probe`]).
static ALWAYS_OVER: Core = Core {
    is_over: AtomicBool::new(true),
    turns: AtomicU64::new(0),
};

static CORES: Mutex<Vec<&'static Core>> = Mutex::new(Vec::new());
static TIMER: OnceLock<Thread> = OnceLock::new();
static TIMER_SLEEPS: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CORE: Cell<&'static Core> = const { Cell::new(&UNWATCHED) };
}

/// Has the timer watch this thread's turns from now on. The thread lives as long as the process: what the timer reads stays.
pub fn watch_this_thread() {
    let core: &'static Core = Box::leak(Box::new(Core::new()));
    CORES.lock().unwrap_or_else(PoisonError::into_inner).push(core);
    CORE.set(core);
    TIMER.get_or_init(|| {
        let timer = std::thread::Builder::new().name("governor-timer".into()).spawn(look);
        // Without a timer nobody would ever give way.
        timer
            .expect("the system grants a thread for the timer")
            .thread()
            .clone()
    });
}

/// Whether the running statement has had its time.
#[inline(always)]
pub(crate) fn is_over() -> bool {
    CORE.get().is_over.load(Ordering::Relaxed)
}

/// Runs a turn: from the switch to a statement until it waits, yields or ends.
#[inline]
pub fn take<R>(turn: impl FnOnce() -> R) -> R {
    struct End(&'static Core);
    impl Drop for End {
        fn drop(&mut self) {
            self.0
                .turns
                .store(self.0.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }
    let core = CORE.get();
    core.turns
        .store(core.turns.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    let _end = End(core);
    if core.is_over.load(Ordering::Relaxed) {
        set_over(false);
    }
    if TIMER_SLEEPS.load(Ordering::Relaxed) {
        wake_timer();
    }
    turn()
}

/// Makes the next tick of this thread the end of its turn, or not.
pub(crate) fn set_over(is_over: bool) {
    let core = CORE.get();
    if !std::ptr::eq(core, &ALWAYS_OVER) && !std::ptr::eq(core, &UNWATCHED) {
        core.is_over.store(is_over, Ordering::Relaxed);
    }
}

/// Runs `work` with every tick as the end of a turn.
pub(crate) fn always_over<R>(work: impl FnOnce() -> R) -> R {
    struct Back(&'static Core);
    impl Drop for Back {
        fn drop(&mut self) {
            CORE.set(self.0);
        }
    }
    let _back = Back(CORE.replace(&ALWAYS_OVER));
    work()
}

#[cold]
fn wake_timer() {
    TIMER_SLEEPS.store(false, Ordering::Relaxed);
    if let Some(timer) = TIMER.get() {
        timer.unpark();
    }
}

fn look() {
    let mut seen: Vec<u64> = Vec::new();
    let mut idle = 0;
    loop {
        let sleeps = idle >= IDLE_LOOKS;
        TIMER_SLEEPS.store(sleeps, Ordering::Relaxed);
        match sleeps {
            true => std::thread::park_timeout(SLEEP),
            false => std::thread::sleep(LOOK),
        }
        let cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
        seen.resize(cores.len(), 0);
        idle += 1;
        for (core, seen) in cores.iter().zip(&mut seen) {
            let turns = core.turns.load(Ordering::Relaxed);
            let is_running = turns % 2 == 1;
            if is_running && turns == *seen {
                core.is_over.store(true, Ordering::Relaxed);
            }
            if is_running || turns != *seen {
                idle = 0;
            }
            *seen = turns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_long_turn_ends_and_the_next_begins_anew() {
        std::thread::spawn(|| {
            watch_this_thread();
            for _ in 0..3 {
                take(|| {
                    assert!(!is_over());
                    let begun = Instant::now();
                    while !is_over() {
                        assert!(begun.elapsed() < Duration::from_secs(10), "the timer does not look");
                        std::hint::spin_loop();
                    }
                });
                // Long enough for the timer to fall asleep.
                std::thread::sleep(LOOK * (IDLE_LOOKS * 2));
            }
        })
        .join()
        .expect("the thread's checks hold");
    }

    #[test]
    fn a_thread_that_nobody_watches_never_gives_way() {
        take(|| set_over(true));
        assert!(!is_over());
    }
}
