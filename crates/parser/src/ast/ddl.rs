//! Databases, tables, indexes, and the rarer things CREATE and ALTER know.

use super::{
    CheckConstraint, ColumnDef, ColumnDefault, DropBehavior, Expr, Ident, KeyDef, KeyOptions, OnDuplicateRow,
    OrderItem, PartitionDef, Partitioning, Query, TableElement, TableName, TableOption,
};

#[derive(Debug, Clone, PartialEq)]
pub struct CreateDatabase {
    pub if_not_exists: bool,
    pub name: Ident,
    pub options: Vec<DatabaseOption>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterDatabase {
    /// None is the current database.
    pub name: Option<Ident>,
    pub options: Vec<DatabaseOption>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DatabaseOption {
    /// Lower case; None is `DEFAULT`.
    Charset(Option<Ident>),
    /// None is `DEFAULT`.
    Collate(Option<Ident>),
    /// `'Y'` or `'N'`
    Encryption(Box<str>),
    /// `READ ONLY = DEFAULT|0|1`; ALTER only.
    ReadOnly(Option<bool>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropDatabase {
    pub if_exists: bool,
    pub name: Ident,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub temporary: bool,
    pub if_not_exists: bool,
    pub name: TableName,
    pub body: CreateTableBody,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CreateTableBody {
    /// `LIKE other`
    Like(TableName),
    /// Elements, options, partitions, query; at least elements or a query.
    Definition(Box<TableDefinition>),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableDefinition {
    pub elements: Vec<TableElement>,
    pub options: Vec<TableOption>,
    pub partitioning: Option<Partitioning>,
    /// `IGNORE` or `REPLACE` before the query.
    pub duplicates: Option<OnDuplicateRow>,
    /// `[AS] SELECT ...`
    pub query: Option<Query>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropTable {
    pub temporary: bool,
    pub if_exists: bool,
    pub names: Vec<TableName>,
    pub behavior: Option<DropBehavior>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RenameTable {
    pub from: TableName,
    pub to: TableName,
}

/// `CREATE [UNIQUE|FULLTEXT|SPATIAL] INDEX name ON t (...)`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    pub table: TableName,
    /// `name` is present, `constraint` never.
    pub key: KeyDef,
    pub online: AlterOnline,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropIndex {
    pub table: TableName,
    pub name: Ident,
    pub online: AlterOnline,
}

/// `ALGORITHM = ..` and `LOCK = ..`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AlterOnline {
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlterAlgorithm {
    Default,
    Instant,
    InPlace,
    Copy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlterLock {
    Default,
    None,
    Shared,
    Exclusive,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub table: TableName,
    /// In the order of the text; ALGORITHM, LOCK and VALIDATION are in fields of their own. May be empty.
    pub actions: Vec<AlterAction>,
    pub online: AlterOnline,
    /// `WITH VALIDATION` is Some(true), `WITHOUT VALIDATION` Some(false).
    pub validation: Option<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// `ADD [COLUMN] def [FIRST|AFTER c]`
    AddColumn {
        column: Box<ColumnDef>,
        position: Option<ColumnPosition>,
    },
    /// `ADD [COLUMN] (elements)`
    AddElements(Vec<TableElement>),
    /// `ADD` of a key, foreign key or check; never a column.
    AddConstraint(TableElement),
    /// `CHANGE [COLUMN] old def [position]`
    ChangeColumn {
        old: Ident,
        column: Box<ColumnDef>,
        position: Option<ColumnPosition>,
    },
    /// `MODIFY [COLUMN] def [position]`
    ModifyColumn {
        column: Box<ColumnDef>,
        position: Option<ColumnPosition>,
    },
    /// `ALTER [COLUMN] c SET DEFAULT ..`
    SetDefault {
        column: Ident,
        default: ColumnDefault,
    },
    /// `ALTER [COLUMN] c DROP DEFAULT`
    DropDefault(Ident),
    /// `ALTER [COLUMN] c SET VISIBLE|INVISIBLE`
    SetColumnVisible {
        column: Ident,
        visible: bool,
    },
    /// `ALTER INDEX i VISIBLE|INVISIBLE`
    SetIndexVisible {
        index: Ident,
        visible: bool,
    },
    /// `ALTER CHECK|CONSTRAINT c [NOT] ENFORCED`
    SetEnforced {
        constraint: Ident,
        check: bool,
        enforced: bool,
    },
    DropColumn {
        name: Ident,
        behavior: Option<DropBehavior>,
    },
    DropIndex(Ident),
    DropPrimaryKey,
    DropForeignKey(Ident),
    DropCheck(Ident),
    /// `DROP CONSTRAINT`: of any kind.
    DropConstraint(Ident),
    RenameColumn {
        old: Ident,
        new: Ident,
    },
    RenameIndex {
        old: Ident,
        new: Ident,
    },
    RenameTable(TableName),
    /// `CONVERT TO CHARACTER SET cs|DEFAULT [COLLATE c]`; None is DEFAULT.
    ConvertTo {
        charset: Option<Ident>,
        collation: Option<Ident>,
    },
    /// `ENABLE KEYS` / `DISABLE KEYS`
    Keys {
        enabled: bool,
    },
    Force,
    /// `ORDER BY column, ...`
    OrderBy(Vec<OrderItem>),
    /// One table option; several in a row are several actions.
    Option(TableOption),
    /// `REMOVE TTL`
    RemoveTtl,
    /// `SECONDARY_LOAD`
    SecondaryLoad,
    /// `SECONDARY_UNLOAD`
    SecondaryUnload,
    /// `PARTITION BY ...`; always last.
    PartitionBy(Box<Partitioning>),
    RemovePartitioning,
    /// A partition command; always alone.
    Partition(PartitionAction),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPosition {
    First,
    After(Ident),
}

/// Partitions a command applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionSet {
    All,
    Names(Vec<Ident>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionAction {
    /// `ADD PARTITION (defs)`
    Add {
        no_write_to_binlog: bool,
        partitions: Vec<PartitionDef>,
    },
    /// `ADD PARTITION PARTITIONS n`
    AddCount {
        no_write_to_binlog: bool,
        count: u64,
    },
    Drop(Vec<Ident>),
    Discard(PartitionSet),
    Import(PartitionSet),
    Truncate(PartitionSet),
    /// `COALESCE PARTITION n`
    Coalesce {
        no_write_to_binlog: bool,
        count: u64,
    },
    /// `REORGANIZE PARTITION`: no names and no definitions for the bare form.
    Reorganize {
        no_write_to_binlog: bool,
        from: Vec<Ident>,
        into: Vec<PartitionDef>,
    },
    Exchange {
        partition: Ident,
        table: TableName,
        validation: Option<bool>,
    },
    Analyze {
        no_write_to_binlog: bool,
        partitions: PartitionSet,
    },
    Check {
        partitions: PartitionSet,
        options: Vec<super::CheckOption>,
    },
    Optimize {
        no_write_to_binlog: bool,
        partitions: PartitionSet,
    },
    Rebuild {
        no_write_to_binlog: bool,
        partitions: PartitionSet,
    },
    Repair {
        no_write_to_binlog: bool,
        partitions: PartitionSet,
        options: Vec<super::RepairOption>,
    },
    DiscardTablespace,
    ImportTablespace,
}

/// `CREATE|ALTER|DROP [UNDO] TABLESPACE`, `LOGFILE GROUP`.
#[derive(Debug, Clone, PartialEq)]
pub struct Tablespace {
    pub verb: DdlVerb,
    pub kind: TablespaceKind,
    pub name: Ident,
    pub clauses: Vec<TablespaceClause>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DdlVerb {
    Create,
    Alter,
    Drop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TablespaceKind {
    Tablespace,
    Undo,
    LogfileGroup,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TablespaceClause {
    AddDataFile(Box<str>),
    DropDataFile(Box<str>),
    AddUndoFile(Box<str>),
    UseLogfileGroup(Ident),
    RenameTo(Ident),
    /// `SET ACTIVE` / `SET INACTIVE`
    SetActive(bool),
    /// `name = size`: `INITIAL_SIZE`, `EXTENT_SIZE`, `NODEGROUP`, ... upper case.
    Size(Box<str>, u64),
    Engine(Ident),
    Comment(Box<str>),
    Encryption(Box<str>),
    EngineAttribute(Box<str>),
    Wait(bool),
}

/// `CREATE|ALTER|DROP SERVER`
#[derive(Debug, Clone, PartialEq)]
pub struct ServerStatement {
    pub verb: DdlVerb,
    /// `DROP SERVER IF EXISTS`
    pub if_exists: bool,
    pub name: Ident,
    /// `FOREIGN DATA WRAPPER name`; CREATE only.
    pub wrapper: Option<Ident>,
    /// `OPTIONS (name value, ...)`: names upper case.
    pub options: Vec<(Box<str>, super::Literal)>,
}

/// `CREATE|DROP SPATIAL REFERENCE SYSTEM`
#[derive(Debug, Clone, PartialEq)]
pub struct SpatialReferenceSystem {
    pub verb: DdlVerb,
    pub or_replace: bool,
    /// `IF NOT EXISTS` or `IF EXISTS`.
    pub conditional: bool,
    pub srid: u64,
    pub name: Option<Box<str>>,
    pub definition: Option<Box<str>>,
    pub organization: Option<(Box<str>, u64)>,
    pub description: Option<Box<str>>,
}

/// `CREATE|ALTER|DROP RESOURCE GROUP`
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceGroup {
    pub verb: DdlVerb,
    pub name: Ident,
    /// `TYPE = SYSTEM` is Some(true), `USER` Some(false).
    pub system: Option<bool>,
    /// `VCPU = n, n-m`
    pub vcpus: Vec<(u64, Option<u64>)>,
    /// Sign included.
    pub thread_priority: Option<i64>,
    pub enable: Option<bool>,
    pub force: bool,
}

/// Keys and checks beside [`TableElement`] that other modules construct.
impl From<CheckConstraint> for TableElement {
    fn from(check: CheckConstraint) -> Self {
        TableElement::Check(Box::new(check))
    }
}

impl KeyDef {
    /// A key over the parts, without name or options.
    pub fn plain(kind: super::KeyKind, parts: Vec<super::KeyPart>) -> Self {
        KeyDef {
            kind,
            constraint: None,
            name: None,
            parts,
            options: KeyOptions::default(),
        }
    }
}

impl OrderItem {
    pub fn ascending(expr: Expr) -> Self {
        OrderItem {
            expr,
            descending: false,
        }
    }
}
