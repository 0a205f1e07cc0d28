//! The optimizer hints that are of a statement, not of its plan: `MAX_EXECUTION_TIME` and `SET_VAR`.

use std::sync::Arc;
use std::time::Duration;

use parser::ast::{QueryBody, Statement};
use types::{ErrorKind, Severity, SqlError, Value};

use super::Session;
use crate::plan::hints::Hints;
use crate::variables::{self, VariableId};

/// What a query's `/*+ MAX_EXECUTION_TIME(milliseconds) */` says; 0 is no limit and leaves the session's.
pub fn time_limit(statement: &Statement) -> Option<Duration> {
    let Statement::Query(_) = statement else {
        return None;
    };
    let (_, argument) =
        Hints::of(hints_of(statement)?).find(|(name, _)| name.eq_ignore_ascii_case("MAX_EXECUTION_TIME"))?;
    let milliseconds: u64 = argument.trim().parse().ok()?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

/// The text of a statement's hints: those of its first SELECT, or behind its verb.
fn hints_of(statement: &Statement) -> Option<&str> {
    let hints = match statement {
        Statement::Query(query) => match &query.body {
            QueryBody::Select(select) => &select.hints,
            _ => return None,
        },
        Statement::Insert(insert) => &insert.hints,
        Statement::Update(update) => &update.hints,
        Statement::Delete(delete) => &delete.hints,
        _ => return None,
    };
    hints.as_deref()
}

/// The variables that MySQL's manual says SET_VAR applies to.
const SETTABLE: [&str; 41] = [
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "windowing_use_high_precision",
];

/// Variables as they were before a statement's hints.
pub struct Before(Vec<(VariableId, Arc<str>)>);

impl Session {
    /// `SET_VAR(name = value)`: sets variables for the statement. What cannot be set is a warning: 3128, 3637, or that of SET. Returns what
    /// [`Self::end_hints`] restores.
    pub(super) fn begin_hints(&mut self, statement: &Statement) -> Before {
        let mut before = Before(Vec::new());
        let Some(rest) = hints_of(statement) else { return before };
        for (name, argument) in Hints::of(rest) {
            if !name.eq_ignore_ascii_case("SET_VAR") {
                continue;
            }
            let Some((variable, value)) = argument.split_once('=') else {
                continue;
            };
            let (variable, value) = (variable.trim().trim_matches('`'), value.trim());
            if let Some(Err(warning)) =
                literal(value).map(|value| self.set_for_statement(variable, &value, &mut before))
            {
                self.warnings.push(Severity::Warning, warning);
            }
        }
        before
    }

    fn set_for_statement(&mut self, name: &str, value: &Value, before: &mut Before) -> Result<(), SqlError> {
        let unknown = |_| SqlError::new(ErrorKind::UnresolvedHintName, &[&name, &"SET_VAR"]);
        let id = variables::find(name).map_err(unknown)?;
        if !SETTABLE.iter().any(|settable| settable.eq_ignore_ascii_case(name)) {
            return Err(SqlError::new(ErrorKind::NotHintUpdatableVariable, &[&name]));
        }
        let text = id.definition().parse(value)?;
        let old = self.variables.get(id);
        self.variables.set(id, text)?;
        before.0.push((id, old));
        Ok(())
    }

    /// Sets the variables as they were, the last one first.
    pub(super) fn end_hints(&mut self, before: Before) {
        for (id, old) in before.0.into_iter().rev() {
            if let Err(error) = self.variables.set(id, old) {
                tracing::warn!(%error, "a variable cannot be set as it was");
            }
        }
    }
}

/// A number, a word or a string; a number may end with K, M or G. `None` for what is none.
fn literal(text: &str) -> Option<Value> {
    let quoted = text
        .strip_prefix(['\'', '"'])
        .and_then(|rest| rest.strip_suffix(['\'', '"']));
    if let Some(inner) = quoted {
        return (!inner.is_empty()).then(|| Value::str(inner));
    }
    let (digits, unit) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 1 << 10),
        (at, 'm' | 'M') => (&text[..at], 1 << 20),
        (at, 'g' | 'G') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    match digits.parse::<i64>() {
        Ok(number) => number.checked_mul(unit).map(Value::Int),
        Err(_) if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => Some(Value::str(text)),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_for_the_time_is_read() {
        for (text, expected) in [
            ("SELECT /*+ MAX_EXECUTION_TIME(50) */ 1", Some(50)),
            ("SELECT /*+ no_icp(t) max_execution_time ( 7 ) */ 1", Some(7)),
            ("SELECT /*+ MAX_EXECUTION_TIME(0) */ 1", None),
            ("SELECT /*+ MAX_EXECUTION_TIME(x) */ 1", None),
            ("SELECT /* MAX_EXECUTION_TIME(5) */ 1", None),
            ("INSERT /*+ MAX_EXECUTION_TIME(5) */ INTO t VALUES (1)", None),
        ] {
            let statement = parser::parse(text.as_bytes(), parser::SqlMode::default())
                .expect("SQL")
                .statement;
            assert_eq!(time_limit(&statement), expected.map(Duration::from_millis), "{text}");
        }
    }
}
