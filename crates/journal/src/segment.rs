//! A segment: a preallocated file whose first block says which part of the log it holds.
//!
//! The header repeats the log's state (vote, purge point, newest entry) at the segment's start. So the log is whole
//! from any segment on, and the ones before may be recycled.

use std::path::Path;
use std::sync::Arc;

use env::File;

use crate::bytes::{get_entry_id, get_u32, get_u64, get_vote, put_entry_id, put_u32, put_u64, put_vote};
use crate::state::LogState;
use crate::{Damage, OpenError};

/// The header's block; records start after it.
pub(crate) const HEADER: u64 = 4096;

const MAGIC: &[u8; 8] = b"LATSDLOG";
const VERSION: u32 = 1;
/// Meaningful bytes of the header; the rest of the block is zero.
const HEADER_BYTES: usize = 128;

/// What the first block says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Counts up from 1; also the file's name.
    pub sequence: u64,
    /// The log position of the first record.
    pub base: u64,
    /// Seeds every checksum in this segment.
    pub salt: u32,
    /// The checksum of the last record of the segment before.
    pub previous: u32,
    pub state: LogState,
}

/// An open segment.
#[derive(Clone)]
pub(crate) struct Segment {
    pub header: Header,
    pub path: Arc<Path>,
    pub file: Arc<dyn File>,
    /// Size of the file.
    pub length: u64,
}

pub(crate) fn file_name(sequence: u64) -> String {
    format!("{sequence:012}.log")
}

/// The inverse of [`file_name`].
pub(crate) fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".log")?;
    (digits.len() == 12).then(|| digits.parse().ok())?
}

impl Segment {
    pub fn offset_of(&self, position: u64) -> u64 {
        HEADER + (position - self.header.base)
    }
}

impl Header {
    pub fn encode(&self) -> Vec<u8> {
        let mut block = vec![0; HEADER as usize];
        block[..8].copy_from_slice(MAGIC);
        put_u32(&mut block, 8, VERSION);
        put_u64(&mut block, 16, self.sequence);
        put_u64(&mut block, 24, self.base);
        put_u32(&mut block, 32, self.salt);
        put_u32(&mut block, 36, self.previous);
        put_vote(&mut block, 40, self.state.vote);
        put_entry_id(&mut block, 64, self.state.purged);
        put_entry_id(&mut block, 80, self.state.last);
        put_u64(&mut block, 96, self.state.committed_end);
        let crc = crc32fast::hash(&block[16..HEADER_BYTES]);
        put_u32(&mut block, 12, crc);
        block
    }

    pub fn decode(bytes: &[u8], file: &Path) -> Result<Header, OpenError> {
        let damaged = |offset, what: &str| OpenError::from(Damage::new(file, offset, what));
        let Some(bytes) = bytes.get(..HEADER_BYTES) else {
            return Err(damaged(bytes.len() as u64, "the segment is shorter than its header"));
        };
        if &bytes[..8] != MAGIC {
            return Err(damaged(0, "not the beginning of a log segment"));
        }
        match get_u32(bytes, 8) {
            VERSION => {}
            found => {
                return Err(OpenError::Version {
                    file: file.to_owned(),
                    found,
                    known: VERSION,
                });
            }
        }
        if get_u32(bytes, 12) != crc32fast::hash(&bytes[16..]) {
            return Err(damaged(12, "the segment header's checksum is wrong"));
        }
        let vote = get_vote(bytes, 40).ok_or_else(|| damaged(40, "not a vote"))?;
        Ok(Header {
            sequence: get_u64(bytes, 16),
            base: get_u64(bytes, 24),
            salt: get_u32(bytes, 32),
            previous: get_u32(bytes, 36),
            state: LogState {
                vote,
                purged: get_entry_id(bytes, 64),
                last: get_entry_id(bytes, 80),
                committed_end: get_u64(bytes, 96),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{EntryId, Vote};

    fn sample() -> Header {
        Header {
            sequence: 12,
            base: 1 << 40,
            salt: 0xdead_beef,
            previous: 77,
            state: LogState {
                vote: Some(Vote {
                    term: 3,
                    node: 1,
                    committed: true,
                }),
                purged: Some(EntryId { term: 2, index: 0 }),
                last: None,
                committed_end: 9,
            },
        }
    }

    #[test]
    fn headers_come_back() {
        let block = sample().encode();
        assert_eq!(block.len() as u64, HEADER);
        assert_eq!(Header::decode(&block, Path::new("x")).unwrap(), sample());
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let mut block = sample().encode();
        for bit in 0..HEADER_BYTES * 8 {
            block[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&block, Path::new("x")).is_err(), "bit {bit}");
            block[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(Header::decode(&block[..100], Path::new("x")).is_err());
    }

    #[test]
    fn names_sort_like_numbers() {
        assert_eq!(sequence_of(&file_name(17)), Some(17));
        for other in ["17.log", "00000000001x.log", "spare-1.log", "000000000001.tmp"] {
            assert_eq!(sequence_of(other), None);
        }
    }
}
