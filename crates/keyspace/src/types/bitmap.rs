//! Bits of strings: SETBIT, GETBIT, BITCOUNT, BITPOS, BITOP. Bit 0 is the highest one of the first byte.

use std::ops::{ControlFlow, Range};

use redis_wire::number::parse_i64;

use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, syntax};
use crate::types::string::STRING_MAX;
use crate::work::Class;

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

/// The bytes that the bits of a range are in.
fn bytes_of(range: &Range<u64>) -> Range<usize> {
    (range.start >> 3) as usize..range.end.div_ceil(8) as usize
}

/// The bits of the byte at a place that are within a range, the others are 0.
fn masked(mut byte: u8, at: usize, range: &Range<u64>) -> u8 {
    let begin = at as u64 * 8;
    if range.start > begin {
        byte &= 0xff >> (range.start - begin);
    }
    if range.end < begin + 8 {
        byte &= !(0xff >> (range.end - begin));
    }
    byte
}

/// How many bits within a range are set in bytes from a place on, all of which the range has a part in.
fn count(run: &[u8], at: usize, range: &Range<u64>) -> i64 {
    let masked = |byte: &u8, at| i64::from(masked(*byte, at, range).count_ones());
    match run {
        [] => 0,
        [only] => masked(only, at),
        [first, middle @ .., last] => {
            let within: i64 = middle.iter().map(|byte| i64::from(byte.count_ones())).sum();
            masked(first, at) + within + masked(last, at + run.len() - 1)
        }
    }
}

pub fn bitcount(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    // The key is looked for before its arguments.
    let Some(text) = call.text(key)? else {
        call.reply.integer(0);
        return Ok(());
    };
    let limits = match call.args {
        [_, _] => None,
        [_, _, _, _] | [_, _, _, _, _] => Some((call.integer(2)?, call.integer(3)?)),
        _ => return Err(syntax()),
    };
    let range = match limits {
        None => 0..text.len as u64 * 8,
        // Whatever they are counted in.
        Some((start, end)) if start < 0 && end < 0 && start > end => 0..0,
        Some((start, end)) => bits_between(text.len, start, end, is_in_bits(call.args.get(4))?),
    };
    let mut ones = 0;
    call.each_run(key, &text, bytes_of(&range), |at, run| {
        ones += count(run, at, &range);
        ControlFlow::Continue(())
    })?;
    call.reply.integer(ones);
    Ok(())
}

/// The first bit that is as wanted, within a range, of bytes from a place on.
fn find(run: &[u8], at: usize, wanted: bool, range: &Range<u64>) -> Option<u64> {
    let uninteresting = if wanted { 0 } else { 0xff };
    let interesting = run.iter().enumerate().filter(|(_, byte)| **byte != uninteresting);
    // The first one may have its bits outside of the range.
    interesting.take(2).find_map(|(beside, _)| {
        let begin = (at + beside) as u64 * 8;
        let mut bits = begin.max(range.start)..(begin + 8).min(range.end);
        bits.find(|bit| bit_of(&run[beside..], bit - begin) == wanted)
    })
}

pub fn bitpos(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let wanted = match parse_i64(call.arg(2)).ok_or_else(crate::failure::not_integer)? {
        bit @ 0..=1 => bit == 1,
        _ => return Err(Failure::reply("ERR The bit argument must be 1 or 0.")),
    };
    let Some(text) = call.text(key)? else {
        call.reply.integer(if wanted { -1 } else { 0 });
        return Ok(());
    };
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
    let range = bits_between(text.len, start, end.unwrap_or(-1), in_bits);
    let mut found = None;
    call.each_run(key, &text, bytes_of(&range), |at, run| {
        found = find(run, at, wanted, &range);
        match found {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    })?;
    call.reply.integer(match found {
        Some(bit) => bit as i64,
        // A string is followed by zeros without end, unless the client has said where it ends.
        None if !wanted && end.is_none() && !range.is_empty() => text.len as i64 * 8,
        None => -1,
    });
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
    let is_not = is_word(call.arg(1), "NOT");
    if is_not && keys.len() != 1 {
        return Err(Failure::reply("ERR BITOP NOT must be called with a single source key."));
    }
    let mut sources = Vec::with_capacity(keys.len());
    for &key in keys {
        governor::tick()?;
        sources.push((key, call.text(key)?));
    }
    if sources.iter().flat_map(|(_, text)| text).all(|text| text.len == 0) {
        let db = call.db.clone();
        if call.work.remove(&db, target)? {
            call.note(Class::Generic, "del", target);
        }
        call.reply.integer(0);
        return Ok(());
    }
    let len = call.combine_strings(target, &sources, |result, others| {
        for other in others {
            result
                .iter_mut()
                .zip(other)
                .for_each(|(byte, other)| *byte = combine(*byte, *other));
        }
        if is_not {
            result.iter_mut().for_each(|byte| *byte = combine(*byte, 0));
        }
    })?;
    call.note(Class::String, "set", target);
    call.reply.integer(len as i64);
    Ok(())
}
