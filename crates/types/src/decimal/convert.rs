//! Decimals from and to other numbers, and to the bytes of rows and keys.

use super::wide::Wide;
use super::{Decimal, MAX_SCALE, Overflow, pow10_u64};

impl From<i64> for Decimal {
    fn from(v: i64) -> Decimal {
        Decimal {
            words: [v.unsigned_abs(), 0, 0],
            top: 0,
            scale: 0,
            negative: v < 0,
        }
    }
}

impl From<u64> for Decimal {
    fn from(v: u64) -> Decimal {
        Decimal {
            words: [v, 0, 0],
            top: 0,
            scale: 0,
            negative: false,
        }
    }
}

impl Decimal {
    /// Rounded half away from zero. On overflow the nearest `i64`.
    pub fn to_i64(self) -> Result<i64, i64> {
        let limit = if self.negative { i64::MIN } else { i64::MAX };
        match self.integer() {
            Some(v) => {
                let v = if self.negative { -i128::from(v) } else { i128::from(v) };
                i64::try_from(v).map_err(|_| limit)
            }
            None => Err(limit),
        }
    }

    /// Rounded half away from zero. On overflow the nearest `u64`, which is 0 for negative values.
    pub fn to_u64(self) -> Result<u64, u64> {
        match self.integer() {
            Some(0) => Ok(0),
            _ if self.negative => Err(0),
            Some(v) => Ok(v),
            None => Err(u64::MAX),
        }
    }

    /// The rounded magnitude.
    fn integer(self) -> Option<u64> {
        match self.small() {
            Some(v) if self.scale == 0 => Some(v),
            _ => self.round(0).ok()?.small(),
        }
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        // Both exact in a double, and division rounds correctly.
        if let (Some(v @ 0..=0x1f_ffff_ffff_ffff), 0..=19) = (self.small(), self.scale) {
            let magnitude = v as f64 / pow10_u64(self.scale) as f64;
            return if self.negative { -magnitude } else { magnitude };
        }
        self.to_string().parse().expect("a decimal's text is a number")
    }

    /// From the shortest decimal text of the double, as MySQL does. Not a number is an overflow.
    pub fn from_f64(v: f64) -> Result<Decimal, Overflow> {
        if !v.is_finite() {
            return Err(Overflow);
        }
        let parsed = Decimal::parse_prefix(format!("{v:e}").as_bytes());
        if parsed.overflow {
            Err(Overflow)
        } else {
            Ok(parsed.value)
        }
    }

    /// Bytes that the sortable form of `DECIMAL(precision, _)` takes: 5 for 10 digits, 28 for 65.
    pub fn sortable_len(precision: u8) -> usize {
        (Wide::pow10(u32::from(precision)).bits() as usize + 1).div_ceil(8)
    }

    /// Appends `len` bytes whose order is the numeric order among values of one scale: the coefficient at `scale` plus half of
    /// the range, big-endian. The value must fit the type.
    pub fn write_sortable(self, scale: u8, len: usize, out: &mut Vec<u8>) {
        let coefficient = if self.scale == scale {
            self.wide()
        } else {
            let rounded = self.round(scale).expect("the value was assigned to the column's type");
            rounded.wide()
        };
        if len <= 8 {
            let half = 1u64 << (8 * len - 1);
            let magnitude = coefficient.0[0];
            let biased = if self.negative {
                half - magnitude
            } else {
                half + magnitude
            };
            out.extend_from_slice(&biased.to_be_bytes()[8 - len..]);
            return;
        }
        let half = half_range(len);
        let biased = if self.negative {
            half.sub(coefficient)
        } else {
            half.add(coefficient)
        };
        let mut bytes = [0; 32];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(biased.0.iter().rev()) {
            chunk.copy_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&bytes[32 - len..]);
    }

    /// Reads what [`Decimal::write_sortable`] wrote. `None` if no decimal has these bytes.
    pub fn read_sortable(bytes: &[u8], scale: u8) -> Option<Decimal> {
        let len = bytes.len();
        if len == 0 || len > 28 || scale > MAX_SCALE {
            return None;
        }
        if len <= 8 {
            let mut word = [0; 8];
            word[8 - len..].copy_from_slice(bytes);
            let biased = u64::from_be_bytes(word);
            let half = 1u64 << (8 * len - 1);
            return Some(Decimal {
                words: [biased.abs_diff(half), 0, 0],
                top: 0,
                scale,
                negative: biased < half,
            });
        }
        let mut padded = [0; 32];
        padded[32 - len..].copy_from_slice(bytes);
        let mut words = [0; 4];
        for (word, chunk) in words.iter_mut().rev().zip(padded.chunks_exact(8)) {
            *word = u64::from_be_bytes(chunk.try_into().expect("chunks of 8"));
        }
        let (biased, half) = (Wide(words), half_range(len));
        let (magnitude, negative) = if biased.compare(half).is_ge() {
            (biased.sub(half), false)
        } else {
            (half.sub(biased), true)
        };
        super::arithmetic::checked(magnitude, scale, negative).ok()
    }
}

fn half_range(len: usize) -> Wide {
    let bit = 8 * len - 1;
    let mut words = [0; 4];
    words[bit / 64] = 1 << (bit % 64);
    Wide(words)
}
