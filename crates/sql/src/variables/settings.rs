//! The variables that statements look at, typed.

use std::sync::Arc;
use std::time::Duration;

use transaction::Durability;
use types::time::{Locale, TimeZone};
use types::{CharsetId, ErrorKind, SqlError, SqlResult};

use crate::exec::runtime::StatementSettings;
use crate::expr;
use crate::expr::sql_mode::SqlMode;
use crate::names::{charset_by_name, collation_by_name};

/// The isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    Serializable,
}

impl Isolation {
    /// The level of a variable's value.
    pub fn by_name(name: &str) -> Isolation {
        match name {
            "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
            "READ-COMMITTED" => Isolation::ReadCommitted,
            "SERIALIZABLE" => Isolation::Serializable,
            _ => Isolation::RepeatableRead,
        }
    }
}

/// A session's variables as the code uses them.
#[derive(Debug, Clone)]
pub struct Settings {
    pub autocommit: bool,
    pub isolation: Isolation,
    pub read_only: bool,
    pub snapshot_isolation: bool,
    /// What a commit waits for.
    pub durability: Durability,
    /// `read_from` is `nearest`: a statement that only reads may miss what was committed in the last `read_staleness_limit`.
    pub reads_nearest: bool,
    pub read_staleness_limit: Duration,
    /// What expressions look at: sql_mode, time zone, collation, …
    pub expressions: expr::Settings,
    pub lock_wait_timeout: Duration,
    /// `lock_wait_timeout`: for locks of tables as a whole.
    pub metadata_lock_wait_timeout: Duration,
    /// `None`: without limit.
    pub max_execution_time: Option<Duration>,
    /// Bytes; 0 is a quarter of the node's `memory_limit`.
    pub query_memory_limit: u64,
    pub client_charset: CharsetId,
    /// `None`: text is sent as it is stored.
    pub results_charset: Option<CharsetId>,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    pub select_limit: u64,
    pub cte_max_recursion_depth: u64,
    pub wait_timeout_seconds: u64,
    pub interactive_timeout_seconds: u64,
    pub net_read_timeout: Duration,
    pub net_write_timeout: Duration,
    pub require_primary_key: bool,
    pub foreign_key_checks: bool,
    pub safe_updates: bool,
    pub sql_notes: bool,
    /// A statement that takes longer is slow.
    pub long_query_time: Duration,
    /// One that looks at fewer rows is not.
    pub min_examined_row_limit: u64,
    /// The session is not in the general log.
    pub sql_log_off: bool,
    /// `SET insert_id = …`: the first automatic id of the next INSERT.
    pub insert_id: Option<u64>,
    /// `SET timestamp = …`: what NOW() returns, in seconds.
    pub fixed_timestamp: Option<f64>,
    /// What is computed is for a user variable.
    pub exact_values: bool,
}

impl Settings {
    /// What a statement that runs now obeys.
    pub fn of_statement(&self, found_rows: bool) -> StatementSettings {
        StatementSettings {
            found_rows,
            auto_increment: (self.auto_increment_increment, self.auto_increment_offset),
            foreign_key_checks: self.foreign_key_checks,
            insert_id: self.insert_id,
            recursion_limit: self.cte_max_recursion_depth,
            select_limit: self.select_limit,
            lock_wait_timeout: self.lock_wait_timeout,
            metadata_lock_wait_timeout: self.metadata_lock_wait_timeout,
            exact_values: self.exact_values,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            autocommit: true,
            isolation: Isolation::RepeatableRead,
            read_only: false,
            snapshot_isolation: true,
            durability: Durability::default(),
            reads_nearest: false,
            read_staleness_limit: Duration::from_secs(1),
            expressions: expr::Settings::default(),
            lock_wait_timeout: Duration::from_secs(50),
            metadata_lock_wait_timeout: Duration::from_secs(31_536_000),
            exact_values: false,
            max_execution_time: None,
            query_memory_limit: 0,
            client_charset: CharsetId::UTF8MB4,
            results_charset: Some(CharsetId::UTF8MB4),
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            select_limit: u64::MAX,
            cte_max_recursion_depth: 1000,
            wait_timeout_seconds: 28_800,
            interactive_timeout_seconds: 28_800,
            net_read_timeout: Duration::from_secs(30),
            net_write_timeout: Duration::from_secs(60),
            require_primary_key: false,
            foreign_key_checks: true,
            safe_updates: false,
            sql_notes: true,
            long_query_time: Duration::from_secs(10),
            min_examined_row_limit: 0,
            sql_log_off: false,
            insert_id: None,
            fixed_timestamp: None,
        }
    }
}

impl Settings {
    pub fn sql_mode(&self) -> SqlMode {
        self.expressions.sql_mode
    }

    pub fn max_allowed_packet(&self) -> u64 {
        self.expressions.max_allowed_packet
    }

    /// Takes over a variable's new value. Variables without a typed twin pass; a value that only its meaning shows
    /// to be wrong (an unknown character set, collation or time zone) is refused here.
    pub fn note(&mut self, name: &str, value: &str) -> SqlResult<()> {
        let on = value == "ON";
        match name {
            "autocommit" => self.autocommit = on,
            "transaction_isolation" | "tx_isolation" => self.isolation = Isolation::by_name(value),
            "transaction_read_only" | "tx_read_only" => self.read_only = on,
            "snapshot_isolation" => self.snapshot_isolation = on,
            "durability" => self.durability = durability_named(value),
            "read_from" => self.reads_nearest = value == "nearest",
            "read_staleness_limit" => self.read_staleness_limit = Duration::from_millis(number(value)),
            "sql_mode" => self.expressions.sql_mode = SqlMode::parse(value)?,
            "time_zone" => {
                let unknown = || SqlError::new(ErrorKind::UnknownTimeZone, &[&value]);
                self.expressions.time_zone = TimeZone::from_name(value).ok_or_else(unknown)?;
            }
            "innodb_lock_wait_timeout" => self.lock_wait_timeout = Duration::from_secs(number(value)),
            "lock_wait_timeout" => self.metadata_lock_wait_timeout = Duration::from_secs(number(value)),
            "query_memory_limit" => self.query_memory_limit = number(value),
            "max_execution_time" => {
                let milliseconds = number(value);
                self.max_execution_time = (milliseconds > 0).then(|| Duration::from_millis(milliseconds));
            }
            "collation_connection" => self.expressions.collation = collation_by_name(value)?,
            "character_set_connection" => {
                charset_by_name(value)?;
            }
            "character_set_client" => {
                let charset = charset_by_name(value)?;
                if !charset.is_spoken() {
                    return Err(SqlError::new(ErrorKind::WrongValueForVar, &[&name, &charset]));
                }
                self.client_charset = charset;
            }
            "character_set_results" => {
                self.results_charset = if value == "NULL" {
                    None
                } else {
                    Some(charset_by_name(value)?)
                };
            }
            "character_set_server" | "character_set_database" => drop(charset_by_name(value)?),
            "collation_server" | "collation_database" => drop(collation_by_name(value)?),
            "auto_increment_increment" => self.auto_increment_increment = number(value),
            "auto_increment_offset" => self.auto_increment_offset = number(value),
            "lc_time_names" => {
                let unknown = || SqlError::new(ErrorKind::UnknownLocale, &[&value]);
                self.expressions.locale = Locale::by_name(value).ok_or_else(unknown)?;
            }
            "lc_messages" => match Locale::by_name(value) {
                None => return Err(SqlError::new(ErrorKind::UnknownLocale, &[&value])),
                Some(locale) if locale.name().starts_with("en_") => {}
                Some(_) => return Err(SqlError::not_supported("messages in another language than English")),
            },
            "block_encryption_mode" => self.expressions.block_encryption_mode = value.into(),
            "div_precision_increment" => self.expressions.div_precision_increment = number(value) as u8,
            "group_concat_max_len" => self.expressions.group_concat_max_len = number(value),
            "max_allowed_packet" => self.expressions.max_allowed_packet = number(value),
            "max_error_count" => self.expressions.max_error_count = number(value) as usize,
            "sql_select_limit" => self.select_limit = number(value),
            "cte_max_recursion_depth" => self.cte_max_recursion_depth = number(value),
            "default_week_format" => self.expressions.default_week_format = number(value) as u8,
            "wait_timeout" => self.wait_timeout_seconds = number(value),
            "interactive_timeout" => self.interactive_timeout_seconds = number(value),
            "net_read_timeout" => self.net_read_timeout = Duration::from_secs(number(value)),
            "net_write_timeout" => self.net_write_timeout = Duration::from_secs(number(value)),
            "sql_require_primary_key" => self.require_primary_key = on,
            "foreign_key_checks" => self.foreign_key_checks = on,
            "sql_safe_updates" => self.safe_updates = on,
            "sql_notes" => self.sql_notes = on,
            "long_query_time" => {
                let seconds = value.parse().unwrap_or(10.0);
                self.long_query_time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            }
            "min_examined_row_limit" => self.min_examined_row_limit = number(value),
            "sql_log_off" => self.sql_log_off = on,
            "insert_id" => self.insert_id = Some(number(value)).filter(|id| *id > 0),
            "timestamp" => {
                self.fixed_timestamp = value.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The other variables that change with one: a character set with its collation, old names with new ones.
pub(super) fn companions(name: &str, value: &str) -> SqlResult<Vec<(&'static str, Arc<str>)>> {
    let collation_of =
        |charset: &str| -> SqlResult<Arc<str>> { Ok(charset_by_name(charset)?.default_collation().name().into()) };
    let charset_of =
        |collation: &str| -> SqlResult<Arc<str>> { Ok(collation_by_name(collation)?.charset().name().into()) };
    Ok(match name {
        "character_set_connection" => vec![("collation_connection", collation_of(value)?)],
        "collation_connection" => vec![("character_set_connection", charset_of(value)?)],
        "character_set_server" => vec![("collation_server", collation_of(value)?)],
        "collation_server" => vec![("character_set_server", charset_of(value)?)],
        "character_set_database" => vec![("collation_database", collation_of(value)?)],
        "collation_database" => vec![("character_set_database", charset_of(value)?)],
        "transaction_isolation" => vec![("tx_isolation", value.into())],
        "tx_isolation" => vec![("transaction_isolation", value.into())],
        "transaction_read_only" => vec![("tx_read_only", value.into())],
        "tx_read_only" => vec![("transaction_read_only", value.into())],
        _ => Vec::new(),
    })
}

/// The level of a variable's value.
pub fn durability_named(value: &str) -> Durability {
    Durability::by_name(value).unwrap_or_default()
}

/// A value that the variable's kind has shown to be a number.
fn number(value: &str) -> u64 {
    value.parse().unwrap_or(u64::MAX)
}
