//! A client for tests: plain blocking sockets, every packet in the test's hands.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use mysql_wire::auth::{Nonce, native};
use mysql_wire::column::ColumnDefinition;
use mysql_wire::command::Command;
use mysql_wire::frame::{Scan, scan};
use mysql_wire::handshake::{Attributes, Greeting, Login};
use mysql_wire::response::{EofPacket, ErrPacket, OkPacket};
use mysql_wire::row::text_values;
use mysql_wire::{Capabilities, Output, Reader, Status};

pub const CAPABILITIES: Capabilities = Capabilities(
    Capabilities::PROTOCOL_41.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::PLUGIN_AUTH_LENENC_DATA.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::DEPRECATE_EOF.0,
);

pub struct Client {
    pub stream: TcpStream,
    pub capabilities: Capabilities,
    pub connection_id: u32,
    pub nonce: Nonce,
    pub zstd_level: Option<u8>,
    input: Vec<u8>,
    sequence: u8,
}

/// One answer of the server, without what a test does not look at.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    Ok {
        affected_rows: u64,
        status: Status,
    },
    Err {
        code: u16,
        message: String,
    },
    Rows {
        columns: Vec<String>,
        rows: Vec<Vec<Option<String>>>,
        status: Status,
    },
}

impl Answer {
    #[track_caller]
    pub fn error(self) -> (u16, String) {
        match self {
            Answer::Err { code, message } => (code, message),
            other => panic!("an error was expected: {other:?}"),
        }
    }

    #[track_caller]
    pub fn rows(self) -> Vec<Vec<Option<String>>> {
        match self {
            Answer::Rows { rows, .. } => rows,
            other => panic!("rows were expected: {other:?}"),
        }
    }

    #[track_caller]
    pub fn ok(self) {
        assert!(matches!(self, Answer::Ok { .. }), "OK was expected: {self:?}");
    }
}

impl Client {
    /// A bare connection that has sent nothing.
    pub fn bare(addr: SocketAddr) -> Client {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_nodelay(true).unwrap();
        // A test that waits longer has failed.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let nonce = Nonce([1; 20]);
        Client {
            stream,
            capabilities: CAPABILITIES,
            connection_id: 0,
            nonce,
            zstd_level: None,
            input: Vec::new(),
            sequence: 0,
        }
    }

    pub fn connect(addr: SocketAddr) -> Client {
        Client::with(addr, CAPABILITIES)
    }

    pub fn with(addr: SocketAddr, capabilities: Capabilities) -> Client {
        let mut client = Client::bare(addr);
        client.log_in("root", "", None, capabilities).ok();
        client
    }

    /// Logs in with `mysql_native_password`.
    pub fn log_in(&mut self, user: &str, password: &str, database: Option<&str>, capabilities: Capabilities) -> Answer {
        let packet = self.read_packet().expect("a greeting");
        if packet.first() == Some(&0xff) {
            return answer_of(&packet);
        }
        let greeting = Greeting::decode(&packet).unwrap();
        (self.connection_id, self.nonce) = (greeting.connection_id, greeting.nonce);
        self.capabilities = capabilities.with(Capabilities::CONNECT_WITH_DB, database.is_some());
        let answer = native::answer(password.as_bytes(), &greeting.nonce);
        let login = Login {
            capabilities: self.capabilities,
            packet_len_max: 1 << 24,
            collation: 45,
            user: user.as_bytes(),
            auth_answer: &answer,
            database: database.map(str::as_bytes),
            plugin: Some(native::NAME.as_bytes()),
            attributes: Attributes::default(),
            zstd_level: self.zstd_level,
        };
        let mut payload = Vec::new();
        login.encode(&mut payload);
        self.write_packet(&payload);
        answer_of(&self.read_packet().expect("an answer to the login"))
    }

    pub fn command(&mut self, command: Command) {
        self.sequence = 0;
        let mut payload = Vec::new();
        command.encode(&mut payload, self.capabilities);
        self.write_packet(&payload);
    }

    pub fn query(&mut self, text: &str) -> Answer {
        self.command(Command::Query(text.as_bytes()));
        self.read_answer()
    }

    pub fn write_packet(&mut self, payload: &[u8]) {
        let mut output = Output::new(Vec::new());
        output.set_sequence(self.sequence);
        output.packet(|out| out.extend_from_slice(payload));
        self.sequence = output.sequence();
        // What a server that hangs up leaves behind is seen when reading.
        let _ = self.stream.write_all(output.as_slice());
    }

    pub fn write_raw(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// The next packet; none once the server has closed the connection.
    pub fn read_packet(&mut self) -> Option<Vec<u8>> {
        loop {
            let sequence = self.input.get(3).copied().unwrap_or(self.sequence);
            if let Scan::Complete(frames) = scan(&self.input, sequence, usize::MAX).unwrap() {
                let packet = frames.payload(&mut self.input).to_vec();
                self.input.drain(..frames.len);
                self.sequence = frames.next_sequence;
                return Some(packet);
            }
            let mut chunk = vec![0; 1 << 16];
            match self.stream.read(&mut chunk) {
                Ok(0) => return None,
                Ok(len) => self.input.extend_from_slice(&chunk[..len]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("the server neither answers nor closes: {error}"),
            }
        }
    }

    /// The answer to a COM_QUERY: OK, error or rows.
    pub fn read_answer(&mut self) -> Answer {
        let packet = self.read_packet().expect("an answer");
        match packet[0] {
            0x00 | 0xff => answer_of(&packet),
            _ => {
                let columns = self.read_definitions(Reader::new(&packet).lenenc_int("columns").unwrap() as usize);
                let mut rows = Vec::new();
                let end = self.read_rows(|packet| {
                    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                    rows.push(text_values(packet).map(|value| value.unwrap().map(text)).collect());
                });
                match end {
                    Ok(status) => Answer::Rows { columns, rows, status },
                    Err(error) => error,
                }
            }
        }
    }

    pub fn read_definitions(&mut self, count: usize) -> Vec<String> {
        let names = (0..count)
            .map(|_| {
                let packet = self.read_packet().expect("a column");
                String::from_utf8_lossy(ColumnDefinition::decode(&packet).unwrap().name).into_owned()
            })
            .collect();
        if !self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
            EofPacket::decode(&self.read_packet().expect("EOF")).unwrap();
        }
        names
    }

    /// Hands over rows up to the end of the result set.
    pub fn read_rows(&mut self, mut row: impl FnMut(&[u8])) -> Result<Status, Answer> {
        loop {
            let packet = self.read_packet().expect("a row");
            match packet[0] {
                0xff => return Err(answer_of(&packet)),
                0xfe if packet.len() < 0xff_ffff => {
                    return Ok(if self.capabilities.contains(Capabilities::DEPRECATE_EOF) {
                        OkPacket::decode(&packet).unwrap().0.status
                    } else {
                        EofPacket::decode(&packet).unwrap().status
                    });
                }
                _ => row(&packet),
            }
        }
    }

    /// Checks that the server says `code` and hangs up.
    #[track_caller]
    pub fn expect_end(&mut self, code: u16) {
        let packet = self.read_packet().expect("a last packet");
        assert_eq!(answer_of(&packet).error().0, code);
        assert_eq!(self.read_packet(), None, "the connection is closed");
    }

    #[track_caller]
    pub fn expect_alive(&mut self) {
        self.command(Command::Ping);
        self.read_answer().ok();
    }
}

pub fn answer_of(packet: &[u8]) -> Answer {
    if packet[0] == 0xff {
        let error = ErrPacket::decode(packet).unwrap();
        return Answer::Err {
            code: error.code,
            message: String::from_utf8_lossy(error.message).into_owned(),
        };
    }
    let (ok, _) = OkPacket::decode(packet).unwrap();
    Answer::Ok {
        affected_rows: ok.affected_rows,
        status: ok.status,
    }
}
