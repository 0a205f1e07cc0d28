//! What may stand in stored programs (MySQL manual, "Restrictions on Stored Programs").

use parser::ast::{self, Statement};

/// Of a kind of statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPrograms {
    Allowed,
    /// 1314, under this name.
    Refused(&'static str),
    /// 1303: it would define a program of this kind.
    Creates(&'static str),
    /// 1357: it would change or drop a program of this kind.
    Changes(&'static str),
    /// Of a function or a trigger: 1415.
    ReturnsRows,
    /// Of a function or a trigger: 1422.
    Commits,
    /// Of a function or a trigger: 1336, under this name.
    NotInStatements(&'static str),
}

pub fn in_programs(statement: &Statement) -> InPrograms {
    use InPrograms as I;
    match statement {
        Statement::Query(query) => match query.into {
            Some(_) => I::Allowed,
            None => I::ReturnsRows,
        },
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => I::Allowed,
        Statement::LoadData(_) => I::Refused("LOAD DATA"),
        Statement::Call(_) | Statement::Do(_) => I::Allowed,
        Statement::Handler(_) => I::Refused("HANDLER"),

        Statement::Begin(_) | Statement::Commit(_) | Statement::Rollback(_) => I::Commits,
        Statement::RollbackTo(_) | Statement::Savepoint(_) | Statement::ReleaseSavepoint(_) => I::Allowed,
        Statement::SetTransaction(_) => I::Allowed,
        Statement::LockTables(_) => I::Refused("LOCK"),
        Statement::UnlockTables => I::Refused("UNLOCK"),
        Statement::LockInstanceForBackup => I::Refused("LOCK"),
        Statement::UnlockInstance => I::Refused("UNLOCK"),
        Statement::Xa(_) => I::Commits,

        Statement::Prepare(_) | Statement::Execute(_) | Statement::Deallocate(_) => I::NotInStatements("Dynamic SQL"),

        Statement::Use(_) => I::Refused("USE"),
        Statement::Set(_) | Statement::SetRole(_) | Statement::SetResourceGroup(_) => I::Allowed,
        Statement::SetPassword(_) | Statement::SetDefaultRole(_) => I::Commits,

        Statement::Show(_) | Statement::Explain(_) | Statement::Describe(_) | Statement::Help(_) => I::ReturnsRows,

        Statement::CreateDatabase(_)
        | Statement::AlterDatabase(_)
        | Statement::DropDatabase(_)
        | Statement::AlterTable(_)
        | Statement::RenameTable(_)
        | Statement::Truncate(_)
        | Statement::CreateIndex(_)
        | Statement::DropIndex(_)
        | Statement::DropView(_) => I::Commits,
        Statement::CreateTable(create) if create.temporary => I::Allowed,
        Statement::CreateTable(_) => I::Commits,
        Statement::DropTable(drop) if drop.temporary => I::Allowed,
        Statement::DropTable(_) => I::Commits,
        Statement::CreateView(view) => match view.action {
            ast::ViewAction::Alter => I::Refused("ALTER VIEW"),
            ast::ViewAction::Create | ast::ViewAction::CreateOrReplace => I::Commits,
        },
        Statement::CreateTrigger(_) => I::Creates("TRIGGER"),
        Statement::CreateRoutine(create) => match create.kind {
            ast::RoutineKind::Procedure => I::Creates("PROCEDURE"),
            ast::RoutineKind::Function => I::Creates("FUNCTION"),
        },
        Statement::CreateEvent(_) => I::Creates("EVENT"),
        Statement::AlterRoutine(alter) => match alter.kind {
            ast::RoutineKind::Procedure => I::Changes("PROCEDURE"),
            ast::RoutineKind::Function => I::Changes("FUNCTION"),
        },
        Statement::AlterEvent(_) => I::Commits,
        Statement::DropObject(drop) => match drop.kind {
            ast::DropKind::Procedure => I::Changes("PROCEDURE"),
            ast::DropKind::Function => I::Changes("FUNCTION"),
            ast::DropKind::Trigger | ast::DropKind::Event => I::Commits,
        },
        Statement::CreateLoadableFunction(_)
        | Statement::Tablespace(_)
        | Statement::Server(_)
        | Statement::SpatialReferenceSystem(_)
        | Statement::ResourceGroup(_) => I::Commits,

        Statement::CreateUser(_)
        | Statement::AlterUser(_)
        | Statement::DropUser(_)
        | Statement::RenameUser(_)
        | Statement::CreateRole(_)
        | Statement::DropRole(_)
        | Statement::Grant(_)
        | Statement::Revoke(_) => I::Commits,

        Statement::TableMaintenance(_) => I::ReturnsRows,
        Statement::Kill(_) => I::Allowed,
        Statement::Flush(_) => I::NotInStatements("FLUSH"),
        Statement::Reset(_) => I::NotInStatements("RESET"),
        Statement::ResetPersist { .. } => I::Allowed,
        Statement::Purge(_) | Statement::CacheIndex(_) | Statement::LoadIndex(_) => I::Commits,
        Statement::InstallPlugin { .. }
        | Statement::UninstallPlugin(_)
        | Statement::InstallComponent(_)
        | Statement::UninstallComponent(_)
        | Statement::ImportTable(_)
        | Statement::Shutdown
        | Statement::Restart
        | Statement::Clone(_)
        | Statement::AlterInstance(_)
        | Statement::Binlog(_)
        | Statement::Replication(_) => I::Commits,

        Statement::Signal(_) | Statement::Resignal(_) | Statement::GetDiagnostics(_) => I::Allowed,
    }
}
