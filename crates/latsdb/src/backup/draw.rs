//! Drawing a backup.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use shard::backup::{Checked, Head, Kind, Reader, Summary};

use super::archive::{self, Archive};
use super::client::Client;
use super::moment;
use crate::config::format_bytes;

/// Between so many chunks the log is asked for, so that the node need not keep it.
const CHUNKS_PER_LOG: u64 = 8;

/// A file of a log that is followed is ended when it is so long, or so old.
const LOG_BYTES: u64 = 64 << 20;
const LOG_AGE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(500);

/// A stream on its way to where it is kept.
struct Output {
    checked: Checked,
    to: To,
}

enum To {
    File { file: File, path: PathBuf },
    Pipe(io::Stdout),
}

impl Output {
    fn begin(mut to: To, records: &[u8]) -> Result<Output> {
        let (checked, preamble) = Checked::begin();
        to.write(&preamble)?;
        let mut output = Output { checked, to };
        output.add(records)?;
        Ok(output)
    }

    /// What comes is looked at before it is kept.
    fn add(&mut self, records: &[u8]) -> Result<()> {
        let checked = self.checked.accept_all(records);
        checked.context("what the node gives is damaged; nothing of it was kept")?;
        self.to.write(records)
    }

    fn head(&self) -> &Head {
        &self.summary().head
    }

    fn summary(&self) -> &Summary {
        self.checked.summary().expect("a stream begins with a head")
    }

    /// What the log of the node has more, or a part of it.
    fn add_log(&mut self, client: &mut Client) -> Result<()> {
        let last = self.checked.last().expect("a stream begins with a head");
        self.add(&client.log(last)?)
    }

    /// Until the stream has everything up to now, and may end.
    fn catch_up(&mut self, client: &mut Client) -> Result<()> {
        client.mark()?;
        loop {
            self.add_log(client)?;
            if self.checked.end().is_some() {
                return Ok(());
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        let end = self.checked.end().context("the stream cannot end here")?;
        self.add(&end)?;
        self.to.sync()
    }
}

impl To {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            To::File { file, path } => file
                .write_all(bytes)
                .with_context(|| format!("cannot write {}", path.display())),
            To::Pipe(pipe) => pipe
                .write_all(bytes)
                .context("cannot write to the pipe: there is no backup"),
        }
    }

    fn sync(&mut self) -> Result<()> {
        match self {
            To::File { file, path } => file
                .sync_all()
                .with_context(|| format!("cannot write {}", path.display())),
            To::Pipe(pipe) => pipe.flush().context("cannot write to the pipe: there is no backup"),
        }
    }
}

/// Tells whoever watches how far it is.
struct Progress {
    is_shown: bool,
    told: Instant,
}

impl Progress {
    fn new() -> Progress {
        Progress {
            is_shown: io::stderr().is_terminal(),
            told: Instant::now(),
        }
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        if self.is_shown && self.told.elapsed() > Duration::from_secs(1) {
            self.told = Instant::now();
            eprint!("\r{}  ", what());
        }
    }
}

/// A full backup into a directory. Goes on with one that was interrupted, if the node still has its checkpoint.
pub fn full(client: &mut Client, dir: &Path) -> Result<String> {
    let archive = Archive::open(dir)?;
    let known = archive.pieces()?.first().map(|piece| piece.head.cluster);
    let path = archive.dir.join("full.partial");
    let earlier = sound(&path);
    let begun = earlier
        .as_ref()
        .and_then(Checked::summary)
        .map(|summary| summary.head.clone());
    let records = client.begin(begun.as_ref().map(|head| head.after.index))?;
    let (mut fresh, _) = Checked::begin();
    fresh.accept_all(&records).context("what the node gives is damaged")?;
    let head = &fresh.summary().context("the node gives no checkpoint")?.head;
    refuse_others(&archive, known, head.cluster)?;
    let is_same =
        |old: &Head| (old.kind, old.cluster, old.node, old.after) == (head.kind, head.cluster, head.node, head.after);
    let mut output = match (earlier, begun) {
        (Some(checked), Some(old)) if checked.has_meta() && is_same(&old) => {
            eprintln!(
                "latsdb: going on with {}, which has {}",
                path.display(),
                format_bytes(checked.bytes())
            );
            resume(&path, checked)?
        }
        _ => create(&path, &records)?,
    };
    draw(client, &mut output).with_context(|| {
        format!(
            "there is no backup. What has come is in {}, and the same command may go on with it",
            path.display()
        )
    })?;
    client.end();
    let kept = finish(&archive, &path, &mut output)?;
    Ok(format!(
        "{}: {}",
        kept.display(),
        summary_of(output.summary(), output.checked.bytes())
    ))
}

/// A full backup into a pipe.
pub fn pipe(client: &mut Client) -> Result<String> {
    ensure!(
        !io::stdout().is_terminal(),
        "a backup is no text: --to - is for a pipe or a file"
    );
    let records = client.begin(None)?;
    let mut output = Output::begin(To::Pipe(io::stdout()), &records)?;
    draw(client, &mut output)?;
    client.end();
    output.end()?;
    Ok(summary_of(output.summary(), output.checked.bytes()))
}

fn draw(client: &mut Client, output: &mut Output) -> Result<()> {
    let Kind::Full { chunks } = output.head().kind else {
        bail!("the node gives no checkpoint");
    };
    let mut progress = Progress::new();
    while output.checked.next_chunk() < chunks {
        let number = output.checked.next_chunk();
        output.add(&client.chunk(number)?)?;
        if number.is_multiple_of(CHUNKS_PER_LOG) {
            output.add_log(client)?;
        }
        progress.tell(|| {
            format!(
                "{} of {chunks} chunks, {}",
                number + 1,
                format_bytes(output.checked.bytes())
            )
        });
    }
    output.catch_up(client)
}

/// The log behind what is in the directory; with `stop`, for as long as it is not set.
pub fn log(client: &mut Client, dir: &Path, stop: Option<&Arc<AtomicBool>>) -> Result<String> {
    let archive = Archive::open(dir)?;
    let pieces = archive.pieces()?;
    let Some(newest) = pieces.iter().max_by_key(|piece| piece.position.last.index) else {
        bail!(
            "{} has no backup that a log could follow: first take a full one (without --log)",
            dir.display()
        );
    };
    let cluster = newest.head.cluster;
    let mut position = newest.position;
    let path = archive.dir.join("log.partial");
    let (mut entries, mut files) = (0, 0);
    loop {
        let after = position.last;
        let earlier = sound(&path).filter(|checked| {
            let head = checked.summary().map(|summary| &summary.head);
            head.is_some_and(|head| (head.kind, head.cluster, head.after) == (Kind::Log, cluster, after))
        });
        let mut output = match earlier {
            Some(checked) => resume(&path, checked)?,
            None => {
                let records = client.log_head(cluster, after, position.newest)?;
                create(&path, &records)?
            }
        };
        refuse_others(&archive, Some(cluster), output.head().cluster)?;
        let begun = Instant::now();
        let is_last = match stop {
            None => {
                output.catch_up(client)?;
                true
            }
            Some(stop) => follow(client, &mut output, begun, stop)?,
        };
        if output.summary().entries > 0 {
            finish(&archive, &path, &mut output)?;
            entries += output.summary().entries;
            files += 1;
            position = output.summary().position;
        } else {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        if is_last {
            return Ok(format!(
                "{}: {entries} log entries more, in {files} files; up to {} UTC, log entry {}",
                dir.display(),
                moment::show(position.newest.wall_ms()),
                position.last.index
            ));
        }
    }
}

/// Until the file is to be ended. Returns whether it is the last one.
fn follow(client: &mut Client, output: &mut Output, begun: Instant, stop: &AtomicBool) -> Result<bool> {
    loop {
        let is_stopping = stop.load(Ordering::Relaxed);
        let before = output.checked.last();
        output.add_log(client)?;
        let is_at_end = output.checked.end().is_some();
        let is_old = begun.elapsed() >= LOG_AGE && output.summary().entries > 0;
        if is_at_end && (is_stopping || is_old || output.checked.bytes() >= LOG_BYTES) {
            return Ok(is_stopping);
        }
        // Under load something more comes at every call: it comes in fewer, larger parts. A node that gives nothing has yet to catch up itself.
        if is_at_end || output.checked.last() == before {
            std::thread::sleep(PAUSE);
        }
    }
}

fn refuse_others(archive: &Archive, known: Option<u128>, cluster: u128) -> Result<()> {
    ensure!(
        known.is_none_or(|known| known == cluster),
        "{} has backups of another cluster: a restored one is a new one, and has a directory of its own",
        archive.dir.display()
    );
    Ok(())
}

/// What of a file that was not finished can be built upon.
fn sound(path: &Path) -> Option<Checked> {
    let file = File::open(path).ok()?;
    let mut reader = Reader::new(io::BufReader::new(file)).ok()?;
    while let Ok(Some(_)) = reader.next_record() {}
    // One that has its end was about to get its name: it is drawn anew.
    Some(reader.into_checked()).filter(|checked| checked.summary().is_some() && !checked.is_over())
}

fn create(path: &Path, records: &[u8]) -> Result<Output> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let path = path.to_owned();
    Output::begin(To::File { file, path }, records)
}

fn resume(path: &Path, checked: Checked) -> Result<Output> {
    let named = || format!("cannot write {}", path.display());
    let file = OpenOptions::new().append(true).open(path).with_context(named)?;
    file.set_len(checked.bytes()).with_context(named)?;
    let path = path.to_owned();
    Ok(Output {
        checked,
        to: To::File { file, path },
    })
}

/// Ends the file, reads it once more, and gives it its name.
fn finish(archive: &Archive, partial: &Path, output: &mut Output) -> Result<PathBuf> {
    output.end()?;
    let read = archive::read_through(partial, |_| Ok(()))?;
    ensure!(
        &read == output.summary(),
        "{} holds something else than was written to it",
        partial.display()
    );
    archive.keep(partial, &read.head, &read.position)
}

/// One line.
pub fn summary_of(summary: &Summary, bytes: u64) -> String {
    let checkpoint = match summary.head.kind {
        Kind::Full { .. } => format!("{} tables, {} rows, ", summary.tables, summary.rows),
        Kind::Log => String::new(),
    };
    format!(
        "{checkpoint}{} log entries, {}; from {} UTC, log entry {}, to {} UTC, log entry {}",
        summary.entries,
        format_bytes(bytes),
        moment::show(summary.head.newest.wall_ms()),
        summary.head.after.index,
        moment::show(summary.position.newest.wall_ms()),
        summary.position.last.index
    )
}
