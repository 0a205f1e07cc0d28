//! A row into the keys of its entries.
//!
//! The key of an entry is that of a word in its collation, as in an index over a column, followed by the number of times that the row has
//! it. Words that are equal in the collation are one.

use std::collections::HashMap;

use super::tokens::{Token, ngrams, words};
use super::{STOPWORDS, TextParser, TextRules};
use crate::collation::CollationId;
use crate::key::{EntryKeys, KeyLayout, KeyPart};
use crate::row::RowLayout;
use crate::sql_type::SqlType;
use crate::value::{Value, ValueRef};

/// So many different words of a row go into an index. Each is an entry, and all of a row's entries are applied in one go, in which nobody
/// else commits.
pub const MAX_WORDS: usize = 1 << 18;

/// A word with a longer key is in no index. Few are: of characters that stand for whole phrases.
pub const MAX_WORD_KEY_BYTES: usize = 4096;

/// Makes the entries of a full-text index. Made once per index definition.
#[derive(Debug, Clone)]
pub struct TextKeys {
    rules: TextRules,
    columns: Vec<usize>,
    collation: CollationId,
    /// Whether the collation tells letters of two cases apart, and is none of codes.
    is_by_case: bool,
    layout: KeyLayout,
    /// The keys of the words that are left out, sorted.
    stopwords: Vec<Vec<u8>>,
}

impl TextKeys {
    /// Of an index over these columns, which are of text and have this collation.
    pub fn new(rules: TextRules, columns: Vec<usize>, collation: CollationId) -> TextKeys {
        let word = SqlType::varchar(u32::from(TextRules::MAX_CHARS), collation).not_null();
        let times = SqlType {
            unsigned: true,
            ..SqlType::int()
        };
        let layout = KeyLayout::new(vec![
            KeyPart::ascending(0, word),
            KeyPart::ascending(1, times.not_null()),
        ]);
        let mut keys = TextKeys {
            rules,
            columns,
            collation,
            is_by_case: collation.name().ends_with("_cs"),
            layout,
            stopwords: Vec::new(),
        };
        if rules.stopwords {
            keys.stopwords = STOPWORDS.iter().map(|word| keys.word_key(word)).collect();
            keys.stopwords.sort_unstable();
        }
        keys
    }

    pub fn rules(&self) -> TextRules {
        self.rules
    }

    /// Of the entries: a word, and how often it is there.
    pub fn layout(&self) -> &KeyLayout {
        &self.layout
    }

    /// The texts of a row, column by column. NULL has none.
    pub fn texts<'r>(&'r self, rows: &'r RowLayout, row: &'r [u8]) -> impl Iterator<Item = &'r str> {
        self.columns
            .iter()
            .filter_map(move |&column| match rows.column(row, column) {
                ValueRef::Str(text) => Some(text),
                _ => None,
            })
    }

    /// All tokens of a text, also those that no index has.
    pub fn tokens<'t>(&self, text: &'t str) -> Box<dyn Iterator<Item = Token<'t>> + 't> {
        match self.rules.parser {
            TextParser::Words { .. } => Box::new(words(text)),
            TextParser::Ngram { size } => Box::new(ngrams(text, usize::from(size))),
        }
    }

    /// Whether the index has a token of that many characters and with that key.
    pub fn is_indexed(&self, token: Token<'_>, key: &[u8]) -> bool {
        let is_stopword = |key: &[u8]| self.stopwords.binary_search_by(|word| word.as_slice().cmp(key)).is_ok();
        match self.rules.parser {
            TextParser::Words { min, max } => {
                (usize::from(min)..=usize::from(max)).contains(&token.chars) && !is_stopword(key)
            }
            // One that has a stopword in it is left out.
            TextParser::Ngram { size } if token.chars == usize::from(size) => {
                self.stopwords.is_empty() || !pieces_of(token.text).any(|piece| is_stopword(&self.word_key(piece)))
            }
            TextParser::Ngram { .. } => false,
        }
    }

    /// The key that the entries of a word begin with.
    pub fn word_key(&self, word: &str) -> Vec<u8> {
        let mut key = Vec::new();
        self.write_word_key(word, &mut key);
        key
    }

    fn write_word_key(&self, word: &str, key: &mut Vec<u8>) {
        // InnoDB looks at words in lower case, unless the collation is one of codes.
        let folded;
        let word = match self.is_by_case {
            true => {
                folded = self.collation.to_lower(word);
                folded.as_str()
            }
            false => word,
        };
        self.layout.encode_refs([ValueRef::Str(word)], key);
    }

    /// What the keys of all words begin with that begin with this one.
    pub fn prefix_key(&self, word: &str) -> Vec<u8> {
        // All words are looked at.
        if self.collation.weighs_whole_texts() {
            return Vec::new();
        }
        // What the keys of longer words have in common is what the beginning adds to them; behind it are the ends of levels. No language
        // weighs these two together with what is before them.
        let mut prefix = self.word_key(word);
        prefix.pop();
        for longer in ["0", "x"] {
            let other = self.word_key(&format!("{word}{longer}"));
            let common = prefix.iter().zip(&other).take_while(|(a, b)| a == b).count();
            prefix.truncate(common);
        }
        prefix
    }

    /// Whether [`prefix_key`](Self::prefix_key) tells such words from all others. If not, those that it finds are to be looked at.
    pub fn has_exact_prefixes(&self) -> bool {
        !self.collation.has_several_levels()
    }

    /// The key of a word, and how often the row has it, of the key of an entry.
    pub fn read_entry<'k>(&self, key: &'k [u8]) -> Option<(&'k [u8], u32)> {
        let word = self.layout.end_of_parts(key, 1)?;
        match self.layout.decode_part(key, 1)? {
            Value::Int(times) => Some((&key[..word], u32::try_from(times).ok()?)),
            Value::UInt(times) => Some((&key[..word], u32::try_from(times).ok()?)),
            _ => None,
        }
    }

    /// How often a row has each of its words, by the words' keys. Gives way. `None`: it has more than [`MAX_WORDS`].
    pub fn count_words(&self, rows: &RowLayout, row: &[u8]) -> Option<HashMap<Vec<u8>, u32>> {
        let mut counts: HashMap<Vec<u8>, u32> = HashMap::new();
        let mut key = Vec::new();
        for text in self.texts(rows, row) {
            for token in self.tokens(text) {
                // What is too long is not looked at more closely.
                if token.chars > usize::from(TextRules::MAX_CHARS) {
                    continue;
                }
                key.clear();
                self.write_word_key(token.text, &mut key);
                if let Some(times) = counts.get_mut(&key) {
                    *times = times.saturating_add(1);
                } else if key.len() <= MAX_WORD_KEY_BYTES && self.is_indexed(token, &key) {
                    if counts.len() == MAX_WORDS {
                        return None;
                    }
                    counts.insert(key.clone(), 1);
                }
            }
        }
        Some(counts)
    }

    /// Adds the keys of a row's entries. Gives way. False, and some are missing: it has more than [`MAX_WORDS`] different words.
    pub fn entries(&self, rows: &RowLayout, row: &[u8], primary_key: &[u8], keys: &mut EntryKeys) -> bool {
        let Some(counts) = self.count_words(rows, row) else {
            return false;
        };
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable();
        for (word, times) in counts {
            governor::pause();
            keys.push(|key| {
                key.extend_from_slice(&word);
                self.layout.encode_part_to(1, &Value::Int(i64::from(times)), key);
                key.extend_from_slice(primary_key);
            });
        }
        true
    }

    /// No fewer entries than the row has: its tokens.
    pub fn most_entries(&self, rows: &RowLayout, row: &[u8]) -> usize {
        let texts = self.texts(rows, row);
        let most = match self.rules.parser {
            TextParser::Words { min, .. } => texts
                .map(|text| words(text).filter(|word| word.chars >= usize::from(min)).count())
                .sum::<usize>(),
            TextParser::Ngram { size } => texts.map(|text| ngrams(text, usize::from(size)).count()).sum(),
        };
        most.min(MAX_WORDS)
    }
}

/// All pieces of a short text.
fn pieces_of(text: &str) -> impl Iterator<Item = &str> {
    let starts = text.char_indices().map(|(start, _)| start);
    starts.flat_map(move |start| {
        let rest = &text[start..];
        rest.char_indices().map(move |(at, c)| &rest[..at + c.len_utf8()])
    })
}
