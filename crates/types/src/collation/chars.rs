//! Walking UTF-8 that may not be UTF-8: a byte that starts no character counts as one U+FFFD.

use governor::bulk;

/// The character at `at` and how many bytes it takes. `at` is inside `text`.
#[inline]
pub(super) fn decode(text: &[u8], at: usize) -> (u32, usize) {
    let lead = u32::from(text[at]);
    if lead < 0x80 {
        return (lead, 1);
    }
    let tail = |i: usize| match text.get(at + i) {
        Some(&b) if b & 0xC0 == 0x80 => Some(u32::from(b & 0x3F)),
        _ => None,
    };
    let decoded = match lead {
        0xC2..=0xDF => tail(1).map(|b| ((lead & 0x1F) << 6 | b, 2)),
        0xE0..=0xEF => tail(1).zip(tail(2)).map(|(b, c)| ((lead & 0x0F) << 12 | b << 6 | c, 3)),
        0xF0..=0xF4 => tail(1)
            .zip(tail(2))
            .zip(tail(3))
            .map(|((b, c), d)| ((lead & 0x07) << 18 | b << 12 | c << 6 | d, 4)),
        _ => None,
    };
    match decoded {
        Some((code, len)) if code <= 0x10FFFF => (code, len),
        _ => (0xFFFD, 1),
    }
}

/// The offset of the character number `chars`, or the length of the text when it has fewer.
pub(super) fn offset_of(text: &[u8], chars: usize) -> usize {
    let (mut at, mut look) = (0, bulk::PIECE);
    for _ in 0..chars {
        if at >= text.len() {
            break;
        }
        if at >= look {
            look = at + bulk::PIECE;
            if !governor::go_on() {
                break;
            }
        }
        at += decode(text, at).1;
    }
    at
}

/// Whether a character may start at `at`.
#[inline]
pub(super) fn is_boundary(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|&b| (b as i8) >= -0x40)
}

/// Where the character before `at` starts. `at` is not 0, and is where one ends.
pub(super) fn start_before(text: &[u8], at: usize) -> usize {
    let first = at.saturating_sub(4);
    let starts = (first..at).filter(|&start| start + decode(text, start).1 == at);
    // Of bytes that are no character each is one.
    starts.min().unwrap_or(at - 1)
}

/// How many bytes two texts have in common at the start, counted in whole characters.
#[inline]
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let mut at = super::bytes::equal_pieces(a, b);
    // Where it ended early, no more is looked at.
    let len = len.min(at + bulk::PIECE);
    while at + 8 <= len {
        let different = word_at(a, at) ^ word_at(b, at);
        if different != 0 {
            at += (different.trailing_zeros() / 8) as usize;
            return whole_chars(a, b, at);
        }
        at += 8;
    }
    while at < len && a[at] == b[at] {
        at += 1;
    }
    whole_chars(a, b, at)
}

fn whole_chars(a: &[u8], b: &[u8], mut at: usize) -> usize {
    while !is_boundary(a, at) || !is_boundary(b, at) {
        if at == 0 {
            return 0;
        }
        at -= 1;
    }
    at
}

/// Eight bytes as a number whose lowest byte is the first.
#[inline]
pub(super) fn word_at(text: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(text[at..at + 8].try_into().expect("a slice of eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_std_decodes() {
        for c in [
            'a',
            '\u{7F}',
            '\u{80}',
            'é',
            '\u{7FF}',
            '\u{800}',
            '中',
            '\u{FFFF}',
            '😀',
            '\u{10FFFF}',
        ] {
            let text = c.to_string();
            assert_eq!(decode(text.as_bytes(), 0), (u32::from(c), text.len()));
        }
        for bad in [
            b"\x80".as_slice(),
            b"\xC3",
            b"\xE2\x82",
            b"\xF0\x9F\x98",
            b"\xFF",
            b"\xF4\x90\x80\x80",
            b"\xC3a",
        ] {
            assert_eq!(decode(bad, 0), (0xFFFD, 1));
        }
    }

    #[test]
    fn a_common_prefix_ends_between_characters() {
        assert_eq!(common_prefix("abcé".as_bytes(), "abcè".as_bytes()), 3);
        assert_eq!(common_prefix("abcdefgé".as_bytes(), "abcdefgè".as_bytes()), 7);
        assert_eq!(common_prefix("abc".as_bytes(), "abcd".as_bytes()), 3);
        assert_eq!(common_prefix("é".as_bytes(), "\u{C3}".as_bytes()), 0);
        assert_eq!(common_prefix(b"\x80\x80a", b"\x80\x80b"), 2);
    }
}
