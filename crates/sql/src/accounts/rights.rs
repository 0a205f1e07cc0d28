//! What an account may do with the roles that are active: computed once for a version of the catalog and a set of roles.
//!
//! ```text
//!   account ──┐
//!   role ─────┼─▶ global privileges, less what was taken back of them on a database
//!   its roles ┘   privileges on databases, by pattern      ──▶ Rights::on_database
//!                 privileges on tables and on their columns ──▶ Rights::on_table
//! ```
//!
//! Without roles, one grant counts on a database: that of the most specific pattern. With roles, grants by the database's very name
//! count, and where there is none, all whose patterns stand for it. Both are MySQL's rules.

use std::collections::{HashMap, HashSet};

use catalog::{AccountDef, Catalog, DynamicPrivilege, DynamicPrivileges, Privileges, RoutineKind};
use catalog::{pattern_covers, pattern_matches, pattern_specificity};

/// User and host, as the catalog's keys have them.
pub type AccountName = (String, String);

/// How the patterns of grants on databases are read (`partial_revokes`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatabaseNames {
    Patterns,
    /// Grants name databases; `%` and `_` stand for themselves.
    Literal,
}

/// See the module.
#[derive(Debug)]
pub struct Rights {
    /// Global privileges of the account and of each role, each less its own restrictions.
    global: Vec<GlobalGrant>,
    dynamic: DynamicPrivileges,
    /// The most specific first.
    databases: Vec<(String, Privileges)>,
    names: DatabaseNames,
    with_roles: bool,
    /// By database, then table.
    tables: HashMap<String, HashMap<String, TableRights>>,
    /// By database, then kind and name in lower case.
    routines: HashMap<String, HashMap<(RoutineKind, String), Privileges>>,
    unlimited: bool,
}

#[derive(Debug)]
struct GlobalGrant {
    privileges: Privileges,
    restrictions: Vec<(String, Privileges)>,
}

#[derive(Debug, Default)]
struct TableRights {
    privileges: Privileges,
    /// By name in lower case.
    columns: HashMap<String, Privileges>,
}

/// Whether an expression names a database itself, or a pattern that a grant is made on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    Database(&'a str),
    Pattern(&'a str),
}

impl Rights {
    /// Of the server's own sessions.
    pub fn everything() -> Rights {
        Rights {
            global: vec![GlobalGrant {
                privileges: Privileges::ALL.with(Privileges::GRANT_OPTION),
                restrictions: Vec::new(),
            }],
            dynamic: DynamicPrivileges::ALL.grantable(),
            databases: Vec::new(),
            names: DatabaseNames::Patterns,
            with_roles: false,
            tables: HashMap::new(),
            routines: HashMap::new(),
            unlimited: true,
        }
    }

    /// Of an account that is no longer there.
    pub fn nothing() -> Rights {
        Rights::of_accounts(&[], DatabaseNames::Patterns)
    }

    /// Of an account with active roles, and the roles that these have.
    pub fn of(catalog: &Catalog, account: &AccountDef, roles: &[AccountName], names: DatabaseNames) -> Rights {
        let mut sources = vec![account];
        for name in all_roles(catalog, roles) {
            sources.extend(catalog.account(&name.0, &name.1).map(|role| &**role));
        }
        Rights::of_accounts(&sources, names)
    }

    fn of_accounts(sources: &[&AccountDef], names: DatabaseNames) -> Rights {
        let mut rights = Rights {
            global: Vec::new(),
            dynamic: DynamicPrivileges::NONE,
            databases: Vec::new(),
            names,
            with_roles: sources.len() > 1,
            tables: HashMap::new(),
            routines: HashMap::new(),
            unlimited: false,
        };
        let mut databases: HashMap<&str, Privileges> = HashMap::new();
        for source in sources {
            rights.global.push(GlobalGrant {
                privileges: source.privileges,
                restrictions: source.restrictions.clone(),
            });
            rights.dynamic = rights.dynamic.with(source.dynamic());
            for (pattern, privileges) in &source.database_privileges {
                let held = databases.entry(pattern).or_default();
                *held = held.with(*privileges);
            }
            for (database, table, privileges) in &source.table_privileges {
                let held = rights.entry(database, table);
                held.privileges = held.privileges.with(*privileges);
            }
            for routine in &source.routine_privileges {
                let of_database = rights.routines.entry(routine.database.clone()).or_default();
                let held = of_database.entry((routine.kind, routine.name.clone())).or_default();
                *held = held.with(routine.privileges);
            }
            for column in &source.column_privileges {
                let held = rights.entry(&column.database, &column.table);
                let held = held.columns.entry(column.column.to_lowercase()).or_default();
                *held = held.with(column.privileges);
            }
        }
        rights.databases = databases
            .into_iter()
            .map(|(pattern, privileges)| (pattern.to_owned(), privileges))
            .collect();
        let order =
            |(pattern, _): &(String, Privileges)| (std::cmp::Reverse(pattern_specificity(pattern)), pattern.clone());
        rights.databases.sort_by_cached_key(order);
        let everywhere = Privileges::OF_DATABASES.with(Privileges::GRANT_OPTION);
        rights.unlimited = rights
            .global
            .iter()
            .any(|grant| grant.restrictions.is_empty() && grant.privileges.contains(everywhere));
        rights
    }

    fn entry(&mut self, database: &str, table: &str) -> &mut TableRights {
        let tables = self.tables.entry(database.to_owned()).or_default();
        tables.entry(table.to_owned()).or_default()
    }

    /// Whether everything may be done with every database and table, so that no name needs a look.
    pub fn is_unlimited(&self) -> bool {
        self.unlimited
    }

    pub fn global(&self) -> Privileges {
        let privileges = self.global.iter().map(|grant| grant.privileges);
        privileges.fold(Privileges::NONE, Privileges::with)
    }

    pub fn dynamic(&self) -> DynamicPrivileges {
        self.dynamic
    }

    pub fn has(&self, privilege: DynamicPrivilege) -> bool {
        self.dynamic.has(privilege)
    }

    /// What partial revokes took back of the global privileges, where nothing gives it in another way.
    pub fn own_restrictions(&self) -> Vec<(String, Privileges)> {
        let all = self.global.iter().flat_map(|grant| &grant.restrictions);
        let mut names: Vec<&String> = all.map(|(database, _)| database).collect();
        names.sort();
        names.dedup();
        let taken = |database: &String| {
            let held = self.on_database(Scope::Database(database));
            (
                database.clone(),
                self.global().common(Privileges::OF_DATABASES).without(held),
            )
        };
        names.into_iter().map(taken).collect()
    }

    /// What is held on all of a database, global privileges with it.
    pub fn on_database(&self, scope: Scope<'_>) -> Privileges {
        let name = match scope {
            Scope::Database(name) | Scope::Pattern(name) => name,
        };
        let mut held = Privileges::NONE;
        for grant in &self.global {
            let taken = grant.restrictions.iter().filter(|(database, _)| database == name);
            let taken = taken.fold(Privileges::NONE, |taken, (_, privileges)| taken.with(*privileges));
            held = held.with(grant.privileges.without(taken));
        }
        held.with(self.granted_on(scope))
    }

    /// What grants on databases give.
    fn granted_on(&self, scope: Scope<'_>) -> Privileges {
        let stands_for = |pattern: &str| match (scope, self.names) {
            (Scope::Database(name) | Scope::Pattern(name), DatabaseNames::Literal) => pattern == name,
            (Scope::Database(name), DatabaseNames::Patterns) => pattern_matches(pattern, name),
            (Scope::Pattern(name), DatabaseNames::Patterns) => pattern_covers(pattern, name),
        };
        let (Scope::Database(name) | Scope::Pattern(name)) = scope;
        let mut matching = self.databases.iter().filter(|(pattern, _)| stands_for(pattern));
        if !self.with_roles {
            return matching.next().map_or(Privileges::NONE, |(_, privileges)| *privileges);
        }
        match self.databases.iter().find(|(pattern, _)| pattern == name) {
            Some((_, privileges)) => *privileges,
            None => matching.fold(Privileges::NONE, |held, (_, privileges)| held.with(*privileges)),
        }
    }

    /// What is held on all of a table, by its database and globally, too.
    pub fn on_table(&self, database: &str, table: &str) -> Privileges {
        let held = self.on_database(Scope::Database(database));
        match self.table(database, table) {
            Some(rights) => held.with(rights.privileges),
            None => held,
        }
    }

    /// What is held on one column or another of a table beyond what is held on all of it.
    pub fn on_columns(&self, database: &str, table: &str) -> Privileges {
        let columns = self
            .table(database, table)
            .into_iter()
            .flat_map(|rights| rights.columns.values());
        columns.fold(Privileges::NONE, |held, privileges| held.with(*privileges))
    }

    /// What is held on a column beyond what is held on all of its table.
    pub fn on_column(&self, database: &str, table: &str, column: &str) -> Privileges {
        let columns = self.table(database, table).map(|rights| &rights.columns);
        let held = columns.and_then(|columns| columns.get(&column.to_lowercase()));
        held.copied().unwrap_or_default()
    }

    /// What is held on a routine, by its database and globally, too.
    pub fn on_routine(&self, database: &str, kind: RoutineKind, name: &str) -> Privileges {
        let held = self.on_database(Scope::Database(database));
        let own = self.routines.get(database);
        let own = own.and_then(|routines| routines.get(&(kind, name.to_lowercase())));
        own.map_or(held, |own| held.with(*own))
    }

    /// Whether something is granted on a routine of the database.
    pub fn has_routines_in(&self, database: &str) -> bool {
        self.routines.contains_key(database)
    }

    /// Whether something is granted on a table of the database.
    pub fn has_tables_in(&self, database: &str) -> bool {
        self.tables.contains_key(database)
    }

    /// Whether something is granted on the table itself, or on a column of it.
    pub fn has_table(&self, database: &str, table: &str) -> bool {
        self.table(database, table).is_some_and(|rights| {
            rights.privileges != Privileges::NONE || rights.columns.values().any(|held| !held.is_empty())
        })
    }

    fn table(&self, database: &str, table: &str) -> Option<&TableRights> {
        self.tables.get(database)?.get(table)
    }
}

/// These roles, and those that they have, each once.
pub fn all_roles(catalog: &Catalog, roles: &[AccountName]) -> Vec<AccountName> {
    let mut found: Vec<AccountName> = Vec::new();
    let mut seen: HashSet<AccountName> = HashSet::new();
    let mut next: Vec<AccountName> = roles.iter().rev().cloned().collect();
    while let Some(name) = next.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        if let Some(role) = catalog.account(&name.0, &name.1) {
            next.extend(
                role.roles
                    .iter()
                    .map(|granted| (granted.user.clone(), granted.host.clone())),
            );
            found.push(name);
        }
    }
    found
}
