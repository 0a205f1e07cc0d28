//! Checkpoints that come from other replicas, part by part.
//!
//! A replica that lacks entries which are in no log any more gets the leader's checkpoint. Its parts go into a file as they come; whoever
//! was interrupted goes on where the file ends. When it is whole it is read and checked, beside what the replica does meanwhile, and
//! consensus decides whether it still counts.
//!
//! ```text
//!   a part ─────▶ it comes ── the last part ──▶ it is read, then consensus takes it ──▶ nothing
//!                                                  ▲
//!   the last byte, asked for again and again ──────┘
//! ```
//!
//! Of many rows the reading takes minutes. No call waits as long: who answers late looks as if it were away. The reading stands back where
//! processors are busy, since the replica serves nobody yet, and others on the same machine do.

use std::sync::Arc;
use std::time::Duration;

use env::failpoints;
use futures_util::lock::Mutex;
use governor::priority::stand_back;
use journal::checkpoint::{CheckpointDir, Incoming};
use journal::{EntryId, Role};
use openraft::Snapshot;
use store::Store;
use tokio::runtime;
use tokio::sync::{oneshot, watch};
use types::TableId;

use crate::checkpoint::{Handle, Loaded};
use crate::consensus::{Raft, Vote};
use crate::message::{Part, Response};

/// How long a call waits for the end of the reading. Then its sender has to ask again.
const PATIENCE: Duration = Duration::from_millis(400);

/// How far the reading stands back where processors are busy.
const NICENESS: i32 = 10;

pub(crate) struct Arrivals {
    pub checkpoints: CheckpointDir,
    /// What this replica keeps.
    pub role: Role,
    pub store: Arc<Store>,
    /// Of this table the rows are read once more, for the observer.
    pub observed: Option<TableId>,
    pub raft: Raft,
    pub runtime: runtime::Handle,
    /// Whether there may be a thread for the reading.
    pub has_threads: bool,
    pub arrival: Mutex<Option<Arrival>>,
}

/// A checkpoint that comes, or has come.
pub(crate) struct Arrival {
    applied: EntryId,
    length: u64,
    state: State,
}

enum State {
    Comes(Incoming),
    IsRead(Reading),
}

/// `None` until its end: then this replica's vote, or what is wrong.
type Reading = watch::Receiver<Option<Result<Vote, String>>>;

impl Arrivals {
    pub async fn take(self: Arc<Arrivals>, part: Part) -> Response {
        match self.try_take(part).await {
            Ok((vote, missing_from)) => Response::Part(vote, missing_from),
            Err(reason) => Response::Refused(reason),
        }
    }

    /// This replica's vote, and from where on bytes are missing.
    async fn try_take(self: Arc<Arrivals>, part: Part) -> Result<(Vote, u64), String> {
        let ours = self
            .raft
            .with_raft_state(|state| *state.vote_ref())
            .await
            .map_err(|error| error.to_string())?;
        if ours > part.vote {
            return Ok((ours, 0));
        }
        let length = part.length;
        let mut reading = {
            let place = &mut *self.arrival.lock().await;
            match self.add(place, part)? {
                Added::Part(missing_from) => return Ok((ours, missing_from)),
                Added::Whole(reading) => reading,
            }
        };
        let end = match tokio::time::timeout(PATIENCE, reading.wait_for(Option::is_some)).await {
            Ok(Ok(end)) => end.clone().expect("it was waited for"),
            Ok(Err(_)) => Err("the checkpoint was not read to its end".into()),
            // The last byte is asked for once more.
            Err(_) => return Ok((ours, length.saturating_sub(1))),
        };
        // A later one may have begun.
        let place = &mut *self.arrival.lock().await;
        place.take_if(|arrival| matches!(&arrival.state, State::IsRead(other) if other.same_channel(&reading)));
        Ok((end?, length))
    }

    fn add(self: &Arc<Arrivals>, place: &mut Option<Arrival>, part: Part) -> Result<Added, String> {
        let (applied, length) = (part.applied, part.length);
        if !place.as_ref().is_some_and(|arrival| arrival.is(applied, length)) {
            // Both together might have no room.
            if place.as_ref().is_some_and(Arrival::is_being_read) {
                return Err("another checkpoint is still being read".into());
            }
            // In this order: a file that is given up is removed, and may have the same name.
            *place = None;
            let incoming = self.checkpoints.receive(applied.index, length);
            let state = State::Comes(incoming.map_err(|error| error.to_string())?);
            *place = Some(Arrival { applied, length, state });
        }
        let arrival = place.take().expect("there is one now");
        let mut incoming = match arrival.state {
            State::Comes(incoming) => incoming,
            State::IsRead(ref reading) => {
                let reading = reading.clone();
                *place = Some(arrival);
                return Ok(Added::Whole(reading));
            }
        };
        incoming
            .add(part.offset, &part.bytes)
            .map_err(|error| error.to_string())?;
        let missing_from = incoming.missing_from();
        let (state, added) = match missing_from < length {
            true => (State::Comes(incoming), Added::Part(missing_from)),
            false => {
                let reading = self.clone().begin_reading(incoming, applied, part.vote);
                (State::IsRead(reading.clone()), Added::Whole(reading))
            }
        };
        *place = Some(Arrival { state, ..arrival });
        Ok(added)
    }

    fn begin_reading(self: Arc<Arrivals>, incoming: Incoming, applied: EntryId, vote: Vote) -> Reading {
        let (end, reading) = watch::channel(None);
        let runtime = self.runtime.clone();
        runtime.spawn(async move {
            let taken = match self.read_apart(incoming).await {
                Ok(loaded) => self.install(loaded, applied, vote).await,
                Err(reason) => Err(reason),
            };
            // Nobody may wait for it any more.
            let _ = end.send(Some(taken));
        });
        reading
    }

    /// Reads all of it, and takes the memory that its rows will have.
    fn read(&self, incoming: Incoming) -> Result<Loaded, String> {
        let received = incoming.finish().map_err(|error| error.to_string())?;
        Loaded::read(received, self.role, &self.store, self.observed).map_err(|error| error.to_string())
    }

    async fn read_apart(self: &Arc<Arrivals>, incoming: Incoming) -> Result<Loaded, String> {
        if !self.has_threads {
            return self.read(incoming);
        }
        let (end, loaded) = oneshot::channel();
        let arrivals = self.clone();
        let read = move || {
            stand_back(NICENESS);
            drop(end.send(arrivals.read(incoming)));
        };
        let thread = std::thread::Builder::new().name("loader".into());
        thread.spawn(read).map_err(|error| error.to_string())?;
        let panicked = |_| Err("the reading of the checkpoint panicked".into());
        loaded.await.unwrap_or_else(panicked)
    }

    async fn install(&self, loaded: Loaded, applied: EntryId, vote: Vote) -> Result<Vote, String> {
        if loaded.applied() != applied {
            return Err("the checkpoint is not of the entry that it was sent for".into());
        }
        let snapshot = Snapshot {
            meta: loaded.snapshot_meta(),
            snapshot: Handle::Received(Box::new(loaded)),
        };
        let _ = failpoints::hit("checkpoint.taking");
        let taken = self.raft.install_full_snapshot(vote, snapshot).await;
        let taken = taken.map_err(|error| error.to_string())?;
        let _ = failpoints::hit("checkpoint.taken");
        Ok(taken.vote)
    }
}

/// What a part has led to.
enum Added {
    /// Bytes are missing from here on.
    Part(u64),
    Whole(Reading),
}

impl Arrival {
    fn is(&self, applied: EntryId, length: u64) -> bool {
        self.applied == applied && self.length == length
    }

    fn is_being_read(&self) -> bool {
        match &self.state {
            State::Comes(_) => false,
            // Who reads it may have gone without an end.
            State::IsRead(reading) => reading.borrow().is_none() && reading.has_changed().is_ok(),
        }
    }
}
