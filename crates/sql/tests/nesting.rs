//! Statements that are deep, wide or long: they run, or end with MySQL's error, and never with the process.

use crate::common::{Client, Database};

struct Undisturbed;

impl governor::Runner for Undisturbed {
    fn yield_now(&self) {}

    fn interrupted(&self) -> Option<governor::Interrupt> {
        None
    }
}

/// On a stack like that of a connection's fiber, whose bounds are known.
fn with_session(test: impl FnOnce(&mut Client) + Send + 'static) {
    const STACK: usize = 128 << 20;
    let run = || {
        let local = std::hint::black_box(0u8);
        let high = (&raw const local).addr() + 4096;
        let bounds = governor::stack::StackBounds {
            low: high - (STACK - (1 << 20)),
            high,
        };
        governor::Governor::new(&Undisturbed)
            .with_stack(bounds)
            .run(|| test(&mut Database::open().session()));
    };
    let thread = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(run)
        .expect("a thread");
    thread.join().expect("the test holds");
}

/// `step` for each level, from the first to the last.
fn common_tables(levels: usize, step: impl Fn(usize) -> String) -> String {
    let tables: Vec<String> = (1..=levels)
        .map(|level| format!(", c{level} AS ({})", step(level - 1)))
        .collect();
    format!(
        "WITH c0 AS (SELECT 1 AS x){} SELECT COUNT(*) FROM c{levels}",
        tables.concat()
    )
}

#[test]
fn common_tables_nest_as_deep_as_queries_may() {
    with_session(|session| {
        let chain = |levels| common_tables(levels, |below| format!("SELECT a.x FROM c{below} a"));
        assert_eq!(session.run(&chain(61)).last().map(String::as_str), Some("1"));
        assert_eq!(session.error(&chain(64)), 1473);
        assert_eq!(session.error(&chain(20_000)), 1473);
    });
}

#[test]
fn a_common_table_that_is_read_twice_is_planned_and_computed_once() {
    with_session(|session| {
        for step in [
            "SELECT a.x FROM c{} a JOIN c{} b",
            "SELECT x FROM c{} UNION SELECT x FROM c{}",
        ] {
            let doubled = common_tables(60, |below| step.replace("{}", &below.to_string()));
            assert_eq!(session.run(&doubled).last().map(String::as_str), Some("1"));
        }
        // Both readers see the same rows, also of what is different each time.
        let same = "WITH c AS (SELECT UUID() AS u) SELECT a.u = b.u AS same FROM c a, c b";
        assert_eq!(session.run(same), ["same", "1"]);
    });
}

#[test]
fn views_over_views_have_an_end_and_what_is_too_deep_is_left_out() {
    with_session(|session| {
        session.run("CREATE TABLE t (x INT PRIMARY KEY)");
        session.run("INSERT INTO t VALUES (1)");
        session.run("CREATE VIEW v0 AS SELECT x FROM t");
        for level in 1..=60 {
            session.run(&format!("CREATE VIEW v{level} AS SELECT x FROM v{}", level - 1));
        }
        assert_eq!(session.run("SELECT x FROM v60"), ["x", "1"]);
        // From the top down each fits; together they do not.
        for level in 61..=200 {
            session.run(&format!("CREATE VIEW v{level} AS SELECT 1 AS x"));
        }
        for level in (61..=200).rev() {
            session.run(&format!("ALTER VIEW v{level} AS SELECT x FROM v{}", level - 1));
        }
        assert_eq!(session.error("SELECT x FROM v200"), 1473);
        let columns = "SELECT COUNT(*) > 60 AS many FROM information_schema.columns WHERE table_name LIKE 'v%'";
        assert_eq!(session.run(columns), ["many", "1"]);
    });
}

#[test]
fn columns_of_views_that_double_do_not_grow_without_end() {
    with_session(|session| {
        session.run("CREATE VIEW v0 AS SELECT 1 AS x");
        session.run("CREATE TABLE t (x DOUBLE)");
        session.run("INSERT INTO t VALUES (1)");
        session.run("CREATE OR REPLACE VIEW v0 AS SELECT x FROM t");
        for level in 1..=40 {
            session.run(&format!(
                "CREATE VIEW v{level} AS SELECT x + x AS x FROM v{}",
                level - 1
            ));
        }
        assert_eq!(session.run("SELECT x FROM v40"), ["x", "1099511627776"]);
        // Deep, too: each adds a hundred calls.
        let calls =
            |below: usize| format!("{}x{}", "ABS(".repeat(100), ")".repeat(100)) + &format!(" AS x FROM w{below}");
        session.run("CREATE VIEW w0 AS SELECT x FROM t");
        for level in 1..=8 {
            session.run(&format!("CREATE VIEW w{level} AS SELECT {}", calls(level - 1)));
        }
        assert_eq!(session.run("SELECT x FROM w8"), ["x", "1"]);
        // A computed column beside an outer join keeps each of these from being merged.
        session.run("CREATE VIEW o0 AS SELECT x + 1 AS x FROM t");
        for level in 1..=12 {
            let below = level - 1;
            session.run(&format!(
                "CREATE VIEW o{level} AS SELECT o{below}.x + 1 AS x FROM t LEFT JOIN o{below} ON t.x > 0"
            ));
        }
        assert_eq!(session.run("SELECT x FROM o12"), ["x", "14"]);
    });
}

#[test]
fn long_lists_of_everything_are_planned() {
    with_session(|session| {
        session.run("CREATE TABLE a (id INT PRIMARY KEY, n INT, KEY (n))");
        session.run("CREATE TABLE b (id INT PRIMARY KEY)");
        session.run("INSERT INTO a VALUES (7, 7)");
        session.run("INSERT INTO b VALUES (1)");
        let list = |n: usize, item: &dyn Fn(usize) -> String| (0..n).map(item).collect::<String>();
        for from in ["a", "a JOIN b", "a LEFT JOIN b ON b.id = a.id", "(SELECT * FROM a) a"] {
            let not_these = list(5_000, &|i| format!(" AND a.id <> {}", i + 10));
            assert_eq!(
                session.run(&format!("SELECT a.id FROM {from} WHERE a.n > 0{not_these}")),
                ["id", "7"]
            );
        }
        let one_of = list(20_000, &|i| format!(" OR a.id = {i}"));
        assert_eq!(
            session.run(&format!("SELECT a.id FROM a JOIN b WHERE a.id = -1{one_of}")),
            ["id", "7"]
        );
        let union = list(10_000, &|i| {
            format!(" UNION {}SELECT 1", if i % 3 == 0 { "ALL " } else { "" })
        });
        assert_eq!(session.run(&format!("SELECT 1{union}")).len(), 3);
        let joins = |n: usize| format!("SELECT 1 FROM b t0{}", list(n - 1, &|i| format!(" JOIN b t{}", i + 1)));
        assert_eq!(session.run(&joins(61)).len(), 2);
        assert_eq!(session.error(&joins(62)), 1116);
    });
}

/// Start, opening, middle, closing, end; how deep MySQL takes it; what it gives there.
struct Shape(
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    usize,
    &'static str,
);

impl Shape {
    fn at(&self, levels: usize) -> String {
        let Shape(start, open, middle, close, ..) = self;
        format!("{start}{}{middle}{}", open.repeat(levels), close.repeat(levels))
    }
}

const DEEP: &[Shape] = &[
    Shape("SELECT ", "(", "x", ")", 1_984, "1"),
    Shape("SELECT ", "ABS(", "x", ")", 1_984, "1"),
    Shape("SELECT ", "CONCAT(", "x", ")", 1_984, "1"),
    Shape("SELECT ", "- ", "x", "", 1_984, "1"),
    Shape("SELECT ", "~", "x", "", 1_984, "1"),
    Shape("SELECT ", "1+(", "x", ")", 1_983, "1984"),
    Shape("SELECT x", "+1", "", "", 1_983, "1984"),
    Shape("SELECT x", "=1", "", "", 1_983, "1"),
    Shape("SELECT ", "1 AND (0 OR ", "x", ")", 900, "1"),
    Shape("SELECT ", "NOT ", "x", "", 12_544, "1"),
    Shape("SELECT ", "CASE WHEN 1 THEN ", "x", " END", 448, "1"),
    Shape("SELECT ", "IF(x, ", "x", ", 0)", 1_792, "1"),
    Shape("SELECT ", "CAST(", "x", " AS SIGNED)", 1_900, "1"),
    Shape("SELECT ", "COALESCE(", "x", ", 0)", 1_792, "1"),
];

/// Chains, which may be longer than anything is deep.
const LONG: &[Shape] = &[
    Shape("SELECT x", " AND 1", "", "", 200_000, "1"),
    Shape("SELECT x", " OR 0", "", "", 200_000, "1"),
    Shape("SELECT LENGTH(CONCAT(x", ", 'a'", ")", "", 20_000, "20001"),
];

#[test]
fn what_mysql_takes_however_deep_runs_and_what_is_deeper_ends_with_its_error() {
    with_session(|session| {
        session.run("CREATE TABLE t (x INT PRIMARY KEY)");
        session.run("INSERT INTO t VALUES (1)");
        for shape in DEEP.iter().chain(LONG) {
            let query = |levels| match shape.0.contains("LENGTH") {
                true => format!("{}) FROM t", shape.at(levels).replace("))", ")")),
                false => format!("{} FROM t", shape.at(levels)),
            };
            let name = shape.at(2);
            let deepest = query(shape.4);
            assert_eq!(
                session.run(&deepest).last().map(String::as_str),
                Some(shape.5),
                "{name}"
            );
            session.run(&format!("EXPLAIN {deepest}"));
            session.run(&format!(
                "DELETE FROM t WHERE 0 = 1 AND {}",
                &deepest["SELECT ".len()..deepest.len() - " FROM t".len()]
            ));
            if deepest.len() < 60_000 {
                session.run(&format!(
                    "CREATE OR REPLACE VIEW v AS {}",
                    deepest.replacen(" FROM t", " AS y FROM t", 1)
                ));
                assert_eq!(
                    session.run("SELECT y FROM v").last().map(String::as_str),
                    Some(shape.5),
                    "{name}"
                );
                session.run("SHOW CREATE VIEW v");
            }
        }
        for shape in DEEP {
            for levels in [4_000, 14_000, 100_000] {
                let deeper = format!("{} FROM t", shape.at(levels));
                match session.try_run(&deeper) {
                    Ok(_) => assert!(levels < 14_000 || shape.1 == "NOT ", "{}", shape.at(2)),
                    Err(error) => assert_eq!(error.code(), 1436, "{}", shape.at(2)),
                }
            }
        }
    });
}

#[test]
fn queries_in_queries_end_with_mysql_s_error() {
    with_session(|session| {
        let nested = |levels: usize| format!("SELECT {}1{}", "(SELECT ".repeat(levels), ")".repeat(levels));
        assert_eq!(session.run(&nested(61)).last().map(String::as_str), Some("1"));
        assert_eq!(session.error(&nested(64)), 1473);
        assert_eq!(session.error(&nested(10_000)), 1473);
        let derived = |levels: usize| {
            format!(
                "SELECT * FROM {}(SELECT 1) t{}",
                "(SELECT * FROM ".repeat(levels),
                ") t".repeat(levels)
            )
        };
        assert_eq!(session.run(&derived(60)).last().map(String::as_str), Some("1"));
        assert_eq!(session.error(&derived(64)), 1473);
    });
}

#[test]
fn many_checks_without_a_name_are_named_in_order() {
    with_session(|session| {
        session.run(&format!("CREATE TABLE t (c INT{})", ", CHECK (c > 0)".repeat(3_000)));
        let shown = session.run("SHOW CREATE TABLE t").concat();
        assert!(shown.contains("`t_chk_3000`") && !shown.contains("`t_chk_3001`"));
    });
}

#[test]
fn digits_far_outside_of_a_number_are_none() {
    with_session(|session| {
        for digits in ["-2147483649", "-400", "-66", "-9223372036854775808", "-1e308"] {
            for function in ["ROUND", "TRUNCATE"] {
                assert_eq!(
                    session.run(&format!("SELECT {function}(1.5, {digits}) AS x")),
                    ["x", "0"],
                    "{digits}"
                );
            }
        }
        for digits in ["2147483648", "9223372036854775807", "18446744073709551615"] {
            assert_eq!(
                session.run(&format!("SELECT ROUND(15e-1, {digits}) AS x")),
                ["x", "1.5"],
                "{digits}"
            );
        }
    });
}

#[test]
fn rows_within_rows_are_compared_column_by_column() {
    with_session(|session| {
        let row = |levels: usize, last: &str| format!("{}{last}{}", "(1,".repeat(levels), ")".repeat(levels));
        for levels in [1, 2, 3, 1_500] {
            for (last, op, other, expected) in [
                ("1", "=", "1", "1"),
                ("1", "<", "1", "0"),
                ("1", "<", "2", "1"),
                ("1", "<>", "2", "1"),
                ("1", "=", "NULL", "NULL"),
                ("1", "<=", "NULL", "NULL"),
                ("NULL", "<=>", "NULL", "1"),
                ("NULL", "<=>", "1", "0"),
            ] {
                let query = format!("SELECT {} {op} {}", row(levels, last), row(levels, other));
                let found = session.run(&query);
                assert_eq!(
                    found.last().map(String::as_str),
                    Some(expected),
                    "{last} {op} {other} at {levels} levels"
                );
            }
        }
        // A column behind a NULL decides = and <>, and no order.
        assert_eq!(session.run("SELECT (NULL,(1,2)) = (1,(1,3))")[1], "0");
        assert_eq!(session.run("SELECT (NULL,(1,2)) <> (1,(1,3))")[1], "1");
        assert_eq!(session.run("SELECT (NULL,(1,2)) < (1,(1,3))")[1], "NULL");
    });
}

#[test]
fn as_many_labels_and_sums_of_groups_as_mysql_takes() {
    with_session(|session| {
        let labels = |count: usize| (0..count).map(|at| format!("'{at}'")).collect::<Vec<_>>().join(",");
        session.run(&format!("CREATE TABLE t (id INT, c ENUM({}))", labels(65_535)));
        assert_eq!(
            session.error(&format!("CREATE TABLE u (c ENUM({},'7'))", labels(60_000))),
            1291
        );
        assert_eq!(session.error("CREATE TABLE u (c ENUM('a','A '))"), 1291);

        session.run("INSERT INTO t VALUES (1, '1'), (2, '2')");
        let sums = |keys: usize| {
            format!(
                "SELECT COUNT(*) FROM t GROUP BY id{} WITH ROLLUP",
                ",c".repeat(keys - 1)
            )
        };
        assert_eq!(session.run(&sums(127)).len(), 1 + 2 * 127 + 1);
        assert_eq!(session.error(&sums(128)), 6034);
    });
}
