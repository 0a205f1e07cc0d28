//! The parts of a series, one after the other: ladder, open loop, search, soak.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::Result;
use lab_results::Rung;
use lab_results::run::Load;
use lab_results::rung::SOAK_REPEAT;

use super::Bench;
use super::measure::{Asked, tps};
use crate::plan::{Driver, Ladder, Order, Soak};
use crate::schedule::{self, Extent, Slot};

/// Phases other than the ladder take its times, or these.
const WARMUP: Duration = Duration::from_secs(5);
const MEASURE: Duration = Duration::from_secs(30);
const COOLDOWN: Duration = Duration::from_secs(2);

/// Warm-up, measured interval, cool-down.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub warmup: Duration,
    pub measure: Duration,
    pub cooldown: Duration,
}

impl Bench {
    pub(super) fn phases(&mut self) -> Result<()> {
        if let Some(ladder) = self.plan.ladder.clone() {
            self.ladder(&ladder)?;
        }
        self.open_loop()?;
        self.profiles()?;
        self.search()?;
        if let Some(soak) = self.plan.soak.clone() {
            self.soak(&soak)?;
        }
        Ok(())
    }

    pub(super) fn times(&self) -> Times {
        match &self.plan.ladder {
            Some(ladder) => Times {
                warmup: ladder.warmup.0,
                measure: ladder.measure.0,
                cooldown: ladder.cooldown.0,
            },
            None => Times {
                warmup: WARMUP,
                measure: MEASURE,
                cooldown: COOLDOWN,
            },
        }
    }

    fn ladder(&mut self, ladder: &Ladder) -> Result<()> {
        let extent = Extent {
            targets: self.subjects.len(),
            workloads: self.workloads.len(),
            loads: ladder.threads_per_server.len(),
        };
        for threads in &ladder.threads_per_server {
            self.plan_load(self.loaded(0, *threads));
        }
        let slots = schedule::slots(ladder.order, extent, ladder.repeats);
        self.progress.planned += slots.len();
        let mut stopped = Stopped::default();
        for slot in slots {
            self.rung_of(ladder, slot, &mut stopped)?;
            if self.interrupted() {
                return Ok(());
            }
        }
        let most = ladder.repeats_max.unwrap_or(ladder.repeats);
        for repeat in ladder.repeats + 1..=most {
            let unsettled = self.unsettled(ladder);
            if unsettled.is_empty() {
                break;
            }
            let slots: Vec<Slot> = schedule::extra_round(ladder.order, extent, repeat)
                .into_iter()
                .filter(|slot| unsettled.contains(&(slot.workload, slot.load)))
                .collect();
            self.progress.planned += slots.len();
            for slot in slots {
                self.rung_of(ladder, slot, &mut stopped)?;
                if self.interrupted() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn rung_of(&mut self, ladder: &Ladder, slot: Slot, stopped: &mut Stopped) -> Result<()> {
        let asked = Asked {
            target: slot.target,
            workload: slot.workload,
            load: self.loaded(slot.target, ladder.threads_per_server[slot.load]),
            repeat: slot.repeat,
            warmup: ladder.warmup.0,
            measure: ladder.measure.0,
            cooldown: ladder.cooldown.0,
        };
        if let Some(why) = stopped.reason(slot) {
            let (what, why) = (self.words(&asked), why.to_owned());
            self.not_run(what, &why);
            return Ok(());
        }
        if let Some(rung) = self.measure(&asked)? {
            stopped.look(ladder, slot, &rung);
        }
        Ok(())
    }

    /// Workloads and rungs of which some target's repeats differ too much; all targets repeat them, so that all are alike.
    fn unsettled(&self, ladder: &Ladder) -> BTreeSet<(usize, usize)> {
        let mut rates: BTreeMap<(usize, usize, usize), Vec<f64>> = BTreeMap::new();
        for measured in self.measured.iter().filter(|measured| !measured.void) {
            let Load::Closed { threads_per_server, .. } = measured.load else {
                continue;
            };
            let load = ladder
                .threads_per_server
                .iter()
                .position(|threads| *threads == threads_per_server);
            if let Some(load) = load {
                let key = (measured.workload, load, measured.target);
                rates.entry(key).or_default().push(measured.tps);
            }
        }
        rates
            .into_iter()
            .filter(|(_, rates)| spread(rates).is_some_and(|spread| spread > ladder.spread))
            .map(|((workload, load, _), _)| (workload, load))
            .collect()
    }

    fn open_loop(&mut self) -> Result<()> {
        let Some(open) = self.plan.open_loop.clone() else {
            return Ok(());
        };
        let repeats = self.plan.ladder.as_ref().map_or(1, |ladder| ladder.repeats);
        let order = self.plan.ladder.as_ref().map_or(Order::Abba, |ladder| ladder.order);
        let extent = Extent {
            targets: self.subjects.len(),
            workloads: self.workloads.len(),
            loads: open.rates.len() + open.shares.len(),
        };
        let slots = schedule::slots(order, extent, repeats);
        self.progress.planned += slots.len();
        for slot in slots {
            if self.interrupted() {
                return Ok(());
            }
            let rate = match open.rates.get(slot.load) {
                Some(rate) => *rate,
                None => {
                    let share = open.shares[slot.load - open.rates.len()];
                    match self.best(slot.target, slot.workload) {
                        Some(best) => (best * share).max(1.0).round(),
                        None => {
                            let target = &self.subjects[slot.target].name;
                            let workload = &self.workloads[slot.workload].name;
                            let what = format!("{target} {workload} at {share} of the ladder's best");
                            self.not_run(what, "the ladder gave no rate to take a share of");
                            continue;
                        }
                    }
                }
            };
            let asked = self.asked_open(slot.target, slot.workload, rate, slot.repeat);
            self.measure(&asked)?;
        }
        Ok(())
    }

    pub(super) fn asked_open(&self, target: usize, workload: usize, rate_per_s: f64, repeat: u32) -> Asked {
        let open = self.plan.open_loop.as_ref();
        let threads = open.map_or(64, |open| open.threads_per_server);
        let servers = u32::try_from(self.subjects[target].servers().len()).unwrap_or(u32::MAX);
        let times = self.times();
        Asked {
            target,
            workload,
            load: Load::Open {
                rate_per_s,
                arrivals: open.map(|open| open.arrivals).unwrap_or_default().to_results(),
                threads_total: threads.saturating_mul(servers),
                profile: None,
            },
            repeat,
            warmup: times.warmup,
            measure: times.measure,
            cooldown: times.cooldown,
        }
    }

    /// Rates that vary: each profile as a whole is one rung.
    fn profiles(&mut self) -> Result<()> {
        let profiles = self.plan.profiles.clone();
        let repeats = self.plan.ladder.as_ref().map_or(1, |ladder| ladder.repeats);
        let order = self.plan.ladder.as_ref().map_or(Order::Abba, |ladder| ladder.order);
        let extent = Extent {
            targets: self.subjects.len(),
            workloads: self.workloads.len(),
            loads: profiles.len(),
        };
        let slots = schedule::slots(order, extent, repeats);
        self.progress.planned += slots.len();
        for slot in slots {
            if self.interrupted() {
                return Ok(());
            }
            let planned = &profiles[slot.load];
            if self.workloads[slot.workload].driver == Driver::Sysbench {
                let (target, workload) = (&self.subjects[slot.target].name, &self.workloads[slot.workload].name);
                let what = format!("{target} {workload} {}", planned.name);
                self.not_run(what, "sysbench has one rate for a whole run: leave `driver` out");
                continue;
            }
            let profile = planned.to_results();
            let servers = u32::try_from(self.subjects[slot.target].servers().len()).unwrap_or(u32::MAX);
            let asked = Asked {
                measure: Duration::from_secs_f64(profile.seconds()),
                load: Load::Open {
                    rate_per_s: profile.rate_per_s(),
                    arrivals: planned.arrivals.to_results(),
                    threads_total: planned.threads_per_server.saturating_mul(servers),
                    profile: Some(profile),
                },
                ..self.asked_open(slot.target, slot.workload, 1.0, slot.repeat)
            };
            self.plan_load(asked.load.clone());
            self.measure(&asked)?;
        }
        Ok(())
    }

    /// The highest median of the ladder, transactions per second.
    pub(super) fn best(&self, target: usize, workload: usize) -> Option<f64> {
        let mut rates: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let measured = self
            .measured
            .iter()
            .filter(|measured| measured.target == target && measured.workload == workload && !measured.void);
        for measured in measured {
            if let Load::Closed { threads_total, .. } = measured.load {
                rates.entry(threads_total).or_default().push(measured.tps);
            }
        }
        rates.into_values().filter_map(median).max_by(f64::total_cmp)
    }

    fn soak(&mut self, soak: &Soak) -> Result<()> {
        self.progress.planned += self.subjects.len() * self.workloads.len();
        for workload in 0..self.workloads.len() {
            for target in 0..self.subjects.len() {
                if self.interrupted() {
                    return Ok(());
                }
                let mut asked = match soak.rate {
                    Some(rate) => self.asked_open(target, workload, rate, 1),
                    None => Asked {
                        load: self.loaded(target, soak.threads_per_server),
                        ..self.asked_open(target, workload, 1.0, 1)
                    },
                };
                asked.measure = soak.measure.0;
                // A repeat of its own, so that nobody takes it for one of the ladder's short rungs.
                asked.repeat = SOAK_REPEAT;
                self.plan_load(asked.load.clone());
                self.measure(&asked)?;
            }
        }
        Ok(())
    }

    fn plan_load(&mut self, load: Load) {
        if !self.run.plan.loads.contains(&load) {
            self.run.plan.loads.push(load);
        }
    }
}

/// Which targets and workloads go no higher, and why.
#[derive(Debug, Default)]
struct Stopped {
    above: BTreeMap<(usize, usize), (usize, String)>,
    /// Transactions per second of the rung before, in the same repeat.
    before: BTreeMap<(usize, usize, u32), f64>,
}

impl Stopped {
    fn reason(&self, slot: Slot) -> Option<&str> {
        let (load, why) = self.above.get(&(slot.target, slot.workload))?;
        (slot.load > *load).then_some(why.as_str())
    }

    fn look(&mut self, ladder: &Ladder, slot: Slot, rung: &Rung) {
        let rate = tps(rung);
        let before = self.before.insert((slot.target, slot.workload, slot.repeat), rate);
        if rung.void.is_some() {
            return;
        }
        let stop = &ladder.stop;
        let errors: u64 = rung.errors.iter().map(|error| error.count).sum();
        let share = errors as f64 / (errors + rung.totals.transactions).max(1) as f64;
        let p95 = rung.latency.quantile_us(0.95);
        let why = if let (Some(limit), Some(p95)) = (stop.p95, p95)
            && u128::from(p95) > limit.0.as_micros()
        {
            format!("the rung below had p95 {} ms, above the plan's {limit}", p95 / 1000)
        } else if let Some(limit) = stop.errors
            && share > limit
        {
            format!("{:.1} % of the rung below met an error", 100.0 * share)
        } else if let (Some(gain), Some(before)) = (stop.gain, before)
            && rate < gain * before
        {
            format!("the rung below gave {rate:.0} tps after {before:.0}, less than {gain} times as much")
        } else {
            return;
        };
        let entry = self
            .above
            .entry((slot.target, slot.workload))
            .or_insert((slot.load, why.clone()));
        if slot.load < entry.0 {
            *entry = (slot.load, why);
        }
    }
}

/// Standard deviation over mean; `None` of fewer than two.
fn spread(rates: &[f64]) -> Option<f64> {
    if rates.len() < 2 {
        return None;
    }
    let count = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean > 0.0).then(|| variance.sqrt() / mean)
}

pub fn median(mut rates: Vec<f64>) -> Option<f64> {
    rates.sort_by(f64::total_cmp);
    let middle = rates.len() / 2;
    match rates.len() {
        0 => None,
        count if count % 2 == 1 => Some(rates[middle]),
        _ => Some((rates[middle - 1] + rates[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Span, Stop};

    fn rung(transactions: u64, errors: u64, p95_us: u64) -> Rung {
        let mut latency = lab_results::Latency::default();
        latency.record_us(p95_us);
        Rung {
            schema: 1,
            index: 1,
            target: "t".into(),
            workload: "w".into(),
            load: Load::Closed {
                threads_per_server: 1,
                threads_total: 1,
            },
            repeat: 1,
            started: lab_results::UnixMicros(0),
            measured_s: 1.0,
            totals: lab_results::rung::Totals {
                transactions,
                ..Default::default()
            },
            statements: BTreeMap::new(),
            latency,
            service_latency: None,
            errors: (errors > 0)
                .then(|| lab_results::rung::ErrorCount {
                    code: 1213,
                    sqlstate: "40001".into(),
                    message: String::new(),
                    statement: "commit".into(),
                    count: errors,
                })
                .into_iter()
                .collect(),
            costs: BTreeMap::new(),
            verdict: None,
            explanation: None,
            events: Vec::new(),
            phases: Vec::new(),
            idle: None,
            void: None,
            load_shares: Vec::new(),
            cluster: Vec::new(),
        }
    }

    fn ladder(stop: Stop) -> Ladder {
        Ladder {
            threads_per_server: vec![1, 2, 4],
            warmup: Span::seconds(1),
            measure: Span::seconds(1),
            cooldown: Span::seconds(0),
            repeats: 1,
            repeats_max: None,
            spread: 0.03,
            order: Order::Abba,
            stop,
        }
    }

    fn slot(load: usize) -> Slot {
        Slot {
            target: 0,
            workload: 0,
            load,
            repeat: 1,
        }
    }

    #[test]
    fn a_fall_stops_the_rungs_above_and_no_others() {
        let ladder = ladder(Stop {
            gain: Some(0.9),
            ..Stop::default()
        });
        let mut stopped = Stopped::default();
        stopped.look(&ladder, slot(0), &rung(1000, 0, 100));
        stopped.look(&ladder, slot(1), &rung(800, 0, 100));
        assert_eq!(stopped.reason(slot(1)), None);
        assert!(stopped.reason(slot(2)).unwrap().contains("800 tps after 1000"));
        assert_eq!(stopped.reason(Slot { target: 1, ..slot(2) }), None);
    }

    #[test]
    fn errors_and_latency_stop_too() {
        let mut stopped = Stopped::default();
        let by_errors = ladder(Stop {
            errors: Some(0.05),
            ..Stop::default()
        });
        stopped.look(&by_errors, slot(0), &rung(100, 5, 100));
        assert_eq!(stopped.reason(slot(1)), None, "5 of 105 is below 5 %");
        stopped.look(&by_errors, slot(0), &rung(100, 10, 100));
        assert!(stopped.reason(slot(1)).is_some());

        let mut stopped = Stopped::default();
        let by_latency = ladder(Stop {
            p95: Some(Span(Duration::from_millis(5))),
            ..Stop::default()
        });
        stopped.look(&by_latency, slot(0), &rung(100, 0, 5001));
        assert!(stopped.reason(slot(1)).unwrap().contains("5ms"));
    }

    #[test]
    fn spread_and_median_are_those_of_the_books() {
        assert_eq!(spread(&[5.0]), None);
        let found = spread(&[9.0, 10.0, 11.0]).unwrap();
        assert!((found - 0.1).abs() < 1e-12, "{found}");
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
