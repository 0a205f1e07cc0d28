//! The places of ideographs in an order: a map from the first 0x30000 characters to 16 bits. `tables/ranks.py` draws its layout.

pub(super) struct Ranks {
    bytes: &'static [u8],
}

impl Ranks {
    const PAGES: usize = 0x300;
    const NO_PAGE: u16 = 0xFFFF;

    pub(super) const fn new(bytes: &'static [u8]) -> Ranks {
        Ranks { bytes }
    }

    /// 0 where the character is not there.
    pub(super) fn get(&self, c: u32) -> u16 {
        let index = (c >> 8) as usize;
        if index >= Self::PAGES {
            return 0;
        }
        match self.u16_at(index) {
            Self::NO_PAGE => 0,
            page => self.u16_at(Self::PAGES + usize::from(page) * 256 + (c & 0xFF) as usize),
        }
    }

    fn u16_at(&self, i: usize) -> u16 {
        u16::from_le_bytes([self.bytes[i * 2], self.bytes[i * 2 + 1]])
    }
}
