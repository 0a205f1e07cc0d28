//! Counters under FOR UPDATE: each number is given once, and none is lost.

use std::collections::HashMap;
use std::sync::Mutex;

use env::SeededRandom;

use super::{Workload, below, locked, mostly_commit, once_in};
use crate::session::{Outcome, Session, Stop};

const COUNTERS: u32 = 3;

#[derive(Default)]
pub struct Counters {
    /// Of each counter the numbers that were taken, and how that ended.
    taken: Mutex<HashMap<u32, Vec<(i64, Outcome)>>>,
}

impl Workload for Counters {
    fn tables(&self) -> Vec<String> {
        let rows: Vec<String> = (1..=COUNTERS).map(|id| format!("({id}, {id}, 0)")).collect();
        vec![
            "CREATE TABLE counters (id INT PRIMARY KEY, k INT NOT NULL, n BIGINT NOT NULL, KEY (k))".to_owned(),
            format!("INSERT INTO counters VALUES {}", rows.join(", ")),
            "CREATE TABLE other (id INT PRIMARY KEY)".to_owned(),
        ]
    }

    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        let id = 1 + below(random, COUNTERS);
        let column = if once_in(random, 2) { "id" } else { "k" };
        let mut number = None;
        let outcome = session.transact(|session| {
            // Then the locking read is not the first.
            if once_in(random, 4) {
                session.rows("SELECT id FROM other")?;
            }
            let read = format!("SELECT n FROM counters WHERE {column} = {id} FOR UPDATE");
            let next = session.number(&read)?.unwrap_or_default() + 1;
            number = Some(next);
            session.change(&format!("UPDATE counters SET n = {next} WHERE {column} = {id}"))?;
            Ok(mostly_commit(random))
        })?;
        if let Some(number) = number {
            locked(&self.taken).entry(id).or_default().push((number, outcome));
        }
        Ok(outcome)
    }

    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop> {
        let mut found = Vec::new();
        for (id, taken) in &mut *locked(&self.taken) {
            taken.sort_unstable_by_key(|(number, _)| *number);
            let committed: Vec<i64> = taken
                .iter()
                .filter(|(_, outcome)| *outcome == Outcome::Committed)
                .map(|(number, _)| *number)
                .collect();
            if let Some(pair) = committed.windows(2).find(|pair| pair[0] == pair[1]) {
                found.push(format!("counter {id} has given {} twice", pair[0]));
            }
            let unknown = taken.iter().filter(|(_, outcome)| *outcome == Outcome::Unknown).count() as i64;
            session.begin()?;
            let now = session.number(&format!("SELECT n FROM counters WHERE id = {id}"))?;
            session.roll_back()?;
            let (now, least) = (now.unwrap_or_default(), committed.len() as i64);
            if now < least || now > least + unknown {
                found.push(format!(
                    "counter {id} is {now} after {least} increments and {unknown} unknown ones"
                ));
            }
        }
        Ok(found)
    }
}
