//! Key ranges, and cursors that walk them in chunks.

use std::ops::Bound;

/// The keys `from <= key < to` of one index, as bytes; `to: None` is without end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    pub from: Vec<u8>,
    pub to: Option<Vec<u8>>,
}

impl KeyRange {
    pub fn all() -> KeyRange {
        KeyRange {
            from: Vec::new(),
            to: None,
        }
    }

    /// Every key that begins with `prefix`: an equality on the first columns of an index, or one whole key.
    pub fn prefix(prefix: &[u8]) -> KeyRange {
        KeyRange::of_prefix(prefix.to_vec())
    }

    /// As [`prefix`](Self::prefix), of bytes that need no copy.
    pub fn of_prefix(prefix: Vec<u8>) -> KeyRange {
        KeyRange {
            to: after_prefix(&prefix),
            from: prefix,
        }
    }

    /// The keys between two encoded column prefixes. A bound speaks of every key that begins with its bytes: an included upper
    /// bound takes all of them in, an excluded lower bound leaves all of them out.
    pub fn between(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> KeyRange {
        let from = match lower {
            Bound::Unbounded => Vec::new(),
            Bound::Included(prefix) => prefix.to_vec(),
            Bound::Excluded(prefix) => match after_prefix(prefix) {
                Some(from) => from,
                None => return KeyRange::empty(),
            },
        };
        let to = match upper {
            Bound::Unbounded => None,
            Bound::Included(prefix) => after_prefix(prefix),
            Bound::Excluded(prefix) => Some(prefix.to_vec()),
        };
        KeyRange { from, to }
    }

    pub fn empty() -> KeyRange {
        KeyRange {
            from: Vec::new(),
            to: Some(Vec::new()),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.to.as_ref().is_some_and(|to| *to <= self.from)
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        *key >= *self.from && self.to.as_ref().is_none_or(|to| key < &to[..])
    }
}

/// The smallest key greater than every key beginning with `prefix`; `None` when there is none.
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut after = prefix[..=last].to_vec();
    after[last] += 1;
    Some(after)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// The part of a range that a scan has still to visit. A scan narrows it as it goes, so that it may stop after any entry, hold
/// no memory of the store meanwhile, and go on later from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    rest: KeyRange,
    direction: Direction,
    finished: bool,
}

impl Cursor {
    pub fn new(range: KeyRange, direction: Direction) -> Cursor {
        let finished = range.is_empty();
        Cursor {
            rest: range,
            direction,
            finished,
        }
    }

    pub fn forward(range: KeyRange) -> Cursor {
        Cursor::new(range, Direction::Forward)
    }

    pub fn backward(range: KeyRange) -> Cursor {
        Cursor::new(range, Direction::Backward)
    }

    /// The keys not yet visited.
    pub fn rest(&self) -> &KeyRange {
        &self.rest
    }

    pub fn direction(&self) -> Direction {
        self.direction
    }

    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Moves past `key`, which has been visited.
    pub fn advance_past(&mut self, key: &[u8]) {
        match self.direction {
            Direction::Forward => {
                self.rest.from.clear();
                self.rest.from.extend_from_slice(key);
                self.rest.from.push(0);
            }
            Direction::Backward => {
                let to = self.rest.to.get_or_insert_default();
                to.clear();
                to.extend_from_slice(key);
            }
        }
        self.finished = self.rest.is_empty();
    }

    pub fn finish(&mut self) {
        self.finished = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_speak_of_prefixes() {
        let range = KeyRange::between(Bound::Excluded(b"b"), Bound::Included(b"d\xff"));
        for (key, inside) in [
            (&b"b"[..], false),
            (b"bz", false),
            (b"c", true),
            (b"d\xff\xff", true),
            (b"e", false),
        ] {
            assert_eq!(range.contains(key), inside, "{key:?}");
        }
        assert!(KeyRange::between(Bound::Excluded(b"\xff\xff"), Bound::Unbounded).is_empty());
        assert_eq!(
            KeyRange::prefix(b"\xff"),
            KeyRange {
                from: b"\xff".to_vec(),
                to: None
            }
        );
    }

    #[test]
    fn a_cursor_narrows_from_its_side() {
        let mut forward = Cursor::forward(KeyRange::prefix(b"a"));
        forward.advance_past(b"aa");
        assert!(!forward.rest().contains(b"aa") && forward.rest().contains(b"aa\0"));
        let mut backward = Cursor::backward(KeyRange::all());
        backward.advance_past(b"m");
        assert!(!backward.rest().contains(b"m") && backward.rest().contains(b"lzz"));
        backward.advance_past(b"");
        assert!(backward.is_finished());
    }
}
