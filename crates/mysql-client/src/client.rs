//! A connection: statements by both protocols, one packet at a time, and their answers.

use std::io::{Read, Write};
use std::time::Duration;

use mysql_wire::column::ColumnDefinition;
use mysql_wire::command::Command;
use mysql_wire::frame::{self, Scan};
use mysql_wire::response::{EOF, ERR, EofPacket, OK, OkPacket};
use mysql_wire::row::{binary_values, text_values};
use mysql_wire::statement::{CursorFlags, Execute, Prepared, TypeBinding, encode_parameters};
use mysql_wire::{Capabilities, Malformed, Output, Reader, Status};

use crate::answer::{Answer, Column};
use crate::error::ClientError;
use crate::login::Login;
use crate::parameter::Parameter;
use crate::stream::Stream;

pub(crate) const PACKET_LEN_MAX: usize = 1 << 30;
const RECEIVE_LEN: usize = 64 << 10;

/// By which protocol a statement goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Text,
    Prepared,
}

/// One connection to a server.
pub struct Client {
    stream: Stream,
    /// Bytes from the server; those before `taken` were answers already.
    received: Vec<u8>,
    taken: usize,
    sequence: u8,
    pub(crate) capabilities: Capabilities,
    /// What the server called itself.
    pub server_version: String,
    /// The server's number of this connection: for `KILL`.
    pub connection_id: u32,
    /// The results of the last statement before its last one.
    earlier: Vec<Answer>,
}

/// A statement that the prepared protocol does not take (1295).
const UNSUPPORTED_IN_PREPARED: u16 = 1295;

/// What the answer to LOAD DATA LOCAL begins with, before the file's name.
const FILE_WANTED: u8 = 0xFB;
/// Bytes of a file that go in one packet.
const PIECE_LEN: usize = 64 << 10;

/// A server that is killed while the connection comes about may leave it half open: nobody on the other end, and no reset either. Who
/// waits for the greeting there would wait for ever.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(20);

impl Client {
    /// Connects and logs in.
    pub fn connect(login: &Login) -> Result<Self, ClientError> {
        Client::connect_as(login, Capabilities::PROTOCOL_41)
    }

    /// As [`connect`](Self::connect), for [`load`](Self::load).
    pub fn connect_to_load(login: &Login) -> Result<Self, ClientError> {
        Client::connect_as(login, Capabilities::PROTOCOL_41 | Capabilities::LOCAL_FILES)
    }

    fn connect_as(login: &Login, capabilities: Capabilities) -> Result<Self, ClientError> {
        let stream = Stream::connect(login.address).map_err(|source| ClientError::Connect {
            address: login.address.to_owned(),
            source,
        })?;
        stream.set_read_timeout(Some(LOGIN_TIMEOUT))?;
        let mut client = Self {
            stream,
            received: Vec::new(),
            taken: 0,
            sequence: 0,
            capabilities,
            server_version: String::new(),
            connection_id: 0,
            earlier: Vec::new(),
        };
        login.talk(&mut client)?;
        client.stream.set_read_timeout(None)?;
        Ok(client)
    }

    /// Whether a password may be sent as it is.
    pub(crate) fn is_private(&self) -> bool {
        self.stream.is_private()
    }

    /// An answer that takes longer than this is an error, and the connection lost.
    pub fn limit_wait(&mut self, limit: Duration) -> Result<(), ClientError> {
        Ok(self.stream.set_read_timeout(Some(limit))?)
    }

    /// Runs one statement. Of several results the last one counts; the others are [`Self::take_earlier`].
    pub fn run(&mut self, sql: &str, protocol: Protocol) -> Result<Answer, ClientError> {
        match protocol {
            Protocol::Text => self.query(sql),
            Protocol::Prepared => self.prepare_and_execute(sql),
        }
    }

    /// Runs one statement by the text protocol.
    pub fn query(&mut self, sql: &str) -> Result<Answer, ClientError> {
        self.command(&Command::Query(sql.as_bytes()))?;
        self.answer(Protocol::Text)
    }

    /// Runs LOAD DATA LOCAL, whatever file it names, of these bytes.
    pub fn load(&mut self, sql: &str, file: &[u8]) -> Result<Answer, ClientError> {
        self.command(&Command::Query(sql.as_bytes()))?;
        let packet = self.receive()?;
        if packet.first() == Some(&ERR) {
            return Ok(Answer::error(&packet)?);
        }
        if packet.first() != Some(&FILE_WANTED) {
            return Err(Malformed("request for a file").into());
        }
        for piece in file.chunks(PIECE_LEN) {
            self.send(|out| out.extend_from_slice(piece))?;
        }
        self.send(|_| {})?;
        self.answer(Protocol::Text)
    }

    fn prepare_and_execute(&mut self, sql: &str) -> Result<Answer, ClientError> {
        match self.execute(sql, &[])? {
            Answer::Error {
                code: UNSUPPORTED_IN_PREPARED,
                ..
            } => self.query(sql),
            answer => Ok(answer),
        }
    }

    /// Prepares a statement, runs it with values for its parameters, and closes it.
    pub fn execute(&mut self, sql: &str, parameters: &[Parameter]) -> Result<Answer, ClientError> {
        self.command(&Command::StmtPrepare(sql.as_bytes()))?;
        let packet = self.receive()?;
        if packet.first() == Some(&ERR) {
            return Ok(Answer::error(&packet)?);
        }
        let prepared = Prepared::decode(&packet)?;
        // What a server says of parameters may be of types that no column has.
        for definitions in [prepared.parameters, prepared.columns] {
            for _ in 0..definitions {
                self.receive()?;
            }
            if definitions > 0 && !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
                self.receive()?;
            }
        }
        let mut values = Vec::new();
        let typed: Vec<_> = parameters.iter().map(Parameter::typed).collect();
        encode_parameters(&mut values, &typed, TypeBinding::New);
        self.command(&Command::StmtExecute(Execute::new(
            prepared.statement_id,
            CursorFlags::NONE,
            &values,
        )))?;
        let answer = self.answer(Protocol::Prepared)?;
        self.command(&Command::StmtClose(prepared.statement_id))?;
        Ok(answer)
    }

    /// The results of the last statement before its last one.
    pub fn take_earlier(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.earlier)
    }

    /// The last of a statement's results.
    fn answer(&mut self, protocol: Protocol) -> Result<Answer, ClientError> {
        self.earlier.clear();
        loop {
            let (answer, status) = self.result(protocol)?;
            if !status.contains(Status::MORE_RESULTS_EXISTS) {
                return Ok(answer);
            }
            self.earlier.push(answer);
        }
    }

    fn result(&mut self, protocol: Protocol) -> Result<(Answer, Status), ClientError> {
        let packet = self.receive()?;
        match packet.first() {
            Some(&ERR) => return Ok((Answer::error(&packet)?, Status::default())),
            Some(&OK) => {
                let (ok, _) = OkPacket::decode(&packet)?;
                let answer = Answer::Ok {
                    affected: ok.affected_rows,
                    last_insert_id: ok.last_insert_id,
                    info: String::from_utf8_lossy(ok.info).into_owned(),
                    warnings: ok.warnings,
                };
                return Ok((answer, ok.status));
            }
            _ => {}
        }
        let count = Reader::new(&packet).lenenc_int("column count")?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let packet = self.receive()?;
            columns.push(Column::new(&ColumnDefinition::decode(&packet)?));
        }
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            self.receive()?;
        }
        let mut rows = Vec::new();
        loop {
            let packet = self.receive()?;
            match packet.first() {
                Some(&ERR) => return Ok((Answer::error(&packet)?, Status::default())),
                // A row that begins with 0xFE has a value of 16 MiB or more.
                Some(&EOF) if packet.len() < 0xFF_FFFF => {
                    let (warnings, status) = self.end_of_rows(&packet)?;
                    return Ok((
                        Answer::Rows {
                            columns,
                            rows,
                            warnings,
                        },
                        status,
                    ));
                }
                _ => rows.push(match protocol {
                    Protocol::Text => text_values(&packet)
                        .map(|value| Ok(value?.map(<[u8]>::to_vec)))
                        .collect::<Result<_, Malformed>>()?,
                    Protocol::Prepared => {
                        let types = columns.iter().map(|column| (column.ty, column.unsigned));
                        let values = binary_values(&packet, types)?;
                        values
                            .iter()
                            .zip(&columns)
                            .map(|(value, column)| column.text(value))
                            .collect()
                    }
                }),
            }
        }
    }

    fn end_of_rows(&self, packet: &[u8]) -> Result<(u16, Status), ClientError> {
        if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let (ok, _) = OkPacket::decode(packet)?;
            return Ok((ok.warnings, ok.status));
        }
        let eof = EofPacket::decode(packet)?;
        Ok((eof.warnings, eof.status))
    }

    fn command(&mut self, command: &Command) -> Result<(), ClientError> {
        self.sequence = 0;
        let capabilities = self.capabilities;
        self.send(|out| command.encode(out, capabilities))
    }

    /// Sends one packet, next in the conversation.
    pub(crate) fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), ClientError> {
        let mut output = Output::new(Vec::new());
        output.set_sequence(self.sequence);
        output.packet(write);
        self.sequence = output.sequence();
        Ok(self.stream.write_all(output.as_slice())?)
    }

    /// The next packet's payload, frames joined.
    pub(crate) fn receive(&mut self) -> Result<Vec<u8>, ClientError> {
        loop {
            let pending = &mut self.received[self.taken..];
            let scan = frame::scan(pending, self.sequence, PACKET_LEN_MAX).map_err(|_| Malformed("frame"))?;
            let Scan::Complete(frames) = scan else {
                self.receive_more()?;
                continue;
            };
            let payload = frames.payload(pending).to_vec();
            self.taken += frames.len;
            self.sequence = frames.next_sequence;
            return Ok(payload);
        }
    }

    fn receive_more(&mut self) -> Result<(), ClientError> {
        self.received.drain(..self.taken);
        self.taken = 0;
        let len = self.received.len();
        self.received.resize(len + RECEIVE_LEN, 0);
        let read = self.stream.read(&mut self.received[len..])?;
        self.received.truncate(len + read);
        if read == 0 { Err(ClientError::Closed) } else { Ok(()) }
    }
}
