//! Commands that took long (SLOWLOG): the last ones, in memory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

/// Arguments that are kept, and of each so many bytes.
const ARGS_MAX: usize = 32;
const ARG_BYTES_MAX: usize = 128;
/// Commands whose arguments may have passwords in them.
const SECRET: [&[u8]; 3] = [b"AUTH", b"HELLO", b"ACL"];

/// A command that took long.
#[derive(Debug, Clone)]
pub struct Entry {
    pub id: u64,
    /// Seconds since 1970.
    pub at: i64,
    pub micros: u64,
    pub args: Vec<Vec<u8>>,
    pub address: String,
    pub name: Vec<u8>,
}

/// The last commands that took long.
pub struct Slowlog {
    /// Less than zero: none is kept (`slowlog-log-slower-than`).
    threshold_micros: AtomicI64,
    /// `slowlog-max-len`
    len_max: AtomicUsize,
    next_id: AtomicU64,
    entries: Mutex<VecDeque<Entry>>,
}

impl Default for Slowlog {
    fn default() -> Slowlog {
        Slowlog {
            threshold_micros: AtomicI64::new(10_000),
            len_max: AtomicUsize::new(128),
            next_id: AtomicU64::new(0),
            entries: Mutex::default(),
        }
    }
}

impl Slowlog {
    pub fn threshold_micros(&self) -> i64 {
        self.threshold_micros.load(Ordering::Relaxed)
    }

    pub fn set_threshold_micros(&self, micros: i64) {
        self.threshold_micros.store(micros, Ordering::Relaxed);
    }

    pub fn len_max(&self) -> usize {
        self.len_max.load(Ordering::Relaxed)
    }

    pub fn set_len_max(&self, len: usize) {
        self.len_max.store(len, Ordering::Relaxed);
        self.entries.lock().truncate(len);
    }

    /// Whether a command that took so long is kept.
    #[inline]
    pub fn is_slow(&self, took: Duration) -> bool {
        let threshold = self.threshold_micros();
        threshold >= 0 && took.as_micros() >= threshold as u128
    }

    pub fn add(&self, args: &[&[u8]], took: Duration, at: i64, address: &str, name: Vec<u8>) {
        let len_max = self.len_max();
        if len_max == 0 {
            return;
        }
        let entry = Entry {
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            at,
            micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            args: shown(args),
            address: address.to_owned(),
            name,
        };
        // It is the node's, not the client's.
        governor::given_away(|| {
            let mut entries = self.entries.lock();
            entries.push_front(entry);
            entries.truncate(len_max);
        });
    }

    /// The newest first.
    pub fn newest(&self, most: usize) -> Vec<Entry> {
        self.entries.lock().iter().take(most).cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.entries.lock().len()
    }

    pub fn clear(&self) {
        self.entries.lock().clear();
    }
}

fn shown(args: &[&[u8]]) -> Vec<Vec<u8>> {
    let is_secret = args
        .first()
        .is_some_and(|name| SECRET.iter().any(|secret| name.eq_ignore_ascii_case(secret)));
    if is_secret {
        return vec![args[0].to_vec(), b"(redacted)".to_vec()];
    }
    let kept = match args.len() > ARGS_MAX {
        true => ARGS_MAX - 1,
        false => args.len(),
    };
    let mut shown: Vec<Vec<u8>> = args[..kept]
        .iter()
        .map(|arg| match arg.len() > ARG_BYTES_MAX {
            true => {
                let mut begin = arg[..ARG_BYTES_MAX].to_vec();
                begin.extend_from_slice(format!("... ({} more bytes)", arg.len() - ARG_BYTES_MAX).as_bytes());
                begin
            }
            false => arg.to_vec(),
        })
        .collect();
    if kept < args.len() {
        shown.push(format!("... ({} more arguments)", args.len() - kept).into_bytes());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_commands_are_cut_and_secrets_left_out() {
        let log = Slowlog::default();
        let many: Vec<&[u8]> = vec![b"x"; 40];
        let long = vec![b'y'; 200];
        log.set_len_max(2);
        for args in [&many[..], &[b"auth", b"secret"], &[b"SET", b"k", &long]] {
            log.add(args, Duration::from_millis(20), 7, "127.0.0.1:1", Vec::new());
        }
        let newest = log.newest(10);
        assert_eq!(newest.len(), 2);
        assert_eq!(newest[0].args[2].len(), 128 + "... (72 more bytes)".len());
        assert_eq!(newest[1].args, [b"auth".to_vec(), b"(redacted)".to_vec()]);
        assert_eq!(shown(&many)[31], b"... (9 more arguments)");
        assert!(log.is_slow(Duration::from_millis(10)) && !log.is_slow(Duration::from_millis(9)));
    }
}
