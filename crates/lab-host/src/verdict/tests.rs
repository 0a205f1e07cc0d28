//! A table: what was seen, and what it must be called.

use std::collections::BTreeMap;

use lab_results::Latency;
use lab_results::host::{CpuSample, DiskProbe, DiskSample, NetworkProbe, NetworkSample, PressureSample};

use super::*;

const STARTED: u64 = 1_000_000_000_000_000;
const SECONDS: u64 = 10;

/// A second of a machine with `cores` cores, all busy to `busy`.
fn second(cores: u32, busy: f64) -> NodeSample {
    NodeSample {
        span_s: 1.0,
        cpu: CpuSample {
            user: busy * 0.8,
            system: busy * 0.2,
            idle: 1.0 - busy,
            ..CpuSample::default()
        },
        cpu_limit: f64::from(cores),
        cores: vec![busy; cores as usize],
        network: BTreeMap::from([("eth0".to_owned(), NetworkSample::default())]),
        ..NodeSample::default()
    }
}

fn node(name: &str, roles: &[&str], sample: NodeSample) -> NodeEvidence {
    let samples = (1..=SECONDS)
        .map(|second| NodeSample {
            node: name.to_owned(),
            at: Some(UnixMicros(STARTED + second * 1_000_000)),
            ..sample.clone()
        })
        .collect();
    NodeEvidence {
        name: name.to_owned(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        samples,
        ..NodeEvidence::default()
    }
}

fn evidence(nodes: Vec<NodeEvidence>) -> Evidence {
    Evidence {
        started: UnixMicros(STARTED),
        measured_s: SECONDS as f64,
        nodes,
        driver: DriverEvidence {
            threads: 16,
            transactions: 10_000,
            queries: 200_000,
            ..DriverEvidence::default()
        },
    }
}

/// Load, SQL and data nodes with nothing to do but `change`.
fn cluster(change: impl FnOnce(&mut Evidence)) -> Evidence {
    let mut evidence = evidence(vec![
        node("load", &["load"], second(8, 0.3)),
        node("sql", &["sql"], second(8, 0.4)),
        node("data", &["data"], second(8, 0.2)),
    ]);
    change(&mut evidence);
    evidence
}

/// Of each load node its threads and their processor seconds.
fn workers(evidence: &mut Evidence, of: &[(&str, u32, f64)]) {
    evidence.driver.workers = of
        .iter()
        .map(|(node, threads, cpu_s)| WorkerEvidence {
            node: (*node).to_owned(),
            threads: *threads,
            cpu_s: *cpu_s,
        })
        .collect();
}

fn each(evidence: &mut Evidence, name: &str, change: impl Fn(&mut NodeSample)) {
    let node = evidence.nodes.iter_mut().find(|node| node.name == name).unwrap();
    node.samples.iter_mut().for_each(change);
}

fn busy(evidence: &mut Evidence, name: &str, busy: f64) {
    each(evidence, name, |sample| {
        sample.cpu = second(1, busy).cpu;
        sample.cores = vec![busy; sample.cores.len()];
    });
}

fn probed(evidence: &mut Evidence, from: &str, to: &str, bytes_per_s: f64) {
    let node = evidence.nodes.iter_mut().find(|node| node.name == from).unwrap();
    let probe = NetworkProbe {
        round_trips: BTreeMap::new(),
        round_trip_cpu_us: BTreeMap::new(),
        bytes_per_s,
        streams: 4,
        packets_per_s: Some(300_000.0),
    };
    node.probes.get_or_insert_default().network.insert(to.to_owned(), probe);
}

fn carry(evidence: &mut Evidence, name: &str, rx_bytes: u64, tx_bytes: u64) {
    each(evidence, name, |sample| {
        let interface = sample.network.get_mut("eth0").unwrap();
        (interface.rx_bytes, interface.tx_bytes) = (rx_bytes, tx_bytes);
    });
}

fn disk(evidence: &mut Evidence, name: &str, disk: DiskSample, pressure_io: Option<f64>) {
    each(evidence, name, |sample| {
        sample.disks.insert("nvme0n1".to_owned(), disk.clone());
        sample.pressure = PressureSample {
            io: pressure_io,
            ..PressureSample::default()
        };
    });
}

fn probed_disk(evidence: &mut Evidence, name: &str, fdatasync_us: u64) {
    let node = evidence.nodes.iter_mut().find(|node| node.name == name).unwrap();
    let mut latency = Latency::default();
    latency.record_us(fdatasync_us);
    node.probes.get_or_insert_default().disk = Some(DiskProbe {
        path: "/data".to_owned(),
        filesystem: "ext4".to_owned(),
        sync_write: latency.clone(),
        write_fdatasync: latency.clone(),
        write_fdatasync_mdev_us: 0.0,
        random_write_fdatasync: latency,
    });
}

fn written(writes: u64, busy: f64, write_ms: f64) -> DiskSample {
    DiskSample {
        writes,
        written_bytes: writes * 4096,
        busy,
        write_ms,
        ..DiskSample::default()
    }
}

struct Case {
    name: &'static str,
    evidence: Evidence,
    bottleneck: Bottleneck,
    node: Option<&'static str>,
    /// In some sentence.
    words: &'static str,
}

#[test]
fn verdicts() {
    use Bottleneck::{DataCpu, Disk, LoadGenerator, Locks, NetworkBandwidth, NetworkPackets, None as Nothing, SqlCpu};
    let case = |name, bottleneck, node, words, evidence| Case {
        name,
        evidence,
        bottleneck,
        node,
        words,
    };
    let cases = [
        case("nothing full", Nothing, None, "16 clients", cluster(|_| {})),
        case(
            "one client",
            Nothing,
            None,
            "latency is the limit",
            cluster(|e| e.driver.threads = 1),
        ),
        case(
            "a full load node voids the rung whatever else is full",
            LoadGenerator,
            Some("load"),
            "load: CPU 90 % busy, 720 % of 8 × 100 % (limit 85 %)",
            cluster(|e| {
                busy(e, "load", 0.9);
                busy(e, "sql", 0.99);
            }),
        ),
        case(
            "full threads of the load generator on an idle machine",
            LoadGenerator,
            Some("load"),
            "1.90 cores on 2 threads: 95 %",
            cluster(|e| {
                workers(e, &[("load", 2, 19.0)]);
            }),
        ),
        case(
            "one load node of three is enough to void a rung, and is named",
            LoadGenerator,
            Some("load3"),
            "load3: the load generator used 3.80 cores on 4 threads: 95 %",
            cluster(|e| {
                e.nodes.push(node("load2", &["load"], second(8, 0.3)));
                e.nodes.push(node("load3", &["load"], second(8, 0.5)));
                workers(e, &[("load", 2, 5.0), ("load2", 4, 20.0), ("load3", 4, 38.0)]);
                busy(e, "sql", 0.97);
            }),
        ),
        case(
            "the machine of a load node that is full is named",
            LoadGenerator,
            Some("load2"),
            "load2: CPU 93 %",
            cluster(|e| {
                e.nodes.push(node("load2", &["load"], second(8, 0.93)));
            }),
        ),
        case(
            "threads that have time do not",
            SqlCpu,
            Some("sql"),
            "sql: CPU 97 %",
            cluster(|e| {
                workers(e, &[("load", 2, 12.0)]);
                busy(e, "sql", 0.97);
            }),
        ),
        case(
            "data nodes' CPU",
            DataCpu,
            Some("data"),
            "data: CPU 95 %",
            cluster(|e| busy(e, "data", 0.95)),
        ),
        case(
            "the fuller of two tiers",
            DataCpu,
            Some("data"),
            "also: sql: CPU 86 %",
            cluster(|e| {
                busy(e, "sql", 0.86);
                busy(e, "data", 0.99);
            }),
        ),
        case(
            "stolen time is gone",
            SqlCpu,
            Some("sql"),
            "30 % stolen by the hypervisor",
            cluster(|e| {
                busy(e, "sql", 0.65);
                each(e, "sql", |sample| sample.cpu.steal = 0.3);
            }),
        ),
        case(
            "a quota that runs out",
            SqlCpu,
            Some("sql"),
            "quota ran out in 90 % of the periods",
            cluster(|e| {
                each(e, "sql", |sample| {
                    sample.cpu = second(1, 0.8).cpu;
                    sample.cpu_limit = 0.5;
                    sample.throttled = Some(0.9);
                });
            }),
        ),
        case(
            "others' work on a container's cores is not its own",
            Nothing,
            None,
            "no CPU is full",
            cluster(|e| {
                each(e, "sql", |sample| {
                    sample.cores = vec![1.0; 8];
                    sample.cpu_limit = 0.5;
                    sample.throttled = Some(0.0);
                });
            }),
        ),
        case(
            "a container whose machine is full leaves a doubt",
            Nothing,
            None,
            "sql: its tasks waited for a core 70 % of the time though its quota was not used up",
            cluster(|e| {
                each(e, "sql", |sample| {
                    sample.cpu_limit = 0.5;
                    sample.throttled = Some(0.1);
                    sample.pressure.cpu = Some(0.7);
                });
            }),
        ),
        case(
            "one thread that fills its core",
            SqlCpu,
            Some("sql"),
            "busiest core 99 %",
            cluster(|e| each(e, "sql", |sample| sample.cores[3] = 0.99)),
        ),
        case(
            "a single client's chain of work on one core is no queue",
            Nothing,
            None,
            "one client waits",
            cluster(|e| {
                e.driver.threads = 1;
                each(e, "sql", |sample| sample.cores[3] = 0.99);
            }),
        ),
        case(
            "one machine: the server works more",
            SqlCpu,
            Some("box"),
            "load generator 1.20 cores, server 2.60",
            evidence(vec![shared(0.97, 1.2, 2.6)]),
        ),
        case(
            "one machine: the load generator works more",
            LoadGenerator,
            Some("box"),
            "shares this machine",
            evidence(vec![shared(0.97, 2.2, 1.6)]),
        ),
        case(
            "one machine: neither of them works most",
            SqlCpu,
            Some("box"),
            "other processes used 2.88 of 4 cores",
            evidence(vec![shared(0.97, 0.4, 0.6)]),
        ),
        case(
            "the probed bandwidth is reached",
            NetworkBandwidth,
            Some("data"),
            "network out 8.80 Gb/s, 96 % of the probed 9.20 Gb/s (limit 85 %)",
            cluster(|e| {
                probed(e, "data", "sql", 1.15e9);
                carry(e, "data", 50_000_000, 1_100_000_000);
                busy(e, "sql", 0.86);
            }),
        ),
        case(
            "what comes in is held against what the others can send here",
            NetworkBandwidth,
            Some("sql"),
            "network in",
            cluster(|e| {
                probed(e, "data", "sql", 1.15e9);
                carry(e, "sql", 1_100_000_000, 0);
            }),
        ),
        case(
            "of two full ends the sender is named",
            NetworkBandwidth,
            Some("data"),
            "also: sql: network in",
            cluster(|e| {
                probed(e, "data", "sql", 1e9);
                carry(e, "sql", 1_020_000_000, 0);
                carry(e, "data", 0, 1_010_000_000);
            }),
        ),
        case(
            "loopback's probe is no ceiling",
            Nothing,
            None,
            "no CPU is full",
            cluster(|e| {
                probed(e, "sql", "self", 1e6);
                carry(e, "sql", 0, 10_000_000);
            }),
        ),
        case(
            "the cloud says that its bandwidth is used up",
            NetworkBandwidth,
            Some("sql"),
            "allowance was exceeded 70 times (limit 0)",
            cluster(|e| {
                each(e, "sql", |sample| {
                    sample.allowances.insert("bw_out_allowance_exceeded".to_owned(), 7);
                });
            }),
        ),
        case(
            "or its packets",
            NetworkPackets,
            Some("sql"),
            "packet allowance",
            cluster(|e| {
                each(e, "sql", |sample| {
                    sample.allowances.insert("pps_allowance_exceeded".to_owned(), 1);
                });
            }),
        ),
        case(
            "a wall that nobody probed",
            NetworkBandwidth,
            Some("data"),
            "its ceiling was not probed, 40 TCP retransmits/s",
            cluster(|e| {
                carry(e, "data", 0, 12_500_000);
                each(e, "data", |sample| sample.tcp_retransmits = 40);
            }),
        ),
        case(
            "interrupts fill one core",
            NetworkPackets,
            Some("sql"),
            "in interrupts",
            cluster(|e| {
                each(e, "sql", |sample| {
                    sample.cores[0] = 1.0;
                    sample.cpu.softirq = 0.1;
                });
            }),
        ),
        case(
            "a busy disk that makes tasks wait",
            Disk,
            Some("data"),
            "nvme0n1 busy 97 % of the time (limit 85 %), 900 writes/s at 1.05 ms each (probed: 0.20 ms",
            cluster(|e| {
                disk(e, "data", written(900, 0.97, 1.05), Some(0.5));
                probed_disk(e, "data", 200);
            }),
        ),
        case(
            "a disk that is busy with one write at a time holds nobody up",
            Nothing,
            None,
            "no disk is full",
            cluster(|e| {
                disk(e, "data", written(4000, 0.97, 0.2), Some(0.1));
                probed_disk(e, "data", 200);
            }),
        ),
        case(
            "waits for an idle device: the quota is elsewhere",
            Disk,
            Some("sql"),
            "tasks waited for the disk 80 % of the time (limit 60 %)",
            cluster(|e| disk(e, "sql", written(50, 0.05, 0.2), Some(0.8))),
        ),
        case(
            "waits for a disk that no commit waits for",
            Nothing,
            None,
            "no disk is full",
            cluster(|e| {
                disk(e, "sql", written(50, 0.05, 0.2), Some(0.8));
                e.driver.mean_latency_us = Some(1000.0);
                e.driver.commit_latency_us = Some(50.0);
            }),
        ),
        case(
            "a container's limit of writes",
            Disk,
            Some("sql"),
            "49.0 writes/s, 98 % of the 50.0 that it may",
            cluster(|e| {
                let mut limited = written(49, 0.05, 0.2);
                limited.write_limit = Some(50);
                disk(e, "sql", limited, None);
            }),
        ),
        case(
            "the load node's disk is nobody's limit",
            Nothing,
            None,
            "no CPU is full",
            cluster(|e| disk(e, "load", written(900, 1.0, 9.0), Some(0.9))),
        ),
        case(
            "attempts thrown away",
            Locks,
            None,
            "40 % of the clients' time",
            cluster(|e| e.driver.wasted_us = 64_000_000),
        ),
        case(
            "work thrown away comes before the CPU it burns",
            Locks,
            None,
            "also: sql: CPU",
            cluster(|e| {
                e.driver.wasted_us = 64_000_000;
                busy(e, "sql", 0.93);
            }),
        ),
        case(
            "statements that wait for locks",
            Locks,
            None,
            "10.0 times as long as with one thread",
            cluster(|e| {
                e.driver.locking_latency_us = Some(2000.0);
                e.driver.locking_latency_one_thread_us = Some(200.0);
                e.driver.mean_latency_us = Some(6000.0);
                e.driver.one_thread_latency_us = Some(3000.0);
            }),
        ),
        case(
            "everything slower alike is no lock",
            Nothing,
            None,
            "16 clients",
            cluster(|e| {
                e.driver.locking_latency_us = Some(2000.0);
                e.driver.locking_latency_one_thread_us = Some(200.0);
                e.driver.mean_latency_us = Some(30_000.0);
                e.driver.one_thread_latency_us = Some(3000.0);
            }),
        ),
    ];
    for case in cases {
        let verdict = judge(&case.evidence);
        let context = format!("{}: {verdict:#?}", case.name);
        assert_eq!(verdict.bottleneck, case.bottleneck, "{context}");
        assert_eq!(verdict.node.as_deref(), case.node, "{context}");
        assert!(
            verdict.evidence.iter().any(|sentence| sentence.contains(case.words)),
            "{context}"
        );
        assert!((0.2..=1.0).contains(&verdict.confidence), "{context}");
    }
}

/// A machine of four cores with load and servers on it.
fn shared(busy: f64, load: f64, server: f64) -> NodeEvidence {
    let mut sample = second(4, busy);
    sample.processes = BTreeMap::from([("sysbench".to_owned(), load), ("mariadbd".to_owned(), server)]);
    NodeEvidence {
        load_processes: vec!["sysbench".to_owned()],
        server_processes: vec!["mariadbd".to_owned()],
        ..node("box", &["load", "sql", "data"], sample)
    }
}

#[test]
fn samples_outside_the_interval_do_not_count() {
    let mut evidence = cluster(|e| busy(e, "sql", 0.99));
    evidence.started = UnixMicros(STARTED + 60_000_000);
    let verdict = judge(&evidence);
    assert_eq!(verdict.bottleneck, Bottleneck::None);
    assert_eq!(verdict.confidence, 0.0);
    assert!(verdict.evidence[0].contains("no sample"), "{verdict:?}");
}

#[test]
fn a_node_that_was_not_watched_leaves_a_doubt() {
    let sure = judge(&cluster(|e| busy(e, "sql", 0.99)));
    let unsure = judge(&cluster(|e| {
        busy(e, "sql", 0.99);
        e.nodes[2].samples.clear();
    }));
    assert_eq!(unsure.bottleneck, Bottleneck::SqlCpu);
    assert!(unsure.confidence < sure.confidence);
    assert!(
        unsure
            .evidence
            .iter()
            .any(|sentence| sentence == "data was not watched: its limits were not looked at")
    );
}

#[test]
fn the_more_others_work_the_less_sure() {
    let confidence = |server| judge(&evidence(vec![shared(0.97, 0.4, server)])).confidence;
    assert!(confidence(3.2) > confidence(2.0));
    assert!(confidence(2.0) > confidence(0.6));
}

#[test]
fn the_closer_to_the_limit_the_less_sure() {
    let confidence = |share| judge(&cluster(|e| busy(e, "sql", share))).confidence;
    assert!(confidence(0.86) < confidence(0.92));
    assert!(confidence(0.92) < confidence(0.99));
}
