//! How deep queries nest.
//!
//! A query stands in another one as a subquery, a derived table, a view or a common table. Planning, running and dropping it recurse
//! into it. The text shows the nesting of the first two only: views and common tables nest by names, and a text that
//! names each the one before is as deep as it is long. So the planner counts, as MySQL does (1473), and whatever recurses
//! over a plan may do so without looking.

use std::cell::Cell;

use types::{ErrorKind, SqlResult};

/// MySQL's `MAX_SELECT_NESTING`.
const MAX_LEVELS: usize = 63;

#[derive(Debug, Default)]
pub struct Nesting {
    /// Queries around the one being planned.
    level: Cell<usize>,
    /// Levels below it so far.
    height: Cell<usize>,
}

impl Nesting {
    /// Plans a query that stands in the current one. Returns the levels of it, itself included; whoever reads its rows
    /// [`uses`](Self::uses) them.
    pub fn below<T>(&self, plan: impl FnOnce() -> SqlResult<T>) -> SqlResult<(T, usize)> {
        governor::descend()?;
        let (level, height) = (self.level.get(), self.height.get());
        if level >= MAX_LEVELS {
            return Err(ErrorKind::TooHighLevelOfNesting.into());
        }
        self.level.set(level + 1);
        self.height.set(0);
        let planned = plan();
        let levels = self.height.get() + 1;
        self.level.set(level);
        self.height.set(height);
        Ok((planned?, levels))
    }

    /// The current query reads a planned one of so many levels.
    pub fn uses(&self, levels: usize) -> SqlResult<()> {
        if self.level.get() + levels > MAX_LEVELS {
            return Err(ErrorKind::TooHighLevelOfNesting.into());
        }
        self.height.set(self.height.get().max(levels));
        Ok(())
    }

    /// Whether the query being planned stands in another one.
    pub fn is_inside(&self) -> bool {
        self.level.get() > 0
    }

    /// Plans a query where it is read.
    pub fn inside<T>(&self, plan: impl FnOnce() -> SqlResult<T>) -> SqlResult<T> {
        let (planned, levels) = self.below(plan)?;
        self.uses(levels)?;
        Ok(planned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `levels` queries in each other.
    fn nest(nesting: &Nesting, levels: usize) -> SqlResult<()> {
        match levels {
            0 => Ok(()),
            _ => nesting.inside(|| nest(nesting, levels - 1)),
        }
    }

    #[test]
    fn nesting_has_an_end_and_starts_anew_after_an_error() {
        let nesting = Nesting::default();
        nest(&nesting, MAX_LEVELS).expect("as deep as allowed");
        let error = nest(&nesting, MAX_LEVELS + 1).expect_err("one deeper");
        assert_eq!(error.code(), 1473);
        nest(&nesting, MAX_LEVELS).expect("the level is that of before");
    }

    #[test]
    fn a_common_table_counts_where_it_is_read() {
        let nesting = Nesting::default();
        let mut levels = 0;
        for _ in 0..MAX_LEVELS {
            let before = levels;
            let ((), after) = nesting.below(|| nesting.uses(before)).expect("not yet too deep");
            levels = after;
        }
        assert_eq!(levels, MAX_LEVELS);
        assert!(nesting.below(|| nesting.uses(levels)).is_err());
    }
}
