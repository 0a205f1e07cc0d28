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

/// What undoes a multiplication by the base of windows: the power of it that is by two less than the prime.
static INVERSE: LazyLock<u64> = LazyLock::new(|| {
    let (mut inverse, mut square) = (1, BASES[0]);
    for bit in 0..61 {
        if (PRIME - 2) >> bit & 1 != 0 {
            inverse = multiply(inverse, square);
        }
        square = multiply(square, square);
    }
    inverse
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

/// The fingerprint of a sequence that is put together from pieces, or taken apart.
#[derive(Clone, Copy)]
pub(super) struct Print {
    sum: u64,
    /// The base to the power of the length, and what undoes it.
    power: u64,
    inverse: u64,
}

impl Print {
    pub(super) const EMPTY: Print = Print {
        sum: 0,
        power: 1,
        inverse: 1,
    };

    /// A weight comes behind the others.
    pub(super) fn enter(&mut self, weight: u64) {
        self.sum = reduce(self.sum + multiply(weight, self.power));
        self.power = multiply(self.power, BASES[0]);
        self.inverse = multiply(self.inverse, *INVERSE);
    }

    pub(super) fn followed_by(self, other: Print) -> Print {
        Print {
            sum: reduce(self.sum + multiply(other.sum, self.power)),
            power: multiply(self.power, other.power),
            inverse: multiply(self.inverse, other.inverse),
        }
    }

    /// What is left of the sequence behind one that it begins with.
    pub(super) fn without(self, beginning: Print) -> Print {
        Print {
            sum: multiply(reduce(self.sum + PRIME - beginning.sum), beginning.inverse),
            power: multiply(self.power, beginning.inverse),
            inverse: multiply(self.inverse, beginning.power),
        }
    }

    /// Whether it is that of the same sequence.
    pub(super) fn shows(self, other: Print) -> bool {
        self.sum == other.sum && self.power == other.power
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_are_put_together_and_taken_apart() {
        let of = |weights: &[u64]| {
            let mut print = Print::EMPTY;
            weights.iter().for_each(|&weight| print.enter(weight));
            print
        };
        let (whole, first, second) = (of(&[3, 1, 4, 1, 5]), of(&[3, 1]), of(&[4, 1, 5]));
        assert!(first.followed_by(second).shows(whole));
        assert!(whole.without(first).shows(second));
        assert!(whole.without(whole).shows(Print::EMPTY));
        assert!(!whole.shows(of(&[3, 1, 4, 1, 6])));
    }

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
