//! What the layers above see of a shard.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use env::{Env, Level, Levels};
pub use journal::Role;
use journal::{Admission, EntryId, Identity};
use store::{MemoryBudget, MemoryLimit, Reservation, Store, WriteSetError};
use thiserror::Error;
use types::Timestamp;

use crate::backup::{Backup, BackupError};
use crate::calls::{Freshness, Guest};
use crate::consensus::Abort;
use crate::durability::Durability;
use crate::ids::{Issuer, Ticket, TransactionId};
use crate::membership::{self, Admitted, MembershipError};
use crate::meters::Meters;
use crate::observer::Observer;
use crate::peers::{NoPeers, Peers};
use crate::replica::{self, Replica};
use crate::workers::{self, Workers};

/// A transaction ready to commit: all its row locks are held, all its writes are encoded.
#[derive(Debug)]
pub struct Transaction {
    pub id: TransactionId,
    /// [`Shard::lock_epoch`] from before the first of its locks; 0: it relies on none.
    pub lock_epoch: u64,
    pub durability: Durability,
    /// An encoded [`store::WriteSet`], applied as a whole or not at all.
    pub writes: Vec<u8>,
    /// What it has reserved for the rows to come. It is given back as they come: from then on the store is charged for them.
    pub memory: Option<Reservation>,
}

/// A replica of the shard, and where its node is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Member {
    pub role: Role,
    /// HOST:PORT for other nodes.
    pub peer_addr: String,
    /// HOST:PORT for clients.
    pub sql_addr: String,
    /// What its node speaks; `None`: it has not said so, or the cluster's level has no place for it.
    pub levels: Option<Levels>,
}

#[derive(Clone)]
pub struct Config {
    pub env: Env,
    /// Belongs to this replica alone; a lock file holds it for one process.
    pub dir: PathBuf,
    /// From 1 on; the directory's, once it has an identity.
    pub node_id: u32,
    /// The directory's, once it has an identity. A witness has no rows: whoever opens one reads none, and proposes nothing.
    pub role: Role,
    /// What the rows are charged to.
    pub memory: Arc<MemoryBudget>,
    /// Preallocated size of one log segment.
    pub segment_bytes: u64,
    /// A checkpoint is made after this much log.
    pub checkpoint_bytes: u64,
    /// A checkpoint writes at most this much a second; 0: as fast as the disk takes it.
    pub checkpoint_bytes_per_second: u64,
    /// So much of the log is kept behind a checkpoint, for replicas that were away and for whoever archives it. A replica that lacks more
    /// gets a checkpoint. 0: nothing is kept that a start does not need.
    pub log_keep_bytes: u64,
    /// How much of the past is kept until the store is told ([`store::Past::set_window`]): what the log is replayed for, too.
    pub past_window: Duration,
    /// Proposals waiting for the log; more wait in [`Shard::propose`].
    pub queue_bytes: u64,
    /// Largest transaction; below 4 GiB.
    pub transaction_bytes: u64,
    /// Told of the changes of a table's rows.
    pub observer: Option<Arc<dyn Observer>>,
    /// The way to the other replicas.
    pub peers: Arc<dyn Peers>,
    /// How the shard begins where the directory is new.
    pub founding: Founding,
    pub timing: Timing,
    pub workers: Workers,
    /// Feature levels.
    pub speaks: Levels,
}

/// How a shard begins.
#[derive(Debug, Clone)]
pub enum Founding {
    /// With this replica.
    Alone,
    /// With these, this one among them. Each of them may be told so; one is enough.
    Together(BTreeMap<u32, Member>),
    /// It exists elsewhere.
    Joins,
}

/// How long replicas wait for each other.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// A leader is heard of at least this often.
    pub heartbeat: Duration,
    /// A replica votes for no other leader for longer than this after it has heard of one, but less than twice this, and asks to be elected
    /// itself when as long again has passed.
    pub election: Duration,
    /// A commit that has not reached a majority by then is answered as unknown. A replica without others waits for its disk, however
    /// long that takes.
    pub commit: Duration,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing {
            heartbeat: Duration::from_millis(30),
            election: Duration::from_millis(100),
            commit: Duration::from_secs(5),
        }
    }
}

impl Config {
    pub fn new(env: Env, dir: impl Into<PathBuf>, memory: Arc<MemoryBudget>) -> Config {
        Config {
            env,
            dir: dir.into(),
            node_id: 1,
            role: Role::Data,
            memory,
            segment_bytes: 64 << 20,
            checkpoint_bytes: 256 << 20,
            checkpoint_bytes_per_second: 64 << 20,
            log_keep_bytes: 0,
            past_window: Duration::ZERO,
            queue_bytes: 64 << 20,
            transaction_bytes: 1 << 30,
            observer: None,
            peers: Arc::new(NoPeers),
            founding: Founding::Alone,
            timing: Timing::default(),
            workers: Workers::default(),
            speaks: Levels::spoken(),
        }
    }

    pub(crate) fn journal_options(&self) -> journal::Options {
        journal::Options {
            segment_bytes: self.segment_bytes,
        }
    }
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Committed(Timestamp),
    /// It is in the log, but did not fit the rows: nothing of it was applied.
    Aborted,
    /// On its way through the log.
    Pending,
    /// Not committed, and not on its way.
    NotCommitted,
    /// Its issuer has acknowledged the outcome, or it was long ago.
    Forgotten,
}

/// Why a proposal did not, or may not, commit.
#[derive(Debug, Clone, Error)]
pub enum ProposeError {
    /// Nothing was written; the same transaction may be proposed again when there is space.
    #[error("the disk is full")]
    DiskFull,
    /// Nothing was written: larger than the configured limit.
    #[error("a transaction of {bytes} bytes is larger than the limit of {limit}")]
    TooLarge { bytes: u64, limit: u64 },
    /// Nothing was written: this is no write set, or not one of this version.
    #[error(transparent)]
    Malformed(#[from] WriteSetError),
    /// Nothing was written: another node leads, or nobody does.
    #[error("this node does not lead the shard")]
    NotLeader,
    /// Nothing was written: the shard takes no commits any more, for this reason.
    #[error("the shard takes no commits: {reason}")]
    Stopped { reason: Arc<str> },
    /// The transaction is in the log, but does not fit the rows that the log has made: nothing of it was applied, here or on any
    /// other replica, and nothing ever will be.
    #[error("the transaction does not fit the rows: {reason}")]
    Aborted { reason: Arc<str> },
    /// Nothing was applied: since the transaction took its locks another leader has led, who knew nothing of them.
    #[error("the transaction's locks were lost with the leader that gave them")]
    LocksLost,
    /// Nothing was applied now: the issuer has said that it knows the outcome, and it is not known here any more.
    #[error("the transaction's outcome was known to its issuer, and is forgotten")]
    Forgotten,
    /// Nothing was written: the node that leads has no memory for the rows.
    #[error(transparent)]
    Memory(#[from] MemoryLimit),
    /// The log failed, or the way to the leader, while this transaction was on its way. Whether it committed shows later, by
    /// [`Shard::outcome`].
    #[error("it is not known whether the transaction committed: {reason}")]
    Unknown { reason: Arc<str> },
}

impl From<Abort> for ProposeError {
    fn from(abort: Abort) -> ProposeError {
        match abort {
            Abort::Unfit(reason) => ProposeError::Aborted { reason },
            Abort::LocksLost => ProposeError::LocksLost,
            Abort::Forgotten => ProposeError::Forgotten,
        }
    }
}

/// Why a shard cannot be opened. Nothing on the disk was changed by trying.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error("{} is in use by {}", dir.display(), owner(*pid))]
    Locked { dir: PathBuf, pid: Option<u32> },
    /// A file is damaged, unreadable, or of a newer version.
    #[error(transparent)]
    Files(#[from] journal::OpenError),
    /// Each file is sound, together they are not.
    #[error("{}: {what}", dir.display())]
    Mismatch { dir: PathBuf, what: String },
    #[error("{}: the directory belongs to node {owner}, and this is started as node {node}", dir.display())]
    OtherNode { dir: PathBuf, owner: u32, node: u32 },
    /// A witness's directory is to be a data node's, or the other way round.
    #[error("{}: {}", dir.display(), other_role(*role))]
    OtherRole {
        dir: PathBuf,
        /// The directory's.
        role: Role,
    },
    /// There is nobody to keep the rows.
    #[error("a witness has no rows: it cannot found a cluster, and joins one")]
    LoneWitness,
    /// The cluster's feature level is none of this program's.
    #[error("{0}")]
    Level(String),
    /// The log is sound, but an entry cannot be read, or consensus did not start.
    #[error("{0}")]
    Replay(String),
}

impl OpenError {
    /// Whether what the directory held is lost, in part at least.
    pub fn is_damage(&self) -> bool {
        use journal::OpenError::Damaged;
        matches!(
            self,
            OpenError::Files(Damaged(_)) | OpenError::Mismatch { .. } | OpenError::Replay(_)
        )
    }
}

impl From<journal::Damage> for OpenError {
    fn from(damage: journal::Damage) -> OpenError {
        OpenError::Files(damage.into())
    }
}

fn owner(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".into(),
    }
}

fn other_role(role: Role) -> &'static str {
    match role {
        Role::Data => {
            "the directory is a data node's: start it without --witness, or give the witness an empty directory"
        }
        Role::Witness => {
            "the directory is a witness's, which has no rows: start it with --witness, or give the data node an empty directory"
        }
    }
}

/// Why there is no new checkpoint.
#[derive(Debug, Clone, Error)]
#[error("no checkpoint was written: {reason}")]
pub struct CheckpointError {
    pub reason: String,
}

/// The shard's condition, for metrics and `/health`.
#[derive(Debug, Clone, Default)]
pub struct Status {
    pub is_leader: bool,
    /// Whether it has heard lately of whoever leads; of a leader, whether a majority has answered it lately.
    pub is_in_touch: bool,
    /// The last entries found no room on the disk. Where another replica leads, this one falls behind until there is.
    pub disk_is_full: bool,
    /// Who leads, as far as this replica has heard.
    pub leader: Option<u32>,
    pub term: u64,
    /// Log indexes; `None` while there is nothing.
    pub last_log_index: Option<u64>,
    pub applied_index: Option<u64>,
    pub checkpoint_index: Option<u64>,
    pub newest_commit: Timestamp,
    /// Log that is not covered by a checkpoint.
    pub log_bytes: u64,
    /// All of the log that is there: that, and what is kept behind the checkpoint.
    pub log_kept_bytes: u64,
    /// The last entry that the log is without.
    pub purged_index: Option<u64>,
    /// Transactions of other nodes that hold locks here.
    pub guests: usize,
    /// Calls that this node's sessions have made to whoever leads.
    pub calls: u64,
    /// Why the shard takes no commits any more.
    pub stopped: Option<Arc<str>>,
}

/// One shard's replica on this node. All methods may be called from any thread.
///
/// Dropping it stops it without a checkpoint, as [`shutdown`](Self::shutdown) would after a failure.
pub struct Shard {
    replica: Replica,
}

impl Shard {
    /// Prepares an empty directory for a replica of a shard that exists elsewhere. It is opened with [`Founding::Joins`].
    pub fn prepare(config: &Config, identity: Identity) -> Result<(), OpenError> {
        replica::prepare(config, identity)
    }

    /// Recovers the rows from the newest checkpoint and the log. Blocks. A shard of one replica takes commits when this returns; of
    /// several, whoever leads.
    pub fn open(config: Config) -> Result<Shard, OpenError> {
        workers::wait(Shard::start(config))
    }

    /// As [`open`](Self::open), but the thread may do other things meanwhile.
    pub async fn start(config: Config) -> Result<Shard, OpenError> {
        let replica = Replica::open(config).await?;
        Ok(Shard { replica })
    }

    /// The rows, for reading.
    pub fn store(&self) -> &Arc<Store> {
        self.replica.store()
    }

    /// A new transaction's id.
    pub fn begin(&self) -> Ticket {
        self.replica.begin()
    }

    /// Whose the directory is, in this life.
    pub fn identity(&self) -> Identity {
        self.replica.identity()
    }

    /// Answers a call of another node's sessions ([`Lane::Storage`](crate::Lane::Storage)), made by this life of that node. What needs no
    /// wait happens at once, in the order of the calls.
    pub fn serve(&self, from: Issuer, call: &[u8]) -> impl Future<Output = Vec<u8>> + Send + use<> {
        self.replica.serve(from, call)
    }

    /// Time since 1970, by this node's clock.
    pub fn wall(&self) -> Duration {
        self.replica.wall()
    }

    /// What a read has to wait for, so that it sees every commit that anybody was told of before; `None`: nothing. While this replica
    /// leads it is one look at the clock.
    #[inline]
    pub fn freshness(&self) -> Option<Freshness> {
        self.replica.freshness()
    }

    /// As [`freshness`](Self::freshness), of a read that may miss what was committed in the last `bound`: nothing, where this replica has had
    /// everything since then.
    pub fn freshness_within(&self, bound: Duration) -> Option<Freshness> {
        self.replica.freshness_within(bound)
    }

    /// How long ago this replica was known to have every commit that anybody was told of; `None`: not yet.
    pub fn staleness(&self) -> Option<Duration> {
        self.replica.staleness()
    }

    /// While another replica leads: a transaction that takes its locks there. `None`: they are taken here.
    pub fn guest(&self) -> Option<Guest> {
        self.replica.guest()
    }

    /// Answers a call of another replica, which came as [`Peers::call`] was given it. The answer goes back as it is.
    pub fn receive(&self, request: &[u8]) -> impl Future<Output = Vec<u8>> + Send + use<> {
        self.replica.receive(request)
    }

    /// Who belongs to the shard, as far as this replica has applied the log.
    pub fn replicas(&self) -> Vec<membership::Replica> {
        self.replica.replicas()
    }

    /// The latest life of a node that this replica has applied something of.
    pub fn newest_incarnation(&self, node: u32) -> Option<u32> {
        self.replica.newest_incarnation(node)
    }

    /// How far this replica has come with becoming one of the shard's.
    pub fn admission(&self) -> Admission {
        self.replica.admission()
    }

    /// The newest entry of the log that this replica has applied.
    pub fn applied(&self) -> Option<EntryId> {
        self.replica.applied()
    }

    /// The leader has said so. It is on the disk when this returns.
    pub fn is_taken_in(&self, by: EntryId) -> Result<(), OpenError> {
        self.replica.is_taken_in(by)
    }

    /// Takes another node's replica in, or notes that it is reached elsewhere. One that says that it is new is told which entry takes it in
    /// ([`is_taken_in`](Self::is_taken_in)), and asks again; otherwise this is done when it has caught up and votes. For whoever leads.
    pub fn admit(
        &self,
        node: u32,
        member: Member,
        is_new: bool,
    ) -> impl Future<Output = Result<Admitted, MembershipError>> + Send + use<> {
        self.replica.admit(node, member, is_new)
    }

    /// The cluster's feature level, as far as this replica has applied the log.
    pub fn level(&self) -> Level {
        self.replica.level()
    }

    /// Raises the cluster's feature level, for good: all of its nodes speak it. For whoever leads.
    pub fn raise(&self, level: Level) -> impl Future<Output = Result<(), MembershipError>> + Send + use<> {
        self.replica.raise(level)
    }

    /// Lets a replica go. For whoever leads.
    pub fn dismiss(&self, node: u32) -> impl Future<Output = Result<(), MembershipError>> + Send + use<> {
        self.replica.dismiss(node)
    }

    /// Asks another replica to take the lead, which it does once it has the whole log.
    pub fn move_leader(&self, to: u32) -> Result<(), MembershipError> {
        self.replica.move_leader(to)
    }

    /// The term in which this replica leads: locks taken here are good in it alone. While it does not lead, a term that never comes.
    pub fn lock_epoch(&self) -> u64 {
        self.replica.lock_epoch()
    }

    /// Commits a transaction: it is on disk, and visible to every later snapshot, when this returns its timestamp.
    /// It is put in line at once, or, while the queue is full, when the future is polled. Dropping the future does not
    /// take it back.
    pub fn propose(
        &self,
        transaction: Transaction,
    ) -> impl Future<Output = Result<Timestamp, ProposeError>> + Send + use<> {
        self.replica.propose(transaction)
    }

    /// As [`propose`](Self::propose), by somebody who holds what the transaction relies on, its locks: given back with the answer, or, where
    /// that says that the outcome is not known, kept until it is.
    pub fn propose_holding<H: Send + 'static>(
        &self,
        transaction: Transaction,
        held: H,
    ) -> impl Future<Output = (Result<Timestamp, ProposeError>, Option<H>)> + Send + use<H> {
        self.replica.propose_holding(transaction, held)
    }

    /// What became of a transaction that [`begin`](Self::begin) named, in this process or in an earlier one.
    pub fn outcome(&self, id: TransactionId) -> Outcome {
        self.replica.outcome(id)
    }

    /// The newest log entry that is applied here, and a hash of the outcomes that the log has given transactions up to there: the same on all
    /// replicas of one version that are as far.
    pub fn outcomes_digest(&self) -> (Option<u64>, u64) {
        self.replica.outcomes_digest()
    }

    pub fn status(&self) -> Status {
        self.replica.status()
    }

    /// Why the shard takes no commits any more, if it does not.
    pub fn stopped(&self) -> Option<Arc<str>> {
        self.replica.stopped()
    }

    /// Counts and times since the shard was opened.
    pub fn meters(&self) -> &Meters {
        self.replica.meters()
    }

    /// Writes a checkpoint of everything applied so far and releases the log before it. Blocks.
    pub fn checkpoint(&self) -> Result<(), CheckpointError> {
        workers::wait(self.begin_checkpoint())
    }

    /// As [`checkpoint`](Self::checkpoint); ready when it is written, which it will be without being waited for, too.
    pub fn begin_checkpoint(&self) -> impl Future<Output = Result<(), CheckpointError>> + Send + use<> {
        self.replica.checkpoint()
    }

    /// Writes a checkpoint, and opens it to be given away. With the index of the entry of an earlier one, which is still the newest: that
    /// one. Blocks.
    pub fn back_up(&self, earlier: Option<u64>) -> Result<Backup, BackupError> {
        workers::wait(self.replica.back_up(earlier))
    }

    /// The head of a stream of the cluster's log behind an entry, at which `newest` was the newest commit.
    pub fn log_head(&self, cluster: u128, after: EntryId, newest: Timestamp) -> Result<Vec<u8>, BackupError> {
        self.replica.source().log_head(cluster, after, newest)
    }

    /// Records of the log behind an entry, of what is applied here: about a megabyte, or one entry. Where that is all there is, it ends with a
    /// position. Blocks.
    pub fn log_after(&self, after: EntryId) -> Result<Vec<u8>, BackupError> {
        self.replica.source().log_after(after)
    }

    /// Finishes what was proposed, writes a checkpoint and stops; later proposals are refused. Blocks.
    pub fn shutdown(&self) {
        workers::wait(self.stop());
    }

    /// As [`shutdown`](Self::shutdown), but the thread may do other things meanwhile. Drive it to its end.
    pub async fn stop(&self) {
        self.replica.shutdown().await;
    }
}
