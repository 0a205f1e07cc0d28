//! A node's figures over the last hour, for who opens the console: the last five minutes second by second, the hour before in steps of ten.
//!
//! The node counts from its start; what is kept here are the differences, so that a point says what happened in its step. Both rings have
//! a fixed length: the memory is bounded by some 100 KiB.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// How long the steps of a ring are, and how many it keeps.
const RINGS: [(u32, usize); 2] = [(1, 300), (10, 360)];

/// What stands at which place of a point.
const COLUMNS: [&str; 18] = [
    "at",
    "statements",
    "reads",
    "changes",
    "redis_commands",
    "commits",
    "errors",
    "statement_p50_us",
    "statement_p95_us",
    "statement_p99_us",
    "commit_p50_us",
    "commit_p99_us",
    "log_bytes",
    "lock_waits",
    "connections",
    "running",
    "memory_used",
    "memory_resident",
];

/// What a node has counted up to one moment, and how it is then.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Seconds since 1970.
    pub at: f64,
    pub statements: u64,
    pub reads: u64,
    pub changes: u64,
    pub redis_commands: u64,
    pub errors: u64,
    /// Upper bounds of buckets in microseconds, ascending, and how many fell into each.
    pub statement_micros: Vec<(u64, u64)>,
    pub commit_micros: Vec<(u64, u64)>,
    pub log_bytes: u64,
    pub lock_waits: u64,
    pub connections: u64,
    pub running: u64,
    pub memory_used: u64,
    pub memory_resident: u64,
}

/// What is kept.
#[derive(Default)]
pub struct History {
    rings: Mutex<[Ring; RINGS.len()]>,
}

#[derive(Default)]
struct Ring {
    before: Option<(Instant, Sample)>,
    points: VecDeque<Point>,
}

type Point = [Option<f64>; COLUMNS.len()];

impl History {
    /// Takes over what was counted up to now. Called each second, or nearly so.
    pub fn note(&self, now: Instant, sample: &Sample) {
        let mut rings = self.rings.lock();
        for (ring, (step, length)) in rings.iter_mut().zip(RINGS) {
            ring.note(now, sample, step, length);
        }
    }

    /// All points after a moment, in seconds since 1970.
    pub fn since(&self, at: f64) -> Value {
        let rings = self.rings.lock();
        let series = rings.iter().zip(RINGS).map(|(ring, (step, _))| {
            let newer = ring.points.iter().filter(|point| point[0] > Some(at));
            json!({ "step_seconds": step, "points": newer.collect::<Vec<_>>() })
        });
        json!({ "columns": COLUMNS, "series": series.collect::<Vec<_>>() })
    }
}

impl Ring {
    fn note(&mut self, now: Instant, sample: &Sample, step: u32, length: usize) {
        let Some((then, before)) = &self.before else {
            self.before = Some((now, sample.clone()));
            return;
        };
        let passed = now.saturating_duration_since(*then);
        // A tick may come a little early.
        if passed + Duration::from_millis(200) < Duration::from_secs(u64::from(step)) {
            return;
        }
        if self.points.len() >= length {
            self.points.pop_front();
        }
        self.points.push_back(difference(before, sample, passed.as_secs_f64()));
        self.before = Some((now, sample.clone()));
    }
}

fn difference(before: &Sample, now: &Sample, seconds: f64) -> Point {
    let rate = |of: fn(&Sample) -> u64| Some(round(of(now).saturating_sub(of(before)) as f64 / seconds));
    let statements = differences(&before.statement_micros, &now.statement_micros);
    let commits = differences(&before.commit_micros, &now.commit_micros);
    let committed: u64 = commits.iter().map(|(_, count)| count).sum();
    [
        Some(round(now.at)),
        rate(|sample| sample.statements),
        rate(|sample| sample.reads),
        rate(|sample| sample.changes),
        rate(|sample| sample.redis_commands),
        Some(round(committed as f64 / seconds)),
        rate(|sample| sample.errors),
        quantile(&statements, 0.5),
        quantile(&statements, 0.95),
        quantile(&statements, 0.99),
        quantile(&commits, 0.5),
        quantile(&commits, 0.99),
        rate(|sample| sample.log_bytes),
        rate(|sample| sample.lock_waits),
        Some(now.connections as f64),
        Some(now.running as f64),
        Some(now.memory_used as f64),
        Some(now.memory_resident as f64),
    ]
}

/// Three digits behind the point say enough.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn differences(before: &[(u64, u64)], now: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let known = before.iter().map(|(_, count)| *count).chain(std::iter::repeat(0));
    let each = now.iter().zip(known);
    each.map(|((bound, count), before)| (*bound, count.saturating_sub(before)))
        .collect()
}

/// The bound of the bucket that the quantile lies in. `None`: there was nothing.
fn quantile(buckets: &[(u64, u64)], part: f64) -> Option<f64> {
    let all: u64 = buckets.iter().map(|(_, count)| count).sum();
    let wanted = (all as f64 * part).ceil().max(1.0) as u64;
    let mut seen = 0;
    let found = buckets.iter().find(|(_, count)| {
        seen += count;
        seen >= wanted
    });
    found.filter(|_| all > 0).map(|(bound, _)| *bound as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(point: &Value, name: &str) -> Value {
        let at = COLUMNS.iter().position(|column| *column == name).expect("a column");
        point[at].clone()
    }

    #[test]
    fn points_tell_what_happened_in_their_step() {
        let history = History::default();
        let begin = Instant::now();
        for second in 0..=21_u64 {
            let sample = Sample {
                at: 1000.0 + second as f64,
                statements: second * second,
                statement_micros: vec![(10, 3 * second), (100, second)],
                connections: second,
                ..Sample::default()
            };
            history.note(begin + Duration::from_secs(second), &sample);
        }
        let all = history.since(0.0);
        let points = &all["series"][0]["points"];
        assert_eq!(points.as_array().map(Vec::len), Some(21));
        let last = &points[20];
        assert_eq!(column(last, "statements"), 21.0 * 21.0 - 20.0 * 20.0);
        assert_eq!(column(last, "connections"), 21.0);
        assert_eq!(column(last, "statement_p50_us"), 10.0);
        assert_eq!(column(last, "statement_p99_us"), 100.0);
        assert_eq!(column(last, "commit_p99_us"), Value::Null);
        let tens = &all["series"][1]["points"];
        assert_eq!(tens.as_array().map(Vec::len), Some(2));
        assert_eq!(column(&tens[0], "statements"), 10.0);
        assert_eq!(
            history.since(1020.0)["series"][0]["points"].as_array().map(Vec::len),
            Some(1)
        );
    }

    #[test]
    fn the_rings_have_a_length() {
        let history = History::default();
        let begin = Instant::now();
        for second in 0..10_000_u64 {
            let sample = Sample {
                at: second as f64,
                ..Sample::default()
            };
            history.note(begin + Duration::from_secs(second), &sample);
        }
        let all = history.since(-1.0);
        for (number, (_, length)) in RINGS.into_iter().enumerate() {
            assert_eq!(all["series"][number]["points"].as_array().map(Vec::len), Some(length));
        }
    }
}
