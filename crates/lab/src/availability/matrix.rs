//! The matrix of faults against real nodes (`tests/availability/suite.py --results FILE`) as the table of `docs/availability.md`.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

const BEGIN: &str = "<!-- table: begin -->";
const END: &str = "<!-- table: end -->";

/// A case, with each of its repetitions that came to an end.
#[derive(Debug, Deserialize)]
struct Case {
    case: String,
    what: String,
    /// How long clients may be without an acknowledgement; absent where the case says nothing of it.
    bound_ms: Option<f64>,
    times: u32,
    /// Of these, those of which something was wrong.
    failed: u32,
    runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
struct Run {
    gap_ms: f64,
    errors: u64,
    changes: u64,
    acknowledged: u64,
}

/// Prints the table, or puts it between the marks of `document`.
pub fn run(results: &Path, document: Option<&Path>) -> Result<()> {
    let text = std::fs::read_to_string(results).with_context(|| results.display().to_string())?;
    let cases: Vec<Case> =
        serde_json::from_str(&text).with_context(|| format!("{} is not what the matrix writes", results.display()))?;
    let table = table(&cases);
    let Some(path) = document else {
        crate::terminal::print(&table)?;
        return Ok(());
    };
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let filled =
        filled(&text, &table).with_context(|| format!("{} has no `{BEGIN}` before `{END}`", path.display()))?;
    std::fs::write(path, filled).with_context(|| path.display().to_string())
}

fn table(cases: &[Case]) -> String {
    let mut lines = vec![
        "| case | what happens | runs | median gap, ms | worst gap, ms | bound, ms | errors seen | changes of the leader | acknowledged | verdict |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    lines.extend(cases.iter().map(row));
    lines.join("\n")
}

fn row(case: &Case) -> String {
    let Case {
        case: name,
        what,
        times,
        failed,
        runs,
        bound_ms,
    } = case;
    let gaps = match bound_ms {
        Some(bound) if !runs.is_empty() => {
            let mut gaps: Vec<f64> = runs.iter().map(|run| run.gap_ms).collect();
            gaps.sort_by(f64::total_cmp);
            let middle = (gaps[(gaps.len() - 1) / 2] + gaps[gaps.len() / 2]) / 2.0;
            format!("{middle:.0} | {:.0} | {bound:.0}", gaps[gaps.len() - 1])
        }
        Some(bound) => format!("– | – | {bound:.0}"),
        None => "– | – | –".to_owned(),
    };
    let errors: u64 = runs.iter().map(|run| run.errors).sum();
    let acknowledged: u64 = runs.iter().map(|run| run.acknowledged).sum();
    let changes = runs.iter().map(|run| run.changes).max().unwrap_or(0);
    let verdict = match failed {
        0 => "good".to_owned(),
        failed => format!("{failed} of {times} not"),
    };
    format!(
        "| {name} | {what} | {times} | {gaps} | {errors} | {changes} | {} | {verdict} |",
        grouped(acknowledged)
    )
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut groups: Vec<&str> = Vec::new();
    if first > 0 {
        groups.push(&digits[..first]);
    }
    groups.extend((first..digits.len()).step_by(3).map(|at| &digits[at..at + 3]));
    groups.join(",")
}

fn filled(text: &str, table: &str) -> Option<String> {
    let (head, rest) = text.split_once(BEGIN)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{BEGIN}\n\n{table}\n\n{END}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULTS: &str = r#"[
        {"case": "P1", "what": "`kill -9` of the leader", "bound_ms": 500, "times": 4, "failed": 1, "runs": [
            {"gap_ms": 400.2, "errors": 1, "changes": 1, "acknowledged": 1054, "problems": []},
            {"gap_ms": 610.0, "errors": 0, "changes": 2, "acknowledged": 998946, "problems": ["gap of 610 ms"]},
            {"gap_ms": 300.0, "errors": 0, "changes": 1, "acknowledged": 0, "problems": []},
            {"gap_ms": 420.0, "errors": 2, "changes": 1, "acknowledged": 0, "problems": []}]},
        {"case": "P3", "what": "all nodes", "bound_ms": null, "times": 1, "failed": 0, "runs": [
            {"gap_ms": 5000.0, "errors": 121, "changes": 1, "acknowledged": 225, "problems": []}]},
        {"case": "D9f", "what": "a full disk", "bound_ms": 200, "times": 1, "failed": 1, "runs": []}]"#;

    #[test]
    fn a_row_has_the_middle_and_the_worst_of_its_repetitions() {
        let cases: Vec<Case> = serde_json::from_str(RESULTS).unwrap();
        let table = table(&cases);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| P1 | `kill -9` of the leader | 4 | 410 | 610 | 500 | 3 | 2 | 1,000,000 | 1 of 4 not |",
                "| P3 | all nodes | 1 | – | – | – | 121 | 1 | 225 | good |",
                "| D9f | a full disk | 1 | – | – | 200 | 0 | 0 | 0 | 1 of 1 not |",
            ]
        );
    }

    #[test]
    fn a_document_keeps_what_stands_around_its_table() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        assert_eq!(
            filled(&text, "new").unwrap(),
            format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n")
        );
        assert_eq!(filled("no marks", "new"), None);
        assert_eq!(filled(&format!("{END} {BEGIN}"), "new"), None);
    }
}
