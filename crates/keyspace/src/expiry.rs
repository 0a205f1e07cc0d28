//! When keys expire.

use redis_wire::number::parse_i64;

use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, not_integer};
use crate::work::Class;

/// How a point in time is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    pub in_seconds: bool,
    pub is_absolute: bool,
}

impl Unit {
    pub const SECONDS: Unit = Unit {
        in_seconds: true,
        is_absolute: false,
    };
    pub const MILLISECONDS: Unit = Unit {
        in_seconds: false,
        is_absolute: false,
    };

    /// The options EX, PX, EXAT, PXAT.
    pub fn of_option(option: &[u8]) -> Option<Unit> {
        let (in_seconds, is_absolute) = match option {
            option if is_word(option, "EX") => (true, false),
            option if is_word(option, "PX") => (false, false),
            option if is_word(option, "EXAT") => (true, true),
            option if is_word(option, "PXAT") => (false, true),
            _ => return None,
        };
        Some(Unit {
            in_seconds,
            is_absolute,
        })
    }
}

fn invalid(command: &str) -> Failure {
    Failure::Reply(format!("ERR invalid expire time in '{command}' command").into())
}

/// Milliseconds since 1970; an error where that is more than fits.
pub fn moment(arg: &[u8], unit: Unit, now_ms: i64, command: &str) -> Outcome<i64> {
    let value = parse_i64(arg).ok_or_else(not_integer)?;
    let ms = match unit.in_seconds {
        true => value.checked_mul(1000),
        false => Some(value),
    };
    let at = match unit.is_absolute {
        true => ms,
        false => ms.and_then(|ms| ms.checked_add(now_ms)),
    };
    at.ok_or_else(|| invalid(command))
}

/// As [`moment`], of a value that has to be more than zero.
pub fn positive(arg: &[u8], unit: Unit, now_ms: i64, command: &str) -> Outcome<i64> {
    let value = parse_i64(arg).ok_or_else(not_integer)?;
    match value > 0 {
        true => moment(arg, unit, now_ms, command),
        false => Err(invalid(command)),
    }
}

pub fn expire(call: &mut Call) -> Outcome {
    set(call, Unit::SECONDS, "expire")
}

pub fn pexpire(call: &mut Call) -> Outcome {
    set(call, Unit::MILLISECONDS, "pexpire")
}

pub fn expireat(call: &mut Call) -> Outcome {
    let unit = Unit {
        in_seconds: true,
        is_absolute: true,
    };
    set(call, unit, "expireat")
}

pub fn pexpireat(call: &mut Call) -> Outcome {
    let unit = Unit {
        in_seconds: false,
        is_absolute: true,
    };
    set(call, unit, "pexpireat")
}

#[derive(Default)]
struct Conditions {
    without: bool,
    with: bool,
    later: bool,
    earlier: bool,
}

fn conditions(call: &Call) -> Outcome<Conditions> {
    let mut found = Conditions::default();
    for &option in &call.args[3..] {
        match option {
            option if is_word(option, "NX") => found.without = true,
            option if is_word(option, "XX") => found.with = true,
            option if is_word(option, "GT") => found.later = true,
            option if is_word(option, "LT") => found.earlier = true,
            other => {
                return Err(Failure::naming("ERR Unsupported option {}", &[other]));
            }
        }
    }
    if found.without && (found.with || found.later || found.earlier) {
        return Err(Failure::reply(
            "ERR NX and XX, GT or LT options at the same time are not compatible",
        ));
    }
    if found.later && found.earlier {
        return Err(Failure::reply(
            "ERR GT and LT options at the same time are not compatible",
        ));
    }
    Ok(found)
}

fn set(call: &mut Call, unit: Unit, command: &str) -> Outcome {
    let conditions = conditions(call)?;
    let key = call.arg(1);
    let at = moment(call.arg(2), unit, call.work.now_ms, command)?;
    let db = call.db.clone();
    let Some(mut head) = call.work.head(&db, key) else {
        call.reply.integer(0);
        return Ok(());
    };
    let is_met = match head.expires_at {
        None => !conditions.with && !conditions.later,
        Some(now) => !conditions.without && (!conditions.later || at > now) && (!conditions.earlier || at < now),
    };
    if !is_met {
        call.reply.integer(0);
        return Ok(());
    }
    if at <= call.work.now_ms {
        call.work.remove(&db, key)?;
        call.note(Class::Generic, "del", key);
    } else {
        head.expires_at = Some(at);
        call.work.put(&db, key, head.as_ref())?;
        call.note(Class::Generic, "expire", key);
    }
    call.reply.integer(1);
    Ok(())
}

pub fn persist(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let db = call.db.clone();
    let head = call.work.head(&db, key).filter(|head| head.expires_at.is_some());
    let found = head.is_some();
    if let Some(mut head) = head {
        head.expires_at = None;
        call.work.put(&db, key, head.as_ref())?;
        call.note(Class::Generic, "persist", key);
    }
    call.reply.integer(i64::from(found));
    Ok(())
}

pub fn ttl(call: &mut Call) -> Outcome {
    tell(call, |at, now| (at - now + 500) / 1000)
}

pub fn pttl(call: &mut Call) -> Outcome {
    tell(call, |at, now| at - now)
}

pub fn expiretime(call: &mut Call) -> Outcome {
    tell(call, |at, _| (at + 500) / 1000)
}

pub fn pexpiretime(call: &mut Call) -> Outcome {
    tell(call, |at, _| at)
}

fn tell(call: &mut Call, tell: fn(i64, i64) -> i64) -> Outcome {
    let found = call.work.read(&call.db, call.args[1], |head| head.expires_at);
    call.reply.integer(match found {
        None => -2,
        Some(None) => -1,
        Some(Some(at)) => tell(at, call.work.now_ms),
    });
    Ok(())
}
