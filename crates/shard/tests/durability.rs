//! What each level of durability loses, and what it does not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Accounts, block_on, commit, config, propose_at};
use env::{Env, Fault, FaultyDisk, SeededRandom, SimDisk};
use shard::{Durability, ProposeError, Shard};
use store::WriteSet;

fn put(shard: &Shard, accounts: &Accounts, id: i64, level: Durability) -> Result<(), ProposeError> {
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, id, id, &[7; 300]);
    let ticket = shard.begin();
    block_on(propose_at(shard, ticket.id(), level, writes.into_bytes())).map(|_| ())
}

fn opened(disk: &Arc<SimDisk>, seed: u64) -> Shard {
    Shard::open(config(Env::simulated(disk.clone(), seed), "data"))
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

fn new(disk: &Arc<SimDisk>, seed: u64) -> (Shard, Accounts) {
    let (shard, accounts) = (opened(disk, seed), Accounts::new());
    commit(&shard, accounts.create()).unwrap();
    (shard, accounts)
}

/// Which rows are there; they were put in the order of their ids, and nothing is left out between.
fn first_rows(shard: &Shard, accounts: &Accounts, what: &str) -> i64 {
    let rows = accounts.read(shard);
    let ids: Vec<i64> = rows.iter().map(|(id, _)| *id).collect();
    assert_eq!(
        ids,
        (0..ids.len() as i64).collect::<Vec<_>>(),
        "{what}: something is missing between"
    );
    ids.len() as i64
}

fn wait_until_synced(shard: &Shard) {
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(60));
    while shard.meters().unsynced().is_some() {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody syncs the log");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The power goes right after the answer: of what was in memory alone the last may be lost, and nothing that a commit on the disk came after.
#[test]
fn a_power_cut_loses_the_end_of_what_was_in_memory() {
    let mut lost = 0;
    for seed in 0..40 {
        let disk = SimDisk::new(seed);
        let (shard, accounts) = new(&disk, seed);
        let on_disk = SeededRandom::new(seed).below(20) as i64;
        for id in 0..20 {
            let level = match id == on_disk {
                true => Durability::MajorityDisk,
                false => Durability::MajorityMemory,
            };
            put(&shard, &accounts, id, level).unwrap();
        }
        disk.cut_power_after(0);
        drop(shard);
        disk.restore_power();
        let shard = opened(&disk, seed);
        let found = first_rows(&shard, &accounts, &format!("seed {seed}"));
        assert!(
            found > on_disk,
            "seed {seed}: row {on_disk} was on the disk, {found} rows are there"
        );
        lost += 20 - found;
    }
    assert!(lost > 0, "no power cut has lost anything: was anything in memory?");
}

/// What was written is the system's: a process that dies loses nothing of it.
#[test]
fn a_dying_process_loses_nothing() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let (shard, accounts) = new(&disk, seed);
        for id in 0..20 {
            put(&shard, &accounts, id, Durability::MajorityMemory).unwrap();
        }
        disk.kill_process();
        drop(shard);
        let shard = opened(&disk, seed);
        assert_eq!(first_rows(&shard, &accounts, &format!("seed {seed}")), 20);
    }
}

/// The sync follows by itself.
#[test]
fn what_was_in_memory_is_on_the_disk_soon() {
    let disk = SimDisk::new(3);
    let (shard, accounts) = new(&disk, 3);
    for id in 0..20 {
        put(&shard, &accounts, id, Durability::MajorityMemory).unwrap();
    }
    wait_until_synced(&shard);
    disk.cut_power_after(0);
    drop(shard);
    disk.restore_power();
    assert_eq!(first_rows(&opened(&disk, 3), &accounts, "after the sync"), 20);
}

/// Beside checkpoints and at any operation of the disk: a log never ends before its checkpoint.
#[test]
fn power_cuts_at_any_moment_leave_something_that_starts() {
    for seed in 0..60 {
        let disk = SimDisk::new(seed);
        let (shard, accounts) = new(&disk, seed);
        let random = SeededRandom::new(seed);
        disk.cut_power_after(random.below(120));
        let (mut on_disk, mut acknowledged) = (0, 0);
        for id in 0..60 {
            let level = Durability::ALL[random.below(3) as usize];
            if put(&shard, &accounts, id, level).is_err() {
                break;
            }
            acknowledged = id + 1;
            if level != Durability::MajorityMemory {
                on_disk = id + 1;
            }
            if id % 13 == 12 && shard.checkpoint().is_ok() {
                on_disk = id + 1;
            }
        }
        drop(shard);
        disk.restore_power();
        let shard = opened(&disk, seed);
        let found = first_rows(&shard, &accounts, &format!("seed {seed}"));
        assert!(
            found >= on_disk,
            "seed {seed}: {on_disk} rows were on the disk, {found} are there"
        );
        assert!(found <= acknowledged + 1, "seed {seed}");
        put(&shard, &accounts, found, Durability::MajorityDisk).unwrap();
    }
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

/// A disk that hangs keeps nobody waiting who does not ask for it.
#[test]
fn in_memory_nobody_waits_for_the_disk() {
    let (_sim, disk, env) = faulty(5);
    let (shard, accounts) = (Shard::open(config(env, "data")).unwrap(), Accounts::new());
    commit(&shard, accounts.create()).unwrap();
    disk.stall_syncs(true);
    for id in 0..10 {
        put(&shard, &accounts, id, Durability::MajorityMemory).unwrap();
    }
    assert_eq!(first_rows(&shard, &accounts, "while the disk hangs"), 10);
    let began = Instant::now();
    while shard.meters().unsynced().is_none() && began.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert!(
        shard.meters().unsynced().is_some(),
        "what is not on the disk is told of"
    );
    disk.stall_syncs(false);
    put(&shard, &accounts, 10, Durability::LocalDisk).unwrap();
    wait_until_synced(&shard);
}

/// Answered, and the sync fails later: nothing more is taken, and the reason is told.
#[test]
fn a_failed_sync_stops_the_shard() {
    let (_sim, disk, env) = faulty(6);
    let (shard, accounts) = (Shard::open(config(env, "data")).unwrap(), Accounts::new());
    commit(&shard, accounts.create()).unwrap();
    disk.inject(Fault::Sync(1));
    let began = Instant::now();
    let mut id = 0;
    while shard.status().stopped.is_none() {
        assert!(began.elapsed() < Duration::from_secs(60), "the failure goes unnoticed");
        if disk.is_spent() {
            // It hit a segment that is made ahead, which is tried again.
            disk.inject(Fault::Sync(1));
        }
        if put(&shard, &accounts, id, Durability::MajorityMemory).is_ok() {
            id += 1;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(put(&shard, &accounts, id, Durability::MajorityMemory).is_err());
    assert_eq!(first_rows(&shard, &accounts, "what was answered can be read"), id);
}
