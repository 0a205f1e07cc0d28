//! Taking the members with the lowest or the highest scores.

use redis_wire::number::parse_i64;

use super::{Range, Scored};
use crate::call::{Call, is_word};
use crate::failure::{Failure, InVain, Outcome, syntax};
use crate::head::Kind;
use crate::types::generic::Several;
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
            call.work.remove_member(&db, Kind::SortedSet, &mut set, member)?;
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
        Some(_) => call.answer_scored(found.iter(), true),
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
        governor::tick()?;
        if let Some((member, score)) = take(call, key, from_top, 1)?.pop() {
            call.reply.array(3);
            call.reply.bulk(key);
            call.reply.bulk(&member);
            call.reply.double(score);
            return Ok(());
        }
    }
    block(call, Kind::SortedSet, keys, timeout, InVain::NullArray)
}

pub fn zmpop(call: &mut Call) -> Outcome {
    let several = Several::read(call, 1, is_top)?;
    if !pop_from_several(call, &several)? {
        call.reply.null_array();
    }
    Ok(())
}

pub fn bzmpop(call: &mut Call) -> Outcome {
    let several = Several::read(call, 2, is_top)?;
    let timeout = timeout(call.arg(1))?;
    match pop_from_several(call, &several)? {
        true => Ok(()),
        false => block(call, Kind::SortedSet, several.keys, timeout, InVain::NullArray),
    }
}

fn is_top(word: &[u8]) -> Outcome<bool> {
    match word {
        word if is_word(word, "MIN") => Ok(false),
        word if is_word(word, "MAX") => Ok(true),
        _ => Err(syntax()),
    }
}

fn pop_from_several(call: &mut Call, several: &Several<'_, bool>) -> Outcome<bool> {
    for &key in several.keys {
        governor::tick()?;
        let found = take(call, key, several.end, several.count)?;
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
