//! Password checks that take milliseconds by design, away from the event loops.
//!
//! A few threads of lower priority take them from one short queue. When it is full, a login is refused at once: a flood
//! of logins makes logins slow, not statements.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use governor::priority::stand_back;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Checks that may wait: about a second's work of one thread.
const QUEUE_MAX: usize = 128;
/// The scheduler gives event loops several times the processor time of these threads.
const NICENESS: i32 = 5;

pub struct Hasher {
    queue: SyncSender<Job>,
}

type Job = Box<dyn FnOnce() + Send>;

/// The queue is full.
#[derive(Debug, PartialEq, Eq)]
pub struct Busy;

impl Hasher {
    /// The threads end when the hasher is dropped.
    pub fn start(threads: usize) -> io::Result<Hasher> {
        let (queue, jobs) = sync_channel(QUEUE_MAX);
        let jobs = Arc::new(Mutex::new(jobs));
        for number in 0..threads.max(1) {
            let jobs = jobs.clone();
            thread::Builder::new()
                .name(format!("login-hash-{number}"))
                .spawn(move || work(&jobs))?;
        }
        Ok(Hasher { queue })
    }

    /// What `check` finds; nothing where it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        check: impl FnOnce() -> Option<T> + Send + 'static,
    ) -> Result<Option<T>, Busy> {
        let (outcome, answer) = oneshot::channel();
        let job = move || {
            // Nobody waits for the answer to a client that has gone.
            if !outcome.is_closed() {
                let _ = outcome.send(check());
            }
        };
        match self.queue.try_send(Box::new(job)) {
            Ok(()) => Ok(answer.await.unwrap_or(None)),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Err(Busy),
        }
    }
}

fn work(jobs: &Mutex<Receiver<Job>>) {
    stand_back(NICENESS);
    loop {
        let job = jobs.lock().recv();
        let Ok(job) = job else { return };
        job();
    }
}
