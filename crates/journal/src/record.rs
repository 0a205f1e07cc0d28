//! One record of the log.
//!
//! ```text
//!  0         4          8        12    13   14        16      24     32        40          48
//!  ├─────────┼──────────┼────────┼─────┼────┼─────────┼───────┼──────┼─────────┼───────────┼─────────┬─────┐
//!  │ CRC-32  │ previous │ length │ kind│ tag│ 0       │ term  │ index│ durable │ committed │ payload │ 0…  │
//!  └─────────┴──────────┴────────┴─────┴────┴─────────┴───────┴──────┴─────────┴───────────┴─────────┴─────┘
//! ```
//!
//! The checksum is seeded with the segment's salt and the record's position, so that a record is valid in one place
//! only: neither a misdirected write nor what a recycled segment held before is mistaken for a record. `previous` is
//! the checksum of the record before: what a crash left behind a torn record does not join the log that is later
//! written over it. `durable` is the position up to which the log was synced when the record was written.

use crate::bytes::{get_entry_id, get_u32, get_u64, get_vote, put_entry_id, put_u32, put_u64, put_vote};
use crate::state::{EntryId, Vote};

pub(crate) const HEADER: usize = 48;

/// Records start at multiples of this.
pub(crate) const ALIGNMENT: usize = 8;

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body<'a> {
    Entry {
        id: EntryId,
        tag: u8,
        payload: &'a [u8],
    },
    Vote(Vote),
    /// Entries after `last` are taken back.
    Truncate {
        last: Option<EntryId>,
    },
    /// Entries up to here are covered by a checkpoint.
    Purge {
        upto: EntryId,
    },
    /// Nothing new, but what `durable` and `committed` say.
    Mark,
}

impl Body<'_> {
    /// Bytes its record takes in the log.
    pub fn size(&self) -> usize {
        size(match self {
            Body::Entry { payload, .. } => payload.len(),
            Body::Vote(_) => VOTE_BYTES,
            Body::Truncate { .. } | Body::Purge { .. } => ID_BYTES,
            Body::Mark => 0,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    pub body: Body<'a>,
    pub durable: u64,
    pub committed_end: u64,
}

const KIND_ENTRY: u8 = 1;
const KIND_VOTE: u8 = 2;
const KIND_TRUNCATE: u8 = 3;
const KIND_PURGE: u8 = 4;
const KIND_MARK: u8 = 5;

const VOTE_BYTES: usize = 24;
const ID_BYTES: usize = 16;

/// Where a record stands, which its checksum depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub salt: u32,
    pub position: u64,
    pub previous: u32,
}

/// Bytes that a record with such a payload takes in the log.
pub(crate) fn size(payload: usize) -> usize {
    (HEADER + payload).next_multiple_of(ALIGNMENT)
}

/// Appends the record; returns its checksum, which the next one carries.
pub(crate) fn encode(record: &Record<'_>, place: Place, to: &mut Vec<u8>) -> u32 {
    let mut header = [0; HEADER];
    let mut small = [0; VOTE_BYTES];
    let (kind, payload): (u8, &[u8]) = match record.body {
        Body::Entry { id, tag, payload } => {
            header[13] = tag;
            put_u64(&mut header, 16, id.term);
            put_u64(&mut header, 24, id.index);
            (KIND_ENTRY, payload)
        }
        Body::Vote(vote) => {
            put_vote(&mut small, 0, Some(vote));
            (KIND_VOTE, &small)
        }
        Body::Truncate { last } => {
            put_entry_id(&mut small, 0, last);
            (KIND_TRUNCATE, &small[..ID_BYTES])
        }
        Body::Purge { upto } => {
            put_entry_id(&mut small, 0, Some(upto));
            (KIND_PURGE, &small[..ID_BYTES])
        }
        Body::Mark => (KIND_MARK, &[]),
    };
    put_u32(&mut header, 4, place.previous);
    put_u32(
        &mut header,
        8,
        u32::try_from(payload.len()).expect("an entry is smaller than 4 GiB"),
    );
    header[12] = kind;
    put_u64(&mut header, 32, record.durable);
    put_u64(&mut header, 40, record.committed_end);
    let crc = checksum(place, &header[4..], payload);
    put_u32(&mut header, 0, crc);
    let end = to.len() + size(payload.len());
    to.extend_from_slice(&header);
    to.extend_from_slice(payload);
    to.resize(end, 0);
    crc
}

fn checksum(place: Place, header: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&place.salt.to_le_bytes());
    hasher.update(&place.position.to_le_bytes());
    hasher.update(header);
    hasher.update(payload);
    hasher.finalize()
}

/// Makes the checksum of what may be a record fit.
pub(crate) fn seal(bytes: &mut [u8], salt: u32, position: u64) {
    let Some((header, rest)) = bytes.split_first_chunk_mut::<HEADER>() else {
        return;
    };
    let Some(payload) = rest.get(..get_u32(header, 8) as usize) else {
        return;
    };
    let place = Place {
        salt,
        position,
        previous: get_u32(header, 4),
    };
    let crc = checksum(place, &header[4..], payload);
    put_u32(header, 0, crc);
}

/// A record whose bytes are sound; whether it belongs here, its `previous` decides.
pub(crate) struct Decoded<'a> {
    pub record: Record<'a>,
    pub previous: u32,
    pub crc: u32,
    /// Bytes it takes in the log.
    pub size: usize,
}

/// The record at the start of `bytes`, if there is a sound one.
pub(crate) fn decode(bytes: &[u8], salt: u32, position: u64) -> Option<Decoded<'_>> {
    let header = bytes.get(..HEADER)?;
    let (kind, tag) = (header[12], header[13]);
    if !(KIND_ENTRY..=KIND_MARK).contains(&kind) || header[14..16] != [0, 0] {
        return None;
    }
    let payload = bytes[HEADER..].get(..get_u32(header, 8) as usize)?;
    let previous = get_u32(header, 4);
    let crc = get_u32(header, 0);
    if crc
        != checksum(
            Place {
                salt,
                position,
                previous,
            },
            &header[4..],
            payload,
        )
    {
        return None;
    }
    let body = match (kind, payload.len()) {
        (KIND_ENTRY, _) => {
            let id = EntryId {
                term: get_u64(header, 16),
                index: get_u64(header, 24),
            };
            Body::Entry { id, tag, payload }
        }
        (KIND_VOTE, VOTE_BYTES) => Body::Vote(get_vote(payload, 0)??),
        (KIND_TRUNCATE, ID_BYTES) => Body::Truncate {
            last: get_entry_id(payload, 0),
        },
        (KIND_PURGE, ID_BYTES) => Body::Purge {
            upto: get_entry_id(payload, 0)?,
        },
        (KIND_MARK, 0) => Body::Mark,
        _ => return None,
    };
    let record = Record {
        body,
        durable: get_u64(header, 32),
        committed_end: get_u64(header, 40),
    };
    Some(Decoded {
        record,
        previous,
        crc,
        size: size(payload.len()),
    })
}

/// The `previous` field of what may be a record.
pub(crate) fn claimed_previous(bytes: &[u8]) -> Option<u32> {
    let header = bytes.get(..HEADER)?;
    Some(get_u32(header, 4))
}

/// The `durable` field of what may be a record, before its checksum is known to be right: lets a search skip almost
/// everything without computing one.
pub(crate) fn claimed_durable(bytes: &[u8]) -> Option<u64> {
    let header = bytes.get(..HEADER)?;
    Some(get_u64(header, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place {
        salt: 7,
        position: 4096,
        previous: 99,
    };

    fn samples() -> Vec<Record<'static>> {
        let id = EntryId { term: 3, index: 0 };
        let vote = Vote {
            term: 9,
            node: 2,
            committed: true,
        };
        [
            Body::Entry {
                id,
                tag: 1,
                payload: b"hello",
            },
            Body::Entry {
                id,
                tag: 0,
                payload: b"",
            },
            Body::Vote(vote),
            Body::Truncate { last: None },
            Body::Truncate { last: Some(id) },
            Body::Purge { upto: id },
            Body::Mark,
        ]
        .map(|body| Record {
            body,
            durable: 4000,
            committed_end: 17,
        })
        .to_vec()
    }

    #[test]
    fn records_come_back() {
        for record in samples() {
            let mut bytes = Vec::new();
            let crc = encode(&record, PLACE, &mut bytes);
            let decoded = decode(&bytes, PLACE.salt, PLACE.position).unwrap();
            assert_eq!(decoded.record, record);
            assert_eq!(bytes.len(), record.body.size());
            assert_eq!((decoded.crc, decoded.previous, decoded.size), (crc, 99, bytes.len()));
            assert_eq!(bytes.len() % ALIGNMENT, 0);
        }
    }

    #[test]
    fn a_record_is_valid_in_one_place_only() {
        let mut bytes = Vec::new();
        encode(&samples()[0], PLACE, &mut bytes);
        assert!(decode(&bytes, PLACE.salt + 1, PLACE.position).is_none());
        assert!(decode(&bytes, PLACE.salt, PLACE.position + 8).is_none());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_seen() {
        for record in samples() {
            let mut bytes = Vec::new();
            encode(&record, PLACE, &mut bytes);
            let meaningful = HEADER + get_u32(&bytes, 8) as usize;
            for bit in 0..meaningful * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(
                    decode(&bytes, PLACE.salt, PLACE.position).is_none(),
                    "bit {bit} of {record:?}"
                );
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
            for length in 0..meaningful {
                assert!(decode(&bytes[..length], PLACE.salt, PLACE.position).is_none());
            }
        }
    }
}
