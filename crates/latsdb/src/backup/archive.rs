//! A directory of backups.
//!
//! ```text
//!   full-A-B.backup   the checkpoint of log entry A, and the log up to entry B
//!   log-A-B.backup    the log behind entry A, up to entry B
//!   *.partial         being drawn, or left by a command that did not come to its end
//! ```
//!
//! A file gets its name when all of it is there and on the disk.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use env::{DirLock, Env, LockError};
use shard::backup::{END_BYTES, Head, Kind, Position, Reader, Record, Until, position_at_end};

use super::moment;
use crate::data_dir;

/// A directory that this process alone writes to.
pub struct Archive {
    pub dir: PathBuf,
    _lock: DirLock,
}

/// A file that is whole, as its name, its head and its end say.
#[derive(Debug, Clone)]
pub struct Piece {
    pub path: PathBuf,
    pub head: Head,
    pub position: Position,
}

impl Piece {
    pub fn is_full(&self) -> bool {
        self.head.kind != Kind::Log
    }
}

impl Archive {
    /// Makes the directory, or makes sure that nobody else can read it.
    pub fn open(dir: &Path) -> Result<Archive> {
        let named = || format!("cannot use the directory {}", dir.display());
        fs::create_dir_all(dir).with_context(named)?;
        let found = fs::metadata(dir).with_context(named)?;
        ensure!(
            found.mode() & data_dir::OTHERS == 0,
            "others on this machine may look into {} (mode {:04o}), and a backup has all rows and password hashes: chmod go= {}",
            dir.display(),
            found.mode() & 0o7777,
            data_dir::quoted(dir)
        );
        let lock = lock(dir, "backup")?;
        Ok(Archive {
            dir: dir.to_owned(),
            _lock: lock,
        })
    }

    pub fn pieces(&self) -> Result<Vec<Piece>> {
        pieces(&self.dir)
    }

    /// Gives a whole file its name.
    pub fn keep(&self, partial: &Path, head: &Head, position: &Position) -> Result<PathBuf> {
        let kind = match head.kind {
            Kind::Full { .. } => "full",
            Kind::Log => "log",
        };
        let name = format!("{kind}-{:020}-{:020}.backup", head.after.index, position.last.index);
        let path = self.dir.join(name);
        let disk = Env::real().disk;
        disk.rename(partial, &path)
            .and_then(|()| disk.sync_dir(&self.dir))
            .with_context(|| format!("cannot name {}", path.display()))?;
        Ok(path)
    }
}

/// For `what` alone, which writes to the directory.
pub fn lock(dir: &Path, what: &str) -> Result<DirLock> {
    let lock = Env::real().disk.lock(&dir.join("LOCK"));
    lock.map_err(|error| match error {
        LockError::Held { .. } => anyhow!("another {what} writes to {}", dir.display()),
        LockError::Io(error) => {
            anyhow::Error::new(error).context(format!("cannot use the directory {}", dir.display()))
        }
    })
}

/// The files of a directory that have their names, oldest first. Their contents are not looked at.
pub fn pieces(dir: &Path) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    for path in files(dir, "backup")? {
        pieces.push(piece(&path).with_context(|| path.display().to_string())?);
    }
    pieces.sort_by_key(|piece| (piece.head.after.index, piece.position.last.index));
    let mut clusters = pieces
        .windows(2)
        .filter(|pair| pair[0].head.cluster != pair[1].head.cluster);
    if let Some(pair) = clusters.next() {
        bail!(
            "{} and {} are of different clusters: each has a directory of its own",
            pair[0].path.display(),
            pair[1].path.display()
        );
    }
    Ok(pieces)
}

/// The files that were not finished.
pub fn partials(dir: &Path) -> Result<Vec<PathBuf>> {
    files(dir, "partial")
}

fn files(dir: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let named = || format!("cannot read the directory {}", dir.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).with_context(named)? {
        let path = entry.with_context(named)?.path();
        if path.extension().is_some_and(|found| found == extension) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn piece(path: &Path) -> Result<Piece> {
    let mut file = File::open(path)?;
    let Some(Record::Head(head)) = Reader::new(&mut file)?.next_record()? else {
        bail!("damaged: it does not begin with a head");
    };
    let mut end = [0; END_BYTES];
    let length = file.seek(SeekFrom::End(0))?;
    let at = length
        .checked_sub(END_BYTES as u64)
        .context("damaged: it is too short")?;
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut end)?;
    let position = position_at_end(&end);
    let position = position.with_context(|| format!("damaged: at byte {at}: its end is not sound"))?;
    Ok(Piece {
        path: path.to_owned(),
        head,
        position,
    })
}

/// A full backup, and what follows it.
pub struct Chain<'a> {
    pub base: &'a Piece,
    pub logs: Vec<&'a Piece>,
}

impl Chain<'_> {
    pub fn end(&self) -> Position {
        self.logs.last().map_or(self.base.position, |piece| piece.position)
    }

    /// Where another file goes on, but the log in between is missing.
    pub fn gap(&self, pieces: &[Piece]) -> Option<(u64, u64)> {
        let end = self.end().last.index;
        let next = pieces.iter().filter(|piece| piece.head.after.index > end);
        let next = next.map(|piece| piece.head.after.index).min()?;
        Some((end + 1, next))
    }
}

/// All files that follow `base`, without a gap.
pub fn chain<'a>(pieces: &'a [Piece], base: &'a Piece) -> Chain<'a> {
    let mut chain = Chain { base, logs: Vec::new() };
    loop {
        let end = chain.end().last;
        let follows = |piece: &&Piece| piece.head.after.index <= end.index && piece.position.last.index > end.index;
        match pieces
            .iter()
            .filter(follows)
            .max_by_key(|piece| piece.position.last.index)
        {
            Some(next) => chain.logs.push(next),
            None => return chain,
        }
    }
}

/// What a restore up to there is made of.
pub fn chain_for(pieces: &[Piece], until: Until) -> Result<Chain<'_>> {
    let is_before = |piece: &&Piece| match until {
        Until::End => true,
        Until::Moment(moment) => piece.head.newest <= moment,
        Until::Index(index) => piece.head.after.index <= index,
    };
    let full = || pieces.iter().filter(|piece| piece.is_full());
    let Some(first) = full().next() else {
        bail!("there is no full backup");
    };
    let Some(base) = full().filter(is_before).max_by_key(|piece| piece.head.after.index) else {
        bail!(
            "the oldest full backup is of {} (log entry {}), which is later",
            moment::show(first.head.newest.wall_ms()),
            first.head.after.index
        );
    };
    let chain = chain(pieces, base);
    let end = chain.end();
    let reaches = match until {
        Until::End => chain.gap(pieces).is_none(),
        Until::Moment(moment) => end.newest.wall_ms() >= moment.wall_ms(),
        Until::Index(index) => end.last.index >= index,
    };
    if !reaches {
        let gap = chain.gap(pieces).map_or_else(String::new, |(from, to)| {
            format!("; log entries {from} to {to} are missing, and behind them there is more")
        });
        bail!(
            "the backup ends at {} (log entry {}): nothing is known of what was committed later{gap}. What there is up to then is \
             restored by --until-position {1}",
            moment::show(end.newest.wall_ms()),
            end.last.index
        );
    }
    Ok(chain)
}

/// Reads a file to its end.
pub fn read_through(path: &Path, mut each: impl FnMut(Record) -> Result<()>) -> Result<shard::backup::Summary> {
    let named = || path.display().to_string();
    let file = File::open(path).with_context(named)?;
    let mut reader = Reader::new(file).map_err(damage).with_context(named)?;
    while let Some(record) = reader.next_record().map_err(damage).with_context(named)? {
        each(record)?;
    }
    let summary = reader.checked().summary().cloned();
    summary.context("an empty backup").with_context(named)
}

/// Tells damage from a file that cannot be read.
pub fn damage(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::InvalidData => anyhow::Error::new(error).context("damaged"),
        _ => error.into(),
    }
}
