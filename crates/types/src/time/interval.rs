//! `INTERVAL expr unit`, and what DATE_ADD, TIMESTAMPADD and TIMESTAMPDIFF make of it.

use super::calendar::DAY_MICROS;
use super::{Date, DateTime, Time, days_in_month};
use crate::decimal::Decimal;
use std::ops::Neg;

/// The unit of an INTERVAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}

impl IntervalUnit {
    /// By its keyword in any case; `None` for another word. `SQL_TSI_` prefixes are the caller's.
    pub fn from_name(name: &str) -> Option<IntervalUnit> {
        use IntervalUnit::*;
        const ALL: [IntervalUnit; 20] = [
            Microsecond,
            Second,
            Minute,
            Hour,
            Day,
            Week,
            Month,
            Quarter,
            Year,
            SecondMicrosecond,
            MinuteMicrosecond,
            MinuteSecond,
            HourMicrosecond,
            HourSecond,
            HourMinute,
            DayMicrosecond,
            DaySecond,
            DayMinute,
            DayHour,
            YearMonth,
        ];
        ALL.into_iter().find(|unit| unit.name().eq_ignore_ascii_case(name))
    }

    pub fn name(self) -> &'static str {
        use IntervalUnit::*;
        match self {
            Microsecond => "MICROSECOND",
            Second => "SECOND",
            Minute => "MINUTE",
            Hour => "HOUR",
            Day => "DAY",
            Week => "WEEK",
            Month => "MONTH",
            Quarter => "QUARTER",
            Year => "YEAR",
            SecondMicrosecond => "SECOND_MICROSECOND",
            MinuteMicrosecond => "MINUTE_MICROSECOND",
            MinuteSecond => "MINUTE_SECOND",
            HourMicrosecond => "HOUR_MICROSECOND",
            HourSecond => "HOUR_SECOND",
            HourMinute => "HOUR_MINUTE",
            DayMicrosecond => "DAY_MICROSECOND",
            DaySecond => "DAY_SECOND",
            DayMinute => "DAY_MINUTE",
            DayHour => "DAY_HOUR",
            YearMonth => "YEAR_MONTH",
        }
    }

    /// Whether adding it to a DATE gives a DATETIME.
    pub fn has_time(self) -> bool {
        use IntervalUnit::*;
        !matches!(self, Day | Week | Month | Quarter | Year | YearMonth)
    }

    /// Whether its result has microseconds.
    pub fn has_micros(self) -> bool {
        use IntervalUnit::*;
        matches!(
            self,
            Microsecond | SecondMicrosecond | MinuteMicrosecond | HourMicrosecond | DayMicrosecond
        )
    }

    /// What each number of a composite is, first to last: months or microseconds in one of it. For a fraction of a second the
    /// digits are those after the point.
    fn parts(self) -> &'static [Part] {
        use IntervalUnit::*;
        use Part::*;
        match self {
            Microsecond => &[Micros(1)],
            Second => &[SECOND],
            Minute => &[MINUTE],
            Hour => &[HOUR],
            Day => &[DAY],
            Week => &[Micros(7 * DAY_MICROS)],
            Month => &[Months(1)],
            Quarter => &[Months(3)],
            Year => &[Months(12)],
            SecondMicrosecond => &[SECOND, Fraction],
            MinuteMicrosecond => &[MINUTE, SECOND, Fraction],
            MinuteSecond => &[MINUTE, SECOND],
            HourMicrosecond => &[HOUR, MINUTE, SECOND, Fraction],
            HourSecond => &[HOUR, MINUTE, SECOND],
            HourMinute => &[HOUR, MINUTE],
            DayMicrosecond => &[DAY, HOUR, MINUTE, SECOND, Fraction],
            DaySecond => &[DAY, HOUR, MINUTE, SECOND],
            DayMinute => &[DAY, HOUR, MINUTE],
            DayHour => &[DAY, HOUR],
            YearMonth => &[Months(12), Months(1)],
        }
    }
}

#[derive(Clone, Copy)]
enum Part {
    Months(i64),
    Micros(i64),
    Fraction,
}

const SECOND: Part = Part::Micros(1_000_000);
const MINUTE: Part = Part::Micros(60_000_000);
const HOUR: Part = Part::Micros(3_600_000_000);
const DAY: Part = Part::Micros(DAY_MICROS);

/// A span: either months or microseconds, the other is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    pub months: i64,
    pub micros: i64,
}

impl Interval {
    /// `count` of a simple unit (of a composite one: of its last part). `None` beyond any date.
    pub fn of(count: i64, unit: IntervalUnit) -> Option<Interval> {
        match unit.parts().last()? {
            Part::Months(n) => Some(Interval {
                months: count.checked_mul(*n)?,
                micros: 0,
            }),
            Part::Micros(n) => Some(Interval {
                months: 0,
                micros: count.checked_mul(*n)?,
            }),
            Part::Fraction => Some(Interval {
                months: 0,
                micros: count,
            }),
        }
    }

    /// Seconds with a fraction, for `INTERVAL 1.5 SECOND`.
    pub fn of_seconds(seconds: Decimal) -> Option<Interval> {
        let micros = seconds
            .checked_mul(Decimal::from(1_000_000i64))
            .ok()?
            .truncate(0)
            .ok()?;
        Some(Interval {
            months: 0,
            micros: micros.to_i64().ok()?,
        })
    }

    /// The text of a composite unit: numbers with anything between them; fewer numbers than parts are the last parts.
    /// `None` beyond any date, and for more numbers than parts.
    pub fn parse(text: &str, unit: IntervalUnit) -> Option<Interval> {
        let parts = unit.parts();
        let text = text.trim_start();
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let numbers: Vec<&str> = text
            .split(|c: char| !c.is_ascii_digit())
            .filter(|n| !n.is_empty())
            .take(parts.len() + 1)
            .collect();
        let first = parts.len().checked_sub(numbers.len())?;
        let mut total = Interval::default();
        for (number, part) in numbers.iter().zip(&parts[first..]) {
            let value: i64 = number.parse().ok()?;
            match part {
                Part::Months(n) => total.months = total.months.checked_add(value.checked_mul(*n)?)?,
                Part::Micros(n) => total.micros = total.micros.checked_add(value.checked_mul(*n)?)?,
                Part::Fraction => {
                    let six: String = format!("{number:0<6}").chars().take(6).collect();
                    total.micros = total.micros.checked_add(six.parse().ok()?)?;
                }
            }
        }
        Some(if negative { -total } else { total })
    }
}

impl Neg for Interval {
    type Output = Interval;

    /// The one number without an opposite is as far outside of the calendar as the one next to it.
    fn neg(self) -> Interval {
        Interval {
            months: self.months.saturating_neg(),
            micros: self.micros.saturating_neg(),
        }
    }
}

impl DateTime {
    /// DATE_ADD. A month keeps the day where it can: 2024-01-31 + 1 month is 2024-02-29. `None` outside of the calendar
    /// (1441, or NULL with a warning).
    pub fn add_interval(self, interval: Interval) -> Option<DateTime> {
        if interval.months != 0 {
            let moved = DateTime {
                date: self.date.add_months(interval.months)?,
                ..self
            };
            return if interval.micros == 0 {
                Some(moved)
            } else {
                moved.add_micros(interval.micros)
            };
        }
        self.add_micros(interval.micros)
    }
}

impl Date {
    /// Months later, the day cut to the month's last.
    pub fn add_months(self, months: i64) -> Option<Date> {
        if self.month == 0 {
            return None;
        }
        let month = i64::from(self.year) * 12 + i64::from(self.month) - 1;
        let month = month.checked_add(months).filter(|m| (0..120_000).contains(m))?;
        let (year, month) = ((month / 12) as u16, (month % 12 + 1) as u8);
        Some(Date {
            year,
            month,
            day: self.day.min(days_in_month(year, month)),
        })
    }
}

impl Time {
    /// A duration longer by an interval without months; `None` beyond ±838:59:59.
    pub fn add_interval(self, interval: Interval) -> Option<Time> {
        let sum = Time {
            micros: self.micros.checked_add(interval.micros)?,
            ..self
        };
        (interval.months == 0 && sum.is_in_range()).then_some(sum)
    }
}

/// TIMESTAMPDIFF: whole units from `from` to `to`.
pub fn timestamp_diff(unit: IntervalUnit, from: DateTime, to: DateTime) -> i64 {
    match unit.parts()[0] {
        Part::Micros(n) => to.micros_since(from) / n,
        Part::Months(n) => whole_months(from, to) / n,
        Part::Fraction => to.micros_since(from),
    }
}

fn whole_months(from: DateTime, to: DateTime) -> i64 {
    if to < from {
        return -whole_months(to, from);
    }
    let index = |d: DateTime| i64::from(d.date.year) * 12 + i64::from(d.date.month);
    // The last month counts when its day and time are reached.
    let reached = (to.date.day, to.time()) >= (from.date.day, from.time());
    index(to) - index(from) - i64::from(!reached)
}
