//! One lock: who holds it, who waits for it.

use super::mode::{LockMode, LockModes};
use super::table::{LockOwner, LockTable, Owner, Place};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

#[derive(Debug)]
pub(super) struct Holder {
    pub(super) owner: Arc<Owner>,
    pub(super) modes: LockModes,
}

/// A request in the queue.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) owner: Arc<Owner>,
    pub(super) mode: LockMode,
    ticket: Arc<Ticket>,
}

/// Shared by the request in the queue and the future.
#[derive(Debug, Default)]
struct Ticket {
    state: Mutex<TicketState>,
}

#[derive(Debug, Default)]
struct TicketState {
    /// Granted, or asked to try again.
    is_called: bool,
    waker: Option<Waker>,
}

impl Ticket {
    /// The waker is woken after the shard was unlocked.
    fn call(&self) -> Option<Waker> {
        let mut state = self.state.lock();
        state.is_called = true;
        state.waker.take()
    }
}

/// Holders and queue of one lock.
#[derive(Debug, Default)]
pub(super) struct LockState {
    /// One for most locks; shared ones have more.
    holders: Holders,
    #[expect(
        clippy::box_collection,
        reason = "hardly any lock has a queue, and there are millions of locks"
    )]
    queue: Option<Box<VecDeque<Waiter>>>,
}

#[derive(Debug, Default)]
enum Holders {
    #[default]
    Nobody,
    One(Holder),
    Many(Vec<Holder>),
}

impl Holders {
    fn as_slice(&self) -> &[Holder] {
        match self {
            Holders::Nobody => &[],
            Holders::One(holder) => std::slice::from_ref(holder),
            Holders::Many(holders) => holders,
        }
    }

    fn as_mut_slice(&mut self) -> &mut [Holder] {
        match self {
            Holders::Nobody => &mut [],
            Holders::One(holder) => std::slice::from_mut(holder),
            Holders::Many(holders) => holders,
        }
    }

    fn push(&mut self, holder: Holder) {
        *self = match std::mem::take(self) {
            Holders::Nobody => Holders::One(holder),
            Holders::One(first) => Holders::Many(vec![first, holder]),
            Holders::Many(mut holders) => {
                holders.push(holder);
                Holders::Many(holders)
            }
        };
    }

    fn remove(&mut self, owner: LockOwner) {
        match self {
            Holders::One(holder) if holder.owner.id == owner => *self = Holders::Nobody,
            Holders::Many(holders) => {
                holders.retain(|holder| holder.owner.id != owner);
                if holders.is_empty() {
                    *self = Holders::Nobody;
                }
            }
            _ => {}
        }
    }
}

/// How a request stands with a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grant {
    /// Held before.
    Already,
    Now,
    /// Not free.
    No,
}

impl LockState {
    pub(super) fn holders(&self) -> &[Holder] {
        self.holders.as_slice()
    }

    pub(super) fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.queue.iter().flat_map(|queue| queue.iter())
    }

    pub(super) fn is_free(&self) -> bool {
        self.holders().is_empty() && self.queue.is_none()
    }

    pub(super) fn concerns(&self, owner: LockOwner) -> bool {
        self.holders().iter().any(|holder| holder.owner.id == owner)
            || self.waiters().any(|waiter| waiter.owner.id == owner)
    }

    /// Grants the request if it can be: nobody else holds the lock in a conflicting mode, and nobody came before.
    pub(super) fn request(&mut self, owner: &Arc<Owner>, mode: LockMode) -> Grant {
        let mine = self.holders().iter().position(|holder| holder.owner.id == owner.id);
        if let Some(mine) = mine
            && self.holders()[mine].modes.cover(mode)
        {
            return Grant::Already;
        }
        if self.is_held_against(owner.id, mode) || (mine.is_none() && self.queue.is_some()) {
            return Grant::No;
        }
        match mine {
            Some(mine) => self.holders.as_mut_slice()[mine].modes.add(mode),
            None => self.holders.push(Holder {
                owner: Arc::clone(owner),
                modes: LockModes::of(mode),
            }),
        }
        Grant::Now
    }

    /// Held without asking: the owner has held it before, elsewhere.
    pub(super) fn hold(&mut self, owner: &Arc<Owner>, modes: LockModes) {
        let mut holders = self.holders.as_mut_slice().iter_mut();
        match holders.find(|holder| holder.owner.id == owner.id) {
            Some(holder) => holder.modes.add_all(modes),
            None => self.holders.push(Holder {
                owner: Arc::clone(owner),
                modes,
            }),
        }
    }

    fn is_held_against(&self, owner: LockOwner, mode: LockMode) -> bool {
        self.holders()
            .iter()
            .any(|holder| holder.owner.id != owner && holder.modes.conflict_with(mode))
    }

    /// Joins the queue: at its end, or, for a holder, before those who hold nothing.
    pub(super) fn enqueue(&mut self, owner: &Arc<Owner>, mode: LockMode) -> WaitHandle {
        let ticket = Arc::new(Ticket::default());
        let is_holder = |id| self.holders.as_slice().iter().any(|holder| holder.owner.id == id);
        let waiter = Waiter {
            owner: Arc::clone(owner),
            mode,
            ticket: Arc::clone(&ticket),
        };
        let queue = self.queue.get_or_insert_default();
        let at = match is_holder(owner.id) {
            true => queue.iter().take_while(|waiter| is_holder(waiter.owner.id)).count(),
            false => queue.len(),
        };
        queue.insert(at, waiter);
        WaitHandle(ticket)
    }

    /// Takes the owner out of the queue. The others' turn may have come: see [`grant_next`](Self::grant_next).
    pub(super) fn withdraw(&mut self, owner: LockOwner) -> bool {
        let Some(queue) = &mut self.queue else { return false };
        let before = queue.len();
        queue.retain(|waiter| waiter.owner.id != owner);
        let was_there = queue.len() < before;
        if queue.is_empty() {
            self.queue = None;
        }
        was_there
    }

    /// Takes the owner out of the queue and asks it to try again.
    pub(super) fn dismiss(&mut self, owner: LockOwner, woken: &mut Vec<Waker>) -> bool {
        woken.extend(
            self.waiters()
                .filter(|waiter| waiter.owner.id == owner)
                .filter_map(|waiter| waiter.ticket.call()),
        );
        let was_there = self.withdraw(owner);
        self.grant_next(woken);
        was_there
    }

    /// Nobody holds it any more, and whoever waits is to ask again.
    pub(super) fn void(&mut self, woken: &mut Vec<Waker>) {
        woken.extend(self.waiters().filter_map(|waiter| waiter.ticket.call()));
        *self = LockState::default();
    }

    /// Lets go of the lock, or of the place in its queue.
    pub(super) fn release(&mut self, owner: LockOwner, woken: &mut Vec<Waker>) {
        self.holders.remove(owner);
        self.withdraw(owner);
        self.grant_next(woken);
    }

    /// Grants from the head of the queue while it goes.
    pub(super) fn grant_next(&mut self, woken: &mut Vec<Waker>) {
        while let Some(first) = self.queue.as_ref().and_then(|queue| queue.front())
            && !self.is_held_against(first.owner.id, first.mode)
        {
            let queue = self.queue.as_mut().expect("it has a first");
            let first = queue.pop_front().expect("it has a first");
            if queue.is_empty() {
                self.queue = None;
            }
            match self
                .holders
                .as_mut_slice()
                .iter_mut()
                .find(|holder| holder.owner.id == first.owner.id)
            {
                Some(holder) => holder.modes.add(first.mode),
                None => self.holders.push(Holder {
                    owner: first.owner,
                    modes: LockModes::of(first.mode),
                }),
            }
            woken.extend(first.ticket.call());
        }
    }

    /// Whom a waiter waits for: holders in conflicting modes, and everybody before it in the queue.
    pub(super) fn blockers(&self, owner: LockOwner) -> Vec<Arc<Owner>> {
        let Some(waiter) = self.waiters().find(|waiter| waiter.owner.id == owner) else {
            return Vec::new();
        };
        let holders = self
            .holders()
            .iter()
            .filter(|holder| holder.modes.conflict_with(waiter.mode));
        let before = self.waiters().take_while(|waiter| waiter.owner.id != owner);
        holders
            .map(|holder| &holder.owner)
            .chain(before.map(|waiter| &waiter.owner))
            .filter(|blocker| blocker.id != owner)
            .cloned()
            .collect()
    }

    /// As [`blockers`](Self::blockers), without those that the waiter before it waits for.
    pub(super) fn nearest_blockers(&self, owner: LockOwner) -> Vec<Arc<Owner>> {
        let mut before = None;
        for waiter in self.waiters() {
            if waiter.owner.id != owner {
                before = Some(&waiter.owner);
                continue;
            }
            let holders = self.holders().iter();
            let in_the_way = holders.filter(|holder| holder.modes.conflict_with(waiter.mode));
            let blockers = in_the_way.map(|holder| &holder.owner).chain(before);
            return blockers.filter(|blocker| blocker.id != owner).cloned().collect();
        }
        Vec::new()
    }
}

/// The asking side of a place in a queue.
#[derive(Debug)]
pub(super) struct WaitHandle(Arc<Ticket>);

/// A request that waits its turn: ready when the lock has been granted, or when asking again will tell why not.
///
/// Ask again when it is ready. Dropping it withdraws the request; a lock granted meanwhile stays with the transaction.
#[must_use]
pub struct LockWait {
    handle: WaitHandle,
    table: Arc<LockTable>,
    place: Place,
    owner: LockOwner,
}

impl LockWait {
    pub(super) fn new(handle: WaitHandle, table: Arc<LockTable>, place: Place, owner: LockOwner) -> LockWait {
        LockWait {
            handle,
            table,
            place,
            owner,
        }
    }
}

impl Future for LockWait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.handle.0.state.lock();
        if state.is_called {
            return Poll::Ready(());
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            None => state.waker = Some(context.waker().clone()),
        }
        Poll::Pending
    }
}

impl Drop for LockWait {
    fn drop(&mut self) {
        self.table.stop_waiting(self.owner, self.place);
    }
}

impl fmt::Debug for LockWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LockWait({:?})", self.owner)
    }
}
