//! Running a suite's program: output to a log, what matters to the screen, counts out of its closing lines, an end to
//! what hangs.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::Context;
use super::count::Count;

/// At most so many are shown of a suite once more.
const FAILURE_LINES: usize = 12;

/// Lines that name a passed test, in the words of the suites and of cargo.
fn is_noise(line: &str) -> bool {
    line.starts_with("ok ") || line.is_empty() || line.starts_with("running ") || line.chars().all(|c| c == '.')
}

/// Runs `command` to its end, at most for `limit`.
pub fn watched(mut command: Command, name: &str, limit: Duration, context: &Context) -> Result<Count> {
    let log_path = context.logs.join(format!("{name}.log"));
    let mut log = File::create(&log_path)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {command:?}"))?;
    let lines = lines_of(&mut child);
    let deadline = Instant::now() + limit;
    let mut count: Option<Count> = None;
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                writeln!(log, "{line}")?;
                if context.options.verbose || !is_noise(&line) {
                    println!("   {line}");
                }
                if let Some(closing) = Count::of_line(&line) {
                    *count.get_or_insert_default() += closing;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill()?;
                child.wait()?;
                bail!(
                    "stopped after {} s; its output is in {}",
                    limit.as_secs(),
                    log_path.display()
                );
            }
        }
    }
    let status = child.wait()?;
    match count {
        Some(count) if status.success() || count.failed > 0 => Ok(count),
        Some(count) => bail!(
            "{} passed, then it ended with {status}; its output is in {}",
            count.passed,
            log_path.display()
        ),
        None => bail!(
            "ended with {status} and without a closing line; its output is in {}",
            log_path.display()
        ),
    }
}

/// Shows a line of ours and adds it to the suite's log.
pub fn say(line: &str, name: &str, context: &Context) -> Result<()> {
    println!("   {line}");
    let log_path = context.logs.join(format!("{name}.log"));
    let mut log = File::options().append(true).open(log_path)?;
    Ok(writeln!(log, "{line}")?)
}

/// What a suite that failed has said: the lines that name a failure with what is behind each, or its last ones.
pub fn failures(name: &str, context: &Context) -> Vec<String> {
    let log = std::fs::read_to_string(context.logs.join(format!("{name}.log"))).unwrap_or_default();
    failures_in(&log)
}

fn failures_in(log: &str) -> Vec<String> {
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| !is_noise(line) && Count::of_line(line).is_none())
        .collect();
    let names_failure = |line: &str| {
        let words = [
            "FAILED",
            "failed",
            "Failed",
            "Error",
            "is broken",
            "panicked at",
            "FOUND",
        ];
        // A server's log is full of what a test wanted to happen, planted bugs have to be found, and a part of a suite
        // tells how it ended.
        let wanted = [" INFO ", " WARN ", ": failpoint ", ": found ", " passed, 0 failed"];
        words.iter().any(|word| line.contains(word)) && !wanted.iter().any(|word| line.contains(word))
    };
    let mut chosen = Vec::new();
    // What is set in behind a failure belongs to it.
    let (mut is_named, mut is_chosen) = (false, false);
    for line in &lines {
        let was_named = std::mem::replace(&mut is_named, names_failure(line));
        is_chosen = is_named || was_named || is_chosen && line.starts_with(' ');
        chosen.extend(is_chosen.then_some(*line));
    }
    chosen.truncate(FAILURE_LINES);
    if chosen.is_empty() {
        chosen = lines[lines.len().saturating_sub(FAILURE_LINES / 2)..].to_vec();
    }
    chosen
        .into_iter()
        .map(|line| line.chars().take(300).collect())
        .collect()
}

/// Both outputs of the child, line by line, until both are closed.
fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let outputs: [Option<Box<dyn std::io::Read + Send>>; 2] = [
        child.stdout.take().map(|output| Box::new(output) as _),
        child.stderr.take().map(|output| Box::new(output) as _),
    ];
    for output in outputs.into_iter().flatten() {
        let sender = sender.clone();
        thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                if sender
                    .send(String::from_utf8_lossy(&line).trim_end().to_owned())
                    .is_err()
                {
                    return;
                }
            }
        });
    }
    receiver
}

/// Builds the server that the suites start.
pub fn build_server(context: &Context) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["build", "--quiet", "--package", "latsdb"])
        .current_dir(&context.root);
    if context.options.release {
        command.arg("--release");
    }
    done(command)
}

/// Builds packages, unoptimised. Returns where their programs are.
pub fn built(context: &Context, packages: &[&str]) -> Result<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet"]).current_dir(&context.root);
    for package in packages {
        command.args(["--package", package]);
    }
    done(command)?;
    Ok(context.target("debug"))
}

/// The first of so many ports in a row that nobody listens on.
pub fn free_ports(count: u16) -> Result<u16> {
    for _ in 0..100 {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let are_free = |last| (first + 1..=last).all(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok());
        if first.checked_add(count - 1).is_some_and(are_free) {
            return Ok(first);
        }
    }
    bail!("no {count} neighbouring ports are free")
}

/// Runs a preparing command to its end; an error shows what it said.
pub fn done(mut command: Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_found_in_what_a_suite_said() {
        let log = "ok one\nFAILED two: late\n    3 s, not 1 s\nok three\n2 passed, 1 failed\n";
        assert_eq!(failures_in(log), ["FAILED two: late", "    3 s, not 1 s"]);
        assert_eq!(failures_in("it was killed\n"), ["it was killed"]);
        let found = "FOUND stall: 3 s\n  SELECT 1\n   worst stall: 3.00\n1 passed, 1 failed\n";
        assert_eq!(
            failures_in(found),
            ["FOUND stall: 3 s", "  SELECT 1", "   worst stall: 3.00"]
        );
        let planted = "lock: found (it is not held), seed 1: bank is broken\nlog: NOT FOUND by 61 seeds\n";
        assert_eq!(failures_in(planted), ["log: NOT FOUND by 61 seeds"]);
        let parts = "sql: a.test: 7 passed, 0 failed\nsql: c.test: 7 passed, 1 failed\n  c.test:12\n    SELECT 1\nsql: b.test: 7 passed, 0 failed\n";
        assert_eq!(
            failures_in(parts),
            ["sql: c.test: 7 passed, 1 failed", "  c.test:12", "    SELECT 1"]
        );
        let many = "FAILED\n".repeat(FAILURE_LINES * 3);
        assert_eq!(failures_in(&many).len(), FAILURE_LINES);
        assert!(failures_in("").is_empty());
    }
}
