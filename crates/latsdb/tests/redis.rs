//! Redis clients of a node, beside SQL: the same rows, the same accounts, the same log.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::cluster::Cluster;
use crate::support::{Running, directory, rows, verify};

/// A client that knows no more of the protocol than it needs.
struct Redis {
    reader: BufReader<TcpStream>,
}

impl Redis {
    fn connect(node: &Running) -> Redis {
        let stream = TcpStream::connect(&node.redis).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Redis {
            reader: BufReader::new(stream),
        }
    }

    fn send(&mut self, words: &[&str]) {
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request.push_str(&format!("${}\r\n{word}\r\n", word.len()));
        }
        self.reader.get_mut().write_all(request.as_bytes()).unwrap();
    }

    /// The next reply: strings as they are, lists with spaces between.
    fn reply(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        let (kind, rest) = line.trim_end().split_at(1);
        match kind {
            "$" | "*" if rest.starts_with('-') => "nil".to_owned(),
            "$" => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.reader.read_exact(&mut bytes).unwrap();
                bytes.truncate(bytes.len() - 2);
                String::from_utf8(bytes).unwrap()
            }
            "*" | ">" | "~" | "%" => {
                let count: usize = rest.parse().unwrap();
                let count = if kind == "%" { 2 * count } else { count };
                let replies: Vec<String> = (0..count).map(|_| self.reply()).collect();
                replies.join(" ")
            }
            "_" => "nil".to_owned(),
            _ => rest.to_owned(),
        }
    }

    fn ask(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        self.send(&words);
        self.reply()
    }
}

#[test]
fn keys_are_rows() {
    let data = directory("redis_rows");
    let node = Running::start(&data);
    let (mut redis, mut sql) = (Redis::connect(&node), node.client());
    assert_eq!(redis.ask("SET greeting hello"), "OK");
    assert_eq!(redis.ask("HSET h f1 v1 f2 v2"), "2");
    assert_eq!(redis.ask("RPUSH l a b c"), "3");
    assert_eq!(redis.ask("ZADD z 2.5 m 1 n"), "2");
    assert_eq!(
        rows(&mut sql, "SELECT `key`, type, value FROM redis.db0 ORDER BY `key`"),
        ["greeting string hello", "h hash NULL", "l list NULL", "z zset NULL"]
    );
    assert_eq!(
        rows(&mut sql, "SELECT `key`, length FROM redis.db0_keys ORDER BY `key`"),
        ["greeting 5", "h 2", "l 3", "z 2"]
    );
    for (of, found) in [
        (
            "field, value FROM redis.db0_hashes WHERE `key` = 'h' ORDER BY field",
            &["f1 v1", "f2 v2"][..],
        ),
        (
            "member, score FROM redis.db0_zsets WHERE `key` = 'z' ORDER BY score",
            &["n 1", "m 2.5"],
        ),
        (
            "`index`, value FROM redis.db0_lists WHERE `key` = 'l' ORDER BY `index`",
            &["0 a", "1 b", "2 c"],
        ),
    ] {
        assert_eq!(rows(&mut sql, &format!("SELECT {of}")), found);
    }
    assert_eq!(redis.ask("LPUSH l z"), "4");
    let first = "SELECT value FROM redis.db0_lists WHERE `key` = 'l' AND `index` = 0";
    assert_eq!(rows(&mut sql, first), ["z"]);
    // What SQL changes, Redis sees.
    rows(
        &mut sql,
        "UPDATE redis.db0 SET value = 'salut' WHERE `key` = 'greeting'",
    );
    assert_eq!(redis.ask("GET greeting"), "salut");
    // A key that has expired is gone for both, at that moment.
    assert_eq!(redis.ask("PEXPIRE greeting 300"), "1");
    assert_eq!(
        rows(&mut sql, "SELECT COUNT(*) FROM redis.db0 WHERE `key` = 'greeting'"),
        ["1"]
    );
    std::thread::sleep(Duration::from_millis(310));
    assert_eq!(redis.ask("GET greeting"), "nil");
    assert_eq!(
        rows(&mut sql, "SELECT COUNT(*) FROM redis.db0 WHERE `key` = 'greeting'"),
        ["0"]
    );
}

#[test]
fn what_was_answered_survives_a_kill() {
    let data = directory("redis_kill");
    let mut node = Running::start(&data);
    let mut redis = Redis::connect(&node);
    for round in 0..200 {
        redis.send(&["SET", &format!("k{round}"), "v"]);
        redis.send(&["INCR", "n"]);
        redis.send(&["LPUSH", "l", &round.to_string()]);
    }
    let answers: Vec<String> = (0..600).map(|_| redis.reply()).collect();
    assert_eq!(answers[599], "200");
    assert_eq!(redis.ask("MULTI"), "OK");
    assert_eq!(redis.ask("SET a 1"), "QUEUED");
    assert_eq!(redis.ask("INCRBY a 41"), "QUEUED");
    assert_eq!(redis.ask("EXEC"), "OK 42");
    node.child.kill().unwrap();
    node.child.wait().unwrap();
    let node = Running::start(&data);
    let mut redis = Redis::connect(&node);
    assert_eq!(redis.ask("GET n"), "200");
    assert_eq!(redis.ask("LLEN l"), "200");
    assert_eq!(redis.ask("LRANGE l 0 1"), "199 198");
    assert_eq!(redis.ask("GET a"), "42");
    assert_eq!(redis.ask("DBSIZE"), "203");
    drop(redis);
    node.stop();
    let (said, is_well) = verify(&data);
    assert!(is_well, "{said}");
}

#[test]
fn transactions_are_all_or_nothing() {
    let data = directory("redis_watch");
    let node = Running::start(&data);
    let (mut one, mut two, mut sql) = (Redis::connect(&node), Redis::connect(&node), node.client());
    one.ask("SET k 1");
    // Changed by Redis, and by SQL.
    for change in [true, false] {
        assert_eq!(one.ask("WATCH k"), "OK");
        match change {
            true => assert_eq!(two.ask("SET k 2"), "OK"),
            false => drop(rows(&mut sql, "UPDATE redis.db0 SET value = '3' WHERE `key` = 'k'")),
        }
        assert_eq!(one.ask("MULTI"), "OK");
        assert_eq!(one.ask("SET k 9"), "QUEUED");
        assert_eq!(one.ask("EXEC"), "nil");
    }
    assert_eq!(one.ask("GET k"), "3");
    // A failed command of a transaction leaves the others.
    assert_eq!(one.ask("MULTI"), "OK");
    assert_eq!(one.ask("SET k 10"), "QUEUED");
    assert_eq!(one.ask("LPUSH k x"), "QUEUED");
    assert_eq!(one.ask("INCR k"), "QUEUED");
    let wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
    assert_eq!(one.ask("EXEC"), format!("OK {wrong} 11"));
}

#[test]
fn who_waits_is_served_and_who_listens_hears() {
    let data = directory("redis_waits");
    let node = Running::start(&data);
    let (mut waits, mut brings, mut listens) = (Redis::connect(&node), Redis::connect(&node), Redis::connect(&node));
    waits.send(&["BLPOP", "q", "0"]);
    assert_eq!(listens.ask("SUBSCRIBE c"), "subscribe c 1");
    while brings
        .ask("INFO clients")
        .lines()
        .all(|line| line != "blocked_clients:1")
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(brings.ask("RPUSH q job"), "1");
    assert_eq!(waits.reply(), "q job");
    assert_eq!(brings.ask("LLEN q"), "0");
    assert_eq!(brings.ask("PUBLISH c news"), "1");
    assert_eq!(listens.reply(), "message c news");
    // In vain.
    assert_eq!(waits.ask("BLPOP q 0.05"), "nil");
}

#[test]
fn keys_expire_also_when_a_look_at_them_has_panicked() {
    let data = directory("redis_expiry_panics");
    let node = Running::start(&data);
    let (mut redis, mut listens) = (Redis::connect(&node), Redis::connect(&node));
    assert_eq!(redis.ask("CONFIG SET notify-keyspace-events Ex"), "OK");
    assert_eq!(
        listens.ask("SUBSCRIBE __keyevent@0__:expired"),
        "subscribe __keyevent@0__:expired 1"
    );
    rows(&mut node.client(), "SET GLOBAL debug = 'expiry.looking=panic@1'");
    assert_eq!(redis.ask("SET k v PX 20"), "OK");
    assert_eq!(listens.reply(), "message __keyevent@0__:expired k");
    assert!(node.get("/metrics").contains("latsdb_panics_total 1\n"));
}

#[test]
fn what_a_transaction_publishes_is_heard_once_and_only_if_it_is_committed() {
    let data = directory("redis_publish");
    let node = Running::start(&data);
    let mut listens = Redis::connect(&node);
    assert_eq!(listens.ask("SUBSCRIBE c"), "subscribe c 1");
    // Keys that a script does not declare are locked late, behind its snapshot: it begins anew often.
    let script = "redis.call('PUBLISH', 'c', redis.call('INCR', 'count')) return redis.call('INCR', 'other')";
    // What a script has done before its own error stays, as in Redis; what it did that has to be ended does not.
    let failing = "redis.call('PUBLISH', 'c', redis.call('INCR', 'count')) error('no')";
    let ended =
        "redis.call('PUBLISH', 'c', 'never') redis.call('INCR', 'count') local s = 'x' while true do s = s .. s end";
    let clients: Vec<_> = (0..4)
        .map(|_| Redis::connect(&node))
        .map(|mut client| {
            std::thread::spawn(move || {
                for _ in 0..50 {
                    client.send(&["EVAL", script, "0"]);
                    client.reply().parse::<u64>().unwrap();
                    client.send(&["EVAL", failing, "0"]);
                    assert!(client.reply().starts_with("ERR user_script:1: no"));
                }
                client.send(&["EVAL", ended, "0"]);
                assert!(client.reply().starts_with("OOM"));
            })
        })
        .collect();
    let mut heard: Vec<u64> = (0..400)
        .map(|_| listens.reply().strip_prefix("message c ").unwrap().parse().unwrap())
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    heard.sort_unstable();
    assert_eq!(heard, (1..=400).collect::<Vec<_>>());
    // MULTI, and a script in it that fails.
    let mut client = Redis::connect(&node);
    client.ask("MULTI");
    client.ask("PUBLISH c first");
    client.send(&["EVAL", ended, "0"]);
    client.reply();
    client.ask("PUBLISH c last");
    assert!(client.ask("EXEC").starts_with("1 "));
    assert_eq!(listens.reply(), "message c first");
    assert_eq!(listens.reply(), "message c last");
    assert_eq!(client.ask("GET count"), "400");
}

#[test]
fn rows_of_tables_are_hashes() {
    let data = directory("redis_rows");
    let node = Running::start(&data);
    let (mut sql, mut redis) = (node.client(), Redis::connect(&node));
    for statement in [
        "CREATE DATABASE shop",
        "CREATE TABLE shop.customer (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, email VARCHAR(20) UNIQUE, cents DECIMAL(8,2), seen TIMESTAMP(3) NULL, \
            twice DECIMAL(9,2) AS (cents * 2))",
        "CREATE TABLE shop.line (a INT, b VARCHAR(10), n BIGINT UNSIGNED ZEROFILL, raw VARBINARY(8), PRIMARY KEY (a, b))",
        "INSERT INTO shop.customer (id, name, cents, seen) VALUES (42, 'Ada', 10.5, '2026-11-24 14:05:00.25')",
        "CREATE TABLE shop.loose (a INT)",
    ] {
        rows(&mut sql, statement);
    }
    assert_eq!(
        redis.ask("HGETALL shop.customer:42"),
        "id 42 name Ada cents 10.50 seen 2026-11-24 14:05:00.250 twice 21.00"
    );
    assert_eq!(
        redis.ask("HMGET shop.customer:42 name email nothing CENTS"),
        "Ada nil nil 10.50"
    );
    assert_eq!(redis.ask("HGET shop.customer:42 twice"), "21.00");
    assert_eq!(redis.ask("HGETALL shop.customer:43"), "");
    assert_eq!(redis.ask("HGETALL shop.customer:x"), "");
    assert_eq!(redis.ask("HEXISTS shop.customer:42 email"), "0");
    assert_eq!(redis.ask("TYPE shop.customer:42"), "hash");
    assert_eq!(redis.ask("TYPE shop.customer:43"), "none");
    assert_eq!(
        redis.ask("EXISTS shop.customer:42 shop.customer:43 shop.customer:42"),
        "2"
    );
    // Changes are SQL's.
    assert_eq!(redis.ask("HSET shop.customer:42 email a@b name Grace"), "0");
    assert_eq!(redis.ask("HSET shop.customer:7 name Hedy cents 1"), "2");
    assert_eq!(
        rows(
            &mut sql,
            "SELECT CONCAT_WS(' ', id, name, email, cents) FROM shop.customer ORDER BY id"
        ),
        ["7 Hedy 1.00", "42 Grace a@b 10.50"]
    );
    assert_eq!(
        redis.ask("HSET shop.customer:7 email a@b"),
        "ERR Duplicate entry 'a@b' for key 'customer.email'"
    );
    assert_eq!(
        redis.ask("HSET shop.customer:8 email c@d"),
        "ERR Field 'name' doesn't have a default value"
    );
    assert_eq!(
        redis.ask("HSET shop.customer:7 nothing 1"),
        "ERR Unknown column 'nothing' in 'field list'"
    );
    assert_eq!(
        redis.ask("HSET shop.customer:7 name"),
        "ERR wrong number of arguments for 'hset' command"
    );
    assert_eq!(redis.ask("HSET shop.line:1,x n 5 raw ab"), "2");
    assert_eq!(
        redis.ask("HGETALL shop.line:1,x"),
        "a 1 b x n 00000000000000000005 raw ab"
    );
    assert_eq!(
        redis.ask("HGETALL shop.line:1"),
        "ERR the primary key of the table has another number of columns"
    );
    assert_eq!(redis.ask("DEL shop.customer:7 shop.line:1,x shop.line:1,x"), "2");
    // All of them or none: a row that another table refers to stays, and so does the one before it.
    for statement in [
        "CREATE TABLE shop.bill (id INT PRIMARY KEY, customer INT, FOREIGN KEY (customer) REFERENCES shop.customer (id))",
        "INSERT INTO shop.bill VALUES (1, 42)",
        "INSERT INTO shop.customer (id, name) VALUES (1, 'Ida')",
    ] {
        rows(&mut sql, statement);
    }
    assert!(
        redis
            .ask("DEL shop.customer:1 shop.customer:42")
            .starts_with("ERR Cannot delete or update a parent row")
    );
    assert_eq!(redis.ask("EXISTS shop.customer:1 shop.customer:42"), "2");
    assert_eq!(redis.ask("DEL shop.customer:1 shop.bill:1"), "2");
    // What is no row.
    assert_eq!(
        redis.ask("SET shop.customer:42 x"),
        "WRONGTYPE the command 'set' takes no rows of tables"
    );
    assert_eq!(
        redis.ask("DEL shop.customer:42 k"),
        "ERR a command takes rows of tables, or keys, not both"
    );
    for name in ["shop.loose:1", "shop.other:1", "redis.db0:1", "shop:customer.1"] {
        assert_eq!(redis.ask(&format!("HSET {name} f v")), "1", "{name}");
        assert_eq!(redis.ask(&format!("HGETALL {name}")), "f v");
    }
    let refused = "ERR rows of tables are not taken in MULTI and in scripts";
    assert_eq!(redis.ask("WATCH shop.customer:42"), refused);
    redis.ask("MULTI");
    assert_eq!(redis.ask("HGETALL shop.customer:42"), refused);
    assert!(redis.ask("EXEC").starts_with("EXECABORT"));
    redis.send(&["EVAL", "return redis.call('HGETALL', KEYS[1])", "1", "shop.customer:42"]);
    assert!(redis.reply().starts_with(refused));
    // Rights are SQL's, to the column.
    rows(&mut sql, "CREATE USER teller@localhost IDENTIFIED BY 'secret'");
    rows(&mut sql, "GRANT SELECT (id, name) ON shop.customer TO teller@localhost");
    let mut teller = Redis::connect(&node);
    assert_eq!(teller.ask("AUTH teller secret"), "OK");
    assert_eq!(teller.ask("HMGET shop.customer:42 name id"), "Grace 42");
    for refused in [
        "HGETALL shop.customer:42",
        "HGET shop.customer:42 cents",
        "HSET shop.customer:42 name x",
        "DEL shop.customer:42",
        "HGETALL shop.line:1,x",
    ] {
        assert!(
            teller.ask(refused).starts_with("NOPERM"),
            "{refused}: {}",
            teller.ask(refused)
        );
    }
    // Whoever logs in anew is somebody else.
    rows(&mut sql, "CREATE USER keeper@localhost IDENTIFIED BY 'secret'");
    rows(&mut sql, "GRANT ALL ON shop.* TO keeper@localhost");
    assert_eq!(teller.ask("AUTH keeper secret"), "OK");
    assert_eq!(teller.ask("HGET shop.customer:42 cents"), "10.50");
}

#[test]
fn what_a_client_has_read_it_hears_of() {
    let data = directory("redis_tracking");
    let node = Running::start(&data);
    let mut sql = node.client();
    let (mut reader, mut other, mut told) = (Redis::connect(&node), Redis::connect(&node), Redis::connect(&node));
    other.ask("SET k 1");
    reader.ask("HELLO 3");
    assert_eq!(reader.ask("CLIENT TRACKING ON"), "OK");
    assert_eq!(reader.ask("GET k"), "1");
    other.ask("SET k 2");
    assert_eq!(reader.reply(), "invalidate k");
    assert_eq!(reader.ask("GET k"), "2");
    rows(&mut sql, "UPDATE redis.db0 SET value = '3' WHERE `key` = 'k'");
    assert_eq!(reader.reply(), "invalidate k");
    assert_eq!(reader.ask("GET k"), "3");
    other.ask("PEXPIRE k 100");
    assert_eq!(reader.reply(), "invalidate k");
    assert_eq!(reader.ask("PTTL nothing"), "-2");
    reader.ask("GET k");
    // When its row is removed.
    assert_eq!(reader.reply(), "invalidate k");
    assert_eq!(reader.ask("GET k"), "nil");
    other.ask("FLUSHALL");
    assert_eq!(reader.reply(), "invalidate nil");

    let id = told.ask("CLIENT ID");
    told.ask("SUBSCRIBE __redis__:invalidate");
    let mut old = Redis::connect(&node);
    assert_eq!(old.ask(&format!("CLIENT TRACKING ON REDIRECT {id}")), "OK");
    old.ask("GET r");
    other.ask("SET r 1");
    assert_eq!(told.reply(), "message __redis__:invalidate r");
}

#[test]
fn who_monitors_sees_what_others_do() {
    let data = directory("redis_monitor");
    let node = Running::start(&data);
    let mut sql = node.client();
    let (mut monitor, mut other) = (Redis::connect(&node), Redis::connect(&node));
    rows(&mut sql, "CREATE USER reader@localhost IDENTIFIED BY 'secret'");
    assert_eq!(monitor.ask("MONITOR"), "OK");
    other.ask("SET k v");
    assert!(monitor.reply().ends_with("\"SET\" \"k\" \"v\""));
    other.ask("AUTH reader secret");
    assert!(monitor.reply().ends_with("\"AUTH\" \"(redacted)\" \"(redacted)\""));
    assert_eq!(
        other.ask("MONITOR"),
        "NOPERM User reader has no permissions to run the 'monitor' command"
    );
}

#[test]
fn accounts_are_those_of_sql() {
    let data = directory("redis_accounts");
    let node = Running::start(&data);
    let mut sql = node.client();
    let mut owner = Redis::connect(&node);
    owner.ask("SET k v");
    rows(&mut sql, "CREATE USER reader@localhost IDENTIFIED BY 'secret'");
    rows(&mut sql, "GRANT SELECT ON redis.* TO reader@localhost");
    rows(&mut sql, "ALTER USER root@localhost IDENTIFIED BY 'mighty'");
    let mut client = Redis::connect(&node);
    assert_eq!(client.ask("GET k"), "NOAUTH Authentication required.");
    let denied = "WRONGPASS invalid username-password pair or user is disabled.";
    assert_eq!(client.ask("AUTH reader wrong"), denied);
    assert_eq!(client.ask("AUTH reader secret"), "OK");
    assert_eq!(client.ask("GET k"), "v");
    assert_eq!(
        client.ask("SET k w"),
        "NOPERM User reader has no permissions to run the 'set' command"
    );
    let mut root = Redis::connect(&node);
    assert_eq!(root.ask("AUTH mighty"), "OK");
    assert_eq!(root.ask("SET k w"), "OK");
    // ACL tells of them what SQL would: an ordinary account sees itself.
    assert_eq!(client.ask("ACL WHOAMI"), "reader");
    assert_eq!(client.ask("ACL USERS"), "reader");
    assert_eq!(
        client.ask("ACL LIST"),
        "user reader on sanitize-payload %R~* &* +@all -@write -monitor -acl|log"
    );
    assert_eq!(client.ask("ACL GETUSER root"), "nil");
    assert_eq!(
        client.ask("ACL DRYRUN reader SET k w"),
        "User reader has no permissions to run the 'set' command"
    );
    assert_eq!(client.ask("ACL DRYRUN reader GET k"), "OK");
    assert_eq!(client.ask("ACL DRYRUN root GET k"), "ERR User 'root' not found");
    assert_eq!(
        client.ask("ACL LOG"),
        "NOPERM User reader has no permissions to run the 'acl|log' command"
    );
    assert_eq!(root.ask("ACL USERS"), "reader root");
    assert_eq!(
        root.ask("ACL GETUSER root"),
        "flags on sanitize-payload passwords  commands +@all keys ~* channels &* selectors "
    );
    assert_eq!(root.ask("ACL GETUSER default"), root.ask("ACL GETUSER root"));
    let log = root.ask("ACL LOG");
    let refused = [
        "count 1 reason command context toplevel object acl|log username reader",
        "count 1 reason command context toplevel object set username reader",
        "count 1 reason auth context toplevel object AUTH username reader",
    ];
    let at: Vec<usize> = refused.iter().map(|line| log.find(line).expect(line)).collect();
    assert!(at.is_sorted(), "the newest first: {log}");
    assert_eq!(root.ask("ACL LOG RESET"), "OK");
    assert_eq!(root.ask("ACL LOG"), "");
    // A client that becomes somebody else has the rights of that one.
    assert_eq!(client.ask("AUTH root mighty"), "OK");
    assert_eq!(client.ask("SET k w"), "OK");
    assert_eq!(client.ask("AUTH reader secret"), "OK");
    assert!(client.ask("SET k w").starts_with("NOPERM"));
    // What reaches further than the account's own database and clients is refused.
    rows(&mut sql, "CREATE USER writer@localhost IDENTIFIED BY 'secret'");
    rows(
        &mut sql,
        "GRANT SELECT, INSERT, UPDATE, DELETE ON redis.db0 TO writer@localhost",
    );
    root.ask("SELECT 1");
    root.ask("SET there v");
    let mut writer = Redis::connect(&node);
    assert_eq!(writer.ask("AUTH writer secret"), "OK");
    assert_eq!(writer.ask("SET k x"), "OK");
    for line in [
        "FLUSHALL",
        "COPY k k2 DB 1",
        "COPY k there REPLACE DB 1",
        "MOVE k 1",
        "SWAPDB 0 1",
        "SELECT 1\nGET there",
        "SELECT 1\nDEL there",
        "SELECT 0\nCLIENT PAUSE 1000",
        "CLIENT UNPAUSE",
        "CONFIG SET slowlog-max-len 1",
        "CONFIG RESETSTAT",
        "SLOWLOG GET",
        "SLOWLOG RESET",
        "CLIENT TRACKING ON BCAST",
        "MONITOR",
    ] {
        let answer = line.split('\n').map(|line| writer.ask(line)).last();
        assert!(
            answer.is_some_and(|answer| answer.starts_with("NOPERM User writer")),
            "{line}"
        );
    }
    writer.send(&["EVAL", "return redis.call('COPY', 'k', 'k3', 'DB', '1')", "0"]);
    assert!(writer.reply().contains("NOPERM"));
    for (asked, answer) in [
        ("'copy'", "1"),
        ("'move', 'k'", "1"),
        ("'copy', 'k', 'k2', 'DB', '1'", "nil"),
        ("'flushall'", "nil"),
    ] {
        writer.send(&["EVAL", &format!("return redis.acl_check_cmd({asked})"), "0"]);
        assert_eq!(writer.reply(), answer, "{asked}");
    }
    assert_eq!(writer.ask("COPY k k2 DB 0"), "1");
    let id = root.ask("CLIENT ID");
    assert!(!writer.ask("CLIENT LIST").contains("user=root"));
    assert!(writer.ask("CLIENT LIST").contains("user=writer"));
    assert_eq!(writer.ask(&format!("CLIENT KILL ID {id}")), "0");
    assert_eq!(writer.ask(&format!("CLIENT UNBLOCK {id}")), "0");
    assert_eq!(root.ask("GET there"), "v");
    assert!(root.ask("CLIENT LIST").contains("user=writer"));
    assert_eq!(root.ask("CONFIG RESETSTAT"), "OK");
    assert_eq!(root.ask("COPY there there2 DB 2"), "1");
    assert_eq!(root.ask("FLUSHALL"), "OK");
    assert_eq!(writer.ask("EXISTS k k2"), "0");
    // They are in the process list.
    let shown = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'reader'";
    assert_eq!(rows(&mut sql, shown), ["1"]);
}

#[test]
fn messages_reach_clients_of_all_nodes() {
    let mut cluster = Cluster::start("redis_messages");
    let clients = |cluster: &Cluster| [1, 2, 3].map(|node| Redis::connect(cluster.node(node)));
    let [mut one, mut two, mut three] = clients(&cluster);
    assert_eq!(two.ask("SUBSCRIBE news"), "subscribe news 1");
    assert_eq!(three.ask("CONFIG SET notify-keyspace-events KA"), "OK");
    assert_eq!(three.ask("PSUBSCRIBE __key*__:*"), "psubscribe __key*__:* 1");
    // Nobody of its own node.
    assert_eq!(one.ask("PUBLISH news 1"), "0");
    assert_eq!(two.reply(), "message news 1");
    for command in [
        "MULTI",
        "PUBLISH news never",
        "DISCARD",
        "MULTI",
        "SET k v",
        "PUBLISH news 2",
    ] {
        one.ask(command);
    }
    assert_eq!(one.ask("EXEC"), "OK 0");
    assert_eq!(two.reply(), "message news 2");
    assert_eq!(three.reply(), "pmessage __key*__:* __keyspace@0__:k set");
    assert_eq!(one.ask("SET gone v PX 20"), "OK");
    for event in ["set", "expire", "expired"] {
        assert_eq!(
            three.reply(),
            format!("pmessage __key*__:* __keyspace@0__:gone {event}")
        );
    }
    // A node that comes back learns what the others' clients listen to.
    drop(one);
    cluster.kill(1);
    cluster.run(1);
    let mut one = Redis::connect(cluster.node(1));
    two.reader
        .get_mut()
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    let mut is_heard = |one: &mut Redis| {
        one.ask("PUBLISH news 3");
        let mut byte = [0];
        two.reader.read_exact(&mut byte).is_ok()
    };
    let heard = (0..400).find(|_| is_heard(&mut one));
    assert!(heard.is_some(), "the node is not heard after its start");
}

#[test]
fn elements_that_several_nodes_make_are_apart() {
    let cluster = Cluster::start("redis_elements");
    let mut clients = [1, 2, 3].map(|node| Redis::connect(cluster.node(node)));
    let lists = ["a b c", "d e", "f"];
    for (client, (key, elements)) in clients.iter_mut().zip(["l1", "l2", "l3"].into_iter().zip(lists)) {
        client.ask(&format!("RPUSH {key} {elements}"));
    }
    for client in &mut clients {
        for (key, elements) in ["l1", "l2", "l3"].into_iter().zip(lists) {
            assert_eq!(client.ask(&format!("LRANGE {key} 0 -1")), elements);
        }
    }
}
