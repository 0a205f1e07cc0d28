//! What those who monitor are shown.

mod common;

use common::{Client, Database, Expected as _};

/// Without the moments.
fn shown(client: &mut Client) -> Vec<String> {
    let lines = client.messages().into_iter();
    lines
        .map(|line| line.split_once(' ').expect("a line").1.to_owned())
        .collect()
}

#[test]
fn commands_are_shown_as_they_run() {
    let database = Database::open();
    let (mut monitor, mut client) = (database.client(), database.client());
    client.run("SET before 1");
    assert_eq!(monitor.run("MONITOR"), "+OK");
    for line in [
        "SET k v",
        "AUTH default pw",
        "HELLO 2 AUTH default pw SETNAME x",
        "MULTI",
        "GET k",
        "SELECT 1",
        "GET k",
        "EXEC",
        "nope x",
        "GET",
        "SELECT 0",
        "CONFIG GET save",
        "EVAL \"return redis.call('get',KEYS[1])\" 1 k",
    ] {
        client.run(line);
    }
    client.pipeline(["SET a 1", "SET b 2"].map(str::to_owned));
    let at = |db: u32, line: &str| format!("[{db} 127.0.0.1:1] {line}");
    assert_eq!(
        shown(&mut monitor),
        [
            at(0, "\"SET\" \"k\" \"v\""),
            at(0, "\"AUTH\" \"(redacted)\" \"(redacted)\""),
            at(
                0,
                "\"HELLO\" \"2\" \"AUTH\" \"(redacted)\" \"(redacted)\" \"SETNAME\" \"x\""
            ),
            at(0, "\"MULTI\""),
            at(0, "\"GET\" \"k\""),
            at(1, "\"SELECT\" \"1\""),
            at(1, "\"GET\" \"k\""),
            at(1, "\"EXEC\""),
            at(0, "\"SELECT\" \"0\""),
            at(0, "\"EVAL\" \"return redis.call('get',KEYS[1])\" \"1\" \"k\""),
            "[0 lua] \"get\" \"k\"".to_owned(),
            at(0, "\"SET\" \"a\" \"1\""),
            at(0, "\"SET\" \"b\" \"2\""),
        ]
    );
    for line in ["GET k", "SET k v", "PUBLISH c m"] {
        assert_eq!(monitor.run(line), "-ERR Replica can't interact with the keyspace");
    }
    assert_eq!(monitor.run("PING"), "+PONG");
    assert_eq!(shown(&mut monitor), [at(0, "\"PING\"")]);
    assert!(database.client().run("CLIENT LIST").contains("flags=O"));
    assert_eq!(monitor.run("RESET"), "+RESET");
    client.run("SET k v");
    assert!(shown(&mut monitor).is_empty());
    assert_eq!(monitor.run("GET k"), "\"v\"");
}

#[test]
fn who_does_not_read_is_sent_away() {
    let database = Database::open();
    let (mut monitor, mut client) = (database.client(), database.client());
    monitor.run("MONITOR");
    let value = vec![0; 3 << 20];
    for _ in 0..5 {
        client.send(&[b"SET", b"k", &value]);
    }
    let outbox = monitor.session.subscriber().expect("it monitors").clone();
    let mut messages = Vec::new();
    assert!(!outbox.take(&mut messages), "more than 32 MiB wait");
    assert!(messages.is_empty());
    drop(monitor);
    assert_eq!(client.run("GET nothing"), "$-1");
}

#[test]
fn latencies_are_counted_by_command() {
    let database = Database::open();
    let mut client = database.client();
    assert_eq!(client.run("LATENCY HISTOGRAM get"), "*0");
    for line in ["GET a", "GET a", "MULTI", "GET a", "EXEC", "CLIENT ID", "GET"] {
        client.run(line);
    }
    client.pipeline(["GET a", "GET b"].map(str::to_owned));
    let calls = |client: &mut Client, name: &str| {
        let answer = client.answer(&format!("LATENCY HISTOGRAM {name}"));
        answer.elements()[1].elements()[1].to_string()
    };
    assert_eq!(calls(&mut client, "get"), ":5");
    assert_eq!(calls(&mut client, "client|id"), ":1");
    assert_eq!(calls(&mut client, "exec"), ":1");
    assert!(client.run("LATENCY HISTOGRAM").contains("\"client|id\""));
    // INFO tells of the calls, too, where it is asked.
    let stats = client.run("INFO commandstats");
    assert!(stats.contains("cmdstat_get:calls=5,usec="), "{stats}");
    assert!(stats.contains("cmdstat_client|id:calls=1,usec="), "{stats}");
    for (sections, has_stats, has_cpu) in [
        ("", false, true),
        ("cpu", false, true),
        ("CPU all", true, true),
        ("stats", false, false),
    ] {
        let info = client.run(&format!("INFO {sections}"));
        assert_eq!(info.contains("cmdstat_"), has_stats, "{sections}");
        assert_eq!(info.contains("used_cpu_user:"), has_cpu, "{sections}");
    }
    client.run("CONFIG RESETSTAT");
    assert_eq!(client.run("LATENCY HISTOGRAM get"), "*0");
    assert!(!client.run("INFO commandstats").contains("cmdstat_get"));
}

#[test]
fn long_commands_are_spikes_where_somebody_wants_that() {
    let database = Database::open();
    let mut client = database.client();
    client.run("DEBUG SLEEP 0.02");
    assert_eq!(client.run("LATENCY LATEST"), "*0");
    client.run("CONFIG SET latency-monitor-threshold 10");
    assert!(client.run("LATENCY DOCTOR").contains("Dave, no latency spike"));
    client.run("DEBUG SLEEP 0.02");
    assert!(client.run("LATENCY LATEST").contains("\"command\""));
    assert_eq!(client.answer("LATENCY HISTORY command").elements().len(), 1);
    assert!(client.run("LATENCY GRAPH command").contains("command - high 2"));
    let report = client.run("LATENCY DOCTOR");
    assert!(report.contains("1. command: 1 latency spikes"), "{report}");
    assert_eq!(client.run("LATENCY RESET"), ":1");
    assert_eq!(client.run("LATENCY LATEST"), "*0");
}
