//! Rows that expire: what statements and transactions see of them as time passes, and who may take their keys.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use types::{DateTime, Expiry};

const BY_END: IndexId = IndexId(1);
const READ_COMMITTED: Options = Options {
    isolation: Isolation::ReadCommitted,
    write_rule: WriteRule::FirstCommitterWins,
    durability: Durability::MajorityDisk,
    connection: 0,
};

/// `CREATE TABLE t (id INT PRIMARY KEY, e DATETIME(6), u INT, KEY (e), UNIQUE (u)) TTL = e`
fn expiring() -> TableSpec {
    TableSpec {
        columns: vec![SqlType::int().not_null(), SqlType::datetime(6), SqlType::int()],
        expiry: Some(Expiry {
            column: 1,
            months: 0,
            micros: 0,
        }),
        ..spec()
    }
}

/// A row: its id, how many milliseconds after the start it expires, its unique key.
type Mortal = (i64, Option<u64>, Option<i64>);

struct Mortals {
    local: Arc<Local>,
    table: Arc<Table>,
    start: DateTime,
}

impl Mortals {
    fn new(rows: &[Mortal]) -> Mortals {
        let fixture = Fixture::new(&[]);
        let mut t = fixture.begin(Options::default());
        t.drop_table(TABLE);
        done(t.commit()).unwrap();
        let mut t = fixture.begin(Options::default());
        t.create_table(expiring());
        done(t.commit()).unwrap();
        let local = fixture.local;
        let epoch = DateTime {
            fsp: 6,
            ..DateTime::EPOCH
        };
        let mortals = Mortals {
            table: local.store.table(TABLE).unwrap(),
            start: epoch.add_micros(local.wall().as_micros() as i64).unwrap(),
            local,
        };
        let mut t = mortals.begin(READ_COMMITTED);
        rows.iter().for_each(|row| mortals.insert(&mut t, *row).unwrap());
        done(t.commit()).unwrap();
        mortals
    }

    /// Milliseconds pass.
    fn pass(&self, ms: u64) {
        self.local.clock.advance(Duration::from_millis(ms));
    }

    fn begin(&self, options: Options) -> Transaction {
        Transaction::begin(Arc::clone(&self.local) as Arc<dyn Participant>, options)
    }

    fn key(&self, id: i64) -> Vec<u8> {
        let mut key = Vec::new();
        let layout = self.table.primary_layout().unwrap();
        layout.encode_values(&[Value::Int(id)], &mut key);
        key
    }

    fn row(&self, (id, end, u): Mortal) -> Vec<u8> {
        let end = end.map_or(Value::Null, |ms| {
            Value::DateTime(self.start.add_micros(ms as i64 * 1000).unwrap())
        });
        let mut row = Vec::new();
        let values = [Value::Int(id), end, u.map_or(Value::Null, Value::Int)];
        self.table.row_layout().encode(&values, &mut row);
        row
    }

    fn decode(&self, row: &[u8]) -> Mortal {
        let values = self.table.row_layout().decode(row);
        let Value::Int(id) = values[0] else {
            panic!("{values:?}")
        };
        let end = match values[1] {
            Value::DateTime(end) => Some((end.micros_since(self.start) / 1000) as u64),
            _ => None,
        };
        let u = match values[2] {
            Value::Int(u) => Some(u),
            _ => None,
        };
        (id, end, u)
    }

    fn insert(&self, t: &mut Transaction, row: Mortal) -> Result<(), Failure> {
        let statement = t.begin_statement();
        let result = step(t.insert(&self.table, &self.key(row.0), &self.row(row)));
        end(t, statement, result)
    }

    fn update(&self, t: &mut Transaction, id: i64, new: Mortal) -> Result<bool, Failure> {
        let statement = t.begin_statement();
        let key = self.key(id);
        let result = step(t.lock_for_write(&self.table, &key)).and_then(|()| {
            let found = t.get_current(&self.table, &key, |_| ()).is_some();
            if found {
                step(t.update(&self.table, &key, &self.key(new.0), &self.row(new)))?;
            }
            Ok(found)
        });
        end(t, statement, result)
    }

    fn delete(&self, t: &mut Transaction, id: i64) -> Result<bool, Failure> {
        let statement = t.begin_statement();
        let key = self.key(id);
        let result = step(t.lock_for_write(&self.table, &key)).and_then(|()| {
            let found = t.get_current(&self.table, &key, |_| ()).is_some();
            if found {
                step(t.delete(&self.table, &key))?;
            }
            Ok(found)
        });
        end(t, statement, result)
    }

    fn lock(&self, t: &mut Transaction, id: i64) -> Result<bool, Failure> {
        let statement = t.begin_statement();
        let key = self.key(id);
        let progress = t.lock_for_read(&self.table, &key, LockMode::Shared, LockPolicy::Wait);
        let result = step(progress).map(|()| t.get_current(&self.table, &key, |_| ()).is_some());
        end(t, statement, result)
    }

    /// The rows by an index, which gets and counts confirm.
    fn rows(&self, t: &mut Transaction, index: IndexId, direction: Direction) -> Vec<Mortal> {
        let statement = t.begin_statement();
        let mut rows = Vec::new();
        let mut cursor = Cursor::new(KeyRange::all(), direction);
        while !cursor.is_finished() {
            t.scan(&self.table, index, &mut cursor, 3, |entry| {
                rows.push(self.decode(entry.row()));
                ControlFlow::Continue(())
            });
        }
        let mut counted = 0;
        let mut cursor = Cursor::forward(KeyRange::all());
        while !cursor.is_finished() {
            counted += t.count(&self.table, index, &mut cursor, 3);
        }
        assert_eq!(counted, rows.len());
        for id in 0..12 {
            let found = t.get(&self.table, &self.key(id), |row| self.decode(row));
            assert_eq!(found, rows.iter().find(|row| row.0 == id).copied());
        }
        t.end_statement(statement);
        rows
    }

    fn ids(&self, t: &mut Transaction) -> Vec<i64> {
        let rows = self.rows(t, IndexId::PRIMARY, Direction::Forward);
        rows.into_iter().map(|row| row.0).collect()
    }

    /// Purges what is expired, and returns how many rows that were.
    fn purge(&self) -> usize {
        let mut t = self.begin(READ_COMMITTED);
        let mut keys = Vec::new();
        t.scan_expired(
            &self.table,
            BY_END,
            &mut Cursor::forward(KeyRange::all()),
            100,
            |entry| {
                keys.push(entry.primary_key().to_vec());
                ControlFlow::Continue(())
            },
        );
        let purged = keys
            .iter()
            .filter(|key| matches!(t.purge(&self.table, key).unwrap(), Progress::Done));
        let purged = purged.count();
        done(t.commit()).unwrap();
        purged
    }

    /// All that is stored.
    fn stored(&self) -> Vec<i64> {
        let mut ids = Vec::new();
        let mut cursor = Cursor::forward(KeyRange::all());
        self.table
            .scan(IndexId::PRIMARY, &mut cursor, &self.table.snapshot(), 1000, |entry| {
                ids.push(self.decode(entry.row()).0);
                ControlFlow::Continue(())
            });
        ids
    }
}

#[test]
fn a_row_is_gone_at_its_millisecond_by_every_way() {
    let m = Mortals::new(&[(1, Some(10), Some(1)), (2, Some(20), None), (3, None, None)]);
    let mut t = m.begin(READ_COMMITTED);
    m.pass(9);
    assert_eq!(m.ids(&mut t), [1, 2, 3]);
    m.pass(1);
    for index in [IndexId::PRIMARY, BY_END, BY_UNIQUE] {
        for direction in [Direction::Forward, Direction::Backward] {
            let mut rows = m.rows(&mut t, index, direction);
            rows.sort();
            assert_eq!(rows, [(2, Some(20), None), (3, None, None)]);
        }
    }
    assert_eq!(m.delete(&mut t, 1), Ok(false));
    assert_eq!(m.update(&mut t, 1, (1, None, None)), Ok(false));
    m.pass(1000);
    assert_eq!(m.ids(&mut t), [3]);
    assert_eq!(m.stored(), [1, 2, 3]);
}

#[test]
fn a_snapshot_keeps_its_time() {
    let m = Mortals::new(&[(1, Some(10), None), (2, Some(20), None)]);
    let mut old = m.begin(SNAPSHOT);
    let mut newest = m.begin(COMPATIBLE);
    m.pass(5);
    assert_eq!(m.ids(&mut old), [1, 2]);
    assert_eq!(m.ids(&mut newest), [1, 2]);
    m.pass(5);
    assert_eq!(m.ids(&mut old), [1, 2]);
    assert_eq!(m.ids(&mut m.begin(SNAPSHOT)), [2]);
    // Snapshot isolation takes it for deleted since; otherwise a locking read goes by its own time.
    let conflict = Failure::Error(TransactionError::WriteConflict(TABLE));
    assert_eq!(m.lock(&mut old, 1), Err(conflict));
    assert_eq!(m.lock(&mut newest, 1), Ok(false));
    assert_eq!(m.ids(&mut newest), [1, 2]);
    // Also when it has been purged.
    assert_eq!(m.purge(), 0, "somebody has it locked");
    drop(newest);
    drop(old);
    assert_eq!(m.purge(), 1);
    assert_eq!(m.stored(), [2]);
}

#[test]
fn the_clock_of_a_locked_row_stands_still() {
    let m = Mortals::new(&[(1, Some(10), Some(1)), (2, Some(10), Some(2)), (3, Some(10), Some(3))]);
    for options in [READ_COMMITTED, COMPATIBLE, SNAPSHOT] {
        let mut t = m.begin(options);
        assert_eq!(m.lock(&mut t, 1), Ok(true));
        assert_eq!(m.update(&mut t, 2, (2, Some(11), Some(2))), Ok(true));
        t.rollback();
    }
    let mut t = m.begin(READ_COMMITTED);
    assert_eq!(m.lock(&mut t, 1), Ok(true));
    // The rows that it has changed, and one whose change is taken back.
    assert_eq!(m.update(&mut t, 2, (2, Some(5), Some(2))), Ok(true));
    let before = t.savepoint();
    assert_eq!(m.update(&mut t, 3, (3, Some(5), Some(4))), Ok(true));
    t.rollback_to(before);
    m.pass(30);
    assert_eq!(m.ids(&mut t), [1, 2, 3]);
    let duplicate = |index, id| {
        Err(Failure::Error(TransactionError::DuplicateKey {
            table: TABLE,
            index,
            existing: m.key(id),
        }))
    };
    assert_eq!(m.insert(&mut t, (1, None, None)), duplicate(IndexId::PRIMARY, 1));
    assert_eq!(m.insert(&mut t, (4, None, Some(3))), duplicate(BY_UNIQUE, 3));
    assert_eq!(m.update(&mut t, 1, (1, Some(12), Some(1))), Ok(true));
    let mut other = m.begin(READ_COMMITTED);
    assert!(m.ids(&mut other).is_empty());
    assert_eq!(m.insert(&mut other, (9, None, Some(3))), Err(Failure::Waits));
    assert_eq!(m.purge(), 0);
    done(t.commit()).unwrap();
    // Nobody has them any more, and they are expired.
    assert!(m.ids(&mut other).is_empty());
    m.insert(&mut other, (9, None, Some(3))).unwrap();
    done(other.commit()).unwrap();
    assert_eq!(m.stored(), [1, 2, 9]);
}

#[test]
fn a_locked_table_stands_still_as_a_whole() {
    let m = Mortals::new(&[(1, Some(10), None), (2, None, None)]);
    let mut t = m.begin(READ_COMMITTED);
    step(t.lock_table(TABLE, LockMode::Shared, LockPolicy::Wait)).unwrap();
    m.pass(10);
    assert_eq!(m.ids(&mut t), [1, 2]);
    assert_eq!(m.ids(&mut m.begin(READ_COMMITTED)), [2]);
}

#[test]
fn the_keys_of_expired_rows_are_free() {
    let m = Mortals::new(&[
        (1, Some(10), Some(1)),
        (2, Some(10), Some(2)),
        (3, Some(10), Some(3)),
        (4, None, Some(4)),
    ]);
    m.pass(10);
    let mut t = m.begin(SNAPSHOT);
    // Its own primary key, another one's unique key, and both.
    m.insert(&mut t, (1, None, Some(2))).unwrap();
    assert_eq!(m.update(&mut t, 4, (3, None, Some(3))), Ok(true));
    assert_eq!(
        m.rows(&mut t, BY_UNIQUE, Direction::Forward),
        [(1, None, Some(2)), (3, None, Some(3))]
    );
    assert!(m.ids(&mut m.begin(READ_COMMITTED)) == [4]);
    // Somebody else who wants the same waits, and a purge goes by.
    assert_eq!(
        m.insert(&mut m.begin(READ_COMMITTED), (7, None, Some(1))),
        Err(Failure::Waits)
    );
    assert_eq!(m.purge(), 0);
    done(t.commit()).unwrap();
    assert_eq!(m.stored(), [1, 3]);
    for index in [IndexId::PRIMARY, BY_END, BY_UNIQUE] {
        let mut entries = 0;
        let mut cursor = Cursor::forward(KeyRange::all());
        while !cursor.is_finished() {
            entries += m.table.count(index, &mut cursor, &m.table.snapshot(), 100);
        }
        assert_eq!(entries, 2);
    }
}

#[test]
fn whoever_makes_a_row_live_on_keeps_its_key() {
    let m = Mortals::new(&[(1, Some(10), Some(1))]);
    let mut t = m.begin(READ_COMMITTED);
    assert_eq!(m.lock(&mut t, 1), Ok(true));
    m.pass(10);
    let mut other = m.begin(READ_COMMITTED);
    assert_eq!(m.insert(&mut other, (2, None, Some(1))), Err(Failure::Waits));
    assert_eq!(m.update(&mut t, 1, (1, Some(50), Some(1))), Ok(true));
    done(t.commit()).unwrap();
    let taken = TransactionError::DuplicateKey {
        table: TABLE,
        index: BY_UNIQUE,
        existing: m.key(1),
    };
    assert_eq!(m.insert(&mut other, (2, None, Some(1))), Err(Failure::Error(taken)));
}

#[test]
fn a_unique_index_is_built_beside_expired_rows() {
    let m = Mortals::new(&[(1, Some(10), None), (2, Some(10), None), (3, Some(11), None)]);
    let index = IndexSpec {
        id: IndexId(9),
        key: vec![KeyColumn::ascending(1)],
        unique: true,
        text: None,
    };
    let duplicate = m.begin(READ_COMMITTED).create_index(&m.table, index.clone());
    assert!(matches!(duplicate, Err(TransactionError::DuplicateKey { .. })));
    m.pass(10);
    let mut t = m.begin(READ_COMMITTED);
    t.create_index(&m.table, index).unwrap();
    done(t.commit()).unwrap();
    let found = m.local.store.table(TABLE).unwrap();
    assert_eq!(found.spec().indexes.len(), 3);
}

#[test]
fn a_rule_can_be_given_and_taken() {
    let m = Mortals::new(&[(1, Some(10), None)]);
    m.pass(10);
    let mut t = m.begin(READ_COMMITTED);
    t.set_expiry(TABLE, None);
    done(t.commit()).unwrap();
    let bare = Mortals {
        table: m.local.store.table(TABLE).unwrap(),
        local: Arc::clone(&m.local),
        start: m.start,
    };
    assert_eq!(bare.ids(&mut bare.begin(READ_COMMITTED)), [1]);
    let mut t = m.begin(READ_COMMITTED);
    t.set_expiry(TABLE, expiring().expiry);
    done(t.commit()).unwrap();
    let table = m.local.store.table(TABLE).unwrap();
    let t = m.begin(READ_COMMITTED);
    assert_eq!(t.get(&table, &m.key(1), |_| ()), None);
    let row = m.row((1, Some(10), None));
    assert!(t.is_expired(&table, &m.key(1), &row) && !t.is_expired(&bare.table, &m.key(1), &row));
    t.rollback();
}

#[derive(Debug, Clone)]
enum Step {
    Insert(Mortal),
    Update(i64, Mortal),
    Delete(i64),
    Lock(i64),
    Pass(u64),
    Purge,
    Read(bool),
    Commit,
    Rollback,
    /// By another session, in a transaction of its own.
    Elsewhere(Mortal),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let row = || (0i64..8, prop::option::of(0u64..60), prop::option::of(0i64..6));
    let step = prop_oneof![
        4 => row().prop_map(Step::Insert),
        3 => (0i64..8, row()).prop_map(|(id, row)| Step::Update(id, row)),
        2 => (0i64..8).prop_map(Step::Delete),
        2 => (0i64..8).prop_map(Step::Lock),
        4 => (1u64..8).prop_map(Step::Pass),
        1 => Just(Step::Purge),
        3 => any::<bool>().prop_map(Step::Read),
        2 => Just(Step::Commit),
        1 => Just(Step::Rollback),
        2 => row().prop_map(Step::Elsewhere),
    ];
    prop::collection::vec(step, 1..60)
}

/// What a transaction at READ COMMITTED sees: rows, and those among them whose clocks stand still.
#[derive(Clone, Default)]
struct Model {
    rows: BTreeMap<i64, (Mortal, bool)>,
    now: u64,
}

impl Model {
    fn expire(&mut self) {
        let now = self.now;
        self.rows
            .retain(|_, ((_, end, _), stands)| *stands || end.is_none_or(|end| end > now));
    }

    fn is_taken(&self, row: Mortal, except: Option<i64>) -> bool {
        let id_taken = Some(row.0) != except && self.rows.contains_key(&row.0);
        let others = self.rows.values().filter(|(other, _)| Some(other.0) != except);
        id_taken || row.2.is_some() && others.map(|(other, _)| other.2).any(|u| u == row.2)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// An expired row is as one that a model has removed, whatever else is done, and whether it is purged.
    #[test]
    fn expired_rows_are_as_removed_ones(steps in steps()) {
        let m = Mortals::new(&[]);
        // As others see it, and as the open transaction does.
        let mut committed = Model::default();
        let mut own = Model::default();
        let mut t = m.begin(READ_COMMITTED);
        for what in steps {
            committed.expire();
            own.expire();
            match what {
                Step::Insert(row) => match m.insert(&mut t, row) {
                    Ok(()) => {
                        prop_assert!(!own.is_taken(row, None), "{row:?}");
                        own.rows.insert(row.0, (row, true));
                    }
                    Err(Failure::Error(TransactionError::DuplicateKey { index, existing, .. })) => {
                        prop_assert!(own.is_taken(row, None), "{row:?}");
                        // The row in the way is locked by its primary key, or by the unique one alone.
                        if index == IndexId::PRIMARY {
                            let id = (0..8).find(|id| m.key(*id) == existing).unwrap();
                            own.rows.get_mut(&id).unwrap().1 = true;
                        }
                    }
                    Err(other) => prop_assert!(false, "{other:?}"),
                },
                Step::Update(id, row) => match m.update(&mut t, id, row) {
                    Ok(found) => {
                        prop_assert_eq!(found, own.rows.contains_key(&id));
                        if found {
                            prop_assert!(!own.is_taken(row, Some(id)));
                            own.rows.remove(&id);
                            own.rows.insert(row.0, (row, true));
                        }
                    }
                    Err(Failure::Error(TransactionError::DuplicateKey { index, existing, .. })) => {
                        prop_assert!(own.is_taken(row, Some(id)));
                        own.rows.get_mut(&id).unwrap().1 = true;
                        if index == IndexId::PRIMARY {
                            let id = (0..8).find(|id| m.key(*id) == existing).unwrap();
                            own.rows.get_mut(&id).unwrap().1 = true;
                        }
                    }
                    Err(other) => prop_assert!(false, "{other:?}"),
                },
                Step::Delete(id) => {
                    let found = m.delete(&mut t, id);
                    prop_assert_eq!(found, Ok(own.rows.remove(&id).is_some()));
                }
                Step::Lock(id) => {
                    prop_assert_eq!(m.lock(&mut t, id), Ok(own.rows.contains_key(&id)));
                    if let Some(row) = own.rows.get_mut(&id) {
                        row.1 = true;
                    }
                }
                Step::Pass(ms) => {
                    m.pass(ms);
                    committed.now += ms;
                    own.now += ms;
                }
                Step::Purge => {
                    m.purge();
                }
                Step::Read(backward) => {
                    let (index, direction) = match backward {
                        true => (BY_UNIQUE, Direction::Backward),
                        false => (BY_END, Direction::Forward),
                    };
                    for (t, model) in [(&mut t, &own), (&mut m.begin(SNAPSHOT), &committed)] {
                        let mut rows = m.rows(t, index, direction);
                        rows.sort();
                        prop_assert_eq!(rows, model.rows.values().map(|(row, _)| *row).collect::<Vec<_>>());
                    }
                }
                Step::Commit => {
                    done(std::mem::replace(&mut t, m.begin(READ_COMMITTED)).commit()).unwrap();
                    own.rows.values_mut().for_each(|row| row.1 = false);
                    committed = own.clone();
                }
                Step::Rollback => {
                    std::mem::replace(&mut t, m.begin(READ_COMMITTED)).rollback();
                    own = committed.clone();
                }
                Step::Elsewhere(row) => {
                    let mut other = m.begin(READ_COMMITTED);
                    match m.insert(&mut other, row) {
                        Ok(()) => {
                            prop_assert!(!committed.is_taken(row, None));
                            done(other.commit()).unwrap();
                            committed.rows.insert(row.0, (row, false));
                            own.rows.insert(row.0, (row, false));
                        }
                        Err(Failure::Error(TransactionError::DuplicateKey { .. })) => {
                            prop_assert!(committed.is_taken(row, None));
                        }
                        Err(Failure::Waits) => {}
                        Err(other) => prop_assert!(false, "{other:?}"),
                    }
                }
            }
        }
        t.rollback();
        // In the end everything that is expired can be purged, and all indexes say the same.
        m.purge();
        committed.expire();
        prop_assert_eq!(m.stored(), committed.rows.keys().copied().collect::<Vec<_>>());
    }
}
