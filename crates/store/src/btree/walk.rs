//! Walking the leaves of a range, in either direction.

use super::Tree;
use super::node::Node;
use crate::range::{Direction, KeyRange};
use crate::record::RecordPtr;
use crossbeam_epoch::Guard;

/// Levels that a tree can have: with half full nodes of the smallest fan-out in use, more entries than memory holds.
const MAX_LEVELS: usize = 24;

/// The parts of leaves that lie in a range, one after the other.
pub(crate) struct Leaves<'g, 'r> {
    path: [Option<(Node<'g>, usize)>; MAX_LEVELS],
    depth: usize,
    range: &'r KeyRange,
    direction: Direction,
    finished: bool,
}

/// The records of a range within one leaf, in key order (also when walking backward).
pub(crate) type Step<'g> = &'g [RecordPtr];

impl<'g, 'r> Leaves<'g, 'r> {
    pub(crate) fn new(tree: &Tree, range: &'r KeyRange, direction: Direction, guard: &'g Guard) -> Leaves<'g, 'r> {
        let mut leaves = Leaves {
            path: [None; MAX_LEVELS],
            depth: 0,
            range,
            direction,
            finished: range.is_empty(),
        };
        match tree.root(guard) {
            Some(root) => leaves.descend(root),
            None => leaves.finished = true,
        }
        leaves
    }

    /// Goes down to where the walk begins; afterwards the path ends at a leaf.
    fn descend(&mut self, root: Node<'g>) {
        let mut node = root;
        while !node.is_leaf() {
            let at = match (self.direction, &self.range.to) {
                (Direction::Forward, _) => node.route(&self.range.from),
                (Direction::Backward, Some(to)) => node.route(to),
                (Direction::Backward, None) => node.entries() - 1,
            };
            self.push(node, at);
            node = node.child(at);
        }
        self.push(node, 0);
    }

    fn push(&mut self, node: Node<'g>, at: usize) {
        self.path[self.depth] = Some((node, at));
        self.depth += 1;
    }

    /// Moves the path to the next leaf.
    fn advance(&mut self) {
        self.depth -= 1;
        while self.depth > 0 {
            let (node, at) = self.path[self.depth - 1].expect("the path is filled to its depth");
            let next = match self.direction {
                Direction::Forward => Some(at + 1).filter(|&next| next < node.entries()),
                Direction::Backward => at.checked_sub(1),
            };
            let Some(next) = next else {
                self.depth -= 1;
                continue;
            };
            self.path[self.depth - 1] = Some((node, next));
            let mut child = node.child(next);
            while !child.is_leaf() {
                let at = if self.direction == Direction::Forward {
                    0
                } else {
                    child.entries() - 1
                };
                self.push(child, at);
                child = child.child(at);
            }
            self.push(child, 0);
            return;
        }
        self.finished = true;
    }

    /// What of the leaf lies in the range, and whether the range goes on behind it.
    fn within(&self, leaf: Node<'g>) -> (Step<'g>, bool) {
        let records = leaf.records();
        if records.is_empty() {
            return (records, true);
        }
        let first = leaf.record(0).key();
        let last = leaf.record(records.len() - 1).key();
        // A key between the leaf's first and last shares the bytes that the leaf leaves out, so it can be searched for there.
        let from = if *first >= *self.range.from {
            0
        } else if *last < *self.range.from {
            records.len()
        } else {
            leaf.find(&self.range.from).0
        };
        let to = match &self.range.to {
            None => records.len(),
            Some(to) if *last < **to => records.len(),
            Some(to) if *first >= **to => 0,
            Some(to) => leaf.find(to).0,
        };
        let goes_on = match self.direction {
            Direction::Forward => to == records.len(),
            Direction::Backward => from == 0,
        };
        (&records[from..to.max(from)], goes_on)
    }
}

impl<'g> Iterator for Leaves<'g, '_> {
    type Item = Step<'g>;

    fn next(&mut self) -> Option<Step<'g>> {
        while !self.finished {
            let (leaf, _) = self.path[self.depth - 1].expect("the path ends at a leaf");
            let (step, goes_on) = self.within(leaf);
            if goes_on {
                self.advance();
            } else {
                self.finished = true;
            }
            if !step.is_empty() {
                return Some(step);
            }
        }
        None
    }
}
