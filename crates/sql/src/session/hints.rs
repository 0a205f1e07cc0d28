//! The optimizer hints that mean something here: `MAX_EXECUTION_TIME`. The others ask for plans that there are not.

use std::time::Duration;

use parser::ast::{QueryBody, Statement};

/// What a query's `/*+ MAX_EXECUTION_TIME(milliseconds) */` says; 0 is no limit and leaves the session's.
pub fn time_limit(statement: &Statement) -> Option<Duration> {
    let Statement::Query(query) = statement else {
        return None;
    };
    let QueryBody::Select(select) = &query.body else {
        return None;
    };
    let hints = select.hints.as_deref()?.to_ascii_uppercase();
    let (_, rest) = hints.split_once("MAX_EXECUTION_TIME")?;
    let (argument, _) = rest.trim_start().strip_prefix('(')?.split_once(')')?;
    let milliseconds: u64 = argument.trim().parse().ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_for_the_time_is_read() {
        for (text, expected) in [
            ("SELECT /*+ MAX_EXECUTION_TIME(50) */ 1", Some(50)),
            ("SELECT /*+ no_icp(t) max_execution_time ( 7 ) */ 1", Some(7)),
            ("SELECT /*+ MAX_EXECUTION_TIME(0) */ 1", None),
            ("SELECT /*+ MAX_EXECUTION_TIME(x) */ 1", None),
            ("SELECT /* MAX_EXECUTION_TIME(5) */ 1", None),
            ("INSERT /*+ MAX_EXECUTION_TIME(5) */ INTO t VALUES (1)", None),
        ] {
            let statement = parser::parse(text.as_bytes(), parser::SqlMode::default())
                .expect("SQL")
                .statement;
            assert_eq!(time_limit(&statement), expected.map(Duration::from_millis), "{text}");
        }
    }
}
