//! What an operator asks: SLOWLOG, LATENCY, MEMORY, DEBUG, ACL.

use std::pin::pin;
use std::time::Duration;

use sql_api::host::WaitEnd;
use sql_api::session::SessionAccount;

use crate::call::is_word;
use crate::failure::{Failure, Outcome, not_float};
use crate::session::SessionCall;

/// Nothing is kept here: the slow query log has what takes long.
pub fn slowlog_get(call: &mut SessionCall) -> Outcome {
    call.reply.array(0);
    Ok(())
}

pub fn slowlog_len(call: &mut SessionCall) -> Outcome {
    call.reply.integer(0);
    Ok(())
}

pub fn latency_none(call: &mut SessionCall) -> Outcome {
    call.reply.array(0);
    Ok(())
}

pub fn latency_reset(call: &mut SessionCall) -> Outcome {
    call.reply.integer(0);
    Ok(())
}

/// DEBUG SLEEP, and what tests of clients say before they begin.
pub fn debug(call: &mut SessionCall) -> Outcome {
    let what = call.args.get(1).copied().unwrap_or_default();
    match what {
        what if is_word(what, "SLEEP") && call.args.len() == 3 => {
            let seconds = redis_wire::number::parse_f64(call.args[2]).ok_or_else(not_float)?;
            let time = Duration::try_from_secs_f64(seconds).map_err(|_| not_float())?;
            let waited = call.host.wait_interruptible(pin!(std::future::pending()), Some(time));
            if let WaitEnd::Interrupted(interrupt) = waited {
                return Err(governor::Stop::Interrupt(interrupt).into());
            }
        }
        what if [
            "SET-ACTIVE-EXPIRE",
            "JMAP",
            "QUICKLIST-PACKED-THRESHOLD",
            "STRINGMATCH-LEN",
            "DICT-RESIZING",
        ]
        .iter()
        .any(|known| is_word(what, known)) => {}
        _ => return Err(Failure::reply("ERR DEBUG is not implemented, but for SLEEP")),
    }
    call.reply.ok();
    Ok(())
}

pub fn acl_whoami(call: &mut SessionCall) -> Outcome {
    let user = match &call.session.account {
        Some(SessionAccount::Account { user, .. }) => user.as_str(),
        Some(SessionAccount::Server) | None => "default",
    };
    call.reply.bulk(user.as_bytes());
    Ok(())
}
