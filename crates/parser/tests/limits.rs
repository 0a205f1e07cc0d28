//! Deep and long input: an error or a tree, never a crash, never more than linear time.

use std::cell::Cell;

use governor::stack::StackBounds;
use governor::{Governor, Interrupt, Runner, probe};
use parser::{MAX_DEPTH, MAX_QUERY_DEPTH, ParseErrorKind, SqlMode, parse, printer};

/// As a statement's in the server, less what is below the parser; unoptimized code needs several times what optimized code does.
const STACK: usize = if cfg!(debug_assertions) { 120 << 20 } else { 30 << 20 };

/// What is repeated at each level: before the middle, the middle, after the middle.
struct Shape(&'static str, &'static str, &'static str, &'static str, &'static str);

impl Shape {
    fn at(&self, levels: usize) -> String {
        let Shape(start, open, middle, close, end) = self;
        format!("{start}{}{middle}{}{end}", open.repeat(levels), close.repeat(levels))
    }
}

/// Every way to nest.
const DEEP: &[Shape] = &[
    Shape("SELECT ", "(", "1", ")", ""),
    Shape("SELECT ", "-", "1", "", ""),
    Shape("SELECT ", "- ", "1", "", ""),
    Shape("SELECT ", "~", "1", "", ""),
    Shape("SELECT ", "!", "1", "", ""),
    Shape("SELECT ", "NOT ", "1", "", ""),
    Shape("SELECT ", "BINARY ", "1", "", ""),
    Shape("SELECT ", "1+(", "1", ")", ""),
    Shape("SELECT ", "1 AND (1 OR ", "1", ")", ""),
    Shape("SELECT ", "(1,", "1", ")", ""),
    Shape("SELECT ", "f(", "1", ")", ""),
    Shape("SELECT ", "s.f(1, ", "1", ")", ""),
    Shape("SELECT ", "IF(1, ", "1", ", 2)", ""),
    Shape("SELECT ", "COUNT(", "1", ")", ""),
    Shape("SELECT ", "GROUP_CONCAT(1 ORDER BY ", "1", ")", ""),
    Shape("SELECT ", "SUM(1) OVER (ORDER BY ", "1", ")", ""),
    Shape("SELECT ", "CAST(", "1", " AS CHAR)", ""),
    Shape("SELECT ", "CONVERT(", "1", " USING utf8mb4)", ""),
    Shape("SELECT ", "TRIM(LEADING 1 FROM ", "1", ")", ""),
    Shape("SELECT ", "SUBSTRING(1 FROM ", "1", ")", ""),
    Shape("SELECT ", "ROW(1, ", "1", ")", ""),
    Shape("SELECT ", "CASE WHEN 1 THEN ", "1", " END", ""),
    Shape("SELECT ", "CASE ", "1", " WHEN 1 THEN 1 END", ""),
    Shape("SELECT ", "1 IN (1, ", "1", ")", ""),
    Shape("SELECT ", "1 BETWEEN 1 AND ", "1", "", ""),
    Shape("SELECT ", "1 LIKE (", "1", ")", ""),
    Shape("SELECT ", "1 MEMBER OF ((", "1", "))", ""),
    Shape("SELECT ", "1 + INTERVAL (", "1", ") DAY", ""),
    Shape("SELECT ", "DATE_ADD(1, INTERVAL ", "1", " DAY)", ""),
    Shape("SELECT ", "INTERVAL 1 DAY + ", "1", "", ""),
    Shape("SELECT ", "{fn ", "1", "}", ""),
    Shape("SELECT ", "@a := ", "1", "", ""),
    Shape("SELECT ", "JSON_VALUE(", "1", ", '$')", ""),
    Shape("SELECT ", "MATCH (a) AGAINST (", "1", ")", ""),
    Shape("SELECT ", "(SELECT ", "1", ")", ""),
    Shape("SELECT ", "((SELECT 1) UNION (SELECT ", "1", "))", ""),
    Shape("SELECT ", "EXISTS (SELECT ", "1", ")", ""),
    Shape("SELECT ", "1 = ALL (SELECT ", "1", ")", ""),
    Shape("SELECT ", "1 IN (SELECT ", "1", ")", ""),
    Shape("SELECT ", "1 IN ((SELECT ", "1", "), 1)", ""),
    Shape("", "(", "SELECT 1", ")", ""),
    Shape("", "(SELECT 1) UNION (", "SELECT 1", ")", ""),
    Shape("", "(", "SELECT 1", " LIMIT 1)", ""),
    Shape("", "WITH a AS (", "SELECT 1", ") SELECT 1", ""),
    Shape("SELECT * FROM ", "(", "t", ")", ""),
    Shape("SELECT * FROM ", "(t JOIN ", "t", ")", ""),
    Shape("SELECT * FROM ", "(", "t", " JOIN t)", ""),
    Shape("SELECT * FROM ", "(t, ", "t", ")", ""),
    Shape("SELECT * FROM ", "{OJ ", "t", "}", ""),
    Shape("SELECT * FROM ", "(SELECT * FROM ", "t", ") t", ""),
    Shape("SELECT * FROM ", "((SELECT 1) UNION (SELECT * FROM ", "t", ")) t", ""),
    Shape(
        "SELECT * FROM JSON_TABLE('', '' COLUMNS (",
        "NESTED '' COLUMNS (",
        "a FOR ORDINALITY",
        ")",
        ")) t",
    ),
    Shape("INSERT INTO t VALUES (", "(", "1", ")", ")"),
    Shape("CREATE TABLE t (a INT CHECK (", "(", "1", ")", "))"),
    Shape("CREATE PROCEDURE p() ", "BEGIN ", "SELECT 1", "; END", ""),
    Shape("CREATE PROCEDURE p() ", "IF 1 THEN ", "SELECT 1", "; END IF", ""),
    Shape(
        "CREATE PROCEDURE p() ",
        "BEGIN DECLARE EXIT HANDLER FOR 1 ",
        "SELECT 1",
        "; END",
        "",
    ),
    Shape(
        "CREATE USER u ",
        "IDENTIFIED WITH p INITIAL AUTHENTICATION ",
        "IDENTIFIED BY ''",
        "",
        "",
    ),
    Shape("CREATE EVENT e ON SCHEDULE AT 1 DO ", "BEGIN ", "SELECT 1", "; END", ""),
    // These grow to the left.
    Shape("SELECT 1", "+1", "", "", ""),
    Shape("SELECT 1", " XOR 1", "", "", ""),
    Shape("SELECT 1", "=1", "", "", ""),
    Shape("SELECT 1", " IS NULL", "", "", ""),
    Shape("SELECT 1", " + INTERVAL 1 DAY", "", "", ""),
    Shape("SELECT 1", " COLLATE c", "", "", ""),
    Shape("SELECT 1", " = ALL (SELECT 1)", "", "", ""),
    Shape("SELECT ", "(", "1", "+1+1)", ""),
    Shape("SELECT ", "(", "1", " IS NULL IS NULL = 1)", ""),
    Shape("SELECT * FROM t", " JOIN t", "", "", ""),
    Shape("SELECT * FROM t", " JOIN t", "", " ON 1", ""),
    Shape("SELECT * FROM t", " NATURAL JOIN t", "", "", ""),
    Shape("SELECT * FROM t", " LEFT JOIN t ON 1", "", "", ""),
];

/// What may be long without being deep.
const LONG: &[Shape] = &[
    Shape("SELECT 1", " AND 1", "", "", ""),
    Shape("SELECT 1", " OR a = 1", "", "", ""),
    Shape("SELECT 1", ", 1", "", "", ""),
    Shape("SELECT 1", " UNION SELECT 1", "", "", ""),
    Shape("SELECT 1", " INTERSECT SELECT 1", "", "", ""),
    Shape("SELECT * FROM t", ", t", "", "", ""),
    Shape("SELECT f(1", ", 1", "", "", ")"),
    Shape("SELECT 1 IN (1", ", 1", "", "", ")"),
    Shape("SELECT 1 IN ((1, 2)", ", (1, 2)", "", "", ")"),
    Shape("SELECT CASE", " WHEN 1 THEN 2", "", "", " END"),
    Shape("SELECT 'a'", " 'a'", "", "", ""),
    Shape("SELECT 1", " /* x */", "", "", ""),
    Shape("SELECT 1", " /*! */", "", "", ""),
    Shape("INSERT INTO t VALUES (1)", ", (1)", "", "", ""),
    Shape("INSERT INTO t VALUES (1", ", 1 + 1", "", "", ")"),
    Shape("ALTER TABLE t FORCE", ", ADD a INT", "", "", ""),
    Shape("CREATE TABLE t (a INT", ", a INT", "", "", ")"),
    Shape("CREATE PROCEDURE p() BEGIN ", "SELECT 1; ", "", "", "END"),
    Shape("SET a = 1", ", a = 1", "", "", ""),
];

struct Undisturbed;

impl Runner for Undisturbed {
    fn yield_now(&self) {}

    fn interrupted(&self) -> Option<Interrupt> {
        None
    }
}

/// Runs `work` on a stack of the server's size, which it must not overflow.
fn on_small_stack(work: impl FnOnce() + Send + 'static) {
    let run = || {
        let local = std::hint::black_box(0u8);
        let high = (&raw const local).addr() + 4096;
        let low = high - (STACK - (1 << 20));
        let governor = Governor::new(&Undisturbed).with_stack(StackBounds { low, high });
        governor.run(work);
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run);
    thread
        .expect("a thread starts")
        .join()
        .expect("the work does not panic");
}

/// Parses, prints, parses again, clones, compares and drops: everything that walks a tree.
fn walk(sql: &str) -> Result<(), ParseErrorKind> {
    let parsed = parse(sql.as_bytes(), SqlMode::default()).map_err(|error| error.kind)?;
    let printed = printer::to_sql(&parsed.statement);
    let again = parse(&printed, SqlMode::default());
    if let Ok(again) = &again {
        assert!(again.statement == parsed.statement.clone());
    }
    // Printing may add parentheses, which count as depth: only this error is right.
    match again.map_err(|error| error.kind) {
        Err(ParseErrorKind::TooDeep { .. }) | Ok(_) => Ok(()),
        Err(other) if is_too_deep(&other) => Ok(()),
        Err(other) => panic!("{other:?}"),
    }
}

/// 1436, or 1473 for queries.
fn is_too_deep(error: &ParseErrorKind) -> bool {
    matches!(
        error,
        ParseErrorKind::TooDeep { .. } | ParseErrorKind::Other { code: 1473, .. }
    )
}

#[test]
fn deep_statements_are_refused_and_do_not_overflow() {
    on_small_stack(|| {
        for shape in DEEP {
            assert_eq!(walk(&shape.at(10)), Ok(()), "{}", shape.at(10));
            // About the deepest that parses, by bisection.
            let (mut good, mut bad) = (10, 2 * MAX_DEPTH);
            while bad > good + 1 + good / 8 {
                let middle = (good + bad) / 2;
                match walk(&shape.at(middle)) {
                    Ok(()) => good = middle,
                    Err(error) if is_too_deep(&error) => bad = middle,
                    Err(other) => panic!("{other:?}: {}", shape.at(middle)),
                }
            }
            let is_query = shape.1.contains("SELECT") || shape.2.contains("SELECT");
            // Some of the shapes nest two queries at each level.
            let least = if is_query { MAX_QUERY_DEPTH / 2 } else { 1_984 };
            assert!(good >= least, "only {good} levels: {}", shape.at(2));
            for levels in [20_000, 60_000] {
                let end = walk(&shape.at(levels));
                assert!(end.is_err_and(|error| is_too_deep(&error)), "{}", shape.at(2));
            }
        }
    });
}

#[test]
fn an_unclosed_nesting_is_refused_too() {
    on_small_stack(|| {
        for shape in DEEP {
            let Shape(start, open, ..) = shape;
            let text = format!("{start}{}", open.repeat(30_000));
            assert!(parse(text.as_bytes(), SqlMode::default()).is_err());
        }
    });
}

#[test]
fn long_statements_parse() {
    on_small_stack(|| {
        for shape in LONG {
            assert_eq!(walk(&shape.at(20_000)), Ok(()), "{}", shape.at(3));
        }
    });
}

/// Counts how often a statement gives way, and has it end at one of its ticks.
struct Counting {
    ticks: Cell<u64>,
    kill_at: u64,
    yields_after: Cell<u64>,
}

impl Counting {
    fn killed_at(kill_at: u64) -> Counting {
        Counting {
            ticks: Cell::new(0),
            kill_at,
            yields_after: Cell::new(0),
        }
    }
}

impl Runner for Counting {
    fn yield_now(&self) {
        self.yields_after
            .set(self.yields_after.get() + u64::from(self.ticks.get() >= self.kill_at));
    }

    fn interrupted(&self) -> Option<Interrupt> {
        (self.ticks.get() >= self.kill_at).then_some(Interrupt::KillQuery)
    }

    fn looked(&self) {
        self.ticks.set(self.ticks.get() + 1);
    }
}

/// Nobody reads where a killed statement's text was left, so nobody looks for secrets in all of it.
#[test]
fn a_killed_statement_is_not_read_any_further() {
    let text = format!("SELECT 1 IN ({})", vec!["1"; 500_000].join(","));
    let runner = Counting::killed_at(100_000);
    let parsed = probe::under(&runner, || parse(text.as_bytes(), SqlMode::default()));
    assert!(parsed.is_err());
    let yields = runner.yields_after.get();
    assert!(yields < 10, "it gave way {yields} times after its end");
}

#[test]
fn blanks_at_the_end_give_way() {
    let text = format!("SELECT 1;{}", " ".repeat(1 << 20));
    let runner = Counting::killed_at(0);
    assert!(!probe::under(&runner, || parser::without_end(text.as_bytes())).is_empty());
    assert!(runner.yields_after.get() > 50);
}
