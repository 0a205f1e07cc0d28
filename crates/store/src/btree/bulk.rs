//! Building a tree bottom-up from sorted records.

#![allow(unsafe_code)]

use super::cow::{separate, shared_between};
use super::node::{FANOUT, FreshNode, NodePtr, SeparatorPtr, after, prefix_of};
use super::{Tree, TreeKind};
use crate::record::RecordPtr;
use governor::pages::Side;

/// No writer's batch has this number: the nodes count as published.
const BEFORE_ALL_BATCHES: u64 = 0;

/// A built node with the separator where it begins.
struct Built {
    node: NodePtr,
    low: Option<SeparatorPtr>,
    entries: u64,
}

/// How full the nodes of a built tree are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Keys are expected at the end.
    Full,
    /// Keys are expected anywhere: leaves room in each node.
    Roomy,
}

impl Fill {
    fn of(kind: TreeKind) -> Fill {
        match kind {
            TreeKind::Primary => Fill::Full,
            TreeKind::Secondary => Fill::Roomy,
        }
    }

    fn entries(self) -> usize {
        match self {
            Fill::Full => FANOUT,
            Fill::Roomy => FANOUT * 7 / 8,
        }
    }
}

/// Builds a tree of records in strictly ascending key order, which it takes over. Returns it with the bytes its nodes take. Gives way,
/// where a statement builds it.
pub(crate) fn build(kind: TreeKind, records: &[RecordPtr]) -> (Tree, usize) {
    let built = build_while(kind, records, || {
        governor::pause();
        true
    });
    (built.tree, built.bytes)
}

/// What [`build_while`] has built.
pub(crate) struct BuiltTree {
    pub(crate) tree: Tree,
    /// Of its nodes.
    pub(crate) bytes: usize,
    /// How many records it has taken over.
    pub(crate) records: usize,
}

/// As [`build`], for as long as `goes_on` says; it is asked before each leaf. A tree that lacks records is there to be dropped.
pub(crate) fn build_while(kind: TreeKind, records: &[RecordPtr], goes_on: impl FnMut() -> bool) -> BuiltTree {
    let tree = Tree::new(kind);
    let mut bytes = 0;
    let fill = Fill::of(kind).entries();
    let mut level = build_leaves(records, fill, &mut bytes, goes_on);
    let taken = level.iter().map(|leaf| leaf.entries as usize).sum();
    let mut height = 0;
    while level.len() > 1 {
        height += 1;
        level = build_level(height, &level, fill, &mut bytes);
    }
    tree.publish(level.first().map(|root| root.node));
    BuiltTree {
        tree,
        bytes,
        records: taken,
    }
}

/// Cuts `total` things into as few parts of at most `most` as possible, of nearly equal size.
fn even_parts(total: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let parts = total.div_ceil(most);
    (0..parts).map(move |part| total * part / parts..total * (part + 1) / parts)
}

fn build_leaves(
    records: &[RecordPtr],
    fill: usize,
    bytes: &mut usize,
    mut goes_on: impl FnMut() -> bool,
) -> Vec<Built> {
    // SAFETY: the caller owns the records.
    let key = |at: usize| unsafe { records[at].get() }.key();
    let mut leaves = Vec::with_capacity(records.len().div_ceil(fill));
    let mut low = None;
    for part in even_parts(records.len(), fill) {
        if !goes_on() {
            // SAFETY: no node has got it.
            low.inspect(|low: &SeparatorPtr| unsafe { low.free() });
            break;
        }
        let high = (part.end < records.len()).then(|| new_separator(key(part.end - 1), key(part.end), bytes));
        let skip = shared_between(low, high);
        let mut leaf = FreshNode::new(Side::Usual, 0, skip, part.len(), BEFORE_ALL_BATCHES);
        *bytes += leaf.read().bytes();
        for (at, position) in part.clone().enumerate() {
            leaf.insert_record(at, prefix_of(after(key(position), skip)), records[position]);
        }
        leaves.push(Built {
            node: leaf.ptr(),
            low,
            entries: part.len() as u64,
        });
        low = high;
    }
    leaves
}

fn build_level(height: u8, children: &[Built], fill: usize, bytes: &mut usize) -> Vec<Built> {
    let parts: Vec<_> = even_parts(children.len(), fill).collect();
    let build = |part: &std::ops::Range<usize>| {
        let low = children[part.start].low;
        let skip = shared_between(low, children.get(part.end).and_then(|next| next.low));
        let mut node = FreshNode::new(Side::Usual, height, skip, part.len(), BEFORE_ALL_BATCHES);
        *bytes += node.read().bytes();
        for (at, child) in children[part.clone()].iter().enumerate() {
            node.insert_child(at, child.node, child.low.filter(|_| at > 0), child.entries);
        }
        Built {
            node: node.ptr(),
            low,
            entries: node.read().entries_below(),
        }
    };
    parts.iter().map(build).collect()
}

fn new_separator(low: &[u8], high: &[u8], bytes: &mut usize) -> SeparatorPtr {
    let separator = separate(low, high);
    // SAFETY: just made.
    *bytes += SeparatorPtr::bytes(unsafe { separator.key() }.len());
    separator
}
