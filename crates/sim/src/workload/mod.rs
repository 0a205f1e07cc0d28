//! What clients do: sessions of a node, each with one transaction after the other.

mod bank;
mod claims;
mod lists;
mod mix;
mod pages;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use env::SeededRandom;
use shard::{ProposeError, Shard};
use store::Table;
use transaction::{Options, Progress, Transaction, TransactionError};
use types::{TableId, Timestamp};

use crate::invariants::alone::Alone;
use crate::invariants::ends::Ends;
use crate::invariants::fresh::Fresh;
use crate::invariants::history::History;
use crate::invariants::ids::Ids;
use crate::invariants::jobs::Jobs;
use crate::invariants::lists::Lists;
use crate::invariants::prepared::Prepared;
use crate::invariants::tiles::Tiles;
use crate::report::Report;
use crate::trace::Trace;

pub use mix::Mix;

/// Who waits for a lock gives up after this long.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// What all clients of all nodes share.
pub struct Bench {
    pub trace: Arc<Trace>,
    pub report: Report,
    pub fresh: Fresh,
    pub ends: Ends,
    pub ids: Ids,
    pub lists: Lists,
    /// Of clients that speak SQL.
    pub history: History,
    pub jobs: Jobs,
    pub prepared: Prepared,
    /// Of the same clients, by commands of Redis.
    pub key_history: History,
    pub key_jobs: Jobs,
    pub tiles: Tiles,
    pub alone: Alone,
    /// Clients may begin: their tables are there.
    pub has_begun: AtomicBool,
    /// No new operations.
    pub is_over: AtomicBool,
    operations: AtomicU64,
    numbers: AtomicU32,
    pub committed: AtomicU64,
    pub failed: AtomicU64,
    pub unknown: AtomicU64,
}

impl Bench {
    pub fn new(trace: Arc<Trace>, report: Report) -> Arc<Bench> {
        Arc::new(Bench {
            trace,
            report,
            fresh: Fresh::default(),
            ends: Ends::default(),
            ids: Ids::default(),
            lists: Lists::default(),
            history: History::default(),
            jobs: Jobs::default(),
            prepared: Prepared::default(),
            key_history: History::default(),
            key_jobs: Jobs::default(),
            tiles: Tiles::default(),
            alone: Alone::default(),
            has_begun: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            operations: AtomicU64::new(0),
            numbers: AtomicU32::new(1),
            committed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            unknown: AtomicU64::new(0),
        })
    }

    /// An operation begins: returns its number among all of them.
    pub fn begin(&self, node: u32, what: &'static str, now: u64) -> u64 {
        let id = self.operations.fetch_add(1, Ordering::Relaxed);
        self.ends.begin(id, node, what, now);
        id
    }

    /// A number that nobody else appends.
    pub fn number(&self) -> u32 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }
}

/// Why an operation came to nothing, or may have.
#[derive(Debug)]
pub enum Fail {
    /// Nothing of it was done.
    No(String),
    /// It may have been done, or may yet be.
    Unknown(String),
}

impl std::fmt::Display for Fail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fail::No(reason) => write!(f, "no: {reason}"),
            Fail::Unknown(reason) => write!(f, "unknown: {reason}"),
        }
    }
}

impl From<TransactionError> for Fail {
    fn from(error: TransactionError) -> Fail {
        Fail::No(error.to_string())
    }
}

impl From<ProposeError> for Fail {
    fn from(error: ProposeError) -> Fail {
        match error {
            ProposeError::Unknown { .. } => Fail::Unknown(error.to_string()),
            error => Fail::No(error.to_string()),
        }
    }
}

type Done<T = ()> = Result<T, Fail>;

/// A client's connection to a node.
pub struct Session {
    pub shard: Arc<Shard>,
    pub bench: Arc<Bench>,
    pub random: SeededRandom,
    pub node: u32,
    pub name: String,
    /// It changes nothing: so it never waits for others.
    pub only_reads: bool,
    pub mix: Mix,
}

#[derive(Clone, Copy)]
enum Operation {
    Transfer,
    Sum,
    Append,
    AppendToTwo,
    AppendUntilDone,
    ReadLists,
    Claim,
    AllPages,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Operation::Transfer => "transfer",
            Operation::Sum => "sum",
            Operation::Append => "append",
            Operation::AppendToTwo => "append to two",
            Operation::AppendUntilDone => "append until done",
            Operation::ReadLists => "read lists",
            Operation::Claim => "claim",
            Operation::AllPages => "all pages",
        }
    }
}

/// A transaction of a session, and what had been answered before it began.
struct Running {
    transaction: Transaction,
    floor: Timestamp,
}

impl Session {
    /// One operation after the other, until the bench is over or the node is gone.
    pub async fn run(self) {
        while !self.bench.is_over.load(Ordering::Relaxed) {
            let operation = match self.only_reads {
                true => [Operation::Sum, Operation::ReadLists][self.random.below(2) as usize],
                false => self.mix.operation(&self.random),
            };
            let what = operation.name();
            let trace = &self.bench.trace;
            trace.note(format_args!("{} begins {what}", self.name));
            let id = self.bench.begin(self.node, what, trace.now());
            let done = match operation {
                Operation::Transfer => self.transfer().await,
                Operation::Sum => self.sum().await,
                Operation::Append => self.append(1).await,
                Operation::AppendToTwo => self.append(2).await,
                Operation::AppendUntilDone => self.append_until_done().await,
                Operation::ReadLists => self.read_lists().await,
                Operation::Claim => self.claim().await,
                Operation::AllPages => self.all_pages().await,
            };
            self.bench.ends.end(id);
            let counted = match &done {
                Ok(()) => &self.bench.committed,
                Err(Fail::No(_)) => &self.bench.failed,
                Err(Fail::Unknown(_)) => &self.bench.unknown,
            };
            counted.fetch_add(1, Ordering::Relaxed);
            match &done {
                Ok(()) => trace.note(format_args!("{} has done {what}", self.name)),
                Err(fail) => trace.note(format_args!("{} has not done {what}, {fail}", self.name)),
            }
            // Who was refused does not insist.
            let pause = if done.is_ok() { 20 } else { 60 };
            tokio::time::sleep(Duration::from_millis(1 + self.random.below(pause))).await;
        }
    }

    fn begin(&self) -> Running {
        Running {
            floor: self.bench.fresh.floor(),
            transaction: Transaction::begin(self.shard.clone(), Options::default()),
        }
    }

    fn table(&self, id: TableId) -> Done<Arc<Table>> {
        let table = self.shard.store().table(id);
        table.ok_or_else(|| Fail::No("the table is not here yet".into()))
    }

    /// Takes the snapshot, if there is none, so that it has all that was answered before.
    async fn read(&self, running: &mut Running) -> Done<Timestamp> {
        if let Some(freshness) = running.transaction.freshness() {
            freshness.await?;
        }
        let snapshot = running.transaction.snapshot();
        let (fresh, report) = (&self.bench.fresh, &self.bench.report);
        fresh.check_read(&self.name, running.floor, snapshot, report);
        Ok(snapshot)
    }

    /// Locks a row that is to be changed.
    async fn lock(&self, running: &mut Running, table: &Table, key: &[u8]) -> Done {
        self.until_done(|| running.transaction.lock_for_write(table, key)).await
    }

    /// A client may take its time between two statements, with its locks held.
    async fn think(&self) {
        if let Some(pause) = self.mix.pause(&self.random) {
            tokio::time::sleep(pause).await;
        }
    }

    /// Makes the call again whenever it has waited.
    async fn until_done(&self, mut call: impl FnMut() -> Result<Progress, TransactionError> + Send) -> Done {
        loop {
            match call()? {
                Progress::Done => return Ok(()),
                progress => self.wait(progress).await?,
            }
        }
    }

    async fn wait(&self, progress: Progress) -> Done {
        let Progress::Wait(wait) = progress else {
            return Ok(());
        };
        match tokio::time::timeout(LOCK_WAIT, wait).await {
            Ok(()) => Ok(()),
            Err(_) => Err(Fail::No("a lock was waited for too long".into())),
        }
    }

    async fn commit(&self, running: Running) -> Done<Option<Timestamp>> {
        let committed = running.transaction.commit().await?;
        if let Some(at) = committed {
            let (fresh, report) = (&self.bench.fresh, &self.bench.report);
            fresh.check_commit(&self.name, running.floor, at, report);
            fresh.answered(at);
            self.bench
                .trace
                .note(format_args!("{} has committed at {}", self.name, at.0));
        }
        Ok(committed)
    }

    /// Tries until a change was committed here and is seen here.
    pub async fn until_served(&self) {
        loop {
            if self.append(1).await.is_ok() && self.sum().await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
