//! A node's side of backups: checkpoints that are being given away.

use std::sync::Arc;
use std::time::Duration;

use front_http::{BackupAnswer, BackupCall};
use shard::backup::Backup;
use shard::{EntryId, Role, Shard};
use transaction::{Participant, commit_nothing};
use types::Timestamp;

use super::kept::{AT_ONCE, Kept, PATIENCE};

/// A follower waits for what the leader has; and a mark for its place in the log.
const LEADER: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct Serving {
    /// Each keeps a file open that may have no name any more, and so its space on the disk.
    backups: Arc<Kept<State>>,
}

#[derive(Clone)]
enum State {
    /// Its checkpoint is being written.
    Begun,
    Failed(String),
    Open(Arc<Backup>),
}

impl Serving {
    pub async fn answer(&self, shard: Arc<Shard>, call: BackupCall) -> Result<BackupAnswer, String> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        if shard.identity().role == Role::Witness {
            return Err("this node is a witness and has no rows: draw the backup of another node".to_owned());
        }
        match call {
            BackupCall::Begin { backup, earlier } => self.begin(shard, backup, earlier).await,
            BackupCall::Chunk { backup, number } => {
                let open = match self.backups.heard(backup) {
                    Some(State::Open(open)) => open,
                    Some(_) => return Err("the backup has not begun".to_owned()),
                    None => {
                        return Err(format!(
                            "the node knows of no such backup: it was restarted, or it has heard nothing for {} s",
                            PATIENCE.as_secs()
                        ));
                    }
                };
                blocking(move || open.chunk(number).map_err(|error| text(&error))).await
            }
            BackupCall::End { backup } => {
                self.backups.forget(backup);
                Ok(BackupAnswer::Records(Vec::new()))
            }
            BackupCall::LogHead {
                cluster,
                term,
                index,
                newest,
            } => {
                let head = shard.log_head(cluster, EntryId { term, index }, Timestamp(newest));
                head.map(BackupAnswer::Records).map_err(|error| text(&error))
            }
            BackupCall::Log { term, index } => {
                blocking(move || shard.log_after(EntryId { term, index }).map_err(|error| text(&error))).await
            }
            BackupCall::Mark => mark(shard).await,
        }
    }

    async fn begin(&self, shard: Arc<Shard>, backup: u64, earlier: Option<u64>) -> Result<BackupAnswer, String> {
        match self.backups.heard(backup) {
            Some(State::Begun) => return Ok(BackupAnswer::NotYet),
            Some(State::Open(open)) => return Ok(BackupAnswer::Records(open.begin())),
            Some(State::Failed(reason)) => {
                self.backups.forget(backup);
                return Err(reason);
            }
            None => {}
        }
        // A backup has everything that anybody was told of before it was asked for.
        if let Some(freshness) = shard.freshness() {
            let fresh = tokio::time::timeout(LEADER, freshness).await;
            let late = |_| format!("the node has not heard from a leader within {} s", LEADER.as_secs());
            fresh.map_err(late)?.map_err(|error| error.to_string())?;
        }
        if !self.backups.keep(backup, State::Begun) {
            return Err(format!("{AT_ONCE} backups of this node are being drawn already"));
        }
        let backups = self.backups.clone();
        tokio::task::spawn_blocking(move || {
            let state = match shard.back_up(earlier) {
                Ok(open) => State::Open(Arc::new(open)),
                Err(error) => State::Failed(error.to_string()),
            };
            backups.change(backup, state);
        });
        Ok(BackupAnswer::NotYet)
    }
}

/// The log then has a commit of now, and whoever has the log up to it has everything up to now. A node that follows has no say.
async fn mark(shard: Arc<Shard>) -> Result<BackupAnswer, String> {
    if shard.status().is_leader {
        let participant: Arc<dyn Participant> = shard;
        let marked = commit_nothing(&participant);
        let marked = tokio::time::timeout(LEADER, marked).await;
        if let Ok(Err(error)) = marked {
            tracing::debug!(%error, "no mark for a backup");
        }
    }
    Ok(BackupAnswer::Records(Vec::new()))
}

async fn blocking(work: impl FnOnce() -> Result<Vec<u8>, String> + Send + 'static) -> Result<BackupAnswer, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err("the node is stopping".to_owned()))
        .map(BackupAnswer::Records)
}
