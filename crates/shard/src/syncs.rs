//! Making the log durable beside the thread that appends to it.
//!
//! ```text
//!   append ──▶ written, can be read and sent to the others ──▶ answers, heartbeats, votes go on
//!                 │
//!                 └──▶ this: sync ──▶ the consensus library hears that it is durable
//! ```
//!
//! So the others write while the leader's own disk does, and a disk that hangs keeps nobody from hearing of the leader's end. A replica
//! without others syncs where it appends: there is nothing to go on with, and two hand-overs cost more than they could save.
//!
//! What may be answered when it is in memory ([`Durability::MajorityMemory`](crate::Durability)) is synced here, too, after [`LATER`]:
//! where there are no others. The consensus library counts who has written; a voter that had said so, and lost it with the power, would
//! vote for a leader without it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use env::failpoints;
use journal::Unsynced;
use openraft::storage::IOFlushed;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

use crate::consensus::Consensus;
use crate::failure::Failure;
use crate::meters::Meters;
use crate::replica::Shared;

/// Entries that were written, and who hears when they are durable.
pub(crate) struct Written {
    pub entries: Unsynced,
    /// When that began.
    pub since: Duration,
    /// All of it may be answered before it is durable.
    pub in_memory: bool,
    pub durable: IOFlushed<Consensus>,
}

/// Syncs what was written, one after the other.
pub(crate) struct Syncs {
    meters: Arc<Meters>,
    failure: Failure,
    /// Whoever appends waits.
    is_alone: Arc<AtomicBool>,
    aside: UnboundedSender<Todo>,
}

enum Todo {
    /// Somebody waits.
    Now(Written),
    /// It was answered when it was written, which began then.
    Later(Unsynced, Duration),
}

/// How long what was answered in memory waits for others, to be synced with them.
const LATER: Duration = Duration::from_millis(50);

impl Syncs {
    /// And what has to run beside, until the first is dropped.
    pub fn new(shared: &Shared) -> (Syncs, impl Future<Output = ()> + Send + use<>) {
        let (aside, written) = mpsc::unbounded_channel();
        let (meters, failure) = (shared.meters.clone(), shared.failure.clone());
        let beside = sync_all(written, meters.clone(), failure.clone());
        let syncs = Syncs {
            meters,
            failure,
            is_alone: shared.is_alone.clone(),
            aside,
        };
        (syncs, beside)
    }

    /// Returns whether it may be answered already.
    pub fn take(&self, written: Written) -> std::io::Result<bool> {
        let aside = |todo| {
            let gone = |_| std::io::Error::other("nobody syncs the log any more");
            self.aside.send(todo).map_err(gone)
        };
        if !self.is_alone.load(Relaxed) {
            return aside(Todo::Now(written)).map(|()| false);
        }
        if written.in_memory {
            aside(Todo::Later(written.entries, written.since))?;
            written.durable.io_completed(Ok(()));
            return Ok(true);
        }
        sync(&written.entries, &self.failure)?;
        self.meters.sync.observe_time(self.meters.since(written.since));
        written.durable.io_completed(Ok(()));
        Ok(true)
    }
}

/// What was answered in memory.
struct Later {
    /// The newest has all before it.
    entries: Unsynced,
    /// When the oldest was written.
    since: Duration,
    until: Instant,
}

async fn sync_all(mut todo: UnboundedReceiver<Todo>, meters: Arc<Meters>, failure: Failure) {
    let mut together = Vec::new();
    let mut later: Option<Later> = None;
    loop {
        let mut next = match &later {
            None => match todo.recv().await {
                None => return,
                next => next,
            },
            Some(Later { until, .. }) => tokio::time::timeout_at(*until, todo.recv()).await.unwrap_or_default(),
        };
        while let Some(one) = next {
            match one {
                Todo::Now(written) => together.push(written),
                Todo::Later(entries, written) => {
                    let before = later.take().map(|later| (later.since, later.until));
                    let (since, until) = before.unwrap_or_else(|| (written, Instant::now() + LATER));
                    meters.note_unsynced(Some(since));
                    later = Some(Later { entries, since, until });
                }
            }
            next = todo.try_recv().ok();
        }
        if let Some(Later { entries, since, .. }) =
            later.take_if(|later| Instant::now() >= later.until || todo.is_closed())
        {
            // A failure stops the shard.
            let _ = sync(&entries, &failure);
            meters.sync.observe_time(meters.since(since));
            meters.note_unsynced(None);
        }
        // The last one's sync is that of all before it.
        let synced = together.last().map(|last| sync(&last.entries, &failure));
        for one in together.drain(..) {
            let told = match &synced {
                Some(Err(error)) => Err(std::io::Error::other(error.to_string())),
                _ => Ok(()),
            };
            meters.sync.observe_time(meters.since(one.since));
            one.durable.io_completed(told);
        }
    }
}

/// A failure is the shard's.
fn sync(entries: &Unsynced, failure: &Failure) -> std::io::Result<()> {
    if failpoints::goes_wrong("log.sync") {
        return Ok(());
    }
    entries.sync().map_err(|error| {
        failure.set(error.to_string());
        std::io::Error::from(error)
    })?;
    let _ = failpoints::hit("log.synced");
    Ok(())
}
