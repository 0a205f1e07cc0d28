//! Torn tails are cut; everything else that is wrong is refused, by file and position.

use std::sync::Arc;

use crate::support::{all_entries, entry, newest_segment, open_sim};
use env::SimDisk;
use journal::{Journal, OpenError};

/// Log bytes begin after the segment's header.
const HEADER: usize = 4096;

/// A disk with a journal of some entries, each synced on its own.
fn written(count: u64) -> (Arc<SimDisk>, Journal) {
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    for index in 0..count {
        journal.append(&[entry(index, 40 + index as usize)]).unwrap();
        journal.sync().unwrap();
    }
    (disk, journal)
}

fn refusal(disk: &Arc<SimDisk>) -> journal::Damage {
    match open_sim(disk) {
        Err(OpenError::Damaged(damage)) => damage,
        Err(other) => panic!("refused for another reason: {other}"),
        Ok(journal) => panic!("opened with {} entries", all_entries(&journal).len()),
    }
}

#[test]
fn a_tail_torn_at_every_byte_of_the_last_record_is_cut() {
    let (disk, journal) = written(8);
    let end = HEADER + journal.position() as usize;
    let (before, mut after) = written(9);
    after.mark().unwrap();
    let (path, complete) = newest_segment(&before);
    for torn_at in end..HEADER + after.position() as usize {
        for filler in [0x00, 0xff, 0x5a] {
            let disk = disk.fork(7);
            let mut bytes = complete.clone();
            bytes[torn_at..].fill(filler);
            disk.put(&path, bytes);
            let journal = open_sim(&disk).unwrap();
            let found = all_entries(&journal).len();
            assert!(
                found == 8 || (found == 9 && torn_at >= end + 8),
                "{found} entries after a tear at {torn_at}"
            );
            assert_eq!(
                all_entries(&journal)[..8],
                (0..8).map(|n| entry(n, 40 + n as usize)).collect::<Vec<_>>()
            );
        }
        // A file system that lost the tail's length, too.
        let disk = disk.fork(8);
        disk.put(&path, complete[..torn_at].to_vec());
        assert!(all_entries(&open_sim(&disk).unwrap()).len() >= 8);
    }
}

#[test]
fn the_log_goes_on_after_a_cut() {
    let (disk, journal) = written(5);
    drop(journal);
    let (path, mut bytes) = newest_segment(&disk);
    let last_byte = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[last_byte] ^= 1;
    disk.put(&path, bytes);
    let mut journal = open_sim(&disk).unwrap();
    assert_eq!(all_entries(&journal).len(), 4);
    let other = entry(4, 99);
    journal
        .append(std::slice::from_ref(&other))
        .and_then(|()| journal.sync())
        .unwrap();
    assert_eq!(all_entries(&open_sim(&disk).unwrap())[4], other);
}

#[test]
fn a_flipped_bit_in_every_byte_of_the_middle_is_refused() {
    let (disk, mut journal) = written(12);
    // Told by the mark, or by a later record: the last entry is promised, too.
    journal.mark().unwrap();
    let end = HEADER + journal.position() as usize - 48;
    let (path, _) = newest_segment(&disk);
    let entries = all_entries(&journal);
    for offset in HEADER..end {
        let disk = disk.fork(3);
        disk.corrupt(&path, offset as u64, 1 << (offset % 8));
        match open_sim(&disk) {
            Err(OpenError::Damaged(damage)) => {
                assert_eq!(damage.file, path);
                assert!(
                    damage.offset <= offset as u64 && offset as u64 - damage.offset < 110,
                    "{damage}"
                );
            }
            Err(other) => panic!("{other}"),
            // Padding means nothing: losing it loses nothing.
            Ok(journal) => assert_eq!(all_entries(&journal), entries, "a flip at {offset} was cut in silence"),
        }
    }
}

#[test]
fn a_damaged_header_is_refused() {
    let (disk, _) = written(3);
    let (path, _) = newest_segment(&disk);
    for offset in 0..128 {
        let disk = disk.fork(3);
        disk.corrupt(&path, offset, 0x10);
        assert!(open_sim(&disk).is_err(), "header byte {offset}");
    }
    let damage = {
        let disk = disk.fork(3);
        disk.corrupt(&path, 0, 1);
        refusal(&disk)
    };
    assert_eq!(
        damage.to_string(),
        "log/000000000001.log is damaged at byte 0: not the beginning of a log segment"
    );
}

#[test]
fn damage_before_the_newest_segment_is_refused() {
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    for index in 0..100 {
        journal
            .append(&[entry(index, 400)])
            .and_then(|()| journal.sync())
            .unwrap();
    }
    let segments = disk
        .paths()
        .into_iter()
        .filter(|path| path.extension().is_some())
        .collect::<Vec<_>>();
    assert!(segments.len() >= 3);
    // The last record of the first segment: nothing after it in its own file.
    let bytes = disk.contents(&segments[0]).unwrap();
    let last = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    let corrupted = disk.fork(1);
    corrupted.corrupt(&segments[0], last as u64, 4);
    assert_eq!(refusal(&corrupted).file, segments[0]);
    // A whole segment is not there.
    let removed = disk.fork(1);
    env::Disk::remove(&*removed, &segments[1]).unwrap();
    assert_eq!(
        refusal(&removed).to_string(),
        "log/000000000002.log is damaged at byte 0: the segment is missing"
    );
    // One is cut in the middle.
    let cut = disk.fork(1);
    cut.put(&segments[1], disk.contents(&segments[1]).unwrap()[..9000].to_vec());
    assert_eq!(refusal(&cut).file, segments[1]);
    // One takes another's place.
    let swapped = disk.fork(1);
    swapped.put(&segments[1], disk.contents(&segments[0]).unwrap());
    assert_eq!(refusal(&swapped).file, segments[1]);
}

#[test]
fn what_a_crash_left_behind_a_torn_record_does_not_come_back() {
    // One write of two records; the first is torn, the second arrived whole.
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    journal.append(&[entry(0, 40)]).and_then(|()| journal.sync()).unwrap();
    let torn_at = HEADER + journal.position() as usize;
    journal
        .append(&[entry(1, 40), entry(2, 40)])
        .and_then(|()| journal.sync())
        .unwrap();
    let (path, mut bytes) = newest_segment(&disk);
    bytes[torn_at + 50] ^= 0xff;
    disk.put(&path, bytes);
    let mut journal = open_sim(&disk).expect("nobody was promised the second and the third");
    assert_eq!(all_entries(&journal).len(), 1);
    // Another record of the same size takes the torn one's place: the third still stands behind it.
    let mut other = entry(1, 40);
    other.tag = 77;
    journal
        .append(std::slice::from_ref(&other))
        .and_then(|()| journal.sync())
        .unwrap();
    assert_eq!(all_entries(&open_sim(&disk).unwrap()), [entry(0, 40), other]);
}
