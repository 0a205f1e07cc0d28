//! A table as plans use it: its definition and its rows, side by side.

use std::sync::{Arc, OnceLock};

use catalog::{IndexDef, Names, TableDef, same_name};
use types::{IndexId, KeyLayout, RowLayout, SqlType, TableId};

/// A table's definition with the store's table behind it.
pub struct Table {
    pub def: Arc<TableDef>,
    pub rows: Arc<store::Table>,
    /// Of the columns, once somebody looks for one among many.
    names: OnceLock<Names>,
}

/// So many names are compared one after another.
pub(crate) const NAMES_COMPARED: usize = 32;

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({}.{})", self.def.database, self.def.name)
    }
}

impl Table {
    pub fn new(def: Arc<TableDef>, rows: Arc<store::Table>) -> Table {
        let names = OnceLock::new();
        Table { def, rows, names }
    }

    /// The position of a column by name.
    pub fn column(&self, name: &str) -> Option<usize> {
        let columns = self.def.named_columns();
        let found = match columns.len() <= NAMES_COMPARED {
            true => self.def.column(name),
            false => {
                let named = || columns.iter().map(|column| column.name.as_str()).collect::<Names>();
                self.names.get_or_init(named).first(name)
            }
        };
        found.or_else(|| self.row_id_column().filter(|_| same_name(name, "_rowid")))
    }

    /// The column that `_rowid` means: a whole number that is the primary key, or else the first unique one without NULL.
    fn row_id_column(&self) -> Option<usize> {
        let is_key = |index: &&IndexDef| {
            let mut parts = index.parts.iter();
            index.is_unique() && parts.all(|part| !self.def.columns[part.column].nullable)
        };
        let mut indexes = self.def.indexes.iter();
        let key = self.def.primary().or_else(|| indexes.find(is_key))?;
        match key.parts.as_slice() {
            [part] if self.def.columns[part.column].ty.kind.is_integer() => Some(part.column),
            _ => None,
        }
    }

    pub fn id(&self) -> TableId {
        self.def.id
    }

    pub fn layout(&self) -> &RowLayout {
        self.rows.row_layout()
    }

    pub fn column_types(&self) -> impl Iterator<Item = &SqlType> {
        self.def.columns.iter().map(|column| &column.ty)
    }

    /// The index with this id; none for the hidden row id of a table without a primary key.
    pub fn index(&self, id: IndexId) -> Option<&IndexDef> {
        self.def.indexes.iter().find(|index| index.id == id)
    }

    /// The layout of an index's own columns; none for the hidden row id.
    pub fn key_layout(&self, id: IndexId) -> Option<&KeyLayout> {
        if id == IndexId::PRIMARY {
            self.rows.primary_layout()
        } else {
            self.rows.index_layout(id)
        }
    }

    /// The positions of an index's columns, in order.
    pub fn key_columns(&self, id: IndexId) -> Vec<usize> {
        self.index(id)
            .map(|index| index.parts.iter().map(|part| part.column).collect())
            .unwrap_or_default()
    }

    pub fn key_column_count(&self, id: IndexId) -> usize {
        self.index(id).map_or(0, |index| index.parts.len())
    }

    pub fn is_unique(&self, id: IndexId) -> bool {
        self.index(id).is_some_and(IndexDef::is_unique)
    }

    /// Appends the primary key of an encoded row. Only for tables that have one.
    pub fn primary_key(&self, row: &[u8], out: &mut Vec<u8>) {
        if let Some(layout) = self.rows.primary_layout() {
            layout.encode_row(self.layout(), row, out);
        }
    }
}

/// What the store has to know of a table.
pub fn store_spec(def: &TableDef) -> store::TableSpec {
    let key = |index: &IndexDef| {
        let parts = index.parts.iter().map(|part| store::KeyColumn {
            column: part.column as u16,
            prefix: part.prefix,
            descending: part.descending,
            elements: part.elements.clone(),
        });
        parts.collect::<Vec<_>>()
    };
    store::TableSpec {
        generations: Some(types::row::generation::Generations::default()),
        expiry: def.expiry(),
        id: def.id,
        columns: def.columns.iter().map(|column| column.ty.clone()).collect(),
        primary: def.primary().map(key),
        indexes: def.secondaries().iter().map(index_spec).collect(),
    }
}

/// What the store has to know of a secondary index.
pub fn index_spec(index: &IndexDef) -> store::IndexSpec {
    let key = index.parts.iter().map(|part| store::KeyColumn {
        column: part.column as u16,
        prefix: part.prefix,
        descending: part.descending,
        elements: part.elements.clone(),
    });
    store::IndexSpec {
        id: index.id,
        key: key.collect(),
        unique: index.is_unique(),
        text: index.text,
    }
}
