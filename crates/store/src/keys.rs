//! The keys of an index's entries.
//!
//! In an index over columns each row has one entry, in a full-text index one for each of its words, in a multi-valued index one for each
//! element of an array. Everything that keeps entries asks here which ones a row has, and takes as many as there are.

use types::elements::{ElementKeys, MAX_ELEMENTS};
use types::fulltext::{MAX_WORD_KEY_BYTES, MAX_WORDS, TextKeys};
use types::{EntryKeys, KeyLayout, RowLayout};

use crate::record::MAX_KEY_BYTES;

/// How an index's entries are made of rows.
#[derive(Debug, Clone)]
pub(crate) enum IndexKeys {
    Columns(KeyLayout),
    Words(TextKeys),
    Elements(ElementKeys),
}

impl IndexKeys {
    /// Of the entries' own part, without the primary key behind.
    pub(crate) fn layout(&self) -> &KeyLayout {
        match self {
            IndexKeys::Columns(layout) => layout,
            IndexKeys::Words(words) => words.layout(),
            IndexKeys::Elements(elements) => elements.layout(),
        }
    }

    /// The keys of the row's entries, in order. The row fits ([`fits`](Self::fits)).
    #[inline]
    pub(crate) fn of_row(&self, rows: &RowLayout, row: &[u8], primary_key: &[u8], keys: &mut EntryKeys) {
        keys.clear();
        match self {
            IndexKeys::Columns(layout) => keys.push(|key| {
                layout.encode_row(rows, row, key);
                key.extend_from_slice(primary_key);
            }),
            IndexKeys::Words(words) => {
                let fits = words.entries(rows, row, primary_key, keys);
                debug_assert!(fits, "rows are looked at before they are written");
            }
            IndexKeys::Elements(elements) => elements.entries(rows, row, primary_key, keys),
        }
    }

    /// Whether two states of a row surely have the same entries, as is seen without making them.
    pub(crate) fn are_same(&self, rows: &RowLayout, old: &[u8], new: &[u8]) -> bool {
        match self {
            IndexKeys::Columns(_) => false,
            IndexKeys::Words(words) => words.texts(rows, old).eq(words.texts(rows, new)),
            IndexKeys::Elements(elements) => elements.are_same(rows, old, new),
        }
    }

    /// Whether the row's keys are within the store's limits, and as many as it keeps.
    pub(crate) fn fits(&self, rows: &RowLayout, row: &[u8], primary_key: &[u8]) -> bool {
        match self {
            // Only strings make long keys, and not more than a few times their own length.
            IndexKeys::Columns(_) if primary_key.len() + row.len() < MAX_KEY_BYTES / 16 => true,
            IndexKeys::Columns(layout) => {
                let mut key = Vec::new();
                layout.encode_row(rows, row, &mut key);
                key.len() + primary_key.len() <= MAX_KEY_BYTES
            }
            IndexKeys::Words(words) => {
                let longest = MAX_WORD_KEY_BYTES + size_of::<u32>() + primary_key.len() <= MAX_KEY_BYTES;
                // A word takes a byte or more.
                let few = row.len() <= MAX_WORDS;
                longest && (few || words.count_words(rows, row).is_some())
            }
            // An element is no longer than the row, and only strings make long keys.
            IndexKeys::Elements(_) if primary_key.len() + row.len() < MAX_KEY_BYTES / 16 => true,
            IndexKeys::Elements(elements) => {
                if elements.most_entries(rows, row) > MAX_ELEMENTS {
                    return false;
                }
                let mut keys = EntryKeys::default();
                elements.entries(rows, row, primary_key, &mut keys);
                keys.iter().all(|key| key.len() <= MAX_KEY_BYTES)
            }
        }
    }

    /// No fewer entries than the row has.
    pub(crate) fn most_entries(&self, rows: &RowLayout, row: &[u8]) -> usize {
        match self {
            IndexKeys::Columns(_) => 1,
            IndexKeys::Words(words) => words.most_entries(rows, row),
            IndexKeys::Elements(elements) => elements.most_entries(rows, row),
        }
    }

    /// The length of the longest key without the primary key; `None` where rows may have keys that do not fit.
    pub(crate) fn most_bytes(&self) -> Option<usize> {
        match self {
            IndexKeys::Columns(layout) => layout.most_bytes(),
            // There may be too many of them.
            IndexKeys::Words(_) | IndexKeys::Elements(_) => None,
        }
    }

    /// Whether a column of the key is NULL: no other row's key is like that. Of an index that may be unique.
    pub(crate) fn has_null(&self, rows: &RowLayout, row: &[u8]) -> bool {
        match self {
            IndexKeys::Columns(layout) => layout.encode_row(rows, row, &mut Vec::new()),
            IndexKeys::Words(_) => false,
            IndexKeys::Elements(elements) => elements.has_null(rows, row),
        }
    }
}
