//! SORT, SORT_RO: the elements of a list, a set or a sorted set in an order that other keys may give.

use std::cmp::Ordering;

use redis_wire::number::parse_f64;

use crate::call::{Call, is_word};
use crate::failure::{Failure, Outcome, syntax, wrong_type};
use crate::head::Kind;
use crate::types::{list, zset};

#[derive(Default)]
struct SortOptions<'c> {
    reverse: bool,
    by_text: bool,
    limit: Option<(i64, i64)>,
    by: Option<&'c [u8]>,
    gets: Vec<&'c [u8]>,
    target: Option<&'c [u8]>,
}

fn options<'c>(call: &Call<'c, '_>, may_store: bool) -> Outcome<SortOptions<'c>> {
    let mut found = SortOptions::default();
    let mut options = call.options(2);
    while let Some(option) = options.next() {
        governor::tick()?;
        let left = options.rest().len();
        match option {
            option if is_word(option, "ASC") => found.reverse = false,
            option if is_word(option, "DESC") => found.reverse = true,
            option if is_word(option, "ALPHA") => found.by_text = true,
            option if is_word(option, "LIMIT") && left >= 2 => {
                found.limit = Some((options.integer()?, options.integer()?));
            }
            option if may_store && is_word(option, "STORE") && left >= 1 => found.target = options.next(),
            option if is_word(option, "BY") && left >= 1 => found.by = options.next(),
            option if is_word(option, "GET") && left >= 1 => found.gets.extend(options.next()),
            _ => return Err(syntax()),
        }
    }
    Ok(found)
}

/// What a pattern means for an element: `#` itself, `weight_*` a string's value, `hash_*->field` a field's.
fn look_up(call: &Call, pattern: &[u8], element: &[u8]) -> Outcome<Option<Vec<u8>>> {
    if pattern == b"#" {
        return Ok(Some(element.to_vec()));
    }
    let Some(star) = pattern.iter().position(|&byte| byte == b'*') else {
        return Ok(None);
    };
    let (before, after) = (&pattern[..star], &pattern[star + 1..]);
    let arrow = after.windows(2).position(|two| two == b"->");
    let (after, field) = match arrow.filter(|&arrow| arrow + 2 < after.len()) {
        Some(arrow) => (&after[..arrow], Some(&after[arrow + 2..])),
        None => (after, None),
    };
    let key = [before, element, after].concat();
    let found = match field {
        None => call.string(&key),
        Some(field) => call
            .hash(&key)
            .map(|hash| hash.and_then(|hash| call.field(hash.id, field, <[u8]>::to_vec))),
    };
    match found {
        // A key of another type is as none.
        Err(failure) if failure.is_wrong_type() => Ok(None),
        found => found,
    }
}

/// What an element is ordered by.
enum Weight {
    Number(f64),
    Text(Option<Vec<u8>>),
}

fn weight(call: &Call, options: &SortOptions<'_>, element: &[u8]) -> Outcome<Weight> {
    let value = match options.by {
        Some(pattern) => look_up(call, pattern, element)?,
        None => Some(element.to_vec()),
    };
    if options.by_text {
        return Ok(Weight::Text(value));
    }
    // As `strtod` takes it.
    let number = match value.as_deref().map(<[u8]>::trim_ascii_start) {
        None | Some(b"") => Some(0.0),
        Some(text) => parse_f64(text),
    };
    let number = number.ok_or_else(|| Failure::reply("ERR One or more scores can't be converted into double"))?;
    Ok(Weight::Number(number))
}

fn compare(a: &(Weight, Vec<u8>), b: &(Weight, Vec<u8>)) -> Ordering {
    match (&a.0, &b.0) {
        (Weight::Number(x), Weight::Number(y)) => x.total_cmp(y).then_with(|| a.1.cmp(&b.1)),
        (Weight::Text(x), Weight::Text(y)) => x.cmp(y),
        _ => Ordering::Equal,
    }
}

pub fn sort(call: &mut Call) -> Outcome {
    run(call, true)
}

pub fn sort_ro(call: &mut Call) -> Outcome {
    run(call, false)
}

fn run(call: &mut Call, may_store: bool) -> Outcome {
    let mut options = options(call, may_store)?;
    let key = call.arg(1);
    let kind = call.work.kind(&call.db, key);
    let mut elements: Vec<Vec<u8>> = match kind {
        None => Vec::new(),
        Some(Kind::List) => list::values_of(call, key)?,
        Some(Kind::Set | Kind::SortedSet) => {
            let members = zset::several::scored_members(call, key)?;
            members.into_iter().map(|(member, _)| member).collect()
        }
        Some(_) => return Err(wrong_type()),
    };
    // A pattern without a star gives no order; what is stored of a set has one all the same.
    let mut is_sorted = options.by.is_none_or(|by| by.contains(&b'*'));
    if !is_sorted && kind == Some(Kind::Set) && options.target.is_some() {
        (is_sorted, options.by_text, options.by) = (true, true, None);
    }
    if is_sorted {
        let mut weighted = Vec::with_capacity(elements.len());
        for element in elements {
            governor::tick()?;
            weighted.push((weight(call, &options, &element)?, element));
        }
        governor::sort::sort_by(&mut weighted, |a, b| match options.reverse {
            false => compare(a, b),
            true => compare(b, a),
        })?;
        elements = weighted.into_iter().map(|(_, element)| element).collect();
    } else if options.reverse && kind != Some(Kind::Set) {
        elements.reverse();
    }
    if let Some((start, count)) = options.limit {
        let start = usize::try_from(start.max(0)).unwrap_or(usize::MAX).min(elements.len());
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        elements.drain(..start);
        elements.truncate(count);
    }
    let mut output: Vec<Option<Vec<u8>>> = Vec::new();
    for element in elements {
        governor::tick()?;
        if options.gets.is_empty() {
            output.push(Some(element));
            continue;
        }
        for pattern in &options.gets {
            governor::tick()?;
            output.push(look_up(call, pattern, &element)?);
        }
    }
    let Some(target) = options.target else {
        call.reply.array(output.len());
        for value in output {
            match value {
                Some(value) => call.reply.bulk(&value),
                None => call.reply.null(),
            }
        }
        return Ok(());
    };
    let values: Vec<Vec<u8>> = output.into_iter().map(Option::unwrap_or_default).collect();
    list::store(call, target, &values, "sortstore")?;
    call.reply.integer(values.len() as i64);
    Ok(())
}
