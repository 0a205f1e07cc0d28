//! What sysbench printed elsewhere, as a folder of results: old runs and other people's join the same reports.
//!
//! Sysbench says how many threads and how long, not which workload, target or options: the caller does. Percentiles come from
//! its histogram (`--histogram`); without one the single percentile that it printed is kept as an event of the rung, and no
//! distribution is made up around it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use lab_driver::sysbench::Report;
use lab_results::run::{self, Arrivals, Event, Load, LoadPlan, Run};
use lab_results::rung::{ErrorCount, Second, Totals};
use lab_results::{Folder, Rung, UnixMicros};

pub fn run(matches: &ArgMatches) -> Result<()> {
    let text = |name: &str| {
        matches
            .get_one::<String>(name)
            .cloned()
            .expect("it has a default or is required")
    };
    let into = matches.get_one::<PathBuf>("into").expect("clap insists on a folder");
    let files = matches.get_many::<PathBuf>("files").expect("clap insists on files");
    let mut options = BTreeMap::new();
    for option in matches.get_many::<String>("option").into_iter().flatten() {
        let Some((name, value)) = option.split_once('=') else {
            bail!("--option {option}: write it as name=value, such as table_size=100000");
        };
        options.insert(name.replace('-', "_"), value.to_owned());
    }
    let printed: Vec<Printed> = files.map(|path| Printed::read(path)).collect::<Result<_>>()?;
    let options = all_options(&text("workload"), options, &printed)?;
    let folder = write(into, &text("target"), &text("workload"), options, printed)?;
    crate::commands::conclude(folder.path());
    Ok(())
}

/// Every option that decided what was sent, those that were not told at sysbench's defaults; of a script of somebody's own, what
/// was told.
fn all_options(
    kind: &str,
    mut told: BTreeMap<String, String>,
    printed: &[Printed],
) -> Result<BTreeMap<String, String>> {
    if !lab_driver::sysbench::has(kind) {
        return Ok(told);
    }
    let is_old = printed.iter().all(|printed| printed.version.starts_with("1.0."));
    let rand_type = if is_old { "special" } else { "uniform" };
    for (name, default) in [("rand_type", rand_type), ("auto_inc", "on")] {
        told.entry(name.to_owned()).or_insert_with(|| default.to_owned());
    }
    let workload = lab_driver::Workload::new(kind, &told).context("--option")?;
    Ok(workload.options().clone())
}

/// One file.
struct Printed {
    threads: u32,
    /// Of `--rate`.
    rate_per_s: Option<f64>,
    version: String,
    ended: UnixMicros,
    report: Report,
}

impl Printed {
    fn read(path: &Path) -> Result<Printed> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let modified = std::fs::metadata(path).and_then(|metadata| metadata.modified());
        let ended = modified
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
            .map_or(0, |since| since.as_micros() as u64);
        Printed::parse(&text, UnixMicros(ended)).with_context(|| format!("{}", path.display()))
    }

    fn parse(text: &str, ended: UnixMicros) -> Result<Printed> {
        let report = Report::parse(text);
        let threads = text
            .lines()
            .find_map(|line| line.strip_prefix("Number of threads:")?.trim().parse().ok())
            .context("there is no line `Number of threads:`: this is not what `sysbench … run` prints")?;
        let version = text
            .lines()
            .find_map(|line| line.strip_prefix("sysbench ")?.split_whitespace().next())
            .unwrap_or("of an unknown version");
        if report.total_time_s <= 0.0 && report.fatal.is_empty() {
            bail!("there is no line `total time:`: the run did not end");
        }
        let rate_per_s = text.lines().find_map(|line| {
            let rate = line.strip_prefix("Target transaction rate:")?.trim();
            rate.split('/').next()?.parse().ok()
        });
        Ok(Printed {
            threads,
            rate_per_s,
            version: version.to_owned(),
            ended,
            report,
        })
    }

    fn load(&self) -> Load {
        match self.rate_per_s {
            // Its arrivals are Poisson's, and its latency counts from when a transaction was due.
            Some(rate_per_s) => Load::Open {
                rate_per_s,
                arrivals: Arrivals::Poisson,
                threads_total: self.threads,
                profile: None,
            },
            None => Load::Closed {
                threads_per_server: self.threads,
                threads_total: self.threads,
            },
        }
    }

    fn started(&self) -> UnixMicros {
        UnixMicros(self.ended.0.saturating_sub((self.report.total_time_s * 1e6) as u64))
    }

    fn rung(&self, index: u32, target: &str, workload: &str, repeat: u32) -> (Rung, Vec<Second>) {
        let report = &self.report;
        let mut events = Vec::new();
        if report.histogram.is_empty()
            && let Some((which, ms)) = report.percentile
        {
            events.push(Event {
                at: self.ended,
                what: format!(
                    "sysbench printed p{which} {ms} ms, mean {} ms, max {} ms, and no histogram",
                    report.latency_avg_ms, report.latency_max_ms
                ),
            });
        }
        let errors = (report.ignored_errors > 0).then(|| ErrorCount {
            code: 0,
            sqlstate: String::new(),
            message: "ignored errors; sysbench does not say which".to_owned(),
            statement: "transaction".to_owned(),
            count: report.ignored_errors,
        });
        let rung = Rung {
            schema: lab_results::SCHEMA,
            index,
            target: target.to_owned(),
            workload: workload.to_owned(),
            load: self.load(),
            repeat,
            started: self.started(),
            measured_s: report.total_time_s,
            totals: Totals {
                transactions: report.transactions,
                queries: report.queries,
                retries: report.ignored_errors,
                reconnects: report.reconnects,
                ..Totals::default()
            },
            statements: BTreeMap::new(),
            latency: report.latency(),
            service_latency: None,
            errors: errors.into_iter().collect(),
            costs: BTreeMap::new(),
            verdict: None,
            explanation: None,
            events,
            phases: Vec::new(),
            idle: None,
            void: report
                .fatal
                .first()
                .map(|fatal| format!("sysbench ended with: {fatal}")),
            load_shares: Vec::new(),
            cluster: Vec::new(),
        };
        (rung, self.seconds())
    }

    /// Only intervals of one second are seconds.
    fn seconds(&self) -> Vec<Second> {
        let intervals = &self.report.intervals;
        let each_second = (1..)
            .zip(intervals)
            .all(|(second, interval)| (interval.at_s - f64::from(second)).abs() < 1e-6);
        if !each_second {
            return Vec::new();
        }
        intervals
            .iter()
            .map(|interval| Second {
                second: interval.at_s as i64 - 1,
                transactions: interval.tps.round() as u64,
                queries: interval.qps.round() as u64,
                errors: interval.errors_per_s.round() as u64,
                ..Second::default()
            })
            .collect()
    }
}

fn write(
    into: &Path,
    target: &str,
    workload: &str,
    options: BTreeMap<String, String>,
    mut printed: Vec<Printed>,
) -> Result<Folder> {
    printed.sort_by_key(|printed| (printed.started(), printed.threads));
    let first = printed.first().context("no file was given")?;
    let version = format!("sysbench {} (imported)", first.version);
    let folder = Folder::create(into)?;
    let mut run = Run {
        schema: lab_results::SCHEMA,
        name: into
            .file_name()
            .map_or_else(|| "imported".to_owned(), |name| name.to_string_lossy().into_owned()),
        started: first.started(),
        ended: printed.iter().map(|printed| printed.ended).max(),
        interrupted: false,
        lab_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 0,
        targets: vec![run::Target {
            name: target.to_owned(),
            servers: Vec::new(),
            versions: Vec::new(),
            variables: BTreeMap::new(),
            price: None,
            nodes: Vec::new(),
            tls: None,
            cluster: None,
            reopen_after_s: None,
        }],
        nodes: Vec::new(),
        workloads: vec![run::Workload {
            name: workload.to_owned(),
            kind: workload.to_owned(),
            options,
            driver: version,
        }],
        plan: LoadPlan {
            warmup_s: 0.0,
            measure_s: first.report.total_time_s,
            cooldown_s: 0.0,
            repeats: 1,
            order: "sequential".to_owned(),
            loads: Vec::new(),
        },
        slo: None,
        slo_rates: Vec::new(),
        not_run: Vec::new(),
        events: Vec::new(),
    };
    let mut repeats: BTreeMap<(u32, u64), u32> = BTreeMap::new();
    for (index, printed) in (1..).zip(&printed) {
        let load = (printed.threads, printed.rate_per_s.unwrap_or(0.0).to_bits());
        let repeat = repeats.entry(load).or_default();
        *repeat += 1;
        let (rung, seconds) = printed.rung(index, target, workload, *repeat);
        run.plan.repeats = run.plan.repeats.max(*repeat);
        if !run.plan.loads.contains(&rung.load) {
            run.plan.loads.push(rung.load.clone());
        }
        let files = folder.create_rung(&rung)?;
        files.write_seconds(&seconds)?;
        files.write_rung(&rung)?;
    }
    folder.write_run(&run)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 8
Report intermediate results every 1 second(s)

[ 1s ] thds: 8 tps: 415.98 qps: 8319.60 (r/w/o: 5823.72/1663.92/831.96) lat (ms,95%): 25.74 err/s: 0.00 reconn/s: 0.00
[ 2s ] thds: 8 tps: 420.02 qps: 8400.40 (r/w/o: 5880.28/1680.08/840.04) lat (ms,95%): 25.28 err/s: 1.00 reconn/s: 0.00
SQL statistics:
    queries performed:
        read:                            11704
        write:                           3344
        other:                           1672
        total:                           16720
    transactions:                        836    (417.50 per sec.)
    queries:                             16720  (8350.00 per sec.)
    ignored errors:                      1      (0.50 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          2.0024s
    total number of events:              836

Latency (ms):
         min:                                    8.20
         avg:                                   19.15
         max:                                   44.01
         95th percentile:                       25.52
         sum:                                16009.40
";

    #[test]
    fn what_was_printed_becomes_a_rung_and_nothing_is_made_up() {
        let printed = Printed::parse(PRINTED, UnixMicros(10_000_000)).unwrap();
        let (rung, seconds) = printed.rung(1, "theirs", "oltp_read_write", 1);
        assert_eq!(rung.load.threads_total(), 8);
        assert_eq!((rung.totals.transactions, rung.totals.queries), (836, 16_720));
        assert_eq!(rung.started, UnixMicros(7_997_600));
        assert_eq!(rung.errors[0].count, 1);
        assert!(rung.latency.is_empty(), "there was no histogram");
        assert!(rung.events[0].what.contains("p95 25.52 ms"), "{:?}", rung.events);
        assert_eq!(seconds.iter().map(|second| second.second).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(seconds[1].transactions, 420);
    }

    #[test]
    fn what_was_not_told_has_sysbenchs_defaults() {
        let printed = [Printed::parse(PRINTED, UnixMicros(0)).unwrap()];
        let told = BTreeMap::from([("tables".to_owned(), "4".to_owned())]);
        let options = all_options("oltp_read_write", told, &printed).unwrap();
        assert_eq!(
            (options["tables"].as_str(), options["rand_type"].as_str()),
            ("4", "special")
        );
        assert_eq!(options["auto_inc"], "on");
        let wrong = BTreeMap::from([("tabels".to_owned(), "4".to_owned())]);
        let error = format!("{:#}", all_options("oltp_read_write", wrong, &printed).unwrap_err());
        assert!(error.contains("tabels") && error.contains("table_size"), "{error}");
        let own = BTreeMap::from([("depth".to_owned(), "4".to_owned())]);
        assert_eq!(all_options("my_script", own.clone(), &printed).unwrap(), own);
    }

    #[test]
    fn a_rate_is_an_open_loop_and_longer_intervals_are_no_seconds() {
        let text = PRINTED
            .replace(
                "Number of threads: 8",
                "Number of threads: 8\nTarget transaction rate: 400/sec",
            )
            .replace("[ 1s ]", "[ 10s ]")
            .replace("[ 2s ]", "[ 11s ]");
        let (rung, seconds) = Printed::parse(&text, UnixMicros(0)).unwrap().rung(1, "t", "w", 1);
        assert!(
            matches!(rung.load, Load::Open { rate_per_s: 400.0, .. }),
            "{:?}",
            rung.load
        );
        assert!(seconds.is_empty(), "{seconds:?}");
    }

    #[test]
    fn several_files_become_one_folder() {
        let path = std::env::temp_dir().join(format!("lab-import-{}", std::process::id()));
        let later = PRINTED.replace("threads: 8", "threads: 16");
        let printed = vec![
            Printed::parse(&later, UnixMicros(90_000_000)).unwrap(),
            Printed::parse(PRINTED, UnixMicros(20_000_000)).unwrap(),
            Printed::parse(PRINTED, UnixMicros(10_000_000)).unwrap(),
        ];
        let folder = write(&path, "theirs", "oltp_read_write", BTreeMap::new(), printed).unwrap();
        let rungs: Vec<Rung> = folder
            .rungs()
            .unwrap()
            .iter()
            .map(|rung| rung.rung().unwrap())
            .collect();
        let order: Vec<_> = rungs
            .iter()
            .map(|rung| (rung.load.threads_total(), rung.repeat))
            .collect();
        assert_eq!(order, [(8, 1), (8, 2), (16, 1)]);
        assert_eq!(folder.run().unwrap().workloads[0].driver, "sysbench 1.0.20 (imported)");
        std::fs::remove_dir_all(&path).unwrap();
    }

    #[test]
    fn other_text_is_refused_with_the_reason() {
        let refused = |text: &str| format!("{:#}", Printed::parse(text, UnixMicros(0)).err().unwrap());
        assert!(refused("hello").contains("Number of threads"));
        assert!(refused("Number of threads: 3\n").contains("did not end"));
    }
}
