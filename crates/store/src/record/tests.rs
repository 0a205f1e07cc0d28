#![allow(unsafe_code)]

use super::*;

fn at(ts: u64) -> Stamp {
    Stamp::at(Timestamp(ts))
}

#[test]
fn a_primary_record_shows_the_version_of_a_moment() {
    let v1 = VersionPtr::new(at(5), Some(b"one"), None);
    let v2 = VersionPtr::new(at(7), None, Some(v1));
    let record = RecordPtr::new_primary(b"key", v1);
    // SAFETY: owned by this test until freed at its end.
    unsafe {
        let r = record.get();
        assert_eq!(r.key(), b"key");
        assert!(r.version_at(Timestamp(4)).is_none());
        assert_eq!(r.version_at(Timestamp(6)).unwrap().row(), Some(&b"one"[..]));
        r.set_head(v2);
        assert_eq!(r.version_at(Timestamp(6)).unwrap().row(), Some(&b"one"[..]));
        assert_eq!(r.version_at(Timestamp(9)).unwrap().row(), None);
        r.enter(READY);
        assert!(r.is_in(READY) && !r.is_in(WAITING));
        record.free(false);
        v1.free();
        v2.free();
    }
}

#[test]
fn an_index_record_lives_in_intervals() {
    let version = VersionPtr::new(at(1), Some(b""), None);
    let row = RecordPtr::new_primary(b"pk", version);
    let entry = RecordPtr::new_entry(b"col", b"pk", row, at(3));
    // SAFETY: owned by this test until freed at its end.
    unsafe {
        let e = entry.get();
        assert_eq!((e.key(), e.primary_key()), (&b"colpk"[..], &b"pk"[..]));
        e.enter(WAITING);
        assert_eq!(e.primary_key(), b"pk");
        assert_eq!(e.row_ptr(), row);
        assert!(!e.is_visible(Timestamp(2)) && e.is_visible(Timestamp(3)));
        let first = History::allocate(at(3), at(5), ptr::null_mut());
        let second = History::allocate(at(8), Stamp::NEVER, first.as_ptr());
        e.set_entry_state(EntryState::History(second));
        let seen: Vec<_> = (2..10).filter(|&ts| e.is_visible(Timestamp(ts))).collect();
        assert_eq!(seen, [3, 4, 8, 9]);
        drop(Box::from_raw(first.as_ptr()));
        drop(Box::from_raw(second.as_ptr()));
        entry.free(true);
        row.free(false);
        version.free();
    }
}

#[test]
fn a_pending_stamp_comes_when_its_fate_is_told() {
    let (fate, other) = (Fate::new(), Fate::new());
    let (stamp, aborted) = (Stamp::of(&fate), Stamp::of(&other));
    let has_come = |stamp: Stamp| (0..9).map(|ts| u8::from(stamp.has_come(Timestamp(ts)))).sum::<u8>();
    assert!(stamp.is_pending() && !at(7).is_pending() && !Stamp::NEVER.is_pending());
    assert_eq!((has_come(stamp), stamp.decision()), (0, Some(Decision::Open)));
    other.abort();
    assert_eq!((has_come(aborted), aborted.decision()), (0, Some(Decision::Aborted)));
    fate.commit(Timestamp(6));
    assert_eq!((has_come(stamp), has_come(at(6)), has_come(Stamp::NEVER)), (3, 3, 0));
    assert_eq!(stamp.when(), Timestamp(6));
    assert_eq!(entry_state(alive_since(stamp)), EntryState::AliveSince(stamp));
}
