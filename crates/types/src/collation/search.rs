//! Finding a string in a string, in time in proportion to their lengths.
//!
//! A place in the haystack that matches begins with the needle's weights; it may take more bytes than the needle, or fewer.

use memchr::memmem;

use super::rolling::Window;
use super::table::LATIN1_GERMAN2_CHARS;
use super::weights::{Family, Weights};
use super::{CollationId, chars};
use crate::charset::gb18030::Code;

/// A longer needle is looked for by fingerprint, which can pause anywhere.
const LONG_NEEDLE: usize = 64 << 10;
/// Bytes that are searched in one go.
const CHUNK: usize = 256 << 10;

pub(super) fn find(collation: CollationId, haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    if from > haystack.len() {
        return None;
    }
    if needle.is_empty() {
        return Some(from);
    }
    match collation.family() {
        Family::Bytes | Family::Utf8 => Finder::new(needle).find(haystack, from),
        Family::Weights(_) if collation == CollationId::LATIN1_GERMAN2_CI => {
            LATIN1_GERMAN2_CHARS.find(haystack, needle, from)
        }
        Family::Weights(weights) if collation == CollationId::GB18030_CHINESE_CI => {
            find_with_room(weights, haystack, needle, from)
        }
        Family::Weights(weights) => weights.find(haystack, needle, from),
        Family::Whole(whole) => whole.chars_of_find().find(haystack, needle, from),
    }
}

/// The same in gb18030, where the two cases of a letter may differ in length. As in MySQL, a place counts that has as many bytes behind it as the
/// needle has; every later one has fewer still.
fn find_with_room(weights: &Weights, haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let bytes_of = |text: &[u8]| {
        let (mut at, mut bytes) = (0, 0);
        while at < text.len() && governor::go_on() {
            let (c, len) = chars::decode(text, at);
            bytes += Code::of(c).bytes().1;
            at += len;
        }
        bytes
    };
    let at = weights.find(haystack, needle, from)?;
    (bytes_of(&haystack[at..]) >= bytes_of(needle)).then_some(at)
}

/// Finds the same bytes again and again.
pub struct Finder<'n> {
    needle: &'n [u8],
    /// None for a long needle.
    short: Option<memmem::Finder<'n>>,
}

impl<'n> Finder<'n> {
    pub fn new(needle: &'n [u8]) -> Finder<'n> {
        Finder {
            needle,
            short: (needle.len() <= LONG_NEEDLE).then(|| memmem::Finder::new(needle)),
        }
    }

    /// The offset of the first place at or after `from` where the needle stands.
    pub fn find(&self, haystack: &[u8], from: usize) -> Option<usize> {
        let Some(finder) = &self.short else {
            return find_long(haystack, self.needle, from);
        };
        let mut from = from;
        while haystack.len().checked_sub(from)? >= self.needle.len() {
            if !governor::go_on() {
                return None;
            }
            // A place in the next chunk may end behind it.
            let end = (from + CHUNK + self.needle.len() - 1).min(haystack.len());
            if let Some(at) = finder.find(&haystack[from..end]) {
                return Some(from + at);
            }
            from += CHUNK;
        }
        None
    }
}

fn find_long(haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let weight = |byte: u8| u64::from(byte) + 1;
    let mut wanted = Window::new();
    let mut window = Window::new();
    let end = from.checked_add(needle.len()).filter(|end| *end <= haystack.len())?;
    for (&byte, &of_needle) in haystack[from..end].iter().zip(needle) {
        if !governor::go_on() {
            return None;
        }
        window.enter(weight(byte));
        wanted.enter(weight(of_needle));
    }
    let mut start = from;
    loop {
        if !governor::go_on() {
            return None;
        }
        let end = start + needle.len();
        if window.shows(&wanted) && &haystack[start..end] == needle {
            return Some(start);
        }
        window.enter(weight(*haystack.get(end)?));
        window.leave(weight(haystack[start]));
        start += 1;
    }
}
