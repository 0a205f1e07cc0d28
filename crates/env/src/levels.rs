//! Feature levels: what the nodes of a cluster may write and say, so that all of them can read it.
//!
//! ```text
//!   program A speaks  1
//!   program B speaks  1 ─ 2       a cluster of A and B is at level 1, and so is one of B alone
//!   program C speaks      2 ─ 3   until an operator raises it; then A is refused, and C may come
//! ```
//!
//! A cluster has a level. A program speaks a range of them. Whoever does not speak the cluster's level does not take part. Until the level is raised a node
//! may go back to the program before. What a level has brought is a [`Feature`]; whoever writes it asks [`Level::has`] before.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(pub u8);

/// What a program speaks, from the lowest to the highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Levels {
    pub lowest: Level,
    pub highest: Level,
}

/// What is written from some level on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// The level itself, in the identity and in checkpoints, and in the membership which levels each node speaks.
    LevelsOnDisk,
    /// A member without rows, whose directory and checkpoints say so.
    Witness,
    /// Stored programs, in the catalog.
    Programs,
    /// Stored functions, in the catalog, and triggers, in the definitions of tables.
    FunctionsAndTriggers,
    /// Events, in the catalog.
    Events,
    /// Hidden columns for keys over expressions, in the definitions of tables.
    HiddenColumns,
    /// Columns and databases in other character sets than utf8mb4, utf8mb3, latin1, ascii and binary, or in a collation of a language.
    CharacterSets,
    /// Full-text indexes, in the definitions of tables.
    FullText,
    /// Indexes of the elements of arrays, in the definitions of tables.
    MultiValued,
    /// Rows that expire, in the definitions of tables.
    Expiry,
    /// Long values of Redis clients, in pieces in a table of their own.
    LongValues,
    /// Prepared transactions, in tables of their own; whoever leads holds their locks.
    PreparedTransactions,
    /// Log entries that are too long for one call, in pieces.
    LongEntries,
    /// A node that follows tells the leader of each of its transactions that lives.
    LiveTransactions,
}

impl Level {
    /// Of whoever says nothing of levels.
    pub const FIRST: Level = Level(1);

    /// Whether all members of a cluster that is at this level can read what the feature writes.
    pub fn has(self, feature: Feature) -> bool {
        self >= feature.level()
    }
}

impl Feature {
    /// From which on it is written.
    pub fn level(self) -> Level {
        match self {
            Feature::LevelsOnDisk | Feature::Witness => Level(2),
            Feature::Programs | Feature::HiddenColumns => Level(3),
            Feature::CharacterSets
            | Feature::Events
            | Feature::Expiry
            | Feature::FullText
            | Feature::FunctionsAndTriggers
            | Feature::LiveTransactions
            | Feature::LongEntries
            | Feature::LongValues
            | Feature::MultiValued
            | Feature::PreparedTransactions => Level(4),
        }
    }
}

impl Levels {
    /// Of programs that say nothing of levels.
    pub const FIRST: Levels = Levels {
        lowest: Level::FIRST,
        highest: Level::FIRST,
    };

    const OF_THIS_PROGRAM: Levels = Levels {
        lowest: Level::FIRST,
        highest: Level(4),
    };

    /// What this program speaks. A test build can be told to speak less, by the variable `ENV_LEVELS` (`1-1`).
    pub fn spoken() -> Levels {
        restricted().unwrap_or(Levels::OF_THIS_PROGRAM)
    }

    pub fn contains(self, level: Level) -> bool {
        self.lowest <= level && level <= self.highest
    }
}

#[cfg(any(debug_assertions, feature = "faults"))]
fn restricted() -> Option<Levels> {
    const VARIABLE: &str = "ENV_LEVELS";
    let value = std::env::var(VARIABLE).ok()?;
    let levels = parse(&value);
    // A misspelt range would make a test pass for nothing.
    Some(levels.unwrap_or_else(|| panic!("{VARIABLE}={value}: not a range of levels such as 1-2")))
}

#[cfg(any(debug_assertions, feature = "faults"))]
fn parse(value: &str) -> Option<Levels> {
    let (lowest, highest) = value.split_once('-')?;
    let (lowest, highest) = (Level(lowest.parse().ok()?), Level(highest.parse().ok()?));
    (Level::FIRST <= lowest && lowest <= highest).then_some(Levels { lowest, highest })
}

#[cfg(not(any(debug_assertions, feature = "faults")))]
fn restricted() -> Option<Levels> {
    None
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `2`, or `1 to 2`.
impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lowest == self.highest {
            true => self.lowest.fmt(f),
            false => write!(f, "{} to {}", self.lowest, self.highest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_and_shown() {
        let levels = parse("1-2").unwrap();
        assert_eq!(levels.to_string(), "1 to 2");
        assert!(levels.contains(Level(2)) && !levels.contains(Level(3)));
        assert_eq!(parse("3-3").unwrap().to_string(), "3");
        assert!(!parse("3-3").unwrap().contains(Level(2)));
        for wrong in ["", "2", "0-1", "2-1", "1-x"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
