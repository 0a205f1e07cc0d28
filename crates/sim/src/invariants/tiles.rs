//! One statement changes all tiles alike: none is left out, and what was answered is counted once.

use parking_lot::Mutex;

use super::history::End;
use crate::report::Report;
use crate::sql::tables::{Rows, TILES};

#[derive(Default)]
pub struct Tiles(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    answered: i64,
    /// Those that may have been done: under way, or nobody knows.
    open: i64,
}

impl Tiles {
    pub fn begin(&self) {
        self.0.lock().open += 1;
    }

    pub fn end(&self, end: End) {
        let mut counts = self.0.lock();
        match end {
            End::Committed => {
                counts.open -= 1;
                counts.answered += 1;
            }
            End::Failed => counts.open -= 1,
            End::Unknown => {}
        }
    }

    pub fn answered(&self) -> i64 {
        self.0.lock().answered
    }

    /// Of a replica: they are alike.
    pub fn look(node: u32, tiles: &Rows, report: &Report) {
        let first = tiles.numbers(1).next();
        if !tiles.rows.is_empty() && tiles.numbers(1).any(|n| Some(n) != first) {
            report.violation(
                "tiles",
                format_args!("on node {node} a part of a statement is there: {:?}", tiles.rows),
            );
        }
    }

    /// At the end.
    pub fn check(&self, tiles: &Rows, report: &Report) {
        let counts = self.0.lock();
        let n = tiles.numbers(1).next().unwrap_or(0);
        let most = counts.answered + counts.open;
        if !(counts.answered..=most).contains(&n) || tiles.rows.len() as i64 != TILES {
            let (answered, rows) = (counts.answered, tiles.rows.len());
            report.violation(
                "tiles",
                format_args!("{rows} tiles were changed {n} times; {answered} were answered, {most} may have been"),
            );
        }
    }
}
