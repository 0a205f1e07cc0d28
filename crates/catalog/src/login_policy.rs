//! What an account asks of its logins and passwords beyond a proof of who it is: the clauses of `CREATE USER` behind
//! `IDENTIFIED`. (MySQL manual, "CREATE USER Statement", from "SSL/TLS Options" on.)
//!
//! `None` stands for MySQL's `DEFAULT`: the global variable of the same name decides.

use serde::{Deserialize, Serialize};

/// All clauses of one account. A directory of an older version has none of them, and gets the defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoginPolicy {
    pub tls: TlsRequirement,
    pub limits: ResourceLimits,
    pub password: PasswordPolicy,
    /// `ATTRIBUTE` and `COMMENT`: the text of a JSON object.
    pub attribute: Option<String>,
}

/// `REQUIRE …`
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum TlsRequirement {
    #[default]
    None,
    /// `SSL`: the connection is encrypted.
    Encrypted,
    /// `X509`: the client has shown a certificate of a known authority.
    Certificate,
    /// `CIPHER`, `ISSUER`, `SUBJECT`: what the connection and its certificate must be exactly. An issuer or a subject asks for a
    /// certificate, a cipher alone does not.
    Exactly {
        cipher: Option<String>,
        issuer: Option<String>,
        subject: Option<String>,
    },
}

/// `WITH MAX_… n`; 0 is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceLimits {
    pub queries_per_hour: u32,
    pub updates_per_hour: u32,
    pub connections_per_hour: u32,
    pub user_connections: u32,
}

/// How long a password lives, what may follow it, and what wrong ones lead to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PasswordPolicy {
    /// Seconds since 1970; 0 where it was not written down.
    pub changed_at: i64,
    /// `PASSWORD EXPIRE`: it must be changed before anything else.
    pub expired: bool,
    /// Days; 0 is NEVER.
    pub lifetime_days: Option<u16>,
    /// How many of the newest passwords may not come again.
    pub history: Option<u16>,
    /// For how many days a password may not come again.
    pub reuse_days: Option<u16>,
    /// Whether one's own password is changed only by who names it.
    pub require_current: Option<bool>,
    /// The password before, which still opens the account (`RETAIN CURRENT PASSWORD`). Empty: none.
    pub second: Vec<u8>,
    /// Used before, the newest first; the current one is among them.
    pub past: Vec<PastPassword>,
    /// Wrong passwords in a row that lock the account; 0: they do not.
    pub failed_login_attempts: u16,
    /// For how long. None: until it is unlocked.
    pub lock_time: LockTime,
}

/// A password as it was stored, and when it was set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastPassword {
    pub authentication: Vec<u8>,
    /// Seconds since 1970.
    pub set_at: i64,
}

/// `PASSWORD_LOCK_TIME`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LockTime {
    /// 0: wrong passwords lock nothing.
    Days(u16),
    Unbounded,
}

impl Default for LockTime {
    fn default() -> LockTime {
        LockTime::Days(0)
    }
}

impl PasswordPolicy {
    /// Whether wrong passwords lock the account.
    pub fn locks(&self) -> bool {
        self.failed_login_attempts > 0 && self.lock_time != LockTime::Days(0)
    }
}

impl ResourceLimits {
    pub fn is_unlimited(&self) -> bool {
        *self == ResourceLimits::default()
    }
}
