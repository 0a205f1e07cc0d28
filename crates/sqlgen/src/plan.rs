//! The statements of one episode, one after the other: a few tables, then queries and changes in turn.

use crate::change;
use crate::query::Generator;
use crate::rng::Rng;
use crate::schema::Schema;

/// What a statement is to the runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Reads: nothing depends on it.
    Query,
    /// What follows depends on it.
    Change,
}

pub struct Episode {
    pub rng: Rng,
    pub schema: Schema,
    /// Statements that were made together.
    waiting: std::collections::VecDeque<String>,
}

impl Episode {
    pub fn new(seed: u64) -> Episode {
        let mut episode = Episode {
            rng: Rng::new(seed),
            schema: Schema::default(),
            waiting: Default::default(),
        };
        for _ in 0..episode.rng.between(2, 3) {
            let statements = episode.schema.create_table(&mut episode.rng);
            episode.waiting.extend(statements);
        }
        episode
    }

    pub fn next(&mut self) -> (String, Role) {
        loop {
            if let Some(sql) = self.waiting.pop_front() {
                return (sql, Role::Change);
            }
            if self.schema.base_tables().is_empty() {
                // Every one was refused.
                let statements = self.schema.create_table(&mut self.rng);
                self.waiting.extend(statements);
                continue;
            }
            match self.rng.below(100) {
                0..=24 => self.waiting.extend(change::change(&mut self.rng, &self.schema)),
                25..=28 => self.waiting.extend(self.schema.change(&mut self.rng)),
                29 if self.schema.tables.len() < 8 => {
                    let query = Generator::new(&mut self.rng, &self.schema).inner_select(1);
                    let name = self.schema.add_view(&query.kinds);
                    self.waiting.push_back(format!("CREATE VIEW {name} AS {}", query.sql));
                }
                _ => return (Generator::new(&mut self.rng, &self.schema).query().sql, Role::Query),
            }
        }
    }

    /// A change that failed leaves the schema as it was.
    pub fn failed(&mut self, sql: &str) {
        if let Some(rest) = sql
            .strip_prefix("CREATE VIEW ")
            .or_else(|| sql.strip_prefix("CREATE TABLE "))
        {
            let name = rest.split(' ').next().unwrap_or_default();
            self.schema.tables.retain(|table| table.name != name);
            self.waiting
                .retain(|waiting| !waiting.contains(&format!(" INTO {name} ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_statements() {
        let (mut one, mut same, mut other) = (Episode::new(5), Episode::new(5), Episode::new(6));
        let all = |episode: &mut Episode| (0..200).map(|_| episode.next().0).collect::<Vec<_>>();
        let first = all(&mut one);
        assert_eq!(first, all(&mut same));
        assert_ne!(first, all(&mut other));
    }
}
