//! Accounts, as `mysql.user` and `information_schema.USER_ATTRIBUTES` show them.

use std::sync::Arc;

use catalog::{AccountDef, LockTime, Privileges, TlsRequirement};
use types::json::{Members, Node};
use types::{Json, Value};

use super::schema::{fine_moment, moment};
use super::{Source, number, text};

/// How many privileges have their columns before that of the grant option.
const BEFORE_GRANT_OPTION: usize = 10;
/// Those of roles have theirs farther back.
const BEFORE_ROLES: usize = 28;

fn flag(on: bool) -> Value {
    text(if on { "Y" } else { "N" })
}

/// `mysql.user`
pub fn users(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    catalog.accounts().map(|account| user(account, source)).collect()
}

fn user(account: &Arc<AccountDef>, source: &Source<'_>) -> Vec<Value> {
    let (older, of_roles) = Privileges::NAMES.split_at(BEFORE_ROLES);
    let (before, after) = older.split_at(BEFORE_GRANT_OPTION);
    let has = |name: &&str| {
        let privilege = Privileges::by_name(name);
        flag(privilege.is_some_and(|privilege| account.privileges.contains(privilege)))
    };
    let policy = &account.policy;
    let (password, limits) = (&policy.password, policy.limits);
    let mut row = vec![text(&account.host), text(&account.user)];
    row.extend(before.iter().map(has));
    row.push(flag(account.privileges.contains(Privileges::GRANT_OPTION)));
    row.extend(after.iter().map(has));
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
    row.extend(of_roles.iter().map(has));
    row.push(optional(password.history));
    row.push(optional(password.reuse_days));
    row.push(password.require_current.map_or(Value::Null, flag));
    row.push(user_attributes(account).map_or(Value::Null, text));
    row
}

/// `mysql.password_history`: the passwords that an account may not take again yet, the newest first.
pub fn password_history(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    let mut rows = Vec::new();
    for account in catalog.accounts() {
        rows.extend(account.policy.password.past.iter().map(|past| {
            vec![
                text(&account.host),
                text(&account.user),
                fine_moment(past.set_at * 1_000_000, source),
                text(String::from_utf8_lossy(&past.authentication)),
            ]
        }));
    }
    rows
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
    let catalog = source.session.engine.catalog();
    let seen = catalog
        .accounts()
        .filter(|account| source.session.access.sees_account(account));
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
