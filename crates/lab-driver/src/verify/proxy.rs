//! A proxy that writes down what clients send: statement texts, which of them are executed, with which parameters.
//!
//! Two blocking threads per connection, one per direction. The server's direction is only looked at where an answer gives a
//! prepared statement its number.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mysql_wire::Capabilities;
use mysql_wire::column::ColumnType;
use mysql_wire::command::Command;
use mysql_wire::statement::{ParameterType, Prepared};
use mysql_wire::value::BinaryValue;

/// One command of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Recorded {
    Query(String),
    Prepare(String),
    Execute {
        sql: String,
        parameters: Vec<Parameter>,
        /// The parameters' types came with it.
        binds: bool,
        types: Vec<u8>,
    },
    Close,
    Quit,
    /// Any other command, by its code.
    Other(u8),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    Null,
    Int(i64),
    Text(String),
}

/// Of each connection, what it sent, in order. Connections in the order in which they came.
pub type Recording = Vec<Vec<Recorded>>;

/// Listens until it is dropped.
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<thread::JoinHandle<()>>,
}

struct Shared {
    server: String,
    closing: AtomicBool,
    connections: Mutex<Vec<Arc<Mutex<Connection>>>>,
}

#[derive(Default)]
struct Connection {
    recorded: Vec<Recorded>,
    /// The statement whose COM_STMT_PREPARE is on its way to the server.
    preparing: Option<String>,
    statements: BTreeMap<u32, Statement>,
}

struct Statement {
    sql: String,
    parameters: usize,
    types: Vec<ParameterType>,
}

impl Proxy {
    /// Before `server` (`host:port`), on a free port of the loopback address.
    pub fn start(server: &str) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            server: server.to_owned(),
            closing: AtomicBool::new(false),
            connections: Mutex::default(),
        });
        let listening = shared.clone();
        let listener = thread::spawn(move || {
            for stream in listener.incoming() {
                if listening.closing.load(Ordering::Relaxed) {
                    return;
                }
                if let Ok(client) = stream {
                    // A server that is away shows as a closed connection, as it would without us.
                    let _ = listening.carry(client);
                }
            }
        });
        Ok(Proxy {
            address,
            shared,
            listener: Some(listener),
        })
    }

    /// Where clients are to connect.
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// What was sent since the last call; connections that sent nothing are left out.
    pub fn take(&self) -> Recording {
        let connections = locked(&self.shared.connections);
        connections
            .iter()
            .map(|connection| std::mem::take(&mut locked(connection).recorded))
            .filter(|recorded| !recorded.is_empty())
            .collect()
    }

    /// How many commands were sent since the last [`Proxy::take`].
    pub fn commands(&self) -> usize {
        let connections = locked(&self.shared.connections);
        connections
            .iter()
            .map(|connection| locked(connection).recorded.len())
            .sum()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Shared {
    fn carry(&self, client: TcpStream) -> io::Result<()> {
        let server = TcpStream::connect(&self.server)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let connection = Arc::new(Mutex::new(Connection::default()));
        locked(&self.connections).push(connection.clone());
        let (client_in, server_out) = (client.try_clone()?, server.try_clone()?);
        let requests = connection.clone();
        thread::spawn(move || {
            let _ = forward_commands(client_in, server_out, &requests);
        });
        thread::spawn(move || {
            let _ = forward_answers(server, client, &connection);
        });
        Ok(())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn forward_commands(mut client: TcpStream, mut server: TcpStream, connection: &Mutex<Connection>) -> io::Result<()> {
    let result = (|| {
        let mut packet = Vec::new();
        loop {
            let mut header = [0; 4];
            client.read_exact(&mut header)?;
            let len = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            packet.resize(4 + len, 0);
            packet[..4].copy_from_slice(&header);
            client.read_exact(&mut packet[4..])?;
            // Commands are numbered 0; what has another number belongs to the login.
            if header[3] == 0 {
                locked(connection).command(&packet[4..]);
            }
            server.write_all(&packet)?;
        }
    })();
    let _ = server.shutdown(Shutdown::Both);
    result
}

fn forward_answers(mut server: TcpStream, mut client: TcpStream, connection: &Mutex<Connection>) -> io::Result<()> {
    let result = (|| {
        let mut buffer = vec![0; 256 << 10];
        let mut head = Vec::new();
        loop {
            let read = server.read(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            if locked(connection).preparing.is_some() {
                head.extend_from_slice(&buffer[..read]);
                if head.len() >= 4 + 12 || head.get(4) == Some(&0xff) {
                    locked(connection).prepared(&head[4..]);
                    head.clear();
                }
            }
            client.write_all(&buffer[..read])?;
        }
    })();
    let _ = client.shutdown(Shutdown::Both);
    result
}

impl Connection {
    fn command(&mut self, payload: &[u8]) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let recorded = match Command::decode(payload, Capabilities::default()) {
            Ok(Command::Query(sql)) => Recorded::Query(text(sql)),
            Ok(Command::StmtPrepare(sql)) => {
                self.preparing = Some(text(sql));
                Recorded::Prepare(text(sql))
            }
            Ok(Command::StmtExecute(execute)) => match self.statements.get_mut(&execute.statement_id) {
                Some(statement) => statement.execution(&execute),
                None => Recorded::Other(payload[0]),
            },
            Ok(Command::StmtClose(_)) => Recorded::Close,
            Ok(Command::Quit) => Recorded::Quit,
            _ => Recorded::Other(payload.first().copied().unwrap_or_default()),
        };
        self.recorded.push(recorded);
    }

    /// The first packet of the answer to COM_STMT_PREPARE.
    fn prepared(&mut self, payload: &[u8]) {
        let Some(sql) = self.preparing.take() else { return };
        if let Ok(prepared) = Prepared::decode(payload) {
            let statement = Statement {
                sql,
                parameters: prepared.parameters.into(),
                types: Vec::new(),
            };
            self.statements.insert(prepared.statement_id, statement);
        }
    }
}

impl Statement {
    fn execution(&mut self, execute: &mysql_wire::statement::Execute) -> Recorded {
        let mut values = Vec::new();
        let mut binds = false;
        if let Ok(mut parameters) = execute.parameters(self.parameters) {
            if let Some(types) = parameters.types() {
                binds = true;
                self.types = types.flatten().collect();
            }
            for (index, ty) in self.types.iter().enumerate() {
                match parameters.read(index, *ty) {
                    Ok(value) => values.push(parameter(&value)),
                    Err(_) => break,
                }
            }
        }
        Recorded::Execute {
            sql: self.sql.clone(),
            parameters: values,
            binds: binds || self.parameters == 0,
            types: self.types.iter().map(|ty| ty.ty as u8).collect(),
        }
    }
}

fn parameter(value: &BinaryValue) -> Parameter {
    match value {
        BinaryValue::Null => Parameter::Null,
        BinaryValue::Int(value) => Parameter::Int(*value),
        BinaryValue::UInt(value) => Parameter::Int(*value as i64),
        BinaryValue::Bytes(bytes) => Parameter::Text(String::from_utf8_lossy(bytes).into_owned()),
        other => Parameter::Text(format!("{other:?}")),
    }
}

/// Literals of a text statement as parameters, `?` in their place; names such as `sbtest1` keep their digits.
pub fn parameterized(sql: &str) -> (String, Vec<Parameter>) {
    let mut text = String::new();
    let mut parameters = Vec::new();
    let mut chars = sql.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, c)) = chars.next() {
        if c == '\'' {
            let mut value = String::new();
            while let Some((_, c)) = chars.next() {
                match c {
                    '\'' => break,
                    '\\' => value.extend(chars.next().map(|(_, c)| c)),
                    c => value.push(c),
                }
            }
            parameters.push(Parameter::Text(value));
            text.push('?');
        } else if (c.is_ascii_digit() || c == '-' && chars.peek().is_some_and(|(_, next)| next.is_ascii_digit()))
            && !before.is_ascii_alphanumeric()
            && before != '_'
            && before != '+'
        {
            let mut end = at + 1;
            while let Some((_, digit)) = chars.next_if(|(_, next)| next.is_ascii_digit()) {
                end += digit.len_utf8();
            }
            parameters.push(Parameter::Int(sql[at..end].parse().unwrap_or_default()));
            text.push('?');
        } else {
            text.push(c);
        }
        before = c;
    }
    (text, parameters)
}

/// What the type codes are called, for people.
pub fn type_names(types: &[u8]) -> String {
    let name = |code: &u8| ColumnType::from_code(*code).map_or_else(|| code.to_string(), |ty| format!("{ty:?}"));
    types.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_parameters() {
        let (text, parameters) = parameterized("UPDATE sbtest12 SET k=k+1, c='1-2\\'3' WHERE id IN (5,-6)");
        assert_eq!(text, "UPDATE sbtest12 SET k=k+1, c=? WHERE id IN (?,?)");
        assert_eq!(
            parameters,
            [Parameter::Text("1-2'3".into()), Parameter::Int(5), Parameter::Int(-6)]
        );
    }
}
