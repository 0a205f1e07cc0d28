//! The words that wait for their way to one node.
//!
//! Nobody who publishes waits here: what finds no room is lost, and counted. While the node is out of reach everything is.

use std::collections::VecDeque;

use super::words::{FRAME_BYTES, Frame, Piece, WORD_BYTES_MAX, Word};

/// Of all words that wait.
const QUEUE_BYTES_MAX: usize = 32 << 20;
/// What a word costs beside its bytes.
const WORD_OVERHEAD: usize = 64;

#[derive(Default)]
pub struct Queue {
    words: VecDeque<Word>,
    bytes: usize,
    /// How much of the first word is on its way already.
    cut: usize,
    is_out_of_reach: bool,
}

/// What becomes of a word.
#[derive(Debug, PartialEq, Eq)]
pub enum Put {
    First,
    BehindOthers,
    Lost,
}

impl Queue {
    pub fn put(&mut self, word: &Word) -> Put {
        let cost = word.len() + WORD_OVERHEAD;
        let is_too_much = word.len() > WORD_BYTES_MAX || self.bytes > 0 && self.bytes + cost > QUEUE_BYTES_MAX;
        if self.is_out_of_reach || is_too_much {
            return Put::Lost;
        }
        let is_first = self.words.is_empty();
        self.words.push_back(word.clone());
        self.bytes += cost;
        match is_first {
            true => Put::First,
            false => Put::BehindOthers,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// What is to be said next, and how many words end in it.
    pub fn next(&mut self, sequence: impl FnOnce() -> u64) -> Option<(Frame, u64)> {
        let first = self.words.front()?;
        if first.len() > FRAME_BYTES {
            let word_bytes = first.len();
            let end = word_bytes.min(self.cut + FRAME_BYTES);
            let frame = Frame::Piece {
                sequence: sequence(),
                piece: Piece {
                    word_bytes: word_bytes as u32,
                    offset: self.cut as u32,
                    bytes: first[self.cut..end].to_vec(),
                },
            };
            self.cut = end;
            let is_last = end == word_bytes;
            if is_last {
                self.take();
            }
            return Some((frame, u64::from(is_last)));
        }
        let mut words = Vec::new();
        let mut count = 0;
        while let Some(next) = self.words.front()
            && (words.is_empty() || words.len() + next.len() <= FRAME_BYTES)
        {
            words.extend_from_slice(next);
            count += 1;
            self.take();
        }
        let sequence = sequence();
        Some((Frame::Words { sequence, words }, count))
    }

    fn take(&mut self) {
        if let Some(word) = self.words.pop_front() {
            self.bytes -= word.len() + WORD_OVERHEAD;
        }
        self.cut = 0;
    }

    /// The rest of a word whose beginning was lost is worth nothing. Returns how many words are lost with it.
    pub fn forget_piece(&mut self) -> u64 {
        let is_begun = self.cut > 0;
        if is_begun {
            self.take();
        }
        u64::from(is_begun)
    }

    /// The node is out of reach. Returns how many words are lost.
    pub fn lose(&mut self) -> u64 {
        let lost = self.words.len() as u64;
        *self = Queue {
            is_out_of_reach: true,
            ..Queue::default()
        };
        lost
    }

    pub fn is_reached(&mut self) {
        self.is_out_of_reach = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(bytes: usize) -> Word {
        vec![7; bytes].into()
    }

    #[test]
    fn words_go_together_and_long_ones_in_pieces() {
        let mut queue = Queue::default();
        assert_eq!(queue.put(&word(10)), Put::First);
        assert_eq!(queue.put(&word(20)), Put::BehindOthers);
        queue.put(&word(FRAME_BYTES + 5));
        queue.put(&word(1));
        let mut sequence = 0;
        let mut next = |queue: &mut Queue| {
            queue.next(|| {
                sequence += 1;
                sequence
            })
        };
        let (frame, count) = next(&mut queue).unwrap();
        assert!(matches!(frame, Frame::Words { sequence: 1, words } if words.len() == 30));
        assert_eq!(count, 2);
        let (frame, count) = next(&mut queue).unwrap();
        let piece = |frame| match frame {
            Frame::Piece { piece, .. } => (piece.offset as usize, piece.bytes.len()),
            other => panic!("no piece: {other:?}"),
        };
        assert_eq!(piece(frame), (0, FRAME_BYTES));
        assert_eq!(count, 0);
        let (frame, count) = next(&mut queue).unwrap();
        assert_eq!(piece(frame), (FRAME_BYTES, 5));
        assert_eq!(count, 1);
        assert_eq!(next(&mut queue).unwrap().1, 1);
        assert!(next(&mut queue).is_none());
        assert_eq!(queue.bytes, 0);
    }

    #[test]
    fn what_finds_no_room_is_lost() {
        let mut queue = Queue::default();
        assert_eq!(queue.put(&word(WORD_BYTES_MAX + 1)), Put::Lost);
        assert_eq!(queue.put(&word(WORD_BYTES_MAX)), Put::First);
        assert_eq!(queue.put(&word(1)), Put::Lost);
        queue.next(|| 1);
        assert_eq!(queue.forget_piece(), 1);
        assert!(queue.is_empty());
        assert_eq!(queue.put(&word(1)), Put::First);
        assert_eq!(queue.lose(), 1);
        assert_eq!(queue.put(&word(1)), Put::Lost);
        queue.is_reached();
        assert_eq!(queue.put(&word(1)), Put::First);
    }
}
