//! `cmsgpack`: MessagePack as the library lua-cmsgpack 0.4.0 reads and writes it.
//!
//! The format: <https://github.com/msgpack/msgpack/blob/master/spec.md>.

use crate::frame::{Frame, Kind, Native, Raised};
use crate::library::add;

/// Tables that nest deeper are written as nil.
const NESTING_MAX: i32 = 16;

const FUNCTIONS: &[(&str, Native)] = &[
    ("pack", pack),
    ("unpack", |frame| unpack(frame, 0, 0)),
    ("unpack_one", |frame| {
        let offset = optional_integer(frame, 2)?;
        unpack(frame, 1, offset)
    }),
    ("unpack_limit", |frame| {
        let limit = frame.check_number(2)? as i64;
        let offset = optional_integer(frame, 3)?;
        unpack(frame, limit, offset)
    }),
];

pub(crate) fn fill(frame: &mut Frame<'_>) {
    add(frame, FUNCTIONS);
    for (name, text) in [
        ("_NAME", "cmsgpack"),
        ("_VERSION", "lua-cmsgpack 0.4.0"),
        ("_COPYRIGHT", "Copyright (C) 2012, Salvatore Sanfilippo"),
        ("_DESCRIPTION", "MessagePack C implementation for Lua"),
    ] {
        frame.push_bytes(text.as_bytes());
        frame.set_field(-2, name);
    }
}

fn optional_integer(frame: &Frame<'_>, at: i32) -> Result<i64, Raised> {
    match frame.kind(at) {
        Kind::None | Kind::Nil => Ok(0),
        _ => Ok(frame.check_number(at)? as i64),
    }
}

// --- writing ---

fn pack(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    if frame.args() == 0 {
        return Err(frame.bad_argument(0, "MessagePack pack needs input."));
    }
    let mut out = Vec::new();
    for at in 1..=frame.args() {
        frame.push_copy(at);
        write(frame, 0, &mut out)?;
        frame.pop(1);
    }
    frame.push_bytes(&out);
    Ok(1)
}

/// Writes the value on the top.
fn write(frame: &mut Frame<'_>, level: i32, out: &mut Vec<u8>) -> Result<(), Raised> {
    frame.tick()?;
    frame.ensure(out.len())?;
    match frame.kind(-1) {
        Kind::String => {
            let bytes = frame.bytes(-1).unwrap_or_default();
            frame.ensure(out.len() + bytes.len())?;
            match bytes.len() {
                len @ 0..32 => out.push(0xA0 | len as u8),
                len @ 0..=0xFF => out.extend_from_slice(&[0xD9, len as u8]),
                len => write_len(0xDA, len, out),
            }
            governor::bulk::append(out, bytes);
        }
        Kind::Boolean => out.push(if frame.boolean(-1) { 0xC3 } else { 0xC2 }),
        Kind::Number => write_number(frame.number(-1).unwrap_or_default(), out),
        Kind::Table if level < NESTING_MAX => {
            frame.reserve(4)?;
            match array_len(frame)? {
                Some(len) => {
                    write_short_len(0x90, 0xDC, len, out);
                    for index in 1..=len as i32 {
                        frame.get_index(-1, index);
                        write(frame, level + 1, out)?;
                        frame.pop(1);
                    }
                }
                None => {
                    let mut pairs = 0;
                    frame.for_each(-1, |frame| {
                        pairs += 1;
                        frame.tick()
                    })?;
                    write_short_len(0x80, 0xDE, pairs, out);
                    frame.for_each(-1, |frame| {
                        frame.push_copy(-2);
                        write(frame, level + 1, out)?;
                        frame.pop(1);
                        write(frame, level + 1, out)
                    })?;
                }
            }
        }
        _ => out.push(0xC0),
    }
    Ok(())
}

/// How many elements a table has whose keys are 1, 2, 3, …; none: it has others.
fn array_len(frame: &mut Frame<'_>) -> Result<Option<usize>, Raised> {
    let (mut max, mut count, mut is_array) = (0.0f64, 0usize, true);
    frame.for_each(-1, |frame| {
        let key = match frame.kind(-2) {
            Kind::Number => frame.number(-2).filter(|key| *key > 0.0 && key.fract() == 0.0),
            _ => None,
        };
        match key {
            Some(key) => max = max.max(key),
            None => is_array = false,
        }
        count += 1;
        frame.tick()
    })?;
    Ok((is_array && max == count as f64).then_some(count))
}

/// Two bytes, or four under the next tag.
fn write_len(tag: u8, len: usize, out: &mut Vec<u8>) {
    match u16::try_from(len) {
        Ok(len) => {
            out.push(tag);
            out.extend_from_slice(&len.to_be_bytes());
        }
        Err(_) => {
            out.push(tag + 1);
            out.extend_from_slice(&(len as u32).to_be_bytes());
        }
    }
}

fn write_short_len(short: u8, tag: u8, len: usize, out: &mut Vec<u8>) {
    match len {
        0..16 => out.push(short | len as u8),
        _ => write_len(tag, len, out),
    }
}

fn write_number(value: f64, out: &mut Vec<u8>) {
    // What fits into 64 bits with a sign; 2^63 does not.
    if value.fract() == 0.0 && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        return write_integer(value as i64, out);
    }
    match f64::from(value as f32) == value {
        true => {
            out.push(0xCA);
            out.extend_from_slice(&(value as f32).to_be_bytes());
        }
        false => {
            out.push(0xCB);
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
}

fn write_integer(value: i64, out: &mut Vec<u8>) {
    if (-32..=127).contains(&value) {
        return out.push(value as u8);
    }
    // The shortest that holds it: without a sign, if it has none.
    let is_negative = value < 0;
    let bits = 64 - (if is_negative { !value } else { value }).leading_zeros() + u32::from(is_negative);
    let (len, which) = match bits {
        0..=8 => (1, 0),
        9..=16 => (2, 1),
        17..=32 => (4, 2),
        _ => (8, 3),
    };
    out.push(which + if is_negative { 0xD0 } else { 0xCC });
    out.extend_from_slice(&value.to_be_bytes()[8 - len..]);
}

// --- reading ---

enum Wrong {
    Missing,
    Format,
    Raised(Raised),
}

impl From<Raised> for Wrong {
    fn from(raised: Raised) -> Wrong {
        Wrong::Raised(raised)
    }
}

/// Reads values from an offset on, `limit` at most; without both, all of them. Else the offset behind them comes first.
fn unpack(frame: &mut Frame<'_>, limit: i64, offset: i64) -> Result<i32, Raised> {
    let bytes = frame.check_bytes(1)?;
    if offset < 0 || limit < 0 {
        let text = format!(
            "Invalid request to unpack with offset of {offset} and limit of {}.",
            bytes.len()
        );
        return Err(frame.raise_here(&text));
    }
    if offset > bytes.len() as i64 {
        let text = format!("Start offset {offset} greater than input length {}.", bytes.len());
        return Err(frame.raise_here(&text));
    }
    let takes_all = limit == 0 && offset == 0;
    let mut rest = &bytes[offset as usize..];
    let mut count = 0;
    while !rest.is_empty() && (takes_all || count < limit) {
        frame.reserve(1)?;
        read(frame, &mut rest).map_err(|wrong| match wrong {
            Wrong::Missing => frame.raise_here("Missing bytes in input."),
            Wrong::Format => frame.raise_here("Bad data format in input."),
            Wrong::Raised(raised) => raised,
        })?;
        count += 1;
    }
    if !takes_all {
        let behind = bytes.len() - rest.len();
        frame.push_number(if rest.is_empty() { -1.0 } else { behind as f64 });
        let first = frame.top() - count as i32;
        frame.insert(first);
        count += 1;
    }
    Ok(count as i32)
}

fn take<'b>(rest: &mut &'b [u8], len: usize) -> Result<&'b [u8], Wrong> {
    let (taken, behind) = rest.split_at_checked(len).ok_or(Wrong::Missing)?;
    *rest = behind;
    Ok(taken)
}

fn take_number<const LEN: usize>(rest: &mut &[u8]) -> Result<[u8; LEN], Wrong> {
    let taken = take(rest, LEN)?;
    taken.try_into().map_err(|_| Wrong::Missing)
}

fn take_len(rest: &mut &[u8], width: usize) -> Result<usize, Wrong> {
    let taken = take(rest, width)?;
    Ok(taken.iter().fold(0, |len, byte| len << 8 | usize::from(*byte)))
}

/// Pushes the value at the beginning.
fn read(frame: &mut Frame<'_>, rest: &mut &[u8]) -> Result<(), Wrong> {
    frame.tick()?;
    let tag = take(rest, 1)?[0];
    match tag {
        0..=0x7F => frame.push_number(f64::from(tag)),
        0xE0..=0xFF => frame.push_number(f64::from(tag as i8)),
        0xA0..=0xBF => frame.push_bytes(take(rest, usize::from(tag & 0x1F))?),
        0xC0 => frame.push_nil(),
        0xC2 | 0xC3 => frame.push_boolean(tag == 0xC3),
        0xCA => frame.push_number(f64::from(f32::from_be_bytes(take_number(rest)?))),
        0xCB => frame.push_number(f64::from_be_bytes(take_number(rest)?)),
        0xCC => frame.push_number(f64::from(take(rest, 1)?[0])),
        0xCD => frame.push_number(f64::from(u16::from_be_bytes(take_number(rest)?))),
        0xCE => frame.push_number(f64::from(u32::from_be_bytes(take_number(rest)?))),
        0xCF => frame.push_number(u64::from_be_bytes(take_number(rest)?) as f64),
        0xD0 => frame.push_number(f64::from(take(rest, 1)?[0] as i8)),
        0xD1 => frame.push_number(f64::from(i16::from_be_bytes(take_number(rest)?))),
        0xD2 => frame.push_number(f64::from(i32::from_be_bytes(take_number(rest)?))),
        0xD3 => frame.push_number(i64::from_be_bytes(take_number(rest)?) as f64),
        0xC4..=0xC6 | 0xD9..=0xDB => {
            let width = match tag {
                0xC4 | 0xD9 => 1,
                0xC5 | 0xDA => 2,
                _ => 4,
            };
            let len = take_len(rest, width)?;
            frame.push_bytes(take(rest, len)?);
        }
        0x90..=0x9F => read_array(frame, rest, usize::from(tag & 0xF))?,
        0xDC | 0xDD => {
            let len = take_len(rest, if tag == 0xDC { 2 } else { 4 })?;
            read_array(frame, rest, len)?;
        }
        0x80..=0x8F => read_map(frame, rest, usize::from(tag & 0xF))?,
        0xDE | 0xDF => {
            let len = take_len(rest, if tag == 0xDE { 2 } else { 4 })?;
            read_map(frame, rest, len)?;
        }
        _ => return Err(Wrong::Format),
    }
    Ok(())
}

fn descend(frame: &Frame<'_>) -> Result<(), Wrong> {
    frame.reserve(4)?;
    governor::descend().map_err(|_| Wrong::Raised(frame.raise_here("in function mp_decode_to_lua_type")))
}

fn read_array(frame: &mut Frame<'_>, rest: &mut &[u8], len: usize) -> Result<(), Wrong> {
    descend(frame)?;
    frame.new_table(0, 0);
    for index in 1..=len {
        read(frame, rest)?;
        frame.set_index(-2, index as i32);
    }
    Ok(())
}

fn read_map(frame: &mut Frame<'_>, rest: &mut &[u8], len: usize) -> Result<(), Wrong> {
    descend(frame)?;
    frame.new_table(0, 0);
    for _ in 0..len {
        read(frame, rest)?;
        let is_key = match frame.kind(-1) {
            Kind::Nil => false,
            Kind::Number => frame.number(-1).is_some_and(|key| !key.is_nan()),
            _ => true,
        };
        if !is_key {
            return Err(Wrong::Format);
        }
        read(frame, rest)?;
        frame.set(-3);
    }
    Ok(())
}
