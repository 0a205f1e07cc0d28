//! Statements of many rows on nodes that follow.

use mysql_client::{Answer, Client};

use crate::cluster::{Cluster, beside, calls, code, one, run, wait_until_waiting};

/// Many for a node that would ask the leader for each.
const ROWS: i32 = 5000;

/// Runs the same statements through a node that follows and, in another database, through the one that leads.
struct Both {
    there: Client,
    here: Client,
}

impl Both {
    fn new(cluster: &Cluster) -> Both {
        let (mut there, mut here) = (
            cluster.node(cluster.follower()).loading_client(),
            cluster.node(cluster.leader()).loading_client(),
        );
        for (client, name) in [(&mut there, "there"), (&mut here, "here")] {
            run(client, &format!("CREATE DATABASE {name}"));
            run(client, &format!("USE {name}"));
        }
        let mut both = Both { there, here };
        both.run("CREATE TABLE numbers (n INT PRIMARY KEY)");
        let rows: Vec<String> = (1..=ROWS).map(|n| format!("({n})")).collect();
        both.run_cheaply(&format!("INSERT INTO numbers VALUES {}", rows.join(", ")));
        both
    }

    /// Both have to answer the same.
    fn run(&mut self, sql: &str) -> Answer {
        let there = self.there.query(sql).unwrap();
        let here = self.here.query(sql).unwrap();
        assert_eq!(told(&there), told(&here), "{sql:.80}");
        there
    }

    /// As [`run`](Self::run), of many rows, which may not cost a call of the leader for each.
    fn run_cheaply(&mut self, sql: &str) -> Answer {
        let before = calls(&mut self.there);
        let answer = self.run(sql);
        if matches!(answer, Answer::Ok { warnings: 1.., .. }) {
            self.run("SHOW WARNINGS");
            self.run("SHOW COUNT(*) WARNINGS");
        }
        let made = calls(&mut self.there) - before;
        println!("{made} calls: {sql:.80}");
        assert!(made < 150, "{made} calls for {sql:.80}");
        answer
    }

    /// As [`run_cheaply`](Self::run_cheaply), of a file.
    fn loads(&mut self, affected: i32, sql: &str, file: &str) {
        let before = calls(&mut self.there);
        let there = self.there.load(sql, file.as_bytes()).unwrap();
        let here = self.here.load(sql, file.as_bytes()).unwrap();
        assert_eq!(told(&there), told(&here), "{sql:.80}");
        self.run("SHOW WARNINGS");
        let made = calls(&mut self.there) - before;
        println!("{made} calls: {sql:.80}");
        assert!(made < 150, "{made} calls for {sql:.80}");
        match there {
            Answer::Ok { affected: done, .. } => assert_eq!(done, affected as u64, "{sql:.80}"),
            other => panic!("{sql:.80}: {other:?}"),
        }
    }

    /// Also that it went well, and how many rows it has changed.
    fn changes(&mut self, affected: i32, sql: &str) {
        match self.run_cheaply(sql) {
            Answer::Ok { affected: done, .. } => assert_eq!(done, affected as u64, "{sql:.80}"),
            other => panic!("{sql:.80}: {other:?}"),
        }
    }

    fn succeeds(&mut self, sql: &str) {
        let answer = self.run_cheaply(sql);
        assert!(matches!(answer, Answer::Ok { .. }), "{sql:.80}: {answer:?}");
    }

    fn fails(&mut self, expected: u16, sql: &str) {
        match self.run_cheaply(sql) {
            Answer::Error { code, .. } => assert_eq!(code, expected, "{sql:.80}"),
            other => panic!("{sql:.80}: {other:?}"),
        }
    }
}

/// An answer as text, but for what is of one node (automatic ids) or of one database.
fn told(answer: &Answer) -> String {
    let value = |value: &Option<Vec<u8>>| match value {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "NULL".to_owned(),
    };
    let told = match answer {
        Answer::Rows { rows, warnings, .. } => {
            let rows = rows
                .iter()
                .map(|row| row.iter().map(value).collect::<Vec<_>>().join(" "));
            format!("{} ({warnings} warnings)", rows.collect::<Vec<_>>().join("\n"))
        }
        Answer::Ok {
            affected,
            info,
            warnings,
            ..
        } => format!("{affected} rows, {info} ({warnings} warnings)"),
        Answer::Error { code, message, .. } => format!("{code} {message}"),
    };
    told.replace("`there`", "`here`")
}

/// Keys of unique indexes that rows leave and take.
#[test]
fn unique_keys_of_many_rows_cost_few_calls() {
    let cluster = Cluster::start("cluster-unique-keys");
    let mut both = Both::new(&cluster);
    both.run("CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, v INT, w INT AS (v * 2) STORED UNIQUE)");
    both.changes(ROWS, "INSERT INTO t (id, u, v) SELECT n, n, n FROM numbers");
    both.changes(ROWS, "UPDATE t SET u = u + 10000");
    both.changes(ROWS, "UPDATE t SET u = u - 1 ORDER BY u");
    both.changes(ROWS, "UPDATE t SET v = -v");
    both.changes(ROWS, "UPDATE t SET id = id + 10000, u = u + 10000");
    both.changes(1, "UPDATE t SET u = 1 WHERE id = 15000");
    both.fails(1062, "UPDATE t SET u = u + 1 ORDER BY u");
    both.fails(1062, "UPDATE t SET u = IF(u = 1, 20000, u - 1) ORDER BY u DESC");
    both.changes(ROWS - 1, "UPDATE IGNORE t SET u = u - 1 WHERE u <> 1 ORDER BY u");
    both.run("SELECT SUM(id), SUM(u), SUM(v), SUM(w) FROM t");
    assert!(one(&mut both.there, "CHECK TABLE t").ends_with("status OK"));
    both.changes(ROWS / 2, "DELETE FROM t WHERE v % 2 = 0");
    both.changes(
        ROWS / 2,
        "INSERT INTO t (id, u, v) SELECT n, n, n FROM numbers WHERE n % 2 = 0",
    );
    both.changes(ROWS, "DELETE FROM t");
    both.changes(ROWS, "INSERT INTO t (id, u, v) SELECT n, n, n FROM numbers");
    both.run("SELECT SUM(id), SUM(u), SUM(v), SUM(w) FROM t FORCE INDEX (u)");
}

/// Rows of joins that are changed, or locked by a read.
#[test]
fn rows_of_joins_cost_few_calls() {
    let cluster = Cluster::start("cluster-joined-rows");
    let mut both = Both::new(&cluster);
    both.run("CREATE TABLE a (id INT PRIMARY KEY, u INT UNIQUE, v INT)");
    both.run("CREATE TABLE b (id INT PRIMARY KEY, a INT, v INT, KEY (a))");
    both.run("CREATE TABLE c (v INT, b INT UNIQUE)");
    both.changes(ROWS, "INSERT INTO a SELECT n, n, 0 FROM numbers");
    both.changes(ROWS, "INSERT INTO b SELECT n, n, 0 FROM numbers");
    both.changes(ROWS / 2, "INSERT INTO c SELECT 0, n FROM numbers WHERE n % 2 = 0");
    both.changes(
        ROWS * 2,
        "UPDATE a JOIN b ON b.a = a.id SET a.v = a.v + 1, b.v = a.v + 1, a.u = -a.u",
    );
    both.changes(ROWS / 2, "UPDATE b LEFT JOIN c ON c.b = b.id SET c.v = 7, c.b = -c.b");
    both.changes(ROWS / 2, "UPDATE c SET b = -b");
    both.run(
        "SELECT SUM(a.v), SUM(b.v), SUM(a.u), SUM(c.v), SUM(c.b) FROM a JOIN b ON b.a = a.id LEFT JOIN c ON c.b = b.id",
    );
    for from in [
        "b.id other FROM a JOIN b ON b.id = a.id FOR UPDATE",
        "b.id other FROM a JOIN b ON b.a = a.id FOR UPDATE",
        "b.id other FROM a JOIN b ON b.a = a.id FOR UPDATE OF b",
        "b.id other FROM a LEFT JOIN b ON b.id = a.id + 100 FOR SHARE",
        "c.b other FROM a JOIN b ON b.a = a.id LEFT JOIN c ON c.b = b.id AND c.v = 7 FOR UPDATE",
        "c.b other FROM a JOIN b ON b.a = a.id JOIN c ON c.b = b.id WHERE a.u % 3 = 0 AND b.v = 1 FOR UPDATE",
    ] {
        for isolation in ["REPEATABLE READ", "READ COMMITTED"] {
            both.run(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {isolation}"));
            both.run_cheaply(&format!(
                "SELECT COUNT(*), SUM(id), SUM(other) FROM (SELECT a.id id, {from}) t"
            ));
        }
    }
    // Who wants few rows does not lock many.
    run(&mut both.there, "BEGIN");
    run(
        &mut both.there,
        "SELECT a.id, b.id FROM a JOIN b ON b.a = a.id ORDER BY a.id LIMIT 3 FOR UPDATE",
    );
    let mut other = cluster.client(cluster.follower());
    assert_eq!(
        code(&mut other, "SELECT id FROM there.b WHERE id = 2 FOR UPDATE NOWAIT"),
        3572
    );
    run(&mut other, "SELECT id FROM there.b WHERE id = 9 FOR UPDATE NOWAIT");
    run(&mut both.there, "ROLLBACK");
    both.changes(ROWS, "DELETE a, b FROM a JOIN b ON b.a = a.id WHERE a.id % 2 = 0");
    both.run("SELECT COUNT(*), SUM(a.id), SUM(b.id) FROM a JOIN b ON b.a = a.id");
}

/// Rows that a statement copies from one table into another.
#[test]
fn copies_of_many_rows_cost_few_calls() {
    let cluster = Cluster::start("cluster-copied-rows");
    let mut both = Both::new(&cluster);
    let sums = "SELECT COUNT(*), COUNT(DISTINCT id), SUM(n), SUM(word), SUM(more) FROM made";
    both.changes(
        ROWS,
        "CREATE TABLE made (id INT PRIMARY KEY AUTO_INCREMENT, n INT UNIQUE, word VARCHAR(20)) SELECT n, n AS word FROM numbers",
    );
    both.succeeds(
        "ALTER TABLE made ADD COLUMN more INT NOT NULL DEFAULT 5, DROP PRIMARY KEY, ADD PRIMARY KEY (n), ADD UNIQUE (id)",
    );
    both.succeeds("ALTER TABLE made MODIFY word INT NOT NULL");
    both.run(sums);
    both.changes(1, "INSERT INTO made (id, n, word) VALUES (100000, -1, 1)");
    both.fails(1062, "ALTER TABLE made DROP PRIMARY KEY, ADD PRIMARY KEY (word)");
    both.changes(1, "DELETE FROM made WHERE n = -1");
    both.succeeds("ALTER TABLE made DROP PRIMARY KEY, ADD PRIMARY KEY (word)");
    both.changes(1, "INSERT INTO made (id, n, word) VALUES (100001, -1, -1)");
    both.run(sums);
}

/// New rows with others in their way.
#[test]
fn rows_in_the_way_of_many_cost_few_calls() {
    let cluster = Cluster::start("cluster-rows-in-the-way");
    let mut both = Both::new(&cluster);
    let sums = "SELECT COUNT(*), SUM(id), SUM(u), SUM(CAST(v AS SIGNED)), SUM(c) FROM t";
    both.run("CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, v VARCHAR(9), c INT DEFAULT 0)");
    both.changes(ROWS, "INSERT INTO t SELECT n, n, n, 0 FROM numbers");
    let list = |row: &dyn Fn(i32) -> String| (1..=ROWS).map(row).collect::<Vec<_>>().join(", ");
    let same = list(&|n| format!("({n}, {n}, {n}, 1)"));
    let moved = list(&|n| format!("('{}', {n}, {n}, 1)", n + ROWS));
    let half_new = list(&|n| format!("({}, {}, {n}, 1)", n * 2, n * 2));
    let on_duplicate = "ON DUPLICATE KEY UPDATE c = c + 1, u = -u";
    both.changes(ROWS * 2, &format!("INSERT INTO t VALUES {same} {on_duplicate}"));
    both.changes(
        ROWS * 2,
        &format!("INSERT INTO t SELECT n, n, n, 0 FROM numbers {on_duplicate}"),
    );
    both.changes(ROWS * 2, &format!("INSERT INTO t VALUES {moved} {on_duplicate}"));
    both.changes(
        ROWS * 2,
        "INSERT INTO t SELECT old.id, old.u, old.v, 0 FROM t AS old ON DUPLICATE KEY UPDATE u = -t.u",
    );
    both.run(sums);
    both.changes(0, &format!("INSERT IGNORE INTO t VALUES {same}"));
    both.changes(0, &format!("INSERT IGNORE INTO t VALUES {moved}"));
    both.changes(0, "INSERT IGNORE INTO t SELECT n, n, n, 0 FROM numbers");
    both.changes(ROWS * 2, &format!("REPLACE INTO t VALUES {same}"));
    both.changes(
        ROWS * 2,
        &format!("REPLACE INTO t (id, u, v) VALUES {}", moved.replace(", 1)", ")")),
    );
    both.changes(ROWS * 2, "REPLACE INTO t SELECT n, n, n, n FROM numbers");
    both.changes(
        ROWS + ROWS / 2,
        &format!("INSERT INTO t VALUES {half_new} {on_duplicate}"),
    );
    both.run(sums);
    both.run("DELETE FROM t WHERE id > 5000");
    both.changes(ROWS / 2, &format!("INSERT IGNORE INTO t VALUES {half_new}"));
    // What is said comes in the same order, and of the same rows.
    both.run("DELETE FROM t WHERE id % 7 = 0");
    both.run_cheaply(
        "INSERT IGNORE INTO t SELECT n, CONCAT(n, IF(n % 3, '', 'x')), n / (n % 5), CONCAT(n, 'y') + 0 FROM numbers",
    );
    both.run("SET sql_mode = ''");
    both.run_cheaply(
        "REPLACE INTO t SELECT n, CONCAT(n, IF(n % 3, '', 'x')), n / (n % 5), CONCAT(n, 'y') FROM numbers",
    );
    both.run("SET sql_mode = DEFAULT");
    // A row that cannot be written, or read, ends the statement at its place.
    both.run("INSERT INTO t VALUES (9000, 9000, 9000, 9000)");
    both.run_cheaply(
        "INSERT INTO t SELECT n, n, n, n FROM numbers ON DUPLICATE KEY UPDATE u = IF(t.id = 4321, 9000, t.u)",
    );
    both.run_cheaply("INSERT INTO t SELECT n, n, n, (SELECT n UNION SELECT IF(numbers.n = 3456, 1, n)) FROM numbers ON DUPLICATE KEY UPDATE u = t.u");
    both.run_cheaply("SET @n = 0");
    both.run_cheaply(
        "INSERT INTO t SELECT n, n, n, @n := @n + 1 FROM numbers WHERE n <= 100 ON DUPLICATE KEY UPDATE c = @n",
    );
    both.run(sums);
    // Automatic ids.
    both.run("CREATE TABLE ids (id INT PRIMARY KEY AUTO_INCREMENT, u VARCHAR(9) UNIQUE, c INT)");
    let rows = list(&|n| format!("('{n}', 0)"));
    both.changes(ROWS, &format!("INSERT INTO ids (u, c) VALUES {rows}"));
    both.changes(
        ROWS * 2,
        &format!("INSERT INTO ids (u, c) VALUES {rows} ON DUPLICATE KEY UPDATE c = c + 1"),
    );
    both.changes(ROWS * 2, &format!("REPLACE INTO ids (u, c) VALUES {rows}"));
    both.run("SELECT COUNT(*), SUM(u), SUM(c), COUNT(DISTINCT id) FROM ids");
    assert!(one(&mut both.there, "CHECK TABLE t, ids").ends_with("status OK"));
}

/// Parents and children of foreign keys.
#[test]
fn references_of_many_rows_cost_few_calls() {
    let cluster = Cluster::start("cluster-references");
    let mut both = Both::new(&cluster);
    let sums = "SELECT COUNT(*), SUM(c.id), SUM(c.p), SUM(c.u), SUM(p.id), SUM(p.u) FROM c LEFT JOIN p ON p.id = c.p";
    both.run("CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, v INT)");
    both.run(
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, u INT UNIQUE, \
         FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE, \
         FOREIGN KEY (u) REFERENCES p (u) ON DELETE SET NULL ON UPDATE CASCADE)",
    );
    both.run("CREATE TABLE g (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES c (id) ON DELETE CASCADE)");
    both.run("CREATE TABLE r (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))");
    both.changes(ROWS, "INSERT INTO p SELECT n, n, n FROM numbers");
    both.changes(ROWS, "INSERT INTO c SELECT n, n, n FROM numbers");
    both.changes(ROWS, "INSERT INTO g SELECT n, n FROM numbers");
    both.changes(ROWS, "INSERT INTO r SELECT n, n % 3 + 1 FROM numbers");
    both.changes(ROWS, "UPDATE c SET p = 5001 - p WHERE p <> 5001 - p");
    both.run(sums);
    both.fails(1452, "INSERT INTO r SELECT n + 10000, n + 5 FROM numbers");
    both.changes(ROWS - 5, "INSERT IGNORE INTO r SELECT n + 10000, n + 5 FROM numbers");
    both.fails(1452, "UPDATE c SET p = p + 5");
    both.fails(1451, "DELETE FROM p WHERE id > 3");
    both.changes(ROWS - 5, "DELETE FROM r WHERE id > 10000");
    both.fails(1451, "UPDATE p SET id = id + 10000 ORDER BY id DESC");
    both.changes(ROWS - 3, "UPDATE p SET id = id + 10000 WHERE id > 3");
    both.changes(ROWS, "UPDATE p SET u = u + 10000");
    both.run(sums);
    both.changes(ROWS - 4, "DELETE FROM p WHERE id > 10004");
    both.run(sums);
    both.run("SELECT COUNT(*), SUM(id), SUM(c) FROM g");
    both.changes(ROWS, "DELETE FROM r");
    both.changes(4, "DELETE FROM p");
    both.run("SELECT COUNT(*) FROM p, c, g");
    // All under one row, which is the parent of two, and so on.
    both.run("CREATE TABLE t (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES t (id) ON DELETE CASCADE)");
    both.changes(ROWS, "INSERT INTO t SELECT n, IF(n = 1, NULL, n DIV 2) FROM numbers");
    both.changes(1, "DELETE FROM t WHERE id = 1");
    both.run("SELECT COUNT(*) FROM t");
    assert!(one(&mut both.there, "CHECK TABLE p, c, g, t").ends_with("status OK"));
}

/// Lists whose keys are computed, and files: of rows that are there, and of rows with parents.
#[test]
fn computed_keys_and_loaded_rows_cost_few_calls() {
    let cluster = Cluster::start("cluster-computed-keys");
    let mut both = Both::new(&cluster);
    let sums = "SELECT COUNT(*), SUM(id), SUM(u), SUM(v) FROM t";
    both.run("CREATE TABLE t (id INT PRIMARY KEY, u INT UNIQUE, v INT)");
    both.changes(ROWS, "INSERT INTO t SELECT n, n, n FROM numbers");
    let list = |row: &dyn Fn(i32) -> String| (1..=ROWS).map(row).collect::<Vec<_>>().join(", ");
    let computed = list(&|n| format!("(ABS(-{n}), {n} + 0, 1)"));
    both.run("SET @base = 5000");
    let from_variable = list(&|n| format!("(@base + {n}, CONCAT({n}, ''), 2)"));
    for ignored in [&computed, &from_variable] {
        both.changes(0, &format!("INSERT IGNORE INTO t VALUES {ignored}"));
        both.changes(
            ROWS * 2,
            &format!("INSERT INTO t VALUES {ignored} ON DUPLICATE KEY UPDATE v = v + 1"),
        );
    }
    both.changes(ROWS * 2, &format!("REPLACE INTO t VALUES {computed}"));
    both.run(sums);
    // What a list computes from itself, or what depends on the rows before it, has its turn when these are there.
    both.run(
        "INSERT INTO t VALUES (6001, 6001, 0), (id + 6002, (SELECT MAX(u) FROM numbers JOIN (SELECT 7000 u) m) + 1, v)",
    );
    both.run("SET @n = 8000");
    both.run("INSERT INTO t VALUES (@n := @n + 1, @n, 0), (@n := @n + 1, @n, 0) ON DUPLICATE KEY UPDATE v = -1");
    both.run("SELECT @n");
    both.run("INSERT INTO t (id, u) VALUES (1 / 0, 9001), (9002, 9002 DIV 1)");
    both.run("DELETE FROM t WHERE id > 5000");
    // Files.
    let file = |row: &dyn Fn(i32) -> String| (1..=ROWS).map(row).collect::<Vec<_>>().join("\n");
    let same = file(&|n| format!("{n}\t{n}\t5"));
    both.loads(0, "LOAD DATA LOCAL INFILE 'x' INTO TABLE t", &same);
    both.loads(0, "LOAD DATA LOCAL INFILE 'x' IGNORE INTO TABLE t", &same);
    both.loads(ROWS * 2, "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE t", &same);
    both.loads(
        ROWS * 2,
        "LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE t (id, u, @v) SET v = @v * 2",
        &same,
    );
    let odd = file(&|n| match n % 7 {
        0 => format!("{n}"),
        1 => format!("{n}x\t{}\t\\N\tmore", n + ROWS),
        2 => format!("\\N\t{n}\t2"),
        _ => format!("{}\t{}\t{n}", n + ROWS, n * 2),
    });
    let before = one(&mut both.here, "SELECT COUNT(*) FROM t");
    assert_eq!(before, ROWS.to_string());
    let loaded = both
        .here
        .load("LOAD DATA LOCAL INFILE 'x' IGNORE INTO TABLE t", odd.as_bytes());
    let Ok(Answer::Ok { affected, .. }) = loaded else {
        panic!("{loaded:?}")
    };
    run(&mut both.here, "DELETE FROM t");
    run(&mut both.here, "INSERT INTO t SELECT n, n, 10 FROM numbers");
    run(&mut both.there, "DELETE FROM t");
    run(&mut both.there, "INSERT INTO t SELECT n, n, 10 FROM numbers");
    both.loads(affected as i32, "LOAD DATA LOCAL INFILE 'x' IGNORE INTO TABLE t", &odd);
    both.run(sums);
    // Rows with parents, also where there is none, and where the transaction has read before.
    both.run("CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE)");
    both.changes(ROWS, "INSERT INTO p SELECT n, n + 10000 FROM numbers");
    both.run(
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, u INT, FOREIGN KEY (p) REFERENCES p (id), \
         FOREIGN KEY (u) REFERENCES p (u))",
    );
    let children = file(&|n| format!("{n}\t{}\t{}", n + 10, n + 10_000));
    both.loads(ROWS - 10, "LOAD DATA LOCAL INFILE 'x' INTO TABLE c", &children);
    both.changes(ROWS - 10, "DELETE FROM c");
    both.changes(
        ROWS - 10,
        &format!(
            "INSERT IGNORE INTO c VALUES {}",
            list(&|n| format!("({n}, {n} + 10, {})", n + 10_000))
        ),
    );
    both.changes(ROWS - 10, "DELETE FROM c");
    for from in ["numbers", "numbers WHERE n > 0 ORDER BY n"] {
        both.run("BEGIN");
        both.run("SELECT COUNT(*) FROM p");
        both.changes(ROWS, &format!("INSERT INTO c SELECT n, n, n + 10000 FROM {from}"));
        both.run("ROLLBACK");
    }
    // Children in the way of one row after the other.
    both.changes(ROWS / 2, "INSERT INTO c SELECT n, n, NULL FROM numbers WHERE n % 2 = 0");
    both.changes(ROWS / 2, "DELETE IGNORE FROM p");
    both.run("UPDATE IGNORE p SET u = u + 1");
    both.changes(0, "UPDATE IGNORE p SET id = -id");
    both.run("SELECT COUNT(*), SUM(p.id), SUM(p.u), SUM(c.id) FROM p JOIN c ON c.p = p.id");
    assert!(one(&mut both.there, "CHECK TABLE t, p, c").ends_with("status OK"));
}

/// An idle node that follows gives the ids that the leader would give.
#[test]
fn automatic_ids_have_no_more_gaps_than_the_leaders() {
    let cluster = Cluster::start("cluster-automatic-ids");
    let mut both = Both::new(&cluster);
    both.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, u INT UNIQUE, n INT)");
    let ids = "SELECT COUNT(*), MIN(id), MAX(id), SUM(id), SUM(id * (u % 97)) FROM t";
    let mut next = 0;
    let mut list = |rows: i32| {
        let rows = (0..rows).map(|_| {
            next += 1;
            format!("({next}, 0)")
        });
        rows.collect::<Vec<_>>().join(", ")
    };
    for round in 0..60 {
        for rows in [1, 1, 1, 7, 50] {
            let rows = list(rows);
            both.run(&format!("INSERT INTO t (u, n) VALUES {rows}"));
        }
        if round % 10 == 0 {
            both.run("INSERT INTO t (id, u) VALUES (NULL, -1)");
            both.run("INSERT INTO t (u, n) VALUES (-1, 1)");
            both.run("INSERT IGNORE INTO t (u, n) VALUES (-1, 1), (-2, 1), (-1, 2)");
            both.run("INSERT INTO t (u, n) SELECT 100000 + n, n FROM numbers WHERE n <= 20");
            both.run("DELETE FROM t WHERE u < 0 OR u > 100000");
            both.run(&format!("INSERT INTO t (id, u) VALUES ({}, -3)", 5000 * (round + 1)));
        }
        both.run(ids);
    }
    // Other sequences begin with the rest of a range, too.
    both.run("SET auto_increment_increment = 10, auto_increment_offset = 3");
    both.run("SELECT @last := MAX(u) FROM t");
    for rows in [1, 5, 1, 40, 1] {
        let rows = list(rows);
        both.run(&format!("INSERT INTO t (u, n) VALUES {rows}"));
    }
    both.run("SELECT COUNT(*), MIN(id % 10), MAX(id % 10) FROM t WHERE u > @last");
}

/// Sessions of all nodes that remove parents, and add children to them: no child is without a parent.
#[test]
fn no_child_is_left_without_a_parent() {
    let cluster = Cluster::start("cluster-orphans");
    let mut client = cluster.client(1);
    run(&mut client, "CREATE TABLE test.p (id INT PRIMARY KEY, u INT UNIQUE)");
    for (name, action) in [("kept", "RESTRICT"), ("gone", "CASCADE")] {
        run(
            &mut client,
            &format!(
                "CREATE TABLE test.{name} (id INT PRIMARY KEY AUTO_INCREMENT, p INT, u INT, \
                 FOREIGN KEY (p) REFERENCES test.p (id) ON DELETE {action} ON UPDATE {action}, \
                 FOREIGN KEY (u) REFERENCES test.p (u) ON DELETE {action} ON UPDATE {action})"
            ),
        );
    }
    let parents: Vec<String> = (0..40).map(|id| format!("({id}, {id})")).collect();
    let add_parents = format!("INSERT IGNORE INTO test.p VALUES {}", parents.join(", "));
    run(&mut client, &add_parents);
    let done: Vec<[u32; 3]> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..6)
            .map(|who| {
                let mut client = cluster.client(who as usize % 3 + 1);
                let add_parents = &add_parents;
                scope.spawn(move || {
                    let (mut done, mut refused, mut lost) = (0, 0, 0);
                    for round in 0..40 {
                        let first = (round * 11 + who * 5) % 40;
                        let (table, column) = [("gone", "p"), ("gone", "u"), ("kept", "p")][round as usize % 3];
                        let sql = match (round + who) % 5 {
                            0 => format!("DELETE FROM test.p WHERE id >= {first} AND id < {}", first + 10),
                            1 => add_parents.clone(),
                            2 => format!("UPDATE test.p SET u = -u WHERE id >= {first} AND id < {}", first + 10),
                            3 if round % 4 == 0 => "DELETE FROM test.kept".to_owned(),
                            _ => {
                                let rows: Vec<String> = (first..first + 10).map(|p| format!("({p})")).collect();
                                format!("INSERT INTO test.{table} ({column}) VALUES {}", rows.join(", "))
                            }
                        };
                        match client.query(&sql).unwrap() {
                            Answer::Ok { .. } => done += 1,
                            Answer::Error { code: 1451 | 1452, .. } => refused += 1,
                            Answer::Error { code: 1213, .. } => lost += 1,
                            other => panic!("{sql}: {other:?}"),
                        }
                    }
                    [done, refused, lost]
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    println!("done, refused, lost: {done:?}");
    for table in ["kept", "gone"] {
        for column in [("p", "id"), ("u", "u")] {
            let sql = format!(
                "SELECT COUNT(*) FROM test.{table} c LEFT JOIN test.p ON p.{} = c.{} WHERE c.{} IS NOT NULL AND p.id IS NULL",
                column.1, column.0, column.0
            );
            assert_eq!(one(&mut client, &sql), "0", "{table}.{}: {done:?}", column.0);
        }
    }
    assert!(done.iter().map(|[done, ..]| done).sum::<u32>() > 60, "{done:?}");
}

/// Whoever waits for a parent that is being removed is told that there is none, in whatever statement of a transaction.
#[test]
fn a_parent_that_goes_while_a_child_waits_is_missing() {
    let cluster = Cluster::start("cluster-parent-goes");
    let (mut here, mut there) = (cluster.client(cluster.leader()), cluster.client(cluster.follower()));
    run(&mut here, "CREATE TABLE test.p (id INT PRIMARY KEY)");
    run(
        &mut here,
        "CREATE TABLE test.c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES test.p (id))",
    );
    for before in ["BEGIN", "BEGIN; SELECT * FROM test.p"] {
        run(&mut here, "INSERT INTO test.p VALUES (1), (2)");
        run(&mut here, "BEGIN");
        run(&mut here, "DELETE FROM test.p WHERE id = 2");
        let mut child = cluster.client(cluster.follower());
        before.split("; ").for_each(|sql| run(&mut child, sql));
        let id = child.connection_id;
        let child = beside(child, "INSERT INTO test.c VALUES (1, 1), (2, 2)");
        wait_until_waiting(&mut there, id);
        run(&mut here, "COMMIT");
        assert_eq!(child.join().unwrap(), 1452, "{before}");
        run(&mut here, "DELETE FROM test.p");
    }
}

/// A definition of another table that is made meanwhile has the statement planned anew. It reads what it has waited for all the same, and
/// its rows are sent once.
#[test]
fn a_wait_is_no_conflict_when_definitions_change_beside() {
    let cluster = Cluster::start("cluster-wait-and-define");
    let (mut here, mut there) = (cluster.client(cluster.leader()), cluster.client(cluster.follower()));
    run(&mut here, "CREATE TABLE test.t (id INT PRIMARY KEY, v INT)");
    run(&mut here, "INSERT INTO test.t VALUES (1, 10), (2, 20)");
    let levels = [
        "SET SESSION snapshot_isolation = ON",
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
    ];
    let statements = [
        "SELECT SUM(v) FROM test.t FOR UPDATE",
        "SELECT id, v FROM test.t WHERE id = 1 FOR SHARE",
        "UPDATE test.t SET v = v + 1",
        "DELETE FROM test.t WHERE id = 1 AND v > 1000",
    ];
    for (turn, (level, sql)) in levels
        .iter()
        .flat_map(|level| statements.map(|sql| (level, sql)))
        .enumerate()
    {
        run(&mut here, "BEGIN");
        run(&mut here, "SELECT * FROM test.t FOR UPDATE");
        let mut waiting = cluster.client(cluster.follower());
        run(&mut waiting, level);
        run(&mut waiting, "BEGIN");
        let id = waiting.connection_id;
        let waiting = beside(waiting, sql);
        wait_until_waiting(&mut there, id);
        run(
            &mut there,
            &format!("CREATE TABLE test.other{turn} (id INT PRIMARY KEY)"),
        );
        run(&mut here, "UPDATE test.t SET v = v - 30 WHERE id = 1");
        run(&mut here, "COMMIT");
        assert_eq!(waiting.join().unwrap(), 0, "{level}: {sql}");
    }
}

/// Sessions of all nodes that give their rows the same unique keys: each key has one row, whoever was told so has it, and a key that
/// was left can be taken.
#[test]
fn no_unique_key_is_given_to_two_rows() {
    let cluster = Cluster::start("cluster-unique-race");
    let mut client = cluster.client(1);
    run(
        &mut client,
        "CREATE TABLE test.race (id INT PRIMARY KEY, u INT UNIQUE, who INT)",
    );
    const SESSIONS: i32 = 4;
    let rows: Vec<String> = (0..SESSIONS * 30)
        .map(|id| format!("({id}, {id}, {})", id / 30))
        .collect();
    run(
        &mut client,
        &format!("INSERT INTO test.race VALUES {}", rows.join(", ")),
    );
    let done: Vec<(u32, u32)> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..SESSIONS)
            .map(|who| {
                let mut client = cluster.client(who as usize % 3 + 1);
                scope.spawn(move || {
                    let (mut moved, mut lost) = (0, 0);
                    for round in 0..30 {
                        // Its rows move to one of a few places, where those of another session may be.
                        let place = 1000 + (round * 7 + who) % 5 * 100;
                        let sql = match round % 4 {
                            0 => format!("DELETE FROM test.race WHERE who = {who} AND id % 3 = 0"),
                            1 => {
                                let row = |at: i32| format!("({}, {}, {who})", who * 30 + at, 5000 + at);
                                let rows: Vec<String> = (0..30).step_by(3).map(row).collect();
                                format!("INSERT IGNORE INTO test.race VALUES {}", rows.join(", "))
                            }
                            _ => format!("UPDATE test.race SET u = {place} + id % 30 WHERE who = {who}"),
                        };
                        match client.query(&sql).unwrap() {
                            Answer::Ok { .. } => moved += 1,
                            Answer::Error { code: 1062 | 1213, .. } => lost += 1,
                            other => panic!("{sql}: {other:?}"),
                        }
                    }
                    (moved, lost)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    let count = one(&mut client, "SELECT COUNT(*) FROM test.race FORCE INDEX (PRIMARY)");
    for index in ["PRIMARY", "u"] {
        let sql = format!("SELECT COUNT(*), COUNT(DISTINCT u) FROM test.race FORCE INDEX ({index})");
        assert_eq!(one(&mut client, &sql), format!("{count} {count}"), "{done:?}");
    }
    assert!(done.iter().map(|(moved, _)| moved).sum::<u32>() > 20, "{done:?}");
    // Everything that was left is free on every node.
    run(&mut client, "DELETE FROM test.race");
    for node in 1..=3 {
        let mut client = cluster.client(node);
        run(
            &mut client,
            &format!("INSERT INTO test.race VALUES {}", rows.join(", ")),
        );
        run(&mut client, "DELETE FROM test.race");
    }
}

/// A statement of many rows asks the leader for many locks at once; and whoever loses a race for a key runs again, or is told.
#[test]
fn many_rows_cost_few_calls_and_no_key_is_given_twice() {
    let cluster = Cluster::start("cluster-many-rows");
    let leader = cluster.leader();
    let followers: Vec<usize> = (1..=3).filter(|&node| node != leader).collect();
    let mut client = cluster.client(followers[0]);
    run(
        &mut client,
        "CREATE TABLE test.many (id INT PRIMARY KEY, u INT UNIQUE, n INT, c INT)",
    );
    let values = |ids: std::ops::Range<i32>| {
        let rows: Vec<String> = ids.map(|id| format!("({id}, {id}, {}, 0)", id % 10)).collect();
        rows.join(", ")
    };
    let mut costs = |sql: &str| {
        let before = calls(&mut client);
        run(&mut client, sql);
        let made = calls(&mut client) - before;
        assert!(made < 60, "{made} calls for {sql:.60}");
    };
    costs(&format!("INSERT INTO test.many VALUES {}", values(0..2000)));
    costs("INSERT INTO test.many SELECT id + 2000, u + 2000, n, c FROM test.many");
    costs("UPDATE test.many SET c = c + 1");
    costs("SELECT COUNT(*) FROM (SELECT id FROM test.many WHERE n < 5 FOR UPDATE) t");
    assert_eq!(
        one(&mut client, "SELECT COUNT(*), SUM(c), COUNT(DISTINCT u) FROM test.many"),
        "4000 4000 4000"
    );
    assert_eq!(
        code(
            &mut client,
            "INSERT INTO test.many VALUES (9000, 9000, 0, 0), (9001, 17, 0, 0)"
        ),
        1062
    );
    assert_eq!(one(&mut client, "SELECT COUNT(*) FROM test.many WHERE id >= 9000"), "0");

    // Two nodes at once, the same keys in other rows: every key is somebody's, whoever was told so has it, and no index has two of it.
    run(
        &mut client,
        "CREATE TABLE test.race (id INT PRIMARY KEY, u INT, who INT, UNIQUE (u))",
    );
    let counts: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let racers: Vec<_> = [leader, followers[0], followers[1], followers[0]]
            .into_iter()
            .enumerate()
            .map(|(who, node)| {
                let mut client = cluster.client(node);
                scope.spawn(move || {
                    let (mut added, mut lost) = (0, 0);
                    for round in 0..40 {
                        let first = round * 50;
                        let row = |at: i32| format!("({}, {}, {who})", first + at, first + (at + who as i32 * 7) % 50);
                        let rows = (0..50).map(row).collect::<Vec<_>>().join(", ");
                        let sql = match round % 3 {
                            0 => format!("INSERT IGNORE INTO test.race VALUES {rows}"),
                            1 => format!("INSERT INTO test.race VALUES {rows} ON DUPLICATE KEY UPDATE who = who"),
                            _ => format!("INSERT INTO test.race VALUES {rows}"),
                        };
                        match client.query(&sql).unwrap() {
                            Answer::Ok { affected, .. } => added += affected,
                            Answer::Error { code: 1062 | 1213, .. } => lost += 1,
                            other => panic!("{sql:.60}: {other:?}"),
                        }
                    }
                    (added, lost)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    let added: u64 = counts.iter().map(|(added, _)| added).sum();
    for index in ["PRIMARY", "u"] {
        let sql =
            format!("SELECT COUNT(*), COUNT(DISTINCT id), COUNT(DISTINCT u) FROM test.race FORCE INDEX ({index})");
        assert_eq!(one(&mut client, &sql), format!("{added} {added} {added}"), "{counts:?}");
    }
    assert!(added > 1000, "{counts:?}");
}
