//! Bits of strings: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP. Bit 0 is the highest one of the first byte.

use std::ops::Range;

use redis_wire::number::parse_i64;

use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, syntax};
use crate::types::string::STRING_MAX;
use crate::work::Class;

/// Bytes that are looked at between two ticks.
const PIECE: usize = 64 << 10;

/// The position of a bit; with `#` in front, in fields of so many bits.
pub fn offset(arg: &[u8], width: Option<u32>) -> Outcome<u64> {
    let wrong = || Failure::reply("ERR bit offset is not an integer or out of range");
    let (digits, scale) = match (arg, width) {
        ([b'#', digits @ ..], Some(width)) => (digits, i64::from(width)),
        (digits, _) => (digits, 1),
    };
    let offset = parse_i64(digits).filter(|&offset| offset >= 0);
    let offset = offset.and_then(|offset| offset.checked_mul(scale)).ok_or_else(wrong)?;
    match (offset as u64) >> 3 < STRING_MAX as u64 {
        true => Ok(offset as u64),
        false => Err(wrong()),
    }
}

fn bit_of(bytes: &[u8], offset: u64) -> bool {
    let byte = bytes.get((offset >> 3) as usize).copied().unwrap_or(0);
    byte >> (7 - (offset & 7)) & 1 == 1
}

impl Call<'_, '_> {
    /// A string that is to have at least so many bytes.
    pub fn string_of_len(&self, key: &[u8], len: usize) -> Outcome<Vec<u8>> {
        let mut value = self.string(key)?.unwrap_or_default();
        if value.len() < len {
            governor::ensure(2 * len)?;
            value.resize(len, 0);
        }
        Ok(value)
    }
}

pub fn setbit(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let offset = offset(call.arg(2), None)?;
    let bit = match parse_i64(call.arg(3)) {
        Some(bit @ 0..=1) => bit == 1,
        _ => return Err(Failure::reply("ERR bit is not an integer or out of range")),
    };
    let at = (offset >> 3) as usize;
    let mut byte = call.padded_part(key, at..at + 1)?;
    let old = bit_of(&byte, offset & 7);
    let mask = 1 << (7 - (offset & 7));
    match bit {
        true => byte[0] |= mask,
        false => byte[0] &= !mask,
    }
    call.change_part(key, at, &byte)?;
    call.note(Class::String, "setbit", key);
    call.reply.integer(i64::from(old));
    Ok(())
}

pub fn getbit(call: &mut Call) -> Outcome {
    let offset = offset(call.arg(2), None)?;
    let at = (offset >> 3) as usize;
    let byte = call.padded_part(call.args[1], at..at + 1)?;
    call.reply.integer(i64::from(bit_of(&byte, offset & 7)));
    Ok(())
}

/// What a range of BITCOUNT or BITPOS counts.
fn is_in_bits(unit: Option<&&[u8]>) -> Outcome<bool> {
    match unit {
        None => Ok(false),
        Some(unit) if is_word(unit, "BIT") => Ok(true),
        Some(unit) if is_word(unit, "BYTE") => Ok(false),
        Some(_) => Err(syntax()),
    }
}

/// The bits that two positions mean, of which negative ones count from the end.
fn bits_between(bytes: usize, start: i64, end: i64, in_bits: bool) -> Range<u64> {
    let len = (bytes as i64) << if in_bits { 3 } else { 0 };
    let from_end = |at: i64| if at < 0 { at.saturating_add(len).max(0) } else { at };
    let (start, end) = (from_end(start), from_end(end).min(len - 1));
    match (start > end, in_bits) {
        (true, _) => 0..0,
        (false, true) => start as u64..end as u64 + 1,
        (false, false) => start as u64 * 8..(end as u64 + 1) * 8,
    }
}

/// A byte's bits within a range, the others are 0.
fn masked(bytes: &[u8], at: usize, range: &Range<u64>) -> u8 {
    let begin = at as u64 * 8;
    let mut byte = bytes[at];
    if range.start > begin {
        byte &= 0xff >> (range.start - begin);
    }
    if range.end < begin + 8 {
        byte &= !(0xff >> (range.end - begin));
    }
    byte
}

fn count(bytes: &[u8], range: &Range<u64>) -> Outcome<i64> {
    if range.is_empty() {
        return Ok(0);
    }
    let (first, last) = ((range.start >> 3) as usize, ((range.end - 1) >> 3) as usize);
    let mut ones = masked(bytes, first, range).count_ones() as i64;
    if last > first {
        ones += i64::from(masked(bytes, last, range).count_ones());
        for piece in bytes[first + 1..last].chunks(PIECE) {
            governor::tick()?;
            ones += piece.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>();
        }
    }
    Ok(ones)
}

pub fn bitcount(call: &mut Call) -> Outcome {
    // The key is looked for before its arguments.
    if call.with_string(call.args[1], |_| ())?.is_none() {
        call.reply.integer(0);
        return Ok(());
    }
    let limits = match call.args {
        [_, _] => None,
        [_, _, _, _] | [_, _, _, _, _] => Some((call.integer(2)?, call.integer(3)?)),
        _ => return Err(syntax()),
    };
    let in_bits = is_in_bits(call.args.get(4))?;
    let ones = call.with_string(call.args[1], |value| match limits {
        None => count(value, &(0..value.len() as u64 * 8)),
        Some((start, end)) if start < 0 && end < 0 && start > end => Ok(0),
        Some((start, end)) => count(value, &bits_between(value.len(), start, end, in_bits)),
    })?;
    call.reply.integer(ones.transpose()?.unwrap_or(0));
    Ok(())
}

/// The first bit of a range that is as wanted.
fn find(bytes: &[u8], wanted: bool, range: &Range<u64>) -> Outcome<Option<u64>> {
    if range.is_empty() {
        return Ok(None);
    }
    let uninteresting = if wanted { 0 } else { 0xff };
    let last = ((range.end - 1) >> 3) as usize;
    let mut at = (range.start >> 3) as usize;
    while at <= last {
        governor::tick()?;
        let end = last.min(at + PIECE);
        let found = bytes[at..=end].iter().position(|&byte| byte != uninteresting);
        let Some(skipped) = found else {
            at = end + 1;
            continue;
        };
        at += skipped;
        let begin = at as u64 * 8;
        let bits = begin.max(range.start)..(begin + 8).min(range.end);
        if let Some(bit) = bits.into_iter().find(|&bit| bit_of(bytes, bit) == wanted) {
            return Ok(Some(bit));
        }
        at += 1;
    }
    Ok(None)
}

pub fn bitpos(call: &mut Call) -> Outcome {
    let wanted = match parse_i64(call.arg(2)).ok_or_else(crate::failure::not_integer)? {
        bit @ 0..=1 => bit == 1,
        _ => return Err(Failure::reply("ERR The bit argument must be 1 or 0.")),
    };
    if call.with_string(call.args[1], |_| ())?.is_none() {
        call.reply.integer(if wanted { -1 } else { 0 });
        return Ok(());
    }
    if call.args.len() > 6 {
        return Err(syntax());
    }
    let start = match call.args.len() {
        3 => 0,
        _ => call.integer(3)?,
    };
    let in_bits = is_in_bits(call.args.get(5))?;
    let end = match call.args.len() {
        0..=4 => None,
        _ => Some(call.integer(4)?),
    };
    let found = call.with_string(call.args[1], |value| -> Outcome<i64> {
        let range = bits_between(value.len(), start, end.unwrap_or(-1), in_bits);
        let found = find(value, wanted, &range)?;
        Ok(match found {
            Some(bit) => bit as i64,
            // A string is followed by zeros without end, unless the client has said where it ends.
            None if !wanted && end.is_none() && !range.is_empty() => value.len() as i64 * 8,
            None => -1,
        })
    })?;
    call.reply.integer(found.transpose()?.unwrap_or(-1));
    Ok(())
}

pub fn bitop(call: &mut Call) -> Outcome {
    let (target, keys) = (call.arg(2), &call.args[3..]);
    let combine: fn(u8, u8) -> u8 = match call.arg(1) {
        name if is_word(name, "AND") => |a, b| a & b,
        name if is_word(name, "OR") => |a, b| a | b,
        name if is_word(name, "XOR") => |a, b| a ^ b,
        name if is_word(name, "NOT") => |a, _| !a,
        _ => return Err(syntax()),
    };
    if is_word(call.arg(1), "NOT") && keys.len() != 1 {
        return Err(Failure::reply("ERR BITOP NOT must be called with a single source key."));
    }
    let mut values = Vec::with_capacity(keys.len());
    for key in keys {
        values.push(call.string(key)?.unwrap_or_default());
    }
    let len = values.iter().map(Vec::len).max().unwrap_or(0);
    let db = call.db.clone();
    if len == 0 {
        if call.work.remove(&db, target)? {
            call.note(Class::Generic, "del", target);
        }
        call.reply.integer(0);
        return Ok(());
    }
    let mut values = values.into_iter();
    let mut result = values.next().unwrap_or_default();
    governor::ensure(2 * len)?;
    result.resize(len, 0);
    if is_word(call.arg(1), "NOT") {
        result.iter_mut().for_each(|byte| *byte = combine(*byte, 0));
    }
    for value in values {
        let (both, alone) = result.split_at_mut(value.len());
        for (result, value) in both.chunks_mut(PIECE).zip(value.chunks(PIECE)) {
            governor::tick()?;
            result
                .iter_mut()
                .zip(value)
                .for_each(|(byte, other)| *byte = combine(*byte, *other));
        }
        alone.iter_mut().for_each(|byte| *byte = combine(*byte, 0));
    }
    call.set_string(target, &result, None)?;
    call.note(Class::String, "set", target);
    call.reply.integer(len as i64);
    Ok(())
}
