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
}

/// A row's key, and the row; `None`: it is deleted.
pub type Change<'a> = (&'a [u8], Option<&'a [u8]>);
