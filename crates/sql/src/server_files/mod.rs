//! Files of the server that statements read and make: LOAD DATA without LOCAL, LOAD_FILE, SELECT … INTO OUTFILE and DUMPFILE.
//!
//! All of them lie in the directory `secure_file_priv` (`env::Directory`); without one they are refused. Whoever uses them needs FILE. The
//! disk is waited for on threads of their own ([`aside`]), a piece at a time.

mod out;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::{Directory, OpenError};
use types::{ErrorKind, RowLayout, SqlError, SqlResult, Value};

use crate::aside::aside;
use crate::host::Host;
use crate::plan::files::no_server_files;
use crate::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};

pub(crate) use out::FileSink;

/// What is read or written at once: so much that a thread for each piece is nothing beside it.
const PIECE: usize = 2 << 20;
const STATE: &str = "Waiting for a file";

/// MySQL's error for a file that was not opened.
fn open_error(error: &OpenError, path: &str, failed: ErrorKind) -> SqlError {
    match error {
        OpenError::Outside => no_server_files(),
        OpenError::NotAFile => SqlError::new(ErrorKind::TextFileNotReadable, &[&path]),
        OpenError::Exists => SqlError::new(ErrorKind::FileExists, &[&path]),
        OpenError::Io(error) => file_error(failed, path, error),
    }
}

/// An error of the operating system, told as MySQL does.
fn file_error(kind: ErrorKind, path: &str, error: &io::Error) -> SqlError {
    let number = error.raw_os_error().unwrap_or(0);
    let text = error.to_string();
    let text = text.rsplit_once(" (os error").map_or(text.as_str(), |(text, _)| text);
    SqlError::new(kind, &[&path, &number, &text])
}

/// The whole of a file for LOAD_FILE. `None`: there is none that may be read.
pub(crate) fn load_file(
    directory: &Arc<Directory>,
    path: &str,
    most: u64,
    host: &dyn Host,
) -> SqlResult<Option<Vec<u8>>> {
    let (directory, name) = (directory.clone(), PathBuf::from(path));
    let file = match aside(STATE, host, move || directory.read(&name))? {
        Ok(file) => Arc::new(file),
        Err(error @ OpenError::NotAFile) => return Err(open_error(&error, path, ErrorKind::FileStat)),
        Err(OpenError::Outside | OpenError::Exists | OpenError::Io(_)) => return Ok(None),
    };
    if file.bytes > most {
        return Err(SqlError::new(
            ErrorKind::AllowedPacketOverflowed,
            &[&"load_file", &most],
        ));
    }
    let mut whole = Vec::new();
    loop {
        governor::tick()?;
        let piece = read_piece(&file, whole.len() as u64, path, host)?;
        // It may have grown meanwhile.
        if piece.is_empty() || whole.len() as u64 + piece.len() as u64 > most {
            return Ok(Some(whole));
        }
        whole.extend_from_slice(&piece);
    }
}

fn read_piece(file: &Arc<env::OldFile>, offset: u64, path: &str, host: &dyn Host) -> SqlResult<Vec<u8>> {
    let file = file.clone();
    let mut piece = vec![0; PIECE];
    let (piece, read) = aside(STATE, host, move || {
        let read = file.read_at(offset, &mut piece);
        (piece, read)
    })?;
    read.map_err(|error| file_error(ErrorKind::FileRead, path, &error))?;
    Ok(piece)
}

/// Stands between LOAD DATA and its client: the file is the server's.
pub(crate) struct FileSource<'a> {
    pub directory: &'a Arc<Directory>,
}

impl ResultSink for FileSource<'_> {
    fn receive_file(
        &mut self,
        path: &str,
        host: &dyn Host,
        take: &mut dyn FnMut(&[u8]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let (directory, name) = (self.directory.clone(), Path::new(path).to_owned());
        let file = aside(STATE, host, move || directory.read(&name))?;
        let file = Arc::new(file.map_err(|error| open_error(&error, path, ErrorKind::FileStat))?);
        let mut offset = 0;
        loop {
            governor::tick()?;
            let piece = read_piece(&file, offset, path, host)?;
            if piece.is_empty() {
                return Ok(());
            }
            offset += piece.len() as u64;
            take(&piece)?;
        }
    }

    fn columns(&mut self, _shape: &Arc<ResultShape>, _status: ServerStatus) -> SqlResult<()> {
        Err(SqlError::internal("LOAD DATA has no rows to send"))
    }

    fn row(&mut self, _values: &[Value]) -> SqlResult<()> {
        Err(SqlError::internal("LOAD DATA has no rows to send"))
    }

    fn stored_row(&mut self, _layout: &RowLayout, _row: &[u8], _projection: &[usize]) -> SqlResult<()> {
        Err(SqlError::internal("LOAD DATA has no rows to send"))
    }

    fn end(&mut self, _end: ResultEnd) -> SqlResult<()> {
        Ok(())
    }

    fn ok(&mut self, _done: Done) -> SqlResult<()> {
        Ok(())
    }
}
