//! Several replicas: what is acknowledged outlives the loss of a leader, who is cut off commits nothing, and nobody's fate is told wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::cluster::{Cluster, wait_for};
use crate::support::{ACCOUNTS, Accounts, block_on, commit, one, propose, propose_as};
use shard::{MembershipError, Outcome, ProposeError};
use store::{IndexSpec, KeyColumn, WriteSet};
use types::IndexId;

/// Rows of nearly a kilobyte each.
fn wide(accounts: &Accounts, ids: std::ops::Range<i64>) -> WriteSet {
    let mut writes = WriteSet::new();
    ids.for_each(|id| accounts.put(&mut writes, id, id, &[7; 900]));
    writes
}

/// Three replicas with an empty table, one that follows of which is killed: the cluster, that one, and the others.
fn without_a_follower(seed: u64, accounts: &Accounts) -> (Cluster, u32, Vec<u32>) {
    let mut cluster = Cluster::found(3, seed);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    let away = cluster.follower();
    cluster.kill(away);
    (cluster, away, (1..=3).filter(|&node| node != away).collect())
}

/// Commits it, with whoever leads, until it is acknowledged.
fn commit_somewhere(cluster: &Cluster, nodes: &[u32], writes: impl Fn() -> WriteSet) {
    wait_for("a commit", || {
        let leader = cluster.leader_of(nodes);
        commit(cluster.shard(leader), writes()).ok()
    });
}

fn agree(cluster: &Cluster, accounts: &Accounts, expected: &[(i64, i64)]) {
    for (node, shard) in &cluster.shards {
        let what = format!("node {node} to have {expected:?}");
        wait_for(&what, || (accounts.read(shard) == expected).then_some(()));
        assert_eq!(
            cluster.observed(*node),
            expected.len(),
            "as the observer of node {node} knows them"
        );
    }
}

#[test]
fn a_commit_is_on_every_replica_and_outlives_the_leader() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 1);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    let mut expected = Vec::new();
    for round in 0..4 {
        let leader = cluster.leader();
        let follower = cluster.shards.keys().copied().find(|&node| node != leader).unwrap();
        commit_somewhere(&cluster, &[1, 2, 3], || one(&accounts, round, round * 10));
        expected.push((round, round * 10));
        expected.sort_unstable();
        let refused = commit(cluster.shard(follower), one(&accounts, 99, 0));
        assert!(matches!(refused, Err(ProposeError::NotLeader)), "{refused:?}");
        agree(&cluster, &accounts, &expected);
        cluster.kill(leader);
        let left: Vec<u32> = cluster.shards.keys().copied().collect();
        commit_somewhere(&cluster, &left, || one(&accounts, 100 + round, 1));
        expected.push((100 + round, 1));
        expected.sort_unstable();
        cluster.start(leader);
        agree(&cluster, &accounts, &expected);
    }
    let newest: Vec<_> = cluster
        .shards
        .values()
        .map(|shard| shard.status().newest_commit)
        .collect();
    assert!(newest.iter().all(|&timestamp| timestamp == newest[0]), "{newest:?}");
}

#[test]
fn the_others_write_while_the_leaders_disk_hangs() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 9);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    let leader = cluster.leader();
    let epoch = cluster.shard(leader).lock_epoch();
    cluster.stall(leader, true);
    // On the disks of the others each of them is, and the lead stays where it is.
    for id in 0..20 {
        commit(cluster.shard(leader), one(&accounts, id, 1)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let expected: Vec<(i64, i64)> = (0..20).map(|id| (id, 1)).collect();
    agree(&cluster, &accounts, &expected);
    assert_eq!(cluster.shard(leader).lock_epoch(), epoch);
    // What it has not on its disk is not lost with it.
    cluster.stall(leader, false);
    cluster.kill(leader);
    cluster.start(leader);
    agree(&cluster, &accounts, &expected);
}

/// Whoever is offered the lead gets what it lacks first, and nothing is committed meanwhile: one that lacks much would not take it in time.
#[test]
fn a_replica_that_lacks_much_is_not_offered_the_lead() {
    let accounts = Accounts::new();
    let cluster = Cluster::found(3, 17);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    let leader = cluster.leader();
    let behind = leader % 3 + 1;
    let epoch = cluster.shard(leader).lock_epoch();
    cluster.net.cut_off(&[behind]);
    for id in 0..400 {
        commit(cluster.shard(leader), one(&accounts, id, id)).unwrap();
    }
    let refused = cluster.shard(leader).move_leader(behind);
    assert!(
        matches!(refused, Err(MembershipError::NoHeir { node, .. }) if node == behind),
        "{refused:?}"
    );
    commit(cluster.shard(leader), one(&accounts, 400, 400)).unwrap();
    assert_eq!(cluster.shard(leader).lock_epoch(), epoch);
    // Once it has caught up it takes the lead.
    cluster.net.heal();
    wait_for("the replica to lead", || {
        let _ = cluster.shard(leader).move_leader(behind);
        std::thread::sleep(Duration::from_millis(300));
        cluster.shard(behind).status().is_leader.then_some(())
    });
}

/// An index is filled when its definition is applied, which is the work of a moment for none of the replicas.
#[test]
fn the_lead_stays_where_it_is_while_an_index_is_made() {
    let accounts = Accounts::new();
    let cluster = Cluster::found(3, 16);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    for first in (0..200_000).step_by(5000) {
        commit_somewhere(&cluster, &[1, 2, 3], || {
            let mut writes = WriteSet::new();
            (first..first + 5000).for_each(|id| accounts.put(&mut writes, id, id * 7919 % 10_007, b""));
            writes
        });
    }
    let leader = cluster.leader();
    let epoch = cluster.shard(leader).lock_epoch();
    for id in 1..=3 {
        commit_somewhere(&cluster, &[leader], || {
            let mut writes = WriteSet::new();
            let index = IndexSpec {
                id: IndexId(id),
                unique: false,
                key: vec![KeyColumn::ascending(1)],
                text: None,
            };
            writes.create_index(ACCOUNTS, &index);
            writes
        });
    }
    assert_eq!(cluster.shard(leader).lock_epoch(), epoch);
}

#[test]
fn a_leader_that_is_cut_off_commits_nothing_and_says_so_in_time() {
    let accounts = Accounts::new();
    let cluster = Cluster::found(3, 2);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    for round in 0..3 {
        let old = cluster.leader();
        let others: Vec<u32> = cluster.shards.keys().copied().filter(|&node| node != old).collect();
        let shard = cluster.shard(old);
        let (ticket, epoch) = (shard.begin(), shard.lock_epoch());
        cluster.net.cut_off(&[old]);
        let lost = propose_as(shard, ticket.id(), one(&accounts, 7, round).into_bytes());
        commit_somewhere(&cluster, &others, || one(&accounts, 1, round));
        cluster.net.heal();
        // Not applied, and known to be so as soon as the log of the others has come.
        let answer = block_on(lost);
        assert!(matches!(answer, Err(ProposeError::NotLeader)), "{answer:?}");
        assert_eq!(shard.outcome(ticket.id()), Outcome::NotCommitted);
        agree(&cluster, &accounts, &[(1, round)]);
        // The old leader leads again: locks that it gave before are good no more. Its thread may hear later than its clients that it was deposed.
        wait_for("the old leader to lead again", || {
            let leader = cluster.leader();
            if leader == old {
                return (shard.lock_epoch() != epoch && shard.status().is_leader).then_some(());
            }
            let _ = cluster.shard(leader).move_leader(old);
            std::thread::sleep(Duration::from_millis(300));
            None
        });
        assert_ne!(shard.lock_epoch(), epoch);
        let stale = block_on(shard.propose(shard::Transaction {
            id: ticket.id(),
            lock_epoch: epoch,
            durability: shard::Durability::MajorityDisk,
            writes: one(&accounts, 1, 1000).into_bytes(),
            memory: None,
        }));
        assert!(
            matches!(stale, Err(ProposeError::LocksLost | ProposeError::NotLeader)),
            "{stale:?}"
        );
        agree(&cluster, &accounts, &[(1, round)]);
    }
}

#[test]
fn without_a_majority_nobody_commits_and_everybody_is_answered() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 3);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    let leader = cluster.leader();
    let others: Vec<u32> = cluster.shards.keys().copied().filter(|&node| node != leader).collect();
    for &node in &others {
        cluster.kill(node);
    }
    let shard = cluster.shard(leader).clone();
    let first = propose(&shard, one(&accounts, 1, 1).into_bytes());
    let answer = block_on(first);
    assert!(
        matches!(answer, Err(ProposeError::Unknown { .. } | ProposeError::NotLeader)),
        "{answer:?}"
    );
    drop(shard);
    for &node in &others {
        cluster.start(node);
    }
    commit_somewhere(&cluster, &[1, 2, 3], || one(&accounts, 2, 2));
    let rows = accounts.read(cluster.shard(cluster.leader()));
    assert!(rows == [(2, 2)] || rows == [(1, 1), (2, 2)], "{rows:?}");
    agree(&cluster, &accounts, &rows);
}

/// Counters of several clients, each its own row; leaders are killed and cut off meanwhile. A client that was told of a commit finds it,
/// one that was told of a refusal does not, and each goes on from there.
#[test]
fn nobody_is_told_a_wrong_outcome_while_leaders_come_and_go() {
    let accounts = Arc::new(Accounts::new());
    let mut cluster = Cluster::found(3, 4);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    let is_over = Arc::new(AtomicBool::new(false));
    let shards = Arc::new(cluster.running());
    let clients: Vec<_> = (0..4_i64)
        .map(|client| {
            let (accounts, is_over, shards) = (accounts.clone(), is_over.clone(), shards.clone());
            std::thread::spawn(move || {
                let (mut certain, mut possible) = (0, Vec::new());
                let mut next = 1;
                while !is_over.load(Ordering::Relaxed) {
                    let leader = shards.lock().iter().find(|shard| shard.status().is_leader).cloned();
                    let Some(leader) = leader else {
                        std::thread::sleep(Duration::from_millis(2));
                        continue;
                    };
                    let answer = commit(&leader, one(&accounts, client, next));
                    drop(leader);
                    match answer {
                        Ok(_) => (certain, possible) = (next, Vec::new()),
                        Err(ProposeError::Unknown { .. }) => possible.push(next),
                        // The process was killed: nobody tells.
                        Err(ProposeError::Stopped { .. }) => possible.push(next),
                        Err(ProposeError::NotLeader) => {}
                        Err(error) => panic!("{error}"),
                    }
                    next += 1;
                }
                (certain, possible)
            })
        })
        .collect();
    cluster.lose_leaders(&shards);
    is_over.store(true, Ordering::Relaxed);
    let told: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    shards.lock().clear();
    // Whatever was under way has an end before this.
    commit_somewhere(&cluster, &[1, 2, 3], || one(&accounts, 1000, 0));
    let rows = accounts.read(cluster.shard(cluster.leader()));
    for (client, (certain, possible)) in told.into_iter().enumerate() {
        let found = rows.iter().find(|(id, _)| *id == client as i64).map_or(0, |row| row.1);
        assert!(
            found == certain || possible.contains(&found),
            "client {client} finds {found}; {certain} was acknowledged, {possible:?} may be there"
        );
        assert!(certain > 5, "there was hardly any work");
    }
    agree(&cluster, &accounts, &rows);
}

#[test]
fn a_replica_that_was_away_gets_the_log_in_messages_of_bounded_size() {
    let accounts = Accounts::new();
    let (mut cluster, away, left) = without_a_follower(7, &accounts);
    let large = |balance| {
        let mut writes = WriteSet::new();
        for id in 0..300 {
            accounts.put(&mut writes, id, balance, &[1; 900]);
        }
        writes
    };
    for balance in 0..40 {
        commit_somewhere(&cluster, &left, || large(balance));
    }
    cluster.net.forget_longest();
    cluster.start(away);
    let expected: Vec<_> = (0..300).map(|id| (id, 39)).collect();
    agree(&cluster, &accounts, &expected);
    let longest = cluster.net.longest();
    assert!((1 << 20..2 << 20).contains(&longest), "{longest} bytes");
}

/// Changes all of these accounts, so that the log grows, and has the leader let go of it.
fn churn(cluster: &Cluster, nodes: &[u32], accounts: &Accounts, balance: i64) {
    for id in 0..30 {
        commit_somewhere(cluster, nodes, || one(accounts, id, balance));
    }
    cluster.shard(cluster.leader_of(nodes)).checkpoint().unwrap();
}

fn all_with(balance: i64) -> Vec<(i64, i64)> {
    (0..30).map(|id| (id, balance)).collect()
}

#[test]
fn a_replica_that_was_away_for_long_gets_a_checkpoint() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 5);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    churn(&cluster, &[1, 2, 3], &accounts, 1);
    agree(&cluster, &accounts, &all_with(1));
    let away = cluster.follower();
    let left: Vec<u32> = (1..=3).filter(|&node| node != away).collect();
    for (balance, is_killed) in [(2, true), (3, false), (4, false)] {
        let shard = cluster.shard(away).clone();
        // Whoever reads while the rows are replaced finds the old ones or the new ones.
        let is_over = Arc::new(AtomicBool::new(false));
        let reader = (!is_killed).then(|| {
            let (shard, is_over, accounts) = (shard.clone(), is_over.clone(), Accounts::new());
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let rows = accounts.read(&shard);
                    assert_eq!(rows.len(), 30, "{rows:?}");
                }
            })
        });
        drop(shard);
        match is_killed {
            true => cluster.kill(away),
            false => cluster.net.cut_off(&[away]),
        }
        churn(&cluster, &left, &accounts, balance);
        churn(&cluster, &left, &accounts, balance + 10);
        commit_somewhere(&cluster, &left, || one(&accounts, 7, 70));
        match is_killed {
            true => cluster.start(away),
            false => cluster.net.heal(),
        }
        let mut expected = all_with(balance + 10);
        expected[7] = (7, 70);
        agree(&cluster, &accounts, &expected);
        assert!(
            cluster.shard(away).status().checkpoint_index.is_some(),
            "it came as a checkpoint"
        );
        is_over.store(true, Ordering::Relaxed);
        reader.into_iter().for_each(|reader| reader.join().unwrap());
    }
    // What it has taken over it has on its disk.
    cluster.kill(away);
    cluster.start(away);
    let mut expected = all_with(14);
    expected[7] = (7, 70);
    agree(&cluster, &accounts, &expected);
}

/// The leader makes checkpoints more often than one can be sent, and keeps no log behind them for those that are away.
#[test]
fn a_checkpoint_that_takes_long_to_send_is_enough() {
    let accounts = Accounts::new();
    let (mut cluster, away, left) = without_a_follower(15, &accounts);
    let put = |first, count| wide(&accounts, first..first + count);
    for first in (0..2000).step_by(100) {
        commit_somewhere(&cluster, &left, || put(first, 100));
    }
    let leader = cluster.shard(cluster.leader_of(&left)).clone();
    leader.checkpoint().unwrap();
    assert!(leader.status().purged_index.is_some());
    // 1.8 MB in two seconds.
    cluster.net.micros_per_kib.store(1000, Ordering::Relaxed);
    cluster.start(away);
    let late = cluster.shard(away).clone();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut made = 0;
    while accounts.read(&late).len() < 2000 {
        assert!(Instant::now() < deadline, "{made} checkpoints, and it is not there");
        commit_somewhere(&cluster, &left, || put(made, 1));
        leader.checkpoint().unwrap();
        made += 1;
    }
    assert!(made > 3, "there was no checkpoint meanwhile");
    let came = late.status().checkpoint_index.unwrap();
    // From here on it comes by the log.
    for _ in 0..5 {
        commit_somewhere(&cluster, &left, || put(made, 1));
        leader.checkpoint().unwrap();
        made += 1;
    }
    let last = leader.status().applied_index;
    wait_for("the log", || (late.status().applied_index >= last).then_some(()));
    assert_eq!(
        late.status().checkpoint_index,
        Some(came),
        "a second checkpoint was sent"
    );
    // Nor is it kept for ever for a replica that has gone again.
    drop(late);
    cluster.kill(away);
    cluster.net.micros_per_kib.store(0, Ordering::Relaxed);
    wait_for("the log to go", || {
        commit_somewhere(&cluster, &left, || put(0, 1));
        leader.checkpoint().unwrap();
        let status = leader.status();
        (status.purged_index >= status.checkpoint_index).then_some(())
    });
}

/// A checkpoint of many rows is read for longer than a call may take.
#[test]
fn a_checkpoint_that_takes_long_to_read_is_sent_once() {
    let accounts = Accounts::new();
    let (mut cluster, away, left) = without_a_follower(16, &accounts);
    // The log is longer than the checkpoint.
    for first in (0..2000).step_by(100).chain((0..2000).step_by(100)) {
        commit_somewhere(&cluster, &left, || wide(&accounts, first..first + 100));
    }
    let leader = cluster.shard(cluster.leader_of(&left)).clone();
    leader.checkpoint().unwrap();
    let status = leader.status();
    assert!(status.purged_index > Some(1), "{:?}", status.purged_index);
    cluster.net.patience.store(1000, Ordering::Relaxed);
    let sent = cluster.net.sent(away);
    cluster.start(away);
    // When all of it has come, the file is synced before it is read.
    cluster.stall(away, true);
    let (begun, epoch) = (Instant::now(), leader.lock_epoch());
    while begun.elapsed() < Duration::from_secs(4) {
        commit(&leader, one(&accounts, 7, 7)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(leader.lock_epoch(), epoch, "the lead stays where it is");
    assert!(
        accounts.read(cluster.shard(away)).is_empty(),
        "it has been read already"
    );
    cluster.stall(away, false);
    let late = cluster.shard(away).clone();
    wait_for("the rows", || (accounts.read(&late).len() == 2000).then_some(()));
    assert!(late.status().checkpoint_index.is_some(), "it came by the log");
    let (sent, length) = (cluster.net.sent(away) - sent, cluster.newest_checkpoint(away).0);
    assert!(
        sent < length * 3 / 2,
        "{sent} bytes were sent of a checkpoint of {length}"
    );
}

/// Wherever the power goes while a checkpoint is taken over: the replica starts again, and catches up.
#[test]
fn a_power_cut_while_a_checkpoint_is_taken_over_loses_nothing() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 6);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    churn(&cluster, &[1, 2, 3], &accounts, 1);
    for operations in 0..24 {
        let away = cluster.follower();
        let left: Vec<u32> = (1..=3).filter(|&node| node != away).collect();
        cluster.kill(away);
        churn(&cluster, &left, &accounts, operations as i64 + 2);
        cluster.start_until(away, operations);
        std::thread::sleep(Duration::from_millis(150));
        cluster.kill(away);
        cluster.restore_power(away);
        cluster.start(away);
        agree(&cluster, &accounts, &all_with(operations as i64 + 2));
    }
}

#[test]
fn a_replica_with_an_old_copy_of_its_log_is_sent_what_it_lacks() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 11);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    commit_somewhere(&cluster, &[1, 2, 3], || one(&accounts, 1, 10));
    agree(&cluster, &accounts, &[(1, 10)]);
    let (leader, term) = (cluster.leader(), cluster.shard(cluster.leader()).status().term);
    let follower = cluster.follower();
    let copy = cluster.disks[&follower].fork(1);
    for id in 2..20 {
        commit_somewhere(&cluster, &[1, 2, 3], || one(&accounts, id, 10));
    }
    let expected: Vec<_> = (1..20).map(|id| (id, 10)).collect();
    agree(&cluster, &accounts, &expected);
    cluster.kill(follower);
    cluster.disks.insert(follower, copy);
    cluster.start(follower);
    agree(&cluster, &accounts, &expected);
    let status = cluster.shard(leader).status();
    assert_eq!((status.stopped, status.term), (None, term), "the leader goes on");
}

#[test]
fn a_replica_whose_disk_is_full_falls_behind_and_catches_up_when_there_is_room() {
    let accounts = Accounts::new();
    let cluster = Cluster::found(3, 12);
    commit_somewhere(&cluster, &[1, 2, 3], || accounts.create());
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let disk = &cluster.disks[&follower];
    disk.set_capacity(Some(disk.used()));
    let mut balance = 0;
    wait_for("a full disk", || {
        balance += 1;
        let large = || {
            let mut writes = WriteSet::new();
            for id in 0..30 {
                accounts.put(&mut writes, id, balance, &[1; 900]);
            }
            writes
        };
        commit_somewhere(&cluster, &[1, 2, 3], large);
        cluster.shard(follower).status().disk_is_full.then_some(())
    });
    assert_eq!(cluster.shard(follower).status().stopped, None);
    // The others make a majority.
    commit_somewhere(&cluster, &[1, 2, 3], || one(&accounts, 7, -1));
    disk.set_capacity(None);
    let mut expected = all_with(balance);
    expected[7] = (7, -1);
    agree(&cluster, &accounts, &expected);
    assert!(!cluster.shard(follower).status().disk_is_full);
    assert_eq!(cluster.leader(), leader);
}

#[test]
fn a_new_replica_votes_once_it_has_caught_up_and_holds_up_nobody_before() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(1, 7);
    commit_somewhere(&cluster, &[1], || accounts.create());
    for id in 0..400 {
        commit_somewhere(&cluster, &[1], || one(&accounts, id, id));
    }
    cluster.shard(1).checkpoint().unwrap();
    cluster.start_joining(2);
    cluster.net.cut_off(&[2]);
    let votes = |cluster: &Cluster| {
        let replicas = cluster.shard(1).replicas();
        replicas.iter().any(|replica| replica.node == 2 && replica.votes)
    };
    let listens = cluster.ask_to_be_admitted(1, 2).unwrap();
    assert!(matches!(listens, shard::Admitted::Listens(_)));
    // Asked again, because the answer does not come, it is no other one.
    let admissions: Vec<_> = (0..2)
        .map(|_| cluster.shard(1).admit(2, cluster.member(2), false))
        .collect();
    for id in 400..410 {
        commit(cluster.shard(1), one(&accounts, id, id)).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        assert!(!votes(&cluster), "it has nothing yet");
    }
    cluster.net.heal();
    // One change at a time: the other one may be refused.
    let admitted = admissions.into_iter().map(block_on).filter(Result::is_ok).count();
    assert!(admitted > 0 && votes(&cluster));
    let rows = accounts.read(cluster.shard(1));
    wait_for("the rows", || (accounts.read(cluster.shard(2)) == rows).then_some(()));
}
