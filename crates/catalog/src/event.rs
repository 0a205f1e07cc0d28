//! Events: programs that run by the clock, as the catalog has them.

use serde::{Deserialize, Serialize};
use types::UnixTime;
use types::time::{Interval, IntervalUnit, TimeZone};

use crate::ProgramContext;

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// A turn that no node was there for is still taken so much later, by another one; then it is left out.
const LATE: i64 = 60 * SECOND;

/// `CREATE EVENT name ON SCHEDULE … DO …`. What is run is read from its text again. Times are microseconds since 1970, of whole seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventDef {
    pub database: String,
    pub name: String,
    pub schedule: Schedule,
    /// Whether it stays when it will not run again.
    pub preserve: bool,
    pub status: EventStatus,
    pub comment: String,
    /// As it was written.
    pub body: String,
    /// User and host.
    pub definer: (String, String),
    pub context: ProgramContext,
    /// `@@time_zone`: its days and months are of this zone.
    pub time_zone: String,
    pub created_at: i64,
    pub altered_at: i64,
    /// When it began to run last, since it has this schedule.
    pub last_run: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventStatus {
    Enabled,
    Disabled,
    DisabledOnReplica,
    /// It has had its last turn, and is dropped when that has been run.
    Over,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Schedule {
    At(i64),
    Every {
        /// In the smallest part of the unit.
        amount: i64,
        /// `HOUR_MINUTE`
        unit: String,
        starts: i64,
        ends: Option<i64>,
    },
}

/// What the clock says of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Now, or since then.
    Due,
    At(i64),
    /// It will not run again.
    Never,
}

impl EventStatus {
    /// As `information_schema.EVENTS` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            EventStatus::Enabled => "ENABLED",
            EventStatus::Disabled | EventStatus::Over => "DISABLED",
            EventStatus::DisabledOnReplica => "REPLICA_SIDE_DISABLED",
        }
    }
}

impl EventDef {
    /// Its place among the events of its database: their names are the same in any case.
    pub(crate) fn place(name: &str) -> String {
        name.to_lowercase()
    }

    pub fn zone(&self) -> TimeZone {
        TimeZone::from_name(&self.time_zone).unwrap_or(TimeZone::UTC)
    }

    /// When it runs next, if it is enabled.
    pub fn next(&self, now: i64) -> Next {
        match &self.schedule {
            Schedule::At(_) if self.last_run.is_some() => Next::Never,
            Schedule::At(at) if *at <= now => Next::Due,
            Schedule::At(at) => Next::At(*at),
            Schedule::Every {
                amount,
                unit,
                starts,
                ends,
            } => {
                let is_over = |at: i64| ends.is_some_and(|ends| at > ends);
                let step = IntervalUnit::from_name(unit).and_then(|unit| Interval::of(*amount, unit));
                let Some(step) = step else { return Next::Never };
                let turns = Turns::new(*starts, step, self);
                // The newest turn that has come, where it was not taken.
                let newest = turns.come(now).checked_sub(1).and_then(|count| turns.turn(count));
                let made = self.altered_at - self.altered_at.rem_euclid(SECOND);
                if let Some(newest) = newest
                    && self.last_run.is_none_or(|last| last < newest)
                    && newest >= made.max(now - LATE)
                    && !is_over(newest)
                {
                    return Next::Due;
                }
                let come = turns.come(now.max(self.last_run.unwrap_or(i64::MIN)));
                match turns.turn(come) {
                    Some(next) if !is_over(next) => Next::At(next),
                    _ => Next::Never,
                }
            }
        }
    }
}

/// The moments of a schedule: the start, and each a step later.
struct Turns {
    starts: i64,
    step: Interval,
    /// By whose clock the steps are counted: days and months are of different lengths.
    zone: Option<TimeZone>,
}

impl Turns {
    fn new(starts: i64, step: Interval, event: &EventDef) -> Turns {
        let is_counted_by_calendar = step.months != 0 || step.micros % DAY == 0;
        Turns {
            starts,
            step,
            zone: is_counted_by_calendar.then(|| event.zone()),
        }
    }

    /// The one after so many others. `None`: beyond the calendar.
    fn turn(&self, count: u64) -> Option<i64> {
        let count = i64::try_from(count).ok()?;
        let step = Interval {
            months: self.step.months.checked_mul(count)?,
            micros: self.step.micros.checked_mul(count)?,
        };
        let Some(zone) = &self.zone else {
            return self.starts.checked_add(step.micros);
        };
        let start = zone.to_local(UnixTime {
            micros: self.starts,
            fsp: 0,
        });
        Some(zone.to_unix(start.add_interval(step)?)?.micros)
    }

    /// How many have come by then.
    fn come(&self, now: i64) -> u64 {
        const LONGEST_MONTH: i64 = 31 * DAY;
        if now < self.starts {
            return 0;
        }
        let step = match self.step.months {
            0 => self.step.micros,
            months => months.saturating_mul(LONGEST_MONTH),
        };
        // From a few fewer on, as months and days are of different lengths.
        let mut count = (now - self.starts).div_euclid(step.max(1)).saturating_sub(1).max(0) as u64;
        while self.turn(count).is_some_and(|turn| turn <= now) {
            count += 1;
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600 * SECOND;

    fn event(schedule: Schedule, zone: &str) -> EventDef {
        EventDef {
            database: "d".into(),
            name: "E".into(),
            schedule,
            preserve: false,
            status: EventStatus::Enabled,
            comment: String::new(),
            body: "DO 1".into(),
            definer: ("root".into(), "localhost".into()),
            context: ProgramContext::plain(),
            time_zone: zone.into(),
            created_at: 0,
            altered_at: 0,
            last_run: None,
        }
    }

    fn every(amount: i64, unit: &str, starts: i64, ends: Option<i64>) -> Schedule {
        Schedule::Every {
            amount,
            unit: unit.into(),
            starts,
            ends,
        }
    }

    fn at(text: &str, zone: &str) -> i64 {
        let local = types::time::DateTime::parse(text, types::time::DateRules::RELAXED)
            .unwrap()
            .value;
        TimeZone::from_name(zone).unwrap().to_unix(local).unwrap().micros
    }

    #[test]
    fn one_time_runs_once_and_late() {
        let mut once = event(Schedule::At(HOUR), "+00:00");
        assert_eq!(once.next(0), Next::At(HOUR));
        assert_eq!(once.next(HOUR), Next::Due);
        assert_eq!(once.next(100 * HOUR), Next::Due);
        once.last_run = Some(HOUR);
        assert_eq!(once.next(HOUR), Next::Never);
    }

    #[test]
    fn each_turn_is_taken_once() {
        let mut hourly = event(every(60, "HOUR_MINUTE", HOUR, Some(3 * HOUR)), "+00:00");
        assert_eq!(hourly.next(0), Next::At(HOUR));
        assert_eq!(hourly.next(HOUR), Next::Due);
        hourly.last_run = Some(HOUR + 1);
        assert_eq!(hourly.next(HOUR + 2), Next::At(2 * HOUR));
        // Nobody was there for the second one.
        assert_eq!(hourly.next(2 * HOUR + LATE), Next::Due);
        assert_eq!(hourly.next(2 * HOUR + LATE + 1), Next::At(3 * HOUR));
        hourly.last_run = Some(3 * HOUR);
        assert_eq!(hourly.next(3 * HOUR + 5), Next::Never);
        // One clock is behind the other: the turn has been taken.
        hourly.last_run = Some(2 * HOUR);
        assert_eq!(hourly.next(2 * HOUR - 5), Next::At(3 * HOUR));
    }

    #[test]
    fn what_began_before_it_was_made_is_not_made_up_for() {
        let mut daily = event(every(1, "DAY", DAY, None), "+00:00");
        daily.altered_at = 10 * DAY + 30 * SECOND;
        assert_eq!(daily.next(10 * DAY + 31 * SECOND), Next::At(11 * DAY));
        daily.altered_at = 10 * DAY;
        assert_eq!(daily.next(10 * DAY + 31 * SECOND), Next::Due);
    }

    #[test]
    fn months_and_days_are_of_the_zone() {
        let zone = "Europe/Stockholm";
        let monthly = event(every(1, "MONTH", at("2026-01-31 03:00:00", zone), None), zone);
        assert_eq!(
            monthly.next(at("2026-02-01 00:00:00", zone)),
            Next::At(at("2026-02-28 03:00:00", zone))
        );
        assert_eq!(
            monthly.next(at("2096-06-30 03:01:01", zone)),
            Next::At(at("2096-07-31 03:00:00", zone))
        );
        let daily = event(every(1, "DAY", at("2026-03-01 03:30:00", zone), None), zone);
        for day in ["2026-03-28", "2026-03-29", "2026-03-30", "2026-10-25", "2026-10-26"] {
            let turn = at(&format!("{day} 03:30:00"), zone);
            assert_eq!(daily.next(turn - SECOND), Next::At(turn), "{day}");
            assert_eq!(daily.next(turn), Next::Due, "{day}");
        }
        // An hour is an hour.
        let hourly = event(every(1, "HOUR", at("2026-10-25 00:30:00", zone), None), zone);
        let start = at("2026-10-25 00:30:00", zone);
        for turn in 1..6 {
            assert_eq!(hourly.next(start + turn * HOUR - 1), Next::At(start + turn * HOUR));
        }
    }

    #[test]
    fn no_schedule_takes_long_or_overflows() {
        for (amount, unit) in [
            (1, "SECOND"),
            (i64::MAX, "SECOND"),
            (i64::MAX, "YEAR"),
            (1, "MONTH"),
            (0, "DAY"),
            (1, "NONE"),
        ] {
            let odd = event(every(amount, unit, 0, None), "Europe/Stockholm");
            for now in [i64::MIN, -1, 0, 1, 4_000_000_000 * SECOND, i64::MAX] {
                odd.next(now);
            }
        }
    }
}
