//! Names that one row at a time may have, under automatic ids.

use super::{Client, Did};
use crate::sql::client::fail;

const NAMES: i64 = 12;

impl Client<'_> {
    /// Claims names, one or several at a time, or gives them up where one is taken.
    pub(super) fn claim(&mut self) -> Did {
        let count = [1, 1, 3, 6][self.random.below(4) as usize];
        let first = self.one_of(NAMES);
        let rows: Vec<String> = (0..count)
            .map(|at| format!("('name {}', {})", (first + at) % NAMES, self.number()))
            .collect();
        let how = ["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"][self.random.below(4) as usize];
        let text = format!("{how} INTO sim.claims (name, tag) VALUES {}", rows.join(", "));
        match self.send(&text, &[1062]) {
            Ok(_) => Ok(()),
            Err(error) if error.code() == 1062 => {
                let last = (first + count - 1) % NAMES;
                let text = format!("DELETE FROM sim.claims WHERE name IN ('name {first}', 'name {last}')");
                self.run(&text).map(drop)
            }
            Err(error) => Err(fail(&error)),
        }
    }
}
