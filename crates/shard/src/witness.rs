//! A replica without rows: it votes and keeps the log, so that two replicas with rows go on when one of them is lost.
//!
//! ```text
//!   A leads ──▶ entry ──▶ A, W      A is lost; B lacks the entry and gets no vote of W
//!                         W is elected ──▶ entry ──▶ B ──lead──▶ B
//! ```
//!
//! * It asks to be elected later than the others do ([`stand_back`]). Where it alone has the newest entry it is elected all the same; it
//!   takes no lead over in the shard's sense (no locks, no commits, no timestamps), but brings a replica with rows up to date and hands the
//!   lead to that one ([`hand_over`]).
//! * It keeps the log until all voters with rows have a checkpoint of it ([`Retention`]): what one of them lacks may be nowhere else. That has a
//!   bound; beyond it such a voter needs a checkpoint, of another replica with rows.
//! * Its own checkpoints say where its log begins, who belongs to the shard, and the level. It sends none.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use journal::Role;
use openraft::async_runtime::WatchReceiver;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::admission::take_part_in_time;
use crate::api::Timing;
use crate::consensus::{Raft, StoredMembership};
use crate::leader::leading_term;
use crate::message::{Request, Response};
use crate::peers::{Lane, Peers};
use crate::replica::Shared;

/// So many election timeouts without a word of a leader pass before it asks to be elected. The others wait for four at most, and for four
/// more where they have seen a longer log than theirs.
const STANDS_BACK: u32 = 6;

/// A replica that was offered the lead and has not taken it by then, in election timeouts, is not waited for.
const TAKES_LEAD_WITHIN: u32 = 2;

/// Between two looks at how far the others are.
const LOOK: Duration = Duration::from_millis(5);

/// For a replica to say what its checkpoint covers.
const CALL: Duration = Duration::from_millis(500);

/// It keeps the log of so many checkpoints for voters that lack it.
const CHECKPOINTS_KEPT: u64 = 16;

/// Who leads, if that one has rows: nobody else has anything to ask of a witness.
pub(crate) fn leader_with_rows(leader: Option<u64>, membership: &StoredMembership) -> Option<u32> {
    let leader = leader.filter(|id| {
        let member = membership.membership().get_node(id);
        member.is_none_or(|member| member.role == Role::Data)
    });
    leader.and_then(|leader| u32::try_from(leader).ok())
}

/// Lets a witness ask to be elected when nobody else seems to be. Until dropped.
pub(crate) async fn stand_back(shared: Shared, raft: Raft, timing: Timing) {
    let patience = timing.election * STANDS_BACK;
    take_part_in_time(shared.clone(), raft.clone(), timing.heartbeat).await;
    loop {
        raft.runtime_config().elect(shared.contact.silent_for() > patience);
        tokio::time::sleep(timing.heartbeat).await;
    }
}

/// A witness was elected: until another replica leads, or the shard ends.
pub(crate) async fn hand_over(shared: &Shared, raft: &Raft, timing: Timing) {
    let Some(term) = leading_term(raft) else { return };
    tracing::info!(
        term,
        "this witness was elected: it looks for a replica with rows to lead"
    );
    let mut offered: Option<(u64, Instant)> = None;
    while leading_term(raft) == Some(term) && !shared.queue.is_closed() && shared.failure.get().is_none() {
        let is_due = offered.is_none_or(|(_, at)| at.elapsed() > timing.election * TAKES_LEAD_WITHIN);
        if is_due && let Some(heir) = heir(raft, offered.map_or(0, |(node, _)| node)) {
            tracing::info!(term, node = heir, "the lead is offered");
            offered = Some((heir, Instant::now()));
            // A replica that is going away leads no more, either.
            let _ = raft.trigger().transfer_leader(heir).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// A voter with rows that has the whole log: the next one after that, if there is one. One that has not taken the lead may be dead.
fn heir(raft: &Raft, after: u64) -> Option<u64> {
    let metrics = raft.metrics();
    let metrics = metrics.borrow_watched();
    let reached = metrics.replication.as_ref()?;
    let has_all = |id: &u64| {
        let matched = reached.get(id).and_then(|matched| matched.as_ref());
        matched.map(|matched| matched.index) >= metrics.last_log_index
    };
    let able = || voters_with_rows(&metrics.membership_config).filter(has_all);
    able().find(|&id| id > after).or_else(|| able().next())
}

fn voters_with_rows(membership: &StoredMembership) -> impl Iterator<Item = u64> + use<'_> {
    let membership = membership.membership();
    let has_rows = |id: &u64| {
        let member = membership.get_node(id);
        member.is_some_and(|member| member.role == Role::Data)
    };
    membership.voter_ids().filter(has_rows)
}

/// Which part of its log a witness may be without.
pub(crate) struct Retention {
    peers: Arc<dyn Peers>,
    /// At most so much is kept for those who lack it.
    most_bytes: u64,
    /// What the checkpoint of each voter with rows covers, as it has said last.
    covered: Mutex<BTreeMap<u64, u64>>,
}

impl Retention {
    pub fn new(peers: Arc<dyn Peers>, checkpoint_bytes: u64, log_keep_bytes: u64) -> Retention {
        Retention {
            peers,
            most_bytes: checkpoint_bytes.saturating_mul(CHECKPOINTS_KEPT).max(log_keep_bytes),
            covered: Mutex::default(),
        }
    }

    /// The newest entry, up to `unwanted`, that nobody needs any more, or that is too long ago.
    pub async fn released_upto(&self, shared: &Shared, applied: u64, unwanted: u64) -> Option<u64> {
        let membership = shared.replicated.lock().membership.clone();
        let asked = voters_with_rows(&membership).map(|voter| async move { (voter, self.ask(voter).await) });
        let answers = join_all(asked).await;
        let all = {
            let covered = &mut *self.covered.lock();
            covered.retain(|voter, _| answers.iter().any(|(asked, _)| asked == voter));
            for (voter, answer) in &answers {
                if let Some(index) = answer {
                    covered.insert(*voter, *index);
                }
            }
            // Who has never answered may lack everything.
            let of = |(voter, _): &(u64, _)| covered.get(voter).copied().unwrap_or(0);
            answers.iter().map(of).min().unwrap_or(0)
        };
        let too_much = shared.log.before_bytes(applied, self.most_bytes);
        let upto = unwanted.min(all.max(too_much.unwrap_or(0)));
        (upto > 0).then_some(upto)
    }

    async fn ask(&self, voter: u64) -> Option<u64> {
        let to = u32::try_from(voter).ok()?;
        let call = self.peers.call(to, Lane::Consensus, Request::Covered.encode(), CALL);
        let answer = tokio::time::timeout(CALL, call).await.ok()?.ok()?;
        match Response::decode(&answer) {
            Ok(Response::Covered(index)) => Some(index),
            _ => None,
        }
    }
}

/// What the newest checkpoint of this replica covers.
pub(crate) fn covered(shared: &Shared) -> u64 {
    let replicated = shared.replicated.lock();
    let checkpoint = replicated.checkpoint.as_ref().and_then(|meta| meta.last_log_id);
    checkpoint.map_or(0, |id| id.index)
}
