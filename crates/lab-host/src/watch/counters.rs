//! The kernel's counters at one moment, from the text of /proc. A file that is missing or reads differently leaves its counters
//! at nothing: a kernel without pressure figures is watched all the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use lab_results::UnixMicros;

use super::cgroup::{Group, GroupCounters};
use super::ethtool::Allowances;
use super::processes::{ProcessTimes, Processes};

#[derive(Debug, Clone)]
pub struct Counters {
    pub read_at: Instant,
    pub wall: UnixMicros,
    pub stat: Stat,
    pub pressure: Pressure,
    pub network: BTreeMap<String, Interface>,
    pub disks: BTreeMap<String, Disk>,
    pub memory_available_bytes: u64,
    pub tcp_retransmits: u64,
    pub processes: BTreeMap<String, ProcessTimes>,
    pub allowances: BTreeMap<String, u64>,
    pub group: Option<GroupCounters>,
}

impl Counters {
    pub fn read(group: Option<&Group>, processes: &Processes, allowances: &Allowances) -> Counters {
        Counters {
            read_at: Instant::now(),
            wall: super::now(),
            stat: Stat::parse(&read("/proc/stat")),
            pressure: Pressure::read(Path::new("/proc/pressure"), ""),
            network: interfaces(&read("/proc/net/dev")),
            disks: disks(&read("/proc/diskstats"), |name| {
                Path::new("/sys/block").join(name).exists()
            }),
            memory_available_bytes: memory_available(&read("/proc/meminfo")),
            tcp_retransmits: tcp_retransmits(&read("/proc/net/snmp")),
            processes: processes.times(),
            allowances: allowances.read(),
            group: group.map(Group::read),
        }
    }

    /// How long ago this was read.
    pub fn since(&self) -> Duration {
        self.read_at.elapsed()
    }
}

pub fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Clock ticks, of which the kernel counts 100 a second whatever its own rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    pub user: u64,
    pub system: u64,
    pub softirq: u64,
    pub iowait: u64,
    pub steal: u64,
    pub idle: u64,
}

impl CpuTimes {
    /// user nice system idle iowait irq softirq steal guest guest_nice; guests are in user and nice already.
    fn parse(fields: &str) -> CpuTimes {
        let times: Vec<u64> = fields
            .split_whitespace()
            .filter_map(|field| field.parse().ok())
            .collect();
        let time = |index: usize| times.get(index).copied().unwrap_or(0);
        CpuTimes {
            user: time(0) + time(1),
            system: time(2) + time(5),
            softirq: time(6),
            iowait: time(4),
            steal: time(7),
            idle: time(3),
        }
    }

    pub fn since(&self, last: &CpuTimes) -> CpuTimes {
        CpuTimes {
            user: self.user.saturating_sub(last.user),
            system: self.system.saturating_sub(last.system),
            softirq: self.softirq.saturating_sub(last.softirq),
            // The kernel lets these two run backwards at times.
            iowait: self.iowait.saturating_sub(last.iowait),
            steal: self.steal.saturating_sub(last.steal),
            idle: self.idle.saturating_sub(last.idle),
        }
    }

    pub fn total(&self) -> u64 {
        self.user + self.system + self.softirq + self.iowait + self.steal + self.idle
    }
}

/// /proc/stat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    pub all: CpuTimes,
    /// By the core's number: one that is taken offline leaves a gap.
    pub cores: BTreeMap<u32, CpuTimes>,
    pub context_switches: u64,
    pub runnable: u32,
}

impl Stat {
    pub fn parse(text: &str) -> Stat {
        let mut stat = Stat::default();
        for line in text.lines() {
            let Some((key, rest)) = line.split_once(' ') else {
                continue;
            };
            match key {
                "cpu" => stat.all = CpuTimes::parse(rest),
                "ctxt" => stat.context_switches = rest.trim().parse().unwrap_or(0),
                "procs_running" => stat.runnable = rest.trim().parse().unwrap_or(0),
                _ => {
                    if let Some(core) = key.strip_prefix("cpu").and_then(|core| core.parse().ok()) {
                        stat.cores.insert(core, CpuTimes::parse(rest));
                    }
                }
            }
        }
        stat
    }
}

/// Microseconds in which some task waited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressure {
    pub cpu: Option<u64>,
    pub io: Option<u64>,
    pub memory: Option<u64>,
}

impl Pressure {
    /// `suffix` is `.pressure` in a control group's directory.
    pub fn read(directory: &Path, suffix: &str) -> Pressure {
        let some = |what: &str| {
            let text = fs::read_to_string(directory.join(format!("{what}{suffix}"))).ok()?;
            some_total(&text)
        };
        Pressure {
            cpu: some("cpu"),
            io: some("io"),
            memory: some("memory"),
        }
    }
}

fn some_total(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split_once("total=")?.1.trim().parse().ok()
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interface {
    pub rx_bytes: u64,
    pub rx_packets: u64,
    pub tx_bytes: u64,
    pub tx_packets: u64,
    pub drops: u64,
}

/// /proc/net/dev, without those that never carried anything.
pub fn interfaces(text: &str) -> BTreeMap<String, Interface> {
    text.lines()
        .filter_map(|line| {
            let (name, fields) = line.split_once(':')?;
            let field: Vec<u64> = fields
                .split_whitespace()
                .map_while(|field| field.parse().ok())
                .collect();
            if field.len() < 12 {
                return None;
            }
            let interface = Interface {
                rx_bytes: field[0],
                rx_packets: field[1],
                tx_bytes: field[8],
                tx_packets: field[9],
                drops: field[3] + field[4] + field[11],
            };
            (interface != Interface::default()).then(|| (name.trim().to_owned(), interface))
        })
        .collect()
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disk {
    pub reads: u64,
    pub read_sectors: u64,
    pub writes: u64,
    pub written_sectors: u64,
    pub write_ms: u64,
    pub busy_ms: u64,
    pub flushes: u64,
}

/// /proc/diskstats: whole devices that did something, partitions left out.
pub fn disks(text: &str, is_whole: impl Fn(&str) -> bool) -> BTreeMap<String, Disk> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(2);
            let name = fields.next()?;
            let field: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
            if field.len() < 11 {
                return None;
            }
            let disk = Disk {
                reads: field[0],
                read_sectors: field[2],
                writes: field[4],
                written_sectors: field[6],
                write_ms: field[7],
                busy_ms: field[9],
                flushes: field.get(15).copied().unwrap_or(0),
            };
            let used = disk.reads + disk.writes > 0;
            (used && is_whole(name)).then(|| (name.to_owned(), disk))
        })
        .collect()
}

fn memory_available(meminfo: &str) -> u64 {
    meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}

/// The `Tcp:` line of values under the `Tcp:` line of names.
fn tcp_retransmits(snmp: &str) -> u64 {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return 0;
    };
    names
        .split_whitespace()
        .zip(values.split_whitespace())
        .find(|(name, _)| *name == "RetransSegs")
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_counts_guests_once_and_keeps_offline_gaps() {
        let stat = Stat::parse(
            "cpu  10 1 5 100 3 2 4 6 7 0\ncpu0 10 1 5 100 3 2 4 6 7 0\ncpu2 0 0 0 9 0 0 0 0 0 0\nintr 1 2\nctxt 77\nprocs_running 3\n",
        );
        assert_eq!(
            stat.all,
            CpuTimes {
                user: 11,
                system: 7,
                softirq: 4,
                iowait: 3,
                steal: 6,
                idle: 100
            }
        );
        assert_eq!(stat.cores.keys().copied().collect::<Vec<_>>(), [0, 2]);
        assert_eq!((stat.context_switches, stat.runnable), (77, 3));
    }

    #[test]
    fn interfaces_that_carry_something() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n\
            \x20   lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0\n\
            \x20 eth0:25000000  20000    0    1    2     0          0         0  300000    4000    0    5    0     0       0          0\n";
        let found = interfaces(text);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found["eth0"],
            Interface {
                rx_bytes: 25_000_000,
                rx_packets: 20_000,
                tx_bytes: 300_000,
                tx_packets: 4_000,
                drops: 8
            }
        );
    }

    #[test]
    fn disks_without_partitions_and_idle_ones() {
        let text = "254 0 vda 10 0 80 5 20 1 160 40 0 33 45 0 0 0 0 7 9\n254 1 vda1 10 0 80 5 20 1 160 40 0 33 45\n7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n";
        let found = disks(text, |name| name != "vda1");
        assert_eq!(found.len(), 1);
        assert_eq!(
            found["vda"],
            Disk {
                reads: 10,
                read_sectors: 80,
                writes: 20,
                written_sectors: 160,
                write_ms: 40,
                busy_ms: 33,
                flushes: 7
            }
        );
    }

    #[test]
    fn retransmits_are_found_by_name() {
        let text = "Ip: A B\nIp: 1 2\nTcp: RtoAlgorithm RetransSegs InErrs\nTcp: 1 42 0\n";
        assert_eq!(tcp_retransmits(text), 42);
        assert_eq!(tcp_retransmits(""), 0);
    }

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = "some avg10=10.49 avg60=5.88 avg300=3.80 total=11031135817\nfull avg10=0.00 total=5\n";
        assert_eq!(some_total(text), Some(11_031_135_817));
        assert_eq!(some_total(""), None);
    }
}
