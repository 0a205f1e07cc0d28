//! What the store has to know of a table: the columns' types and the columns of each index. It travels in the log and in
//! checkpoints, as JSON: definitions are few, and fields can be added.

use serde::{Deserialize, Serialize};
use types::elements::{ElementKeys, is_element_type};
use types::fulltext::{TextKeys, TextRules};
use types::row::generation::{ColumnChange, Generations};
use types::{Expiry, IndexId, KeyLayout, KeyPart, RowLayout, SqlType, TableId, TypeKind};

use crate::keys::IndexKeys;

/// A table as the store sees it; names, defaults and constraints belong to the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    pub id: TableId,
    pub columns: Vec<SqlType>,
    /// `None`: rows are stored under a hidden row id, 8 bytes big-endian, chosen by the transaction.
    pub primary: Option<Vec<KeyColumn>>,
    pub indexes: Vec<IndexSpec>,
    /// What columns there were before; `None` for a table whose rows do not say of which generation they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generations: Option<Generations>,
    /// When rows expire; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
}

/// A secondary index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IndexSpec {
    /// Unique within the table, never [`IndexId::PRIMARY`].
    pub id: IndexId,
    pub key: Vec<KeyColumn>,
    /// Only informs: transactions check uniqueness before they commit, with locks on the keys.
    pub unique: bool,
    /// Of a full-text index: a row has an entry for each of its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRules>,
}

/// A column of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyColumn {
    /// Position in [`TableSpec::columns`].
    pub column: u16,
    /// Characters (bytes of binary strings) that count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<u32>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub descending: bool,
    /// Of a multi-valued index: the column has arrays of elements of this type, and a row has an entry for each of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<SqlType>,
}

impl KeyColumn {
    pub fn ascending(column: u16) -> KeyColumn {
        KeyColumn {
            column,
            prefix: None,
            descending: false,
            elements: None,
        }
    }
}

impl TableSpec {
    pub fn row_layout(&self) -> RowLayout {
        RowLayout::of_generations(&self.columns, self.generations.as_ref())
    }

    pub fn primary_layout(&self) -> Option<KeyLayout> {
        self.primary.as_ref().map(|key| self.key_layout(key))
    }

    /// How an index's entries are made of rows.
    pub(crate) fn index_keys(&self, index: &IndexSpec) -> IndexKeys {
        match index.text {
            None => {
                let layout = self.key_layout(&index.key);
                match index.key.iter().position(|part| part.elements.is_some()) {
                    None => IndexKeys::Columns(layout),
                    Some(part) => IndexKeys::Elements(ElementKeys::new(layout, part)),
                }
            }
            Some(rules) => {
                let columns = index.key.iter().map(|part| usize::from(part.column)).collect();
                let first = &self.columns[usize::from(index.key[0].column)];
                IndexKeys::Words(TextKeys::new(rules, columns, first.collation))
            }
        }
    }

    pub fn index(&self, id: IndexId) -> Option<&IndexSpec> {
        self.indexes.iter().find(|index| index.id == id)
    }

    fn key_layout(&self, key: &[KeyColumn]) -> KeyLayout {
        let part = |key: &KeyColumn| KeyPart {
            column: usize::from(key.column),
            ty: match &key.elements {
                None => self.columns[usize::from(key.column)].clone(),
                Some(element) => element.clone(),
            },
            prefix: key.prefix,
            descending: key.descending,
        };
        KeyLayout::new(key.iter().map(part).collect())
    }

    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a table specification has no map keys that JSON lacks")
    }

    /// Reads what [`encode`](Self::encode) wrote; [`check`](Self::check) says whether it makes sense.
    pub fn decode(bytes: &[u8]) -> Result<TableSpec, &'static str> {
        serde_json::from_slice(bytes).map_err(|_| "unreadable table specification")
    }

    /// The table with other columns over the same rows, if these and the keys can stay as they are.
    pub fn with_columns(&self, change: &ColumnChange) -> Result<TableSpec, &'static str> {
        let generations = change.apply(&self.columns, self.generations.as_ref())?;
        let moved = |key: &[KeyColumn]| {
            let part = |part: &KeyColumn| {
                change
                    .moved(part.column)
                    .map(|column| KeyColumn { column, ..part.clone() })
            };
            let parts: Option<Vec<_>> = key.iter().map(part).collect();
            parts.ok_or("an index over a column that is dropped")
        };
        let index = |index: &IndexSpec| -> Result<IndexSpec, &'static str> {
            Ok(IndexSpec {
                key: moved(&index.key)?,
                ..index.clone()
            })
        };
        let expiry = |rule: Expiry| match change.moved(rule.column) {
            Some(column) => Ok(Expiry { column, ..rule }),
            None => Err("rows that expire by a column that is dropped"),
        };
        Ok(TableSpec {
            id: self.id,
            columns: change.columns.clone(),
            primary: self.primary.as_deref().map(moved).transpose()?,
            indexes: self.indexes.iter().map(index).collect::<Result<_, _>>()?,
            generations,
            expiry: self.expiry.map(expiry).transpose()?,
        })
    }

    /// Whether the indexes are over columns that there are, and have ids of their own.
    pub fn check(&self) -> Result<(), &'static str> {
        if let Some(generations) = &self.generations {
            generations.check(&self.columns)?;
        }
        if let Some(rule) = &self.expiry {
            let column = self.columns.get(usize::from(rule.column));
            if !column.is_some_and(Expiry::is_of) {
                return Err("rows that expire by a column that tells no moment");
            }
        }
        if let Some(key) = &self.primary {
            self.check_key(key)?;
            if key.iter().any(|part| part.elements.is_some()) {
                return Err("a primary key of elements");
            }
        }
        for (position, index) in self.indexes.iter().enumerate() {
            self.check_index(index)?;
            self.check_index_id(index.id, &self.indexes[..position])?;
        }
        Ok(())
    }

    /// Whether `index` can be added to this table.
    pub fn check_new_index(&self, index: &IndexSpec) -> Result<(), &'static str> {
        self.check_index(index)?;
        self.check_index_id(index.id, &self.indexes)
    }

    fn check_index(&self, index: &IndexSpec) -> Result<(), &'static str> {
        self.check_key(&index.key)?;
        self.check_elements(index)?;
        let Some(rules) = index.text else { return Ok(()) };
        rules.check()?;
        let column = |part: &KeyColumn| &self.columns[usize::from(part.column)];
        let first = column(&index.key[0]);
        let is_of_text = |part: &KeyColumn| {
            let ty = column(part);
            let is_whole = part.prefix.is_none() && !part.descending;
            is_whole && ty.kind.is_text() && ty.collation == first.collation
        };
        match !index.unique && index.key.iter().all(is_of_text) {
            true => Ok(()),
            false => Err("a full-text index over what is not text"),
        }
    }

    fn check_elements(&self, index: &IndexSpec) -> Result<(), &'static str> {
        let mut parts = index.key.iter().filter(|part| part.elements.is_some());
        let (Some(part), others) = (parts.next(), parts.next()) else {
            return Ok(());
        };
        let is_array = self.columns[usize::from(part.column)].kind == TypeKind::Json;
        let is_whole = part.prefix.is_none() && !part.descending;
        let is_type = part.elements.as_ref().is_some_and(is_element_type);
        match is_array && is_whole && is_type && others.is_none() && index.text.is_none() {
            true => Ok(()),
            false => Err("an index over elements of what is no array"),
        }
    }

    fn check_key(&self, key: &[KeyColumn]) -> Result<(), &'static str> {
        if key.is_empty() {
            return Err("index without columns");
        }
        match key.iter().all(|part| usize::from(part.column) < self.columns.len()) {
            true => Ok(()),
            false => Err("index over a column that does not exist"),
        }
    }

    fn check_index_id(&self, id: IndexId, others: &[IndexSpec]) -> Result<(), &'static str> {
        match id == IndexId::PRIMARY || others.iter().any(|other| other.id == id) {
            true => Err("index id used twice"),
            false => Ok(()),
        }
    }
}

impl IndexSpec {
    pub fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an index specification has no map keys that JSON lacks")
    }

    pub fn decode(bytes: &[u8]) -> Result<IndexSpec, &'static str> {
        serde_json::from_slice(bytes).map_err(|_| "unreadable index specification")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As logs and checkpoints have it from before rows expired.
    #[test]
    fn a_table_from_before_is_read_and_written_as_it_was() {
        let old = TableSpec {
            id: TableId(100),
            columns: vec![SqlType::int().not_null(), SqlType::datetime(3)],
            primary: Some(vec![KeyColumn::ascending(0)]),
            indexes: Vec::new(),
            generations: None,
            expiry: None,
        };
        let written = String::from_utf8(old.encode()).unwrap();
        assert!(!written.contains("expiry"), "{written}");
        assert_eq!(TableSpec::decode(written.as_bytes()), Ok(old.clone()));
        let expiry = Some(Expiry {
            column: 1,
            months: 0,
            micros: 5,
        });
        let new = TableSpec { expiry, ..old };
        let written = String::from_utf8(new.encode()).unwrap();
        assert!(written.contains(r#""expiry":{"column":1,"micros":5}"#), "{written}");
        assert_eq!(TableSpec::decode(written.as_bytes()), Ok(new.clone()));
        let of_int = TableSpec {
            expiry: new.expiry.map(|rule| Expiry { column: 0, ..rule }),
            ..new
        };
        assert!(of_int.check().is_err());
    }
}
