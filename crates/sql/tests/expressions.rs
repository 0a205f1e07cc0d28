//! The expression tables of `tests/expr`: what LatsDB answers, and below it what MySQL and MariaDB answer where they differ.
//! `cargo xtask oracle record` writes theirs down; `crates/sqltest/src/table.rs` describes the format.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::support::TestSession;
use sql::expr::sql_mode::SqlMode;
use sql::expr::{Binder, NoColumns, Settings, StatementContext};
use types::time::{TimeZone, UnixTime};
use types::{CollationId, SqlError};

const NOW: UnixTime = UnixTime {
    micros: 1_700_000_000_123_456,
    fsp: 6,
};

/// `value ~ warnings`, or `! error`.
fn answer(text: &str, settings: &Settings, session: &TestSession) -> String {
    let statement = StatementContext::new(settings, session, NOW);
    match evaluate(text, &statement) {
        Ok(value) => {
            let warnings = statement.take_warnings();
            let codes: Vec<String> = warnings
                .iter()
                .map(|warning| warning.error.code().to_string())
                .collect();
            if codes.is_empty() {
                value
            } else {
                format!("{value} ~ {}", codes.join(" "))
            }
        }
        Err(code) => format!("! {code}"),
    }
}

fn evaluate(text: &str, statement: &StatementContext<'_>) -> Result<String, u16> {
    let code = |error: SqlError| error.code();
    let tree = parser::parse_expr(text.as_bytes(), statement.settings.sql_mode.for_parser()).map_err(|e| e.code())?;
    let ctx = statement.eval();
    let expr = Binder::new(&mut NoColumns, ctx, Default::default())
        .bind(&tree)
        .map_err(code)?;
    let value = expr.eval_shown(&[], &ctx).map_err(code)?;
    Ok(crate::support::printed(&value, &expr.ty, &ctx))
}

/// Applies `@ name = value`.
fn apply(settings: &mut Settings, assignment: &str) {
    let (name, value) = assignment.split_once('=').expect("a name and a value");
    let value = value.trim().trim_matches('\'');
    match name.trim() {
        "sql_mode" => settings.sql_mode = SqlMode::parse(value).expect(assignment),
        "time_zone" => settings.time_zone = TimeZone::from_name(value).expect(assignment),
        "collation_connection" => settings.collation = CollationId::by_name(value).expect(assignment),
        "div_precision_increment" => settings.div_precision_increment = value.parse().expect(assignment),
        "default_week_format" => settings.default_week_format = value.parse().expect(assignment),
        other => panic!("the tables set {other}, which this test does not know"),
    }
}

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expr").join(name);
    let table = fs::read_to_string(&path).expect(name);
    let mut settings = Settings {
        collation: CollationId::UTF8MB4_GENERAL_CI,
        ..Settings::default()
    };
    let session = TestSession::default();
    let mut wrong = String::new();
    let (mut lines, mut failures) = (0, 0);
    for (number, line) in table.lines().enumerate() {
        if let Some(assignment) = line.strip_prefix("@ ") {
            apply(&mut settings, assignment);
            continue;
        }
        // Below an expression stands, indented, what another server answers.
        if line.is_empty() || line.starts_with('#') || line.starts_with("    ") {
            continue;
        }
        let Some((text, expected)) = line.split_once(" => ") else {
            panic!("{name}:{}: no result: {line}", number + 1);
        };
        lines += 1;
        let got = answer(text, &settings, &session);
        if got != expected {
            failures += 1;
            writeln!(
                wrong,
                "{name}:{}: {text}\n    expected {expected}\n    got      {got}",
                number + 1
            )
            .expect("writing to a String does not fail");
        }
    }
    assert!(failures == 0, "{failures} of {lines} differ\n{wrong}");
}

macro_rules! tables {
    ($($test:ident $file:literal;)*) => {
        $(#[test]
        fn $test() {
            check($file);
        })*
    };
}

tables! {
    arithmetic "arithmetic.txt";
    casts "cast.txt";
    comparison "comparison.txt";
    control "control.txt";
    info "info.txt";
    json "json.txt";
    numeric "numeric.txt";
    regexp "regexp.txt";
    strings "string.txt";
    temporal "temporal.txt";
}
