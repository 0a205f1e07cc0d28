//! What clients do, and what has to hold of it.

mod bank;
mod counters;
mod fork;
mod items;
mod keys;
mod predicate;
mod queue;

use std::sync::{Mutex, MutexGuard, PoisonError};

use env::SeededRandom;

use crate::session::{End, Outcome, Rows, Session, Stop};

pub use bank::Bank;
pub use counters::Counters;
pub use fork::Fork;
pub use items::Items;
pub use keys::{ForeignKeys, UniqueKeys};
pub use predicate::{Claims, Pairs};
pub use queue::Queue;

/// Many clients run its transactions; what they see is kept, and judged in the end.
pub trait Workload: Sync {
    fn tables(&self) -> Vec<String>;

    /// One transaction of one client. An error is a finding.
    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String>;

    /// What is wrong, when all clients have ended.
    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop>;
}

/// Makes a workload for a round of so many transactions.
pub type Make = fn(transactions: u32) -> Box<dyn Workload>;

/// All of them, by name.
pub const WORKLOADS: [(&str, Make); 10] = [
    ("list-append", |transactions| Box::new(Items::lists(transactions))),
    ("registers", |transactions| Box::new(Items::registers(transactions))),
    ("bank", |_| Box::new(Bank::default())),
    ("counters", |_| Box::new(Counters::default())),
    ("queue", |_| Box::new(Queue::default())),
    ("long-fork", |_| Box::new(Fork::default())),
    ("pairs", |_| Box::new(Pairs::default())),
    ("claims", |_| Box::new(Claims::default())),
    ("unique-keys", |_| Box::new(UniqueKeys::default())),
    ("foreign-keys", |_| Box::new(ForeignKeys::default())),
];

/// A random number from 0 to below the limit.
fn below(random: &SeededRandom, limit: u32) -> u32 {
    random.below(u64::from(limit)) as u32
}

/// How a transaction ends: one in ten takes everything back.
fn mostly_commit(random: &SeededRandom) -> End {
    match once_in(random, 10) {
        true => End::RollBack,
        false => End::Commit,
    }
}

/// True once in so many times.
fn once_in(random: &SeededRandom, times: u32) -> bool {
    below(random, times) == 0
}

/// The findings of a running workload.
#[derive(Default)]
struct Findings(Mutex<Vec<String>>);

impl Findings {
    fn add(&self, finding: String) {
        locked(&self.0).push(finding);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut locked(&self.0))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rows of numbers; NULL is none.
fn numbers(rows: Rows) -> Result<Vec<Vec<Option<i64>>>, Stop> {
    let parse = |cell: Option<String>| match cell.map(|text| text.parse()).transpose() {
        Ok(number) => Ok(number),
        Err(_) => Err(Stop::Unexpected("a number was expected".to_owned())),
    };
    rows.into_iter()
        .map(|row| row.into_iter().map(parse).collect())
        .collect()
}
