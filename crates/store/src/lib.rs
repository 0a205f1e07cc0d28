//! Layer 1: tables in memory.
//!
//! A [`Store`] holds the rows of one shard as versions stamped with commit timestamps. It changes in one way only: the one
//! [`Writer`] applies committed write sets in log order (of large ones part by part, before it is decided whether they commit) and then
//! publishes their timestamp. Everybody else reads, at a
//! timestamp, without locks and without waiting.
//!
//! In reading order:
//!
//! * [`spec`] – what the store knows of a table, `keys` – the entries of a row in an index; [`write_set`] – the changes of a transaction as bytes.
//! * [`store`] – the directory of tables; [`table`] – reading one: point reads, scans, estimates.
//! * [`writer`] – applying, publishing, collecting old versions, closing gaps in memory; [`prepared`] – indexes that are built before they are applied.
//! * [`range`] – key ranges and the cursors that walk them in chunks.
//! * [`snapshot`] – which timestamps are still being read; [`past`] – how much is kept for who asks for it later.
//! * [`lock`] – row, key and table locks of running transactions, with deadlock detection.
//! * [`memory`] – the budget that everything above is charged to.

mod btree;
mod keys;
mod record;
mod retired;
mod statistics;
mod sync;

pub mod lock;
pub mod memory;
pub mod past;
pub mod prepared;
pub mod range;
pub mod snapshot;
pub mod spec;
pub mod store;
pub mod table;
pub mod write_set;
pub mod writer;

pub use lock::{
    Alias, LockInfo, LockKey, LockMode, LockModes, LockOutcome, LockOwner, LockStatistics, LockTable, LockTarget,
    LockWait, ToldWait, TransactionLocks, WaitInfo, Who,
};
pub use memory::{MemoryBudget, MemoryLimit, MemoryUse, Reservation};
pub use past::Past;
pub use prepared::{PrepareError, PreparedIndex};
pub use range::{Cursor, Direction, KeyRange};
pub use record::{MAX_KEY_BYTES, MAX_ROW_BYTES};
pub use snapshot::{Snapshot, Snapshots, TooOld};
pub use spec::{IndexSpec, KeyColumn, TableSpec};
pub use store::Store;
pub use table::{Entry, Table};
pub use types::{IndexId, TableId, Timestamp};
pub use write_set::{ChunkSize, Cut, Uncut, WriteOp, WriteOps, WriteSet, WriteSetError};
pub use writer::{
    ApplyError, CheckError, Compactions, Fitting, LoadError, LoadedTable, LocalStore, TableLoader, TablePiece,
    Undecided, Writer,
};
