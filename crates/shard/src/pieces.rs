//! Messages that are too long for one call come in pieces.
//!
//! An entry is as long as the longest row. Votes and the sign that its leader lives are on the same way to a replica, and would have to wait
//! until all of it has passed; between two pieces they pass. Each piece is answered, so that a long message takes as long as it takes, and
//! whoever was interrupted goes on where the other one ends.

use parking_lot::Mutex;

use crate::consensus::Vote;
use crate::log::MESSAGE_BYTES;
use crate::message::Piece;

/// Bytes of a message that are sent in a call.
pub(crate) const PIECE_BYTES: usize = 256 << 10;
/// A message is sent whole up to here. Only one with a long entry is longer.
pub(crate) const WHOLE_BYTES: usize = 2 * MESSAGE_BYTES;
/// When so much of a message has come, the rest is believed to follow.
const EARNEST: usize = 1 << 20;
/// More than any entry has.
const LENGTH_MAX: u64 = 4 << 30;

/// The message that comes at present.
#[derive(Default)]
pub(crate) struct Assembly(Mutex<Option<Coming>>);

struct Coming {
    of: (Vote, u64, u64),
    bytes: Vec<u8>,
}

/// What a piece has made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The message.
    Whole(Vec<u8>),
    /// From where on it is missing.
    MissingFrom(u64),
    /// No message is as long.
    TooLong,
}

impl Assembly {
    /// A piece of another message than the one before ends that one.
    pub fn take(&self, piece: Piece) -> Taken {
        if piece.length > LENGTH_MAX {
            return Taken::TooLong;
        }
        let of = (piece.vote, piece.last, piece.length);
        let mut coming = self.0.lock();
        if coming.as_ref().is_none_or(|coming| coming.of != of) {
            *coming = Some(Coming { of, bytes: Vec::new() });
        }
        let here = coming.as_mut().expect("it has just begun");
        if piece.offset == here.bytes.len() as u64 {
            if here.bytes.len() >= EARNEST {
                here.bytes.reserve_exact(piece.length as usize - here.bytes.len());
            }
            here.bytes.extend_from_slice(&piece.bytes);
        }
        match here.bytes.len() as u64 {
            length if length >= piece.length => Taken::Whole(coming.take().expect("it is whole").bytes),
            length => Taken::MissingFrom(length),
        }
    }

    /// Whoever leads sends something else.
    pub fn forget(&self) {
        *self.0.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(last: u64, length: u64, offset: u64, bytes: &[u8]) -> Piece {
        Piece {
            vote: Vote::new_committed(4, 1),
            last,
            length,
            offset,
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn a_message_is_whole_when_each_piece_has_come() {
        let pieces = Assembly::default();
        assert_eq!(pieces.take(piece(7, 5, 0, b"ab")), Taken::MissingFrom(2));
        // Sent twice, and out of order.
        assert_eq!(pieces.take(piece(7, 5, 0, b"ab")), Taken::MissingFrom(2));
        assert_eq!(pieces.take(piece(7, 5, 4, b"e")), Taken::MissingFrom(2));
        assert_eq!(pieces.take(piece(7, 5, 2, b"cde")), Taken::Whole(b"abcde".to_vec()));
        // Its end was not heard of: it begins anew.
        assert_eq!(pieces.take(piece(7, 5, 2, b"cde")), Taken::MissingFrom(0));
    }

    #[test]
    fn another_message_takes_its_place() {
        let pieces = Assembly::default();
        assert_eq!(pieces.take(piece(7, 5, 0, b"ab")), Taken::MissingFrom(2));
        assert_eq!(pieces.take(piece(8, 5, 2, b"cde")), Taken::MissingFrom(0));
        assert_eq!(pieces.take(piece(7, 5, 2, b"cde")), Taken::MissingFrom(0));
        assert_eq!(pieces.take(piece(7, 5, 0, b"ab")), Taken::MissingFrom(2));
        pieces.forget();
        assert_eq!(pieces.take(piece(7, 5, 2, b"cde")), Taken::MissingFrom(0));
        assert_eq!(pieces.take(piece(7, LENGTH_MAX + 1, 0, b"")), Taken::TooLong);
    }
}
