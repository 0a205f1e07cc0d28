//! Prepared transactions: nobody sees what they would change, whoever leads holds what they hold, and they end once.

use std::sync::Arc;

use crate::support::cluster::{Cluster, wait_for};
use crate::support::large::all;
use crate::support::{ACCOUNTS, Accounts, commit, config, one};
use env::{Env, SimDisk};
use shard::{PREPARED, PreparedName, PreparedTransaction, ProposeError, Shard, prepared_specs};
use store::{IndexId, LockKey, LockMode, LockModes, LockTarget, Store, WriteOp, WriteOps, WriteSet};

fn open(disk: &Arc<SimDisk>) -> Shard {
    Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap()
}

/// The tables of accounts and of prepared transactions.
fn tables(accounts: &Accounts) -> WriteSet {
    let mut writes = accounts.create();
    prepared_specs().iter().for_each(|spec| writes.create_table(spec));
    writes
}

fn name() -> PreparedName {
    PreparedName::new(b"global", b"branch", 7)
}

/// What it has locked, as far as it matters.
const KEYS: [&[u8]; 2] = [b"one", b"another, and longer than most are"];

/// Holds two keys, and the definition of their table.
fn prepared(writes: WriteSet) -> PreparedTransaction {
    let mut prepared = PreparedTransaction::new(name(), 1000, writes.into_bytes());
    let mut exclusive = LockModes::default();
    exclusive.add(LockMode::Exclusive);
    for key in KEYS {
        prepared.add_lock(&LockTarget::Key(ACCOUNTS, IndexId::PRIMARY, key.to_vec()), exclusive);
    }
    let mut shared = exclusive;
    shared.add(LockMode::IntentionExclusive);
    prepared.add_lock(&LockTarget::Definition(ACCOUNTS), shared);
    // What is done under a name is over.
    prepared.add_lock(&LockTarget::Name(b"name".to_vec()), exclusive);
    prepared
}

fn is_free(store: &Arc<Store>, key: LockKey<'_>) -> bool {
    store.locks().transaction().try_lock(key, LockMode::Exclusive)
}

/// Whether all that it holds is held, or nothing of it.
fn holds(store: &Arc<Store>) -> bool {
    let keys = KEYS.map(|key| is_free(store, LockKey::Key(ACCOUNTS, IndexId::PRIMARY, key)));
    assert_eq!(keys[0], keys[1]);
    let definition = store
        .locks()
        .inspect()
        .iter()
        .any(|lock| lock.target == LockTarget::Definition(ACCOUNTS) && lock.mode == LockMode::IntentionExclusive);
    assert_eq!(definition, !keys[0]);
    assert!(is_free(store, LockKey::Name(b"name")));
    !keys[0]
}

fn read(store: &Store) -> Option<PreparedTransaction> {
    PreparedTransaction::read(store, name().key()).unwrap()
}

fn names(store: &Store) -> Vec<PreparedName> {
    PreparedName::all(store).unwrap()
}

#[test]
fn it_is_kept_over_starts_and_checkpoints_and_its_locks_with_it() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let mut shard = open(&disk);
    commit(&shard, tables(&accounts)).unwrap();
    let it = prepared(one(&accounts, 1, 10));
    commit(&shard, it.prepare()).unwrap();
    for start in ["none", "replayed", "after a checkpoint", "from the checkpoint"] {
        let store = shard.store();
        assert_eq!(names(store), [name()], "{start}");
        assert_eq!(names(store)[0].format, 7);
        assert_eq!(read(store).as_ref(), Some(&it), "{start}");
        assert!(holds(store), "{start}");
        assert_eq!(accounts.read(&shard), [], "{start}");
        if start == "replayed" {
            shard.checkpoint().unwrap();
        }
        if start == "after a checkpoint" {
            shard.shutdown();
        }
        drop(shard);
        shard = open(&disk);
    }
    commit(&shard, it.commit().unwrap()).unwrap();
    assert_eq!(accounts.read(&shard), [(1, 10)]);
    assert!(!holds(shard.store()) && names(shard.store()).is_empty());
    drop(shard);
    let shard = open(&disk);
    assert_eq!(accounts.read(&shard), [(1, 10)]);
    assert!(!holds(shard.store()) && read(shard.store()).is_none());
}

#[test]
fn rolled_back_it_leaves_nothing() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let shard = open(&disk);
    commit(&shard, tables(&accounts)).unwrap();
    let it = prepared(one(&accounts, 1, 10));
    commit(&shard, it.prepare()).unwrap();
    assert!(holds(shard.store()));
    commit(&shard, it.roll_back()).unwrap();
    assert!(!holds(shard.store()));
    assert_eq!(accounts.read(&shard), []);
    for table in prepared_specs().map(|spec| spec.id) {
        assert_eq!(shard.store().table(table).unwrap().estimated_rows(), 0);
    }
}

/// It goes into the log in chunks twice: as parts of what is prepared, and as rows.
#[test]
fn a_large_one_is_prepared_whole_and_commits_whole() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let mut shard = open(&disk);
    commit(&shard, tables(&accounts)).unwrap();
    let mut writes = all(&accounts, 1);
    for id in 0..2000 {
        accounts.put(&mut writes, 200_000 + id, 1, &[7; 900]);
    }
    let it = prepared(writes);
    assert!(it.prepare().as_bytes().len() > 1 << 20);
    commit(&shard, it.prepare()).unwrap();
    for _ in 0..2 {
        assert_eq!(accounts.read(&shard), []);
        assert_eq!(read(shard.store()).as_ref(), Some(&it));
        assert!(holds(shard.store()));
        shard.checkpoint().unwrap();
        drop(shard);
        shard = open(&disk);
    }
    commit(&shard, it.commit().unwrap()).unwrap();
    assert_eq!(accounts.read(&shard).len(), 7000);
    assert!(!holds(shard.store()) && names(shard.store()).is_empty());
}

#[test]
fn the_next_leader_holds_what_it_holds() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 5);
    wait_for("a leader", || {
        commit(cluster.shard(cluster.leader()), tables(&accounts)).ok()
    });
    let it = prepared(one(&accounts, 1, 10));
    wait_for("it to be prepared", || {
        commit(cluster.shard(cluster.leader()), it.prepare()).ok()
    });
    for _ in 0..3 {
        let leader = cluster.leader();
        assert!(holds(cluster.shard(leader).store()));
        cluster.kill(leader);
        let left: Vec<u32> = cluster.shards.keys().copied().collect();
        let next = cluster.leader_of(&left);
        // From the first lock that it gives.
        assert!(holds(cluster.shard(next).store()));
        assert_eq!(names(cluster.shard(next).store()), [name()]);
        cluster.start(leader);
    }
    let leader = cluster.leader();
    wait_for("its end", || {
        match commit(cluster.shard(cluster.leader()), it.commit().unwrap()) {
            Ok(_) => Some(()),
            Err(ProposeError::NotLeader | ProposeError::LocksLost) => None,
            Err(error) => panic!("{error}"),
        }
    });
    for (node, shard) in &cluster.shards {
        wait_for(&format!("node {node}"), || {
            (accounts.read(shard) == [(1, 10)] && names(shard.store()).is_empty()).then_some(())
        });
    }
    assert!(!holds(cluster.shard(leader).store()));
}

#[test]
fn rows_that_no_version_has_written_are_an_error() {
    let disk = SimDisk::new(1);
    let accounts = Accounts::new();
    let shard = open(&disk);
    commit(&shard, tables(&accounts)).unwrap();
    let it = prepared(one(&accounts, 1, 10));
    // The parts are missing.
    let mut only_head = WriteSet::new();
    for op in WriteOps::decode_all(it.prepare().as_bytes()).unwrap() {
        if let WriteOp::Put { table: PREPARED, .. } = op {
            only_head.push(&op);
        }
    }
    commit(&shard, only_head).unwrap_err();
    assert!(shard.stopped().is_some());
}
