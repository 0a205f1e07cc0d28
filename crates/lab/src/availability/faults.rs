//! Faults: a command that makes one and a command that ends it, run here, or on a node by its line.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use lab_host::Host;

use crate::plan::Fault;

/// A fault's commands take no longer.
const LIMIT: Duration = Duration::from_secs(60);

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
        None => {
            let output = Command::new("sh")
                .args(["-c", command])
                .output()
                .map_err(|error| anyhow!("cannot run sh: {error}"))?;
            (
                output.status.success(),
                String::from_utf8_lossy(&output.stderr).into_owned(),
            )
        }
    };
    if !succeeded {
        bail!("`{command}` failed: {}", said.trim());
    }
    Ok(())
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
}
