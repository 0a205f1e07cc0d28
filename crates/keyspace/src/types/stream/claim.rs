//! XPENDING, XCLAIM, XAUTOCLAIM: what consumers have got and not acknowledged, and who takes it over.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::group::{Consumer, Group, Pending};
use super::groups::number;
use super::{Stream, StreamId, answer_entry};
use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, syntax};

/// Pending entries that XAUTOCLAIM looks at for each that it may return.
const ATTEMPTS: u64 = 10;

/// The group that the arguments name; an error where there is none.
fn named_group(call: &Call) -> Outcome<(Stream, Group)> {
    let (key, name) = (call.arg(1), call.arg(2));
    let found = call.stream(key)?.and_then(|stream| {
        let group = stream.group(call.work, &call.db, name)?;
        Some((stream, group))
    });
    found.ok_or_else(|| Failure::naming("NOGROUP No such key '{}' or consumer group '{}'", &[key, name]))
}

pub fn xpending(call: &mut Call) -> Outcome {
    let args = call.args;
    if args.len() == 3 {
        return summary(call);
    }
    if args.len() < 6 || args.len() > 9 {
        return Err(syntax());
    }
    let (mut at, mut idle_ms) = (3, 0);
    if is_word(args[3], "IDLE") {
        idle_ms = call.integer(4)?;
        if args.len() < 8 {
            return Err(syntax());
        }
        at = 5;
    }
    let most = call.integer(at + 2)?.max(0);
    let range = (StreamId::parse_start(args[at])?, StreamId::parse_end(args[at + 1])?);
    let wanted = args.get(at + 3).copied();
    let (_, group) = named_group(call)?;
    let (list, mut entries) = (call.reply.open(), 0);
    let (reply, now_ms) = (&mut *call.reply, call.work.now_ms);
    group.each_pending(call.work, &call.db, range, |pending| {
        if entries >= most {
            return Ok(ControlFlow::Break(()));
        }
        let elapsed = now_ms - pending.delivered_ms;
        if wanted.is_none_or(|wanted| wanted == pending.consumer) && (idle_ms == 0 || elapsed >= idle_ms) {
            reply.array(4);
            pending.id.answer(reply);
            reply.bulk(&pending.consumer);
            reply.integer(elapsed.max(0));
            reply.integer(pending.deliveries);
            entries += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    call.reply.close(list, |reply| reply.array(entries as usize));
    Ok(())
}

fn summary(call: &mut Call) -> Outcome {
    let (_, group) = named_group(call)?;
    let (mut first, mut last, mut count) = (None, None, 0);
    let mut consumers: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
    group.each_pending(call.work, &call.db, (StreamId::MIN, StreamId::MAX), |pending| {
        first = first.or(Some(pending.id));
        last = Some(pending.id);
        count += 1;
        *consumers.entry(pending.consumer).or_default() += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    let reply = &mut *call.reply;
    reply.array(4);
    reply.integer(count);
    match (first, last) {
        (Some(first), Some(last)) => {
            first.answer(reply);
            last.answer(reply);
            reply.array(consumers.len());
            for (name, count) in &consumers {
                reply.array(2);
                reply.bulk(name);
                reply.bulk_integer(*count);
            }
        }
        _ => {
            reply.null();
            reply.null();
            reply.null_array();
        }
    }
    Ok(())
}

#[derive(Default)]
struct ClaimOptions {
    delivered_ms: Option<i64>,
    deliveries: Option<i64>,
    makes: bool,
    only_ids: bool,
    last: StreamId,
}

fn claim_options(call: &Call, from: usize) -> Outcome<ClaimOptions> {
    let now_ms = call.work.now_ms;
    let mut found = ClaimOptions::default();
    let mut options = call.options(from);
    while let Some(option) = options.next() {
        let has_value = !options.is_empty();
        match option {
            option if is_word(option, "FORCE") => found.makes = true,
            option if is_word(option, "JUSTID") => found.only_ids = true,
            option if is_word(option, "IDLE") && has_value => {
                let idle_ms = number(options.value()?, "ERR Invalid IDLE option argument for XCLAIM")?;
                found.delivered_ms = Some(now_ms.wrapping_sub(idle_ms));
            }
            option if is_word(option, "TIME") && has_value => {
                found.delivered_ms = Some(number(options.value()?, "ERR Invalid TIME option argument for XCLAIM")?);
            }
            option if is_word(option, "RETRYCOUNT") && has_value => {
                let deliveries = number(options.value()?, "ERR Invalid RETRYCOUNT option argument for XCLAIM")?;
                found.deliveries = (deliveries >= 0).then_some(deliveries);
            }
            option if is_word(option, "LASTID") && has_value => found.last = StreamId::parse(options.value()?, 0)?,
            other => {
                return Err(Failure::naming("ERR Unrecognized XCLAIM option '{}'", &[other]));
            }
        }
    }
    Ok(found)
}

pub fn xclaim(call: &mut Call) -> Outcome {
    let name = call.arg(3);
    let (stream, mut group) = named_group(call)?;
    let idle_ms = number(call.arg(4), "ERR Invalid min-idle-time argument for XCLAIM")?;
    let ids: Vec<StreamId> = call.args[5..]
        .iter()
        .map_while(|arg| StreamId::parse(arg, 0).ok())
        .collect();
    let options = claim_options(call, 5 + ids.len())?;
    let db = call.db.clone();
    if options.last > group.last {
        group.last = options.last;
        group.save(call.work, &db)?;
    }
    let now_ms = call.work.now_ms;
    let delivered_ms = options
        .delivered_ms
        .filter(|at| (0..=now_ms).contains(at))
        .unwrap_or(now_ms);
    let mut consumer = group.seen_consumer(call.work, &db, call.args[1], name)?;
    let (list, mut claimed) = (call.reply.open(), 0);
    for id in ids {
        governor::tick()?;
        let known = group.pending_entry(call.work, &db, id);
        if stream.entry(call.work, &db, id, |_| ()).is_none() {
            // What has been deleted is not pending any more.
            if known.is_some() {
                group.acknowledge(call.work, &db, id)?;
            }
            continue;
        }
        let mut pending = match known {
            Some(pending) if idle_ms > 0 && now_ms - pending.delivered_ms < idle_ms => continue,
            Some(pending) => pending,
            None if options.makes => Pending {
                id,
                consumer: Vec::new(),
                delivered_ms,
                deliveries: 1,
            },
            None => continue,
        };
        pending.delivered_ms = delivered_ms;
        match options.deliveries {
            Some(deliveries) => pending.deliveries = deliveries,
            None => pending.deliveries = pending.deliveries.wrapping_add(i64::from(!options.only_ids)),
        }
        take_over(call, &stream, &group, &mut consumer, pending, options.only_ids)?;
        claimed += 1;
    }
    call.reply.close(list, |reply| reply.array(claimed));
    if claimed > 0 {
        group.save_consumer(call.work, &db, &consumer)?;
    }
    Ok(())
}

/// Gives a pending entry to a consumer, and answers it.
fn take_over(
    call: &mut Call,
    stream: &Stream,
    group: &Group,
    consumer: &mut Consumer,
    mut pending: Pending,
    only_ids: bool,
) -> Outcome {
    let db = call.db.clone();
    pending.consumer = consumer.name.clone();
    group.put_pending(call.work, &db, &pending)?;
    consumer.active_ms = call.work.now_ms;
    let (id, reply) = (pending.id, &mut *call.reply);
    match only_ids {
        true => id.answer(reply),
        false => {
            stream.entry(call.work, &db, id, |fields| answer_entry(reply, id, fields));
        }
    }
    Ok(())
}

pub fn xautoclaim(call: &mut Call) -> Outcome {
    let name = call.arg(3);
    let idle_ms = number(call.arg(4), "ERR Invalid min-idle-time argument for XAUTOCLAIM")?;
    let start = StreamId::parse_start(call.arg(5))?;
    let (mut count, mut only_ids) = (100, false);
    let mut options = call.options(6);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "COUNT") && !options.is_empty() => {
                let wanted = redis_wire::number::parse_i64(options.value()?);
                let wanted = wanted.filter(|count| (1..=i64::MAX / 16).contains(count));
                count = wanted.ok_or_else(|| Failure::reply("ERR COUNT must be > 0"))? as u64;
            }
            option if is_word(option, "JUSTID") => only_ids = true,
            _ => return Err(syntax()),
        }
    }
    let (stream, group) = named_group(call)?;
    let db = call.db.clone();
    let now_ms = call.work.now_ms;
    let mut consumer = group.seen_consumer(call.work, &db, call.args[1], name)?;
    // What is looked at, and where the next call begins.
    let (mut candidates, mut next, mut wanted) = (Vec::new(), StreamId::MIN, 0);
    let (mut attempts, work) = (count.saturating_mul(ATTEMPTS), &*call.work);
    group.each_pending(work, &db, (start, StreamId::MAX), |pending| {
        if attempts == 0 || wanted >= count {
            next = pending.id;
            return Ok(ControlFlow::Break(()));
        }
        attempts -= 1;
        let is_there = stream.entry(work, &db, pending.id, |_| ()).is_some();
        if !is_there || idle_ms <= 0 || now_ms - pending.delivered_ms >= idle_ms {
            wanted += 1;
            candidates.push((pending, is_there));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    call.reply.array(3);
    next.answer(call.reply);
    let (list, mut claimed, mut deleted) = (call.reply.open(), 0, Vec::new());
    for (mut pending, is_there) in candidates {
        governor::tick()?;
        if !is_there {
            group.acknowledge(call.work, &db, pending.id)?;
            deleted.push(pending.id);
            continue;
        }
        pending.delivered_ms = now_ms;
        pending.deliveries = pending.deliveries.wrapping_add(i64::from(!only_ids));
        take_over(call, &stream, &group, &mut consumer, pending, only_ids)?;
        claimed += 1;
    }
    call.reply.close(list, |reply| reply.array(claimed));
    call.reply.array(deleted.len());
    deleted.iter().for_each(|id| id.answer(call.reply));
    if claimed > 0 {
        group.save_consumer(call.work, &db, &consumer)?;
    }
    Ok(())
}
