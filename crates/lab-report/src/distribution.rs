//! A latency distribution as the files hold it: the buckets that have something in them.
//!
//! A dense histogram takes 190 KB, and a series has one per rung, per statement kind and per second; reports need
//! only percentiles of sums. Buckets have the same edges everywhere, so adding counts loses nothing.

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
                kept.1 += next.1;
            }
            same
        });
        Distribution(all)
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|&(_, count)| count).sum()
    }

    /// The smallest bucket at or below which `quantile` (0..=1) of all values lie, in microseconds.
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        let rank = ((quantile * self.count() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for &(us, count) in &self.0 {
            seen += count;
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

#[cfg(test)]
mod tests {
    use super::*;

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
