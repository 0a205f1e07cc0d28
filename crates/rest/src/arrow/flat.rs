//! FlatBuffers, as far as Arrow's messages need them (<https://flatbuffers.dev/internals/>).
//!
//! A buffer is built from its end to its beginning, so that whoever refers to something knows where it is. Places are counted from the end.

/// A buffer that is being built, its last byte first.
#[derive(Default)]
pub struct Flat {
    reversed: Vec<u8>,
}

/// Where something begins: bytes from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At(usize);

/// The value of a table's field.
#[derive(Debug, Clone, Copy)]
pub enum Field {
    U8(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    Offset(At),
}

impl Flat {
    /// Pads so that what ends `len` bytes before here begins at a multiple of `alignment`.
    fn align(&mut self, alignment: usize, len: usize) {
        while !(self.reversed.len() + len).is_multiple_of(alignment) {
            self.reversed.push(0);
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.reversed.extend(bytes.iter().rev());
    }

    fn put_offset(&mut self, to: At) {
        self.align(4, 0);
        let distance = (self.reversed.len() + 4 - to.0) as u32;
        self.put(&distance.to_le_bytes());
    }

    fn here(&self) -> At {
        At(self.reversed.len())
    }

    pub fn text(&mut self, text: &str) -> At {
        self.align(4, text.len() + 1);
        self.put(&[0]);
        self.put(text.as_bytes());
        self.put(&(text.len() as u32).to_le_bytes());
        self.here()
    }

    pub fn offsets(&mut self, all: &[At]) -> At {
        self.align(4, 0);
        for at in all.iter().rev() {
            self.put_offset(*at);
        }
        self.put(&(all.len() as u32).to_le_bytes());
        self.here()
    }

    /// A vector of structs of two numbers.
    pub fn pairs(&mut self, all: &[(i64, i64)]) -> At {
        self.align(8, 0);
        for (a, b) in all.iter().rev() {
            self.put(&b.to_le_bytes());
            self.put(&a.to_le_bytes());
        }
        self.put(&(all.len() as u32).to_le_bytes());
        self.here()
    }

    /// A table with these fields, by their slots.
    pub fn table(&mut self, fields: &[(usize, Field)]) -> At {
        let slots = fields.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0);
        let mut places = vec![None; slots];
        let begin = self.reversed.len();
        for (slot, field) in fields {
            match field {
                Field::U8(value) => self.put(&[*value]),
                Field::I16(value) => {
                    self.align(2, 2);
                    self.put(&value.to_le_bytes());
                }
                Field::I32(value) => {
                    self.align(4, 4);
                    self.put(&value.to_le_bytes());
                }
                Field::I64(value) => {
                    self.align(8, 8);
                    self.put(&value.to_le_bytes());
                }
                Field::Offset(to) => self.put_offset(*to),
            }
            places[*slot] = Some(self.reversed.len());
        }
        self.align(4, 4);
        self.put(&[0; 4]);
        let table = self.reversed.len();
        for place in places.iter().rev() {
            let offset = place.map_or(0, |place| table - place) as u16;
            self.put(&offset.to_le_bytes());
        }
        self.put(&((table - begin) as u16).to_le_bytes());
        self.put(&((4 + 2 * slots) as u16).to_le_bytes());
        // The table tells where its list of places is: before it.
        let distance = (self.reversed.len() - table) as i32;
        for (at, byte) in distance.to_le_bytes().iter().enumerate() {
            self.reversed[table - 1 - at] = *byte;
        }
        At(table)
    }

    /// The whole buffer, a multiple of eight bytes.
    pub fn finish(mut self, root: At) -> Vec<u8> {
        self.align(8, 4);
        self.put_offset(root);
        self.reversed.reverse();
        self.reversed
    }
}
