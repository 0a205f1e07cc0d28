//! `latsdb admin`: directories that are whole, damaged, or in use.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{DataDir, Running, admin, directory, fixture, rows, verify};

const SCHEMA: &[&str] = &[
    "CREATE DATABASE shop",
    "CREATE TABLE shop.parent (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(50) UNIQUE, made TIMESTAMP DEFAULT '2026-01-02 03:04:05')",
    "CREATE TABLE shop.child (id INT, parent INT, note BLOB, price DECIMAL(10,2), twice INT AS (id * 2), \
     CONSTRAINT has_parent FOREIGN KEY (parent) REFERENCES shop.parent (id))",
    "CREATE VIEW shop.z AS SELECT name FROM shop.parent",
    "CREATE VIEW shop.a AS SELECT * FROM shop.z",
    "INSERT INTO shop.parent (name) VALUES ('one'), ('it''s \\\\ two'), (NULL)",
    "CREATE USER buyer@localhost IDENTIFIED BY 'one & two' PASSWORD EXPIRE INTERVAL 90 DAY",
    "CREATE USER 'old'@'10.%' IDENTIFIED WITH mysql_native_password BY 'three' ACCOUNT LOCK",
    "CREATE ROLE seller",
    "GRANT INSERT, UPDATE (name) ON shop.parent TO seller",
    "GRANT SELECT ON shop.* TO buyer@localhost WITH GRANT OPTION",
    "GRANT PROCESS, CONNECTION_ADMIN ON *.* TO 'old'@'10.%'",
    "GRANT seller TO buyer@localhost",
    "SET DEFAULT ROLE seller TO buyer@localhost",
    "INSERT INTO shop.child (id, parent, note, price) VALUES (1, 1, 0x00FF27, 1.50), (2, NULL, '', -7)",
];

/// A node's directory after it was stopped (checkpoint alone) or killed (log alone).
fn filled(name: &str, stops: bool) -> DataDir {
    let data = directory(name);
    let mut node = Running::start(&data);
    let mut client = node.client();
    for statement in SCHEMA {
        rows(&mut client, statement);
    }
    if stops {
        node.stop();
    } else {
        node.child.kill().unwrap();
        node.child.wait().unwrap();
    }
    data
}

#[test]
fn a_whole_directory_is_in_order_and_its_dump_loads() {
    for stops in [true, false] {
        let data = filled("whole", stops);
        let before = contents(&data);
        let (said, is_whole) = verify(&data);
        assert!(is_whole && said.contains("is in order: 2 tables, 5 rows"), "{said}");
        let (dump, errors, succeeded) = admin("dump", &data);
        assert!(succeeded && errors.is_empty(), "{errors}");
        assert_eq!(contents(&data), before, "nothing is changed");
        // Into another node, statement by statement.
        let other = directory("whole-copy");
        let copy = Running::start(&other);
        let mut client = copy.client();
        let text: Vec<&str> = dump.lines().filter(|line| !line.starts_with("--")).collect();
        for statement in text
            .join("\n")
            .split(";\n")
            .map(str::trim)
            .filter(|text| !text.is_empty())
        {
            rows(&mut client, statement.trim_end_matches(';'));
        }
        let original = Running::start(&data);
        for query in [
            "SELECT * FROM shop.parent ORDER BY id",
            "SELECT id, parent, HEX(note), price, twice FROM shop.child ORDER BY id",
            "SELECT * FROM shop.a ORDER BY 1",
            "SHOW CREATE TABLE shop.child",
            "SHOW CREATE TABLE shop.parent",
            "SHOW CREATE USER buyer@localhost",
            "SHOW CREATE USER 'old'@'10.%'",
            "SHOW GRANTS FOR buyer@localhost",
            "SHOW GRANTS FOR 'old'@'10.%'",
            "SHOW GRANTS FOR seller",
            "SHOW GRANTS FOR root@localhost",
            "SELECT User, HEX(authentication_string) FROM mysql.user ORDER BY User",
        ] {
            assert_eq!(copy.rows(query), original.rows(query), "{query}");
        }
    }
}

#[test]
fn a_directory_of_the_older_format_is_read_as_it_is() {
    let data = fixture("orphaned-table");
    let (said, is_whole) = verify(&data);
    assert!(is_whole, "{said}");
    let (dump, _, _) = admin("dump", &data);
    assert!(dump.contains("'one'") && dump.contains("CREATE TABLE `t`"), "{dump}");
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let data = directory("in-use");
    let node = Running::start(&data);
    for command in ["verify", "dump"] {
        let (said, errors, succeeded) = admin(command, &data);
        assert!(
            !succeeded && (said + &errors).contains("is in use by process"),
            "{command}"
        );
    }
    node.stop();
}

/// Wherever a bit is flipped: no panic; `verify` names what is wrong; `dump` gives the tables whose bytes are sound.
#[test]
fn flipped_bits_are_named_and_passed_over() {
    for stops in [true, false] {
        let data = filled("flipped", stops);
        let folder = data.join(if stops { "checkpoint" } else { "log" });
        let suffix = if stops { ".checkpoint" } else { ".log" };
        let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let file = names
            .into_iter()
            .find(|path| path.to_str().unwrap().ends_with(suffix))
            .unwrap();
        let whole = fs::read(&file).unwrap();
        let used = whole.iter().rposition(|&byte| byte != 0).unwrap() + 1;
        let mut complete = 0;
        for step in 0..12 {
            let at = step * used / 12 + step % 7;
            let mut damaged = whole.clone();
            damaged[at.min(used - 1)] ^= 1 << (step % 8);
            fs::write(&file, &damaged).unwrap();
            let (said, is_whole) = verify(&data);
            let (dump, errors, _) = admin("dump", &data);
            assert!(!is_whole || dump.contains("'one'"), "bit in byte {at}: {said}");
            assert!(dump.contains("SET NAMES"), "byte {at}: {errors}");
            complete += usize::from(dump.contains("'one'") && dump.contains("0x00FF27"));
        }
        // So small a file is a few blocks: most flips cost one of the rows asked for.
        assert!(
            complete >= 2,
            "only {complete} of 12 dumps had all rows (stopped: {stops})"
        );
        fs::write(&file, &whole).unwrap();
    }
}

/// Every file with its bytes, but for the lock, which names its last owner.
fn contents(data: &Path) -> Vec<(PathBuf, u64, u32)> {
    let mut found = Vec::new();
    for folder in ["log", "checkpoint"] {
        for entry in fs::read_dir(data.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            let sum = bytes
                .iter()
                .fold(0_u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            found.push((path, bytes.len() as u64, sum));
        }
    }
    found.sort();
    found
}
