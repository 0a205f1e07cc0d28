//! SHOW CREATE TRIGGER, and the rows of `information_schema.TRIGGERS`.

use catalog::{Privileges, TableDef, TriggerDef};
use parser::ast::TableName;
use types::{ErrorKind, SqlError, SqlResult, SqlType, UnixTime, Value};

use super::shown::context_cells;
use crate::information_schema::schema::{CATALOG, hundredths};
use crate::information_schema::{Source, text};
use crate::result::{ResultColumn, ResultSink, ServerStatus};
use crate::session::{Answer, Session};
use crate::show::{send, text_column};

/// `CREATE …` as MySQL prints it.
pub fn create_text(table: &TableDef, trigger: &TriggerDef) -> String {
    let name = crate::show::create::name;
    format!(
        "CREATE DEFINER={}@{} TRIGGER {} {} {} ON {} FOR EACH ROW {}",
        name(&trigger.definer.0),
        name(&trigger.definer.1),
        name(&trigger.name),
        trigger.timing.as_str(),
        trigger.event.as_str(),
        name(&table.name),
        trigger.body,
    )
}

impl Session {
    pub(crate) fn show_create_trigger(
        &mut self,
        name: &TableName,
        status: ServerStatus,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let (database, named) = self.qualified(name)?;
        let access = self.access();
        let catalog = self.engine.catalog();
        let (table, trigger) = catalog.trigger(&database, &named).ok_or(ErrorKind::TrgDoesNotExist)?;
        let held = access.rights().on_table(&database, &table.name);
        if !(access.is_unlimited() || held.contains(Privileges::TRIGGER)) {
            return Err(SqlError::new(ErrorKind::SpecificAccessDenied, &[&"TRIGGER"]));
        }
        let names = [
            "Trigger",
            "sql_mode",
            "SQL Original Statement",
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ];
        let mut columns: Vec<_> = names.iter().map(|name| text_column(name)).collect();
        columns.push(ResultColumn::computed("Created", SqlType::timestamp(2)));
        let made = UnixTime {
            micros: trigger.created_at,
            fsp: 6,
        };
        let zone = &self.variables.settings.expressions.time_zone;
        let mut row = vec![
            Value::str(&trigger.name),
            Value::str(&trigger.context.sql_mode),
            Value::from(create_text(table, trigger)),
        ];
        row.extend(context_cells(&trigger.context));
        row.push(Value::DateTime(zone.to_local(made.truncate(2))));
        send(columns, vec![row], status, sink)
    }
}

pub fn triggers(source: &Source<'_>) -> Vec<Vec<Value>> {
    let access = source.session.access;
    let catalog = source.session.engine.catalog();
    let mut rows = Vec::new();
    for database in source.databases(&catalog) {
        for table in database.tables.values().filter(|table| !table.triggers.is_empty()) {
            let held = access.rights().on_table(&table.database, &table.name);
            if !governor::go_on() || !(access.is_unlimited() || held.contains(Privileges::TRIGGER)) {
                continue;
            }
            let mut shown: Vec<&TriggerDef> = table.triggers.iter().collect();
            shown.sort_by_key(|trigger| (trigger.event, trigger.timing));
            rows.extend(shown.into_iter().map(|trigger| row(table, trigger, source)));
        }
    }
    rows
}

fn row(table: &TableDef, trigger: &TriggerDef, source: &Source<'_>) -> Vec<Value> {
    let alike = table.triggers_of(trigger.timing, trigger.event);
    let order = alike.take_while(|known| known.name != trigger.name).count() + 1;
    let mut row = vec![
        text(CATALOG),
        text(&table.database),
        text(&trigger.name),
        text(trigger.event.as_str()),
        text(CATALOG),
        text(&table.database),
        text(&table.name),
        Value::UInt(order as u64),
        Value::Null,
        text(&trigger.body),
        text("ROW"),
        text(trigger.timing.as_str()),
        Value::Null,
        Value::Null,
        text("OLD"),
        text("NEW"),
        hundredths(trigger.created_at, source),
        text(&trigger.context.sql_mode),
        text(format!("{}@{}", trigger.definer.0, trigger.definer.1)),
    ];
    row.extend(context_cells(&trigger.context));
    row
}
