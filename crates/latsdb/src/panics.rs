//! Panics: each one is a defect, so each is logged with its place and counted.
//!
//! A panic inside a statement ends that statement and its transaction, and nothing else; one of the shard's threads ends its
//! commits. Both can be told apart from an ordinary error by the log and by `latsdb_panics_total` alone, which is what tests
//! look at when they are done.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Logs and counts from now on.
pub fn watch() {
    std::panic::set_hook(Box::new(|panic| {
        COUNT.fetch_add(1, Ordering::Relaxed);
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        let reason = panic.payload_as_str().unwrap_or("no reason given");
        let thread = std::thread::current().name().unwrap_or("unnamed").to_owned();
        let backtrace = Backtrace::capture();
        match backtrace.status() {
            BacktraceStatus::Captured => {
                tracing::error!(thread, "panicked at {place}: {reason}\n{backtrace}");
            }
            _ => tracing::error!(thread, "panicked at {place}: {reason}"),
        }
    }));
}

/// How many there were.
pub fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}
