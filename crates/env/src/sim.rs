//! A disk in memory that keeps no promise it did not make.
//!
//! ```text
//!            write_at                sync_data
//!   caller ───────────▶ seen + pending ───────────▶ durable
//!                          │
//!                          └── power cut: each pending write survives whole, in part, or not at all
//! ```
//!
//! Names work alike: creations, renames and removals wait in order until `sync_dir`; a power cut keeps a random number
//! of the first ones, as a journaling file system would.
//!
//! A test schedules [`SimDisk::cut_power_after`], runs its workload until the disk goes silent, calls
//! [`SimDisk::restore_power`] and opens everything again.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Access, DirLock, Disk, File, LockError, SeededRandom};

/// Writes are torn at any byte, and also at the granularity at which real disks tear them.
const SECTOR: usize = 512;

pub struct SimDisk {
    state: Arc<Mutex<State>>,
    chance: SeededRandom,
}

#[derive(Default)]
struct State {
    inodes: Vec<Inode>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    pending_names: Vec<NameChange>,
    locks: BTreeSet<PathBuf>,
    capacity: Option<u64>,
    /// Operations that change something and may still happen before the power goes.
    operations_left: Option<u64>,
    operations_done: u64,
    /// Handles opened before the last power cut are of no use after it.
    boot: u64,
}

#[derive(Default, Clone)]
struct Inode {
    seen: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Extend { length: usize },
}

enum NameChange {
    Bind { path: PathBuf, inode: usize },
    Rename { from: PathBuf, to: PathBuf },
    Unbind { path: PathBuf },
}

impl SimDisk {
    /// An empty disk. The seed decides what survives a power cut.
    pub fn new(seed: u64) -> Arc<SimDisk> {
        Arc::new(SimDisk {
            state: Arc::default(),
            chance: SeededRandom::new(seed),
        })
    }

    /// Lets `operations` more changes happen, then cuts the power: the last of them may be torn, and everything after
    /// it fails until [`restore_power`](Self::restore_power).
    pub fn cut_power_after(&self, operations: u64) {
        self.state.lock().operations_left = Some(operations);
    }

    /// How many changing operations (writes, syncs, allocations, names) there have been since the disk was made.
    pub fn operations(&self) -> u64 {
        self.state.lock().operations_done
    }

    /// Decides what survived, and makes the disk usable again. Open files and locks are gone.
    pub fn restore_power(&self) {
        let state = &mut *self.state.lock();
        state.operations_left = None;
        state.locks.clear();
        state.boot += 1;
        for inode in &mut state.inodes {
            inode.lose_power(&self.chance);
        }
        let kept = self.chance.below(state.pending_names.len() as u64 + 1) as usize;
        let mut names = std::mem::take(&mut state.durable_names);
        for change in state.pending_names.drain(..).take(kept) {
            change.apply(&mut names);
        }
        state.names = names.clone();
        state.durable_names = names;
    }

    /// The process dies, the machine does not: everything written is still there, open files and locks are gone.
    pub fn kill_process(&self) {
        let state = &mut *self.state.lock();
        state.operations_left = None;
        state.locks.clear();
        state.boot += 1;
    }

    /// Limits the bytes that all files together may have; `None` lifts the limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state.lock().capacity = bytes;
    }

    pub fn used(&self) -> u64 {
        self.state.lock().used()
    }

    /// Inverts bits of one byte, in the file as it is seen and on the platter.
    pub fn corrupt(&self, path: &Path, offset: u64, mask: u8) {
        let state = &mut *self.state.lock();
        let inode = *state.names.get(path).expect("the file to corrupt is there");
        let inode = &mut state.inodes[inode];
        for bytes in [&mut inode.seen, &mut inode.durable] {
            if let Some(byte) = bytes.get_mut(offset as usize) {
                *byte ^= mask;
            }
        }
    }

    /// A file's bytes as a program sees them.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state.lock();
        let inode = *state.names.get(path)?;
        Some(state.inodes[inode].seen.clone())
    }

    /// Puts a file on the disk, durable at once.
    pub fn put(&self, path: &Path, bytes: Vec<u8>) {
        let state = &mut *self.state.lock();
        state.inodes.push(Inode {
            seen: bytes.clone(),
            durable: bytes,
            pending: Vec::new(),
        });
        let inode = state.inodes.len() - 1;
        state.names.insert(path.to_owned(), inode);
        state.durable_names.insert(path.to_owned(), inode);
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.state.lock().names.keys().cloned().collect()
    }

    /// A second disk with the same durable contents, to try several futures of one history.
    pub fn fork(&self, seed: u64) -> Arc<SimDisk> {
        let state = self.state.lock();
        let copy = State {
            inodes: state.inodes.clone(),
            names: state.names.clone(),
            durable_names: state.names.clone(),
            ..State::default()
        };
        Arc::new(SimDisk {
            state: Arc::new(Mutex::new(copy)),
            chance: SeededRandom::new(seed),
        })
    }
}

impl State {
    fn used(&self) -> u64 {
        self.names
            .values()
            .map(|&inode| self.inodes[inode].seen.len() as u64)
            .sum()
    }

    /// Every change passes here; `Err` once the power is out.
    fn operate(&mut self) -> io::Result<()> {
        if let Some(left) = &mut self.operations_left {
            if *left == 0 {
                return Err(power_is_out());
            }
            *left -= 1;
        }
        self.operations_done += 1;
        Ok(())
    }

    fn has_power(&self) -> io::Result<()> {
        if self.operations_left == Some(0) {
            Err(power_is_out())
        } else {
            Ok(())
        }
    }

    fn make_room(&self, more: u64) -> io::Result<()> {
        match self.capacity {
            Some(capacity) if self.used() + more > capacity => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.pending_names.push(change);
    }
}

fn power_is_out() -> io::Error {
    io::Error::other("the power is out")
}

impl Inode {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen, usize::MAX);
        self.pending.push(change);
    }

    fn lose_power(&mut self, chance: &SeededRandom) {
        for change in std::mem::take(&mut self.pending) {
            change.survive(&mut self.durable, chance);
        }
        self.seen = self.durable.clone();
    }
}

impl Change {
    /// Applies the change, of a write at most its first `limit` bytes.
    fn apply(&self, to: &mut Vec<u8>, limit: usize) {
        match self {
            Change::Write { offset, bytes } => {
                let bytes = &bytes[..limit.min(bytes.len())];
                if to.len() < offset + bytes.len() {
                    to.resize(offset + bytes.len(), 0);
                }
                to[*offset..offset + bytes.len()].copy_from_slice(bytes);
            }
            Change::Extend { length } => {
                if to.len() < *length {
                    to.resize(*length, 0);
                }
            }
        }
    }

    /// What a power cut leaves of a change that was not synced.
    fn survive(&self, to: &mut Vec<u8>, chance: &SeededRandom) {
        match chance.below(4) {
            0 => {}
            1 => self.apply(to, usize::MAX),
            2 => {
                let length = match self {
                    Change::Write { bytes, .. } => bytes.len() as u64,
                    Change::Extend { .. } => 0,
                };
                self.apply(to, chance.below(length + 1) as usize);
            }
            _ => self.survive_by_sectors(to, chance),
        }
    }

    fn survive_by_sectors(&self, to: &mut Vec<u8>, chance: &SeededRandom) {
        let Change::Write { offset, bytes } = self else {
            return self.apply(to, usize::MAX);
        };
        let mut start = 0;
        while start < bytes.len() {
            let end = bytes.len().min(start + SECTOR - (offset + start) % SECTOR);
            if chance.below(2) == 0 {
                Change::Write {
                    offset: offset + start,
                    bytes: bytes[start..end].to_vec(),
                }
                .apply(to, usize::MAX);
            }
            start = end;
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            NameChange::Bind { path, inode } => {
                names.insert(path.clone(), *inode);
            }
            NameChange::Rename { from, to } => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
            NameChange::Unbind { path } => {
                names.remove(path);
            }
        }
    }
}

impl Disk for SimDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        let state = &mut *self.state.lock();
        state.has_power()?;
        let inode = match (access, state.names.get(path)) {
            (Access::Create, _) => {
                state.operate()?;
                state.inodes.push(Inode::default());
                let inode = state.inodes.len() - 1;
                state.change_name(NameChange::Bind {
                    path: path.to_owned(),
                    inode,
                });
                inode
            }
            (_, Some(&inode)) => inode,
            (_, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Box::new(SimFile {
            state: self.state.clone(),
            inode,
            boot: state.boot,
        }))
    }

    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        self.state.lock().has_power()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.state.lock();
        state.has_power()?;
        let inside = state.names.keys().filter(|path| path.parent() == Some(dir));
        Ok(inside
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let state = &mut *self.state.lock();
        if !state.names.contains_key(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.operate()?;
        state.change_name(NameChange::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        });
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let state = &mut *self.state.lock();
        if !state.names.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.operate()?;
        state.change_name(NameChange::Unbind { path: path.to_owned() });
        Ok(())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        let state = &mut *self.state.lock();
        state.operate()?;
        let mut names = std::mem::take(&mut state.durable_names);
        for change in state.pending_names.drain(..) {
            change.apply(&mut names);
        }
        state.durable_names = names;
        Ok(())
    }

    fn lock(&self, path: &Path) -> Result<DirLock, LockError> {
        let state = &mut *self.state.lock();
        state.has_power().map_err(LockError::Io)?;
        if !state.locks.insert(path.to_owned()) {
            return Err(LockError::Held {
                pid: Some(std::process::id()),
            });
        }
        Ok(DirLock::new(SimLock {
            state: self.state.clone(),
            path: path.to_owned(),
            boot: state.boot,
        }))
    }
}

struct SimLock {
    state: Arc<Mutex<State>>,
    path: PathBuf,
    boot: u64,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let state = &mut *self.state.lock();
        if state.boot == self.boot {
            state.locks.remove(&self.path);
        }
    }
}

struct SimFile {
    state: Arc<Mutex<State>>,
    inode: usize,
    boot: u64,
}

impl SimFile {
    fn with<T>(&self, action: impl FnOnce(&mut State, usize) -> io::Result<T>) -> io::Result<T> {
        let state = &mut *self.state.lock();
        if state.boot != self.boot {
            return Err(io::Error::other("this file was opened before the crash"));
        }
        action(state, self.inode)
    }
}

impl File for SimFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.with(|state, inode| {
            state.has_power()?;
            let seen = &state.inodes[inode].seen;
            let start = seen.len().min(offset as usize);
            let read = buffer.len().min(seen.len() - start);
            buffer[..read].copy_from_slice(&seen[start..start + read]);
            Ok(read)
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.with(|state, inode| {
            let end = offset + bytes.len() as u64;
            state.make_room(end.saturating_sub(state.inodes[inode].seen.len() as u64))?;
            state.operate()?;
            state.inodes[inode].change(Change::Write {
                offset: offset as usize,
                bytes: bytes.to_vec(),
            });
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|state, inode| {
            state.operate()?;
            let inode = &mut state.inodes[inode];
            inode.pending.clear();
            inode.durable.clone_from(&inode.seen);
            Ok(())
        })
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.with(|state, inode| {
            state.make_room(length.saturating_sub(state.inodes[inode].seen.len() as u64))?;
            state.operate()?;
            state.inodes[inode].change(Change::Extend {
                length: length as usize,
            });
            Ok(())
        })
    }

    fn length(&self) -> io::Result<u64> {
        self.with(|state, inode| {
            state.has_power()?;
            Ok(state.inodes[inode].seen.len() as u64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(disk: &Arc<SimDisk>, name: &str, bytes: &[u8]) -> Box<dyn File> {
        let file = disk.open(Path::new(name), Access::Create).unwrap();
        file.write_at(bytes, 0).unwrap();
        file
    }

    #[test]
    fn synced_bytes_survive_a_power_cut() {
        for seed in 0..100 {
            let disk = SimDisk::new(seed);
            let file = written(&disk, "d/a", b"kept");
            file.sync_data().unwrap();
            disk.sync_dir(Path::new("d")).unwrap();
            file.write_at(b"lost", 4).unwrap();
            disk.restore_power();
            assert_eq!(&disk.contents(Path::new("d/a")).unwrap()[..4], b"kept");
            assert!(
                file.write_at(b"x", 0).is_err(),
                "a handle from before the crash is dead"
            );
        }
    }

    #[test]
    fn unsynced_writes_are_lost_kept_and_torn() {
        let mut outcomes = BTreeSet::new();
        for seed in 0..200 {
            let disk = SimDisk::new(seed);
            let file = written(&disk, "a", &[0; 4]);
            file.sync_data().unwrap();
            disk.sync_dir(Path::new("")).unwrap();
            file.write_at(&[1; 4], 0).unwrap();
            disk.restore_power();
            outcomes.insert(disk.contents(Path::new("a")).unwrap());
        }
        for expected in [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]] {
            assert!(outcomes.contains(expected.as_slice()), "{expected:?} never happened");
        }
    }

    #[test]
    fn names_need_a_directory_sync() {
        let mut outcomes = BTreeSet::new();
        for seed in 0..50 {
            let disk = SimDisk::new(seed);
            written(&disk, "a", b"1").sync_data().unwrap();
            disk.rename(Path::new("a"), Path::new("b")).unwrap();
            disk.restore_power();
            outcomes.insert(disk.paths());
        }
        assert_eq!(outcomes.len(), 3, "nothing, a, b: {outcomes:?}");
    }

    #[test]
    fn power_goes_after_the_given_number_of_changes() {
        let disk = SimDisk::new(1);
        disk.cut_power_after(2);
        let file = written(&disk, "a", b"1");
        assert!(file.sync_data().is_err());
        assert!(file.read_at(&mut [0], 0).is_err());
        disk.restore_power();
        assert!(written(&disk, "a", b"1").sync_data().is_ok());
    }

    #[test]
    fn a_full_disk_says_so_and_recovers() {
        let disk = SimDisk::new(1);
        disk.set_capacity(Some(10));
        let file = written(&disk, "a", b"12345678");
        let full = file.allocate(11).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert_eq!(file.write_at(b"999", 8).unwrap_err().kind(), io::ErrorKind::StorageFull);
        disk.set_capacity(None);
        file.allocate(11).unwrap();
        assert_eq!(file.length().unwrap(), 11);
    }

    #[test]
    fn one_owner_per_lock() {
        let disk = SimDisk::new(1);
        let first = disk.lock(Path::new("LOCK")).unwrap();
        assert!(matches!(disk.lock(Path::new("LOCK")), Err(LockError::Held { .. })));
        drop(first);
        disk.lock(Path::new("LOCK")).unwrap();
    }
}
