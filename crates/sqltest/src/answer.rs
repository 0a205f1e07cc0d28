//! Answers as the lines of a script, and when two of them agree.

use mysql_client::{Answer, Column, ColumnType};

/// A line of `SHOW WARNINGS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    pub level: String,
    pub code: String,
}

/// The lines of an answer.
pub fn lines(answer: &Answer, warnings: &[Warning], minds_message: bool) -> Vec<String> {
    let mut lines = match answer {
        Answer::Ok {
            affected,
            last_insert_id,
            info,
            ..
        } => {
            let mut line = "ok".to_owned();
            if *affected > 0 || !info.is_empty() {
                line += &format!(", {affected} affected");
            }
            if *last_insert_id > 0 {
                line += &format!(", id {last_insert_id}");
            }
            if !info.is_empty() {
                line += &format!(" ({info})");
            }
            vec![line]
        }
        Answer::Error {
            code,
            sqlstate,
            message,
        } if minds_message => vec![format!("error {code} {sqlstate}: {message}")],
        Answer::Error { code, sqlstate, .. } => vec![format!("error {code} {sqlstate}")],
        Answer::Rows { columns, rows, .. } => {
            let names = columns.iter().map(|column| cell(Some(column.name.as_bytes())));
            let mut lines = vec![names.collect::<Vec<_>>().join(" | ")];
            lines.extend(rows.iter().map(|row| {
                let cells = row
                    .iter()
                    .zip(columns)
                    .map(|(value, column)| value_text(value.as_deref(), column));
                cells.collect::<Vec<_>>().join(" | ")
            }));
            lines
        }
    };
    lines.extend(warning_lines(warnings));
    lines
}

/// The lines of all results of a statement.
pub fn all_lines(earlier: &[Answer], last: &Answer, warnings: &[Warning], minds_message: bool) -> Vec<String> {
    let mut all = Vec::new();
    for answer in earlier {
        all.extend(lines(answer, &[], minds_message));
        all.push(NEXT_RESULT.to_owned());
    }
    all.extend(lines(last, warnings, minds_message));
    all
}

/// Between the results of one statement.
const NEXT_RESULT: &str = "++";

/// The line of an answer to a single expression.
pub fn line(answer: &Answer, warnings: &[Warning], minds_message: bool) -> String {
    let mut line = match answer {
        Answer::Rows { columns, rows, .. } if rows.len() == 1 && columns.len() == 1 => {
            value_text(rows[0][0].as_deref(), &columns[0])
        }
        other => lines(other, &[], minds_message).join(" / "),
    };
    for warning in warning_lines(warnings) {
        line += ", ";
        line += &warning;
    }
    line
}

/// `warning 1292`, or `warning 1292 x3`.
fn warning_lines(warnings: &[Warning]) -> Vec<String> {
    let mut counted: Vec<(&Warning, usize)> = Vec::new();
    for warning in warnings {
        match counted.last_mut() {
            Some((last, count)) if *last == warning => *count += 1,
            _ => counted.push((warning, 1)),
        }
    }
    let text = |(warning, count): (&Warning, usize)| {
        let line = format!("{} {}", warning.level.to_lowercase(), warning.code);
        if count > 1 { format!("{line} x{count}") } else { line }
    };
    counted.into_iter().map(text).collect()
}

fn value_text(value: Option<&[u8]>, column: &Column) -> String {
    match (value, column.ty) {
        (Some(bits), ColumnType::Bit) => {
            let number = bits.iter().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
            format!("b'{number:b}'")
        }
        _ => cell(value),
    }
}

/// One value: bytes that are not text in hexadecimal, and in quotes what would not be seen.
fn cell(value: Option<&[u8]>) -> String {
    let Some(bytes) = value else { return "NULL".to_owned() };
    match std::str::from_utf8(bytes) {
        Ok("") => "''".to_owned(),
        Ok(text) if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t' | '\r')) => hex(bytes),
        Ok(text) => {
            let shown = text.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
            if shown.starts_with(' ') || shown.ends_with(' ') {
                format!("'{shown}'")
            } else {
                shown
            }
        }
        Err(_) => hex(bytes),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold("0x".to_owned(), |text, byte| text + &format!("{byte:02X}"))
}

/// Whether two answers are the same. Numbers may be written in different ways.
pub fn agree(expected: &[String], got: &[String], sorted: bool) -> bool {
    if expected.len() != got.len() {
        return false;
    }
    if sorted && expected.len() > 1 {
        let (mut expected_rows, mut got_rows) = (expected[1..].to_vec(), got[1..].to_vec());
        expected_rows.sort();
        got_rows.sort();
        return line_agrees(&expected[0], &got[0])
            && expected_rows
                .iter()
                .zip(&got_rows)
                .all(|(expected, got)| line_agrees(expected, got));
    }
    expected
        .iter()
        .zip(got)
        .all(|(expected, got)| line_agrees(expected, got))
}

pub fn line_agrees(expected: &str, got: &str) -> bool {
    if expected == got {
        return true;
    }
    let (expected, got) = (expected.split(" | "), got.split(" | "));
    let mut cells = expected.clone().zip(got.clone());
    expected.count() == got.count() && cells.all(|(expected, got)| expected == got || same_float(expected, got))
}

/// Whether two texts are the same floating-point number: the protocols differ in how they write one.
fn same_float(a: &str, b: &str) -> bool {
    // A decimal has its scale: 1.50 is not 1.5. What is written with an exponent is no decimal.
    let is_float = |text: &str| text.contains(['e', 'E']);
    if a.contains('.') && b.contains('.') && !is_float(a) && !is_float(b) {
        let digits = |text: &str| text.trim_start_matches(['-', '0', '.']).len();
        return digits(a).max(digits(b)) > 16 && a.parse::<f64>() == b.parse::<f64>();
    }
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => (is_float(a) || is_float(b)) && (x == y || (x - y).abs() <= x.abs() * 1e-15),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn what_agrees() {
        assert!(agree(&strings(&["a", "1", "2"]), &strings(&["a", "2", "1"]), true));
        assert!(!agree(&strings(&["a", "1", "2"]), &strings(&["a", "2", "1"]), false));
        assert!(line_agrees("1e20 | x", "100000000000000000000 | x"));
        assert!(!line_agrees("1.50", "1.5e1"));
        assert!(!line_agrees("1.50", "1.5"));
        assert!(!line_agrees("1 | 2", "1"));
    }

    #[test]
    fn cells_show_what_they_hold() {
        assert_eq!(cell(None), "NULL");
        assert_eq!(cell(Some(b"")), "''");
        assert_eq!(cell(Some(b"a ")), "'a '");
        assert_eq!(cell(Some(b"a\nb")), "a\\nb");
        assert_eq!(cell(Some(b"\xFF\x00")), "0xFF00");
    }
}
