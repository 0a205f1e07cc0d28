//! Predicates: rows that come and go in pairs are seen in pairs, and at SERIALIZABLE nobody takes what another has found free.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use env::SeededRandom;

use super::{Findings, Workload, below, mostly_commit, numbers, once_in};
use crate::Level;
use crate::session::{End, Outcome, Session, Stop};

const TAGS: u32 = 4;

/// Pairs of rows.
#[derive(Default)]
pub struct Pairs {
    last_pair: AtomicU32,
    findings: Findings,
}

impl Pairs {
    fn change(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<(), Stop> {
        let is_fixed = matches!(session.level(), Level::RepeatableRead | Level::Serializable);
        let tag = below(random, TAGS);
        let last = self.last_pair.load(Relaxed);
        match below(random, 8) {
            0..3 => {
                let pair = 1 + self.last_pair.fetch_add(1, Relaxed);
                let row = |half| format!("({pair}, {half}, {tag})");
                match once_in(random, 2) {
                    true => {
                        session.change(&format!("INSERT INTO pairs VALUES {}, {}", row(1), row(2)))?;
                    }
                    false => {
                        session.change(&format!("INSERT INTO pairs VALUES {}", row(1)))?;
                        session.change(&format!("INSERT INTO pairs VALUES {}", row(2)))?;
                    }
                }
            }
            // The second row is there already, or is not: then the first is not, either.
            3 => match session.change(&format!(
                "INSERT INTO pairs VALUES (0, {}, {tag}), (0, 0, {tag})",
                1 + last
            )) {
                Err(Stop::Refused(1062)) => {}
                other => return other.map(drop),
            },
            4 | 5 => {
                let pair = last.saturating_sub(below(random, 30));
                session.change(&format!("DELETE FROM pairs WHERE pair = {pair} AND pair > 0"))?;
            }
            // Others may come into the range, which only the whole statement's moment makes even.
            6 if is_fixed => {
                let to = below(random, TAGS);
                session.change(&format!("UPDATE pairs SET tag = {to} WHERE tag = {tag} AND pair > 0"))?;
            }
            _ => {
                let (pair, to) = (last.saturating_sub(below(random, 10)), below(random, TAGS));
                session.change(&format!("UPDATE pairs SET tag = {to} WHERE pair = {pair} AND pair > 0"))?;
            }
        }
        Ok(())
    }

    fn look(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<(), Stop> {
        let is_fixed = matches!(session.level(), Level::RepeatableRead | Level::Serializable);
        let tag = below(random, TAGS);
        let sql = match below(random, 3) {
            0 => format!("SELECT COUNT(*) FROM pairs WHERE tag = {tag} AND pair > 0"),
            1 => format!("SELECT COUNT(*) FROM pairs IGNORE INDEX (tag) WHERE tag = {tag} AND pair > 0"),
            _ => "SELECT COUNT(*) FROM pairs WHERE pair > 0".to_owned(),
        };
        let count = session.number(&sql)?;
        if count.is_none_or(|count| count % 2 != 0) {
            self.findings.add(format!("half a pair: {sql}: {count:?}"));
        }
        if is_fixed {
            let again = session.number(&sql)?;
            if again != count {
                self.findings.add(format!("phantom: {sql}: {count:?}, then {again:?}"));
            }
        }
        Ok(())
    }
}

impl Workload for Pairs {
    fn tables(&self) -> Vec<String> {
        vec![
            "CREATE TABLE pairs (pair INT, half INT, tag INT NOT NULL, PRIMARY KEY (pair, half), KEY (tag))".to_owned(),
            "INSERT INTO pairs VALUES (0, 0, 0)".to_owned(),
        ]
    }

    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        session.transact(|session| {
            match once_in(random, 2) {
                true => self.look(session, random)?,
                false => self.change(session, random)?,
            }
            Ok(mostly_commit(random))
        })
    }

    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop> {
        let mut found = self.findings.take();
        session.begin()?;
        let rows =
            session.rows("SELECT pair, COUNT(*), MIN(tag) = MAX(tag) FROM pairs WHERE pair > 0 GROUP BY pair")?;
        for row in numbers(rows)? {
            if row[1..] != [Some(2), Some(1)] {
                found.push(format!("half a pair is left: {row:?}"));
            }
        }
        let left = session.number("SELECT COUNT(*) FROM pairs WHERE pair = 0")?;
        if left != Some(1) {
            found.push(format!("a statement that failed has left {left:?} rows"));
        }
        session.roll_back()?;
        Ok(found)
    }
}

/// Whoever finds a slot free takes it.
#[derive(Default)]
pub struct Claims {
    begun: AtomicU32,
}

/// Transactions for each slot.
const PER_SLOT: u32 = 6;

impl Workload for Claims {
    fn tables(&self) -> Vec<String> {
        vec!["CREATE TABLE claims (id INT PRIMARY KEY AUTO_INCREMENT, slot INT NOT NULL, KEY (slot))".to_owned()]
    }

    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        let slot = self.begun.fetch_add(1, Relaxed) / PER_SLOT + below(random, 2);
        // Below SERIALIZABLE a row that stands for all slots keeps others away.
        let is_serializable = session.level() == Level::Serializable;
        session.transact(|session| {
            if !is_serializable {
                session.rows("SELECT slot FROM claims WHERE id = 1 FOR UPDATE")?;
            }
            let sql = match once_in(random, 2) {
                true => format!("SELECT COUNT(*) FROM claims WHERE slot = {slot}"),
                false => format!("SELECT COUNT(*) FROM claims IGNORE INDEX (slot) WHERE slot = {slot}"),
            };
            match session.number(&sql)? {
                Some(0) => session.change(&format!("INSERT INTO claims (slot) VALUES ({slot})"))?,
                _ => return Ok(End::RollBack),
            };
            Ok(End::Commit)
        })
    }

    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop> {
        session.begin()?;
        let rows = session.rows("SELECT slot, COUNT(*) FROM claims GROUP BY slot HAVING COUNT(*) > 1")?;
        session.roll_back()?;
        Ok(rows.into_iter().map(|row| format!("claimed twice: {row:?}")).collect())
    }
}
