//! Stored procedures and functions, as the catalog has them.

use serde::{Deserialize, Serialize};
use types::collation::CollationId;

/// `CREATE PROCEDURE|FUNCTION name (parameters) …`. What is run is read from its text again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoutineDef {
    pub database: String,
    pub name: String,
    pub kind: RoutineKind,
    /// The list of parameters as it was written, without its parentheses.
    pub parameters: String,
    /// The type that a function returns, as SHOW CREATE FUNCTION prints it; empty of a procedure.
    pub returns: String,
    /// As it was written.
    pub body: String,
    pub characteristics: Characteristics,
    /// User and host.
    pub definer: (String, String),
    pub context: ProgramContext,
    /// Microseconds since 1970.
    pub created_at: i64,
    pub altered_at: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RoutineKind {
    Procedure,
    Function,
}

/// What ALTER PROCEDURE and ALTER FUNCTION change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Characteristics {
    pub deterministic: bool,
    pub data_access: DataAccess,
    /// Whether the definer's privileges count, not those of who calls it.
    pub definer_security: bool,
    pub comment: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DataAccess {
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

/// What a stored program was defined under, and is read and run under.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramContext {
    /// As `@@sql_mode` shows it.
    pub sql_mode: String,
    /// `collation_connection`
    pub connection: CollationId,
    /// The name of `character_set_client`.
    pub client_charset: String,
    /// Of its database.
    pub database: CollationId,
}

#[cfg(test)]
impl ProgramContext {
    pub(crate) fn plain() -> ProgramContext {
        ProgramContext {
            sql_mode: String::new(),
            connection: CollationId::DEFAULT,
            client_charset: "utf8mb4".into(),
            database: CollationId::DEFAULT,
        }
    }
}

impl RoutineKind {
    pub fn as_str(self) -> &'static str {
        match self {
            RoutineKind::Procedure => "PROCEDURE",
            RoutineKind::Function => "FUNCTION",
        }
    }
}

impl DataAccess {
    /// In SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            DataAccess::ContainsSql => "CONTAINS SQL",
            DataAccess::NoSql => "NO SQL",
            DataAccess::ReadsSqlData => "READS SQL DATA",
            DataAccess::ModifiesSqlData => "MODIFIES SQL DATA",
        }
    }
}

impl RoutineDef {
    /// Its place among the routines of its database: their names are the same in any case.
    pub(crate) fn place(kind: RoutineKind, name: &str) -> (RoutineKind, String) {
        (kind, name.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Catalog, CatalogEdit, DatabaseDef};

    fn routine(name: &str, kind: RoutineKind) -> RoutineDef {
        RoutineDef {
            database: "d".into(),
            name: name.into(),
            kind,
            parameters: "IN a INT".into(),
            returns: String::new(),
            body: "SELECT a".into(),
            characteristics: Characteristics {
                deterministic: false,
                data_access: DataAccess::ContainsSql,
                definer_security: true,
                comment: String::new(),
            },
            definer: ("root".into(), "localhost".into()),
            context: ProgramContext::plain(),
            created_at: 1,
            altered_at: 1,
        }
    }

    /// What a restart finds of the rows that an edit wrote.
    fn reread(edit: &CatalogEdit) -> Catalog {
        let rows = edit.rows().filter_map(|(key, row)| Some((key, row?)));
        Catalog::from_rows(rows, types::Timestamp(1)).unwrap()
    }

    #[test]
    fn routines_outlive_a_restart_and_go_with_their_database() {
        let mut edit = CatalogEdit::new(Arc::new(Catalog::default()));
        edit.put_database(DatabaseDef {
            name: "d".into(),
            collation: CollationId::DEFAULT,
            read_only: false,
        });
        edit.put_routine(routine("P", RoutineKind::Procedure));
        edit.put_routine(routine("p", RoutineKind::Function));
        edit.put_routine(routine("q", RoutineKind::Procedure));
        edit.remove_routine("d", RoutineKind::Procedure, "Q");
        let found = reread(&edit);
        let known = found.routine("d", RoutineKind::Procedure, "p").unwrap();
        assert_eq!(**known, routine("P", RoutineKind::Procedure));
        assert_eq!(found.routine("d", RoutineKind::Function, "P").unwrap().name, "p");
        assert!(found.routine("d", RoutineKind::Procedure, "q").is_none());
        // The log removes a row of the catalog that has it.
        let mut changed = found.clone();
        for (key, row) in edit.rows().filter(|(_, row)| row.is_none()) {
            changed.apply(key, row, types::Timestamp(2)).unwrap();
        }
        assert!(changed.routine("d", RoutineKind::Procedure, "p").is_some());
        edit.remove_database("d");
        assert!(edit.rows().all(|(_, row)| row.is_none()));
        assert!(reread(&edit).routine("d", RoutineKind::Procedure, "p").is_none());
    }

    #[test]
    fn a_routine_without_its_database_is_damage() {
        let mut edit = CatalogEdit::new(Arc::new(Catalog::default()));
        edit.put_routine(routine("p", RoutineKind::Procedure));
        let rows = edit.rows().filter_map(|(key, row)| Some((key, row?)));
        assert!(Catalog::from_rows(rows, types::Timestamp(1)).is_err());
    }
}
