//! Words that several parts of a report share: what a workload is called, how a load, a bottleneck or a difference is put.

use lab_results::run::Load;
use lab_results::rung::Bottleneck;

use crate::figure::Figure;
use crate::page::Sentence;
use crate::series::Series;
use crate::stats::Outcome;
use crate::summary::{Contrast, Point, Side};

/// Options that tell two workloads of one kind apart at a glance; all others stand in the configuration.
const TELLING: &[&str] = &[
    "tables",
    "table_size",
    "warehouses",
    "fields",
    "field_length",
    "rand_type",
    "keys",
    "items",
    "customers",
    "range_size",
    "point_selects",
    "in_list",
    "filter",
    "db_ps_mode",
    "prepared",
    "skip_trx",
    "data",
];

/// Variants that are worth a word only where they are on.
const VARIANTS: &[&str] = &["in_list", "filter", "skip_trx"];

/// `rw: oltp_read_write, 10 tables × 1000000 rows, rand_type uniform, …, driver latsdb`.
pub fn workload(series: &Series, index: usize) -> Sentence {
    let workload = &series.run.workloads[index];
    let at = |parts: &[&str]| {
        let index = index.to_string();
        let mut path = vec!["workloads", index.as_str()];
        path.extend_from_slice(parts);
        series.of_run(&path)
    };
    let mut label = Sentence::new().verbatim(&workload.name, at(&["name"]));
    if workload.kind != workload.name {
        label = label.and(": ").verbatim(&workload.kind, at(&["kind"]));
    }
    for key in TELLING {
        if let Some(value) = workload.options.get(*key) {
            if VARIANTS.contains(key) && ["0", "off", "no", ""].contains(&value.as_str()) {
                continue;
            }
            let value_at = at(&["options", key]);
            let value = &grouped(value);
            label = match *key {
                "tables" => {
                    label
                        .and(", ")
                        .verbatim(value, value_at)
                        .and(if value == "1" { " table" } else { " tables" })
                }
                "table_size" if workload.options.contains_key("tables") => {
                    label.and(" of ").verbatim(value, value_at).and(" rows")
                }
                _ => label
                    .and(format!(", {} ", key.replace('_', " ")))
                    .verbatim(value, value_at),
            };
        }
    }
    label.and(", driver ").verbatim(&workload.driver, at(&["driver"]))
}

/// Whole numbers with their thousands apart; anything else as it is.
fn grouped(value: &str) -> String {
    match value.parse::<u64>() {
        Ok(number) if number >= 10_000 => crate::text::number(number as f64),
        _ => value.to_owned(),
    }
}

pub fn workload_name(series: &Series, index: usize) -> Sentence {
    Sentence::new().verbatim(
        &series.run.workloads[index].name,
        series.of_run(&["workloads", &index.to_string(), "name"]),
    )
}

pub fn target_name(series: &Series, index: usize) -> Sentence {
    Sentence::new().verbatim(
        &series.run.targets[index].name,
        series.of_run(&["targets", &index.to_string(), "name"]),
    )
}

/// `64 threads (16 per server)`, `rate 5000/s`; traced to the first rung of the point.
pub fn load(series: &Series, point: &Point) -> Sentence {
    load_of(series, &point.load, point.rungs[0])
}

pub fn load_of(series: &Series, load: &Load, rung: u32) -> Sentence {
    let place = series.place(&format!("r{rung}"));
    let threads = |threads: u32| place.figure(&["load", "threads_total"], f64::from(threads));
    match load {
        Load::Closed {
            threads_per_server,
            threads_total,
        } => {
            let sentence =
                Sentence::from(&threads(*threads_total)).and(if *threads_total == 1 { " thread" } else { " threads" });
            if threads_per_server == threads_total {
                return sentence;
            }
            let per_server = place.figure(&["load", "threads_per_server"], f64::from(*threads_per_server));
            sentence.and(" (").figure(&per_server).and(" per server)")
        }
        Load::Open {
            profile: Some(profile),
            threads_total,
            ..
        } => Sentence::words("profile ")
            .verbatim(&profile.name, place.field(&["load", "profile", "name"]))
            .and(", ")
            .figure(&threads(*threads_total))
            .and(" threads"),
        Load::Open {
            rate_per_s,
            threads_total,
            ..
        } => Sentence::words("asked ")
            .figure(&place.figure(&["load", "rate_per_s"], *rate_per_s))
            .and("/s, ")
            .figure(&threads(*threads_total))
            .and(" threads"),
    }
}

/// For chart axes and cells: `64`, `5,000/s`.
pub fn short_load(load: &Load) -> String {
    match load {
        Load::Closed { threads_total, .. } => threads_total.to_string(),
        Load::Open {
            profile: Some(profile), ..
        } => profile.name.clone(),
        Load::Open { rate_per_s, .. } => format!("{}/s", crate::text::number(*rate_per_s)),
    }
}

pub fn bottleneck(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::LoadGenerator => "load generator",
        Bottleneck::SqlCpu => "SQL-node CPU",
        Bottleneck::DataCpu => "data-node CPU",
        Bottleneck::NetworkBandwidth => "network bandwidth",
        Bottleneck::NetworkPackets => "network packets",
        Bottleneck::Disk => "disk",
        Bottleneck::Locks => "locks",
        Bottleneck::None => "nothing exhausted",
    }
}

pub fn short_bottleneck(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::LoadGenerator => "LOAD",
        Bottleneck::SqlCpu => "SQL CPU",
        Bottleneck::DataCpu => "DATA CPU",
        Bottleneck::NetworkBandwidth => "NET",
        Bottleneck::NetworkPackets => "PACKETS",
        Bottleneck::Disk => "DISK",
        Bottleneck::Locks => "LOCKS",
        Bottleneck::None => "none",
    }
}

/// As `rung.json` has it.
pub fn bottleneck_field(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::LoadGenerator => "load_generator",
        Bottleneck::SqlCpu => "sql_cpu",
        Bottleneck::DataCpu => "data_cpu",
        Bottleneck::NetworkBandwidth => "network_bandwidth",
        Bottleneck::NetworkPackets => "network_packets",
        Bottleneck::Disk => "disk",
        Bottleneck::Locks => "locks",
        Bottleneck::None => "none",
    }
}

pub fn side(side: &Side) -> Sentence {
    let name = Sentence::new().verbatim(&side.target, &side.from);
    if side.letter.is_empty() {
        return name;
    }
    if side.ambiguous {
        return name.and(format!(" of {}", side.letter.trim_end_matches(':')));
    }
    let series = format!("{}run#/name", side.letter);
    name.and(" of ").verbatim(&side.series, series)
}

/// `b latsdb`, for tables.
pub fn short_side(side: &Side) -> Sentence {
    let letter = side.letter.trim_end_matches(':');
    let start = if letter.is_empty() {
        Sentence::new()
    } else {
        Sentence::words(format!("{letter} "))
    };
    start.verbatim(&side.target, &side.from)
}

/// `+98.0% [+95.1%, +101.2%]`, from the ratio.
pub fn change(contrast: &Contrast) -> Sentence {
    let with = Sentence::new().change(&percent(&contrast.ratio)).and("%");
    match (&contrast.low, &contrast.high) {
        (Some(low), Some(high)) => with
            .and(" [")
            .change(&percent(low))
            .and("%, ")
            .change(&percent(high))
            .and("%]"),
        _ => with,
    }
}

/// The change that a ratio is.
pub fn percent(ratio: &Figure) -> Figure {
    ratio.minus(&Figure::constant(1.0)).scaled(100.0)
}

pub fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Higher => "higher",
        Outcome::Lower => "lower",
        Outcome::NoneShown => "no difference shown",
        Outcome::Untested => "too few repeats to tell",
    }
}
