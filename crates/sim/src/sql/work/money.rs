//! Accounts between which money is moved, and copies of them.

use super::{Client, Did};
use crate::sql::client::fail;
use crate::sql::tables::{ACCOUNTS, BALANCE};
use crate::workload::Fail;

impl Client<'_> {
    pub(super) fn transfer(&mut self) -> Did {
        let (from, to) = (self.one_of(ACCOUNTS), self.one_of(ACCOUNTS));
        let amount = 1 + self.one_of(9);
        if from == to {
            return Ok(());
        }
        if self.random.below(2) == 0 {
            let text = format!(
                "UPDATE sim.accounts SET balance = balance + IF(id = {from}, -{amount}, {amount}) WHERE id IN ({from}, {to})"
            );
            return self.run(&text).map(drop);
        }
        self.in_transaction(|client| {
            for (id, change) in [(from, -amount), (to, amount)] {
                if client.random.below(2) == 0 {
                    client.run(&format!("SELECT balance FROM sim.accounts WHERE id = {id} FOR UPDATE"))?;
                }
                client.run(&format!(
                    "UPDATE sim.accounts SET balance = balance + {change} WHERE id = {id}"
                ))?;
                client.think();
            }
            Ok(())
        })
    }

    pub fn sum(&mut self) -> Did {
        let found = self.run("SELECT SUM(balance), COUNT(*) FROM sim.accounts")?;
        self.check_money("accounts", found.number(0, 0), found.number(0, 1));
        if self.random.below(3) == 0 {
            let found = self.run("SELECT SUM(balance), COUNT(*) FROM sim.copy")?;
            self.check_money("copy", found.number(0, 0), found.number(0, 1));
        }
        Ok(())
    }

    fn check_money(&self, table: &str, sum: Option<i64>, count: Option<i64>) {
        let is_good = match count {
            Some(0) => table == "copy",
            count => count == Some(ACCOUNTS) && sum == Some(ACCOUNTS * BALANCE),
        };
        if !is_good {
            let name = &self.name;
            self.bench.report.violation(
                "bank",
                format_args!("{name} has counted {sum:?} on {count:?} rows of {table}"),
            );
        }
    }

    /// The copy shows the accounts at one moment.
    pub(super) fn copy(&mut self) -> Did {
        match self.random.below(4) {
            0 => self.in_transaction(|client| {
                client.run("DELETE FROM sim.copy")?;
                client.think();
                // Rows of a statement that had begun before may have become visible since.
                let done = client.send("INSERT INTO sim.copy SELECT * FROM sim.accounts", &[1062]);
                done.map(drop).map_err(|error| fail(&error))
            }),
            1 => self
                .send("INSERT INTO sim.copy SELECT * FROM sim.accounts", &[1062])
                .map(drop)
                .map_err(|error| Fail::No(error.to_string())),
            _ => self.run("REPLACE INTO sim.copy SELECT * FROM sim.accounts").map(drop),
        }
    }
}
