//! Commands that took longer than somebody wants (LATENCY): the last ones of each kind, in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// Spikes of a kind that are kept: one for a second.
const KEPT: usize = 160;
const GRAPH_COLUMNS: usize = 80;
const GRAPH_ROWS: usize = 4;

/// When, in seconds since 1970, and how many milliseconds.
pub type Spike = (i64, u64);

/// The spikes of one kind: `command`, `fast-command`.
#[derive(Debug, Clone, Default)]
pub struct Series {
    pub spikes: VecDeque<Spike>,
    pub worst_ms: u64,
}

#[derive(Default)]
pub struct Spikes {
    /// `latency-monitor-threshold`; 0: none is kept.
    threshold_ms: AtomicI64,
    by_kind: Mutex<BTreeMap<&'static str, Series>>,
}

impl Spikes {
    pub fn threshold_ms(&self) -> i64 {
        self.threshold_ms.load(Ordering::Relaxed)
    }

    pub fn set_threshold_ms(&self, ms: i64) {
        self.threshold_ms.store(ms, Ordering::Relaxed);
    }

    #[inline]
    pub fn is_one(&self, took: Duration) -> bool {
        let threshold = self.threshold_ms();
        threshold > 0 && took.as_millis() >= threshold as u128
    }

    /// Of one second the longest is kept.
    pub fn add(&self, kind: &'static str, at: i64, took: Duration) {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        governor::given_away(|| {
            let mut by_kind = self.by_kind.lock();
            let series = by_kind.entry(kind).or_default();
            series.worst_ms = series.worst_ms.max(ms);
            match series.spikes.back_mut() {
                Some((last, longest)) if *last == at => *longest = ms.max(*longest),
                _ => {
                    series.spikes.push_back((at, ms));
                    if series.spikes.len() > KEPT {
                        series.spikes.pop_front();
                    }
                }
            }
        });
    }

    pub fn all(&self) -> Vec<(&'static str, Series)> {
        self.by_kind
            .lock()
            .iter()
            .map(|(kind, series)| (*kind, series.clone()))
            .collect()
    }

    pub fn of(&self, kind: &[u8]) -> Option<(&'static str, Series)> {
        let all = self.all();
        all.into_iter().find(|(known, _)| known.as_bytes() == kind)
    }

    /// Forgets those of a kind, or all; of how many kinds there were some.
    pub fn clear(&self, kind: Option<&[u8]>) -> usize {
        let mut by_kind = self.by_kind.lock();
        let before = by_kind.len();
        by_kind.retain(|known, _| kind.is_some_and(|kind| kind != known.as_bytes()));
        before - by_kind.len()
    }
}

impl Series {
    fn longest(&self) -> u64 {
        self.spikes.iter().map(|(_, ms)| *ms).max().unwrap_or(0)
    }

    fn shortest(&self) -> u64 {
        self.spikes.iter().map(|(_, ms)| *ms).min().unwrap_or(0)
    }

    /// How high the spikes were, in four rows of characters, and below each how long ago.
    pub fn graph(&self, kind: &str, now: i64) -> String {
        let mut text = format!(
            "{kind} - high {} ms, low {} ms (all time high {} ms)\n{}\n",
            self.longest(),
            self.shortest(),
            self.worst_ms,
            "-".repeat(GRAPH_COLUMNS)
        );
        let spikes: Vec<Spike> = self.spikes.iter().copied().collect();
        for (at, part) in spikes.chunks(GRAPH_COLUMNS).enumerate() {
            if at > 0 {
                text.push('\n');
            }
            self.draw(part, now, &mut text);
        }
        text
    }

    fn draw(&self, part: &[Spike], now: i64, text: &mut String) {
        const FILLED: [char; 3] = ['_', 'o', '#'];
        let steps = (GRAPH_ROWS * FILLED.len()) as u64;
        let range = (self.longest() - self.shortest()).max(1);
        for row in 0..GRAPH_ROWS {
            let below = (GRAPH_ROWS - row - 1) * FILLED.len();
            text.extend(part.iter().map(|(_, ms)| {
                let step = (ms - self.shortest()).saturating_mul(steps) / range;
                let step = step.min(steps - 1) as usize;
                match step.checked_sub(below) {
                    None => ' ',
                    Some(height) => FILLED.get(height).copied().unwrap_or('|'),
                }
            }));
            text.push('\n');
        }
        text.push_str(&" ".repeat(part.len()));
        text.push('\n');
        let labels: Vec<Vec<char>> = part.iter().map(|(at, _)| ago(now - at).chars().collect()).collect();
        let longest = labels.iter().map(Vec::len).max().unwrap_or(0);
        for row in 0..longest {
            text.extend(labels.iter().map(|label| label.get(row).copied().unwrap_or(' ')));
            text.push('\n');
        }
    }

    /// Its line of LATENCY DOCTOR.
    pub fn summary(&self, number: usize, kind: &str) -> String {
        let count = self.spikes.len().max(1) as u64;
        let average = self.spikes.iter().map(|(_, ms)| *ms).fold(0, u64::saturating_add) / count;
        let deviations = self.spikes.iter().map(|(_, ms)| ms.abs_diff(average));
        let deviation = deviations.fold(0, u64::saturating_add) / count;
        let span = match (self.spikes.front(), self.spikes.back()) {
            (Some((first, _)), Some((last, _))) => last - first,
            _ => 0,
        };
        let period = span as f64 / count as f64;
        format!(
            "{number}. {kind}: {count} latency spikes (average {average}ms, mean deviation {deviation}ms, period {period:.2} sec). Worst \
             all time event {}ms.\n",
            self.worst_ms
        )
    }
}

fn ago(seconds: i64) -> String {
    match seconds.max(0) {
        seconds @ ..60 => format!("{seconds}s"),
        seconds @ ..3600 => format!("{}m", seconds / 60),
        seconds @ ..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_a_second_is_kept_and_few_seconds() {
        let spikes = Spikes::default();
        assert!(!spikes.is_one(Duration::from_secs(9)));
        spikes.set_threshold_ms(5);
        assert!(spikes.is_one(Duration::from_millis(5)) && !spikes.is_one(Duration::from_millis(4)));
        for (at, ms) in [(10, 7), (10, 9), (10, 8), (11, 5)] {
            spikes.add("command", at, Duration::from_millis(ms));
        }
        let (_, series) = spikes.of(b"command").unwrap();
        assert_eq!(
            (series.spikes, series.worst_ms),
            (VecDeque::from([(10, 9), (11, 5)]), 9)
        );
        (100..400).for_each(|at| spikes.add("fast-command", at, Duration::from_millis(6)));
        assert_eq!(spikes.of(b"fast-command").unwrap().1.spikes.len(), KEPT);
        assert_eq!(spikes.clear(Some(b"none")), 0);
        assert_eq!(spikes.clear(Some(b"command")), 1);
        assert_eq!(spikes.clear(None), 1);
        assert!(spikes.all().is_empty());
    }

    #[test]
    fn graphs_are_drawn_in_rows() {
        let spikes = [(40, 10), (50, 20), (90, 40)].into();
        let series = Series { spikes, worst_ms: 50 };
        let drawn = series.graph("command", 100);
        let rows: Vec<&str> = drawn.lines().skip(2).collect();
        assert!(drawn.starts_with("command - high 40 ms, low 10 ms (all time high 50 ms)\n-----"));
        assert_eq!(rows, ["  #", "  |", " o|", "_||", "   ", "151", "m00", " ss"]);
    }
}
