//! Accounts: who may log in, from where, with what.

use serde::{Deserialize, Serialize};

use crate::LoginPolicy;

/// `'user'@'host'`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccountDef {
    pub user: String,
    /// A host name, an address, or a pattern with `%` and `_`.
    pub host: String,
    pub plugin: AuthenticationPlugin,
    /// What the plugin compares with: `*` and 40 hex digits for `mysql_native_password`, `$A$005$` and salt and digest
    /// for `caching_sha2_password`. Empty: no password.
    pub authentication: Vec<u8>,
    pub locked: bool,
    /// Global privileges.
    pub privileges: Privileges,
    /// Privileges on one database.
    #[serde(default)]
    pub database_privileges: Vec<(String, Privileges)>,
    /// Privileges on one table.
    #[serde(default)]
    pub table_privileges: Vec<(String, String, Privileges)>,
    /// What its logins and passwords have to satisfy.
    #[serde(default)]
    pub policy: LoginPolicy,
}

impl AccountDef {
    /// An account that nobody has a password for yet, without privileges.
    pub fn new(user: impl Into<String>, host: impl Into<String>) -> AccountDef {
        AccountDef {
            user: user.into(),
            host: host.into(),
            plugin: AuthenticationPlugin::CachingSha2Password,
            authentication: Vec::new(),
            locked: false,
            privileges: Privileges::NONE,
            database_privileges: Vec::new(),
            table_privileges: Vec::new(),
            policy: LoginPolicy::default(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AuthenticationPlugin {
    NativePassword,
    CachingSha2Password,
}

impl AuthenticationPlugin {
    pub fn name(self) -> &'static str {
        match self {
            AuthenticationPlugin::NativePassword => "mysql_native_password",
            AuthenticationPlugin::CachingSha2Password => "caching_sha2_password",
        }
    }

    pub fn by_name(name: &str) -> Option<AuthenticationPlugin> {
        [
            AuthenticationPlugin::NativePassword,
            AuthenticationPlugin::CachingSha2Password,
        ]
        .into_iter()
        .find(|plugin| plugin.name().eq_ignore_ascii_case(name))
    }
}

/// A set of privileges, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Privileges(pub u64);

impl Privileges {
    /// Name as in `GRANT`, in the order in which `SHOW GRANTS` lists them.
    pub const NAMES: [&'static str; 28] = [
        "SELECT",
        "INSERT",
        "UPDATE",
        "DELETE",
        "CREATE",
        "DROP",
        "RELOAD",
        "SHUTDOWN",
        "PROCESS",
        "FILE",
        "REFERENCES",
        "INDEX",
        "ALTER",
        "SHOW DATABASES",
        "SUPER",
        "CREATE TEMPORARY TABLES",
        "LOCK TABLES",
        "EXECUTE",
        "REPLICATION SLAVE",
        "REPLICATION CLIENT",
        "CREATE VIEW",
        "SHOW VIEW",
        "CREATE ROUTINE",
        "ALTER ROUTINE",
        "CREATE USER",
        "EVENT",
        "TRIGGER",
        "CREATE TABLESPACE",
    ];
    pub const GRANT_OPTION: Privileges = Privileges(1 << 63);
    pub const NONE: Privileges = Privileges(0);
    /// Everything but `GRANT OPTION`.
    pub const ALL: Privileges = Privileges((1 << Privileges::NAMES.len()) - 1);

    pub fn by_name(name: &str) -> Option<Privileges> {
        let position = Privileges::NAMES
            .iter()
            .position(|known| known.eq_ignore_ascii_case(name))?;
        Some(Privileges(1 << position))
    }

    pub fn contains(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn with(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    pub fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Privileges::NAMES
            .into_iter()
            .enumerate()
            .filter(move |(bit, _)| self.0 & (1 << bit) != 0)
            .map(|(_, name)| name)
    }
}
