//! Triggers, as the definition of their table has them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Catalog, ProgramContext, TableDef, same_name};

/// `CREATE TRIGGER name timing event ON table FOR EACH ROW …`. What is run is read from its text again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggerDef {
    /// No other trigger of the database has it, in any case.
    pub name: String,
    pub timing: TriggerTiming,
    pub event: TriggerEvent,
    /// As it was written.
    pub body: String,
    /// User and host.
    pub definer: (String, String),
    pub context: ProgramContext,
    /// Microseconds since 1970.
    pub created_at: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TriggerTiming {
    Before,
    After,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

impl TriggerTiming {
    pub fn as_str(self) -> &'static str {
        match self {
            TriggerTiming::Before => "BEFORE",
            TriggerTiming::After => "AFTER",
        }
    }
}

impl TriggerEvent {
    pub fn as_str(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
        }
    }
}

impl TriggerDef {
    /// Whether it fires then.
    pub fn is_of(&self, timing: TriggerTiming, event: TriggerEvent) -> bool {
        self.timing == timing && self.event == event
    }

    pub fn is_named(&self, name: &str) -> bool {
        same_name(&self.name, name)
    }
}

impl TableDef {
    /// Those that fire then, in their order.
    pub fn triggers_of(&self, timing: TriggerTiming, event: TriggerEvent) -> impl Iterator<Item = &TriggerDef> {
        self.triggers.iter().filter(move |trigger| trigger.is_of(timing, event))
    }

    #[inline]
    pub fn has_triggers(&self, timing: TriggerTiming, event: TriggerEvent) -> bool {
        !self.triggers.is_empty() && self.triggers_of(timing, event).next().is_some()
    }
}

impl Catalog {
    /// A trigger with its table.
    pub fn trigger(&self, database: &str, name: &str) -> Option<(&Arc<TableDef>, &TriggerDef)> {
        let tables = self.database(database)?.tables.values();
        let mut triggers = tables.flat_map(|table| table.triggers.iter().map(move |trigger| (table, trigger)));
        triggers.find(|(_, trigger)| trigger.is_named(name))
    }
}
