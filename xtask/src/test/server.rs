//! A LatsDB of a suite's own: fresh data, free ports, stopped and judged at the end.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use super::Context;

const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(60);

/// Where the tested server is, and as whom to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    /// The port of the Redis protocol, if it was asked for (`--redis-addr`).
    pub redis_port: Option<u16>,
    /// The server's process, if we started it: for its memory.
    pub pid: Option<u32>,
}

impl FromStr for Address {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.splitn(4, ':');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let (host, port, user, password) = (next(), next(), next(), next());
        let port = port
            .parse()
            .map_err(|_| anyhow!("{text} is not HOST:PORT:USER:PASSWORD"))?;
        Ok(Self {
            host,
            port,
            user: if user.is_empty() { "root".to_owned() } else { user },
            password,
            redis_port: None,
            pid: None,
        })
    }
}

/// The command with the server's address in its environment.
pub fn with_address(mut command: Command, address: &Address) -> Command {
    command
        .env("DB_HOST", &address.host)
        .env("DB_PORT", address.port.to_string())
        .env("DB_USER", &address.user)
        .env("DB_PASSWORD", &address.password);
    if let Some(port) = address.redis_port {
        command.env("REDIS_ADDRESS", format!("{}:{port}", address.host));
    }
    if let Some(pid) = address.pid {
        command.env("DB_PID", pid.to_string());
    }
    command
}

pub struct Server {
    child: Child,
    address: Address,
    log: PathBuf,
}

impl Server {
    /// Starts the built server on an empty directory and waits until it says that it is ready.
    pub fn start(context: &Context, suite: &str, flags: &[&str]) -> Result<Self> {
        Self::start_by(Command::new(context.server_binary()), context, suite, flags)
    }

    /// As [`start`](Self::start), with a limit on the server's address space.
    pub fn start_within(context: &Context, suite: &str, flags: &[&str], kib: &str) -> Result<Self> {
        let mut command = Command::new("sh");
        command
            .args(["-c", "ulimit -v \"$0\" && exec \"$@\"", kib])
            .arg(context.server_binary());
        Self::start_by(command, context, suite, flags)
    }

    fn start_by(mut command: Command, context: &Context, suite: &str, flags: &[&str]) -> Result<Self> {
        let data = context.target("test-data").join(suite);
        if data.exists() {
            std::fs::remove_dir_all(&data)?;
        }
        std::fs::create_dir_all(&data)?;
        let log = context.logs.join(format!("{suite}.server.log"));
        let mut child = command
            .args(["serve", "--mysql-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(data.join("data"))
            .args(flags)
            .current_dir(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .spawn()
            .with_context(|| format!("cannot start {}", context.server_binary().display()))?;
        let output = child.stdout.take().expect("the output is a pipe");
        let (sender, ready) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                for front in ["MySQL", "Redis"] {
                    if let Some(port) = port_of(front, &line) {
                        // Nobody listens any more after the deadline.
                        let _ = sender.send((front, port));
                    }
                }
            }
        });
        let mut port_when_ready = |wanted| {
            loop {
                match ready.recv_timeout(START_LIMIT) {
                    Ok((front, port)) if front == wanted => return Ok(port),
                    Ok(_) => {}
                    Err(_) => {
                        child.kill()?;
                        child.wait()?;
                        bail!("the server did not become ready: {}", last_lines(&log));
                    }
                }
            }
        };
        let port = port_when_ready("MySQL")?;
        let redis_port = match flags.contains(&"--redis-addr") {
            true => Some(port_when_ready("Redis")?),
            false => None,
        };
        let address = Address {
            host: "127.0.0.1".to_owned(),
            port,
            user: "root".to_owned(),
            password: String::new(),
            redis_port,
            pid: Some(child.id()),
        };
        Ok(Self { child, address, log })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    /// What it writes to its standard error.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// SIGTERM, and its end with success within the limit.
    pub fn stop(mut self) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            bail!("the server had ended with {status}: {}", last_lines(&self.log));
        }
        let killed = Command::new("kill").arg(self.child.id().to_string()).status()?;
        ensure!(killed.success(), "kill: {killed}");
        let deadline = Instant::now() + STOP_LIMIT;
        loop {
            match self.child.try_wait()? {
                Some(status) if status.success() => return self.check_panics(),
                Some(status) => bail!("the server ended with {status}: {}", last_lines(&self.log)),
                None if Instant::now() > deadline => {
                    bail!("the server still runs {} s after SIGTERM", STOP_LIMIT.as_secs())
                }
                None => thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Server {
    /// A panic of the server fails the suite, whatever the clients made of it. Those that a test asked for do not count.
    fn check_panics(&self) -> Result<()> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let panic = log.lines().find(|line| is_panic(line));
        panic.map_or(Ok(()), |line| Err(anyhow!("the server panicked: {line}")))
    }
}

/// Whether a line of a server's log tells of a panic that no test asked for.
fn is_panic(line: &str) -> bool {
    line.contains("panicked at ") && !line.contains(": failpoint ")
}

impl Drop for Server {
    fn drop(&mut self) {
        // After `stop` there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The port in the banner's line about MySQL or Redis.
fn port_of(front: &str, line: &str) -> Option<u16> {
    line.trim()
        .strip_prefix(front)?
        .split_whitespace()
        .next()?
        .rsplit_once(':')?
        .1
        .parse()
        .ok()
}

fn last_lines(log: &PathBuf) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_banner() {
        assert_eq!(
            port_of(
                "MySQL",
                "  MySQL   127.0.0.1:40123    mariadb -h 127.0.0.1 -P 40123 -u root"
            ),
            Some(40123)
        );
        assert_eq!(
            port_of("Redis", "  Redis   127.0.0.1:40125    redis-cli -h 127.0.0.1 -p 40125"),
            Some(40125)
        );
        assert_eq!(
            port_of("MySQL", "  HTTP    http://127.0.0.1:40124    the console"),
            None
        );
    }

    #[test]
    fn panics_are_found_in_the_log() {
        assert!(is_panic(
            "ERROR latsdb::panics: panicked at a.rs:1:2: index out of bounds thread=\"core\""
        ));
        assert!(!is_panic(
            "ERROR latsdb::panics: panicked at a.rs:1:2: failpoint alter.copied"
        ));
    }

    #[test]
    fn addresses_are_read() {
        let address: Address = "127.0.0.1:3307:sb:p:w".parse().unwrap();
        assert_eq!(
            (address.port, address.user.as_str(), address.password.as_str()),
            (3307, "sb", "p:w")
        );
        assert_eq!("h:1".parse::<Address>().unwrap().user, "root");
        assert!("h".parse::<Address>().is_err());
    }
}
