//! Committing, restarting, and asking what became of transactions.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{Accounts, commit, commit_as, config};
use env::{Clock, Disk, Env, ManualClock, SimDisk};
use shard::{Outcome, ProposeError, Shard, TransactionId};
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
    let tickets = (shard.begin(), shard.begin());
    let (committed, abandoned) = (tickets.0.id(), tickets.1.id());
    assert_eq!(shard.outcome(committed), Outcome::NotCommitted);
    let timestamp = commit_as(&shard, committed, accounts.create()).unwrap();
    assert_eq!(shard.outcome(committed), Outcome::Committed(timestamp));
    drop(shard);
    let after_replay = open();
    assert_eq!(after_replay.outcome(committed), Outcome::Committed(timestamp));
    assert_eq!(after_replay.outcome(abandoned), Outcome::NotCommitted);
    assert!(after_replay.begin().id() > abandoned, "ids are not given twice");
    after_replay.shutdown();
    drop(after_replay);
    let after_load = open();
    assert_eq!(after_load.outcome(committed), Outcome::Committed(timestamp));
    assert_eq!(
        after_load.outcome(TransactionId {
            sequence: 0,
            ..committed
        }),
        Outcome::Forgotten
    );
}

#[test]
fn a_transaction_proposed_twice_is_applied_once() {
    let accounts = Accounts::new();
    let shard = Shard::open(config(Env::simulated(SimDisk::new(1), 1), "data")).unwrap();
    let ticket = shard.begin();
    let id = ticket.id();
    let first = commit_as(&shard, id, accounts.create()).unwrap();
    let second = commit_as(&shard, id, accounts.create()).unwrap();
    assert_eq!(first, second);
    assert_eq!(shard.status().newest_commit, first);
    assert!(first > Timestamp::ZERO);
}

#[test]
fn what_its_issuer_has_acknowledged_is_never_applied_again() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let shard = open_after(&disk);
    let ticket = shard.begin();
    let id = ticket.id();
    commit_as(&shard, id, accounts.create()).unwrap();
    drop(ticket);
    // Tells the log so.
    let one = |balance| {
        let mut writes = WriteSet::new();
        accounts.put(&mut writes, 1, balance, b"");
        writes
    };
    commit(&shard, one(1)).unwrap();
    let check = |shard: Shard| {
        assert_eq!(shard.outcome(id), Outcome::Forgotten);
        let again = commit_as(&shard, id, one(2));
        assert!(matches!(again, Err(ProposeError::Forgotten)), "{again:?}");
        assert_eq!(accounts.read(&shard), [(1, 1)]);
        shard.shutdown();
    };
    check(shard);
    // By the log and by the checkpoint.
    check(open_after(&disk));
    check(open_after(&disk));
}

#[test]
fn timestamps_keep_to_the_wall_clock_and_never_go_back() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let clock = Arc::new(ManualClock::default());
    let env = || Env {
        clock: clock.clone(),
        ..Env::simulated(disk.clone(), 1)
    };
    let shard = Shard::open(config(env(), "data")).unwrap();
    let first = commit(&shard, accounts.create()).unwrap();
    assert!(first >= Timestamp::at_wall_ms(clock.wall().as_millis() as u64));
    clock.advance(Duration::from_secs(5));
    let second = commit(&shard, WriteSet::new()).unwrap();
    assert!(second >= Timestamp::at_wall_ms(clock.wall().as_millis() as u64));
    drop(shard);
    // A clock that has gone back: it begins anew.
    let shard = open_after(&disk);
    let third = commit(&shard, WriteSet::new()).unwrap();
    assert!(
        third > second && third < Timestamp(second.0 + 10),
        "{third} after {second}"
    );
}

fn open_after(disk: &Arc<SimDisk>) -> Shard {
    disk.kill_process();
    Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap()
}

#[test]
fn a_directory_of_another_node_is_refused() {
    let disk = SimDisk::new(1);
    let node = |node_id| shard::Config {
        node_id,
        ..config(Env::simulated(disk.clone(), 1), "data")
    };
    drop(Shard::open(node(2)).unwrap());
    let refused = Shard::open(node(3)).err().map(|error| error.to_string());
    assert_eq!(
        refused.as_deref(),
        Some("data: the directory belongs to node 2, and this is started as node 3")
    );
    let ids: Vec<_> = (0..3)
        .map(|_| Shard::open(node(2)).unwrap().begin().id().issuer.incarnation)
        .collect();
    assert_eq!(ids, [2, 3, 4]);
    // The file was lost: the log remembers.
    let shard = Shard::open(node(2)).unwrap();
    commit(&shard, WriteSet::new()).unwrap();
    drop(shard);
    disk.remove(std::path::Path::new("data/identity")).unwrap();
    assert_eq!(Shard::open(node(2)).unwrap().begin().id().issuer.incarnation, 6);
}
