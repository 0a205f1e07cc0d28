//! Until when this replica is certain to lead.
//!
//! A replica that has heard of its leader votes for nobody else for a while. So a leader whom a majority has answered is the only one for
//! some time after it had *asked*: meanwhile the rows here are the newest that there are. Where that time is over, the majority is asked
//! anew ([`Lease::confirm`]).
//!
//! Followers wait at least an election timeout, twice that as a rule; the lease is shorter than the shortest of these waits. A replica
//! that has just started does not know whom it has answered before, and gives no vote for as long ([`Lease::may_vote`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use env::failpoints;
use openraft::ReadPolicy;
use openraft::async_runtime::Instant as _;
use openraft::async_runtime::WatchReceiver;
use tokio::time::Instant;

use crate::consensus::{Raft, is_alone};
use crate::leader::leading_term;

/// Who has not confirmed the lead by then is not waited for.
const CONFIRMED_WITHIN: Duration = Duration::from_millis(500);

/// A leader's right to answer alone.
pub(crate) struct Lease {
    /// From then on time is counted, by the consensus library's clock.
    opened: Instant,
    length: Duration,
    /// Nanoseconds since.
    until: AtomicU64,
    /// Up to which term the lead was offered to another replica, which takes it without waiting.
    offered: AtomicU64,
}

impl Lease {
    /// For replicas that wait at least `election` before they vote for another one.
    pub fn new(election: Duration) -> Lease {
        Lease {
            opened: Instant::now(),
            // Clocks do not run alike.
            length: election.mul_f64(0.9),
            until: AtomicU64::new(0),
            offered: AtomicU64::new(0),
        }
    }

    /// Whether this replica leads for certain. One look at the clock.
    #[inline]
    pub fn is_good(&self) -> bool {
        (self.opened.elapsed().as_nanos() as u64) < self.until.load(Ordering::Acquire)
    }

    /// As [`is_good`](Self::is_good), after a look at what the others have answered since the last time.
    pub fn renew(&self, raft: &Raft, term: u64) -> bool {
        let acknowledged = {
            let metrics = raft.data_metrics();
            let metrics = metrics.borrow_watched();
            metrics.last_quorum_acked.map(|at| at.into_inner().elapsed())
        };
        // Rows of the later term may be missing here, where the lead was lost and won again within a moment.
        if leading_term(raft) != Some(term) && !failpoints::goes_wrong("lease.term") {
            return false;
        }
        let me = *raft.node_id();
        if !raft.voter_ids().any(|voter| voter == me) {
            // It has been taken out. When the lease is over another one takes the lead without waiting.
            return false;
        }
        let Some(ago) = is_alone(raft).then_some(Duration::ZERO).or(acknowledged) else {
            return false;
        };
        let since = Instant::now() - ago;
        // In this order: who offers the lead voids the lease after it has said so.
        let length = match failpoints::goes_wrong("lease.length") {
            true => self.length * 10,
            false => self.length,
        };
        let until = (since + length).saturating_duration_since(self.opened);
        self.until.store(until.as_nanos() as u64, Ordering::SeqCst);
        if self.offered.load(Ordering::SeqCst) >= term {
            self.until.store(0, Ordering::SeqCst);
        }
        self.is_good()
    }

    /// Another replica may take the lead over at any moment: that of this term, or of an earlier one.
    pub fn offer(&self, term: u64) {
        if failpoints::goes_wrong("lease.offer") {
            return;
        }
        self.offered.fetch_max(term, Ordering::SeqCst);
        self.until.store(0, Ordering::SeqCst);
    }

    /// The lead is over.
    pub fn end(&self) {
        self.until.store(0, Ordering::SeqCst);
    }

    /// Asks the others whether this replica leads still, and waits until it has applied what was committed before. A thread that waits for
    /// its disk says nothing.
    pub async fn confirm(raft: &Raft) -> bool {
        let asking = raft.ensure_linearizable(ReadPolicy::ReadIndex);
        matches!(tokio::time::timeout(CONFIRMED_WITHIN, asking).await, Ok(Ok(_)))
    }

    /// Whether votes may be given: nobody relies on what this replica has answered in an earlier life.
    pub fn may_vote(&self) -> bool {
        self.opened.elapsed() > self.length || failpoints::goes_wrong("lease.start")
    }
}
