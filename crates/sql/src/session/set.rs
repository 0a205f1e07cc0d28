//! `SET` of variables, names and transaction characteristics.

use std::sync::Arc;

use parser::ast::{self, SetItem, VarScope};
use transaction::Durability;
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::Session;
use super::parameters::Parameters;
use super::persist::{Committed, Lasts};
use crate::expr::Services;
use crate::expr::context::{RandomSeed, UserVariable};
use crate::expr::sql_mode::SqlMode;
use crate::host::Host;
use crate::names::{charset_by_name, collation_by_name};
use crate::variables::{self, Isolation, Origin, Scope, VariableId};

/// One assignment whose value is known.
enum Assignment {
    User {
        name: String,
        value: UserVariable,
    },
    System {
        scope: Option<VarScope>,
        id: VariableId,
        value: Option<Value>,
    },
    Names {
        charset: String,
        collation: Option<String>,
    },
    /// `SET CHARACTER SET`
    CharacterSet(String),
}

impl Assignment {
    /// The value that is to be committed, if it is.
    fn committed(&self, of_cluster: bool) -> SqlResult<Option<Committed>> {
        let Assignment::System { scope, id, value } = self else {
            return Ok(None);
        };
        let lasts = match scope {
            Some(VarScope::Persist) => Lasts::FromNowOn,
            Some(VarScope::PersistOnly) => Lasts::FromNextStart,
            Some(VarScope::Global) if of_cluster && !id.definition().is_of_node() => Lasts::Run,
            Some(VarScope::Global | VarScope::Session) | None => return Ok(None),
        };
        let value = global_value(*id, value.as_ref())?;
        Ok(Some(Committed { id: *id, value, lasts }))
    }
}

/// The text of a value for everybody; DEFAULT is the one that was compiled in.
fn global_value(id: VariableId, value: Option<&Value>) -> SqlResult<Arc<str>> {
    match value {
        None => Ok(id.definition().default.into()),
        Some(value) => id.definition().parse(value),
    }
}

impl Session {
    /// `SET …`: all values are computed, then all are set; an error leaves everything as it was, as far as values can tell.
    pub(crate) fn set(&mut self, items: &[SetItem], parameters: Parameters<'_>, host: &dyn Host) -> SqlResult<()> {
        let mut assignments = Vec::with_capacity(items.len());
        for item in items {
            let assignment = self.assignment(item, parameters, host)?;
            self.check(&assignment)?;
            self.warn_of_range(&assignment)?;
            assignments.push(assignment);
        }
        // In the order of the statement; neighbours are committed together.
        let of_cluster = self.engine.other_nodes().is_some();
        let mut committed = Vec::new();
        for assignment in assignments {
            match assignment.committed(of_cluster)? {
                Some(value) => committed.push(value),
                None => {
                    self.commit_variables(&std::mem::take(&mut committed), host)?;
                    self.apply(assignment, host)?;
                }
            }
        }
        self.commit_variables(&committed, host)
    }

    fn assignment(&mut self, item: &SetItem, parameters: Parameters<'_>, host: &dyn Host) -> SqlResult<Assignment> {
        Ok(match item {
            SetItem::UserVar { name, value } => Assignment::User {
                name: name.to_lowercase(),
                value: self.evaluate_typed(value, parameters, host)?,
            },
            // The program takes its own variables out of a SET.
            SetItem::Local { target, .. } => {
                return Err(SqlError::new(ErrorKind::SpUndeclaredVar, &[&target.name.as_str()]));
            }
            SetItem::Variable {
                scope,
                component,
                name,
                value,
            } => {
                let id = match component {
                    None => variables::find(name)?,
                    Some(component) => variables::find(&format!("{}.{}", &**component, &**name))?,
                };
                let value = match value {
                    ast::Expr::Default => None,
                    // A bare word: `SET NAMES`-like values, ON, OFF.
                    ast::Expr::Column(word) if word.table.is_none() => Some(Value::str(&word.name)),
                    value => Some(self.evaluate(value, parameters, host)?),
                };
                Assignment::System {
                    scope: *scope,
                    id,
                    value,
                }
            }
            SetItem::Names { charset, collation } => Assignment::Names {
                charset: charset.as_str().to_owned(),
                collation: collation.as_ref().map(|collation| collation.as_str().to_owned()),
            },
            SetItem::NamesDefault => Assignment::Names {
                charset: "utf8mb4".into(),
                collation: None,
            },
            SetItem::CharacterSet(charset) => Assignment::CharacterSet(
                charset
                    .as_ref()
                    .map_or("utf8mb4".into(), |charset| charset.as_str().to_owned()),
            ),
        })
    }

    /// Refuses what cannot be set before anything is.
    fn check(&self, assignment: &Assignment) -> SqlResult<()> {
        match assignment {
            Assignment::User { .. } => Ok(()),
            Assignment::Names { charset, collation } => {
                let charset = charset_by_name(charset)?;
                match collation {
                    None => Ok(()),
                    Some(name) if collation_by_name(name)?.charset() == charset => Ok(()),
                    Some(name) => Err(SqlError::new(
                        ErrorKind::CollationCharsetMismatch,
                        &[name, &charset.name()],
                    )),
                }
            }
            Assignment::CharacterSet(charset) => charset_by_name(charset).map(|_| ()),
            Assignment::System { scope, id, value } => {
                let variable = id.definition();
                let global = matches!(
                    scope,
                    Some(VarScope::Global | VarScope::Persist | VarScope::PersistOnly)
                );
                if variable.read_only {
                    let kind = match scope {
                        Some(VarScope::PersistOnly) => "non persistent read only",
                        _ => "read only",
                    };
                    let names: [&dyn std::fmt::Display; 2] = [&variable.name, &kind];
                    return Err(SqlError::new(ErrorKind::IncorrectGlobalLocalVar, &names));
                }
                match variable.scope {
                    Scope::Global if !global => {
                        return Err(SqlError::new(ErrorKind::GlobalVariable, &[&variable.name]));
                    }
                    // A session's buffers have the size that they were made with.
                    Scope::Both if !global && matches!(variable.name, "max_allowed_packet" | "net_buffer_length") => {
                        let names: [&dyn std::fmt::Display; 3] = [&"SESSION", &variable.name, &"SET GLOBAL"];
                        return Err(SqlError::new(ErrorKind::VariableIsReadonly, &names));
                    }
                    Scope::Session if global => {
                        return Err(SqlError::new(ErrorKind::LocalVariable, &[&variable.name]));
                    }
                    _ => {}
                }
                if variable.name == "durability" {
                    self.check_durability(value.as_ref())?;
                }
                if variable.name == "partial_revokes" {
                    self.check_partial_revokes(value.as_ref())?;
                }
                if scope.is_none() && is_transaction_characteristic(variable.name) && self.transaction.in_transaction()
                {
                    return Err(ErrorKind::CantChangeTxCharacteristics.into());
                }
                match value {
                    None => Ok(()),
                    Some(value) => {
                        let text = variable.parse(value)?;
                        self.variables.settings.clone().note(variable.name, &text)
                    }
                }
            }
        }
    }

    /// 1235 for a weaker level than that of the disks of a majority, where there are other nodes.
    fn check_durability(&self, value: Option<&Value>) -> SqlResult<()> {
        let Some(value) = value else { return Ok(()) };
        let level = variables::find("durability")?.definition().parse(value)?;
        match variables::durability_named(&level) {
            Durability::MajorityDisk => Ok(()),
            Durability::MajorityMemory | Durability::LocalDisk if self.engine.other_nodes().is_none() => Ok(()),
            level @ (Durability::MajorityMemory | Durability::LocalDisk) => Err(SqlError::not_supported(format!(
                "durability {} on a node of a cluster",
                level.name()
            ))),
        }
    }

    /// 3896 for an end to partial revokes while there are some.
    fn check_partial_revokes(&self, value: Option<&Value>) -> SqlResult<()> {
        let variable = variables::find("partial_revokes")?.definition();
        let is_off = match value {
            None => true,
            Some(value) => &*variable.parse(value)? == "OFF",
        };
        match is_off
            && self
                .engine
                .catalog()
                .accounts()
                .any(|account| !account.restrictions.is_empty())
        {
            true => Err(ErrorKind::PartialRevokesExist.into()),
            false => Ok(()),
        }
    }

    /// 1292 for a number beyond a variable's range; 1231 where `sql_mode` takes no such numbers.
    fn warn_of_range(&mut self, assignment: &Assignment) -> SqlResult<()> {
        let Assignment::System {
            id, value: Some(value), ..
        } = assignment
        else {
            return Ok(());
        };
        let variable = id.definition();
        if !variable.clamps(value) {
            return Ok(());
        }
        let names: [&dyn std::fmt::Display; 2] = [&variable.name, value];
        if self.variables.settings.sql_mode().has(SqlMode::STRICT_ALL_TABLES) {
            return Err(SqlError::new(ErrorKind::WrongValueForVar, &names));
        }
        let warning = SqlError::new(ErrorKind::TruncatedWrongValue, &names);
        self.warnings.push(types::Severity::Warning, warning);
        Ok(())
    }

    fn apply(&mut self, assignment: Assignment, host: &dyn Host) -> SqlResult<()> {
        match assignment {
            Assignment::User { name, value } => {
                self.services(host).set_user_variable(&name, value);
                Ok(())
            }
            Assignment::Names { charset, collation } => {
                self.set_variable("character_set_client", &charset)?;
                self.set_variable("character_set_results", &charset)?;
                self.set_variable("character_set_connection", &charset)?;
                match collation {
                    Some(collation) => self.set_variable("collation_connection", &collation),
                    None => Ok(()),
                }
            }
            Assignment::CharacterSet(charset) => {
                self.set_variable("character_set_client", &charset)?;
                self.set_variable("character_set_results", &charset)?;
                let database = self.variables.get(variables::find("collation_database")?);
                self.set_variable("collation_connection", &database)
            }
            Assignment::System { scope, id, value } => self.set_system(scope, id, value, host),
        }
    }

    fn set_system(
        &mut self,
        scope: Option<VarScope>,
        id: VariableId,
        value: Option<Value>,
        host: &dyn Host,
    ) -> SqlResult<()> {
        let variable = id.definition();
        if scope == Some(VarScope::Global) {
            let text = global_value(id, value.as_ref())?;
            return self.set_global(id, text, host);
        }
        // `SET @@transaction_isolation = …` without SESSION is for the next transaction only.
        if scope.is_none()
            && matches!(variable.name, "transaction_isolation" | "tx_isolation")
            && let Some(value) = &value
        {
            return self
                .transaction
                .set_next(Some(Isolation::by_name(&variable.parse(value)?)), None);
        }
        if scope.is_none()
            && variable.name == "durability"
            && let Some(value) = &value
        {
            let level = variables::durability_named(&variable.parse(value)?);
            return self.transaction.set_next_durability(level);
        }
        if self.transaction.is_part() {
            if variable.name == "autocommit" {
                return Err(ErrorKind::SpCantSetAutocommit.into());
            }
            self.programs.has_set = true;
        }
        if variable.name == "xa_detach_on_prepare" && self.transaction.in_transaction() {
            return Err(SqlError::new(
                ErrorKind::VariableNotSettableInTransaction,
                &[&variable.name],
            ));
        }
        let was_autocommit = self.variables.settings.autocommit;
        match value {
            None => self.variables.set_default(id, self.engine.clone().globals())?,
            Some(value) => {
                let text = variable.parse(&value)?;
                let seed = match variable.name {
                    "rand_seed1" => Some(RandomSeed::First),
                    "rand_seed2" => Some(RandomSeed::Second),
                    _ => None,
                };
                // The variables themselves always read as 0.
                if let Some(which) = seed {
                    let seed = text.parse().unwrap_or(0);
                    self.state.random().set_seed(which, seed);
                    return Ok(());
                }
                self.variables.set(id, text)?;
                if let "last_insert_id" | "identity" = variable.name {
                    match value {
                        Value::Int(id) => self.state.last_insert_id.set(id as u64),
                        Value::UInt(id) => self.state.last_insert_id.set(id),
                        _ => {}
                    }
                }
            }
        }
        // Autocommit on ends the open transaction.
        if self.variables.settings.autocommit && !was_autocommit {
            let committed = self.transaction.commit(host);
            if committed.is_err() && self.transaction.xa().is_some() {
                self.variables.set(id, "OFF".into())?;
            }
            committed?;
        }
        Ok(())
    }

    fn set_global(&mut self, id: VariableId, value: Arc<str>, host: &dyn Host) -> SqlResult<()> {
        if self.engine.other_nodes().is_some() && !id.definition().is_of_node() {
            let lasts = Lasts::Run;
            return self.commit_variables(&[Committed { id, value, lasts }], host);
        }
        let (user, from) = self.set_by(host);
        let origin = Origin::Statement {
            at: self.engine.clock_micros(),
            user,
            host: from,
        };
        self.engine.globals().set(id, value, origin)
    }

    fn set_variable(&mut self, name: &str, value: &str) -> SqlResult<()> {
        let id = variables::find(name)?;
        let text = id.definition().parse(&Value::str(value))?;
        self.variables.set(id, text)
    }

    /// `SET [SESSION|GLOBAL] TRANSACTION …`
    pub(crate) fn set_transaction(&mut self, set: &ast::SetTransaction, host: &dyn Host) -> SqlResult<()> {
        let isolation = set.isolation.map(|level| match level {
            ast::IsolationLevel::ReadUncommitted => "READ-UNCOMMITTED",
            ast::IsolationLevel::ReadCommitted => "READ-COMMITTED",
            ast::IsolationLevel::RepeatableRead => "REPEATABLE-READ",
            ast::IsolationLevel::Serializable => "SERIALIZABLE",
        });
        let read_only = set.access.map(|access| {
            if access == ast::AccessMode::ReadOnly {
                "ON"
            } else {
                "OFF"
            }
        });
        let moment = match (&set.as_of, set.scope) {
            (None, _) => None,
            (Some(moment), None) if !self.transaction.in_transaction() => {
                Some(self.past_of(moment, Parameters::NONE, host)?)
            }
            (Some(_), None) => return Err(ErrorKind::CantChangeTxCharacteristics.into()),
            (Some(_), Some(_)) => {
                return Err(SqlError::not_supported(
                    "AS OF TIMESTAMP for more than the next transaction",
                ));
            }
        };
        match set.scope {
            None => {
                self.transaction
                    .set_next(isolation.map(Isolation::by_name), set.access)?;
                if let Some(moment) = moment {
                    self.transaction.set_next_moment(moment);
                }
                Ok(())
            }
            Some(VarScope::Global) => {
                for (name, value) in [
                    ("transaction_isolation", isolation),
                    ("transaction_read_only", read_only),
                ] {
                    if let Some(value) = value {
                        self.set_global(variables::find(name)?, value.into(), host)?;
                    }
                }
                Ok(())
            }
            Some(VarScope::Persist | VarScope::PersistOnly) => Err(ErrorKind::PersistTransactionIsolation.into()),
            Some(VarScope::Session) => {
                for (name, value) in [
                    ("transaction_isolation", isolation),
                    ("transaction_read_only", read_only),
                ] {
                    if let Some(value) = value {
                        self.set_variable(name, value)?;
                    }
                }
                Ok(())
            }
        }
    }
}

fn is_transaction_characteristic(name: &str) -> bool {
    matches!(
        name,
        "transaction_isolation" | "tx_isolation" | "transaction_read_only" | "tx_read_only" | "durability"
    )
}
