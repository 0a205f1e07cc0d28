//! `cargo xtask oracle`: what MySQL and MariaDB answer to the SQL scripts and to the tables of expressions.
//!
//! Their answers are kept in the scripts, with the version that gave them, so the tests need neither server. `tools/oracle`
//! installs and starts them.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::test::{Context, done};

/// What is recorded.
const PATHS: [&str; 2] = ["tests/sql", "crates/sql/tests/expr"];
/// Seeds of `sqlgen` as scripts: of these MySQL alone is asked.
const GENERATED: &str = "tests/sql/generated";

#[derive(clap::Args)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Ask the servers for all their answers and write them into the scripts and tables
    Record {
        /// HOST:PORT of MySQL
        #[arg(long, default_value = "127.0.0.1:13390")]
        mysql: String,
        /// HOST:PORT of MariaDB
        #[arg(long, default_value = "127.0.0.1:13391")]
        mariadb: String,
        #[arg(long, default_value = "oracle")]
        user: String,
        #[arg(long, default_value = "oracle")]
        password: String,
        /// Some scripts or tables only
        paths: Vec<String>,
    },
    /// Show where LatsDB, MySQL and MariaDB answer otherwise than each other, and why: asks no server
    Differences { paths: Vec<String> },
}

pub fn run(options: &Options) -> Result<()> {
    let context = Context::new(crate::test::Options::default())?;
    let sqltest = || {
        let mut command = Command::new(env!("CARGO"));
        command
            .args(["run", "--quiet", "--package", "sqltest", "--"])
            .current_dir(&context.root);
        command
    };
    match &options.action {
        Action::Record {
            mysql,
            mariadb,
            user,
            password,
            paths,
        } => {
            for address in [mysql, mariadb] {
                let mut record = sqltest();
                record.args(["--record", "--addr", address, "--user", user, "--password", password]);
                add_paths(&mut record, paths);
                if paths.is_empty() && address == mysql {
                    record.arg(GENERATED);
                }
                done(record)?;
            }
            shown(sqltest(), paths)
        }
        Action::Differences { paths } => shown(sqltest(), paths),
    }
}

fn shown(mut command: Command, paths: &[String]) -> Result<()> {
    command.arg("--differences");
    add_paths(&mut command, paths);
    if paths.is_empty() {
        command.arg(GENERATED);
    }
    ensure!(command.status()?.success(), "some differences are not explained");
    Ok(())
}

fn add_paths(command: &mut Command, paths: &[String]) {
    if paths.is_empty() {
        command.args(PATHS);
    } else {
        command.args(paths);
    }
}
