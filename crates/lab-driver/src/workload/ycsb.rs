//! YCSB's core workloads A to F over SQL (Cooper et al., "Benchmarking Cloud Serving Systems with YCSB", 2010), with the statements of
//! its JDBC binding.
//!
//! | | reads | updates | inserts | scans | read-modify-write | keys |
//! |---|---|---|---|---|---|---|
//! | A | 50 % | 50 % | | | | zipfian |
//! | B | 95 % | 5 % | | | | zipfian |
//! | C | 100 % | | | | | zipfian |
//! | D | 95 % | | 5 % | | | latest |
//! | E | | | 5 % | 95 % | | zipfian |
//! | F | 50 % | | | | 50 % | zipfian |
//!
//! Each operation is a transaction of its own, in autocommit. The popular keys of the zipfian distribution (exponent 0.99) are
//! scattered over the key space by a hash, as YCSB does it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mysql_wire::put;

use super::options::OptionReader;
use super::random::{Distribution, Random, Sampler};
use super::{Last, Script, Scripts, TableLoad, WorkloadError};
use crate::run::Share;
use crate::statement::{Arguments, Catalog, Protocol};

/// YCSB's zipfian constant.
const EXPONENT: f64 = 0.99;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum YcsbKind {
    A,
    B,
    C,
    D,
    E,
    F,
}

impl YcsbKind {
    pub const ALL: [YcsbKind; 6] = [
        YcsbKind::A,
        YcsbKind::B,
        YcsbKind::C,
        YcsbKind::D,
        YcsbKind::E,
        YcsbKind::F,
    ];

    pub fn name(self) -> &'static str {
        match self {
            YcsbKind::A => "ycsb_a",
            YcsbKind::B => "ycsb_b",
            YcsbKind::C => "ycsb_c",
            YcsbKind::D => "ycsb_d",
            YcsbKind::E => "ycsb_e",
            YcsbKind::F => "ycsb_f",
        }
    }

    pub fn from_name(name: &str) -> Option<YcsbKind> {
        YcsbKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The operations, with the share of each in percent.
    fn mix(self) -> [(Operation, u64); 2] {
        match self {
            YcsbKind::A => [(Operation::Read, 50), (Operation::Update, 50)],
            YcsbKind::B => [(Operation::Read, 95), (Operation::Update, 5)],
            YcsbKind::C => [(Operation::Read, 100), (Operation::Update, 0)],
            YcsbKind::D => [(Operation::Read, 95), (Operation::Insert, 5)],
            YcsbKind::E => [(Operation::Scan, 95), (Operation::Insert, 5)],
            YcsbKind::F => [(Operation::Read, 50), (Operation::ReadModifyWrite, 50)],
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    Zipfian,
    Uniform,
    Latest,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct YcsbOptions {
    pub table_size: u64,
    fields: u32,
    field_length: u32,
    scan_length: u32,
    keys: Keys,
    prepared: bool,
}

impl YcsbOptions {
    pub(super) fn read(kind: YcsbKind, reader: &mut OptionReader) -> Result<YcsbOptions, WorkloadError> {
        let (zipfian, uniform, latest) = (
            ("zipfian", Keys::Zipfian),
            ("uniform", Keys::Uniform),
            ("latest", Keys::Latest),
        );
        let choices = match kind {
            YcsbKind::D => [latest, zipfian, uniform],
            _ => [zipfian, uniform, latest],
        };
        Ok(YcsbOptions {
            table_size: reader.number("table_size", 10_000, 1)?.into(),
            fields: reader.number("fields", 10, 1)?,
            field_length: reader.number("field_length", 100, 1)?,
            scan_length: reader.number("scan_length", 100, 1)?,
            keys: reader.choice("keys", "zipfian, uniform or latest", &choices)?,
            prepared: reader.choice(
                "db_ps_mode",
                "auto (prepared statements) or disable (text)",
                &[("auto", true), ("disable", false)],
            )?,
        })
    }
}

pub(super) fn tables(options: &YcsbOptions) -> Vec<TableLoad> {
    let fields: Vec<String> = (0..options.fields).map(|field| format!("FIELD{field} TEXT")).collect();
    let names: Vec<String> = (0..options.fields).map(|field| format!("FIELD{field}")).collect();
    let (fields_count, length) = (options.fields, options.field_length);
    vec![TableLoad {
        name: "usertable".to_owned(),
        create: format!(
            "CREATE TABLE usertable (YCSB_KEY VARCHAR(255) PRIMARY KEY, {})",
            fields.join(", ")
        ),
        insert: format!("INSERT INTO usertable (YCSB_KEY, {}) VALUES", names.join(", ")),
        units: options.table_size,
        unit_len_max: 32 + (length as usize + 3) * fields_count as usize,
        gapless_key: None,
        after: Vec::new(),
        write: Box::new(move |unit, random, out| {
            out.extend_from_slice(b"('");
            key(unit, out);
            for _ in 0..fields_count {
                out.extend_from_slice(b"','");
                letters(length, random, out);
            }
            out.extend_from_slice(b"')");
        }),
    }]
}

/// `user` and the number's hash: neighbours in number are not neighbours in key.
fn key(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"user");
    put::decimal_u64(out, hashed(number));
}

/// FNV-1a over the eight bytes, as YCSB hashes.
fn hashed(number: u64) -> u64 {
    number.to_le_bytes().iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn letters(length: u32, random: &mut Random, out: &mut Vec<u8>) {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    let mut left = length;
    while left > 0 {
        let mut bits = random.next_u64();
        for _ in 0..left.min(10) {
            out.push(LETTERS[(bits & 63) as usize]);
            bits >>= 6;
        }
        left -= left.min(10);
    }
}

/// Where each statement is in the catalog; those that the mix does not need are not there.
#[derive(Debug, Clone, Copy, Default)]
struct Statements {
    read: usize,
    /// Of the first field; the others follow.
    update: usize,
    insert: usize,
    scan: usize,
    read_modify_write: usize,
}

pub(super) fn catalog(kind: YcsbKind, options: &YcsbOptions) -> Catalog {
    build(kind, options).0
}

fn build(kind: YcsbKind, options: &YcsbOptions) -> (Catalog, Statements) {
    let protocol = if options.prepared {
        Protocol::Prepared
    } else {
        Protocol::Text
    };
    let mut catalog = Catalog::default();
    let mut statements = Statements::default();
    let uses = |wanted: &[Operation]| {
        kind.mix()
            .iter()
            .any(|(operation, share)| *share > 0 && wanted.contains(operation))
    };
    if uses(&[Operation::Read, Operation::ReadModifyWrite]) {
        let sql = "SELECT * FROM usertable WHERE YCSB_KEY=?".to_owned();
        statements.read = catalog.add("read", sql, protocol);
        catalog.statements[statements.read].key_lookups = 1;
    }
    if uses(&[Operation::Update, Operation::ReadModifyWrite]) {
        statements.update = catalog.statements.len();
        for field in 0..options.fields {
            let sql = format!("UPDATE usertable SET FIELD{field}=? WHERE YCSB_KEY=?");
            catalog.add("update", sql, protocol);
        }
    }
    if uses(&[Operation::Insert]) {
        let names: Vec<String> = (0..options.fields).map(|field| format!("FIELD{field}")).collect();
        let places = vec!["?"; options.fields as usize].join(",");
        let sql = format!(
            "INSERT INTO usertable (YCSB_KEY,{}) VALUES(?,{places})",
            names.join(",")
        );
        statements.insert = catalog.add("insert", sql, protocol);
    }
    if uses(&[Operation::Scan]) {
        let sql = "SELECT * FROM usertable WHERE YCSB_KEY>=? ORDER BY YCSB_KEY LIMIT ?".to_owned();
        statements.scan = catalog.add("scan", sql, protocol);
    }
    if uses(&[Operation::ReadModifyWrite]) {
        statements.read_modify_write = catalog.kind("read_modify_write");
    }
    (catalog, statements)
}

/// Rows that were inserted in this run: how many numbers were given out, and how many of them are there for certain.
#[derive(Debug, Default)]
struct Inserted {
    given: AtomicU64,
    acknowledged: AtomicU64,
}

pub(super) fn scripts(kind: YcsbKind, options: &YcsbOptions, seed: u64, share: Share) -> Scripts {
    let statements = build(kind, options).1;
    let options = options.clone();
    let inserted = Arc::new(Inserted::default());
    // Far from the loaded numbers, and from those of a run with another seed or of another driver of this one.
    let of_share = seed.wrapping_add(u64::from(share.first).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let new_first = 1 << 40 | Random::new(of_share, 0).next_u64() >> 32 << 24;
    Box::new(move |connection| {
        Box::new(YcsbScript {
            mix: kind.mix(),
            keys: options.keys,
            popular: Sampler::new(
                match options.keys {
                    Keys::Uniform => Distribution::Uniform,
                    Keys::Zipfian | Keys::Latest => Distribution::Zipfian { exponent: EXPONENT },
                },
                options.table_size,
            ),
            options: options.clone(),
            statements,
            random: Random::new(seed, connection as u64 + 1),
            inserted: inserted.clone(),
            new_first,
            operation: Operation::Read,
            sent: 0,
            number: 0,
        })
    })
}

struct YcsbScript {
    mix: [(Operation, u64); 2],
    keys: Keys,
    popular: Sampler,
    options: YcsbOptions,
    statements: Statements,
    random: Random,
    inserted: Arc<Inserted>,
    new_first: u64,
    operation: Operation,
    /// Statements of this operation that were sent, and the record that it is about.
    sent: u32,
    number: u64,
}

impl Script for YcsbScript {
    fn begin(&mut self) {
        let [(first, share), (second, _)] = self.mix;
        self.operation = if self.random.below(100) < share { first } else { second };
        self.sent = 0;
        self.number = match self.operation {
            Operation::Insert => self.new_first + self.inserted.given.fetch_add(1, Ordering::Relaxed),
            _ => self.existing(),
        };
    }

    fn next(&mut self, arguments: &mut Arguments, _last: &Last) -> Option<usize> {
        self.sent += 1;
        match (self.operation, self.sent) {
            (Operation::Read | Operation::ReadModifyWrite, 1) => {
                arguments.text(|out| key(self.number, out));
                Some(self.statements.read)
            }
            (Operation::Update, 1) | (Operation::ReadModifyWrite, 2) => {
                let field = self.random.below(self.options.fields.into()) as usize;
                arguments.text(|out| letters(self.options.field_length, &mut self.random, out));
                arguments.text(|out| key(self.number, out));
                Some(self.statements.update + field)
            }
            (Operation::Insert, 1) => {
                arguments.text(|out| key(self.number, out));
                for _ in 0..self.options.fields {
                    arguments.text(|out| letters(self.options.field_length, &mut self.random, out));
                }
                Some(self.statements.insert)
            }
            (Operation::Scan, 1) => {
                arguments.text(|out| key(self.number, out));
                arguments.int(self.random.uniform(1, self.options.scan_length.into()) as i64);
                Some(self.statements.scan)
            }
            (Operation::Insert, _) => {
                self.inserted.acknowledged.fetch_add(1, Ordering::Relaxed);
                None
            }
            _ => None,
        }
    }

    fn transaction_kind(&self) -> Option<usize> {
        (self.operation == Operation::ReadModifyWrite).then_some(self.statements.read_modify_write)
    }
}

impl YcsbScript {
    /// The number of a record that is there.
    fn existing(&mut self) -> u64 {
        let drawn = self.popular.draw(&mut self.random);
        match self.keys {
            Keys::Uniform => drawn,
            Keys::Zipfian => hashed(drawn) % self.options.table_size,
            Keys::Latest => {
                let inserted = self.inserted.acknowledged.load(Ordering::Relaxed);
                if drawn < inserted {
                    self.new_first + inserted - 1 - drawn
                } else {
                    self.options.table_size - 1 - (drawn - inserted)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Workload;

    #[test]
    fn every_mix_is_whole() {
        for kind in YcsbKind::ALL {
            assert_eq!(kind.mix().iter().map(|(_, share)| share).sum::<u64>(), 100);
            let workload = Workload::new(kind.name(), &BTreeMap::new()).unwrap();
            assert!(!workload.catalog().statements.is_empty());
        }
    }

    #[test]
    fn keys_are_distinct() {
        let keys: std::collections::BTreeSet<u64> = (0..100_000).map(hashed).collect();
        assert_eq!(keys.len(), 100_000);
    }

    #[test]
    fn fields_have_their_length() {
        for length in [1, 9, 10, 11, 100] {
            let mut out = Vec::new();
            letters(length, &mut Random::new(1, 1), &mut out);
            assert_eq!(out.len(), length as usize);
        }
    }
}
