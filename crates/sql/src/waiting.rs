//! Waiting for what other nodes say, and for time to pass.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use types::SqlResult;

use crate::errors::interrupted;
use crate::host::{Host, Interrupt, WaitEnd};
use crate::nodes::Asked;

/// Suspends the statement until the future is ready, or somebody interrupts it. The future has to end by itself.
pub(crate) fn until<T>(future: impl Future<Output = T>, state: &'static str, host: &dyn Host) -> Result<T, Interrupt> {
    let mut answer = None;
    host.show_state(state);
    let end = {
        let waiting = std::pin::pin!(async { answer = Some(future.await) });
        host.wait_interruptible(waiting, None)
    };
    host.show_state("");
    match end {
        WaitEnd::Interrupted(interrupt) => Err(interrupt),
        WaitEnd::Done | WaitEnd::TimedOut => Ok(answer.expect("without a limit, a wait ends with its future")),
    }
}

/// As [`until`], of a question to other nodes.
pub(crate) fn wait_for<T>(asked: Asked<T>, host: &dyn Host) -> SqlResult<T> {
    until(asked, "Waiting for other nodes", host).map_err(interrupted)
}

/// Suspends the statement for so long.
pub(crate) fn pause_for(time: Duration, host: &dyn Host) -> SqlResult<()> {
    match host.wait_interruptible(pin!(std::future::pending()), Some(time)) {
        WaitEnd::Interrupted(interrupt) => Err(interrupted(interrupt)),
        WaitEnd::Done | WaitEnd::TimedOut => Ok(()),
    }
}
