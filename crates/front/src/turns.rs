//! Turns that take too long, in the log.
//!
//! While a connection's task is polled, nobody else on its thread is served. How long that takes is what the governor is about, and
//! processor time tells it on a busy machine, too. Reading it is a system call, so it is done where somebody asks for it.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

fn now(clock: ClockId) -> Duration {
    let now = clock_gettime(clock);
    // Neither clock is ever negative.
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Runs `task`, and logs each turn of it that takes longer than `bound` of the thread's time.
pub async fn watched(bound: Duration, connection: u32, task: impl Future<Output = ()>) {
    let mut task = pin!(task);
    poll_fn(|context| {
        let (begun, since) = (now(ClockId::ThreadCPUTime), now(ClockId::Monotonic));
        let polled = task.as_mut().poll(context);
        let took = now(ClockId::ThreadCPUTime) - begun;
        if took > bound {
            let elapsed = now(ClockId::Monotonic) - since;
            tracing::warn!(
                connection,
                turn_us = took.as_micros() as u64,
                elapsed_us = elapsed.as_micros() as u64,
                since_us = since.as_micros() as u64,
                "a long turn"
            );
        }
        polled
    })
    .await;
}
