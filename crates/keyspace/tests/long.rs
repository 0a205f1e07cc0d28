//! Long strings: what is read is what was written, whether their bytes are in the key's row or in pieces, and nothing is left of them.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::{Client, Database, Expected as _};
use governor::{Governor, Interrupt, Runner};
use proptest::prelude::*;
use sql::result::BufferedRows;
use sql::session::{Session as SqlSession, SessionOptions};
use sql_api::host::BlockingHost;

fn sql(database: &Database, statement: &str) -> BufferedRows {
    let engine = database.keyspace.engine().clone();
    let mut session = SqlSession::new(engine, SessionOptions::default()).unwrap();
    let mut rows = BufferedRows::default();
    session.query(statement.as_bytes(), &BlockingHost, &mut rows).unwrap();
    rows
}

/// The first value of each row, as text.
fn column(database: &Database, query: &str) -> Vec<String> {
    let rows = sql(database, query);
    (0..rows.len()).map(|at| rows.row(at)[0].to_string()).collect()
}

fn pieces(database: &Database) -> Vec<String> {
    column(database, "SELECT CAST(COUNT(*) AS CHAR) FROM redis.db0_piece")
}

#[derive(Debug, Clone)]
enum Step {
    Set(usize),
    Append(usize),
    SetRange(usize, usize),
    SetBit(usize, bool),
    Field(usize, i64),
    Rename(usize),
    Copy(usize),
    Combine(usize, usize),
    Expire,
    Delete,
}

/// Lengths and places around the limits: of a piece, and of what is kept whole.
fn place() -> impl Strategy<Value = usize> {
    let edges = prop::sample::select(vec![0, 1, 16_384, 32_768, 65_536, 81_920, 120_000]);
    (edges, 0..60usize).prop_map(|(edge, beside)| (edge + beside).saturating_sub(30))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        place().prop_map(Step::Set),
        place().prop_map(Step::Append),
        (place(), 1..40_000usize).prop_map(|(at, len)| Step::SetRange(at, len)),
        (place(), any::<bool>()).prop_map(|(at, bit)| Step::SetBit(at * 8 + at % 8, bit)),
        (place(), 0..1i64 << 30).prop_map(|(at, number)| Step::Field(at * 8 + at % 8, number)),
        (0..3usize).prop_map(Step::Rename),
        (0..3usize).prop_map(Step::Copy),
        (0..4usize, 0..3usize).prop_map(|(operation, to)| Step::Combine(operation, to)),
        Just(Step::Expire),
        Just(Step::Delete),
    ]
}

fn bytes_of(len: usize, salt: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251 + salt * 31) as u8).collect()
}

fn put(value: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    value.resize(value.len().max(at + bytes.len()), 0);
    value[at..at + bytes.len()].copy_from_slice(bytes);
}

fn put_bits(value: &mut Vec<u8>, at: usize, bits: u32, number: i64) {
    value.resize(value.len().max((at + bits as usize - 1) / 8 + 1), 0);
    for bit in 0..bits as usize {
        let (place, mask) = ((at + bit) / 8, 1 << (7 - (at + bit) % 8));
        match number >> (bits as usize - 1 - bit) & 1 {
            0 => value[place] &= !mask,
            _ => value[place] |= mask,
        }
    }
}

type Combine = fn(u8, u8) -> u8;

const OPERATIONS: [(&str, Combine); 4] = [
    ("AND", |a, b| a & b),
    ("OR", |a, b| a | b),
    ("XOR", |a, b| a ^ b),
    ("NOT", |a, _| !a),
];

struct Run {
    client: Client,
    model: BTreeMap<String, Vec<u8>>,
}

impl Run {
    fn ask(&mut self, words: &[&[u8]]) -> String {
        self.client.send(words).to_string()
    }

    fn step(&mut self, key: &str, step: &Step, salt: usize) {
        let name = key.as_bytes();
        match *step {
            Step::Set(len) => {
                let value = bytes_of(len, salt);
                self.ask(&[b"SET", name, &value]);
                self.model.insert(key.into(), value);
            }
            Step::Append(len) => {
                let tail = bytes_of(len, salt);
                self.ask(&[b"APPEND", name, &tail]);
                self.model.entry(key.into()).or_default().extend(tail);
            }
            Step::SetRange(at, len) => {
                let part = bytes_of(len, salt);
                self.ask(&[b"SETRANGE", name, at.to_string().as_bytes(), &part]);
                put(self.model.entry(key.into()).or_default(), at, &part);
            }
            Step::SetBit(at, bit) => {
                let number = i64::from(bit);
                self.ask(&[
                    b"SETBIT",
                    name,
                    at.to_string().as_bytes(),
                    number.to_string().as_bytes(),
                ]);
                put_bits(self.model.entry(key.into()).or_default(), at, 1, number);
            }
            Step::Field(at, number) => {
                let (at_text, text) = (at.to_string(), number.to_string());
                let words: [&[u8]; 6] = [b"BITFIELD", name, b"SET", b"u31", at_text.as_bytes(), text.as_bytes()];
                self.ask(&words);
                put_bits(self.model.entry(key.into()).or_default(), at, 31, number);
            }
            Step::Rename(to) => {
                let to = format!("k{to}");
                if let Some(value) = self.model.get(key).cloned() {
                    self.ask(&[b"RENAME", name, to.as_bytes()]);
                    self.model.remove(key);
                    self.model.insert(to, value);
                }
            }
            Step::Copy(to) => {
                let to = format!("k{to}");
                if let Some(value) = self.model.get(key).cloned().filter(|_| key != to) {
                    self.ask(&[b"COPY", name, to.as_bytes(), b"REPLACE"]);
                    self.model.insert(to, value);
                }
            }
            Step::Combine(operation, to) => {
                let (to, other) = (format!("k{to}"), "k1");
                let (name_of_it, combine) = OPERATIONS[operation];
                let mut value = self.model.get(key).cloned().unwrap_or_default();
                let mut words: Vec<&[u8]> = vec![b"BITOP", name_of_it.as_bytes(), to.as_bytes(), name];
                if name_of_it == "NOT" {
                    value.iter_mut().for_each(|byte| *byte = !*byte);
                } else {
                    words.push(other.as_bytes());
                    let other = self.model.get(other).cloned().unwrap_or_default();
                    value.resize(value.len().max(other.len()), 0);
                    let others = other.iter().chain(std::iter::repeat(&0));
                    value
                        .iter_mut()
                        .zip(others)
                        .for_each(|(byte, other)| *byte = combine(*byte, *other));
                }
                assert_eq!(self.ask(&words), format!(":{}", value.len()));
                match value.is_empty() {
                    true => self.model.remove(&to),
                    false => self.model.insert(to, value),
                };
            }
            Step::Expire => {
                self.ask(&[b"EXPIRE", name, b"1000"]);
                self.ask(&[b"PERSIST", name]);
            }
            Step::Delete => {
                self.ask(&[b"DEL", name]);
                self.model.remove(key);
            }
        }
    }

    fn check(&mut self) {
        for (key, value) in self.model.clone() {
            let got = self.client.send(&[b"GET", key.as_bytes()]);
            assert!(got.bytes() == value, "{key} is another value");
            let (from, to) = (value.len() / 3, value.len() / 2);
            let part = self.client.send(&[
                b"GETRANGE",
                key.as_bytes(),
                from.to_string().as_bytes(),
                to.to_string().as_bytes(),
            ]);
            let end = value.len().min(to + 1);
            assert!(part.bytes() == &value[from..end], "a part of {key} is another one");
            self.check_bits(&key, &value);
        }
    }

    fn check_bits(&mut self, key: &str, value: &[u8]) {
        let bit = |at: usize| value[at / 8] >> (7 - at % 8) & 1;
        let len = 8 * value.len();
        let (from, to) = (len / 5, len * 3 / 4);
        let end = len.min(to + 1);
        let (ones, within) = (
            (0..len).filter(|&at| bit(at) == 1).count(),
            (from..end).filter(|&at| bit(at) == 1).count(),
        );
        let client = &mut self.client;
        assert_eq!(client.run(&format!("BITCOUNT {key}")), format!(":{ones}"));
        assert_eq!(
            client.run(&format!("BITCOUNT {key} {from} {to} BIT")),
            format!(":{within}")
        );
        for wanted in [0, 1] {
            let first = (from..end).find(|&at| bit(at) == wanted).map_or(-1, |at| at as i64);
            let found = client.run(&format!("BITPOS {key} {wanted} {from} {to} BIT"));
            assert_eq!(found, format!(":{first}"), "the first {wanted} of {key} from {from} on");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_is_what_was_written(steps in prop::collection::vec((0..3usize, step()), 1..25)) {
        let database = Database::open();
        let mut run = Run { client: database.client(), model: BTreeMap::new() };
        for (salt, (key, step)) in steps.iter().enumerate() {
            run.step(&format!("k{key}"), step, salt);
            run.check();
        }
        for key in ["k0", "k1", "k2"] {
            run.step(key, &Step::Delete, 0);
        }
        prop_assert_eq!(run.ask(&[b"DBSIZE"]), ":0");
        if database.keyspace.is_used() {
            prop_assert_eq!(pieces(&database), ["0"]);
        }
    }
}

#[test]
fn a_bit_far_out_costs_one_piece() {
    let database = Database::open();
    let mut client = database.client();
    assert_eq!(client.run("SETBIT k 4000000000 1"), ":0");
    assert_eq!(client.run("STRLEN k"), ":500000001");
    assert_eq!(client.run("GETBIT k 4000000000"), ":1");
    assert_eq!(client.answer("GETRANGE k 100 102").bytes(), [0; 3]);
    assert_eq!(pieces(&database), ["1"]);
    assert_eq!(client.run("DEL k"), ":1");
    assert_eq!(pieces(&database), ["0"]);
}

/// Whoever runs commands whose memory is limited.
struct Nobody;

impl Runner for Nobody {
    fn yield_now(&self) {}

    fn interrupted(&self) -> Option<Interrupt> {
        None
    }
}

#[test]
fn bits_of_a_long_string_are_looked_at_piece_by_piece() {
    let database = Database::open();
    let mut client = database.client();
    client.run("SETBIT k 1200000000 1");
    client.run("SETBIT other 1200000001 1");
    client.run("SETBIT other 7 1");
    // A command may hold less than the value has.
    let governor = Governor::new(&Nobody).with_account(Arc::default());
    governor.run(|| {
        for (command, reply) in [
            ("BITCOUNT k", ":1"),
            ("BITCOUNT k 0 -2", ":0"),
            ("BITCOUNT k 1200000000 1200000000 BIT", ":1"),
            ("BITPOS k 1", ":1200000000"),
            ("BITPOS k 1 0 -2", ":-1"),
            ("BITPOS k 0", ":0"),
            ("BITOP OR both k other", ":150000001"),
            ("BITCOUNT both", ":3"),
            ("INCR k", "-ERR value is not an integer or out of range"),
            ("INCRBYFLOAT k 1", "-ERR value is not a valid float"),
            ("PFCOUNT k", "-WRONGTYPE Key is not a valid HyperLogLog string value."),
            (
                "LCS k other",
                "-ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
            ),
        ] {
            assert_eq!(client.run(command), reply, "{command}");
        }
    });
    // What is zero throughout is not kept.
    assert_eq!(pieces(&database), ["5"]);
}

#[test]
fn a_row_that_has_a_value_is_that_value() {
    let database = Database::open();
    let mut client = database.client();
    client.run("SET k v");
    // As former versions wrote it.
    sql(
        &database,
        "UPDATE redis.db0 SET value = REPEAT('x', 100000) WHERE `key` = 'k'",
    );
    assert_eq!(client.run("STRLEN k"), ":100000");
    assert_eq!(pieces(&database), ["0"]);
    assert_eq!(client.run("APPEND k y"), ":100001");
    assert_eq!(client.run("GETRANGE k 99999 -1"), "\"xy\"");
    assert_eq!(pieces(&database), ["7"]);
    assert_eq!(
        column(
            &database,
            "SELECT CAST(length AS CHAR) FROM redis.db0_keys WHERE value IS NULL"
        ),
        ["100001"]
    );
    sql(&database, "UPDATE redis.db0 SET value = 'short' WHERE `key` = 'k'");
    assert_eq!(client.run("GET k"), "\"short\"");
    assert_eq!(client.run("APPEND k er"), ":7");
    assert_eq!(client.run("GET k"), "\"shorter\"");
    assert_eq!(pieces(&database), ["0"]);
}

#[test]
fn a_length_that_sql_has_written_is_one_that_a_string_may_have() {
    let database = Database::open();
    let mut client = database.client();
    client.run("SETBIT k 2000000 1");
    sql(
        &database,
        "UPDATE redis.db0 SET meta = CONCAT(SUBSTRING(meta, 1, 8), REPEAT(X'FF', 8)) WHERE `key` = 'k'",
    );
    assert_eq!(client.run("STRLEN k"), ":536870912");
    assert_eq!(client.run("BITPOS k 1"), ":2000000");
    assert!(client.run("APPEND k x").starts_with("-ERR string exceeds"));
}
