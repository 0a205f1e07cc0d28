//! Lists, beside a model.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;

use common::{Answer, Client, Database, Expected as _};
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Push(bool, Vec<u8>),
    Remove(i64, u8),
    Insert(bool, u8, u8),
    Trim(i64, i64),
}

fn step() -> impl Strategy<Value = Step> {
    let value = || 0..4u8;
    prop_oneof![
        (any::<bool>(), prop::collection::vec(value(), 1..12)).prop_map(|(left, values)| Step::Push(left, values)),
        (-4..5i64, value()).prop_map(|(count, value)| Step::Remove(count, value)),
        (any::<bool>(), value(), value()).prop_map(|(after, pivot, value)| Step::Insert(after, pivot, value)),
        (-20..20i64, -20..20i64).prop_map(|(start, stop)| Step::Trim(start, stop)),
    ]
}

struct Run {
    client: Client,
    model: Vec<u8>,
}

impl Run {
    fn step(&mut self, step: &Step) {
        let model = &mut self.model;
        match step {
            Step::Push(left, values) => {
                let words: Vec<String> = values.iter().map(ToString::to_string).collect();
                let command = if *left { "LPUSH" } else { "RPUSH" };
                self.client.run(&format!("{command} k {}", words.join(" ")));
                for value in values {
                    model.insert(if *left { 0 } else { model.len() }, *value);
                }
            }
            Step::Remove(count, value) => {
                let equal: Vec<usize> = (0..model.len()).filter(|&at| model[at] == *value).collect();
                let most = if *count == 0 {
                    usize::MAX
                } else {
                    count.unsigned_abs() as usize
                };
                let removed: Vec<usize> = match *count < 0 {
                    true => equal.iter().rev().take(most).copied().collect(),
                    false => equal.iter().take(most).copied().collect(),
                };
                let answer = self.client.run(&format!("LREM k {count} {value}"));
                assert_eq!(answer, format!(":{}", removed.len()));
                let mut at = 0;
                model.retain(|_| {
                    at += 1;
                    !removed.contains(&(at - 1))
                });
            }
            Step::Insert(after, pivot, value) => {
                let place = if *after { "AFTER" } else { "BEFORE" };
                self.client.run(&format!("LINSERT k {place} {pivot} {value}"));
                if let Some(at) = model.iter().position(|other| other == pivot) {
                    model.insert(at + usize::from(*after), *value);
                }
            }
            Step::Trim(start, stop) => {
                self.client.run(&format!("LTRIM k {start} {stop}"));
                let len = model.len() as i64;
                let place = |at: i64| if at < 0 { (len + at).max(-1) } else { at };
                let (start, stop) = (place(*start).max(0), place(*stop).min(len - 1));
                *model = match start <= stop {
                    true => model[start as usize..=stop as usize].to_vec(),
                    false => Vec::new(),
                };
            }
        }
    }

    fn check(&mut self) {
        let found = self.client.answer("LRANGE k 0 -1");
        let found: Vec<u8> = found.elements().iter().map(value_of).collect();
        assert_eq!(found, self.model);
        assert_eq!(self.client.run("LLEN k"), format!(":{}", self.model.len()));
    }
}

fn value_of(answer: &Answer) -> u8 {
    std::str::from_utf8(answer.bytes()).unwrap().parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn values_stand_where_they_were_put(steps in prop::collection::vec(step(), 1..30)) {
        let mut run = Run { client: Database::open().client(), model: Vec::new() };
        for step in &steps {
            run.step(step);
            run.check();
        }
    }
}
