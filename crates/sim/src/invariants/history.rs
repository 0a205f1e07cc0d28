//! The history of the lists, as SQL clients have seen it. Each number is appended once, so that a list tells in which order they came.
//!
//! * What was answered is there, once. What failed, or was taken back, is not. What is unknown may be there, once: a statement that was sent
//!   again was not applied twice.
//! * An append comes right behind what its transaction had read under its lock.
//! * A read shows the lists at one moment: of two reads one has all that the other has, and of a transaction it has all or nothing.
//! * Who begins after an answer comes behind it, and sees it.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use crate::report::Report;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Committed,
    Failed,
    /// Until somebody says otherwise: who is killed says nothing.
    Unknown,
}

struct Attempt {
    who: String,
    appends: Vec<(i64, u32)>,
    /// What was in the lists under the lock, where it has looked.
    behind: BTreeMap<i64, Vec<u32>>,
    begun: u64,
    answered: Option<u64>,
    end: End,
}

struct Read {
    who: String,
    begun: u64,
    found: BTreeMap<i64, Vec<u32>>,
}

#[derive(Default)]
pub struct History(Mutex<State>);

#[derive(Default)]
struct State {
    /// Of beginnings and answers, so that they have an order.
    ticks: u64,
    attempts: Vec<Attempt>,
    reads: Vec<Read>,
}

impl State {
    fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }
}

impl History {
    pub fn tick(&self) -> u64 {
        self.0.lock().tick()
    }

    pub fn begin(&self, who: &str, appends: Vec<(i64, u32)>, behind: BTreeMap<i64, Vec<u32>>) -> usize {
        let state = &mut *self.0.lock();
        let begun = state.tick();
        state.attempts.push(Attempt {
            who: who.to_owned(),
            appends,
            behind,
            begun,
            answered: None,
            end: End::Unknown,
        });
        state.attempts.len() - 1
    }

    pub fn end(&self, attempt: usize, end: End) {
        let state = &mut *self.0.lock();
        let now = state.tick();
        let attempt = &mut state.attempts[attempt];
        attempt.end = end;
        attempt.answered = Some(now);
    }

    /// A number that is appended and taken back.
    pub fn never(&self, who: &str, list: i64, number: u32) -> u32 {
        let attempt = self.begin(who, vec![(list, number)], BTreeMap::new());
        self.end(attempt, End::Failed);
        number
    }

    /// `begun`: at which tick, or 0 where it may show an earlier moment.
    pub fn read(&self, who: &str, begun: u64, found: BTreeMap<i64, Vec<u32>>) {
        self.0.lock().reads.push(Read {
            who: who.to_owned(),
            begun,
            found,
        });
    }

    pub fn counts(&self) -> (usize, usize) {
        let state = self.0.lock();
        let committed = state.attempts.iter().filter(|attempt| attempt.end == End::Committed);
        (committed.count(), state.reads.len())
    }

    /// Compares the history with what is in the lists at the end.
    pub fn check(&self, lists: &BTreeMap<i64, Vec<u32>>, report: &Report) {
        let state = &*self.0.lock();
        let wrong = |what: String| report.violation("history", what);
        let mut places: BTreeMap<u32, (i64, usize)> = BTreeMap::new();
        for (&list, numbers) in lists {
            for (place, &number) in numbers.iter().enumerate() {
                if places.insert(number, (list, place)).is_some() {
                    wrong(format!("{number} was appended twice"));
                }
            }
        }
        let mut known = BTreeSet::new();
        for attempt in &state.attempts {
            check_attempt(attempt, lists, &places, &wrong);
            known.extend(attempt.appends.iter().map(|(_, number)| *number));
        }
        for number in places.keys().filter(|number| !known.contains(number)) {
            wrong(format!("{number} is there, and nobody has appended it"));
        }
        check_order(&state.attempts, lists, &places, &wrong);
        let mut reads: Vec<&Read> = state.reads.iter().collect();
        reads.sort_by_key(|read| read.found.values().map(Vec::len).sum::<usize>());
        for read in &reads {
            check_read(read, &state.attempts, lists, &places, &wrong);
        }
        for pair in reads.windows(2) {
            let (less, more) = (pair[0], pair[1]);
            let is_within = |(list, numbers): (&i64, &Vec<u32>)| {
                more.found.get(list).is_none_or(|others| numbers.len() <= others.len())
            };
            if !less.found.iter().all(is_within) {
                wrong(format!(
                    "{} and {} have read the lists at moments of which neither is the first",
                    less.who, more.who
                ));
            }
        }
    }
}

type Places = BTreeMap<u32, (i64, usize)>;

fn check_attempt(attempt: &Attempt, lists: &BTreeMap<i64, Vec<u32>>, places: &Places, wrong: &impl Fn(String)) {
    let who = &attempt.who;
    let is_there = |(_, number): &(i64, u32)| places.contains_key(number);
    if attempt.appends.iter().any(is_there) && !attempt.appends.iter().all(is_there) {
        wrong(format!("{who}: a part of {:?} was committed", attempt.appends));
    }
    for (list, number) in &attempt.appends {
        match (attempt.end, places.get(number)) {
            (End::Committed, None) => wrong(format!("{who}: {number} was answered, and is lost")),
            (End::Failed, Some(_)) => wrong(format!("{who}: {number} failed, and is there")),
            (_, Some((found, place))) => {
                let behind = attempt.behind.get(list);
                if found != list || behind.is_some_and(|behind| lists[found][..*place] != behind[..]) {
                    wrong(format!(
                        "{who}: {number} does not stand behind what it was appended to: an update is lost"
                    ));
                }
            }
            (_, None) => {}
        }
    }
}

/// What was answered before another append began stands before it.
fn check_order(attempts: &[Attempt], lists: &BTreeMap<i64, Vec<u32>>, places: &Places, wrong: &impl Fn(String)) {
    let mut times: BTreeMap<u32, (u64, Option<u64>)> = BTreeMap::new();
    for attempt in attempts {
        let answered = attempt.answered.filter(|_| attempt.end == End::Committed);
        for (_, number) in attempt.appends.iter().filter(|(_, number)| places.contains_key(number)) {
            times.insert(*number, (attempt.begun, answered));
        }
    }
    for (list, numbers) in lists {
        let mut first_answer = u64::MAX;
        for (begun, answered) in numbers.iter().rev().filter_map(|number| times.get(number)) {
            if first_answer < *begun {
                wrong(format!("list {list} is not in the order of its answers"));
            }
            first_answer = first_answer.min(answered.unwrap_or(u64::MAX));
        }
    }
}

fn check_read(
    read: &Read,
    attempts: &[Attempt],
    lists: &BTreeMap<i64, Vec<u32>>,
    places: &Places,
    wrong: &impl Fn(String),
) {
    let who = &read.who;
    for (list, found) in &read.found {
        if lists.get(list).is_none_or(|numbers| !numbers.starts_with(found)) {
            wrong(format!(
                "{who} read {found:?} of list {list}, which has never been there"
            ));
            return;
        }
    }
    let shows = |number: &u32| {
        let (list, place) = places.get(number)?;
        Some(*place < read.found.get(list)?.len())
    };
    for attempt in attempts {
        let shown: BTreeSet<bool> = attempt.appends.iter().filter_map(|(_, number)| shows(number)).collect();
        if shown.len() > 1 {
            wrong(format!("{who} read a part of {:?} of {}", attempt.appends, attempt.who));
        }
        let was_answered = attempt.answered.is_some_and(|answered| answered < read.begun);
        if attempt.end == End::Committed && was_answered && shown.contains(&false) {
            wrong(format!(
                "{who} does not see {:?} of {}, which was answered before",
                attempt.appends, attempt.who
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::trace::Trace;

    fn findings(make: impl FnOnce(&History), lists: &[(i64, &[u32])]) -> Vec<String> {
        let report = Report::new(Arc::new(Trace::new(false)));
        let history = History::default();
        make(&history);
        let lists = lists.iter().map(|(list, numbers)| (*list, numbers.to_vec())).collect();
        history.check(&lists, &report);
        report.all().into_iter().map(|found| found.what).collect()
    }

    fn append(history: &History, appends: &[(i64, u32)], end: End) {
        let attempt = history.begin("a", appends.to_vec(), BTreeMap::new());
        history.end(attempt, end);
    }

    #[test]
    fn a_good_history_is_good() {
        let found = findings(
            |history| {
                append(history, &[(0, 1), (1, 2)], End::Committed);
                append(history, &[(0, 3)], End::Unknown);
                history.read("r", history.tick(), [(0, vec![1]), (1, vec![2])].into());
                append(history, &[(0, 4)], End::Failed);
            },
            &[(0, &[1, 3]), (1, &[2])],
        );
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn each_broken_promise_is_found() {
        let one = |history: &History| append(history, &[(0, 1)], End::Committed);
        let both = |history: &History| append(history, &[(0, 1), (1, 2)], End::Committed);
        assert_eq!(findings(one, &[(0, &[])]).len(), 1, "lost");
        assert_eq!(findings(one, &[(0, &[1, 1])]).len(), 1, "twice");
        assert!(!findings(both, &[(0, &[1]), (1, &[])]).is_empty(), "a part");
        let failed = |history: &History| append(history, &[(0, 1)], End::Failed);
        assert_eq!(findings(failed, &[(0, &[1])]).len(), 1, "failed");
        let swapped = |history: &History| {
            append(history, &[(0, 1)], End::Committed);
            append(history, &[(0, 2)], End::Committed);
        };
        assert_eq!(findings(swapped, &[(0, &[2, 1])]).len(), 1, "order");
        let stale = |history: &History| {
            append(history, &[(0, 1)], End::Committed);
            history.read("r", history.tick(), [(0, vec![])].into());
        };
        assert_eq!(findings(stale, &[(0, &[1])]).len(), 1, "stale");
        let skewed = |history: &History| {
            append(history, &[(0, 1)], End::Committed);
            append(history, &[(1, 2)], End::Committed);
            history.read("r", 0, [(0, vec![1]), (1, vec![])].into());
            history.read("s", 0, [(0, vec![]), (1, vec![2])].into());
        };
        assert_eq!(findings(skewed, &[(0, &[1]), (1, &[2])]).len(), 1, "skewed");
    }
}
