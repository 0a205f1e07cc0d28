//! What a shard keeps on its disk: a log of everything that happened, and checkpoints that shorten it.
//!
//! ```text
//!   append ──▶ [segment 7][segment 8]                  one writer, one sync per group
//!                  ▲           │
//!        recycled  └───────────┘  once a checkpoint covers them
//!
//!   rows at log index N ──▶ N.checkpoint               written in the background
//! ```
//!
//! Entries are bytes with a term, an index and a tag; what they mean is the shard's business.
//!
//! Two questions decide this crate's design. *Was this record ever promised to anybody?* Every record carries the
//! position up to which the log was known to be synced when it was written, so recovery can tell a tail that a crash
//! tore (cut it) from a promised record that went bad (refuse, and name the place). *May this error be retried?* No: a
//! failed write or sync of the log poisons it for good. Only a full disk is harmless, because space is set aside before
//! anything is written.
//!
//! Reading order:
//!
//! * [`EntryId`], [`Vote`]: the few consensus terms a log must know;
//! * `record`, `segment`: the bytes (drawn in `docs/formats/journal.md`);
//! * `recovery`: from files to a log, or to a refusal;
//! * [`Journal`]: the writer, [`Reader`]: reading entries back;
//! * [`salvage`]: what can still be read of a damaged log;
//! * [`checkpoint`]: checkpoint files (drawn in `docs/formats/checkpoint.md`);
//! * [`Identity`]: whose the directory is.

mod admission;
mod bytes;
pub mod checkpoint;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod identity;
mod journal;
mod reader;
mod record;
mod recovery;
pub mod salvage;
mod segment;
mod spare;
mod state;

pub use admission::Admission;
pub use error::{Damage, JournalError, OpenError};
pub use identity::{Identity, Role};
pub use journal::{Journal, Options, Unsynced};
pub use reader::Reader;
pub use spare::Spares;
pub use state::{Entry, EntryId, Vote};

/// What uses the disk, with a directory that a power cut leaves there.
#[cfg(test)]
fn with_directory(disk: &std::sync::Arc<env::SimDisk>, dir: &std::path::Path) -> env::Env {
    let env = env::Env::simulated(disk.clone(), 1);
    env.disk.create_dir(dir).unwrap();
    env.disk.sync_dir(std::path::Path::new("")).unwrap();
    env
}
