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
            // A locking read shows the newest row, also behind the snapshot; then writing it is no conflict.
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

#[test]
fn the_first_statement_may_take_a_newer_snapshot() {
    let f = two_rows();
    let mut t1 = f.begin(SNAPSHOT);
    let statement = t1.begin_statement();
    assert_eq!(t1.get(&f.table, &f.key(1), |row| f.decode(row).1), Some(10));
    let mut t2 = f.begin(SNAPSHOT);
    f.update(&mut t2, 1, set(12)).unwrap();
    done(t2.commit()).unwrap();
    conflict(step(t1.lock_for_write(&f.table, &f.key(1))));
    assert!(t1.may_restart_statement());
    t1.restart_statement(statement);
    assert_eq!(t1.get(&f.table, &f.key(1), |row| f.decode(row).1), Some(12));
    step(t1.lock_for_write(&f.table, &f.key(1))).unwrap();
    t1.end_statement(statement);
    t1.begin_statement();
    assert!(!t1.may_restart_statement());

    // A snapshot taken by START TRANSACTION WITH CONSISTENT SNAPSHOT has been asked for.
    let mut t3 = f.begin(SNAPSHOT);
    t3.snapshot();
    t3.begin_statement();
    assert!(!t3.may_restart_statement());
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
