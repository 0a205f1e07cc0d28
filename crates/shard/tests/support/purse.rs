//! Sessions that move money, and what they must find after a crash.
//!
//! Each session moves money between its own accounts and counts its transfers in one more row, all in one transaction.
//! After a crash the counter says how many of its transfers are there: at least those that were acknowledged, at most
//! one more, and the balances are exactly those after so many, so that no transfer is there by half.

use env::SeededRandom;
use shard::{ProposeError, Shard};
use store::WriteSet;

use super::{Accounts, commit};

pub const SESSIONS: i64 = 3;
const ACCOUNTS_OF_SESSION: i64 = 5;
const OPENING_BALANCE: i64 = 100;

/// One session's money, as it must be after some number of transfers.
pub struct Purse {
    session: i64,
    balances: Vec<i64>,
    pub transfers: i64,
}

impl Purse {
    pub fn new(session: i64) -> Purse {
        Purse {
            session,
            balances: vec![OPENING_BALANCE; ACCOUNTS_OF_SESSION as usize],
            transfers: 0,
        }
    }

    fn id(&self, account: usize) -> i64 {
        self.session * 1000 + account as i64
    }

    fn counter(&self) -> i64 {
        self.session * 1000 + 999
    }

    /// The next transfer; which one it is follows from the number of transfers so far.
    pub fn transfer(&mut self, accounts: &Accounts) -> WriteSet {
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

    /// Transfers until the shard fails; returns how many were acknowledged.
    pub fn transfer_until_failure(mut self, shard: &Shard, accounts: &Accounts) -> i64 {
        loop {
            let before = self.transfers;
            match commit(shard, self.transfer(accounts)) {
                Ok(_) => {}
                Err(ProposeError::Unknown { .. } | ProposeError::Stopped { .. }) => return before,
                Err(other) => panic!("{other}"),
            }
        }
    }

    pub fn rows(&self) -> Vec<(i64, i64)> {
        let mut rows: Vec<_> = (0..self.balances.len())
            .map(|n| (self.id(n), self.balances[n]))
            .collect();
        rows.push((self.counter(), self.transfers));
        rows
    }

    /// The state after `transfers` of them.
    pub fn after(session: i64, transfers: i64, accounts: &Accounts) -> Purse {
        let mut purse = Purse::new(session);
        while purse.transfers < transfers {
            purse.transfer(accounts);
        }
        purse
    }

    /// Looks whether the rows that survived are those after all acknowledged transfers, and at most one more; returns
    /// how many.
    pub fn check(session: i64, acknowledged: i64, accounts: &Accounts, rows: &[(i64, i64)], happened: &str) -> i64 {
        let of_session: Vec<_> = rows.iter().filter(|(id, _)| id / 1000 == session).copied().collect();
        let transfers = of_session.last().expect("the counter is the last row").1;
        assert!(
            transfers == acknowledged || transfers == acknowledged + 1,
            "{happened}: {transfers} transfers of session {session}, {acknowledged} acknowledged"
        );
        let expected = Purse::after(session, transfers, accounts).rows();
        assert_eq!(of_session, expected, "{happened}: a transfer is there by half");
        transfers
    }
}

/// Everybody's opening balance.
pub fn opening(accounts: &Accounts) -> WriteSet {
    let mut writes = WriteSet::new();
    for (id, balance) in (0..SESSIONS).flat_map(|session| Purse::new(session).rows()) {
        accounts.put(&mut writes, id, balance, b"");
    }
    writes
}
