//! Two replicas with rows and a witness: either of the two may be lost, and what was acknowledged is there.

use std::path::Path;
use std::time::Duration;

use env::{Env, Level};
use journal::{Identity, Role};
use shard::{Config, Founding, Member, MembershipError, OpenError, ProposeError, Shard};
use store::{MemoryBudget, WriteSet};

use crate::support::cluster::{Cluster, wait_for};
use crate::support::{Accounts, block_on, commit};

const WITNESS: u32 = 3;

fn one(accounts: &Accounts, id: i64) -> WriteSet {
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, id, id, &[7; 100]);
    writes
}

fn commit_with(cluster: &Cluster, nodes: &[u32], writes: impl Fn() -> WriteSet) {
    wait_for("a commit", || {
        let leader = cluster.leader_of(nodes);
        commit(cluster.shard(leader), writes()).ok()
    });
}

fn has(cluster: &Cluster, accounts: &Accounts, node: u32, expected: i64) {
    let expected: Vec<(i64, i64)> = (0..expected).map(|id| (id, id)).collect();
    wait_for(&format!("node {node} to have {} rows", expected.len()), || {
        (accounts.read(cluster.shard(node)) == expected).then_some(())
    });
}

fn has_no_rows(cluster: &Cluster) {
    let witness = cluster.shard(WITNESS);
    assert!(witness.store().tables().is_empty());
    assert_eq!(cluster.observed(WITNESS), 0);
}

fn purged(cluster: &Cluster, node: u32) -> u64 {
    cluster.shard(node).status().purged_index.unwrap_or(0)
}

#[test]
fn either_of_two_may_be_lost() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found_with(3, &[WITNESS], 61);
    commit_with(&cluster, &[1, 2], || accounts.create());
    let mut rows = 0;
    for _ in 0..4 {
        let lost = cluster.leader_of(&[1, 2]);
        commit_with(&cluster, &[1, 2], || one(&accounts, rows));
        cluster.kill(lost);
        commit_with(&cluster, &[3 - lost], || one(&accounts, rows + 1));
        rows += 2;
        cluster.start(lost);
        has(&cluster, &accounts, 1, rows);
        has(&cluster, &accounts, 2, rows);
    }
    wait_for("the witness to have the log", || {
        let applied = |node| cluster.shard(node).status().applied_index;
        (applied(WITNESS) == applied(1)).then_some(())
    });
    has_no_rows(&cluster);
}

/// Only the witness has what the lost replica has acknowledged.
#[test]
fn a_witness_with_the_newest_entry_hands_it_on_with_the_lead() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found_with(3, &[WITNESS], 62);
    commit_with(&cluster, &[1, 2], || accounts.create());
    let mut rows = 0;
    for _ in 0..4 {
        let lost = cluster.leader_of(&[1, 2]);
        let left = 3 - lost;
        has(&cluster, &accounts, left, rows);
        cluster.net.cut_off(&[left]);
        for _ in 0..20 {
            commit(cluster.shard(lost), one(&accounts, rows)).unwrap();
            rows += 1;
        }
        cluster.kill(lost);
        assert!(accounts.read(cluster.shard(left)).len() < rows as usize);
        cluster.net.heal();
        assert_eq!(cluster.leader_of(&[left, WITNESS]), left);
        has(&cluster, &accounts, left, rows);
        commit_with(&cluster, &[left], || one(&accounts, rows));
        rows += 1;
        cluster.start(lost);
        has(&cluster, &accounts, lost, rows);
    }
    has_no_rows(&cluster);
}

#[test]
fn what_leads_without_rows_decides_nothing() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found_with(3, &[WITNESS], 63);
    commit_with(&cluster, &[1, 2], || accounts.create());
    let lost = cluster.leader_of(&[1, 2]);
    let left = 3 - lost;
    cluster.net.cut_off(&[left]);
    commit(cluster.shard(lost), one(&accounts, 0)).unwrap();
    cluster.kill(lost);
    let witness = cluster.shard(WITNESS);
    // Before, after and while it is elected.
    let mut refusals = 0;
    cluster.net.heal();
    wait_for("another leader", || {
        let status = witness.status();
        assert!(!status.is_leader && witness.lock_epoch() == u64::MAX);
        let refused = commit(witness, one(&accounts, 9));
        assert!(matches!(refused, Err(ProposeError::NotLeader)), "{refused:?}");
        for changed in [
            block_on(witness.dismiss(lost)),
            block_on(witness.raise(Level(2))),
            block_on(witness.admit(7, Member::default(), false)).map(|_| ()),
        ] {
            assert!(matches!(changed, Err(MembershipError::NotLeader)), "{changed:?}");
        }
        // Nobody is sent to a witness.
        assert_ne!(status.leader, Some(WITNESS));
        assert_ne!(cluster.shard(left).status().leader, Some(WITNESS));
        refusals += 1;
        cluster.shard(left).status().is_leader.then_some(())
    });
    assert!(refusals > 1);
    has(&cluster, &accounts, left, 1);
}

#[test]
fn the_log_is_kept_until_all_with_rows_have_a_checkpoint_of_it() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found_with(3, &[WITNESS], 64);
    commit_with(&cluster, &[1, 2], || accounts.create());
    commit_with(&cluster, &[1, 2], || one(&accounts, 0));
    for node in [1, 2] {
        has(&cluster, &accounts, node, 1);
        cluster.shard(node).checkpoint().unwrap();
    }
    let lost = cluster.leader_of(&[1, 2]);
    let left = 3 - lost;
    let before = cluster.shard(left).status().checkpoint_index.unwrap();
    cluster.kill(left);
    for id in 1..50 {
        commit_with(&cluster, &[lost], || one(&accounts, id));
    }
    let applied = cluster.shard(lost).status().applied_index.unwrap();
    wait_for("the witness to come up", || {
        (cluster.shard(WITNESS).status().applied_index >= Some(applied)).then_some(())
    });
    cluster.shard(lost).checkpoint().unwrap();
    cluster.shard(WITNESS).checkpoint().unwrap();
    let status = cluster.shard(WITNESS).status();
    assert!(status.checkpoint_index >= Some(applied), "{status:?}");
    assert!(status.purged_index.unwrap_or(0) <= before, "{status:?}");
    // It has what nobody else has any more, and starts anew with it.
    cluster.kill(lost);
    cluster.kill(WITNESS);
    cluster.start(WITNESS);
    cluster.start(left);
    has(&cluster, &accounts, left, 50);
    commit_with(&cluster, &[left], || one(&accounts, 50));

    // Now both have checkpoints, and it may go.
    cluster.start(lost);
    has(&cluster, &accounts, lost, 51);
    for node in [lost, left] {
        cluster.shard(node).checkpoint().unwrap();
    }
    let covered = [lost, left].map(|node| cluster.shard(node).status().checkpoint_index.unwrap());
    commit_with(&cluster, &[1, 2], || one(&accounts, 51));
    let newest = cluster.shard(left).status().last_log_index;
    wait_for("the witness to come up", || {
        (cluster.shard(WITNESS).status().applied_index >= newest).then_some(())
    });
    cluster.shard(WITNESS).checkpoint().unwrap();
    let least = covered[0].min(covered[1]);
    assert_eq!(purged(&cluster, WITNESS), least, "of {covered:?}");
}

#[test]
fn who_lacks_more_than_the_witness_keeps_waits_for_the_other_rows() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found_with(3, &[WITNESS], 65);
    commit_with(&cluster, &[1, 2], || accounts.create());
    has(&cluster, &accounts, 1, 0);
    has(&cluster, &accounts, 2, 0);
    // From their next starts on a witness keeps 16 KiB.
    cluster.checkpoint_bytes = 1 << 10;
    cluster.kill(WITNESS);
    cluster.start(WITNESS);
    let lost = cluster.leader_of(&[1, 2]);
    let left = 3 - lost;
    cluster.kill(left);
    for id in 0..500 {
        commit_with(&cluster, &[lost], || one(&accounts, id));
    }
    let lacks = 10;
    wait_for("the log to be too long", || {
        cluster.shard(WITNESS).checkpoint().unwrap();
        (purged(&cluster, WITNESS) > lacks).then_some(())
    });
    assert!(cluster.shard(WITNESS).status().log_kept_bytes < 200 << 10);
    cluster.kill(lost);
    cluster.start(left);
    std::thread::sleep(Duration::from_secs(2));
    assert!(accounts.read(cluster.shard(left)).len() < 500);
    for node in [left, WITNESS] {
        let status = cluster.shard(node).status();
        assert!(!status.is_leader && status.leader.is_none(), "node {node}: {status:?}");
    }
    cluster.start(lost);
    has(&cluster, &accounts, left, 500);
    commit_with(&cluster, &[1, 2], || one(&accounts, 500));
    has(&cluster, &accounts, 1, 501);
    has(&cluster, &accounts, 2, 501);
}

#[test]
fn a_witness_starts_from_its_checkpoint_and_its_directory_is_nobody_elses() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found_with(3, &[WITNESS], 66);
    commit_with(&cluster, &[1, 2], || accounts.create());
    for id in 0..20 {
        commit_with(&cluster, &[1, 2], || one(&accounts, id));
    }
    for node in [1, 2] {
        has(&cluster, &accounts, node, 20);
        cluster.shard(node).checkpoint().unwrap();
    }
    let term = |cluster: &Cluster| cluster.shard(WITNESS).status().term;
    for round in 0..3 {
        let newest = cluster.shard(cluster.leader_of(&[1, 2])).status().applied_index;
        wait_for("the witness to come up", || {
            (cluster.shard(WITNESS).status().applied_index >= newest).then_some(())
        });
        cluster.shard(WITNESS).checkpoint().unwrap();
        assert!(purged(&cluster, WITNESS) > 10);
        assert_eq!(cluster.newest_checkpoint(WITNESS).1, 5);
        let (before, replicas) = (term(&cluster), cluster.shard(WITNESS).replicas());
        cluster.kill(WITNESS);
        commit_with(&cluster, &[1, 2], || one(&accounts, 20 + round));
        cluster.start(WITNESS);
        assert!(term(&cluster) >= before);
        assert_eq!(cluster.shard(WITNESS).replicas(), replicas);
        has_no_rows(&cluster);
    }
    assert_eq!(cluster.newest_checkpoint(1).1, 3, "as ever");
    for (node, is_witness) in [(WITNESS, true), (1, false)] {
        cluster.kill(node);
        match is_witness {
            true => cluster.witnesses.remove(&node),
            false => cluster.witnesses.insert(node),
        };
        let expected = if is_witness { Role::Witness } else { Role::Data };
        match cluster.open(node) {
            Err(error @ OpenError::OtherRole { role, .. }) if role == expected => assert!(!error.is_damage()),
            Err(other) => panic!("{other}"),
            Ok(()) => panic!("it was opened"),
        }
        match is_witness {
            true => cluster.witnesses.insert(node),
            false => cluster.witnesses.remove(&node),
        };
        cluster.start(node);
    }
    has(&cluster, &accounts, 1, 23);
    has_no_rows(&cluster);

    // Without the identity, the checkpoint tells.
    cluster.kill(WITNESS);
    let env = Env::simulated(cluster.disks[&WITNESS].clone(), 1);
    let identity = Identity::read(&env, Path::new("data")).unwrap().unwrap();
    env.disk.remove(Path::new("data/identity")).unwrap();
    let as_data = Identity {
        role: Role::Data,
        ..identity
    };
    as_data.write(&env, Path::new("data")).unwrap();
    cluster.witnesses.remove(&WITNESS);
    assert!(matches!(
        cluster.open(WITNESS),
        Err(OpenError::OtherRole {
            role: Role::Witness,
            ..
        })
    ));
}

#[test]
fn a_witness_joins_at_its_level_and_gets_no_rows() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(2, 67);
    commit_with(&cluster, &[1, 2], || accounts.create());
    for first in (0..3000).step_by(100) {
        commit_with(&cluster, &[1, 2], || {
            let mut writes = WriteSet::new();
            (first..first + 100).for_each(|id| accounts.put(&mut writes, id, id, &[7; 100]));
            writes
        });
    }
    // The log is gone: who comes needs a checkpoint.
    for node in [1, 2] {
        has(&cluster, &accounts, node, 3000);
        cluster.shard(node).checkpoint().unwrap();
        assert!(purged(&cluster, node) > 10);
        assert!(cluster.newest_checkpoint(node).0 > 300_000);
    }
    cluster.witnesses.insert(WITNESS);
    cluster.start_joining(WITNESS);
    let admit = |cluster: &Cluster| {
        let leader = cluster.leader_of(&[1, 2]);
        cluster.admit(leader, WITNESS)
    };
    let refused = wait_for("a refusal", || match admit(&cluster) {
        Err(MembershipError::NotLeader) => None,
        other => Some(other),
    });
    let needed = MembershipError::NoWitnessYet {
        needed: Level(2),
        level: Level(1),
    };
    assert_eq!(refused.unwrap_err().to_string(), needed.to_string());
    assert!(needed.to_string().ends_with("raise it first (latsdb admin upgrade)"));
    wait_for("the level to rise", || {
        block_on(cluster.shard(cluster.leader_of(&[1, 2])).raise(Level(2))).ok()
    });
    wait_for("the witness to come in", || admit(&cluster).ok());
    assert!(cluster.newest_checkpoint(WITNESS).0 < 1000, "what came has no rows");
    has_no_rows(&cluster);
    assert_eq!(cluster.shard(WITNESS).level(), Level(2));
    let leader = cluster.leader_of(&[1, 2]);
    let refused = block_on(cluster.shard(leader).admit(WITNESS, Member::default(), false));
    assert!(
        matches!(
            refused,
            Err(MembershipError::OtherRole {
                node: WITNESS,
                role: Role::Witness
            })
        ),
        "{refused:?}"
    );

    // It counts as half of a majority; and who alone has rows stays.
    let gone = 3 - leader;
    block_on(cluster.shard(leader).dismiss(gone)).unwrap();
    cluster.kill(gone);
    commit(cluster.shard(leader), one(&accounts, 3000)).unwrap();
    let refused = block_on(cluster.shard(leader).dismiss(leader));
    assert!(matches!(refused, Err(MembershipError::LastRows(_))), "{refused:?}");
    cluster.kill(WITNESS);
    let unknown = commit(cluster.shard(leader), one(&accounts, 3001));
    assert!(unknown.is_err(), "{unknown:?}");
}

#[test]
fn a_witness_founds_nothing() {
    let env = Env::simulated(env::SimDisk::new(1), 1);
    let alone = Config {
        role: Role::Witness,
        ..Config::new(env, "data", MemoryBudget::new(1 << 30))
    };
    let witness = Member {
        role: Role::Witness,
        ..Member::default()
    };
    let together = Config {
        founding: Founding::Together([(1, witness)].into()),
        ..alone.clone()
    };
    for config in [alone, together] {
        assert!(matches!(Shard::open(config), Err(OpenError::LoneWitness)));
    }
}
