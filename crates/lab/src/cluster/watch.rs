//! A thread for each node asks it again and again, so that one that hangs is not waited for by the others.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lab_results::UnixMicros;
use lab_results::cluster::Cluster;

use super::judge::{self, Answer, Reading, Watched};
use super::status;
use crate::clock;

/// A change of leader is told this exactly.
const PAUSE: Duration = Duration::from_millis(200);
/// Of all nodes together: a day of three nodes. What comes later is not kept.
const READINGS_MAX: usize = 1_500_000;

/// Ends when it is dropped.
pub struct Watch {
    is_over: Arc<AtomicBool>,
    readings: Arc<Mutex<Vec<Reading>>>,
    threads: Vec<JoinHandle<()>>,
}

impl Watch {
    pub fn start(cluster: &Cluster) -> Watch {
        let mut watch = Watch {
            is_over: Arc::default(),
            readings: Arc::default(),
            threads: Vec::new(),
        };
        for node in &cluster.nodes {
            let (is_over, readings) = (watch.is_over.clone(), watch.readings.clone());
            let (id, address) = (node.id, node.status_addr.clone());
            watch.threads.push(thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let answer = status::ask(&address).ok().and_then(|status| {
                        let shard = status.shards.first()?;
                        Some(Answer {
                            leader: shard.leader,
                            term: shard.term,
                            last_index: shard.last_log_index,
                            applied_index: shard.applied_index,
                        })
                    });
                    let reading = Reading {
                        at: clock::now(),
                        node: id,
                        answer,
                    };
                    let mut readings = readings.lock().expect("nobody panics while it is held");
                    if readings.len() < READINGS_MAX {
                        readings.push(reading);
                    }
                    drop(readings);
                    thread::sleep(PAUSE);
                }
            }));
        }
        watch
    }

    /// What was seen in an interval that is over.
    pub fn seen(&self, started: UnixMicros, measured_s: f64) -> Watched {
        let mut readings = self.readings.lock().expect("nobody panics while it is held").clone();
        readings.sort_by_key(|reading| reading.at);
        judge::judge(&readings, started, measured_s)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            drop(thread.join());
        }
    }
}
