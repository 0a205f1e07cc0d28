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
    /// So many percent of the draws fall evenly into the middle `middle` percent of the range, the rest as Gaussian.
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
