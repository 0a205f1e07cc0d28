//! Why the driver cannot go on. Errors that the workload lives with are counted in the outcome instead.

use std::io;
use std::time::Duration;

use mysql_wire::Malformed;
use mysql_wire::frame::FrameError;
use mysql_wire::response::ErrPacket;

use crate::client::TlsFailure;

#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("cannot connect to {server}: {source}: {}", connect_advice(source))]
    Connect { server: String, source: io::Error },
    #[error("{server}: no such name: {source}")]
    Resolve { server: String, source: io::Error },
    #[error("{server}: the connection broke: {source}")]
    Io { server: String, source: io::Error },
    #[error("{server} closed the connection")]
    Closed { server: String },
    /// No answer, and not even a greeting for anybody else.
    #[error(
        "{server} has given no answer for {} s, and does not greet new connections either: the server or the network to it hangs",
        .waited.as_secs()
    )]
    Silent { server: String, waited: Duration },
    #[error("{server} sent something that is not the MySQL protocol: {what}")]
    Protocol { server: String, what: String },
    /// A statement was refused; `statement` is its beginning.
    #[error("{server}: error {code} ({sqlstate}): {message} [{statement}]")]
    Server {
        server: String,
        code: u16,
        sqlstate: String,
        message: String,
        statement: String,
    },
    #[error(
        "{server}: the account uses `{plugin}`; the driver speaks mysql_native_password and caching_sha2_password: make an account with one of these"
    )]
    Plugin { server: String, plugin: String },
    #[error("{server}: the server's public key is not one for RSA")]
    PublicKey { server: String },
    #[error(
        "{server}: the account uses `mysql_clear_password`, which sends the password as it is: encrypt the connection (`tls = \"required\"`), or make an account with another plugin"
    )]
    ClearPassword { server: String },
    /// The connection could not be encrypted as the target wants it; `what` says what to do.
    #[error("{server}: {what}")]
    Tls { server: String, what: String },
    #[error("no server is given")]
    NoServer,
    #[error("{0}")]
    Workload(#[from] crate::WorkloadError),
    /// The rung or its parts ask for something impossible.
    #[error("{0}")]
    Spec(String),
    /// The operating system refused what a loop needs (epoll, timer, thread).
    #[error("the system refused: {0}")]
    System(io::Error),
    #[error("sysbench: {0}")]
    Sysbench(String),
    #[error("stopped")]
    Stopped,
}

impl DriverError {
    /// What to do about it, where that is not in the error itself.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            DriverError::Resolve { .. } => Some("is the address right?"),
            DriverError::Server { code, .. } => match code {
                1045 | 1698 => Some(
                    "are `user` and its password (`password_env`, `password_file`) right, and may it log in from this machine?",
                ),
                1044 | 1142 | 1143 | 1227 => {
                    Some("give the account the rights to create, fill, change and drop tables in that database")
                }
                1040 | 1203 | 1226 => Some("SET GLOBAL max_connections higher, or ask for fewer threads"),
                1461 => Some("SET GLOBAL max_prepared_stmt_count higher, or db_ps_mode = \"disable\" in the workload"),
                1290 | 1836 => Some(
                    "let the server be written to, or measure workloads that only read, with tables that are there",
                ),
                _ => None,
            },
            _ => None,
        }
    }

    /// The error and its remedy.
    pub fn with_remedy(&self) -> String {
        match self.remedy() {
            Some(remedy) => format!("{self}: {remedy}"),
            None => self.to_string(),
        }
    }
}

fn connect_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no port left for one more connection to it: widen net.ipv4.ip_local_port_range, or ask for fewer connections"
        }
        _ => "is it up, and is the address right?",
    }
}

/// What went wrong on one connection, before it is known which server that was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("closed")]
    Closed,
    #[error("no answer for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("stopped")]
    Stopped,
    #[error("{0}")]
    Malformed(#[from] Malformed),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("error {} ({}): {}", .0.code, .0.sqlstate, .0.message)]
    Refused(Refusal),
    #[error("plugin {0}")]
    Plugin(String),
    #[error("public key")]
    PublicKey,
    #[error("password in clear")]
    ClearPassword,
    #[error("{0}")]
    Tls(#[from] TlsFailure),
}

/// A server's ERR packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub code: u16,
    pub sqlstate: String,
    pub message: String,
}

impl Refusal {
    pub fn decode(packet: &[u8]) -> Result<Refusal, Malformed> {
        let error = ErrPacket::decode(packet)?;
        Ok(Refusal {
            code: error.code,
            sqlstate: String::from_utf8_lossy(&error.sqlstate).into_owned(),
            message: String::from_utf8_lossy(error.message).into_owned(),
        })
    }
}

/// How much of a statement an error shows.
const STATEMENT_SHOWN: usize = 80;

impl LinkError {
    pub fn refused(packet: &[u8]) -> LinkError {
        match Refusal::decode(packet) {
            Ok(refusal) => LinkError::Refused(refusal),
            Err(malformed) => LinkError::Malformed(malformed),
        }
    }

    /// With the server's address and the statement that was being run.
    pub fn at(self, server: &str, statement: &str) -> DriverError {
        let server = server.to_owned();
        match self {
            LinkError::Io(source) => DriverError::Io { server, source },
            LinkError::Closed => DriverError::Closed { server },
            LinkError::Silent(waited) => DriverError::Silent { server, waited },
            LinkError::Stopped => DriverError::Stopped,
            LinkError::Malformed(what) => DriverError::Protocol {
                server,
                what: what.to_string(),
            },
            LinkError::Frame(what) => DriverError::Protocol {
                server,
                what: what.to_string(),
            },
            LinkError::Refused(refusal) => DriverError::Server {
                server,
                code: refusal.code,
                sqlstate: refusal.sqlstate,
                message: refusal.message,
                statement: statement.chars().take(STATEMENT_SHOWN).collect(),
            },
            LinkError::Plugin(plugin) => DriverError::Plugin { server, plugin },
            LinkError::PublicKey => DriverError::PublicKey { server },
            LinkError::ClearPassword => DriverError::ClearPassword { server },
            LinkError::Tls(failure) => DriverError::Tls {
                server,
                what: failure.to_string(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_ran_out_are_not_the_servers_fault() {
        let said = |kind: io::ErrorKind| {
            let server = "h:1".to_owned();
            DriverError::Connect {
                server,
                source: kind.into(),
            }
            .to_string()
        };
        assert!(said(io::ErrorKind::AddrNotAvailable).contains("ip_local_port_range"));
        assert!(said(io::ErrorKind::ConnectionRefused).contains("is it up"));
    }
}
