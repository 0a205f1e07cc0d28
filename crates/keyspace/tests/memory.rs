//! What commands hold that answer with more than they may.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use std::alloc::System;
use std::sync::{Arc, Mutex, PoisonError};

use common::{Client, Database};
use governor::alloc::Counting;
use governor::memory::{self, Account};
use governor::{Governor, Interrupt, Runner};

#[global_allocator]
static ALLOCATOR: Counting<System> = Counting(System);

/// What a command may hold: a quarter of the memory of a node in tests.
const MAY_HOLD: u64 = 128 << 20;

struct Nobody;

impl Runner for Nobody {
    fn yield_now(&self) {}

    fn interrupted(&self) -> Option<Interrupt> {
        None
    }
}

/// The most that a client held.
fn peak(work: impl FnOnce() + Send) -> u64 {
    let account = Arc::new(Account::default());
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            governor::turn::watch_this_thread();
            let governor = Governor::new(&Nobody).with_account(account.clone());
            governor::turn::take(|| governor.run(work));
        });
        thread.join().unwrap();
    });
    account.peak_bytes()
}

/// The most that a command held, whose reply begins so.
fn peak_of(database: &Database, words: &[Vec<u8>], reply: &str) -> u64 {
    peak(|| {
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let answer = database.client().send(&words).to_string();
        assert!(answer.starts_with(reply), "{answer:.100}");
    })
}

/// The node's memory is the process's: one test at a time.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn who_does_not_read_is_sent_away_when_memory_is_used_up() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let database = Database::open();
    let mut client = database.client();
    let mut listeners: Vec<_> = (0..20).map(|_| database.client()).collect();
    for listener in &mut listeners {
        listener.run("SUBSCRIBE c");
    }
    let limit = memory::counted() + (128 << 20);
    memory::set_node_limit(limit);
    let message = vec![b'x'; 1 << 20];
    for _ in 0..25 {
        client.send(&[b"PUBLISH", b"c", &message]);
    }
    let held = memory::counted();
    memory::set_node_limit(u64::MAX);
    assert!(held < limit + limit / 8, "{held} of {limit} bytes");
    let mut bytes = Vec::new();
    let mut stays = |listener: &Client| {
        listener
            .session
            .subscriber()
            .is_some_and(|outbox| outbox.take(&mut bytes))
    };
    let stay = listeners.iter().filter(|listener| stays(listener)).count();
    assert!(stay < listeners.len());
}

#[test]
fn a_reply_ends_when_it_takes_more_than_a_command_may_hold() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let database = Database::open();
    let mut client = database.client();
    let value = vec![b'x'; 1 << 20];
    assert_eq!(client.send(&[b"ZADD", b"set", b"1", &value]).to_string(), ":1");
    // As many as there is room for, up to 300.
    let pushed = (1..=300).take_while(|len| client.send(&[b"RPUSH", b"list", &value]).to_string() == format!(":{len}"));
    assert!(pushed.count() > 64);
    let words = |line: &str| common::words(line);
    let names = |many: usize| (0..many).map(|_| b"client".to_vec());
    for words in [
        words("LRANGE list 0 -1"),
        words("ZRANDMEMBER set -600"),
        words("COMMAND DOCS").into_iter().chain(names(50_000)).collect(),
        words("COMMAND INFO").into_iter().chain(names(100_000)).collect(),
    ] {
        let name = String::from_utf8_lossy(&words[0]).into_owned();
        let held = peak_of(&database, &words, "-OOM");
        // The buffer of a reply grows to twice its length.
        assert!(held < 9 * MAY_HOLD / 4, "{name} held {held} bytes");
    }
}

#[test]
fn a_copy_holds_no_more_than_what_it_writes() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let database = Database::open();
    let mut client = database.client();
    let value = vec![b'x'; 32 << 20];
    let words = [b"SET".to_vec(), b"long".to_vec(), value.clone()];
    // What the transaction takes.
    let written = peak_of(&database, &words, "+OK");
    assert!(written < 4 * value.len() as u64, "{written} bytes");
    let copied = peak_of(&database, &common::words("COPY long other"), ":1");
    assert!(
        copied < written + (8 << 20),
        "{copied} bytes, {written} to write as much"
    );
    assert_eq!(client.run("STRLEN other"), format!(":{}", value.len()));
}

#[test]
fn what_waits_for_exec_is_not_more_than_a_command_may_hold() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let database = Database::open();
    let value = vec![b'x'; 1 << 20];
    let held = peak(|| {
        let mut client = database.client();
        client.run("MULTI");
        let queue = (0..400).map(|_| client.send(&[b"SET", b"k", &value]).to_string());
        let refused = queue.filter(|answer| answer.starts_with("-OOM")).count();
        assert!(refused > 0);
        assert!(client.run("EXEC").starts_with("-EXECABORT"));
        assert_eq!(client.run("GET k"), "$-1");
    });
    assert!(held < MAY_HOLD * 3 / 2, "{held} bytes");
}
