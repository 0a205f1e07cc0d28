//! Text to decimal and back.

use super::wide::{CHUNK_DIGITS, Wide};
use super::{Decimal, MAX_PRECISION, MAX_SCALE};
use governor::bulk;
use std::fmt;

/// What [`Decimal::parse_prefix`] found.
#[derive(Debug, Clone, Copy)]
pub struct ParsedDecimal {
    pub value: Decimal,
    /// Bytes of the text that make the number, leading blanks included; 0 when there is none.
    pub consumed: usize,
    /// The number has more than 65 digits before the point: `value` is ±999...9.
    pub overflow: bool,
    /// Digits that are not zero did not fit in the fraction: `value` is rounded.
    pub truncated: bool,
}

impl Decimal {
    /// Parses a whole number text: `-12.50`, `.5`, `1e-3`. `None` for anything else, also for more than 65 digits.
    pub fn parse(text: &str) -> Option<Decimal> {
        let parsed = Decimal::parse_prefix(text.as_bytes());
        (parsed.consumed == text.len() && parsed.consumed > 0 && !parsed.overflow).then_some(parsed.value)
    }

    /// Parses the longest prefix that is a number, as MySQL reads strings in decimal context.
    pub fn parse_prefix(text: &[u8]) -> ParsedDecimal {
        let mut i = bulk::prefix_len(text, |b| b.is_ascii_whitespace());
        let negative = text.get(i) == Some(&b'-');
        if matches!(text.get(i), Some(b'-' | b'+')) {
            i += 1;
        }
        let digits_at = |from: usize| bulk::prefix_len(&text[from..], |b| b.is_ascii_digit());
        let integer = &text[i..i + digits_at(i)];
        i += integer.len();
        let mut fraction: &[u8] = &[];
        if text.get(i) == Some(&b'.') {
            fraction = &text[i + 1..i + 1 + digits_at(i + 1)];
            if !(integer.is_empty() && fraction.is_empty()) {
                i += 1 + fraction.len();
            }
        }
        if integer.is_empty() && fraction.is_empty() {
            return ParsedDecimal {
                value: Decimal::ZERO,
                consumed: 0,
                overflow: false,
                truncated: false,
            };
        }
        let (exponent, exponent_len) = parse_exponent(&text[i..]);
        i += exponent_len;
        let mut parsed = from_digits(integer, fraction, exponent, negative);
        parsed.consumed = i;
        parsed
    }

    /// Appends the printed form.
    pub fn write(self, out: &mut Vec<u8>) {
        let mut buffer = [b'0'; 100];
        let mut at = buffer.len();
        // At least one digit before the point.
        let shortest = buffer.len() - usize::from(self.scale) - 1;
        let mut rest = self.wide();
        loop {
            let last = rest.0[1] | rest.0[2] | rest.0[3] == 0 && rest.0[0] < 10u64.pow(CHUNK_DIGITS);
            let mut chunk = if last { rest.0[0] } else { rest.take_chunk() };
            let chunk_end = at;
            while chunk > 0 {
                at -= 1;
                buffer[at] = b'0' + (chunk % 10) as u8;
                chunk /= 10;
            }
            if last {
                break;
            }
            at = chunk_end - CHUNK_DIGITS as usize;
        }
        let at = at.min(shortest);
        if self.negative {
            out.push(b'-');
        }
        let point = buffer.len() - usize::from(self.scale);
        out.extend_from_slice(&buffer[at..point]);
        if self.scale > 0 {
            out.push(b'.');
            out.extend_from_slice(&buffer[point..]);
        }
    }
}

/// The exponent at the start of `text` and its length; (0, 0) if there is none.
fn parse_exponent(text: &[u8]) -> (i64, usize) {
    if !matches!(text.first(), Some(b'e' | b'E')) {
        return (0, 0);
    }
    let negative = text.get(1) == Some(&b'-');
    let start = if matches!(text.get(1), Some(b'-' | b'+')) { 2 } else { 1 };
    let digits = bulk::pieces(text.get(start..).unwrap_or_default()).flatten();
    let digits = digits.take_while(|b| b.is_ascii_digit());
    let (mut value, mut len) = (0i64, 0);
    for d in digits {
        value = (value * 10 + i64::from(d - b'0')).min(100_000);
        len += 1;
    }
    if len == 0 {
        (0, 0)
    } else {
        (if negative { -value } else { value }, start + len)
    }
}

/// The number `integer.fraction * 10^exponent`, rounded to what a decimal holds. `consumed` is the caller's.
fn from_digits(integer: &[u8], fraction: &[u8], exponent: i64, negative: bool) -> ParsedDecimal {
    let digit = |i: usize| if i < integer.len() { integer[i] } else { fraction[i - integer.len()] } - b'0';
    let total = integer.len() + fraction.len();
    let zeros_at = |from: usize| {
        // In the order of the two parts.
        let (head, tail) = (
            &integer[from.min(integer.len())..],
            &fraction[from.saturating_sub(integer.len())..],
        );
        match bulk::prefix_len(head, |b| b == b'0') {
            all if all == head.len() => all + bulk::prefix_len(tail, |b| b == b'0'),
            some => some,
        }
    };
    let first = zeros_at(0);
    // Position of the point, counted from the first digit of the text.
    let point = integer.len() as i64 + exponent;
    let integer_digits = (point - first as i64).max(0);
    if first < total && integer_digits > i64::from(MAX_PRECISION) {
        let max = Decimal::max(MAX_PRECISION, 0);
        let value = if negative { -max } else { max };
        return ParsedDecimal {
            value,
            consumed: 0,
            overflow: true,
            truncated: false,
        };
    }
    let wanted = (total as i64 - point).clamp(0, i64::from(MAX_SCALE));
    let scale = if first < total {
        wanted.min(i64::from(MAX_PRECISION) - integer_digits)
    } else {
        wanted
    };
    // Digits up to this position make the coefficient.
    let end = point + scale;
    let mut coefficient = Wide::ZERO;
    let (mut chunk, mut chunk_digits) = (0u64, 0);
    let mut flush = |chunk: &mut u64, digits: &mut u32| {
        let shifted = coefficient.mul_pow10(*digits).expect("at most 65 digits");
        coefficient = shifted.add(Wide::from_u128(u128::from(*chunk)));
        (*chunk, *digits) = (0, 0);
    };
    for i in first as i64..end {
        chunk = chunk * 10
            + if i < total as i64 {
                u64::from(digit(i as usize))
            } else {
                0
            };
        chunk_digits += 1;
        if chunk_digits == 18 {
            flush(&mut chunk, &mut chunk_digits);
        }
    }
    flush(&mut chunk, &mut chunk_digits);
    let rest = end.clamp(0, total as i64) as usize;
    let truncated = rest + zeros_at(rest) < total;
    if end >= 0 && rest < total && digit(rest) >= 5 {
        coefficient = coefficient.add(Wide::from_u128(1));
    }
    let scale = scale as u8;
    let (value, overflow) = match super::arithmetic::checked(coefficient, scale, negative) {
        Ok(value) => (value, false),
        // Rounding up made a 66th digit: 99.99...95.
        Err(_) => match scale.checked_sub(1) {
            Some(scale) => (
                Decimal::pack(Wide::pow10(u32::from(MAX_PRECISION) - 1), scale, negative),
                false,
            ),
            None => {
                let max = Decimal::max(MAX_PRECISION, 0);
                (if negative { -max } else { max }, true)
            }
        },
    };
    ParsedDecimal {
        value,
        consumed: 0,
        overflow,
        truncated,
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(40);
        self.write(&mut out);
        f.write_str(std::str::from_utf8(&out).expect("digits are ASCII"))
    }
}
