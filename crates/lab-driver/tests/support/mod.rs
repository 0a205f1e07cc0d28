//! A server that answers as a test wants it: it speaks the protocol, holds no data, and remembers what it was sent.

#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lab_driver::{Password, Target, Tls};
use mysql_wire::auth::{Nonce, native, sha2};
use mysql_wire::column::{ColumnDefinition, ColumnType};
use mysql_wire::command::Command;
use mysql_wire::handshake::{Greeting, Login, SslRequest, encode_auth_more_data};
use mysql_wire::response::{EofPacket, ErrPacket, OkKind, OkPacket};
use mysql_wire::statement::Prepared;
use mysql_wire::{Capabilities, Output, Status};

/// What the server does with an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Ok,
    Rows(usize),
    /// One row of one text, as the text protocol has it.
    Text(&'static str),
    Error(u16),
    /// Closes the connection.
    Drop,
    /// Never answers.
    Silence,
}

/// One execution as the test's rule sees it.
pub struct Execution<'a> {
    pub connection: usize,
    /// Counts all executions of the server, from 0.
    pub number: usize,
    pub sql: &'a str,
}

/// How the server wants to be told the password.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    Native,
    /// `caching_sha2_password`, always in full: over TLS that is the password itself.
    Sha2InFull,
    /// A switch to `mysql_clear_password`.
    Clear,
}

/// What goes on before the first command.
#[derive(Clone)]
pub struct Door {
    pub capabilities: Capabilities,
    pub tls: Option<Arc<rustls::ServerConfig>>,
    pub auth: Auth,
}

trait Stream: Read + Write + Send {
    /// Writes these bytes and says goodbye, both in one piece.
    fn last_words(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write_all(bytes)
    }
}

impl Stream for TcpStream {}
impl Stream for std::io::Empty {}

impl Stream for rustls::StreamOwned<rustls::ServerConnection, Box<dyn Stream>> {
    fn last_words(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.conn.writer().write_all(bytes)?;
        self.conn.send_close_notify();
        let mut records = Vec::new();
        while self.conn.wants_write() {
            self.conn.write_tls(&mut records)?;
        }
        self.sock.write_all(&records)
    }
}

type Rule = dyn Fn(&Execution) -> Reply + Send + Sync;

pub struct Server {
    pub address: String,
    /// Of each connection, the statements that were executed, in order.
    pub log: Arc<Mutex<Vec<Vec<String>>>>,
    /// COM_PINGs of all connections.
    pub pings: Arc<AtomicUsize>,
    /// The sockets, to close them from outside.
    sockets: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    /// Answers as `rule` says; what `rule` does besides (sleep, count) is its own affair.
    pub fn start(capabilities: Capabilities, rule: impl Fn(&Execution) -> Reply + Send + Sync + 'static) -> Server {
        let door = Door {
            capabilities,
            tls: None,
            auth: Auth::Native,
        };
        Server::behind(door, rule)
    }

    pub fn behind(door: Door, rule: impl Fn(&Execution) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let log = Arc::new(Mutex::new(Vec::new()));
        let rule: Arc<Rule> = Arc::new(rule);
        let number = Arc::new(AtomicUsize::new(0));
        let shared = log.clone();
        let (pings, sockets) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (pinged, opened) = (pings.clone(), sockets.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = {
                    let mut log = shared.lock().unwrap();
                    log.push(Vec::new());
                    log.len() - 1
                };
                let (log, rule, number) = (shared.clone(), rule.clone(), number.clone());
                let (door, pinged) = (door.clone(), pinged.clone());
                let socket = stream.try_clone().unwrap();
                opened.lock().unwrap().push(stream.try_clone().unwrap());
                thread::spawn(move || {
                    Session::new(stream, door, pinged).serve(connection, &log, &*rule, &number);
                    // The list still holds it open.
                    let _ = socket.shutdown(Shutdown::Both);
                });
            }
        });
        Server {
            address,
            log,
            pings,
            sockets,
        }
    }

    /// Waits until the load runs and `after` has passed, then closes `count` connections that were never sent a statement.
    pub fn closes_the_silent_after(&self, after: Duration, count: usize) -> thread::JoinHandle<()> {
        let (log, sockets) = (self.log.clone(), self.sockets.clone());
        thread::spawn(move || {
            let runs = || log.lock().unwrap().iter().any(|sent| sent.len() > 5);
            while !runs() {
                thread::sleep(Duration::from_millis(5));
            }
            thread::sleep(after);
            let silent: Vec<bool> = log.lock().unwrap().iter().map(Vec::is_empty).collect();
            let sockets = sockets.lock().unwrap();
            let silent = sockets.iter().zip(silent).filter(|(_, silent)| *silent);
            for (socket, _) in silent.take(count) {
                socket.shutdown(Shutdown::Both).unwrap();
            }
        })
    }

    pub fn target(&self) -> Target {
        target(&[&self.address])
    }

    /// Statements of all connections.
    pub fn statements(&self) -> Vec<String> {
        self.log.lock().unwrap().concat()
    }
}

pub fn target(servers: &[&str]) -> Target {
    Target {
        servers: servers.iter().map(|server| (*server).to_owned()).collect(),
        user: "lab".to_owned(),
        password: Password::new("geheim"),
        database: "test".to_owned(),
        tls: Tls::default(),
    }
}

struct Session {
    stream: Box<dyn Stream>,
    door: Door,
    pings: Arc<AtomicUsize>,
    capabilities: Capabilities,
    statements: Vec<String>,
}

impl Session {
    fn new(stream: TcpStream, door: Door, pings: Arc<AtomicUsize>) -> Session {
        stream.set_nodelay(true).unwrap();
        Session {
            stream: Box::new(stream),
            capabilities: door.capabilities
                | Capabilities::PROTOCOL_41
                | Capabilities::SECURE_CONNECTION
                | Capabilities::PLUGIN_AUTH
                | Capabilities::CONNECT_WITH_DB,
            door,
            pings,
            statements: Vec::new(),
        }
    }

    /// Until the client leaves.
    fn serve(
        mut self,
        connection: usize,
        log: &Mutex<Vec<Vec<String>>>,
        rule: &Rule,
        number: &AtomicUsize,
    ) -> Option<()> {
        self.login()?;
        loop {
            let packet = self.receive()?.1;
            let sql = match Command::decode(&packet, self.capabilities).ok()? {
                Command::Query(sql) => String::from_utf8_lossy(sql).into_owned(),
                Command::StmtPrepare(sql) => {
                    let sql = String::from_utf8_lossy(sql).into_owned();
                    self.prepare(sql)?;
                    continue;
                }
                Command::StmtExecute(execute) => self.statements[execute.statement_id as usize].clone(),
                Command::Ping => {
                    self.pings.fetch_add(1, Ordering::Relaxed);
                    self.ok()?;
                    continue;
                }
                _ => return None,
            };
            log.lock().unwrap()[connection].push(sql.clone());
            let execution = Execution {
                connection,
                number: number.fetch_add(1, Ordering::Relaxed),
                sql: &sql,
            };
            match rule(&execution) {
                Reply::Ok => self.ok()?,
                Reply::Rows(rows) => {
                    // As a binary row: header, null bitmap, a string of 119.
                    let row = [&[0, 0, 119][..], &[b'5'; 119]].concat();
                    self.rows(rows, &row)?;
                }
                Reply::Text(text) => self.rows(1, &[&[text.len() as u8], text.as_bytes()].concat())?,
                Reply::Error(code) => self.error(code)?,
                Reply::Drop => return None,
                Reply::Silence => thread::park(),
            }
        }
    }

    fn login(&mut self) -> Option<()> {
        let nonce = Nonce::from_random([7; 20]);
        let greeting = Greeting {
            server_version: b"test",
            connection_id: 1,
            nonce,
            capabilities: self.capabilities,
            collation: 45,
            status: Status::AUTOCOMMIT,
            plugin: match self.door.auth {
                Auth::Native | Auth::Clear => native::NAME.as_bytes(),
                Auth::Sha2InFull => sha2::NAME.as_bytes(),
            },
        };
        self.send(0, |output| output.packet(|out| greeting.encode(out)))?;
        let (mut sequence, mut packet) = self.receive()?;
        if SslRequest::decode(&packet).is_some() {
            // Without a configuration it goes away, as a server does whose certificate is broken.
            let connection = rustls::ServerConnection::new(self.door.tls.clone()?).ok()?;
            let plain = std::mem::replace(&mut self.stream, Box::new(std::io::empty()));
            self.stream = Box::new(rustls::StreamOwned::new(connection, plain));
            (sequence, packet) = self.receive()?;
        }
        let login = Login::decode(&packet, self.capabilities).ok()?;
        let (user, answer) = (login.user.to_vec(), login.auth_answer.to_vec());
        self.capabilities = login.capabilities & self.capabilities;
        let right = match self.door.auth {
            Auth::Native => answer == native::answer(b"geheim", &nonce),
            Auth::Sha2InFull | Auth::Clear => {
                let question = match self.door.auth {
                    Auth::Clear => b"\xfemysql_clear_password\0".to_vec(),
                    _ => {
                        let mut question = Vec::new();
                        encode_auth_more_data(&mut question, &[sha2::FULL_AUTHENTICATION]);
                        question
                    }
                };
                self.send(sequence + 1, |output| {
                    output.packet(|out| out.extend_from_slice(&question))
                })?;
                (sequence, packet) = self.receive()?;
                packet == b"geheim\0"
            }
        };
        if user != b"lab" || !right {
            let mut output = Output::new(Vec::new());
            output.set_sequence(sequence + 1);
            output.packet(|out| error(1045, b"Access denied").encode(out));
            self.stream.last_words(output.as_slice()).ok()?;
            return None;
        }
        let capabilities = self.capabilities;
        self.send(sequence + 1, |output| {
            output.packet(|out| OkPacket::default().encode(out, OkKind::Statement, capabilities));
        })
    }

    fn prepare(&mut self, sql: String) -> Option<()> {
        let parameters = sql.matches('?').count();
        let columns = usize::from(sql.trim_start().starts_with("SELECT"));
        let prepared = Prepared {
            statement_id: self.statements.len() as u32,
            columns: columns as u16,
            parameters: parameters as u16,
            warnings: 0,
        };
        self.statements.push(sql);
        let eof = !self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        self.send(1, |output| {
            output.packet(|out| prepared.encode(out));
            for count in [parameters, columns] {
                (0..count).for_each(|_| output.packet(|out| definition().encode(out)));
                if count > 0 && eof {
                    output.packet(|out| EofPacket::default().encode(out));
                }
            }
        })
    }

    fn ok(&mut self) -> Option<()> {
        let ok = OkPacket {
            affected_rows: 1,
            ..OkPacket::default()
        };
        let capabilities = self.capabilities;
        self.send(1, |output| {
            output.packet(|out| ok.encode(out, OkKind::Statement, capabilities));
        })
    }

    fn rows(&mut self, rows: usize, row: &[u8]) -> Option<()> {
        let capabilities = self.capabilities;
        let eof = !capabilities.contains(Capabilities::DEPRECATE_EOF);
        self.send(1, |output| {
            output.packet(|out| out.push(1));
            output.packet(|out| definition().encode(out));
            if eof {
                output.packet(|out| EofPacket::default().encode(out));
            }
            (0..rows).for_each(|_| output.packet(|out| out.extend_from_slice(row)));
            output.packet(|out| {
                if eof {
                    EofPacket::default().encode(out);
                } else {
                    OkPacket::default().encode(out, OkKind::EndOfRows, capabilities);
                }
            });
        })
    }

    fn error(&mut self, code: u16) -> Option<()> {
        self.send(1, |output| {
            output.packet(|out| error(code, b"as the test wants it").encode(out))
        })
    }

    fn send(&mut self, sequence: u8, write: impl FnOnce(&mut Output)) -> Option<()> {
        let mut output = Output::new(Vec::new());
        output.set_sequence(sequence);
        write(&mut output);
        self.stream.write_all(output.as_slice()).ok()?;
        self.stream.flush().ok()
    }

    fn receive(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).ok()?;
        let mut packet = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16];
        self.stream.read_exact(&mut packet).ok()?;
        Some((header[3], packet))
    }
}

fn error(code: u16, message: &[u8]) -> ErrPacket<'_> {
    ErrPacket {
        code,
        sqlstate: *b"HY000",
        message,
    }
}

fn definition() -> ColumnDefinition<'static> {
    ColumnDefinition {
        schema: b"test",
        table: b"sbtest1",
        org_table: b"sbtest1",
        name: b"c",
        org_name: b"c",
        collation: 45,
        length: 120,
        ty: ColumnType::VarString,
        flags: 0,
        decimals: 0,
        default: None,
    }
}
