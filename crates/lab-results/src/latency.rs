//! Latencies as HDR histograms (microseconds, three digits, 1 µs to 1 hour) that merge without loss.
//!
//! In files: the sparse list of (bucket's highest value, count), which any language can read and add up.

use std::borrow::Cow;

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const HIGHEST_US: u64 = 3_600_000_000;
/// Space is taken up to here; a greater value makes the histogram grow. Most seconds never see one.
const FIRST_HIGHEST_US: u64 = 4_000;
const DIGITS: u8 = 3;
const COARSE_DIGITS: u8 = 2;

/// A distribution of latencies in microseconds.
///
/// While it is recorded into, it is a histogram of some 25 KB; at rest (out of a file, or [`Latency::compacted`]) only the buckets that
/// hold something are kept: an hour's seconds of a dozen statements fit in memory.
#[derive(Debug, Clone)]
pub struct Latency(Form);

#[derive(Debug, Clone)]
enum Form {
    Dense(Histogram<u64>),
    /// `(highest value of the bucket, count)` in rising order.
    Sparse(Box<[(u64, u64)]>),
}

impl Default for Latency {
    fn default() -> Self {
        Latency(Form::Dense(empty()))
    }
}

fn empty() -> Histogram<u64> {
    let mut histogram =
        Histogram::new_with_bounds(1, FIRST_HIGHEST_US, DIGITS).expect("the bounds are constants that fit");
    histogram.auto(true);
    histogram
}

fn record(histogram: &mut Histogram<u64>, value_us: u64, times: u64) {
    histogram
        .record_n(value_us.clamp(1, HIGHEST_US), times)
        .expect("a histogram grows up to an hour");
}

impl PartialEq for Latency {
    fn eq(&self, other: &Latency) -> bool {
        self.buckets().eq(other.buckets())
    }
}

impl Latency {
    /// Values below 1 µs count as 1 µs, values above an hour as an hour.
    pub fn record_us(&mut self, value: u64) {
        self.record_us_times(value, 1);
    }

    /// As so many of [`Latency::record_us`].
    pub fn record_us_times(&mut self, value: u64, times: u64) {
        record(self.dense_mut(), value, times);
    }

    pub fn merge(&mut self, other: &Latency) {
        let histogram = self.dense_mut();
        match &other.0 {
            Form::Dense(other) => histogram.add(other).expect("a histogram grows up to an hour"),
            Form::Sparse(buckets) => buckets
                .iter()
                .for_each(|(value, count)| record(histogram, *value, *count)),
        }
    }

    /// The same in the little space that it takes at rest.
    pub fn compacted(&self) -> Latency {
        Latency(Form::Sparse(self.buckets().collect()))
    }

    /// At rest and with two digits: an eighth of the buckets, whose edges are some of the finer ones', so that it merges with
    /// them.
    pub fn coarse(&self) -> Latency {
        let edges =
            Histogram::<u64>::new_with_bounds(1, HIGHEST_US, COARSE_DIGITS).expect("the bounds are constants that fit");
        let mut buckets: Vec<(u64, u64)> = Vec::new();
        for (value, count) in self.buckets() {
            let edge = edges.highest_equivalent(value);
            match buckets.last_mut() {
                Some((last, sum)) if *last == edge => *sum += count,
                _ => buckets.push((edge, count)),
            }
        }
        Latency(Form::Sparse(buckets.into()))
    }

    pub fn count(&self) -> u64 {
        match &self.0 {
            Form::Dense(histogram) => histogram.len(),
            Form::Sparse(buckets) => buckets.iter().map(|(_, count)| count).sum(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// `quantile` in 0..=1, so 0.95 is p95; `None` while nothing was recorded.
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        let histogram = self.dense();
        (!self.is_empty()).then(|| histogram.value_at_quantile(quantile).min(histogram.max()))
    }

    pub fn min_us(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.dense().min())
    }

    pub fn max_us(&self) -> Option<u64> {
        (!self.is_empty()).then(|| self.dense().max())
    }

    pub fn mean_us(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.dense().mean())
    }

    /// Latencies at or below `us`, for curves and shares.
    pub fn count_up_to_us(&self, us: u64) -> u64 {
        self.dense().count_between(0, us.min(HIGHEST_US))
    }

    /// Highest value of each bucket that holds something, with its count, in rising order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let (dense, sparse) = match &self.0 {
            Form::Dense(histogram) => (Some(histogram), None),
            Form::Sparse(buckets) => (None, Some(buckets)),
        };
        let dense = dense.into_iter().flat_map(|histogram| {
            histogram
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
        });
        dense.chain(sparse.into_iter().flat_map(|buckets| buckets.iter().copied()))
    }

    pub fn clear(&mut self) {
        self.dense_mut().reset();
    }

    fn dense(&self) -> Cow<'_, Histogram<u64>> {
        match &self.0 {
            Form::Dense(histogram) => Cow::Borrowed(histogram),
            Form::Sparse(buckets) => {
                let mut histogram = empty();
                buckets
                    .iter()
                    .for_each(|(value, count)| record(&mut histogram, *value, *count));
                Cow::Owned(histogram)
            }
        }
    }

    fn dense_mut(&mut self) -> &mut Histogram<u64> {
        if let Form::Sparse(_) = self.0 {
            self.0 = Form::Dense(self.dense().into_owned());
        }
        match &mut self.0 {
            Form::Dense(histogram) => histogram,
            Form::Sparse(_) => unreachable!("it was made dense above"),
        }
    }
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets())
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let buckets = Vec::<(u64, u64)>::deserialize(deserializer)?;
        // Whoever wrote the file: what is kept are our own buckets, in order.
        let mut histogram = empty();
        buckets
            .iter()
            .for_each(|(value, count)| record(&mut histogram, *value, *count));
        Ok(Latency(Form::Dense(histogram)).compacted())
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
    fn at_rest_it_says_the_same_and_can_be_gone_on_with() {
        let mut latency = Latency::default();
        (1..5000).for_each(|us| latency.record_us(us * us));
        let mut rest = latency.compacted();
        assert_eq!(rest, latency);
        for quantile in [0.0, 0.5, 0.99, 1.0] {
            assert_eq!(rest.quantile_us(quantile), latency.quantile_us(quantile));
        }
        assert_eq!(rest.count_up_to_us(10_000), latency.count_up_to_us(10_000));
        rest.record_us(7);
        assert_eq!(rest.count(), latency.count() + 1);
        latency.merge(&rest.compacted());
        assert_eq!(latency.count(), 2 * 4999 + 1);
    }

    #[test]
    fn coarse_is_smaller_and_its_edges_are_the_finer_ones() {
        let mut latency = Latency::default();
        (1..20_000).for_each(|step| latency.record_us(step * 37 % 90_000 + 100));
        let coarse = latency.coarse();
        assert_eq!(coarse.count(), latency.count());
        assert!(coarse.buckets().count() * 4 < latency.buckets().count());
        for quantile in [0.01, 0.5, 0.95, 0.999] {
            let (fine, rough) = (
                latency.quantile_us(quantile).unwrap(),
                coarse.quantile_us(quantile).unwrap(),
            );
            assert!(
                fine <= rough && rough as f64 <= fine as f64 * 1.01,
                "{quantile}: {fine} {rough}"
            );
        }
        let text = serde_json::to_string(&coarse).unwrap();
        let back: Latency = serde_json::from_str(&text).unwrap();
        assert_eq!(back, coarse, "a file gives the same edges back");
        let mut merged = latency.clone();
        merged.merge(&coarse);
        assert_eq!(merged.count(), 2 * latency.count());
    }

    #[test]
    fn an_empty_distribution_has_no_percentile() {
        assert_eq!(Latency::default().quantile_us(0.99), None);
    }
}
