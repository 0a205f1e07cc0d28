//! Many rows that are changed at once, all alike: on a follower their locks are asked for ahead.

use super::{Client, Did};
use crate::invariants::history::End;
use crate::sql::tables::TILES;
use crate::workload::Fail;

impl Client<'_> {
    pub fn all_tiles(&mut self) -> Did {
        self.bench.tiles.begin();
        let order = ["", " ORDER BY id DESC", " WHERE k >= 0", " WHERE id >= 0 ORDER BY k"];
        let order = order[self.random.below(order.len() as u64) as usize];
        let done = self.run(&format!("UPDATE sim.tiles SET n = n + 1{order}"));
        self.bench.tiles.end(match &done {
            Ok(_) => End::Committed,
            Err(Fail::No(_)) => End::Failed,
            Err(Fail::Unknown(_)) => End::Unknown,
        });
        if let Ok(answer) = &done
            && answer.affected_rows != TILES as u64
        {
            let (name, count) = (&self.name, answer.affected_rows);
            self.bench
                .report
                .violation("tiles", format_args!("{name} has changed {count} of {TILES} tiles"));
        }
        done.map(drop)
    }

    pub(super) fn read_tiles(&mut self) -> Did {
        let at_least = self.bench.tiles.answered();
        let found = self.run("SELECT MIN(n), MAX(n), COUNT(*) FROM sim.tiles")?;
        let (min, max, count) = (found.number(0, 0), found.number(0, 1), found.number(0, 2));
        if min != max || count != Some(TILES) || min < Some(at_least) {
            let name = &self.name;
            self.bench.report.violation(
                "tiles",
                format_args!("{name} reads {min:?} to {max:?} on {count:?} tiles, and {at_least} were answered"),
            );
        }
        Ok(())
    }
}
