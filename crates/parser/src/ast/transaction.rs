//! Transactions, table locks, XA, prepared statements by name.

use super::{Expr, Ident, TableName, VarScope};

/// `BEGIN [WORK]` and `START TRANSACTION ...`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Begin {
    /// `WITH CONSISTENT SNAPSHOT`
    pub consistent_snapshot: bool,
    pub access: Option<AccessMode>,
    /// `AS OF TIMESTAMP moment`, behind READ ONLY.
    pub as_of: Option<Box<Expr>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessMode {
    ReadOnly,
    ReadWrite,
}

/// `[AND [NO] CHAIN] [[NO] RELEASE]`; None when not written (then `completion_type` decides).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndTransaction {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

/// `SET [scope] TRANSACTION ...`
#[derive(Debug, Clone, PartialEq)]
pub struct SetTransaction {
    /// None: for the next transaction only.
    pub scope: Option<VarScope>,
    pub isolation: Option<IsolationLevel>,
    pub access: Option<AccessMode>,
    /// As of [`Begin`].
    pub as_of: Option<Box<Expr>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// One element of `LOCK TABLES`.
#[derive(Debug, Clone, PartialEq)]
pub struct LockTable {
    pub table: TableName,
    pub alias: Option<Ident>,
    pub mode: TableLockMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableLockMode {
    Read,
    ReadLocal,
    /// `LOW_PRIORITY` before it is accepted and means nothing.
    Write,
}

/// Parts of an XA transaction's name.
#[derive(Debug, Clone, PartialEq)]
pub struct Xid {
    pub gtrid: Box<[u8]>,
    pub bqual: Option<Box<[u8]>>,
    pub format_id: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Xa {
    /// `XA START|BEGIN xid [JOIN|RESUME]`
    Start {
        xid: Xid,
        join: Option<XaJoin>,
    },
    /// `XA END xid [SUSPEND [FOR MIGRATE]]`
    End {
        xid: Xid,
        suspend: Option<XaSuspend>,
    },
    Prepare(Xid),
    Commit {
        xid: Xid,
        one_phase: bool,
    },
    Rollback(Xid),
    Recover {
        convert_xid: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XaJoin {
    Join,
    Resume,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XaSuspend {
    Suspend,
    ForMigrate,
}

/// `PREPARE name FROM 'text' | @var`
#[derive(Debug, Clone, PartialEq)]
pub struct Prepare {
    pub name: Ident,
    pub source: PrepareSource,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PrepareSource {
    Text(Box<[u8]>),
    /// `@name`
    UserVar(Ident),
}

/// `EXECUTE name [USING @a, @b]`
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    pub name: Ident,
    /// Names of user variables.
    pub using: Vec<Ident>,
}

/// `SIGNAL` and `RESIGNAL`.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    pub condition: Option<SignalCondition>,
    /// `SET item = value, ...`: item names upper case (`MESSAGE_TEXT`, `MYSQL_ERRNO`, ...).
    pub items: Vec<(Box<str>, Expr)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SignalCondition {
    /// `SQLSTATE [VALUE] 'state'`
    SqlState(Box<str>),
    Name(Ident),
}

/// `GET [CURRENT|STACKED] DIAGNOSTICS ...`
#[derive(Debug, Clone, PartialEq)]
pub struct GetDiagnostics {
    pub stacked: bool,
    /// `CONDITION n`; None asks for statement information.
    pub condition: Option<Expr>,
    /// (target, item name upper case)
    pub items: Vec<(super::IntoVar, Box<str>)>,
}
