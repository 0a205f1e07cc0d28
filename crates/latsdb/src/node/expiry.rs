//! The clock of keys that expire: on the node that leads, they are removed by jobs of the event loops.

use std::sync::Arc;
use std::time::Duration;

use front::{Job, Loops};
use keyspace::Keyspace;
use keyspace::purge::{Looked, Purge};
use shard::Shard;
use tokio::sync::oneshot;

/// Between two looks at a part of the keys.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Where there is nothing to look at, or nothing that expires.
const IDLE: Duration = Duration::from_secs(1);

/// Removes keys that have expired, for as long as the node runs.
pub async fn keep_time(keyspace: Arc<Keyspace>, shard: Arc<Shard>, loops: Loops) {
    let mut purge = Purge::default();
    let mut empty_looks = 0;
    loop {
        let mut wait = IDLE;
        if keyspace.is_used() && shard.status().is_leader {
            let (answer, done) = oneshot::channel();
            let keys = keyspace.clone();
            loops.start_job(Job {
                user: "key_expiry".into(),
                database: None,
                text: String::new(),
                work: Box::new(move |_, host| {
                    let _ = env::failpoints::hit("expiry.looking");
                    let looked = purge.look(&keys, host);
                    let _ = answer.send((purge, looked));
                }),
            });
            let Ok((back, looked)) = done.await else {
                // The job has panicked, or had no memory, or the node stops. The next look begins with the first keys.
                purge = Purge::default();
                tokio::time::sleep(IDLE).await;
                continue;
            };
            purge = back;
            wait = match looked {
                Ok(Looked { keys, expired, .. }) if expired * 10 > keys => Duration::ZERO,
                Ok(Looked { keys: 0, .. }) => {
                    // All databases are empty.
                    empty_looks += 1;
                    if empty_looks < keyspace::tables::DATABASES {
                        Duration::ZERO
                    } else {
                        IDLE
                    }
                }
                Ok(Looked { expiring: 0, .. }) => IDLE,
                Ok(_) => LOOK_EVERY,
                Err(failure) => {
                    tracing::warn!(reason = %failure, "expired keys cannot be removed");
                    IDLE
                }
            };
            if wait != Duration::ZERO {
                empty_looks = 0;
            }
        }
        tokio::time::sleep(wait).await;
    }
}
