//! How many statements of which kind a node has run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parser::ast::Statement;

/// Statements that an operator would want to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum StatementKind {
    Select,
    Insert,
    Update,
    Delete,
    Begin,
    Commit,
    Rollback,
    Set,
    Show,
    /// `CREATE`, `ALTER`, `DROP` and the like, of databases, tables and indexes.
    Definition,
    Account,
    Other,
}

impl StatementKind {
    pub const ALL: [StatementKind; 12] = [
        StatementKind::Select,
        StatementKind::Insert,
        StatementKind::Update,
        StatementKind::Delete,
        StatementKind::Begin,
        StatementKind::Commit,
        StatementKind::Rollback,
        StatementKind::Set,
        StatementKind::Show,
        StatementKind::Definition,
        StatementKind::Account,
        StatementKind::Other,
    ];

    pub fn of(statement: &Statement) -> StatementKind {
        match statement {
            Statement::Query(_) => StatementKind::Select,
            Statement::Insert(_) | Statement::LoadData(_) => StatementKind::Insert,
            Statement::Update(_) => StatementKind::Update,
            Statement::Delete(_) => StatementKind::Delete,
            Statement::Begin(_) => StatementKind::Begin,
            Statement::Commit(_) => StatementKind::Commit,
            Statement::Rollback(_) | Statement::RollbackTo(_) => StatementKind::Rollback,
            Statement::Set(_) | Statement::SetTransaction(_) => StatementKind::Set,
            Statement::Show(_) | Statement::Describe(_) | Statement::Explain(_) => StatementKind::Show,
            Statement::CreateDatabase(_)
            | Statement::AlterDatabase(_)
            | Statement::DropDatabase(_)
            | Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::DropTable(_)
            | Statement::RenameTable(_)
            | Statement::Truncate(_)
            | Statement::CreateIndex(_)
            | Statement::DropIndex(_) => StatementKind::Definition,
            Statement::CreateUser(_)
            | Statement::AlterUser(_)
            | Statement::DropUser(_)
            | Statement::RenameUser(_)
            | Statement::SetPassword(_)
            | Statement::Grant(_)
            | Statement::Revoke(_) => StatementKind::Account,
            _ => StatementKind::Other,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            StatementKind::Select => "select",
            StatementKind::Insert => "insert",
            StatementKind::Update => "update",
            StatementKind::Delete => "delete",
            StatementKind::Begin => "begin",
            StatementKind::Commit => "commit",
            StatementKind::Rollback => "rollback",
            StatementKind::Set => "set",
            StatementKind::Show => "show",
            StatementKind::Definition => "definition",
            StatementKind::Account => "account",
            StatementKind::Other => "other",
        }
    }
}

/// Counts since the node started. Each kind has a cache line to itself: every core counts on every statement.
#[derive(Debug, Default)]
pub struct Statistics {
    by_kind: [Count; StatementKind::ALL.len()],
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicU64);

impl Statistics {
    pub(crate) fn count(&self, statement: &Statement) {
        self.by_kind[StatementKind::of(statement) as usize]
            .0
            .fetch_add(1, Relaxed);
    }

    pub fn statements(&self, kind: StatementKind) -> u64 {
        self.by_kind[kind as usize].0.load(Relaxed)
    }
}
