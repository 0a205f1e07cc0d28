//! Parents, children and grandchildren: cascades, and children that come while their parents go.

use super::{Client, Did};
use crate::sql::client::fail;
use crate::workload::Fail;

const PARENTS: i64 = 8;

impl Client<'_> {
    pub(super) fn tree(&mut self) -> Did {
        let (parent, other, n) = (self.one_of(PARENTS), self.one_of(PARENTS), self.number());
        let text = match self.random.below(9) {
            0 | 1 => format!("INSERT INTO sim.parents VALUES ({parent}, {n})"),
            2 | 3 => format!("INSERT INTO sim.children (parent, n) VALUES ({parent}, {n}), ({other}, {n})"),
            4 => format!(
                "INSERT INTO sim.grandchildren (child, n) SELECT id, {n} FROM sim.children WHERE parent = {parent} LIMIT 3"
            ),
            5 => format!("DELETE FROM sim.parents WHERE id = {parent}"),
            6 => format!("UPDATE sim.parents SET id = {other} WHERE id = {parent}"),
            7 => format!("DELETE FROM sim.children WHERE parent = {parent} LIMIT 2"),
            _ => return self.family(parent),
        };
        self.of_tree(&text)
    }

    /// A parent and its children in one transaction.
    fn family(&mut self, parent: i64) -> Did {
        let n = self.number();
        self.in_transaction(|client| {
            client.of_tree(&format!("INSERT INTO sim.parents VALUES ({parent}, {n})"))?;
            client.think();
            client.of_tree(&format!("INSERT INTO sim.children (parent, n) VALUES ({parent}, {n})"))?;
            client.of_tree("INSERT INTO sim.grandchildren (child, n) VALUES (LAST_INSERT_ID(), 1)")
        })
    }

    fn of_tree(&mut self, text: &str) -> Result<(), Fail> {
        // A key is there already, or a parent is not.
        let done = self.send(text, &[1062, 1452]);
        done.map(drop).map_err(|error| fail(&error))
    }
}
