//! Latencies as HDR histograms (microseconds, three digits, 1 µs to 1 hour) that merge without loss.
//!
//! In files: the sparse list of (bucket's highest value, count), which any language can read and add up.

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const HIGHEST_US: u64 = 3_600_000_000;
/// Space is taken up to here; a greater value makes the histogram grow. Most seconds never see one.
const FIRST_HIGHEST_US: u64 = 4_000;
const DIGITS: u8 = 3;

/// A distribution of latencies in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        let mut histogram =
            Histogram::new_with_bounds(1, FIRST_HIGHEST_US, DIGITS).expect("the bounds are constants that fit");
        histogram.auto(true);
        Latency(histogram)
    }
}

impl Latency {
    /// Values below 1 µs count as 1 µs, values above an hour as an hour.
    pub fn record_us(&mut self, value: u64) {
        self.record_us_times(value, 1);
    }

    /// As so many of [`Latency::record_us`].
    pub fn record_us_times(&mut self, value: u64, times: u64) {
        self.0
            .record_n(value.clamp(1, HIGHEST_US), times)
            .expect("a histogram grows up to an hour");
    }

    pub fn merge(&mut self, other: &Latency) {
        self.0.add(&other.0).expect("a histogram grows up to an hour");
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `quantile` in 0..=1, so 0.95 is p95; `None` while nothing was recorded.
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.value_at_quantile(quantile).min(self.0.max()))
    }

    pub fn min_us(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.min())
    }

    pub fn max_us(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.0.max())
    }

    pub fn mean_us(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.0.mean())
    }

    /// Latencies at or below `us`, for curves and shares.
    pub fn count_up_to_us(&self, us: u64) -> u64 {
        self.0.count_between(0, us.min(HIGHEST_US))
    }

    /// Highest value of each bucket that holds something, with its count, in rising order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
    }

    pub fn clear(&mut self) {
        self.0.reset();
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets())
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut latency = Latency::default();
        for (value, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            latency.record_us_times(value, count);
        }
        Ok(latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_back_what_was_recorded() {
        let mut latency = Latency::default();
        for us in [0, 1, 17, 950, 12_345, 12_345, 9_999_999_999] {
            latency.record_us(us);
        }
        let text = serde_json::to_string(&latency).unwrap();
        let back: Latency = serde_json::from_str(&text).unwrap();
        assert_eq!(back.count(), 7);
        for quantile in [0.1, 0.5, 0.95, 1.0] {
            assert_eq!(back.quantile_us(quantile), latency.quantile_us(quantile));
        }
    }

    #[test]
    fn merged_is_the_whole_not_the_mean() {
        let (mut fast, mut slow) = (Latency::default(), Latency::default());
        (0..99).for_each(|_| fast.record_us(100));
        slow.record_us(10_000);
        fast.merge(&slow);
        assert_eq!(fast.quantile_us(0.5), Some(100));
        assert!(fast.quantile_us(1.0) >= Some(10_000));
    }

    #[test]
    fn an_empty_distribution_has_no_percentile() {
        assert_eq!(Latency::default().quantile_us(0.99), None);
    }
}
