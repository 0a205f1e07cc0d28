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
        cluster.shard(1).move_leader(to);
        std::thread::sleep(Duration::from_millis(100));
        commit(cluster.shard(1), one(&accounts, i64::from(to), 1)).unwrap();
    }
}
