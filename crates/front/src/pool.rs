//! Buffers, which a connection borrows from its thread only while it has something to do.
//!
//! An idle connection holds none, and no stack either (`fiber`), which is what makes thousands of them cheap.

use std::cell::RefCell;

/// Read and write buffers have this capacity; larger ones are not kept.
pub const BUFFER_LEN: usize = 64 << 10;
/// How many a thread keeps for later.
const KEPT_MAX: usize = 64;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = RefCell::default();
}

/// An empty buffer with room for [`BUFFER_LEN`] bytes.
pub fn take_buffer() -> Vec<u8> {
    KEPT.with_borrow_mut(Vec::pop)
        .unwrap_or_else(|| Vec::with_capacity(BUFFER_LEN))
}

pub fn return_buffer(mut buffer: Vec<u8>) {
    // A little more than the usual length comes from a row that crossed the flush bound.
    if (BUFFER_LEN..=2 * BUFFER_LEN).contains(&buffer.capacity()) {
        buffer.clear();
        KEPT.with_borrow_mut(|kept| {
            if kept.len() < KEPT_MAX {
                kept.push(buffer);
            }
        });
    }
}
