//! The clock of events: on the node that leads, those that are due become jobs of the event loops.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::EventDef;
use front::{Job, Loops};
use parking_lot::Mutex;
use shard::Shard;
use sql::engine::Engine;
use tokio::sync::{Notify, oneshot};

/// How long a new event, or a new leader, may wait to be seen.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Where events wait for others to end, several may end in between.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// Events that run at the same time; others wait.
const RUNNING_MAX: usize = 256;
/// Of these, runs of one event that takes longer than the time between its turns.
const RUNNING_OF_ONE_MAX: usize = 8;

/// Starts events as they come due, for as long as the node runs.
pub async fn keep_time(engine: Arc<Engine>, shard: Arc<Shard>, loops: Loops) {
    let running = Arc::new(Running::default());
    loop {
        let mut wait = LOOK_EVERY;
        let mut is_full = false;
        if shard.status().is_leader {
            let mut found = engine.due_events();
            // Where there are more than can run, each has its turn.
            found.due.sort_by_key(|def| def.last_run);
            let mut runs = Vec::new();
            for def in found.due {
                match running.begin(&def) {
                    Some(run) => runs.push((def, run)),
                    None => is_full = true,
                }
            }
            found.over.retain(|def| !running.has(def));
            if !runs.is_empty() || !found.over.is_empty() {
                start(runs, found.over, &engine, &loops).await;
            }
            if let Some(next) = found.next {
                let left = u64::try_from(next - engine.clock_micros()).unwrap_or(0);
                wait = wait.min(Duration::from_micros(left));
            }
        }
        if is_full {
            let _ = tokio::time::timeout(wait, running.ended.notified()).await;
            wait = BETWEEN_LOOKS;
        }
        tokio::time::sleep(wait.max(BETWEEN_LOOKS)).await;
    }
}

/// Takes the turns of all of them at once, and starts those that it got.
async fn start(runs: Vec<(Arc<EventDef>, Run)>, over: Vec<Arc<EventDef>>, engine: &Arc<Engine>, loops: &Loops) {
    let due: Vec<Arc<EventDef>> = runs.iter().map(|(def, _)| def.clone()).collect();
    let (answer, taken) = oneshot::channel();
    let of_clock = engine.clone();
    loops.start_job(Job {
        user: "event_scheduler".into(),
        database: None,
        text: String::new(),
        work: Box::new(move |_, host| {
            let taken = of_clock.take_turns(&due, &over, host);
            let taken = taken.inspect_err(|error| tracing::warn!(%error, "events that are due cannot be started"));
            let _ = answer.send(taken.unwrap_or_default());
        }),
    });
    // None: the node stops, or the job has panicked.
    let taken = taken.await.unwrap_or_default();
    let is_taken = |def: &Arc<EventDef>| taken.iter().any(|taken| Arc::ptr_eq(taken, def));
    for (def, run) in runs.into_iter().filter(|(def, _)| is_taken(def)) {
        let engine = engine.clone();
        loops.start_job(Job {
            user: def.definer.0.clone(),
            database: Some(def.database.clone()),
            text: def.body.clone(),
            work: Box::new(move |id, host| {
                engine.run_event(&def, id, host);
                drop(run);
            }),
        });
    }
}

/// The runs of events on this node.
#[derive(Default)]
struct Running {
    state: Mutex<State>,
    ended: Notify,
}

#[derive(Default)]
struct State {
    total: usize,
    /// By database and name.
    of: HashMap<(String, String), usize>,
}

/// A place for one run, until it is over, also by a panic or by a thread that never takes it.
struct Run {
    running: Arc<Running>,
    name: (String, String),
}

fn name_of(def: &EventDef) -> (String, String) {
    (def.database.clone(), def.name.clone())
}

impl Running {
    /// None: it has to wait.
    fn begin(self: &Arc<Self>, def: &EventDef) -> Option<Run> {
        let mut state = self.state.lock();
        let runs = state.of.get(&name_of(def)).copied().unwrap_or(0);
        if state.total >= RUNNING_MAX || runs >= RUNNING_OF_ONE_MAX {
            return None;
        }
        state.of.insert(name_of(def), runs + 1);
        state.total += 1;
        Some(Run {
            running: self.clone(),
            name: name_of(def),
        })
    }

    fn has(&self, def: &EventDef) -> bool {
        self.state.lock().of.contains_key(&name_of(def))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let mut state = self.running.state.lock();
        state.total -= 1;
        if let Some(runs) = state.of.get_mut(&self.name) {
            *runs -= 1;
            if *runs == 0 {
                state.of.remove(&self.name);
            }
        }
        drop(state);
        self.running.ended.notify_one();
    }
}
