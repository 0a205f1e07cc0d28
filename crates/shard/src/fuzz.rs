//! The decoders of batches, checkpoints and what nodes say to each other, for the fuzzers.

use std::sync::Arc;

use crate::backup::{Checked, Head, Kind, position_at_end, seal};
use crate::batch::{Batch, Moment, Origin, Piece};
use crate::calls::message::{Answer, Call, Commit, IdKind, Ids, Lock, decode_key, encode_key};
use crate::checkpoint;
use crate::message::{Request, Response};
use crate::{Issuer, TransactionId};

/// Reads any bytes as a log entry of transactions.
pub fn batch(bytes: &[u8]) {
    let batch = Batch::from_bytes(Arc::new(bytes.to_vec()));
    if let Ok(pieces) = batch.pieces() {
        for (_, piece) in pieces.map_while(Result::ok) {
            let (Piece::Whole(writes) | Piece::Chunk { writes, .. } | Piece::Commit { writes, .. }) = piece else {
                continue;
            };
            let _ = store::WriteOps::decode(writes).map(|ops| ops.for_each(drop));
        }
    }
}

/// A batch of these write sets.
pub fn batches(write_sets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let pieces = write_sets.iter().zip(0..).map(|(writes, sequence)| {
        let number = sequence as u32 / 3;
        let piece = match sequence % 3 {
            0 => Piece::Whole(writes),
            1 => Piece::Chunk { number, writes },
            _ => Piece::Commit { chunks: number, writes },
        };
        let issuer = Issuer {
            node: 1,
            incarnation: 1,
        };
        let origin = Origin {
            id: TransactionId { issuer, sequence },
            acknowledged: sequence / 2,
            lock_epoch: 1,
            durability: crate::Durability::ALL[sequence as usize % 3],
        };
        (origin, piece)
    });
    let batch = Batch::encode(Moment::default(), &pieces.collect::<Vec<_>>());
    vec![batch.bytes().to_vec()]
}

/// Reads any bytes as a record of a backup: its kind, and a payload whose checksum fits. It stands behind a head, then behind what it made of that.
pub fn backup_record(bytes: &[u8]) {
    let Some((&kind, payload)) = bytes.split_first() else {
        return;
    };
    let (mut checked, _) = Checked::begin();
    let head = Head {
        kind: Kind::Full { chunks: 1 },
        cluster: 1,
        node: 1,
        version: String::new(),
        after: journal::EntryId { term: 1, index: 1 },
        newest: types::Timestamp::ZERO,
        wall_ms: 0,
    };
    let record = seal(u32::from(kind), payload);
    for records in [head.seal(), record.clone(), record] {
        let _ = checked.accept_all(&records);
    }
    // The end of a file is looked at before its rest.
    let _ = position_at_end(bytes);
}

/// Reads any bytes as the head of a checkpoint.
pub fn checkpoint_head(bytes: &[u8]) {
    let _ = checkpoint::decode_meta(bytes);
}

/// Reads any bytes as a request, an answer or a key of a lock that another node sends. What can be read is written, and read again, as it is.
pub fn peer(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else {
        return;
    };
    let again = |bytes: &[u8]| match kind % 5 {
        0 => Request::decode(bytes).ok().map(|request| request.encode()),
        1 => Response::decode(bytes).ok().map(|response| response.encode()),
        2 => Call::decode(bytes).ok().map(|call| call.encode()),
        3 => Answer::decode(bytes).ok().map(|answer| answer.encode()),
        _ => decode_key(bytes).map(encode_key),
    };
    if let Some(written) = again(bytes) {
        assert_eq!(again(&written).as_ref(), Some(&written));
    }
}

/// Some of what nodes say.
pub fn peers() -> Vec<Vec<u8>> {
    let key = encode_key(store::LockKey::Key(types::TableId(7), types::IndexId(1), b"key"));
    let calls = [
        Call::ReadAt,
        Call::Lock(Lock {
            number: 1,
            epoch: 2,
            waits: true,
            before: vec![(store::LockMode::Exclusive, key.clone())],
            mode: store::LockMode::Shared,
            key: key.clone(),
        }),
        Call::Commit(Commit {
            number: 1,
            sequence: 2,
            acknowledged: 1,
            lock_epoch: 3,
            writes: b"writes".to_vec(),
        }),
        Call::Ids(Ids {
            epoch: 1,
            table: types::TableId(7),
            kind: IdKind::AutoIncrement,
            count: 10,
            step: 1,
            offset: 1,
            at_least: 5,
        }),
    ];
    let mut corpus: Vec<Vec<u8>> = calls.iter().map(|call| [vec![2], call.encode()].concat()).collect();
    corpus.push([vec![4], key].concat());
    // Of every kind the first byte: the fuzzer finds the rest.
    corpus.extend((0..4u8).flat_map(|kind| (1..24u8).map(move |tag| [vec![kind, tag], vec![0; 40]].concat())));
    corpus
}
