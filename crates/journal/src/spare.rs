//! Segments in waiting.
//!
//! Making a segment means having the disk set aside, and write, all of its bytes: tens of milliseconds. So one is made
//! ahead of need, by whoever calls [`Spares::prepare`], and those that a checkpoint released are used again. A spare's
//! contents mean nothing; it becomes part of the log by a header and a rename.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use env::{Access, Env};
use parking_lot::Mutex;

use crate::segment::{HEADER, Segment};

/// Released segments kept for use; more are deleted.
const KEPT: usize = 8;

const PREFIX: &str = "spare-";

pub struct Spares {
    env: Env,
    dir: PathBuf,
    segment_bytes: u64,
    pool: Mutex<Vec<Spare>>,
    next_name: AtomicU64,
}

pub(crate) struct Spare {
    pub path: PathBuf,
    pub length: u64,
}

impl Spares {
    pub(crate) fn open(env: &Env, dir: &Path, segment_bytes: u64) -> io::Result<Spares> {
        let spares = Spares {
            env: env.clone(),
            dir: dir.to_owned(),
            segment_bytes,
            pool: Mutex::default(),
            next_name: AtomicU64::new(1),
        };
        // The names that are seen need not be on the disk yet; spares are written to.
        env.disk.sync_dir(dir)?;
        for name in env.disk.list(dir)? {
            let Some(number) = name.strip_prefix(PREFIX) else {
                continue;
            };
            if let Ok(number) = number.parse::<u64>() {
                spares.next_name.fetch_max(number + 1, Ordering::Relaxed);
            }
            let path = dir.join(&name);
            let length = env.disk.open(&path, Access::Read)?.length()?;
            if length < segment_bytes {
                env.disk.remove(&path)?;
            } else {
                spares.pool.lock().push(Spare { path, length });
            }
        }
        Ok(spares)
    }

    /// Makes a spare if there is none. Slow; not for the thread that commits.
    pub fn prepare(&self) -> io::Result<()> {
        if self.pool.lock().is_empty() {
            let spare = self.make(self.segment_bytes)?;
            self.pool.lock().push(spare);
        }
        Ok(())
    }

    /// Sees to it that [`take`](Self::take) for so many bytes of records finds a spare.
    pub(crate) fn ensure(&self, record_bytes: u64) -> io::Result<()> {
        let length = self.length_for(record_bytes);
        if !self.pool.lock().iter().any(|spare| spare.length >= length) {
            let spare = self.make(length)?;
            self.pool.lock().push(spare);
        }
        Ok(())
    }

    pub(crate) fn take(&self, record_bytes: u64) -> io::Result<Spare> {
        self.ensure(record_bytes)?;
        let length = self.length_for(record_bytes);
        let mut pool = self.pool.lock();
        let fitting = pool.iter().position(|spare| spare.length >= length);
        // Only the journal takes, and it takes one at a time.
        Ok(pool.swap_remove(fitting.expect("a spare was just ensured")))
    }

    /// Takes back segments that the log does not need any more.
    pub(crate) fn give(&self, segments: &[Segment]) -> io::Result<()> {
        let mut spares = Vec::new();
        for segment in segments {
            let is_ordinary = segment.length == self.segment_bytes;
            if is_ordinary && self.pool.lock().len() + spares.len() < KEPT {
                let path = self.new_path();
                self.env.disk.rename(&segment.path, &path)?;
                spares.push(Spare {
                    path,
                    length: segment.length,
                });
            } else {
                self.env.disk.remove(&segment.path)?;
            }
        }
        // A spare is written to: by then it must not be found under its old name any more.
        self.env.disk.sync_dir(&self.dir)?;
        self.pool.lock().extend(spares);
        Ok(())
    }

    fn length_for(&self, record_bytes: u64) -> u64 {
        self.segment_bytes.max(HEADER + record_bytes)
    }

    fn new_path(&self) -> PathBuf {
        self.dir
            .join(format!("{PREFIX}{}", self.next_name.fetch_add(1, Ordering::Relaxed)))
    }

    fn make(&self, length: u64) -> io::Result<Spare> {
        let path = self.new_path();
        let file = self.env.disk.open(&path, Access::Create)?;
        match file.allocate(length).and_then(|()| file.sync_data()) {
            Ok(()) => Ok(Spare { path, length }),
            Err(error) => {
                drop(file);
                // The first error is the one to tell; a file left behind is removed when the journal is opened next.
                let _ = self.env.disk.remove(&path);
                Err(error)
            }
        }
    }
}
