//! Long strings, in pieces.
//!
//! Whatever walks over a string that a client makes as long as it likes does so piece by piece, and gives way between two of
//! them; within one it may use the fastest loop there is. A string of one piece costs nothing.
//!
//! Two kinds: a *walk* ([`pieces`], [`text_pieces`], [`repeat`]) ends early where the statement has to, with a wrong result that the
//! caller's next [`check`](crate::check) throws away. A *copy* ([`append`], [`copy`], [`make_room`]) gives way and is finished all the same, since
//! others rely on the lengths of what it leaves.

/// Bytes of a piece: some ten microseconds of plain work, less than a millisecond of the slowest.
pub const PIECE: usize = 16 << 10;

/// A buffer longer than this moves in pieces when it grows.
const GROWS_AT_ONCE: usize = 256 << 10;

/// The pieces of a string; see [`pieces`].
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    rest: &'a [u8],
    is_first: bool,
}

/// The string piece by piece. Ends early when the statement has to end.
#[inline]
pub fn pieces(bytes: &[u8]) -> Pieces<'_> {
    Pieces {
        rest: bytes,
        is_first: true,
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() || !(std::mem::take(&mut self.is_first) || crate::go_on()) {
            return None;
        }
        let (piece, rest) = self.rest.split_at(self.rest.len().min(PIECE));
        self.rest = rest;
        Some(piece)
    }
}

/// The text piece by piece, cut between characters. Ends early when the statement has to end.
#[inline]
pub fn text_pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut is_first = true;
    std::iter::from_fn(move || {
        if rest.is_empty() || !(std::mem::take(&mut is_first) || crate::go_on()) {
            return None;
        }
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = behind;
        Some(piece)
    })
}

/// How many bytes at the beginning are such. Gives way, and is not cut short.
#[inline]
pub fn prefix_len(bytes: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    let mut len = 0;
    for piece in bytes.chunks(PIECE) {
        match piece.iter().position(|&byte| !is_such(byte)) {
            Some(at) => return len + at,
            None => len += piece.len(),
        }
        if len < bytes.len() {
            crate::pause();
        }
    }
    len
}

/// As [`prefix_len`], of the bytes at the end.
#[inline]
pub fn suffix_len(bytes: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    let mut len = 0;
    for piece in bytes.rchunks(PIECE) {
        match piece.iter().rev().position(|&byte| !is_such(byte)) {
            Some(at) => return len + at,
            None => len += piece.len(),
        }
        if len < bytes.len() {
            crate::pause();
        }
    }
    len
}

/// Appends to `out`.
#[inline]
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.len() <= PIECE && out.capacity() - out.len() >= bytes.len() {
        return out.extend_from_slice(bytes);
    }
    make_room(out, bytes.len());
    for piece in bytes.chunks(PIECE) {
        out.extend_from_slice(piece);
        crate::pause();
    }
}

/// Sees to it that `more` bytes can be appended without moving those that are there.
pub fn make_room(out: &mut Vec<u8>, more: usize) {
    if out.capacity() - out.len() >= more {
        return;
    }
    if out.len() <= GROWS_AT_ONCE {
        return out.reserve(more);
    }
    let wanted = out.len().saturating_add(more).max(out.capacity().saturating_mul(2));
    let mut larger = Vec::with_capacity(wanted);
    for piece in out.chunks(PIECE) {
        larger.extend_from_slice(piece);
        crate::pause();
    }
    *out = larger;
}

/// A copy.
#[inline]
pub fn copy(bytes: &[u8]) -> Vec<u8> {
    concat(&[bytes])
}

/// A copy.
pub fn copy_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE));
        out.push_str(piece);
        rest = behind;
        if !rest.is_empty() {
            crate::pause();
        }
    }
    out
}

/// Appends `count` times the byte.
pub fn fill(out: &mut Vec<u8>, byte: u8, count: usize) {
    make_room(out, count);
    let len = out.len() + count;
    while len - out.len() > PIECE {
        out.resize(out.len() + PIECE, byte);
        crate::pause();
    }
    out.resize(len, byte);
}

/// All parts, one behind the other.
pub fn concat(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| append(&mut out, part));
    out
}

/// `count` times the bytes. Ends early when the statement has to end.
pub fn repeat(bytes: &[u8], count: usize) -> Vec<u8> {
    let len = bytes.len() * count;
    if len <= PIECE {
        return bytes.repeat(count);
    }
    let mut out = Vec::with_capacity(len);
    let at_once = (PIECE / bytes.len()).max(1);
    let block = bytes.repeat(at_once);
    while len - out.len() >= block.len() && crate::go_on() {
        append(&mut out, &block);
    }
    let left = (len - out.len()).min(block.len());
    append(&mut out, &block[..left]);
    out
}

/// How long the beginning is that is UTF-8: all of it, where all of it is. Gives way, and is not cut short.
pub fn valid_utf8_len(bytes: &[u8]) -> usize {
    let mut done = 0;
    while bytes.len() - done > PIECE {
        // A character starts at most three bytes before the cut.
        let cut = done + PIECE;
        let end = (cut - 3..=cut)
            .rev()
            .find(|at| bytes[*at] & 0xC0 != 0x80)
            .unwrap_or(cut);
        if let Err(error) = std::str::from_utf8(&bytes[done..end]) {
            return done + error.valid_up_to();
        }
        done = end;
        crate::pause();
    }
    match std::str::from_utf8(&bytes[done..]) {
        Ok(_) => bytes.len(),
        Err(error) => done + error.valid_up_to(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe;

    #[test]
    fn pieces_are_the_whole_and_tick_between_two() {
        let text = "aé中😀".repeat(PIECE);
        let probed = probe::count(|| {
            let bytes: Vec<u8> = pieces(text.as_bytes()).flatten().copied().collect();
            let chars: String = text_pieces(&text).collect();
            (bytes == text.as_bytes(), chars == text)
        });
        assert_eq!(probed.result, (true, true));
        assert!(
            matches!(probed.ticks, 18..=20),
            "ten pieces or eleven have nine gaps or ten"
        );
        assert_eq!(probe::count(|| pieces(b"short").count()).ticks, 0);
        assert!(pieces(b"").next().is_none() && text_pieces("").next().is_none());
    }

    #[test]
    fn walks_end_early_and_copies_do_not() {
        let text = vec![b'a'; 10 * PIECE];
        let probed = probe::kill_at(2, || {
            let walked = pieces(&text).count();
            let mut out = copy(&text);
            append(&mut out, &text);
            (walked, out.len(), repeat(b"ab", text.len()).len() < text.len())
        });
        assert_eq!(probed.result, (2, 2 * text.len(), true));
    }

    #[test]
    fn repetitions_and_joins_are_what_std_makes() {
        for (bytes, count) in [
            (&b"abc"[..], 0),
            (b"abc", 7),
            (b"abc", PIECE),
            (b"", 9),
            (b"x", 3 * PIECE + 1),
        ] {
            assert_eq!(repeat(bytes, count), bytes.repeat(count));
        }
        let long = b"long".repeat(PIECE);
        assert_eq!(prefix_len(&long, |byte| byte != b'x'), long.len());
        assert_eq!(
            prefix_len(&[&long[..], b"x", &long].concat(), |byte| byte != b'x'),
            long.len()
        );
        let mut filled = vec![1];
        fill(&mut filled, 7, 2 * PIECE + 1);
        assert_eq!(filled, [&[1][..], &[7; 2 * PIECE + 1]].concat());
        let text = "é中".repeat(PIECE);
        assert_eq!(copy_text(&text), text);
        assert_eq!(concat(&[b"a", &long, b""]), [b"a", &long[..], b""].concat());
        let mut grown = long.clone();
        (0..20).for_each(|_| append(&mut grown, &long));
        assert_eq!(grown, long.repeat(21));
    }

    #[test]
    fn the_valid_beginning_is_found_wherever_the_cut_is() {
        for shift in 0..5 {
            let mut bytes = format!("{}{}", "a".repeat(shift), "😀é".repeat(PIECE)).into_bytes();
            assert_eq!(valid_utf8_len(&bytes), bytes.len());
            for bad in [PIECE - 2, PIECE, 3 * PIECE + 1] {
                let kept = std::mem::replace(&mut bytes[bad], 0xFF);
                let expected = std::str::from_utf8(&bytes)
                    .expect_err("0xFF is in no character")
                    .valid_up_to();
                assert_eq!(valid_utf8_len(&bytes), expected);
                bytes[bad] = kept;
            }
        }
        assert_eq!(valid_utf8_len(&[0x80; 3 * PIECE]), 0);
    }
}
