//! Who sees and ends whose connections.

use std::sync::{Arc, Mutex};

use crate::common::Database;
use sql::processes::{Kill, Process, Processes, Traffic};

/// Two connections, and a list of what was done to them.
#[derive(Default)]
struct Connections {
    killed: Mutex<Vec<(u32, Kill)>>,
}

impl Processes for Connections {
    fn list(&self) -> Vec<Process> {
        let process = |id, user: &str| Process {
            id,
            user: user.to_owned(),
            host: "localhost:1".to_owned(),
            database: None,
            attributes: vec![
                ("_client_name".to_owned(), user.to_owned()),
                ("_os".to_owned(), "Linux".to_owned()),
            ],
            command: "Sleep".into(),
            seconds: 0,
            state: "".into(),
            statement: None,
            memory_bytes: 4096,
            memory_bytes_max: 8192,
        };
        vec![process(101, "root"), process(102, "reader"), process(103, "watcher")]
    }

    fn traffic(&self) -> Traffic {
        Traffic {
            commands: 17,
            running: 1,
            ..Traffic::default()
        }
    }

    fn kill(&self, connection_id: u32, what: Kill) -> bool {
        self.killed.lock().expect("one thread").push((connection_id, what));
        (101..=103).contains(&connection_id)
    }
}

#[test]
fn a_session_sees_and_ends_those_of_its_own_user() {
    let mut database = Database::open();
    let connections = Arc::new(Connections::default());
    database.engine.set_processes(connections.clone());
    let mut root = database.session();
    root.run("CREATE USER reader@localhost, watcher@localhost");
    root.run("GRANT PROCESS ON *.* TO watcher@localhost");
    let ids =
        |client: &mut crate::common::Client| client.run("SELECT id FROM information_schema.processlist")[1..].join(",");
    let (mut reader, mut watcher) = (database.session_as("reader"), database.session_as("watcher"));
    assert_eq!(ids(&mut root), "101,102,103");
    assert_eq!(ids(&mut reader), "102");
    assert_eq!(ids(&mut watcher), "101,102,103");
    let attributes = reader.run("SELECT * FROM performance_schema.session_connect_attrs");
    assert_eq!(
        attributes[1..],
        ["102 | _client_name | reader | 0", "102 | _os | Linux | 1"]
    );
    let own = "SELECT count(*) FROM performance_schema.session_account_connect_attrs";
    assert_eq!(watcher.run(own)[1..], ["2"]);

    let memory = "SELECT count(*) FROM performance_schema.memory_summary_by_thread_by_event_name";
    assert_eq!(
        (reader.run(memory)[1..].join(","), watcher.run(memory)[1..].join(",")),
        ("1".to_owned(), "3".to_owned())
    );
    let rows = "SELECT CURRENT_NUMBER_OF_BYTES_USED > 0 FROM performance_schema.memory_summary_global_by_event_name \
                WHERE EVENT_NAME = 'memory/latsdb/transactions' OR EVENT_NAME = 'memory/latsdb/rows' ORDER BY EVENT_NAME";
    assert_eq!(watcher.run(rows)[1..].len(), 2);

    assert_eq!(reader.error("KILL 101"), 1095);
    assert_eq!(watcher.error("KILL QUERY 102"), 1095);
    assert_eq!(reader.error("KILL 999"), 1094);
    assert!(
        connections
            .killed
            .lock()
            .expect("one thread")
            .iter()
            .all(|(id, _)| *id == 999)
    );
    reader.run("KILL QUERY 102");
    root.run("KILL 103");
    let killed = connections.killed.lock().expect("one thread");
    assert_eq!(
        killed[killed.len() - 2..],
        [(102, Kill::Query), (103, Kill::Connection)]
    );
}

#[test]
fn status_variables_count_statements_and_traffic() {
    let mut database = Database::open();
    database.engine.set_processes(Arc::new(Connections::default()));
    let mut root = database.session();
    root.run("CREATE TABLE t (a INT)");
    root.run("INSERT INTO t VALUES (1)");
    root.run("REPLACE INTO t VALUES (2)");
    let mut value = |name: &str| root.run(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))[1..].join(",");
    for (name, shown) in [
        ("Com_create_table", "Com_create_table | 1"),
        ("Com_insert", "Com_insert | 1"),
        ("Com_replace", "Com_replace | 1"),
        ("Com_delete", "Com_delete | 0"),
        ("Questions", "Questions | 17"),
        ("Threads_running", "Threads_running | 1"),
    ] {
        assert_eq!(value(name), shown);
    }
}

/// A connection that makes an account, as any list of connections shows it.
struct MakesAccount;

impl Processes for MakesAccount {
    fn list(&self) -> Vec<Process> {
        vec![Process {
            id: 7,
            user: "root".to_owned(),
            host: "localhost:1".to_owned(),
            database: None,
            attributes: Vec::new(),
            command: "Query".into(),
            seconds: 1,
            state: "".into(),
            statement: Some("CREATE USER n IDENTIFIED BY 'S3CRET' COMMENT 'told'".to_owned()),
            memory_bytes: 0,
            memory_bytes_max: 0,
        }]
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    fn kill(&self, _connection_id: u32, _what: Kill) -> bool {
        false
    }
}

#[test]
fn the_process_list_shows_no_password() {
    let mut database = Database::open();
    database.engine.set_processes(Arc::new(MakesAccount));
    let mut root = database.session();
    for list in [
        "SHOW FULL PROCESSLIST",
        "SELECT INFO FROM information_schema.processlist",
    ] {
        let lines = root.run(list).join("\n");
        assert!(lines.contains("told") && !lines.contains("S3CRET"), "{list}: {lines}");
    }
}

#[test]
fn the_columns_of_a_table_are_listed_for_those_alone_who_have_rights_on_them() {
    let mut database = Database::open();
    let mut root = database.session();
    root.run("CREATE TABLE t (a INT, b INT)");
    root.run("CREATE USER blind@localhost, seeing@localhost, narrow@localhost");
    root.run("CREATE DATABASE other");
    root.run("GRANT SELECT ON other.* TO blind@localhost");
    root.run("GRANT SELECT ON test.t TO seeing@localhost");
    root.run("GRANT SELECT (b) ON test.t TO narrow@localhost");
    let listed = |database: &mut Database, user: &str| {
        let mut client = database.session_as(user);
        client.session.use_database("test").map_err(|error| error.code())?;
        let shape = client.session.field_list("t", "%").map_err(|error| error.code())?;
        Ok(shape
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect::<Vec<_>>())
    };
    assert_eq!(listed(&mut database, "blind"), Err(1044));
    assert_eq!(
        listed(&mut database, "seeing"),
        Ok(vec!["a".to_owned(), "b".to_owned()])
    );
    assert_eq!(listed(&mut database, "narrow"), Ok(vec!["b".to_owned()]));
    root.run("CREATE TABLE hidden (a INT)");
    let mut seeing = database.session_as("seeing");
    seeing.session.use_database("test").expect("a right on a table of it");
    let refused = seeing.session.field_list("hidden", "%").expect_err("no right");
    assert_eq!(refused.code(), 1142);
}

/// A connection of root's, which runs what it is told to.
#[derive(Default)]
struct Runs(Mutex<Option<String>>);

impl Processes for Runs {
    fn list(&self) -> Vec<Process> {
        vec![Process {
            id: 7,
            user: "root".to_owned(),
            host: "localhost:1".to_owned(),
            database: Some("test".to_owned()),
            attributes: Vec::new(),
            command: "Query".into(),
            seconds: 1,
            state: "executing".into(),
            statement: self.0.lock().expect("one thread").clone(),
            memory_bytes: 0,
            memory_bytes_max: 0,
        }]
    }

    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    fn kill(&self, _: u32, _: Kill) -> bool {
        false
    }
}

/// Who may do everything with every table may not see what others do.
#[test]
fn locks_are_shown_to_those_who_may_see_all_sessions() {
    let mut database = Database::open();
    let mut root = database.session();
    root.run("CREATE TABLE t (a INT PRIMARY KEY)");
    root.run("CREATE USER owner@localhost, watcher@localhost");
    root.run("GRANT ALL ON *.* TO owner@localhost WITH GRANT OPTION");
    root.run("REVOKE PROCESS ON *.* FROM owner@localhost");
    root.run("GRANT PROCESS ON *.* TO watcher@localhost");
    root.run("BEGIN");
    root.run("INSERT INTO t VALUES (1)");
    let (mut owner, mut watcher) = (database.session_as("owner"), database.session_as("watcher"));
    let any = "SELECT COUNT(*) > 0 FROM performance_schema.data_locks";
    assert_eq!(
        (owner.run(any)[1..].join(","), watcher.run(any)[1..].join(",")),
        ("0".to_owned(), "1".to_owned())
    );
}

#[test]
fn explain_tells_what_another_connection_runs() {
    let mut database = Database::open();
    let runs = Arc::new(Runs::default());
    database.engine.set_processes(runs.clone());
    let mut root = database.session();
    root.run("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    root.run("CREATE USER reader@localhost, watcher@localhost");
    root.run("GRANT PROCESS, SELECT ON *.* TO watcher@localhost");
    let run = |statement: &str| *runs.0.lock().expect("one thread") = Some(statement.to_owned());
    let (mut reader, mut watcher) = (database.session_as("reader"), database.session_as("watcher"));

    assert!(root.run("EXPLAIN FOR CONNECTION 7").len() < 2, "it runs nothing");
    let select = "SELECT b FROM t WHERE a = 5";
    run(select);
    assert_eq!(
        root.run("EXPLAIN FOR CONNECTION 7"),
        root.run(&format!("EXPLAIN {select}"))
    );
    assert_eq!(
        root.run("EXPLAIN FORMAT=JSON FOR CONNECTION 7"),
        root.run(&format!("EXPLAIN FORMAT=JSON {select}"))
    );
    // In the database of that connection; afterwards in one's own, of which there is none.
    assert_eq!(
        watcher.run("EXPLAIN FOR CONNECTION 7"),
        root.run("EXPLAIN FOR CONNECTION 7")
    );
    assert_eq!(watcher.error("SELECT * FROM t"), 1046);
    assert_eq!(reader.error("EXPLAIN FOR CONNECTION 7"), 1045);
    assert_eq!(reader.error("EXPLAIN FOR CONNECTION 8"), 1094);
    assert_eq!(root.error("EXPLAIN FOR CONNECTION 4294967303"), 1094);
    assert_eq!(root.error("EXPLAIN ANALYZE FOR CONNECTION 7"), 1235);
    assert_eq!(root.error("PREPARE s FROM 'EXPLAIN FOR CONNECTION 7'"), 1295);

    run("UPDATE t SET b = 1 WHERE a = 5");
    assert_eq!(root.run("EXPLAIN FOR CONNECTION 7")[1..].len(), 1);
    for (statement, error) in [
        ("DO SLEEP(5)", 3012),
        ("EXPLAIN SELECT 1", 3012),
        ("SELECT b FROM t WHERE a =", 3012),
        ("SELECT b FROM t WHERE a = ?", 1235),
        ("SELECT 1; SELECT b FROM t", 1235),
        ("SELECT b FROM away", 1146),
    ] {
        run(statement);
        assert_eq!(root.error("EXPLAIN FOR CONNECTION 7"), error, "{statement}");
    }
    run(&format!(
        "SELECT b FROM t WHERE a = 1{}",
        " OR a = 1".repeat(1000)[..4096 - 27].to_owned()
    ));
    assert_eq!(root.error("EXPLAIN FOR CONNECTION 7"), 1235);
}
