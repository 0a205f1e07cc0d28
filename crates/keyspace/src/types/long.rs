//! Long strings: pieces in rows of their own, so that a change of a few bytes costs a piece and not the whole.
//!
//! ```text
//!   redis.db0        key ─ 'string', no value, meta: id, length
//!   redis.db0_piece  (id, 0) 16 KiB │ (id, 1) 16 KiB │     │ (id, 3) 5 KiB
//! ```
//!
//! A piece that is not there, and what a piece lacks at its end, are zeros: a bit that is set far out costs one piece. A string becomes long when it grows beyond
//! [`WHOLE_MAX`], and stays so until it is set anew. A row of a key that has a value is that value, whatever else there is: SQL may give it one, and former versions
//! have kept long strings so.
//!
//! Whoever changes pieces holds the lock of the key's row, which is written with each change.

use std::ops::{ControlFlow, Range};

use env::Feature;
use types::ValueRef;

use crate::call::Call;
use crate::collection::Collection;
use crate::failure::{Outcome, wrong_type};
use crate::head::{HeadRef, Kind};
use crate::tables::{Db, Part, key_of};
use crate::types::string::STRING_MAX;
use crate::work::Work;

/// The longest string whose value is in the key's row.
pub const WHOLE_MAX: usize = 64 << 10;
/// What a change of one byte writes. Smaller ones would be many rows.
pub const PIECE: usize = 16 << 10;

const BYTES: usize = 2;
/// What a piece holds that is not there.
static ZEROS: [u8; PIECE] = [0; PIECE];

/// A string, as far as its key's row tells.
pub struct Text {
    pub len: usize,
    /// `None`: the value is in the key's row.
    pieces: Option<Collection>,
    expires_at: Option<i64>,
}

/// The numbers of the pieces that some bytes are in.
fn numbers(bytes: &Range<usize>) -> Range<usize> {
    match bytes.is_empty() {
        true => 0..0,
        false => bytes.start / PIECE..(bytes.end - 1) / PIECE + 1,
    }
}

/// The part of a piece that is in a range: within the piece.
fn within(number: usize, bytes: &Range<usize>) -> Range<usize> {
    let begin = number * PIECE;
    bytes.start.max(begin) - begin..bytes.end.min(begin + PIECE) - begin
}

impl Work<'_> {
    /// Whether every node of the cluster can read pieces.
    fn writes_pieces(&self) -> bool {
        let engine = self.keyspace.engine();
        engine.other_nodes().is_none() || engine.participant().level().has(Feature::LongValues)
    }

    /// Shows bytes of a long string run by run, each with its place.
    fn each_run_of_pieces(
        &self,
        db: &Db,
        id: u64,
        bytes: Range<usize>,
        mut visit: impl FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> Outcome {
        for number in numbers(&bytes) {
            governor::tick()?;
            let part = within(number, &bytes);
            let (begin, mut seen, mut flow) = (number * PIECE, part.start, ControlFlow::Continue(()));
            let key = [ValueRef::UInt(id), ValueRef::UInt(number as u64)];
            self.element(db, Part::Piece, key, |layout, row| {
                let piece = layout.raw(row, BYTES).unwrap_or_default();
                let end = part.end.min(piece.len());
                if seen < end {
                    flow = visit(begin + seen, &piece[seen..end]);
                    seen = end;
                }
            });
            if flow.is_continue() && seen < part.end {
                flow = visit(begin + seen, &ZEROS[seen..part.end]);
            }
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Appends bytes of a long string.
    fn read_pieces(&self, db: &Db, id: u64, bytes: Range<usize>, out: &mut Vec<u8>) -> Outcome {
        governor::ensure(bytes.len())?;
        out.reserve(bytes.len());
        self.each_run_of_pieces(db, id, bytes, |_, run| {
            out.extend_from_slice(run);
            ControlFlow::Continue(())
        })
    }

    fn put_piece(&mut self, db: &Db, id: u64, number: usize, bytes: &[u8]) -> Outcome {
        self.lock_table(db, Part::Piece)?;
        let table = db.table(Part::Piece);
        let columns = [
            ValueRef::UInt(id),
            ValueRef::UInt(number as u64),
            ValueRef::Bytes(bytes),
        ];
        let (mut key, mut row) = (Vec::new(), Vec::with_capacity(bytes.len() + 32));
        key_of(table, columns[..2].iter().copied(), &mut key);
        table.layout().encode_with(|column| columns[column], &mut row);
        self.put_below_key(table, &key, Some(&row))
    }

    /// Writes bytes of a long string, which becomes as long as they need it to be.
    fn write_pieces(&mut self, db: &Db, text: &mut Collection, at: usize, bytes: &[u8]) -> Outcome {
        let range = at..at + bytes.len();
        for number in numbers(&range) {
            governor::tick()?;
            let part = within(number, &range);
            let from = number * PIECE + part.start - at;
            let new = &bytes[from..from + part.len()];
            if part.start == 0 && (part.end == PIECE || range.end as u64 >= text.len) {
                self.put_piece(db, text.id, number, new)?;
                continue;
            }
            let begin = number * PIECE;
            let end = (text.len as usize).clamp(begin, begin + PIECE).max(begin + part.end);
            let mut piece = Vec::new();
            self.read_pieces(db, text.id, begin..end, &mut piece)?;
            piece[part].copy_from_slice(new);
            self.put_piece(db, text.id, number, &piece)?;
        }
        text.len = text.len.max(range.end as u64);
        Ok(())
    }

    /// Removes the pieces of an id.
    pub fn remove_pieces(&mut self, db: &Db, id: u64) -> Outcome {
        let keys = self.rows_of(db, Part::Piece, id)?;
        if keys.is_empty() {
            return Ok(());
        }
        self.lock_table(db, Part::Piece)?;
        for key in keys {
            governor::tick()?;
            self.put_below_key(db.table(Part::Piece), &key, None)?;
        }
        Ok(())
    }

    fn save_text(&mut self, db: &Db, key: &[u8], text: &Collection) -> Outcome {
        let meta = text.meta();
        let head = HeadRef {
            meta: &meta,
            expires_at: text.expires_at,
            ..HeadRef::without_value(Kind::String)
        };
        self.put(db, key, head)
    }
}

impl Call<'_, '_> {
    /// What a string is like; none for a key that is not there.
    pub fn text(&self, key: &[u8]) -> Outcome<Option<Text>> {
        let found = self.work.read(&self.db, key, |head| match head.kind {
            Kind::String => Ok(Text::of(head)),
            _ => Err(wrong_type()),
        });
        found.transpose()
    }

    /// A string's value; none for a key that is not there.
    pub fn string(&self, key: &[u8]) -> Outcome<Option<Vec<u8>>> {
        self.with_beginning(key, usize::MAX, <[u8]>::to_vec)
    }

    /// Shows the value of a string that may not be long to make sense: of one that is, the beginning.
    #[inline]
    pub fn with_short<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Outcome<Option<R>> {
        self.with_beginning(key, WHOLE_MAX, read)
    }

    /// Shows a string's value; of a long one so many bytes at most.
    #[inline]
    fn with_beginning<R>(&self, key: &[u8], most: usize, read: impl FnOnce(&[u8]) -> R) -> Outcome<Option<R>> {
        let mut read = Some(read);
        let found = self.work.read(&self.db, key, |head| match head.kind {
            Kind::String => Ok(match head.is_long() {
                true => Err(Text::of(head)),
                false => Ok(read.take().map(|read| read(head.value))),
            }),
            _ => Err(wrong_type()),
        });
        match found.transpose()? {
            None => Ok(None),
            Some(Ok(shown)) => Ok(shown),
            Some(Err(text)) => {
                let mut value = Vec::new();
                self.read_text(key, &text, 0..text.len.min(most), &mut value)?;
                Ok(read.take().map(|read| read(&value)))
            }
        }
    }

    /// Appends bytes of a string, which it has.
    fn read_text(&self, key: &[u8], text: &Text, bytes: Range<usize>, out: &mut Vec<u8>) -> Outcome {
        match &text.pieces {
            Some(pieces) => self.work.read_pieces(&self.db, pieces.id, bytes, out),
            None => {
                self.work
                    .read(&self.db, key, |head| out.extend_from_slice(&head.value[bytes]));
                Ok(())
            }
        }
    }

    /// Shows bytes of a string, which it has, run by run, each with its place.
    pub fn each_run(
        &self,
        key: &[u8],
        text: &Text,
        bytes: Range<usize>,
        mut visit: impl FnMut(usize, &[u8]) -> ControlFlow<()>,
    ) -> Outcome {
        if let Some(pieces) = &text.pieces {
            return self.work.each_run_of_pieces(&self.db, pieces.id, bytes, visit);
        }
        for number in numbers(&bytes) {
            governor::tick()?;
            let (begin, part) = (number * PIECE, within(number, &bytes));
            let run = begin + part.start..begin + part.end;
            let flow = self.work.read(&self.db, key, |head| visit(run.start, &head.value[run]));
            if flow.is_none_or(|flow| flow.is_break()) {
                break;
            }
        }
        Ok(())
    }

    /// Bytes of a string that two positions mean; zeros where it is shorter.
    pub fn padded_part(&self, key: &[u8], bytes: Range<usize>) -> Outcome<Vec<u8>> {
        self.padded_part_of(key, self.text(key)?.as_ref(), bytes)
    }

    fn padded_part_of(&self, key: &[u8], text: Option<&Text>, bytes: Range<usize>) -> Outcome<Vec<u8>> {
        let mut part = Vec::with_capacity(bytes.len());
        if let Some(text) = text {
            let there = bytes.start.min(text.len)..bytes.end.min(text.len);
            self.read_text(key, text, there, &mut part)?;
        }
        part.resize(bytes.len(), 0);
        Ok(part)
    }

    /// Replies with bytes of a string: which, its length decides. None for a key that is not there.
    pub fn reply_part(&mut self, key: &[u8], which: impl Fn(usize) -> Range<usize>) -> Outcome<Option<()>> {
        let reply = &mut *self.reply;
        let found = self.work.read(&self.db, key, |head| match head.kind {
            Kind::String if head.is_long() => Ok(Some(Text::of(head))),
            Kind::String => {
                reply.bulk(&head.value[which(head.value.len())]);
                Ok(None)
            }
            _ => Err(wrong_type()),
        });
        Ok(match found.transpose()? {
            None => None,
            Some(None) => Some(()),
            Some(Some(text)) => {
                let (work, db, bytes) = (&*self.work, &self.db, which(text.len));
                let id = text.pieces.map_or(0, |pieces| pieces.id);
                self.reply
                    .bulk_by(bytes.len(), |out| work.read_pieces(db, id, bytes, out))?;
                Some(())
            }
        })
    }

    /// Gives a key the value of a string, whatever was there before.
    pub fn set_string(&mut self, key: &[u8], value: &[u8], expires_at: Option<i64>) -> Outcome {
        let db = self.db.clone();
        let is_simple = |head: HeadRef<'_>| head.kind == Kind::String && head.meta.is_empty();
        if self.work.read(&db, key, is_simple) != Some(true) {
            self.work.remove(&db, key)?;
        }
        if value.len() > WHOLE_MAX && self.work.writes_pieces() {
            return self.set_long(key, value, expires_at);
        }
        self.work.put(&db, key, HeadRef::string(value, expires_at))
    }

    /// Gives a key that holds no pieces a long value.
    fn set_long(&mut self, key: &[u8], value: &[u8], expires_at: Option<i64>) -> Outcome {
        let db = self.db.clone();
        let mut text = Collection {
            expires_at,
            ..Collection::new(self.work.keyspace.next_id())
        };
        self.work.write_pieces(&db, &mut text, 0, value)?;
        self.work.save_text(&db, key, &text)
    }

    /// Gives a key a value that is made of others, and is as long as the longest of them. Returns its length.
    ///
    /// `make` is given a part of the first one, which it changes, and the same part of the others, with zeros behind their ends. So no
    /// value is in memory whole.
    pub fn combine_strings(
        &mut self,
        key: &[u8],
        sources: &[(&[u8], Option<Text>)],
        make: impl Fn(&mut [u8], &[Vec<u8>]),
    ) -> Outcome<usize> {
        let len = sources.iter().flat_map(|(_, text)| text).map(|text| text.len).max();
        let len = len.unwrap_or(0);
        let (db, is_long) = (self.db.clone(), len > WHOLE_MAX && self.work.writes_pieces());
        let (mut whole, mut long) = (Vec::new(), Collection::new(self.work.keyspace.next_id()));
        for number in numbers(&(0..len)) {
            let bytes = number * PIECE..len.min((number + 1) * PIECE);
            let mut parts = Vec::with_capacity(sources.len());
            for (key, text) in sources {
                governor::tick()?;
                parts.push(self.padded_part_of(key, text.as_ref(), bytes.clone())?);
            }
            let Some((first, others)) = parts.split_first_mut() else {
                break;
            };
            make(first, others);
            match is_long {
                false => whole.extend_from_slice(first),
                // A piece that is not there is zeros.
                true if **first == ZEROS[..first.len()] => {}
                true => self.work.write_pieces(&db, &mut long, bytes.start, first)?,
            }
        }
        if !is_long {
            self.set_string(key, &whole, None)?;
            return Ok(len);
        }
        long.len = len as u64;
        self.work.remove(&db, key)?;
        self.work.save_text(&db, key, &long)?;
        Ok(len)
    }

    /// Changes a string's value; when it expires stays.
    pub fn change_string(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        let expires_at = self.work.read(&self.db, key, |head| head.expires_at).flatten();
        self.set_string(key, value, expires_at)
    }

    /// Writes bytes into a string from a place on, behind zeros where it is shorter; when it expires stays. Returns its length.
    pub fn change_part(&mut self, key: &[u8], at: usize, bytes: &[u8]) -> Outcome<usize> {
        let found = self.text(key)?;
        let expires_at = found.as_ref().and_then(|text| text.expires_at);
        let db = self.db.clone();
        let len = found.as_ref().map_or(0, |text| text.len).max(at + bytes.len());
        if let Some(mut pieces) = found.as_ref().and_then(|text| text.pieces.clone()) {
            self.work.write_pieces(&db, &mut pieces, at, bytes)?;
            pieces.len = len as u64;
            self.work.save_text(&db, key, &pieces)?;
            return Ok(len);
        }
        if len > WHOLE_MAX && self.work.writes_pieces() {
            let old = self.string(key)?.unwrap_or_default();
            self.set_string(key, b"", expires_at)?;
            self.set_long(key, &old, expires_at)?;
            return self.change_part(key, at, bytes);
        }
        governor::ensure(2 * len)?;
        let mut value = self.string(key)?.unwrap_or_default();
        value.resize(len, 0);
        value[at..at + bytes.len()].copy_from_slice(bytes);
        self.set_string(key, &value, expires_at)?;
        Ok(len)
    }

    /// Whether a string of so many bytes is read and written by pieces.
    pub fn is_long(&self, key: &[u8], len: usize) -> Outcome<bool> {
        let found = self.text(key)?;
        let is_long = found.is_some_and(|text| text.pieces.is_some());
        Ok(is_long || len > WHOLE_MAX && self.work.writes_pieces())
    }
}

impl Text {
    fn of(head: HeadRef<'_>) -> Text {
        let mut pieces = Collection::of(head).filter(|_| head.is_long());
        if let Some(pieces) = &mut pieces {
            // SQL may have said of more.
            pieces.len = pieces.len.min(STRING_MAX as u64);
        }
        Text {
            len: pieces.as_ref().map_or(head.value.len(), |pieces| pieces.len as usize),
            pieces,
            expires_at: head.expires_at,
        }
    }
}
