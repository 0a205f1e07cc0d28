//! Finding a sequence in a sequence in linear time and constant memory.
//!
//! The window over the haystack carries a fingerprint: the sum of its weights times powers of a base, modulo the prime
//! 2^61 - 1 (Karp and Rabin, "Efficient randomized pattern-matching algorithms", 1987). A weight that enters or leaves costs a
//! multiplication or two, however long the window is. Weights suit it where Knuth, Morris and Pratt's or the two-way search
//! do not: a character has several of them or none, at several levels, and a table over the needle would take many times its
//! memory.
//!
//! The base is drawn at random for each process, so nobody can make a text of false hits. Callers compare what was found.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// A prime for which the remainder needs no division.
const PRIME: u64 = (1 << 61) - 1;

fn multiply(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    reduce((wide as u64 & PRIME) + (wide >> 61) as u64)
}

fn reduce(sum: u64) -> u64 {
    if sum >= PRIME { sum - PRIME } else { sum }
}

/// A base for windows, and another for the numbers of short sequences.
static BASES: LazyLock<[u64; 2]> = LazyLock::new(|| {
    // Not near 0, where small weights would never wrap around.
    const LEAST: u64 = 1 << 32;
    let random = RandomState::new();
    ["window", "sequence"].map(|use_of| LEAST + random.hash_one(use_of) % (PRIME - LEAST))
});

/// A number for a short sequence of weights.
pub(super) struct Sequence {
    base: u64,
    number: u64,
}

impl Sequence {
    pub(super) fn new() -> Sequence {
        Sequence {
            base: BASES[1],
            number: 1,
        }
    }

    pub(super) fn add(&mut self, weight: u64) {
        self.number = reduce(multiply(self.number, self.base) + weight);
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

/// The fingerprint of a window that moves forward over a sequence of weights.
pub(super) struct Window {
    base: u64,
    sum: u64,
    /// The powers of the base at the two ends.
    first: u64,
    behind: u64,
    len: usize,
}

impl Window {
    pub(super) fn new() -> Window {
        Window {
            base: BASES[0],
            sum: 0,
            first: 1,
            behind: 1,
            len: 0,
        }
    }

    /// A weight enters at the end.
    #[inline]
    pub(super) fn enter(&mut self, weight: u64) {
        self.sum = reduce(self.sum + multiply(weight, self.behind));
        self.behind = multiply(self.behind, self.base);
        self.len += 1;
    }

    /// The first weight leaves.
    #[inline]
    pub(super) fn leave(&mut self, weight: u64) {
        self.sum = reduce(self.sum + PRIME - multiply(weight, self.first));
        self.first = multiply(self.first, self.base);
        self.len -= 1;
    }

    /// Whether the window shows what `needle`, which never moved, shows.
    #[inline]
    pub(super) fn shows(&self, needle: &Window) -> bool {
        self.len == needle.len && self.sum == multiply(needle.sum, self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_shows_the_needle_where_it_stands_and_nowhere_else() {
        let text = [3u64, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 1, 5];
        let mut needle = Window::new();
        [1, 5].iter().for_each(|&weight| needle.enter(weight));
        let mut window = Window::new();
        window.enter(text[0]);
        let found: Vec<usize> = (1..text.len())
            .filter(|&i| {
                window.enter(text[i]);
                let shown = window.shows(&needle);
                window.leave(text[i - 1]);
                shown
            })
            .collect();
        assert_eq!(found, [4, 21]);
    }
}
