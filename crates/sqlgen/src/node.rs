//! A server of our own, which may be stopped, killed and started again.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::session::Server;

const START_LIMIT: Duration = Duration::from_secs(60);

pub struct Node {
    binary: PathBuf,
    data: PathBuf,
    server: Server,
    child: Option<Child>,
}

impl Node {
    /// Starts `binary` on a port, with new data.
    pub fn start(binary: PathBuf, data: PathBuf, port: u16) -> Result<Node> {
        if data.exists() {
            std::fs::remove_dir_all(&data)?;
        }
        let mut node = Node {
            binary,
            data,
            server: format!("127.0.0.1:{port}").parse()?,
            child: None,
        };
        node.launch()?;
        Ok(node)
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Stops it, or kills it without warning, and starts it again.
    pub fn restart(&mut self, kill: bool) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            if kill {
                child.kill()?;
            } else {
                let asked = Command::new("kill").arg(child.id().to_string()).status()?;
                ensure!(asked.success(), "kill: {asked}");
            }
            let ended = child.wait()?;
            ensure!(kill || ended.success(), "the server ended with {ended}");
        }
        self.launch()
    }

    fn launch(&mut self) -> Result<()> {
        let child = Command::new(&self.binary)
            .arg("serve")
            .arg("--data-dir")
            .arg(&self.data)
            .args([
                "--mysql-addr",
                &self.server.address,
                "--http-addr",
                "127.0.0.1:0",
                "--memory-limit",
                "1GiB",
            ])
            .stdout(Stdio::null())
            .stderr(
                std::fs::File::options()
                    .create(true)
                    .append(true)
                    .open(self.data.with_extension("log"))?,
            )
            .spawn()?;
        self.child = Some(child);
        let deadline = Instant::now() + START_LIMIT;
        while self.server.connect().is_err() {
            if Instant::now() > deadline {
                bail!(
                    "the server did not start: {}",
                    self.data.with_extension("log").display()
                );
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
