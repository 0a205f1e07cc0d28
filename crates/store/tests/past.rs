//! How much of the past is kept. That it can be read is a matter of the model.

use crate::model::{IDS, TABLE, Tested, Write, spec};
use store::{KeyRange, MemoryBudget, MemoryUse, Store, WriteOps, WriteSet};
use types::{Timestamp, Value};

/// One snapshot stalls while a few rows are changed many times: chains stay as short as there are snapshots.
#[test]
fn a_stalled_snapshot_does_not_keep_what_it_cannot_see() {
    let mut tested = Tested::new();
    tested.write(&(0..IDS).map(|id| Write::Put(id, 0, None)).collect::<Vec<_>>());
    tested.writer.publish();
    let stalled = tested.store.snapshot();
    let rows_before = tested.store.memory().used_by(MemoryUse::Rows);
    for round in 0..if cfg!(miri) { 5 } else { 300 } {
        tested.write(
            &(0..IDS)
                .map(|id| Write::Put(id, round % 5, Some("b".into())))
                .collect::<Vec<_>>(),
        );
        tested.writer.publish();
        while tested.writer.collect(64) {}
    }
    tested.check(&stalled, &KeyRange::all(), 10);
    tested.check(&tested.store.snapshot(), &KeyRange::all(), 10);
    let rows_now = tested.store.memory().used_by(MemoryUse::Rows);
    assert!(
        rows_now <= rows_before * 3,
        "{rows_before} bytes of versions became {rows_now}"
    );
    drop(stalled);
    tested.check_all_collected();
}

/// One row changes all the time while the past is kept: what is kept follows the window, and is freed in steps.
#[test]
fn a_hot_row_keeps_less_than_twice_the_window() {
    let mut tested = Tested::new();
    let changes = if cfg!(miri) { 60 } else { 4000 };
    let window = changes / 10;
    // With the longest array.
    let version = 80;
    for round in 0..changes {
        tested.write(&[Write::Put(1, round as i64 % 5, None)]);
        tested.writer.publish();
        tested.keep(window);
        tested.writer.collect(4);
        // Rows alone; an index entry that comes and goes has a history of its own.
        let kept = tested.store.memory().used_by(MemoryUse::Rows) / version;
        assert!(kept <= window * 2 + window / 8 + 4, "{kept} versions at {round}");
        tested.model.retain(|ts, _| ts.0 + window + 2 > tested.newest.0);
    }
    assert!(tested.store.published().0 - tested.store.oldest_readable().0 >= window);
    tested.check_all_collected();
}

/// What there is no room for is given up, the oldest first, and the rest can still be read.
#[test]
fn the_past_gives_way_where_memory_is_short() {
    let limit = 256 << 10;
    let (store, mut writer) = Store::new(MemoryBudget::new(limit));
    let mut set = WriteSet::new();
    set.create_table(&spec());
    writer
        .apply(Timestamp(1), WriteOps::decode(set.as_bytes()).unwrap())
        .unwrap();
    let (layout, mut key) = (spec().row_layout(), Vec::new());
    spec()
        .primary_layout()
        .unwrap()
        .encode_values(&[Value::Int(7)], &mut key);
    let put = |ts: u64| {
        let (mut row, mut set) = (Vec::new(), WriteSet::new());
        layout.encode(
            &[
                Value::Int(7),
                Value::Int(ts as i64),
                Value::Str("past".into()),
                Value::Null,
            ],
            &mut row,
        );
        set.put(TABLE, &key, &row);
        set
    };
    writer.keep_from(Timestamp(1));
    for ts in 2..if cfg!(miri) { 40 } else { 20_000 } {
        writer
            .apply(Timestamp(ts), WriteOps::decode(put(ts).as_bytes()).unwrap())
            .unwrap();
        writer.publish();
        writer.collect(32);
        assert!(store.past().bytes() <= store::Past::bytes_allowed(store.memory()) * 2);
    }
    let oldest = store.oldest_readable();
    assert!(cfg!(miri) || oldest > Timestamp(1), "something was given up");
    let snapshot = store.snapshot_at(oldest).unwrap();
    let a = store
        .table(TABLE)
        .unwrap()
        .get(&key, &snapshot, |row| layout.column(row, 1).to_value());
    assert_eq!(a, Some(Value::Int(oldest.0 as i64)).filter(|_| oldest > Timestamp(1)));
}
