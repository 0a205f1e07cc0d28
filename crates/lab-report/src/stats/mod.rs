//! What may be said about repeated measurements.
//!
//! Repeats are few (three is usual), so everything here is robust and says how little it knows: the middle is the
//! median, the interval a bootstrap's, and a difference counts as shown only if the interval of the ratio leaves out
//! 1 *and* there were enough repeats for that to mean something.
//!
//! [`curve`] reads ladders (knee, service level, crossover), [`trend`] seconds (drift, steady state).

pub mod curve;
pub mod trend;

use std::collections::HashMap;

/// Resamples of a bootstrap; the interval leaves out [`TAIL`] of them at each end.
pub const RESAMPLES: usize = 2_000;
/// 2.5% of [`RESAMPLES`].
pub const TAIL: usize = 50;
/// A difference needs at least this confidence to be called shown: three repeats against three.
pub const LEAST_STRENGTH: f64 = 0.9;

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    })
}

/// From the lowest to the highest, as a share of the median; `None` for fewer than two.
pub fn spread(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (values.len() > 1 && middle != 0.0).then(|| (high - low) / middle)
}

/// SplitMix64: small, and the same everywhere, so that an interval can be computed again by anybody.
#[derive(Debug, Clone)]
pub struct Generator(u64);

impl Generator {
    pub fn new(seed: u64) -> Self {
        Generator(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below `bound`, by the upper 32 bits.
    pub fn below(&mut self, bound: usize) -> usize {
        (((self.next() >> 32) * bound as u64) >> 32) as usize
    }
}

/// The 95% interval of a statistic of `count` repeats by a seeded percentile bootstrap: the statistic gets the
/// indices drawn, sorted. `None` for fewer than two repeats.
pub fn interval(count: usize, seed: u64, mut statistic: impl FnMut(&[usize]) -> f64) -> Option<(f64, f64)> {
    if count < 2 {
        return None;
    }
    let mut generator = Generator::new(seed);
    let mut known: HashMap<Vec<usize>, f64> = HashMap::new();
    let mut outcomes: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let mut draw: Vec<usize> = (0..count).map(|_| generator.below(count)).collect();
            draw.sort_unstable();
            *known.entry(draw).or_insert_with_key(|draw| statistic(draw))
        })
        .collect();
    outcomes.sort_by(f64::total_cmp);
    Some((outcomes[TAIL], outcomes[RESAMPLES - 1 - TAIL]))
}

/// Of the median of `values`.
pub fn median_interval(values: &[f64], seed: u64) -> Option<(f64, f64)> {
    interval(values.len(), seed, |draw| {
        let drawn: Vec<f64> = draw.iter().map(|&index| values[index]).collect();
        median(&drawn).expect("a draw has as many values as there are repeats")
    })
}

/// Whether two sets of repeats differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The other's median over the base's.
    pub ratio: f64,
    /// Its 95% bootstrap interval, if both have two repeats or more.
    pub interval: Option<(f64, f64)>,
    /// The highest confidence that so many repeats can give at all: 1 − 2 / (ways to deal them out).
    pub strength: f64,
}

/// What a [`Difference`] allows to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Higher,
    Lower,
    /// The interval holds 1.
    NoneShown,
    /// Too few repeats to show any difference.
    Untested,
}

impl Difference {
    pub fn outcome(&self) -> Outcome {
        match self.interval {
            Some((low, high)) if self.strength >= LEAST_STRENGTH => {
                if low > 1.0 {
                    Outcome::Higher
                } else if high < 1.0 {
                    Outcome::Lower
                } else {
                    Outcome::NoneShown
                }
            }
            _ => Outcome::Untested,
        }
    }
}

/// Compares medians: `other` against `base`. `None` if one of them is empty or the base's median is 0.
pub fn difference(base: &[f64], other: &[f64], seed: u64) -> Option<Difference> {
    let middle_of = |values: &[f64], draw: &[usize]| {
        let drawn: Vec<f64> = draw.iter().map(|&index| values[index]).collect();
        median(&drawn).expect("a draw is never empty")
    };
    difference_of(
        (base.len(), other.len()),
        seed,
        |draw| middle_of(base, draw),
        |draw| middle_of(other, draw),
    )
}

/// The same for any statistic of repeats, which gets the indices drawn, sorted.
pub fn difference_of(
    (bases, others): (usize, usize),
    seed: u64,
    mut base: impl FnMut(&[usize]) -> f64,
    mut other: impl FnMut(&[usize]) -> f64,
) -> Option<Difference> {
    if bases == 0 || others == 0 {
        return None;
    }
    let all = |count: usize| (0..count).collect::<Vec<_>>();
    let denominator = base(&all(bases));
    if denominator == 0.0 || !denominator.is_finite() {
        return None;
    }
    let ratio = other(&all(others)) / denominator;
    let interval = (bases > 1 && others > 1).then(|| {
        let mut generator = Generator::new(seed);
        let (mut known_bases, mut known_others) = (HashMap::new(), HashMap::new());
        let mut outcomes: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                let below = draw(&mut generator, bases);
                let above = draw(&mut generator, others);
                let below = *known_bases
                    .entry(below)
                    .or_insert_with_key(|draw: &Vec<usize>| base(draw));
                let above = *known_others
                    .entry(above)
                    .or_insert_with_key(|draw: &Vec<usize>| other(draw));
                above / below
            })
            .collect();
        outcomes.sort_by(f64::total_cmp);
        (outcomes[TAIL], outcomes[RESAMPLES - 1 - TAIL])
    });
    Some(Difference {
        ratio,
        interval,
        strength: strength(bases, others),
    })
}

fn draw(generator: &mut Generator, count: usize) -> Vec<usize> {
    let mut draw: Vec<usize> = (0..count).map(|_| generator.below(count)).collect();
    draw.sort_unstable();
    draw
}

/// If all repeats came from one distribution, the chance that all of one side lie beyond all of the other is
/// 2 / C(n + m, n); no method can be surer than that leaves room for.
fn strength(bases: usize, others: usize) -> f64 {
    let mut ways = 1.0_f64;
    for step in 1..=bases {
        ways *= (others + step) as f64 / step as f64;
    }
    (1.0 - 2.0 / ways).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_and_the_spread() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(spread(&[90.0, 100.0, 120.0]), Some(0.3));
        assert_eq!(spread(&[90.0]), None);
    }

    #[test]
    fn an_interval_is_the_same_for_the_same_seed_and_holds_the_median() {
        let values = [980.0, 1_000.0, 1_010.0, 1_050.0, 990.0];
        let (low, high) = median_interval(&values, 7).unwrap();
        assert_eq!(median_interval(&values, 7), Some((low, high)));
        assert!(
            (980.0..=1_000.0).contains(&low) && (1_000.0..=1_050.0).contains(&high),
            "{low}..{high}"
        );
        assert_eq!(median_interval(&values[..1], 7), None);
    }

    /// Of normal-ish samples of nine, the interval should hold the true median in about 95% of cases.
    #[test]
    fn the_interval_covers_the_truth_about_as_often_as_it_says() {
        let mut generator = Generator::new(1);
        let mut covered = 0;
        for trial in 0..300 {
            let values: Vec<f64> = (0..9)
                .map(|_| (0..12).map(|_| generator.below(1_000) as f64).sum::<f64>())
                .collect();
            let (low, high) = median_interval(&values, trial).unwrap();
            covered += u32::from((low..=high).contains(&5_994.0));
        }
        assert!((270..=300).contains(&covered), "{covered} of 300");
    }

    #[test]
    fn a_difference_is_shown_only_outside_the_interval() {
        let base = [100.0, 102.0, 98.0];
        let faster = difference(&base, &[150.0, 149.0, 153.0], 3).unwrap();
        assert_eq!(faster.outcome(), Outcome::Higher);
        assert!((faster.ratio - 1.5).abs() < 1e-9);
        let same = difference(&base, &[101.0, 97.0, 103.0], 3).unwrap();
        assert_eq!(same.outcome(), Outcome::NoneShown);
        let slower = difference(&base, &[50.0, 51.0, 52.0], 3).unwrap();
        assert_eq!(slower.outcome(), Outcome::Lower);
    }

    #[test]
    fn two_repeats_show_nothing_however_far_apart() {
        let pair = difference(&[100.0, 101.0], &[200.0, 201.0], 3).unwrap();
        assert_eq!(pair.outcome(), Outcome::Untested);
        assert!((pair.strength - (1.0 - 2.0 / 6.0)).abs() < 1e-9);
        let three = difference(&[1.0, 1.1, 1.2], &[2.0, 2.1, 2.2], 3).unwrap();
        assert!((three.strength - 0.9).abs() < 1e-9);
        assert_eq!(difference(&[1.0], &[2.0], 3).unwrap().outcome(), Outcome::Untested);
        assert_eq!(difference(&[], &[2.0], 3), None);
        assert_eq!(difference(&[0.0], &[2.0], 3), None);
    }

    /// Repeats of one and the same thing must seldom be called different.
    #[test]
    fn equal_things_are_seldom_called_different() {
        let mut generator = Generator::new(2);
        let mut wrong = 0;
        for trial in 0..400 {
            let mut sample = || -> Vec<f64> { (0..5).map(|_| 1_000.0 + generator.below(100) as f64).collect() };
            let (one, two) = (sample(), sample());
            let outcome = difference(&one, &two, trial).unwrap().outcome();
            wrong += u32::from(matches!(outcome, Outcome::Higher | Outcome::Lower));
        }
        assert!(wrong <= 48, "{wrong} of 400");
    }
}
