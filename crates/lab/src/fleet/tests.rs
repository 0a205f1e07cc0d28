//! Several agents on this machine as load nodes, over TCP and in this process, against a server that speaks the protocol and holds no
//! data; and what becomes of a rung when one of them dies, stalls, lies, or sees less than the others.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use lab_driver::{Identity, Idle, Password, Pem, Survive, Target, Tls, TlsMode};
use lab_host::agent::{Clock, Heard, Service, Talk, serve_tcp};
use lab_host::{AgentOptions, Reach};
use lab_results::run::{Arrivals, Load};
use mysql_wire::Capabilities;
use support::{Execution, Reply, Server};

use super::*;

#[path = "../../../lab-driver/tests/support/mod.rs"]
mod support;

const TOKEN: &str = "sixteen characters and more";
const ANSWERS: fn(&Execution) -> Reply = |execution| match execution.sql.starts_with("SELECT") {
    true => Reply::Rows(1),
    false => Reply::Ok,
};

/// An agent that listens, with what it is made of.
fn agent(service: impl Service + 'static, clock: Clock) -> SocketAddr {
    let options = AgentOptions {
        services: vec![Arc::new(service)],
        clock,
        ..AgentOptions::default()
    };
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || serve_tcp("127.0.0.1:0", TOKEN, &options, |address| sender.send(address).unwrap()));
    receiver.recv_timeout(Duration::from_secs(30)).unwrap()
}

fn there(name: &str, address: SocketAddr) -> Host {
    let reach = Reach::Agent {
        address: address.to_string(),
        token: TOKEN.to_owned(),
    };
    Host::connect(name, &reach).unwrap()
}

fn node(name: &str) -> Host {
    there(name, agent(LoadService::default(), Clock::default()))
}

fn here(name: &str) -> Host {
    Host::connect_with(name, &Reach::Local, vec![Arc::new(LoadService::default())]).unwrap()
}

fn fleet(hosts: &[&Host]) -> Fleet {
    Fleet::new(hosts.iter().map(|host| host.name().to_owned()))
}

fn target(server: &str) -> Target {
    Target {
        servers: vec![server.to_owned()],
        user: "lab".to_owned(),
        password: Password::new("geheim"),
        database: "test".to_owned(),
        tls: Tls::default(),
    }
}

fn database(server: &str) -> Database {
    Database::new("ours", &target(server), None, true).unwrap()
}

fn closed(connections: u32, measure_ms: u64) -> RungSpec {
    let load = Load::Closed {
        threads_per_server: connections,
        threads_total: connections,
    };
    RungSpec::new(load, Duration::ZERO, Duration::from_millis(measure_ms), 1)
}

fn workload() -> Workload {
    Workload::new("oltp_point_select", &BTreeMap::new()).unwrap()
}

fn run(fleet: &mut Fleet, hosts: &[&Host], server: &str, spec: &RungSpec) -> Result<Carried, FleetError> {
    run_until(fleet, hosts, server, spec, &Stop::new(), &mut |_| {})
}

fn run_until(
    fleet: &mut Fleet,
    hosts: &[&Host],
    server: &str,
    spec: &RungSpec,
    stop: &Stop,
    progress: &mut dyn FnMut(&Second),
) -> Result<Carried, FleetError> {
    let task = Task {
        workload: &workload(),
        driver: Driver::Latsdb,
        spec,
    };
    fleet.run(hosts, &|_| Ok(database(server)), &task, stop, progress)
}

/// A line that can be cut or held up.
struct Wire {
    address: SocketAddr,
    state: Arc<AtomicU8>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

const FLOWS: u8 = 0;
const HOLDS: u8 = 1;
const SHUT: u8 = 2;

impl Wire {
    fn to(far: SocketAddr) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Wire {
            address: listener.local_addr().unwrap(),
            state: Arc::new(AtomicU8::new(FLOWS)),
            streams: Arc::default(),
        };
        let (state, streams) = (wire.state.clone(), wire.streams.clone());
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if state.load(Ordering::Relaxed) == SHUT {
                    continue;
                }
                let far = TcpStream::connect(far).unwrap();
                for stream in [&near, &far] {
                    stream.set_nodelay(true).unwrap();
                    streams.lock().unwrap().push(stream.try_clone().unwrap());
                }
                for (mut from, mut to) in [
                    (near.try_clone().unwrap(), far.try_clone().unwrap()),
                    (far.try_clone().unwrap(), near.try_clone().unwrap()),
                ] {
                    let state = state.clone();
                    thread::spawn(move || {
                        let mut chunk = [0; 4096];
                        while let Ok(read @ 1..) = from.read(&mut chunk) {
                            while state.load(Ordering::Relaxed) == HOLDS {
                                thread::sleep(Duration::from_millis(5));
                            }
                            if to.write_all(&chunk[..read]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        wire
    }

    fn set(&self, state: u8) {
        self.state.store(state, Ordering::Relaxed);
        if state == SHUT {
            for stream in self.streams.lock().unwrap().drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

#[test]
fn nodes_give_together_what_they_give_each() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let (one, two, three) = (node("one"), here("two"), node("three"));
    let hosts = [&one, &two, &three];
    let mut spec = closed(7, 1300);
    spec.warmup = Duration::from_millis(400);
    let mut seen = Vec::new();
    let carried = run_until(
        &mut fleet(&hosts),
        &hosts,
        &server.address,
        &spec,
        &Stop::new(),
        &mut |second| {
            seen.push((second.second, second.transactions));
        },
    )
    .unwrap();
    let (outcome, shares) = (carried.outcome, carried.shares);
    assert_eq!(outcome.failure, None);
    assert!(!outcome.interrupted);
    let threads: Vec<(&str, u32)> = shares
        .iter()
        .map(|share| (share.node.as_str(), share.threads))
        .collect();
    assert_eq!(threads, [("one", 3), ("two", 2), ("three", 2)]);
    assert!(
        shares
            .iter()
            .all(|share| share.transactions > 0 && share.worker_threads > 0 && share.cpu_s > 0.0)
    );
    let sum: u64 = shares.iter().map(|share| share.transactions).sum();
    assert_eq!(outcome.totals.transactions, sum);
    assert_eq!(outcome.latency.count(), sum);
    assert_eq!(outcome.statements["point_select"].count, sum);
    assert_eq!(outcome.totals.rows, sum);
    assert_eq!(seen.iter().map(|(second, _)| *second).collect::<Vec<_>>(), [-1, 0, 1]);
    assert_eq!(
        seen.iter().skip(1).map(|(_, transactions)| transactions).sum::<u64>(),
        sum
    );
    let of_seconds = outcome.seconds.iter().filter(|second| second.second >= 0);
    let mut merged = lab_results::Latency::default();
    of_seconds.for_each(|second| merged.merge(&second.latency));
    assert_eq!(merged, outcome.latency, "seconds hold whole histograms");
    assert!((1.29..1.31).contains(&outcome.measured_s));
    assert_eq!(server.log.lock().unwrap().len(), 7);
}

#[test]
fn fewer_connections_than_nodes_leave_the_others_out() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let (one, two) = (node("one"), node("two"));
    let carried = run(
        &mut fleet(&[&one, &two]),
        &[&one, &two],
        &server.address,
        &closed(1, 300),
    )
    .unwrap();
    assert_eq!(carried.shares.len(), 1);
    assert_eq!(carried.shares[0].node, "one");
}

#[test]
fn an_open_loops_rate_is_shared() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let (one, two) = (node("one"), node("two"));
    let mut spec = closed(6, 1000);
    spec.load = Load::Open {
        rate_per_s: 300.0,
        arrivals: Arrivals::Even,
        threads_total: 6,
        profile: None,
    };
    let carried = run(&mut fleet(&[&one, &two]), &[&one, &two], &server.address, &spec).unwrap();
    let given = carried.outcome.totals.transactions + carried.outcome.totals.backlog;
    assert!(given.abs_diff(300) <= 6, "{given}");
    assert!(carried.outcome.service_latency.is_some());
    assert!(
        carried
            .shares
            .iter()
            .all(|share| share.transactions.abs_diff(150) <= 10)
    );
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let (one, two) = (node("one"), node("two"));
    let stop = Stop::new();
    let asked = stop.clone();
    let began = Instant::now();
    let carried = run_until(
        &mut fleet(&[&one, &two]),
        &[&one, &two],
        &server.address,
        &closed(4, 60_000),
        &stop,
        &mut |second| {
            if second.second == 0 {
                asked.request();
            }
        },
    )
    .unwrap();
    assert!(began.elapsed() < Duration::from_secs(20));
    assert!(carried.outcome.interrupted && carried.outcome.failure.is_none());
    assert!(carried.outcome.totals.transactions > 0);
    assert!(
        (1.0..5.0).contains(&carried.outcome.measured_s),
        "{}",
        carried.outcome.measured_s
    );
}

#[test]
fn a_node_that_dies_voids_the_rung_and_may_come_back_for_the_next() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let wire = Wire::to(agent(LoadService::default(), Clock::default()));
    let (one, two) = (node("one"), there("two", wire.address));
    let hosts = [&one, &two];
    let mut fleet = fleet(&hosts);
    let began = Instant::now();
    let carried = run_until(
        &mut fleet,
        &hosts,
        &server.address,
        &closed(4, 60_000),
        &Stop::new(),
        &mut |second| {
            if second.second == 0 {
                wire.set(SHUT);
            }
        },
    )
    .unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "the others are stopped");
    let failure = carried.outcome.failure.unwrap();
    assert!(
        failure.contains("load node two") && failure.contains("connection ended"),
        "{failure}"
    );
    assert!(!carried.outcome.interrupted, "nobody asked for an end");
    assert!(
        carried.shares.iter().all(|share| share.transactions > 0),
        "{:?}",
        carried.shares
    );
    assert_eq!(
        carried.outcome.totals.transactions,
        carried.shares.iter().map(|share| share.transactions).sum::<u64>()
    );

    // The one that lost its line does not go on sending.
    let sent = || server.statements().len();
    while let before = sent()
        && {
            thread::sleep(Duration::from_millis(300));
            sent() != before
        }
    {
        assert!(began.elapsed() < Duration::from_secs(40), "it sends and sends");
    }

    let error = run(&mut fleet, &hosts, &server.address, &closed(4, 300)).unwrap_err();
    assert!(
        matches!(&error, FleetError::Node { node, .. } if node == "two"),
        "{error}"
    );
    wire.set(FLOWS);
    // A line is tried again after five seconds.
    let began = Instant::now();
    let carried = loop {
        match run(&mut fleet, &hosts, &server.address, &closed(4, 300)) {
            Ok(carried) => break carried,
            Err(error) => assert!(began.elapsed() < Duration::from_secs(30), "{error}"),
        }
        thread::sleep(Duration::from_millis(200));
    };
    assert_eq!(carried.outcome.failure, None);
    assert_eq!(fleet.given_up(), None);
}

#[test]
fn a_node_that_stays_away_is_given_up() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let wire = Wire::to(agent(LoadService::default(), Clock::default()));
    let two = there("two", wire.address);
    let mut fleet = fleet(&[&two]);
    wire.set(SHUT);
    for _ in 0..FAILURES_MAX {
        assert_eq!(fleet.given_up(), None);
        let error = run(&mut fleet, &[&two], &server.address, &closed(1, 300)).unwrap_err();
        fleet.gave_up_a_rung(&error);
    }
    assert_eq!(fleet.given_up(), Some("two"));
}

#[test]
fn a_node_that_stalls_is_not_waited_for() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let wire = Wire::to(agent(LoadService::default(), Clock::default()));
    let (one, two) = (node("one"), there("two", wire.address));
    let hosts = [&one, &two];
    let mut fleet = fleet(&hosts);
    fleet.limits.silence = Duration::from_secs(3);
    let began = Instant::now();
    let carried = run_until(
        &mut fleet,
        &hosts,
        &server.address,
        &closed(4, 60_000),
        &Stop::new(),
        &mut |second| {
            if second.second == 0 {
                wire.set(HOLDS);
            }
        },
    )
    .unwrap();
    assert!(began.elapsed() < Duration::from_secs(30));
    let failure = carried.outcome.failure.unwrap();
    assert!(failure.contains("load node two: it said nothing for 3 s"), "{failure}");

    // It stands still before it can say who it is, too.
    fleet.limits.hello = Duration::from_secs(1);
    let error = run(&mut fleet, &hosts, &server.address, &closed(4, 300))
        .unwrap_err()
        .to_string();
    assert!(error.contains("load node two"), "{error}");

    // What it was told meanwhile it does when it goes on: its old load ends, and the next rung is as any.
    wire.set(FLOWS);
    fleet.limits = Limits::default();
    let carried = run(&mut fleet, &hosts, &server.address, &closed(4, 300)).unwrap();
    assert_eq!(carried.outcome.failure, None);
}

#[test]
fn another_version_is_refused_with_what_to_do() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    for version in [
        Version {
            lab: "0.0.9".to_owned(),
            ..Version::ours()
        },
        Version {
            protocol: protocol::PROTOCOL + 1,
            ..Version::ours()
        },
    ] {
        let (one, two) = (
            node("one"),
            there("two", agent(LoadService::pretending(version.clone()), Clock::default())),
        );
        let mut fleet = fleet(&[&one, &two]);
        let error = run(&mut fleet, &[&one, &two], &server.address, &closed(4, 300))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("load node two") && error.contains(&version.to_string()),
            "{error}"
        );
        assert!(error.contains("install the same latsdb on both"), "{error}");
        let problems = fleet.look(&[&one, &two], 4, &|_| Vec::new(), &Stop::new());
        assert_eq!(problems.len(), 1, "{problems:?}");
    }
    assert!(server.statements().is_empty());
}

#[test]
fn an_agent_without_the_service_is_told_apart() {
    let reach = Reach::Local;
    let bare = Host::connect("bare", &reach).unwrap();
    let error = run(&mut fleet(&[&bare]), &[&bare], "127.0.0.1:1", &closed(1, 300))
        .unwrap_err()
        .to_string();
    assert!(error.contains("load node bare") && error.contains("`load`"), "{error}");
}

#[test]
fn a_node_that_cannot_reach_the_target_is_named_with_it() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let (one, two) = (node("one"), node("two"));
    let hosts = [&one, &two];
    let mut fleet = fleet(&hosts);
    let seen_by = |host: &Host| match host.name() {
        "two" => database("127.0.0.1:1"),
        _ => database(&server.address),
    };
    let task = Task {
        workload: &workload(),
        driver: Driver::Latsdb,
        spec: &closed(4, 300),
    };
    let error = fleet
        .run(&hosts, &|host| Ok(seen_by(host)), &task, &Stop::new(), &mut |_| {})
        .unwrap_err();
    assert!(matches!(error, FleetError::Target { .. }));
    let error = error.to_string();
    for part in ["load node two", "target ours", "127.0.0.1:1"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(server.statements().is_empty(), "nobody begins alone");

    let problems = fleet.look(&hosts, 4, &|host| vec![seen_by(host)], &Stop::new());
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("load node two: target ours: "), "{problems:?}");
    assert_eq!(fleet.pids().len(), 2);
}

#[test]
fn more_connections_than_a_node_may_have_are_refused_before_the_series() {
    let one = node("one");
    let problems = fleet(&[&one]).look(&[&one], u64::from(u32::MAX), &|_| Vec::new(), &Stop::new());
    assert!(
        problems[0].starts_with("load node one: ") && problems[0].contains("ulimit"),
        "{problems:?}"
    );
}

#[test]
fn a_password_is_taken_from_the_agents_environment_or_refused_by_name() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let one = node("one");
    assert!(!one.is_private() && here("two").is_private());
    let task = Task {
        workload: &workload(),
        driver: Driver::Latsdb,
        spec: &closed(1, 300),
    };
    let run = |variable: &str| {
        let database = Database::new("ours", &target(&server.address), Some(variable), one.is_private()).unwrap();
        let database = |_: &Host| Ok(database.clone());
        fleet(&[&one])
            .run(&[&one], &database, &task, &Stop::new(), &mut |_| {})
            .unwrap_err()
            .to_string()
    };
    let error = run("LAB_NOBODY_SETS_THIS");
    for part in ["load node one", "target ours", "LAB_NOBODY_SETS_THIS", "export", "ssh"] {
        assert!(error.contains(part), "{error}");
    }
    // One that is set is used: the server does not know it as a password.
    let error = run("PATH");
    assert!(
        error.contains("1045") && !error.contains(&std::env::var("PATH").unwrap()),
        "{error}"
    );
}

#[test]
fn a_secret_is_not_printed() {
    let printed = format!("{:?}", database("h:1"));
    assert!(!printed.contains("geheim"), "{printed}");
    // Over a line that others can read it is not there at all.
    let over_tcp = Database::new("ours", &target("h:1"), Some("ITS_NAME"), false).unwrap();
    let line = serde_json::to_string(&over_tcp).unwrap();
    assert!(!line.contains("geheim") && line.contains("ITS_NAME"), "{line}");
    let error = Database::new("ours", &target("h:1"), None, false).unwrap_err();
    assert!(
        error.contains("target ours") && error.contains("password_env"),
        "{error}"
    );
}

#[test]
fn certificates_travel_and_a_key_only_in_private() {
    let pem = |name: &str| Pem::new(std::path::Path::new(name), format!("-- {name} --"));
    let mut target = target("h:1");
    target.tls = Tls {
        mode: TlsMode::VerifyCa,
        ca: Some(pem("ca.pem")),
        identity: Some(Identity {
            certificate: pem("own.pem"),
            key: pem("key.pem"),
        }),
    };
    let sent = Database::new("ours", &target, None, true).unwrap();
    assert!(!format!("{sent:?}").contains("-- key.pem --"));
    let line = serde_json::to_string(&sent).unwrap();
    let there = serde_json::from_str::<Database>(&line).unwrap().to_driver().unwrap();
    assert_eq!(
        (there.tls, there.password),
        (target.tls.clone(), target.password.clone())
    );
    let error = Database::new("ours", &target, Some("X"), false).unwrap_err();
    assert!(error.contains("the client's key") && error.contains("ssh"), "{error}");
    target.tls.identity = None;
    let sent = Database::new("ours", &target, Some("X"), false).unwrap();
    assert!(serde_json::to_string(&sent).unwrap().contains("-- ca.pem --"));
}

/// When each connection sent its first statement.
fn firsts() -> (Server, Arc<Mutex<BTreeMap<usize, Instant>>>) {
    let firsts: Arc<Mutex<BTreeMap<usize, Instant>>> = Arc::default();
    let seen = firsts.clone();
    let server = Server::start(Capabilities::default(), move |execution| {
        seen.lock()
            .unwrap()
            .entry(execution.connection)
            .or_insert_with(Instant::now);
        ANSWERS(execution)
    });
    (server, firsts)
}

#[test]
fn a_clock_that_is_off_does_not_move_the_start() {
    let (server, firsts) = firsts();
    let (ahead, behind) = (3_600_000_000, -86_400_000_000);
    let (one, two) = (
        there("one", agent(LoadService::default(), Clock { ahead_us: ahead })),
        there("two", agent(LoadService::default(), Clock { ahead_us: behind })),
    );
    let hosts = [&one, &two];
    let before = clock::now();
    let carried = run(&mut fleet(&hosts), &hosts, &server.address, &closed(4, 1000)).unwrap();
    assert_eq!(carried.outcome.failure, None);
    let started = carried.outcome.started;
    assert!(before < started && started < clock::now(), "by our clock");
    assert_eq!(carried.outcome.seconds.len(), 1);
    let firsts = firsts.lock().unwrap();
    assert_eq!(firsts.len(), 4);
    let spread = *firsts.values().max().unwrap() - *firsts.values().min().unwrap();
    assert!(spread < Duration::from_millis(500), "{spread:?}");
}

/// Says that it began, at once, whatever the time.
#[derive(Debug)]
struct Hasty;

impl Service for Hasty {
    fn name(&self) -> &str {
        SERVICE
    }

    fn serve(&self, talk: &Talk<'_>) {
        while let Heard::Said(said) = talk.hear(Duration::from_secs(20)) {
            let answer = match serde_json::from_value(said).unwrap() {
                ToNode::Hello(version) => FromNode::Hello {
                    version,
                    pid: 1,
                    sysbench: None,
                },
                ToNode::Begin(_) => FromNode::Ready,
                ToNode::Start { .. } => FromNode::Begun { late_us: 0 },
                ToNode::Stop => return,
                ToNode::Look { .. } | ToNode::GoOn => continue,
            };
            talk.say(&answer).unwrap();
        }
    }
}

#[test]
fn a_clock_that_is_set_just_then_voids_the_rung() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let (one, two) = (node("one"), there("two", agent(Hasty, Clock::default())));
    let carried = run(
        &mut fleet(&[&one, &two]),
        &[&one, &two],
        &server.address,
        &closed(2, 60_000),
    );
    // Whether the other had begun when it was stopped is a matter of milliseconds.
    let why = match carried {
        Ok(carried) => carried.outcome.failure.unwrap(),
        Err(error) => error.to_string(),
    };
    assert!(
        why.contains("load node two: it began") && why.contains("before the others"),
        "{why}"
    );
}

#[test]
fn a_rung_that_survives_does_so_on_the_nodes() {
    // Every hundredth statement loses its connection.
    let server = Server::start(Capabilities::default(), |execution| match execution.number % 100 {
        99 => Reply::Drop,
        _ => ANSWERS(execution),
    });
    let (one, two) = (node("one"), node("two"));
    let mut spec = closed(4, 1000);
    spec.survive = Some(Survive::default());
    let carried = run(&mut fleet(&[&one, &two]), &[&one, &two], &server.address, &spec).unwrap();
    assert_eq!(carried.outcome.failure, None);
    assert!(carried.outcome.totals.reconnects > 0);
    let lost = carried.outcome.errors.iter().find(|error| error.code == 2013).unwrap();
    assert!(lost.count > 0);
    let events: Vec<&str> = carried.outcome.events.iter().map(|event| event.what.as_str()).collect();
    assert!(
        events
            .iter()
            .any(|what| what.starts_with("one: ") || what.starts_with("two: ")),
        "{events:?}"
    );

    spec.survive = None;
    let carried = run(&mut fleet(&[&one, &two]), &[&one, &two], &server.address, &spec).unwrap();
    let failure = carried.outcome.failure.unwrap();
    assert!(
        failure.starts_with("load node ") && failure.contains("connection lost"),
        "{failure}"
    );
}

#[test]
fn what_is_ordered_is_what_is_run() {
    for kind in Workload::kinds() {
        let workload = Workload::new(kind, &BTreeMap::new()).unwrap();
        let mut spec = closed(5, 1234);
        spec.warmup = Duration::from_millis(777);
        spec.survive = Some(Survive {
            reopen_after: Some(Duration::from_millis(250)),
            ..Survive::default()
        });
        spec.idle = Some(Idle {
            per_server: 7,
            prepared: true,
        });
        let task = Task {
            workload: &workload,
            driver: Driver::Latsdb,
            spec: &spec,
        };
        let order = Order::new(database("h:1"), &task, Share::nth(5, 1, 2), (1, 2));
        let line = serde_json::to_string(&order).unwrap();
        let order: Order = serde_json::from_str(&line).unwrap();
        assert_eq!(Workload::new(&order.kind, &order.options).unwrap(), workload);
        let there = order.spec;
        assert_eq!(
            (there.warmup, there.measure, there.seed),
            (spec.warmup, spec.measure, spec.seed)
        );
        assert_eq!(
            (there.load, there.survive, there.ignore_errors),
            (spec.load, spec.survive, spec.ignore_errors)
        );
        assert_eq!(
            there.share,
            Some(Share {
                first: 3,
                connections: 2,
                of: 5
            })
        );
        assert_eq!(there.idle.map(|idle| idle.per_server), Some(3), "the other has four");
    }
}
