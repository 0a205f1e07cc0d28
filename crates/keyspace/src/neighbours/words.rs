//! What nodes say to each other about messages, as bytes (`docs/formats/words.md`).
//!
//! A word is one message. Words travel in frames: as many whole ones as fit, or a piece of one that is too long for a frame.

use std::sync::Arc;

use super::interest::{Channels, Interest};

/// Of the words of a frame, about. Small enough that others on the same connection do not wait for long.
pub const FRAME_BYTES: usize = 256 << 10;
/// The longest word: a subscriber would be sent away for having more than that before him.
pub const WORD_BYTES_MAX: usize = crate::hub::OUTBOX_MAX;

const INTEREST: u8 = 1;
const CHECK: u8 = 2;
const WORDS: u8 = 3;
const PIECE: u8 = 4;

const HOLDS: u8 = 1;
const HEARD: u8 = 2;
const BUSY: u8 = 3;

/// What is said to another node.
#[derive(Debug, Clone, PartialEq)]
pub enum Frame {
    /// What the clients of this node listen to.
    Interest {
        version: u64,
        interest: Interest,
    },
    /// Whether the other node holds this version of it.
    Check {
        version: u64,
    },
    /// Whole words. Whoever has heard a later sequence passes an earlier one over.
    Words {
        sequence: u64,
        words: Vec<u8>,
    },
    Piece {
        sequence: u64,
        piece: Piece,
    },
}

/// Of one word, from a place on.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub word_bytes: u32,
    pub offset: u32,
    pub bytes: Vec<u8>,
}

/// What is said to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The version of the asker's interest that the node holds; 0: none.
    Holds(u64),
    Heard,
    /// It is telling its clients the frame before still: this one is lost.
    Busy,
}

impl Frame {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Frame::Interest { version, interest } => {
                to.push(INTEREST);
                put_u64(&mut to, *version);
                interest.encode(&mut to);
            }
            Frame::Check { version } => {
                to.push(CHECK);
                put_u64(&mut to, *version);
            }
            Frame::Words { sequence, words } => {
                to.reserve_exact(9 + words.len());
                to.push(WORDS);
                put_u64(&mut to, *sequence);
                to.extend_from_slice(words);
            }
            Frame::Piece { sequence, piece } => {
                to.reserve_exact(17 + piece.bytes.len());
                to.push(PIECE);
                put_u64(&mut to, *sequence);
                put_u32(&mut to, piece.word_bytes);
                put_u32(&mut to, piece.offset);
                to.extend_from_slice(&piece.bytes);
            }
        }
        to
    }

    /// `None`: the bytes are no frame of this version.
    pub fn decode(bytes: &[u8]) -> Option<Frame> {
        let mut bytes = Bytes(bytes);
        Some(match bytes.u8()? {
            INTEREST => {
                let version = bytes.u64()?;
                let interest = Interest::decode(&mut bytes)?;
                bytes.end()?;
                Frame::Interest { version, interest }
            }
            CHECK => {
                let version = bytes.u64()?;
                bytes.end()?;
                Frame::Check { version }
            }
            WORDS => Frame::Words {
                sequence: bytes.u64()?,
                words: bytes.0.to_vec(),
            },
            PIECE => Frame::Piece {
                sequence: bytes.u64()?,
                piece: Piece {
                    word_bytes: bytes.u32()?,
                    offset: bytes.u32()?,
                    bytes: bytes.0.to_vec(),
                },
            },
            _ => return None,
        })
    }
}

impl Answer {
    pub fn encode(self) -> Vec<u8> {
        match self {
            Answer::Holds(version) => {
                let mut to = vec![HOLDS];
                put_u64(&mut to, version);
                to
            }
            Answer::Heard => vec![HEARD],
            Answer::Busy => vec![BUSY],
        }
    }

    /// `None`: the other node does not know the question.
    pub fn decode(bytes: &[u8]) -> Option<Answer> {
        let mut bytes = Bytes(bytes);
        let answer = match bytes.u8()? {
            HOLDS => Answer::Holds(bytes.u64()?),
            HEARD => Answer::Heard,
            BUSY => Answer::Busy,
            _ => return None,
        };
        bytes.end()?;
        Some(answer)
    }
}

/// A message, encoded once for all nodes that it goes to.
pub type Word = Arc<[u8]>;

/// A message as it is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'w> {
    pub to: Channels,
    pub channel: &'w [u8],
    pub text: &'w [u8],
}

impl Message<'_> {
    pub fn bytes(&self) -> usize {
        9 + self.channel.len() + self.text.len()
    }

    pub fn encode(&self) -> Word {
        let mut to = Vec::with_capacity(self.bytes());
        to.push(self.to.code());
        put_bytes(&mut to, self.channel);
        put_bytes(&mut to, self.text);
        to.into()
    }

    /// The first of some words, and how many bytes it has.
    pub fn decode(words: &[u8]) -> Option<(Message<'_>, usize)> {
        let mut bytes = Bytes(words);
        let message = Message {
            to: Channels::of_code(bytes.u8()?)?,
            channel: bytes.bytes()?,
            text: bytes.bytes()?,
        };
        Some((message, words.len() - bytes.0.len()))
    }
}

pub fn put_u64(to: &mut Vec<u8>, number: u64) {
    to.extend_from_slice(&number.to_le_bytes());
}

pub fn put_u32(to: &mut Vec<u8>, number: u32) {
    to.extend_from_slice(&number.to_le_bytes());
}

pub fn put_u16(to: &mut Vec<u8>, number: u16) {
    to.extend_from_slice(&number.to_le_bytes());
}

pub fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(to, bytes.len() as u32);
    to.extend_from_slice(bytes);
}

/// What is left to be read.
pub struct Bytes<'b>(pub &'b [u8]);

impl<'b> Bytes<'b> {
    pub fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn bytes(&mut self) -> Option<&'b [u8]> {
        let count = self.u32()?;
        self.take(count as usize)
    }

    pub fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> Vec<Frame> {
        let mut interest = Interest::default();
        interest.add(Channels::Plain, b"news");
        interest.add_pattern(b"__key*");
        interest.notified = 7;
        vec![Frame::Interest { version: 9, interest }, Frame::Check { version: 3 }]
    }

    #[test]
    fn what_is_said_comes_back_and_every_cut_is_noticed() {
        for frame in frames() {
            let bytes = frame.encode();
            assert_eq!(Frame::decode(&bytes).as_ref(), Some(&frame));
            for length in 0..bytes.len() {
                assert_eq!(Frame::decode(&bytes[..length]), None, "{frame:?} of {length} bytes");
            }
            assert_eq!(Frame::decode(&[bytes, vec![0]].concat()), None);
        }
        let words = Frame::Words {
            sequence: 1,
            words: b"abc".to_vec(),
        };
        assert_eq!(Frame::decode(&words.encode()), Some(words));
        let piece = Frame::Piece {
            sequence: 1,
            piece: Piece {
                word_bytes: 2,
                offset: 1,
                bytes: b"a".to_vec(),
            },
        };
        assert_eq!(Frame::decode(&piece.encode()), Some(piece));
        for answer in [Answer::Holds(u64::MAX), Answer::Heard, Answer::Busy] {
            assert_eq!(Answer::decode(&answer.encode()), Some(answer));
        }
        // What a version says that does not know the call.
        assert_eq!(Answer::decode(b"{\"refused\":{\"reason\":\"not a request\"}}"), None);
        assert_eq!(Answer::decode(b""), None);
    }

    #[test]
    fn words_stand_one_behind_the_other() {
        let messages = [
            (Channels::Plain, &b"a"[..], &b""[..]),
            (Channels::Shard, b"", b"text\0"),
        ];
        let messages = messages.map(|(to, channel, text)| Message { to, channel, text });
        let words: Vec<u8> = messages.iter().flat_map(|message| message.encode().to_vec()).collect();
        let (first, bytes) = Message::decode(&words).unwrap();
        assert_eq!((first, bytes), (messages[0], messages[0].bytes()));
        let (second, rest) = Message::decode(&words[bytes..]).unwrap();
        assert_eq!((second, bytes + rest), (messages[1], words.len()));
        for length in 0..bytes {
            assert_eq!(Message::decode(&words[..length]), None);
        }
    }
}
