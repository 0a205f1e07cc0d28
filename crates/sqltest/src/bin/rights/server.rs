//! The server that is asked: its accounts and tables, and one statement under every grant.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use mysql_client::{Answer, Client, Login};

use crate::files::Statement;
use crate::grants::Grant;

/// Errors that say that a privilege is missing.
const DENIALS: [u16; 16] = [
    1044, 1045, 1095, 1142, 1143, 1227, 1345, 1356, 1370, 1410, 1419, 1698, 3530, 3619, 3630, 6427,
];

/// What kinds of statements leave behind; the others nothing that outlives their session.
const CHANGE_ROWS: &[&str] = &["Delete", "Insert", "Update"];
const CHANGE_TABLES: &[&str] = &[
    "AlterDatabase",
    "AlterEvent",
    "AlterRoutine",
    "AlterTable",
    "CreateDatabase",
    "CreateEvent",
    "CreateIndex",
    "CreateRoutine",
    "CreateTable",
    "CreateTrigger",
    "CreateView",
    "DropDatabase",
    "DropIndex",
    "DropObject",
    "DropTable",
    "DropView",
    "RenameTable",
    "Truncate",
];
const CHANGE_ACCOUNTS: &[&str] = &[
    "AlterUser",
    "CreateRole",
    "CreateUser",
    "DropRole",
    "DropUser",
    "Grant",
    "RenameUser",
    "Revoke",
    "SetDefaultRole",
    "SetPassword",
];

/// Most sessions that are kept: servers take 151 by themselves, and LatsDB fewer from one address.
const OPEN_MAX: usize = 100;

/// Accounts with a session that statements can name, as `{nk}`.
const SESSIONS: [(&str, &[&str]); 2] = [("nk", &[]), ("nks", &["GRANT SYSTEM_USER ON *.* TO nks"])];

/// Kinds of statements that change their session; after the others, and after a denial, the next statement can have it.
const CHANGE_THE_SESSION: &[&str] = &[
    "Begin",
    "CreateTable",
    "Execute",
    "Flush",
    "Handler",
    "Kill",
    "LockInstanceForBackup",
    "LockTables",
    "Prepare",
    "RenameUser",
    "Savepoint",
    "Set",
    "SetResourceGroup",
    "SetRole",
    "SetTransaction",
    "Use",
    "Xa",
];

pub struct Server {
    address: String,
    administrator: Client,
    /// An open session of each account that statements have left as it was.
    open: BTreeMap<String, Client>,
    /// The sessions that statements name, and their ids.
    sessions: BTreeMap<&'static str, (Client, String)>,
}

impl Server {
    pub fn connect(address: &str, user: &str, password: &str) -> Result<Server> {
        Ok(Server {
            address: address.to_owned(),
            administrator: connect(address, user, password)?,
            open: BTreeMap::new(),
            sessions: BTreeMap::new(),
        })
    }

    pub fn version(&mut self) -> Result<String> {
        value(&mut self.administrator, "SELECT VERSION()")
    }

    pub fn prepare(&mut self, grants: &[Grant]) -> Result<()> {
        self.clean_up(grants)?;
        self.reset_tables()?;
        self.reset_accounts()?;
        for grant in grants {
            self.must(&format!("CREATE USER {}", grant.account))?;
            for statement in &grant.statements {
                self.must(statement)?;
            }
        }
        for (account, statements) in SESSIONS {
            self.must(&format!("CREATE USER {account}"))?;
            for statement in statements {
                self.must(statement)?;
            }
            let mut client = connect(&self.address, account, "")?;
            let id = value(&mut client, "SELECT CONNECTION_ID()")?;
            self.sessions.insert(account, (client, id));
        }
        Ok(())
    }

    pub fn clean_up(&mut self, grants: &[Grant]) -> Result<()> {
        self.sessions.clear();
        self.open.clear();
        for grant in grants {
            self.must(&format!("DROP USER IF EXISTS {}, r{}", grant.account, grant.account))?;
        }
        self.must("DROP USER IF EXISTS n0, ns, nr, nk, nks, zz")?;
        for database in ["m", "m2", "m3"] {
            self.must(&format!("DROP DATABASE IF EXISTS {database}"))?;
        }
        Ok(())
    }

    /// The tables that statements change, as at the start.
    fn reset_tables(&mut self) -> Result<()> {
        self.must_all(&[
            "DROP DATABASE IF EXISTS m3",
            "DROP DATABASE IF EXISTS m",
            "DROP DATABASE IF EXISTS m2",
            "CREATE DATABASE m",
            "CREATE DATABASE m2",
            "CREATE TABLE m.t (a INT PRIMARY KEY, b INT, CONSTRAINT positive CHECK (b > 0))",
            "CREATE TABLE m.u (a INT PRIMARY KEY, b INT, CONSTRAINT parent FOREIGN KEY (b) REFERENCES m.t (a))",
            "CREATE TABLE m2.t (a INT PRIMARY KEY, b INT)",
            "CREATE VIEW m.v AS SELECT a, b FROM m.t",
            "CREATE SQL SECURITY INVOKER VIEW m.i AS SELECT a, b FROM m.t",
        ])
    }

    /// The accounts.
    fn reset_accounts(&mut self) -> Result<()> {
        self.must_all(&[
            "DROP USER IF EXISTS n0, ns, nr, zz",
            "CREATE USER n0, ns",
            "GRANT SYSTEM_USER ON *.* TO ns",
            "CREATE ROLE nr",
        ])
    }

    /// What the server says to a statement under each grant; `None` where it was not tried.
    pub fn try_all(&mut self, statement: &Statement, grants: &[Grant]) -> Result<Vec<Option<String>>> {
        let mut text = statement.text.clone();
        for (account, (_, id)) in &self.sessions {
            text = text.replace(&format!("{{{account}}}"), id);
        }
        let mut answers = Vec::with_capacity(grants.len());
        for grant in grants {
            if statement.skips(&grant.name) {
                answers.push(None);
                continue;
            }
            let mut client = match self.open.remove(&grant.account) {
                Some(client) => client,
                None => connect(&self.address, &grant.account, "")?,
            };
            let is_of = |kinds: &[&str]| kinds.contains(&statement.kind.as_str());
            if is_of(CHANGE_ROWS) {
                client.query("BEGIN")?;
            }
            let (is_denied, answer) = match client.query(&text)? {
                Answer::Error { code, message, .. } if DENIALS.contains(&code) => (true, format!("{code} {message}")),
                Answer::Rows { rows, .. } if is_of(&["Shown"]) => (false, shown(&rows)),
                _ => (false, "ok".to_owned()),
            };
            if is_of(CHANGE_ROWS) {
                client.query("ROLLBACK")?;
            }
            if (is_denied || !is_of(CHANGE_THE_SESSION)) && self.open.len() < OPEN_MAX {
                self.open.insert(grant.account.clone(), client);
            } else {
                drop(client);
            }
            if !is_denied && is_of(CHANGE_TABLES) {
                self.reset_tables()?;
            }
            if !is_denied && is_of(CHANGE_ACCOUNTS) {
                self.reset_accounts()?;
            }
            let mut answer = without_account(&answer, &grant.account);
            for (account, (_, id)) in &self.sessions {
                answer = answer.replace(&format!("thread {id}"), &format!("thread {{{account}}}"));
            }
            answers.push(Some(answer));
        }
        Ok(answers)
    }

    fn must_all(&mut self, statements: &[&str]) -> Result<()> {
        statements.iter().try_for_each(|statement| self.must(statement))
    }

    /// Runs what must succeed.
    fn must(&mut self, sql: &str) -> Result<()> {
        match self.administrator.query(sql)? {
            Answer::Error { code, message, .. } => bail!("{sql}: {code} {message}"),
            _ => Ok(()),
        }
    }
}

fn connect(address: &str, user: &str, password: &str) -> Result<Client> {
    let login = Login {
        address,
        user,
        password,
        database: None,
        program_name: "rights",
    };
    Client::connect(&login).with_context(|| format!("{user} at {address}"))
}

fn value(client: &mut Client, sql: &str) -> Result<String> {
    match client.query(sql)? {
        Answer::Rows { rows, .. } => {
            let value = rows.first().and_then(|row| row.first()).cloned().flatten();
            Ok(String::from_utf8_lossy(&value.unwrap_or_default()).into_owned())
        }
        _ => bail!("{sql}: no value"),
    }
}

/// Rows as one line.
fn shown(rows: &[Vec<Option<Vec<u8>>>]) -> String {
    let cell = |cell: &Option<Vec<u8>>| match cell {
        Some(bytes) => String::from_utf8_lossy(bytes).replace('\n', " "),
        None => "NULL".to_owned(),
    };
    let row = |row: &Vec<Option<Vec<u8>>>| row.iter().map(cell).collect::<Vec<_>>().join(",");
    format!("= {}", rows.iter().map(row).collect::<Vec<_>>().join("; "))
}

/// The answer with the account and its roles called the same under each grant, wherever the client is.
fn without_account(answer: &str, account: &str) -> String {
    let mut text = answer.to_owned();
    for quote in ['\'', '`'] {
        for (name, called) in [(account.to_owned(), "ACCOUNT"), (format!("r{account}"), "ROLE")] {
            for host in ["%", "localhost", "127.0.0.1"] {
                text = text.replace(&format!("{quote}{name}{quote}@{quote}{host}{quote}"), called);
            }
        }
    }
    text
}
