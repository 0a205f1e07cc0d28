//! DECIMAL: exact numbers of up to 65 digits, 30 of them after the point.
//!
//! A [`Decimal`] is a 216-bit integer coefficient with a decimal scale: no heap, `Copy`, 32 bytes. Nearly every decimal that
//! a database sees fits in 64 bits, so each operation has a native path and falls back to the wide one.

use std::cmp::Ordering;
use std::fmt;

/// Most digits of a DECIMAL.
pub const MAX_PRECISION: u8 = 65;
/// Most digits after the point.
pub const MAX_SCALE: u8 = 30;

/// `±coefficient / 10^scale`. The scale is part of the value for printing (`1.50`), not for comparing (`1.50 = 1.5`).
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

impl Decimal {
    pub const ZERO: Decimal = Decimal { words: [0; 3], top: 0, scale: 0, negative: false };

    pub fn scale(self) -> u8 {
        self.scale
    }

    pub fn is_zero(self) -> bool {
        self.words == [0; 3] && self.top == 0
    }

    pub fn is_negative(self) -> bool {
        self.negative
    }
}

impl From<i64> for Decimal {
    fn from(v: i64) -> Decimal {
        Decimal { words: [v.unsigned_abs(), 0, 0], top: 0, scale: 0, negative: v < 0 }
    }
}

impl From<u64> for Decimal {
    fn from(v: u64) -> Decimal {
        Decimal { words: [v, 0, 0], top: 0, scale: 0, negative: false }
    }
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
    fn cmp(&self, _other: &Decimal) -> Ordering {
        todo!()
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        todo!()
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
