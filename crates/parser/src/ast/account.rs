//! Users, roles, privileges.

use super::{Ident, TableName};

/// A user or a role.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Account {
    /// `'user'[@'host']`; no host stands for `%`. Host names are lower case.
    Named { user: Box<str>, host: Option<Box<str>> },
    /// `CURRENT_USER[()]`
    CurrentUser,
}

/// How one user logs in.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSpec {
    pub account: Account,
    /// Up to three factors, in order.
    pub auth: Vec<AuthFactor>,
    pub action: Option<UserAction>,
}

/// `IDENTIFIED [WITH plugin] [BY 'password' | BY RANDOM PASSWORD | AS 'hash']`
#[derive(Debug, Clone, PartialEq)]
pub struct AuthFactor {
    pub plugin: Option<Ident>,
    pub secret: AuthSecret,
    /// `REPLACE 'current password'`
    pub replace: Option<Box<[u8]>>,
    /// `RETAIN CURRENT PASSWORD`
    pub retain_current: bool,
    /// `INITIAL AUTHENTICATION ...` of a passwordless factor.
    pub initial: Option<Box<AuthFactor>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AuthSecret {
    /// `IDENTIFIED WITH plugin` alone.
    None,
    Password(Box<[u8]>),
    RandomPassword,
    /// `AS 'string the plugin understands'`
    Hash(Box<[u8]>),
}

/// What ALTER USER can do to one user beside a new first factor.
#[derive(Debug, Clone, PartialEq)]
pub enum UserAction {
    /// `DISCARD OLD PASSWORD`
    DiscardOldPassword,
    /// `ADD n FACTOR IDENTIFIED ...`, with the factors in `auth`.
    AddFactors(Vec<u8>),
    /// `MODIFY n FACTOR IDENTIFIED ...`, with the factors in `auth`.
    ModifyFactors(Vec<u8>),
    DropFactors(Vec<u8>),
    /// `n FACTOR INITIATE REGISTRATION`
    InitiateRegistration(u8),
    /// `n FACTOR FINISH REGISTRATION SET CHALLENGE_RESPONSE AS 'text'`
    FinishRegistration(u8, Box<[u8]>),
    /// `n FACTOR UNREGISTER`
    Unregister(u8),
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateUser {
    pub if_not_exists: bool,
    pub users: Vec<UserSpec>,
    pub default_roles: Vec<Account>,
    pub options: AccountOptions,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterUser {
    pub if_exists: bool,
    pub users: Vec<UserSpec>,
    /// `ALTER USER u DEFAULT ROLE ...`
    pub default_role: Option<super::SetRole>,
    pub options: AccountOptions,
}

/// What follows the list of users.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AccountOptions {
    pub require: Option<TlsRequirement>,
    /// `WITH MAX_.. n ...`
    pub limits: Vec<(ResourceLimit, u64)>,
    pub password_options: Vec<PasswordOption>,
    /// `ACCOUNT LOCK` / `UNLOCK`
    pub locked: Option<bool>,
    pub comment: Option<Box<str>>,
    /// `ATTRIBUTE 'json'`
    pub attribute: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TlsRequirement {
    None,
    Ssl,
    X509,
    Fields {
        cipher: Option<Box<str>>,
        issuer: Option<Box<str>>,
        subject: Option<Box<str>>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceLimit {
    QueriesPerHour,
    UpdatesPerHour,
    ConnectionsPerHour,
    UserConnections,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordOption {
    /// `PASSWORD EXPIRE`: now.
    Expire,
    ExpireDefault,
    ExpireNever,
    ExpireInterval(u64),
    /// None is DEFAULT.
    History(Option<u64>),
    /// None is DEFAULT.
    ReuseInterval(Option<u64>),
    RequireCurrent,
    RequireCurrentOptional,
    RequireCurrentDefault,
    FailedLoginAttempts(u64),
    /// None is UNBOUNDED.
    LockTime(Option<u64>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropUser {
    pub if_exists: bool,
    pub accounts: Vec<Account>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateRole {
    pub if_not_exists: bool,
    pub roles: Vec<Account>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropRole {
    pub if_exists: bool,
    pub roles: Vec<Account>,
}

/// GRANT. `REVOKE` has the same shape, see [`Revoke`].
#[derive(Debug, Clone, PartialEq)]
pub enum Grant {
    Privileges {
        privileges: Privileges,
        target: GrantTarget,
        accounts: Vec<Account>,
        /// `WITH GRANT OPTION`
        grant_option: bool,
        /// `AS user [WITH ROLE ..]`
        grantor: Option<(Account, Option<super::SetRole>)>,
    },
    Roles {
        roles: Vec<Account>,
        accounts: Vec<Account>,
        admin_option: bool,
    },
    Proxy {
        proxied: Account,
        accounts: Vec<Account>,
        grant_option: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Revoke {
    pub if_exists: bool,
    pub what: RevokeWhat,
    pub accounts: Vec<Account>,
    pub ignore_unknown_user: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RevokeWhat {
    Privileges {
        privileges: Privileges,
        target: GrantTarget,
    },
    /// `ALL PRIVILEGES, GRANT OPTION`
    Everything,
    Roles(Vec<Account>),
    Proxy(Account),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Privileges {
    All,
    List(Vec<Privilege>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Privilege {
    /// Upper case, words separated by one space: `SELECT`, `CREATE TEMPORARY TABLES`, `BACKUP_ADMIN`.
    pub name: Box<str>,
    pub columns: Vec<Ident>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct GrantTarget {
    pub kind: GrantKind,
    pub level: GrantLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GrantKind {
    Table,
    Function,
    Procedure,
}

#[derive(Debug, Clone, PartialEq)]
pub enum GrantLevel {
    /// `*.*`
    Global,
    /// `schema.*`
    Schema(Ident),
    /// `*`: all of the current schema.
    CurrentSchema,
    Object(TableName),
}
