//! The ways to hold a privilege: each scope with each of its privileges, alone, and the sets that one statement needs together.

/// One of the ways to hold a privilege, and the account that holds it so.
pub struct Grant {
    /// As `table SELECT`.
    pub name: String,
    pub account: String,
    /// Gives it to the account.
    pub statements: Vec<String>,
}

/// Where a privilege is held.
struct Scope {
    name: &'static str,
    /// What it is held on.
    object: &'static str,
    /// Only these columns of it.
    columns: &'static str,
    privileges: Vec<&'static str>,
    /// Whether `ALL … WITH GRANT OPTION` is tried, too.
    passed_on: bool,
    holder: Holder,
}

enum Holder {
    Account,
    /// A role of the account, active from its login on.
    Role,
}

pub fn grants() -> Vec<Grant> {
    let mut grants = vec![Grant {
        name: "nothing".to_owned(),
        account: "g0".to_owned(),
        statements: Vec::new(),
    }];
    let mut add = |name: String, statements: &dyn Fn(&str) -> Vec<String>| {
        let account = format!("g{}", grants.len());
        let statements = statements(&account);
        grants.push(Grant {
            name,
            account,
            statements,
        });
    };
    for scope in scopes() {
        for privilege in &scope.privileges {
            add(format!("{} {privilege}", scope.name), &|to| {
                scope.grant(privilege, to, "")
            });
        }
        if scope.passed_on {
            add(format!("{} ALL with grant", scope.name), &|to| {
                scope.grant("ALL", to, " WITH GRANT OPTION")
            });
        }
    }
    for (scope, object, privileges) in SETS {
        add(format!("{scope} {}", privileges.join(" + ")), &|to| {
            vec![format!("GRANT {} ON {object} TO {to}", privileges.join(", "))]
        });
    }
    grants
}

impl Scope {
    fn grant(&self, privilege: &str, account: &str, option: &str) -> Vec<String> {
        let to = match self.holder {
            Holder::Account => account.to_owned(),
            Holder::Role => format!("r{account}"),
        };
        let granted = format!("GRANT {privilege}{} ON {} TO {to}{option}", self.columns, self.object);
        match self.holder {
            Holder::Account => vec![granted],
            Holder::Role => vec![
                format!("CREATE ROLE {to}"),
                granted,
                format!("GRANT {to} TO {account}"),
                format!("SET DEFAULT ROLE {to} TO {account}"),
            ],
        }
    }
}

fn scopes() -> Vec<Scope> {
    let scope = |name, object, columns, privileges, passed_on, holder| Scope {
        name,
        object,
        columns,
        privileges,
        passed_on,
        holder,
    };
    let global = GLOBAL.iter().chain(&DYNAMIC).copied().collect();
    let on_databases = || ON_DATABASES.to_vec();
    vec![
        scope("global", "*.*", "", global, true, Holder::Account),
        scope("database", "m.*", "", on_databases(), true, Holder::Account),
        scope("pattern", "`m%`.*", "", on_databases(), false, Holder::Account),
        scope("table", "m.t", "", ON_TABLES.to_vec(), true, Holder::Account),
        scope("view", "m.v", "", ON_TABLES.to_vec(), false, Holder::Account),
        scope("column", "m.t", " (a)", ON_COLUMNS.to_vec(), false, Holder::Account),
        scope("role", "m.*", "", on_databases(), false, Holder::Role),
    ]
}

/// What a statement needs together: scope, object, privileges.
const SETS: [(&str, &str, &[&str]); 26] = [
    ("global", "*.*", &["CREATE USER", "SYSTEM_USER"]),
    ("global", "*.*", &["CREATE USER", "ROLE_ADMIN"]),
    ("global", "*.*", &["SUPER", "SYSTEM_USER"]),
    ("global", "*.*", &["CONNECTION_ADMIN", "SYSTEM_USER"]),
    (
        "global",
        "*.*",
        &["SYSTEM_VARIABLES_ADMIN", "PERSIST_RO_VARIABLES_ADMIN"],
    ),
    ("global", "*.*", &["CREATE VIEW", "SET_ANY_DEFINER"]),
    ("global", "*.*", &["RELOAD", "LOCK TABLES", "SELECT"]),
    ("global", "*.*", &["SHOW VIEW", "SELECT"]),
    ("global", "*.*", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("database", "m.*", &["SELECT", "LOCK TABLES"]),
    ("database", "m.*", &["CREATE", "INSERT"]),
    ("database", "m.*", &["SELECT", "CREATE", "INSERT"]),
    ("database", "m.*", &["ALTER", "DROP"]),
    ("database", "m.*", &["ALTER", "DROP", "CREATE", "INSERT"]),
    ("database", "m.*", &["CREATE VIEW", "SELECT"]),
    ("database", "m.*", &["CREATE VIEW", "DROP"]),
    ("database", "m.*", &["SHOW VIEW", "SELECT"]),
    ("table", "m.t", &["SELECT", "INSERT"]),
    ("table", "m.t", &["SELECT", "UPDATE"]),
    ("table", "m.t", &["SELECT", "DELETE"]),
    ("table", "m.t", &["INSERT", "UPDATE"]),
    ("table", "m.t", &["INSERT", "DELETE"]),
    ("column", "m.t", &["SELECT (a)", "SELECT (b)"]),
    ("column", "m.t", &["SELECT (a)", "UPDATE (b)"]),
    ("column", "m.t", &["SELECT (b)", "UPDATE (b)"]),
    ("column", "m.t", &["INSERT (a)", "UPDATE (b)"]),
];

/// What an account may need for the whole server.
const GLOBAL: [&str; 31] = [
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
    "CREATE ROLE",
    "DROP ROLE",
    "ALL",
];
const DYNAMIC: [&str; 28] = [
    "ALLOW_NONEXISTENT_DEFINER",
    "APPLICATION_PASSWORD_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "OPTIMIZE_LOCAL_TABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "XA_RECOVER_ADMIN",
];
const ON_DATABASES: [&str; 19] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE TEMPORARY TABLES",
    "LOCK TABLES",
    "EXECUTE",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EVENT",
    "TRIGGER",
    "ALL",
];
const ON_TABLES: [&str; 13] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "CREATE VIEW",
    "SHOW VIEW",
    "TRIGGER",
    "ALL",
];
const ON_COLUMNS: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "REFERENCES"];
