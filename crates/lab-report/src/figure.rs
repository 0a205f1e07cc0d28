//! A number that knows where it comes from.
//!
//! Figures are made of the fields of raw files and of one another; each operation extends the formula with the value.
//! The formulas are the report's proof: a reader (and a test) can compute every number again from the files.
//!
//! ```text
//! r7#/totals/transactions          a field of rung 7's rung.json, by JSON pointer; names are percent-encoded
//! r7/seconds#/transactions         that field of each line of its seconds.jsonl with second >= 0
//! run#/slo/latency_ms              of run.json; probes#/0/cpu/events_per_s of probes.json
//! div(add(a,b),c) mul sub min max median spread        as they say
//! lo(seed,a,b,c) hi(…)             ends of the bootstrap interval of the median
//! quantile(0.95,h,…)               of the merged histograms, in µs; qlo(seed,0.95,h,…), qhi: its bootstrap interval
//! mean(h,…) count(h,…)             of the merged histograms
//! ```
//!
//! `docs/lab/report.md` says exactly how each is computed. In a comparison, files carry the letter of their series: `b:r7#…`.

use serde::Serialize;

use crate::distribution::{Distribution, Resampler};
use crate::stats;

/// A value and the formula it came by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    pub value: f64,
    pub from: String,
}

/// A figure over repeats: the middle, and how sure it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    #[serde(flatten)]
    pub middle: Figure,
    /// Ends of the 95% interval; absent for a single repeat.
    pub low: Option<Figure>,
    pub high: Option<Figure>,
    /// Highest less lowest repeat over the median.
    pub spread: Option<Figure>,
    /// Each repeat by itself.
    pub repeats: Vec<Figure>,
}

/// A histogram and the place it was read from.
#[derive(Debug, Clone, Copy)]
pub struct Sourced<'a> {
    pub distribution: &'a Distribution,
    pub from: &'a str,
}

/// A place within a series' files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place(String);

impl Place {
    pub fn new(file: impl Into<String>) -> Self {
        Place(file.into())
    }

    /// The formula that names a field; each part is one step of a JSON pointer.
    pub fn field(&self, parts: &[&str]) -> String {
        let mut formula = format!("{}#", self.0);
        for part in parts {
            formula.push('/');
            formula.push_str(&encoded(part));
        }
        formula
    }

    pub fn figure(&self, parts: &[&str], value: f64) -> Figure {
        Figure {
            value,
            from: self.field(parts),
        }
    }

    /// Another file of the same rung.
    pub fn beside(&self, file: &str) -> Place {
        Place(format!("{}/{file}", self.0))
    }
}

/// JSON pointer escapes, then percent-encoding of all that could end a name in a formula.
fn encoded(part: &str) -> String {
    let mut text = String::new();
    for byte in part.replace('~', "~0").replace('/', "~1").bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

impl Figure {
    pub fn constant(value: f64) -> Figure {
        Figure {
            value,
            from: format!("{value}"),
        }
    }

    pub fn over(&self, other: &Figure) -> Figure {
        self.with("div", other, self.value / other.value)
    }

    pub fn times(&self, other: &Figure) -> Figure {
        self.with("mul", other, self.value * other.value)
    }

    pub fn minus(&self, other: &Figure) -> Figure {
        self.with("sub", other, self.value - other.value)
    }

    pub fn scaled(&self, factor: f64) -> Figure {
        Figure::constant(factor).times(self)
    }

    fn with(&self, operation: &str, other: &Figure, value: f64) -> Figure {
        Figure {
            value,
            from: format!("{operation}({},{})", self.from, other.from),
        }
    }

    /// `None` for nothing.
    pub fn sum(figures: &[Figure]) -> Option<Figure> {
        match figures {
            [] => None,
            [one] => Some(one.clone()),
            _ => Some(Figure {
                value: figures.iter().map(|figure| figure.value).sum(),
                from: call("add", figures),
            }),
        }
    }

    pub fn median(figures: &[Figure]) -> Option<Figure> {
        match figures {
            [] => None,
            [one] => Some(one.clone()),
            _ => Some(Figure {
                value: stats::median(&values(figures))?,
                from: call("median", figures),
            }),
        }
    }

    /// Of the merged histograms, in milliseconds.
    pub fn quantile_ms(quantile: f64, parts: &[Sourced]) -> Option<Figure> {
        let value = Distribution::merged(parts.iter().map(|part| part.distribution)).quantile_us(quantile)? as f64;
        Some(
            Figure {
                value,
                from: format!("quantile({quantile},{})", sources(parts)),
            }
            .in_ms(),
        )
    }

    pub fn mean_ms(parts: &[Sourced]) -> Option<Figure> {
        let value = Distribution::merged(parts.iter().map(|part| part.distribution)).mean_us()?;
        Some(
            Figure {
                value,
                from: format!("mean({})", sources(parts)),
            }
            .in_ms(),
        )
    }

    /// Of microseconds.
    pub fn in_ms(&self) -> Figure {
        self.over(&Figure::constant(1_000.0))
    }
}

impl Estimate {
    /// The median of repeats and its interval.
    pub fn of(repeats: Vec<Figure>, seed: u64) -> Option<Estimate> {
        let middle = Figure::median(&repeats)?;
        let values = values(&repeats);
        let ends = stats::median_interval(&values, seed);
        let end = |name: &str, value: f64| Figure {
            value,
            from: call(&format!("{name}({seed},"), &repeats),
        };
        Some(Estimate {
            middle,
            low: ends.map(|(low, _)| end("lo", low)),
            high: ends.map(|(_, high)| end("hi", high)),
            spread: stats::spread(&values).map(|value| Figure {
                value,
                from: call("spread", &repeats),
            }),
            repeats,
        })
    }

    /// A percentile of the repeats' histograms together, in milliseconds; the bootstrap draws whole repeats.
    pub fn quantile_ms(quantile: f64, parts: &[Sourced], seed: u64) -> Option<Estimate> {
        let middle = Figure::quantile_ms(quantile, parts)?;
        let ends = stats::interval(parts.len(), seed, quantile_of(quantile, parts));
        let end = |name: &str, value: f64| {
            Figure {
                value,
                from: format!("{name}({seed},{quantile},{})", sources(parts)),
            }
            .in_ms()
        };
        let repeats: Vec<Figure> = parts
            .iter()
            .filter_map(|part| Figure::quantile_ms(quantile, std::slice::from_ref(part)))
            .collect();
        Some(Estimate {
            middle,
            low: ends.map(|(low, _)| end("qlo", low)),
            high: ends.map(|(_, high)| end("qhi", high)),
            spread: stats::spread(&values(&repeats)).map(|value| Figure {
                value,
                from: call("spread", &repeats),
            }),
            repeats,
        })
    }
}

/// The percentile, in µs, of the repeats drawn.
pub fn quantile_of(quantile: f64, parts: &[Sourced]) -> impl Fn(&[usize]) -> f64 + use<> {
    let distributions: Vec<&Distribution> = parts.iter().map(|part| part.distribution).collect();
    let resampler = Resampler::new(&distributions);
    move |draw| resampler.quantile_us(quantile, draw).map_or(0.0, |us| us as f64)
}

pub fn values(figures: &[Figure]) -> Vec<f64> {
    figures.iter().map(|figure| figure.value).collect()
}

/// `name(a,b)`; a name that holds its parenthesis and first argument already (`lo(7,`) is only closed.
fn call(name: &str, figures: &[Figure]) -> String {
    let arguments: Vec<&str> = figures.iter().map(|figure| figure.from.as_str()).collect();
    let open = if name.contains('(') { "" } else { "(" };
    format!("{name}{open}{})", arguments.join(","))
}

fn sources(parts: &[Sourced]) -> String {
    parts.iter().map(|part| part.from).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_carries_its_formula() {
        let rung = Place::new("r7");
        let tps = rung
            .figure(&["totals", "transactions"], 900.0)
            .over(&rung.figure(&["measured_s"], 30.0));
        assert_eq!(tps.value, 30.0);
        assert_eq!(tps.from, "div(r7#/totals/transactions,r7#/measured_s)");
        assert_eq!(
            tps.scaled(2.0).from,
            "mul(2,div(r7#/totals/transactions,r7#/measured_s))"
        );
    }

    #[test]
    fn odd_names_cannot_break_a_formula() {
        assert_eq!(
            Place::new("r1").field(&["costs", "a/b, (c)"]),
            "r1#/costs/a~1b%2C%20%28c%29"
        );
    }

    #[test]
    fn an_estimate_names_the_seed_and_the_repeats() {
        let repeats = [3.0, 1.0, 2.0].map(Figure::constant).to_vec();
        let estimate = Estimate::of(repeats, 42).unwrap();
        assert_eq!(estimate.middle.value, 2.0);
        assert_eq!(estimate.low.unwrap().from, "lo(42,3,1,2)");
        assert_eq!(estimate.spread.unwrap().value, 1.0);
        assert!(Estimate::of(vec![Figure::constant(1.0)], 42).unwrap().low.is_none());
        assert!(Estimate::of(vec![], 42).is_none());
    }
}
