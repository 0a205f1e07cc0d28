//! What the layers above see of a shard.

use std::path::PathBuf;
use std::sync::Arc;

use env::Env;

/// A moment in the history of all rows. Commit timestamps rise in log order and never go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub u64);

/// Names a transaction for ever, so that its outcome can be asked for after its answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId {
    /// The term of the leader that gave the id.
    pub term: u64,
    pub sequence: u64,
}

/// A transaction ready to commit: all its row locks are held, all its writes are encoded.
#[derive(Debug, Clone)]
pub struct Transaction {
    pub id: TransactionId,
    /// The write operations in the store's encoding (`store::WriteOp`), applied in this order, all or none.
    pub writes: Vec<u8>,
}

#[derive(Debug, Clone)]
pub struct Config {
    pub env: Env,
    /// Belongs to this shard alone; a lock file holds it for one process.
    pub dir: PathBuf,
    pub node_id: u64,
    /// Preallocated size of one log segment.
    pub segment_bytes: u64,
    /// A checkpoint is made after this much log.
    pub checkpoint_bytes: u64,
    /// A checkpoint writes at most this much a second.
    pub checkpoint_bytes_per_second: u64,
    /// Proposals waiting for the log; more wait in [`Shard::propose`].
    pub queue_bytes: u64,
    /// Largest transaction.
    pub transaction_bytes: u64,
}

impl Config {
    pub fn new(env: Env, dir: impl Into<PathBuf>) -> Config {
        Config {
            env,
            dir: dir.into(),
            node_id: 1,
            segment_bytes: 64 << 20,
            checkpoint_bytes: 256 << 20,
            checkpoint_bytes_per_second: 64 << 20,
            queue_bytes: 64 << 20,
            transaction_bytes: 1 << 30,
        }
    }
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Committed(Timestamp),
    /// On its way through the log.
    Pending,
    /// Not in the log, and will not be.
    NotCommitted,
    /// Too long ago to know.
    Forgotten,
}

/// Why a proposal did not, or may not, commit.
#[derive(Debug, Clone)]
pub enum ProposeError {
    /// Nothing was written; the same transaction may be proposed again when there is space.
    DiskFull,
    /// Nothing was written: larger than the configured limit.
    TooLarge { bytes: u64, limit: u64 },
    /// Nothing was written: another node leads, or nobody does.
    NotLeader,
    /// Nothing was written: the shard stopped taking commits, for this reason.
    Stopped { reason: Arc<str> },
    /// The log failed while this transaction was being written. Whether it is in the log shows after a restart, by
    /// [`Shard::outcome`].
    Unknown { reason: Arc<str> },
}

#[derive(Debug)]
pub struct OpenError {
    pub message: String,
}

/// The shard's condition, for metrics and `/health`.
#[derive(Debug, Clone, Default)]
pub struct Status {
    pub is_leader: bool,
    pub term: u64,
    pub last_log_index: u64,
    pub applied_index: u64,
    pub checkpoint_index: u64,
    pub last_commit: Timestamp,
    pub log_bytes: u64,
    /// Why the shard takes no commits any more.
    pub stopped: Option<Arc<str>>,
}

/// One shard's replica on this node. All methods may be called from any thread.
pub struct Shard {}

impl Shard {
    /// Recovers the rows from the newest checkpoint and the log, and returns when commits are taken. Blocks.
    pub fn open(_config: Config) -> Result<Shard, OpenError> {
        Err(OpenError { message: "not there yet".into() })
    }

    /// A new transaction's id.
    pub fn begin(&self) -> TransactionId {
        TransactionId { term: 0, sequence: 0 }
    }

    /// Commits a transaction: it is on disk, and visible to every later snapshot, when this returns its timestamp.
    /// Waits while the queue of proposals is full. Dropping the future does not take the proposal back.
    pub fn propose(
        &self,
        _transaction: Transaction,
    ) -> impl Future<Output = Result<Timestamp, ProposeError>> + Send + use<> {
        async { Err(ProposeError::NotLeader) }
    }

    pub fn outcome(&self, _id: TransactionId) -> Outcome {
        Outcome::Forgotten
    }

    pub fn status(&self) -> Status {
        Status::default()
    }

    /// Writes a checkpoint of everything applied so far and releases the log before it. Blocks until it is durable.
    pub fn checkpoint(&self) -> Result<(), ProposeError> {
        Ok(())
    }

    /// Finishes what was proposed, writes a checkpoint and stops. Blocks.
    pub fn shutdown(&self) {}
}
