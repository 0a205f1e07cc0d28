//! KILL, panics, clients that go away, and the server's end.

use std::time::{Duration, Instant};

use crate::support::{CAPABILITIES, Client, TestServer, unasked_panics, wait_until};
use mysql_wire::Capabilities;
use mysql_wire::command::Command;
use sql_api::processes::Processes;

/// Until the process list shows that the connection runs a statement.
fn wait_until_running(server: &TestServer, connection_id: u32) {
    wait_until("the statement runs", || {
        server
            .registry
            .list()
            .iter()
            .any(|process| process.id == connection_id && process.command == "Query")
    });
}

#[test]
fn kill_query_ends_the_statement_and_not_the_session() {
    let server = TestServer::start();
    let (mut victim, mut killer) = (server.connect(), server.connect());
    for statement in ["sleep 60000", "busy 60000"] {
        victim.command(Command::Query(statement.as_bytes()));
        wait_until_running(&server, victim.connection_id);
        killer.query(&format!("kill query {}", victim.connection_id)).ok();
        assert_eq!(
            victim.read_answer().error(),
            (1317, "Query execution was interrupted".into())
        );
        victim.expect_alive();
    }
}

#[test]
fn kill_ends_the_connection_whether_it_runs_or_sleeps() {
    let server = TestServer::start();
    let mut killer = server.connect();
    let (mut running, mut sleeping) = (server.connect(), server.connect());
    running.command(Command::Query(b"sleep 60000"));
    wait_until_running(&server, running.connection_id);
    killer.command(Command::ProcessKill(running.connection_id));
    killer.read_answer().ok();
    running.expect_end(1317);
    killer.query(&format!("kill {}", sleeping.connection_id)).ok();
    sleeping.expect_end(3169);
    assert_eq!(
        killer.query("kill 4000000").error(),
        (1094, "Unknown thread id: 4000000".into())
    );
}

#[test]
fn a_commit_is_not_torn_by_kill() {
    let server = TestServer::start();
    let (mut victim, mut killer) = (server.connect(), server.connect());
    victim.command(Command::Query(b"commit 200"));
    wait_until_running(&server, victim.connection_id);
    killer.query(&format!("kill query {}", victim.connection_id)).ok();
    victim.read_answer().ok();
    victim.expect_alive();
}

#[test]
fn the_statement_of_a_client_that_went_away_is_ended() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.command(Command::Query(b"sleep 60000"));
    wait_until_running(&server, client.connection_id);
    drop(client);
    wait_until("nobody is connected", || server.registry.statistics().connected == 0);
}

/// Who closes with an answer unread resets the connection; the answers behind it go nowhere.
#[test]
fn a_client_that_resets_its_connection_leaves_no_panic() {
    let server = TestServer::start();
    let (mut client, mut killer) = (server.connect(), server.connect());
    client.command(Command::Query(b"rows 1 1"));
    client.command(Command::Query(b"commit 200"));
    wait_until("the second statement runs", || {
        let processes = server.registry.list();
        processes
            .iter()
            .any(|process| process.statement.as_deref() == Some("commit 200"))
    });
    killer.query(&format!("kill {}", client.connection_id)).ok();
    drop((client, killer));
    wait_until("nobody is connected", || server.registry.statistics().connected == 0);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(unasked_panics(), [""; 0]);
}

#[test]
fn a_long_statement_lets_others_run() {
    let server = TestServer::on(1, |_, _| {});
    let (mut busy, mut quick) = (server.connect(), server.connect());
    busy.command(Command::Query(b"busy 1000"));
    wait_until_running(&server, busy.connection_id);
    let started = Instant::now();
    for _ in 0..20 {
        quick.expect_alive();
    }
    assert!(
        started.elapsed() < Duration::from_millis(900),
        "commands are answered between the chunks of the other"
    );
    busy.read_answer().ok();
}

#[test]
fn a_time_limit_ends_the_statement_that_has_it() {
    let server = TestServer::start();
    let mut client = server.connect();
    let message = "Query execution was interrupted, maximum statement execution time exceeded";
    assert_eq!(client.query("limited 20").error(), (3024, message.into()));
    client.query("sleep 40").ok();
}

#[test]
fn a_session_may_end_its_connection() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.query("release").ok();
    assert_eq!(client.read_packet(), None);
}

#[test]
fn a_panic_ends_its_statement_only() {
    let server = TestServer::on(1, |_, _| {});
    let mut bystander = server.connect();
    let mut client = server.connect();
    for _ in 0..3 {
        client.command(Command::Query(b"rows 2 2; panic"));
        client.read_answer().rows();
        assert_eq!(client.read_answer().error().0, 1105);
        client.expect_alive();
    }
    bystander.expect_alive();
}

/// The client sends all of the file before it listens.
#[test]
fn a_panic_amid_a_file_is_answered_behind_it() {
    let server = TestServer::start();
    let mut client = Client::with(server.addr(), CAPABILITIES.with(Capabilities::LOCAL_FILES, true));
    for at in [1, 2, 3] {
        client.command(Command::Query(format!("load {at}").as_bytes()));
        assert_eq!(client.read_packet().unwrap()[0], 0xfb);
        for piece in ["one", "two", "three", ""] {
            client.write_packet(piece.as_bytes());
        }
        assert_eq!(client.read_answer().error().0, 1105);
        client.expect_alive();
    }
}

#[test]
fn a_session_that_cannot_be_rolled_back_ends() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.command(Command::Query(b"panic twice"));
    client.expect_end(1105);
}

#[test]
fn the_process_list() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.command(Command::InitDb(b"test"));
    client.read_answer().ok();
    let rows = client.query("show processlist").rows();
    let id = client.connection_id.to_string();
    assert_eq!(
        rows,
        [[&id, "root", "test", "Query", "show processlist"].map(|text| Some(text.to_owned()))]
    );
    client.command(Command::ProcessInfo);
    assert_eq!(client.read_answer().rows().len(), 1);
}

fn shut_down(server: TestServer, grace: Duration) -> std::thread::JoinHandle<Duration> {
    std::thread::spawn(move || {
        let started = Instant::now();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(server.shut_down(grace));
        started.elapsed()
    })
}

#[test]
fn shutdown_lets_statements_finish_and_closes_idle_connections() {
    let server = TestServer::start();
    let addr = server.addr();
    let (mut running, mut idle) = (server.connect(), server.connect());
    running.command(Command::Query(b"sleep 300"));
    wait_until_running(&server, running.connection_id);
    let shutdown = shut_down(server, Duration::from_secs(30));
    idle.expect_end(1053);
    running.read_answer().ok();
    running.expect_end(1053);
    assert!(shutdown.join().unwrap() < Duration::from_secs(10));
    assert!(std::net::TcpStream::connect(addr).is_err());
}

#[test]
fn shutdown_interrupts_what_does_not_finish() {
    let server = TestServer::start();
    let mut running = server.connect();
    running.command(Command::Query(b"sleep 60000"));
    wait_until_running(&server, running.connection_id);
    let shutdown = shut_down(server, Duration::from_millis(50));
    running.expect_end(1053);
    shutdown.join().unwrap();
}

#[test]
fn what_cannot_be_interrupted_is_dropped_at_the_end() {
    let server = TestServer::start();
    let mut running = server.connect();
    running.command(Command::Query(b"commit 60000"));
    wait_until_running(&server, running.connection_id);
    let shutdown = shut_down(server, Duration::from_millis(50));
    assert_eq!(running.read_packet(), None);
    assert!(shutdown.join().unwrap() < Duration::from_secs(20));
}
