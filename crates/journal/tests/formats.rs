//! Files written by released versions are read for ever. `fixtures/v1` was written by version 0.1.0.
//!
//! `cargo test -p journal formats -- --ignored` writes the fixture of this version anew; do it only when the
//! format's version changes, into a directory of the new version.

use std::path::{Path, PathBuf};

use crate::support::{all_entries, entry, open_sim};
use env::{Env, SimDisk};
use journal::checkpoint::CheckpointDir;
use journal::{EntryId, Vote};

fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v1")
}

const VOTE: Vote = Vote {
    term: 4,
    node: 2,
    committed: true,
};
const PURGED: EntryId = EntryId { term: 1, index: 4 };

fn write(disk: &std::sync::Arc<SimDisk>) {
    let mut journal = open_sim(disk).unwrap();
    journal.save_vote(VOTE).unwrap();
    for index in 0..48 {
        journal
            .append(&[entry(index, 10 * index as usize)])
            .and_then(|()| journal.sync())
            .unwrap();
    }
    journal.purge(PURGED).unwrap();
    journal.note_committed(40);
    journal.truncate_after(Some(entry(45, 0).id)).unwrap();
    journal.append(&[entry(46, 5)]).and_then(|()| journal.sync()).unwrap();
    journal.mark().and_then(|()| journal.sync()).unwrap();
    let dir = CheckpointDir::open(&Env::simulated(disk.clone(), 1), Path::new("checkpoint")).unwrap();
    let mut writer = dir.create(4, b"meta").unwrap();
    writer.add(1, b"first").unwrap();
    writer.add(2, b"second").unwrap();
    writer.finish().unwrap();
}

#[test]
#[ignore = "writes the fixture"]
fn write_fixture() {
    let disk = SimDisk::new(1);
    write(&disk);
    for path in disk.paths() {
        let target = fixture_dir().join(&path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        let mut bytes = disk.contents(&path).unwrap();
        // The unused end of a segment is not worth keeping.
        let used = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(used.next_multiple_of(8));
        std::fs::write(target, bytes).unwrap();
    }
}

#[test]
fn version_1_is_read() {
    let disk = SimDisk::new(1);
    for dir in ["log", "checkpoint"] {
        for file in std::fs::read_dir(fixture_dir().join(dir)).unwrap() {
            let file = file.unwrap();
            disk.put(
                &Path::new(dir).join(file.file_name()),
                std::fs::read(file.path()).unwrap(),
            );
        }
    }
    let mut journal = open_sim(&disk).unwrap();
    let reader = journal.reader();
    assert_eq!((reader.vote(), reader.purged()), (Some(VOTE), Some(PURGED)));
    assert_eq!(journal.committed_end(), 40);
    let mut expected: Vec<_> = (5..46).map(|index| entry(index, 10 * index as usize)).collect();
    expected.push(entry(46, 5));
    assert_eq!(all_entries(&journal), expected);
    journal.append(&[entry(47, 100)]).and_then(|()| journal.sync()).unwrap();

    let dir = CheckpointDir::open(&Env::simulated(disk.clone(), 1), Path::new("checkpoint")).unwrap();
    let checkpoint = dir.newest().unwrap().unwrap();
    assert_eq!(checkpoint.meta(), b"meta");
    assert_eq!(checkpoint.read(0).unwrap(), b"first");
    assert_eq!(
        (checkpoint.read(1).unwrap(), checkpoint.stream(1)),
        (b"second".to_vec(), 2)
    );
}

#[test]
fn this_version_still_writes_what_the_fixture_has() {
    let disk = SimDisk::new(1);
    write(&disk);
    for path in disk.paths() {
        let mut bytes = disk.contents(&path).unwrap();
        let fixture = std::fs::read(fixture_dir().join(&path)).unwrap();
        bytes.truncate(fixture.len());
        assert!(
            bytes == fixture,
            "{} differs from the fixture: has the format changed?",
            path.display()
        );
    }
}
