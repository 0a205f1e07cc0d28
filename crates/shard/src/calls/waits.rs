//! What a node that follows tells of waits in its own lock table.
//!
//! A circle of waits may go through that table and the leader's (`store`'s `lock/elsewhere.rs`). Who waits for less than [`LOOK`], and
//! whoever waits where no circle can be, costs no call.

use std::sync::Arc;
use std::time::Duration;

use super::guest::{CALL, Remote, Unanswered};
use super::message::{Answer, Call};
use crate::consensus::is_alone;

/// How often a node that follows looks who waits in its own lock table. What has lasted for less is told to nobody.
const LOOK: Duration = Duration::from_millis(100);

/// After a leader of a version that knows nothing of such waits, until it is told again.
const UNHEARD: Duration = Duration::from_secs(60);

/// So many waits, and whom they are for, are told at most.
const WAITS_TOLD: usize = 1 << 16;

impl Remote {
    /// Tells the leader who waits here: a circle of waits may go through its lock table and this one.
    pub async fn tell_waits(self: Arc<Remote>) {
        let (mut begun, mut has_told) = (0, false);
        loop {
            tokio::time::sleep(LOOK).await;
            let locks = self.store.locks();
            let before = std::mem::replace(&mut begun, locks.waits_begun());
            if is_alone(&self.raft) || self.leads() {
                has_told = false;
                continue;
            }
            let mut waits = locks.old_waits(before);
            if waits.is_empty() && !has_told {
                continue;
            }
            let mut left = WAITS_TOLD;
            waits.retain(|wait| {
                left = left.saturating_sub(1 + wait.blockers.len());
                left > 0
            });
            has_told = !waits.is_empty();
            match self.ask(Call::WaitsHere(waits).encode(), CALL).await {
                Ok(Answer::GiveUp(victims)) => {
                    let locks = self.store.locks();
                    victims.iter().for_each(|&(number, wait)| locks.give_up(number, wait));
                }
                Err(Unanswered::Refused) => tokio::time::sleep(UNHEARD).await,
                // It is told anew.
                Ok(_) | Err(Unanswered::NotDone | Unanswered::Lost) => {}
            }
        }
    }
}
