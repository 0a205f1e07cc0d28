//! Accounts: who may log in, from where, with what.

use serde::{Deserialize, Serialize};

use super::{DynamicPrivileges, LoginPolicy, Privileges, RoutineKind};

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
    /// `None` in rows that were written before these privileges were there.
    #[serde(default)]
    pub dynamic_privileges: Option<DynamicPrivileges>,
    /// Privileges on the databases that a pattern stands for.
    #[serde(default)]
    pub database_privileges: Vec<(String, Privileges)>,
    /// What was taken back of the global privileges on one database: partial revokes.
    #[serde(default)]
    pub restrictions: Vec<(String, Privileges)>,
    /// Privileges on one table.
    #[serde(default)]
    pub table_privileges: Vec<(String, String, Privileges)>,
    /// Privileges on one column.
    #[serde(default)]
    pub column_privileges: Vec<ColumnPrivileges>,
    /// Privileges on one routine. Not written while there are none: versions without stored programs do not know them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routine_privileges: Vec<RoutinePrivileges>,
    /// The roles that were granted to the account.
    #[serde(default)]
    pub roles: Vec<GrantedRole>,
    /// The roles that are active after a login.
    #[serde(default)]
    pub default_roles: Vec<(String, String)>,
    /// What its logins and passwords have to satisfy.
    #[serde(default)]
    pub policy: LoginPolicy,
}

/// Privileges on one column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnPrivileges {
    pub database: String,
    pub table: String,
    pub column: String,
    pub privileges: Privileges,
}

/// Privileges on one routine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutinePrivileges {
    pub database: String,
    pub kind: RoutineKind,
    /// In lower case: the name is the same in any.
    pub name: String,
    pub privileges: Privileges,
}

/// A role that an account has. Every account can be a role of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedRole {
    pub user: String,
    pub host: String,
    /// `WITH ADMIN OPTION`: it may be passed on.
    pub admin: bool,
}

impl AccountDef {
    /// An account without password and privileges.
    pub fn new(user: impl Into<String>, host: impl Into<String>) -> AccountDef {
        AccountDef {
            user: user.into(),
            host: host.into(),
            plugin: AuthenticationPlugin::CachingSha2Password,
            authentication: Vec::new(),
            locked: false,
            privileges: Privileges::NONE,
            dynamic_privileges: Some(DynamicPrivileges::NONE),
            database_privileges: Vec::new(),
            restrictions: Vec::new(),
            table_privileges: Vec::new(),
            column_privileges: Vec::new(),
            routine_privileges: Vec::new(),
            roles: Vec::new(),
            default_roles: Vec::new(),
            policy: LoginPolicy::default(),
        }
    }

    pub fn dynamic(&self) -> DynamicPrivileges {
        self.dynamic_privileges.unwrap_or_default()
    }

    /// A row of an older version, with what its privileges mean in this one: whoever had SUPER has the privileges that it was divided
    /// into, as after an upgrade of MySQL.
    pub(crate) fn upgraded(mut self) -> AccountDef {
        if self.dynamic_privileges.is_none() {
            self.privileges = self.privileges.upgraded();
            let super_user = self.privileges.contains(Privileges::SUPER);
            self.dynamic_privileges = Some(match (super_user, self.privileges.contains(Privileges::GRANT_OPTION)) {
                (true, true) => DynamicPrivileges::ALL.grantable(),
                (true, false) => DynamicPrivileges::ALL,
                (false, _) => DynamicPrivileges::NONE,
            });
        }
        self
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
