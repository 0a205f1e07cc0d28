//! Limits on memory with the counting allocator in place.

use std::alloc::System;
use std::sync::{Arc, Mutex, PoisonError};

use governor::alloc::Counting;
use governor::memory::{self, Account};
use governor::stepwise::Stepwise;
use governor::{Governor, Interrupt, MemoryStop, Runner, Stop};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

/// The node's limit is the process's: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

struct Nobody;

impl Runner for Nobody {
    fn yield_now(&self) {}

    fn interrupted(&self) -> Option<Interrupt> {
        None
    }
}

fn run<R: Send>(account: &Arc<Account>, work: impl FnOnce() -> R + Send) -> R {
    let account = account.clone();
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            governor::turn::watch_this_thread();
            governor::turn::take(|| Governor::new(&Nobody).with_account(account).run(work))
        });
        thread.join().expect("the work does not panic")
    })
}

/// Collects blocks of `len` bytes until it is stopped.
fn hoard(len: usize) -> (Vec<Vec<u8>>, Stop) {
    let mut kept = Vec::new();
    loop {
        kept.push(vec![1; len]);
        if let Err(stop) = governor::tick() {
            return (kept, stop);
        }
    }
}

#[test]
fn a_statement_that_hoards_ends_at_its_limit() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let account = Arc::new(Account::default());
    let (held, stop) = run(&account, || {
        governor::begin_statement(8 << 20);
        let (kept, stop) = hoard(10_000);
        (kept.len() * 10_000, stop)
    });
    assert!(
        matches!(stop, Stop::Memory(MemoryStop::Statement { limit, .. }) if limit == 8 << 20),
        "{stop:?}"
    );
    assert!((7 << 20..9 << 20).contains(&held), "{held}");
    assert!(account.bytes() < 100 << 10, "{} left", account.bytes());
}

/// Told to end, once it has yielded.
#[derive(Default)]
struct EndsSoon(std::cell::Cell<bool>);

impl Runner for EndsSoon {
    fn yield_now(&self) {
        self.0.set(true);
    }

    fn interrupted(&self) -> Option<Interrupt> {
        self.0.get().then_some(Interrupt::KillQuery)
    }
}

#[test]
fn what_a_killed_statement_held_is_its_sessions_until_it_is_gone() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    governor::large::start_reaper(|| {}).expect("a thread");
    /// Is dropped when it is allowed.
    struct Waits(Option<Arc<Mutex<()>>>, Vec<u8>);
    impl Drop for Waits {
        fn drop(&mut self) {
            if let Some(allowed) = &self.0 {
                drop(allowed.lock());
            }
            self.1 = Vec::new();
        }
    }
    let (account, allowed) = (Arc::new(Account::default()), Arc::new(Mutex::new(())));
    let waiting = allowed.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            governor::turn::watch_this_thread();
            let (runner, account) = (EndsSoon::default(), account.clone());
            governor::turn::take(|| {
                Governor::new(&runner).with_account(account).run(|| {
                    let held = (0..1000).map(|at| Waits((at == 0).then(|| allowed.clone()), vec![0; 8000]));
                    let held = Stepwise::from(held.collect::<Vec<_>>());
                    while governor::tick().is_ok() {}
                    drop(held);
                    governor::begin_statement(8 << 20);
                    assert_eq!(governor::ensure(7 << 20), Ok(()), "not the next statement's");
                })
            });
        });
        thread.join().expect("the checks hold");
    });
    assert!(account.bytes() > 7 << 20, "{}", account.bytes());
    drop(waiting);
    let begun = std::time::Instant::now();
    while account.bytes() > 100 << 10 {
        assert!(begun.elapsed().as_secs() < 60, "{} left", account.bytes());
        std::thread::yield_now();
    }
}

#[test]
fn what_a_statement_leaves_behind_is_not_the_next_ones() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let account = Arc::new(Account::default());
    let kept = run(&account, || {
        governor::begin_statement(8 << 20);
        let kept = vec![0u8; 6 << 20];
        governor::begin_statement(8 << 20);
        assert_eq!(governor::ensure(6 << 20), Ok(()));
        assert!(governor::ensure(9 << 20).is_err());
        kept
    });
    assert!((6 << 20..7 << 20).contains(&account.bytes()));
    drop(kept);
}

#[test]
fn at_the_nodes_limit_whoever_holds_more_than_his_share_ends() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    memory::set_node_limit(memory::allocated() + (64 << 20));
    let (small, large) = (Arc::new(Account::default()), Arc::new(Account::default()));
    let kept = run(&small, || {
        governor::begin_statement(u64::MAX);
        vec![0u8; 2 << 20]
    });
    let (kept_by_large, stop) = run(&large, || {
        governor::begin_statement(u64::MAX);
        hoard(100_000)
    });
    assert!(matches!(stop, Stop::Memory(MemoryStop::Node { .. })), "{stop:?}");
    assert_eq!(run(&small, || governor::ensure(1 << 20)), Ok(()), "another one goes on");
    drop((kept, kept_by_large));
    memory::set_node_limit(u64::MAX);
}
