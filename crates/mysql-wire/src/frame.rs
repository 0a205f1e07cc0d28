//! The stream of frames under the packets.
//!
//! ```text
//!   3 bytes   1 byte    length bytes
//! ┌─────────┬─────────┬───────────────┐   A packet of 2^24 - 1 bytes or more is sent as frames of exactly
//! │ length  │ number  │ payload       │   that length and a last, shorter one (perhaps empty). Numbers start
//! └─────────┴─────────┴───────────────┘   at 0 with each command and count up over question and answer.
//! ```
//!
//! [`scan`] looks at the start of a receive buffer and says whether one whole packet is there. It refuses a
//! packet by the sum of its announced lengths, so nobody makes a server buffer more than the limit.

/// The longest payload of one frame; a packet this long continues in the next frame.
pub const FRAME_PAYLOAD_MAX: usize = 0xff_ff_ff;

pub const HEADER_LEN: usize = 4;

use crate::output::MOVED_AT_ONCE;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("packet number {got} in place of {expected}")]
    OutOfOrder { expected: u8, got: u8 },
    #[error("packet of {announced} bytes, more than the limit of {limit}")]
    TooLarge { announced: usize, limit: usize },
}

/// What the start of a receive buffer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan {
    /// Not a whole packet yet: go on once the buffer holds `wanted` bytes (at least one more than now).
    Incomplete {
        wanted: usize,
    },
    Complete(Frames),
}

/// A whole packet at the start of a receive buffer: one frame or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames {
    /// Bytes of the buffer that the packet takes, headers included.
    pub len: usize,
    /// The number that the next packet, of either side, has to carry.
    pub next_sequence: u8,
    payload_len: usize,
}

/// Looks for one packet of at most `limit` payload bytes whose first frame is numbered `sequence`.
#[inline]
pub fn scan(input: &[u8], sequence: u8, limit: usize) -> Result<Scan, FrameError> {
    let (mut at, mut payload_len, mut sequence) = (0, 0, sequence);
    loop {
        let Some(&[a, b, c, number]) = input[at..].first_chunk::<HEADER_LEN>() else {
            return Ok(Scan::Incomplete {
                wanted: at + HEADER_LEN,
            });
        };
        let len = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        payload_len += len;
        if number != sequence {
            return Err(FrameError::OutOfOrder {
                expected: sequence,
                got: number,
            });
        }
        if payload_len > limit {
            return Err(FrameError::TooLarge {
                announced: payload_len,
                limit,
            });
        }
        let end = at + HEADER_LEN + len;
        if input.len() < end {
            return Ok(Scan::Incomplete { wanted: end });
        }
        (at, sequence) = (end, sequence.wrapping_add(1));
        if len < FRAME_PAYLOAD_MAX {
            return Ok(Scan::Complete(Frames {
                len: at,
                next_sequence: sequence,
                payload_len,
            }));
        }
    }
}

impl Frames {
    /// The packet's payload. `input` is the buffer that was scanned; a packet of several frames is moved
    /// together in place, over its inner headers.
    #[inline]
    pub fn payload(self, input: &mut [u8]) -> &[u8] {
        self.payload_in_pieces(input, || ())
    }

    /// As [`payload`](Self::payload); calls `between` now and then where much has to be moved.
    #[inline]
    pub fn payload_in_pieces(self, input: &mut [u8], mut between: impl FnMut()) -> &[u8] {
        let packet = &mut input[..self.len];
        if self.payload_len >= FRAME_PAYLOAD_MAX {
            let (mut from, mut to) = (HEADER_LEN, HEADER_LEN);
            while to < HEADER_LEN + self.payload_len {
                let len = FRAME_PAYLOAD_MAX.min(self.len - from);
                let mut done = if from == to { len } else { 0 };
                while done < len {
                    let piece = MOVED_AT_ONCE.min(len - done);
                    packet.copy_within(from + done..from + done + piece, to + done);
                    done += piece;
                    between();
                }
                (from, to) = (from + len + HEADER_LEN, to + len);
            }
        }
        &packet[HEADER_LEN..HEADER_LEN + self.payload_len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Output;

    const LIMIT: usize = 64 << 20;

    #[test]
    fn half_packets_say_what_they_want() {
        let ping = [1, 0, 0, 0, 0x0e];
        assert_eq!(scan(&ping[..0], 0, LIMIT), Ok(Scan::Incomplete { wanted: 4 }));
        assert_eq!(scan(&ping[..3], 0, LIMIT), Ok(Scan::Incomplete { wanted: 4 }));
        assert_eq!(scan(&ping[..4], 0, LIMIT), Ok(Scan::Incomplete { wanted: 5 }));
        let Ok(Scan::Complete(frames)) = scan(&ping, 0, LIMIT) else {
            panic!("one packet")
        };
        assert_eq!((frames.len, frames.next_sequence), (5, 1));
        assert_eq!(frames.payload(&mut ping.clone()), [0x0e]);
    }

    #[test]
    fn an_empty_packet_is_a_packet() {
        let Ok(Scan::Complete(frames)) = scan(&[0, 0, 0, 255], 255, 0) else {
            panic!("one packet")
        };
        assert_eq!((frames.len, frames.next_sequence), (4, 0));
    }

    #[test]
    fn refused_by_the_header_alone() {
        let header = [0, 0, 2, 0];
        assert_eq!(
            scan(&header, 0, 0x1_ffff),
            Err(FrameError::TooLarge {
                announced: 0x2_0000,
                limit: 0x1_ffff
            })
        );
        assert_eq!(
            scan(&header, 1, LIMIT),
            Err(FrameError::OutOfOrder { expected: 1, got: 0 })
        );
    }

    #[test]
    fn the_sum_of_the_frames_is_limited() {
        let mut input = vec![0xff; HEADER_LEN + FRAME_PAYLOAD_MAX];
        input[3] = 0;
        input.extend_from_slice(&[1, 0, 0, 1]);
        let refused = FrameError::TooLarge {
            announced: FRAME_PAYLOAD_MAX + 1,
            limit: FRAME_PAYLOAD_MAX,
        };
        assert_eq!(scan(&input, 0, FRAME_PAYLOAD_MAX), Err(refused));
    }

    #[test]
    fn large_packets_are_split_and_joined() {
        for len in [
            FRAME_PAYLOAD_MAX - 1,
            FRAME_PAYLOAD_MAX,
            FRAME_PAYLOAD_MAX + 1,
            2 * FRAME_PAYLOAD_MAX,
            40_000_000,
        ] {
            let payload: Vec<u8> = (0..len).map(|i| (i / 7) as u8).collect();
            let mut output = Output::new(Vec::new());
            output.set_sequence(9);
            output.packet(|out| out.extend_from_slice(&payload));
            let next = output.sequence();
            let mut input = output.into_bytes();
            input.push(0xaa);
            let Ok(Scan::Complete(frames)) = scan(&input, 9, LIMIT) else {
                panic!("one packet of {len}")
            };
            assert_eq!((frames.len, frames.next_sequence), (input.len() - 1, next));
            assert!(frames.payload(&mut input) == payload, "payload of {len} bytes differs");
        }
    }
}
