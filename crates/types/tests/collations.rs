//! What the tests of collations share: the characters that a server is asked for, texts made at random, and how two texts compare.

use std::collections::HashMap;

use types::CollationId;

use crate::server::hex;

/// The planes of Unicode in pieces whose rows a server can keep in memory.
pub const PLANES: [&str; 4] = ["0 AND 0", "1 AND 3", "4 AND 9", "10 AND 16"];

/// Begins a statement whose rows `numbers (n)` are the code points of some planes.
pub fn numbers(planes: &str) -> String {
    format!(
        "WITH RECURSIVE digits (d) AS (SELECT 0 UNION ALL SELECT d + 1 FROM digits WHERE d < 255),
         numbers (n) AS (SELECT p.d * 65536 + h.d * 256 + l.d FROM digits p, digits h, digits l WHERE p.d BETWEEN {planes})"
    )
}

/// The character with the number `n`.
pub const CHARACTER: &str = "CONVERT(UNHEX(LPAD(HEX(n), 8, '0')) USING utf32)";

/// Whether `LATSDB_COLLATIONS` is a part of its name.
pub fn is_chosen(collation: CollationId) -> bool {
    let chosen = std::env::var("LATSDB_COLLATIONS").unwrap_or_default();
    collation.name().contains(&chosen)
}

pub fn weights(collation: CollationId, text: &str) -> String {
    let mut weights = Vec::new();
    collation.weight_string(text.as_bytes(), &mut weights);
    hex(&weights)
}

/// Pseudo-random texts of less than `end` characters, each of the alphabet that `of` gives for its place.
pub fn texts<'a>(count: usize, end: usize, of: impl Fn(usize) -> &'a [char]) -> Vec<String> {
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below
    };
    let mut text = |i| {
        let alphabet = of(i);
        (0..random(end)).map(|_| alphabet[random(alphabet.len())]).collect()
    };
    (0..count).map(&mut text).collect()
}

/// Every text weighs, and is compared with, is like, and is found in every other one, as the server that `ask` asks has it. Among the outcomes are
/// `kinds` different ones or more: otherwise the texts are too much alike.
pub fn assert_compares_as_in(
    ask: fn(&str) -> Option<Vec<Vec<String>>>,
    collation: CollationId,
    texts: &[String],
    kinds: usize,
) {
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
         SELECT a.i, b.i, STRCMP(a.s, b.s), a.s LIKE b.s, INSTR(a.s, b.s), HEX(WEIGHT_STRING(a.s)) FROM t a JOIN u b;",
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
        if j == 0 {
            assert_eq!(weights(collation, a), row[5], "{collation}: {a:?}");
        }
        *seen.entry((order, like)).or_insert(0) += 1;
    }
    assert!(seen.len() >= kinds, "the texts are too much alike: {seen:?}");
}
