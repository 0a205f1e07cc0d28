//! Transfers between accounts of two tables: the sum stays, in each moment that anybody sees.

use env::SeededRandom;

use super::{Findings, Workload, below, mostly_commit, numbers, once_in};
use crate::Level;
use crate::session::{Outcome, Session, Stop};

const ACCOUNTS: u32 = 6;
const OPENING: i64 = 100;
const TOTAL: i64 = 2 * ACCOUNTS as i64 * OPENING;
const TABLES: [&str; 2] = ["left_accounts", "right_accounts"];

#[derive(Default)]
pub struct Bank {
    findings: Findings,
}

impl Bank {
    fn transfer(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<(), Stop> {
        let account = || (TABLES[below(random, 2) as usize], 1 + below(random, ACCOUNTS));
        let (from, to, amount) = (account(), account(), below(random, 20));
        let change = |(table, id): (&str, u32), sign: char| {
            format!("UPDATE {table} SET balance = balance {sign} {amount} WHERE id = {id}")
        };
        // Where nothing else keeps others away, the balance is read with a lock.
        let is_plain = once_in(random, 2) && matches!(session.level(), Level::RepeatableRead | Level::Serializable);
        let lock = if is_plain { "" } else { " FOR UPDATE" };
        match below(random, 3) {
            0 => {
                session.change(&change(from, '-'))?;
                session.change(&change(to, '+'))?;
            }
            1 if from.0 == to.0 && from.1 != to.1 => {
                let table = from.0;
                let (from, to) = (from.1, to.1);
                session.change(&format!(
                    "UPDATE {table} SET balance = balance + IF(id = {from}, -{amount}, {amount}) WHERE id IN ({from}, {to})"
                ))?;
            }
            _ if from != to => {
                let mut balances = Vec::new();
                for (table, id) in [from, to] {
                    let sql = format!("SELECT balance FROM {table} WHERE id = {id}{lock}");
                    let balance = session.number(&sql)?;
                    balances.push(balance.ok_or_else(|| Stop::Unexpected(format!("{sql}: no row")))?);
                }
                let amount = i64::from(amount);
                for ((table, id), balance) in [(from, balances[0] - amount), (to, balances[1] + amount)] {
                    session.change(&format!("UPDATE {table} SET balance = {balance} WHERE id = {id}"))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn sum(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<(), Stop> {
        let is_fixed = matches!(session.level(), Level::RepeatableRead | Level::Serializable);
        let total = match below(random, 3) {
            0 if is_fixed => {
                let mut total = 0;
                for table in TABLES {
                    for row in numbers(session.rows(&format!("SELECT balance FROM {table}"))?)? {
                        total += row.into_iter().flatten().sum::<i64>();
                    }
                }
                total
            }
            1 => {
                let rows =
                    session.rows("SELECT balance FROM left_accounts UNION ALL SELECT balance FROM right_accounts")?;
                numbers(rows)?.into_iter().flatten().flatten().sum()
            }
            _ => {
                let sum = "SELECT (SELECT SUM(balance) FROM left_accounts) + (SELECT SUM(balance) FROM right_accounts)";
                session.number(sum)?.unwrap_or_default()
            }
        };
        if total != TOTAL {
            self.findings.add(format!("the sum is {total} instead of {TOTAL}"));
        }
        Ok(())
    }
}

impl Workload for Bank {
    fn tables(&self) -> Vec<String> {
        let rows: Vec<String> = (1..=ACCOUNTS).map(|id| format!("({id}, {OPENING})")).collect();
        let table = |name: &&str| {
            [
                format!("CREATE TABLE {name} (id INT PRIMARY KEY, balance BIGINT NOT NULL)"),
                format!("INSERT INTO {name} VALUES {}", rows.join(", ")),
            ]
        };
        TABLES.iter().flat_map(table).collect()
    }

    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        session.transact(|session| {
            match below(random, 3) {
                0 => self.sum(session, random)?,
                1 => self.transfer(session, random)?,
                _ => {
                    self.transfer(session, random)?;
                    session.change("SAVEPOINT s")?;
                    session.change("UPDATE left_accounts SET balance = balance + 1000 WHERE id = 1")?;
                    session.change("ROLLBACK TO SAVEPOINT s")?;
                }
            }
            Ok(mostly_commit(random))
        })
    }

    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop> {
        session.begin()?;
        self.sum(session, &SeededRandom::new(1))?;
        session.roll_back()?;
        Ok(self.findings.take())
    }
}
