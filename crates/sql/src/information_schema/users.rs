//! Accounts, as `mysql.user` and `information_schema.USER_ATTRIBUTES` show them.

use std::sync::Arc;

use catalog::{AccountDef, LockTime, Privileges, TlsRequirement};
use types::json::{Members, Node};
use types::{Json, Value};

use super::schema::moment;
use super::{Source, number, text};

/// The privileges in the order of their columns, up to the one before the grant option, and after it.
const BEFORE_GRANT_OPTION: [&str; 10] = [
    "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "RELOAD", "SHUTDOWN", "PROCESS", "FILE",
];
const AFTER_GRANT_OPTION: [&str; 18] = [
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
const OF_ROLES: [&str; 2] = ["CREATE ROLE", "DROP ROLE"];

fn flag(on: bool) -> Value {
    text(if on { "Y" } else { "N" })
}

/// `mysql.user`
pub fn users(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.runtime.engine.catalog();
    catalog.accounts().map(|account| user(account, source)).collect()
}

fn user(account: &Arc<AccountDef>, source: &Source<'_>) -> Vec<Value> {
    let has = |name: &&str| {
        let privilege = Privileges::by_name(name);
        flag(privilege.is_some_and(|privilege| account.privileges.contains(privilege)))
    };
    let policy = &account.policy;
    let (password, limits) = (&policy.password, policy.limits);
    let mut row = vec![text(&account.host), text(&account.user)];
    row.extend(BEFORE_GRANT_OPTION.iter().map(has));
    row.push(flag(account.privileges.contains(Privileges::GRANT_OPTION)));
    row.extend(AFTER_GRANT_OPTION.iter().map(has));
    row.extend(tls(&policy.tls));
    let limits = [
        limits.queries_per_hour,
        limits.updates_per_hour,
        limits.connections_per_hour,
        limits.user_connections,
    ];
    row.extend(limits.map(number));
    row.push(text(account.plugin.name()));
    row.push(text(String::from_utf8_lossy(&account.authentication)));
    row.push(flag(password.expired));
    row.push(match password.changed_at {
        0 => Value::Null,
        at => moment(at, source),
    });
    let optional = |value: Option<u16>| value.map_or(Value::Null, |value| number(u64::from(value)));
    row.push(optional(password.lifetime_days));
    row.push(flag(account.locked));
    row.extend(OF_ROLES.iter().map(has));
    row.push(optional(password.history));
    row.push(optional(password.reuse_days));
    row.push(password.require_current.map_or(Value::Null, flag));
    row.push(user_attributes(account).map_or(Value::Null, text));
    row
}

/// `ssl_type` and the three texts.
fn tls(requirement: &TlsRequirement) -> [Value; 4] {
    let none = || text("");
    match requirement {
        TlsRequirement::None => [none(), none(), none(), none()],
        TlsRequirement::Encrypted => [text("ANY"), none(), none(), none()],
        TlsRequirement::Certificate => [text("X509"), none(), none(), none()],
        TlsRequirement::Exactly {
            cipher,
            issuer,
            subject,
        } => {
            let shown = |field: &Option<String>| text(field.as_deref().unwrap_or_default());
            [text("SPECIFIED"), shown(cipher), shown(issuer), shown(subject)]
        }
    }
}

/// The document in which MySQL keeps what has no column.
fn user_attributes(account: &AccountDef) -> Option<String> {
    let policy = &account.policy;
    let password = &policy.password;
    let mut members = Vec::new();
    if let Some(metadata) = policy.attribute.as_deref().and_then(|text| Json::parse(text).ok()) {
        members.push(("metadata".to_owned(), metadata.as_ref().to_node()));
    }
    if !password.second.is_empty() {
        let second = String::from_utf8_lossy(&password.second).into_owned();
        members.push(("additional_password".to_owned(), Node::Str(second)));
    }
    if password.failed_login_attempts > 0 || password.lock_time != LockTime::default() {
        let days = match password.lock_time {
            LockTime::Days(days) => i64::from(days),
            LockTime::Unbounded => -1,
        };
        let attempts = Node::Int(i64::from(password.failed_login_attempts));
        let locking = Members::new(vec![
            ("failed_login_attempts".to_owned(), attempts),
            ("password_lock_time_days".to_owned(), Node::Int(days)),
        ]);
        members.push(("Password_locking".to_owned(), Node::Object(locking)));
    }
    match Node::Object(Members::new(members)) {
        Node::Object(members) if members.is_empty() => None,
        node => Some(Json::from(&node).as_ref().to_string()),
    }
}

/// `information_schema.USER_ATTRIBUTES`
pub fn attributes(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.runtime.engine.catalog();
    let seen = catalog.accounts().filter(|account| source.access.sees_account(account));
    let row = |account: &Arc<AccountDef>| {
        let attribute = account.policy.attribute.as_deref();
        vec![
            text(&account.user),
            text(&account.host),
            attribute.map_or(Value::Null, text),
        ]
    };
    seen.map(row).collect()
}
