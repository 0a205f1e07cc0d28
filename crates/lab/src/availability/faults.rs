//! Faults: a command that makes one and a command that ends it, run here, or on a node by its line.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lab_host::Host;

use crate::plan::Fault;

/// A fault's commands take no longer.
const LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(5);

/// What makes the fault and what ends it, for `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commands {
    pub name: String,
    pub make: String,
    pub end: Option<String>,
}

impl Commands {
    pub fn of(fault: &Fault) -> Commands {
        let place = fault
            .node
            .as_deref()
            .map(|node| format!(" on {node}"))
            .unwrap_or_default();
        let restore = fault.restore.clone();
        let (name, make, end) = if let Some(file) = &fault.kill {
            let file = quoted(&file.display().to_string());
            (format!("kill{place}"), format!("kill -KILL \"$(cat {file})\""), restore)
        } else if let Some(file) = &fault.pause {
            let file = quoted(&file.display().to_string());
            (
                format!("pause{place}"),
                format!("kill -STOP \"$(cat {file})\""),
                Some(format!("kill -CONT \"$(cat {file})\"")),
            )
        } else if let Some(port) = fault.cut {
            let rule = |action: &str, chain: &str, side: &str| {
                format!("iptables -{action} {chain} -p tcp --{side} {port} -j DROP")
            };
            (
                format!("cut of port {port}{place}"),
                format!("{} && {}", rule("I", "INPUT", "dport"), rule("I", "OUTPUT", "sport")),
                Some(format!(
                    "{}; {}",
                    rule("D", "INPUT", "dport"),
                    rule("D", "OUTPUT", "sport")
                )),
            )
        } else {
            let command = fault.command.clone().unwrap_or_default();
            (command.clone(), command, restore)
        };
        Commands {
            name: fault.name.clone().unwrap_or(name),
            make,
            end,
        }
    }
}

/// For a shell, as one word.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Runs `command` on `host`, or here; its own words if it fails.
pub fn run(command: &str, host: Option<&Host>) -> Result<()> {
    let (succeeded, said) = match host {
        Some(host) => {
            let output = host.run(command, LIMIT)?;
            (output.status == Some(0), output.stderr)
        }
        None => run_here(command)?,
    };
    if !succeeded {
        bail!("`{command}` failed: {}", said.trim());
    }
    Ok(())
}

/// Whether it succeeded, and what it said on stderr. A server that the command starts may keep its output open for ever, so that
/// goes to a file, and the command's own end is what is waited for.
fn run_here(command: &str) -> Result<(bool, String)> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("lab-fault-{}-{number}", std::process::id()));
    let said = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .process_group(0)
        .spawn();
    let ended = child.context("cannot run sh").and_then(|child| wait(child, command));
    let said = fs::read_to_string(&path).unwrap_or_default();
    fs::remove_file(&path).ok();
    Ok((ended?, said))
}

fn wait(mut child: Child, command: &str) -> Result<bool> {
    let end = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for sh")? {
            return Ok(status.success());
        }
        if Instant::now() > end {
            child.kill().context("cannot kill sh")?;
            child.wait().context("cannot wait for sh")?;
            bail!("`{command}` did not end within {LIMIT:?}: start servers in the background (`… &`)");
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> Fault {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn each_kind_has_its_commands() {
        let kill = Commands::of(&fault("at = 1\nkill = \"/run/my sql.pid\"\nnode = \"n\""));
        assert_eq!(kill.make, "kill -KILL \"$(cat '/run/my sql.pid')\"");
        assert_eq!((kill.end, kill.name.as_str()), (None, "kill on n"));
        let pause = Commands::of(&fault("at = 1\npause = \"p\"\nrestore_after = 2"));
        assert_eq!(pause.end.as_deref(), Some("kill -CONT \"$(cat 'p')\""));
        let cut = Commands::of(&fault("at = 1\ncut = 3306\nrestore_after = 2"));
        assert!(cut.make.contains("-I INPUT -p tcp --dport 3306"), "{}", cut.make);
        assert!(cut.end.unwrap().contains("-D OUTPUT -p tcp --sport 3306"));
        let command = Commands::of(&fault("at = 1\ncommand = \"true\"\nname = \"nothing\""));
        assert_eq!((command.make.as_str(), command.name.as_str()), ("true", "nothing"));
    }

    #[test]
    fn a_command_that_fails_says_why() {
        run("true", None).unwrap();
        let error = run("echo no such server >&2; exit 3", None).unwrap_err().to_string();
        assert!(error.contains("no such server"), "{error}");
    }

    #[test]
    fn what_a_command_leaves_running_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("lab-left-running-{}", std::process::id()));
        run(&format!("sleep 1000 & echo $! > {}", path.display()), None).unwrap();
        let pid = fs::read_to_string(&path).unwrap();
        run(&format!("kill {}", pid.trim()), None).unwrap();
        fs::remove_file(&path).unwrap();
    }
}
