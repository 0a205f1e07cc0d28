//! Global variables of a cluster.
//!
//! On a node of a cluster they are rows of the catalog: SET GLOBAL commits one, and whoever applies it has the value. So all nodes agree, one
//! that joins or comes back has what the others have, and a change that locks anything after SET GLOBAL has been answered obeys it. Sending values
//! from node to node would leave one behind that was out of reach for a moment.
//!
//! A row lasts as long as the cluster runs: the first node that starts when no other serves puts the persisted values in the place of all
//! ([`Engine::enter_cluster`](crate::engine::Engine::enter_cluster)).
//!
//! What is about one node stays its own: what it tells of itself, and what only this process is to do.

use std::sync::Arc;

use catalog::{Catalog, GlobalVariable};

use super::persisted::read;
use super::{Globals, Origin, VARIABLES, Variable, VariableId, find, put};

impl Variable {
    /// Whether each node has its own value.
    pub fn is_of_node(&self) -> bool {
        self.read_only || self.name == "debug"
    }
}

impl Globals {
    /// Tells what the node knows of itself.
    pub fn describe(&self, name: &str, value: &str) {
        let Ok(id) = find(name) else { return };
        let mut values = self.values.write();
        let mut changed = values.to_vec();
        changed[id.0] = value.into();
        *values = changed.into();
    }

    /// From now on the values are those of the catalog.
    pub(crate) fn begin_to_follow(&self) {
        self.followed.lock().get_or_insert(0);
    }

    /// Takes over the values of a catalog, the oldest first, since one may change another. What this version cannot take keeps its default.
    pub(crate) fn follow(&self, catalog: &Catalog) {
        let mut followed = self.followed.lock();
        match &mut *followed {
            Some(version) if *version <= catalog.version() => *version = catalog.version(),
            _ => return,
        }
        let mut rows: Vec<&Arc<GlobalVariable>> = catalog.global_variables().collect();
        rows.sort_by_key(|row| row.set.set_at);
        let mut values = self.values.write();
        let mut origins = self.origins.write();
        let is_own = |id: &VariableId| id.definition().is_of_node();
        let default = |id: VariableId| match is_own(&id) {
            true => values[id.0].clone(),
            false => Arc::from(VARIABLES[id.0].default),
        };
        let mut changed: Vec<Arc<str>> = VariableId::all().map(default).collect();
        origins.retain(|id, _| is_own(id));
        for row in rows {
            let taken = read(&row.set).and_then(|(id, value)| put(&mut changed, id, value).map(|()| id));
            let origin = match row.by_start {
                true => Origin::Persisted(Arc::new(row.set.clone())),
                false => Origin::Statement {
                    at: row.set.set_at,
                    user: row.set.user.clone(),
                    host: row.set.host.clone(),
                },
            };
            match taken {
                Ok(id) => drop(origins.insert(id, origin)),
                Err(error) => {
                    let (variable, value) = (&row.set.name, &row.set.value);
                    tracing::warn!(variable, value, %error, "a variable of the cluster keeps its default here");
                }
            }
        }
        *values = changed.into();
        self.mirror(&values);
    }
}

#[cfg(test)]
mod tests {
    use catalog::{CatalogEdit, PersistedVariable};

    use super::*;
    use crate::variables::WriteBarrier;

    fn catalog(set: &[(&str, &str)]) -> Catalog {
        let mut edit = CatalogEdit::new(Arc::default());
        for ((name, value), set_at) in set.iter().zip(1..) {
            let set = PersistedVariable {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
                set_at,
                user: "root".to_owned(),
                host: "localhost".to_owned(),
            };
            edit.put_global(GlobalVariable { set, by_start: false });
        }
        edit.catalog().clone()
    }

    fn value(globals: &Globals, name: &str) -> String {
        globals.get(find(name).unwrap()).to_string()
    }

    #[test]
    fn the_values_are_those_of_the_catalog_and_the_nodes_own_stay() {
        let globals = Globals::default();
        globals.describe("server_id", "3");
        globals.follow(&catalog(&[("max_connections", "7")]));
        assert_eq!(value(&globals, "max_connections"), "10000", "a node alone has its own");
        globals.begin_to_follow();
        globals.follow(&catalog(&[
            ("super_read_only", "ON"),
            ("max_connections", "7"),
            ("gone", "1"),
        ]));
        assert_eq!(value(&globals, "max_connections"), "7");
        assert_eq!(globals.write_barrier(), WriteBarrier::SuperReadOnly);
        globals.follow(&catalog(&[("super_read_only", "ON"), ("read_only", "OFF")]));
        assert_eq!(globals.write_barrier(), WriteBarrier::None, "the later one counts");
        assert_eq!(value(&globals, "max_connections"), "10000");
        assert_eq!(value(&globals, "server_id"), "3");
    }
}
