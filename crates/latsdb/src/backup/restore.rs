//! Restoring: to a data directory of a cluster of its own.
//!
//! The directory is made beside its place, and gets its name when all of it is there.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use env::{DirLock, Env};
use shard::backup::{Record, Replay, Restore, Restored, Until};
use sql::schema::Schema;

use super::archive::{self, Chain, Piece};
use crate::admin;

/// What is restored, where to, and how much of it.
pub struct Order<'a> {
    /// `-`: a pipe.
    pub from: &'a str,
    pub data_dir: &'a Path,
    pub node: u32,
    pub until: Until,
}

pub fn restore(order: &Order<'_>) -> Result<Restored> {
    let target = order.data_dir;
    ensure!(
        is_free(target)?,
        "{} is not empty: a restore makes a new data directory",
        target.display()
    );
    let working = Working::begin(target)?;
    let pieces = match order.from {
        "-" => vec![working.spool()?],
        dir => archive::pieces(Path::new(dir))?,
    };
    let chain =
        archive::chain_for(&pieces, order.until).with_context(|| format!("cannot restore from {}", order.from))?;
    let replay = replay(&chain, &working.dir, order.until)?;
    let restored = replay.finish(order.node).context("cannot write the data directory")?;
    working.finish(target)?;
    Ok(restored)
}

fn replay(chain: &Chain<'_>, dir: &Path, until: Until) -> Result<Replay> {
    // The chunks first: the log, which stands between them, comes behind them.
    let (mut head, mut restore) = (None, None);
    archive::read_through(&chain.base.path, |record| {
        match record {
            Record::Head(found) => head = Some(found),
            Record::Meta(meta) => {
                let head = head.take().context("the checkpoint has no head")?;
                restore = Some(Restore::begin(&Env::real(), dir, head, &meta)?);
            }
            Record::Chunk { stream, rows } => {
                restore
                    .as_mut()
                    .context("the checkpoint has no description")?
                    .chunk(stream, &rows)?;
            }
            Record::Entries(_) | Record::Position(_) | Record::End => {}
        }
        Ok(())
    })?;
    let restore = restore.context("the backup has no checkpoint")?;
    let mut replay = restore.load(admin::memory(), Some(Schema::new()), until)?;
    for piece in std::iter::once(chain.base).chain(chain.logs.iter().copied()) {
        let mut flow = ControlFlow::Continue(());
        archive::read_through(&piece.path, |record| {
            // What follows is read all the same: a file that is damaged is not trusted in its other parts.
            if let (Record::Entries(entries), ControlFlow::Continue(())) = (record, flow) {
                flow = replay.entries(entries)?;
            }
            Ok(())
        })?;
        if flow.is_break() {
            break;
        }
    }
    Ok(replay)
}

fn is_free(dir: &Path) -> Result<bool> {
    match fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error).with_context(|| format!("cannot use {}", dir.display())),
    }
}

/// A file or a directory, if it is there.
fn remove(path: &Path) -> Result<()> {
    let removed = match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The directory while it is being made. Dropped before it is finished, it is removed.
struct Working {
    dir: PathBuf,
    lock: Option<DirLock>,
}

impl Working {
    fn begin(target: &Path) -> Result<Working> {
        let name = target.file_name().context("--data-dir names no directory")?;
        let dir = target.with_file_name(format!("{}.restoring", name.to_string_lossy()));
        let named = || format!("cannot use {}", dir.display());
        fs::create_dir_all(&dir).with_context(named)?;
        let lock = archive::lock(&dir, "restore")?;
        // What a restore left that was killed.
        for entry in fs::read_dir(&dir).with_context(named)? {
            let path = entry.with_context(named)?.path();
            if path.file_name().is_none_or(|name| name != "LOCK") {
                remove(&path)?;
            }
        }
        Ok(Working { dir, lock: Some(lock) })
    }

    /// What comes through the pipe, all of it and found to be sound.
    fn spool(&self) -> Result<Piece> {
        let path = self.dir.join("spool.backup");
        let named = || format!("cannot write {}", path.display());
        let mut file = File::create(&path).with_context(named)?;
        io::copy(&mut io::stdin().lock(), &mut file).with_context(named)?;
        let summary = archive::read_through(&path, |_| Ok(()))?;
        Ok(Piece {
            path,
            head: summary.head,
            position: summary.position,
        })
    }

    fn finish(mut self, target: &Path) -> Result<()> {
        let named = || format!("cannot name {}", target.display());
        for name in ["restoring", "spool.backup"] {
            remove(&self.dir.join(name))?;
        }
        // An empty directory may be there. Somebody else may have filled it meanwhile: then it stays.
        fs::rename(&self.dir, target).with_context(named)?;
        self.lock = None;
        let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        Env::real()
            .disk
            .sync_dir(parent.unwrap_or(Path::new(".")))
            .with_context(named)
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        if self.lock.take().is_some() {
            // What cannot be removed now is by the next restore.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// What `backup --verify` finds in a directory: lines for a person, and what is wrong.
pub fn verify(dir: &Path) -> Result<(Vec<String>, Vec<String>)> {
    let (mut lines, mut problems) = (Vec::new(), Vec::new());
    let pieces = match archive::pieces(dir) {
        Ok(pieces) => pieces,
        Err(error) => {
            problems.push(format!("{error:#}"));
            return Ok((lines, problems));
        }
    };
    for piece in &pieces {
        match archive::read_through(&piece.path, |_| Ok(())) {
            Ok(summary) => {
                let bytes = fs::metadata(&piece.path).map_or(0, |found| found.len());
                lines.push(format!(
                    "{}: {}",
                    piece.path.display(),
                    super::draw::summary_of(&summary, bytes)
                ));
            }
            Err(error) => problems.push(format!("{error:#}")),
        }
    }
    for path in archive::partials(dir)? {
        lines.push(format!("{}: not finished, and no backup", path.display()));
    }
    let mut first = pieces.iter().filter(|piece| piece.is_full());
    match first.next() {
        None => problems.push(format!("{}: there is no full backup", dir.display())),
        Some(base) => {
            let chain = archive::chain(&pieces, base);
            match chain.gap(&pieces) {
                Some((from, to)) => lines.push(format!(
                    "{}: log entries {from} to {to} are missing: between the backups before and after them no moment can be restored",
                    dir.display()
                )),
                None => lines.push(format!(
                    "{}: every moment from {} to {} UTC can be restored",
                    dir.display(),
                    super::moment::show(base.head.newest.wall_ms()),
                    super::moment::show(chain.end().newest.wall_ms())
                )),
            }
        }
    }
    Ok((lines, problems))
}

/// As [`verify`], of a pipe.
pub fn verify_pipe() -> Result<String> {
    let mut reader = shard::backup::Reader::new(io::stdin().lock()).map_err(archive::damage)?;
    while reader.next_record().map_err(archive::damage)?.is_some() {}
    let checked = reader.checked();
    match checked.summary() {
        Some(summary) => Ok(super::draw::summary_of(summary, checked.bytes())),
        None => bail!("an empty backup"),
    }
}
