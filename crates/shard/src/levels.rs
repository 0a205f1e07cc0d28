//! The cluster's feature level ([`env::Level`]): a record of the log raises it, for all replicas at the same place.
//!
//! From there on entries, checkpoints and the directory's identity may have what the level has brought. So the identity has the level on its disk before
//! the record counts as applied: a program that does not speak it does not take the directory for its own.

use std::io;
use std::path::{Path, PathBuf};

use env::{Env, Level, Levels};
use futures_util::TryFutureExt;
use journal::Identity;
use openraft::error::ClientWriteError;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::OpenError;
use crate::batch::Batch;
use crate::consensus::{Callback, Raft};
use crate::leader::moment;
use crate::membership::MembershipError;
use crate::replica::Shared;

/// Whose the directory is, for whoever has to note a level in it.
pub(crate) struct Directory {
    env: Env,
    dir: PathBuf,
    pub speaks: Levels,
    /// `None`: it has none yet.
    identity: Mutex<Option<Identity>>,
}

impl Directory {
    pub fn new(env: &Env, dir: &Path, speaks: Levels, identity: Option<Identity>) -> Directory {
        Directory {
            env: env.clone(),
            dir: dir.to_owned(),
            speaks,
            identity: Mutex::new(identity),
        }
    }

    /// The identity of this life has been written.
    pub fn lives_as(&self, identity: Identity) {
        *self.identity.lock() = Some(identity);
    }

    pub fn identity(&self) -> Option<Identity> {
        *self.identity.lock()
    }

    /// The log, or a checkpoint of another replica, has come to a level. It is on the disk when this returns.
    pub fn rises_to(&self, level: Level) -> io::Result<()> {
        if !self.speaks.contains(level) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, self.not_spoken(level)));
        }
        let mut identity = self.identity.lock();
        let Some(known) = identity.filter(|known| known.level < level) else {
            return Ok(());
        };
        let raised = Identity { level, ..known };
        raised.raise(&self.env, &self.dir).map_err(io::Error::other)?;
        *identity = Some(raised);
        Ok(())
    }

    /// Whether this program may use a directory of a cluster at that level.
    pub fn check(&self, level: Level) -> Result<(), OpenError> {
        match self.speaks.contains(level) {
            true => Ok(()),
            false => Err(OpenError::Level(self.not_spoken(level))),
        }
    }

    fn not_spoken(&self, level: Level) -> String {
        let (dir, speaks) = (self.dir.display(), self.speaks);
        match level > speaks.highest {
            true => format!(
                "{dir}: the cluster is at feature level {level}, and this program speaks {speaks}: install a version of LatsDB that speaks level {level}"
            ),
            false => format!(
                "{dir}: the cluster is at feature level {level}, and this program speaks {speaks}: first install a version of LatsDB that speaks level \
                 {level} and {}, and raise the cluster's level (latsdb admin upgrade)",
                speaks.lowest
            ),
        }
    }
}

/// Puts the record into the log, and returns when it is applied here.
pub(crate) async fn raise(raft: &Raft, shared: &Shared, level: Level) -> Result<(), MembershipError> {
    let failed = |error: &dyn std::fmt::Display| MembershipError::Failed(error.to_string().into());
    let batch = Batch::raising(moment(shared), level);
    shared.reserve(batch.bytes().len()).map_err(|error| failed(&error))?;
    let (done, answered) = oneshot::channel();
    // Nobody waits any more: it may be raised all the same.
    let callback = Callback::new(move |result: Result<_, ClientWriteError<_>>| {
        let _ = done.send(result.map(|_: openraft::raft::ClientWriteResponse<_>| ()));
    });
    raft.client_write_ff(batch, Some(callback))
        .await
        .map_err(|fatal| failed(&fatal))?;
    let stopping = |_| MembershipError::Failed("the node is stopping".into());
    match answered.map_err(stopping).await? {
        Ok(()) => Ok(()),
        Err(ClientWriteError::ForwardToLeader(_)) => Err(MembershipError::NotLeader),
        Err(error) => Err(failed(&error)),
    }
}
