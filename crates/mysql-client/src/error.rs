//! Why a connection is of no more use. An error that a *statement* met is an [`Answer`](crate::Answer), not one of these.

use std::io;

use mysql_wire::Malformed;
use mysql_wire::response::ErrPacket;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum ClientError {
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: io::Error },
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    #[error("the server closed the connection")]
    Closed,
    #[error("the server sent something that is not the MySQL protocol: {0}")]
    Malformed(#[from] Malformed),
    /// The server said no before the first statement.
    #[error("ERROR {code} ({sqlstate}): {message}")]
    Refused {
        code: u16,
        sqlstate: String,
        message: String,
    },
    #[error("the account uses `{0}`, which this client does not speak")]
    UnknownPlugin(String),
    #[error("the server's public key is not one for RSA")]
    PublicKey,
}

impl ClientError {
    pub(crate) fn refused(packet: &[u8]) -> Self {
        match ErrPacket::decode(packet) {
            Ok(error) => Self::Refused {
                code: error.code,
                sqlstate: String::from_utf8_lossy(&error.sqlstate).into_owned(),
                message: String::from_utf8_lossy(error.message).into_owned(),
            },
            Err(malformed) => Self::Malformed(malformed),
        }
    }
}
