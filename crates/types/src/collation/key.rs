//! Sort keys: weights written in few bytes so that `memcmp` gives their order.
//!
//! A weight has 16 bits, but the text of a database is mostly ASCII, and its 70 or so weights are spread thinly over
//! the range. So a key spends a byte of its own on each weight that an ASCII character has, and one *lead* byte on
//! each gap between two neighbours, followed by the weight in two bytes:
//!
//! ```text
//!   … | gap | '9' | gap | 'a' | gap | 'b' | … | 'z' | tail 0 | tail 1 | …
//! ```
//!
//! The codes that are left go to the tail above the last ASCII weight, where most alphabets are: a tail lead says the
//! weight's high byte, and one more byte is enough. The last lead of the tail takes what is beyond.
//!
//! Under PAD SPACE a string goes on with spaces for ever. Whether it sorts before or after another then depends on what
//! the other has behind its spaces, so the space has three codes, in this order: a run of spaces before a weight below
//! the space's (with the run's length, rising), the end of the string, a run before a weight above it (length falling).
//!
//! The byte 0 is no code. It separates the levels of a collation that has several.

use std::hash::Hasher;

use super::Pad;
use super::weights::AsciiWeights;

/// The codes of one collation's primary weights.
pub(super) struct KeyCodes {
    /// The code of each ASCII character; 0 where the character is ignored.
    pub(super) ascii: [u8; 128],
    /// The distinct ASCII weights, rising, and the code of each.
    exact: [(u32, u8); 129],
    exact_len: usize,
    /// `gap[i]` is the lead of the weights below `exact[i]`; 0 if there is none.
    gap: [u8; 129],
    tail_lead: u8,
    /// The high byte of the weights of the first tail lead.
    tail_high: u32,
    pub(super) space: u32,
    pub(super) space_runs: SpaceRuns,
}

/// The three codes of the space under PAD SPACE.
#[derive(Clone, Copy)]
pub(super) struct SpaceRuns {
    before_lower: u8,
}

impl SpaceRuns {
    pub(super) const fn at(code: u8) -> SpaceRuns {
        SpaceRuns { before_lower: code }
    }

    pub(super) const fn end(self) -> u8 {
        self.before_lower + 1
    }

    /// Writes a run of `spaces` before a weight that is `above` the space's, or below it.
    #[inline]
    pub(super) fn write(self, spaces: usize, above: bool, out: &mut impl KeySink) {
        if spaces > 0 {
            self.write_run(spaces, above, out);
        }
    }

    fn write_run(self, mut spaces: usize, above: bool, out: &mut impl KeySink) {
        let (code, flip) = if above {
            (self.before_lower + 2, 0xFF)
        } else {
            (self.before_lower, 0)
        };
        out.put(code);
        while spaces > 254 {
            out.put(0xFF ^ flip);
            spaces -= 254;
        }
        out.put(spaces as u8 ^ flip);
    }
}

/// Where a key goes: to bytes, or through a hasher.
pub(super) trait KeySink {
    fn put(&mut self, byte: u8);
    fn put_all(&mut self, bytes: &[u8; 8]);
}

impl KeySink for Vec<u8> {
    #[inline]
    fn put(&mut self, byte: u8) {
        self.push(byte);
    }

    #[inline]
    fn put_all(&mut self, bytes: &[u8; 8]) {
        self.extend_from_slice(bytes);
    }
}

/// Hands a key to a hasher in pieces of a fixed size, since some hashers mind where pieces end.
pub(super) struct HashSink<'a, H> {
    state: &'a mut H,
    buffer: [u8; 64],
    len: usize,
}

impl<H: Hasher> KeySink for HashSink<'_, H> {
    #[inline]
    fn put(&mut self, byte: u8) {
        if self.len == self.buffer.len() {
            self.flush();
        }
        self.buffer[self.len] = byte;
        self.len += 1;
    }

    #[inline]
    fn put_all(&mut self, bytes: &[u8; 8]) {
        match self.buffer.get_mut(self.len..self.len + 8) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.len += 8;
            }
            None => bytes.iter().for_each(|&byte| self.put(byte)),
        }
    }
}

impl<'a, H: Hasher> HashSink<'a, H> {
    pub(super) fn new(state: &'a mut H) -> HashSink<'a, H> {
        HashSink {
            state,
            buffer: [0; 64],
            len: 0,
        }
    }

    pub(super) fn flush(&mut self) {
        self.state.write(&self.buffer[..self.len]);
        self.len = 0;
    }
}

impl KeyCodes {
    /// Codes for a collation with these weights of ASCII characters (0: ignored).
    pub(super) const fn new(ascii_weights: &AsciiWeights, pad: Pad) -> KeyCodes {
        let space = ascii_weights[b' ' as usize] as u32;
        let mut codes = KeyCodes {
            ascii: [0; 128],
            exact: [(0, 0); 129],
            exact_len: 0,
            gap: [0; 129],
            tail_lead: 0,
            tail_high: 0,
            space,
            space_runs: SpaceRuns::at(0),
        };
        let mut next_code = 1u8;
        let mut last = 0;
        loop {
            let weight = smallest_above(ascii_weights, last);
            if weight == 0 {
                break;
            }
            if weight > last + 1 {
                codes.gap[codes.exact_len] = next_code;
                next_code += 1;
            }
            codes.exact[codes.exact_len] = (weight, next_code);
            codes.exact_len += 1;
            if matches!(pad, Pad::PadSpace) && weight == space {
                codes.space_runs = SpaceRuns::at(next_code);
                next_code += 2;
            }
            next_code += 1;
            last = weight;
        }
        codes.tail_lead = next_code;
        codes.tail_high = (last + 1) >> 8;
        let mut c = 0;
        while c < 128 {
            let mut i = 0;
            while i < codes.exact_len {
                if codes.exact[i].0 == ascii_weights[c] as u32 {
                    codes.ascii[c] = codes.exact[i].1;
                }
                i += 1;
            }
            c += 1;
        }
        codes
    }

    /// Writes one weight. Weights are 1 to 0x10000.
    #[inline]
    pub(super) fn write(&self, weight: u32, out: &mut impl KeySink) {
        let exact = &self.exact[..self.exact_len];
        let at = exact.partition_point(|&(w, _)| w < weight);
        match exact.get(at) {
            Some(&(w, code)) if w == weight => out.put(code),
            Some(_) => self.write_two(self.gap[at], weight, out),
            None => {
                let lead = u32::from(self.tail_lead) + (weight >> 8) - self.tail_high;
                if lead < 0xFF {
                    out.put(lead as u8);
                    out.put(weight as u8);
                } else {
                    self.write_two(0xFF, weight, out);
                }
            }
        }
    }

    fn write_two(&self, lead: u8, weight: u32, out: &mut impl KeySink) {
        let [high, low] = ((weight - 1) as u16).to_be_bytes();
        out.put(lead);
        out.put(high);
        out.put(low);
    }
}

const fn smallest_above(weights: &AsciiWeights, floor: u32) -> u32 {
    let mut smallest = 0;
    let mut c = 0;
    while c < 128 {
        let weight = weights[c] as u32;
        if weight > floor && (smallest == 0 || weight < smallest) {
            smallest = weight;
        }
        c += 1;
    }
    smallest
}
