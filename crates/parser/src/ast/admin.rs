//! Administration: table maintenance, KILL, FLUSH, RESET, replication, CLONE.

use super::{Account, Expr, Ident, Literal, TableName};

/// `ANALYZE|CHECK|CHECKSUM|OPTIMIZE|REPAIR TABLE ...`
#[derive(Debug, Clone, PartialEq)]
pub struct TableMaintenance {
    /// `NO_WRITE_TO_BINLOG` or `LOCAL`.
    pub no_write_to_binlog: bool,
    pub tables: Vec<TableName>,
    pub action: MaintenanceAction,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MaintenanceAction {
    Analyze,
    /// `UPDATE HISTOGRAM ON columns [WITH n BUCKETS] [AUTO|MANUAL UPDATE] [USING DATA 'json']`
    UpdateHistogram {
        columns: Vec<Ident>,
        buckets: Option<u64>,
        auto_update: Option<bool>,
        data: Option<Box<str>>,
    },
    /// `DROP HISTOGRAM ON columns`
    DropHistogram {
        columns: Vec<Ident>,
    },
    Check(Vec<CheckOption>),
    Checksum(Option<ChecksumOption>),
    Optimize,
    Repair(Vec<RepairOption>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckOption {
    ForUpgrade,
    Quick,
    Fast,
    Medium,
    Extended,
    Changed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChecksumOption {
    Quick,
    Extended,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RepairOption {
    Quick,
    Extended,
    UseFrm,
}

/// `KILL [CONNECTION|QUERY] id`
#[derive(Debug, Clone, PartialEq)]
pub struct Kill {
    /// The query only, not the connection.
    pub query: bool,
    pub id: Expr,
}

/// `FLUSH [NO_WRITE_TO_BINLOG|LOCAL] ...`
#[derive(Debug, Clone, PartialEq)]
pub struct Flush {
    pub no_write_to_binlog: bool,
    pub what: FlushWhat,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FlushWhat {
    /// `TABLES [names] [WITH READ LOCK | FOR EXPORT]`
    Tables {
        tables: Vec<TableName>,
        mode: FlushTables,
    },
    Targets(Vec<FlushTarget>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlushTables {
    Close,
    WithReadLock,
    ForExport,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FlushTarget {
    BinaryLogs,
    EngineLogs,
    ErrorLogs,
    GeneralLogs,
    Hosts,
    Logs,
    OptimizerCosts,
    Privileges,
    RelayLogs { channel: Option<Box<str>> },
    SlowLogs,
    Status,
    UserResources,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ResetTarget {
    /// `RESET MASTER [TO n]`, `RESET BINARY LOGS AND GTIDS [TO n]`
    BinaryLogs {
        to: Option<u64>,
    },
    /// `RESET REPLICA [ALL] [FOR CHANNEL 'c']`
    Replica {
        all: bool,
        channel: Option<Box<str>>,
    },
    QueryCache,
}

/// `PURGE BINARY LOGS TO 'name' | BEFORE time`
#[derive(Debug, Clone, PartialEq)]
pub enum PurgeBinaryLogs {
    To(Box<str>),
    Before(Expr),
}

/// `CACHE INDEX t [INDEX (..)], ... IN cache`
#[derive(Debug, Clone, PartialEq)]
pub struct CacheIndex {
    pub tables: Vec<KeyCacheTable>,
    /// None is DEFAULT.
    pub cache: Option<Ident>,
}

/// `LOAD INDEX INTO CACHE t [INDEX (..)] [IGNORE LEAVES], ...`
#[derive(Debug, Clone, PartialEq)]
pub struct LoadIndex {
    pub tables: Vec<KeyCacheTable>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct KeyCacheTable {
    pub table: TableName,
    pub partitions: Option<super::PartitionSet>,
    pub indexes: Vec<Ident>,
    /// LOAD INDEX only.
    pub ignore_leaves: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CloneStatement {
    /// `CLONE LOCAL DATA DIRECTORY = 'dir'`
    Local(Box<str>),
    /// `CLONE INSTANCE FROM user@host:port IDENTIFIED BY 'password' [DATA DIRECTORY = 'dir'] [REQUIRE [NO] SSL]`
    Instance {
        from: Account,
        port: u64,
        password: Box<str>,
        directory: Option<Box<str>>,
        require_ssl: Option<bool>,
    },
}

/// Replication commands. MASTER and SLAVE spellings are folded into SOURCE and REPLICA.
#[derive(Debug, Clone, PartialEq)]
pub enum Replication {
    /// `CHANGE REPLICATION SOURCE TO option = value, ... [FOR CHANNEL 'c']`
    ChangeSource {
        options: Vec<(Box<str>, ReplicationValue)>,
        channel: Option<Box<str>>,
    },
    /// `CHANGE REPLICATION FILTER rule = (..), ...`: rule names upper case, lists as text.
    ChangeFilter {
        filters: Vec<(Box<str>, Vec<FilterValue>)>,
        channel: Option<Box<str>>,
    },
    StartReplica(ReplicaThreads),
    StopReplica(ReplicaThreads),
    StartGroupReplication {
        user: Option<Box<str>>,
        password: Option<Box<str>>,
        default_auth: Option<Box<str>>,
    },
    StopGroupReplication,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ReplicationValue {
    Literal(Literal),
    /// A word: `NULL`, `LOCAL`, `OFF`, `STREAM`, ...
    Word(Ident),
    Account(Account),
    /// `IGNORE_SERVER_IDS = (1, 2)`
    Ids(Vec<u64>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum FilterValue {
    Schema(Ident),
    Table(TableName),
    Pattern(Box<str>),
    /// `(from, to)`
    Rewrite(Ident, Ident),
}

/// `START|STOP REPLICA [thread types] [UNTIL ..] [USER = ..] [FOR CHANNEL ..]`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReplicaThreads {
    pub io: bool,
    pub sql: bool,
    /// `UNTIL name = value, ...`; names upper case.
    pub until: Vec<(Box<str>, Literal)>,
    pub until_after_gaps: bool,
    /// `USER`, `PASSWORD`, `DEFAULT_AUTH`, `PLUGIN_DIR`
    pub connection: Vec<(Box<str>, Box<str>)>,
    pub channel: Option<Box<str>>,
}
