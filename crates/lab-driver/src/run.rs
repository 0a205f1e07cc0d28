//! A rung: connections opened, warm-up, the measured interval, what it gave.

use std::collections::BTreeMap;
use std::time::Duration;

use lab_results::run::{Event, Load};
use lab_results::rung::{ErrorCount, Second, StatementTotals, Totals};
use lab_results::{Latency, UnixMicros};

use crate::{DriverError, Stop, Target, Workload};

#[derive(Debug, Clone)]
pub struct RungSpec {
    /// `threads_total` connections, spread over the target's servers in turns. Open: transactions that find no free
    /// connection wait, and their waiting counts.
    pub load: Load,
    pub warmup: Duration,
    /// The measured interval.
    pub measure: Duration,
    /// Decides, with the connection's number, everything that is drawn.
    pub seed: u64,
    /// Threads of this process, each with its share of the connections; `None` is one per core that it may run on, at
    /// most one per connection.
    pub workers: Option<usize>,
    /// Errors after which a transaction starts again at its BEGIN, without ROLLBACK: sysbench's `mysql-ignore-errors`.
    pub ignore_errors: Vec<u16>,
    /// Any other error ends the rung unless this is set.
    pub survive: Option<Survive>,
}

/// Sysbench's default: deadlock, row changed by another, lock wait timeout.
pub const IGNORED_ERRORS: [u16; 3] = [1213, 1020, 1205];

/// How to live through the loss of servers: errors are counted, connections opened again (names resolved again, statements prepared
/// again, the next server of the list tried), the transaction done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Survive {
    pub backoff_first: Duration,
    pub backoff_most: Duration,
    /// A connection attempt, and each wait for an answer while it logs in and prepares, takes no longer.
    pub connect_timeout: Duration,
    /// A statement without an answer for so long counts as a lost connection.
    pub answer_timeout: Duration,
}

impl Default for Survive {
    fn default() -> Self {
        Survive {
            backoff_first: Duration::from_millis(20),
            backoff_most: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(10),
        }
    }
}

impl RungSpec {
    /// Sysbench's habits: ignored errors as by its default, any other ends the rung.
    pub fn new(load: Load, warmup: Duration, measure: Duration, seed: u64) -> RungSpec {
        RungSpec {
            load,
            warmup,
            measure,
            seed,
            workers: None,
            ignore_errors: IGNORED_ERRORS.to_vec(),
            survive: None,
        }
    }
}

/// What a rung gave: the parts of [`lab_results::Rung`] that the driver knows.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// When the measured interval began, and how long it was (shorter than asked if it was stopped).
    pub started: UnixMicros,
    pub measured_s: f64,
    pub totals: Totals,
    pub statements: BTreeMap<String, StatementTotals>,
    pub latency: Latency,
    /// Open loop only.
    pub service_latency: Option<Latency>,
    pub errors: Vec<ErrorCount>,
    /// Warm-up included.
    pub seconds: Vec<Second>,
    pub client: ClientCost,
    pub events: Vec<Event>,
    /// The stop flag ended it early.
    pub interrupted: bool,
    /// An error ended it early: its text. The figures are those until then.
    pub failure: Option<String>,
}

/// What the load itself cost in the measured interval: the worker threads alone, not what else the process does.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClientCost {
    pub cpu_s: f64,
    pub context_switches: u64,
    /// Threads that carried the load; `cpu_s` near `workers * measured_s` means that the client was the limit.
    pub workers: usize,
}

/// Runs one rung. `progress` gets each second as soon as it is over (warm-up included: negative numbers), on the calling thread.
///
/// Errors: only if it could not begin (no connection, a statement could not be prepared). Once load was sent, whatever ends it is
/// in [`Outcome::failure`].
pub fn run(
    target: &Target,
    workload: &Workload,
    spec: &RungSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(&Second),
) -> Result<Outcome, DriverError> {
    let _ = (target, workload, spec, stop, progress);
    Err(DriverError::Spec("the loops are not there yet".into()))
}
