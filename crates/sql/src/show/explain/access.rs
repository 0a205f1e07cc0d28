//! How a table is reached, in EXPLAIN's words.

use types::{IndexId, SqlType, TypeKind};

use crate::expr::{Expr, ExprKind};
use crate::plan::access::conditions::Interval;
use crate::plan::access::{AccessKind, AccessPath, ColumnTest, RangeSpec};
use crate::show::create;
use crate::table::Table;

/// The index that is read, and how much of it.
pub struct KeyUse {
    pub name: String,
    /// The columns that ranges are made of; all where all of the index is read.
    pub parts: Vec<String>,
    /// Their bytes in MySQL's row format (`key_len`).
    pub bytes: u64,
    /// `const`, a column, or `func` for what each leading column is compared with.
    pub refs: Vec<String>,
    /// `a=1, b=t.c`, or `(1 <= a <= 5)`
    pub ranges: String,
    /// The rows' columns are read from the index alone.
    pub covering: bool,
    pub backward: bool,
}

/// The index that a path reads; none for a scan of the table.
pub fn key_use(path: &AccessPath, kind: AccessKind) -> Option<KeyUse> {
    if kind == AccessKind::All {
        return None;
    }
    let table = &*path.table;
    let columns = table.key_columns(path.index);
    let tests: Vec<&ColumnTest> = match &path.spec {
        RangeSpec::All | RangeSpec::Words(_) => Vec::new(),
        RangeSpec::Prefix { equal, then } => equal.iter().chain(then).collect(),
    };
    let used = match path.spec {
        RangeSpec::All => columns.as_slice(),
        RangeSpec::Words(_) => &columns[..1],
        RangeSpec::Prefix { .. } => &columns[..tests.len()],
    };
    let names: Vec<String> = used
        .iter()
        .map(|column| {
            let definition = &table.def.columns[*column];
            match definition.generated.as_ref().filter(|_| definition.hidden) {
                Some(generated) if table.def.has_elements(*column) => unquoted(&create::shown(&generated.expression)),
                Some(generated) => format!("({})", generated.expression),
                None => definition.name.clone(),
            }
        })
        .collect();
    let is_lookup = matches!(kind, AccessKind::Const | AccessKind::EqRef | AccessKind::Ref);
    Some(KeyUse {
        name: index_name(table, path.index),
        bytes: match kind {
            AccessKind::FullText => 0,
            _ => key_bytes(table, path.index, used.len()),
        },
        refs: match kind {
            AccessKind::FullText => vec!["const".to_owned()],
            _ if is_lookup => tests.iter().map(|test| reference(test)).collect(),
            _ => Vec::new(),
        },
        ranges: match is_lookup {
            true => joined(names.iter().zip(&tests).map(|(name, test)| lookup(name, test)), ", "),
            false => joined(names.iter().zip(&tests).map(|(name, test)| range(name, test)), " AND "),
        },
        covering: path.covering && path.index != IndexId::PRIMARY,
        backward: path.backward,
        parts: names,
    })
}

pub fn index_name(table: &Table, index: IndexId) -> String {
    table
        .index(index)
        .map_or_else(|| "PRIMARY".to_owned(), |index| index.name.clone())
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}

/// What `ref` shows for one column.
fn reference(test: &ColumnTest) -> String {
    match test {
        ColumnTest::Equal(operand) | ColumnTest::NullSafeEqual(operand) => match &operand.kind {
            ExprKind::Column(column) | ExprKind::Outer { column, .. } => column.name.replace('`', ""),
            _ if operand.is_constant() => "const".to_owned(),
            _ => "func".to_owned(),
        },
        _ => "const".to_owned(),
    }
}

fn lookup(name: &str, test: &ColumnTest) -> String {
    match test {
        ColumnTest::Equal(operand) | ColumnTest::NullSafeEqual(operand) => format!("{name}={}", shown(operand)),
        test => range(name, test),
    }
}

fn range(name: &str, test: &ColumnTest) -> String {
    match test {
        ColumnTest::Equal(operand) => format!("({name} = {})", shown(operand)),
        ColumnTest::NullSafeEqual(operand) => format!("({name} <=> {})", shown(operand)),
        ColumnTest::IsNull => format!("({name} IS NULL)"),
        ColumnTest::AnyOf(operands) => joined(
            operands.iter().map(|operand| format!("({name} = {})", shown(operand))),
            " OR ",
        ),
        ColumnTest::Range(interval) => within(name, interval),
        ColumnTest::Intervals(intervals) => joined(intervals.iter().map(|interval| within(name, interval)), " OR "),
        ColumnTest::StartsWith(prefix) => format!("({name} LIKE '{prefix}%')"),
        ColumnTest::Elements(test) => test.shown(name, &shown(&test.operand)),
    }
}

fn within(name: &str, interval: &Interval) -> String {
    let sign = |inclusive: bool| if inclusive { "<=" } else { "<" };
    let lower = interval
        .lower
        .as_ref()
        .map(|bound| format!("{} {} ", shown(&bound.operand), sign(bound.inclusive)));
    let upper = interval
        .upper
        .as_ref()
        .map(|bound| format!(" {} {}", sign(bound.inclusive), shown(&bound.operand)));
    let lower = match (lower, &upper) {
        // Every bound leaves NULL out; only where it is the whole range does that have to be said.
        (None, None) => "NULL < ".to_owned(),
        (lower, _) => lower.unwrap_or_default(),
    };
    format!("({lower}{name}{})", upper.unwrap_or_default())
}

/// An expression as the tree shows it: `t.a` for `` `database`.`t`.`a` ``.
pub fn shown(expr: &Expr) -> String {
    unquoted(&expr.to_string())
}

/// Takes the quotes and the database off names. Text in quotation marks stays as it is.
fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['`', '\'']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = if rest.starts_with('\'') {
            let end = end_of_text(rest);
            out.push_str(&rest[..end]);
            end
        } else {
            let (parts, end) = quoted_parts(rest);
            let own = parts.len().saturating_sub(2);
            out.push_str(&parts[own..].join("."));
            end
        };
        rest = &rest[end..];
    }
    out + rest
}

/// The length of the quoted text that begins here.
fn end_of_text(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'\'' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The parts of the quoted name that begins here, and its length.
fn quoted_parts(text: &str) -> (Vec<&str>, usize) {
    let mut parts = Vec::new();
    let mut end = 0;
    while let Some(open) = text[end..].strip_prefix('`') {
        let Some(length) = open.find('`') else {
            return (vec![text], text.len());
        };
        parts.push(&open[..length]);
        end += length + 2;
        match text[end..].starts_with(".`") {
            true => end += 1,
            false => break,
        }
    }
    (parts, end)
}

/// The bytes of an index's first columns in MySQL's key format: `key_len`.
fn key_bytes(table: &Table, index: IndexId, columns: usize) -> u64 {
    let parts = table
        .index(index)
        .map(|index| index.parts.as_slice())
        .unwrap_or_default();
    let bytes = |part: &catalog::IndexPart| {
        let ty = part.elements.as_ref().unwrap_or(&table.def.columns[part.column].ty);
        column_bytes(ty, part.prefix) + u64::from(table.def.columns[part.column].nullable)
    };
    parts[..columns].iter().map(bytes).sum()
}

fn column_bytes(ty: &SqlType, prefix: Option<u32>) -> u64 {
    let width = u64::from(ty.charset().max_bytes_per_char());
    let length = u64::from(prefix.unwrap_or(ty.length));
    let fraction = u64::from(ty.decimals).div_ceil(2);
    match ty.kind {
        TypeKind::TinyInt | TypeKind::Year => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt | TypeKind::Date => 3,
        TypeKind::Int | TypeKind::Float => 4,
        TypeKind::BigInt | TypeKind::Double => 8,
        TypeKind::Decimal => decimal_bytes(u64::from(ty.length), u64::from(ty.decimals)),
        TypeKind::Time => 3 + fraction,
        TypeKind::DateTime => 5 + fraction,
        TypeKind::Timestamp => 4 + fraction,
        TypeKind::Bit => length.div_ceil(8),
        TypeKind::Enum => 1 + u64::from(ty.labels.len() > 255),
        TypeKind::Set => match ty.labels.len().div_ceil(8) as u64 {
            bytes @ 0..=4 => bytes,
            _ => 8,
        },
        TypeKind::Char => length * width,
        TypeKind::Binary => length,
        TypeKind::VarBinary => length + 2,
        kind if kind.is_text() => length * width + 2,
        _ => length + 2,
    }
}

/// Nine digits take four bytes, fewer take less.
fn decimal_bytes(digits: u64, scale: u64) -> u64 {
    const LEFT_OVER: [u64; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
    let part = |digits: u64| digits / 9 * 4 + LEFT_OVER[(digits % 9) as usize];
    part(digits - scale) + part(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_quotes_and_database_and_texts_lose_nothing() {
        assert_eq!(unquoted("(`d`.`t`.`a` = 1)"), "(t.a = 1)");
        assert_eq!(unquoted("(`t`.`a` = `b`)"), "(t.a = b)");
        assert_eq!(unquoted("(a = '`d`.`t`.`a`')"), "(a = '`d`.`t`.`a`')");
        assert_eq!(unquoted(r"('it\'s `x`' = `d`.`t`.`é`)"), r"('it\'s `x`' = t.é)");
    }

    #[test]
    fn decimals_are_packed_by_nine_digits() {
        assert_eq!(decimal_bytes(10, 0), 5);
        assert_eq!(decimal_bytes(10, 2), 5);
        assert_eq!(decimal_bytes(65, 30), 30);
    }
}
