//! Names in SQL: of character sets and collations, and of tables that are missing.

use catalog::Catalog;
use types::charset::CharsetId;
use types::collation::CollationId;
use types::{ErrorKind, SqlError, SqlResult};

/// The character set of a name, or error 1115.
pub fn charset_by_name(name: &str) -> SqlResult<CharsetId> {
    CharsetId::by_name(name).ok_or_else(|| SqlError::new(ErrorKind::UnknownCharacterSet, &[&name]))
}

/// The collation of a name, or error 1273.
pub fn collation_by_name(name: &str) -> SqlResult<CollationId> {
    CollationId::by_name(name).ok_or_else(|| SqlError::new(ErrorKind::UnknownCollation, &[&name]))
}

/// Why a name leads to no table: 1049 where its database is missing, 1146 where only the table is.
pub fn missing_table(catalog: &Catalog, database: &str, table: &str) -> SqlError {
    if catalog.database(database).is_none() {
        return SqlError::new(ErrorKind::BadDb, &[&database]);
    }
    SqlError::new(ErrorKind::NoSuchTable, &[&database, &table])
}
