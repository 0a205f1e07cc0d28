//! Lists of words: `information_schema.KEYWORDS` has those of MySQL 9.7, which drivers ask for to know what to quote;
//! `INNODB_FT_DEFAULT_STOPWORD` those that full-text indexes leave out.

use types::Value;
use types::fulltext::STOPWORDS;

use super::{Source, text};

/// A word a line; reserved ones are followed by `R`.
const KEYWORDS: &str = include_str!("keywords.txt");

pub fn keywords(_: &Source<'_>) -> Vec<Vec<Value>> {
    let row = |line: &str| {
        let (word, reserved) = match line.strip_suffix(" R") {
            Some(word) => (word, 1),
            None => (line, 0),
        };
        vec![text(word), Value::Int(reserved)]
    };
    KEYWORDS.lines().map(row).collect()
}

pub fn stopwords(_: &Source<'_>) -> Vec<Vec<Value>> {
    STOPWORDS.iter().map(|word| vec![text(word)]).collect()
}
