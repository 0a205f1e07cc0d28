//! The collations in which characters weigh together, or several times, held against a running MySQL 9.7.
//!
//! `LATSDB_MYSQL` holds the options of the `mariadb` client that reach it, as `-h127.0.0.1 -P3306 -uroot`; without it these tests pass without
//! looking. `LATSDB_COLLATIONS` chooses collations by a part of their names.

use std::collections::HashMap;

use types::CollationId;

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
    let chosen = std::env::var("LATSDB_COLLATIONS").unwrap_or_default();
    CollationId::all()
        .filter(|collation| collation.charset().is_unicode())
        .filter_map(move |collation| {
            let (_, letters) = LANGUAGES.iter().find(|(part, _)| collation.name().contains(part))?;
            collation.name().contains(&chosen).then_some((collation, *letters))
        })
}

fn weights(collation: CollationId, text: &str) -> String {
    let mut weights = Vec::new();
    collation.weight_string(text.as_bytes(), &mut weights);
    hex(&weights)
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

const NUMBERS: &str = "WITH RECURSIVE digits (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digits WHERE d < 255),
    numbers (n) AS (SELECT p.d * 65536 + h.d * 256 + l.d FROM digits p, digits h, digits l WHERE p.d BETWEEN";

#[test]
fn every_character_weighs_and_maps_as_in_mysql() {
    for (collation, _) in collations().filter(|(collation, _)| collation.name().starts_with("utf8mb4")) {
        let mut looked_at = 0;
        for planes in ["0 AND 0", "1 AND 3", "4 AND 9", "10 AND 16"] {
            let Some(rows) = ask(&format!(
                "{NUMBERS} {planes})
                 SELECT HEX(c), HEX(WEIGHT_STRING(c COLLATE {collation})), HEX(UPPER(c COLLATE {collation})), HEX(LOWER(c COLLATE {collation}))
                 FROM (SELECT CONVERT(CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32) USING utf8mb4) c FROM numbers
                       WHERE n NOT BETWEEN 0xD800 AND 0xDFFF) t"
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

/// Pseudo-random texts, most of them of the letters.
fn texts(letters: &str, count: usize) -> Vec<String> {
    let common: Vec<char> = letters.chars().collect();
    let alphabet: Vec<char> = (letters.to_owned() + MARKS + "bB%_éßæжア中").chars().collect();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below
    };
    let mut text = |i: usize| {
        let from = if i.is_multiple_of(3) { &alphabet } else { &common };
        (0..random(6)).map(|_| from[random(from.len())]).collect()
    };
    (0..count).map(&mut text).collect()
}

#[test]
fn comparing_matching_and_finding_is_as_in_mysql() {
    for (collation, letters) in collations() {
        let texts = texts(letters, 320);
        let rows: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(i, text)| format!("({i}, CONVERT(X'{}' USING utf8mb4))", hex(text.as_bytes())))
            .collect();
        let charset = collation.charset();
        let Some(rows) = ask(&format!(
            "CREATE DATABASE IF NOT EXISTS coll_differential; USE coll_differential;
             CREATE TEMPORARY TABLE t (i INT, s VARCHAR(20) CHARACTER SET {charset} COLLATE {collation});
             CREATE TEMPORARY TABLE u LIKE t;
             INSERT INTO t VALUES {}; INSERT INTO u SELECT * FROM t;
             SELECT a.i, b.i, STRCMP(a.s, b.s), a.s LIKE b.s, INSTR(a.s, b.s) FROM t a JOIN u b;",
            rows.join(", ")
        )) else {
            return;
        };
        assert_eq!(rows.len(), texts.len() * texts.len());
        let mut seen = HashMap::new();
        for row in rows {
            let [i, j, order, like, place] = std::array::from_fn(|i| row[i].parse::<i64>().expect("a number"));
            let (a, b) = (&texts[i as usize], &texts[j as usize]);
            let found = collation
                .find(a.as_bytes(), b.as_bytes(), 0)
                .map_or(0, |at| collation.char_count(&a.as_bytes()[..at]) as i64 + 1);
            let ours = (
                collation.compare(a.as_bytes(), b.as_bytes()) as i64,
                i64::from(collation.like(b.as_bytes(), a.as_bytes(), Some('\\'))),
                found,
            );
            assert_eq!(ours, (order, like, place), "{collation}: {a:?} and {b:?}");
            *seen.entry((order, like)).or_insert(0) += 1;
        }
        assert!(seen.len() >= 4, "the texts are too much alike: {seen:?}");
    }
}
