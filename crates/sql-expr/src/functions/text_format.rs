//! Strings in other forms: hex, base 64, quoted, formatted numbers, codes of characters; and what a string's type is.

use governor::bulk;
use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::{CharsetId, CollationId, SqlResult, SqlType, TypeKind, Value};

use super::args::{Args, Inference, string_type};
use super::numeric::round_double;
use super::{Function, at_least, between, exactly};
use crate::collation::{self, Coercibility};
use crate::context::EvalContext;
use crate::{Expr, convert};

pub const FUNCTIONS: &[Function] = &[
    Function::strict("HEX", exactly(1), infer_hex, hex),
    Function::strict("UNHEX", exactly(1), infer_unhex, unhex),
    Function::strict("TO_BASE64", exactly(1), infer_to_base64, |args| {
        Ok(args.text_result(to_base64(&args.encoded(0))))
    }),
    Function::strict("FROM_BASE64", exactly(1), infer_from_base64, from_base64),
    Function::nullable("QUOTE", exactly(1), infer_quote, quote),
    Function::nullable("FORMAT", between(2, 3), infer_format, format_number),
    Function::strict("ASCII", exactly(1), infer_code, |args| {
        Ok(Value::Int(args.encoded(0).first().copied().map_or(0, i64::from)))
    }),
    Function::strict("ORD", exactly(1), infer_code, ord),
    Function::nullable("CHAR", at_least(2), infer_char, char_function),
    // What is asked of an expression alone does not compute it.
    Function::lazy("CHARSET", exactly(1), infer_name, |_, args, _, ctx| {
        Ok(Value::str(collated(&args[0], ctx).collation.charset().name()))
    }),
    Function::lazy("COLLATION", exactly(1), infer_name, |_, args, _, ctx| {
        Ok(Value::str(collated(&args[0], ctx).collation.name()))
    }),
    Function::lazy(
        "COERCIBILITY",
        exactly(1),
        |_| {
            Ok(SqlType {
                length: 10,
                ..SqlType::bigint()
            }
            .not_null())
        },
        |_, args, _, _| {
            let standing = match args[0].ty.kind {
                TypeKind::Null => Coercibility::Ignorable,
                _ => args[0].coercibility,
            };
            Ok(Value::Int(standing as i64))
        },
    ),
    Function::strict("WEIGHT_STRING", exactly(1), infer_weight_string, weight_string),
];

/// Digits of the bytes in the argument's character set.
fn infer_hex(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let arg = &inference.args[0].ty;
    let bytes_per_char = if collation::is_stringlike(arg) {
        u64::from(arg.charset().max_bytes_per_char())
    } else {
        1
    };
    let chars = inference.chars(0) * bytes_per_char * 2;
    let ty = inference.connection_text(chars.max(16));
    Ok(inference.nullable_as_args(ty))
}

fn hex(args: &Args<'_>) -> SqlResult<Value> {
    let bits = match args.value(0) {
        Value::Double(number) => number.round_ties_even().clamp(i64::MIN as f64, u64::MAX as f64) as i128,
        value @ (Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Year(_)) => {
            convert::to_i128(value, args.ctx)?
        }
        Value::Bit(bits) => i128::from(bits.value),
        _ => return Ok(args.text_result(upper_hex(&args.encoded(0)))),
    };
    let bits = bits.clamp(i128::from(i64::MIN), i128::from(u64::MAX));
    Ok(args.text_result(format!("{:X}", bits as u64)))
}

pub(super) fn upper_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bulk::pieces(bytes).flatten() {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    out
}

/// The digits of bytes.
pub fn lower_hex(bytes: &[u8]) -> String {
    upper_hex(bytes).to_ascii_lowercase()
}

fn infer_unhex(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let bytes = inference.chars(0).div_ceil(2);
    Ok(string_type(bytes, CollationId::BINARY))
}

/// NULL, with warning 1411, when a character is no digit. An odd number of digits has a zero before it.
fn unhex(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.encoded(0);
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let decoded: Option<Vec<u8>> = {
        let (head, pairs) = text.split_at(text.len() % 2);
        let head = head.iter().map(|byte| digit(*byte));
        let mut bytes: Vec<u8> = Vec::with_capacity(text.len().div_ceil(2));
        let decoded = head.chain(bulk::pieces(pairs).flat_map(|piece| {
            let pairs = piece.chunks_exact(2);
            pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        }));
        let mut all_are_digits = true;
        bytes.extend(decoded.map_while(|byte| {
            all_are_digits &= byte.is_some();
            byte
        }));
        all_are_digits.then_some(bytes)
    };
    match decoded {
        Some(bytes) => Ok(Value::Bytes(bytes.into())),
        None => {
            let shown = String::from_utf8_lossy(&text[..text.len().min(512)]).into_owned();
            args.ctx.warn(SqlError::new(
                ErrorKind::WrongValueForType,
                &[&"string", &shown, &"unhex"],
            ))?;
            Ok(Value::Null)
        }
    }
}

fn infer_to_base64(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let bytes = inference.chars(0) * u64::from(inference.args[0].ty.charset().max_bytes_per_char());
    let chars = bytes.div_ceil(3) * 4;
    let ty = inference.connection_text(chars + chars / 76);
    Ok(inference.nullable_as_args(ty))
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// With a line break after every 76 characters.
fn to_base64(bytes: &[u8]) -> String {
    const LINE: usize = 76;
    let chars = bytes.len().div_ceil(3) * 4;
    let mut out = String::with_capacity(chars + chars / LINE);
    let mut column = 0;
    for group in bytes.chunks(3).take_while(|_| governor::go_on()) {
        if column == LINE {
            out.push('\n');
            column = 0;
        }
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for i in 0..4 {
            let sextet = bits >> (18 - 6 * i) & 63;
            out.push(if i <= group.len() {
                char::from(BASE64[sextet as usize])
            } else {
                '='
            });
        }
        column += 4;
    }
    out
}

fn infer_from_base64(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let ty = &inference.args[0].ty;
    let most = match ty.kind {
        // Counted as if its limit were in characters.
        kind if kind.is_text() => u64::from(ty.length) * u64::from(ty.charset().max_bytes_per_char()),
        _ => inference.chars(0),
    };
    Ok(string_type((most / 4 * 3).max(1), CollationId::BINARY))
}

/// NULL for what is no base 64; white space is skipped.
fn from_base64(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.encoded(0);
    Ok(decode_base64(&text).map_or(Value::Null, |bytes| Value::Bytes(bytes.into())))
}

fn sextet_of(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count, mut padding) = (0u32, 0, 0);
    for byte in bulk::pieces(text).flatten().filter(|byte| !byte.is_ascii_whitespace()) {
        if *byte == b'=' {
            padding += 1;
            bits <<= 6;
        } else if padding > 0 {
            return None;
        } else {
            let sextet = u32::from(sextet_of(*byte)?);
            bits = bits << 6 | sextet;
        }
        count += 1;
        if count == 4 {
            let bytes = bits.to_be_bytes();
            out.extend_from_slice(bytes[1..].get(..3usize.checked_sub(padding)?)?);
            if padding == 3 {
                return None;
            }
            (bits, count) = (0, 0);
        }
    }
    (count == 0).then_some(out)
}

fn infer_quote(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    // Bytes are quoted as text of the connection.
    let collation = match inference.mix_collations(0, 1)? {
        CollationId::BINARY => inference.connection(),
        collation => collation,
    };
    let chars = inference.chars(0) * 2 + 2;
    Ok(string_type(chars.max(4), collation).not_null())
}

/// Ready to stand in a statement.
fn quote(args: &Args<'_>) -> SqlResult<Value> {
    if args.is_null(0) {
        return Ok(args.text_result("NULL".to_owned()));
    }
    let text = args.string(0)?;
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'\'');
    for byte in bulk::pieces(&text).flatten() {
        // Few bytes are escaped; where many are, the buffer grows.
        if out.len() == out.capacity() {
            bulk::make_room(&mut out, 2);
        }
        match byte {
            b'\'' => out.extend_from_slice(b"\\'"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0 => out.extend_from_slice(b"\\0"),
            26 => out.extend_from_slice(b"\\Z"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    Ok(args.string_result(out))
}

fn infer_format(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    let digits = inference.chars(0).max(20);
    let ty = inference.connection_text(digits + digits / 3 + 32);
    Ok(inference.nullable_as_args(ty))
}

/// The thousands separator, the decimal point and how digits group in a locale; `None` for an unknown one.
fn locale(name: &str) -> Option<(&'static str, &'static str, Grouping)> {
    let thousands = |separator, point| (separator, point, Grouping::Thousands);
    let name = name.to_ascii_lowercase();
    Some(match name.as_str() {
        "ar_ae" | "ar_bh" | "ar_dz" | "ar_eg" | "ar_in" | "ar_iq" | "ar_jo" | "ar_kw" | "ar_lb" | "ar_ly" | "ar_ma"
        | "ar_om" | "ar_qa" | "ar_sd" | "ar_sy" | "ar_tn" | "ar_ye" | "en_au" | "en_ca" | "en_gb" | "en_nz"
        | "en_ph" | "en_us" | "en_za" | "en_zw" | "es_do" | "es_gt" | "es_hn" | "es_mx" | "es_ni" | "es_pa"
        | "es_pe" | "es_pr" | "es_sv" | "es_us" | "gu_in" | "he_il" | "hi_in" | "ja_jp" | "ko_kr" | "ms_my"
        | "th_th" | "ur_pk" | "zh_cn" | "zh_hk" | "zh_tw" => thousands(",", "."),
        "ar_sa" | "sr_rs" => ("", ".", Grouping::None),
        "be_by" | "da_dk" | "de_be" | "de_de" | "de_lu" | "es_ar" | "es_bo" | "es_cl" | "es_co" | "es_ec" | "es_es"
        | "es_py" | "es_uy" | "es_ve" | "fo_fo" | "hu_hu" | "id_id" | "is_is" | "lt_lt" | "mn_mn" | "nb_no"
        | "no_no" | "ro_ro" | "ru_ua" | "sq_al" | "tr_tr" | "uk_ua" | "vi_vn" => thousands(".", ","),
        "ca_es" | "de_at" | "el_gr" | "eu_es" | "fr_be" | "fr_ca" | "fr_ch" | "fr_fr" | "fr_lu" | "gl_es" | "hr_hr"
        | "it_it" | "nl_be" | "nl_nl" | "pl_pl" | "pt_br" | "pt_pt" | "sl_si" => ("", ",", Grouping::None),
        // MySQL puts a NUL between the digits of bg_BG.
        "bg_bg" | "cs_cz" | "es_cr" | "et_ee" | "fi_fi" | "lv_lv" | "mk_mk" | "ru_ru" | "sk_sk" | "sv_fi" | "sv_se" => {
            thousands(" ", ",")
        }
        "de_ch" => thousands("'", "."),
        "en_in" | "ta_in" | "te_in" => (",", ".", Grouping::Indian),
        "it_ch" | "rm_ch" => thousands("'", ","),
        _ => return None,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum Grouping {
    None,
    Thousands,
    /// Three digits, then by twos.
    Indian,
}

fn format_number(args: &Args<'_>) -> SqlResult<Value> {
    if args.is_null(0) || args.is_null(1) {
        return Ok(Value::Null);
    }
    let decimals = args.int(1)?.clamp(0, 30) as u8;
    let american = (",", ".", Grouping::Thousands);
    let (separator, point, grouping) = match args.len() {
        3 => {
            let name = args.text(2);
            match locale(&name) {
                Some(locale) => locale,
                None => {
                    args.ctx.warn(SqlError::new(ErrorKind::UnknownLocale, &[&name]))?;
                    american
                }
            }
        }
        _ => american,
    };
    let printed = match args.value(0) {
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) => {
            let number = args.decimal(0)?;
            number.round(decimals).unwrap_or(number).to_string()
        }
        _ => {
            let number = round_double(args.double(0)?, i32::from(decimals), false);
            let decimal: Decimal = convert::double_to_decimal(number);
            let printed = match decimal.round(decimals) {
                Ok(rounded) if number.abs() < 1e60 => rounded.to_string(),
                _ => format!("{number:.*}", usize::from(decimals)),
            };
            // A double keeps its sign where it is rounded to zero.
            match number.is_sign_negative() && !printed.starts_with('-') {
                true => format!("-{printed}"),
                false => printed,
            }
        }
    };
    let (sign, unsigned) = match printed.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", printed.as_str()),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        let left = whole.len() - i;
        let gap = match grouping {
            Grouping::None => false,
            Grouping::Thousands => left % 3 == 0,
            Grouping::Indian => left == 3 || (left > 3 && left % 2 == 1),
        };
        if i > 0 && gap {
            out.push_str(separator);
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push_str(point);
        out.push_str(fraction);
    }
    Ok(args.text_result(out))
}

fn infer_code(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let length = if inference.name == "ASCII" { 3 } else { 21 };
    Ok(inference.nullable_as_args(SqlType {
        length,
        ..SqlType::bigint()
    }))
}

/// The bytes of the first character as a number.
fn ord(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = args.encoded(0);
    let charset = args.arg_type(0).charset();
    let single = !collation::is_stringlike(args.arg_type(0)) || charset.max_bytes_per_char() == 1;
    let length = match bytes.first() {
        None => return Ok(Value::Int(0)),
        Some(_) if single => 1,
        Some(_) => charset.first_char_len(&bytes),
    };
    let code = bytes
        .iter()
        .take(length)
        .fold(0i64, |code, byte| code << 8 | i64::from(*byte));
    Ok(Value::Int(code))
}

/// The first argument is the character set's name.
fn infer_char(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_numbers();
    let name = inference
        .literal(0)
        .map(|name| convert::to_text(name).into_owned())
        .unwrap_or_default();
    let charset = CharsetId::by_name(&name).unwrap_or(CharsetId::BINARY);
    let connection = inference.connection();
    let collation = if connection.charset() == charset {
        connection
    } else {
        charset.default_collation()
    };
    inference.coercibility = Some(Coercibility::Coercible);
    let chars = (inference.args.len() as u64 - 1) * 4;
    Ok(string_type(chars, collation))
}

/// Each number is one to four bytes; NULLs are skipped.
fn char_function(args: &Args<'_>) -> SqlResult<Value> {
    let mut bytes = Vec::new();
    for i in (1..args.len()).filter(|i| !args.is_null(*i)) {
        let number = args.whole(i)? as u32;
        let all = number.to_be_bytes();
        let leading = (number.leading_zeros() / 8).min(3) as usize;
        bytes.extend_from_slice(&all[leading..]);
    }
    let charset = args.ty.charset();
    if charset == CharsetId::BINARY {
        return Ok(Value::Bytes(bytes.into()));
    }
    match charset.decode(&bytes) {
        Ok(text) => Ok(Value::str(&text)),
        Err(invalid) => {
            let shown = upper_hex(&bytes[invalid.position..]);
            let shown: String = shown.chars().take(12).collect();
            args.ctx.warn(SqlError::new(
                ErrorKind::InvalidCharacterString,
                &[&charset.name(), &shown],
            ))?;
            Ok(Value::Null)
        }
    }
}

fn infer_name(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.coercibility = Some(Coercibility::Coercible);
    Ok(string_type(64, CollationId::UTF8MB3_GENERAL_CI).not_null())
}

/// Numbers and NULL are of the binary character set here.
fn collated(expr: &Expr, ctx: &EvalContext<'_>) -> collation::Collated {
    let binary = expr.ty.kind == TypeKind::Null || !collation::is_stringlike(&expr.ty);
    let connection = if binary {
        CollationId::BINARY
    } else {
        ctx.settings.collation
    };
    collation::Collated::of(expr, connection)
}

fn infer_weight_string(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let bytes = inference.chars(0).saturating_mul(16);
    Ok(string_type(bytes, CollationId::BINARY))
}

fn weight_string(args: &Args<'_>) -> SqlResult<Value> {
    let ty = args.arg_type(0);
    // A whole number, or what a column keeps as one, weighs as that.
    let is_number = match ty.kind {
        TypeKind::Enum | TypeKind::Set | TypeKind::Bit => args.is_stored(0),
        TypeKind::Year => true,
        kind => kind.is_integer(),
    };
    if is_number {
        let is_unsigned = ty.unsigned || matches!(ty.kind, TypeKind::Bit | TypeKind::Year);
        let sign = if is_unsigned { 0 } else { 1 << 63 };
        return Ok(Value::bytes(&(args.bits(0)? ^ sign).to_be_bytes()));
    }
    if !collation::is_stringlike(ty) {
        return Ok(Value::Null);
    }
    let collation = args.arg_type(0).collation;
    let mut out = Vec::new();
    collation.weight_string(&args.string_under(0, collation)?, &mut out);
    Ok(Value::Bytes(out.into()))
}
