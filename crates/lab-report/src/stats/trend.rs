//! What the seconds of a rung say: whether it was steady, and whether it drifted.
//!
//! The slope is Theil and Sen's (the median of all pairwise slopes: a stall of a few seconds does not bend it), its
//! significance Mann and Kendall's. Long series are folded into at most [`BLOCKS`] blocks first.

use super::median;

/// At most so many points go into the pairwise slopes.
pub const BLOCKS: usize = 360;
/// |z| of Mann and Kendall's test beyond which a trend is believed: p < 0.01.
pub const BELIEVED: f64 = 2.576;
/// A believed trend over the interval that makes a rung unsteady, as a share of its median rate.
pub const UNSTEADY: f64 = 0.05;

/// The trend of a rate over an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Change over the whole interval by the slope, as a share of the median.
    pub change: f64,
    /// The same slope per hour, as a share of the median.
    pub per_hour: f64,
    /// Mann and Kendall's z.
    pub z: f64,
}

impl Trend {
    pub fn is_believed(&self) -> bool {
        self.z.abs() > BELIEVED
    }

    pub fn is_steady(&self) -> bool {
        !self.is_believed() || self.change.abs() <= UNSTEADY
    }
}

/// Of values one second apart; `None` for fewer than eight or a median of 0.
pub fn trend(values: &[f64]) -> Option<Trend> {
    if values.len() < 8 {
        return None;
    }
    let width = values.len().div_ceil(BLOCKS);
    let blocks: Vec<f64> = values
        .chunks_exact(width)
        .map(|block| block.iter().sum::<f64>() / width as f64)
        .collect();
    let middle = median(&blocks)?;
    if middle == 0.0 {
        return None;
    }
    let mut slopes = Vec::with_capacity(blocks.len() * (blocks.len() - 1) / 2);
    let mut score = 0.0_f64;
    for (later, value) in blocks.iter().enumerate() {
        for (earlier, before) in blocks[..later].iter().enumerate() {
            slopes.push((value - before) / ((later - earlier) * width) as f64);
            score += match value.total_cmp(before) {
                std::cmp::Ordering::Less => -1.0,
                std::cmp::Ordering::Equal => 0.0,
                std::cmp::Ordering::Greater => 1.0,
            };
        }
    }
    let slope = median(&slopes)?;
    let n = blocks.len() as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let z = if score == 0.0 {
        0.0
    } else {
        (score - score.signum()) / deviation
    };
    Some(Trend {
        change: slope * values.len() as f64 / middle,
        per_hour: slope * 3_600.0 / middle,
        z,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Generator;

    fn noisy(count: usize, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut generator = Generator::new(9);
        (0..count).map(|at| level(at) + generator.below(20) as f64).collect()
    }

    #[test]
    fn noise_alone_is_steady() {
        let trend = trend(&noisy(60, |_| 1_000.0)).unwrap();
        assert!(!trend.is_believed(), "{trend:?}");
        assert!(trend.is_steady());
    }

    #[test]
    fn a_falling_rate_is_found_with_its_size() {
        let trend = trend(&noisy(60, |at| 1_000.0 - 3.0 * at as f64)).unwrap();
        assert!(trend.is_believed() && !trend.is_steady());
        assert!((-0.22..-0.17).contains(&trend.change), "{trend:?}");
    }

    #[test]
    fn a_stall_is_no_trend() {
        let trend = trend(&noisy(60, |at| if (50..54).contains(&at) { 0.0 } else { 1_000.0 })).unwrap();
        assert!(trend.change.abs() < 0.02, "{trend:?}");
    }

    #[test]
    fn a_soak_is_folded_and_keeps_its_slope() {
        let trend = trend(&noisy(3_600, |at| 1_000.0 - 0.05 * at as f64)).unwrap();
        assert!((-0.21..-0.18).contains(&trend.per_hour), "{trend:?}");
    }
}
