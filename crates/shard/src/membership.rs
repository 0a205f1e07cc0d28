//! Who belongs to the shard, and changing that while it runs.
//!
//! A new replica first only listens: it gets a checkpoint and the log. It votes once it has caught up. One change at a time; each is an
//! entry of the log, made by whoever leads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use env::{Feature, Level, failpoints};
use journal::EntryId;
use openraft::ChangeMembers;
use openraft::async_runtime::{Instant as _, WatchReceiver};
use openraft::error::{ChangeMembershipError, ClientWriteError, RaftError};
use thiserror::Error;
use tokio::time::Instant;

use crate::api::{Member, Role};
use crate::consensus::{Consensus, Raft, entry_id};
use crate::leader::leading_term;
use crate::machine::Replicated;

/// How long a change waits for the one before it.
const TURN_WITHIN: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);
/// Who answers nothing for so long is taken for lost.
const HEARD_OF_WITHIN: Duration = Duration::from_secs(1);
/// A replica that votes is waited for at commits, so it lacks no more entries by then than come over in a moment.
const LACKS_AT_MOST: u64 = 256;
/// As long as a checkpoint may take to come over.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(600);

/// A replica of the shard, as the newest membership in the log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    pub node: u32,
    pub member: Member,
    /// For good: in the middle of a change one that comes or goes does not. Otherwise it listens.
    pub votes: bool,
}

/// Why the membership is as it was.
#[derive(Debug, Clone, Error)]
pub enum MembershipError {
    #[error("another node leads the shard")]
    NotLeader,
    #[error("node {0} is none of the cluster's")]
    Unknown(u32),
    #[error(
        "node {0} of the cluster exists already, and this one's directory is new: if what that node had is lost, say so first \
         (latsdb admin replace-node {0})"
    )]
    Exists(u32),
    #[error("without node {0} nobody would be left")]
    Last(u32),
    #[error(
        "then {} of {voters} voters would be a majority, and nothing is heard of {}: nobody could commit any more",
        voters / 2 + 1, listed(silent)
    )]
    NoMajority {
        voters: usize,
        /// Of those that would vote.
        silent: Vec<u32>,
    },
    #[error("without node {0} no node with rows would be left")]
    LastRows(u32),
    #[error(
        "a witness needs feature level {needed}, and the cluster is at level {level}: raise it first (latsdb admin upgrade)"
    )]
    NoWitnessYet { needed: Level, level: Level },
    #[error("node {node} of the cluster is a {}: take it out first (latsdb admin remove-node {node})", named(*role))]
    OtherRole {
        node: u32,
        /// The one that the cluster knows.
        role: Role,
    },
    #[error("node {0} leads, and cannot take itself out: another one has to lead first")]
    Leads(u32),
    #[error("node {node} cannot take the lead: {reason}")]
    NoHeir { node: u32, reason: &'static str },
    #[error("{0}")]
    Failed(Arc<str>),
}

fn named(role: Role) -> &'static str {
    match role {
        Role::Data => "data node",
        Role::Witness => "witness",
    }
}

fn listed(nodes: &[u32]) -> String {
    let names: Vec<_> = nodes.iter().map(|node| format!("node {node}")).collect();
    names.join(", ")
}

/// The newest membership that this replica has applied.
pub(crate) fn replicas(replicated: &Replicated) -> Vec<Replica> {
    let membership = replicated.membership.membership();
    let votes = |node: &u64| membership.get_joint_config().iter().all(|voters| voters.contains(node));
    let replica = |(&node, member): (&u64, &Member)| {
        Some(Replica {
            node: u32::try_from(node).ok()?,
            member: member.clone(),
            votes: votes(&node),
        })
    };
    membership.nodes().filter_map(replica).collect()
}

/// How far a replica is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admitted {
    /// It gets the log. By this entry, or an earlier one of its life.
    Listens(EntryId),
    Votes,
}

/// Takes a replica in, or notes that it is reached elsewhere. Done when it votes; where its directory is new, when it listens.
pub(crate) async fn admit(
    raft: &Raft,
    known: &[Replica],
    level: Level,
    node: u32,
    member: Member,
    is_new: bool,
) -> Result<Admitted, MembershipError> {
    let id = u64::from(node);
    if leading_term(raft).is_none() {
        return Err(MembershipError::NotLeader);
    }
    match known.iter().find(|replica| replica.node == node) {
        Some(Replica { member: known, .. }) if known.role != member.role => {
            return Err(MembershipError::OtherRole { node, role: known.role });
        }
        // The votes that it has given are lost with its directory.
        Some(Replica { votes: true, .. }) if is_new => return Err(MembershipError::Exists(node)),
        Some(replica) if replica.member == member => {}
        Some(_) => {
            let nodes = BTreeMap::from([(id, member)]);
            let changed = raft.change_membership(ChangeMembers::SetNodes(nodes), true).await;
            changed.map_err(|error| failed(&error))?;
        }
        None if member.role == Role::Witness && !level.has(Feature::Witness) => {
            return Err(MembershipError::NoWitnessYet {
                needed: Feature::Witness.level(),
                level,
            });
        }
        None => {
            let added = raft.add_learner(id, member, false).await;
            added.map_err(|error| failed(&error))?;
            let _ = failpoints::hit("membership.added");
        }
    }
    let newest = newest_change(raft).ok_or(MembershipError::NotLeader)?;
    if is_new {
        return Ok(Admitted::Listens(newest));
    }
    if known.iter().any(|replica| replica.node == node && replica.votes) {
        return Ok(Admitted::Votes);
    }
    match tokio::time::timeout(CATCHES_UP_WITHIN, catches_up(raft, id, newest.index)).await {
        Ok(caught_up) => caught_up?,
        Err(_) => {
            let reason = format!("node {node} has not caught up within {} s", CATCHES_UP_WITHIN.as_secs());
            return Err(MembershipError::Failed(reason.into()));
        }
    }
    majority_answers(raft, voters(raft).into_iter().chain([id]).collect()).await?;
    let voters = ChangeMembers::AddVoterIds(BTreeSet::from([id]));
    let changed = raft.change_membership(voters, true).await;
    let _ = failpoints::hit("membership.votes");
    changed.map(|_| Admitted::Votes).map_err(|error| failed(&error))
}

/// The entry that says who belongs to the shard now.
fn newest_change(raft: &Raft) -> Option<EntryId> {
    let metrics = raft.metrics();
    let metrics = metrics.borrow_watched();
    metrics.membership_config.log_id().as_ref().map(entry_id)
}

/// Until a replica has the log up to an entry, and but for what comes over in a moment.
async fn catches_up(raft: &Raft, id: u64, at_least: u64) -> Result<(), MembershipError> {
    let mut changes = raft.metrics();
    loop {
        {
            let metrics = changes.borrow_watched();
            let replication = metrics.replication.as_ref().ok_or(MembershipError::NotLeader)?;
            let Some(has) = replication.get(&id) else {
                return Err(MembershipError::Unknown(u32::try_from(id).unwrap_or(0)));
            };
            let last = metrics.last_log_index.unwrap_or(0);
            if has
                .as_ref()
                .is_some_and(|matched| matched.index >= at_least && is_close(matched.index, last))
            {
                return Ok(());
            }
        }
        let changed = changes.changed().await;
        changed.map_err(|_| MembershipError::Failed("the node is stopping".into()))?;
    }
}

/// Whether the entries up to the last one come over in a moment.
fn is_close(has: u64, last: u64) -> bool {
    has + LACKS_AT_MOST >= last
}

/// Whether a replica can take the lead from this one. Once it is offered the leader takes no commits: who cannot be elected would never end
/// that, and who needs a checkpoint first would be sent none.
pub(crate) fn check_heir(raft: &Raft, known: &[Replica], node: u32) -> Result<(), MembershipError> {
    let id = u64::from(node);
    let no = |reason| Err(MembershipError::NoHeir { node, reason });
    if id == *raft.node_id() {
        return no("it offers it");
    }
    if !raft.voter_ids().any(|voter| voter == id) {
        return no("it is no voter");
    }
    let is_witness = |replica: &Replica| replica.node == node && replica.member.role == Role::Witness;
    if known.iter().any(is_witness) {
        return no("it is a witness");
    }
    match has_nearly_all(raft, id) {
        Some(false) => no("it lacks too much of the log, and is catching up"),
        Some(true) | None => Ok(()),
    }
}

/// Whether a replica lacks no more of the log than comes over in a moment. A leader that has just begun does not know: `None`. One that follows
/// knows of nobody, and takes it for granted.
fn has_nearly_all(raft: &Raft, id: u64) -> Option<bool> {
    let metrics = raft.metrics();
    let metrics = metrics.borrow_watched();
    let Some(reached) = &metrics.replication else {
        return Some(true);
    };
    let matched = reached.get(&id)?.as_ref()?;
    Some(is_close(matched.index, metrics.last_log_index.unwrap_or(0)))
}

/// As [`check_heir`] has left open: until the replica has said how far it is. False: it lacks too much, or says nothing.
pub(crate) async fn heir_has_nearly_all(raft: &Raft, node: u32) -> bool {
    let said = async {
        let mut changes = raft.metrics();
        loop {
            match has_nearly_all(raft, u64::from(node)) {
                Some(has) => return has,
                None if changes.changed().await.is_err() => return false,
                None => {}
            }
        }
    };
    tokio::time::timeout(HEARD_OF_WITHIN, said).await.unwrap_or(false)
}

/// Lets a replica go: it votes no more, and is sent nothing.
pub(crate) async fn dismiss(raft: &Raft, known: &[Replica], node: u32) -> Result<(), MembershipError> {
    let Some(replica) = known.iter().find(|replica| replica.node == node) else {
        return Err(MembershipError::Unknown(node));
    };
    let ids = BTreeSet::from([u64::from(node)]);
    if raft.voter_ids().any(|voter| ids.contains(&voter)) {
        if replica.votes && known.iter().filter(|replica| replica.votes).count() == 1 {
            return Err(MembershipError::Last(node));
        }
        let is_left = |left: &&Replica| left.votes && left.node != node && left.member.role == Role::Data;
        if !known.iter().any(|left| is_left(&left)) {
            return Err(MembershipError::LastRows(node));
        }
        if *raft.node_id() == u64::from(node) && leading_term(raft).is_some() {
            // Once it has lost its vote it could not make the second change.
            return Err(MembershipError::Leads(node));
        }
        majority_answers(raft, voters(raft).difference(&ids).copied().collect()).await?;
        take_turn(raft, ChangeMembers::RemoveVoters(ids.clone())).await?;
        let _ = failpoints::hit("membership.leaving");
    }
    take_turn(raft, ChangeMembers::RemoveNodes(ids)).await
}

/// Those that vote when the change that is under way, if one is, has ended.
fn voters(raft: &Raft) -> BTreeSet<u64> {
    let metrics = raft.metrics();
    let metrics = metrics.borrow_watched();
    let configs = metrics.membership_config.membership().get_joint_config();
    configs.last().cloned().unwrap_or_default()
}

/// Whether a majority of those who would vote answers now. A change that they cannot commit cannot be taken back, either.
async fn majority_answers(raft: &Raft, voters: BTreeSet<u64>) -> Result<(), MembershipError> {
    // What was answered before says nothing: the one may be lost since.
    let began = Instant::now();
    loop {
        let silent: Vec<u64> = {
            let metrics = raft.metrics();
            let metrics = metrics.borrow_watched();
            let heard = metrics.heartbeat.as_ref();
            let is_silent = |voter: &u64| {
                let last = heard.and_then(|heard| heard.get(voter)).copied().flatten();
                *voter != *raft.node_id() && last.is_none_or(|at| at.into_inner().elapsed() >= began.elapsed())
            };
            voters.iter().copied().filter(is_silent).collect()
        };
        if silent.len() * 2 < voters.len() {
            return Ok(());
        }
        if began.elapsed() > HEARD_OF_WITHIN {
            let silent = silent.into_iter().filter_map(|node| u32::try_from(node).ok());
            return Err(MembershipError::NoMajority {
                voters: voters.len(),
                silent: silent.collect(),
            });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Ends a change of voters that an earlier leader has begun: until then a majority of those before is needed, and one of those after.
pub(crate) async fn end_change(raft: Raft) {
    let is_joint = {
        let metrics = raft.metrics();
        let metrics = metrics.borrow_watched();
        metrics.membership_config.membership().get_joint_config().len() > 1
    };
    if is_joint {
        let ended = raft
            .change_membership(ChangeMembers::AddVoterIds(BTreeSet::new()), true)
            .await;
        if let Err(error) = ended {
            tracing::debug!("a change of voters is not ended: {error}");
        }
    }
}

/// One change, after the one that is under way: of an earlier leader, or for another node. Not for a node that wants to be taken in: it asks
/// again by itself, unless it has been taken out meanwhile.
async fn take_turn(raft: &Raft, change: ChangeMembers<u64, Member>) -> Result<(), MembershipError> {
    let deadline = Instant::now() + TURN_WITHIN;
    loop {
        match raft.change_membership(change.clone(), true).await {
            Ok(_) => return Ok(()),
            Err(error) if is_under_way(&error) && Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(failed(&error)),
        }
    }
}

fn is_under_way(error: &ChangeError) -> bool {
    use ClientWriteError::ChangeMembershipError as Refused;
    matches!(error.api_error(), Some(Refused(ChangeMembershipError::InProgress(_))))
}

type ChangeError = RaftError<Consensus, ClientWriteError<Consensus>>;

fn failed(error: &ChangeError) -> MembershipError {
    match error.forward_to_leader() {
        Some(_) => MembershipError::NotLeader,
        None => MembershipError::Failed(error.to_string().into()),
    }
}
