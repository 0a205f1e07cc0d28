//! Our driver and the real sysbench, in turns, on the same server and the same workload: do they agree, and what does each cost?
//!
//! ```text
//! cargo run -p lab-driver --release --example against-sysbench -- 127.0.0.1:3306 sbtest user=root rounds=5 seconds=5 threads=8
//! ```
//!
//! Rounds alternate in who begins. Figures are medians, with the lowest and the highest run of each side, and a verdict:
//! transactions per second, p95, and processor time of the whole client per
//! query. Where client and server share cores, a cheaper client leaves more of them to the server and measures more: give each its
//! own (`taskset -c 0 mariadbd …`, `taskset -c 1 … against-sysbench`) so that the server is the limit for both.

mod arguments;

use std::error::Error;
use std::time::Duration;

use arguments::Arguments;
use lab_driver::{Outcome, PrepareSpec, RungSpec, Stop, Target, Workload};
use lab_results::run::Load;
use rustix::time::{ClockId, clock_gettime};

/// How far apart the medians may be.
const AGREE_WITHIN: f64 = 0.05;

#[derive(Default)]
struct Side {
    tps: Vec<f64>,
    p95_ms: Vec<f64>,
    cpu_us_per_query: Vec<f64>,
}

impl Side {
    fn add(&mut self, outcome: &Outcome, cpu_s: f64) -> Result<(), Box<dyn Error>> {
        if let Some(failure) = &outcome.failure {
            return Err(failure.clone().into());
        }
        self.tps.push(outcome.totals.transactions as f64 / outcome.measured_s);
        let p95_us = outcome.latency.quantile_us(0.95).ok_or("no latency")?;
        self.p95_ms.push(p95_us as f64 / 1e3);
        self.cpu_us_per_query.push(cpu_s * 1e6 / outcome.totals.queries as f64);
        Ok(())
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

/// Lowest and highest: a difference of medians that is smaller than these are wide is no difference.
fn range(values: &[f64]) -> String {
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(0.0, f64::max);
    format!("{lowest:.3} to {highest:.3}")
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = Arguments::read("usage: against-sysbench HOST:PORT DATABASE [option=value …]");
    let (server, database) = (arguments.word()?, arguments.word()?);
    let target = arguments.target(&server, database)?;
    let rounds: u32 = arguments.number("rounds", 5)?;
    let seconds: u64 = arguments.number("seconds", 5)?;
    let threads: u32 = arguments.number("threads", 8)?;
    let workers: usize = arguments.number("workers", 0)?;
    let kinds = arguments.take("workloads", "oltp_point_select,oltp_read_write");
    let mut options = arguments.rest();
    options
        .entry("table_size".to_owned())
        .or_insert_with(|| "100000".to_owned());
    let mut apart = false;
    for kind in kinds.split(',') {
        let workload = Workload::new(kind, &options)?;
        let (ours, theirs) = compare(&target, &workload, rounds, seconds, threads, workers)?;
        println!("{kind}, {threads} threads, medians of {rounds} runs of {seconds} s each");
        let rows = [
            ("tx/s", &ours.tps, &theirs.tps),
            ("p95 ms", &ours.p95_ms, &theirs.p95_ms),
            ("client CPU us/query", &ours.cpu_us_per_query, &theirs.cpu_us_per_query),
        ];
        for (name, ours, theirs) in rows {
            let (our, their) = (median(ours), median(theirs));
            let off = our / their - 1.0;
            let cost = name.starts_with("client");
            let agrees = if cost { off <= 0.0 } else { off.abs() <= AGREE_WITHIN };
            apart |= !agrees;
            println!(
                "  {:<8}{name:>20}: ours {our:>10.3} ({}), sysbench {their:>10.3} ({}), {:+.1} %: {}",
                if agrees { "agrees" } else { "DIFFERS" },
                range(ours),
                range(theirs),
                off * 100.0,
                match (cost, agrees) {
                    (true, true) => "no dearer",
                    (true, false) => "dearer",
                    (false, true) => "within 5 %",
                    (false, false) => "not within 5 %",
                }
            );
        }
    }
    println!(
        "{}",
        if apart {
            "they differ"
        } else {
            "they agree, and ours costs no more"
        }
    );
    std::process::exit(i32::from(apart));
}

fn compare(
    target: &Target,
    workload: &Workload,
    rounds: u32,
    seconds: u64,
    threads: u32,
    workers: usize,
) -> Result<(Side, Side), Box<dyn Error>> {
    let stop = Stop::new();
    lab_driver::cleanup(target, workload)?;
    let spec = PrepareSpec {
        connections: 4,
        seed: 1,
    };
    lab_driver::prepare(target, workload, &spec, &stop, &mut |_, _| {})?;
    let spec = |round: u32| {
        let load = Load::Closed {
            threads_per_server: threads,
            threads_total: threads,
        };
        let mut spec = RungSpec::new(load, Duration::ZERO, Duration::from_secs(seconds), u64::from(round) + 1);
        spec.workers = (workers > 0).then_some(workers);
        spec
    };
    // Neither is the first to meet cold caches.
    lab_driver::run(target, workload, &spec(1000), &stop, &mut |_| {})?;
    let (mut ours, mut theirs) = (Side::default(), Side::default());
    for round in 0..rounds {
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                let before = cpu_of_this_process_s();
                let outcome = lab_driver::run(target, workload, &spec(round), &stop, &mut |_| {})?;
                ours.add(&outcome, cpu_of_this_process_s() - before)?;
            } else {
                let outcome = lab_driver::sysbench::run(target, workload, &spec(round), &stop, &mut |_| {})?;
                theirs.add(&outcome, outcome.client.cpu_s)?;
            }
        }
    }
    lab_driver::cleanup(target, workload)?;
    Ok((ours, theirs))
}

fn cpu_of_this_process_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
