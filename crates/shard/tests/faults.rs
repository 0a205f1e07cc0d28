//! What a shard does when its disk fails, is full, or lies.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::support::{Accounts, commit, commit_as, config};
use env::{Disk, Env, Fault, FaultyDisk, SimDisk};
use shard::{OpenError, Outcome, ProposeError, Shard};
use store::WriteSet;

fn one_row(accounts: &Accounts, id: i64) -> WriteSet {
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, id, id, &[3; 500]);
    writes
}

fn faulty(seed: u64) -> (Arc<SimDisk>, Arc<FaultyDisk>, Env) {
    let sim = SimDisk::new(seed);
    let disk = Arc::new(FaultyDisk::new(sim.clone()));
    let env = Env {
        disk: disk.clone(),
        ..Env::simulated(sim.clone(), seed)
    };
    (sim, disk, env)
}

/// A failed write or sync: the transaction on its way is unknown, everything after is refused and told why, reads go
/// on, and after a restart everything acknowledged is there.
fn fails_for_good(fault: Fault) {
    let accounts = Accounts::new();
    let (sim, disk, env) = faulty(1);
    let shard = Shard::open(config(env, "data")).unwrap();
    commit(&shard, accounts.create()).unwrap();
    disk.inject(fault);
    let mut acknowledged = 0;
    let unknown = loop {
        let ticket = shard.begin();
        match commit_as(&shard, ticket.id(), one_row(&accounts, acknowledged)) {
            Ok(_) => acknowledged += 1,
            // It hit what nobody waited for.
            Err(ProposeError::Stopped { .. }) => return,
            Err(error) => break (ticket.id(), error),
        }
        if acknowledged % 500 == 499 {
            // It hit a segment that is made ahead, which is tried again.
            disk.inject(fault);
        }
    };
    let (id, ProposeError::Unknown { reason }) = unknown else {
        panic!("{}", unknown.1)
    };
    assert!(reason.contains(".log") && reason.contains("failed"), "{reason}");
    let refused = commit(&shard, one_row(&accounts, 999)).unwrap_err();
    let ProposeError::Stopped { reason: told } = refused else {
        panic!("{refused}")
    };
    assert_eq!(told, reason);
    assert_eq!(shard.status().stopped, Some(reason));
    assert!(!shard.status().is_leader);
    assert_eq!(accounts.read(&shard).len() as i64, acknowledged);
    shard.shutdown();
    drop(shard);

    sim.restore_power();
    let shard = Shard::open(config(Env::simulated(sim, 1), "data")).unwrap();
    let committed = match shard.outcome(id) {
        Outcome::Committed(_) => acknowledged + 1,
        Outcome::NotCommitted => acknowledged,
        other => panic!("{other:?}"),
    };
    let expected: Vec<_> = (0..committed).map(|id| (id, id)).collect();
    assert_eq!(accounts.read(&shard), expected);
}

#[test]
fn a_failed_sync_stops_commits_at_once() {
    for n in 1..20 {
        fails_for_good(Fault::Sync(n));
    }
}

#[test]
fn a_failed_write_stops_commits_at_once() {
    for n in 1..20 {
        fails_for_good(Fault::Write(n));
    }
}

#[test]
fn a_full_disk_is_a_clean_error_and_commits_go_on_when_space_returns() {
    let accounts = Accounts::new();
    let disk = SimDisk::new(1);
    let shard = Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap();
    commit(&shard, accounts.create()).unwrap();
    // What exists may be used, nothing more.
    disk.set_capacity(Some(disk.used()));
    let mut acknowledged = 0;
    let full = loop {
        match commit(&shard, one_row(&accounts, acknowledged)) {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, ProposeError::DiskFull), "{full}");
    for _ in 0..100 {
        let refused = commit(&shard, one_row(&accounts, 5000)).unwrap_err();
        assert!(matches!(refused, ProposeError::DiskFull), "{refused}");
    }
    let failures = shard.meters().checkpoint_failures.load(Relaxed);
    assert!(shard.checkpoint().is_err(), "there is no space for a checkpoint either");
    assert!(
        shard.meters().checkpoint_failures.load(Relaxed) > failures,
        "it is counted"
    );
    let expected: Vec<_> = (0..acknowledged).map(|id| (id, id)).collect();
    assert_eq!(accounts.read(&shard), expected, "reads go on");
    assert_eq!(shard.status().stopped, None);

    disk.set_capacity(None);
    for id in acknowledged..acknowledged + 200 {
        commit(&shard, one_row(&accounts, id)).unwrap();
    }
    let written = shard.meters().checkpoints.load(Relaxed);
    shard.checkpoint().unwrap();
    assert!(shard.meters().checkpoints.load(Relaxed) > written);
    drop(shard);
    disk.restore_power();
    let shard = Shard::open(config(Env::simulated(disk, 1), "data")).unwrap();
    assert_eq!(accounts.read(&shard).len() as i64, acknowledged + 200);
}

#[test]
fn a_full_disk_does_not_keep_the_shard_from_starting() {
    let accounts = Accounts::new();
    let disk = SimDisk::new(1);
    let open = || Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap();
    let shard = open();
    commit(&shard, accounts.create()).unwrap();
    disk.set_capacity(Some(disk.used()));
    let mut acknowledged = 0;
    while commit(&shard, one_row(&accounts, acknowledged)).is_ok() {
        acknowledged += 1;
    }
    drop(shard);
    for _ in 0..5 {
        disk.kill_process();
        let shard = open();
        assert_eq!(accounts.read(&shard).len() as i64, acknowledged);
        assert!(matches!(
            commit(&shard, one_row(&accounts, 5000)),
            Err(ProposeError::DiskFull)
        ));
    }
}

#[test]
fn a_second_process_is_refused() {
    let disk = SimDisk::new(1);
    let _first = Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap();
    match Shard::open(config(Env::simulated(disk, 1), "data")) {
        Err(error @ OpenError::Locked { .. }) => {
            assert_eq!(
                error.to_string(),
                format!("data is in use by process {}", std::process::id())
            );
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("two shards in one directory"),
    }
}

fn refusal(disk: &Arc<SimDisk>) -> String {
    match Shard::open(config(Env::simulated(disk.clone(), 1), "data")) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("it opened"),
    }
}

#[test]
fn damage_and_missing_files_are_refused_by_name() {
    let accounts = Accounts::new();
    let disk = SimDisk::new(1);
    let shard = Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap();
    commit(&shard, accounts.create()).unwrap();
    for id in 0..50 {
        commit(&shard, one_row(&accounts, id)).unwrap();
    }
    shard.checkpoint().unwrap();
    for id in 50..100 {
        commit(&shard, one_row(&accounts, id)).unwrap();
    }
    drop(shard);
    disk.kill_process();
    let find = |suffix: &str| {
        let found = disk
            .paths()
            .into_iter()
            .rfind(|path| path.to_string_lossy().ends_with(suffix));
        found.expect("such a file is there")
    };
    let (log, checkpoint) = (find(".log"), find(".checkpoint"));

    let flipped = disk.fork(1);
    flipped.corrupt(&log, 4096 + 100, 8);
    assert!(
        refusal(&flipped).starts_with(&format!("{} is damaged at byte ", log.display())),
        "{}",
        refusal(&flipped)
    );
    let flipped = disk.fork(1);
    flipped.corrupt(&checkpoint, 3000, 8);
    assert!(refusal(&flipped).starts_with(&format!("{} is damaged at byte ", checkpoint.display())));

    let without = disk.fork(1);
    without.remove(&checkpoint).unwrap();
    assert!(
        refusal(&without).contains("there is no checkpoint"),
        "{}",
        refusal(&without)
    );
    let without = disk.fork(1);
    for path in without
        .paths()
        .iter()
        .filter(|path| path.parent() == Some(Path::new("data/log")))
    {
        without.remove(path).unwrap();
    }
    assert!(refusal(&without).contains("no log"), "{}", refusal(&without));
}
