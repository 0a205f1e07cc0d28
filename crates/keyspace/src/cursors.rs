//! Cursors of SCAN and its kind: numbers that stand for positions in an order of keys.
//!
//! A client gets a number and comes back with it, perhaps never. Rows are ordered by their keys, which do not fit into a number, and an
//! index by a hash of them, which would, would cost every SET. So a cursor is a hash of the last key that was returned, and this table
//! remembers which key it stands for. What has been forgotten is found again: by walking the keys from the first on until one has that
//! hash. This way a cursor outlives a restart, works on another node, and nothing is kept for ever. If the key is gone, too, the walk begins
//! anew: elements may come twice, but none is left out.
//!
//! The hash is a part of SHA-256, so that nobody makes keys that stand for each other, and has as many bits as a double holds exactly, which
//! is what some clients make of it. A walk does not stop at a key whose cursor stands for another one.

use std::collections::HashMap;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Bytes of keys that are remembered, in each of two generations.
const GENERATION_BYTES: usize = 4 << 20;
/// What an entry costs beside its key.
const ENTRY_BYTES: usize = 80;
const BITS: u32 = 53;

/// What is walked: a database and, within it, the elements of an id; 0 are the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scope {
    pub db: u32,
    pub id: u64,
}

/// The cursor of a key; never 0, with which a walk begins and ends.
pub fn cursor_of(scope: Scope, key: &[u8]) -> u64 {
    let mut digest = Sha256::new();
    digest.update(scope.db.to_be_bytes());
    digest.update(scope.id.to_be_bytes());
    digest.update(key);
    let digest = digest.finalize();
    let first = digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
    (first >> (64 - BITS)).max(1)
}

/// Which keys cursors stand for. When the newer half is full it becomes the older one, which is forgotten.
#[derive(Default)]
pub struct Cursors {
    generations: Mutex<Generations>,
}

#[derive(Default)]
struct Generations {
    newer: HashMap<(Scope, u64), Vec<u8>>,
    older: HashMap<(Scope, u64), Vec<u8>>,
    newer_bytes: usize,
}

impl Generations {
    fn insert(&mut self, at: (Scope, u64), key: Vec<u8>) {
        let bytes = key.len() + ENTRY_BYTES;
        if self.newer_bytes + bytes > GENERATION_BYTES {
            self.older = std::mem::take(&mut self.newer);
            self.newer_bytes = 0;
        }
        if self.newer.insert(at, key).is_none() {
            self.newer_bytes += bytes;
        }
    }
}

impl Cursors {
    /// Remembers where a walk stops; `None`: the cursor stands for another key, so that it has to go on.
    pub fn remember(&self, scope: Scope, key: &[u8]) -> Option<u64> {
        let cursor = cursor_of(scope, key);
        let at = (scope, cursor);
        let mut generations = self.generations.lock();
        let known = generations.newer.get(&at).or_else(|| generations.older.get(&at));
        if known.is_some_and(|known| known != key) {
            return None;
        }
        if !generations.newer.contains_key(&at) {
            generations.insert(at, key.to_vec());
        }
        Some(cursor)
    }

    /// The key that a cursor stands for, if that is remembered.
    pub fn find(&self, scope: Scope, cursor: u64) -> Option<Vec<u8>> {
        let at = (scope, cursor);
        let mut generations = self.generations.lock();
        if let Some(key) = generations.newer.get(&at) {
            return Some(key.clone());
        }
        let key = generations.older.remove(&at)?;
        generations.insert(at, key.clone());
        Some(key)
    }

    /// Forgets everything, as a restart does.
    pub fn clear(&self) {
        *self.generations.lock() = Generations::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Scope = Scope { db: 0, id: 0 };

    #[test]
    fn what_is_used_stays_and_what_is_not_goes() {
        let cursors = Cursors::default();
        let used = cursors.remember(KEYS, b"used").unwrap();
        let unused = cursors.remember(KEYS, b"unused").unwrap();
        for at in 0..200_000u32 {
            cursors.remember(KEYS, &at.to_be_bytes());
            assert_eq!(cursors.find(KEYS, used).as_deref(), Some(&b"used"[..]));
        }
        assert_eq!(cursors.find(KEYS, unused), None);
        assert!(cursors.generations.lock().newer.len() <= GENERATION_BYTES / ENTRY_BYTES);
    }

    #[test]
    fn cursors_are_numbers_that_a_double_holds() {
        let all = (0..1000u32).map(|at| cursor_of(KEYS, &at.to_be_bytes()));
        assert!(all.into_iter().all(|cursor| (1..1 << 53).contains(&cursor)));
    }
}
