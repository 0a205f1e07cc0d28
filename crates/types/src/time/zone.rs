//! Time zones: between what a TIMESTAMP stores (UTC) and what a session sees.

use super::{Date, DateTime, UnixTime};
use std::fmt;
use std::sync::Arc;

/// TO_DAYS of 1970-01-01.
const EPOCH_DAYS: i64 = 719_528;

/// A value of `time_zone`.
#[derive(Clone)]
pub enum TimeZone {
    /// `+hh:mm`, in seconds east of Greenwich.
    Offset(i32),
    /// `SYSTEM`: the zone of the machine.
    System(Arc<jiff::tz::TimeZone>),
    /// `Europe/Stockholm`, `UTC`.
    Named(Arc<jiff::tz::TimeZone>),
}

impl TimeZone {
    pub const UTC: TimeZone = TimeZone::Offset(0);

    pub fn system() -> TimeZone {
        TimeZone::System(Arc::new(jiff::tz::TimeZone::system()))
    }

    /// `SYSTEM`, `+05:30` (-13:59 to +14:00), or a name of the IANA database in any case. `None` is error 1298.
    pub fn from_name(name: &str) -> Option<TimeZone> {
        if name.eq_ignore_ascii_case("SYSTEM") {
            return Some(TimeZone::system());
        }
        if name.starts_with(['+', '-']) {
            return parse_offset(name).map(TimeZone::Offset);
        }
        jiff::tz::TimeZone::get(name)
            .ok()
            .map(|zone| TimeZone::Named(Arc::new(zone)))
    }

    /// Whether its clocks always have the same distance from UTC, so that local times are in the order of moments.
    pub fn is_fixed(&self) -> bool {
        match self {
            TimeZone::Offset(_) => true,
            TimeZone::System(zone) | TimeZone::Named(zone) => zone.to_fixed_offset().is_ok(),
        }
    }

    /// A stored moment as the session's wall clock shows it. The zero timestamp is the zero date everywhere.
    pub fn to_local(&self, time: UnixTime) -> DateTime {
        if time.is_zero() {
            return DateTime {
                fsp: time.fsp,
                ..DateTime::default()
            };
        }
        let offset = i64::from(self.offset_at(time.micros.div_euclid(1_000_000)));
        datetime_of(time.micros + offset * 1_000_000, time.fsp)
    }

    /// The moment when the session's wall clock shows `local`: the earlier one where clocks were put back, the moment of the
    /// change where they were put forward. `None` for a zero or impossible date. The zero datetime is the zero timestamp.
    pub fn to_unix(&self, local: DateTime) -> Option<UnixTime> {
        if local.is_zero() {
            return Some(UnixTime {
                micros: 0,
                fsp: local.fsp,
            });
        }
        if !local.date.is_real() {
            return None;
        }
        let seconds = local_seconds(local);
        let micros = |seconds: i64, fraction: u32| seconds * 1_000_000 + i64::from(fraction);
        let utc = match self {
            TimeZone::Offset(offset) => micros(seconds - i64::from(*offset), local.micros),
            TimeZone::System(_) | TimeZone::Named(_) => {
                // Before and after any change of the clocks nearby.
                let before = i64::from(self.offset_at(seconds - 86_400));
                let after = i64::from(self.offset_at(seconds + 86_400));
                let fits = |offset: i64| i64::from(self.offset_at(seconds - offset)) == offset;
                match (fits(before), fits(after)) {
                    (true, _) => micros(seconds - before, local.micros),
                    (false, true) => micros(seconds - after, local.micros),
                    (false, false) => micros(self.change_between(seconds - after, seconds - before), 0),
                }
            }
        };
        Some(UnixTime {
            micros: utc,
            fsp: local.fsp,
        })
    }

    /// The second within the interval at which the offset changes.
    fn change_between(&self, mut low: i64, mut high: i64) -> i64 {
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

    /// Seconds east of Greenwich at a moment in Unix seconds.
    pub fn offset_at(&self, seconds: i64) -> i32 {
        match self {
            TimeZone::Offset(offset) => *offset,
            TimeZone::System(zone) | TimeZone::Named(zone) => {
                let limits = (
                    jiff::Timestamp::MIN.as_second() + 86_400,
                    jiff::Timestamp::MAX.as_second() - 86_400,
                );
                let moment = jiff::Timestamp::from_second(seconds.clamp(limits.0, limits.1))
                    .expect("clamped to the range of timestamps");
                zone.to_offset(moment).seconds()
            }
        }
    }
}

/// UTC of `local` regardless of zones, in seconds since 1970.
fn local_seconds(local: DateTime) -> i64 {
    (local.date.to_days() - EPOCH_DAYS) * 86_400 + local.time().micros / 1_000_000
}

fn datetime_of(micros: i64, fsp: u8) -> DateTime {
    DateTime::from_absolute_micros(micros.saturating_add(EPOCH_DAYS * super::calendar::DAY_MICROS), fsp).unwrap_or(
        DateTime {
            date: Date::ZERO,
            fsp,
            ..DateTime::default()
        },
    )
}

fn parse_offset(text: &str) -> Option<i32> {
    let (hours, minutes) = text[1..].split_once(':')?;
    let number = |t: &str| {
        (matches!(t.len(), 1 | 2) && t.bytes().all(|b| b.is_ascii_digit()))
            .then(|| t.parse::<i32>().ok())
            .flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let seconds = hours * 3600 + minutes * 60;
    let seconds = if text.starts_with('-') { -seconds } else { seconds };
    (minutes < 60 && (-14 * 3600 < seconds && seconds <= 14 * 3600)).then_some(seconds)
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &TimeZone) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for TimeZone {
    /// As `@@time_zone` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeZone::Offset(offset) => {
                let (sign, offset) = if *offset < 0 { ('-', -offset) } else { ('+', *offset) };
                write!(f, "{sign}{:02}:{:02}", offset / 3600, offset / 60 % 60)
            }
            TimeZone::System(_) => f.write_str("SYSTEM"),
            TimeZone::Named(zone) => f.write_str(zone.iana_name().unwrap_or("UTC")),
        }
    }
}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
