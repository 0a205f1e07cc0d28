//! A latency distribution as the files hold it: the buckets that have something in them.
//!
//! A dense histogram takes 190 KB, and a series has one per rung, per statement kind and per second; reports need
//! only percentiles of sums. Buckets have the same edges everywhere, so adding counts loses nothing. Counts come from files,
//! so sums saturate.

use lab_results::Latency;
use serde::Deserialize;

/// Counts by the highest microsecond of their bucket, rising.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Distribution(Vec<(u64, u64)>);

impl From<&Latency> for Distribution {
    fn from(latency: &Latency) -> Self {
        Distribution(latency.buckets().collect())
    }
}

impl Distribution {
    /// The whole of several, each taken as often as it is given.
    pub fn merged<'a>(parts: impl IntoIterator<Item = &'a Distribution>) -> Distribution {
        let mut all: Vec<(u64, u64)> = parts.into_iter().flat_map(|part| part.0.iter().copied()).collect();
        all.sort_unstable_by_key(|&(us, _)| us);
        all.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.saturating_add(next.1);
            }
            same
        });
        Distribution(all)
    }

    pub fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, &(_, count)| sum.saturating_add(count))
    }

    /// Highest microsecond of each bucket, rising, with its count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// The lowest and the highest bucket that hold something.
    pub fn ends_us(&self) -> Option<(u64, u64)> {
        let filled = || self.0.iter().filter(|(_, count)| *count > 0).map(|(us, _)| *us);
        Some((filled().min()?, filled().max()?))
    }

    /// The smallest bucket at or below which `quantile` (0..=1) of all values lie, in microseconds.
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        let rank = ((quantile * self.count() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for &(us, count) in &self.0 {
            seen = u64::saturating_add(seen, count);
            if seen >= rank {
                return Some(us);
            }
        }
        self.0.last().map(|&(us, _)| us)
    }

    /// Of the buckets' highest values: at most a thousandth above the true mean.
    pub fn mean_us(&self) -> Option<f64> {
        let count = self.count();
        let sum: f64 = self.0.iter().map(|&(us, count)| us as f64 * count as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }
}

/// Several distributions over one list of buckets, for resampling: a draw is read without being merged.
#[derive(Debug)]
pub struct Resampler {
    edges: Vec<u64>,
    /// By part, a count per edge.
    counts: Vec<Vec<u64>>,
}

impl Resampler {
    pub fn new(parts: &[&Distribution]) -> Self {
        let mut edges: Vec<u64> = parts.iter().flat_map(|part| part.0.iter().map(|&(us, _)| us)).collect();
        edges.sort_unstable();
        edges.dedup();
        let counts = parts
            .iter()
            .map(|part| {
                let mut buckets = part.0.iter().peekable();
                edges
                    .iter()
                    .map(|edge| buckets.next_if(|(us, _)| us == edge).map_or(0, |&(_, count)| count))
                    .collect()
            })
            .collect();
        Resampler { edges, counts }
    }

    /// Of the parts drawn, each as often as it was; `None` if they hold nothing.
    pub fn quantile_us(&self, quantile: f64, draw: &[usize]) -> Option<u64> {
        let mut weights = vec![0_u64; self.counts.len()];
        draw.iter().for_each(|&index| weights[index] += 1);
        let drawn: Vec<(u64, &[u64])> = weights
            .iter()
            .zip(&self.counts)
            .filter(|(weight, _)| **weight > 0)
            .map(|(weight, counts)| (*weight, counts.as_slice()))
            .collect();
        let add = |sum: u64, more: u64| sum.saturating_add(more);
        let at = |edge: usize| {
            let weighed = drawn.iter().map(|(weight, counts)| weight.saturating_mul(counts[edge]));
            weighed.fold(0, add)
        };
        let total = (0..self.edges.len()).map(at).fold(0, add);
        let rank = ((quantile * total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for edge in 0..self.edges.len() {
            seen = add(seen, at(edge));
            if seen >= rank {
                return Some(self.edges[edge]);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_is_what_merging_it_would_give() {
        let of = |seed: u64| {
            let mut latency = Latency::default();
            (1..400).for_each(|step| latency.record_us(step * seed % 5_003 + seed));
            Distribution::from(&latency)
        };
        let parts = [of(7), of(131), of(977)];
        let refs: Vec<&Distribution> = parts.iter().collect();
        let resampler = Resampler::new(&refs);
        for draw in [vec![0, 1, 2], vec![0, 0, 0], vec![1, 1, 2], vec![2]] {
            let merged = Distribution::merged(draw.iter().map(|&index| &parts[index]));
            for quantile in [0.0, 0.5, 0.95, 0.999, 1.0] {
                assert_eq!(
                    resampler.quantile_us(quantile, &draw),
                    merged.quantile_us(quantile),
                    "{draw:?} {quantile}"
                );
            }
        }
        assert_eq!(Resampler::new(&[]).quantile_us(0.5, &[]), None);
    }

    #[test]
    fn percentiles_are_the_histograms_own() {
        let mut latency = Latency::default();
        for step in 1..5_000_u64 {
            latency.record_us(step * step % 977 + step);
        }
        let sparse = Distribution::from(&latency);
        for permille in 1..=1000 {
            let quantile = f64::from(permille) / 1000.0;
            assert_eq!(
                sparse.quantile_us(quantile),
                latency.quantile_us(quantile),
                "at {quantile}"
            );
        }
        assert_eq!(sparse.count(), latency.count());
    }

    #[test]
    fn merging_adds_counts_and_keeps_the_order() {
        let (mut fast, mut slow) = (Latency::default(), Latency::default());
        (0..90).for_each(|_| fast.record_us(100));
        (0..10).for_each(|_| slow.record_us(9_000));
        slow.record_us(100);
        let all = Distribution::merged([&Distribution::from(&slow), &Distribution::from(&fast)]);
        assert_eq!(all.count(), 101);
        assert_eq!(all.quantile_us(0.9), Some(100));
        assert!(all.quantile_us(0.95) >= Some(9_000));
        assert_eq!(all.quantile_us(0.0), Some(100));
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!(Distribution::default().quantile_us(0.5), None);
        assert_eq!(Distribution::default().mean_us(), None);
    }
}
