//! The collations that MySQL shares with MariaDB, held against a running MariaDB 10.11.
//!
//! `LATSDB_MARIADB` holds the options of the `mariadb` client that reach it, as `-h127.0.0.1 -P3307 -uroot`; without it these
//! tests pass without looking.

use std::collections::HashMap;

use types::{CharsetId, CollationId};

use crate::server::{ask_mariadb as ask, hex};

const SHARED: [CollationId; 14] = [
    CollationId::UTF8MB4_GENERAL_CI,
    CollationId::UTF8MB4_UNICODE_CI,
    CollationId::UTF8MB4_UNICODE_520_CI,
    CollationId::UTF8MB4_BIN,
    CollationId::LATIN1_SWEDISH_CI,
    CollationId::LATIN1_GERMAN1_CI,
    CollationId::LATIN1_DANISH_CI,
    CollationId::LATIN1_SPANISH_CI,
    CollationId::LATIN1_GENERAL_CI,
    CollationId::LATIN1_GENERAL_CS,
    CollationId::LATIN1_BIN,
    CollationId::ASCII_GENERAL_CI,
    CollationId::ASCII_BIN,
    CollationId::BINARY,
];

#[test]
fn every_character_weighs_and_maps_as_in_mariadb() {
    for collation in SHARED.into_iter().filter(|&c| c != CollationId::BINARY) {
        let charset = collation.charset();
        let (last, of) = if charset == CharsetId::UTF8MB4 {
            (0x10FFFF, "utf32")
        } else {
            (0xFF, charset.name())
        };
        let width = if of == "utf32" { 8 } else { 2 };
        let last = if charset == CharsetId::ASCII { 0x7F } else { last };
        let Some(rows) = ask(&format!(
            "SELECT HEX(CONVERT(c USING utf32)), HEX(WEIGHT_STRING(c COLLATE {collation})),
                    HEX(CONVERT(UPPER(c COLLATE {collation}) USING utf8mb4)), HEX(CONVERT(LOWER(c COLLATE {collation}) USING utf8mb4))
             FROM (SELECT seq, CONVERT(CONVERT(UNHEX(LPAD(HEX(seq), {width}, '0')) USING {of}) USING {charset}) c
                   FROM seq_0_to_{last} WHERE seq NOT BETWEEN 0xD800 AND 0xDFFF) t"
        )) else {
            return;
        };
        assert!(rows.len() >= 128);
        let mut wrong = Vec::new();
        for row in rows {
            let c = char::from_u32(u32::from_str_radix(&row[0], 16).unwrap())
                .unwrap()
                .to_string();
            let mut weights = Vec::new();
            collation.weight_string(c.as_bytes(), &mut weights);
            let (upper, lower) = (collation.to_upper(&c), collation.to_lower(&c));
            let ours = [hex(&weights), hex(upper.as_bytes()), hex(lower.as_bytes())];
            if ours != row[1..] {
                wrong.push((row, ours));
            }
        }
        assert!(
            wrong.is_empty(),
            "{collation}: {} wrong, as {:?}",
            wrong.len(),
            &wrong[..wrong.len().min(10)]
        );
    }
}

/// A few pseudo-random texts of the characters that a collation's set has.
fn texts(collation: CollationId) -> Vec<String> {
    let alphabet: Vec<char> = "aAbBzZ sS%_0\t€áÁäåÄßøØÿžéÉüy\u{301}ñあア中가😀Ωω\0"
        .chars()
        .filter(|&c| collation.charset().contains(c))
        .collect();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below
    };
    (0..160)
        .map(|_| (0..random(5)).map(|_| alphabet[random(alphabet.len())]).collect())
        .collect()
}

#[test]
fn comparing_matching_and_finding_is_as_in_mariadb() {
    for collation in SHARED {
        let charset = collation.charset();
        let texts = texts(collation);
        let rows: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(i, text)| format!("({i}, CONVERT(X'{}' USING utf8mb4))", hex(text.as_bytes())))
            .collect();
        let Some(rows) = ask(&format!(
            "CREATE TEMPORARY TABLE test.t (i INT, s VARCHAR(20) CHARACTER SET {charset} COLLATE {collation});
             INSERT INTO test.t VALUES {};
             SELECT a.i, b.i, STRCMP(a.s, b.s), a.s LIKE b.s, INSTR(a.s, b.s) FROM test.t a JOIN test.t b;",
            rows.join(", ")
        )) else {
            return;
        };
        assert_eq!(rows.len(), texts.len() * texts.len());
        let mut seen = HashMap::new();
        for row in rows {
            let [i, j, order, like, place] = row.map_numbers();
            let (a, b) = (texts[i as usize].as_bytes(), texts[j as usize].as_bytes());
            let found = collation
                .find(a, b, 0)
                .map_or(0, |at| collation.char_count(&a[..at]) as i64 + 1);
            let ours = (
                collation.compare(a, b) as i64,
                i64::from(collation.like(b, a, Some('\\'))),
                found,
            );
            assert_eq!(
                ours,
                (order, like, place),
                "{collation}: {:?} and {:?}",
                texts[i as usize],
                texts[j as usize]
            );
            *seen.entry((order, like)).or_insert(0) += 1;
        }
        assert!(seen.len() >= 4, "the texts are too much alike: {seen:?}");
    }
}

trait MapNumbers {
    fn map_numbers(&self) -> [i64; 5];
}

impl MapNumbers for Vec<String> {
    fn map_numbers(&self) -> [i64; 5] {
        std::array::from_fn(|i| self[i].parse().expect("a number"))
    }
}
