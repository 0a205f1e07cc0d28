//! CREATE and DROP TRIGGER.
//!
//! A trigger is a part of its table's definition, and so comes and goes under the same locks. It is compiled once when it is made, so that a wrong one is refused
//! there.

use catalog::{Privileges, TableDef, TriggerDef, TriggerEvent, TriggerTiming};
use env::Feature;
use parser::ast;
use types::{ErrorKind, SqlError, SqlResult};

use super::{ObjectLocks, check_name, unknown_database};
use crate::host::Host;
use crate::plan::Authorizer as _;
use crate::program::compile;
use crate::session::Session;

impl Session {
    pub(super) fn create_trigger(
        &mut self,
        create: &ast::CreateTrigger,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<()> {
        self.check_level(Feature::FunctionsAndTriggers, "triggers")?;
        let (database, name) = self.qualified(&create.name)?;
        check_name(&name, ErrorKind::SpWrongName)?;
        let subject = subject(create, &database);
        if subject
            .schema
            .as_ref()
            .is_some_and(|schema| schema.as_str() != database)
        {
            return Err(ErrorKind::TrgInWrongSchema.into());
        }
        let catalog = self.engine.catalog();
        let collation = match catalog.database(&database) {
            Some(known) => known.def.collation,
            None => return Err(unknown_database(&database)),
        };
        if self.temporary.get(&database, &subject.name).is_some() {
            let named = subject.name.as_str();
            return Err(SqlError::new(ErrorKind::TrgOnViewOrTempTable, &[&named]));
        }
        let table = self.table(&subject)?.def.clone();
        if let Some((other, known)) = catalog.trigger(&database, &name) {
            if create.if_not_exists && other.id == table.id {
                let names: [&dyn std::fmt::Display; 3] = [&known.name, &database, &table.name];
                self.warnings
                    .note(SqlError::new(ErrorKind::IfNotExistsTrgExistsAlready, &names));
                return Ok(());
            }
            return Err(ErrorKind::TrgAlreadyExists.into());
        }
        let definer = self.definer_of(create.definer.as_ref())?;
        let trigger = TriggerDef {
            name: name.clone(),
            timing: timing_of(create.timing),
            event: event_of(create.event),
            body: create.body.0.to_string(),
            definer,
            context: self.program_context(collation)?,
            created_at: self.engine.clock_micros(),
        };
        compile::trigger(&table, &trigger)?;
        self.change_schema(locks, host, |change| {
            let current = change.before.table(&database, &table.name);
            let current = current.ok_or_else(|| super::no_such_table(&table))?;
            if change.before.trigger(&database, &name).is_some() {
                return Err(ErrorKind::TrgAlreadyExists.into());
            }
            let mut def = TableDef::clone(current);
            let at = place_of(&def, &trigger, create.order.as_ref())?;
            def.triggers.insert(at, trigger);
            change.edit.put_table(def);
            Ok(())
        })
    }

    pub(super) fn drop_trigger(
        &mut self,
        drop: &ast::DropObject,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let (database, name) = self.qualified(&drop.name)?;
        let catalog = self.engine.catalog();
        let Some((table, _)) = catalog.trigger(&database, &name) else {
            let absent: SqlError = ErrorKind::TrgDoesNotExist.into();
            return self.forgive(absent, drop.if_exists);
        };
        self.access().check_table(&database, &table.name, Privileges::TRIGGER)?;
        self.change_schema(locks, host, |change| {
            let found = change.before.trigger(&database, &name);
            let (table, _) = found.ok_or(ErrorKind::TrgDoesNotExist)?;
            let mut def = TableDef::clone(table);
            def.triggers.retain(|trigger| !trigger.is_named(&name));
            change.edit.put_table(def);
            Ok(())
        })
    }
}

/// The table of a trigger: in the trigger's database, unless it says otherwise.
pub(super) fn subject(create: &ast::CreateTrigger, database: &str) -> ast::TableName {
    match create.table.schema {
        Some(_) => create.table.clone(),
        None => ast::TableName::new(Some(database), &create.table.name),
    }
}

/// Where a new trigger stands among those of its table. 3011 for one that it is to follow or to precede, and that is not there.
fn place_of(def: &TableDef, trigger: &TriggerDef, order: Option<&ast::TriggerOrder>) -> SqlResult<usize> {
    let (named, behind) = match order {
        None => return Ok(def.triggers.len()),
        Some(ast::TriggerOrder::Follows(named)) => (named, 1),
        Some(ast::TriggerOrder::Precedes(named)) => (named, 0),
    };
    let mut known = def.triggers.iter();
    let at = known.position(|known| known.is_of(trigger.timing, trigger.event) && known.is_named(named));
    match at {
        Some(at) => Ok(at + behind),
        None => Err(SqlError::new(ErrorKind::ReferencedTrgDoesNotExist, &[&named.as_str()])),
    }
}

fn timing_of(timing: ast::TriggerTiming) -> TriggerTiming {
    match timing {
        ast::TriggerTiming::Before => TriggerTiming::Before,
        ast::TriggerTiming::After => TriggerTiming::After,
    }
}

fn event_of(event: ast::TriggerEvent) -> TriggerEvent {
    match event {
        ast::TriggerEvent::Insert => TriggerEvent::Insert,
        ast::TriggerEvent::Update => TriggerEvent::Update,
        ast::TriggerEvent::Delete => TriggerEvent::Delete,
    }
}
