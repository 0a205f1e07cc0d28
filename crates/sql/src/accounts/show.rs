//! SHOW GRANTS and SHOW CREATE USER.

use catalog::{AccountDef, Catalog, Privileges};
use parser::ast::Account;
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::grants::Level;
use super::rights::{AccountName, all_roles};
use super::{identifier, list_of, options, roles};
use crate::plan::text::name as backquoted;
use crate::result::{ResultSink, ServerStatus};
use crate::session::{Answer, Session};

impl Session {
    /// Without a name, or for CURRENT_USER(): with what the active roles add. USING names the roles for another account.
    pub(crate) fn show_grants(
        &mut self,
        account: Option<&Account>,
        using: &[Account],
        status: ServerStatus,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let name = self.account_name(account.unwrap_or(&Account::CurrentUser))?;
        let catalog = self.engine.catalog();
        let missing = || SqlError::new(ErrorKind::NonexistingGrant, &[&name.0, &name.1]);
        let account_def = catalog.account(&name.0, &name.1).ok_or_else(missing)?;
        let is_current = matches!(account, None | Some(Account::CurrentUser));
        let active = match using.is_empty() {
            true if is_current => self.access().active_roles().to_vec(),
            true => Vec::new(),
            false => {
                let using = self.account_names(using)?;
                roles::check_granted(&self.granted_roles(&catalog, &name), &using, &name)?;
                using
            }
        };
        let mandatory = match is_current {
            true => self.mandatory_roles(),
            false => Vec::new(),
        };
        let lines = grants_of(&catalog, account_def, &active, &mandatory);
        let column = crate::show::text_column(&format!("Grants for {}@{}", name.0, name.1));
        let rows = lines.into_iter().map(|line| vec![Value::from(line)]).collect();
        crate::show::send(vec![column], rows, status, sink)
    }
}

/// `CREATE USER …`, with the parts that say the password and the default roles.
pub(super) fn create_user(account: &AccountDef, secret: &str, roles: &str) -> String {
    format!(
        "CREATE USER {} IDENTIFIED WITH '{}'{secret}{roles} {}",
        identifier(&(account.user.clone(), account.host.clone())),
        account.plugin.name(),
        options::print(&account.policy, account.locked),
    )
}

/// The statements that make all accounts anew: first the accounts, then what was granted to them and among them. Passwords stay hashes,
/// in hexadecimal digits: salts are bytes.
pub fn statements_for_accounts(catalog: &Catalog) -> Vec<String> {
    let mut statements = Vec::new();
    for account in catalog.accounts() {
        let digits: String = account
            .authentication
            .iter()
            .map(|byte| format!("{byte:02X}"))
            .collect();
        let secret = match digits.is_empty() {
            true => String::new(),
            false => format!(" AS 0x{digits}"),
        };
        let made = create_user(account, &secret, "");
        statements.push(made.replacen("CREATE USER", "CREATE USER IF NOT EXISTS", 1));
    }
    for account in catalog.accounts() {
        statements.extend(grants_of(catalog, account, &[], &[]));
    }
    for account in catalog.accounts().filter(|account| !account.default_roles.is_empty()) {
        let name = identifier(&(account.user.clone(), account.host.clone()));
        statements.push(format!(
            "SET DEFAULT ROLE {} TO {name}",
            list_of(&account.default_roles)
        ));
    }
    statements
}

/// The lines of SHOW GRANTS: what the account has, and what the roles add.
fn grants_of(
    catalog: &Catalog,
    account: &AccountDef,
    active: &[AccountName],
    mandatory: &[AccountName],
) -> Vec<String> {
    let to = identifier(&(account.user.clone(), account.host.clone()));
    let mut all = account.clone();
    for (user, host) in all_roles(catalog, active) {
        if let Some(role) = catalog.account(&user, &host) {
            add_privileges(&mut all, role);
        }
    }
    let option = |privileges: Privileges| match privileges.contains(Privileges::GRANT_OPTION) {
        true => " WITH GRANT OPTION",
        false => "",
    };
    let plain = |privileges: Privileges| privileges.without(Privileges::GRANT_OPTION);
    let mut lines = Vec::new();
    // All of them are spelled out: there are dynamic ones, too.
    lines.push(format!(
        "GRANT {} ON *.* TO {to}{}",
        names_or_usage(plain(all.privileges)),
        option(all.privileges)
    ));
    let dynamic = all.dynamic();
    for (grantable, with) in [(false, ""), (true, " WITH GRANT OPTION")] {
        let names = dynamic
            .iter()
            .filter(|privilege| dynamic.may_grant(*privilege) == grantable);
        let names: Vec<&str> = names.map(|privilege| privilege.name()).collect();
        if !names.is_empty() {
            lines.push(format!("GRANT {} ON *.* TO {to}{with}", names.join(",")));
        }
    }
    all.restrictions.sort_by(|a, b| a.0.cmp(&b.0));
    for (database, taken) in &all.restrictions {
        lines.push(format!(
            "REVOKE {} ON {}.* FROM {to}",
            names_or_usage(*taken),
            backquoted(database)
        ));
    }
    all.database_privileges.sort_by(|a, b| a.0.cmp(&b.0));
    for (database, privileges) in &all.database_privileges {
        let list = match plain(*privileges) == Level::Database(String::new()).all() {
            true => "ALL PRIVILEGES".to_owned(),
            false => names_or_usage(plain(*privileges)),
        };
        lines.push(format!(
            "GRANT {list} ON {}.* TO {to}{}",
            backquoted(database),
            option(*privileges)
        ));
    }
    for (database, table) in tables_of(&all) {
        let held = all
            .table_privileges
            .iter()
            .find(|(d, t, _)| *d == database && *t == table);
        let held = held.map_or(Privileges::NONE, |(_, _, privileges)| *privileges);
        let list = match plain(held) == Privileges::OF_TABLES {
            true => "ALL PRIVILEGES".to_owned(),
            false => with_columns(&all, &database, &table, plain(held)),
        };
        let on = format!("{}.{}", backquoted(&database), backquoted(&table));
        lines.push(format!("GRANT {list} ON {on} TO {to}{}", option(held)));
    }
    all.routine_privileges
        .sort_by(|a, b| (a.kind, &a.database, &a.name).cmp(&(b.kind, &b.database, &b.name)));
    for held in &all.routine_privileges {
        let on = format!(
            "{} {}.{}",
            held.kind.as_str(),
            backquoted(&held.database),
            backquoted(&held.name)
        );
        let list = names_or_usage(plain(held.privileges));
        lines.push(format!("GRANT {list} ON {on} TO {to}{}", option(held.privileges)));
    }
    let mut granted = account.roles.clone();
    granted.sort_by(|a, b| (&a.user, &a.host).cmp(&(&b.user, &b.host)));
    for (admin, with) in [(false, ""), (true, " WITH ADMIN OPTION")] {
        let mut names: Vec<AccountName> = granted
            .iter()
            .filter(|role| role.admin == admin)
            .map(|role| (role.user.clone(), role.host.clone()))
            .collect();
        if !admin {
            let known = |name: &&AccountName| catalog.account(&name.0, &name.1).is_some();
            let is_granted =
                |name: &&AccountName| granted.iter().any(|role| role.user == name.0 && role.host == name.1);
            names.extend(
                mandatory
                    .iter()
                    .filter(|name| known(name) && !is_granted(name))
                    .cloned(),
            );
            names.sort();
        }
        if !names.is_empty() {
            lines.push(format!("GRANT {} TO {to}{with}", list_of(&names)));
        }
    }
    lines
}

fn add_privileges(all: &mut AccountDef, role: &AccountDef) {
    all.privileges = all.privileges.with(role.privileges);
    all.dynamic_privileges = Some(all.dynamic().with(role.dynamic()));
    for (database, privileges) in &role.database_privileges {
        match all.database_privileges.iter_mut().find(|(name, _)| name == database) {
            Some((_, held)) => *held = held.with(*privileges),
            None => all.database_privileges.push((database.clone(), *privileges)),
        }
    }
    for (database, table, privileges) in &role.table_privileges {
        let mut known = all.table_privileges.iter_mut();
        match known.find(|(d, t, _)| d == database && t == table) {
            Some((_, _, held)) => *held = held.with(*privileges),
            None => all
                .table_privileges
                .push((database.clone(), table.clone(), *privileges)),
        }
    }
    all.column_privileges.extend(role.column_privileges.iter().cloned());
    all.routine_privileges.extend(role.routine_privileges.iter().cloned());
    all.restrictions.extend(role.restrictions.iter().cloned());
}

/// The tables with something granted on them or on a column, in order.
fn tables_of(account: &AccountDef) -> Vec<(String, String)> {
    let of_tables = account.table_privileges.iter().map(|(d, t, _)| (d.clone(), t.clone()));
    let of_columns = account.column_privileges.iter();
    let of_columns = of_columns.map(|column| (column.database.clone(), column.table.clone()));
    let mut tables: Vec<_> = of_tables.chain(of_columns).collect();
    tables.sort();
    tables.dedup();
    tables
}

/// `` SELECT (`a`, `b`), DELETE ``
fn with_columns(account: &AccountDef, database: &str, table: &str, held: Privileges) -> String {
    let columns = account.column_privileges.iter();
    let columns: Vec<_> = columns
        .filter(|held| held.database == database && held.table == table)
        .collect();
    let on_columns = columns
        .iter()
        .fold(Privileges::NONE, |all, column| all.with(column.privileges));
    let each = held.with(on_columns).names().map(|name| {
        let privilege = Privileges::by_name(name).unwrap_or_default();
        if held.contains(privilege) {
            return name.to_owned();
        }
        let named = columns.iter().filter(|column| column.privileges.contains(privilege));
        let mut named: Vec<String> = named.map(|column| backquoted(&column.column)).collect();
        named.sort();
        named.dedup();
        format!("{name} ({})", named.join(", "))
    });
    let each: Vec<String> = each.collect();
    match each.is_empty() {
        true => "USAGE".to_owned(),
        false => each.join(", "),
    }
}

fn names_or_usage(privileges: Privileges) -> String {
    match privileges.is_empty() {
        true => "USAGE".to_owned(),
        false => privileges.names().collect::<Vec<_>>().join(", "),
    }
}
