//! The commands of a logged-in client: the first packet of each exchange.

use crate::handshake::Attributes;
use crate::statement::Execute;
use crate::{Capabilities, Malformed, Reader, put};

/// The first byte of a command packet.
pub mod code {
    pub const SLEEP: u8 = 0x00;
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const CREATE_DB: u8 = 0x05;
    pub const DROP_DB: u8 = 0x06;
    pub const REFRESH: u8 = 0x07;
    pub const STATISTICS: u8 = 0x09;
    pub const PROCESS_INFO: u8 = 0x0a;
    pub const PROCESS_KILL: u8 = 0x0c;
    pub const DEBUG: u8 = 0x0d;
    pub const PING: u8 = 0x0e;
    pub const CHANGE_USER: u8 = 0x11;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1a;
    pub const SET_OPTION: u8 = 0x1b;
    pub const STMT_FETCH: u8 = 0x1c;
    pub const RESET_CONNECTION: u8 = 0x1f;
}

/// The flags of COM_REFRESH.
pub mod refresh {
    pub const PRIVILEGES: u8 = 1;
    pub const LOGS: u8 = 2;
    pub const TABLES: u8 = 4;
    pub const HOSTS: u8 = 8;
    pub const STATUS: u8 = 16;
    pub const THREADS: u8 = 32;
}

/// One command, borrowing from its packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command<'a> {
    Quit,
    InitDb(&'a [u8]),
    Query(&'a [u8]),
    FieldList {
        table: &'a [u8],
        wildcard: &'a [u8],
    },
    /// The flags of what to flush: see [`refresh`].
    Refresh(u8),
    Statistics,
    ProcessInfo,
    ProcessKill(u32),
    Debug,
    Ping,
    ChangeUser(ChangeUser<'a>),
    ResetConnection,
    SetOption(SetOption),
    StmtPrepare(&'a [u8]),
    StmtExecute(Execute<'a>),
    /// A piece of a parameter's value; has no answer.
    StmtSendLongData {
        statement_id: u32,
        parameter: u16,
        data: &'a [u8],
    },
    /// Has no answer.
    StmtClose(u32),
    StmtReset(u32),
    StmtFetch {
        statement_id: u32,
        rows: u32,
    },
    Unknown(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOption {
    MultiStatementsOn,
    MultiStatementsOff,
}

/// A new login on an open connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    pub user: &'a [u8],
    pub auth_answer: &'a [u8],
    pub database: &'a [u8],
    pub collation: Option<u16>,
    pub plugin: Option<&'a [u8]>,
    pub attributes: Attributes<'a>,
}

impl<'a> Command<'a> {
    /// `capabilities` are those of the session; they decide which fields COM_CHANGE_USER has.
    #[inline]
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, Malformed> {
        let mut reader = Reader::new(payload);
        Ok(match reader.u8("command")? {
            code::STMT_EXECUTE => Command::StmtExecute(Execute::read(&mut reader)?),
            code::QUERY => Command::Query(reader.take_rest()),
            code::STMT_PREPARE => Command::StmtPrepare(reader.take_rest()),
            code::STMT_CLOSE => Command::StmtClose(reader.u32("statement id")?),
            code::STMT_RESET => Command::StmtReset(reader.u32("statement id")?),
            code::STMT_FETCH => Command::StmtFetch {
                statement_id: reader.u32("statement id")?,
                rows: reader.u32("rows")?,
            },
            code::STMT_SEND_LONG_DATA => Command::StmtSendLongData {
                statement_id: reader.u32("statement id")?,
                parameter: reader.u16("parameter")?,
                data: reader.take_rest(),
            },
            code::PING => Command::Ping,
            code::QUIT => Command::Quit,
            code::INIT_DB => Command::InitDb(reader.take_rest()),
            code::FIELD_LIST => Command::FieldList {
                table: reader.nul_bytes("table")?,
                wildcard: reader.take_rest(),
            },
            code::REFRESH => Command::Refresh(reader.u8("what to refresh")?),
            code::STATISTICS => Command::Statistics,
            code::PROCESS_INFO => Command::ProcessInfo,
            code::PROCESS_KILL => Command::ProcessKill(reader.u32("connection id")?),
            code::DEBUG => Command::Debug,
            code::CHANGE_USER => Command::ChangeUser(ChangeUser::read(&mut reader, capabilities)?),
            code::RESET_CONNECTION => Command::ResetConnection,
            code::SET_OPTION => Command::SetOption(match reader.u16("option")? {
                0 => SetOption::MultiStatementsOn,
                1 => SetOption::MultiStatementsOff,
                _ => return Ok(Command::Unknown(code::SET_OPTION)),
            }),
            unknown => Command::Unknown(unknown),
        })
    }

    pub fn encode(&self, out: &mut Vec<u8>, capabilities: Capabilities) {
        match self {
            Command::Quit => out.push(code::QUIT),
            Command::InitDb(database) => with_text(out, code::INIT_DB, database),
            Command::Query(sql) => with_text(out, code::QUERY, sql),
            Command::FieldList { table, wildcard } => {
                out.push(code::FIELD_LIST);
                put::nul_bytes(out, table);
                out.extend_from_slice(wildcard);
            }
            Command::Refresh(flags) => out.extend_from_slice(&[code::REFRESH, *flags]),
            Command::Statistics => out.push(code::STATISTICS),
            Command::ProcessInfo => out.push(code::PROCESS_INFO),
            Command::ProcessKill(connection_id) => with_id(out, code::PROCESS_KILL, *connection_id),
            Command::Debug => out.push(code::DEBUG),
            Command::Ping => out.push(code::PING),
            Command::ChangeUser(change) => change.encode(out, capabilities),
            Command::ResetConnection => out.push(code::RESET_CONNECTION),
            Command::SetOption(option) => {
                out.push(code::SET_OPTION);
                put::u16(out, *option as u16);
            }
            Command::StmtPrepare(sql) => with_text(out, code::STMT_PREPARE, sql),
            Command::StmtExecute(execute) => execute.encode(out),
            Command::StmtSendLongData {
                statement_id,
                parameter,
                data,
            } => {
                with_id(out, code::STMT_SEND_LONG_DATA, *statement_id);
                put::u16(out, *parameter);
                out.extend_from_slice(data);
            }
            Command::StmtClose(statement_id) => with_id(out, code::STMT_CLOSE, *statement_id),
            Command::StmtReset(statement_id) => with_id(out, code::STMT_RESET, *statement_id),
            Command::StmtFetch { statement_id, rows } => {
                with_id(out, code::STMT_FETCH, *statement_id);
                put::u32(out, *rows);
            }
            Command::Unknown(code) => out.push(*code),
        }
    }
}

fn with_text(out: &mut Vec<u8>, code: u8, text: &[u8]) {
    out.push(code);
    out.extend_from_slice(text);
}

fn with_id(out: &mut Vec<u8>, code: u8, id: u32) {
    out.push(code);
    put::u32(out, id);
}

impl<'a> ChangeUser<'a> {
    fn read(reader: &mut Reader<'a>, capabilities: Capabilities) -> Result<Self, Malformed> {
        let user = reader.nul_bytes("user")?;
        let len = reader.u8("auth answer length")?;
        let auth_answer = reader.bytes(len.into(), "auth answer")?;
        let database = reader.nul_or_rest();
        let collation = if reader.is_empty() {
            None
        } else {
            Some(reader.u16("collation")?)
        };
        let has = |flag, reader: &Reader| capabilities.contains(flag) && !reader.is_empty();
        let plugin = has(Capabilities::PLUGIN_AUTH, reader).then(|| reader.nul_or_rest());
        let attributes = if has(Capabilities::CONNECT_ATTRS, reader) {
            Attributes::read(reader)?
        } else {
            Attributes::default()
        };
        Ok(ChangeUser {
            user,
            auth_answer,
            database,
            collation,
            plugin,
            attributes,
        })
    }

    fn encode(&self, out: &mut Vec<u8>, capabilities: Capabilities) {
        out.push(code::CHANGE_USER);
        put::nul_bytes(out, self.user);
        out.push(self.auth_answer.len() as u8);
        out.extend_from_slice(self.auth_answer);
        put::nul_bytes(out, self.database);
        let Some(collation) = self.collation else { return };
        put::u16(out, collation);
        if let (true, Some(plugin)) = (capabilities.contains(Capabilities::PLUGIN_AUTH), self.plugin) {
            put::nul_bytes(out, plugin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_read_back() {
        let capabilities = Capabilities::PLUGIN_AUTH;
        let change = ChangeUser {
            user: b"root",
            auth_answer: &[1; 20],
            database: b"test",
            collation: Some(255),
            plugin: Some(b"mysql_native_password"),
            attributes: Attributes::default(),
        };
        let commands = [
            Command::Quit,
            Command::InitDb(b"test"),
            Command::Query(b"select 1"),
            Command::FieldList {
                table: b"t",
                wildcard: b"%",
            },
            Command::Refresh(refresh::LOGS),
            Command::Statistics,
            Command::ProcessInfo,
            Command::ProcessKill(7),
            Command::Debug,
            Command::Ping,
            Command::ChangeUser(change),
            Command::ResetConnection,
            Command::SetOption(SetOption::MultiStatementsOn),
            Command::SetOption(SetOption::MultiStatementsOff),
            Command::StmtPrepare(b"select ?"),
            Command::StmtSendLongData {
                statement_id: 1,
                parameter: 2,
                data: b"xyz",
            },
            Command::StmtClose(3),
            Command::StmtReset(4),
            Command::StmtFetch {
                statement_id: 5,
                rows: 6,
            },
            Command::Unknown(0x77),
        ];
        for command in commands {
            let mut out = Vec::new();
            command.encode(&mut out, capabilities);
            assert_eq!(Command::decode(&out, capabilities), Ok(command));
        }
    }

    #[test]
    fn an_old_clients_change_user_ends_at_the_database() {
        let command = Command::decode(b"\x11root\0\x00test\0", Capabilities::PLUGIN_AUTH).unwrap();
        let Command::ChangeUser(change) = command else {
            panic!("change user")
        };
        assert_eq!(
            (change.user, change.database, change.collation, change.plugin),
            (&b"root"[..], &b"test"[..], None, None)
        );
    }

    #[test]
    fn short_commands_are_malformed() {
        assert_eq!(Command::decode(b"", Capabilities::default()), Err(Malformed("command")));
        assert_eq!(
            Command::decode(b"\x19\x01\x00", Capabilities::default()),
            Err(Malformed("statement id"))
        );
    }
}
