//! SHOW, EXPLAIN, DESCRIBE.

use super::{Account, Expr, Ident, Limit, ObjectName, Statement, TableName};

/// `LIKE 'pattern'` or `WHERE condition` of a SHOW.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    Like(Box<[u8]>),
    Where(Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShowScope {
    Global,
    Session,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    Databases(Option<ShowFilter>),
    /// `SHOW [EXTENDED] [FULL] TABLES [FROM db]`
    Tables {
        extended: bool,
        full: bool,
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    TableStatus {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    OpenTables {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    /// `SHOW [EXTENDED] [FULL] COLUMNS|FIELDS FROM t [FROM db]`
    Columns {
        extended: bool,
        full: bool,
        table: TableName,
        filter: Option<ShowFilter>,
    },
    /// `SHOW [EXTENDED] INDEX|INDEXES|KEYS FROM t [FROM db] [WHERE ..]`
    Indexes {
        extended: bool,
        table: TableName,
        filter: Option<Expr>,
    },
    Triggers {
        full: bool,
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    Events {
        schema: Option<Ident>,
        filter: Option<ShowFilter>,
    },
    /// None when not written: SESSION.
    Variables {
        scope: Option<ShowScope>,
        filter: Option<ShowFilter>,
    },
    Status {
        scope: Option<ShowScope>,
        filter: Option<ShowFilter>,
    },
    Warnings(Option<Limit>),
    Errors(Option<Limit>),
    /// `SHOW COUNT(*) WARNINGS`
    WarningCount,
    /// `SHOW COUNT(*) ERRORS`
    ErrorCount,
    ProcessList {
        full: bool,
    },
    Engines,
    /// `SHOW ENGINE name|ALL STATUS|MUTEX|LOGS`
    Engine {
        name: Option<Ident>,
        what: EngineInfo,
    },
    CharacterSets(Option<ShowFilter>),
    Collations(Option<ShowFilter>),
    Privileges,
    Plugins,
    Profiles,
    /// `SHOW PROFILE [type, ...] [FOR QUERY n] [LIMIT ..]`: types upper case, as written.
    Profile {
        types: Vec<Box<str>>,
        query: Option<u64>,
        limit: Option<Limit>,
    },
    ProcedureStatus(Option<ShowFilter>),
    FunctionStatus(Option<ShowFilter>),
    ProcedureCode(ObjectName),
    FunctionCode(ObjectName),
    /// None is the current user.
    Grants {
        account: Option<Account>,
        using: Vec<Account>,
    },
    CreateDatabase {
        name: Ident,
        if_not_exists: bool,
    },
    CreateTable(TableName),
    CreateView(TableName),
    CreateProcedure(ObjectName),
    CreateFunction(ObjectName),
    CreateTrigger(ObjectName),
    CreateEvent(ObjectName),
    CreateUser(Account),
    /// `SHOW BINARY LOGS`, `SHOW MASTER LOGS`
    BinaryLogs,
    /// `SHOW MASTER STATUS`, `SHOW BINARY LOG STATUS`
    BinaryLogStatus,
    BinlogEvents {
        log: Option<Box<str>>,
        from: Option<u64>,
        limit: Option<Limit>,
    },
    RelayLogEvents {
        log: Option<Box<str>>,
        from: Option<u64>,
        limit: Option<Limit>,
        channel: Option<Box<str>>,
    },
    /// `SHOW REPLICAS`, `SHOW SLAVE HOSTS`
    Replicas,
    ReplicaStatus {
        channel: Option<Box<str>>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineInfo {
    Status,
    Mutex,
    Logs,
}

/// `EXPLAIN [ANALYZE] [FORMAT = name] statement`, also spelt DESCRIBE and DESC.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    pub analyze: bool,
    pub format: Option<ExplainFormat>,
    pub target: ExplainTarget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExplainFormat {
    Traditional,
    Json,
    Tree,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExplainTarget {
    /// A query, INSERT, REPLACE, UPDATE or DELETE.
    Statement(Statement),
    /// `FOR CONNECTION id`
    Connection(u64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Describe {
    pub table: TableName,
    /// A column's name or a LIKE pattern.
    pub column: Option<Box<[u8]>>,
}
