//! `FULLTEXT KEY k (a, b) [WITH PARSER ngram]`: an index of the words of its columns.

use catalog::{ColumnDef, IndexKind, IndexPart, TableDef};
use parser::ast;
use types::fulltext::TextRules;
use types::{ErrorKind, SqlError, SqlResult};

/// What the words of a new index are. 1128 for a parser that there is not.
pub(super) fn rules(kind: IndexKind, options: &ast::KeyOptions) -> SqlResult<Option<TextRules>> {
    if kind != IndexKind::FullText {
        return Ok(None);
    }
    match options.parser.as_deref() {
        None => Ok(Some(TextRules::WORDS)),
        Some(parser) if parser.eq_ignore_ascii_case("ngram") => Ok(Some(TextRules::NGRAM)),
        Some(parser) => Err(SqlError::new(ErrorKind::CantFindUdf, &[&parser])),
    }
}

/// The columns of a new index: it is one of whole columns, whatever lengths are written. 1221 for an order.
pub(super) fn fit_parts(parts: &mut [IndexPart]) -> SqlResult<()> {
    for part in parts {
        part.prefix = None;
        if part.descending {
            let usage: [&dyn std::fmt::Display; 2] = [&"spatial/fulltext/hash index", &"explicit index order"];
            return Err(SqlError::new(ErrorKind::WrongUsage, &usage));
        }
    }
    Ok(())
}

/// 1283 for a column that is not of text, 3106 for one that is not stored.
pub(super) fn check_column(column: &ColumnDef) -> SqlResult<()> {
    if !column.ty.kind.is_text() {
        return Err(no_part(column));
    }
    match column.is_virtual() {
        true => {
            let what = "Fulltext index on virtual generated column";
            Err(SqlError::new(ErrorKind::UnsupportedActionOnGeneratedColumn, &[&what]))
        }
        false => Ok(()),
    }
}

/// 1283 for a column of another collation than the first one's.
pub(super) fn check_columns(def: &TableDef, parts: &[IndexPart]) -> SqlResult<()> {
    let mut columns = parts.iter().map(|part| &def.columns[part.column]);
    let first = columns.next().map(|column| column.ty.collation);
    match columns.find(|column| Some(column.ty.collation) != first) {
        Some(other) => Err(no_part(other)),
        None => Ok(()),
    }
}

fn no_part(column: &ColumnDef) -> SqlError {
    SqlError::new(ErrorKind::BadFtColumn, &[&column.name])
}

/// 1796: a temporary table has none, as in MySQL.
pub(super) fn check_temporary(def: &TableDef) -> SqlResult<()> {
    match def.indexes.iter().any(|index| index.kind == IndexKind::FullText) {
        true => Err(ErrorKind::InnodbNoFtTempTable.into()),
        false => Ok(()),
    }
}
