//! The decoders of batches and checkpoints for the fuzzers.

use std::sync::Arc;

use crate::TransactionId;
use crate::batch::Batch;
use crate::checkpoint;

/// Reads any bytes as a log entry of transactions.
pub fn batch(bytes: &[u8]) {
    let batch = Batch::from_bytes(Arc::new(bytes.to_vec()));
    if let Ok(transactions) = batch.transactions() {
        for (_, writes) in transactions.map_while(Result::ok) {
            let _ = store::WriteOps::decode(writes).map(|ops| ops.for_each(drop));
        }
    }
}

/// A batch of these write sets.
pub fn batches(write_sets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let transactions = (0..).map(|sequence| TransactionId { term: 1, sequence });
    let batch = Batch::encode(transactions.zip(write_sets.iter().map(Vec::as_slice)));
    vec![batch.bytes().to_vec()]
}

/// Reads any bytes as the head of a checkpoint.
pub fn checkpoint_head(bytes: &[u8]) {
    let _ = checkpoint::decode_meta(bytes);
}
