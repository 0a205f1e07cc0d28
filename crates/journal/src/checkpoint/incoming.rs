//! Checkpoints on their way from another replica.
//!
//! ```text
//!   N.tmp ──all of it came, synced──▶ N.incoming ──the log begins after N──▶ N.checkpoint
//! ```
//!
//! A checkpoint from elsewhere and this replica's log do not join until the log has been told to begin after it. Whoever dies between the
//! two steps finds at the next start an incoming checkpoint, and in the log whether it counts.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use env::{Access, Disk, File};

use super::{Checkpoint, CheckpointDir, SYNC_BYTES};
use crate::OpenError;

/// A file that is being filled from its start.
pub struct Incoming {
    dir: CheckpointDir,
    index: u64,
    length: u64,
    file: Box<dyn File>,
    path: PathBuf,
    written: u64,
    synced: u64,
}

impl CheckpointDir {
    /// Begins to take over a checkpoint of entry `index`, a file of `length` bytes.
    pub fn receive(&self, index: u64, length: u64) -> io::Result<Incoming> {
        let path = self.dir.join(format!("{index:020}.tmp"));
        Ok(Incoming {
            dir: self.clone(),
            index,
            length,
            file: self.env.disk.open(&path, Access::Create)?,
            path,
            written: 0,
            synced: 0,
        })
    }

    /// The file of the checkpoint of entry `index`, to be sent as it is, and its length.
    pub fn file(&self, index: u64) -> io::Result<(Arc<dyn File>, u64)> {
        let file: Arc<dyn File> = self.env.disk.open(&self.path(index), Access::Read)?.into();
        let length = file.length()?;
        Ok((file, length))
    }

    /// Makes incoming checkpoints count that the log begins after, and removes the others. `purged`: the last entry that the log is without.
    pub fn settle_incoming(&self, purged: Option<u64>) -> Result<(), OpenError> {
        let io_error = |error| OpenError::io(&self.dir, error);
        for name in self.env.disk.list(&self.dir).map_err(io_error)? {
            let Some(index) = name.strip_suffix(".incoming").and_then(|index| index.parse().ok()) else {
                continue;
            };
            if Some(index) <= purged {
                self.accept(index).map_err(io_error)?;
            } else {
                self.env.disk.remove(&self.dir.join(name)).map_err(io_error)?;
            }
        }
        Ok(())
    }

    fn incoming_path(&self, index: u64) -> PathBuf {
        self.dir.join(format!("{index:020}.incoming"))
    }

    fn accept(&self, index: u64) -> io::Result<()> {
        self.env.disk.rename(&self.incoming_path(index), &self.path(index))?;
        self.env.disk.sync_dir(&self.dir)
    }
}

impl Incoming {
    pub fn index(&self) -> u64 {
        self.index
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// From where on bytes are missing; the file's length: nothing is.
    pub fn missing_from(&self) -> u64 {
        self.written
    }

    /// Adds bytes of the file. What does not follow what is there, or goes beyond the end, is left out.
    pub fn add(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset != self.written || bytes.len() as u64 > self.length - self.written {
            return Ok(());
        }
        self.file.write_at(bytes, offset)?;
        self.written += bytes.len() as u64;
        if self.written - self.synced >= SYNC_BYTES {
            self.file.sync_data()?;
            self.synced = self.written;
        }
        Ok(())
    }

    /// All of it is there: gives it its name.
    pub fn finish(mut self) -> Result<Received, OpenError> {
        let path = self.dir.incoming_path(self.index);
        let finish = || {
            self.file.sync_data()?;
            self.dir.env.disk.rename(&self.path, &path)?;
            self.dir.env.disk.sync_dir(&self.dir.dir)
        };
        finish().map_err(|error| OpenError::io(&path, error))?;
        self.path.clone_from(&path);
        let checkpoint = Checkpoint::open(&self.dir.env, &path)?;
        Ok(Received {
            dir: self.dir.clone(),
            index: self.index,
            checkpoint,
            is_accepted: false,
        })
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if self.path != self.dir.incoming_path(self.index) {
            remove(&*self.dir.env.disk, &self.path);
        }
    }
}

/// A whole checkpoint from elsewhere. Dropped before it is accepted, it never was.
pub struct Received {
    dir: CheckpointDir,
    index: u64,
    checkpoint: Checkpoint,
    is_accepted: bool,
}

impl Received {
    /// Its chunks are checked when they are read.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The log begins after it, on the disk: it counts from now on.
    pub fn accept(mut self) -> io::Result<()> {
        self.is_accepted = true;
        self.dir.accept(self.index)
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        if !self.is_accepted {
            remove(&*self.dir.env.disk, &self.dir.incoming_path(self.index));
        }
    }
}

fn remove(disk: &dyn Disk, path: &std::path::Path) {
    // What cannot be removed now is when the directory is opened next.
    let _ = disk.remove(path);
}
