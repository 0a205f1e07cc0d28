//! When to move what lies in sparse pages of the allocator.
//!
//! The housekeeper looks whether there are gaps, since to go over all pages may take milliseconds; the shard's thread, which owns the
//! writer, moves what lies there, between batches and when idle.

use std::sync::atomic::Ordering::Relaxed;

use governor::pages::Sparse;
use parking_lot::Mutex;

use crate::machine::Replicated;

/// Rounds of the housekeeper between two looks, and the most when looking has been of no use: about a second, and a minute.
const PAUSE: u32 = 8;
const LONGEST_PAUSE: u32 = 600;
/// A pass is of use when it moves this part of what it was to move. The rest is not the store's, or had to stay.
const USEFUL_PART: u64 = 4;

pub(crate) struct Compaction {
    rounds_to_wait: u32,
    pause: u32,
    pass: Option<Pass>,
}

/// One on its way.
struct Pass {
    to_move: u64,
    moved_before: u64,
}

impl Compaction {
    pub fn new() -> Compaction {
        Compaction {
            rounds_to_wait: PAUSE,
            pause: PAUSE,
            pass: None,
        }
    }

    /// Called in every round.
    pub fn look(&mut self, replicated: &Mutex<Replicated>) {
        if let Some(pass) = &self.pass {
            let replicated = replicated.lock();
            if replicated.writer.is_compacting() {
                return;
            }
            let moved = replicated.writer.store().compactions().moved_bytes.load(Relaxed) - pass.moved_before;
            let was_useful = moved >= pass.to_move / USEFUL_PART;
            self.pass = None;
            self.pause = if was_useful {
                PAUSE
            } else {
                (self.pause * 2).min(LONGEST_PAUSE)
            };
            // The next look finds what this pass has left.
            self.rounds_to_wait = if was_useful { 0 } else { self.pause };
        }
        if self.rounds_to_wait > 0 {
            self.rounds_to_wait -= 1;
            return;
        }
        self.rounds_to_wait = self.pause;
        if let Some(sparse) = Sparse::find() {
            let writer = &mut replicated.lock().writer;
            self.pass = Some(Pass {
                to_move: sparse.used,
                moved_before: writer.store().compactions().moved_bytes.load(Relaxed),
            });
            writer.begin_compaction(sparse);
        }
    }
}
