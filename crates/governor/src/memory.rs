//! Accounts, limits, and who has to give way when the node's memory runs out.
//!
//! The allocator ([`crate::alloc`]) counts every byte, so nothing has to be charged by hand: what is allocated while a session's
//! statement runs is the session's, until it is freed there. Three limits:
//!
//! * a statement's own (`query_memory_limit`);
//! * the node's (`memory_limit`), of which queries leave [a part](HEADROOM_PART) to writes;
//! * once that is reached, a session's share: what the queries may have together, divided by the sessions that hold much.
//!   Above the share a statement ends. Somebody is always above it, and who holds little is never disturbed.
//!
//! What the process takes beside what is allocated, such as gaps in the allocator's pages, may be [a part](LOST_PART) of the limit. What is
//! beyond that, as the system tells at every [look](look_at_resident), counts as allocated: so the resident size has a limit, too.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::stop::MemoryStop;
use crate::{alloc, large, turn};

/// An account is large from here on, and no session's share is less.
pub const SMALL: i64 = 1 << 20;
/// Queries leave this part of the limit to writes, which would otherwise fail because of somebody's sort.
pub const HEADROOM_PART: i64 = 16;
/// So much of the limit the process may take beside what is allocated. With what comes between two looks it stays below a quarter.
const LOST_PART: i64 = 5;
/// With less of the limit than this part, new rows are about to be refused.
const LEFT_PART: i64 = 64;
/// Of every system that this runs on.
const PAGE_BYTES: i64 = 4096;
/// What is unmapped in one go by who allocates: some hundred microseconds each.
const PIECES_AT_ONCE: u32 = 2;

static NODE_LIMIT: AtomicI64 = AtomicI64::new(i64::MAX);
/// The sum over all accounts.
static HELD: AtomicI64 = AtomicI64::new(0);
/// What the process took beside what was allocated, at the last look and at the one before: the lesser of both.
static UNUSED: AtomicI64 = AtomicI64::new(0);
static UNUSED_AT_LAST_LOOK: AtomicI64 = AtomicI64::new(0);
/// The accounts above [`SMALL`].
static LARGE: AtomicI64 = AtomicI64::new(0);

/// What one session holds, with its running statement: trees, plans, prepared statements, variables, cursors, rows.
#[derive(Debug, Default)]
pub struct Account {
    held: AtomicI64,
    peak: AtomicI64,
    /// What another thread has freed of it.
    dropped_aside: AtomicI64,
}

impl Account {
    /// Bytes, as of the last step or switch.
    pub fn bytes(&self) -> u64 {
        self.held().max(0) as u64
    }

    /// The most that it ever held.
    pub fn peak_bytes(&self) -> u64 {
        self.peak.load(Relaxed).max(0) as u64
    }

    pub(crate) fn held(&self) -> i64 {
        self.held.load(Relaxed)
    }

    pub(crate) fn dropped_aside(&self) -> i64 {
        self.dropped_aside.load(Relaxed)
    }

    /// Another thread has freed `bytes` of what the session had allocated.
    pub(crate) fn drop_aside(&self, bytes: i64) {
        self.add(-bytes);
        self.dropped_aside.fetch_add(bytes, Relaxed);
    }

    pub(crate) fn add(&self, change: i64) {
        if change == 0 {
            return;
        }
        let before = self.held.fetch_add(change, Relaxed);
        let after = before + change;
        if after > self.peak.load(Relaxed) {
            self.peak.store(after, Relaxed);
        }
        HELD.fetch_add(change, Relaxed);
        match (before > SMALL, after > SMALL) {
            (false, true) => LARGE.fetch_add(1, Relaxed),
            (true, false) => LARGE.fetch_sub(1, Relaxed),
            _ => 0,
        };
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.add(-self.held());
    }
}

/// The node's `memory_limit`, for all that the allocator counts.
pub fn set_node_limit(bytes: u64) {
    NODE_LIMIT.store(i64::try_from(bytes).unwrap_or(i64::MAX), Relaxed);
}

/// What all sessions hold.
pub fn held_by_sessions() -> u64 {
    HELD.load(Relaxed).max(0) as u64
}

/// What the process has allocated; 0 without the counting allocator.
pub fn allocated() -> u64 {
    alloc::total().max(0) as u64
}

/// What counts against the limit: what is allocated, and what is lost.
pub fn counted() -> u64 {
    (alloc::total() + lost()).max(0) as u64
}

/// What the process takes beside what is allocated, beyond the part of the limit that it may.
pub(crate) fn lost() -> i64 {
    (UNUSED.load(Relaxed) - NODE_LIMIT.load(Relaxed) / LOST_PART).max(0)
}

/// Asks the system what the process takes of its memory, in bytes; 0 where it does not tell.
pub fn look_at_resident() -> u64 {
    let resident = resident().unwrap_or(0);
    let unused = resident - alloc::total();
    // What was freed a moment ago is on its way back: only what two looks find is lost.
    let before = UNUSED_AT_LAST_LOOK.swap(unused, Relaxed);
    UNUSED.store(unused.min(before), Relaxed);
    resident as u64
}

/// Without the pages of files.
fn resident() -> Option<i64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = statm.split_ascii_whitespace().skip(1).map(str::parse::<i64>);
    let (resident, of_files) = (pages.next()?.ok()?, pages.next()?.ok()?);
    Some((resident - of_files).max(0) * PAGE_BYTES)
}

/// Whether the node cannot hold `more` bytes.
pub fn is_used_up(more: usize) -> bool {
    exceeds(ceiling(), i64::try_from(more).unwrap_or(i64::MAX))
}

/// How much has to become free so that a quarter of the limit is.
pub(crate) fn lacking_to_a_quarter() -> u64 {
    let limit = NODE_LIMIT.load(Relaxed);
    (alloc::total() + lost() - (limit - limit / 4)).max(0) as u64
}

/// Whether hardly anything of the limit is left, the headroom included.
pub(crate) fn is_all_but_used_up() -> bool {
    let limit = NODE_LIMIT.load(Relaxed);
    alloc::total().saturating_add(lost()) > limit - limit / LEFT_PART
}

/// Whether sessions hold an eighth of the limit.
pub(crate) fn sessions_hold_much() -> bool {
    held_by_sessions() > NODE_LIMIT.load(Relaxed) as u64 / 8
}

/// Why a statement has to end that holds so much, when the node needs it.
pub fn node_is_full(held: u64) -> MemoryStop {
    MemoryStop::Node {
        bytes: held,
        limit: NODE_LIMIT.load(Relaxed) as u64,
    }
}

/// Why a session that would hold `held` after allocating `more` has to end its statement.
pub(crate) fn lacks_memory(held: i64, more: i64) -> Option<MemoryStop> {
    let ceiling = ceiling();
    if !exceeds(ceiling, more) {
        return None;
    }
    let others = (alloc::total() + lost() - HELD.load(Relaxed)).max(0);
    (held > share(ceiling - others, LARGE.load(Relaxed))).then(|| node_is_full(held.max(0) as u64))
}

/// The limit, less the headroom.
fn ceiling() -> i64 {
    let limit = NODE_LIMIT.load(Relaxed);
    limit - limit / HEADROOM_PART
}

/// What only waits to be unmapped is no reason to end anybody, as far as the headroom has room for it. Some of it is unmapped here, so
/// that who allocates does not outrun the reaper.
fn exceeds(ceiling: i64, more: i64) -> bool {
    let lost = lost();
    let is_above = |allocated: i64| allocated.saturating_add(lost).saturating_add(more) > ceiling;
    let mut pieces = PIECES_AT_ONCE;
    while is_above(alloc::total()) && pieces > 0 && large::unmap_piece() {
        turn::note_heavy();
        pieces -= 1;
    }
    let tolerated = NODE_LIMIT.load(Relaxed) / HEADROOM_PART;
    is_above(alloc::total() - large::waiting().min(tolerated))
}

fn share(for_sessions: i64, large: i64) -> i64 {
    (for_sessions / large.max(1)).max(SMALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn somebody_is_always_above_the_share_and_the_small_never() {
        for held in [vec![100 << 20], vec![90 << 20, 20 << 20], vec![11 << 20; 10]] {
            let (sum, large): (i64, i64) = (held.iter().sum(), held.len() as i64);
            let share = share(sum - 1, large);
            assert!(held.iter().any(|held| *held > share));
        }
        assert_eq!(share(-5, 3), SMALL);
    }

    #[test]
    fn an_account_takes_what_it_held_with_it() {
        let account = Account::default();
        account.add(3 << 20);
        account.add(-(1 << 20));
        assert_eq!((account.bytes(), account.peak_bytes()), (2 << 20, 3 << 20));
        account.add(-(4 << 20));
        assert_eq!(
            account.bytes(),
            0,
            "what it freed for others does not make it negative to look at"
        );
    }
}
