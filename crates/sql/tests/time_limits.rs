//! `max_execution_time`, as a variable and as a hint.

use std::cell::Cell;
use std::pin::Pin;
use std::time::{Duration, Instant};

use crate::common::Database;
use sql::host::{BlockingHost, Host, Interrupt, WaitEnd};

/// A host that keeps to the deadline it is given.
#[derive(Default)]
struct Punctual {
    deadline: Cell<Option<Instant>>,
    /// Whether a statement ever had one.
    had_deadline: Cell<bool>,
}

impl Host for Punctual {
    fn wait(&self, future: Pin<&mut dyn Future<Output = ()>>) {
        BlockingHost.wait(future);
    }

    fn wait_interruptible(&self, future: Pin<&mut dyn Future<Output = ()>>, timeout: Option<Duration>) -> WaitEnd {
        BlockingHost.wait_interruptible(future, timeout)
    }

    fn interrupted(&self) -> Option<Interrupt> {
        let late = self.deadline.get().is_some_and(|deadline| deadline <= Instant::now());
        late.then_some(Interrupt::Timeout)
    }

    fn limit_time(&self, limit: Option<Duration>) {
        self.deadline.set(limit.map(|limit| Instant::now() + limit));
        self.had_deadline.set(self.had_deadline.get() || limit.is_some());
    }
}

impl governor::Runner for Punctual {
    fn yield_now(&self) {}

    fn interrupted(&self) -> Option<Interrupt> {
        Host::interrupted(self)
    }
}

/// Minutes of work, with pauses to be asked to stop.
const LONG: &str = "SELECT SUM(a.n + b.n + c.n + d.n) FROM t a, t b, t c, t d";

fn thousand_rows(database: &mut Database) -> crate::common::Client {
    let mut client = database.session();
    client.run("CREATE TABLE t (n INT PRIMARY KEY)");
    client.run("INSERT INTO t WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 1000) SELECT n FROM r");
    client
}

#[test]
fn a_select_that_takes_too_long_is_stopped() {
    let mut database = Database::open();
    let mut client = thousand_rows(&mut database);
    let host = Punctual::default();
    let code = |client: &mut crate::common::Client, sql: &str| {
        let outcome = governor::probe::under(&host, || client.try_run_on(&host, sql));
        outcome.err().map(|error| error.code())
    };
    assert_eq!(code(&mut client, "SET max_execution_time = 20"), None);
    assert_eq!(code(&mut client, LONG), Some(3024));
    assert_eq!(code(&mut client, "SELECT COUNT(*) FROM t"), None);
    assert_eq!(code(&mut client, "SET max_execution_time = 0"), None);
    let hinted = LONG.replacen("SELECT", "SELECT /*+ MAX_EXECUTION_TIME(20) */", 1);
    assert_eq!(code(&mut client, &hinted), Some(3024));
}

#[test]
fn changes_have_no_time_limit() {
    let mut database = Database::open();
    let mut client = thousand_rows(&mut database);
    let host = Punctual::default();
    client
        .try_run_on(&host, "SET max_execution_time = 1")
        .expect("a variable");
    host.had_deadline.set(false);
    client.try_run_on(&host, "UPDATE t SET n = n + 5000").expect("a change");
    assert!(!host.had_deadline.get());
}
