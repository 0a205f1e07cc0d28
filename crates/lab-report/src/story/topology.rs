//! Who talks to whom: the machines by what they do, and the round trips between them.

use super::machines::quantile;
use crate::figure::Figure;
use crate::page::{Chart, Sentence};
use crate::series::Series;
use crate::svg::topology::{Machine, Tier, Topology};

/// From the load to the data; a machine stands in the first column whose role it has.
const TIERS: [(&str, &str); 4] = [
    ("load", "load generators"),
    ("sql", "SQL nodes"),
    ("data", "data nodes"),
    ("manager", "managers"),
];

fn tier_of(roles: &[String]) -> usize {
    TIERS
        .iter()
        .position(|(role, _)| roles.iter().any(|own| own == role))
        .unwrap_or(TIERS.len() - 1)
}

pub fn topology(series: &Series) -> Chart {
    let mut tiers: Vec<(usize, Tier)> = Vec::new();
    for (at, node) in series.run.nodes.iter().enumerate() {
        let tier = tier_of(&node.roles);
        let machine = machine(series, at);
        match tiers.iter_mut().find(|(known, _)| *known == tier) {
            Some((_, tier)) => tier.boxes.push(machine),
            None => tiers.push((
                tier,
                Tier {
                    title: TIERS[tier].1.into(),
                    boxes: vec![machine],
                },
            )),
        }
    }
    tiers.sort_by_key(|(tier, _)| *tier);
    let between = tiers
        .windows(2)
        .map(|pair| {
            let names = |tier: &Tier| {
                tier.boxes
                    .iter()
                    .map(|machine| machine.name.clone())
                    .collect::<Vec<_>>()
            };
            round_trip(series, &names(&pair[0].1), &names(&pair[1].1))
        })
        .collect();
    let one_machine = series.run.nodes.len() == 1;
    Chart {
        kind: "topology",
        title: "Topology".into(),
        svg: Topology {
            name: "Which machine has which role".into(),
            columns: tiers.into_iter().map(|(_, tier)| tier).collect(),
            between,
        }
        .draw(),
        note: if one_machine {
            "Load and servers share one machine (two tiers): less latency and less CPU for the server than over a network.".into()
        } else {
            "The coloured edge says whose server runs there. Between columns: the probed round trip of a small message, median.".into()
        },
        wide: true,
    }
}

fn machine(series: &Series, at: usize) -> Machine {
    let node = &series.run.nodes[at];
    let fact = |key: &str| {
        node.facts
            .get(key)
            .map(|value| Sentence::new().verbatim(value, series.of_run(&["nodes", &at.to_string(), "facts", key])))
    };
    let mut lines = vec![Sentence::words(node.roles.join(", "))];
    let mut kind = Sentence::new();
    for key in ["type", "instance_type", "zone", "placement"] {
        if let Some(value) = fact(key) {
            kind = if kind.is_empty() {
                value
            } else {
                kind.and(" · ").join(&value)
            };
        }
    }
    if !kind.is_empty() {
        lines.push(kind);
    }
    if let Some(probes) = series.probes.iter().position(|probes| probes.node == node.name) {
        let of = |field: &str, value: f64| {
            series
                .place("probes")
                .figure(&[&probes.to_string(), "identity", field], value)
        };
        let identity = &series.probes[probes].identity;
        lines.push(
            Sentence::from(&of("cores", f64::from(identity.cores)))
                .and(" cores, ")
                .figure(&of("memory_bytes", identity.memory_bytes as f64).over(&Figure::constant(1_073_741_824.0)))
                .and(" GiB"),
        );
    }
    let colours: Vec<usize> = series
        .run
        .targets
        .iter()
        .enumerate()
        .filter(|(_, target)| target.nodes.contains(&node.name))
        .map(|(index, _)| index)
        .collect();
    for &index in &colours {
        lines.push(crate::say::target_name(series, index));
    }
    Machine {
        name: node.name.clone(),
        colours,
        lines,
    }
}

/// Lowest to highest median round trip of 120 bytes between two tiers.
fn round_trip(series: &Series, from: &[String], to: &[String]) -> Sentence {
    let mut medians = Vec::new();
    for (at, probes) in series.probes.iter().enumerate() {
        for (peer, probe) in &probes.network {
            let pair = |a: &[String], b: &[String]| a.contains(&probes.node) && b.contains(peer);
            if !(pair(from, to) || pair(to, from)) {
                continue;
            }
            if let Some(latency) = probe.round_trips.get(&120) {
                let place = series
                    .place("probes")
                    .field(&[&at.to_string(), "network", peer, "round_trips", "120"]);
                medians.extend(quantile(latency, &place, 0.5));
            }
        }
    }
    let by_value = |a: &&Figure, b: &&Figure| a.value.total_cmp(&b.value);
    match (medians.iter().min_by(by_value), medians.iter().max_by(by_value)) {
        (Some(low), Some(high)) if low.value < high.value => Sentence::from(low).and("–").figure(high).and(" µs"),
        (Some(low), _) => Sentence::from(low).and(" µs round trip"),
        _ => Sentence::new(),
    }
}
