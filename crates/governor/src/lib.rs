//! Keeps every statement from harming the others.
//!
//! Statements of one core run one after another on its thread. So a statement has to give way by itself, and whatever takes
//! long, memory or stack is a matter of one object, the [`Governor`], that is the thread's current one while the statement runs:
//!
//! ```text
//!   statement ── tick() ── counts down ──▶ not zero: goes on
//!                                └─ clock ──▶ not yet half a millisecond: goes on
//!                                     └─ interrupts? memory? ── Stop ──▶ the statement ends with an error
//!                                          └─ yields: fresh statements run, then it goes on
//! ```
//!
//! In reading order:
//!
//! * this file: what code calls;
//! * [`current`]: the governor of the running statement;
//! * [`turn`]: how a statement learns that its time is up;
//! * [`memory`]: accounts, limits, and who has to give way when the node's memory runs out; [`unread`]: who does while its client does not read;
//! * [`alloc`]: the allocator that counts, and [`large`]: large blocks, which grow without being copied and are unmapped aside;
//!   [`pages`]: those that are used in part;
//! * [`stack`]: how much of it is left;
//! * [`bulk`]: long strings in pieces; [`stepwise`]: large collections in steps; [`sort`]: their order;
//! * [`apart`]: counters of many threads;
//! * [`probe`]: a runner for tests that ends a statement at its n-th tick.

#![deny(unsafe_code)]

pub mod alloc;
pub mod apart;
pub mod bulk;
pub mod current;
pub mod hashing;
pub mod large;
pub mod memory;
pub mod pages;
pub mod priority;
pub mod probe;
pub mod sort;
pub mod stack;
pub mod stepwise;
mod stop;
pub mod turn;
pub mod unread;

pub use alloc::allocated_size;
pub use current::{Governor, Runner, aside, begin_statement, disown, given_away, measured, without_yield};
pub use stack::descend;
pub use stop::{Interrupt, MemoryStop, StackStop, Stop};

/// Counts a step of work. Called in every loop over rows, bytes, tokens or plan nodes; an iteration between two calls
/// should take microseconds.
///
/// Costs a load and a store, but for about once in half a millisecond: then other statements of the core run. Fails when the statement has to
/// end. Outside of a statement it does nothing.
#[inline(always)]
pub fn tick() -> Result<(), Stop> {
    match turn::is_over() {
        true => current::time_is_up(),
        false => Ok(()),
    }
}

/// As [`tick`], for code that has no way to return an error: false when the statement has to end. The caller returns
/// anything then, as fast as it can; the next [`check`] or [`tick`] of the statement fails.
#[inline(always)]
#[must_use]
pub fn go_on() -> bool {
    tick().is_ok()
}

/// Whether the next [`tick`] will give way: for loops under a guard that should not be held meanwhile. They leave the guard first.
#[inline(always)]
#[must_use]
pub fn is_due() -> bool {
    turn::is_over()
}

/// Lets other statements run if it is time, and does not fail: for work that has to be finished, such as a rollback.
#[inline(always)]
pub fn pause() {
    if turn::is_over() {
        current::pause();
    }
}

/// Whether the statement has to end, without giving way. Asked where a result that [`go_on`] may have cut short would be
/// used: after an evaluation, before a plan is shared, before a commit.
#[inline]
pub fn check() -> Result<(), Stop> {
    current::check()
}

/// Fails when `bytes` more would not fit into the statement's or the node's memory. Called before one large allocation;
/// what is allocated in small pieces is noticed by the next [`tick`].
#[inline]
pub fn ensure(bytes: usize) -> Result<(), Stop> {
    const SMALL: usize = 64 << 10;
    match bytes <= SMALL {
        true => Ok(()),
        false => current::ensure(bytes),
    }
}
