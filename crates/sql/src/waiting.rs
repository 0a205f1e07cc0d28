//! Waiting for what other nodes say.

use types::SqlResult;

use crate::errors::{interrupted, no_majority};
use crate::host::{Host, WaitEnd};
use crate::nodes::Asked;

/// Suspends the statement until the answer is there, or somebody interrupts it. What is asked ends by itself.
pub(crate) fn wait_for<T>(asked: Asked<T>, host: &dyn Host) -> SqlResult<T> {
    let mut answer = None;
    host.show_state("Waiting for other nodes");
    let end = {
        let waiting = std::pin::pin!(async { answer = Some(asked.await) });
        host.wait_interruptible(waiting, None)
    };
    host.show_state("");
    match (end, answer) {
        (WaitEnd::Interrupted(interrupt), _) => Err(interrupted(interrupt)),
        (_, Some(answer)) => Ok(answer),
        (_, None) => Err(no_majority()),
    }
}
