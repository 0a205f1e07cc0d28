//! Answers as text: a drawn table, tab-separated rows, or a list of values per row.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use mysql_client::{Answer, ColumnType};

use crate::table::{padded, width};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Table,
    /// As `mariadb --batch`: a heading, tabs between values, control characters escaped.
    Batch,
    /// A line per value.
    Vertical,
}

type Row = Vec<Option<Vec<u8>>>;

/// The rows of an answer; nothing for one without.
pub fn result(answer: &Answer, style: Style) -> String {
    let (columns, rows) = match answer {
        Answer::Rows { columns, rows, .. } => (columns, rows),
        Answer::Ok { .. } => return String::new(),
        Answer::Error {
            code,
            sqlstate,
            message,
        } => return format!("ERROR {code} ({sqlstate}): {message}\n"),
    };
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    match style {
        Style::Table if rows.is_empty() => String::new(),
        Style::Table => {
            let right: Vec<bool> = columns.iter().map(|column| is_number(column.ty)).collect();
            drawn(&names, rows, &right)
        }
        Style::Batch => batch(&names, rows),
        Style::Vertical => vertical(&names, rows),
    }
}

/// What follows an answer on a terminal.
pub fn summary(answer: &Answer, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    let with_warnings = |warnings: u16| match warnings {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        n => format!(", {n} warnings"),
    };
    match answer {
        Answer::Error { .. } => "\n".to_owned(),
        Answer::Ok {
            affected,
            info,
            warnings,
            ..
        } => {
            let rows = if *affected == 1 { "row" } else { "rows" };
            let info = if info.is_empty() {
                String::new()
            } else {
                format!("\n{info}")
            };
            format!(
                "Query OK, {affected} {rows} affected{} ({seconds:.3} s){info}\n\n",
                with_warnings(*warnings)
            )
        }
        Answer::Rows { rows, warnings, .. } => match rows.len() {
            0 => format!("Empty set{} ({seconds:.3} s)\n\n", with_warnings(*warnings)),
            1 => format!("1 row in set{} ({seconds:.3} s)\n\n", with_warnings(*warnings)),
            n => format!("{n} rows in set{} ({seconds:.3} s)\n\n", with_warnings(*warnings)),
        },
    }
}

fn is_number(ty: ColumnType) -> bool {
    use ColumnType::{Double, Float, Int24, Long, LongLong, NewDecimal, Short, Tiny, Year};
    matches!(
        ty,
        Tiny | Short | Int24 | Long | LongLong | Float | Double | NewDecimal | Year
    )
}

/// A value for reading: NULL by name, and what is no text in hex.
fn shown(value: Option<&[u8]>) -> Cow<'_, str> {
    match value {
        None => Cow::Borrowed("NULL"),
        Some(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Cow::Borrowed(text),
            _ => Cow::Owned(bytes.iter().fold("0x".to_owned(), |mut hex, byte| {
                write!(hex, "{byte:02X}").expect("a String takes every write");
                hex
            })),
        },
    }
}

fn drawn(names: &[&str], rows: &[Row], right: &[bool]) -> String {
    let cells: Vec<Vec<Cow<str>>> = rows
        .iter()
        .map(|row| row.iter().map(|value| shown(value.as_deref())).collect())
        .collect();
    let widths: Vec<usize> = (0..names.len())
        .map(|column| {
            let widest = cells
                .iter()
                .map(|row| row[column].split('\n').map(width).max().unwrap_or(0))
                .max();
            width(names[column]).max(widest.unwrap_or(0))
        })
        .collect();
    let rule = format!(
        "+{}\n",
        widths
            .iter()
            .map(|width| format!("{}+", "-".repeat(width + 2)))
            .collect::<String>()
    );
    let heading: String = names
        .iter()
        .zip(&widths)
        .map(|(name, width)| format!("| {} ", padded(name, *width)))
        .collect();
    let mut text = format!("{rule}{heading}|\n{rule}");
    for row in &cells {
        for ((cell, wanted), right) in row.iter().zip(&widths).zip(right) {
            let fill = " ".repeat(wanted.saturating_sub(width(cell)));
            let (before, after) = if *right {
                (fill.as_str(), "")
            } else {
                ("", fill.as_str())
            };
            write!(text, "| {before}{cell}{after} ").expect("a String takes every write");
        }
        text.push_str("|\n");
    }
    text + &rule
}

fn batch(names: &[&str], rows: &[Row]) -> String {
    let mut text = names.join("\t") + "\n";
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .map(|value| {
                let shown = value.as_deref().map_or(Cow::Borrowed("NULL"), String::from_utf8_lossy);
                shown
                    .replace('\\', "\\\\")
                    .replace('\t', "\\t")
                    .replace('\n', "\\n")
                    .replace('\0', "\\0")
            })
            .collect();
        text.push_str(&cells.join("\t"));
        text.push('\n');
    }
    text
}

fn vertical(names: &[&str], rows: &[Row]) -> String {
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let stars = "*".repeat(27);
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        writeln!(text, "{stars} {}. row {stars}", number + 1).expect("a String takes every write");
        for (name, value) in names.iter().zip(row) {
            let fill = " ".repeat(widest - width(name));
            writeln!(text, "{fill}{name}: {}", shown(value.as_deref())).expect("a String takes every write");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_client::Column;

    fn answer() -> Answer {
        let column = |name: &str, ty| Column {
            name: name.into(),
            ty,
            unsigned: false,
            zerofill: false,
            length: 0,
            decimals: 0,
        };
        Answer::Rows {
            columns: vec![column("id", ColumnType::Long), column("name", ColumnType::VarString)],
            rows: vec![
                vec![Some(b"1".to_vec()), Some("Zo\u{eb}\ttab".into())],
                vec![Some(b"20".to_vec()), None],
                vec![Some(b"300".to_vec()), Some(vec![0xff, 0])],
            ],
            warnings: 0,
        }
    }

    #[test]
    fn a_table_is_drawn() {
        assert_eq!(
            result(&answer(), Style::Table),
            "+-----+---------+\n\
             | id  | name    |\n\
             +-----+---------+\n\
             |   1 | Zo\u{eb}\ttab |\n\
             |  20 | NULL    |\n\
             | 300 | 0xFF00  |\n\
             +-----+---------+\n"
        );
    }

    #[test]
    fn batch_rows_are_escaped() {
        let text = result(&answer(), Style::Batch);
        assert!(text.starts_with("id\tname\n1\tZo\u{eb}\\ttab\n20\tNULL\n"), "{text}");
    }

    #[test]
    fn a_row_can_be_a_list() {
        let text = result(&answer(), Style::Vertical);
        assert!(
            text.starts_with("*************************** 1. row ***************************\n  id: 1\nname: Zo"),
            "{text}"
        );
    }

    #[test]
    fn summaries_count() {
        let took = Duration::from_millis(12);
        assert_eq!(summary(&answer(), took), "3 rows in set (0.012 s)\n\n");
        let ok = Answer::Ok {
            affected: 1,
            last_insert_id: 0,
            info: String::new(),
            warnings: 2,
        };
        assert_eq!(summary(&ok, took), "Query OK, 1 row affected, 2 warnings (0.012 s)\n\n");
        let error = Answer::Error {
            code: 1064,
            sqlstate: "42000".into(),
            message: "near".into(),
        };
        assert_eq!(result(&error, Style::Table), "ERROR 1064 (42000): near\n");
    }
}
