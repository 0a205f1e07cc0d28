//! Views, as the catalog has them.

use serde::{Deserialize, Serialize};
use types::collation::CollationId;

/// `CREATE VIEW name (columns) AS query`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ViewDef {
    pub database: String,
    pub name: String,
    /// Names of its columns, as many as the query has.
    pub columns: Vec<String>,
    /// Whether the definition named them: `SHOW CREATE VIEW` repeats that.
    pub names_columns: bool,
    /// SQL text in canonical form: tables with their databases, columns with their tables, no `*`.
    pub query: String,
    pub algorithm: ViewAlgorithm,
    /// User and host.
    pub definer: (String, String),
    pub security: ViewSecurity,
    pub check: Option<ViewCheck>,
    /// Its rows are rows of a join: it can be a part of the query that names it. Otherwise it is computed by itself.
    pub mergeable: bool,
    /// Of the connection that defined it.
    pub collation: CollationId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

/// Whose privileges count for the tables below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewSecurity {
    Definer,
    Invoker,
}

/// `WITH … CHECK OPTION`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ViewCheck {
    Cascaded,
    Local,
}

impl ViewDef {
    /// Whether its rows are those of its tables, so that it can be merged into a query, and changed.
    pub fn is_changeable(&self) -> bool {
        self.mergeable && self.algorithm != ViewAlgorithm::TempTable
    }
}

impl ViewAlgorithm {
    /// In SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        }
    }
}

impl ViewSecurity {
    /// In SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            ViewSecurity::Definer => "DEFINER",
            ViewSecurity::Invoker => "INVOKER",
        }
    }
}

impl ViewCheck {
    /// In SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            ViewCheck::Cascaded => "CASCADED",
            ViewCheck::Local => "LOCAL",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Catalog, CatalogEdit, DatabaseDef};

    fn view(name: &str) -> ViewDef {
        ViewDef {
            database: "d".into(),
            name: name.into(),
            columns: vec!["a".into()],
            names_columns: false,
            query: "SELECT 1 AS `a`".into(),
            algorithm: ViewAlgorithm::Undefined,
            definer: ("root".into(), "localhost".into()),
            security: ViewSecurity::Definer,
            check: None,
            mergeable: false,
            collation: CollationId::DEFAULT,
        }
    }

    /// What a restart finds of the rows that an edit wrote.
    fn reread(edit: &CatalogEdit) -> Catalog {
        let rows = edit.rows().filter_map(|(key, row)| Some((key, row?)));
        Catalog::from_rows(rows, types::Timestamp(1)).unwrap()
    }

    #[test]
    fn views_outlive_a_restart_and_go_with_their_database() {
        let mut edit = CatalogEdit::new(Arc::new(Catalog::default()));
        edit.put_database(DatabaseDef {
            name: "d".into(),
            collation: CollationId::DEFAULT,
            read_only: false,
        });
        edit.put_view(view("v"));
        edit.put_view(view("w"));
        edit.remove_view("d", "w");
        let found = reread(&edit);
        assert_eq!(**found.view("d", "v").unwrap(), view("v"));
        assert!(found.is_taken("d", "v") && !found.is_taken("d", "w"));
        edit.remove_database("d");
        assert!(edit.rows().all(|(_, row)| row.is_none()));
        assert!(reread(&edit).view("d", "v").is_none());
    }

    #[test]
    fn a_view_without_its_database_is_damage() {
        let mut edit = CatalogEdit::new(Arc::new(Catalog::default()));
        edit.put_view(view("v"));
        let rows = edit.rows().filter_map(|(key, row)| Some((key, row?)));
        assert!(Catalog::from_rows(rows, types::Timestamp(1)).is_err());
    }
}
