//! The memory of tree nodes.
//!
//! A node is one allocation of just the capacity it needs: a header and parallel arrays. The array that a search touches lies
//! together: eight bytes of each key (after the bytes that all keys of the node share), as big-endian numbers.
//!
//! ```text
//!   leaf    │ header │ prefix 0 … n │ record 0 … n │
//!   inner   │ header │ prefix 0 … n │ child 0 … n │ separator 0 … n │ entries below child 0 … n │
//! ```
//!
//! Child `i` of an inner node holds the keys from separator `i` (inclusive) to separator `i + 1`; separator 0 is not used.
//! A node that readers can reach never changes. The writer changes [`FreshNode`]s, which nobody else has seen.

#![allow(unsafe_code)]

use crate::record::{Record, RecordPtr, prefetch};
use governor::alloc::allocate;
use governor::pages::Side;
use std::alloc::{Layout, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// Most entries of a node. With 62 a leaf is just a kilobyte, a size class of the allocator: cheap to copy, and a million rows
/// are four levels.
#[cfg(not(any(test, miri)))]
pub(super) const FANOUT: usize = 62;
/// Small in tests, so that few keys make many levels.
#[cfg(any(test, miri))]
pub(super) const FANOUT: usize = 8;
/// Below this a node is joined or levelled with its neighbour.
pub(super) const MIN_ENTRIES: usize = FANOUT / 4;
/// Two nodes that fit in this are joined.
pub(super) const JOINED_ENTRIES: usize = FANOUT * 3 / 4;

/// A header and the prefixes of a full node, and as much again of what lies behind them.
const PREFETCH_BYTES: usize = 17 * 64;

#[repr(C)]
struct Header {
    /// 0: leaf.
    level: u8,
    /// Bytes that all keys under this node share, and that the prefixes leave out.
    skip: u16,
    entries: u16,
    capacity: u16,
    /// The writer's batch that made the node; in that batch nobody else knows it.
    batch: u64,
}

/// The head of a separator: a key, or the shortest beginning of one that tells two neighbours apart. The bytes lie behind it.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Separator {
    key_bytes: u16,
}

/// Owned by the tree; freed when the last node that has it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeparatorPtr(NonNull<Separator>);

impl SeparatorPtr {
    pub(super) fn new(side: Side, key: &[u8]) -> SeparatorPtr {
        let layout = separator_layout(key.len());
        let key_bytes = u16::try_from(key.len()).expect("key lengths are checked before");
        // SAFETY: the layout holds the head and the key behind it.
        unsafe {
            let start = NonNull::new(allocate(side, layout))
                .unwrap_or_else(|| handle_alloc_error(layout))
                .cast::<Separator>();
            start.write(Separator { key_bytes });
            ptr::copy_nonoverlapping(key.as_ptr(), start.as_ptr().add(1).cast(), key.len());
            SeparatorPtr(start)
        }
    }

    /// Where it lies.
    pub(super) fn address(self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    /// # Safety
    /// The separator must stay allocated for `'g`.
    pub(super) unsafe fn key<'g>(self) -> &'g [u8] {
        // SAFETY: the caller's; separators never change, and the key lies behind the head.
        unsafe {
            let key_bytes = usize::from((*self.0.as_ptr()).key_bytes);
            std::slice::from_raw_parts(self.0.as_ptr().add(1).cast(), key_bytes)
        }
    }

    /// # Safety
    /// No node that anybody can reach has it.
    pub(crate) unsafe fn free(self) {
        // SAFETY: the caller's; the layout is the one of its allocation.
        unsafe {
            let layout = separator_layout(self.key().len());
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }

    pub(super) fn bytes(key_bytes: usize) -> usize {
        crate::memory::allocated(separator_layout(key_bytes).size())
    }
}

fn separator_layout(key_bytes: usize) -> Layout {
    Layout::from_size_align(size_of::<Separator>() + key_bytes, align_of::<Separator>()).expect("keys are short")
}

/// A node as the tree's links have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct NodePtr(NonNull<Header>);

// SAFETY: nodes that others can reach never change; freeing is deferred by epochs.
unsafe impl Send for NodePtr {}

impl NodePtr {
    pub(super) fn from_raw(raw: *mut ()) -> Option<NodePtr> {
        NonNull::new(raw.cast()).map(NodePtr)
    }

    pub(super) fn into_raw(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    /// # Safety
    /// The node must stay allocated, and not change, for `'g`.
    pub(super) unsafe fn get<'g>(self) -> Node<'g> {
        Node {
            header: self.0,
            alive: PhantomData,
        }
    }

    /// The node for changing, if it was made in this batch.
    ///
    /// # Safety
    /// The node is allocated, `batch` is its tree's current batch, and no other handle to the node is in use.
    pub(super) unsafe fn fresh(self, batch: u64) -> Option<FreshNode> {
        // SAFETY: the caller's.
        let made_in = unsafe { (*self.0.as_ptr()).batch };
        (made_in == batch).then_some(FreshNode(self.0))
    }

    /// # Safety
    /// Nobody can reach the node any more. What it refers to is not freed.
    pub(crate) unsafe fn free(self) {
        // SAFETY: the caller's; the layout is the one of its allocation.
        unsafe {
            let layout = layout((*self.0.as_ptr()).level, usize::from((*self.0.as_ptr()).capacity));
            dealloc(self.0.as_ptr().cast(), layout);
        }
    }
}

fn layout(level: u8, capacity: usize) -> Layout {
    let arrays = if level == 0 { 2 } else { 4 };
    Layout::from_size_align(size_of::<Header>() + arrays * 8 * capacity, align_of::<Header>()).expect("nodes are small")
}

/// The first eight bytes of a key, as a number that compares like them.
#[inline]
pub(crate) fn prefix_of(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

/// A key without its first `skip` bytes.
#[inline]
pub(super) fn after(key: &[u8], skip: usize) -> &[u8] {
    key.get(skip..).unwrap_or_default()
}

/// How many of the sorted numbers are below `bound`. Without branches that depend on the data.
#[inline]
fn below(sorted: &[u64], bound: u64) -> usize {
    let mut base = 0;
    let mut rest = sorted.len();
    while rest > 1 {
        let half = rest / 2;
        base = if sorted[base + half - 1] < bound {
            base + half
        } else {
            base
        };
        rest -= half;
    }
    base + usize::from(rest == 1 && sorted[base] < bound)
}

/// A node for reading.
#[derive(Clone, Copy)]
pub(super) struct Node<'g> {
    header: NonNull<Header>,
    alive: PhantomData<&'g ()>,
}

impl<'g> Node<'g> {
    fn header(self) -> &'g Header {
        // SAFETY: allocated and unchanged for 'g.
        unsafe { &*self.header.as_ptr() }
    }

    pub(super) fn ptr(self) -> NodePtr {
        NodePtr(self.header)
    }

    /// Where it lies.
    pub(super) fn address(self) -> *const u8 {
        self.header.as_ptr().cast()
    }

    pub(super) fn level(self) -> u8 {
        self.header().level
    }

    pub(super) fn is_leaf(self) -> bool {
        self.header().level == 0
    }

    pub(super) fn entries(self) -> usize {
        usize::from(self.header().entries)
    }

    pub(super) fn skip(self) -> usize {
        usize::from(self.header().skip)
    }

    pub(super) fn bytes(self) -> usize {
        crate::memory::allocated(layout(self.level(), usize::from(self.header().capacity)).size())
    }

    fn array<T>(self, number: usize) -> &'g [T] {
        const { assert!(size_of::<T>() == 8) };
        // SAFETY: the arrays lie one behind the other, `capacity` each; the first `entries` elements are initialized.
        unsafe {
            let start = self.header.as_ptr().cast::<u8>().add(size_of::<Header>());
            let array = start.add(number * 8 * usize::from(self.header().capacity));
            std::slice::from_raw_parts(array.cast::<T>(), self.entries())
        }
    }

    #[inline]
    pub(super) fn prefixes(self) -> &'g [u64] {
        self.array(0)
    }

    /// Of a leaf.
    #[inline]
    pub(super) fn records(self) -> &'g [RecordPtr] {
        debug_assert!(self.is_leaf());
        self.array(1)
    }

    /// Of an inner node.
    #[inline]
    pub(super) fn children(self) -> &'g [NodePtr] {
        debug_assert!(!self.is_leaf());
        self.array(1)
    }

    /// Of an inner node; the first is not used.
    #[inline]
    pub(super) fn separators(self) -> &'g [Option<SeparatorPtr>] {
        debug_assert!(!self.is_leaf());
        self.array(2)
    }

    /// Of an inner node: how many leaf entries each child has below it.
    pub(super) fn counts(self) -> &'g [u64] {
        debug_assert!(!self.is_leaf());
        self.array(3)
    }

    pub(super) fn record(self, at: usize) -> Record<'g> {
        // SAFETY: records live at least as long as the leaves that have them.
        unsafe { self.records()[at].get() }
    }

    /// Asks the processor to load what a search will touch, all lines at once: one wait instead of one for each step of the search.
    #[inline(always)]
    pub(super) fn prefetch(self) {
        let start = self.header.as_ptr().cast::<u8>();
        for line in 0..PREFETCH_BYTES / 64 {
            prefetch(start.wrapping_add(line * 64));
        }
    }

    pub(super) fn child(self, at: usize) -> Node<'g> {
        // SAFETY: children live at least as long as their parents.
        unsafe { self.children()[at].get() }
    }

    /// The key where child `at` begins, `at > 0`.
    pub(super) fn separator(self, at: usize) -> &'g [u8] {
        let separator = self.separators()[at].expect("every child but the first has a separator");
        // SAFETY: separators live at least as long as the nodes that have them.
        unsafe { separator.key() }
    }

    /// All entries under this node.
    pub(super) fn entries_below(self) -> u64 {
        if self.is_leaf() {
            self.entries() as u64
        } else {
            self.counts().iter().sum()
        }
    }

    /// Of a leaf: the position of the first entry whose key is not below `key`, and whether it is `key`.
    #[inline]
    pub(super) fn find(self, key: &[u8]) -> (usize, bool) {
        let prefix = prefix_of(after(key, self.skip()));
        let prefixes = self.prefixes();
        let mut low = below(prefixes, prefix);
        let mut high = low;
        while high < prefixes.len() && prefixes[high] == prefix {
            high += 1;
        }
        while low < high {
            let middle = (low + high) / 2;
            match self.record(middle).key().cmp(key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return (middle, true),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        (low, false)
    }

    /// Of a leaf: the record that has `key`, most likely: nothing but the node is looked at.
    #[inline]
    pub(super) fn candidate(self, key: &[u8]) -> Option<Record<'g>> {
        let prefix = prefix_of(after(key, self.skip()));
        let at = below(self.prefixes(), prefix);
        (self.prefixes().get(at) == Some(&prefix)).then(|| self.record(at))
    }

    /// Of an inner node: the child that has `key`, if any.
    #[inline]
    pub(super) fn route(self, key: &[u8]) -> usize {
        let prefix = prefix_of(after(key, self.skip()));
        let prefixes = &self.prefixes()[1..];
        let mut low = below(prefixes, prefix);
        let mut high = low;
        while high < prefixes.len() && prefixes[high] == prefix {
            high += 1;
        }
        // Of the separators `low..high` (counted from 1), as many as are not above the key.
        while low < high {
            let middle = (low + high) / 2;
            if self.separator(middle + 1) <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// A node that only the writer knows, and may change.
#[derive(Debug)]
pub(super) struct FreshNode(NonNull<Header>);

impl FreshNode {
    pub(super) fn new(side: Side, level: u8, skip: usize, capacity: usize, batch: u64) -> FreshNode {
        debug_assert!(capacity <= 2 * FANOUT);
        let layout = layout(level, capacity);
        // SAFETY: the layout is not empty, and holds a header.
        unsafe {
            let start = NonNull::new(allocate(side, layout))
                .unwrap_or_else(|| handle_alloc_error(layout))
                .cast::<Header>();
            let header = Header {
                level,
                skip: skip.min(u16::MAX.into()) as u16,
                entries: 0,
                capacity: capacity as u16,
                batch,
            };
            start.as_ptr().write(header);
            FreshNode(start)
        }
    }

    pub(super) fn ptr(&self) -> NodePtr {
        NodePtr(self.0)
    }

    pub(super) fn read(&self) -> Node<'_> {
        Node {
            header: self.0,
            alive: PhantomData,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        let header = self.read().header();
        header.entries < header.capacity
    }

    /// Element `at` of array `number`.
    fn element(&mut self, number: usize, at: usize) -> *mut u64 {
        let capacity = usize::from(self.read().header().capacity);
        assert!(at < capacity);
        // SAFETY: within the allocation, as asserted; the pointer comes from the allocation's own.
        unsafe {
            self.0
                .as_ptr()
                .cast::<u8>()
                .add(size_of::<Header>())
                .cast::<u64>()
                .add(number * capacity + at)
        }
    }

    fn set_entries(&mut self, entries: usize) {
        // SAFETY: nobody else knows the node.
        unsafe { (*self.0.as_ptr()).entries = entries as u16 };
    }

    fn arrays(&self) -> usize {
        if self.read().is_leaf() { 2 } else { 4 }
    }

    /// Makes room at position `at`.
    fn shift_up(&mut self, at: usize) {
        let entries = self.read().entries();
        assert!(self.has_room() && at <= entries);
        for number in 0..self.arrays() {
            let from = self.element(number, at.min(entries.saturating_sub(1)));
            // SAFETY: `entries - at` elements move up by one, and there is room for one more.
            unsafe { ptr::copy(from, from.add(1), entries - at) };
        }
        self.set_entries(entries + 1);
    }

    /// Adds an entry to a leaf.
    pub(super) fn insert_record(&mut self, at: usize, prefix: u64, record: RecordPtr) {
        self.shift_up(at);
        // SAFETY: `at` is below the number of entries now.
        unsafe {
            self.element(0, at).write(prefix);
            self.element(1, at).cast::<RecordPtr>().write(record);
        }
    }

    /// Puts another record in the place of one with the same key.
    pub(super) fn set_record(&mut self, at: usize, record: RecordPtr) {
        assert!(self.read().is_leaf() && at < self.read().entries());
        // SAFETY: as asserted.
        unsafe { self.element(1, at).cast::<RecordPtr>().write(record) };
    }

    /// Adds a child to an inner node; the first has no separator.
    pub(super) fn insert_child(
        &mut self,
        at: usize,
        child: NodePtr,
        separator: Option<SeparatorPtr>,
        entries_below: u64,
    ) {
        self.shift_up(at);
        self.set_child(at, child, entries_below);
        self.set_separator(at, separator);
    }

    pub(super) fn set_child(&mut self, at: usize, child: NodePtr, entries_below: u64) {
        assert!(at < self.read().entries());
        // SAFETY: as asserted.
        unsafe {
            self.element(1, at).cast::<NodePtr>().write(child);
            self.element(3, at).write(entries_below);
        }
    }

    /// Takes an entry out.
    pub(super) fn remove(&mut self, at: usize) {
        let entries = self.read().entries();
        assert!(at < entries);
        for number in 0..self.arrays() {
            let to = self.element(number, at);
            // SAFETY: the elements behind `at` move down by one.
            unsafe { ptr::copy(to.add(1), to, entries - at - 1) };
        }
        self.set_entries(entries - 1);
    }

    /// Appends entries of another node of the same level; prefixes are made anew if the nodes skip differently.
    pub(super) fn append(&mut self, from: Node<'_>, range: std::ops::Range<usize>) {
        let at = self.read().entries();
        let (skip, level) = (self.read().skip(), self.read().level());
        let capacity = usize::from(self.read().header().capacity);
        assert!(range.end <= from.entries() && at + range.len() <= capacity && level == from.level());
        if range.is_empty() {
            return;
        }
        let source_capacity = usize::from(from.header().capacity);
        for number in 0..self.arrays() {
            let to = self.element(number, at);
            // SAFETY: the source range is initialized, the target range lies within the capacity, the nodes are different.
            unsafe {
                let source = from.header.as_ptr().cast::<u8>().add(size_of::<Header>()).cast::<u64>();
                ptr::copy_nonoverlapping(source.add(number * source_capacity + range.start), to, range.len());
            }
        }
        if skip != from.skip() {
            for (offset, position) in range.clone().enumerate() {
                let key = match level {
                    0 => from.record(position).key(),
                    _ if position == 0 => continue,
                    _ => from.separator(position),
                };
                let prefix = prefix_of(after(key, skip));
                // SAFETY: within the range copied above.
                unsafe { self.element(0, at + offset).write(prefix) };
            }
        }
        self.set_entries(at + range.len());
    }

    /// Gives child `at` another separator; the first has none.
    pub(super) fn set_separator(&mut self, at: usize, separator: Option<SeparatorPtr>) {
        debug_assert_eq!(at == 0, separator.is_none());
        let skip = self.read().skip();
        assert!(at < self.read().entries());
        // SAFETY: as asserted; a separator handed in is alive.
        unsafe {
            let prefix = separator.map_or(0, |separator| prefix_of(after(separator.key(), skip)));
            self.element(0, at).write(prefix);
            self.element(2, at).cast::<Option<SeparatorPtr>>().write(separator);
        }
    }
}
