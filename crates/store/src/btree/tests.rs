//! The tree against a sorted map, and its own invariants.

use super::*;
use crate::range::{Direction, KeyRange};
use crate::record::{Stamp, VersionPtr};
use crate::retired::{Garbage, Retired};
use crossbeam_epoch as epoch;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use types::Timestamp;

fn record(key: &[u8]) -> RecordPtr {
    RecordPtr::new_primary(key, VersionPtr::new(Stamp::at(Timestamp(1)), Some(b""), None))
}

struct Tested {
    writer: TreeWriter,
    retired: Retired,
    model: BTreeSet<Vec<u8>>,
}

impl Tested {
    fn new() -> Tested {
        Tested {
            writer: TreeWriter::new(Arc::new(Tree::new(TreeKind::Primary))),
            retired: Retired::default(),
            model: BTreeSet::new(),
        }
    }

    fn insert(&mut self, key: &[u8]) {
        if self.model.insert(key.to_vec()) {
            assert!(self.writer.find(key).is_none());
            self.writer.insert(record(key));
        }
    }

    fn remove(&mut self, key: &[u8]) {
        if self.model.remove(key) {
            let found = self.writer.find(key).unwrap();
            // SAFETY: a primary record of the working tree.
            let (row, version) = unsafe { (found.ptr(), found.head().ptr()) };
            self.writer.remove(key);
            self.retired.push(Garbage::Version(version));
            self.retired.push(Garbage::Row(row));
        }
    }

    fn publish(&mut self) {
        self.writer.publish(&mut self.retired);
        // SAFETY: removed records were unlinked by the root just published.
        unsafe { self.retired.hand_over() };
    }

    /// The published tree holds what the model does, by every way of asking.
    fn check(&mut self, ranges: &[KeyRange]) {
        self.publish();
        let guard = epoch::pin();
        let tree = Arc::clone(self.writer.tree());
        check_invariants(&tree, &guard);
        assert_eq!(tree.entries(&guard), self.model.len() as u64);
        for (position, key) in self.model.iter().enumerate() {
            assert_eq!(tree.find(key, &guard).unwrap().key(), key);
            assert_eq!(tree.rank(key, &guard), position as u64);
            assert_eq!(tree.nth(position as u64, &guard).unwrap().key(), key);
        }
        assert!(tree.nth(self.model.len() as u64, &guard).is_none());
        // Keys that are there and keys that are not, more of them than go side by side.
        let mut keys: Vec<&[u8]> = self.model.iter().map(Vec::as_slice).collect();
        keys.extend([&b""[..], b"no such key", &[0xFF; 40]]);
        tree.fetch_ahead(&keys, &guard);
        for range in ranges {
            for direction in [Direction::Forward, Direction::Backward] {
                let mut found = Vec::new();
                for step in Leaves::new(&tree, range, direction, &guard) {
                    // SAFETY: found under the guard.
                    let keys = step.iter().map(|record| unsafe { record.get() }.key().to_vec());
                    match direction {
                        Direction::Forward => found.extend(keys),
                        Direction::Backward => found.extend(keys.rev()),
                    }
                }
                let mut expected: Vec<_> = self.model.iter().filter(|key| range.contains(key)).cloned().collect();
                if direction == Direction::Backward {
                    expected.reverse();
                }
                assert_eq!(found, expected, "{range:?} {direction:?}");
            }
        }
    }
}

/// Order, fences, prefixes, counts, levels.
fn check_invariants(tree: &Tree, guard: &Guard) {
    fn check(node: Node<'_>, low: Option<&[u8]>, high: Option<&[u8]>) -> u64 {
        assert!(node.entries() <= node::FANOUT);
        let inside = |key: &[u8]| low.is_none_or(|low| low <= key) && high.is_none_or(|high| key < high);
        let prefix = |key: &[u8]| node::prefix_of(node::after(key, node.skip()));
        if node.is_leaf() {
            for at in 0..node.entries() {
                let key = node.record(at).key();
                assert!(inside(key));
                assert!(at == 0 || node.record(at - 1).key() < key);
                assert_eq!(node.prefixes()[at], prefix(key));
            }
            return node.entries() as u64;
        }
        for at in 0..node.entries() {
            let begins = (at > 0).then(|| node.separator(at)).or(low);
            let ends = (at + 1 < node.entries()).then(|| node.separator(at + 1)).or(high);
            assert!(at == 0 || inside(node.separator(at)));
            assert!(at == 0 || node.prefixes()[at] == prefix(node.separator(at)));
            assert_eq!(node.child(at).level() + 1, node.level());
            assert_eq!(check(node.child(at), begins, ends), node.counts()[at]);
        }
        node.entries_below()
    }
    if let Some(root) = tree.root(guard) {
        assert!(root.entries() > 0);
        check(root, None, None);
    }
}

/// Keys that share beginnings, begin each other, and end in zeros.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(prop::sample::select(&[0u8, 1, 0xff][..]), 0..6),
        (0u32..400).prop_map(|n| n.to_be_bytes().to_vec()),
        (0u32..200).prop_map(|n| format!("a long common beginning {n}").into_bytes()),
        (0u8..3, 0u64..3, 0u16..60).prop_map(|(a, b, c)| { [&[a][..], &b.to_be_bytes(), &c.to_be_bytes()].concat() }),
    ]
}

#[derive(Debug, Clone)]
enum Action {
    Insert(Vec<u8>),
    InsertMany(u32, u32),
    Remove(Vec<u8>),
    /// Removes every n-th key of the tree.
    RemoveEvery(usize),
    Publish,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => key().prop_map(Action::Insert),
        1 => (0u32..1000, 1u32..120).prop_map(|(from, n)| Action::InsertMany(from, n)),
        3 => key().prop_map(Action::Remove),
        1 => (1usize..4).prop_map(Action::RemoveEvery),
        1 => Just(Action::Publish),
    ]
}

fn range() -> impl Strategy<Value = KeyRange> {
    (key(), prop::option::of(key())).prop_map(|(from, to)| KeyRange { from, to })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 300 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_tree_is_a_sorted_set(
        actions in prop::collection::vec(action(), 1..if cfg!(miri) { 20 } else { 200 }),
        mut ranges in prop::collection::vec(range(), 8),
    ) {
        ranges.push(KeyRange::all());
        let mut tested = Tested::new();
        for action in actions {
            match action {
                Action::Insert(key) => tested.insert(&key),
                Action::InsertMany(from, n) => (from..from + n).for_each(|n| tested.insert(&n.to_be_bytes())),
                Action::Remove(key) => tested.remove(&key),
                Action::RemoveEvery(nth) => {
                    let keys: Vec<_> = tested.model.iter().step_by(nth).cloned().collect();
                    keys.iter().for_each(|key| tested.remove(key));
                }
                Action::Publish => tested.check(&[]),
            }
        }
        tested.check(&ranges);
    }

    #[test]
    fn a_built_tree_is_one_that_can_go_on(
        keys in prop::collection::btree_set(key(), 0..if cfg!(miri) { 30 } else { 300 }),
        actions in prop::collection::vec(action(), 1..if cfg!(miri) { 10 } else { 60 }),
    ) {
        for kind in [TreeKind::Primary, TreeKind::Secondary] {
            let records: Vec<_> = keys.iter().map(|key| record(key)).collect();
            let (tree, _) = build(kind, &records);
            check_invariants(&tree, &epoch::pin());
            if kind == TreeKind::Secondary {
                // Its records are not of that kind; the tree must not free them as such.
                std::mem::forget(tree);
                continue;
            }
            let mut tested = Tested { writer: TreeWriter::new(Arc::new(tree)), model: keys.clone(), retired: Retired::default() };
            for action in &actions {
                match action {
                    Action::Insert(key) => tested.insert(key),
                    Action::Remove(key) => tested.remove(key),
                    _ => {}
                }
            }
            tested.check(&[KeyRange::all()]);
        }
    }
}

#[test]
fn a_reader_keeps_its_tree_while_the_writer_goes_on() {
    let mut tested = Tested::new();
    let count = if cfg!(miri) { 50 } else { 200 };
    let keys = || (0..count as u32).map(|n| n.to_be_bytes().to_vec());
    keys().for_each(|key| tested.insert(&key));
    tested.publish();
    let tree = Arc::clone(tested.writer.tree());
    let guard = epoch::pin();
    let all = KeyRange::all();
    let mut before = Leaves::new(&tree, &all, Direction::Forward, &guard);
    let first = before.next().unwrap().len();
    keys().for_each(|key| tested.remove(&key));
    tested.publish();
    assert_eq!(tree.entries(&guard), 0);
    assert_eq!(first + before.map(<[RecordPtr]>::len).sum::<usize>(), count);
}

#[test]
fn node_bytes_come_back_to_nothing() {
    let mut tested = Tested::new();
    let keys = if cfg!(miri) { 40 } else { 500u32 };
    for round in 0..3 {
        (0..keys).for_each(|n| tested.insert(&(n * 7919 % keys + round).to_be_bytes()));
        assert!(tested.writer.take_node_bytes() > 0);
        tested.model.clone().iter().for_each(|key| tested.remove(key));
        tested.publish();
        tested.writer.take_node_bytes();
    }
    let mut total = 0;
    (0..keys).for_each(|n| tested.insert(&n.to_be_bytes()));
    total += tested.writer.take_node_bytes();
    (0..keys).for_each(|n| tested.remove(&n.to_be_bytes()));
    total += tested.writer.take_node_bytes();
    assert_eq!(total, 0);
}
