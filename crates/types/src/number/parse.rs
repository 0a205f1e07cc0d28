//! The number at the start of a string.

use crate::decimal::Decimal;
use governor::bulk;

/// What [`parse_double`] found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParsedDouble {
    pub value: f64,
    /// Bytes that make the number, leading blanks included; 0 when there is none.
    pub consumed: usize,
    /// Beyond the doubles: `value` is the largest one.
    pub overflow: bool,
}

/// What [`parse_integer`] and [`parse_rounded_integer`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedInt {
    pub negative: bool,
    pub magnitude: u64,
    /// Bytes that make the number, leading blanks included; 0 when there is none.
    pub consumed: usize,
    /// Beyond 64 bits: `magnitude` is the largest one.
    pub overflow: bool,
}

/// The longest prefix that is a number with optional fraction and exponent.
pub fn parse_double(text: &[u8]) -> ParsedDouble {
    let none = ParsedDouble {
        value: 0.0,
        consumed: 0,
        overflow: false,
    };
    let start = blanks(text);
    let digits = |from: usize| bulk::prefix_len(&text[from.min(text.len())..], |b| b.is_ascii_digit());
    let mut end = start + usize::from(matches!(text.get(start), Some(b'-' | b'+')));
    let integer = digits(end);
    end += integer;
    let mut fraction = 0;
    if text.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        if integer + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if integer + fraction == 0 {
        return none;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'-' | b'+')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    let shortened;
    let digits = match end - start > LONG {
        true => {
            shortened = shortened_number(&text[start..end]);
            shortened.as_slice()
        }
        false => &text[start..end],
    };
    let number = std::str::from_utf8(digits).expect("a number is ASCII");
    let value: f64 = number.parse().expect("the form was checked");
    if value.is_infinite() {
        return ParsedDouble {
            value: f64::MAX.copysign(value),
            consumed: end,
            overflow: true,
        };
    }
    ParsedDouble {
        value,
        consumed: end,
        overflow: false,
    }
}

/// The longest prefix that is an optional sign and digits: what `CAST('12abc' AS SIGNED)` reads.
pub fn parse_integer(text: &[u8]) -> ParsedInt {
    let start = blanks(text);
    let negative = text.get(start) == Some(&b'-');
    let first = start + usize::from(matches!(text.get(start), Some(b'-' | b'+')));
    let (mut magnitude, mut overflow) = (0u64, false);
    let mut end = first;
    for &b in bulk::pieces(&text[first..])
        .flatten()
        .take_while(|b| b.is_ascii_digit())
    {
        match magnitude
            .checked_mul(10)
            .and_then(|m| m.checked_add(u64::from(b - b'0')))
        {
            Some(m) => magnitude = m,
            None => overflow = true,
        }
        end += 1;
    }
    if end == first {
        return ParsedInt {
            negative: false,
            magnitude: 0,
            consumed: 0,
            overflow: false,
        };
    }
    ParsedInt {
        negative,
        magnitude: if overflow { u64::MAX } else { magnitude },
        consumed: end,
        overflow,
    }
}

/// The longest prefix that is a number, rounded half away from zero: what storing a string into an integer column reads.
pub fn parse_rounded_integer(text: &[u8]) -> ParsedInt {
    let integer = parse_integer(text);
    let goes_on = matches!(text.get(integer.consumed), Some(b'.' | b'e' | b'E'));
    if !goes_on && integer.consumed > 0 {
        return integer;
    }
    let decimal = Decimal::parse_prefix(text);
    let magnitude = decimal.value.abs().to_u64();
    ParsedInt {
        negative: decimal.value.is_negative(),
        magnitude: magnitude.unwrap_or(u64::MAX),
        consumed: decimal.consumed,
        overflow: decimal.overflow || magnitude.is_err(),
    }
}

/// A longer number is shortened before it is read.
const LONG: usize = 4096;

/// The same double in fewer digits: `[-]0.digits` with an exponent. Digits beyond these decide nothing but whether the rest is zero.
fn shortened_number(number: &[u8]) -> Vec<u8> {
    const DIGITS: usize = 800;
    let mut out = Vec::with_capacity(DIGITS + 32);
    let unsigned = match number {
        [b'-', rest @ ..] => {
            out.push(b'-');
            rest
        }
        [b'+', rest @ ..] => rest,
        rest => rest,
    };
    out.extend_from_slice(b"0.");
    let first = out.len();
    // Where the point is, counted from the first digit that is not zero.
    let (mut point, mut is_fraction, mut rest) = (0i64, false, 0);
    let mut exponent = 0i64;
    let mut bytes = bulk::pieces(unsigned).flatten();
    for &byte in bytes.by_ref() {
        match byte {
            b'.' => is_fraction = true,
            b'0' if out.len() == first => point -= i64::from(is_fraction),
            b'0'..=b'9' => {
                point += i64::from(!is_fraction);
                match out.len() - first < DIGITS {
                    true => out.push(byte),
                    false => rest |= byte - b'0',
                }
            }
            _ => break,
        }
    }
    let mut negative = false;
    for &byte in bytes {
        match byte {
            b'-' => negative = true,
            b'0'..=b'9' => exponent = (exponent * 10 + i64::from(byte - b'0')).min(i64::from(u32::MAX)),
            _ => {}
        }
    }
    if rest != 0 {
        out.push(b'1');
    }
    if out.len() == first {
        out.push(b'0');
    }
    let exponent = point + if negative { -exponent } else { exponent };
    out.extend_from_slice(format!("e{exponent}").as_bytes());
    out
}

fn blanks(text: &[u8]) -> usize {
    bulk::prefix_len(text, |b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn doubles_from_prefixes() {
        for (text, value, consumed) in [
            ("12abc", 12.0, 2),
            ("  -1.5e3x", -1500.0, 8),
            ("1e", 1.0, 1),
            ("1e+", 1.0, 1),
            (".5", 0.5, 2),
            ("5.", 5.0, 2),
            (".", 0.0, 0),
            ("-", 0.0, 0),
            ("inf", 0.0, 0),
            ("0x1F", 0.0, 1),
            ("", 0.0, 0),
        ] {
            let p = parse_double(text.as_bytes());
            assert_eq!((p.value, p.consumed, p.overflow), (value, consumed, false), "{text}");
        }
        let p = parse_double(b"-1e999");
        assert_eq!((p.value, p.overflow), (f64::MIN, true));
    }

    #[test]
    fn a_long_number_is_the_same_when_it_is_shortened() {
        for text in [
            "0".repeat(5000) + "12.5",
            "-0.".to_owned() + &"0".repeat(5000) + "125e5000",
            "1".repeat(5000) + "e-4995",
            "9".repeat(5000) + ".5e-5001",
            "+3.".to_owned() + &"14159265".repeat(700),
            "0.".to_owned() + &"0".repeat(5000),
            "9007199254740993.".to_owned() + &"0".repeat(5000) + "1",
            "1".repeat(5000),
        ] {
            let exact: f64 = text.parse().expect("a number");
            let read = parse_double(text.as_bytes());
            assert_eq!(read.overflow, exact.is_infinite(), "{text}");
            assert_eq!(read.consumed, text.len());
            if exact.is_finite() {
                assert_eq!(read.value, exact, "{text}");
            }
        }
    }

    #[test]
    fn integers_from_prefixes() {
        let int = |t: &str| {
            let p = parse_integer(t.as_bytes());
            (p.negative, p.magnitude, p.consumed, p.overflow)
        };
        assert_eq!(int("-12.9"), (true, 12, 3, false));
        assert_eq!(int("18446744073709551615"), (false, u64::MAX, 20, false));
        assert_eq!(int("18446744073709551616"), (false, u64::MAX, 20, true));
        assert_eq!(int("x"), (false, 0, 0, false));
        let rounded = |t: &str| {
            let p = parse_rounded_integer(t.as_bytes());
            (p.negative, p.magnitude, p.consumed, p.overflow)
        };
        assert_eq!(rounded("1.5"), (false, 2, 3, false));
        assert_eq!(rounded("-1.5e1 "), (true, 15, 6, false));
        assert_eq!(rounded(".4"), (false, 0, 2, false));
        assert_eq!(rounded("1e30"), (false, u64::MAX, 4, true));
        assert_eq!(rounded("7 up"), (false, 7, 1, false));
    }

    proptest! {
        #[test]
        fn any_bytes_parse_without_panic(text in proptest::collection::vec(any::<u8>(), 0..30)) {
            prop_assert!(parse_double(&text).consumed <= text.len());
            prop_assert!(parse_rounded_integer(&text).consumed <= text.len());
        }
    }
}
