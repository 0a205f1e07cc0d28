//! `mysql.user`, `db`, `tables_priv`, `columns_priv`: accounts and grants as administration pages read them.

use catalog::{AccountDef, Privileges, TlsRequirement};
use types::Value;

use super::{Source, number, text};

/// The columns of `mysql.user` that each tell of one privilege, by the name of the privilege in GRANT.
const GLOBAL: [&str; 29] = [
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
    "GRANT OPTION",
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

/// Those of `mysql.db`.
const OF_DATABASE: [&str; 19] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "GRANT OPTION",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EXECUTE",
    "EVENT",
    "TRIGGER",
];

/// The members of `mysql.tables_priv.Table_priv`.
const OF_TABLE: [(&str, &str); 13] = [
    ("SELECT", "Select"),
    ("INSERT", "Insert"),
    ("UPDATE", "Update"),
    ("DELETE", "Delete"),
    ("CREATE", "Create"),
    ("DROP", "Drop"),
    ("GRANT OPTION", "Grant"),
    ("REFERENCES", "References"),
    ("INDEX", "Index"),
    ("ALTER", "Alter"),
    ("CREATE VIEW", "Create View"),
    ("SHOW VIEW", "Show view"),
    ("TRIGGER", "Trigger"),
];

fn has(privileges: Privileges, name: &str) -> bool {
    match name {
        "GRANT OPTION" => privileges.contains(Privileges::GRANT_OPTION),
        name => Privileges::by_name(name).is_some_and(|wanted| privileges.contains(wanted)),
    }
}

fn flag(yes: bool) -> Value {
    text(if yes { "Y" } else { "N" })
}

fn flags(privileges: Privileges, names: &[&str]) -> impl Iterator<Item = Value> {
    names.iter().map(move |name| flag(has(privileges, name)))
}

pub fn users(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.runtime.engine.catalog();
    catalog.accounts().map(|account| user(account)).collect()
}

fn user(account: &AccountDef) -> Vec<Value> {
    let policy = &account.policy;
    let (limits, password) = (policy.limits, &policy.password);
    let (tls, cipher, issuer, subject) = match &policy.tls {
        TlsRequirement::None => ("", None, None, None),
        TlsRequirement::Encrypted => ("ANY", None, None, None),
        TlsRequirement::Certificate => ("X509", None, None, None),
        TlsRequirement::Exactly {
            cipher,
            issuer,
            subject,
        } => ("SPECIFIED", cipher.as_ref(), issuer.as_ref(), subject.as_ref()),
    };
    let or_empty = |part: Option<&String>| text(part.map_or("", String::as_str));
    let days = |days: Option<u16>| days.map_or(Value::Null, |days| number(u64::from(days)));
    let mut row = vec![text(&account.host), text(&account.user)];
    row.extend(flags(account.privileges, &GLOBAL));
    row.extend([
        text(tls),
        or_empty(cipher),
        or_empty(issuer),
        or_empty(subject),
        number(u64::from(limits.queries_per_hour)),
        number(u64::from(limits.updates_per_hour)),
        number(u64::from(limits.connections_per_hour)),
        number(u64::from(limits.user_connections)),
        text(account.plugin.name()),
        text(String::from_utf8_lossy(&account.authentication)),
        flag(password.expired),
        Value::Null,
        days(password.lifetime_days),
        flag(account.locked),
        flag(has(account.privileges, "CREATE USER")),
        flag(has(account.privileges, "CREATE USER")),
        days(password.history),
        days(password.reuse_days),
        password.require_current.map_or(Value::Null, flag),
        policy.attribute.as_deref().map_or(Value::Null, text),
    ]);
    row
}

pub fn databases(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.runtime.engine.catalog();
    let mut rows = Vec::new();
    for account in catalog.accounts() {
        for (database, privileges) in &account.database_privileges {
            let mut row = vec![text(&account.host), text(database), text(&account.user)];
            row.extend(flags(*privileges, &OF_DATABASE));
            rows.push(row);
        }
    }
    rows
}

pub fn tables(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.runtime.engine.catalog();
    let mut rows = Vec::new();
    for account in catalog.accounts() {
        for (database, table, privileges) in &account.table_privileges {
            let names = OF_TABLE.iter().filter(|(name, _)| has(*privileges, name));
            let names: Vec<&str> = names.map(|(_, shown)| *shown).collect();
            rows.push(vec![
                text(&account.host),
                text(database),
                text(&account.user),
                text(table),
                text(""),
                Value::Null,
                text(names.join(",")),
                text(""),
            ]);
        }
    }
    rows
}
