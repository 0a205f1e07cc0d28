//! A result's columns as they go over the wire, encoded once per plan.

use std::borrow::Cow;
use std::sync::OnceLock;

use mysql_wire::Output;
use mysql_wire::column::{ColumnDefinition, ColumnType, DefaultValue};
use sql_api::result::{ResultColumn, ResultShape};
use types::{CharsetId, CollationId, SqlType, TypeKind};

/// How many different `character_set_results` of its users a plan keeps its columns encoded for.
const KEPT_ENCODINGS: usize = 3;

/// What a connection wants text in: `character_set_results`, by the number of a collation; `None` for "as stored".
pub type ResultsCollation = Option<u16>;

/// The encodings kept beside a [`ResultShape`].
#[derive(Default)]
struct Encodings([OnceLock<(ResultsCollation, Vec<u8>)>; KEPT_ENCODINGS]);

/// Appends the column definitions of a result set.
pub fn write_definitions(output: &mut Output, shape: &ResultShape, collation: ResultsCollation) {
    let encodings = shape.wire(|_| Encodings::default());
    for slot in &encodings.0 {
        let (kept_for, packets) = slot.get_or_init(|| (collation, encode(&shape.columns, collation)));
        if *kept_for == collation {
            output.framed(packets);
            return;
        }
    }
    output.framed(&encode(&shape.columns, collation));
}

/// Appends the answer to COM_FIELD_LIST: definitions that end with a default value.
pub fn write_field_list(output: &mut Output, shape: &ResultShape, collation: ResultsCollation) {
    for column in &shape.columns {
        let names = Names::of(column, collation);
        let definition = ColumnDefinition {
            default: Some(DefaultValue::Null),
            ..definition(column, &names, collation)
        };
        output.packet(|out| definition.encode(out));
    }
}

/// Appends the definitions of a prepared statement's parameters, about which nothing is known.
pub fn write_parameters(output: &mut Output, count: usize) {
    let parameter = ColumnDefinition {
        schema: b"",
        table: b"",
        org_table: b"",
        name: b"?",
        org_name: b"",
        collation: CollationId::BINARY as u16,
        length: 0,
        ty: ColumnType::VarString,
        flags: mysql_wire::column::flag::BINARY,
        decimals: 0,
        default: None,
    };
    for _ in 0..count {
        output.packet(|out| parameter.encode(out));
    }
}

fn encode(columns: &[ResultColumn], collation: ResultsCollation) -> Vec<u8> {
    let mut output = Output::new(Vec::new());
    for column in columns {
        let names = Names::of(column, collation);
        output.packet(|out| definition(column, &names, collation).encode(out));
    }
    output.into_bytes()
}

/// A column's names in the client's character set.
struct Names<'a> {
    schema: Cow<'a, [u8]>,
    table: Cow<'a, [u8]>,
    org_table: Cow<'a, [u8]>,
    name: Cow<'a, [u8]>,
    org_name: Cow<'a, [u8]>,
}

impl Names<'_> {
    fn of(column: &ResultColumn, results: ResultsCollation) -> Names<'_> {
        let charset = results.map_or(CharsetId::UTF8MB4, charset_of);
        Names {
            schema: charset.encode(&column.database),
            table: charset.encode(&column.table),
            org_table: charset.encode(&column.original_table),
            name: charset.encode(&column.name),
            org_name: charset.encode(&column.original_name),
        }
    }
}

fn definition<'a>(column: &ResultColumn, names: &'a Names<'_>, results: ResultsCollation) -> ColumnDefinition<'a> {
    let ty = &column.ty;
    let (collation, bytes_per_char) = wire_collation(ty, results);
    ColumnDefinition {
        schema: &names.schema,
        table: &names.table,
        org_table: &names.org_table,
        name: &names.name,
        org_name: &names.org_name,
        collation,
        length: ty.display_length(bytes_per_char),
        ty: column_type(ty),
        flags: ty.protocol_flags() | column.flags.0,
        decimals: ty.decimals,
        default: None,
    }
}

pub fn column_type(ty: &SqlType) -> ColumnType {
    ColumnType::from_code(ty.protocol_type()).unwrap_or(ColumnType::VarString)
}

/// The collation number that a column is announced with, and the bytes that a character takes then.
fn wire_collation(ty: &SqlType, results: ResultsCollation) -> (u16, u32) {
    let is_text = ty.kind.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
    if !is_text || ty.collation == CollationId::BINARY {
        return (CollationId::BINARY as u16, 1);
    }
    let number = results.unwrap_or(ty.collation as u16);
    (number, charset_of(number).max_bytes_per_char())
}

/// A message in the client's character set; a character that it lacks is shown by its number.
pub fn message_in(text: &str, results: ResultsCollation) -> Cow<'_, [u8]> {
    let charset = results.map_or(CharsetId::UTF8MB4, charset_of);
    if charset.first_foreign(text).is_none() {
        return charset.encode(text);
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c) {
            _ if charset.contains(c) => shown.push(c),
            code @ 0..=0xFFFF => shown.push_str(&format!("\\{code:04X}")),
            code => shown.push_str(&format!("\\+{code:06X}")),
        }
    }
    Cow::Owned(charset.encode(&shown).into_owned())
}

/// The character set of a collation's number; unknown ones stand for the server's default.
pub fn charset_of(collation: u16) -> CharsetId {
    CollationId::try_from(collation).map_or(CharsetId::UTF8MB4, CollationId::charset)
}
