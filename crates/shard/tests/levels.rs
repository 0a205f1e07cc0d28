//! The cluster's feature level: it rises on all replicas, stays with their directories, and until then nothing is written that only it knows.

use std::path::Path;

use env::{Access, Env, Level, Levels};
use shard::{Config, Founding, Member, MembershipError, OpenError, Shard};
use store::{MemoryBudget, WriteSet};

use crate::support::cluster::{Cluster, wait_for};
use crate::support::{Accounts, block_on, commit};

const BOTH: Levels = Levels {
    lowest: Level(1),
    highest: Level(2),
};

fn one(accounts: &Accounts, id: i64) -> WriteSet {
    let mut writes = WriteSet::new();
    accounts.put(&mut writes, id, 1, b"");
    writes
}

fn commit_at_leader(cluster: &Cluster, writes: impl Fn() -> WriteSet) {
    wait_for("a commit", || commit(cluster.shard(cluster.leader()), writes()).ok());
}

fn all_at(cluster: &Cluster, level: u8) {
    for (node, shard) in &cluster.shards {
        wait_for(&format!("node {node} at level {level}"), || {
            (shard.level() == Level(level)).then_some(())
        });
    }
}

fn raise(cluster: &Cluster) {
    wait_for("the level to rise", || {
        block_on(cluster.shard(cluster.leader()).raise(Level(2))).ok()
    });
    all_at(cluster, 2);
}

/// The versions that the slots of a node's identity have.
fn identity_versions(cluster: &Cluster, node: u32) -> [u32; 2] {
    let env = Env::simulated(cluster.disks[&node].clone(), 1);
    let file = env.disk.open(Path::new("data/identity"), Access::Read).unwrap();
    [0, 4096].map(|slot| {
        let mut version = [0; 4];
        file.read_at(&mut version, slot + 8).unwrap();
        u32::from_le_bytes(version)
    })
}

fn spoken(cluster: &Cluster, of: u32) -> Option<Levels> {
    let replicas = cluster.shard(cluster.leader()).replicas();
    let found = replicas.into_iter().find(|replica| replica.node == of);
    found.and_then(|replica| replica.member.levels)
}

fn says_what_it_speaks() -> Member {
    Member {
        levels: Some(BOTH),
        sql_addr: "elsewhere:1".into(),
        ..Member::default()
    }
}

#[test]
fn at_the_first_level_everything_is_written_as_ever() {
    let accounts = Accounts::new();
    let cluster = Cluster::found(3, 31);
    commit_at_leader(&cluster, || accounts.create());
    all_at(&cluster, 1);
    wait_for("a change of the membership", || {
        let leader = cluster.leader();
        block_on(cluster.shard(leader).admit(3, says_what_it_speaks(), false)).ok()
    });
    assert_eq!(spoken(&cluster, 3), None, "the others could not read it");
    let leader = cluster.leader();
    cluster.shard(leader).checkpoint().unwrap();
    assert_eq!(cluster.newest_checkpoint(leader).1, 3);
    assert!(identity_versions(&cluster, leader).iter().all(|&version| version < 2));
}

#[test]
fn a_level_rises_on_all_and_stays_through_starts_and_checkpoints() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 32);
    commit_at_leader(&cluster, || accounts.create());
    let follower = cluster.follower();
    let refused = block_on(cluster.shard(follower).raise(Level(2)));
    assert!(matches!(refused, Err(MembershipError::NotLeader)), "{refused:?}");
    raise(&cluster);
    for &node in cluster.shards.keys() {
        assert_eq!(identity_versions(&cluster, node), [2, 2], "node {node}");
    }
    // Now the membership has a place for it.
    wait_for("a change of the membership", || {
        let leader = cluster.leader();
        block_on(cluster.shard(leader).admit(3, says_what_it_speaks(), false)).ok()
    });
    assert_eq!(spoken(&cluster, 3), Some(BOTH));
    // By the log, and then by a checkpoint alone.
    for with_checkpoint in [false, true] {
        for node in 1..=3 {
            if with_checkpoint {
                cluster.shard(node).checkpoint().unwrap();
                assert_eq!(cluster.newest_checkpoint(node).1, 4);
            }
            cluster.kill(node);
            cluster.start(node);
            all_at(&cluster, 2);
        }
    }
    commit_at_leader(&cluster, || one(&accounts, 1));
    assert_eq!(spoken(&cluster, 3), Some(BOTH));
    for shard in cluster.shards.values() {
        wait_for("the rows", || (accounts.read(shard) == [(1, 1)]).then_some(()));
    }
}

#[test]
fn a_checkpoint_brings_the_level_to_who_was_away() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 33);
    commit_at_leader(&cluster, || accounts.create());
    let away = cluster.follower();
    cluster.kill(away);
    wait_for("the level to rise", || {
        block_on(cluster.shard(cluster.leader()).raise(Level(2))).ok()
    });
    // Until the log does not reach back to it.
    let mut id = 0;
    wait_for("a log that begins later", || {
        id += 1;
        commit_at_leader(&cluster, || one(&accounts, id % 50));
        let leader = cluster.shard(cluster.leader());
        leader.checkpoint().unwrap();
        leader.status().purged_index.filter(|&purged| purged > 20)
    });
    assert!(identity_versions(&cluster, away).iter().all(|&version| version < 2));
    cluster.start(away);
    all_at(&cluster, 2);
    assert_eq!(identity_versions(&cluster, away), [2, 2]);
}

fn opened(cluster: &Cluster, node: u32, speaks: Levels) -> OpenError {
    let env = Env::simulated(cluster.disks[&node].clone(), 9);
    let config = Config {
        node_id: node,
        founding: Founding::Joins,
        speaks,
        ..Config::new(env, "data", MemoryBudget::new(1 << 30))
    };
    Shard::open(config).err().expect("it is refused")
}

#[test]
fn a_directory_is_refused_by_who_does_not_speak_its_level() {
    let accounts = Accounts::new();
    let mut cluster = Cluster::found(3, 34);
    commit_at_leader(&cluster, || accounts.create());
    let node = cluster.follower();
    cluster.kill(node);
    let only = |level| Levels {
        lowest: Level(level),
        highest: Level(level),
    };
    let later = opened(&cluster, node, only(2));
    assert!(!later.is_damage(), "{later}");
    let expected = "first install a version of LatsDB that speaks level 1 and 2";
    assert!(later.to_string().contains(expected), "{later}");
    cluster.start(node);
    raise(&cluster);
    cluster.kill(node);
    let former = opened(&cluster, node, only(1));
    assert!(!former.is_damage(), "{former}");
    let expected = "install a version of LatsDB that speaks level 2";
    assert!(former.to_string().contains(expected), "{former}");
}
