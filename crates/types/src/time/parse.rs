//! Temporal literals: strings with any delimiters, strings of digits, numbers.
//!
//! MySQL manual, section 11.2. What reading found beside the value (garbage behind it, an offset) is in
//! [`ParsedDateTime`] and [`ParsedTime`]; the caller decides whether that is a warning or an error.

use governor::bulk;

use super::{Date, DateTime, MAX_TIME_MICROS, Time, days_in_month};
use crate::decimal::Decimal;

/// Which dates outside of the calendar are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateRules {
    /// `0000-00-00`.
    pub zero_date: bool,
    /// `2024-00-00`, `2024-01-00`.
    pub zero_parts: bool,
    /// `2024-02-31` (ALLOW_INVALID_DATES).
    pub invalid: bool,
}

impl DateRules {
    /// What functions accept when the mode does not forbid anything.
    pub const RELAXED: DateRules = DateRules {
        zero_date: true,
        zero_parts: true,
        invalid: false,
    };
    /// Real dates only.
    pub const STRICT: DateRules = DateRules {
        zero_date: false,
        zero_parts: false,
        invalid: false,
    };

    pub fn allow(self, date: Date) -> bool {
        if date.is_zero() {
            return self.zero_date;
        }
        if date.month == 0 || date.day == 0 {
            return self.zero_parts;
        }
        self.invalid || date.day <= days_in_month(date.year, date.month)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedDateTime {
    /// With as many fraction digits as the text has, at most six; a seventh has rounded it.
    pub value: DateTime,
    /// The text has no time part.
    pub date_only: bool,
    /// Something follows that does not belong to the value.
    pub truncated: bool,
    /// `+05:30` at the end, in seconds: the value is local to that offset, not to the session's time zone.
    pub offset_seconds: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedTime {
    pub value: Time,
    /// Something follows that does not belong to the value.
    pub truncated: bool,
    /// Beyond ±838:59:59: `value` is that.
    pub out_of_range: bool,
    /// The text was a date and time, whose date was dropped.
    pub had_date: bool,
}

/// Reads forward through bytes.
struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a [u8]) -> Cursor<'a> {
        let mut cursor = Cursor { text, at: 0 };
        cursor.skip_while(|b| b.is_ascii_whitespace());
        cursor
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn peek_is_digit(&self, ahead: usize) -> bool {
        self.text.get(self.at + ahead).is_some_and(u8::is_ascii_digit)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) -> usize {
        let skipped = bulk::prefix_len(self.text.get(self.at..).unwrap_or_default(), accept);
        self.at += skipped;
        skipped
    }

    /// Up to `limit` digits, and their number. The value stops growing where no temporal part is that large.
    fn digits(&mut self, limit: usize) -> (u32, usize) {
        let (mut value, mut n) = (0u32, 0);
        while n < limit && self.peek_is_digit(0) && governor::go_on() {
            value = value
                .saturating_mul(10)
                .saturating_add(u32::from(self.text[self.at] - b'0'));
            self.at += 1;
            n += 1;
        }
        (value, n)
    }

    /// A fraction after its point: microseconds, digits that count, and whether the seventh digit rounds up.
    fn fraction(&mut self) -> (u32, u8, bool) {
        let (value, n) = self.digits(6);
        let round_up = n == 6 && self.peek().is_some_and(|b| (b'5'..=b'9').contains(&b));
        self.skip_while(|b| b.is_ascii_digit());
        (value * 10u32.pow(6 - n as u32), n as u8, round_up)
    }

    /// `+hh:mm` or `-hh:mm` as seconds.
    fn offset(&mut self) -> Option<i32> {
        let &[sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = self.text.get(self.at..self.at + 6)? else {
            return None;
        };
        if ![h1, h2, m1, m2].iter().all(u8::is_ascii_digit) {
            return None;
        }
        let number = |a: u8, b: u8| i32::from(a - b'0') * 10 + i32::from(b - b'0');
        let (hours, minutes) = (number(h1, h2), number(m1, m2));
        let seconds = hours * 3600 + minutes * 60;
        // MySQL: -13:59 to +14:00; -00:00 is not an offset.
        let valid = minutes < 60
            && if sign == b'-' {
                (1..14 * 3600).contains(&seconds)
            } else {
                seconds <= 14 * 3600
            };
        self.at += 6;
        valid.then_some(if sign == b'-' { -seconds } else { seconds })
    }

    fn only_blanks_left(&self) -> bool {
        let rest = &self.text[self.at..];
        bulk::prefix_len(rest, |b| b.is_ascii_whitespace()) == rest.len()
    }
}

fn four_digit_year(two_digits: u32) -> u32 {
    two_digits + if two_digits < 70 { 2000 } else { 1900 }
}

impl DateTime {
    /// Reads `2024-01-31 23:59:59.5`, `24/1/31`, `20240131235959`, `2024-01-31T23:59:59+05:30`, ... `None` if it is no date.
    pub fn parse(text: &str, rules: DateRules) -> Option<ParsedDateTime> {
        DateTime::parse_separated(text, rules).map(|(parsed, _)| parsed)
    }

    /// Also whether the date and the time are told apart: by a space, a `T`, or as digits by their number. `10:11:12.5` is not.
    fn parse_separated(text: &str, rules: DateRules) -> Option<(ParsedDateTime, bool)> {
        let mut cursor = Cursor::new(text.as_bytes());
        if !cursor.peek_is_digit(0) {
            return None;
        }
        let start = cursor.at;
        let digits = cursor.skip_while(|b| b.is_ascii_digit() || b == b'T');
        let delimited = !matches!(cursor.peek(), None | Some(b'.'));
        cursor.at = start;
        let year_digits = if delimited || matches!(digits, 4 | 8 | 14..) {
            4
        } else {
            2
        };

        let mut parts = [0u32; 6];
        let mut found = 0;
        let mut separated = !delimited;
        let (mut year_len, mut micros, mut fsp, mut round_up, mut offset) = (0, 0, 0, false, None);
        while found < 6 && cursor.peek_is_digit(0) {
            let limit = if delimited {
                usize::MAX
            } else if found == 0 {
                year_digits
            } else {
                2
            };
            let (value, n) = cursor.digits(limit);
            if value > 999_999 {
                return None;
            }
            if found == 0 {
                year_len = if delimited { n } else { year_digits };
            }
            parts[found] = value;
            found += 1;
            let part_end = cursor.at;
            if found == 3 && cursor.take(b'T') {
                separated = true;
                continue;
            }
            if found == 6 {
                if cursor.take(b'.') {
                    (micros, fsp, round_up) = cursor.fraction();
                }
                let zone_start = cursor.at;
                if matches!(cursor.peek(), Some(b'+' | b'-')) {
                    offset = Some(cursor.offset()?);
                } else {
                    cursor.at = zone_start;
                }
                break;
            }
            let mut space_in_the_wrong_place = false;
            while let Some(b) = cursor
                .peek()
                .filter(|b| b.is_ascii_punctuation() || b.is_ascii_whitespace())
            {
                space_in_the_wrong_place |= b.is_ascii_whitespace() && found != 3;
                separated |= b.is_ascii_whitespace();
                cursor.at += 1;
                if !governor::go_on() {
                    return None;
                }
            }
            if !cursor.peek_is_digit(0) {
                // Delimiters that lead nowhere are not part of the value.
                cursor.at = part_end;
                break;
            }
            if space_in_the_wrong_place {
                return None;
            }
        }
        let [year, month, day, hour, minute, second] = parts;
        let in_range =
            found >= 3 && year <= 9999 && month <= 12 && day <= 31 && hour < 24 && minute < 60 && second < 60;
        if !in_range {
            return None;
        }
        let all_zero = parts == [0; 6] && micros == 0;
        let year = if year_len == 2 && !all_zero {
            four_digit_year(year)
        } else {
            year
        };
        let date = Date {
            year: year as u16,
            month: month as u8,
            day: day as u8,
        };
        let (hour, minute, second) = (hour as u8, minute as u8, second as u8);
        let value = DateTime {
            date,
            hour,
            minute,
            second,
            fsp,
            micros,
        };
        if !rules.allow(date) {
            return None;
        }
        let value = if round_up { value.add_micros(1)? } else { value };
        let truncated = !cursor.only_blanks_left();
        Some((
            ParsedDateTime {
                value,
                date_only: found == 3,
                truncated,
                offset_seconds: offset,
            },
            separated,
        ))
    }

    /// Reads 20240131, 240131, 20240131235959, 240131235959. `None` if it is no date.
    pub fn from_number(number: i64, rules: DateRules) -> Option<ParsedDateTime> {
        let (number, date_only) = match number {
            0 => (0, true),
            101..=691_231 => ((number + 20_000_000) * 1_000_000, true),
            700_101..=991_231 => ((number + 19_000_000) * 1_000_000, true),
            10_000_101..=99_991_231 => (number * 1_000_000, true),
            101_000_000..=691_231_235_959 => (number + 20_000_000_000_000, false),
            700_101_000_000..=991_231_235_959 => (number + 19_000_000_000_000, false),
            10_000_101_000_000..=99_991_231_235_959 => (number, false),
            _ => return None,
        };
        let part = |unit: i64, modulus: i64| (number / unit % modulus) as u32;
        let (hour, minute, second) = (part(10_000, 100), part(100, 100), part(1, 100));
        let date = Date {
            year: part(10_000_000_000, 10_000) as u16,
            month: part(100_000_000, 100) as u8,
            day: part(1_000_000, 100) as u8,
        };
        if !date.is_in_range() || hour > 23 || minute > 59 || second > 59 || !rules.allow(date) {
            return None;
        }
        let value = DateTime {
            date,
            hour: hour as u8,
            minute: minute as u8,
            second: second as u8,
            ..DateTime::default()
        };
        Some(ParsedDateTime {
            value,
            date_only,
            truncated: false,
            offset_seconds: None,
        })
    }

    /// [`DateTime::from_number`] with a fraction of a second.
    pub fn from_decimal(number: Decimal, rules: DateRules) -> Option<ParsedDateTime> {
        let whole = number.truncate(0).ok()?;
        let mut parsed = DateTime::from_number(whole.to_i64().ok()?, rules)?;
        let (micros, fsp) = fraction_of(number)?;
        if micros > 0 {
            parsed.date_only = false;
        }
        parsed.value = match micros {
            1_000_000 => DateTime { fsp, ..parsed.value }.add_micros(1_000_000)?,
            micros => DateTime {
                micros,
                fsp,
                ..parsed.value
            },
        };
        Some(parsed)
    }
}

/// The fraction in microseconds, rounded (1,000,000 when it rounds up to a whole), and its digits.
fn fraction_of(number: Decimal) -> Option<(u32, u8)> {
    let fraction = number.abs().checked_sub(number.abs().truncate(0).ok()?).ok()?;
    let (micros, _) = fraction.round(6).ok()?.to_scaled()?;
    Some((micros as u32, number.scale().min(6)))
}

impl Time {
    /// Reads `10:11:12.5`, `-1 10:11`, `101112`, or a full date and time. `None` if it is no time.
    pub fn parse(text: &str) -> Option<ParsedTime> {
        let mut cursor = Cursor::new(text.as_bytes());
        let negative = cursor.take(b'-');
        if !cursor.peek_is_digit(0) {
            return None;
        }
        if text.len() - cursor.at >= 12
            && let Some((parsed, true)) = DateTime::parse_separated(text, DateRules::RELAXED)
            && !parsed.date_only
        {
            return Some(ParsedTime {
                value: parsed.value.time(),
                truncated: parsed.truncated,
                out_of_range: false,
                had_date: true,
            });
        }
        let (first, _) = cursor.digits(usize::MAX);
        let after_first = cursor.at;
        let blanks = cursor.skip_while(|b| b.is_ascii_whitespace());
        let (days, hours, minutes, seconds);
        // As MySQL reads it: a single digit at the very end is not the hours behind the days.
        if blanks > 0 && cursor.peek_is_digit(0) && cursor.text.len() - cursor.at > 1 {
            days = first;
            hours = cursor.digits(usize::MAX).0;
            (minutes, seconds) = cursor.minutes_and_seconds();
        } else {
            cursor.at = after_first;
            days = 0;
            if cursor.peek() == Some(b':') && cursor.peek_is_digit(1) {
                hours = first;
                (minutes, seconds) = cursor.minutes_and_seconds();
            } else {
                (hours, minutes, seconds) = (first / 10_000, first / 100 % 100, first % 100);
            }
        }
        let (mut micros, mut fsp, mut round_up) = (0, 0, false);
        if cursor.peek() == Some(b'.') && cursor.peek_is_digit(1) {
            cursor.at += 1;
            (micros, fsp, round_up) = cursor.fraction();
        } else if cursor.at + 1 == cursor.text.len() {
            cursor.take(b'.');
        }
        // A number with an exponent is not a time.
        let exponent = matches!(cursor.peek(), Some(b'e' | b'E'))
            && (cursor.peek_is_digit(1)
                || (matches!(cursor.text.get(cursor.at + 1), Some(b'+' | b'-')) && cursor.peek_is_digit(2)));
        if minutes > 59 || seconds > 59 || exponent {
            return None;
        }
        let seconds = (i64::from(days) * 24 + i64::from(hours)) * 3600 + i64::from(minutes) * 60 + i64::from(seconds);
        let magnitude = seconds * 1_000_000 + i64::from(micros) + i64::from(round_up);
        let out_of_range = magnitude > MAX_TIME_MICROS;
        let magnitude = magnitude.min(MAX_TIME_MICROS);
        let value = Time {
            micros: if negative { -magnitude } else { magnitude },
            fsp,
        };
        Some(ParsedTime {
            value,
            truncated: !cursor.only_blanks_left(),
            out_of_range,
            had_date: false,
        })
    }

    /// Reads hhmmss, or a number that is a date and time. `None` if it is neither.
    pub fn from_number(number: i64) -> Option<ParsedTime> {
        let plain = |value, out_of_range| ParsedTime {
            value,
            truncated: false,
            out_of_range,
            had_date: false,
        };
        if number.unsigned_abs() > 8_385_959 {
            // Ten digits and more can be a date.
            if number >= 10_000_000_000
                && let Some(parsed) = DateTime::from_number(number, DateRules::RELAXED)
            {
                return Some(ParsedTime {
                    had_date: true,
                    ..plain(parsed.value.time(), false)
                });
            }
            let micros = if number < 0 { -MAX_TIME_MICROS } else { MAX_TIME_MICROS };
            return Some(plain(Time { micros, fsp: 0 }, true));
        }
        let magnitude = number.unsigned_abs() as u32;
        let time = Time::from_parts(
            number < 0,
            magnitude / 10_000,
            magnitude / 100 % 100,
            magnitude % 100,
            0,
            0,
        )?;
        Some(plain(time, false))
    }

    /// [`Time::from_number`] with a fraction of a second.
    pub fn from_decimal(number: Decimal) -> Option<ParsedTime> {
        let whole = number.truncate(0).ok()?;
        let (Ok(whole) | Err(whole)) = whole.to_i64();
        let mut parsed = Time::from_number(whole)?;
        let (micros, fsp) = fraction_of(number)?;
        let signed = if number.is_negative() {
            -i64::from(micros)
        } else {
            i64::from(micros)
        };
        let micros = parsed.value.micros + signed;
        parsed.out_of_range |= micros.abs() > MAX_TIME_MICROS;
        parsed.value = Time {
            micros: micros.clamp(-MAX_TIME_MICROS, MAX_TIME_MICROS),
            fsp,
        };
        Some(parsed)
    }
}

impl Cursor<'_> {
    /// `:mm:ss`, `:mm` or nothing.
    fn minutes_and_seconds(&mut self) -> (u32, u32) {
        let mut part = || {
            if self.peek() == Some(b':') && self.peek_is_digit(1) {
                self.at += 1;
                Some(self.digits(usize::MAX).0)
            } else {
                None
            }
        };
        let minutes = part();
        let seconds = minutes.and_then(|_| part());
        (minutes.unwrap_or(0), seconds.unwrap_or(0))
    }
}
