//! The writer's side of a tree: insertion and removal on copies of the path.
//!
//! Both go down once. On the way, a full child is split before it is entered, and a nearly empty one joined or levelled with
//! its neighbour, so that nothing has to come back up.

#![allow(unsafe_code)]

use super::node::{FANOUT, FreshNode, JOINED_ENTRIES, MIN_ENTRIES, Node, NodePtr, SeparatorPtr, after, prefix_of};
use super::{Tree, find};
use crate::record::{Record, RecordPtr};
use crate::retired::{Garbage, Retired};
use governor::pages::{Side, Sparse};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Capacities are multiples of this.
const CAPACITY_STEP: usize = 8;

/// A tree with the changes of the current batch.
pub(crate) struct TreeWriter {
    tree: Arc<Tree>,
    root: Option<NodePtr>,
    batch: u64,
    is_changed: bool,
    /// Where new nodes are made.
    side: Side,
    node_bytes: i64,
    /// What readers of an older root may still see.
    replaced: Vec<Garbage>,
}

/// The separators around a node: where it begins and where it ends.
#[derive(Clone, Copy, Default)]
struct Fences {
    low: Option<SeparatorPtr>,
    high: Option<SeparatorPtr>,
}

impl Fences {
    /// Those of child `at` of a node between these.
    fn of_child(self, node: Node<'_>, at: usize) -> Fences {
        Fences {
            low: node.separators()[at].or(self.low),
            high: node.separators().get(at + 1).copied().flatten().or(self.high),
        }
    }

    /// How many bytes all keys between the fences share, rounded down so that it seldom changes.
    fn shared_bytes(self) -> usize {
        match (self.low, self.high) {
            // SAFETY: the separators are in nodes of the working tree, or about to be.
            (Some(low), Some(high)) => unsafe { common_bytes(low.key(), high.key()) & !3 },
            _ => 0,
        }
    }
}

fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The shortest beginning of `high` that is above `low`.
pub(super) fn separate(low: &[u8], high: &[u8]) -> SeparatorPtr {
    debug_assert!(low < high);
    SeparatorPtr::new(Side::Usual, &high[..common_bytes(low, high) + 1])
}

/// Of a separator that was just made, or is in the working tree.
fn separator_bytes(separator: SeparatorPtr) -> i64 {
    // SAFETY: the caller's.
    SeparatorPtr::bytes(unsafe { separator.key() }.len()) as i64
}

/// As [`Fences::shared_bytes`], for the bulk loader.
pub(super) fn shared_between(low: Option<SeparatorPtr>, high: Option<SeparatorPtr>) -> usize {
    Fences { low, high }.shared_bytes()
}

fn capacity_for(entries: usize) -> usize {
    entries.next_multiple_of(CAPACITY_STEP).min(FANOUT).max(entries)
}

impl TreeWriter {
    /// The writer of a tree; there must be only one.
    pub(crate) fn new(tree: Arc<Tree>) -> TreeWriter {
        let root = NodePtr::from_raw(tree.root.load(std::sync::atomic::Ordering::Acquire));
        TreeWriter {
            tree,
            root,
            batch: 1,
            is_changed: false,
            side: Side::Usual,
            node_bytes: 0,
            replaced: Vec::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    fn root(&self) -> Option<Node<'_>> {
        // SAFETY: the working tree is not freed while this writer has it, and changes only through `&mut self`.
        self.root.map(|root| unsafe { root.get() })
    }

    /// The record with this key in the working tree.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Record<'_>> {
        find(self.root()?, key)
    }

    /// Shows all records, in key order.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(RecordPtr)) {
        fn below(node: Node<'_>, visit: &mut impl FnMut(RecordPtr)) {
            match node.is_leaf() {
                true => node.records().iter().for_each(|&record| visit(record)),
                false => (0..node.entries()).for_each(|at| below(node.child(at), visit)),
            }
        }
        if let Some(root) = self.root() {
            below(root, &mut visit);
        }
    }

    /// Bytes that nodes and separators have grown by since the last call; what is replaced counts as freed.
    pub(crate) fn take_node_bytes(&mut self) -> i64 {
        std::mem::take(&mut self.node_bytes)
    }

    /// Makes the batch visible. What it replaced can be freed when its readers are gone.
    pub(crate) fn publish(&mut self, retired: &mut Retired) {
        if self.is_changed {
            self.is_changed = false;
            self.batch += 1;
            self.tree.publish(self.root);
            retired.append(&mut self.replaced);
        }
    }

    /// Adds a record whose key the tree does not have.
    pub(crate) fn insert(&mut self, record: RecordPtr) {
        // SAFETY: handed over by the caller, who owns it.
        let key = unsafe { record.get() }.key();
        self.is_changed = true;
        let mut node = match self.root {
            None => self.new_node(0, 0, CAPACITY_STEP.min(FANOUT)),
            Some(root) => self.freshen(root, 1),
        };
        if node.read().entries() == FANOUT {
            node = self.raise_root(node, key);
        }
        self.root = Some(node.ptr());
        let mut fences = Fences::default();
        while !node.read().is_leaf() {
            let mut at = node.read().route(key);
            let mut child = self.freshen(node.read().children()[at], 1);
            if child.read().entries() == FANOUT {
                self.split_child(&mut node, at, child, fences, key);
                at = node.read().route(key);
                child = self.freshen(node.read().children()[at], 1);
            }
            let below = node.read().counts()[at];
            node.set_child(at, child.ptr(), below + 1);
            fences = fences.of_child(node.read(), at);
            node = child;
        }
        let (at, is_there) = node.read().find(key);
        assert!(!is_there, "the caller looked for the key before");
        let prefix = prefix_of(after(key, node.read().skip()));
        node.insert_record(at, prefix, record);
    }

    /// Takes out the record with this key, which is there. The record itself is the caller's.
    pub(crate) fn remove(&mut self, key: &[u8]) {
        let (mut leaf, at) = self.path_to_remove(key);
        leaf.remove(at);
        self.lower_root();
    }

    /// Looks at the leaf where `key` belongs, from that key on, and makes anew what lies in sparse pages: nodes, and the records for which
    /// `move_record` gives others, with the same keys. Returns where to go on, if not at the end, which is before the record for which it
    /// breaks off.
    pub(crate) fn move_leaf(
        &mut self,
        key: &[u8],
        sparse: &Sparse,
        mut move_record: impl FnMut(RecordPtr) -> ControlFlow<(), Option<RecordPtr>>,
    ) -> Option<Vec<u8>> {
        let mut node = self.root()?;
        let mut is_sparse = sparse.has(node.address());
        let mut high = None;
        while !node.is_leaf() {
            let at = node.route(key);
            high = node.separators().get(at + 1).copied().flatten().or(high);
            is_sparse |= node.separators()[at].is_some_and(|low| sparse.has(low.address()));
            node = node.child(at);
            is_sparse |= sparse.has(node.address());
        }
        // SAFETY: a separator of the working tree.
        let mut next = high.map(|high| unsafe { high.key() }.to_vec());
        let mut moved = Vec::new();
        for at in node.find(key).0..node.entries() {
            match move_record(node.records()[at]) {
                ControlFlow::Continue(Some(record)) => moved.push((at, record)),
                ControlFlow::Continue(None) => {}
                ControlFlow::Break(()) => {
                    next = Some(node.record(at).key().to_vec());
                    break;
                }
            }
        }
        if is_sparse || !moved.is_empty() {
            self.side = sparse.to;
            let mut leaf = self.copy_path(key, sparse);
            moved.into_iter().for_each(|(at, record)| leaf.set_record(at, record));
            self.side = Side::Usual;
        }
        next
    }

    /// Copies the nodes from the root to the leaf where `key` belongs, and the sparse ones of the separators before them.
    fn copy_path(&mut self, key: &[u8], sparse: &Sparse) -> FreshNode {
        self.is_changed = true;
        let mut node = self.freshen(self.root.expect("the tree has a leaf"), 0);
        self.root = Some(node.ptr());
        while !node.read().is_leaf() {
            let at = node.read().route(key);
            let below = node.read().counts()[at];
            let child = self.freshen(node.read().children()[at], 0);
            node.set_child(at, child.ptr(), below);
            if let Some(low) = node.read().separators()[at].filter(|low| sparse.has(low.address())) {
                // SAFETY: a separator of the working tree.
                let copy = SeparatorPtr::new(self.side, unsafe { low.key() });
                self.node_bytes += separator_bytes(copy);
                node.set_separator(at, Some(copy));
                self.discard_separator(low);
            }
            node = child;
        }
        node
    }

    /// Copies the path to a key that will be removed; children that have become small are filled up from their neighbours.
    fn path_to_remove(&mut self, key: &[u8]) -> (FreshNode, usize) {
        self.is_changed = true;
        let mut node = self.freshen(self.root.expect("the key is there"), 0);
        self.root = Some(node.ptr());
        let mut fences = Fences::default();
        while !node.read().is_leaf() {
            let mut at = node.read().route(key);
            if node.read().child(at).entries() <= MIN_ENTRIES && node.read().entries() > 1 {
                let left = at.min(node.read().entries() - 2);
                self.level_children(&mut node, left, fences);
                at = node.read().route(key);
            }
            let child = self.freshen(node.read().children()[at], 0);
            let below = node.read().counts()[at];
            node.set_child(at, child.ptr(), below - 1);
            fences = fences.of_child(node.read(), at);
            node = child;
        }
        let (at, is_there) = node.read().find(key);
        assert!(is_there, "the caller found the key before");
        (node, at)
    }

    fn new_node(&mut self, level: u8, skip: usize, capacity: usize) -> FreshNode {
        let node = FreshNode::new(self.side, level, skip, capacity, self.batch);
        self.node_bytes += node.read().bytes() as i64;
        node
    }

    /// Lets go of a node: at once if this batch made it, else when its readers are gone.
    fn discard(&mut self, node: NodePtr) {
        // SAFETY: the node was part of the working tree until now.
        unsafe {
            self.node_bytes -= node.get().bytes() as i64;
            match node.fresh(self.batch) {
                Some(_) => node.free(),
                None => self.replaced.push(Garbage::Node(node)),
            }
        }
    }

    fn new_separator(&mut self, low: &[u8], high: &[u8]) -> SeparatorPtr {
        let separator = separate(low, high);
        self.node_bytes += separator_bytes(separator);
        separator
    }

    /// Separators do not know their batch: all go the slow way.
    fn discard_separator(&mut self, separator: SeparatorPtr) {
        self.node_bytes -= separator_bytes(separator);
        self.replaced.push(Garbage::Separator(separator));
    }

    /// The node itself if this batch made it and it has room, else a copy, which the caller links in its place.
    fn freshen(&mut self, node: NodePtr, room: usize) -> FreshNode {
        // SAFETY: part of the working tree; the writer has one handle per node at a time.
        let (read, fresh) = unsafe { (node.get(), node.fresh(self.batch)) };
        let is_full = read.entries() == FANOUT;
        if let Some(fresh) = fresh
            && (room == 0 || is_full || fresh.has_room())
        {
            return fresh;
        }
        let capacity = if is_full {
            FANOUT
        } else {
            capacity_for(read.entries() + room)
        };
        let mut copy = self.new_node(read.level(), read.skip(), capacity);
        copy.append(read, 0..read.entries());
        self.discard(node);
        copy
    }

    /// Puts a new root over a full one, and splits that.
    fn raise_root(&mut self, root: FreshNode, key: &[u8]) -> FreshNode {
        let (level, below) = (root.read().level(), root.read().entries_below());
        let mut raised = self.new_node(level + 1, 0, CAPACITY_STEP.min(FANOUT));
        raised.insert_child(0, root.ptr(), None, below);
        self.split_child(&mut raised, 0, root, Fences::default(), key);
        raised
    }

    fn lower_root(&mut self) {
        while let Some(root) = self.root {
            // SAFETY: part of the working tree.
            let read = unsafe { root.get() };
            self.root = match (read.is_leaf(), read.entries()) {
                (true, 0) => None,
                (false, 1) => Some(read.children()[0]),
                _ => return,
            };
            self.discard(root);
        }
    }

    /// Splits a full child of a node that has room. `key` is about to be inserted: keys that come in ascending order at the
    /// end of the tree leave full nodes behind.
    fn split_child(&mut self, parent: &mut FreshNode, at: usize, child: FreshNode, fences: Fences, key: &[u8]) {
        let around = fences.of_child(parent.read(), at);
        let read = child.read();
        let entries = read.entries();
        let appends = around.high.is_none()
            && match read.is_leaf() {
                true => read.record(entries - 1).key() < key,
                false => read.separator(entries - 1) <= key,
            };
        let (middle, separator) = match (read.is_leaf(), appends) {
            (true, true) => (entries, self.new_separator(read.record(entries - 1).key(), key)),
            (true, false) => {
                let middle = entries / 2;
                (
                    middle,
                    self.new_separator(read.record(middle - 1).key(), read.record(middle).key()),
                )
            }
            (false, _) => {
                let middle = if appends { entries - 1 } else { entries / 2 };
                (
                    middle,
                    read.separators()[middle].expect("every child but the first has a separator"),
                )
            }
        };
        let left = self.part(
            read,
            0..middle,
            Fences {
                high: Some(separator),
                ..around
            },
        );
        let right = self.part(
            read,
            middle..entries,
            Fences {
                low: Some(separator),
                ..around
            },
        );
        self.discard(child.ptr());
        parent.set_child(at, left.ptr(), left.read().entries_below());
        parent.insert_child(at + 1, right.ptr(), Some(separator), right.read().entries_below());
    }

    /// A new node with a part of another's entries.
    fn part(&mut self, of: Node<'_>, range: std::ops::Range<usize>, fences: Fences) -> FreshNode {
        let capacity = capacity_for(range.len().max(1));
        let mut part = self.new_node(of.level(), fences.shared_bytes(), capacity);
        part.append(of, range);
        if !of.is_leaf() {
            part.set_separator(0, None);
        }
        part
    }

    /// Joins children `left` and `left + 1`, or shares their entries evenly.
    fn level_children(&mut self, parent: &mut FreshNode, left: usize, fences: Fences) {
        let read = parent.read();
        let (a, b) = (read.child(left), read.child(left + 1));
        let between = read.separators()[left + 1].expect("every child but the first has a separator");
        let around = Fences {
            low: fences.of_child(read, left).low,
            high: fences.of_child(read, left + 1).high,
        };
        let entries = a.entries() + b.entries();
        let capacity = if entries <= JOINED_ENTRIES {
            capacity_for(entries)
        } else {
            entries
        };
        let mut joined = self.new_node(a.level(), around.shared_bytes(), capacity);
        joined.append(a, 0..a.entries());
        joined.append(b, 0..b.entries());
        if !a.is_leaf() {
            joined.set_separator(a.entries(), Some(between));
        }
        let is_leaf = a.is_leaf();
        let (old_a, old_b) = (a.ptr(), b.ptr());
        if entries <= JOINED_ENTRIES {
            parent.set_child(left, joined.ptr(), joined.read().entries_below());
            parent.remove(left + 1);
            if is_leaf {
                self.discard_separator(between);
            }
        } else {
            let middle = entries / 2;
            let whole = joined.read();
            let separator = match is_leaf {
                true => self.new_separator(whole.record(middle - 1).key(), whole.record(middle).key()),
                false => whole.separators()[middle].expect("every child but the first has a separator"),
            };
            let a = self.part(
                whole,
                0..middle,
                Fences {
                    high: Some(separator),
                    ..around
                },
            );
            let b = self.part(
                whole,
                middle..entries,
                Fences {
                    low: Some(separator),
                    ..around
                },
            );
            parent.set_child(left, a.ptr(), a.read().entries_below());
            parent.set_child(left + 1, b.ptr(), b.read().entries_below());
            parent.set_separator(left + 1, Some(separator));
            self.discard(joined.ptr());
            if is_leaf {
                self.discard_separator(between);
            }
        }
        self.discard(old_a);
        self.discard(old_b);
    }
}

impl Drop for TreeWriter {
    /// Leaves the tree whole: readers may have it for longer than the writer.
    fn drop(&mut self) {
        let mut retired = Retired::default();
        self.publish(&mut retired);
        // SAFETY: the root was published.
        unsafe { retired.hand_over() };
    }
}
