//! A node as a process, for tests of the binary.

#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mysql_client::{Answer, Client, Login};

/// A node that says nothing for so long does not come up.
const BANNER_WITHIN: Duration = Duration::from_secs(120);

pub fn latsdb(arguments: &[&str], data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latsdb"));
    command
        .args(arguments)
        .arg("--data-dir")
        .arg(data)
        .env_clear()
        .current_dir(data.parent().unwrap());
    command
}

/// A directory of this test's own, empty.
pub fn directory(name: &str) -> DataDir {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if own.exists() {
        std::fs::remove_dir_all(&own).unwrap();
    }
    std::fs::create_dir_all(&own).unwrap();
    DataDir(own.join("data"))
}

/// Goes with its test, unless that fails: all of them together are 10 GB.
pub struct DataDir(PathBuf);

impl Deref for DataDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // What cannot be removed is found by the next run.
            let _ = std::fs::remove_dir_all(self.0.parent().expect("it is in the test's own"));
        }
    }
}

pub struct Running {
    pub child: Child,
    /// Of a witness: none.
    pub mysql: String,
    pub redis: String,
    pub http: String,
}

/// Lines as they come.
fn lines_of(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let read = BufReader::new(output).lines().map_while(Result::ok);
        // To its end, so that the node never waits for a reader.
        read.for_each(|line| drop(sender.send(line)));
    });
    lines
}

impl Running {
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    pub fn start_with(data: &Path, flags: &[&str]) -> Self {
        Self::start_in(data, flags, &[])
    }

    /// With variables of the environment.
    pub fn start_in(data: &Path, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut addresses = vec!["serve", "--http-addr", "127.0.0.1:0"];
        if !flags.contains(&"--mysql-addr") {
            addresses.extend(["--mysql-addr", "127.0.0.1:0"]);
        }
        if !flags.contains(&"--witness") {
            addresses.extend(["--redis-addr", "127.0.0.1:0"]);
        }
        let mut child = latsdb(&[addresses.as_slice(), flags].concat(), data)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let banner = lines_of(child.stdout.take().unwrap());
        let mut address = |name: &str| {
            let line = loop {
                match banner.recv_timeout(BANNER_WITHIN) {
                    Ok(line) if line.trim().starts_with(name) => break line,
                    Ok(_) => {}
                    Err(why) => {
                        let _ = child.kill();
                        panic!("the node says no address of {name}: {why}");
                    }
                }
            };
            line.split_whitespace()
                .nth(1)
                .unwrap()
                .trim_start_matches("http://")
                .to_owned()
        };
        let mysql = match flags.contains(&"--witness") {
            true => String::new(),
            false => address("MySQL"),
        };
        let redis = match flags.contains(&"--witness") {
            true => String::new(),
            false => address("Redis"),
        };
        let http = address("HTTP");
        Self {
            child,
            mysql,
            redis,
            http,
        }
    }

    pub fn get(&self, path: &str) -> String {
        self.ask("GET", path)
    }

    pub fn post(&self, path: &str) -> String {
        self.ask("POST", path)
    }

    fn ask(&self, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub fn client(&self) -> Client {
        self.client_of("root")
    }

    /// A session of a user without a password.
    pub fn client_of(&self, user: &str) -> Client {
        Client::connect(&self.login_of(user)).unwrap()
    }

    /// A session that sends files.
    pub fn loading_client(&self) -> Client {
        Client::connect_to_load(&self.login_of("root")).unwrap()
    }

    fn login_of<'a>(&'a self, user: &'a str) -> Login<'a> {
        Login {
            address: &self.mysql,
            user,
            password: "",
            database: None,
            program_name: "test",
        }
    }

    /// The rows of a query, cells joined by blanks.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        rows(&mut self.client(), sql)
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .arg(format!("-{name}"))
            .arg(self.child.id().to_string())
            .status()
            .unwrap();
        assert!(sent.success());
    }

    pub fn stop(mut self) {
        self.signal("TERM");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The rows of a query, cells joined by blanks.
pub fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    let answer = client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let Answer::Rows { rows, .. } = answer else {
        return Vec::new();
    };
    let cell = |cell: &Option<Vec<u8>>| match cell {
        Some(text) => String::from_utf8_lossy(text).into_owned(),
        None => "NULL".to_owned(),
    };
    rows.iter()
        .map(|row| row.iter().map(cell).collect::<Vec<_>>().join(" "))
        .collect()
}

/// Sets the flag when it is dropped, also by a test that fails: threads that go on until then would keep its scope from ending.
pub struct SetsAtEnd<'a>(pub &'a AtomicBool);

impl Drop for SetsAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Two clients write what `statement` makes of random numbers, until the node is killed under them.
pub fn write_until_killed(node: &Running, seed: u64, statement: impl Fn(u64) -> String + Sync) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let end = SetsAtEnd(&stop);
        for number in 0..2_u64 {
            let (stop, statement) = (&stop, &statement);
            scope.spawn(move || {
                let mut client = node.client();
                let mut state = seed * 7 + number + 1;
                while !stop.load(Ordering::Relaxed) {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number + 1);
                    if client.query(&statement(state)).is_err() {
                        return;
                    }
                }
            });
        }
        std::thread::sleep(Duration::from_millis(300));
        node.signal("KILL");
        drop(end);
    });
}

/// A data directory of an earlier version, unpacked.
pub fn fixture(name: &str) -> DataDir {
    let data = directory(&format!("fixture-{name}"));
    std::fs::create_dir_all(&*data).unwrap();
    let archive = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures")
        .join(format!("{name}.tar.gz"));
    let unpacked = Command::new("tar")
        .args([
            "xzf".as_ref(),
            archive.as_os_str(),
            "--strip-components=1".as_ref(),
            "--no-same-owner".as_ref(),
            "-C".as_ref(),
            data.as_os_str(),
        ])
        .status()
        .unwrap();
    assert!(unpacked.success());
    // As the server asks of whoever unpacks one.
    let closed = Command::new("chmod").args(["-R", "go="]).arg(&*data).status().unwrap();
    assert!(closed.success());
    data
}

/// What `latsdb admin verify` says, and whether it finds nothing wrong.
pub fn verify(data: &Path) -> (String, bool) {
    let (output, _, succeeded) = admin("verify", data);
    (output, succeeded)
}

/// Output, errors and success of an `admin` command. It never panics.
pub fn admin(command: &str, data: &Path) -> (String, String, bool) {
    let output = Command::new(env!("CARGO_BIN_EXE_latsdb"))
        .args(["admin", command])
        .arg(data)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(!errors.contains("panicked at"), "{errors}");
    (said, errors, output.status.success())
}
