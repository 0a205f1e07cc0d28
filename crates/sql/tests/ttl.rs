//! Rows that expire, beside a table from which a model removes them: the same random statements run on both while time passes, at the simulated
//! clock, and the purge does what it likes. What the one hides the other has lost, to the millisecond.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use sql::host::{BlockingHost, Host};
use sql::purge::Purge;

use crate::common::{Client, Database};

/// Milliseconds since the start, as both tables have it in a column.
fn literal(ms: Option<u32>) -> String {
    match ms {
        None => "NULL".to_owned(),
        Some(ms) => format!("@start + INTERVAL {ms}000 MICROSECOND"),
    }
}

fn wait(future: impl Future<Output = ()>) {
    BlockingHost.wait(pin!(future));
}

struct Pair {
    database: Database,
    client: Client,
    purge: Purge,
    /// Since the start.
    now: u32,
}

const KINDS: [(&str, &str); 4] = [
    ("DATETIME(3)", "e"),
    ("DATETIME(6) ", "e + INTERVAL 0 SECOND"),
    ("TIMESTAMP(3) NULL", "e"),
    ("DATETIME(3)", "e + INTERVAL 2 MONTH"),
];

impl Pair {
    fn new(kind: usize, has_index: bool) -> Pair {
        let (ty, rule) = KINDS[kind];
        let mut database = Database::open();
        let mut client = database.session();
        let before = match kind {
            // The column is two months before the end.
            3 => "- INTERVAL 2 MONTH",
            _ => "",
        };
        client.run("SET time_zone = '+00:00'");
        client.run(&format!("SET @start = UTC_TIMESTAMP(6) {before}"));
        let index = if has_index { "KEY (e), " } else { "" };
        for (name, ttl) in [("t", format!("TTL = {rule}")), ("m", String::new())] {
            client.run(&format!(
                "CREATE TABLE {name} (id INT PRIMARY KEY, e {ty}, u INT, j JSON, w VARCHAR(10), n INT DEFAULT 0, {index}UNIQUE (u), \
                 UNIQUE ((CAST(j AS UNSIGNED ARRAY))), KEY (n, u), FULLTEXT (w)) {ttl}"
            ));
        }
        Pair {
            database,
            client,
            purge: Purge::default(),
            now: 0,
        }
    }

    /// Milliseconds pass, and the model's rows go.
    fn pass(&mut self, ms: u32) {
        self.database.engine.env().clock.sleep(Duration::from_millis(ms.into()));
        self.now += ms;
        let now = literal(Some(self.now));
        self.client.run(&format!("DELETE FROM m WHERE e <= {now}"));
    }

    /// The same statement on both.
    fn run(&mut self, statement: &str) {
        let answers = ["t", "m"].map(|name| {
            let statement = statement.replace("$t", name);
            let answer = self.client.try_run(&statement).map_err(|error| error.code());
            let counted = self.client.run("SELECT ROW_COUNT()");
            (answer, counted)
        });
        assert_eq!(answers[0], answers[1], "{statement}");
    }

    fn check(&mut self) {
        for query in [
            "SELECT * FROM $t ORDER BY id",
            "SELECT COUNT(*) FROM $t",
            "SELECT u FROM $t WHERE u >= 0 ORDER BY u",
            "SELECT n, u, id FROM $t FORCE INDEX (n) WHERE n >= 0 ORDER BY n DESC, u DESC, id",
            "SELECT id FROM $t WHERE e IS NOT NULL ORDER BY e, id",
            "SELECT id FROM $t WHERE 3 MEMBER OF (j) ORDER BY id",
            "SELECT id FROM $t WHERE MATCH (w) AGAINST ('w1 w2' IN BOOLEAN MODE) ORDER BY id",
            "SELECT a.id, b.id FROM $t AS a JOIN $t AS b ON b.u = a.n ORDER BY a.id, b.id",
            "SELECT id FROM $t WHERE u IN (SELECT n FROM $t) ORDER BY id",
            "SELECT id FROM $t WHERE id IN (1, 3, 5, 7) ORDER BY id",
            "SELECT MAX(u), MIN(id), SUM(n) FROM $t",
        ] {
            self.run(query);
        }
    }

    fn purge(&mut self) {
        for _ in 0..3 {
            match self.database.engine.purge_expired(&mut self.purge) {
                Some(commit) => wait(commit),
                None => break,
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Statement(String),
    Pass(u32),
    Purge,
    /// In a transaction, which may be rolled back.
    Together(Vec<String>, bool),
}

fn statement() -> impl Strategy<Value = String> {
    let row = || {
        let end = prop::option::of(0u32..80).prop_map(literal);
        (0..9, end, prop::option::of(0..7), prop::option::of(0..6), 0..4).prop_map(|(id, end, u, j, w)| {
            let u = u.map_or("NULL".to_owned(), |u: i32| u.to_string());
            let j = j.map_or("NULL".to_owned(), |j: i32| format!("'[{j}, {}]'", j + 1));
            (id, end, u, j, w)
        })
    };
    let values = |(id, end, u, j, w)| format!("INTO $t (id, e, u, j, w) VALUES ({id}, {end}, {u}, {j}, 'w{w}')");
    prop_oneof![
        4 => row().prop_map(move |row| format!("INSERT {}", values(row))),
        2 => row().prop_map(move |row| format!("REPLACE {}", values(row))),
        2 => row().prop_map(move |row| format!("INSERT IGNORE {}", values(row))),
        2 => row().prop_map(move |row| format!("INSERT {} ON DUPLICATE KEY UPDATE n = n + 1", values(row))),
        2 => row().prop_map(|(id, end, u, j, w)| {
            format!("UPDATE $t SET e = {end}, u = {u}, j = {j}, w = 'w{w}' WHERE id = {id}")
        }),
        2 => (0..9, 0..9).prop_map(|(from, to)| format!("UPDATE $t SET id = {to} WHERE id = {from}")),
        1 => (0..7).prop_map(|u| format!("UPDATE $t SET n = n + 1 WHERE u >= {u}")),
        1 => (0..7).prop_map(|u| format!("DELETE FROM $t WHERE u = {u}")),
        1 => (0..9).prop_map(|id| format!("DELETE FROM $t WHERE id >= {id}")),
        1 => Just("UPDATE $t AS a JOIN $t AS b ON b.u = a.id SET a.n = b.n + 1".to_owned()),
        1 => (0..9).prop_map(|id| format!("INSERT INTO $t (id, w) SELECT id + {id}, w FROM $t WHERE n = 0")),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => statement().prop_map(Step::Statement),
        4 => (1u32..12).prop_map(Step::Pass),
        2 => Just(Step::Purge),
        2 => (prop::collection::vec(statement(), 1..4), any::<bool>()).prop_map(|(all, keeps)| Step::Together(all, keeps)),
    ];
    prop::collection::vec(step, 1..24)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("TTL_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(24),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_expired_is_as_what_is_removed(
        steps in steps(),
        kind in 0..KINDS.len(),
        has_index in any::<bool>(),
        isolation in prop::sample::select(vec!["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]),
        snapshots in any::<bool>(),
    ) {
        let mut pair = Pair::new(kind, has_index);
        pair.client.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"));
        pair.client.run(&format!("SET SESSION snapshot_isolation = {snapshots}"));
        for step in steps {
            match step {
                Step::Statement(statement) => {
                    pair.run(&statement);
                    // A row that has its moment behind it is written, and gone.
                    pair.pass(0);
                }
                Step::Pass(ms) => pair.pass(ms),
                Step::Purge => pair.purge(),
                Step::Together(statements, keeps) => {
                    pair.run("BEGIN");
                    for statement in statements {
                        pair.run(&statement);
                        pair.check();
                    }
                    pair.run(if keeps { "COMMIT" } else { "ROLLBACK" });
                    pair.pass(0);
                }
            }
            pair.check();
        }
        pair.pass(100);
        pair.database.engine.env().clock.sleep(Duration::from_secs(60));
        pair.purge();
        pair.check();
        pair.client.run("ALTER TABLE t REMOVE TTL");
        pair.check();
    }
}

#[test]
fn a_snapshot_has_its_time_and_a_statement_its_own() {
    let mut database = Database::open();
    let (mut a, mut b) = (database.session(), database.session());
    a.run("CREATE TABLE t (id INT PRIMARY KEY, e DATETIME(3), n INT) TTL = e");
    let pass = |database: &Database, ms| database.engine.env().clock.sleep(Duration::from_millis(ms));
    a.run("INSERT INTO t VALUES (1, UTC_TIMESTAMP(3) + INTERVAL 10000 MICROSECOND, 1), (2, NULL, 2)");
    b.run("SET SESSION snapshot_isolation = OFF");
    b.run("BEGIN");
    a.run("BEGIN");
    assert_eq!(b.run("SELECT id FROM t"), ["id", "1", "2"]);
    pass(&database, 9);
    assert_eq!(a.run("SELECT id FROM t"), ["id", "1", "2"]);
    pass(&database, 1);
    // The snapshot's time stays; a locking read, and a change, go by their own.
    assert_eq!(a.run("SELECT id FROM t"), ["id", "1", "2"]);
    assert_eq!(a.error("UPDATE t SET n = 5 WHERE id = 1"), 1213);
    assert_eq!(a.run("SELECT id FROM t"), ["id", "2"]);
    assert_eq!(b.run("SELECT id FROM t"), ["id", "1", "2"]);
    assert_eq!(b.run("SELECT id FROM t FOR SHARE"), ["id", "2"]);
    b.run("UPDATE t SET n = n + 1");
    assert_eq!(b.run("SELECT ROW_COUNT()"), ["ROW_COUNT()", "1"]);
    b.run("COMMIT");
    assert_eq!(b.run("SELECT id FROM t"), ["id", "2"]);
    // At READ COMMITTED each statement has its time.
    a.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    a.run("INSERT INTO t VALUES (3, UTC_TIMESTAMP(3) + INTERVAL 10000 MICROSECOND, 1), (4, UTC_TIMESTAMP(3) + INTERVAL 10000 MICROSECOND, 1)");
    a.run("BEGIN");
    assert_eq!(a.run("SELECT id FROM t"), ["id", "2", "3", "4"]);
    assert_eq!(a.run("SELECT id FROM t WHERE id = 4 FOR UPDATE"), ["id", "4"]);
    pass(&database, 10);
    assert_eq!(a.run("SELECT id FROM t"), ["id", "2", "4"]);
    assert_eq!(b.run("SELECT id FROM t"), ["id", "2"]);
    assert_eq!(b.error("INSERT INTO t VALUES (4, NULL, 0)"), 1205);
    let mut purge = Purge::default();
    wait(database.engine.purge_expired(&mut purge).unwrap());
    a.run("UPDATE t SET e = NULL WHERE id = 4");
    a.run("COMMIT");
    assert_eq!(b.run("SELECT id FROM t"), ["id", "2", "4"]);
    assert_eq!(b.error("INSERT INTO t VALUES (4, NULL, 0)"), 1062);
}

#[test]
fn the_past_shows_what_was_not_expired_then() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, e DATETIME(3)) TTL = e");
    client.run("SET GLOBAL past_window_seconds = 600");
    let pass = |database: &Database, ms| database.engine.env().clock.sleep(Duration::from_millis(ms));
    loop {
        client.run("INSERT INTO t VALUES (1, UTC_TIMESTAMP(3) + INTERVAL 10000 MICROSECOND)");
        pass(&database, 5);
        client.run("SET @before = NOW(6)");
        pass(&database, 5);
        client.run("SET @after = NOW(6)");
        pass(&database, 5);
        let mut seen = |moment| client.try_run_waiting(&format!("SELECT id FROM t AS OF TIMESTAMP {moment}"));
        match (seen("@before"), seen("@after")) {
            (Ok(before), Ok(after)) => {
                assert_eq!((before, after), (vec!["id".into(), "1".into()], vec!["id".into()]));
                break;
            }
            // The window begins some time after it was asked for.
            (Err(error), _) | (_, Err(error)) => assert_eq!(error.code(), 9006),
        }
    }
}

/// Inserts over expired rows, their renewal, and the purge, all at once: a key is one row's, and nobody's change is lost.
#[test]
fn takers_renewers_and_the_purge_run_beside_each_other() {
    const KEYS: u32 = 4;
    let mut database = Database::open();
    let mut setup = database.session();
    setup.run(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT, e DATETIME(3), n INT, UNIQUE (k), KEY (e)) TTL = e",
    );
    setup.run("CREATE TABLE won (k INT, n INT)");
    let engine = Arc::clone(&database.engine);
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let mut client = database.session();
            let engine = Arc::clone(&engine);
            std::thread::spawn(move || {
                let mut seed = 7 + number;
                for round in 0..150 {
                    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648_u64;
                    let key = seed / 7 % u64::from(KEYS);
                    let end = "UTC_TIMESTAMP(3) + INTERVAL 3000 MICROSECOND";
                    client.run("BEGIN");
                    let taken = match seed / 64 % 3 {
                        0 => client.try_run_waiting(&format!("INSERT INTO t (k, e, n) VALUES ({key}, {end}, {round})")),
                        1 => client.try_run_waiting(&format!(
                            "INSERT INTO t (k, e, n) VALUES ({key}, {end}, 0) ON DUPLICATE KEY UPDATE e = {end}, n = n + 1"
                        )),
                        _ => client.try_run_waiting(&format!("UPDATE t SET e = {end}, n = n + 1 WHERE k = {key}")),
                    };
                    let committed = match taken {
                        Ok(_) => client.try_run_waiting("COMMIT"),
                        Err(error) => {
                            assert!([1062, 1213, 1205].contains(&error.code()), "{error}");
                            client.try_run_waiting("ROLLBACK")
                        }
                    };
                    committed.unwrap();
                    engine.env().clock.sleep(Duration::from_millis(1));
                    let live = client.run("SELECT k FROM t ORDER BY k");
                    assert!(live.windows(2).all(|pair| pair[0] != pair[1]), "{live:?}");
                }
            })
        })
        .collect();
    let mut purge = Purge::default();
    while threads.iter().any(|thread| !thread.is_finished()) {
        if let Some(commit) = engine.purge_expired(&mut purge) {
            wait(commit);
        }
        std::thread::yield_now();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let store = engine.participant().store();
    let verified = sql::verify::verify(store, &engine.catalog(), engine.clock_micros());
    assert_eq!(verified.problems, Vec::<String>::new());
    engine.env().clock.sleep(Duration::from_secs(10));
    while let Some(commit) = engine.purge_expired(&mut purge) {
        wait(commit);
    }
    assert_eq!(setup.run("SELECT COUNT(*) FROM t"), ["COUNT(*)", "0"]);
    let rows: u64 = store
        .tables()
        .iter()
        .filter(|table| table.expiry().is_some())
        .map(|table| table.estimated_rows())
        .sum();
    assert_eq!(rows, 0);
}
