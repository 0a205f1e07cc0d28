//! What each target offers for its price: which of them no other beats in both.
//!
//! A target is *dominated* if another costs no more and gives at least as much (and is better in one of the two). The
//! others are the front: which of them to take depends on how much is needed.

use serde::Serialize;

use super::{Ladder, Point};
use crate::figure::{Figure, values};
use crate::series::Series;
use crate::stats::{self, Outcome};

/// One workload.
#[derive(Debug, Clone, Serialize)]
pub struct Market {
    pub workload: String,
    pub workload_index: usize,
    /// In the order of `run.json`.
    pub offers: Vec<Offer>,
}

/// One target that has a price.
#[derive(Debug, Clone, Serialize)]
pub struct Offer {
    pub target: String,
    pub target_index: usize,
    pub usd_per_hour: Figure,
    /// The best rate.
    pub tps: Figure,
    /// By price and best rate; empty on the front.
    pub dominated_by: Vec<Domination>,
    /// Absent if no measured load held the service level.
    pub at_slo: Option<SloOffer>,
}

/// What the highest rate within the service level costs, and its latency there.
#[derive(Debug, Clone, Serialize)]
pub struct SloOffer {
    pub usd_per_million_transactions: Figure,
    pub latency_ms: Figure,
    /// By these two.
    pub dominated_by: Vec<Domination>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Domination {
    pub by: String,
    pub by_index: usize,
    /// Whether the repeats show that the other's rate is higher; absent where latencies are compared.
    pub rate: Option<Outcome>,
}

/// Of every workload with two priced targets or more: one alone has nothing to be held against.
pub fn of(series: &Series, ladders: &[Ladder]) -> Vec<Market> {
    let mut markets = Vec::new();
    for (workload_index, workload) in series.run.workloads.iter().enumerate() {
        let priced: Vec<(&Ladder, &Point, &Figure)> = ladders
            .iter()
            .filter(|ladder| ladder.workload_index == workload_index)
            .filter_map(|ladder| Some((ladder, ladder.best_point()?, ladder.usd_per_hour.as_ref()?)))
            .collect();
        if priced.len() > 1 {
            markets.push(Market {
                workload: workload.name.clone(),
                workload_index,
                offers: offers(series.run.seed, &priced),
            });
        }
    }
    markets
}

fn offers(seed: u64, priced: &[(&Ladder, &Point, &Figure)]) -> Vec<Offer> {
    priced
        .iter()
        .map(|(ladder, point, usd)| {
            let by_rate = priced.iter().filter_map(|(other, best, price)| {
                let rates = (best.tps.middle.value, point.tps.middle.value);
                dominates((price.value, -rates.0), (usd.value, -rates.1)).then(|| Domination {
                    by: other.target.clone(),
                    by_index: other.target_index,
                    rate: stats::difference(&values(&point.tps.repeats), &values(&best.tps.repeats), seed)
                        .map(|difference| difference.outcome()),
                })
            });
            Offer {
                target: ladder.target.clone(),
                target_index: ladder.target_index,
                usd_per_hour: (*usd).clone(),
                tps: point.tps.middle.clone(),
                dominated_by: by_rate.collect(),
                at_slo: at_slo(ladder).map(|(usd, latency)| SloOffer {
                    dominated_by: priced
                        .iter()
                        .filter_map(|(other, ..)| {
                            let (cheaper, faster) = at_slo(other)?;
                            dominates((cheaper.value, faster.value), (usd.value, latency.value)).then(|| Domination {
                                by: other.target.clone(),
                                by_index: other.target_index,
                                rate: None,
                            })
                        })
                        .collect(),
                    usd_per_million_transactions: usd.clone(),
                    latency_ms: latency.clone(),
                }),
            }
        })
        .collect()
}

fn at_slo(ladder: &Ladder) -> Option<(&Figure, &Figure)> {
    let slo = ladder.slo.as_ref()?;
    Some((slo.usd_per_million_transactions.as_ref()?, slo.latency_ms.as_ref()?))
}

/// Less is better in both.
fn dominates(other: (f64, f64), own: (f64, f64)) -> bool {
    other.0 <= own.0 && other.1 <= own.1 && other != own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worse_in_both_is_dominated_and_equal_is_not() {
        assert!(dominates((1.0, 5.0), (2.0, 5.0)));
        assert!(dominates((1.0, 4.0), (1.0, 5.0)));
        assert!(
            !dominates((1.0, 5.0), (1.0, 5.0)),
            "nobody dominates itself or its like"
        );
        assert!(
            !dominates((1.0, 6.0), (2.0, 5.0)),
            "cheaper and slower is another choice"
        );
    }
}
