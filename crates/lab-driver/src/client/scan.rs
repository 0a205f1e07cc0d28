//! Reads answers as they come, in pieces of any size, and keeps of them only what is asked for.
//!
//! A row that is only counted is recognized by its first byte and skipped by its length: neither copied nor looked at. What is
//! copied is the rest of a packet that ends in the next piece, and rows that the script wants to read.

use mysql_wire::column::{ColumnDefinition, ColumnType, flag};
use mysql_wire::response::{EOF, ERR, EofPacket, OK, OkPacket};
use mysql_wire::row::{binary_values, text_values};
use mysql_wire::value::BinaryValue;
use mysql_wire::{Malformed, Reader, Status};

use crate::error::Refusal;
use crate::statement::{Protocol, RowUse};

const HEADER: usize = 4;
/// A frame of this length goes on in the next one.
const FRAME_MAX: usize = 0xff_ff_ff;
/// More than any packet that is kept has a reason to be.
const KEPT_MAX: usize = 16 << 20;

/// What a statement gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary {
    pub rows: u64,
    /// Bytes of the answer, headers included.
    pub bytes: u64,
    pub error: Option<Refusal>,
}

#[derive(Debug)]
enum State {
    Head,
    Definitions { left: u64 },
    DefinitionsEnd,
    Rows,
}

/// The rows that a script asked to keep.
#[derive(Debug, Default)]
pub struct Kept {
    columns: Vec<(ColumnType, bool)>,
    /// Payloads one behind the other, and where each ends.
    payloads: Vec<u8>,
    ends: Vec<usize>,
    binary: bool,
}

#[derive(Debug)]
pub(crate) struct AnswerScan {
    deprecate_eof: bool,
    /// A byte after the column count says whether the columns follow.
    caches_metadata: bool,
    state: State,
    use_of_rows: RowUse,
    /// The start of a packet whose end has not come.
    carry: Vec<u8>,
    /// Bytes of a row that are still to come and are not looked at.
    skip: usize,
    /// The packet before this one was as long as a frame can be.
    continued: bool,
    summary: Summary,
    pub kept: Kept,
}

impl AnswerScan {
    pub fn new(deprecate_eof: bool, caches_metadata: bool) -> AnswerScan {
        AnswerScan {
            deprecate_eof,
            caches_metadata,
            state: State::Head,
            use_of_rows: RowUse::Count,
            carry: Vec::new(),
            skip: 0,
            continued: false,
            summary: empty(),
            kept: Kept::default(),
        }
    }

    /// A statement was sent: the next bytes are its answer. `columns` are those of its preparation, if its rows are kept.
    pub fn begin(&mut self, use_of_rows: RowUse, protocol: Protocol, columns: &[(ColumnType, bool)]) {
        self.state = State::Head;
        self.use_of_rows = use_of_rows;
        self.summary = empty();
        self.kept.columns.clear();
        self.kept.columns.extend_from_slice(columns);
        self.kept.payloads.clear();
        self.kept.ends.clear();
        self.kept.binary = protocol == Protocol::Prepared;
    }

    /// Takes the next bytes from the server; gives the summary when they end the answer.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Result<Option<Summary>, Malformed> {
        self.summary.bytes += bytes.len() as u64;
        loop {
            if self.skip > 0 {
                let skipped = self.skip.min(bytes.len());
                self.skip -= skipped;
                bytes = &bytes[skipped..];
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            if self.carry.is_empty() {
                match self.take(bytes)? {
                    Taken::Packet(len) => bytes = &bytes[len.min(bytes.len())..],
                    Taken::Last(len) => return self.finished(bytes.len() == len),
                    Taken::Needs(_) => {
                        self.carry.extend_from_slice(bytes);
                        return Ok(None);
                    }
                }
                continue;
            }
            let mut carry = std::mem::take(&mut self.carry);
            let taken = loop {
                match self.take(&carry)? {
                    Taken::Needs(len) if !bytes.is_empty() => {
                        let more = (len - carry.len()).min(bytes.len());
                        carry.extend_from_slice(&bytes[..more]);
                        bytes = &bytes[more..];
                    }
                    taken => break taken,
                }
            };
            match taken {
                Taken::Needs(_) => {
                    self.carry = carry;
                    return Ok(None);
                }
                Taken::Last(_) => return self.finished(bytes.is_empty()),
                Taken::Packet(_) => {
                    carry.clear();
                    self.carry = carry;
                }
            }
        }
    }

    fn finished(&mut self, nothing_follows: bool) -> Result<Option<Summary>, Malformed> {
        if nothing_follows {
            Ok(Some(std::mem::replace(&mut self.summary, empty())))
        } else {
            Err(Malformed("bytes after the end of an answer"))
        }
    }

    /// Looks at the packet at the start of `bytes`. A counted row may reach beyond them: the rest becomes `skip`.
    #[inline]
    fn take(&mut self, bytes: &[u8]) -> Result<Taken, Malformed> {
        let Some(&[a, b, c, _]) = bytes.first_chunk::<HEADER>() else {
            return Ok(Taken::Needs(HEADER));
        };
        let len = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        let end = HEADER + len;
        if matches!(self.state, State::Rows) && self.use_of_rows == RowUse::Count {
            if !self.continued && len > 0 {
                let Some(first) = bytes.get(HEADER) else {
                    return Ok(Taken::Needs(HEADER + 1));
                };
                if *first == ERR || *first == EOF && len < FRAME_MAX && (self.deprecate_eof || len < 9) {
                    return match bytes.get(HEADER..end) {
                        Some(payload) => self.control(payload, end),
                        None => Ok(Taken::Needs(end)),
                    };
                }
                self.summary.rows += 1;
            }
            self.continued = len == FRAME_MAX;
            self.skip = end.saturating_sub(bytes.len());
            return Ok(Taken::Packet(end));
        }
        match bytes.get(HEADER..end) {
            Some(payload) => self.control(payload, end),
            None => Ok(Taken::Needs(end)),
        }
    }

    /// A packet that is read: anything but a counted row.
    fn control(&mut self, payload: &[u8], end: usize) -> Result<Taken, Malformed> {
        let first = *payload.first().ok_or(Malformed("empty packet"))?;
        if first == ERR && !matches!(self.state, State::Definitions { .. } | State::DefinitionsEnd) {
            self.summary.error = Some(Refusal::decode(payload)?);
            return Ok(Taken::Last(end));
        }
        match self.state {
            State::Head if first == OK => {
                let (ok, _) = OkPacket::decode(payload)?;
                return Ok(self.end_of_result(ok.status, end));
            }
            State::Head => {
                let mut reader = Reader::new(payload);
                let left = reader.lenenc_int("column count")?;
                if self.caches_metadata && reader.u8("columns follow")? == 0 {
                    self.state = State::Rows;
                } else {
                    self.kept.columns.clear();
                    self.state = State::Definitions { left };
                }
            }
            State::Definitions { left } => {
                if self.use_of_rows == RowUse::Keep {
                    let column = ColumnDefinition::decode(payload)?;
                    self.kept.columns.push((column.ty, column.flags & flag::UNSIGNED != 0));
                }
                self.state = match (left, self.deprecate_eof) {
                    (0 | 1, true) => State::Rows,
                    (0 | 1, false) => State::DefinitionsEnd,
                    _ => State::Definitions { left: left - 1 },
                };
            }
            State::DefinitionsEnd => self.state = State::Rows,
            State::Rows if first == EOF && payload.len() < FRAME_MAX && (self.deprecate_eof || payload.len() < 9) => {
                let status = if self.deprecate_eof {
                    OkPacket::decode(payload)?.0.status
                } else {
                    EofPacket::decode(payload)?.status
                };
                return Ok(self.end_of_result(status, end));
            }
            State::Rows => {
                if payload.len() == FRAME_MAX || self.kept.payloads.len() + payload.len() > KEPT_MAX {
                    return Err(Malformed("more rows than this statement can have"));
                }
                self.summary.rows += 1;
                self.kept.payloads.extend_from_slice(payload);
                self.kept.ends.push(self.kept.payloads.len());
            }
        }
        Ok(Taken::Packet(end))
    }

    fn end_of_result(&mut self, status: Status, end: usize) -> Taken {
        if status.contains(Status::MORE_RESULTS_EXISTS) {
            self.state = State::Head;
            Taken::Packet(end)
        } else {
            Taken::Last(end)
        }
    }
}

enum Taken {
    /// A packet of this length, header included, was dealt with.
    Packet(usize),
    /// As `Packet`, and the answer is complete.
    Last(usize),
    /// Nothing can be said before so many bytes are there.
    Needs(usize),
}

fn empty() -> Summary {
    Summary {
        rows: 0,
        bytes: 0,
        error: None,
    }
}

impl Kept {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A value as text; `None` for NULL and for what is not there.
    pub fn text(&self, row: usize, column: usize) -> Option<String> {
        let payload = self.payload(row)?;
        if !self.binary {
            let value = text_values(payload).nth(column)?.ok()??;
            return Some(String::from_utf8_lossy(value).into_owned());
        }
        let values = binary_values(payload, self.columns.iter().copied()).ok()?;
        match values.get(column)? {
            BinaryValue::Int(value) => Some(value.to_string()),
            BinaryValue::UInt(value) => Some(value.to_string()),
            BinaryValue::Float(value) => Some(value.to_string()),
            BinaryValue::Double(value) => Some(value.to_string()),
            BinaryValue::Bytes(value) => Some(String::from_utf8_lossy(value).into_owned()),
            _ => None,
        }
    }

    /// A whole number, also out of a DECIMAL without fraction.
    pub fn int(&self, row: usize, column: usize) -> Option<i64> {
        let text = self.text(row, column)?;
        text.split('.').next()?.parse().ok()
    }

    pub fn real(&self, row: usize, column: usize) -> Option<f64> {
        self.text(row, column)?.parse().ok()
    }

    fn payload(&self, row: usize) -> Option<&[u8]> {
        let end = *self.ends.get(row)?;
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        Some(&self.payloads[start..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two definitions, `rows` rows of `row_len` bytes, the end.
    fn answer(deprecate_eof: bool, rows: usize, row_len: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut packet = |payload: &[u8]| {
            bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes()[..3]);
            bytes.push(0);
            bytes.extend_from_slice(payload);
        };
        packet(&[2]);
        packet(b"definition one");
        packet(b"definition two");
        let eof: &[u8] = &[EOF, 0, 0, 2, 0];
        let ok: &[u8] = &[EOF, 0, 0, 2, 0, 0, 0];
        if !deprecate_eof {
            packet(eof);
        }
        for _ in 0..rows {
            packet(&vec![5; row_len]);
        }
        packet(if deprecate_eof { ok } else { eof });
        bytes
    }

    #[test]
    fn rows_are_counted_however_the_bytes_are_cut() {
        for deprecate_eof in [true, false] {
            let bytes = answer(deprecate_eof, 7, 30);
            for piece in 1..=bytes.len() {
                let mut scan = AnswerScan::new(deprecate_eof, false);
                scan.begin(RowUse::Count, Protocol::Text, &[]);
                let mut last = None;
                for part in bytes.chunks(piece) {
                    assert_eq!(last, None);
                    last = scan.feed(part).unwrap();
                }
                let summary = last.expect("the answer ended");
                assert_eq!((summary.rows, summary.bytes), (7, bytes.len() as u64));
            }
        }
    }

    #[test]
    fn an_error_among_the_rows_ends_the_answer() {
        let mut bytes = answer(true, 3, 30);
        bytes.truncate(bytes.len() - 11);
        bytes.extend_from_slice(b"\x0d\0\0\0\xff\xbd\x04#40001dead");
        let mut scan = AnswerScan::new(true, false);
        scan.begin(RowUse::Count, Protocol::Text, &[]);
        let summary = scan.feed(&bytes).unwrap().unwrap();
        assert_eq!(summary.rows, 3);
        assert_eq!(summary.error.unwrap().code, 1213);
    }

    #[test]
    fn kept_rows_can_be_read() {
        let mut bytes = Vec::new();
        for payload in [
            &[1][..],
            b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0",
            b"\x0212",
            b"\xfb",
            &[EOF, 0, 0, 2, 0, 0, 0],
        ] {
            bytes.extend_from_slice(&[payload.len() as u8, 0, 0, 0]);
            bytes.extend_from_slice(payload);
        }
        for piece in 1..bytes.len() {
            let mut scan = AnswerScan::new(true, false);
            scan.begin(RowUse::Keep, Protocol::Text, &[]);
            let last = bytes.chunks(piece).map(|part| scan.feed(part).unwrap()).last();
            assert_eq!(last.flatten().unwrap().rows, 2);
            assert_eq!((scan.kept.int(0, 0), scan.kept.int(1, 0)), (Some(12), None));
        }
    }

    #[test]
    fn rows_without_columns_have_those_of_the_preparation() {
        let mut bytes = Vec::new();
        for payload in [&[1, 0][..], &[0, 0, 42, 0, 0, 0], &[EOF, 0, 0, 2, 0, 0, 0]] {
            bytes.extend_from_slice(&[payload.len() as u8, 0, 0, 0]);
            bytes.extend_from_slice(payload);
        }
        let mut scan = AnswerScan::new(true, true);
        scan.begin(RowUse::Keep, Protocol::Prepared, &[(ColumnType::Long, false)]);
        assert_eq!(scan.feed(&bytes).unwrap().unwrap().rows, 1);
        assert_eq!(scan.kept.int(0, 0), Some(42));
    }

    #[test]
    fn whatever_comes_is_an_answer_or_an_error() {
        let mut random = crate::workload::Random::new(11, 11);
        for round in 0..20_000_u64 {
            let mut bytes = answer(round % 2 == 0, 3, 30);
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next_u64() as u8;
            }
            bytes.truncate(random.below(bytes.len() as u64) as usize + 1);
            let mut scan = AnswerScan::new(round % 4 < 2, round % 8 < 4);
            let rows = if round % 3 == 0 { RowUse::Keep } else { RowUse::Count };
            scan.begin(rows, Protocol::Prepared, &[]);
            for part in bytes.chunks(random.below(40) as usize + 1) {
                if !matches!(scan.feed(part), Ok(None)) {
                    break;
                }
            }
            let _ = (scan.kept.text(0, 0), scan.kept.int(2, 1));
        }
    }

    #[test]
    fn more_than_an_answer_is_malformed() {
        let mut bytes = answer(true, 1, 30);
        bytes.push(0);
        let mut scan = AnswerScan::new(true, false);
        scan.begin(RowUse::Count, Protocol::Text, &[]);
        assert!(scan.feed(&bytes).is_err());
    }
}
