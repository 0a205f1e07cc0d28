//! A queue in a table: each job that was offered waits or is done, and it is taken once.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;

use super::history::End;
use crate::report::Report;
use crate::sql::tables::Rows;

#[derive(Default)]
pub struct Jobs {
    offered: Mutex<BTreeMap<u32, End>>,
    /// By whom, of those whose taking was answered.
    taken: Mutex<BTreeMap<u32, String>>,
}

impl Jobs {
    pub fn offering(&self, jobs: &[u32]) {
        self.offered(jobs, End::Unknown);
    }

    pub fn offered(&self, jobs: &[u32], end: End) {
        let mut offered = self.offered.lock();
        offered.extend(jobs.iter().map(|job| (*job, end)));
    }

    pub fn taken(&self, who: &str, jobs: &[u32], report: &Report) {
        let mut taken = self.taken.lock();
        for job in jobs {
            if let Some(before) = taken.insert(*job, who.to_owned()) {
                report.violation(
                    "jobs",
                    format_args!("{who} has taken job {job}, which {before} had taken"),
                );
            }
        }
    }

    /// Of a replica: no job is there twice.
    pub fn look(node: u32, jobs: &Rows, done: &Rows, report: &Report) {
        let mut seen = BTreeSet::new();
        for job in jobs.numbers(1).chain(done.numbers(1)) {
            if !seen.insert(job) {
                report.violation("jobs", format_args!("on node {node} job {job} is there twice"));
            }
        }
    }

    /// At the end.
    pub fn check(&self, jobs: &Rows, done: &Rows, report: &Report) {
        let wrong = |what: String| report.violation("jobs", what);
        let waiting: BTreeSet<i64> = jobs.numbers(1).collect();
        let done: BTreeSet<i64> = done.numbers(1).collect();
        for (job, end) in &*self.offered.lock() {
            let is_there = waiting.contains(&i64::from(*job)) || done.contains(&i64::from(*job));
            match end {
                End::Committed if !is_there => wrong(format!("job {job} was offered, and is lost")),
                End::Failed if is_there => wrong(format!("job {job} was not offered, and is there")),
                _ => {}
            }
        }
        for (job, who) in &*self.taken.lock() {
            if !done.contains(&i64::from(*job)) {
                wrong(format!("{who} has taken job {job}, which is not done"));
            }
        }
    }
}
