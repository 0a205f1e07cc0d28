//! Keys that new rows take before their locks are there.
//!
//! While another node leads, a lock costs a call, and a statement that adds many rows needs one for each key of each of them. So it takes
//! the keys that are free as far as this node knows, goes on, and asks for their locks together, at the latest at its end. Then it looks
//! again. Where somebody else was faster with a key, it runs again under the locks that it has by then ([`settle`](super::settle)), or
//! ends with a conflict where it cannot.
//!
//! Only keys of new rows are claimed. What a row leaves is locked before anybody looks who refers to it.

use std::sync::Arc;

use env::failpoints;
use shard::GuestLock;
use store::{IndexId, LockKey, LockMode, Table};

use super::lock::refusal;
use super::{Isolation, LockPolicy, Progress, Transaction, TransactionError, Wait};

/// So many are asked for together.
const MOST: usize = 256;

/// Those of the running statement.
#[derive(Default)]
pub(super) struct Claims(Vec<Claim>);

struct Claim {
    table: Arc<Table>,
    index: IndexId,
    key: Vec<u8>,
    /// The primary key of the new row.
    row: Vec<u8>,
}

impl Claim {
    fn lock(&self) -> LockKey<'_> {
        LockKey::Key(self.table.id(), self.index, &self.key)
    }
}

impl Transaction {
    /// From now on keys may be claimed; whoever allows it calls [`settle_claims`](Self::settle_claims) at the statement's end, and
    /// [`end_claims`](Self::end_claims). Claims of an earlier pass are forgotten with its rows.
    pub fn begin_claims(&mut self) {
        // What a serializable statement reads is locked before.
        let may_claim = self.guest.is_some() && self.options.isolation != Isolation::Serializable;
        self.claims = may_claim.then(Claims::default);
    }

    /// The statement is over: its rows are locked, or rolled back.
    pub fn end_claims(&mut self) {
        self.claims = None;
    }

    /// Locks a key for a new row, now or later. It is free as far as this node knows.
    pub(super) fn claim(
        &mut self,
        table: &Table,
        index: IndexId,
        key: &[u8],
        row: &[u8],
    ) -> Result<Progress, TransactionError> {
        let lock = LockKey::Key(table.id(), index, key);
        let (Some(claims), Some(guest)) = (&self.claims, &self.guest) else {
            return self.lock_entry(table, index, key, LockMode::Exclusive, LockPolicy::Wait);
        };
        // A table that is not the store's any more is told by the lock.
        let known = self.store().table(table.id());
        let known = known.filter(|known| std::ptr::eq(&**known, table));
        let (Some(known), false) = (known, table.id().is_local() || guest.covers(lock, LockMode::Exclusive)) else {
            return self.lock_entry(table, index, key, LockMode::Exclusive, LockPolicy::Wait);
        };
        if claims.0.len() >= MOST
            && let wait @ Progress::Wait(_) = self.settle_claims()?
        {
            return Ok(wait);
        }
        let claims = self.claims.as_mut().expect("they are allowed");
        claims.0.push(Claim {
            table: known,
            index,
            key: key.to_vec(),
            row: row.to_vec(),
        });
        Ok(Progress::Done)
    }

    /// Gets the locks of all keys that were claimed, and looks whether the keys are free still.
    pub fn settle_claims(&mut self) -> Result<Progress, TransactionError> {
        let (Some(claims), Some(guest)) = (&self.claims, &mut self.guest) else {
            return Ok(Progress::Done);
        };
        let Some(last) = claims.0.last() else {
            return Ok(Progress::Done);
        };
        let waited = match guest.take_answer(last.lock(), LockMode::Exclusive) {
            None => {
                self.has_late_definitions |= guest.has_later();
                let wait = guest.ask_all(claims.0.iter().map(Claim::lock), LockMode::Exclusive);
                return Ok(Progress::Wait(Wait::AtLeader(wait)));
            }
            Some(GuestLock::Granted { waited, .. }) => waited,
            Some(refused) => return Err(refusal(refused)),
        };
        self.check_memory()?;
        let claims = std::mem::take(&mut self.claims.as_mut().expect("they are allowed").0);
        for claim in &claims {
            if waited {
                self.note_wait(claim.lock());
            }
            self.note_lock(claim.lock());
            // As for any lock: the newest rows may have come with a checkpoint, in a table of its own.
            let is_lost = !claim.table.is_current() || (self.is_taken(claim) && !self.note_newer(claim.table.id()));
            if is_lost {
                return Err(TransactionError::WriteConflict(claim.table.id()));
            }
        }
        Ok(Progress::Done)
    }

    /// Whether somebody else has a row under the key by now.
    fn is_taken(&self, claim: &Claim) -> bool {
        if failpoints::goes_wrong("claims.taken") {
            return false;
        }
        match claim.index {
            IndexId::PRIMARY => claim.table.newest(&claim.key, |_, row| row.is_some()) == Some(true),
            index => self
                .find_committed(&claim.table, index, &claim.key, &claim.row)
                .is_some(),
        }
    }
}
