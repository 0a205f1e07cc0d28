//! Three nodes of the runner's own, whose lead moves when it is told to.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mysql_client::{Answer, Client, Login};

pub const NODES: usize = 3;

/// For what comes about by itself.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

struct Addresses {
    mysql: String,
    http: String,
    peer: String,
}

pub struct Cluster {
    binary: PathBuf,
    dir: PathBuf,
    addresses: Vec<Addresses>,
    processes: Vec<Option<Child>>,
}

impl Cluster {
    /// Starts it in an empty directory, and waits until all nodes are in it.
    pub fn start(binary: &Path, dir: &Path) -> Result<Cluster> {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        fs::create_dir_all(dir)?;
        // All at once, so that no port comes twice.
        let listeners = (0..NODES * 3).map(|_| TcpListener::bind("127.0.0.1:0"));
        let listeners = listeners.collect::<std::io::Result<Vec<_>>>()?;
        let address = |at: usize| anyhow::Ok(listeners[at].local_addr()?.to_string());
        let addresses = (0..NODES).map(|node| {
            Ok(Addresses {
                mysql: address(node * 3)?,
                http: address(node * 3 + 1)?,
                peer: address(node * 3 + 2)?,
            })
        });
        let addresses = addresses.collect::<Result<_>>()?;
        drop(listeners);
        let mut cluster = Cluster {
            binary: fs::canonicalize(binary).with_context(|| binary.display().to_string())?,
            dir: dir.to_owned(),
            addresses,
            processes: (0..NODES).map(|_| None).collect(),
        };
        for node in 0..NODES {
            cluster.run(node)?;
        }
        cluster.wait_until_whole()?;
        Ok(cluster)
    }

    /// Where clients find a node.
    pub fn mysql(&self, node: usize) -> &str {
        &self.addresses[node].mysql
    }

    fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    fn run(&mut self, node: usize) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let Addresses { mysql, http, peer } = &self.addresses[node];
        let mut command = Command::new(&self.binary);
        command
            .arg("serve")
            .arg("--data-dir")
            .arg(self.dir.join(format!("data-{node}")))
            .args(["--mysql-addr", mysql, "--http-addr", http, "--peer-addr", peer])
            .args(["--node-id", &(node + 1).to_string()]);
        if node > 0 {
            command.args(["--join", &self.addresses[0].peer]);
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| self.binary.display().to_string())?;
        self.processes[node] = Some(child);
        self.until("a node that answers", |cluster| cluster.client(node).is_ok())
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Cluster) -> bool) -> Result<()> {
        let started = Instant::now();
        while !is_so(self) {
            for child in self.processes.iter_mut().flatten() {
                if let Some(status) = child.try_wait()? {
                    bail!("a node ended with {status}: see {}", self.log().display());
                }
            }
            ensure!(
                started.elapsed() < PATIENCE,
                "{what} does not come: see {}",
                self.log().display()
            );
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// Until every node is ready, and one of them leads.
    pub fn wait_until_whole(&mut self) -> Result<()> {
        self.until("a cluster that is whole", |cluster| {
            let all_ready = (0..NODES).all(|node| cluster.says_ok(node, "/health/ready"));
            all_ready && cluster.leader().is_some() && cluster.all_write()
        })
    }

    /// A node that joins votes, and can lead, when it has all rows.
    fn all_write(&self) -> bool {
        let writes = |node| -> Result<bool> {
            let answer = self.client(node)?.query("FLUSH STATUS")?;
            Ok(!matches!(answer, Answer::Error { .. }))
        };
        (0..NODES).all(|node| writes(node).unwrap_or(false))
    }

    pub fn leader(&self) -> Option<usize> {
        (0..NODES).find(|&node| self.says_ok(node, "/health/leader"))
    }

    /// The newest term: another one says that the lead has moved.
    pub fn term(&self) -> u64 {
        let terms = (0..NODES).filter_map(|node| {
            let page = self.get(node, "/metrics").ok()?;
            let line = page.lines().find(|line| line.starts_with("latsdb_shard_term "))?;
            line.rsplit(' ').next()?.parse().ok()
        });
        terms.max().unwrap_or_default()
    }

    fn says_ok(&self, node: usize, page: &str) -> bool {
        self.get(node, page)
            .is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    fn get(&self, node: usize, page: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.addresses[node].http)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        write!(
            stream,
            "GET {page} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    pub fn client(&self, node: usize) -> Result<Client> {
        let login = Login {
            address: self.mysql(node),
            user: "root",
            password: "",
            database: None,
            program_name: "schedules",
        };
        Ok(Client::connect(&login)?)
    }

    /// Hands the lead over to another node. Returns when that one leads.
    pub fn move_lead(&mut self) -> Result<()> {
        let before = self.leader().context("nobody leads")?;
        let to = (before + 1) % NODES;
        let started = Instant::now();
        while self.leader() != Some(to) {
            ensure!(started.elapsed() < PATIENCE, "the lead does not move");
            let ordered = Command::new(&self.binary)
                .args(["admin", "move-leader", &(to + 1).to_string()])
                .args(["--http-addr", &self.addresses[before].http])
                .output()?;
            if !ordered.status.success() {
                // It has moved by itself, or the other one lags behind.
                std::thread::sleep(POLL);
            }
            let told = Instant::now();
            while self.leader() != Some(to) && told.elapsed() < Duration::from_secs(1) {
                std::thread::sleep(POLL);
            }
        }
        Ok(())
    }

    /// `kill -9` of the node that leads. Returns its number when another one leads.
    pub fn kill_leader(&mut self) -> Result<usize> {
        let before = self.leader().context("nobody leads")?;
        if let Some(mut child) = self.processes[before].take() {
            child.kill()?;
            child.wait()?;
        }
        self.until("another leader", |cluster| cluster.leader().is_some())?;
        Ok(before)
    }

    /// Starts a node again that was killed.
    pub fn restart(&mut self, node: usize) -> Result<()> {
        self.run(node)?;
        self.wait_until_whole()
    }

    /// An error if a node has panicked, by its log.
    pub fn check_panics(&self) -> Result<()> {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        match log.lines().find(|line| line.contains("panicked at ")) {
            Some(line) => bail!("a node panicked: {line}"),
            None => Ok(()),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.processes.iter_mut().flatten() {
            // It may be dead already, which is as well.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
