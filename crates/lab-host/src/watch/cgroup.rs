//! A control group in the machine's place: what containers are, and how several nodes share a machine in tests.
//!
//! Version 2 has one directory per group; version 1 has one per controller. Machines that mount both (systemd's "hybrid") have
//! figures in each: whatever is found first is used, controller by controller.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::counters::Pressure;
use crate::HostError;

/// Threads whose context switches are summed; a group with more is not counted to the end.
const MOST_THREADS: usize = 4096;

/// Where a group's figures are.
#[derive(Debug)]
pub struct Group {
    /// With the mount point, up to which the parents' limits count as well.
    unified: Option<(PathBuf, PathBuf)>,
    cpu: Option<(PathBuf, PathBuf)>,
    cpuacct: Option<PathBuf>,
    cpuset: Option<PathBuf>,
    blkio: Option<PathBuf>,
}

/// At one moment.
#[derive(Debug, Clone, Default)]
pub struct GroupCounters {
    pub user_us: u64,
    pub system_us: u64,
    /// Cores' worth of time that the group may use; `None` for no limit.
    pub quota_cores: Option<f64>,
    pub periods: u64,
    pub throttled_periods: u64,
    pub pressure: Pressure,
    /// `None` where the kernel does not tell a group's apart.
    pub disks: Option<BTreeMap<String, GroupDisk>>,
    pub context_switches: u64,
    pub runnable: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupDisk {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub write_limit: Option<u64>,
    pub write_limit_bytes: Option<u64>,
}

impl Group {
    /// `name` is a path as in /proc/PID/cgroup.
    pub fn find(name: &str) -> Result<Group, HostError> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Group::find_in(name, &mounts).ok_or_else(|| HostError::Refused {
            node: "watch".to_owned(),
            why: format!("there is no control group {name:?} here (a path as in /proc/PID/cgroup is wanted)"),
        })
    }

    /// The container that this process is in, if it has a quota: its own group is the root of what it sees, where a machine's
    /// root never has one.
    pub fn of_container() -> Option<Group> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Group::find_in("/", &mounts).filter(|group| group.own_quota().is_some())
    }

    fn own_quota(&self) -> Option<f64> {
        let of_version_two = self
            .unified
            .as_ref()
            .and_then(|(directory, _)| quota_of_version_two(directory));
        of_version_two.or_else(|| quota_of_version_one(&self.cpu.as_ref()?.0))
    }

    fn find_in(name: &str, mounts: &str) -> Option<Group> {
        let relative = Path::new(name.trim_start_matches('/'));
        if relative.components().any(|part| !matches!(part, Component::Normal(_))) && name != "/" {
            return None;
        }
        let mut group = Group {
            unified: None,
            cpu: None,
            cpuacct: None,
            cpuset: None,
            blkio: None,
        };
        for (mount, controllers) in mounts.lines().filter_map(group_mount) {
            let directory = mount.join(relative);
            if !directory.is_dir() {
                continue;
            }
            let Some(controllers) = controllers else {
                group.unified = Some((directory, mount));
                continue;
            };
            for controller in controllers.split(',') {
                match controller {
                    "cpu" => group.cpu = Some((directory.clone(), mount.clone())),
                    "cpuacct" => group.cpuacct = Some(directory.clone()),
                    "cpuset" => group.cpuset = Some(directory.clone()),
                    "blkio" => group.blkio = Some(directory.clone()),
                    _ => {}
                }
            }
        }
        (group.unified.is_some() || group.cpuacct.is_some()).then_some(group)
    }

    pub fn read(&self) -> GroupCounters {
        let mut counters = GroupCounters::default();
        if let Some((directory, mount)) = &self.unified {
            let stat = pairs(&text(directory, "cpu.stat"));
            let number = |key: &str| stat.get(key).copied().unwrap_or(0);
            counters.user_us = number("user_usec");
            counters.system_us = number("system_usec");
            counters.periods = number("nr_periods");
            counters.throttled_periods = number("nr_throttled");
            counters.quota_cores = smallest(directory, mount, quota_of_version_two);
            counters.pressure = Pressure::read(directory, ".pressure");
            let limits = io_max(&text(directory, "io.max"));
            counters.disks = fs::read_to_string(directory.join("io.stat"))
                .ok()
                .map(|stat| io_stat(&stat, &limits, device_name));
            (counters.context_switches, counters.runnable) = threads(directory);
        }
        if let Some(directory) = &self.cpuacct
            && counters.user_us + counters.system_us == 0
        {
            let all_us = text(directory, "cpuacct.usage").trim().parse::<u64>().unwrap_or(0) / 1000;
            let stat = pairs(&text(directory, "cpuacct.stat"));
            let (user, system) = (
                stat.get("user").copied().unwrap_or(0),
                stat.get("system").copied().unwrap_or(0),
            );
            // The sum is exact, the two ticks say only how it divides.
            counters.system_us = (all_us as f64 * system as f64 / (user + system).max(1) as f64) as u64;
            counters.user_us = all_us - counters.system_us;
            (counters.context_switches, counters.runnable) = threads(directory);
        }
        if let Some((directory, mount)) = &self.cpu {
            let stat = pairs(&text(directory, "cpu.stat"));
            counters.periods = stat.get("nr_periods").copied().unwrap_or(0);
            counters.throttled_periods = stat.get("nr_throttled").copied().unwrap_or(0);
            counters.quota_cores = smallest(directory, mount, quota_of_version_one);
        }
        let cpuset = self
            .cpuset
            .as_ref()
            .map(|directory| text(directory, "cpuset.effective_cpus"));
        let cpuset = cpuset.or_else(|| {
            let (directory, _) = self.unified.as_ref()?;
            Some(text(directory, "cpuset.cpus.effective"))
        });
        if let Some(cores) = cpuset.as_deref().and_then(list_length) {
            counters.quota_cores = Some(counters.quota_cores.unwrap_or(f64::MAX).min(f64::from(cores)));
        }
        if let Some(directory) = &self.blkio
            && counters.disks.is_none()
        {
            counters.disks = Some(blkio(directory));
        }
        counters
    }
}

/// A mount of version 1 with its options, which name the controllers, or of version 2.
fn group_mount(line: &str) -> Option<(PathBuf, Option<String>)> {
    let (left, right) = line.split_once(" - ")?;
    let at = PathBuf::from(left.split(' ').nth(4)?);
    let mut right = right.split(' ');
    match right.next()? {
        "cgroup2" => Some((at, None)),
        "cgroup" => Some((at, Some(right.nth(1)?.to_owned()))),
        _ => None,
    }
}

fn text(directory: &Path, file: &str) -> String {
    fs::read_to_string(directory.join(file)).unwrap_or_default()
}

fn pairs(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (key, value) = line.split_once(' ')?;
            Some((key.to_owned(), value.trim().parse().ok()?))
        })
        .collect()
}

/// The smallest of the group's and its parents' limits.
fn smallest(directory: &Path, mount: &Path, limit: impl Fn(&Path) -> Option<f64>) -> Option<f64> {
    directory
        .ancestors()
        .take_while(|parent| parent.starts_with(mount))
        .filter_map(limit)
        .min_by(f64::total_cmp)
}

fn quota_of_version_two(directory: &Path) -> Option<f64> {
    cpu_max(&text(directory, "cpu.max"))
}

fn quota_of_version_one(directory: &Path) -> Option<f64> {
    let (quota, period) = (
        text(directory, "cpu.cfs_quota_us"),
        text(directory, "cpu.cfs_period_us"),
    );
    cpu_max(&format!("{} {}", quota.trim(), period.trim()))
}

/// `50000 100000` → 0.5 cores; `max 100000` and `-1 100000` → no limit.
fn cpu_max(text: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    let quota: f64 = words.next()?.parse().ok()?;
    let period: f64 = words.next()?.parse().ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

/// `0-3,8` → 5.
fn list_length(list: &str) -> Option<u32> {
    let mut length = 0;
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        length += last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1;
    }
    Some(length)
}

fn device_name(numbers: &str) -> String {
    let link = fs::read_link(Path::new("/sys/dev/block").join(numbers));
    link.ok()
        .and_then(|link| Some(link.file_name()?.to_str()?.to_owned()))
        .unwrap_or_else(|| numbers.to_owned())
}

/// `254:0 rbytes=1 wbytes=2 rios=3 wios=4 …`, one line per device.
fn io_stat(
    text: &str,
    limits: &BTreeMap<String, (Option<u64>, Option<u64>)>,
    name: impl Fn(&str) -> String,
) -> BTreeMap<String, GroupDisk> {
    text.lines()
        .filter_map(|line| {
            let (device, rest) = line.split_once(' ')?;
            let values = key_values(rest);
            let value = |key: &str| values.get(key).copied().flatten().unwrap_or(0);
            let limit = limits.get(device).copied().unwrap_or_default();
            let disk = GroupDisk {
                reads: value("rios"),
                read_bytes: value("rbytes"),
                writes: value("wios"),
                written_bytes: value("wbytes"),
                write_limit: limit.0,
                write_limit_bytes: limit.1,
            };
            Some((name(device), disk))
        })
        .collect()
}

/// `254:0 rbps=max wbps=1048576 riops=max wiops=50`: device → (writes, bytes) per second.
fn io_max(text: &str) -> BTreeMap<String, (Option<u64>, Option<u64>)> {
    text.lines()
        .filter_map(|line| {
            let (device, rest) = line.split_once(' ')?;
            let values = key_values(rest);
            let limit = |key: &str| values.get(key).copied().flatten();
            Some((device.to_owned(), (limit("wiops"), limit("wbps"))))
        })
        .collect()
}

fn key_values(text: &str) -> BTreeMap<&str, Option<u64>> {
    text.split_whitespace()
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key, value.parse().ok()))
        .collect()
}

/// Version 1: `254:0 Write 42` in several files.
fn blkio(directory: &Path) -> BTreeMap<String, GroupDisk> {
    let mut disks: BTreeMap<String, GroupDisk> = BTreeMap::new();
    let mut each = |file: &str, put: &dyn Fn(&mut GroupDisk, &str, u64)| {
        for line in text(directory, file).lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (device, kind, value) = match words[..] {
                [device, kind, value] => (device, kind, value),
                [device, value] => (device, "", value),
                _ => continue,
            };
            if let Ok(value) = value.parse()
                && device.contains(':')
            {
                put(disks.entry(device_name(device)).or_default(), kind, value);
            }
        }
    };
    each("blkio.throttle.io_serviced", &|disk, kind, value| match kind {
        "Read" => disk.reads = value,
        "Write" => disk.writes = value,
        _ => {}
    });
    each("blkio.throttle.io_service_bytes", &|disk, kind, value| match kind {
        "Read" => disk.read_bytes = value,
        "Write" => disk.written_bytes = value,
        _ => {}
    });
    each("blkio.throttle.write_iops_device", &|disk, _, value| {
        disk.write_limit = Some(value);
    });
    each("blkio.throttle.write_bps_device", &|disk, _, value| {
        disk.write_limit_bytes = Some(value);
    });
    disks
}

/// Context switches of the group's threads that are alive, and how many of them run or want to.
fn threads(directory: &Path) -> (u64, u32) {
    let (mut switches, mut runnable) = (0, 0);
    let pids = text(directory, "cgroup.procs");
    let tasks = pids.lines().flat_map(|pid| {
        fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten()
    });
    for task in tasks.take(MOST_THREADS) {
        for line in text(&task.path(), "status").lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            match key {
                "State" if value.trim().starts_with('R') => runnable += 1,
                "voluntary_ctxt_switches" | "nonvoluntary_ctxt_switches" => {
                    switches += value.trim().parse::<u64>().unwrap_or(0);
                }
                _ => {}
            }
        }
    }
    (switches, runnable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_of_both_versions() {
        assert_eq!(cpu_max("50000 100000"), Some(0.5));
        assert_eq!(cpu_max("max 100000"), None);
        assert_eq!(cpu_max("-1 100000"), None);
        assert_eq!(cpu_max(""), None);
    }

    #[test]
    fn a_parents_quota_counts() {
        let mount = std::env::temp_dir().join(format!("lab-host-group-{}", std::process::id()));
        let child = mount.join("parent/child");
        fs::create_dir_all(&child).unwrap();
        fs::write(mount.join("parent/cpu.max"), "150000 100000\n").unwrap();
        fs::write(child.join("cpu.max"), "max 100000\n").unwrap();
        let limit = smallest(&child, &mount, |directory| cpu_max(&text(directory, "cpu.max")));
        assert_eq!(limit, Some(1.5));
        fs::remove_dir_all(&mount).unwrap();
    }

    #[test]
    fn a_container_is_known_by_its_roots_quota() {
        let mount = std::env::temp_dir().join(format!("lab-host-container-{}", std::process::id()));
        fs::create_dir_all(&mount).unwrap();
        let mounts = format!("30 25 0:26 / {} rw - cgroup cgroup rw,cpu,cpuacct\n", mount.display());
        let group = || Group::find_in("/", &mounts).unwrap();
        assert_eq!(group().own_quota(), None);
        fs::write(mount.join("cpu.cfs_period_us"), "100000\n").unwrap();
        fs::write(mount.join("cpu.cfs_quota_us"), "-1\n").unwrap();
        assert_eq!(group().own_quota(), None, "a machine's root has no limit");
        fs::write(mount.join("cpu.cfs_quota_us"), "250000\n").unwrap();
        assert_eq!(group().own_quota(), Some(2.5));
        fs::remove_dir_all(&mount).unwrap();
    }

    #[test]
    fn a_group_outside_the_mount_is_refused() {
        let mounts = "30 25 0:26 / /tmp rw - cgroup2 cgroup2 rw\n";
        assert!(Group::find_in("/../etc", mounts).is_none());
        assert!(Group::find_in("/no-such-group-here", mounts).is_none());
        assert!(Group::find_in("/", mounts).is_some());
    }

    #[test]
    fn mounts_of_both_versions() {
        assert_eq!(
            group_mount("31 25 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct"),
            Some((PathBuf::from("/sys/fs/cgroup/cpu"), Some("rw,cpu,cpuacct".to_owned())))
        );
        assert_eq!(
            group_mount("31 25 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
            Some((PathBuf::from("/sys/fs/cgroup"), None))
        );
        assert_eq!(group_mount("31 25 0:27 / /sys rw - sysfs sysfs rw"), None);
    }

    #[test]
    fn io_of_version_two_with_its_limits() {
        let limits = io_max("254:0 rbps=max wbps=1048576 riops=max wiops=50\n");
        let disks = io_stat(
            "254:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n",
            &limits,
            str::to_owned,
        );
        assert_eq!(
            disks["254:0"],
            GroupDisk {
                reads: 3,
                read_bytes: 1,
                writes: 4,
                written_bytes: 2,
                write_limit: Some(50),
                write_limit_bytes: Some(1_048_576),
            }
        );
    }

    #[test]
    fn lists_of_cores() {
        assert_eq!(list_length("0-3,8\n"), Some(5));
        assert_eq!(list_length("0"), Some(1));
        assert_eq!(list_length(""), None);
    }
}
