//! Faults on top of any disk: the n-th write, sync or preallocation fails, or syncs hang.

use std::io;
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::{Access, DirLock, Disk, File, LockError};

/// One thing that goes wrong. Counting starts at 1 when the fault is injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The n-th write fails after half of its bytes.
    Write(u64),
    /// The n-th sync fails; like a real one, only once: the next one "succeeds" though the data is gone.
    Sync(u64),
    /// The n-th preallocation finds the disk full, once.
    AllocateFull(u64),
}

/// A disk that fails on demand and otherwise passes everything on.
pub struct FaultyDisk {
    inner: Arc<dyn Disk>,
    plan: Arc<Mutex<Vec<Fault>>>,
    stall: Arc<Stall>,
}

#[derive(Default)]
struct Stall {
    stalled: Mutex<bool>,
    over: Condvar,
}

impl FaultyDisk {
    pub fn new(inner: Arc<dyn Disk>) -> FaultyDisk {
        FaultyDisk {
            inner,
            plan: Arc::default(),
            stall: Arc::default(),
        }
    }

    /// Syncs hang, until they are told to go on.
    pub fn stall_syncs(&self, stalled: bool) {
        *self.stall.stalled.lock() = stalled;
        self.stall.over.notify_all();
    }

    pub fn inject(&self, fault: Fault) {
        self.plan.lock().push(fault);
    }

    /// Whether everything that was injected has happened.
    pub fn is_spent(&self) -> bool {
        self.plan.lock().is_empty()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Write,
    Sync,
    Allocate,
}

/// Counts one operation down; true if it is the one that has to fail.
fn is_due(plan: &Mutex<Vec<Fault>>, operation: Operation) -> bool {
    let mut due = false;
    plan.lock().retain_mut(|fault| {
        let (kind, left) = match fault {
            Fault::Write(left) => (Operation::Write, left),
            Fault::Sync(left) => (Operation::Sync, left),
            Fault::AllocateFull(left) => (Operation::Allocate, left),
        };
        if kind != operation {
            return true;
        }
        *left -= 1;
        due |= *left == 0;
        *left != 0
    });
    due
}

fn input_output_error() -> io::Error {
    io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error())
}

impl Disk for FaultyDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        Ok(Box::new(FaultyFile {
            inner: self.inner.open(path, access)?,
            plan: self.plan.clone(),
            stall: self.stall.clone(),
        }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.inner.create_dir(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.inner.list(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }

    fn lock(&self, path: &Path) -> Result<DirLock, LockError> {
        self.inner.lock(path)
    }
}

struct FaultyFile {
    inner: Box<dyn File>,
    plan: Arc<Mutex<Vec<Fault>>>,
    stall: Arc<Stall>,
}

impl File for FaultyFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if is_due(&self.plan, Operation::Write) {
            self.inner.write_at(&bytes[..bytes.len() / 2], offset)?;
            return Err(input_output_error());
        }
        self.inner.write_at(bytes, offset)
    }

    fn sync_data(&self) -> io::Result<()> {
        if is_due(&self.plan, Operation::Sync) {
            return Err(input_output_error());
        }
        self.stall
            .over
            .wait_while(&mut self.stall.stalled.lock(), |stalled| *stalled);
        self.inner.sync_data()
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        if is_due(&self.plan, Operation::Allocate) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.inner.allocate(length)
    }

    fn length(&self) -> io::Result<u64> {
        self.inner.length()
    }
}

/// The variable that breaks the real disk of a debug build.
#[cfg(any(debug_assertions, feature = "faults"))]
const VARIABLE: &str = "ENV_FAULTS";

/// Wraps the disk if the environment asks for faults and this build knows them.
#[cfg(any(debug_assertions, feature = "faults"))]
pub(crate) fn from_environment(disk: Arc<dyn Disk>) -> Arc<dyn Disk> {
    let Ok(plan) = std::env::var(VARIABLE) else {
        return disk;
    };
    let faulty = FaultyDisk::new(disk);
    for fault in plan.split(',').map(|text| parse(text.trim())) {
        // A misspelt fault would make a fault test pass for nothing.
        faulty.inject(fault.unwrap_or_else(|| panic!("{VARIABLE}={plan}: not a fault plan")));
    }
    Arc::new(faulty)
}

#[cfg(not(any(debug_assertions, feature = "faults")))]
pub(crate) fn from_environment(disk: Arc<dyn Disk>) -> Arc<dyn Disk> {
    disk
}

#[cfg(any(debug_assertions, feature = "faults"))]
fn parse(text: &str) -> Option<Fault> {
    let (what, count) = text.split_once('@')?;
    let count = count.parse().ok().filter(|&count| count > 0)?;
    match what {
        "write:fail" => Some(Fault::Write(count)),
        "sync:fail" => Some(Fault::Sync(count)),
        "alloc:full" => Some(Fault::AllocateFull(count)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimDisk;

    #[test]
    fn the_named_operation_fails_once() {
        let disk = FaultyDisk::new(SimDisk::new(0));
        disk.inject(Fault::Write(2));
        disk.inject(Fault::Sync(1));
        let file = disk.open(Path::new("a"), Access::Create).unwrap();
        file.write_at(b"ab", 0).unwrap();
        assert!(file.sync_data().is_err());
        assert!(file.write_at(b"cd", 2).is_err());
        assert_eq!(file.length().unwrap(), 3, "half of the failed write arrived");
        assert!(disk.is_spent());
        file.write_at(b"cd", 2).unwrap();
        file.sync_data().unwrap();
    }

    #[test]
    fn plans_are_read() {
        assert_eq!(parse("write:fail@17"), Some(Fault::Write(17)));
        assert_eq!(parse("sync:fail@3"), Some(Fault::Sync(3)));
        assert_eq!(parse("alloc:full@1"), Some(Fault::AllocateFull(1)));
        for wrong in ["", "sync", "sync:fail@0", "sync:fail@x", "read:fail@1"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
