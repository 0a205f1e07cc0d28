//! A queue of jobs in a table: each is taken by one client, once.

use super::appends::end_of;
use super::{Client, Did};

impl Client<'_> {
    pub(super) fn new_jobs(&self) -> Vec<u32> {
        (0..1 + self.random.below(4)).map(|_| self.number()).collect()
    }

    pub(super) fn offer(&mut self) -> Did {
        let jobs = self.new_jobs();
        let rows: Vec<String> = jobs.iter().map(|job| format!("({job})")).collect();
        self.bench.jobs.offering(&jobs);
        let done = self.run(&format!("INSERT INTO sim.jobs (job) VALUES {}", rows.join(", ")));
        self.bench.jobs.offered(&jobs, end_of(&done));
        done.map(drop)
    }

    pub(super) fn take(&mut self) -> Did {
        let mut taken = Vec::new();
        let limit = 1 + self.random.below(3);
        let done = self.in_transaction(|client| {
            let found = client.run(&format!(
                "SELECT id, job FROM sim.jobs ORDER BY id LIMIT {limit} FOR UPDATE SKIP LOCKED"
            ))?;
            client.think();
            for row in &found.rows {
                let (id, job) = (&row[0], &row[1]);
                client.run(&format!("INSERT INTO sim.done (job) VALUES ({job})"))?;
                let gone = client.run(&format!("DELETE FROM sim.jobs WHERE id = {id}"))?;
                if gone.affected_rows != 1 {
                    let name = &client.name;
                    client
                        .bench
                        .report
                        .violation("jobs", format_args!("{name} has locked job {job}, which is not there"));
                }
                taken.extend(job.parse::<u32>());
            }
            Ok(())
        });
        if done.is_ok() {
            self.bench.jobs.taken(&self.name, &taken, &self.bench.report);
        }
        done
    }
}
