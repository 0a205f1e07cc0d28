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

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use journal::Unsynced;
use openraft::storage::IOFlushed;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use crate::consensus::Consensus;
use crate::failure::Failure;
use crate::meters::Meters;
use crate::replica::Shared;

/// Entries that were written, and who hears when they are durable.
pub(crate) struct Written {
    pub entries: Unsynced,
    /// When that began.
    pub since: std::time::Duration,
    pub durable: IOFlushed<Consensus>,
}

/// Syncs what was written, one after the other.
pub(crate) struct Syncs {
    meters: Arc<Meters>,
    failure: Failure,
    /// Whoever appends waits.
    is_alone: Arc<AtomicBool>,
    aside: UnboundedSender<Written>,
}

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

    pub fn take(&self, written: Written) -> std::io::Result<()> {
        if !self.is_alone.load(Ordering::Relaxed) {
            let gone = |_| std::io::Error::other("nobody syncs the log any more");
            return self.aside.send(written).map_err(gone);
        }
        sync(&written.entries, &self.failure)?;
        self.meters.sync.observe_time(self.meters.since(written.since));
        written.durable.io_completed(Ok(()));
        Ok(())
    }
}

async fn sync_all(mut written: UnboundedReceiver<Written>, meters: Arc<Meters>, failure: Failure) {
    let mut together = Vec::new();
    while let Some(first) = written.recv().await {
        together.push(first);
        while let Ok(next) = written.try_recv() {
            together.push(next);
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
    entries.sync().map_err(|error| {
        failure.set(error.to_string());
        error.into()
    })
}
