//! Union, intersection and difference of sorted sets, and of sets as if their members had the score 1.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use redis_wire::number::{parse_f64, parse_i64};
use store::Direction;
use types::IndexId;

use super::{Range, Scored};
use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, syntax, wrong_type};
use crate::head::Kind;
use crate::tables::Part;
use crate::types::set::member_in;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// How the scores of one member become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Aggregate {
    Sum,
    Min,
    Max,
}

impl Aggregate {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Aggregate::Sum => {
                let sum = a + b;
                // Of two infinities that cancel each other out nothing is left.
                if sum.is_nan() { 0.0 } else { sum }
            }
            Aggregate::Min => a.min(b),
            Aggregate::Max => a.max(b),
        }
    }
}

/// The members of a set or a sorted set, those of sets with score 1.
pub fn scored_members(call: &Call, key: &[u8]) -> Outcome<Vec<Scored>> {
    match call.work.kind(&call.db, key) {
        None => Ok(Vec::new()),
        Some(Kind::SortedSet) => {
            let set = call.zset(key)?;
            call.members_in(&set, &Range::Ranks(0, -1), false, None)
        }
        Some(Kind::Set) => {
            let mut members = Vec::new();
            if let Some(set) = call.work.collection(&call.db, key, Kind::Set)? {
                let forward = Direction::Forward;
                call.work.scan(
                    &call.db,
                    Part::Set,
                    IndexId::PRIMARY,
                    set.id,
                    forward,
                    |layout, row, _| {
                        members.push((member_in(layout, row).to_vec(), 1.0));
                        Ok(ControlFlow::Continue(()))
                    },
                )?;
            }
            Ok(members)
        }
        Some(_) => Err(wrong_type()),
    }
}

/// An error where one of the keys is neither a sorted set nor a set.
fn check_sets(call: &Call, keys: &[&[u8]]) -> Outcome {
    for key in call.db.ahead(keys) {
        governor::tick()?;
        if !matches!(call.work.kind(&call.db, key), None | Some(Kind::SortedSet | Kind::Set)) {
            return Err(wrong_type());
        }
    }
    Ok(())
}

/// `2 a b …`: the keys, and what follows them.
fn combined_keys<'c>(call: &Call<'c, '_>, at: usize) -> Outcome<(&'c [&'c [u8]], &'c [&'c [u8]])> {
    let count = call.integer(at)?;
    if count < 1 {
        return Err(Failure::naming(
            "ERR at least 1 input key is needed for '{}' command",
            &[&call.args[0].to_ascii_lowercase()],
        ));
    }
    let rest = &call.args[at + 1..];
    let count = usize::try_from(count)
        .ok()
        .filter(|&count| count <= rest.len())
        .ok_or_else(syntax)?;
    Ok(rest.split_at(count))
}

/// How scores become those of the result.
struct Scoring {
    /// Of each set.
    weights: Vec<f64>,
    aggregate: Aggregate,
}

/// What an operation on several sets makes, and whether scores are wanted.
fn combined(call: &Call, at: usize, operation: Operation, stores: bool) -> Outcome<(Vec<Scored>, bool)> {
    let (keys, _) = combined_keys(call, at)?;
    check_sets(call, keys)?;
    let (mut scoring, mut with_scores) = (Scoring::of(keys.len()), false);
    let mut options = call.options(at + 1 + keys.len());
    while let Some(option) = options.next() {
        match option {
            option if operation != Operation::Difference && is_word(option, "WEIGHTS") => {
                for weight in &mut scoring.weights {
                    let wrong = || Failure::reply("ERR weight value is not a float");
                    *weight = parse_f64(options.value()?).ok_or_else(wrong)?;
                }
            }
            option if operation != Operation::Difference && is_word(option, "AGGREGATE") => {
                scoring.aggregate = match options.value()? {
                    how if is_word(how, "SUM") => Aggregate::Sum,
                    how if is_word(how, "MIN") => Aggregate::Min,
                    how if is_word(how, "MAX") => Aggregate::Max,
                    _ => return Err(syntax()),
                };
            }
            option if !stores && is_word(option, "WITHSCORES") => with_scores = true,
            _ => return Err(syntax()),
        }
    }
    let found = combine(call, keys, operation, &scoring)?;
    let mut found: Vec<Scored> = found.into_iter().collect();
    governor::sort::sort_by(&mut found, |a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)))?;
    Ok((found, with_scores))
}

impl Scoring {
    /// Scores as they are, added.
    fn of(sets: usize) -> Scoring {
        Scoring {
            weights: vec![1.0; sets],
            aggregate: Aggregate::Sum,
        }
    }
}

fn combine(
    call: &Call,
    keys: &[&[u8]],
    operation: Operation,
    Scoring { weights, aggregate }: &Scoring,
) -> Outcome<BTreeMap<Vec<u8>, f64>> {
    let mut found = BTreeMap::new();
    for (at, key) in keys.iter().enumerate() {
        let members = scored_members(call, key)?;
        let weighted = |score: f64| {
            let score = weights[at] * score;
            if score.is_nan() { 0.0 } else { score }
        };
        match operation {
            Operation::Union => {
                for (member, score) in members {
                    governor::tick()?;
                    let score = weighted(score);
                    let entry = found.entry(member);
                    entry
                        .and_modify(|known| *known = aggregate.of(*known, score))
                        .or_insert(score);
                }
            }
            Operation::Intersection if at == 0 => {
                for (member, score) in members {
                    governor::tick()?;
                    found.insert(member, weighted(score));
                }
            }
            Operation::Intersection => {
                let mut both = BTreeMap::new();
                for (member, score) in members {
                    governor::tick()?;
                    if let Some(known) = found.remove(&member) {
                        both.insert(member, aggregate.of(known, weighted(score)));
                    }
                }
                found = both;
            }
            Operation::Difference if at == 0 => found.extend(members),
            Operation::Difference => {
                for (member, _) in members {
                    governor::tick()?;
                    found.remove(&member);
                }
            }
        }
    }
    Ok(found)
}

fn answer(call: &mut Call, operation: Operation) -> Outcome {
    let (found, with_scores) = combined(call, 1, operation, false)?;
    call.answer_scored(found.iter(), with_scores)
}

fn store(call: &mut Call, operation: Operation, event: &'static str) -> Outcome {
    let (found, _) = combined(call, 2, operation, true)?;
    call.store_scored(call.args[1], &found, event)
}

pub fn zunion(call: &mut Call) -> Outcome {
    answer(call, Operation::Union)
}

pub fn zinter(call: &mut Call) -> Outcome {
    answer(call, Operation::Intersection)
}

pub fn zdiff(call: &mut Call) -> Outcome {
    answer(call, Operation::Difference)
}

pub fn zunionstore(call: &mut Call) -> Outcome {
    store(call, Operation::Union, "zunionstore")
}

pub fn zinterstore(call: &mut Call) -> Outcome {
    store(call, Operation::Intersection, "zinterstore")
}

pub fn zdiffstore(call: &mut Call) -> Outcome {
    store(call, Operation::Difference, "zdiffstore")
}

pub fn zintercard(call: &mut Call) -> Outcome {
    let (keys, rest) = combined_keys(call, 1)?;
    check_sets(call, keys)?;
    let limit = match rest {
        [] => 0,
        [option, limit] if is_word(option, "LIMIT") => {
            let limit = parse_i64(limit).filter(|&limit| limit >= 0);
            limit.ok_or_else(|| Failure::reply("ERR LIMIT can't be negative"))?
        }
        _ => return Err(syntax()),
    };
    let found = combine(call, keys, Operation::Intersection, &Scoring::of(keys.len()))?;
    let found = found.len() as i64;
    call.reply.integer(if limit > 0 { found.min(limit) } else { found });
    Ok(())
}
