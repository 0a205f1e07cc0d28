//! Checkpoints that come from other replicas, part by part.
//!
//! A replica that lacks entries which are in no log any more gets the leader's checkpoint. Its parts go into a file as they come; whoever
//! was interrupted goes on where the file ends. When it is whole it is read and checked, beside what the replica does meanwhile, and
//! consensus decides whether it still counts.

use std::sync::Arc;

use env::failpoints;
use futures_util::lock::Mutex;
use journal::checkpoint::{CheckpointDir, Incoming};
use journal::{EntryId, Role};
use openraft::Snapshot;
use store::Store;
use types::TableId;

use crate::checkpoint::{Handle, Loaded};
use crate::consensus::{Raft, Vote};
use crate::message::{Part, Response};

pub(crate) struct Arrivals {
    checkpoints: CheckpointDir,
    /// What this replica keeps.
    role: Role,
    /// The one that is coming.
    incoming: Mutex<Option<(EntryId, Incoming)>>,
}

impl Arrivals {
    pub fn new(checkpoints: CheckpointDir, role: Role) -> Arc<Arrivals> {
        Arc::new(Arrivals {
            checkpoints,
            role,
            incoming: Mutex::new(None),
        })
    }

    /// Of the table `observed` the rows are read once more, for the observer.
    pub async fn take(&self, raft: &Raft, store: &Arc<Store>, observed: Option<TableId>, part: Part) -> Response {
        match self.try_take(raft, store, observed, part).await {
            Ok((vote, missing_from)) => Response::Part(vote, missing_from),
            Err(reason) => Response::Refused(reason),
        }
    }

    /// This replica's vote, and from where on bytes are missing.
    async fn try_take(
        &self,
        raft: &Raft,
        store: &Arc<Store>,
        observed: Option<TableId>,
        part: Part,
    ) -> Result<(Vote, u64), String> {
        let ours = raft
            .with_raft_state(|state| *state.vote_ref())
            .await
            .map_err(|error| error.to_string())?;
        if ours > part.vote {
            return Ok((ours, 0));
        }
        let mut coming = self.incoming.lock().await;
        let is_same =
            |(applied, incoming): &(EntryId, Incoming)| *applied == part.applied && incoming.length() == part.length;
        if !coming.as_ref().is_some_and(is_same) {
            // In this order: a file that is given up is removed, and may have the same name.
            *coming = None;
            let incoming = self.checkpoints.receive(part.applied.index, part.length);
            *coming = Some((part.applied, incoming.map_err(|error| error.to_string())?));
        }
        let (_, incoming) = coming.as_mut().expect("there is one now");
        if let Err(error) = incoming.add(part.offset, &part.bytes) {
            *coming = None;
            return Err(error.to_string());
        }
        let missing_from = incoming.missing_from();
        if missing_from < part.length {
            return Ok((ours, missing_from));
        }
        let (_, incoming) = coming.take().expect("there was one");
        let received = incoming.finish().map_err(|error| error.to_string())?;
        let loaded = Loaded::read(received, self.role, store, observed).map_err(|error| error.to_string())?;
        if loaded.applied() != part.applied {
            return Err("the checkpoint is not of the entry that it was sent for".into());
        }
        let snapshot = Snapshot {
            meta: loaded.snapshot_meta(),
            snapshot: Handle::Received(Box::new(loaded)),
        };
        let _ = failpoints::hit("checkpoint.taking");
        let taken = raft.install_full_snapshot(part.vote, snapshot).await;
        let taken = taken.map_err(|error| error.to_string())?;
        let _ = failpoints::hit("checkpoint.taken");
        Ok((taken.vote, part.length))
    }
}
