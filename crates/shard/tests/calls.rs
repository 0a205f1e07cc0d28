//! Sessions of nodes that follow: their locks and commits at the leader, what they read, and what becomes of them when it is lost.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use env::Feature;

use crate::support::cluster::{Cluster, wait_for};
use crate::support::{ACCOUNTS, Accounts, block_on, commit};
use shard::{Guest, GuestLock, IdKind, ProposeError, Sequence, Shard};
use store::{LockKey, LockMode, MemoryUse, WriteSet};
use types::{IndexId, Timestamp};

fn one(accounts: &Accounts, id: i64, balance: i64) -> WriteSet {
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, id, balance, b"");
    writes
}

/// A cluster with accounts.
fn found(seed: u64) -> (Cluster, Accounts) {
    let (cluster, accounts) = (Cluster::found(3, seed), Accounts::new());
    wait_for("the table", || {
        commit(cluster.shard(cluster.leader()), accounts.create()).ok()
    });
    (cluster, accounts)
}

/// The nodes that do not lead.
fn followers(cluster: &Cluster) -> Vec<u32> {
    let leader = cluster.leader();
    cluster.shards.keys().copied().filter(|&node| node != leader).collect()
}

fn row(id: i64) -> Vec<u8> {
    id.to_be_bytes().to_vec()
}

fn lock(guest: &mut Guest, id: i64, waits: bool) -> GuestLock {
    let key = row(id);
    let key = LockKey::Key(ACCOUNTS, IndexId::PRIMARY, &key);
    block_on(guest.ask(key, LockMode::Exclusive, waits));
    guest.take_answer(key, LockMode::Exclusive).expect("it has answered")
}

fn commit_as_guest(shard: &Shard, guest: Guest, writes: WriteSet) -> Result<Timestamp, ProposeError> {
    let memory = shard.store().memory().nothing_yet(MemoryUse::Transactions);
    block_on(guest.commit(writes.into_bytes(), memory))
}

/// As a session does before it reads.
fn catch_up(shard: &Shard) -> Result<(), ProposeError> {
    match shard.freshness() {
        Some(freshness) => block_on(freshness),
        None => Ok(()),
    }
}

fn is_granted(answer: GuestLock) -> bool {
    matches!(answer, GuestLock::Granted { .. })
}

#[test]
fn a_guest_keeps_others_away_until_it_commits_and_everybody_reads_what_it_wrote() {
    let (cluster, accounts) = found(21);
    for round in 0..20 {
        let nodes = followers(&cluster);
        let (here, there) = (cluster.shard(nodes[0]), cluster.shard(nodes[1]));
        let mut first = here.guest().expect("another node leads");
        assert!(is_granted(lock(&mut first, 1, true)));
        let mut second = there.guest().expect("another node leads");
        assert_eq!(lock(&mut second, 1, false), GuestLock::NotFree);
        assert!(is_granted(lock(&mut second, 2, false)));
        let waiter = std::thread::spawn(move || {
            let answer = lock(&mut second, 1, true);
            (second, answer)
        });
        std::thread::sleep(Duration::from_millis(if round == 0 { 1200 } else { 5 }));
        assert!(!waiter.is_finished(), "somebody else has the lock");
        commit_as_guest(here, first, one(&accounts, 1, round)).unwrap();
        let (second, answer) = waiter.join().unwrap();
        assert!(is_granted(answer), "{answer:?}");
        // Whoever has waited reads what was committed, from its own replica.
        assert_eq!(accounts.read(there)[0], (1, round));
        commit_as_guest(there, second, one(&accounts, 1, round + 100)).unwrap();
        for shard in cluster.shards.values() {
            catch_up(shard).unwrap();
            assert_eq!(accounts.read(shard)[0], (1, round + 100));
        }
    }
}

#[test]
fn the_lock_of_a_name_is_given_back_before_the_others() {
    let (cluster, _) = found(24);
    let nodes = followers(&cluster);
    let name = |guest: &mut Guest, waits| {
        let key = LockKey::Name(b"name");
        block_on(guest.ask(key, LockMode::Exclusive, waits));
        guest.take_answer(key, LockMode::Exclusive).expect("it has come")
    };
    let mut first = cluster.shard(nodes[0]).guest().unwrap();
    let mut second = cluster.shard(nodes[1]).guest().unwrap();
    assert!(is_granted(lock(&mut first, 1, true)) && is_granted(name(&mut first, true)));
    assert_eq!(name(&mut second, false), GuestLock::NotFree);
    assert!(matches!(block_on(first.unlock_name(b"name")), Ok(true)));
    assert!(is_granted(name(&mut second, false)));
    assert_eq!(lock(&mut second, 1, false), GuestLock::NotFree);
    // So is the place of one who does not wait any more.
    drop(first.ask(LockKey::Name(b"name"), LockMode::Exclusive, true));
    assert!(matches!(block_on(first.unlock_name(b"name")), Ok(true)));
    assert!(matches!(block_on(second.unlock_name(b"name")), Ok(true)));
    assert!(is_granted(name(&mut second, false)));
}

#[test]
fn a_lock_that_was_asked_for_twice_is_granted() {
    let (cluster, _) = found(25);
    let nodes = followers(&cluster);
    let mut first = cluster.shard(nodes[0]).guest().unwrap();
    assert!(is_granted(lock(&mut first, 1, true)));
    cluster.net.doubles.store(true, Ordering::Relaxed);
    let mut second = cluster.shard(nodes[1]).guest().unwrap();
    let answered = Arc::new(AtomicBool::new(false));
    let waiter = std::thread::spawn({
        let answered = answered.clone();
        move || {
            let answer = lock(&mut second, 1, true);
            answered.store(true, Ordering::Relaxed);
            answer
        }
    });
    // Long enough for both requests to be answered that it waits, more than once.
    std::thread::sleep(Duration::from_millis(2500));
    assert!(!answered.load(Ordering::Relaxed), "somebody else has the lock");
    drop(first);
    wait_for("the lock", || answered.load(Ordering::Relaxed).then_some(()));
    assert!(is_granted(waiter.join().unwrap()));
}

#[test]
fn guests_of_two_nodes_that_wait_for_each_other_are_a_deadlock() {
    let (cluster, _) = found(22);
    let nodes = followers(&cluster);
    let mut first = cluster.shard(nodes[0]).guest().unwrap();
    let mut second = cluster.shard(nodes[1]).guest().unwrap();
    assert!(is_granted(lock(&mut first, 1, true)) && is_granted(lock(&mut second, 2, true)));
    let waiter = std::thread::spawn(move || {
        let answer = lock(&mut first, 2, true);
        drop(first);
        answer
    });
    std::thread::sleep(Duration::from_millis(50));
    let answer = lock(&mut second, 1, true);
    drop(second);
    let answers = [answer, waiter.join().unwrap()];
    assert!(answers.contains(&GuestLock::Deadlock), "{answers:?}");
    assert!(answers.iter().any(|&answer| is_granted(answer)), "{answers:?}");
}

#[test]
fn locks_of_a_node_that_has_died_are_free_soon_and_its_commits_come_to_nothing() {
    let (mut cluster, accounts) = found(23);
    let nodes = followers(&cluster);
    let mut lost = cluster.shard(nodes[0]).guest().unwrap();
    assert!(is_granted(lock(&mut lost, 1, true)));
    // As a process that is killed: it lets nothing go.
    cluster.net.cut_off(&[nodes[0]]);
    let begun = Instant::now();
    let mut next = cluster.shard(nodes[1]).guest().unwrap();
    assert!(is_granted(lock(&mut next, 1, true)));
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    commit_as_guest(cluster.shard(nodes[1]), next, one(&accounts, 1, 7)).unwrap();
    cluster.net.heal();
    let answer = commit_as_guest(cluster.shard(nodes[0]), lost, one(&accounts, 1, 8));
    assert!(matches!(answer, Err(ProposeError::LocksLost)), "{answer:?}");
    catch_up(cluster.shard(nodes[0])).unwrap();
    assert_eq!(accounts.read(cluster.shard(nodes[0])), [(1, 7)]);
    cluster.kill(nodes[0]);
}

/// What tells the leader that a transaction is over gets lost, while an older one of the same node goes on, or none does.
#[test]
fn locks_whose_end_was_not_heard_of_are_free_soon() {
    let (cluster, _) = found(27);
    let level = Feature::LiveTransactions.level();
    wait_for("the level to rise", || {
        block_on(cluster.shard(cluster.leader()).raise(level)).ok()
    });
    let nodes = followers(&cluster);
    wait_for("the follower to hear of it", || {
        (cluster.shard(nodes[0]).level() == level).then_some(())
    });
    for has_older in [true, false] {
        let here = cluster.shard(nodes[0]);
        let mut older = here.guest().unwrap();
        assert!(!has_older || is_granted(lock(&mut older, 7, true)));
        let mut over = here.guest().unwrap();
        assert!(is_granted(lock(&mut over, 1, true)));
        cluster.net.cut_off(&[nodes[0]]);
        drop(over);
        std::thread::sleep(Duration::from_millis(100));
        cluster.net.heal();
        let mut next = cluster.shard(nodes[1]).guest().unwrap();
        let waiter = std::thread::spawn(move || lock(&mut next, 1, true));
        wait_for("the lock", || {
            // Its node is heard of all the time.
            catch_up(here).unwrap();
            waiter.is_finished().then_some(())
        });
        assert!(is_granted(waiter.join().unwrap()));
        assert!(!has_older || is_granted(lock(&mut older, 8, true)), "it goes on");
    }
}

#[test]
fn locks_end_with_the_leader_that_gave_them() {
    let (mut cluster, accounts) = found(24);
    let leader = cluster.leader();
    let node = followers(&cluster)[0];
    let mut guest = cluster.shard(node).guest().unwrap();
    assert!(is_granted(lock(&mut guest, 1, true)));
    cluster.kill(leader);
    let left: Vec<u32> = cluster.shards.keys().copied().collect();
    cluster.leader_of(&left);
    let answer = match lock(&mut guest, 2, true) {
        GuestLock::Lost => commit_as_guest(cluster.shard(node), guest, one(&accounts, 1, 1)),
        other => panic!("{other:?}"),
    };
    assert!(matches!(answer, Err(ProposeError::LocksLost)), "{answer:?}");
    catch_up(cluster.shard(node)).unwrap();
    assert_eq!(accounts.read(cluster.shard(node)), []);
}

#[test]
fn a_leader_that_is_cut_off_shows_nobody_old_rows() {
    let (cluster, accounts) = found(25);
    for round in 0..4 {
        let old = wait_for("a commit", || {
            let leader = cluster.leader();
            let committed = commit(cluster.shard(leader), one(&accounts, 1, 2 * round));
            committed.ok().map(|_| leader)
        });
        let others: Vec<u32> = (1..=3).filter(|&node| node != old).collect();
        cluster.net.cut_off(&[old]);
        wait_for("a commit of the others", || {
            let leader = cluster.leader_of(&others);
            commit(cluster.shard(leader), one(&accounts, 1, 2 * round + 1)).ok()
        });
        // Not at once, and not after the others' patience either.
        let answer = catch_up(cluster.shard(old));
        assert!(
            answer.is_err(),
            "it is cut off, and reads what nobody else has any more"
        );
        cluster.net.heal();
        wait_for("the old leader to hear of the new one", || {
            catch_up(cluster.shard(old)).ok()
        });
        assert_eq!(accounts.read(cluster.shard(old)), [(1, 2 * round + 1)]);
    }
}

/// A transaction that has begun as a guest, on a node that leads by the time it asks, does not wait for what it has locked itself.
#[test]
fn a_guest_whose_node_takes_the_lead_has_no_locks_and_waits_for_none() {
    let (mut cluster, _) = found(28);
    let leader = cluster.leader();
    let nodes = followers(&cluster);
    let mut guests: Vec<(u32, Guest)> = nodes
        .iter()
        .map(|&node| (node, cluster.shard(node).guest().unwrap()))
        .collect();
    cluster.kill(leader);
    let leader = cluster.leader_of(&nodes);
    for (node, guest) in &mut guests {
        let answer = lock(guest, 1, true);
        match *node == leader {
            true => assert_eq!(answer, GuestLock::Lost),
            false => assert!(is_granted(answer), "{answer:?}"),
        }
    }
}

/// A counter that clients of all nodes raise under its lock, while answers are lost and leaders killed. Each certain raise counts once.
#[test]
fn a_counter_under_a_lock_counts_every_raise_once() {
    let (mut cluster, accounts) = found(26);
    let accounts = Arc::new(accounts);
    wait_for("the row", || {
        commit(cluster.shard(cluster.leader()), one(&accounts, 1, 0)).ok()
    });
    let is_over = Arc::new(AtomicBool::new(false));
    let shards = Arc::new(cluster.running());
    let clients: Vec<_> = (0..6)
        .map(|client: usize| {
            let (accounts, is_over, shards) = (accounts.clone(), is_over.clone(), shards.clone());
            std::thread::spawn(move || {
                let (mut certain, mut possible) = (0, 0);
                while !is_over.load(Ordering::Relaxed) {
                    let shard = {
                        let shards = shards.lock();
                        shards.get(client % shards.len().max(1)).cloned()
                    };
                    let guest = shard.as_ref().and_then(|shard| shard.guest());
                    let (Some(shard), Some(mut guest)) = (shard, guest) else {
                        std::thread::sleep(Duration::from_millis(2));
                        continue;
                    };
                    if !is_granted(lock(&mut guest, 1, true)) {
                        continue;
                    }
                    let balance = accounts.read(&shard)[0].1;
                    match commit_as_guest(&shard, guest, one(&accounts, 1, balance + 1)) {
                        Ok(_) => certain += 1,
                        Err(ProposeError::Unknown { .. } | ProposeError::Stopped { .. }) => possible += 1,
                        Err(ProposeError::LocksLost | ProposeError::NotLeader) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
                (certain, possible)
            })
        })
        .collect();
    cluster.lose_leaders(&shards);
    is_over.store(true, Ordering::Relaxed);
    let told: Vec<(i64, i64)> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    shards.lock().clear();
    let certain: i64 = told.iter().map(|told| told.0).sum();
    let possible: i64 = told.iter().map(|told| told.1).sum();
    let leader = cluster.leader();
    wait_for("the rows", || catch_up(cluster.shard(leader)).ok());
    let found = accounts.read(cluster.shard(leader))[0].1;
    assert!(certain > 20, "there was hardly any work: {certain}");
    assert!(
        (certain..=certain + possible).contains(&found),
        "{found} after {certain} raises that were acknowledged, and {possible} that may have been"
    );
}

#[test]
fn ids_are_given_once_whoever_gives_them() {
    let (mut cluster, accounts) = found(27);
    let mut taken = BTreeSet::new();
    for _ in 0..3 {
        let mut rows = Vec::new();
        for node in followers(&cluster) {
            let shard = cluster.shard(node);
            wait_for("the table", || shard.store().table(ACCOUNTS));
            let table = shard.store().table(ACCOUNTS).unwrap();
            let mut guest = shard.guest().unwrap();
            assert!(is_granted(lock(&mut guest, i64::from(node), true)));
            block_on(guest.ask_for_ids(&table, IdKind::HiddenRow, 1, Sequence::ALL, 0, u64::MAX));
            for _ in 0..50 {
                let ids = guest.take_ids(&table, IdKind::HiddenRow, 1, Sequence::ALL, 0);
                // As the key of an account has it.
                rows.push((ids.expect("they were asked for").start ^ 1 << 63) as i64);
            }
            let mut writes = WriteSet::new();
            for &id in rows.iter().rev().take(50) {
                accounts.put(&mut writes, id, 0, b"");
            }
            commit_as_guest(shard, guest, writes).unwrap();
        }
        for id in rows {
            assert!(taken.insert(id), "{id} was given twice");
        }
        let leader = cluster.leader();
        cluster.kill(leader);
        let left: Vec<u32> = cluster.shards.keys().copied().collect();
        cluster.leader_of(&left);
        cluster.start(leader);
    }
}
