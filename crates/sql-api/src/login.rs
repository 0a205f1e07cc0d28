//! What a front tells of a client that logs in, and what it hears of the account.

use crate::session::Encryption;

/// What a login knows of its client.
#[derive(Debug, Clone, Default)]
pub struct Client {
    /// The user name that the client gave, and the host it comes from, as messages name them.
    pub user: String,
    pub host: String,
    pub using_password: bool,
    pub encryption: Option<Encryption>,
    pub certificate: Option<Certificate>,
    /// CLIENT_CAN_HANDLE_EXPIRED_PASSWORDS
    pub handles_expired_password: bool,
}

/// The names in a certificate that a client has shown and an authority has signed, as OpenSSL writes them on one line:
/// `/C=SE/O=Example/CN=app`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Certificate {
    pub subject: String,
    pub issuer: String,
}

/// An account's standing at the moment of a login.
#[derive(Debug, Clone, Default)]
pub struct Standing {
    /// Gets a place when all others are taken (CONNECTION_ADMIN, SUPER).
    pub is_administrator: bool,
    /// `MAX_USER_CONNECTIONS` of the account; 0 is none.
    pub user_connections_max: u32,
    /// The password has to be changed before anything else.
    pub password_expired: bool,
}
