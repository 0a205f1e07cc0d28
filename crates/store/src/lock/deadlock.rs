//! Who waits for whom.
//!
//! Only a request that begins to wait adds edges to the wait-for graph: from itself. So it is enough to search for a cycle
//! through it, then, while nobody else begins to wait. Grants and releases go on meanwhile; they only take edges away.

use super::elsewhere::Told;
use super::table::{LockOwner, LockTable, Owner, Place};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Where each waiting transaction waits. An entry may outlive the wait a little: the queue at the place tells.
#[derive(Debug, Default)]
pub(super) struct WaitGraph {
    waiting: HashMap<LockOwner, Waiting>,
    /// How many waits have begun.
    begun: u64,
    /// What other nodes have told of waits in their own lock tables.
    pub(super) told: BTreeMap<u32, Told>,
}

#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) owner: Arc<Owner>,
    pub(super) place: Place,
    /// Names this wait: greater is later.
    pub(super) wait: u64,
}

impl WaitGraph {
    pub(super) fn begin(&mut self, owner: &Arc<Owner>, place: Place) {
        let waiting = Waiting {
            owner: Arc::clone(owner),
            place,
            wait: self.begun,
        };
        self.begun += 1;
        self.waiting.insert(owner.id, waiting);
    }

    pub(super) fn end(&mut self, owner: LockOwner, place: Place) {
        if self.place(owner) == Some(place) {
            self.waiting.remove(&owner);
        }
    }

    pub(super) fn place(&self, owner: LockOwner) -> Option<Place> {
        self.waiting.get(&owner).map(|waiting| waiting.place)
    }

    pub(super) fn waiting(&self, owner: LockOwner) -> Option<&Waiting> {
        self.waiting.get(&owner)
    }

    pub(super) fn all_waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.values()
    }

    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    /// The members of a cycle through `requester`, which has begun to wait; `requester` first.
    pub(super) fn cycle(&self, requester: &Arc<Owner>, table: &LockTable) -> Option<Vec<Arc<Owner>>> {
        // Depth first, with the path to where the search is: for each member, the blockers not yet followed.
        let mut path = vec![(Arc::clone(requester), self.blockers(requester, table))];
        let mut seen = HashSet::from([requester.id]);
        while let Some((_, blockers)) = path.last_mut() {
            match blockers.pop() {
                None => {
                    path.pop();
                }
                Some(blocker) if blocker.id == requester.id => {
                    return Some(path.into_iter().map(|(owner, _)| owner).collect());
                }
                Some(blocker) => {
                    if seen.insert(blocker.id) {
                        let next = self.blockers(&blocker, table);
                        path.push((blocker, next));
                    }
                }
            }
        }
        None
    }

    fn blockers(&self, owner: &Arc<Owner>, table: &LockTable) -> Vec<Arc<Owner>> {
        self.place(owner.id)
            .map_or_else(Vec::new, |place| table.blockers(owner.id, place))
    }
}

/// Who gives up: the member that loses least; among several, the requester, else the youngest.
pub(super) fn victim(cycle: &[Arc<Owner>]) -> &Arc<Owner> {
    let requester = cycle[0].id;
    cycle
        .iter()
        .min_by_key(|owner| (owner.weight(), owner.id != requester, std::cmp::Reverse(owner.id)))
        .expect("a cycle has members")
}
