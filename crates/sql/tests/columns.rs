//! Columns that change over the rows as they are, beside those who read and write them.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{Client, Database};

fn table(database: &mut Database) -> Client {
    let mut client = database.session();
    client.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10), KEY (a))");
    client.run("INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL)");
    client
}

/// As in MySQL: a snapshot from before the rows had the columns does not read them, one from before a type grew does.
#[test]
fn a_snapshot_older_than_the_columns_is_told() {
    for (change, is_told) in [
        ("ADD COLUMN c INT DEFAULT 7", true),
        ("DROP COLUMN b", true),
        ("ADD COLUMN c INT FIRST", true),
        ("MODIFY b VARCHAR(20)", false),
        ("RENAME COLUMN b TO c", false),
        ("ALTER COLUMN a SET DEFAULT 3", false),
    ] {
        let mut database = Database::open();
        let mut writer = table(&mut database);
        let mut reader = database.session();
        reader.run("START TRANSACTION WITH CONSISTENT SNAPSHOT");
        writer.run(&format!("ALTER TABLE t {change}, ALGORITHM = INPLACE"));
        writer.run("INSERT INTO t (id) VALUES (4)");
        for query in [
            "SELECT COUNT(*) FROM t",
            "SELECT id FROM t WHERE a >= 0",
            "SELECT id FROM t WHERE id = 1",
        ] {
            match reader.try_run(query) {
                Err(error) => assert!(is_told && error.code() == 1412, "{change}: {query}: {error}"),
                Ok(_) => assert!(!is_told, "{change}: {query}"),
            }
        }
        reader.run("COMMIT");
        assert_eq!(reader.run("SELECT COUNT(*) FROM t")[1], "4", "{change}");
    }
}

/// Nobody reads a row by columns that are not its own, whenever the columns change.
#[test]
fn readers_and_writers_beside_changes_of_columns() {
    const CHANGES: usize = 40;
    let mut database = Database::open();
    let mut owner = table(&mut database);
    let done = AtomicBool::new(false);
    let mut readers: Vec<Client> = (0..2).map(|_| database.session()).collect();
    let mut writer = database.session();
    std::thread::scope(|scope| {
        for (at, reader) in readers.iter_mut().enumerate() {
            let done = &done;
            scope.spawn(move || {
                let queries = [
                    "SELECT * FROM t WHERE id = 2",
                    "SELECT t.* FROM t JOIN t AS u ON u.id = t.id WHERE u.a BETWEEN 20 AND 29",
                    "SELECT * FROM t FORCE INDEX (a) WHERE a BETWEEN 20 AND 29 LIMIT 1",
                ];
                let mut round = at;
                while !done.load(Ordering::Relaxed) {
                    round += 1;
                    let query = queries[round % queries.len()];
                    let lines = match reader.try_run_waiting(query) {
                        Ok(lines) => lines,
                        Err(error) => panic!("{query}: {error}"),
                    };
                    assert_eq!(lines.len(), 2, "{query}: {lines:?}");
                    let cells = lines[0].split(" | ").zip(lines[1].split(" | "));
                    for (name, cell) in cells {
                        let right = match name {
                            "id" => cell == "2",
                            "a" => cell.starts_with('2') && cell.len() == 2,
                            "b" => cell == "two",
                            added => cell == format!("value of {added}") || cell == "new",
                        };
                        assert!(right, "{query}: {lines:?}");
                    }
                }
            });
        }
        let (done, writer) = (&done, &mut writer);
        scope.spawn(move || {
            let mut round = 0;
            while !done.load(Ordering::Relaxed) {
                round += 1;
                let update = format!("UPDATE t SET a = {} WHERE id = 2", 20 + round % 10);
                writer.try_run_waiting(&update).unwrap();
                writer
                    .try_run_waiting("UPDATE t JOIN t AS u ON u.id = t.id SET t.b = 'two' WHERE u.b = 'two'")
                    .unwrap();
            }
        });
        for at in 0..CHANGES {
            let place = ["FIRST", "AFTER id", ""][at % 3];
            let add = format!("ALTER TABLE t ADD COLUMN c{at} VARCHAR(20) DEFAULT 'value of c{at}' {place}");
            owner.try_run_waiting(&add).unwrap();
            if at % 2 == 0 {
                owner
                    .try_run_waiting(&format!("UPDATE t SET c{at} = 'new' WHERE id = 2"))
                    .unwrap();
            }
            if at >= 3 {
                owner
                    .try_run_waiting(&format!("ALTER TABLE t DROP COLUMN c{}", at - 3))
                    .unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// The byte in a row tells 255 generations; the change after them copies the rows, and begins anew.
#[test]
fn more_changes_than_a_row_can_tell() {
    let mut database = Database::open();
    let mut client = table(&mut database);
    for at in 0..260 {
        client.run(&format!("ALTER TABLE t ADD COLUMN c INT DEFAULT {at} FIRST"));
        client.run(&format!("UPDATE t SET a = {at} WHERE id = {}", at % 3 + 1));
        assert_eq!(client.run("SELECT c FROM t")[1..], vec![at.to_string(); 3]);
        client.run("ALTER TABLE t DROP COLUMN c");
    }
    assert_eq!(
        client.run("SELECT * FROM t")[1..],
        ["1 | 258 | one", "2 | 259 | two", "3 | 257 | NULL"]
    );
}
