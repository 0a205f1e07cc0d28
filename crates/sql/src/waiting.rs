//! Waiting for what other nodes say, and for time to pass.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use types::SqlResult;

use crate::errors::interrupted;
use crate::host::{Host, Interrupt, WaitEnd};
use crate::nodes::Asked;

/// Twice as long as a client may read nothing of what the node needs, and some time to give it back.
pub(crate) const ROOM_WITHIN: Duration = Duration::from_secs(3);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

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

/// Before a statement adds rows: where what clients do not read takes all room, it is free within a moment.
pub(crate) fn wait_for_room(host: &dyn Host) -> SqlResult<()> {
    if !governor::unread::makes_room() {
        return Ok(());
    }
    host.show_state("Waiting for memory");
    let mut looks = ROOM_WITHIN.as_millis() / BETWEEN_LOOKS.as_millis();
    let waited = loop {
        let waited = pause_for(BETWEEN_LOOKS, host);
        looks -= 1;
        if waited.is_err() || looks == 0 || !governor::unread::makes_room() {
            break waited;
        }
    };
    host.show_state("");
    waited
}

/// After a statement has found no room for its rows: whether some may come within a moment, which has passed then.
pub(crate) fn has_room_again(host: &dyn Host) -> SqlResult<bool> {
    if !governor::unread::may_make_room() {
        return Ok(false);
    }
    pause_for(BETWEEN_LOOKS, host)?;
    wait_for_room(host)?;
    Ok(true)
}

/// Suspends the statement for so long.
pub(crate) fn pause_for(time: Duration, host: &dyn Host) -> SqlResult<()> {
    match host.wait_interruptible(pin!(std::future::pending()), Some(time)) {
        WaitEnd::Interrupted(interrupt) => Err(interrupted(interrupt)),
        WaitEnd::Done | WaitEnd::TimedOut => Ok(()),
    }
}
