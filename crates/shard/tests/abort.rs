//! Transactions of the log that do not fit the rows: aborted alone, told, remembered, and aborted again by every replay.

use std::path::Path;

use crate::support::{ACCOUNTS, Accounts, block_on, commit, commit_as, config, propose, propose_as};
use env::{Env, SimDisk};
use shard::{Outcome, ProposeError, Shard};
use store::WriteSet;
use types::TableId;

fn open(disk: &std::sync::Arc<SimDisk>) -> Shard {
    Shard::open(config(Env::simulated(disk.clone(), 1), Path::new("data"))).unwrap()
}

fn put(accounts: &Accounts, id: i64) -> WriteSet {
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, id, id * 10, b"");
    writes
}

/// Everything that can go wrong with a transaction, behind a row that is sound.
fn misfits(accounts: &Accounts) -> Vec<WriteSet> {
    let with = |add: &dyn Fn(&mut WriteSet)| {
        let mut writes = put(accounts, 99);
        add(&mut writes);
        writes
    };
    vec![
        with(&|writes| writes.put(ACCOUNTS, b"key", b"not a row")),
        with(&|writes| writes.put(TableId(77), b"key", b"row")),
        with(&|writes| writes.delete(TableId(77), b"key")),
        with(&|writes| writes.drop_table(TableId(77))),
        with(&|writes| writes.drop_index(ACCOUNTS, types::IndexId(3))),
        with(&|writes| writes.set_auto_increment(TableId(77), 3)),
        {
            let mut writes = accounts.create();
            accounts.put(&mut writes, 99, 0, b"");
            writes
        },
    ]
}

#[test]
fn a_transaction_that_does_not_fit_is_aborted_alone() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let shard = open(&disk);
    commit(&shard, accounts.create()).unwrap();
    let mut tickets = Vec::new();
    for (at, misfit) in misfits(&accounts).into_iter().enumerate() {
        let ticket = shard.begin();
        // Together in the queue, so that they may well share a batch.
        let before = propose(&shard, put(&accounts, at as i64 * 2).into_bytes());
        let bad = propose_as(&shard, ticket.id(), misfit.into_bytes());
        let after = propose(&shard, put(&accounts, at as i64 * 2 + 1).into_bytes());
        let (before, bad, after) = (block_on(before), block_on(bad), block_on(after));
        assert!(before.unwrap() < after.unwrap());
        assert!(matches!(bad, Err(ProposeError::Aborted { .. })), "{bad:?}");
        tickets.push(ticket);
    }
    let ids: Vec<_> = tickets.iter().map(|ticket| ticket.id()).collect();
    let check = |shard: &Shard| {
        let expected: Vec<_> = (0..ids.len() as i64 * 2).map(|id| (id, id * 10)).collect();
        assert_eq!(accounts.read(shard), expected);
        assert!(ids.iter().all(|&id| shard.outcome(id) == Outcome::Aborted));
        assert_eq!(shard.status().stopped, None);
    };
    check(&shard);
    let newest = shard.status().newest_commit;
    drop(shard);
    // By the log.
    let shard = open(&disk);
    check(&shard);
    assert_eq!(
        shard.status().newest_commit,
        newest,
        "aborted transactions take no timestamp"
    );
    shard.checkpoint().unwrap();
    drop(shard);
    // By the checkpoint.
    let shard = open(&disk);
    check(&shard);
    // The same proposal again is the same transaction: its fate is known.
    let again = commit_as(&shard, ids[0], put(&accounts, 99));
    assert!(matches!(again, Err(ProposeError::Aborted { .. })), "{again:?}");
    check(&shard);
    commit(&shard, put(&accounts, 50)).unwrap();
}

#[test]
fn bytes_that_cannot_be_read_do_not_reach_the_log() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let shard = open(&disk);
    commit(&shard, accounts.create()).unwrap();
    let unreadable = propose(&shard, b"\x01\xff".to_vec());
    assert!(matches!(block_on(unreadable), Err(ProposeError::Malformed(_))));
    commit(&shard, put(&accounts, 1)).unwrap();
}

#[test]
fn a_transaction_with_locks_of_another_term_is_aborted() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let shard = open(&disk);
    commit(&shard, accounts.create()).unwrap();
    let (ticket, lock_epoch) = (shard.begin(), shard.lock_epoch());
    let with_locks_of = |shard: &Shard, lock_epoch| {
        block_on(shard.propose(shard::Transaction {
            id: ticket.id(),
            lock_epoch,
            durability: shard::Durability::MajorityDisk,
            writes: put(&accounts, 1).into_bytes(),
            memory: None,
        }))
    };
    drop(shard);
    // It leads again, in another term: somebody else may have led in between.
    let shard = open(&disk);
    assert!(shard.lock_epoch() > lock_epoch);
    for _ in 0..2 {
        let lost = with_locks_of(&shard, lock_epoch);
        assert!(
            matches!(lost, Err(ProposeError::LocksLost | ProposeError::Aborted { .. })),
            "{lost:?}"
        );
        assert_eq!(accounts.read(&shard), []);
        assert_eq!(shard.outcome(ticket.id()), Outcome::Aborted);
    }
    drop(shard);
    assert_eq!(open(&disk).outcome(ticket.id()), Outcome::Aborted, "by every replay");
}
