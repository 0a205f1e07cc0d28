//! Other servers that are asked how it should be.

use std::io::Write;
use std::process::{Command, Stdio};

/// The rows that MariaDB answers, or nothing if there is no MariaDB to ask.
pub fn ask_mariadb(queries: &str) -> Option<Vec<Vec<String>>> {
    ask("LATSDB_MARIADB", queries)
}

/// The same of MySQL.
pub fn ask_mysql(queries: &str) -> Option<Vec<Vec<String>>> {
    ask("LATSDB_MYSQL", queries)
}

fn ask(variable: &str, queries: &str) -> Option<Vec<Vec<String>>> {
    let options = std::env::var(variable).ok()?;
    let mut client = Command::new("mariadb")
        .args(["--no-defaults", "-N", "-B", "--default-character-set=utf8mb4"])
        .args(options.split_whitespace())
        .arg("mysql")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the mariadb client starts");
    let mut input = client.stdin.take().expect("stdin is a pipe");
    let queries = queries.to_owned();
    let writer = std::thread::spawn(move || input.write_all(queries.as_bytes()));
    let output = client.wait_with_output().expect("the client ends");
    writer.join().expect("the writer ends").expect("the client reads all");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("servers answer in UTF-8");
    Some(
        text.lines()
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect(),
    )
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}
