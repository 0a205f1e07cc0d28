//! Names of character sets and collations in SQL.

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
