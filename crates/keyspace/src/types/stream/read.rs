//! XRANGE, XREVRANGE, XREAD, XREADGROUP.

use std::ops::ControlFlow;
use std::time::Duration;

use redis_wire::number::parse_i64;
use redis_wire::{Protocol, Reply};
use store::Direction;

use super::group::{Group, Pending, UNKNOWN};
use super::{Stream, StreamId, answer_entry};
use crate::call::{Call, is_word};
use crate::failure::{Failure, InVain, Outcome, Turn, Wanted, syntax};

pub fn xrange(call: &mut Call) -> Outcome {
    range(call, Direction::Forward)
}

pub fn xrevrange(call: &mut Call) -> Outcome {
    range(call, Direction::Backward)
}

fn range(call: &mut Call, direction: Direction) -> Outcome {
    let (from, to) = match direction {
        Direction::Forward => (call.arg(2), call.arg(3)),
        Direction::Backward => (call.arg(3), call.arg(2)),
    };
    let range = (StreamId::parse_start(from)?, StreamId::parse_end(to)?);
    let mut most = None;
    let mut options = call.options(4);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "COUNT") && !options.is_empty() => most = Some(options.integer()?.max(0) as u64),
            _ => return Err(syntax()),
        }
    }
    let Some(stream) = call.stream(call.args[1])? else {
        call.reply.array(0);
        return Ok(());
    };
    if most == Some(0) {
        call.reply.null_array();
        return Ok(());
    }
    let most = most.unwrap_or(u64::MAX);
    stream.answer((call.work, &call.db), range, direction, most, call.reply, |_| {})?;
    Ok(())
}

/// What a read is told.
#[derive(Default)]
struct ReadOptions<'c> {
    /// Outer none: it does not wait. Inner none: for ever.
    timeout: Option<Option<Duration>>,
    /// Of each stream.
    most: u64,
    group: Option<(&'c [u8], &'c [u8])>,
    without_acknowledgement: bool,
    /// The position of the first key, and how many there are.
    keys: (usize, usize),
}

fn options<'c>(call: &Call<'c, '_>, of_group: bool) -> Outcome<ReadOptions<'c>> {
    let mut found = ReadOptions {
        most: u64::MAX,
        ..ReadOptions::default()
    };
    let mut options = call.options(1);
    while let Some(option) = options.next() {
        let left = options.rest().len();
        match option {
            option if is_word(option, "BLOCK") && left > 0 => {
                let ms = parse_i64(options.value()?);
                let ms = ms.ok_or_else(|| Failure::reply("ERR timeout is not an integer or out of range"))?;
                let Ok(ms) = u64::try_from(ms) else {
                    return Err(Failure::reply("ERR timeout is negative"));
                };
                found.timeout = Some((ms > 0).then(|| Duration::from_millis(ms)));
            }
            option if is_word(option, "COUNT") && left > 0 => {
                found.most = match options.integer()? {
                    ..=0 => u64::MAX,
                    count => count as u64,
                };
            }
            option if is_word(option, "STREAMS") && left > 0 => {
                if left % 2 == 1 {
                    let (command, symbol) = match of_group {
                        true => ("xreadgroup", '>'),
                        false => ("xread", '$'),
                    };
                    return Err(Failure::Reply(
                        format!(
                            "ERR Unbalanced '{command}' list of streams: for each stream key an ID or '{symbol}' must be specified."
                        )
                        .into(),
                    ));
                }
                found.keys = (call.args.len() - left, left / 2);
                break;
            }
            option if is_word(option, "GROUP") && left >= 2 => {
                if !of_group {
                    return Err(only_of_groups("GROUP"));
                }
                found.group = Some((options.value()?, options.value()?));
            }
            option if is_word(option, "NOACK") => {
                if !of_group {
                    return Err(only_of_groups("NOACK"));
                }
                found.without_acknowledgement = true;
            }
            _ => return Err(syntax()),
        }
    }
    if found.keys.1 == 0 {
        return Err(syntax());
    }
    if of_group && found.group.is_none() {
        return Err(Failure::reply("ERR Missing GROUP option for XREADGROUP"));
    }
    Ok(found)
}

fn only_of_groups(option: &str) -> Failure {
    Failure::Reply(format!("ERR The {option} option is only supported by XREADGROUP. You called XREAD instead.").into())
}

/// One of the streams that are read.
struct Source<'c> {
    key: &'c [u8],
    stream: Option<Stream>,
    group: Option<Group>,
    from: From,
}

/// From where on.
#[derive(Clone, Copy)]
enum From {
    /// Behind an id.
    After(StreamId),
    /// `>`: what no consumer of the group has got.
    New,
}

pub fn xread(call: &mut Call) -> Outcome {
    read(call, false)
}

pub fn xreadgroup(call: &mut Call) -> Outcome {
    read(call, true)
}

fn read(call: &mut Call, of_group: bool) -> Outcome {
    let options = options(call, of_group)?;
    let (first, count) = options.keys;
    let mut sources = Vec::with_capacity(count);
    let mut fixed = Vec::new();
    for at in first..first + count {
        governor::tick()?;
        let (key, arg) = (call.arg(at), call.arg(at + count));
        let stream = call.stream(key)?;
        let mut group = None;
        if let Some((name, _)) = options.group {
            group = stream
                .as_ref()
                .and_then(|stream| stream.group(call.work, &call.db, name));
            if group.is_none() {
                return Err(Failure::naming(
                    "NOGROUP No such key '{}' or consumer group '{}' in XREADGROUP with GROUP option",
                    &[key, name],
                ));
            }
        }
        let from = match arg {
            b"$" if of_group => {
                return Err(Failure::reply(
                    "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this consumer by \
                     specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set.",
                ));
            }
            b"$" => {
                let last = stream.as_ref().map_or(StreamId::MIN, |stream| stream.last);
                fixed.push((at + count, last.to_string().into_bytes()));
                From::After(last)
            }
            b">" if !of_group => {
                return Err(Failure::reply(
                    "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.",
                ));
            }
            b">" => From::New,
            arg => From::After(StreamId::parse(arg, 0)?),
        };
        sources.push(Source {
            key,
            stream,
            group,
            from,
        });
    }
    let (list, mut streams) = (call.reply.open(), 0);
    for source in &mut sources {
        let mut found = Reply::new(call.reply.protocol);
        let has_any = match options.group {
            Some((_, consumer)) => read_for(call, source, consumer, &options, &mut found)?,
            None => read_plainly(call, source, options.most, &mut found)?,
        };
        if has_any {
            streams += 1;
            if call.reply.protocol == Protocol::Resp2 {
                call.reply.array(2);
            }
            call.reply.bulk(source.key);
            call.reply.bytes.extend_from_slice(&found.bytes);
        }
    }
    if streams > 0 {
        call.reply.close(list, |reply| match reply.protocol {
            Protocol::Resp2 => reply.array(streams),
            Protocol::Resp3 => reply.map(streams),
        });
        return Ok(());
    }
    match options.timeout {
        Some(timeout) if call.may_block => Err(Failure::Blocks(Wanted {
            keys: sources.iter().map(|source| source.key.to_vec()).collect(),
            timeout,
            in_vain: InVain::NullArray,
            fixed,
            turn: match options.group {
                Some((group, _)) => Turn::OfGroup(group.to_vec()),
                None => Turn::Everybody,
            },
        })),
        _ => {
            call.reply.null_array();
            Ok(())
        }
    }
}

/// Whether there is anything for the reader: its list is written then.
fn read_plainly(call: &Call, source: &Source<'_>, most: u64, reply: &mut Reply) -> Outcome<bool> {
    let (Some(stream), From::After(id)) = (&source.stream, source.from) else {
        return Ok(false);
    };
    let Some(from) = id.next() else { return Ok(false) };
    let range = (from, StreamId::MAX);
    let entries = stream.answer((call.work, &call.db), range, Direction::Forward, most, reply, |_| {})?;
    Ok(entries > 0)
}

/// As [`read_plainly`], for a consumer of a group.
fn read_for(
    call: &mut Call,
    source: &mut Source<'_>,
    consumer: &[u8],
    options: &ReadOptions<'_>,
    reply: &mut Reply,
) -> Outcome<bool> {
    let db = call.db.clone();
    let (Some(stream), Some(group)) = (&source.stream, &mut source.group) else {
        return Ok(false);
    };
    let mut reader = group.seen_consumer(call.work, &db, source.key, consumer)?;
    let after = match source.from {
        From::After(id) => {
            history(call, stream, group, consumer, id, options.most, reply)?;
            return Ok(true);
        }
        From::New => group.last,
    };
    let Some(from) = after.next() else { return Ok(false) };
    let mut delivered = Vec::new();
    let range = (from, StreamId::MAX);
    stream.answer((call.work, &db), range, Direction::Forward, options.most, reply, |id| {
        delivered.push(id);
    })?;
    let Some(&last) = delivered.last() else {
        return Ok(false);
    };
    let first = stream.end(call.work, &db, Direction::Forward)?;
    for &id in &delivered {
        governor::tick()?;
        group.entries_read = match group.entries_read != UNKNOWN && !stream.has_gaps_from(id) {
            true => group.entries_read.saturating_add(1),
            false => stream.count_up_to(id, first).map_or(UNKNOWN, |count| count as i64),
        };
        if !options.without_acknowledgement {
            let pending = Pending {
                id,
                consumer: consumer.to_vec(),
                delivered_ms: call.work.now_ms,
                deliveries: 1,
            };
            group.put_pending(call.work, &db, &pending)?;
        }
    }
    group.last = last;
    group.save(call.work, &db)?;
    if !options.without_acknowledgement {
        reader.active_ms = call.work.now_ms;
    }
    group.save_consumer(call.work, &db, &reader)?;
    Ok(true)
}

/// What a consumer has got before and not acknowledged.
fn history(
    call: &mut Call,
    stream: &Stream,
    group: &Group,
    consumer: &[u8],
    after: StreamId,
    most: u64,
    reply: &mut Reply,
) -> Outcome {
    let db = call.db.clone();
    let mut again = Vec::new();
    if let Some(from) = after.next() {
        group.each_pending(call.work, &db, (from, StreamId::MAX), |pending| {
            if pending.consumer == consumer {
                again.push(pending);
            }
            Ok(match (again.len() as u64) < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
    }
    reply.array(again.len());
    for mut pending in again {
        governor::tick()?;
        let id = pending.id;
        let shown = stream.entry(call.work, &db, id, |fields| answer_entry(reply, id, fields));
        if shown.is_none() {
            // It has been deleted meanwhile.
            reply.array(2);
            id.answer(reply);
            reply.null_array();
            continue;
        }
        pending.delivered_ms = call.work.now_ms;
        pending.deliveries = pending.deliveries.wrapping_add(1);
        group.put_pending(call.work, &db, &pending)?;
    }
    Ok(())
}
