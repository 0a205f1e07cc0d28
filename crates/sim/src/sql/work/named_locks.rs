//! GET_LOCK across nodes, and KILL.

use super::{Client, Did};

impl Client<'_> {
    /// Who has a named lock from its being given to its being given back has it alone.
    pub(super) fn named_lock(&mut self) -> Did {
        let lock = self.one_of(2);
        let given = self.run(&format!("SELECT GET_LOCK('lock {lock}', 1)"))?;
        if given.number(0, 0) != Some(1) {
            return Ok(());
        }
        let since = self.bench.history.tick();
        self.sleep(self.random.below(60));
        let until = self.bench.history.tick();
        let freed = self.run(&format!("SELECT RELEASE_LOCK('lock {lock}')"));
        // Otherwise it was lost meanwhile, which the session has just been told.
        if let Ok(freed) = freed
            && freed.number(0, 0) == Some(1)
        {
            self.bench
                .alone
                .held(lock, since, until, &self.name, &self.bench.report);
        }
        Ok(())
    }

    /// Interrupts a session of whatever node.
    pub(super) fn kill_somebody(&mut self) -> Did {
        let found = self.run("SHOW PROCESSLIST")?;
        let others: Vec<&Vec<String>> = found
            .rows
            .iter()
            .filter(|row| row[0] != self.handle.id.to_string() && row[1] == "root")
            .collect();
        if others.is_empty() {
            return Ok(());
        }
        let id = others[self.random.below(others.len() as u64) as usize][0].clone();
        let what = ["QUERY", "QUERY", "CONNECTION"][self.random.below(3) as usize];
        // It is gone, or its node does not answer.
        let done = self.send(&format!("KILL {what} {id}"), &[1094, 1105]);
        done.map(drop).map_err(|error| crate::sql::client::fail(&error))
    }
}
