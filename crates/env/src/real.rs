//! The operating system's disk, clock and randomness.

use std::fs;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::rand::{GetRandomFlags, getrandom};

use crate::{Access, Clock, DirLock, Disk, File, LockError, Random};

#[derive(Debug)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true);
        match access {
            Access::Read => {}
            Access::Write => {
                options.write(true);
            }
            Access::Create => {
                options.write(true).create(true).truncate(true);
            }
        }
        Ok(Box::new(RealFile(options.open(path)?)))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        Ok(names)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path) -> Result<DirLock, LockError> {
        let mut file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(LockError::Io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                let mut owner = String::new();
                // The owner's id only decorates the message: not being able to read it is no second failure.
                let _ = file.read_to_string(&mut owner);
                return Err(LockError::Held {
                    pid: owner.trim().parse().ok(),
                });
            }
            Err(fs::TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        let note_owner = |file: &mut fs::File| -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        match note_owner(&mut file) {
            Ok(()) => {}
            // A full disk must not keep a server from starting: the lock itself is held.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {}
            Err(error) => return Err(LockError::Io(error)),
        }
        Ok(DirLock::new(file))
    }
}

struct RealFile(fs::File);

impl File for RealFile {
    fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let wanted = buffer.len();
        while !buffer.is_empty() {
            match self.0.read_at(buffer, offset) {
                Ok(0) => break,
                Ok(read) => {
                    buffer = &mut buffer[read..];
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(wanted - buffer.len())
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        let start = self.length()?;
        match fallocate(&self.0, FallocateFlags::empty(), 0, length) {
            // A file system that cannot set bytes aside gets them written: slower, the same promise.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        write_zeros(&self.0, start..length)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

/// Bytes that are only set aside are marked as unwritten, and the first write to each block has to change that mark,
/// durably. Writing them now makes each later sync cheaper by half.
fn write_zeros(file: &fs::File, range: std::ops::Range<u64>) -> io::Result<()> {
    const PIECE: u64 = 1 << 20;
    /// A sync of another file that comes meanwhile does not wait for more than this.
    const SYNC_BYTES: u64 = 8 << 20;
    let zeros = vec![0; PIECE as usize];
    let mut offset = range.start;
    while offset < range.end {
        let piece = PIECE.min(range.end - offset);
        file.write_all_at(&zeros[..piece as usize], offset)?;
        offset += piece;
        if (offset - range.start).is_multiple_of(SYNC_BYTES) {
            file.sync_data()?;
        }
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct RealClock {
    start: Instant,
}

impl RealClock {
    pub(crate) fn new() -> RealClock {
        RealClock { start: Instant::now() }
    }
}

impl Clock for RealClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn wall(&self) -> Duration {
        // A machine whose clock stands before 1970 gets 1970.
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Unpredictable enough to tell two journals apart; not for secrets.
#[derive(Debug)]
pub(crate) struct RealRandom;

impl Random for RealRandom {
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        let mut filled = 0;
        while filled < bytes.len() {
            // Salts and made-up passwords come from here: nothing that can be foretold stands in for the system's numbers.
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty()).expect("the system has random numbers");
        }
        u64::from_ne_bytes(bytes)
    }
}
