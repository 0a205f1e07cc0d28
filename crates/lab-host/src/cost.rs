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
