//! Everything that a replica says twice, compared.
//!
//! Each definition of the catalog has rows of just that form and each table of the store a definition; each row lies under its own key,
//! and in each index under the key that follows from it; unique keys are unique; each child has its parent.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::{Catalog, ForeignKeyDef, LAST_SYSTEM_TABLE, TableDef};
use store::{Cursor, KeyRange, Snapshot, Store, Table};
use types::EntryKeys;
use types::{IndexId, Value};

use crate::table::store_spec;

/// Rows read at a time.
const ROWS: usize = 1024;
/// Of one kind, for one table; the rest is counted.
const TOLD: usize = 10;

/// What was found.
#[derive(Debug, Default)]
pub struct Verified {
    pub problems: Vec<String>,
    pub rows: u64,
}

/// Compares a catalog with the rows of the same moment: nobody changes anything meanwhile. Rows that have expired by `now`, in microseconds
/// since 1970, may have keys of others, and lack parents.
pub fn verify(store: &Arc<Store>, catalog: &Catalog, now: i64) -> Verified {
    let mut check = Check {
        store,
        snapshot: store.snapshot(),
        catalog,
        now,
        problems: BTreeMap::new(),
        rows: 0,
    };
    check.tables();
    let mut problems = Vec::new();
    for (subject, (told, count)) in check.problems {
        problems.extend(told.iter().map(|what| format!("{subject}: {what}")));
        if count > told.len() {
            problems.push(format!("{subject}: {} problems more", count - told.len()));
        }
    }
    Verified {
        problems,
        rows: check.rows,
    }
}

struct Check<'a> {
    store: &'a Arc<Store>,
    snapshot: Snapshot,
    catalog: &'a Catalog,
    now: i64,
    /// By what they are about: the first ones, and how many there are.
    problems: BTreeMap<String, (Vec<String>, usize)>,
    rows: u64,
}

impl Check<'_> {
    fn problem(&mut self, subject: &str, what: impl FnOnce() -> String) {
        let (told, count) = self.problems.entry(subject.to_owned()).or_default();
        *count += 1;
        if told.len() < TOLD {
            told.push(what());
        }
    }

    fn tables(&mut self) {
        for def in self.catalog.tables() {
            let subject = format!("table {}.{}", def.database, def.name);
            if self.catalog.database(&def.database).is_none() {
                self.problem(&subject, || "its database does not exist".to_owned());
            }
            let Some(rows) = self.store.table(def.id) else {
                self.problem(&subject, || "it has no rows' place in the store".to_owned());
                continue;
            };
            if !is_same(&rows, def) {
                self.problem(&subject, || "the store's definition is another one".to_owned());
                continue;
            }
            self.primary(&subject, &rows);
            for index in &rows.spec().indexes {
                self.index(&subject, &rows, index.id, index.unique);
            }
            for key in &def.foreign_keys {
                self.foreign_key(&subject, def, &rows, key);
            }
        }
        for table in self.store.tables() {
            let id = table.id();
            let is_known = id <= LAST_SYSTEM_TABLE
                || id.is_local()
                || self.catalog.table_by_id(id).is_some()
                || self.catalog.copies().any(|copy| copy.table == id)
                // The next start drops what an older version left.
                || self.catalog.is_of_older_format();
            if !is_known {
                self.problem(&format!("table {id}"), || "no entry of the catalog names it".to_owned());
            }
            if !id.is_local()
                && id > LAST_SYSTEM_TABLE
                && id.0 >= self.catalog.next_table_id()
                && !self.catalog.is_of_older_format()
            {
                self.problem(&format!("table {id}"), || "its id was never leased".to_owned());
            }
        }
    }

    /// Each row is sound, and lies under its own key.
    fn primary(&mut self, subject: &str, table: &Table) {
        let mut wrong = Vec::new();
        let mut key = Vec::new();
        let mut rows = 0;
        self.scan(table, IndexId::PRIMARY, |entry_key, _, row| {
            rows += 1;
            if let Err(corrupt) = table.row_layout().validate(row) {
                wrong.push(corrupt.to_string());
                return;
            }
            key.clear();
            if let Some(layout) = table.primary_layout() {
                layout.encode_row(table.row_layout(), row, &mut key);
                if key != entry_key {
                    wrong.push(format!("a row lies under another key than its own ({entry_key:02x?})"));
                }
            }
        });
        self.rows += rows;
        wrong.into_iter().for_each(|what| self.problem(subject, || what));
    }

    /// As many entries as rows, each with the key that follows from its row; those of a unique index differ unless NULL is in them.
    fn index(&mut self, subject: &str, table: &Table, index: IndexId, is_unique: bool) {
        if table.has_many_entries(index) {
            return self.index_of_many(subject, table, index, is_unique);
        }
        let mut wrong = Vec::new();
        let (mut key, mut own, mut last) = (Vec::new(), Vec::new(), Vec::new());
        let (mut entries, mut rows) = (0_u64, 0_u64);
        self.scan(table, IndexId::PRIMARY, |_, _, _| rows += 1);
        self.scan(table, index, |entry_key, primary_key, row| {
            entries += 1;
            key.clear();
            let has_null = table.index_key(index, row, primary_key, &mut key);
            if key != entry_key {
                wrong.push(format!(
                    "index {index}: an entry is not that of its row ({entry_key:02x?})"
                ));
            }
            own.clear();
            own.extend_from_slice(&key[..key.len() - primary_key.len()]);
            let is_alone = has_null || table.has_expired(row, self.now);
            if is_unique && !is_alone && own == last {
                wrong.push(format!("index {index}: a key is there twice ({own:02x?})"));
            }
            if table.has_expired(row, self.now) {
                return;
            }
            last.clear();
            if !has_null {
                last.extend_from_slice(&own);
            }
        });
        if entries != rows {
            wrong.push(format!("index {index}: {entries} entries for {rows} rows"));
        }
        wrong.into_iter().for_each(|what| self.problem(subject, || what));
    }

    /// The entries that follow from the rows, and no others; those of a unique index differ unless NULL is in them.
    fn index_of_many(&mut self, subject: &str, table: &Table, index: IndexId, is_unique: bool) {
        let mut wrong = Vec::new();
        let (mut keys, mut own) = (EntryKeys::default(), EntryKeys::default());
        let (mut expected, mut entries) = (0_u64, 0_u64);
        self.scan(table, IndexId::PRIMARY, |_, primary_key, row| {
            table.index_keys(index, row, primary_key, &mut keys);
            expected += keys.len() as u64;
            for key in keys.iter() {
                let mut cursor = Cursor::forward(KeyRange::prefix(key));
                let mut found = false;
                table.scan(index, &mut cursor, &self.snapshot, 1, |entry| {
                    found = entry.key() == key && entry.primary_key() == primary_key;
                    ControlFlow::Break(())
                });
                if !found {
                    wrong.push(format!("index {index}: a row lacks an entry ({key:02x?})"));
                }
            }
            own.clear();
            if is_unique && !table.has_expired(row, self.now) {
                table.unique_keys(index, row, &mut own);
            }
            for key in own.iter() {
                let mut cursor = Cursor::forward(KeyRange::prefix(key));
                let mut rows = 0;
                while !cursor.is_finished() {
                    table.scan(index, &mut cursor, &self.snapshot, ROWS, |entry| {
                        rows += u32::from(!table.has_expired(entry.row(), self.now));
                        ControlFlow::Continue(())
                    });
                }
                if rows > 1 {
                    wrong.push(format!("index {index}: a key is there twice ({key:02x?})"));
                }
            }
        });
        self.scan(table, index, |_, _, _| entries += 1);
        if entries != expected {
            wrong.push(format!("index {index}: {entries} entries instead of {expected}"));
        }
        wrong.into_iter().for_each(|what| self.problem(subject, || what));
    }

    /// Each row whose key has no NULL has a parent. A parent table that does not exist is allowed, as in MySQL, as long as nobody checks.
    fn foreign_key(&mut self, subject: &str, def: &TableDef, child: &Table, key: &ForeignKeyDef) {
        let Some(parent_def) = self.catalog.table(&key.parent_database, &key.parent_table) else {
            return;
        };
        let (Some(columns), Some(parent_columns)) = (
            def.columns_named(&key.columns),
            parent_def.columns_named(&key.parent_columns),
        ) else {
            return self.problem(subject, || format!("foreign key {}: a column does not exist", key.name));
        };
        let (Some(parent), Some(index)) = (
            self.store.table(parent_def.id),
            parent_def.index_beginning_with(&parent_columns),
        ) else {
            return self.problem(subject, || format!("foreign key {}: its parent has no index", key.name));
        };
        let is_primary = parent_def.primary().is_some_and(|primary| primary.id == index.id);
        let (id, layout) = match is_primary {
            true => (IndexId::PRIMARY, parent.primary_layout()),
            false => (index.id, parent.index_layout(index.id)),
        };
        let Some(layout) = layout else { return };
        let mut orphans = Vec::new();
        self.scan(child, IndexId::PRIMARY, |_, _, row| {
            if child.has_expired(row, self.now) {
                return;
            }
            let values: Vec<Value> = columns
                .iter()
                .map(|&column| child.row_layout().column(row, column).to_value())
                .collect();
            let mut wanted = Vec::new();
            if layout.encode_values(&values, &mut wanted) {
                return;
            }
            let mut found = false;
            let mut cursor = Cursor::forward(KeyRange::prefix(&wanted));
            while !cursor.is_finished() && !found {
                parent.scan(id, &mut cursor, &self.snapshot, 1, |_| {
                    found = true;
                    ControlFlow::Break(())
                });
            }
            if !found {
                orphans.push(format!("foreign key {}: no parent for {values:?}", key.name));
            }
        });
        orphans.into_iter().for_each(|what| self.problem(subject, || what));
    }

    /// Shows the key, the primary key and the row of all entries.
    fn scan(&self, table: &Table, index: IndexId, mut show: impl FnMut(&[u8], &[u8], &[u8])) {
        let mut cursor = Cursor::forward(KeyRange::all());
        while !cursor.is_finished() {
            table.scan(index, &mut cursor, &self.snapshot, ROWS, |entry| {
                show(entry.key(), entry.primary_key(), entry.row());
                ControlFlow::Continue(())
            });
        }
    }
}

/// Whether the store's table is the definition's. The order in which indexes were added may differ, and the definition knows nothing of
/// columns that were.
fn is_same(rows: &Table, def: &TableDef) -> bool {
    let (found, mut expected) = (rows.spec().clone(), store_spec(def));
    let mut found = found;
    expected.generations = found.generations.clone();
    found.indexes.sort_by_key(|index| index.id);
    expected.indexes.sort_by_key(|index| index.id);
    found == expected
}
