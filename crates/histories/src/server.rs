//! The server under test: started, killed, started again on what it left.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mysql_client::{Client, Login};

/// The longest that a server may take to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
/// An answer that takes longer is none.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);
const POLL: Duration = Duration::from_millis(10);

/// A server that may be down for a moment.
pub struct Server {
    binary: PathBuf,
    dir: PathBuf,
    port: u16,
    child: Mutex<Option<Child>>,
}

impl Server {
    /// Starts it on an empty directory; the HTTP port is the next one.
    pub fn start(binary: PathBuf, dir: PathBuf, port: u16) -> Result<Server> {
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        fs::create_dir_all(&dir)?;
        let server = Server {
            binary,
            dir,
            port,
            child: Mutex::default(),
        };
        server.run("")?;
        Ok(server)
    }

    /// Starts the process and waits until it answers. `failpoints`: see `env::failpoints`.
    fn run(&self, failpoints: &str) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log())?;
        let mut child = Command::new(&self.binary)
            .arg("serve")
            .args(["--mysql-addr", &self.address()])
            .args(["--http-addr", &format!("127.0.0.1:{}", self.port + 1)])
            .arg("--data-dir")
            .arg(self.dir.join("data"))
            .envs((!failpoints.is_empty()).then_some(("ENV_FAILPOINTS", failpoints)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| self.binary.display().to_string())?;
        let started = Instant::now();
        while self.connect(None).is_err() {
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
        *self.child.lock().expect("nobody panics with it") = Some(child);
        Ok(())
    }

    /// `kill -9`, and a new start on the same directory.
    pub fn kill_and_restart(&self, failpoints: &str) -> Result<()> {
        self.kill()?;
        self.run(failpoints)
    }

    fn kill(&self) -> Result<()> {
        let child = self.child.lock().expect("nobody panics with it").take();
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

    pub fn connect(&self, database: Option<&str>) -> Result<Client> {
        let login = Login {
            address: &self.address(),
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

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn log(&self) -> PathBuf {
        self.dir.join("server.log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already, which is as well.
        let _ = self.kill();
    }
}
