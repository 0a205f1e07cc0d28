//! Foreign keys, as the catalog has them.
//!
//! The table that has the key, the child, keeps the definition. It names the parent and its columns, for the parent may be
//! missing (`foreign_key_checks = 0`) and come later, and may be made anew under its name. Which children a parent has is not
//! stored: [`ChildTables`] is put together from the definitions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use types::TableId;

use super::{IndexDef, TableDef, same_name};

/// `CONSTRAINT name FOREIGN KEY (columns) REFERENCES parent (parent_columns) …`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForeignKeyDef {
    /// Unique among the foreign keys of the database.
    pub name: String,
    pub columns: Vec<String>,
    pub parent_database: String,
    pub parent_table: String,
    /// As many as `columns`.
    pub parent_columns: Vec<String>,
    pub on_delete: ReferenceAction,
    pub on_update: ReferenceAction,
}

/// What happens to the rows that refer to one that goes, or changes its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReferenceAction {
    /// As `Restrict`: rows are checked one by one, not at the end of the statement.
    NoAction,
    Restrict,
    Cascade,
    SetNull,
}

impl ReferenceAction {
    /// In SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            ReferenceAction::NoAction => "NO ACTION",
            ReferenceAction::Restrict => "RESTRICT",
            ReferenceAction::Cascade => "CASCADE",
            ReferenceAction::SetNull => "SET NULL",
        }
    }

    /// Whether it lets the change of the parent happen, and changes the child.
    pub fn changes_child(self) -> bool {
        matches!(self, ReferenceAction::Cascade | ReferenceAction::SetNull)
    }
}

impl ForeignKeyDef {
    pub fn refers_to(&self, database: &str, table: &str) -> bool {
        self.parent_table == table && self.parent_database == database
    }

    /// Whether its actions change the child's columns; ON DELETE CASCADE removes rows only.
    pub fn changes_columns(&self) -> bool {
        self.on_update.changes_child() || self.on_delete == ReferenceAction::SetNull
    }

    pub fn uses_column(&self, name: &str) -> bool {
        self.columns.iter().any(|column| same_name(column, name))
    }
}

impl TableDef {
    pub fn foreign_key(&self, name: &str) -> Option<&ForeignKeyDef> {
        self.foreign_keys.iter().find(|key| same_name(&key.name, name))
    }

    /// The keys that refer to a table, this one or another.
    pub fn foreign_keys_to<'t>(
        &'t self,
        database: &'t str,
        table: &'t str,
    ) -> impl Iterator<Item = &'t ForeignKeyDef> + 't {
        self.foreign_keys
            .iter()
            .filter(move |key| key.refers_to(database, table))
    }

    /// The positions of named columns; `None` if one is missing.
    pub fn columns_named(&self, names: &[String]) -> Option<Vec<usize>> {
        names.iter().map(|name| self.column(name)).collect()
    }

    /// An index that begins with these columns, whole and in this order; a unique one over just them is preferred.
    pub fn index_beginning_with(&self, columns: &[usize]) -> Option<&IndexDef> {
        let begins = |index: &&IndexDef| {
            index.is_ordered()
                && index.parts.len() >= columns.len()
                && index
                    .parts
                    .iter()
                    .zip(columns)
                    .all(|(part, column)| part.column == *column && part.prefix.is_none())
        };
        let found = || self.indexes.iter().filter(begins);
        let exact = found().find(|index| index.is_unique() && index.parts.len() == columns.len());
        exact.or_else(|| found().next())
    }
}

/// For each table that is referred to, by database and name, the tables that have a foreign key to it. The parent need not exist.
#[derive(Debug, Clone, Default)]
pub(super) struct ChildTables(BTreeMap<String, BTreeMap<String, BTreeSet<TableId>>>);

impl ChildTables {
    pub(super) fn of(&self, database: &str, table: &str) -> Option<&BTreeSet<TableId>> {
        self.0.get(database)?.get(table)
    }

    pub(super) fn add(&mut self, child: &TableDef) {
        for key in &child.foreign_keys {
            let in_database = self.0.entry(key.parent_database.clone()).or_default();
            in_database
                .entry(key.parent_table.clone())
                .or_default()
                .insert(child.id);
        }
    }

    pub(super) fn remove(&mut self, child: &TableDef) {
        for key in &child.foreign_keys {
            let Some(in_database) = self.0.get_mut(&key.parent_database) else {
                continue;
            };
            let Some(children) = in_database.get_mut(&key.parent_table) else {
                continue;
            };
            children.remove(&child.id);
            if children.is_empty() {
                in_database.remove(&key.parent_table);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use types::collation::CollationId;

    use super::*;
    use crate::{Catalog, CatalogEdit, DatabaseDef};

    /// A table without foreign keys, as it was written before there were any.
    const TABLE: &str = r#"{"Table":{"id":100,"database":"d","name":"p","columns":[],"indexes":[{"id":1,"name":"i","parts":[],
        "kind":"Plain","visible":true,"comment":"","using":null}],"collation":COLLATION,"comment":"","kept_options":[],
        "checks":[],"created_at":0,"next_index_id":2}}"#;

    fn edit() -> CatalogEdit {
        let mut edit = CatalogEdit::new(Arc::new(Catalog::default()));
        edit.put_database(DatabaseDef {
            name: "d".into(),
            collation: CollationId::DEFAULT,
            read_only: false,
        });
        edit
    }

    fn old_table() -> TableDef {
        let collation = serde_json::to_string(&CollationId::DEFAULT).unwrap();
        let row = TABLE.replace("COLLATION", &collation);
        let mut catalog = edit().into_catalog();
        catalog.apply(b"t", Some(row.as_bytes()), types::Timestamp(1)).unwrap();
        TableDef::clone(catalog.table("d", "p").unwrap())
    }

    fn child(id: u32, name: &str, parents: &[&str]) -> TableDef {
        let key = |parent: &&str| ForeignKeyDef {
            name: format!("{name}_{parent}"),
            columns: vec!["a".into()],
            parent_database: "d".into(),
            parent_table: (*parent).into(),
            parent_columns: vec!["id".into()],
            on_delete: ReferenceAction::Cascade,
            on_update: ReferenceAction::NoAction,
        };
        TableDef {
            id: TableId(id),
            name: name.into(),
            foreign_keys: parents.iter().map(key).collect(),
            ..old_table()
        }
    }

    fn children(edit: &CatalogEdit, parent: &str) -> Vec<String> {
        let children = edit.catalog().children("d", parent);
        children.map(|child| child.name.clone()).collect()
    }

    #[test]
    fn catalogs_from_before_foreign_keys_are_read_and_written_as_they_were() {
        let table = old_table();
        assert!(table.foreign_keys.is_empty());
        assert!(!table.indexes[0].generated);
        let written = serde_json::to_string(&table).unwrap();
        assert!(
            !written.contains("foreign_keys") && !written.contains("generated"),
            "{written}"
        );
    }

    #[test]
    fn a_parent_knows_its_children_through_every_change() {
        let mut edit = edit();
        edit.put_table(child(101, "c", &["p", "q"]));
        edit.put_table(child(102, "e", &["p"]));
        assert_eq!(children(&edit, "p"), ["c", "e"]);
        assert_eq!(children(&edit, "q"), ["c"]);
        edit.put_table(child(101, "renamed", &["q"]));
        assert_eq!(children(&edit, "p"), ["e"]);
        assert_eq!(children(&edit, "q"), ["renamed"]);
        edit.remove_table(TableId(102));
        assert_eq!(children(&edit, "p"), Vec::<String>::new());
        edit.remove_database("d");
        assert_eq!(children(&edit, "q"), Vec::<String>::new());
    }

    #[test]
    fn a_catalog_read_again_has_the_same_keys() {
        let mut edit = edit();
        edit.put_table(child(101, "c", &["p"]));
        let rows = edit.rows().filter_map(|(key, row)| Some((key, row?)));
        let catalog = Catalog::from_rows(rows, types::Timestamp(1)).unwrap();
        assert_eq!(catalog.table("d", "c"), edit.catalog().table("d", "c"));
        assert_eq!(catalog.children("d", "p").count(), 1);
    }
}
