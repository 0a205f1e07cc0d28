//! Machines: what the probes found before a series and what each second of it looked like.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Latency, UnixMicros};

/// One node's part of `probes.json`. What could not be probed is absent and named in `problems`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeProbes {
    pub node: String,
    pub identity: Identity,
    pub cpu: Option<CpuProbe>,
    pub memory: Option<MemoryProbe>,
    pub disk: Option<DiskProbe>,
    /// To other nodes, by their names; loopback is `self`.
    pub network: BTreeMap<String, NetworkProbe>,
    pub wakeup: Option<WakeupProbe>,
    pub stalls: Option<StallProbe>,
    /// This node's clock minus the coordinator's, and half the round trip it was taken over.
    pub clock_offset_us: Option<(i64, u64)>,
    /// What well-known tools say of the same thing, where they are installed.
    pub cross_checks: Vec<CrossCheck>,
    pub problems: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    pub cpu_model: String,
    pub bogomips: f64,
    pub cores: u32,
    pub memory_bytes: u64,
    pub kernel: String,
    pub distribution: String,
    pub governor: Option<String>,
    pub transparent_huge_pages: Option<String>,
    pub hypervisor: Option<String>,
    pub nic_driver: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuProbe {
    /// Prime loops to 10,000 per second on one thread: `sysbench cpu`'s events/s.
    pub events_per_s: f64,
    /// The same on all cores at once.
    pub events_per_s_all_cores: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryProbe {
    /// Writes of 1 KiB blocks by one thread: `sysbench memory`'s MiB/s.
    pub write_1k_mib_per_s: f64,
    pub sequential_read_mib_per_s: f64,
    pub random_read_ns: f64,
}

/// Of a file beside the data, never of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskProbe {
    pub path: String,
    pub filesystem: String,
    /// Sequential 4 KiB writes with O_DIRECT and O_SYNC one after the other: fio's `--direct=1 --sync=1`.
    pub sync_write: Latency,
    /// Sequential 4 KiB write and fdatasync, over a file that has its blocks: what a commit costs, and what `ioping -WWW` times.
    pub write_fdatasync: Latency,
    /// Their standard deviation, as ioping prints it.
    pub write_fdatasync_mdev_us: f64,
    pub random_write_fdatasync: Latency,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkProbe {
    /// Round trips of 1, 120 and 12,000 bytes, by size.
    pub round_trips: BTreeMap<u32, Latency>,
    /// Processor time of both ends within such a round trip: part of it that a server's and a client's own CPU figures hold too.
    #[serde(default)]
    pub round_trip_cpu_us: BTreeMap<u32, f64>,
    /// Of all streams together, as the receiver counted them.
    pub bytes_per_s: f64,
    /// TCP streams at once that `bytes_per_s` took.
    pub streams: u32,
    /// Small datagrams that arrived: what the way carries when packets, not bytes, are the limit.
    pub packets_per_s: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakeupProbe {
    /// From one thread's wake to the other's first instruction, on the same core and on another.
    pub same_core: Latency,
    pub other_core: Latency,
    /// How much longer than asked a sleep of 50 µs takes.
    pub sleep_overshoot: Latency,
}

/// A thread that only looks at the clock: gaps over 1 ms are time that the machine did not give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StallProbe {
    pub watched_s: f64,
    pub stalls: Latency,
    pub longest_us: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossCheck {
    /// `ioping`, `fio`, `sysbench cpu`, …
    pub tool: String,
    pub what: String,
    pub unit: String,
    /// Medians of the turns.
    pub ours: f64,
    pub theirs: f64,
    /// What was measured in turn, ours and theirs; empty in older results.
    #[serde(default)]
    pub turns: Vec<(f64, f64)>,
}

/// A line of `samples.jsonl`: one node, one second. Rates are of that second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeSample {
    pub node: String,
    /// End of the second, by the coordinator's clock.
    pub at: Option<UnixMicros>,
    /// Seconds that the counts below cover: 1, or more where the machine kept the watcher waiting.
    pub span_s: f64,
    pub cpu: CpuSample,
    /// Cores that the shares in `cpu` are of: the machine's, or a container's quota.
    pub cpu_limit: f64,
    /// Containers only: share of the scheduler's periods (0..=1) in which the quota ran out and the container stood still.
    pub throttled: Option<f64>,
    /// Busy share (0..=1) of each core of the machine.
    pub cores: Vec<f64>,
    pub pressure: PressureSample,
    /// By interface.
    pub network: BTreeMap<String, NetworkSample>,
    /// By device.
    pub disks: BTreeMap<String, DiskSample>,
    pub context_switches: u64,
    pub runnable: u32,
    pub memory_available_bytes: u64,
    pub tcp_retransmits: u64,
    /// Processes asked for by name or pid: processor seconds within the second.
    pub processes: BTreeMap<String, f64>,
    /// Counters that say that a cloud's limit was met (`bw_out_allowance_exceeded`, …), increase within the second.
    pub allowances: BTreeMap<String, u64>,
}

/// Shares of all cores together, 0..=1.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSample {
    pub user: f64,
    pub system: f64,
    pub softirq: f64,
    pub iowait: f64,
    pub steal: f64,
    pub idle: f64,
}

/// Share of the second (0..=1) in which some task waited, from /proc/pressure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PressureSample {
    pub cpu: Option<f64>,
    pub io: Option<f64>,
    pub memory: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkSample {
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub drops: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskSample {
    pub reads: u64,
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
    /// Share of the second with something in flight.
    pub busy: f64,
    /// Mean time of a write within the second.
    pub write_ms: f64,
    /// Containers only: writes and bytes per second that it may write at most.
    pub write_limit: Option<u64>,
    pub write_limit_bytes: Option<u64>,
}
