//! Backups are what readers saw, whatever went on meanwhile, and nothing else passes for one.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use env::{Env, SimDisk};
use parking_lot::Mutex;
use shard::backup::{BackupError, Checked, Kind, Reader, Record, Replay, Restore, RestoreError, Summary, Until};
use shard::{Config, EntryId, ProposeError, Shard};
use store::{IndexSpec, KeyColumn, MemoryBudget, WriteSet};
use types::{IndexId, Timestamp};

use crate::support::cluster::{Cluster, wait_for};
use crate::support::large::{all, balance};
use crate::support::purse::{Purse, SESSIONS, opening};
use crate::support::{ACCOUNTS, Accounts, SetsAtEnd, block_on, commit, config, propose};

/// As a client draws it.
struct Drawn {
    checked: Checked,
    bytes: Vec<u8>,
}

impl Drawn {
    fn begin(records: &[u8]) -> Drawn {
        let (checked, preamble) = Checked::begin();
        let bytes = preamble.to_vec();
        let mut drawn = Drawn { checked, bytes };
        drawn.add(records);
        drawn
    }

    fn add(&mut self, records: &[u8]) {
        self.checked.accept_all(records).unwrap();
        self.bytes.extend_from_slice(records);
    }

    fn last(&self) -> EntryId {
        self.checked.last().unwrap()
    }

    fn add_log(&mut self, shard: &Shard) {
        let newest = shard.status().applied_index.unwrap();
        while self.last().index < newest || self.checked.end().is_none() {
            self.add(&shard.log_after(self.last()).unwrap());
        }
    }

    fn end(mut self) -> Vec<u8> {
        let end = self.checked.end().unwrap();
        self.add(&end);
        self.bytes
    }
}

fn full(shard: &Shard) -> Vec<u8> {
    let backup = shard.back_up(None).unwrap();
    let mut drawn = Drawn::begin(&backup.begin());
    let Kind::Full { chunks } = backup.head().kind else {
        panic!("a checkpoint was asked for")
    };
    for chunk in 0..chunks {
        drawn.add(&backup.chunk(chunk).unwrap());
        drawn.add(&shard.log_after(drawn.last()).unwrap());
    }
    drawn.add_log(shard);
    drawn.end()
}

fn log_behind(shard: &Shard, stream: &[u8]) -> Vec<u8> {
    let before = summary(stream);
    let (after, newest) = (before.position.last, before.position.newest);
    let mut drawn = Drawn::begin(&shard.log_head(before.head.cluster, after, newest).unwrap());
    drawn.add_log(shard);
    drawn.end()
}

fn read(stream: &[u8]) -> Result<Summary, String> {
    let mut reader = Reader::new(stream).map_err(|error| error.to_string())?;
    while reader.next_record().map_err(|error| error.to_string())?.is_some() {}
    Ok(reader.checked().summary().unwrap().clone())
}

fn summary(stream: &[u8]) -> Summary {
    read(stream).unwrap()
}

/// Of a full stream, and logs that follow.
fn replayed(env: &Env, streams: &[&[u8]], until: Until) -> Result<Replay, RestoreError> {
    let mut entries = Vec::new();
    let (mut head, mut restore) = (None, None);
    for stream in streams {
        let mut reader = Reader::new(*stream).unwrap();
        while let Some(record) = reader.next_record().unwrap() {
            match record {
                Record::Head(found) if found.kind != Kind::Log => head = Some(found),
                Record::Meta(meta) => {
                    restore = Some(Restore::begin(env, Path::new("new"), head.take().unwrap(), &meta)?);
                }
                Record::Chunk { stream, rows } => restore.as_mut().unwrap().chunk(stream, &rows)?,
                Record::Entries(more) => entries.extend(more),
                Record::Head(_) | Record::Position(_) | Record::End => {}
            }
        }
    }
    let memory = MemoryBudget::new(1 << 30);
    let mut replay = restore.unwrap().load(memory, None, until)?;
    for entry in entries {
        if let ControlFlow::Break(()) = replay.entries(vec![entry])? {
            break;
        }
    }
    Ok(replay)
}

fn real_time(disk: &Arc<SimDisk>) -> Env {
    Env {
        clock: Env::real().clock,
        ..Env::simulated(disk.clone(), 1)
    }
}

fn open(env: Env, dir: &str) -> Shard {
    Shard::open(Config {
        log_keep_bytes: 64 << 20,
        ..config(env, dir)
    })
    .unwrap()
}

/// A change of a table whose rows a large transaction is changing does not fit, nor the other way round: both have no locks here.
fn may_not_fit(committed: Result<Timestamp, ProposeError>) {
    match committed {
        Ok(_) | Err(ProposeError::Aborted { .. }) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn restored_rows_are_those_that_a_reader_saw() {
    let accounts = Accounts::new();
    let disk = SimDisk::new(1);
    let shard = open(real_time(&disk), "data");
    commit(&shard, accounts.create()).unwrap();
    commit(&shard, opening(&accounts)).unwrap();
    let is_over = AtomicBool::new(false);
    let goes_on = || !is_over.load(Ordering::Relaxed);
    let seen = Mutex::new(Vec::new());
    let (base, log) = std::thread::scope(|scope| {
        let (shard, accounts, seen) = (&shard, &accounts, &seen);
        let end = SetsAtEnd(&is_over);
        for session in 0..SESSIONS {
            scope.spawn(move || {
                let mut purse = Purse::new(session);
                while goes_on() {
                    commit(shard, purse.transfer(accounts)).unwrap();
                }
            });
        }
        // One large transaction is always on its way.
        scope.spawn(move || {
            let mut round = 0;
            while goes_on() {
                let large = propose(shard, all(accounts, round).into_bytes());
                may_not_fit(block_on(large));
                round += 1;
            }
        });
        // An index comes and goes, and a counter grows.
        scope.spawn(move || {
            let index = IndexSpec {
                id: IndexId(1),
                unique: false,
                key: vec![KeyColumn::ascending(1)],
                text: None,
            };
            let mut next = 1;
            while goes_on() {
                let mut writes = WriteSet::new();
                writes.create_index(ACCOUNTS, &index);
                may_not_fit(commit(shard, writes));
                let mut writes = WriteSet::new();
                writes.drop_index(ACCOUNTS, IndexId(1));
                next += 5;
                writes.advance_auto_increment(ACCOUNTS, next);
                may_not_fit(commit(shard, writes));
            }
        });
        scope.spawn(move || {
            while goes_on() {
                seen.lock().push(accounts.read_at(shard.store()));
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
        });
        let pause = || std::thread::sleep(std::time::Duration::from_millis(300));
        pause();
        let base = full(shard);
        pause();
        let log = log_behind(shard, &base);
        drop(end);
        (base, log)
    });
    let (first, last) = (summary(&base).head.newest, summary(&log).position.newest);
    let mut seen = seen.into_inner();
    seen.retain(|(at, _)| (first..=last).contains(at));
    assert!(seen.len() > 20, "{} moments", seen.len());
    let step = seen.len() / 20;
    for (at, rows) in seen.iter().step_by(step) {
        let env = Env::simulated(SimDisk::new(3), 4);
        let replay = replayed(&env, &[&base, &log], Until::Moment(*at)).unwrap();
        assert!(replay.newest() <= *at);
        let restored = replay.finish(1).unwrap();
        assert_ne!(restored.identity.cluster, shard.identity().cluster);
        let again = open(env, "new");
        let found = accounts.read(&again);
        let mut differing = found.iter().zip(rows).filter(|(found, seen)| found != seen);
        assert_eq!(differing.next(), None, "at {at:?}: restored, and as it was seen");
        assert_eq!(found.len(), rows.len(), "at {at:?}");
        balance(rows, "at a moment");
        assert_eq!(again.identity().cluster, restored.identity.cluster);
        assert_eq!(again.identity().incarnation, 1);
    }

    // All of it, up to an entry, and on from there.
    let env = Env::simulated(SimDisk::new(5), 6);
    let whole = replayed(&env, &[&base, &log], Until::End).unwrap();
    let next_id = whole.store().table(ACCOUNTS).unwrap().next_auto_increment();
    assert!(next_id > 1);
    whole.finish(7).unwrap();
    let restored = Shard::open(Config {
        node_id: 7,
        ..config(env.clone(), "new")
    })
    .unwrap();
    assert_eq!(restored.store().table(ACCOUNTS).unwrap().next_auto_increment(), next_id);
    assert!(restored.status().newest_commit >= last);
    let term = restored.status().term;
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, 1, 4711, b"");
    assert!(commit(&restored, writes).unwrap() > last);
    assert!(
        term > summary(&log).position.last.term,
        "no entry of two histories has one name"
    );
    let rows = accounts.read(&restored);
    drop(restored);
    let again = Shard::open(Config {
        node_id: 7,
        ..config(env, "new")
    });
    assert_eq!(accounts.read(&again.unwrap()), rows);
    let middle = summary(&base).position.last.index;
    let env = Env::simulated(SimDisk::new(7), 8);
    let some = replayed(&env, &[&base, &log], Until::Index(middle)).unwrap();
    assert_eq!(some.applied().index, middle);
}

#[test]
fn whatever_is_missing_or_damaged_is_found() {
    let accounts = Accounts::new();
    let shard = open(Env::simulated(SimDisk::new(1), 1), "data");
    commit(&shard, accounts.create()).unwrap();
    commit(&shard, opening(&accounts)).unwrap();
    let base = full(&shard);
    commit(&shard, Purse::new(1).transfer(&accounts)).unwrap();
    let log = log_behind(&shard, &base);
    for whole in [&base, &log] {
        let expected = summary(whole);
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "cut at {length} of {expected:?}");
        }
        let mut bytes = whole.clone();
        for at in 0..whole.len() {
            bytes[at] ^= 1 << (at % 8);
            assert!(read(&bytes).is_err(), "byte {at}");
            bytes[at] ^= 1 << (at % 8);
        }
        bytes.push(0);
        assert!(read(&bytes).is_err(), "something follows");
    }
    assert!(read(b"").unwrap_err().contains("not a backup"));
    // A log that does not follow.
    commit(&shard, Purse::new(2).transfer(&accounts)).unwrap();
    let later = log_behind(&shard, &log);
    let env = Env::simulated(SimDisk::new(2), 2);
    let gap = replayed(&env, &[&base, &later], Until::End).err();
    assert!(matches!(gap, Some(RestoreError::Gap { .. })), "{gap:?}");
}

#[test]
fn a_replica_gives_what_it_has_and_says_what_it_has_not() {
    let accounts = Accounts::new();
    let disk = SimDisk::new(1);
    let shard = Shard::open(config(Env::simulated(disk.clone(), 1), "data")).unwrap();
    commit(&shard, accounts.create()).unwrap();
    commit(&shard, opening(&accounts)).unwrap();
    let first = shard.back_up(None).unwrap();
    let early = first.head().after;
    assert!(matches!(first.chunk(99), Err(BackupError::NoChunk { .. })));
    // As long as nothing was committed it is the same one; and the one that was begun can be read on.
    assert_eq!(shard.back_up(Some(early.index)).unwrap().head().after, early);
    for transfers in 0..20 {
        commit(&shard, Purse::after(1, transfers, &accounts).transfer(&accounts)).unwrap();
    }
    assert_ne!(shard.back_up(Some(early.index + 1)).unwrap().head().after, early);
    first.chunk(0).unwrap();
    // It keeps no log behind a checkpoint.
    let gone = shard.log_after(early).unwrap_err();
    assert!(matches!(gone, BackupError::Gone { .. }), "{gone}");
    let newest = shard.back_up(None).unwrap().head().after;
    let another = shard.log_after(EntryId {
        term: newest.term + 1,
        ..newest
    });
    assert!(matches!(another, Err(BackupError::Another { .. })));
    let ahead = shard.log_after(EntryId {
        index: newest.index + 9,
        ..newest
    });
    assert!(matches!(ahead, Err(BackupError::Behind { .. })));
    let cluster = shard.identity().cluster;
    let stranger = shard.log_head(cluster ^ 1, newest, Timestamp::ZERO);
    assert!(matches!(stranger, Err(BackupError::Cluster { .. })));
    // What is damaged on its disk does not become a backup.
    let backup = shard.back_up(None).unwrap();
    let path = disk
        .paths()
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "checkpoint"));
    let path = path.unwrap();
    let length = disk.contents(&path).unwrap().len() as u64;
    for offset in (0..length).step_by(7) {
        disk.corrupt(&path, offset, 1);
    }
    assert!(matches!(backup.chunk(0), Err(BackupError::Files(_))));
}

#[test]
fn the_log_for_a_replica_that_is_away_has_a_bound() {
    const KEEP: u64 = 1 << 20;
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 9);
    cluster.log_keep_bytes = KEEP;
    for node in 1..=3 {
        cluster.kill(node);
        cluster.start(node);
    }
    let put = |id: i64| {
        let mut writes = WriteSet::new();
        accounts.put(&mut writes, id, id, &[7; 900]);
        writes
    };
    wait_for("a table", || {
        commit(cluster.shard(cluster.leader()), accounts.create()).ok()
    });
    let away = cluster.follower();
    cluster.kill(away);
    let write = |cluster: &Cluster, from: i64, count: i64| {
        for id in from..from + count {
            wait_for("a commit", || commit(cluster.shard(cluster.leader()), put(id)).ok());
        }
    };
    let checkpoint = |cluster: &Cluster| cluster.shards.values().for_each(|shard| shard.checkpoint().unwrap());
    // Ten checkpoints, and less log than is kept: it comes back by the log.
    for round in 0..10 {
        write(&cluster, round * 20, 20);
        checkpoint(&cluster);
    }
    assert_eq!(
        cluster.shard(cluster.leader()).status().purged_index,
        None,
        "all of it is kept"
    );
    let checkpoint_before = |cluster: &Cluster| cluster.shard(away).status().checkpoint_index;
    cluster.start(away);
    let rows = accounts.read(cluster.shard(cluster.leader()));
    wait_for("the log", || (accounts.read(cluster.shard(away)) == rows).then_some(()));
    assert_eq!(checkpoint_before(&cluster), None, "it came by the log");
    // Ten more, and more than that.
    cluster.kill(away);
    for round in 0..10 {
        write(&cluster, 1000 + round * 200, 200);
        checkpoint(&cluster);
        let status = cluster.shard(cluster.leader()).status();
        assert!(
            status.log_kept_bytes < 2 * KEEP,
            "{} bytes in round {round}",
            status.log_kept_bytes
        );
    }
    assert!(cluster.shard(cluster.leader()).status().purged_index.is_some());
    cluster.start(away);
    let rows = accounts.read(cluster.shard(cluster.leader()));
    wait_for("a checkpoint", || {
        (accounts.read(cluster.shard(away)) == rows).then_some(())
    });
    assert!(checkpoint_before(&cluster).is_some(), "it came by a checkpoint");
}

#[test]
fn moments_are_told_by_the_clock() {
    assert_eq!(Timestamp::at_wall_ms(1_800_000_000_123).wall_ms(), 1_800_000_000_123);
}
