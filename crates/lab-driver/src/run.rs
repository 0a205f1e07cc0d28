//! A rung: connections opened, warm-up, the measured interval, what it gave.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lab_results::run::{Event, Load};
use lab_results::rung::{ErrorCount, IdleConnections, PhaseResult, Second, StatementTotals, Totals};
use lab_results::{Latency, UnixMicros};
use serde::{Deserialize, Serialize};

use crate::client::{Dialer, Session};
use crate::idle;
use crate::recorder::Part;
use crate::statement::Catalog;
use crate::worker::{self, Job, Message, Opened, PhasePart, Shared};
use crate::{DriverError, Stop, Target, Workload};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RungSpec {
    /// `threads_total` connections, spread over the target's servers in turns. Open: transactions that find no free
    /// connection wait, and their waiting counts.
    pub load: Load,
    /// What of it this process carries; `None` is all.
    #[serde(default)]
    pub share: Option<Share>,
    pub warmup: Duration,
    /// The measured interval; of a load with a profile, as long as that.
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
    /// Connections beside the load's that ask for nothing.
    #[serde(default)]
    pub idle: Option<Idle>,
}

/// Connections that log in before the warm-up and then sit still until the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle {
    pub per_server: u32,
    /// Each prepares the workload's statements, as the load's connections do.
    pub prepared: bool,
}

/// Sysbench's default: deadlock, row changed by another, lock wait timeout.
pub const IGNORED_ERRORS: [u16; 3] = [1213, 1020, 1205];

/// How to live through the loss of servers: errors are counted, connections opened again (names resolved again, statements prepared
/// again, the next server of the list tried), the transaction done again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survive {
    pub backoff_first: Duration,
    pub backoff_most: Duration,
    /// A connection attempt, and each wait for an answer while it logs in and prepares, takes no longer.
    pub connect_timeout: Duration,
    /// A statement without an answer for so long counts as a lost connection.
    pub answer_timeout: Duration,
    /// A connection that found a place on another server looks so often whether its own is back, and returns between transactions.
    pub spread_after: Duration,
    /// Every connection is opened anew after so long, between transactions, its name resolved again: to follow a name whose servers
    /// change.
    pub reopen_after: Option<Duration>,
}

impl Default for Survive {
    fn default() -> Self {
        Survive {
            backoff_first: Duration::from_millis(20),
            backoff_most: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(10),
            spread_after: Duration::from_secs(1),
            reopen_after: None,
        }
    }
}

impl RungSpec {
    /// Sysbench's habits: ignored errors as by its default, any other ends the rung.
    pub fn new(load: Load, warmup: Duration, measure: Duration, seed: u64) -> RungSpec {
        RungSpec {
            load,
            share: None,
            warmup,
            measure,
            seed,
            workers: None,
            ignore_errors: IGNORED_ERRORS.to_vec(),
            survive: None,
            idle: None,
        }
    }
}

/// One driver's part of a rung that several carry together, here or on other machines. Connections are numbered over all of them:
/// each has the same keys and the same server whoever opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Number of its first connection, from 0.
    pub first: u32,
    pub connections: u32,
    /// Connections of all drivers together.
    pub of: u32,
}

impl Share {
    pub fn whole(connections: u32) -> Share {
        Share {
            first: 0,
            connections,
            of: connections,
        }
    }

    /// The `index`-th (from 0) of `parts` shares that differ by one connection at most; the earlier ones are the larger. Neighbours stay
    /// together, so that each share is spread over all servers.
    pub fn nth(of: u32, index: u32, parts: u32) -> Share {
        let (each, rest) = (of / parts.max(1), of % parts.max(1));
        Share {
            first: index * each + index.min(rest),
            connections: each + u32::from(index < rest),
            of,
        }
    }

    /// Share (0..=1) of the whole, and of that what comes before it.
    pub(crate) fn fraction(self) -> (f64, f64) {
        let of = f64::from(self.of.max(1));
        (f64::from(self.connections) / of, f64::from(self.first) / of)
    }
}

/// What a rung gave: the parts of [`lab_results::Rung`] that the driver knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
    /// Of a load with a profile.
    #[serde(default)]
    pub phases: Vec<PhaseResult>,
    #[serde(default)]
    pub idle: Option<IdleConnections>,
    /// The stop flag ended it early.
    pub interrupted: bool,
    /// An error ended it early: its text. The figures are those until then.
    pub failure: Option<String>,
}

/// What the load itself cost in the measured interval: the worker threads alone, not what else the process does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
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
    run_from(target, workload, spec, stop, &mut || Some(Instant::now()), progress)
}

/// As [`run`], with the beginning of the warm-up given by `begin`, which is asked once every connection is open; `None`: do not begin.
pub fn run_from(
    target: &Target,
    workload: &Workload,
    spec: &RungSpec,
    stop: &Stop,
    begin: &mut dyn FnMut() -> Option<Instant>,
    progress: &mut dyn FnMut(&Second),
) -> Result<Outcome, DriverError> {
    let (share, workers) = size(spec)?;
    let catalog = workload.catalog();
    if target.servers.is_empty() {
        return Err(DriverError::NoServer);
    }
    let scripts = workload.scripts(spec.seed, share);
    let dialer = Dialer::new(target)?;
    let idle = spec
        .idle
        .map(|idle| idle::open(&dialer, &catalog, idle, stop))
        .transpose()?;
    let shared = Shared {
        target,
        dialer: &dialer,
        scripts: &scripts,
        catalog: &catalog,
        spec,
        share,
        workers,
        stop,
        end: AtomicI64::new(spec.measure.as_nanos() as i64),
    };
    thread::scope(|scope| {
        let (messages, inbox) = mpsc::channel();
        let (jobs, job_queue) = mpsc::channel();
        let job_queue = Arc::new(Mutex::new(job_queue));
        let (mut starts, mut opened_by_worker) = (Vec::new(), Vec::new());
        for number in 0..workers {
            let (start, started) = mpsc::channel();
            let (opened_sender, opened) = mpsc::channel();
            starts.push(start);
            opened_by_worker.push(opened_sender);
            let (shared, messages) = (&shared, messages.clone());
            let jobs = spec.survive.map(|_| jobs.clone());
            spawn(scope, format!("load-{number}"), move || {
                worker::work(shared, number, messages, jobs, opened, started);
            })?;
        }
        drop((messages, jobs));
        if spec.survive.is_some() {
            for number in 0..CONNECTORS_MAX.min(share.connections as usize) {
                let (shared, job_queue, opened) = (&shared, job_queue.clone(), opened_by_worker.clone());
                spawn(scope, format!("connect-{number}"), move || {
                    connect_again(shared, &job_queue, &opened);
                })?;
            }
        }
        drop(opened_by_worker);
        for _ in 0..workers {
            match inbox.recv() {
                Ok(Message::Ready) => {}
                Ok(Message::CannotBegin(error)) => return Err(error),
                _ => return Err(DriverError::Spec("a worker ended before the start".into())),
            }
        }
        let mut gathered = Gathered::new(&catalog, workers);
        let epoch = begin()
            .filter(|epoch| wait_for(*epoch, stop))
            .ok_or(DriverError::Stopped)?;
        let started = UnixMicros(
            (unix_micros() + spec.warmup.as_micros() as u64).saturating_sub(epoch.elapsed().as_micros() as u64),
        );
        for start in starts {
            let _ = start.send(epoch);
        }
        gathered.listen(&shared, &inbox, epoch, progress);
        Ok(gathered.outcome(started, &spec.load, stop, shared.end.load(Ordering::Relaxed)))
    })
    .map(|mut outcome| {
        if let Some(idle) = idle {
            idle.finish(&mut outcome);
        }
        outcome
    })
}

/// Threads that open lost connections again.
const CONNECTORS_MAX: usize = 8;
/// More transactions a second than a machine could begin.
const RATE_MAX: f64 = 1e7;
/// How often a wish to stop is looked for.
const LOOK_UP_AFTER: Duration = Duration::from_millis(50);

/// Whether the moment came before a wish to stop.
pub(crate) fn wait_for(moment: Instant, stop: &Stop) -> bool {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() || stop.is_requested() {
            return left.is_zero();
        }
        thread::sleep(left.min(LOOK_UP_AFTER));
    }
}

/// Connections and worker threads.
fn size(spec: &RungSpec) -> Result<(Share, usize), DriverError> {
    let share = spec.share.unwrap_or(Share::whole(spec.load.threads_total()));
    if share.of != spec.load.threads_total() || share.first.saturating_add(share.connections) > share.of {
        return Err(DriverError::Spec(format!(
            "{} connections from the {}-th are no share of {}",
            share.connections,
            share.first,
            spec.load.threads_total()
        )));
    }
    if share.connections == 0 {
        return Err(DriverError::Spec("a rung needs at least one connection".into()));
    }
    if spec.measure < Duration::from_millis(10) {
        return Err(DriverError::Spec("a rung measures for at least 10 ms".into()));
    }
    if let Load::Open {
        rate_per_s, profile, ..
    } = &spec.load
    {
        let rates = profile.iter().flat_map(|profile| &profile.phases);
        let least = rates.clone().flat_map(|phase| [phase.from_per_s, phase.to_per_s]);
        let wrong = std::iter::once(*rate_per_s)
            .filter(|rate| !(*rate > 0.0 && *rate <= RATE_MAX))
            .chain(least.filter(|rate| !(*rate >= 0.0 && *rate <= RATE_MAX)))
            .next();
        if let Some(rate) = wrong {
            return Err(DriverError::Spec(format!(
                "a rate of {rate} per second: give one above 0, up to {RATE_MAX:.0}"
            )));
        }
        if rates
            .clone()
            .any(|phase| !(phase.seconds > 0.0 && phase.seconds.is_finite()))
        {
            return Err(DriverError::Spec("a phase takes some time".into()));
        }
    }
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = spec.workers.unwrap_or(cores).clamp(1, share.connections as usize);
    Ok((share, workers))
}

fn spawn<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: String,
    body: impl FnOnce() + Send + 'scope,
) -> Result<(), DriverError> {
    thread::Builder::new()
        .name(name)
        .spawn_scoped(scope, body)
        .map(|_| ())
        .map_err(DriverError::System)
}

/// Opens lost connections again until nobody asks any more.
fn connect_again(shared: &Shared, jobs: &Mutex<Receiver<Job>>, opened: &[Sender<Opened>]) {
    loop {
        let job = match jobs.lock() {
            Ok(jobs) => jobs.recv(),
            Err(_) => return,
        };
        let Ok(Job { worker, slot, turn }) = job else { return };
        let Ok(server) = shared.target.server(turn) else { return };
        let limits = worker::open_limits(shared.spec);
        let session = Session::open(shared.dialer, server, turn, shared.catalog, limits);
        let _ = opened[worker].send((slot, server.to_owned(), session));
    }
}

/// The workers' parts, put together as they come.
struct Gathered<'a> {
    kinds: &'a [&'static str],
    workers: usize,
    /// Seconds that not all workers have handed over.
    open: BTreeMap<i64, (usize, Part)>,
    seconds: Vec<Second>,
    total: Part,
    events: Vec<Event>,
    failure: Option<String>,
    cost: ClientCost,
    phases: Vec<PhasePart>,
}

impl<'a> Gathered<'a> {
    fn new(catalog: &'a Catalog, workers: usize) -> Gathered<'a> {
        Gathered {
            kinds: &catalog.kinds,
            workers,
            open: BTreeMap::new(),
            seconds: Vec::new(),
            total: Part::new(0, catalog.kinds.len()),
            events: Vec::new(),
            failure: None,
            cost: ClientCost {
                workers,
                ..ClientCost::default()
            },
            phases: Vec::new(),
        }
    }

    /// Until every worker is done.
    fn listen(
        &mut self,
        shared: &Shared,
        inbox: &Receiver<Message>,
        epoch: Instant,
        progress: &mut dyn FnMut(&Second),
    ) {
        let mut working = self.workers;
        while working > 0 {
            if shared.stop.is_requested() {
                let now = epoch.elapsed().as_nanos() as i64 - shared.spec.warmup.as_nanos() as i64;
                shared.end.fetch_min(now, Ordering::Relaxed);
            }
            match inbox.recv_timeout(LOOK_UP_AFTER) {
                Ok(Message::Part(part)) => self.part(*part, progress),
                Ok(Message::Event(what)) => self.event(what),
                Ok(Message::Failure(what)) => {
                    self.event(what.clone());
                    self.failure.get_or_insert(what);
                }
                Ok(Message::Done(cost, phases)) => {
                    self.cost.cpu_s += cost.cpu_s;
                    self.cost.context_switches += cost.context_switches;
                    worker::merge_phases(&mut self.phases, phases);
                    working -= 1;
                }
                Ok(Message::Ready | Message::CannotBegin(_)) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        while let Some((_, (_, part))) = self.open.pop_first() {
            self.second(part, progress);
        }
    }

    fn part(&mut self, part: Part, progress: &mut dyn FnMut(&Second)) {
        let second = part.second;
        match self.open.get_mut(&second) {
            Some((count, sum)) => {
                *count += 1;
                sum.merge(&part);
            }
            None => {
                self.open.insert(second, (1, part));
            }
        }
        while let Some(entry) = self.open.first_entry()
            && entry.get().0 == self.workers
        {
            let (_, part) = entry.remove();
            self.second(part, progress);
        }
    }

    fn second(&mut self, part: Part, progress: &mut dyn FnMut(&Second)) {
        if part.second >= 0 {
            self.total.merge(&part);
        }
        let second = part.to_second(self.kinds);
        progress(&second);
        self.seconds.push(second);
    }

    /// Several workers see the same.
    fn event(&mut self, what: String) {
        let at = UnixMicros(unix_micros());
        let seen = |event: &Event| event.what == what && at.0 - event.at.0 < 2_000_000;
        if !self.events.iter().any(seen) {
            self.events.push(Event { at, what });
        }
    }

    fn outcome(self, started: UnixMicros, load: &Load, stop: &Stop, end: i64) -> Outcome {
        let open = matches!(load, Load::Open { .. });
        Outcome {
            phases: load
                .profile()
                .map(|profile| worker::phase_results(profile, &self.phases, end))
                .unwrap_or_default(),
            idle: None,
            started,
            measured_s: end.max(0) as f64 / 1e9,
            statements: self.total.statements(self.kinds),
            errors: self.total.error_counts(self.kinds),
            service_latency: open.then_some(self.total.service_latency),
            latency: self.total.latency,
            totals: self.total.totals,
            seconds: self.seconds,
            client: self.cost,
            events: self.events,
            interrupted: stop.is_requested(),
            failure: self.failure,
        }
    }
}

fn unix_micros() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_micros() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_connections_once() {
        for (of, parts) in [(1, 3), (7, 3), (64, 4), (3, 3), (5, 1)] {
            let shares: Vec<Share> = (0..parts).map(|index| Share::nth(of, index, parts)).collect();
            let mut next = 0;
            for share in &shares {
                assert_eq!(share.first, next);
                next += share.connections;
            }
            assert_eq!(next, of);
            let most = shares[0].connections;
            assert!(shares.iter().all(|share| most - share.connections <= 1), "{shares:?}");
        }
    }
}
