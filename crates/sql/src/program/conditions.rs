//! Conditions and what handles them: SIGNAL, RESIGNAL, GET DIAGNOSTICS.

use parser::ast::{self, Condition, SignalCondition};
use types::error::Signal;
use types::{ErrorKind, Severity, SqlError, SqlResult, Value, Warning, Warnings};

use super::Programs;
use super::code::{HandlerCode, Program, ScopeCode};
use crate::expr::context::Strictness;
use crate::host::Host;
use crate::session::parameters::Parameters;
use crate::session::{Answer, Session};
use crate::variables::Settings;

/// A condition that a handler is at work on.
#[derive(Debug)]
pub struct Handled {
    pub condition: Warning,
    /// All that was raised with it.
    pub area: Warnings,
    /// Of the session's conditions at that time.
    pub epoch: u64,
}

/// Whether the statement that the client has sent ends, whatever handlers there are.
pub fn ends_everything(error: &SqlError) -> bool {
    matches!(
        error.kind(),
        ErrorKind::QueryInterrupted
            | ErrorKind::QueryTimeout
            | ErrorKind::ServerShutdown
            | ErrorKind::NetErrorOnWrite
            | ErrorKind::NetWriteInterrupted
            | ErrorKind::OutOfSortMemory
            | ErrorKind::StackOverrunNeedMore
            | ErrorKind::InternalError
    )
}

/// What becomes of bad values in expressions of programs.
pub fn strictness(settings: &Settings) -> Strictness {
    match settings.sql_mode().is_strict() {
        true => Strictness::Fail,
        false => Strictness::Warn,
    }
}

/// The handler of the innermost scope that has one: the number counts more than the SQLSTATE, and that more than the class.
pub fn handler_for<'p>(program: &'p Program, scope: usize, condition: &Warning) -> Option<&'p HandlerCode> {
    let mut scope = Some(scope);
    while let Some(at) = scope {
        let code = &program.scopes[at];
        // A handler that is not declared yet takes no condition, nor does one further out.
        if let Some(ahead) = code.ahead
            && program.scopes[ahead].best(condition).is_some()
        {
            return None;
        }
        if let Some(handler) = code.best(condition) {
            return Some(handler);
        }
        scope = code.parent;
    }
    None
}

impl ScopeCode {
    fn best(&self, condition: &Warning) -> Option<&HandlerCode> {
        let of_scope = self.handlers.iter().filter_map(|handler| {
            let ranks = handler.conditions.iter().filter_map(|handled| rank(handled, condition));
            Some((ranks.min()?, handler))
        });
        of_scope.min_by_key(|(rank, _)| *rank).map(|(_, handler)| handler)
    }
}

/// How well a handler fits; `None`: not at all.
fn rank(handled: &Condition, raised: &Warning) -> Option<u8> {
    let state = raised.error.sqlstate();
    let (fits, rank) = match handled {
        Condition::Code(code) => (*code == raised.error.code(), 0),
        Condition::State(known) => (**known == *state, 1),
        Condition::Warning => (state.starts_with("01") || raised.severity == Severity::Warning, 2),
        Condition::NotFound => (state.starts_with("02"), 2),
        Condition::Exception => {
            let is_exception = !["00", "01", "02"].iter().any(|class| state.starts_with(class));
            (is_exception && raised.severity == Severity::Error, 2)
        }
    };
    fits.then_some(rank)
}

/// The greatest length of a text in characters, of MESSAGE_TEXT and of the others.
const MESSAGE_CHARS: usize = 128;
const ITEM_CHARS: usize = 64;

impl Programs {
    /// What the innermost handler of the routine that runs is at work on.
    fn at_work(&self) -> Option<&Handled> {
        self.handled[self.handled_around..].last()
    }
}

impl Session {
    /// Raises a condition: a warning, or the error.
    pub(super) fn signal(
        &mut self,
        signal: &ast::Signal,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Answer> {
        let state = match &signal.condition {
            Some(SignalCondition::SqlState(state)) => state.clone(),
            Some(SignalCondition::Name(name)) => {
                return Err(SqlError::new(ErrorKind::SpCondMismatch, &[&name.as_str()]));
            }
            None => return Err(SqlError::internal("SIGNAL without a condition")),
        };
        let condition = self.condition_of_state(&state, &signal.items, parameters, host)?;
        self.raise(condition)
    }

    /// Raises the condition of the handler at work once more, with changes; 1645 where there is none.
    pub(super) fn resignal(
        &mut self,
        signal: &ast::Signal,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Answer> {
        let handled = self.programs.at_work().ok_or(ErrorKind::ResignalWithoutActiveHandler)?;
        let (condition, area) = (handled.condition.clone(), handled.area.clone());
        match &signal.condition {
            None if signal.items.is_empty() => {
                self.set_area(area);
                match condition.severity {
                    Severity::Error => Err(condition.error),
                    Severity::Warning | Severity::Note => Ok(Answer::done()),
                }
            }
            None => {
                let changed = self.changed_condition(&condition.error, &signal.items, parameters, host)?;
                let mut rest = Warnings::with_limit(self.variables.settings.expressions.max_error_count);
                for other in area.iter().filter(|other| **other != condition) {
                    rest.push(other.severity, other.error.clone());
                }
                self.set_area(rest);
                self.raise(Warning {
                    severity: condition.severity,
                    error: changed,
                })
            }
            Some(SignalCondition::SqlState(state)) => {
                let raised = self.condition_of_state(state, &signal.items, parameters, host)?;
                self.set_area(area);
                self.raise(raised)
            }
            Some(SignalCondition::Name(name)) => Err(SqlError::new(ErrorKind::SpCondMismatch, &[&name.as_str()])),
        }
    }

    fn set_area(&mut self, area: Warnings) {
        self.programs.epoch += 1;
        self.warnings = area;
    }

    fn raise(&mut self, condition: Warning) -> SqlResult<Answer> {
        match condition.severity {
            Severity::Error => Err(condition.error),
            severity => {
                self.warnings.push(severity, condition.error);
                Ok(Answer::done())
            }
        }
    }

    fn condition_of_state(
        &mut self,
        state: &str,
        items: &[(Box<str>, ast::Expr)],
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Warning> {
        let (kind, severity) = match &state[..2] {
            "01" => (ErrorKind::SignalWarn, Severity::Warning),
            "02" => (ErrorKind::SignalNotFound, Severity::Error),
            _ => (ErrorKind::SignalException, Severity::Error),
        };
        let plain = SqlError::signalled(
            kind,
            kind.format(),
            Signal {
                code: kind.code(),
                sqlstate: state.into(),
                items: Vec::new(),
            },
        );
        let error = self.changed_condition(&plain, items, parameters, host)?;
        Ok(Warning { severity, error })
    }

    /// The condition with these items.
    fn changed_condition(
        &mut self,
        error: &SqlError,
        items: &[(Box<str>, ast::Expr)],
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<SqlError> {
        let mut message = error.message().to_owned();
        let mut signal = error.signal().cloned().unwrap_or_else(|| Signal {
            code: error.code(),
            sqlstate: error.sqlstate().into(),
            items: [("CLASS_ORIGIN", 0), ("SUBCLASS_ORIGIN", 2)]
                .map(|(name, at)| (name.into(), origin(error.sqlstate(), at).into()))
                .into(),
        });
        for (at, (name, _)) in items.iter().enumerate() {
            if items[..at].iter().any(|(other, _)| other == name) {
                return Err(SqlError::new(ErrorKind::DupSignalSet, &[&&**name]));
            }
        }
        for (name, value) in items {
            let value = self.evaluate(value, parameters, host)?;
            let wrong = || SqlError::new(ErrorKind::WrongValueForVar, &[&&**name, &value]);
            if value.is_null() {
                return Err(SqlError::new(ErrorKind::WrongValueForVar, &[&&**name, &"NULL"]));
            }
            if &**name == "MYSQL_ERRNO" {
                let code = match &value {
                    Value::Int(code) => u16::try_from(*code).ok(),
                    Value::UInt(code) => u16::try_from(*code).ok(),
                    other => crate::expr::convert::to_text(other).trim().parse().ok(),
                };
                signal.code = code.filter(|code| (1..u16::MAX).contains(code)).ok_or_else(wrong)?;
                continue;
            }
            let mut text = crate::expr::convert::to_text(&value).into_owned();
            let longest = match &**name {
                "MESSAGE_TEXT" => MESSAGE_CHARS,
                _ => ITEM_CHARS,
            };
            if text.chars().count() > longest {
                let too_long = SqlError::new(ErrorKind::CondItemTooLong, &[&&**name]);
                if self.variables.settings.sql_mode().is_strict() {
                    return Err(too_long);
                }
                self.warnings.warn(too_long);
                text = text.chars().take(longest).collect();
            }
            match &**name {
                "MESSAGE_TEXT" => message = text,
                _ => {
                    signal.items.retain(|(known, _)| known != name);
                    signal.items.push((name.clone(), text.into()));
                }
            }
        }
        Ok(SqlError::signalled(error.kind(), message, signal))
    }

    /// The values that GET DIAGNOSTICS asks for; `None`: there is no such condition, which is one more condition and no error.
    pub(super) fn diagnostics_of(
        &mut self,
        get: &ast::GetDiagnostics,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Option<Vec<Value>>> {
        let number = match &get.condition {
            None => None,
            Some(number) => Some(self.evaluate(number, parameters, host)?),
        };
        let area = match get.stacked {
            false => &self.warnings,
            true => {
                let handled = self.programs.at_work();
                &handled.ok_or(ErrorKind::GetStackedDaWithoutActiveHandler)?.area
            }
        };
        let Some(number) = number else {
            let item = |(_, name): &(ast::IntoVar, Box<str>)| match &**name {
                "NUMBER" => Value::Int(area.iter().len() as i64),
                _ => Value::Int(self.state.row_count.get()),
            };
            return Ok(Some(get.items.iter().map(item).collect()));
        };
        let at = match number {
            Value::Int(number) => usize::try_from(number).ok(),
            Value::UInt(number) => usize::try_from(number).ok(),
            other => crate::expr::convert::to_text(&other).trim().parse().ok(),
        };
        let condition = at.and_then(|at| area.iter().nth(at.checked_sub(1)?));
        let Some(condition) = condition else {
            self.warnings
                .push(Severity::Error, ErrorKind::DaInvalidConditionNumber.into());
            return Ok(None);
        };
        let item = |(_, name): &(ast::IntoVar, Box<str>)| item_of(condition, name);
        Ok(Some(get.items.iter().map(item).collect()))
    }

    /// Outside of programs only variables of the session can take it.
    pub(super) fn get_diagnostics(
        &mut self,
        get: &ast::GetDiagnostics,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Answer> {
        let values = self.diagnostics_of(get, parameters, host)?;
        for ((target, _), value) in get.items.iter().zip(values.into_iter().flatten()) {
            match target {
                ast::IntoVar::User(name) => self.set_user_variable(name, value, None),
                ast::IntoVar::Local(ast::Local { name, .. }) | ast::IntoVar::Undeclared(name) => {
                    return Err(SqlError::new(ErrorKind::SpUndeclaredVar, &[&name.as_str()]));
                }
            }
        }
        Ok(Answer::done())
    }
}

/// One item of a condition, by its name.
fn item_of(condition: &Warning, name: &str) -> Value {
    let error = &condition.error;
    let given = error.signal().and_then(|signal| {
        let mut items = signal.items.iter();
        items.find(|(known, _)| &**known == name).map(|(_, value)| value)
    });
    if let Some(given) = given {
        return Value::str(given);
    }
    match name {
        "RETURNED_SQLSTATE" => Value::str(error.sqlstate()),
        "MYSQL_ERRNO" => Value::Int(i64::from(error.code())),
        "MESSAGE_TEXT" => Value::str(error.message()),
        _ if error.signal().is_some() => Value::str(""),
        "CLASS_ORIGIN" => Value::str(origin(error.sqlstate(), 0)),
        "SUBCLASS_ORIGIN" => Value::str(origin(error.sqlstate(), 2)),
        _ => Value::str(""),
    }
}

/// Who has defined a class or a subclass: the standard keeps those that begin so for itself.
fn origin(state: &str, at: usize) -> &'static str {
    match state.as_bytes().get(at) {
        Some(b'0'..=b'4' | b'A'..=b'H') => "ISO 9075",
        _ => "MySQL",
    }
}
