//! A LatsDB cluster: who its nodes are, and how far each was behind while it was watched.

use lab_results::NodeWatch;

use crate::figure::Figure;
use crate::page::{Column, Row, Sentence, Table};
use crate::say;
use crate::series::Series;
use crate::svg::scale::Scale;
use crate::svg::strips::{Curve, Track};

/// Who there was before the load; none if no target is a cluster that was watched.
pub(super) fn nodes(series: &Series) -> Option<Table> {
    let mut rows = Vec::new();
    for (index, target) in series.run.targets.iter().enumerate() {
        let Some(cluster) = &target.cluster else { continue };
        for (number, node) in cluster.nodes.iter().enumerate() {
            let (at, number) = (index.to_string(), number.to_string());
            let field = |name: &str| series.of_run(&["targets", &at, "cluster", "nodes", &number, name]);
            let mut roles = Sentence::new();
            for (place, role) in node.roles.iter().enumerate() {
                if place > 0 {
                    roles = roles.and(", ");
                }
                roles = roles.verbatim(
                    role,
                    series.of_run(&["targets", &at, "cluster", "nodes", &number, "roles", &place.to_string()]),
                );
            }
            let role = match (cluster.leader == Some(node.id), node.votes) {
                (true, _) => "leads",
                (false, true) => "follows",
                (false, false) => "does not vote",
            };
            rows.push(Row::of(vec![
                say::target_name(series, index),
                Sentence::from(&Figure {
                    value: node.id as f64,
                    from: field("id"),
                }),
                Sentence::words(role),
                roles,
                Sentence::new().verbatim(&node.mysql_addr, field("mysql_addr")),
                Sentence::new().verbatim(&node.version, field("version")),
            ]));
        }
    }
    (!rows.is_empty()).then(|| Table {
        caption: "Nodes of the clusters, before the load".into(),
        columns: vec![
            Column::text("Target"),
            Column::number("Node", ""),
            Column::text("In the shard"),
            Column::text("Roles"),
            Column::text("MySQL"),
            Column::text("Version"),
        ],
        rows,
    })
}

/// A track for each node. `place` is the formula of a field of the list of nodes.
pub(super) fn lag_tracks(watched: &[NodeWatch], colour: usize, place: impl Fn(&[&str]) -> String) -> Vec<Track> {
    let top = watched
        .iter()
        .flat_map(|node| &node.seconds)
        .map(|second| second.lag_entries as f64)
        .fold(1.0, f64::max);
    watched
        .iter()
        .enumerate()
        .filter(|(_, node)| !node.seconds.is_empty())
        .map(|(at, node)| {
            let at = at.to_string();
            let id = Figure {
                value: node.id as f64,
                from: place(&[&at, "id"]),
            };
            Track {
                title: Sentence::words("node ")
                    .figure(&id)
                    .and(": log entries that it had not applied, most in the second"),
                height: 40.0,
                scale: Scale::from_zero(top),
                few_ticks: true,
                curves: vec![Curve {
                    colour,
                    values: node
                        .seconds
                        .iter()
                        .map(|second| (second.second as f64 + 0.5, second.lag_entries as f64))
                        .collect(),
                    from: format!("list({},lag_entries)", place(&[&at, "seconds"])),
                    area: true,
                }],
            }
        })
        .collect()
}
