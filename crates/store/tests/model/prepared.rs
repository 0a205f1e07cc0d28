//! Indexes that are prepared beside the writer.

use super::*;

/// An index of many rows has the same entries whichever way it comes: built before, or from the rows when it is added.
#[test]
fn a_prepared_index_of_many_rows_is_the_same() {
    let rows: i64 = if cfg!(miri) { 300 } else { 30_000 };
    let mut tested = Tested::new();
    let mut set = WriteSet::new();
    for id in 0..rows {
        let text = (id * 7919 % 10_007).to_string().repeat(1 + id as usize % 3);
        set.put(TABLE, &tested.key(id), &tested.row(id, id * 31 % 97, Some(&text)));
    }
    tested.apply(&set);
    tested.writer.publish();
    for id in 1..5 {
        let mut found = [false, true].map(|prepares| {
            let table = tested.table();
            if table.spec().index(IndexId(id)).is_some() {
                tested.toggle_index(id);
            }
            if prepares {
                tested.prepare_index(id);
            }
            tested.toggle_index(id);
            tested.writer.publish();
            let (table, mut entries) = (tested.table(), Vec::new());
            let mut cursor = Cursor::forward(KeyRange::all());
            table.scan(
                IndexId(id),
                &mut cursor,
                &tested.store.snapshot(),
                usize::MAX,
                |entry| {
                    entries.push((entry.key().to_vec(), entry.primary_key().to_vec()));
                    ControlFlow::Continue(())
                },
            );
            assert!(entries.is_sorted());
            // Short texts have no words, and arrays up to three elements.
            let expected = match table.has_many_entries(IndexId(id)) {
                true => 1..=3 * rows as usize,
                false => rows as usize..=rows as usize,
            };
            assert!(expected.contains(&entries.len()), "{}", entries.len());
            (entries, tested.store.memory().used_by(MemoryUse::Indexes))
        });
        assert_eq!(found[0].1, found[1].1, "bytes");
        found[0].0.dedup();
        assert!(found[0].0 == found[1].0);
    }
}

/// Nothing is left of an index that nobody has added, nor of one for which there was no memory.
#[test]
fn a_prepared_index_that_is_not_taken_over_leaves_nothing() {
    let mut tested = Tested::new();
    tested.write(&(0..IDS).map(|id| Write::Put(id, id % 5, None)).collect::<Vec<_>>());
    tested.writer.publish();
    let memory = Arc::clone(tested.store.memory());
    let before = memory.used_by(MemoryUse::Indexes);
    tested.prepare_index(3);
    tested.prepared.clear();
    assert_eq!(memory.used_by(MemoryUse::Indexes), before);
    let room = memory.limit() - memory.used() - 500;
    let taken = memory.reserve(MemoryUse::Queries, room).unwrap();
    let refused = tested.store.prepare_index(&tested.table(), &index(3), 0);
    assert!(matches!(refused, Err(PrepareError::Memory(_))));
    drop((refused, taken));
    assert_eq!(memory.used_by(MemoryUse::Indexes), before);
    tested.prepare_index(3);
    tested.toggle_index(3);
    tested.check_all_collected();
}
