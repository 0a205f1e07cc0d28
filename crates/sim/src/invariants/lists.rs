//! The history of the lists: each commit appends numbers that no other appends, so that a list tells in which order they came.
//!
//! * What was answered is there, once. What failed is not. What is unknown may be there, once.
//! * An append comes right behind what its transaction had read under its lock: no update is lost.
//! * A read at a snapshot shows exactly the appends that committed up to there, in the order of their timestamps: no read is skewed, none is
//!   of a transaction that was not committed.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use types::Timestamp;

use crate::report::Report;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Committed(Timestamp),
    Failed,
    /// As [`Failed`](Self::Failed), and the same was sent again.
    SentAgain,
    /// Until somebody says otherwise: who is killed says nothing.
    Unknown,
}

#[derive(Debug, Clone)]
pub struct Append {
    pub list: i64,
    pub number: u32,
    /// What was in the list under the lock.
    pub behind: Vec<u32>,
}

#[derive(Debug, Clone)]
pub struct Attempt {
    pub who: String,
    pub appends: Vec<Append>,
    pub end: End,
}

#[derive(Debug, Clone)]
pub struct Read {
    pub who: String,
    pub snapshot: Timestamp,
    pub list: i64,
    pub found: Vec<u32>,
}

#[derive(Default)]
pub struct Lists {
    history: Mutex<History>,
}

#[derive(Default)]
struct History {
    attempts: Vec<Attempt>,
    reads: Vec<Read>,
}

impl Lists {
    /// A transaction is about to commit. Returns its number.
    pub fn begin(&self, who: String, appends: Vec<Append>) -> usize {
        let history = &mut *self.history.lock();
        let end = End::Unknown;
        history.attempts.push(Attempt { who, appends, end });
        history.attempts.len() - 1
    }

    pub fn end(&self, attempt: usize, end: End) {
        self.history.lock().attempts[attempt].end = end;
    }

    pub fn read(&self, read: Read) {
        self.history.lock().reads.push(read);
    }

    pub fn counts(&self) -> (usize, usize) {
        let history = self.history.lock();
        let committed = |attempt: &&Attempt| matches!(attempt.end, End::Committed(_));
        (history.attempts.iter().filter(committed).count(), history.reads.len())
    }

    /// Compares the history with what is in the lists at the end.
    pub fn check(&self, lists: &BTreeMap<i64, Vec<u32>>, report: &Report) {
        let history = &*self.history.lock();
        let mut places: BTreeMap<u32, (i64, usize)> = BTreeMap::new();
        for (&list, numbers) in lists {
            for (place, &number) in numbers.iter().enumerate() {
                if places.insert(number, (list, place)).is_some() {
                    report.violation("lists", format_args!("{number} was appended twice"));
                }
            }
        }
        // When each number came, where that is known.
        let mut times: BTreeMap<u32, Timestamp> = BTreeMap::new();
        for attempt in history.attempts.iter().filter(|attempt| attempt.end != End::SentAgain) {
            let who = &attempt.who;
            let there: Vec<_> = attempt
                .appends
                .iter()
                .map(|append| places.get(&append.number))
                .collect();
            if there.iter().any(Option::is_some) && there.iter().any(Option::is_none) {
                report.violation("lists", format_args!("{who}: a part of it was committed"));
            }
            for (append, place) in attempt.appends.iter().zip(&there) {
                match (&attempt.end, place) {
                    (End::Committed(at), Some(_)) => drop(times.insert(append.number, *at)),
                    (End::Committed(at), None) => {
                        let at = at.0;
                        report.violation(
                            "lists",
                            format_args!("{who}: {} was answered at {at}, and is lost", append.number),
                        );
                    }
                    (End::Failed, Some(_)) => {
                        report.violation("lists", format_args!("{who}: {} failed, and is there", append.number));
                    }
                    (End::Failed | End::SentAgain | End::Unknown, _) => {}
                }
                if let Some(&(list, place)) = *place
                    && (list != append.list || lists[&list][..place] != append.behind[..])
                {
                    report.violation(
                        "lists",
                        format_args!(
                            "{who}: {} does not stand behind what it was appended to: an update is lost",
                            append.number
                        ),
                    );
                }
            }
        }
        for (list, numbers) in lists {
            let known: Vec<_> = numbers.iter().filter_map(|number| times.get(number)).collect();
            if !known.is_sorted() {
                report.violation("lists", format_args!("list {list} is not in the order of its commits"));
            }
        }
        for read in &history.reads {
            check_read(read, &lists[&read.list], &times, report);
        }
    }
}

fn check_read(read: &Read, list: &[u32], times: &BTreeMap<u32, Timestamp>, report: &Report) {
    let (who, at) = (&read.who, read.snapshot.0);
    let Some(later) = list.strip_prefix(&read.found[..]) else {
        let what = format!(
            "{who} read {:?} of list {}, which has never been there: {list:?}",
            read.found, read.list
        );
        return report.violation("lists", what);
    };
    if let Some(number) = later
        .iter()
        .find(|number| times.get(number).is_some_and(|&time| time <= read.snapshot))
    {
        report.violation(
            "lists",
            format_args!("{who} reads at {at}, and misses {number}, which is older"),
        );
    }
    let newer = |number: &&u32| times.get(number).is_some_and(|&time| time > read.snapshot);
    if let Some(number) = read.found.iter().find(newer) {
        report.violation(
            "lists",
            format_args!("{who} reads at {at}, and sees {number}, which is newer"),
        );
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::trace::Trace;

    fn found(attempts: &[(&[(i64, u32, &[u32])], End)], reads: &[(u64, i64, &[u32])], lists: &[&[u32]]) -> usize {
        let history = Lists::default();
        for (appends, end) in attempts {
            let appends = appends.iter().map(|&(list, number, behind)| Append {
                list,
                number,
                behind: behind.to_vec(),
            });
            let attempt = history.begin("t".into(), appends.collect());
            history.end(attempt, end.clone());
        }
        for &(snapshot, list, found) in reads {
            history.read(Read {
                who: "r".into(),
                snapshot: Timestamp(snapshot),
                list,
                found: found.to_vec(),
            });
        }
        let report = Report::new(Arc::new(Trace::new(false)));
        let lists = lists.iter().zip(0..).map(|(list, id)| (id, list.to_vec())).collect();
        history.check(&lists, &report);
        report.all().len()
    }

    #[test]
    fn what_is_wrong_is_found() {
        let at = |time| End::Committed(Timestamp(time));
        let one: &[(i64, u32, &[u32])] = &[(0, 1, &[])];
        let two: &[(i64, u32, &[u32])] = &[(0, 2, &[1])];
        assert_eq!(
            found(
                &[(one, at(5)), (two, at(6))],
                &[(5, 0, &[1]), (6, 0, &[1, 2])],
                &[&[1, 2]]
            ),
            0
        );
        assert_eq!(found(&[(one, End::Unknown)], &[(5, 0, &[1])], &[&[1]]), 0);
        assert_eq!(found(&[(one, End::Unknown)], &[], &[&[]]), 0);
        assert_eq!(found(&[(one, at(5))], &[], &[&[]]), 1, "lost");
        assert_eq!(found(&[(one, End::Failed)], &[], &[&[1]]), 1, "failed, and there");
        assert!(found(&[(one, at(5))], &[], &[&[1, 1]]) > 0, "twice");
        let lost: &[(i64, u32, &[u32])] = &[(0, 2, &[])];
        assert_eq!(
            found(&[(one, at(5)), (lost, at(6))], &[], &[&[1, 2]]),
            1,
            "an update is lost"
        );
        assert_eq!(
            found(&[(one, at(5)), (two, at(6))], &[(6, 0, &[1])], &[&[1, 2]]),
            1,
            "stale"
        );
        assert_eq!(
            found(&[(one, at(5)), (two, at(6))], &[(5, 0, &[1, 2])], &[&[1, 2]]),
            1,
            "of later"
        );
        assert_eq!(found(&[(one, at(5))], &[(5, 0, &[7])], &[&[1]]), 1, "never there");
        let both: &[(i64, u32, &[u32])] = &[(0, 1, &[]), (1, 2, &[])];
        assert!(found(&[(both, End::Unknown)], &[], &[&[1], &[]]) > 0, "in part");
    }
}
