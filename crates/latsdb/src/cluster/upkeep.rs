//! What is done all the time: the network knows every replica's address and the cluster's feature level, the membership knows this node's, and each node knows how the
//! others are.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use shard::{Admission, EntryId, Member, Replica, Role, Status};

use super::{Cluster, Presence, Request, Response};

/// Between two looks at the membership.
const EVERY: Duration = Duration::from_millis(100);
/// So many looks from one question after the others' health to the next.
const LOOKS_PER_ROUND: u32 = 5;
/// After so many looks without a word of a leader the others are asked whether they know this node.
const LOOKS_ALONE: u32 = 20;
pub const CALL: Duration = Duration::from_millis(400);
/// To be taken in takes as long as a checkpoint needs to come over.
const ADMISSION: Duration = Duration::from_secs(600);

/// What became of asking to be taken in.
enum Asked {
    Votes,
    Again,
    /// An operator has let it go meanwhile.
    LetGo,
}

/// Until the node stops.
pub async fn keep_up(cluster: Arc<Cluster>) {
    let mut look: u32 = 0;
    // A node that was let go is not to ask again. One that comes anew reads in the log how a node of its number was let go before, and that is
    // the past until it has what the leader has.
    let (mut is_there, mut has_belonged) = (false, false);
    // It votes, by the leader's word; its own log may not have come so far.
    let mut is_admitted = false;
    let mut looks_alone = 0;
    loop {
        tokio::time::sleep(EVERY).await;
        let (Some(shard), Some(net)) = (cluster.shard.get(), cluster.net.get()) else {
            continue;
        };
        net.set_level(shard.level());
        let replicas = shard.replicas();
        let known: BTreeSet<u32> = replicas.iter().map(|replica| replica.node).collect();
        for replica in &replicas {
            net.set_peer(replica.node, &replica.member.peer_addr);
        }
        let status = shard.status();
        // Who has been let go. Who is about to be taken in is kept: it is connected, or it tries.
        if status.is_leader {
            for peer in net.peers().iter().filter(|peer| !peer.is_connected()) {
                if !known.contains(&peer.node) {
                    net.remove_peer(peer.node);
                }
            }
        }
        // One that has room takes commits.
        if status.is_leader && status.disk_is_full {
            match cluster.give_up_lead().await {
                Ok(()) => tracing::warn!("the disk is full: another node leads"),
                Err(reason) => tracing::debug!(%reason, "the disk is full, and the lead stays here"),
            }
        }
        let own = replicas.iter().find(|replica| replica.node == cluster.node);
        is_there |= status.is_leader || cluster.has_what_the_leader_had(&status);
        has_belonged |= is_there && own.is_some_and(|own| own.votes);
        // A leader of a version that does not say by which entry it took the node in.
        if is_admitted
            && is_there
            && own.is_some_and(|own| own.votes)
            && shard.admission() == Admission::Asks
            && let Some(applied) = shard.applied()
        {
            cluster.note_taken_in(applied);
        }
        // What its log says may be long ago: who leads, too.
        looks_alone = match status.leader {
            Some(_) if status.is_in_touch => 0,
            _ => looks_alone + 1,
        };
        let is_forgotten =
            looks_alone >= LOOKS_ALONE && look.is_multiple_of(LOOKS_PER_ROUND) && cluster.is_forgotten().await;
        let own = own.filter(|_| !is_forgotten);
        match (own, cluster.member()) {
            (Some(own), Some(member))
                if own.votes && own.member == member && shard.admission() == Admission::Belongs => {}
            // Before it goes it loses its vote.
            (own, Some(_)) if has_belonged && own.is_none_or(|own| !own.votes) => {
                tracing::warn!("this node is none of the cluster's any more: stop it");
                // Nobody sends it anything: nothing will change.
                return;
            }
            // What it has asked for is on its way.
            (Some(_), Some(_)) if is_admitted && !is_there => {}
            (_, Some(member)) => match cluster.ask_to_be_admitted(&member).await {
                Asked::Votes => is_admitted = true,
                Asked::Again => {}
                Asked::LetGo => {
                    tracing::warn!("this node was let go while it came in: stop it");
                    return;
                }
            },
            (_, None) => {}
        }
        if look.is_multiple_of(LOOKS_PER_ROUND) {
            let others = known.iter().copied().filter(|&node| node != cluster.node);
            cluster.ask_how_they_are(others.collect(), &replicas).await;
        }
        look = look.wrapping_add(1);
    }
}

impl Cluster {
    async fn ask_to_be_admitted(&self, member: &Member) -> Asked {
        let admission = self.shard.get().map(|shard| shard.admission());
        let request = Request::Admit {
            peer_addr: member.peer_addr.clone(),
            sql_addr: member.sql_addr.clone(),
            witness: member.role == Role::Witness,
            levels: member.levels.map(|levels| (levels.lowest.0, levels.highest.0)),
            new: admission == Some(Admission::Asks),
        };
        match self.ask_leader(&request, ADMISSION).await {
            Ok(Response::Done) => {
                tracing::info!("this node is a replica of the shard");
                return Asked::Votes;
            }
            Ok(Response::Unknown { .. }) => return Asked::LetGo,
            Ok(Response::TakenIn { term, index }) => self.note_taken_in(EntryId { term, index }),
            Ok(Response::Refused { reason }) => tracing::warn!(%reason, "this node is not a replica yet"),
            Ok(_) => {}
            Err(reason) => tracing::debug!(%reason, "nobody to be admitted by"),
        }
        Asked::Again
    }

    /// Whether others are led, and know of no such node: this one was let go, and has not heard of it.
    async fn is_forgotten(&self) -> bool {
        if !self.others.lock().iter().any(|other| other.leads) {
            return false;
        }
        match self.ask_leader(&Request::WhoIsThere, CALL).await {
            Ok(Response::Nodes { nodes, .. }) => !nodes.is_empty() && nodes.iter().all(|(node, _)| *node != self.node),
            _ => false,
        }
    }

    fn note_taken_in(&self, by: EntryId) {
        let Some(shard) = self.shard.get() else { return };
        match shard.is_taken_in(by) {
            Ok(()) => tracing::info!(entry = %by, "this node listens to the shard's log"),
            // It asks again.
            Err(error) => tracing::warn!("{error}"),
        }
    }

    /// Asks whoever leads, this node too, as far as it can be found.
    pub async fn ask_leader(&self, request: &Request, within: Duration) -> Result<Response, String> {
        let (Some(shard), Some(net)) = (self.shard.get(), self.net.get()) else {
            return Err("the node is starting".to_owned());
        };
        let bytes = serde_json::to_vec(request).map_err(|error| error.to_string())?;
        let mut target = match shard.status().leader {
            Some(leader) if leader == self.node => {
                let identity = shard.identity();
                let this = net::Caller {
                    node: self.node,
                    incarnation: identity.incarnation,
                    is_member: true,
                };
                let answer = self.answer(this, &bytes).await;
                return serde_json::from_slice(&answer).map_err(|error| error.to_string());
            }
            Some(leader) => net.call(leader, net::Lane::Control, bytes.clone(), within).await,
            None => Err(net::CallError::Ended {
                may_have_arrived: false,
            }),
        };
        // A node that has not heard of a leader yet begins with those it was told to join.
        let mut addrs: Vec<String> = self.config.join.clone();
        let mut last = String::from("no node leads");
        loop {
            match target {
                Ok(answer) => match serde_json::from_slice(&answer) {
                    Ok(Response::NotLeader {
                        leader: Some((_, addr)),
                    }) if !addr.is_empty() && addrs.len() < 16 => {
                        addrs.insert(0, addr);
                    }
                    Ok(Response::NotLeader { .. }) => {}
                    Ok(response) => return Ok(response),
                    Err(error) => last = error.to_string(),
                },
                Err(error) => last = error.to_string(),
            }
            if addrs.is_empty() {
                return Err(last);
            }
            let addr = addrs.remove(0);
            let introduced = net.call_address(&addr, bytes.clone(), within).await;
            target = introduced.map(|introduction| introduction.answer);
        }
    }

    /// Whether this node has applied all that the leader's log had when it was asked last.
    fn has_what_the_leader_had(&self, status: &Status) -> bool {
        let others = self.others.lock();
        let mut leaders = others.iter().filter(|other| other.leads);
        leaders.any(|leader| Some(leader.last_log_index) <= status.applied_index)
    }

    async fn ask_how_they_are(&self, nodes: Vec<u32>, replicas: &[Replica]) {
        let Some(net) = self.net.get() else { return };
        let Ok(request) = serde_json::to_vec(&Request::HowAreYou) else {
            return;
        };
        let calls: Vec<_> = nodes
            .iter()
            .map(|&node| net.call(node, net::Lane::Control, request.clone(), CALL))
            .collect();
        let mut others = Vec::new();
        for (node, call) in nodes.into_iter().zip(calls) {
            let presence = match call.await {
                Ok(answer) => match serde_json::from_slice(&answer) {
                    Ok(Response::Presence(presence)) => Some(*presence),
                    _ => None,
                },
                Err(_) => None,
            };
            let known = replicas.iter().find(|replica| replica.node == node);
            others.push(presence.unwrap_or_else(|| {
                Presence {
                    node,
                    is_witness: known.is_some_and(|replica| replica.member.role == Role::Witness),
                    state: "down".to_owned(),
                    mysql_addr: known.map(|replica| replica.member.sql_addr.clone()).unwrap_or_default(),
                    peer_addr: known
                        .map(|replica| replica.member.peer_addr.clone())
                        .unwrap_or_default(),
                    votes: known.is_some_and(|replica| replica.votes),
                    ..Presence::default()
                }
            }));
        }
        *self.others.lock() = others;
    }
}
