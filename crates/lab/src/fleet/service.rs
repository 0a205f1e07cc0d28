//! A load node's end: a service of its agent that runs its part of a rung with `lab-driver` and tells each second of it.
//!
//! The load ends by itself when its time is over, when the talk ends, and when the coordinator says nothing for a while: a line that
//! broke without a word must not leave a machine sending for hours.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use lab_driver::{Control, DriverError, Outcome, Stop, Workload};
use lab_host::agent::{Heard, Service, Talk};
use lab_results::UnixMicros;
use lab_results::rung::Second;

use super::protocol::{Database, FromNode, Order, Refusal, SERVICE, ToNode, Version};
use crate::plan::Driver;
use crate::preflight;

/// Between two looks at what the coordinator said.
const LOOK: Duration = Duration::from_millis(20);
/// A coordinator that is silent for so long is gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// The load of a talk that ended a moment ago is given so long to end.
const BUSY_PATIENCE: Duration = Duration::from_secs(10);
/// A start that comes later than it should by more than this would not be a common one; one that is further away is a clock gone
/// wrong.
const LATE_MAX: Duration = Duration::from_millis(250);
const AHEAD_MAX: Duration = Duration::from_secs(60);

/// Drives load for whoever speaks to the agent; for one at a time.
pub struct LoadService {
    version: Version,
    busy: Mutex<()>,
}

impl fmt::Debug for LoadService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoadService").field("version", &self.version).finish()
    }
}

impl Default for LoadService {
    fn default() -> LoadService {
        LoadService::of(Version::ours())
    }
}

impl LoadService {
    fn of(version: Version) -> LoadService {
        LoadService {
            version,
            busy: Mutex::new(()),
        }
    }

    /// One that says of itself to be of another version.
    #[cfg(test)]
    pub fn pretending(version: Version) -> LoadService {
        LoadService::of(version)
    }

    fn hello(&self) -> FromNode {
        FromNode::Hello {
            version: self.version.clone(),
            pid: std::process::id(),
            sysbench: lab_driver::sysbench::version(),
        }
    }

    /// A rung, to its end.
    fn rung(&self, order: &Order, talk: &Talk<'_>) {
        let began = Instant::now();
        let _alone = loop {
            match self.busy.try_lock() {
                Ok(guard) => break guard,
                // Whoever panicked drives no load any more.
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if began.elapsed() < BUSY_PATIENCE => thread::sleep(LOOK),
                Err(TryLockError::WouldBlock) => {
                    return tell(
                        talk,
                        &cannot("it drives the load of another series now: wait for its end, or use another node"),
                    );
                }
            }
        };
        let stop = Stop::new();
        let ended = AtomicBool::new(false);
        let (starts, start) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                listen(talk, &stop, &starts, &|| ended.load(Ordering::Relaxed));
            });
            let carried = carry(order, talk, &stop, &start);
            ended.store(true, Ordering::Relaxed);
            match carried {
                Ok(mut outcome) => {
                    outcome.seconds.clear();
                    tell(talk, &FromNode::Finished(Box::new(outcome)));
                }
                Err(refusal) => tell(talk, &FromNode::CannotBegin(refusal)),
            }
        });
    }
}

impl Service for LoadService {
    fn name(&self) -> &str {
        SERVICE
    }

    fn serve(&self, talk: &Talk<'_>) {
        loop {
            let said = match talk.hear(PATIENCE) {
                Heard::Said(said) => said,
                Heard::Nothing | Heard::Over => return,
            };
            match serde_json::from_value(said) {
                Ok(ToNode::Hello(_)) => tell(talk, &self.hello()),
                Ok(ToNode::Look { targets, files }) => {
                    let problems = look(&targets, files);
                    tell(talk, &FromNode::Looked { problems });
                }
                Ok(ToNode::Begin(order)) => return self.rung(&order, talk),
                Ok(ToNode::GoOn) => {}
                // Of a rung that is over.
                Ok(ToNode::Start { .. } | ToNode::Stop) => return,
                Err(_) => {
                    return tell(
                        talk,
                        &cannot("it does not understand what it is asked: use the same latsdb on both ends"),
                    );
                }
            }
        }
    }
}

fn cannot(why: &str) -> FromNode {
    FromNode::CannotBegin(Refusal {
        why: why.to_owned(),
        unreachable: false,
    })
}

/// Whoever does not hear it any more has ended the talk, which is noticed where it is listened to.
fn tell(talk: &Talk<'_>, said: &FromNode) {
    let _ = talk.say(said);
}

/// Hands on what the coordinator says until the load has ended; its silence, and the talk's end, stop the load.
fn listen(talk: &Talk<'_>, stop: &Stop, starts: &Sender<UnixMicros>, ended: &dyn Fn() -> bool) {
    let mut last_word = Instant::now();
    while !ended() {
        match talk.hear(LOOK) {
            Heard::Said(said) => {
                last_word = Instant::now();
                match serde_json::from_value(said) {
                    Ok(ToNode::Start { at }) => {
                        let _ = starts.send(at);
                    }
                    Ok(ToNode::Stop) | Err(_) => stop.request(),
                    Ok(_) => {}
                }
            }
            Heard::Nothing if last_word.elapsed() < PATIENCE => {}
            Heard::Nothing | Heard::Over => {
                stop.request();
                if !ended() {
                    thread::sleep(LOOK);
                }
            }
        }
    }
}

fn carry(order: &Order, talk: &Talk<'_>, stop: &Stop, start: &Receiver<UnixMicros>) -> Result<Outcome, Refusal> {
    let refusal = |why: String| Refusal {
        why,
        unreachable: false,
    };
    let target = order.target.to_driver().map_err(refusal)?;
    let workload = Workload::new(&order.kind, &order.options).map_err(|error| refusal(error.to_string()))?;
    let spec = &order.spec;
    let idle = spec
        .idle
        .map_or(0, |idle| idle.per_server as usize * target.servers.len());
    let connections = spec.share.map_or(0, |share| u64::from(share.connections)) + idle as u64;
    preflight::files(connections).map_err(|error| refusal(error.to_string()))?;
    let mut wrong_start = None;
    let mut begin = || {
        tell(talk, &FromNode::Ready);
        let at = loop {
            match start.recv_timeout(LOOK) {
                Ok(at) => break at,
                Err(_) if stop.is_requested() => return None,
                Err(_) => {}
            }
        };
        let moment = match moment(at.0, talk.now().0) {
            Ok(moment) => moment,
            Err(why) => {
                wrong_start = Some(why);
                return None;
            }
        };
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            match left.is_zero() {
                true => break,
                false if stop.is_requested() => return None,
                false => thread::sleep(left.min(LOOK)),
            }
        }
        let late_us = moment.elapsed().as_micros() as u64;
        tell(talk, &FromNode::Begun { late_us });
        Some(moment)
    };
    let mut progress = |second: &Second| tell(talk, &FromNode::Second(Box::new(second.clone())));
    let outcome = match order.driver {
        Driver::Latsdb => lab_driver::run_from(&target, &workload, spec, stop, &mut begin, &mut progress),
        Driver::Sysbench => lab_driver::sysbench::run_from(&target, &workload, spec, stop, &mut begin, &mut progress),
    };
    outcome.map_err(|error| Refusal {
        unreachable: is_unreachable(&error),
        why: match wrong_start {
            Some(why) => why,
            None => format!("target {}: {error}", order.target.name),
        },
    })
}

/// The target did not answer, or no more: it may come back.
pub fn is_unreachable(error: &DriverError) -> bool {
    matches!(
        error,
        DriverError::Connect { .. } | DriverError::Closed { .. } | DriverError::Io { .. }
    )
}

/// A time of the node's clock, as the driver's. Both in microseconds.
fn moment(at: u64, now: u64) -> Result<Instant, String> {
    let (ahead, late) = (
        Duration::from_micros(at.saturating_sub(now)),
        Duration::from_micros(now.saturating_sub(at)),
    );
    if ahead > AHEAD_MAX {
        return Err(format!(
            "by its clock it should begin in {} s: its clock was set back meanwhile; let NTP or chrony hold it",
            ahead.as_secs()
        ));
    }
    let early_enough = (late <= LATE_MAX)
        .then(|| (Instant::now() + ahead).checked_sub(late))
        .flatten();
    early_enough.ok_or_else(|| {
        format!(
            "by its clock it should have begun {} ms ago: the line to it stalled, or its clock was set forward; let NTP or chrony hold it",
            late.as_millis()
        )
    })
}

/// What stands against a series on this node, as sentences.
fn look(targets: &[Database], most_files: u64) -> Vec<String> {
    let mut problems = Vec::new();
    if let Err(error) = preflight::files(most_files) {
        problems.push(error.to_string());
    }
    for database in targets {
        let target = match database.to_driver() {
            Ok(target) => target,
            Err(why) => {
                problems.push(why);
                continue;
            }
        };
        for server in &target.servers {
            if let Err(error) = Control::connect_without_database(&target, server) {
                problems.push(format!("target {}: {error}", database.name));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_moment_unless_a_clock_went_wrong() {
        let now = 1_700_000_000_000_000;
        let soon = moment(now + 300_000, now).unwrap();
        let wait = soon.saturating_duration_since(Instant::now());
        assert!((200..=300).contains(&wait.as_millis()), "{wait:?}");
        assert!(moment(now - 100_000, now).unwrap() < Instant::now());
        assert!(moment(now - 300_000, now).unwrap_err().contains("set forward"));
        assert!(moment(now + 3_600_000_000, now).unwrap_err().contains("set back"));
    }
}
