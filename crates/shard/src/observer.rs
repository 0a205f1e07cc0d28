//! Who is told what the log does to a table.
//!
//! The layers above keep a second form of some rows in memory (the catalog). They are told of every change of these rows by whoever
//! applies the log, in log order, and before anybody can see the rows; so that form is never behind what readers find.

use types::{TableId, Timestamp};

/// Follows the rows of one table. An error stops the replica, so it must follow from the log alone: rows that this version cannot read.
pub trait Observer: Send + Sync {
    fn table(&self) -> TableId;

    /// The rows with which the replica begins, in key order, as of a timestamp.
    fn restore(&self, rows: &[(Vec<u8>, Vec<u8>)], at: Timestamp) -> Result<(), String>;

    /// A transaction that commits at `at` has changed rows: keys, and rows unless they are deleted. Not to be seen before
    /// [`publish`](Self::publish).
    fn apply(&self, at: Timestamp, changes: &[Change<'_>]) -> Result<(), String>;

    /// All that was applied is about to become visible.
    fn publish(&self);

    /// Whether somebody wants to hear which rows of other tables change. Asked before each entry of the log is applied, and again when
    /// its changes can be seen: who begins to listen between the two is told [`RowChanges::Unknown`], if he begins before he reads.
    fn follows_rows(&self) -> bool {
        false
    }

    /// What of a table is followed. Asked while somebody listens.
    fn follows(&self, _table: TableId) -> Follows {
        Follows::Nothing
    }

    /// What an entry of the log has changed, which can be seen now, and whose issuers are not answered yet. It holds up the log.
    fn rows_changed(&self, _changes: RowChanges) {}
}

/// What somebody wants to hear of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    Nothing,
    /// That rows of it have changed.
    Table,
    /// Which.
    Rows,
}

/// What transactions have changed of the tables that somebody follows.
#[derive(Debug, PartialEq, Eq)]
pub enum RowChanges {
    /// In the order of the log: of each transaction by itself.
    Known(Vec<Vec<RowChange>>),
    /// Whatever is followed may have changed: there was too much to be told one by one, or nobody listened when it began.
    Unknown,
}

/// A change of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowChange {
    pub table: TableId,
    pub what: Changed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// The row with this primary key is another one, or gone.
    Row(Vec<u8>),
    /// Some rows.
    Rows,
    /// The table is gone with all its rows.
    Dropped,
}

/// A row's key, and the row; `None`: it is deleted.
pub type Change<'a> = (&'a [u8], Option<&'a [u8]>);
