//! FULLTEXT indexes: which words a text has, and what becomes of them in an index.
//!
//! ```text
//!   row ── columns ── text ── tokens ── those that are indexed ── one entry for each different one
//!          (a, b)            "the", "Cat", "sat", "cat"            ⟨cat⟩ 2, ⟨sat⟩ 1       ⟨…⟩: the collation's weights
//! ```
//!
//! An entry says how often its word is in the row. Where the words stand is in the row itself: whoever looks for a phrase reads it. The
//! rules are those of InnoDB; tokens are ordered, found and counted by the collation of the columns.
//!
//! * [`tokens`]: text into words, or into pieces of a fixed number of characters;
//! * [`entries`]: a row into the keys of its entries, and back.

mod entries;
mod letters;
mod tokens;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use entries::{MAX_WORD_KEY_BYTES, MAX_WORDS, TextKeys};
pub use tokens::{Token, ngrams, words};

/// How the words of an index are found. A part of the index's definition: what the settings of the server are when it is read does not
/// change what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextRules {
    pub parser: TextParser,
    /// Whether the words of [`STOPWORDS`] are left out.
    pub stopwords: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextParser {
    /// Words of so many characters; shorter and longer ones are left out.
    Words { min: u8, max: u8 },
    /// `WITH PARSER ngram`: every piece of so many characters.
    Ngram { size: u8 },
}

impl TextRules {
    /// `innodb_ft_min_token_size`, `innodb_ft_max_token_size` and `ngram_token_size`.
    pub const MIN_CHARS: u8 = 3;
    pub const MAX_CHARS: u8 = 84;
    pub const NGRAM_CHARS: u8 = 2;

    pub const WORDS: TextRules = TextRules {
        parser: TextParser::Words {
            min: TextRules::MIN_CHARS,
            max: TextRules::MAX_CHARS,
        },
        stopwords: true,
    };

    pub const NGRAM: TextRules = TextRules {
        parser: TextParser::Ngram {
            size: TextRules::NGRAM_CHARS,
        },
        stopwords: true,
    };

    /// Whether such an index can be made.
    pub fn check(self) -> Result<(), &'static str> {
        let is_possible = match self.parser {
            TextParser::Words { min, max } => min <= max && (1..=TextRules::MAX_CHARS).contains(&max),
            TextParser::Ngram { size } => (1..=10).contains(&size),
        };
        match is_possible {
            true => Ok(()),
            false => Err("a full-text index without words"),
        }
    }

    pub fn is_ngram(self) -> bool {
        matches!(self.parser, TextParser::Ngram { .. })
    }
}

/// `INFORMATION_SCHEMA.INNODB_FT_DEFAULT_STOPWORD`, in its order.
pub const STOPWORDS: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in", "is", "it",
    "la", "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who", "will", "with", "und",
    "the", "www",
];
