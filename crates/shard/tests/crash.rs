//! Power cuts under concurrent transfers and checkpoints.
//!
//! Each session moves money between its own accounts and counts its transfers in one more row, all in one transaction.
//! After the cut, a session's counter says how many of its transfers are there: at least those that were acknowledged,
//! at most one more, and the balances are exactly those after so many, so that no transfer is there by half.

#![allow(clippy::unwrap_used)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use env::{Env, SeededRandom, SimDisk};
use shard::{ProposeError, Shard};
use store::WriteSet;
use support::{Accounts, commit, config};

const SESSIONS: i64 = 3;
const ACCOUNTS_OF_SESSION: i64 = 5;
const OPENING_BALANCE: i64 = 100;

/// One session's money, as it must be after some number of transfers.
#[derive(Clone)]
struct Purse {
    session: i64,
    balances: Vec<i64>,
    transfers: i64,
}

impl Purse {
    fn new(session: i64) -> Purse {
        Purse { session, balances: vec![OPENING_BALANCE; ACCOUNTS_OF_SESSION as usize], transfers: 0 }
    }

    fn id(&self, account: usize) -> i64 {
        self.session * 1000 + account as i64
    }

    fn counter(&self) -> i64 {
        self.session * 1000 + 999
    }

    /// The next transfer; which one it is follows from the number of transfers so far.
    fn transfer(&mut self, accounts: &Accounts) -> WriteSet {
        let random = SeededRandom::new((self.session * 1_000_000 + self.transfers) as u64);
        let pick = || random.below(ACCOUNTS_OF_SESSION as u64) as usize;
        let (from, to, amount) = (pick(), pick(), random.below(50) as i64);
        self.balances[from] -= amount;
        self.balances[to] += amount;
        self.transfers += 1;
        let note = vec![7; random.below(600) as usize];
        let mut writes = WriteSet::new();
        for account in [from, to] {
            accounts.put(&mut writes, self.id(account), self.balances[account], &note);
        }
        accounts.put(&mut writes, self.counter(), self.transfers, b"");
        writes
    }

    fn rows(&self) -> Vec<(i64, i64)> {
        let mut rows: Vec<_> = (0..self.balances.len()).map(|n| (self.id(n), self.balances[n])).collect();
        rows.push((self.counter(), self.transfers));
        rows
    }

    /// The state after `transfers` of them.
    fn after(session: i64, transfers: i64, accounts: &Accounts) -> Purse {
        let mut purse = Purse::new(session);
        while purse.transfers < transfers {
            purse.transfer(accounts);
        }
        purse
    }
}

/// Transfers until the shard fails; returns how many were acknowledged.
fn run_session(shard: &Shard, accounts: &Accounts, mut purse: Purse) -> i64 {
    loop {
        let before = purse.transfers;
        match commit(shard, purse.transfer(accounts)) {
            Ok(_) => {}
            Err(ProposeError::Unknown { .. } | ProposeError::Stopped { .. }) => return before,
            Err(other) => panic!("{other}"),
        }
    }
}

fn history(seed: u64) {
    let disk = SimDisk::new(seed);
    let random = SeededRandom::new(seed);
    let accounts = Arc::new(Accounts::new());
    let open = || Shard::open(config(Env::simulated(disk.clone(), seed), "data"));
    let shard = open().unwrap();
    commit(&shard, accounts.create()).unwrap();
    let mut opening = WriteSet::new();
    for (id, balance) in (0..SESSIONS).flat_map(|session| Purse::new(session).rows()) {
        accounts.put(&mut opening, id, balance, b"");
    }
    commit(&shard, opening).unwrap();
    drop(shard);

    let mut acknowledged = vec![0; SESSIONS as usize];
    for round in 0..3 {
        disk.cut_power_after(random.below(400));
        if let Ok(shard) = open() {
            let is_over = AtomicBool::new(false);
            let (shard, accounts, is_over) = (&shard, &accounts, &is_over);
            acknowledged = std::thread::scope(|scope| {
                let sessions: Vec<_> = (0..SESSIONS)
                    .zip(&acknowledged)
                    .map(|(session, &transfers)| {
                        let purse = Purse::after(session, transfers, accounts);
                        scope.spawn(move || run_session(shard, accounts, purse))
                    })
                    .collect();
                if seed % 2 == 0 {
                    scope.spawn(move || {
                        while !is_over.load(Ordering::Relaxed) && shard.status().stopped.is_none() {
                            // It fails when the power goes.
                            let _ = shard.checkpoint();
                        }
                    });
                }
                let acknowledged = sessions.into_iter().map(|session| session.join().unwrap()).collect();
                is_over.store(true, Ordering::Relaxed);
                acknowledged
            });
        }
        disk.restore_power();
        let shard = open().unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        let rows = accounts.read(&shard);
        for session in 0..SESSIONS {
            let of_session: Vec<_> = rows.iter().filter(|(id, _)| id / 1000 == session).copied().collect();
            let transfers = of_session.last().unwrap().1;
            let promised = acknowledged[session as usize];
            assert!(
                transfers == promised || transfers == promised + 1,
                "seed {seed}, round {round}: {transfers} transfers of session {session}, {promised} acknowledged"
            );
            let expected = Purse::after(session, transfers, &accounts).rows();
            assert_eq!(of_session, expected, "seed {seed}, round {round}: a transfer is there by half");
            acknowledged[session as usize] = transfers;
        }
    }
}

#[test]
fn power_cuts_lose_no_acknowledged_transfer_and_split_none() {
    for seed in 0..100 {
        history(seed);
    }
}
