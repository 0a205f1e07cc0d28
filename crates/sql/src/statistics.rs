//! How many statements of which kind a node has run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use StatementKind as Kind;

/// Statements that an operator would want to tell apart, as MySQL's `Com_` variables do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum StatementKind {
    Select,
    Insert,
    Replace,
    Update,
    Delete,
    /// `LOAD DATA`
    Load,
    Begin,
    Commit,
    Rollback,
    Savepoint,
    XaStart,
    XaEnd,
    XaPrepare,
    XaCommit,
    XaRollback,
    XaRecover,
    /// `SET` of variables and of the next transaction.
    Set,
    ChangeDatabase,
    /// `SHOW`, `DESCRIBE` and `EXPLAIN`.
    Show,
    /// By name; those of the protocol count as what they run.
    Prepare,
    Execute,
    CreateDatabase,
    AlterDatabase,
    DropDatabase,
    CreateTable,
    AlterTable,
    DropTable,
    RenameTable,
    Truncate,
    CreateIndex,
    DropIndex,
    LockTables,
    UnlockTables,
    Kill,
    /// `CREATE USER`, `GRANT` and the like.
    Account,
    Other,
}

impl StatementKind {
    /// Each with its name in the metrics, and the `Com_` variable that counts it where there is one.
    const NAMES: [(Kind, &str, Option<&str>); 36] = [
        (Kind::Select, "select", Some("Com_select")),
        (Kind::Insert, "insert", Some("Com_insert")),
        (Kind::Replace, "replace", Some("Com_replace")),
        (Kind::Update, "update", Some("Com_update")),
        (Kind::Delete, "delete", Some("Com_delete")),
        (Kind::Load, "load", Some("Com_load")),
        (Kind::Begin, "begin", Some("Com_begin")),
        (Kind::Commit, "commit", Some("Com_commit")),
        (Kind::Rollback, "rollback", Some("Com_rollback")),
        (Kind::Savepoint, "savepoint", Some("Com_savepoint")),
        (Kind::XaStart, "xa_start", Some("Com_xa_start")),
        (Kind::XaEnd, "xa_end", Some("Com_xa_end")),
        (Kind::XaPrepare, "xa_prepare", Some("Com_xa_prepare")),
        (Kind::XaCommit, "xa_commit", Some("Com_xa_commit")),
        (Kind::XaRollback, "xa_rollback", Some("Com_xa_rollback")),
        (Kind::XaRecover, "xa_recover", Some("Com_xa_recover")),
        (Kind::Set, "set", Some("Com_set_option")),
        (Kind::ChangeDatabase, "change_db", Some("Com_change_db")),
        (Kind::Show, "show", None),
        (Kind::Prepare, "prepare", Some("Com_prepare_sql")),
        (Kind::Execute, "execute", Some("Com_execute_sql")),
        (Kind::CreateDatabase, "create_db", Some("Com_create_db")),
        (Kind::AlterDatabase, "alter_db", Some("Com_alter_db")),
        (Kind::DropDatabase, "drop_db", Some("Com_drop_db")),
        (Kind::CreateTable, "create_table", Some("Com_create_table")),
        (Kind::AlterTable, "alter_table", Some("Com_alter_table")),
        (Kind::DropTable, "drop_table", Some("Com_drop_table")),
        (Kind::RenameTable, "rename_table", Some("Com_rename_table")),
        (Kind::Truncate, "truncate", Some("Com_truncate")),
        (Kind::CreateIndex, "create_index", Some("Com_create_index")),
        (Kind::DropIndex, "drop_index", Some("Com_drop_index")),
        (Kind::LockTables, "lock_tables", Some("Com_lock_tables")),
        (Kind::UnlockTables, "unlock_tables", Some("Com_unlock_tables")),
        (Kind::Kill, "kill", Some("Com_kill")),
        (Kind::Account, "account", None),
        (Kind::Other, "other", None),
    ];

    pub fn all() -> impl Iterator<Item = StatementKind> {
        Self::NAMES.iter().map(|&(kind, ..)| kind)
    }

    /// Whether MySQL counts it among the updates of an account (`MAX_UPDATES_PER_HOUR`).
    pub fn is_update(self) -> bool {
        match self {
            Kind::Select
            | Kind::Begin
            | Kind::Commit
            | Kind::Rollback
            | Kind::Savepoint
            | Kind::XaStart
            | Kind::XaEnd
            | Kind::XaPrepare
            | Kind::XaCommit
            | Kind::XaRollback
            | Kind::XaRecover
            | Kind::Set
            | Kind::ChangeDatabase
            | Kind::Show
            | Kind::Prepare
            | Kind::Execute
            | Kind::LockTables
            | Kind::UnlockTables
            | Kind::Kill
            | Kind::Other => false,
            Kind::Insert
            | Kind::Replace
            | Kind::Update
            | Kind::Delete
            | Kind::Load
            | Kind::CreateDatabase
            | Kind::AlterDatabase
            | Kind::DropDatabase
            | Kind::CreateTable
            | Kind::AlterTable
            | Kind::DropTable
            | Kind::RenameTable
            | Kind::Truncate
            | Kind::CreateIndex
            | Kind::DropIndex
            | Kind::Account => true,
        }
    }

    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].1
    }

    /// The status variable that counts it.
    pub fn variable(self) -> Option<&'static str> {
        Self::NAMES[self as usize].2
    }
}

/// Counts since the node started. Each kind has a cache line to itself: every core counts on every statement.
#[derive(Debug)]
pub struct Statistics {
    by_kind: [Count; StatementKind::NAMES.len()],
}

impl Default for Statistics {
    fn default() -> Statistics {
        Statistics {
            by_kind: std::array::from_fn(|_| Count::default()),
        }
    }
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicU64);

impl Statistics {
    pub(crate) fn count(&self, kind: StatementKind) {
        self.by_kind[kind as usize].0.fetch_add(1, Relaxed);
    }

    pub fn statements(&self, kind: StatementKind) -> u64 {
        self.by_kind[kind as usize].0.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_stands_at_its_own_place_in_the_table() {
        for (place, kind) in StatementKind::all().enumerate() {
            assert_eq!(kind as usize, place, "{kind:?}");
        }
    }
}
