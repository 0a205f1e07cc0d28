//! A small blocking client: login without a password, statements by both protocols, answers as text.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, bail};
use mysql_wire::column::{ColumnDefinition, ColumnType, flag};
use mysql_wire::command::Command;
use mysql_wire::frame::{self, Scan};
use mysql_wire::handshake::{Attributes, AuthSwitch, Greeting, Login};
use mysql_wire::response::{EOF, ERR, ErrPacket, OK, OkPacket};
use mysql_wire::row::{binary_values, text_values};
use mysql_wire::statement::{CursorFlags, Execute, Prepared};
use mysql_wire::value::{BinaryDateTime, BinaryTime, BinaryValue};
use mysql_wire::{Capabilities, Output, Status};

const PACKET_LEN_MAX: usize = 64 << 20;
/// utf8mb4_general_ci.
const COLLATION: u8 = 45;

/// By which protocol a statement goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Text,
    Prepared,
}

/// What a server said to a statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Ok { affected: u64, last_insert_id: u64, info: String, warnings: u16 },
    Rows { columns: Vec<Column>, rows: Vec<Vec<Option<Vec<u8>>>>, warnings: u16 },
    Error { code: u16, sqlstate: String, message: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub ty: ColumnType,
    pub unsigned: bool,
    pub zerofill: bool,
    pub length: u32,
    pub decimals: u8,
}

pub struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    sequence: u8,
    capabilities: Capabilities,
    pub server_version: String,
}

/// A statement that the prepared protocol does not take (1295).
const UNSUPPORTED_IN_PREPARED: u16 = 1295;

impl Client {
    pub fn connect(address: &str, user: &str) -> Result<Client> {
        let stream = TcpStream::connect(address).with_context(|| format!("no server at {address}"))?;
        stream.set_nodelay(true)?;
        let capabilities = Capabilities::PROTOCOL_41;
        let mut client = Client { stream, received: Vec::new(), sequence: 0, capabilities, server_version: String::new() };
        let packet = client.receive()?;
        if packet.first() == Some(&ERR) {
            bail!("refused: {}", String::from_utf8_lossy(ErrPacket::decode(&packet)?.message));
        }
        let greeting = Greeting::decode(&packet)?;
        client.server_version = String::from_utf8_lossy(greeting.server_version).into_owned();
        client.capabilities = greeting.capabilities
            & (Capabilities::LONG_PASSWORD
                | Capabilities::PROTOCOL_41
                | Capabilities::TRANSACTIONS
                | Capabilities::SECURE_CONNECTION
                | Capabilities::PLUGIN_AUTH
                | Capabilities::MULTI_RESULTS
                | Capabilities::PS_MULTI_RESULTS
                | Capabilities::DEPRECATE_EOF);
        let login = Login {
            capabilities: client.capabilities,
            packet_len_max: PACKET_LEN_MAX as u32,
            collation: COLLATION,
            user: user.as_bytes(),
            auth_answer: b"",
            database: None,
            plugin: Some(b"mysql_native_password"),
            attributes: Attributes::default(),
        };
        client.send(|out| login.encode(out))?;
        loop {
            let packet = client.receive()?;
            match packet.first() {
                Some(&OK) => return Ok(client),
                Some(&ERR) => bail!("login: {}", String::from_utf8_lossy(ErrPacket::decode(&packet)?.message)),
                Some(&EOF) => {
                    AuthSwitch::decode(&packet)?;
                    // No password: the answer of every plugin is empty.
                    client.send(|_| {})?;
                }
                _ => {}
            }
        }
    }

    pub fn run(&mut self, sql: &str, protocol: Protocol) -> Result<Answer> {
        match protocol {
            Protocol::Text => self.query(sql),
            Protocol::Prepared => self.prepare_and_execute(sql),
        }
    }

    fn query(&mut self, sql: &str) -> Result<Answer> {
        self.command(&Command::Query(sql.as_bytes()))?;
        self.answer(Protocol::Text)
    }

    fn prepare_and_execute(&mut self, sql: &str) -> Result<Answer> {
        self.command(&Command::StmtPrepare(sql.as_bytes()))?;
        let packet = self.receive()?;
        if packet.first() == Some(&ERR) {
            return match error(&packet)? {
                Answer::Error { code: UNSUPPORTED_IN_PREPARED, .. } => self.query(sql),
                refused => Ok(refused),
            };
        }
        let prepared = Prepared::decode(&packet)?;
        for definitions in [prepared.parameters, prepared.columns] {
            for _ in 0..definitions {
                ColumnDefinition::decode(&self.receive()?)?;
            }
            if definitions > 0 && !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
                self.receive()?;
            }
        }
        self.command(&Command::StmtExecute(Execute::new(prepared.statement_id, CursorFlags::NONE, &[])))?;
        let answer = self.answer(Protocol::Prepared)?;
        self.command(&Command::StmtClose(prepared.statement_id))?;
        Ok(answer)
    }

    /// The answer to a statement. Of several results the last one counts.
    fn answer(&mut self, protocol: Protocol) -> Result<Answer> {
        loop {
            let (answer, status) = self.result(protocol)?;
            if !status.contains(Status::MORE_RESULTS_EXISTS) {
                return Ok(answer);
            }
        }
    }

    fn result(&mut self, protocol: Protocol) -> Result<(Answer, Status)> {
        let packet = self.receive()?;
        match packet.first() {
            Some(&ERR) => return Ok((error(&packet)?, Status::default())),
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
        let count = mysql_wire::Reader::new(&packet).lenenc_int("column count")?;
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
                Some(&ERR) => return Ok((error(&packet)?, Status::default())),
                // A row that begins with 0xFE has a value of 16 MiB or more.
                Some(&EOF) if packet.len() < 0xFF_FFFF => {
                    let (warnings, status) = self.end_of_rows(&packet)?;
                    return Ok((Answer::Rows { columns, rows, warnings }, status));
                }
                _ => rows.push(match protocol {
                    Protocol::Text => text_values(&packet).map(|value| Ok(value?.map(<[u8]>::to_vec))).collect::<Result<_>>()?,
                    Protocol::Prepared => {
                        let types = columns.iter().map(|column| (column.ty, column.unsigned));
                        let values = binary_values(&packet, types)?;
                        values.iter().zip(&columns).map(|(value, column)| column.text(value)).collect()
                    }
                }),
            }
        }
    }

    fn end_of_rows(&self, packet: &[u8]) -> Result<(u16, Status)> {
        if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            let (ok, _) = OkPacket::decode(packet)?;
            return Ok((ok.warnings, ok.status));
        }
        let eof = mysql_wire::response::EofPacket::decode(packet)?;
        Ok((eof.warnings, eof.status))
    }

    fn command(&mut self, command: &Command) -> Result<()> {
        self.sequence = 0;
        let capabilities = self.capabilities;
        self.send(|out| command.encode(out, capabilities))
    }

    fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let mut output = Output::new(Vec::new());
        output.set_sequence(self.sequence);
        output.packet(write);
        self.sequence = output.sequence();
        Ok(self.stream.write_all(output.as_slice())?)
    }

    fn receive(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Scan::Complete(frames) = frame::scan(&self.received, self.sequence, PACKET_LEN_MAX)? {
                let payload = frames.payload(&mut self.received).to_vec();
                self.received.drain(..frames.len);
                self.sequence = frames.next_sequence;
                return Ok(payload);
            }
            let mut piece = [0; 16 << 10];
            let len = self.stream.read(&mut piece)?;
            if len == 0 {
                bail!("the server closed the connection");
            }
            self.received.extend_from_slice(&piece[..len]);
        }
    }
}

fn error(packet: &[u8]) -> Result<Answer> {
    let error = ErrPacket::decode(packet)?;
    Ok(Answer::Error {
        code: error.code,
        sqlstate: String::from_utf8_lossy(&error.sqlstate).into_owned(),
        message: String::from_utf8_lossy(error.message).into_owned(),
    })
}

impl Column {
    fn new(definition: &ColumnDefinition) -> Column {
        Column {
            name: String::from_utf8_lossy(definition.name).into_owned(),
            ty: definition.ty,
            unsigned: definition.flags & flag::UNSIGNED != 0,
            zerofill: definition.flags & flag::ZEROFILL != 0,
            length: definition.length,
            decimals: definition.decimals,
        }
    }

    /// A binary value as the text protocol would have written it.
    fn text(&self, value: &BinaryValue) -> Option<Vec<u8>> {
        Some(match value {
            BinaryValue::Null => return None,
            BinaryValue::Bytes(bytes) => bytes.to_vec(),
            BinaryValue::Int(n) => self.padded(n.to_string()).into_bytes(),
            BinaryValue::UInt(n) if self.ty == ColumnType::Year => format!("{n:04}").into_bytes(),
            BinaryValue::UInt(n) => self.padded(n.to_string()).into_bytes(),
            BinaryValue::Float(n) if self.decimals < 31 => format!("{n:.*}", usize::from(self.decimals)).into_bytes(),
            BinaryValue::Double(n) if self.decimals < 31 => format!("{n:.*}", usize::from(self.decimals)).into_bytes(),
            BinaryValue::Float(n) => n.to_string().into_bytes(),
            BinaryValue::Double(n) => n.to_string().into_bytes(),
            BinaryValue::Date(date) => day(date).into_bytes(),
            BinaryValue::DateTime(date) => {
                let clock = self.clock(date.hour.into(), date.minute, date.second, date.microsecond);
                format!("{} {clock}", day(date)).into_bytes()
            }
            BinaryValue::Time(time) => {
                let BinaryTime { negative, days, hour, minute, second, microsecond } = *time;
                let sign = if negative { "-" } else { "" };
                format!("{sign}{}", self.clock(days * 24 + u32::from(hour), minute, second, microsecond)).into_bytes()
            }
        })
    }

    fn padded(&self, digits: String) -> String {
        if self.zerofill { format!("{digits:0>width$}", width = self.length as usize) } else { digits }
    }

    fn clock(&self, hours: u32, minute: u8, second: u8, microsecond: u32) -> String {
        let whole = format!("{hours:02}:{minute:02}:{second:02}");
        match usize::from(self.decimals) {
            digits @ 1..=6 => format!("{whole}.{}", &format!("{microsecond:06}")[..digits]),
            _ => whole,
        }
    }
}

fn day(date: &BinaryDateTime) -> String {
    format!("{:04}-{:02}-{:02}", date.year, date.month, date.day)
}
