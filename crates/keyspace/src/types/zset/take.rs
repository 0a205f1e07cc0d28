//! Taking the members with the lowest or the highest scores.

use redis_wire::number::parse_i64;

use super::{Range, Scored, remove};
use crate::call::{Call, is_word};
use crate::failure::{Failure, InVain, Outcome, syntax};
use crate::head::Kind;
use crate::types::generic::counted_keys;
use crate::types::list::{block, timeout};
use crate::work::Class;

fn take(call: &mut Call, key: &[u8], from_top: bool, count: i64) -> Outcome<Vec<Scored>> {
    let db = call.db.clone();
    let set = call.zset(key)?;
    let range = Range::Ranks(0, count.saturating_sub(1));
    let found = match count {
        0 => Vec::new(),
        _ => call.members_in(&set, &range, from_top, None)?,
    };
    if let Some(mut set) = set
        && !found.is_empty()
    {
        for (member, _) in &found {
            governor::tick()?;
            remove(call.work, &db, &mut set, member)?;
        }
        call.note(Class::SortedSet, if from_top { "zpopmax" } else { "zpopmin" }, key);
        call.work.save(&db, key, Kind::SortedSet, &set)?;
    }
    Ok(found)
}

pub fn zpopmin(call: &mut Call) -> Outcome {
    pop(call, false)
}

pub fn zpopmax(call: &mut Call) -> Outcome {
    pop(call, true)
}

fn pop(call: &mut Call, from_top: bool) -> Outcome {
    let count = match call.args.len() {
        2 => None,
        3 => {
            let count = parse_i64(call.args[2]).filter(|&count| count >= 0);
            Some(count.ok_or_else(|| Failure::reply("ERR value is out of range, must be positive"))?)
        }
        _ => return Err(syntax()),
    };
    let found = take(call, call.args[1], from_top, count.unwrap_or(1))?;
    match count {
        // One without a count is no pair, but two of a list.
        None => {
            call.reply.array(found.len() * 2);
            for (member, score) in &found {
                call.reply.bulk(member);
                call.reply.double(*score);
            }
            Ok(())
        }
        Some(_) => call.answer_scored(&found, true),
    }
}

pub fn bzpopmin(call: &mut Call) -> Outcome {
    blocking_pop(call, false)
}

pub fn bzpopmax(call: &mut Call) -> Outcome {
    blocking_pop(call, true)
}

fn blocking_pop(call: &mut Call, from_top: bool) -> Outcome {
    let (&last, keys) = call.args[1..].split_last().expect("the arity is checked");
    let timeout = timeout(last)?;
    for &key in keys {
        if let Some((member, score)) = take(call, key, from_top, 1)?.pop() {
            call.reply.array(3);
            call.reply.bulk(key);
            call.reply.bulk(&member);
            call.reply.double(score);
            return Ok(());
        }
    }
    block(call, keys, timeout, InVain::NullArray)
}

pub fn zmpop(call: &mut Call) -> Outcome {
    let (keys, from_top, count) = several(call, 1)?;
    if !pop_from_several(call, keys, from_top, count)? {
        call.reply.null_array();
    }
    Ok(())
}

pub fn bzmpop(call: &mut Call) -> Outcome {
    let (keys, from_top, count) = several(call, 2)?;
    let timeout = timeout(call.arg(1))?;
    match pop_from_several(call, keys, from_top, count)? {
        true => Ok(()),
        false => block(call, keys, timeout, InVain::NullArray),
    }
}

/// Keys, whether from the top, and how many are wanted.
fn several<'c>(call: &Call<'c, '_>, at: usize) -> Outcome<(&'c [&'c [u8]], bool, i64)> {
    let (keys, rest) = counted_keys(call, at).map_err(|failure| match &failure {
        Failure::Reply(text) if text.contains("greater than number of args") => syntax(),
        _ => failure,
    })?;
    let (&end, rest) = rest.split_first().ok_or_else(syntax)?;
    let from_top = match end {
        end if is_word(end, "MIN") => false,
        end if is_word(end, "MAX") => true,
        _ => return Err(syntax()),
    };
    let count = match rest {
        [] => 1,
        [option, count] if is_word(option, "COUNT") => {
            let count = parse_i64(count).filter(|&count| count > 0);
            count.ok_or_else(|| Failure::reply("ERR count should be greater than 0"))?
        }
        _ => return Err(syntax()),
    };
    Ok((keys, from_top, count))
}

fn pop_from_several(call: &mut Call, keys: &[&[u8]], from_top: bool, count: i64) -> Outcome<bool> {
    for &key in keys {
        let found = take(call, key, from_top, count)?;
        if !found.is_empty() {
            call.reply.array(2);
            call.reply.bulk(key);
            call.reply.array(found.len());
            for (member, score) in &found {
                call.reply.array(2);
                call.reply.bulk(member);
                call.reply.double(*score);
            }
            return Ok(true);
        }
    }
    Ok(false)
}
