//! Damaged and senseless statements: an error with a place in the text, or a tree that survives the round trip.

use crate::common::corpus;
use parser::digest::normalize;
use parser::{ParseErrorKind, SqlMode, parse, printer, redacted};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "ORDER",
    "BY",
    "HAVING",
    "LIMIT",
    "INTO",
    "UNION",
    "ALL",
    "DISTINCT",
    "INTERSECT",
    "EXCEPT",
    "WITH",
    "RECURSIVE",
    "AS",
    "VALUES",
    "ROW",
    "TABLE",
    "INSERT",
    "UPDATE",
    "DELETE",
    "REPLACE",
    "SET",
    "JOIN",
    "LEFT",
    "NATURAL",
    "ON",
    "USING",
    "LATERAL",
    "JSON_TABLE",
    "COLUMNS",
    "NESTED",
    "PATH",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "AND",
    "OR",
    "XOR",
    "NOT",
    "IS",
    "NULL",
    "TRUE",
    "IN",
    "BETWEEN",
    "LIKE",
    "ESCAPE",
    "REGEXP",
    "EXISTS",
    "ANY",
    "INTERVAL",
    "DAY",
    "DATE",
    "TIME",
    "COLLATE",
    "BINARY",
    "CAST(",
    "CONVERT",
    "CHAR",
    "COUNT(",
    "SUM(",
    "OVER",
    "WINDOW",
    "PARTITION",
    "ROWS",
    "CURRENT",
    "PRECEDING",
    "DEFAULT",
    "FOR",
    "SHARE",
    "OF",
    "SKIP",
    "LOCKED",
    "CREATE",
    "ALTER",
    "DROP",
    "INDEX",
    "KEY",
    "PRIMARY",
    "UNIQUE",
    "CHECK",
    "REFERENCES",
    "INT",
    "VARCHAR",
    "ENUM",
    "BEGIN",
    "IF",
    "LOOP",
    "PROCEDURE",
    "FUNCTION",
    "TRIGGER",
    "EVENT",
    "VIEW",
    "GRANT",
    "TO",
    "USER",
    "SHOW",
    "EXPLAIN",
    "t",
    "a",
    "b",
    "t.a",
    "`x`",
    "@v",
    "@@v",
    "@@global.v",
    "1",
    "2.5",
    "1e3",
    "'s'",
    "\"d\"",
    "x'41'",
    "0x41",
    "b'1'",
    "N'n'",
    "_utf8mb4",
    "?",
    "(",
    ")",
    ",",
    ".",
    ";",
    "*",
    "+",
    "-",
    "/",
    "%",
    "^",
    "|",
    "||",
    "&",
    "&&",
    "~",
    "!",
    "=",
    "<=>",
    "<>",
    "<",
    ">=",
    ":=",
    "->",
    "->>",
    "{",
    "}",
    ":",
    "@",
    "/*",
    "*/",
    "/*!",
    "/*+",
    "--",
    "#",
    "'",
    "`",
    "\\N",
    "\n",
    "\u{e9}",
];

fn modes() -> impl Strategy<Value = SqlMode> {
    any::<[bool; 6]>().prop_map(|[a, b, c, d, e, f]| SqlMode {
        ansi_quotes: a,
        pipes_as_concat: b,
        no_backslash_escapes: c,
        high_not_precedence: d,
        ignore_space: e,
        real_as_float: f,
    })
}

/// The property: see the module.
fn check(text: &[u8], mode: SqlMode) -> Result<(), TestCaseError> {
    let _ = normalize(text, mode);
    let parsed = match parse(text, mode) {
        Ok(parsed) => parsed,
        Err(error) => {
            prop_assert!(error.offset <= text.len());
            if let ParseErrorKind::Syntax { near, line } = &error.kind {
                let shown = |text: &[u8]| -> String {
                    let text = String::from_utf8_lossy(text);
                    text.chars()
                        .map(|char| if char > '\u{ffff}' { '?' } else { char })
                        .collect()
                };
                let rest = shown(&text[error.offset..]);
                // Secrets are not quoted.
                let is_quoted = rest.starts_with(&**near) || shown(&redacted(text)).contains(&**near);
                prop_assert!(is_quoted, "{near:?} in {rest:?}");
                prop_assert!(near.len() <= 80);
                prop_assert!(*line as usize <= 1 + text.iter().filter(|&&byte| byte == b'\n').count());
            }
            return Ok(());
        }
    };
    prop_assert!(parsed.consumed <= text.len());
    let printed = printer::to_sql(&parsed.statement);
    let shown = String::from_utf8_lossy(&printed).into_owned();
    // Bodies of stored programs are kept as written, in the mode they were written in.
    if mode != SqlMode::default() && has_body(&shown) {
        return Ok(());
    }
    match parse(&printed, SqlMode::default()) {
        Ok(again) => prop_assert!(again.statement == parsed.statement, "{shown}"),
        Err(error) if matches!(error.kind, ParseErrorKind::TooDeep { .. }) => {}
        Err(error) => prop_assert!(false, "{shown}\n{error}"),
    }
    Ok(())
}

fn has_body(sql: &str) -> bool {
    ["TRIGGER", "PROCEDURE", "FUNCTION", "EVENT"]
        .iter()
        .any(|word| sql.contains(word))
}

/// One thing done to a statement.
#[derive(Debug, Clone)]
enum Damage {
    Truncate(Index),
    Remove(Index, Index),
    Insert(Index, &'static str),
    Byte(Index, u8),
    Repeat(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        1 => any::<Index>().prop_map(Damage::Truncate),
        2 => any::<[Index; 2]>().prop_map(|[from, to]| Damage::Remove(from, to)),
        4 => (any::<Index>(), select(WORDS)).prop_map(|(at, word)| Damage::Insert(at, word)),
        1 => any::<(Index, u8)>().prop_map(|(at, byte)| Damage::Byte(at, byte)),
        1 => any::<[Index; 2]>().prop_map(|[from, to]| Damage::Repeat(from, to)),
    ]
}

/// Damage goes by words, so that what comes out is often still a statement.
fn apply(text: &str, damage: &[Damage]) -> Vec<u8> {
    let mut words: Vec<Vec<u8>> = text
        .split_inclusive([' ', ',', '(', ')'])
        .map(|word| word.as_bytes().to_vec())
        .collect();
    for one in damage {
        if words.is_empty() {
            break;
        }
        let range = |from: &Index, to: &Index| {
            let start = from.index(words.len());
            start..(start + 1 + to.index(4)).min(words.len())
        };
        match one {
            Damage::Truncate(at) => words.truncate(at.index(words.len())),
            Damage::Remove(from, to) => {
                let range = range(from, to);
                words.drain(range);
            }
            Damage::Insert(at, word) => words.insert(at.index(words.len()), format!(" {word} ").into_bytes()),
            Damage::Byte(at, byte) => {
                let index = at.index(words.len());
                words[index].push(*byte);
            }
            Damage::Repeat(from, to) => {
                let range = range(from, to);
                let copy = words[range.clone()].to_vec();
                words.splice(range.start..range.start, copy);
            }
        }
    }
    words.concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    fn token_soup(words in vec(select(WORDS), 0..40), glue in select(vec![" ", "", "\n"]), mode in modes()) {
        check(words.join(glue).as_bytes(), mode)?;
        check(format!("SELECT {}", words.join(glue)).as_bytes(), mode)?;
    }

    #[test]
    fn random_bytes(bytes in vec(any::<u8>(), 0..200), mode in modes()) {
        check(&bytes, mode)?;
    }

    #[test]
    fn damaged_statements(which in any::<Index>(), damage in vec(damage(), 1..4), mode in modes()) {
        let corpus = corpus();
        let (_, text) = which.get(&corpus);
        let damaged = apply(text, &damage);
        check(&damaged, SqlMode::default())?;
        check(&damaged, mode)?;
    }

    #[test]
    fn mixed_statements(first in any::<Index>(), second in any::<Index>(), cut in any::<[Index; 2]>()) {
        let corpus = corpus();
        let (first, second) = (first.get(&corpus).1.as_bytes(), second.get(&corpus).1.as_bytes());
        let mixed = [&first[..cut[0].index(first.len())], b" ", &second[cut[1].index(second.len())..]].concat();
        check(&mixed, SqlMode::default())?;
    }
}
