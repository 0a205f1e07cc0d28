//! Rows that describe privileges and roles: `information_schema` for whoever asks, `mysql` for those who may read it.

use std::sync::Arc;

use catalog::{AccountDef, ColumnPrivileges, Privileges};
use types::Value;

use super::{Source, text, yes_no};
use crate::accounts::rights::{AccountName, all_roles};

const CATALOG: &str = "def";

fn grantee(account: &AccountDef) -> Value {
    text(format!("'{}'@'{}'", account.user, account.host))
}

fn accounts_seen(source: &Source<'_>) -> Vec<Arc<AccountDef>> {
    let catalog = source.session.engine.catalog();
    let seen = |account: &&Arc<AccountDef>| source.session.access.sees_account(account);
    catalog.accounts().filter(seen).cloned().collect()
}

/// One row per privilege; `USAGE` for an account without any.
fn privilege_names(privileges: Privileges) -> Vec<&'static str> {
    let names: Vec<_> = privileges.names().collect();
    if names.is_empty() { vec!["USAGE"] } else { names }
}

/// A row for each of the names: who holds it, on what object, and whether it may be passed on.
fn add_rows<'n>(
    rows: &mut Vec<Vec<Value>>,
    account: &AccountDef,
    object: &[&str],
    names: impl IntoIterator<Item = &'n str>,
    is_grantable: bool,
) {
    for name in names {
        let mut row = vec![grantee(account), text(CATALOG)];
        row.extend(object.iter().map(|part| text(*part)));
        row.extend([text(name), yes_no(is_grantable)]);
        rows.push(row);
    }
}

pub fn user_privileges(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for account in accounts_seen(source) {
        let privileges = account.privileges;
        let is_grantable = privileges.contains(Privileges::GRANT_OPTION);
        add_rows(&mut rows, &account, &[], privilege_names(privileges), is_grantable);
        let dynamic = account.dynamic();
        for privilege in dynamic.iter() {
            let is_grantable = dynamic.may_grant(privilege);
            add_rows(&mut rows, &account, &[], [privilege.name()], is_grantable);
        }
    }
    rows
}

pub fn schema_privileges(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for account in accounts_seen(source) {
        for (database, privileges) in &account.database_privileges {
            let is_grantable = privileges.contains(Privileges::GRANT_OPTION);
            let names = privilege_names(*privileges);
            add_rows(&mut rows, &account, &[database], names, is_grantable);
        }
    }
    rows
}

pub fn table_privileges(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for account in accounts_seen(source) {
        for (database, table, privileges) in &account.table_privileges {
            let is_grantable = privileges.contains(Privileges::GRANT_OPTION);
            let names = privilege_names(*privileges);
            add_rows(&mut rows, &account, &[database, table], names, is_grantable);
        }
    }
    rows
}

pub fn column_privileges(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for account in accounts_seen(source) {
        for held in &account.column_privileges {
            let is_grantable = on_table(&account, held).contains(Privileges::GRANT_OPTION);
            let object = [&*held.database, &*held.table, &*held.column];
            add_rows(&mut rows, &account, &object, held.privileges.names(), is_grantable);
        }
    }
    rows
}

fn on_table(account: &AccountDef, column: &ColumnPrivileges) -> Privileges {
    let mut tables = account.table_privileges.iter();
    let found = tables.find(|(database, table, _)| *database == column.database && *table == column.table);
    found.map_or(Privileges::NONE, |(_, _, privileges)| *privileges)
}

/// `APPLICABLE_ROLES`: the roles that the session's account could make active, with who has them.
pub fn applicable_roles(source: &Source<'_>) -> Vec<Vec<Value>> {
    role_rows(source, |_| true)
}

/// Those of them that it may pass on.
pub fn administrable_roles(source: &Source<'_>) -> Vec<Vec<Value>> {
    role_rows(source, |admin| admin)
}

fn role_rows(source: &Source<'_>, wanted: impl Fn(bool) -> bool) -> Vec<Vec<Value>> {
    let Some(own) = source.session.access.account() else {
        return Vec::new();
    };
    let engine = source.session.engine;
    let catalog = engine.catalog();
    let mandatory = engine.mandatory_roles();
    let defaults = catalog
        .account(&own.0, &own.1)
        .map(|account| account.default_roles.clone());
    let defaults = defaults.unwrap_or_default();
    let mut rows = Vec::new();
    for holder in all_roles(&catalog, std::slice::from_ref(&own)) {
        let Some(account) = catalog.account(&holder.0, &holder.1) else {
            continue;
        };
        for role in account.roles.iter().filter(|role| wanted(role.admin)) {
            let name = (role.user.clone(), role.host.clone());
            rows.push(vec![
                text(&own.0),
                text(&own.1),
                text(&holder.0),
                text(&holder.1),
                text(&name.0),
                text(&name.1),
                yes_no(role.admin),
                yes_no(defaults.contains(&name)),
                yes_no(mandatory.contains(&name)),
            ]);
        }
    }
    rows
}

pub fn enabled_roles(source: &Source<'_>) -> Vec<Vec<Value>> {
    let engine = source.session.engine;
    let catalog = engine.catalog();
    let mandatory = engine.mandatory_roles();
    let own = source.session.access.account();
    let own = own.and_then(|(user, host)| catalog.account(&user, &host).cloned());
    let is_default = |name: &AccountName| own.as_ref().is_some_and(|own| own.default_roles.contains(name));
    let active = all_roles(&catalog, source.session.access.active_roles());
    // Roles of active roles are active, but only those that were named are listed.
    let active = active
        .into_iter()
        .filter(|name| source.session.access.active_roles().contains(name));
    active
        .map(|name| {
            vec![
                text(&name.0),
                text(&name.1),
                yes_no(is_default(&name)),
                yes_no(mandatory.contains(&name)),
            ]
        })
        .collect()
}

/// The accounts that are active roles, and their roles.
fn active(source: &Source<'_>) -> Vec<Arc<AccountDef>> {
    let catalog = source.session.engine.catalog();
    let names = all_roles(&catalog, source.session.access.active_roles());
    let roles = names
        .iter()
        .filter_map(|(user, host)| catalog.account(user, host).cloned());
    roles.collect()
}

/// As in the sets of `mysql.tables_priv`.
fn set_of(privileges: Privileges) -> String {
    let name = |name: &'static str| match name {
        "CREATE VIEW" => "Create View".to_owned(),
        "SHOW VIEW" => "Show view".to_owned(),
        name => format!("{}{}", &name[..1], name[1..].to_lowercase()),
    };
    let mut names: Vec<String> = privileges.names().map(name).collect();
    if privileges.contains(Privileges::GRANT_OPTION) {
        names.push("Grant".to_owned());
    }
    names.join(",")
}

pub fn role_table_grants(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for role in active(source) {
        for (database, table, privileges) in &role.table_privileges {
            rows.push(vec![
                Value::Null,
                Value::Null,
                text(&role.user),
                text(&role.host),
                text(CATALOG),
                text(database),
                text(table),
                text(set_of(*privileges)),
                yes_no(privileges.contains(Privileges::GRANT_OPTION)),
            ]);
        }
    }
    rows
}

pub fn role_column_grants(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for role in active(source) {
        for column in &role.column_privileges {
            rows.push(vec![
                Value::Null,
                Value::Null,
                text(&role.user),
                text(&role.host),
                text(CATALOG),
                text(&column.database),
                text(&column.table),
                text(&column.column),
                text(set_of(column.privileges)),
                yes_no(on_table(&role, column).contains(Privileges::GRANT_OPTION)),
            ]);
        }
    }
    rows
}

/// `mysql.role_edges`: from the role to whoever has it.
pub fn role_edges(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    let mut rows = Vec::new();
    for account in catalog.accounts() {
        for role in &account.roles {
            rows.push(vec![
                text(&role.host),
                text(&role.user),
                text(&account.host),
                text(&account.user),
                text(if role.admin { "Y" } else { "N" }),
            ]);
        }
    }
    rows
}

pub fn default_roles(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    let mut rows = Vec::new();
    for account in catalog.accounts() {
        for (user, host) in &account.default_roles {
            rows.push(vec![text(&account.host), text(&account.user), text(host), text(user)]);
        }
    }
    rows
}

pub fn global_grants(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    let mut rows = Vec::new();
    for account in catalog.accounts() {
        let dynamic = account.dynamic();
        for privilege in dynamic.iter() {
            rows.push(vec![
                text(&account.user),
                text(&account.host),
                text(privilege.name()),
                text(if dynamic.may_grant(privilege) { "Y" } else { "N" }),
            ]);
        }
    }
    rows
}
