//! No chance but the seed's.
//!
//! The standard library's hash tables, tokio's choice among those who wait, and the consensus library's election timeouts all begin with
//! the system's random bytes. This process gives them its own: `getrandom` is a symbol that a program may bring itself, and the same bytes
//! come out of it each time. So the code under test is the one of production, and does the same for the same seed in each process.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, Ordering};

static SEED: AtomicU64 = AtomicU64::new(0);

/// To be called before anything that draws random bytes.
pub fn begin(seed: u64) {
    SEED.store(seed, Ordering::SeqCst);
}

/// Takes the place of the C library's function. Threads get the same bytes, so that it does not matter which of them asks first.
///
/// # Safety
///
/// As for the function it replaces, `buffer` has room for `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut u8, length: usize, _flags: u32) -> isize {
    let mut state = SEED.load(Ordering::SeqCst);
    for at in 0..length {
        // splitmix64, a byte at a time.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        // SAFETY: the caller says that there is room for all of them.
        unsafe { buffer.add(at).write((mixed >> 56) as u8) };
    }
    isize::try_from(length).unwrap_or(isize::MAX)
}
