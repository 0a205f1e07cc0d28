//! An index must find what a comparison lets through: for every type of column, every kind of constant and every operator, rows
//! found by a primary key, a secondary key (ascending, descending, of a prefix) and by a hash join are those that a scan finds.

use crate::common::{Client, Database};

/// A type of column, the values in it, and the prefix that an index of it needs or may have.
struct Column {
    ty: &'static str,
    values: &'static [&'static str],
    prefix: &'static str,
}

const fn column(ty: &'static str, values: &'static [&'static str]) -> Column {
    Column { ty, values, prefix: "" }
}

const fn with_prefix(ty: &'static str, values: &'static [&'static str], prefix: &'static str) -> Column {
    Column { ty, values, prefix }
}

const WORDS: &[&str] = &[
    "''",
    "'0'",
    "'1'",
    "'01'",
    "'1.0'",
    "'1x'",
    "'-1'",
    "'a'",
    "'A'",
    "'b '",
    "'ä'",
    "'ss'",
    "'2024-01-31'",
    "'20240131'",
    "'10:11:12'",
    "'x y'",
];

const COLUMNS: &[Column] = &[
    column("TINYINT", &["-128", "-1", "0", "1", "2", "127"]),
    column("TINYINT UNSIGNED", &["0", "1", "2", "254", "255"]),
    column(
        "INT",
        &[
            "-2147483648",
            "-1",
            "0",
            "1",
            "2",
            "2024",
            "101112",
            "20240131",
            "2147483647",
        ],
    ),
    column("INT UNSIGNED", &["0", "1", "2", "20240131", "4294967295"]),
    column(
        "BIGINT",
        &[
            "-9223372036854775808",
            "-1",
            "0",
            "1",
            "9007199254740992",
            "9007199254740993",
            "20240131101112",
            "9223372036854775807",
        ],
    ),
    column(
        "BIGINT UNSIGNED",
        &[
            "0",
            "1",
            "9007199254740993",
            "9223372036854775808",
            "18446744073709551615",
        ],
    ),
    column(
        "DECIMAL(10,2)",
        &["-1.50", "-1", "0", "0.01", "1", "1.5", "2", "20240131", "99999999.99"],
    ),
    column(
        "DECIMAL(65,30)",
        &[
            "-1.5",
            "0",
            "0.000000000000000000000000000001",
            "1",
            "1.5",
            "99999999999999999999999999999999999",
        ],
    ),
    column("FLOAT", &["-1.5", "0", "0.1", "1", "1.5", "16777216", "20240131"]),
    column("DOUBLE", &["-1.5", "0", "0.1", "1", "1.5", "9007199254740993", "1e300"]),
    column("BIT(1)", &["0", "1"]),
    column("BIT(40)", &["0", "1", "49", "1099511627775"]),
    column("YEAR", &["0", "1901", "1970", "2000", "2001", "2024", "2155"]),
    column(
        "DATE",
        &[
            "'0000-00-00'",
            "'1000-01-01'",
            "'2000-00-00'",
            "'2001-01-01'",
            "'2024-01-31'",
            "'9999-12-31'",
        ],
    ),
    column(
        "DATETIME",
        &[
            "'0000-00-00'",
            "'2000-00-00'",
            "'2024-01-31'",
            "'2024-01-31 10:11:12'",
            "'9999-12-31 23:59:59'",
        ],
    ),
    column(
        "DATETIME(3)",
        &[
            "'0000-00-00'",
            "'2024-01-31'",
            "'2024-01-31 10:11:12'",
            "'2024-01-31 10:11:12.500'",
            "'2024-01-31 10:11:12.501'",
        ],
    ),
    column(
        "TIMESTAMP",
        &[
            "'0000-00-00'",
            "'1970-01-02 00:00:01'",
            "'2024-01-31'",
            "'2024-01-31 10:11:12'",
            "'2038-01-19 03:14:07'",
        ],
    ),
    column(
        "TIMESTAMP(6)",
        &[
            "'0000-00-00'",
            "'2024-01-31'",
            "'2024-01-31 10:11:12.5'",
            "'2024-01-31 10:11:12.500001'",
        ],
    ),
    column(
        "TIME",
        &[
            "'-838:59:59'",
            "'-10:11:12'",
            "'00:00:00'",
            "'00:00:01'",
            "'10:11:12'",
            "'838:59:59'",
        ],
    ),
    column(
        "TIME(2)",
        &[
            "'-10:11:12.50'",
            "'-10:11:12.49'",
            "'00:00:00'",
            "'10:11:12'",
            "'10:11:12.50'",
        ],
    ),
    with_prefix("CHAR(20)", WORDS, "(3)"),
    with_prefix("VARCHAR(20)", WORDS, "(1)"),
    with_prefix("VARCHAR(20) COLLATE utf8mb4_general_ci", WORDS, "(2)"),
    with_prefix("VARCHAR(20) COLLATE utf8mb4_unicode_ci", WORDS, "(2)"),
    with_prefix("VARCHAR(20) COLLATE utf8mb4_0900_as_cs", WORDS, "(2)"),
    with_prefix("VARCHAR(20) COLLATE utf8mb4_bin", WORDS, "(3)"),
    with_prefix("VARCHAR(20) COLLATE utf8mb4_0900_bin", WORDS, "(3)"),
    with_prefix("VARCHAR(20) CHARACTER SET latin1", WORDS, "(3)"),
    with_prefix(
        "VARCHAR(20) CHARACTER SET ascii",
        &["''", "'0'", "'1'", "'1x'", "'a'", "'A'"],
        "(3)",
    ),
    with_prefix(
        "BINARY(4)",
        &["''", "'0'", "'1'", "'01'", "'a'", "'A'", "0x00", "0x3100"],
        "(2)",
    ),
    with_prefix("VARBINARY(20)", WORDS, "(2)"),
    with_prefix("TEXT", WORDS, "(3)"),
    with_prefix("BLOB", WORDS, "(3)"),
    column("ENUM('a','b','1','0','2')", &["'a'", "'b'", "'1'", "'0'", "'2'"]),
    column("SET('a','b','1')", &["''", "'a'", "'b'", "'a,b'", "'1'", "'a,1'"]),
];

/// One or more of every kind of constant.
const CONSTANTS: &[&str] = &[
    "NULL",
    "0",
    "1",
    "-1",
    "49",
    "128",
    "2024",
    "101112",
    "20240131",
    "20240131101112",
    "9007199254740993",
    "18446744073709551615",
    "99999999999999999999999",
    "1.0",
    "1.5",
    "-1.5",
    "-1.4999",
    "0.01",
    "10.000000000000000000000000000000001",
    "1e0",
    "0.1e0",
    "1.5e0",
    "9007199254740992e0",
    "1e300",
    "-1e300",
    "TRUE",
    "''",
    "'0'",
    "'1'",
    "'01'",
    "' 1'",
    "'1 '",
    "'1x'",
    "'1.0'",
    "'1e0'",
    "'1.5'",
    "'-1'",
    "'a'",
    "'A '",
    "'b'",
    "'ä'",
    "'a,b'",
    "'9007199254740993'",
    "'18446744073709551615'",
    "_binary''",
    "_binary'1'",
    "_binary'1x'",
    "_binary'1.5'",
    "_binary'a'",
    "_binary'A'",
    "_binary'2024-01-31'",
    "_binary'10:11:12'",
    "_latin1'a'",
    "_utf8mb4'a' COLLATE utf8mb4_bin",
    "_utf8mb4'A' COLLATE utf8mb4_general_ci",
    "_utf8mb4'1' COLLATE utf8mb4_bin",
    "CAST('1' AS BINARY)",
    "CAST('1' AS BINARY(4))",
    "CAST('a' AS CHAR)",
    "CAST(1 AS UNSIGNED)",
    "CAST(1 AS FLOAT)",
    "CAST(0.1 AS FLOAT)",
    "CAST(2024 AS YEAR)",
    "CAST('1' AS JSON)",
    "CAST('\"a\"' AS JSON)",
    "x'31'",
    "x'61'",
    "0x01",
    "b'1'",
    "0x31 + 0",
    "'2024-01-31'",
    "'2024-1-31'",
    "'20240131'",
    "'2024-01-31 10:11:12'",
    "'2024-01-31 10:11:12.5'",
    "'2024-01-31T10:11:12'",
    "'0000-00-00'",
    "'10:11:12'",
    "'10:11:12.5'",
    "'-10:11:12.495'",
    "DATE'2024-01-31'",
    "TIMESTAMP'2024-01-31 00:00:00'",
    "TIMESTAMP'2024-01-31 10:11:12'",
    "TIMESTAMP'2024-01-31 10:11:12.5'",
    "TIMESTAMP'2024-01-31 10:11:12.5000001'",
    "TIME'10:11:12'",
    "TIME'-10:11:12.495'",
];

/// Conditions with `c` for the column and `?` for the constant.
const CONDITIONS: &[&str] = &[
    "c = ?",
    "? = c",
    "c <=> ?",
    "c < ?",
    "c <= ?",
    "c > ?",
    "? < c",
    "c >= ?",
    "c IN (?, NULL)",
    "c IN (?, 2, 'b')",
    "c BETWEEN ? AND 100",
    "c BETWEEN 0 AND ?",
    "c BETWEEN ? AND ?",
    "c LIKE ?",
    "(c = ? OR c > 1)",
    "(c = ? OR c = 'b')",
];

/// `t` has no index, the others find rows in different ways.
const WAYS: &[(&str, &str)] = &[
    ("p", "PRIMARY KEY (c @)"),
    ("k", "KEY k (c @)"),
    ("d", "KEY k (c @ DESC)"),
    ("u", "UNIQUE KEY k (c @)"),
    ("f", "KEY k (c $)"),
];

/// The answer, or the number of the error that it ends with.
fn answer(client: &mut Client, sql: &str) -> String {
    match client.try_run(sql) {
        Ok(lines) => lines[1..].join(";"),
        Err(error) => format!("error {}", error.code()),
    }
}

fn make_tables(client: &mut Client, column: &Column) {
    let whole = match column.ty {
        "TEXT" | "BLOB" => "(20)",
        _ => "",
    };
    client.run("DROP TABLE IF EXISTS t, p, k, d, u, f");
    client.run(&format!("CREATE TABLE t (c {} NULL, n INT)", column.ty));
    for (at, value) in column.values.iter().enumerate() {
        client.run(&format!("INSERT INTO t VALUES ({value}, {at})"));
    }
    for (name, key) in WAYS {
        let null = if *name == "p" { "NOT NULL" } else { "NULL" };
        let key = key.replace('@', whole).replace('$', column.prefix);
        client.run(&format!("CREATE TABLE {name} (c {} {null}, n INT, {key})", column.ty));
        client.run(&format!("INSERT IGNORE INTO {name} SELECT * FROM t"));
        if *name != "p" {
            client.run(&format!("INSERT INTO {name} (c) VALUES (NULL), (NULL)"));
        }
    }
    client.run("INSERT INTO t (c) VALUES (NULL), (NULL)");
    // A scan must not look cheaper than the index.
    for (name, _) in WAYS {
        client.run(&format!("ANALYZE TABLE {name}"));
    }
}

/// What differs between an index and a scan of the same table.
fn difference(client: &mut Client, column: &Column, table: &str, condition: &str) -> Option<String> {
    let index = if table == "p" { "PRIMARY" } else { "k" };
    let mut ask = |hint: &str| {
        let sql = format!("SELECT COUNT(*), SUM(n), SUM(n * n) FROM {table} {hint} INDEX ({index}) WHERE {condition}");
        answer(client, &sql)
    };
    let (by_index, by_scan) = (ask("FORCE"), ask("IGNORE"));
    let ty = column.ty;
    (by_index != by_scan).then(|| format!("{ty}: {table} WHERE {condition}: index {by_index:?}, scan {by_scan:?}"))
}

/// All pairs with `FULL=1`, which takes minutes; an even sample otherwise.
fn stride() -> usize {
    if std::env::var_os("FULL").is_some() { 1 } else { 41 }
}

#[test]
fn every_constant_beside_every_column() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("SET sql_mode = ''");
    let mut found = Vec::new();
    let mut number = 0;
    for column in COLUMNS {
        make_tables(&mut client, column);
        for constant in CONSTANTS {
            for condition in CONDITIONS {
                for (table, _) in WAYS {
                    number += 1;
                    if number % stride() == 0 {
                        let condition = condition.replace('?', constant);
                        found.extend(difference(&mut client, column, table, &condition));
                    }
                }
            }
        }
    }
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}
