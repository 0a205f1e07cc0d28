//! Automatic ids of a statement that runs again.
//!
//! Nobody has seen those of the pass that was undone, so the next pass takes the same: that a definition had changed, or a lock came late, makes
//! no gap. They are not given back to the table's counter: others may have looked at it meanwhile.

use std::collections::VecDeque;
use std::ops::Range;

use store::Table;
use types::TableId;

use super::Transaction;

/// What a pass of the statement asked for. Ids are good for who asks for the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Taking {
    table: TableId,
    /// How often the table's counter had been set anew.
    resets: u64,
    count: u64,
    step: u64,
    offset: u64,
}

#[derive(Debug, Default)]
pub(super) struct StatementIds {
    /// By the running pass.
    taken: VecDeque<(Taking, Range<u64>)>,
    /// By those before it, in the order in which they are to be taken again.
    again: VecDeque<(Taking, Range<u64>)>,
}

impl StatementIds {
    pub(super) fn took(&mut self, taking: Taking, ids: Range<u64>) {
        self.taken.push_back((taking, ids));
    }

    /// The pass is undone, and there will be another one.
    pub(super) fn undo(&mut self) {
        self.taken.append(&mut self.again);
        std::mem::swap(&mut self.taken, &mut self.again);
    }

    /// There will be no other pass.
    pub(super) fn forget(&mut self) {
        self.taken.clear();
        self.again.clear();
    }
}

impl Transaction {
    pub(super) fn taking(table: &Table, count: u64, step: u64, offset: u64) -> Taking {
        Taking {
            table: table.id(),
            resets: table.auto_increment_resets(),
            count,
            step,
            offset,
        }
    }

    pub(super) fn has_ids_again(&self, taking: Taking) -> bool {
        let first = self.ids_of_statement.again.front();
        first.is_some_and(|(of, _)| *of == taking)
    }

    pub(super) fn take_ids_again(&mut self, taking: Taking) -> Option<Range<u64>> {
        if !self.has_ids_again(taking) {
            return None;
        }
        let (_, ids) = self.ids_of_statement.again.pop_front()?;
        self.ids_of_statement.took(taking, ids.clone());
        Some(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_pass_takes_what_the_one_before_has_taken() {
        let taking = |count| Taking {
            table: TableId(7),
            resets: 0,
            count,
            step: 1,
            offset: 1,
        };
        let mut ids = StatementIds::default();
        ids.took(taking(1), 1..2);
        ids.took(taking(2), 2..4);
        ids.undo();
        assert_eq!(ids.again, [(taking(1), 1..2), (taking(2), 2..4)]);
        // The second pass comes to the first of them alone.
        let first = ids.again.pop_front().unwrap();
        ids.took(first.0, first.1);
        ids.undo();
        assert_eq!(ids.again, [(taking(1), 1..2), (taking(2), 2..4)]);
        ids.forget();
        assert!(ids.again.is_empty() && ids.taken.is_empty());
    }
}
