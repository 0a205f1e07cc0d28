//! Which statements are slow: those that took long, gathered by what they have in common (their digest).
//!
//! ```text
//!   statement ── took 10 ms or more? ──▶ digest ──▶ its entry: how often, how long, how many rows; the text that took longest
//! ```
//!
//! A quick statement costs a comparison. So the sums are those of slow executions alone. Secrets are taken out before anything is kept, and the
//! entries have a bound: a new one takes the place of the one that was slow the longest time ago.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use parser::SqlMode;
use parser::digest_text::digest_text;
use sha2::{Digest as _, Sha256};
use types::Value;

use crate::expr::functions::lower_hex;
use crate::session::Running;

/// What takes at least this long is slow.
pub const SLOW: Duration = Duration::from_millis(10);
/// Digests that are kept.
const ENTRIES_MAX: usize = 500;
/// A longer statement is cut.
const TEXT_BYTES: usize = 8 << 10;

/// The slow statements of a node.
#[derive(Default)]
pub struct SlowDigests {
    entries: Mutex<HashMap<Key, Entry>>,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    database: Option<Arc<str>>,
    digest: Box<str>,
}

struct Entry {
    count: u64,
    errors: u64,
    time: Duration,
    longest: Duration,
    lock_waits: Duration,
    rows_examined: u64,
    first_micros: i64,
    last_micros: i64,
    /// Of the longest execution.
    sample: Box<str>,
    user: String,
}

/// One execution.
pub(crate) struct Slow<'a> {
    pub text: &'a [u8],
    pub mode: SqlMode,
    pub database: Option<Arc<str>>,
    pub user: &'a str,
    pub took: Duration,
    pub running: Running,
    pub has_failed: bool,
    pub at_micros: i64,
}

impl SlowDigests {
    /// What is kept is the node's, and no more the session's.
    pub(crate) fn note(&self, slow: Slow<'_>) {
        governor::given_away(|| self.keep(slow));
    }

    fn keep(&self, slow: Slow<'_>) {
        let text = parser::redacted(slow.text);
        let text = &text[..text.len().min(TEXT_BYTES)];
        let key = Key {
            database: slow.database,
            digest: digest_text(text, slow.mode).into(),
        };
        let mut entries = self.entries.lock();
        if entries.len() >= ENTRIES_MAX && !entries.contains_key(&key) {
            let oldest = entries.values().map(|entry| entry.last_micros).min();
            entries.retain(|_, entry| Some(entry.last_micros) != oldest);
        }
        let entry = entries.entry(key).or_insert_with(|| Entry {
            count: 0,
            errors: 0,
            time: Duration::ZERO,
            longest: Duration::ZERO,
            lock_waits: Duration::ZERO,
            rows_examined: 0,
            first_micros: slow.at_micros,
            last_micros: slow.at_micros,
            sample: "".into(),
            user: String::new(),
        });
        entry.count += 1;
        entry.errors += u64::from(slow.has_failed);
        entry.time += slow.took;
        entry.lock_waits += slow.running.lock_waits;
        entry.rows_examined += slow.running.rows_examined;
        entry.last_micros = slow.at_micros;
        if slow.took >= entry.longest {
            entry.longest = slow.took;
            entry.sample = String::from_utf8_lossy(text).into();
            entry.user = slow.user.to_owned();
        }
    }

    /// The rows of `performance_schema.slow_digests`.
    pub fn rows(&self, moment: impl Fn(i64) -> Value) -> Vec<Vec<Value>> {
        let micros = |time: Duration| Value::UInt(time.as_micros() as u64);
        let entries = self.entries.lock();
        let rows = entries.iter().map(|(key, entry)| {
            let hash = lower_hex(&Sha256::digest(key.digest.as_bytes()));
            vec![
                key.database.as_deref().map_or(Value::Null, Value::str),
                Value::str(&hash),
                Value::str(&key.digest),
                Value::UInt(entry.count),
                Value::UInt(entry.errors),
                micros(entry.time),
                micros(entry.longest),
                micros(entry.lock_waits),
                Value::UInt(entry.rows_examined),
                moment(entry.first_micros),
                moment(entry.last_micros),
                Value::str(&entry.sample),
                Value::str(&entry.user),
            ]
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(digests: &SlowDigests, text: &str, millis: u64, at_micros: i64) {
        digests.note(Slow {
            text: text.as_bytes(),
            mode: SqlMode::default(),
            database: Some("shop".into()),
            user: "app@localhost",
            took: Duration::from_millis(millis),
            running: Running {
                rows_examined: 7,
                ..Running::default()
            },
            has_failed: false,
            at_micros,
        });
    }

    #[test]
    fn statements_that_differ_in_values_are_one() {
        let digests = SlowDigests::default();
        note(&digests, "SELECT * FROM t WHERE id = 1", 20, 1);
        note(&digests, "select * from t where id = 2", 30, 2);
        note(&digests, "SELECT * FROM t WHERE id = 3", 25, 3);
        note(&digests, "CREATE USER u IDENTIFIED BY 'hidden'", 25, 4);
        let mut rows = digests.rows(Value::Int);
        rows.sort_by_key(|row| row[3].to_string());
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1][2], Value::str("SELECT * FROM `t` WHERE `id` = ?"));
        assert_eq!(rows[1][3..9], [3, 0, 75_000, 30_000, 0, 21].map(Value::UInt));
        assert_eq!(rows[1][9..11], [Value::Int(1), Value::Int(3)]);
        assert_eq!(rows[1][11], Value::str("select * from t where id = 2"));
        assert!(!rows[0][11].to_string().contains("hidden"));
    }

    #[test]
    fn new_ones_take_the_place_of_old_ones() {
        let digests = SlowDigests::default();
        for number in 0..ENTRIES_MAX + 10 {
            note(&digests, &format!("SELECT a{number} FROM t"), 20, number as i64);
        }
        let rows = digests.rows(Value::Int);
        assert_eq!(rows.len(), ENTRIES_MAX);
        assert!(rows.iter().all(|row| row[9] != Value::Int(3)));
    }
}
