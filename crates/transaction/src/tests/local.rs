//! A session's own table in its transactions: as a table of the shard, without locks and without the log.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use store::LocalStore;

type Rows = BTreeMap<i64, (i64, Option<i64>)>;

#[derive(Debug, Clone)]
enum Action {
    Insert(Row),
    Update(i64, Row),
    Delete(i64),
    Select(usize),
    Savepoint,
    RollbackTo(prop::sample::Index),
    /// Two rows, the second of which may fail: then the first is gone, too.
    Statement(Row, Row),
    Commit,
    Rollback,
}

fn action() -> impl Strategy<Value = Action> {
    let row = || (0i64..8, 0i64..4, prop::option::of(0i64..4));
    prop_oneof![
        5 => row().prop_map(Action::Insert),
        5 => (0i64..8, row()).prop_map(|(id, row)| Action::Update(id, row)),
        3 => (0i64..8).prop_map(Action::Delete),
        3 => (1usize..6).prop_map(Action::Select),
        1 => Just(Action::Savepoint),
        1 => any::<prop::sample::Index>().prop_map(Action::RollbackTo),
        2 => (row(), row()).prop_map(|(first, second)| Action::Statement(first, second)),
        3 => Just(Action::Commit),
        1 => Just(Action::Rollback),
    ]
}

/// A shard with a table, and a local table of the same columns beside it.
fn beside() -> (Fixture, LocalStore, Fixture) {
    let shared = Fixture::new(&[(1, 1, None)]);
    let mut store = LocalStore::new(&shared.local.store);
    let id = TableId::FIRST_LOCAL;
    let table = store.create(TableSpec { id, ..spec() }).unwrap();
    let own = Fixture {
        local: Arc::clone(&shared.local),
        table,
    };
    (shared, store, own)
}

fn commit(mut t: Transaction, store: &mut LocalStore) -> Option<Timestamp> {
    let changes = t.take_local();
    let committed = done(t.commit()).unwrap();
    changes.apply(store);
    committed
}

/// The row by its key or its unique key, other than `except`.
fn is_taken(rows: &Rows, (id, _, u): Row, except: Option<i64>) -> bool {
    let others = || rows.iter().filter(|(other, _)| Some(**other) != except);
    others().any(|(&other, &(_, taken))| other == id || u.is_some() && taken == u)
}

fn insert(rows: &mut Rows, row: Row) -> bool {
    let fits = !is_taken(rows, row, None);
    if fits {
        rows.insert(row.0, (row.1, row.2));
    }
    fits
}

fn run(options: Options, actions: Vec<Action>) {
    let (shared, mut store, f) = beside();
    let logged = shared.local.store.published();
    let mut committed = Rows::new();
    let mut rows = committed.clone();
    let mut t = f.begin(options);
    let mut savepoints: Vec<(Savepoint, Rows)> = Vec::new();
    for action in actions {
        match action {
            Action::Insert(row) => {
                assert_eq!(f.insert(&mut t, row).is_ok(), insert(&mut rows, row));
            }
            Action::Update(id, row) => {
                let there = rows.contains_key(&id);
                let fits = !is_taken(&rows, row, Some(id));
                assert_eq!(f.update(&mut t, id, |_| row).is_ok(), !there || fits);
                if there && fits {
                    rows.remove(&id);
                    rows.insert(row.0, (row.1, row.2));
                }
            }
            Action::Delete(id) => {
                assert_eq!(f.delete(&mut t, id), Ok(rows.remove(&id).is_some()));
            }
            Action::Statement(first, second) => {
                let statement = t.begin_statement();
                let mut both = || {
                    for row in [first, second] {
                        step(t.insert(&f.table, &f.key(row.0), &f.row(row)))?;
                    }
                    Ok(())
                };
                let result = both();
                let mut after = rows.clone();
                let fits = insert(&mut after, first) && insert(&mut after, second);
                assert_eq!(end(&mut t, statement, result).is_ok(), fits);
                if fits {
                    rows = after;
                }
            }
            Action::Select(most) => {
                let expected: Vec<Row> = rows.iter().map(|(&id, &(v, u))| (id, v, u)).collect();
                let order: [(IndexId, fn(&Row) -> (i64, i64)); 3] = [
                    (IndexId::PRIMARY, |row| (row.0, 0)),
                    (BY_VALUE, |row| (row.1, row.0)),
                    (BY_UNIQUE, |row| (row.2.unwrap_or(-1), row.0)),
                ];
                for (index, key) in order {
                    let mut expected = expected.clone();
                    expected.sort_by_key(key);
                    assert_eq!(f.select(&mut t, index, Direction::Forward, most), expected, "{index}");
                    expected.reverse();
                    assert_eq!(f.select(&mut t, index, Direction::Backward, most), expected, "{index}");
                }
            }
            Action::Savepoint => savepoints.push((t.savepoint(), rows.clone())),
            Action::RollbackTo(at) if !savepoints.is_empty() => {
                let at = at.index(savepoints.len());
                t.rollback_to(savepoints[at].0);
                rows = savepoints[at].1.clone();
                savepoints.truncate(at + 1);
            }
            Action::RollbackTo(_) => {}
            Action::Commit => {
                let ended = std::mem::replace(&mut t, f.begin(options));
                assert_eq!(commit(ended, &mut store), None, "the log learns nothing");
                committed = rows.clone();
                savepoints.clear();
            }
            Action::Rollback => {
                std::mem::replace(&mut t, f.begin(options)).rollback();
                rows = committed.clone();
                savepoints.clear();
            }
        }
        assert_eq!(t.lock_count(), 0);
    }
    drop(t);
    let memory = shared.local.store.memory();
    assert_eq!(shared.local.store.published(), logged);
    assert_eq!(shared.committed(), [(1, 1)]);
    assert_eq!(memory.used_by(MemoryUse::Transactions), 0);
    assert_eq!(memory.used_by(MemoryUse::Temporary) > 0, !committed.is_empty());
    drop(store);
    assert_eq!(memory.used_by(MemoryUse::Temporary), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_local_table_is_a_map_with_savepoints(
        options in prop::sample::select(&ALL[..]),
        actions in prop::collection::vec(action(), 1..120),
    ) {
        run(options, actions);
    }
}

#[test]
fn both_kinds_of_tables_commit_and_roll_back_together() {
    let (shared, mut store, own) = beside();
    let mut t = shared.begin(SNAPSHOT);
    let statement = t.begin_statement();
    for f in [&shared, &own] {
        step(t.insert(&f.table, &f.key(2), &f.row((2, 20, None)))).unwrap();
    }
    t.rollback_statement(statement);
    assert!(!t.has_writes() && !t.has_local_changes());
    for f in [&shared, &own] {
        f.insert(&mut t, (3, 30, None)).unwrap();
    }
    assert!(t.has_writes() && t.has_local_changes());
    assert_eq!(t.changed_rows(), 1, "of the shard");
    let before = shared.local.store.published();
    assert_eq!(commit(t, &mut store), Some(before.next()));
    assert_eq!(shared.committed(), [(1, 1), (3, 30)]);
    assert_eq!(own.committed(), [(3, 30)]);
    let mut t = shared.begin(SNAPSHOT);
    own.update(&mut t, 3, |(id, _, u)| (id, 31, u)).unwrap();
    done(t.commit()).unwrap();
    assert_eq!(own.committed(), [(3, 30)], "what nobody takes out is rolled back");
    assert_eq!(shared.local.store.published(), before.next());
}

#[test]
fn changes_of_a_dropped_table_go_nowhere() {
    let (shared, mut store, own) = beside();
    let mut t = shared.begin(SNAPSHOT);
    own.insert(&mut t, (1, 1, None)).unwrap();
    drop(store.remove(own.table.id()));
    assert_eq!(commit(t, &mut store), None);
    assert_eq!(own.committed(), []);
    assert_eq!(shared.local.store.memory().used_by(MemoryUse::Temporary), 0);
}

#[test]
fn a_local_row_has_one_version_after_each_commit() {
    let (shared, mut store, own) = beside();
    let mut t = shared.begin(SNAPSHOT);
    own.insert(&mut t, (1, 0, None)).unwrap();
    commit(t, &mut store);
    let memory = shared.local.store.memory();
    let held = memory.used_by(MemoryUse::Temporary);
    for v in 1..200 {
        let mut t = shared.begin(SNAPSHOT);
        own.get(&mut t, 1);
        own.update(&mut t, 1, |(id, _, u)| (id, v, u)).unwrap();
        commit(t, &mut store);
    }
    assert!(
        memory.used_by(MemoryUse::Temporary) <= held + 200,
        "{}",
        memory.used_by(MemoryUse::Temporary)
    );
}
