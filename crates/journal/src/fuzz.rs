//! The decoder of records for the fuzzers: checksums are made to fit, so that what stands behind them is reached, too.

use crate::record::{Body, Place, Record, decode, encode, seal};
use crate::{EntryId, Vote};

const PLACE: Place = Place {
    salt: 7,
    position: 4096,
    previous: 0,
};

/// Decodes any bytes as a record whose checksum is right.
pub fn record(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    seal(&mut bytes, PLACE.salt, PLACE.position);
    let _ = decode(&bytes, PLACE.salt, PLACE.position);
}

/// One record of each kind.
pub fn records() -> Vec<Vec<u8>> {
    let id = EntryId { term: 3, index: 9 };
    let vote = Vote {
        term: 9,
        node: 2,
        committed: true,
    };
    let bodies = [
        Body::Entry {
            id,
            tag: 1,
            payload: b"a payload of some bytes",
        },
        Body::Vote(vote),
        Body::Truncate { last: Some(id) },
        Body::Purge { upto: id },
        Body::Mark,
    ];
    bodies
        .into_iter()
        .map(|body| {
            let mut bytes = Vec::new();
            let record = Record {
                body,
                durable: 1,
                committed_end: 1,
            };
            encode(&record, PLACE, &mut bytes);
            bytes
        })
        .collect()
}
