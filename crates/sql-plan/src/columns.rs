//! What a column's definition says of results and of rows: its description, its default's value.

use catalog::{ColumnDef, ColumnDefault, IndexDef, IndexKind, TableDef};
use sql_api::result::{ColumnFlags, ResultColumn};
use types::cast::{self, SqlMode, Target, assign};
use types::time::TimeZone;
use types::{SqlResult, SqlType, UnixTime, Value, Warnings};

/// A plain column of a table under an alias.
pub fn table_column(table: &TableDef, alias: &str, position: usize) -> ResultColumn {
    let column = &table.columns[position];
    let mut flags = ColumnFlags::default();
    let has_it = |index: &IndexDef| index.parts.iter().any(|part| part.column == position);
    let primary = table.shown_as_primary();
    let leads = |wanted: &dyn Fn(&IndexDef) -> bool| {
        table
            .indexes
            .iter()
            .filter(|index| primary.is_none_or(|primary| primary.id != index.id))
            .any(|index| wanted(index) && index.parts.first().is_some_and(|part| part.column == position))
    };
    let has_no_default = column.default.is_none() && !column.nullable && !column.auto_increment;
    let told = [
        (primary.is_some_and(has_it), ColumnFlags::PRI_KEY),
        (table.indexes.iter().any(has_it), ColumnFlags::PART_KEY),
        (
            leads(&|index| index.kind == IndexKind::Unique && index.parts.len() == 1),
            ColumnFlags::UNIQUE_KEY,
        ),
        (
            leads(&|index| !index.is_unique() || (index.kind == IndexKind::Unique && index.parts.len() > 1)),
            ColumnFlags::MULTIPLE_KEY,
        ),
        (column.auto_increment, ColumnFlags::AUTO_INCREMENT),
        (column.ty.kind == types::TypeKind::Timestamp, ColumnFlags::TIMESTAMP),
        (has_no_default, ColumnFlags::NO_DEFAULT_VALUE),
        (column.on_update_now.is_some(), ColumnFlags::ON_UPDATE_NOW),
    ];
    for (_, flag) in told.into_iter().filter(|(set, _)| *set) {
        flags = flags.with(flag);
    }
    ResultColumn {
        database: table.database.clone(),
        table: alias.to_owned(),
        original_table: table.name.clone(),
        name: column.name.clone(),
        original_name: column.name.clone(),
        ty: column.ty.clone(),
        flags,
    }
}

/// Whether a column of bytes takes the codes of text, which are not those of UTF-8.
pub fn takes_codes(column: &SqlType, text: &SqlType) -> bool {
    column.kind.is_binary() && text.kind.is_text() && !text.charset().is_utf8()
}

/// The value of a column's constant default; `None` for `CURRENT_TIMESTAMP`, expressions and columns without one.
pub fn constant_default(column: &ColumnDef) -> Option<Value> {
    let text = match column.default.as_ref() {
        None => return column.nullable.then_some(Value::Null),
        Some(ColumnDefault::Null) => return Some(Value::Null),
        Some(ColumnDefault::Literal(text)) => Value::str(text),
        Some(ColumnDefault::Bytes(bytes)) => Value::bytes(bytes),
        Some(ColumnDefault::Now(_) | ColumnDefault::Expression(_) | ColumnDefault::Dropped) => return None,
    };
    convert(text, &column.name, &column.ty, SqlMode::LENIENT).ok()
}

/// A value as a default of a column. A default depends on no session: its time zone is UTC and its moment the epoch.
pub fn convert(value: Value, column: &str, ty: &SqlType, mode: SqlMode) -> SqlResult<Value> {
    let mut warnings = Warnings::default();
    let mut context = cast::Context {
        mode,
        zone: &TimeZone::UTC,
        now: UnixTime { micros: 0, fsp: 6 },
        warnings: &mut warnings,
    };
    assign(value, ty, Target { column, row: 1 }, &mut context)
}
