//! What MySQL 9.7 lists in INNODB_FT_INDEX_CACHE for the same texts.

use super::*;
use crate::collation::CollationId;
use crate::key::EntryKeys;
use crate::row::RowLayout;
use crate::sql_type::{SqlType, TypeKind};
use crate::value::Value;

fn text(collation: CollationId) -> SqlType {
    SqlType::text(TypeKind::Text, collation)
}

/// The words of a row of texts, as often as they are there, in the order in which they first appear.
fn indexed(rules: TextRules, collation: CollationId, texts: &[&str]) -> Vec<(String, u32)> {
    let columns = vec![text(collation); texts.len()];
    let rows = RowLayout::new(&columns);
    let keys = TextKeys::new(rules, (0..texts.len()).collect(), collation);
    let values: Vec<Value> = texts.iter().map(|&text| Value::from(text.to_owned())).collect();
    let mut row = Vec::new();
    rows.encode(&values, &mut row);
    let mut entries = EntryKeys::default();
    assert!(keys.entries(&rows, &row, b"pk", &mut entries));
    let mut found: Vec<(Vec<u8>, u32)> = Vec::new();
    for entry in entries.iter() {
        let entry = entry.strip_suffix(b"pk").unwrap();
        let (word, times) = keys.read_entry(entry).unwrap();
        found.push((word.to_vec(), times));
    }
    assert!(found.is_sorted());
    let mut shown: Vec<(String, u32)> = Vec::new();
    for token in texts.iter().flat_map(|text| keys.tokens(text)) {
        let key = keys.word_key(token.text);
        if let Some(at) = found.iter().position(|(word, _)| *word == key) {
            shown.push((token.text.to_owned(), found.remove(at).1));
        }
    }
    assert_eq!(found, [], "a word that is not in the text");
    shown
}

fn once(words: &[&str]) -> Vec<(String, u32)> {
    words.iter().map(|&word| (word.to_owned(), 1)).collect()
}

#[test]
fn words_are_runs_of_letters_and_digits() {
    let ai_ci = CollationId::UTF8MB4_0900_AI_CI;
    assert_eq!(
        indexed(TextRules::WORDS, ai_ci, &["x'y it's", "foo_bar don't über straße"]),
        once(&["foo_bar", "don", "über", "straße"])
    );
    let long = "x".repeat(84);
    assert_eq!(
        indexed(TextRules::WORDS, ai_ci, &[&format!("ab {long} {long}y the WWW 1001")]),
        once(&[&long, "1001"])
    );
}

#[test]
fn words_that_are_equal_in_the_collation_are_one() {
    let twice = |collation| indexed(TextRules::WORDS, collation, &["über ÜBER"]).len();
    assert_eq!(twice(CollationId::UTF8MB4_0900_AI_CI), 1);
    assert_eq!(twice(CollationId::UTF8MB4_0900_AS_CS), 1);
    assert_eq!(twice(CollationId::UTF8MB4_BIN), 2);
    assert_eq!(
        indexed(TextRules::WORDS, CollationId::UTF8MB4_0900_AI_CI, &["Uber", "über"]),
        [("Uber".to_owned(), 2)]
    );
    assert_eq!(
        indexed(TextRules::WORDS, CollationId::UTF8MB4_BIN, &["The the"]),
        once(&["The"])
    );
}

#[test]
fn ngrams_overlap_and_have_no_stopword_in_them() {
    assert_eq!(
        indexed(
            TextRules::NGRAM,
            CollationId::UTF8MB4_0900_AI_CI,
            &["bcde ef, xyza 中文字,国 is to—fg。hj it k"]
        ),
        once(&[
            "bc", "cd", "ef", "xy", "yz", "中文", "文字", "o—", "—f", "fg", "g。", "。h", "hj"
        ])
    );
}

#[test]
fn a_prefix_finds_the_words_that_begin_so() {
    let collations = [
        CollationId::UTF8MB4_0900_AI_CI,
        CollationId::UTF8MB4_0900_AS_CS,
        CollationId::UTF8MB4_GENERAL_CI,
        CollationId::UTF8MB4_UNICODE_CI,
        CollationId::UTF8MB4_UNICODE_520_CI,
        CollationId::UTF8MB4_BIN,
        CollationId::UTF8MB4_0900_BIN,
        CollationId::LATIN1_SWEDISH_CI,
        CollationId::ASCII_BIN,
    ];
    for collation in collations {
        let keys = TextKeys::new(TextRules::WORDS, vec![0], collation);
        let prefix = keys.prefix_key("data");
        for word in ["data", "data0", "database", "datazzz", "data_x"] {
            assert!(keys.word_key(word).starts_with(&prefix), "{collation:?} {word}");
        }
        for word in ["dat", "dataless"[..3].trim(), "datb", "datum", "eata", "da"] {
            assert!(!keys.word_key(word).starts_with(&prefix), "{collation:?} {word}");
        }
    }
}

/// Where accents count at a level of their own, what a prefix finds is looked at; elsewhere it is right as it is.
#[test]
fn a_prefix_minds_accents_as_the_collation_does() {
    let mut looked_at = 0;
    for collation in CollationId::all().filter(|collation| collation.charset().contains('é')) {
        let keys = TextKeys::new(TextRules::WORDS, vec![0], collation);
        let is_found = keys.word_key("cafés").starts_with(&keys.prefix_key("cafe"));
        let is_equal = collation.equal("cafe".as_bytes(), "café".as_bytes());
        match keys.has_exact_prefixes() {
            true => assert_eq!(is_found, is_equal, "{collation}"),
            false => {
                looked_at += 1;
                assert!(is_found || !is_equal, "{collation}");
            }
        }
    }
    assert!(looked_at > 2, "{looked_at}");
}

#[test]
fn a_row_of_too_many_words_is_refused() {
    let rows = RowLayout::new(&[text(CollationId::UTF8MB4_BIN)]);
    let keys = TextKeys::new(TextRules::WORDS, vec![0], CollationId::UTF8MB4_BIN);
    let mut words = String::new();
    for number in 0..=MAX_WORDS {
        words.push_str(&format!("{number:06} "));
    }
    let mut row = Vec::new();
    rows.encode(&[Value::from(words)], &mut row);
    let mut entries = EntryKeys::default();
    assert!(!keys.entries(&rows, &row, b"", &mut entries));
    assert_eq!((entries.len(), keys.most_entries(&rows, &row)), (0, MAX_WORDS));
}
