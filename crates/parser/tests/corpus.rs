//! Every statement of the corpus parses, prints, and parses back to the same tree.

use crate::common::corpus;
use parser::{SqlMode, parse, printer};

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
