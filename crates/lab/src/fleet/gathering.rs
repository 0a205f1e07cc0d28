//! The parts of one rung that several drivers carry, put together as if one had carried it.
//!
//! Counts are added and histograms merged, bucket by bucket; no percentile is ever made of percentiles. A second is told once every
//! driver that is still at work has told it: they count seconds from the same moment, so equal numbers are the same second.
//!
//! A plain state machine: what came in, what is whole now. Lines and clocks stand around it.

use std::collections::BTreeMap;

use lab_driver::{ClientCost, Outcome, Share};
use lab_results::UnixMicros;
use lab_results::run::Event;
use lab_results::rung::{ErrorCount, LoadShare, PhaseResult, Second, StatementTotals};

pub struct Gathering {
    parts: Vec<Part>,
    /// Seconds that some driver has not told yet.
    waiting: BTreeMap<i64, Second>,
    seconds: Vec<Second>,
    failure: Option<String>,
    events: Vec<Event>,
}

struct Part {
    node: String,
    share: Share,
    /// The last second that it told.
    told: Option<i64>,
    /// What its seconds add up to: all that is known of a driver that was lost.
    until_now: Outcome,
    state: State,
}

enum State {
    Working,
    Finished(Box<Outcome>),
    Lost,
}

impl Gathering {
    pub fn new(nodes: impl IntoIterator<Item = (String, Share)>) -> Gathering {
        let parts = nodes
            .into_iter()
            .map(|(node, share)| Part {
                node,
                share,
                told: None,
                until_now: nothing_yet(),
                state: State::Working,
            })
            .collect();
        Gathering {
            parts,
            waiting: BTreeMap::new(),
            seconds: Vec::new(),
            failure: None,
            events: Vec::new(),
        }
    }

    /// A driver's second; those that are whole now come back, in order.
    pub fn second(&mut self, part: usize, second: &Second) -> Vec<Second> {
        let part = &mut self.parts[part];
        // Each driver tells its seconds in order; what comes twice, or from one that was given up, is not counted.
        let in_order = part.told.is_none_or(|told| told < second.second);
        if !in_order || !matches!(part.state, State::Working) {
            return Vec::new();
        }
        part.told = Some(second.second);
        if second.second >= 0 {
            add_second(&mut part.until_now, second);
        }
        let whole = self.waiting.entry(second.second).or_insert_with(|| Second {
            second: second.second,
            ..Second::default()
        });
        whole.merge(second);
        self.whole()
    }

    /// A driver's last word.
    pub fn finished(&mut self, part: usize, finished: Outcome) -> Vec<Second> {
        let part = &mut self.parts[part];
        if !matches!(part.state, State::Working) {
            return Vec::new();
        }
        if let Some(failure) = &finished.failure {
            self.failure
                .get_or_insert_with(|| format!("load node {}: {failure}", part.node));
        }
        part.state = State::Finished(Box::new(finished));
        self.whole()
    }

    /// Nothing more is to be expected of this driver.
    pub fn lost(&mut self, part: usize, why: &str) -> Vec<Second> {
        let part = &mut self.parts[part];
        if !matches!(part.state, State::Working) {
            return Vec::new();
        }
        part.state = State::Lost;
        let failure = format!("load node {}: {why}", part.node);
        self.failure.get_or_insert(failure);
        self.whole()
    }

    pub fn is_working(&self, part: usize) -> bool {
        matches!(self.parts[part].state, State::Working)
    }

    pub fn is_over(&self) -> bool {
        (0..self.parts.len()).all(|part| !self.is_working(part))
    }

    /// Why the rung is of no use; the others' work is then too.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// The rung goes on, but this is to be known of it.
    pub fn event(&mut self, at: UnixMicros, what: String) {
        self.events.push(Event { at, what });
    }

    fn whole(&mut self) -> Vec<Second> {
        let mut whole = Vec::new();
        while let Some(entry) = self.waiting.first_entry() {
            let number = *entry.key();
            let is_whole = self
                .parts
                .iter()
                .all(|part| !matches!(part.state, State::Working) || part.told >= Some(number));
            if !is_whole {
                break;
            }
            let mut second = entry.remove();
            second.latency = second.latency.compacted();
            for latency in second.statements.values_mut() {
                *latency = latency.compacted();
            }
            self.seconds.push(second.clone());
            whole.push(second);
        }
        whole
    }

    /// As one driver would have told it, and each one's part. `started` is the measured interval's beginning by our clock, `offsets_us`
    /// the drivers' clocks minus it.
    pub fn outcome(mut self, started: UnixMicros, offsets_us: &[i64], interrupted: bool) -> (Outcome, Vec<LoadShare>) {
        for (_, second) in std::mem::take(&mut self.waiting) {
            self.seconds.push(second);
        }
        let mut sum = nothing_yet();
        let mut errors: BTreeMap<(u16, String), ErrorCount> = BTreeMap::new();
        let mut shares = Vec::new();
        for (part, offset) in self.parts.into_iter().zip(offsets_us) {
            let finished = match part.state {
                State::Finished(finished) => *finished,
                State::Working | State::Lost => part.until_now,
            };
            shares.push(LoadShare {
                node: part.node.clone(),
                threads: part.share.connections,
                transactions: finished.totals.transactions,
                cpu_s: finished.client.cpu_s,
                context_switches: finished.client.context_switches,
                worker_threads: u32::try_from(finished.client.workers).unwrap_or(u32::MAX),
            });
            sum.measured_s = sum.measured_s.max(finished.measured_s);
            sum.totals.add(&finished.totals);
            sum.latency.merge(&finished.latency);
            for (kind, totals) in &finished.statements {
                sum.statements.entry(kind.clone()).or_default().merge(totals);
            }
            if let Some(latency) = &finished.service_latency {
                sum.service_latency.get_or_insert_default().merge(latency);
            }
            for error in finished.errors {
                let key = (error.code, error.statement.clone());
                match errors.get_mut(&key) {
                    Some(known) => known.count += error.count,
                    None => {
                        errors.insert(key, error);
                    }
                }
            }
            sum.client.cpu_s += finished.client.cpu_s;
            sum.client.context_switches += finished.client.context_switches;
            sum.client.workers += finished.client.workers;
            add_phases(&mut sum.phases, finished.phases);
            if let Some(idle) = finished.idle {
                let all = sum.idle.get_or_insert_default();
                all.opened += idle.opened;
                all.kept += idle.kept;
                all.prepared_statements = all.prepared_statements.max(idle.prepared_statements);
            }
            let node = &part.node;
            self.events.extend(finished.events.into_iter().map(|event| Event {
                at: UnixMicros(event.at.0.saturating_add_signed(-offset)),
                what: format!("{node}: {}", event.what),
            }));
        }
        self.events.sort_by_key(|event| event.at);
        let outcome = Outcome {
            started,
            errors: errors.into_values().collect(),
            seconds: self.seconds,
            events: self.events,
            interrupted,
            failure: self.failure,
            ..sum
        };
        (outcome, shares)
    }
}

fn nothing_yet() -> Outcome {
    Outcome {
        started: UnixMicros(0),
        measured_s: 0.0,
        totals: Default::default(),
        statements: BTreeMap::new(),
        latency: Default::default(),
        service_latency: None,
        errors: Vec::new(),
        seconds: Vec::new(),
        client: ClientCost::default(),
        events: Vec::new(),
        phases: Vec::new(),
        idle: None,
        interrupted: false,
        failure: None,
    }
}

/// Phases are of the whole rate, so that equal places are the same phase. What waited is gone once no driver has any left.
fn add_phases(sum: &mut Vec<PhaseResult>, of_driver: Vec<PhaseResult>) {
    if sum.is_empty() {
        *sum = of_driver;
        return;
    }
    // A driver that was stopped a little later may have begun one more.
    for (place, phase) in of_driver.into_iter().enumerate() {
        let Some(known) = sum.get_mut(place) else {
            sum.push(phase);
            continue;
        };
        known.seconds = known.seconds.max(phase.seconds);
        known.due += phase.due;
        known.transactions += phase.transactions;
        known.latency.merge(&phase.latency);
        known.backlog += phase.backlog;
        known.drained_s = known.drained_s.zip(phase.drained_s).map(|(a, b)| a.max(b));
    }
}

/// What a second tells: neither rows nor codes of errors are in it.
fn add_second(sum: &mut Outcome, second: &Second) {
    sum.measured_s = sum.measured_s.max((second.second + 1) as f64);
    sum.totals.transactions += second.transactions;
    sum.totals.queries += second.queries;
    sum.totals.retries += second.retries;
    sum.totals.bytes_sent += second.bytes_sent;
    sum.totals.bytes_received += second.bytes_received;
    sum.latency.merge(&second.latency);
    for (kind, latency) in &second.statements {
        sum.statements.entry(kind.clone()).or_default().merge(&StatementTotals {
            count: latency.count(),
            latency: latency.clone(),
            ..StatementTotals::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use lab_results::Latency;
    use lab_results::rung::Totals;

    use super::*;

    fn gathering(parts: u32) -> Gathering {
        Gathering::new((0..parts).map(|part| (format!("l{part}"), Share::nth(8, part, parts))))
    }

    fn second(number: i64, latencies: &[u64]) -> Second {
        let latency = recorded(latencies);
        Second {
            second: number,
            transactions: latencies.len() as u64,
            queries: 2 * latencies.len() as u64,
            bytes_sent: 10,
            statements: BTreeMap::from([("point_select".to_owned(), latency.clone())]),
            latency,
            ..Second::default()
        }
    }

    fn recorded(latencies: &[u64]) -> Latency {
        let mut latency = Latency::default();
        latencies.iter().for_each(|us| latency.record_us(*us));
        latency
    }

    fn finished(latencies: &[u64]) -> Outcome {
        Outcome {
            measured_s: 2.0,
            totals: Totals {
                transactions: latencies.len() as u64,
                queries: 2 * latencies.len() as u64,
                rows: 5,
                ..Totals::default()
            },
            statements: BTreeMap::from([(
                "point_select".to_owned(),
                StatementTotals {
                    count: latencies.len() as u64,
                    rows: 5,
                    latency: recorded(latencies),
                    ..StatementTotals::default()
                },
            )]),
            latency: recorded(latencies),
            client: ClientCost {
                cpu_s: 0.5,
                context_switches: 7,
                workers: 2,
            },
            ..nothing_yet()
        }
    }

    /// Latencies as a long-tailed system gives them; each driver's are of another size, so that a mean of percentiles is far off.
    fn samples(driver: u64) -> Vec<u64> {
        let mut state = driver + 1;
        (0..5000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
                (50.0 * (driver * driver + 1) as f64 / (1.0 - unit).powf(0.7)) as u64
            })
            .collect()
    }

    #[test]
    fn merged_percentiles_are_those_of_all_samples_in_one_histogram() {
        const DRIVERS: u32 = 5;
        let mut gathering = gathering(DRIVERS);
        let of_driver: Vec<Vec<u64>> = (0..DRIVERS).map(|driver| samples(driver.into())).collect();
        let mut told = Vec::new();
        // Drivers tell their seconds in any order among each other, over a line that is JSON.
        for (driver, samples) in of_driver.iter().enumerate().rev() {
            for (number, samples) in samples.chunks(2500).enumerate() {
                let line = serde_json::to_string(&second(number as i64, samples)).unwrap();
                told.extend(gathering.second(driver, &serde_json::from_str(&line).unwrap()));
            }
        }
        for (driver, samples) in of_driver.iter().enumerate() {
            let line = serde_json::to_string(&finished(samples)).unwrap();
            told.extend(gathering.finished(driver, serde_json::from_str(&line).unwrap()));
        }
        assert!(gathering.is_over());
        let (outcome, shares) = gathering.outcome(UnixMicros(1), &[0; DRIVERS as usize], false);

        let all = recorded(&of_driver.concat());
        let mut means = 0.0;
        for quantile in [0.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0] {
            assert_eq!(
                outcome.latency.quantile_us(quantile),
                all.quantile_us(quantile),
                "{quantile}"
            );
            let of_kind = &outcome.statements["point_select"].latency;
            assert_eq!(of_kind.quantile_us(quantile), all.quantile_us(quantile), "{quantile}");
        }
        for samples in &of_driver {
            means += recorded(samples).quantile_us(0.95).unwrap() as f64 / f64::from(DRIVERS);
        }
        let merged = all.quantile_us(0.95).unwrap() as f64;
        assert!(
            (means / merged - 1.0).abs() > 0.1,
            "a mean of percentiles would pass: {means} {merged}"
        );

        assert_eq!(outcome.latency, all);
        for (number, whole) in told.iter().enumerate() {
            let of_second: Vec<u64> = of_driver
                .iter()
                .flat_map(|samples| samples.chunks(2500).nth(number).unwrap().to_vec())
                .collect();
            assert_eq!(whole.second, number as i64);
            assert_eq!(whole.latency, recorded(&of_second));
            assert_eq!(whole.statements["point_select"], recorded(&of_second));
        }
        assert_eq!(told, outcome.seconds);
        assert_eq!(shares.len(), DRIVERS as usize);
    }

    #[test]
    fn the_whole_is_the_sum_of_its_parts() {
        let mut gathering = gathering(3);
        for driver in 0..3 {
            let mut finished = finished(&samples(driver as u64)[..100 * (driver + 1)]);
            finished.totals.backlog = 2;
            finished.errors = vec![ErrorCount {
                code: 1213,
                sqlstate: "40001".into(),
                message: format!("seen by {driver}"),
                statement: "commit".into(),
                count: 1 + driver as u64,
            }];
            gathering.finished(driver, finished);
        }
        let (outcome, shares) = gathering.outcome(UnixMicros(1), &[0; 3], false);
        assert_eq!(outcome.totals.transactions, 600);
        assert_eq!(shares.iter().map(|share| share.transactions).sum::<u64>(), 600);
        assert_eq!((outcome.totals.rows, outcome.totals.backlog), (15, 6));
        assert_eq!(outcome.latency.count(), 600);
        assert_eq!(
            (
                outcome.client.cpu_s,
                outcome.client.context_switches,
                outcome.client.workers
            ),
            (1.5, 21, 6)
        );
        assert_eq!(shares.iter().map(|share| share.threads).sum::<u32>(), 8);
        assert_eq!(outcome.errors.len(), 1);
        assert_eq!(
            (outcome.errors[0].count, outcome.errors[0].message.as_str()),
            (6, "seen by 0")
        );
        assert_eq!(outcome.measured_s, 2.0);
    }

    #[test]
    fn phases_and_idle_connections_are_added_too() {
        use lab_results::rung::IdleConnections;
        let mut gathering = gathering(2);
        for (driver, drained_s) in [(0, Some(1.0)), (1, Some(2.5))] {
            let mut finished = finished(&[10]);
            finished.idle = Some(IdleConnections {
                opened: 5,
                kept: 4,
                prepared_statements: 9,
            });
            let phase = |due, drained_s| PhaseResult {
                due,
                backlog: 3,
                drained_s,
                seconds: 4.0,
                latency: recorded(&[due]),
                ..PhaseResult::default()
            };
            finished.phases = vec![phase(100, drained_s), phase(50, drained_s.filter(|_| driver == 0))];
            gathering.finished(driver, finished);
        }
        let (outcome, _) = gathering.outcome(UnixMicros(1), &[0, 0], false);
        let idle = outcome.idle.unwrap();
        assert_eq!((idle.opened, idle.kept, idle.prepared_statements), (10, 8, 9));
        let [first, second] = &outcome.phases[..] else { panic!() };
        assert_eq!((first.due, first.backlog, first.drained_s), (200, 6, Some(2.5)));
        assert_eq!(
            (second.due, second.drained_s),
            (100, None),
            "one of them waited to the end"
        );
        assert_eq!(first.latency, recorded(&[100, 100]));
    }

    #[test]
    fn a_second_waits_for_those_at_work_and_for_no_others() {
        let mut gathering = gathering(3);
        let numbers = |whole: Vec<Second>| whole.iter().map(|second| second.second).collect::<Vec<_>>();
        assert!(gathering.second(0, &second(-1, &[1])).is_empty());
        assert!(gathering.second(0, &second(0, &[1])).is_empty());
        assert!(gathering.second(1, &second(-1, &[1])).is_empty());
        assert_eq!(numbers(gathering.second(2, &second(-1, &[1]))), [-1]);
        assert!(gathering.second(2, &second(0, &[1])).is_empty());
        // Told twice: counted once.
        assert!(gathering.second(2, &second(0, &[1, 1, 1])).is_empty());
        let whole = gathering.lost(1, "gone");
        assert_eq!((whole[0].second, whole[0].transactions), (0, 2));
        assert!(gathering.second(1, &second(0, &[1])).is_empty(), "it was given up");
    }

    #[test]
    fn a_lost_driver_fails_the_rung_and_its_seconds_are_kept() {
        let mut gathering = gathering(2);
        gathering.second(0, &second(-1, &[9]));
        gathering.second(0, &second(0, &[5, 6]));
        gathering.lost(0, "the connection ended");
        assert_eq!(gathering.failure(), Some("load node l0: the connection ended"));
        assert!(!gathering.is_over());
        gathering.finished(1, finished(&[7]));
        let (outcome, shares) = gathering.outcome(UnixMicros(1), &[0, 0], false);
        assert!(outcome.failure.unwrap().contains("l0"));
        assert_eq!(outcome.totals.transactions, 3);
        assert_eq!(outcome.latency, recorded(&[5, 6, 7]), "the warm-up is not in it");
        assert_eq!([shares[0].transactions, shares[1].transactions], [2, 1]);
    }

    #[test]
    fn events_are_told_by_our_clock_and_by_whom() {
        let mut gathering = gathering(1);
        let mut finished = finished(&[7]);
        finished.events = vec![Event {
            at: UnixMicros(1_000),
            what: "a: connected again".into(),
        }];
        gathering.finished(0, finished);
        let (outcome, _) = gathering.outcome(UnixMicros(1), &[400], false);
        assert_eq!(outcome.events[0].at, UnixMicros(600));
        assert_eq!(outcome.events[0].what, "l0: a: connected again");
    }
}
