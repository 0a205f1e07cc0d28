//! The store against the plainest model there is: a copy of all rows for every timestamp.
//!
//! Random batches of transactions, large ones among them that come in chunks and are committed or aborted later, are applied while
//! snapshots are held, versions collected and all of it moved about, and indexes come, some of them prepared before, and go; every held snapshot must go
//! on seeing its own moment, by every index, in both directions, in chunks of any size; and so must a snapshot of any moment of the past that
//! is kept.

use governor::pages::{Side, Sparse};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use store::{
    Cursor, Direction, IndexId, IndexSpec, KeyColumn, KeyRange, MemoryBudget, MemoryUse, PrepareError, PreparedIndex,
    Snapshot, Store, Table, TableId, TableLoader, TableSpec, Undecided, WriteOps, WriteSet, Writer,
};
use types::elements::elements;
use types::fulltext::TextRules;
use types::{CollationId, EntryKeys, Json, KeyLayout, RowLayout, SqlType, Timestamp, Value};

mod prepared;

pub(crate) const TABLE: TableId = TableId(1);

/// `id INT PRIMARY KEY, a INT NOT NULL, b VARCHAR(20), c JSON`, with indexes on `a`, on `b, a DESC`, on the words of `b`, and on `a` with the
/// elements of `c`, which are made of `a`.
pub(crate) fn spec() -> TableSpec {
    let text = SqlType::varchar(20, CollationId::DEFAULT);
    TableSpec {
        generations: None,
        expiry: None,
        id: TABLE,
        columns: vec![
            SqlType::int().not_null(),
            SqlType::int().not_null(),
            text,
            SqlType::json(),
        ],
        primary: Some(vec![KeyColumn::ascending(0)]),
        indexes: vec![index(1), index(2), index(4), index(5)],
    }
}

fn index(id: u16) -> IndexSpec {
    let key = match id {
        1 => vec![KeyColumn::ascending(1)],
        2 => vec![
            KeyColumn::ascending(2),
            KeyColumn {
                column: 1,
                prefix: None,
                descending: true,
                elements: None,
            },
        ],
        4 => vec![KeyColumn::ascending(2)],
        5 => vec![
            KeyColumn {
                elements: Some(SqlType::bigint()),
                ..KeyColumn::ascending(3)
            },
            KeyColumn::ascending(1),
        ],
        _ => vec![KeyColumn {
            column: 2,
            prefix: Some(1),
            descending: false,
            elements: None,
        }],
    };
    IndexSpec {
        id: IndexId(id),
        key,
        unique: false,
        text: (id == 4).then_some(TextRules::WORDS),
    }
}

/// None, no elements, or one to three.
fn array(a: i64) -> Value {
    match a.rem_euclid(7) {
        0 => Value::Null,
        1 => Value::Json(Json::parse("[]").unwrap()),
        _ => {
            let document = Json::parse(&format!("[{}, {}, {a}]", a % 3, a % 5)).unwrap();
            Value::Json(elements(document.as_ref(), &SqlType::bigint()).unwrap())
        }
    }
}

pub(crate) type Rows = BTreeMap<i64, (i64, Option<String>)>;

/// A store and what it should hold.
pub(crate) struct Tested {
    pub(crate) store: Arc<Store>,
    pub(crate) writer: Writer,
    layout: RowLayout,
    primary: KeyLayout,
    /// The rows after each commit.
    pub(crate) model: BTreeMap<Timestamp, Rows>,
    pub(crate) newest: Timestamp,
    snapshots: Vec<Snapshot>,
    large: Vec<Large>,
    prepared: BTreeMap<u16, PreparedIndex>,
}

/// A large transaction, and what it has changed so far.
struct Large {
    undecided: Undecided,
    writes: BTreeMap<i64, Write>,
}

impl Tested {
    pub(crate) fn new() -> Tested {
        let (store, mut writer) = Store::new(MemoryBudget::new(1 << 30));
        let mut set = WriteSet::new();
        set.create_table(&spec());
        writer
            .apply(Timestamp(1), WriteOps::decode(set.as_bytes()).unwrap())
            .unwrap();
        writer.publish();
        Tested {
            store,
            writer,
            layout: spec().row_layout(),
            primary: spec().primary_layout().unwrap(),
            model: BTreeMap::from([(Timestamp(1), Rows::new())]),
            newest: Timestamp(1),
            snapshots: Vec::new(),
            large: Vec::new(),
            prepared: BTreeMap::new(),
        }
    }

    fn table(&self) -> Arc<Table> {
        self.store.table(TABLE).unwrap()
    }

    fn key(&self, id: i64) -> Vec<u8> {
        let mut key = Vec::new();
        self.primary.encode_values(&[Value::Int(id)], &mut key);
        key
    }

    fn row(&self, id: i64, a: i64, b: Option<&str>) -> Vec<u8> {
        let mut row = Vec::new();
        let b = b.map_or(Value::Null, |b| Value::Str(b.into()));
        self.layout
            .encode(&[Value::Int(id), Value::Int(a), b, array(a)], &mut row);
        row
    }

    fn commit(&mut self, set: &WriteSet, rows: Rows) {
        self.apply(set);
        self.model.insert(self.newest, rows);
    }

    /// As [`commit`](Self::commit), of what the model does not know.
    fn apply(&mut self, set: &WriteSet) {
        self.newest = self.newest.next();
        self.writer
            .apply(self.newest, WriteOps::decode(set.as_bytes()).unwrap())
            .unwrap();
    }

    fn rows(&self, ts: Timestamp) -> &Rows {
        self.model.range(..=ts).next_back().unwrap().1
    }

    pub(crate) fn write(&mut self, writes: &[Write]) {
        let mut rows = self.rows(self.newest).clone();
        let writes = self.allowed(writes);
        change(&mut rows, &writes);
        self.commit(&self.encode(&writes), rows);
    }

    /// A transaction changes a row once, and none that an undecided one has changed.
    fn allowed(&self, writes: &[Write]) -> BTreeMap<i64, Write> {
        let is_locked = |id| self.large.iter().any(|large| large.writes.contains_key(&id));
        let allowed = writes.iter().filter(|write| !is_locked(write.id()));
        allowed.map(|write| (write.id(), write.clone())).collect()
    }

    fn encode(&self, writes: &BTreeMap<i64, Write>) -> WriteSet {
        let mut set = WriteSet::new();
        for (&id, write) in writes {
            match write {
                Write::Put(_, a, b) => set.put(TABLE, &self.key(id), &self.row(id, *a, b.as_deref())),
                Write::Delete(_) => set.delete(TABLE, &self.key(id)),
            }
        }
        set
    }

    /// One more part of a large transaction, of a new one or of one that has begun.
    fn write_chunk(&mut self, which: usize, writes: &[Write]) {
        if which >= self.large.len() {
            self.large.push(Large {
                undecided: self.writer.begin(),
                writes: BTreeMap::new(),
            });
        }
        let writes = self.allowed(writes);
        let set = self.encode(&writes);
        let at = which.min(self.large.len() - 1);
        let fitting = self
            .writer
            .check_chunk(WriteOps::decode(set.as_bytes()).unwrap())
            .unwrap();
        self.writer.apply_chunk(&mut self.large[at].undecided, fitting).unwrap();
        self.large[at].writes.extend(writes);
        // What is undecided is left alone.
        let puts = |write: &&Write| matches!(write, Write::Put(..));
        for write in self.large[at].writes.values().filter(puts) {
            let id = write.id();
            let set = self.encode(&BTreeMap::from([(id, write.clone())]));
            let ops = || WriteOps::decode(set.as_bytes()).unwrap();
            assert!(self.writer.check(ops()).is_err() && self.writer.check_chunk(ops()).is_err());
        }
    }

    fn decide(&mut self, which: usize, commits: bool) {
        let Large { undecided, writes } = self.large.swap_remove(which);
        if commits {
            let mut rows = self.rows(self.newest).clone();
            change(&mut rows, &writes);
            self.commit(&WriteSet::new(), rows);
            self.writer.commit(undecided);
        } else {
            self.writer.abort(undecided);
        }
    }

    fn toggle_index(&mut self, id: u16) {
        if self.large.iter().any(|large| !large.writes.is_empty()) {
            return;
        }
        let mut set = WriteSet::new();
        match self.table().spec().index(IndexId(id)) {
            Some(_) => set.drop_index(TABLE, IndexId(id)),
            None => set.create_index(TABLE, &index(id)),
        }
        let rows = self.rows(self.newest).clone();
        self.commit(&set, rows);
        self.prepared.remove(&id);
    }

    /// An index is built that the table may get later, unless its rows change before that.
    fn prepare_index(&mut self, id: u16) {
        let prepared = self.store.prepare_index(&self.table(), &index(id), 0).unwrap();
        drop(self.prepared.remove(&id));
        // The one before has taken it along.
        drop(prepared);
        let prepared = self.store.prepare_index(&self.table(), &index(id), 0).unwrap();
        self.prepared.insert(id, prepared);
    }

    /// Moves a part of all there is, as if every page were sparse.
    fn compact(&mut self, most: usize) -> bool {
        if !self.writer.is_compacting() {
            self.writer.begin_compaction(Sparse::everything(Side::Apart));
        }
        self.writer.compact(most)
    }

    /// The snapshot sees what the model says, by every way of asking.
    pub(crate) fn check(&self, snapshot: &Snapshot, range: &KeyRange, chunk: usize) {
        let table = self.table();
        let rows = self.rows(snapshot.timestamp());
        for id in 0..IDS {
            let found = table.get(&self.key(id), snapshot, <[u8]>::to_vec);
            let expected = rows.get(&id).map(|(a, b)| self.row(id, *a, b.as_deref()));
            assert_eq!(found, expected, "row {id} at {}", snapshot.timestamp());
        }
        let indexes = table.spec().indexes.iter().map(|index| index.id);
        for index in indexes.chain([IndexId::PRIMARY]) {
            if !table.is_readable_at(index, snapshot.timestamp()) {
                continue;
            }
            let mut expected: Vec<_> = rows
                .iter()
                .flat_map(|(&id, (a, b))| {
                    let (primary_key, row) = (self.key(id), self.row(id, *a, b.as_deref()));
                    let mut keys = EntryKeys::default();
                    match index {
                        IndexId::PRIMARY => keys.push(|key| key.extend_from_slice(&primary_key)),
                        _ => table.index_keys(index, &row, &primary_key, &mut keys),
                    }
                    let keys: Vec<_> = keys.iter().map(<[u8]>::to_vec).collect();
                    keys.into_iter().map(move |key| (key, primary_key.clone(), row.clone()))
                })
                .filter(|(key, _, _)| range.contains(key))
                .collect();
            expected.sort();
            for direction in [Direction::Forward, Direction::Backward] {
                let mut cursor = Cursor::new(range.clone(), direction);
                let mut found = Vec::new();
                while !cursor.is_finished() {
                    let mut shown = 0;
                    table.scan(index, &mut cursor, snapshot, chunk, |entry| {
                        found.push((entry.key().to_vec(), entry.primary_key().to_vec(), entry.row().to_vec()));
                        shown += 1;
                        if shown < 3 {
                            ControlFlow::Continue(())
                        } else {
                            ControlFlow::Break(())
                        }
                    });
                }
                assert_eq!(
                    found,
                    expected,
                    "index {index} {direction:?} at {}",
                    snapshot.timestamp()
                );
                expected.reverse();
            }
            let mut cursor = Cursor::forward(range.clone());
            let mut count = 0;
            while !cursor.is_finished() {
                count += table.count(index, &mut cursor, snapshot, chunk);
            }
            assert_eq!(count, expected.len());
            assert!(table.estimated_entries(index, range) >= count as u64);
        }
    }

    /// What is kept of the past: the last so many commits.
    pub(crate) fn keep(&mut self, commits: u64) {
        self.writer.keep_from(match commits {
            0 => Timestamp::MAX,
            _ => Timestamp(self.newest.0.saturating_sub(commits)),
        });
    }

    /// Every moment that is said to be kept shows what was visible then, and no other.
    fn check_past(&mut self) {
        let (oldest, published) = (self.store.oldest_readable(), self.store.published());
        for ts in 1..=published.0 {
            match self.store.snapshot_at(Timestamp(ts)) {
                Ok(snapshot) => {
                    assert!(Timestamp(ts) >= oldest);
                    self.check(&snapshot, &KeyRange::all(), 6);
                    // It keeps what it sees, whatever is given up.
                    if ts % 16 == 0 {
                        self.snapshots.push(snapshot);
                    }
                }
                Err(too_old) => assert!(Timestamp(ts) < oldest && too_old.oldest == oldest),
            }
        }
    }

    /// With nobody reading the past, nothing of it is left.
    pub(crate) fn check_all_collected(&mut self) {
        self.keep(0);
        self.snapshots.clear();
        self.prepared.clear();
        while !self.large.is_empty() {
            self.decide(0, self.large.len().is_multiple_of(2));
        }
        self.writer.publish();
        while self.writer.collect(7) {}
        assert_eq!(self.store.past().bytes(), 0, "nothing superseded is left");
        while self.compact(300) {}
        let table = self.table();
        let rows = self.rows(self.newest).len() as u64;
        assert_eq!(table.estimated_rows(), rows);
        let indexes = table.spec().indexes.iter().map(|index| index.id);
        for index in indexes.chain([IndexId::PRIMARY]) {
            // Of words and elements a row has as many as there are.
            let counted = || {
                table.count(
                    index,
                    &mut Cursor::forward(KeyRange::all()),
                    &self.store.snapshot(),
                    usize::MAX,
                )
            };
            let has_many = index != IndexId::PRIMARY && table.has_many_entries(index);
            let entries = if has_many { counted() as u64 } else { rows };
            assert_eq!(table.estimated_entries(index, &KeyRange::all()), entries);
        }
        for id in 0..IDS {
            self.table().newest(&self.key(id), |since, row| {
                assert!(row.is_some(), "tombstones go");
                assert_eq!(self.rows(since).get(&id), self.rows(self.newest).get(&id));
            });
        }
        let memory = self.store.memory();
        let (row_bytes, index_bytes) = (memory.used_by(MemoryUse::Rows), memory.used_by(MemoryUse::Indexes));
        assert!(
            row_bytes <= 128 * rows && (row_bytes >= 24 * rows),
            "{row_bytes} bytes for {rows} rows"
        );

        // Everything deleted: everything given back.
        let rows: Vec<_> = self.rows(self.newest).keys().copied().collect();
        self.write(&rows.into_iter().map(Write::Delete).collect::<Vec<_>>());
        self.writer.publish();
        while self.writer.collect(100) {}
        let memory = self.store.memory();
        assert_eq!(
            (memory.used_by(MemoryUse::Rows), memory.used_by(MemoryUse::Indexes)),
            (0, 0),
            "before: {index_bytes}"
        );
    }

    /// What a checkpoint would do: all rows of now, loaded into another store.
    fn check_reload(&self, pieces: usize) {
        let snapshot = self.store.snapshot();
        let (store, mut writer) = Store::new(MemoryBudget::new(1 << 30));
        let loader = TableLoader::new(&store, self.table().spec().clone(), snapshot.timestamp(), 17);
        let mut rows = Vec::new();
        self.table().scan(
            IndexId::PRIMARY,
            &mut Cursor::forward(KeyRange::all()),
            &snapshot,
            usize::MAX,
            |entry| {
                rows.push((entry.key().to_vec(), entry.row().to_vec()));
                ControlFlow::Continue(())
            },
        );
        let pieces = rows
            .chunks(rows.len().div_ceil(pieces).max(1))
            .map(|rows| {
                let mut piece = loader.piece();
                rows.iter().for_each(|(key, row)| piece.push(key, row).unwrap());
                piece
            })
            .collect();
        writer.install(loader.finish(pieces).unwrap()).unwrap();
        writer.restore_timestamp(snapshot.timestamp());
        assert_eq!(store.table(TABLE).unwrap().next_auto_increment(), 17);
        let mut loaded = Tested {
            layout: spec().row_layout(),
            primary: spec().primary_layout().unwrap(),
            model: BTreeMap::from([(snapshot.timestamp(), self.rows(snapshot.timestamp()).clone())]),
            newest: snapshot.timestamp(),
            snapshots: Vec::new(),
            large: Vec::new(),
            prepared: BTreeMap::new(),
            store,
            writer,
        };
        loaded.check(&loaded.store.snapshot(), &KeyRange::all(), 5);
        loaded.write(&[
            Write::Put(0, 1, None),
            Write::Delete(1),
            Write::Put(2, 2, Some("x".into())),
        ]);
        loaded.writer.publish();
        loaded.check(&loaded.store.snapshot(), &KeyRange::all(), 5);
        loaded.check_all_collected();

        // Another replica's rows take their place.
        let (before, at) = (loaded.store.table(TABLE).unwrap(), loaded.store.snapshot().timestamp());
        let loader = TableLoader::new(&loaded.store, before.spec().clone(), at.next(), 17);
        loaded.writer.replace(vec![loader.finish(Vec::new()).unwrap()]).unwrap();
        loaded.writer.restore_timestamp(at.next());
        assert!(before.is_readable_at(IndexId::PRIMARY, at) && !before.is_readable_at(IndexId::PRIMARY, at.next()));
        assert!(!before.is_current() && loaded.store.table(TABLE).unwrap().is_current());
    }
}

pub(crate) const IDS: i64 = 24;

fn change(rows: &mut Rows, writes: &BTreeMap<i64, Write>) {
    for (&id, write) in writes {
        match write {
            Write::Put(_, a, b) => rows.insert(id, (*a, b.clone())),
            Write::Delete(_) => rows.remove(&id),
        };
    }
}

/// A change of one row; `Write::Put(id, a, b)`.
#[derive(Debug, Clone)]
pub(crate) enum Write {
    Put(i64, i64, Option<String>),
    Delete(i64),
}

impl Write {
    fn id(&self) -> i64 {
        let (Write::Put(id, ..) | Write::Delete(id)) = self;
        *id
    }
}

#[derive(Debug, Clone)]
enum Action {
    Commit(Vec<Write>),
    Chunk(usize, Vec<Write>),
    Decide(prop::sample::Index, bool),
    Publish,
    Snapshot,
    /// Lets one go, or moves it to now.
    Release(prop::sample::Index),
    Refresh(prop::sample::Index),
    Collect(usize),
    /// How much of the past is kept from now on, in commits.
    Keep(u64),
    CheckPast,
    Compact(usize),
    ToggleIndex(u16),
    PrepareIndex(u16),
    Check(Vec<u8>, Option<Vec<u8>>, usize),
}

fn write() -> impl Strategy<Value = Write> {
    let text = prop::option::of(
        prop::sample::select(&["", "a", "A", "aa", "b", "zz", "cat dog", "Dog cat dog", "cats, cat"][..])
            .prop_map(String::from),
    );
    prop_oneof![
        3 => (0..IDS, 0i64..5, text).prop_map(|(id, a, b)| Write::Put(id, a, b)),
        1 => (0..IDS).prop_map(Write::Delete),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..6);
    prop_oneof![
        8 => prop::collection::vec(write(), 1..8).prop_map(Action::Commit),
        4 => (0..3_usize, prop::collection::vec(write(), 0..8)).prop_map(|(which, writes)| Action::Chunk(which, writes)),
        2 => (any::<prop::sample::Index>(), any::<bool>()).prop_map(|(which, commits)| Action::Decide(which, commits)),
        4 => Just(Action::Publish),
        3 => Just(Action::Snapshot),
        2 => any::<prop::sample::Index>().prop_map(Action::Release),
        1 => any::<prop::sample::Index>().prop_map(Action::Refresh),
        4 => (0usize..30).prop_map(Action::Collect),
        4 => (1usize..200).prop_map(Action::Compact),
        2 => (0u64..40).prop_map(Action::Keep),
        1 => Just(Action::CheckPast),
        2 => (1u16..5).prop_map(Action::ToggleIndex),
        2 => (1u16..5).prop_map(Action::PrepareIndex),
        2 => (bytes(), prop::option::of(bytes()), 1usize..20).prop_map(|(from, to, chunk)| Action::Check(from, to, chunk)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 3 } else { 300 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_snapshot_keeps_its_moment(
        actions in prop::collection::vec(action(), 1..if cfg!(miri) { 30 } else { 150 }),
        pieces in 1usize..4,
    ) {
        let mut tested = Tested::new();
        for action in actions {
            match action {
                Action::Commit(writes) => tested.write(&writes),
                Action::Chunk(which, writes) => tested.write_chunk(which, &writes),
                Action::Decide(which, commits) if !tested.large.is_empty() => {
                    let which = which.index(tested.large.len());
                    tested.decide(which, commits);
                }
                Action::Publish => tested.writer.publish(),
                Action::Snapshot => tested.snapshots.push(tested.store.snapshot()),
                Action::Release(at) if !tested.snapshots.is_empty() => {
                    let at = at.index(tested.snapshots.len());
                    tested.snapshots.swap_remove(at);
                }
                Action::Refresh(at) if !tested.snapshots.is_empty() => {
                    let at = at.index(tested.snapshots.len());
                    tested.snapshots[at].refresh();
                }
                Action::Collect(most) => {
                    tested.writer.collect(most);
                }
                Action::Compact(most) => {
                    tested.compact(most);
                }
                Action::Keep(commits) => tested.keep(commits),
                Action::CheckPast => tested.check_past(),
                Action::ToggleIndex(id) => tested.toggle_index(id),
                Action::PrepareIndex(id) => tested.prepare_index(id),
                Action::Check(from, to, chunk) => {
                    for snapshot in &tested.snapshots {
                        tested.check(snapshot, &KeyRange { from: from.clone(), to: to.clone() }, chunk);
                    }
                }
                _ => {}
            }
        }
        tested.writer.publish();
        for snapshot in tested.snapshots.iter().chain([&tested.store.snapshot()]) {
            tested.check(snapshot, &KeyRange::all(), 4);
        }
        tested.check_past();
        tested.check_reload(pieces);
        tested.check_all_collected();
    }
}

#[test]
fn a_dropped_table_gives_its_memory_back_and_stays_readable_by_who_holds_it() {
    let mut tested = Tested::new();
    tested.write(&(0..IDS).map(|id| Write::Put(id, id, None)).collect::<Vec<_>>());
    tested.writer.publish();
    let (table, snapshot) = (tested.table(), tested.store.snapshot());
    let mut set = WriteSet::new();
    set.drop_table(TABLE);
    tested.apply(&set);
    tested.writer.publish();
    tested.writer.collect(100);
    assert!(tested.store.table(TABLE).is_none());
    assert_eq!(tested.store.memory().used_by(MemoryUse::Rows), 0);
    assert_eq!(tested.store.memory().used_by(MemoryUse::Indexes), 0);
    assert_eq!(
        table.count(IndexId(1), &mut Cursor::forward(KeyRange::all()), &snapshot, 1000),
        IDS as usize
    );
    drop(table);
    tested.writer.collect(100);
}

/// A prepared index is taken over as it is, whatever else is in the batch, and only where the rows are still the same.
#[test]
fn a_prepared_index_takes_the_place_of_one_built_from_the_rows() {
    for (prepares, changes) in [(false, false), (true, false), (true, true)] {
        let mut tested = Tested::new();
        tested.write(&(0..IDS).map(|id| Write::Put(id, id % 5, None)).collect::<Vec<_>>());
        tested.writer.publish();
        let used = |tested: &Tested| tested.store.memory().used_by(MemoryUse::Indexes);
        let before = used(&tested);
        if prepares {
            tested.prepare_index(3);
            assert!(used(&tested) > before, "it is charged from the beginning");
        }
        let prepared = used(&tested);
        if changes {
            // Not published yet, but in the log before.
            tested.write(&[Write::Put(1, 1, Some("new".into())), Write::Delete(2)]);
        }
        tested.toggle_index(3);
        tested.writer.publish();
        if prepares && !changes {
            assert_eq!(used(&tested), prepared);
        }
        tested.check(&tested.store.snapshot(), &KeyRange::all(), 5);
        tested.toggle_index(3);
        tested.writer.publish();
        while tested.writer.collect(3) {}
        if !changes {
            assert_eq!(used(&tested), before, "it is gone, and what it was charged for");
        }
        tested.check_all_collected();
    }
}

#[test]
fn distinct_values_are_estimated() {
    let mut tested = Tested::new();
    // 20,000 rows, `a` of 10 values, `b` of 500.
    for chunk in 0..20i64 {
        let rows = chunk * 1000..(chunk + 1) * 1000;
        let mut set = WriteSet::new();
        for id in rows {
            set.put(
                TABLE,
                &tested.key(id),
                &tested.row(id, id % 10, Some(&format!("{}", id % 500))),
            );
        }
        tested.apply(&set);
    }
    tested.writer.publish();
    let table = tested.table();
    assert_eq!(table.estimated_distinct(IndexId::PRIMARY), [20_000]);
    let a = table.estimated_distinct(IndexId(1))[0];
    assert!((5..=100).contains(&a), "{a}");
    let b = table.estimated_distinct(IndexId(2));
    assert!((250..=1000).contains(&b[0]) && b[1] >= b[0] && b[1] <= 1000, "{b:?}");
    let range = KeyRange {
        from: tested.key(100),
        to: Some(tested.key(5100)),
    };
    assert_eq!(table.estimated_entries(IndexId::PRIMARY, &range), 5000);
}

/// What a transaction has put into the store is charged, and given back if it is aborted.
#[test]
fn an_aborted_large_transaction_leaves_nothing() {
    let mut tested = Tested::new();
    tested.write(
        &(0..IDS)
            .step_by(2)
            .map(|id| Write::Put(id, 0, None))
            .collect::<Vec<_>>(),
    );
    tested.writer.publish();
    while tested.writer.collect(64) {}
    let used = |tested: &Tested| {
        let memory = tested.store.memory();
        (memory.used_by(MemoryUse::Rows), memory.used_by(MemoryUse::Indexes))
    };
    let before = used(&tested);
    for commits_between in [false, true] {
        let writes = (0..IDS).map(|id| match id % 4 {
            0 => Write::Delete(id),
            _ => Write::Put(id, 3, Some("b".into())),
        });
        tested.write_chunk(0, &writes.collect::<Vec<_>>());
        tested.writer.publish();
        assert!(used(&tested).0 > before.0);
        tested.check(&tested.store.snapshot(), &KeyRange::all(), 5);
        tested.decide(0, false);
        if commits_between {
            tested.write(&[Write::Put(1, 1, None), Write::Delete(3), Write::Put(4, 2, None)]);
            tested.writer.publish();
            tested.check(&tested.store.snapshot(), &KeyRange::all(), 5);
            tested.write(&[Write::Delete(1), Write::Put(4, 0, None)]);
        }
        tested.writer.publish();
        while tested.writer.collect(3) {}
        tested.check(&tested.store.snapshot(), &KeyRange::all(), 5);
        assert_eq!(used(&tested), before);
    }
}

/// A large transaction's stamps may outlive the writer, in a table that somebody still has.
#[test]
fn a_table_with_stamps_may_outlive_the_writer() {
    for drops in [false, true] {
        let mut tested = Tested::new();
        tested.write_chunk(0, &(0..IDS).map(|id| Write::Put(id, id, None)).collect::<Vec<_>>());
        tested.decide(0, true);
        tested.writer.publish();
        let (table, snapshot) = (tested.table(), tested.store.snapshot());
        if drops {
            let mut set = WriteSet::new();
            set.drop_table(TABLE);
            tested.commit(&set, Rows::new());
            tested.writer.publish();
            tested.writer.collect(100);
        }
        drop(tested);
        let count = |index| table.count(index, &mut Cursor::forward(KeyRange::all()), &snapshot, 1000);
        assert_eq!(
            (count(IndexId(1)), count(IndexId::PRIMARY)),
            (IDS as usize, IDS as usize)
        );
    }
}

#[test]
fn chunks_are_rows_in_order() {
    let tested = Tested::new();
    let put = |set: &mut WriteSet, id| set.put(TABLE, &tested.key(id), &tested.row(id, 0, None));
    let is_taken = |fill: &dyn Fn(&mut WriteSet)| {
        let mut set = WriteSet::new();
        fill(&mut set);
        let ops = WriteOps::decode(set.as_bytes()).unwrap();
        tested.writer.check_chunk(ops).is_ok()
    };
    assert!(is_taken(&|set| {
        put(set, 1);
        set.delete(TABLE, &tested.key(2));
    }));
    assert!(!is_taken(&|set| {
        put(set, 2);
        put(set, 1);
    }));
    assert!(!is_taken(&|set| {
        put(set, 2);
        set.delete(TABLE, &tested.key(2));
    }));
    assert!(!is_taken(&|set| set.advance_auto_increment(TABLE, 3)));
    assert!(!is_taken(&|set| set.drop_table(TABLE)));
}
