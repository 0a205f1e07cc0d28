//! `TTL = column + INTERVAL count unit`: when the rows of a table expire.

use serde::{Deserialize, Serialize};
use types::Expiry;
use types::time::{Interval, IntervalUnit};

use super::{TableDef, same_name};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TtlDef {
    /// By name, as foreign keys have theirs.
    pub column: String,
    pub count: u64,
    /// As SQL writes it: `DAY`.
    pub unit: String,
    /// `TTL_ENABLE`. Otherwise rows do not expire.
    pub enabled: bool,
}

impl TtlDef {
    /// Of so many months or microseconds; `None`: longer than any time.
    pub fn interval(&self) -> Option<Interval> {
        Interval::of(i64::try_from(self.count).ok()?, IntervalUnit::from_name(&self.unit)?)
    }

    /// `` `column` + INTERVAL 3 DAY ``, with the column's name in quotes already.
    pub fn rule_text(&self, column: &str) -> String {
        match self.count {
            0 => column.to_owned(),
            count => format!("{column} + INTERVAL {count} {}", self.unit),
        }
    }

    pub fn enable_text(&self) -> &'static str {
        match self.enabled {
            true => "ON",
            false => "OFF",
        }
    }
}

impl TableDef {
    /// By which rule its rows expire, where they do.
    pub fn expiry(&self) -> Option<Expiry> {
        let ttl = self.ttl.as_ref().filter(|ttl| ttl.enabled)?;
        let column = self
            .columns
            .iter()
            .position(|column| same_name(&column.name, &ttl.column))?;
        let interval = ttl.interval()?;
        Some(Expiry {
            column: u16::try_from(column).ok()?,
            months: u64::try_from(interval.months).ok()?,
            micros: u64::try_from(interval.micros).ok()?,
        })
    }
}
