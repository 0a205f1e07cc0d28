//! Intention locks of definitions, which nearly everybody holds and hardly anybody is kept away by.
//!
//! Every transaction holds the definitions of the tables that it uses until it ends. In the lock table they would all meet at one lock.
//! So each notes it with itself, as long as nobody wants the definition for itself (DDL, `LOCK TABLES`). A gate, a counter found by the
//! table's number, tells whether somebody does:
//!
//! ```text
//!   SELECT, UPDATE ──▶ gate down? ──yes──▶ a note of the transaction's own
//!                          │ no
//!                          ▼
//!   ALTER ──▶ gate up ──▶ notes of all move ──▶ the lock in the table, with its queue
//! ```
//!
//! Who raises a gate does so before it looks through the notes, and who makes a note looks at the gate while its notes are
//! locked: one of the two sees the other. The idea is PostgreSQL's ("fast-path locking" in its `lmgr/README`).

use super::mode::{LockMode, LockModes};
use super::table::{LockOwner, LockTable, Owner, Place};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use types::TableId;

const GATES: usize = 1024;
const LISTS: usize = 64;

/// A definition held by a transaction.
#[derive(Debug)]
pub(super) struct Note {
    table: TableId,
    modes: LockModes,
    /// Where it is in the lock table, once somebody has moved it there.
    moved: Option<Place>,
}

impl Note {
    pub(super) fn add(notes: &mut Vec<Note>, table: TableId, mode: LockMode) {
        let mut own = notes.iter_mut();
        match own.find(|note| note.table == table && note.moved.is_none()) {
            Some(note) => note.modes.add(mode),
            None => notes.push(Note {
                table,
                modes: LockModes::of(mode),
                moved: None,
            }),
        }
    }

    /// Moves what `owner` has noted of a definition into the lock table.
    pub(super) fn move_all(notes: &mut [Note], owner: &Arc<Owner>, table: TableId, locks: &LockTable) {
        for note in notes {
            if note.table == table && note.moved.is_none() {
                note.moved = Some(locks.hold_noted(owner, table, note.modes));
            }
        }
    }

    pub(super) fn place(self) -> Option<Place> {
        self.moved
    }
}

/// Who is about to change a definition, and who has noted one.
pub(super) struct Gates {
    raised: Box<[AtomicU32]>,
    owners: Box<[Owners]>,
}

#[repr(align(128))]
#[derive(Default)]
struct Owners(Mutex<HashMap<LockOwner, Arc<Owner>>>);

impl Default for Gates {
    fn default() -> Gates {
        Gates {
            raised: (0..GATES).map(|_| AtomicU32::new(0)).collect(),
            owners: (0..LISTS).map(|_| Owners::default()).collect(),
        }
    }
}

impl Gates {
    #[inline]
    pub(super) fn is_up(&self, table: TableId) -> bool {
        self.gate(table).load(Ordering::SeqCst) > 0
    }

    pub(super) fn raise(&self, table: TableId) {
        self.gate(table).fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn lower(&self, table: TableId) {
        self.gate(table).fetch_sub(1, Ordering::SeqCst);
    }

    #[inline]
    fn gate(&self, table: TableId) -> &AtomicU32 {
        &self.raised[table.0 as usize % GATES]
    }

    /// Before the first note of an owner.
    pub(super) fn list(&self, owner: &Arc<Owner>) {
        self.list_of(owner).lock().insert(owner.id, Arc::clone(owner));
    }

    pub(super) fn unlist(&self, owner: &Owner) {
        self.list_of(owner).lock().remove(&owner.id);
    }

    fn list_of(&self, owner: &Owner) -> &Mutex<HashMap<LockOwner, Arc<Owner>>> {
        &self.owners[owner.id.0 as usize % LISTS].0
    }

    /// Everybody who may have a note, list by list.
    pub(super) fn for_each_owner(&self, mut act: impl FnMut(&Arc<Owner>)) {
        for list in &self.owners {
            list.0.lock().values().for_each(&mut act);
        }
    }

    /// What is noted, and not in the lock table.
    pub(super) fn for_each_note(&self, mut act: impl FnMut(&Owner, TableId, LockModes)) {
        self.for_each_owner(|owner| {
            let notes = owner.notes.lock();
            let own = notes.iter().filter(|note| note.moved.is_none());
            own.for_each(|note| act(owner, note.table, note.modes));
        });
    }
}
