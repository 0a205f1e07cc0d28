//! From what the nodes answered to lag and changes: values in, values out.

use std::collections::BTreeMap;

use lab_results::cluster::{NodeSecond, NodeWatch};
use lab_results::run::Event;
use lab_results::{UnixMicros, cluster};

/// What a node said, or that it said nothing.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    pub at: UnixMicros,
    pub node: u64,
    /// None: it did not answer, or was not serving its rows yet.
    pub answer: Option<Answer>,
}

#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub leader: Option<u64>,
    pub term: u64,
    pub last_index: u64,
    pub applied_index: u64,
}

/// A cluster during an interval.
#[derive(Debug, Default, PartialEq)]
pub struct Watched {
    pub nodes: Vec<NodeWatch>,
    pub changes: Vec<Event>,
}

/// `readings` are in the order of time; those before the interval say how things were when it began.
pub fn judge(readings: &[Reading], started: UnixMicros, measured_s: f64) -> Watched {
    let end = started.0 + (measured_s * 1e6) as u64;
    let mut watched = Watched::default();
    let mut nodes: BTreeMap<u64, BTreeMap<u64, NodeSecond>> = BTreeMap::new();
    let mut answering: BTreeMap<u64, bool> = BTreeMap::new();
    let mut leader: Option<(u64, u64)> = None;
    let mut newest_index = 0;
    for reading in readings.iter().filter(|reading| reading.at.0 <= end) {
        let is_inside = reading.at >= started;
        let mut tell = |what: String| {
            if is_inside {
                watched.changes.push(Event { at: reading.at, what });
            }
        };
        let id = reading.node;
        let answered = answering.insert(id, reading.answer.is_some());
        match (answered, reading.answer.is_some()) {
            (Some(true), false) => tell(format!("node {id} does not answer")),
            (Some(false), true) => tell(format!("node {id} answers again")),
            (None | Some(true), true) | (None | Some(false), false) => {}
        }
        let seconds = nodes.entry(id).or_default();
        let Some(answer) = reading.answer else { continue };
        if let Some(now) = answer.leader
            && leader.is_none_or(|(term, _)| term < answer.term)
        {
            match leader {
                Some((_, before)) if before != now => tell(format!("node {now} leads (term {})", answer.term)),
                Some(_) => tell(format!("node {now} was elected again (term {})", answer.term)),
                None => {}
            }
            leader = Some((answer.term, now));
        }
        newest_index = newest_index.max(answer.last_index);
        if is_inside {
            let second = (reading.at.0 - started.0) / 1_000_000;
            let of_second = seconds.entry(second).or_insert(NodeSecond {
                second,
                ..NodeSecond::default()
            });
            of_second.lag_entries = of_second
                .lag_entries
                .max(newest_index.saturating_sub(answer.applied_index));
            of_second.leads = answer.leader == Some(id);
        }
    }
    watched.nodes = nodes
        .into_iter()
        .map(|(id, seconds)| cluster::NodeWatch {
            id,
            seconds: seconds.into_values().collect(),
        })
        .collect();
    watched
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_ms: u64, node: u64, answer: Option<(u64, u64, u64, u64)>) -> Reading {
        Reading {
            at: UnixMicros(1_000_000_000 + at_ms * 1000),
            node,
            answer: answer.map(|(leader, term, last_index, applied_index)| Answer {
                leader: Some(leader),
                term,
                last_index,
                applied_index,
            }),
        }
    }

    fn seconds(watched: &Watched, node: usize) -> Vec<(u64, u64, bool)> {
        watched.nodes[node]
            .seconds
            .iter()
            .map(|second| (second.second, second.lag_entries, second.leads))
            .collect()
    }

    /// The interval begins after one second of warm-up.
    fn judged(readings: &[Reading]) -> Watched {
        judge(readings, UnixMicros(1_001_000_000), 3.0)
    }

    #[test]
    fn lag_is_what_somebody_has_and_the_node_has_not_applied() {
        let watched = judged(&[
            reading(0, 1, Some((1, 4, 10, 10))),
            reading(1100, 1, Some((1, 4, 50, 50))),
            reading(1200, 2, Some((1, 4, 45, 40))),
            reading(1900, 2, Some((1, 4, 50, 48))),
            reading(2500, 1, Some((1, 4, 60, 60))),
            reading(2600, 2, Some((1, 4, 60, 60))),
            reading(9000, 2, Some((1, 4, 90, 0))),
        ]);
        assert_eq!(seconds(&watched, 0), [(0, 0, true), (1, 0, true)]);
        assert_eq!(seconds(&watched, 1), [(0, 10, false), (1, 0, false)]);
        assert_eq!(watched.changes, []);
    }

    #[test]
    fn a_lost_leader_is_told_with_the_one_that_takes_its_place() {
        let watched = judged(&[
            reading(500, 1, Some((1, 4, 10, 10))),
            reading(600, 2, Some((1, 4, 10, 10))),
            reading(1500, 1, None),
            reading(1700, 1, None),
            // One that has not heard of it yet does not bring the old one back.
            reading(1800, 2, Some((2, 5, 12, 12))),
            reading(1900, 3, Some((1, 4, 10, 10))),
            reading(2600, 1, Some((2, 5, 12, 11))),
            reading(2900, 2, Some((2, 6, 13, 13))),
        ]);
        let told: Vec<(u64, &str)> = watched
            .changes
            .iter()
            .map(|change| ((change.at.0 - 1_001_000_000) / 1000, change.what.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (500, "node 1 does not answer"),
                (800, "node 2 leads (term 5)"),
                (1600, "node 1 answers again"),
                (1900, "node 2 was elected again (term 6)"),
            ]
        );
        assert_eq!(seconds(&watched, 0), [(1, 1, false)]);
    }

    #[test]
    fn what_changed_in_the_warm_up_is_no_news() {
        let watched = judged(&[
            reading(100, 1, Some((1, 4, 10, 10))),
            reading(300, 1, None),
            reading(500, 1, Some((2, 5, 10, 10))),
            reading(1200, 1, Some((2, 5, 10, 10))),
        ]);
        assert_eq!(watched.changes, []);
        assert_eq!(seconds(&watched, 0), [(0, 0, false)]);
    }
}
