//! Frames, drawn in `docs/formats/frames.md`: what travels on a connection after the handshake.
//!
//! No sockets here. An [`Encoding`] is poured piece by piece into the buffer that is written next, so that a frame of many MiB needs no
//! second copy and no long checksum at once. A [`Decoder`] is fed whatever has arrived. It believes a length only when the header's own
//! checksum fits, and grows a body as its bytes come, so that a length alone costs no memory.

use crc32fast::Hasher;
use thiserror::Error;

use crate::Lane;

pub const HEADER_BYTES: usize = 20;
const TRAILER_BYTES: usize = 4;
/// A body gets this much room before its first byte is there, if it is as long.
const FIRST_STEP: usize = 4 << 10;
/// When so much of a body has come, the rest is believed to follow.
const EARNEST: usize = 1 << 20;

/// What a frame says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Request = 1,
    Answer = 2,
    /// In an answer's place: why there is none, as text.
    Failure = 3,
    /// Wants a pong with the same number.
    Ping = 4,
    /// With number 0 it answers no ping: the node still lives.
    Pong = 5,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        [Kind::Request, Kind::Answer, Kind::Failure, Kind::Ping, Kind::Pong]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    /// Given by the caller, unique on its connection; an answer has its request's.
    pub call: u64,
    pub body: Vec<u8>,
}

/// Bytes that are no frame. The connection ends: where the next frame begins is not known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Garbled {
    #[error("the checksum of a frame's header is wrong")]
    Header,
    #[error("the checksum of a frame is wrong")]
    Body,
    #[error("a frame of unknown kind {0}")]
    Kind(u8),
    #[error("a frame of lane {0} on the connection of another")]
    Lane(u8),
    #[error("a frame of {length} bytes; at most {limit} are allowed")]
    TooLong { length: usize, limit: usize },
}

/// A frame on its way out.
#[derive(Debug)]
pub struct Encoding {
    header: [u8; HEADER_BYTES],
    body: Vec<u8>,
    /// `None`: the header has not been written.
    written: Option<usize>,
    checksum: Hasher,
}

impl Encoding {
    /// The body is shorter than 4 GiB; lanes' limits see to that.
    pub fn new(kind: Kind, lane: Lane, call: u64, body: Vec<u8>) -> Encoding {
        let mut header = [0; HEADER_BYTES];
        let length = u32::try_from(body.len()).expect("a lane's limit is below 4 GiB");
        header[..4].copy_from_slice(&length.to_le_bytes());
        header[4] = kind as u8;
        header[5] = lane.code();
        header[8..16].copy_from_slice(&call.to_le_bytes());
        let mut checksum = Hasher::new();
        checksum.update(&header[..16]);
        header[16..].copy_from_slice(&checksum.clone().finalize().to_le_bytes());
        Encoding {
            header,
            body,
            written: None,
            checksum,
        }
    }

    /// Appends to `buffer` until it holds `limit` bytes, or a few more. Returns true when all of the frame has been appended.
    pub fn pour(&mut self, buffer: &mut Vec<u8>, limit: usize) -> bool {
        let written = self.written.unwrap_or_else(|| {
            buffer.extend_from_slice(&self.header);
            0
        });
        let room = limit.saturating_sub(buffer.len());
        let end = self.body.len().min(written + room);
        let piece = &self.body[written..end];
        self.checksum.update(piece);
        buffer.extend_from_slice(piece);
        self.written = Some(end);
        let is_all = end == self.body.len();
        if is_all {
            buffer.extend_from_slice(&self.checksum.clone().finalize().to_le_bytes());
        }
        is_all
    }
}

/// Takes frames out of a stream of bytes.
#[derive(Debug)]
pub struct Decoder {
    lane: Lane,
    limit: usize,
    /// Of the header, or after the body of the trailer.
    fixed: [u8; HEADER_BYTES],
    fixed_bytes: usize,
    /// A frame whose header has been read.
    begun: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    kind: Kind,
    call: u64,
    length: usize,
    body: Vec<u8>,
    checksum: Hasher,
}

impl Decoder {
    /// For a connection of `lane`, with bodies of at most `limit` bytes.
    pub fn new(lane: Lane, limit: usize) -> Decoder {
        Decoder {
            lane,
            limit,
            fixed: [0; HEADER_BYTES],
            fixed_bytes: 0,
            begun: None,
        }
    }

    /// Takes bytes off the front of `input`, up to the end of a frame. `None`: all are taken, and the frame is not complete.
    pub fn take(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, Garbled> {
        if self.begun.is_none() {
            if !self.take_fixed(HEADER_BYTES, input) {
                return Ok(None);
            }
            self.begun = Some(self.begin()?);
        }
        let begun = self.begun.as_mut().expect("set above");
        begun.take_body(input);
        if begun.body.len() < begun.length || !self.take_fixed(TRAILER_BYTES, input) {
            return Ok(None);
        }
        let begun = self.begun.take().expect("it has just been used");
        if begun.checksum.finalize().to_le_bytes() != self.fixed[..TRAILER_BYTES] {
            return Err(Garbled::Body);
        }
        Ok(Some(Frame {
            kind: begun.kind,
            call: begun.call,
            body: begun.body,
        }))
    }

    /// True when `wanted` bytes have come together in `fixed`.
    fn take_fixed(&mut self, wanted: usize, input: &mut &[u8]) -> bool {
        let (taken, rest) = input.split_at(input.len().min(wanted - self.fixed_bytes));
        self.fixed[self.fixed_bytes..][..taken.len()].copy_from_slice(taken);
        self.fixed_bytes += taken.len();
        *input = rest;
        let is_whole = self.fixed_bytes == wanted;
        if is_whole {
            self.fixed_bytes = 0;
        }
        is_whole
    }

    fn begin(&self) -> Result<Begun, Garbled> {
        let header = &self.fixed;
        let mut checksum = Hasher::new();
        checksum.update(&header[..16]);
        if checksum.clone().finalize().to_le_bytes() != header[16..] {
            return Err(Garbled::Header);
        }
        let kind = Kind::of(header[4]).ok_or(Garbled::Kind(header[4]))?;
        if header[5] != self.lane.code() {
            return Err(Garbled::Lane(header[5]));
        }
        let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
        if length > self.limit {
            return Err(Garbled::TooLong {
                length,
                limit: self.limit,
            });
        }
        Ok(Begun {
            kind,
            call: u64::from_le_bytes(header[8..16].try_into().expect("eight bytes")),
            length,
            body: Vec::with_capacity(length.min(FIRST_STEP)),
            checksum,
        })
    }
}

impl Begun {
    fn take_body(&mut self, input: &mut &[u8]) {
        let missing = self.length - self.body.len();
        let (taken, rest) = input.split_at(input.len().min(missing));
        *input = rest;
        if taken.len() > self.body.capacity() - self.body.len() {
            // Twice what has come, as a vector grows by itself, but never more than the frame needs. Once much of a long frame is there, room
            // for all of it, which costs nothing before it is used; moving what has come would hold up everybody on this thread.
            let more = match self.body.len() + taken.len() {
                EARNEST.. => missing,
                _ => taken.len().max(self.body.len()).min(missing),
            };
            self.body.reserve_exact(more);
        }
        self.checksum.update(taken);
        self.body.extend_from_slice(taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encode(kind: Kind, call: u64, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        assert!(Encoding::new(kind, Lane::Storage, call, body.to_vec()).pour(&mut bytes, usize::MAX));
        bytes
    }

    fn decoder() -> Decoder {
        Decoder::new(Lane::Storage, 1 << 20)
    }

    proptest! {
        #[test]
        fn frames_survive_any_cutting(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..6),
            pour in 1..200_usize,
            feed in 1..97_usize,
        ) {
            let mut bytes = Vec::new();
            for (call, body) in (1..).zip(&bodies) {
                let mut encoding = Encoding::new(Kind::Request, Lane::Storage, call, body.clone());
                loop {
                    let limit = bytes.len() + pour;
                    if encoding.pour(&mut bytes, limit) {
                        break;
                    }
                }
            }
            let mut decoder = decoder();
            let mut found = Vec::new();
            for mut piece in bytes.chunks(feed) {
                while let Some(frame) = decoder.take(&mut piece).unwrap() {
                    found.push((frame.call, frame.body));
                }
            }
            let expected: Vec<_> = (1..).zip(bodies).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_bytes_are_an_error_or_too_few(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = decoder();
            let mut input = bytes.as_slice();
            while let Ok(Some(_)) = decoder.take(&mut input) {}
        }

        #[test]
        fn a_flipped_bit_is_seen(body in prop::collection::vec(any::<u8>(), 0..100), bit in any::<prop::sample::Index>()) {
            let mut bytes = encode(Kind::Answer, 7, &body);
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decoder().take(&mut bytes.as_slice()).is_err());
        }
    }

    #[test]
    fn a_length_alone_costs_no_memory() {
        let mut decoder = Decoder::new(Lane::Storage, 64 << 20);
        let bytes = encode(Kind::Request, 1, &vec![0; 64 << 20]);
        assert_eq!(decoder.take(&mut &bytes[..100]), Ok(None));
        let held = |decoder: &Decoder| decoder.begun.as_ref().unwrap().body.capacity();
        assert!(held(&decoder) <= FIRST_STEP);
        for piece in bytes[100..EARNEST].chunks(1000) {
            assert_eq!(decoder.take(&mut &*piece), Ok(None));
        }
        assert!(held(&decoder) <= 2 * EARNEST);
        let frame = decoder.take(&mut &bytes[EARNEST..]).unwrap().unwrap();
        assert_eq!((frame.body.len(), frame.body.capacity()), (64 << 20, 64 << 20));
    }

    #[test]
    fn a_frame_over_the_limit_is_refused_by_its_header() {
        let bytes = encode(Kind::Request, 1, &vec![0; (1 << 20) + 1]);
        let refused = decoder().take(&mut &bytes[..HEADER_BYTES]);
        assert_eq!(
            refused,
            Err(Garbled::TooLong {
                length: (1 << 20) + 1,
                limit: 1 << 20
            })
        );
    }

    #[test]
    fn a_frame_of_another_lane_is_refused() {
        let bytes = encode(Kind::Request, 1, b"x");
        let mut decoder = Decoder::new(Lane::Control, 100);
        let code = Lane::Storage.code();
        assert_eq!(decoder.take(&mut bytes.as_slice()), Err(Garbled::Lane(code)));
    }
}
