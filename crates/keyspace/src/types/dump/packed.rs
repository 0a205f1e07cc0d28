//! What Redis packs into one string: listpack, ziplist, intset; and LZF, by which it makes long strings shorter.

use crate::failure::Outcome;

use super::rdb::bad_format;

/// An element of a packed list: a string, or an integer that was one.
pub type Element = Vec<u8>;

fn integer(value: i64) -> Element {
    value.to_string().into_bytes()
}

/// A signed integer of so many bytes, the lowest first.
fn signed(bytes: &[u8]) -> i64 {
    let sign = match bytes.last() {
        Some(last) if *last >= 0x80 => -1,
        _ => 0,
    };
    bytes
        .iter()
        .rev()
        .fold(sign, |value: i64, &byte| value << 8 | i64::from(byte))
}

/// So many bytes from a place on.
fn slice(bytes: &[u8], at: usize, len: usize) -> Outcome<&[u8]> {
    at.checked_add(len)
        .and_then(|end| bytes.get(at..end))
        .ok_or_else(bad_format)
}

fn byte(bytes: &[u8], at: usize) -> Outcome<usize> {
    bytes.get(at).map(|&byte| usize::from(byte)).ok_or_else(bad_format)
}

/// The elements of a listpack.
pub fn listpack(bytes: &[u8]) -> Outcome<Vec<Element>> {
    const HEADER: usize = 6;
    let announced = slice(bytes, 0, 4)?;
    if announced != (bytes.len() as u32).to_le_bytes() {
        return Err(bad_format());
    }
    let (mut elements, mut at) = (Vec::new(), HEADER);
    loop {
        governor::tick()?;
        let first = byte(bytes, at)?;
        // Where the value begins, how long it is, whether it is a string.
        let (head, len, is_string) = match first {
            0xff if at + 1 == bytes.len() => return Ok(elements),
            0x00..=0x7f => {
                elements.push(integer(first as i64));
                (1, 0, None)
            }
            0x80..=0xbf => (1, first & 0x3f, Some(true)),
            0xc0..=0xdf => {
                let value = ((first & 0x1f) << 8 | byte(bytes, at + 1)?) as i64;
                elements.push(integer(if value >= 1 << 12 { value - (1 << 13) } else { value }));
                (2, 0, None)
            }
            0xe0..=0xef => (2, (first & 0x0f) << 8 | byte(bytes, at + 1)?, Some(true)),
            0xf0 => {
                let len = slice(bytes, at + 1, 4)?;
                (5, signed(len) as u32 as usize, Some(true))
            }
            0xf1..=0xf3 => (1, first - 0xf0 + 1, Some(false)),
            0xf4 => (1, 8, Some(false)),
            _ => return Err(bad_format()),
        };
        let value = slice(bytes, at + head, len)?;
        match is_string {
            Some(true) => elements.push(value.to_vec()),
            Some(false) => elements.push(integer(signed(value))),
            None => {}
        }
        let whole = head + len;
        at += whole + back_length(whole).len();
    }
}

/// The length of an entry, to be read from its end, seven bits a byte.
fn back_length(len: usize) -> Vec<u8> {
    let mut groups = vec![(len & 127) as u8];
    let mut rest = len >> 7;
    while rest > 0 {
        groups.push((rest & 127) as u8);
        rest >>= 7;
    }
    groups.reverse();
    groups[1..].iter_mut().for_each(|group| *group |= 128);
    groups
}

/// Writes a listpack.
pub struct Packer {
    bytes: Vec<u8>,
    elements: usize,
}

impl Packer {
    pub fn new() -> Packer {
        Packer {
            bytes: vec![0; 6],
            elements: 0,
        }
    }

    fn push(&mut self, head: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(value);
        self.bytes.extend_from_slice(&back_length(head.len() + value.len()));
        self.elements += 1;
    }

    pub fn integer(&mut self, value: i64) {
        match value {
            0..=127 => self.push(&[value as u8], &[]),
            _ => self.push(&[0xf4], &value.to_le_bytes()),
        }
    }

    pub fn string(&mut self, value: &[u8]) {
        match value.len() {
            len @ 0..=63 => self.push(&[0x80 | len as u8], value),
            len @ 64..=4095 => self.push(&[0xe0 | (len >> 8) as u8, len as u8], value),
            len => {
                let mut head = vec![0xf0];
                head.extend_from_slice(&(len as u32).to_le_bytes());
                self.push(&head, value);
            }
        }
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0xff);
        let len = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&len.to_le_bytes());
        // Who has more has to count.
        let elements = u16::try_from(self.elements).unwrap_or(u16::MAX);
        self.bytes[4..6].copy_from_slice(&elements.to_le_bytes());
        self.bytes
    }
}

/// The elements of a ziplist.
pub fn ziplist(bytes: &[u8]) -> Outcome<Vec<Element>> {
    const HEADER: usize = 10;
    let (mut elements, mut at) = (Vec::new(), HEADER);
    loop {
        governor::tick()?;
        at += match byte(bytes, at)? {
            0xff if at + 1 == bytes.len() => return Ok(elements),
            0xfe => 5,
            _ => 1,
        };
        let first = byte(bytes, at)?;
        let (head, len, is_string) = match first {
            0x00..=0x3f => (1, first, true),
            0x40..=0x7f => (2, (first & 0x3f) << 8 | byte(bytes, at + 1)?, true),
            0x80..=0xbf => {
                let len = slice(bytes, at + 1, 4)?.iter();
                (5, len.fold(0usize, |len, &byte| len << 8 | usize::from(byte)), true)
            }
            0xc0 => (1, 2, false),
            0xd0 => (1, 4, false),
            0xe0 => (1, 8, false),
            0xf0 => (1, 3, false),
            0xfe => (1, 1, false),
            0xf1..=0xfd => {
                elements.push(integer(first as i64 - 0xf1));
                at += 1;
                continue;
            }
            _ => return Err(bad_format()),
        };
        let value = slice(bytes, at + head, len)?;
        elements.push(match is_string {
            true => value.to_vec(),
            false => integer(signed(value)),
        });
        at += head + len;
    }
}

/// The elements of an intset.
pub fn intset(bytes: &[u8]) -> Outcome<Vec<Element>> {
    let (width, len) = (signed(slice(bytes, 0, 4)?), signed(slice(bytes, 4, 4)?) as u32 as usize);
    let values = &bytes[8..];
    if !matches!(width, 2 | 4 | 8) || len.checked_mul(width as usize) != Some(values.len()) {
        return Err(bad_format());
    }
    let mut elements = Vec::new();
    for value in values.chunks(width as usize) {
        governor::tick()?;
        elements.push(integer(signed(value)));
    }
    Ok(elements)
}

/// The string that LZF has made shorter.
pub fn unlzf(mut bytes: &[u8], len: usize) -> Outcome<Vec<u8>> {
    // Three bytes stand for 264 at most.
    if len / 264 > bytes.len() {
        return Err(bad_format());
    }
    governor::ensure(len)?;
    let mut out: Vec<u8> = Vec::with_capacity(len);
    while let Some((&control, rest)) = bytes.split_first() {
        governor::tick()?;
        let control = usize::from(control);
        if control < 32 {
            let (literal, rest) = rest.split_at_checked(control + 1).ok_or_else(bad_format)?;
            out.extend_from_slice(literal);
            bytes = rest;
        } else {
            let (mut count, mut at) = (control >> 5, 0);
            if count == 7 {
                count += byte(rest, 0)?;
                at = 1;
            }
            let back = ((control & 31) << 8 | byte(rest, at)?) + 1;
            bytes = &rest[at + 1..];
            let from = out.len().checked_sub(back).ok_or_else(bad_format)?;
            for at in from..from + count + 2 {
                // What is copied may reach into what was copied.
                out.push(out[at]);
            }
        }
        if out.len() > len {
            return Err(bad_format());
        }
    }
    match out.len() == len {
        true => Ok(out),
        false => Err(bad_format()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(elements: Outcome<Vec<Element>>) -> Vec<String> {
        let elements = elements.unwrap().into_iter();
        elements.map(|element| String::from_utf8(element).unwrap()).collect()
    }

    #[test]
    fn a_ziplist_of_redis_6_is_read() {
        let mut bytes = vec![0; 10];
        let long = "x".repeat(300);
        for (encoded, value) in [
            (&[5][..], &b"hello"[..]),
            (&[0xf1 + 12], b""),
            (&[0xfe], b"\xff"),
            (&[0xc0], &300i16.to_le_bytes()),
            (&[0xf0], &[0x70, 0x11, 0x01]),
            (&[0xd0], &(-70_000_000i32).to_le_bytes()),
            (&[0xe0], &i64::MIN.to_le_bytes()),
            (&[0x41, 0x2c], long.as_bytes()),
            // Behind a long entry the length before takes five bytes.
            (&[0x80, 0, 0, 0, 3], b"end"),
        ] {
            match value == b"end" {
                true => bytes.extend_from_slice(&[0xfe, 0x2f, 1, 0, 0]),
                false => bytes.push(0),
            }
            bytes.extend_from_slice(encoded);
            bytes.extend_from_slice(value);
        }
        bytes.push(0xff);
        let expected = [
            "hello",
            "12",
            "-1",
            "300",
            "70000",
            "-70000000",
            "-9223372036854775808",
            &long,
            "end",
        ];
        assert_eq!(texts(ziplist(&bytes)), expected);
    }

    #[test]
    fn lzf_copies_what_it_has_written() {
        // One byte, then eight more of it.
        assert_eq!(unlzf(&[0, b'a', 6 << 5, 0], 9).unwrap(), b"aaaaaaaaa");
        assert!(unlzf(&[0, b'a', 6 << 5, 1], 9).is_err());
    }
}
