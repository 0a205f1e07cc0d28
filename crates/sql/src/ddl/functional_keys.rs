//! Key parts that are expressions.
//!
//! ```text
//!   KEY k ((a + 1))   ->   `!hidden!k!0!0` BIGINT AS (a + 1) VIRTUAL, which SQL cannot name, and KEY k (that column)
//! ```
//!
//! One that is `CAST(… AS type ARRAY)` makes the index multi-valued: its column has arrays, and the key their elements.
//!
//! The column is made when the key is ([`TableBuilder::functional_part`]); its type is that of the expression, which is bound when the
//! whole table is known ([`super::expressions`]). It goes with its index.

use catalog::{ColumnDef, GeneratedDef, GeneratedKind, IndexKind, IndexPart, TableDef};
use parser::ast::{self, KeyKind};
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind};

use super::create_as::stored_type;
use super::table_def::{TableBuilder, check_key_bytes};
use crate::expr::element_type;

/// The name of an index that has none, and begins with an expression.
pub(super) const FUNCTIONAL_INDEX: &str = "functional_index";

impl TableBuilder {
    /// Adds a key that has an expression among its parts. 3756, 3759, 3760 for a key that cannot have any.
    pub(super) fn add_functional_key(&mut self, key: &ast::KeyDef) -> SqlResult<()> {
        let kind = match key.kind {
            KeyKind::Unique => IndexKind::Unique,
            KeyKind::Index => IndexKind::Plain,
            KeyKind::Primary => return Err(ErrorKind::FunctionalIndexPrimaryKey.into()),
            KeyKind::FullText => return Err(ErrorKind::FulltextFunctionalIndex.into()),
            KeyKind::Spatial => return Err(ErrorKind::SpatialFunctionalIndex.into()),
        };
        let before = self.def.columns.len();
        let parts = key.parts.iter().map(|part| self.key_part(part));
        let parts = parts.collect::<SqlResult<Vec<_>>>()?;
        if parts.iter().filter(|part| part.elements.is_some()).count() > 1 {
            return Err(SqlError::not_supported("more than one multi-valued key part per index"));
        }
        let name = key.name.as_deref().or(key.constraint.as_deref());
        self.add_index(kind, name, parts, &key.options)?;
        let index = self.def.indexes.last().expect("an index was added");
        for (at, part) in index.parts.iter().enumerate() {
            if part.column >= before {
                self.def.columns[part.column].name = format!("!hidden!{}!{at}!0", index.name);
            }
        }
        Ok(())
    }

    /// A column for an expression. 3762 for one that is a column already.
    pub(super) fn functional_part(&mut self, expr: &ast::Expr, descending: bool) -> SqlResult<IndexPart> {
        if matches!(expr, ast::Expr::Column(_)) {
            return Err(ErrorKind::FunctionalIndexOnField.into());
        }
        let elements = match expr {
            ast::Expr::Cast(cast) if cast.array => Some(element_type(cast)?),
            _ => None,
        };
        if elements.is_some() && descending {
            let usage: [&dyn std::fmt::Display; 2] = [&"multi-valued index", &"explicit index order"];
            return Err(SqlError::new(ErrorKind::WrongUsage, &usage));
        }
        self.def.columns.push(ColumnDef {
            name: String::new(),
            ty: SqlType::null(),
            nullable: true,
            default: None,
            on_update_now: None,
            auto_increment: false,
            generated: Some(GeneratedDef {
                expression: expr.to_string(),
                kind: GeneratedKind::Virtual,
            }),
            invisible: true,
            comment: String::new(),
            hidden: true,
        });
        Ok(IndexPart {
            column: self.def.columns.len() - 1,
            prefix: None,
            descending,
            elements,
        })
    }
}

/// The type of a hidden column: 3753 for a document, 3757 for long text, 1071 for what is too long for a key.
pub(super) fn type_of_hidden(ty: &SqlType) -> SqlResult<SqlType> {
    let ty = SqlType {
        nullable: true,
        ..stored_type(ty)
    };
    let is_string = ty.kind.is_text() || ty.kind.is_binary();
    match ty.kind {
        TypeKind::Json => return Err(ErrorKind::FunctionalIndexOnJson.into()),
        // Longer strings of an expression are TEXT to MySQL.
        kind if kind.is_lob() || is_string && ty.length > 512 => return Err(ErrorKind::FunctionalIndexOnLob.into()),
        _ => check_key_bytes(&ty, None)?,
    }
    Ok(ty)
}

/// Hidden columns whose index is gone, the last one first.
pub(super) fn unused_hidden(def: &TableDef) -> Vec<usize> {
    let columns = def.columns.iter().enumerate().rev();
    let unused = columns.filter(|(at, column)| column.hidden && def.index_of_hidden(*at).is_none());
    unused.map(|(at, _)| at).collect()
}
