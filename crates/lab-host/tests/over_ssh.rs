//! A node reached over ssh, with a stand-in for the system's `ssh` in PATH that runs the command on this machine: what is
//! tested is what we say to ssh, what we make of its answers, and that nothing stays behind.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use lab_host::agent::{AgentOptions, serve_stdio};
use lab_host::{Host, HostError, Reach, WatchPlan};

/// Greets like a login shell; `nobody@node` is not let in.
const SSH: &str = r#"#!/bin/sh
echo "$*" >> "$LAB_TEST_LOG"
[ "$(ps -o pgid= -p $$)" = "$(ps -o pgid= -p $PPID)" ] && echo "in the terminal's group" >> "$LAB_TEST_LOG"
while [ "$1" != "--" ]; do shift; done
if [ "$2" = "nobody@node" ]; then echo "nobody@node: Permission denied (publickey)." >&2; exit 255; fi
echo "Welcome to node!"
exec sh -c "$3"
"#;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("agent") => {
            let options = AgentOptions {
                allow_commands: true,
                ..AgentOptions::default()
            };
            serve_stdio(&options).unwrap();
            ExitCode::SUCCESS
        }
        Some("coordinator") => {
            coordinator();
            ExitCode::SUCCESS
        }
        _ => with_stand_in(),
    }
}

fn with_stand_in() -> ExitCode {
    let directory = std::env::temp_dir().join(format!("lab-over-ssh.{}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("ssh"), SSH).unwrap();
    fs::set_permissions(directory.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let status = Command::new(std::env::current_exe().unwrap())
        .arg("coordinator")
        .env("PATH", path)
        .env("LAB_TEST_LOG", directory.join("log"))
        .status()
        .unwrap();
    let log = fs::read_to_string(directory.join("log")).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    assert!(status.success());
    for said in [
        "BatchMode=yes",
        "ConnectTimeout=",
        "ServerAliveInterval=",
        "-p 2222",
        "-- me@node ",
    ] {
        assert!(log.contains(said), "{said} is not in {log}");
    }
    // A Ctrl-C in the terminal must not cut the line by which faults are ended.
    assert!(!log.contains("in the terminal's group"), "{log}");
    println!("over_ssh: ok");
    ExitCode::SUCCESS
}

fn reach(destination: &str, command: &str) -> Reach {
    Reach::Ssh {
        destination: destination.to_owned(),
        options: vec!["-p".to_owned(), "2222".to_owned()],
        command: command.to_owned(),
    }
}

fn coordinator() {
    let limit = Duration::from_secs(20);
    let agent = format!("{} agent", std::env::current_exe().unwrap().display());
    let host = Host::connect("node", &reach("me@node", &agent)).unwrap();
    let plan = WatchPlan {
        interval_ms: 100,
        ..WatchPlan::default()
    };
    host.watch(&plan).unwrap();
    let began = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < 2 {
        assert!(began.elapsed() < limit, "no samples");
        samples.extend(host.take_samples());
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = host.run("echo $PPID", limit).unwrap();
    let pid = output.stdout.trim().to_owned();
    assert!(fs::exists(format!("/proc/{pid}")).unwrap());
    drop(host);
    let began = Instant::now();
    while fs::exists(format!("/proc/{pid}")).unwrap() {
        assert!(began.elapsed() < limit, "the agent stays behind");
        std::thread::sleep(Duration::from_millis(10));
    }

    // What ssh complains of is in the error.
    let error = Host::connect("node", &reach("nobody@node", &agent)).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("Permission denied") && said.contains("ssh-copy-id nobody@node"),
        "{error}"
    );
    let error = Host::connect("node", &reach("me@node", "no-such-latsdb lab agent --stdio")).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("no-such-latsdb") && said.contains("agent_command"),
        "{error}"
    );
    // An option is not a destination.
    let error = Host::connect("node", &reach("-oProxyCommand=true", &agent)).unwrap_err();
    assert!(matches!(error, HostError::Refused { .. }), "{error}");
    // An agent that dies is gone, and whoever waits is told.
    let host = Host::connect("node", &reach("me@node", &agent)).unwrap();
    let error = host.run("kill -9 $PPID; sleep 5", limit).unwrap_err();
    assert!(matches!(error, HostError::Gone { .. }), "{error}");
}
