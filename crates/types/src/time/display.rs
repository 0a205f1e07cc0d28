//! The printed forms, and the numbers that temporals are in numeric context.

use super::{Date, DateTime, Time};
use crate::decimal::Decimal;
use std::fmt;

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:02}:{:02}:{:02}", self.date, self.hour, self.minute, self.second)?;
        write_fraction(f, self.micros, self.fsp)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.micros < 0 { "-" } else { "" };
        let micros = self.micros.unsigned_abs();
        let seconds = micros / 1_000_000;
        write!(f, "{sign}{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
        write_fraction(f, (micros % 1_000_000) as u32, self.fsp)
    }
}

fn write_fraction(f: &mut fmt::Formatter<'_>, micros: u32, fsp: u8) -> fmt::Result {
    match fsp {
        0 => Ok(()),
        1..=5 => {
            let width = usize::from(fsp);
            write!(f, ".{:0width$}", micros / 10u32.pow(6 - u32::from(fsp)))
        }
        _ => write!(f, ".{micros:06}"),
    }
}

/// `value * 10^fsp + fraction`, scaled: the exact number of a temporal with a fraction.
fn with_fraction(whole: i64, micros: u32, fsp: u8) -> Decimal {
    let fsp = fsp.min(6);
    let unit = 10i128.pow(6 - u32::from(fsp));
    let fraction = i128::from(micros) / unit;
    Decimal::from_scaled(i128::from(whole) * 10i128.pow(fsp.into()) + fraction, fsp)
}

impl Date {
    /// 20240131.
    pub fn to_number(self) -> i64 {
        i64::from(self.year) * 10_000 + i64::from(self.month) * 100 + i64::from(self.day)
    }
}

impl DateTime {
    /// 20240131235959, without the fraction.
    pub fn to_number(self) -> i64 {
        self.date.to_number() * 1_000_000
            + i64::from(self.hour) * 10_000
            + i64::from(self.minute) * 100
            + i64::from(self.second)
    }

    /// 20240131235959.25, with `fsp` digits.
    pub fn to_decimal(self) -> Decimal {
        with_fraction(self.to_number(), self.micros, self.fsp)
    }
}

impl Time {
    /// ±hhmmss, without the fraction.
    pub fn to_number(self) -> i64 {
        let seconds = self.micros.abs() / 1_000_000;
        let number = seconds / 3600 * 10_000 + seconds / 60 % 60 * 100 + seconds % 60;
        if self.micros < 0 { -number } else { number }
    }

    /// ±hhmmss.ff, with `fsp` digits.
    pub fn to_decimal(self) -> Decimal {
        let magnitude = Time { micros: self.micros.abs(), ..self };
        let d = with_fraction(magnitude.to_number(), (magnitude.micros % 1_000_000) as u32, self.fsp);
        if self.micros < 0 { d.neg() } else { d }
    }
}
