//! Strings cut, joined, repeated, padded, trimmed, turned.
//!
//! A function counts in characters, for binary strings in bytes; both go by the collation of the result.

use std::borrow::Cow;

use governor::bulk;
use types::charset::char_count;
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use super::args::{Args, Inference, string_type};
use super::{Function, at_least, between, exactly};
use crate::collation::Coercibility;
use crate::convert;

pub const FUNCTIONS: &[Function] = &[
    Function::strict("CONCAT", at_least(1), infer_concat, concat),
    Function::until("CONCAT_WS", at_least(2), infer_concat_ws, |at| at == 0, concat_ws),
    Function::strict("LEFT", exactly(2), infer_part, left),
    Function::strict("RIGHT", exactly(2), infer_part, right),
    Function::strict("SUBSTRING", between(2, 3), infer_substring, substring),
    Function::strict("SUBSTR", between(2, 3), infer_substring, substring),
    Function::strict("MID", exactly(3), infer_substring, substring),
    Function::strict("REPEAT", exactly(2), infer_repeat, repeat),
    Function::strict("SPACE", exactly(1), infer_space, space),
    Function::strict("LPAD", between(2, 3), infer_pad, lpad),
    Function::strict("RPAD", between(2, 3), infer_pad, rpad),
    Function::strict("TRIM", between(1, 2), infer_trim, |args| trim(args, true, true)),
    Function::strict("LTRIM", between(1, 2), infer_trim, |args| trim(args, true, false)),
    Function::strict("RTRIM", between(1, 2), infer_trim, |args| trim(args, false, true)),
    Function::strict("REVERSE", exactly(1), infer_part, reverse),
    Function::strict("UPPER", exactly(1), infer_part, upper),
    Function::strict("UCASE", exactly(1), infer_part, upper),
    Function::strict("LOWER", exactly(1), infer_part, lower),
    Function::strict("LCASE", exactly(1), infer_part, lower),
    Function::strict("INSERT", exactly(4), infer_insert, insert),
    Function::strict("LENGTH", exactly(1), infer_length, |args| {
        Ok(Value::Int(args.encoded(0).len() as i64))
    }),
    Function::strict("OCTET_LENGTH", exactly(1), infer_length, |args| {
        Ok(Value::Int(args.encoded(0).len() as i64))
    }),
    Function::strict("BIT_LENGTH", exactly(1), infer_length, |args| {
        Ok(Value::Int(args.encoded(0).len() as i64 * 8))
    }),
    Function::strict("CHAR_LENGTH", exactly(1), infer_length, char_length),
    Function::strict("CHARACTER_LENGTH", exactly(1), infer_length, char_length),
    Function::strict("BINARY", exactly(1), infer_binary, |args| {
        Ok(Value::Bytes(args.encoded(0).into_owned().into()))
    }),
];

fn infer_concat(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.mix_collations(0, usize::MAX)?;
    let chars = (0..inference.args.len()).map(|i| inference.chars(i)).sum();
    Ok(inference.nullable_as_args(string_type(chars, collation)))
}

fn concat(args: &Args<'_>) -> SqlResult<Value> {
    let parts = (0..args.len()).map(|i| args.string(i)).collect::<SqlResult<Vec<_>>>()?;
    joined(args, &parts, b"", "concat")
}

/// The parts with the separator between them; NULL where that is too long.
fn joined(args: &Args<'_>, parts: &[Cow<'_, [u8]>], separator: &[u8], function: &str) -> SqlResult<Value> {
    let gaps = parts.len().saturating_sub(1) * separator.len();
    let len = gaps + parts.iter().map(|part| part.len()).sum::<usize>();
    if args.too_long(function, len as u64)? {
        return Ok(Value::Null);
    }
    let mut out = Vec::with_capacity(len);
    for (i, part) in parts.iter().enumerate() {
        governor::tick()?;
        if i > 0 {
            bulk::append(&mut out, separator);
        }
        bulk::append(&mut out, part);
    }
    Ok(args.string_result(out))
}

fn infer_concat_ws(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.mix_collations(0, usize::MAX)?;
    let gaps = inference.args.len().saturating_sub(2) as u64;
    let chars = (1..inference.args.len()).map(|i| inference.chars(i)).sum::<u64>() + inference.chars(0) * gaps;
    let nullable = inference.args[0].ty.nullable;
    Ok(SqlType {
        nullable,
        ..string_type(chars, collation)
    })
}

/// NULLs after the separator are left out.
fn concat_ws(args: &Args<'_>) -> SqlResult<Value> {
    if args.is_null(0) {
        return Ok(Value::Null);
    }
    let parts = (1..args.len()).filter(|i| !args.is_null(*i)).map(|i| args.string(i));
    joined(
        args,
        &parts.collect::<SqlResult<Vec<_>>>()?,
        &args.string(0)?,
        "concat_ws",
    )
}

/// A result that is no longer than the first argument, and of its collation.
pub(super) fn infer_part(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.mix_collations(0, 1)?;
    let is_counted = matches!(inference.name, "LEFT" | "RIGHT");
    if is_counted {
        inference.hex_as_number(1);
    }
    let chars = match inference.literal(1) {
        // LEFT(x, 3) has at most three characters.
        Some(value) if is_counted => {
            let count = convert::to_i64(value, inference.ctx)?.max(0) as u64;
            inference.chars(0).min(count)
        }
        _ => inference.chars(0),
    };
    Ok(inference.nullable_as_args(string_type(chars, collation)))
}

/// As [`infer_part`]; constants say how much of it there may be.
fn infer_substring(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let ty = infer_part(inference)?;
    inference.hex_as_number(1);
    inference.hex_as_number(2);
    let mut chars = inference.chars(0);
    if let Some(start) = inference.literal(1) {
        chars = match convert::to_i64(start, inference.ctx)? {
            start @ ..0 if start.unsigned_abs() > chars => 0,
            start @ ..0 => start.unsigned_abs(),
            start => chars.saturating_sub(start.saturating_sub(1).max(0) as u64),
        };
    }
    if inference.args.len() == 3
        && let Some(count) = inference.literal(2)
    {
        chars = chars.min(convert::to_i64(count, inference.ctx)?.max(0) as u64);
    }
    let nullable = ty.nullable;
    Ok(SqlType {
        nullable,
        ..string_type(chars, ty.collation)
    })
}

/// The offset in bytes of the character at 0-based `index`; the end, if there are fewer.
fn offset_of(text: &[u8], index: usize, collation: CollationId) -> usize {
    collation.prefix(text, index).len()
}

fn left(args: &Args<'_>) -> SqlResult<Value> {
    let count = args.int(1)?.max(0) as usize;
    let text = args.string(0)?;
    Ok(args.string_result(bulk::copy(args.ty.collation.prefix(&text, count))))
}

fn right(args: &Args<'_>) -> SqlResult<Value> {
    let count = args.int(1)?.max(0) as usize;
    let text = args.string(0)?;
    let all = args.ty.collation.char_count(&text);
    let start = offset_of(&text, all.saturating_sub(count), args.ty.collation);
    Ok(args.string_result(bulk::copy(&text[start..])))
}

/// Positions count from 1, negative ones from the end; position 0 gives nothing.
fn substring(args: &Args<'_>) -> SqlResult<Value> {
    let position = args.int(1)?;
    let count = if args.len() == 3 { args.int(2)? } else { i64::MAX };
    let text = args.string(0)?;
    let collation = args.ty.collation;
    let start = match position {
        0 => return Ok(args.string_result(Vec::new())),
        1.. => usize::try_from(position - 1).unwrap_or(usize::MAX),
        _ => {
            let back = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
            match collation.char_count(&text).checked_sub(back) {
                Some(start) => start,
                None => return Ok(args.string_result(Vec::new())),
            }
        }
    };
    if count <= 0 {
        return Ok(args.string_result(Vec::new()));
    }
    let rest = &text[offset_of(&text, start, collation)..];
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    Ok(args.string_result(bulk::copy(collation.prefix(rest, count))))
}

fn infer_repeat(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.mix_collations(0, 1)?;
    inference.hex_as_number(1);
    let chars = match inference.literal(1) {
        Some(Value::Null) | None => u64::from(u32::MAX),
        Some(count) => inference
            .chars(0)
            .saturating_mul(convert::to_i64(&count.clone(), inference.ctx)?.max(0) as u64),
    };
    Ok(SqlType {
        nullable: true,
        ..string_type(chars, collation)
    })
}

fn repeat(args: &Args<'_>) -> SqlResult<Value> {
    let count = args.int(1)?.max(0) as u64;
    let text = args.string(0)?;
    let bytes = count.saturating_mul(text.len() as u64);
    if bytes == 0 {
        return Ok(args.string_result(Vec::new()));
    }
    if args.too_long("repeat", bytes)? {
        return Ok(Value::Null);
    }
    Ok(args.string_result(bulk::repeat(&text, count as usize)))
}

fn infer_space(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_number(0);
    let chars = match inference.literal(0) {
        Some(Value::Null) | None => u64::from(u32::MAX),
        Some(count) => convert::to_i64(&count.clone(), inference.ctx)?.max(0) as u64,
    };
    let ty = inference.connection_text(chars);
    Ok(SqlType { nullable: true, ..ty })
}

fn space(args: &Args<'_>) -> SqlResult<Value> {
    let count = args.int(0)?.max(0) as u64;
    if args.too_long("space", count)? {
        return Ok(Value::Null);
    }
    Ok(args.string_result(bulk::repeat(b" ", count as usize)))
}

fn infer_pad(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.first_collation()?;
    inference.hex_as_number(1);
    let chars = match inference.literal(1) {
        Some(Value::Null) | None => u64::from(u32::MAX),
        Some(count) => convert::to_i64(&count.clone(), inference.ctx)?.max(0) as u64,
    };
    Ok(SqlType {
        nullable: true,
        ..string_type(chars, collation)
    })
}

/// The text cut to the length, or the padding that it lacks; `None` for NULL.
fn padding(args: &Args<'_>, name: &str) -> SqlResult<Option<(Vec<u8>, Vec<u8>)>> {
    let collation = args.ty.collation;
    let length = args.int(1)?;
    if length < 0 {
        return Ok(None);
    }
    let text = args.string(0)?;
    let pad = if args.len() == 3 {
        args.string(2)?
    } else {
        b" ".as_slice().into()
    };
    let have = collation.char_count(&text) as u64;
    let want = length as u64;
    if want <= have {
        return Ok(Some((bulk::copy(collation.prefix(&text, want as usize)), Vec::new())));
    }
    let pad_chars = collation.char_count(&pad) as u64;
    if pad_chars == 0 {
        // Nothing to pad with: the text stays as it is.
        return Ok(Some((text.into_owned(), Vec::new())));
    }
    let missing = want - have;
    let bytes = (text.len() as u64).saturating_add(missing.div_ceil(pad_chars).saturating_mul(pad.len() as u64));
    if args.too_long(name, bytes)? {
        return Ok(None);
    }
    let mut out = bulk::repeat(&pad, (missing / pad_chars) as usize);
    bulk::append(&mut out, collation.prefix(&pad, (missing % pad_chars) as usize));
    Ok(Some((bulk::copy(&text), out)))
}

fn lpad(args: &Args<'_>) -> SqlResult<Value> {
    Ok(padding(args, "lpad")?.map_or(Value::Null, |(text, mut padding)| {
        bulk::append(&mut padding, &text);
        args.string_result(padding)
    }))
}

fn rpad(args: &Args<'_>) -> SqlResult<Value> {
    Ok(padding(args, "rpad")?.map_or(Value::Null, |(mut text, padding)| {
        bulk::append(&mut text, &padding);
        args.string_result(text)
    }))
}

fn infer_trim(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.first_collation()?;
    Ok(inference.nullable_as_args(string_type(inference.chars(0), collation)))
}

/// Whole copies of the second argument (a space) are taken off; it matches byte for byte.
fn trim(args: &Args<'_>, leading: bool, trailing: bool) -> SqlResult<Value> {
    let text = args.string(0)?;
    let remove = if args.len() == 2 {
        args.string(1)?
    } else {
        b" ".as_slice().into()
    };
    let mut rest: &[u8] = &text;
    if !remove.is_empty() {
        if leading {
            while let Some(shorter) = rest.strip_prefix(&*remove) {
                governor::tick()?;
                rest = shorter;
            }
        }
        if trailing {
            while let Some(shorter) = rest.strip_suffix(&*remove) {
                governor::tick()?;
                rest = shorter;
            }
        }
    }
    match rest.len() == text.len() {
        true => args.same_string(0),
        false => Ok(args.string_result(bulk::copy(rest))),
    }
}

fn reverse(args: &Args<'_>) -> SqlResult<Value> {
    if args.is_binary() {
        let bytes = args.string(0)?;
        let mut out = Vec::with_capacity(bytes.len());
        for piece in bytes.rchunks(bulk::PIECE) {
            governor::tick()?;
            out.extend(piece.iter().rev());
        }
        return Ok(args.string_result(out));
    }
    let text = args.text(0);
    let mut rest = &*text;
    let mut out = String::with_capacity(rest.len());
    while !rest.is_empty() {
        governor::tick()?;
        let (before, piece) = rest.split_at(rest.floor_char_boundary(rest.len().saturating_sub(bulk::PIECE)));
        out.extend(piece.chars().rev());
        rest = before;
    }
    Ok(args.text_result(out))
}

fn upper(args: &Args<'_>) -> SqlResult<Value> {
    match args.is_binary() {
        true => args.same_string(0),
        false => Ok(args.text_result(args.ty.collation.to_upper(&args.text(0)))),
    }
}

fn lower(args: &Args<'_>) -> SqlResult<Value> {
    match args.is_binary() {
        true => args.same_string(0),
        false => Ok(args.text_result(args.ty.collation.to_lower(&args.text(0)))),
    }
}

fn infer_insert(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.first_collation()?;
    let chars = inference.chars(0) + inference.chars(3);
    Ok(inference.nullable_as_args(string_type(chars, collation)))
}

/// A position outside of the string leaves it as it is; a length beyond its end, or negative, replaces all the rest.
fn insert(args: &Args<'_>) -> SqlResult<Value> {
    let collation = args.ty.collation;
    let (text, new) = (args.string(0)?, args.string(3)?);
    let (position, length) = (args.int(1)?, args.int(2)?);
    let all = collation.char_count(&text) as i64;
    if position < 1 || position > all {
        return args.same_string(0);
    }
    let start = offset_of(&text, (position - 1) as usize, collation);
    let left = all - (position - 1);
    let count = if (0..=left).contains(&length) { length } else { left };
    let end = start + offset_of(&text[start..], count as usize, collation);
    let bytes = text.len() as u64 + new.len() as u64;
    if args.too_long("insert", bytes)? {
        return Ok(Value::Null);
    }
    Ok(args.string_result(bulk::concat(&[&text[..start], &new, &text[end..]])))
}

fn infer_length(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(inference.nullable_as_args(SqlType {
        length: 10,
        ..SqlType::bigint()
    }))
}

fn char_length(args: &Args<'_>) -> SqlResult<Value> {
    let count = match args.is_binary_arg(0) {
        true => args.encoded(0).len(),
        false => char_count(args.text(0).as_bytes()),
    };
    Ok(Value::Int(count as i64))
}

fn infer_binary(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let arg = &inference.args[0];
    let bytes_per_char = match arg.ty.kind {
        kind if kind.is_text() => u64::from(arg.ty.charset().max_bytes_per_char()),
        TypeKind::Enum | TypeKind::Set => u64::from(arg.ty.charset().max_bytes_per_char()),
        _ => 1,
    };
    inference.coercibility = Some(if arg.coercibility == Coercibility::Ignorable {
        Coercibility::Ignorable
    } else {
        Coercibility::Implicit
    });
    let bytes = inference.chars(0) * bytes_per_char;
    Ok(inference.nullable_as_args(string_type(bytes, CollationId::BINARY)))
}
