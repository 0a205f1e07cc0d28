//! `mysql.db`, `tables_priv`, `columns_priv`: accounts and grants as administration pages read them.

use std::collections::BTreeMap;

use catalog::Privileges;
use types::Value;

use super::{Source, text};

/// The columns of `mysql.db` that each tell of one privilege, by the name of the privilege in GRANT.
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

pub fn databases(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
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

/// The members of `Column_priv`.
const OF_COLUMN: [(&str, &str); 4] = [
    ("SELECT", "Select"),
    ("INSERT", "Insert"),
    ("UPDATE", "Update"),
    ("REFERENCES", "References"),
];

/// The members of a set that privileges are, as MySQL prints one.
fn members(privileges: Privileges, of: &[(&str, &str)]) -> Value {
    let names = of.iter().filter(|(name, _)| has(privileges, name));
    text(names.map(|(_, shown)| *shown).collect::<Vec<_>>().join(","))
}

/// A table on which, or on whose columns, something is held has a row.
pub fn tables(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    let mut rows = Vec::new();
    for account in catalog.accounts() {
        let mut held: BTreeMap<(&str, &str), (Privileges, Privileges)> = BTreeMap::new();
        for (database, table, privileges) in &account.table_privileges {
            let (on_table, _) = held.entry((database, table)).or_default();
            *on_table = on_table.with(*privileges);
        }
        for column in &account.column_privileges {
            let (_, on_columns) = held.entry((&column.database, &column.table)).or_default();
            *on_columns = on_columns.with(column.privileges);
        }
        for ((database, table), (on_table, on_columns)) in held {
            rows.push(vec![
                text(&account.host),
                text(database),
                text(&account.user),
                text(table),
                text(""),
                Value::Null,
                members(on_table, &OF_TABLE),
                members(on_columns, &OF_COLUMN),
            ]);
        }
    }
    rows
}

pub fn columns(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    let mut rows = Vec::new();
    for account in catalog.accounts() {
        rows.extend(account.column_privileges.iter().map(|held| {
            vec![
                text(&account.host),
                text(&held.database),
                text(&account.user),
                text(&held.table),
                text(&held.column),
                Value::Null,
                members(held.privileges, &OF_COLUMN),
            ]
        }));
    }
    rows
}
