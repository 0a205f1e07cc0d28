//! The servers under test and who logs in to them.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};

use crate::DriverError;

/// A database as its clients see it: one server, several, or one name that stands for several.
#[derive(Debug, Clone)]
pub struct Target {
    /// `host:port` of each; connections go to them in turns. A name is resolved for each connection anew, so a name with
    /// several addresses is spread over, and a changed one is followed.
    pub servers: Vec<String>,
    pub user: String,
    pub password: Password,
    pub database: String,
}

/// Never printed, neither by `{:?}` nor into a file.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    pub fn new(text: impl Into<String>) -> Password {
        Password(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(none)" } else { "(hidden)" })
    }
}

impl Target {
    /// The server of the `index`-th connection.
    pub fn server(&self, index: usize) -> Result<&str, DriverError> {
        match self.servers.len() {
            0 => Err(DriverError::NoServer),
            count => Ok(&self.servers[index % count]),
        }
    }
}

/// The address for the `turn`-th connection to `server` (`host:port`), looked up now.
pub(crate) fn resolve(server: &str, turn: usize) -> Result<SocketAddr, DriverError> {
    let addresses: Vec<SocketAddr> = server
        .to_socket_addrs()
        .map_err(|source| DriverError::Resolve {
            server: server.to_owned(),
            source,
        })?
        .collect();
    match addresses.len() {
        0 => Err(DriverError::Resolve {
            server: server.to_owned(),
            source: std::io::Error::other("the name has no address"),
        }),
        count => Ok(addresses[turn % count]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_printed() {
        let target = Target {
            servers: vec!["h:3306".into()],
            user: "u".into(),
            password: Password::new("hunter2"),
            database: "d".into(),
        };
        assert!(!format!("{target:?}").contains("hunter2"));
    }

    #[test]
    fn connections_go_round() {
        let target = Target {
            servers: vec!["a:1".into(), "b:1".into()],
            user: String::new(),
            password: Password::default(),
            database: String::new(),
        };
        let servers: Vec<&str> = (0..4).map(|i| target.server(i).unwrap()).collect();
        assert_eq!(servers, ["a:1", "b:1", "a:1", "b:1"]);
    }
}
