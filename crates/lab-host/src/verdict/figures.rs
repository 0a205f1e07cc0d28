//! The samples of the measured interval, as one set of figures per node.

use lab_results::NodeSample;
use lab_results::host::{DiskSample, NetworkSample};

use super::{Evidence, NodeEvidence};
use crate::cost::{busy_share, real_interfaces, within};

#[derive(Debug, Default)]
pub struct Figures {
    /// Nodes with at least one sample in the interval.
    pub nodes: Vec<NodeFigures>,
}

/// Means over the interval; rates are per second.
#[derive(Debug, Default)]
pub struct NodeFigures {
    pub name: String,
    pub seconds: f64,
    /// Share of the cores that worked.
    pub busy: f64,
    pub softirq: f64,
    pub steal: f64,
    pub iowait: f64,
    pub cores: f64,
    /// Container: share of periods in which the quota ran out.
    pub throttled: Option<f64>,
    /// Mean of each second's busiest core; machines only.
    pub hottest_core: Option<f64>,
    pub runnable: f64,
    pub pressure_cpu: Option<f64>,
    pub pressure_io: Option<f64>,
    /// Cores' worth of the load generator and of the database, where their processes are known.
    pub load_cores: Option<f64>,
    pub server_cores: Option<f64>,
    pub rx_bytes: f64,
    pub tx_bytes: f64,
    pub packets: f64,
    pub drops: f64,
    pub retransmits: f64,
    /// Standard deviation of the bytes sent per second, as a share of their mean.
    pub tx_variation: Option<f64>,
    pub bandwidth_allowance: u64,
    pub packet_allowance: u64,
    /// The disk that is written most.
    pub disk: Option<DiskFigures>,
}

#[derive(Debug, Default)]
pub struct DiskFigures {
    pub name: String,
    pub busy: f64,
    pub writes: f64,
    pub written_bytes: f64,
    pub write_ms: f64,
    pub write_limit: Option<f64>,
    pub write_limit_bytes: Option<f64>,
}

impl Figures {
    pub fn of(evidence: &Evidence) -> Figures {
        let nodes = evidence
            .nodes
            .iter()
            .filter_map(|node| {
                let samples = within(&node.samples, evidence.started, evidence.measured_s);
                (!samples.is_empty()).then(|| NodeFigures::of(node, &samples))
            })
            .collect();
        Figures { nodes }
    }

    pub fn node(&self, name: &str) -> Option<&NodeFigures> {
        self.nodes.iter().find(|node| node.name == name)
    }
}

impl NodeFigures {
    fn of(node: &NodeEvidence, samples: &[&NodeSample]) -> NodeFigures {
        let seconds: f64 = samples.iter().map(|sample| sample.span_s).sum();
        let mean = |of: &dyn Fn(&NodeSample) -> f64| mean(samples.iter().map(|sample| of(sample)));
        let mean_of_some = |of: &dyn Fn(&NodeSample) -> Option<f64>| {
            let known: Vec<f64> = samples.iter().filter_map(|sample| of(sample)).collect();
            (!known.is_empty()).then(|| self::mean(known.iter().copied()))
        };
        let rate = |of: &dyn Fn(&NodeSample) -> u64| {
            samples.iter().map(|sample| of(sample) as f64).sum::<f64>() / seconds.max(1e-9)
        };
        let network = |of: fn(&NetworkSample) -> u64| {
            rate(&|sample| real_interfaces(sample).map(|(_, interface)| of(interface)).sum())
        };
        let process_cores = |names: &[String]| {
            let known = samples
                .iter()
                .any(|sample| names.iter().any(|name| sample.processes.contains_key(name)));
            known.then(|| {
                let sum: f64 = samples
                    .iter()
                    .flat_map(|sample| names.iter().filter_map(|name| sample.processes.get(name)))
                    .sum();
                sum / seconds.max(1e-9)
            })
        };
        let allowance = |what: &str| {
            samples
                .iter()
                .flat_map(|sample| &sample.allowances)
                .filter(|(name, _)| name.starts_with(what))
                .map(|(_, count)| count)
                .sum()
        };
        NodeFigures {
            name: node.name.clone(),
            seconds,
            busy: mean(&busy_share),
            softirq: mean(&|sample| sample.cpu.softirq),
            steal: mean(&|sample| sample.cpu.steal),
            iowait: mean(&|sample| sample.cpu.iowait),
            cores: mean(&|sample| sample.cpu_limit),
            throttled: mean_of_some(&|sample| sample.throttled),
            // Of a container the machine's cores say nothing: others work on them.
            hottest_core: mean_of_some(&|sample| {
                let whole = sample.throttled.is_none() && sample.cpu_limit == sample.cores.len() as f64;
                let hottest = sample.cores.iter().copied().max_by(f64::total_cmp);
                hottest.filter(|_| whole && sample.cores.len() > 1)
            }),
            runnable: mean(&|sample| f64::from(sample.runnable)),
            pressure_cpu: mean_of_some(&|sample| sample.pressure.cpu),
            pressure_io: mean_of_some(&|sample| sample.pressure.io),
            load_cores: process_cores(&node.load_processes),
            server_cores: process_cores(&node.server_processes),
            rx_bytes: network(|interface| interface.rx_bytes),
            tx_bytes: network(|interface| interface.tx_bytes),
            packets: network(|interface| interface.rx_packets + interface.tx_packets),
            drops: network(|interface| interface.drops),
            retransmits: rate(&|sample| sample.tcp_retransmits),
            tx_variation: variation(samples),
            bandwidth_allowance: allowance("bw_"),
            packet_allowance: allowance("pps_"),
            disk: disk(samples, seconds),
        }
    }
}

impl NodeFigures {
    /// A container that its machine does not give what its quota allows.
    pub fn starved(&self) -> bool {
        let throttled_little = self.throttled.is_some_and(|share| share < 0.2);
        throttled_little && self.busy < 0.7 && self.pressure_cpu.is_some_and(|waited| waited >= 0.4)
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}

const ENOUGH_TO_VARY: usize = 5;

fn variation(samples: &[&NodeSample]) -> Option<f64> {
    if samples.len() < ENOUGH_TO_VARY {
        return None;
    }
    let rates: Vec<f64> = samples
        .iter()
        .map(|sample| {
            let bytes: u64 = real_interfaces(sample).map(|(_, interface)| interface.tx_bytes).sum();
            bytes as f64 / sample.span_s.max(1e-9)
        })
        .collect();
    let middle = mean(rates.iter().copied());
    let variance = mean(rates.iter().map(|rate| (rate - middle).powi(2)));
    (middle > 0.0).then(|| variance.sqrt() / middle)
}

fn disk(samples: &[&NodeSample], seconds: f64) -> Option<DiskFigures> {
    let written = |name: &str| -> u64 {
        samples
            .iter()
            .filter_map(|sample| sample.disks.get(name))
            .map(|disk| disk.written_bytes + disk.writes)
            .sum()
    };
    let names: std::collections::BTreeSet<&String> = samples.iter().flat_map(|sample| sample.disks.keys()).collect();
    let name = names.into_iter().max_by_key(|name| written(name))?;
    let of_disk: Vec<&DiskSample> = samples.iter().filter_map(|sample| sample.disks.get(name)).collect();
    let sum = |of: fn(&DiskSample) -> f64| of_disk.iter().map(|disk| of(disk)).sum::<f64>();
    let writes = sum(|disk| disk.writes as f64);
    Some(DiskFigures {
        name: name.clone(),
        busy: sum(|disk| disk.busy) / of_disk.len().max(1) as f64,
        writes: writes / seconds.max(1e-9),
        written_bytes: sum(|disk| disk.written_bytes as f64) / seconds.max(1e-9),
        // Of the writes, not of the seconds.
        write_ms: sum(|disk| disk.write_ms * disk.writes as f64) / writes.max(1.0),
        write_limit: of_disk
            .iter()
            .rev()
            .find_map(|disk| disk.write_limit)
            .map(|limit| limit as f64),
        write_limit_bytes: of_disk
            .iter()
            .rev()
            .find_map(|disk| disk.write_limit_bytes)
            .map(|limit| limit as f64),
    })
}
