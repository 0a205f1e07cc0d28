//! The anomalies of the isolation levels, by name. Rows at the beginning: (1, 10), (2, 20).

use super::*;

fn two_rows() -> Fixture {
    Fixture::new(&[(1, 10, None), (2, 20, None)])
}

fn set(v: i64) -> impl Fn(Row) -> Row {
    move |(id, _, u)| (id, v, u)
}

fn conflict<R: std::fmt::Debug>(result: Result<R, Failure>) {
    match result {
        Err(Failure::Error(TransactionError::WriteConflict(TABLE))) => {}
        other => panic!("{other:?}"),
    }
}

fn waits<R: std::fmt::Debug>(result: Result<R, Failure>) {
    assert!(matches!(result, Err(Failure::Waits)), "{result:?}");
}

#[test]
fn g0_dirty_write() {
    for options in ALL {
        let f = two_rows();
        let (mut t1, mut t2) = (f.begin(options), f.begin(options));
        f.update(&mut t1, 1, set(11)).unwrap();
        waits(f.update(&mut t2, 1, set(12)));
        f.update(&mut t1, 2, set(21)).unwrap();
        done(t1.commit()).unwrap();
        // Nothing was read before: t2 works on what is there now.
        f.update(&mut t2, 1, set(12)).unwrap();
        f.update(&mut t2, 2, set(22)).unwrap();
        done(t2.commit()).unwrap();
        assert_eq!(f.committed(), [(1, 12), (2, 22)]);
    }
}

#[test]
fn g1a_aborted_read() {
    for options in ALL {
        let f = two_rows();
        let (mut t1, mut t2) = (f.begin(options), f.begin(options));
        f.update(&mut t1, 1, set(101)).unwrap();
        assert_eq!(f.get(&mut t2, 1), Some(10));
        t1.rollback();
        assert_eq!(f.get(&mut t2, 1), Some(10));
    }
}

#[test]
fn g1b_intermediate_read() {
    for options in ALL {
        let f = two_rows();
        let (mut t1, mut t2) = (f.begin(options), f.begin(options));
        f.update(&mut t1, 1, set(101)).unwrap();
        assert_eq!(f.get(&mut t2, 1), Some(10));
        f.update(&mut t1, 1, set(11)).unwrap();
        done(t1.commit()).unwrap();
        let newer = if options.isolation == Isolation::RepeatableRead {
            10
        } else {
            11
        };
        assert_eq!(f.get(&mut t2, 1), Some(newer));
    }
}

#[test]
fn g1c_circular_information_flow() {
    for options in ALL {
        let f = two_rows();
        let (mut t1, mut t2) = (f.begin(options), f.begin(options));
        f.update(&mut t1, 1, set(11)).unwrap();
        f.update(&mut t2, 2, set(22)).unwrap();
        assert_eq!(f.get(&mut t1, 2), Some(20));
        assert_eq!(f.get(&mut t2, 1), Some(10));
    }
}

#[test]
fn otv_observed_transaction_vanishes() {
    for options in ALL {
        let f = two_rows();
        let [mut t1, mut t2, mut t3] = std::array::from_fn(|_| f.begin(options));
        f.update(&mut t1, 1, set(11)).unwrap();
        f.update(&mut t1, 2, set(19)).unwrap();
        waits(f.update(&mut t2, 1, set(12)));
        done(t1.commit()).unwrap();
        f.update(&mut t2, 1, set(12)).unwrap();
        assert_eq!((f.get(&mut t3, 1), f.get(&mut t3, 2)), (Some(11), Some(19)));
        f.update(&mut t2, 2, set(18)).unwrap();
        assert_eq!((f.get(&mut t3, 2), f.get(&mut t3, 1)), (Some(19), Some(11)));
    }
}

#[test]
fn p2_fuzzy_read() {
    for options in [SNAPSHOT, COMPATIBLE] {
        let f = two_rows();
        let (mut t1, mut t2) = (f.begin(options), f.begin(options));
        assert_eq!(f.get(&mut t1, 1), Some(10));
        f.update(&mut t2, 1, set(12)).unwrap();
        f.update(&mut t2, 2, set(18)).unwrap();
        done(t2.commit()).unwrap();
        assert_eq!((f.get(&mut t1, 1), f.get(&mut t1, 2)), (Some(10), Some(20)));
    }
}

#[test]
fn pmp_phantom_in_a_read() {
    for options in [SNAPSHOT, COMPATIBLE] {
        let f = two_rows();
        let (mut t1, mut t2) = (f.begin(options), f.begin(options));
        assert_eq!(f.select_where(&mut t1, |v| v == 30), [0i64; 0]);
        f.insert(&mut t2, (3, 30, None)).unwrap();
        done(t2.commit()).unwrap();
        assert_eq!(f.select_where(&mut t1, |v| v % 3 == 0), [0i64; 0]);
    }
}

#[test]
fn pmp_phantom_in_a_write() {
    for (options, is_conflict) in [(SNAPSHOT, true), (COMPATIBLE, false)] {
        let f = two_rows();
        let (mut t1, mut t2) = (f.begin(options), f.begin(options));
        assert_eq!(f.select_where(&mut t2, |v| v == 20), [2]);
        f.update(&mut t1, 1, |(id, v, u)| (id, v + 10, u)).unwrap();
        f.update(&mut t1, 2, |(id, v, u)| (id, v + 10, u)).unwrap();
        waits(f.delete(&mut t2, 2));
        done(t1.commit()).unwrap();
        match is_conflict {
            true => conflict(f.delete(&mut t2, 2)),
            // The condition is looked at again with the newest row.
            false => assert_eq!(t2.get_current(&f.table, &f.key(2), |row| f.decode(row).1), Some(30)),
        }
        assert_eq!(f.select_where(&mut t2, |v| v == 20), [2]);
    }
}

#[test]
fn p4_lost_update() {
    for (options, is_prevented) in [(SNAPSHOT, true), (COMPATIBLE, false), (READ_COMMITTED, false)] {
        let f = two_rows();
        let (mut t1, mut t2) = (f.begin(options), f.begin(options));
        assert_eq!((f.get(&mut t1, 1), f.get(&mut t2, 1)), (Some(10), Some(10)));
        f.update(&mut t1, 1, set(11)).unwrap();
        waits(f.update(&mut t2, 1, set(11)));
        done(t1.commit()).unwrap();
        match is_prevented {
            true => conflict(f.update(&mut t2, 1, set(11))),
            false => assert!(f.update(&mut t2, 1, set(11)).is_ok()),
        }
    }
}

#[test]
fn p4_lost_update_is_prevented_by_locking_reads_at_every_level() {
    for options in ALL {
        for first_read in [false, true] {
            let f = two_rows();
            let (mut t1, mut t2) = (f.begin(options), f.begin(options));
            if first_read {
                assert_eq!(f.get(&mut t2, 2), Some(20));
            }
            let read = |t: &mut Transaction| f.get_locked(t, 1, LockMode::Exclusive, LockPolicy::Wait);
            assert_eq!(read(&mut t1), Ok(Some(10)));
            waits(read(&mut t2));
            f.update(&mut t1, 1, set(11)).unwrap();
            done(t1.commit()).unwrap();
            // What the transaction has shown at its snapshot is never shown newer, and so never overwritten by mistake.
            if first_read && options == SNAPSHOT {
                conflict(read(&mut t2));
                continue;
            }
            assert_eq!(read(&mut t2), Ok(Some(11)));
            f.update(&mut t2, 1, |(id, v, u)| (id, v + 1, u)).unwrap();
            done(t2.commit()).unwrap();
            assert_eq!(f.committed(), [(1, 12), (2, 20)]);
        }
    }
}

#[test]
fn g_single_read_skew_through_a_write() {
    let f = two_rows();
    let (mut t1, mut t2) = (f.begin(SNAPSHOT), f.begin(SNAPSHOT));
    assert_eq!(f.get(&mut t1, 1), Some(10));
    f.update(&mut t2, 1, set(12)).unwrap();
    f.update(&mut t2, 2, set(18)).unwrap();
    done(t2.commit()).unwrap();
    conflict(f.delete(&mut t1, 2));
    assert_eq!(f.get(&mut t1, 2), Some(20));
}

#[test]
fn g2_item_write_skew_is_allowed_by_snapshots_and_prevented_by_shared_locks() {
    let f = two_rows();
    let (mut t1, mut t2) = (f.begin(SNAPSHOT), f.begin(SNAPSHOT));
    assert_eq!((f.get(&mut t1, 1), f.get(&mut t2, 2)), (Some(10), Some(20)));
    f.update(&mut t1, 2, set(21)).unwrap();
    f.update(&mut t2, 1, set(11)).unwrap();
    done(t1.commit()).unwrap();
    done(t2.commit()).unwrap();

    let f = two_rows();
    let (mut t1, mut t2) = (f.begin(SERIALIZABLE), f.begin(SERIALIZABLE));
    let read = |t: &mut Transaction, id| f.get_locked(t, id, LockMode::Shared, LockPolicy::Wait).unwrap();
    for t in [&mut t1, &mut t2] {
        assert_eq!((read(t, 1), read(t, 2)), (Some(10), Some(20)));
    }
    let waiting = t1.lock_for_write(&f.table, &f.key(1)).unwrap();
    assert!(matches!(waiting, Progress::Wait(_)));
    assert_eq!(
        step(t2.lock_for_write(&f.table, &f.key(2))),
        Err(Failure::Error(TransactionError::Deadlock))
    );
}

#[test]
fn g2_phantoms_are_prevented_by_table_locks() {
    let f = two_rows();
    let (mut t1, mut t2) = (f.begin(SERIALIZABLE), f.begin(SERIALIZABLE));
    for t in [&mut t1, &mut t2] {
        step(t.lock_table(TABLE, LockMode::Shared, LockPolicy::Wait)).unwrap();
        assert_eq!(f.select_where(t, |v| v % 3 == 0), [0i64; 0]);
    }
    let waiting = t1
        .lock_table(TABLE, LockMode::IntentionExclusive, LockPolicy::Wait)
        .unwrap();
    assert!(matches!(waiting, Progress::Wait(_)));
    let t2_wants = t2.lock_table(TABLE, LockMode::IntentionExclusive, LockPolicy::Wait);
    assert_eq!(step(t2_wants), Err(Failure::Error(TransactionError::Deadlock)));
}

#[test]
fn nowait_and_skip_locked() {
    let f = two_rows();
    let (mut t1, mut t2) = (f.begin(SNAPSHOT), f.begin(SNAPSHOT));
    f.update(&mut t1, 1, set(11)).unwrap();
    let locked = f.get_locked(&mut t2, 1, LockMode::Shared, LockPolicy::NoWait);
    assert_eq!(locked, Err(Failure::Error(TransactionError::LockNotAvailable)));
    assert_eq!(
        f.get_locked(&mut t2, 1, LockMode::Exclusive, LockPolicy::SkipLocked),
        Err(Failure::Skipped)
    );
    assert_eq!(
        f.get_locked(&mut t2, 2, LockMode::Exclusive, LockPolicy::SkipLocked),
        Ok(Some(20))
    );
}

/// Runs one pass of `UPDATE t SET v = v + 1 WHERE v >= 0`, which finds its rows by a scan. `between` runs after the scan.
fn increment_all(f: &Fixture, t: &mut Transaction, between: &mut dyn FnMut()) -> Result<(), Failure> {
    let mut found = Vec::new();
    let mut cursor = Cursor::forward(KeyRange::all());
    t.snapshot();
    t.note_read(&f.table);
    t.scan_to_lock(&f.table, BY_VALUE, &mut cursor, usize::MAX, |entry| {
        found.push(entry.primary_key().to_vec());
        ControlFlow::Continue(())
    });
    between();
    for key in found {
        step(t.lock_for_write(&f.table, &key))?;
        if !t.is_stale() {
            let (id, v, u) = t.get_current(&f.table, &key, |row| f.decode(row)).unwrap();
            step(t.update(&f.table, &key, &key, &f.row((id, v + 1, u))))?;
        }
    }
    Ok(())
}

#[test]
fn the_statement_that_takes_the_snapshot_runs_again_instead_of_a_conflict() {
    let f = two_rows();
    let mut t1 = f.begin(SNAPSHOT);
    let statement = t1.begin_change(StatementScope::InTransaction);
    let mut other = || {
        let mut t2 = f.begin(SNAPSHOT);
        f.update(&mut t2, 1, set(100)).unwrap();
        done(t2.commit()).unwrap();
    };
    increment_all(&f, &mut t1, &mut other).unwrap();
    assert_eq!(t1.settle(), Settled::Again);
    t1.restart_statement(statement);
    increment_all(&f, &mut t1, &mut || ()).unwrap();
    assert_eq!(t1.settle(), Settled::Yes);
    t1.end_statement(statement);
    done(t1.commit()).unwrap();
    assert_eq!(f.committed(), [(1, 101), (2, 21)]);
}

#[test]
fn a_snapshot_taken_before_is_kept_and_conflicts() {
    // By START TRANSACTION WITH CONSISTENT SNAPSHOT, or by a read.
    let f = two_rows();
    let mut t1 = f.begin(SNAPSHOT);
    t1.snapshot();
    t1.begin_change(StatementScope::InTransaction);
    assert!(!t1.is_settling());
    let mut other = || {
        let mut t2 = f.begin(SNAPSHOT);
        f.update(&mut t2, 2, set(100)).unwrap();
        done(t2.commit()).unwrap();
    };
    conflict(increment_all(&f, &mut t1, &mut other));
}

#[test]
fn the_snapshot_of_a_locking_statement_is_newer_than_its_locks() {
    // Somebody commits between the snapshot and the locks, but nothing that the statement has read.
    let f = two_rows();
    let mut t1 = f.begin(SNAPSHOT);
    let statement = t1.begin_change(StatementScope::InTransaction);
    let mut cursor = Cursor::forward(KeyRange::all());
    let before = t1.snapshot();
    t1.scan_to_lock(&f.table, IndexId::PRIMARY, &mut cursor, usize::MAX, |_| {
        ControlFlow::Continue(())
    });
    let mut t2 = f.begin(SNAPSHOT);
    f.insert(&mut t2, (3, 30, None)).unwrap();
    let committed = done(t2.commit()).unwrap().unwrap();
    step(t1.lock_for_write(&f.table, &f.key(1))).unwrap();
    assert_eq!(t1.settle(), Settled::Yes);
    t1.end_statement(statement);
    assert!(before < committed && t1.snapshot() == committed);
    t1.rollback();

    // And now of a table that it has read: it has to look once more.
    let mut t1 = f.begin(SNAPSHOT);
    let statement = t1.begin_change(StatementScope::InTransaction);
    let mut other = || {
        let mut t2 = f.begin(SNAPSHOT);
        f.insert(&mut t2, (4, 40, None)).unwrap();
        done(t2.commit()).unwrap();
    };
    increment_all(&f, &mut t1, &mut other).unwrap();
    assert_eq!(t1.settle(), Settled::Again);
    t1.restart_statement(statement);
    increment_all(&f, &mut t1, &mut || ()).unwrap();
    // The new row's lock is new, but nobody else has changed the table.
    assert_eq!(t1.settle(), Settled::Yes);
    t1.end_statement(statement);
}

#[test]
fn a_statement_that_never_settles_is_given_the_table() {
    let f = two_rows();
    let mut t1 = f.begin(SNAPSHOT);
    let statement = t1.begin_change(StatementScope::Alone);
    let mut id = 10;
    let passes = (1..20).find(|_| {
        // A row that the scan finds, and that somebody changes before it is locked.
        id += 1;
        let mut t2 = f.begin(SNAPSHOT);
        f.insert(&mut t2, (id, 0, None)).unwrap();
        done(t2.commit()).unwrap();
        let mut other = || {
            let mut t2 = f.begin(SNAPSHOT);
            f.update(&mut t2, id, set(1)).unwrap();
            done(t2.commit()).unwrap();
        };
        increment_all(&f, &mut t1, &mut other).unwrap();
        let settled = t1.settle();
        t1.restart_statement(statement);
        settled == Settled::AgainUnder(vec![TABLE])
    });
    assert_eq!(passes, Some(9));
    step(t1.lock_table(TABLE, LockMode::Shared, LockPolicy::Wait)).unwrap();
    let mut t2 = f.begin(SNAPSHOT);
    waits(step(t2.lock_table(
        TABLE,
        LockMode::IntentionExclusive,
        LockPolicy::Wait,
    )));
    increment_all(&f, &mut t1, &mut || ()).unwrap();
    assert_eq!(t1.settle(), Settled::Yes);
}

#[test]
fn scans_for_locks_show_what_the_snapshot_shows_and_what_is_newer() {
    for direction in [Direction::Forward, Direction::Backward] {
        for most in 1..5 {
            let f = Fixture::new(&[(1, 10, None), (2, 20, None), (3, 30, None), (4, 40, None)]);
            let mut t1 = f.begin(SNAPSHOT);
            t1.snapshot();
            let mut t2 = f.begin(SNAPSHOT);
            f.update(&mut t2, 2, set(35)).unwrap();
            f.delete(&mut t2, 3).unwrap();
            f.insert(&mut t2, (5, 5, None)).unwrap();
            done(t2.commit()).unwrap();
            f.insert(&mut t1, (6, 15, None)).unwrap();
            let mut shown = Vec::new();
            let mut cursor = Cursor::new(KeyRange::all(), direction);
            while !cursor.is_finished() {
                t1.scan_to_lock(&f.table, BY_VALUE, &mut cursor, most, |entry| {
                    shown.push((f.decode(entry.row()).1, f.decode(entry.row()).0));
                    ControlFlow::Continue(())
                });
            }
            let mut expected = vec![(5, 5), (10, 1), (15, 6), (20, 2), (30, 3), (35, 2), (40, 4)];
            if direction == Direction::Backward {
                expected.reverse();
            }
            assert_eq!(shown, expected);
        }
    }
}

#[test]
fn a_scan_for_locks_that_stops_between_shows_both_rows_of_an_entry() {
    for direction in [Direction::Forward, Direction::Backward] {
        let f = Fixture::new(&[(1, 10, None), (2, 20, None), (3, 30, None)]);
        let t1 = f.begin(SNAPSHOT);
        t1.snapshot();
        let mut t2 = f.begin(SNAPSHOT);
        f.update(&mut t2, 2, set(25)).unwrap();
        done(t2.commit()).unwrap();
        let mut shown = Vec::new();
        let mut cursor = Cursor::new(KeyRange::all(), direction);
        while !cursor.is_finished() {
            t1.scan_to_lock(&f.table, IndexId::PRIMARY, &mut cursor, usize::MAX, |entry| {
                shown.push(f.decode(entry.row()).1);
                ControlFlow::Break(())
            });
        }
        shown.sort_unstable();
        assert_eq!(shown, [10, 20, 25, 30]);
    }
}

#[test]
fn a_row_that_a_join_has_found_must_still_be_that_row() {
    for options in [COMPATIBLE, READ_COMMITTED] {
        let f = two_rows();
        let mut t1 = f.begin(options);
        t1.snapshot();
        let mut t2 = f.begin(SNAPSHOT);
        f.update(&mut t2, 1, set(11)).unwrap();
        done(t2.commit()).unwrap();
        let statement = t1.begin_change(StatementScope::InTransaction);
        // The statement's snapshot is newer than the transaction's.
        assert_eq!(t1.get(&f.table, &f.key(1), |row| f.decode(row).1), Some(11));
        let mut t2 = f.begin(SNAPSHOT);
        f.update(&mut t2, 1, set(12)).unwrap();
        done(t2.commit()).unwrap();
        step(t1.lock_found(&f.table, &f.key(1))).unwrap();
        assert_eq!(t1.settle(), Settled::Again);
        t1.restart_statement(statement);
        assert_eq!(t1.get(&f.table, &f.key(1), |row| f.decode(row).1), Some(12));
        step(t1.lock_found(&f.table, &f.key(1))).unwrap();
        assert_eq!(t1.settle(), Settled::Yes);
        t1.end_statement(statement);
        let shown = if options == COMPATIBLE { 10 } else { 12 };
        assert_eq!(f.get(&mut t1, 1), Some(shown));
    }
}

#[test]
fn an_insert_over_a_row_that_the_snapshot_still_sees_conflicts() {
    let f = two_rows();
    let mut t1 = f.begin(SNAPSHOT);
    assert_eq!(f.get(&mut t1, 1), Some(10));
    let mut t2 = f.begin(SNAPSHOT);
    assert!(f.delete(&mut t2, 1).unwrap());
    done(t2.commit()).unwrap();
    conflict(f.insert(&mut t1, (1, 99, None)));
}

#[test]
fn a_table_newer_than_the_snapshot_is_not_read() {
    let f = two_rows();
    let t1 = f.begin(SNAPSHOT);
    t1.snapshot();
    let mut ddl = f.begin(SNAPSHOT);
    let by_value_again = IndexSpec {
        id: IndexId(5),
        key: vec![KeyColumn::ascending(1)],
        unique: false,
        text: None,
    };
    ddl.create_index(&f.table, by_value_again).unwrap();
    done(ddl.commit()).unwrap();
    let table = f.local.store.table(TABLE).unwrap();
    assert!(t1.check_readable(&table, IndexId::PRIMARY).is_ok());
    assert_eq!(
        t1.check_readable(&table, IndexId(5)),
        Err(TransactionError::DefinitionChanged(TABLE))
    );
    assert!(f.begin(SNAPSHOT).check_readable(&table, IndexId(5)).is_ok());
}

/// Another replica leads now, and knows nothing of the locks that this one has given.
#[test]
fn locks_of_an_earlier_leader_keep_nobody_out_and_nobody_goes_on_with_them() {
    let f = Fixture::new(&[(1, 10, None), (2, 20, None)]);
    let (mut holder, mut waiter) = (f.begin(Options::default()), f.begin(Options::default()));
    f.update(&mut holder, 1, |(id, v, u)| (id, v + 1, u)).unwrap();
    let key = f.key(1);
    let Ok(Progress::Wait(wait)) = waiter.lock_for_write(&f.table, &key) else {
        panic!("it is held")
    };
    f.local.store.locks().begin_epoch();
    drop(wait);
    for (lost, id) in [(&mut waiter, 1), (&mut holder, 2)] {
        let refused = lost.lock_for_write(&f.table, &f.key(id)).map(drop);
        assert_eq!(refused, Err(TransactionError::LocksLost));
        assert!(TransactionError::LocksLost.ends_transaction());
    }
    let mut next = f.begin(Options::default());
    f.update(&mut next, 1, |(id, v, u)| (id, v + 5, u)).unwrap();
    drop((holder, waiter));
    done(next.commit()).unwrap();
}
