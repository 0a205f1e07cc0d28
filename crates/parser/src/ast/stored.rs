//! Views, triggers, routines and events.
//!
//! Bodies of stored programs are kept as text. What is in them is read with it ([`super::program`]), and given to whoever asks for the
//! program ([`crate::parse_program`]).

use super::{Account, DataType, Expr, Ident, IntervalUnit, ObjectName, Query, SourceText, TableName};

/// `CREATE [OR REPLACE] VIEW` and `ALTER VIEW`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    pub action: ViewAction,
    pub algorithm: Option<ViewAlgorithm>,
    pub definer: Option<Account>,
    pub security: Option<SqlSecurity>,
    pub name: TableName,
    pub columns: Vec<Ident>,
    pub query: Query,
    pub check: Option<ViewCheck>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViewAction {
    Create,
    CreateOrReplace,
    Alter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlSecurity {
    Definer,
    Invoker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViewCheck {
    /// Also the plain `WITH CHECK OPTION`.
    Cascaded,
    Local,
}

#[derive(Debug, Clone, PartialEq)]
pub struct DropView {
    pub if_exists: bool,
    pub names: Vec<TableName>,
    pub behavior: Option<DropBehavior>,
}

/// Parsed, without effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropBehavior {
    Restrict,
    Cascade,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    pub definer: Option<Account>,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub timing: TriggerTiming,
    pub event: TriggerEvent,
    pub table: TableName,
    pub order: Option<TriggerOrder>,
    pub body: RoutineBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TriggerTiming {
    Before,
    After,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TriggerOrder {
    Follows(Ident),
    Precedes(Ident),
}

/// Text of a stored program's body, outer white space trimmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutineBody(pub Box<str>);

/// `CREATE PROCEDURE|FUNCTION`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateRoutine {
    pub definer: Option<Account>,
    pub if_not_exists: bool,
    pub kind: RoutineKind,
    pub name: ObjectName,
    pub params: Vec<RoutineParam>,
    /// The list of parameters as written, without its parentheses.
    pub params_text: SourceText,
    /// Functions only.
    pub returns: Option<RoutineType>,
    pub characteristics: Vec<RoutineCharacteristic>,
    pub body: RoutineBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RoutineKind {
    Procedure,
    Function,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RoutineParam {
    pub mode: ParamMode,
    pub name: Ident,
    pub ty: RoutineType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParamMode {
    In,
    Out,
    InOut,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RoutineType {
    pub data_type: DataType,
    pub collation: Option<Ident>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum RoutineCharacteristic {
    Comment(Box<str>),
    /// `LANGUAGE name`
    Language(Ident),
    /// `[NOT] DETERMINISTIC`
    Deterministic(bool),
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
    Security(SqlSecurity),
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterRoutine {
    pub kind: RoutineKind,
    pub name: ObjectName,
    pub characteristics: Vec<RoutineCharacteristic>,
}

/// `CREATE [AGGREGATE] FUNCTION name RETURNS type SONAME 'library'`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateLoadableFunction {
    pub aggregate: bool,
    pub if_not_exists: bool,
    pub name: Ident,
    pub returns: LoadableReturn,
    pub library: Box<str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoadableReturn {
    String,
    Integer,
    Real,
    Decimal,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateEvent {
    pub definer: Option<Account>,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub schedule: EventSchedule,
    /// `ON COMPLETION [NOT] PRESERVE`
    pub preserve: Option<bool>,
    pub status: Option<EventStatus>,
    pub comment: Option<Box<str>>,
    pub body: RoutineBody,
}

/// At least one of the options is present.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterEvent {
    pub definer: Option<Account>,
    pub name: ObjectName,
    pub schedule: Option<EventSchedule>,
    pub preserve: Option<bool>,
    pub rename_to: Option<ObjectName>,
    pub status: Option<EventStatus>,
    pub comment: Option<Box<str>>,
    pub body: Option<RoutineBody>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EventSchedule {
    At(Expr),
    Every {
        amount: Expr,
        unit: IntervalUnit,
        starts: Option<Expr>,
        ends: Option<Expr>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventStatus {
    Enable,
    Disable,
    /// `DISABLE ON SLAVE|REPLICA`
    DisableOnReplica,
}

/// `DROP kind [IF EXISTS] name`
#[derive(Debug, Clone, PartialEq)]
pub struct DropObject {
    pub kind: DropKind,
    pub if_exists: bool,
    pub name: ObjectName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropKind {
    Trigger,
    Procedure,
    Function,
    Event,
}
