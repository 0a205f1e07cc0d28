//! The matrix of statements and privileges: what each grant lets an account do, on MySQL and here.
//!
//! `tests/rights/statements.txt` has a statement of every kind. Each is run by an account for every grant there is: each privilege for
//! the whole server, on a database, on a pattern, on a table, on a column, and by a role. `tests/rights/answers.txt` keeps what MySQL
//! said: the number of the error that denies it, or `ok` for everything else, since what an allowed statement does is no matter of
//! rights. Differences that are meant stand in `tests/rights/explained.txt`, each with its reason.
//!
//!     cargo run -p sqltest --bin rights -- --addr 127.0.0.1:3306 --user root               # holds LatsDB to the answers
//!     cargo run -p sqltest --bin rights -- --addr ORACLE --user sb --password sb --record  # asks MySQL anew

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use mysql_client::{Answer, Client, Login};

/// Errors that say that a privilege is missing.
const DENIALS: [u16; 13] = [
    1044, 1045, 1142, 1143, 1227, 1345, 1370, 1419, 1698, 3530, 3630, 6427, 1095,
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
const DYNAMIC: [&str; 20] = [
    "ALLOW_NONEXISTENT_DEFINER",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "ROLE_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
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

#[derive(Parser)]
#[command(about = "Hold a MySQL-compatible server to the matrix of statements and privileges")]
struct Arguments {
    #[arg(long, default_value = "127.0.0.1:3306")]
    addr: String,
    /// An account with every privilege
    #[arg(long, default_value = "root")]
    user: String,
    #[arg(long, default_value = "")]
    password: String,
    /// Write the server's answers down
    #[arg(long)]
    record: bool,
    /// Only statements that hold this text
    #[arg(long, default_value = "")]
    only: String,
    #[arg(default_value = "tests/rights")]
    folder: PathBuf,
}

/// One of the ways to hold a privilege, and the account that holds it so.
struct Grant {
    /// As `table SELECT`.
    name: String,
    account: String,
    /// Gives it to the account.
    statements: Vec<String>,
}

struct Statement {
    text: String,
    /// Grants that it is not tried with.
    skipped: Vec<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool> {
    let mut statements = read_statements(&arguments.folder.join("statements.txt"))?;
    statements.retain(|statement| statement.text.contains(&arguments.only));
    let mut administrator = connect(arguments, &arguments.user, &arguments.password)?;
    let grants = grants();
    prepare(&mut administrator, &grants)?;
    let mut matrix = Vec::with_capacity(statements.len());
    for statement in &statements {
        matrix.push(try_all(arguments, &mut administrator, statement, &grants)?);
    }
    clean_up(&mut administrator, &grants)?;
    if arguments.record {
        let text = written(&version(&mut administrator)?, &statements, &grants, &matrix);
        std::fs::write(arguments.folder.join("answers.txt"), text)?;
        return Ok(true);
    }
    compare(arguments, &statements, &grants, &matrix)
}

fn grants() -> Vec<Grant> {
    let mut grants = Vec::new();
    let mut add = |name: String, statements: &dyn Fn(&str) -> Vec<String>| {
        let account = format!("g{}", grants.len());
        let statements = statements(&account);
        grants.push(Grant {
            name,
            account,
            statements,
        });
    };
    add("nothing".into(), &|_| Vec::new());
    for privilege in GLOBAL.iter().chain(&DYNAMIC) {
        add(format!("global {privilege}"), &|to| {
            vec![format!("GRANT {privilege} ON *.* TO {to}")]
        });
    }
    add("global ALL with grant".into(), &|to| {
        vec![format!("GRANT ALL ON *.* TO {to} WITH GRANT OPTION")]
    });
    for privilege in ON_DATABASES {
        add(format!("database {privilege}"), &|to| {
            vec![format!("GRANT {privilege} ON m.* TO {to}")]
        });
    }
    add("database ALL with grant".into(), &|to| {
        vec![format!("GRANT ALL ON m.* TO {to} WITH GRANT OPTION")]
    });
    for privilege in ON_DATABASES {
        add(format!("pattern {privilege}"), &|to| {
            vec![format!("GRANT {privilege} ON `m%`.* TO {to}")]
        });
    }
    for privilege in ON_TABLES {
        add(format!("table {privilege}"), &|to| {
            vec![format!("GRANT {privilege} ON m.t TO {to}")]
        });
    }
    add("table ALL with grant".into(), &|to| {
        vec![format!("GRANT ALL ON m.t TO {to} WITH GRANT OPTION")]
    });
    for privilege in ON_COLUMNS {
        add(format!("column {privilege}"), &|to| {
            vec![format!("GRANT {privilege} (a) ON m.t TO {to}")]
        });
    }
    for privilege in ON_DATABASES {
        add(format!("role {privilege}"), &|to| {
            vec![
                format!("CREATE ROLE r{to}"),
                format!("GRANT {privilege} ON m.* TO r{to}"),
                format!("GRANT r{to} TO {to}"),
                format!("SET DEFAULT ROLE r{to} TO {to}"),
            ]
        });
    }
    grants
}

fn connect(arguments: &Arguments, user: &str, password: &str) -> Result<Client> {
    let login = Login {
        address: &arguments.addr,
        user,
        password,
        database: None,
        program_name: "rights",
    };
    Client::connect(&login).with_context(|| format!("{user} at {}", arguments.addr))
}

/// Runs what must succeed.
fn must(client: &mut Client, sql: &str) -> Result<()> {
    match client.query(sql)? {
        Answer::Error { code, message, .. } => bail!("{sql}: {code} {message}"),
        _ => Ok(()),
    }
}

fn prepare(administrator: &mut Client, grants: &[Grant]) -> Result<()> {
    clean_up(administrator, grants)?;
    reset(administrator)?;
    for grant in grants {
        must(administrator, &format!("CREATE USER {}", grant.account))?;
        for statement in &grant.statements {
            must(administrator, statement)?;
        }
    }
    Ok(())
}

fn clean_up(administrator: &mut Client, grants: &[Grant]) -> Result<()> {
    for grant in grants {
        must(
            administrator,
            &format!("DROP USER IF EXISTS {}, r{}", grant.account, grant.account),
        )?;
    }
    must(administrator, "DROP USER IF EXISTS n0, nr, zz")?;
    for database in ["m", "m2", "m3"] {
        must(administrator, &format!("DROP DATABASE IF EXISTS {database}"))?;
    }
    Ok(())
}

/// Everything that statements touch, as at the start.
fn reset(administrator: &mut Client) -> Result<()> {
    for statement in [
        "DROP DATABASE IF EXISTS m3",
        "DROP DATABASE IF EXISTS m",
        "DROP DATABASE IF EXISTS m2",
        "CREATE DATABASE m",
        "CREATE DATABASE m2",
        "CREATE TABLE m.t (a INT PRIMARY KEY, b INT)",
        "CREATE TABLE m.u (a INT PRIMARY KEY, b INT)",
        "CREATE TABLE m2.t (a INT PRIMARY KEY, b INT)",
        "CREATE VIEW m.v AS SELECT a, b FROM m.t",
        "DROP USER IF EXISTS n0, nr, zz",
        "CREATE USER n0",
        "CREATE ROLE nr",
    ] {
        must(administrator, statement)?;
    }
    Ok(())
}

/// What the server says to a statement under each grant: the number of a denial, or 0; `None` where it was not tried.
fn try_all(
    arguments: &Arguments,
    administrator: &mut Client,
    statement: &Statement,
    grants: &[Grant],
) -> Result<Vec<Option<u16>>> {
    let mut answers = Vec::with_capacity(grants.len());
    for grant in grants {
        if statement
            .skipped
            .iter()
            .any(|skipped| grant.name.starts_with(skipped.as_str()))
        {
            answers.push(None);
            continue;
        }
        let mut client = connect(arguments, &grant.account, "")?;
        let code = match client.query(&statement.text)? {
            Answer::Error { code, .. } if DENIALS.contains(&code) => code,
            _ => 0,
        };
        drop(client);
        if code == 0 {
            reset(administrator)?;
        }
        answers.push(Some(code));
    }
    Ok(answers)
}

fn version(administrator: &mut Client) -> Result<String> {
    match administrator.query("SELECT VERSION()")? {
        Answer::Rows { rows, .. } => {
            let version = rows.first().and_then(|row| row.first()).cloned().flatten();
            Ok(String::from_utf8_lossy(&version.unwrap_or_default()).into_owned())
        }
        _ => bail!("no version"),
    }
}

fn named(code: u16) -> String {
    match code {
        0 => "ok".to_owned(),
        code => code.to_string(),
    }
}

/// A statement, then its answers: each with the grants that have it, the most frequent one as the rest.
fn written(version: &str, statements: &[Statement], grants: &[Grant], matrix: &[Vec<Option<u16>>]) -> String {
    let mut text = format!("# What MySQL {version} answers; written by `rights --record`, see crates/sqltest.\n");
    for (statement, answers) in statements.iter().zip(matrix) {
        let mut by_answer: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
        for (grant, answer) in grants.iter().zip(answers) {
            if let Some(code) = answer {
                by_answer.entry(*code).or_default().push(&grant.name);
            }
        }
        let rest = by_answer
            .iter()
            .max_by_key(|(_, names)| names.len())
            .map(|(code, _)| *code);
        let _ = writeln!(text, "\n{}", statement.text);
        for (code, names) in &by_answer {
            let list = match Some(*code) == rest {
                true => "the rest".to_owned(),
                false => names.join(", "),
            };
            let _ = writeln!(text, "    {}: {list}", named(*code));
        }
    }
    text
}

fn read_statements(path: &Path) -> Result<Vec<Statement>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut statements: Vec<Statement> = Vec::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match line.strip_prefix("! ") {
            Some(skipped) => {
                let last = statements.last_mut().context("a grant before the first statement")?;
                last.skipped.push(skipped.to_owned());
            }
            None => {
                let (_, text) = line.split_once(": ").with_context(|| line.to_owned())?;
                statements.push(Statement {
                    text: text.to_owned(),
                    skipped: Vec::new(),
                });
            }
        }
    }
    Ok(statements)
}

/// The recorded answers of each statement: by grant, and the answer of the rest.
fn read_answers(path: &Path) -> Result<BTreeMap<String, (BTreeMap<String, u16>, u16)>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut answers: BTreeMap<String, (BTreeMap<String, u16>, u16)> = BTreeMap::new();
    let mut current = String::new();
    for line in text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
    {
        let Some(answer) = line.strip_prefix("    ") else {
            current = line.to_owned();
            continue;
        };
        let (code, grants) = answer.split_once(": ").with_context(|| line.to_owned())?;
        let code = if code == "ok" { 0 } else { code.parse()? };
        let (by_grant, rest) = answers.entry(current.clone()).or_default();
        match grants {
            "the rest" => *rest = code,
            grants => by_grant.extend(grants.split(", ").map(|grant| (grant.to_owned(), code))),
        }
    }
    Ok(answers)
}

/// A difference that is meant: the statement begins so, the grant, too.
struct Explained {
    statement: String,
    grant: String,
}

/// `statement | grant | reason`; `*` for every grant.
fn read_explained(path: &Path) -> Result<Vec<Explained>> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let explained = lines.map(|line| {
        let mut parts = line.splitn(3, " | ");
        match (parts.next(), parts.next(), parts.next()) {
            (Some(statement), Some(grant), Some(_)) => Ok(Explained {
                statement: statement.to_owned(),
                grant: grant.to_owned(),
            }),
            _ => bail!("not `statement | grant | reason`: {line}"),
        }
    });
    explained.collect()
}

fn compare(
    arguments: &Arguments,
    statements: &[Statement],
    grants: &[Grant],
    matrix: &[Vec<Option<u16>>],
) -> Result<bool> {
    let recorded = read_answers(&arguments.folder.join("answers.txt"))?;
    let explained = read_explained(&arguments.folder.join("explained.txt"))?;
    let (mut same, mut meant, mut differing) = (0, 0, 0);
    for (statement, answers) in statements.iter().zip(matrix) {
        let (by_grant, rest) = recorded
            .get(&statement.text)
            .with_context(|| format!("no answers to {}", statement.text))?;
        let mut differences: BTreeMap<(u16, u16), Vec<&str>> = BTreeMap::new();
        for (grant, answer) in grants.iter().zip(answers) {
            let Some(answer) = answer else { continue };
            let expected = by_grant.get(&grant.name).unwrap_or(rest);
            let is_meant = || {
                explained.iter().any(|one| {
                    statement.text.starts_with(&one.statement)
                        && (one.grant == "*" || grant.name.starts_with(&one.grant))
                })
            };
            match answer == expected {
                true => same += 1,
                false if is_meant() => meant += 1,
                false => {
                    differing += 1;
                    differences.entry((*expected, *answer)).or_default().push(&grant.name);
                }
            }
        }
        for ((expected, answer), names) in differences {
            println!(
                "{}\n    {} instead of {}: {}",
                statement.text,
                named(answer),
                named(expected),
                names.join(", ")
            );
        }
    }
    println!("{same} answers as recorded, {meant} differences explained, {differing} not");
    Ok(differing == 0)
}
