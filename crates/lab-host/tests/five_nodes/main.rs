//! Five nodes on one machine, each a network namespace and a control group with its own cores, disk limit and agent:
//!
//! ```text
//!              ┌─ sql1 (relay) ── data1 (mariadbd)
//!   load ──────┤                                       over veth pairs and a bridge
//!  (sysbench)  └─ sql2 (relay) ── data2 (mariadbd)
//! ```
//!
//! The load generator, the SQL nodes' CPU, the data nodes' CPU, the network and the disk are each made the bottleneck in turn;
//! watched through the agents, each must be judged to be what it is, and a cluster with time to spare to be none.
//!
//! Needs root, mariadbd and sysbench, and about two minutes: `cargo test -p lab-host --test five_nodes -- --ignored`.

#![allow(clippy::unwrap_used)]

mod cluster;
mod traffic;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use lab_host::verdict::{DriverEvidence, Evidence, NodeEvidence};
use lab_host::watch::now;
use lab_host::{Host, ProbePlan, Reach, WatchPlan, judge};
use lab_results::rung::Bottleneck;
use lab_results::{NodeProbes, UnixMicros};

use cluster::{Cluster, Node, TOKEN};
use traffic::{Database, Load};

const MEASURED: Duration = Duration::from_secs(7);

/// What is made scarce, with what load, and what that must be called on which kind of node.
struct Scenario {
    name: &'static str,
    load: Load,
    limit: fn(&Cluster),
    probe_network: bool,
    bottleneck: Bottleneck,
    role: Option<&'static str>,
}

const POINTS: Load = Load {
    script: "oltp_point_select",
    arguments: &[],
    threads: 16,
    rate: 0,
};

/// Quotas are so small that they bind even where others keep the machine busy.
fn scenarios() -> Vec<Scenario> {
    let scenario = |name, load, limit, bottleneck, role| Scenario {
        name,
        load,
        limit,
        probe_network: false,
        bottleneck,
        role,
    };
    vec![
        scenario(
            "time to spare",
            Load {
                threads: 4,
                rate: 100,
                ..POINTS
            },
            |_| {},
            Bottleneck::None,
            None,
        ),
        scenario(
            "a slow load generator",
            POINTS,
            |cluster| cluster.limit_cores("load", 0.03),
            Bottleneck::LoadGenerator,
            Some("load"),
        ),
        scenario(
            "slow SQL nodes",
            POINTS,
            |cluster| {
                cluster.limit_cores("sql1", 0.012);
                cluster.limit_cores("sql2", 0.012);
            },
            Bottleneck::SqlCpu,
            Some("sql"),
        ),
        scenario(
            "slow data nodes",
            POINTS,
            |cluster| {
                cluster.limit_cores("data1", 0.03);
                cluster.limit_cores("data2", 0.03);
            },
            Bottleneck::DataCpu,
            Some("data"),
        ),
        Scenario {
            probe_network: true,
            ..scenario(
                "a narrow network",
                Load {
                    script: "oltp_read_only",
                    arguments: &["--point-selects=0", "--skip-trx=on"],
                    ..POINTS
                },
                |cluster| {
                    cluster.limit_bandwidth("data1", "10mbit");
                    cluster.limit_bandwidth("data2", "10mbit");
                },
                Bottleneck::NetworkBandwidth,
                Some("data"),
            )
        },
        scenario(
            "a slow disk",
            Load {
                script: "oltp_update_non_index",
                arguments: &[],
                ..POINTS
            },
            |cluster| {
                // A tenth of a second each: whatever else a commit does, be it on a busy machine, is little beside it.
                cluster.limit_writes("data1", 10);
                cluster.limit_writes("data2", 10);
            },
            Bottleneck::Disk,
            Some("data"),
        ),
    ]
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["agent", address] => return cluster::agent(address),
        ["relay", listen, to] => return traffic::relay(listen, to),
        _ => {}
    }
    if !words.contains(&"--ignored") {
        println!("five_nodes: ignored, needs root and two minutes; run with --ignored");
        return ExitCode::SUCCESS;
    }
    if let Some(why) = cluster::why_not() {
        // Nothing that could be installed: it is told, and no failure of CI.
        println!("five_nodes: cannot run on this machine: {why}");
        println!("0 passed, 0 failed");
        return ExitCode::SUCCESS;
    }
    let only = words.iter().find(|word| !word.starts_with('-'));
    let cluster = Cluster::start();
    let databases = [Database::start(&cluster, "data1"), Database::start(&cluster, "data2")];
    for database in &databases {
        database.prepare(&cluster);
    }
    let hosts: Vec<Host> = cluster.nodes.iter().map(connect).collect();
    let (mut passed, mut failed) = (0, 0);
    for scenario in scenarios() {
        if only.is_some_and(|only| !scenario.name.contains(only)) {
            continue;
        }
        cluster.lift_limits();
        let right = run(&cluster, &hosts, &scenario);
        *if right { &mut passed } else { &mut failed } += 1;
    }
    if only.is_none_or(|only| "vanishes".contains(only)) {
        a_node_vanishes_and_comes_back(&cluster, &hosts[4]);
        passed += 1;
    }
    drop(hosts);
    drop(databases);
    println!("{passed} passed, {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// A cut cable ends a line without a word: that must be noticed, and the samples must go on when the node is there again.
fn a_node_vanishes_and_comes_back(cluster: &Cluster, host: &Host) {
    let wait_for = |what: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !what() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{} for too long",
                host.name()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        began.elapsed().as_secs_f64()
    };
    cluster.cable(host.name(), "down");
    let noticed_s = wait_for(&|| !host.alive());
    cluster.cable(host.name(), "up");
    host.take_samples();
    let back_s = wait_for(&|| !host.take_samples().is_empty());
    println!("ok    a node vanishes: noticed after {noticed_s:.1} s, samples again {back_s:.1} s after it came back");
}

fn connect(node: &Node) -> Host {
    let reach = Reach::Agent {
        address: node.agent_address(),
        token: TOKEN.to_owned(),
    };
    let host = Host::connect(&node.name, &reach).unwrap();
    let plan = WatchPlan {
        cgroup: Some(node.group.clone()),
        ..WatchPlan::default()
    };
    host.watch(&plan).unwrap();
    host
}

fn run(cluster: &Cluster, hosts: &[Host], scenario: &Scenario) -> bool {
    (scenario.limit)(cluster);
    let mut evidence = Evidence {
        nodes: cluster.nodes.iter().map(evidence_of).collect(),
        ..Evidence::default()
    };
    if scenario.probe_network {
        probe_data_to_sql(cluster, hosts, &mut evidence);
    }
    let mut sysbench = scenario.load.start(cluster);
    std::thread::sleep(Duration::from_secs(2));
    for host in hosts {
        host.take_samples();
    }
    evidence.started = now();
    std::thread::sleep(MEASURED);
    evidence.measured_s = (now().0 - evidence.started.0) as f64 / 1e6;
    // The last second's samples are on their way.
    let began = Instant::now();
    let end = UnixMicros(evidence.started.0 + (evidence.measured_s * 1e6) as u64);
    for (host, node) in hosts.iter().zip(&mut evidence.nodes) {
        while began.elapsed() < Duration::from_secs(5) {
            node.samples.extend(host.take_samples());
            if node.samples.last().is_some_and(|sample| sample.at > Some(end)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let summary = sysbench.finish();
    evidence.driver = DriverEvidence {
        threads: scenario.load.threads,
        transactions: summary.transactions,
        mean_latency_us: Some(summary.mean_latency_us),
        ..DriverEvidence::default()
    };

    let verdict = judge(&evidence);
    let role = verdict
        .node
        .as_deref()
        .map(|name| name.trim_end_matches(char::is_numeric));
    let right = verdict.bottleneck == scenario.bottleneck && role == scenario.role;
    println!(
        "{} {}: {:?} {} ({:.0} %), {:.0} transactions/s",
        if right { "ok   " } else { "WRONG" },
        scenario.name,
        verdict.bottleneck,
        verdict.node.as_deref().unwrap_or("-"),
        100.0 * verdict.confidence,
        summary.transactions_per_s,
    );
    for sentence in &verdict.evidence {
        println!("        {sentence}");
    }
    right
}

fn evidence_of(node: &Node) -> NodeEvidence {
    NodeEvidence {
        name: node.name.clone(),
        roles: vec![node.role().to_owned()],
        ..NodeEvidence::default()
    }
}

fn probe_data_to_sql(cluster: &Cluster, hosts: &[Host], evidence: &mut Evidence) {
    let host = |name: &str| hosts.iter().find(|host| host.name() == name).unwrap();
    for (from, to) in [("data1", "sql1"), ("data2", "sql2")] {
        let width = lab_host::probe::network::Width::default();
        let door = host(to).network_listener(&cluster.node(to).address).unwrap();
        let probe = host(from).network_probe(&door, width).unwrap();
        let node = evidence.nodes.iter_mut().find(|node| node.name == from).unwrap();
        // The agent's own word for the rest, so that the way of a probe's answer is walked as well.
        let nothing = ProbePlan {
            cpu: false,
            memory: false,
            network: false,
            wakeup: false,
            stalls_s: 0.0,
            ..ProbePlan::default()
        };
        let probes: NodeProbes = host(from).probe(&nothing).unwrap();
        assert_eq!(probes.node, from);
        node.probes.insert(probes).network.insert(to.to_owned(), probe);
    }
}
