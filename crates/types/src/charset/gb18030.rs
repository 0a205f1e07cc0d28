//! gb18030: all of Unicode in codes of one, two and four bytes.
//!
//! Codes of two bytes are those of gbk and some more, by tables. Those of four bytes count: the second and the fourth byte have ten values, the
//! first and the third 126. The numbers below [`BEYOND`] are the other characters of the basic multilingual plane in runs; from there on each
//! character of the other planes has the next number.

use governor::bulk;

use super::coded::Paged;
use super::{InvalidBytes, text_of};

static DECODE: Paged = Paged::new(include_bytes!("../../tables/charsets/gb18030.decode.bin"));
static ENCODE: Paged = Paged::new(include_bytes!("../../tables/charsets/gb18030.encode.bin"));
static UPPER: Paged = Paged::new(include_bytes!("../../tables/charsets/gb18030.upper.bin"));
static LOWER: Paged = Paged::new(include_bytes!("../../tables/charsets/gb18030.lower.bin"));
/// Runs of characters with numbers of which each is the next: u16 first character, u16 first number, u16 how many; by the characters, and then
/// once more by the numbers.
static RUNS: &[u8] = include_bytes!("../../tables/charsets/gb18030.runs.bin");

/// The number of U+10000.
const BEYOND: u32 = 189_000;
/// The numbers in use below that.
const OF_PLANE_0: u32 = 39_420;

const FIRST_BYTES: [u8; 4] = [0x81, 0x30, 0x81, 0x30];

/// The code of a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Code {
    One(u8),
    Two(u16),
    /// The number of a code of four bytes.
    Four(u32),
}

impl Code {
    pub(crate) fn of(c: u32) -> Code {
        match c {
            0..=0x7F => Code::One(c as u8),
            0x80..=0xFFFF => match ENCODE.get(c as u16) {
                0 => Code::Four(in_runs(&RUNS[..RUNS.len() / 2], 0, c as u16)),
                code => Code::Two(code),
            },
            _ => Code::Four(BEYOND + (c - 0x10000)),
        }
    }

    /// Its bytes, and how many of them there are.
    pub(crate) fn bytes(self) -> ([u8; 4], usize) {
        match self {
            Code::One(byte) => ([byte, 0, 0, 0], 1),
            Code::Two(code) => {
                let [first, second] = code.to_be_bytes();
                ([first, second, 0, 0], 2)
            }
            Code::Four(number) => {
                let digits = [number / 12600, number / 1260 % 10, number / 10 % 126, number % 10];
                (std::array::from_fn(|i| FIRST_BYTES[i] + digits[i] as u8), 4)
            }
        }
    }
}

/// Where a key is in the runs, of which it has the column 0 or 1: the same place in the other column.
fn in_runs(runs: &[u8], column: usize, key: u16) -> u32 {
    let runs = runs.as_chunks::<6>().0;
    let entry = |run: &[u8; 6], column: usize| u16::from_le_bytes([run[column * 2], run[column * 2 + 1]]);
    let behind = runs.partition_point(|run| entry(run, column) <= key);
    let run = &runs[behind.saturating_sub(1)];
    u32::from(entry(run, 1 - column)) + u32::from(key.saturating_sub(entry(run, column)))
}

/// The character at `at` and how many bytes it takes.
fn char_at(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let first = bytes[at];
    if first.is_ascii() {
        return Some((first.into(), 1));
    }
    let second = *bytes.get(at + 1)?;
    if !second.is_ascii_digit() {
        return match DECODE.get(u16::from_be_bytes([first, second])) {
            0 => None,
            c => Some((char::from_u32(c.into())?, 2)),
        };
    }
    let code: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    let [a, b, c, d] = std::array::from_fn(|i| u32::from(code[i].wrapping_sub(FIRST_BYTES[i])));
    if a >= 126 || b >= 10 || c >= 126 || d >= 10 {
        return None;
    }
    let c = match ((a * 10 + b) * 126 + c) * 10 + d {
        number @ 0..OF_PLANE_0 => in_runs(&RUNS[RUNS.len() / 2..], 1, number as u16),
        number @ BEYOND.. => number - BEYOND + 0x10000,
        _ => return None,
    };
    Some((char::from_u32(c)?, 4))
}

/// Codes that mean nothing are errors.
pub(super) fn decode(bytes: &[u8]) -> Result<String, InvalidBytes> {
    text_of(bytes, bytes.len() + bytes.len() / 2, |at| char_at(bytes, at))
}

pub(super) fn encode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in bulk::text_pieces(text).flat_map(str::chars) {
        let (code, len) = Code::of(u32::from(c)).bytes();
        bytes.extend_from_slice(&code[..len]);
    }
    bytes
}

pub(super) fn encoded_len(text: &str) -> usize {
    let of_char = |c| Code::of(u32::from(c)).bytes().1;
    bulk::text_pieces(text).flat_map(str::chars).map(of_char).sum()
}

pub(crate) fn to_upper(c: char) -> char {
    match c {
        '\u{10428}'..='\u{1044F}' => deseret(c, u32::from(c) - DESERET_CASES),
        _ => UPPER.map(c),
    }
}

pub(crate) fn to_lower(c: char) -> char {
    match c {
        '\u{10400}'..='\u{10427}' => deseret(c, u32::from(c) + DESERET_CASES),
        _ => LOWER.map(c),
    }
}

/// Between the two cases of a letter of the only alphabet beyond the basic multilingual plane that has them.
const DESERET_CASES: u32 = 40;

fn deseret(c: char, mapped: u32) -> char {
    char::from_u32(mapped).unwrap_or(c)
}
