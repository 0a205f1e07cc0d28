//! Global variables that outlast a restart.

use serde::{Deserialize, Serialize};

/// What `SET PERSIST` or `SET PERSIST_ONLY` has given to a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersistedVariable {
    /// In lower case.
    pub name: String,
    /// As `SHOW VARIABLES` prints it.
    pub value: String,
    /// Microseconds since 1970.
    pub set_at: i64,
    /// Who set it, and from where.
    pub user: String,
    pub host: String,
}
