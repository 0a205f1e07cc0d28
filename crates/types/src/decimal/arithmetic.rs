//! `+ - * / DIV %`, rounding.

use std::ops::Neg;

use super::wide::{self, Double, Wide};
use super::{Decimal, MAX_PRECISION, MAX_SCALE, Overflow, pow10_u64};

/// What becomes of a magnitude when digits are dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    HalfUp,
    Down,
    Up,
}

impl Neg for Decimal {
    type Output = Decimal;

    fn neg(self) -> Decimal {
        Decimal {
            negative: !self.negative && !self.is_zero(),
            ..self
        }
    }
}

impl Decimal {
    pub fn abs(self) -> Decimal {
        Decimal {
            negative: false,
            ..self
        }
    }

    /// The scale of the result is the larger one; when 65 digits do not hold it, the fraction gives way.
    pub fn checked_add(self, other: Decimal) -> Result<Decimal, Overflow> {
        if let (Some(a), Some(b), true) = (self.small(), other.small(), self.scale == other.scale) {
            let sum = signed(a, self.negative) + signed(b, other.negative);
            return Ok(Decimal::from_scaled(sum, self.scale));
        }
        let scale = self.scale.max(other.scale);
        let (a, b) = match (self.rescaled(scale), other.rescaled(scale)) {
            (Some(a), Some(b)) => (a, b),
            _ => return self.add_at_lower_scale(other),
        };
        let (magnitude, negative) = if self.negative == other.negative {
            (a.add(b), self.negative)
        } else if a.compare(b).is_ge() {
            (a.sub(b), self.negative)
        } else {
            (b.sub(a), other.negative)
        };
        fit(wide::widen(magnitude), scale, negative)
    }

    /// A coefficient would exceed 256 bits at the common scale: the integer part needs the digits.
    fn add_at_lower_scale(self, other: Decimal) -> Result<Decimal, Overflow> {
        let integer_digits = self.integer_digits().max(other.integer_digits());
        let scale = (MAX_PRECISION - integer_digits).min(self.scale.max(other.scale));
        self.round(scale)?.checked_add(other.round(scale)?)
    }

    pub fn checked_sub(self, other: Decimal) -> Result<Decimal, Overflow> {
        self.checked_add(-other)
    }

    /// The scale of the result is the sum of both, at most 30.
    pub fn checked_mul(self, other: Decimal) -> Result<Decimal, Overflow> {
        let negative = self.negative != other.negative;
        let scale = self.scale + other.scale;
        if let (Some(a), Some(b), true) = (self.small(), other.small(), scale <= MAX_SCALE) {
            return Ok(Decimal::pack(
                Wide::from_u128(u128::from(a) * u128::from(b)),
                scale,
                negative,
            ));
        }
        fit(self.wide().mul(other.wide()), scale, negative)
    }

    /// Division as `/` does it: the scale of the result is the dividend's plus `increment`
    /// (`div_precision_increment`, 4 by default), at most 30. `None` for a zero divisor.
    pub fn checked_div(self, other: Decimal, increment: u8) -> Result<Option<Decimal>, Overflow> {
        self.div_to_scale(other, (self.scale + increment).min(MAX_SCALE))
    }

    /// Division with the digits that MySQL keeps of an average beyond the printed scale, so that `AVG(x) * 3` of 1, 0 and 0 is
    /// 1.0000. Whoever uses this prints at the type's scale, the dividend's plus `increment`.
    pub fn div_extended(self, other: Decimal, increment: u8) -> Result<Option<Decimal>, Overflow> {
        self.divide(other, self.quotient_scale(other, increment), false)
    }

    /// `/` with at most `scale` digits after the point. MySQL cuts a quotient behind the last of the digits that it
    /// [computes](Self::quotient_scale), and rounds what is left of it: `2.00000 / 3` is 0.666666666, and `2 / 3` is 0.6667.
    pub fn quotient(self, other: Decimal, increment: u8, scale: u8) -> Result<Option<Decimal>, Overflow> {
        let computed = self.quotient_scale(other, increment);
        self.divide(other, scale.min(computed), scale < computed)
    }

    /// The digits after the point that MySQL computes of a quotient: whole groups of nine.
    fn quotient_scale(self, other: Decimal, increment: u8) -> u8 {
        let whole_groups = |scale: u8| scale.div_ceil(9) * 9;
        let (groups1, groups2) = (whole_groups(self.scale), whole_groups(other.scale));
        let slack = groups1 - self.scale + groups2 - other.scale;
        let scale = whole_groups(groups1 + groups2 + increment.saturating_sub(slack));
        let printed = (self.scale + increment).min(MAX_SCALE);
        scale.clamp(printed, MAX_SCALE)
    }

    /// The quotient rounded to `scale` digits after the point. `None` for a zero divisor.
    pub fn div_to_scale(self, other: Decimal, scale: u8) -> Result<Option<Decimal>, Overflow> {
        self.divide(other, scale, true)
    }

    fn divide(self, other: Decimal, scale: u8, rounds: bool) -> Result<Option<Decimal>, Overflow> {
        if other.is_zero() {
            return Ok(None);
        }
        let negative = self.negative != other.negative;
        // (a / 10^sa) / (b / 10^sb) * 10^scale = a * 10^(scale + sb - sa) / b
        let exponent = i32::from(scale) + i32::from(other.scale) - i32::from(self.scale);
        if let (Some(a), Some(b), Ok(up @ 0..=19)) = (self.small(), other.small(), u8::try_from(exponent)) {
            let (a, b) = (u128::from(a) * u128::from(pow10_u64(up)), u128::from(b));
            let quotient = a / b + u128::from(rounds && a % b >= b - a % b);
            return Ok(Some(Decimal::pack(Wide::from_u128(quotient), scale, negative)));
        }
        let (dividend, divisor) = if exponent >= 0 {
            (self.wide().mul(Wide::pow10(exponent as u32)), other.wide())
        } else {
            match other.wide().mul_pow10(exponent.unsigned_abs()) {
                Some(divisor) => (wide::widen(self.wide()), divisor),
                // The divisor is beyond every dividend's reach: the quotient rounds to zero.
                None => return Ok(Some(Decimal::pack(Wide::ZERO, scale, false))),
            }
        };
        let (quotient, remainder) = wide::div_rem(dividend, divisor);
        let up = rounds && remainder.compare(divisor.sub(remainder)).is_ge();
        fit(add_bit(quotient, up), scale, negative).map(Some)
    }

    /// `DIV`: the quotient towards zero, without fraction. `None` for a zero divisor.
    pub fn int_div(self, other: Decimal) -> Result<Option<Decimal>, Overflow> {
        let Some(remainder) = self.checked_rem(other) else {
            return Ok(None);
        };
        self.checked_sub(remainder)?.div_to_scale(other, 0)
    }

    /// `%`: the sign is the dividend's, the scale the larger one. `None` for a zero divisor.
    pub fn checked_rem(self, other: Decimal) -> Option<Decimal> {
        if other.is_zero() {
            return None;
        }
        let scale = self.scale.max(other.scale);
        if let (Some(a), Some(b), true) = (self.small(), other.small(), self.scale == other.scale) {
            return Some(Decimal::pack(Wide::from_u128(u128::from(a % b)), scale, self.negative));
        }
        let dividend = self.wide().mul(Wide::pow10(u32::from(scale - self.scale)));
        let Some(divisor) = other.rescaled(scale) else {
            // The divisor has more than 77 digits at this scale, so it is larger than any dividend of its own scale.
            return Some(self.rem_by_larger(other));
        };
        let (_, remainder) = wide::div_rem(dividend, divisor);
        // A remainder below 10^65 always: it is below both operands.
        Some(fit(wide::widen(remainder), scale, self.negative).unwrap_or(Decimal::ZERO))
    }

    fn rem_by_larger(self, other: Decimal) -> Decimal {
        debug_assert!(self.abs() < other.abs());
        self
    }

    /// Half away from zero, to `scale` digits after the point; zeros are appended when there are fewer.
    pub fn round(self, scale: u8) -> Result<Decimal, Overflow> {
        self.drop_digits(i32::from(scale), Rounding::HalfUp)
    }

    /// Towards zero, to `scale` digits after the point; zeros are appended when there are fewer.
    pub fn truncate(self, scale: u8) -> Result<Decimal, Overflow> {
        self.drop_digits(i32::from(scale), Rounding::Down)
    }

    /// `ROUND(d, digits)`; negative `digits` round before the point.
    pub fn round_at(self, digits: i32) -> Result<Decimal, Overflow> {
        self.drop_digits(digits, Rounding::HalfUp)
    }

    /// `TRUNCATE(d, digits)`; negative `digits` clear digits before the point.
    pub fn truncate_at(self, digits: i32) -> Result<Decimal, Overflow> {
        self.drop_digits(digits, Rounding::Down)
    }

    pub fn floor(self) -> Result<Decimal, Overflow> {
        self.drop_digits(0, if self.negative { Rounding::Up } else { Rounding::Down })
    }

    pub fn ceil(self) -> Result<Decimal, Overflow> {
        self.drop_digits(0, if self.negative { Rounding::Down } else { Rounding::Up })
    }

    fn drop_digits(self, digits: i32, how: Rounding) -> Result<Decimal, Overflow> {
        // One place before the first digit there is nothing left, and the places before that are no different.
        let digits = digits.max(-i32::from(MAX_PRECISION) - 1);
        let scale = digits.clamp(0, i32::from(MAX_SCALE)) as u8;
        if scale >= self.scale && digits >= 0 {
            let coefficient = self.rescaled(scale).ok_or(Overflow)?;
            return checked(coefficient, scale, self.negative);
        }
        let dropped = i32::from(self.scale) - digits;
        if dropped > 77 {
            return Ok(Decimal::ZERO);
        }
        let unit = Wide::pow10(dropped as u32);
        let (quotient, remainder) = match (self.small(), u8::try_from(dropped)) {
            (Some(v), Ok(n @ 0..=19)) => {
                let unit = pow10_u64(n);
                (
                    Wide::from_u128(u128::from(v / unit)),
                    Wide::from_u128(u128::from(v % unit)),
                )
            }
            _ => self.wide().div_rem(unit),
        };
        let up = match how {
            Rounding::Down => false,
            Rounding::Up => !remainder.is_zero(),
            Rounding::HalfUp => remainder.compare(unit.sub(remainder)).is_ge(),
        };
        let quotient = if up { quotient.add(Wide::from_u128(1)) } else { quotient };
        let restored = if digits < 0 {
            quotient.mul_pow10(digits.unsigned_abs())
        } else {
            Some(quotient)
        };
        checked(restored.ok_or(Overflow)?, scale, self.negative)
    }

    /// The coefficient at a scale that is not smaller.
    pub(super) fn rescaled(self, scale: u8) -> Option<Wide> {
        match scale - self.scale {
            0 => Some(self.wide()),
            up => match (self.small(), up) {
                (Some(v), 0..=19) => Some(Wide::from_u128(u128::from(v) * u128::from(pow10_u64(up)))),
                _ => self.wide().mul_pow10(u32::from(up)),
            },
        }
    }
}

fn signed(magnitude: u64, negative: bool) -> i128 {
    if negative {
        -i128::from(magnitude)
    } else {
        i128::from(magnitude)
    }
}

pub(super) fn checked(coefficient: Wide, scale: u8, negative: bool) -> Result<Decimal, Overflow> {
    if coefficient.compare(Wide::pow10(u32::from(MAX_PRECISION))).is_lt() {
        Ok(Decimal::pack(coefficient, scale, negative))
    } else {
        Err(Overflow)
    }
}

/// A result of up to 512 bits at a scale of up to 60, rounded to what 65 digits and scale 30 hold.
fn fit(coefficient: Double, scale: u8, negative: bool) -> Result<Decimal, Overflow> {
    let over_scale = scale.saturating_sub(MAX_SCALE);
    if let (Some(narrow), 0) = (wide::narrow(coefficient), over_scale)
        && let Ok(d) = checked(narrow, scale, negative)
    {
        return Ok(d);
    }
    for dropped in over_scale.max(1)..=scale {
        let unit = Wide::pow10(u32::from(dropped));
        let (quotient, remainder) = wide::div_rem(coefficient, unit);
        let up = remainder.compare(unit.sub(remainder)).is_ge();
        if let Some(narrow) = wide::narrow(add_bit(quotient, up))
            && let Ok(d) = checked(narrow, scale - dropped, negative)
        {
            return Ok(d);
        }
    }
    Err(Overflow)
}

fn add_bit(mut v: Double, bit: bool) -> Double {
    let mut carry = bit;
    for word in &mut v {
        (*word, carry) = word.overflowing_add(u64::from(carry));
        if !carry {
            break;
        }
    }
    v
}
