//! Answers of statements, encoded straight into the send buffer.

use std::sync::Arc;
use std::time::Duration;

use front::Input;
use front::socket::{Patience, ReadAhead, SocketEnd};
use governor::{Stop, memory};
use mysql_wire::frame::{self, Frames, Scan};
use mysql_wire::response::{EofPacket, ErrPacket, OkKind, OkPacket, SessionChange, local_file};
use mysql_wire::row::{BinaryRow, TextRow};
use mysql_wire::{Capabilities, Output, Status, put};
use sql_api::host::{Host, Interrupt, WaitEnd};
use sql_api::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use sql_api::session::Compression;
use std::pin::pin;
use types::{CharsetId, ErrorKind, RowLayout, SqlError, Value, ValueRef};

use crate::cells;
use crate::columns::{ResultsCollation, charset_of, message_in, write_definitions};
use crate::socket::{PacketSocket, ReadEnd};

/// Rows are sent once this much is collected.
pub const FLUSH_LEN: usize = 64 << 10;

/// More than this is not kept for a client that does not read when the node needs the memory.
const UNSENT_MAX: usize = 2 * FLUSH_LEN;

/// The longest packet of a file; clients send far shorter ones.
const FILE_PACKET_MAX: usize = 32 << 20;

/// The form that rows are wanted in: by COM_QUERY as text, by COM_STMT_EXECUTE in binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Text,
    Binary,
}

/// `net_read_timeout` and `net_write_timeout`, as they were when the command came.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    pub read: Duration,
    pub write: Duration,
}

/// Writes the answer of one command.
pub struct Sink<'a> {
    answer: &'a mut Answer,
    socket: &'a PacketSocket,
    protocol: Protocol,
    collation: ResultsCollation,
    charset: Option<CharsetId>,
    shape: Option<Arc<ResultShape>>,
    /// A cursor was opened: its rows come with other commands.
    is_cursor: bool,
    timeouts: Timeouts,
    /// The client cannot be reached any more.
    pub broken: bool,
}

/// The send buffer with what decides the form of the packets that end answers.
pub struct Answer {
    pub output: Output,
    pub capabilities: Capabilities,
    /// From the end of the login on.
    pub compression: Option<Compression>,
    /// What the client sends of a file, where the statement that wants it may end before the file does, and the bytes of its first
    /// packet if that has been used.
    rest_of_file: Option<(Input, usize)>,
}

impl Answer {
    pub fn new(capabilities: Capabilities) -> Answer {
        Answer {
            output: Output::default(),
            capabilities,
            compression: None,
            rest_of_file: None,
        }
    }

    pub fn ok(&mut self, done: &Done) {
        let database = done
            .current_database
            .as_deref()
            .map(|name| SessionChange::Schema(name.as_bytes()));
        let packet = OkPacket {
            affected_rows: done.affected_rows,
            last_insert_id: done.last_insert_id,
            status: Status(done.status.0),
            warnings: done.warnings,
            info: done.info.as_bytes(),
            changes: database.as_slice(),
        };
        let capabilities = self.capabilities;
        self.output
            .packet(|out| packet.encode(out, OkKind::Statement, capabilities));
    }

    /// An OK that no statement made.
    pub fn plain_ok(&mut self, status: ServerStatus) {
        self.ok(&Done {
            status,
            ..Done::default()
        });
    }

    /// An error, its text in the client's character set.
    pub fn error(&mut self, error: &SqlError, results: ResultsCollation) {
        let sqlstate = error.sqlstate().as_bytes().try_into().unwrap_or(*b"HY000");
        let packet = ErrPacket {
            code: error.code(),
            sqlstate,
            message: &message_in(error.message(), results),
        };
        self.output.packet(|out| packet.encode(out));
    }

    /// The packet after the last row, and the answer to the few commands that are answered by EOF.
    pub fn end(&mut self, end: ResultEnd) {
        let status = Status(end.status.0);
        let capabilities = self.capabilities;
        if capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let packet = OkPacket {
                status,
                warnings: end.warnings,
                ..OkPacket::default()
            };
            self.output
                .packet(|out| packet.encode(out, OkKind::EndOfRows, capabilities));
        } else {
            self.output.packet(|out| {
                EofPacket {
                    warnings: end.warnings,
                    status,
                }
                .encode(out)
            });
        }
    }

    /// The packet between definitions and rows, which newer clients do without.
    pub fn end_of_definitions(&mut self, status: ServerStatus) {
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            self.end(ResultEnd { warnings: 0, status });
        }
    }
}

impl<'a> Sink<'a> {
    pub fn new(
        answer: &'a mut Answer,
        socket: &'a PacketSocket,
        protocol: Protocol,
        collation: ResultsCollation,
        timeouts: Timeouts,
    ) -> Self {
        let charset = collation.map(charset_of);
        let (shape, is_cursor, broken) = (None, false, false);
        Sink {
            answer,
            socket,
            protocol,
            collation,
            charset,
            shape,
            is_cursor,
            timeouts,
            broken,
        }
    }

    /// For the rows of a cursor, whose columns were sent when it was opened.
    pub fn with_shape(self, shape: Option<Arc<ResultShape>>) -> Self {
        Sink { shape, ..self }
    }

    /// The columns of the last result set, if it is a cursor's.
    pub fn into_cursor(self) -> Option<Arc<ResultShape>> {
        self.shape.filter(|_| self.is_cursor)
    }

    fn write_row<'v>(&mut self, value: impl Fn(usize) -> ValueRef<'v>) -> Result<(), SqlError> {
        let shape = self
            .shape
            .as_ref()
            .ok_or_else(|| SqlError::internal("a row without columns"))?;
        let packet = self.answer.output.begin();
        let out = self.answer.output.payload_mut();
        match self.protocol {
            Protocol::Text => {
                let mut row = TextRow::new(out);
                for (i, column) in shape.columns.iter().enumerate() {
                    cells::write_text(&mut row, value(i), &column.ty, self.charset);
                }
            }
            Protocol::Binary => {
                let mut row = BinaryRow::new(out, shape.columns.len());
                for (i, column) in shape.columns.iter().enumerate() {
                    cells::write_binary(&mut row, value(i), &column.ty, self.charset);
                }
            }
        }
        self.answer.output.end_in_pieces(packet, governor::pause);
        // A long document may have been cut short.
        governor::check().map_err(SqlError::from)
    }
}

/// Of a value that may be long.
fn string_bytes(value: &Value) -> usize {
    match value.as_ref() {
        ValueRef::Str(text) => text.len(),
        ValueRef::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

/// A client's file.
impl Sink<'_> {
    /// The next packet of the file, which stays in `input`; none at its end.
    async fn file_packet(&mut self, input: &mut Input) -> Result<Option<Frames>, ReadEnd> {
        let sequence = self.answer.output.sequence();
        let patience = Patience {
            idle: self.timeouts.read,
            inside_message: Some(self.timeouts.read),
            read_ahead: ReadAhead::Allowed,
        };
        self.socket
            .read_packet(input, sequence, FILE_PACKET_MAX, patience)
            .await?;
        let Scan::Complete(frames) = frame::scan(input.pending(), sequence, FILE_PACKET_MAX).map_err(ReadEnd::Frame)?
        else {
            return Err(SocketEnd::Closed.into());
        };
        self.answer.output.set_sequence(frames.next_sequence);
        if !frames.payload(input.pending_mut()).is_empty() {
            return Ok(Some(frames));
        }
        input.consume(frames.len);
        // Nobody sends a command before the answer.
        match input.pending().is_empty() {
            true => Ok(None),
            false => Err(SocketEnd::Closed.into()),
        }
    }

    /// Reads what the client still sends of a file whose statement has ended: it listens to the answer behind that. The statement does
    /// not wait for it, and holds nothing meanwhile.
    pub fn skip_rest_of_file(&mut self, host: &dyn Host) {
        let Some((mut input, used)) = self.answer.rest_of_file.take() else {
            return;
        };
        input.consume(used);
        let mut end = Ok(());
        host.wait(pin!(async {
            end = loop {
                match self.file_packet(&mut input).await {
                    Ok(Some(frames)) => input.consume(frames.len),
                    Ok(None) => break Ok(()),
                    Err(end) => break Err(end),
                }
            };
        }));
        self.broken |= end.is_err();
    }
}

impl ResultSink for Sink<'_> {
    fn columns(&mut self, shape: &Arc<ResultShape>, status: ServerStatus) -> Result<(), SqlError> {
        let output = &mut self.answer.output;
        output.packet(|out| put::lenenc_int(out, shape.columns.len() as u64));
        write_definitions(output, shape, self.collation);
        self.is_cursor = status.contains(ServerStatus::CURSOR_EXISTS);
        if self.is_cursor {
            // Both kinds of clients learn from this packet that there is a cursor.
            self.answer.end(ResultEnd { warnings: 0, status });
        } else {
            self.answer.end_of_definitions(status);
        }
        self.shape = Some(shape.clone());
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<(), SqlError> {
        // The client may be slow to take it, and so may many others.
        governor::ensure(values.iter().map(string_bytes).sum())?;
        self.write_row(|i| values.get(i).map_or(ValueRef::Null, Value::as_ref))
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> Result<(), SqlError> {
        governor::ensure(row.len())?;
        self.write_row(|i| {
            projection
                .get(i)
                .map_or(ValueRef::Null, |column| layout.column(row, *column))
        })
    }

    fn is_full(&self) -> bool {
        self.answer.output.len() >= FLUSH_LEN
    }

    fn flush(&mut self, host: &dyn Host) -> Result<(), SqlError> {
        let mut end = Ok(());
        let (socket, output, timeout) = (self.socket, &mut self.answer.output, self.timeouts.write);
        let mut flush = Box::pin(async { end = socket.flush(output, timeout).await });
        let waited = host.wait_interruptible(flush.as_mut(), None);
        drop(flush);
        match waited {
            // The rows that are collected still go out, and the error after them.
            WaitEnd::Interrupted(interrupt @ (Interrupt::KillQuery | Interrupt::Timeout)) => {
                return Err(Stop::Interrupt(interrupt).into());
            }
            WaitEnd::Interrupted(Interrupt::KillConnection | Interrupt::Shutdown) => {
                self.broken = true;
                return Err(ErrorKind::NetErrorOnWrite.into());
            }
            WaitEnd::Done | WaitEnd::TimedOut => {}
        }
        let unsent = self.answer.output.len();
        end.map_err(|end| {
            // What is left to be sent stays, and an error behind it, unless that is much itself.
            if matches!(end, SocketEnd::NoMemory) && unsent <= UNSENT_MAX {
                return Stop::Memory(memory::node_is_full(governor::current::held())).into();
            }
            self.broken = true;
            match end {
                SocketEnd::TimedOut { .. } => ErrorKind::NetWriteInterrupted.into(),
                _ => ErrorKind::NetErrorOnWrite.into(),
            }
        })
    }

    fn receive_file(
        &mut self,
        path: &str,
        host: &dyn Host,
        take: &mut dyn FnMut(&[u8]) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        if !self.answer.capabilities.contains(Capabilities::LOCAL_FILES) {
            return Err(ErrorKind::ClientLocalFilesDisabled.into());
        }
        self.answer.output.packet(|out| local_file(out, path.as_bytes()));
        self.flush(host)?;
        let mut input = Input::default();
        loop {
            let mut piece = Ok(None);
            let waited = host.wait_interruptible(pin!(async { piece = self.file_packet(&mut input).await }), None);
            let taken = match (waited, piece) {
                (WaitEnd::Interrupted(interrupt @ (Interrupt::KillQuery | Interrupt::Timeout)), _) => {
                    Err(Stop::Interrupt(interrupt).into())
                }
                (WaitEnd::Interrupted(_), _) | (_, Err(_)) => {
                    self.broken = true;
                    return Err(ErrorKind::NetReadError.into());
                }
                (_, Ok(None)) => return Ok(()),
                (_, Ok(Some(frames))) => {
                    // It stays here if the statement panics.
                    let kept = (std::mem::take(&mut input), frames.len);
                    let (kept, used) = self.answer.rest_of_file.insert(kept);
                    let taken = take(frames.payload_in_pieces(kept.pending_mut(), governor::pause));
                    kept.consume(std::mem::take(used));
                    taken
                }
            };
            let rest = self.answer.rest_of_file.take();
            if taken.is_err() {
                self.answer.rest_of_file = Some(rest.unwrap_or((input, 0)));
                return taken;
            }
            if let Some((rest, _)) = rest {
                input = rest;
            }
        }
    }

    fn end(&mut self, end: ResultEnd) -> Result<(), SqlError> {
        if !self.is_cursor {
            self.answer.end(end);
        }
        Ok(())
    }

    fn ok(&mut self, done: Done) -> Result<(), SqlError> {
        self.answer.ok(&done);
        Ok(())
    }
}
