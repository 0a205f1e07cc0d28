//! The statements of one episode, one after the other: a few tables, then queries and changes in turn.

use crate::change;
use crate::kind::{self, Kind};
use crate::parameters;
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
    /// Whether one session runs it from end to end, so that statements may depend on what is the session's.
    in_one_session: bool,
}

/// What the session's mode may be instead of the default.
const MODES: &[&str] = &[
    "''",
    "'ANSI_QUOTES,STRICT_TRANS_TABLES,ONLY_FULL_GROUP_BY'",
    "'PIPES_AS_CONCAT,STRICT_TRANS_TABLES,ONLY_FULL_GROUP_BY,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
    "'ONLY_FULL_GROUP_BY,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
    "'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
    "'STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY'",
    "'NO_UNSIGNED_SUBTRACTION,ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES'",
];

impl Episode {
    pub fn new(seed: u64) -> Episode {
        let mut episode = Episode {
            rng: Rng::new(seed),
            schema: Schema::default(),
            waiting: Default::default(),
            in_one_session: false,
        };
        for _ in 0..episode.rng.between(2, 3) {
            let statements = episode.schema.create_table(&mut episode.rng);
            episode.waiting.extend(statements);
        }
        if episode.rng.chance(25) {
            let statements = episode.schema.create_searched_table(&mut episode.rng);
            episode.waiting.extend(statements);
        }
        episode
    }

    /// An episode for one session: with modes, temporary tables and prepared statements of its own.
    pub fn of_one_session(seed: u64) -> Episode {
        let mut episode = Episode::new(seed);
        episode.in_one_session = true;
        if episode.rng.chance(40) {
            let mode = *episode.rng.pick(MODES);
            episode.waiting.push_front(format!("SET SESSION sql_mode = {mode}"));
        }
        episode
    }

    /// A query by PREPARE and EXECUTE, with some of its literals as parameters.
    fn prepared(&mut self, sql: &str) -> bool {
        let Some((text, values)) = parameters::taken_out(&mut self.rng, sql) else {
            return false;
        };
        self.waiting
            .push_back(format!("PREPARE q FROM '{}'", text.replace('\'', "''")));
        let sets = values.iter().enumerate().map(|(at, value)| format!("@p{at} = {value}"));
        let names: Vec<String> = (0..values.len()).map(|at| format!("@p{at}")).collect();
        self.waiting
            .push_back(format!("SET {}", sets.collect::<Vec<_>>().join(", ")));
        self.waiting.push_back(format!("EXECUTE q USING {}", names.join(", ")));
        if self.rng.chance(30) {
            // Once more, a parameter of another type.
            let at = self.rng.below(values.len());
            let kind = *self.rng.pick(&[Kind::Int, Kind::Decimal, Kind::Double, Kind::Text]);
            self.waiting
                .push_back(format!("SET @p{at} = {}", kind::literal(&mut self.rng, kind)));
            self.waiting.push_back(format!("EXECUTE q USING {}", names.join(", ")));
        }
        true
    }

    /// A change by PREPARE and EXECUTE.
    fn prepared_change(&mut self, sql: &str) -> bool {
        let Some((text, values)) = parameters::taken_out(&mut self.rng, sql) else {
            return false;
        };
        let sets = values.iter().enumerate().map(|(at, value)| format!("@p{at} = {value}"));
        let names: Vec<String> = (0..values.len()).map(|at| format!("@p{at}")).collect();
        self.waiting.extend([
            format!("PREPARE c FROM '{}'", text.replace('\'', "''")),
            format!("SET {}", sets.collect::<Vec<_>>().join(", ")),
            format!("EXECUTE c USING {}", names.join(", ")),
        ]);
        true
    }

    pub fn next(&mut self) -> (String, Role) {
        loop {
            if let Some(sql) = self.waiting.pop_front() {
                let reads = ["EXECUTE q", "SELECT "];
                let role = match reads.iter().any(|start| sql.starts_with(start)) {
                    true => Role::Query,
                    false => Role::Change,
                };
                return (sql, role);
            }
            if self.schema.base_tables().is_empty() {
                // Every one was refused.
                let statements = self.schema.create_table(&mut self.rng);
                self.waiting.extend(statements);
                continue;
            }
            match self.rng.below(100) {
                0..=24 => {
                    let changes = change::change(&mut self.rng, &self.schema);
                    if let ([one], true) = (changes.as_slice(), self.in_one_session && self.rng.chance(10))
                        && self.prepared_change(one)
                    {
                        continue;
                    }
                    self.waiting.extend(changes);
                }
                25 if self.in_one_session && self.rng.chance(30) => {
                    let statements = self.schema.create_temporary_table(&mut self.rng);
                    self.waiting.extend(statements);
                }
                26 if self.in_one_session && self.schema.procedures.len() < 5 => {
                    let statements = self.schema.create_procedure(&mut self.rng);
                    self.waiting.extend(statements);
                }
                27 if !self.schema.procedures.is_empty() => {
                    let procedure = self.rng.pick(&self.schema.procedures).clone();
                    self.waiting.extend(procedure.call(&mut self.rng));
                }
                28 if self.schema.tables.len() < 9 && self.rng.chance(50) => {
                    let view = self.schema.create_changeable_view(&mut self.rng);
                    self.waiting.extend(view);
                }
                25..=28 => self.waiting.extend(self.schema.change(&mut self.rng)),
                30 if self.rng.chance(70) => {
                    let trigger = self.schema.create_trigger(&mut self.rng);
                    self.waiting.extend(trigger);
                    self.waiting.extend(self.rng.chance(20).then(|| "SELECT @g".to_owned()));
                }
                31 if self.schema.functions.len() < 4 => {
                    let function = self.schema.create_function(&mut self.rng);
                    self.waiting.push_back(function);
                }
                32 if self.rng.chance(60) => self.waiting.extend(self.schema.change_event(&mut self.rng)),
                29 if self.schema.tables.len() < 8 => {
                    let query = Generator::new(&mut self.rng, &self.schema).inner_select(1);
                    let name = self.schema.add_view(&query.kinds);
                    self.waiting.push_back(format!("CREATE VIEW {name} AS {}", query.sql));
                }
                _ => {
                    let sql = Generator::new(&mut self.rng, &self.schema).query().sql;
                    if self.in_one_session && self.rng.chance(8) && self.prepared(&sql) {
                        continue;
                    }
                    return (sql, Role::Query);
                }
            }
        }
    }

    /// A change that failed leaves the schema as it was.
    pub fn failed(&mut self, sql: &str) {
        if let Some(rest) = sql.strip_prefix("CREATE PROCEDURE ") {
            let name = rest.split('(').next().unwrap_or_default();
            self.schema.procedures.retain(|procedure| procedure.name() != name);
            self.waiting
                .retain(|waiting| !waiting.starts_with(&format!("CALL {name}(")));
        }
        if let Some(rest) = sql.strip_prefix("CREATE FUNCTION ") {
            let name = rest.split('(').next().unwrap_or_default();
            self.schema.functions.retain(|function| function.name != name);
        }
        if let Some(rest) = sql
            .strip_prefix("CREATE VIEW ")
            .or_else(|| sql.strip_prefix("CREATE TABLE "))
            .or_else(|| sql.strip_prefix("CREATE TEMPORARY TABLE "))
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
