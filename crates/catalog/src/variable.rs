//! Global variables: those that outlast a restart, and those that all nodes of a cluster have in common while it runs.

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

/// The value that a global variable has on all nodes of a cluster, from when it was set until no node runs any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlobalVariable {
    pub set: PersistedVariable,
    /// It was persisted, and the cluster began with it.
    pub by_start: bool,
}
