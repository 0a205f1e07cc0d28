//! A command on the node, with a limit of time and of output.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::host::CommandOutput;

const MOST_OUTPUT: usize = 64 * 1024;
/// A server that the command left running keeps its output open: what came by then is the output.
const GRACE: Duration = Duration::from_millis(200);

pub fn run(command: &str, limit: Duration) -> Result<CommandOutput, String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Past its time the command ends with all that it started.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("sh: {error}"))?;
    let stdout = child.stdout.take().map(Tail::of);
    let stderr = child.stderr.take().map(Tail::of);
    let began = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() < limit => thread::sleep(Duration::from_millis(2)),
            Ok(None) => {
                if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.wait();
                return Err(format!("ended after its limit of {:.1} s", limit.as_secs_f64()));
            }
            Err(error) => return Err(error.to_string()),
        }
    };
    let text = |tail: Option<Tail>| tail.map(Tail::text).unwrap_or_default();
    Ok(CommandOutput {
        status: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

/// The last bytes of a stream, read on a thread of its own.
struct Tail {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: thread::JoinHandle<()>,
}

impl Tail {
    fn of(mut stream: impl Read + Send + 'static) -> Tail {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = bytes.clone();
        let reader = thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut chunk) {
                let mut kept = kept.lock().expect("no holder panics");
                kept.extend_from_slice(&chunk[..read]);
                let excess = kept.len().saturating_sub(MOST_OUTPUT);
                kept.drain(..excess);
            }
        });
        Tail { bytes, reader }
    }

    fn text(self) -> String {
        let began = Instant::now();
        while !self.reader.is_finished() && began.elapsed() < GRACE {
            thread::sleep(Duration::from_millis(2));
        }
        let bytes = self.bytes.lock().expect("no holder panics");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn status_and_output_come_back() {
        let output = run("echo out; echo err >&2; exit 3", LONG).unwrap();
        assert_eq!(output.status, Some(3));
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
    }

    #[test]
    fn past_its_limit_a_command_ends_with_its_children() {
        let mark = format!("sleep 987{}", std::process::id());
        let error = run(&format!("{mark} & wait"), Duration::from_millis(100)).unwrap_err();
        assert!(error.contains("limit"), "{error}");
        let began = Instant::now();
        // The kernel takes a moment to clear the dead away.
        while run("ps -eo args", LONG).unwrap().stdout.contains(&mark) {
            assert!(began.elapsed() < LONG, "the child lives on");
        }
    }

    #[test]
    fn a_server_left_behind_does_not_hold_the_answer() {
        let began = Instant::now();
        let output = run("sleep 30 & echo $!", LONG).unwrap();
        assert!(began.elapsed() < Duration::from_secs(15));
        let left = output.stdout.trim().parse().ok().and_then(Pid::from_raw).unwrap();
        rustix::process::kill_process(left, Signal::KILL).unwrap();
    }

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let output = run("yes | head -c 1000000; echo end", LONG).unwrap();
        assert!(output.stdout.len() <= MOST_OUTPUT);
        assert!(output.stdout.ends_with("end\n"));
    }
}
