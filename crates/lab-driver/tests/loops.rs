//! The loops against a server that errs, closes and keeps silent at will: what is sent after what, and what is counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Execution, Reply, Server, target};
use lab_driver::{DriverError, Idle, Outcome, Password, RungSpec, Share, Stop, Survive, Workload};
use lab_results::run::{Arrivals, Load, Phase, Profile};
use mysql_wire::Capabilities;

const ANSWERS: fn(&Execution) -> Reply = |execution| {
    if execution.sql.contains("BETWEEN") {
        Reply::Rows(100)
    } else if execution.sql.starts_with("SELECT") {
        Reply::Rows(1)
    } else {
        Reply::Ok
    }
};

fn workload(kind: &str, options: &[(&str, &str)]) -> Workload {
    let options: BTreeMap<String, String> = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Workload::new(kind, &options).unwrap()
}

fn closed(connections: u32, measure_ms: u64) -> RungSpec {
    let load = Load::Closed {
        threads_per_server: connections,
        threads_total: connections,
    };
    RungSpec::new(load, Duration::ZERO, Duration::from_millis(measure_ms), 1)
}

fn run(server: &Server, workload: &Workload, spec: &RungSpec) -> Outcome {
    lab_driver::run(&server.target(), workload, spec, &Stop::new(), &mut |_| {}).unwrap()
}

fn quick_survival() -> Option<Survive> {
    Some(Survive {
        backoff_first: Duration::from_millis(2),
        backoff_most: Duration::from_millis(20),
        connect_timeout: Duration::from_millis(500),
        answer_timeout: Duration::from_millis(300),
        spread_after: Duration::from_millis(50),
        reopen_after: None,
    })
}

#[test]
fn a_transaction_is_sysbenchs_twenty_statements() {
    for capabilities in [Capabilities::default(), Capabilities::DEPRECATE_EOF] {
        let server = Server::start(capabilities, ANSWERS);
        let outcome = run(&server, &workload("oltp_read_write", &[]), &closed(3, 300));
        let transactions = outcome.totals.transactions;
        assert!(transactions > 3 && outcome.failure.is_none());
        // Each connection is within one transaction when the interval ends.
        let beyond = |count: u64, each: u64| {
            let least = transactions * each;
            assert!((least..=least + 3 * each).contains(&count), "{count} of {least}");
        };
        beyond(outcome.totals.queries, 20);
        beyond(outcome.totals.rows, 410);
        beyond(outcome.totals.key_lookups, 10);
        beyond(outcome.statements["point_select"].count, 10);
        beyond(outcome.statements["commit"].count, 1);
        assert_eq!(outcome.latency.count(), transactions);
        // Every transaction that was begun was finished, also those after the end of the interval.
        for connection in &*server.log.lock().unwrap() {
            assert_eq!(connection.len() % 20, 0);
            for transaction in connection.chunks(20) {
                assert_eq!((transaction[0].as_str(), transaction[19].as_str()), ("BEGIN", "COMMIT"));
                let count = |text: &str| transaction.iter().filter(|sql| sql.contains(text)).count();
                assert_eq!((count("BETWEEN"), count("WHERE id=?"), count("INSERT")), (4, 13, 1));
            }
        }
    }
}

#[test]
fn an_ignored_error_begins_the_transaction_again_without_rollback() {
    let server = Server::start(Capabilities::default(), |execution| {
        if execution.sql.starts_with("UPDATE") && execution.number % 7 == 0 {
            Reply::Error(1213)
        } else {
            ANSWERS(execution)
        }
    });
    let outcome = run(&server, &workload("oltp_write_only", &[]), &closed(2, 300));
    let failed: u64 = outcome.errors.iter().map(|error| error.count).sum();
    assert!(outcome.errors.iter().all(|error| error.code == 1213) && failed > 0);
    assert_eq!(outcome.totals.retries, failed);
    assert!(outcome.totals.wasted_us > 0 && outcome.failure.is_none());
    let log = server.statements();
    assert!(!log.iter().any(|sql| sql == "ROLLBACK"));
    let (begun, committed) = (
        log.iter().filter(|sql| *sql == "BEGIN").count() as u64,
        log.iter().filter(|sql| *sql == "COMMIT").count() as u64,
    );
    assert!(begun - committed >= failed, "{begun} {committed} {failed}");
}

#[test]
fn any_other_error_ends_the_rung_and_keeps_what_was_measured() {
    let server = Server::start(Capabilities::default(), |execution| {
        if execution.number == 500 {
            Reply::Error(1062)
        } else {
            ANSWERS(execution)
        }
    });
    let begun = Instant::now();
    let outcome = run(&server, &workload("oltp_read_write", &[]), &closed(2, 20_000));
    assert!(begun.elapsed() < Duration::from_secs(15));
    assert!(outcome.failure.unwrap().contains("1062"));
    assert!(outcome.totals.queries >= 490 && outcome.measured_s < 15.0);
}

#[test]
fn who_survives_rolls_back_and_goes_on() {
    let server = Server::start(Capabilities::default(), |execution| {
        if execution.sql.starts_with("INSERT") && execution.number % 5 == 0 {
            Reply::Error(1062)
        } else {
            ANSWERS(execution)
        }
    });
    let mut spec = closed(2, 300);
    spec.survive = quick_survival();
    let outcome = run(&server, &workload("oltp_write_only", &[]), &spec);
    assert!(outcome.failure.is_none() && outcome.totals.retries > 0);
    for connection in &*server.log.lock().unwrap() {
        for pair in connection.windows(2) {
            if pair[0] == "ROLLBACK" {
                assert_eq!(pair[1], "BEGIN");
            }
        }
    }
    assert!(server.statements().iter().any(|sql| sql == "ROLLBACK"));
}

#[test]
fn a_lost_connection_is_opened_and_prepared_again() {
    let server = Server::start(Capabilities::default(), |execution| {
        if execution.number % 400 == 399 {
            Reply::Drop
        } else {
            ANSWERS(execution)
        }
    });
    let mut spec = closed(3, 600);
    spec.survive = quick_survival();
    let outcome = run(&server, &workload("oltp_read_write", &[]), &spec);
    assert!(outcome.failure.is_none());
    assert!(outcome.totals.reconnects > 0 && outcome.errors.iter().any(|error| error.code == 2013));
    assert!(
        outcome
            .events
            .iter()
            .any(|event| event.what.contains("connected again"))
    );
    // A new connection begins with a whole transaction.
    for connection in &*server.log.lock().unwrap() {
        assert!(connection.first().is_none_or(|sql| sql == "BEGIN"));
    }
}

#[test]
fn a_lost_connection_ends_the_rung_of_who_does_not_survive() {
    let server = Server::start(Capabilities::default(), |execution| {
        if execution.number == 100 {
            Reply::Drop
        } else {
            ANSWERS(execution)
        }
    });
    let outcome = run(&server, &workload("oltp_read_write", &[]), &closed(1, 20_000));
    assert!(outcome.failure.unwrap().contains("connection lost"));
}

#[test]
fn silence_counts_as_a_lost_connection() {
    let server = Server::start(Capabilities::default(), |execution| {
        if execution.connection == 0 && execution.number == 30 {
            Reply::Silence
        } else {
            ANSWERS(execution)
        }
    });
    let mut spec = closed(1, 1000);
    spec.survive = quick_survival();
    let outcome = run(&server, &workload("oltp_read_write", &[]), &spec);
    assert!(
        outcome
            .errors
            .iter()
            .any(|error| error.message.contains("no answer within"))
    );
    assert!(outcome.totals.reconnects == 1 && outcome.failure.is_none());
}

#[test]
fn the_next_server_takes_over() {
    let dying = Server::start(Capabilities::default(), |execution| {
        if execution.number >= 100 {
            Reply::Drop
        } else {
            ANSWERS(execution)
        }
    });
    let living = Server::start(Capabilities::default(), ANSWERS);
    let mut spec = closed(4, 600);
    spec.survive = quick_survival();
    let outcome = lab_driver::run(
        &target(&[&dying.address, &living.address]),
        &workload("oltp_point_select", &[]),
        &spec,
        &Stop::new(),
        &mut |_| {},
    )
    .unwrap();
    assert!(outcome.failure.is_none() && outcome.totals.reconnects >= 2);
    assert!(living.statements().len() > dying.statements().len());
}

#[test]
fn a_server_that_only_refuses_is_left() {
    // A node that lost its cluster says 1047 for ever; one whose disk is full, 1114.
    for code in [1047, 1114] {
        let useless = Server::start(Capabilities::default(), move |_| Reply::Error(code));
        let useful = Server::start(Capabilities::default(), ANSWERS);
        let mut spec = closed(2, 500);
        spec.survive = quick_survival();
        let servers = [useless.address.as_str(), useful.address.as_str()];
        let load = workload("oltp_point_select", &[]);
        let outcome = lab_driver::run(&target(&servers), &load, &spec, &Stop::new(), &mut |_| {}).unwrap();
        assert!(outcome.failure.is_none());
        assert!(useless.statements().len() < useful.statements().len() / 2, "{code}");
        assert!(outcome.errors.iter().all(|error| error.code == code));
    }
}

#[test]
fn who_had_to_go_elsewhere_returns() {
    // The first server closes six times, then it is back.
    let looked = Arc::new(AtomicUsize::new(0));
    let looks = looked.clone();
    let first = Server::start(Capabilities::default(), move |execution| {
        let away = execution.number >= 100 && looks.fetch_add(1, Ordering::Relaxed) < 6;
        if away { Reply::Drop } else { ANSWERS(execution) }
    });
    let second = Server::start(Capabilities::default(), ANSWERS);
    let mut spec = closed(4, 1500);
    spec.survive = quick_survival();
    let servers = [first.address.as_str(), second.address.as_str()];
    let load = workload("oltp_point_select", &[]);
    let outcome = lab_driver::run(&target(&servers), &load, &spec, &Stop::new(), &mut |_| {}).unwrap();
    assert!(outcome.failure.is_none() && looked.load(Ordering::Relaxed) > 6);
    // Of connections that were spread over two servers, half end where they began.
    let ended_on_first = first.log.lock().unwrap().iter().filter(|sent| sent.len() > 20).count();
    assert!(ended_on_first >= 2, "{ended_on_first}");
    assert!(
        outcome
            .events
            .iter()
            .any(|event| event.what.contains("connected again"))
    );
}

#[test]
fn connections_are_opened_anew_where_the_plan_says_so() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let mut spec = closed(3, 1000);
    spec.survive = quick_survival().map(|survive| Survive {
        reopen_after: Some(Duration::from_millis(100)),
        ..survive
    });
    let outcome = run(&server, &workload("oltp_read_write", &[]), &spec);
    assert!(outcome.failure.is_none() && outcome.errors.is_empty());
    assert!(outcome.totals.reconnects >= 6, "{}", outcome.totals.reconnects);
    // Never within a transaction.
    for connection in &*server.log.lock().unwrap() {
        assert_eq!(connection.len() % 20, 0);
    }
}

#[test]
fn a_workload_that_sends_nothing_is_refused() {
    let options: BTreeMap<String, String> = [("skip_trx", "on"), ("point_selects", "0"), ("range_selects", "off")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    assert!(Workload::new("oltp_read_only", &options).is_err());
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let stop = Stop::new();
    let asked = stop.clone();
    let begun = Instant::now();
    let outcome = lab_driver::run(
        &server.target(),
        &workload("oltp_point_select", &[]),
        &closed(2, 60_000),
        &stop,
        &mut |second| {
            if second.second == 0 {
                asked.request();
            }
        },
    )
    .unwrap();
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(outcome.interrupted && outcome.measured_s >= 1.0 && outcome.measured_s < 20.0);
    assert!(outcome.totals.transactions > 0);
}

#[test]
fn an_open_loop_counts_from_the_intended_start() {
    // One connection and 4 ms each: 250 a second at the most, and 500 are to begin.
    let server = Server::start(Capabilities::default(), |execution| {
        thread::sleep(Duration::from_millis(4));
        ANSWERS(execution)
    });
    let mut spec = closed(1, 1000);
    spec.load = Load::Open {
        rate_per_s: 500.0,
        arrivals: Arrivals::Even,
        threads_total: 1,
        profile: None,
    };
    let outcome = run(&server, &workload("oltp_point_select", &[]), &spec);
    let done = outcome.totals.transactions;
    assert!(done > 0 && done <= 250);
    // Every transaction that was due was done, was under way at the end, or is in the backlog.
    assert!(
        (498..=500).contains(&(done + outcome.totals.backlog)),
        "{done} {}",
        outcome.totals.backlog
    );
    let service = outcome.service_latency.unwrap();
    assert!(outcome.latency.quantile_us(0.9) > service.quantile_us(0.9).map(|us| us * 5));
}

#[test]
fn an_open_loop_below_the_limit_has_no_backlog() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let mut spec = closed(8, 1000);
    spec.load = Load::Open {
        rate_per_s: 200.0,
        arrivals: Arrivals::Even,
        threads_total: 8,
        profile: None,
    };
    let outcome = run(&server, &workload("oltp_point_select", &[]), &spec);
    let done = outcome.totals.transactions + outcome.totals.backlog;
    assert!((195..=201).contains(&done), "{done}");
}

#[test]
fn a_rate_that_is_none_is_refused() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    for rate_per_s in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e12] {
        let mut spec = closed(1, 100);
        spec.load = Load::Open {
            rate_per_s,
            arrivals: Arrivals::Poisson,
            threads_total: 1,
            profile: None,
        };
        let load = workload("oltp_point_select", &[]);
        let result = lab_driver::run(&server.target(), &load, &spec, &Stop::new(), &mut |_| {});
        assert!(matches!(result, Err(DriverError::Spec(_))), "{rate_per_s}");
    }
}

#[test]
fn seconds_add_up_to_the_totals() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let mut spec = closed(4, 1300);
    spec.warmup = Duration::from_millis(400);
    spec.workers = Some(2);
    let mut seen = Vec::new();
    let outcome = lab_driver::run(
        &server.target(),
        &workload("oltp_point_select", &[]),
        &spec,
        &Stop::new(),
        &mut |second| seen.push(second.second),
    )
    .unwrap();
    assert_eq!(seen, [-1, 0, 1]);
    let measured = outcome.seconds.iter().filter(|second| second.second >= 0);
    assert_eq!(
        measured.map(|second| second.transactions).sum::<u64>(),
        outcome.totals.transactions
    );
    assert!((1.29..1.31).contains(&outcome.measured_s));
    assert!(outcome.client.cpu_s > 0.0 && outcome.client.workers == 2);
}

#[test]
fn equal_seeds_send_equal_statements() {
    let options = [("tables", "9"), ("db_ps_mode", "disable")];
    let sent = || {
        let server = Server::start(Capabilities::default(), ANSWERS);
        run(&server, &workload("oltp_read_write", &options), &closed(1, 200));
        server.statements()
    };
    let (first, second) = (sent(), sent());
    let both = first.len().min(second.len());
    assert!(both >= 20);
    assert_eq!(first[..both], second[..both]);
}

#[test]
fn who_may_not_log_in_is_told_so() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let mut target = server.target();
    target.password = Password::new("wrong");
    let result = lab_driver::run(
        &target,
        &workload("oltp_point_select", &[]),
        &closed(2, 100),
        &Stop::new(),
        &mut |_| {},
    );
    assert!(matches!(result, Err(DriverError::Server { code: 1045, .. })));
}

#[test]
fn a_server_that_is_away_is_named() {
    let result = lab_driver::run(
        &target(&["127.0.0.1:1"]),
        &workload("oltp_point_select", &[]),
        &closed(2, 100),
        &Stop::new(),
        &mut |_| {},
    );
    let error = result.unwrap_err();
    assert!(matches!(error, DriverError::Connect { .. }) && error.to_string().contains("127.0.0.1:1"));
}

/// The keeper's own question, and whatever else.
fn with_wait_timeout(seconds: &'static str) -> impl Fn(&Execution) -> Reply + Send + Sync + 'static {
    move |execution| {
        if execution.sql.contains("wait_timeout") {
            Reply::Text(seconds)
        } else {
            ANSWERS(execution)
        }
    }
}

fn with_idle(per_server: u32, prepared: bool, measure_ms: u64) -> RungSpec {
    let mut spec = closed(2, measure_ms);
    spec.idle = Some(Idle { per_server, prepared });
    spec
}

#[test]
fn idle_connections_are_opened_beside_the_loads_and_kept_by_pings() {
    let server = Server::start(Capabilities::default(), with_wait_timeout("0.3"));
    let outcome = run(&server, &workload("oltp_read_write", &[]), &with_idle(25, true, 1000));
    let idle = outcome.idle.unwrap();
    assert_eq!((idle.opened, idle.kept), (25, 25));
    assert!(idle.prepared_statements > 5 && outcome.failure.is_none());
    // One that asked for the time-out, two that carried load; the others sent nothing but pings, several each.
    let sent: Vec<usize> = server.log.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sent.len(), 28);
    assert_eq!(sent.iter().filter(|sent| **sent == 0).count(), 25);
    let pings = server.pings.load(Ordering::Relaxed);
    assert!(pings >= 25 * 5, "{pings}");
}

#[test]
fn an_idle_connection_that_closes_is_an_event() {
    // The server closes what has been silent for a while; nothing is sent to it in that time.
    let server = Server::start(Capabilities::default(), with_wait_timeout("3600"));
    let closing = server.closes_the_silent_after(Duration::from_millis(300), 7);
    let outcome = run(
        &server,
        &workload("oltp_point_select", &[]),
        &with_idle(10, false, 1000),
    );
    closing.join().unwrap();
    let idle = outcome.idle.unwrap();
    assert_eq!((idle.opened, idle.kept, idle.prepared_statements), (10, 3, 0));
    let lost: u64 = outcome
        .events
        .iter()
        .filter(|event| event.what.contains("idle connection"))
        .map(|event| event.what.split(' ').next().unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(lost, 7, "{:?}", outcome.events);
    assert_eq!(outcome.failure, None, "the load goes on");
}

#[test]
fn idle_connections_that_the_server_does_not_take_are_an_error() {
    let server = Server::start(Capabilities::default(), with_wait_timeout("3600"));
    let mut spec = with_idle(3, false, 300);
    let mut target = server.target();
    target.servers.push("127.0.0.1:1".to_owned());
    spec.load = closed(1, 300).load;
    let load = workload("oltp_point_select", &[]);
    let result = lab_driver::run(&target, &load, &spec, &Stop::new(), &mut |_| {});
    assert!(matches!(result, Err(DriverError::Connect { .. })));
}

fn phase(name: &str, from_per_s: f64, to_per_s: f64, seconds: f64) -> Phase {
    Phase {
        name: name.to_owned(),
        from_per_s,
        to_per_s,
        seconds,
    }
}

fn over_time(connections: u32, arrivals: Arrivals, phases: Vec<Phase>) -> RungSpec {
    let profile = Profile {
        name: "p".to_owned(),
        phases,
    };
    let mut spec = closed(connections, (profile.seconds() * 1000.0) as u64);
    spec.load = Load::Open {
        rate_per_s: profile.rate_per_s(),
        arrivals,
        threads_total: connections,
        profile: Some(profile),
    };
    spec
}

#[test]
fn a_burst_leaves_a_backlog_and_it_is_told_when_that_is_gone() {
    // One connection and 4 ms each: at most 250 a second. 0.4 s of 500/s leave at least 100 waiting, which 50/s let go within 0.5 s.
    let server = Server::start(Capabilities::default(), |execution| {
        thread::sleep(Duration::from_millis(4));
        ANSWERS(execution)
    });
    let phases = vec![
        phase("base", 50.0, 50.0, 0.4),
        phase("peak", 500.0, 500.0, 0.4),
        phase("base", 50.0, 50.0, 1.4),
    ];
    let outcome = run(
        &server,
        &workload("oltp_point_select", &[]),
        &over_time(1, Arrivals::Even, phases),
    );
    let [before, peak, after] = &outcome.phases[..] else {
        panic!("{:?}", outcome.phases)
    };
    assert_eq!((before.due, peak.due, after.due), (20, 200, 70));
    assert!(before.backlog <= 1 && after.backlog <= 1, "{before:?} {after:?}");
    assert!((100..200).contains(&peak.backlog), "{peak:?}");
    assert!(peak.transactions <= 100, "{}", peak.transactions);
    let drained = peak.drained_s.unwrap();
    assert!((0.4..1.4).contains(&drained), "{drained}");
    // Latency is of those that were due in the phase, whenever they were answered: all of them were.
    assert_eq!(peak.latency.count(), 200);
    assert!(peak.latency.quantile_us(0.95) > Some(300_000));
    assert!(before.latency.quantile_us(0.5) < Some(100_000));
    assert_eq!((peak.at_s, peak.seconds), (0.4, 0.4));
    let answered: u64 = outcome.phases.iter().map(|phase| phase.transactions).sum();
    assert_eq!(answered, outcome.totals.transactions);
}

#[test]
fn a_backlog_that_is_never_gone_is_told_as_such() {
    let server = Server::start(Capabilities::default(), |execution| {
        thread::sleep(Duration::from_millis(4));
        ANSWERS(execution)
    });
    let phases = vec![phase("", 400.0, 600.0, 0.5), phase("", 600.0, 600.0, 0.5)];
    let outcome = run(
        &server,
        &workload("oltp_point_select", &[]),
        &over_time(1, Arrivals::Even, phases),
    );
    assert!(
        outcome
            .phases
            .iter()
            .all(|phase| phase.drained_s.is_none() && phase.backlog > 100)
    );
    assert_eq!(outcome.phases[1].backlog, outcome.totals.backlog);
    let due: u64 = outcome.phases.iter().map(|phase| phase.due).sum();
    assert!((549..=551).contains(&due), "{due}");
}

#[test]
fn workers_share_a_rate_that_varies() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let mut spec = over_time(
        8,
        Arrivals::Even,
        vec![
            phase("up", 100.0, 500.0, 0.5),
            phase("", 0.0, 0.0, 0.3),
            phase("", 200.0, 200.0, 0.5),
        ],
    );
    spec.workers = Some(3);
    spec.warmup = Duration::from_millis(300);
    let outcome = run(&server, &workload("oltp_point_select", &[]), &spec);
    let due: Vec<u64> = outcome.phases.iter().map(|phase| phase.due).collect();
    assert!(
        due[0].abs_diff(150) <= 2 && due[1] <= 1 && due[2].abs_diff(100) <= 2,
        "{due:?}"
    );
    assert!(outcome.phases.iter().all(|phase| phase.drained_s.is_some()));
    assert_eq!(outcome.phases[1].latency.count(), outcome.phases[1].due);
}

#[test]
fn a_stop_ends_the_phases_where_it_comes() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let spec = over_time(
        2,
        Arrivals::Poisson,
        vec![
            phase("", 100.0, 100.0, 0.5),
            phase("", 100.0, 100.0, 60.0),
            phase("", 1.0, 1.0, 60.0),
        ],
    );
    let stop = Stop::new();
    let asked = stop.clone();
    let load = workload("oltp_point_select", &[]);
    let outcome = lab_driver::run(&server.target(), &load, &spec, &stop, &mut |second| {
        if second.second == 0 {
            asked.request();
        }
    })
    .unwrap();
    assert_eq!(outcome.phases.len(), 2);
    let measured: f64 = outcome.phases.iter().map(|phase| phase.seconds).sum();
    assert!((measured - outcome.measured_s).abs() < 1e-9 && measured < 30.0);
}

/// Each connection sends the same, whether one driver has all of them or several have some.
#[test]
fn shares_of_a_rung_send_what_the_whole_does() {
    let options = [("tables", "9"), ("db_ps_mode", "disable")];
    let workload = workload("oltp_read_write", &options);
    let whole = Server::start(Capabilities::default(), ANSWERS);
    run(&whole, &workload, &closed(3, 200));
    let shared = Server::start(Capabilities::default(), ANSWERS);
    for index in 0..2 {
        let mut spec = closed(3, 200);
        spec.share = Some(Share::nth(3, index, 2));
        spec.workers = Some(1);
        run(&shared, &workload, &spec);
    }
    let begins = |server: &Server| {
        let mut begins: Vec<Vec<String>> = server
            .log
            .lock()
            .unwrap()
            .iter()
            .map(|log| log[..20].to_vec())
            .collect();
        begins.sort();
        begins
    };
    assert_eq!(begins(&whole).len(), 3);
    assert_eq!(begins(&whole), begins(&shared));
}

#[test]
fn a_rung_begins_at_the_moment_given() {
    let server = Server::start(Capabilities::default(), ANSWERS);
    let mut at = None;
    let mut first = None;
    lab_driver::run_from(
        &server.target(),
        &workload("oltp_point_select", &[]),
        &closed(2, 1000),
        &Stop::new(),
        &mut || {
            assert!(server.statements().is_empty(), "connections only");
            at = Some(Instant::now() + Duration::from_millis(300));
            at
        },
        &mut |second| {
            first.get_or_insert((Instant::now(), second.transactions));
        },
    )
    .unwrap();
    let (over, transactions) = first.unwrap();
    assert!(transactions > 0);
    assert!(
        over >= at.unwrap() + Duration::from_secs(1),
        "the first second began too early"
    );
}

/// A name that stands for one server, and then for another: who opens connections anew follows it, without losing one.
#[test]
fn a_name_that_moves_is_followed() {
    use std::io::{Read, Write};
    let (old, new) = (
        Server::start(Capabilities::default(), ANSWERS),
        Server::start(Capabilities::default(), ANSWERS),
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut target = old.target();
    target.servers = vec![listener.local_addr().unwrap().to_string()];
    let moved = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (has_moved, addresses) = (moved.clone(), [old.address.clone(), new.address.clone()]);
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let to = &addresses[usize::from(has_moved.load(Ordering::Relaxed))];
            let far = std::net::TcpStream::connect(to).unwrap();
            for (mut from, mut to) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far.try_clone().unwrap(), near.try_clone().unwrap()),
            ] {
                to.set_nodelay(true).unwrap();
                thread::spawn(move || {
                    let mut chunk = [0; 4096];
                    while let Ok(read @ 1..) = from.read(&mut chunk) {
                        if to.write_all(&chunk[..read]).is_err() {
                            break;
                        }
                    }
                    to.shutdown(std::net::Shutdown::Both).ok();
                });
            }
        }
    });
    let mut spec = closed(4, 3000);
    spec.survive = quick_survival().map(|survive| Survive {
        reopen_after: Some(Duration::from_millis(200)),
        ..survive
    });
    let (mut at_the_old, mut seconds) = (Vec::new(), 0);
    let load = workload("oltp_point_select", &[]);
    let outcome = lab_driver::run(&target, &load, &spec, &Stop::new(), &mut |_| {
        seconds += 1;
        moved.store(true, Ordering::Relaxed);
        at_the_old.push(old.statements().len());
    })
    .unwrap();
    assert_eq!((outcome.failure, outcome.errors.len(), seconds), (None, 0, 3));
    assert!(at_the_old[0] > 0);
    assert_eq!(at_the_old[1], at_the_old[2], "after a second nobody is there any more");
    assert!(!new.statements().is_empty());
}
