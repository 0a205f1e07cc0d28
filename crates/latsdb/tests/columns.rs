//! Columns that change over the rows as they are, beyond a restart.

use crate::cluster::{Cluster, one, run};
use crate::support::{Running, admin, directory, fixture, rows, verify};

const OVER_THE_ROWS: [&str; 6] = [
    "ALTER TABLE test.t ADD COLUMN c INT DEFAULT 7, ALGORITHM = INSTANT",
    "ALTER TABLE test.t ADD COLUMN d VARCHAR(10) NOT NULL DEFAULT 'new' FIRST, ALGORITHM = INSTANT",
    "ALTER TABLE test.t DROP COLUMN b, ALGORITHM = INSTANT",
    "ALTER TABLE test.t ADD COLUMN b DATETIME DEFAULT '2026-01-02 03:04:05' AFTER c, ALGORITHM = INSTANT",
    "ALTER TABLE test.t MODIFY d VARCHAR(20)",
    "ALTER TABLE test.t MODIFY e ENUM('x', 'y', 'z'), ALGORITHM = INSTANT",
];

fn insert(client: &mut mysql_client::Client, id: usize) {
    rows(client, &format!("INSERT INTO test.t (id, k) VALUES ({id}, {id} * 10)"));
}

fn ids(node: &Running) -> Vec<String> {
    node.rows("SELECT id FROM test.t FORCE INDEX (k) WHERE k >= 0 ORDER BY k")
}

/// Rows of all generations are the same after a replay of the log, from a checkpoint, and in a dump.
#[test]
fn rows_of_mixed_generations_outlive_the_node() {
    let data = directory("generations");
    let node = Running::start(&data);
    let mut client = node.client();
    rows(
        &mut client,
        "CREATE TABLE test.t (id INT PRIMARY KEY, b VARCHAR(10), k INT, e ENUM('x', 'y') DEFAULT 'y', KEY k (k))",
    );
    for (at, change) in OVER_THE_ROWS.iter().enumerate() {
        insert(&mut client, at);
        rows(&mut client, change);
        rows(
            &mut client,
            &format!("UPDATE test.t SET k = k + 1 WHERE id = {}", at / 2),
        );
    }
    insert(&mut client, OVER_THE_ROWS.len());
    let all = "SELECT * FROM test.t ORDER BY id";
    let seen = node.rows(all);
    assert_eq!(seen.len(), 7);
    assert_eq!(seen[1], "new 1 12 y 7 2026-01-02 03:04:05");
    assert_eq!(ids(&node), ["0", "1", "2", "3", "4", "5", "6"]);
    drop(client);
    // Once replayed, then from the checkpoint that a stop writes, then both.
    node.signal("KILL");
    drop(node);
    for start in ["replayed", "replayed and checkpointed", "from the checkpoint"] {
        let node = Running::start(&data);
        assert_eq!(node.rows(all), seen, "{start}");
        assert_eq!(ids(&node).len(), 7, "{start}");
        match start {
            "replayed" => node.signal("KILL"),
            _ => node.stop(),
        }
    }
    let (said, sound) = verify(&data);
    assert!(sound, "{said}");
    let (dump, _, _) = admin("dump", &data);
    assert!(dump.contains("'new'") && dump.contains("2026-01-02 03:04:05"), "{dump}");

    let node = Running::start(&data);
    let mut client = node.client();
    rows(&mut client, "ALTER TABLE test.t ADD COLUMN f INT NOT NULL DEFAULT -1");
    rows(&mut client, "ALTER TABLE test.t DROP COLUMN c");
    node.signal("KILL");
    drop(node);
    let node = Running::start(&data);
    assert_eq!(
        node.rows("SELECT * FROM test.t WHERE id IN (0, 6) ORDER BY id"),
        [
            "new 0 2 y 2026-01-02 03:04:05 -1",
            "NULL 6 60 NULL 2026-01-02 03:04:05 -1"
        ]
    );
    node.stop();
    assert!(verify(&data).1);
}

/// Tables of a version whose rows do not say of which generation they are: the first change of their columns copies them.
#[test]
fn tables_without_generations_are_altered() {
    let data = fixture("without-generations");
    let node = Running::start(&data);
    assert_eq!(
        node.rows("SELECT * FROM shop.item ORDER BY id"),
        ["1 one a 1.75", "2 NULL b NULL", "3 three NULL 3.00", "4 four a 4.25"]
    );
    assert_eq!(node.rows("SELECT * FROM shop.late ORDER BY a"), ["1 x 2", "2 NULL 3"]);
    let mut client = node.client();
    for change in [
        "ALTER TABLE shop.item MODIFY name VARCHAR(40), MODIFY kind ENUM('a', 'b', 'c')",
        "INSERT INTO shop.item VALUES (5, REPEAT('n', 40), 'c', 5)",
        "ALTER TABLE shop.item ADD COLUMN made INT DEFAULT 3 AFTER id",
        "ALTER TABLE shop.item ADD COLUMN more INT DEFAULT 4",
        "ALTER TABLE shop.log ADD COLUMN n INT NOT NULL DEFAULT 2 FIRST",
        "ALTER TABLE shop.late DROP COLUMN b",
    ] {
        rows(&mut client, change);
    }
    node.signal("KILL");
    drop(node);
    let node = Running::start(&data);
    assert_eq!(
        node.rows("SELECT id, made, LENGTH(name), kind, price, more FROM shop.item ORDER BY id"),
        [
            "1 3 3 a 1.75 4",
            "2 3 NULL b NULL 4",
            "3 3 5 NULL 3.00 4",
            "4 3 4 a 4.25 4",
            "5 3 40 c 5.00 4"
        ]
    );
    assert_eq!(node.rows("SELECT id FROM shop.item WHERE name = 'four'"), ["4"]);
    assert_eq!(
        node.rows("SELECT * FROM shop.log ORDER BY what"),
        ["2 2026-01-01 00:00:00 first", "2 NULL second"]
    );
    assert_eq!(node.rows("SELECT * FROM shop.late ORDER BY a"), ["1 2", "2 3"]);
    node.stop();
    let (said, sound) = verify(&data);
    assert!(sound, "{said}");
}

/// Nodes set ids aside, but not so many that a small column has none left.
#[test]
fn small_columns_give_ids_on_all_nodes() {
    let cluster = Cluster::start("small-ids");
    let mut clients = [1, 2, 3].map(|node| cluster.client(node));
    for (table, ty) in [("test.tiny", "TINYINT"), ("test.small", "SMALLINT UNSIGNED")] {
        run(
            &mut clients[0],
            &format!("CREATE TABLE {table} (id {ty} AUTO_INCREMENT PRIMARY KEY)"),
        );
        for row in 0..30 {
            run(&mut clients[row % 3], &format!("INSERT INTO {table} VALUES ()"));
        }
        assert_eq!(
            one(&mut clients[0], &format!("SELECT COUNT(*), MAX(id) < 200 FROM {table}")),
            "30 1"
        );
    }
}
