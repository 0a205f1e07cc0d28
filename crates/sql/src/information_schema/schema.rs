//! Rows that describe databases, tables, columns and indexes.

use catalog::{ColumnDef, ColumnDefault, GeneratedKind, IndexDef, IndexKind, IndexPart, Privileges, TableDef};
use types::{CollationId, DateTime, IndexId, SqlType, TypeKind, UnixTime, Value};

use super::{Source, VirtualTable, all_tables, number, text, yes_no};
use crate::plan::VirtualTable as _;
use crate::plan::node::VIRTUAL;
use crate::show::create::shown;
use crate::table::Table;

pub(crate) const CATALOG: &str = "def";

pub fn schemata(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    let row = |name: &str, collation: CollationId| {
        vec![
            text(CATALOG),
            text(name),
            text(collation.charset().name()),
            text(collation.name()),
            Value::Null,
            text("NO"),
        ]
    };
    // `mysql` is not listed: who dumps all databases would dump it, and could not load it again.
    let mut rows: Vec<_> = VIRTUAL
        .iter()
        .filter(|name| **name != "mysql")
        .map(|name| row(name, CollationId::UTF8MB3_GENERAL_CI))
        .collect();
    rows.extend(
        catalog
            .databases()
            .filter(|database| source.session.access.sees_database(&database.def.name))
            .map(|database| row(&database.def.name, database.def.collation)),
    );
    rows.sort_by(|a, b| a[1].to_string().cmp(&b[1].to_string()));
    rows
}

pub fn tables(source: &Source<'_>) -> Vec<Vec<Value>> {
    let engine = source.session.engine;
    let catalog = engine.catalog();
    let mut rows = Vec::new();
    for table in wanted_virtual(source) {
        let mut row = vec![
            text(CATALOG),
            text(table.database),
            text(table.name),
            text("SYSTEM VIEW"),
            Value::Null,
        ];
        row.extend([Value::Int(10), Value::Null]);
        row.extend(std::iter::repeat_n(Value::UInt(0), 6));
        row.extend(std::iter::repeat_n(Value::Null, 6));
        row.extend([text(""), text("")]);
        rows.push(row);
    }
    for database in source.databases(&catalog) {
        for def in source.tables_of(database) {
            let stored = engine.table(def);
            let count = stored.as_ref().map_or(0, |table| table.rows.estimated_rows());
            let (data, indexes) = stored.as_deref().map_or((0, 0), bytes_of);
            let next = def
                .auto_increment()
                .and_then(|_| stored.as_ref().map(|table| table.rows.next_auto_increment()));
            rows.push(vec![
                text(CATALOG),
                text(&def.database),
                text(&def.name),
                text("BASE TABLE"),
                text("InnoDB"),
                Value::Int(10),
                text("Dynamic"),
                number(count),
                number(data.checked_div(count).unwrap_or(0)),
                number(data),
                number(0u64),
                number(indexes),
                number(0u64),
                next.map_or(Value::Null, number),
                moment(def.created_at, source),
                Value::Null,
                Value::Null,
                text(def.collation.name()),
                Value::Null,
                text(create_options(def)),
                text(&def.comment),
            ]);
        }
        for view in source.views_of(database) {
            let mut row = vec![text(CATALOG), text(&view.database), text(&view.name), text("VIEW")];
            row.extend(std::iter::repeat_n(Value::Null, 16));
            row.push(text("VIEW"));
            rows.push(row);
        }
    }
    rows
}

/// About how many bytes of memory a table's rows take, and its indexes beside the primary one.
fn bytes_of(table: &Table) -> (u64, u64) {
    let others = table.def.indexes.iter().filter(|index| index.id != IndexId::PRIMARY);
    let others = others.map(|index| table.rows.estimated_bytes(index.id)).sum();
    (table.rows.estimated_bytes(IndexId::PRIMARY), others)
}

pub(crate) fn moment(seconds: i64, source: &Source<'_>) -> Value {
    local_time(seconds * 1_000_000, 0, source)
}

/// In hundredths of seconds.
pub(crate) fn hundredths(micros: i64, source: &Source<'_>) -> Value {
    let at = UnixTime { micros, fsp: 6 }.truncate(2);
    local_time(at.micros, 2, source)
}

pub(super) fn fine_moment(micros: i64, source: &Source<'_>) -> Value {
    local_time(micros, 6, source)
}

fn local_time(micros: i64, fsp: u8, source: &Source<'_>) -> Value {
    let at = UnixTime { micros, fsp };
    let local: DateTime = source.ctx.settings.time_zone.to_local(at);
    Value::DateTime(local)
}

fn wanted_virtual(source: &Source<'_>) -> impl Iterator<Item = &'static VirtualTable> {
    let wanted = &source.wanted;
    all_tables().filter(|table| wanted.schema(table.database) && wanted.table(table.name))
}

fn each_table(source: &Source<'_>, visit: &mut dyn FnMut(&TableDef)) {
    let catalog = source.session.engine.catalog();
    for database in source.databases(&catalog) {
        source.tables_of(database).for_each(|table| visit(table));
    }
}

pub fn columns(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in wanted_virtual(source) {
        for (at, column) in table.columns(table.name).iter().enumerate() {
            rows.push(column_row(
                table.database,
                table.name,
                at,
                &column.name,
                &column.ty,
                None,
                "",
                Privileges::SELECT,
            ));
        }
    }
    let access = &source.session.access;
    each_table(source, &mut |table| {
        let held = |name: &str| access.shown_on_column(&table.database, &table.name, name);
        rows.extend(columns_of(table, &held));
    });
    super::views::each_view(source, &mut |view, shape| {
        for (at, column) in shape.columns.iter().enumerate() {
            let (database, table) = (&view.database, &view.name);
            let held = access.shown_on_column(database, table, &column.name);
            if !held.is_empty() {
                rows.push(column_row(
                    database,
                    table,
                    at,
                    &column.name,
                    &column.ty,
                    None,
                    "",
                    held,
                ));
            }
        }
    });
    rows
}

pub fn temporary_columns(source: &Source<'_>) -> Vec<Vec<Value>> {
    source
        .temporary_tables()
        .flat_map(|table| columns_of(&table.def, &|_| Privileges::OF_COLUMNS))
        .collect()
}

/// The columns on which something is held.
fn columns_of(table: &TableDef, held: &dyn Fn(&str) -> Privileges) -> Vec<Vec<Value>> {
    let columns = table.named_columns().iter().enumerate();
    let shown = columns.map(|(at, column)| (at, column, held(&column.name)));
    shown
        .filter(|(_, _, held)| !held.is_empty())
        .map(|(at, column, held)| {
            let (database, name) = (&table.database, &table.name);
            let (key, definition) = (column_key(table, at), Some(column));
            column_row(database, name, at, &column.name, &column.ty, definition, key, held)
        })
        .collect()
}

#[expect(clippy::too_many_arguments, reason = "a row of as many parts")]
fn column_row(
    database: &str,
    table: &str,
    at: usize,
    name: &str,
    ty: &SqlType,
    definition: Option<&ColumnDef>,
    key: &str,
    held: Privileges,
) -> Vec<Value> {
    let [data_type, chars, bytes, precision, scale, fraction, charset, collation] = type_cells(ty);
    vec![
        text(CATALOG),
        text(database),
        text(table),
        text(name),
        number(at as u64 + 1),
        definition.map_or(Value::Null, shown_default),
        yes_no(ty.nullable),
        data_type,
        chars,
        bytes,
        precision,
        scale,
        fraction,
        charset,
        collation,
        text(ty.to_string()),
        text(key),
        text(definition.map(extra).unwrap_or_default()),
        text(held.names().collect::<Vec<_>>().join(",").to_lowercase()),
        text(definition.map_or("", |definition| &definition.comment)),
        text(
            definition
                .and_then(|definition| definition.generated.as_ref())
                .map_or_else(String::new, |generated| shown(&generated.expression)),
        ),
        Value::Null,
    ]
}

/// Name, greatest length in characters and bytes, precision, scale, digits of a fraction, character set and collation.
pub(crate) fn type_cells(ty: &SqlType) -> [Value; 8] {
    let is_text = ty.kind.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
    let is_string = is_text || ty.kind.is_binary();
    let (chars, bytes) = string_lengths(ty);
    let (precision, scale) = numeric_precision(ty);
    let fraction = match ty.kind {
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => number(u64::from(ty.decimals)),
        _ => Value::Null,
    };
    let when = |shown: bool, value: Value| if shown { value } else { Value::Null };
    [
        text(data_type(ty)),
        when(is_string, Value::Int(chars)),
        when(is_string, Value::Int(bytes)),
        precision,
        scale,
        fraction,
        when(is_text, text(ty.charset().name())),
        when(is_text, text(ty.collation.name())),
    ]
}

/// The type's name without its length.
fn data_type(ty: &SqlType) -> String {
    let shown = ty.to_string();
    shown.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

fn string_lengths(ty: &SqlType) -> (i64, i64) {
    let width = i64::from(ty.charset().max_bytes_per_char());
    match ty.kind {
        TypeKind::Char | TypeKind::VarChar => (i64::from(ty.length), i64::from(ty.length) * width),
        TypeKind::Enum => {
            let longest = ty
                .labels
                .iter()
                .map(|label| label.chars().count() as i64)
                .max()
                .unwrap_or(0);
            (longest, longest * width)
        }
        TypeKind::Set => {
            let all: i64 = ty
                .labels
                .iter()
                .map(|label| label.chars().count() as i64 + 1)
                .sum::<i64>()
                - 1;
            (all.max(0), all.max(0) * width)
        }
        _ => (i64::from(ty.length), i64::from(ty.length)),
    }
}

fn numeric_precision(ty: &SqlType) -> (Value, Value) {
    let exact = |digits: u64| (number(digits), number(0u64));
    match ty.kind {
        TypeKind::TinyInt => exact(3),
        TypeKind::SmallInt => exact(5),
        TypeKind::MediumInt => exact(7),
        TypeKind::Int => exact(10),
        TypeKind::BigInt => exact(if ty.unsigned { 20 } else { 19 }),
        TypeKind::Decimal => (number(u64::from(ty.length)), number(u64::from(ty.decimals))),
        TypeKind::Float | TypeKind::Double if ty.decimals < 31 => {
            (number(u64::from(ty.length)), number(u64::from(ty.decimals)))
        }
        TypeKind::Float => (number(12u64), Value::Null),
        TypeKind::Double => (number(22u64), Value::Null),
        TypeKind::Bit => (number(u64::from(ty.length)), Value::Null),
        _ => (Value::Null, Value::Null),
    }
}

fn hexadecimal(bytes: &[u8]) -> Value {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    text(format!("0x{digits}"))
}

/// The default as information_schema shows it: as [`default_text`], but for the bytes of binary columns.
fn shown_default(column: &ColumnDef) -> Value {
    match &column.default {
        Some(ColumnDefault::Literal(written)) if matches!(column.ty.kind, TypeKind::Binary | TypeKind::VarBinary) => {
            hexadecimal(written.as_bytes())
        }
        _ => default_text(column),
    }
}

/// The default as it is written, without quotes.
pub fn default_text(column: &ColumnDef) -> Value {
    match &column.default {
        None | Some(ColumnDefault::Null | ColumnDefault::Dropped) => Value::Null,
        Some(ColumnDefault::Literal(_)) => match crate::ddl::constant_default(column) {
            Some(value @ Value::Timestamp(_)) | Some(value @ Value::Bit(_)) => match (&column.default, value) {
                (_, Value::Bit(bit)) => text(format!("b'{:b}'", bit.value)),
                (Some(ColumnDefault::Literal(written)), _) => text(written),
                _ => Value::Null,
            },
            Some(value) => text(crate::plan::text::column_text(&value, &column.ty)),
            None => Value::Null,
        },
        Some(ColumnDefault::Bytes(bytes)) if column.ty.kind == TypeKind::Bit => {
            let value = bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
            text(format!("b'{value:b}'"))
        }
        Some(ColumnDefault::Bytes(bytes)) => hexadecimal(bytes),
        Some(ColumnDefault::Now(0)) => text("CURRENT_TIMESTAMP"),
        Some(ColumnDefault::Now(digits)) => text(format!("CURRENT_TIMESTAMP({digits})")),
        Some(ColumnDefault::Expression(expression)) => text(shown(expression)),
    }
}

/// `auto_increment`, `DEFAULT_GENERATED on update CURRENT_TIMESTAMP`, …
fn extra(column: &ColumnDef) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    if matches!(
        column.default,
        Some(ColumnDefault::Now(_) | ColumnDefault::Expression(_))
    ) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    match column.on_update_now {
        None => {}
        Some(0) => words.push("on update CURRENT_TIMESTAMP".to_owned()),
        Some(digits) => words.push(format!("on update CURRENT_TIMESTAMP({digits})")),
    }
    match column.generated.as_ref().map(|generated| generated.kind) {
        None => {}
        Some(GeneratedKind::Virtual) => words.push("VIRTUAL GENERATED".to_owned()),
        Some(GeneratedKind::Stored) => words.push("STORED GENERATED".to_owned()),
    }
    if column.invisible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}

/// `PRI`, `UNI`, `MUL` or nothing.
fn column_key(table: &TableDef, at: usize) -> &'static str {
    let leads = |index: &&IndexDef| index.parts.first().is_some_and(|part| part.column == at);
    if table
        .shown_as_primary()
        .is_some_and(|index| index.parts.iter().any(|part| part.column == at))
    {
        return "PRI";
    }
    let mut leading = table.indexes.iter().filter(leads).peekable();
    if leading.peek().is_none() {
        return "";
    }
    match leading.any(|index| index.is_unique() && index.parts.len() == 1) {
        true => "UNI",
        false => "MUL",
    }
}

pub fn statistics(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let engine = source.session.engine;
    let catalog = engine.catalog();
    each_table(source, &mut |table| {
        let stored = catalog.table_by_id(table.id).and_then(|def| engine.table(def));
        statistics_of(table, stored.as_deref(), &mut rows);
    });
    rows
}

pub fn temporary_statistics(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in source.temporary_tables() {
        statistics_of(&table.def, Some(table), &mut rows);
    }
    rows
}

fn statistics_of(table: &TableDef, stored: Option<&Table>, rows: &mut Vec<Vec<Value>>) {
    for index in &table.indexes {
        let distinct = match stored {
            None => Vec::new(),
            Some(stored) if index.kind == IndexKind::FullText => vec![stored.rows.estimated_rows(); index.parts.len()],
            Some(stored) => stored.rows.estimated_distinct(index.id),
        };
        let order = |part: &IndexPart| match part.descending {
            _ if index.kind == IndexKind::FullText => Value::Null,
            true => text("D"),
            false => text("A"),
        };
        for (at, part) in index.parts.iter().enumerate() {
            let column = &table.columns[part.column];
            let (name, expression) = match column.generated.as_ref().filter(|_| column.hidden) {
                Some(generated) => (Value::Null, text(shown(&generated.expression))),
                None => (text(&column.name), Value::Null),
            };
            rows.push(vec![
                text(CATALOG),
                text(&table.database),
                text(&table.name),
                Value::Int(i64::from(!index.is_unique())),
                text(&table.database),
                text(&index.name),
                number(at as u64 + 1),
                name,
                order(part),
                distinct
                    .get(at)
                    .map_or(Value::Int(0), |count| Value::Int(*count as i64)),
                part.prefix.map_or(Value::Null, |prefix| Value::Int(i64::from(prefix))),
                Value::Null,
                text(if column.nullable { "YES" } else { "" }),
                text(match index.kind {
                    IndexKind::FullText => "FULLTEXT",
                    IndexKind::Primary | IndexKind::Unique | IndexKind::Plain => "BTREE",
                }),
                text(""),
                text(&index.comment),
                yes_no(index.visible),
                expression,
            ]);
        }
    }
}

pub fn key_column_usage(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let access = &source.session.access;
    each_table(source, &mut |table| {
        let is_shown = |column: &str| {
            let held = access.shown_on_column(&table.database, &table.name, column);
            !held.is_empty()
        };
        for index in table.indexes.iter().filter(|index| index.is_unique()) {
            let parts = index.parts.iter().enumerate();
            let parts = parts.filter(|(_, part)| !table.columns[part.column].hidden);
            for (at, part) in parts.filter(|(_, part)| is_shown(&table.columns[part.column].name)) {
                let mut row = vec![text(CATALOG), text(&table.database), text(&index.name), text(CATALOG)];
                row.extend([
                    text(&table.database),
                    text(&table.name),
                    text(&table.columns[part.column].name),
                ]);
                row.push(number(at as u64 + 1));
                row.extend(std::iter::repeat_n(Value::Null, 4));
                rows.push(row);
            }
        }
        for key in &table.foreign_keys {
            let pairs = key.columns.iter().zip(&key.parent_columns).enumerate();
            for (at, (column, parent)) in pairs.filter(|(_, (column, _))| is_shown(column)) {
                let position = at as u64 + 1;
                rows.push(vec![
                    text(CATALOG),
                    text(&table.database),
                    text(&key.name),
                    text(CATALOG),
                    text(&table.database),
                    text(&table.name),
                    text(column),
                    number(position),
                    number(position),
                    text(&key.parent_database),
                    text(&key.parent_table),
                    text(parent),
                ]);
            }
        }
    });
    rows
}

/// One row for each foreign key.
pub fn referential_constraints(source: &Source<'_>) -> Vec<Vec<Value>> {
    let catalog = source.session.engine.catalog();
    let mut rows = Vec::new();
    each_table(source, &mut |table| {
        for key in &table.foreign_keys {
            let parent = catalog.table(&key.parent_database, &key.parent_table);
            let unique = parent.and_then(|parent| {
                let columns = parent.columns_named(&key.parent_columns)?;
                let index = parent.index_beginning_with(&columns)?;
                index.is_unique().then(|| text(&index.name))
            });
            rows.push(vec![
                text(CATALOG),
                text(&table.database),
                text(&key.name),
                text(CATALOG),
                text(&key.parent_database),
                unique.unwrap_or(Value::Null),
                text("NONE"),
                text(key.on_update.as_str()),
                text(key.on_delete.as_str()),
                text(&table.name),
                text(&key.parent_table),
            ]);
        }
    });
    rows
}

pub fn table_constraints(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    each_table(source, &mut |table| {
        let row = |name: &str, kind: &str, enforced: bool| {
            let names = [
                text(CATALOG),
                text(&table.database),
                text(name),
                text(&table.database),
                text(&table.name),
            ];
            names
                .into_iter()
                .chain([text(kind), yes_no(enforced)])
                .collect::<Vec<_>>()
        };
        for index in table.indexes.iter().filter(|index| index.is_unique()) {
            let kind = if index.kind == IndexKind::Primary {
                "PRIMARY KEY"
            } else {
                "UNIQUE"
            };
            rows.push(row(&index.name, kind, true));
        }
        rows.extend(table.foreign_keys.iter().map(|key| row(&key.name, "FOREIGN KEY", true)));
        rows.extend(
            table
                .checks
                .iter()
                .map(|check| row(&check.name, "CHECK", check.enforced)),
        );
    });
    rows
}

pub fn check_constraints(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    each_table(source, &mut |table| {
        for check in &table.checks {
            rows.push(vec![
                text(CATALOG),
                text(&table.database),
                text(&check.name),
                text(shown(&check.expression)),
            ]);
        }
    });
    rows
}

/// The options of a table that MySQL has not. Those that it has change nothing here.
fn create_options(def: &TableDef) -> String {
    match &def.ttl {
        None => String::new(),
        Some(ttl) => {
            let rule = ttl.rule_text(&crate::show::create::name(&ttl.column));
            format!("TTL={rule} TTL_ENABLE={}", ttl.enable_text())
        }
    }
}
