//! A cursor over one packet's payload.

/// The peer's bytes are not the protocol; says which element was being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed packet: {0}")]
pub struct Malformed(pub &'static str);

/// Reads the protocol's elements off the front of a payload, borrowing from it.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(payload: &'a [u8]) -> Self {
        Reader { rest: payload }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Everything not read yet; the reader is empty afterwards.
    pub fn take_rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub fn bytes(&mut self, len: usize, what: &'static str) -> Result<&'a [u8], Malformed> {
        let (head, rest) = self.rest.split_at_checked(len).ok_or(Malformed(what))?;
        self.rest = rest;
        Ok(head)
    }

    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let (head, rest) = self.rest.split_first_chunk::<N>().ok_or(Malformed(what))?;
        self.rest = rest;
        Ok(*head)
    }

    pub fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub fn u16(&mut self, what: &'static str) -> Result<u16, Malformed> {
        self.array(what).map(u16::from_le_bytes)
    }

    pub fn u24(&mut self, what: &'static str) -> Result<u32, Malformed> {
        self.array(what).map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    pub fn u32(&mut self, what: &'static str) -> Result<u32, Malformed> {
        self.array(what).map(u32::from_le_bytes)
    }

    pub fn u64(&mut self, what: &'static str) -> Result<u64, Malformed> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// A length-encoded integer: one byte below 251, else a marker and 2, 3 or 8 bytes.
    pub fn lenenc_int(&mut self, what: &'static str) -> Result<u64, Malformed> {
        match self.u8(what)? {
            small @ 0..=0xfa => Ok(small.into()),
            0xfc => self.u16(what).map(u64::from),
            0xfd => self.u24(what).map(u64::from),
            0xfe => self.u64(what),
            0xfb | 0xff => Err(Malformed(what)),
        }
    }

    pub fn lenenc_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let len = self.lenenc_int(what)?;
        self.bytes(usize::try_from(len).map_err(|_| Malformed(what))?, what)
    }

    /// Up to a NUL, which is consumed and not returned.
    pub fn nul_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Malformed> {
        let len = self.rest.iter().position(|byte| *byte == 0).ok_or(Malformed(what))?;
        let text = self.bytes(len, what)?;
        self.rest = &self.rest[1..];
        Ok(text)
    }

    /// Up to a NUL or, as some clients leave out the last one, the end of the packet.
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        match self.nul_bytes("string") {
            Ok(text) => text,
            Err(_) => self.take_rest(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenenc_integers_of_every_width() {
        let packet = [0xfa, 0xfc, 0xfb, 0x00, 0xfd, 1, 2, 3, 0xfe, 1, 0, 0, 0, 0, 0, 0, 0x80];
        let mut reader = Reader::new(&packet);
        let mut next = || reader.lenenc_int("n");
        assert_eq!(next(), Ok(250));
        assert_eq!(next(), Ok(251));
        assert_eq!(next(), Ok(0x03_02_01));
        assert_eq!(next(), Ok(0x8000_0000_0000_0001));
        assert_eq!(next(), Err(Malformed("n")));
    }

    #[test]
    fn a_length_beyond_the_packet_is_malformed() {
        assert_eq!(Reader::new(&[5, b'a']).lenenc_bytes("s"), Err(Malformed("s")));
        assert_eq!(
            Reader::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]).lenenc_bytes("s"),
            Err(Malformed("s"))
        );
    }

    #[test]
    fn nul_strings() {
        let mut reader = Reader::new(b"root\0db");
        assert_eq!(reader.nul_bytes("user"), Ok(&b"root"[..]));
        assert_eq!(reader.nul_bytes("db"), Err(Malformed("db")));
        assert_eq!(reader.nul_or_rest(), b"db");
        assert!(reader.is_empty());
    }
}
