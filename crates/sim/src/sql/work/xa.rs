//! XA transactions that append to a list: some are ended by the client that has prepared them, the others by whoever finds them, on any node.

use std::collections::BTreeMap;

use super::{Client, Did};
use crate::invariants::history::End;
use crate::sql::client::fail;
use crate::sql::tables::LISTS;
use crate::workload::Fail;

/// Not all nodes speak the feature level.
const NOT_YET: u16 = 1235;
/// There is no such transaction: it has ended.
const NOT_THERE: u16 = 1397;
/// What else a transaction says that can only be rolled back, or that another session is about to end.
const IN_VAIN: &[u16] = &[NOT_THERE, 1398, 1399, 1400, 1401, 1402, 1613, 1614];

impl Client<'_> {
    pub(super) fn append_by_xa(&mut self) -> Did {
        let (list, number) = (self.one_of(LISTS), self.number());
        let name = format!("xa{number}");
        match self.send(&format!("XA START '{name}'"), &[NOT_YET]) {
            Err(error) if error.code() == NOT_YET => return Ok(()),
            begun => begun.map_err(|error| fail(&error))?,
        };
        let attempt = self
            .bench
            .history
            .begin(&self.name, vec![(list, number)], BTreeMap::new());
        self.bench.prepared.begin(&name, attempt);
        if let Err(fail) = self.prepare(&name, list, number) {
            // Nothing is known where PREPARE has failed: then it may be found.
            drop(self.send(&format!("XA END '{name}'"), IN_VAIN));
            let undone = self.end_one(&name, false);
            self.leaves = undone.is_err();
            return Err(fail);
        }
        self.think();
        match self.random.below(3) {
            // Somebody finds it.
            0 => Ok(()),
            _ => self.end_one(&name, self.random.below(4) > 0),
        }
    }

    fn prepare(&mut self, name: &str, list: i64, number: u32) -> Did {
        self.run(&format!(
            "UPDATE sim.lists SET n = n + 1, numbers = CONCAT(numbers, '{number},') WHERE id = {list}"
        ))?;
        self.think();
        let after = |error| fail(&error);
        self.send(&format!("XA END '{name}'"), IN_VAIN).map_err(after)?;
        self.send(&format!("XA PREPARE '{name}'"), IN_VAIN).map_err(after)?;
        Ok(())
    }

    /// Ends what is prepared, whoever has done so.
    pub(super) fn end_xa(&mut self) -> Did {
        let found = self.run("XA RECOVER")?;
        let names: Vec<String> = found.rows.iter().filter_map(|row| row.last().cloned()).collect();
        for name in names {
            self.end_one(&name, self.random.below(2) == 0)?;
        }
        Ok(())
    }

    fn end_one(&mut self, name: &str, commits: bool) -> Did {
        let (text, end) = match commits {
            true => (format!("XA COMMIT '{name}'"), End::Committed),
            false => (format!("XA ROLLBACK '{name}'"), End::Failed),
        };
        match self.send(&text, IN_VAIN) {
            Ok(_) => {
                let bench = self.bench.clone();
                bench
                    .prepared
                    .ended(name, &self.name, end, &bench.history, &bench.report);
                Ok(())
            }
            Err(error) if error.code() == NOT_THERE => Ok(()),
            Err(error) => Err(match fail(&error) {
                Fail::No(said) | Fail::Unknown(said) => Fail::Unknown(said),
            }),
        }
    }
}
