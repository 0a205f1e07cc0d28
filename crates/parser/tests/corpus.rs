//! Every statement of the corpus parses, prints, and parses back to the same tree.

use parser::{SqlMode, parse, printer};

/// (file:line, statement) of every statement in `tests/corpus`.
fn corpus() -> Vec<(String, String)> {
    let files = [
        ("query.sql", include_str!("corpus/query.sql")),
        ("expr.sql", include_str!("corpus/expr.sql")),
        ("lexical.sql", include_str!("corpus/lexical.sql")),
        ("dml.sql", include_str!("corpus/dml.sql")),
        ("transaction.sql", include_str!("corpus/transaction.sql")),
        ("show.sql", include_str!("corpus/show.sql")),
        ("ddl.sql", include_str!("corpus/ddl.sql")),
        ("stored.sql", include_str!("corpus/stored.sql")),
        ("account.sql", include_str!("corpus/account.sql")),
        ("admin.sql", include_str!("corpus/admin.sql")),
    ];
    let mut statements = Vec::new();
    for (name, text) in files {
        for (index, line) in text.lines().enumerate() {
            if !line.is_empty() && !line.starts_with("--") {
                statements.push((format!("{name}:{}", index + 1), line.to_owned()));
            }
        }
    }
    statements
}

#[test]
fn every_statement_survives_the_round_trip() {
    let mut failures = Vec::new();
    let statements = corpus();
    assert!(statements.len() > 500, "{}", statements.len());
    for (place, text) in statements {
        let first = match parse(text.as_bytes(), SqlMode::default()) {
            Ok(parsed) => parsed,
            Err(error) => {
                failures.push(format!("{place}: {text}\n    {error}"));
                continue;
            }
        };
        assert!(first.last, "{place}: something follows: {text}");
        let printed = printer::to_sql(&first.statement);
        let shown = String::from_utf8_lossy(&printed);
        match parse(&printed, SqlMode::default()) {
            Ok(second) if second.statement == first.statement && second.params == first.params => {
                let again = printer::to_sql(&second.statement);
                assert_eq!(
                    String::from_utf8_lossy(&again),
                    shown,
                    "{place}: printing is not stable"
                );
            }
            Ok(second) => failures.push(format!(
                "{place}: {text}\n    {shown}\n    {:?}\n    {:?}",
                first.statement, second.statement
            )),
            Err(error) => failures.push(format!("{place}: {text}\n    {shown}\n    {error}")),
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
