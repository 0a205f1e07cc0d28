//! One replicated shard: rows, their log, and the consensus between its replicas.
//!
//! ```text
//!   propose ──▶ queue ──▶ batch ──▶ log entry ──▶ written, synced ──▶ committed ──▶ applied ──▶ answer
//! ```
//!
//! A transaction that arrives here has its locks and its writes; the shard gives it a place in the log and a commit
//! timestamp. Whatever arrives while a batch is being written forms the next one. A single node is a consensus group of
//! one, on the same path.
//!
//! Reading order:
//!
//! * [`Shard`], [`Config`]: the outside;
//! * `replica`: the threads and what they share; `queue`: where transactions wait; `leader`: the thread that commits;
//! * `batch`: a log entry's contents; `consensus`: the consensus library's types; `log`, `network`: its log and its
//!   peers;
//! * `machine`: applying the log; `outcomes`: what became of transactions;
//! * [`mod@salvage`]: the rows of a damaged directory, as far as they can be read;
//! * `checkpoint`, `housekeeper`: shortening the log; `compaction`: closing gaps in memory; `meters`: what all of this took.

mod api;
mod batch;
mod checkpoint;
mod compaction;
mod consensus;
mod failure;
#[doc(hidden)]
pub mod fuzz;
mod housekeeper;
mod leader;
mod log;
mod machine;
mod meters;
mod network;
mod observer;
mod outcomes;
mod queue;
mod replica;
mod salvage;

pub use api::{CheckpointError, Config, OpenError, Outcome, ProposeError, Shard, Status, Transaction, TransactionId};
pub use meters::{Histogram, Meters};
pub use observer::{Change, Observer};
pub use salvage::{Salvage, salvage};
