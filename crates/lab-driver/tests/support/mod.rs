//! A server that answers as a test wants it: it speaks the protocol, holds no data, and remembers what it was sent.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use lab_driver::{Password, Target};
use mysql_wire::auth::{Nonce, native};
use mysql_wire::column::{ColumnDefinition, ColumnType};
use mysql_wire::command::Command;
use mysql_wire::handshake::{Greeting, Login};
use mysql_wire::response::{EofPacket, ErrPacket, OkKind, OkPacket};
use mysql_wire::statement::Prepared;
use mysql_wire::{Capabilities, Output, Status};

/// What the server does with an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    Ok,
    Rows(usize),
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

type Rule = dyn Fn(&Execution) -> Reply + Send + Sync;

pub struct Server {
    pub address: String,
    /// Of each connection, the statements that were executed, in order.
    pub log: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Server {
    /// Answers as `rule` says; what `rule` does besides (sleep, count) is its own affair.
    pub fn start(capabilities: Capabilities, rule: impl Fn(&Execution) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let log = Arc::new(Mutex::new(Vec::new()));
        let rule: Arc<Rule> = Arc::new(rule);
        let number = Arc::new(AtomicUsize::new(0));
        let shared = log.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = {
                    let mut log = shared.lock().unwrap();
                    log.push(Vec::new());
                    log.len() - 1
                };
                let (log, rule, number) = (shared.clone(), rule.clone(), number.clone());
                thread::spawn(move || Session::new(stream, capabilities).serve(connection, &log, &*rule, &number));
            }
        });
        Server { address, log }
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
    }
}

struct Session {
    stream: TcpStream,
    capabilities: Capabilities,
    statements: Vec<String>,
}

impl Session {
    fn new(stream: TcpStream, capabilities: Capabilities) -> Session {
        stream.set_nodelay(true).unwrap();
        Session {
            stream,
            capabilities: capabilities
                | Capabilities::PROTOCOL_41
                | Capabilities::SECURE_CONNECTION
                | Capabilities::PLUGIN_AUTH
                | Capabilities::CONNECT_WITH_DB,
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
                Command::Quit => return None,
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
                Reply::Rows(rows) => self.rows(rows)?,
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
            plugin: native::NAME.as_bytes(),
        };
        self.send(0, |output| output.packet(|out| greeting.encode(out)))?;
        let (sequence, packet) = self.receive()?;
        let login = Login::decode(&packet, self.capabilities).ok()?;
        let right = login.user == b"lab" && login.auth_answer == native::answer(b"geheim", &nonce);
        self.capabilities = login.capabilities & self.capabilities;
        if !right {
            self.send(sequence + 1, |output| {
                output.packet(|out| error(1045, b"Access denied").encode(out));
            })?;
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

    fn rows(&mut self, rows: usize) -> Option<()> {
        let capabilities = self.capabilities;
        let eof = !capabilities.contains(Capabilities::DEPRECATE_EOF);
        self.send(1, |output| {
            output.packet(|out| out.push(1));
            output.packet(|out| definition().encode(out));
            if eof {
                output.packet(|out| EofPacket::default().encode(out));
            }
            // As a binary row: header, null bitmap, a string of 119.
            (0..rows).for_each(|_| {
                output.packet(|out| {
                    out.extend_from_slice(&[0, 0, 119]);
                    out.extend_from_slice(&[b'5'; 119]);
                });
            });
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
        self.stream.write_all(output.as_slice()).ok()
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
