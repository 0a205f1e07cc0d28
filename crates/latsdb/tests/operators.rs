//! What operators do to a cluster that they should not, or in a moment that is not the best.

use std::time::{Duration, Instant};

use crate::cluster::{Cluster, free_port, one, run};
use crate::support::{Running, directory, latsdb};

fn order(cluster: &Cluster, at: usize, order: &str) -> String {
    cluster.node(at).post(&format!("/admin/{order}"))
}

/// It would need the vote of the one that is down, and could not be taken back.
#[test]
fn a_removal_that_leaves_no_majority_is_refused() {
    let mut cluster = Cluster::start("operators-removal");
    let (leader, down) = (cluster.leader(), cluster.follower());
    let other = (1..=3).find(|node| ![leader, down].contains(node)).unwrap();
    let mut client = cluster.client(leader);
    run(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY)");
    cluster.kill(down);
    let refused = order(&cluster, leader, &format!("remove-node?node={other}"));
    assert!(
        refused.contains(&format!("nothing is heard of node {down}")),
        "{refused}"
    );
    run(&mut client, "INSERT INTO test.t VALUES (1)");
    let removed = order(&cluster, leader, &format!("remove-node?node={down}"));
    assert!(removed.starts_with("HTTP/1.1 200"), "{removed}");
    run(&mut client, "INSERT INTO test.t VALUES (2)");
    // What is asked of a node that is not there is said to have failed.
    let moved = order(&cluster, leader, &format!("move-leader?node={down}"));
    assert!(!moved.starts_with("HTTP/1.1 200"), "{moved}");
}

/// It was down when it was let go: its log says that it votes.
#[test]
fn a_node_that_was_let_go_while_it_was_down_comes_back_when_it_is_started() {
    for cluster in [Cluster::start, Cluster::start_in_place] {
        comes_back(cluster("operators-let-go"));
    }
}

/// With the addresses that the log has of it there is nothing to tell the others: it has to find out that they know it no more.
fn comes_back(mut cluster: Cluster) {
    let leader = cluster.leader();
    let gone = cluster.follower();
    let mut client = cluster.client(leader);
    run(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY)");
    cluster.kill(gone);
    let replaced = order(&cluster, leader, &format!("replace-node?node={gone}"));
    assert!(replaced.starts_with("HTTP/1.1 200"), "{replaced}");
    run(&mut client, "INSERT INTO test.t VALUES (1)");
    cluster.run(gone);
    cluster.wait_until_whole_from(leader);
    assert_eq!(one(&mut cluster.client(gone), "SELECT COUNT(*) FROM test.t"), "1");
}

/// A restored backup, say, with the flags of the node whose directory it replaces.
#[test]
fn a_directory_of_another_cluster_is_refused_where_it_is_to_join() {
    let mut cluster = Cluster::start("operators-foreign");
    let lost = cluster.follower();
    cluster.kill(lost);
    let data = cluster.data(lost);
    std::fs::remove_dir_all(&data).unwrap();
    let elsewhere = directory("operators-foreign-alone");
    let number = lost.to_string();
    let alone = Running::start_with(&elsewhere, &["--node-id", &number]);
    alone.stop();
    std::fs::create_dir_all(&data).unwrap();
    let copied = std::process::Command::new("cp")
        .args(["-a", &format!("{}/.", elsewhere.display()), &data.display().to_string()])
        .status();
    assert!(copied.unwrap().success());
    let began = Instant::now();
    let refused = cluster.refused(lost);
    assert!(refused.contains("is of another cluster"), "{refused}");
    assert!(began.elapsed() < Duration::from_secs(20));
}

/// Even where the node that it asks has its number.
#[test]
fn a_directory_of_another_cluster_is_refused_by_a_node_of_its_number() {
    let cluster = Cluster::start("operators-namesake");
    let leader = cluster.leader();
    let data = directory("operators-namesake-alone");
    let number = leader.to_string();
    Running::start_with(&data, &["--node-id", &number]).stop();
    let own = format!("127.0.0.1:{}", free_port());
    let addresses = [
        "--mysql-addr",
        "127.0.0.1:0",
        "--http-addr",
        "127.0.0.1:0",
        "--peer-addr",
        &own,
    ];
    let flags = ["serve", "--node-id", &number, "--join", &cluster.peer[leader - 1]];
    let refused = latsdb(&flags, &data).args(addresses).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && said.contains("is of another cluster"),
        "{said}"
    );
}
