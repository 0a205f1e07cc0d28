//! `cjson`: JSON as the library lua-cjson 2.1.0 reads and writes it.

mod decode;
mod encode;

use crate::frame::{Frame, Kind, Native, Raised};
use crate::library::add;

/// What scripts may set; each finds what [`Default`] says.
#[derive(Debug, Clone, Copy)]
pub struct JsonSettings {
    sparse_to_object: bool,
    sparse_ratio: i32,
    sparse_safe: i32,
    encode_depth: i32,
    decode_depth: i32,
    precision: i32,
    keeps_buffer: bool,
    encodes_invalid: Invalid,
    decodes_invalid: bool,
}

/// What becomes of numbers that JSON does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Invalid {
    Error,
    Written,
    Null,
}

impl Default for JsonSettings {
    fn default() -> JsonSettings {
        JsonSettings {
            sparse_to_object: false,
            sparse_ratio: 2,
            sparse_safe: 10,
            encode_depth: 1000,
            decode_depth: 1000,
            precision: 14,
            keeps_buffer: true,
            encodes_invalid: Invalid::Error,
            decodes_invalid: true,
        }
    }
}

const FUNCTIONS: &[(&str, Native)] = &[
    ("encode", encode::encode),
    ("decode", decode::decode),
    ("encode_sparse_array", |frame| {
        arguments(frame, 3)?;
        let mut settings = frame.context().json.get();
        settings.sparse_to_object = flag(frame, 1, settings.sparse_to_object)?;
        settings.sparse_ratio = integer(frame, 2, settings.sparse_ratio, 0, i32::MAX)?;
        settings.sparse_safe = integer(frame, 3, settings.sparse_safe, 0, i32::MAX)?;
        frame.context().json.set(settings);
        frame.push_boolean(settings.sparse_to_object);
        frame.push_number(f64::from(settings.sparse_ratio));
        frame.push_number(f64::from(settings.sparse_safe));
        Ok(3)
    }),
    ("encode_max_depth", |frame| {
        set_integer(frame, |settings| &mut settings.encode_depth, i32::MAX)
    }),
    ("decode_max_depth", |frame| {
        set_integer(frame, |settings| &mut settings.decode_depth, i32::MAX)
    }),
    ("encode_number_precision", |frame| {
        set_integer(frame, |settings| &mut settings.precision, 14)
    }),
    ("encode_keep_buffer", |frame| {
        set_flag(frame, |settings| &mut settings.keeps_buffer)
    }),
    ("decode_invalid_numbers", |frame| {
        set_flag(frame, |settings| &mut settings.decodes_invalid)
    }),
    ("encode_invalid_numbers", |frame| {
        arguments(frame, 1)?;
        let mut settings = frame.context().json.get();
        settings.encodes_invalid = match (frame.kind(1), frame.argument(1)) {
            (Kind::None | Kind::Nil, _) => settings.encodes_invalid,
            (_, Some(b"null")) => Invalid::Null,
            _ => match flag(frame, 1, false)? {
                true => Invalid::Written,
                false => Invalid::Error,
            },
        };
        frame.context().json.set(settings);
        match settings.encodes_invalid {
            Invalid::Null => frame.push_bytes(b"null"),
            other => frame.push_boolean(other == Invalid::Written),
        }
        Ok(1)
    }),
    ("new", |frame| {
        frame.new_table(0, 16);
        fill(frame);
        Ok(1)
    }),
];

pub(crate) fn fill(frame: &mut Frame<'_>) {
    add(frame, FUNCTIONS);
    frame.push_null();
    frame.set_field(-2, "null");
    for (name, text) in [("_NAME", "cjson"), ("_VERSION", "2.1.0")] {
        frame.push_bytes(text.as_bytes());
        frame.set_field(-2, name);
    }
}

fn arguments(frame: &Frame<'_>, most: i32) -> Result<(), Raised> {
    match frame.args() <= most {
        true => Ok(()),
        false => Err(frame.bad_argument(most + 1, "found too many arguments")),
    }
}

fn integer(frame: &Frame<'_>, at: i32, now: i32, least: i32, most: i32) -> Result<i32, Raised> {
    if matches!(frame.kind(at), Kind::None | Kind::Nil) {
        return Ok(now);
    }
    let value = frame.check_number(at)?;
    match (f64::from(least)..=f64::from(most)).contains(&value) {
        true => Ok(value as i32),
        false => Err(frame.bad_argument(1, &format!("expected integer between {least} and {most}"))),
    }
}

fn flag(frame: &Frame<'_>, at: i32, now: bool) -> Result<bool, Raised> {
    match frame.kind(at) {
        Kind::None | Kind::Nil => Ok(now),
        Kind::Boolean => Ok(frame.boolean(at)),
        _ => match frame.check_bytes(at)? {
            b"on" => Ok(true),
            b"off" => Ok(false),
            other => Err(frame.bad_argument(at, &format!("invalid option '{}'", String::from_utf8_lossy(other)))),
        },
    }
}

fn set_integer(frame: &mut Frame<'_>, which: fn(&mut JsonSettings) -> &mut i32, most: i32) -> Result<i32, Raised> {
    arguments(frame, 1)?;
    let mut settings = frame.context().json.get();
    let value = integer(frame, 1, *which(&mut settings), 1, most)?;
    *which(&mut settings) = value;
    frame.context().json.set(settings);
    frame.push_number(f64::from(value));
    Ok(1)
}

fn set_flag(frame: &mut Frame<'_>, which: fn(&mut JsonSettings) -> &mut bool) -> Result<i32, Raised> {
    arguments(frame, 1)?;
    let mut settings = frame.context().json.get();
    let value = flag(frame, 1, *which(&mut settings))?;
    *which(&mut settings) = value;
    frame.context().json.set(settings);
    frame.push_boolean(value);
    Ok(1)
}
