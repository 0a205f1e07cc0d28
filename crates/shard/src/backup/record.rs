//! The records of a backup.

use journal::{Entry, EntryId};
use types::Timestamp;

use crate::bytes::{Bytes, put_bytes, put_u32, put_u64};

/// A stream begins with it and its version.
pub(crate) const MAGIC: [u8; 8] = *b"LATSBKUP";
pub(crate) const VERSION: u32 = 1;
pub(crate) const PREAMBLE: usize = 16;

/// Checksum, length of the payload, kind.
pub(crate) const HEADER: usize = 12;
/// A record is no longer: a log entry holds a transaction, which is below it.
pub(crate) const PAYLOAD_MAX: u32 = u32::MAX - (1 << 20);

pub(crate) const HEAD: u32 = 1;
pub(crate) const META: u32 = 2;
pub(crate) const CHUNK: u32 = 3;
pub(crate) const ENTRIES: u32 = 4;
pub(crate) const POSITION: u32 = 5;
pub(crate) const END: u32 = 6;

/// What a stream is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A checkpoint of so many chunks, and the log behind it.
    Full { chunks: u64 },
    /// The log behind an entry that another stream has.
    Log,
}

/// What a stream begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    pub cluster: u128,
    /// The node that gave it.
    pub node: u32,
    /// Of the program.
    pub version: String,
    /// The checkpoint's entry; of a log, the entry that it follows.
    pub after: EntryId,
    /// The newest commit at that entry.
    pub newest: Timestamp,
    /// When it was begun, by the node's clock: milliseconds since 1970.
    pub wall_ms: u64,
}

/// How far the log in a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The newest entry.
    pub last: EntryId,
    /// The newest commit: the stream has all up to it.
    pub newest: Timestamp,
}

/// A record's bytes.
pub(crate) fn seal(kind: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    put_u32(
        &mut bytes,
        u32::try_from(payload.len()).expect("whoever makes a record keeps to its limit"),
    );
    put_u32(&mut bytes, kind);
    bytes.extend_from_slice(payload);
    let crc = crc32fast::hash(&bytes[4..]);
    bytes[..4].copy_from_slice(&crc.to_le_bytes());
    bytes
}

pub(crate) fn preamble() -> [u8; PREAMBLE] {
    let mut bytes = [0; PREAMBLE];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes
}

impl Head {
    pub(crate) fn seal(&self) -> Vec<u8> {
        let (kind, chunks) = match self.kind {
            Kind::Full { chunks } => (1, chunks),
            Kind::Log => (2, 0),
        };
        let mut payload = vec![kind];
        payload.extend_from_slice(&self.cluster.to_le_bytes());
        put_u32(&mut payload, self.node);
        for number in [self.after.term, self.after.index, self.newest.0, self.wall_ms, chunks] {
            put_u64(&mut payload, number);
        }
        put_bytes(&mut payload, self.version.as_bytes());
        seal(HEAD, &payload)
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Head> {
        let bytes = &mut Bytes::new(payload);
        let kind = bytes.u8()?;
        let cluster = u128::from(bytes.u64()?) | u128::from(bytes.u64()?) << 64;
        let node = bytes.u32()?;
        let (term, index) = (bytes.u64()?, bytes.u64()?);
        let (newest, wall_ms, chunks) = (Timestamp(bytes.u64()?), bytes.u64()?, bytes.u64()?);
        let version = bytes.text()?.to_owned();
        let kind = match kind {
            1 => Kind::Full { chunks },
            2 => Kind::Log,
            _ => return None,
        };
        bytes.is_empty().then_some(Head {
            kind,
            cluster,
            node,
            version,
            after: EntryId { term, index },
            newest,
            wall_ms,
        })
    }
}

impl Position {
    pub(crate) fn seal(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        for number in [self.last.term, self.last.index, self.newest.0] {
            put_u64(&mut payload, number);
        }
        seal(POSITION, &payload)
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Position> {
        let bytes = &mut Bytes::new(payload);
        let (term, index) = (bytes.u64()?, bytes.u64()?);
        let position = Position {
            last: EntryId { term, index },
            newest: Timestamp(bytes.u64()?),
        };
        bytes.is_empty().then_some(position)
    }
}

/// Bytes of the record that a stream ends with.
pub const END_BYTES: usize = HEADER + 36;

/// Of how many records, with a checksum of their checksums, and how far the log comes.
pub(crate) fn seal_end(records: u64, digest: u32, position: Position) -> Vec<u8> {
    let mut payload = Vec::new();
    put_u64(&mut payload, records);
    put_u32(&mut payload, digest);
    for number in [position.last.term, position.last.index, position.newest.0] {
        put_u64(&mut payload, number);
    }
    seal(END, &payload)
}

pub(crate) fn decode_end(payload: &[u8]) -> Option<(u64, u32, Position)> {
    let bytes = &mut Bytes::new(payload);
    let (records, digest) = (bytes.u64()?, bytes.u32()?);
    let (term, index) = (bytes.u64()?, bytes.u64()?);
    let position = Position {
        last: EntryId { term, index },
        newest: Timestamp(bytes.u64()?),
    };
    bytes.is_empty().then_some((records, digest, position))
}

/// How far the log comes in a stream that ends with these bytes, [`END_BYTES`] of them. `None`: it does not end with them.
pub fn position_at_end(bytes: &[u8]) -> Option<Position> {
    let (crc, rest) = bytes.split_first_chunk()?;
    let is_sound = u32::from_le_bytes(*crc) == crc32fast::hash(rest) && bytes.len() == END_BYTES;
    let payload = bytes.get(HEADER..)?;
    is_sound.then(|| decode_end(payload))?.map(|(_, _, position)| position)
}

pub(crate) fn seal_chunk(number: u64, stream: u64, rows: &[u8]) -> Vec<u8> {
    let mut payload = Vec::with_capacity(16 + rows.len());
    put_u64(&mut payload, number);
    put_u64(&mut payload, stream);
    payload.extend_from_slice(rows);
    seal(CHUNK, &payload)
}

/// Number, stream, rows.
pub(crate) fn decode_chunk(payload: &[u8]) -> Option<(u64, u64, &[u8])> {
    let mut bytes = Bytes::new(payload);
    Some((bytes.u64()?, bytes.u64()?, bytes.rest()))
}

pub(crate) fn seal_entries(entries: &[Entry]) -> Vec<u8> {
    let mut payload = Vec::new();
    for entry in entries {
        put_u64(&mut payload, entry.id.term);
        put_u64(&mut payload, entry.id.index);
        payload.push(entry.tag);
        put_bytes(&mut payload, &entry.payload);
    }
    seal(ENTRIES, &payload)
}

pub(crate) fn decode_entries(payload: &[u8]) -> Option<Vec<Entry>> {
    let bytes = &mut Bytes::new(payload);
    let mut entries = Vec::new();
    while !bytes.is_empty() {
        let (term, index) = (bytes.u64()?, bytes.u64()?);
        entries.push(Entry {
            id: EntryId { term, index },
            tag: bytes.u8()?,
            payload: std::sync::Arc::new(bytes.bytes()?.to_vec()),
        });
    }
    Some(entries)
}
