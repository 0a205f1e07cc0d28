//! SCAN, HSCAN, SSCAN, ZSCAN: a walk in steps, between which its client holds a cursor ([`crate::cursors`]).
//!
//! Rows are walked in the order of their keys, which no change moves: whatever is there from the beginning to the end is returned.
//! Sorted sets are walked by member, since scores change.

use std::ops::{Bound, ControlFlow};

use redis_wire::Reply;
use store::{Direction, KeyRange};
use types::{IndexId, RowLayout, ValueRef};

use crate::call::{Call, is_word};
use crate::cursors::{Scope, cursor_of};
use crate::failure::{Failure, Outcome, syntax};
use crate::glob::Glob;
use crate::head::Kind;
use crate::tables::{Part, layout_of};
use crate::types::{hash, set, zset};

const COUNT: i64 = 10;
/// Collections with as few elements are returned whole, whatever COUNT says: as Redis does with what it keeps packed.
const WHOLE: u64 = 128;

struct ScanOptions<'c> {
    glob: Option<Glob>,
    count: usize,
    kind: Option<&'c [u8]>,
    without_values: bool,
}

/// Which options a command takes, beside MATCH and COUNT.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Type,
    NoValues,
    Neither,
}

fn options<'c>(call: &Call<'c, '_>, from: usize, takes: Takes) -> Outcome<ScanOptions<'c>> {
    let mut found = ScanOptions {
        glob: None,
        count: COUNT as usize,
        kind: None,
        without_values: false,
    };
    let mut options = call.options(from);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "MATCH") => {
                let pattern = options.value()?;
                found.glob = (pattern != b"*").then(|| Glob::new(pattern));
            }
            option if is_word(option, "COUNT") => {
                let count = options.integer()?;
                if count < 1 {
                    return Err(syntax());
                }
                found.count = usize::try_from(count).unwrap_or(usize::MAX);
            }
            option if takes == Takes::Type && is_word(option, "TYPE") => found.kind = Some(options.value()?),
            option if takes == Takes::NoValues && is_word(option, "NOVALUES") => found.without_values = true,
            _ => return Err(syntax()),
        }
    }
    Ok(found)
}

/// A number as C's `strtoul` takes it.
fn cursor(arg: &[u8]) -> Outcome<u64> {
    let (negative, digits) = match arg {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let invalid = || Failure::reply("ERR invalid cursor");
    if arg.is_empty() {
        return Ok(0);
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(invalid());
    }
    let value: u64 = std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(invalid)?;
    Ok(if negative { value.wrapping_neg() } else { value })
}

/// What a walk has come to.
enum Step {
    GoesOn,
    /// So many rows have been looked at as the client wants.
    Enough,
}

/// Where a walk of a part begins: behind the key that the cursor stands for.
fn begin(call: &Call, part: Part, index: IndexId, scope: Scope, all: KeyRange, cursor: u64) -> Outcome<KeyRange> {
    if cursor == 0 {
        return Ok(all);
    }
    let cursors = &call.work.keyspace.cursors;
    let mut last = cursors.find(scope, cursor);
    if last.is_none() {
        let forward = Direction::Forward;
        call.work
            .scan_range(&call.db, part, index, all.clone(), forward, |_, _, primary_key| {
                governor::tick()?;
                if cursor_of(scope, primary_key) != cursor {
                    return Ok(ControlFlow::Continue(()));
                }
                last = Some(primary_key.to_vec());
                Ok(ControlFlow::Break(()))
            })?;
    }
    Ok(match last {
        None => all,
        Some(last) => {
            let to = all.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let rest = KeyRange::between(Bound::Excluded(&last), to);
            match rest.from < all.from {
                // Of another pattern's walk.
                true => all,
                false => rest,
            }
        }
    })
}

/// Walks rows until the visitor has enough of them. The cursor to go on with.
fn walk(
    call: &Call,
    part: Part,
    scope: Scope,
    range: KeyRange,
    mut visit: impl FnMut(&RowLayout, &[u8]) -> Outcome<Step>,
) -> Outcome<u64> {
    let mut next = 0;
    let mut stopped_at = None;
    if range.is_empty() {
        return Ok(0);
    }
    let (index, forward) = (IndexId::PRIMARY, Direction::Forward);
    call.work
        .scan_range(&call.db, part, index, range, forward, |layout, row, primary_key| {
            // Only if there is more is there a cursor.
            if let Some(cursor) = stopped_at {
                next = cursor;
                return Ok(ControlFlow::Break(()));
            }
            if let Step::Enough = visit(layout, row)? {
                stopped_at = call.work.keyspace.cursors.remember(scope, primary_key);
            }
            Ok(ControlFlow::Continue(()))
        })?;
    Ok(next)
}

fn answer(reply: &mut Reply, cursor: u64) {
    reply.array(2);
    reply.bulk(cursor.to_string().as_bytes());
}

pub fn scan(call: &mut Call) -> Outcome {
    let cursor = cursor(call.args[1])?;
    let options = options(call, 2, Takes::Type)?;
    let scope = Scope {
        db: call.db.number,
        id: 0,
    };
    let all = match &options.glob {
        Some(glob) => glob.range(&call.db),
        None => KeyRange::all(),
    };
    let range = begin(call, Part::Keys, IndexId::PRIMARY, scope, all, cursor)?;
    let mut found = Reply::new(call.reply.protocol);
    let (mut keys, mut looked) = (0, 0);
    let next = walk(call, Part::Keys, scope, range, |layout, row| {
        looked += 1;
        if let Some((key, head)) = call.work.live_head(layout, row)
            && options
                .kind
                .is_none_or(|kind| kind.eq_ignore_ascii_case(head.kind.name().as_bytes()))
            && matches(&options, key)?
        {
            keys += 1;
            found.bulk(key);
        }
        Ok(match looked >= options.count {
            true => Step::Enough,
            false => Step::GoesOn,
        })
    })?;
    answer(call.reply, next);
    call.reply.array(keys);
    call.reply.bytes.extend_from_slice(&found.bytes);
    Ok(())
}

fn matches(options: &ScanOptions<'_>, text: &[u8]) -> Outcome<bool> {
    match &options.glob {
        Some(glob) => glob.matches(text),
        None => Ok(true),
    }
}

pub fn hscan(call: &mut Call) -> Outcome {
    scan_elements(
        call,
        Kind::Hash,
        Part::Hash,
        Takes::NoValues,
        |call, layout, row, with_values, glob, reply| {
            let field = hash::field_in(layout, row);
            if !hash::is_live(layout, row, call.work.now_ms) || !glob(field)? {
                return Ok(0);
            }
            reply.bulk(field);
            if with_values {
                reply.bulk(hash::value_in(layout, row));
            }
            Ok(1 + usize::from(with_values))
        },
    )
}

pub fn sscan(call: &mut Call) -> Outcome {
    scan_elements(
        call,
        Kind::Set,
        Part::Set,
        Takes::Neither,
        |_, layout, row, _, glob, reply| {
            let member = set::member_in(layout, row);
            if !glob(member)? {
                return Ok(0);
            }
            reply.bulk(member);
            Ok(1)
        },
    )
}

pub fn zscan(call: &mut Call) -> Outcome {
    scan_elements(
        call,
        Kind::SortedSet,
        Part::SortedSet,
        Takes::Neither,
        |_, layout, row, _, glob, reply| {
            let member = set::member_in(layout, row);
            if !glob(member)? {
                return Ok(0);
            }
            reply.bulk(member);
            // A string also where the protocol has numbers, as Redis has it.
            let mut score = Vec::new();
            redis_wire::number::write_f64(zset::score_in(layout, row), &mut score);
            reply.bulk(&score);
            Ok(2)
        },
    )
}

/// Writes what the client gets of a row, and says how many replies that is.
type Show = fn(&Call<'_, '_>, &RowLayout, &[u8], bool, &dyn Fn(&[u8]) -> Outcome<bool>, &mut Reply) -> Outcome<usize>;

fn scan_elements(call: &mut Call, kind: Kind, part: Part, takes: Takes, show: Show) -> Outcome {
    let cursor = cursor(call.args[2])?;
    let Some(collection) = call.work.collection(&call.db, call.args[1], kind)? else {
        answer(call.reply, 0);
        call.reply.array(0);
        return Ok(());
    };
    let mut options = options(call, 3, takes)?;
    let is_small = collection.len <= WHOLE;
    if is_small {
        options.count = usize::MAX;
    }
    let scope = Scope {
        db: call.db.number,
        id: collection.id,
    };
    let mut prefix = Vec::new();
    layout_of(call.db.table(part), IndexId::PRIMARY).encode_refs([ValueRef::UInt(collection.id)], &mut prefix);
    let all = KeyRange::of_prefix(prefix);
    // What has become small is returned whole as well: all of it may be new to the client.
    let range = match is_small {
        true => all,
        false => begin(call, part, IndexId::PRIMARY, scope, all, cursor)?,
    };
    let mut found = Reply::new(call.reply.protocol);
    let (mut elements, mut looked) = (0, 0);
    let next = walk(call, part, scope, range, |layout, row| {
        looked += 1;
        let glob = |text: &[u8]| matches(&options, text);
        elements += show(call, layout, row, !options.without_values, &glob, &mut found)?;
        Ok(match looked >= options.count {
            true => Step::Enough,
            false => Step::GoesOn,
        })
    })?;
    answer(call.reply, next);
    call.reply.array(elements);
    call.reply.bytes.extend_from_slice(&found.bytes);
    Ok(())
}
