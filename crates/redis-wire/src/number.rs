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

/// A floating-point number as C's `strtod` takes it, whole: `inf`, hexadecimal and exponents too. NaN is none, and neither is what is too
/// large or too small.
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    let value = parse_wide(text)?;
    let is_word = text.iter().any(|byte| matches!(byte, b'n' | b'N'));
    let has_digit = text
        .iter()
        .take_while(|byte| !matches!(byte, b'e' | b'E'))
        .any(|byte| (b'1'..=b'9').contains(byte));
    let is_lost = value.is_infinite() && !is_word || value == 0.0 && has_digit;
    (!is_lost).then_some(value)
}

/// As [`parse_f64`]; what is too large is infinite, what is too small zero.
pub fn parse_wide(text: &[u8]) -> Option<f64> {
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

/// A score or a distance: a whole number as such, else the fewest digits that read back the same, laid out as by the library that Redis
/// uses (fpconv).
pub fn write_f64(value: f64, out: &mut Vec<u8>) {
    use std::io::Write as _;
    if value.is_infinite() {
        return out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    }
    if value.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if value == 0.0 {
        return out.extend_from_slice(if value.is_sign_negative() { b"-0" } else { b"0" });
    }
    if value.fract() == 0.0 && value.abs() <= (i64::MAX / 2) as f64 {
        let _ = write!(out, "{}", value as i64);
        return;
    }
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').expect("this form has an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    let digits: Vec<u8> = mantissa.bytes().filter(|byte| *byte != b'.').collect();
    // The number is the digits, as a whole number, times this power of ten.
    let power = exponent + 1 - digits.len() as i32;
    if value < 0.0 {
        out.push(b'-');
    }
    if power >= 0 && exponent < digits.len() as i32 + 7 {
        out.extend_from_slice(&digits);
        out.resize(out.len() + power as usize, b'0');
    } else if power < 0 && (power > -7 || exponent.abs() < 4) {
        let before_point = exponent + 1;
        if before_point <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + before_point.unsigned_abs() as usize, b'0');
            out.extend_from_slice(&digits);
        } else {
            let (whole, fraction) = digits.split_at(before_point as usize);
            out.extend_from_slice(whole);
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
    } else {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        let _ = write!(out, "e{exponent:+}");
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
            ("1e400", None),
            ("1e-400", None),
            ("0e5", Some(0.0)),
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
            (1e17, "100000000000000000"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-7"),
            (0.0001, "0.0001"),
            (123_456_789.125, "123456789.125"),
            (123_456_789.123_456_79, "1.2345678912345679e+8"),
            (13.361_389_338_970_18, "13.36138933897018"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(written(value), text);
        }
    }
}
