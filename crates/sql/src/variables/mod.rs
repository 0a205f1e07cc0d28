//! System variables: the global values, and each session's own.
//!
//! [`table`] lists them, and [`absent`] those of what LatsDB does not have. A value is kept as text in the form that `SHOW VARIABLES` prints, because that is how most are
//! asked for; what the hot paths look at is mirrored, typed, in [`Settings`].

mod absent;
mod of_cluster;
mod persisted;
mod settings;
mod table;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use catalog::PersistedVariable;
use parking_lot::{Mutex, RwLock};
use store::Past;
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value};

use crate::statement_logs::{StatementLogs, Switches};

pub use settings::{Isolation, Settings, durability_named};
pub use table::{DEFAULT_SQL_MODE, SQL_MODES};

/// In the order of their names, by which they are found and listed.
pub static VARIABLES: &[Variable] = &in_order(table::PRESENT, absent::ABSENT);
const COUNT: usize = table::PRESENT.len() + absent::ABSENT.len();

/// The longest `past_window_seconds`: a day.
pub const PAST_WINDOW_MAX: Duration = Duration::from_secs(86_400);

/// How many decimals a floating-point variable shows.
pub const DECIMALS: u8 = 6;

/// A system variable.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    /// The value at start-up, as text.
    pub default: &'static str,
    pub read_only: bool,
}

/// Where a variable has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Global,
    Session,
    /// Global, and a session's own that begins as a copy.
    Both,
}

/// What a variable takes.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Bool,
    /// A switch that has one position here.
    Only(&'static str),
    Int {
        min: i128,
        max: i128,
    },
    /// 0, which stands for something else than a number, or at least this much.
    ZeroOr {
        min: i128,
        max: i128,
    },
    Double,
    Text,
    /// One of the names, or its position.
    Enum(&'static [&'static str]),
    /// Several of the names, or their bits.
    Flags(&'static [&'static str]),
}

impl Kind {
    /// The number that is taken for `number`.
    fn nearest(self, number: i128) -> i128 {
        match self {
            Kind::Int { min, max } => number.clamp(min, max),
            Kind::ZeroOr { .. } if number <= 0 => 0,
            Kind::ZeroOr { min, max } => number.clamp(min, max),
            _ => number,
        }
    }
}

/// Two lists that are in order as one.
const fn in_order(left: &[Variable], right: &[Variable]) -> [Variable; COUNT] {
    let mut all = [left[0]; COUNT];
    let (mut l, mut r) = (0, 0);
    while l + r < COUNT {
        let takes_left = r == right.len() || l < left.len() && comes_before(left[l].name, right[r].name);
        all[l + r] = if takes_left { left[l] } else { right[r] };
        if takes_left {
            l += 1;
        } else {
            r += 1;
        }
    }
    all
}

const fn comes_before(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut at = 0;
    while at < left.len() && at < right.len() {
        if left[at] != right[at] {
            return left[at] < right[at];
        }
        at += 1;
    }
    left.len() < right.len()
}

/// A variable's place in [`VARIABLES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VariableId(usize);

/// Variables of a session that not every account may set.
const RESTRICTED: [&str; 14] = [
    "binlog_format",
    "binlog_row_image",
    "bulk_insert_buffer_size",
    "character_set_database",
    "character_set_filesystem",
    "gtid_next",
    "histogram_generation_max_mem_size",
    "internal_tmp_mem_storage_engine",
    "pseudo_slave_mode",
    "pseudo_thread_id",
    "sql_generate_invisible_primary_key",
    "sql_log_bin",
    "sql_log_off",
    "sql_require_primary_key",
];

/// Whether setting the variable for the session takes a privilege.
pub fn is_restricted(name: &str) -> bool {
    RESTRICTED.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Finds a variable by name, without regard to letter case; 1193 for an unknown one.
pub fn find(name: &str) -> SqlResult<VariableId> {
    let lower = name.to_ascii_lowercase();
    VARIABLES
        .binary_search_by(|variable| variable.name.cmp(&lower))
        .map(VariableId)
        .map_err(|_| SqlError::new(ErrorKind::UnknownSystemVariable, &[&name]))
}

impl VariableId {
    pub fn definition(self) -> &'static Variable {
        &VARIABLES[self.0]
    }

    /// Every variable, in the order of their names.
    pub fn all() -> impl Iterator<Item = VariableId> {
        (0..VARIABLES.len()).map(VariableId)
    }
}

impl Variable {
    /// Checks a value and puts it into the form in which it is kept.
    pub fn parse(&self, value: &Value) -> SqlResult<Arc<str>> {
        let text = value.to_string();
        let wrong_value = || SqlError::new(ErrorKind::WrongValueForVar, &[&self.name, &text]);
        let wrong_type = || SqlError::new(ErrorKind::WrongTypeForVar, &[&self.name]);
        if value.is_null() {
            // MySQL: results may be sent unconverted.
            return match self.kind {
                _ if self.name == "character_set_results" => Ok("NULL".into()),
                Kind::Int { .. } | Kind::ZeroOr { .. } | Kind::Double => Err(wrong_type()),
                _ => Err(SqlError::new(ErrorKind::WrongValueForVar, &[&self.name, &"NULL"])),
            };
        }
        let number = match value {
            Value::Int(number) => Some(i128::from(*number)),
            Value::UInt(number) => Some(i128::from(*number)),
            _ => None,
        };
        let switch = || match (number, text.to_ascii_uppercase().as_str()) {
            (Some(1), _) | (None, "ON" | "TRUE") => Ok("ON"),
            (Some(0), _) | (None, "OFF" | "FALSE") => Ok("OFF"),
            _ => Err(wrong_value()),
        };
        match self.kind {
            Kind::Bool => switch().map(Arc::from),
            Kind::Only(position) => match switch()? {
                wanted if wanted == position => Ok(position.into()),
                _ => Err(wrong_value()),
            },
            Kind::Int { .. } | Kind::ZeroOr { .. } => {
                let nearest = self.kind.nearest(number.ok_or_else(wrong_type)?);
                Ok(nearest.to_string().into())
            }
            Kind::Double => match value {
                Value::Str(_) | Value::Bytes(_) => Err(wrong_type()),
                _ => text
                    .parse::<f64>()
                    .map(|number| format!("{number:.*}", usize::from(DECIMALS)).into())
                    .map_err(|_| wrong_type()),
            },
            Kind::Text => Ok(text.into()),
            Kind::Enum(names) => {
                let named = match number {
                    Some(position) => usize::try_from(position).ok().and_then(|position| names.get(position)),
                    None => names.iter().find(|name| name.eq_ignore_ascii_case(&text)),
                };
                named.map(|&name| name.into()).ok_or_else(wrong_value)
            }
            Kind::Flags(names) => match number {
                Some(bits) => {
                    let known = names.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
                    Ok(known.map(|(_, &name)| name).collect::<Vec<_>>().join(",").into())
                }
                None => parse_flags(names, &text).map(Arc::from).ok_or_else(wrong_value),
            },
        }
    }

    /// Whether a number is beyond the variable's range, so that [`Variable::parse`] takes the nearest one within.
    pub fn clamps(&self, value: &Value) -> bool {
        let number = match value {
            Value::Int(number) => i128::from(*number),
            Value::UInt(number) => i128::from(*number),
            _ => return false,
        };
        self.kind.nearest(number) != number
    }

    /// The value as an expression sees it.
    pub fn value(&self, text: &str) -> Value {
        match self.kind {
            Kind::Bool | Kind::Only(_) => Value::Int(i64::from(text == "ON")),
            Kind::Int { .. } | Kind::ZeroOr { .. } => text.parse().map_or(Value::Null, Value::UInt),
            Kind::Double => text.parse().map_or(Value::Null, Value::Double),
            Kind::Text if text == "NULL" => Value::Null,
            Kind::Text | Kind::Enum(_) | Kind::Flags(_) => Value::str(text),
        }
    }

    /// The type of `@@name`.
    pub fn sql_type(&self) -> SqlType {
        match self.kind {
            Kind::Bool | Kind::Only(_) => SqlType::boolean(),
            Kind::Int { .. } | Kind::ZeroOr { .. } => SqlType::bigint_unsigned(),
            Kind::Double => SqlType {
                decimals: DECIMALS,
                ..SqlType::double()
            },
            Kind::Text | Kind::Enum(_) | Kind::Flags(_) => SqlType::varchar(1024, types::CollationId::DEFAULT),
        }
    }
}

/// Names separated by commas, in the order of the bits; combination modes bring their parts.
fn parse_flags(names: &[&str], text: &str) -> Option<String> {
    let mut set = vec![false; names.len()];
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        set[names.iter().position(|name| name.eq_ignore_ascii_case(word))?] = true;
        let parts: &[&str] = match word.to_ascii_uppercase().as_str() {
            "ANSI" => &[
                "REAL_AS_FLOAT",
                "PIPES_AS_CONCAT",
                "ANSI_QUOTES",
                "IGNORE_SPACE",
                "ONLY_FULL_GROUP_BY",
            ],
            "TRADITIONAL" => &[
                "STRICT_TRANS_TABLES",
                "STRICT_ALL_TABLES",
                "NO_ZERO_IN_DATE",
                "NO_ZERO_DATE",
                "ERROR_FOR_DIVISION_BY_ZERO",
                "NO_ENGINE_SUBSTITUTION",
            ],
            _ => &[],
        };
        for part in parts {
            set[names.iter().position(|name| name == part)?] = true;
        }
    }
    Some(
        names
            .iter()
            .zip(set)
            .filter(|(_, set)| *set)
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(","),
    )
}

/// The global values of a node; of a cluster's node, those of the cluster ([`of_cluster`]). A change is seen by sessions that begin after it.
pub struct Globals {
    values: RwLock<Arc<[Arc<str>]>>,
    /// Of those that do not have the value they were compiled with.
    origins: RwLock<HashMap<VariableId, Origin>>,
    /// `read_only` and `super_read_only`, for every change to look at.
    write_barrier: AtomicU8,
    /// `partial_revokes`
    partial_revokes: AtomicBool,
    /// Told of `past_window_seconds`.
    past: OnceLock<Arc<Past>>,
    /// Told of what they are to keep.
    logs: OnceLock<Arc<StatementLogs>>,
    /// The version of the catalog that they were taken from last; `None`: they are the node's own.
    followed: Mutex<Option<u64>>,
}

/// Where a variable's global value comes from.
#[derive(Debug, Clone)]
pub enum Origin {
    /// The start found it in the catalog.
    Persisted(Arc<PersistedVariable>),
    /// Microseconds since 1970, and who said it from where.
    Statement { at: i64, user: String, host: String },
}

/// Who may change anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteBarrier {
    None,
    /// Only who has SUPER.
    ReadOnly,
    /// Nobody.
    SuperReadOnly,
}

impl Default for Globals {
    fn default() -> Globals {
        Globals {
            origins: RwLock::default(),
            values: RwLock::new(VARIABLES.iter().map(|variable| Arc::from(variable.default)).collect()),
            write_barrier: AtomicU8::new(0),
            partial_revokes: AtomicBool::new(false),
            past: OnceLock::new(),
            logs: OnceLock::new(),
            followed: Mutex::default(),
        }
    }
}

impl Globals {
    pub fn get(&self, id: VariableId) -> Arc<str> {
        self.values.read()[id.0].clone()
    }

    /// Sets a value that [`Variable::parse`] has given, with the variables that go with it.
    pub fn set(&self, id: VariableId, value: Arc<str>, origin: Origin) -> SqlResult<()> {
        #[cfg(debug_assertions)]
        if id.definition().name == "debug" {
            env::failpoints::arm(&value)
                .map_err(|rule| SqlError::new(ErrorKind::WrongValueForVar, &[&"debug", &rule]))?;
        }
        let mut values = self.values.write();
        let mut changed = values.to_vec();
        put(&mut changed, id, value)?;
        *values = changed.into();
        self.origins.write().insert(id, origin);
        self.mirror(&values);
        Ok(())
    }

    /// What is asked for often, as the values say.
    fn mirror(&self, values: &[Arc<str>]) {
        let is_on = |name: &str| find(name).is_ok_and(|id| &*values[id.0] == "ON");
        let barrier = u8::from(is_on("read_only")) + u8::from(is_on("super_read_only"));
        self.partial_revokes.store(is_on("partial_revokes"), Ordering::Release);
        self.write_barrier.store(barrier, Ordering::Release);
        if let Some(logs) = self.logs.get() {
            let text = |name: &str| find(name).map_or_else(|_| "".into(), |id| values[id.0].clone());
            let switches = Switches::of(is_on, &text("log_output"));
            logs.switch(switches, [text("general_log_file"), text("slow_query_log_file")]);
        }
        if let (Some(past), Ok(id)) = (self.past.get(), find("past_window_seconds")) {
            past.set_window(Duration::from_secs(values[id.0].parse().unwrap_or(0)));
        }
    }

    /// Tells what the logs of statements keep, now and whenever that changes.
    pub(crate) fn keep_logs(&self, logs: Arc<StatementLogs>) {
        let _ = self.logs.set(logs);
        self.mirror(&self.values.read());
    }

    /// Tells how much of the past is to be kept, now and whenever that changes.
    pub(crate) fn keep_past(&self, past: Arc<Past>) {
        let _ = self.past.set(past);
        self.mirror(&self.values.read());
    }

    /// `None`: it has the value it was compiled with.
    pub fn origin(&self, id: VariableId) -> Option<Origin> {
        self.origins.read().get(&id).cloned()
    }

    /// Whether privileges can be taken back on single databases; names of databases in grants are no patterns then.
    pub fn partial_revokes(&self) -> bool {
        self.partial_revokes.load(Ordering::Acquire)
    }

    /// Whether a login makes all granted roles active.
    pub fn activates_all_roles(&self) -> bool {
        find("activate_all_roles_on_login").is_ok_and(|id| &*self.get(id) == "ON")
    }

    /// The roles that every account has.
    pub fn mandatory_roles(&self) -> Arc<str> {
        find("mandatory_roles").map_or_else(|_| "".into(), |id| self.get(id))
    }

    pub fn write_barrier(&self) -> WriteBarrier {
        match self.write_barrier.load(Ordering::Acquire) {
            0 => WriteBarrier::None,
            1 => WriteBarrier::ReadOnly,
            _ => WriteBarrier::SuperReadOnly,
        }
    }

    fn all(&self) -> Arc<[Arc<str>]> {
        self.values.read().clone()
    }
}

/// Puts a value among the others, with those that go with it.
fn put(values: &mut [Arc<str>], id: VariableId, value: Arc<str>) -> SqlResult<()> {
    let name = id.definition().name;
    for (other, value) in settings::companions(name, &value)? {
        values[find(other)?.0] = value;
    }
    match (name, &*value) {
        ("super_read_only", "ON") => values[find("read_only")?.0] = value.clone(),
        ("read_only", "OFF") => values[find("super_read_only")?.0] = value.clone(),
        _ => {}
    }
    let is_wrong = match name {
        "general_log_file" | "slow_query_log_file" => !is_file_name(&value),
        "log_output" => value.is_empty(),
        _ => false,
    };
    if is_wrong {
        return Err(SqlError::new(ErrorKind::WrongValueForVar, &[&name, &value]));
    }
    values[id.0] = value;
    if name.starts_with("validate_password.") {
        let count = |name: &str| {
            find(name)
                .ok()
                .and_then(|id| values[id.0].parse::<u64>().ok())
                .unwrap_or(0)
        };
        // The length is at least that of the characters which are asked for.
        let least = count("validate_password.number_count")
            + count("validate_password.special_char_count")
            + 2 * count("validate_password.mixed_case_count");
        if count("validate_password.length") < least {
            values[find("validate_password.length")?.0] = least.to_string().into();
        }
    }
    Ok(())
}

/// Whether a log may have this name: one that leads nowhere else.
fn is_file_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=100).contains(&name.len()) && name.bytes().all(is_plain) && !name.starts_with('.')
}

/// A session's values: the globals at its beginning, and what it has set since.
#[derive(Clone)]
pub struct SessionVariables {
    inherited: Arc<[Arc<str>]>,
    own: Vec<(VariableId, Arc<str>)>,
    pub settings: Settings,
}

impl SessionVariables {
    pub fn new(globals: &Globals) -> SessionVariables {
        let inherited = globals.all();
        let mut settings = Settings::default();
        for id in VariableId::all() {
            settings
                .note(id.definition().name, &inherited[id.0])
                .expect("global values were checked when they were set");
        }
        SessionVariables {
            inherited,
            own: Vec::new(),
            settings,
        }
    }

    pub fn get(&self, id: VariableId) -> Arc<str> {
        match self.own.iter().find(|(own, _)| *own == id) {
            Some((_, value)) => value.clone(),
            None => self.inherited[id.0].clone(),
        }
    }

    /// Sets a value that [`Variable::parse`] has given, with the variables that go with it.
    pub fn set(&mut self, id: VariableId, value: Arc<str>) -> SqlResult<()> {
        let name = id.definition().name;
        self.settings.note(name, &value)?;
        self.put(id, value.clone());
        for (other, value) in settings::companions(name, &value)? {
            self.settings.note(other, &value)?;
            self.put(find(other)?, value);
        }
        Ok(())
    }

    /// Makes the settings what the variables say: a statement may have changed one for a while, and never have come to its end.
    pub fn renew_settings(&mut self) {
        for id in VariableId::all() {
            let value = self.get(id);
            // It was taken when it was set.
            let _ = self.settings.note(id.definition().name, &value);
        }
    }

    /// The collation of the handshake sets the client's character sets; one that is unknown, or that no client can speak, leaves the defaults.
    pub fn set_client_collation(&mut self, id: u16) -> SqlResult<()> {
        let collation = types::CollationId::by_id(id).filter(|collation| collation.charset().is_spoken());
        let Some(collation) = collation else {
            return Ok(());
        };
        let charset: Arc<str> = collation.charset().name().into();
        for name in [
            "character_set_client",
            "character_set_results",
            "character_set_connection",
        ] {
            self.set(find(name)?, charset.clone())?;
        }
        self.set(find("collation_connection")?, collation.name().into())
    }

    /// `USE` brings the database's collation with it.
    pub fn set_database_collation(&mut self, collation: types::CollationId) -> SqlResult<()> {
        self.set(find("collation_database")?, collation.name().into())
    }

    /// The collation of databases that name none.
    pub fn server_collation(&self) -> types::CollationId {
        let name = find("collation_server").map(|id| self.get(id));
        name.ok()
            .and_then(|name| types::CollationId::by_name(&name))
            .unwrap_or(types::CollationId::DEFAULT)
    }

    /// Takes over the value that a session begun now would have.
    pub fn set_default(&mut self, id: VariableId, globals: &Globals) -> SqlResult<()> {
        let value = match id.definition().scope {
            Scope::Session => Arc::from(id.definition().default),
            _ => globals.get(id),
        };
        self.set(id, value)
    }

    fn put(&mut self, id: VariableId, value: Arc<str>) {
        match self.own.iter_mut().find(|(own, _)| *own == id) {
            Some((_, old)) => *old = value,
            None => self.own.push((id, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(VARIABLES.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn every_default_is_a_value() {
        let session = SessionVariables::new(&Globals::default());
        for id in VariableId::all() {
            let variable = id.definition();
            assert_eq!(&*session.get(id), variable.default);
            if !variable.read_only && !matches!(variable.kind, Kind::Int { .. } | Kind::ZeroOr { .. } | Kind::Double) {
                assert_eq!(
                    &*variable.parse(&Value::str(variable.default)).unwrap(),
                    variable.default,
                    "{}",
                    variable.name
                );
            }
        }
    }

    #[test]
    fn values_are_checked() {
        let parse = |name: &str, value: Value| {
            find(name)
                .unwrap()
                .definition()
                .parse(&value)
                .map(|text| text.to_string())
        };
        assert_eq!(parse("AUTOCOMMIT", Value::Int(0)).unwrap(), "OFF");
        assert_eq!(parse("autocommit", Value::Int(2)).unwrap_err().code(), 1231);
        assert_eq!(
            parse("transaction_isolation", Value::str("read-committed")).unwrap(),
            "READ-COMMITTED"
        );
        assert_eq!(parse("max_execution_time", Value::str("x")).unwrap_err().code(), 1232);
        assert_eq!(parse("wait_timeout", Value::Int(0)).unwrap(), "1");
        assert_eq!(
            parse("sql_mode", Value::str("ansi_quotes, strict_all_tables")).unwrap(),
            "ANSI_QUOTES,STRICT_ALL_TABLES"
        );
        assert_eq!(parse("sql_mode", Value::str("nonsense")).unwrap_err().code(), 1231);
        assert_eq!(find("no_such_thing").unwrap_err().code(), 1193);
    }

    #[test]
    fn a_character_set_brings_its_collation() {
        let mut session = SessionVariables::new(&Globals::default());
        session
            .set(find("character_set_connection").unwrap(), "latin1".into())
            .unwrap();
        assert_eq!(
            &*session.get(find("collation_connection").unwrap()),
            "latin1_swedish_ci"
        );
        session
            .set(find("collation_connection").unwrap(), "utf8mb4_bin".into())
            .unwrap();
        assert_eq!(&*session.get(find("character_set_connection").unwrap()), "utf8mb4");
    }
}
