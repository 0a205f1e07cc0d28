//! The cluster's feature level: who speaks what, and raising it when all do.
//!
//! A member speaks what its newest process has said to whoever met it; where no node that answers has met it, what the membership has of it. A level that
//! has no place for that in the membership yet can be raised while a node is down only if some node has met it since its own start.

use std::collections::BTreeMap;

use env::{Level, Levels};
use net::Net;
use serde::{Deserialize, Serialize};

use super::control::{Later, now};
use super::upkeep::CALL;
use super::{Cluster, Request, Response};

/// What a node, in some life of it, speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spoken {
    pub node: u32,
    pub incarnation: u32,
    pub lowest: u8,
    pub highest: u8,
}

impl Spoken {
    fn levels(&self) -> Levels {
        Levels {
            lowest: Level(self.lowest),
            highest: Level(self.highest),
        }
    }
}

impl Cluster {
    /// Which levels this node speaks, and the members that it has met.
    pub(super) fn spoken(&self) -> Vec<Spoken> {
        let (Some(shard), Some(net)) = (self.shard.get(), self.net.get()) else {
            return Vec::new();
        };
        let own = shard.identity();
        let spoken = |node, incarnation, speaks: Levels| Spoken {
            node,
            incarnation,
            lowest: speaks.lowest.0,
            highest: speaks.highest.0,
        };
        let met = net
            .met()
            .into_iter()
            .map(|met| spoken(met.node, met.incarnation, met.speaks));
        met.chain([spoken(own.node, own.incarnation, Levels::spoken())])
            .collect()
    }

    /// What each member speaks, as far as this node knows by itself.
    pub fn known_levels(&self) -> BTreeMap<u32, Levels> {
        let replicas = self.shard.get().map(|shard| shard.replicas()).unwrap_or_default();
        let noted = replicas
            .iter()
            .filter_map(|replica| Some((replica.node, replica.member.levels?)));
        let mut known: BTreeMap<u32, Levels> = noted.collect();
        known.extend(self.spoken().iter().map(|spoken| (spoken.node, spoken.levels())));
        known
    }

    /// What stands against a level, for a person; `None`: nothing.
    async fn against(&self, level: Level) -> Result<Option<String>, String> {
        let (Some(shard), Some(net)) = (self.shard.get(), self.net.get()) else {
            return Err("the node is starting".to_owned());
        };
        let replicas = shard.replicas();
        let others: Vec<u32> = replicas.iter().map(|replica| replica.node).collect();
        let answers = ask_all(net, others.iter().copied().filter(|&node| node != self.node)).await?;
        let mut newest: BTreeMap<u32, Spoken> = BTreeMap::new();
        for spoken in self.spoken().into_iter().chain(answers) {
            let known = newest.entry(spoken.node).or_insert(spoken);
            // Who has met the node in a later life knows better.
            if spoken.incarnation > known.incarnation {
                *known = spoken;
            }
        }
        let mut against = Vec::new();
        for replica in &replicas {
            let node = replica.node;
            let levels = newest.get(&node).map(Spoken::levels).or(replica.member.levels);
            match levels {
                Some(levels) if levels.contains(level) => {}
                Some(levels) => against.push(format!("node {node} speaks {levels}: install a version that speaks level {level} on it")),
                None => against.push(format!(
                    "node {node} is down, and no node has met it since it was started itself: start it, or take it out (latsdb admin remove-node {node})"
                )),
            }
        }
        match against.is_empty() {
            true => Ok(None),
            false => Ok(Some(against.join("; "))),
        }
    }

    /// `latsdb admin upgrade`
    pub async fn order_upgrade(&self) -> Result<String, String> {
        let Some(shard) = self.shard.get() else {
            return Err("the node is starting".to_owned());
        };
        let (from, to) = (shard.level(), Levels::spoken().highest);
        if from >= to {
            return Ok(is_there_already(from));
        }
        if let Some(against) = self.against(to).await? {
            return Err(stays(from, to, &against));
        }
        match self.ask_until_led(&Request::Raise { level: to.0 }).await? {
            Response::Done => Ok(has_risen(to)),
            Response::Refused { reason } => Err(reason),
            other => Err(format!("no node leads: {other:?}")),
        }
    }

    /// Of whoever leads.
    pub(super) fn raise(&self, level: Level) -> Later {
        let (Some(shard), Some(this)) = (self.shard.get().cloned(), self.this.upgrade()) else {
            return now(Response::NotLeader { leader: None });
        };
        Box::pin(async move {
            if shard.level() >= level {
                return Response::Done;
            }
            match this.against(level).await {
                Ok(None) => this.changed(shard.raise(level)).await,
                Ok(Some(against)) => Response::Refused {
                    reason: stays(shard.level(), level, &against),
                },
                Err(reason) => Response::Refused { reason },
            }
        })
    }
}

/// What other nodes say of themselves and of those that they have met. Who gives no answer is passed over.
async fn ask_all(net: &Net, nodes: impl Iterator<Item = u32>) -> Result<Vec<Spoken>, String> {
    let request = serde_json::to_vec(&Request::WhoSpeaksWhat).map_err(|error| error.to_string())?;
    let calls: Vec<_> = nodes
        .map(|node| net.call(node, net::Lane::Control, request.clone(), CALL))
        .collect();
    let mut all = Vec::new();
    for call in calls {
        let Ok(answer) = call.await else { continue };
        if let Ok(Response::Spoken(spoken)) = serde_json::from_slice(&answer) {
            all.extend(spoken);
        }
    }
    Ok(all)
}

pub fn is_there_already(level: Level) -> String {
    format!("the cluster is at feature level {level}, the highest that this version speaks")
}

pub fn has_risen(level: Level) -> String {
    format!("the cluster is at feature level {level}; versions that do not speak it are refused from now on")
}

fn stays(from: Level, to: Level, against: &str) -> String {
    format!("the cluster stays at feature level {from}; against level {to} stands: {against}")
}
