//! Reading through a transaction: its own writes first, then the store at its snapshot.

use super::Transaction;
use super::overlay::{TableChanges, entries_in};
use env::failpoints;
use std::cmp::Ordering;
use std::iter::Peekable;
use std::ops::ControlFlow;
use store::{Cursor, Direction, Entry, IndexId, Snapshot, Table};

impl Transaction {
    /// The row under a primary key, as this transaction sees it.
    #[inline]
    pub fn get<R>(&self, table: &Table, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        // The first read fixes the snapshot, also if it finds what the transaction has written itself.
        let snapshot = self.reading(table);
        self.count_examined(1);
        match self.overlay.row(table.id(), key) {
            Some(own) if !failpoints::goes_wrong("overlay") => own.as_deref().map(read),
            _ if table.expiry().is_none() => table.get(key, &snapshot, read),
            _ => {
                let time = self.read_time();
                let read = |row: &[u8]| self.shows(table, key, row, time).then(|| read(row));
                table.get(key, &snapshot, read).flatten()
            }
        }
    }

    /// How many rows of tables, and entries of indexes, its statements have looked at.
    pub fn examined(&self) -> u64 {
        self.examined.get()
    }

    #[inline]
    fn count_examined(&self, rows: u64) {
        self.examined.set(self.examined.get() + rows);
    }

    /// The row as the snapshot shows it, where locking reads are held against a snapshot that may be out of date for this table.
    pub fn get_superseded<R>(&self, table: &Table, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        if !self.is_held_to_snapshot(table) || self.overlay.row(table.id(), key).is_some() {
            return None;
        }
        let snapshot = self.snapshot.borrow();
        let snapshot = snapshot.as_ref()?;
        if table.is_unchanged_since(snapshot.timestamp()) && table.expiry().is_none() {
            return None;
        }
        let time = self.read_time_of(table);
        let read = |row: &[u8]| self.shows(table, key, row, time).then(|| read(row));
        table.get(key, snapshot, read).flatten()
    }

    /// The newest committed row, or this transaction's own: what UPDATE, DELETE and locking reads work on. Lock it first.
    pub fn get_current<R>(&self, table: &Table, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.count_examined(1);
        match self.overlay.row(table.id(), key) {
            Some(own) => own.as_deref().map(read),
            None if table.expiry().is_none() => table.newest(key, |_, row| row.map(read)).flatten(),
            None => {
                let time = self.statement_time();
                let read = |row: &[u8]| self.shows(table, key, row, time).then(|| read(row));
                table.newest(key, |_, row| row.and_then(read)).flatten()
            }
        }
    }

    /// Shows the entries of an index as this transaction sees them; see [`Table::scan`]. Works in chunks: until `visit` breaks
    /// or about `most` entries were looked at; call again while the cursor is not finished. `visit` may read through this
    /// transaction.
    pub fn scan(
        &self,
        table: &Table,
        index: IndexId,
        cursor: &mut Cursor,
        most: usize,
        visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        if failpoints::goes_wrong("snapshot.statement") {
            self.is_snapshot_old.set(true);
        }
        let time = self.read_time_of(table);
        self.scan_at(&self.reading(table), time, table, index, cursor, most, visit);
    }

    /// As [`scan`](Self::scan), of the newest committed rows. Nothing keeps these from changing before they are locked: then look at
    /// each again.
    pub fn scan_newest(
        &self,
        table: &Table,
        index: IndexId,
        cursor: &mut Cursor,
        most: usize,
        visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        let time = self.statement_time_of(table);
        self.scan_at(&table.snapshot(), time, table, index, cursor, most, visit);
    }

    /// As [`scan`](Self::scan), how locking reads and writes find the rows to lock. Where they are held against the snapshot, it shows
    /// what the snapshot shows and also what is newer: an entry of both kinds twice if its rows differ, the
    /// second also where `visit` breaks at the first. To lock one that is not the snapshot's is a conflict.
    pub fn scan_to_lock(
        &self,
        table: &Table,
        index: IndexId,
        cursor: &mut Cursor,
        most: usize,
        visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        if !self.is_held_to_snapshot(table) {
            return self.scan_newest(table, index, cursor, most, visit);
        }
        // What has expired since the snapshot is shown, too: to lock it is a conflict, as if somebody had deleted it.
        let time = self.read_time_of(table);
        let snapshot = self.reading_at();
        if table.is_unchanged_since(snapshot.timestamp()) {
            return self.scan_at(&snapshot, time, table, index, cursor, most, visit);
        }
        self.scan_both(&snapshot, table, index, cursor, most, visit);
    }

    fn scan_both(
        &self,
        snapshot: &Snapshot,
        table: &Table,
        index: IndexId,
        cursor: &mut Cursor,
        most: usize,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        let newest = self.store().snapshot();
        let mut walked = cursor.clone();
        let mut entries = Vec::new();
        let now = self.statement_time_of(table);
        self.scan_at(&newest, now, table, index, &mut walked, most, |entry| {
            entries.push(OwnedEntry::new(&entry));
            ControlFlow::Continue(())
        });
        // The same part of the index, as the snapshot shows it.
        let mut part = cursor.rest().clone();
        if !walked.is_finished() {
            match cursor.direction() {
                Direction::Forward => part.to = Some(walked.rest().from.clone()),
                Direction::Backward => part.from = walked.rest().to.clone().unwrap_or_default(),
            }
        }
        let mut part = Cursor::new(part, cursor.direction());
        let time = self.read_time_of(table);
        while !part.is_finished() {
            self.scan_at(snapshot, time, table, index, &mut part, usize::MAX, |entry| {
                entries.push(OwnedEntry::new(&entry));
                ControlFlow::Continue(())
            });
        }
        entries.sort_by(|a, b| match cursor.direction() {
            Direction::Forward => a.key.cmp(&b.key),
            Direction::Backward => b.key.cmp(&a.key),
        });
        entries.dedup();
        let mut entries = entries.iter().peekable();
        while let Some(entry) = entries.next() {
            if visit(Entry::new(&entry.key, &entry.primary_key, &entry.row)).is_break() {
                // The cursor cannot stand between an entry's two rows.
                while let Some(twin) = entries.next_if(|next| next.key == entry.key) {
                    let _ = visit(Entry::new(&twin.key, &twin.primary_key, &twin.row));
                }
                return cursor.advance_past(&entry.key);
            }
        }
        *cursor = walked;
    }

    /// `time`: by which rows are expired; of no meaning where they do not expire.
    #[expect(clippy::too_many_arguments, reason = "those of a scan, and what it reads at")]
    fn scan_at(
        &self,
        snapshot: &Snapshot,
        time: i64,
        table: &Table,
        index: IndexId,
        cursor: &mut Cursor,
        most: usize,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) {
        self.note_search();
        let mut visit = |entry: Entry<'_>| {
            self.count_examined(1);
            visit(entry)
        };
        let Some(changes) = self.overlay.table(table.id()) else {
            return match table.expiry() {
                None => table.scan(index, cursor, snapshot, most, visit),
                Some(_) => self.scan_unexpired(snapshot, time, table, index, cursor, most, &mut visit),
            };
        };
        let committed = |cursor: &mut Cursor, visit: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>| match table.expiry()
        {
            None => table.scan(index, cursor, snapshot, most, visit),
            Some(_) => self.scan_unexpired(snapshot, time, table, index, cursor, most, visit),
        };
        let range = cursor.rest().clone();
        let direction = cursor.direction();
        if index == IndexId::PRIMARY {
            let own = changes.rows(&range, direction).map(|(key, row)| Own {
                key,
                primary_key: key,
                row,
            });
            let merge = Merge::new(own, changes, direction, most, visit);
            merge.run(cursor, committed);
        } else {
            let entries = changes.entries(table, index);
            let own = entries_in(&entries, &range, direction).map(|(key, primary_key)| {
                let row = changes.row(primary_key).expect("entries are of changed rows");
                Own {
                    key,
                    primary_key,
                    row: row.as_deref(),
                }
            });
            let merge = Merge::new(own, changes, direction, most, visit);
            merge.run(cursor, committed);
        }
    }

    /// How many entries of the cursor's range this transaction sees, without touching rows; in chunks like
    /// [`scan`](Self::scan).
    pub fn count(&self, table: &Table, index: IndexId, cursor: &mut Cursor, most: usize) -> usize {
        if self.overlay.table(table.id()).is_none() && table.expiry().is_none() {
            return table.count(index, cursor, &self.reading(table), most);
        }
        let mut count = 0;
        self.scan(table, index, cursor, most, |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        count
    }
}

/// An entry that outlives its scan.
#[derive(PartialEq, Eq)]
struct OwnedEntry {
    key: Box<[u8]>,
    primary_key: Box<[u8]>,
    row: Box<[u8]>,
}

impl OwnedEntry {
    fn new(entry: &Entry<'_>) -> OwnedEntry {
        OwnedEntry {
            key: entry.key().into(),
            primary_key: entry.primary_key().into(),
            row: entry.row().into(),
        }
    }
}

/// One of the transaction's own entries; `row: None` only hides the committed one.
struct Own<'o> {
    key: &'o [u8],
    primary_key: &'o [u8],
    row: Option<&'o [u8]>,
}

/// Committed and own entries in one order. A committed entry of a row that the transaction has changed is left out: what the row is
/// now is among the own ones.
struct Merge<'o, I: Iterator<Item = Own<'o>>, V> {
    own: Peekable<I>,
    changes: &'o TableChanges,
    direction: Direction,
    most: usize,
    visit: V,
    shown: usize,
    end: End<'o>,
}

/// How far a merge has come.
enum End<'o> {
    Open,
    /// At an own entry; the committed cursor may be further already.
    AtOwn(&'o [u8]),
    AtCommitted,
}

impl<'o, I, V> Merge<'o, I, V>
where
    I: Iterator<Item = Own<'o>>,
    V: FnMut(Entry<'_>) -> ControlFlow<()>,
{
    fn new(own: I, changes: &'o TableChanges, direction: Direction, most: usize, visit: V) -> Merge<'o, I, V> {
        Merge {
            own: own.peekable(),
            changes,
            direction,
            most,
            visit,
            shown: 0,
            end: End::Open,
        }
    }

    /// `scan` shows the committed entries of a cursor.
    fn run(
        mut self,
        cursor: &mut Cursor,
        scan: impl FnOnce(&mut Cursor, &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>),
    ) {
        let mut committed = cursor.clone();
        scan(&mut committed, &mut |entry| self.committed(entry));
        if let End::Open = self.end {
            // The scan looked at nothing visible between its last entry and where it stands now.
            let rest = committed.rest();
            let _ = self.own_while(|key| committed.is_finished() || !rest.contains(key));
        }
        match self.end {
            End::AtOwn(key) => cursor.advance_past(key),
            _ => *cursor = committed,
        }
    }

    fn committed(&mut self, entry: Entry<'_>) -> ControlFlow<()> {
        let before = match self.direction {
            Direction::Forward => Ordering::Less,
            Direction::Backward => Ordering::Greater,
        };
        self.own_while(|key| key.cmp(entry.key()) == before)?;
        if self.changes.row(entry.primary_key()).is_some() {
            return ControlFlow::Continue(());
        }
        (self.visit)(entry).map_break(|()| self.end = End::AtCommitted)
    }

    /// Shows own entries while their turn has come.
    fn own_while(&mut self, is_next: impl Fn(&[u8]) -> bool) -> ControlFlow<()> {
        while let Some(own) = self.own.next_if(|own| is_next(own.key)) {
            let Some(row) = own.row else { continue };
            self.shown += 1;
            if (self.visit)(Entry::new(own.key, own.primary_key, row)).is_break() || self.shown >= self.most {
                self.end = End::AtOwn(own.key);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}
