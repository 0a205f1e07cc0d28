//! Time zones: `time_zone`, TIMESTAMP columns, CONVERT_TZ.
//!
//! The zones' rules come with the binary (IANA's database), so named zones work without loading tables.

use std::fmt;

use types::error::{ErrorKind, SqlError};
use types::time::{Date, DateTime, UnixTime};

const MICROS: i64 = 1_000_000;

/// A time zone, as `SET time_zone` and `CONVERT_TZ` name it.
#[derive(Clone, Copy)]
pub enum TimeZone {
    /// `SYSTEM`: the server's own, which is UTC.
    System,
    Utc,
    /// `+02:00`: seconds east of Greenwich, within ±14 hours.
    Offset(i32),
    Named(&'static str, &'static tz::TimeZoneRef<'static>),
}

impl TimeZone {
    /// The zone of that name: `SYSTEM`, `[+-]h:mm` from -13:59 to +14:00, or a name of IANA's database in any letter case.
    pub fn parse(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::System);
        }
        if let Some(seconds) = parse_offset(name) {
            return Some(TimeZone::Offset(seconds));
        }
        let zone = tzdb_data::find_tz(name.as_bytes())?;
        let canonical = tzdb_data::TZ_NAMES.iter().find(|known| known.eq_ignore_ascii_case(name))?;
        Some(TimeZone::Named(canonical, zone))
    }

    /// As [`parse`](Self::parse); 1298 for an unknown one.
    pub fn named(name: &str) -> Result<TimeZone, SqlError> {
        TimeZone::parse(name).ok_or_else(|| SqlError::new(ErrorKind::UnknownTimeZone, &[&name]))
    }

    /// Seconds to add to UTC at that moment.
    fn offset_at(self, unix_seconds: i64) -> i64 {
        match self {
            TimeZone::System | TimeZone::Utc => 0,
            TimeZone::Offset(seconds) => i64::from(seconds),
            TimeZone::Named(_, zone) => {
                zone.find_local_time_type(unix_seconds).map_or(0, |local| i64::from(local.ut_offset()))
            }
        }
    }

    /// What a clock of the zone shows. The zero timestamp is `0000-00-00 00:00:00` everywhere.
    pub fn to_local(self, at: UnixTime) -> DateTime {
        if at.micros == 0 {
            return DateTime { fsp: at.fsp, ..DateTime::default() };
        }
        self.local_of_micros(at.micros, at.fsp)
    }

    /// What a clock of the zone shows `micros` after 1970 in UTC.
    pub fn local_of_micros(self, micros: i64, fsp: u8) -> DateTime {
        let seconds = micros.div_euclid(MICROS);
        let local = seconds + self.offset_at(seconds);
        let date = date_of_days(local.div_euclid(86_400));
        let second_of_day = local.rem_euclid(86_400) as u32;
        DateTime {
            date,
            hour: (second_of_day / 3600) as u8,
            minute: (second_of_day / 60 % 60) as u8,
            second: (second_of_day % 60) as u8,
            fsp,
            micros: micros.rem_euclid(MICROS) as u32,
        }
    }

    /// Microseconds after 1970 in UTC when a clock of the zone shows `local`. Of two moments (clocks put back) the first; for
    /// none (clocks put forward) the moment of the change.
    pub fn to_utc_micros(self, local: DateTime) -> i64 {
        let wall = days_of_date(local.date) * 86_400
            + i64::from(local.hour) * 3600
            + i64::from(local.minute) * 60
            + i64::from(local.second);
        let seconds = match self {
            TimeZone::System | TimeZone::Utc => wall,
            TimeZone::Offset(offset) => wall - i64::from(offset),
            TimeZone::Named(..) => {
                let before = self.offset_at(wall - 86_400);
                let after = self.offset_at(wall + 86_400);
                let candidates = [wall - before, wall - after];
                let fits = |utc: &i64| *utc + self.offset_at(*utc) == wall;
                match candidates.into_iter().filter(fits).min() {
                    Some(utc) => utc,
                    None => return self.change_within(candidates[1].min(candidates[0]), candidates[0].max(candidates[1])) * MICROS,
                }
            }
        };
        seconds * MICROS + i64::from(local.micros)
    }

    /// The second at which the offset changes, between two moments with different offsets.
    fn change_within(self, mut low: i64, mut high: i64) -> i64 {
        let first = self.offset_at(low);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.offset_at(middle) == first {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeZone::System => f.write_str("SYSTEM"),
            TimeZone::Utc => f.write_str("UTC"),
            TimeZone::Offset(seconds) => {
                let sign = if *seconds < 0 { '-' } else { '+' };
                let minutes = seconds.unsigned_abs() / 60;
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            TimeZone::Named(name, _) => f.write_str(name),
        }
    }
}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn parse_offset(name: &str) -> Option<i32> {
    let (sign, rest) = match name.as_bytes().first()? {
        b'+' => (1, &name[1..]),
        b'-' => (-1, &name[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let digits = |text: &str, longest: usize| {
        let fine = !text.is_empty() && text.len() <= longest && text.bytes().all(|b| b.is_ascii_digit());
        fine.then(|| text.parse::<i32>().ok()).flatten()
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    let seconds = sign * (hours * 3600 + minutes * 60);
    (minutes < 60 && (-(13 * 3600 + 59 * 60)..=14 * 3600).contains(&seconds)).then_some(seconds)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days_of_date(date: Date) -> i64 {
    let (month, day) = (i64::from(date.month.max(1)), i64::from(date.day.max(1)));
    let year = i64::from(date.year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn date_of_days(days: i64) -> Date {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Date { year: year as u16, month: month as u8, day: (day_of_year - (153 * shifted + 2) / 5 + 1) as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn local(zone: TimeZone, unix: i64) -> String {
        zone.local_of_micros(unix * MICROS, 0).to_string()
    }

    fn utc(zone: TimeZone, (year, month, day): (u16, u8, u8), (hour, minute): (u8, u8)) -> i64 {
        let local = DateTime { date: Date { year, month, day }, hour, minute, second: 0, fsp: 0, micros: 0 };
        zone.to_utc_micros(local) / MICROS
    }

    #[test]
    fn names_and_offsets() {
        for (name, printed) in
            [("system", "SYSTEM"), ("+02:00", "+02:00"), ("-5:30", "-05:30"), ("europe/BERLIN", "Europe/Berlin")]
        {
            assert_eq!(TimeZone::parse(name).unwrap().to_string(), printed);
        }
        for name in ["", "+15:00", "-14:00", "+1", "+1:60", "+001:00", "Nowhere/City"] {
            assert!(TimeZone::parse(name).is_none(), "{name}");
        }
        assert_eq!(TimeZone::named("x").unwrap_err().code(), 1298);
    }

    #[test]
    fn there_and_back() {
        let berlin = TimeZone::parse("Europe/Berlin").unwrap();
        assert_eq!(local(berlin, 1_700_000_000), "2023-11-14 23:13:20");
        assert_eq!(local(berlin, 1_690_000_000), "2023-07-22 06:26:40");
        assert_eq!(local(TimeZone::Offset(-3600), 0), "1969-12-31 23:00:00");
        for at in [1_700_000_000, 1_690_000_000, 86_400, 4_000_000_000] {
            let shown = berlin.local_of_micros(at * MICROS, 0);
            assert_eq!(berlin.to_utc_micros(shown), at * MICROS);
        }
    }

    #[test]
    fn clocks_put_forward_and_back() {
        let met = TimeZone::parse("MET").unwrap();
        // 02:00 becomes 03:00: both are the moment of the change, and so is all between.
        for clock in [(2, 0), (2, 30), (3, 0)] {
            assert_eq!(utc(met, (2005, 3, 27), clock), 1_111_885_200);
        }
        // 03:00 becomes 02:00: 02:30 comes twice, the first counts.
        assert_eq!(utc(met, (2005, 10, 30), (2, 30)), 1_130_632_200);
    }
}
