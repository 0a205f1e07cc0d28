//! CREATE, ALTER and DROP EVENT.
//!
//! An event is kept as text with its schedule, whose times are computed when it is made. It is compiled once then, so that a wrong one is
//! refused there. What runs it is [`crate::events`].

use catalog::{EventDef, EventStatus, Schedule};
use env::Feature;
use parser::ast;
use types::time::{DateRules, DateTime, Interval, IntervalUnit};
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::{ObjectLocks, check_name, unknown_database};
use crate::host::Host;
use crate::program::{FrameCopy, compile};
use crate::session::Session;
use crate::variables;

/// In characters.
const LONGEST_COMMENT: usize = 2048;
/// Of the smallest part of a unit.
const LONGEST_INTERVAL: i64 = 1_000_000_000;
const SECOND: i64 = 1_000_000;

impl Session {
    pub(super) fn create_event(
        &mut self,
        create: &ast::CreateEvent,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<()> {
        self.check_level(Feature::Events, "events")?;
        let (database, name) = self.qualified(&create.name)?;
        check_name(&name, ErrorKind::SpWrongName)?;
        let catalog = self.engine.catalog();
        let Some(known) = catalog.database(&database) else {
            return Err(unknown_database(&database));
        };
        let context = self.program_context(known.def.collation)?;
        let definer = self.definer_of(create.definer.as_ref())?;
        let now = self.engine.clock_micros();
        let def = EventDef {
            schedule: self.schedule(&create.schedule, now, host)?,
            preserve: create.preserve.unwrap_or(false),
            status: create.status.map_or(EventStatus::Enabled, status_of),
            comment: comment_of(create.comment.as_deref())?,
            body: create.body.0.to_string(),
            definer,
            context,
            time_zone: self.time_zone_name()?,
            created_at: now,
            altered_at: now,
            last_run: None,
            database: database.clone(),
            name: name.clone(),
        };
        compile::event(&def)?;
        let exists = SqlError::new(ErrorKind::EventAlreadyExists, &[&name]);
        if catalog.event(&database, &name).is_some() {
            return self.forgive(exists, create.if_not_exists);
        }
        let Some(def) = self.without_past(def, now) else {
            self.warnings.note(ErrorKind::EventCannotCreateInThePast.into());
            return Ok(());
        };
        self.change_schema(locks, host, |change| {
            if change.before.event(&database, &name).is_some() {
                return Err(exists);
            }
            if change.before.database(&database).is_none() {
                return Err(unknown_database(&database));
            }
            change.edit.put_event(def);
            Ok(())
        })
    }

    pub(super) fn alter_event(
        &mut self,
        alter: &ast::AlterEvent,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let (database, name) = self.qualified(&alter.name)?;
        let catalog = self.engine.catalog();
        let Some(known) = catalog.database(&database) else {
            return Err(unknown_database(&database));
        };
        let to = match &alter.rename_to {
            Some(to) => {
                let to = self.qualified(to)?;
                check_name(&to.1, ErrorKind::SpWrongName)?;
                if to.0 == database && catalog::same_name(&to.1, &name) {
                    return Err(ErrorKind::EventSameName.into());
                }
                to
            }
            None => (database.clone(), name.clone()),
        };
        let Some(target) = catalog.database(&to.0) else {
            return Err(unknown_database(&to.0));
        };
        let absent = SqlError::new(ErrorKind::EventDoesNotExist, &[&name]);
        let old = catalog.event(&database, &name).ok_or_else(|| absent.clone())?;
        let mut def = EventDef::clone(old);
        let now = self.engine.clock_micros();
        let is_moved = target.def.collation != known.def.collation;
        if alter.body.is_some() || alter.schedule.is_some() || is_moved {
            def.context = self.program_context(target.def.collation)?;
        }
        def.definer = self.definer_of(alter.definer.as_ref())?;
        if let Some(schedule) = &alter.schedule {
            def.schedule = self.schedule(schedule, now, host)?;
            def.time_zone = self.time_zone_name()?;
            def.last_run = None;
        }
        def.preserve = alter.preserve.unwrap_or(def.preserve);
        def.status = alter.status.map_or(def.status, status_of);
        if alter.comment.is_some() {
            def.comment = comment_of(alter.comment.as_deref())?;
        }
        if let Some(body) = &alter.body {
            def.body = body.0.to_string();
        }
        (def.database, def.name) = to;
        def.altered_at = now;
        compile::event(&def)?;
        let is_renamed = alter.rename_to.is_some();
        if alter.schedule.is_some() {
            def = self
                .without_past(def, now)
                .ok_or(ErrorKind::EventCannotAlterInThePast)?;
        }
        let before = old.clone();
        self.change_schema(locks, host, |change| {
            let current = change.before.event(&database, &name);
            let current = current.ok_or(absent)?;
            // It may have run meanwhile.
            if def.last_run == before.last_run {
                def.last_run = current.last_run;
            }
            if is_renamed {
                if change.before.event(&def.database, &def.name).is_some() {
                    return Err(SqlError::new(ErrorKind::EventAlreadyExists, &[&def.name]));
                }
                change.edit.remove_event(&database, &name);
            }
            change.edit.put_event(def);
            Ok(())
        })
    }

    pub(super) fn drop_event(&mut self, drop: &ast::DropObject, locks: ObjectLocks, host: &dyn Host) -> SqlResult<()> {
        let (database, name) = self.qualified(&drop.name)?;
        let absent = SqlError::new(ErrorKind::EventDoesNotExist, &[&name]);
        if self.engine.catalog().event(&database, &name).is_none() {
            // The note is another one than the error.
            let note = SqlError::new(ErrorKind::SpDoesNotExist, &[&"Event", &name]);
            return self.forgive(if drop.if_exists { note } else { absent }, drop.if_exists);
        }
        self.change_schema(locks, host, |change| {
            change.edit.remove_event(&database, &name).map(|_| ()).ok_or(absent)
        })
    }

    /// The event, disabled with a note where its time is over; `None` where it would be gone at once.
    fn without_past(&mut self, mut def: EventDef, now: i64) -> Option<EventDef> {
        let is_over = match def.schedule {
            Schedule::At(at) => at < now - now.rem_euclid(SECOND),
            Schedule::Every { ends, .. } => ends.is_some_and(|ends| ends < now - now.rem_euclid(SECOND)),
        };
        if is_over {
            if !def.preserve {
                return None;
            }
            self.warnings.note(ErrorKind::EventExecTimeInThePast.into());
            def.status = EventStatus::Disabled;
        }
        Some(def)
    }

    fn time_zone_name(&self) -> SqlResult<String> {
        Ok(self.variables.get(variables::find("time_zone")?).to_string())
    }

    fn schedule(&mut self, written: &ast::EventSchedule, now: i64, host: &dyn Host) -> SqlResult<Schedule> {
        let (amount, unit, starts, ends) = match written {
            ast::EventSchedule::At(at) => return Ok(Schedule::At(self.scheduled("AT", at, host)?)),
            ast::EventSchedule::Every {
                amount,
                unit,
                starts,
                ends,
            } => (amount, unit, starts, ends),
        };
        let unit = sql_expr::interval_unit(*unit);
        if unit.has_micros() {
            return Err(SqlError::not_supported("MICROSECOND"));
        }
        let amount = amount_of(&self.part_of_schedule(amount, host)?, unit)?;
        let starts = match starts {
            Some(starts) => self.scheduled("STARTS", starts, host)?,
            None => now - now.rem_euclid(SECOND),
        };
        let ends = match ends {
            Some(ends) => Some(
                self.scheduled("ENDS", ends, host)
                    .ok()
                    .filter(|ends| *ends > starts)
                    .ok_or(ErrorKind::EventEndsBeforeStarts)?,
            ),
            None => None,
        };
        Ok(Schedule::Every {
            amount,
            unit: unit.name().to_owned(),
            starts,
            ends,
        })
    }

    /// In a program, its variables may be named.
    fn part_of_schedule(&mut self, written: &ast::Expr, host: &dyn Host) -> SqlResult<Value> {
        let frame = self.programs.frame();
        self.evaluate(written, FrameCopy::parameters(&frame), host)
    }

    /// A time of a schedule, in whole seconds; 1525 for what is none.
    fn scheduled(&mut self, clause: &str, written: &ast::Expr, host: &dyn Host) -> SqlResult<i64> {
        let value = self.part_of_schedule(written, host)?;
        let zone = &self.variables.settings.expressions.time_zone;
        let local = local_of(&value).and_then(|local| zone.to_unix(local.truncate(0)));
        match local {
            Some(at) if (1..=LATEST_MICROS).contains(&at.micros) => Ok(at.micros),
            _ => Err(SqlError::new(ErrorKind::WrongValue, &[&clause, &value.to_string()])),
        }
    }
}

/// 3001-01-18 23:59:59 UTC: no event of MySQL's is later.
const LATEST_MICROS: i64 = 32_536_771_199_000_000;

fn local_of(value: &Value) -> Option<DateTime> {
    const REAL: DateRules = DateRules {
        zero_date: false,
        zero_parts: false,
        invalid: false,
    };
    Some(match value {
        Value::DateTime(local) => *local,
        Value::Date(date) => date.at(0, 0),
        Value::Int(number) => DateTime::from_number(*number, REAL)?.value,
        Value::UInt(number) => DateTime::from_number(i64::try_from(*number).ok()?, REAL)?.value,
        text => DateTime::parse(&text.to_string(), REAL)?.value,
    })
}

/// In the smallest part of the unit; 1542 for one that is no step ahead.
fn amount_of(value: &Value, unit: IntervalUnit) -> SqlResult<i64> {
    if value.is_null() {
        return Err(SqlError::new(ErrorKind::WrongValue, &[&"INTERVAL", value]));
    }
    let part = |interval: Interval| interval.months.max(interval.micros);
    let count = || {
        let interval = match value {
            Value::Int(count) => Interval::of(*count, unit)?,
            Value::UInt(count) => Interval::of(i64::try_from(*count).ok()?, unit)?,
            other if unit.name().contains('_') => Interval::parse(&other.to_string(), unit)?,
            other => Interval::of(other.to_string().trim().parse::<f64>().ok()?.round() as i64, unit)?,
        };
        part(interval).checked_div(part(Interval::of(1, unit)?))
    };
    let count = count().filter(|count| (1..=LONGEST_INTERVAL).contains(count));
    count.ok_or_else(|| ErrorKind::EventIntervalNotPositiveOrTooBig.into())
}

fn status_of(status: ast::EventStatus) -> EventStatus {
    match status {
        ast::EventStatus::Enable => EventStatus::Enabled,
        ast::EventStatus::Disable => EventStatus::Disabled,
        ast::EventStatus::DisableOnReplica => EventStatus::DisabledOnReplica,
    }
}

fn comment_of(comment: Option<&str>) -> SqlResult<String> {
    let comment = comment.unwrap_or_default();
    match comment.chars().count() > LONGEST_COMMENT {
        true => Err(ErrorKind::EventCannotBeKept.into()),
        false => Ok(comment.to_owned()),
    }
}
