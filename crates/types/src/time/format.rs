//! DATE_FORMAT with the names of a locale; TIME_FORMAT, and STR_TO_DATE, which reads English ones.

use super::{Date, DateRules, DateTime, Locale, Time, WeekMode};
use std::fmt::Write;

pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// From Monday.
pub const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// DATE_FORMAT with English names.
pub fn date_format(value: DateTime, format: &str) -> Option<String> {
    date_format_in(value, format, Locale::english())
}

/// DATE_FORMAT. `None` (NULL) when a name is asked for of a zero month or an impossible day.
pub fn date_format_in(value: DateTime, format: &str, locale: &Locale) -> Option<String> {
    let mut out = String::with_capacity(format.len() + 16);
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if !governor::go_on() {
            return None;
        }
        match (c, if c == '%' { chars.next() } else { None }) {
            ('%', Some(spec)) => write_date_spec(value, spec, locale, &mut out)?,
            _ => out.push(c),
        }
    }
    Some(out)
}

fn write_date_spec(value: DateTime, spec: char, locale: &Locale, out: &mut String) -> Option<()> {
    let date = value.date;
    // Neither month nor year: no day of a week.
    let has_weekday = (date.month, date.year) != (0, 0);
    let weekday = || has_weekday.then(|| date.weekday());
    let week = |mode: i64| date.week(WeekMode::new(mode));
    // Writing to a String does not fail.
    let _ = match spec {
        'a' => write!(out, "{}", locale.short_weekday(weekday()?)?),
        'b' => write!(out, "{}", locale.short_month(date.month)?),
        'c' => write!(out, "{}", date.month),
        'D' => write!(out, "{}{}", date.day, ordinal_suffix(date.day)),
        'd' => write!(out, "{:02}", date.day),
        'e' => write!(out, "{}", date.day),
        'j' => write!(out, "{:03}", date.day_of_year()),
        'M' => write!(out, "{}", locale.month(date.month)?),
        'm' => write!(out, "{:02}", date.month),
        'U' => write!(out, "{:02}", week(0).1),
        'u' => write!(out, "{:02}", week(1).1),
        'V' => write!(out, "{:02}", week(2).1),
        'v' => write!(out, "{:02}", week(3).1),
        'W' => write!(out, "{}", locale.weekday(weekday()?)?),
        'w' if !has_weekday => return None,
        'w' => write!(out, "{}", date.weekday_from_sunday()),
        'X' => write!(out, "{:04}", week(2).0),
        'x' => write!(out, "{:04}", week(3).0),
        'Y' => write!(out, "{:04}", date.year),
        'y' => write!(out, "{:02}", date.year % 100),
        spec => {
            write_time_spec(value.time(), spec, out);
            Ok(())
        }
    };
    Some(())
}

/// TIME_FORMAT: specifiers of dates give zeros or NULL, hours may exceed 23.
pub fn time_format(value: Time, format: &str) -> Option<String> {
    let mut out = String::with_capacity(format.len() + 16);
    if value.micros < 0 {
        out.push('-');
    }
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if !governor::go_on() {
            return None;
        }
        match (c, if c == '%' { chars.next() } else { None }) {
            ('%', Some(spec)) => match spec {
                'Y' => out.push_str("0000"),
                'y' | 'm' | 'd' => out.push_str("00"),
                'c' | 'e' => out.push('0'),
                'a' | 'b' | 'D' | 'j' | 'M' | 'U' | 'u' | 'V' | 'v' | 'W' | 'w' | 'X' | 'x' => return None,
                spec => write_time_spec(value, spec, &mut out),
            },
            _ => out.push(c),
        }
    }
    Some(out)
}

fn write_time_spec(time: Time, spec: char, out: &mut String) {
    let (hours, minutes, seconds) = (time.hours(), time.minutes(), time.seconds());
    let hour12 = (hours % 24 + 11) % 12 + 1;
    let half = if hours % 24 < 12 { "AM" } else { "PM" };
    // Writing to a String does not fail.
    let _ = match spec {
        'f' => write!(out, "{:06}", time.fraction()),
        'H' => write!(out, "{hours:02}"),
        'h' | 'I' => write!(out, "{hour12:02}"),
        'i' => write!(out, "{minutes:02}"),
        'k' => write!(out, "{hours}"),
        'l' => write!(out, "{hour12}"),
        'p' => write!(out, "{half}"),
        'r' => write!(out, "{hour12:02}:{minutes:02}:{seconds:02} {half}"),
        'S' | 's' => write!(out, "{seconds:02}"),
        'T' => write!(out, "{hours:02}:{minutes:02}:{seconds:02}"),
        other => write!(out, "{other}"),
    };
}

fn ordinal_suffix(day: u8) -> &'static str {
    match day {
        11..=13 => "th",
        _ => match day % 10 {
            1 => "st",
            2 => "nd",
            3 => "rd",
            _ => "th",
        },
    }
}

/// What STR_TO_DATE read; which one the result is, the format decides (not the text).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrToDate {
    pub value: DateTime,
    /// Hours beyond a day, for formats without a date.
    pub time: Time,
    pub has_date: bool,
    pub has_time: bool,
    /// The text goes on after the format's end.
    pub truncated: bool,
}

#[derive(Default)]
struct Fields {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    micros: u32,
    /// `%h` and friends: AM or PM decides.
    twelve_hours: bool,
    afternoon: bool,
    day_of_year: Option<u32>,
    /// 0 is Sunday.
    weekday: Option<u32>,
    week: Option<(u32, WeekStart)>,
    week_year: Option<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum WeekStart {
    Sunday { strict: bool },
    Monday { strict: bool },
}

/// STR_TO_DATE. `None` (NULL, with warning 1411) if the text does not match or the date is not acceptable.
pub fn str_to_date(text: &str, format: &str, rules: DateRules) -> Option<StrToDate> {
    let mut fields = Fields::default();
    let rest = scan(text, format, &mut fields, 0)?;
    let (has_date, has_time) = format_contents(format);
    fields.finish(rules, has_date, has_time, !skip(rest, char::is_whitespace).is_empty())
}

/// Whether the format names parts of a date, of a time.
fn format_contents(format: &str) -> (bool, bool) {
    let mut specs = [false; 128];
    let mut is_spec = false;
    for byte in governor::bulk::pieces(format.as_bytes()).flatten() {
        if std::mem::replace(&mut is_spec, *byte == b'%') && *byte < 128 {
            specs[usize::from(*byte)] = true;
        }
    }
    let any = |set: &str| set.bytes().any(|c| specs[usize::from(c)]);
    (any("abcDdejMmUuVvWwXxYy"), any("fHhIiklprSsT"))
}

/// Reads `text` by `format`; the rest of the text, or `None` where they part.
fn scan<'a>(text: &'a str, format: &str, fields: &mut Fields, depth: usize) -> Option<&'a str> {
    let mut text = text;
    let mut format = format.chars();
    while let Some(c) = format.next() {
        if !governor::go_on() {
            return None;
        }
        text = skip(text, char::is_whitespace);
        if text.is_empty() {
            // A text that ends early leaves the other parts at zero.
            break;
        }
        match c {
            '%' => {
                let spec = format.next()?;
                text = scan_spec(text, spec, fields, depth)?;
            }
            c if c.is_whitespace() => {}
            c => text = text.strip_prefix(c)?,
        }
    }
    Some(text)
}

/// The text after characters that are such, however many.
fn skip(text: &str, is_such: impl Fn(char) -> bool + Copy) -> &str {
    let mut skipped = 0;
    for piece in governor::bulk::text_pieces(text) {
        let rest = piece.trim_start_matches(is_such);
        skipped += piece.len() - rest.len();
        if !rest.is_empty() {
            break;
        }
    }
    &text[skipped..]
}

fn scan_spec<'a>(text: &'a str, spec: char, fields: &mut Fields, depth: usize) -> Option<&'a str> {
    let number = |limit| take_number(text, limit);
    let rest;
    match spec {
        'Y' => {
            let digits = text.bytes().take(4).take_while(u8::is_ascii_digit).count();
            (fields.year, rest) = number(4)?;
            if digits <= 2 {
                fields.year = two_digit_year(fields.year);
            }
        }
        'y' => {
            (fields.year, rest) = number(2)?;
            fields.year = two_digit_year(fields.year);
        }
        'm' | 'c' => (fields.month, rest) = number(2)?,
        'M' => (fields.month, rest) = take_name(text, &MONTHS, false)?,
        'b' => (fields.month, rest) = take_name(text, &MONTHS, true)?,
        'd' | 'e' => (fields.day, rest) = number(2)?,
        'D' => {
            let (day, tail) = number(2)?;
            fields.day = day;
            rest = tail.get(2..).unwrap_or("");
        }
        'H' | 'k' => (fields.hour, rest) = number(2)?,
        'h' | 'I' | 'l' => {
            (fields.hour, rest) = number(2)?;
            fields.twelve_hours = true;
        }
        'i' => (fields.minute, rest) = number(2)?,
        'S' | 's' => (fields.second, rest) = number(2)?,
        'f' => {
            let digits = text.bytes().take(6).take_while(u8::is_ascii_digit).count();
            let (value, tail) = number(6)?;
            fields.micros = value * 10u32.pow(6 - digits as u32);
            rest = tail;
        }
        'p' => {
            let half = text.get(..2)?;
            fields.afternoon = half.eq_ignore_ascii_case("PM");
            // It halves what was read as an hour of twelve.
            if !fields.twelve_hours || (!fields.afternoon && !half.eq_ignore_ascii_case("AM")) {
                return None;
            }
            rest = &text[2..];
        }
        'W' | 'a' => {
            let (index, tail) = take_name(text, &WEEKDAYS, spec == 'a')?;
            fields.weekday = Some(index % 7);
            rest = tail;
        }
        'w' => {
            let (weekday, tail) = number(1)?;
            fields.weekday = (weekday < 7).then_some(weekday);
            fields.weekday?;
            rest = tail;
        }
        'j' => {
            let (day, tail) = number(3)?;
            fields.day_of_year = (1..=366).contains(&day).then_some(day);
            fields.day_of_year?;
            rest = tail;
        }
        'U' | 'u' | 'V' | 'v' => {
            let (week, tail) = number(2)?;
            let start = match spec {
                'U' => WeekStart::Sunday { strict: false },
                'u' => WeekStart::Monday { strict: false },
                'V' => WeekStart::Sunday { strict: true },
                _ => WeekStart::Monday { strict: true },
            };
            let strict = matches!(
                start,
                WeekStart::Sunday { strict: true } | WeekStart::Monday { strict: true }
            );
            if week > 53 || (week == 0 && strict) {
                return None;
            }
            fields.week = Some((week, start));
            rest = tail;
        }
        'X' | 'x' => {
            let (year, tail) = number(4)?;
            fields.week_year = Some(year);
            rest = tail;
        }
        'r' if depth == 0 => return scan(text, "%I:%i:%S %p", fields, 1),
        'T' if depth == 0 => return scan(text, "%H:%i:%S", fields, 1),
        '.' => rest = skip(text, |c| c.is_ascii_punctuation()),
        '@' => rest = skip(text, |c| c.is_ascii_alphabetic()),
        '#' => rest = skip(text, |c| c.is_ascii_digit()),
        '%' => rest = text.strip_prefix('%')?,
        _ => return None,
    }
    Some(rest)
}

impl Fields {
    fn finish(mut self, rules: DateRules, has_date: bool, has_time: bool, truncated: bool) -> Option<StrToDate> {
        if self.twelve_hours {
            if self.hour > 12 || self.hour == 0 {
                return None;
            }
            self.hour = self.hour % 12 + if self.afternoon { 12 } else { 0 };
        }
        if self.year > 9999 || self.month > 12 || self.day > 31 || self.minute > 59 || self.second > 59 {
            return None;
        }
        if has_date && self.hour > 23 {
            return None;
        }
        let mut date = Date {
            year: self.year as u16,
            month: self.month as u8,
            day: self.day as u8,
        };
        if let Some(day) = self.day_of_year {
            let first = Date {
                month: 1,
                day: 1,
                ..date
            };
            date = match (date.year, day) {
                // The year that nothing told is as long as the one after it.
                (0, ..=365) => Date {
                    year: 0,
                    ..Date::from_days(Date { year: 1, ..first }.to_days() + i64::from(day) - 1)?
                },
                _ => Date::from_days(first.to_days() + i64::from(day) - 1)?,
            };
            if date.year == 0 && !rules.zero_date {
                return None;
            }
        }
        if let (Some((week, start)), Some(weekday)) = (self.week, self.weekday) {
            date = self.date_of_week(week, start, weekday)?;
        }
        if has_date && !rules.allow(date) {
            return None;
        }
        let time = Time::from_parts(false, self.hour, self.minute, self.second, self.micros, 6)?;
        let value = date.at(time.micros % super::calendar::DAY_MICROS, 6);
        Some(StrToDate {
            value,
            time,
            has_date,
            has_time,
            truncated,
        })
    }

    fn date_of_week(&self, week: u32, start: WeekStart, weekday_from_sunday: u32) -> Option<Date> {
        let (monday_first, strict) = match start {
            WeekStart::Sunday { strict } => (false, strict),
            WeekStart::Monday { strict } => (true, strict),
        };
        if strict != self.week_year.is_some() {
            return None;
        }
        let year = if strict { self.week_year? } else { self.year };
        let first = Date {
            year: u16::try_from(year).ok().filter(|y| *y <= 9999)?,
            month: 1,
            day: 1,
        };
        let first_weekday = i64::from(if monday_first {
            first.weekday()
        } else {
            first.weekday_from_sunday()
        });
        let weekday = i64::from(if monday_first {
            (weekday_from_sunday + 6) % 7
        } else {
            weekday_from_sunday
        });
        let late = if monday_first {
            first_weekday <= 3
        } else {
            first_weekday == 0
        };
        let first_week = first.to_days() - first_weekday + if late { 0 } else { 7 };
        Date::from_days(first_week + (i64::from(week) - 1) * 7 + weekday)
    }
}

fn two_digit_year(year: u32) -> u32 {
    year + if year < 70 { 2000 } else { 1900 }
}

fn take_number(text: &str, limit: usize) -> Option<(u32, &str)> {
    let n = text.bytes().take(limit).take_while(u8::is_ascii_digit).count();
    Some((text[..n].parse().ok()?, &text[n..]))
}

/// The 1-based position of the name at the start of `text`, whole or its first three letters, and the rest.
fn take_name<'a>(text: &'a str, names: &[&str], short: bool) -> Option<(u32, &'a str)> {
    names.iter().enumerate().find_map(|(i, name)| {
        let name = if short { &name[..3] } else { name };
        let head = text.get(..name.len())?;
        head.eq_ignore_ascii_case(name)
            .then(|| (i as u32 + 1, &text[name.len()..]))
    })
}
