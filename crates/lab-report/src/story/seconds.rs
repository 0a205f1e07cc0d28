//! The best rung of each ladder second by second, with the machines that took part, on one time axis.

use lab_results::NodeSample;
use lab_results::host::NetworkSample;
use lab_results::run::Event;

use super::cluster;
use crate::page::{Block, Chart, Section, Sentence};
use crate::say;
use crate::series::{Measured, Series};
use crate::summary::{Ladder, Summary};
use crate::svg::scale::Scale;
use crate::svg::strips::{Curve, Timeline, Track};

/// Colours of what is not a target: processors, stolen time, the network.
const CPU: usize = 6;
const STEAL: usize = 7;
const RECEIVED: usize = 2;
const SENT: usize = 5;
/// The rate of a profile.
const ASKED: usize = 7;
/// A share of stolen time that is worth a line.
const STEAL_SHOWN: f64 = 0.01;

/// Of which target and workload a rung is, by their places in `run.json`.
#[derive(Clone, Copy)]
pub(super) struct Whose {
    pub target: usize,
    pub workload: usize,
}

impl Whose {
    fn of(ladder: &Ladder) -> Whose {
        Whose {
            target: ladder.target_index,
            workload: ladder.workload_index,
        }
    }
}

pub fn section(series: &Series, summary: &Summary) -> Option<Section> {
    let mut charts = Vec::new();
    let mut events = Vec::new();
    for ladder in &summary.ladders {
        // A rung in which something happened tells more than a calm one.
        let eventful = series.rungs.iter().filter(|rung| {
            rung.target == ladder.target
                && rung.workload == ladder.workload
                && rung.phases.is_empty()
                && !events_of(series, rung).is_empty()
        });
        let best = ladder
            .best_point()
            .and_then(|point| series.rungs.iter().find(|rung| rung.index == point.rungs[0]));
        let mut shown: Vec<&Measured> = best.into_iter().chain(eventful).collect();
        shown.dedup_by_key(|rung| rung.index);
        for rung in shown.into_iter().take(4).filter(|rung| !rung.seconds.is_empty()) {
            let (chart, list) = timeline(series, Whose::of(ladder), rung);
            charts.push(chart);
            events.extend(list);
        }
    }
    if charts.is_empty() {
        return None;
    }
    let mut blocks = vec![
        Block::Note("The best load of each target, first repeat, and rungs with events. Processors: share of all cores that was busy; the thin red line is time stolen by the hypervisor.".into()),
        Block::Charts(charts),
    ];
    if !events.is_empty() {
        blocks.push(Block::Heading("Events in these rungs".into()));
        blocks.push(Block::List(events));
    }
    Some(Section {
        id: "seconds".into(),
        title: "Second by second".into(),
        blocks,
    })
}

/// Of the rung itself and those of the series that fall into it, in the order of time, with where they stand.
fn events_of<'a>(series: &'a Series, rung: &'a Measured) -> Vec<(f64, &'a Event, String)> {
    let started = rung.started.0 as f64;
    let inside = |event: &&Event| {
        let at = (event.at.0 as f64 - started) / 1e6;
        (0.0..=rung.measured_s).contains(&at)
    };
    let own = rung
        .events
        .iter()
        .enumerate()
        .map(|(at, event)| (event, rung.place.field(&["events", &at.to_string(), "what"])));
    let series_wide = series
        .run
        .events
        .iter()
        .enumerate()
        .map(|(at, event)| (event, series.of_run(&["events", &at.to_string(), "what"])));
    let mut events: Vec<_> = own
        .chain(series_wide)
        .filter(|(event, _)| inside(event))
        .map(|(event, from)| ((event.at.0 as f64 - started) / 1e6, event, from))
        .collect();
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    events.dedup_by(|later, earlier| later.1 == earlier.1);
    events
}

pub(super) fn timeline(series: &Series, whose: Whose, rung: &Measured) -> (Chart, Vec<Sentence>) {
    let events = events_of(series, rung);
    let name = say::target_name(series, whose.target)
        .and(", ")
        .join(&say::load_of(series, &rung.load, rung.index));
    let mut tracks = vec![rate_track(whose, rung)];
    tracks.extend(latency_track(whose, rung));
    tracks.extend(cluster::lag_tracks(&rung.cluster, whose.target, |parts| {
        rung.place.field(&[&["cluster"], parts].concat())
    }));
    tracks.extend(node_tracks(series, whose, rung));
    let chart = Chart {
        kind: "timeline",
        title: name
            .clone()
            .and(", repeat ")
            .verbatim(rung.repeat.to_string(), rung.place.field(&["repeat"])),
        svg: Timeline {
            name: format!("Second by second: {} {}", rung.target, rung.workload),
            seconds: rung.measured_s,
            tracks,
            bands: rung
                .phases
                .iter()
                .map(|phase| (phase.at_s, phase.at_s + phase.seconds))
                .collect(),
            events: events.iter().map(|(at, ..)| *at).collect(),
            changes: Vec::new(),
        }
        .draw(),
        note: say::workload(series, whose.workload),
        wide: false,
    };
    let list = events
        .into_iter()
        .enumerate()
        .map(|(number, (_, event, from))| {
            name.clone()
                .and(", ")
                .fixed((number + 1).to_string())
                .and(": ")
                .verbatim(&event.what, from)
        })
        .collect();
    (chart, list)
}

fn rate_track(whose: Whose, rung: &Measured) -> Track {
    let values: Vec<(f64, f64)> = rung
        .seconds
        .iter()
        .map(|line| (line.second as f64 + 0.5, line.transactions as f64))
        .collect();
    let mut top = highest(&values);
    let mut curves = vec![Curve {
        colour: whose.target,
        values,
        from: rung.place.beside("seconds").field(&["transactions"]),
        area: true,
    }];
    if !rung.phases.is_empty() {
        let asked: Vec<(f64, f64)> = rung
            .phases
            .iter()
            .flat_map(|phase| {
                [
                    (phase.at_s, phase.from_per_s),
                    (phase.at_s + phase.seconds, phase.to_per_s),
                ]
            })
            .collect();
        top = top.max(highest(&asked));
        curves.push(Curve {
            colour: ASKED,
            values: asked,
            from: format!("asked({})", rung.place.field(&["phases"])),
            area: false,
        });
    }
    Track {
        title: if rung.phases.is_empty() {
            "transactions in the second".into()
        } else {
            "transactions in the second; the thin line was asked for".into()
        },
        height: 96.0,
        scale: Scale::from_zero(top),
        few_ticks: false,
        curves,
    }
}

fn latency_track(whose: Whose, rung: &Measured) -> Option<Track> {
    let values: Vec<(f64, f64)> = rung
        .seconds
        .iter()
        .filter_map(|line| {
            Some((
                line.second as f64 + 0.5,
                line.latency.quantile_us(0.95)? as f64 / 1_000.0,
            ))
        })
        .collect();
    let lowest = values.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
    (!values.is_empty()).then(|| Track {
        title: "p95 of the second, ms".into(),
        height: 72.0,
        scale: Scale::fitting(lowest, highest(&values)),
        few_ticks: false,
        curves: vec![Curve {
            colour: whose.target,
            values,
            from: format!("secq(0.95,{})", rung.place.beside("seconds").field(&["latency"])),
            area: false,
        }],
    })
}

/// Of every node that was watched: processors and network.
fn node_tracks(series: &Series, whose: Whose, rung: &Measured) -> Vec<Track> {
    let servers = &series.run.targets[whose.target].nodes;
    let mut nodes: Vec<&str> = rung.samples.iter().map(|sample| sample.node.as_str()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    // Other targets' machines idle meanwhile.
    let others: Vec<&String> = series
        .run
        .targets
        .iter()
        .filter(|target| target.name != rung.target)
        .flat_map(|target| &target.nodes)
        .filter(|node| !servers.contains(node))
        .collect();
    nodes.retain(|node| !others.iter().any(|other| other == node) || is_load(series, node));
    let title = |node: &str, what: &str| {
        let at = series.run.nodes.iter().position(|entry| entry.name == node);
        let from = at.map_or_else(
            || rung.place.beside("samples").field(&["node"]),
            |at| series.of_run(&["nodes", &at.to_string(), "name"]),
        );
        Sentence::new().verbatim(node, from).and(what)
    };
    let mut tracks = Vec::new();
    for node in &nodes {
        let busy = values_of(rung, node, |sample| 1.0 - sample.cpu.idle - sample.cpu.iowait);
        if busy.is_empty() {
            continue;
        }
        let formula = |name: &str| {
            let samples = rung.place.beside("samples").field(&[]);
            format!("{name}({samples},{})", crate::figure::Place::new("").field(&[node]))
        };
        let mut curves = vec![Curve {
            colour: CPU,
            values: percent(&busy),
            from: formula("busy"),
            area: true,
        }];
        let steal = values_of(rung, node, |sample| sample.cpu.steal);
        if steal.iter().any(|(_, share)| *share > STEAL_SHOWN) {
            curves.push(Curve {
                colour: STEAL,
                values: percent(&steal),
                from: formula("steal"),
                area: false,
            });
        }
        tracks.push(Track {
            title: title(node, ": processors, % busy"),
            height: 40.0,
            scale: Scale::linear(0.0, 100.0),
            few_ticks: true,
            curves,
        });
    }
    for node in &nodes {
        let received = values_of(rung, node, |sample| per_second(sample, |nic| nic.rx_bytes));
        let sent = values_of(rung, node, |sample| per_second(sample, |nic| nic.tx_bytes));
        let top = highest(&received).max(highest(&sent));
        if top < 0.01 {
            continue;
        }
        let formula = |name: &str| {
            let samples = rung.place.beside("samples").field(&[]);
            format!("{name}({samples},{})", crate::figure::Place::new("").field(&[node]))
        };
        tracks.push(Track {
            title: title(node, ": network, MB/s (green received, violet sent)"),
            height: 40.0,
            scale: Scale::from_zero(top),
            few_ticks: true,
            curves: vec![
                Curve {
                    colour: RECEIVED,
                    values: received,
                    from: formula("received"),
                    area: false,
                },
                Curve {
                    colour: SENT,
                    values: sent,
                    from: formula("sent"),
                    area: false,
                },
            ],
        });
    }
    tracks
}

/// MB/s over all interfaces; a sample may cover more than its second.
fn per_second(sample: &NodeSample, of: impl Fn(&NetworkSample) -> u64) -> f64 {
    let bytes: f64 = sample.network.values().map(|nic| of(nic) as f64).sum();
    bytes / if sample.span_s > 0.0 { sample.span_s } else { 1.0 } / 1e6
}

fn is_load(series: &Series, node: &str) -> bool {
    series
        .run
        .nodes
        .iter()
        .any(|entry| entry.name == node && entry.roles.iter().any(|role| role == "load"))
}

/// A node's samples whose second ended within the interval.
fn values_of(rung: &Measured, node: &str, of: impl Fn(&NodeSample) -> f64) -> Vec<(f64, f64)> {
    rung.samples
        .iter()
        .filter(|sample| sample.node == node)
        .filter_map(|sample| {
            let at = (sample.at?.0 as f64 - rung.started.0 as f64) / 1e6;
            (at > 0.0 && at <= rung.measured_s + 0.5).then(|| (at.min(rung.measured_s), of(sample)))
        })
        .collect()
}

fn percent(values: &[(f64, f64)]) -> Vec<(f64, f64)> {
    values
        .iter()
        .map(|&(at, share)| (at, (share * 100.0).clamp(0.0, 100.0)))
        .collect()
}

fn highest(values: &[(f64, f64)]) -> f64 {
    values.iter().map(|(_, value)| *value).fold(0.0, f64::max)
}
