//! Network addresses and UUIDs.

use std::net::{Ipv4Addr, Ipv6Addr};

use types::error::{ErrorKind, SqlError};
use types::{CollationId, SqlResult, SqlType, Value};

use super::args::{Args, Inference, string_type};
use super::text_format::lower_hex;
use super::{Function, between, exactly};

pub const FUNCTIONS: &[Function] = &[
    Function::strict(
        "INET_ATON",
        exactly(1),
        |_| {
            Ok(SqlType {
                length: 21,
                ..SqlType::bigint_unsigned()
            })
        },
        inet_aton,
    ),
    Function::strict("INET_NTOA", exactly(1), |i| infer_text(i, 15), inet_ntoa),
    Function::strict("INET6_ATON", exactly(1), |_| Ok(SqlType::varbinary(16)), inet6_aton),
    Function::strict("INET6_NTOA", exactly(1), |i| infer_text(i, 39), inet6_ntoa),
    Function::strict("IS_IPV4", exactly(1), infer_test, |args| {
        Ok(Value::from(parse_ipv4(&args.encoded(0)).is_some()))
    }),
    Function::strict("IS_IPV6", exactly(1), infer_test, |args| {
        Ok(Value::from(parse_ipv6(&args.encoded(0)).is_some()))
    }),
    Function::strict("IS_IPV4_COMPAT", exactly(1), infer_test, |args| {
        Ok(Value::from(ipv6_bytes(args).is_some_and(|b| {
            b[..12] == [0; 12] && u32::from_be_bytes([b[12], b[13], b[14], b[15]]) > 1
        })))
    }),
    Function::strict("IS_IPV4_MAPPED", exactly(1), infer_test, |args| {
        Ok(Value::from(
            ipv6_bytes(args).is_some_and(|b| b[..10] == [0; 10] && b[10..12] == [0xFF; 2]),
        ))
    }),
    Function::strict("UUID", exactly(0), |i| infer_not_null_text(i, 36), uuid).volatile(),
    Function::strict(
        "UUID_SHORT",
        exactly(0),
        |_| {
            Ok(SqlType {
                length: 21,
                ..SqlType::bigint_unsigned()
            }
            .not_null())
        },
        |args| Ok(Value::UInt(args.ctx.services.uuid_short())),
    )
    .volatile(),
    Function::strict("IS_UUID", exactly(1), infer_is_uuid, |args| {
        Ok(Value::from(parse_uuid(&args.text(0)).is_some()))
    }),
    Function::nullable(
        "UUID_TO_BIN",
        between(1, 2),
        |_| Ok(SqlType::varbinary(16)),
        uuid_to_bin,
    ),
    Function::nullable("BIN_TO_UUID", between(1, 2), |i| infer_text(i, 36), bin_to_uuid),
];

fn infer_text(inference: &mut Inference<'_>, chars: u64) -> SqlResult<SqlType> {
    Ok(inference.connection_text(chars))
}

fn infer_not_null_text(inference: &mut Inference<'_>, chars: u64) -> SqlResult<SqlType> {
    inference.coercibility = Some(crate::Coercibility::Coercible);
    Ok(string_type(chars, CollationId::UTF8MB3_GENERAL_CI).not_null())
}

fn infer_test(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::boolean().not_null())
}

fn infer_is_uuid(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(inference.nullable_as_args(SqlType::boolean()))
}

/// 1411 for text that is no address; the result is NULL.
fn wrong(args: &Args<'_>, function: &str) -> SqlResult<Value> {
    let shown = args.text(0);
    args.ctx.warn(SqlError::new(
        ErrorKind::WrongValueForType,
        &[&"string", &shown, &function],
    ))?;
    Ok(Value::Null)
}

/// Also short forms: `127.1` is 127.0.0.1.
fn inet_aton(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.encoded(0);
    let mut groups = Vec::new();
    for group in text.split(|byte| *byte == b'.') {
        let number = std::str::from_utf8(group)
            .ok()
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        match number.and_then(|digits| digits.parse::<u8>().ok()) {
            Some(number) if groups.len() < 4 => groups.push(u64::from(number)),
            _ => return wrong(args, "inet_aton"),
        }
    }
    let [head @ .., last] = groups.as_slice() else {
        return wrong(args, "inet_aton");
    };
    let high = head
        .iter()
        .enumerate()
        .fold(0, |sum, (i, group)| sum | group << (24 - 8 * i));
    Ok(Value::UInt(high | last))
}

fn inet_ntoa(args: &Args<'_>) -> SqlResult<Value> {
    match u32::try_from(args.whole(0)?) {
        Ok(bits) => Ok(args.text_result(Ipv4Addr::from(bits).to_string())),
        Err(_) => wrong(args, "inet_ntoa"),
    }
}

/// Four groups of one to three digits.
fn parse_ipv4(text: &[u8]) -> Option<Ipv4Addr> {
    let text = std::str::from_utf8(text).ok()?;
    let mut groups = [0; 4];
    let mut count = 0;
    for group in text.split('.') {
        if group.is_empty() || group.len() > 3 || !group.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *groups.get_mut(count)? = group.parse::<u8>().ok()?;
        count += 1;
    }
    (count == 4).then(|| Ipv4Addr::from(groups))
}

fn parse_ipv6(text: &[u8]) -> Option<Ipv6Addr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn inet6_aton(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.encoded(0);
    if let Some(address) = parse_ipv4(&text) {
        return Ok(Value::bytes(&address.octets()));
    }
    match parse_ipv6(&text) {
        Some(address) => Ok(Value::bytes(&address.octets())),
        None => wrong(args, "inet6_aton"),
    }
}

fn inet6_ntoa(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = match args.value(0) {
        Value::Bytes(bytes) => bytes,
        _ => return wrong(args, "inet6_ntoa"),
    };
    if let Ok(octets) = <[u8; 4]>::try_from(&bytes[..]) {
        return Ok(args.text_result(Ipv4Addr::from(octets).to_string()));
    }
    match <[u8; 16]>::try_from(&bytes[..]) {
        Ok(octets) => Ok(args.text_result(print_ipv6(octets))),
        Err(_) => wrong(args, "inet6_ntoa"),
    }
}

/// As `inet_ntop`: the longest run of zero groups is `::`; compatible and mapped addresses end in dotted form.
fn print_ipv6(octets: [u8; 16]) -> String {
    let address = Ipv6Addr::from(octets);
    let low = u32::from_be_bytes([octets[12], octets[13], octets[14], octets[15]]);
    if octets[..12] == [0; 12] && low > 0xFFFF {
        return format!("::{}", Ipv4Addr::from(low));
    }
    address.to_string()
}

fn ipv6_bytes(args: &Args<'_>) -> Option<[u8; 16]> {
    match args.value(0) {
        Value::Bytes(bytes) => bytes[..].try_into().ok(),
        _ => None,
    }
}

/// Version 1: the moment, and a random node (marked as such by the multicast bit).
fn uuid(args: &Args<'_>) -> SqlResult<Value> {
    // 100 ns steps since the calendar of 1582; the last digit, which the clock lacks, is random.
    const GREGORIAN: u64 = 0x01B2_1DD2_1381_4000;
    let mut random = [0; 9];
    args.ctx.services.random_bytes(&mut random);
    let steps = GREGORIAN + args.ctx.services.clock_micros() as u64 * 10 + u64::from(random[8] % 10);
    let mut uuid = [0; 16];
    uuid[..4].copy_from_slice(&(steps as u32).to_be_bytes());
    uuid[4..6].copy_from_slice(&((steps >> 32) as u16).to_be_bytes());
    uuid[6..8].copy_from_slice(&((steps >> 48) as u16 & 0x0FFF | 0x1000).to_be_bytes());
    uuid[8..].copy_from_slice(&random[..8]);
    uuid[8] = uuid[8] & 0x3F | 0x80;
    uuid[10] |= 1;
    Ok(args.text_result(print_uuid(uuid)))
}

fn print_uuid(uuid: [u8; 16]) -> String {
    let digits = lower_hex(&uuid);
    [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ]
    .join("-")
}

/// With dashes, without, or in braces.
fn parse_uuid(text: &str) -> Option<[u8; 16]> {
    let text = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}').filter(|inner| inner.len() == 36)?,
        None => text,
    };
    let digits: Vec<u8> = match text.len() {
        32 => text.bytes().collect(),
        36 => {
            let dashes = [8, 13, 18, 23];
            if dashes.iter().any(|at| text.as_bytes()[*at] != b'-') {
                return None;
            }
            text.bytes()
                .enumerate()
                .filter(|(i, _)| !dashes.contains(i))
                .map(|(_, byte)| byte)
                .collect()
        }
        _ => return None,
    };
    let mut uuid = [0; 16];
    for (slot, pair) in uuid.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |byte: u8| (byte as char).to_digit(16);
        *slot = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(uuid)
}

/// Time-low and time-high exchanged, so that UUIDs of version 1 ascend.
fn swapped(u: [u8; 16]) -> [u8; 16] {
    [
        u[6], u[7], u[4], u[5], u[0], u[1], u[2], u[3], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15],
    ]
}

fn swaps(args: &Args<'_>) -> SqlResult<bool> {
    if args.len() < 2 || args.is_null(1) {
        return Ok(false);
    }
    Ok(args.int(1)? != 0)
}

fn uuid_to_bin(args: &Args<'_>) -> SqlResult<Value> {
    if args.is_null(0) {
        return Ok(Value::Null);
    }
    let text = args.text(0);
    let uuid = parse_uuid(&text)
        .ok_or_else(|| SqlError::new(ErrorKind::WrongValueForType, &[&"string", &text, &"uuid_to_bin"]))?;
    Ok(Value::bytes(&if swaps(args)? { swapped(uuid) } else { uuid }))
}

fn bin_to_uuid(args: &Args<'_>) -> SqlResult<Value> {
    if args.is_null(0) {
        return Ok(Value::Null);
    }
    let bytes = args.encoded(0);
    let uuid: [u8; 16] = bytes[..].try_into().map_err(|_| {
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        SqlError::new(ErrorKind::WrongValueForType, &[&"string", &shown, &"bin_to_uuid"])
    })?;
    // The inverse of the exchange.
    let u = uuid;
    let back = [
        u[4], u[5], u[6], u[7], u[2], u[3], u[0], u[1], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15],
    ];
    Ok(args.text_result(print_uuid(if swaps(args)? { back } else { uuid })))
}
