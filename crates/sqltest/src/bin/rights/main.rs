//! The matrix of statements and privileges: what each grant lets an account do, on MySQL and here.
//!
//! `tests/rights/statements.txt` has a statement of every kind. Each is run by an account for every grant there is: each privilege for
//! the whole server, on a database, on a pattern, on a table, on a view, on a column, by a role, and sets of them. `tests/rights/answers.txt`
//! keeps what MySQL said: the error that denies it, or `ok` for everything else, since what an allowed statement does is no matter of
//! rights; of the statements of the kind `Shown` also what they show. Differences that are meant stand in `tests/rights/explained.txt`, each
//! with its reason.
//!
//!     cargo run -p sqltest --bin rights -- --addr 127.0.0.1:3306 --user root               # holds LatsDB to the answers
//!     cargo run -p sqltest --bin rights -- --addr ORACLE --user sb --password sb --record  # asks MySQL
//!
//! Answers are written after each statement, and those that are there are not asked for again: a recording that was stopped goes on.

mod files;
mod grants;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Parser;

use crate::files::{Answers, Explained, Statement};
use crate::grants::{Grant, grants};
use crate::server::Server;

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
    /// Only statements that hold this text; recorded, they are asked for again
    #[arg(long, default_value = "")]
    only: String,
    #[arg(default_value = "tests/rights")]
    folder: PathBuf,
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
    let statements = files::read_statements(&arguments.folder.join("statements.txt"))?;
    let grants = grants();
    let mut server = Server::connect(&arguments.addr, &arguments.user, &arguments.password)?;
    server.prepare(&grants)?;
    let done = match arguments.record {
        true => record(arguments, &mut server, &statements, &grants).map(|()| true),
        false => compare(arguments, &mut server, &statements, &grants),
    };
    server.clean_up(&grants)?;
    done
}

fn record(arguments: &Arguments, server: &mut Server, statements: &[Statement], grants: &[Grant]) -> Result<()> {
    let path = arguments.folder.join("answers.txt");
    let mut answers = Answers::read_or_begin(&path, &server.version()?, grants.len())?;
    let wanted = |statement: &&Statement| match arguments.only.as_str() {
        "" => !answers.has(&statement.text),
        only => statement.text.contains(only),
    };
    let missing: Vec<&Statement> = statements.iter().filter(wanted).collect();
    for statement in missing {
        let given = server.try_all(statement, grants)?;
        answers.keep(statement, grants, &given);
        answers.write(&path, statements)?;
    }
    Ok(())
}

fn compare(arguments: &Arguments, server: &mut Server, statements: &[Statement], grants: &[Grant]) -> Result<bool> {
    let recorded = Answers::read(&arguments.folder.join("answers.txt"))?;
    if recorded.grants != grants.len() {
        bail!(
            "answers to {} grants are recorded, there are {}",
            recorded.grants,
            grants.len()
        );
    }
    let mut explained = Explained::read(&arguments.folder.join("explained.txt"))?;
    let (mut same, mut meant, mut differing) = (0, 0, 0);
    for statement in statements.iter().filter(|one| one.text.contains(&arguments.only)) {
        let given = server.try_all(statement, grants)?;
        let mut unexplained = files::Differences::default();
        for (grant, answer) in grants.iter().zip(&given) {
            let Some(answer) = answer else { continue };
            let expected = recorded.of(&statement.text, &grant.name)?;
            if answer == expected {
                same += 1;
            } else if explained.explains(&statement.text, &grant.name, expected, answer) {
                meant += 1;
            } else {
                differing += 1;
                unexplained.add(expected, answer, &grant.name);
            }
        }
        unexplained.print(&statement.text);
    }
    let idle = explained.idle();
    if arguments.only.is_empty() {
        for line in &idle {
            println!("explains nothing: {line}");
        }
    }
    println!("{meant} answers differ from MySQL {} as explained", recorded.version);
    println!("{} passed, {differing} failed", same + meant);
    Ok(differing == 0 && (idle.is_empty() || !arguments.only.is_empty()))
}
