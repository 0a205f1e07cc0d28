//! What a connection borrows from its thread only while it has something to do: buffers and stacks.
//!
//! An idle connection holds neither, which is what makes thousands of them cheap.

use std::cell::RefCell;

use corosensei::stack::{DefaultStack, Stack};

/// Read and write buffers have this capacity; larger ones are not kept.
pub const BUFFER_LEN: usize = 64 << 10;
/// Address space of a statement's stack; memory is taken as it is touched, and goes back when it was much. Code without optimization takes
/// several times as much for a call.
const STACK_LEN: usize = if cfg!(debug_assertions) { 128 << 20 } else { 32 << 20 };
/// How many buffers and stacks a thread keeps for later.
const KEPT_MAX: usize = 64;

#[derive(Default)]
struct Pool {
    buffers: Vec<Vec<u8>>,
    stacks: Vec<DefaultStack>,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::default();
}

/// An empty buffer with room for [`BUFFER_LEN`] bytes.
pub fn take_buffer() -> Vec<u8> {
    POOL.with_borrow_mut(|pool| pool.buffers.pop())
        .unwrap_or_else(|| Vec::with_capacity(BUFFER_LEN))
}

pub fn return_buffer(mut buffer: Vec<u8>) {
    // A little more than the usual length comes from a row that crossed the flush bound.
    if (BUFFER_LEN..=2 * BUFFER_LEN).contains(&buffer.capacity()) {
        buffer.clear();
        POOL.with_borrow_mut(|pool| {
            if pool.buffers.len() < KEPT_MAX {
                pool.buffers.push(buffer);
            }
        });
    }
}

pub fn take_stack() -> std::io::Result<DefaultStack> {
    POOL.with_borrow_mut(|pool| pool.stacks.pop())
        .map_or_else(|| DefaultStack::new(STACK_LEN), Ok)
}

pub fn return_stack(stack: DefaultStack) {
    if governor::stack::take_deep(stack.limit().get()) {
        return;
    }
    POOL.with_borrow_mut(|pool| {
        if pool.stacks.len() < KEPT_MAX {
            pool.stacks.push(stack);
        }
    });
}
