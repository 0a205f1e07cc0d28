//! ENUM and SET.

use super::data_truncated;
use crate::cast::number::to_integer;
use crate::cast::{Context, Target};
use crate::error::{SqlResult, Warnings};
use crate::sql_type::SqlType;
use crate::value::{EnumValue, SetValue, Value, ValueRef};

/// By label, else by the number that the string is, else by number.
pub(super) fn enumeration(
    value: ValueRef<'_>,
    ty: &SqlType,
    target: Target<'_>,
    cx: &mut Context<'_>,
) -> SqlResult<Value> {
    let count = ty.labels.len() as u64;
    let index = match value {
        ValueRef::Enum(v) if v.labels == &ty.labels => u64::from(v.index),
        ValueRef::Str(_) | ValueRef::Bytes(_) | ValueRef::Enum(_) | ValueRef::Set(_) => {
            let text = value.text();
            let text = text.trim_end_matches(' ');
            match ty.labels.position(text, ty.collation) {
                Some(position) => position as u64 + 1,
                None => text.parse().unwrap_or(0),
            }
        }
        ValueRef::Date(_) | ValueRef::Time(_) | ValueRef::DateTime(_) | ValueRef::Timestamp(_) | ValueRef::Json(_) => {
            ty.labels
                .position(&value.text(), ty.collation)
                .map_or(0, |position| position as u64 + 1)
        }
        number => whole_number(number),
    };
    let valid = (1..=count).contains(&index);
    // The empty string of an earlier failed assignment may be copied.
    if !valid && !matches!(value, ValueRef::Enum(v) if v.index == 0) {
        cx.complain(data_truncated(target))?;
    }
    Ok(Value::Enum(EnumValue {
        index: if valid { index as u16 } else { 0 },
        labels: ty.labels.clone(),
    }))
}

/// By member names, else by the number that the string is, else by bits. Unknown members are dropped.
pub(super) fn set(value: ValueRef<'_>, ty: &SqlType, target: Target<'_>, cx: &mut Context<'_>) -> SqlResult<Value> {
    let all = match ty.labels.len() {
        64.. => u64::MAX,
        n => (1 << n) - 1,
    };
    let (bits, valid) = match value {
        ValueRef::Set(v) if v.labels == &ty.labels => (v.bits, true),
        ValueRef::Int(_)
        | ValueRef::UInt(_)
        | ValueRef::Decimal(_)
        | ValueRef::Double(_)
        | ValueRef::Float(_)
        | ValueRef::Bit(_)
        | ValueRef::Year(_) => {
            let bits = whole_number(value);
            (bits & all, bits & !all == 0)
        }
        text => {
            let text = text.text();
            let (bits, valid) = members(&text, ty);
            match text.trim().parse::<u64>() {
                Ok(number) if !valid && number & !all == 0 => (number, true),
                _ => (bits, valid),
            }
        }
    };
    if !valid {
        cx.complain(data_truncated(target))?;
    }
    Ok(Value::Set(SetValue {
        bits,
        labels: ty.labels.clone(),
    }))
}

/// Fractions are cut, not rounded.
fn whole_number(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Double(v) => v as i64 as u64,
        ValueRef::Float(v) => v as i64 as u64,
        ValueRef::Decimal(v) => v.to_f64() as i64 as u64,
        other => to_integer(other, &mut Warnings::with_limit(0)).as_u64(),
    }
}

/// The bits of the members that are known, and whether all are.
fn members(text: &str, ty: &SqlType) -> (u64, bool) {
    let text = text.trim_end_matches(' ');
    if text.is_empty() {
        return (0, true);
    }
    text.split(',').fold((0, true), |(bits, valid), name| {
        match ty.labels.position(name, ty.collation) {
            Some(position) => (bits | 1 << position, valid),
            None => (bits, false),
        }
    })
}
