//! `cargo xtask bench`: LatsDB, the local MariaDB and the do-nothing server, side by side under sysbench.
//!
//! All three run on this machine at the same time and `tools/compare.py` takes them in turns, so that what the machine
//! does meanwhile hits all alike. MariaDB runs with its defaults (commit synced) on a data directory of its own.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::test::{Context, Server, build_server, done, find};

const START_LIMIT: Duration = Duration::from_secs(60);

#[derive(clap::Args)]
pub struct Options {
    /// Leave MariaDB out
    #[arg(long)]
    no_mariadb: bool,
    /// More arguments for tools/compare.py: --scripts, --threads, --seconds, --rounds, --tables, --table-size, --json
    #[arg(last = true)]
    compare: Vec<String>,
}

pub fn run(options: &Options) -> Result<()> {
    let context = Context::optimised()?;
    build_server(&context)?;
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--quiet", "--release", "--manifest-path"])
        .arg(context.root.join("tools/ceiling/Cargo.toml"));
    build.env("CARGO_TARGET_DIR", context.target("ceiling"));
    done(build)?;

    let latsdb = Server::start(&context, "bench", &[])?;
    let ceiling_port = free_port()?;
    let ceiling =
        Started::new(Command::new(context.target("ceiling/release/ceiling")).arg(format!("127.0.0.1:{ceiling_port}")))?;
    wait_for(ceiling_port)?;

    let mut compare = Command::new("python3");
    compare.arg(context.root.join("tools/compare.py"));
    compare.arg(format!("latsdb=127.0.0.1:{}:root:", latsdb.address().port));
    let mariadb = match find("mariadbd") {
        Some(program) if !options.no_mariadb => Some(start_mariadb(&program, &context)?),
        _ => None,
    };
    if let Some((_, port)) = &mariadb {
        compare.arg(format!("mariadb=127.0.0.1:{port}:root:"));
    }
    compare
        .arg(format!("ceiling=127.0.0.1:{ceiling_port}:sb:sb"))
        .args(&options.compare);
    let compared = compare.status().context("cannot start tools/compare.py")?;
    drop((ceiling, mariadb));
    latsdb.stop()?;
    if !compared.success() {
        bail!("tools/compare.py ended with {compared}");
    }
    Ok(())
}

/// A process that ends with its owner.
struct Started(Child);

impl Started {
    fn new(command: &mut Command) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Ok(Self(child.with_context(|| format!("cannot start {command:?}"))?))
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A MariaDB with its defaults on fresh data, and its port.
fn start_mariadb(program: &Path, context: &Context) -> Result<(Started, u16)> {
    let data = context.target("test-data/mariadb");
    if data.exists() {
        std::fs::remove_dir_all(&data)?;
    }
    std::fs::create_dir_all(&data)?;
    let mut install = Command::new("mariadb-install-db");
    install.arg(format!("--datadir={}", data.display()));
    install.args([
        "--no-defaults",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]);
    done(install)?;
    let port = free_port()?;
    let mut command = Command::new(program);
    command.args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1"]);
    command
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--port={port}"));
    command.arg(format!("--socket={}", data.join("socket").display()));
    let server = Started::new(&mut command)?;
    wait_for(port)?;
    let mut create = Command::new("mariadb");
    create.args([
        "--no-defaults",
        "--protocol=tcp",
        "-h",
        "127.0.0.1",
        "-u",
        "root",
        "-e",
        "CREATE DATABASE sbtest",
    ]);
    create.arg(format!("-P{port}"));
    done(create)?;
    Ok((server, port))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Until somebody listens there.
fn wait_for(port: u16) -> Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
        if Instant::now() > deadline {
            bail!("nobody listens on port {port} after {} s", START_LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
