//! `cargo xtask apps`: real applications on LatsDB, and on MySQL for what they have to answer.

use anyhow::{Result, ensure};

use crate::test::{Context, applications, build_server};

#[derive(clap::Args)]
pub struct Options {
    /// Some applications only (the names of the files in tests/applications)
    names: Vec<String>,
    /// HOST:PORT of a MySQL whose root has no password: ask it, too, and keep what it answers (tests/applications/mysql.json)
    #[arg(long)]
    against: Option<String>,
    /// Those that install in seconds
    #[arg(long)]
    quick: bool,
    /// Use the optimised build
    #[arg(long)]
    release: bool,
    /// Write docs/compatibility.md from the newest result of each application
    #[arg(long)]
    table: bool,
}

pub fn run(options: &Options) -> Result<()> {
    let context = match options.release {
        true => Context::optimised()?,
        false => Context::new(crate::test::Options::default())?,
    };
    build_server(&context)?;
    let mut command = applications(&context);
    command
        .arg("--binary")
        .arg(context.server_binary())
        .args(&options.names);
    if let Some(mysql) = &options.against {
        command.args(["--against", mysql]);
    }
    for (is_set, flag) in [(options.quick, "--quick"), (options.table, "--table")] {
        if is_set {
            command.arg(flag);
        }
    }
    ensure!(command.status()?.success(), "some applications failed");
    Ok(())
}
