//! Bugs planted in the server (`env::failpoints`): a machine that finds none of these would find no other, either.

use anyhow::{Context, Result};
use env::{Random, SeededRandom};

use crate::round::{self, Plan};
use crate::workload::WORKLOADS;
use crate::{Arguments, Level, start};

pub struct Bug {
    /// The step that goes wrong, and what that means.
    pub step: &'static str,
    pub about: &'static str,
    /// Once in so many times.
    pub one_in: u32,
    pub when: When,
    pub workload: &'static str,
    pub level: Level,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Running,
    /// While the log is replayed after a kill.
    Restarting,
}

const fn bug(step: &'static str, one_in: u32, workload: &'static str, level: Level, about: &'static str) -> Bug {
    Bug {
        step,
        about,
        one_in,
        when: When::Running,
        workload,
        level,
    }
}

use Level::{ReadCommitted as RC, RepeatableRead as RR, Serializable as SER};

pub const BUGS: &[Bug] = &[
    bug(
        "settle",
        1,
        "list-append",
        RR,
        "a first statement is not run again behind its locks",
    ),
    bug(
        "conflict",
        1,
        "registers",
        RR,
        "a row newer than the snapshot is overwritten",
    ),
    bug("lock", 4, "counters", RC, "a row is changed without its lock"),
    bug(
        "lock.commit",
        2,
        "counters",
        RC,
        "locks are let go before the commit is visible",
    ),
    bug(
        "lock.statement",
        2,
        "list-append",
        RC,
        "locks are let go at the end of the statement",
    ),
    bug(
        "snapshot.refresh",
        1,
        "list-append",
        SER,
        "what was read before the lock was there counts",
    ),
    bug(
        "snapshot.keep",
        2,
        "list-append",
        RR,
        "a statement reads at a newer snapshot than the one before",
    ),
    bug(
        "snapshot.statement",
        2,
        "bank",
        RC,
        "two parts of a statement read at two moments",
    ),
    bug(
        "overlay",
        3,
        "list-append",
        RC,
        "a transaction does not see its own write",
    ),
    bug(
        "restart",
        1,
        "list-append",
        RR,
        "a statement that runs again is applied twice",
    ),
    bug(
        "unique",
        1,
        "unique-keys",
        RC,
        "a duplicate of a unique key is not noticed",
    ),
    bug(
        "skip_locked",
        1,
        "queue",
        RC,
        "SKIP LOCKED gives out what another has locked",
    ),
    bug(
        "foreign_key.parent",
        2,
        "foreign-keys",
        RC,
        "a child is added without its parent",
    ),
    bug(
        "foreign_key.children",
        2,
        "foreign-keys",
        RC,
        "a parent is removed in spite of its children",
    ),
    bug(
        "serializable",
        1,
        "registers",
        SER,
        "reads at SERIALIZABLE take no locks",
    ),
    bug(
        "serializable.range",
        1,
        "claims",
        SER,
        "ranges at SERIALIZABLE are not locked, only keys",
    ),
    bug("rollback", 2, "registers", RC, "what was rolled back is committed"),
    bug(
        "rollback.statement",
        1,
        "pairs",
        RC,
        "a statement that failed leaves its first rows",
    ),
    bug(
        "savepoint",
        1,
        "list-append",
        RC,
        "ROLLBACK TO SAVEPOINT undoes nothing",
    ),
    bug(
        "commit",
        20,
        "list-append",
        RC,
        "a commit is acknowledged that was never logged",
    ),
    bug("commit.row", 20, "bank", RC, "a commit loses one of its rows"),
    bug(
        "shard.applying",
        20,
        "registers",
        RC,
        "a logged transaction is acknowledged and not applied",
    ),
    Bug {
        when: When::Restarting,
        ..bug(
            "shard.applying",
            1,
            "list-append",
            RC,
            "a logged transaction is gone after a restart",
        )
    },
];

/// How often a bug is given a chance at most; which of them it takes is chance, too, and on a machine with other work some take many.
const ROUNDS: u32 = 40;
const TRANSACTIONS: u32 = 400;

/// How many bugs were not found.
pub fn run(arguments: &Arguments, seed: u64, only: Option<&str>) -> Result<usize> {
    let random = SeededRandom::new(seed);
    let (mut tried, mut missed) = (0, 0);
    for bug in BUGS {
        if only.is_some_and(|only| only != bug.step) {
            continue;
        }
        tried += 1;
        match find(arguments, bug, &random).with_context(|| bug.step.to_owned())? {
            Some(finding) => println!("found {}: {}\n      {finding}", bug.step, bug.about),
            None => {
                missed += 1;
                println!("MISSED {}: {}", bug.step, bug.about);
            }
        }
    }
    println!("{} passed, {missed} failed", tried - missed);
    Ok(missed)
}

fn find(arguments: &Arguments, bug: &Bug, random: &SeededRandom) -> Result<Option<String>> {
    let workload = WORKLOADS.iter().find(|(name, _)| *name == bug.workload);
    let (_, make) = workload.context("no such workload")?;
    // What a bug has broken is no server for the next one.
    let mut server = start(arguments)?;
    for round in 0..ROUNDS {
        if round > 0 && bug.when == When::Restarting {
            // The log has to begin with this round: another one's loss nobody would see.
            drop(server);
            server = start(arguments)?;
        }
        let rules = match bug.when {
            When::Running => format!("{}=wrong%{}/{}", bug.step, bug.one_in, random.below(1 << 20)),
            // Behind those that have made the tables.
            When::Restarting => format!("{}=wrong@{}", bug.step, 40 + random.below(60)),
        };
        let plan = Plan {
            level: bug.level,
            clients: arguments.clients,
            transactions: TRANSACTIONS,
            kills: u32::from(bug.when == When::Restarting),
            seed: random.next_u64(),
            stops_at_finding: true,
            restart_failpoints: if bug.when == When::Restarting { &rules } else { "" },
        };
        let failpoints = if bug.when == When::Running { rules.as_str() } else { "" };
        let report = round::run(&server, &*make(TRANSACTIONS), &plan, failpoints)?;
        if let Some(finding) = report.findings.into_iter().next() {
            return Ok(Some(finding));
        }
    }
    Ok(None)
}
