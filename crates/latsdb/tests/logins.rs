//! Who gets in on a fresh node, and who does not: the socket, loopback, another user of the machine, the data directory, HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use mysql_client::{Answer, Client, ClientError, Login};

/// A user of this machine who is nobody in particular.
const STRANGER: &str = "61234";

struct Node {
    child: Child,
    data: PathBuf,
    mysql: String,
    http: String,
}

/// A new directory, in a folder that everybody may enter.
fn directory(name: &str) -> PathBuf {
    let top = std::env::temp_dir().join(format!("latsdb-logins-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&top);
    std::fs::create_dir_all(&top).unwrap();
    std::fs::set_permissions(&top, std::fs::Permissions::from_mode(0o755)).unwrap();
    top.join("data")
}

fn serve(data: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latsdb"));
    command
        .args([
            "serve",
            "--http-addr",
            "127.0.0.1:0",
            "--memory-limit",
            "256MiB",
            "--data-dir",
        ])
        .arg(data)
        .args(flags)
        .env_clear()
        .current_dir(data.parent().unwrap());
    command
}

impl Node {
    fn start(data: &Path, flags: &[&str]) -> Node {
        let mut command = serve(data, flags);
        let child = command
            .args(["--mysql-addr", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        let mut banner = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut address = |name: &str| {
            let line = banner
                .find(|line| line.trim().starts_with(name))
                .expect("the banner names its addresses");
            let address = line.split_whitespace().nth(1).unwrap();
            address.trim_start_matches("http://").to_owned()
        };
        let (mysql, http) = (address("MySQL"), address("HTTP"));
        Node {
            child,
            data: data.to_owned(),
            mysql,
            http,
        }
    }

    fn log_in(&self, user: &str, password: &str) -> Result<Client, ClientError> {
        Client::connect(&Login {
            address: &self.mysql,
            user,
            password,
            database: None,
            program_name: "test",
        })
    }

    fn run(&self, sql: &str) {
        let answer = self.log_in("root", "").unwrap().query(sql).unwrap();
        assert!(!matches!(answer, Answer::Error { .. }), "{sql}: {answer:?}");
    }

    /// The number of the error that a login ends with, 0 if it does not.
    fn login_error(&self, user: &str, password: &str) -> u16 {
        match self.log_in(user, password) {
            Ok(_) => 0,
            Err(ClientError::Refused { code, .. }) => code,
            Err(error) => panic!("{error}"),
        }
    }

    fn get(&self, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(self.data.parent().unwrap());
    }
}

/// Runs a shell command as another user of this machine; none where that is not possible.
fn as_stranger(command: &str) -> Option<Output> {
    let mut other = Command::new("setpriv");
    other.args(["--reuid", STRANGER, "--regid", STRANGER, "--clear-groups"]);
    let probe = other.arg("true").output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        eprintln!("not tested as another user: this test does not run as the superuser, or there is no setpriv");
        return None;
    }
    let mut other = Command::new("setpriv");
    other.args([
        "--reuid",
        STRANGER,
        "--regid",
        STRANGER,
        "--clear-groups",
        "bash",
        "-c",
        command,
    ]);
    Some(other.current_dir("/").output().unwrap())
}

/// A login of `root` without a password, written by hand, in bash; prints what the server says.
fn login_by_hand(node: &Node) -> String {
    let (host, port) = node.mysql.split_once(':').unwrap();
    // Capabilities PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH, then user, no answer, plugin.
    let login = r"\x00\x82\x08\x00\x00\x00\x00\x01\x2d".to_owned() + &r"\x00".repeat(23);
    let login = login + r"root\x00\x00mysql_native_password\x00";
    let length = 32 + 5 + 1 + 22;
    format!(
        r"exec 3<>/dev/tcp/{host}/{port}; head -c 60 <&3 >/dev/null; printf '\x{length:02x}\x00\x00\x01{login}' >&3; timeout 5 head -c 400 <&3 | tr -d '\0'"
    )
}

#[test]
fn the_owner_logs_in_as_root_and_another_user_of_the_machine_does_not() {
    let node = Node::start(&directory("owner"), &[]);
    assert_eq!(node.login_error("root", ""), 0);
    let socket = node.data.join("latsdb.sock");
    assert!(socket.exists());
    let own = Command::new("bash")
        .arg("-c")
        .arg(login_by_hand(&node))
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&own.stdout).contains("denied"), "{own:?}");
    let Some(output) = as_stranger(&login_by_hand(&node)) else {
        return;
    };
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        answer.contains("Access denied for user 'root'@'localhost'"),
        "{output:?}"
    );
    assert!(
        answer.contains("the operating-system user who runs the server"),
        "{output:?}"
    );
    for path in [&socket, &node.data.join("log"), &node.data.join("server-key.pem")] {
        let output = as_stranger(&format!("cat {}", path.display())).unwrap();
        assert!(!output.status.success(), "{path:?} is closed");
    }
    let (host, port) = node.http.split_once(':').unwrap();
    let ask = |page: &str| {
        let request = format!(
            r"exec 3<>/dev/tcp/{host}/{port}; printf 'GET {page} HTTP/1.1\r\nHost: localhost\r\n\r\n' >&3; timeout 5 head -c 12 <&3"
        );
        String::from_utf8_lossy(&as_stranger(&request).unwrap().stdout).into_owned()
    };
    assert_eq!(ask("/health"), "HTTP/1.1 200");
    assert_eq!(ask("/status"), "HTTP/1.1 401");
    assert_eq!(ask("/metrics"), "HTTP/1.1 401");
}

#[test]
fn a_client_that_closes_its_end_early_is_not_taken_for_the_superuser() {
    let node = Node::start(&directory("early"), &[]);
    node.run("CREATE TABLE test.t (a INT)");
    // The login and a statement in one go, and the end of the connection: an orphaned socket belongs to user 0.
    let (host, port) = node.mysql.split_once(':').unwrap();
    let login = r"\x00\x82\x08\x00\x00\x00\x00\x01\x2d".to_owned()
        + &r"\x00".repeat(23)
        + r"root\x00\x00mysql_native_password\x00";
    let statement = r"\x1f\x00\x00\x00\x03INSERT INTO test.t VALUES (1)\x20";
    let attack = format!(
        r"for i in $(seq 30); do exec 3<>/dev/tcp/{host}/{port}; printf '\x3c\x00\x00\x01{login}{statement}' >&3; exec 3>&-; done"
    );
    let Some(output) = as_stranger(&attack) else { return };
    assert!(output.status.success(), "{output:?}");
    let deadline = Instant::now() + Duration::from_secs(10);
    while !node
        .get("/metrics", "Host: localhost\r\n")
        .contains("latsdb_connections_open 0\n")
    {
        assert!(Instant::now() < deadline, "the attackers are gone");
        std::thread::sleep(Duration::from_millis(20));
    }
    let answer = node
        .log_in("root", "")
        .unwrap()
        .query("SELECT COUNT(*) FROM test.t")
        .unwrap();
    assert!(
        format!("{answer:?}").contains("[48]"),
        "no row was inserted: {answer:?}"
    );
}

/// `latsdb sql` with these arguments, in the data directory.
fn shell(node: &Node, arguments: &[&str]) -> Output {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_latsdb"));
    shell.arg("sql").args(arguments).env_clear().current_dir(&node.data);
    shell.output().unwrap()
}

#[test]
fn the_shell_comes_over_the_socket_as_whom_the_kernel_says() {
    let node = Node::start(&directory("shell"), &[]);
    let path = node.data.join("latsdb.sock");
    let said = |output: Output| String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    let who = "SELECT CURRENT_USER(), USER()";
    let root = "root@localhost\troot@localhost\n";
    for socket in [path.to_str().unwrap(), "latsdb.sock", "./latsdb.sock"] {
        let told = said(shell(&node, &["--socket", socket, "-e", who]));
        assert!(told.ends_with(root), "{socket}: {told}");
    }
    let absent = said(shell(&node, &["-S", "none.sock", "-e", who]));
    assert!(absent.contains("cannot connect to ./none.sock"), "{absent}");
    assert!(said(shell(&node, &["-S", "latsdb.sock", "-P", "1"])).contains("cannot be used with"));
    // Another user of the machine cannot even reach it; where somebody has opened the way, root is still not for him.
    if as_stranger("true").is_some() {
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&node.data, open).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let binary = env!("CARGO_BIN_EXE_latsdb");
        let copy = node.data.join("../latsdb");
        std::fs::copy(binary, &copy).unwrap();
        let command = format!("{} sql -S {} -e 'SELECT 1'", copy.display(), path.display());
        let told = said(as_stranger(&command).unwrap());
        assert!(told.contains("ERROR 1045 (28000)"), "{told}");
    }
    // Both plugins; without TLS, the socket is private enough for a password.
    node.run("CREATE USER app@localhost IDENTIFIED WITH caching_sha2_password BY 'secret'");
    node.run("CREATE USER old@localhost IDENTIFIED WITH mysql_native_password BY 'secret'");
    for user in ["app", "old"] {
        let arguments = [
            "-S",
            "latsdb.sock",
            "-u",
            user,
            "--password=secret",
            "-e",
            "SELECT CURRENT_USER()",
        ];
        for _ in 0..2 {
            let told = said(shell(&node, &arguments));
            assert!(told.ends_with(&format!("{user}@localhost\n")), "{told}");
        }
        let wrong = ["-S", "latsdb.sock", "-u", user, "--password=wrong", "-e", "SELECT 1"];
        let told = said(shell(&node, &wrong));
        assert!(told.contains("ERROR 1045 (28000)"), "{told}");
    }
}

#[test]
fn with_a_password_the_password_counts() {
    let node = Node::start(&directory("password"), &[]);
    node.run("ALTER USER root@localhost IDENTIFIED BY 'secret'");
    assert_eq!(node.login_error("root", ""), 1045);
    assert_eq!(node.login_error("root", "secret"), 0);
}

#[test]
fn the_server_stays_on_this_machine_until_every_administrator_has_a_password() {
    let data = directory("open");
    let node = Node::start(&data, &[]);
    node.run("CREATE USER keeper@'%'");
    node.run("GRANT CREATE USER ON *.* TO keeper@'%'");
    node.run("ALTER USER root@localhost IDENTIFIED BY 'secret'");
    let log_in = || node.log_in("root", "secret").unwrap();
    let refused = |node_flags: &[&str]| {
        let output = serve(&data, node_flags)
            .args(["--mysql-addr", "0.0.0.0:0"])
            .output()
            .unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let mut root = log_in();
    root.query("SET GLOBAL max_connections = 50").unwrap();
    drop(root);
    let copy = data.clone();
    // Keep the folder: the node's end removes it.
    let mut node = std::mem::ManuallyDrop::new(node);
    node.child.kill().unwrap();
    node.child.wait().unwrap();
    let message = refused(&[]);
    assert!(
        message.contains("administrators without a password: 'keeper'@'%'"),
        "{message}"
    );
    assert!(message.contains("ALTER USER 'keeper'@'%' IDENTIFIED BY"), "{message}");
    std::fs::remove_dir_all(copy.parent().unwrap()).unwrap();
}

#[test]
fn a_directory_that_others_may_read_is_refused_with_the_command_that_mends_it() {
    let data = directory("loose");
    let node = Node::start(&data, &[]);
    for path in [data.clone(), data.join("log"), data.join("server-key.pem")] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{path:?}");
    }
    let mut node = std::mem::ManuallyDrop::new(node);
    node.child.kill().unwrap();
    node.child.wait().unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = serve(&data, &["--mysql-addr", "127.0.0.1:0"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let command = format!("chmod -R go= {}", data.display());
    assert!(!output.status.success() && message.contains(&command), "{message}");
    assert!(Command::new("sh").arg("-c").arg(command).status().unwrap().success());
    Node::start(&data, &[]).stop();
}

#[test]
fn http_asks_who_is_there() {
    let node = Node::start(&directory("http"), &[]);
    node.run("CREATE USER watcher@localhost IDENTIFIED BY 'secret'");
    node.run("GRANT PROCESS ON *.* TO watcher@localhost");
    node.run("CREATE USER low@localhost IDENTIFIED BY 'secret'");
    let status = |path: &str, headers: &str| node.get(path, headers)[9..12].to_owned();
    let (watcher, low, wrong) = (
        "Authorization: Basic d2F0Y2hlcjpzZWNyZXQ=\r\n",
        "Authorization: Basic bG93OnNlY3JldA==\r\n",
        "Authorization: Basic d2F0Y2hlcjp3cm9uZw==\r\n",
    );
    let local = "Host: localhost\r\n";
    assert_eq!(status("/metrics", local), "200");
    assert_eq!(status("/metrics", "Host: evil.example\r\n"), "403");
    assert_eq!(status("/health", "Host: evil.example\r\n"), "200");
    assert_eq!(status("/status", &format!("Host: db.example\r\n{watcher}")), "200");
    assert_eq!(status("/status", &format!("{local}{low}")), "403");
    assert_eq!(status("/status", &format!("{local}{wrong}")), "401");
    assert!(node.get("/metrics", local).contains("latsdb_logins_denied_total 1\n"));
}

#[test]
fn slow_http_clients_do_not_keep_others_out() {
    let node = Node::start(&directory("slow"), &[]);
    let slow: Vec<TcpStream> = (0..400)
        .map(|_| {
            let mut stream = TcpStream::connect(&node.http).unwrap();
            // Those that were pushed out already.
            let _ = stream.write_all(b"GET /health HTTP/1.1\r\nx: ");
            stream
        })
        .collect();
    let started = Instant::now();
    for _ in 0..20 {
        assert!(node.get("/health", "Host: localhost\r\n").starts_with("HTTP/1.1 200"));
    }
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "twenty answers beside {} slow clients",
        slow.len()
    );
}
