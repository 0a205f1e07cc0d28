//! The tree of a parsed statement.
//!
//! The tree owns its text (no lifetimes), keeps what a statement *means* and drops how it was spelt: synonyms
//! are folded into one form (`SCHEMA`/`DATABASE`, `NOW()`/`CURRENT_TIMESTAMP`, `a -> '$.b'`/`JSON_EXTRACT(a, '$.b')`),
//! parentheses exist only as structure. Printing a tree (`Display`, see [`crate::printer`]) gives canonical SQL that
//! parses back to an equal tree.
//!
//! Two promises hold for every tree that came out of the parser:
//!
//! * its height is at most [`crate::MAX_DEPTH`], so plain recursion with small frames is safe on a statement's stack; what has large
//!   ones asks for each level (`governor::descend`);
//!   what statements in the wild make long (`AND`/`OR` chains, `IN` lists, `UNION`s) is flat, not deep;
//! * names are valid UTF-8; string literals are bytes as the client sent them, in its character set.

pub mod account;
pub mod admin;
pub mod data_type;
pub mod ddl;
pub mod dml;
pub mod expr;
pub mod program;
pub mod query;
pub mod set;
pub mod show;
pub mod stored;
pub mod table;
mod table_names;
pub mod transaction;
pub mod walk;

pub use account::*;
pub use admin::*;
pub use data_type::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use program::*;
pub use query::*;
pub use set::*;
pub use show::*;
pub use stored::*;
pub use table::*;
pub use transaction::*;
pub use walk::Part;

use std::fmt;
use std::ops::Deref;

/// One SQL statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    // Queries and changes of rows.
    /// `SELECT`, `VALUES ROW(..)`, `TABLE t`, unions of them, parenthesised or with `WITH` before.
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    LoadData(Box<LoadData>),
    Call(Box<Call>),
    /// `DO expr, ...`
    Do(Vec<SelectItem>),
    Handler(Box<Handler>),

    // Transactions and locks.
    Begin(Begin),
    Commit(EndTransaction),
    Rollback(EndTransaction),
    /// `ROLLBACK [WORK] TO [SAVEPOINT] name`
    RollbackTo(Ident),
    Savepoint(Ident),
    ReleaseSavepoint(Ident),
    SetTransaction(SetTransaction),
    LockTables(Vec<LockTable>),
    UnlockTables,
    LockInstanceForBackup,
    UnlockInstance,
    Xa(Box<Xa>),

    // Prepared statements by name.
    Prepare(Box<Prepare>),
    Execute(Box<Execute>),
    /// `DEALLOCATE PREPARE name` and `DROP PREPARE name`.
    Deallocate(Ident),

    // Session.
    /// `USE db`
    Use(Ident),
    /// `SET ...` of variables, `SET NAMES`, `SET CHARACTER SET`, in any mixture.
    Set(Vec<SetItem>),
    SetPassword(Box<SetPassword>),
    SetRole(SetRole),
    SetDefaultRole(Box<SetDefaultRole>),
    SetResourceGroup(Box<SetResourceGroup>),

    // Looking at things.
    Show(Box<Show>),
    Explain(Box<Explain>),
    /// `DESCRIBE t [column or 'pattern']`, also spelt `DESC t` and `EXPLAIN t`.
    Describe(Box<Describe>),
    /// `HELP 'topic'`
    Help(Box<str>),

    // Schema.
    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    DropDatabase(Box<DropDatabase>),
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTable(Box<DropTable>),
    RenameTable(Vec<RenameTable>),
    Truncate(TableName),
    CreateIndex(Box<CreateIndex>),
    DropIndex(Box<DropIndex>),
    CreateView(Box<CreateView>),
    DropView(Box<DropView>),
    CreateTrigger(Box<CreateTrigger>),
    CreateRoutine(Box<CreateRoutine>),
    AlterRoutine(Box<AlterRoutine>),
    CreateEvent(Box<CreateEvent>),
    AlterEvent(Box<AlterEvent>),
    /// `DROP TRIGGER`, `PROCEDURE`, `FUNCTION`, `EVENT`, `SERVER`, ...: what is dropped by one name.
    DropObject(Box<DropObject>),
    CreateLoadableFunction(Box<CreateLoadableFunction>),
    Tablespace(Box<Tablespace>),
    Server(Box<ServerStatement>),
    SpatialReferenceSystem(Box<SpatialReferenceSystem>),
    ResourceGroup(Box<ResourceGroup>),

    // Accounts.
    CreateUser(Box<CreateUser>),
    AlterUser(Box<AlterUser>),
    DropUser(Box<DropUser>),
    RenameUser(Vec<(Account, Account)>),
    CreateRole(Box<CreateRole>),
    DropRole(Box<DropRole>),
    Grant(Box<Grant>),
    Revoke(Box<Revoke>),

    // Administration.
    /// `ANALYZE`, `CHECK`, `CHECKSUM`, `OPTIMIZE`, `REPAIR TABLE`.
    TableMaintenance(Box<TableMaintenance>),
    Kill(Kill),
    Flush(Flush),
    Reset(Vec<ResetTarget>),
    /// `RESET PERSIST [[IF EXISTS] name]`
    ResetPersist {
        name: Option<Box<str>>,
        if_exists: bool,
    },
    Purge(Box<PurgeBinaryLogs>),
    CacheIndex(Box<CacheIndex>),
    LoadIndex(Box<LoadIndex>),
    InstallPlugin {
        name: Ident,
        library: Box<str>,
    },
    UninstallPlugin(Ident),
    InstallComponent(Vec<Box<str>>),
    UninstallComponent(Vec<Box<str>>),
    ImportTable(Vec<Box<str>>),
    Shutdown,
    Restart,
    Clone(Box<CloneStatement>),
    /// `ALTER INSTANCE ...`: the words after `INSTANCE`, upper case.
    AlterInstance(Box<str>),
    Binlog(Box<[u8]>),
    Replication(Box<Replication>),

    // Diagnostics; of use in stored programs, but allowed anywhere.
    Signal(Box<Signal>),
    /// `RESIGNAL`; the condition is optional.
    Resignal(Box<Signal>),
    GetDiagnostics(Box<GetDiagnostics>),
}

/// A name as written, without quotes; it derefs to `str` and prints as that. Within a statement it is quoted where it has
/// to be. Compare with [`Ident::is`] where MySQL ignores case.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ident(pub Box<str>);

impl Ident {
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Ident(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Equal to `name` when ASCII case is ignored.
    pub fn is(&self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }
}

impl Deref for Ident {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Ident {
    fn from(name: &str) -> Self {
        Ident(name.into())
    }
}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.0)
    }
}

/// `[schema.]name` of a table, view, trigger, routine or event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TableName {
    pub schema: Option<Ident>,
    pub name: Ident,
}

/// Name of anything that lives in a schema.
pub type ObjectName = TableName;

impl TableName {
    pub fn new(schema: Option<&str>, name: &str) -> Self {
        TableName {
            schema: schema.map(Ident::from),
            name: Ident::from(name),
        }
    }
}

/// `[[schema.]table.]column`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnName {
    pub schema: Option<Ident>,
    pub table: Option<Ident>,
    pub name: Ident,
}

impl ColumnName {
    pub fn bare(name: impl Into<Ident>) -> Self {
        ColumnName {
            schema: None,
            table: None,
            name: name.into(),
        }
    }
}

/// A piece of the statement as the client wrote it, kept because MySQL shows it (column headers). It is no part of
/// the meaning: any two are equal, so trees compare by structure alone.
#[derive(Clone, Default)]
pub struct SourceText(pub Option<Box<str>>);

impl PartialEq for SourceText {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for SourceText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
