//! A disk that is only read: what is written lies over it in memory, and is gone with it.
//!
//! So a data directory can be opened, recovered and looked at by the ordinary code, and not a byte of it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Access, DirLock, Disk, File, LockError};

/// Pages of a file that were written are kept whole.
const PAGE: u64 = 64 << 10;

/// A disk over another one, which it never changes.
pub struct OverlayDisk {
    below: Arc<dyn Disk>,
    names: Arc<Mutex<Names>>,
}

/// What differs from the disk below.
#[derive(Default)]
struct Names {
    files: BTreeMap<PathBuf, Arc<Overlay>>,
    removed: BTreeSet<PathBuf>,
}

/// A file's written pages over what the disk below has of it.
struct Overlay {
    below: Option<Box<dyn File>>,
    state: Mutex<State>,
}

struct State {
    length: u64,
    /// Beyond it nothing is read from below.
    length_below: u64,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl OverlayDisk {
    pub fn new(below: Arc<dyn Disk>) -> OverlayDisk {
        OverlayDisk {
            below,
            names: Arc::default(),
        }
    }

    fn file(&self, path: &Path) -> io::Result<Arc<Overlay>> {
        let mut names = self.names.lock();
        if let Some(file) = names.files.get(path) {
            return Ok(file.clone());
        }
        if names.removed.contains(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let below = self.below.open(path, Access::Read)?;
        let length = below.length()?;
        let file = Arc::new(Overlay::new(Some(below), length));
        names.files.insert(path.to_owned(), file.clone());
        Ok(file)
    }
}

impl Disk for OverlayDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn File>> {
        let file = match access {
            Access::Read | Access::Write => self.file(path)?,
            Access::Create => {
                let file = Arc::new(Overlay::new(None, 0));
                self.names.lock().files.insert(path.to_owned(), file.clone());
                file
            }
        };
        Ok(Box::new(Handle(file)))
    }

    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let below = match self.below.list(dir) {
            // It may have been created above.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            below => below?,
        };
        let names = self.names.lock();
        let kept = below
            .into_iter()
            .filter(|name| !names.removed.contains(&dir.join(name)));
        let mut all: BTreeSet<String> = kept.collect();
        let own = names.files.keys().filter(|path| path.parent() == Some(dir));
        all.extend(own.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())));
        Ok(all.into_iter().collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let file = self.file(from)?;
        let mut names = self.names.lock();
        names.files.remove(from);
        names.removed.insert(from.to_owned());
        names.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.file(path)?;
        let mut names = self.names.lock();
        names.files.remove(path);
        names.removed.insert(path.to_owned());
        Ok(())
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    /// The directory must not be in use; where it has no lock file, nobody uses it.
    fn lock(&self, path: &Path) -> Result<DirLock, LockError> {
        match self.below.open(path, Access::Read) {
            Ok(_) => self.below.lock(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(DirLock::new(())),
            Err(error) => Err(LockError::Io(error)),
        }
    }
}

impl Overlay {
    fn new(below: Option<Box<dyn File>>, length: u64) -> Overlay {
        Overlay {
            below,
            state: Mutex::new(State {
                length,
                length_below: length,
                pages: BTreeMap::new(),
            }),
        }
    }

    /// The page as it is now; zero where there was nothing.
    fn page(&self, state: &State, number: u64) -> io::Result<Vec<u8>> {
        if let Some(page) = state.pages.get(&number) {
            return Ok(page.clone());
        }
        let mut page = vec![0; PAGE as usize];
        let wanted = state.length_below.saturating_sub(number * PAGE).min(PAGE);
        if let Some(below) = &self.below {
            below.read_at(&mut page[..wanted as usize], number * PAGE)?;
        }
        Ok(page)
    }
}

struct Handle(Arc<Overlay>);

impl File for Handle {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let state = self.0.state.lock();
        let end = state.length.min(offset.saturating_add(buffer.len() as u64));
        if state.pages.is_empty()
            && end <= state.length_below
            && let Some(below) = &self.0.below
        {
            drop(state);
            return below.read_at(buffer, offset);
        }
        let mut at = offset;
        while at < end {
            let page = self.0.page(&state, at / PAGE)?;
            let from = (at % PAGE) as usize;
            let count = (PAGE as usize - from).min((end - at) as usize);
            let to = (at - offset) as usize;
            buffer[to..to + count].copy_from_slice(&page[from..from + count]);
            at += count as u64;
        }
        Ok(end.saturating_sub(offset) as usize)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.0.state.lock();
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let mut page = self.0.page(&state, at / PAGE)?;
            let from = (at % PAGE) as usize;
            let count = (PAGE as usize - from).min(bytes.len() - done);
            page[from..from + count].copy_from_slice(&bytes[done..done + count]);
            state.pages.insert(at / PAGE, page);
            done += count;
        }
        state.length = state.length.max(offset + bytes.len() as u64);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        let mut state = self.0.state.lock();
        state.length = state.length.max(length);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.state.lock().length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimDisk;

    #[test]
    fn nothing_reaches_the_disk_below() {
        let below = SimDisk::new(1);
        let (old, new) = (Path::new("d/old"), Path::new("d/new"));
        below.create_dir(Path::new("d")).unwrap();
        below
            .open(old, Access::Create)
            .unwrap()
            .write_at(&[7; 100_000], 0)
            .unwrap();
        let disk = OverlayDisk::new(below.clone());
        let file = disk.open(old, Access::Write).unwrap();
        file.write_at(b"abc", 65_535).unwrap();
        file.write_at(b"end", 100_001).unwrap();
        let mut read = vec![0; 100_010];
        assert_eq!(file.read_at(&mut read, 0).unwrap(), 100_004);
        assert_eq!(&read[65_534..65_539], b"\x07abc\x07");
        assert_eq!(&read[99_999..100_004], b"\x07\x00end");
        disk.rename(old, new).unwrap();
        assert_eq!(disk.list(Path::new("d")).unwrap(), ["new"]);
        assert!(disk.open(old, Access::Read).is_err());
        disk.open(old, Access::Create).unwrap().write_at(b"x", 0).unwrap();
        assert_eq!(disk.open(old, Access::Read).unwrap().length().unwrap(), 1);
        disk.remove(new).unwrap();
        assert_eq!(below.list(Path::new("d")).unwrap(), ["old"]);
        let untouched = below.open(old, Access::Read).unwrap();
        let mut read = vec![0; 100_010];
        assert_eq!(untouched.read_at(&mut read, 0).unwrap(), 100_000);
        assert!(read[..100_000].iter().all(|&byte| byte == 7));
    }
}
