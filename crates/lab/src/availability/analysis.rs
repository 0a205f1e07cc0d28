//! From the ledger's times to what a fault cost: gaps, dip, recovery, slow answers.
//!
//! Nothing is measured in here; every figure is a function of the entries and of when the faults were made.

use std::collections::BTreeMap;

use lab_results::availability::{Gap, LedgerSecond};
use lab_results::{Latency, UnixMicros};

use super::ledger::{Entry, Fate};

/// A recovered rate has at least this share of the one before …
const RECOVERED: f64 = 0.9;
/// … for so many seconds in a row.
const RECOVERED_SECONDS: usize = 3;

/// What was seen between a fault and the next one (or the end).
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub gap: Option<Gap>,
    pub servers: BTreeMap<usize, Gap>,
    pub dip_writes: f64,
    pub recovered_after_s: Option<f64>,
    pub p999_us: Option<u64>,
}

/// Acknowledged entries by the time of their answer.
pub fn acknowledged(entries: &[Entry]) -> Vec<Entry> {
    let mut acknowledged: Vec<Entry> = entries
        .iter()
        .filter(|entry| entry.fate == Fate::Acknowledged)
        .copied()
        .collect();
    acknowledged.sort_by_key(|entry| entry.ended);
    acknowledged
}

/// Acknowledged writes per second within `from..until`.
pub fn rate(acknowledged: &[Entry], from: UnixMicros, until: UnixMicros) -> f64 {
    let count = between(acknowledged, from, until).count();
    count as f64 / seconds(from, until).max(1e-9)
}

pub fn p999_us(acknowledged: &[Entry], from: UnixMicros, until: UnixMicros) -> Option<u64> {
    let mut latency = Latency::default();
    for entry in between(acknowledged, from, until) {
        latency.record_us(entry.ended.0.saturating_sub(entry.sent.0));
    }
    latency.quantile_us(0.999)
}

/// What the fault at `at` cost until `until`, against `rate_before`; `servers` in all.
pub fn window(acknowledged: &[Entry], at: UnixMicros, until: UnixMicros, rate_before: f64, servers: usize) -> Window {
    let all: Vec<u64> = acknowledged.iter().map(|entry| entry.ended.0).collect();
    let by_server = (0..servers)
        .filter_map(|server| {
            let times: Vec<u64> = acknowledged
                .iter()
                .filter(|entry| entry.server == server)
                .map(|entry| entry.ended.0)
                .collect();
            Some((server, longest_gap(&times, at, until)?))
        })
        .collect();
    let count = between(acknowledged, at, until).count() as f64;
    Window {
        gap: longest_gap(&all, at, until),
        servers: by_server,
        dip_writes: (rate_before * seconds(at, until) - count).max(0.0),
        recovered_after_s: recovered_after_s(acknowledged, at, until, rate_before),
        p999_us: p999_us(acknowledged, at, until),
    }
}

/// The longest time without an acknowledgement that touches the window: from the last one before a silence to the first one
/// after it. `None` if there never was one before.
fn longest_gap(times: &[u64], at: UnixMicros, until: UnixMicros) -> Option<Gap> {
    let before = times.partition_point(|time| *time <= at.0);
    let after = times.partition_point(|time| *time <= until.0);
    let mut last = *times.get(before.checked_sub(1)?)?;
    let mut longest: Option<(u64, u64)> = None;
    for time in &times[before..after] {
        if longest.is_none_or(|(from, to)| time - last > to - from) {
            longest = Some((last, *time));
        }
        last = *time;
    }
    // The silence at the window's end, which a later answer may close.
    let tail = until.0 - last.min(until.0);
    if longest.is_none_or(|(from, to)| tail > to - from) {
        return Some(Gap {
            from: UnixMicros(last),
            until: times.get(after).map(|time| UnixMicros(*time)),
        });
    }
    longest.map(|(from, to)| Gap {
        from: UnixMicros(from),
        until: Some(UnixMicros(to)),
    })
}

fn recovered_after_s(acknowledged: &[Entry], at: UnixMicros, until: UnixMicros, rate_before: f64) -> Option<f64> {
    const SECOND: u64 = 1_000_000;
    let whole = usize::try_from((until.0 - at.0.min(until.0)) / SECOND).ok()?;
    let mut counts = vec![0_u64; whole];
    for entry in between(acknowledged, at, until) {
        if let Some(count) = counts.get_mut(((entry.ended.0 - at.0) / SECOND) as usize) {
            *count += 1;
        }
    }
    // The second in which the fault fell may begin well: what counts is the first good one after the last bad one's start.
    let is_good = |count: &u64| *count as f64 >= RECOVERED * rate_before;
    let first_bad = counts.iter().position(|count| !is_good(count));
    let Some(first_bad) = first_bad else {
        return Some(0.0);
    };
    let recovered = counts[first_bad..]
        .windows(RECOVERED_SECONDS)
        .position(|seconds| seconds.iter().all(is_good))?;
    Some((first_bad + recovered) as f64)
}

/// Every second from `start`, `count` of them.
pub fn per_second(entries: &[Entry], start: UnixMicros, count: u64, servers: &[String]) -> Vec<LedgerSecond> {
    let mut seconds: Vec<LedgerSecond> = (0..count)
        .map(|second| LedgerSecond {
            second,
            servers: servers.iter().map(|server| (server.clone(), 0)).collect(),
            latency: Latency::default().compacted(),
            ..LedgerSecond::default()
        })
        .collect();
    // Histograms being filled are large: one at a time.
    let mut latencies: Vec<Vec<u64>> = vec![Vec::new(); seconds.len()];
    for entry in entries.iter().filter(|entry| entry.ended >= start) {
        let at = ((entry.ended.0 - start.0) / 1_000_000) as usize;
        let Some(second) = seconds.get_mut(at) else {
            continue;
        };
        match entry.fate {
            Fate::Acknowledged => {
                second.acknowledged += 1;
                latencies[at].push(entry.ended.0.saturating_sub(entry.sent.0));
                if let Some(server) = servers.get(entry.server) {
                    *second.servers.entry(server.clone()).or_default() += 1;
                }
            }
            Fate::Unknown => second.unknown += 1,
            Fate::Refused => second.refused += 1,
        }
    }
    for (second, latencies) in seconds.iter_mut().zip(latencies) {
        let mut latency = Latency::default();
        latencies.into_iter().for_each(|us| latency.record_us(us));
        second.latency = latency.compacted();
    }
    seconds
}

fn between(acknowledged: &[Entry], from: UnixMicros, until: UnixMicros) -> impl Iterator<Item = &Entry> {
    let first = acknowledged.partition_point(|entry| entry.ended < from);
    let last = acknowledged.partition_point(|entry| entry.ended < until);
    acknowledged[first..last.max(first)].iter()
}

fn seconds(from: UnixMicros, until: UnixMicros) -> f64 {
    until.0.saturating_sub(from.0) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000;

    /// A write every 10 ms on each of two servers; server 0 is silent within `silent` (seconds).
    fn run_with_silence(seconds: u64, silent: std::ops::Range<u64>, both: bool) -> Vec<Entry> {
        let mut entries = Vec::new();
        for at in (0..seconds * S).step_by(10_000) {
            for server in 0..2 {
                let is_silent = (server == 0 || both) && at > silent.start * S && at < silent.end * S;
                entries.push(Entry {
                    op: entries.len() as i64,
                    server,
                    writer: server as u32,
                    counted: false,
                    sent: UnixMicros(at.saturating_sub(500)),
                    ended: UnixMicros(at),
                    fate: if is_silent { Fate::Unknown } else { Fate::Acknowledged },
                });
            }
        }
        entries
    }

    #[test]
    fn a_silent_server_has_a_gap_and_the_others_none() {
        let entries = acknowledged(&run_with_silence(30, 10..15, false));
        let at = UnixMicros(10 * S);
        let rate_before = rate(&entries, UnixMicros(0), at);
        assert!((rate_before - 200.0).abs() < 1.0, "{rate_before}");
        let window = window(&entries, at, UnixMicros(30 * S), rate_before, 2);
        assert_eq!(window.servers[&0].us(), Some(5 * S));
        assert_eq!(window.servers[&0].from, UnixMicros(10 * S));
        assert_eq!(window.servers[&1].us(), Some(10_000));
        assert_eq!(window.gap.unwrap().us(), Some(10_000), "somebody always answered");
        assert!((window.dip_writes - 500.0).abs() < 5.0, "{}", window.dip_writes);
        assert_eq!(window.recovered_after_s, Some(5.0));
    }

    #[test]
    fn all_silent_is_a_gap_of_the_whole() {
        let entries = acknowledged(&run_with_silence(30, 10..15, true));
        let window = window(&entries, UnixMicros(10 * S), UnixMicros(30 * S), 200.0, 2);
        assert_eq!(window.gap.unwrap().us(), Some(5 * S));
    }

    #[test]
    fn what_never_comes_back_has_a_gap_without_an_end() {
        let entries = acknowledged(&run_with_silence(30, 10..31, true));
        let window = window(&entries, UnixMicros(10 * S), UnixMicros(30 * S), 200.0, 2);
        assert_eq!(window.gap.unwrap().us(), None);
        assert_eq!(window.recovered_after_s, None);
        assert_eq!(window.p999_us, Some(500), "the write at the very moment of the fault");
    }

    #[test]
    fn nothing_lost_is_recovered_at_once() {
        let entries = acknowledged(&run_with_silence(30, 0..0, false));
        let window = window(&entries, UnixMicros(10 * S), UnixMicros(30 * S), 200.0, 2);
        assert_eq!(window.recovered_after_s, Some(0.0));
        assert!(window.dip_writes < 1.0);
    }

    #[test]
    fn seconds_count_each_fate() {
        let entries = run_with_silence(4, 1..3, false);
        let servers = ["a".to_owned(), "b".to_owned()];
        let seconds = per_second(&entries, UnixMicros(0), 4, &servers);
        assert_eq!(seconds[0].acknowledged, 200);
        assert_eq!((seconds[2].acknowledged, seconds[2].unknown), (100, 100));
        assert_eq!((seconds[2].servers["a"], seconds[2].servers["b"]), (0, 100));
    }
}
