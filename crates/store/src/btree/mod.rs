//! The index structure: a copy-on-write B+tree with one writer.
//!
//! A reader loads the root once and then sees one state of the whole tree, whatever the writer does meanwhile: nodes it can
//! reach never change. The writer copies the path to what it changes, once per batch, and makes the batch visible by
//! storing the new root. Copies made in the current batch are changed in place. What the new root does not reach any more is freed when
//! no reader is left who could see it ([`crossbeam_epoch`]).
//!
//! ```text
//!        old root      new root
//!          │    ┌─────────┘
//!          ▼    ▼
//!         [I]  [I']                  readers of the old root go on with [I] and [B];
//!        ╱ │ ╲╱ │ ╲                  [A] and [C] are shared
//!      [A][B][C]... [B']
//! ```
//!
//! Which versions of a row a reader sees is decided by timestamps in the records, not by the root: a newer root only has more
//! entries (too new to be visible) and fewer (dead to everybody). Inner nodes count the entries below each child, so that the
//! position of a key, and with it the size of a range, is known after one descent.

#![allow(unsafe_code)]

mod bulk;
mod cow;
mod node;
mod walk;

#[cfg(test)]
mod tests;

pub(crate) use bulk::{build, build_while};
pub(crate) use cow::TreeWriter;
pub(crate) use node::{NodePtr, SeparatorPtr, prefix_of};
pub(crate) use walk::Leaves;

use crate::record::{EntryState, Record, RecordPtr};
use crossbeam_epoch::Guard;
use node::Node;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What a tree's records are, and so what hangs on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeKind {
    /// Primary records with their versions.
    Primary,
    /// Index records with their histories.
    Secondary,
}

/// Keys whose ways down go side by side: about as many lines of memory as a core waits for at once.
const SIDE_BY_SIDE: usize = 16;

/// A published tree.
pub(crate) struct Tree {
    root: AtomicPtr<()>,
    kind: TreeKind,
}

impl Tree {
    pub(crate) fn new(kind: TreeKind) -> Tree {
        Tree {
            root: AtomicPtr::new(ptr::null_mut()),
            kind,
        }
    }

    pub(crate) fn kind(&self) -> TreeKind {
        self.kind
    }

    fn root<'g>(&self, _guard: &'g Guard) -> Option<Node<'g>> {
        // SAFETY: what the published root reaches is retired only after another root was published, and the guard was pinned
        // before this one was loaded.
        NodePtr::from_raw(self.root.load(Ordering::Acquire)).map(|root| unsafe { root.get() })
    }

    fn publish(&self, root: Option<NodePtr>) {
        self.root
            .store(root.map_or(ptr::null_mut(), NodePtr::into_raw), Ordering::Release);
    }

    /// The record with this key.
    #[inline]
    pub(crate) fn find<'g>(&self, key: &[u8], guard: &'g Guard) -> Option<Record<'g>> {
        find(self.root(guard)?, key)
    }

    /// Has the processor load what reads of these keys will touch. Of one key after the other each level would be waited for by itself; here all
    /// go down together, and their waits overlap. Of a primary tree.
    pub(crate) fn fetch_ahead(&self, keys: &[&[u8]], guard: &Guard) {
        let Some(root) = self.root(guard) else { return };
        for keys in keys.chunks(SIDE_BY_SIDE) {
            let mut nodes = [root; SIDE_BY_SIDE];
            let mut records = [None; SIDE_BY_SIDE];
            // All leaves are on one level.
            while !nodes[0].is_leaf() {
                for (node, key) in nodes.iter_mut().zip(keys) {
                    *node = node.child(node.route(key));
                    node.prefetch();
                }
            }
            for ((record, node), key) in records.iter_mut().zip(nodes).zip(keys) {
                *record = node.candidate(key).inspect(|record| record.prefetch());
            }
            records.iter().flatten().for_each(|record| record.prefetch_row());
        }
    }

    /// How many entries the tree has, dead ones included.
    pub(crate) fn entries(&self, guard: &Guard) -> u64 {
        self.root(guard).map_or(0, Node::entries_below)
    }

    /// How many entries have keys below `key`.
    pub(crate) fn rank(&self, key: &[u8], guard: &Guard) -> u64 {
        let Some(mut node) = self.root(guard) else { return 0 };
        let mut rank = 0;
        while !node.is_leaf() {
            let at = node.route(key);
            rank += node.counts()[..at].iter().sum::<u64>();
            node = node.child(at);
        }
        rank + node.find(key).0 as u64
    }

    /// The leaf that has the entry at a position: the position where it begins, and its records.
    pub(crate) fn leaf_at<'g>(&self, wanted: u64, guard: &'g Guard) -> Option<(u64, &'g [RecordPtr])> {
        let mut position = wanted;
        let mut node = self.root(guard)?;
        while !node.is_leaf() {
            let at = node.counts().iter().position(|&below| {
                let is_here = position < below;
                position -= if is_here { 0 } else { below };
                is_here
            });
            node = node.child(at?);
        }
        Some((wanted - position, node.records()))
    }

    /// The entry at a position, counted from 0 in key order.
    pub(crate) fn nth<'g>(&self, mut position: u64, guard: &'g Guard) -> Option<Record<'g>> {
        let mut node = self.root(guard)?;
        while !node.is_leaf() {
            let mut at = 0;
            for &below in node.counts() {
                if position < below {
                    break;
                }
                position -= below;
                at += 1;
            }
            if at == node.entries() {
                return None;
            }
            node = node.child(at);
        }
        (position < node.entries() as u64).then(|| node.record(position as usize))
    }
}

fn find<'g>(mut node: Node<'g>, key: &[u8]) -> Option<Record<'g>> {
    while !node.is_leaf() {
        node = node.child(node.route(key));
        node.prefetch();
    }
    match node.find(key) {
        (at, true) => Some(node.record(at)),
        (_, false) => None,
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let Some(root) = NodePtr::from_raw(*self.root.get_mut()) else {
            return;
        };
        // SAFETY: nobody reads a tree that is being dropped.
        let entries = unsafe { root.get() }.entries_below();
        let felled = Felled { root, kind: self.kind };
        // Whoever drops it, its memory was never a session's.
        governor::given_away(|| match entries <= FEW {
            true => drop(felled),
            false => governor::large::drop_elsewhere(felled),
        });
    }
}

/// So many entries are freed in less than a millisecond: more of them by the reaper, since whoever drops the last handle of a tree may
/// be a session, or apply the log.
const FEW: u64 = 4096;

/// The nodes of a tree that is gone.
struct Felled {
    root: NodePtr,
    kind: TreeKind,
}

impl Drop for Felled {
    fn drop(&mut self) {
        governor::pages::introduce_thread();
        // SAFETY: nobody reads a tree that was dropped; each node, separator and record is reached once.
        unsafe { free_below(self.root, self.kind) };
    }
}

/// # Safety
/// Nobody else can reach the node or what is below it.
unsafe fn free_below(node: NodePtr, kind: TreeKind) {
    // SAFETY: the caller's; everything is freed after its last use here.
    unsafe {
        let read = node.get();
        if read.is_leaf() {
            read.records().iter().for_each(|&record| free_record(record, kind));
        } else {
            read.children().iter().for_each(|&child| free_below(child, kind));
            read.separators()
                .iter()
                .flatten()
                .for_each(|&separator: &SeparatorPtr| separator.free());
        }
        node.free();
    }
}

/// Frees a record with all its versions or its history.
///
/// # Safety
/// Nobody else can reach them, and the record is of this kind of tree.
pub(crate) unsafe fn free_record(record: RecordPtr, kind: TreeKind) {
    // SAFETY: the caller's.
    unsafe {
        match kind {
            TreeKind::Primary => {
                let mut version = Some(record.get().head());
                while let Some(this) = version {
                    version = this.next();
                    this.ptr().free();
                }
            }
            TreeKind::Secondary => {
                let mut state = match record.get().entry_state() {
                    EntryState::AliveSince(_) => ptr::null_mut(),
                    EntryState::History(history) => history.as_ptr(),
                };
                while !state.is_null() {
                    let history = Box::from_raw(state);
                    state = history.older.load(Ordering::Relaxed);
                }
            }
        }
        record.free(kind == TreeKind::Secondary);
    }
}
