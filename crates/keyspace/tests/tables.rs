//! The tables of keys, as sessions find them.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use std::sync::Arc;

use common::Database;
use sql::result::BufferedRows;
use sql::session::{Session as SqlSession, SessionOptions};
use sql_api::host::BlockingHost;

#[test]
fn tables_are_looked_up_once_for_each_version_of_the_catalog() {
    let database = Database::open();
    let keyspace = &database.keyspace;
    let before = keyspace.db(0, &BlockingHost).unwrap();
    let mut session = SqlSession::new(keyspace.engine().clone(), SessionOptions::default()).unwrap();
    let statement = b"CREATE DATABASE other";
    session
        .query(statement, &BlockingHost, &mut BufferedRows::default())
        .unwrap();
    let after = keyspace.db(0, &BlockingHost).unwrap();
    assert!(after.version > before.version);
    assert!(Arc::ptr_eq(&after, &keyspace.db(0, &BlockingHost).unwrap()));
}
