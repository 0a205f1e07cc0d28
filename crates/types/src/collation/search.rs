//! Finding a string in a string.

use std::cmp::Ordering;

use super::CollationId;
use super::chars;
use super::weights::Family;

pub(super) fn find(collation: CollationId, haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    if from > haystack.len() || needle.len() > haystack.len() - from {
        return None;
    }
    if needle.is_empty() {
        return Some(from);
    }
    let last = haystack.len() - needle.len();
    match collation.family() {
        Family::Bytes | Family::Utf8 => {
            (from..=last).find(|&at| haystack[at] == needle[0] && &haystack[at..at + needle.len()] == needle)
        }
        Family::Weights(weights) => (from..=last).find(|&at| {
            let end = at + needle.len();
            chars::is_boundary(haystack, at)
                && chars::is_boundary(haystack, end)
                && weights.compare_unpadded(&haystack[at..end], needle) == Ordering::Equal
        }),
    }
}
