//! Checkpoint files: whole or not there, and refused when damaged.

use std::path::Path;
use std::sync::Arc;

use env::{Disk, Env, SimDisk};
use journal::checkpoint::{Checkpoint, CheckpointDir};
use journal::{Damage, OpenError};

fn dir(disk: &Arc<SimDisk>) -> CheckpointDir {
    CheckpointDir::open(&Env::simulated(disk.clone(), 1), Path::new("checkpoint")).unwrap()
}

fn chunk(number: u64) -> Vec<u8> {
    (0..number * 37 % 900).map(|at| (at * number) as u8).collect()
}

fn write(disk: &Arc<SimDisk>, index: u64) -> std::io::Result<()> {
    write_into(&dir(disk), index)
}

fn write_into(dir: &CheckpointDir, index: u64) -> std::io::Result<()> {
    let mut writer = dir.create(index, format!("meta of {index}").as_bytes())?;
    for number in 0..10 {
        writer.add(number / 3, &chunk(number + index))?;
    }
    writer.finish()
}

fn check(checkpoint: &Checkpoint, index: u64) -> Result<(), OpenError> {
    assert_eq!(checkpoint.meta(), format!("meta of {index}").as_bytes());
    assert_eq!(checkpoint.chunks(), 10);
    for number in 0..10 {
        assert_eq!(checkpoint.read(number)?, chunk(number as u64 + index));
        assert_eq!(checkpoint.stream(number), number as u64 / 3);
    }
    Ok(())
}

#[test]
fn checkpoints_come_back_and_replace_each_other() {
    let disk = SimDisk::new(1);
    assert!(dir(&disk).newest().unwrap().is_none());
    write(&disk, 7).unwrap();
    write(&disk, 12).unwrap();
    check(&dir(&disk).newest().unwrap().unwrap(), 12).unwrap();
    dir(&disk).remove_before(12).unwrap();
    assert_eq!(
        disk.list(Path::new("checkpoint")).unwrap(),
        ["00000000000000000012.checkpoint"]
    );
}

#[test]
fn an_abandoned_checkpoint_never_was() {
    let disk = SimDisk::new(1);
    let mut writer = dir(&disk).create(3, b"meta").unwrap();
    writer.add(1, b"rows").unwrap();
    drop(writer);
    assert_eq!(disk.paths(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_power_cut_leaves_the_old_one_or_the_new_one() {
    let whole = SimDisk::new(1);
    write(&whole, 7).unwrap();
    let before = whole.operations();
    write(&whole, 9).unwrap();
    for operations in 0..whole.operations() - before {
        for seed in 0..20 {
            let disk = SimDisk::new(seed);
            write(&disk, 7).unwrap();
            let open = dir(&disk);
            disk.cut_power_after(operations);
            assert!(write_into(&open, 9).is_err());
            disk.restore_power();
            let found = dir(&disk).newest().unwrap().expect("the first one was complete");
            check(&found, if found.meta() == b"meta of 9" { 9 } else { 7 }).unwrap();
            assert!(
                disk.paths()
                    .iter()
                    .all(|path| path.extension().unwrap() == "checkpoint")
            );
        }
    }
}

#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    let disk = SimDisk::new(1);
    write(&disk, 7).unwrap();
    disk.set_capacity(Some(disk.used() + 2000));
    assert_eq!(write(&disk, 9).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    disk.set_capacity(None);
    assert_eq!(disk.paths().len(), 1);
    write(&disk, 9).unwrap();
}

#[test]
fn every_flipped_byte_and_every_cut_is_refused() {
    let disk = SimDisk::new(1);
    write(&disk, 7).unwrap();
    let path = disk.paths().remove(0);
    let bytes = disk.contents(&path).unwrap();
    for offset in 0..bytes.len() {
        let disk = disk.fork(1);
        disk.corrupt(&path, offset as u64, 1 << (offset % 8));
        let result = dir(&disk).newest().and_then(|found| check(&found.unwrap(), 7));
        match result {
            Err(OpenError::Damaged(Damage { file, offset: told, .. })) => {
                assert_eq!(file, path);
                assert!(told <= bytes.len() as u64);
            }
            Err(OpenError::Version { .. }) => assert!((8..12).contains(&offset)),
            other => panic!("byte {offset}: {other:?}"),
        }
    }
    for length in 0..bytes.len() {
        let disk = disk.fork(1);
        disk.put(&path, bytes[..length].to_vec());
        assert!(dir(&disk).newest().is_err(), "cut at {length}");
    }
}

/// The bytes of a checkpoint, as another replica has them.
fn elsewhere() -> Vec<u8> {
    let disk = SimDisk::new(7);
    let dir = CheckpointDir::open(&Env::simulated(disk.clone(), 1), Path::new("checkpoint")).unwrap();
    let mut writer = dir.create(40, b"theirs").unwrap();
    writer.add(3, &[9; 5000]).unwrap();
    writer.finish().unwrap();
    let (file, length) = dir.file(40).unwrap();
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn a_checkpoint_from_elsewhere_counts_once_the_log_begins_after_it() {
    let bytes = elsewhere();
    for purged in [None, Some(39), Some(40)] {
        for operations in 0..16 {
            let disk = SimDisk::new(operations);
            let env = Env::simulated(disk.clone(), 1);
            let dir = CheckpointDir::open(&env, Path::new("checkpoint")).unwrap();
            let mut writer = dir.create(4, b"ours").unwrap();
            writer.add(1, b"row").unwrap();
            writer.finish().unwrap();
            disk.cut_power_after(operations);
            let receive = || -> Option<()> {
                let mut incoming = dir.receive(40, bytes.len() as u64).ok()?;
                for (at, part) in bytes.chunks(1000).enumerate() {
                    incoming.add(7, b"astray").ok()?;
                    incoming.add(at as u64 * 1000, part).ok()?;
                }
                assert_eq!(incoming.missing_from(), bytes.len() as u64);
                let received = incoming.finish().ok()?;
                assert_eq!(received.checkpoint().meta(), b"theirs");
                (purged == Some(40)).then(|| received.accept().ok())?
            };
            let is_accepted = receive().is_some();
            disk.restore_power();
            let dir = CheckpointDir::open(&env, Path::new("checkpoint")).unwrap();
            dir.settle_incoming(purged).unwrap();
            let newest = dir.newest().unwrap().unwrap();
            match newest.meta() {
                b"theirs" => assert_eq!(purged, Some(40)),
                meta => assert!(meta == b"ours" && !is_accepted),
            }
            (0..newest.chunks()).for_each(|chunk| drop(newest.read(chunk).unwrap()));
            let left = disk
                .paths()
                .into_iter()
                .filter(|path| path.extension() != Some("checkpoint".as_ref()));
            assert_eq!(left.count(), 0);
        }
    }
}
