//! MATCH … AGAINST: rows by the words they have.
//!
//! ```text
//!   AGAINST ('+cat "big dog"') ── query ──▶ tree ── search ──▶ entries of the index at the snapshot ──▶ Ranking
//!                                                                                                   row's key: relevance
//! ```
//!
//! A search runs once in a statement, when the table that it is of is read for the first time; then the relevance of a row is looked up by its
//! primary key. So MATCH is as good in the select list or in ORDER BY as in WHERE, where the found rows are all that is read.
//!
//! * [`query`]: what is asked for;
//! * [`search`]: which rows have it, and how relevant they are.

mod query;
mod search;

use governor::stepwise::{Map, Stepwise};
use sql_plan::full_text::Match;
use sql_plan::table::Table;
use types::{SqlResult, Value};

use crate::query::QueryContext;
use crate::runtime::QueryMemory;

/// The rows that a search has found.
pub struct Ranking {
    /// The most relevant first, and those that are as relevant in the order of their keys.
    pub rows: Stepwise<Vec<Ranked>>,
    by_key: Map<Box<[u8]>, f32>,
    _memory: Option<QueryMemory>,
}

/// A found row: its primary key and its relevance, which may be below zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    pub key: Box<[u8]>,
    pub relevance: f32,
}

impl Ranking {
    fn empty() -> Ranking {
        Ranking {
            rows: Stepwise::default(),
            by_key: Map::new(),
            _memory: None,
        }
    }

    /// The value of MATCH for a row.
    pub fn relevance(&self, key: &[u8]) -> Value {
        Value::Double(f64::from(self.by_key.get(key).copied().unwrap_or(0.0)))
    }
}

/// Searches a table.
pub fn rank(table: &Table, wanted: &Match, ctx: &QueryContext<'_>) -> SqlResult<Ranking> {
    let against = wanted.against.eval(&[], ctx)?;
    if against.is_null() {
        return Ok(Ranking::empty());
    }
    let bytes = against.as_ref().text_bytes();
    let text = String::from_utf8_lossy(&bytes);
    search::search(table, wanted, &text, ctx)
}
