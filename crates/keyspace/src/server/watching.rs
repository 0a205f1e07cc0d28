//! What an operator asks: SLOWLOG, LATENCY, MEMORY, DEBUG.

use std::pin::pin;
use std::time::Duration;

use sql_api::host::WaitEnd;

use crate::call::is_word;
use crate::failure::{Failure, Outcome, not_float};
use crate::session::SessionCall;

pub fn slowlog_get(call: &mut SessionCall) -> Outcome {
    let most = match call.args.get(2) {
        None => 10,
        Some(count) => match redis_wire::number::parse_i64(count) {
            Some(-1) => usize::MAX,
            Some(count) if count >= 0 => usize::try_from(count).unwrap_or(usize::MAX),
            _ => return Err(Failure::reply("ERR count should be greater than or equal to -1")),
        },
    };
    let entries = call.session.keyspace.slowlog.newest(most);
    call.reply.array(entries.len());
    for entry in entries {
        call.reply.array(6);
        call.reply.integer(entry.id as i64);
        call.reply.integer(entry.at);
        call.reply.integer(entry.micros as i64);
        call.reply.array(entry.args.len());
        entry.args.iter().for_each(|arg| call.reply.bulk(arg));
        call.reply.bulk(entry.address.as_bytes());
        call.reply.bulk(&entry.name);
    }
    Ok(())
}

pub fn slowlog_len(call: &mut SessionCall) -> Outcome {
    call.reply.integer(call.session.keyspace.slowlog.len() as i64);
    Ok(())
}

pub fn slowlog_reset(call: &mut SessionCall) -> Outcome {
    call.session.keyspace.slowlog.clear();
    call.reply.ok();
    Ok(())
}

/// No events are sampled here.
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
