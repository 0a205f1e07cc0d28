//! A queue on SKIP LOCKED: each job is taken once, and none is lost.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use env::SeededRandom;

use super::{Workload, locked, mostly_commit, numbers, once_in};
use crate::session::{End, Outcome, Session, Stop};

#[derive(Default)]
pub struct Queue {
    last_job: AtomicU32,
    added: Mutex<Vec<(i64, Outcome)>>,
    /// By job: how those have ended that took it.
    taken: Mutex<HashMap<i64, Vec<Outcome>>>,
}

impl Queue {
    fn add(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        let jobs: Vec<i64> = (0..3)
            .map(|_| 1 + i64::from(self.last_job.fetch_add(1, Relaxed)))
            .collect();
        let rows: Vec<String> = jobs.iter().map(|job| format!("({job}, 0)")).collect();
        let outcome = session.transact(|session| {
            session.change(&format!("INSERT INTO jobs (job, state) VALUES {}", rows.join(", ")))?;
            Ok(mostly_commit(random))
        })?;
        locked(&self.added).extend(jobs.into_iter().map(|job| (job, outcome)));
        Ok(outcome)
    }

    fn take(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        let mut job = None;
        let outcome = session.transact(|session| {
            let order = if once_in(random, 2) { "" } else { " ORDER BY id" };
            let find = format!("SELECT id, job FROM jobs WHERE state = 0{order} LIMIT 1 FOR UPDATE SKIP LOCKED");
            let found = numbers(session.rows(&find)?)?;
            let Some([Some(id), Some(found)]) = found.first().map(|row| &row[..]) else {
                return Ok(End::RollBack);
            };
            job = Some(*found);
            session.change(&match once_in(random, 2) {
                true => format!("DELETE FROM jobs WHERE id = {id}"),
                false => format!("UPDATE jobs SET state = 1 WHERE id = {id}"),
            })?;
            session.change(&format!("INSERT INTO done VALUES ({found})"))?;
            Ok(mostly_commit(random))
        })?;
        if let Some(job) = job {
            locked(&self.taken).entry(job).or_default().push(outcome);
        }
        Ok(outcome)
    }
}

impl Workload for Queue {
    fn tables(&self) -> Vec<String> {
        vec![
            "CREATE TABLE jobs (id INT PRIMARY KEY AUTO_INCREMENT, job INT NOT NULL, state INT NOT NULL, KEY (state))"
                .to_owned(),
            // Without a key that would notice.
            "CREATE TABLE done (job INT NOT NULL)".to_owned(),
        ]
    }

    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        match once_in(random, 3) {
            true => self.add(session, random),
            false => self.take(session, random),
        }
    }

    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop> {
        let mut found = Vec::new();
        let taken = locked(&self.taken);
        for (job, outcomes) in &*taken {
            if outcomes
                .iter()
                .filter(|outcome| **outcome == Outcome::Committed)
                .count()
                > 1
            {
                found.push(format!("job {job} was taken twice"));
            }
        }
        session.begin()?;
        let open = numbers(session.rows("SELECT job FROM jobs WHERE state = 0")?)?;
        let mut open: Vec<i64> = open.into_iter().flatten().flatten().collect();
        let done = numbers(session.rows("SELECT job FROM done")?)?;
        let mut done: Vec<i64> = done.into_iter().flatten().flatten().collect();
        session.roll_back()?;
        open.sort_unstable();
        done.sort_unstable();
        if let Some(pair) = done.windows(2).find(|pair| pair[0] == pair[1]) {
            found.push(format!("job {} was done twice", pair[0]));
        }
        for (job, outcome) in &*locked(&self.added) {
            let is_there = open.binary_search(job).is_ok() || done.binary_search(job).is_ok();
            match outcome {
                Outcome::Committed if !is_there => found.push(format!("job {job} was added and is lost")),
                Outcome::Aborted if is_there => found.push(format!("job {job} was taken back and is there")),
                _ => {}
            }
            if open.binary_search(job).is_ok() && done.binary_search(job).is_ok() {
                found.push(format!("job {job} is done and open"));
            }
        }
        for (job, outcomes) in &*taken {
            let is_done = done.binary_search(job).is_ok();
            if outcomes.contains(&Outcome::Committed) && !is_done {
                found.push(format!("job {job} was taken and is not done"));
            }
            if outcomes.iter().all(|outcome| *outcome == Outcome::Aborted) && is_done {
                found.push(format!("job {job} is done, and nobody has"));
            }
        }
        Ok(found)
    }
}
