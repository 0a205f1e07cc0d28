//! Faults under load, what they cost, and whether the data came through.
//!
//! ```text
//!   writers ──▶ ledger of every write and its fate ──┐
//!   workload beside them (if the plan names one)     ├──▶ gaps, dips, errors ──▶ availability.json
//!   timeline: faults made and ended as planned ──────┘
//!   recovery: every server answers again ──▶ the tables against the ledger
//! ```
//!
//! 1. [`ledger`]: what each write's fate allows, and the check.
//! 2. [`writers`]: who writes it.
//! 3. [`faults`]: what is done to the servers.
//! 4. [`analysis`]: from times to figures.
//! 5. [`matrix`]: the table of another program's faults.
//!
//! A fault that was made is ended, also after a Ctrl-C: a paused server is not left paused.

mod analysis;
mod faults;
mod ledger;
mod matrix;
mod writers;

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use lab_driver::{Control, DriverError, Outcome, RungSpec, Stop, Survive, Target};
use lab_results::availability::{Availability, DataCheck, FaultReport, Gap};
use lab_results::run::{Event, Load, Run};
use lab_results::{Folder, Rung, UnixMicros};

use crate::clock;
use crate::cluster::{Watch, Watched};
use crate::commands::{self, Ending};
use crate::interrupt::Interrupt;
use crate::machines::Machines;
use crate::plan::{self, Plan};
use crate::preflight::{self, Existing};
use crate::progress::Progress;
use crate::series;
use crate::subject::{self, Sent, Subject};
use crate::terminal;
use analysis::Window;
use faults::Commands;
use writers::{Failure, Writers, Written};

/// The timeline looks so often at what is due.
const LOOK: Duration = Duration::from_millis(20);
/// Between two readings of the ledger, which must agree before they count.
const SETTLE: Duration = Duration::from_secs(1);
const SETTLE_READINGS: usize = 20;
/// Whoever pressed Ctrl-C waits no longer for a server that does not answer.
const PATIENCE_MAX: Duration = Duration::from_secs(10);

pub fn run(matches: &ArgMatches) -> Result<()> {
    if let Some(results) = matches.get_one::<PathBuf>("matrix") {
        return matrix::run(results, matches.get_one::<PathBuf>("into").map(PathBuf::as_path));
    }
    let path = matches.get_one::<PathBuf>("plan").expect("clap insists on a plan");
    let (plan, text) = plan::read(path, matches.get_one::<String>("name"))?;
    let interrupt = Interrupt::install()?;
    let found = measure(&plan, &text, &interrupt)?;
    if interrupt.asked() {
        commands::leave(Ending::Interrupted, &interrupt);
    }
    for Availability { target, data, .. } in &found {
        if let Some(why) = &data.not_checked {
            bail!("target {target}: the data could not be checked: {why}");
        }
        if !data.holds() {
            bail!("target {target}: the data is not what was acknowledged");
        }
        if !data.missing_servers.is_empty() {
            bail!("target {target}: {} did not come back", data.missing_servers.join(", "));
        }
    }
    Ok(())
}

/// Every target in turn; results and a summary on the way.
fn measure(plan: &Plan, text: &str, interrupt: &Interrupt) -> Result<Vec<Availability>> {
    let Some(settings) = &plan.availability else {
        bail!("the plan has no section [availability]: `lab init` shows one");
    };
    let subjects = plan.targets.iter().map(Subject::new).collect::<Result<Vec<_>>>()?;
    let sent = subject::workloads(plan)?
        .into_iter()
        .find(|sent| Some(&sent.name) == settings.workload.as_ref());
    let folder = Folder::create(&plan.results.join(&plan.name))?;
    folder.write_text("plan.toml", text)?;
    let mut progress = Progress::new();
    let (machines, problems) = Machines::connect(plan);
    for problem in &problems {
        progress.say(&format!("warning: {problem}"));
    }
    let mut run = series::described(plan, &subjects, sent.as_slice(), &mut progress)?;
    folder.write_run(&run)?;
    let mut found = Vec::new();
    let mut failure = None;
    for (place, subject) in subjects.iter().enumerate() {
        let drill = Drill {
            plan,
            settings,
            subject,
            sent: sent.as_ref(),
            machines: &machines,
            interrupt,
        };
        let outcome = match drill.run(&mut run, place, &folder, &mut progress) {
            Ok(outcome) => outcome,
            Err(error) => {
                failure = Some(error);
                break;
            }
        };
        progress.clear();
        drop(terminal::print(&summary(&outcome)));
        found.push(outcome);
        folder.write_availability(&found)?;
        if interrupt.asked() {
            break;
        }
    }
    drop(progress);
    if found.is_empty() {
        commands::discard(folder.path());
    } else {
        run.ended = Some(clock::now());
        run.interrupted = interrupt.asked();
        if let Some(error) = &failure {
            run.events.push(Event {
                at: clock::now(),
                what: format!("{error:#}"),
            });
        }
        folder.write_run(&run)?;
        commands::report_of(folder.path());
    }
    match failure {
        // What stopping broke is no error of its own.
        Some(error) if !interrupt.asked() => Err(error),
        _ => Ok(found),
    }
}

/// One target's faults.
struct Drill<'a> {
    plan: &'a Plan,
    settings: &'a plan::Availability,
    subject: &'a Subject,
    sent: Option<&'a Sent>,
    machines: &'a Machines,
    interrupt: &'a Interrupt,
}

/// A fault as it really was made.
struct Made {
    commands: Commands,
    node: Option<String>,
    at: UnixMicros,
    restored: Option<UnixMicros>,
    problems: Vec<String>,
}

impl Drill<'_> {
    fn run(&self, run: &mut Run, place: usize, folder: &Folder, progress: &mut Progress) -> Result<Availability> {
        let target = self.subject.in_database("");
        let mut problems = Vec::new();
        let idle = self.sent.map_or(0, Sent::idle_per_server);
        let demand = preflight::Demand {
            connections_per_server: u64::from(self.settings.writers)
                + u64::from(self.settings.threads_per_server)
                + u64::from(idle),
            prepared_per_server: self
                .sent
                .map_or(0, |sent| sent.prepared_per_server(self.settings.threads_per_server)),
        };
        let facts = preflight::servers(self.subject, demand, &mut problems);
        let cluster = self.subject.cluster(run.targets[place].price.as_ref(), &mut problems);
        if !problems.is_empty() {
            bail!("nothing was measured:\n  {}", problems.join("\n  "));
        }
        run.targets[place].cluster.clone_from(&cluster);
        run.targets[place].versions = facts.versions;
        run.targets[place].variables = facts.variables;
        run.targets[place].tls = Some(self.subject.tls_used(facts.encryption));
        if let Some(sent) = self.sent {
            preflight::data(
                self.subject,
                sent,
                Existing::Keep,
                self.plan.seed,
                progress,
                self.interrupt,
            )?;
        }
        writers::prepare(&target, self.settings.writers)?;

        let stop = Stop::new();
        let writers = Writers::start(&target, self.settings.writers, self.settings.answer_limit.0)?;
        let watch = cluster.as_ref().map(Watch::start);
        let started = clock::now();
        let (mut made, beside) = thread::scope(|scope| {
            let beside = self.sent.map(|sent| scope.spawn(|| self.beside(sent, &stop)));
            let made = self.timeline(progress);
            if self.interrupt.asked() {
                stop.request();
            }
            let beside = beside.map(|thread| thread.join().expect("the load does not panic"));
            (made, beside)
        });
        let ended = clock::now();
        progress.doing(&format!("waiting for every server of {}", self.subject.name));
        let missing = self.wait_for_servers(&target);
        for (server, why) in &missing {
            progress.say(&format!(
                "{server} does not answer {} after the end: {why}",
                self.settings.recovery_limit
            ));
        }
        let written = writers.finish();
        let missing: Vec<String> = missing.into_iter().map(|(server, _)| server).collect();
        let mut data = self.check(&target, &missing, &written, progress);
        data.missing_servers = missing;
        for fault in &made {
            run.events.push(Event {
                at: fault.at,
                what: format!("{}: {}", self.subject.name, fault.commands.name),
            });
        }
        let seen = |started: UnixMicros, measured_s: f64| {
            watch
                .as_ref()
                .map(|watch| watch.seen(started, measured_s))
                .unwrap_or_default()
        };
        if let (Some(sent), Some(outcome)) = (self.sent, beside) {
            match outcome {
                Ok(outcome) => {
                    let watched = seen(outcome.started, outcome.measured_s);
                    self.write_rung(folder, place, sent, outcome, &made, watched)?;
                }
                Err(error) => progress.say(&format!(
                    "warning: the workload beside the writers did not run: {error}"
                )),
            }
        }
        made.sort_by_key(|fault| fault.at);
        let watched = seen(started, seconds_between(started, ended));
        Ok(Availability {
            cluster: watched.nodes,
            changes: watched.changes,
            ..self.reported(&target, &written, &made, started, ended, data)
        })
    }

    fn threads_total(&self) -> u32 {
        let servers = u32::try_from(self.subject.servers().len()).unwrap_or(u32::MAX);
        self.sent
            .map_or(0, |_| self.settings.threads_per_server.saturating_mul(servers))
    }

    /// The plan's workload, living through what happens.
    fn beside(&self, sent: &Sent, stop: &Stop) -> Result<Outcome, DriverError> {
        let load = Load::Closed {
            threads_per_server: self.settings.threads_per_server,
            threads_total: self.threads_total(),
        };
        let mut spec = RungSpec::new(load, Duration::ZERO, self.settings.measure.0, self.plan.seed);
        spec.idle = sent.idle;
        spec.survive = Some(Survive {
            answer_timeout: self.settings.answer_limit.0,
            reopen_after: self.subject.reopen_after_in_availability(),
            ..Survive::default()
        });
        lab_driver::run(
            &self.subject.for_workload(sent),
            &sent.workload,
            &spec,
            stop,
            &mut |_| {},
        )
    }

    /// Makes and ends the faults when they are due; returns when the measured time is over and every fault has ended.
    fn timeline(&self, progress: &mut Progress) -> Vec<Made> {
        let begun = Instant::now();
        let mut faults: Vec<(Duration, usize)> = self
            .settings
            .faults
            .iter()
            .enumerate()
            .map(|(place, fault)| (fault.at.0, place))
            .collect();
        faults.sort();
        let mut coming = faults.into_iter().peekable();
        let mut made: Vec<Made> = Vec::new();
        let mut endings: Vec<(Duration, usize)> = Vec::new();
        loop {
            let passed = begun.elapsed();
            let is_over = passed >= self.settings.measure.0 || self.interrupt.asked();
            while let Some((_, place)) = coming.next_if(|(at, _)| *at <= passed && !is_over) {
                let fault = &self.settings.faults[place];
                let commands = Commands::of(fault);
                progress.say(&format!("{:>5.1} s  {}", passed.as_secs_f64(), commands.name));
                let at = clock::now();
                if let Some(end) = &commands.end {
                    self.interrupt
                        .owe(&commands.name, &to_be_done(end, fault.node.as_deref()));
                }
                let outcome = self.command(&commands.make, fault.node.as_deref());
                if commands.end.is_some()
                    && let Some(after) = fault.restore_after
                {
                    endings.push((passed + after.0, made.len()));
                }
                made.push(Made {
                    commands,
                    node: fault.node.clone(),
                    at,
                    restored: None,
                    problems: outcome.err().map(|error| format!("{error:#}")).into_iter().collect(),
                });
            }
            endings.retain(|(at, place)| {
                if passed < *at && !is_over {
                    return true;
                }
                let fault = &mut made[*place];
                progress.say(&format!(
                    "{:>5.1} s  end of: {}",
                    passed.as_secs_f64(),
                    fault.commands.name
                ));
                fault.restored = Some(clock::now());
                let command = fault.commands.end.clone().unwrap_or_default();
                match self.command(&command, fault.node.as_deref()) {
                    Ok(()) => self.interrupt.settle(&fault.commands.name),
                    Err(error) => fault.problems.push(format!("{error:#}")),
                }
                false
            });
            if is_over {
                return made;
            }
            progress.detail(&format!(
                "{}: {:.0} of {} s",
                self.subject.name,
                passed.as_secs_f64(),
                self.settings.measure.as_secs_f64()
            ));
            thread::sleep(LOOK);
        }
    }

    fn command(&self, command: &str, node: Option<&str>) -> Result<()> {
        let Some(name) = node else {
            return faults::run(command, None);
        };
        let machine = self.machines.get(name).context("the plan's check knows every node")?;
        if machine.node.is_local() {
            return faults::run(command, None);
        }
        let host = machine
            .host
            .as_ref()
            .with_context(|| format!("node {name} was not reached"))?;
        faults::run(command, Some(host))
    }

    /// Servers that do not answer in time, each with the reason.
    fn wait_for_servers(&self, target: &Target) -> Vec<(String, DriverError)> {
        let begun = Instant::now();
        let is_over = || {
            let limit = self.settings.recovery_limit.0;
            begun.elapsed()
                > if self.interrupt.asked() {
                    limit.min(PATIENCE_MAX)
                } else {
                    limit
                }
        };
        let look = format!("SELECT COUNT(*) FROM {}", writers::COUNTERS);
        let comes_back = |server: &String| loop {
            let answer = Control::connect_within(target, server, self.settings.answer_limit.0)
                .and_then(|mut control| control.query(&look));
            match answer {
                Ok(_) => return None,
                Err(error) if is_over() => return Some((server.clone(), error)),
                Err(_) => thread::sleep(LOOK * 10),
            }
        };
        target.servers.iter().filter_map(comes_back).collect()
    }

    /// The tables of every server that is there against the ledger; the first that disagrees speaks for all.
    fn check(&self, target: &Target, missing: &[String], written: &Written, progress: &mut Progress) -> DataCheck {
        let mut first = None;
        for server in target.servers.iter().filter(|server| !missing.contains(server)) {
            progress.doing(&format!("checking {} writes on {server}", written.entries.len()));
            let check = match self.settled(target, server) {
                Ok(read) => ledger::check(&written.entries, &read),
                Err(error) => DataCheck {
                    not_checked: Some(format!("{server}: {error}")),
                    ..DataCheck::default()
                },
            };
            if !check.holds() {
                let mut check = check;
                for finding in &mut check.findings {
                    *finding = format!("{server}: {finding}");
                }
                return check;
            }
            first.get_or_insert(check);
        }
        first.unwrap_or_else(|| DataCheck {
            not_checked: Some("no server answers".to_owned()),
            ..DataCheck::default()
        })
    }

    /// What `server` holds once nothing comes any more: a write whose client has gone may still be on its way.
    fn settled(&self, target: &Target, server: &str) -> Result<ledger::Read> {
        let mut before = writers::read(target, server)?;
        for _ in 0..SETTLE_READINGS {
            thread::sleep(SETTLE);
            let read = writers::read(target, server)?;
            if read.rows == before.rows && read.counters == before.counters {
                return Ok(read);
            }
            before = read;
        }
        bail!("its ledger still changes {} s after the last write", SETTLE_READINGS)
    }

    fn write_rung(
        &self,
        folder: &Folder,
        place: usize,
        sent: &Sent,
        outcome: Outcome,
        made: &[Made],
        watched: Watched,
    ) -> Result<()> {
        let mut events = outcome.events;
        events.extend(watched.changes);
        events.extend(made.iter().flat_map(|fault| {
            let end = fault.restored.map(|at| Event {
                at,
                what: format!("end of: {}", fault.commands.name),
            });
            let begin = Event {
                at: fault.at,
                what: fault.commands.name.clone(),
            };
            [Some(begin), end].into_iter().flatten()
        }));
        events.sort_by_key(|event| event.at);
        let rung = Rung {
            schema: lab_results::SCHEMA,
            index: u32::try_from(place + 1).unwrap_or(u32::MAX),
            target: self.subject.name.clone(),
            workload: sent.name.clone(),
            load: Load::Closed {
                threads_per_server: self.settings.threads_per_server,
                threads_total: self.threads_total(),
            },
            repeat: 1,
            started: outcome.started,
            measured_s: outcome.measured_s,
            totals: outcome.totals,
            statements: outcome.statements,
            latency: outcome.latency,
            service_latency: outcome.service_latency,
            errors: outcome.errors,
            costs: std::collections::BTreeMap::new(),
            verdict: None,
            explanation: None,
            events,
            phases: outcome.phases,
            idle: outcome.idle,
            void: outcome.failure,
            // The writers' machine, beside them.
            load_shares: Vec::new(),
            cluster: watched.nodes,
        };
        let files = folder.create_rung(&rung)?;
        files.write_seconds(&outcome.seconds)?;
        files.write_rung(&rung)?;
        Ok(())
    }

    fn reported(
        &self,
        target: &Target,
        written: &Written,
        made: &[Made],
        started: UnixMicros,
        ended: UnixMicros,
        data: DataCheck,
    ) -> Availability {
        let acknowledged = analysis::acknowledged(&written.entries);
        let first_fault = made.first().map_or(ended, |fault| fault.at);
        let rate_before = analysis::rate(&acknowledged, started, first_fault);
        let p999_before = analysis::p999_us(&acknowledged, started, first_fault);
        let name = |server: usize| target.servers.get(server).cloned().unwrap_or_default();
        let faults = made
            .iter()
            .enumerate()
            .map(|(place, fault)| {
                let until = made.get(place + 1).map_or(ended, |next| next.at);
                let Window {
                    gap,
                    servers,
                    dip_writes,
                    recovered_after_s,
                    p999_us,
                } = analysis::window(&acknowledged, fault.at, until, rate_before, target.servers.len());
                FaultReport {
                    name: fault.commands.name.clone(),
                    node: fault.node.clone(),
                    at: fault.at,
                    restored: fault.restored,
                    problems: fault.problems.clone(),
                    gap,
                    servers: servers.into_iter().map(|(server, gap)| (name(server), gap)).collect(),
                    rate_before_per_s: rate_before,
                    dip_writes,
                    recovered_after_s,
                    p999_before_us: p999_before,
                    p999_window_us: p999_us,
                    errors: writers::counted(
                        written
                            .failures
                            .iter()
                            .filter(|failure| within(failure, fault.at, until)),
                        &target.servers,
                    ),
                }
            })
            .collect();
        let measured_s = seconds_between(started, ended);
        Availability {
            target: self.subject.name.clone(),
            started,
            measured_s,
            writers: self.settings.writers,
            faults,
            seconds: analysis::per_second(&written.entries, started, measured_s.ceil() as u64, &target.servers),
            errors: writers::counted(written.failures.iter(), &target.servers),
            data,
            cluster: Vec::new(),
            changes: Vec::new(),
        }
    }
}

fn seconds_between(started: UnixMicros, ended: UnixMicros) -> f64 {
    ended.0.saturating_sub(started.0) as f64 / 1e6
}

/// What somebody else has to do if the lab leaves before it could.
fn to_be_done(end: &str, node: Option<&str>) -> String {
    match node {
        Some(node) => format!("run on {node}: {end}"),
        None => format!("run: {end}"),
    }
}

fn within(failure: &Failure, from: UnixMicros, until: UnixMicros) -> bool {
    failure.at >= from && failure.at < until
}

/// For the terminal.
fn summary(found: &Availability) -> String {
    let mut lines = vec![format!(
        "{}: {:.0} s, {} writers",
        found.target, found.measured_s, found.writers
    )];
    for change in &found.changes {
        let after = seconds_between(found.started, change.at);
        lines.push(format!("  {after:>5.1} s  {}", change.what));
    }
    for fault in &found.faults {
        lines.push(format!("  {}", fault.name));
        lines.extend(
            fault
                .problems
                .iter()
                .map(|problem| format!("    was not made as planned: {problem}")),
        );
        lines.push(format!("    gap, all servers: {}", gap(fault.gap.as_ref())));
        if fault.servers.len() > 1 {
            for (server, of_server) in &fault.servers {
                lines.push(format!("    gap of {server}: {}", gap(Some(of_server))));
            }
        }
        lines.push(format!(
            "    {:.0} writes/s before, {:.0} writes missed, {}",
            fault.rate_before_per_s,
            fault.dip_writes,
            match fault.recovered_after_s {
                Some(seconds) => format!("recovered after {seconds:.0} s"),
                None => "not recovered within its window".to_owned(),
            }
        ));
        let ms = |us: Option<u64>| us.map_or("-".to_owned(), |us| format!("{:.1} ms", us as f64 / 1000.0));
        lines.push(format!(
            "    p99.9 {} before, {} in the window",
            ms(fault.p999_before_us),
            ms(fault.p999_window_us)
        ));
        for error in &fault.errors {
            lines.push(format!(
                "    {} × error {} at {}: {}",
                error.count, error.code, error.statement, error.message
            ));
        }
    }
    let data = &found.data;
    lines.push(match &data.not_checked {
        Some(why) => format!("  data: not checked: {why}"),
        None => format!(
            "  data: {} acknowledged, {} unknown ({} of them there), {} refused: {}",
            data.acknowledged,
            data.unknown,
            data.unknown_present,
            data.refused,
            if data.holds() {
                "every acknowledged write is there, none twice".to_owned()
            } else {
                format!(
                    "{} LOST, {} TWICE, {} that should not be there, {} wrong counters",
                    data.lost, data.doubled, data.unexpected, data.wrong_counters
                )
            }
        ),
    });
    if !data.missing_servers.is_empty() {
        lines.push(format!("  did not come back: {}", data.missing_servers.join(", ")));
    }
    lines.extend(data.findings.iter().map(|finding| format!("    {finding}")));
    lines.join("\n")
}

fn gap(gap: Option<&Gap>) -> String {
    match gap {
        None => "nothing was ever acknowledged".to_owned(),
        Some(gap) => match gap.us() {
            Some(us) => format!("{:.3} s", us as f64 / 1e6),
            None => "did not end".to_owned(),
        },
    }
}
