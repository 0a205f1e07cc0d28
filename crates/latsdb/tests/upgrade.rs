//! A cluster whose nodes are of two versions: one speaks less than the other.

use std::fs::File;
use std::process::{Child, Stdio};

use mysql_client::Answer;

use crate::cluster::{Cluster, eventually, one, run};
use crate::support::latsdb;

pub const FORMER: Option<&str> = Some("1-1");

/// The answer to `latsdb admin upgrade`, asked of a node.
pub fn upgrade(cluster: &Cluster, node: usize) -> String {
    cluster.node(node).post("/admin/upgrade")
}

pub fn level(cluster: &Cluster, node: usize) -> u64 {
    let status = cluster.node(node).get("/status");
    let (_, body) = status.split_once("\r\n\r\n").unwrap();
    let status: serde_json::Value = serde_json::from_str(body).unwrap();
    let metrics = cluster.node(node).get("/metrics");
    let level = status["level"].as_u64().unwrap();
    assert!(
        metrics.contains(&format!("latsdb_feature_level {level}\n")),
        "{metrics}"
    );
    level
}

/// What each node speaks, as one of them says.
fn spoken(cluster: &Cluster, node: usize) -> Vec<String> {
    let status = cluster.node(node).get("/status");
    let (_, body) = status.split_once("\r\n\r\n").unwrap();
    let status: serde_json::Value = serde_json::from_str(body).unwrap();
    let nodes = status["nodes"].as_array().unwrap();
    nodes
        .iter()
        .map(|node| node["levels"].as_str().unwrap().to_owned())
        .collect()
}

/// Starts a node anew that speaks this.
fn restart(cluster: &mut Cluster, node: usize, levels: Option<&'static str>) {
    cluster.kill(node);
    cluster.speaks(node, levels);
    cluster.run(node);
    cluster.wait_until_whole_from(node);
}

/// A node that does not come to serve.
struct Stranded(Child);

impl Drop for Stranded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a node that is refused by the others, and waits until its log says so.
fn is_refused(cluster: &Cluster, node: usize, levels: &str, reason: &str) {
    let log = cluster.dir.join("refused.log");
    let output = File::create(&log).unwrap();
    let mut command = latsdb(
        &["serve", "--mysql-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"],
        &cluster.data(node),
    );
    command.args(cluster.flags(node)).env("ENV_LEVELS", levels);
    command
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .stdin(Stdio::null());
    let _stranded = Stranded(command.spawn().unwrap());
    eventually("a refusal", || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.contains(reason).then_some(()).ok_or(said)
    });
}

/// No older node can be in it.
#[test]
fn a_new_cluster_begins_at_the_highest_level() {
    let cluster = Cluster::start("upgrade-new");
    let there = upgrade(&cluster, 2);
    assert!(there.contains("the highest that this version speaks"), "{there}");
    run(&mut cluster.client(2), "CREATE PROCEDURE test.p() SELECT 7");
    let known = "SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'test'";
    assert_eq!(one(&mut cluster.client(3), known), "p");
}

#[test]
fn the_level_rises_when_all_nodes_speak_it_and_not_before() {
    let mut cluster = Cluster::start_speaking("upgrade", FORMER);
    run(&mut cluster.client(1), "CREATE TABLE test.t (a INT PRIMARY KEY)");
    let alone = upgrade(&cluster, 1);
    assert!(alone.contains("the highest that this version speaks"), "{alone}");

    // One after the other; and one goes back.
    for (node, levels) in [(1, None), (2, None), (1, FORMER), (1, None)] {
        restart(&mut cluster, node, levels);
        run(
            &mut cluster.client(node),
            &format!("REPLACE INTO test.t VALUES ({node})"),
        );
    }
    for program in [
        "CREATE PROCEDURE test.p() SELECT 1",
        "CREATE FUNCTION test.f() RETURNS INT RETURN 1",
        "CREATE TRIGGER test.b BEFORE INSERT ON test.t FOR EACH ROW SET NEW.a = test.f() + NEW.a",
    ] {
        let early = cluster.client(1).query(program).unwrap();
        assert!(
            matches!(&early, Answer::Error { code: 1235, message, .. } if message.contains("before feature level")),
            "{early:?}"
        );
    }
    let against = upgrade(&cluster, 1);
    assert!(against.contains("stays at feature level 1"), "{against}");
    assert!(against.contains("node 3 speaks 1: install a version"), "{against}");
    assert!(!against.contains("node 2 speaks"), "{against}");
    // It has just started, and asks the others now and then.
    eventually("what all nodes speak", || match spoken(&cluster, 1) {
        all if all == ["1 to 4", "1 to 4", "1"] => Ok(()),
        all => Err(format!("{all:?}")),
    });
    // What it was counts while it is down.
    cluster.kill(3);
    let against = upgrade(&cluster, 2);
    assert!(against.contains("node 3 speaks 1: install a version"), "{against}");
    assert_eq!(level(&cluster, 1), 1);

    restart(&mut cluster, 3, None);
    cluster.kill(3);
    let leader = cluster.leader();
    let raised = upgrade(&cluster, 3 - leader);
    assert!(raised.starts_with("HTTP/1.1 200"), "{raised}");
    for node in [1, 2] {
        eventually("level 4", || match level(&cluster, node) {
            4 => Ok(()),
            level => Err(level.to_string()),
        });
    }

    // What the level has brought is there on all nodes.
    run(&mut cluster.client(1), "CREATE PROCEDURE test.p() SELECT 1");
    run(&mut cluster.client(2), "CALL test.p()");
    run(&mut cluster.client(2), "CREATE FUNCTION test.f() RETURNS INT RETURN 1");
    run(
        &mut cluster.client(1),
        "CREATE TRIGGER test.b BEFORE INSERT ON test.t FOR EACH ROW SET NEW.a = test.f() + NEW.a",
    );
    // Whoever leads, a row is the trigger's on both.
    for (node, given) in [(1, 100), (2, 200)] {
        run(
            &mut cluster.client(node),
            &format!("INSERT INTO test.t VALUES ({given})"),
        );
        let greatest = one(&mut cluster.client(node), "SELECT MAX(a) FROM test.t");
        assert_eq!(greatest, (given + 1).to_string());
    }

    // It was away, and comes with the former version: its directory has not heard of the new level, the others have.
    is_refused(
        &cluster,
        3,
        "1-1",
        "node 3 speaks feature level 1, and the cluster is at level 4: install a version of LatsDB there that speaks level 4",
    );
    restart(&mut cluster, 3, None);
    eventually("level 4", || match level(&cluster, 3) {
        4 => Ok(()),
        level => Err(level.to_string()),
    });
    assert_eq!(one(&mut cluster.client(3), "SELECT COUNT(*) FROM test.t"), "4");
    // Now it has heard.
    cluster.kill(3);
    cluster.speaks(3, FORMER);
    let refused = cluster.refused(3);
    let expected =
        "the cluster is at feature level 4, and this program speaks 1: install a version of LatsDB that speaks level 4";
    assert!(refused.contains(expected), "{refused}");
    let again = upgrade(&cluster, 1);
    assert!(again.contains("the highest that this version speaks"), "{again}");
}

/// What a node that is down speaks stands in the membership, once the level has a place for it; before, only who has met it can tell.
#[test]
fn a_node_that_nobody_has_met_stands_against_a_level() {
    let mut cluster = Cluster::start_speaking("upgrade-unmet", FORMER);
    cluster.kill(3);
    for node in [1, 2] {
        cluster.kill(node);
    }
    for node in [1, 2, 3] {
        cluster.speaks(node, None);
    }
    cluster.run_together(&[1, 2]);
    cluster.leader();
    let against = upgrade(&cluster, 1);
    let expected = "node 3 is down, and no node has met it since it was started itself";
    assert!(against.contains(expected), "{against}");
    cluster.run(3);
    cluster.wait_until_whole_from(3);
    let raised = upgrade(&cluster, 1);
    assert!(raised.starts_with("HTTP/1.1 200"), "{raised}");
}
