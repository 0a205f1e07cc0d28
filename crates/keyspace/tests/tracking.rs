//! Who is told of which changes (CLIENT TRACKING).

mod common;

use common::{Client, Database};
use sql::result::BufferedRows;
use sql::session::{Session as SqlSession, SessionOptions};
use sql_api::host::BlockingHost;

fn invalid(keys: &[&str]) -> String {
    let quoted: Vec<String> = keys.iter().map(|key| format!("\"{key}\"")).collect();
    format!(">2 \"invalidate\" *{} {}", keys.len(), quoted.join(" "))
}

const ALL: &str = ">2 \"invalidate\" _";

fn two(how: &str) -> (Database, Client, Client) {
    let database = Database::open();
    let (mut reader, mut writer) = (database.client(), database.client());
    writer.run("SELECT 0");
    writer.run("SET first 1");
    reader.run("HELLO 3");
    assert_eq!(reader.run(&format!("CLIENT TRACKING ON {how}")), "+OK");
    (database, reader, writer)
}

#[test]
fn a_change_is_told_once() {
    let (_database, mut reader, mut writer) = two("");
    reader.run("MGET a b");
    writer.run("SET a 1");
    assert_eq!(reader.messages(), [invalid(&["a"])]);
    writer.run("SET a 2");
    assert!(reader.messages().is_empty());
    // Several at once, and commands that share a transaction.
    reader.pipeline(["GET a", "GET b"].map(str::to_owned));
    writer.pipeline(["SET a 3", "SET b 3"].map(str::to_owned));
    assert_eq!(reader.messages(), [invalid(&["a"]), invalid(&["b"])]);
    // Of elements, of its own, of another database.
    reader.run("LRANGE l 0 -1");
    writer.run("RPUSH l 1");
    assert_eq!(reader.messages(), [invalid(&["l"])]);
    reader.run("GET a");
    reader.run("SET a 4");
    assert_eq!(reader.messages(), [invalid(&["a"])]);
    reader.run("GET a");
    writer.run("SELECT 1");
    writer.run("SET a 1");
    assert!(reader.messages().is_empty());
}

#[test]
fn scripts_and_transactions_note_what_they_read() {
    let (_database, mut reader, mut writer) = two("");
    reader.run("EVAL \"return redis.call('get','s')\" 0");
    writer.run("SET s 1");
    assert_eq!(reader.messages(), [invalid(&["s"])]);
    for line in ["MULTI", "GET m", "SELECT 2", "GET m", "SELECT 0", "EXEC"] {
        reader.run(line);
    }
    writer.run("SET m 1");
    assert_eq!(reader.messages(), [invalid(&["m"])]);
    writer.run("SELECT 2");
    writer.run("EVAL \"return redis.call('set',KEYS[1],'1')\" 1 m");
    assert_eq!(reader.messages(), [invalid(&["m"])]);
}

#[test]
fn flushing_tells_all() {
    let (database, mut reader, mut writer) = two("");
    let mut broadcast = database.client();
    broadcast.run("HELLO 3");
    broadcast.run("CLIENT TRACKING ON BCAST PREFIX nothing");
    for command in ["FLUSHDB", "FLUSHALL"] {
        writer.run("SET a 1");
        reader.messages();
        reader.run("GET a");
        writer.run(command);
        assert_eq!(reader.messages(), [ALL], "{command}");
        assert_eq!(broadcast.messages(), [ALL], "{command}");
    }
}

#[test]
fn expired_keys_are_told_when_they_are_removed() {
    let (database, mut reader, mut writer) = two("");
    writer.run("SET e 1 PX 100");
    reader.run("GET e");
    database.clock.advance(std::time::Duration::from_millis(200));
    let mut purge = keyspace::purge::Purge::default();
    purge.look(&database.keyspace, &BlockingHost).unwrap();
    assert_eq!(reader.messages(), [invalid(&["e"])]);
}

#[test]
fn statements_of_sql_are_told_of() {
    let (database, mut reader, mut writer) = two("");
    let engine = database.keyspace.engine().clone();
    let mut sql = SqlSession::new(engine, SessionOptions::default()).unwrap();
    let mut query = |text: &str| {
        sql.query(text.as_bytes(), &BlockingHost, &mut BufferedRows::default())
            .unwrap_or_else(|error| panic!("{text}: {error:?}"));
    };
    writer.run("SET a 1");
    writer.run("HSET h f 1");
    reader.run("GET a");
    query("UPDATE redis.db0 SET value = '2' WHERE `key` = 'a'");
    assert_eq!(reader.messages(), [invalid(&["a"])]);
    // The row of an element does not say whose it is.
    reader.run("HGET h f");
    query("UPDATE redis.db0_hash SET value = '2' WHERE field = 'f'");
    assert_eq!(reader.messages(), [ALL]);
    reader.run("GET a");
    query("TRUNCATE TABLE redis.db0");
    assert_eq!(reader.messages().last().unwrap(), ALL);
    // The table that took its place is followed.
    assert_eq!(reader.run("GET a"), "_");
    writer.run("SET a 1");
    assert_eq!(reader.messages(), [invalid(&["a"])]);
    query("CREATE TABLE test.other (a INT PRIMARY KEY)");
    reader.run("GET a");
    query("INSERT INTO test.other VALUES (1)");
    assert!(reader.messages().is_empty());
    writer.run("DEL a");
    assert_eq!(reader.messages(), [invalid(&["a"])]);
}

#[test]
fn tables_that_change_places_are_told_of_while_somebody_tracks() {
    let (_database, mut reader, mut writer) = two("");
    writer.run("SET a 1");
    writer.run("SELECT 1");
    writer.run("SET a 2");
    writer.run("SELECT 0");
    reader.run("GET a");
    assert_eq!(writer.run("SWAPDB 0 1"), "+OK");
    assert_eq!(reader.messages(), [ALL]);
    assert_eq!(reader.run("GET a"), "\"2\"");
    writer.run("SET a 3");
    assert_eq!(reader.messages(), [invalid(&["a"])]);
    reader.run("CLIENT TRACKING OFF");
    writer.run("SWAPDB 0 1");
    reader.run("CLIENT TRACKING ON");
    reader.run("GET a");
    writer.run("SET b 1");
    assert!(reader.messages().is_empty());
    writer.run("SET a 4");
    assert_eq!(reader.messages(), [invalid(&["a"])]);
}

#[test]
fn many_changes_at_once_are_any() {
    let (_database, mut reader, mut writer) = two("");
    reader.run("GET a");
    let words: Vec<String> = (0..20_200).map(|at| format!("w{at}")).collect();
    let words = words.iter().map(|word| word.as_bytes());
    writer.send(&std::iter::once(&b"MSET"[..]).chain(words).collect::<Vec<_>>());
    assert_eq!(reader.messages(), [ALL]);
}

#[test]
fn what_a_client_changes_itself_it_may_not_hear() {
    let (_database, mut reader, mut writer) = two("NOLOOP");
    for change in [
        vec!["SET a 1"],
        vec!["MULTI", "SET a 2", "EXEC"],
        vec!["EVAL \"return redis.call('set','a','3')\" 0"],
        vec!["DEL a"],
        vec!["RENAME first a"],
    ] {
        reader.run("GET a");
        change.iter().for_each(|line| drop(reader.run(line)));
        assert!(reader.messages().is_empty(), "{change:?}");
    }
    reader.run("GET a");
    writer.run("SET a 5");
    assert_eq!(reader.messages(), [invalid(&["a"])]);
}

#[test]
fn opting_in_and_out() {
    let (_database, mut reader, mut writer) = two("OPTIN");
    reader.run("GET a");
    writer.run("SET a 1");
    assert!(reader.messages().is_empty());
    reader.pipeline(["CLIENT CACHING YES", "GET a", "GET b"].map(str::to_owned));
    writer.run("MSET a 1 b 1");
    assert_eq!(reader.messages(), [invalid(&["a"])]);
    for line in ["CLIENT CACHING YES", "MULTI", "GET a", "GET b", "EXEC", "GET c"] {
        reader.run(line);
    }
    writer.run("MSET a 1 b 1 c 1");
    assert_eq!(reader.messages(), [invalid(&["a"]), invalid(&["b"])]);

    let (_database, mut reader, mut writer) = two("OPTOUT");
    reader.pipeline(["CLIENT CACHING NO", "GET a", "GET b"].map(str::to_owned));
    writer.run("MSET a 1 b 1");
    assert_eq!(reader.messages(), [invalid(&["b"])]);
}

#[test]
fn prefixes_are_told_of_whoever_reads() {
    let (_database, mut reader, mut writer) = two("BCAST PREFIX u: PREFIX v:");
    writer.run("MSET u:2 1 w 1 v:1 1 u:1 1");
    assert_eq!(reader.messages(), [invalid(&["u:1", "u:2"]), invalid(&["v:1"])]);
    reader.run("SET u:3 1");
    assert_eq!(reader.messages(), [invalid(&["u:3"])]);
    reader.run("CLIENT TRACKING OFF");
    writer.run("SET u:3 1");
    assert!(reader.messages().is_empty());
    reader.run("CLIENT TRACKING ON BCAST NOLOOP");
    reader.run("SET any 1");
    assert!(reader.messages().is_empty());
    writer.run("SET any 2");
    assert_eq!(reader.messages(), [invalid(&["any"])]);
}

#[test]
fn others_are_told_instead() {
    let database = Database::open();
    let (mut reader, mut told, mut writer) = (database.client(), database.client(), database.client());
    told.run("SUBSCRIBE __redis__:invalidate");
    let id = told.session.id;
    assert_eq!(reader.run(&format!("CLIENT TRACKING ON REDIRECT {id}")), "+OK");
    reader.run("GET a");
    writer.run("SET a 1");
    assert_eq!(told.messages(), ["*3 \"message\" \"__redis__:invalidate\" *1 \"a\""]);
    writer.run("FLUSHALL");
    assert_eq!(told.messages(), ["*3 \"message\" \"__redis__:invalidate\" *-1"]);
    // It listens no more.
    told.run("UNSUBSCRIBE");
    reader.run("GET a");
    writer.run("SET a 1");
    assert!(told.messages().is_empty());

    // It is gone.
    let mut reader = database.client();
    reader.run("HELLO 3");
    reader.run(&format!("CLIENT TRACKING ON REDIRECT {id}"));
    reader.run("GET a");
    drop(told);
    writer.run("SET a 2");
    assert_eq!(reader.messages(), [format!(">2 \"tracking-redir-broken\" :{id}")]);
    assert!(reader.run("CLIENT TRACKINGINFO").contains("broken_redirect"));
}

#[test]
fn notes_are_bounded() {
    let (database, mut reader, mut writer) = two("");
    assert_eq!(writer.run("CONFIG SET tracking-table-max-keys 3"), "+OK");
    (0..10).for_each(|at| drop(reader.run(&format!("GET k{at}"))));
    let evicted = reader.messages().len();
    assert_eq!(evicted, 7);
    // Whatever is noted still is told.
    (0..10).for_each(|at| drop(writer.run(&format!("SET k{at} v"))));
    assert_eq!(reader.messages().len(), 3);
    let info = database.client().run("INFO stats");
    assert!(info.contains("tracking_total_keys:0"), "{info}");
    assert!(database.client().run("INFO clients").contains("tracking_clients:1"));
    drop(reader);
    assert!(database.client().run("INFO clients").contains("tracking_clients:0"));
}
