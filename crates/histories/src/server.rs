//! The server under test: started, killed, started again on what it left. It is one node, or a cluster of several, of which one is killed
//! while the others go on.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mysql_client::{Client, Login};

/// The longest that a server may take to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// An answer that takes longer is none.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(10);
/// How long the other nodes of a cluster are without the one that was killed.
const ALONE: Duration = Duration::from_millis(700);

// A node's ports.
const PORTS: u16 = 3;
const MYSQL: u16 = 0;
const HTTP: u16 = 1;
const PEER: u16 = 2;

/// A server that may be down for a moment.
pub struct Server {
    binary: PathBuf,
    dir: PathBuf,
    port: u16,
    /// The processes of its nodes.
    nodes: Vec<Mutex<Option<Child>>>,
    /// Counts connections, which go to one node after the other.
    connections: AtomicUsize,
    /// Counts kills.
    kills: AtomicUsize,
}

impl Server {
    /// Starts it on an empty directory. Three ports from `port` on belong to each node: MySQL, HTTP, and for the other nodes.
    pub fn start(binary: PathBuf, dir: PathBuf, port: u16, nodes: usize) -> Result<Server> {
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(&dir)?;
        let server = Server {
            binary,
            dir,
            port,
            nodes: (0..nodes).map(|_| Mutex::default()).collect(),
            connections: AtomicUsize::new(0),
            kills: AtomicUsize::new(0),
        };
        for node in 0..nodes {
            server.run(node, "")?;
        }
        Ok(server)
    }

    /// Starts a node's process and waits until it answers. `failpoints`: see `env::failpoints`.
    fn run(&self, node: usize, failpoints: &str) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let mut command = Command::new(&self.binary);
        command
            .arg("serve")
            .args(["--mysql-addr", &self.address(node, MYSQL)])
            .args(["--http-addr", &self.address(node, HTTP)])
            .arg("--data-dir")
            .arg(self.dir.join(format!("data-{node}")));
        if self.nodes.len() > 1 {
            command
                .args(["--peer-addr", &self.address(node, PEER)])
                .args(["--node-id", &(node + 1).to_string()]);
        }
        if node > 0 {
            command.args(["--join", &self.address(0, PEER)]);
        }
        let mut child = command
            .envs((!failpoints.is_empty()).then_some(("ENV_FAILPOINTS", failpoints)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| self.binary.display().to_string())?;
        let started = Instant::now();
        while self.connect_to(node, None).is_err() {
            if let Some(status) = child.try_wait()? {
                bail!("the server ended with {status}: see {}", self.log().display());
            }
            if started.elapsed() > READY_TIMEOUT {
                // It is of no use any more.
                let _ = child.kill();
                bail!("the server is not ready: see {}", self.log().display());
            }
            std::thread::sleep(POLL);
        }
        *self.nodes[node].lock().expect("nobody panics with it") = Some(child);
        Ok(())
    }

    /// `kill -9` of a node, and a new start on the same directory. Of several, two times of three it is the one that leads.
    pub fn kill_and_restart(&self, failpoints: &str) -> Result<()> {
        let kills = self.kills.fetch_add(1, Ordering::Relaxed);
        let leader = (0..self.nodes.len()).find(|&node| self.leads(node));
        let node = match leader {
            Some(leader) if kills % 3 < 2 => leader,
            _ => kills % self.nodes.len(),
        };
        self.kill(node)?;
        if self.nodes.len() > 1 {
            // The others find a new leader.
            std::thread::sleep(ALONE);
        }
        self.run(node, failpoints)
    }

    fn leads(&self, node: usize) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(self.address(node, HTTP))?;
            stream.set_read_timeout(Some(Duration::from_secs(1)))?;
            stream.write_all(b"GET /health/leader HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    fn kill(&self, node: usize) -> Result<()> {
        let child = self.nodes[node].lock().expect("nobody panics with it").take();
        if let Some(mut child) = child {
            ensure!(
                child.try_wait()?.is_none(),
                "the server died by itself: see {}",
                self.log().display()
            );
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    /// Connects to the next node that can be reached.
    pub fn connect(&self, database: Option<&str>) -> Result<Client> {
        let mut last = None;
        for _ in 0..self.nodes.len() {
            let node = self.connections.fetch_add(1, Ordering::Relaxed) % self.nodes.len();
            match self.connect_to(node, database) {
                Ok(client) => return Ok(client),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("there is a node"))
    }

    fn connect_to(&self, node: usize, database: Option<&str>) -> Result<Client> {
        let login = Login {
            address: &self.address(node, MYSQL),
            user: "root",
            password: "",
            database,
            program_name: "histories",
        };
        let mut client = Client::connect(&login)?;
        client.limit_wait(ANSWER_TIMEOUT)?;
        Ok(client)
    }

    /// An error if it has panicked, by its log.
    pub fn check_panics(&self) -> Result<()> {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        match log.lines().find(|line| line.contains("panicked at ")) {
            Some(line) => bail!("the server panicked: {line}"),
            None => Ok(()),
        }
    }

    fn address(&self, node: usize, port: u16) -> String {
        format!("127.0.0.1:{}", self.port + node as u16 * PORTS + port)
    }

    fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for node in 0..self.nodes.len() {
            // It may be dead already, which is as well.
            let _ = self.kill(node);
        }
    }
}
