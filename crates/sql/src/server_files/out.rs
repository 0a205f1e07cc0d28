//! SELECT … INTO OUTFILE and DUMPFILE: the rows of a query become a file.
//!
//! ```text
//!   row ── fields, enclosed and escaped ──▶ buffer ── a piece at a time ──▶ file
//! ```
//!
//! What LOAD DATA reads under the same clauses are the same rows. A file that is not whole in the end is removed.

use std::path::PathBuf;
use std::sync::Arc;

use env::{Directory, NewFile};
use types::{CharsetId, ErrorKind, RowLayout, SqlResult, SqlType, TypeKind, Value, ValueRef};

use super::{PIECE, STATE, file_error, open_error};
use crate::aside::aside;
use crate::host::Host;
use crate::plan::files::{FileForm, FileTarget, TextForm, means_more_escaped};
use crate::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};

/// A file that is being made.
pub(crate) struct FileSink<'a> {
    target: &'a FileTarget,
    file: Arc<NewFile>,
    shape: Arc<ResultShape>,
    /// See [`TextForm::is_ambiguous`].
    pub is_ambiguous: bool,
    buffer: Vec<u8>,
    /// Where the buffer's bytes go.
    offset: u64,
    rows: u64,
}

impl<'a> FileSink<'a> {
    pub fn create(target: &'a FileTarget, directory: &Arc<Directory>, host: &dyn Host) -> SqlResult<FileSink<'a>> {
        let (directory, path) = (directory.clone(), PathBuf::from(&target.path));
        let file = aside(STATE, host, move || directory.create(&path))?;
        let file = file.map_err(|error| open_error(&error, &target.path, ErrorKind::CantCreateServerFile))?;
        Ok(FileSink {
            target,
            file: Arc::new(file),
            shape: Arc::default(),
            is_ambiguous: false,
            buffer: Vec::new(),
            offset: 0,
            rows: 0,
        })
    }

    /// Writes what is left. Returns how many rows there are.
    pub fn finish(&mut self, host: &dyn Host) -> SqlResult<u64> {
        self.flush(host)?;
        Ok(self.rows)
    }

    pub fn discard(self) {
        // A statement that has failed, or was told to end, does not wait for the disk.
        let file = self.file;
        let name = "server-files".to_owned();
        let _ = std::thread::Builder::new().name(name).spawn(move || file.remove());
    }

    fn begin_row(&mut self) -> SqlResult<()> {
        if matches!(self.target.form, FileForm::Dump) && self.rows > 0 {
            return Err(ErrorKind::TooManyRows.into());
        }
        self.rows += 1;
        Ok(())
    }

    fn add_row<'v>(&mut self, value: impl Fn(usize) -> ValueRef<'v>) -> SqlResult<()> {
        self.begin_row()?;
        let columns = &self.shape.columns;
        match &self.target.form {
            FileForm::Dump => {
                for (at, column) in columns.iter().enumerate() {
                    match value(at) {
                        ValueRef::Null => self.buffer.push(0),
                        value => append_bytes(value, &column.ty, None, &mut self.buffer),
                    }
                }
            }
            FileForm::Text(form) => {
                let writer = Writer::new(form, self.is_ambiguous);
                self.buffer.extend_from_slice(&form.format.lines_starting);
                for (at, column) in columns.iter().enumerate() {
                    if at > 0 {
                        self.buffer.extend_from_slice(&form.format.fields_terminated);
                    }
                    writer.field(value(at), &column.ty, &mut self.buffer);
                }
                self.buffer.extend_from_slice(&form.format.lines_terminated);
            }
        }
        Ok(())
    }
}

impl ResultSink for FileSink<'_> {
    fn columns(&mut self, shape: &Arc<ResultShape>, _status: ServerStatus) -> SqlResult<()> {
        self.shape = shape.clone();
        if let FileForm::Text(form) = &self.target.form {
            let has = |wanted: bool| shape.columns.iter().any(|column| is_string(&column.ty) == wanted);
            self.is_ambiguous = form.is_ambiguous(has(true), has(false));
        }
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> SqlResult<()> {
        self.add_row(|at| values[at].as_ref())
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> SqlResult<()> {
        self.add_row(|at| layout.column(row, projection[at]))
    }

    fn is_full(&self) -> bool {
        self.buffer.len() >= PIECE
    }

    fn flush(&mut self, host: &dyn Host) -> SqlResult<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let (file, offset) = (self.file.clone(), self.offset);
        let bytes = std::mem::take(&mut self.buffer);
        let (mut bytes, written) = aside(STATE, host, move || {
            let written = file.write_at(offset, &bytes);
            (bytes, written)
        })?;
        written.map_err(|error| file_error(ErrorKind::FileWrite, &self.target.path, &error))?;
        self.offset += bytes.len() as u64;
        bytes.clear();
        self.buffer = bytes;
        Ok(())
    }

    fn end(&mut self, _end: ResultEnd) -> SqlResult<()> {
        Ok(())
    }

    fn ok(&mut self, _done: Done) -> SqlResult<()> {
        Ok(())
    }
}

/// Appends a value's text in a character set, or in its own.
fn append_bytes(value: ValueRef<'_>, ty: &SqlType, charset: Option<CharsetId>, out: &mut Vec<u8>) {
    let mut text = |text: &str, own: CharsetId| {
        let charset = charset.filter(|_| own != CharsetId::BINARY).unwrap_or(own);
        governor::bulk::append(out, &charset.encode(text));
    };
    match value {
        ValueRef::Str(value) => text(value, ty.charset()),
        ValueRef::Enum(value) => text(value.as_str(), ty.charset()),
        ValueRef::Set(_) => text(&value.text(), ty.charset()),
        ValueRef::Json(_) => text(&value.text(), CharsetId::UTF8MB4),
        value => value.write_typed_text(ty, out),
    }
}

/// Whether a value is a string to those who enclose and escape strings alone.
fn is_string(ty: &SqlType) -> bool {
    ty.kind == TypeKind::Bit || !(ty.kind.is_numeric() || ty.kind == TypeKind::Year)
}

/// How fields are written.
struct Writer<'a> {
    form: &'a TextForm,
    /// First bytes of what separates fields and lines.
    field: Option<u8>,
    line: Option<u8>,
    is_ambiguous: bool,
}

impl<'a> Writer<'a> {
    fn new(form: &'a TextForm, is_ambiguous: bool) -> Writer<'a> {
        Writer {
            form,
            is_ambiguous,
            field: form.format.fields_terminated.first().copied(),
            line: form.format.lines_terminated.first().copied(),
        }
    }

    fn field(&self, value: ValueRef<'_>, ty: &SqlType, out: &mut Vec<u8>) {
        let format = &self.form.format;
        if value == ValueRef::Null {
            match format.escaped {
                Some(escape) => out.extend_from_slice(&[escape, b'N']),
                None => out.extend_from_slice(b"NULL"),
            }
            return;
        }
        let enclosed = format.enclosed.filter(|_| !self.form.optionally || is_string(ty));
        out.extend(enclosed);
        let escape = format.escaped;
        let escape = escape.filter(|_| is_string(ty) || self.form.separates_numbers());
        let is_text = matches!(
            value,
            ValueRef::Str(_) | ValueRef::Enum(_) | ValueRef::Set(_) | ValueRef::Json(_)
        );
        let own = match value {
            ValueRef::Json(_) => CharsetId::UTF8MB4,
            _ => ty.charset(),
        };
        let charset = self.form.charset.filter(|_| own != CharsetId::BINARY).unwrap_or(own);
        match escape {
            // A byte of a longer character is no separator: characters are looked at before they become bytes.
            Some(escape) if is_text && charset.max_bytes_per_char() > 1 => {
                let mut text = Vec::new();
                self.escaped(value.text().as_bytes(), escape, enclosed, 0x7f, &mut text);
                governor::bulk::append(out, &charset.encode(&String::from_utf8_lossy(&text)));
            }
            Some(escape) => {
                let mut bytes = Vec::new();
                append_bytes(value, ty, self.form.charset, &mut bytes);
                self.escaped(&bytes, escape, enclosed, 0xff, out);
            }
            None => append_bytes(value, ty, self.form.charset, out),
        }
        out.extend(enclosed);
    }

    /// Bytes greater than `most` are never escaped.
    fn escaped(&self, bytes: &[u8], escape: u8, enclosed: Option<u8>, most: u8, out: &mut Vec<u8>) {
        let ends = enclosed.map_or(self.field, Some);
        let is_doubled = ends.is_some_and(means_more_escaped);
        for &byte in bytes {
            governor::pause();
            let is_end = Some(byte) == ends;
            let is_special = byte == escape || is_end || Some(byte) == self.line || byte == 0;
            let stays = is_end && self.is_ambiguous && enclosed.is_none();
            if !is_special || byte > most || stays {
                out.push(byte);
                continue;
            }
            out.push(if is_end && is_doubled { byte } else { escape });
            out.push(if byte == 0 { b'0' } else { byte });
        }
    }
}
