//! What was written, by the writers' own account, and whether the tables agree with it.
//!
//! Each write has a number of its own and is never sent twice, so that a row's number says which write made it:
//!
//! | the writer heard          | its row may be there |
//! |---------------------------|----------------------|
//! | the acknowledgement       | once, exactly        |
//! | nothing any more          | once, or not at all  |
//! | a refusal                 | not at all           |
//!
//! Every second write also adds one to its writer's counter in the same transaction: a lost update, which leaves no trace in
//! any row's presence, is seen by the sum, and half a transaction by the two tables disagreeing.
//!
//! No socket in here: the check is a function of the ledger and of what was read, and its tests plant losses.

use std::collections::BTreeMap;

use lab_results::UnixMicros;
use lab_results::availability::DataCheck;

/// Number of a write, unique in the series.
pub type Op = i64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Acknowledged,
    /// Sent, and no answer came.
    Unknown,
    /// The server said no, or it was never asked to commit.
    Refused,
}

/// One write's line in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub op: Op,
    /// Place in the target's list of servers.
    pub server: usize,
    pub writer: u32,
    /// Whether it also added one to the writer's counter.
    pub counted: bool,
    pub sent: UnixMicros,
    /// When its fate was known.
    pub ended: UnixMicros,
    pub fate: Fate,
}

/// What the tables hold after everything.
#[derive(Debug, Clone, Default)]
pub struct Read {
    /// By number: how many rows.
    pub rows: BTreeMap<Op, u64>,
    /// By writer.
    pub counters: BTreeMap<u32, i64>,
}

/// As many findings as a person reads.
const FINDINGS_MAX: usize = 20;

/// Holds what was read against what was written.
pub fn check(entries: &[Entry], read: &Read) -> DataCheck {
    let mut check = DataCheck::default();
    let mut rows = read.rows.clone();
    let find = |check: &mut DataCheck, finding: String| {
        if check.findings.len() < FINDINGS_MAX {
            check.findings.push(finding);
        }
    };
    for entry in entries {
        let there = rows.remove(&entry.op).unwrap_or(0);
        match entry.fate {
            Fate::Acknowledged => check.acknowledged += 1,
            Fate::Unknown => {
                check.unknown += 1;
                check.unknown_present += u64::from(there > 0);
            }
            Fate::Refused => check.refused += 1,
        }
        let write = format!(
            "write {} of writer {} (ended at {} µs)",
            entry.op, entry.writer, entry.ended.0
        );
        match (entry.fate, there) {
            (Fate::Acknowledged, 0) => {
                check.lost += 1;
                find(&mut check, format!("{write} was acknowledged and is not there"));
            }
            (Fate::Refused, 1..) => {
                check.unexpected += 1;
                find(&mut check, format!("{write} was refused and is there"));
            }
            (_, 2..) => {
                check.doubled += 1;
                find(&mut check, format!("{write} is there {there} times"));
            }
            _ => {}
        }
    }
    for (op, count) in rows {
        check.unexpected += 1;
        find(
            &mut check,
            format!("{count} rows have the number {op}, which nobody wrote"),
        );
    }
    counters(entries, read, &mut check);
    check
}

/// A counter is at least the acknowledged additions, and exactly those whose rows are there.
fn counters(entries: &[Entry], read: &Read, check: &mut DataCheck) {
    let mut expected: BTreeMap<u32, (i64, i64)> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.counted) {
        let (acknowledged, there) = expected.entry(entry.writer).or_default();
        *acknowledged += i64::from(entry.fate == Fate::Acknowledged);
        *there += i64::from(read.rows.contains_key(&entry.op));
    }
    for (writer, (acknowledged, there)) in expected {
        let found = read.counters.get(&writer).copied().unwrap_or(0);
        if found < acknowledged || found != there {
            check.wrong_counters += 1;
            if check.findings.len() < FINDINGS_MAX {
                check.findings.push(format!(
                    "the counter of writer {writer} is {found}: {acknowledged} additions were acknowledged, and the rows of {there} \
                     are there"
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five writes of writer 1: two acknowledged, two unknown, one refused; the even ones counted.
    fn entries() -> Vec<Entry> {
        let fates = [
            Fate::Acknowledged,
            Fate::Acknowledged,
            Fate::Unknown,
            Fate::Unknown,
            Fate::Refused,
        ];
        (1..)
            .zip(fates)
            .map(|(op, fate)| Entry {
                op,
                server: 0,
                writer: 1,
                counted: op % 2 == 0,
                sent: UnixMicros(op as u64 * 100),
                ended: UnixMicros(op as u64 * 100 + 50),
                fate,
            })
            .collect()
    }

    fn read(rows: &[(Op, u64)], counter: i64) -> Read {
        Read {
            rows: rows.iter().copied().collect(),
            counters: BTreeMap::from([(1, counter)]),
        }
    }

    #[test]
    fn what_is_unknown_may_be_there_or_not() {
        for (rows, counter, present) in [
            (vec![(1, 1), (2, 1)], 1, 0),
            (vec![(1, 1), (2, 1), (3, 1)], 1, 1),
            (vec![(1, 1), (2, 1), (3, 1), (4, 1)], 2, 2),
        ] {
            let check = check(&entries(), &read(&rows, counter));
            assert!(check.holds(), "{check:?}");
            assert_eq!((check.acknowledged, check.unknown, check.refused), (2, 2, 1));
            assert_eq!(check.unknown_present, present);
        }
    }

    #[test]
    fn a_planted_loss_is_found() {
        let check = check(&entries(), &read(&[(2, 1)], 1));
        assert!(!check.holds());
        assert_eq!(
            (check.lost, check.doubled, check.unexpected, check.wrong_counters),
            (1, 0, 0, 0)
        );
        assert_eq!(
            check.findings,
            ["write 1 of writer 1 (ended at 150 µs) was acknowledged and is not there"]
        );
    }

    #[test]
    fn a_write_that_is_there_twice_is_found() {
        let check = check(&entries(), &read(&[(1, 1), (2, 1), (3, 2)], 1));
        assert_eq!((check.lost, check.doubled, check.unexpected), (0, 1, 0));
    }

    #[test]
    fn a_refused_write_that_is_there_is_found_and_so_is_a_row_of_nobody() {
        let check = check(&entries(), &read(&[(1, 1), (2, 1), (5, 1), (99, 1)], 1));
        assert_eq!((check.lost, check.doubled, check.unexpected), (0, 0, 2));
    }

    #[test]
    fn a_lost_update_is_found_by_the_counter() {
        let check = check(&entries(), &read(&[(1, 1), (2, 1)], 0));
        assert_eq!((check.lost, check.wrong_counters), (0, 1));
    }

    #[test]
    fn half_a_transaction_is_found_by_the_counter() {
        let check = check(&entries(), &read(&[(1, 1), (2, 1), (4, 1)], 1));
        assert_eq!((check.lost, check.wrong_counters), (0, 1), "{check:?}");
    }
}
