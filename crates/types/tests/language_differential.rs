//! The collations in which characters weigh together, or several times, held against a running MySQL 9.7.
//!
//! `LATSDB_MYSQL` holds the options of the `mariadb` client that reach it, as `-h127.0.0.1 -P3306 -uroot`; without it these tests pass without
//! looking. `LATSDB_COLLATIONS` chooses collations by a part of their names.

use types::CollationId;

use crate::collations::{CHARACTER, PLANES, assert_compares_as_in, is_chosen, numbers, texts, weights};
use crate::server::{ask_mysql as ask, hex};

/// The languages, and the letters that they write together or that have several weights.
const LANGUAGES: [(&str, &str); 28] = [
    ("_czech_ci", "chCHsz"),
    ("_slovak_ci", "chCHsz"),
    ("_lithuanian_ci", "chCHyY"),
    ("_danish_ci", "aAåÅe"),
    ("_spanish2_ci", "chlCHL"),
    ("_croatian_ci", "djlnžDJLNŽz"),
    ("_cs_0900_", "chCHsz"),
    ("_sk_0900_", "chCHsz"),
    ("_da_0900_", "aAåÅeø"),
    ("_nb_0900_", "aAåÅeø"),
    ("_nn_0900_", "aAåÅeø"),
    ("_es_trad_0900_", "chlCHLñ"),
    ("_hr_0900_", "djlnžDJLNŽz"),
    ("_bs_0900_", "djlnžDJLNŽz"),
    ("_sr_latn_0900_", "djlnžDJLNŽz"),
    ("_hu_0900_", "cdglnstyzCDSZ"),
    ("_et_0900_", "szSZvwõ"),
    ("_la_0900_", "ijuvIJUV"),
    ("_lt_0900_", "iyIYįj\u{307}\u{300}\u{303}\u{328}"),
    ("_lv_0900_", "iyIYgģ"),
    ("_tr_0900_", "iIıİgG"),
    // These give each character its own weights.
    ("_bg_0900_", "aAеЕж"),
    ("_mn_cyrl_0900_", "aAеЕж"),
    ("_ru_0900_", "aAеЕж"),
    ("_sv_0900_", "aAåÅvw"),
    ("_hungarian_ci", "csöőuU"),
    ("_zh_0900_", "mMn\u{304}\u{30C}阿啊中文重𠀀㐀éüa가①"),
    ("_ja_0900_", "あアぁｱかがー日本亜鷗ヽゝゞ가ж"),
];
const MARKS: &str = "\u{301}\u{30C}\0 ";

fn collations() -> impl Iterator<Item = (CollationId, &'static str)> {
    CollationId::all()
        .filter(|collation| collation.charset().is_unicode() && is_chosen(*collation))
        .filter_map(|collation| {
            let (_, letters) = LANGUAGES.iter().find(|(part, _)| collation.name().contains(part))?;
            Some((collation, *letters))
        })
}

/// MySQL has room for eight weights of a character at each level.
fn cut(collation: CollationId, weights: &str) -> String {
    if collation.name().starts_with("utf8mb4_ja") {
        return weights.to_owned();
    }
    let mut left = 9;
    let units = (0..weights.len()).step_by(4).map(|at| &weights[at..at + 4]);
    let kept = units.filter(|unit| {
        left = if *unit == "0000" { 10 } else { left };
        left -= i32::from(left > 0);
        *unit == "0000" || left > 0 || weights.len() <= 32
    });
    kept.collect()
}

fn text_of(hexadecimal: &str) -> String {
    let byte = |at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).expect("hexadecimal");
    String::from_utf8((0..hexadecimal.len()).step_by(2).map(byte).collect()).expect("UTF-8")
}

#[test]
fn every_character_weighs_and_maps_as_in_mysql() {
    for (collation, _) in collations().filter(|(collation, _)| collation.name().starts_with("utf8mb4")) {
        let mut looked_at = 0;
        for planes in PLANES {
            let Some(rows) = ask(&format!(
                "{}
                 SELECT HEX(c), HEX(WEIGHT_STRING(c COLLATE {collation})), HEX(UPPER(c COLLATE {collation})), HEX(LOWER(c COLLATE {collation}))
                 FROM (SELECT CONVERT({CHARACTER} USING utf8mb4) c FROM numbers WHERE n NOT BETWEEN 0xD800 AND 0xDFFF) t",
                numbers(planes)
            )) else {
                return;
            };
            looked_at += rows.len();
            for row in rows {
                let c = text_of(&row[0]);
                let mapped = [collation.to_upper(&c), collation.to_lower(&c)];
                assert_eq!(
                    cut(collation, &weights(collation, &c)),
                    row[1],
                    "{collation}: {}",
                    row[0]
                );
                for (ours, theirs) in mapped.iter().zip(&row[2..]) {
                    // MySQL has nothing where the other case takes more bytes.
                    let has_nothing = theirs.is_empty() && ours.len() > c.len();
                    assert!(
                        has_nothing || hex(ours.as_bytes()) == *theirs,
                        "{collation}: {}",
                        row[0]
                    );
                }
            }
        }
        assert_eq!(looked_at, 0x10_F800);
    }
}

/// All sequences of up to four letters, with and without marks among them.
#[test]
fn every_sequence_of_letters_weighs_as_in_mysql() {
    for (collation, letters) in collations() {
        let mut looked_at = 0;
        for length in 2..=4 {
            let mut alphabet = letters.to_owned() + if length < 4 { MARKS } else { "" };
            if collation.charset() == types::CharsetId::UTF8MB4 && length == 2 {
                alphabet += "bBéЁяあ中\u{345}\u{10400}";
            }
            let rows: Vec<String> = alphabet
                .chars()
                .map(|c| format!("(X'{}')", hex(c.to_string().as_bytes())))
                .collect();
            let tables: Vec<String> = (0..length).map(|i| format!("u t{i}")).collect();
            let parts: Vec<String> = (0..length).map(|i| format!("t{i}.c")).collect();
            let sequence = format!("CONCAT({})", parts.join(", "));
            let tables = tables.join(", ");
            let Some(rows) = ask(&format!(
                "WITH u (b) AS (VALUES ROW{}), v (c) AS (SELECT CONVERT(b USING utf8mb4) FROM u)
                 SELECT HEX({sequence}), HEX(WEIGHT_STRING(CONVERT({sequence} USING {}) COLLATE {collation})) FROM {}",
                rows.join(", ROW"),
                collation.charset(),
                tables.replace("u t", "v t"),
            )) else {
                return;
            };
            looked_at += rows.len();
            for row in rows {
                let text = text_of(&row[0]);
                assert_eq!(weights(collation, &text), row[1], "{collation}: {text:?}");
            }
        }
        assert!(looked_at > 1000);
    }
}

#[test]
fn comparing_matching_and_finding_is_as_in_mysql() {
    for (collation, letters) in collations() {
        let common: Vec<char> = letters.chars().collect();
        let alphabet: Vec<char> = (letters.to_owned() + MARKS + "bB%_éßæжア中").chars().collect();
        let texts = texts(320, 6, |i| if i.is_multiple_of(3) { &alphabet } else { &common });
        assert_compares_as_in(ask, collation, &texts, 4);
    }
}
