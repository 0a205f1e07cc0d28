//! Numbers of 64 significant bits: what C calls `long double` on x86-64, and Redis adds floating-point numbers in.
//!
//! Only what INCRBYFLOAT needs: reading a decimal, adding, and writing with 17 digits behind the point. Each step rounds to the nearest, as the
//! processor does, so that sums come out digit for digit as in Redis: 0.1 and 0.2 make 0.3.

use num_bigint::{BigInt, BigUint, Sign};

/// `mantissa * 2^exponent`, the mantissa with 64 bits at most.
#[derive(Debug, Clone, PartialEq)]
pub struct Extended {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

/// Digits behind the point.
const DIGITS: u32 = 17;
/// Decimal exponents beyond these are no numbers of this kind.
const EXPONENT_MAX: i64 = 4932;

impl Extended {
    /// A decimal number, whole: `-1.5e3`. `None` also for infinity, and for what does not fit.
    pub fn parse(text: &[u8]) -> Option<Extended> {
        let text = std::str::from_utf8(text).ok()?;
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if rest.starts_with(['0']) && rest[1..].starts_with(['x', 'X']) {
            let value = crate::number::parse_f64(text.as_bytes())?;
            return value.is_finite().then(|| Extended::of_f64(value));
        }
        let (digits, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], rest[at + 1..].parse::<i64>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !is_number(whole) || !is_number(fraction) {
            return None;
        }
        // As many digits as could ever matter.
        if whole.len() + fraction.len() > 2 * EXPONENT_MAX as usize {
            return None;
        }
        let all = format!("{whole}{fraction}");
        let value = BigUint::parse_bytes(all.as_bytes(), 10)?;
        let exponent = exponent.checked_sub(fraction.len() as i64)?;
        if value == BigUint::ZERO {
            return Some(Extended::zero(negative));
        }
        let magnitude = exponent + value.to_string().len() as i64;
        if !(-EXPONENT_MAX..=EXPONENT_MAX).contains(&magnitude) {
            return None;
        }
        let power = |exponent: i64| BigUint::from(10u32).pow(exponent as u32);
        Some(match exponent >= 0 {
            true => rounded(negative, value * power(exponent), 0, false),
            false => {
                // Enough bits of the quotient, and whether something is left.
                let divisor = power(-exponent);
                let shift = (divisor.bits() + 66).saturating_sub(value.bits());
                let scaled = value << shift;
                let quotient = &scaled / &divisor;
                let is_rest = &quotient * &divisor != scaled;
                rounded(negative, quotient, -(shift as i32), is_rest)
            }
        })
    }

    pub fn of_f64(value: f64) -> Extended {
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match exponent {
            0 => (fraction, -1074),
            exponent => (fraction | 1 << 52, exponent - 1075),
        };
        Extended {
            negative: value.is_sign_negative(),
            mantissa,
            exponent,
        }
    }

    fn zero(negative: bool) -> Extended {
        Extended {
            negative,
            mantissa: 0,
            exponent: 0,
        }
    }

    pub fn plus(&self, other: &Extended) -> Extended {
        if self.mantissa == 0 {
            return other.clone();
        }
        if other.mantissa == 0 {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        let whole = |number: &Extended| {
            let sign = if number.negative { Sign::Minus } else { Sign::Plus };
            BigInt::from_biguint(
                sign,
                BigUint::from(number.mantissa) << (number.exponent - exponent) as usize,
            )
        };
        let sum = whole(self) + whole(other);
        match sum.sign() {
            Sign::NoSign => Extended::zero(false),
            sign => rounded(sign == Sign::Minus, sum.magnitude().clone(), exponent, false),
        }
    }

    /// With 17 digits behind the point, less the zeros at the end; no exponent.
    pub fn text(&self) -> String {
        let scale = BigUint::from(10u32).pow(DIGITS);
        let scaled = BigUint::from(self.mantissa) * scale;
        let value = match self.exponent >= 0 {
            true => scaled << self.exponent as usize,
            false => {
                let shift = -self.exponent as usize;
                let half = BigUint::from(1u32) << (shift - 1);
                let quotient = &scaled >> shift;
                let rest = scaled - (&quotient << shift);
                let is_odd = quotient.bit(0);
                match rest > half || rest == half && is_odd {
                    true => quotient + 1u32,
                    false => quotient,
                }
            }
        };
        let digits = format!("{value:0>width$}", width = DIGITS as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - DIGITS as usize);
        let fraction = fraction.trim_end_matches('0');
        let is_zero = fraction.is_empty() && whole.bytes().all(|digit| digit == b'0');
        let sign = if self.negative && !is_zero { "-" } else { "" };
        match fraction.is_empty() {
            true => format!("{sign}{whole}"),
            false => format!("{sign}{whole}.{fraction}"),
        }
    }
}

/// The nearest number to `value * 2^exponent`, or to a little more than that; of two, the even one.
fn rounded(negative: bool, value: BigUint, exponent: i32, has_rest: bool) -> Extended {
    let excess = value.bits().saturating_sub(64) as usize;
    if excess == 0 {
        let mantissa = value.iter_u64_digits().next().unwrap_or(0);
        return Extended {
            negative,
            mantissa,
            exponent,
        };
    }
    let quotient = &value >> excess;
    let rest = value - (&quotient << excess);
    let half = BigUint::from(1u32) << (excess - 1);
    let mut mantissa = quotient.iter_u64_digits().next().unwrap_or(0);
    let mut exponent = exponent + excess as i32;
    let is_up = rest > half || rest == half && (has_rest || mantissa & 1 == 1);
    if is_up {
        match mantissa.checked_add(1) {
            Some(more) => mantissa = more,
            None => {
                mantissa = 1 << 63;
                exponent += 1;
            }
        }
    }
    Extended {
        negative,
        mantissa,
        exponent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(a: &str, b: &str) -> String {
        let number = |text: &str| Extended::parse(text.as_bytes()).unwrap();
        number(a).plus(&number(b)).text()
    }

    #[test]
    fn sums_are_those_of_redis() {
        // Recorded from Redis 7.0.15 (INCRBYFLOAT).
        for (a, b, result) in [
            ("0.1", "0.2", "0.3"),
            ("10.5", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("3000", "0.1", "3000.10000000000000009"),
            ("100000", "0.123456789", "100000.12345678900000223"),
            ("3.7", "1.1", "4.8"),
            ("1", "-1", "0"),
            ("-0.5", "0.25", "-0.25"),
            ("17179869184", "1.5", "17179869185.5"),
            ("0", "1e-17", "0.00000000000000001"),
            ("0", "1e-19", "0"),
            ("1.23", "-1.23", "0"),
        ] {
            assert_eq!(sum(a, b), result, "{a} + {b}");
        }
        assert!(sum("0", "1e308").starts_with("99999999999999999996685879655"));
        assert!(sum("0", "1.7976931348623157e308").starts_with("17976931348623156999592104677410443404838644694432"));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", ".", "1e", "abc", "1 ", "inf", "nan", "1e5000"] {
            assert_eq!(Extended::parse(text.as_bytes()), None, "{text}");
        }
    }
}
