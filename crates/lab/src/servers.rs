//! Servers that the lab starts by itself: a LatsDB and a MariaDB with data folders of their own, on free ports.
//!
//! Each is stopped and its folder removed when its [`Server`] goes, whatever the reason; [`kill_all`] does the same for
//! all of them when the lab has to leave at once.

use std::fs::{self, File};
use std::io::Read;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::interrupt::Interrupt;
use crate::terminal;

/// A server that lives as long as this value.
pub struct Server {
    pub name: &'static str,
    /// `host:port` for clients.
    pub address: String,
    pub pid: u32,
    child: Child,
    dir: PathBuf,
}

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);

/// What runs now, for [`kill_all`].
static RUNNING: Mutex<Vec<(u32, PathBuf)>> = Mutex::new(Vec::new());

impl Server {
    /// `latsdb serve` with its data below `dir`.
    pub fn latsdb(program: &Path, dir: &Path, interrupt: &Interrupt) -> Result<Server> {
        let dir = fresh(dir)?;
        let [mysql, http] = free_ports()?;
        let mut command = Command::new(program);
        command
            .arg("serve")
            .arg("--data-dir")
            .arg(dir.join("data"))
            .args(["--mysql-addr", &local(mysql)])
            .args(["--http-addr", &local(http)]);
        Server::start("latsdb", command, dir, mysql, interrupt)
    }

    /// A MariaDB with its own settings (durable at every commit) and its data below `dir`.
    pub fn mariadb(program: &Path, dir: &Path, interrupt: &Interrupt) -> Result<Server> {
        let dir = fresh(dir)?;
        let data = dir.join("data");
        let installer = find_program("mariadb-install-db").context("mariadb-install-db is not installed")?;
        let mut install = Command::new(installer);
        install
            .arg("--no-defaults")
            .arg(format!("--datadir={}", data.display()))
            .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
            .args(as_root());
        let output = install.output().context("cannot run mariadb-install-db")?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            remove(&dir);
            bail!("mariadb-install-db failed: {reason}");
        }
        let [port] = free_ports()?;
        let mut command = Command::new(program);
        command
            .arg("--no-defaults")
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--port={port}"))
            .args([
                "--bind-address=127.0.0.1",
                "--socket=mariadb.sock",
                "--skip-name-resolve",
            ])
            .args(["--max-connections=2000", "--max-prepared-stmt-count=1000000"])
            .args(as_root());
        Server::start("mariadb", command, dir, port, interrupt)
    }

    fn start(
        name: &'static str,
        mut command: Command,
        dir: PathBuf,
        port: u16,
        interrupt: &Interrupt,
    ) -> Result<Server> {
        let log_path = dir.join("log");
        let log = File::create(&log_path).with_context(|| format!("cannot write {}", log_path.display()))?;
        // A group of its own: Ctrl-C in the terminal is for the lab, which then stops its servers in order.
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().context("cannot share the log")?)
            .stderr(log)
            .process_group(0);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().display()))?;
        running().push((child.id(), dir.clone()));
        let mut server = Server {
            name,
            address: local(port),
            pid: child.id(),
            child,
            dir,
        };
        server.wait_until_it_greets(interrupt).map_err(|error| {
            let log = fs::read_to_string(&log_path).unwrap_or_default();
            anyhow!("{name} did not start: {error}; the end of its log:\n{}", end_of(&log))
        })?;
        Ok(server)
    }

    /// A MySQL server speaks first.
    fn wait_until_it_greets(&mut self, interrupt: &Interrupt) -> Result<()> {
        let address: SocketAddr = self.address.parse().context("our own address")?;
        let end = Instant::now() + START_LIMIT;
        while Instant::now() < end {
            if interrupt.asked() {
                bail!("stopped by the user");
            }
            if let Some(status) = self.child.try_wait().context("cannot look at the process")? {
                bail!("it ended with {status}");
            }
            if greets(address) {
                return Ok(());
            }
            thread::sleep(LOOK);
        }
        bail!("no greeting on {} within {START_LIMIT:?}", self.address)
    }

    /// SIGTERM and, if that does not help, SIGKILL.
    fn stop(&mut self) {
        signal(self.pid, Signal::TERM);
        let end = Instant::now() + STOP_LIMIT;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(LOOK);
        }
        // An error means that it has gone meanwhile.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        running().retain(|(pid, _)| *pid != self.pid);
        remove(&self.dir);
    }
}

/// Ends what runs without asking it, and removes its data.
pub fn kill_all() {
    let servers: Vec<(u32, PathBuf)> = running().drain(..).collect();
    for (pid, _) in &servers {
        signal(*pid, Signal::KILL);
    }
    for (_, dir) in servers {
        // A killed server writes until it has really gone.
        let end = Instant::now() + Duration::from_secs(2);
        while fs::remove_dir_all(&dir).is_err() && dir.exists() && Instant::now() < end {
            thread::sleep(LOOK);
        }
        // What it was made in may be others' too; then it is not empty and stays.
        dir.parent().map(fs::remove_dir);
    }
}

fn running() -> std::sync::MutexGuard<'static, Vec<(u32, PathBuf)>> {
    RUNNING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A process that has gone already needs no signal.
fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        kill_process(pid, signal).ok();
    }
}

fn greets(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(1)) else {
        return false;
    };
    let mut header = [0; 5];
    stream.set_read_timeout(Some(Duration::from_secs(1))).is_ok() && stream.read_exact(&mut header).is_ok()
}

fn local(port: u16) -> String {
    format!("127.0.0.1:{port}")
}

/// MariaDB refuses to run as root unless it is told that this is meant.
fn as_root() -> Option<&'static str> {
    rustix::process::geteuid().is_root().then_some("--user=root")
}

fn fresh(dir: &Path) -> Result<PathBuf> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
    fs::canonicalize(dir).with_context(|| format!("cannot find {}", dir.display()))
}

fn remove(dir: &Path) {
    if let Err(error) = fs::remove_dir_all(dir)
        && dir.exists()
    {
        terminal::tell(&format!("cannot remove {}: {error}: remove it by hand", dir.display()));
    }
}

/// Ports that were free a moment ago; all are held until all are known, so that they differ.
fn free_ports<const N: usize>() -> Result<[u16; N]> {
    let mut held = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
        *port = listener.local_addr().context("no address")?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// A program of this name in `PATH` or where daemons live.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from))
        .map(|dir| dir.join(name))
        .find(|program| program.is_file())
}

fn end_of(log: &str) -> &str {
    let start = log.char_indices().rev().nth(1500).map_or(0, |(at, _)| at);
    log[start..].trim()
}
