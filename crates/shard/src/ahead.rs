//! Loads what a batch changes from memory before it is applied.
//!
//! Many small transactions change rows that lie far apart, and each would wait for memory at each level of the tree. The keys of the next
//! transactions go down side by side ([`Writer::fetch_ahead`]), and find what they need in the cache when their turn comes.

use store::{WriteOp, WriteOps, Writer};
use types::TableId;

use crate::batch::{Piece, Pieces};

/// Keys that are gone through together. What they touch stays in the core's second cache until it is their turn.
const KEYS: usize = 256;

/// The pieces of a batch that have not been looked at.
pub(crate) struct Ahead<'b> {
    pieces: Pieces<'b>,
    /// Pieces that have been.
    seen: usize,
}

impl<'b> Ahead<'b> {
    pub fn of(pieces: Pieces<'b>) -> Ahead<'b> {
        Ahead { pieces, seen: 0 }
    }

    /// Before the piece at a place is applied.
    pub fn at(&mut self, place: usize, writer: &Writer) {
        if place < self.seen {
            return;
        }
        let mut keys: Vec<(TableId, &[u8])> = Vec::new();
        while keys.len() < KEYS
            && let Some(piece) = self.pieces.next()
        {
            self.seen += 1;
            // What cannot be read is told by whoever applies it.
            let Ok((_, Piece::Whole(writes))) = piece else { continue };
            let Ok(ops) = WriteOps::decode(writes) else { continue };
            let changed = ops.map_while(Result::ok).filter_map(|op| match op {
                WriteOp::Put { table, key, .. } | WriteOp::Delete { table, key } => Some((table, key)),
                _ => None,
            });
            keys.extend(changed.take(KEYS - keys.len()));
        }
        writer.fetch_ahead(keys);
    }
}
