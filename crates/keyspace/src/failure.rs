//! Why a command has no result: what its client is told.

use std::borrow::Cow;

use sql_plan::errors::StatementError;
use transaction::TransactionError;
use types::{ErrorKind, SqlError};

use crate::head::Kind;

/// A command's failure. What it changed before is undone.
#[derive(Debug)]
pub enum Failure {
    /// An error reply, its code in front.
    Reply(Cow<'static, str>),
    /// The same, with bytes in it that a client has sent.
    Naming(Vec<u8>),
    /// Of the layers below.
    Sql(SqlError),
    /// The transaction has to begin anew: a deadlock, a conflict, another leader.
    Again(SqlError),
    /// There is nothing yet of what a blocking command waits for.
    Blocks(Wanted),
}

/// What a blocking command waits for, and what it answers when it has waited in vain.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// It runs again when one of these has changed.
    pub keys: Vec<Vec<u8>>,
    /// None: for ever.
    pub timeout: Option<std::time::Duration>,
    pub in_vain: InVain,
    /// Arguments that stand for what was there when it began to wait, by their positions.
    pub fixed: Vec<(usize, Vec<u8>)>,
    pub turn: Turn,
}

/// Who of those that wait for a key looks when it has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// Of those who wait for a value of this type, the one who has waited longest: what it takes is gone.
    First(Kind),
    /// The same, of the consumers of a group.
    OfGroup(Vec<u8>),
    /// All: what they read stays.
    Everybody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InVain {
    Null,
    NullArray,
}

pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub fn reply(text: impl Into<Cow<'static, str>>) -> Failure {
        Failure::Reply(text.into())
    }

    /// An error reply about what a client has sent: each `{}` stands for a name, as it came. As strings of C, names end with their
    /// first zero.
    pub fn naming(text: &str, names: &[&[u8]]) -> Failure {
        let mut bytes = Vec::new();
        let mut names = names.iter();
        for (at, part) in text.split("{}").enumerate() {
            if at > 0 {
                bytes.extend_from_slice(c_string(names.next().expect("a name for each place")));
            }
            bytes.extend_from_slice(part.as_bytes());
        }
        Failure::Naming(bytes)
    }

    pub fn is_wrong_type(&self) -> bool {
        matches!(self, Failure::Reply(text) if text.starts_with("WRONGTYPE"))
    }

    /// It is none of the command's own: the transaction that it ran in has to begin anew, was interrupted, or has lost the leader. What ran in it
    /// before is not done without the rest.
    pub fn ends_transaction(&self) -> bool {
        match self {
            Failure::Again(_) => true,
            Failure::Sql(error) => matches!(
                error.kind(),
                ErrorKind::QueryInterrupted
                    | ErrorKind::QueryTimeout
                    | ErrorKind::ServerShutdown
                    | ErrorKind::LockWaitTimeout
                    | ErrorKind::UnknownCom
            ),
            Failure::Reply(_) | Failure::Naming(_) | Failure::Blocks(_) => false,
        }
    }

    /// The account may not do that with keys.
    pub fn is_denied(&self) -> bool {
        matches!(self, Failure::Reply(text) if text.starts_with("NOPERM"))
    }

    /// The text for the client.
    pub fn text(&self) -> Cow<'_, [u8]> {
        match self {
            Failure::Reply(text) => Cow::Borrowed(text.as_bytes()),
            Failure::Naming(text) => Cow::Borrowed(text),
            Failure::Sql(error) | Failure::Again(error) => text_of(error).into_bytes().into(),
            Failure::Blocks(_) => Cow::Borrowed(b"ERR a blocking command is not allowed here"),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text()))
    }
}

/// What C takes for a string: all before the first zero.
pub fn c_string(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The beginning of a name, as it is shown where somebody might send a long one.
pub fn beginning(name: &[u8]) -> &[u8] {
    let name = c_string(name);
    &name[..name.len().min(128)]
}

/// Redis's words where it has some, else the message of the SQL side.
fn text_of(error: &SqlError) -> String {
    match error.kind() {
        ErrorKind::RecordFileFull | ErrorKind::OutOfSortMemory | ErrorKind::OutOfResources => {
            "OOM command not allowed when used memory > 'maxmemory'.".to_owned()
        }
        ErrorKind::TooLongKey => "ERR a key or a member is longer than this server keeps".to_owned(),
        ErrorKind::UnknownCom => format!("CLUSTERDOWN {}", error.message()),
        ErrorKind::LockDeadlock | ErrorKind::LockWaitTimeout => format!("TRYAGAIN {}", error.message()),
        ErrorKind::DiskFull => format!("MISCONF {}", error.message()),
        ErrorKind::TableAccessDenied
        | ErrorKind::ColumnAccessDenied
        | ErrorKind::DbAccessDenied
        | ErrorKind::SpecificAccessDenied => {
            format!("NOPERM {}", error.message())
        }
        _ => format!("ERR {}", error.message()),
    }
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Failure {
        match error.kind() {
            ErrorKind::LockDeadlock => Failure::Again(error),
            _ => Failure::Sql(error),
        }
    }
}

impl From<governor::Stop> for Failure {
    fn from(stop: governor::Stop) -> Failure {
        Failure::Sql(stop.into())
    }
}

impl From<TransactionError> for Failure {
    fn from(error: TransactionError) -> Failure {
        StatementError::Transaction(error).into_sql_named("the keys").into()
    }
}

impl From<StatementError> for Failure {
    fn from(error: StatementError) -> Failure {
        error.into_sql_named("the keys").into()
    }
}

// --- what Redis says ---

pub fn wrong_type() -> Failure {
    Failure::reply("WRONGTYPE Operation against a key holding the wrong kind of value")
}

pub fn syntax() -> Failure {
    Failure::reply("ERR syntax error")
}

pub fn not_integer() -> Failure {
    Failure::reply("ERR value is not an integer or out of range")
}

pub fn not_float() -> Failure {
    Failure::reply("ERR value is not a valid float")
}

pub fn out_of_range() -> Failure {
    Failure::reply("ERR value is out of range")
}

pub fn no_such_key() -> Failure {
    Failure::reply("ERR no such key")
}

/// What a subcommand says that is given too much.
pub fn wrong_subcommand(command: &str, given: &[u8]) -> Failure {
    let text = format!("ERR unknown subcommand or wrong number of arguments for '{{}}'. Try {command} HELP.");
    Failure::naming(&text, &[beginning(given)])
}

pub fn wrong_number_of_arguments(command: &str) -> Failure {
    Failure::Reply(format!("ERR wrong number of arguments for '{command}' command").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bytes_up_to_the_first_zero() {
        let failure = Failure::naming("ERR no '{}' in '{}'", &[b"a\xff", b"b\0c"]);
        assert_eq!(&*failure.text(), b"ERR no 'a\xff' in 'b'");
    }
}
