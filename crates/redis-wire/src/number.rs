//! Numbers as Redis reads and writes them.

/// A 64-bit integer in its only form: no sign but `-`, no zeros in front, no spaces.
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    match digits {
        [b'0'] if !negative => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut value: u64 = 0;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(digit - b'0');
    }
    match negative {
        true if value <= i64::MIN.unsigned_abs() => Some((value as i64).wrapping_neg()),
        false => i64::try_from(value).ok(),
        true => None,
    }
}

/// As [`parse_i64`], without a sign.
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    match text {
        [b'0'] => Some(0),
        [b'1'..=b'9', ..] if text.len() <= 20 => text.iter().try_fold(0u64, |value, &digit| {
            let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
            value.checked_mul(10)?.checked_add(digit)
        }),
        _ => None,
    }
}

/// A floating-point number as C's `strtod` takes it, whole: `inf`, hexadecimal and exponents too, NaN not.
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    // Rust's words for infinity are C's.
    let value = match text.trim_start_matches(['+', '-']).get(..2) {
        Some("0x" | "0X") => parse_hexadecimal(text)?,
        _ => text.parse().ok()?,
    };
    (!f64::is_nan(value)).then_some(value)
}

/// `0x1.8p3`
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let text = text.get(2..)?;
    let (digits, exponent) = match text.find(['p', 'P']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let value = value * 2f64.powi(exponent.saturating_sub(4 * fraction.len() as i32));
    Some(if negative { -value } else { value })
}

/// A score or a distance: 17 significant digits as C's `%.17g` writes them, or the shortest that reads back the same.
pub fn write_f64(value: f64, out: &mut Vec<u8>) {
    use std::io::Write as _;
    if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
        return;
    }
    if value.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if value == 0.0 {
        return out.extend_from_slice(if value.is_sign_negative() { b"-0" } else { b"0" });
    }
    // Whole numbers that a double holds exactly.
    if value.fract() == 0.0 && value.abs() < 1e17 {
        let _ = write!(out, "{}", value as i64);
        return;
    }
    let shortest = format!("{value:e}");
    let (mantissa, exponent) = shortest.split_once('e').expect("this form has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    match (-5..17).contains(&exponent) || exponent == -5 {
        true if exponent >= -4 => {
            let _ = write!(out, "{value}");
        }
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.abs());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_form() {
        for (text, value) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("-9223372036854775809", None),
            ("99999999999999999999", None),
            ("-0", None),
            ("01", None),
            ("+1", None),
            (" 1", None),
            ("1 ", None),
            ("", None),
            ("-", None),
        ] {
            assert_eq!(parse_i64(text.as_bytes()), value, "{text:?}");
        }
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"18446744073709551616"), None);
    }

    #[test]
    fn doubles_are_read_as_c_reads_them() {
        for (text, value) in [
            ("1e3", Some(1000.0)),
            ("-inf", Some(f64::NEG_INFINITY)),
            ("+Infinity", Some(f64::INFINITY)),
            ("0x10", Some(16.0)),
            ("-0x1.8p1", Some(-3.0)),
            (".5", Some(0.5)),
            ("nan", None),
            ("1 ", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(parse_f64(text.as_bytes()), value, "{text:?}");
        }
    }

    #[test]
    fn doubles_are_written_short() {
        let written = |value| {
            let mut out = Vec::new();
            write_f64(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (value, text) in [
            (3.0, "3"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-07"),
            (0.0001, "0.0001"),
            (123_456_789.125, "123456789.125"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(written(value), text);
        }
    }
}
