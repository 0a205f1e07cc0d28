//! Text into tokens.

use super::letters::is_of_word;

/// A piece of a text that may be a word of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'t> {
    pub text: &'t str,
    pub chars: usize,
    /// Where it begins in the text.
    pub start: usize,
}

/// The words of a text: its longest runs of letters, marks, digits and `_`. Gives way.
pub fn words(text: &str) -> impl Iterator<Item = Token<'_>> + Clone {
    let mut chars = text.char_indices();
    std::iter::from_fn(move || {
        governor::pause();
        let (start, _) = chars.find(|&(at, c)| {
            if at % LONG_GAP == 0 {
                governor::pause();
            }
            is_of_word(c)
        })?;
        let mut count = 1;
        let mut end = text.len();
        for (at, c) in chars.by_ref() {
            if !is_of_word(c) {
                end = at;
                break;
            }
            count += 1;
            if count % LONG_GAP == 0 {
                governor::pause();
            }
        }
        Some(Token {
            text: &text[start..end],
            chars: count,
            start,
        })
    })
}

/// So many characters of one word, or of none, are looked at in one go.
const LONG_GAP: usize = 4096;

/// The pieces of `size` characters of a text, overlapping. Spaces and ASCII characters that are of no word stand between pieces, other
/// characters are parts of them. `size` is 1 or more. Gives way.
pub fn ngrams(text: &str, size: usize) -> impl Iterator<Item = Token<'_>> + Clone {
    let mut chars = text.char_indices();
    // Where the last characters began: as many as a piece has, but the last.
    let mut starts: Vec<usize> = Vec::with_capacity(size);
    std::iter::from_fn(move || {
        loop {
            governor::pause();
            let (at, c) = chars.next()?;
            if c.is_ascii() && !is_of_word(c) {
                starts.clear();
                continue;
            }
            starts.push(at);
            if starts.len() == size {
                let start = starts.remove(0);
                return Some(Token {
                    text: &text[start..at + c.len_utf8()],
                    chars: size,
                    start,
                });
            }
        }
    })
}
