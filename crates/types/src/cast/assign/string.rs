//! CHAR, VARCHAR, TEXT, BINARY, VARBINARY, BLOB.

use super::{data_truncated, too_long};
use crate::cast::{Context, Target};
use crate::charset::CharsetId;
use crate::error::{ErrorKind, SqlError, SqlResult};
use crate::sql_type::{SqlType, TypeKind};
use crate::value::{Bytes, Str, Value};
use std::borrow::Cow;

pub(super) fn text(value: Value, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let charset = ty.charset();
    let text: Str = match value {
        Value::Str(text) => text,
        Value::Bytes(bytes) => decode(&bytes, charset, target, cx)?,
        Value::Timestamp(v) => cx.zone.to_local(v).to_string().into(),
        Value::Double(v) => {
            let mut out = Vec::new();
            crate::number::write_double_within(v, ty.length as usize, &mut out);
            String::from_utf8(out).expect("numbers print as ASCII").into()
        }
        other => other.as_ref().text().into_owned().into(),
    };
    let text = match charset.first_foreign(&text) {
        Some(at) => {
            cx.complain(incorrect_string(&text.as_bytes()[at..], target))?;
            let known: String = text
                .chars()
                .map(|c| if charset.contains(c) { c } else { '?' })
                .collect();
            known.into()
        }
        None => text,
    };
    let text = fit(text, ty, target, cx)?;
    if ty.kind == TypeKind::Char && text.ends_with(' ') {
        return Ok(Value::from(text.trim_end_matches(' ')));
    }
    Ok(Value::Str(text))
}

/// Cuts to the column's length; spaces beyond it may go.
fn fit(text: Str, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Str> {
    let Some(end) = end_of_fitting(&text, ty) else {
        return Ok(text);
    };
    let only_spaces = text[end..].bytes().all(|b| b == b' ');
    match (only_spaces, ty.kind) {
        (true, TypeKind::Char) => {}
        (true, _) => cx.warnings.note(data_truncated(target)),
        (false, _) if cx.mode.strict => return Err(too_long(target)),
        (false, _) => cx.warnings.warn(data_truncated(target)),
    }
    Ok(Str::new(&text[..end]))
}

/// Where the column's length ends within the text; `None` if all of it fits.
fn end_of_fitting(text: &str, ty: &SqlType) -> Option<usize> {
    let limit = ty.length as usize;
    if text.len() <= limit {
        return None;
    }
    if matches!(ty.kind, TypeKind::Char | TypeKind::VarChar) {
        return text.char_indices().nth(limit).map(|(end, _)| end);
    }
    // TEXT counts bytes of its character set.
    let charset = ty.charset();
    let mut bytes = 0;
    text.char_indices().find_map(|(at, c)| {
        bytes += if charset.max_bytes_per_char() == 1 {
            1
        } else {
            c.len_utf8()
        };
        (bytes > limit).then_some(at)
    })
}

fn decode(bytes: &Bytes, charset: CharsetId, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Str> {
    let error = match charset.decode(bytes) {
        Ok(Cow::Borrowed(text)) => return Ok(Str::new(text)),
        Ok(Cow::Owned(text)) => return Ok(text.into()),
        Err(e) => e,
    };
    cx.complain(incorrect_string(&bytes[error.position..], target))?;
    let valid = charset.decode(&bytes[..error.position]).unwrap_or_default();
    Ok(valid.into_owned().into())
}

/// The first bytes of a string as messages show them: what is not printable as `\xHH`.
pub fn shown_start(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for &b in bytes.iter().take(6) {
        if (0x20..0x7f).contains(&b) {
            shown.push(b.into())
        } else {
            shown.push_str(&format!("\\x{b:02X}"))
        }
    }
    if bytes.len() > 6 {
        shown.push_str("...");
    }
    shown
}

/// 1366: `Incorrect string value: '\xE2\x82\xAC' for column 'c' at row 1`.
fn incorrect_string(rest: &[u8], target: Target<'_>) -> SqlError {
    let shown = shown_start(rest);
    let args: [&dyn std::fmt::Display; 4] = [&"string", &shown, &target.column, &target.row];
    SqlError::new(ErrorKind::TruncatedWrongValueForField, &args)
}

pub(super) fn binary(value: Value, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let bytes = match value {
        Value::Bytes(bytes) => bytes,
        Value::Str(text) => text.into_bytes(),
        Value::Timestamp(v) => cx.zone.to_local(v).to_string().into_bytes().into(),
        other => Bytes::new(&other.as_ref().text_bytes()),
    };
    let limit = ty.length as usize;
    if bytes.len() > limit {
        if cx.mode.strict {
            return Err(too_long(target));
        }
        cx.warnings.warn(data_truncated(target));
        return Ok(Value::Bytes(Bytes::new(&bytes[..limit])));
    }
    if ty.kind == TypeKind::Binary && bytes.len() < limit {
        let mut padded = bytes.to_vec();
        padded.resize(limit, 0);
        return Ok(Value::Bytes(padded.into()));
    }
    Ok(Value::Bytes(bytes))
}
