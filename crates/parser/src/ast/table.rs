//! What a table is made of: columns, keys, options, partitions. Shared by CREATE TABLE and ALTER TABLE.

use super::{DataType, Expr, Ident, IntervalUnit, Literal, TableName};

/// `name type attributes`. Attributes are folded into fields, so their order in the text is not kept; the last of
/// several contradicting ones wins, as in MySQL. `SERIAL` is `BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE`.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    pub name: Ident,
    pub data_type: DataType,
    pub collation: Option<Ident>,
    /// `NULL` is Some(true), `NOT NULL` Some(false), nothing written None.
    pub nullable: Option<bool>,
    pub default: Option<ColumnDefault>,
    /// `ON UPDATE CURRENT_TIMESTAMP[(n)]`: n, 0 without.
    pub on_update_now: Option<u32>,
    pub generated: Option<Generated>,
    pub auto_increment: bool,
    /// `[PRIMARY] KEY` of the column itself.
    pub primary_key: bool,
    /// `UNIQUE [KEY]` of the column itself.
    pub unique: bool,
    pub comment: Option<Box<str>>,
    /// `VISIBLE` is Some(true), `INVISIBLE` Some(false).
    pub visible: Option<bool>,
    pub format: Option<ColumnFormat>,
    pub storage: Option<ColumnStorage>,
    pub srid: Option<u64>,
    pub engine_attribute: Option<Box<str>>,
    pub secondary_engine_attribute: Option<Box<str>>,
    /// `NOT SECONDARY`
    pub not_secondary: bool,
    pub checks: Vec<CheckConstraint>,
}

impl ColumnDef {
    /// A column without attributes.
    pub fn plain(name: Ident, data_type: DataType) -> Self {
        ColumnDef {
            name,
            data_type,
            collation: None,
            nullable: None,
            default: None,
            on_update_now: None,
            generated: None,
            auto_increment: false,
            primary_key: false,
            unique: false,
            comment: None,
            visible: None,
            format: None,
            storage: None,
            srid: None,
            engine_attribute: None,
            secondary_engine_attribute: None,
            not_secondary: false,
            checks: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ColumnDefault {
    Literal {
        /// `DEFAULT -1`
        negative: bool,
        value: Literal,
    },
    /// `DEFAULT NOW[(n)]` and synonyms: n, 0 without.
    Now(u32),
    /// `DEFAULT (expr)`
    Expr(Expr),
}

/// `[GENERATED ALWAYS] AS (expr) [VIRTUAL|STORED]`
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    pub expr: Expr,
    pub stored: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnFormat {
    Default,
    Fixed,
    Dynamic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnStorage {
    Default,
    Disk,
    Memory,
}

/// `[CONSTRAINT [name]] CHECK (expr) [[NOT] ENFORCED]`
#[derive(Debug, Clone, PartialEq)]
pub struct CheckConstraint {
    pub name: Option<Ident>,
    pub expr: Expr,
    pub enforced: bool,
}

/// An index of a table, or its primary key.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyDef {
    pub kind: KeyKind,
    /// `CONSTRAINT name` before the key, if any; the key's name when `name` is None.
    pub constraint: Option<Ident>,
    pub name: Option<Ident>,
    pub parts: Vec<KeyPart>,
    pub options: KeyOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    Primary,
    Unique,
    Index,
    FullText,
    Spatial,
}

#[derive(Debug, Clone, PartialEq)]
pub enum KeyPart {
    /// `column [(length)] [ASC|DESC]`
    Column {
        name: Ident,
        length: Option<u32>,
        descending: bool,
    },
    /// `(expr) [ASC|DESC]`
    Expr { expr: Expr, descending: bool },
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct KeyOptions {
    pub algorithm: Option<IndexAlgorithm>,
    pub block_size: Option<u64>,
    pub parser: Option<Ident>,
    pub comment: Option<Box<str>>,
    pub visible: Option<bool>,
    pub engine_attribute: Option<Box<str>>,
    pub secondary_engine_attribute: Option<Box<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexAlgorithm {
    BTree,
    Hash,
    RTree,
}

/// `[CONSTRAINT [name]] FOREIGN KEY [index] (columns) REFERENCES ...`
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    pub constraint: Option<Ident>,
    pub index: Option<Ident>,
    pub columns: Vec<Ident>,
    pub references: References,
}

#[derive(Debug, Clone, PartialEq)]
pub struct References {
    pub table: TableName,
    pub columns: Vec<Ident>,
    pub matching: Option<MatchKind>,
    pub on_delete: Option<ReferenceAction>,
    pub on_update: Option<ReferenceAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchKind {
    Full,
    Partial,
    Simple,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// One element of the list in `CREATE TABLE t (...)`, and what `ALTER TABLE .. ADD` adds.
#[derive(Debug, Clone, PartialEq)]
pub enum TableElement {
    Column(Box<ColumnDef>),
    Key(Box<KeyDef>),
    ForeignKey(Box<ForeignKey>),
    Check(Box<CheckConstraint>),
}

/// A table option. Equal signs and `DEFAULT` before CHARSET and COLLATE are dropped.
#[derive(Debug, Clone, PartialEq)]
pub enum TableOption {
    Engine(Ident),
    SecondaryEngine(Option<Ident>),
    AutoIncrement(u64),
    AvgRowLength(u64),
    /// Lower case; None is `DEFAULT`.
    Charset(Option<Ident>),
    /// None is `DEFAULT`.
    Collate(Option<Ident>),
    Checksum(bool),
    Comment(Box<str>),
    Compression(Box<str>),
    Connection(Box<str>),
    DataDirectory(Box<str>),
    IndexDirectory(Box<str>),
    DelayKeyWrite(bool),
    Encryption(Box<str>),
    EngineAttribute(Box<str>),
    SecondaryEngineAttribute(Box<str>),
    InsertMethod(InsertMethod),
    KeyBlockSize(u64),
    MaxRows(u64),
    MinRows(u64),
    /// None is `DEFAULT`.
    PackKeys(Option<bool>),
    Password(Box<str>),
    RowFormat(RowFormat),
    StartTransaction,
    /// None is `DEFAULT`.
    StatsAutoRecalc(Option<bool>),
    /// None is `DEFAULT`.
    StatsPersistent(Option<bool>),
    /// None is `DEFAULT`.
    StatsSamplePages(Option<u64>),
    Tablespace(Ident),
    Storage(ColumnStorage),
    AutoextendSize(u64),
    TableChecksum(bool),
    Union(Vec<TableName>),
    Ttl(Ttl),
    /// `TTL_ENABLE = 'ON'|'OFF'`
    TtlEnable(bool),
    /// `TTL_JOB_INTERVAL = '24h'`
    TtlJobInterval(Box<str>),
}

/// `TTL = column [+ INTERVAL count unit]`: when rows expire. Not of MySQL; the form is TiDB's, which needs the interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ttl {
    pub column: Ident,
    pub interval: Option<(u64, IntervalUnit)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InsertMethod {
    No,
    First,
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowFormat {
    Default,
    Dynamic,
    Fixed,
    Compressed,
    Redundant,
    Compact,
}

/// `PARTITION BY ...`
#[derive(Debug, Clone, PartialEq)]
pub struct Partitioning {
    pub method: PartitionMethod,
    /// `PARTITIONS n`
    pub count: Option<u64>,
    pub subpartition: Option<Subpartitioning>,
    pub partitions: Vec<PartitionDef>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionMethod {
    Hash {
        linear: bool,
        expr: Expr,
    },
    /// `KEY [ALGORITHM = n] (columns)`; no column stands for the primary key.
    Key {
        linear: bool,
        algorithm: Option<u8>,
        columns: Vec<Ident>,
    },
    Range(Expr),
    RangeColumns(Vec<Ident>),
    List(Expr),
    ListColumns(Vec<Ident>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Subpartitioning {
    /// HASH or KEY.
    pub method: PartitionMethod,
    pub count: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PartitionDef {
    pub name: Ident,
    pub values: Option<PartitionValues>,
    pub options: Vec<PartitionOption>,
    pub subpartitions: Vec<SubpartitionDef>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValues {
    /// `VALUES LESS THAN MAXVALUE`
    LessThanMax,
    /// `VALUES LESS THAN (..)`
    LessThan(Vec<PartitionValue>),
    /// `VALUES IN (..)`: a tuple of one value per listed item unless `LIST COLUMNS` has several.
    In(Vec<Vec<PartitionValue>>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValue {
    Expr(Expr),
    /// `MAXVALUE`
    Max,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SubpartitionDef {
    pub name: Ident,
    pub options: Vec<PartitionOption>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionOption {
    Engine(Ident),
    Comment(Box<str>),
    DataDirectory(Box<str>),
    IndexDirectory(Box<str>),
    MaxRows(u64),
    MinRows(u64),
    Tablespace(Ident),
    NodeGroup(u64),
}
