//! What a disk promises, and what it does not.
//!
//! * A write is visible to later reads at once and survives a power cut only after [`File::sync_data`] on that file
//!   returned. Unsynced writes may survive whole, in part, in any order, or not at all.
//! * A new name, a rename or a removal survives a power cut only after [`Disk::sync_dir`] on the directory returned.
//! * After a failed sync nothing is known about any write since the last good one; a second sync that succeeds proves
//!   nothing. Callers give up on the file.

use std::io;
use std::path::Path;

/// What [`Disk::open`] does about a file that is there, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It must be there; it is only read.
    Read,
    /// It must be there; it is read and written.
    Write,
    /// It is created, or emptied if it is there; it is read and written.
    Create,
}

pub trait Disk: Send + Sync + 'static {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>>;

    /// Creates the directory and its parents.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// The names of the files in a directory, sorted.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Replaces `to` if it is there.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes creations, renames and removals in the directory survive a power cut.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Takes the lock file for this process until the returned guard is dropped or the process dies. The file holds the
    /// owner's process id, for the message to the one who comes second.
    fn lock(&self, path: &Path) -> Result<DirLock, LockError>;
}

/// An open file. Reads and writes name their offset, so that one file serves several threads.
pub trait File: Send + Sync + 'static {
    /// Reads up to `buffer.len()` bytes; fewer only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all of `bytes`, extending the file if needed.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Makes the file's bytes, and the length needed to read them back, survive a power cut.
    fn sync_data(&self) -> io::Result<()>;

    /// Gives the file `length` bytes that the disk has really set aside: a later write inside them cannot find the disk
    /// full, and its sync has nothing but the written bytes to take care of. New bytes read as zero.
    fn allocate(&self, length: u64) -> io::Result<()>;

    fn length(&self) -> io::Result<u64>;
}

impl dyn File {
    /// Fills `buffer`, or fails with [`io::ErrorKind::UnexpectedEof`].
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self.read_at(buffer, offset)? {
            read if read == buffer.len() => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Holds a directory for this process; dropping it lets go.
pub struct DirLock {
    _held: Box<dyn Send + Sync>,
}

impl DirLock {
    pub(crate) fn new(held: impl Send + Sync + 'static) -> DirLock {
        DirLock { _held: Box::new(held) }
    }
}

impl std::fmt::Debug for DirLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DirLock")
    }
}

#[derive(Debug)]
pub enum LockError {
    /// Another process has it; its id, if the lock file told.
    Held {
        pid: Option<u32>,
    },
    Io(io::Error),
}
