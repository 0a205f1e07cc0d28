//! Large transactions: in the log in chunks, others between them, all or nothing for whoever looks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::large::{FIRST, all, balance};
use crate::support::purse::{Purse, SESSIONS, opening};
use crate::support::{ACCOUNTS, Accounts, SetsAtEnd, block_on, commit, commit_as, config, propose, propose_as};
use env::{Env, SeededRandom, SimDisk};
use shard::{Config, Outcome, ProposeError, Shard};
use store::{MemoryUse, WriteSet};
use types::TableId;

fn open(disk: &Arc<SimDisk>) -> Shard {
    Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap()
}

fn one(accounts: &Accounts, id: i64, balance: i64) -> WriteSet {
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, id, balance, b"");
    writes
}

#[test]
fn others_commit_between_the_chunks_and_nobody_sees_a_part() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let shard = open(&disk);
    commit(&shard, accounts.create()).unwrap();
    let is_over = AtomicBool::new(false);
    let commits_between = std::thread::scope(|scope| {
        let end = SetsAtEnd(&is_over);
        scope.spawn(|| {
            let mut newest = None;
            while !is_over.load(Ordering::Relaxed) {
                let seen = balance(&accounts.read(&shard), "while it runs");
                assert!(seen >= newest, "{seen:?} after {newest:?}");
                newest = seen;
            }
        });
        let mut between = 0;
        for round in 0..10 {
            let before = shard.status().newest_commit;
            let large = propose(&shard, all(&accounts, round).into_bytes());
            let small = commit(&shard, one(&accounts, round, 1)).unwrap();
            let large = block_on(large).unwrap();
            assert!(small > before && large > before);
            between += i32::from(small < large);
            assert_eq!(balance(&accounts.read(&shard), "after its answer"), Some(round));
        }
        drop(end);
        between
    });
    assert!(commits_between > 0, "a small transaction waits for no large one");
    let (rows, newest) = (accounts.read(&shard), shard.status().newest_commit);
    drop(shard);
    let shard = open(&disk);
    assert_eq!((accounts.read(&shard), shard.status().newest_commit), (rows, newest));
}

#[test]
fn a_checkpoint_waits_for_the_end_of_a_large_transaction() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let mut shard = open(&disk);
    commit(&shard, accounts.create()).unwrap();
    for round in 0..8 {
        let ticket = shard.begin();
        let id = ticket.id();
        let large = propose_as(&shard, id, all(&accounts, round).into_bytes());
        if round % 2 == 0 {
            shard.checkpoint().unwrap();
        }
        let committed = block_on(large).unwrap();
        if round % 3 == 0 {
            shard.shutdown();
        }
        drop(shard);
        shard = open(&disk);
        assert_eq!(balance(&accounts.read(&shard), "after a start"), Some(round));
        assert_eq!(shard.outcome(id), Outcome::Committed(committed));
        assert_eq!(
            commit_as(&shard, id, all(&accounts, round)).unwrap(),
            committed,
            "applied once"
        );
    }
}

#[test]
fn a_large_transaction_that_does_not_fit_is_aborted_whole() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let shard = open(&disk);
    commit(&shard, accounts.create()).unwrap();
    commit(&shard, all(&accounts, 1)).unwrap();
    shard.checkpoint().unwrap();
    let bad_row = || {
        let mut writes = all(&accounts, 2);
        writes.put(ACCOUNTS, &[0xff; 9], b"not a row");
        writes
    };
    let bad_end = || {
        let mut writes = all(&accounts, 3);
        writes.set_auto_increment(TableId(77), 5);
        writes
    };
    let mut tickets = Vec::new();
    for writes in [bad_row(), bad_end()] {
        let ticket = shard.begin();
        let error = commit_as(&shard, ticket.id(), writes).unwrap_err();
        assert!(matches!(error, ProposeError::Aborted { .. }), "{error}");
        // Its rows are free again.
        commit(&shard, one(&accounts, FIRST + 7, 1)).unwrap();
        tickets.push(ticket);
    }
    let ids: Vec<_> = tickets.iter().map(|ticket| ticket.id()).collect();
    let check = |shard: &Shard| {
        assert_eq!(balance(&accounts.read(shard), "after aborts"), Some(1));
        assert!(ids.iter().all(|&id| shard.outcome(id) == Outcome::Aborted));
    };
    check(&shard);
    let newest = shard.status().newest_commit;
    drop(shard);
    let shard = open(&disk);
    check(&shard);
    assert_eq!(shard.status().newest_commit, newest);
    commit(&shard, all(&accounts, 4)).unwrap();
    assert_eq!(balance(&accounts.read(&shard), "in the end"), Some(4));
}

#[test]
fn a_disk_that_fills_up_under_a_large_transaction_takes_it_back() {
    let accounts = Accounts::new();
    for room in 0..12 {
        let disk = SimDisk::new(1);
        let shard = open(&disk);
        commit(&shard, accounts.create()).unwrap();
        commit(&shard, all(&accounts, 1)).unwrap();
        // Fills the log bit by bit, so that each round ends at another chunk.
        for at in 0..room * 40 {
            commit(&shard, one(&accounts, at, 0)).unwrap();
        }
        disk.set_capacity(Some(disk.used()));
        let mut generation = 1;
        let ticket = loop {
            let ticket = shard.begin();
            match commit_as(&shard, ticket.id(), all(&accounts, generation + 1)) {
                Ok(_) => generation += 1,
                Err(ProposeError::DiskFull) => break ticket,
                Err(other) => panic!("{other}"),
            }
        };
        let id = ticket.id();
        assert_eq!(shard.outcome(id), Outcome::NotCommitted);
        assert_eq!(balance(&accounts.read(&shard), "full"), Some(generation));
        disk.set_capacity(None);
        shard.checkpoint().unwrap();
        commit(&shard, one(&accounts, FIRST, generation)).unwrap();
        assert_eq!(balance(&accounts.read(&shard), "with space"), Some(generation));
        // The very same one again.
        commit_as(&shard, id, all(&accounts, generation + 1)).unwrap();
        drop(shard);
        let shard = open(&disk);
        assert_eq!(balance(&accounts.read(&shard), "after a start"), Some(generation + 1));
    }
}

/// Rows that each large transaction gives its own balance, beside purses with their transfers, under power cuts.
fn history(seed: u64) {
    let disk = SimDisk::new(seed);
    let random = SeededRandom::new(seed);
    let accounts = Accounts::new();
    // The log is large enough for some of them to be cut in the middle of a segment.
    let open = || {
        Shard::open(Config {
            segment_bytes: 1 << 20,
            ..config(Env::simulated(disk.clone(), seed), "data")
        })
    };
    let shard = open().unwrap();
    commit(&shard, accounts.create()).unwrap();
    commit(&shard, opening(&accounts)).unwrap();
    commit(&shard, all(&accounts, 0)).unwrap();
    drop(shard);
    let mut acknowledged = vec![0; SESSIONS as usize];
    let mut generation = 0;
    for round in 0..3 {
        disk.cut_power_after(random.below(250));
        if let Ok(shard) = open() {
            let is_over = AtomicBool::new(false);
            let (shard, accounts, is_over) = (&shard, &accounts, &is_over);
            (acknowledged, generation) = std::thread::scope(|scope| {
                let end = SetsAtEnd(is_over);
                let sessions: Vec<_> = (0..SESSIONS)
                    .zip(&acknowledged)
                    .map(|(session, &transfers)| {
                        let purse = Purse::after(session, transfers, accounts);
                        scope.spawn(move || purse.transfer_until_failure(shard, accounts))
                    })
                    .collect();
                let large = scope.spawn(move || {
                    let mut generation = generation;
                    while commit(shard, all(accounts, generation + 1)).is_ok() {
                        generation += 1;
                    }
                    generation
                });
                if seed.is_multiple_of(2) {
                    scope.spawn(move || {
                        while !is_over.load(Ordering::Relaxed) && shard.status().stopped.is_none() {
                            // It fails when the power goes.
                            let _ = shard.checkpoint();
                        }
                    });
                }
                let acknowledged = sessions.into_iter().map(|session| session.join().unwrap()).collect();
                let generation = large.join().unwrap();
                drop(end);
                (acknowledged, generation)
            });
        }
        disk.restore_power();
        let shard = open().unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        let rows = accounts.read(&shard);
        let happened = format!("seed {seed}, round {round}");
        for (session, promised) in (0..SESSIONS).zip(&mut acknowledged) {
            *promised = Purse::check(session, *promised, &accounts, &rows, &happened);
        }
        let found = balance(&rows, &happened).expect("the rows have been there from the beginning");
        assert!(
            found == generation || found == generation + 1,
            "{happened}: {found} after {generation} were acknowledged"
        );
        generation = found;
        // What was cut off is nobody's any more.
        commit(&shard, one(&accounts, FIRST + 3000, found)).unwrap();
    }
}

#[test]
fn power_cuts_split_no_large_transaction() {
    for seed in 0..if cfg!(debug_assertions) { 12 } else { 200 } {
        history(seed);
    }
}

/// What was put into the store is given back by a start that finds no end of the transaction.
#[test]
fn what_was_cut_off_takes_no_memory() {
    for operations in 1..40 {
        let disk = SimDisk::new(operations);
        let accounts = Accounts::new();
        let shard = open(&disk);
        commit(&shard, accounts.create()).unwrap();
        disk.cut_power_after(operations);
        let is_committed = commit(&shard, all(&accounts, 1)).is_ok();
        drop(shard);
        disk.restore_power();
        let shard = open(&disk);
        if accounts.read(&shard).is_empty() {
            assert!(!is_committed);
            let used = || shard.store().memory().used_by(MemoryUse::Rows);
            // It is collected when the shard is idle.
            while used() > 0 {
                std::thread::yield_now();
            }
        }
    }
}
