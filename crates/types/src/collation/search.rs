//! Finding a string in a string.
//!
//! A place in the haystack that matches takes as many bytes as the needle, in the collation's own character set.

use std::cmp::Ordering;

use super::CollationId;
use super::chars;
use super::weights::Family;
use crate::charset::char_count;

pub(super) fn find(collation: CollationId, haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    if from > haystack.len() {
        return None;
    }
    if needle.is_empty() {
        return Some(from);
    }
    // The starts that leave room for the needle's bytes.
    let mut room = from..(haystack.len() + 1).saturating_sub(needle.len());
    match collation.family() {
        Family::Bytes | Family::Utf8 => {
            room.find(|&at| haystack[at] == needle[0] && &haystack[at..at + needle.len()] == needle)
        }
        Family::Weights(weights) => {
            let same = |at: usize, end: usize| weights.compare_unpadded(&haystack[at..end], needle) == Ordering::Equal;
            let starts = |range: std::ops::Range<usize>| range.filter(|&at| chars::is_boundary(haystack, at));
            if collation.charset().max_bytes_per_char() > 1 {
                return starts(room)
                    .find(|&at| chars::is_boundary(haystack, at + needle.len()) && same(at, at + needle.len()));
            }
            // One byte a character: as many characters as the needle has.
            let mut end = from + chars::offset_of(&haystack[from..], char_count(needle).saturating_sub(1));
            starts(from..haystack.len()).find(|&at| {
                if end >= haystack.len() {
                    return false;
                }
                end += chars::decode(haystack, end).1;
                // In bytes that are not UTF-8 the characters of the two walks may differ.
                at <= end && same(at, end)
            })
        }
    }
}
