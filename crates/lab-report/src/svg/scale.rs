//! From values to pixels, and ticks that a reader would have chosen.

use crate::text::number;

/// An axis: what its lowest and highest value are, and where these are drawn.
#[derive(Debug, Clone)]
pub struct Scale {
    kind: Kind,
    low: f64,
    high: f64,
    from_px: f64,
    to_px: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Linear,
    Log,
}

impl Scale {
    /// From 0, so that lengths can be compared, to a round number at or above `highest`.
    pub fn from_zero(highest: f64) -> Scale {
        let highest = if highest > 0.0 && highest.is_finite() {
            highest
        } else {
            1.0
        };
        let step = nice_step(highest, 5);
        Scale::new(Kind::Linear, 0.0, (highest / step).ceil() * step)
    }

    pub fn linear(low: f64, high: f64) -> Scale {
        Scale::new(Kind::Linear, low, if high > low { high } else { low + 1.0 })
    }

    /// The next of 1, 2, 5, 10 outwards at both ends.
    pub fn log(lowest: f64, highest: f64) -> Scale {
        let lowest = if lowest > 0.0 && lowest.is_finite() {
            lowest
        } else {
            0.001
        };
        let highest = if highest > lowest { highest } else { lowest * 2.0 };
        let low = *LADDER
            .iter()
            .rfind(|step| **step <= mantissa(lowest) * 1.000_001)
            .unwrap_or(&1.0)
            * decade(lowest);
        let high = *LADDER
            .iter()
            .find(|step| **step >= mantissa(highest) * 0.999_999)
            .unwrap_or(&10.0)
            * decade(highest);
        Scale::new(Kind::Log, low, high)
    }

    /// Exactly these ends, logarithmic.
    pub fn log_exact(low: f64, high: f64) -> Scale {
        Scale::new(Kind::Log, low, if high > low { high } else { low * 2.0 })
    }

    /// Logarithmic if the values span more than a factor of 12, else from 0.
    pub fn fitting(lowest: f64, highest: f64) -> Scale {
        if lowest > 0.0 && highest / lowest > 12.0 {
            Scale::log(lowest, highest)
        } else {
            Scale::from_zero(highest)
        }
    }

    fn new(kind: Kind, low: f64, high: f64) -> Scale {
        Scale {
            kind,
            low,
            high,
            from_px: 0.0,
            to_px: 1.0,
        }
    }

    /// Where the lowest and the highest value are drawn.
    pub fn on(mut self, from_px: f64, to_px: f64) -> Scale {
        (self.from_px, self.to_px) = (from_px, to_px);
        self
    }

    pub fn px(&self, value: f64) -> f64 {
        let share = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log => (value.max(1e-12) / self.low).ln() / (self.high / self.low).ln(),
        };
        // What could not be computed is drawn at the foot of the axis, and said in the table.
        let share = if share.is_nan() { 0.0 } else { share };
        self.from_px + share.clamp(-0.05, 1.05) * (self.to_px - self.from_px)
    }

    pub fn is_log(&self) -> bool {
        self.kind == Kind::Log
    }

    pub fn high(&self) -> f64 {
        self.high
    }

    /// For tests: kind, values and pixels of both ends.
    pub fn described(&self) -> String {
        let kind = if self.is_log() { "log" } else { "lin" };
        format!("{kind},{},{},{},{}", self.low, self.high, self.from_px, self.to_px)
    }

    /// At most about `count`, at round values, with their text.
    pub fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        let values = match self.kind {
            Kind::Linear => {
                let step = nice_step(self.high - self.low, count);
                let first = (self.low / step).ceil() as i64;
                let last = ((self.high + step * 1e-6) / step).floor() as i64;
                (first..=last).map(|at| at as f64 * step).collect::<Vec<_>>()
            }
            Kind::Log => self.log_ticks(count),
        };
        values.into_iter().map(|value| (value, tick(value))).collect()
    }

    /// 1, 2, 5 of each decade; if that is too many, only the decades.
    fn log_ticks(&self, count: usize) -> Vec<f64> {
        let mut all = Vec::new();
        let mut base = decade(self.low);
        while base <= self.high * 1.000_001 {
            for step in [1.0, 2.0, 5.0] {
                let value = base * step;
                if value >= self.low * 0.999_999 && value <= self.high * 1.000_001 {
                    all.push(value);
                }
            }
            base *= 10.0;
        }
        if all.len() > count + 2 {
            let decades: Vec<f64> = all
                .iter()
                .copied()
                .filter(|value| (mantissa(*value) - 1.0).abs() < 1e-6)
                .collect();
            if decades.len() >= 2 {
                return decades;
            }
        }
        all
    }
}

const LADDER: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

fn decade(value: f64) -> f64 {
    10_f64.powf((value.log10() + 1e-9).floor())
}

fn mantissa(value: f64) -> f64 {
    value / decade(value)
}

/// 1, 2, 2.5 or 5 times a power of ten, so that about `count` steps fill the range.
fn nice_step(range: f64, count: usize) -> f64 {
    let rough = range / count as f64;
    let base = decade(rough);
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .find(|step| *step >= rough / base * 0.999_999)
        .unwrap_or(10.0);
    step * base
}

/// Shorter than a figure: 20k is never written, 0.5 is not 0.500.
fn tick(value: f64) -> String {
    let text = number(value);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, count: usize) -> Vec<String> {
        scale.ticks(count).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_start_at_zero() {
        assert_eq!(
            labels(&Scale::from_zero(34_870.0), 5),
            ["0", "10,000", "20,000", "30,000", "40,000"]
        );
        assert_eq!(
            labels(&Scale::from_zero(0.9), 5),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
        assert_eq!(labels(&Scale::from_zero(0.0), 5).first().unwrap(), "0");
    }

    #[test]
    fn log_ticks_follow_one_two_five() {
        assert_eq!(labels(&Scale::log(1.3, 45.0), 6), ["1", "2", "5", "10", "20", "50"]);
        assert_eq!(labels(&Scale::log(0.2, 3_000.0), 5), ["1", "10", "100", "1,000"]);
    }

    #[test]
    fn the_ends_of_a_scale_are_its_pixels() {
        let scale = Scale::log_exact(1.0, 128.0).on(40.0, 440.0);
        assert!((scale.px(1.0) - 40.0).abs() < 1e-9);
        assert!((scale.px(128.0) - 440.0).abs() < 1e-9);
        assert!((scale.px(2.0) - scale.px(1.0) - (scale.px(128.0) - scale.px(64.0))).abs() < 1e-9);
    }

    #[test]
    fn wide_ranges_are_logarithmic() {
        assert!(Scale::fitting(1.0, 100.0).is_log());
        assert!(!Scale::fitting(5.0, 20.0).is_log());
        assert!(!Scale::fitting(0.0, 20.0).is_log());
    }
}
