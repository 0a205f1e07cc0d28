//! The clock of events: on the node that leads, those that are due become jobs of the MySQL front.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use catalog::EventDef;
use front_mysql::{Job, Jobs};
use parking_lot::Mutex;
use shard::Shard;
use sql::engine::Engine;
use tokio::sync::Semaphore;

/// How long a new event, or a new leader, may wait to be seen.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Events that run at the same time; others wait.
const RUNNING_MAX: usize = 64;

/// Starts events as they come due, for as long as the node runs.
pub async fn keep_time(engine: Arc<Engine>, shard: Arc<Shard>, jobs: Jobs) {
    let places = Arc::new(Semaphore::new(RUNNING_MAX));
    let starting = Starting::default();
    loop {
        let mut wait = LOOK_EVERY;
        if shard.status().is_leader {
            let found = engine.due_events();
            for def in found.due {
                let Ok(place) = places.clone().try_acquire_owned() else {
                    break;
                };
                let Some(start) = starting.of(&def) else { continue };
                let engine = engine.clone();
                jobs.start(Job {
                    user: def.definer.0.clone(),
                    database: def.database.clone(),
                    text: def.body.clone(),
                    work: Box::new(move |id, host| {
                        engine.run_event(&def, id, host, || drop(start));
                        drop(place);
                    }),
                });
            }
            let now = engine.clock_micros();
            if let Some(next) = found.next {
                wait = wait.min(Duration::from_micros(u64::try_from(next - now).unwrap_or(0)));
            }
        }
        tokio::time::sleep(wait).await;
    }
}

/// Events that have been given to a thread, and of which the catalog does not know yet that they run.
#[derive(Clone, Default)]
struct Starting(Arc<Mutex<HashSet<(String, String)>>>);

/// The start of one of them. It is over when this is dropped.
struct Start {
    starting: Starting,
    name: (String, String),
}

impl Starting {
    /// None where it starts already.
    fn of(&self, def: &EventDef) -> Option<Start> {
        let name = (def.database.clone(), def.name.clone());
        let is_new = self.0.lock().insert(name.clone());
        is_new.then(|| Start {
            starting: self.clone(),
            name,
        })
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        self.starting.0.lock().remove(&self.name);
    }
}
