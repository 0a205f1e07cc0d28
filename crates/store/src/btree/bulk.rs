//! Building a tree bottom-up from sorted records.

#![allow(unsafe_code)]

use super::cow::{separate, shared_between};
use super::node::{FANOUT, FreshNode, NodePtr, SeparatorPtr, after, prefix_of};
use super::{Tree, TreeKind};
use crate::record::RecordPtr;

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
    let tree = Tree::new(kind);
    let mut bytes = 0;
    let fill = Fill::of(kind).entries();
    let mut level = build_leaves(records, fill, &mut bytes);
    let mut height = 0;
    while level.len() > 1 {
        height += 1;
        level = build_level(height, &level, fill, &mut bytes);
    }
    tree.publish(level.first().map(|root| root.node));
    (tree, bytes)
}

/// Cuts `total` things into as few parts of at most `most` as possible, of nearly equal size.
fn even_parts(total: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let parts = total.div_ceil(most);
    (0..parts).map(move |part| total * part / parts..total * (part + 1) / parts)
}

fn build_leaves(records: &[RecordPtr], fill: usize, bytes: &mut usize) -> Vec<Built> {
    // SAFETY: the caller owns the records.
    let key = |at: usize| unsafe { records[at].get() }.key();
    let parts: Vec<_> = even_parts(records.len(), fill).collect();
    let lows: Vec<_> = parts
        .iter()
        .map(|part| {
            governor::pause();
            (part.start > 0).then(|| new_separator(key(part.start - 1), key(part.start), bytes))
        })
        .collect();
    let build = |(number, part): (usize, &std::ops::Range<usize>)| {
        governor::pause();
        let high = lows.get(number + 1).copied().flatten();
        let skip = shared_between(lows[number], high);
        let mut leaf = FreshNode::new(0, skip, part.len(), BEFORE_ALL_BATCHES);
        *bytes += leaf.read().bytes();
        for (at, position) in part.clone().enumerate() {
            leaf.insert_record(at, prefix_of(after(key(position), skip)), records[position]);
        }
        Built {
            node: leaf.ptr(),
            low: lows[number],
            entries: part.len() as u64,
        }
    };
    parts.iter().enumerate().map(build).collect()
}

fn build_level(height: u8, children: &[Built], fill: usize, bytes: &mut usize) -> Vec<Built> {
    let parts: Vec<_> = even_parts(children.len(), fill).collect();
    let build = |part: &std::ops::Range<usize>| {
        let low = children[part.start].low;
        let skip = shared_between(low, children.get(part.end).and_then(|next| next.low));
        let mut node = FreshNode::new(height, skip, part.len(), BEFORE_ALL_BATCHES);
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
