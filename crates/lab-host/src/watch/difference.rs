//! Two readings of the counters make a sample: what came in between. A counter that ran backwards (an interface taken down and up) counts as 0.

use std::collections::BTreeMap;

use lab_results::NodeSample;
use lab_results::host::{CpuSample, DiskSample, NetworkSample, PressureSample};

use super::cgroup::{GroupCounters, GroupDisk};
use super::counters::{Counters, CpuTimes, Disk, Interface, Pressure};

const SECTOR: u64 = 512;
/// The kernel's unit in /proc, whatever its own rate (USER_HZ).
const TICKS_PER_S: f64 = 100.0;

pub fn sample(node: &str, last: &Counters, now: &Counters) -> NodeSample {
    let span_s = now.read_at.duration_since(last.read_at).as_secs_f64();
    let cores: Vec<f64> = now
        .stat
        .cores
        .iter()
        .map(|(core, times)| {
            let before = last.stat.cores.get(core).copied().unwrap_or(*times);
            busy(&times.since(&before))
        })
        .collect();
    let mut sample = NodeSample {
        node: node.to_owned(),
        at: Some(now.wall),
        span_s,
        cpu: shares(&now.stat.all.since(&last.stat.all)),
        cpu_limit: cores.len() as f64,
        throttled: None,
        cores,
        pressure: pressure(&last.pressure, &now.pressure, span_s),
        network: changes(&last.network, &now.network, network),
        disks: changes(&last.disks, &now.disks, |a, b| disk(a, b, span_s)),
        context_switches: now.stat.context_switches.saturating_sub(last.stat.context_switches),
        runnable: now.stat.runnable,
        memory_available_bytes: now.memory_available_bytes,
        tcp_retransmits: now.tcp_retransmits.saturating_sub(last.tcp_retransmits),
        processes: now
            .processes
            .iter()
            .map(|(word, times)| (word.clone(), process_seconds(last.processes.get(word), times)))
            .collect(),
        allowances: changes(&last.allowances, &now.allowances, |a, b| b.saturating_sub(*a)),
    };
    if let (Some(last), Some(now)) = (&last.group, &now.group) {
        put_group(&mut sample, last, now);
    }
    sample
}

/// What was there at both moments.
fn changes<T, S>(
    last: &BTreeMap<String, T>,
    now: &BTreeMap<String, T>,
    change: impl Fn(&T, &T) -> S,
) -> BTreeMap<String, S> {
    now.iter()
        .filter_map(|(name, now)| Some((name.clone(), change(last.get(name)?, now))))
        .collect()
}

fn busy(times: &CpuTimes) -> f64 {
    let cpu = shares(times);
    cpu.user + cpu.system + cpu.softirq
}

fn shares(times: &CpuTimes) -> CpuSample {
    let total = times.total().max(1) as f64;
    CpuSample {
        user: times.user as f64 / total,
        system: times.system as f64 / total,
        softirq: times.softirq as f64 / total,
        iowait: times.iowait as f64 / total,
        steal: times.steal as f64 / total,
        idle: times.idle as f64 / total,
    }
}

fn pressure(last: &Pressure, now: &Pressure, span_s: f64) -> PressureSample {
    let share = |last: Option<u64>, now: Option<u64>| {
        let waited_us = now?.saturating_sub(last?);
        Some((waited_us as f64 / (span_s * 1e6)).min(1.0))
    };
    PressureSample {
        cpu: share(last.cpu, now.cpu),
        io: share(last.io, now.io),
        memory: share(last.memory, now.memory),
    }
}

fn network(last: &Interface, now: &Interface) -> NetworkSample {
    NetworkSample {
        rx_bytes: now.rx_bytes.saturating_sub(last.rx_bytes),
        tx_bytes: now.tx_bytes.saturating_sub(last.tx_bytes),
        rx_packets: now.rx_packets.saturating_sub(last.rx_packets),
        tx_packets: now.tx_packets.saturating_sub(last.tx_packets),
        drops: now.drops.saturating_sub(last.drops),
    }
}

fn disk(last: &Disk, now: &Disk, span_s: f64) -> DiskSample {
    let writes = now.writes.saturating_sub(last.writes);
    DiskSample {
        reads: now.reads.saturating_sub(last.reads),
        writes,
        read_bytes: now.read_sectors.saturating_sub(last.read_sectors) * SECTOR,
        written_bytes: now.written_sectors.saturating_sub(last.written_sectors) * SECTOR,
        flushes: now.flushes.saturating_sub(last.flushes),
        busy: (now.busy_ms.saturating_sub(last.busy_ms) as f64 / (span_s * 1e3)).min(1.0),
        write_ms: now.write_ms.saturating_sub(last.write_ms) as f64 / writes.max(1) as f64,
        write_limit: None,
        write_limit_bytes: None,
    }
}

/// A process that was not there at the last reading began since, so all its time is new; one that ended takes its last
/// fraction of a second with it.
fn process_seconds(last: Option<&BTreeMap<(u32, u64), u64>>, now: &BTreeMap<(u32, u64), u64>) -> f64 {
    // No reading of this word before: nothing is known to be new.
    let Some(last) = last else { return 0.0 };
    let ticks: u64 = now
        .iter()
        .map(|(process, ticks)| ticks.saturating_sub(last.get(process).copied().unwrap_or(0)))
        .sum();
    ticks as f64 / TICKS_PER_S
}

/// The group's figures in the machine's place; what only the device knows (busy, time of a write) stays the device's.
fn put_group(sample: &mut NodeSample, last: &GroupCounters, now: &GroupCounters) {
    let cores = sample.cpu_limit;
    let limit = now.quota_cores.unwrap_or(cores).min(cores.max(1.0));
    let share = |last: u64, now: u64| now.saturating_sub(last) as f64 / 1e6 / sample.span_s / limit;
    let (user, system) = (share(last.user_us, now.user_us), share(last.system_us, now.system_us));
    // A quota is kept over each period, not over our second: a little more may fall into one.
    let over = (user + system).max(1.0);
    sample.cpu = CpuSample {
        user: user / over,
        system: system / over,
        idle: 1.0 - (user + system) / over,
        ..CpuSample::default()
    };
    sample.cpu_limit = limit;
    let periods = now.periods.saturating_sub(last.periods);
    sample.throttled = now.quota_cores.map(|_| {
        let throttled = now.throttled_periods.saturating_sub(last.throttled_periods);
        throttled as f64 / periods.max(1) as f64
    });
    sample.pressure = pressure(&last.pressure, &now.pressure, sample.span_s);
    sample.context_switches = now.context_switches.saturating_sub(last.context_switches);
    sample.runnable = now.runnable;
    if let Some(disks) = &now.disks {
        let devices = std::mem::take(&mut sample.disks);
        let before = last.disks.as_ref();
        sample.disks = disks
            .iter()
            .map(|(name, now)| {
                let last = before.and_then(|disks| disks.get(name)).copied().unwrap_or_default();
                (name.clone(), group_disk(&last, now, devices.get(name)))
            })
            .collect();
    }
}

fn group_disk(last: &GroupDisk, now: &GroupDisk, device: Option<&DiskSample>) -> DiskSample {
    DiskSample {
        reads: now.reads.saturating_sub(last.reads),
        writes: now.writes.saturating_sub(last.writes),
        read_bytes: now.read_bytes.saturating_sub(last.read_bytes),
        written_bytes: now.written_bytes.saturating_sub(last.written_bytes),
        flushes: 0,
        busy: device.map_or(0.0, |device| device.busy),
        write_ms: device.map_or(0.0, |device| device.write_ms),
        write_limit: now.write_limit,
        write_limit_bytes: now.write_limit_bytes,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use lab_results::UnixMicros;

    use super::super::counters::Stat;
    use super::*;

    fn counters(at: Instant, stat: &str) -> Counters {
        Counters {
            read_at: at,
            wall: UnixMicros(7),
            stat: Stat::parse(stat),
            pressure: Pressure::default(),
            network: BTreeMap::new(),
            disks: BTreeMap::new(),
            memory_available_bytes: 0,
            tcp_retransmits: 0,
            processes: BTreeMap::new(),
            allowances: BTreeMap::new(),
            group: None,
        }
    }

    fn two_seconds_apart() -> (Counters, Counters) {
        let start = Instant::now();
        let last = counters(
            start,
            "cpu 100 0 100 100 0 0 0 0\ncpu0 100 0 100 100 0 0 0 0\nctxt 50\n",
        );
        let now = counters(
            start + Duration::from_secs(2),
            "cpu 150 0 110 230 0 0 4 6\ncpu0 150 0 110 230 0 0 4 6\ncpu1 9 0 9 9 0 0 0 0\nctxt 90\n",
        );
        (last, now)
    }

    #[test]
    fn shares_are_of_all_time_and_a_new_core_has_no_past() {
        let (last, now) = two_seconds_apart();
        let sample = sample("n", &last, &now);
        assert_eq!(sample.span_s, 2.0);
        assert_eq!(sample.cpu.user, 0.25);
        assert_eq!(sample.cpu.steal, 0.03);
        assert_eq!(sample.cores, [0.32, 0.0]);
        assert_eq!(sample.context_switches, 40);
    }

    #[test]
    fn counters_that_ran_backwards_count_nothing_and_new_ones_wait() {
        let (mut last, mut now) = two_seconds_apart();
        let interface = |tx_bytes| Interface {
            tx_bytes,
            ..Interface::default()
        };
        last.network.insert("eth0".to_owned(), interface(1000));
        now.network.insert("eth0".to_owned(), interface(10));
        now.network.insert("eth1".to_owned(), interface(5_000_000));
        let sample = sample("n", &last, &now);
        assert_eq!(sample.network["eth0"].tx_bytes, 0);
        assert!(!sample.network.contains_key("eth1"));
    }

    #[test]
    fn a_process_that_began_since_counts_whole_and_a_reused_pid_is_another() {
        let before = BTreeMap::from([((7, 100), 500), ((8, 100), 40)]);
        let after = BTreeMap::from([((7, 100), 530), ((8, 900), 20), ((9, 950), 10)]);
        assert_eq!(process_seconds(Some(&before), &after), 0.6);
        assert_eq!(process_seconds(None, &after), 0.0);
    }

    #[test]
    fn a_groups_quota_stands_for_the_cores() {
        let (mut last, mut now) = two_seconds_apart();
        last.group = Some(GroupCounters::default());
        now.group = Some(GroupCounters {
            user_us: 600_000,
            system_us: 200_000,
            quota_cores: Some(0.5),
            periods: 20,
            throttled_periods: 15,
            disks: None,
            ..GroupCounters::default()
        });
        now.disks.insert("vda".to_owned(), Disk::default());
        last.disks.insert("vda".to_owned(), Disk::default());
        let sample = sample("n", &last, &now);
        assert_eq!(sample.cpu_limit, 0.5);
        assert!((sample.cpu.user - 0.6).abs() < 1e-9, "{:?}", sample.cpu);
        assert!((sample.cpu.idle - 0.2).abs() < 1e-9, "{:?}", sample.cpu);
        assert_eq!(sample.throttled, Some(0.75));
        assert!(
            sample.disks.contains_key("vda"),
            "the machine's, where the group's are not told"
        );
    }

    #[test]
    fn a_writes_time_is_per_write() {
        let last = Disk::default();
        let now = Disk {
            writes: 4,
            written_sectors: 32,
            write_ms: 10,
            busy_ms: 500,
            ..Disk::default()
        };
        let sample = disk(&last, &now, 2.0);
        assert_eq!((sample.writes, sample.written_bytes), (4, 16_384));
        assert_eq!((sample.busy, sample.write_ms), (0.25, 2.5));
    }
}
