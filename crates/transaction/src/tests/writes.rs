//! Single transactions: what they see of their own, savepoints, unique keys, ids, memory.

use super::*;

fn values(f: &Fixture, t: &mut Transaction) -> Vec<(i64, i64)> {
    f.select(t, BY_VALUE, Direction::Forward, 4)
        .into_iter()
        .map(|(id, v, _)| (v, id))
        .collect()
}

#[test]
fn a_transaction_sees_its_own_writes_by_every_index() {
    let f = Fixture::new(&(0..10).map(|id| (id, id % 4, Some(100 + id))).collect::<Vec<_>>());
    let mut t = f.begin(SNAPSHOT);
    f.insert(&mut t, (20, 1, None)).unwrap();
    f.update(&mut t, 3, |(id, _, _)| (id, 9, None)).unwrap();
    f.update(&mut t, 4, |(_, v, u)| (44, v, u)).unwrap();
    f.delete(&mut t, 0).unwrap();
    let mut expected: Vec<_> = (1..10)
        .filter(|id| ![3, 4].contains(id))
        .map(|id| (id % 4, id))
        .collect();
    expected.extend([(1, 20), (9, 3), (0, 44)]);
    expected.sort();
    assert_eq!(values(&f, &mut t), expected);
    let mut backward = f.select(&mut t, BY_VALUE, Direction::Backward, 2);
    backward.reverse();
    assert_eq!(backward, f.select(&mut t, BY_VALUE, Direction::Forward, 100));
    assert_eq!(
        t.count(&f.table, BY_UNIQUE, &mut Cursor::forward(KeyRange::all()), 1000),
        expected.len()
    );
    assert_eq!(f.committed().len(), 10);
    done(t.commit()).unwrap();
    assert_eq!(values(&f, &mut f.begin(SNAPSHOT)), expected);
}

#[test]
fn a_scan_may_read_through_the_same_transaction() {
    let f = Fixture::new(&[(1, 10, None), (2, 20, None)]);
    let mut t = f.begin(SNAPSHOT);
    f.insert(&mut t, (3, 30, None)).unwrap();
    let mut pairs = 0;
    t.scan(
        &f.table,
        IndexId::PRIMARY,
        &mut Cursor::forward(KeyRange::all()),
        100,
        |outer| {
            t.scan(
                &f.table,
                BY_VALUE,
                &mut Cursor::forward(KeyRange::all()),
                100,
                |inner| {
                    pairs += 1;
                    assert!(t.get(&f.table, inner.primary_key(), |_| ()).is_some() && !outer.row().is_empty());
                    ControlFlow::Continue(())
                },
            );
            ControlFlow::Continue(())
        },
    );
    assert_eq!(pairs, 9);
}

#[test]
fn savepoints_nest() {
    let f = Fixture::new(&[(1, 10, None)]);
    let mut t = f.begin(SNAPSHOT);
    f.insert(&mut t, (2, 20, None)).unwrap();
    let a = t.savepoint();
    f.update(&mut t, 1, |(id, _, u)| (id, 11, u)).unwrap();
    f.delete(&mut t, 2).unwrap();
    let b = t.savepoint();
    f.insert(&mut t, (2, 22, None)).unwrap();
    assert_eq!(values(&f, &mut t), [(11, 1), (22, 2)]);
    t.rollback_to(b);
    assert_eq!(values(&f, &mut t), [(11, 1)]);
    t.rollback_to(a);
    assert_eq!(values(&f, &mut t), [(10, 1), (20, 2)]);
    f.delete(&mut t, 1).unwrap();
    t.rollback_to(a);
    t.release(a);
    assert_eq!(values(&f, &mut t), [(10, 1), (20, 2)]);
    done(t.commit()).unwrap();
    assert_eq!(f.committed(), [(1, 10), (2, 20)]);
}

#[test]
fn a_failed_statement_leaves_the_transaction_as_it_was() {
    let f = Fixture::new(&[(1, 10, Some(1))]);
    let mut t = f.begin(SNAPSHOT);
    f.insert(&mut t, (2, 20, Some(2))).unwrap();
    let statement = t.begin_statement();
    step(t.insert(&f.table, &f.key(3), &f.row((3, 30, Some(3))))).unwrap();
    let duplicate = step(t.insert(&f.table, &f.key(4), &f.row((4, 40, Some(1)))));
    let existing = f.key(1);
    let expected = TransactionError::DuplicateKey {
        table: TABLE,
        index: BY_UNIQUE,
        existing,
    };
    assert_eq!(duplicate, Err(Failure::Error(expected)));
    t.rollback_statement(statement);
    assert_eq!(values(&f, &mut t), [(10, 1), (20, 2)]);
}

#[test]
fn unique_keys_see_own_writes_and_nulls_are_never_equal() {
    let f = Fixture::new(&[(1, 10, Some(1)), (2, 20, None), (3, 30, None)]);
    let mut t = f.begin(SNAPSHOT);
    let duplicate = |index, id| {
        Err(Failure::Error(TransactionError::DuplicateKey {
            table: TABLE,
            index,
            existing: f.key(id),
        }))
    };
    assert_eq!(f.insert(&mut t, (1, 0, None)), duplicate(IndexId::PRIMARY, 1));
    assert_eq!(f.insert(&mut t, (4, 0, Some(1))), duplicate(BY_UNIQUE, 1));
    f.update(&mut t, 1, |(id, v, _)| (id, v, Some(5))).unwrap();
    f.insert(&mut t, (4, 0, Some(1))).unwrap();
    assert_eq!(f.insert(&mut t, (6, 0, Some(5))), duplicate(BY_UNIQUE, 1));
    assert_eq!(
        f.update(&mut t, 2, |(id, v, _)| (id, v, Some(1))),
        duplicate(BY_UNIQUE, 4).map(|()| None)
    );
    assert_eq!(
        f.update(&mut t, 2, |(_, v, u)| (3, v, u)),
        duplicate(IndexId::PRIMARY, 3).map(|()| None)
    );
    // An update that leaves its unique key alone, and one that moves the row with its key.
    f.update(&mut t, 4, |(id, v, u)| (id, v + 1, u)).unwrap();
    f.update(&mut t, 4, |(_, v, u)| (40, v, u)).unwrap();
    f.delete(&mut t, 1).unwrap();
    f.insert(&mut t, (1, 1, Some(5))).unwrap();
    done(t.commit()).unwrap();
}

#[test]
fn whoever_wants_a_unique_key_waits_for_whoever_leaves_it() {
    let f = Fixture::new(&[(1, 10, Some(1))]);
    for leave in [0, 1] {
        let (mut t1, mut t2) = (f.begin(SNAPSHOT), f.begin(SNAPSHOT));
        match leave {
            0 => assert!(f.delete(&mut t1, 1).unwrap()),
            _ => assert!(f.update(&mut t1, 1, |(id, v, _)| (id, v, None)).unwrap().is_some()),
        }
        assert_eq!(f.insert(&mut t2, (2, 20, Some(1))), Err(Failure::Waits));
        t1.rollback();
        assert!(matches!(
            f.insert(&mut t2, (2, 20, Some(1))),
            Err(Failure::Error(TransactionError::DuplicateKey { .. }))
        ));
    }
    let (mut t1, mut t2) = (f.begin(SNAPSHOT), f.begin(SNAPSHOT));
    f.insert(&mut t1, (5, 0, Some(5))).unwrap();
    assert_eq!(f.insert(&mut t2, (6, 0, Some(5))), Err(Failure::Waits));
}

#[test]
fn automatic_ids_are_given_once_and_outlive_their_transaction() {
    let f = Fixture::new(&[]);
    let mut t1 = f.begin(SNAPSHOT);
    assert_eq!(
        [t1.next_auto_increment(&f.table), t1.next_auto_increment(&f.table)],
        [1, 2]
    );
    t1.rollback();
    let mut t2 = f.begin(SNAPSHOT);
    assert_eq!(t2.next_auto_increment(&f.table), 3);
    t2.note_auto_increment(&f.table, 100);
    t2.note_auto_increment(&f.table, 50);
    assert_eq!(t2.next_auto_increment(&f.table), 101);
    assert!(!t2.has_writes(), "ids alone need no commit");
    f.insert(&mut t2, (101, 0, None)).unwrap();
    let written = t2.overlay.encode();
    let advance = WriteOps::decode_all(&written).unwrap().pop().unwrap();
    assert_eq!(
        advance,
        store::WriteOp::AdvanceAutoIncrement {
            table: TABLE,
            next: 102
        }
    );
}

#[test]
fn hidden_row_ids_go_on_behind_the_last_row() {
    let f = Fixture::new(&[]);
    let mut t = f.begin(SNAPSHOT);
    let hidden = TableSpec {
        generations: None,
        id: TableId(8),
        primary: None,
        indexes: Vec::new(),
        ..spec()
    };
    t.create_table(hidden);
    done(t.commit()).unwrap();
    let table = f.local.store.table(TableId(8)).unwrap();
    let mut t = f.begin(SNAPSHOT);
    let first = t.next_row_id(&table);
    step(t.insert(&table, &first, &f.row((1, 1, None)))).unwrap();
    assert!(t.next_row_id(&table) > first);
    done(t.commit()).unwrap();
    let mut cursor = Cursor::forward(KeyRange::all());
    assert_eq!(
        table.count(IndexId::PRIMARY, &mut cursor, &f.local.store.snapshot(), 10),
        1
    );
    assert_eq!(table.last_key().unwrap(), first);
}

#[test]
fn a_full_memory_refuses_inserts_takes_deletes_and_recovers() {
    let f = Fixture::with_memory(&[], 1 << 20);
    let mut id = 0;
    let full = loop {
        let mut t = f.begin(SNAPSHOT);
        if let Err(full) = f.insert(&mut t, (id, id, Some(id))) {
            break full;
        }
        done(t.commit()).unwrap();
        id += 1;
    };
    assert!(matches!(full, Failure::Error(TransactionError::Memory(_))), "{full:?}");
    assert!(id > 1000);
    let used = f.local.store.memory().used();
    assert!(used > 900 << 10 && used <= 1 << 20);
    for id in 0..id / 2 {
        let mut t = f.begin(SNAPSHOT);
        assert!(f.delete(&mut t, id).unwrap());
        done(t.commit()).unwrap();
    }
    assert!(f.local.store.memory().used() < used * 2 / 3);
    let mut t = f.begin(SNAPSHOT);
    f.insert(&mut t, (0, 0, None)).unwrap();
    done(t.commit()).unwrap();
    f.local.writer.lock().0.collect(1000);
}

#[test]
fn memory_of_a_rolled_back_statement_and_transaction_is_given_back() {
    let f = Fixture::new(&[]);
    let before = f.local.store.memory().used();
    let mut t = f.begin(SNAPSHOT);
    let statement = t.begin_statement();
    for id in 0..10_000 {
        step(t.insert(&f.table, &f.key(id), &f.row((id, id, None)))).unwrap();
    }
    assert!(f.local.store.memory().used_by(MemoryUse::Transactions) > 1 << 20);
    t.rollback_statement(statement);
    assert_eq!(f.local.store.memory().used_by(MemoryUse::Transactions), 0);
    drop(t);
    assert!(f.local.store.memory().used() <= before + (4 << 20));
}

#[test]
fn a_unique_index_is_refused_over_duplicates() {
    let f = Fixture::new(&[(1, 10, None), (2, 10, None), (3, 30, None)]);
    let unique = |id, column| IndexSpec {
        id: IndexId(id),
        key: vec![KeyColumn::ascending(column)],
        unique: true,
        text: None,
    };
    let mut t = f.begin(SNAPSHOT);
    let refused = t.create_index(&f.table, unique(5, 1)).unwrap_err();
    assert_eq!(
        refused,
        TransactionError::DuplicateKey {
            table: TABLE,
            index: IndexId(5),
            existing: f.key(2)
        }
    );
    t.create_index(&f.table, unique(6, 2)).unwrap();
    done(t.commit()).unwrap();
    let table = f.local.store.table(TABLE).unwrap();
    assert!(table.spec().index(IndexId(6)).unwrap().unique);
}

#[test]
fn a_new_index_is_checked_in_steps() {
    let f = Fixture::new(&(0..500).map(|id| (id, 7, None)).collect::<Vec<_>>());
    let unique = || IndexSpec {
        id: IndexId(5),
        key: vec![KeyColumn::ascending(1)],
        unique: true,
        text: None,
    };
    let mut t = f.begin(SNAPSHOT);
    let probed = governor::probe::count(|| t.create_index(&f.table, unique()).is_err());
    assert!(probed.result && probed.ticks > 500, "{probed:?}");
    // Told to end, it has not found anything yet.
    let killed = governor::probe::kill_at(100, || (t.create_index(&f.table, unique()), governor::check().is_err()));
    assert_eq!(killed.result, (Ok(()), true));
}

/// Wherever a statement is told to end, while rows are read, sorted or put into the tree, nothing is left of the index.
#[test]
fn a_new_index_ends_with_its_statement_at_every_step() {
    let f = Fixture::new(&(0..500).map(|id| (id, id % 50, Some(id))).collect::<Vec<_>>());
    let index = || IndexSpec {
        id: IndexId(5),
        key: vec![KeyColumn::ascending(2), KeyColumn::ascending(1)],
        unique: true,
        text: None,
    };
    let used = || f.local.store.memory().used_by(MemoryUse::Indexes);
    let before = used();
    let ticks = governor::probe::count(|| f.begin(SNAPSHOT).create_index(&f.table, index())).ticks;
    let last = ticks.saturating_sub(15)..=ticks;
    for tick in (1..ticks).step_by(37).chain(last.clone()) {
        let mut t = f.begin(SNAPSHOT);
        let killed = governor::probe::kill_at(tick, || (t.create_index(&f.table, index()), governor::check().is_err()));
        assert_eq!(killed.result, (Ok(()), true), "{tick} of {ticks}");
        assert_eq!(used(), before, "{tick} of {ticks}");
    }
    let mut t = f.begin(SNAPSHOT);
    t.create_index(&f.table, index()).unwrap();
    done(t.commit()).unwrap();
    let table = f.local.store.table(TABLE).unwrap();
    assert_eq!(table.estimated_entries(IndexId(5), &KeyRange::all()), 500);
}

#[test]
fn a_commit_runs_its_follow_up_before_the_locks_are_gone() {
    let f = Fixture::new(&[(1, 10, None)]);
    let mut t = f.begin(SNAPSHOT);
    f.update(&mut t, 1, |(id, _, u)| (id, 11, u)).unwrap();
    let locks = Arc::clone(f.local.store.locks());
    let mut held = 0;
    let committed = done(t.commit_then(|_| held = locks.inspect().len())).unwrap();
    assert!(committed.is_some() && held > 0);
    assert_eq!(f.local.store.locks().inspect(), []);
    assert_eq!(done(f.begin(SNAPSHOT).commit()).unwrap(), None);
}

/// How often `work` could have let another statement run.
fn turns(work: impl FnOnce()) -> i64 {
    struct Counter(std::cell::Cell<i64>);
    impl governor::Runner for Counter {
        fn yield_now(&self) {
            self.0.set(self.0.get() + 1);
        }

        fn interrupted(&self) -> Option<governor::Interrupt> {
            None
        }
    }
    let counter = Counter(std::cell::Cell::new(0));
    governor::probe::under(&counter, work);
    counter.0.get()
}

#[test]
fn a_long_transaction_gives_way_while_it_ends() {
    const ROWS: i64 = 2000;
    let f = Fixture::new(&[]);
    let long = |first: i64| {
        let mut t = f.begin(SNAPSHOT);
        let statement = t.begin_statement();
        for id in first..first + ROWS {
            step(t.insert(&f.table, &f.key(id), &f.row((id, id, None)))).unwrap();
        }
        (t, statement)
    };
    // Each row is measured, then encoded; each has a lock at least.
    let (t, _) = long(0);
    assert!(
        turns(|| {
            done(t.commit()).unwrap();
        }) >= 3 * ROWS
    );
    let (t, _) = long(ROWS);
    assert!(turns(|| t.rollback()) >= ROWS);
    // All of a table's changes go together, in steps.
    let (mut t, statement) = long(ROWS);
    assert!(turns(|| t.rollback_statement(statement)) >= ROWS / 32);
    drop(t);
    // Of some they are taken back one by one.
    let (mut t, _) = long(ROWS);
    let statement = t.begin_statement();
    for id in ROWS..2 * ROWS {
        f.update(&mut t, id, |(id, n, u)| (id, n + 1, u)).unwrap();
    }
    assert!(turns(|| t.rollback_statement(statement)) >= ROWS);
}

#[test]
fn the_changes_of_a_statement_that_was_killed_are_dropped_at_once() {
    const ROWS: i64 = 2000;
    let f = Fixture::new(&[(1, 10, None)]);
    let mut t = f.begin(SNAPSHOT);
    let before = t.memory.bytes();
    let statement = t.begin_statement();
    for id in 2..ROWS {
        step(t.insert(&f.table, &f.key(id), &f.row((id, id, None)))).unwrap();
    }
    let undone = governor::probe::count(|| t.rollback_statement(statement));
    assert!(undone.ticks < ROWS as u64 / 8, "{undone:?}");
    assert_eq!(t.memory.bytes(), before);
    assert_eq!(values(&f, &mut t), [(10, 1)]);
    // What is written behind that is a change like any other.
    let statement = t.begin_statement();
    step(t.insert(&f.table, &f.key(5), &f.row((5, 50, None)))).unwrap();
    t.end_statement(statement);
    let statement = t.begin_statement();
    f.update(&mut t, 5, |(id, _, u)| (id, 55, u)).unwrap();
    t.rollback_statement(statement);
    assert_eq!(values(&f, &mut t), [(10, 1), (50, 5)]);
}
