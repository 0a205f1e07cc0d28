//! Long forks: keys that are written once; whoever reads them sees the writes in one order, the same for all.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use env::SeededRandom;

use super::{Workload, below, locked, numbers};
use crate::Level;
use crate::session::{End, Outcome, Session, Stop};

/// Keys of a group.
const GROUP: u32 = 3;
/// Writes and reads of a group, before the next one is used.
const PER_GROUP: u32 = 24;

#[derive(Default)]
pub struct Fork {
    begun: AtomicU32,
    /// By group: what each reader has found written, a bit for each key.
    seen: Mutex<HashMap<u32, Vec<u32>>>,
    /// By group: the keys whose writing was acknowledged.
    written: Mutex<HashMap<u32, u32>>,
}

impl Fork {
    fn read(&self, session: &mut Session<'_>, group: u32, random: &SeededRandom) -> Result<u32, Stop> {
        let is_fixed = matches!(session.level(), Level::RepeatableRead | Level::Serializable);
        let first = group * GROUP;
        let mut mask = 0;
        let mut see = |id: i64| mask |= 1 << (id - i64::from(first));
        if !is_fixed || below(random, 3) == 0 {
            let last = first + GROUP - 1;
            let rows = session.rows(&format!("SELECT id FROM marks WHERE id BETWEEN {first} AND {last}"))?;
            numbers(rows)?.into_iter().flatten().flatten().for_each(&mut see);
            return Ok(mask);
        }
        let start = below(random, GROUP);
        for at in 0..GROUP {
            let id = first + (start + at) % GROUP;
            let found = session.number(&format!("SELECT id FROM marks WHERE id = {id}"))?;
            found.into_iter().for_each(&mut see);
        }
        Ok(mask)
    }
}

impl Workload for Fork {
    fn tables(&self) -> Vec<String> {
        vec!["CREATE TABLE marks (id INT PRIMARY KEY)".to_owned()]
    }

    fn transact(&self, session: &mut Session<'_>, random: &SeededRandom) -> Result<Outcome, String> {
        let group = self.begun.fetch_add(1, Relaxed) / PER_GROUP;
        if below(random, 4) == 0 {
            let key = below(random, GROUP);
            let outcome = session.transact(|session| {
                session.change(&format!("INSERT INTO marks VALUES ({})", group * GROUP + key))?;
                Ok(End::Commit)
            })?;
            if outcome == Outcome::Committed {
                *locked(&self.written).entry(group).or_default() |= 1 << key;
            }
            return Ok(outcome);
        }
        let before = locked(&self.written).get(&group).copied().unwrap_or(0);
        let mut mask = None;
        let outcome = session.transact(|session| {
            mask = Some(self.read(session, group, random)?);
            Ok(End::Commit)
        })?;
        if let Some(mask) = mask
            && outcome == Outcome::Committed
        {
            if mask & before != before {
                return Err(format!(
                    "stale read: group {group} shows {mask:03b}, when {before:03b} was committed"
                ));
            }
            locked(&self.seen).entry(group).or_default().push(mask);
        }
        Ok(outcome)
    }

    fn check(&self, session: &mut Session<'_>) -> Result<Vec<String>, Stop> {
        let mut found = Vec::new();
        for (group, masks) in &mut *locked(&self.seen) {
            masks.sort_unstable_by_key(|mask| mask.count_ones());
            if let Some(pair) = masks.windows(2).find(|pair| pair[0] & pair[1] != pair[0]) {
                found.push(format!(
                    "long fork: group {group} was seen as {:03b} and as {:03b}",
                    pair[0], pair[1]
                ));
            }
        }
        session.begin()?;
        let rows = numbers(session.rows("SELECT id FROM marks")?)?;
        session.roll_back()?;
        let there: std::collections::HashSet<i64> = rows.into_iter().flatten().flatten().collect();
        for (group, mask) in &*locked(&self.written) {
            for key in (0..GROUP).filter(|key| mask & (1 << key) != 0) {
                if !there.contains(&i64::from(group * GROUP + key)) {
                    found.push(format!("lost write: mark {key} of group {group}"));
                }
            }
        }
        Ok(found)
    }
}
