//! Expired keys are removed.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use std::time::Duration;

use common::Database;
use governor::probe;
use keyspace::purge::Purge;
use sql_api::host::BlockingHost;

#[test]
fn keys_behind_one_that_cannot_be_removed_have_their_turn() {
    let database = Database::open();
    let mut client = database.client();
    client.pipeline((0..5000).map(|n| format!("SET k{n:04} v PX 10")));
    database.clock.advance(Duration::from_millis(20));
    let mut purge = Purge::default();
    let mut look = || purge.look(&database.keyspace, &BlockingHost);
    assert!(probe::kill_at(1, &mut look).result.is_err());
    let rest = look().unwrap();
    assert!(rest.keys < 1000 && rest.expired == rest.keys, "{rest:?}");
    // Those that were left are found the next time.
    let mut removed = rest.expired;
    while removed < 5000 {
        removed += look().unwrap().expired;
    }
}
