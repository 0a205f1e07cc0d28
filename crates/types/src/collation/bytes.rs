//! Collations whose weights are code points, in UTF-8: the order of the bytes is the order of the characters.

use std::cmp::Ordering;

use super::CollationId;
use super::chars;
use super::key::SpaceRuns;
use crate::charset::CharsetId;

/// `text` without the spaces at its end.
pub(super) fn trim_spaces(text: &[u8]) -> &[u8] {
    let len = text.iter().rposition(|&b| b != b' ').map_or(0, |last| last + 1);
    &text[..len]
}

/// Compares as if the shorter text went on with spaces.
pub(super) fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.len().min(b.len());
    a[..common].cmp(&b[..common]).then_with(|| {
        let against_spaces = |rest: &[u8]| rest.iter().find(|&&byte| byte != b' ').map(|byte| byte.cmp(&b' '));
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
    for &byte in text {
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

/// The bytes, but for the Unicode character sets the code points: two bytes each in utf8mb3, three in utf8mb4.
pub(super) fn weight_string(collation: CollationId, text: &[u8], out: &mut Vec<u8>) {
    let width = match collation.charset() {
        CharsetId::UTF8MB4 => 3,
        CharsetId::UTF8MB3 => 2,
        _ => return out.extend_from_slice(text),
    };
    let mut at = 0;
    while at < text.len() {
        let (code, len) = chars::decode(text, at);
        out.extend_from_slice(&code.to_be_bytes()[4 - width..]);
        at += len;
    }
}
