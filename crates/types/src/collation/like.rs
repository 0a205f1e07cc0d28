//! `LIKE`.
//!
//! The `%` of a pattern cut it into segments. What stands before the first `%` must stand at the start of the text, what
//! stands behind the last one at its end; each segment between them is looked for behind the one before it, and its first
//! place is the best, for it leaves the most to the others. A segment without `_` is found in linear time: first by trying
//! each place, and where that costs too much (`'%aaaa…b%'`), by fingerprint ([`Window`]). One with `_` is tried place by place.

use super::CollationId;
use super::chars;
use super::rolling::Window;
use super::weights::{Family, Weights};

pub(super) fn matches(collation: CollationId, pattern: &[u8], text: &[u8], escape: Option<char>) -> bool {
    let escape = escape.map(u32::from);
    // As in MySQL, LIKE does not tell hiragana from katakana.
    let collation = match collation {
        CollationId::UTF8MB4_JA_0900_AS_CS_KS => CollationId::UTF8MB4_JA_0900_AS_CS,
        other => other,
    };
    match collation.family() {
        Family::Bytes if collation == CollationId::BINARY => Matcher::new(Bytes, pattern, text, escape).matches(),
        Family::Bytes | Family::Utf8 => Matcher::new(Codes, pattern, text, escape).matches(),
        Family::Weights(weights) => Matcher::new(weights, pattern, text, escape).matches(),
        Family::Whole(whole) => match whole.chars_of_like() {
            Some(weights) => Matcher::new(weights, pattern, text, escape).matches(),
            None => Matcher::new(Codes, pattern, text, escape).matches(),
        },
    }
}

/// How text falls into characters, and which of them are the same.
trait Alphabet {
    /// The character at `at` and its length in bytes.
    fn decode(&self, text: &[u8], at: usize) -> (u32, usize);

    fn same(&self, a: u32, b: u32) -> bool {
        a == b
    }

    /// A number that the same characters share, and others hardly.
    fn class(&self, c: u32) -> u64 {
        u64::from(c) + 1
    }
}

struct Bytes;

impl Alphabet for Bytes {
    fn decode(&self, text: &[u8], at: usize) -> (u32, usize) {
        (u32::from(text[at]), 1)
    }
}

struct Codes;

impl Alphabet for Codes {
    fn decode(&self, text: &[u8], at: usize) -> (u32, usize) {
        chars::decode(text, at)
    }
}

impl Alphabet for &'static Weights {
    fn decode(&self, text: &[u8], at: usize) -> (u32, usize) {
        chars::decode(text, at)
    }

    fn same(&self, a: u32, b: u32) -> bool {
        a == b || self.same_char(a, b)
    }

    fn class(&self, c: u32) -> u64 {
        self.char_class(c)
    }
}

/// One step of a pattern.
#[derive(Clone, Copy)]
enum Step {
    AnyString,
    AnyChar,
    Char(u32),
}

/// The steps between two `%`.
struct Segment {
    /// Where it begins in the pattern.
    from: usize,
    chars: usize,
    has_any_char: bool,
    /// Behind the `%` that ends it; none at the end of the pattern.
    next: Option<usize>,
}

struct Matcher<'a, A> {
    alphabet: A,
    pattern: &'a [u8],
    text: &'a [u8],
    escape: Option<u32>,
}

impl<'a, A: Alphabet> Matcher<'a, A> {
    fn new(alphabet: A, pattern: &'a [u8], text: &'a [u8], escape: Option<u32>) -> Matcher<'a, A> {
        Matcher {
            alphabet,
            pattern,
            text,
            escape,
        }
    }

    fn matches(&self) -> bool {
        let head = self.segment(0);
        let Some(mut at) = self.at_place(&head, 0) else {
            return false;
        };
        let mut next = head.next;
        while let Some(from) = next {
            let segment = self.segment(from);
            next = segment.next;
            if segment.chars == 0 {
                if next.is_none() {
                    return true;
                }
                continue;
            }
            let found = match next {
                Some(_) => self.find(&segment, at),
                None => self
                    .last_chars(segment.chars, at)
                    .and_then(|at| self.at_place(&segment, at)),
            };
            match found {
                Some(end) => at = end,
                None => return false,
            }
        }
        at == self.text.len()
    }

    /// The step at an offset of the pattern, and the offset behind it.
    fn step_at(&self, at: usize) -> (Step, usize) {
        let (c, len) = self.alphabet.decode(self.pattern, at);
        let next = at + len;
        if Some(c) == self.escape && next < self.pattern.len() {
            let (c, len) = self.alphabet.decode(self.pattern, next);
            return (Step::Char(c), next + len);
        }
        let step = match char::from_u32(c) {
            Some('%') => Step::AnyString,
            Some('_') => Step::AnyChar,
            _ => Step::Char(c),
        };
        (step, next)
    }

    fn segment(&self, from: usize) -> Segment {
        let mut segment = Segment {
            from,
            chars: 0,
            has_any_char: false,
            next: None,
        };
        let mut at = from;
        while at < self.pattern.len() {
            let (step, next) = self.step_at(at);
            at = next;
            match step {
                Step::AnyString => {
                    segment.next = Some(next);
                    break;
                }
                Step::AnyChar => segment.has_any_char = true,
                Step::Char(_) => {}
            }
            segment.chars += 1;
        }
        segment
    }

    /// Where the segment ends in the text when it begins at `at`.
    fn at_place(&self, segment: &Segment, at: usize) -> Option<usize> {
        self.try_place(segment, at).ok()
    }

    /// As [`at_place`](Self::at_place); the error is how many characters were compared.
    fn try_place(&self, segment: &Segment, mut at: usize) -> Result<usize, usize> {
        let mut in_pattern = segment.from;
        for compared in 0..segment.chars {
            if at >= self.text.len() || !governor::go_on() {
                return Err(compared);
            }
            let (step, next) = self.step_at(in_pattern);
            let (found, len) = self.alphabet.decode(self.text, at);
            match step {
                Step::Char(wanted) if found != wanted && !self.alphabet.same(found, wanted) => return Err(compared + 1),
                _ => {}
            }
            (at, in_pattern) = (at + len, next);
        }
        Ok(at)
    }

    /// Where the last `chars` characters of the text begin, at `at` or behind it.
    fn last_chars(&self, chars: usize, at: usize) -> Option<usize> {
        let mut left = 0usize;
        let mut end = at;
        while end < self.text.len() {
            if !governor::go_on() {
                return None;
            }
            end += self.alphabet.decode(self.text, end).1;
            left += 1;
        }
        let mut start = at;
        for _ in 0..left.checked_sub(chars)? {
            if !governor::go_on() {
                return None;
            }
            start += self.alphabet.decode(self.text, start).1;
        }
        Some(start)
    }

    /// The end of the segment's first place at or behind `at`.
    fn find(&self, segment: &Segment, mut at: usize) -> Option<usize> {
        /// Comparisons for each place tried that are fewer than the fingerprint costs.
        const CHEAP: usize = 8;
        let (mut tried, mut compared) = (1usize, 0);
        while at < self.text.len() {
            match self.try_place(segment, at) {
                Ok(end) => return Some(end),
                Err(steps) => compared += steps,
            }
            if !segment.has_any_char && compared > CHEAP * (tried + segment.chars) {
                return self.find_by_fingerprint(segment, at);
            }
            at += self.alphabet.decode(self.text, at).1;
            tried += 1;
            if !governor::go_on() {
                return None;
            }
        }
        None
    }

    fn find_by_fingerprint(&self, segment: &Segment, at: usize) -> Option<usize> {
        let mut wanted = Window::new();
        let mut window = Window::new();
        let (mut start, mut end, mut in_pattern) = (at, at, segment.from);
        for _ in 0..segment.chars {
            if end >= self.text.len() {
                return None;
            }
            if let (Step::Char(c), next) = self.step_at(in_pattern) {
                wanted.enter(self.alphabet.class(c));
                in_pattern = next;
            }
            let (c, len) = self.alphabet.decode(self.text, end);
            window.enter(self.alphabet.class(c));
            end += len;
        }
        loop {
            if !governor::go_on() {
                return None;
            }
            if window.shows(&wanted)
                && let Some(end) = self.at_place(segment, start)
            {
                return Some(end);
            }
            if end >= self.text.len() {
                return None;
            }
            let (first, len) = self.alphabet.decode(self.text, start);
            window.leave(self.alphabet.class(first));
            start += len;
            let (c, len) = self.alphabet.decode(self.text, end);
            window.enter(self.alphabet.class(c));
            end += len;
        }
    }
}
