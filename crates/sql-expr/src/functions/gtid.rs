//! GTID_SUBSET and GTID_SUBTRACT: arithmetic of sets of transaction ids, as texts. The server itself gives no such ids.
//!
//! ```text
//! 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:9:tag:1-3, 4e11fa47-…:7
//! ```
//!
//! Source: the MySQL manual, "GTID Sets".

use std::collections::BTreeMap;
use std::fmt::Write as _;

use types::error::{ErrorKind, SqlError};
use types::{SqlResult, SqlType, TypeKind, Value};

use super::args::Inference;
use super::{Function, exactly};
use crate::collation::Coercibility;

pub const FUNCTIONS: &[Function] = &[
    Function::strict("GTID_SUBSET", exactly(2), infer_truth, |args| {
        let (one, other) = (GtidSet::parse(&args.text(0))?, GtidSet::parse(&args.text(1))?);
        Ok(Value::from(one.without(&other)?.ids.is_empty()))
    }),
    Function::strict("GTID_SUBTRACT", exactly(2), infer_text, |args| {
        let (one, other) = (GtidSet::parse(&args.text(0))?, GtidSet::parse(&args.text(1))?);
        Ok(args.text_result(one.without(&other)?.text()?))
    }),
];

fn infer_truth(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let ty = SqlType {
        length: 21,
        ..SqlType::bigint()
    };
    Ok(inference.nullable_as_args(ty))
}

fn infer_text(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.coercibility = Some(Coercibility::Coercible);
    Ok(SqlType::text(TypeKind::LongText, inference.connection()))
}

/// The largest number of a transaction.
const LAST: u64 = i64::MAX as u64 - 1;
const TAG_CHARS_MAX: usize = 32;

/// The first and the last number.
type Interval = (u64, u64);

/// By server and tag; intervals rise, and no two touch.
#[derive(Default)]
struct GtidSet {
    ids: BTreeMap<(String, String), Vec<Interval>>,
}

impl GtidSet {
    fn parse(text: &str) -> SqlResult<GtidSet> {
        let mut set = GtidSet::default();
        let mut reader = Reader { text, at: 0 };
        loop {
            while reader.eat(b',') {
                governor::tick()?;
            }
            if reader.peek().is_none() {
                break;
            }
            reader.server(&mut set)?;
            if reader.peek().is_some_and(|byte| byte != b',') {
                return Err(reader.expected("\",\""));
            }
        }
        for intervals in set.ids.values_mut() {
            *intervals = merged(std::mem::take(intervals))?;
        }
        set.ids.retain(|_, intervals| !intervals.is_empty());
        Ok(set)
    }

    fn without(&self, other: &GtidSet) -> SqlResult<GtidSet> {
        let mut left = GtidSet::default();
        for (id, intervals) in &self.ids {
            let taken = other.ids.get(id).map_or(&[][..], |taken| taken);
            let rest = difference(intervals, taken)?;
            if !rest.is_empty() {
                left.ids.insert(id.clone(), rest);
            }
        }
        Ok(left)
    }

    fn text(&self) -> SqlResult<String> {
        let mut text = String::new();
        let mut last_server = "";
        for ((server, tag), intervals) in &self.ids {
            if server != last_server {
                let separator = if text.is_empty() { "" } else { ",\n" };
                let _ = write!(text, "{separator}{server}");
                last_server = server;
            }
            if !tag.is_empty() {
                let _ = write!(text, ":{tag}");
            }
            for (first, last) in intervals {
                governor::tick()?;
                let _ = match first == last {
                    true => write!(text, ":{first}"),
                    false => write!(text, ":{first}-{last}"),
                };
            }
        }
        Ok(text)
    }
}

fn merged(mut intervals: Vec<Interval>) -> SqlResult<Vec<Interval>> {
    governor::sort::sort_by(&mut intervals, Ord::cmp)?;
    let mut merged: Vec<Interval> = Vec::new();
    for (first, last) in intervals {
        governor::tick()?;
        match merged.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    Ok(merged)
}

fn difference(from: &[Interval], taken: &[Interval]) -> SqlResult<Vec<Interval>> {
    let mut rest = Vec::new();
    let mut taken = taken.iter().peekable();
    for &(mut first, last) in from {
        governor::tick()?;
        while let Some(&&(taken_first, taken_last)) = taken.peek() {
            governor::tick()?;
            if taken_first > last {
                break;
            }
            if taken_first > first {
                rest.push((first, taken_first - 1));
            }
            first = first.max(taken_last + 1);
            if taken_last > last {
                break;
            }
            taken.next();
        }
        if first <= last {
            rest.push((first, last));
        }
    }
    Ok(rest)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        loop {
            match self.here() {
                Some(byte) if byte.is_ascii_whitespace() => self.at += 1,
                byte => return byte,
            }
            governor::pause();
        }
    }

    fn here(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    /// `uuid[:tag][:number[-number]]...`
    fn server(&mut self, set: &mut GtidSet) -> SqlResult<()> {
        let server = self.uuid()?;
        let mut tag = String::new();
        while self.eat(b':') {
            governor::tick()?;
            match self.peek() {
                Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => tag = self.tag()?,
                _ => {
                    let (first, last) = self.interval()?;
                    if first <= last {
                        let id = (server.clone(), tag.clone());
                        set.ids.entry(id).or_default().push((first, last));
                    }
                }
            }
        }
        Ok(())
    }

    /// In lower case, with its hyphens.
    fn uuid(&mut self) -> SqlResult<String> {
        let is_braced = self.eat(b'{');
        self.peek();
        let mut uuid = String::with_capacity(36);
        let mut is_hyphenated = false;
        for place in 0..32 {
            if matches!(place, 8 | 12 | 16 | 20) {
                let has_hyphen = self.here() == Some(b'-');
                match place {
                    8 => is_hyphenated = has_hyphen,
                    _ if is_hyphenated && !has_hyphen => return Err(self.expected("\"-\"")),
                    _ => {}
                }
                self.at += usize::from(is_hyphenated);
                uuid.push('-');
            }
            match self.here() {
                Some(digit) if digit.is_ascii_hexdigit() => uuid.push(char::from(digit.to_ascii_lowercase())),
                _ => return Err(self.expected("hex digit")),
            }
            self.at += 1;
        }
        if is_braced && !self.eat(b'}') {
            return Err(self.expected("\"}\""));
        }
        Ok(uuid)
    }

    fn tag(&mut self) -> SqlResult<String> {
        let rest = &self.text.as_bytes()[self.at..];
        let is_of_tag = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let length = rest.iter().take(TAG_CHARS_MAX + 1).take_while(is_of_tag).count();
        if length > TAG_CHARS_MAX {
            return Err(self.expected("number"));
        }
        let tag = self.text[self.at..self.at + length].to_ascii_lowercase();
        self.at += length;
        Ok(tag)
    }

    fn interval(&mut self) -> SqlResult<Interval> {
        let first = self.number(1, "Interval start")?;
        match self.eat(b'-') {
            true => Ok((first, self.number(0, "Interval end")?)),
            false => Ok((first, first)),
        }
    }

    fn number(&mut self, least: u64, name: &str) -> SqlResult<u64> {
        self.peek();
        let start = self.at;
        let mut number = 0_u64;
        while let Some(digit) = self.here().filter(u8::is_ascii_digit) {
            number = number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            self.at += 1;
            governor::pause();
        }
        if self.at == start {
            return Err(self.expected("number"));
        }
        match number {
            number if (least..=LAST).contains(&number) => Ok(number),
            _ => {
                self.at = start;
                Err(self.malformed(&format!("{name} out of range")))
            }
        }
    }

    fn expected(&self, what: &str) -> SqlError {
        self.malformed(&format!("Expected {what}"))
    }

    /// 1772, which shows a little of the text around the place.
    fn malformed(&self, what: &str) -> SqlError {
        const BEFORE: usize = 12;
        const BEHIND: usize = 25;
        let (mut from, mut to) = (self.at.saturating_sub(BEFORE), (self.at + BEHIND).min(self.text.len()));
        from = self.text.floor_char_boundary(from);
        to = self.text.floor_char_boundary(to);
        let at = self.text.floor_char_boundary(self.at);
        let (cut_before, cut_behind) = (
            if from > 0 { "..." } else { "" },
            if to < self.text.len() { "..." } else { "" },
        );
        let (before, behind) = (&self.text[from..at], &self.text[at..to.max(at)]);
        let place = match self.at {
            0 => format!("{what} at the beginning of the string: \"{behind}{cut_behind}\""),
            at => format!(
                "{what} after {at} characters, marked by [HERE] in: \"{cut_before}{before}[HERE]{behind}{cut_behind}\""
            ),
        };
        SqlError::new(ErrorKind::MalformedGtidSet, &[&place])
    }
}
