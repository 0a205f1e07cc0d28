//! How a statement learns that its time is up.
//!
//! A statement's run between two switches is a *turn*. Ticks count down; at zero, the clock is read, and the turn is over once it has
//! lasted [`QUOTA`]. How many ticks go by between two readings follows from how long they took: a scan's are nanoseconds apart,
//! those of a function over a large text tens of microseconds. So a tick costs a load and a store, and a short statement
//! never reads a clock.
//!
//! A timer thread that sets a flag would save the store, but its thousand switches a second cost more than everything here; see
//! `docs/decisions/0005-who-looks-at-the-clock.md`.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long a turn may last.
const QUOTA: Duration = Duration::from_micros(500);
/// Ticks of a new turn before the clock is read for the first time.
const FIRST_STRIDE: u32 = 8;
/// The most ticks between two readings. The first long iterations after short ones go by unread, so many at most.
const LONGEST_STRIDE: u32 = 64;
/// Readings should be about this far apart.
const BETWEEN_READINGS: Duration = Duration::from_micros(50);
/// Ticks left in a turn that is over.
const OVER: u32 = 0;

#[derive(Clone, Copy, PartialEq)]
enum Watch {
    /// No turn of the thread is ever over.
    No,
    Clock,
    /// A turn is so many ticks, whatever the time.
    Ticks(u32),
    /// Every tick is the end of a turn ([`crate::probe`]).
    AlwaysOver,
}

thread_local! {
    /// Ticks up to the next reading; [`OVER`] when there is nothing left to read.
    static LEFT: Cell<u32> = const { Cell::new(u32::MAX) };
    static WATCH: Cell<Watch> = const { Cell::new(Watch::No) };
    /// The turn has done what takes the system long.
    static HEAVY: Cell<bool> = const { Cell::new(false) };
    static STRIDE: Cell<u32> = const { Cell::new(FIRST_STRIDE) };
    /// The turn's first reading, and its last.
    static READINGS: Cell<Option<(Instant, Instant)>> = const { Cell::new(None) };
}

/// Gives this thread's turns an end.
pub fn watch_this_thread() {
    WATCH.set(Watch::Clock);
    begin();
}

/// Gives this thread's turns an end after so many ticks each: where the same has to happen each time.
pub fn count_on_this_thread(ticks: u32) {
    WATCH.set(Watch::Ticks(ticks.max(1)));
    begin();
}

/// Whether the running statement has had its time. Stays so until the turn ends.
#[inline(always)]
pub(crate) fn is_over() -> bool {
    let left = LEFT.get();
    match left > 1 {
        true => {
            LEFT.set(left - 1);
            false
        }
        false => left == OVER || read_clock(),
    }
}

/// Runs a turn: from the switch to a statement until it waits, yields or ends.
#[inline]
pub fn take<R>(turn: impl FnOnce() -> R) -> R {
    begin();
    turn()
}

#[inline]
fn begin() {
    match WATCH.get() {
        Watch::Clock => {
            LEFT.set(FIRST_STRIDE);
            STRIDE.set(FIRST_STRIDE);
            READINGS.set(None);
            HEAVY.set(false);
        }
        Watch::Ticks(ticks) => LEFT.set(ticks),
        Watch::No => LEFT.set(u32::MAX),
        Watch::AlwaysOver => LEFT.set(OVER),
    }
}

/// Makes the next tick of this thread the end of its turn, or begins a new one.
pub(crate) fn set_over(is_over: bool) {
    match is_over && WATCH.get() != Watch::No {
        true => LEFT.set(OVER),
        false => begin(),
    }
}

/// Whether the turn has had its time: asked where its ticks do not count it, as they fail.
pub(crate) fn has_lasted() -> bool {
    match WATCH.get() {
        Watch::Clock => {
            let now = Instant::now();
            let (begun, _) = READINGS.get().unwrap_or((now, now));
            READINGS.set(Some((begun, now)));
            now - begun >= QUOTA
        }
        // The ticks that fail are not counted.
        Watch::No | Watch::Ticks(_) => false,
        Watch::AlwaysOver => true,
    }
}

/// The system is asked for what takes it long, though it is a single call: mappings.
pub(crate) fn note_heavy() {
    HEAVY.set(true);
}

/// Whether the running turn has taken a good part of its time, as far as its ticks have read a clock.
pub fn is_long() -> bool {
    let has_lasted = || READINGS.get().is_some_and(|(begun, last)| last - begun >= QUOTA / 4);
    WATCH.get() == Watch::Clock && (HEAVY.get() || has_lasted())
}

/// Runs `work` with every tick as the end of a turn.
pub(crate) fn always_over<R>(work: impl FnOnce() -> R) -> R {
    struct Back(Watch);
    impl Drop for Back {
        fn drop(&mut self) {
            WATCH.set(self.0);
            begin();
        }
    }
    let _back = Back(WATCH.replace(Watch::AlwaysOver));
    begin();
    work()
}

#[cold]
#[inline(never)]
fn read_clock() -> bool {
    match WATCH.get() {
        Watch::Clock => {}
        Watch::Ticks(_) => {
            LEFT.set(OVER);
            return true;
        }
        Watch::No | Watch::AlwaysOver => {
            begin();
            return LEFT.get() == OVER;
        }
    }
    let now = Instant::now();
    let Some((first, last)) = READINGS.get() else {
        READINGS.set(Some((now, now)));
        LEFT.set(STRIDE.get());
        return false;
    };
    if now - first >= QUOTA {
        LEFT.set(OVER);
        return true;
    }
    let since_last = now - last;
    if since_last > 2 * BETWEEN_READINGS {
        STRIDE.set((STRIDE.get() / 4).max(1));
    } else if since_last < BETWEEN_READINGS / 2 {
        STRIDE.set((STRIDE.get() * 2).min(LONGEST_STRIDE));
    }
    READINGS.set(Some((first, now)));
    LEFT.set(STRIDE.get());
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spin(time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_long_turn_ends_and_the_next_begins_anew() {
        std::thread::spawn(|| {
            watch_this_thread();
            for _ in 0..3 {
                take(|| {
                    assert!(!is_over());
                    let begun = Instant::now();
                    while !is_over() {
                        assert!(begun.elapsed() < Duration::from_secs(10), "the turn never ends");
                    }
                    assert!(is_over(), "it stays over");
                });
            }
        })
        .join()
        .expect("the thread's checks hold");
    }

    /// Ticks of slow iterations, as far as the turn goes.
    fn slow_ticks(time: Duration) -> u32 {
        let mut ticks = 0;
        while !is_over() {
            spin(time);
            ticks += 1;
        }
        ticks
    }

    #[test]
    fn slow_iterations_are_looked_at_more_often() {
        std::thread::spawn(|| {
            watch_this_thread();
            let ticks = take(|| slow_ticks(Duration::from_millis(1)));
            assert!(ticks <= 2 * FIRST_STRIDE, "{ticks} ticks of a millisecond");
            let after_fast_ones = take(|| {
                let begun = Instant::now();
                while begun.elapsed() < QUOTA / 4 {
                    assert!(!is_over() || begun.elapsed() >= QUOTA);
                }
                slow_ticks(Duration::from_millis(1))
            });
            assert!(after_fast_ones <= LONGEST_STRIDE, "{after_fast_ones} ticks");
        })
        .join()
        .expect("the thread's checks hold");
    }

    #[test]
    fn counted_turns_are_alike() {
        std::thread::spawn(|| {
            count_on_this_thread(7);
            for _ in 0..3 {
                let ticks = take(|| (1..).find(|_| is_over()));
                assert_eq!(ticks, Some(7));
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
