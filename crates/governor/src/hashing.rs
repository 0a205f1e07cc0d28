//! A fast hash function whose seed is of the system's random bytes.
//!
//! Clients choose what is hashed, and must not be able to choose what collides. The hash function's own way to a seed takes it from addresses
//! and the clock; random bytes are better, and a simulation that brings them itself sees the same order of a table each time.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use foldhash::SharedSeed;
use foldhash::fast::{FoldHasher, SeedableRandomState};

/// Each one hashes in another way.
#[derive(Debug, Clone)]
pub struct FastHashing(SeedableRandomState);

impl Default for FastHashing {
    fn default() -> FastHashing {
        static SHARED: OnceLock<SharedSeed> = OnceLock::new();
        let random = || RandomState::new().hash_one(0_u64);
        let shared = SHARED.get_or_init(|| SharedSeed::from_u64(random()));
        FastHashing(SeedableRandomState::with_seed(random(), shared))
    }
}

impl BuildHasher for FastHashing {
    type Hasher = FoldHasher<'static>;

    #[inline]
    fn build_hasher(&self) -> FoldHasher<'static> {
        self.0.build_hasher()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_hashes_alike_in_one_table_and_in_another_way_in_the_next() {
        let (one, other) = (FastHashing::default(), FastHashing::default());
        let same = one.clone();
        let keys = 0..100_u64;
        assert!(keys.clone().all(|key| one.hash_one(key) == same.hash_one(key)));
        assert!(keys.clone().all(|key| one.hash_one(key) != other.hash_one(key)));
    }
}
