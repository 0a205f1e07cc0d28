//! A transaction's own writes, before anybody else can see them.
//!
//! For each table the newest state of every row it has changed, by primary key, and, for the indexes that have been looked at, their
//! entries. While there is a savepoint, what each write replaced is kept in a history, newest last.

use env::failpoints;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use governor::stepwise::Stepwise;
use store::{Direction, IndexId, IndexSpec, KeyRange, Table, TableId, TableSpec, WriteSet};
use types::row::generation::ColumnChange;
use types::{EntryKeys, Expiry};

/// A row as the transaction left it; `None`: deleted.
pub(super) type OwnRow = Option<Box<[u8]>>;

/// A key with the row that it has now.
pub(super) type ChangedRow<'o> = (&'o [u8], Option<&'o [u8]>);

/// Bytes of a changed row beside its own: the nodes of the maps, the allocations' headers.
const ROW_OVERHEAD: usize = 96;
const HISTORY_OVERHEAD: usize = 64;

#[derive(Default)]
pub(super) struct Overlay {
    tables: Vec<TableChanges>,
    definitions: Vec<Definition>,
    /// As many of them are older than the history.
    old_definitions: usize,
    auto_increments: Vec<(TableId, u64)>,
    history: Stepwise<Vec<Undo>>,
    /// What this takes, and what the store will grow by.
    bytes: usize,
}

/// A change that is not one of rows.
enum Definition {
    CreateTable(Box<TableSpec>),
    DropTable(TableId),
    CreateIndex(TableId, Box<IndexSpec>),
    DropIndex(TableId, IndexId),
    ChangeColumns(TableId, Box<ColumnChange>),
    SetExpiry(TableId, Option<Expiry>),
    AdvanceAutoIncrement(TableId, u64),
    SetAutoIncrement(TableId, u64),
}

/// How to take back one write.
enum Undo {
    Row {
        table: usize,
        key: Box<[u8]>,
        /// `None`: the transaction had not changed it.
        before: Option<OwnRow>,
        bytes: usize,
    },
    Definition,
}

/// What a transaction has changed in one table.
pub(super) struct TableChanges {
    id: TableId,
    rows: Stepwise<BTreeMap<Box<[u8]>, OwnRow>>,
    /// For the indexes in use: the entries of the changed rows. The value is the primary key.
    entries: RefCell<Vec<(IndexId, Arc<Entries>)>>,
    /// Its part of the overlay's.
    bytes: usize,
    /// The place in the history before which it had no changes; unknown where they are older than the history.
    began: Option<usize>,
}

/// What a transaction has changed in a local table, out of its overlay.
pub(super) struct LocalTable {
    pub(super) id: TableId,
    pub(super) rows: Stepwise<BTreeMap<Box<[u8]>, OwnRow>>,
    pub(super) bytes: usize,
}

pub(super) type Entries = Stepwise<BTreeMap<Box<[u8]>, Box<[u8]>>>;

impl Overlay {
    pub(super) fn is_empty(&self) -> bool {
        self.changed_rows() == 0 && self.definitions.is_empty()
    }

    /// Of local tables there are none.
    pub(super) fn changed_rows(&self) -> usize {
        self.shard_tables().map(|table| table.rows.len()).sum()
    }

    /// The tables whose changes the log gets.
    fn shard_tables(&self) -> impl Iterator<Item = &TableChanges> {
        self.tables.iter().filter(|table| !table.id.is_local())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    pub(super) fn table(&self, id: TableId) -> Option<&TableChanges> {
        self.tables
            .iter()
            .find(|table| table.id == id)
            .filter(|table| !table.rows.is_empty())
    }

    pub(super) fn row(&self, table: TableId, key: &[u8]) -> Option<&OwnRow> {
        self.table(table)?.rows.get(key)
    }

    /// The bytes that [`set`](Self::set) will add, for reserving them first.
    pub(super) fn cost(table: &Table, key: &[u8], row: Option<&[u8]>, keeps_history: bool) -> usize {
        let row_bytes = row.map_or(0, <[u8]>::len);
        let history = if keeps_history { HISTORY_OVERHEAD + key.len() } else { 0 };
        ROW_OVERHEAD + key.len() + row_bytes + history + table.footprint(key, row.unwrap_or_default())
    }

    /// Changes a row. `bytes`: its [`cost`](Self::cost). `keeps_history`: there is a savepoint to which it may be taken back.
    pub(super) fn set(&mut self, table: &Table, key: &[u8], row: Option<&[u8]>, bytes: usize, keeps_history: bool) {
        self.bytes += bytes;
        let at = self
            .tables
            .iter()
            .position(|changes| changes.id == table.id())
            .unwrap_or_else(|| {
                self.tables.push(TableChanges::new(table.id()));
                self.tables.len() - 1
            });
        let place = self.history.len();
        let changes = &mut self.tables[at];
        if changes.rows.is_empty() {
            // Without a history there is nothing to go back to either.
            changes.began = keeps_history.then_some(place);
        }
        changes.bytes += bytes;
        let before = self.tables[at].set(Some(table), key, Some(row.map(Box::from)));
        if keeps_history {
            self.history.push(Undo::Row {
                table: at,
                key: key.into(),
                before,
                bytes,
            });
        }
    }

    // --- definitions ---

    pub(super) fn create_table(&mut self, spec: TableSpec) {
        self.define(Definition::CreateTable(Box::new(spec)));
    }

    pub(super) fn drop_table(&mut self, table: TableId) {
        self.define(Definition::DropTable(table));
    }

    pub(super) fn create_index(&mut self, table: TableId, index: IndexSpec) {
        self.define(Definition::CreateIndex(table, Box::new(index)));
    }

    pub(super) fn drop_index(&mut self, table: TableId, index: IndexId) {
        self.define(Definition::DropIndex(table, index));
    }

    pub(super) fn change_columns(&mut self, table: TableId, change: ColumnChange) {
        self.define(Definition::ChangeColumns(table, Box::new(change)));
    }

    pub(super) fn set_expiry(&mut self, table: TableId, expiry: Option<Expiry>) {
        self.define(Definition::SetExpiry(table, expiry));
    }

    pub(super) fn set_auto_increment(&mut self, table: TableId, next: u64) {
        self.define(Definition::AdvanceAutoIncrement(table, next));
    }

    pub(super) fn reset_auto_increment(&mut self, table: TableId, next: u64) {
        self.define(Definition::SetAutoIncrement(table, next));
    }

    fn define(&mut self, definition: Definition) {
        self.definitions.push(definition);
        self.history.push(Undo::Definition);
    }

    /// An automatic id was used: a restart must not give it again. Not undone, as the id is not given back either.
    pub(super) fn advance_auto_increment(&mut self, table: TableId, next: u64) {
        match self.auto_increments.iter_mut().find(|(id, _)| *id == table) {
            Some((_, known)) => *known = next.max(*known),
            None => self.auto_increments.push((table, next)),
        }
    }

    // --- history ---

    /// A place in the history.
    pub(super) fn history(&self) -> usize {
        self.history.len()
    }

    pub(super) fn forget_history(&mut self) {
        self.history = Stepwise::default();
        self.old_definitions = self.definitions.len();
        self.tables.iter_mut().for_each(|table| table.began = None);
    }

    /// A table that had no changes at the place has none again at once; what others had is put back write by write.
    pub(super) fn undo_to(&mut self, place: usize) {
        for table in &mut self.tables {
            if table.began.is_some_and(|began| began >= place) {
                self.bytes -= table.bytes;
                *table = TableChanges::new(table.id);
            }
        }
        if place == 0 && self.tables.iter().all(|table| table.rows.is_empty()) {
            self.definitions.truncate(self.old_definitions);
            self.history = Stepwise::default();
        }
        while self.history.len() > place {
            governor::pause();
            match self.history.pop().expect("longer than the place") {
                Undo::Row {
                    table,
                    key,
                    before,
                    bytes,
                } => {
                    if self.tables[table].rows.is_empty() {
                        continue;
                    }
                    self.tables[table].set(None, &key, before);
                    self.tables[table].bytes -= bytes;
                    self.bytes -= bytes;
                }
                Undo::Definition => {
                    self.definitions.pop();
                }
            }
        }
    }

    // --- local tables ---

    pub(super) fn has_local_rows(&self) -> bool {
        self.tables
            .iter()
            .any(|table| table.id.is_local() && !table.rows.is_empty())
    }

    /// Takes the changes of local tables out. Nothing can be undone after that.
    pub(super) fn take_local(&mut self) -> Vec<LocalTable> {
        self.forget_history();
        let tables = std::mem::take(&mut self.tables).into_iter();
        let local: Vec<TableChanges>;
        (local, self.tables) = tables.partition(|table| table.id.is_local());
        self.bytes -= local.iter().map(|table| table.bytes).sum::<usize>();
        local
            .into_iter()
            .map(|table| LocalTable {
                id: table.id,
                rows: table.rows,
                bytes: table.bytes,
            })
            .collect()
    }

    /// All changes as the log has them, local tables aside: definitions first, then rows in key order. Gives way, however many they are.
    pub(super) fn encode(&self) -> Vec<u8> {
        let rows = self.shard_tables().flat_map(|table| table.rows.iter());
        let bytes = rows.map(|(key, row)| {
            governor::pause();
            16 + key.len() + row.as_ref().map_or(0, |row| row.len())
        });
        let mut set = WriteSet::with_capacity(bytes.sum());
        for definition in &self.definitions {
            match definition {
                Definition::CreateTable(spec) => set.create_table(spec),
                Definition::DropTable(table) => set.drop_table(*table),
                Definition::CreateIndex(table, index) => set.create_index(*table, index),
                Definition::DropIndex(table, index) => set.drop_index(*table, *index),
                Definition::ChangeColumns(table, change) => set.change_columns(*table, change),
                Definition::SetExpiry(table, expiry) => set.set_expiry(*table, *expiry),
                Definition::AdvanceAutoIncrement(table, next) => set.advance_auto_increment(*table, *next),
                Definition::SetAutoIncrement(table, next) => set.set_auto_increment(*table, *next),
            }
        }
        for table in self.shard_tables() {
            for (key, row) in table.rows.iter() {
                governor::pause();
                if failpoints::goes_wrong("commit.row") {
                    continue;
                }
                match row {
                    Some(row) => set.put(table.id, key, row),
                    None => set.delete(table.id, key),
                }
            }
        }
        self.encode_ids(&mut set);
        set.into_bytes()
    }

    /// The automatic ids that were used.
    pub(super) fn encode_ids(&self, set: &mut WriteSet) {
        for (table, next) in &self.auto_increments {
            set.advance_auto_increment(*table, *next);
        }
    }
}

impl TableChanges {
    fn new(id: TableId) -> TableChanges {
        TableChanges {
            id,
            rows: Stepwise::default(),
            entries: RefCell::default(),
            bytes: 0,
            began: None,
        }
    }

    pub(super) fn row(&self, key: &[u8]) -> Option<&OwnRow> {
        self.rows.get(key)
    }

    /// Sets a row's state, or forgets that it was changed. Returns what was there. Without the table at hand, entries of
    /// indexes are forgotten, to be made anew when they are looked at.
    fn set(&mut self, table: Option<&Table>, key: &[u8], state: Option<OwnRow>) -> Option<OwnRow> {
        let entries = self.entries.get_mut();
        match table {
            None => entries.clear(),
            Some(table) => {
                let before = self.rows.get(key).and_then(Option::as_deref);
                let after = state.as_ref().and_then(Option::as_deref);
                for (index, entries) in entries {
                    if before
                        .zip(after)
                        .is_some_and(|(old, new)| table.has_same_entries(*index, old, new))
                    {
                        continue;
                    }
                    let entries = Arc::make_mut(entries);
                    let mut keys = EntryKeys::default();
                    if let Some(row) = before {
                        table.index_keys(*index, row, key, &mut keys);
                        for entry_key in keys.iter() {
                            entries.remove(entry_key);
                        }
                    }
                    if let Some(row) = after {
                        table.index_keys(*index, row, key, &mut keys);
                        for entry_key in keys.iter() {
                            entries.insert(entry_key.into(), key.into());
                        }
                    }
                }
            }
        }
        match state {
            Some(state) => self.rows.insert(key.into(), state),
            None => self.rows.remove(key),
        }
    }

    /// The changed rows of a range of primary keys, deleted ones too, in the direction.
    pub(super) fn rows(&self, range: &KeyRange, direction: Direction) -> Box<dyn Iterator<Item = ChangedRow<'_>> + '_> {
        if range.is_empty() {
            return Box::new(std::iter::empty());
        }
        let rows = self
            .rows
            .range::<[u8], _>(bounds(range))
            .map(|(key, row)| (&key[..], row.as_deref()));
        match direction {
            Direction::Forward => Box::new(rows),
            Direction::Backward => Box::new(rows.rev()),
        }
    }

    /// The entries that the changed rows have in an index.
    pub(super) fn entries(&self, table: &Table, index: IndexId) -> Arc<Entries> {
        let mut all = self.entries.borrow_mut();
        if let Some((_, entries)) = all.iter().find(|(id, _)| *id == index) {
            return Arc::clone(entries);
        }
        let entries = Arc::new(self.make_entries(table, index));
        all.push((index, Arc::clone(&entries)));
        entries
    }

    fn make_entries(&self, table: &Table, index: IndexId) -> Entries {
        let rows = self.rows.iter().filter_map(|(key, row)| Some((key, row.as_ref()?)));
        let mut entries = BTreeMap::new();
        let mut keys = EntryKeys::default();
        for (key, row) in rows {
            table.index_keys(index, row, key, &mut keys);
            entries.extend(keys.iter().map(|entry_key| (entry_key.into(), key.clone())));
        }
        entries.into()
    }
}

/// The entries of a range, in the direction, with their primary keys.
pub(super) fn entries_in<'e>(
    entries: &'e Entries,
    range: &KeyRange,
    direction: Direction,
) -> Box<dyn Iterator<Item = (&'e [u8], &'e [u8])> + 'e> {
    if range.is_empty() {
        return Box::new(std::iter::empty());
    }
    let entries = entries
        .range::<[u8], _>(bounds(range))
        .map(|(key, primary_key)| (&key[..], &primary_key[..]));
    match direction {
        Direction::Forward => Box::new(entries),
        Direction::Backward => Box::new(entries.rev()),
    }
}

fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (
        Bound::Included(&range.from),
        range.to.as_deref().map_or(Bound::Unbounded, Bound::Excluded),
    )
}
