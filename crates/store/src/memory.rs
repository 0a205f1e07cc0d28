//! One budget for everything that grows with data or load.
//!
//! Rows, index nodes, versions, locks, overlays of open transactions and running queries are charged here. Two ways in:
//!
//! * [`MemoryBudget::reserve`] asks before growing and may be refused; the statement then fails with a clear error. What a
//!   transaction will add to the store is reserved before it is proposed, so applying a committed entry never fails.
//! * [`MemoryBudget::charge`] records what is already decided (applying the log, releasing): it never fails and may overshoot.
//!
//! The figure is our own arithmetic with the allocator's size classes ([`allocated`]), not the process's resident size.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// What a charge is for; shown in `SHOW ENGINE STATUS` and the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum MemoryUse {
    /// Row versions with their headers.
    Rows,
    /// Index nodes, keys and entry records.
    Indexes,
    /// Lock table entries.
    Locks,
    /// Uncommitted writes and the reservations for them.
    Transactions,
    /// Sorts, hash tables, result buffers.
    Queries,
    /// Rows and indexes of the sessions' own tables.
    Temporary,
}

impl MemoryUse {
    pub const ALL: [MemoryUse; 6] = [
        MemoryUse::Rows,
        MemoryUse::Indexes,
        MemoryUse::Locks,
        MemoryUse::Transactions,
        MemoryUse::Queries,
        MemoryUse::Temporary,
    ];

    pub fn name(self) -> &'static str {
        match self {
            MemoryUse::Rows => "rows",
            MemoryUse::Indexes => "indexes",
            MemoryUse::Locks => "locks",
            MemoryUse::Transactions => "transactions",
            MemoryUse::Queries => "queries",
            MemoryUse::Temporary => "temporary",
        }
    }
}

/// The request does not fit under the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("memory limit of {limit} bytes reached: {used} in use, {requested} more requested")]
pub struct MemoryLimit {
    pub requested: u64,
    pub used: u64,
    pub limit: u64,
}

/// The memory account of one node.
pub struct MemoryBudget {
    limit: i64,
    total: AtomicI64,
    by_use: [AtomicI64; MemoryUse::ALL.len()],
}

impl MemoryBudget {
    pub fn new(limit_bytes: u64) -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget {
            limit: i64::try_from(limit_bytes).unwrap_or(i64::MAX),
            total: AtomicI64::new(0),
            by_use: Default::default(),
        })
    }

    pub fn limit(&self) -> u64 {
        self.limit as u64
    }

    /// Bytes in use now: what is charged and reserved, or what the process has allocated, if that is more.
    pub fn used(&self) -> u64 {
        let charged = self.total.load(Ordering::Relaxed).max(0) as u64;
        charged.max(governor::memory::counted())
    }

    pub fn used_by(&self, purpose: MemoryUse) -> u64 {
        self.by_use[purpose as usize].load(Ordering::Relaxed).max(0) as u64
    }

    /// Takes `bytes` if they fit under the limit; they are given back when the reservation is dropped.
    pub fn reserve(self: &Arc<Self>, purpose: MemoryUse, bytes: u64) -> Result<Reservation, MemoryLimit> {
        let mut reservation = self.nothing_yet(purpose);
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// A reservation of nothing, to grow later. There is one at the limit, too: whoever begins there may only read.
    pub fn nothing_yet(self: &Arc<Self>, purpose: MemoryUse) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            purpose,
            bytes: 0,
            is_statements: purpose == MemoryUse::Transactions,
        }
    }

    /// Like [`reserve`](Self::reserve), with a small allowance above the limit: for deletes and other work that frees memory
    /// in the end, so that a full database can be emptied.
    pub fn reserve_to_shrink(self: &Arc<Self>, purpose: MemoryUse, bytes: u64) -> Result<Reservation, MemoryLimit> {
        let mut reservation = self.nothing_yet(purpose);
        reservation.grow_to_shrink(bytes)?;
        Ok(reservation)
    }

    /// Records `bytes` (negative: freed) without asking.
    pub fn charge(&self, purpose: MemoryUse, bytes: i64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
        self.by_use[purpose as usize].fetch_add(bytes, Ordering::Relaxed);
    }

    /// `others`: what the process has allocated. What nobody charges (packets, sessions, the process itself) counts as well.
    fn take(&self, purpose: MemoryUse, bytes: u64, limit: i64, others: u64) -> Result<(), MemoryLimit> {
        let requested = i64::try_from(bytes).unwrap_or(i64::MAX / 2);
        let before = self.total.fetch_add(requested, Ordering::Relaxed);
        let used = before.max(i64::try_from(others).unwrap_or(i64::MAX));
        if used.saturating_add(requested) > limit {
            self.total.fetch_sub(requested, Ordering::Relaxed);
            return Err(MemoryLimit {
                requested: bytes,
                used: used.max(0) as u64,
                limit: self.limit(),
            });
        }
        self.by_use[purpose as usize].fetch_add(requested, Ordering::Relaxed);
        Ok(())
    }

    /// The allowance for work that frees memory: 3% of the limit, at least 4 MiB.
    fn limit_to_shrink(&self) -> i64 {
        self.limit.saturating_add((self.limit / 32).max(4 << 20))
    }
}

impl fmt::Debug for MemoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryBudget({} of {} bytes)", self.used(), self.limit)
    }
}

/// Bytes taken from a [`MemoryBudget`] until dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Arc<MemoryBudget>,
    purpose: MemoryUse,
    bytes: u64,
    /// The running statement is told: what it allocates for this is not its own.
    is_statements: bool,
}

impl Reservation {
    /// Takes it from the running statement, for whoever goes on with it: what this stands for the statement does not hold any more.
    #[must_use]
    pub fn hand_over(mut self) -> Reservation {
        self.tell(-(self.bytes as i64));
        self.is_statements = false;
        self
    }

    fn tell(&self, bytes: i64) {
        if self.is_statements {
            governor::current::charge_elsewhere(bytes);
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn grow(&mut self, bytes: u64) -> Result<(), MemoryLimit> {
        let others = governor::memory::counted();
        self.budget.take(self.purpose, bytes, self.budget.limit, others)?;
        self.grown(bytes);
        Ok(())
    }

    pub fn grow_to_shrink(&mut self, bytes: u64) -> Result<(), MemoryLimit> {
        // Gaps in the allocator's pages are no reason to keep rows.
        let others = governor::memory::allocated();
        self.budget
            .take(self.purpose, bytes, self.budget.limit_to_shrink(), others)?;
        self.grown(bytes);
        Ok(())
    }

    fn grown(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.tell(bytes as i64);
    }

    /// Hands `bytes` of it, at most what is held, to a reservation of its own.
    pub fn split_off(&mut self, bytes: u64) -> Reservation {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Reservation {
            budget: Arc::clone(&self.budget),
            purpose: self.purpose,
            bytes,
            is_statements: self.is_statements,
        }
    }

    /// Gives `bytes` back, at most what is held.
    pub fn shrink(&mut self, bytes: u64) {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        self.tell(-(bytes as i64));
        self.budget.charge(self.purpose, -(bytes as i64));
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

/// The bytes an allocation of `size` takes in mimalloc's size classes: 8, multiples of 16 up to 64, then four per doubling.
pub const fn allocated(size: usize) -> usize {
    if size <= 8 {
        return 8;
    }
    if size <= 64 {
        return (size + 15) & !15;
    }
    let step = (1usize << (usize::BITS - 1 - (size - 1).leading_zeros())) >> 2;
    (size + step - 1) & !(step - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_beyond_the_limit_and_reuses_what_is_given_back() {
        let budget = MemoryBudget::new(1000);
        let held = budget.reserve(MemoryUse::Queries, 900).unwrap();
        let refused = budget.reserve(MemoryUse::Queries, 101).unwrap_err();
        assert_eq!(
            refused,
            MemoryLimit {
                requested: 101,
                used: 900,
                limit: 1000
            }
        );
        assert_eq!(budget.used(), 900);
        drop(held);
        assert_eq!(budget.used_by(MemoryUse::Queries), 0);
        assert_eq!(budget.reserve(MemoryUse::Queries, 1000).unwrap().bytes(), 1000);
    }

    #[test]
    fn deletes_may_overshoot_a_little_and_charges_always_may() {
        let budget = MemoryBudget::new(1000);
        budget.charge(MemoryUse::Rows, 5000);
        assert!(budget.reserve(MemoryUse::Transactions, 1).is_err());
        let mut delete = budget.reserve_to_shrink(MemoryUse::Transactions, 100).unwrap();
        assert!(delete.grow_to_shrink(64 << 20).is_err());
        budget.charge(MemoryUse::Rows, -5000);
        assert_eq!(budget.used(), 100);
    }

    #[test]
    fn a_transaction_may_begin_while_the_limit_is_exceeded() {
        let budget = MemoryBudget::new(1000);
        budget.charge(MemoryUse::Rows, 5000);
        let mut memory = budget.nothing_yet(MemoryUse::Transactions);
        assert!(memory.grow(1).is_err());
    }

    #[test]
    fn a_huge_request_is_refused_without_overflow() {
        let budget = MemoryBudget::new(u64::MAX);
        budget.charge(MemoryUse::Rows, 1);
        assert!(MemoryBudget::new(10).reserve(MemoryUse::Rows, u64::MAX).is_err());
    }

    #[test]
    fn size_classes() {
        assert_eq!(
            [1, 8, 12, 24, 64, 65, 80, 128, 129, 211, 1016, 1025].map(allocated),
            [8, 8, 16, 32, 64, 80, 80, 128, 160, 224, 1024, 1280]
        );
    }
}
