//! What one writer's tables must hold.
//!
//! A writer does one step at a time and notes it when it was acknowledged. When the server dies, one step is on its
//! way: afterwards the tables are those of the ledger either without that step or with all of it.

use std::collections::{BTreeMap, BTreeSet};

/// One transaction, or one definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// `n = n + 1` in the writer's row of `counters`: a single row, by itself.
    Count,
    /// So many rows of `events` by one INSERT.
    Events {
        sequence: u32,
        parts: u32,
    },
    /// `n = n + 1` in all of the writer's rows of `sweeps`: a large transaction, which goes into the log in chunks.
    Sweep,
    /// The rows of an earlier `Events`, by one DELETE.
    Forget {
        sequence: u32,
    },
    /// Money from `left_accounts` to `right_accounts`, and a row of `transfers`, in one transaction.
    Transfer {
        sequence: u32,
        transfer: Transfer,
    },
    /// The same as a transfer and some events, rolled back: never there.
    Abandon {
        sequence: u32,
        transfer: Transfer,
    },
    CreateTable {
        number: u32,
    },
    /// Three rows of a table made before.
    FillTable {
        number: u32,
    },
    AddColumn {
        number: u32,
    },
    AddIndex {
        number: u32,
    },
    Truncate {
        number: u32,
    },
    DropTable {
        number: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    pub source: u32,
    pub target: u32,
    pub amount: i64,
}

/// A table that a writer made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Made {
    pub has_extra_column: bool,
    pub has_index: bool,
    pub rows: u32,
}

/// Everything that is a writer's own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ledger {
    pub count: u64,
    pub sweeps: u64,
    pub events: BTreeMap<u32, u32>,
    pub transfers: BTreeMap<u32, Transfer>,
    pub tables: BTreeMap<u32, Made>,
}

/// Rows of a `FillTable`.
pub const FILLED_ROWS: u32 = 3;

impl Ledger {
    pub fn apply(&mut self, step: &Step) {
        match *step {
            Step::Count => self.count += 1,
            Step::Sweep => self.sweeps += 1,
            Step::Events { sequence, parts } => {
                self.events.insert(sequence, parts);
            }
            Step::Forget { sequence } => {
                self.events.remove(&sequence);
            }
            Step::Transfer { sequence, transfer } => {
                self.transfers.insert(sequence, transfer);
            }
            Step::Abandon { .. } => {}
            Step::CreateTable { number } => {
                self.tables.insert(number, Made::default());
            }
            Step::FillTable { number } => self.table(number).rows = FILLED_ROWS,
            Step::AddColumn { number } => self.table(number).has_extra_column = true,
            Step::AddIndex { number } => self.table(number).has_index = true,
            Step::Truncate { number } => self.table(number).rows = 0,
            Step::DropTable { number } => {
                self.tables.remove(&number);
            }
        }
    }

    fn table(&mut self, number: u32) -> &mut Made {
        self.tables
            .get_mut(&number)
            .expect("steps on tables follow their making")
    }

    /// Whether the tables are those of this ledger, or those after `in_flight`, too; the ledger then becomes what was
    /// found. The error says what differs.
    pub fn settle(&mut self, found: &Ledger, in_flight: Option<&Step>) -> Result<(), String> {
        if self == found {
            return Ok(());
        }
        let mut with_step = self.clone();
        if let Some(step) = in_flight {
            with_step.apply(step);
            if &with_step == found {
                *self = with_step;
                return Ok(());
            }
        }
        Err(format!("{}; on the way was {in_flight:?}", self.difference(found)))
    }

    fn difference(&self, found: &Ledger) -> String {
        let mut parts = Vec::new();
        if self.count != found.count {
            parts.push(format!("counted {} and found {}", self.count, found.count));
        }
        if self.sweeps != found.sweeps {
            parts.push(format!("swept {} times and found {}", self.sweeps, found.sweeps));
        }
        parts.extend(map_difference("events", &self.events, &found.events));
        parts.extend(map_difference("transfers", &self.transfers, &found.transfers));
        parts.extend(map_difference("tables", &self.tables, &found.tables));
        parts.join(", ")
    }
}

fn map_difference<T: PartialEq + std::fmt::Debug>(
    what: &str,
    expected: &BTreeMap<u32, T>,
    found: &BTreeMap<u32, T>,
) -> Option<String> {
    let keys: BTreeSet<&u32> = expected.keys().chain(found.keys()).collect();
    let different = keys.into_iter().filter(|&key| expected.get(key) != found.get(key));
    let first: Vec<String> = different
        .take(3)
        .map(|key| format!("{key}: expected {:?}, found {:?}", expected.get(key), found.get(key)))
        .collect();
    (!first.is_empty()).then(|| format!("{what} differ ({})", first.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_on_the_way_is_there_or_not() {
        let mut ledger = Ledger::default();
        ledger.apply(&Step::Count);
        let step = Step::Events { sequence: 1, parts: 4 };
        let mut found = ledger.clone();
        found.apply(&step);
        ledger.settle(&ledger.clone(), Some(&step)).unwrap();
        ledger.settle(&found, Some(&step)).unwrap();
        assert_eq!(ledger, found);
    }

    #[test]
    fn what_is_lost_and_what_is_there_by_half_is_told() {
        let mut ledger = Ledger::default();
        ledger.apply(&Step::Events { sequence: 1, parts: 4 });
        let mut half = Ledger::default();
        half.apply(&Step::Events { sequence: 1, parts: 3 });
        let told = ledger.settle(&half, None).unwrap_err();
        assert_eq!(
            told,
            "events differ (1: expected Some(4), found Some(3)); on the way was None"
        );
        assert!(ledger.settle(&Ledger::default(), Some(&Step::Count)).is_err());
    }
}
