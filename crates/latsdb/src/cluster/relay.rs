//! A way round a cut: a call that does not get through to its node goes by another one that reaches both.
//!
//! ```text
//!   caller ──pass on──▶ any other node ──deliver──▶ the node that is meant
//! ```
//!
//! So two nodes that do not reach each other are no loss as long as a third one reaches both: the one that leads has its followers, and the
//! one that follows serves its clients. Nodes of a cluster believe each other who has called.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use net::{Answering, Caller};
use parking_lot::Mutex;
use shard::{Lane, NoAnswer};

use super::Cluster;

/// The first byte, by which a request differs from those in JSON.
const PASS_ON: u8 = 1;
const DELIVER: u8 = 2;
/// Kind, lane, the node that is meant, the node that has called, and its life.
const HEAD_BYTES: usize = 14;

const ANSWERED: u8 = 1;
const MAY_HAVE_ARRIVED: u8 = 2;
const NOT_ARRIVED: u8 = 3;

/// What passes a node on may take at most.
const WITHIN: Duration = Duration::from_secs(5);

/// A node that is not reached by others either is most likely dead: they are not asked again at once.
const PAUSE: Duration = Duration::from_millis(100);

/// Nodes that others have not reached, and when.
#[derive(Default)]
pub struct DeadEnds(Mutex<HashMap<u32, Instant>>);

impl DeadEnds {
    fn is_one(&self, node: u32) -> bool {
        let ends = self.0.lock();
        ends.get(&node).is_some_and(|since| since.elapsed() < PAUSE)
    }

    fn note(&self, node: u32) {
        self.0.lock().insert(node, Instant::now());
    }
}

/// What is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried {
    Call(Lane),
    /// What layers above the shard say ([`words`](super::words)).
    Words,
}

/// A call in the hands of others.
struct Relayed<'a> {
    carried: Carried,
    to: u32,
    from: Caller,
    request: &'a [u8],
}

impl Relayed<'_> {
    fn encode(&self, kind: u8) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.request.len());
        bytes.push(kind);
        bytes.push(match self.carried {
            Carried::Call(Lane::Consensus) => 1,
            Carried::Call(Lane::Storage) => 2,
            Carried::Words => 3,
        });
        for number in [self.to, self.from.node, self.from.incarnation] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.request);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Relayed<'_>> {
        let (head, request) = bytes.split_at_checked(HEAD_BYTES)?;
        let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
        Some(Relayed {
            carried: match head[1] {
                1 => Carried::Call(Lane::Consensus),
                2 => Carried::Call(Lane::Storage),
                3 => Carried::Words,
                _ => return None,
            },
            to: number(2),
            from: Caller {
                node: number(6),
                incarnation: number(10),
                is_member: true,
            },
            request,
        })
    }
}

impl Cluster {
    /// Has a call that did not get through passed on by another node. `None`: there is none to ask.
    pub(super) async fn call_round(
        &self,
        to: u32,
        carried: Carried,
        request: &[u8],
        within: Duration,
    ) -> Option<Result<Vec<u8>, NoAnswer>> {
        let net = self.net.get()?;
        if self.dead_ends.is_one(to) {
            return None;
        }
        let is_open = |peer: &net::PeerStatus| {
            let control = peer.lanes.iter().find(|status| status.lane == net::Lane::Control);
            peer.node != to && control.is_some_and(|control| control.connected_for.is_some())
        };
        let between = net.peers().iter().find(|peer| is_open(peer))?.node;
        let relayed = Relayed {
            carried,
            to,
            from: Caller {
                node: self.node,
                incarnation: self.shard.get()?.identity().incarnation,
                is_member: true,
            },
            request,
        };
        let no_answer = |reason: String, may_have_arrived| NoAnswer {
            node: to,
            reason: format!("by node {between}: {reason}"),
            may_have_arrived,
        };
        let answer = net
            .call(between, net::Lane::Control, relayed.encode(PASS_ON), within)
            .await;
        Some(match answer {
            Err(error) => Err(no_answer(error.to_string(), error.may_have_arrived())),
            Ok(answer) => match answer.split_first() {
                Some((&ANSWERED, answer)) => Ok(answer.to_vec()),
                Some((&MAY_HAVE_ARRIVED, _)) => Err(no_answer("the answer is lost".into(), true)),
                Some((&NOT_ARRIVED, _)) => {
                    // A node of an earlier version does not pass words on, and everything else still.
                    if carried != Carried::Words {
                        self.dead_ends.note(to);
                    }
                    Err(no_answer("it does not reach the node either".into(), false))
                }
                _ => Err(no_answer("an answer of another version".into(), true)),
            },
        })
    }

    /// A call in the hands of others, if the request is one: passes it on, or answers it.
    pub(super) fn answer_relayed(&self, between: Caller, request: &[u8]) -> Option<Answering> {
        let kind = *request.first()?;
        if ![PASS_ON, DELIVER].contains(&kind) {
            return None;
        }
        let refused: Answering = Box::pin(std::future::ready(vec![NOT_ARRIVED]));
        let (Some(relayed), Some(net)) = (Relayed::decode(request), self.net.get()) else {
            return Some(refused);
        };
        // Nodes of a cluster know each other; whoever passes a call of his own on is its caller.
        if !between.is_member
            || kind == PASS_ON && (relayed.from.node, relayed.from.incarnation) != (between.node, between.incarnation)
        {
            return Some(refused);
        }
        if kind == PASS_ON {
            let delivered = net.call(relayed.to, net::Lane::Control, relayed.encode(DELIVER), WITHIN);
            return Some(Box::pin(async move {
                match delivered.await {
                    Ok(answer) => answer,
                    Err(error) if error.may_have_arrived() => vec![MAY_HAVE_ARRIVED],
                    Err(_) => vec![NOT_ARRIVED],
                }
            }));
        }
        if relayed.to != self.node {
            return Some(refused);
        }
        let answer = match relayed.carried {
            Carried::Call(lane) => self.answer_on(relayed.from, lane, relayed.request),
            Carried::Words => self.answer_words(relayed.from, relayed.request),
        };
        Some(Box::pin(async move {
            let mut bytes = vec![ANSWERED];
            bytes.extend(answer.await);
            bytes
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_the_hands_of_others_comes_back() {
        let call = Relayed {
            carried: Carried::Call(Lane::Storage),
            to: 3,
            from: Caller {
                node: 1,
                incarnation: 7,
                is_member: true,
            },
            request: b"lock",
        };
        let bytes = call.encode(PASS_ON);
        let read = Relayed::decode(&bytes).unwrap();
        assert_eq!(
            (read.carried, read.to, read.from, read.request),
            (call.carried, 3, call.from, &b"lock"[..])
        );
        for length in 0..HEAD_BYTES {
            assert!(Relayed::decode(&bytes[..length]).is_none());
        }
        assert!(Relayed::decode(&[PASS_ON; HEAD_BYTES]).is_some());
        assert!(
            Relayed::decode(&[DELIVER, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_none(),
            "not of this lane"
        );
    }

    #[test]
    fn a_dead_end_is_one_for_a_while() {
        let ends = DeadEnds::default();
        assert!(!ends.is_one(2));
        ends.note(2);
        assert!(ends.is_one(2) && !ends.is_one(3));
    }
}
