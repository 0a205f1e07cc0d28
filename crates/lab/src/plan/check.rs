//! What types cannot say of a plan: names that must exist, numbers that must make sense, sections that need each other.

use std::collections::BTreeSet;

use lab_driver::{TlsMode, WorkloadError};

use super::{Availability, Driver, Fault, Ladder, OpenLoop, Plan, Profile, Slo, Target};

/// A finding: where in the plan (`target.0.hosts`), and what to do.
#[derive(Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: String,
    pub message: String,
}

struct Findings(Vec<Problem>);

impl Findings {
    fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Problem {
            path: path.into(),
            message: message.into(),
        });
    }

    fn require(&mut self, holds: bool, path: &str, message: &str) {
        if !holds {
            self.add(path, message);
        }
    }
}

const ROLES: &[&str] = &["load", "sql", "data", "manager"];
const TERMS: &[&str] = &["on-demand", "reserved-1y", "reserved-3y", "spot"];
/// More threads than this in one process measure the machine's scheduler.
const THREADS_MAX: u32 = 16_384;
/// What a machine can hold open to one server, by its ports.
const CONNECTIONS_MAX: u32 = 100_000;
/// Each keeps a histogram per thread of the driver.
const PHASES_MAX: u32 = 1_000;
const RATE_MAX: f64 = 1e7;

pub fn problems(plan: &Plan) -> Vec<Problem> {
    let mut findings = Findings(Vec::new());
    findings.require(
        is_name(&plan.name),
        "name",
        "is a folder's name: use letters, digits, `-`, `_` and `.`",
    );
    nodes(plan, &mut findings);
    targets(plan, &mut findings);
    workloads(plan, &mut findings);
    findings.require(
        plan.ladder.is_some()
            || plan.open_loop.is_some()
            || !plan.profiles.is_empty()
            || plan.soak.is_some()
            || plan.availability.is_some(),
        "ladder",
        "there is no load in this plan: add a section [ladder], [open_loop], [[profile]], [soak] or [availability]",
    );
    if let Some(ladder) = &plan.ladder {
        self::ladder(ladder, &mut findings);
    }
    if let Some(open) = &plan.open_loop {
        open_loop(open, plan.ladder.is_some(), &mut findings);
    }
    profiles(plan, &mut findings);
    if let Some(slo) = &plan.slo {
        self::slo(slo, plan, &mut findings);
    }
    if let Some(soak) = &plan.soak {
        threads(soak.threads_per_server, "soak.threads_per_server", &mut findings);
    }
    if let Some(prices) = &plan.prices {
        findings.require(
            TERMS.contains(&prices.terms.as_str()),
            "prices.terms",
            "is one of `on-demand`, `reserved-1y`, `reserved-3y`, `spot`",
        );
    }
    if let Some(availability) = &plan.availability {
        self::availability(availability, plan, &mut findings);
    }
    findings.0
}

pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.len() <= 100
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn unique<'a>(section: &str, names: impl Iterator<Item = &'a str>, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        let path = format!("{section}.{index}.name");
        if !is_name(name) {
            findings.add(&path, "a name is made of letters, digits, `-`, `_` and `.`");
        }
        if !seen.insert(name) {
            findings.add(
                &path,
                format!("there is a {section} `{name}` already: names are unique"),
            );
        }
    }
}

fn nodes(plan: &Plan, findings: &mut Findings) {
    unique("node", plan.nodes.iter().map(|node| node.name.as_str()), findings);
    for (index, node) in plan.nodes.iter().enumerate() {
        let path = format!("node.{index}.roles");
        findings.require(
            !node.roles.is_empty(),
            &path,
            "name at least one of `load`, `sql`, `data`, `manager`",
        );
        for role in node.roles.iter().filter(|role| !ROLES.contains(&role.as_str())) {
            findings.add(
                &path,
                format!("`{role}` is not a role: use `load`, `sql`, `data` or `manager`"),
            );
        }
        if node.ssh.is_some() && node.agent.is_some() {
            findings.add(
                format!("node.{index}.agent"),
                "a node is reached either by `ssh` or by `agent`: remove one (neither means this machine)",
            );
        }
        if !node.ssh_options.is_empty() && node.ssh.is_none() {
            findings.add(
                format!("node.{index}.ssh_options"),
                "are for `ssh`, which this node does not have: add `ssh = \"user@host\"`, or remove them",
            );
        }
    }
}

fn targets(plan: &Plan, findings: &mut Findings) {
    findings.require(
        !plan.targets.is_empty(),
        "target",
        "there is no [[target]]: add at least one with `name` and `hosts`",
    );
    unique(
        "target",
        plan.targets.iter().map(|target| target.name.as_str()),
        findings,
    );
    for (index, target) in plan.targets.iter().enumerate() {
        target_addresses(target, index, findings);
        let path = |key: &str| format!("target.{index}.{key}");
        if target.password.is_some() {
            findings.add(
                path("password"),
                "the plan is copied into the results, a password must not be: put it into a variable and write \
                 `password_env = \"ITS_NAME\"`, or into a file and write `password_file`",
            );
        }
        if target.password_env.is_some() && target.password_file.is_some() {
            findings.add(path("password_file"), "is given beside `password_env`: remove one");
        }
        tls(target, index, findings);
        if plan
            .workloads
            .iter()
            .any(|workload| workload.driver == Driver::Sysbench)
        {
            tls_of_sysbench(target, index, findings);
        }
        let over_tcp = plan.load_nodes().find(|node| node.agent.is_some());
        if let (Some(_), Some(node)) = (&target.password_file, over_tcp) {
            findings.add(
                path("password_file"),
                format!(
                    "is not sent to the agent of load node `{}`, whose line is not encrypted: use `password_env` and export that variable \
                     where the agent is started, or reach the node by `ssh`",
                    node.name
                ),
            );
        }
        reopening(target, index, plan, findings);
        for node in &target.nodes {
            if !plan.nodes.iter().any(|known| known.name == *node) {
                findings.add(path("nodes"), format!("there is no [[node]] named `{node}`"));
            }
        }
        findings.require(
            !target.database.is_empty() && target.database.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
            &path("database"),
            "is made of letters, digits and `_`",
        );
    }
}

fn reopening(target: &Target, index: usize, plan: &Plan, findings: &mut Findings) {
    let Some(after) = target.reopen_after else { return };
    let path = format!("target.{index}.reopen_after");
    findings.require(
        target.balanced.is_some(),
        &path,
        "follows a name that stands for several servers: give that name as `balanced`, or leave this out",
    );
    findings.require(
        after.as_secs_f64() >= 0.1,
        &path,
        "is at least 100 ms: each time every connection logs in and prepares its statements again",
    );
    if let Some(workload) = plan
        .workloads
        .iter()
        .find(|workload| workload.driver == Driver::Sysbench)
    {
        findings.add(
            &path,
            format!(
                "is not for sysbench, which keeps its connections: leave `driver` out of workload `{}`, or this",
                workload.name
            ),
        );
    }
}

fn target_addresses(target: &Target, index: usize, findings: &mut Findings) {
    let hosts = format!("target.{index}.hosts");
    match (&target.balanced, target.hosts.is_empty()) {
        (None, true) => findings.add(
            hosts,
            "name the servers (`hosts = [\"10.0.0.1:3306\"]`) or one address for all (`balanced = \"sql.internal:3306\"`)",
        ),
        (Some(_), false) => findings.add(hosts, "is given beside `balanced`: remove one"),
        (balanced, _) => {
            let key = if balanced.is_some() { "balanced" } else { "hosts" };
            for address in target.addresses() {
                self::address(&address, 3306, &format!("target.{index}.{key}"), findings);
            }
        }
    }
    for address in &target.status {
        self::address(address, 8306, &format!("target.{index}.status"), findings);
    }
}

fn address(address: &str, usual_port: u16, path: &str, findings: &mut Findings) {
    let valid = address
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0));
    if !valid {
        findings.add(
            path,
            format!(
                "`{address}` is not `host:port`: write for example \"{}:{usual_port}\"",
                host_of(address)
            ),
        );
    }
}

fn tls(target: &Target, index: usize, findings: &mut Findings) {
    let path = |key: &str| format!("target.{index}.{key}");
    let files = [
        ("tls_ca", &target.tls_ca),
        ("tls_cert", &target.tls_cert),
        ("tls_key", &target.tls_key),
    ];
    if target.tls == TlsMode::Disabled {
        for (key, _) in files.iter().filter(|(_, file)| file.is_some()) {
            let advice = "is of no use without TLS: add `tls = \"required\"`, \"verify_ca\" or \"verify_identity\"";
            findings.add(path(key), advice);
        }
        return;
    }
    if target.tls_cert.is_some() != target.tls_key.is_some() {
        let given = if target.tls_cert.is_some() {
            "tls_cert"
        } else {
            "tls_key"
        };
        findings.add(path(given), "`tls_cert` and `tls_key` belong together: give both");
    }
    for (key, file) in files {
        if let Some(file) = file.as_ref().filter(|file| !file.is_file()) {
            let advice = format!("there is no file {}: name one in PEM form", file.display());
            findings.add(path(key), advice);
        }
    }
}

/// The real sysbench has one way to speak TLS.
fn tls_of_sysbench(target: &Target, index: usize, findings: &mut Findings) {
    let files = [&target.tls_ca, &target.tls_cert, &target.tls_key];
    let can = match target.tls {
        TlsMode::Disabled => true,
        TlsMode::Required | TlsMode::VerifyCa => files.iter().all(|file| file.is_some()),
        TlsMode::Preferred | TlsMode::VerifyIdentity => false,
    };
    findings.require(
        can,
        &format!("target.{index}.tls"),
        "a workload has `driver = \"sysbench\"`, which speaks TLS only as `verify_ca` and with `tls_ca`, `tls_cert` and `tls_key` all given: \
         give them, or leave `driver` out",
    );
}

fn host_of(address: &str) -> &str {
    match address.split(':').next() {
        Some(host) if !host.is_empty() => host,
        _ => "127.0.0.1",
    }
}

fn workloads(plan: &Plan, findings: &mut Findings) {
    unique(
        "workload",
        plan.workloads.iter().map(|workload| workload.name.as_str()),
        findings,
    );
    for (index, workload) in plan.workloads.iter().enumerate() {
        if let Err(error) = workload.to_driver() {
            let key = match &error {
                WorkloadError::Kind(_) | WorkloadError::Empty(_) => "kind",
                WorkloadError::Option { option, .. } | WorkloadError::Value { option, .. } => option,
            };
            findings.add(format!("workload.{index}.{key}"), error.to_string());
        }
        let path = |key: &str| format!("workload.{index}.{key}");
        findings.require(
            workload.idle_connections <= CONNECTIONS_MAX,
            &path("idle_connections"),
            "is up to 100000 connections to each server",
        );
        findings.require(
            workload.idle_connections > 0 || !workload.idle_prepared,
            &path("idle_prepared"),
            "is about `idle_connections`: say how many there are",
        );
    }
    let needed = plan.ladder.is_some() || plan.open_loop.is_some() || !plan.profiles.is_empty() || plan.soak.is_some();
    findings.require(
        !(needed && plan.workloads.is_empty()),
        "workload",
        "there is no [[workload]]: add one with `name` and `kind = \"oltp_read_write\"`",
    );
}

fn threads(threads: u32, path: &str, findings: &mut Findings) {
    findings.require(
        (1..=THREADS_MAX).contains(&threads),
        path,
        "is between 1 and 16384 threads",
    );
}

fn ladder(ladder: &Ladder, findings: &mut Findings) {
    let path = "ladder.threads_per_server";
    findings.require(
        !ladder.threads_per_server.is_empty(),
        path,
        "give at least one rung, such as [1, 8, 32]",
    );
    for count in &ladder.threads_per_server {
        threads(*count, path, findings);
    }
    let rising = ladder.threads_per_server.windows(2).all(|pair| pair[0] < pair[1]);
    findings.require(rising, path, "rungs rise: sort them and name each once");
    findings.require(
        ladder.measure.as_secs_f64() >= 1.0,
        "ladder.measure",
        "is at least one second, the length of a sample",
    );
    findings.require(
        (1..=100).contains(&ladder.repeats),
        "ladder.repeats",
        "is between 1 and 100",
    );
    if let Some(max) = ladder.repeats_max {
        findings.require(
            (ladder.repeats..=100).contains(&max),
            "ladder.repeats_max",
            "is at least `repeats` and at most 100",
        );
    }
    findings.require(
        ladder.spread > 0.0 && ladder.spread < 1.0,
        "ladder.spread",
        "is a share between 0 and 1, such as 0.03",
    );
    if let Some(errors) = ladder.stop.errors {
        findings.require(
            (0.0..=1.0).contains(&errors),
            "ladder.stop.errors",
            "is a share between 0 and 1",
        );
    }
    if let Some(gain) = ladder.stop.gain {
        findings.require(
            (0.0..10.0).contains(&gain),
            "ladder.stop.gain",
            "is a factor such as 0.9 or 1.02",
        );
    }
}

fn open_loop(open: &OpenLoop, with_ladder: bool, findings: &mut Findings) {
    findings.require(
        !(open.rates.is_empty() && open.shares.is_empty()),
        "open_loop.rates",
        "give transactions per second (`rates = [500, 1000]`) or shares of the ladder's best (`shares = [0.5, 0.9]`)",
    );
    findings.require(
        open.shares.is_empty() || with_ladder,
        "open_loop.shares",
        "are of the ladder's best: add a [ladder], or give `rates`",
    );
    let positive = |values: &[f64], limit: f64| values.iter().all(|value| *value > 0.0 && *value <= limit);
    findings.require(
        positive(&open.rates, 1e8),
        "open_loop.rates",
        "are transactions per second above 0",
    );
    findings.require(
        positive(&open.shares, 2.0),
        "open_loop.shares",
        "are shares above 0, up to 2",
    );
    threads(open.threads_per_server, "open_loop.threads_per_server", findings);
}

fn profiles(plan: &Plan, findings: &mut Findings) {
    unique(
        "profile",
        plan.profiles.iter().map(|profile| profile.name.as_str()),
        findings,
    );
    for (index, profile) in plan.profiles.iter().enumerate() {
        self::profile(profile, index, findings);
    }
}

fn profile(profile: &Profile, index: usize, findings: &mut Findings) {
    let path = |key: &str| format!("profile.{index}.{key}");
    threads(profile.threads_per_server, &path("threads_per_server"), findings);
    match (&profile.burst, profile.steps.is_empty()) {
        (None, true) => findings.add(
            path("steps"),
            "say how the rate goes (`steps = [{ rate = 500, for = \"10s\" }, { rate = 500, to = 2000, for = \"20s\" }]`), or give a \
             `burst`",
        ),
        (Some(_), false) => findings.add(path("burst"), "is given beside `steps`: remove one"),
        (Some(burst), true) if burst.length >= burst.every => findings.add(
            path("burst.length"),
            "a burst is shorter than `every`, from one burst to the next",
        ),
        _ => {}
    }
    let phases = profile.times.saturating_mul(profile.steps.len().max(1) as u32);
    if !(1..=PHASES_MAX).contains(&phases) {
        findings.add(
            path("times"),
            "gives no phase, or more than 1000: write 1 or more, and fewer",
        );
        return;
    }
    let found = profile.to_results();
    let rates = || found.phases.iter().flat_map(|phase| [phase.from_per_s, phase.to_per_s]);
    let key = if profile.burst.is_some() { "burst" } else { "steps" };
    findings.require(
        rates().all(|rate| (0.0..=RATE_MAX).contains(&rate))
            && rates().any(|rate| rate > 0.0) | rates().next().is_none(),
        &path(key),
        "rates are transactions per second from 0 to 10000000, not all of them 0",
    );
    findings.require(
        found.phases.iter().all(|phase| phase.seconds >= 0.1),
        &path(key),
        "each phase is at least 100 ms long",
    );
    findings.require(
        found.phases.is_empty() || found.seconds() >= 1.0,
        &path(key),
        "is at least one second long in all, the length of a sample",
    );
}

fn slo(slo: &Slo, plan: &Plan, findings: &mut Findings) {
    findings.require(
        slo.quantile > 0.0 && slo.quantile < 1.0,
        "slo.quantile",
        "is a share such as 0.95 or 0.99",
    );
    findings.require(
        slo.latency.0.as_micros() > 0,
        "slo.latency",
        "is above zero, such as \"20ms\"",
    );
    findings.require(
        (0.005..=0.5).contains(&slo.precision),
        "slo.precision",
        "is a share between 0.005 and 0.5",
    );
    findings.require(
        !slo.search || slo.rate_max.is_some() || plan.ladder.is_some(),
        "slo.search",
        "starts from the ladder's best: add a [ladder], or give `rate_max`",
    );
    if let Some(rate) = slo.rate_max {
        findings.require(rate > 0.0, "slo.rate_max", "is above zero");
    }
}

fn availability(availability: &Availability, plan: &Plan, findings: &mut Findings) {
    threads(availability.writers, "availability.writers", findings);
    threads(
        availability.threads_per_server,
        "availability.threads_per_server",
        findings,
    );
    if let Some(name) = &availability.workload
        && !plan.workloads.iter().any(|workload| workload.name == *name)
    {
        findings.add(
            "availability.workload",
            format!("there is no [[workload]] named `{name}`"),
        );
    }
    for (index, fault) in availability.faults.iter().enumerate() {
        self::fault(fault, index, availability, plan, findings);
    }
}

fn fault(fault: &Fault, index: usize, availability: &Availability, plan: &Plan, findings: &mut Findings) {
    let path = |key: &str| format!("availability.fault.{index}.{key}");
    let kinds = [
        fault.kill.is_some(),
        fault.pause.is_some(),
        fault.cut.is_some(),
        fault.command.is_some(),
    ];
    if kinds.iter().filter(|given| **given).count() != 1 {
        findings.add(
            path("command"),
            "a fault is exactly one of `kill` and `pause` (a file with the process id), `cut` (a port) and `command`",
        );
    }
    if (fault.pause.is_some() || fault.cut.is_some()) && fault.restore_after.is_none() {
        findings.add(path("restore_after"), "say when the pause or cut ends, such as \"5s\"");
    }
    if fault.restore.is_some() != fault.restore_after.is_some() && (fault.kill.is_some() || fault.command.is_some()) {
        findings.add(
            path("restore"),
            "`restore` (a command) and `restore_after` (a time) belong together",
        );
    }
    if fault.at >= availability.measure {
        findings.add(path("at"), "lies after the end of `measure`");
    }
    if let Some(name) = &fault.node
        && !plan.nodes.iter().any(|node| node.name == *name)
    {
        findings.add(path("node"), format!("there is no [[node]] named `{name}`"));
    }
}
