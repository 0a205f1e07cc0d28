//! Integers, DECIMAL, FLOAT, DOUBLE, BIT.

use super::{data_truncated, incorrect, out_of_range, too_long};
use crate::cast::explicit::has_fixed_digits;
use crate::cast::number::{is_blank, rounded_temporal_number, to_decimal, to_f64, to_integer};
use crate::cast::{Context, Target};
use crate::decimal::Decimal;
use crate::error::{SqlError, SqlResult, Warnings};
use crate::number::{parse_double, parse_rounded_integer};
use crate::sql_type::{SqlType, TypeKind};
use crate::value::{Bit, Value, ValueRef};

pub(super) fn integer(value: ValueRef<'_>, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let (wide, flaw) = whole_number(value, target, cx);
    let (min, max) = ty.integer_range();
    let clamped = wide.clamp(min, max);
    // A negative number is out of range even where rounding makes it zero.
    let negative = ty.unsigned && matches!(value, ValueRef::Decimal(v) if v.is_negative());
    if clamped != wide || negative {
        cx.complain(out_of_range(target))?;
    } else if let Some(flaw) = flaw {
        cx.complain(flaw)?;
    }
    Ok(if ty.unsigned {
        Value::UInt(clamped as u64)
    } else {
        Value::Int(clamped as i64)
    })
}

/// The value rounded to an integer, and what is wrong with a text; beyond 64 bits anything that is out of every range.
fn whole_number(value: ValueRef<'_>, target: Target<'_>, cx: &mut Context<'_>) -> (i128, Option<SqlError>) {
    let mut flaw = None;
    let number = match value {
        ValueRef::Int(v) => v.into(),
        ValueRef::UInt(v) => v.into(),
        ValueRef::Float(v) => f64::from(v).round_ties_even() as i128,
        ValueRef::Double(v) => v.round_ties_even() as i128,
        ValueRef::Decimal(v) => {
            let beyond = if v.is_negative() { i128::MIN } else { i128::MAX };
            v.round(0)
                .ok()
                .and_then(Decimal::to_scaled)
                .map_or(beyond, |(whole, _)| whole)
        }
        ValueRef::Str(_) | ValueRef::Bytes(_) => {
            let text = value.text_bytes();
            let parsed = parse_rounded_integer(&text);
            if parsed.consumed == 0 {
                flaw = Some(incorrect("integer", value, target));
            } else if !is_blank(&text[parsed.consumed..]) {
                flaw = Some(data_truncated(target));
            }
            let magnitude = if parsed.overflow {
                i128::MAX
            } else {
                parsed.magnitude.into()
            };
            if parsed.negative { -magnitude } else { magnitude }
        }
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) => rounded_temporal_number(value).into(),
        ValueRef::Timestamp(v) => rounded_temporal_number(ValueRef::DateTime(cx.zone.to_local(v))).into(),
        other => to_integer(other, cx.warnings).as_i128(),
    };
    (number, flaw)
}

pub(super) fn decimal(value: ValueRef<'_>, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let (precision, scale) = (ty.length as u8, ty.decimals);
    let mut lost_digits = false;
    let exact = match value {
        ValueRef::Str(_) | ValueRef::Bytes(_) => {
            let text = value.text_bytes();
            let parsed = Decimal::parse_prefix(&text);
            let cut = !is_blank(&text[parsed.consumed..]);
            if parsed.consumed == 0 || (cut && cx.mode.strict) {
                cx.complain(incorrect("decimal", value, target))?;
            } else if cut {
                cx.warnings.note(data_truncated(target));
            }
            lost_digits = parsed.truncated;
            parsed.value
        }
        ValueRef::Json(_) => to_decimal(value, cx.warnings),
        other => to_decimal(other, &mut Warnings::with_limit(0)),
    };
    // A double beyond every decimal has become the greatest one, which may be the column's greatest value.
    let beyond = matches!(value, ValueRef::Double(v) if v.abs() >= 1e65);
    let limit = Decimal::max(precision, scale);
    let lowest = if ty.unsigned {
        Decimal::from_scaled(0, scale)
    } else {
        -limit
    };
    let rounded = exact
        .round(scale)
        .unwrap_or(if exact.is_negative() { lowest } else { limit });
    let clamped = rounded.clamp(lowest, limit);
    let negative = ty.unsigned && exact.is_negative();
    if clamped != rounded || negative || beyond || exact.integer_digits() > precision - scale {
        cx.complain(out_of_range(target))?;
    } else if lost_digits || rounded != exact {
        cx.warnings.note(data_truncated(target));
    }
    Ok(Value::Decimal(clamped))
}

pub(super) fn double(value: ValueRef<'_>, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let mut v = match value {
        ValueRef::Str(_) | ValueRef::Bytes(_) => {
            let text = value.text_bytes();
            let parsed = parse_double(&text);
            if parsed.overflow {
                cx.complain(out_of_range(target))?;
            } else if parsed.consumed == 0 || !is_blank(&text[parsed.consumed..]) {
                let name = if ty.kind == TypeKind::Float { "FLOAT" } else { "DOUBLE" };
                cx.complain(incorrect(name, value, target))?;
            }
            parsed.value
        }
        other => to_f64(other, cx.warnings),
    };
    let mut limit = if ty.kind == TypeKind::Float {
        f64::from(f32::MAX)
    } else {
        f64::MAX
    };
    if has_fixed_digits(ty) {
        limit = limit.min(Decimal::max(ty.length.min(65) as u8, ty.decimals).to_f64());
        if v.abs() <= limit {
            let unit = 10f64.powi(ty.decimals.into());
            v = (v.trunc() * unit + ((v - v.trunc()) * unit).round_ties_even()) / unit;
        }
    }
    let lowest = if ty.unsigned { 0.0 } else { -limit };
    let clamped = v.clamp(lowest, limit);
    if clamped != v {
        cx.complain(out_of_range(target))?;
    }
    // -0.0 is stored as 0.0: they are one value.
    Ok(if ty.kind == TypeKind::Float {
        Value::Float(clamped as f32 + 0.0)
    } else {
        Value::Double(clamped + 0.0)
    })
}

pub(super) fn bit(value: ValueRef<'_>, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let width = ty.length as u8;
    let all = u64::MAX >> (64 - width);
    let word = match value {
        ValueRef::Bit(v) => Some(v.value),
        // The bytes of a string are the bits.
        ValueRef::Str(_) | ValueRef::Bytes(_) | ValueRef::Enum(_) | ValueRef::Set(_) => {
            let bytes = value.text_bytes();
            let first = bytes.iter().position(|&b| b != 0).unwrap_or(bytes.len());
            let significant = &bytes[first..];
            (significant.len() <= 8).then(|| significant.iter().fold(0, |word, &b| word << 8 | u64::from(b)))
        }
        other => {
            let integer = to_integer(other, &mut Warnings::with_limit(0));
            Some(integer.as_u64())
        }
    };
    match word {
        Some(word) if word <= all => Ok(Value::Bit(Bit { value: word, width })),
        _ if cx.mode.strict => Err(too_long(target)),
        _ => {
            cx.warnings.warn(match cx.mode.ignores_errors {
                true => too_long(target),
                false => out_of_range(target),
            });
            Ok(Value::Bit(Bit { value: all, width }))
        }
    }
}
