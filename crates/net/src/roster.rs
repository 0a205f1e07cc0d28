//! What a node has seen of the others: who came with which incarnation, and which accepted connections are open.
//!
//! A node counts its starts, so its newest process has the highest incarnation. A lower one is an old copy of its data directory. Two
//! processes with the same one are copies of each other; the first that was seen stays.
//!
//! A node has one accepted connection a lane. A new one ends the one before: that one's other end is gone, and nobody has heard of it.

use std::collections::HashMap;
use std::sync::Arc;

use env::{Level, Levels};
use tokio::sync::Notify;

use crate::Lane;
use crate::hello::{Identity, Refusal, Refused};

#[derive(Debug)]
pub struct Roster {
    nodes: HashMap<u32, Seen>,
    /// Of nodes.
    limit: usize,
    connections: u64,
}

#[derive(Debug, Default)]
struct Seen {
    incarnation: u32,
    /// `None`: the incarnation is known from an earlier start of this node.
    instance: Option<u64>,
    /// What it has said that it speaks.
    speaks: Option<Levels>,
    accepted: [Option<Accepted>; 3],
}

/// What a member's newest process that was met speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Met {
    pub node: u32,
    pub incarnation: u32,
    pub speaks: Levels,
}

#[derive(Debug)]
struct Accepted {
    connection: u64,
    end: Arc<Notify>,
}

/// What a node's coming has brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Coming {
    Known,
    /// A process that was not seen before, with a higher incarnation than any.
    Renewed,
}

impl Roster {
    pub fn new(known: &[(u32, u32)], limit: usize) -> Roster {
        let seen = |incarnation| Seen {
            incarnation,
            ..Seen::default()
        };
        Roster {
            nodes: known
                .iter()
                .map(|(node, incarnation)| (*node, seen(*incarnation)))
                .collect(),
            limit,
            connections: 0,
        }
    }

    pub fn incarnations(&self) -> Vec<(u32, u32)> {
        let nodes = self.nodes.iter();
        nodes.map(|(node, seen)| (*node, seen.incarnation)).collect()
    }

    /// A member of the cluster says who it is, on either side of a connection. Ends the accepted connections of the processes before it.
    /// `speaks`: what it has said of levels, if it has.
    pub fn meet(&mut self, who: &Identity, speaks: Option<Levels>) -> Result<Coming, Refused> {
        if !self.nodes.contains_key(&who.node) && self.nodes.len() >= self.limit {
            return Err(Refused {
                refusal: Refusal::Crowded,
                reason: format!(
                    "{} nodes have been seen, the limit; node {} is one too many",
                    self.limit, who.node
                ),
            });
        }
        let seen = self.nodes.entry(who.node).or_default();
        if who.incarnation < seen.incarnation {
            return Err(Refused {
                refusal: Refusal::OldCopy,
                reason: format!(
                    "node {} comes with incarnation {}, and {} has been seen of it: its data directory is an old copy; start the node \
                     with its newest directory, or let it join anew with an empty one",
                    who.node, who.incarnation, seen.incarnation
                ),
            });
        }
        let is_newer = who.incarnation > seen.incarnation;
        if !is_newer && seen.instance.is_some_and(|instance| instance != who.instance) {
            return Err(Refused {
                refusal: Refusal::Twin,
                reason: format!(
                    "another process is node {} with incarnation {}: its data directory was copied and started twice; stop this one, \
                     and let it join anew with an empty directory and an id of its own",
                    who.node, who.incarnation
                ),
            });
        }
        let is_new = is_newer || seen.instance.is_none();
        if is_new {
            seen.incarnation = who.incarnation;
            seen.instance = Some(who.instance);
            for accepted in seen.accepted.iter_mut().filter_map(Option::take) {
                accepted.end.notify_one();
            }
        }
        seen.speaks = speaks.or(seen.speaks.filter(|_| !is_new));
        Ok(if is_new { Coming::Renewed } else { Coming::Known })
    }

    pub fn met(&self) -> Vec<Met> {
        let met = |(&node, seen): (&u32, &Seen)| {
            Some(Met {
                node,
                incarnation: seen.incarnation,
                speaks: seen.speaks?,
            })
        };
        self.nodes.iter().filter_map(met).collect()
    }

    /// Ends the accepted connections of nodes that do not speak as high a level. Returns these nodes.
    pub fn end_those_below(&mut self, level: Level) -> Vec<u32> {
        let mut ended = Vec::new();
        for (&node, seen) in &mut self.nodes {
            if seen.speaks.is_some_and(|speaks| speaks.highest < level) {
                ended.push(node);
                let accepted = seen.accepted.iter_mut().filter_map(Option::take);
                accepted.for_each(|accepted| accepted.end.notify_one());
            }
        }
        ended
    }

    /// Whether a newer process of the node was seen.
    pub fn is_old(&self, who: &Identity) -> bool {
        let seen = self.nodes.get(&who.node);
        seen.is_some_and(|seen| seen.incarnation > who.incarnation)
    }

    /// Whatever was seen of the node does not count any more. Its accepted connections end.
    pub fn forget(&mut self, node: u32) {
        let seen = self.nodes.remove(&node);
        for accepted in seen.into_iter().flat_map(|seen| seen.accepted).flatten() {
            accepted.end.notify_one();
        }
    }

    /// The node has an accepted connection on `lane`, which `end` ends. Returns its number, for [`Roster::leave`]; `None`: a newer process of the
    /// node has come since the handshake.
    pub fn enter(&mut self, who: &Identity, lane: Lane, end: Arc<Notify>) -> Option<u64> {
        if self.is_old(who) {
            return None;
        }
        self.connections += 1;
        let connection = self.connections;
        let place = &mut self.nodes.entry(who.node).or_default().accepted[lane.index()];
        if let Some(before) = place.replace(Accepted { connection, end }) {
            before.end.notify_one();
        }
        Some(connection)
    }

    pub fn leave(&mut self, node: u32, lane: Lane, connection: u64) {
        let place = self.nodes.get_mut(&node).map(|seen| &mut seen.accepted[lane.index()]);
        if let Some(place) = place {
            place.take_if(|accepted| accepted.connection == connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(incarnation: u32, instance: u64) -> Identity {
        Identity {
            cluster: Some(7),
            node: 2,
            incarnation,
            instance,
        }
    }

    fn refusal(met: Result<Coming, Refused>) -> Refusal {
        met.unwrap_err().refusal
    }

    #[test]
    fn an_old_copy_and_a_twin_are_refused() {
        let mut roster = Roster::new(&[(2, 5)], 10);
        assert_eq!(refusal(roster.meet(&who(4, 1), None)), Refusal::OldCopy);
        assert_eq!(roster.meet(&who(5, 1), None), Ok(Coming::Renewed));
        assert_eq!(roster.meet(&who(5, 1), None), Ok(Coming::Known));
        assert_eq!(refusal(roster.meet(&who(5, 2), None)), Refusal::Twin);
        assert_eq!(roster.meet(&who(6, 2), None), Ok(Coming::Renewed));
        assert_eq!(refusal(roster.meet(&who(5, 1), None)), Refusal::OldCopy);
        assert_eq!(roster.incarnations(), [(2, 6)]);
    }

    #[test]
    fn what_the_newest_process_speaks_counts() {
        let both = Levels {
            lowest: Level(1),
            highest: Level(2),
        };
        let mut roster = Roster::new(&[(3, 1)], 10);
        let spoken = |roster: &Roster| roster.met().iter().map(|met| met.speaks).collect::<Vec<_>>();
        roster.meet(&who(1, 1), Some(both)).unwrap();
        roster.meet(&who(1, 1), None).unwrap();
        assert_eq!(spoken(&roster), [both], "a refusal says nothing of levels");
        assert_eq!(roster.end_those_below(Level(2)), [0; 0]);
        roster.meet(&who(2, 2), Some(Levels::FIRST)).unwrap();
        assert_eq!(spoken(&roster), [Levels::FIRST]);
        let end: Arc<Notify> = Arc::default();
        roster.enter(&who(2, 2), Lane::Storage, end.clone()).unwrap();
        assert_eq!(roster.end_those_below(Level(2)), [2]);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(std::pin::pin!(end.notified()).poll(&mut context).is_ready());
        roster.meet(&who(3, 3), None).unwrap();
        assert_eq!(spoken(&roster), [], "of a new process nothing is known yet");
    }

    #[test]
    fn nodes_are_bounded() {
        let mut roster = Roster::new(&[(7, 1)], 1);
        assert_eq!(refusal(roster.meet(&who(1, 1), None)), Refusal::Crowded);
    }

    #[test]
    fn a_new_connection_ends_the_one_before() {
        let mut roster = Roster::new(&[], 10);
        roster.meet(&who(1, 1), None).unwrap();
        let is_ended = |end: &Arc<Notify>| {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            std::pin::pin!(end.notified()).poll(&mut context).is_ready()
        };
        let ends: [Arc<Notify>; 3] = Default::default();
        let first = roster.enter(&who(1, 1), Lane::Storage, ends[0].clone()).unwrap();
        roster.enter(&who(1, 1), Lane::Control, ends[1].clone()).unwrap();
        roster.enter(&who(1, 1), Lane::Storage, ends[2].clone()).unwrap();
        assert_eq!(ends.each_ref().map(is_ended), [true, false, false]);
        roster.leave(2, Lane::Storage, first);
        assert_eq!(roster.meet(&who(2, 2), None), Ok(Coming::Renewed));
        assert_eq!(ends.each_ref().map(is_ended), [false, true, true]);
        assert_eq!(roster.enter(&who(1, 1), Lane::Storage, ends[0].clone()), None);
    }
}
