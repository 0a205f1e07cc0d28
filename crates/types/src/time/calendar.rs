//! Days and weeks. Day numbers count from year 0 as TO_DAYS does: 1970-01-01 is 719528.

use super::{Date, DateTime};

/// TO_DAYS of 0001-01-01.
const MIN_DAY_NUMBER: i64 = 1;
/// TO_DAYS of 9999-12-31.
pub(super) const MAX_DAY_NUMBER: i64 = 3_652_424;
pub(crate) const DAY_MICROS: i64 = 86_400_000_000;

pub fn is_leap_year(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || (year.is_multiple_of(400) && year != 0))
}

/// 0 for month 0.
pub fn days_in_month(year: u16, month: u8) -> u8 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u8::from(is_leap_year(year)),
        _ => 0,
    }
}

fn days_in_year(year: u16) -> i64 {
    365 + i64::from(is_leap_year(year))
}

/// The mode argument of WEEK and YEARWEEK, 0..=7 (higher bits are ignored).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekMode {
    monday_first: bool,
    /// Weeks count from 1 and the first days of a year may belong to the year before.
    counts_from_one: bool,
    /// Week 1 is the first one that starts in the year; otherwise the first one with four days in it.
    starts_in_year: bool,
}

impl WeekMode {
    pub fn new(mode: i64) -> WeekMode {
        let monday_first = mode & 1 != 0;
        WeekMode {
            monday_first,
            counts_from_one: mode & 2 != 0,
            starts_in_year: (mode & 4 != 0) == monday_first,
        }
    }

    /// For YEARWEEK, whose weeks count from 1 in every mode.
    pub fn for_yearweek(mode: i64) -> WeekMode {
        WeekMode::new(mode | 2)
    }
}

impl Date {
    /// Whether the date is in the calendar: no zero parts, no 31st of a short month.
    pub fn is_real(self) -> bool {
        self.month >= 1 && self.day >= 1 && self.day <= days_in_month(self.year, self.month)
    }

    /// TO_DAYS. Also of dates with zero parts, for which the number has no meaning beyond MySQL's own.
    pub fn to_days(self) -> i64 {
        if self.year == 0 && self.month == 0 {
            return 0;
        }
        let (mut year, month) = (i64::from(self.year), i64::from(self.month));
        let mut days = 365 * year + 31 * (month - 1) + i64::from(self.day);
        if month <= 2 {
            year -= 1;
        } else {
            days -= (month * 4 + 23) / 10;
        }
        days + year / 4 - (year / 100 + 1) * 3 / 4
    }

    /// FROM_DAYS. `None` outside of 0000-01-01..=9999-12-31.
    pub fn from_days(days: i64) -> Option<Date> {
        if !(MIN_DAY_NUMBER..=MAX_DAY_NUMBER).contains(&days) {
            return None;
        }
        // The year is at most days / 365; in 10,000 years it is off by at most seven.
        let mut year = (days * 100 / 36525) as u16;
        let first_of = |year: u16| Date { year, month: 1, day: 1 }.to_days();
        while year < 9999 && first_of(year + 1) <= days {
            year += 1;
        }
        while year > 0 && first_of(year) > days {
            year -= 1;
        }
        let mut rest = days - first_of(year);
        let mut month = 1;
        while rest >= i64::from(days_in_month(year, month)) {
            rest -= i64::from(days_in_month(year, month));
            month += 1;
        }
        Some(Date {
            year,
            month,
            day: rest as u8 + 1,
        })
    }

    /// WEEKDAY: 0 is Monday.
    pub fn weekday(self) -> u8 {
        weekday(self.to_days(), true)
    }

    /// DAYOFWEEK less one: 0 is Sunday.
    pub fn weekday_from_sunday(self) -> u8 {
        weekday(self.to_days(), false)
    }

    /// DAYOFYEAR.
    pub fn day_of_year(self) -> u16 {
        (self.to_days()
            - Date {
                year: self.year,
                month: 1,
                day: 1,
            }
            .to_days()
            + 1) as u16
    }

    /// LAST_DAY; `None` for month 0.
    pub fn last_day(self) -> Option<Date> {
        (1..=12).contains(&self.month).then(|| Date {
            day: days_in_month(self.year, self.month),
            ..self
        })
    }

    pub fn quarter(self) -> u8 {
        self.month.div_ceil(3)
    }

    /// The year and the week that the date is in.
    pub fn week(self, mode: WeekMode) -> (u16, u8) {
        let WeekMode {
            monday_first,
            mut counts_from_one,
            starts_in_year,
        } = mode;
        let late_start = |weekday: i64| if starts_in_year { weekday != 0 } else { weekday >= 4 };
        let mut year = self.year;
        let mut first_day = Date { year, month: 1, day: 1 }.to_days();
        let mut first_weekday = i64::from(weekday(first_day, monday_first));
        if self.month == 1 && i64::from(self.day) <= 7 - first_weekday {
            if !counts_from_one && late_start(first_weekday) {
                return (year, 0);
            }
            if late_start(first_weekday) {
                counts_from_one = true;
                year = year.wrapping_sub(1);
                let days = days_in_year(year);
                first_day -= days;
                first_weekday = (first_weekday + 53 * 7 - days) % 7;
            }
        }
        let week_one = if late_start(first_weekday) {
            first_day + 7 - first_weekday
        } else {
            first_day - first_weekday
        };
        let days = self.to_days() - week_one;
        if counts_from_one && days >= 52 * 7 {
            let next = (first_weekday + days_in_year(year)) % 7;
            if !late_start(next) {
                return (year.wrapping_add(1), 1);
            }
        }
        (year, (days / 7 + 1) as u8)
    }
}

fn weekday(day_number: i64, monday_first: bool) -> u8 {
    ((day_number + 5 + i64::from(!monday_first)) % 7) as u8
}

impl DateTime {
    /// Microseconds since the start of day number 0.
    pub(super) fn absolute_micros(self) -> i64 {
        self.date.to_days() * DAY_MICROS + self.time().micros
    }

    /// The inverse; `None` outside of the calendar.
    pub(super) fn from_absolute_micros(micros: i64, fsp: u8) -> Option<DateTime> {
        let date = Date::from_days(micros.div_euclid(DAY_MICROS))?;
        Some(date.at(micros.rem_euclid(DAY_MICROS), fsp))
    }

    /// Moves by a duration; `None` outside of the calendar and for dates that are not in it.
    pub fn add_micros(self, micros: i64) -> Option<DateTime> {
        if !self.date.is_real() {
            return None;
        }
        DateTime::from_absolute_micros(self.absolute_micros().checked_add(micros)?, self.fsp)
    }

    /// The duration from `earlier` to `self` in microseconds.
    pub fn micros_since(self, earlier: DateTime) -> i64 {
        self.absolute_micros() - earlier.absolute_micros()
    }
}

impl Date {
    /// The moment of the day, in microseconds below a day's.
    pub fn at(self, micros_of_day: i64, fsp: u8) -> DateTime {
        debug_assert!((0..DAY_MICROS).contains(&micros_of_day));
        let seconds = micros_of_day / 1_000_000;
        DateTime {
            date: self,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            micros: (micros_of_day % 1_000_000) as u32,
            fsp,
        }
    }
}
