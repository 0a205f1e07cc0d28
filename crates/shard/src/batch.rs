//! A log entry of rows: many transactions, committed together, or parts of large ones (drawn in `docs/formats/batch.md`).

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::TransactionId;

const VERSION: u8 = 2;
/// Knew whole transactions only.
const VERSION_WHOLE: u8 = 1;
const HEADER: usize = 1;
const PIECE_HEADER: usize = 25;
const WHOLE_HEADER: usize = 20;

const WHOLE: u8 = 0;
const CHUNK: u8 = 1;
const COMMIT: u8 = 2;
const ABORT: u8 = 3;

/// What a batch has of a transaction, with its write sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece<W> {
    /// All of it.
    Whole(W),
    /// A part of a large one, numbered from 0: changes of rows.
    Chunk { number: u32, writes: W },
    /// The end of a large one of so many chunks, and what is not in them.
    Commit { chunks: u32, writes: W },
    /// The end of a large one that is not committed.
    Abort,
}

/// An encoded batch. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    bytes: Arc<Vec<u8>>,
}

/// Bytes that are not a batch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum BatchError {
    #[error("batch version {0} is not known")]
    Version(u8),
    #[error("batch cut short at byte {0}")]
    CutShort(usize),
    #[error("what a batch has at byte {at} is of an unknown kind, {kind}")]
    Kind { kind: u8, at: usize },
}

impl Batch {
    pub fn encode<W: AsRef<[u8]>>(pieces: &[(TransactionId, Piece<W>)]) -> Batch {
        let sizes = pieces
            .iter()
            .map(|(_, piece)| PIECE_HEADER + piece.parts().2.map_or(0, |writes| writes.as_ref().len()));
        let mut bytes = Vec::with_capacity(HEADER + sizes.sum::<usize>());
        bytes.push(VERSION);
        for (id, piece) in pieces {
            let (kind, number, writes) = piece.parts();
            let writes = writes.map_or(&[][..], AsRef::as_ref);
            bytes.push(kind);
            bytes.extend_from_slice(&id.term.to_le_bytes());
            bytes.extend_from_slice(&id.sequence.to_le_bytes());
            bytes.extend_from_slice(&number.to_le_bytes());
            let length = u32::try_from(writes.len()).expect("the queue takes no transaction of 4 GiB");
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(writes);
        }
        Batch { bytes: Arc::new(bytes) }
    }

    pub fn from_bytes(bytes: Arc<Vec<u8>>) -> Batch {
        Batch { bytes }
    }

    pub fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.bytes
    }

    /// What it has, in log order. Checks the header; each piece is checked as it comes.
    pub fn pieces(&self) -> Result<Pieces<'_>, BatchError> {
        match self.bytes.first() {
            Some(&version @ (VERSION | VERSION_WHOLE)) => Ok(Pieces {
                bytes: &self.bytes,
                at: HEADER,
                has_kinds: version == VERSION,
            }),
            Some(&version) => Err(BatchError::Version(version)),
            None => Err(BatchError::CutShort(0)),
        }
    }
}

impl<W> Piece<W> {
    /// Kind, number, write set.
    fn parts(&self) -> (u8, u32, Option<&W>) {
        match self {
            Piece::Whole(writes) => (WHOLE, 0, Some(writes)),
            Piece::Chunk { number, writes } => (CHUNK, *number, Some(writes)),
            Piece::Commit { chunks, writes } => (COMMIT, *chunks, Some(writes)),
            Piece::Abort => (ABORT, 0, None),
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch of {} bytes", self.bytes.len())
    }
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Stops after the first error.
pub(crate) struct Pieces<'a> {
    bytes: &'a [u8],
    at: usize,
    has_kinds: bool,
}

impl<'a> Pieces<'a> {
    fn step(&mut self) -> Result<(TransactionId, Piece<&'a [u8]>), BatchError> {
        let at = self.at;
        if !self.has_kinds {
            let header: [u8; WHOLE_HEADER] = self.take(WHOLE_HEADER)?.try_into().expect("as many were taken");
            return Ok((
                id_of(&header),
                Piece::Whole(self.take(number_at(&header, 16) as usize)?),
            ));
        }
        let header: [u8; PIECE_HEADER] = self.take(PIECE_HEADER)?.try_into().expect("as many were taken");
        let number = number_at(&header, 17);
        let writes = self.take(number_at(&header, 21) as usize)?;
        let piece = match header[0] {
            WHOLE => Piece::Whole(writes),
            CHUNK => Piece::Chunk { number, writes },
            COMMIT => Piece::Commit { chunks: number, writes },
            ABORT => Piece::Abort,
            kind => return Err(BatchError::Kind { kind, at }),
        };
        Ok((id_of(&header[1..]), piece))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], BatchError> {
        let taken = self.bytes[self.at..]
            .get(..count)
            .ok_or(BatchError::CutShort(self.at))?;
        self.at += count;
        Ok(taken)
    }
}

fn id_of(header: &[u8]) -> TransactionId {
    let number = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    TransactionId {
        term: number(0),
        sequence: number(8),
    }
}

fn number_at(header: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"))
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<(TransactionId, Piece<&'a [u8]>), BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let result = self.step();
        if result.is_err() {
            self.at = self.bytes.len();
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(sequence: u64) -> TransactionId {
        TransactionId { term: 7, sequence }
    }

    fn sample() -> Vec<(TransactionId, Piece<Vec<u8>>)> {
        vec![
            (id(0), Piece::Whole(vec![])),
            (
                id(1),
                Piece::Chunk {
                    number: 3,
                    writes: vec![1; 5],
                },
            ),
            (
                id(2),
                Piece::Commit {
                    chunks: 4,
                    writes: vec![2; 10],
                },
            ),
            (id(3), Piece::Abort),
            (id(4), Piece::Whole(vec![4; 20])),
        ]
    }

    fn decoded(batch: &Batch) -> Vec<(TransactionId, Piece<Vec<u8>>)> {
        let pieces = batch.pieces().unwrap().map(|piece| {
            let (id, piece) = piece.unwrap();
            let piece = match piece {
                Piece::Whole(writes) => Piece::Whole(writes.to_vec()),
                Piece::Chunk { number, writes } => Piece::Chunk {
                    number,
                    writes: writes.to_vec(),
                },
                Piece::Commit { chunks, writes } => Piece::Commit {
                    chunks,
                    writes: writes.to_vec(),
                },
                Piece::Abort => Piece::Abort,
            };
            (id, piece)
        });
        pieces.collect()
    }

    #[test]
    fn batches_come_back() {
        assert_eq!(decoded(&Batch::encode(&sample())), sample());
    }

    /// Logs of earlier versions have them.
    #[test]
    fn version_1_is_read() {
        let mut bytes = vec![1];
        for (term, sequence, writes) in [(7u64, 0u64, &b"one"[..]), (7, 1, b"")] {
            bytes.extend_from_slice(&term.to_le_bytes());
            bytes.extend_from_slice(&sequence.to_le_bytes());
            bytes.extend_from_slice(&(writes.len() as u32).to_le_bytes());
            bytes.extend_from_slice(writes);
        }
        let expected = [(id(0), Piece::Whole(b"one".to_vec())), (id(1), Piece::Whole(vec![]))];
        assert_eq!(decoded(&Batch::from_bytes(Arc::new(bytes))), expected);
    }

    #[test]
    fn every_cut_is_an_error_or_a_shorter_batch() {
        let whole = Batch::encode(&sample());
        for length in 0..whole.bytes().len() {
            let cut = Batch::from_bytes(Arc::new(whole.bytes()[..length].to_vec()));
            let results: Vec<_> = match cut.pieces() {
                Ok(pieces) => pieces.collect(),
                Err(_) => continue,
            };
            let good = results.iter().filter(|result| result.is_ok()).count();
            assert!(good < sample().len(), "a cut at {length} loses something");
            assert!(results.len() - good <= 1, "nothing follows an error");
        }
    }

    #[test]
    fn another_version_or_kind_is_refused() {
        let batch = Batch::from_bytes(Arc::new(vec![9]));
        assert_eq!(batch.pieces().err(), Some(BatchError::Version(9)));
        let mut bytes = Batch::encode(&sample()).bytes().to_vec();
        bytes[HEADER] = 4;
        let batch = Batch::from_bytes(Arc::new(bytes));
        let first = batch.pieces().unwrap().next();
        assert_eq!(first, Some(Err(BatchError::Kind { kind: 4, at: 1 })));
    }
}
