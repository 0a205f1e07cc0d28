//! What a prepared statement costs inside the SQL node: from its parameters to the rows in the sink, commit included, on a
//! simulated disk.
//!
//! `cargo bench -p sql --bench statements` prints nanoseconds. Instructions do not depend on what else the machine does:
//! `valgrind --tool=callgrind --toggle-collect='statements::measured*' BINARY NAME COUNT` counts those of one statement alone.

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::Instant;

use common::{Client, Database};
use sql::host::BlockingHost;
use sql::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use sql_api::session::Fetch;
use types::{RowLayout, SqlResult, Value};

const ROWS: i64 = 10_000;

/// Names, statements, and how often each runs where nobody says it.
const STATEMENTS: &[(&str, &str, u64)] = &[
    ("point_select", "SELECT c FROM sbtest1 WHERE id = ?", 200_000),
    (
        "simple_range",
        "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? + 99",
        20_000,
    ),
    (
        "sum_range",
        "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ? + 99",
        20_000,
    ),
    (
        "order_range",
        "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? + 99 ORDER BY c",
        10_000,
    ),
    (
        "distinct_range",
        "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? + 99 ORDER BY c",
        10_000,
    ),
    ("index_update", "UPDATE sbtest1 SET k = k + 1 WHERE id = ?", 20_000),
    (
        "non_index_update",
        "UPDATE sbtest1 SET c = 'another' WHERE id = ?",
        20_000,
    ),
];

/// Takes every row and keeps nothing.
struct Discard {
    bytes: usize,
}

impl ResultSink for Discard {
    fn columns(&mut self, _shape: &Arc<ResultShape>, _status: ServerStatus) -> SqlResult<()> {
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> SqlResult<()> {
        self.bytes += values.len();
        Ok(())
    }

    fn stored_row(&mut self, _layout: &RowLayout, row: &[u8], _projection: &[usize]) -> SqlResult<()> {
        self.bytes += row.len();
        Ok(())
    }

    fn end(&mut self, _end: ResultEnd) -> SqlResult<()> {
        Ok(())
    }

    fn ok(&mut self, _done: Done) -> SqlResult<()> {
        Ok(())
    }
}

fn main() {
    // Cargo adds a flag of its own.
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (name, count) = (arguments.next(), arguments.next());
    let count = count.map(|count| count.parse().expect("how often it runs"));

    let mut client = filled();
    for (_, text, usual) in STATEMENTS
        .iter()
        .filter(|(of_table, ..)| name.as_deref().is_none_or(|name| name == *of_table))
    {
        let prepared = client
            .session
            .prepare(text.as_bytes(), &BlockingHost)
            .expect("it can be prepared");
        let parameters = text.matches('?').count();
        let count = count.unwrap_or(*usual);
        run(&mut client, prepared.id, parameters, 10);
        let begun = Instant::now();
        measured(&mut client, prepared.id, parameters, count);
        println!("{:8.2} us  {text}", begun.elapsed().as_secs_f64() * 1e6 / count as f64);
    }
}

/// The table of sysbench's scripts, with fewer rows.
fn filled() -> Client {
    let mut client = Database::open().session();
    client.run(
        "CREATE TABLE sbtest1 (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0, \
         c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', KEY k_1 (k))",
    );
    for first in (0..ROWS).step_by(500) {
        let rows: Vec<String> = (first..first + 500)
            .map(|id| {
                let text = |seed: i64, groups: i64| {
                    let groups: Vec<String> = (1..=groups)
                        .map(|group| format!("{:011}", seed * group * 7_919 % 99_999_999_977))
                        .collect();
                    groups.join("-")
                };
                format!(
                    "({}, '{}', '{}')",
                    id * 37 % ROWS,
                    text(id * 10_007 + 1, 10),
                    text(id + 1, 5)
                )
            })
            .collect();
        client.run(&format!("INSERT INTO sbtest1 (k, c, pad) VALUES {}", rows.join(", ")));
    }
    client
}

#[inline(never)]
fn measured(client: &mut Client, id: u32, parameters: usize, count: u64) {
    run(client, id, parameters, count);
}

fn run(client: &mut Client, id: u32, parameters: usize, count: u64) {
    let mut sink = Discard { bytes: 0 };
    for turn in 0..count {
        let row = Value::Int(1 + (turn as i64 * 7_919) % (ROWS - 200));
        let row: Vec<Value> = std::iter::repeat_n(row, parameters).collect();
        client
            .session
            .execute(id, &row, Fetch::All, &BlockingHost, &mut sink)
            .expect("the statement runs");
    }
    assert!(std::hint::black_box(sink.bytes) < usize::MAX);
}
