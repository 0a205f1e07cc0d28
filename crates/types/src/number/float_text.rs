//! Doubles as text.
//!
//! The digits are the shortest that read back as the same double (for FLOAT: at most six). They are printed plainly while
//! 1e-15 <= |v| < 1e15 or the number has a fraction, and as `1.5e20`, `1e-16` otherwise: no plus sign, no padding of the
//! exponent.

use std::io::Write;

/// Largest position of the point for which an integer is written plainly.
const MAX_PLAIN_POINT: i32 = 15;
/// A double never needs more.
const MAX_DIGITS: usize = 17;
/// FLT_DIG of C.
const FLOAT_DIGITS: usize = 6;

/// Digits `d1 d2 ...` and the position of the point before which they stand: 0.d1d2... * 10^point.
struct Digits {
    negative: bool,
    digits: [u8; 24],
    len: usize,
    point: i32,
}

/// Appends the shortest text that reads back as `v`. NaN and infinity, which SQL does not have, print as 0.
pub fn write_double(v: f64, out: &mut Vec<u8>) {
    if v == 0.0 && v.is_sign_negative() {
        return out.extend_from_slice(b"-0");
    }
    if v == v.trunc() && v.abs() < 1e15 {
        return super::write_i64(v as i64, out);
    }
    let shortest = digits_of(v, None);
    if shortest.len == MAX_DIGITS {
        // Of two that are equally near, MySQL takes the even one, as rounding to this many digits does.
        return digits_of(v, Some(MAX_DIGITS)).write(out);
    }
    shortest.write(out);
}

/// Appends `v` in at most `width` characters, giving up digits for it: what storing a double into CHAR(width) writes. Longer when
/// not even one digit fits.
pub fn write_double_within(v: f64, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    write_double(v, out);
    if out.len() - start <= width {
        return;
    }
    out.truncate(start);
    let room = width as i32 - i32::from(v < 0.0);
    let digits = digits_of(v, Some(width.clamp(1, MAX_DIGITS)));
    let (point, len) = (digits.point, digits.len as i32);
    // The characters of the exponent with its `e`, those of the point and zeros before the first digit of a fraction.
    let exponent = point - 1;
    let exponent_len = 1 + i32::from(exponent < 0) + exponent.abs().max(1).ilog10() as i32 + 1;
    let (fraction_len, zeros_len) = (i32::from(point < len), if point <= 0 { 1 - point } else { 0 });
    let plain_digits = room - fraction_len - zeros_len;
    let exponent_digits = room - exponent_len - i32::from(len > 1);
    let plain_fits = point <= room && plain_digits > 0 && point > -MAX_PLAIN_POINT;
    if plain_fits && plain_digits >= exponent_digits {
        return digits_of(v, Some(plain_digits as usize)).write(out);
    }
    digits_of(v, Some(exponent_digits.max(1) as usize)).write_with_exponent(out);
}

/// Appends a FLOAT: the shortest text, of at most six digits.
pub fn write_float(v: f32, out: &mut Vec<u8>) {
    digits_of(f64::from(v), Some(FLOAT_DIGITS)).write(out);
}

/// Appends `v` with exactly `decimals` digits after the point, as columns of type `FLOAT(M,D)` and `DOUBLE(M,D)` print.
/// Digits beyond those of the shortest form are zeros.
pub fn write_fixed(v: f64, decimals: u8, out: &mut Vec<u8>) {
    let start = out.len();
    write!(out, "{v}").expect("writing to a Vec does not fail");
    let shortest = out[start..]
        .iter()
        .position(|b| *b == b'.')
        .map_or(0, |point| out.len() - start - point - 1);
    let wanted = usize::from(decimals);
    if shortest > wanted {
        out.truncate(start);
        write!(out, "{v:.wanted$}").expect("writing to a Vec does not fail");
    } else if shortest < wanted {
        if shortest == 0 {
            out.push(b'.');
        }
        out.resize(out.len() + wanted - shortest, b'0');
    }
    // -0.00 is 0.00.
    if out[start] == b'-' && out[start + 1..].iter().all(|b| matches!(b, b'0' | b'.')) {
        out.remove(start);
    }
}

fn digits_of(v: f64, limit: Option<usize>) -> Digits {
    let mut text = [0; 40];
    let mut rest = &mut text[..];
    match limit {
        Some(digits) => write!(rest, "{v:.*e}", digits - 1),
        None => write!(rest, "{v:e}"),
    }
    .expect("at most 17 digits and an exponent of three");
    let unused = rest.len();
    let text = &text[..40 - unused];
    let mut result = Digits {
        negative: v < 0.0,
        digits: [0; 24],
        len: 0,
        point: 0,
    };
    let Some(e) = text.iter().position(|&b| b == b'e') else {
        return result;
    };
    for &b in text[..e].iter().filter(|b| b.is_ascii_digit()) {
        result.digits[result.len] = b;
        result.len += 1;
    }
    while result.len > 0 && result.digits[result.len - 1] == b'0' {
        result.len -= 1;
    }
    let exponent = std::str::from_utf8(&text[e + 1..])
        .ok()
        .and_then(|t| t.parse::<i32>().ok());
    result.point = exponent.expect("the exponent that was just printed") + 1;
    result
}

impl Digits {
    fn write(&self, out: &mut Vec<u8>) {
        let digits = &self.digits[..self.len];
        if digits.is_empty() {
            return out.push(b'0');
        }
        let has_fraction = self.point < self.len as i32;
        if (self.point > MAX_PLAIN_POINT && !has_fraction) || self.point <= -MAX_PLAIN_POINT {
            return self.write_with_exponent(out);
        }
        if self.negative {
            out.push(b'-');
        }
        if self.point <= 0 {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + self.point.unsigned_abs() as usize, b'0');
            return out.extend_from_slice(digits);
        }
        let point = self.point as usize;
        if point >= digits.len() {
            out.extend_from_slice(digits);
            out.resize(out.len() + point - digits.len(), b'0');
        } else {
            out.extend_from_slice(&digits[..point]);
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        }
    }

    fn write_with_exponent(&self, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        out.push(self.digits[0]);
        if self.len > 1 {
            out.push(b'.');
            out.extend_from_slice(&self.digits[1..self.len]);
        }
        out.push(b'e');
        super::write_i64(i64::from(self.point) - 1, out);
    }
}

#[cfg(test)]
mod tests {
    use crate::number::*;
    use proptest::prelude::*;

    #[test]
    fn as_mysql_prints() {
        for (v, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (1e20, "1e20"),
            (-1.5e20, "-1.5e20"),
            (1e-4, "0.0001"),
            (1.5e-10, "0.00000000015"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (12345678901234.5, "12345678901234.5"),
            (123456789012345.5, "123456789012345.5"),
            (1234567890123456.5, "1234567890123456.5"),
            (1234567890123456.0, "1.234567890123456e15"),
            (11900154337833132.5 / 10.0, "1190015433783313.2"),
            (f64::MAX, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(double_to_string(v), text);
        }
        for (v, text) in [
            (0.1f32, "0.1"),
            (1.0 / 3.0, "0.333333"),
            (16777216.0, "16777200"),
            (1e20, "1e20"),
            (3.40282e38, "3.40282e38"),
            (1e-20, "1e-20"),
            (0.0, "0"),
        ] {
            assert_eq!(float_to_string(v), text);
        }
    }

    #[test]
    fn narrow_columns_cost_digits() {
        for (v, width, text) in [
            (3.0781510410354443e11, 5, "3e11"),
            (2.8028721768649437e-92, 7, "2.8e-92"),
            (-9.398616955092759e11, 5, "-9e11"),
            (12345.678, 5, "12346"),
            (12345.678, 7, "12345.7"),
            (0.0012345, 6, "0.0012"),
            (1.5, 5, "1.5"),
        ] {
            let written = into_string(|out| write_double_within(v, width, out));
            assert_eq!(written, text, "{v} in {width}");
        }
    }

    #[test]
    fn fixed_decimals() {
        let fixed = |v, d| into_string(|out| write_fixed(v, d, out));
        assert_eq!(
            (fixed(1.005, 2), fixed(-0.001, 2), fixed(2.5, 0)),
            ("1.00".into(), "0.00".into(), "2".into())
        );
    }

    proptest! {
        #[test]
        fn doubles_read_back(v in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            let text = double_to_string(v);
            prop_assert_eq!(text.parse::<f64>().unwrap(), v);
            let parsed = parse_double(text.as_bytes());
            prop_assert_eq!((parsed.value, parsed.consumed), (v, text.len()));
        }
    }
}
