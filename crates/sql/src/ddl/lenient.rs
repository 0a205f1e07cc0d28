//! What a definition asks for and cannot have: an error, or, without strict mode, less than it asks for and a warning.

use parser::ast::{self, DataType, TypeName};
use types::{ErrorKind, SqlError, SqlResult, SqlType, Warnings};

use crate::expr::sql_mode::SqlMode;

/// Whether a definition gets less than it asks for, and what it got less.
#[derive(Debug, Default)]
pub struct Lenience {
    is_lenient: bool,
    /// Whether an engine that there is not is an error, and not replaced by InnoDB.
    wants_the_engine: bool,
    pub warnings: Warnings,
}

impl Lenience {
    pub fn under(mode: SqlMode) -> Lenience {
        Lenience {
            is_lenient: !mode.is_strict(),
            wants_the_engine: mode.has(SqlMode::NO_ENGINE_SUBSTITUTION),
            warnings: Warnings::default(),
        }
    }

    /// The error, or a warning of it.
    pub fn forgive(&mut self, error: SqlError) -> SqlResult<()> {
        if !self.is_lenient {
            return Err(error);
        }
        self.warnings.warn(error);
        Ok(())
    }

    /// `ENGINE = name` of a table that is made: all engines that MySQL has are this one. 1286 of others, or a warning of it and 1266.
    pub fn engine(&mut self, name: &str, table: &str) -> SqlResult<()> {
        if is_engine(name) {
            return Ok(());
        }
        let unknown = SqlError::new(ErrorKind::UnknownStorageEngine, &[&name]);
        if self.wants_the_engine {
            return Err(unknown);
        }
        self.warnings.warn(unknown);
        self.warnings
            .warn(SqlError::new(ErrorKind::WarnUsingOtherHandler, &[&"InnoDB", &table]));
        Ok(())
    }

    /// As much of a comment as may be kept; `too_long` is the error.
    pub fn comment(&mut self, written: &str, most: usize, too_long: impl FnOnce() -> SqlError) -> SqlResult<String> {
        match written.char_indices().nth(most) {
            None => Ok(written.to_owned()),
            Some((end, _)) => {
                self.forgive(too_long())?;
                Ok(written[..end].to_owned())
            }
        }
    }

    /// The type of a column: a VARCHAR that is too long becomes a TEXT. `column_type` makes one of what is written.
    pub fn column_type(
        &mut self,
        name: &str,
        written: &DataType,
        column_type: impl Fn(&DataType) -> SqlResult<SqlType>,
    ) -> SqlResult<SqlType> {
        let (from, into, lob) = match written.name {
            TypeName::VarChar => ("VARCHAR", "TEXT", TypeName::Text),
            TypeName::VarBinary => ("VARBINARY", "BLOB", TypeName::Blob),
            _ => return column_type(written),
        };
        match column_type(written) {
            Err(error) if self.is_lenient && error.kind() == ErrorKind::TooBigFieldLength => {
                let names: [&dyn std::fmt::Display; 3] = [&name, &from, &into];
                self.warnings.note(SqlError::new(ErrorKind::AutoConvert, &names));
                column_type(&DataType {
                    name: lob,
                    ..written.clone()
                })
            }
            result => result,
        }
    }

    /// Whether a TEXT, BLOB or JSON does without the default that is written: the empty string.
    pub fn drops_default(&mut self, name: &str, written: &ast::ColumnDefault) -> bool {
        let is_empty = match written {
            ast::ColumnDefault::Literal {
                value: ast::Literal::String(text),
                ..
            } => text.is_empty(),
            _ => false,
        };
        if !is_empty || !self.is_lenient {
            return false;
        }
        self.warnings
            .warn(SqlError::new(ErrorKind::BlobCantHaveDefault, &[&name]));
        true
    }
}

/// The engines of MySQL beside InnoDB, as SHOW ENGINES names them.
const OTHER_ENGINES: [&str; 9] = [
    "ARCHIVE",
    "BLACKHOLE",
    "CSV",
    "FEDERATED",
    "MEMORY",
    "MRG_MYISAM",
    "MyISAM",
    "NDBCLUSTER",
    "PERFORMANCE_SCHEMA",
];

/// What else they may be called.
const ENGINE_ALIASES: [&str; 4] = ["DEFAULT", "HEAP", "MERGE", "NDB"];

/// Whether MySQL has an engine of this name.
pub fn is_engine(name: &str) -> bool {
    let is = |engine: &&str| name.eq_ignore_ascii_case(engine);
    is(&"InnoDB") || OTHER_ENGINES.iter().chain(&ENGINE_ALIASES).any(is)
}
