//! The nodes: a namespace with an address, a control group in every hierarchy that there is, and an agent outside the group
//! that reports the group as the node. All of it goes when the cluster is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use lab_host::agent::{AgentOptions, serve_tcp};

pub const TOKEN: &str = "five nodes on one machine";
const AGENT_PORT: u16 = 21100;
const NETWORK: &str = "10.211.7";
const ROLES: [&str; 5] = ["load", "sql1", "sql2", "data1", "data2"];
/// Without a scenario's limit: enough for what the scenarios ask, with two cores for all.
const CORES: f64 = 1.0;

pub struct Cluster {
    pub nodes: Vec<Node>,
    pub directory: PathBuf,
    bridge: String,
    _alone: fs::File,
}

pub struct Node {
    pub name: String,
    pub address: String,
    /// As /proc/PID/cgroup names it.
    pub group: String,
    namespace: String,
    /// In each hierarchy.
    group_directories: Vec<PathBuf>,
    agent: Option<Child>,
}

impl Cluster {
    pub fn start() -> Cluster {
        let alone = alone();
        clear_leftovers();
        let id = std::process::id();
        let directory = std::env::temp_dir().join(format!("lab-five-nodes.{id}"));
        fs::create_dir_all(&directory).unwrap();
        // Interface names have 15 characters.
        let mut cluster = Cluster {
            nodes: Vec::new(),
            directory,
            bridge: format!("lab{id}"),
            _alone: alone,
        };
        shell(&format!(
            "ip link add {0} type bridge && ip addr add {NETWORK}.254/24 dev {0} && ip link set {0} up",
            cluster.bridge
        ));
        for (index, name) in ROLES.into_iter().enumerate() {
            let node = Node::create(name, index, id, &cluster.bridge);
            cluster.nodes.push(node);
            cluster.nodes[index].start_agent();
        }
        cluster.lift_limits();
        cluster
    }

    pub fn node(&self, name: &str) -> &Node {
        self.nodes.iter().find(|node| node.name == name).unwrap()
    }

    pub fn lift_limits(&self) {
        for node in &self.nodes {
            self.limit_cores(&node.name, CORES);
            let _ = Command::new("ip")
                .args([
                    "netns",
                    "exec",
                    &node.namespace,
                    "tc",
                    "qdisc",
                    "del",
                    "dev",
                    "eth0",
                    "root",
                ])
                .stderr(Stdio::null())
                .status();
            node.limit_writes(0);
        }
    }

    pub fn limit_cores(&self, name: &str, cores: f64) {
        let node = self.node(name);
        let period = 100_000;
        let quota = (cores * f64::from(period)) as u32;
        assert!(
            put(&node.group_directories, "cpu.max", &format!("{quota} {period}"))
                || put(&node.group_directories, "cpu.cfs_quota_us", &quota.to_string()),
            "no quota for {name}"
        );
    }

    /// `up` or `down`.
    pub fn cable(&self, name: &str, state: &str) {
        shell(&format!("ip -n {} link set eth0 {state}", self.node(name).namespace));
    }

    pub fn limit_bandwidth(&self, name: &str, rate: &str) {
        shell(&format!(
            "ip netns exec {} tc qdisc add dev eth0 root tbf rate {rate} burst 32kbit latency 50ms",
            self.node(name).namespace
        ));
    }

    pub fn limit_writes(&self, name: &str, per_s: u32) {
        assert!(self.node(name).limit_writes(per_s), "no limit of writes for {name}");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            node.end();
        }
        let _ = Command::new("ip").args(["link", "del", &self.bridge]).status();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl Node {
    fn create(name: &str, index: usize, id: u32, bridge: &str) -> Node {
        let node = Node {
            name: name.to_owned(),
            address: format!("{NETWORK}.{}", index + 1),
            group: format!("/lab-five-nodes-{id}/{name}"),
            namespace: format!("lab{id}-{name}"),
            group_directories: Vec::new(),
            agent: None,
        };
        let (namespace, address) = (&node.namespace, &node.address);
        let outside = format!("lv{id}{index}");
        shell(&format!(
            "ip netns add {namespace} && ip link add {outside} type veth peer name eth0 netns {namespace} \
             && ip link set {outside} master {bridge} up \
             && ip -n {namespace} addr add {address}/24 dev eth0 \
             && ip -n {namespace} link set eth0 up && ip -n {namespace} link set lo up"
        ));
        node.with_group()
    }

    fn with_group(mut self) -> Node {
        self.group_directories = make_group(&self.group).unwrap();
        assert!(!self.group_directories.is_empty(), "no control groups here");
        self
    }

    pub fn role(&self) -> &str {
        self.name.trim_end_matches(char::is_numeric)
    }

    pub fn agent_address(&self) -> String {
        format!("{}:{AGENT_PORT}", self.address)
    }

    fn start_agent(&mut self) {
        let me = std::env::current_exe().unwrap();
        // nsenter and not `ip netns exec`, which would hide /sys/fs/cgroup behind a new /sys.
        let agent = Command::new("nsenter")
            .arg(format!("--net=/run/netns/{}", self.namespace))
            .arg(me)
            .args(["agent", &self.agent_address()])
            .spawn()
            .unwrap();
        self.agent = Some(agent);
        wait_for(&self.agent_address());
    }

    /// A command within the node: in its namespace and its groups.
    pub fn command(&self, command: &str) -> Command {
        let mut line = String::new();
        for directory in &self.group_directories {
            line += &format!("echo $$ > {}/cgroup.procs && ", directory.display());
        }
        line += &format!("exec nsenter --net=/run/netns/{} {command}", self.namespace);
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).stdin(Stdio::null());
        shell
    }

    /// 0 for no limit.
    fn limit_writes(&self, per_s: u32) -> bool {
        limit_writes(&self.group_directories, per_s)
    }

    fn end(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            let _ = agent.kill();
            let _ = agent.wait();
        }
        for directory in &self.group_directories {
            for pid in fs::read_to_string(directory.join("cgroup.procs"))
                .unwrap_or_default()
                .lines()
            {
                let _ = Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status();
            }
        }
        let began = Instant::now();
        for directory in &self.group_directories {
            while fs::remove_dir(directory).is_err() && directory.exists() && began.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(20));
            }
            // Goes with the last node.
            let _ = fs::remove_dir(directory.parent().unwrap());
        }
        let _ = Command::new("ip").args(["netns", "del", &self.namespace]).status();
    }
}

/// Two clusters at once would share addresses, and the processor that they watch: the second waits.
fn alone() -> fs::File {
    let lock = fs::File::create(std::env::temp_dir().join("lab-five-nodes.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// What a run that was killed could not take away: namespaces with what runs in them, bridges, groups, data.
fn clear_leftovers() {
    let dead = |id: &str| !id.is_empty() && id.parse::<u32>().is_ok() && !Path::new("/proc").join(id).exists();
    for name in names_in("/run/netns") {
        let id = name.trim_start_matches("lab").split('-').next().unwrap_or_default();
        if name.starts_with("lab") && dead(id) {
            let _ = Command::new("sh")
                .args([
                    "-c",
                    "kill -9 $(ip netns pids $1) 2>/dev/null; ip netns del $1",
                    "sh",
                    &name,
                ])
                .status();
            let _ = Command::new("ip")
                .args(["link", "del", &format!("lab{id}")])
                .stderr(Stdio::null())
                .status();
        }
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(PathBuf::from);
    for place in places.filter(|place| place.starts_with("/sys/fs/cgroup")) {
        for name in names_in(&place) {
            let group = place.join(&name);
            if name.strip_prefix("lab-five-nodes-").is_some_and(dead) {
                let began = Instant::now();
                // Whoever was just killed is in it for a moment.
                while group.exists() && began.elapsed() < Duration::from_secs(5) {
                    names_in(&group)
                        .iter()
                        .for_each(|node| drop(fs::remove_dir(group.join(node))));
                    let _ = fs::remove_dir(&group);
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }
    let temporary = std::env::temp_dir();
    for name in names_in(&temporary) {
        if name.strip_prefix("lab-five-nodes.").is_some_and(dead) {
            let _ = fs::remove_dir_all(temporary.join(name));
        }
    }
}

fn names_in(directory: impl AsRef<Path>) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// Why there cannot be five nodes here, for whoever reads that the test did not run; `None` if there can.
pub fn why_not() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("it needs root: run it with sudo".to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if let Some(program) = PROGRAMS.iter().find(|program| !is_there(program)) {
        return Some(format!(
            "`{program}` is not installed: `make install-tools` names the package"
        ));
    }
    let id = std::process::id();
    let network = Command::new("sh")
        .args(["-c", NETWORK_TRIAL, "sh", &format!("labtry{id}")])
        .output()
        .unwrap();
    if !network.status.success() {
        let said = String::from_utf8_lossy(&network.stderr);
        return Some(format!("no network namespaces with `tc tbf` here: {}", said.trim()));
    }
    let group = format!("/lab-five-nodes-{id}/trial");
    let directories = match make_group(&group) {
        Ok(directories) => directories,
        Err(error) => return Some(format!("no control group can be made here: {error}")),
    };
    let cpu = put(&directories, "cpu.max", "50000 100000") || put(&directories, "cpu.cfs_quota_us", "50000");
    let disk = limit_writes(&directories, 100);
    for directory in &directories {
        let _ = fs::remove_dir(directory);
        let _ = fs::remove_dir(directory.parent().unwrap());
    }
    let temporary = std::env::temp_dir();
    match (cpu, disk) {
        (false, _) => Some("no control group's CPU can be limited here (cpu.max, cpu.cfs_quota_us)".to_owned()),
        (_, false) => Some(format!(
            "no control group's writes to device {} of {} can be limited here (io.max, blkio.throttle): set TMPDIR to a folder on a disk",
            device_of(&temporary),
            temporary.display()
        )),
        _ => None,
    }
}

const PROGRAMS: [&str; 8] = [
    "ip",
    "tc",
    "nsenter",
    "mariadbd",
    "mariadb-install-db",
    "mariadb",
    "sysbench",
    "sh",
];

/// What a cluster is made of, once, and gone again.
const NETWORK_TRIAL: &str = "
    ip netns add $1 &&
    ip link add $1 type bridge &&
    ip link add v$1 type veth peer name eth0 netns $1 &&
    ip netns exec $1 tc qdisc add dev eth0 root tbf rate 10mbit burst 32kbit latency 50ms
    result=$?
    ip link del v$1 2>/dev/null; ip link del $1 2>/dev/null; ip netns del $1 2>/dev/null
    exit $result";

/// The group's directory in every hierarchy that there is.
fn make_group(group: &str) -> std::io::Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let mut wanted: Vec<PathBuf> = mounts
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let at = left.split(' ').nth(4)?;
            let kind = right.split(' ').next()?;
            let options = right.rsplit(' ').next()?;
            let useful = kind == "cgroup2"
                || kind == "cgroup"
                    && options
                        .split(',')
                        .any(|option| ["cpu", "cpuacct", "blkio"].contains(&option));
            useful.then(|| PathBuf::from(at))
        })
        .collect();
    wanted.sort();
    wanted.dedup();
    let mut directories = Vec::new();
    for mount in wanted {
        let directory = mount.join(group.trim_start_matches('/'));
        let parent = directory.parent().expect("a group has two levels");
        fs::create_dir_all(parent)?;
        for level in [&*mount, parent] {
            // Version 2 hands controllers down by word; where version 1 has them, there is nothing to hand.
            for controller in ["+cpu", "+io"] {
                let _ = fs::write(level.join("cgroup.subtree_control"), controller);
            }
        }
        fs::create_dir_all(&directory)?;
        // A node gets what its quota allows before anybody else on this machine gets anything: how busy others keep the machine is
        // then no part of what is judged. Quotas are small, so nobody starves.
        for level in [parent, &*directory] {
            let _ = fs::write(level.join("cpu.shares"), "262144");
            let _ = fs::write(level.join("cpu.weight"), "10000");
        }
        directories.push(directory);
    }
    Ok(directories)
}

fn put(directories: &[PathBuf], file: &str, value: &str) -> bool {
    directories
        .iter()
        .map(|directory| directory.join(file))
        .filter(|file| file.exists())
        .any(|file| fs::write(file, value).is_ok())
}

/// 0 for no limit.
fn limit_writes(directories: &[PathBuf], per_s: u32) -> bool {
    let device = device_of(&std::env::temp_dir());
    let of_version_two = if per_s == 0 {
        "max".to_owned()
    } else {
        per_s.to_string()
    };
    put(
        directories,
        "blkio.throttle.write_iops_device",
        &format!("{device} {per_s}"),
    ) || put(directories, "io.max", &format!("{device} wiops={of_version_two}"))
}

/// The node's agent: this very program.
pub fn agent(address: &str) -> ExitCode {
    match serve_tcp(address, TOKEN, &AgentOptions::default(), |_| {}) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

pub fn wait_for(address: &str) {
    let began = Instant::now();
    while std::net::TcpStream::connect(address).is_err() {
        assert!(began.elapsed() < Duration::from_secs(60), "nobody listens on {address}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn shell(line: &str) {
    let output = Command::new("sh").args(["-c", line]).output().unwrap();
    assert!(
        output.status.success(),
        "{line}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// `254:0`: the whole device that holds `path`.
fn device_of(path: &Path) -> String {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(2);
            let (device, at) = (fields.next()?, fields.nth(1)?);
            path.starts_with(at).then(|| (at.len(), device.to_owned()))
        })
        .max()
        .map(|(_, device)| {
            let partition = Path::new("/sys/dev/block").join(&device);
            match fs::read_to_string(partition.join("../dev")) {
                Ok(whole) if partition.join("partition").exists() => whole.trim().to_owned(),
                _ => device,
            }
        })
        .unwrap()
}
