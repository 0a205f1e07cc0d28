//! A log entry of rows: many transactions, committed together, or parts of large ones (drawn in `docs/formats/batch.md`).

use std::fmt;
use std::sync::Arc;

use env::Level;
use thiserror::Error;
use types::Timestamp;

use crate::{Durability, Issuer, TransactionId};

const VERSION: u8 = 3;
/// Knew neither levels nor moments, nor what a piece was made under.
const VERSION_CHUNKS: u8 = 2;
/// Knew whole transactions only.
const VERSION_WHOLE: u8 = 1;

/// What batches may hold, for whoever reads them. A node that does not know a level cannot apply its batches.
pub(crate) const LEVEL: u16 = LEVEL_RAISES;
/// Of what has no other durability than that on the disks of a majority.
const LEVEL_FIRST: u16 = 1;
const LEVEL_DURABILITIES: u16 = 2;
/// Of what raises the cluster's feature level: whoever does not speak that knows no such batch.
const LEVEL_RAISES: u16 = 3;

const HEADER: usize = 19;
const HEADER_OF_FORMER_VERSIONS: usize = 1;
const PIECE_HEADER: usize = 42;
const CHUNKS_HEADER: usize = 25;
const WHOLE_HEADER: usize = 20;

const WHOLE: u8 = 0;
const CHUNK: u8 = 1;
const COMMIT: u8 = 2;
const ABORT: u8 = 3;
const RAISE: u8 = 4;

/// When the leader made a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Moment {
    /// By the leader's clock: milliseconds since 1970, or 0 where that was not written down.
    pub wall_ms: u64,
    /// The transactions commit at this timestamp, or later.
    pub base: Timestamp,
}

/// Whose a piece is, and what it was made under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    pub id: TransactionId,
    /// The issuer asks about no sequence below any more.
    pub acknowledged: u64,
    /// The term of the leader whose locks the transaction holds; 0: it relies on none.
    pub lock_epoch: u64,
    pub durability: Durability,
}

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
    /// Of no transaction: from here on the cluster is at this feature level.
    Raise(Level),
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
    #[error("the batch is of level {0}, and this program knows level {LEVEL}: a newer one wrote it")]
    Level(u16),
    #[error("batch cut short at byte {0}")]
    CutShort(usize),
    #[error("what a batch has at byte {at} is of an unknown kind, {kind}")]
    Kind { kind: u8, at: usize },
    #[error("what a batch has at byte {at} raises the cluster to a level that does not exist, {level}")]
    Raise { level: u32, at: usize },
    #[error("what a batch has at byte {at} is of an unknown durability, {durability}")]
    Durability { durability: u8, at: usize },
}

impl Batch {
    pub fn encode<W: AsRef<[u8]>>(moment: Moment, pieces: &[(Origin, Piece<W>)]) -> Batch {
        let sizes = pieces
            .iter()
            .map(|(_, piece)| PIECE_HEADER + piece.parts().2.map_or(0, |writes| writes.as_ref().len()));
        let mut bytes = Vec::with_capacity(HEADER + sizes.sum::<usize>());
        bytes.push(VERSION);
        let level = |(origin, piece): &(Origin, Piece<W>)| match (piece, origin.durability) {
            (Piece::Raise(_), _) => LEVEL_RAISES,
            (_, Durability::MajorityDisk) => LEVEL_FIRST,
            (_, Durability::MajorityMemory | Durability::LocalDisk) => LEVEL_DURABILITIES,
        };
        let level = pieces.iter().map(level).max().unwrap_or(LEVEL_FIRST);
        bytes.extend_from_slice(&level.to_le_bytes());
        bytes.extend_from_slice(&moment.wall_ms.to_le_bytes());
        bytes.extend_from_slice(&moment.base.0.to_le_bytes());
        for (origin, piece) in pieces {
            let (kind, number, writes) = piece.parts();
            let writes = writes.map_or(&[][..], AsRef::as_ref);
            bytes.extend_from_slice(&[kind, origin.durability.to_byte()]);
            for number in [
                origin.id.issuer.to_u64(),
                origin.id.sequence,
                origin.acknowledged,
                origin.lock_epoch,
            ] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            bytes.extend_from_slice(&number.to_le_bytes());
            let length = u32::try_from(writes.len()).expect("the queue takes no transaction of 4 GiB");
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(writes);
        }
        Batch { bytes: Arc::new(bytes) }
    }

    /// Raises the cluster's feature level.
    pub fn raising(moment: Moment, level: Level) -> Batch {
        let origin = Origin {
            id: TransactionId {
                issuer: Issuer::from_u64(0),
                sequence: 0,
            },
            acknowledged: 0,
            lock_epoch: 0,
            durability: Durability::MajorityDisk,
        };
        Batch::encode::<Vec<u8>>(moment, &[(origin, Piece::Raise(level))])
    }

    pub fn from_bytes(bytes: Arc<Vec<u8>>) -> Batch {
        Batch { bytes }
    }

    pub fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.bytes
    }

    /// Whether all of it may be answered before it is on a disk. What cannot be read may not.
    pub fn may_be_in_memory(&self) -> bool {
        // Only these have anything to look for.
        let is_mixed = self.bytes.first() == Some(&VERSION) && self.bytes.get(1) != Some(&(LEVEL_FIRST as u8));
        let in_memory = |piece: Result<(Origin, Piece<&[u8]>), BatchError>| {
            piece.is_ok_and(|(origin, _)| origin.durability == Durability::MajorityMemory)
        };
        is_mixed && self.pieces().is_ok_and(|mut pieces| pieces.all(in_memory))
    }

    /// What it has, in log order. Checks the header; each piece is checked as it comes.
    pub fn pieces(&self) -> Result<Pieces<'_>, BatchError> {
        let pieces = |at, version, moment| {
            Ok(Pieces {
                bytes: &self.bytes,
                at,
                version,
                moment,
            })
        };
        match self.bytes.first() {
            Some(&VERSION) => {
                let Some(header) = self.bytes.get(..HEADER) else {
                    return Err(BatchError::CutShort(1));
                };
                let level = u16::from_le_bytes([header[1], header[2]]);
                if level > LEVEL {
                    return Err(BatchError::Level(level));
                }
                let moment = Moment {
                    wall_ms: u64_at(header, 3),
                    base: Timestamp(u64_at(header, 11)),
                };
                pieces(HEADER, VERSION, moment)
            }
            Some(&version @ (VERSION_CHUNKS | VERSION_WHOLE)) => {
                pieces(HEADER_OF_FORMER_VERSIONS, version, Moment::default())
            }
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
            Piece::Raise(level) => (RAISE, u32::from(level.0), None),
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
#[derive(Clone)]
pub(crate) struct Pieces<'a> {
    bytes: &'a [u8],
    at: usize,
    version: u8,
    moment: Moment,
}

impl<'a> Pieces<'a> {
    pub fn moment(&self) -> Moment {
        self.moment
    }

    fn step(&mut self) -> Result<(Origin, Piece<&'a [u8]>), BatchError> {
        let at = self.at;
        match self.version {
            VERSION_WHOLE => {
                let header = self.take(WHOLE_HEADER)?;
                let writes = self.take(u32_at(header, 16) as usize)?;
                Ok((origin_of_former_versions(header), Piece::Whole(writes)))
            }
            VERSION_CHUNKS => {
                let header = self.take(CHUNKS_HEADER)?;
                let piece = self.piece(at, header[0], &header[17..])?;
                Ok((origin_of_former_versions(&header[1..]), piece))
            }
            _ => {
                let header = self.take(PIECE_HEADER)?;
                let durability = header[1];
                let durability = Durability::from_byte(durability).ok_or(BatchError::Durability { durability, at })?;
                let origin = Origin {
                    id: TransactionId {
                        issuer: Issuer::from_u64(u64_at(header, 2)),
                        sequence: u64_at(header, 10),
                    },
                    acknowledged: u64_at(header, 18),
                    lock_epoch: u64_at(header, 26),
                    durability,
                };
                Ok((origin, self.piece(at, header[0], &header[34..])?))
            }
        }
    }

    /// The piece behind a header that ends with its number and its length.
    fn piece(&mut self, at: usize, kind: u8, end: &[u8]) -> Result<Piece<&'a [u8]>, BatchError> {
        let number = u32_at(end, 0);
        let writes = self.take(u32_at(end, 4) as usize)?;
        match kind {
            WHOLE => Ok(Piece::Whole(writes)),
            CHUNK => Ok(Piece::Chunk { number, writes }),
            COMMIT => Ok(Piece::Commit { chunks: number, writes }),
            ABORT => Ok(Piece::Abort),
            RAISE => match u8::try_from(number) {
                Ok(level @ 1..) => Ok(Piece::Raise(Level(level))),
                _ => Err(BatchError::Raise { level: number, at }),
            },
            kind => Err(BatchError::Kind { kind, at }),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], BatchError> {
        let taken = self.bytes[self.at..]
            .get(..count)
            .ok_or(BatchError::CutShort(self.at))?;
        self.at += count;
        Ok(taken)
    }
}

/// The leader's term stands where the issuer does now.
fn origin_of_former_versions(header: &[u8]) -> Origin {
    Origin {
        id: TransactionId {
            issuer: Issuer::from_u64(u64_at(header, 0)),
            sequence: u64_at(header, 8),
        },
        acknowledged: 0,
        lock_epoch: 0,
        durability: Durability::MajorityDisk,
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<(Origin, Piece<&'a [u8]>), BatchError>;

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
        TransactionId {
            issuer: Issuer {
                node: 2,
                incarnation: 7,
            },
            sequence,
        }
    }

    const MOMENT: Moment = Moment {
        wall_ms: 1_800_000_000_000,
        base: Timestamp(1_800_000_000_000 << 16),
    };

    fn sample() -> Vec<(Origin, Piece<Vec<u8>>)> {
        let pieces = [
            Piece::Whole(vec![]),
            Piece::Chunk {
                number: 3,
                writes: vec![1; 5],
            },
            Piece::Commit {
                chunks: 4,
                writes: vec![2; 10],
            },
            Piece::Abort,
            Piece::Raise(Level(2)),
            Piece::Whole(vec![4; 20]),
        ];
        let with_origin = |(sequence, piece)| {
            let origin = Origin {
                id: id(sequence),
                acknowledged: sequence / 2,
                lock_epoch: sequence % 3,
                durability: Durability::ALL[sequence as usize % 3],
            };
            (origin, piece)
        };
        (0..).zip(pieces).map(with_origin).collect()
    }

    fn decoded(batch: &Batch) -> (Moment, Vec<(Origin, Piece<Vec<u8>>)>) {
        let pieces = batch.pieces().unwrap();
        let moment = pieces.moment();
        let owned = |piece| match piece {
            Piece::Whole(writes) => Piece::Whole(<[u8]>::to_vec(writes)),
            Piece::Chunk { number, writes } => Piece::Chunk {
                number,
                writes: writes.to_vec(),
            },
            Piece::Commit { chunks, writes } => Piece::Commit {
                chunks,
                writes: writes.to_vec(),
            },
            Piece::Abort => Piece::Abort,
            Piece::Raise(level) => Piece::Raise(level),
        };
        let pieces = pieces.map(|piece| {
            let (origin, piece) = piece.unwrap();
            (origin, owned(piece))
        });
        (moment, pieces.collect())
    }

    #[test]
    fn batches_come_back() {
        assert_eq!(decoded(&Batch::encode(MOMENT, &sample())), (MOMENT, sample()));
    }

    /// A piece as former versions had it, with the term of its leader.
    fn of_term(sequence: u64, piece: Piece<Vec<u8>>) -> (Origin, Piece<Vec<u8>>) {
        let origin = Origin {
            id: TransactionId {
                issuer: Issuer {
                    node: 0,
                    incarnation: 7,
                },
                sequence,
            },
            acknowledged: 0,
            lock_epoch: 0,
            durability: Durability::MajorityDisk,
        };
        (origin, piece)
    }

    /// Logs of earlier versions have them.
    #[test]
    fn former_versions_are_read() {
        let mut whole = vec![1];
        for (sequence, writes) in [(0u64, &b"one"[..]), (1, b"")] {
            whole.extend_from_slice(&7u64.to_le_bytes());
            whole.extend_from_slice(&sequence.to_le_bytes());
            whole.extend_from_slice(&(writes.len() as u32).to_le_bytes());
            whole.extend_from_slice(writes);
        }
        let expected = vec![
            of_term(0, Piece::Whole(b"one".to_vec())),
            of_term(1, Piece::Whole(vec![])),
        ];
        assert_eq!(
            decoded(&Batch::from_bytes(Arc::new(whole))),
            (Moment::default(), expected)
        );
        let mut chunks = vec![2];
        for (kind, sequence, number, writes) in [(1u8, 5u64, 2u32, &b"part"[..]), (2, 5, 3, b"end"), (3, 6, 0, b"")] {
            chunks.push(kind);
            chunks.extend_from_slice(&7u64.to_le_bytes());
            chunks.extend_from_slice(&sequence.to_le_bytes());
            chunks.extend_from_slice(&number.to_le_bytes());
            chunks.extend_from_slice(&(writes.len() as u32).to_le_bytes());
            chunks.extend_from_slice(writes);
        }
        let writes = b"part".to_vec();
        let chunk = Piece::Chunk { number: 2, writes };
        let writes = b"end".to_vec();
        let expected = vec![
            of_term(5, chunk),
            of_term(5, Piece::Commit { chunks: 3, writes }),
            of_term(6, Piece::Abort),
        ];
        assert_eq!(
            decoded(&Batch::from_bytes(Arc::new(chunks))),
            (Moment::default(), expected)
        );
    }

    #[test]
    fn the_strongest_level_of_a_batch_counts() {
        let of = |levels: &[Durability]| {
            let pieces = sample().into_iter().zip(levels).map(|((origin, piece), &durability)| {
                let origin = Origin { durability, ..origin };
                (origin, piece)
            });
            Batch::encode(MOMENT, &pieces.collect::<Vec<_>>())
        };
        use Durability::{LocalDisk, MajorityDisk, MajorityMemory};
        assert!(of(&[MajorityMemory, MajorityMemory]).may_be_in_memory());
        assert!(!of(&[MajorityMemory, MajorityDisk]).may_be_in_memory());
        assert!(!of(&[LocalDisk, MajorityMemory]).may_be_in_memory());
        assert!(!of(&[MajorityDisk]).may_be_in_memory());
        assert_eq!(of(&[MajorityDisk]).bytes()[1], 1, "older programs read it");
        assert_eq!(of(&[LocalDisk]).bytes()[1], 2);
        assert_eq!(Batch::raising(MOMENT, Level(2)).bytes()[1], 3);
        assert!(!Batch::raising(MOMENT, Level(2)).may_be_in_memory());
        assert!(!Batch::from_bytes(Arc::new(vec![9, 9])).may_be_in_memory());
    }

    #[test]
    fn every_cut_is_an_error_or_a_shorter_batch() {
        let whole = Batch::encode(MOMENT, &sample());
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
    fn another_version_level_kind_or_durability_is_refused() {
        let batch = Batch::from_bytes(Arc::new(vec![9]));
        assert_eq!(batch.pieces().err(), Some(BatchError::Version(9)));
        let with = |at: usize, byte: u8| {
            let mut bytes = Batch::encode(MOMENT, &sample()).bytes().to_vec();
            bytes[at] = byte;
            Batch::from_bytes(Arc::new(bytes))
        };
        assert_eq!(with(1, 4).pieces().err(), Some(BatchError::Level(4)));
        let first = |batch: &Batch| batch.pieces().unwrap().next().and_then(Result::err);
        let at = HEADER;
        assert_eq!(first(&with(at, 5)), Some(BatchError::Kind { kind: 5, at }));
        let durability = 3;
        assert_eq!(
            first(&with(at + 1, durability)),
            Some(BatchError::Durability { durability, at })
        );
    }
}
