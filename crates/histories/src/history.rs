//! What clients did and saw: transactions of reads and writes of versions.
//!
//! A key has versions at positions 1, 2, 3 …; position 0 is nothing. A list's position is its length. A register counts its own changes,
//! so that its versions are in order too.

use std::collections::{BTreeMap, HashMap};

use crate::Level;
use crate::graph;
use crate::session::Outcome;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Read(Read),
    Write { key: u32, value: u32 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub key: u32,
    pub position: u32,
    /// The newest value; 0 at position 0.
    pub value: u32,
    /// All values of a list.
    pub list: Vec<u32>,
    /// The row was locked by the read.
    pub is_locking: bool,
}

#[derive(Debug, Clone)]
pub struct Transaction {
    /// Moments of one clock that all clients share.
    pub start: u64,
    pub end: u64,
    pub outcome: Outcome,
    pub ops: Vec<Op>,
}

/// What the keys hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Objects {
    #[default]
    Lists,
    Registers,
}

/// Transactions over one set of keys; the last one reads all of them.
#[derive(Debug, Default)]
pub struct History {
    pub objects: Objects,
    pub transactions: Vec<Transaction>,
}

/// The versions of a key that somebody has seen, in order.
pub type Order = BTreeMap<u32, u32>;

impl History {
    /// What a level excludes and the history has.
    pub fn check(&self, level: Level) -> Vec<String> {
        let mut found = Vec::new();
        let orders = self.orders(&mut found);
        let writers = self.writers(&mut found);
        self.check_reads(&orders, &writers, level, &mut found);
        match self.objects {
            Objects::Lists => self.check_lists(&orders, &mut found),
            Objects::Registers => self.check_registers(&mut found),
        }
        if found.is_empty() {
            found.extend(graph::cycles(self, &orders, &writers, level));
        }
        found
    }

    /// Each key's versions, from all that anybody has seen of them.
    fn orders(&self, found: &mut Vec<String>) -> HashMap<u32, Order> {
        let mut orders: HashMap<u32, Order> = HashMap::new();
        let mut see = |key: u32, position: u32, value: u32| {
            let known = *orders.entry(key).or_default().entry(position).or_insert(value);
            if known != value {
                found.push(format!(
                    "lost update: version {position} of key {key} is both {known} and {value}"
                ));
            }
        };
        for transaction in self.committed() {
            for op in &transaction.ops {
                if let Op::Read(read) = op
                    && read.position > 0
                {
                    see(read.key, read.position, read.value);
                    for (at, value) in read.list.iter().enumerate() {
                        see(read.key, at as u32 + 1, *value);
                    }
                }
            }
        }
        for (key, order) in &orders {
            let mut values: Vec<u32> = order.values().copied().collect();
            values.sort_unstable();
            if let Some(pair) = values.windows(2).find(|pair| pair[0] == pair[1]) {
                found.push(format!("applied twice: {} is in key {key} more than once", pair[0]));
            }
        }
        orders
    }

    fn committed(&self) -> impl Iterator<Item = &Transaction> {
        let mut all = self.transactions.iter();
        std::iter::from_fn(move || all.find(|transaction| transaction.outcome == Outcome::Committed))
    }

    /// Which transaction has written a value.
    fn writers(&self, found: &mut Vec<String>) -> HashMap<u32, usize> {
        let mut writers = HashMap::new();
        for (at, transaction) in self.transactions.iter().enumerate() {
            for op in &transaction.ops {
                if let Op::Write { value, .. } = op
                    && writers.insert(*value, at).is_some()
                {
                    found.push(format!("the test has written {value} twice"));
                }
            }
        }
        writers
    }

    fn check_reads(
        &self,
        orders: &HashMap<u32, Order>,
        writers: &HashMap<u32, usize>,
        level: Level,
        found: &mut Vec<String>,
    ) {
        for (at, transaction) in self.transactions.iter().enumerate() {
            if transaction.outcome != Outcome::Committed {
                continue;
            }
            let mut known: HashMap<u32, Known> = HashMap::new();
            for op in &transaction.ops {
                match op {
                    Op::Write { key, value } => known.entry(*key).or_default().write(*value),
                    Op::Read(read) => {
                        if let Some(problem) = known.entry(read.key).or_default().read(read, level) {
                            found.push(problem);
                        }
                        self.check_read(at, read, orders, writers, found);
                    }
                }
            }
        }
    }

    /// Who has written what is read, and whether it is new enough.
    fn check_read(
        &self,
        at: usize,
        read: &Read,
        orders: &HashMap<u32, Order>,
        writers: &HashMap<u32, usize>,
        found: &mut Vec<String>,
    ) {
        let Read {
            key, position, value, ..
        } = read;
        let newest = (*position > 0).then_some(value);
        for value in read.list.iter().chain(newest) {
            match writers.get(value).map(|&writer| &self.transactions[writer]) {
                None => found.push(format!("read {value} of key {key}, which nobody has written")),
                Some(writer) if writer.outcome == Outcome::Aborted => {
                    found.push(format!("G1a aborted read: {value} of key {key}"));
                }
                Some(_) => {}
            }
        }
        if let Some(&writer) = writers.get(value)
            && writer != at
            && self.last_write(writer, *key) != Some(*value)
        {
            found.push(format!("G1b intermediate read: {value} of key {key}"));
        }
        self.check_fresh(&self.transactions[at], *key, *position, orders, writers, found);
    }

    fn last_write(&self, transaction: usize, key: u32) -> Option<u32> {
        let mut ops = self.transactions[transaction].ops.iter().rev();
        ops.find_map(|op| match op {
            Op::Write { key: written, value } if *written == key => Some(*value),
            _ => None,
        })
    }

    /// What was committed before a transaction began, it sees.
    fn check_fresh(
        &self,
        reader: &Transaction,
        key: u32,
        position: u32,
        orders: &HashMap<u32, Order>,
        writers: &HashMap<u32, usize>,
        found: &mut Vec<String>,
    ) {
        let Some(order) = orders.get(&key) else { return };
        let Some((_, next)) = order.range(position + 1..).next() else {
            return;
        };
        let Some(writer) = writers.get(next).map(|&writer| &self.transactions[writer]) else {
            return;
        };
        if writer.outcome == Outcome::Committed && writer.end < reader.start {
            found.push(format!(
                "stale read: version {position} of key {key}, when {next} was committed before"
            ));
        }
    }

    /// What was committed is there in the end.
    fn check_lists(&self, orders: &HashMap<u32, Order>, found: &mut Vec<String>) {
        for transaction in self.committed() {
            for op in &transaction.ops {
                let Op::Write { key, value } = op else { continue };
                if !orders
                    .get(key)
                    .is_some_and(|order| order.values().any(|known| known == value))
                {
                    found.push(format!(
                        "lost write: {value} of key {key} was committed and is not there"
                    ));
                }
            }
        }
    }

    /// A register counts its changes: in the end it has at least those that were committed, at most those that may have been.
    fn check_registers(&self, found: &mut Vec<String>) {
        let mut counts: HashMap<u32, (u32, u32)> = HashMap::new();
        for transaction in &self.transactions {
            for op in &transaction.ops {
                let Op::Write { key, .. } = op else { continue };
                let (least, most) = counts.entry(*key).or_default();
                *least += u32::from(transaction.outcome == Outcome::Committed);
                *most += u32::from(transaction.outcome != Outcome::Aborted);
            }
        }
        for op in self.transactions.last().iter().flat_map(|last| &last.ops) {
            let Op::Read(Read { key, position, .. }) = op else {
                continue;
            };
            let (least, most) = counts.get(key).copied().unwrap_or_default();
            if *position < least {
                found.push(format!(
                    "lost write: key {key} has {position} changes, {least} were committed"
                ));
            }
            if *position > most {
                found.push(format!(
                    "applied twice, or aborted: key {key} has {position} changes, {most} were tried"
                ));
            }
        }
    }
}

/// What a transaction knows of a key.
#[derive(Default)]
struct Known {
    /// What it has seen or written last.
    last: Option<(u32, Source)>,
    /// The version that it has to find, as nobody else may write until its end.
    position: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Read,
    Write,
}

impl Known {
    fn write(&mut self, value: u32) {
        self.last = Some((value, Source::Write));
        self.position = self.position.map(|position| position + 1);
    }

    fn read(&mut self, read: &Read, level: Level) -> Option<String> {
        let Read {
            key, value, position, ..
        } = read;
        let is_fixed = matches!(level, Level::RepeatableRead | Level::Serializable);
        let has_written = matches!(self.last, Some((_, Source::Write)));
        let problem = match (self.last, self.position) {
            (Some((own, Source::Write)), _) if own != *value => {
                Some(format!("internal: wrote {own} to key {key}, then read {value}"))
            }
            (Some((seen, Source::Read)), _) if seen != *value && is_fixed => {
                Some(format!("unrepeatable read: {seen}, then {value} in key {key}"))
            }
            (_, Some(expected)) if expected != *position => Some(format!(
                "lost update: key {key} was to be at version {expected} and is at {position}"
            )),
            _ => None,
        };
        self.last = Some((*value, if has_written { Source::Write } else { Source::Read }));
        if is_fixed || read.is_locking || has_written || self.position.is_some() {
            self.position = Some(*position);
        }
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: u32, list: &[u32]) -> Op {
        Op::Read(Read {
            key,
            position: list.len() as u32,
            value: list.last().copied().unwrap_or(0),
            list: list.to_vec(),
            is_locking: false,
        })
    }

    fn write(key: u32, value: u32) -> Op {
        Op::Write { key, value }
    }

    fn history(all: Vec<(u64, u64, Vec<Op>)>) -> History {
        let transaction = |(start, end, ops)| Transaction {
            start,
            end,
            outcome: Outcome::Committed,
            ops,
        };
        History {
            objects: Objects::Lists,
            transactions: all.into_iter().map(transaction).collect(),
        }
    }

    fn finds(history: &History, level: Level, what: &str) -> bool {
        history.check(level).iter().any(|found| found.starts_with(what))
    }

    #[test]
    fn write_skew_is_a_cycle_of_two_antidependencies() {
        let h = history(vec![
            (1, 10, vec![read(1, &[]), write(2, 20)]),
            (2, 11, vec![read(2, &[]), write(1, 10)]),
            (20, 21, vec![read(1, &[10]), read(2, &[20])]),
        ]);
        assert_eq!(h.check(Level::RepeatableRead), [""; 0]);
        assert!(finds(&h, Level::Serializable, "G2"));
    }

    #[test]
    fn read_skew_is_a_cycle_of_one_antidependency() {
        let h = history(vec![
            (1, 10, vec![read(1, &[]), read(2, &[20])]),
            (2, 5, vec![write(1, 10), write(2, 20)]),
            (20, 21, vec![read(1, &[10]), read(2, &[20])]),
        ]);
        assert_eq!(h.check(Level::ReadCommitted), [""; 0]);
        assert!(finds(&h, Level::RepeatableRead, "G-single"));
    }

    #[test]
    fn lost_update_of_a_list() {
        let h = history(vec![
            (1, 10, vec![read(1, &[]), write(1, 10)]),
            (2, 11, vec![read(1, &[]), write(1, 11)]),
            (20, 21, vec![read(1, &[10, 11])]),
        ]);
        assert_eq!(h.check(Level::ReadCommitted), [""; 0]);
        assert!(finds(&h, Level::RepeatableRead, "G-single"));
    }

    #[test]
    fn stale_and_lost() {
        let h = history(vec![
            (1, 2, vec![write(1, 10)]),
            (5, 6, vec![read(1, &[])]),
            (20, 21, vec![read(1, &[10])]),
        ]);
        assert!(finds(&h, Level::ReadCommitted, "stale read"));
        let h = history(vec![(1, 2, vec![write(1, 10)]), (20, 21, vec![read(1, &[])])]);
        assert!(finds(&h, Level::ReadCommitted, "lost write"));
    }

    #[test]
    fn circular_information_flow() {
        let h = history(vec![
            (1, 10, vec![write(1, 10), read(2, &[20])]),
            (2, 11, vec![write(2, 20), read(1, &[10])]),
        ]);
        assert!(finds(&h, Level::ReadCommitted, "G1c"));
    }

    #[test]
    fn write_cycles() {
        let h = history(vec![
            (1, 10, vec![write(1, 10), write(2, 20)]),
            (2, 11, vec![write(1, 11), write(2, 21)]),
            (20, 21, vec![read(1, &[10, 11]), read(2, &[21, 20])]),
        ]);
        assert!(finds(&h, Level::ReadCommitted, "G0"));
    }

    #[test]
    fn aborted_and_intermediate_reads() {
        let mut h = history(vec![
            (1, 2, vec![write(1, 10)]),
            (3, 4, vec![read(1, &[10])]),
            (20, 21, vec![read(1, &[])]),
        ]);
        h.transactions[0].outcome = Outcome::Aborted;
        assert!(finds(&h, Level::ReadCommitted, "G1a"));
        let h = history(vec![
            (1, 9, vec![write(1, 10), write(1, 11)]),
            (3, 4, vec![read(1, &[10])]),
            (20, 21, vec![read(1, &[10, 11])]),
        ]);
        assert!(finds(&h, Level::ReadCommitted, "G1b"));
    }

    #[test]
    fn what_a_transaction_knows_of_its_own_keys() {
        let h = history(vec![
            (1, 9, vec![write(1, 10), read(1, &[])]),
            (20, 21, vec![read(1, &[10])]),
        ]);
        assert!(finds(&h, Level::ReadCommitted, "internal"));
        let h = history(vec![
            (1, 9, vec![read(1, &[]), read(1, &[10])]),
            (2, 3, vec![write(1, 10)]),
            (20, 21, vec![read(1, &[10])]),
        ]);
        assert_eq!(h.check(Level::ReadCommitted), [""; 0]);
        assert!(finds(&h, Level::RepeatableRead, "unrepeatable"));
    }

    #[test]
    fn a_lost_update_behind_a_lock() {
        let locked = Op::Read(Read {
            key: 1,
            position: 0,
            value: 0,
            list: Vec::new(),
            is_locking: true,
        });
        let h = history(vec![
            (1, 9, vec![locked, write(1, 11), read(1, &[10, 11])]),
            (2, 3, vec![write(1, 10)]),
            (20, 21, vec![read(1, &[10, 11])]),
        ]);
        assert!(finds(&h, Level::ReadCommitted, "lost update"));
    }

    #[test]
    fn unknown_commits_may_have_happened_or_not() {
        for list in [&[10][..], &[]] {
            let mut h = history(vec![(1, u64::MAX, vec![write(1, 10)]), (20, 21, vec![read(1, list)])]);
            h.transactions[0].outcome = Outcome::Unknown;
            assert_eq!(h.check(Level::Serializable), [""; 0]);
        }
    }

    #[test]
    fn registers_count() {
        let at = |position, value| {
            Op::Read(Read {
                key: 1,
                position,
                value,
                list: Vec::new(),
                is_locking: false,
            })
        };
        let with = |last| History {
            objects: Objects::Registers,
            ..history(vec![
                (1, 2, vec![write(1, 10)]),
                (3, 4, vec![write(1, 11)]),
                (20, 21, vec![last]),
            ])
        };
        assert_eq!(with(at(2, 11)).check(Level::Serializable), [""; 0]);
        assert!(finds(&with(at(1, 11)), Level::ReadCommitted, "lost write"));
        assert!(finds(&with(at(3, 11)), Level::ReadCommitted, "applied twice"));
    }
}
