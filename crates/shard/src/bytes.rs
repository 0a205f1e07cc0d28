//! Little-endian fields one after the other, written to the end of a vector and taken from the start of a slice.
//!
//! `bytes` stands for a length of 4 bytes and that many bytes; an entry's id for one byte 0 or 1, whether there is one, and two
//! numbers of 8 bytes.

use journal::EntryId;

pub(crate) fn put_u32(to: &mut Vec<u8>, number: u32) {
    to.extend_from_slice(&number.to_le_bytes());
}

pub(crate) fn put_u64(to: &mut Vec<u8>, number: u64) {
    to.extend_from_slice(&number.to_le_bytes());
}

pub(crate) fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(
        to,
        u32::try_from(bytes.len()).expect("whatever is put is smaller than 4 GiB"),
    );
    to.extend_from_slice(bytes);
}

pub(crate) fn put_id(to: &mut Vec<u8>, id: Option<EntryId>) {
    to.push(u8::from(id.is_some()));
    put_u64(to, id.map_or(0, |id| id.term));
    put_u64(to, id.map_or(0, |id| id.index));
}

/// What is left of a slice. `None`: it is too short, or has something else there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes<'a> {
    left: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes { left: bytes }
    }

    pub fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.left.split_off_first().copied()
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn u16(&mut self) -> Option<u16> {
        let (number, left) = self.left.split_first_chunk()?;
        self.left = left;
        Some(u16::from_le_bytes(*number))
    }

    pub fn u32(&mut self) -> Option<u32> {
        let (number, left) = self.left.split_first_chunk()?;
        self.left = left;
        Some(u32::from_le_bytes(*number))
    }

    pub fn u64(&mut self) -> Option<u64> {
        let (number, left) = self.left.split_first_chunk()?;
        self.left = left;
        Some(u64::from_le_bytes(*number))
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u32()?;
        self.left.split_off(..length as usize)
    }

    /// Everything up to the end.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.left)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub fn id(&mut self) -> Option<Option<EntryId>> {
        let is_some = self.flag()?;
        let (term, index) = (self.u64()?, self.u64()?);
        Some(is_some.then_some(EntryId { term, index }))
    }
}
