//! One rung from the command line, for trying things out:
//!
//! ```text
//! cargo run -p lab-driver --release --example load -- 127.0.0.1:3306 test oltp_read_write threads=8 seconds=5 prepare=yes table_size=10000
//! ```
//!
//! Whatever is not one of `user`, `password`, `tls`, `tls_ca`, `tls_cert`, `tls_key`, `threads`, `idle`, `rate`, `workers`, `warmup`,
//! `seconds`, `seed`, `survive`, `prepare`, `check`, `cleanup` is an option of the workload.

mod arguments;

use std::error::Error;
use std::time::Duration;

use arguments::Arguments;
use lab_driver::{Idle, PrepareSpec, RungSpec, Stop, Survive, Workload};
use lab_results::run::{Arrivals, Load};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = Arguments::read("usage: load HOST:PORT[,…] DATABASE WORKLOAD [option=value …]");
    let (servers, database, kind) = (arguments.word()?, arguments.word()?, arguments.word()?);
    let target = arguments.target(&servers, database)?;
    let threads: u32 = arguments.number("threads", 8)?;
    let idle: u32 = arguments.number("idle", 0)?;
    let rate: f64 = arguments.number("rate", 0.0)?;
    let workers: usize = arguments.number("workers", 0)?;
    let warmup: f64 = arguments.number("warmup", 1.0)?;
    let seconds: f64 = arguments.number("seconds", 5.0)?;
    let seed: u64 = arguments.number("seed", 1)?;
    let survive = arguments.is_yes("survive");
    let (prepare, cleanup, check) = (
        arguments.is_yes("prepare"),
        arguments.is_yes("cleanup"),
        arguments.is_yes("check"),
    );
    let workload = Workload::new(&kind, &arguments.rest())?;
    let stop = Stop::new();
    if prepare {
        lab_driver::cleanup(&target, &workload)?;
        let spec = PrepareSpec { connections: 4, seed };
        let prepared = lab_driver::prepare(&target, &workload, &spec, &stop, &mut |done, all| {
            println!("{done} of {all} rows");
        })?;
        println!("{prepared:?}");
    }
    let load = if rate > 0.0 {
        Load::Open {
            rate_per_s: rate,
            arrivals: Arrivals::Poisson,
            threads_total: threads,
            profile: None,
        }
    } else {
        Load::Closed {
            threads_per_server: threads / target.servers.len() as u32,
            threads_total: threads,
        }
    };
    let mut spec = RungSpec::new(
        load,
        Duration::from_secs_f64(warmup),
        Duration::from_secs_f64(seconds),
        seed,
    );
    spec.workers = (workers > 0).then_some(workers);
    spec.survive = survive.then(Survive::default);
    spec.idle = (idle > 0).then_some(Idle {
        per_server: idle,
        prepared: false,
    });
    let outcome = lab_driver::run(&target, &workload, &spec, &stop, &mut |second| {
        let p95 = second.latency.quantile_us(0.95).unwrap_or_default() as f64 / 1e3;
        println!(
            "{:>4} s  {:>8} tx  {:>9} queries  p95 {p95:.2} ms  errors {}",
            second.second, second.transactions, second.queries, second.errors
        );
    })?;
    let per_s = |count: u64| count as f64 / outcome.measured_s;
    println!(
        "{:.1} tx/s, {:.1} queries/s, {:.1} rows/s, {:.1} key lookups/s, {:.1} KB/tx received, {} retries, {} reconnects, backlog {}",
        per_s(outcome.totals.transactions),
        per_s(outcome.totals.queries),
        per_s(outcome.totals.rows),
        per_s(outcome.totals.key_lookups),
        outcome.totals.bytes_received as f64 / 1e3 / outcome.totals.transactions.max(1) as f64,
        outcome.totals.retries,
        outcome.totals.reconnects,
        outcome.totals.backlog,
    );
    let show = |name: &str, latency: &lab_results::Latency| {
        let at = |quantile| latency.quantile_us(quantile).unwrap_or_default() as f64 / 1e3;
        println!(
            "{name:>20}: {:>9}  p50 {:.3}  p95 {:.3}  p99 {:.3}  max {:.3} ms",
            latency.count(),
            at(0.5),
            at(0.95),
            at(0.99),
            at(1.0)
        );
    };
    show("transaction", &outcome.latency);
    if let Some(service) = &outcome.service_latency {
        show("service", service);
    }
    for (name, totals) in &outcome.statements {
        show(name, &totals.latency);
    }
    for error in &outcome.errors {
        println!(
            "{} x {} ({}) in {}: {}",
            error.count, error.code, error.sqlstate, error.statement, error.message
        );
    }
    if let Some(idle) = &outcome.idle {
        println!("idle: {} opened, {} open all the time", idle.opened, idle.kept);
    }
    for event in &outcome.events {
        println!("event: {}", event.what);
    }
    println!(
        "client: {:.2} s CPU = {:.1} us per query, {} context switches, {} workers",
        outcome.client.cpu_s,
        outcome.client.cpu_s * 1e6 / outcome.totals.queries.max(1) as f64,
        outcome.client.context_switches,
        outcome.client.workers
    );
    if let Some(failure) = outcome.failure {
        println!("failed: {failure}");
    }
    if check {
        for server in &target.servers {
            let check = lab_driver::check(&target, server, &workload)?;
            println!("checked: {} tables, problems: {:?}", check.tables.len(), check.problems);
        }
    }
    if cleanup {
        lab_driver::cleanup(&target, &workload)?;
    }
    Ok(())
}
