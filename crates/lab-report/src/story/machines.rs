//! The machines: who talks to whom ([`topology`](super::topology)), what the probes found, and how that agrees with well-known tools.

use lab_results::Latency;
use lab_results::host::NodeProbes;

use super::topology::topology;
use crate::distribution::Distribution;
use crate::figure::{Figure, Sourced};
use crate::page::{Block, Column, Row, Section, Sentence, Table};
use crate::series::Series;

pub fn section(series: &Series) -> Option<Section> {
    let mut blocks = Vec::new();
    if !series.run.nodes.is_empty() {
        blocks.push(Block::Charts(vec![topology(series)]));
    }
    blocks.extend(load_nodes(series).map(Block::Table));
    if !series.probes.is_empty() {
        blocks.push(Block::Table(probes(series)));
        blocks.extend(network(series).map(Block::Table));
        let checks = cross_check_rows(series);
        if !checks.is_empty() {
            blocks.push(Block::Table(cross_checks(checks)));
        }
        let problems: Vec<Sentence> = series
            .probes
            .iter()
            .enumerate()
            .flat_map(|(at, probes)| {
                probes.problems.iter().enumerate().map(move |(number, problem)| {
                    node_name(series, at).and(": ").verbatim(
                        problem,
                        series
                            .place("probes")
                            .field(&[&at.to_string(), "problems", &number.to_string()]),
                    )
                })
            })
            .collect();
        if !problems.is_empty() {
            blocks.push(Block::Heading("What could not be probed".into()));
            blocks.push(Block::List(problems));
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: "machines".into(),
        title: "Machines".into(),
        blocks,
    })
}

/// Who carried how much of each target's best rung, where several machines drove it.
fn load_nodes(series: &Series) -> Option<Table> {
    let mut rows = Vec::new();
    for workload in &series.run.workloads {
        for target in 0..series.run.targets.len() {
            let rungs = series.rungs.iter().filter(|rung| {
                rung.void.is_none()
                    && rung.workload == workload.name
                    && rung.target == series.run.targets[target].name
                    && rung.load_shares.len() > 1
            });
            let best = rungs.max_by(|a, b| a.tps().value.total_cmp(&b.tps().value));
            let Some(rung) = best else { continue };
            for (at, share) in rung.load_shares.iter().enumerate() {
                let of = |field: &str, value: f64| rung.place.figure(&["load_shares", &at.to_string(), field], value);
                let transactions = of("transactions", share.transactions as f64);
                let cpu = of("cpu_s", share.cpu_s);
                let per_transaction =
                    (share.transactions > 0).then(|| Sentence::from(&cpu.over(&transactions).scaled(1e6)));
                rows.push(Row {
                    group: at == 0,
                    faint: false,
                    cells: vec![
                        crate::say::target_name(series, target)
                            .and(", ")
                            .verbatim(&workload.name, rung.place.field(&["workload"])),
                        Sentence::new()
                            .verbatim(&share.node, rung.place.field(&["load_shares", &at.to_string(), "node"])),
                        Sentence::from(&of("threads", f64::from(share.threads))),
                        Sentence::from(&transactions.over(&rung.interval())),
                        per_transaction.unwrap_or_default(),
                        Sentence::from(&cpu.over(&rung.interval())),
                        match share.worker_threads {
                            0 => Sentence::words("–"),
                            threads => Sentence::from(&of("worker_threads", f64::from(threads))),
                        },
                    ],
                });
            }
        }
    }
    (!rows.is_empty()).then(|| Table {
        caption: "The load nodes in each target's fastest counted rung".into(),
        columns: vec![
            Column::text("Target, workload"),
            Column::text("Load node"),
            Column::number("Threads", ""),
            Column::number("Transactions", "/s"),
            Column::number("Client CPU", "µs/transaction"),
            Column::number("Client CPU", "cores"),
            Column::number("Worker threads", ""),
        ],
        rows,
    })
}

fn node_name(series: &Series, at: usize) -> Sentence {
    Sentence::new().verbatim(
        &series.probes[at].node,
        series.place("probes").field(&[&at.to_string(), "node"]),
    )
}

/// In microseconds.
pub fn quantile(latency: &Latency, from: &str, quantile: f64) -> Option<Figure> {
    let distribution = Distribution::from(latency);
    Some(Figure {
        value: distribution.quantile_us(quantile)? as f64,
        from: format!("quantile({quantile},{from})"),
    })
}

fn mean(latency: &Latency, from: &str) -> Option<Figure> {
    let distribution = Distribution::from(latency);
    Figure::mean_ms(&[Sourced {
        distribution: &distribution,
        from,
    }])
    .map(|figure| figure.scaled(1_000.0))
}

fn probes(series: &Series) -> Table {
    let mut columns = vec![Column::text("Probe"), Column::text("Unit")];
    columns.extend(series.probes.iter().map(|probes| Column {
        title: probes.node.clone(),
        unit: String::new(),
        numeric: true,
        long: true,
    }));
    let mut rows = Vec::new();
    let mut group = |name: &str, entries: &[(&str, &str, Cell)]| {
        let mut first = true;
        for (what, unit, cell) in entries {
            let cells: Vec<Sentence> = (0..series.probes.len())
                .map(|at| cell(&series.probes[at], &Of { series, at }).unwrap_or_default())
                .collect();
            if cells.iter().all(Sentence::is_empty) {
                continue;
            }
            let mut all = vec![Sentence::words(format!("{name}: {what}")), Sentence::words(*unit)];
            all.extend(cells);
            rows.push(Row {
                cells: all,
                faint: false,
                group: std::mem::take(&mut first),
            });
        }
    };
    group("machine", IDENTITY);
    group("processor", CPU);
    group("memory", MEMORY);
    group("disk", DISK);
    group("thread wake-up", WAKEUP);
    group("stalls over one millisecond", STALLS);
    Table {
        caption: "What the probes found of each node, before the series".into(),
        columns,
        rows,
    }
}

/// Where in `probes.json`.
struct Of<'a> {
    series: &'a Series,
    at: usize,
}

impl Of<'_> {
    fn field(&self, parts: &[&str]) -> String {
        let at = self.at.to_string();
        let mut path = vec![at.as_str()];
        path.extend_from_slice(parts);
        self.series.place("probes").field(&path)
    }

    fn number(&self, parts: &[&str], value: f64) -> Option<Sentence> {
        Some(Sentence::from(&Figure {
            value,
            from: self.field(parts),
        }))
    }

    fn text(&self, parts: &[&str], text: &str) -> Option<Sentence> {
        (!text.is_empty()).then(|| Sentence::new().verbatim(text, self.field(parts)))
    }

    /// min / mean / p99 / max.
    fn latency(&self, parts: &[&str], latency: &Latency) -> Option<Sentence> {
        let from = self.field(parts);
        Some(
            Sentence::from(&quantile(latency, &from, 0.0)?)
                .and(" / ")
                .figure(&mean(latency, &from)?)
                .and(" / ")
                .figure(&quantile(latency, &from, 0.99)?)
                .and(" / ")
                .figure(&quantile(latency, &from, 1.0)?),
        )
    }
}

type Cell = fn(&NodeProbes, &Of) -> Option<Sentence>;

const IDENTITY: &[(&str, &str, Cell)] = &[
    ("processor", "", |probes, of| {
        of.text(&["identity", "cpu_model"], &probes.identity.cpu_model)
    }),
    ("cores", "", |probes, of| {
        of.number(&["identity", "cores"], f64::from(probes.identity.cores))
    }),
    ("bogomips", "not comparable between makers", |probes, of| {
        of.number(&["identity", "bogomips"], probes.identity.bogomips)
    }),
    ("memory", "GiB", |probes, of| {
        let bytes = Figure {
            value: probes.identity.memory_bytes as f64,
            from: of.field(&["identity", "memory_bytes"]),
        };
        Some(Sentence::from(&bytes.over(&Figure::constant(1_073_741_824.0))))
    }),
    ("kernel", "", |probes, of| {
        of.text(&["identity", "kernel"], &probes.identity.kernel)
    }),
    ("distribution", "", |probes, of| {
        of.text(&["identity", "distribution"], &probes.identity.distribution)
    }),
    ("governor", "", |probes, of| {
        of.text(&["identity", "governor"], probes.identity.governor.as_deref()?)
    }),
    ("transparent huge pages", "", |probes, of| {
        of.text(
            &["identity", "transparent_huge_pages"],
            probes.identity.transparent_huge_pages.as_deref()?,
        )
    }),
    ("hypervisor", "", |probes, of| {
        of.text(&["identity", "hypervisor"], probes.identity.hypervisor.as_deref()?)
    }),
    ("network driver", "", |probes, of| {
        of.text(&["identity", "nic_driver"], probes.identity.nic_driver.as_deref()?)
    }),
    ("clock against the coordinator's", "µs", |probes, of| {
        let (offset, half) = probes.clock_offset_us?;
        Some(
            Sentence::from(&Figure {
                value: offset as f64,
                from: of.field(&["clock_offset_us", "0"]),
            })
            .and(" ± ")
            .figure(&Figure {
                value: half as f64,
                from: of.field(&["clock_offset_us", "1"]),
            }),
        )
    }),
];

const CPU: &[(&str, &str, Cell)] = &[
    ("prime loops, one thread", "events/s, as sysbench cpu", |probes, of| {
        of.number(&["cpu", "events_per_s"], probes.cpu.as_ref()?.events_per_s)
    }),
    ("prime loops, all cores", "events/s", |probes, of| {
        of.number(
            &["cpu", "events_per_s_all_cores"],
            probes.cpu.as_ref()?.events_per_s_all_cores,
        )
    }),
];

const MEMORY: &[(&str, &str, Cell)] = &[
    ("writes of small blocks", "MiB/s, as sysbench memory", |probes, of| {
        of.number(
            &["memory", "write_1k_mib_per_s"],
            probes.memory.as_ref()?.write_1k_mib_per_s,
        )
    }),
    ("sequential reads", "MiB/s", |probes, of| {
        of.number(
            &["memory", "sequential_read_mib_per_s"],
            probes.memory.as_ref()?.sequential_read_mib_per_s,
        )
    }),
    ("random read", "ns", |probes, of| {
        of.number(&["memory", "random_read_ns"], probes.memory.as_ref()?.random_read_ns)
    }),
];

const DISK: &[(&str, &str, Cell)] = &[
    ("file", "", |probes, of| {
        of.text(&["disk", "path"], &probes.disk.as_ref()?.path)
    }),
    ("file system", "", |probes, of| {
        of.text(&["disk", "filesystem"], &probes.disk.as_ref()?.filesystem)
    }),
    (
        "direct synchronous write",
        "µs: min / mean / p99 / max",
        |probes, of| of.latency(&["disk", "sync_write"], &probes.disk.as_ref()?.sync_write),
    ),
    (
        "write and flush (a commit)",
        "µs: min / mean / p99 / max",
        |probes, of| of.latency(&["disk", "write_fdatasync"], &probes.disk.as_ref()?.write_fdatasync),
    ),
    ("random write and flush", "µs: min / mean / p99 / max", |probes, of| {
        of.latency(
            &["disk", "random_write_fdatasync"],
            &probes.disk.as_ref()?.random_write_fdatasync,
        )
    }),
];

const WAKEUP: &[(&str, &str, Cell)] = &[
    ("same core", "µs: min / mean / p99 / max", |probes, of| {
        of.latency(&["wakeup", "same_core"], &probes.wakeup.as_ref()?.same_core)
    }),
    ("other core", "µs: min / mean / p99 / max", |probes, of| {
        of.latency(&["wakeup", "other_core"], &probes.wakeup.as_ref()?.other_core)
    }),
    (
        "a short sleep is longer by",
        "µs: min / mean / p99 / max",
        |probes, of| of.latency(&["wakeup", "sleep_overshoot"], &probes.wakeup.as_ref()?.sleep_overshoot),
    ),
];

const STALLS: &[(&str, &str, Cell)] = &[
    ("watched", "s", |probes, of| {
        of.number(&["stalls", "watched_s"], probes.stalls.as_ref()?.watched_s)
    }),
    ("seen", "", |probes, of| {
        let count = probes.stalls.as_ref()?.stalls.count() as f64;
        Some(Sentence::from(&Figure {
            value: count,
            from: format!("count({})", of.field(&["stalls", "stalls"])),
        }))
    }),
    ("longest", "µs", |probes, of| {
        of.number(&["stalls", "longest_us"], probes.stalls.as_ref()?.longest_us as f64)
    }),
];

fn network(series: &Series) -> Option<Table> {
    let mut rows = Vec::new();
    for (at, probes) in series.probes.iter().enumerate() {
        for (peer, probe) in &probes.network {
            let of = Of { series, at };
            let trip = |size: u32| {
                probe
                    .round_trips
                    .get(&size)
                    .and_then(|latency| {
                        let from = of.field(&["network", peer, "round_trips", &size.to_string()]);
                        Some(
                            Sentence::from(&quantile(latency, &from, 0.5)?)
                                .and(" / ")
                                .figure(&quantile(latency, &from, 0.99)?),
                        )
                    })
                    .unwrap_or_default()
            };
            let bandwidth = Figure {
                value: probe.bytes_per_s,
                from: of.field(&["network", peer, "bytes_per_s"]),
            };
            rows.push(Row::of(vec![
                node_name(series, at),
                Sentence::new().verbatim(peer, of.field(&["network"])),
                trip(1),
                trip(120),
                trip(12_000),
                Sentence::from(&bandwidth.scaled(8.0).over(&Figure::constant(1e9))),
                of.number(&["network", peer, "streams"], f64::from(probe.streams))
                    .unwrap_or_default(),
                probe
                    .packets_per_s
                    .and_then(|packets| of.number(&["network", peer, "packets_per_s"], packets))
                    .unwrap_or_default(),
            ]));
        }
    }
    (!rows.is_empty()).then(|| Table {
        caption: "Network between nodes, before the series".into(),
        columns: vec![
            Column::text("From"),
            Column::text("To"),
            Column::number("1 byte", "µs: p50 / p99"),
            Column::number("120 bytes", "µs: p50 / p99"),
            Column::number("12,000 bytes", "µs: p50 / p99"),
            Column::number("Bandwidth", "Gbit/s"),
            Column::number("Streams", ""),
            Column::number("Packets", "1/s"),
        ],
        rows,
    })
}

/// Our probes against the tools that are installed.
fn cross_check_rows(series: &Series) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, probes) in series.probes.iter().enumerate() {
        for (number, check) in probes.cross_checks.iter().enumerate() {
            let of = Of { series, at };
            let number = number.to_string();
            let path = |field: &str| of.field(&["cross_checks", &number, field]);
            let ours = Figure {
                value: check.ours,
                from: path("ours"),
            };
            let theirs = Figure {
                value: check.theirs,
                from: path("theirs"),
            };
            let difference = if check.theirs == 0.0 {
                Sentence::words("–")
            } else {
                Sentence::new().change(&crate::say::percent(&ours.over(&theirs)))
            };
            rows.push(Row::of(vec![
                node_name(series, at),
                Sentence::new().verbatim(&check.tool, path("tool")),
                Sentence::new().verbatim(&check.what, path("what")),
                Sentence::new().verbatim(&check.unit, path("unit")),
                Sentence::from(&ours),
                Sentence::from(&theirs),
                difference,
            ]));
        }
    }
    rows
}

fn cross_checks(rows: Vec<Row>) -> Table {
    Table {
        caption: "The probes against well-known tools, on the same machine".into(),
        columns: vec![
            Column::text("Node"),
            Column::text("Tool"),
            Column::text("What"),
            Column::text("Unit"),
            Column::number("Ours", ""),
            Column::number("Theirs", ""),
            Column::number("Difference", "%"),
        ],
        rows,
    }
}
