//! Unique keys and foreign keys: no duplicate, no orphan, and the indexes say what the rows say.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use env::SeededRandom;

use super::{Findings, Workload, below, locked, mostly_commit, numbers, once_in};
use crate::session::{End, Outcome, Session, Stop};

/// Few names, so that they meet.
const NAMES: u32 = 12;

#[derive(Default)]
pub struct UniqueKeys {
    last_id: AtomicU32,
    /// By id: how its insertion has ended. Rows with an odd id are never removed.
    inserted: Mutex<HashMap<u32, Outcome>>,
}

impl UniqueKeys {
    /// An id that nobody else gets, of a row that may be removed.
    fn next_even_id(&self) -> u32 {
        let first = 1 + self.last_id.fetch_add(2, Relaxed);
        first + first % 2
    }
}

impl Workload for UniqueKeys {
    fn tables(&self) -> Vec<String> {
        vec!["CREATE TABLE named (id INT PRIMARY KEY, name INT, k INT NOT NULL, UNIQUE KEY (name), KEY (k))".to_owned()]
    }

    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        let mut ids = Vec::new();
        let outcome = session.transact(|session| {
            for _ in 0..1 + below(random, 2) {
                let (name, k) = (below(random, NAMES), below(random, 5));
                let known = self.last_id.load(Relaxed);
                let id = known.saturating_sub(below(random, 20));
                let changed = match below(random, 8) {
                    0..3 => {
                        let id = 1 + self.last_id.fetch_add(1, Relaxed);
                        let name = if id % 2 == 1 {
                            "NULL".to_owned()
                        } else {
                            name.to_string()
                        };
                        let changed = session.change(&format!("INSERT INTO named VALUES ({id}, {name}, {k})"));
                        ids.extend(changed.is_ok().then_some(id));
                        changed
                    }
                    3 => session.change(&format!(
                        "UPDATE named SET name = {name}, k = {k} WHERE id = {id} AND id % 2 = 0"
                    )),
                    4 => session.change(&format!("UPDATE named SET k = {k} WHERE name = {name}")),
                    5 => session.change(&format!("DELETE FROM named WHERE name = {name}")),
                    6 => session.change(&format!(
                        "INSERT INTO named VALUES ({}, {name}, {k}) ON DUPLICATE KEY UPDATE k = {k}",
                        self.next_even_id()
                    )),
                    _ => session.change(&format!("DELETE FROM named WHERE id = {id} AND id % 2 = 0")),
                };
                match changed {
                    // The statement alone has failed.
                    Err(Stop::Refused(1062)) => {}
                    other => drop(other?),
                }
            }
            Ok(mostly_commit(random))
        })?;
        locked(&self.inserted).extend(ids.into_iter().map(|id| (id, outcome)));
        Ok(outcome)
    }

    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop> {
        let mut found = Vec::new();
        session.begin()?;
        let rows = session.rows("SELECT id, name, k FROM named IGNORE INDEX (name, k) ORDER BY id")?;
        let rows = numbers(rows)?;
        let mut names: Vec<i64> = rows.iter().filter_map(|row| row[1]).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            found.push(format!("two rows have the unique name {}", pair[0]));
        }
        let mut keys: Vec<i64> = rows.iter().filter_map(|row| row[2]).collect();
        keys.sort_unstable();
        for (index, sql, wanted) in [
            (
                "name",
                "SELECT name FROM named FORCE INDEX (name) WHERE name >= 0 ORDER BY name",
                &names,
            ),
            (
                "k",
                "SELECT k FROM named FORCE INDEX (k) WHERE k >= 0 ORDER BY k",
                &keys,
            ),
        ] {
            let entries: Vec<i64> = numbers(session.rows(sql)?)?.into_iter().flatten().flatten().collect();
            if entries != *wanted {
                found.push(format!("the index on {index} has other entries than the rows"));
            }
        }
        session.roll_back()?;
        let there: std::collections::HashSet<i64> = rows.iter().filter_map(|row| row[0]).collect();
        for (id, outcome) in &*locked(&self.inserted) {
            let is_there = there.contains(&i64::from(*id));
            match outcome {
                Outcome::Committed if id % 2 == 1 && !is_there => {
                    found.push(format!("row {id} was inserted and is lost"))
                }
                Outcome::Aborted if is_there => found.push(format!("row {id} was taken back and is there")),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Parents come and go, and so do their children.
#[derive(Default)]
pub struct ForeignKeys {
    last_child: AtomicU32,
    findings: Findings,
}

const PARENTS: u32 = 8;
const ORPHANS: [&str; 2] = [
    "SELECT COUNT(*) FROM children c LEFT JOIN parents p ON p.id = c.parent WHERE p.id IS NULL",
    "SELECT COUNT(*) FROM followers f LEFT JOIN parents p ON p.id = f.parent WHERE p.id IS NULL",
];

impl ForeignKeys {
    fn look(&self, session: &mut Session<'_>) -> Result<(), Stop> {
        for sql in ORPHANS {
            let orphans = session.number(sql)?;
            if orphans != Some(0) {
                self.findings.add(format!("{orphans:?} orphans: {sql}"));
            }
        }
        Ok(())
    }
}

impl Workload for ForeignKeys {
    fn tables(&self) -> Vec<String> {
        let table = |name: &str, rule: &str| {
            format!(
                "CREATE TABLE {name} (id INT PRIMARY KEY, parent INT NOT NULL, FOREIGN KEY (parent) REFERENCES parents (id) {rule})"
            )
        };
        vec![
            "CREATE TABLE parents (id INT PRIMARY KEY)".to_owned(),
            table("children", ""),
            table("followers", "ON DELETE CASCADE ON UPDATE CASCADE"),
        ]
    }

    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        session.transact(|session| {
            if once_in(random, 5) {
                self.look(session)?;
                return Ok(End::Commit);
            }
            for _ in 0..1 + below(random, 2) {
                let (parent, other) = (below(random, PARENTS), below(random, PARENTS));
                let child = 1 + self.last_child.fetch_add(1, Relaxed);
                let changed = session.change(&match below(random, 9) {
                    0 | 1 => format!("INSERT INTO parents VALUES ({parent})"),
                    2 | 3 => format!("DELETE FROM parents WHERE id = {parent}"),
                    4 => format!("UPDATE parents SET id = {other} WHERE id = {parent}"),
                    5 => format!("INSERT INTO children VALUES ({child}, {parent})"),
                    6 => format!("INSERT INTO followers VALUES ({child}, {parent})"),
                    7 => format!("UPDATE followers SET parent = {other} WHERE parent = {parent} LIMIT 2"),
                    _ => format!("DELETE FROM children WHERE parent = {parent} LIMIT 2"),
                });
                match changed {
                    Err(Stop::Refused(1062 | 1451 | 1452)) => {}
                    other => drop(other?),
                }
            }
            Ok(mostly_commit(random))
        })
    }

    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop> {
        session.begin()?;
        self.look(session)?;
        session.roll_back()?;
        Ok(self.findings.take())
    }
}
