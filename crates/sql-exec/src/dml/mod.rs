//! INSERT, REPLACE, UPDATE, DELETE.
//!
//! All of them change rows through [`RowChanger`]: it computes generated columns, checks constraints, encodes the row and its
//! key, and hands both to the transaction, which locks and checks uniqueness; then it looks at the foreign keys.

mod ahead;
mod change;
mod delete;
mod foreign_keys;
mod in_way;
mod insert;
pub mod load;
mod target;
mod update;

use ahead::Ahead;
pub use change::{RowChanger, duplicate_error, stays_in_views};
pub use delete::delete;
pub use foreign_keys::encode as encode_key;
pub use insert::{added_value, id_behind, insert, note_given_id};
pub use load::{load, load_info};
pub use update::{Found, Touched, update, write_changed};

/// What a change of rows did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Rows that the WHERE clause let through, or that were given to INSERT.
    pub matched: u64,
    /// What `affected_rows` counts.
    pub affected: u64,
    /// Rows left out or replaced because of a duplicate key.
    pub duplicates: u64,
    /// The id of the last row, if any row was inserted, replaced or updated: INSERT's answer tells it where no automatic id was made.
    pub last_id: Option<u64>,
}
