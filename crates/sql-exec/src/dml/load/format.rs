//! Lines and fields of a text file, cut as it comes.
//!
//! The format is that of LOAD DATA's FIELDS and LINES clauses (MySQL 8.0 Reference Manual, 15.2.9). Pieces of any size go in;
//! whole records come out. A record that is not whole yet is looked at again only once what has come has doubled, so that a
//! long one costs no more per byte than short ones. Every byte is a tick; a statement that has to end finds no record any more.

use governor::bulk;
use sql_plan::load::FileFormat;
use types::{ErrorKind, SqlResult};

/// A field's bytes, unescaped; `None` is NULL.
pub type Field = Option<Vec<u8>>;

/// The records of one file.
pub struct Records<'a> {
    format: &'a FileFormat,
    lines_to_skip: u64,
    pending: Vec<u8>,
    /// Below this many bytes there was no whole record.
    enough: usize,
    record_bytes_max: usize,
}

impl<'a> Records<'a> {
    /// `record_bytes_max`: the longest record that is waited for; a longer one is error 1153.
    pub fn new(format: &'a FileFormat, lines_to_skip: u64, record_bytes_max: usize) -> Records<'a> {
        Records {
            format,
            lines_to_skip,
            pending: Vec::new(),
            enough: 1,
            record_bytes_max,
        }
    }

    /// Takes the next piece of the file and gives the records that are whole now to `take`.
    pub fn push(&mut self, piece: &[u8], take: &mut dyn FnMut(Vec<Field>) -> SqlResult<()>) -> SqlResult<()> {
        bulk::append(&mut self.pending, piece);
        if self.pending.len() < self.enough {
            return Ok(());
        }
        self.cut(false, take)
    }

    /// The end of the file: what is left is the last record, though no terminator follows.
    pub fn finish(mut self, take: &mut dyn FnMut(Vec<Field>) -> SqlResult<()>) -> SqlResult<()> {
        self.cut(true, take)
    }

    fn cut(&mut self, is_end: bool, take: &mut dyn FnMut(Vec<Field>) -> SqlResult<()>) -> SqlResult<()> {
        let pending = std::mem::take(&mut self.pending);
        let mut start = 0;
        while start < pending.len() {
            governor::tick()?;
            let rest = &pending[start..];
            if self.lines_to_skip > 0 {
                match find(rest, &self.format.lines_terminated) {
                    Some(at) => start += at + self.format.lines_terminated.len(),
                    None if is_end => return Ok(()),
                    None => break,
                }
                self.lines_to_skip -= 1;
                continue;
            }
            let cursor = Cursor {
                format: self.format,
                data: rest,
                at: 0,
                is_end,
            };
            match cursor.record() {
                Cut::Record { fields, length } => {
                    start += length;
                    take(fields)?;
                }
                Cut::Nothing => start = pending.len(),
                Cut::Incomplete => break,
            }
        }
        governor::check()?;
        self.pending = bulk::copy(&pending[start..]);
        if self.pending.len() > self.record_bytes_max {
            return Err(ErrorKind::NetPacketTooLarge.into());
        }
        self.enough = (self.pending.len() * 2).min(self.record_bytes_max + 1);
        Ok(())
    }
}

enum Cut {
    Record {
        fields: Vec<Field>,
        length: usize,
    },
    /// The rest of the file has no record.
    Nothing,
    /// More has to come.
    Incomplete,
}

/// Where a field ended.
enum Stop {
    Field,
    Line,
    Incomplete,
}

struct Cursor<'a> {
    format: &'a FileFormat,
    data: &'a [u8],
    at: usize,
    is_end: bool,
}

impl Cursor<'_> {
    fn record(mut self) -> Cut {
        if !self.format.lines_starting.is_empty() {
            match find(self.data, &self.format.lines_starting) {
                Some(at) => self.at = at + self.format.lines_starting.len(),
                None if self.is_end => return Cut::Nothing,
                None => return Cut::Incomplete,
            }
        }
        let mut fields = Vec::new();
        loop {
            let (field, stop) = self.field();
            match stop {
                Stop::Field => fields.push(field),
                Stop::Line => {
                    fields.push(field);
                    return Cut::Record {
                        fields,
                        length: self.at,
                    };
                }
                Stop::Incomplete => return Cut::Incomplete,
            }
        }
    }

    fn field(&mut self) -> (Field, Stop) {
        let start = self.at;
        let mut value = Vec::new();
        let quote = self
            .format
            .enclosed
            .filter(|quote| self.data.get(self.at) == Some(quote));
        if let Some(quote) = quote {
            self.at += 1;
            return match self.enclosed(quote, &mut value) {
                Some(stop) => (Some(value), stop),
                // The quote is not closed: it was one of the field's own characters.
                None => {
                    self.at = start;
                    value.clear();
                    let stop = self.plain(&mut value);
                    (Some(value), stop)
                }
            };
        }
        let stop = self.plain(&mut value);
        let terminator = match stop {
            Stop::Field => self.format.fields_terminated.len(),
            Stop::Line if self.data[..self.at].ends_with(&self.format.lines_terminated) => {
                self.format.lines_terminated.len()
            }
            _ => 0,
        };
        let written = &self.data[start..(self.at - terminator).max(start)];
        let is_null = match self.format.escaped {
            Some(escape) if written == [escape, b'N'] => true,
            escape => written == b"NULL" && (self.format.enclosed.is_some() || escape.is_none()),
        };
        ((!is_null).then_some(value), stop)
    }

    /// Reads behind an opening quote; `None` where the file ends before it is closed.
    fn enclosed(&mut self, quote: u8, value: &mut Vec<u8>) -> Option<Stop> {
        loop {
            let Some(&byte) = self.data.get(self.at) else {
                return if self.is_end { None } else { Some(Stop::Incomplete) };
            };
            if !governor::go_on() {
                return Some(Stop::Incomplete);
            }
            if self.format.escaped == Some(byte) && byte != quote {
                match self.escape(value) {
                    Some(()) => continue,
                    None => return Some(Stop::Incomplete),
                }
            }
            self.at += 1;
            if byte != quote {
                value.push(byte);
                continue;
            }
            if self.data.get(self.at) == Some(&quote) {
                value.push(quote);
                self.at += 1;
                continue;
            }
            match self.terminator() {
                Some(stop) => return Some(stop),
                // In the middle of the field: no end.
                None => value.push(quote),
            }
        }
    }

    fn plain(&mut self, value: &mut Vec<u8>) -> Stop {
        loop {
            if let Some(stop) = self.terminator() {
                return stop;
            }
            if !governor::go_on() {
                return Stop::Incomplete;
            }
            let byte = self.data[self.at];
            if self.format.escaped == Some(byte) {
                if self.escape(value).is_none() {
                    return Stop::Incomplete;
                }
                continue;
            }
            value.push(byte);
            self.at += 1;
        }
    }

    /// The end of the field, if it is here.
    fn terminator(&mut self) -> Option<Stop> {
        let rest = &self.data[self.at..];
        let FileFormat {
            fields_terminated,
            lines_terminated,
            ..
        } = self.format;
        let longest = fields_terminated.len().max(lines_terminated.len());
        if rest.len() < longest && !self.is_end {
            return Some(Stop::Incomplete);
        }
        if !lines_terminated.is_empty() && rest.starts_with(lines_terminated) {
            self.at += lines_terminated.len();
            return Some(Stop::Line);
        }
        if rest.is_empty() {
            return Some(Stop::Line);
        }
        if !fields_terminated.is_empty() && rest.starts_with(fields_terminated) {
            self.at += fields_terminated.len();
            return Some(Stop::Field);
        }
        None
    }

    /// An escape and the byte behind it; `None` where that has not come yet.
    fn escape(&mut self, value: &mut Vec<u8>) -> Option<()> {
        let Some(&byte) = self.data.get(self.at + 1) else {
            if !self.is_end {
                return None;
            }
            value.push(self.data[self.at]);
            self.at += 1;
            return Some(());
        };
        value.push(match byte {
            b'0' => 0,
            b'b' => 8,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'Z' => 26,
            other => other,
        });
        self.at += 2;
        Some(())
    }
}

fn find(data: &[u8], wanted: &[u8]) -> Option<usize> {
    let mut windows = data.windows(wanted.len().max(1));
    let found = windows.position(|window| window == wanted || !governor::go_on())?;
    (data[found..].starts_with(wanted)).then_some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tabs() -> FileFormat {
        FileFormat {
            fields_terminated: b"\t".to_vec(),
            enclosed: None,
            escaped: Some(b'\\'),
            lines_starting: Vec::new(),
            lines_terminated: b"\n".to_vec(),
        }
    }

    fn csv() -> FileFormat {
        FileFormat {
            fields_terminated: b",".to_vec(),
            enclosed: Some(b'"'),
            lines_terminated: b"\r\n".to_vec(),
            ..tabs()
        }
    }

    /// The records of a file that comes in pieces of `piece` bytes, as text: `~` is NULL.
    fn read(format: &FileFormat, skip: u64, file: &[u8], piece: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut take = |fields: Vec<Field>| {
            let fields: Vec<_> = fields
                .iter()
                .map(|field| {
                    field
                        .as_ref()
                        .map_or("~".into(), |field| String::from_utf8_lossy(field).into_owned())
                })
                .collect();
            lines.push(fields.join("|"));
            Ok(())
        };
        let mut records = Records::new(format, skip, 1 << 20);
        for piece in file.chunks(piece) {
            records.push(piece, &mut take).unwrap();
        }
        records.finish(&mut take).unwrap();
        lines
    }

    #[test]
    fn tabs_and_lines_with_escapes() {
        let file = b"1\tone\n2\t\\N\n3\ta\\tb\\\\c\\\nd\n\n4\tlast";
        for piece in [1, 2, 3, 100] {
            assert_eq!(
                read(&tabs(), 0, file, piece),
                ["1|one", "2|~", "3|a\tb\\c\nd", "", "4|last"]
            );
        }
        assert_eq!(read(&tabs(), 2, file, 5)[0], "3|a\tb\\c\nd");
        assert_eq!(read(&tabs(), 9, file, 5).len(), 0);
    }

    #[test]
    fn quotes_hold_terminators_and_double_quotes() {
        let file = b"1,\"a,b\"\r\n2,\"say \"\"hi\"\"\"\r\n\"3\",NULL\r\n4,\"NULL\"\r\n5,\"x\"y\",\r\n6,\"open";
        for piece in [1, 4, 100] {
            assert_eq!(
                read(&csv(), 0, file, piece),
                ["1|a,b", "2|say \"hi\"", "3|~", "4|NULL", "5|x\"y|", "6|\"open"]
            );
        }
    }

    #[test]
    fn lines_may_have_to_start_with_something() {
        let format = FileFormat {
            lines_starting: b"xxx".to_vec(),
            fields_terminated: b",".to_vec(),
            ..tabs()
        };
        let file = b"xxx\"abc\",1\nsomething xxx\"def\",2\n\"ghi\",3\n";
        assert_eq!(read(&format, 0, file, 7), ["\"abc\"|1", "\"def\"|2"]);
    }

    #[test]
    fn without_escapes_the_word_null_is_null() {
        let format = FileFormat {
            escaped: None,
            ..tabs()
        };
        assert_eq!(read(&format, 0, b"NULL\t\\N\n", 3), ["~|\\N"]);
    }

    #[test]
    fn a_long_record_gives_way_and_ends_when_it_has_to() {
        let starting = FileFormat {
            lines_starting: b"no such".to_vec(),
            ..tabs()
        };
        let quoted = [b"\"", &[b'x'; 20_000][..]].concat();
        for (format, skip, file) in [
            (tabs(), 0, &quoted),
            (csv(), 0, &quoted),
            (tabs(), 1, &quoted),
            (starting, 0, &quoted),
        ] {
            let read = || {
                let mut records = Records::new(&format, skip, 1 << 20);
                records.push(file, &mut |_| Ok(()))?;
                records.finish(&mut |_| Ok(()))
            };
            let probed = governor::probe::count(read);
            assert!(probed.result.is_ok() && probed.ticks > 19_000, "{probed:?}");
            let killed = governor::probe::kill_at(10_000, read);
            assert!(killed.result.is_err() && killed.ticks < 30_000, "{killed:?}");
        }
    }

    #[test]
    fn a_record_without_end_is_refused() {
        let format = tabs();
        let mut records = Records::new(&format, 0, 100);
        let error = (0..100).find_map(|_| records.push(&[b'x'; 10], &mut |_| Ok(())).err());
        assert_eq!(error.unwrap().code(), 1153);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(rows in prop::collection::vec(prop::collection::vec(prop::option::of(".{0,8}"), 1..4), 1..6), piece in 1..20_usize) {
            let mut file = Vec::new();
            for row in &rows {
                for (at, field) in row.iter().enumerate() {
                    if at > 0 {
                        file.push(b'\t');
                    }
                    match field {
                        None => file.extend_from_slice(b"\\N"),
                        Some(text) => for byte in text.bytes() {
                            if matches!(byte, b'\t' | b'\n' | b'\\') {
                                file.push(b'\\');
                            }
                            file.push(byte);
                        },
                    }
                }
                file.push(b'\n');
            }
            let format = tabs();
            let mut read = Vec::new();
            let mut take = |fields: Vec<Field>| {
                read.push(fields);
                Ok(())
            };
            let mut records = Records::new(&format, 0, 1 << 20);
            for piece in file.chunks(piece) {
                records.push(piece, &mut take).unwrap();
            }
            records.finish(&mut take).unwrap();
            let written: Vec<Vec<Field>> =
                rows.iter().map(|row| row.iter().map(|field| field.as_ref().map(|text| text.clone().into_bytes())).collect()).collect();
            prop_assert_eq!(read, written);
        }

        #[test]
        fn no_bytes_panic(file in prop::collection::vec(prop::sample::select(b"\\N\",\t\r\nxNUL".to_vec()), 0..60), piece in 1..10_usize) {
            let whole = read(&csv(), 0, &file, 1000);
            prop_assert_eq!(read(&csv(), 0, &file, piece), whole);
        }
    }
}
