//! The server under test, as a process.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mysql_client::{Client, Login};

/// The longest that a server may take to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
/// How often it is asked whether it is.
const POLL: Duration = Duration::from_millis(5);

/// Where a server is and what it needs.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The program; `{dir}` and `{port}` in its arguments are replaced.
    pub command: Vec<String>,
    pub dir: PathBuf,
    pub port: u16,
    pub environment: Vec<(String, String)>,
}

/// A running server; killed when dropped.
pub struct Server {
    child: Child,
    address: String,
    log: PathBuf,
}

impl Setup {
    /// LatsDB itself; its HTTP port is the next one.
    pub fn latsdb(program: &Path, dir: &Path, port: u16) -> Setup {
        let arguments = [
            "serve",
            "--data-dir",
            "{dir}",
            "--mysql-addr",
            "127.0.0.1:{port}",
            "--http-addr",
            "127.0.0.1:{next}",
        ];
        let command = std::iter::once(program.display().to_string())
            .chain(arguments.map(String::from))
            .collect();
        Setup {
            command,
            dir: dir.to_owned(),
            port,
            environment: Vec::new(),
        }
    }

    /// The nodes of a cluster, in directories below. Three ports belong to each: MySQL, HTTP, and for the other nodes.
    pub fn latsdb_cluster(program: &Path, dir: &Path, port: u16, nodes: u16) -> Vec<Setup> {
        let peer = |node: u16| format!("127.0.0.1:{}", port + 3 * node + 2);
        let node = |node: u16| {
            let dir = dir.join(format!("node-{}", node + 1));
            let mut setup = Setup::latsdb(program, &dir, port + 3 * node);
            let id = (node + 1).to_string();
            setup
                .command
                .extend(["--node-id".into(), id, "--peer-addr".into(), peer(node)]);
            if node > 0 {
                setup.command.extend(["--join".into(), peer(0)]);
            }
            setup
        };
        (0..nodes).map(node).collect()
    }

    /// Whether it is the node of a cluster that leads.
    pub fn leads(&self) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port + 1))?;
            stream.set_read_timeout(Some(Duration::from_secs(1)))?;
            stream.write_all(b"GET /health/leader HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    fn spawn(&self) -> Result<Server> {
        let log = self.dir.with_extension("log");
        let output = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .context("the server's log")?;
        if self.dir.exists() {
            // Copied and damaged by hand: the server takes no directory that others may read.
            let closed = Command::new("chmod").args(["-R", "go="]).arg(&self.dir).status();
            ensure!(
                closed.context("chmod")?.success(),
                "chmod failed in {}",
                self.dir.display()
            );
        }
        let fill = |argument: &String| {
            let argument = argument.replace("{dir}", &self.dir.display().to_string());
            argument
                .replace("{port}", &self.port.to_string())
                .replace("{next}", &(self.port + 1).to_string())
        };
        let arguments: Vec<String> = self.command.iter().map(fill).collect();
        let child = Command::new(&arguments[0])
            .args(&arguments[1..])
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start {}", arguments[0]))?;
        Ok(Server {
            child,
            address: format!("127.0.0.1:{}", self.port),
            log,
        })
    }

    /// Starts the server and waits until it answers.
    pub fn start(&self) -> Result<Server> {
        let mut server = self.spawn()?;
        let started = Instant::now();
        loop {
            if server.connect(None).is_ok() {
                return Ok(server);
            }
            if let Some(status) = server.child.try_wait()? {
                bail!(
                    "the server ended with {status} instead of starting:\n{}",
                    server.last_words()
                );
            }
            if started.elapsed() > READY_TIMEOUT {
                bail!(
                    "the server is not ready after {READY_TIMEOUT:?}:\n{}",
                    server.last_words()
                );
            }
            std::thread::sleep(POLL);
        }
    }

    /// Starts a server that is to refuse; returns what it said. `None`: it started.
    pub fn start_refused(&self) -> Result<Option<String>> {
        fs::write(self.dir.with_extension("log"), "")?;
        match self.start() {
            Ok(_) => Ok(None),
            Err(error) => Ok(Some(format!("{error:#}"))),
        }
    }
}

impl Server {
    pub fn connect(&self, database: Option<&str>) -> Result<Client> {
        let login = Login {
            address: &self.address,
            user: "root",
            password: "",
            database,
            program_name: "crashtest",
        };
        Ok(Client::connect(&login)?)
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An error if it has panicked, by its log.
    fn check_panics(&self) -> Result<()> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let is_panic = |line: &&str| line.contains("panicked at ") && !line.contains(": failpoint ");
        match log.lines().find(is_panic) {
            Some(line) => bail!("the server panicked: {line}"),
            None => Ok(()),
        }
    }

    /// `kill -9` for a server that others still talk to; it is gone when they notice. It may have died by itself.
    pub fn interrupt(&self) -> Result<()> {
        let kill = Command::new("kill")
            .args(["-9", &self.pid().to_string()])
            .stderr(Stdio::null())
            .status();
        kill.context("kill").map(drop)
    }

    /// `kill -9`.
    pub fn kill(mut self) -> Result<()> {
        self.check_panics()?;
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Waits for the end of one that has been told to stop; a second signal would stop it at once.
    pub fn ended(mut self) -> Result<ExitStatus> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                self.check_panics()?;
                return Ok(status);
            }
            if started.elapsed() > READY_TIMEOUT {
                bail!("the server did not stop:\n{}", self.last_words());
            }
            std::thread::sleep(POLL);
        }
    }

    /// The end of what it logged.
    pub fn last_words(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(12).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Copies a directory and what is in it.
pub fn copy_dir(from: &Path, to: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else if kind.is_file() {
            // A killed server leaves its Unix socket behind.
            write_sparse(&target, &fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

/// A file of these bytes that takes no room for its zeros: most of a log is space for later.
pub fn write_sparse(path: &Path, bytes: &[u8]) -> Result<()> {
    static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
    let file = File::create(path)?;
    for (number, chunk) in bytes.chunks(ZEROS.len()).enumerate() {
        if *chunk != ZEROS[..chunk.len()] {
            file.write_all_at(chunk, (number * ZEROS.len()) as u64)?;
        }
    }
    Ok(file.set_len(bytes.len() as u64)?)
}
