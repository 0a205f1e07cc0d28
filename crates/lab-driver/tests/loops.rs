//! The loops against a server that errs, closes and keeps silent at will: what is sent after what, and what is counted.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab_driver::{DriverError, Outcome, Password, RungSpec, Stop, Survive, Workload};
use lab_results::run::{Arrivals, Load};
use mysql_wire::Capabilities;
use support::{Execution, Reply, Server, target};

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
