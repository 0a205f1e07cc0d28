//! The real sysbench as the driver (`driver = "sysbench"`), and its output as figures.
//!
//! The password goes to it through its standard input (`--config-file=/dev/stdin`): neither a file nor the list of processes sees
//! it. With TLS it takes its three files from fixed names in the folder that it runs in. It has no warm-up: a run of that length, whose figures are thrown away, goes before the measured one.

mod report;

use std::fs::DirBuilder;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lab_results::run::{Arrivals, Load};
use lab_results::rung::{ErrorCount, Second, Totals};
use lab_results::{Latency, UnixMicros};
pub use report::{Interval, Report};

use crate::client::Dialer;
use crate::run::{ClientCost, Share, wait_for};
use crate::workload::OltpKind;
use crate::{DriverError, Outcome, RungSpec, Stop, Target, TlsMode, Workload, idle};

/// What sysbench 1.0 understands of our options; the rest is its neighbour's default or refused.
const UNDERSTOOD: [&str; 24] = [
    "tables",
    "table_size",
    "range_size",
    "point_selects",
    "simple_ranges",
    "sum_ranges",
    "order_ranges",
    "distinct_ranges",
    "range_selects",
    "index_updates",
    "non_index_updates",
    "delete_inserts",
    "skip_trx",
    "auto_inc",
    "secondary",
    "create_secondary",
    "mysql_storage_engine",
    "rand_type",
    "rand_spec_iter",
    "rand_spec_pct",
    "rand_spec_res",
    "rand_pareto_h",
    "db_ps_mode",
    "rand_zipfian_exp",
];

/// Options that only some of its workloads have.
const OF_ONE_WORKLOAD: [(&str, &str); 3] = [
    ("random_points", "select_random_points"),
    ("number_of_ranges", "select_random_ranges"),
    ("delta", "select_random_ranges"),
];

/// `sysbench --version`, if it is installed: as `1.0.20`.
pub fn version() -> Option<String> {
    let output = Command::new("sysbench").arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.split_whitespace().nth(1).map(str::to_owned)
}

/// Whether it has the workload of this name.
pub fn has(kind: &str) -> bool {
    OltpKind::ALL.iter().any(|known| known.name() == kind)
}

/// As [`crate::run()`], by the real sysbench. What it does not say is absent: latency per statement and second, rows, bytes, what
/// retries cost. Options that it does not have are refused by name; so is `survive`.
pub fn run(
    target: &Target,
    workload: &Workload,
    spec: &RungSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(&Second),
) -> Result<Outcome, DriverError> {
    run_from(target, workload, spec, stop, &mut || Some(Instant::now()), progress)
}

/// As [`run`], not before the moment that `begin` gives; `None`: not at all. Sysbench connects after that: several that begin together
/// are apart by what their connecting takes.
pub fn run_from(
    target: &Target,
    workload: &Workload,
    spec: &RungSpec,
    stop: &Stop,
    begin: &mut dyn FnMut() -> Option<Instant>,
    progress: &mut dyn FnMut(&Second),
) -> Result<Outcome, DriverError> {
    if spec.survive.is_some() {
        return Err(refused(
            "it does not live through lost connections: use our driver for that",
        ));
    }
    let mut arguments = workload_arguments(workload)?;
    arguments.extend(load_arguments(spec)?);
    let idle = match spec.idle {
        None => None,
        Some(idle) => Some(idle::open(&Dialer::new(target)?, &workload.catalog(), idle, stop)?),
    };
    if !begin().is_some_and(|moment| wait_for(moment, stop)) {
        return Err(DriverError::Stopped);
    }
    let warmup_s = spec.warmup.as_secs_f64().ceil() as u64;
    if warmup_s > 0 {
        let mut warm = arguments.clone();
        warm.push(format!("--time={warmup_s}"));
        let command = script(workload);
        let begin = -(warmup_s as i64);
        Sysbench::start(target, &warm, command, "run")?
            .listen(stop, &mut |interval| progress(&second(interval, begin)))?;
    }
    let measure_s = spec.measure.as_secs_f64().ceil() as u64;
    arguments.push(format!("--time={measure_s}"));
    let started = UnixMicros(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_micros() as u64),
    );
    let mut seconds = Vec::new();
    let ended = Sysbench::start(target, &arguments, script(workload), "run")?.listen(stop, &mut |interval| {
        let second = second(interval, 0);
        progress(&second);
        seconds.push(second);
    })?;
    let mut outcome = outcome(ended, started, seconds, spec, stop);
    if let Some(idle) = idle {
        idle.finish(&mut outcome);
    }
    Ok(outcome)
}

/// Runs `prepare` of the real sysbench: what `verify` compares our tables with.
pub(crate) fn prepare(target: &Target, workload: &Workload) -> Result<(), DriverError> {
    let arguments = workload_arguments(workload)?;
    let ended = Sysbench::start(target, &arguments, script(workload), "prepare")?.listen(&Stop::new(), &mut |_| {})?;
    match ended.report.fatal.first() {
        None => Ok(()),
        Some(fatal) => Err(DriverError::Sysbench(fatal.clone())),
    }
}

/// Runs so many transactions.
pub(crate) fn run_events(target: &Target, workload: &Workload, threads: u32, events: u64) -> Result<(), DriverError> {
    let mut arguments = workload_arguments(workload)?;
    arguments.extend([
        format!("--threads={threads}"),
        format!("--events={events}"),
        "--time=0".to_owned(),
    ]);
    let ended = Sysbench::start(target, &arguments, script(workload), "run")?.listen(&Stop::new(), &mut |_| {})?;
    match ended.report.fatal.first() {
        None => Ok(()),
        Some(fatal) => Err(DriverError::Sysbench(fatal.clone())),
    }
}

fn refused(why: &str) -> DriverError {
    DriverError::Sysbench(why.to_owned())
}

fn script(workload: &Workload) -> &str {
    workload.kind_name()
}

/// `--option=value` of everything that decides what is sent.
fn workload_arguments(workload: &Workload) -> Result<Vec<String>, DriverError> {
    let kind = workload.kind_name();
    if !has(kind) {
        return Err(DriverError::Sysbench(format!("it has no workload `{kind}`")));
    }
    let plain = Workload::new(kind, &Default::default())?;
    let newer = version().is_some_and(|version| !version.starts_with("1.0."));
    let mut arguments = Vec::new();
    for (name, value) in workload.options() {
        let is_default = plain.options().get(name) == Some(value);
        let understood = UNDERSTOOD.contains(&name.as_str()) && (newer || name != "rand_zipfian_exp")
            || OF_ONE_WORKLOAD.contains(&(name.as_str(), kind));
        match (understood, is_default) {
            (true, _) => arguments.push(match name.starts_with("rand_") || name == "db_ps_mode" {
                true => format!("--{}={value}", name.replace('_', "-")),
                false => format!("--{name}={value}"),
            }),
            (false, true) => {}
            (false, false) => {
                return Err(DriverError::Sysbench(format!(
                    "it has no option `{name}` (here {value}): use our driver for this workload"
                )));
            }
        }
    }
    Ok(arguments)
}

fn load_arguments(spec: &RungSpec) -> Result<Vec<String>, DriverError> {
    let share = spec.share.unwrap_or(Share::whole(spec.load.threads_total()));
    let codes: Vec<String> = spec.ignore_errors.iter().map(u16::to_string).collect();
    let mut arguments = vec![
        format!("--threads={}", share.connections),
        format!("--mysql-ignore-errors={}", codes.join(",")),
        // Its own of each driver, or all would draw the same keys.
        format!("--rand-seed={}", spec.seed.wrapping_add(u64::from(share.first)) as i32),
        "--report-interval=1".to_owned(),
        "--histogram".to_owned(),
        "--percentile=95".to_owned(),
    ];
    match &spec.load {
        Load::Closed { .. } => {}
        Load::Open {
            arrivals: Arrivals::Even,
            ..
        } => {
            return Err(refused("its arrivals are Poisson's only"));
        }
        Load::Open { profile: Some(_), .. } => {
            return Err(refused(
                "its rate is one for the whole run: use our driver for a profile",
            ));
        }
        Load::Open { rate_per_s, .. } => {
            // Whole numbers that add up to the whole rate.
            let (fraction, before) = share.fraction();
            let until = |share: f64| (rate_per_s * share).round();
            let rate = (until(before + fraction) - until(before)).max(1.0);
            arguments.push(format!("--rate={rate}"));
        }
    }
    Ok(arguments)
}

/// Hosts and ports as it takes them; `localhost` would be a socket file to its client library.
fn server_arguments(target: &Target) -> Result<Vec<String>, DriverError> {
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    for server in &target.servers {
        let (host, port) = server
            .rsplit_once(':')
            .ok_or_else(|| DriverError::Sysbench(format!("{server} is not host:port")))?;
        hosts.push(if host == "localhost" { "127.0.0.1" } else { host });
        ports.push(port);
    }
    ports.dedup();
    match (hosts.is_empty(), ports.as_slice()) {
        (true, _) => Err(DriverError::NoServer),
        (false, [port]) => Ok(vec![
            format!("--mysql-host={}", hosts.join(",")),
            format!("--mysql-port={port}"),
        ]),
        (false, _) => Err(refused("several servers must have the same port for it")),
    }
}

/// The folder where it looks for the files of TLS, under the names that it has for them.
struct TlsFolder(PathBuf);

impl TlsFolder {
    /// `None` without TLS. Links only: no key is copied.
    fn new(target: &Target) -> Result<Option<TlsFolder>, DriverError> {
        let (ca, identity) = match (&target.tls.mode, &target.tls.ca, &target.tls.identity) {
            (TlsMode::Disabled, ..) => return Ok(None),
            (TlsMode::Required | TlsMode::VerifyCa, Some(ca), Some(identity)) => (ca, identity),
            (TlsMode::Required | TlsMode::VerifyCa, ..) => {
                return Err(refused(
                    "it speaks TLS only with `tls_ca`, `tls_cert` and `tls_key` all given: give them, or use our driver for this target",
                ));
            }
            (mode @ (TlsMode::Preferred | TlsMode::VerifyIdentity), ..) => {
                return Err(DriverError::Sysbench(format!(
                    "it has no `tls = \"{}\"`, only what \"disabled\" and \"verify_ca\" are: use one of these, or our driver for this target",
                    mode.name()
                )));
            }
        };
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("latsdb-lab-tls-{}-{number}", std::process::id()));
        let folder = TlsFolder(path);
        let link = || -> std::io::Result<()> {
            DirBuilder::new().mode(0o700).create(&folder.0)?;
            for (pem, name) in [
                (ca, "cacert.pem"),
                (&identity.certificate, "client-cert.pem"),
                (&identity.key, "client-key.pem"),
            ] {
                symlink(std::path::absolute(&pem.path)?, folder.0.join(name))?;
            }
            Ok(())
        };
        link().map_err(|error| DriverError::Sysbench(format!("cannot show it its TLS files: {error}")))?;
        Ok(Some(folder))
    }
}

impl Drop for TlsFolder {
    fn drop(&mut self) {
        // Links in the system's temporary folder: nothing is lost if they stay.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

static FOLDERS: AtomicU64 = AtomicU64::new(0);

struct Sysbench {
    child: Child,
    _tls: Option<TlsFolder>,
}

struct Ended {
    report: Report,
    cost: ClientCost,
    errors_text: String,
    killed: bool,
}

impl Sysbench {
    fn start(target: &Target, arguments: &[String], script: &str, command: &str) -> Result<Sysbench, DriverError> {
        let tls = TlsFolder::new(target)?;
        let mut sysbench = Command::new("sysbench");
        if let Some(folder) = &tls {
            sysbench.arg("--mysql-ssl=on").current_dir(&folder.0);
        }
        let spawned = sysbench
            .arg("--config-file=/dev/stdin")
            .args(server_arguments(target)?)
            .arg(format!("--mysql-db={}", target.database))
            .args(arguments)
            .args([script, command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = spawned.map_err(|error| DriverError::Sysbench(format!("cannot start it: {error}")))?;
        let login = format!(
            "mysql-user={}\nmysql-password={}\n",
            target.user,
            target.password.reveal()
        );
        if let Some(mut stdin) = child.stdin.take() {
            stdin
                .write_all(login.as_bytes())
                .map_err(|error| DriverError::Sysbench(format!("cannot tell it who logs in: {error}")))?;
        }
        Ok(Sysbench { child, _tls: tls })
    }

    /// Until it ends or is to be stopped; each interval as soon as it is printed.
    fn listen(mut self, stop: &Stop, on_interval: &mut dyn FnMut(&Interval)) -> Result<Ended, DriverError> {
        let (sender, lines) = mpsc::channel();
        let stdout = self.child.stdout.take();
        let reader = std::thread::spawn(move || {
            for line in stdout.into_iter().flat_map(|out| BufReader::new(out).lines()) {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let stderr = self.child.stderr.take();
        let errors = std::thread::spawn(move || {
            let mut text = String::new();
            if let Some(mut stderr) = stderr {
                let _ = stderr.read_to_string(&mut text);
            }
            text
        });
        let mut report = Report::default();
        let mut killed = false;
        let mut context_switches = 0;
        loop {
            match lines.recv_timeout(Duration::from_millis(100)) {
                Ok(line) => {
                    let known = report.intervals.len();
                    report.line(&line);
                    report.intervals[known..].iter().for_each(&mut *on_interval);
                    if report.intervals.len() > known {
                        context_switches = switches(self.child.id()).unwrap_or(context_switches);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.is_requested() && !killed {
                killed = true;
                let _ = self.child.kill();
            }
        }
        // Between its end and our wait for it, the kernel still has its whole account.
        let cpu_s = account_when_ended(self.child.id());
        let _ = self.child.wait();
        let _ = reader.join();
        let errors_text = errors.join().unwrap_or_default();
        errors_text.lines().for_each(|line| report.line(line));
        Ok(Ended {
            report,
            cost: ClientCost {
                cpu_s,
                context_switches,
                workers: 0,
            },
            errors_text,
            killed,
        })
    }
}

/// Processor seconds of a child that is ending, threads that are gone included.
fn account_when_ended(pid: u32) -> f64 {
    let mut cpu_s = 0.0;
    for _ in 0..500 {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
            break;
        };
        let Some((_, fields)) = stat.rsplit_once(") ") else {
            break;
        };
        let fields: Vec<&str> = fields.split(' ').collect();
        let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok());
        cpu_s = (ticks(11).unwrap_or_default() + ticks(12).unwrap_or_default()) / ticks_per_s();
        if fields.first() == Some(&"Z") {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    cpu_s
}

/// USER_HZ, which Linux fixes at 100 for every architecture that this runs on.
fn ticks_per_s() -> f64 {
    100.0
}

/// Context switches of all its threads so far.
fn switches(pid: u32) -> Option<u64> {
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let counts = status.lines().filter_map(|line| line.split_once("_ctxt_switches:"));
        sum += counts
            .filter_map(|(_, count)| count.trim().parse::<u64>().ok())
            .sum::<u64>();
    }
    Some(sum)
}

/// An interval line as a second; it says rates and one percentile, no distribution.
fn second(interval: &Interval, begin: i64) -> Second {
    Second {
        second: begin + interval.at_s as i64 - 1,
        transactions: interval.tps.round() as u64,
        queries: interval.qps.round() as u64,
        errors: interval.errors_per_s.round() as u64,
        retries: interval.errors_per_s.round() as u64,
        ..Second::default()
    }
}

fn outcome(ended: Ended, started: UnixMicros, seconds: Vec<Second>, spec: &RungSpec, stop: &Stop) -> Outcome {
    let report = &ended.report;
    let of_seconds = |count: fn(&Second) -> u64| seconds.iter().map(count).sum::<u64>();
    let totals = match report.queries {
        // Without its last word (killed, or fatal), the interval lines have to do.
        0 => Totals {
            transactions: of_seconds(|second| second.transactions),
            queries: of_seconds(|second| second.queries),
            retries: of_seconds(|second| second.retries),
            ..Totals::default()
        },
        queries => Totals {
            transactions: report.transactions,
            queries,
            retries: report.ignored_errors,
            reconnects: report.reconnects,
            ..Totals::default()
        },
    };
    let ignored = ErrorCount {
        code: 0,
        sqlstate: String::new(),
        message: format!("ignored errors, of codes {:?} together", spec.ignore_errors),
        statement: "any".to_owned(),
        count: totals.retries,
    };
    let failure = match (report.fatal.first(), report.queries) {
        (Some(fatal), _) => Some(fatal.clone()),
        // A Ctrl-C in the terminal reaches it as well, before we do.
        (None, 0) if !ended.killed && !stop.is_requested() => {
            Some(format!("sysbench said nothing: {}", ended.errors_text.trim()))
        }
        _ => None,
    };
    Outcome {
        started,
        measured_s: if report.total_time_s > 0.0 {
            report.total_time_s
        } else {
            seconds.len() as f64
        },
        errors: if totals.retries > 0 { vec![ignored] } else { Vec::new() },
        totals,
        statements: Default::default(),
        latency: report.latency(),
        service_latency: None::<Latency>,
        seconds,
        client: ended.cost,
        events: Vec::new(),
        phases: Vec::new(),
        idle: None,
        interrupted: stop.is_requested(),
        failure,
    }
}
