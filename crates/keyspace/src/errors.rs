//! What went wrong: how often each command failed or was refused (INFO commandstats), and with which codes (INFO errorstats).
//!
//! Failures are rare beside calls, so that what is counted is shared by all threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::command::{Command, Commands};

/// Codes that are told apart. Scripts make their own.
const CODES_MAX: usize = 128;
/// What the others are counted as.
const OTHER_CODES: &[u8] = b"ERRORSTATS_OVERFLOW";
/// A reply whose first word is longer has no code.
const CODE_BYTES_MAX: usize = 32;

/// The errors of a node.
pub struct Errors {
    commands: Box<[Counts]>,
    codes: Mutex<BTreeMap<Vec<u8>, u64>>,
}

#[derive(Default)]
struct Counts {
    failed: AtomicU64,
    refused: AtomicU64,
}

impl Default for Errors {
    fn default() -> Errors {
        Errors {
            commands: (0..Commands::get().count()).map(|_| Counts::default()).collect(),
            codes: Mutex::default(),
        }
    }
}

impl Errors {
    /// A command that ran and whose reply is an error.
    pub fn failed(&self, command: &Command) {
        self.commands[command.number].failed.fetch_add(1, Ordering::Relaxed);
    }

    /// One that did not come to run.
    pub fn refused(&self, command: &Command) {
        self.commands[command.number].refused.fetch_add(1, Ordering::Relaxed);
    }

    /// An error that a client is told, or a script: its text begins with its code.
    pub fn told(&self, text: &[u8]) {
        let mut codes = self.codes.lock();
        let code = code_of(text);
        let code = match codes.len() < CODES_MAX || codes.contains_key(code) {
            true => code,
            false => OTHER_CODES,
        };
        match codes.get_mut(code) {
            Some(count) => *count += 1,
            None => {
                codes.insert(code.to_vec(), 1);
            }
        }
    }

    /// How often a command was refused, and how often it failed.
    pub fn of(&self, command: &Command) -> (u64, u64) {
        let counts = &self.commands[command.number];
        (
            counts.refused.load(Ordering::Relaxed),
            counts.failed.load(Ordering::Relaxed),
        )
    }

    /// How often each code was told.
    pub fn codes(&self) -> Vec<(Vec<u8>, u64)> {
        let codes = self.codes.lock();
        codes.iter().map(|(code, count)| (code.clone(), *count)).collect()
    }

    pub fn all(&self) -> u64 {
        self.codes.lock().values().sum()
    }

    pub fn clear(&self) {
        for counts in &self.commands {
            counts.failed.store(0, Ordering::Relaxed);
            counts.refused.store(0, Ordering::Relaxed);
        }
        self.codes.lock().clear();
    }
}

/// The error of a reply that is one, without the byte that says so.
pub fn error_of(reply: &[u8]) -> Option<&[u8]> {
    reply.strip_prefix(b"-")
}

/// The first word; `ERR` where there is no second.
fn code_of(text: &[u8]) -> &[u8] {
    let space = text.iter().take(CODE_BYTES_MAX).position(|byte| *byte == b' ');
    match space {
        Some(end @ 1..) => &text[..end],
        _ => b"ERR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_first_words_and_not_too_many() {
        assert_eq!(code_of(b"WRONGTYPE Operation against a key"), b"WRONGTYPE");
        for none in [&b""[..], b" leading", b"alone", &[b'X'; 200]] {
            assert_eq!(code_of(none), b"ERR");
        }
        let errors = Errors::default();
        for number in 0..2 * CODES_MAX {
            errors.told(format!("CODE{number} says this").as_bytes());
            errors.told(b"CODE0 says that");
        }
        let codes = errors.codes();
        assert_eq!(codes.len(), CODES_MAX + 1);
        assert!(codes.contains(&(b"CODE0".to_vec(), 1 + 2 * CODES_MAX as u64)));
        assert!(codes.contains(&(OTHER_CODES.to_vec(), CODES_MAX as u64)));
        assert_eq!(errors.all(), 4 * CODES_MAX as u64);
        errors.clear();
        assert_eq!(errors.all(), 0);
    }
}
