//! Stacks that a thread keeps for its next fibers.

use std::cell::RefCell;

use corosensei::stack::{DefaultStack, Stack};

/// Address space of a stack; memory is taken as it is touched, and goes back when it was much. Code without optimization takes
/// several times as much for a call.
const STACK_LEN: usize = if cfg!(debug_assertions) { 128 << 20 } else { 32 << 20 };
/// How many a thread keeps for later: a new one costs three calls of the system, and giving it back interrupts all cores. What a kept one
/// has touched is small.
const KEPT_MAX: usize = 256;

thread_local! {
    static KEPT: RefCell<Vec<DefaultStack>> = RefCell::default();
}

pub fn take() -> std::io::Result<DefaultStack> {
    KEPT.with_borrow_mut(Vec::pop)
        .map_or_else(|| DefaultStack::new(STACK_LEN), Ok)
}

pub fn give_back(stack: DefaultStack) {
    if governor::stack::take_deep(stack.limit().get()) {
        return;
    }
    KEPT.with_borrow_mut(|kept| {
        if kept.len() < KEPT_MAX {
            kept.push(stack);
        }
    });
}
