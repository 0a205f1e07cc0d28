//! Collations of one-byte character sets in which a character's weight depends on more than the characters beside it: Czech by latin2 and
//! cp1250, and Thai. A text is made into the bytes whose order is its own.
//!
//! Czech goes over a text in passes: letters first, then their accents, then their cases, then everything else. By latin2 the first two passes
//! are over a word each, and the spaces at the end do not count:
//!
//! ```text
//!   latin2   Čech mat  →  6 8 12 SPACE  11 17 25 SPACE | 18 3 27 END  35 3 53 END | … END | … 0
//!   cp1250   Čech      →  A7 A9 AD  1 2 3
//! ```
//!
//! Thai writes some vowels before the consonant that they are spoken behind; they are sorted behind it. Marks of tone count only where all else is
//! the same: the last one of the text comes at its end, with how many consonants are before it.

use std::cmp::Ordering;

use governor::bulk;

use super::coded::{CZECH_CHARS, THAI_CHARS, WINDOWS_CZECH_CHARS};
use super::key::SpaceRuns;
use super::weights::Weights;
use super::{bytes, chars};
use crate::charset::coded::{self as charset, Coded};

pub(super) enum Whole {
    Thai,
    /// By latin2.
    Czech(Passes<4>),
    /// By cp1250.
    WindowsCzech(Passes<2>),
}

/// The weights of Czech letters in each pass.
pub(super) struct Passes<const PASSES: usize> {
    bytes: &'static [u8],
}

pub(super) static THAI: Whole = Whole::Thai;
pub(super) static CZECH: Whole = Whole::Czech(Passes {
    bytes: include_bytes!("../../tables/charsets/latin2_czech_cs.bin"),
});
pub(super) static WINDOWS_CZECH: Whole = Whole::WindowsCzech(Passes {
    bytes: include_bytes!("../../tables/charsets/cp1250_czech_cs.bin"),
});

const SPACE: u8 = 2;
const END: u8 = 1;

impl<const PASSES: usize> Passes<PASSES> {
    const TOGETHER: [[u8; 2]; 3] = [*b"Ch", *b"CH", *b"ch"];

    fn of_byte(&self, pass: usize, byte: u8) -> u8 {
        self.bytes[pass * 256 + usize::from(byte)]
    }

    /// The weight of the letter at `at`, and how many bytes it takes.
    fn weight(&self, pass: usize, text: &[u8], at: usize) -> (u8, usize) {
        let pair = text.get(at..at + 2).unwrap_or_default();
        match Self::TOGETHER.iter().position(|together| together == pair) {
            Some(i) => (self.bytes[PASSES * 256 + pass * 3 + i], 2),
            None => (self.of_byte(pass, text[at]), 1),
        }
    }
}

impl Passes<4> {
    /// The weights of a pass from `at` on to the end of the text; or of a word, then where the next one begins.
    fn write(&self, pass: usize, text: &[u8], mut at: usize, out: &mut Vec<u8>) -> Option<usize> {
        while at < text.len() && governor::go_on() {
            let (weight, len) = self.weight(pass, text, at);
            at += len;
            match weight {
                0 => {}
                SPACE => {
                    let is_other = |byte: &u8| self.of_byte(pass, *byte) != SPACE;
                    let Some(spaces) = bulk::pieces(&text[at..]).flatten().position(is_other) else {
                        break;
                    };
                    out.push(SPACE);
                    at += spaces;
                    match pass {
                        0 | 1 => return Some(at),
                        2 => {}
                        _ => out.extend(std::iter::repeat_n(SPACE, spaces)),
                    }
                }
                weight => out.push(weight),
            }
        }
        out.push(END);
        None
    }

    fn transform(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() * 4 + 4);
        let mut word = Some(0);
        while let Some(at) = word {
            word = self.write(0, text, at, &mut out);
            self.write(1, text, at, &mut out);
        }
        self.write(2, text, 0, &mut out);
        self.write(3, text, 0, &mut out);
        if let Some(end) = out.last_mut() {
            *end = 0;
        }
        out
    }
}

impl Passes<2> {
    fn transform(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len() * 2 + 1);
        for pass in 0..2 {
            let mut at = 0;
            while at < text.len() && governor::go_on() {
                let (weight, len) = self.weight(pass, text, at);
                out.push(weight);
                at += len;
            }
        }
        out
    }
}

fn transform_thai(text: &[u8]) -> Vec<u8> {
    let is_consonant = |byte: u8| matches!(byte, 0xA1..=0xCE);
    let mut out = Vec::with_capacity(text.len());
    // What marks count for falls with the letters before them.
    let mut rank = 0xF8u8;
    let (mut marks, mut last_mark) = (0, 0);
    let mut at = 0;
    while at < text.len() && governor::go_on() {
        let byte = text[at];
        at += 1;
        if byte.is_ascii() || is_consonant(byte) {
            rank = rank.wrapping_sub(8);
        }
        match (byte, text.get(at)) {
            // A vowel written before its consonant.
            (0xE0..=0xE4, Some(&next)) if is_consonant(next) => {
                out.extend_from_slice(&[next, byte]);
                at += 1;
            }
            (0xE7..=0xEC, _) => {
                marks += 1;
                last_mark = rank.wrapping_add(if byte == 0xEC { 1 } else { byte - 0xE5 });
            }
            _ => out.push(byte.to_ascii_lowercase()),
        }
    }
    if let (1.., Some(&last)) = (marks, text.last()) {
        // So in MySQL: each mark before the last one leaves a copy of the last byte.
        bulk::make_room(&mut out, marks);
        out.extend(std::iter::repeat_n(last, marks - 1));
        out.push(last_mark);
    }
    out
}

/// As [`bytes::padded_key`], but with bytes of all values: 0xFF is before those that have no code of one byte.
fn thai_key(transformed: &[u8], out: &mut Vec<u8>) {
    const SPACE_RUNS: SpaceRuns = SpaceRuns::at(b' ');
    let transformed = bytes::trim_spaces(transformed);
    bulk::make_room(out, transformed.len() + 8);
    let mut spaces = 0;
    for &byte in bulk::pieces(transformed).flatten() {
        if byte == b' ' {
            spaces += 1;
            continue;
        }
        SPACE_RUNS.write(std::mem::take(&mut spaces), byte > b' ', out);
        match byte {
            0..b' ' => out.push(byte),
            b' '..=0xFC => out.push(byte + 2),
            0xFD.. => out.extend_from_slice(&[0xFF, byte]),
        }
    }
    out.push(SPACE_RUNS.end());
}

impl Whole {
    fn set(&self) -> &'static Coded {
        match self {
            Whole::Thai => &charset::TIS620,
            Whole::Czech(_) => &charset::LATIN2,
            Whole::WindowsCzech(_) => &charset::CP1250,
        }
    }

    /// The text in its character set; `?` for what that lacks.
    fn encode(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let (mut at, mut look) = (0, bulk::PIECE);
        while at < text.len() {
            if at >= look {
                look = at + bulk::PIECE;
                if !governor::go_on() {
                    break;
                }
            }
            let (c, len) = chars::decode(text, at);
            out.push(self.set().bytes_of_char(c).0[0]);
            at += len;
        }
        out
    }

    /// The bytes by which a text is compared; spaces at its end count for nothing any more, except in Thai.
    fn transform(&self, text: &[u8]) -> Vec<u8> {
        let text = self.encode(text);
        match self {
            Whole::Thai => transform_thai(&text),
            Whole::Czech(passes) => passes.transform(&text),
            Whole::WindowsCzech(passes) => passes.transform(bytes::trim_spaces(&text)),
        }
    }

    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let (a, b) = (self.transform(a), self.transform(b));
        match self {
            Whole::Thai => bytes::compare_padded(&a, &b),
            Whole::Czech(_) | Whole::WindowsCzech(_) => bytes::compare(&a, &b),
        }
    }

    pub(super) fn sort_key(&self, text: &[u8], out: &mut Vec<u8>) {
        let transformed = self.transform(text);
        match self {
            Whole::Thai => thai_key(&transformed, out),
            Whole::Czech(_) => bulk::append(out, &transformed),
            // The weights have no end of their own.
            Whole::WindowsCzech(_) => {
                bulk::append(out, &transformed);
                out.push(0);
            }
        }
    }

    pub(super) fn weight_string(&self, text: &[u8], out: &mut Vec<u8>) {
        let encoded = self.encode(text);
        match self {
            // So in MySQL: a NUL and what is behind it are shown as spaces.
            Whole::Thai => {
                let end = memchr::memchr(0, &encoded).unwrap_or(encoded.len());
                bulk::append(out, &transform_thai(&encoded[..end]));
                bulk::make_room(out, encoded.len() - end);
                out.extend(std::iter::repeat_n(b' ', encoded.len() - end));
            }
            Whole::Czech(passes) => bulk::append(out, &passes.transform(&encoded)),
            Whole::WindowsCzech(passes) => bulk::append(out, &passes.transform(&encoded)),
        }
    }

    /// The weights by which LIKE tells single characters; none where each is only itself.
    pub(super) fn chars_of_like(&self) -> Option<&'static Weights> {
        match self {
            Whole::Thai => Some(&THAI_CHARS),
            Whole::Czech(_) | Whole::WindowsCzech(_) => None,
        }
    }

    /// The weights by which a string is found in another one.
    pub(super) fn chars_of_find(&self) -> &'static Weights {
        match self {
            Whole::Thai => &THAI_CHARS,
            Whole::Czech(_) => &CZECH_CHARS,
            Whole::WindowsCzech(_) => &WINDOWS_CZECH_CHARS,
        }
    }
}
