//! What can go wrong, by what the caller can do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

/// Bytes on disk that are not what was promised. Starting with them would lose data in silence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} is damaged at byte {offset}: {what}", file.display())]
pub struct Damage {
    pub file: PathBuf,
    pub offset: u64,
    pub what: String,
}

impl Damage {
    pub(crate) fn new(file: &Path, offset: u64, what: impl Into<String>) -> Damage {
        Damage {
            file: file.to_owned(),
            offset,
            what: what.into(),
        }
    }
}

/// Why a journal or checkpoint cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    /// An operator must restore the file, or rebuild this replica from its peers.
    #[error(transparent)]
    Damaged(#[from] Damage),
    /// A newer program's file, or damage of the number itself, which stands at byte 8 of every file.
    #[error("{}, byte 8: format version {found}; this program reads {known}", file.display())]
    Version { file: PathBuf, found: u32, known: u32 },
    #[error("{}: {error}", file.display())]
    Io { file: PathBuf, error: io::Error },
}

impl OpenError {
    pub(crate) fn io(file: &Path, error: io::Error) -> OpenError {
        OpenError::Io {
            file: file.to_owned(),
            error,
        }
    }
}

/// Why a record was not written.
#[derive(Debug, Clone, Error)]
pub enum JournalError {
    /// Nothing was written and nothing is broken; it may be tried again.
    #[error("the disk of {} is full", dir.display())]
    DiskFull { dir: PathBuf },
    /// The journal takes nothing any more. What was appended since the last good sync may or may not be on disk.
    #[error("{0}")]
    Poisoned(Arc<str>),
}

impl From<JournalError> for io::Error {
    fn from(error: JournalError) -> io::Error {
        let kind = match error {
            JournalError::DiskFull { .. } => io::ErrorKind::StorageFull,
            JournalError::Poisoned(_) => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}
