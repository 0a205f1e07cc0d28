//! Writing, reading back, reopening.

use crate::support::{all_entries, entry, open_sim};
use env::SimDisk;
use journal::{EntryId, JournalError, Vote};

#[test]
fn entries_votes_and_marks_come_back() {
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    let vote = Vote {
        term: 3,
        node: 7,
        committed: true,
    };
    journal.save_vote(vote).unwrap();
    let entries: Vec<_> = (0..200).map(|index| entry(index, index as usize * 7 % 900)).collect();
    for group in entries.chunks(7) {
        journal.append(group).unwrap();
        journal.sync().unwrap();
    }
    journal.note_committed(150);
    journal.mark().unwrap();
    assert_eq!(all_entries(&journal), entries);
    drop(journal);

    let journal = open_sim(&disk).unwrap();
    assert_eq!(all_entries(&journal), entries);
    assert_eq!(journal.reader().vote(), Some(vote));
    assert_eq!(journal.committed_end(), 150);
    assert_eq!(journal.reader().last(), Some(entry(199, 0).id));
    assert_eq!(journal.reader().entries(20..23).unwrap(), entries[20..23]);
    assert_eq!(journal.reader().entries(300..400).unwrap(), []);
}

#[test]
fn an_entry_larger_than_a_segment_gets_a_larger_one() {
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    let entries = [entry(0, 10), entry(1, 100_000), entry(2, 10)];
    for entry in &entries {
        journal.reserve(entry.payload.len()).unwrap();
        journal.append(std::slice::from_ref(entry)).unwrap();
        journal.sync().unwrap();
    }
    assert_eq!(all_entries(&journal), entries);
    assert_eq!(all_entries(&open_sim(&disk).unwrap()), entries);
}

#[test]
fn truncated_entries_are_gone_and_replaced() {
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    journal
        .append(&(0..10).map(|index| entry(index, 50)).collect::<Vec<_>>())
        .unwrap();
    journal.truncate_after(Some(EntryId { term: 1, index: 4 })).unwrap();
    let mut other = entry(5, 60);
    other.id.term = 2;
    journal.append(std::slice::from_ref(&other)).unwrap();
    journal.sync().unwrap();
    for journal in [&journal, &open_sim(&disk).unwrap()] {
        assert_eq!(journal.reader().last(), Some(EntryId { term: 2, index: 5 }));
        assert_eq!(all_entries(journal)[5], other);
        assert_eq!(journal.reader().id_at(4), Some(EntryId { term: 1, index: 4 }));
        assert_eq!(
            journal.reader().first_of_terms(),
            [EntryId { term: 1, index: 0 }, EntryId { term: 2, index: 5 }]
        );
    }
    journal.truncate_after(None).unwrap();
    assert_eq!(open_sim(&disk).unwrap().reader().last(), None);
}

#[test]
fn purging_recycles_segments() {
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    let mut largest = 0;
    for index in 0..2000 {
        journal.append(&[entry(index, 300)]).unwrap();
        journal.sync().unwrap();
        if index % 100 == 99 {
            journal.purge(entry(index - 10, 0).id).unwrap();
        }
        largest = largest.max(disk.used());
    }
    assert!(
        largest < 12 * (16 << 10),
        "600 KB of log went through {largest} bytes of disk"
    );
    for journal in [&journal, &open_sim(&disk).unwrap()] {
        assert_eq!(journal.reader().purged(), Some(entry(1989, 0).id));
        assert_eq!(journal.reader().last(), Some(entry(1999, 0).id));
        let expected: Vec<_> = (1990..2000).map(|index| entry(index, 300)).collect();
        assert_eq!(all_entries(journal), expected);
    }
}

#[test]
fn purging_beyond_the_end_begins_after_it() {
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    journal.append(&[entry(0, 10), entry(1, 10)]).unwrap();
    let upto = EntryId { term: 5, index: 90 };
    journal.purge(upto).unwrap();
    let mut next = entry(91, 10);
    next.id.term = 5;
    journal.append(std::slice::from_ref(&next)).unwrap();
    journal.sync().unwrap();
    for journal in [&journal, &open_sim(&disk).unwrap()] {
        assert_eq!(journal.reader().purged(), Some(upto));
        assert_eq!(all_entries(journal), [next.clone()]);
        assert_eq!(journal.reader().id_at(90), Some(upto));
    }
}

#[test]
fn a_full_disk_refuses_before_anything_is_written() {
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    disk.set_capacity(Some(disk.used()));
    let mut index = 0;
    let full = loop {
        match journal.reserve(300) {
            Ok(()) => journal
                .append(&[entry(index, 300)])
                .and_then(|()| journal.sync())
                .unwrap(),
            Err(error) => break error,
        }
        index += 1;
    };
    assert!(matches!(full, JournalError::DiskFull { .. }), "{full}");
    assert!(index > 10);
    let vote = Vote {
        term: 9,
        node: 1,
        committed: false,
    };
    journal
        .save_vote(vote)
        .expect("what consensus needs has its own reserve");
    assert_eq!(all_entries(&open_sim(&disk).unwrap()).len() as u64, index);

    disk.set_capacity(None);
    journal.reserve(300).unwrap();
    journal
        .append(&[entry(index, 300)])
        .and_then(|()| journal.sync())
        .unwrap();
    let reopened = open_sim(&disk).unwrap();
    assert_eq!(all_entries(&reopened).len() as u64, index + 1);
    assert_eq!(reopened.reader().vote(), Some(vote));
}

#[test]
fn what_is_synced_beside_survives_and_more_is_appended_meanwhile() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let mut journal = open_sim(&disk).unwrap();
        // Enough for several segments: what is left of an old one is durable before the next begins.
        let mut last = None;
        for index in 0..200 {
            journal.append(&[entry(index, 300)]).unwrap();
            last = Some((index, journal.unsynced()));
            if index % 7 == 0 {
                journal.append(&[]).unwrap();
                journal.unsynced().sync().unwrap();
            }
        }
        let (index, unsynced) = last.unwrap();
        for later in index + 1..index + 10 {
            journal.append(&[entry(later, 300)]).unwrap();
        }
        unsynced.sync().unwrap();
        drop(journal);
        disk.restore_power();
        let found = all_entries(&open_sim(&disk).unwrap()).len() as u64;
        assert!(found > index, "{found} of {index} (seed {seed})");
    }
}

#[test]
fn what_is_kept_behind_an_entry_is_counted_in_bytes() {
    let disk = SimDisk::new(1);
    let mut journal = open_sim(&disk).unwrap();
    assert_eq!(journal.reader().before_bytes(7, 0), None, "there is nothing");
    let entries: Vec<_> = (0..60).map(|index| entry(index, index as usize * 37 % 400)).collect();
    journal.append(&entries).unwrap();
    for first in [0, 20] {
        let reader = journal.reader();
        for upto in 0..62 {
            for bytes in [0, 1, 47, 48, 500, 5000, 1 << 20] {
                let behind = |index: u64| reader.bytes_after(Some(index)) - reader.bytes_after(Some(upto.min(59)));
                let expected = (first..=upto.min(59)).rev().find(|&index| behind(index) >= bytes);
                assert_eq!(
                    reader.before_bytes(upto, bytes),
                    expected,
                    "{bytes} behind {upto}, from {first} on"
                );
            }
        }
        for start in first..60 {
            for bytes in [0, 47, 500, 1 << 20] {
                let after = |index: u64| reader.bytes_after(index.checked_sub(1));
                let is_within = |&end: &u64| after(start) - after(end) <= bytes;
                let expected = (start + 1..=60).rev().find(is_within).unwrap_or(start + 1);
                let end = reader.end_within(start, 60, bytes);
                assert_eq!(end, expected, "{bytes} from {start} on");
                assert_eq!(reader.end_within(start, start + 1, bytes), start + 1);
            }
        }
        journal.purge(entries[19].id).unwrap();
    }
}
