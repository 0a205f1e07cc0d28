//! A round: clients that run a workload's transactions in a fresh database, while the server is killed and comes back.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use env::{Random, SeededRandom};
use mysql_client::Answer;

use crate::Level;
use crate::server::Server;
use crate::session::{Outcome, Session};
use crate::workload::Workload;

const DATABASE: &str = "histories";

pub struct Plan<'a> {
    pub level: Level,
    pub clients: u32,
    pub transactions: u32,
    pub kills: u32,
    pub seed: u64,
    /// The rest would show nothing new.
    pub stops_at_finding: bool,
    /// What goes wrong in a server that was killed, see `env::failpoints`.
    pub restart_failpoints: &'a str,
}

#[derive(Debug, Clone, Default)]
pub struct Counts {
    pub committed: u64,
    pub aborted: u64,
    pub unknown: u64,
    pub kills: u64,
    pub findings: u64,
}

impl Counts {
    pub fn transactions(&self) -> u64 {
        self.committed + self.aborted + self.unknown
    }

    pub fn add(&mut self, other: &Counts) {
        self.committed += other.committed;
        self.aborted += other.aborted;
        self.unknown += other.unknown;
        self.kills += other.kills;
        self.findings += other.findings;
    }
}

#[derive(Default)]
pub struct Report {
    pub counts: Counts,
    pub findings: Vec<String>,
}

/// `failpoints`: what goes wrong from the beginning of the transactions to their end.
pub fn run(server: &Server, workload: &dyn Workload, plan: &Plan<'_>, failpoints: &str) -> Result<Report> {
    prepare(server, workload)?;
    // A release build has no such variable.
    if !failpoints.is_empty() {
        set_failpoints(server, failpoints)?;
    }
    let begun = AtomicU32::new(0);
    let is_over = AtomicBool::new(false);
    let report = Mutex::new(Report::default());
    let random = SeededRandom::new(plan.seed);
    let killed = thread::scope(|scope| {
        let clients: Vec<_> = (0..plan.clients)
            .map(|_| {
                let random = SeededRandom::new(random.next_u64());
                let (begun, is_over, report) = (&begun, &is_over, &report);
                scope.spawn(move || client(server, workload, plan, &random, begun, is_over, report))
            })
            .collect();
        let killed = kill(server, plan, &random, &begun, &is_over, &report);
        if killed.is_err() {
            is_over.store(true, SeqCst);
        }
        for client in clients {
            client.join().expect("clients do not panic");
        }
        killed
    });
    killed?;
    if !failpoints.is_empty() {
        set_failpoints(server, "")?;
    }
    let mut report = report.into_inner().expect("nobody panics with it");
    let mut session = Session::new(server, plan.level, DATABASE);
    match workload.check(&mut session) {
        Ok(findings) => report.findings.extend(findings),
        Err(stop) => report.findings.push(format!("the last look: {stop:?}")),
    }
    report.counts.findings = report.findings.len() as u64;
    Ok(report)
}

fn prepare(server: &Server, workload: &dyn Workload) -> Result<()> {
    let mut client = server.connect(None)?;
    let begin = [
        format!("DROP DATABASE IF EXISTS {DATABASE}"),
        format!("CREATE DATABASE {DATABASE}"),
        format!("USE {DATABASE}"),
    ];
    for sql in begin.into_iter().chain(workload.tables()) {
        if let Answer::Error { message, .. } = client.query(&sql)? {
            bail!("{sql}: {message}");
        }
    }
    Ok(())
}

fn set_failpoints(server: &Server, failpoints: &str) -> Result<()> {
    let sql = format!("SET GLOBAL debug = '{failpoints}'");
    match server.connect(None)?.query(&sql)? {
        Answer::Error { message, .. } => bail!("{sql}: {message}"),
        _ => Ok(()),
    }
}

fn client(
    server: &Server,
    workload: &dyn Workload,
    plan: &Plan<'_>,
    random: &SeededRandom,
    begun: &AtomicU32,
    is_over: &AtomicBool,
    report: &Mutex<Report>,
) {
    let mut session = Session::new(server, plan.level, DATABASE);
    while begun.fetch_add(1, SeqCst) < plan.transactions && !is_over.load(SeqCst) {
        let outcome = workload.transact(&mut session, random);
        let mut report = report.lock().expect("nobody panics with it");
        match outcome {
            Ok(Outcome::Committed) => report.counts.committed += 1,
            Ok(Outcome::Aborted) => report.counts.aborted += 1,
            Ok(Outcome::Unknown) => report.counts.unknown += 1,
            Err(finding) => {
                report.findings.push(finding);
                is_over.fetch_or(plan.stops_at_finding, SeqCst);
                drop(report);
                // The transaction may still be open.
                session = Session::new(server, plan.level, DATABASE);
            }
        }
    }
}

/// Kills the server when random parts of the transactions have begun.
fn kill(
    server: &Server,
    plan: &Plan<'_>,
    random: &SeededRandom,
    begun: &AtomicU32,
    is_over: &AtomicBool,
    report: &Mutex<Report>,
) -> Result<()> {
    for number in 0..plan.kills {
        let part = plan.transactions / plan.kills;
        let moment = part * number + random.below(u64::from(part.max(1))) as u32;
        while begun.load(SeqCst) < moment {
            if is_over.load(SeqCst) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
        server.kill_and_restart(plan.restart_failpoints)?;
        report.lock().expect("nobody panics with it").counts.kills += 1;
    }
    Ok(())
}
