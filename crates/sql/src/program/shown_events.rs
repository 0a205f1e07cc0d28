//! SHOW CREATE EVENT, and the rows of `information_schema.EVENTS`.

use std::fmt::Write as _;

use catalog::{EventDef, EventStatus, Privileges, Schedule};
use parser::ast::TableName;
use types::time::IntervalUnit;
use types::{ErrorKind, SqlError, SqlResult, UnixTime, Value};

use super::shown::context_cells;
use crate::accounts::rights::Scope;
use crate::information_schema::schema::{CATALOG, moment};
use crate::information_schema::{Source, text};
use crate::result::{ResultSink, ServerStatus};
use crate::session::{Answer, Session};
use crate::show::create::{name, string};
use crate::show::{send, text_column};
use crate::variables;

/// `CREATE …` as MySQL prints it.
pub fn create_text(def: &EventDef) -> String {
    let at = |micros: i64| format!("'{}'", local(def, micros));
    let mut text = format!(
        "CREATE DEFINER={}@{} EVENT {} ON SCHEDULE ",
        name(&def.definer.0),
        name(&def.definer.1),
        name(&def.name),
    );
    match &def.schedule {
        Schedule::At(time) => {
            let _ = write!(text, "AT {}", at(*time));
        }
        Schedule::Every {
            amount,
            unit,
            starts,
            ends,
        } => {
            let _ = write!(
                text,
                "EVERY {} {unit} STARTS {}",
                interval_text(*amount, unit),
                at(*starts)
            );
            if let Some(ends) = ends {
                let _ = write!(text, " ENDS {}", at(*ends));
            }
        }
    }
    text.push_str(match def.preserve {
        true => " ON COMPLETION PRESERVE",
        false => " ON COMPLETION NOT PRESERVE",
    });
    text.push_str(match def.status {
        EventStatus::Enabled => " ENABLE",
        EventStatus::Disabled | EventStatus::Over => " DISABLE",
        EventStatus::DisabledOnReplica => " DISABLE ON REPLICA",
    });
    if !def.comment.is_empty() {
        let _ = write!(text, " COMMENT {}", string(&def.comment));
    }
    let _ = write!(text, " DO {}", def.body);
    text
}

/// By the clock of the event's zone.
fn local(def: &EventDef, micros: i64) -> types::time::DateTime {
    def.zone().to_local(UnixTime { micros, fsp: 0 })
}

/// A number of a simple unit; the parts of a composite one, as a literal.
fn interval_text(amount: i64, unit: &str) -> String {
    use IntervalUnit::*;
    // How many of the last part the others have, and what stands behind the first.
    let (sizes, behind_first): (&[i64], char) = match IntervalUnit::from_name(unit) {
        Some(YearMonth) => (&[12], '-'),
        Some(DayHour) => (&[24], ' '),
        Some(DayMinute) => (&[24 * 60, 60], ' '),
        Some(DaySecond) => (&[86_400, 3600, 60], ' '),
        Some(HourMinute | MinuteSecond) => (&[60], ':'),
        Some(HourSecond) => (&[3600, 60], ':'),
        _ => return amount.to_string(),
    };
    let mut text = String::from("'");
    let mut rest = amount;
    for (at, size) in sizes.iter().enumerate() {
        let behind = if at == 0 { behind_first } else { ':' };
        let _ = write!(text, "{}{behind}", rest / size);
        rest %= size;
    }
    let _ = write!(text, "{rest}'");
    text
}

impl Session {
    pub(crate) fn show_create_event(
        &mut self,
        shown: &TableName,
        status: ServerStatus,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let (database, named) = self.qualified(shown)?;
        let catalog = self.engine.catalog();
        let def = catalog.event(&database, &named);
        let def = def.ok_or_else(|| SqlError::new(ErrorKind::EventDoesNotExist, &[&named]))?;
        let names = [
            "Event",
            "sql_mode",
            "time_zone",
            "Create Event",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ];
        let mut row = vec![
            Value::str(&def.name),
            Value::str(&def.context.sql_mode),
            Value::str(&def.time_zone),
            Value::from(create_text(def)),
        ];
        row.extend(context_cells(&def.context));
        send(
            names.iter().map(|name| text_column(name)).collect(),
            vec![row],
            status,
            sink,
        )
    }
}

pub fn events(source: &Source<'_>) -> Vec<Vec<Value>> {
    let access = source.session.access;
    let catalog = source.session.engine.catalog();
    let originator = variables::find("server_id").map(|id| source.session.engine.globals().get(id).parse());
    let originator = originator.ok().and_then(Result::ok).unwrap_or(1);
    let mut rows = Vec::new();
    for database in source.databases(&catalog) {
        let held = access.rights().on_database(Scope::Database(&database.def.name));
        if !(access.is_unlimited() || held.contains(Privileges::EVENT)) {
            continue;
        }
        for def in database.events.values().take_while(|_| governor::go_on()) {
            rows.push(row(def, originator, source));
        }
    }
    rows
}

fn row(def: &EventDef, originator: u64, source: &Source<'_>) -> Vec<Value> {
    let own_time = |micros: i64| Value::DateTime(local(def, micros));
    let (kind, execute_at, amount, field, starts, ends) = match &def.schedule {
        Schedule::At(at) => (
            "ONE TIME",
            own_time(*at),
            Value::Null,
            Value::Null,
            Value::Null,
            Value::Null,
        ),
        Schedule::Every {
            amount,
            unit,
            starts,
            ends,
        } => (
            "RECURRING",
            Value::Null,
            text(interval_text(*amount, unit)),
            text(unit),
            own_time(*starts),
            ends.map_or(Value::Null, own_time),
        ),
    };
    let mut row = vec![
        text(CATALOG),
        text(&def.database),
        text(&def.name),
        text(format!("{}@{}", def.definer.0, def.definer.1)),
        text(&def.time_zone),
        text("SQL"),
        text(&def.body),
        text(kind),
        execute_at,
        amount,
        field,
        text(&def.context.sql_mode),
        starts,
        ends,
        text(def.status.as_str()),
        text(match def.preserve {
            true => "PRESERVE",
            false => "NOT PRESERVE",
        }),
        moment(def.created_at.div_euclid(1_000_000), source),
        moment(def.altered_at.div_euclid(1_000_000), source),
        def.last_run.map_or(Value::Null, own_time),
        text(&def.comment),
        Value::UInt(originator),
    ];
    row.extend(context_cells(&def.context));
    row
}
