//! The same thing measured by the tools that everybody knows, where they are installed, by turns with ours: what slows one
//! measurement down for a moment then slows the other as well, and the median of the turns is compared.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab_results::NodeProbes;
use lab_results::host::CrossCheck;
use serde_json::Value;

use super::disk::{Pattern, Scratch};
use super::{ProbePlan, cpu, disk, memory};

const TURNS: usize = 5;
/// Of what takes a fraction of a second.
const DISK_TURNS: usize = 9;
/// In each turn of each side. A virtual disk's first hundred after a rest are slower or faster by a fifth, as it happens.
const DISK_WRITES: u32 = 1000;
/// As short as sysbench allows.
const TURN: Duration = Duration::from_secs(1);
/// After so long a check takes no further turn: slow disks would hold the series up.
const CHECK_TIME: Duration = Duration::from_secs(12);
const TOOL_TIME: Duration = Duration::from_secs(30);

pub fn run(plan: &ProbePlan, probes: &mut NodeProbes) {
    let mut checks = Checks { probes, turns: TURNS };
    if installed("sysbench") {
        if plan.cpu {
            let time = TURN;
            checks.compare(
                ["sysbench", "cpu, 1 thread", "events/s"],
                || Ok(cpu::events_per_s(1, time)),
                || sysbench(&["cpu", "--time=1", "--threads=1"], "events per second:"),
            );
            let cores = cpu::cores();
            if cores > 1 {
                checks.compare(
                    ["sysbench", &format!("cpu, {cores} threads"), "events/s"],
                    || Ok(cpu::events_per_s(cores, time)),
                    || {
                        sysbench(
                            &["cpu", "--time=1", &format!("--threads={cores}")],
                            "events per second:",
                        )
                    },
                );
            }
        }
        if plan.memory {
            checks.compare(
                ["sysbench", "memory, 1 KiB writes", "MiB/s"],
                || Ok(memory::write_1k_mib_per_s(TURN)),
                || sysbench(&["memory", "--time=1"], "MiB transferred ("),
            );
        }
    }
    if let Some(directory) = &plan.directory {
        disk_checks(directory, &mut checks);
    }
}

fn disk_checks(directory: &Path, checks: &mut Checks<'_>) {
    let scratch = match Scratch::new(directory) {
        Ok(scratch) => scratch,
        Err(error) => {
            checks
                .probes
                .problems
                .push(format!("cross-checks of the disk: {error}"));
            return;
        }
    };
    checks.turns = DISK_TURNS;
    // A disk's mean hangs on a few outliers, which two runs never share.
    let ours = |times: std::io::Result<disk::Times>| match times {
        Ok(times) => Ok(median(times.into_micros().into_iter())),
        Err(error) => Err(error.to_string()),
    };
    if installed("ioping") {
        checks.compare(
            ["ioping", "4 KiB sequential write and sync, median", "µs"],
            || ours(disk::write_fdatasync(&scratch, Pattern::Sequential, DISK_WRITES)),
            || ioping(directory),
        );
    }
    if installed("fio") {
        checks.compare(
            ["fio", "4 KiB sequential write, O_DIRECT and O_SYNC, median", "µs"],
            || ours(disk::sync_write(&scratch, DISK_WRITES)),
            || fio(scratch.path(), &["--rw=write", "--direct=1", "--sync=1"]),
        );
        checks.compare(
            ["fio", "4 KiB sequential write and fdatasync, median", "µs"],
            || ours(disk::write_fdatasync(&scratch, Pattern::Sequential, DISK_WRITES)),
            || {
                fio(
                    scratch.path(),
                    &["--rw=write", "--fdatasync=1", "--size=1m", "--io_size=4m"],
                )
            },
        );
        checks.compare(
            ["fio", "4 KiB random write and fdatasync, median", "µs"],
            || ours(disk::write_fdatasync(&scratch, Pattern::Random, DISK_WRITES)),
            || fio(scratch.path(), &["--rw=randwrite", "--fdatasync=1"]),
        );
    }
}

struct Checks<'a> {
    probes: &'a mut NodeProbes,
    turns: usize,
}

impl Checks<'_> {
    fn compare(
        &mut self,
        [tool, what, unit]: [&str; 3],
        ours: impl Fn() -> Result<f64, String>,
        theirs: impl Fn() -> Result<f64, String>,
    ) {
        let began = Instant::now();
        let turns: Result<Vec<(f64, f64)>, String> = (0..self.turns)
            .take_while(|turn| *turn == 0 || began.elapsed() < CHECK_TIME)
            .map(|turn| {
                // Who goes first changes, or the second would always find what the first left behind.
                if turn % 2 == 0 {
                    let ours = ours()?;
                    Ok((ours, theirs()?))
                } else {
                    let theirs = theirs()?;
                    Ok((ours()?, theirs))
                }
            })
            .collect();
        match turns {
            Ok(turns) => self.probes.cross_checks.push(CrossCheck {
                tool: tool.to_owned(),
                what: what.to_owned(),
                unit: unit.to_owned(),
                ours: median(turns.iter().map(|turn| turn.0)),
                theirs: median(turns.iter().map(|turn| turn.1)),
                turns,
            }),
            Err(error) => self.probes.problems.push(format!("cross-check {tool} {what}: {error}")),
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn installed(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(tool).is_file())
}

fn sysbench(arguments: &[&str], before: &str) -> Result<f64, String> {
    let text = output(Command::new("sysbench").args(arguments).arg("run"))?;
    number_after(&text, before).ok_or_else(|| format!("no {before:?} in sysbench's output"))
}

/// Median of the requests' times, the first left out as ioping itself does.
fn ioping(directory: &Path) -> Result<f64, String> {
    let count = DISK_WRITES.to_string();
    let arguments = ["-WWW", "-c", &count, "-i", "0", "-L", "-s", "4K", "-w", "5"];
    let text = output(Command::new("ioping").args(arguments).arg(directory))?;
    let times: Vec<f64> = text
        .lines()
        .filter(|line| !line.contains("(warmup)"))
        .filter_map(request_us)
        .collect();
    if times.is_empty() {
        return Err(format!("no request in ioping's output: {:?}", text.lines().next()));
    }
    Ok(median(times.into_iter()))
}

/// `4 KiB >>> . (ext4 /dev/vda 252.0 GiB): request=2 time=2.80 ms` → 2800.
fn request_us(line: &str) -> Option<f64> {
    let (_, time) = line.split_once("time=")?;
    let mut words = time.split_whitespace();
    let number: f64 = words.next()?.parse().ok()?;
    let unit = match words.next()? {
        "ns" => 1e-3,
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    Some(number * unit)
}

/// Median of a write and median of its sync. `file` has its blocks, and keeps them.
fn fio(file: &Path, arguments: &[&str]) -> Result<f64, String> {
    let text = output(
        Command::new("fio")
            .args([
                "--name=probe",
                "--bs=4k",
                "--ioengine=psync",
                "--size=16m",
                "--overwrite=1",
            ])
            .arg(format!("--number_ios={DISK_WRITES}"))
            .args(["--runtime=5", "--output-format=json", "--randrepeat=0"])
            .args(arguments)
            .arg(format!("--filename={}", file.display())),
    )?;
    let report: Value = serde_json::from_str(&text).map_err(|error| format!("fio's report: {error}"))?;
    let job = &report["jobs"][0];
    let median = |nanos: &Value| nanos["percentile"]["50.000000"].as_f64();
    let write = median(&job["write"]["clat_ns"]).ok_or("fio's report has no latency of writes")?;
    Ok((write + median(&job["sync"]["lat_ns"]).unwrap_or(0.0)) / 1000.0)
}

/// What a tool prints, within its time.
fn output(command: &mut Command) -> Result<String, String> {
    let out = std::env::temp_dir().join(format!("lab-cross-check.{}", std::process::id()));
    let file = fs::File::create(&out).map_err(|error| error.to_string())?;
    let run = || -> Result<String, String> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if began.elapsed() > TOOL_TIME {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("took more than {} s", TOOL_TIME.as_secs()));
            }
            thread::sleep(Duration::from_millis(10));
        };
        let text = fs::read_to_string(&out).map_err(|error| error.to_string())?;
        if status.success() {
            Ok(text)
        } else {
            Err(format!("{status}: {}", text.trim()))
        }
    };
    let result = run();
    let _ = fs::remove_file(&out);
    result
}

fn number_after(text: &str, before: &str) -> Option<f64> {
    let (_, after) = text.split_once(before)?;
    let number: String = after
        .trim_start()
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found_in_what_sysbench_prints() {
        let text = "CPU speed:\n    events per second:  2633.31\n\nThroughput:\n";
        assert_eq!(number_after(text, "events per second:"), Some(2633.31));
        let text = "12694.38 MiB transferred (6337.90 MiB/sec)\n";
        assert_eq!(number_after(text, "MiB transferred ("), Some(6337.9));
        assert_eq!(number_after(text, "events per second:"), None);
    }

    #[test]
    fn iopings_units_are_known() {
        let line = "4 KiB >>> . (ext4 /dev/vda 252.0 GiB): request=2 time=2.80 ms";
        assert_eq!(request_us(line), Some(2800.0));
        assert_eq!(request_us(&line.replace("2.80 ms", "97.0 us (fast)")), Some(97.0));
        assert_eq!(request_us("--- . ioping statistics ---"), None);
    }

    #[test]
    fn a_tool_that_fails_is_a_problem_not_a_figure() {
        let mut probes = NodeProbes::default();
        let mut checks = Checks {
            probes: &mut probes,
            turns: TURNS,
        };
        checks.compare(
            ["tool", "thing", "s"],
            || Ok(1.0),
            || output(&mut Command::new("false")).map(|_| 1.0),
        );
        assert!(probes.cross_checks.is_empty());
        assert!(probes.problems[0].contains("tool thing"), "{:?}", probes.problems);
    }

    #[test]
    fn medians_are_compared() {
        let mut probes = NodeProbes::default();
        let mut checks = Checks {
            probes: &mut probes,
            turns: TURNS,
        };
        let turn = std::cell::Cell::new(0);
        let ours = || {
            turn.set(turn.get() + 1);
            Ok([1.0, 50.0, 2.0, 3.0, 0.5][turn.get() - 1])
        };
        checks.compare(["tool", "thing", "s"], ours, || Ok(2.0));
        assert_eq!(probes.cross_checks[0].ours, 2.0);
        assert_eq!(probes.cross_checks[0].theirs, 2.0);
    }
}
