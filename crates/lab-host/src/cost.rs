//! What a node spent during a measured interval: the sum of its samples.

use std::collections::BTreeMap;

use lab_results::rung::NodeCost;
use lab_results::{NodeSample, UnixMicros};

/// The samples of the interval: those whose second ended within it, and at least half of whose second lies in it.
pub fn within(samples: &[NodeSample], started: UnixMicros, measured_s: f64) -> Vec<&NodeSample> {
    let ends = started.0 + (measured_s * 1e6) as u64;
    samples
        .iter()
        .filter(|sample| {
            let Some(at) = sample.at else { return false };
            let middle = at.0.saturating_sub((sample.span_s * 5e5) as u64);
            middle >= started.0 && middle < ends
        })
        .collect()
}

/// Cost of every node over the interval, by name.
///
/// Samples cover whole seconds that begin where the node's clock says so: each figure is scaled from the seconds that were
/// sampled to `measured_s`. A node without a sample in the interval has no entry.
/// `process` names, per node, the entry of [`NodeSample::processes`] that is the measured process there.
pub fn node_costs(
    samples: &[NodeSample],
    started: UnixMicros,
    measured_s: f64,
    process: &BTreeMap<String, String>,
) -> BTreeMap<String, NodeCost> {
    let mut by_node: BTreeMap<&str, Vec<&NodeSample>> = BTreeMap::new();
    for sample in within(samples, started, measured_s) {
        by_node.entry(&sample.node).or_default().push(sample);
    }
    by_node
        .into_iter()
        .map(|(node, samples)| {
            let cost = node_cost(&samples, measured_s, process.get(node).map(String::as_str));
            (node.to_owned(), cost)
        })
        .collect()
}

fn node_cost(samples: &[&NodeSample], measured_s: f64, process: Option<&str>) -> NodeCost {
    let sampled_s: f64 = samples.iter().map(|sample| sample.span_s).sum();
    let scale = if sampled_s > 0.0 { measured_s / sampled_s } else { 0.0 };
    let count = |of: &dyn Fn(&NodeSample) -> u64| {
        let sum: u64 = samples.iter().map(|sample| of(sample)).sum();
        (sum as f64 * scale).round() as u64
    };
    let network = |of: fn(&lab_results::host::NetworkSample) -> u64| {
        count(&|sample| real_interfaces(sample).map(|(_, interface)| of(interface)).sum())
    };
    let disk = |of: fn(&lab_results::host::DiskSample) -> u64| count(&|sample| sample.disks.values().map(of).sum());
    let process_cpu_s = process.and_then(|process| {
        let seen: Vec<f64> = samples
            .iter()
            .filter_map(|sample| sample.processes.get(process))
            .copied()
            .collect();
        (!seen.is_empty()).then(|| seen.iter().sum::<f64>() * scale)
    });
    NodeCost {
        cpu_s: samples
            .iter()
            .map(|sample| busy_cores(sample) * sample.span_s)
            .sum::<f64>()
            * scale,
        process_cpu_s,
        context_switches: count(&|sample| sample.context_switches),
        net_bytes: network(|interface| interface.rx_bytes + interface.tx_bytes),
        net_packets: network(|interface| interface.rx_packets + interface.tx_packets),
        disk_writes: disk(|disk| disk.writes),
        disk_bytes_written: disk(|disk| disk.written_bytes),
        disk_flushes: Some(disk(|disk| disk.flushes)),
    }
}

/// Cores' worth of work that were done.
pub(crate) fn busy_cores(sample: &NodeSample) -> f64 {
    busy_share(sample) * sample.cpu_limit
}

/// Share (0..=1) of the node's cores that worked; time stolen by the hypervisor is not work.
pub(crate) fn busy_share(sample: &NodeSample) -> f64 {
    sample.cpu.user + sample.cpu.system + sample.cpu.softirq
}

/// The interfaces that lead out of the node; if loopback is all there is, that one.
pub(crate) fn real_interfaces(
    sample: &NodeSample,
) -> impl Iterator<Item = (&String, &lab_results::host::NetworkSample)> {
    let only_loopback = sample.network.keys().all(|name| name == "lo");
    sample
        .network
        .iter()
        .filter(move |(name, _)| only_loopback || name.as_str() != "lo")
}

#[cfg(test)]
mod tests {
    use lab_results::host::{CpuSample, DiskSample, NetworkSample};

    use super::*;

    const STARTED: UnixMicros = UnixMicros(1_000_000_000);

    /// The second that ends `end_s` after the start: half of 4 cores, 0.7 of a core by the server.
    fn second(node: &str, end_s: f64) -> NodeSample {
        let interface = |bytes| NetworkSample {
            rx_bytes: bytes,
            tx_bytes: bytes,
            rx_packets: 10,
            tx_packets: 10,
            drops: 0,
        };
        NodeSample {
            node: node.to_owned(),
            at: Some(UnixMicros(STARTED.0.saturating_add_signed((end_s * 1e6) as i64))),
            span_s: 1.0,
            cpu: CpuSample {
                user: 0.3,
                system: 0.1,
                softirq: 0.1,
                steal: 0.2,
                idle: 0.3,
                ..CpuSample::default()
            },
            cpu_limit: 4.0,
            context_switches: 100,
            network: BTreeMap::from([
                ("eth0".to_owned(), interface(1000)),
                ("lo".to_owned(), interface(1_000_000)),
            ]),
            disks: BTreeMap::from([(
                "vda".to_owned(),
                DiskSample {
                    writes: 5,
                    written_bytes: 20_480,
                    flushes: 2,
                    ..DiskSample::default()
                },
            )]),
            processes: BTreeMap::from([("mariadbd".to_owned(), 0.7)]),
            ..NodeSample::default()
        }
    }

    fn costs(samples: &[NodeSample], measured_s: f64) -> BTreeMap<String, NodeCost> {
        let process = BTreeMap::from([("sql".to_owned(), "mariadbd".to_owned())]);
        node_costs(samples, STARTED, measured_s, &process)
    }

    #[test]
    fn the_sum_of_the_intervals_seconds() {
        let samples: Vec<_> = (-2..8).map(|end| second("sql", f64::from(end) + 0.6)).collect();
        // Of the seconds that end at -1.4, -0.4, 0.6, …, 7.6 those from 0.6 to 5.4 lie in it with their greater half.
        let cost = &costs(&samples, 5.0)["sql"];
        assert!((cost.cpu_s - 10.0).abs() < 1e-9, "{cost:?}");
        assert!((cost.process_cpu_s.unwrap() - 3.5).abs() < 1e-9);
        assert_eq!(cost.context_switches, 500);
        assert_eq!((cost.net_bytes, cost.net_packets), (10_000, 100));
        assert_eq!(
            (cost.disk_writes, cost.disk_bytes_written, cost.disk_flushes),
            (25, 102_400, Some(10))
        );
    }

    #[test]
    fn seconds_that_were_not_sampled_are_filled_in() {
        let samples = [second("sql", 1.0), second("sql", 4.0)];
        let cost = &costs(&samples, 4.0)["sql"];
        assert_eq!(cost.context_switches, 400);
    }

    #[test]
    fn a_node_without_a_sample_has_no_cost() {
        let samples = [second("sql", 1.0), second("data", 60.0)];
        let costs = costs(&samples, 2.0);
        assert_eq!(costs.keys().collect::<Vec<_>>(), ["sql"]);
    }

    #[test]
    fn loopback_counts_where_there_is_nothing_else() {
        let mut sample = second("sql", 1.0);
        sample.network.remove("eth0");
        assert_eq!(costs(&[sample], 1.0)["sql"].net_bytes, 2_000_000);
    }

    #[test]
    fn an_unknown_process_has_no_time() {
        let mut sample = second("sql", 1.0);
        sample.processes.clear();
        assert_eq!(costs(&[sample], 1.0)["sql"].process_cpu_s, None);
    }
}
