//! Values that a start gives to variables: `SET PERSIST` has put them into the catalog.

use std::sync::Arc;

use catalog::{Catalog, PersistedVariable};
use types::{ErrorKind, SqlError, SqlResult, Value};

use super::{Globals, Kind, Origin, Settings, Variable, VariableId, find};

impl Globals {
    /// Before anybody is served: takes the values over, the oldest first, since one may change another. What this version cannot
    /// take keeps its default.
    pub fn restore(&self, catalog: &Catalog) {
        let mut variables: Vec<&Arc<PersistedVariable>> = catalog.persisted_variables().collect();
        variables.sort_by_key(|variable| variable.set_at);
        for variable in variables {
            if let Err(error) = self.restore_one(variable) {
                tracing::warn!(variable = variable.name, value = variable.value, %error, "a persisted variable keeps its default");
            }
        }
    }

    fn restore_one(&self, persisted: &Arc<PersistedVariable>) -> SqlResult<()> {
        let (id, value) = read(persisted)?;
        self.set(id, value, Origin::Persisted(persisted.clone()))
    }
}

pub(super) fn read(persisted: &PersistedVariable) -> SqlResult<(VariableId, Arc<str>)> {
    let id = find(&persisted.name)?;
    let variable = id.definition();
    if variable.read_only {
        return Err(SqlError::new(
            ErrorKind::IncorrectGlobalLocalVar,
            &[&variable.name, &"read only"],
        ));
    }
    let value = variable.parse(&variable.shown(&persisted.value))?;
    Settings::default().note(variable.name, &value)?;
    Ok((id, value))
}

impl Variable {
    /// A value as SET takes it that is shown as `text`.
    fn shown(&self, text: &str) -> Value {
        let number = match self.kind {
            Kind::Int { .. } | Kind::ZeroOr { .. } => text.parse().map(Value::UInt).ok(),
            Kind::Double => text.parse().map(Value::Double).ok(),
            Kind::Bool | Kind::Only(_) | Kind::Text | Kind::Enum(_) | Kind::Flags(_) => None,
        };
        match text {
            "NULL" if self.name == "character_set_results" => Value::Null,
            text => number.unwrap_or_else(|| Value::str(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::Scope;

    fn persisted(name: &str, value: &str) -> PersistedVariable {
        PersistedVariable {
            name: name.into(),
            value: value.into(),
            set_at: 0,
            user: String::new(),
            host: String::new(),
        }
    }

    #[test]
    fn every_default_can_be_read_back() {
        for id in VariableId::all() {
            let variable = id.definition();
            if variable.read_only || variable.scope == Scope::Session {
                continue;
            }
            let (found, value) = read(&persisted(variable.name, variable.default)).expect(variable.name);
            assert_eq!((found, &*value), (id, variable.default), "{}", variable.name);
        }
    }

    #[test]
    fn what_another_version_persisted_is_no_obstacle() {
        for (name, value) in [
            ("gone", "1"),
            ("max_connections", "many"),
            ("time_zone", "Mars"),
            ("version", "1"),
        ] {
            assert!(read(&persisted(name, value)).is_err(), "{name}");
        }
        assert_eq!(&*read(&persisted("max_connections", "99999999")).unwrap().1, "100000");
    }
}
