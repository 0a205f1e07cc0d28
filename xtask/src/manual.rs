//! `cargo xtask manual`: which functions and statements of MySQL's manual the server has, asked of a server of its own.

use std::process::Command;

use anyhow::Result;

use crate::test::{Context, Options as TestOptions, Server, build_server, done};

#[derive(clap::Args)]
pub struct Options {
    /// Write docs/manual.md anew, instead of comparing it with what the server says
    #[arg(long)]
    write: bool,
}

pub fn run(options: &Options) -> Result<()> {
    let context = Context::new(TestOptions::default())?;
    build_server(&context)?;
    let server = Server::start(&context, "manual", &[])?;
    let address = server.address();
    let mut ask = Command::new(env!("CARGO"));
    ask.args(["run", "--quiet", "--package", "sqltest", "--bin", "manual", "--"])
        .args(["--addr", &format!("{}:{}", address.host, address.port)])
        .args(["--user", &address.user])
        .args(options.write.then_some("--write"))
        .current_dir(&context.root);
    let asked = done(ask);
    server.stop()?;
    asked
}
