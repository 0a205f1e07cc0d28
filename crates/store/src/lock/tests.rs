use super::*;
use crate::memory::{MemoryBudget, MemoryUse};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

fn table() -> Arc<LockTable> {
    LockTable::new(MemoryBudget::new(1 << 30))
}

fn row(key: &[u8]) -> LockKey<'_> {
    LockKey::Key(TableId(1), IndexId::PRIMARY, key)
}

fn granted(outcome: LockOutcome) {
    assert!(matches!(outcome, LockOutcome::Granted), "{outcome:?}");
}

fn waits(outcome: LockOutcome) -> LockWait {
    match outcome {
        LockOutcome::Wait(wait) => wait,
        other => panic!("{other:?}"),
    }
}

fn is_ready(wait: &mut LockWait) -> bool {
    pin!(wait).poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
}

use LockMode::{Exclusive, IntentionExclusive, IntentionShared, Shared};

#[test]
fn shared_locks_go_together_and_exclusive_ones_wait_in_line() {
    let table = table();
    let [mut a, mut b, mut c, mut d] = std::array::from_fn(|_| table.transaction());
    granted(a.lock(row(b"r"), Shared));
    granted(b.lock(row(b"r"), Shared));
    let mut c_waits = waits(c.lock(row(b"r"), Exclusive));
    let mut d_waits = waits(d.lock(row(b"r"), Shared));
    a.release_all();
    assert!(!is_ready(&mut c_waits) && !is_ready(&mut d_waits));
    b.release_all();
    assert!(is_ready(&mut c_waits) && !is_ready(&mut d_waits));
    granted(c.lock(row(b"r"), Exclusive));
    drop(c);
    assert!(is_ready(&mut d_waits));
    granted(d.lock(row(b"r"), Shared));
    drop((c_waits, d_waits, d));
    assert_eq!(table.inspect(), []);
}

#[test]
fn a_holder_may_ask_again_and_for_more() {
    let table = table();
    let (mut a, mut b, mut c) = (table.transaction(), table.transaction(), table.transaction());
    granted(a.lock(row(b"r"), Shared));
    granted(a.lock(row(b"r"), Shared));
    granted(b.lock(row(b"r"), Shared));
    let mut c_waits = waits(c.lock(row(b"r"), Exclusive));
    // The upgrade goes before c, who came first but holds nothing.
    let mut a_waits = waits(a.lock(row(b"r"), Exclusive));
    b.release_all();
    assert!(is_ready(&mut a_waits) && !is_ready(&mut c_waits));
    granted(a.lock(row(b"r"), Exclusive));
    granted(a.lock(row(b"r"), Shared));
    a.release_all();
    assert!(is_ready(&mut c_waits));
}

#[test]
fn nowait_and_skip_locked_do_not_queue() {
    let table = table();
    let (mut a, mut b) = (table.transaction(), table.transaction());
    assert!(a.try_lock(row(b"r"), Exclusive));
    assert!(!b.try_lock(row(b"r"), Shared));
    assert_eq!(table.inspect().len(), 1);
    assert!(b.try_lock(row(b"other"), Shared));
}

#[test]
fn a_withdrawn_request_lets_the_next_go() {
    let table = table();
    let (mut a, mut b, mut c) = (table.transaction(), table.transaction(), table.transaction());
    granted(a.lock(row(b"r"), Shared));
    let b_waits = waits(b.lock(row(b"r"), Exclusive));
    let mut c_waits = waits(c.lock(row(b"r"), Shared));
    drop(b_waits);
    assert!(is_ready(&mut c_waits));
    drop(b);
    granted(c.lock(row(b"r"), Shared));
}

#[test]
fn a_lock_granted_to_a_dropped_wait_is_given_back_at_the_end() {
    let table = table();
    let (mut a, mut b, mut c) = (table.transaction(), table.transaction(), table.transaction());
    granted(a.lock(row(b"r"), Exclusive));
    let b_waits = waits(b.lock(row(b"r"), Exclusive));
    a.release_all();
    drop(b_waits);
    assert!(!c.try_lock(row(b"r"), Exclusive));
    b.release_all();
    assert!(c.try_lock(row(b"r"), Exclusive));
}

#[test]
fn deadlock_of_two() {
    let table = table();
    let (mut a, mut b) = (table.transaction(), table.transaction());
    granted(a.lock(row(b"1"), Exclusive));
    granted(b.lock(row(b"2"), Exclusive));
    let mut a_waits = waits(a.lock(row(b"2"), Exclusive));
    assert!(matches!(b.lock(row(b"1"), Exclusive), LockOutcome::Deadlock));
    assert!(!is_ready(&mut a_waits));
    b.release_all();
    assert!(is_ready(&mut a_waits));
}

#[test]
fn deadlock_of_two_upgrades() {
    let table = table();
    let (mut a, mut b) = (table.transaction(), table.transaction());
    granted(a.lock(row(b"1"), Shared));
    granted(b.lock(row(b"1"), Shared));
    let _a_waits = waits(a.lock(row(b"1"), Exclusive));
    assert!(matches!(b.lock(row(b"1"), Exclusive), LockOutcome::Deadlock));
}

#[test]
fn the_one_with_the_fewest_locks_gives_up() {
    let table = table();
    let (mut small, mut large) = (table.transaction(), table.transaction());
    (0..100u8).for_each(|n| granted(large.lock(row(&[n]), Exclusive)));
    granted(small.lock(row(b"mine"), Exclusive));
    let mut small_waits = waits(small.lock(row(&[7]), Exclusive));
    let mut large_waits = waits(large.lock(row(b"mine"), Exclusive));
    assert!(is_ready(&mut small_waits), "it is asked to try again");
    drop(small_waits);
    assert!(matches!(small.lock(row(&[7]), Exclusive), LockOutcome::Deadlock));
    small.release_all();
    assert!(is_ready(&mut large_waits));
}

#[test]
fn deadlock_through_a_queue_and_three_transactions() {
    let table = table();
    let [mut a, mut b, mut c] = std::array::from_fn(|_| table.transaction());
    granted(a.lock(row(b"1"), Shared));
    granted(b.lock(row(b"2"), Exclusive));
    granted(c.lock(row(b"3"), Exclusive));
    let _b_waits = waits(b.lock(row(b"1"), Exclusive));
    // c waits behind b, though a's lock is shared too.
    let _c_waits = waits(c.lock(row(b"1"), Shared));
    assert!(matches!(
        a.lock(row(b"3"), Exclusive),
        LockOutcome::Deadlock | LockOutcome::Wait(_)
    ));
}

#[test]
fn table_locks_and_intentions() {
    let table = table();
    let [mut reader, mut writer, mut ddl] = std::array::from_fn(|_| table.transaction());
    let key = LockKey::Table(TableId(9));
    granted(reader.lock(key, IntentionShared));
    granted(writer.lock(key, IntentionExclusive));
    granted(writer.lock(key, IntentionShared));
    let mut ddl_waits = waits(ddl.lock(key, Exclusive));
    let mut late = table.transaction();
    let mut late_waits = waits(late.lock(key, IntentionShared));
    drop(reader);
    assert!(!is_ready(&mut ddl_waits));
    drop(writer);
    assert!(is_ready(&mut ddl_waits) && !is_ready(&mut late_waits));
    granted(ddl.lock(key, Exclusive));
    drop(ddl);
    assert!(is_ready(&mut late_waits));
}

#[test]
fn a_table_lock_includes_its_keys() {
    let table = table();
    let (mut a, mut b) = (table.transaction(), table.transaction());
    granted(a.lock(LockKey::Table(TableId(1)), Shared));
    granted(a.lock(row(b"r"), Shared));
    assert_eq!(a.count(), 1);
    granted(a.lock(row(b"r"), Exclusive));
    assert_eq!(a.count(), 2);
    granted(b.lock(LockKey::Table(TableId(2)), Exclusive));
    granted(b.lock(LockKey::Key(TableId(2), IndexId(3), b"r"), Exclusive));
    assert_eq!(b.count(), 1);
}

#[test]
fn memory_is_accounted_and_given_back() {
    let memory = MemoryBudget::new(1 << 30);
    let table = LockTable::new(Arc::clone(&memory));
    let mut locks = table.transaction();
    let (count, least_bytes) = if cfg!(miri) { (300, 0) } else { (100_000u32, 5_000_000) };
    for n in 0..count {
        granted(locks.lock(row(&n.to_be_bytes()), Exclusive));
        granted(locks.lock(row(&n.to_be_bytes()), Exclusive));
    }
    assert_eq!(locks.count(), count as usize);
    let used = memory.used_by(MemoryUse::Locks);
    assert!(used >= least_bytes, "{used}");
    drop(locks);
    assert!(memory.used_by(MemoryUse::Locks) < 256 * 16 * 1024);
}

/// Many threads move money between few accounts: no lock is ever held twice, no deadlock is missed, nothing is left.
#[test]
fn threads_exclude_each_other_and_nobody_hangs() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let table = table();
    let inside: Vec<AtomicUsize> = (0..6).map(|_| AtomicUsize::new(0)).collect();
    let deadlocks = AtomicUsize::new(0);
    let rounds = if cfg!(miri) { 5 } else { 3000 };
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let (table, inside, deadlocks) = (&table, &inside, &deadlocks);
            scope.spawn(move || {
                let mut random = thread + 1;
                'transactions: for _ in 0..rounds {
                    let mut locks = table.transaction();
                    let mut held = Vec::new();
                    for _ in 0..3 {
                        random = random
                            .wrapping_mul(6364136223846793005)
                            .wrapping_add(1442695040888963407);
                        let account = (random >> 33) as usize % inside.len();
                        loop {
                            match locks.lock(row(&[account as u8]), Exclusive) {
                                LockOutcome::Granted => break,
                                LockOutcome::Wait(wait) => block_on(wait),
                                LockOutcome::Deadlock => {
                                    deadlocks.fetch_add(1, Ordering::Relaxed);
                                    held.iter().for_each(|&account: &usize| {
                                        assert_eq!(inside[account].fetch_sub(1, Ordering::SeqCst), 1)
                                    });
                                    continue 'transactions;
                                }
                            }
                        }
                        if !held.contains(&account) {
                            assert_eq!(inside[account].fetch_add(1, Ordering::SeqCst), 0);
                            held.push(account);
                        }
                    }
                    held.iter()
                        .for_each(|&account| assert_eq!(inside[account].fetch_sub(1, Ordering::SeqCst), 1));
                }
            });
        }
    });
    assert_eq!(table.inspect(), []);
    println!("{} deadlocks", deadlocks.load(Ordering::Relaxed));
}

fn block_on(future: impl Future<Output = ()>) {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        std::thread::park();
    }
}

const DEFINITION: LockKey<'static> = LockKey::Definition(TableId(7));

#[test]
fn users_of_a_definition_meet_only_where_somebody_wants_it() {
    let table = table();
    let [mut a, mut b, mut ddl, mut c] = std::array::from_fn(|_| table.transaction());
    granted(a.lock(DEFINITION, IntentionShared));
    granted(b.lock(DEFINITION, IntentionExclusive));
    assert_eq!((table.statistics().held, table.inspect().len()), (2, 2));
    assert!(!table.is_definition_wanted(TableId(7)));
    let mut ddl_waits = waits(ddl.lock(DEFINITION, Exclusive));
    assert!(table.is_definition_wanted(TableId(7)));
    // Who comes later stands behind; who is there already may go on, and ask for more.
    let mut c_waits = waits(c.lock(DEFINITION, IntentionShared));
    granted(a.lock(DEFINITION, IntentionShared));
    granted(a.lock(DEFINITION, IntentionExclusive));
    b.release_all();
    assert!(!is_ready(&mut ddl_waits));
    a.release_all();
    assert!(is_ready(&mut ddl_waits) && !is_ready(&mut c_waits));
    granted(ddl.lock(DEFINITION, Exclusive));
    let mut d = table.transaction();
    let mut d_waits = waits(d.lock(DEFINITION, IntentionExclusive));
    ddl.release_all();
    assert!(is_ready(&mut c_waits) && is_ready(&mut d_waits));
    assert!(!table.is_definition_wanted(TableId(7)));
    drop((ddl_waits, c_waits, d_waits, a, b, c, d, ddl));
    assert_eq!(table.inspect(), []);
}

#[test]
fn a_copy_lets_readers_in_and_then_waits_for_them() {
    let table = table();
    let [mut reader, mut writer, mut copy, mut late] = std::array::from_fn(|_| table.transaction());
    granted(reader.lock(DEFINITION, IntentionShared));
    granted(copy.lock(DEFINITION, Shared));
    let mut writer_waits = waits(writer.lock(DEFINITION, IntentionExclusive));
    let mut copy_waits = waits(copy.lock(DEFINITION, Exclusive));
    let _late_waits = waits(late.lock(DEFINITION, IntentionShared));
    reader.release_all();
    assert!(is_ready(&mut copy_waits) && !is_ready(&mut writer_waits));
}

#[test]
fn a_change_of_a_definition_outlives_a_deadlock() {
    let table = table();
    let (mut user, mut ddl) = (table.transaction(), table.transaction());
    granted(user.lock(DEFINITION, IntentionShared));
    granted(ddl.lock(DEFINITION, Shared));
    for key in 0..10u8 {
        granted(user.lock(row(&[key]), Exclusive));
    }
    let mut ddl_waits = waits(ddl.lock(DEFINITION, Exclusive));
    assert!(matches!(
        user.lock(DEFINITION, IntentionExclusive),
        LockOutcome::Deadlock
    ));
    user.release_all();
    assert!(is_ready(&mut ddl_waits));
}

#[test]
fn names_are_locked_without_a_table() {
    let table = table();
    let (mut a, mut b) = (table.transaction(), table.transaction());
    granted(a.lock(LockKey::Name(b"t"), Exclusive));
    granted(b.lock(LockKey::Name(b"u"), Exclusive));
    let mut b_waits = waits(b.lock(LockKey::Name(b"t"), Shared));
    drop(a);
    assert!(is_ready(&mut b_waits));
}

/// Waits as a thread of its own.
fn lock_for_good(locks: &mut TransactionLocks, key: LockKey<'_>, mode: LockMode) -> bool {
    loop {
        match locks.lock(key, mode) {
            LockOutcome::Granted => return true,
            LockOutcome::Deadlock => return false,
            LockOutcome::Wait(mut wait) => {
                while !is_ready(&mut wait) {
                    std::thread::yield_now();
                }
            }
        }
    }
}

#[test]
fn nobody_uses_a_definition_that_another_thread_changes() {
    use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
    let table = table();
    let users = AtomicI64::new(0);
    let changes = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let mut locks = table.transaction();
                    for mode in [IntentionShared, IntentionExclusive] {
                        if lock_for_good(&mut locks, DEFINITION, mode) {
                            assert!(users.fetch_add(1, Ordering::SeqCst) >= 0);
                            users.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                while changes.load(Ordering::Relaxed) < 2000 {
                    let mut locks = table.transaction();
                    assert!(lock_for_good(&mut locks, DEFINITION, Exclusive));
                    assert_eq!(users.swap(-1000, Ordering::SeqCst), 0);
                    users.store(0, Ordering::SeqCst);
                    changes.fetch_add(1, Ordering::Relaxed);
                }
                is_over.store(true, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(table.inspect(), []);
    assert!(!table.is_definition_wanted(TableId(7)));
}

#[test]
fn an_epoch_ends_all_locks_but_those_of_definitions() {
    let table = table();
    let definition = LockKey::Definition(TableId(7));
    let [mut first, mut second, mut defining] = std::array::from_fn(|_| table.transaction());
    granted(first.lock(row(b"r"), Exclusive));
    granted(defining.lock(definition, Exclusive));
    let mut wait = waits(second.lock(row(b"r"), Shared));
    assert!(!first.are_lost() && !second.are_lost());
    table.begin_epoch();
    assert!(first.are_lost() && second.are_lost());
    assert!(is_ready(&mut wait), "who waits is told");
    let mut third = table.transaction();
    assert!(!third.are_lost());
    granted(third.lock(row(b"r"), Exclusive));
    drop((wait, first, second));
    assert_eq!(
        table.statistics().held,
        2,
        "others give nothing back that is not theirs"
    );
    let _waits = waits(table.transaction().lock(definition, IntentionShared));
}

#[test]
fn what_is_wanted_at_the_leader_is_wanted_here() {
    let (leader, follower) = (table(), table());
    let mut owner = leader.transaction();
    granted(owner.lock(DEFINITION, Exclusive));
    let (seen, wanted) = leader.with_wanted_definitions(|| 1);
    assert_eq!((seen, wanted.len()), (1, 1));

    follower.set_wanted_elsewhere(&wanted);
    assert!(follower.is_definition_wanted_elsewhere(TableId(7)));
    assert!(follower.is_definition_wanted(TableId(7)));
    assert!(!follower.is_definition_wanted(TableId(8)));
    assert!(!leader.is_definition_wanted_elsewhere(TableId(7)));

    drop(owner);
    let (_, wanted) = leader.with_wanted_definitions(|| ());
    follower.set_wanted_elsewhere(&wanted);
    assert!(!follower.is_definition_wanted(TableId(7)));

    // Whoever leads knows it first.
    follower.set_wanted_elsewhere(&[7]);
    follower.begin_epoch();
    assert!(!follower.is_definition_wanted(TableId(7)));
    // Another version's numbers are no reason to panic.
    follower.set_wanted_elsewhere(&[u16::MAX]);
}

#[test]
fn what_is_seen_was_not_made_under_a_lock_that_is_not_told() {
    let leader = table();
    let owner = std::cell::RefCell::new(leader.transaction());
    let looks = std::cell::Cell::new(0);
    // Somebody takes the lock while the first look is under way.
    let (_, wanted) = leader.with_wanted_definitions(|| {
        if looks.replace(looks.get() + 1) == 0 {
            granted(owner.borrow_mut().lock(DEFINITION, Exclusive));
        }
    });
    assert_eq!((looks.get(), wanted.len()), (2, 1));
}

/// The lock tables of a node that leads and of one that follows, and transactions of the latter: each has locks in both.
struct Two {
    leader: Arc<LockTable>,
    follower: Arc<LockTable>,
}

impl Two {
    fn new() -> Two {
        let (leader, follower) = (table(), table());
        Two { leader, follower }
    }

    /// A transaction at the follower, and its guest at the leader.
    fn transaction(&self, number: u64) -> (TransactionLocks, TransactionLocks) {
        let (here, there) = (self.follower.transaction(), self.leader.transaction());
        here.alias().set(number);
        (here, there)
    }

    /// The follower tells of all its waits.
    fn tell(&self, guests: &[&TransactionLocks]) -> Vec<(u64, u64)> {
        let waits = self.follower.old_waits(self.follower.waits_begun());
        let alias_of = |number: u64| guests.get(number as usize - 1).map(|guest| guest.alias());
        self.leader.hear_waits(2, &waits, alias_of)
    }
}

fn deadlock(outcome: LockOutcome) {
    assert!(matches!(outcome, LockOutcome::Deadlock), "{outcome:?}");
}

#[test]
fn a_circle_through_two_tables_ends_in_the_one_of_the_leader() {
    let two = Two::new();
    let [(mut a, mut a_there), (mut c, mut c_there)] = [1, 2].map(|number| two.transaction(number));
    let definition = LockKey::Definition(TableId(1));
    granted(a.lock(definition, IntentionShared));
    granted(c_there.lock(row(b"r"), Exclusive));
    granted(c_there.lock(row(b"s"), Exclusive));
    // A change of the definition, which has asked the leader for nothing yet, is between the two.
    let mut ddl = two.follower.transaction();
    let ddl_waits = waits(ddl.lock(definition, Exclusive));
    let mut c_waits = waits(c.lock(definition, IntentionExclusive));
    assert_eq!(two.tell(&[&a_there, &c_there]), []);
    let mut a_waits = waits(a_there.lock(row(b"r"), Exclusive));
    // It may be over already when it is told first.
    assert_eq!(two.tell(&[&a_there, &c_there]), []);
    assert!(!is_ready(&mut a_waits));
    assert_eq!(two.tell(&[&a_there, &c_there]), []);
    assert!(is_ready(&mut a_waits) && !is_ready(&mut c_waits));
    drop(a_waits);
    deadlock(a_there.lock(row(b"r"), Exclusive));
    assert_eq!(two.leader.statistics().deadlocks, 1);
    drop((a, a_there));
    drop(ddl_waits);
    granted(ddl.lock(definition, Exclusive));
    drop(ddl);
    assert!(is_ready(&mut c_waits));
}

#[test]
fn a_circle_through_two_tables_ends_in_the_one_of_the_follower() {
    let two = Two::new();
    let [(mut a, mut a_there), (mut c, mut c_there)] = [1, 2].map(|number| two.transaction(number));
    let definition = LockKey::Definition(TableId(1));
    granted(a.lock(definition, IntentionShared));
    granted(c_there.lock(row(b"r"), Exclusive));
    // More is lost with a than with c.
    for key in [b"1", b"2", b"3"] {
        granted(a_there.lock(row(key), Exclusive));
    }
    let mut ddl = two.follower.transaction();
    let _ddl_waits = waits(ddl.lock(definition, Exclusive));
    let mut c_waits = waits(c.lock(definition, IntentionExclusive));
    let mut a_waits = waits(a_there.lock(row(b"r"), Exclusive));
    assert_eq!(two.tell(&[&a_there, &c_there]), []);
    let victims = two.tell(&[&a_there, &c_there]);
    let [(2, wait)] = victims[..] else {
        panic!("{victims:?}")
    };
    // Not in another wait, nor under another number.
    two.follower.give_up(2, wait + 1);
    two.follower.give_up(1, wait);
    assert!(!is_ready(&mut c_waits));
    two.follower.give_up(2, wait);
    assert!(is_ready(&mut c_waits) && !is_ready(&mut a_waits));
    drop(c_waits);
    deadlock(c.lock(definition, IntentionExclusive));
    // Once.
    drop(waits(c.lock(definition, IntentionExclusive)));
    drop((c, c_there));
    assert!(is_ready(&mut a_waits));
    assert_eq!(two.tell(&[&a_there]), []);
}

#[test]
fn another_wait_of_the_same_transaction_is_another_circle() {
    let two = Two::new();
    let [(mut a, mut a_there), (mut c, mut c_there)] = [1, 2].map(|number| two.transaction(number));
    let definition = LockKey::Definition(TableId(1));
    granted(a.lock(definition, IntentionShared));
    granted(c_there.lock(row(b"r"), Exclusive));
    let mut ddl = two.follower.transaction();
    let _ddl_waits = waits(ddl.lock(definition, Exclusive));
    let _c_waits = waits(c.lock(definition, IntentionExclusive));
    for _ in 0..3 {
        let mut a_waits = waits(a_there.lock(row(b"r"), Exclusive));
        assert_eq!(two.tell(&[&a_there, &c_there]), []);
        assert!(!is_ready(&mut a_waits));
    }
    // With the leader that was told, it is forgotten.
    let mut a_waits = waits(a_there.lock(row(b"r"), Exclusive));
    assert_eq!(two.tell(&[&a_there, &c_there]), []);
    two.leader.forget_waits_of(2);
    assert_eq!(two.tell(&[&a_there, &c_there]), []);
    assert!(!is_ready(&mut a_waits));
}

#[test]
fn waits_that_lead_to_no_other_table_are_told_to_nobody() {
    let two = Two::new();
    let definition = LockKey::Definition(TableId(1));
    let (mut reader, mut ddl) = (two.follower.transaction(), two.follower.transaction());
    granted(reader.lock(definition, IntentionShared));
    let _ddl_waits = waits(ddl.lock(definition, Exclusive));
    let (mut c, _c_there) = two.transaction(1);
    let _c_waits = waits(c.lock(definition, IntentionExclusive));
    assert_eq!(two.follower.old_waits(two.follower.waits_begun()), []);
    reader.alias().set(2);
    let waits = two.follower.old_waits(two.follower.waits_begun());
    assert_eq!(waits.len(), 2);
    assert!(waits.iter().any(|wait| wait.waiter == Who::Guest(1)));
    assert!(waits.iter().any(|wait| wait.blockers == [Who::Guest(2)]));
    // Waits that have begun since somebody looked last are short.
    assert_eq!(two.follower.old_waits(0), []);
}

#[test]
fn waits_are_told_with_their_nearest_blockers() {
    let table = table();
    let [mut holder, mut first, mut second] = [7, 8, 9].map(|connection| table.transaction_of(connection));
    granted(holder.lock(row(b"r"), Exclusive));
    let waiting = [
        waits(first.lock(row(b"r"), Exclusive)),
        waits(second.lock(row(b"r"), Shared)),
    ];
    let told = table.inspect_waits().into_iter().map(|wait| {
        let blockers = wait.blockers.iter();
        let blockers: Vec<_> = blockers.map(|lock| (lock.connection, lock.is_waiting)).collect();
        (wait.waiter.connection, wait.waiter.mode, blockers)
    });
    let behind_holder = (8, Exclusive, vec![(7, false)]);
    let behind_both = (9, Shared, vec![(7, false), (8, true)]);
    assert_eq!(told.collect::<Vec<_>>(), [behind_holder, behind_both]);
    drop(waiting);
    assert_eq!(table.inspect_waits(), []);
}
