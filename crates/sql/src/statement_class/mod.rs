//! What is decided by the kind of a statement, in one table.
//!
//! Functions without a default arm: [`class_of`] says who runs a statement, what it does to the open transaction and to locked
//! tables, and how it is counted; [`needs::needs`] says which privileges it asks for, [`in_programs`] whether it may stand in a
//! stored program. A new kind of statement does not compile before all know it. Everything that decides by kind asks here:
//!
//! | who | asks for |
//! |---|---|
//! | `session/answer.rs` | the counter, whether warnings are kept |
//! | `session/statement.rs` | implicit commit, the runner |
//! | `session/prepared.rs` | whether it may be prepared |
//! | `session/table_locks.rs` | what LOCK TABLES leaves to it |
//! | `accounts/checks.rs` | the privileges |
//! | `program/compile.rs` | whether stored programs may have it |

pub mod needs;
mod programs;

pub use programs::{InPrograms, in_programs};

use parser::ast::{self, Statement};

use crate::statistics::StatementKind as Kind;

/// The row of one kind of statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementClass {
    /// Its counter, in `Com_` variables and metrics.
    pub counted_as: Kind,
    pub runner: Runner,
    pub commit: ImplicitCommit,
    pub under_lock_tables: UnderLockTables,
    pub prepared: Prepared,
    pub read_only: InReadOnly,
    pub diagnostics: Diagnostics,
}

/// The module that runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runner {
    /// Planner and executor. The planner checks the privileges.
    Plan,
    /// BEGIN, COMMIT, savepoints, XA.
    Transaction,
    /// Variables, prepared statements by name, locked tables, HANDLER, KILL, diagnostics.
    Session,
    /// CALL, SIGNAL, RESIGNAL, GET DIAGNOSTICS.
    Programs,
    Show,
    Schema,
    Accounts,
    Maintenance,
    /// Not implemented: 1235 for whoever has the privileges.
    Nobody,
}

/// Whether the open transaction is committed before it, even if the statement fails (MySQL manual, "Statements That Cause an Implicit
/// Commit").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImplicitCommit {
    Never,
    Before,
}

/// While the session holds tables by LOCK TABLES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnderLockTables {
    Allowed,
    /// Each table must be among the locked ones: 1100 or 1099.
    ByTable,
    /// The accounts are never among the locked ones: 1100.
    ChangesAccounts,
    /// 1192
    Refused,
}

/// Whether PREPARE and COM_STMT_PREPARE take it; 1295 otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepared {
    Allowed,
    Refused,
}

/// In a transaction that is READ ONLY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InReadOnly {
    Allowed,
    /// A change of rows: 1792 unless the tables are temporary.
    ByPlan,
    /// 1792
    Refused,
    /// It ends the transaction first; 1792 where the session's next ones are READ ONLY, too.
    AfterCommit,
}

/// Whether the warnings of the statement before are still there afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diagnostics {
    Cleared,
    Kept,
}

#[cfg(test)]
macro_rules! kinds {
    ($($kind:ident)*) => {
        /// Every kind, by the name that it has in the tree.
        pub const KINDS: &[&str] = &[$(stringify!($kind)),*];

        /// The name of a statement's kind.
        pub fn kind_of(statement: &Statement) -> &'static str {
            match statement {
                $(Statement::$kind { .. } => stringify!($kind),)*
            }
        }
    };
}

#[cfg(test)]
kinds! {
    Query Insert Update Delete LoadData Call Do Handler
    Begin Commit Rollback RollbackTo Savepoint ReleaseSavepoint SetTransaction LockTables UnlockTables
    LockInstanceForBackup UnlockInstance Xa
    Prepare Execute Deallocate
    Use Set SetPassword SetRole SetDefaultRole SetResourceGroup
    Show Explain Describe Help
    CreateDatabase AlterDatabase DropDatabase CreateTable AlterTable DropTable RenameTable Truncate CreateIndex DropIndex
    CreateView DropView CreateTrigger CreateRoutine AlterRoutine CreateEvent AlterEvent DropObject
    CreateLoadableFunction Tablespace Server SpatialReferenceSystem ResourceGroup
    CreateUser AlterUser DropUser RenameUser CreateRole DropRole Grant Revoke
    TableMaintenance Kill Flush Reset ResetPersist Purge CacheIndex LoadIndex InstallPlugin UninstallPlugin
    InstallComponent UninstallComponent ImportTable Shutdown Restart Clone AlterInstance Binlog Replication
    Signal Resignal GetDiagnostics
}

/// A row with what most kinds have; the arms of [`class_of`] change the rest.
const fn row(counted_as: Kind, runner: Runner) -> StatementClass {
    StatementClass {
        counted_as,
        runner,
        commit: ImplicitCommit::Never,
        under_lock_tables: UnderLockTables::Allowed,
        prepared: Prepared::Allowed,
        read_only: InReadOnly::Allowed,
        diagnostics: Diagnostics::Cleared,
    }
}

impl StatementClass {
    const fn commits(self) -> StatementClass {
        StatementClass {
            commit: ImplicitCommit::Before,
            read_only: InReadOnly::AfterCommit,
            ..self
        }
    }

    const fn not_prepared(self) -> StatementClass {
        StatementClass {
            prepared: Prepared::Refused,
            ..self
        }
    }

    const fn under_locks(self, rule: UnderLockTables) -> StatementClass {
        StatementClass {
            under_lock_tables: rule,
            ..self
        }
    }

    const fn in_read_only(self, rule: InReadOnly) -> StatementClass {
        StatementClass {
            read_only: rule,
            ..self
        }
    }

    const fn keeps_diagnostics(self) -> StatementClass {
        StatementClass {
            diagnostics: Diagnostics::Kept,
            ..self
        }
    }
}

/// The table, by MySQL's manual and grammar. `tests/rights` has every kind, for comparing the answers with a MySQL server's.
pub fn class_of(statement: &Statement) -> StatementClass {
    use Runner as R;
    use UnderLockTables as Locks;
    let reads = |kind| row(kind, R::Plan).under_locks(Locks::ByTable);
    let changes = |kind| reads(kind).in_read_only(InReadOnly::ByPlan);
    let tables = |kind| row(kind, R::Schema).commits().under_locks(Locks::ByTable);
    let schema = |kind| row(kind, R::Schema).commits().under_locks(Locks::Refused);
    let temporary = |kind| row(kind, R::Schema).in_read_only(InReadOnly::Refused);
    let accounts = |kind| row(kind, R::Accounts).commits().under_locks(Locks::ChangesAccounts);
    let missing = || row(Kind::Other, R::Nobody);
    match statement {
        Statement::Query(_) => reads(Kind::Select),
        Statement::Insert(insert) => match insert.verb {
            ast::InsertVerb::Replace => changes(Kind::Replace),
            ast::InsertVerb::Insert => changes(Kind::Insert),
        },
        Statement::Update(_) => changes(Kind::Update),
        Statement::Delete(_) => changes(Kind::Delete),
        Statement::LoadData(_) => changes(Kind::Load).not_prepared(),
        Statement::Call(_) => row(Kind::Other, R::Programs),
        Statement::Do(_) => row(Kind::Other, R::Session),
        Statement::Handler(_) => row(Kind::Other, R::Session).under_locks(Locks::Refused).not_prepared(),

        Statement::Begin(_) => row(Kind::Begin, R::Transaction).not_prepared(),
        Statement::Commit(_) => row(Kind::Commit, R::Transaction),
        Statement::Rollback(_) => row(Kind::Rollback, R::Transaction),
        Statement::RollbackTo(_) => row(Kind::Rollback, R::Transaction).not_prepared(),
        Statement::Savepoint(_) => row(Kind::Savepoint, R::Transaction).not_prepared(),
        Statement::ReleaseSavepoint(_) => row(Kind::Other, R::Transaction).not_prepared(),
        Statement::SetTransaction(_) => row(Kind::Set, R::Transaction),
        Statement::LockTables(_) => row(Kind::LockTables, R::Session).not_prepared(),
        Statement::UnlockTables => row(Kind::UnlockTables, R::Session).not_prepared(),
        Statement::LockInstanceForBackup | Statement::UnlockInstance => missing().not_prepared(),
        Statement::Xa(xa) => {
            let kind = match **xa {
                ast::Xa::Start { .. } => Kind::XaStart,
                ast::Xa::End { .. } => Kind::XaEnd,
                ast::Xa::Prepare(_) => Kind::XaPrepare,
                ast::Xa::Commit { .. } => Kind::XaCommit,
                ast::Xa::Rollback(_) => Kind::XaRollback,
                ast::Xa::Recover { .. } => Kind::XaRecover,
            };
            row(kind, R::Transaction).not_prepared()
        }

        Statement::Prepare(_) => row(Kind::Prepare, R::Session).not_prepared(),
        Statement::Execute(_) => row(Kind::Execute, R::Session).not_prepared(),
        Statement::Deallocate(_) => row(Kind::Other, R::Session).not_prepared(),

        Statement::Use(_) => row(Kind::ChangeDatabase, R::Session).not_prepared(),
        Statement::Set(_) => row(Kind::Set, R::Session),
        Statement::SetPassword(_) => accounts(Kind::Account),
        Statement::SetRole(_) => row(Kind::Other, R::Session),
        Statement::SetDefaultRole(_) => accounts(Kind::Account),
        Statement::SetResourceGroup(_) => missing(),

        Statement::Show(show) => {
            let row = row(Kind::Show, R::Show);
            match **show {
                ast::Show::Warnings { .. }
                | ast::Show::Errors { .. }
                | ast::Show::WarningCount
                | ast::Show::ErrorCount => row.keeps_diagnostics(),
                _ => row,
            }
        }
        Statement::Explain(explain) if matches!(explain.target, ast::ExplainTarget::Connection(_)) => {
            row(Kind::Show, R::Show).not_prepared()
        }
        Statement::Explain(_) | Statement::Describe(_) => row(Kind::Show, R::Show),
        Statement::Help(_) => row(Kind::Show, R::Show).not_prepared(),

        Statement::CreateDatabase(_) => schema(Kind::CreateDatabase),
        Statement::AlterDatabase(_) => schema(Kind::AlterDatabase).not_prepared(),
        Statement::DropDatabase(_) => schema(Kind::DropDatabase),
        Statement::CreateTable(create) if create.temporary => temporary(Kind::CreateTable),
        Statement::CreateTable(_) => tables(Kind::CreateTable),
        Statement::AlterTable(_) => tables(Kind::AlterTable),
        Statement::DropTable(drop) if drop.temporary => temporary(Kind::DropTable),
        Statement::DropTable(_) => tables(Kind::DropTable),
        Statement::RenameTable(_) => tables(Kind::RenameTable),
        Statement::Truncate(_) => tables(Kind::Truncate),
        Statement::CreateIndex(_) => tables(Kind::CreateIndex),
        Statement::DropIndex(_) => tables(Kind::DropIndex),
        Statement::CreateView(_) | Statement::DropView(_) => schema(Kind::Other),
        Statement::CreateTrigger(_) | Statement::CreateRoutine(_) | Statement::AlterRoutine(_) => {
            schema(Kind::Other).not_prepared()
        }
        Statement::CreateEvent(_) | Statement::AlterEvent(_) => schema(Kind::Other),
        Statement::DropObject(drop) if drop.kind == ast::DropKind::Event => schema(Kind::Other),
        Statement::DropObject(_) => schema(Kind::Other).not_prepared(),
        Statement::CreateLoadableFunction(_)
        | Statement::Tablespace(_)
        | Statement::Server(_)
        | Statement::SpatialReferenceSystem(_)
        | Statement::ResourceGroup(_) => missing().commits().not_prepared(),

        Statement::CreateUser(_)
        | Statement::AlterUser(_)
        | Statement::DropUser(_)
        | Statement::RenameUser(_)
        | Statement::Grant(_)
        | Statement::Revoke(_) => accounts(Kind::Account),
        Statement::CreateRole(_) | Statement::DropRole(_) => accounts(Kind::Account).not_prepared(),

        Statement::TableMaintenance(maintenance) => {
            let row = row(Kind::Other, R::Maintenance);
            match maintenance.action {
                ast::MaintenanceAction::Checksum(_) => row,
                ast::MaintenanceAction::Check(_) => row.commits().not_prepared(),
                ast::MaintenanceAction::Analyze
                | ast::MaintenanceAction::UpdateHistogram { .. }
                | ast::MaintenanceAction::DropHistogram { .. }
                | ast::MaintenanceAction::Optimize
                | ast::MaintenanceAction::Repair(_) => row.commits(),
            }
        }
        Statement::Kill(_) => row(Kind::Kill, R::Session),
        Statement::Flush(flush) => {
            let row = row(Kind::Other, R::Maintenance);
            match &flush.what {
                // Locks and commits in its own order.
                ast::FlushWhat::Tables { .. } => row,
                ast::FlushWhat::Targets(_) => row.commits(),
            }
        }
        Statement::Reset(_) => missing().commits().under_locks(Locks::Refused),
        Statement::ResetPersist { .. } => row(Kind::Other, R::Session),
        Statement::Purge(_) => missing().not_prepared(),
        Statement::CacheIndex(_) | Statement::LoadIndex(_) => missing().commits(),
        Statement::InstallPlugin { .. } | Statement::UninstallPlugin(_) => missing().commits(),
        Statement::InstallComponent(_) | Statement::UninstallComponent(_) | Statement::ImportTable(_) => {
            missing().commits().not_prepared()
        }
        Statement::Shutdown => missing().not_prepared(),
        Statement::Restart => missing().not_prepared(),
        Statement::Clone(_) => missing().commits().not_prepared(),
        Statement::AlterInstance(_) => missing().commits(),
        Statement::Binlog(_) => missing(),
        Statement::Replication(_) => missing().commits(),

        // They raise a condition beside those that are there.
        Statement::Signal(_) => row(Kind::Other, R::Programs).not_prepared(),
        Statement::Resignal(_) => row(Kind::Other, R::Programs).not_prepared().keeps_diagnostics(),
        Statement::GetDiagnostics(_) => row(Kind::Other, R::Programs).not_prepared().keeps_diagnostics(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATEMENTS: &str = include_str!("../../../../tests/rights/statements.txt");

    /// The matrix's statements: what each line says of its kind, and the statement.
    fn matrix() -> impl Iterator<Item = (&'static str, &'static str, Statement)> {
        let lines = STATEMENTS.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '!']));
        lines.map(|line| {
            let (kind, text) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            // Numbers of connections are known when they are there.
            let numbered: String = text
                .split('{')
                .map(|piece| {
                    piece
                        .split_once('}')
                        .map_or(piece.into(), |(_, rest)| format!("1{rest}"))
                })
                .collect();
            let parsed = parser::parse(numbered.as_bytes(), parser::SqlMode::default());
            let parsed = parsed.unwrap_or_else(|error| panic!("{text}: {error}"));
            (kind, text, parsed.statement)
        })
    }

    /// The matrix of statements and privileges has every kind, each under its name.
    #[test]
    fn every_kind_is_in_the_matrix() {
        let mut seen = std::collections::HashSet::new();
        for (kind, text, statement) in matrix() {
            // Where the rows count as well, the line says so in the place of the kind.
            let own = kind_of(&statement);
            assert!(own == kind || kind == "Shown", "{text} is {own}");
            seen.insert(own);
        }
        let missing: Vec<_> = KINDS.iter().filter(|kind| !seen.contains(*kind)).collect();
        assert!(missing.is_empty(), "no statement of {missing:?}");
    }

    /// What may change something outside of the session says what it needs, or is known to need nothing.
    #[test]
    fn statements_without_needs_are_known() {
        let free = [
            "Query",
            "Insert",
            "Update",
            "Delete",
            "Do",
            // Where it is opened, and each time it reads.
            "Handler",
            "Begin",
            "Commit",
            "Rollback",
            "RollbackTo",
            "Savepoint",
            "ReleaseSavepoint",
            "SetTransaction",
            "UnlockTables",
            "Xa",
            "Prepare",
            "Execute",
            "Deallocate",
            "SetRole",
            "Show",
            "Explain",
            "Help",
            "CreateTable",
            "DropTable",
            "Grant",
            "Revoke",
            "Kill",
            "ResetPersist",
            "Signal",
            "Resignal",
            "GetDiagnostics",
        ];
        for (_, text, statement) in matrix() {
            let kind = kind_of(&statement);
            assert!(
                !needs::needs(&statement).is_empty() || free.contains(&kind),
                "{text} asks for nothing"
            );
        }
    }
}
