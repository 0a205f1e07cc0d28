//! DECIMAL: exact numbers of up to 65 digits, 30 of them after the point.
//!
//! A [`Decimal`] is a 216-bit integer coefficient with a decimal scale: no heap, `Copy`, 32 bytes. Nearly every decimal that
//! a database sees fits in 64 bits, so each operation has a native path and falls back to the wide one.
//!
//! Rounding is half away from zero everywhere, as in MySQL.

mod arithmetic;
mod convert;
mod text;
mod wide;

pub use text::ParsedDecimal;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use wide::Wide;

/// Most digits of a DECIMAL.
pub const MAX_PRECISION: u8 = 65;
/// Most digits after the point.
pub const MAX_SCALE: u8 = 30;

/// `±coefficient / 10^scale`. The scale is part of the value for printing (`1.50`), not for comparing (`1.50 = 1.5`).
/// Zero is never negative, the coefficient never above 65 digits.
#[derive(Clone, Copy)]
pub struct Decimal {
    /// Coefficient, least significant word first; `top` holds its bits 192 and up.
    words: [u64; 3],
    top: u32,
    scale: u8,
    negative: bool,
}

/// The result needs more than 65 digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow;

impl fmt::Display for Overflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("decimal result has more than 65 digits")
    }
}

impl std::error::Error for Overflow {}

impl Decimal {
    pub const ZERO: Decimal = Decimal {
        words: [0; 3],
        top: 0,
        scale: 0,
        negative: false,
    };
    pub const ONE: Decimal = Decimal {
        words: [1, 0, 0],
        top: 0,
        scale: 0,
        negative: false,
    };

    /// `coefficient / 10^scale`, for instance the sum of a DECIMAL(10,2) column in cents. `scale <= 30`.
    pub fn from_scaled(coefficient: i128, scale: u8) -> Decimal {
        Decimal::pack(Wide::from_u128(coefficient.unsigned_abs()), scale, coefficient < 0)
    }

    /// The inverse of [`Decimal::from_scaled`] when the coefficient fits.
    pub fn to_scaled(self) -> Option<(i128, u8)> {
        let magnitude = i128::try_from(self.wide().to_u128()?).ok()?;
        Some((if self.negative { -magnitude } else { magnitude }, self.scale))
    }

    /// The largest value of `DECIMAL(precision, scale)`: 99.99 for (4,2).
    pub fn max(precision: u8, scale: u8) -> Decimal {
        let all_nines = Wide::pow10(u32::from(precision)).sub(Wide::from_u128(1));
        Decimal::pack(all_nines, scale, false)
    }

    /// Digits after the point.
    pub fn scale(self) -> u8 {
        self.scale
    }

    /// Digits in all, at least one, counting zeros after the point: 3 for `0.050`, as MySQL derives the type of a literal.
    pub fn precision(self) -> u8 {
        (self.wide().digits() as u8).max(self.scale).max(1)
    }

    /// Digits before the point; 0 for values below one.
    pub fn integer_digits(self) -> u8 {
        (self.wide().digits() as u8).saturating_sub(self.scale)
    }

    pub fn is_zero(self) -> bool {
        self.words == [0; 3] && self.top == 0
    }

    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// Whether `DECIMAL(precision, scale)` holds the value without loss.
    pub fn fits(self, precision: u8, scale: u8) -> bool {
        let trimmed = self.normalized();
        trimmed.scale <= scale && trimmed.integer_digits() + scale <= precision
    }

    /// The same value without zeros at the end of the fraction.
    pub fn normalized(self) -> Decimal {
        let mut d = self;
        if d.is_zero() {
            return Decimal::ZERO;
        }
        while d.scale > 0 {
            let ten = Wide::from_u128(10);
            let (quotient, remainder) = match d.small() {
                Some(v) => (Wide::from_u128(u128::from(v / 10)), Wide::from_u128(u128::from(v % 10))),
                None => d.wide().div_rem(ten),
            };
            if !remainder.is_zero() {
                break;
            }
            d = Decimal::pack(quotient, d.scale - 1, d.negative);
        }
        d
    }

    fn pack(coefficient: Wide, scale: u8, negative: bool) -> Decimal {
        let [a, b, c, d] = coefficient.0;
        debug_assert!(d >> 32 == 0 && scale <= MAX_SCALE);
        Decimal {
            words: [a, b, c],
            top: d as u32,
            scale,
            negative: negative && !coefficient.is_zero(),
        }
    }

    fn wide(self) -> Wide {
        let [a, b, c] = self.words;
        Wide([a, b, c, u64::from(self.top)])
    }

    /// The coefficient when it fits in a word.
    #[inline]
    fn small(self) -> Option<u64> {
        (self.words[1] | self.words[2] | u64::from(self.top) == 0).then_some(self.words[0])
    }
}

/// `10^n` for `n <= 19`.
#[inline]
fn pow10_u64(n: u8) -> u64 {
    const TABLE: [u64; 20] = {
        let mut table = [1; 20];
        let mut i = 1;
        while i < 20 {
            table[i] = table[i - 1] * 10;
            i += 1;
        }
        table
    };
    TABLE[usize::from(n)]
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Decimal) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_magnitude(*other),
            (true, true) => other.compare_magnitude(*self),
        }
    }
}

impl Decimal {
    fn compare_magnitude(self, other: Decimal) -> Ordering {
        let difference = self.scale.abs_diff(other.scale);
        if let (Some(a), Some(b), true) = (self.small(), other.small(), difference <= 19) {
            let (a, b) = (u128::from(a), u128::from(b));
            let factor = u128::from(pow10_u64(difference));
            return if self.scale < other.scale {
                (a * factor).cmp(&b)
            } else {
                a.cmp(&(b * factor))
            };
        }
        // 65 digits and 30 more make 95: compare the 512-bit products.
        let factor = Wide::pow10(u32::from(difference));
        let (a, b) = if self.scale < other.scale {
            (self.wide().mul(factor), wide::widen(other.wide()))
        } else {
            (wide::widen(self.wide()), other.wide().mul(factor))
        };
        a.iter().rev().cmp(b.iter().rev())
    }
}

impl Hash for Decimal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let d = self.normalized();
        (d.words, d.top, d.scale, d.negative).hash(state);
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
