//! Contractions: characters that weigh together otherwise than one after the other, as Czech `ch` behind `h`.
//!
//! The longest sequence that the language has is one unit, from wherever the reading begins. So the weights of a character depend on what is
//! behind it, and those of a text that begins within a sequence are not the end of the weights of the whole.

use super::chars;
use super::tailored::{Tailored, u16_at};

/// The sequences of a language, each of up to four characters of the basic multilingual plane, sorted.
pub(super) struct Contractions {
    bytes: &'static [u8],
    at: usize,
    len: u16,
    /// The characters that have another one behind them in a sequence; and those that have one before them.
    leading: Members,
    trailing: Members,
}

/// A set that may hold some more characters than it has to.
struct Members {
    ascii: u128,
    /// The least and the greatest of the others.
    others: (u32, u32),
}

/// The longest sequence.
const MAX_CHARS: usize = 4;

impl Contractions {
    /// Four u16 characters, 0 behind the last; the place of the weights and their numbers.
    pub(super) const ENTRY: usize = 14;

    pub(super) const fn new(bytes: &'static [u8], at: usize, len: u16) -> Contractions {
        let mut contractions = Contractions {
            bytes,
            at,
            len,
            leading: Members::NONE,
            trailing: Members::NONE,
        };
        let mut entry = 0;
        while entry < len as usize {
            let mut i = 0;
            while i < MAX_CHARS {
                let c = contractions.member(entry, i);
                let next = if i + 1 < MAX_CHARS {
                    contractions.member(entry, i + 1)
                } else {
                    0
                };
                if next != 0 {
                    contractions.leading = contractions.leading.and(c);
                }
                if c != 0 && i > 0 {
                    contractions.trailing = contractions.trailing.and(c);
                }
                i += 1;
            }
            entry += 1;
        }
        contractions
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a sequence may begin with this character.
    #[inline]
    pub(super) const fn may_lead(&self, c: u32) -> bool {
        self.leading.may_have(c)
    }

    /// Whether the text may begin with a character that weighs together with one before it.
    pub(super) fn begins_with_mark(&self, text: &[u8]) -> bool {
        !text.is_empty() && self.trailing.may_have(chars::decode(text, 0).0)
    }

    /// The character number `i` of a sequence; 0 where it has fewer.
    const fn member(&self, entry: usize, i: usize) -> u32 {
        u16_at(self.bytes, self.at + entry * Self::ENTRY + i * 2) as u32
    }

    /// The longest sequence that begins at `at`, and how many bytes it takes.
    pub(super) fn longest(&self, text: &[u8], at: usize) -> Option<(Tailored, usize)> {
        let (mut low, mut high) = (0, usize::from(self.len));
        let (mut found, mut end) = (None, at);
        for i in 0..MAX_CHARS {
            if end >= text.len() {
                break;
            }
            let (c, len) = chars::decode(text, end);
            let members = if i == 0 { &self.leading } else { &self.trailing };
            if c == 0 || !members.may_have(c) {
                break;
            }
            end += len;
            // Between `low` and `high` the characters before are the same.
            low = self.first_from(low, high, i, c);
            high = self.first_from(low, high, i, c + 1);
            if low == high {
                break;
            }
            // One that ends here is before the longer ones.
            if i + 1 == MAX_CHARS || self.member(low, i + 1) == 0 {
                found = Some((low, end - at));
            }
        }
        let (entry, len) = found?;
        let weights = Tailored::at(self.bytes, self.at + entry * Self::ENTRY + MAX_CHARS * 2);
        Some((weights, len))
    }

    /// The first of the entries whose character number `i` is not below `c`.
    fn first_from(&self, mut low: usize, mut high: usize, i: usize, c: u32) -> usize {
        while low < high {
            let middle = (low + high) / 2;
            if self.member(middle, i) < c {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Where both texts, which are the same up to `at`, are between two units: at `at` or before it.
    pub(super) fn boundary(&self, a: &[u8], b: &[u8], mut at: usize) -> usize {
        let trails = |text: &[u8], at: usize| at < text.len() && self.trailing.may_have(chars::decode(text, at).0);
        while at > 0 && (trails(a, at) || trails(b, at)) && governor::go_on() {
            let start = chars::start_before(a, at);
            if !self.leading.may_have(chars::decode(a, start).0) {
                break;
            }
            at = start;
        }
        at
    }
}

impl Members {
    const NONE: Members = Members {
        ascii: 0,
        others: (u32::MAX, 0),
    };

    const fn and(&self, c: u32) -> Members {
        let Members { mut ascii, mut others } = *self;
        if c < 0x80 {
            ascii |= 1 << c;
        } else {
            if c < others.0 {
                others.0 = c;
            }
            if c > others.1 {
                others.1 = c;
            }
        }
        Members { ascii, others }
    }

    #[inline]
    const fn may_have(&self, c: u32) -> bool {
        match c {
            0..0x80 => self.ascii >> c & 1 != 0,
            _ => self.others.0 <= c && c <= self.others.1,
        }
    }
}
