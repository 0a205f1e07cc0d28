//! `GET_LOCK` and its family: locks by name, held by connections, on a node without others.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use types::{ErrorKind, SqlError, SqlResult};

use crate::errors::interrupted;
use crate::host::{Host, WaitEnd};

/// Longest name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// All named locks of a node.
#[derive(Debug, Default)]
pub struct NamedLocks {
    locks: Mutex<HashMap<String, NamedLock>>,
}

#[derive(Debug)]
struct NamedLock {
    holder: u32,
    /// How often the holder has taken it.
    depth: u64,
    waiters: VecDeque<Arc<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    connection: u32,
    state: Mutex<WaiterState>,
}

#[derive(Debug, Default)]
struct WaiterState {
    granted: bool,
    waker: Option<Waker>,
}

struct Granted<'a>(&'a Waiter);

impl Future for Granted<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.state.lock();
        if state.granted {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl NamedLocks {
    /// Takes a lock, waiting up to `timeout` in the order of asking; false when the time is over. 3058 where waiting would close a circle.
    pub fn acquire(&self, name: &str, connection: u32, timeout: Option<Duration>, host: &dyn Host) -> SqlResult<bool> {
        let name = checked_name(name)?;
        let waiter = {
            let mut locks = self.locks.lock();
            match locks.get_mut(&name) {
                None => {
                    locks.insert(
                        name,
                        NamedLock {
                            holder: connection,
                            depth: 1,
                            waiters: VecDeque::new(),
                        },
                    );
                    return Ok(true);
                }
                Some(lock) if lock.holder == connection => {
                    lock.depth += 1;
                    return Ok(true);
                }
                Some(_) if timeout == Some(Duration::ZERO) => return Ok(false),
                Some(lock) => {
                    let holder = lock.holder;
                    if waits_for(&locks, holder, connection) {
                        return Err(ErrorKind::UserLockDeadlock.into());
                    }
                    let waiter = Arc::new(Waiter {
                        connection,
                        state: Mutex::default(),
                    });
                    let lock = locks.get_mut(&name).expect("looked up above, under the same guard");
                    lock.waiters.push_back(waiter.clone());
                    waiter
                }
            }
        };
        host.show_state("User lock");
        let end = host.wait_interruptible(std::pin::pin!(Granted(&waiter)), timeout);
        host.show_state("");
        let mut locks = self.locks.lock();
        if waiter.state.lock().granted {
            return Ok(true);
        }
        if let Some(lock) = locks.get_mut(&name) {
            lock.waiters.retain(|other| !Arc::ptr_eq(other, &waiter));
        }
        match end {
            WaitEnd::Interrupted(interrupt) => Err(interrupted(interrupt)),
            _ => Ok(false),
        }
    }

    /// Gives a lock back once: `None` when nobody holds it, false when somebody else does.
    pub fn release(&self, name: &str, connection: u32) -> Option<bool> {
        let name = name.to_lowercase();
        let mut locks = self.locks.lock();
        let lock = locks.get_mut(&name)?;
        if lock.holder != connection {
            return Some(false);
        }
        lock.depth -= 1;
        if lock.depth == 0 {
            pass_on(&mut locks, &name);
        }
        Some(true)
    }

    /// Gives back everything a connection holds. Returns how often it had taken locks.
    pub fn release_all(&self, connection: u32) -> u64 {
        let mut locks = self.locks.lock();
        if locks.is_empty() {
            return 0;
        }
        let held: Vec<String> = locks
            .iter()
            .filter(|(_, lock)| lock.holder == connection)
            .map(|(name, _)| name.clone())
            .collect();
        let mut released = 0;
        for name in held {
            released += locks[&name].depth;
            pass_on(&mut locks, &name);
        }
        released
    }

    /// The connection that holds a lock.
    pub fn holder(&self, name: &str) -> Option<u32> {
        self.locks.lock().get(&name.to_lowercase()).map(|lock| lock.holder)
    }
}

/// Whether `connection` waits, over any number of steps, for a lock that `holder_wanted` holds.
fn waits_for(locks: &HashMap<String, NamedLock>, connection: u32, holder_wanted: u32) -> bool {
    let mut current = connection;
    // A connection waits for at most one lock, so the chain has at most as many steps as there are locks.
    for _ in 0..=locks.len() {
        let waited = locks
            .values()
            .find(|lock| lock.waiters.iter().any(|waiter| waiter.connection == current));
        match waited {
            None => return false,
            Some(lock) if lock.holder == holder_wanted => return true,
            Some(lock) => current = lock.holder,
        }
    }
    false
}

/// Gives a lock to the next in line, or forgets it.
fn pass_on(locks: &mut HashMap<String, NamedLock>, name: &str) {
    let Some(lock) = locks.get_mut(name) else { return };
    let Some(next) = lock.waiters.pop_front() else {
        locks.remove(name);
        return;
    };
    lock.holder = next.connection;
    lock.depth = 1;
    let mut state = next.state.lock();
    state.granted = true;
    if let Some(waker) = state.waker.take() {
        waker.wake();
    }
}

/// Names are case-insensitive and at most 64 characters.
pub(crate) fn checked_name(name: &str) -> SqlResult<String> {
    if name.is_empty() || name.chars().count() > MAX_NAME_CHARS {
        return Err(SqlError::new(ErrorKind::UserLockWrongName, &[&name]));
    }
    Ok(name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::BlockingHost;

    const MOMENT: Option<Duration> = Some(Duration::from_millis(10));

    #[test]
    fn locks_nest_and_pass_on() {
        let locks = NamedLocks::default();
        let host = BlockingHost;
        assert!(locks.acquire("A", 1, None, &host).unwrap());
        assert!(locks.acquire("a", 1, None, &host).unwrap());
        assert!(!locks.acquire("a", 2, MOMENT, &host).unwrap());
        assert_eq!(locks.release("a", 2), Some(false));
        assert_eq!(locks.release("a", 1), Some(true));
        assert_eq!(locks.holder("a"), Some(1));
        assert_eq!(locks.release_all(1), 1);
        assert_eq!(locks.release("a", 1), None);
        assert_eq!(locks.acquire("", 1, None, &host).unwrap_err().code(), 3057);
    }

    #[test]
    fn a_circle_of_waiters_is_refused() {
        let locks = Arc::new(NamedLocks::default());
        assert!(locks.acquire("a", 1, None, &BlockingHost).unwrap());
        assert!(locks.acquire("b", 2, None, &BlockingHost).unwrap());
        let waiting = std::thread::spawn({
            let locks = locks.clone();
            move || locks.acquire("b", 1, None, &BlockingHost).unwrap()
        });
        while locks.locks.lock()["b"].waiters.is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(locks.acquire("a", 2, None, &BlockingHost).unwrap_err().code(), 3058);
        assert_eq!(locks.release_all(2), 1);
        assert!(waiting.join().unwrap());
    }
}
