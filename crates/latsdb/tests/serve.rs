//! The binary as an operator meets it: start, questions over HTTP, refusals, stop.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mysql_client::{Answer, Client, Login};

use crate::support::{Running, directory, latsdb};

fn error(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_node_starts_answers_and_stops() {
    let data = directory("starts");
    let node = Running::start(&data);
    assert!(node.get("/health").starts_with("HTTP/1.1 200"));
    assert!(node.get("/metrics").contains("latsdb_connections_open 0\n"));
    let status = Command::new(env!("CARGO_BIN_EXE_latsdb"))
        .args(["status", "--http-addr", &node.http])
        .output()
        .unwrap();
    let text = String::from_utf8(status.stdout).unwrap();
    assert!(text.contains(&node.mysql) && text.contains("serving"), "{text}");
    node.stop();
    assert!(data.join("log").is_dir(), "the log is in the data directory");
}

/// From the signal on, for as long as a statement runs, load balancers and clients of HTTP are told to come back later.
#[test]
fn a_node_that_stops_says_so() {
    let data = directory("stopping");
    let mut node = Running::start(&data);
    let ask = |request: &str| -> Option<String> {
        let mut stream = TcpStream::connect(&node.http).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        (!answer.is_empty()).then_some(answer)
    };
    const SELECT: &str = "POST /v1/sql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n\
                          content-length: 15\r\n\r\n{\"sql\": \"DO 1\"}";
    const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert!(ask(SELECT).unwrap().starts_with("HTTP/1.1 200"));
    let mut sleeper = node.client();
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = sleeper.query("SELECT SLEEP(3)");
            has_ended.store(true, Relaxed);
        });
        while node.rows("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(3)'") != ["1"] {
        }
        node.signal("TERM");
        while ask(HEALTH).unwrap().starts_with("HTTP/1.1 200") {}
        // Until the sessions are asked to end, new ones are taken.
        while ask(SELECT).unwrap().starts_with("HTTP/1.1 200") {}
        while let (Some(health), Some(select)) = (ask(HEALTH), ask(SELECT)) {
            for answer in [&health, &select] {
                assert!(
                    answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 1\r\n"),
                    "{answer}"
                );
            }
            assert!(
                health.ends_with(r#"{"reason":"stopping","status":"not serving"}"#),
                "{health}"
            );
        }
        assert!(
            has_ended.load(Relaxed),
            "nobody answered although the node was not done"
        );
    });
    assert!(node.child.wait().unwrap().success());
}

#[test]
fn a_node_starts_again_after_kill_9() {
    let data = directory("kill");
    let mut first = Running::start(&data);
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    Running::start(&data).stop();
}

#[test]
fn a_data_directory_has_one_process() {
    let data = directory("one");
    let node = Running::start(&data);
    let second = latsdb(
        &["serve", "--mysql-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"],
        &data,
    )
    .output()
    .unwrap();
    assert!(
        error(&second).contains(&format!("is in use by process {}", node.child.id())),
        "{}",
        error(&second)
    );
    node.stop();
}

/// The most that the process had resident, in MiB.
fn peak_resident(node: &Running) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

#[test]
fn packets_that_the_node_cannot_hold_are_refused_while_they_come() {
    let data = directory("packets");
    let node = Running::start_with(&data, &["--memory-limit", "128MiB"]);
    let connect = || {
        Client::connect(&Login {
            address: &node.mysql,
            user: "root",
            password: "",
            database: None,
            program_name: "test",
        })
        .unwrap()
    };
    connect().query("SET GLOBAL max_allowed_packet = 1073741824").unwrap();
    let before = peak_resident(&node);
    let text = format!("SELECT LENGTH('{}')", "x".repeat(120 << 20));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            // The answer may get lost where the client is still sending.
            scope.spawn(|| match connect().query(&text) {
                Ok(Answer::Error { code, .. }) => assert!([1041, 1038].contains(&code), "{code}"),
                Ok(other) => panic!("{other:?}"),
                Err(_) => {}
            });
        }
    });
    let more = peak_resident(&node) - before;
    assert!(more < 128 * 5 / 4, "{more} MiB more than before");
    assert!(!matches!(
        connect().query("SELECT 1"),
        Ok(Answer::Error { .. }) | Err(_)
    ));
    node.stop();
}

#[test]
fn an_open_address_is_refused_before_there_is_a_password() {
    let data = directory("open");
    for (flag, other) in [("--mysql-addr", "--http-addr"), ("--http-addr", "--mysql-addr")] {
        let refused = latsdb(&["serve", flag, "0.0.0.0:0", other, "127.0.0.1:0"], &data)
            .output()
            .unwrap();
        let message = error(&refused);
        assert!(
            message.contains("refusing to listen on 0.0.0.0") && message.contains(flag),
            "{message}"
        );
        assert!(message.contains("ALTER USER"), "the way out is named: {message}");
    }
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let data = directory("refused");
    let message = error(&latsdb(&["serve", "--roles", "sql"], &data).output().unwrap());
    assert!(
        message.contains("--roles") && message.contains("not in this version"),
        "{message}"
    );
    let output = Command::new(env!("CARGO_BIN_EXE_latsdb"))
        .args(["admin", "backup"])
        .output()
        .unwrap();
    let message = error(&output);
    assert!(
        message.contains("`admin backup`") && message.contains("not in this version"),
        "{message}"
    );
    assert!(!data.exists(), "nothing was made for a refused start");
}

#[test]
fn settings_come_from_file_variables_and_flags() {
    let data = directory("settings");
    std::fs::write(
        data.with_file_name("latsdb.toml"),
        "memory_limit = '128MiB'\nhttp_addr = '127.0.0.1:0'\nmysql_addr = 'nonsense'\n",
    )
    .unwrap();
    let mut node = latsdb(&["serve"], &data);
    let mut child = node
        .env("LATSDB_MYSQL_ADDR", "127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("up to 128 MiB"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    let message = error(&latsdb(&["serve"], &data).output().unwrap());
    assert!(message.contains("mysql_addr in latsdb.toml: \"nonsense\""), "{message}");
}

#[test]
fn damage_is_refused_with_file_and_position() {
    let data = directory("damage");
    Running::start(&data).stop();
    let checkpoints = std::fs::read_dir(data.join("checkpoint")).unwrap();
    let newest = checkpoints
        .map(|entry| entry.unwrap().path())
        .max()
        .expect("stopping wrote a checkpoint");
    let mut bytes = std::fs::read(&newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&newest, bytes).unwrap();
    let message = error(
        &latsdb(
            &["serve", "--mysql-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"],
            &data,
        )
        .output()
        .unwrap(),
    );
    assert!(
        message.contains(newest.file_name().unwrap().to_str().unwrap()),
        "{message}"
    );
}
