//! Committing, restarting, and asking what became of transactions.

use crate::support::{Accounts, commit, commit_as, config};
use env::{Env, SimDisk};
use shard::{Outcome, Shard, TransactionId};
use store::WriteSet;
use types::Timestamp;

#[test]
fn commits_are_visible_and_survive_a_restart() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let shard = Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap();
    let created = commit(&shard, accounts.create()).unwrap();
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, 1, 100, b"one");
    accounts.put(&mut writes, 2, 200, b"two");
    let written = commit(&shard, writes).unwrap();
    assert!(written > created);
    assert_eq!(accounts.read(&shard), [(1, 100), (2, 200)]);
    drop(shard);
    disk.restore_power();

    let shard = Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap();
    assert_eq!(accounts.read(&shard), [(1, 100), (2, 200)]);
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, 3, 300, b"three");
    assert!(commit(&shard, writes).unwrap() > written, "timestamps do not go back");
    shard.shutdown();

    let shard = Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap();
    assert_eq!(accounts.read(&shard), [(1, 100), (2, 200), (3, 300)]);
    assert!(
        disk.paths()
            .iter()
            .any(|path| path.extension().is_some_and(|extension| extension == "checkpoint"))
    );
}

#[test]
fn outcomes_can_be_asked_for_also_after_a_restart() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let open = || Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap();
    let shard = open();
    let (committed, abandoned) = (shard.begin(), shard.begin());
    assert_eq!(shard.outcome(committed), Outcome::NotCommitted);
    let timestamp = commit_as(&shard, committed, accounts.create()).unwrap();
    assert_eq!(shard.outcome(committed), Outcome::Committed(timestamp));
    drop(shard);
    let after_replay = open();
    assert_eq!(after_replay.outcome(committed), Outcome::Committed(timestamp));
    assert_eq!(after_replay.outcome(abandoned), Outcome::NotCommitted);
    assert!(after_replay.begin() > abandoned, "ids are not given twice");
    after_replay.shutdown();
    drop(after_replay);
    let after_load = open();
    assert_eq!(after_load.outcome(committed), Outcome::Committed(timestamp));
    assert_eq!(
        after_load.outcome(TransactionId { term: 0, sequence: 0 }),
        Outcome::NotCommitted
    );
}

#[test]
fn a_transaction_proposed_twice_is_applied_once() {
    let accounts = Accounts::new();
    let shard = Shard::open(config(Env::simulated(SimDisk::new(1), 1), "data")).unwrap();
    let id = shard.begin();
    let first = commit_as(&shard, id, accounts.create()).unwrap();
    let second = commit_as(&shard, id, accounts.create()).unwrap();
    assert_eq!(first, second);
    assert_eq!(shard.status().newest_commit, first);
    assert!(first > Timestamp::ZERO);
}
