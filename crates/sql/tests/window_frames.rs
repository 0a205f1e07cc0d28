//! Frames that move take time in proportion to their rows.

use std::time::Duration;

use crate::common::{Client, Database};
use crate::support::long_calls::processor_time;

const ROWS: u32 = 4_000;
const FACTOR: u32 = 8;
/// Between linear (8) and quadratic (64).
const MOST_RATIO: u32 = 26;

/// Frames that begin with the partition, that slide, and that end with it.
const WINDOWS: &[&str] = &[
    "SUM(n) OVER (ORDER BY id)",
    "AVG(f) OVER (ORDER BY id)",
    "MAX(n) OVER (ORDER BY id)",
    "COUNT(*) OVER (ORDER BY id ROWS 3000 PRECEDING)",
    "SUM(n) OVER (ORDER BY id ROWS BETWEEN 1000 PRECEDING AND 1000 FOLLOWING)",
    "SUM(n) OVER (ORDER BY id RANGE BETWEEN 1000 PRECEDING AND 1000 FOLLOWING)",
    "AVG(n) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "FIRST_VALUE(n) OVER (ORDER BY id ROWS 3000 PRECEDING)",
];

/// The least of some runs is the one that nothing disturbed.
fn time(client: &mut Client, window: &str, rows: u32) -> Duration {
    let sql = format!("SELECT MAX(x) FROM (SELECT {window} AS x FROM t WHERE id <= {rows}) y");
    let run = |client: &mut Client| {
        let begun = processor_time();
        client.run(&sql);
        processor_time() - begun
    };
    (0..3).map(|_| run(client)).min().unwrap()
}

#[test]
fn moving_frames_take_time_in_proportion_to_their_rows() {
    let mut database = Database::open();
    let mut client = database.session();
    client.run("SET cte_max_recursion_depth = 1000000");
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT, f DOUBLE)");
    client.run(&format!(
        "INSERT INTO t WITH RECURSIVE r AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM r WHERE id < {}) \
         SELECT id, id * 7919 % 1000, id / 7 FROM r",
        ROWS * FACTOR
    ));
    for window in WINDOWS {
        let (short, long) = (
            time(&mut client, window, ROWS),
            time(&mut client, window, ROWS * FACTOR),
        );
        assert!(long < short * MOST_RATIO, "{window}: {short:?}, then {long:?}");
    }
}
