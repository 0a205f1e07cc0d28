//! A connection under load: non-blocking, all statements prepared, one write per command and one read per answer.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};

use mysql_wire::Capabilities;
use mysql_wire::column::{ColumnDefinition, ColumnType, flag};
use mysql_wire::command::Command;
use mysql_wire::response::ERR;
use mysql_wire::statement::Prepared;

use super::link::{Link, OpenLimits};
use super::scan::{AnswerScan, Kept, Summary};
use super::tls::{Dialer, Sealed};
use crate::error::{DriverError, LinkError};
use crate::statement::{Arguments, Catalog, Handle, Protocol, RowUse};

/// A statement that the prepared protocol does not take: it goes as text, as in sysbench.
const UNSUPPORTED_IN_PREPARED: u16 = 1295;

pub(crate) struct Session {
    stream: TcpStream,
    tls: Option<Box<Sealed>>,
    handles: Vec<Handle>,
    /// Of each statement whose rows are kept, the columns that it was prepared with.
    columns: Vec<Vec<(ColumnType, bool)>>,
    scan: AnswerScan,
    /// What is being sent.
    out: Vec<u8>,
    /// The command that `out` is the sealed form of.
    plain: Vec<u8>,
    /// Bytes of `out` that the socket took.
    written: usize,
    /// Bytes of the command in flight, as the protocol has it: without what TLS adds.
    pub command_bytes: u64,
}

/// Whether a command left as a whole, or waits for the socket to take more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    Whole,
    Partly,
}

impl Session {
    /// Connects, logs in and prepares every statement, waiting for each answer.
    pub fn open(
        dialer: &Dialer,
        server: &str,
        turn: usize,
        catalog: &Catalog,
        limits: OpenLimits,
    ) -> Result<Session, DriverError> {
        let mut link = Link::open(dialer, server, turn, Some(&dialer.target.database), limits)?;
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
        link.wire.stream.set_nonblocking(true).map_err(DriverError::System)?;
        Ok(Session {
            stream: link.wire.stream,
            tls: link.tls,
            handles,
            columns,
            scan: AnswerScan::new(deprecate_eof, link.caches_metadata),
            out: Vec::with_capacity(1024),
            plain: Vec::new(),
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

    /// Asks whether the server is there; its answer comes through [`Session::receive`].
    pub fn ping(&mut self) -> io::Result<Sent> {
        self.out.clear();
        self.out
            .extend_from_slice(&[1, 0, 0, 0, mysql_wire::command::code::PING]);
        self.scan.begin(RowUse::Count, Protocol::Text, &[]);
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
        if self.tls.is_some() {
            self.seal()?;
        }
        self.send_rest()
    }

    fn seal(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        std::mem::swap(&mut self.out, &mut self.plain);
        tls.seal(&self.plain, &mut self.out).map_err(io::Error::other)
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
        if self.tls.is_some() {
            return self.receive_sealed(buffer);
        }
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

    fn receive_sealed(&mut self, buffer: &mut [u8]) -> Result<Option<Summary>, LinkError> {
        let Some(tls) = &mut self.tls else { return Ok(None) };
        loop {
            let held = tls.held.len();
            buffer[..held].copy_from_slice(&tls.held);
            let read = match self.stream.read(&mut buffer[held..]) {
                Ok(0) => return Err(LinkError::Closed),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let end = held + read;
            let (scan, mut answer) = (&mut self.scan, None);
            let opened = tls.open(&mut buffer[..end], |plain| {
                if let Some(summary) = scan.feed(plain)? {
                    answer = Some(summary);
                }
                Ok(())
            });
            if let Ok(opened) = opened {
                tls.held.clear();
                tls.held.extend_from_slice(&buffer[opened..end]);
            }
            // A server's last words count, also when it closes the connection in the same breath.
            if answer.is_some() {
                return Ok(answer);
            }
            opened?;
            if end < buffer.len() {
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
        self.out.clear();
        self.out
            .extend_from_slice(&[1, 0, 0, 0, mysql_wire::command::code::QUIT]);
        // Whether the server hears it makes no difference to anyone.
        let _ = self.start();
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
