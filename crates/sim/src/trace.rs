//! What happened, in order: a hash of it always, the text where somebody wants to read it.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Everything that can differ between two runs goes through here.
pub struct Trace {
    /// Virtual milliseconds.
    now: AtomicU64,
    hash: Mutex<u64>,
    is_shown: bool,
}

/// As FNV-1a of 64 bits, by eight bytes at a time.
pub fn hash(so_far: u64, bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| ((hash ^ word).wrapping_mul(0x0100_0000_01b3)).rotate_left(29);
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = so_far ^ bytes.len() as u64;
    for word in words {
        hash = mix(hash, u64::from_le_bytes(*word));
    }
    for byte in rest {
        hash = mix(hash, u64::from(*byte));
    }
    hash
}

pub const BEGIN: u64 = 0xcbf2_9ce4_8422_2325;

impl Trace {
    pub fn new(is_shown: bool) -> Trace {
        Trace {
            now: AtomicU64::new(0),
            hash: Mutex::new(BEGIN),
            is_shown,
        }
    }

    pub fn set_now(&self, now: u64) {
        self.now.store(now, Ordering::Relaxed);
    }

    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    pub fn note(&self, what: impl Display) {
        let line = format!("{:>8} {what}\n", self.now());
        let mut so_far = self.hash.lock();
        *so_far = hash(*so_far, line.as_bytes());
        if self.is_shown {
            print!("{line}");
        }
    }

    pub fn hash(&self) -> u64 {
        *self.hash.lock()
    }
}
