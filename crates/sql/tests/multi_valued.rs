//! Multi-valued indexes against a scan of the same table: random documents, random changes in transactions that commit or roll back, and
//! every way to ask for elements. What an index finds is what the table has, once, and unique elements are unique.

use proptest::prelude::*;

use crate::common::{Client, Database};

const IDS: i32 = 10;

/// Documents for each kind of elements, and what is asked for among them.
struct Elements {
    ty: &'static str,
    scalars: &'static [&'static str],
    asked: &'static [&'static str],
}

const KINDS: &[Elements] = &[
    Elements {
        ty: "UNSIGNED",
        scalars: &[
            "0",
            "1",
            "2",
            "2.0",
            "2.5",
            "3",
            "true",
            "\"3\"",
            "18446744073709551615",
        ],
        asked: &[
            "0",
            "1",
            "2",
            "2.0",
            "2.5",
            "3",
            "1e0",
            "true",
            "'3'",
            "18446744073709551615",
            "-1",
            "NULL",
        ],
    },
    Elements {
        ty: "SIGNED",
        scalars: &["-1", "0", "1", "1.5", "9007199254740993", "9007199254740992.0"],
        asked: &[
            "-1",
            "0",
            "1",
            "1.5",
            "9007199254740993",
            "9007199254740992",
            "9007199254740992e0",
            "'1'",
        ],
    },
    Elements {
        ty: "DECIMAL(6,2)",
        scalars: &["1", "1.0", "1.10", "1.004", "-2.5", "\"1.1\""],
        asked: &["1", "1.0", "1.1", "1.004", "1.0e0", "-2.5", "'1.1'", "99999999"],
    },
    Elements {
        ty: "CHAR(4)",
        scalars: &["\"a\"", "\"A\"", "\"ä\"", "\"\"", "\"b \"", "\"b\"", "1", "1.0", "true"],
        asked: &[
            "'a'", "'A'", "'ä'", "''", "'b '", "'b'", "1", "1.0", "true", "'1'", "'abcdef'",
        ],
    },
    Elements {
        ty: "BINARY(4)",
        scalars: &["\"a\"", "\"A\"", "\"b \"", "\"b\"", "1"],
        asked: &["'a'", "'A'", "'b '", "'b'", "1", "'abcdef'"],
    },
    Elements {
        ty: "DATE",
        scalars: &[
            "\"2020-01-02\"",
            "\"2020-1-2\"",
            "\"2021-01-01\"",
            "20200102",
            "\"2020-01-02 10:11:12\"",
        ],
        asked: &[
            "'2020-01-02'",
            "'2020-1-2'",
            "'2021-01-01'",
            "20200102",
            "DATE'2020-01-02'",
            "'no date'",
        ],
    },
    Elements {
        ty: "DATETIME(1)",
        scalars: &[
            "\"2020-01-02\"",
            "\"2020-01-02 10:11:12.34\"",
            "\"2020-01-02 10:11:12.3\"",
            "20200102101112",
        ],
        asked: &[
            "'2020-01-02'",
            "'2020-01-02 10:11:12.34'",
            "'2020-01-02 10:11:12.3'",
            "TIMESTAMP'2020-01-02 00:00:00'",
        ],
    },
    Elements {
        ty: "TIME",
        scalars: &["\"10:11:12\"", "\"10:11\"", "101112", "\"-01:00:00\""],
        asked: &["'10:11:12'", "'10:11'", "101112", "TIME'10:11:12'", "'-01:00:00'"],
    },
];

#[derive(Debug, Clone)]
enum Document {
    Null,
    /// Without the member that is indexed.
    Other,
    Scalar(usize),
    Array(Vec<usize>),
}

#[derive(Debug, Clone)]
enum Change {
    Put(i32, i32, Document),
    Update(i32, Document),
    Move(i32, i32),
    DeleteBy(usize),
    Delete(i32),
    Savepoint,
    RollbackTo,
    Commit,
    Rollback,
    /// The index is made anew.
    Rebuild,
}

fn document() -> impl Strategy<Value = Document> {
    prop_oneof![
        1 => Just(Document::Null),
        1 => Just(Document::Other),
        2 => any::<usize>().prop_map(Document::Scalar),
        6 => prop::collection::vec(any::<usize>(), 0..4).prop_map(Document::Array),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..IDS, 0..3, document()).prop_map(|(id, n, document)| Change::Put(id, n, document)),
        3 => (0..IDS, document()).prop_map(|(id, document)| Change::Update(id, document)),
        1 => (0..IDS, 0..3).prop_map(|(id, n)| Change::Move(id, n)),
        1 => any::<usize>().prop_map(Change::DeleteBy),
        1 => (0..IDS).prop_map(Change::Delete),
        1 => Just(Change::Savepoint),
        1 => Just(Change::RollbackTo),
        2 => Just(Change::Commit),
        1 => Just(Change::Rollback),
        1 => Just(Change::Rebuild),
    ]
}

fn written(document: &Document, of: &Elements) -> String {
    let scalar = |at: &usize| of.scalars[at % of.scalars.len()];
    match document {
        Document::Null => "NULL".to_owned(),
        Document::Other => "'{}'".to_owned(),
        Document::Scalar(at) => format!("'{{\"z\": {}}}'", scalar(at)),
        Document::Array(items) => {
            let items: Vec<&str> = items.iter().map(scalar).collect();
            format!("'{{\"z\": [{}]}}'", items.join(", "))
        }
    }
}

/// All questions, of a value and of lists of two.
fn questions(of: &Elements) -> Vec<String> {
    let mut questions = vec![
        "JSON_CONTAINS(d->'$.z', '[]')".to_owned(),
        "JSON_OVERLAPS(d->'$.z', '[]')".to_owned(),
        "JSON_CONTAINS(d->'$.z', '{}')".to_owned(),
    ];
    for (at, value) in of.asked.iter().enumerate() {
        questions.push(format!("{value} MEMBER OF (d->'$.z')"));
        questions.push(format!("{value} MEMBER OF (d->'$.z') AND n = 1"));
        let other = of.asked[(at + 1) % of.asked.len()];
        for list in [format!("JSON_ARRAY({value})"), format!("JSON_ARRAY({value}, {other})")] {
            questions.push(format!("JSON_CONTAINS(d->'$.z', {list})"));
            questions.push(format!("JSON_OVERLAPS(d->'$.z', {list})"));
            questions.push(format!("JSON_OVERLAPS({list}, d->'$.z') AND n IN (0, 2)"));
        }
    }
    questions
}

fn check(client: &mut Client, of: &Elements) {
    for question in questions(of) {
        let asked = |hint: &str| format!("SELECT id FROM t {hint} WHERE {question} ORDER BY id");
        let expected = client.run(&asked("IGNORE INDEX (z, nz, zn)"));
        for hint in ["FORCE INDEX (z)", "FORCE INDEX (nz)", "FORCE INDEX (zn)", ""] {
            assert_eq!(client.run(&asked(hint)), expected, "{} {hint} {question}", of.ty);
        }
        // Of each row once, also where rows are counted and locked.
        let counted = |hint: &str| format!("SELECT COUNT(*), COUNT(n), SUM(n) FROM t {hint} WHERE {question}");
        assert_eq!(
            client.run(&counted("FORCE INDEX (z)")),
            client.run(&counted("IGNORE INDEX (z, nz, zn)")),
            "{question}"
        );
        let locked = format!("SELECT id FROM t FORCE INDEX (z) WHERE {question} ORDER BY id FOR UPDATE");
        assert_eq!(client.run(&locked), expected, "{} locked {question}", of.ty);
    }
}

fn run(of: &Elements, changes: &[Change]) {
    let mut database = Database::open();
    let mut client = database.session();
    let ty = of.ty;
    let key = format!("(CAST(d->'$.z' AS {ty} ARRAY))");
    client.run(&format!(
        "CREATE TABLE t (id INT PRIMARY KEY, n INT, d JSON, INDEX z ({key}), INDEX nz (n, {key}), INDEX zn ({key}, n))"
    ));
    client.run("BEGIN");
    let mut has_savepoint = false;
    for change in changes {
        let sql = match change {
            Change::Put(id, n, document) => format!("REPLACE INTO t VALUES ({id}, {n}, {})", written(document, of)),
            Change::Update(id, document) => format!("UPDATE t SET d = {} WHERE id = {id}", written(document, of)),
            Change::Move(id, n) => format!("UPDATE t SET n = {n} WHERE id >= {id}"),
            Change::DeleteBy(at) => {
                let value = of.asked[at % of.asked.len()];
                format!("DELETE FROM t WHERE JSON_OVERLAPS(d->'$.z', JSON_ARRAY({value})) LIMIT 1")
            }
            Change::Delete(id) => format!("DELETE FROM t WHERE id = {id}"),
            Change::Savepoint => {
                has_savepoint = true;
                "SAVEPOINT s".to_owned()
            }
            Change::RollbackTo if has_savepoint => "ROLLBACK TO s".to_owned(),
            Change::RollbackTo => continue,
            Change::Commit | Change::Rollback => {
                has_savepoint = false;
                client.run(if matches!(change, Change::Commit) {
                    "COMMIT"
                } else {
                    "ROLLBACK"
                });
                "BEGIN".to_owned()
            }
            Change::Rebuild => {
                has_savepoint = false;
                client.run(&format!("ALTER TABLE t DROP INDEX z, ADD INDEX z ({key})"));
                "BEGIN".to_owned()
            }
        };
        client.run(&sql);
    }
    check(&mut client, of);
    client.run("COMMIT");
    check(&mut client, of);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn an_index_of_elements_finds_what_a_scan_finds(changes in prop::collection::vec(change(), 1..40)) {
        for of in KINDS {
            run(of, &changes);
        }
    }
}

/// Of a table of arrays whose elements have an index.
fn two_sessions(database: &mut Database, rows: &str) -> (Client, Client) {
    let (mut a, b) = (database.session(), database.session());
    a.run("CREATE TABLE t (id INT PRIMARY KEY, d JSON, INDEX z ((CAST(d AS UNSIGNED ARRAY))))");
    a.run(&format!("INSERT INTO t VALUES {rows}"));
    (a, b)
}

/// An old snapshot goes on finding what it has, by elements that are gone and not by those that came.
#[test]
fn a_snapshot_keeps_its_elements() {
    let mut database = Database::open();
    let (mut old, mut new) = two_sessions(&mut database, "(1, '[1, 2]'), (2, '[2, 3]'), (3, '[]')");
    let asked = |value: i32| format!("SELECT id FROM t FORCE INDEX (z) WHERE {value} MEMBER OF (d) ORDER BY id");
    old.run("BEGIN");
    let before: Vec<_> = (1..5).map(|value| old.run(&asked(value))).collect();
    new.run("UPDATE t SET d = '[3, 4]' WHERE id = 1");
    new.run("DELETE FROM t WHERE id = 2");
    new.run("INSERT INTO t VALUES (4, '[1]')");
    let during: Vec<_> = (1..5).map(|value| old.run(&asked(value))).collect();
    assert_eq!(during, before);
    old.run("COMMIT");
    assert_eq!(old.run(&asked(1))[1..], ["4"]);
    assert_eq!(old.run(&asked(3))[1..], ["1"]);
    let both = "SELECT id FROM t FORCE INDEX (z) WHERE JSON_OVERLAPS(d, '[3, 4]')";
    assert_eq!(old.run(both)[1..], ["1"]);
}

/// What is locked by its elements is held against the snapshot: a row that has got the element since is a conflict, as is one that has lost it.
#[test]
fn a_locking_read_by_elements_meets_no_newer_row() {
    let mut database = Database::open();
    let (mut a, mut b) = two_sessions(&mut database, "(1, '[1, 2]'), (2, '[5]')");
    for element in [1, 9] {
        a.run("BEGIN");
        a.run("SELECT COUNT(*) FROM t");
        b.run("UPDATE t SET d = '[2, 9]' WHERE id = 1");
        let locking = format!("SELECT id FROM t FORCE INDEX (z) WHERE {element} MEMBER OF (d) FOR UPDATE");
        assert_eq!(a.error(&locking), 1213, "{element}");
        b.run("UPDATE t SET d = '[1, 2]' WHERE id = 1");
    }
    // Under READ COMMITTED it is the newest row, once.
    a.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    a.run("BEGIN");
    a.run("SELECT COUNT(*) FROM t");
    b.run("UPDATE t SET d = '[2, 9]' WHERE id = 1");
    let locking = "SELECT id FROM t FORCE INDEX (z) WHERE JSON_OVERLAPS(d, '[1, 2, 9]') FOR UPDATE";
    assert_eq!(a.run(locking)[1..], ["1"]);
    assert_eq!(b.error("UPDATE t SET d = '[]' WHERE id = 1"), 1205);
    a.run("COMMIT");
}

/// SERIALIZABLE: what no row has an element of stays so until the end.
#[test]
fn no_row_gets_an_element_that_was_looked_for() {
    let mut database = Database::open();
    let (mut a, mut b) = two_sessions(&mut database, "(1, '[1, 2]'), (2, '[5]')");
    a.run("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    a.run("BEGIN");
    let asked = "SELECT id FROM t FORCE INDEX (z) WHERE 7 MEMBER OF (d)";
    assert_eq!(a.run(asked).len(), 1);
    assert_eq!(b.error("INSERT INTO t VALUES (3, '[6, 7]')"), 1205);
    assert_eq!(b.error("UPDATE t SET d = '[7]' WHERE id = 2"), 1205);
    assert_eq!(a.run(asked).len(), 1);
    a.run("COMMIT");
    b.run("INSERT INTO t VALUES (3, '[6, 7]')");
}

/// A unique element is taken from when it is written until its row is gone, for others and for the own transaction.
#[test]
fn a_unique_element_is_taken_by_one() {
    let mut database = Database::open();
    let (mut a, mut b) = (database.session(), database.session());
    a.run("CREATE TABLE t (id INT PRIMARY KEY, d JSON, UNIQUE INDEX u ((CAST(d AS UNSIGNED ARRAY))))");
    a.run("INSERT INTO t VALUES (1, '[1, 2, 2]'), (2, '[]'), (3, '[]'), (4, NULL), (5, NULL)");
    a.run("BEGIN");
    a.run("UPDATE t SET d = '[2, 3]' WHERE id = 1");
    // The one that came, the one that stays, and the one that goes.
    for (element, code) in [(3, 1205), (2, 1062), (1, 1205)] {
        assert_eq!(b.error(&format!("INSERT INTO t VALUES (6, '[10, {element}]')")), code);
    }
    assert_eq!(a.error("INSERT INTO t VALUES (6, '[9, 3]')"), 1062);
    a.run("INSERT INTO t VALUES (6, '[9, 1]')");
    a.run("ROLLBACK");
    assert_eq!(b.error("INSERT INTO t VALUES (6, '[1]')"), 1062);
    b.run("REPLACE INTO t VALUES (7, '[1, 3]')");
    b.run("INSERT INTO t VALUES (8, '[4, 3]') ON DUPLICATE KEY UPDATE d = '[8, 4]'");
    assert_eq!(
        b.run("SELECT id, d FROM t WHERE JSON_LENGTH(d) > 0 ORDER BY id")[1..],
        ["7 | [8, 4]"]
    );
    b.run("DELETE FROM t WHERE 8 MEMBER OF (d)");
    b.run("INSERT INTO t VALUES (9, '[8, 4, 1, 2, 3]')");
    assert_eq!(b.run("CHECK TABLE t")[1], "test.t | check | status | OK");
}

/// By which index a question is answered: its type of access, its name, the bytes of its key, what it is compared with.
#[test]
fn elements_are_looked_for_by_their_index() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run(
        "CREATE TABLE t (id INT PRIMARY KEY, d JSON, n INT, KEY z ((CAST(d->'$.z' AS UNSIGNED ARRAY))), \
         KEY nw (n, (CAST(d->'$.w' AS CHAR(10) ARRAY))))",
    );
    let rows: Vec<String> = (0..200)
        .map(|id| {
            format!(
                "({id}, '{{\"z\": [{id}, {}], \"w\": [\"w{id}\"]}}', {})",
                id + 1000,
                id / 20
            )
        })
        .collect();
    client.run(&format!("INSERT INTO t VALUES {}", rows.join(", ")));
    let mut by = |question: &str| {
        let lines = client.run(&format!("EXPLAIN FORMAT=TRADITIONAL {question}"));
        let cells: Vec<&str> = lines[1].split(" | ").collect();
        [cells[4], cells[6], cells[7], cells[8]].join(" ")
    };
    let scan = "ALL NULL NULL NULL";
    for (condition, expected) in [
        ("3 MEMBER OF (d->'$.z')", "ref z 9 const"),
        ("3 MEMBER OF (JSON_EXTRACT(d, '$.z'))", "ref z 9 const"),
        ("JSON_CONTAINS(d->'$.z', '3')", "range z 9 NULL"),
        ("JSON_CONTAINS(d->'$.z', '[1, 1001]')", "range z 9 NULL"),
        ("JSON_OVERLAPS(d->'$.z', '[1, 3]')", "range z 9 NULL"),
        ("JSON_OVERLAPS('[1, 3]', d->'$.z')", "range z 9 NULL"),
        ("n = 1 AND 'w25' MEMBER OF (d->'$.w')", "ref nw 48 const,const"),
        ("n IN (1, 2) AND 'w25' MEMBER OF (d->'$.w')", "range nw 48 NULL"),
        ("'w25' MEMBER OF (d->'$.w')", scan),
        ("n = 1", scan),
        ("NOT 3 MEMBER OF (d->'$.z')", scan),
        ("3 MEMBER OF (d->'$.z') OR id = 7", scan),
        ("'3' MEMBER OF (d->'$.z')", scan),
        ("NULL MEMBER OF (d->'$.z')", scan),
        ("n MEMBER OF (d->'$.z')", scan),
        ("JSON_CONTAINS(d->'$.z', '[]')", scan),
        ("JSON_CONTAINS(d->'$.z', '[1, [2]]')", scan),
        ("JSON_CONTAINS(d, '3', '$.z')", scan),
        ("JSON_CONTAINS('[1, 2]', d->'$.z')", scan),
        ("d->'$.z' = 3", scan),
    ] {
        assert_eq!(
            by(&format!("SELECT * FROM t WHERE {condition}")),
            expected,
            "{condition}"
        );
        if expected != scan && !condition.contains("n ") {
            assert_eq!(
                by(&format!("SELECT * FROM t IGNORE INDEX (z) WHERE {condition}")),
                scan,
                "{condition}"
            );
            assert_eq!(
                by(&format!("UPDATE t SET n = 0 WHERE {condition}")),
                expected,
                "{condition}"
            );
            assert_eq!(by(&format!("DELETE FROM t WHERE {condition}")), expected, "{condition}");
        }
    }
    // No index of elements is one of rows.
    for statement in [
        "SELECT COUNT(*) FROM t",
        "SELECT n FROM t FORCE INDEX (nw)",
        "SELECT n FROM t FORCE INDEX (nw) ORDER BY n LIMIT 1",
        "SELECT MAX(n) FROM t",
        "SELECT DISTINCT n FROM t FORCE INDEX (nw)",
    ] {
        assert!(
            !by(statement).contains("nw") && !by(statement).contains('z'),
            "{statement}: {}",
            by(statement)
        );
    }
    client.run("ALTER TABLE t ALTER INDEX z INVISIBLE");
    let lines = client.run("EXPLAIN FORMAT=TRADITIONAL SELECT * FROM t WHERE 3 MEMBER OF (d->'$.z')");
    assert!(lines[1].contains(" | ALL | "), "{}", lines[1]);
}

/// A child's key needs an index with all rows, and so does a counter.
#[test]
fn other_uses_of_indexes_know_that_rows_are_missing() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("CREATE TABLE p (id INT PRIMARY KEY)");
    client.run("INSERT INTO p VALUES (1), (2)");
    client.run(
        "CREATE TABLE c (id INT PRIMARY KEY, p INT, d JSON, KEY k (p, (CAST(d AS UNSIGNED ARRAY))), \
         FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    );
    client.run("INSERT INTO c VALUES (1, 1, '[]'), (2, 1, '[5, 6]'), (3, 2, '[5]')");
    client.run("UPDATE p SET id = 3 WHERE id = 1");
    let asked = "SELECT id, p FROM c FORCE INDEX (k) WHERE p = 3 AND JSON_OVERLAPS(d, '[5, 6]')";
    assert_eq!(client.run(asked)[1..], ["2 | 3"]);
    client.run("DELETE FROM p WHERE id = 3");
    assert_eq!(client.run("SELECT id FROM c")[1..], ["3"]);
    assert_eq!(client.run("CHECK TABLE c")[1], "test.c | check | status | OK");
    let counter = "CREATE TABLE a (id INT AUTO_INCREMENT, d JSON, KEY k (id, (CAST(d AS UNSIGNED ARRAY))))";
    assert_eq!(client.error(counter), 1075);
}
