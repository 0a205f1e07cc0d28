//! Sorted sets: a row for each member, and an index by score and member.
//!
//! * this file: members, scores, ranges; [`take`]: the first or the last ones, also for those who wait for some; [`several`]: several sets at
//!   once.

pub mod several;
pub mod take;

use std::ops::{Bound, ControlFlow};

use redis_wire::Protocol;
use redis_wire::number::{parse_f64, parse_i64, parse_wide};
use store::{Direction, KeyRange};
use types::{RowLayout, ValueRef};

use crate::call::{Call, is_word};
use crate::chance::{choose, count_of};
use crate::collection::Collection;
use crate::failure::{Failure, Outcome, not_float, syntax, wrong_number_of_arguments};
use crate::head::Kind;
use crate::tables::{Db, Member, Part, layout_of};
use crate::types::generic::remove_members;
use crate::types::set::member_in;
use crate::work::{Class, Work};

const SCORE: usize = 3;

pub fn score_in(layout: &RowLayout, row: &[u8]) -> f64 {
    match layout.column(row, SCORE) {
        ValueRef::Double(score) => score,
        _ => 0.0,
    }
}

/// A member and its score.
pub type Scored = (Vec<u8>, f64);

/// The score of a member.
pub fn score_of(work: &Work<'_>, db: &Db, id: u64, member: &[u8]) -> Option<f64> {
    let member = Member::new(member);
    let key = [ValueRef::UInt(id), ValueRef::Bytes(member.indexed())];
    work.element(db, Part::SortedSet, key, score_in)
}

/// Gives a member a score. `old` is what it has.
pub fn put(work: &mut Work<'_>, db: &Db, set: &mut Collection, member: &[u8], score: f64, old: Option<f64>) -> Outcome {
    let member = Member::new(member);
    let whole = member.whole.map_or(ValueRef::Null, ValueRef::Bytes);
    // Zero has no sign in an order.
    let score = ValueRef::Double(if score == 0.0 { 0.0 } else { score });
    let row = [ValueRef::UInt(set.id), ValueRef::Bytes(member.indexed()), whole, score];
    work.put_element(db, Part::SortedSet, &row)?;
    set.len += u64::from(old.is_none());
    Ok(())
}

/// Walks members by score, then by member.
fn each(
    work: &Work<'_>,
    db: &Db,
    range: KeyRange,
    direction: Direction,
    mut visit: impl FnMut(&[u8], f64) -> Outcome<ControlFlow<()>>,
) -> Outcome {
    work.scan_range(db, Part::SortedSet, db.by_score, range, direction, |layout, row, _| {
        visit(member_in(layout, row), score_in(layout, row))
    })
}

/// All keys of a set in the index by score.
fn whole(db: &Db, id: u64) -> KeyRange {
    db.range_of(Part::SortedSet, db.by_score, id)
}

/// Walks the members with scores from one on and below another.
pub fn each_scored(
    work: &Work<'_>,
    db: &Db,
    id: u64,
    min: f64,
    below: f64,
    visit: impl FnMut(&[u8], f64) -> Outcome<ControlFlow<()>>,
) -> Outcome {
    let layout = layout_of(db.table(Part::SortedSet), db.by_score);
    let key = |score: f64| {
        let mut key = Vec::new();
        layout.encode_refs([ValueRef::UInt(id), ValueRef::Double(score)], &mut key);
        key
    };
    let (from, to) = (key(min), key(below));
    let range = KeyRange::between(Bound::Included(&from), Bound::Excluded(&to));
    each(work, db, range, Direction::Forward, visit)
}

/// A limit of scores: `1.5`, `(1.5`, `-inf`.
#[derive(Debug, Clone, Copy)]
struct ScoreLimit {
    value: f64,
    excluded: bool,
}

impl ScoreLimit {
    fn of(arg: &[u8]) -> Outcome<ScoreLimit> {
        let (excluded, text) = match arg {
            [b'(', text @ ..] => (true, text),
            text => (false, text),
        };
        // As C reads it: nothing at all is zero, and spaces in front do not count.
        let text = text.trim_ascii_start();
        let wrong = || Failure::reply("ERR min or max is not a float");
        let value = match text {
            [] => 0.0,
            text => parse_wide(text).ok_or_else(wrong)?,
        };
        Ok(ScoreLimit { value, excluded })
    }
}

/// A limit of members: `[a`, `(a`, `-`, `+`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum LexLimit<'a> {
    First,
    Last,
    Included(&'a [u8]),
    Excluded(&'a [u8]),
}

impl<'a> LexLimit<'a> {
    fn of(arg: &'a [u8]) -> Outcome<LexLimit<'a>> {
        match arg {
            b"-" => Ok(LexLimit::First),
            b"+" => Ok(LexLimit::Last),
            [b'[', member @ ..] => Ok(LexLimit::Included(member)),
            [b'(', member @ ..] => Ok(LexLimit::Excluded(member)),
            _ => Err(Failure::reply("ERR min or max not valid string range item")),
        }
    }

    fn is_below(&self, member: &[u8]) -> bool {
        match self {
            LexLimit::First => true,
            LexLimit::Last => false,
            LexLimit::Included(limit) => *limit <= member,
            LexLimit::Excluded(limit) => *limit < member,
        }
    }

    fn is_above(&self, member: &[u8]) -> bool {
        match self {
            LexLimit::First => false,
            LexLimit::Last => true,
            LexLimit::Included(limit) => *limit >= member,
            LexLimit::Excluded(limit) => *limit > member,
        }
    }
}

/// Which members a command means.
enum Range<'a> {
    Ranks(i64, i64),
    Scores(ScoreLimit, ScoreLimit),
    Members(LexLimit<'a>, LexLimit<'a>),
}

impl Call<'_, '_> {
    fn zset(&self, key: &[u8]) -> Outcome<Option<Collection>> {
        self.work.collection(&self.db, key, Kind::SortedSet)
    }

    fn score_range(&self, id: u64, min: ScoreLimit, max: ScoreLimit) -> KeyRange {
        let layout = layout_of(self.db.table(Part::SortedSet), self.db.by_score);
        let key = |limit: ScoreLimit| {
            let value = if limit.value == 0.0 { 0.0 } else { limit.value };
            let mut key = Vec::new();
            layout.encode_refs([ValueRef::UInt(id), ValueRef::Double(value)], &mut key);
            key
        };
        if min.value > max.value {
            return KeyRange::empty();
        }
        let (lower, upper) = (key(min), key(max));
        let bound = |excluded: bool, key| match excluded {
            true => Bound::Excluded(key),
            false => Bound::Included(key),
        };
        KeyRange::between(
            bound(min.excluded, lower.as_slice()),
            bound(max.excluded, upper.as_slice()),
        )
    }

    /// The members that a range means, in its order.
    fn members_in(
        &self,
        set: &Option<Collection>,
        range: &Range<'_>,
        reverse: bool,
        limit: Option<(i64, i64)>,
    ) -> Outcome<Vec<Scored>> {
        let mut found = Vec::new();
        let Some(set) = set else { return Ok(found) };
        let direction = match reverse {
            true => Direction::Backward,
            false => Direction::Forward,
        };
        let (mut skip, mut most) = match limit {
            Some((offset, _)) if offset < 0 => return Ok(found),
            Some((offset, count)) => (offset as u64, u64::try_from(count).unwrap_or(u64::MAX)),
            None => (0, u64::MAX),
        };
        let keys = match range {
            Range::Ranks(start, stop) => {
                let len = set.len as i64;
                let from_end = |at: i64| if at < 0 { len + at } else { at };
                let (start, stop) = (from_end(*start).max(0), from_end(*stop).min(len - 1));
                if start > stop {
                    return Ok(found);
                }
                (skip, most) = (start as u64, (stop - start + 1) as u64);
                whole(&self.db, set.id)
            }
            Range::Scores(min, max) => self.score_range(set.id, *min, *max),
            Range::Members(..) => whole(&self.db, set.id),
        };
        if most == 0 || keys.is_empty() {
            return Ok(found);
        }
        each(self.work, &self.db, keys, direction, |member, score| {
            if let Range::Members(min, max) = range {
                let is_over = match reverse {
                    true => !min.is_below(member),
                    false => !max.is_above(member),
                };
                if is_over {
                    return Ok(ControlFlow::Break(()));
                }
                if !min.is_below(member) || !max.is_above(member) {
                    return Ok(ControlFlow::Continue(()));
                }
            }
            if skip > 0 {
                skip -= 1;
                return Ok(ControlFlow::Continue(()));
            }
            found.push((member.to_vec(), score));
            most -= 1;
            Ok(match most {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        })?;
        Ok(found)
    }

    /// Members, perhaps with their scores: in pairs where the protocol has them.
    fn answer_scored<'s>(&mut self, found: impl ExactSizeIterator<Item = &'s Scored>, with_scores: bool) -> Outcome {
        let in_pairs = with_scores && self.reply.protocol == Protocol::Resp3;
        self.reply.array(match with_scores && !in_pairs {
            true => found.len() * 2,
            false => found.len(),
        });
        for (member, score) in found {
            governor::tick()?;
            if in_pairs {
                self.reply.array(2);
            }
            self.reply.bulk(member);
            if with_scores {
                self.reply.double(*score);
            }
        }
        Ok(())
    }

    /// Makes a key the sorted set of these members.
    pub fn store_scored(&mut self, key: &[u8], found: &[Scored], event: &'static str) -> Outcome {
        let db = self.db.clone();
        let existed = self.work.remove(&db, key)?;
        if found.is_empty() {
            if existed {
                self.note(Class::Generic, "del", key);
            }
        } else {
            let mut set = self.work.collection_to_fill(&db, key, Kind::SortedSet)?;
            for (member, score) in found {
                governor::tick()?;
                let old = score_of(self.work, &db, set.id, member);
                put(self.work, &db, &mut set, member, *score, old)?;
            }
            self.work.save(&db, key, Kind::SortedSet, &set)?;
            self.note(Class::SortedSet, event, key);
        }
        self.reply.integer(found.len() as i64);
        Ok(())
    }
}

/// What ZADD is told beside members and scores.
#[derive(Default)]
pub struct AddOptions {
    pub only_new: bool,
    pub only_existing: bool,
    pub only_greater: bool,
    pub only_less: bool,
    pub counts_changed: bool,
    pub increments: bool,
}

impl AddOptions {
    /// Reads those of the words that stand behind the key, and gives what follows them.
    pub fn read<'c>(call: &Call<'c, '_>, known: &[&str]) -> (AddOptions, &'c [&'c [u8]]) {
        let mut options = AddOptions::default();
        let mut rest = &call.args[2..];
        while let Some((word, behind)) = rest.split_first()
            && let Some(&word) = known.iter().find(|known| is_word(word, known))
        {
            match word {
                "NX" => options.only_new = true,
                "XX" => options.only_existing = true,
                "GT" => options.only_greater = true,
                "LT" => options.only_less = true,
                "CH" => options.counts_changed = true,
                _ => options.increments = true,
            }
            rest = behind;
        }
        (options, rest)
    }
}

pub fn zadd(call: &mut Call) -> Outcome {
    let (options, pairs) = AddOptions::read(call, &["NX", "XX", "GT", "LT", "CH", "INCR"]);
    if pairs.is_empty() || pairs.len() % 2 == 1 {
        return Err(syntax());
    }
    if options.only_new && options.only_existing {
        return Err(Failure::reply(
            "ERR XX and NX options at the same time are not compatible",
        ));
    }
    if options.only_greater && options.only_less || options.only_new && (options.only_greater || options.only_less) {
        return Err(Failure::reply(
            "ERR GT, LT, and/or NX options at the same time are not compatible",
        ));
    }
    if options.increments && pairs.len() > 2 {
        return Err(Failure::reply(
            "ERR INCR option supports a single increment-element pair",
        ));
    }
    let mut scored = Vec::with_capacity(pairs.len() / 2);
    for pair in pairs.chunks(2) {
        scored.push((pair[1], parse_f64(pair[0]).ok_or_else(not_float)?));
    }
    add(call, &scored, &options)
}

/// Adds members with scores to the key that is the first argument, and answers as ZADD.
pub fn add(call: &mut Call, scored: &[(&[u8], f64)], options: &AddOptions) -> Outcome {
    let key = call.arg(1);
    let db = call.db.clone();
    let existing = call.zset(key)?;
    if existing.is_none() && options.only_existing {
        match options.increments {
            true => call.reply.null(),
            false => call.reply.integer(0),
        }
        return Ok(());
    }
    let mut set = match existing {
        Some(set) => set,
        None => call.work.collection_to_fill(&db, key, Kind::SortedSet)?,
    };
    let (mut added, mut updated, mut last) = (0, 0, None);
    for &(member, score) in scored {
        governor::tick()?;
        let old = score_of(call.work, &db, set.id, member);
        let new = match old {
            Some(old) if options.increments => old + score,
            _ => score,
        };
        if new.is_nan() {
            return Err(Failure::reply("ERR resulting score is not a number (NaN)"));
        }
        let is_wanted = match old {
            None => !options.only_existing,
            Some(old) => !options.only_new && (!options.only_greater || new > old) && (!options.only_less || new < old),
        };
        if !is_wanted {
            continue;
        }
        last = Some(new);
        if old != Some(new) {
            put(call.work, &db, &mut set, member, new, old)?;
            match old {
                None => added += 1,
                Some(_) => updated += 1,
            }
        }
    }
    if added + updated > 0 {
        call.work.save(&db, key, Kind::SortedSet, &set)?;
        call.note(Class::SortedSet, if options.increments { "zincr" } else { "zadd" }, key);
    }
    match (options.increments, last) {
        (true, Some(score)) => call.reply.double(score),
        (true, None) => call.reply.null(),
        (false, _) => call
            .reply
            .integer(added + if options.counts_changed { updated } else { 0 }),
    }
    Ok(())
}

pub fn zincrby(call: &mut Call) -> Outcome {
    let by = call.float(2)?;
    let options = AddOptions {
        increments: true,
        ..AddOptions::default()
    };
    add(call, &[(call.args[3], by)], &options)
}

pub fn zrem(call: &mut Call) -> Outcome {
    let set = call.zset(call.args[1])?;
    remove_members(call, Kind::SortedSet, set, (Class::SortedSet, "zrem"))
}

pub fn zcard(call: &mut Call) -> Outcome {
    let set = call.zset(call.args[1])?;
    call.reply.integer(set.map_or(0, |set| set.len as i64));
    Ok(())
}

pub fn zscore(call: &mut Call) -> Outcome {
    let set = call.zset(call.args[1])?;
    match set.and_then(|set| score_of(call.work, &call.db, set.id, call.args[2])) {
        Some(score) => call.reply.double(score),
        None => call.reply.null(),
    }
    Ok(())
}

pub fn zmscore(call: &mut Call) -> Outcome {
    let set = call.zset(call.args[1])?;
    call.reply.array(call.args.len() - 2);
    for &member in &call.args[2..] {
        governor::tick()?;
        let score = set
            .as_ref()
            .and_then(|set| score_of(call.work, &call.db, set.id, member));
        match score {
            Some(score) => call.reply.double(score),
            None => call.reply.null(),
        }
    }
    Ok(())
}

pub fn zrank(call: &mut Call) -> Outcome {
    rank(call, false)
}

pub fn zrevrank(call: &mut Call) -> Outcome {
    rank(call, true)
}

fn rank(call: &mut Call, reverse: bool) -> Outcome {
    let with_score = match call.args.get(3..) {
        None | Some([]) => false,
        Some([option]) if is_word(option, "WITHSCORE") => true,
        Some([_]) => return Err(syntax()),
        _ => return Err(wrong_number_of_arguments(if reverse { "zrevrank" } else { "zrank" })),
    };
    let set = call.zset(call.args[1])?;
    let member = call.arg(2);
    let found = set.and_then(|set| Some((score_of(call.work, &call.db, set.id, member)?, set)));
    let Some((score, set)) = found else {
        match with_score {
            true => call.reply.null_array(),
            false => call.reply.null(),
        }
        return Ok(());
    };
    let mut before = 0;
    let direction = match reverse {
        true => Direction::Backward,
        false => Direction::Forward,
    };
    each(call.work, &call.db, whole(&call.db, set.id), direction, |other, _| {
        if other == member {
            return Ok(ControlFlow::Break(()));
        }
        before += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    if with_score {
        call.reply.array(2);
    }
    call.reply.integer(before);
    if with_score {
        call.reply.double(score);
    }
    Ok(())
}

pub fn zcount(call: &mut Call) -> Outcome {
    let (min, max) = (ScoreLimit::of(call.args[2])?, ScoreLimit::of(call.args[3])?);
    let set = call.zset(call.args[1])?;
    let mut found = 0;
    if let Some(set) = set {
        let range = call.score_range(set.id, min, max);
        if !range.is_empty() {
            each(call.work, &call.db, range, Direction::Forward, |_, _| {
                found += 1;
                Ok(ControlFlow::Continue(()))
            })?;
        }
    }
    call.reply.integer(found);
    Ok(())
}

pub fn zlexcount(call: &mut Call) -> Outcome {
    let range = Range::Members(LexLimit::of(call.arg(2))?, LexLimit::of(call.arg(3))?);
    let set = call.zset(call.args[1])?;
    let found = call.members_in(&set, &range, false, None)?;
    call.reply.integer(found.len() as i64);
    Ok(())
}

/// How a command names a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Member,
}

fn range_of<'c>(by: By, first: &'c [u8], second: &'c [u8], reverse: bool) -> Outcome<Range<'c>> {
    // By rank the order of the limits stays; else a reverse range begins with the greater one.
    let (min, max) = match reverse && by != By::Rank {
        true => (second, first),
        false => (first, second),
    };
    let integer = |arg: &[u8]| parse_i64(arg).ok_or_else(crate::failure::not_integer);
    Ok(match by {
        By::Rank => Range::Ranks(integer(min)?, integer(max)?),
        By::Score => Range::Scores(ScoreLimit::of(min)?, ScoreLimit::of(max)?),
        By::Member => Range::Members(LexLimit::of(min)?, LexLimit::of(max)?),
    })
}

/// What follows the limits of a range.
struct RangeOptions {
    by: By,
    reverse: bool,
    limit: Option<(i64, i64)>,
    with_scores: bool,
}

fn range_options(call: &Call, from: usize, fixed: Option<(By, bool)>, may_have_scores: bool) -> Outcome<RangeOptions> {
    let (by, reverse) = fixed.unwrap_or((By::Rank, false));
    let mut found = RangeOptions {
        by,
        reverse,
        limit: None,
        with_scores: false,
    };
    let mut options = call.options(from);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "WITHSCORES") && may_have_scores => found.with_scores = true,
            option if is_word(option, "LIMIT") => found.limit = Some((options.integer()?, options.integer()?)),
            option if fixed.is_none() && is_word(option, "BYSCORE") => found.by = By::Score,
            option if fixed.is_none() && is_word(option, "BYLEX") => found.by = By::Member,
            option if fixed.is_none() && is_word(option, "REV") => found.reverse = true,
            _ => return Err(syntax()),
        }
    }
    if found.limit.is_some_and(|(_, count)| count != -1) && found.by == By::Rank {
        return Err(Failure::reply(
            "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX",
        ));
    }
    if found.by == By::Rank {
        // All of them, from wherever.
        found.limit = None;
    }
    if found.with_scores && found.by == By::Member {
        return Err(Failure::reply(
            "ERR syntax error, WITHSCORES not supported in combination with BYLEX",
        ));
    }
    Ok(found)
}

fn answer_range(call: &mut Call, fixed: Option<(By, bool)>) -> Outcome {
    let options = range_options(call, 4, fixed, true)?;
    let range = range_of(options.by, call.arg(2), call.arg(3), options.reverse)?;
    let set = call.zset(call.args[1])?;
    let found = call.members_in(&set, &range, options.reverse, options.limit)?;
    call.answer_scored(found.iter(), options.with_scores)
}

pub fn zrange(call: &mut Call) -> Outcome {
    answer_range(call, None)
}

pub fn zrevrange(call: &mut Call) -> Outcome {
    answer_range(call, Some((By::Rank, true)))
}

pub fn zrangebyscore(call: &mut Call) -> Outcome {
    answer_range(call, Some((By::Score, false)))
}

pub fn zrevrangebyscore(call: &mut Call) -> Outcome {
    answer_range(call, Some((By::Score, true)))
}

pub fn zrangebylex(call: &mut Call) -> Outcome {
    answer_range(call, Some((By::Member, false)))
}

pub fn zrevrangebylex(call: &mut Call) -> Outcome {
    answer_range(call, Some((By::Member, true)))
}

pub fn zrangestore(call: &mut Call) -> Outcome {
    let options = range_options(call, 5, None, false)?;
    let range = range_of(options.by, call.arg(3), call.arg(4), options.reverse)?;
    let set = call.zset(call.args[2])?;
    let found = call.members_in(&set, &range, options.reverse, options.limit)?;
    call.store_scored(call.args[1], &found, "zrangestore")
}

fn remove_range(call: &mut Call, by: By, event: &'static str) -> Outcome {
    let range = range_of(by, call.arg(2), call.arg(3), false)?;
    let key = call.arg(1);
    let db = call.db.clone();
    let set = call.zset(key)?;
    let found = call.members_in(&set, &range, false, None)?;
    if let Some(mut set) = set
        && !found.is_empty()
    {
        for (member, _) in &found {
            governor::tick()?;
            call.work.remove_member(&db, Kind::SortedSet, &mut set, member)?;
        }
        call.note(Class::SortedSet, event, key);
        call.work.save(&db, key, Kind::SortedSet, &set)?;
    }
    call.reply.integer(found.len() as i64);
    Ok(())
}

pub fn zremrangebyrank(call: &mut Call) -> Outcome {
    remove_range(call, By::Rank, "zremrangebyrank")
}

pub fn zremrangebyscore(call: &mut Call) -> Outcome {
    remove_range(call, By::Score, "zremrangebyscore")
}

pub fn zremrangebylex(call: &mut Call) -> Outcome {
    remove_range(call, By::Member, "zremrangebylex")
}

pub fn zrandmember(call: &mut Call) -> Outcome {
    let with_scores = match call.args.len() {
        0..=3 => false,
        4 if is_word(call.args[3], "WITHSCORES") => true,
        _ => return Err(syntax()),
    };
    let count = match call.args.len() {
        2 => None,
        _ => Some(count_of(call.args[2])?),
    };
    if count.is_some_and(|count| with_scores && !(-(i64::MAX / 2)..=i64::MAX / 2).contains(&count)) {
        return Err(crate::failure::out_of_range());
    }
    let set = call.zset(call.args[1])?;
    let members = call.members_in(&set, &Range::Ranks(0, -1), false, None)?;
    if members.is_empty() {
        match count {
            None => call.reply.null(),
            Some(_) => call.reply.array(0),
        }
        return Ok(());
    }
    let chosen = choose(&call.work.keyspace.engine().env().random, members.len(), count)?;
    if count.is_none() {
        call.reply.bulk(&members[chosen[0]].0);
        return Ok(());
    }
    call.answer_scored(chosen.iter().map(|&at| &members[at]), with_scores)
}
