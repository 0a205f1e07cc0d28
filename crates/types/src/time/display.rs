//! The printed forms, and the numbers that temporals are in numeric context.

use super::{Date, DateTime, Time};
use crate::decimal::Decimal;
use std::fmt;

impl Date {
    /// Appends `yyyy-mm-dd`.
    pub fn write(self, out: &mut Vec<u8>) {
        write_digits(self.year.into(), 4, out);
        out.push(b'-');
        write_digits(self.month.into(), 2, out);
        out.push(b'-');
        write_digits(self.day.into(), 2, out);
    }
}

impl DateTime {
    /// Appends `yyyy-mm-dd hh:mm:ss` and `fsp` digits of the fraction.
    pub fn write(self, out: &mut Vec<u8>) {
        self.date.write(out);
        out.push(b' ');
        write_clock(self.hour.into(), self.minute.into(), self.second.into(), out);
        write_fraction(self.micros, self.fsp, out);
    }
}

impl Time {
    /// Appends `hh:mm:ss` with its sign, and `fsp` digits of the fraction.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.micros < 0 {
            out.push(b'-');
        }
        write_clock(self.hours(), self.minutes(), self.seconds(), out);
        write_fraction(self.fraction(), self.fsp, out);
    }
}

/// Appends at least `width` digits.
pub(crate) fn write_digits(v: u32, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + width, b'0');
    let mut rest = v;
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if rest > 0 {
        out.truncate(start);
        crate::number::write_u64(v.into(), out);
    }
}

fn write_clock(hours: u32, minutes: u32, seconds: u32, out: &mut Vec<u8>) {
    write_digits(hours, 2, out);
    out.push(b':');
    write_digits(minutes, 2, out);
    out.push(b':');
    write_digits(seconds, 2, out);
}

fn write_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    let fsp = fsp.min(6);
    if fsp > 0 {
        out.push(b'.');
        write_digits(micros / 10u32.pow(6 - u32::from(fsp)), fsp.into(), out);
    }
}

fn display(f: &mut fmt::Formatter<'_>, write: impl FnOnce(&mut Vec<u8>)) -> fmt::Result {
    let mut out = Vec::with_capacity(26);
    write(&mut out);
    f.write_str(std::str::from_utf8(&out).expect("temporals print as ASCII"))
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, |out| self.write(out))
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, |out| self.write(out))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        display(f, |out| self.write(out))
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
        let magnitude = Time {
            micros: self.micros.abs(),
            ..self
        };
        let d = with_fraction(magnitude.to_number(), (magnitude.micros % 1_000_000) as u32, self.fsp);
        if self.micros < 0 { -d } else { d }
    }
}
