//! Reading a table.

use crate::range::{Cursor, Direction, KeyRange};
use crate::spec::TableSpec;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use types::{IndexId, KeyLayout, RowLayout, TableId, Timestamp};

type Versions = Vec<(Timestamp, Option<Vec<u8>>)>;

/// A table's rows and indexes. Every read names the timestamp it reads at, and the caller holds a [`Snapshot`](crate::Snapshot)
/// of that timestamp meanwhile.
pub struct Table {
    spec: TableSpec,
    rows: RowLayout,
    primary: Option<KeyLayout>,
    indexes: Vec<(IndexId, KeyLayout)>,
    created_at: Timestamp,
    pub(crate) next_auto_increment: AtomicU64,
    pub(crate) data: RwLock<BTreeMap<Vec<u8>, Versions>>,
}

/// What a scan shows of one index entry.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    key: &'a [u8],
    primary_key: &'a [u8],
    row: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The whole key: of a secondary index, its columns followed by the primary key.
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    pub fn primary_key(&self) -> &'a [u8] {
        self.primary_key
    }

    /// The row visible at the scan's timestamp. A scan that can do without it does not touch the row.
    pub fn row(&self) -> &'a [u8] {
        self.row
    }
}

impl Table {
    pub(crate) fn new(spec: TableSpec, created_at: Timestamp) -> Table {
        let rows = spec.row_layout();
        let primary = spec.primary_layout();
        let indexes = spec.indexes.iter().map(|index| (index.id, spec.index_layout(index))).collect();
        Table {
            spec,
            rows,
            primary,
            indexes,
            created_at,
            next_auto_increment: AtomicU64::new(1),
            data: RwLock::default(),
        }
    }

    pub fn id(&self) -> TableId {
        self.spec.id
    }

    pub fn spec(&self) -> &TableSpec {
        &self.spec
    }

    /// Older snapshots must not read this table: its rows, or an index, were made at this timestamp.
    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    pub fn row_layout(&self) -> &RowLayout {
        &self.rows
    }

    /// `None` for a table with hidden row ids.
    pub fn primary_layout(&self) -> Option<&KeyLayout> {
        self.primary.as_ref()
    }

    /// The layout of a secondary index's own columns.
    pub fn index_layout(&self, index: IndexId) -> Option<&KeyLayout> {
        self.indexes.iter().find(|(id, _)| *id == index).map(|(_, layout)| layout)
    }

    /// The least automatic id that has not been used by a committed transaction; starts at 1.
    pub fn next_auto_increment(&self) -> u64 {
        self.next_auto_increment.load(Ordering::Relaxed)
    }

    /// The row under a primary key as of `ts`.
    pub fn get<R>(&self, key: &[u8], ts: Timestamp, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let data = self.data.read();
        visible(data.get(key)?, ts).map(read)
    }

    /// The newest committed state of a primary key: since when it is so, and the row unless it was deleted. `None`: nobody
    /// remembers such a row. Call it with the row locked, and with `ts` published after the lock was granted.
    pub fn newest<R>(&self, key: &[u8], ts: Timestamp, read: impl FnOnce(Timestamp, Option<&[u8]>) -> R) -> Option<R> {
        let data = self.data.read();
        let (begin, row) = data.get(key)?.iter().find(|(begin, _)| *begin <= ts)?;
        Some(read(*begin, row.as_deref()))
    }

    /// Shows the entries of the cursor's range that are visible at `ts`, in its direction, until `visit` breaks (the entry it
    /// was shown counts as visited) or about `most` entries were looked at. The cursor is left after the last entry visited,
    /// and finished when there are no more. `index` is [`IndexId::PRIMARY`] or a secondary index of the table.
    pub fn scan(
        &self,
        index: IndexId,
        cursor: &mut Cursor,
        ts: Timestamp,
        most: usize,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        let mut entries = self.entries(index, cursor.rest(), ts);
        if cursor.direction() == Direction::Backward {
            entries.reverse();
        }
        for (looked_at, (key, primary_key, row)) in entries.iter().enumerate() {
            if looked_at >= most {
                return;
            }
            cursor.advance_past(key);
            if visit(Entry { key, primary_key, row }).is_break() {
                return;
            }
        }
        cursor.finish();
    }

    /// How many entries of the range are visible at `ts`, without touching rows.
    pub fn count(&self, index: IndexId, cursor: &mut Cursor, ts: Timestamp, most: usize) -> usize {
        let mut count = 0;
        self.scan(index, cursor, ts, most, |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        count
    }

    /// About how many rows there are.
    pub fn estimated_rows(&self) -> u64 {
        self.data.read().len() as u64
    }

    /// About how many entries of the index lie in the range; costs about a microsecond.
    pub fn estimated_entries(&self, index: IndexId, range: &KeyRange) -> u64 {
        self.entries(index, range, Timestamp(u64::MAX - 2)).len() as u64
    }

    /// About how many different values the first 1, 2, … columns of the index take together.
    pub fn estimated_distinct(&self, index: IndexId) -> Vec<u64> {
        let parts = match index {
            IndexId::PRIMARY => self.primary.as_ref().map_or(1, |layout| layout.parts().len()),
            _ => self.index_layout(index).map_or(0, |layout| layout.parts().len()),
        };
        vec![self.estimated_rows(); parts]
    }

    /// Appends the entry key that the row has in a secondary index, primary key included. Returns whether one of the index's
    /// columns is NULL (such a key never violates uniqueness).
    pub fn index_key(&self, index: IndexId, row: &[u8], primary_key: &[u8], out: &mut Vec<u8>) -> bool {
        let layout = self.index_layout(index).expect("the caller took the index from this table");
        let has_null = layout.encode_row(&self.rows, row, out);
        out.extend_from_slice(primary_key);
        has_null
    }

    fn entries(&self, index: IndexId, range: &KeyRange, ts: Timestamp) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
        let data = self.data.read();
        let rows = data.iter().filter_map(|(key, versions)| Some((key, visible(versions, ts)?)));
        let mut entries: Vec<_> = rows
            .map(|(primary_key, row)| {
                let mut key = Vec::new();
                match index {
                    IndexId::PRIMARY => key.extend_from_slice(primary_key),
                    _ => {
                        self.index_key(index, row, primary_key, &mut key);
                    }
                }
                (key, primary_key.clone(), row.to_vec())
            })
            .filter(|(key, _, _)| range.contains(key))
            .collect();
        entries.sort();
        entries
    }
}

fn visible(versions: &Versions, ts: Timestamp) -> Option<&[u8]> {
    versions.iter().find(|(begin, _)| *begin <= ts)?.1.as_deref()
}
