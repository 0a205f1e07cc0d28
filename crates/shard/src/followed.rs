//! What a transaction does to rows that somebody follows.
//!
//! Changes are kept until they can be seen: so many of an entry of the log, and of a large transaction on its way. Of more it is only known
//! that there were some.

use store::{WriteOp, WriteOps};
use types::TableId;

use crate::observer::{Change, Changed, Follows, Observer, RowChange, RowChanges};
use crate::prepared::{PREPARED, PreparedChange};

/// Changes that are told one by one.
const CHANGES_MAX: usize = 10_000;
/// Bytes of their keys.
const BYTES_MAX: usize = 4 << 20;

/// What a write set does.
#[derive(Default)]
pub(crate) struct Followed<'a> {
    /// To the observer's table.
    pub observed: Vec<Change<'a>>,
    pub prepared: Vec<PreparedChange>,
    /// To others that it follows.
    pub rows: Vec<RowChange>,
}

impl<'a> Followed<'a> {
    pub fn of(observer: Option<&dyn Observer>, ops: WriteOps<'a>, follows_rows: bool) -> Followed<'a> {
        let observed = observer.map(Observer::table);
        let follower = observer.filter(|_| follows_rows);
        let mut followed = Followed::default();
        for op in ops.flatten() {
            let (table, key, row) = match op {
                WriteOp::Put { table, key, row } => (table, key, Some(row)),
                WriteOp::Delete { table, key } => (table, key, None),
                WriteOp::DropTable { table } => {
                    if follower.is_some_and(|follower| follower.follows(table) != Follows::Nothing) {
                        followed.note(table, Changed::Dropped);
                    }
                    continue;
                }
                _ => continue,
            };
            if Some(table) == observed {
                followed.observed.push((key, row));
            } else if table == PREPARED {
                followed.prepared.push((key.to_vec(), row.is_some()));
            } else if let Some(follower) = follower {
                match follower.follows(table) {
                    Follows::Nothing => {}
                    Follows::Table => followed.note(table, Changed::Rows),
                    Follows::Rows => followed.note(table, Changed::Row(key.to_vec())),
                }
            }
        }
        followed
    }

    fn note(&mut self, table: TableId, what: Changed) {
        let change = RowChange { table, what };
        // Rows of one table lie side by side.
        if change.what != Changed::Rows || self.rows.last() != Some(&change) {
            self.rows.push(change);
        }
    }
}

/// Changes that are to be told.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    transactions: Vec<Vec<RowChange>>,
    /// Of the transaction that is being read.
    open: Vec<RowChange>,
    count: usize,
    bytes: usize,
    is_too_much: bool,
}

impl Gathered {
    /// Adds changes of the transaction that is being read.
    pub fn add(&mut self, changes: &[RowChange]) {
        self.count += changes.len();
        for change in changes {
            if let Changed::Row(key) = &change.what {
                self.bytes += key.len();
            }
        }
        if self.is_too_much || self.count > CHANGES_MAX || self.bytes > BYTES_MAX {
            self.is_too_much = true;
            self.open = Vec::new();
            self.transactions = Vec::new();
            return;
        }
        self.open.extend_from_slice(changes);
    }

    /// Ends a transaction with its last changes, and those of its chunks; `None`: these are not known.
    pub fn end_transaction(&mut self, chunks: Option<Gathered>, last: &[RowChange]) {
        match chunks {
            Some(chunks) if !chunks.is_too_much => self.add(&chunks.open),
            _ => self.is_too_much = true,
        }
        self.add(last);
        let transaction = std::mem::take(&mut self.open);
        if !transaction.is_empty() {
            self.transactions.push(transaction);
        }
    }

    pub fn changes(self) -> RowChanges {
        match self.is_too_much {
            true => RowChanges::Unknown,
            false => RowChanges::Known(self.transactions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: u8) -> RowChange {
        RowChange {
            table: TableId(7),
            what: Changed::Row(vec![key]),
        }
    }

    #[test]
    fn changes_stay_apart_by_transaction_and_chunks_come_first() {
        let mut gathered = Gathered::default();
        gathered.end_transaction(Some(Gathered::default()), &[row(1)]);
        let mut chunks = Gathered::default();
        chunks.add(&[row(2)]);
        chunks.add(&[row(3)]);
        gathered.end_transaction(Some(chunks), &[row(4)]);
        gathered.end_transaction(Some(Gathered::default()), &[]);
        let expected = vec![vec![row(1)], vec![row(2), row(3), row(4)]];
        assert_eq!(gathered.changes(), RowChanges::Known(expected));
    }

    #[test]
    fn too_many_changes_are_any() {
        let many: Vec<RowChange> = (0..=CHANGES_MAX).map(|at| row(at as u8)).collect();
        let mut gathered = Gathered::default();
        gathered.end_transaction(Some(Gathered::default()), &many);
        assert_eq!(gathered.changes(), RowChanges::Unknown);
        let mut gathered = Gathered::default();
        gathered.end_transaction(None, &[]);
        assert_eq!(gathered.changes(), RowChanges::Unknown);
    }
}
