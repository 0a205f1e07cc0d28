//! `GET_LOCK` and its family on a node of a cluster.
//!
//! A lock is a name in the lock table of the node that leads, held by a transaction of the session's own that does nothing else: so there
//! is one queue for all nodes, a circle of sessions is found wherever they are, and the locks of a node that dies are free soon. They are
//! lost with the node that led. A session is told when it uses them next: error 3058, which asks to begin again.
//!
//! Who holds a lock its own node knows ([`Holders`]); the lock table has transactions, and no connections.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use parking_lot::Mutex;
use transaction::{LockPolicy, Progress, Transaction, TransactionError, Wait};
use types::{ErrorKind, SqlError, SqlResult};

use crate::engine::Engine;
use crate::errors::{interrupted, no_majority};
use crate::host::{Host, Interrupt, WaitEnd};
use crate::named_locks::checked_name;
use crate::nodes::OtherNodes;
use crate::waiting::{until, wait_for};

/// The locks that sessions of this node hold, in lower case, and their connections.
#[derive(Debug, Default)]
pub(crate) struct Holders(Mutex<HashMap<String, u32>>);

impl Holders {
    fn forget(&self, connection: u32) {
        self.0.lock().retain(|_, holder| *holder != connection);
    }
}

impl Engine {
    /// The connection of this node's that holds a lock.
    pub fn own_holder_of(&self, name: &str) -> Option<u32> {
        self.lock_holders.0.lock().get(&name.to_lowercase()).copied()
    }
}

/// The locks of a session.
#[derive(Default)]
pub(crate) struct ClusterLocks {
    /// Holds them all; `None`: there are none.
    holder: RefCell<Option<Transaction>>,
    /// How often each was taken.
    depths: RefCell<BTreeMap<String, u64>>,
    /// Whether there were some.
    is_used: Cell<bool>,
}

/// Who asks, and where.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub engine: &'a Engine,
    pub nodes: &'a dyn OtherNodes,
    pub host: &'a dyn Host,
    pub connection: u32,
}

impl Asker<'_> {
    /// By the node's clock.
    fn now(&self) -> Duration {
        self.engine.env().clock.monotonic()
    }
}

/// Why a lock is not got.
enum Refused {
    /// The time is over, or there was none.
    NotFree,
    Interrupted(Interrupt),
    Failed(TransactionError),
}

impl ClusterLocks {
    /// Takes a lock, waiting up to `timeout`; false when the time is over. 3058 where waiting would close a circle.
    pub fn acquire(&self, name: &str, timeout: Option<Duration>, asker: Asker<'_>) -> SqlResult<bool> {
        let name = checked_name(name)?;
        self.is_used.set(true);
        if !self.depths.borrow().is_empty() {
            self.confirm(asker)?;
        }
        if let Some(depth) = self.depths.borrow_mut().get_mut(&name) {
            *depth += 1;
            return Ok(true);
        }
        let key = key_of(&name);
        match self.lock(&key, timeout, asker) {
            Ok(()) => {}
            Err(Refused::NotFree) => return Ok(false),
            Err(Refused::Interrupted(interrupt)) => return Err(interrupted(interrupt)),
            Err(Refused::Failed(error)) => return Err(self.failed(error, asker)),
        }
        self.depths.borrow_mut().insert(name.clone(), 1);
        asker.engine.lock_holders.0.lock().insert(name, asker.connection);
        Ok(true)
    }

    fn lock(&self, key: &[u8], timeout: Option<Duration>, asker: Asker<'_>) -> Result<(), Refused> {
        let policy = match timeout {
            Some(Duration::ZERO) => LockPolicy::NoWait,
            _ => LockPolicy::Wait,
        };
        // Who does not wait for the lock waits for the answer of the node that leads, which comes or is given up.
        let deadline = timeout
            .filter(|timeout| !timeout.is_zero())
            .map(|timeout| asker.now() + timeout);
        let mut begin_again = self.depths.borrow().is_empty();
        loop {
            let progress = {
                let holder = &mut *self.holder.borrow_mut();
                holder
                    .get_or_insert_with(|| asker.engine.begin())
                    .lock_name(key, policy)
            };
            let wait = match progress {
                // What it is good for, other nodes may have decided meanwhile.
                Ok(Progress::Done) => return self.confirm_lead(asker).inspect_err(|_| self.let_go(key, asker)),
                Ok(Progress::Wait(wait)) => wait,
                Ok(Progress::Skipped) | Err(TransactionError::LockNotAvailable) => return Err(Refused::NotFree),
                // It holds nothing that could have been lost.
                Err(TransactionError::LocksLost) if std::mem::take(&mut begin_again) => {
                    self.holder.take();
                    continue;
                }
                Err(error) => {
                    // The answer may have been lost, and not the lock. Nobody has to wait until that is told.
                    if let (TransactionError::Unavailable, Some(holder)) = (&error, &mut *self.holder.borrow_mut()) {
                        drop(holder.unlock_name(key));
                    }
                    return Err(Refused::Failed(error));
                }
            };
            if let Err(refused) = wait_until(wait, deadline, "User lock", asker) {
                // It may have been granted just now.
                self.let_go(key, asker);
                return Err(refused);
            }
        }
    }

    /// Gives a lock back once: `None` when nobody holds it, false when somebody else does.
    pub fn release(&self, name: &str, asker: Asker<'_>) -> SqlResult<Option<bool>> {
        let name = name.to_lowercase();
        let depth = self.depths.borrow().get(&name).copied();
        match depth {
            None => return Ok(self.holder_of(&name, asker)?.map(|_| false)),
            Some(1) => {}
            Some(_) => {
                self.confirm(asker)?;
                self.depths.borrow_mut().entry(name).and_modify(|depth| *depth -= 1);
                return Ok(Some(true));
            }
        }
        // That it is given back says that it was held until now: another node may lead, and have given it to somebody else.
        let confirmed = match self.confirm_lead(asker) {
            Err(Refused::Interrupted(interrupt)) => return Err(interrupted(interrupt)),
            Err(Refused::Failed(error)) => Err(error),
            Ok(()) | Err(Refused::NotFree) => Ok(()),
        };
        asker.engine.lock_holders.0.lock().remove(&name);
        self.depths.borrow_mut().remove(&name);
        let unlocked = self.unlock(&key_of(&name), asker);
        match confirmed.and(unlocked) {
            Ok(true) => {}
            Ok(false) => return Err(self.failed(TransactionError::LocksLost, asker)),
            Err(error) => return Err(self.failed(error, asker)),
        }
        if self.depths.borrow().is_empty() {
            self.holder.take();
        }
        Ok(Some(true))
    }

    /// Gives back everything. Returns how often locks had been taken.
    pub fn release_all(&self, asker: Asker<'_>) -> SqlResult<u64> {
        let taken = self.depths.borrow().values().sum();
        if taken == 0 {
            return Ok(0);
        }
        self.confirm(asker)?;
        let holder = self.forget(asker.engine, asker.connection);
        if let Some(holder) = holder {
            asker.host.wait(std::pin::pin!(holder.rolled_back()));
        }
        Ok(taken)
    }

    /// The connection that holds a lock.
    pub fn holder_of(&self, name: &str, asker: Asker<'_>) -> SqlResult<Option<u32>> {
        let name = name.to_lowercase();
        if self.depths.borrow().contains_key(&name) {
            self.confirm(asker)?;
            return Ok(Some(asker.connection));
        }
        if let Some(here) = asker.engine.own_holder_of(&name) {
            return Ok(Some(here));
        }
        let elsewhere = wait_for(asker.nodes.holders_of(&name), asker.host)?;
        match (elsewhere.found.first(), elsewhere.silent.first()) {
            (Some(holder), _) => Ok(Some(*holder)),
            (None, None) => Ok(None),
            // It may be one of a node that does not answer: then its lock is not free.
            (None, Some(node)) => match self.is_free(&key_of(&name), asker)? {
                true => Ok(None),
                false => {
                    let text = format!("Node {node} does not answer: one of its sessions may hold the lock");
                    Err(SqlError::with_message(ErrorKind::UnknownError, text))
                }
            },
        }
    }

    /// The session ends, or begins anew. Dropping what is returned frees the locks.
    pub fn forget(&self, engine: &Engine, connection: u32) -> Option<Transaction> {
        if !self.is_used.take() {
            return None;
        }
        engine.lock_holders.forget(connection);
        self.depths.borrow_mut().clear();
        self.holder.take()
    }

    fn is_free(&self, key: &[u8], asker: Asker<'_>) -> SqlResult<bool> {
        let probe = ClusterLocks::default();
        match probe.lock(key, Some(Duration::ZERO), asker) {
            Ok(()) => Ok(true),
            Err(Refused::NotFree) => Ok(false),
            Err(Refused::Interrupted(interrupt)) => Err(interrupted(interrupt)),
            Err(Refused::Failed(error)) => Err(sql_error(&error)),
        }
    }

    /// 3058 where the locks are lost: then there are none any more.
    fn confirm(&self, asker: Asker<'_>) -> SqlResult<()> {
        let confirmed = loop {
            let progress = match &mut *self.holder.borrow_mut() {
                None => return Ok(()),
                Some(holder) => holder.confirm_locks(),
            };
            let wait = match progress {
                Ok(Progress::Wait(wait)) => wait,
                Ok(Progress::Done | Progress::Skipped) => break self.confirm_lead(asker),
                Err(error) => break Err(Refused::Failed(error)),
            };
            if let Err(refused) = wait_until(wait, None, "Waiting for other nodes", asker) {
                break Err(refused);
            }
        };
        match confirmed {
            Ok(()) => Ok(()),
            Err(Refused::NotFree) => Err(no_majority()),
            Err(Refused::Interrupted(interrupt)) => Err(interrupted(interrupt)),
            Err(Refused::Failed(error)) => Err(self.failed(error, asker)),
        }
    }

    /// A lock that was taken here is good if this node leads still.
    fn confirm_lead(&self, asker: Asker<'_>) -> Result<(), Refused> {
        let is_guest = self.holder.borrow().as_ref().is_some_and(Transaction::is_guest);
        let freshness = asker.engine.participant().freshness().filter(|_| !is_guest);
        let Some(freshness) = freshness else { return Ok(()) };
        let fresh = until(freshness, "Waiting for other nodes", asker.host).map_err(Refused::Interrupted)?;
        match (fresh, &mut *self.holder.borrow_mut()) {
            (Err(_), _) => Err(Refused::Failed(TransactionError::Unavailable)),
            (Ok(()), Some(holder)) => holder.confirm_locks().map(drop).map_err(Refused::Failed),
            (Ok(()), None) => Ok(()),
        }
    }

    /// A request that is not waited for any more leaves nothing behind.
    fn let_go(&self, key: &[u8], asker: Asker<'_>) {
        // Where nobody can be told, the lock goes with the session.
        let _ = self.unlock(key, asker);
    }

    fn unlock(&self, key: &[u8], asker: Asker<'_>) -> Result<bool, TransactionError> {
        let unlocking = match &mut *self.holder.borrow_mut() {
            None => return Ok(true),
            Some(holder) => holder.unlock_name(key),
        };
        let mut answer = None;
        asker
            .host
            .wait(std::pin::pin!(async { answer = Some(unlocking.await) }));
        answer.unwrap_or(Err(TransactionError::Unavailable))
    }

    fn failed(&self, error: TransactionError, asker: Asker<'_>) -> SqlError {
        if error == TransactionError::LocksLost {
            self.forget(asker.engine, asker.connection);
        }
        sql_error(&error)
    }
}

fn sql_error(error: &TransactionError) -> SqlError {
    match error {
        TransactionError::Deadlock => ErrorKind::UserLockDeadlock.into(),
        TransactionError::LocksLost => {
            let text = format!(
                "{} The locks of the session are lost: another node has led since it took them.",
                SqlError::from(ErrorKind::UserLockDeadlock).message()
            );
            SqlError::with_message(ErrorKind::UserLockDeadlock, text)
        }
        TransactionError::Unavailable => no_majority(),
        other => SqlError::internal(other),
    }
}

/// Until a moment of the node's clock, at most.
fn wait_until(wait: Wait, deadline: Option<Duration>, state: &'static str, asker: Asker<'_>) -> Result<(), Refused> {
    let left = deadline.map(|deadline| deadline.saturating_sub(asker.now()));
    let host = asker.host;
    host.show_state(state);
    let end = host.wait_interruptible(std::pin::pin!(wait), left);
    host.show_state("");
    match end {
        WaitEnd::Done => Ok(()),
        WaitEnd::TimedOut => Err(Refused::NotFree),
        WaitEnd::Interrupted(interrupt) => Err(Refused::Interrupted(interrupt)),
    }
}

/// Names of locks and names of what the catalog has are apart.
fn key_of(name: &str) -> Vec<u8> {
    [b"user lock\0", name.as_bytes()].concat()
}
