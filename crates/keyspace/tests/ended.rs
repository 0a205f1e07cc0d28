//! A command that is ended has done nothing, or all.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use common::{Client, Database, Expected as _};
use governor::probe;

/// Ticks of a command at which it is ended.
const ENDS: u64 = 6;

/// Keys of each type, some of them long.
fn fill(client: &mut Client) {
    client.run("FLUSHALL");
    let long = vec![b'x'; 70_000];
    client.send(&[b"SET", b"long", &long]);
    for line in [
        "SET short abc",
        "SETBIT far 2000000 1",
        "SADD set a b c",
        "SADD other b c d",
        "RPUSH list 3 1 2 1 4",
        "ZADD zset 1 a 2 b 3 c",
        "HSET hash f 1 g 2",
        "XADD stream 1-1 a b",
        "XADD stream 2-1 a b",
        "XGROUP CREATE stream group 0",
        "XREADGROUP GROUP group c COUNT 1 STREAMS stream >",
        "SET expires v PX 100000",
    ] {
        assert!(!client.run(line).starts_with('-'), "{line}");
    }
}

/// All keys, and what they hold.
fn state(client: &mut Client) -> Vec<String> {
    let keys = client.answer("KEYS *");
    let mut state = Vec::new();
    for key in keys.elements() {
        let key = key.bytes();
        let dump = client.send(&[b"DUMP", key]).to_string();
        let ttl = client.send(&[b"PEXPIRETIME", key]);
        state.push(format!("{} {ttl} {dump}", key.escape_ascii()));
    }
    state
}

#[test]
fn what_is_ended_has_done_nothing_or_all() {
    let database = Database::open();
    let mut client = database.client();
    for line in [
        "BITOP OR far far long",
        "BITOP NOT target long",
        "APPEND long y",
        "SETRANGE short 70000 y",
        "SET long y GET",
        "GETDEL long",
        "GETEX expires PERSIST",
        "COPY long target",
        "COPY hash target",
        "COPY far short REPLACE",
        "RENAME long short",
        "MOVE list 1",
        "MSET a 1 long 2 set 3",
        "MSETNX a 1 b 2",
        "DEL long set list zset stream",
        "LREM list 0 1",
        "LREM list -1 1",
        "LINSERT list AFTER 2 x",
        "LTRIM list 1 2",
        "LMOVE list target LEFT RIGHT",
        "LMPOP 2 none list LEFT COUNT 3",
        "SORT list STORE target",
        "SUNIONSTORE long set other",
        "SINTERSTORE target set other",
        "SMOVE set other a",
        "SREM set a b c",
        "ZUNIONSTORE target 2 zset set",
        "ZRANGESTORE target zset 0 1",
        "ZREMRANGEBYRANK zset 0 -1",
        "ZPOPMIN zset 2",
        "HSET hash f 3 h 4 i 5",
        "HINCRBY hash f 5",
        "XADD stream MAXLEN 1 3-1 a b",
        "XREADGROUP GROUP group c STREAMS stream >",
        "XAUTOCLAIM stream group d 0 0",
        "XGROUP DESTROY stream group",
        "PFADD short x",
        "PFMERGE target",
        "EVAL \"redis.call('SET','long','1') redis.call('DEL','set') return redis.call('LPOP','list')\" 0",
        "FLUSHDB",
    ] {
        fill(&mut client);
        let before = state(&mut client);
        let whole = probe::count(|| client.run(line));
        let after = state(&mut client);
        // The last ones, and some before.
        let step = (whole.ticks / ENDS).max(1) as usize;
        for tick in (1..=whole.ticks).rev().step_by(step) {
            fill(&mut client);
            let ended = probe::kill_at(tick, || client.run(line)).result;
            let now = state(&mut client);
            let expected = match ended == whole.result {
                true => &after,
                false => &before,
            };
            assert!(ended == whole.result || ended.starts_with("-ERR"), "{line}: {ended}");
            assert!(&now == expected, "{line}, ended at tick {tick}: {ended}");
            if client.run("SELECT 1") == "+OK" {
                client.run("FLUSHDB");
                client.run("SELECT 0");
            }
        }
    }
}

#[test]
fn a_transaction_that_is_ended_has_done_nothing_or_all() {
    let database = Database::open();
    let mut client = database.client();
    // That of the database that is chosen, and of the first.
    let states = |client: &mut Client| {
        let chosen = state(client);
        client.run("SELECT 0");
        [chosen, state(client)]
    };
    let queue = |client: &mut Client| {
        client.run("SELECT 0");
        fill(client);
        let before = states(client);
        for line in [
            "MULTI",
            "RPUSH list 9",
            "BITOP NOT target long",
            "SADD set z",
            "EVAL \"redis.call('SET','long','1') redis.pcall('LPOP','list')\" 0",
            "SMEMBERS set",
            // Where it is ended, that is not done, either.
            "SELECT 1",
            "APPEND short y",
        ] {
            assert!(!client.run(line).starts_with('-'), "{line}");
        }
        before
    };
    // The tables of the other database are there.
    client.run("SELECT 1");
    client.run("SET a 1");
    queue(&mut client);
    let whole = probe::count(|| client.run("EXEC"));
    let after = states(&mut client);
    let mut ended = 0;
    for tick in 1..=whole.ticks {
        let before = queue(&mut client);
        let told = probe::kill_at(tick, || client.run("EXEC")).result;
        let expected = match told == whole.result {
            true => &after,
            false => &before,
        };
        assert!(told == whole.result || told.starts_with("-ERR"), "{told}");
        assert!(&states(&mut client) == expected, "ended at tick {tick}: {told}");
        ended += usize::from(told != whole.result);
    }
    assert!(ended > 0, "it is never ended");
}
