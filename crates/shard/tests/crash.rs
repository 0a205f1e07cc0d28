//! Power cuts under concurrent transfers and checkpoints; what must hold after one is told in `support/purse.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::purse::{Purse, SESSIONS, opening};
use crate::support::{Accounts, SetsAtEnd, commit, config};
use env::{Env, SeededRandom, SimDisk};
use shard::Shard;

fn history(seed: u64) {
    let disk = SimDisk::new(seed);
    let random = SeededRandom::new(seed);
    let accounts = Arc::new(Accounts::new());
    let open = || Shard::open(config(Env::simulated(disk.clone(), seed), "data"));
    let shard = open().unwrap();
    commit(&shard, accounts.create()).unwrap();
    commit(&shard, opening(&accounts)).unwrap();
    drop(shard);

    let mut acknowledged = vec![0; SESSIONS as usize];
    for round in 0..3 {
        disk.cut_power_after(random.below(400));
        if let Ok(shard) = open() {
            let is_over = AtomicBool::new(false);
            let (shard, accounts, is_over) = (&shard, &accounts, &is_over);
            acknowledged = std::thread::scope(|scope| {
                let end = SetsAtEnd(is_over);
                let sessions: Vec<_> = (0..SESSIONS)
                    .zip(&acknowledged)
                    .map(|(session, &transfers)| {
                        let purse = Purse::after(session, transfers, accounts);
                        scope.spawn(move || purse.transfer_until_failure(shard, accounts))
                    })
                    .collect();
                if seed.is_multiple_of(2) {
                    scope.spawn(move || {
                        while !is_over.load(Ordering::Relaxed) && shard.status().stopped.is_none() {
                            // It fails when the power goes.
                            let _ = shard.checkpoint();
                        }
                    });
                }
                let acknowledged = sessions.into_iter().map(|session| session.join().unwrap()).collect();
                drop(end);
                acknowledged
            });
        }
        disk.restore_power();
        let shard = open().unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        let rows = accounts.read(&shard);
        let happened = format!("seed {seed}, round {round}");
        for (session, promised) in (0..SESSIONS).zip(&mut acknowledged) {
            *promised = Purse::check(session, *promised, &accounts, &rows, &happened);
        }
    }
}

#[test]
fn power_cuts_during_the_first_start_leave_something_that_starts() {
    for operations in 0..60 {
        for seed in 0..3 {
            let disk = SimDisk::new(seed);
            let open = || Shard::open(config(Env::simulated(disk.clone(), seed), "data"));
            disk.cut_power_after(operations);
            let accounts = Accounts::new();
            let acknowledged = open().is_ok_and(|shard| commit(&shard, accounts.create()).is_ok());
            disk.restore_power();
            let shard = open().unwrap_or_else(|error| panic!("cut after {operations}, seed {seed}: {error}"));
            let is_there = shard.store().table(crate::support::ACCOUNTS).is_some();
            assert!(is_there || !acknowledged);
            if !is_there {
                commit(&shard, accounts.create()).unwrap();
            }
        }
    }
}

#[test]
fn power_cuts_lose_no_acknowledged_transfer_and_split_none() {
    for seed in 0..100 {
        history(seed);
    }
}
