//! The servers under test and who logs in to them.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::DriverError;

/// A database as its clients see it: one server, several, or one name that stands for several.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Target {
    /// `host:port` of each; connections go to them in turns. A name is resolved for each connection anew, so a name with
    /// several addresses is spread over, and a changed one is followed.
    pub servers: Vec<String>,
    pub user: String,
    /// Left out where a target is written down: whoever reads it has to be told apart.
    #[serde(skip)]
    pub password: Password,
    pub database: String,
    #[serde(default)]
    pub tls: Tls,
}

/// Whether connections are encrypted, and what is checked of the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    pub mode: TlsMode,
    /// Certificates of the authorities that may have signed the server's, or that certificate itself. Without it the system's.
    pub ca: Option<Pem>,
    /// The client's own certificates, its own first, and their key.
    pub identity: Option<Identity>,
}

/// MySQL's `ssl-mode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TlsMode {
    #[default]
    Disabled,
    /// Where the server offers it; nothing is checked.
    Preferred,
    /// Always; nothing is checked, so that a server's own certificate will do.
    Required,
    /// The certificate must be signed by a known authority and be valid now.
    VerifyCa,
    /// And be made out to the host name that was connected to.
    VerifyIdentity,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub certificate: Pem,
    pub key: Pem,
}

/// A file in PEM form, read when the target was made. Its text may be a key: it is neither printed nor written down.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pem {
    pub path: PathBuf,
    #[serde(skip)]
    text: Vec<u8>,
}

impl Pem {
    pub fn read(path: &Path) -> std::io::Result<Pem> {
        Ok(Pem::new(path, std::fs::read(path)?))
    }

    /// Of a text that was read already.
    pub fn new(path: &Path, text: impl Into<Vec<u8>>) -> Pem {
        Pem {
            path: path.to_owned(),
            text: text.into(),
        }
    }

    /// For those who send it on over a line that is encrypted.
    pub fn reveal(&self) -> &[u8] {
        &self.text
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pem({})", self.path.display())
    }
}

impl TlsMode {
    pub const ALL: [TlsMode; 5] = [
        TlsMode::Disabled,
        TlsMode::Preferred,
        TlsMode::Required,
        TlsMode::VerifyCa,
        TlsMode::VerifyIdentity,
    ];

    /// As plans and results write it.
    pub fn name(self) -> &'static str {
        match self {
            TlsMode::Disabled => "disabled",
            TlsMode::Preferred => "preferred",
            TlsMode::Required => "required",
            TlsMode::VerifyCa => "verify_ca",
            TlsMode::VerifyIdentity => "verify_identity",
        }
    }

    pub fn verifies(self) -> bool {
        matches!(self, TlsMode::VerifyCa | TlsMode::VerifyIdentity)
    }
}

/// Never printed, neither by `{:?}` nor into a file.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    pub fn new(text: impl Into<String>) -> Password {
        Password(text.into())
    }

    /// For those who send it on over a line that is encrypted.
    pub fn reveal(&self) -> &str {
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
            tls: Tls::default(),
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
            tls: Tls::default(),
        };
        let servers: Vec<&str> = (0..4).map(|i| target.server(i).unwrap()).collect();
        assert_eq!(servers, ["a:1", "b:1", "a:1", "b:1"]);
    }
}
