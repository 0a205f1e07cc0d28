//! Collations whose weights are code points, in UTF-8: the order of the bytes is the order of the characters.

use std::cmp::Ordering;
use std::hash::Hasher;

use governor::bulk;

use super::CollationId;
use super::chars;
use super::key::SpaceRuns;
use crate::charset::CharsetId;

/// `text` without the spaces at its end.
pub(super) fn trim_spaces(text: &[u8]) -> &[u8] {
    let mut rest = text;
    // From the end, in pieces.
    while let Some((before, piece)) = rest.split_at_checked(rest.len().saturating_sub(bulk::PIECE)) {
        if let Some(last) = piece.iter().rposition(|&b| b != b' ') {
            return &rest[..before.len() + last + 1];
        }
        rest = before;
        if before.is_empty() || !governor::go_on() {
            break;
        }
    }
    rest
}

/// How many bytes two texts have in common at the start, counted in whole pieces.
#[inline]
pub(super) fn equal_pieces(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let mut at = 0;
    while len - at > bulk::PIECE && a[at..at + bulk::PIECE] == b[at..at + bulk::PIECE] && governor::go_on() {
        at += bulk::PIECE;
    }
    at
}

/// The order of the bytes.
#[inline]
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let same = equal_pieces(a, b);
    let (a, b) = (&a[same..], &b[same..]);
    // What is cut short is not looked at to its end.
    let len = a.len().min(b.len());
    match len > bulk::PIECE {
        true => a[..bulk::PIECE].cmp(&b[..bulk::PIECE]),
        false => a.cmp(b),
    }
}

#[inline]
pub(super) fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && compare(a, b).is_eq()
}

/// Feeds the hasher.
#[inline]
pub(super) fn hash<H: Hasher>(text: &[u8], state: &mut H) {
    match text.len() <= bulk::PIECE {
        true => state.write(text),
        // Equal texts have equal pieces.
        false => bulk::pieces(text).for_each(|piece| state.write(piece)),
    }
}

/// Compares as if the shorter text went on with spaces.
pub(super) fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    compare(&a[..common], &b[..common]).then_with(|| {
        let against_spaces = |rest: &[u8]| {
            let other = bulk::pieces(rest).find_map(|piece| piece.iter().find(|&&byte| byte != b' '));
            other.map(|byte| byte.cmp(&b' '))
        };
        against_spaces(&a[common..])
            .or_else(|| against_spaces(&b[common..]).map(Ordering::reverse))
            .unwrap_or(Ordering::Equal)
    })
}

/// The space's place among the codes of a key; greater bytes move up by two to make room for its three codes.
const SPACE_RUNS: SpaceRuns = SpaceRuns::at(b' ');

pub(super) fn padded_key(text: &[u8], out: &mut Vec<u8>) {
    let text = trim_spaces(text);
    out.reserve(text.len() + 8);
    let mut spaces = 0;
    for &byte in bulk::pieces(text).flatten() {
        if byte == b' ' {
            spaces += 1;
            continue;
        }
        SPACE_RUNS.write(std::mem::take(&mut spaces), byte > b' ', out);
        // Bytes of UTF-8 are at most 0xF4.
        out.push(if byte > b' ' { byte.saturating_add(2) } else { byte });
    }
    out.push(SPACE_RUNS.end());
}

/// The bytes, but for the Unicode character sets the code points: two bytes each in those without characters beyond the basic multilingual
/// plane, three in the others.
pub(super) fn weight_string(collation: CollationId, text: &[u8], out: &mut Vec<u8>) {
    let width = match collation.charset() {
        CharsetId::UTF8MB4 | CharsetId::UTF16 | CharsetId::UTF16LE | CharsetId::UTF32 => 3,
        CharsetId::UTF8MB3 | CharsetId::UCS2 => 2,
        _ => return bulk::append(out, text),
    };
    let (mut at, mut look) = (0, bulk::PIECE);
    while at < text.len() {
        if at >= look {
            look = at + bulk::PIECE;
            bulk::make_room(out, bulk::PIECE * width);
            if !governor::go_on() {
                return;
            }
        }
        let (code, len) = chars::decode(text, at);
        out.extend_from_slice(&code.to_be_bytes()[4 - width..]);
        at += len;
    }
}
