//! DATE, TIME, DATETIME, TIMESTAMP: MySQL's calendar with its zero dates, literals, rounding, intervals and formats.
//!
//! All four are plain numbers, `Copy`, and compare as such. Temporals with a fraction carry the number of digits (`fsp`) that
//! they print; it does not take part in comparison.

pub(crate) mod calendar;
mod display;
mod format;
mod interval;
mod locale;
mod parse;
mod zone;

pub use calendar::{WeekMode, days_in_month, is_leap_year};
pub use format::{MONTHS, StrToDate, WEEKDAYS, date_format, date_format_in, str_to_date, time_format};
pub use interval::{Interval, IntervalUnit, timestamp_diff};
pub use locale::Locale;
pub use parse::{DateRules, ParsedDateTime, ParsedTime};
pub use zone::TimeZone;

use std::cmp::Ordering;

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
    pub const ZERO: Date = Date {
        year: 0,
        month: 0,
        day: 0,
    };

    /// Year, month, day in 14, 4, 5 bits.
    pub fn to_packed(self) -> u32 {
        u32::from(self.year) << 9 | u32::from(self.month) << 5 | u32::from(self.day)
    }

    pub fn from_packed(packed: u32) -> Date {
        Date {
            year: (packed >> 9) as u16,
            month: (packed >> 5 & 15) as u8,
            day: (packed & 31) as u8,
        }
    }

    pub fn is_zero(self) -> bool {
        self == Date::ZERO
    }

    /// Whether the parts are within their ranges, zeros included; the 31st of a short month passes.
    pub fn is_in_range(self) -> bool {
        self.year <= 9999 && self.month <= 12 && self.day <= 31
    }
}

impl DateTime {
    /// The first moment of 1970, from which on moments are counted.
    pub const EPOCH: DateTime = DateTime {
        date: Date {
            year: 1970,
            month: 1,
            day: 1,
        },
        hour: 0,
        minute: 0,
        second: 0,
        fsp: 0,
        micros: 0,
    };

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

    /// Half up to `fsp` digits; `None` when that leaves the calendar (or carries into a zero date).
    pub fn round(self, fsp: u8) -> Option<DateTime> {
        let unit = unit_of(fsp) as u32;
        let micros = (self.micros + unit / 2) / unit * unit;
        if micros < 1_000_000 {
            return Some(DateTime { micros, fsp, ..self });
        }
        let second = DateTime { micros: 0, fsp, ..self };
        second.add_micros(1_000_000)
    }

    /// Drops the digits beyond `fsp`.
    pub fn truncate(self, fsp: u8) -> DateTime {
        let unit = unit_of(fsp) as u32;
        DateTime {
            micros: self.micros / unit * unit,
            fsp,
            ..self
        }
    }

    /// The time of the day.
    pub fn time(self) -> Time {
        let seconds = (i64::from(self.hour) * 60 + i64::from(self.minute)) * 60 + i64::from(self.second);
        Time {
            micros: seconds * 1_000_000 + i64::from(self.micros),
            fsp: self.fsp,
        }
    }

    pub fn is_zero(self) -> bool {
        self.date.is_zero() && self.time().micros == 0
    }

    pub fn is_in_range(self) -> bool {
        self.date.is_in_range() && self.hour < 24 && self.minute < 60 && self.second < 60 && self.micros < 1_000_000
    }
}

impl From<Date> for DateTime {
    /// Midnight.
    fn from(date: Date) -> DateTime {
        DateTime {
            date,
            ..DateTime::default()
        }
    }
}

impl Time {
    /// Of a magnitude in parts; `None` beyond 838:59:59 or with 60 minutes or seconds.
    pub fn from_parts(negative: bool, hours: u32, minutes: u32, seconds: u32, micros: u32, fsp: u8) -> Option<Time> {
        if minutes > 59 || seconds > 59 || micros > 999_999 {
            return None;
        }
        let magnitude =
            (i64::from(hours) * 3600 + i64::from(minutes) * 60 + i64::from(seconds)) * 1_000_000 + i64::from(micros);
        let time = Time {
            micros: if negative { -magnitude } else { magnitude },
            fsp,
        };
        time.is_in_range().then_some(time)
    }

    /// Hours of the magnitude, 0..=838.
    pub fn hours(self) -> u32 {
        (self.micros.unsigned_abs() / 3_600_000_000) as u32
    }

    pub fn minutes(self) -> u32 {
        (self.micros.unsigned_abs() / 60_000_000 % 60) as u32
    }

    pub fn seconds(self) -> u32 {
        (self.micros.unsigned_abs() / 1_000_000 % 60) as u32
    }

    /// The fraction of the magnitude.
    pub fn fraction(self) -> u32 {
        (self.micros.unsigned_abs() % 1_000_000) as u32
    }

    /// Half away from zero to `fsp` digits, within the range.
    pub fn round(self, fsp: u8) -> Time {
        let unit = unit_of(fsp);
        let magnitude = (self.micros.abs() + unit / 2) / unit * unit;
        let magnitude = magnitude.min(MAX_TIME_MICROS);
        Time {
            micros: if self.micros < 0 { -magnitude } else { magnitude },
            fsp,
        }
    }

    /// Drops the digits beyond `fsp`.
    pub fn truncate(self, fsp: u8) -> Time {
        Time {
            micros: self.micros / unit_of(fsp) * unit_of(fsp),
            fsp,
        }
    }

    pub fn is_in_range(self) -> bool {
        self.micros.abs() <= MAX_TIME_MICROS
    }
}

impl UnixTime {
    /// The largest TIMESTAMP: 2038-01-19 03:14:07.999999 UTC.
    pub const MAX_MICROS: i64 = i32::MAX as i64 * 1_000_000 + 999_999;

    /// MySQL's zero timestamp.
    pub fn is_zero(self) -> bool {
        self.micros == 0
    }

    /// Whether a TIMESTAMP column can hold it.
    pub fn is_in_range(self) -> bool {
        (0..=UnixTime::MAX_MICROS).contains(&self.micros)
    }

    /// Cut to `fsp` digits.
    pub fn truncate(self, fsp: u8) -> UnixTime {
        let unit = unit_of(fsp);
        UnixTime {
            micros: self.micros.div_euclid(unit) * unit,
            fsp,
        }
    }

    /// Half up to `fsp` digits.
    pub fn round(self, fsp: u8) -> UnixTime {
        let unit = unit_of(fsp);
        UnixTime {
            micros: (self.micros + unit / 2) / unit * unit,
            fsp,
        }
    }
}

/// Microseconds in one unit of the last digit.
fn unit_of(fsp: u8) -> i64 {
    10i64.pow(6 - u32::from(fsp.min(6)))
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

#[cfg(test)]
mod tests;
