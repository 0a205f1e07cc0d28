//! What walks by SCAN promise: what is there from the beginning to the end is returned at least once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use std::collections::BTreeSet;

use common::{Client, Database, Expected as _};

/// Walks to the end; between the steps something happens.
fn walk(client: &mut Client, command: &str, options: &str, mut between: impl FnMut(&mut Client, usize)) -> Vec<String> {
    let (mut found, mut cursor, mut steps) = (Vec::new(), "0".to_owned(), 0);
    loop {
        let answer = client.answer(&format!("{command} {cursor} {options}"));
        let [next, elements] = answer.elements() else {
            panic!("{answer}")
        };
        let elements = elements.elements().iter().map(|element| element.bytes().to_vec());
        found.extend(elements.map(|element| String::from_utf8(element).unwrap()));
        cursor = String::from_utf8(next.bytes().to_vec()).unwrap();
        steps += 1;
        if cursor == "0" {
            return found;
        }
        assert!(steps < 10_000, "{command} has no end");
        between(client, steps);
    }
}

fn fill(client: &mut Client, command: impl Fn(usize) -> String, count: usize) {
    client.pipeline((0..count).map(command));
}

fn unique(found: &[String]) -> BTreeSet<String> {
    found.iter().cloned().collect()
}

#[test]
fn each_element_comes_once_where_nothing_changes() {
    let database = Database::open();
    let mut client = database.client();
    fill(&mut client, |at| format!("SET key:{at} v"), 500);
    fill(&mut client, |at| format!("HSET h field:{at} {at}"), 500);
    fill(&mut client, |at| format!("SADD s member:{at}"), 500);
    fill(&mut client, |at| format!("ZADD z {} member:{at}", at % 7), 500);
    let none = |_: &mut Client, _: usize| {};
    for (command, options, count) in [
        ("SCAN", "", 503),
        ("SCAN", "COUNT 1", 503),
        ("SCAN", "COUNT 1000", 503),
        ("SCAN", "MATCH key:1*", 111),
        ("SCAN", "MATCH *9", 50),
        ("SCAN", "TYPE string", 500),
        ("HSCAN h", "", 1000),
        ("HSCAN h", "NOVALUES COUNT 7", 500),
        ("SSCAN s", "", 500),
        ("ZSCAN z", "COUNT 3", 1000),
    ] {
        let found = walk(&mut client, command, options, none);
        assert_eq!(found.len(), count, "{command} {options}");
    }
    assert_eq!(unique(&walk(&mut client, "SCAN", "", none)).len(), 503);
}

#[test]
fn nothing_that_stays_is_left_out() {
    let database = Database::open();
    let mut client = database.client();
    fill(&mut client, |at| format!("SADD s stays:{at:04}"), 400);
    fill(&mut client, |at| format!("SADD s goes:{at:04}"), 400);
    fill(&mut client, |at| format!("SADD s tgoes:{at:04}"), 400);
    let found = walk(&mut client, "SSCAN s", "COUNT 10", |client, step| {
        client.run(&format!("SREM s goes:{:04} tgoes:{:04}", step, 400 - step));
        client.run(&format!("SADD s a:{step} stays:0000:{step} z:{step}"));
    });
    let found = unique(&found);
    let stay = (0..400).filter(|at| found.contains(&format!("stays:{at:04}"))).count();
    assert_eq!(stay, 400);
}

#[test]
fn a_cursor_outlives_a_restart_and_its_key() {
    let database = Database::open();
    let mut client = database.client();
    fill(&mut client, |at| format!("SET key:{at:04} v"), 300);
    fill(&mut client, |at| format!("SADD s member:{at:04}"), 300);
    for (command, remove) in [("SCAN", "DEL key"), ("SSCAN s", "SREM s member")] {
        let keyspace = database.keyspace.clone();
        let found = walk(&mut client, command, "COUNT 20", |client, step| {
            keyspace.cursors.clear();
            // The key that the cursor stands for is gone, once: the walk begins anew.
            if step == 3 {
                client.pipeline((40..70).map(|at| format!("{remove}:{at:04}")));
            }
        });
        let stay = unique(&found);
        let stay = stay.iter().filter(|key| {
            let at: usize = key.rsplit(':').next().and_then(|at| at.parse().ok()).unwrap_or(0);
            !(40..70).contains(&at)
        });
        assert!(stay.count() >= 270, "{command}");
    }
}
