//! Checkpoint files: everything a shard knows at one log index.
//!
//! ```text
//!   ┌────────┬───────┬───────┬─────┬───────┬───────────┬─────────┐
//!   │ header │ chunk │ chunk │  …  │ chunk │ directory │ trailer │
//!   └────────┴───────┴───────┴─────┴───────┴───────────┴─────────┘
//! ```
//!
//! A chunk is bytes of some stream (a table, say), whose number and meaning are the shard's. The directory at the end
//! lets all cores load chunks at once. A checkpoint gets its name only when all of it is on the disk: one that was
//! being written at a crash never had a name, and is deleted when the directory is opened.

mod incoming;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{Access, Env, File, failpoints};

use crate::bytes::{get_u32, get_u64, put_u32, put_u64};
use crate::{Damage, OpenError};

pub use incoming::{Incoming, Received};

const MAGIC: &[u8; 8] = b"LATSCKPT";
const VERSION: u32 = 1;
const HEADER: usize = 24;
const CHUNK_HEADER: usize = 16;
const DIRECTORY_ENTRY: usize = 24;
const TRAILER: usize = 32;
const END_MAGIC: &[u8; 8] = b"LATSCEND";

/// Unsynced bytes that a checkpoint leaves to the kernel at most, so that the log's syncs do not queue behind them.
const SYNC_BYTES: u64 = 8 << 20;

/// The checkpoint files of one shard.
#[derive(Debug, Clone)]
pub struct CheckpointDir {
    env: Env,
    dir: PathBuf,
}

impl CheckpointDir {
    /// Opens the directory, and removes what was being written at a crash.
    pub fn open(env: &Env, dir: &Path) -> Result<CheckpointDir, OpenError> {
        let io_error = |error| OpenError::io(dir, error);
        env.disk.create_dir(dir).map_err(io_error)?;
        let this = CheckpointDir {
            env: env.clone(),
            dir: dir.to_owned(),
        };
        for name in env.disk.list(dir).map_err(io_error)? {
            if name.ends_with(".tmp") {
                env.disk.remove(&dir.join(name)).map_err(io_error)?;
            }
        }
        Ok(this)
    }

    /// The newest checkpoint. Its chunks are checked when they are read.
    pub fn newest(&self) -> Result<Option<Checkpoint>, OpenError> {
        match self.indexes()?.last() {
            None => Ok(None),
            Some(&index) => Checkpoint::open(&self.env, &self.path(index)).map(Some),
        }
    }

    /// As [`newest`](Self::newest), of one that may be damaged: its chunks are found without its directory, too. With it, what is
    /// not sound. `None` instead of a checkpoint: there is none, or its contents' description cannot be read.
    pub fn salvage(&self) -> Result<(Option<Checkpoint>, Vec<Damage>), OpenError> {
        let Some(&index) = self.indexes()?.last() else {
            return Ok((None, Vec::new()));
        };
        let path = self.path(index);
        let problem = match Checkpoint::open(&self.env, &path) {
            Ok(checkpoint) => return Ok((Some(checkpoint), Vec::new())),
            Err(error) => Damage::new(&path, 0, error.to_string()),
        };
        Ok((Checkpoint::scan(&self.env, &path).ok().flatten(), vec![problem]))
    }

    /// Begins a checkpoint of everything up to log entry `index`. `meta` is the shard's, and comes back from
    /// [`Checkpoint::meta`].
    pub fn create(&self, index: u64, meta: &[u8]) -> io::Result<CheckpointWriter> {
        let path = self.dir.join(format!("{index:020}.tmp"));
        let file = self.env.disk.open(&path, Access::Create)?;
        let mut writer = CheckpointWriter {
            dir: self.clone(),
            file: file.into(),
            path,
            name: self.path(index),
            buffer: Vec::new(),
            written: 0,
            synced: 0,
            directory: Vec::new(),
        };
        put_head(&mut writer.buffer, meta)?;
        Ok(writer)
    }

    /// Removes all checkpoints older than the one of entry `index`.
    pub fn remove_before(&self, index: u64) -> Result<(), OpenError> {
        for older in self.indexes()?.into_iter().filter(|&older| older < index) {
            let path = self.path(older);
            self.env
                .disk
                .remove(&path)
                .map_err(|error| OpenError::io(&path, error))?;
        }
        Ok(())
    }

    fn path(&self, index: u64) -> PathBuf {
        self.dir.join(format!("{index:020}.checkpoint"))
    }

    fn indexes(&self) -> Result<Vec<u64>, OpenError> {
        let names = self
            .env
            .disk
            .list(&self.dir)
            .map_err(|error| OpenError::io(&self.dir, error))?;
        let indexes = names
            .iter()
            .filter_map(|name| name.strip_suffix(".checkpoint")?.parse().ok());
        let mut indexes: Vec<u64> = indexes.collect();
        indexes.sort_unstable();
        Ok(indexes)
    }
}

/// A checkpoint that is being written. Dropped before [`finish`](Self::finish), it never was.
pub struct CheckpointWriter {
    dir: CheckpointDir,
    file: Arc<dyn File>,
    path: PathBuf,
    name: PathBuf,
    buffer: Vec<u8>,
    written: u64,
    synced: u64,
    directory: Vec<ChunkEntry>,
}

#[derive(Debug, Clone, Copy)]
struct ChunkEntry {
    offset: u64,
    length: u32,
    stream: u64,
}

impl CheckpointWriter {
    /// Adds a chunk of a stream. Chunks of some 256 KiB to 1 MiB load best.
    pub fn add(&mut self, stream: u64, payload: &[u8]) -> io::Result<()> {
        let offset = self.position();
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
        let mut header = [0; CHUNK_HEADER];
        put_u32(&mut header, 4, length);
        put_u64(&mut header, 8, stream);
        let crc = chunk_checksum(offset, &header, payload);
        put_u32(&mut header, 0, crc);
        self.buffer.extend_from_slice(&header);
        self.buffer.extend_from_slice(payload);
        self.directory.push(ChunkEntry { offset, length, stream });
        let _ = failpoints::hit("checkpoint.writing");
        self.flush()
    }

    /// Bytes so far.
    pub fn position(&self) -> u64 {
        self.written + self.buffer.len() as u64
    }

    /// Makes the checkpoint durable and gives it its name.
    pub fn finish(mut self) -> io::Result<()> {
        let start = self.position();
        put_end(&mut self.buffer, start, &self.directory);
        self.flush()?;
        let _ = failpoints::hit("checkpoint.written");
        self.file.sync_data()?;
        self.dir.env.disk.rename(&self.path, &self.name)?;
        self.path = self.name.clone();
        let _ = failpoints::hit("checkpoint.named");
        self.dir.env.disk.sync_dir(&self.dir.dir)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_at(&self.buffer, self.written)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        if self.written - self.synced >= SYNC_BYTES {
            self.file.sync_data()?;
            self.synced = self.written;
        }
        Ok(())
    }
}

impl Drop for CheckpointWriter {
    fn drop(&mut self) {
        if self.path != self.name {
            // It has no name yet: if it cannot be removed now, it is when the directory is opened next.
            let _ = self.dir.env.disk.remove(&self.path);
        }
    }
}

/// The bytes of a checkpoint's file that has no chunks.
pub fn without_chunks(meta: &[u8]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    put_head(&mut bytes, meta)?;
    let start = bytes.len() as u64;
    put_end(&mut bytes, start, &[]);
    Ok(bytes)
}

fn put_head(to: &mut Vec<u8>, meta: &[u8]) -> io::Result<()> {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    put_u32(&mut header, 8, VERSION);
    put_u32(&mut header, 12, u32::try_from(meta.len()).map_err(io::Error::other)?);
    put_u64(&mut header, 16, u64::from(crc32fast::hash(meta)));
    to.extend_from_slice(&header);
    to.extend_from_slice(meta);
    Ok(())
}

/// The directory, which begins at `start`, and the trailer.
fn put_end(to: &mut Vec<u8>, start: u64, chunks: &[ChunkEntry]) {
    let mut directory = vec![0; chunks.len() * DIRECTORY_ENTRY];
    for (bytes, chunk) in directory.chunks_exact_mut(DIRECTORY_ENTRY).zip(chunks) {
        put_u64(bytes, 0, chunk.offset);
        put_u64(bytes, 8, u64::from(chunk.length));
        put_u64(bytes, 16, chunk.stream);
    }
    let mut trailer = [0; TRAILER];
    put_u64(&mut trailer, 0, start);
    put_u64(&mut trailer, 8, chunks.len() as u64);
    put_u32(&mut trailer, 16, crc32fast::hash(&directory));
    trailer[24..].copy_from_slice(END_MAGIC);
    let crc = crc32fast::hash(&trailer[..20]);
    put_u32(&mut trailer, 20, crc);
    to.extend_from_slice(&directory);
    to.extend_from_slice(&trailer);
}

fn chunk_checksum(offset: u64, header: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&offset.to_le_bytes());
    hasher.update(&header[4..]);
    hasher.update(payload);
    hasher.finalize()
}

/// An open checkpoint. Chunks may be read from several threads at once.
pub struct Checkpoint {
    file: Box<dyn File>,
    path: PathBuf,
    meta: Vec<u8>,
    directory: Vec<ChunkEntry>,
}

impl Checkpoint {
    fn open(env: &Env, path: &Path) -> Result<Checkpoint, OpenError> {
        let io_error = |error| OpenError::io(path, error);
        let damaged = |offset: u64, what: &str| OpenError::from(Damage::new(path, offset, what));
        let file = env.disk.open(path, Access::Read).map_err(io_error)?;
        let length = file.length().map_err(io_error)?;
        if length < (HEADER + TRAILER) as u64 {
            return Err(damaged(length, "shorter than an empty checkpoint"));
        }
        let read = |offset: u64, bytes: u64| -> Result<Vec<u8>, OpenError> {
            if offset.checked_add(bytes).is_none_or(|end| end > length) {
                return Err(damaged(length, "the checkpoint is too short"));
            }
            let mut buffer = vec![0; bytes as usize];
            file.read_exact_at(&mut buffer, offset).map_err(io_error)?;
            Ok(buffer)
        };
        let header = read(0, HEADER as u64)?;
        if &header[..8] != MAGIC {
            return Err(damaged(0, "not a checkpoint"));
        }
        match get_u32(&header, 8) {
            VERSION => {}
            found => {
                return Err(OpenError::Version {
                    file: path.to_owned(),
                    found,
                    known: VERSION,
                });
            }
        }
        let meta = read(HEADER as u64, u64::from(get_u32(&header, 12)))?;
        if get_u64(&header, 16) != u64::from(crc32fast::hash(&meta)) {
            return Err(damaged(HEADER as u64, "the header's checksum is wrong"));
        }
        let trailer_offset = length - TRAILER as u64;
        let trailer = read(trailer_offset, TRAILER as u64)?;
        if &trailer[24..] != END_MAGIC || get_u32(&trailer, 20) != crc32fast::hash(&trailer[..20]) {
            return Err(damaged(trailer_offset, "the trailer is not sound"));
        }
        let (start, count) = (get_u64(&trailer, 0), get_u64(&trailer, 8));
        if start.checked_add(count.saturating_mul(DIRECTORY_ENTRY as u64)) != Some(trailer_offset) {
            return Err(damaged(trailer_offset, "the directory does not reach to the trailer"));
        }
        let directory = read(start, trailer_offset - start)?;
        if get_u32(&trailer, 16) != crc32fast::hash(&directory) {
            return Err(damaged(start, "the directory's checksum is wrong"));
        }
        let entry = |bytes: &[u8]| {
            let length = u32::try_from(get_u64(bytes, 8)).map_err(|_| damaged(start, "a chunk larger than 4 GiB"))?;
            Ok(ChunkEntry {
                offset: get_u64(bytes, 0),
                length,
                stream: get_u64(bytes, 16),
            })
        };
        let directory = directory
            .chunks_exact(DIRECTORY_ENTRY)
            .map(entry)
            .collect::<Result<_, OpenError>>()?;
        Ok(Checkpoint {
            path: path.to_owned(),
            meta,
            directory,
            file,
        })
    }

    /// Finds the chunks by looking for them. `None`: the shard's part of the header is not sound.
    fn scan(env: &Env, path: &Path) -> io::Result<Option<Checkpoint>> {
        let file = env.disk.open(path, Access::Read)?;
        let mut bytes = vec![0; file.length()? as usize];
        let read = file.read_at(&mut bytes, 0)?;
        bytes.truncate(read);
        if bytes.len() < HEADER {
            return Ok(None);
        }
        let meta_end = HEADER + get_u32(&bytes, 12) as usize;
        let Some(meta) = bytes.get(HEADER..meta_end) else {
            return Ok(None);
        };
        if get_u64(&bytes, 16) != u64::from(crc32fast::hash(meta)) {
            return Ok(None);
        }
        let mut directory = Vec::new();
        let mut offset = meta_end;
        while let Some(header) = bytes.get(offset..offset + CHUNK_HEADER) {
            let (length, stream) = (get_u32(header, 4), get_u64(header, 8));
            let payload = bytes.get(offset + CHUNK_HEADER..offset + CHUNK_HEADER + length as usize);
            // Streams are tables, whose ids have 32 bits, or the one of the outcomes; checked first, a checksum costs more.
            let may_be = stream >> 32 == 0 || stream == u64::MAX;
            let sound = may_be
                && payload.is_some_and(|payload| get_u32(header, 0) == chunk_checksum(offset as u64, header, payload));
            if sound {
                directory.push(ChunkEntry {
                    offset: offset as u64,
                    length,
                    stream,
                });
                offset += CHUNK_HEADER + length as usize;
            } else {
                offset += 1;
            }
        }
        let meta = meta.to_vec();
        Ok(Some(Checkpoint {
            file,
            path: path.to_owned(),
            meta,
            directory,
        }))
    }

    /// What the shard gave to [`CheckpointDir::create`].
    pub fn meta(&self) -> &[u8] {
        &self.meta
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of chunks, over all streams.
    pub fn chunks(&self) -> usize {
        self.directory.len()
    }

    /// The stream of a chunk.
    pub fn stream(&self, chunk: usize) -> u64 {
        self.directory[chunk].stream
    }

    /// Bytes of a chunk.
    pub fn chunk_bytes(&self, chunk: usize) -> usize {
        self.directory[chunk].length as usize
    }

    /// Reads a chunk and checks it.
    pub fn read(&self, chunk: usize) -> Result<Vec<u8>, OpenError> {
        let entry = self.directory[chunk];
        let mut bytes = vec![0; CHUNK_HEADER + entry.length as usize];
        match self.file.read_exact_at(&mut bytes, entry.offset) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(Damage::new(&self.path, entry.offset, "the chunk is not there").into());
            }
            Err(error) => return Err(OpenError::io(&self.path, error)),
        }
        let (header, payload) = bytes.split_at(CHUNK_HEADER);
        let sound = get_u32(header, 0) == chunk_checksum(entry.offset, header, payload)
            && get_u32(header, 4) == entry.length
            && get_u64(header, 8) == entry.stream;
        if !sound {
            return Err(Damage::new(&self.path, entry.offset, "a chunk's checksum is wrong").into());
        }
        bytes.drain(..CHUNK_HEADER);
        Ok(bytes)
    }
}
