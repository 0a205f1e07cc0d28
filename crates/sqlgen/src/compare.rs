//! When two answers to one statement are the same.

use mysql_client::{Answer, Column, ColumnType};

/// How two answers differ, in a form that names the class: `rows`, `error 1690 0`, `type NewDecimal LongLong`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub class: String,
    pub detail: String,
}

impl Difference {
    pub fn new(class: impl Into<String>, detail: impl Into<String>) -> Difference {
        Difference {
            class: class.into(),
            detail: detail.into(),
        }
    }
}

/// How much of an answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Rows, errors, counts.
    Content,
    /// Names, types and flags of the columns, too.
    Columns,
}

/// The first difference of the answers to `sql`, if there is one.
pub fn difference(sql: &str, ours: &Answer, theirs: &Answer, depth: Depth) -> Option<Difference> {
    match (ours, theirs) {
        (
            Answer::Error { code, message, .. },
            Answer::Error {
                code: other,
                message: said,
                ..
            },
        ) => (code != other).then(|| {
            Difference::new(
                format!("error {code} {other}"),
                format!("ours   {message}\ntheirs {said}"),
            )
        }),
        (Answer::Error { code, message, .. }, _) => {
            Some(Difference::new(format!("error {code} 0"), format!("ours   {message}")))
        }
        (_, Answer::Error { code, message, .. }) => {
            Some(Difference::new(format!("error 0 {code}"), format!("theirs {message}")))
        }
        (
            Answer::Ok {
                affected,
                last_insert_id,
                ..
            },
            Answer::Ok {
                affected: others,
                last_insert_id: other_id,
                ..
            },
        ) => {
            if affected != others && counts(sql) {
                return Some(Difference::new("affected", format!("ours {affected}, theirs {others}")));
            }
            (last_insert_id != other_id)
                .then(|| Difference::new("insert id", format!("ours {last_insert_id}, theirs {other_id}")))
        }
        (
            Answer::Rows { columns, rows, .. },
            Answer::Rows {
                columns: their_columns,
                rows: their_rows,
                ..
            },
        ) => {
            if columns.len() != their_columns.len() {
                return Some(Difference::new(
                    "columns",
                    format!("ours {}, theirs {}", columns.len(), their_columns.len()),
                ));
            }
            of_rows(sql, columns, rows, their_columns, their_rows).or_else(|| {
                (depth == Depth::Columns)
                    .then(|| of_columns(columns, their_columns))
                    .flatten()
            })
        }
        _ => Some(Difference::new("kind", "rows on one side only")),
    }
}

/// The first difference of the results before the last one.
pub fn results(sql: &str, ours: &[Answer], theirs: &[Answer], depth: Depth) -> Option<Difference> {
    let different = || {
        let pairs = ours.iter().zip(theirs).enumerate();
        pairs.into_iter().find_map(|(at, (one, other))| {
            let found = difference(sql, one, other, depth)?;
            Some(Difference::new(
                format!("result {}", found.class),
                format!("result {at}\n{}", found.detail),
            ))
        })
    };
    different().or_else(|| {
        let counts = (ours.len(), theirs.len());
        (counts.0 != counts.1).then(|| Difference::new("results", format!("ours {}, theirs {}", counts.0, counts.1)))
    })
}

/// Whether the number of affected rows is a promise.
fn counts(sql: &str) -> bool {
    ["INSERT", "UPDATE", "DELETE", "REPLACE"]
        .iter()
        .any(|verb| sql.starts_with(verb))
}

type Row = Vec<Option<Vec<u8>>>;

fn of_rows(
    sql: &str,
    columns: &[Column],
    ours: &[Row],
    their_columns: &[Column],
    theirs: &[Row],
) -> Option<Difference> {
    // A number that one side has as a double is one for both: the types are another question.
    let (columns, their_columns) = (&as_doubles(columns, their_columns), &as_doubles(their_columns, columns));
    let exact = |columns: &[Column], rows: &[Row]| sorted(columns, rows, Fold::Exact);
    let (a, b) = (exact(columns, ours), exact(their_columns, theirs));
    if a == b {
        let is_document = |column: &Column| column.ty == ColumnType::Json;
        return match is_ordered(sql, columns.len()) && !columns.iter().any(is_document) {
            true => of_order(columns, ours, their_columns, theirs),
            false => None,
        };
    }
    let show = |class: &str| {
        let only = |one: &[Vec<String>], other: &[Vec<String>]| -> String {
            let lines = one.iter().filter(|row| !other.contains(row)).take(3);
            lines.map(|row| format!("    {}\n", row.join(" | "))).collect()
        };
        let detail = format!(
            "ours ({} rows)\n{}theirs ({} rows)\n{}",
            a.len(),
            only(&a, &b),
            b.len(),
            only(&b, &a)
        );
        Some(Difference::new(class, detail))
    };
    if ours.len() != theirs.len() {
        return show("row count");
    }
    if sorted(columns, ours, Fold::Scale) == sorted(their_columns, theirs, Fold::Scale) {
        return show("scale");
    }
    // Among equal texts any may stand for all: in groups, sets, least and greatest ones.
    let chooses = [
        "DISTINCT",
        "GROUP",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "MIN(",
        "MAX(",
        "GREATEST(",
        "LEAST(",
    ];
    if chooses.iter().any(|word| sql.contains(word))
        && sorted(columns, ours, Fold::Case) == sorted(their_columns, theirs, Fold::Case)
    {
        return None;
    }
    show("rows")
}

/// Whether the statement ends in an ORDER BY over every one of its columns by number.
fn is_ordered(sql: &str, columns: usize) -> bool {
    let Some((_, tail)) = sql.rsplit_once(" ORDER BY ") else {
        return false;
    };
    let keys = tail.split_once(" LIMIT ").map_or(tail, |(keys, _)| keys);
    let numbers: Vec<&str> = keys.split(", ").map(|key| key.trim_end_matches(" DESC")).collect();
    (1..=columns).all(|column| numbers.contains(&column.to_string().as_str()))
}

/// The first row that stands elsewhere; texts that differ in case may change places.
fn of_order(columns: &[Column], ours: &[Row], their_columns: &[Column], theirs: &[Row]) -> Option<Difference> {
    let line = |columns: &[Column], row: &Row| -> Vec<String> {
        let cells = row.iter().zip(columns);
        cells
            .map(|(value, column)| cell(value.as_deref(), column, Fold::Case))
            .collect()
    };
    let mut pairs = ours.iter().zip(theirs).enumerate();
    pairs.find_map(|(at, (one, other))| {
        let (one, other) = (line(columns, one), line(their_columns, other));
        (one != other).then(|| {
            Difference::new(
                "order",
                format!("row {at}\nours   {}\ntheirs {}", one.join(" | "), other.join(" | ")),
            )
        })
    })
}

/// The columns, as doubles where those of the other side are.
fn as_doubles(columns: &[Column], others: &[Column]) -> Vec<Column> {
    let pairs = columns.iter().zip(others);
    pairs
        .map(|(column, other)| Column {
            ty: if is_double(other) { other.ty } else { column.ty },
            ..column.clone()
        })
        .collect()
}

fn is_double(column: &Column) -> bool {
    matches!(column.ty, ColumnType::Double | ColumnType::Float)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    Exact,
    /// A number's trailing zeros and a zero's sign do not count.
    Scale,
    /// As Scale, and equal texts are one.
    Case,
}

fn sorted(columns: &[Column], rows: &[Row], fold: Fold) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            row.iter()
                .zip(columns)
                .map(|(value, column)| cell(value.as_deref(), column, fold))
                .collect()
        })
        .collect();
    rows.sort();
    rows
}

fn cell(value: Option<&[u8]>, column: &Column, fold: Fold) -> String {
    let Some(bytes) = value else { return "NULL".to_owned() };
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
    };
    if is_double(column) {
        return match text.parse::<f64>() {
            Ok(0.0) => "0".to_owned(),
            Ok(number) => format!("{number:.9e}"),
            Err(_) => text,
        };
    }
    match fold {
        Fold::Exact => text,
        Fold::Scale => without_scale(text),
        Fold::Case => {
            let folded: String = text
                .to_lowercase()
                .chars()
                .map(|c| match c {
                    'ë' => 'e',
                    'ü' => 'u',
                    other => other,
                })
                .collect();
            without_scale(folded.trim_end().to_owned())
        }
    }
}

/// Without the zeros at the end of a fraction, of a number or a time.
fn without_scale(text: String) -> String {
    match text.parse::<f64>() {
        Err(_) if text.contains(':') && text.contains('.') => {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Ok(_) if text.contains('.') && !text.contains(['e', 'E']) => {
            let short = text.trim_end_matches('0').trim_end_matches('.');
            if matches!(short, "-0" | "" | "-") {
                "0".to_owned()
            } else {
                short.to_owned()
            }
        }
        Ok(0.0) => "0".to_owned(),
        _ => text,
    }
}

fn of_columns(ours: &[Column], theirs: &[Column]) -> Option<Difference> {
    for (one, other) in ours.iter().zip(theirs) {
        if one.name != other.name {
            return Some(Difference::new(
                "name",
                format!("ours {}, theirs {}", one.name, other.name),
            ));
        }
        if one.ty != other.ty {
            return Some(Difference::new(
                format!("type {:?} {:?}", one.ty, other.ty),
                format!("column {}", one.name),
            ));
        }
        if one.unsigned != other.unsigned {
            return Some(Difference::new(
                "unsigned",
                format!("column {}: ours {}, theirs {}", one.name, one.unsigned, other.unsigned),
            ));
        }
    }
    None
}

/// The codes of warnings that only one side has; deprecations do not count.
pub fn warnings(ours: &[u16], theirs: &[u16]) -> Option<Difference> {
    const DEPRECATIONS: [u16; 10] = [1287, 1681, 3090, 3135, 3720, 4095, 4096, 1235, 3719, 3778];
    let only = |one: &[u16], other: &[u16]| -> Vec<u16> {
        let mut codes: Vec<u16> = one
            .iter()
            .filter(|code| !other.contains(code) && !DEPRECATIONS.contains(code))
            .copied()
            .collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    };
    let (a, b) = (only(ours, theirs), only(theirs, ours));
    (!a.is_empty() || !b.is_empty()).then(|| Difference::new(format!("warnings {a:?} {b:?}"), String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(ty: ColumnType, values: &[&str]) -> Answer {
        Answer::Rows {
            columns: vec![Column {
                name: "x".to_owned(),
                ty,
                unsigned: false,
                zerofill: false,
                length: 10,
                decimals: 0,
            }],
            rows: values
                .iter()
                .map(|value| vec![Some(value.as_bytes().to_vec())])
                .collect(),
            warnings: 0,
        }
    }

    fn class(sql: &str, ours: &Answer, theirs: &Answer) -> Option<String> {
        difference(sql, ours, theirs, Depth::Columns).map(|difference| difference.class)
    }

    #[test]
    fn rows_are_a_multiset() {
        let ty = ColumnType::LongLong;
        assert_eq!(class("SELECT", &rows(ty, &["1", "2"]), &rows(ty, &["2", "1"])), None);
        assert_eq!(
            class("SELECT", &rows(ty, &["1", "1"]), &rows(ty, &["2", "1"])).as_deref(),
            Some("rows")
        );
        assert_eq!(
            class("SELECT", &rows(ty, &["1"]), &rows(ty, &["1", "1"])).as_deref(),
            Some("row count")
        );
    }

    #[test]
    fn rows_that_are_ordered_by_every_column_stand_in_order() {
        let ty = ColumnType::LongLong;
        let (one, other) = (rows(ty, &["1", "2"]), rows(ty, &["2", "1"]));
        assert_eq!(
            class("SELECT x FROM t ORDER BY 1 DESC LIMIT 3", &one, &other).as_deref(),
            Some("order")
        );
        assert_eq!(class("SELECT x FROM t ORDER BY 2", &one, &other), None);
        assert_eq!(class("SELECT GROUP_CONCAT(x ORDER BY 1) FROM t", &one, &other), None);
    }

    #[test]
    fn a_double_beside_another_number_is_compared_as_one() {
        let (double, whole) = (ColumnType::Double, ColumnType::LongLong);
        let class =
            |a: &Answer, b: &Answer| difference("SELECT", a, b, Depth::Content).map(|difference| difference.class);
        assert_eq!(class(&rows(double, &["1"]), &rows(whole, &["1"])), None);
        assert_eq!(
            class(&rows(whole, &["2"]), &rows(double, &["1"])).as_deref(),
            Some("rows")
        );
    }

    #[test]
    fn classes_are_told_apart() {
        let decimal = ColumnType::NewDecimal;
        assert_eq!(
            class("SELECT", &rows(decimal, &["1.50"]), &rows(decimal, &["1.5"])).as_deref(),
            Some("scale")
        );
        let text = ColumnType::VarString;
        assert_eq!(
            class("SELECT DISTINCT", &rows(text, &["Zoë"]), &rows(text, &["zoe"])),
            None
        );
        assert_eq!(
            class("SELECT", &rows(text, &["Zoë"]), &rows(text, &["zoe"])).as_deref(),
            Some("rows")
        );
        assert_eq!(
            class("SELECT", &rows(text, &["a"]), &rows(decimal, &["a"])).as_deref(),
            Some("type VarString NewDecimal")
        );
        assert_eq!(warnings(&[1292, 1292], &[1292, 1287]), None);
        assert!(warnings(&[1292], &[]).is_some());
    }
}
