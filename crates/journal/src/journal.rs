//! The writer.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use env::{Access, Env};
use parking_lot::{Mutex, RwLock};

use crate::reader::{Index, Reader};
use crate::record::{self, Body, Place, Record};
use crate::recovery::{self, Recovered};
use crate::segment::{self, HEADER, Header, Segment};
use crate::spare::Spares;
use crate::state::LogState;
use crate::{Entry, EntryId, JournalError, OpenError, Vote};

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Size of an ordinary segment. A larger entry gets a larger one.
    pub segment_bytes: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            segment_bytes: 64 << 20,
        }
    }
}

/// Memory kept for encoding; an entry larger than this gets its own.
const BUFFER_KEPT: usize = 1 << 20;

/// The log's only writer. What is appended is visible to readers at once, and durable after [`sync`](Self::sync), or after that of
/// [`unsynced`](Self::unsynced), which another thread may wait for while more is appended.
///
/// After the first failed write or sync every call fails with the same [`JournalError::Poisoned`].
pub struct Journal {
    env: Env,
    dir: PathBuf,
    options: Options,
    index: Arc<RwLock<Index>>,
    spares: Arc<Spares>,
    active: Segment,
    /// Position after the last record.
    end: u64,
    synced: Arc<Synced>,
    /// The durable position as the last record on disk tells it.
    durable_told: u64,
    committed_end: u64,
    /// Checksum of the last record.
    previous: u32,
    buffer: Vec<u8>,
}

/// What the writer and whoever syncs have in common.
#[derive(Default)]
struct Synced {
    /// Position up to which everything is synced.
    durable: AtomicU64,
    poison: OnceLock<Arc<str>>,
    /// One sync at a time: the system tells a failure once, to one of them.
    one: Mutex<()>,
}

/// What was appended up to some moment, to be made durable.
pub struct Unsynced {
    synced: Arc<Synced>,
    segment: Segment,
    end: u64,
}

impl Journal {
    /// Whether there is a log in `dir`, sound or not.
    pub fn is_there(env: &Env, dir: &Path) -> Result<bool, OpenError> {
        match env.disk.list(dir) {
            Ok(names) => Ok(names.iter().any(|name| segment::sequence_of(name).is_some())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(OpenError::io(dir, error)),
        }
    }

    /// Opens the log in `dir`, or begins one. Everything found is durable when this returns.
    pub fn open(env: &Env, dir: &Path, options: Options) -> Result<Journal, OpenError> {
        let io_error = |error| OpenError::io(dir, error);
        env.disk.create_dir(dir).map_err(io_error)?;
        let found = recovery::recover(env, dir)?;
        let spares = Arc::new(Spares::open(env, dir, options.segment_bytes).map_err(io_error)?);
        let Recovered { index, previous } = match found {
            Some(recovered) => recovered,
            None => {
                let first = Header {
                    sequence: 1,
                    base: 0,
                    salt: 0,
                    previous: 0,
                    state: LogState::default(),
                };
                let segment = activate(env, dir, &spares, 0, first).map_err(io_error)?;
                Recovered {
                    index: Index {
                        segments: [segment].into(),
                        ..Index::default()
                    },
                    previous: 0,
                }
            }
        };
        let active = index.segments.back().expect("a log has a segment").clone();
        // What survived a crash of the process need not survive one of the machine yet.
        active
            .file
            .sync_data()
            .map_err(|error| OpenError::io(&active.path, error))?;
        let end = index.end;
        Ok(Journal {
            env: env.clone(),
            dir: dir.to_owned(),
            options,
            end,
            synced: Arc::new(Synced {
                durable: AtomicU64::new(end),
                ..Synced::default()
            }),
            durable_told: 0,
            committed_end: index.state.committed_end,
            previous,
            index: Arc::new(RwLock::new(index)),
            spares,
            active,
            buffer: Vec::new(),
        })
    }

    pub fn reader(&self) -> Reader {
        Reader {
            index: self.index.clone(),
        }
    }

    /// Makes segments ahead of need, on another thread.
    pub fn spares(&self) -> Arc<Spares> {
        self.spares.clone()
    }

    /// Bytes of log ever written: rises with every record.
    pub fn position(&self) -> u64 {
        self.end
    }

    /// Entries below this index are known to be committed.
    pub fn committed_end(&self) -> u64 {
        self.committed_end
    }

    /// Why the journal takes nothing any more.
    pub fn poison(&self) -> Option<Arc<str>> {
        self.synced.poison.get().cloned()
    }

    /// Sets space aside for an entry with so large a payload. Afterwards its [`append`](Self::append) cannot find the
    /// disk full.
    pub fn reserve(&mut self, payload_bytes: usize) -> Result<(), JournalError> {
        self.check()?;
        let needed = record::size(payload_bytes) as u64 + self.slack();
        if needed <= self.room_left() {
            return Ok(());
        }
        self.spares.ensure(needed).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                JournalError::DiskFull { dir: self.dir.clone() }
            }
            _ => self.fail("making the successor", self.end, error),
        })
    }

    /// Appends entries that continue the log. They are durable after the next [`sync`](Self::sync).
    pub fn append(&mut self, entries: &[Entry]) -> Result<(), JournalError> {
        self.check()?;
        for entry in entries {
            let position = self.add(Body::Entry {
                id: entry.id,
                tag: entry.tag,
                payload: &entry.payload,
            })?;
            let index = &mut *self.index.write();
            assert_eq!(entry.id.index, index.state.next_index(), "entries continue the log");
            index.push(entry.id, position);
        }
        self.flush()
    }

    /// Makes everything appended so far durable.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.unsynced().sync()
    }

    /// What was appended so far, to be made durable without the journal.
    pub fn unsynced(&self) -> Unsynced {
        Unsynced {
            synced: self.synced.clone(),
            segment: self.active.clone(),
            end: self.end,
        }
    }

    /// Saves the vote durably.
    pub fn save_vote(&mut self, vote: Vote) -> Result<(), JournalError> {
        self.write(Body::Vote(vote))?;
        self.index.write().state.vote = Some(vote);
        self.sync()
    }

    /// Notes that entries below `end` are committed. Written with the next record, as it can be found out anew.
    pub fn note_committed(&mut self, end: u64) {
        self.committed_end = self.committed_end.max(end);
    }

    /// Takes back the entries after `last`.
    pub fn truncate_after(&mut self, last: Option<EntryId>) -> Result<(), JournalError> {
        self.write(Body::Truncate { last })?;
        self.index.write().truncate(last);
        self.sync()
    }

    /// Releases the entries up to `upto`, which a checkpoint covers, and recycles their segments.
    pub fn purge(&mut self, upto: EntryId) -> Result<(), JournalError> {
        self.write(Body::Purge { upto })?;
        self.sync()?;
        let released: Vec<Segment> = {
            let index = &mut *self.index.write();
            index.purge(upto);
            let covered = index.segments.iter().skip(1).take_while(|next| {
                // The entries before a segment's first are those of the segments before it.
                next.header.state.last.is_none_or(|last| last.index <= upto.index)
            });
            let count = covered.count();
            index.segments.drain(..count).collect()
        };
        if !released.is_empty()
            && let Err(error) = self.spares.give(&released)
        {
            // The log has files too many; they are found again, and released again, after a restart.
            tracing::warn!(dir = %self.dir.display(), %error, "cannot recycle log segments");
        }
        Ok(())
    }

    /// Tells a later recovery that everything synced so far was promised, if no record does yet. Not synced itself: it
    /// costs little, and makes damage to the newest entries detectable.
    pub fn mark(&mut self) -> Result<(), JournalError> {
        if self.durable_told == self.synced.durable() {
            self.check()
        } else {
            self.write(Body::Mark)
        }
    }

    fn check(&self) -> Result<(), JournalError> {
        self.synced.check()
    }

    fn write(&mut self, body: Body<'_>) -> Result<(), JournalError> {
        self.check()?;
        self.add(body)?;
        self.flush()
    }

    /// Encodes a record into the buffer; returns its position.
    fn add(&mut self, body: Body<'_>) -> Result<u64, JournalError> {
        let size = body.size() as u64;
        if size > self.room_left() {
            self.begin_segment(size)?;
        }
        let position = self.end;
        let place = Place {
            salt: self.active.header.salt,
            position,
            previous: self.previous,
        };
        let durable = self.synced.durable();
        let record = Record {
            body,
            durable,
            committed_end: self.committed_end,
        };
        self.previous = record::encode(&record, place, &mut self.buffer);
        self.end += size;
        self.durable_told = durable;
        Ok(position)
    }

    /// Writes what was added.
    fn flush(&mut self) -> Result<(), JournalError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let start = self.end - self.buffer.len() as u64;
        let written = self.active.file.write_at(&self.buffer, self.active.offset_of(start));
        self.buffer.clear();
        self.buffer.shrink_to(BUFFER_KEPT);
        written.map_err(|error| self.fail("write", start, error))?;
        self.index.write().end = self.end;
        Ok(())
    }

    /// Bytes of records that the active segment can still take.
    fn room_left(&self) -> u64 {
        let used = self.end - self.active.header.base;
        self.active.length.saturating_sub(HEADER).saturating_sub(used)
    }

    /// Kept free by [`reserve`](Self::reserve), for the records that are not entries of clients.
    fn slack(&self) -> u64 {
        (self.options.segment_bytes / 8).min(64 << 10)
    }

    fn begin_segment(&mut self, record_bytes: u64) -> Result<(), JournalError> {
        self.flush()?;
        self.sync()?;
        let state = LogState {
            committed_end: self.committed_end,
            ..self.index.read().state
        };
        let header = Header {
            sequence: self.active.header.sequence + 1,
            base: self.end,
            salt: self.env.random.next_u64() as u32,
            previous: self.previous,
            state,
        };
        match activate(&self.env, &self.dir, &self.spares, record_bytes, header) {
            Ok(segment) => {
                self.index.write().segments.push_back(segment.clone());
                self.active = segment;
                Ok(())
            }
            Err(error) => Err(self.fail("making the successor", self.end, error)),
        }
    }

    fn fail(&mut self, what: &str, position: u64, error: io::Error) -> JournalError {
        self.synced
            .fail(what, &self.active.path, self.active.offset_of(position), &error)
    }
}

impl Synced {
    fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    fn check(&self) -> Result<(), JournalError> {
        match self.poison.get() {
            None => Ok(()),
            Some(reason) => Err(JournalError::Poisoned(reason.clone())),
        }
    }

    fn fail(&self, what: &str, path: &Path, offset: u64, error: &io::Error) -> JournalError {
        let reason = self.poison.get_or_init(|| {
            let reason = format!(
                "{what} of {} at byte {offset} failed: {error}; the log takes nothing more until a restart",
                path.display(),
            );
            tracing::error!("{reason}");
            reason.into()
        });
        JournalError::Poisoned(reason.clone())
    }
}

impl Unsynced {
    /// Returns when it is durable, with whatever else was written to the file before. A failure is the journal's, too.
    pub fn sync(&self) -> Result<(), JournalError> {
        let _one = self.synced.one.lock();
        self.synced.check()?;
        let durable = self.synced.durable();
        if durable >= self.end {
            return Ok(());
        }
        match self.segment.file.sync_data() {
            Ok(()) => {
                self.synced.durable.store(self.end, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                let offset = self.segment.offset_of(durable);
                Err(self.synced.fail("sync", &self.segment.path, offset, &error))
            }
        }
    }
}

/// Turns a spare into the segment with this header.
fn activate(env: &Env, dir: &Path, spares: &Spares, record_bytes: u64, header: Header) -> io::Result<Segment> {
    let spare = spares.take(record_bytes)?;
    let file = env.disk.open(&spare.path, Access::Write)?;
    file.write_at(&header.encode(), 0)?;
    file.sync_data()?;
    let path = dir.join(segment::file_name(header.sequence));
    env.disk.rename(&spare.path, &path)?;
    env.disk.sync_dir(dir)?;
    Ok(Segment {
        header,
        path: path.into(),
        file: file.into(),
        length: spare.length,
    })
}
