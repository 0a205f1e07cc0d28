//! Random numbers: one generator per connection, seeded by (seed, connection), and the distributions that keys are drawn from.
//!
//! The formulas are those that sysbench documents; they are held against real draws of it in `verify`.

use super::WorkloadError;
use super::options::OptionReader;

/// xoshiro256++ (Blackman and Vigna, 2019), seeded by splitmix64.
#[derive(Debug, Clone)]
pub struct Random([u64; 4]);

impl Random {
    /// The generator of one connection: the same for the same pair, unlike any other pair's.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut state = seed ^ stream.wrapping_mul(0xa076_1d64_78bd_642f).rotate_left(31);
        Random(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }))
    }

    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (mut s2, mut s3) = (c ^ a, d ^ b);
        let (s1, s0) = (b ^ s2, a ^ s3);
        s2 ^= b << 17;
        s3 = s3.rotate_left(45);
        self.0 = [s0, s1, s2, s3];
        result
    }

    /// Uniform in 0..1, 1 excluded.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in 0..`bound` (multiply and shift; the bias is below 2^-64 times the bound).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform in `first..=last`.
    #[inline]
    pub fn uniform(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }
}

/// How `rand_type` draws a key of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    Uniform,
    /// The mean of so many uniform draws.
    Gaussian {
        draws: u32,
    },
    /// `share` percent of the draws fall evenly into the upper `share` percent of the middle `middle` percent of the range, the rest as
    /// Gaussian: what sysbench 1.0 does, measured (its manual speaks of the middle alone).
    Special {
        draws: u32,
        middle: u32,
        share: u32,
    },
    /// A share of 1-h of the draws falls into the first h of the range, and so on within it.
    Pareto {
        power: f64,
    },
    Zipfian {
        exponent: f64,
    },
}

impl Distribution {
    pub(super) fn read(reader: &mut OptionReader) -> Result<Distribution, WorkloadError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Name {
            Uniform,
            Gaussian,
            Special,
            Pareto,
            Zipfian,
        }
        let name = reader.choice(
            "rand_type",
            "uniform, gaussian, special, pareto or zipfian",
            &[
                ("uniform", Name::Uniform),
                ("gaussian", Name::Gaussian),
                ("special", Name::Special),
                ("pareto", Name::Pareto),
                ("zipfian", Name::Zipfian),
            ],
        )?;
        let draws = reader.number("rand_spec_iter", 12, 1)?;
        let middle = reader.number("rand_spec_pct", 1, 1)?;
        let share = reader.number("rand_spec_res", 75, 0)?;
        let h = reader.real("rand_pareto_h", 0.2, 0.0, 1.0)?;
        let exponent = reader.real("rand_zipfian_exp", 0.8, 0.0, 100.0)?;
        if middle > 100 || share > 99 {
            return Err(WorkloadError::Value {
                option: "rand_spec_pct".into(),
                value: format!("{middle} with rand_spec_res {share}"),
                wanted: "a percentage (and rand_spec_res one below 100)",
            });
        }
        Ok(match name {
            Name::Uniform => Distribution::Uniform,
            Name::Gaussian => Distribution::Gaussian { draws },
            Name::Special => Distribution::Special { draws, middle, share },
            Name::Pareto => Distribution::Pareto {
                power: h.ln() / (1.0 - h).ln(),
            },
            Name::Zipfian => Distribution::Zipfian { exponent },
        })
    }
}

/// Draws numbers from 0..`count` by a distribution.
#[derive(Debug, Clone)]
pub struct Sampler {
    count: u64,
    shape: Shape,
}

#[derive(Debug, Clone)]
enum Shape {
    Uniform,
    Gaussian {
        draws: u32,
    },
    Special {
        draws: u32,
        share: f64,
        middle_first: u64,
        middle_count: u64,
    },
    Pareto {
        power: f64,
    },
    Zipfian(Zipfian),
}

impl Sampler {
    /// `count` of at least 1.
    pub fn new(distribution: Distribution, count: u64) -> Sampler {
        let count = count.max(1);
        let shape = match distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian { draws } => Shape::Gaussian { draws },
            Distribution::Special { draws, middle, share } => {
                let middle = count as f64 * f64::from(middle) / 100.0;
                let share = f64::from(share) / 100.0;
                Shape::Special {
                    draws,
                    share,
                    middle_first: (count / 2).saturating_sub((middle * (share - 0.5)) as u64),
                    middle_count: ((middle * share) as u64).max(1),
                }
            }
            Distribution::Pareto { power } => Shape::Pareto { power },
            Distribution::Zipfian { exponent } => Shape::Zipfian(Zipfian::new(count, exponent)),
        };
        Sampler { count, shape }
    }

    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match &self.shape {
            Shape::Uniform => random.below(self.count),
            Shape::Gaussian { draws } => self.bell(*draws, random),
            Shape::Special {
                draws,
                share,
                middle_first,
                middle_count,
            } => {
                if random.unit() < *share {
                    middle_first + random.below(*middle_count)
                } else {
                    self.bell(*draws, random)
                }
            }
            Shape::Pareto { power } => ((self.count as f64 * random.unit().powf(*power)) as u64).min(self.count - 1),
            Shape::Zipfian(zipfian) => zipfian.draw(random) - 1,
        }
    }

    fn bell(&self, draws: u32, random: &mut Random) -> u64 {
        let sum: u64 = (0..draws).map(|_| random.below(self.count)).sum();
        sum / u64::from(draws)
    }
}

/// Ranks 1..=`count` with probability proportional to rank^-exponent, by rejection-inversion (Hörmann and Derflinger,
/// "Rejection-inversion to generate variates from monotone discrete distributions", 1996): constant time, no table.
#[derive(Debug, Clone)]
struct Zipfian {
    count: f64,
    exponent: f64,
    area_first: f64,
    area_last: f64,
    accepted_below: f64,
}

impl Zipfian {
    fn new(count: u64, exponent: f64) -> Zipfian {
        let mut zipfian = Zipfian {
            count: count as f64,
            exponent,
            area_first: 0.0,
            area_last: 0.0,
            accepted_below: 0.0,
        };
        zipfian.area_first = zipfian.area(1.5) - 1.0;
        zipfian.area_last = zipfian.area(count as f64 + 0.5);
        zipfian.accepted_below = 2.0 - zipfian.area_inverse(zipfian.area(2.5) - zipfian.density(2.0));
        zipfian
    }

    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.area_last + random.unit() * (self.area_first - self.area_last);
            let x = self.area_inverse(area);
            let rank = x.round().clamp(1.0, self.count);
            if rank - x <= self.accepted_below || area >= self.area(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// The integral of the density from 1 to `x`.
    fn area(&self, x: f64) -> f64 {
        let one_minus = 1.0 - self.exponent;
        if one_minus.abs() < 1e-9 {
            x.ln()
        } else {
            (one_minus * x.ln()).exp_m1() / one_minus
        }
    }

    fn area_inverse(&self, area: f64) -> f64 {
        let one_minus = 1.0 - self.exponent;
        if one_minus.abs() < 1e-9 {
            area.exp()
        } else {
            ((area * one_minus).max(-1.0).ln_1p() / one_minus).exp()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    /// Shares of the draws in each of `parts` equal parts of 0..count.
    fn shares(distribution: Distribution, count: u64, parts: u64) -> Vec<f64> {
        let sampler = Sampler::new(distribution, count);
        let mut random = Random::new(7, 1);
        let mut shares = vec![0.0; parts as usize];
        for _ in 0..DRAWS {
            let drawn = sampler.draw(&mut random);
            assert!(drawn < count);
            shares[(drawn * parts / count) as usize] += 1.0 / f64::from(DRAWS);
        }
        shares
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 0.005
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, stream| Random::new(seed, stream).next_u64();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
        assert_ne!(draw(1, 2), draw(1, 3));
    }

    #[test]
    fn uniform_is_level() {
        assert!(
            shares(Distribution::Uniform, 1000, 10)
                .iter()
                .all(|share| near(*share, 0.1))
        );
    }

    #[test]
    fn special_has_its_share_in_the_middle() {
        let special = Distribution::Special {
            draws: 12,
            middle: 1,
            share: 75,
        };
        let shares = shares(special, 10_000, 100);
        // The middle hundredth is 4950..5050, its upper three quarters 4975..5050: a third of them in one part, two thirds in the next,
        // and a little of the bell.
        assert!(near(shares[49], 0.25 + 0.25 * 0.047), "{}", shares[49]);
        assert!(near(shares[50], 0.5 + 0.25 * 0.047), "{}", shares[50]);
    }

    #[test]
    fn gaussian_has_the_deviation_of_a_mean() {
        let sampler = Sampler::new(Distribution::Gaussian { draws: 12 }, 12_000);
        let mut random = Random::new(3, 3);
        let squares: f64 = (0..DRAWS)
            .map(|_| (sampler.draw(&mut random) as f64 - 6000.0).powi(2))
            .sum();
        // One draw has n/sqrt(12), the mean of twelve n/12.
        assert!(((squares / f64::from(DRAWS)).sqrt() - 1000.0).abs() < 10.0);
    }

    #[test]
    fn pareto_is_eighty_twenty() {
        let power = 0.2_f64.ln() / 0.8_f64.ln();
        assert!(near(shares(Distribution::Pareto { power }, 10_000, 5)[0], 0.8));
    }

    #[test]
    fn zipfian_ranks_have_their_weights() {
        for exponent in [0.8, 0.99, 1.0, 1.5] {
            let shares = shares(Distribution::Zipfian { exponent }, 50, 50);
            let weights: Vec<f64> = (1..=50).map(|rank| f64::from(rank).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            for (share, weight) in shares.iter().zip(&weights) {
                assert!(near(*share, weight / sum), "{exponent}: {share} {}", weight / sum);
            }
        }
    }

    #[test]
    fn a_range_of_one_is_drawn() {
        let mut random = Random::new(1, 1);
        for distribution in [
            Distribution::Uniform,
            Distribution::Special {
                draws: 12,
                middle: 1,
                share: 75,
            },
            Distribution::Zipfian { exponent: 0.8 },
            Distribution::Pareto { power: 7.2 },
        ] {
            assert_eq!(Sampler::new(distribution, 1).draw(&mut random), 0);
        }
    }
}
