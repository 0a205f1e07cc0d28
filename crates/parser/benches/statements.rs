//! Time per statement of the OLTP workloads, and throughput on a long multi-row INSERT.
//!
//! `cargo bench -p parser` prints the best of several rounds, which is what the machine can do when left alone.

use std::hint::black_box;
use std::time::Instant;

use parser::digest::{Digest, normalize_into};
use parser::{SqlMode, parse, printer};

const STATEMENTS: &[(&str, &str)] = &[
    ("point select", "SELECT c FROM sbtest1 WHERE id=5012"),
    ("simple range", "SELECT c FROM sbtest1 WHERE id BETWEEN 5012 AND 5111"),
    ("sum range", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 5012 AND 5111"),
    (
        "order range",
        "SELECT c FROM sbtest1 WHERE id BETWEEN 5012 AND 5111 ORDER BY c",
    ),
    (
        "distinct range",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 5012 AND 5111 ORDER BY c",
    ),
    ("index update", "UPDATE sbtest1 SET k=k+1 WHERE id=5012"),
    (
        "non-index update",
        "UPDATE sbtest1 SET c='68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-\
         28203206787-41238978918-19503783441' WHERE id=5012",
    ),
    ("delete", "DELETE FROM sbtest1 WHERE id=5012"),
    (
        "insert",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (5012, 4988, '68487932199-96439406143-93774651418-41631865787-\
         96406072701-20604855487-25459966574-28203206787-41238978918-19503783441', '22195207048-70116052123-\
         74140395089-76317954521-98694025897')",
    ),
    ("begin", "BEGIN"),
    ("prepared", "SELECT c FROM sbtest1 WHERE id=?"),
    (
        "orm",
        "SELECT `u`.`id` AS `id`, `u`.`name` AS `name`, `o`.`total` FROM `users` `u` LEFT OUTER JOIN `orders` `o` ON \
         `u`.`id` = `o`.`user_id` WHERE `u`.`deleted_at` IS NULL AND (`o`.`state` IN ('new', 'paid') OR `o`.`total` > 100.50) \
         ORDER BY `u`.`id` DESC LIMIT 20 OFFSET 40",
    ),
];

fn main() {
    println!(
        "{:<18}{:>7}{:>12}{:>12}{:>12}",
        "statement", "bytes", "parse ns", "digest ns", "print ns"
    );
    let mut digest = Digest::default();
    for (name, text) in STATEMENTS {
        let parse_ns = best_ns(|| {
            black_box(parse(black_box(text.as_bytes()), SqlMode::default()).expect("the statement is valid"));
        });
        let parsed = parse(text.as_bytes(), SqlMode::default()).expect("the statement is valid");
        let print_ns = best_ns(|| {
            black_box(printer::to_sql(black_box(&parsed.statement)));
        });
        let digest_ns = best_ns(|| {
            black_box(normalize_into(
                black_box(text.as_bytes()),
                SqlMode::default(),
                &mut digest,
            ));
        });
        println!(
            "{name:<18}{:>7}{parse_ns:>12.0}{digest_ns:>12.0}{print_ns:>12.0}",
            text.len()
        );
    }

    let insert = multi_row_insert(2700);
    let ns = best_ns(|| {
        black_box(parse(black_box(insert.as_bytes()), SqlMode::default()).expect("the statement is valid"));
    });
    println!(
        "multi-row insert: {} bytes, {:.0} MB/s",
        insert.len(),
        insert.len() as f64 / ns * 1e3
    );
}

/// What sysbench's prepare step sends.
fn multi_row_insert(rows: usize) -> String {
    let c = "68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-41238978918-19503783441";
    let pad = "22195207048-70116052123-74140395089-76317954521-98694025897";
    let rows: Vec<String> = (0..rows)
        .map(|row| format!("({}, '{c}', '{pad}')", row * 37 % 2700))
        .collect();
    format!("INSERT INTO sbtest1(k, c, pad) VALUES{}", rows.join(", "))
}

/// Nanoseconds per call in the best of several rounds.
fn best_ns(mut call: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    let mut calls = 1;
    let mut rounds = 0;
    while rounds < 15 {
        let start = Instant::now();
        for _ in 0..calls {
            call();
        }
        let elapsed = start.elapsed().as_nanos() as f64;
        if elapsed < 5e6 {
            calls *= 2;
            continue;
        }
        best = best.min(elapsed / calls as f64);
        rounds += 1;
    }
    best
}
