//! What the catalog knows of a table.

use serde::{Deserialize, Serialize};
use types::collation::CollationId;
use types::fulltext::TextRules;
use types::{IndexId, SqlType, TableId, Timestamp};

use super::{ForeignKeyDef, TriggerDef, TtlDef};

/// A table: its columns, its indexes, its options.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDef {
    pub id: TableId,
    pub database: String,
    pub name: String,
    pub columns: Vec<ColumnDef>,
    /// The primary key first, if the table has one; then in order of creation.
    pub indexes: Vec<IndexDef>,
    pub collation: CollationId,
    pub comment: String,
    /// The options that `SHOW CREATE TABLE` repeats and nothing else reads, as written: `ROW_FORMAT=DYNAMIC`.
    pub kept_options: Vec<String>,
    pub checks: Vec<CheckDef>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// Those of one timing and event in the order in which they fire.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerDef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<TtlDef>,
    /// Seconds since the epoch, for information_schema.
    pub created_at: i64,
    /// A snapshot older than this one does not see the table's rows as they were: it gets 1412.
    #[serde(default)]
    pub visible_from: Timestamp,
    /// The next index gets this id; ids are never reused within a table.
    pub next_index_id: u16,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnDef {
    pub name: String,
    pub ty: SqlType,
    pub nullable: bool,
    /// `None`: no DEFAULT clause. A nullable column without one has the default NULL.
    pub default: Option<ColumnDefault>,
    /// `ON UPDATE CURRENT_TIMESTAMP(fsp)`: the fraction's digits.
    pub on_update_now: Option<u8>,
    pub auto_increment: bool,
    pub generated: Option<GeneratedDef>,
    pub invisible: bool,
    pub comment: String,
    /// Keeps the values of a key part that is an expression, and has no name in SQL. Such columns come last, and are invisible, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// A DEFAULT clause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ColumnDefault {
    Null,
    /// The value's text, as it converts to the column's type.
    Literal(String),
    /// A binary value that is no text.
    Bytes(Vec<u8>),
    /// `CURRENT_TIMESTAMP(fsp)`.
    Now(u8),
    /// `(expr)`: SQL text in canonical form.
    Expression(String),
    /// None, not even NULL, though the column may be NULL: ALTER … DROP DEFAULT took it away.
    Dropped,
}

impl ColumnDef {
    /// Whether it is computed where it is read, and has no place in rows.
    pub fn is_virtual(&self) -> bool {
        let generated = self.generated.as_ref();
        generated.is_some_and(|generated| generated.kind == GeneratedKind::Virtual)
    }
}

/// `GENERATED ALWAYS AS (expr)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratedDef {
    /// SQL text in canonical form.
    pub expression: String,
    pub kind: GeneratedKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GeneratedKind {
    Virtual,
    Stored,
}

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckDef {
    pub name: String,
    /// SQL text in canonical form.
    pub expression: String,
    pub enforced: bool,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexDef {
    pub id: IndexId,
    /// `PRIMARY` for the primary key.
    pub name: String,
    pub parts: Vec<IndexPart>,
    pub kind: IndexKind,
    pub visible: bool,
    pub comment: String,
    /// Whether `USING BTREE` or `USING HASH` was written, which `SHOW CREATE TABLE` repeats. Every index is ordered.
    pub using: Option<String>,
    /// Made for a foreign key: goes when another index can take its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
    /// Of a full-text index: what its words are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRules>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndexKind {
    Primary,
    Unique,
    Plain,
    /// Of the words of its columns.
    FullText,
}

/// One column of an index.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexPart {
    /// Position in [`TableDef::columns`].
    pub column: usize,
    /// `c(10)`: the first ten characters (bytes for binary strings).
    pub prefix: Option<u32>,
    pub descending: bool,
    /// `CAST(… AS type ARRAY)`: the column has arrays of elements of this type, and a row has an entry for each of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<SqlType>,
}

impl TableDef {
    /// The primary key, if the table has one. Without one, rows are keyed by a hidden number.
    pub fn primary(&self) -> Option<&IndexDef> {
        self.indexes.first().filter(|index| index.kind == IndexKind::Primary)
    }

    /// What clients are told is the primary key: it, or the first unique key that tells all rows apart.
    pub fn shown_as_primary(&self) -> Option<&IndexDef> {
        let tells_apart = |index: &&IndexDef| {
            let is_whole = |part: &IndexPart| {
                let column = &self.columns[part.column];
                part.prefix.is_none() && !column.nullable && !column.is_virtual()
            };
            index.kind == IndexKind::Unique && index.parts.iter().all(is_whole)
        };
        self.primary().or_else(|| self.indexes.iter().find(tells_apart))
    }

    /// Puts the indexes in the order in which MySQL keeps them, and checks them: those that tell all rows apart come first.
    pub fn order_indexes(&mut self) {
        let columns = &self.columns;
        let has = |index: &IndexDef, is_such: &dyn Fn(&IndexPart) -> bool| index.parts.iter().any(is_such);
        self.indexes.sort_by_key(|index| match index.kind {
            IndexKind::Primary => (0, false, false, false),
            IndexKind::Unique => (
                1,
                has(index, &|part| columns[part.column].nullable),
                has(index, &|part| columns[part.column].is_virtual()),
                has(index, &|part| part.prefix.is_some()),
            ),
            IndexKind::Plain => (2, false, false, false),
            IndexKind::FullText => (3, false, false, false),
        });
    }

    /// Every index but the primary key.
    pub fn secondaries(&self) -> &[IndexDef] {
        match self.primary() {
            Some(_) => &self.indexes[1..],
            None => &self.indexes,
        }
    }

    /// The position of a column by name. Column names are case-insensitive; hidden columns have none.
    pub fn column(&self, name: &str) -> Option<usize> {
        let is_named = |column: &ColumnDef| !column.hidden && same_name(&column.name, name);
        self.columns.iter().position(is_named)
    }

    /// The columns that SQL can name, which come before the hidden ones.
    pub fn named_columns(&self) -> &[ColumnDef] {
        let hidden = self.columns.iter().rev().take_while(|column| column.hidden);
        &self.columns[..self.columns.len() - hidden.count()]
    }

    /// The index for whose key part a hidden column is.
    pub fn index_of_hidden(&self, column: usize) -> Option<&IndexDef> {
        let is_of = |index: &&IndexDef| index.parts.iter().any(|part| part.column == column);
        self.indexes.iter().find(is_of)
    }

    /// Whether a hidden column has the arrays of a multi-valued index.
    pub fn has_elements(&self, column: usize) -> bool {
        let mut parts = self.indexes.iter().flat_map(|index| &index.parts);
        parts.any(|part| part.column == column && part.elements.is_some())
    }

    pub fn index(&self, name: &str) -> Option<&IndexDef> {
        self.indexes.iter().find(|index| same_name(&index.name, name))
    }

    pub fn auto_increment(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.auto_increment)
    }
}

impl IndexDef {
    pub fn is_unique(&self) -> bool {
        match self.kind {
            IndexKind::Primary | IndexKind::Unique => true,
            IndexKind::Plain | IndexKind::FullText => false,
        }
    }

    /// Whether its keys are values of its columns, so that it finds rows by these and gives them in order.
    pub fn is_ordered(&self) -> bool {
        self.kind != IndexKind::FullText && !self.is_multi_valued()
    }

    /// Whether a row has an entry for each element of an array.
    pub fn is_multi_valued(&self) -> bool {
        self.parts.iter().any(|part| part.elements.is_some())
    }
}

/// Whether two column or index names are the same. MySQL compares them by the collation utf8mb3_general_ci;
/// this folds letter case, which agrees for all names that differ in more than accents.
pub fn same_name(a: &str, b: &str) -> bool {
    a == b || a.eq_ignore_ascii_case(b) || (!a.is_ascii() && a.to_lowercase() == b.to_lowercase())
}
