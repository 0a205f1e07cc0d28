//! Files in one directory of the operating system, and nowhere else: what SQL statements may read and make.
//!
//! A path is resolved by the kernel below the directory (`openat2(2)`, `RESOLVE_BENEATH`), so that neither `..` nor a symbolic link leads
//! out of it, whatever else is done to the directory meanwhile. A kernel that cannot do that opens nothing.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

const READABLE: Mode = Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP);

/// A directory that statements may use.
#[derive(Debug)]
pub struct Directory {
    root: OwnedFd,
    /// As it was named, and without symbolic links: a path may begin with either.
    names: [PathBuf; 2],
}

/// Why a file was not opened.
#[derive(Debug)]
pub enum OpenError {
    /// The path leads elsewhere.
    Outside,
    /// A directory, a pipe, a device…
    NotAFile,
    /// There is one already.
    Exists,
    Io(io::Error),
}

/// A file that was there.
#[derive(Debug)]
pub struct OldFile {
    file: fs::File,
    pub bytes: u64,
}

/// A file that was made.
#[derive(Debug)]
pub struct NewFile {
    file: fs::File,
    parent: OwnedFd,
    name: PathBuf,
}

impl Directory {
    /// An absolute path of a directory that is there.
    pub fn open(path: &Path) -> io::Result<Directory> {
        if !path.is_absolute() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is not absolute"));
        }
        let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Directory {
            root,
            names: [path.to_owned(), fs::canonicalize(path)?],
        })
    }

    /// Its path without symbolic links.
    pub fn path(&self) -> &Path {
        &self.names[1]
    }

    /// Opens a file for reading.
    pub fn read(&self, path: &Path) -> Result<OldFile, OpenError> {
        // Opening a pipe must not wait for whoever writes to it.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = fs::File::from(self.resolve(self.relative(path)?, flags, Mode::empty())?);
        let metadata = file.metadata().map_err(OpenError::Io)?;
        match metadata.is_file() {
            true => Ok(OldFile {
                file,
                bytes: metadata.len(),
            }),
            false => Err(OpenError::NotAFile),
        }
    }

    /// Makes a file that is not there.
    pub fn create(&self, path: &Path) -> Result<NewFile, OpenError> {
        let path = self.relative(path)?;
        let Some(Component::Normal(name)) = path.components().next_back() else {
            return Err(OpenError::Exists);
        };
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let parent = self.resolve(parent, OFlags::DIRECTORY | OFlags::PATH, Mode::empty())?;
        // A name in a directory that is held open: nothing can be put in between any more.
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&parent, name, flags, READABLE).map_err(open_error)?;
        // As MySQL's, whatever the process keeps from others: the reader is somebody else, of the same group.
        rustix::fs::fchmod(&file, READABLE).map_err(open_error)?;
        Ok(NewFile {
            file: file.into(),
            parent,
            name: name.into(),
        })
    }

    fn relative<'p>(&self, path: &'p Path) -> Result<&'p Path, OpenError> {
        let below = self.names.iter().find_map(|name| path.strip_prefix(name).ok());
        match below {
            Some(below) if below == Path::new("") => Ok(Path::new(".")),
            Some(below) => Ok(below),
            None => Err(OpenError::Outside),
        }
    }

    fn resolve(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, OpenError> {
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        rustix::fs::openat2(&self.root, path, flags | OFlags::CLOEXEC, mode, how).map_err(open_error)
    }
}

fn open_error(error: Errno) -> OpenError {
    match error {
        Errno::XDEV | Errno::LOOP => OpenError::Outside,
        Errno::EXIST => OpenError::Exists,
        Errno::ISDIR => OpenError::NotAFile,
        other => OpenError::Io(other.into()),
    }
}

impl OldFile {
    /// Fills `buffer` with what lies at an offset, and cuts it where the file ends.
    pub fn read_at(&self, offset: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
        let mut length = 0;
        while length < buffer.len() {
            match self.file.read_at(&mut buffer[length..], offset + length as u64) {
                Ok(0) => break,
                Ok(read) => length += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        buffer.truncate(length);
        Ok(())
    }
}

impl NewFile {
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Removes the file again.
    pub fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::empty())?)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory with `in/`, which is the opened one, and `out/` beside it.
    struct Around {
        path: PathBuf,
        directory: Directory,
    }

    impl Around {
        fn new(name: &str) -> Around {
            let path = std::env::temp_dir().join(format!("latsdb-directory-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("in/below")).unwrap();
            fs::create_dir_all(path.join("out")).unwrap();
            fs::write(path.join("in/a"), "inside").unwrap();
            fs::write(path.join("out/secret"), "outside").unwrap();
            let directory = Directory::open(&path.join("in")).unwrap();
            Around { path, directory }
        }

        fn read(&self, path: &str) -> Result<String, OpenError> {
            let file = self.directory.read(&self.path.join(path))?;
            let mut bytes = vec![0; 100];
            file.read_at(0, &mut bytes).map_err(OpenError::Io)?;
            Ok(String::from_utf8(bytes).unwrap())
        }

        fn create(&self, path: &str) -> Result<(), OpenError> {
            let file = self.directory.create(&self.path.join(path))?;
            file.write_at(0, b"new").map_err(OpenError::Io)
        }
    }

    impl Drop for Around {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.path);
        }
    }

    #[test]
    fn files_inside_are_read_and_made() {
        let around = Around::new("inside");
        assert_eq!(around.read("in/a").unwrap(), "inside");
        around.create("in/below/new").unwrap();
        assert_eq!(around.read("in/below/new").unwrap(), "new");
        symlink("../a", around.path.join("in/below/link")).unwrap();
        assert_eq!(around.read("in/below/link").unwrap(), "inside");
        let made = around.directory.create(&around.path.join("in/gone")).unwrap();
        made.remove().unwrap();
        assert!(!around.path.join("in/gone").exists());
    }

    #[test]
    fn no_way_leads_out() {
        let around = Around::new("outside");
        symlink(around.path.join("out"), around.path.join("in/absolute")).unwrap();
        symlink("../out", around.path.join("in/relative")).unwrap();
        symlink("../out/secret", around.path.join("in/file")).unwrap();
        symlink("../out/made", around.path.join("in/dangling")).unwrap();
        symlink("loop", around.path.join("in/loop")).unwrap();
        for path in [
            "in/../out/secret",
            "in/absolute/secret",
            "in/relative/secret",
            "in/file",
            "in/loop",
            "out/secret",
            "in/below/../../out/secret",
        ] {
            assert!(matches!(around.read(path), Err(OpenError::Outside)), "{path}");
        }
        for path in ["in/../out/made", "in/absolute/made", "in/relative/made", "out/made"] {
            assert!(matches!(around.create(path), Err(OpenError::Outside)), "{path}");
        }
        // A link that leads nowhere is in the way all the same.
        assert!(matches!(around.create("in/dangling"), Err(OpenError::Exists)));
        assert!(!around.path.join("out/made").exists());
        assert!(matches!(
            around.directory.read(Path::new("relative")),
            Err(OpenError::Outside)
        ));
        assert!(matches!(
            around.directory.read(Path::new("/proc/self/environ")),
            Err(OpenError::Outside)
        ));
    }

    #[test]
    fn what_is_no_file_is_not_read_and_what_is_there_stays() {
        let around = Around::new("kinds");
        let pipe = around.path.join("in/pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        for path in ["in", "in/below", "in/pipe"] {
            assert!(matches!(around.read(path), Err(OpenError::NotAFile)), "{path}");
        }
        for path in ["in/a", "in/below", "in", "in/pipe"] {
            assert!(matches!(around.create(path), Err(OpenError::Exists)), "{path}");
        }
        assert!(matches!(around.read("in/none"), Err(OpenError::Io(_))));
        assert!(matches!(around.create("in/none/new"), Err(OpenError::Io(_))));
        assert_eq!(around.read("in/a").unwrap(), "inside");
    }
}
