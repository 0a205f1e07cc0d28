//! Two nodes with rows and a witness, as processes.

use std::process::Command;

use mysql_client::Client;

use crate::cluster::{Cluster, eventually, one, run};
use crate::support::{admin, verify};
use crate::upgrade::{FORMER, level, upgrade};

const WITNESS: usize = 3;

/// Nodes 1 and 2 with rows, and node 3 without.
fn start(name: &str, more_flags: &[&'static str]) -> Cluster {
    let mut cluster = Cluster::down(name, None);
    cluster.more_flags = more_flags.to_vec();
    for node in [1, 2] {
        cluster.run(node);
    }
    voters(&cluster, 1, "[1,2]");
    cluster.witness = Some(WITNESS);
    cluster.run(WITNESS);
    cluster.is_founded();
    for node in 1..=3 {
        voters(&cluster, node, "[1,2,3]");
    }
    run(&mut cluster.client(1), "CREATE TABLE test.t (a INT PRIMARY KEY)");
    cluster
}

fn voters(cluster: &Cluster, node: usize, expected: &str) {
    eventually("the voters", || {
        let status = cluster.node(node).get("/status");
        let dense: String = status.split_whitespace().collect();
        let is_so = dense.contains(&format!("\"voters\":{expected}"));
        is_so.then_some(()).ok_or(status)
    });
}

fn status(cluster: &Cluster, node: usize) -> serde_json::Value {
    let status = cluster.node(node).get("/status");
    let (_, body) = status.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

fn insert(client: &mut Client, ids: std::ops::Range<u32>) {
    for id in ids {
        run(client, &format!("INSERT INTO test.t VALUES ({id})"));
    }
}

/// What a node answers when it has heard of everything.
fn has(cluster: &Cluster, node: usize, rows: u32) {
    let expected = format!("{rows} {}", i64::from(rows) * (i64::from(rows) - 1) / 2);
    eventually(&format!("{rows} rows on node {node}"), || {
        match one(
            &mut cluster.client(node),
            "SELECT COUNT(*), COALESCE(SUM(a), 0) FROM test.t",
        ) {
            found if found == expected => Ok(()),
            found => Err(found),
        }
    });
}

fn witness_has_all(cluster: &Cluster) {
    eventually("the witness to have the log", || {
        let applied = |node| status(cluster, node)["shards"][0]["applied_index"].as_u64();
        match (applied(cluster.leader()), applied(WITNESS)) {
            (leader, witness) if witness >= leader => Ok(()),
            both => Err(format!("{both:?}")),
        }
    });
}

#[test]
fn either_node_with_rows_may_be_killed() {
    let mut cluster = start("witness-either", &[]);
    let mut rows = 0;
    for _ in 0..2 {
        let lost = cluster.leader();
        let left = 3 - lost;
        insert(&mut cluster.client(left), rows..rows + 20);
        let mut client = cluster.client(left);
        cluster.kill(lost);
        assert_eq!(cluster.leader(), left);
        // Somebody leads: nothing fails from here on.
        insert(&mut client, rows + 20..rows + 40);
        rows += 40;
        cluster.run(lost);
        has(&cluster, lost, rows);
        // The one that follows may go as well.
        let follower = cluster.follower();
        let follower = if follower == WITNESS {
            3 - cluster.leader()
        } else {
            follower
        };
        let mut client = cluster.client(3 - follower);
        cluster.kill(follower);
        insert(&mut client, rows..rows + 20);
        rows += 20;
        cluster.run(follower);
        has(&cluster, follower, rows);
        has(&cluster, 3 - follower, rows);
        let again = eventually("the lead to move", || {
            let answer = cluster.node(1).post(&format!("/admin/move-leader?node={left}"));
            let leader = cluster.leader();
            if leader == left { Ok(leader) } else { Err(answer) }
        });
        assert_eq!(again, left);
    }
    // Without the witness the two make a majority, too.
    cluster.kill(WITNESS);
    insert(&mut cluster.client(1), rows..rows + 10);
    has(&cluster, 2, rows + 10);
}

/// The rows that the lost node has acknowledged are in the witness's log and nowhere else that runs.
#[test]
fn what_only_the_witness_has_comes_to_the_node_that_is_left() {
    let mut cluster = start("witness-longest", &[]);
    let mut rows = 0;
    for round in 0..4 {
        let lost = cluster.leader();
        let left = 3 - lost;
        has(&cluster, left, rows);
        let is_down = round % 2 == 0;
        if is_down {
            cluster.kill(left);
        } else {
            cluster.node(left).signal("STOP");
        }
        insert(&mut cluster.client(lost), rows..rows + 50);
        rows += 50;
        cluster.kill(lost);
        if is_down {
            cluster.run(left);
        } else {
            cluster.node(left).signal("CONT");
        }
        assert_eq!(cluster.leader(), left);
        has(&cluster, left, rows);
        insert(&mut cluster.client(left), rows..rows + 10);
        rows += 10;
        cluster.run(lost);
        has(&cluster, lost, rows);
    }
}

#[test]
fn a_witness_says_what_it_is_and_serves_nobody() {
    let cluster = start("witness-status", &[]);
    for node in 1..=3 {
        let with_rows = r#"["data","manager","sql"]"#;
        // It has heard of the others within a moment.
        eventually("the roles", || {
            let status = status(&cluster, node);
            let roles = [0, 1, 2].map(|at| status["nodes"][at]["roles"].to_string());
            let is_so = roles == [with_rows, with_rows, r#"["witness"]"#];
            is_so.then_some(()).ok_or_else(|| status.to_string())
        });
        let metrics = cluster.node(node).get("/metrics");
        let expected = format!("latsdb_witness {}\n", u8::from(node == WITNESS));
        assert!(metrics.contains(&expected), "{metrics}");
        assert!(cluster.node(node).get("/health").starts_with("HTTP/1.1 200"));
    }
    let own = status(&cluster, WITNESS);
    assert_eq!(own["nodes"][2]["mysql_addr"], "");
    assert!(!cluster.data(WITNESS).join("latsdb.sock").exists());
    let not_leading = cluster.node(WITNESS).get("/health/leader");
    assert!(!not_leading.starts_with("HTTP/1.1 200"), "{not_leading}");

    for node in 1..=3 {
        let refused = cluster.node(node).post(&format!("/admin/move-leader?node={WITNESS}"));
        let expected = "node 3 is a witness: it has no rows, and leads nobody";
        assert!(refused.contains(expected), "{refused}");
    }
    let leader = cluster.leader();
    let drained = cluster.node(leader).post("/admin/drain");
    assert!(drained.starts_with("HTTP/1.1 200"), "{drained}");
    assert_eq!(cluster.leader(), 3 - leader, "not the witness");

    let drawn = Command::new(env!("CARGO_BIN_EXE_latsdb"))
        .args(["backup", "--from", &cluster.node(WITNESS).http, "--to"])
        .arg(cluster.dir.join("backup"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&drawn.stderr).into_owned();
    assert!(
        !drawn.status.success() && said.contains("this node is a witness and has no rows"),
        "{said}"
    );

    let removed = cluster.node(leader).post(&format!("/admin/remove-node?node={leader}"));
    let warning = format!(
        "node {} alone has the rows now: while it is down nobody serves",
        3 - leader
    );
    assert!(removed.contains(&warning), "{removed}");
    let refused = cluster
        .node(WITNESS)
        .post(&format!("/admin/remove-node?node={}", 3 - leader));
    assert!(
        refused.contains("leads: first hand the lead to another one"),
        "{refused}"
    );
    insert(&mut cluster.client(3 - leader), 0..5);
    let removed = cluster.node(3 - leader).post("/admin/remove-node?node=3");
    assert!(
        removed.contains("node 3 is none of the cluster's any more"),
        "{removed}"
    );
    insert(&mut cluster.client(3 - leader), 5..10);
}

#[test]
fn a_witness_starts_from_a_shortened_log_and_its_directory_is_its_own() {
    let mut cluster = start("witness-restart", &["--log-keep", "0"]);
    insert(&mut cluster.client(1), 0..100);
    witness_has_all(&cluster);
    // Each writes a checkpoint when it stops; the witness last, which then knows that nobody needs the log any more.
    let mut log_bytes = Vec::new();
    for node in [1, 2, WITNESS] {
        log_bytes.push(status(&cluster, WITNESS)["shards"][0]["log_bytes"].as_u64().unwrap());
        stop(&mut cluster, node);
        if node == WITNESS {
            let (said, is_sound) = verify(&cluster.data(WITNESS));
            assert!(is_sound && said.contains("a witness, which has no rows"), "{said}");
        }
        cluster.run(node);
        voters(&cluster, node, "[1,2,3]");
    }
    let (before, after) = (
        log_bytes[2],
        status(&cluster, WITNESS)["shards"][0]["log_bytes"].as_u64().unwrap(),
    );
    assert!(after < before / 4, "{before} bytes, and then {after}");
    let lost = cluster.leader();
    cluster.kill(lost);
    assert_eq!(cluster.leader(), 3 - lost);
    insert(&mut cluster.client(3 - lost), 100..120);
    cluster.run(lost);
    has(&cluster, lost, 120);

    cluster.kill(WITNESS);
    cluster.witness = None;
    let refused = cluster.refused(WITNESS);
    let expected = "the directory is a witness's, which has no rows: start it with --witness, or give the data node an empty directory";
    assert!(refused.contains(expected), "{refused}");
    let (_, dumped, is_done) = admin("dump", &cluster.data(WITNESS));
    assert!(!is_done && dumped.contains("the directory is a witness's"), "{dumped}");
    cluster.witness = Some(WITNESS);
    cluster.run(WITNESS);
    let follower = 3 - cluster.leader();
    cluster.kill(follower);
    cluster.witness = Some(follower);
    let refused = cluster.refused(follower);
    let expected = "the directory is a data node's: start it without --witness, or give the witness an empty directory";
    assert!(refused.contains(expected), "{refused}");
    cluster.witness = Some(WITNESS);
    cluster.run(follower);
    has(&cluster, follower, 120);
}

fn stop(cluster: &mut Cluster, node: usize) {
    cluster.node(node).signal("TERM");
    cluster.wait_for_end(node);
}

#[test]
fn a_witness_is_refused_where_it_does_not_belong() {
    let mut cluster = Cluster::down("witness-refused", FORMER);
    cluster.speaks(WITNESS, None);
    cluster.witness = Some(1);
    std::fs::create_dir_all(&*cluster.dir).unwrap();
    let refused = cluster.refused(1);
    let expected = "--witness needs --join: a witness has no rows, so that it cannot found a cluster";
    assert!(refused.contains(expected), "{refused}");
    assert!(!cluster.data(1).exists());

    cluster.witness = Some(WITNESS);
    for node in [1, 2] {
        cluster.run(node);
    }
    voters(&cluster, 1, "[1,2]");
    let refused = cluster.refused(WITNESS);
    let expected =
        "a witness needs feature level 2, and the cluster is at level 1: raise it first (latsdb admin upgrade";
    assert!(refused.contains(expected), "{refused}");
    // The same directory comes in once the level is there.
    for node in [1, 2] {
        cluster.kill(node);
        cluster.speaks(node, None);
    }
    cluster.is_founded();
    cluster.run_together(&[1, 2]);
    cluster.leader();
    let raised = upgrade(&cluster, 2);
    assert!(raised.starts_with("HTTP/1.1 200"), "{raised}");
    cluster.run(WITNESS);
    voters(&cluster, 1, "[1,2,3]");
}

/// One node after the other gets a version that speaks more, the witness among them; it goes back once, too.
#[test]
fn a_cluster_with_a_witness_is_upgraded_node_by_node() {
    const NEXT: Option<&str> = Some("1-5");
    let mut cluster = start("witness-upgrade", &[]);
    let mut rows = 0;
    for (node, levels) in [(WITNESS, NEXT), (1, NEXT), (WITNESS, None), (2, NEXT)] {
        cluster.kill(node);
        cluster.speaks(node, levels);
        // The other two go on, whichever they are.
        let serves = if node == 1 { 2 } else { 1 };
        insert(&mut cluster.client(serves), rows..rows + 20);
        rows += 20;
        cluster.run(node);
        voters(&cluster, node, "[1,2,3]");
        has(&cluster, 1, rows);
        has(&cluster, 2, rows);
        witness_has_all(&cluster);
    }
    // It votes, so it counts.
    let against = upgrade(&cluster, 1);
    assert!(against.contains("stays at feature level 4"), "{against}");
    assert!(against.contains("node 3 speaks 1 to 4: install a version"), "{against}");
    cluster.kill(WITNESS);
    let against = upgrade(&cluster, 2);
    assert!(against.contains("node 3 speaks 1 to 4"), "{against}");
    cluster.speaks(WITNESS, NEXT);
    cluster.run(WITNESS);
    voters(&cluster, WITNESS, "[1,2,3]");
    let raised = eventually("the level to rise", || match upgrade(&cluster, 1) {
        raised if raised.starts_with("HTTP/1.1 200") => Ok(raised),
        // The others hear now and then what a node speaks.
        against => Err(against),
    });
    println!("{raised}");
    for node in 1..=3 {
        eventually("level 5", || match level(&cluster, node) {
            5 => Ok(()),
            level => Err(level.to_string()),
        });
    }
    // At the new level it is the majority's second voice, and brings who was away up to date.
    let lost = cluster.leader();
    let left = 3 - lost;
    cluster.kill(left);
    insert(&mut cluster.client(lost), rows..rows + 20);
    rows += 20;
    witness_has_all(&cluster);
    cluster.kill(lost);
    cluster.run(left);
    has(&cluster, left, rows);
    cluster.run(lost);
    has(&cluster, lost, rows);
    // The former version's program does not open its directory any more.
    cluster.kill(WITNESS);
    cluster.speaks(WITNESS, None);
    let refused = cluster.refused(WITNESS);
    let expected = "the cluster is at feature level 5, and this program speaks 1 to 4";
    assert!(refused.contains(expected), "{refused}");
}
