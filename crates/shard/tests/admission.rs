//! Nodes that come anew: what they know of the votes before is nothing, and they take no part until the log has caught up with them.

use std::time::Duration;

use shard::{Admission, MembershipError};

use crate::support::cluster::{Cluster, wait_for};
use crate::support::{Accounts, block_on, commit, one};

/// Founded by node 1 alone, which the others have joined.
fn founded_by_one(accounts: &Accounts, seed: u64) -> Cluster {
    let mut cluster = Cluster::found(1, seed);
    commit(cluster.shard(1), accounts.create()).unwrap();
    for node in [2, 3] {
        cluster.start_joining(node);
        cluster.admit(1, node).unwrap();
    }
    cluster
}

/// It is gone with its disk, and comes back by the same number.
fn replace(cluster: &mut Cluster, node: u32, others: &[u32]) -> u32 {
    cluster.kill(node);
    let leader = cluster.leader_of(others);
    block_on(cluster.shard(leader).dismiss(node)).unwrap();
    cluster.start_joining(node);
    leader
}

/// What it reads first is that it was alone once.
#[test]
fn a_founder_that_comes_anew_does_not_elect_itself() {
    let accounts = Accounts::new();
    let mut cluster = founded_by_one(&accounts, 41);
    for id in 0..2000 {
        commit(cluster.shard(1), one(&accounts, id, id)).unwrap();
    }
    let leader = replace(&mut cluster, 1, &[2, 3]);
    // So that it gets the log in pieces.
    cluster
        .net
        .micros_per_kib
        .store(3000, std::sync::atomic::Ordering::Relaxed);
    cluster.ask_to_be_admitted(leader, 1).unwrap();
    let applied = |cluster: &Cluster| cluster.shard(1).status().applied_index.unwrap_or(0);
    wait_for("the beginning of the log", || (applied(&cluster) > 0).then_some(()));
    cluster.net.cut_off(&[1]);
    let last = cluster.shard(leader).status().last_log_index;
    assert!(Some(applied(&cluster)) < last, "it has all of it already");
    let replicas = cluster.shard(1).replicas();
    assert!(
        replicas.iter().any(|replica| replica.node == 1 && replica.votes),
        "by what it has read"
    );
    let term = cluster.shard(leader).status().term;
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(
        (cluster.shard(1).status().term, cluster.shard(1).status().is_leader),
        (term, false)
    );
    // Nor does it when it starts like this.
    cluster.kill(1);
    cluster.start_again(1);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(
        (cluster.shard(1).status().term, cluster.shard(1).status().is_leader),
        (term, false)
    );
    cluster
        .net
        .micros_per_kib
        .store(0, std::sync::atomic::Ordering::Relaxed);
    cluster.net.heal();
    wait_for("it to come in", || cluster.admit(cluster.leader_of(&[2, 3]), 1).ok());
    wait_for("its part", || {
        (cluster.shard(1).admission() == Admission::Belongs).then_some(())
    });
    let rows = accounts.read(cluster.shard(leader));
    assert_eq!(rows.len(), 2000);
    wait_for("the rows", || (accounts.read(cluster.shard(1)) == rows).then_some(()));
    // From now on it counts: with it alone, another one leads.
    cluster.kill(leader);
    cluster.leader();
}

/// The new directory knows nothing of what the node has promised.
#[test]
fn a_voter_with_an_empty_disk_is_not_taken_for_the_one_before() {
    let accounts = Accounts::new();
    let mut cluster = founded_by_one(&accounts, 42);
    cluster.kill(3);
    cluster.start_joining(3);
    let refused = cluster.admit(1, 3).unwrap_err();
    assert!(matches!(refused, MembershipError::Exists(3)), "{refused}");
    assert!(refused.to_string().contains("latsdb admin replace-node 3"));
    // It votes for nobody meanwhile.
    cluster.kill(1);
    std::thread::sleep(Duration::from_secs(1));
    assert!(!cluster.shard(2).status().is_leader);
}

/// It could not be elected, and the leader would take no commits for ever.
#[test]
fn the_lead_is_offered_to_voters_alone() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(1, 43);
    commit(cluster.shard(1), accounts.create()).unwrap();
    cluster.start_joining(2);
    cluster.ask_to_be_admitted(1, 2).unwrap();
    for to in [1, 2, 3] {
        cluster.shard(1).move_leader(to).unwrap_err();
        std::thread::sleep(Duration::from_millis(100));
        commit(cluster.shard(1), one(&accounts, i64::from(to), 1)).unwrap();
    }
}

/// Whoever waits for it to catch up hears at once, and it does not come in by the back door.
#[test]
fn a_replica_that_is_let_go_while_it_comes_in_is_told() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(1, 44);
    commit(cluster.shard(1), accounts.create()).unwrap();
    for id in 0..400 {
        commit(cluster.shard(1), one(&accounts, id, id)).unwrap();
    }
    cluster.start_joining(2);
    cluster.ask_to_be_admitted(1, 2).unwrap();
    cluster.net.cut_off(&[2]);
    for id in 400..800 {
        commit(cluster.shard(1), one(&accounts, id, id)).unwrap();
    }
    let waiting = cluster.shard(1).admit(2, cluster.member(2), false);
    block_on(cluster.shard(1).dismiss(2)).unwrap();
    let told = block_on(waiting);
    assert!(matches!(told, Err(MembershipError::Unknown(2))), "{told:?}");
}

/// The change would need a majority that is not there, and nothing could be committed until it is.
#[test]
fn a_removal_waits_for_nobody_who_is_silent() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 45);
    let leader = cluster.leader();
    let mut others = (1..=3).filter(|&node| node != leader);
    let (dead, alive) = (others.next().unwrap(), others.next().unwrap());
    cluster.kill(dead);
    let refused = block_on(cluster.shard(leader).dismiss(alive)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "then 2 of 2 voters would be a majority, and nothing is heard of node {dead}: nobody could commit any more"
        )
    );
    commit(cluster.shard(leader), accounts.create()).unwrap();
    block_on(cluster.shard(leader).dismiss(dead)).unwrap();
    commit(cluster.shard(leader), one(&accounts, 1, 1)).unwrap();
}

/// Two faults at once lose rows: a voter that has forgotten what it had, and the other one that had it. The node that comes back with it says so.
#[test]
fn what_is_committed_here_is_not_taken_back_for_a_leader_with_an_old_copy() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 46);
    let leader = cluster.leader();
    commit(cluster.shard(leader), accounts.create()).unwrap();
    let mut others = (1..=3).filter(|&node| node != leader);
    let (forgets, behind) = (others.next().unwrap(), others.next().unwrap());
    for node in [forgets, behind] {
        let applied = |node: u32| cluster.shard(node).status().applied_index;
        wait_for("the table", || (applied(node) == applied(leader)).then_some(()));
    }
    let copy = cluster.disks[&forgets].fork(1);
    cluster.net.cut_off(&[behind]);
    for id in 0..50 {
        commit(cluster.shard(leader), one(&accounts, id, id)).unwrap();
    }
    cluster.kill(forgets);
    cluster.kill(leader);
    cluster.disks.insert(forgets, copy);
    cluster.net.heal();
    cluster.start(forgets);
    let next = cluster.leader();
    for id in 100..110 {
        commit(cluster.shard(next), one(&accounts, id, id)).unwrap();
    }
    cluster.start(leader);
    let reason = wait_for("it to stop", || cluster.shard(leader).stopped());
    assert!(reason.contains("than was committed here"), "{reason}");
    commit(cluster.shard(next), one(&accounts, 200, 1)).unwrap();
}
