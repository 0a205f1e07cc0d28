//! What an evaluation asks of the statement and the session around it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use parser::ast::VarScope;
use types::error::{ErrorKind, SqlError, Warnings};
use types::time::{TimeZone, UnixTime};
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use crate::pattern::Pattern;
use crate::scope::{Subquery, SubqueryRunner};
use crate::sql_mode::SqlMode;

/// A stored function as an expression is bound to it.
pub struct StoredFunction {
    /// Its columns are its value.
    pub query: Arc<dyn Subquery>,
    /// Whether it may change or lock rows.
    pub changes_rows: bool,
    /// Whether it may read or change tables.
    pub uses_tables: bool,
}

/// The variables of the session that expressions look at.
#[derive(Debug, Clone)]
pub struct Settings {
    pub sql_mode: SqlMode,
    pub time_zone: TimeZone,
    /// `collation_connection`: of literals, and of numbers turned into text.
    pub collation: CollationId,
    pub div_precision_increment: u8,
    pub group_concat_max_len: u64,
    pub max_allowed_packet: u64,
    pub default_week_format: u8,
    /// `lc_time_names`: of months and days.
    pub locale: &'static types::time::Locale,
    pub max_error_count: usize,
    pub block_encryption_mode: std::sync::Arc<str>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            sql_mode: SqlMode::default(),
            time_zone: TimeZone::UTC,
            collation: CollationId::DEFAULT,
            div_precision_increment: 4,
            group_concat_max_len: 1024,
            max_allowed_packet: 64 << 20,
            default_week_format: 0,
            locale: types::time::Locale::english(),
            max_error_count: 1024,
            block_encryption_mode: "aes-128-ecb".into(),
        }
    }
}

/// What the session does for functions.
///
/// Methods that wait suspend the statement and give 1317 (or its like) when it is interrupted.
pub trait Services {
    fn connection_id(&self) -> u64;

    /// `USER()`: the user and host of the client.
    fn user(&self) -> String;

    /// `CURRENT_USER()`: the account it was matched with.
    fn current_user(&self) -> String;

    fn current_role(&self) -> String {
        "NONE".to_owned()
    }

    /// `DATABASE()`
    fn database(&self) -> Option<String>;

    /// `VERSION()`
    fn version(&self) -> String;

    /// `LAST_INSERT_ID()` as the statement began.
    fn last_insert_id(&self) -> u64;

    /// `LAST_INSERT_ID(id)`
    fn set_last_insert_id(&self, id: u64);

    /// `ROW_COUNT()` of the statement before.
    fn row_count(&self) -> i64;

    /// `FOUND_ROWS()` of the query before.
    fn found_rows(&self) -> u64;

    fn user_variable(&self, name: &str) -> Option<UserVariable>;

    /// Whether the running statement has `@name := value` somewhere.
    fn assigns_user_variables(&self) -> bool {
        true
    }

    fn set_user_variable(&self, name: &str, variable: UserVariable);

    /// The value and type of a system variable: 1193 for an unknown one, 1238 for a wrong scope.
    fn system_variable(&self, scope: Option<VarScope>, name: &str) -> SqlResult<(Value, SqlType)>;

    /// How strong `validate_password` finds a password; 0 while it is off.
    fn password_strength(&self, _password: &str) -> i64 {
        0
    }

    /// The session's generator behind `RAND()`.
    fn random(&self) -> &RandomState;

    /// Microseconds since 1970 at this moment: `SYSDATE()`, `UUID()`.
    fn clock_micros(&self) -> i64;

    /// Fills `bytes` from the operating system's generator.
    fn random_bytes(&self, bytes: &mut [u8]);

    /// A number that no other call of the cluster gives: `UUID_SHORT()`.
    fn uuid_short(&self) -> u64;

    /// `LOAD_FILE`: a file of the server; `None` where there is none that may be read, 1301 for one of more bytes than `most`.
    fn load_file(&self, _path: &str, _most: u64) -> SqlResult<Option<Vec<u8>>> {
        Ok(None)
    }

    /// `SLEEP`: true when it was interrupted.
    fn sleep(&self, duration: Duration) -> SqlResult<bool>;

    /// `GET_LOCK`: whether it was granted in time. No timeout waits for ever.
    fn get_lock(&self, name: &str, timeout: Option<Duration>) -> SqlResult<bool>;

    /// `RELEASE_LOCK`: None when nobody holds it, false when somebody else does.
    fn release_lock(&self, name: &str) -> SqlResult<Option<bool>>;

    /// `RELEASE_ALL_LOCKS`: how many.
    fn release_all_locks(&self) -> SqlResult<u64>;

    /// The stored function of a name, for a call with so many arguments: 1318 where that is another number.
    fn stored_function(&self, _database: &str, _name: &str, _args: usize) -> SqlResult<Option<StoredFunction>> {
        Ok(None)
    }

    /// `IS_USED_LOCK`: the connection that holds it.
    fn lock_holder(&self, name: &str) -> SqlResult<Option<u64>>;
}

/// A user variable with what its next use needs to know.
#[derive(Debug, Clone)]
pub struct UserVariable {
    pub value: Value,
    pub ty: SqlType,
}

impl UserVariable {
    /// Given a value of this type: bits become a number.
    pub fn new(value: Value, ty: SqlType) -> UserVariable {
        let value = match value {
            Value::Bit(bits) => Value::UInt(bits.value),
            value => value,
        };
        UserVariable {
            value,
            ty: type_of_variable(ty),
        }
    }
}

/// The type of a user variable that is given a value of this type.
pub fn type_of_variable(ty: SqlType) -> SqlType {
    match ty.kind {
        TypeKind::Bit => SqlType {
            nullable: ty.nullable,
            ..SqlType::bigint_unsigned()
        },
        _ => ty,
    }
}

/// MySQL's random number generator (`randominit`, `my_rnd`), so that seeded sequences are the same.
#[derive(Debug, Clone)]
pub struct RandomState {
    seed1: Cell<u64>,
    seed2: Cell<u64>,
}

/// One of the two numbers that the next ones are made of.
#[derive(Debug, Clone, Copy)]
pub enum RandomSeed {
    First,
    Second,
}

impl RandomState {
    const MAX: u64 = 0x3FFF_FFFF;

    /// Starts from two numbers, as the client's session does.
    pub fn new(seed1: u64, seed2: u64) -> RandomState {
        RandomState {
            seed1: Cell::new(seed1 % Self::MAX),
            seed2: Cell::new(seed2 % Self::MAX),
        }
    }

    /// `SET rand_seed1`, `SET rand_seed2`: goes on from there.
    pub fn set_seed(&self, which: RandomSeed, seed: u64) {
        match which {
            RandomSeed::First => self.seed1.set(seed % Self::MAX),
            RandomSeed::Second => self.seed2.set(seed % Self::MAX),
        }
    }

    /// Starts as `RAND(seed)` does.
    pub fn from_seed(seed: i64) -> RandomState {
        let seed = u64::from(seed as u32);
        RandomState::new(
            u64::from((seed.wrapping_mul(0x10001).wrapping_add(55_555_555)) as u32),
            u64::from((seed.wrapping_mul(0x1000_0001)) as u32),
        )
    }

    /// The next number in [0, 1).
    pub fn next(&self) -> f64 {
        let seed1 = (self.seed1.get() * 3 + self.seed2.get()) % Self::MAX;
        let seed2 = (seed1 + self.seed2.get() + 33) % Self::MAX;
        self.seed1.set(seed1);
        self.seed2.set(seed2);
        seed1 as f64 / Self::MAX as f64
    }
}

/// What becomes of a bad value in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// A warning and a nearby value, or NULL: SELECT, and changes without strict mode or with IGNORE.
    Warn,
    /// An error: INSERT, UPDATE and their like in strict mode.
    Fail,
}

/// Of what an expression is bound to be kept as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Definition {
    /// Constants that do not fit are for its reader.
    View,
    /// Constants that do not fit are refused.
    Table,
}

/// One statement's evaluation: lives from its start to its end.
pub struct StatementContext<'a> {
    pub settings: &'a Settings,
    pub services: &'a dyn Services,
    /// When the statement began: `NOW()` throughout.
    pub now: UnixTime,
    /// A value per `?`.
    pub params: &'a [Value],
    pub strictness: Strictness,
    /// None where an expression stands outside of statements.
    pub runner: Option<&'a dyn SubqueryRunner>,
    warnings: RefCell<Warnings>,
    /// What is bound is kept as text, and not run.
    definition: Cell<Option<Definition>>,
    /// 1-based row that messages name.
    row_number: Cell<u64>,
    /// The generators of `RAND(seed)`, by the address of the call.
    seeded: RefCell<HashMap<usize, RandomState>>,
    patterns: RefCell<HashMap<PatternKey, Pattern>>,
}

/// What a compiled regular expression depends on: its text, and its flags.
type PatternKey = (String, String);

impl<'a> StatementContext<'a> {
    pub fn new(settings: &'a Settings, services: &'a dyn Services, now: UnixTime) -> StatementContext<'a> {
        StatementContext {
            settings,
            services,
            now,
            params: &[],
            strictness: Strictness::Warn,
            runner: None,
            warnings: RefCell::new(Warnings::with_limit(settings.max_error_count)),
            definition: Cell::new(None),
            row_number: Cell::new(1),
            seeded: RefCell::default(),
            patterns: RefCell::default(),
        }
    }

    pub fn with_params(self, params: &'a [Value]) -> StatementContext<'a> {
        StatementContext { params, ..self }
    }

    pub fn with_runner(self, runner: &'a dyn SubqueryRunner) -> StatementContext<'a> {
        StatementContext {
            runner: Some(runner),
            ..self
        }
    }

    pub fn with_strictness(self, strictness: Strictness) -> StatementContext<'a> {
        StatementContext { strictness, ..self }
    }

    /// From here on the definition of a view is bound.
    pub fn binds_view(&self) {
        self.definition.set(Some(Definition::View));
    }

    /// Binds an expression of a table's definition.
    pub fn binding_table<R>(&self, bind: impl FnOnce() -> R) -> R {
        let before = self.definition.replace(Some(Definition::Table));
        let bound = bind();
        self.definition.set(before);
        bound
    }

    pub(crate) fn definition(&self) -> Option<Definition> {
        self.definition.get()
    }

    /// The context for evaluating expressions of the outermost query.
    pub fn eval(&self) -> EvalContext<'_> {
        EvalContext {
            statement: self,
            outer: None,
        }
    }

    /// Raises a warning, or the error it amounts to under [`Strictness::Fail`].
    pub fn warn(&self, warning: SqlError) -> SqlResult<()> {
        if self.strictness == Strictness::Fail && is_error_in_strict_mode(warning.kind()) {
            return Err(warning);
        }
        self.warnings.borrow_mut().warn(warning);
        Ok(())
    }

    /// Raises a note.
    pub fn note(&self, note: SqlError) {
        self.warnings.borrow_mut().note(note);
    }

    /// 1365 as `sql_mode` has it: nothing, a warning, or an error.
    pub fn division_by_zero(&self) -> SqlResult<()> {
        if !self.settings.sql_mode.has(SqlMode::ERROR_FOR_DIVISION_BY_ZERO) {
            return Ok(());
        }
        self.warn(ErrorKind::DivisionByZero.into())
    }

    /// Work on the collected warnings themselves, whatever the strictness.
    pub fn with_warnings<R>(&self, work: impl FnOnce(&mut Warnings) -> R) -> R {
        work(&mut self.warnings.borrow_mut())
    }

    /// Looks ahead: what there is to say of it is not said now.
    pub fn quietly<R>(&self, look: impl FnOnce() -> R) -> R {
        let said = self.warnings.take();
        let seen = look();
        *self.warnings.borrow_mut() = said;
        seen
    }

    /// Runs a conversion of the `types` crate, and makes errors of its warnings under [`Strictness::Fail`].
    pub fn gather<R>(&self, convert: impl FnOnce(&mut Warnings) -> R) -> SqlResult<R> {
        if self.strictness == Strictness::Warn {
            return Ok(convert(&mut self.warnings.borrow_mut()));
        }
        let mut raised = Warnings::with_limit(1);
        let result = convert(&mut raised);
        match raised.iter().next() {
            Some(warning) => self.warn(warning.error.clone()).map(|()| result),
            None => Ok(result),
        }
    }

    /// As [`gather`](Self::gather), for conversions that look at the mode, the time zone and the time.
    pub fn convert<R>(&self, convert: impl FnOnce(&mut types::cast::Context<'_>) -> R) -> SqlResult<R> {
        self.gather(|warnings| {
            convert(&mut types::cast::Context {
                mode: self.settings.sql_mode.for_casts(),
                zone: &self.settings.time_zone,
                now: self.now,
                warnings,
            })
        })
    }

    /// All warnings so far; the context is left with none.
    pub fn take_warnings(&self) -> Warnings {
        self.warnings
            .replace(Warnings::with_limit(self.settings.max_error_count))
    }

    pub fn row_number(&self) -> u64 {
        self.row_number.get()
    }

    pub fn set_row_number(&self, row: u64) {
        self.row_number.set(row);
    }

    /// The next number of the generator at call site `site`, seeded at its first use.
    pub(super) fn seeded_random(&self, site: usize, seed: impl FnOnce() -> SqlResult<i64>) -> SqlResult<f64> {
        if let Some(state) = self.seeded.borrow().get(&site) {
            return Ok(state.next());
        }
        let state = RandomState::from_seed(seed()?);
        let next = state.next();
        self.seeded.borrow_mut().insert(site, state);
        Ok(next)
    }

    /// Who runs the statement's subqueries.
    pub(crate) fn runner(&self) -> SqlResult<&'a dyn SubqueryRunner> {
        self.runner
            .ok_or_else(|| SqlError::internal("a subquery outside of a statement"))
    }

    /// The compiled form of a pattern; `compile` runs once per statement and pattern.
    pub(super) fn pattern<R>(
        &self,
        text: &str,
        flags: &str,
        compile: impl FnOnce() -> SqlResult<Pattern>,
        work: impl FnOnce(&Pattern) -> SqlResult<R>,
    ) -> SqlResult<R> {
        const PATTERNS_MAX: usize = 64;
        let key = (text.to_owned(), flags.to_owned());
        if let Some(pattern) = self.patterns.borrow().get(&key) {
            return work(pattern);
        }
        let pattern = compile()?;
        let result = work(&pattern);
        let mut patterns = self.patterns.borrow_mut();
        if patterns.len() >= PATTERNS_MAX {
            patterns.clear();
        }
        patterns.insert(key, pattern);
        result
    }
}

impl fmt::Debug for StatementContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StatementContext")
            .field("now", &self.now)
            .field("params", &self.params)
            .finish_non_exhaustive()
    }
}

/// The warnings that strict mode turns into errors (MySQL's `Strict_error_handler`).
fn is_error_in_strict_mode(kind: ErrorKind) -> bool {
    use ErrorKind::*;
    matches!(
        kind,
        TruncatedWrongValue
            | WrongValueForType
            | OutOfRange
            | CutValueGroupConcat
            | DatetimeFunctionOverflow
            | TemporalOutOfRange
            | DataTruncated
            | NullToNotNull
            | NoDefaultForField
            | NoDefaultForViewField
            | TooFewRecords
            | TooManyRecords
            | DivisionByZero
            | TruncatedWrongValueForField
            | DataTooLong
            | InvalidCharacterString
            | InvalidArgumentForLogarithm
            | InvalidJsonValueForCast
    )
}

/// A row of an enclosing query, and the rows outside of that.
#[derive(Debug, Clone, Copy)]
pub struct OuterRow<'a> {
    pub row: &'a [Value],
    pub outer: Option<&'a OuterRow<'a>>,
}

/// One evaluation: the statement, and the rows of the enclosing queries.
#[derive(Debug, Clone, Copy)]
pub struct EvalContext<'a> {
    pub statement: &'a StatementContext<'a>,
    pub outer: Option<&'a OuterRow<'a>>,
}

impl<'a> EvalContext<'a> {
    /// The context for a subquery whose innermost outer row is `outer`.
    pub fn inside(&self, outer: &'a OuterRow<'a>) -> EvalContext<'a> {
        EvalContext {
            statement: self.statement,
            outer: Some(outer),
        }
    }

    /// The outer row, that many levels further out.
    pub fn outer_above(&self, levels: usize) -> Option<&'a OuterRow<'a>> {
        (0..levels).fold(self.outer, |outer, _| outer.and_then(|row| row.outer))
    }

    /// The row of the enclosing query at `depth`, 1 being the innermost.
    pub fn outer_row(&self, depth: usize) -> SqlResult<&'a [Value]> {
        let mut outer = self.outer;
        for _ in 1..depth {
            outer = outer.and_then(|row| row.outer);
        }
        outer
            .map(|row| row.row)
            .ok_or_else(|| SqlError::internal("a subquery ran without its outer row"))
    }
}

impl<'a> Deref for EvalContext<'a> {
    type Target = StatementContext<'a>;

    fn deref(&self) -> &StatementContext<'a> {
        self.statement
    }
}
