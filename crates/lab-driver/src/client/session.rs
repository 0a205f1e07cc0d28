//! A connection under load: non-blocking, all statements prepared, one write per command and one read per answer.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use mysql_wire::Capabilities;
use mysql_wire::column::{ColumnDefinition, ColumnType, flag};
use mysql_wire::command::Command;
use mysql_wire::response::ERR;
use mysql_wire::statement::Prepared;

use super::link::Link;
use super::scan::{AnswerScan, Kept, Summary};
use crate::error::{DriverError, LinkError};
use crate::statement::{Arguments, Catalog, Handle, Protocol, RowUse};
use crate::target::Target;

/// A statement that the prepared protocol does not take: it goes as text, as in sysbench.
const UNSUPPORTED_IN_PREPARED: u16 = 1295;

pub(crate) struct Session {
    stream: TcpStream,
    handles: Vec<Handle>,
    /// Of each statement whose rows are kept, the columns that it was prepared with.
    columns: Vec<Vec<(ColumnType, bool)>>,
    scan: AnswerScan,
    out: Vec<u8>,
    /// Bytes of `out` that the socket took.
    written: usize,
    /// Bytes of the command in flight.
    pub command_bytes: u64,
}

/// Whether a command left as a whole, or waits for the socket to take more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Whole,
    Partly,
}

/// Bounds on the time that opening may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenLimits {
    pub connect: Duration,
    pub answer: Option<Duration>,
}

impl Session {
    /// Connects, logs in and prepares every statement, waiting for each answer.
    pub fn open(
        target: &Target,
        server: &str,
        turn: usize,
        catalog: &Catalog,
        limits: OpenLimits,
    ) -> Result<Session, DriverError> {
        let mut link = Link::open_within(
            target,
            server,
            turn,
            Some(&target.database),
            limits.connect,
            limits.answer,
        )?;
        let mut handles = Vec::with_capacity(catalog.statements.len());
        let mut columns = Vec::with_capacity(catalog.statements.len());
        for statement in &catalog.statements {
            let (handle, described) = match statement.protocol {
                Protocol::Text => (Handle::text(&statement.sql), Vec::new()),
                Protocol::Prepared => {
                    prepare(&mut link, &statement.sql).map_err(|error| error.at(server, &statement.sql))?
                }
            };
            handles.push(handle);
            columns.push(match statement.rows {
                RowUse::Keep => described,
                RowUse::Count => Vec::new(),
            });
        }
        let deprecate_eof = link.capabilities.contains(Capabilities::DEPRECATE_EOF);
        link.stream.set_nonblocking(true).map_err(DriverError::System)?;
        Ok(Session {
            stream: link.stream,
            handles,
            columns,
            scan: AnswerScan::new(deprecate_eof, link.caches_metadata),
            out: Vec::with_capacity(1024),
            written: 0,
            command_bytes: 0,
        })
    }

    /// Sends the statement; its answer comes through [`Session::receive`].
    #[inline]
    pub fn send(&mut self, statement: usize, arguments: &Arguments, rows: RowUse) -> io::Result<Sent> {
        let handle = &mut self.handles[statement];
        let protocol = match handle {
            Handle::Text { .. } => Protocol::Text,
            Handle::Prepared { .. } => Protocol::Prepared,
        };
        handle.encode(arguments, &mut self.out);
        self.scan.begin(rows, protocol, &self.columns[statement]);
        self.start()
    }

    /// Sends a statement that is not in the catalog.
    pub fn send_text(&mut self, sql: &str) -> io::Result<Sent> {
        Handle::text(sql).encode(&Arguments::default(), &mut self.out);
        self.scan.begin(RowUse::Count, Protocol::Text, &[]);
        self.start()
    }

    #[inline]
    fn start(&mut self) -> io::Result<Sent> {
        self.written = 0;
        self.command_bytes = self.out.len() as u64;
        self.send_rest()
    }

    /// Goes on with a command that the socket took partly.
    pub fn send_rest(&mut self) -> io::Result<Sent> {
        while self.written < self.out.len() {
            match self.stream.write(&self.out[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.written += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Partly),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Sent::Whole)
    }

    /// Takes what the socket has, through `buffer`; gives the summary once the answer is complete.
    #[inline]
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Summary>, LinkError> {
        loop {
            let read = match self.stream.read(buffer) {
                Ok(0) => return Err(LinkError::Closed),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if let Some(summary) = self.scan.feed(&buffer[..read])? {
                return Ok(Some(summary));
            }
            // Less than the buffer holds: the socket is empty, and asking it again would only cost a system call.
            if read < buffer.len() {
                return Ok(None);
            }
        }
    }

    /// The rows of the last answer, if they were to be kept.
    pub fn kept(&self) -> &Kept {
        &self.scan.kept
    }

    /// Says goodbye, so that the server does not count an aborted client.
    pub fn quit(mut self) {
        // Whether the server hears it makes no difference to anyone.
        let _ = self.stream.write(&[1, 0, 0, 0, mysql_wire::command::code::QUIT]);
    }
}

impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The statement's handle and its columns.
fn prepare(link: &mut Link, sql: &str) -> Result<(Handle, Vec<(ColumnType, bool)>), LinkError> {
    link.command(&Command::StmtPrepare(sql.as_bytes()))?;
    let packet = link.receive()?;
    if packet.first() == Some(&ERR) {
        return match LinkError::refused(&packet) {
            LinkError::Refused(refusal) if refusal.code == UNSUPPORTED_IN_PREPARED => {
                Ok((Handle::text(sql), Vec::new()))
            }
            refused => Err(refused),
        };
    }
    let prepared = Prepared::decode(&packet)?;
    let eof = !link.capabilities.contains(Capabilities::DEPRECATE_EOF);
    let skipped = usize::from(prepared.parameters) + usize::from(eof && prepared.parameters > 0);
    for _ in 0..skipped {
        link.receive()?;
    }
    let mut columns = Vec::with_capacity(prepared.columns.into());
    for _ in 0..prepared.columns {
        let packet = link.receive()?;
        let column = ColumnDefinition::decode(&packet)?;
        columns.push((column.ty, column.flags & flag::UNSIGNED != 0));
    }
    if eof && prepared.columns > 0 {
        link.receive()?;
    }
    let handle = Handle::Prepared {
        id: prepared.statement_id,
        parameters: prepared.parameters.into(),
        bound: false,
    };
    Ok((handle, columns))
}
