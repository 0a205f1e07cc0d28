//! Keys that rows take, and rows that they refer to, before their locks are there.
//!
//! While another node leads, a lock costs a call, and a statement that adds many rows, or gives them new keys, needs one for each of these, and
//! one for each row that a foreign key refers to. So it takes the keys that are free and refers to the rows that are there, as far as this
//! node knows, goes on, and asks for their locks together, at the latest at its end. Then it looks again. Where somebody else was faster
//! it runs again under the locks that it has by then ([`settle`](super::settle)), or ends with a conflict where it cannot.
//!
//! What a row leaves is never claimed: it is locked before anybody looks who refers to it; of many rows together
//! ([`lock_leaving_ahead`](Transaction::lock_leaving_ahead)).

use std::sync::Arc;

use env::failpoints;
use shard::Guest;
use store::{IndexId, LockKey, LockMode, Table};

use super::lock::{AtLeader, LOCKS_AT_ONCE};
use super::{Isolation, LockPolicy, Progress, Transaction, TransactionError, Wait};

/// Those of the running statement.
#[derive(Default)]
pub(super) struct Claims(Vec<Claim>);

struct Claim {
    table: Arc<Table>,
    index: IndexId,
    key: Vec<u8>,
    claimed: Claimed,
}

/// What a lock is claimed for.
pub(super) enum Claimed {
    /// A row takes the key. `row`: its primary key, before the change if that moves it.
    Key { row: Vec<u8> },
    /// A row refers to the one under the primary key, by what begins its key in an index.
    Reference { index: IndexId, key: Vec<u8> },
}

impl Claimed {
    pub fn by(row: &[u8]) -> Claimed {
        Claimed::Key { row: row.to_vec() }
    }

    fn mode(&self) -> LockMode {
        match self {
            Claimed::Key { .. } => LockMode::Exclusive,
            Claimed::Reference { .. } => LockMode::Shared,
        }
    }
}

impl Claim {
    fn lock(&self) -> (LockMode, LockKey<'_>) {
        let key = LockKey::Key(self.table.id(), self.index, &self.key);
        (self.claimed.mode(), key)
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

    /// Locks a key, now or later. It is free, or the row there, as far as this node knows.
    pub(super) fn claim(
        &mut self,
        table: &Table,
        index: IndexId,
        key: &[u8],
        claimed: Claimed,
    ) -> Result<Progress, TransactionError> {
        let (lock, mode) = (LockKey::Key(table.id(), index, key), claimed.mode());
        let is_held = |guest: &Guest| guest.covers(lock, mode);
        let may_wait = self.locks_elsewhere(table) && !self.guest.as_ref().is_some_and(is_held);
        // A table that is not the store's any more is told by the lock.
        let known = self.store().table(table.id());
        let known = known.filter(|known| may_wait && std::ptr::eq(&**known, table));
        let (Some(known), Some(claims)) = (known, &self.claims) else {
            return self.lock_entry(table, index, key, mode, LockPolicy::Wait);
        };
        if mode == LockMode::Shared && claims.0.iter().any(|claim| claim.lock() == (mode, lock)) {
            return Ok(Progress::Done);
        }
        if claims.0.len() >= LOCKS_AT_ONCE
            && let wait @ Progress::Wait(_) = self.settle_claims()?
        {
            return Ok(wait);
        }
        let claims = self.claims.as_mut().expect("they are allowed");
        claims.0.push(Claim {
            table: known,
            index,
            key: key.to_vec(),
            claimed,
        });
        Ok(Progress::Done)
    }

    /// Whether [`settle_claims`](Self::settle_claims) has something to do.
    #[inline]
    pub fn has_claims(&self) -> bool {
        self.claims.as_ref().is_some_and(|claims| !claims.0.is_empty())
    }

    /// Gets the locks of all that was claimed, and looks whether the keys are free still, and the rows there.
    pub fn settle_claims(&mut self) -> Result<Progress, TransactionError> {
        let Some(Claims(claims)) = &mut self.claims else {
            return Ok(Progress::Done);
        };
        let claims = std::mem::take(claims);
        let locks: Vec<(LockMode, LockKey<'_>)> = claims.iter().map(Claim::lock).collect();
        let Some((&(mode, last), before)) = locks.split_last() else {
            return Ok(Progress::Done);
        };
        let waited = match self.ask_leader_after(before, last, mode, LockPolicy::Wait)? {
            AtLeader::Asked(wait) => {
                drop(locks);
                self.claims = Some(Claims(claims));
                return Ok(Progress::Wait(Wait::AtLeader(wait)));
            }
            AtLeader::Granted { waited } => waited,
            AtLeader::NotAsked | AtLeader::Held => return Ok(Progress::Done),
            AtLeader::NotFree => return Err(TransactionError::LockNotAvailable),
        };
        self.check_memory()?;
        for claim in &claims {
            let (_, lock) = claim.lock();
            if waited {
                self.note_wait(lock);
            }
            self.note_lock(lock);
            // As for any lock: the newest rows may have come with a checkpoint, in a table of its own.
            let is_lost = !claim.table.is_current() || (!self.is_good(claim) && !self.note_newer(claim.table.id()));
            if is_lost {
                return Err(TransactionError::WriteConflict(claim.table.id()));
            }
        }
        Ok(Progress::Done)
    }

    /// Whether nobody else has a row under the key that was claimed; or has removed the row, or given it another key.
    fn is_good(&self, claim: &Claim) -> bool {
        if failpoints::goes_wrong("claims.taken") {
            return true;
        }
        let (table, index) = (&claim.table, claim.index);
        match &claim.claimed {
            Claimed::Key { .. } if index == IndexId::PRIMARY => {
                table.newest(&claim.key, |_, row| row.is_some()) != Some(true)
            }
            Claimed::Key { row } => self.find_committed(table, index, &claim.key, row).is_none(),
            // What the transaction has done to the row itself was checked then.
            Claimed::Reference { index, key } => {
                self.overlay.row(table.id(), &claim.key).is_some() || self.has_key(table, &claim.key, *index, key)
            }
        }
    }
}
