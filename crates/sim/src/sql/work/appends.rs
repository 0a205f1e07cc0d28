//! Lists to which numbers are appended, each of them once.

use std::collections::BTreeMap;

use super::{Client, Did};
use crate::invariants::history::End;
use crate::sql::tables::{LISTS, list_of};
use crate::workload::Fail;

impl Client<'_> {
    /// By one statement of its own, which the session may send again and must not apply twice.
    pub fn append(&mut self) -> Did {
        let (list, number) = (self.one_of(LISTS), self.number());
        let text = match self.random.below(3) {
            0 => format!(
                "INSERT INTO sim.lists VALUES ({list}, 1, '{number},') \
                 ON DUPLICATE KEY UPDATE n = n + 1, numbers = CONCAT(numbers, VALUES(numbers))"
            ),
            _ => format!("UPDATE sim.lists SET n = n + 1, numbers = CONCAT(numbers, '{number},') WHERE id = {list}"),
        };
        let attempt = self
            .bench
            .history
            .begin(&self.name, vec![(list, number)], BTreeMap::new());
        let done = self.run(&text);
        self.bench.history.end(attempt, end_of(&done));
        done.map(drop)
    }

    /// To one or two lists, behind what a locking read has found; what a savepoint takes back is never there.
    pub(super) fn append_in_transaction(&mut self) -> Did {
        let (one, other) = (self.one_of(LISTS), self.one_of(LISTS));
        let mut lists = vec![one.min(other), one.max(other)];
        lists.dedup();
        if self.random.below(4) == 0 {
            lists.reverse();
        }
        let appends: Vec<(i64, u32)> = lists.iter().map(|&list| (list, self.number())).collect();
        let (gives_up, goes_back) = (self.random.below(8) == 0, self.random.below(3) == 0);
        let mut attempt = None;
        let done = self.in_transaction(|client| {
            if client.random.below(2) == 0 {
                client.read_one_moment()?;
            }
            let mut behind = BTreeMap::new();
            for &(list, number) in &appends {
                let how = ["FOR UPDATE", "FOR UPDATE", "FOR UPDATE NOWAIT"][client.random.below(3) as usize];
                let found = client.run(&format!("SELECT numbers FROM sim.lists WHERE id = {list} {how}"))?;
                behind.insert(list, list_of(&found.rows[0][0]));
                client.think();
                if goes_back {
                    let lost = client.number();
                    let lost = client.bench.history.never(&client.name, list, lost);
                    client.run("SAVEPOINT here")?;
                    client.run(&format!(
                        "UPDATE sim.lists SET numbers = CONCAT(numbers, '{lost},') WHERE id = {list}"
                    ))?;
                    client.run("ROLLBACK TO SAVEPOINT here")?;
                }
                client.run(&format!(
                    "UPDATE sim.lists SET n = n + 1, numbers = CONCAT(numbers, '{number},') WHERE id = {list}"
                ))?;
                client.think();
            }
            attempt = Some(client.bench.history.begin(&client.name, appends.clone(), behind));
            match gives_up {
                true => Err(Fail::No("it has changed its mind".into())),
                false => Ok(()),
            }
        });
        if let Some(attempt) = attempt {
            self.bench.history.end(attempt, end_of(&done));
        }
        done
    }

    /// All lists at one moment, sometimes twice in one transaction.
    pub(super) fn read_lists(&mut self) -> Did {
        if self.random.below(2) == 0 {
            return self.read_one_moment().map(drop);
        }
        self.in_transaction(|client| {
            let first = client.read_one_moment()?;
            client.sleep(client.random.below(50));
            let again = client.read_one_moment()?;
            if first != again {
                let name = &client.name;
                client.bench.report.violation(
                    "history",
                    format_args!("{name} read in one transaction {first:?}, and then {again:?}"),
                );
            }
            Ok(())
        })
    }

    fn read_one_moment(&mut self) -> Result<BTreeMap<i64, Vec<u32>>, Fail> {
        let begun = self.bench.history.tick();
        let is_in_transaction = self.is_in_transaction();
        let found = self.run("SELECT id, numbers FROM sim.lists")?;
        let lists = found
            .rows
            .iter()
            .filter_map(|row| Some((row[0].parse().ok()?, list_of(&row[1]))));
        let lists: BTreeMap<i64, Vec<u32>> = lists.collect();
        // In a transaction the snapshot may be older than this statement.
        let begun = if is_in_transaction { 0 } else { begun };
        self.bench.history.read(&self.name, begun, lists.clone());
        Ok(lists)
    }
}

pub(super) fn end_of<T>(done: &Result<T, Fail>) -> End {
    match done {
        Ok(_) => End::Committed,
        Err(Fail::No(_)) => End::Failed,
        Err(Fail::Unknown(_)) => End::Unknown,
    }
}
