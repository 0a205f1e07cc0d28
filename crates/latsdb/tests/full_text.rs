//! Full-text indexes through crashes, restarts, and a cluster.

use crate::cluster::{Cluster, code, one, run};
use crate::support::{Running, directory, rows, verify, write_until_killed};
use crate::upgrade::upgrade;

const TABLE: &str =
    "CREATE TABLE test.t (id INT PRIMARY KEY, a TEXT, n INT, FULLTEXT (a), FULLTEXT pieces (a) WITH PARSER ngram)";
const WORDS: [&str; 8] = ["cat", "dog", "bird", "über", "cats", "dogma", "数据库", "the"];

fn search(word: &str) -> String {
    format!("SELECT COUNT(*) FROM test.t IGNORE INDEX (pieces) WHERE MATCH (a) AGAINST ('{word}' IN BOOLEAN MODE)")
}

/// Rows of random words come, change and go while the node is killed, over and over. What is left is found by its words and by no others.
#[test]
fn words_are_found_after_crashes() {
    let data = directory("full-text-crashes");
    for start in 0..4_u64 {
        let node = Running::start(&data);
        let mut client = node.client();
        match start {
            0 => drop(rows(&mut client, TABLE)),
            // From a checkpoint, and from the log.
            2 => {
                node.stop();
                continue;
            }
            _ => {}
        }
        for word in WORDS.iter().filter(|word| **word != "the") {
            let found = rows(&mut client, &search(word));
            let words = "CONCAT(' ', a, ' ')";
            let scanned = rows(
                &mut client,
                &format!("SELECT COUNT(*) FROM test.t WHERE {words} LIKE '% {word} %'"),
            );
            assert_eq!(found, scanned, "{word}, start {start}");
        }
        write_until_killed(&node, start, |state| {
            let word = |shift: u32| WORDS[(state >> shift) as usize % WORDS.len()];
            let (id, text) = ((state >> 40) % 50, format!("{} {} {}", word(3), word(13), word(23)));
            match state >> 62 {
                0 => format!("DELETE FROM test.t WHERE id = {id}"),
                1 => format!("UPDATE test.t SET n = n + 1 WHERE id = {id}"),
                _ => format!("REPLACE INTO test.t VALUES ({id}, '{text}', 0)"),
            }
        });
    }
    let (said, is_whole) = verify(&data);
    assert!(is_whole, "{said}");
}

/// Each node of a cluster finds the words of its own rows, and a change by a search on a follower is one for all.
#[test]
fn a_follower_finds_what_the_leader_wrote() {
    let cluster = Cluster::start("full-text-cluster");
    upgrade(&cluster, 1);
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let mut client = cluster.client(leader);
    run(&mut client, TABLE);
    run(
        &mut client,
        "INSERT INTO test.t VALUES (1, 'one cat', 0), (2, 'two cats', 0), (3, 'cat and cat', 0), (4, '数据库', 0)",
    );
    let mut other = cluster.client(follower);
    assert_eq!(one(&mut other, &search("cat")), "2");
    assert_eq!(one(&mut other, &search("cat*")), "3");
    let first = "SELECT id FROM test.t IGNORE INDEX (pieces) WHERE MATCH (a) AGAINST ('cat') LIMIT 1";
    assert_eq!(one(&mut other, first), "3");
    let pieces = "SELECT id FROM test.t USE INDEX (pieces) WHERE MATCH (a) AGAINST ('据库' IN BOOLEAN MODE)";
    assert_eq!(one(&mut other, pieces), "4");
    run(
        &mut other,
        "UPDATE test.t IGNORE INDEX (pieces) SET a = 'no more' WHERE MATCH (a) AGAINST ('cats')",
    );
    assert_eq!(one(&mut client, &search("cat*")), "2");
    run(&mut other, "ALTER TABLE test.t DROP INDEX a, ADD FULLTEXT later (a)");
    assert_eq!(one(&mut client, &search("more")), "1");
    for node in 1..=3 {
        assert_eq!(one(&mut cluster.client(node), &search("+cat -one")), "1", "node {node}");
    }
}

/// Nodes that know nothing of such indexes are not told of any.
#[test]
fn a_cluster_of_an_older_level_has_no_full_text_indexes() {
    let cluster = Cluster::start_speaking("full-text-level", Some("1-2"));
    let mut client = cluster.client(1);
    assert_eq!(code(&mut client, TABLE), 1235);
    run(&mut client, "CREATE TABLE test.t (id INT PRIMARY KEY, a TEXT)");
    assert_eq!(code(&mut client, "ALTER TABLE test.t ADD FULLTEXT (a)"), 1235);
}
