//! The highest rate that holds the service level, by bisection on the open loop's rate.
//!
//! Latency rises with the rate, steeply near saturation, so halving the interval between a rate that holds and one that does
//! not ends at the edge. Noise can make a rate near the edge fall on either side: the answer is as sharp as `precision` says,
//! never sharper.

use anyhow::Result;
use lab_results::Rung;
use lab_results::run::SloRate;

use super::Bench;
use crate::plan::Slo;

/// More steps than this are not needed for any allowed precision.
const STEPS_MAX: u32 = 16;
/// The search begins at this share of the upper end.
const FIRST_SHARE: f64 = 0.5;

/// Where the edge can still be. Pure: rates in, the next rate out.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    /// The highest rate that held; 0 at first.
    held: f64,
    /// The lowest rate that did not; `None` until one was found.
    broken: Option<f64>,
    most: f64,
}

impl Interval {
    fn new(most: f64) -> Interval {
        Interval {
            held: 0.0,
            broken: None,
            most,
        }
    }

    /// The next rate to try, or `None` at the end.
    fn next(&self, precision: f64) -> Option<f64> {
        match self.broken {
            None if self.held >= self.most => None,
            None if self.held == 0.0 => Some((self.most * FIRST_SHARE).max(1.0).round()),
            None => {
                // Straight to the upper end before halving towards it: it may hold.
                Some(self.most)
            }
            Some(broken) if broken - self.held <= precision * broken => None,
            Some(broken) if broken < self.most / 1000.0 => None,
            // Whole transactions per second are as fine as anybody asks.
            Some(broken) if broken - self.held <= 1.0 => None,
            Some(broken) => Some(((self.held + broken) / 2.0).round()),
        }
    }

    fn tell(&mut self, rate: f64, held: bool) {
        if held {
            self.held = self.held.max(rate);
        } else {
            self.broken = Some(self.broken.map_or(rate, |broken| broken.min(rate)));
        }
    }
}

impl Bench {
    pub(super) fn search(&mut self) -> Result<()> {
        let Some(slo) = self.plan.slo.clone().filter(|slo| slo.search) else {
            return Ok(());
        };
        for workload in 0..self.workloads.len() {
            for target in 0..self.subjects.len() {
                if self.interrupted() {
                    return Ok(());
                }
                self.search_one(&slo, target, workload)?;
            }
        }
        Ok(())
    }

    fn search_one(&mut self, slo: &Slo, target: usize, workload: usize) -> Result<()> {
        let names = format!("{} {}", self.subjects[target].name, self.workloads[workload].name);
        let Some(most) = slo.rate_max.or_else(|| self.best(target, workload)) else {
            self.not_run(
                format!("{names}: search for the rate of the service level"),
                "the ladder gave no rate to start from, and the plan has no `rate_max`",
            );
            return Ok(());
        };
        let mut interval = Interval::new(most);
        let mut latency_ms = None;
        for step in 1..=STEPS_MAX {
            let Some(rate) = interval.next(slo.precision) else {
                break;
            };
            self.progress.planned += 1;
            let asked = self.asked_open(target, workload, rate, step);
            let Some(rung) = self.measure(&asked)? else {
                return Ok(());
            };
            if self.interrupted() {
                return Ok(());
            }
            if let Some(why) = &rung.void {
                // Neither held nor broken: what is above this rate is not known from here.
                self.not_run(
                    format!("{names}: search for the service level's rate from {rate:.0}/s up"),
                    why,
                );
                break;
            }
            let held = holds(slo, &rung);
            if held {
                latency_ms = quantile_ms(slo, &rung);
            }
            interval.tell(rate, held);
        }
        self.note(&match interval.held {
            0.0 => format!("{names}: no rate was found that holds the service level"),
            rate => format!(
                "{names}: {rate:.0} transactions/s hold p{} ≤ {}",
                slo.quantile * 100.0,
                slo.latency
            ),
        });
        self.run.slo_rates.push(SloRate {
            target: self.subjects[target].name.clone(),
            workload: self.workloads[workload].name.clone(),
            rate_per_s: interval.held,
            latency_ms,
            broken_at_per_s: interval.broken,
        });
        Ok(())
    }
}

fn quantile_ms(slo: &Slo, rung: &Rung) -> Option<f64> {
    Some(rung.latency.quantile_us(slo.quantile)? as f64 / 1000.0)
}

/// Latency within the limit, and nobody left in the queue for longer than it.
fn holds(slo: &Slo, rung: &Rung) -> bool {
    let within = quantile_ms(slo, rung).is_some_and(|ms| ms <= slo.latency.as_secs_f64() * 1000.0);
    let rate = rung.totals.transactions as f64 / rung.measured_s.max(1e-9);
    let queue_limit = (rate * slo.latency.as_secs_f64()).max(1.0);
    within && rung.totals.backlog as f64 <= queue_limit
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the search against a server whose edge is known.
    fn found(edge: f64, most: f64, precision: f64) -> (Interval, u32) {
        let mut interval = Interval::new(most);
        let mut steps = 0;
        while let Some(rate) = interval.next(precision) {
            interval.tell(rate, rate <= edge);
            steps += 1;
            assert!(steps <= STEPS_MAX, "{interval:?}");
        }
        (interval, steps)
    }

    #[test]
    fn the_edge_is_found_within_the_precision() {
        for edge in [90.0, 333.0, 499.0, 501.0, 760.0, 990.0] {
            let (interval, _) = found(edge, 1000.0, 0.02);
            let broken = interval.broken.unwrap();
            assert!(interval.held <= edge && edge < broken, "{edge}: {interval:?}");
            assert!((broken - interval.held) / broken <= 0.02, "{edge}: {interval:?}");
        }
    }

    #[test]
    fn what_always_holds_ends_at_the_upper_end() {
        let (interval, steps) = found(2000.0, 1000.0, 0.05);
        assert_eq!((interval.held, interval.broken, steps), (1000.0, None, 2));
    }

    #[test]
    fn what_never_holds_ends_without_a_rate() {
        let (interval, _) = found(0.0, 1000.0, 0.05);
        assert_eq!(interval.held, 0.0);
    }
}
