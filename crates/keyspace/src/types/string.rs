//! Strings: a value in the key's row, or in pieces ([`long`](super::long)).

use redis_wire::extended::Extended;
use redis_wire::number::{parse_i64, parse_wide};

use crate::call::{Call, is_word};
use crate::expiry::{self, Unit};
use crate::failure::{Failure, Outcome, not_integer, syntax};
use crate::head::HeadRef;
use crate::work::Class;

/// The longest string (`proto-max-bulk-len`).
pub const STRING_MAX: usize = 512 << 20;

impl Call<'_, '_> {
    /// Replies with a string's value, or with null; false: the key is not there.
    fn reply_string(&mut self, key: &[u8]) -> Outcome<bool> {
        let is_there = self.reply_part(key, |len| 0..len)?.is_some();
        if !is_there {
            self.reply.null();
        }
        Ok(is_there)
    }

    /// Gives a key another moment to expire at.
    fn expires(&mut self, key: &[u8], at: Option<i64>) -> Outcome {
        let db = self.db.clone();
        match self.work.head(&db, key) {
            Some(head) => self.work.put(
                &db,
                key,
                HeadRef {
                    expires_at: at,
                    ..head.as_ref()
                },
            ),
            None => Ok(()),
        }
    }
}

pub fn get(call: &mut Call) -> Outcome {
    call.reply_string(call.args[1])?;
    Ok(())
}

/// The options of SET and GETEX.
#[derive(Default)]
struct SetOptions {
    only_if: Option<bool>,
    gives_old: bool,
    keeps_expiry: bool,
    persists: bool,
    expires_at: Option<i64>,
}

fn set_options(call: &Call, from: usize, is_set: bool) -> Outcome<SetOptions> {
    let command = if is_set { "set" } else { "getex" };
    let mut found = SetOptions::default();
    let mut expiry = None;
    let mut options = call.options(from);
    while let Some(option) = options.next() {
        let unit = Unit::of_option(option);
        match unit {
            Some(unit) if expiry.is_none() && !found.keeps_expiry && !found.persists => {
                expiry = Some((unit, options.value()?));
            }
            None if is_set && is_word(option, "NX") && found.only_if != Some(true) => found.only_if = Some(false),
            None if is_set && is_word(option, "XX") && found.only_if != Some(false) => found.only_if = Some(true),
            None if is_set && is_word(option, "GET") => found.gives_old = true,
            None if is_set && is_word(option, "KEEPTTL") && expiry.is_none() => found.keeps_expiry = true,
            None if !is_set && is_word(option, "PERSIST") && expiry.is_none() => found.persists = true,
            _ => return Err(syntax()),
        }
    }
    if let Some((unit, value)) = expiry {
        // GETEX has nothing to say of a key that is not there, and says first that one is no string.
        let is_wanted = is_set || call.text(call.args[1])?.is_some();
        if is_wanted {
            found.expires_at = Some(expiry::positive(value, unit, call.work.now_ms, command)?);
        }
    }
    Ok(found)
}

pub fn set(call: &mut Call) -> Outcome {
    let (key, value) = (call.arg(1), call.arg(2));
    let options = set_options(call, 3, true)?;
    if options.gives_old {
        call.reply_string(key)?;
    }
    let exists = options.only_if.is_some_and(|_| call.work.kind(&call.db, key).is_some());
    if options.only_if.is_some_and(|wanted| wanted != exists) {
        if !options.gives_old {
            call.reply.null();
        }
        return Ok(());
    }
    let expires_at = match options.keeps_expiry {
        true => call.work.read(&call.db, key, |head| head.expires_at).flatten(),
        false => options.expires_at,
    };
    call.set_string(key, value, expires_at)?;
    call.note(Class::String, "set", key);
    if options.expires_at.is_some() {
        call.note(Class::Generic, "expire", key);
    }
    if !options.gives_old {
        call.reply.ok();
    }
    Ok(())
}

pub fn setnx(call: &mut Call) -> Outcome {
    let (key, value) = (call.arg(1), call.arg(2));
    let exists = call.work.kind(&call.db, key).is_some();
    if !exists {
        call.set_string(key, value, None)?;
        call.note(Class::String, "set", key);
    }
    call.reply.integer(i64::from(!exists));
    Ok(())
}

pub fn setex(call: &mut Call) -> Outcome {
    set_for(call, Unit::SECONDS, "setex")
}

pub fn psetex(call: &mut Call) -> Outcome {
    set_for(call, Unit::MILLISECONDS, "psetex")
}

fn set_for(call: &mut Call, unit: Unit, command: &str) -> Outcome {
    let (key, value) = (call.arg(1), call.arg(3));
    let expires_at = expiry::positive(call.arg(2), unit, call.work.now_ms, command)?;
    call.set_string(key, value, Some(expires_at))?;
    call.note(Class::String, "set", key);
    call.note(Class::Generic, "expire", key);
    call.reply.ok();
    Ok(())
}

pub fn getset(call: &mut Call) -> Outcome {
    let (key, value) = (call.arg(1), call.arg(2));
    call.reply_string(key)?;
    call.set_string(key, value, None)?;
    call.note(Class::String, "set", key);
    Ok(())
}

pub fn getdel(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    if call.reply_string(key)? {
        let db = call.db.clone();
        call.work.remove(&db, key)?;
        call.note(Class::Generic, "del", key);
    }
    Ok(())
}

pub fn getex(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let options = set_options(call, 2, false)?;
    if !call.reply_string(key)? {
        return Ok(());
    }
    if let Some(at) = options.expires_at {
        match at <= call.work.now_ms {
            true => {
                let db = call.db.clone();
                call.work.remove(&db, key)?;
                call.note(Class::Generic, "del", key);
            }
            false => {
                call.expires(key, Some(at))?;
                call.note(Class::Generic, "expire", key);
            }
        }
    } else if options.persists
        && call
            .work
            .read(&call.db, key, |head| head.expires_at)
            .flatten()
            .is_some()
    {
        call.expires(key, None)?;
        call.note(Class::Generic, "persist", key);
    }
    Ok(())
}

pub fn mget(call: &mut Call) -> Outcome {
    let db = call.db.clone();
    call.reply.array(call.args.len() - 1);
    for key in db.ahead(&call.args[1..]) {
        governor::tick()?;
        match call.reply_string(key) {
            Err(failure) if failure.is_wrong_type() => call.reply.null(),
            done => {
                done?;
            }
        }
    }
    Ok(())
}

pub fn mset(call: &mut Call) -> Outcome {
    set_pairs(call, "mset")?;
    call.reply.ok();
    Ok(())
}

pub fn msetnx(call: &mut Call) -> Outcome {
    let pairs = &call.args[1..];
    if pairs.len() % 2 == 1 {
        return Err(crate::failure::wrong_number_of_arguments("msetnx"));
    }
    let mut is_free = true;
    for pair in pairs.chunks(2) {
        governor::tick()?;
        is_free &= call.work.kind(&call.db, pair[0]).is_none();
    }
    if is_free {
        set_pairs(call, "msetnx")?;
    }
    call.reply.integer(i64::from(is_free));
    Ok(())
}

fn set_pairs(call: &mut Call, command: &str) -> Outcome {
    let pairs = &call.args[1..];
    if pairs.len() % 2 == 1 {
        return Err(crate::failure::wrong_number_of_arguments(command));
    }
    for pair in pairs.chunks(2) {
        governor::tick()?;
        call.set_string(pair[0], pair[1], None)?;
        call.note(Class::String, "set", pair[0]);
    }
    Ok(())
}

pub fn strlen(call: &mut Call) -> Outcome {
    let text = call.text(call.args[1])?;
    call.reply.integer(text.map_or(0, |text| text.len) as i64);
    Ok(())
}

pub fn append(call: &mut Call) -> Outcome {
    let (key, tail) = (call.arg(1), call.arg(2));
    let before = call.text(key)?.map_or(0, |text| text.len);
    check_len(before, tail.len())?;
    let len = call.change_part(key, before, tail)?;
    call.note(Class::String, "append", key);
    call.reply.integer(len as i64);
    Ok(())
}

fn check_len(before: usize, more: usize) -> Outcome {
    match before.checked_add(more) {
        Some(len) if len <= STRING_MAX => Ok(()),
        _ => Err(Failure::reply(
            "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
        )),
    }
}

/// The part of a string that two positions mean, of which negative ones count from its end.
pub fn part_of(len: usize, start: i64, end: i64) -> std::ops::Range<usize> {
    let len = len as i64;
    if start < 0 && end < 0 && start > end {
        return 0..0;
    }
    let from_end = |at: i64| if at < 0 { (len + at).max(0) } else { at };
    let (start, end) = (from_end(start), from_end(end).min(len - 1));
    match start > end || len == 0 {
        true => 0..0,
        false => start as usize..end as usize + 1,
    }
}

pub fn getrange(call: &mut Call) -> Outcome {
    let (start, end) = (call.integer(2)?, call.integer(3)?);
    if call.reply_part(call.args[1], |len| part_of(len, start, end))?.is_none() {
        call.reply.bulk(b"");
    }
    Ok(())
}

pub fn setrange(call: &mut Call) -> Outcome {
    let (key, offset, part) = (call.arg(1), call.integer(2)?, call.arg(3));
    let Ok(offset) = usize::try_from(offset) else {
        return Err(Failure::reply("ERR offset is out of range"));
    };
    let old = call.text(key)?;
    if part.is_empty() {
        call.reply.integer(old.map_or(0, |old| old.len) as i64);
        return Ok(());
    }
    check_len(offset, part.len())?;
    let len = call.change_part(key, offset, part)?;
    call.note(Class::String, "setrange", key);
    call.reply.integer(len as i64);
    Ok(())
}

pub fn incr(call: &mut Call) -> Outcome {
    add(call, 1, "incrby")
}

pub fn decr(call: &mut Call) -> Outcome {
    add(call, -1, "decrby")
}

pub fn incrby(call: &mut Call) -> Outcome {
    let by = call.integer(2)?;
    add(call, by, "incrby")
}

pub fn decrby(call: &mut Call) -> Outcome {
    let by = call.integer(2)?;
    let by = by
        .checked_neg()
        .ok_or_else(|| Failure::reply("ERR decrement would overflow"))?;
    add(call, by, "decrby")
}

fn add(call: &mut Call, by: i64, event: &'static str) -> Outcome {
    let key = call.arg(1);
    let value = match call.with_short(key, parse_i64)? {
        None => 0,
        Some(value) => value.ok_or_else(not_integer)?,
    };
    let sum = value.checked_add(by);
    let sum = sum.ok_or_else(|| Failure::reply("ERR increment or decrement would overflow"))?;
    call.change_string(key, sum.to_string().as_bytes())?;
    call.note(Class::String, event, key);
    call.reply.integer(sum);
    Ok(())
}

pub fn incrbyfloat(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let value = call.with_short(key, <[u8]>::to_vec)?;
    let text = float_sum(value.as_deref(), call.arg(2), "ERR value is not a valid float")?;
    call.change_string(key, &text)?;
    call.note(Class::String, "incrbyfloat", key);
    call.reply.bulk(&text);
    Ok(())
}

/// What is as long is no number to Redis (`MAX_LONG_DOUBLE_CHARS`).
const FLOAT_TEXT_MAX: usize = 5 << 10;

/// What a value, 0 if there is none, and an increment make, as text.
pub fn float_sum(value: Option<&[u8]>, by: &[u8], not_a_number: &'static str) -> Outcome<Vec<u8>> {
    let infinite = || Failure::reply("ERR increment would produce NaN or Infinity");
    let number = |text: &[u8], wrong: &'static str| match Extended::parse(text) {
        _ if text.len() >= FLOAT_TEXT_MAX => Err(Failure::reply(wrong)),
        Some(number) => Ok(number),
        None if parse_wide(text).is_some_and(f64::is_infinite) => Err(infinite()),
        None => Err(Failure::reply(wrong)),
    };
    let value = number(value.unwrap_or(b"0"), not_a_number)?;
    let by = number(by, "ERR value is not a valid float")?;
    Ok(value.plus(&by).text().into_bytes())
}

pub fn lcs(call: &mut Call) -> Outcome {
    let len_of = |key: &[u8]| match call.text(key) {
        Err(_) => Err(Failure::reply("ERR The specified keys must contain string values")),
        Ok(text) => Ok(text.map_or(0, |text| text.len)),
    };
    let (len_a, len_b) = (len_of(call.args[1])?, len_of(call.args[2])?);
    let (mut wants_len, mut wants_places, mut min_len, mut with_len) = (false, false, 0, false);
    let mut options = call.options(3);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "LEN") => wants_len = true,
            option if is_word(option, "IDX") => wants_places = true,
            option if is_word(option, "WITHMATCHLEN") => with_len = true,
            option if is_word(option, "MINMATCHLEN") => min_len = options.integer()?.max(0) as usize,
            _ => return Err(syntax()),
        }
    }
    if wants_len && wants_places {
        return Err(Failure::reply(
            "ERR If you want both the length and indexes, please just use IDX.",
        ));
    }
    // The table of lengths is larger than the strings.
    table_len(len_a, len_b)?;
    let a = call.string(call.args[1])?.unwrap_or_default();
    let b = call.string(call.args[2])?.unwrap_or_default();
    let found = common(&a, &b)?;
    let len: usize = found.iter().map(|place| place.len).sum();
    if wants_places {
        call.reply.map(2);
        call.reply.bulk(b"matches");
        let shown: Vec<&Place> = found.iter().rev().filter(|place| place.len >= min_len).collect();
        call.reply.array(shown.len());
        for place in shown {
            call.reply.array(2 + usize::from(with_len));
            for begin in [place.a, place.b] {
                call.reply.array(2);
                call.reply.integer(begin as i64);
                call.reply.integer((begin + place.len) as i64 - 1);
            }
            if with_len {
                call.reply.integer(place.len as i64);
            }
        }
        call.reply.bulk(b"len");
        call.reply.integer(len as i64);
    } else if wants_len {
        call.reply.integer(len as i64);
    } else {
        let text: Vec<u8> = found
            .iter()
            .flat_map(|place| &a[place.a..place.a + place.len])
            .copied()
            .collect();
        call.reply.bulk(&text);
    }
    Ok(())
}

/// Cells of a table that are filled between two ticks.
const CELLS: usize = 1024;

/// Equal bytes of two strings.
struct Place {
    a: usize,
    b: usize,
    len: usize,
}

/// How many lengths are compared to find what two strings of these lengths have in common.
fn table_len(a: usize, b: usize) -> Outcome<usize> {
    let cells = (a + 1)
        .checked_mul(b + 1)
        .filter(|&cells| cells <= STRING_MAX / size_of::<u32>());
    cells.ok_or_else(|| Failure::reply("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"))
}

/// The longest common subsequence, as pieces from the beginning on.
fn common(a: &[u8], b: &[u8]) -> Outcome<Vec<Place>> {
    let (width, cells) = (b.len() + 1, table_len(a.len(), b.len())?);
    let mut longest: Vec<u32> = Vec::new();
    governor::ensure(cells * size_of::<u32>())?;
    longest.resize(cells, 0);
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            if j % CELLS == 1 {
                governor::tick()?;
            }
            longest[i * width + j] = match a[i - 1] == b[j - 1] {
                true => longest[(i - 1) * width + j - 1] + 1,
                false => longest[(i - 1) * width + j].max(longest[i * width + j - 1]),
            };
        }
    }
    let (mut i, mut j) = (a.len(), b.len());
    let mut places: Vec<Place> = Vec::new();
    while i > 0 && j > 0 {
        if a[i - 1] == b[j - 1] {
            match places.last_mut() {
                Some(place) if place.a == i && place.b == j => {
                    place.a -= 1;
                    place.b -= 1;
                    place.len += 1;
                }
                _ => places.push(Place {
                    a: i - 1,
                    b: j - 1,
                    len: 1,
                }),
            }
            (i, j) = (i - 1, j - 1);
        } else if longest[(i - 1) * width + j] > longest[i * width + j - 1] {
            i -= 1;
        } else {
            j -= 1;
        }
    }
    places.reverse();
    Ok(places)
}
