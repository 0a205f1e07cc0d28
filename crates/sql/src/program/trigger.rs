//! Triggers: fired by the statements that change rows, for each of these, as parts of the statement ([`part`](super::part)).
//!
//! A trigger is compiled for the table as it is. The columns of OLD and NEW that it names are slots of its frame: they are filled before it
//! runs, and those of NEW are taken back from a BEFORE trigger.

use std::sync::{Arc, OnceLock};

use catalog::{Privileges, TableDef, TriggerDef, TriggerEvent, TriggerTiming};
use types::{SqlResult, Value};

use super::call::Owner;
use super::code::{Program, RowSide};
use super::part::NoRows;
use super::run::Run;
use super::{Kept, compile};
use crate::exec::runtime::TriggerRows;
use crate::host::Host;
use crate::plan::Authorizer as _;
use crate::session::Session;

/// The triggers of a table, compiled when they fire first.
pub struct TableTriggers {
    pub def: Arc<TableDef>,
    lists: [OnceLock<Arc<[TriggerCode]>>; 6],
}

pub struct TriggerCode {
    trigger: TriggerDef,
    program: Program,
}

fn place(timing: TriggerTiming, event: TriggerEvent) -> usize {
    let timing = match timing {
        TriggerTiming::Before => 0,
        TriggerTiming::After => 3,
    };
    let event = match event {
        TriggerEvent::Insert => 0,
        TriggerEvent::Update => 1,
        TriggerEvent::Delete => 2,
    };
    timing + event
}

impl TableTriggers {
    pub fn new(def: Arc<TableDef>) -> TableTriggers {
        TableTriggers {
            def,
            lists: Default::default(),
        }
    }

    /// Those that fire then, in their order.
    fn list(&self, timing: TriggerTiming, event: TriggerEvent) -> SqlResult<Arc<[TriggerCode]>> {
        let list = &self.lists[place(timing, event)];
        if let Some(known) = list.get() {
            return Ok(known.clone());
        }
        let mut made = Vec::new();
        for trigger in self.def.triggers_of(timing, event) {
            made.push(TriggerCode {
                program: compile::trigger(&self.def, trigger)?,
                trigger: trigger.clone(),
            });
        }
        Ok(list.get_or_init(|| made.into()).clone())
    }
}

impl Session {
    /// Runs the triggers that fire then, in a part of the statement that changes the row.
    pub(super) fn fire_triggers(
        &mut self,
        table: &Arc<TableDef>,
        timing: TriggerTiming,
        event: TriggerEvent,
        rows: &mut TriggerRows<'_>,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let triggers = self.programs.kept.triggers(table).list(timing, event)?;
        for code in triggers.iter() {
            self.fire(table, code, rows, host)?;
        }
        Ok(())
    }

    fn fire(
        &mut self,
        table: &Arc<TableDef>,
        code: &TriggerCode,
        rows: &mut TriggerRows<'_>,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let (program, trigger) = (&code.program, &code.trigger);
        let mut run = Run::new(program);
        for column in &program.rows {
            let row = match column.side {
                RowSide::Old => rows.old,
                RowSide::New => rows.new.as_deref(),
            };
            let value = row.and_then(|row| row.get(column.column));
            run.frame.values[column.slot] = value.cloned().unwrap_or(Value::Null);
        }
        self.enter(&Owner::of_trigger(table, trigger))?;
        let outcome = match self.check_definer(table, program) {
            Ok(()) => self.run_program(&mut run, host, &mut NoRows("trigger")),
            Err(error) => Err(error),
        };
        self.leave();
        outcome?;
        let Some(new) = rows
            .new
            .as_deref_mut()
            .filter(|_| trigger.timing == TriggerTiming::Before)
        else {
            return Ok(());
        };
        let new_columns = program.rows.iter().filter(|column| column.side == RowSide::New);
        for column in new_columns.filter(|column| run.assigned[column.slot]) {
            new[column.column] = std::mem::replace(&mut run.frame.values[column.slot], Value::Null);
            rows.set.push(column.column);
        }
        Ok(())
    }

    /// 1142 where the definer may have no trigger on the table, 1143 for a column that it may not read or set.
    fn check_definer(&mut self, table: &TableDef, program: &Program) -> SqlResult<()> {
        let access = self.access();
        if access.is_unlimited() {
            return Ok(());
        }
        access.check_table(&table.database, &table.name, Privileges::TRIGGER)?;
        for column in &program.rows {
            let name = &table.columns[column.column].name;
            if column.is_read {
                access.check_column(&table.database, &table.name, name, Privileges::SELECT)?;
            }
            if column.is_set {
                access.check_column(&table.database, &table.name, name, Privileges::UPDATE)?;
            }
        }
        Ok(())
    }
}

impl Kept {
    /// The triggers of a table, kept while its definition is the same.
    fn triggers(&self, def: &Arc<TableDef>) -> Arc<TableTriggers> {
        let mut kept = self.triggers.borrow_mut();
        if let Some(known) = kept.get(&def.id)
            && Arc::ptr_eq(&known.def, def)
        {
            return known.clone();
        }
        if kept.len() >= super::KEPT_MAX {
            kept.clear();
        }
        let made = Arc::new(TableTriggers::new(def.clone()));
        kept.insert(def.id, made.clone());
        made
    }
}
