//! The collations that MySQL shares with MariaDB: their characters held against a running MariaDB 10.11, their texts against a running MySQL 9.7,
//! for MariaDB finds in a text what takes as many bytes alone.
//!
//! `LATSDB_MARIADB` and `LATSDB_MYSQL` hold the options of the `mariadb` client that reach them, as `-h127.0.0.1 -P3307 -uroot`; without them these
//! tests pass without looking.

use types::{CharsetId, CollationId};

use crate::collations::{assert_compares_as_in, texts, weights};
use crate::server::{ask_mariadb, ask_mysql, hex};

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
        let Some(rows) = ask_mariadb(&format!(
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
            let (upper, lower) = (collation.to_upper(&c), collation.to_lower(&c));
            let ours = [weights(collation, &c), hex(upper.as_bytes()), hex(lower.as_bytes())];
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

#[test]
fn comparing_matching_and_finding_is_as_in_mysql() {
    for collation in SHARED {
        let alphabet: Vec<char> = "aAbBzZ sS%_0\t€áÁäåÄßøØÿžéÉüy\u{301}ñあア中가😀Ωω\0"
            .chars()
            .filter(|&c| collation.charset().contains(c))
            .collect();
        assert_compares_as_in(ask_mysql, collation, &texts(160, 5, |_| &alphabet), 4);
    }
}
