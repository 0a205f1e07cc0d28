//! Collections of any size, without a long step in them.
//!
//! To drop a million rows, or to give a hash table twice the room, takes a standard collection tens of milliseconds in one go. Here
//! it is done in steps, and the statement gives way between two: [`Stepwise`] around a collection that is dropped so, [`Map`] and
//! [`Set`] of many small tables, each of which grows by itself.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::{Deref, DerefMut};
use std::vec;

use hashbrown::{HashTable, hash_table};

use crate::{current, large};

/// Elements that are dropped between two looks at the clock.
const STEP: usize = 32;

/// So few are dropped sooner than they are handed to another thread.
const FEW: usize = 256;

/// A collection that can be emptied in steps.
pub trait Emptied: Default + Send + 'static {
    /// Drops all elements; gives way, and is finished all the same. Where the statement was told to end, many are left to the reaper
    /// ([`large`]): the client waits for its answer. One that has taken too much memory drops them itself, before it can take more: all
    /// threads together would outrun the reaper.
    fn empty(&mut self);
}

/// Drops what is left of the elements; see [`Emptied::empty`].
fn drop_in_steps<I: ExactSizeIterator + Default + Send + 'static>(elements: &mut I) {
    if !std::mem::needs_drop::<I::Item>() {
        return;
    }
    let is_left_behind = |elements: &I| elements.len() > FEW && large::has_reaper() && current::is_interrupted();
    let mut in_step = 0;
    let mut may_have_ended = true;
    loop {
        if may_have_ended && is_left_behind(elements) {
            return large::drop_for_session(std::mem::take(elements));
        }
        if elements.next().is_none() {
            return;
        }
        in_step = (in_step + 1) % STEP;
        may_have_ended = in_step == 0 && current::gave_way();
    }
}

impl<T: Send + 'static> Emptied for Vec<T> {
    fn empty(&mut self) {
        drop_in_steps(&mut std::mem::take(self).into_iter());
    }
}

impl<K: Send + 'static, V: Send + 'static> Emptied for BTreeMap<K, V> {
    fn empty(&mut self) {
        drop_in_steps(&mut std::mem::take(self).into_iter());
    }
}

/// A collection that is dropped in steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stepwise<C: Emptied>(C);

impl<C: Emptied> From<C> for Stepwise<C> {
    fn from(collection: C) -> Self {
        Stepwise(collection)
    }
}

impl<C: Emptied> Deref for Stepwise<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.0
    }
}

impl<C: Emptied> DerefMut for Stepwise<C> {
    fn deref_mut(&mut self) -> &mut C {
        &mut self.0
    }
}

impl<C: Emptied> Drop for Stepwise<C> {
    fn drop(&mut self) {
        self.0.empty();
    }
}

impl<T: Send + 'static> FromIterator<T> for Stepwise<Vec<T>> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Stepwise(elements.into_iter().collect())
    }
}

impl<T: Send + 'static> IntoIterator for Stepwise<Vec<T>> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(mut self) -> IntoIter<T> {
        IntoIter(std::mem::take(&mut self.0).into_iter())
    }
}

impl<'a, T: Send + 'static> IntoIterator for &'a Stepwise<Vec<T>> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> std::slice::Iter<'a, T> {
        self.0.iter()
    }
}

impl<'a, T: Send + 'static> IntoIterator for &'a mut Stepwise<Vec<T>> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> std::slice::IterMut<'a, T> {
        self.0.iter_mut()
    }
}

/// The elements of a vector; those that nobody takes are dropped in steps.
#[derive(Debug)]
pub struct IntoIter<T: Send + 'static>(vec::IntoIter<T>);

impl<T: Send + 'static> Iterator for IntoIter<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T: Send + 'static> ExactSizeIterator for IntoIter<T> {}

impl<T: Send + 'static> Drop for IntoIter<T> {
    fn drop(&mut self) {
        drop_in_steps(&mut self.0);
    }
}

/// Up to here one table is enough: giving it twice the room takes a few hundred microseconds.
const ALONE_MAX: usize = 4096;
/// Tables of a larger map. Ten million entries are forty thousand to a table.
const TABLES: usize = 256;

/// A hash map of many tables. Entries keep their hashes, so that a table grows without a look at its keys.
#[derive(Clone)]
pub struct Map<K: Send + 'static, V: Send + 'static> {
    tables: Vec<HashTable<Entry<K, V>>>,
    len: usize,
    hasher: RandomState,
}

#[derive(Clone)]
struct Entry<K, V> {
    hash: u64,
    key: K,
    value: V,
}

impl<K: Send + 'static, V: Send + 'static> Default for Map<K, V> {
    fn default() -> Self {
        Map {
            tables: Vec::new(),
            len: 0,
            hasher: RandomState::new(),
        }
    }
}

impl<K: Send + 'static, V: Send + 'static> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Map of {} entries", self.len)
    }
}

/// The place of a hash's table. The tables themselves use the lowest and the seven highest bits.
fn table_of(hash: u64, tables: usize) -> usize {
    match tables {
        TABLES => (hash >> 44) as usize % TABLES,
        _ => 0,
    }
}

impl<K: Hash + Eq + Send + 'static, V: Send + 'static> Map<K, V> {
    pub fn new() -> Self {
        Map::default()
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let table = self.tables.get(table_of(hash, self.tables.len()))?;
        let entry = table.find(hash, |entry| entry.key.borrow() == key)?;
        Some(&entry.value)
    }

    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let count = self.tables.len();
        let table = self.tables.get_mut(table_of(hash, count))?;
        let entry = table.find_mut(hash, |entry| entry.key.borrow() == key)?;
        Some(&mut entry.value)
    }

    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The value of a key, which is made where there is none.
    pub fn or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let hash = self.hasher.hash_one(&key);
        self.make_room();
        let count = self.tables.len();
        let entry = self.tables[table_of(hash, count)].entry(hash, |entry| entry.key == key, |entry| entry.hash);
        match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => &mut entry.into_mut().value,
            hashbrown::hash_table::Entry::Vacant(entry) => {
                self.len += 1;
                let value = make();
                &mut entry.insert(Entry { hash, key, value }).into_mut().value
            }
        }
    }

    /// Sets the value of a key; returns the one before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let mut new = Some(value);
        let place = self.or_insert_with(key, || new.take().expect("made once"));
        new.map(|value| std::mem::replace(place, value))
    }

    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let hash = self.hasher.hash_one(key);
        let count = self.tables.len();
        let table = self.tables.get_mut(table_of(hash, count))?;
        let entry = table.find_entry(hash, |entry| entry.key.borrow() == key).ok()?;
        self.len -= 1;
        Some(entry.remove().0.value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let entries = self.tables.iter().flatten();
        entries.map(|entry| (&entry.key, &entry.value))
    }

    fn make_room(&mut self) {
        if self.tables.is_empty() {
            self.tables.push(HashTable::new());
        }
        if self.tables.len() == 1 && self.len >= ALONE_MAX {
            let alone = std::mem::take(&mut self.tables[0]);
            self.tables.resize_with(TABLES, HashTable::new);
            for entry in alone {
                self.tables[table_of(entry.hash, TABLES)].insert_unique(entry.hash, entry, |entry| entry.hash);
            }
        }
    }
}

impl<K: Send + 'static, V: Send + 'static> Map<K, V> {
    /// Drops all entries, in steps.
    pub fn clear(&mut self) {
        drop_in_steps(&mut Entries {
            left: std::mem::take(&mut self.len),
            tables: std::mem::take(&mut self.tables).into_iter(),
            table: hash_table::IntoIter::default(),
        });
    }
}

impl<K: Send + 'static, V: Send + 'static> Drop for Map<K, V> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The entries of a map, which are dropped.
struct Entries<K, V> {
    left: usize,
    tables: vec::IntoIter<HashTable<Entry<K, V>>>,
    table: hash_table::IntoIter<Entry<K, V>>,
}

impl<K, V> Default for Entries<K, V> {
    fn default() -> Self {
        Entries {
            left: 0,
            tables: vec::IntoIter::default(),
            table: hash_table::IntoIter::default(),
        }
    }
}

impl<K, V> Iterator for Entries<K, V> {
    type Item = Entry<K, V>;

    fn next(&mut self) -> Option<Entry<K, V>> {
        loop {
            if let Some(entry) = self.table.next() {
                self.left -= 1;
                return Some(entry);
            }
            self.table = self.tables.next()?.into_iter();
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K, V> ExactSizeIterator for Entries<K, V> {}

/// A hash set of many tables.
#[derive(Debug, Clone)]
pub struct Set<T: Send + 'static>(Map<T, ()>);

impl<T: Send + 'static> Default for Set<T> {
    fn default() -> Self {
        Set(Map::default())
    }
}

impl<T: Hash + Eq + Send + 'static> Set<T> {
    pub fn new() -> Self {
        Set::default()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains<Q: Hash + Eq + ?Sized>(&self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(value)
    }

    /// Whether the value was not there.
    pub fn insert(&mut self, value: T) -> bool {
        self.0.insert(value, ()).is_none()
    }

    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, value: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(value).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interrupt, Runner, probe};
    use std::cell::Cell;
    use std::collections::HashMap;

    #[derive(Default)]
    struct Yields(Cell<usize>);

    impl Runner for Yields {
        fn yield_now(&self) {
            self.0.set(self.0.get() + 1);
        }

        fn interrupted(&self) -> Option<Interrupt> {
            None
        }
    }

    /// How often something gives way.
    fn yields<R>(work: impl FnOnce() -> R) -> usize {
        let runner = Yields::default();
        probe::under(&runner, work);
        runner.0.get()
    }

    #[test]
    fn what_is_large_is_dropped_in_steps() {
        let rows = || -> Vec<Vec<u8>> { (0..1000).map(|n| vec![n as u8]).collect() };
        let steps = 1000 / STEP;
        assert!(yields(|| drop(Stepwise::from(rows()))) >= steps);
        assert!(yields(|| Stepwise::from(rows()).into_iter().nth(10)) >= steps - 1);
        let map = |n: usize| (n, vec![n]);
        assert!(yields(|| drop(Stepwise::from((0..1000).map(map).collect::<BTreeMap<_, _>>()))) >= steps);
        let kept: Vec<Vec<u8>> = Stepwise::from(rows()).into_iter().collect();
        assert_eq!(kept, rows());
    }

    #[test]
    fn a_map_is_one_at_every_size() {
        let mut map = Map::new();
        let mut model = HashMap::new();
        let count = 3 * ALONE_MAX as u64;
        for n in 0..count {
            let key = format!("{}", n.wrapping_mul(7) % (count / 2));
            assert_eq!(map.insert(key.clone(), n), model.insert(key, n));
            assert_eq!(map.len(), model.len());
        }
        assert!(model.iter().all(|(key, value)| map.get(key.as_str()) == Some(value)));
        assert!(map.get("none").is_none());
        assert_eq!(map.iter().count(), model.len());
        *map.or_insert_with("1".to_owned(), || 7) += 1;
        *map.get_mut("1").expect("there") += 1;
        *model.get_mut("1").expect("there") += 2;
        assert_eq!(map.remove("1"), model.remove("1"));
        assert_eq!((map.remove("1"), map.len()), (None, model.len()));
        assert!(yields(move || drop(map)) > model.len() / STEP / 2);
    }

    #[test]
    fn a_set_knows_what_is_new() {
        let mut set = Set::new();
        assert!(set.is_empty() && set.insert("a") && !set.insert("a") && set.insert("b"));
        assert!(set.contains("b") && set.remove("b") && !set.contains("b"));
        assert_eq!(set.len(), 1);
    }
}
