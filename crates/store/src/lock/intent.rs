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
//! locked: one of the two sees the other. A node that follows is told which gates are up where the leader is; its readers ask there then. The idea is PostgreSQL's ("fast-path locking" in its `lmgr/README`).

use super::mode::{LockMode, LockModes};
use super::table::{LockOwner, LockTable, Owner, Place};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use types::TableId;

const GATES: usize = 1024;
const WORDS: usize = GATES / 64;
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
    /// How many are up, counting each as often as it was raised.
    up: AtomicU32,
    /// How often one was raised.
    raises: AtomicU64,
    elsewhere: Elsewhere,
    owners: Box<[Owners]>,
}

/// Gates that were up on the node that leads when it was last heard of, while another one does.
#[derive(Default)]
struct Elsewhere {
    any: AtomicBool,
    up: [AtomicU64; WORDS],
}

#[repr(align(128))]
#[derive(Default)]
struct Owners(Mutex<HashMap<LockOwner, Arc<Owner>>>);

impl Default for Gates {
    fn default() -> Gates {
        Gates {
            raised: (0..GATES).map(|_| AtomicU32::new(0)).collect(),
            up: AtomicU32::new(0),
            raises: AtomicU64::new(0),
            elsewhere: Elsewhere::default(),
            owners: (0..LISTS).map(|_| Owners::default()).collect(),
        }
    }
}

fn gate_of(table: TableId) -> usize {
    table.0 as usize % GATES
}

impl Gates {
    #[inline]
    pub(super) fn is_up(&self, table: TableId) -> bool {
        self.gate(table).load(Ordering::SeqCst) > 0
    }

    #[inline]
    pub(super) fn is_up_elsewhere(&self, table: TableId) -> bool {
        self.elsewhere.any.load(Ordering::Acquire) && {
            let gate = gate_of(table);
            self.elsewhere.up[gate / 64].load(Ordering::Acquire) >> (gate % 64) & 1 == 1
        }
    }

    pub(super) fn raise(&self, table: TableId) {
        // In this order: who finds the gate up finds it counted.
        self.raises.fetch_add(1, Ordering::SeqCst);
        self.up.fetch_add(1, Ordering::SeqCst);
        self.gate(table).fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn lower(&self, table: TableId) {
        self.gate(table).fetch_sub(1, Ordering::SeqCst);
        self.up.fetch_sub(1, Ordering::SeqCst);
    }

    /// What `look` sees, and the numbers of the gates that were up before it did. None was raised in between.
    pub(super) fn before<T>(&self, look: impl Fn() -> T) -> (T, Vec<u16>) {
        loop {
            let raises = self.raises.load(Ordering::SeqCst);
            let up = self.all_up();
            let seen = look();
            if self.raises.load(Ordering::SeqCst) == raises {
                return (seen, up);
            }
        }
    }

    fn all_up(&self) -> Vec<u16> {
        if self.up.load(Ordering::SeqCst) == 0 {
            return Vec::new();
        }
        let gates = self.raised.iter().zip(0..);
        let up = gates.filter(|(raised, _)| raised.load(Ordering::SeqCst) > 0);
        up.map(|(_, gate)| gate).collect()
    }

    pub(super) fn set_elsewhere(&self, gates: &[u16]) {
        let Elsewhere { any, up } = &self.elsewhere;
        if gates.is_empty() && !any.load(Ordering::Acquire) {
            return;
        }
        let mut words = [0; WORDS];
        for gate in gates.iter().map(|&gate| usize::from(gate) % GATES) {
            words[gate / 64] |= 1 << (gate % 64);
        }
        for (word, new) in up.iter().zip(words) {
            word.store(new, Ordering::Release);
        }
        any.store(!gates.is_empty(), Ordering::Release);
    }

    #[inline]
    fn gate(&self, table: TableId) -> &AtomicU32 {
        &self.raised[gate_of(table)]
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
