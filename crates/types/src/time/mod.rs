//! DATE, TIME, DATETIME, TIMESTAMP: MySQL's calendar with its zero dates, literals, rounding, intervals and formats.
//!
//! All four are plain numbers, `Copy`, and compare as such. Temporals with a fraction carry the number of digits (`fsp`) that
//! they print; it does not take part in comparison.

use std::cmp::Ordering;
use std::fmt;

/// A calendar date; `0000-00-00` and zero months or days are legal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Date {
    pub year: u16,
    pub month: u8,
    pub day: u8,
}

/// A date and a time of day.
#[derive(Debug, Clone, Copy, Default)]
pub struct DateTime {
    pub date: Date,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    /// Fraction digits to print, 0..=6.
    pub fsp: u8,
    pub micros: u32,
}

/// A signed duration within ±838:59:59.
#[derive(Debug, Clone, Copy, Default)]
pub struct Time {
    pub micros: i64,
    /// Fraction digits to print, 0..=6.
    pub fsp: u8,
}

/// A TIMESTAMP as stored: microseconds since 1970-01-01 00:00:00 UTC; 0 is MySQL's zero timestamp `0000-00-00 00:00:00`.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnixTime {
    pub micros: i64,
    /// Fraction digits to print, 0..=6.
    pub fsp: u8,
}

/// The largest TIME: 838:59:59.
pub const MAX_TIME_MICROS: i64 = ((838 * 60 + 59) * 60 + 59) * 1_000_000;

impl Date {
    pub const ZERO: Date = Date { year: 0, month: 0, day: 0 };

    /// Year, month, day in 14, 4, 5 bits.
    pub fn to_packed(self) -> u32 {
        u32::from(self.year) << 9 | u32::from(self.month) << 5 | u32::from(self.day)
    }

    pub fn from_packed(packed: u32) -> Date {
        Date { year: (packed >> 9) as u16, month: (packed >> 5 & 15) as u8, day: (packed & 31) as u8 }
    }

    /// Whether the parts are within their ranges, zeros included; the 31st of a short month passes.
    pub fn is_in_range(self) -> bool {
        self.year <= 9999 && self.month <= 12 && self.day <= 31
    }
}

impl DateTime {
    /// Date, hour, minute, second in 23, 5, 6, 6 bits.
    pub fn packed_seconds(self) -> u64 {
        u64::from(self.date.to_packed()) << 17
            | u64::from(self.hour) << 12
            | u64::from(self.minute) << 6
            | u64::from(self.second)
    }

    pub fn from_packed(packed_seconds: u64, micros: u32, fsp: u8) -> DateTime {
        DateTime {
            date: Date::from_packed((packed_seconds >> 17) as u32),
            hour: (packed_seconds >> 12 & 31) as u8,
            minute: (packed_seconds >> 6 & 63) as u8,
            second: (packed_seconds & 63) as u8,
            fsp,
            micros,
        }
    }

    pub fn is_in_range(self) -> bool {
        self.date.is_in_range() && self.hour < 24 && self.minute < 60 && self.second < 60 && self.micros < 1_000_000
    }
}

impl From<Date> for DateTime {
    /// Midnight.
    fn from(date: Date) -> DateTime {
        DateTime { date, ..DateTime::default() }
    }
}

impl Time {
    pub fn is_in_range(self) -> bool {
        self.micros.abs() <= MAX_TIME_MICROS
    }
}

macro_rules! compare_by {
    ($ty:ident, $key:expr) => {
        impl PartialEq for $ty {
            fn eq(&self, other: &$ty) -> bool {
                $key(self) == $key(other)
            }
        }

        impl Eq for $ty {}

        impl PartialOrd for $ty {
            fn partial_cmp(&self, other: &$ty) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $ty {
            fn cmp(&self, other: &$ty) -> Ordering {
                $key(self).cmp(&$key(other))
            }
        }
    };
}

compare_by!(DateTime, |v: &DateTime| (v.date, v.hour, v.minute, v.second, v.micros));
compare_by!(Time, |v: &Time| v.micros);
compare_by!(UnixTime, |v: &UnixTime| v.micros);

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
