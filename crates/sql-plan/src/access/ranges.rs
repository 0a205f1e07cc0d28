//! At execution: operands into encoded key ranges.

use std::ops::Bound as KeyBound;

use sql_expr::{EvalContext, Expr};
use store::KeyRange;
use types::{ErrorKind, IndexId, KeyLayout, KeyPart, SqlError, SqlResult, SqlType, Value};

use super::conditions::{Bound, ColumnTest, Interval};
use super::nearest::{Nearest, nearest};
use super::{AccessPath, RangeSpec};

/// The most ranges that one access reads; beyond, the tail of the columns is checked per row instead.
const MAX_RANGES: usize = 65_536;

/// Most keys are shorter.
const POINT_KEY_BYTES: usize = 24;

/// The key ranges to read, in key order and without overlap.
#[derive(Debug)]
pub struct KeyRanges {
    /// Whose ranges they are: the path's, or the primary one where that cannot tell the rows.
    pub index: IndexId,
    pub ranges: Vec<KeyRange>,
    /// The ranges hold exactly the rows that the path's `implied` conditions let through. If not, check them.
    pub exact: bool,
    /// A row may have several entries in the ranges, and is to be read once.
    pub repeats: bool,
}

impl KeyRanges {
    fn of(path: &AccessPath, ranges: Vec<KeyRange>, exact: bool) -> KeyRanges {
        KeyRanges {
            index: path.index,
            ranges,
            exact,
            repeats: false,
        }
    }

    /// The whole table.
    fn everything() -> KeyRanges {
        KeyRanges {
            index: IndexId::PRIMARY,
            ranges: vec![KeyRange::all()],
            exact: false,
            repeats: false,
        }
    }
}

/// Evaluates the operands of a path, with the columns of tables read before in `row`.
pub fn key_ranges(path: &AccessPath, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<KeyRanges> {
    let mut no_text = Vec::new();
    let ranges = ranges_of(path, row, ctx, &mut no_text)?;
    if !no_text.is_empty() {
        ctx.with_warnings(|warnings| no_text.into_iter().for_each(|warning| warnings.warn(warning)));
    }
    Ok(ranges)
}

/// As [`key_ranges`], for a plan that may never run: nothing is told of operands that have no key.
pub fn ranges_to_estimate(path: &AccessPath, ctx: &EvalContext<'_>) -> SqlResult<KeyRanges> {
    ranges_of(path, &[], ctx, &mut Vec::new())
}

fn ranges_of(
    path: &AccessPath,
    row: &[Value],
    ctx: &EvalContext<'_>,
    no_text: &mut Vec<SqlError>,
) -> SqlResult<KeyRanges> {
    let RangeSpec::Prefix { equal, then } = &path.spec else {
        return Ok(KeyRanges::of(path, vec![KeyRange::all()], true));
    };
    let Some(layout) = path.table.key_layout(path.index) else {
        return Ok(KeyRanges::everything());
    };
    if then.is_none() && equal.iter().all(|test| matches!(test, ColumnTest::Equal(_))) {
        return one_prefix(path, equal, layout, row, ctx, no_text);
    }
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    let mut repeats = false;
    for (part, test) in equal.iter().enumerate() {
        let Some(values) = list_values(path, test, part, row, ctx, no_text)? else {
            return Ok(cut_short(path, prefixes));
        };
        if prefixes.len() * values.len() > MAX_RANGES {
            return Ok(cut_short(path, prefixes));
        }
        repeats |= matches!(test, ColumnTest::Elements(_)) && values.len() > 1;
        let extend = |prefix: &Vec<u8>, value: &Value| {
            let mut key = prefix.clone();
            layout.encode_part_to(part, value, &mut key);
            key
        };
        prefixes = prefixes
            .iter()
            .flat_map(|prefix| values.iter().map(move |value| extend(prefix, value)))
            .collect();
    }
    // A part with a prefix length holds only the beginning of the value.
    let exact = layout.parts()[..equal.len() + usize::from(then.is_some())]
        .iter()
        .all(|part| part.prefix.is_none());
    let Some(then) = then else {
        let ranges = prefixes.iter().map(|prefix| KeyRange::prefix(prefix)).collect();
        return Ok(KeyRanges {
            repeats,
            ..KeyRanges::of(path, in_order(ranges), exact)
        });
    };
    let Some(tails) = tail_ranges(then, layout, equal.len(), row, ctx)? else {
        return Ok(cut_short(path, prefixes));
    };
    if prefixes.len() > 1 && prefixes.len() * tails.len() > MAX_RANGES {
        return Ok(cut_short(path, prefixes));
    }
    let mut ranges = Vec::with_capacity(prefixes.len() * tails.len());
    for prefix in &prefixes {
        for (lower, upper) in &tails {
            governor::tick()?;
            let join = |bound: &KeyBound<Vec<u8>>| match bound {
                KeyBound::Included(key) => KeyBound::Included([prefix, key.as_slice()].concat()),
                KeyBound::Excluded(key) => KeyBound::Excluded([prefix, key.as_slice()].concat()),
                KeyBound::Unbounded => KeyBound::Included(prefix.clone()),
            };
            let (lower, upper) = (join(lower), join(upper));
            ranges.push(KeyRange::between(as_slice(&lower), as_slice(&upper)));
        }
    }
    let exact = exact && !matches!(then, ColumnTest::StartsWith(_));
    Ok(KeyRanges {
        repeats,
        ..KeyRanges::of(path, in_order(ranges), exact)
    })
}

/// [`key_ranges`] where each column is compared with one value, which is what most statements ask for: without lists of values.
fn one_prefix(
    path: &AccessPath,
    equal: &[ColumnTest],
    layout: &KeyLayout,
    row: &[Value],
    ctx: &EvalContext<'_>,
    no_text: &mut Vec<SqlError>,
) -> SqlResult<KeyRanges> {
    let mut key = Vec::with_capacity(POINT_KEY_BYTES);
    let (mut exact, mut matches) = (true, true);
    for (part, test) in equal.iter().enumerate() {
        let ColumnTest::Equal(operand) = test else {
            unreachable!("the caller has looked")
        };
        let KeyPart { ty, prefix, .. } = &layout.parts()[part];
        match operand_of(operand, ty, row, ctx)? {
            Operand::Stored(value) => layout.encode_part_to(part, &value, &mut key),
            Operand::Null | Operand::NotStored => matches = false,
            Operand::NoText(value) => {
                no_text.push(no_text_in(path, part, &value));
                matches = false;
            }
            Operand::Incomparable => {
                exact = false;
                break;
            }
        }
        // A part with a prefix length holds only the beginning of the value.
        exact &= prefix.is_none();
    }
    let ranges = match matches {
        true => vec![KeyRange::of_prefix(key)],
        false => Vec::new(),
    };
    Ok(KeyRanges::of(path, ranges, exact))
}

/// The ranges as far as the operands go, when one of them has no key.
fn cut_short(path: &AccessPath, prefixes: Vec<Vec<u8>>) -> KeyRanges {
    // Not all rows have entries in a multi-valued index.
    if path.is_multi_valued() {
        return KeyRanges::everything();
    }
    let ranges = prefixes.iter().map(|prefix| KeyRange::prefix(prefix)).collect();
    KeyRanges::of(path, in_order(ranges), false)
}

fn as_slice(bound: &KeyBound<Vec<u8>>) -> KeyBound<&[u8]> {
    match bound {
        KeyBound::Included(key) => KeyBound::Included(key),
        KeyBound::Excluded(key) => KeyBound::Excluded(key),
        KeyBound::Unbounded => KeyBound::Unbounded,
    }
}

/// Sorts ranges and joins those that overlap.
fn in_order(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.retain(|range| !range.is_empty());
    if ranges.len() < 2 {
        return ranges;
    }
    ranges.sort_by(|a, b| a.from.cmp(&b.from));
    let mut joined: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if last.to.as_ref().is_none_or(|to| *to >= range.from) => {
                let further = match (&last.to, &range.to) {
                    (None, _) | (_, None) => None,
                    (Some(a), Some(b)) => Some(a.max(b).clone()),
                };
                last.to = further;
            }
            _ => joined.push(range),
        }
    }
    joined
}

/// The stored values that a list test lets through; `None` when the key cannot hold one of the operands.
fn list_values(
    path: &AccessPath,
    test: &ColumnTest,
    part: usize,
    row: &[Value],
    ctx: &EvalContext<'_>,
    no_text: &mut Vec<SqlError>,
) -> SqlResult<Option<Vec<Value>>> {
    let Some(ty) = path.table.key_layout(path.index).map(|layout| &layout.parts()[part].ty) else {
        return Ok(None);
    };
    let (operands, null_matches): (Vec<&Expr>, bool) = match test {
        // A column that is NOT NULL has no key for NULL.
        ColumnTest::IsNull if ty.nullable => return Ok(Some(vec![Value::Null])),
        ColumnTest::IsNull => return Ok(Some(Vec::new())),
        ColumnTest::Equal(operand) => (vec![operand], false),
        ColumnTest::NullSafeEqual(operand) => (vec![operand], true),
        ColumnTest::AnyOf(operands) => (operands.iter().collect(), false),
        ColumnTest::Elements(test) => return test.wanted(row, ctx),
        _ => return Ok(None),
    };
    let mut values = Vec::with_capacity(operands.len());
    for operand in operands {
        match operand_of(operand, ty, row, ctx)? {
            Operand::Stored(value) => values.push(value),
            Operand::Null if null_matches && ty.nullable => values.push(Value::Null),
            Operand::Null | Operand::NotStored => {}
            // Beside others it is compared with the rows, which is an error.
            Operand::NoText(_) if matches!(test, ColumnTest::AnyOf(_)) => return Ok(None),
            Operand::NoText(value) => no_text.push(no_text_in(path, part, &value)),
            Operand::Incomparable => return Ok(None),
        }
    }
    Ok(Some(values))
}

/// What an equality asks a column for.
enum Operand {
    Null,
    Stored(Value),
    /// No row has such a value.
    NotStored,
    /// Bytes that are no text in the column's character set: no row has them either.
    NoText(Value),
    /// The key cannot tell.
    Incomparable,
}

/// As MySQL says of a key that it cannot make.
fn no_text_in(path: &AccessPath, part: usize, value: &Value) -> SqlError {
    let column = path.table.key_columns(path.index).get(part).copied();
    let name = column.map_or("", |column| path.table.def.columns[column].name.as_str());
    let bytes = value.as_ref().text_bytes();
    let rest = match std::str::from_utf8(&bytes) {
        Ok(_) => &bytes[..],
        Err(error) => &bytes[error.valid_up_to()..],
    };
    let shown = types::cast::shown_start(rest);
    let arguments: [&dyn std::fmt::Display; 4] = [&"string", &shown, &name, &1];
    SqlError::new(ErrorKind::TruncatedWrongValueForField, &arguments)
}

#[inline]
fn operand_of(operand: &Expr, ty: &SqlType, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Operand> {
    governor::tick()?;
    let value = operand.eval(row, ctx)?;
    if value.is_null() {
        return Ok(Operand::Null);
    }
    Ok(match nearest(&value, ty, &ctx.settings.time_zone) {
        Nearest::Exactly(value) => Operand::Stored(value),
        Nearest::JustAbove(_) | Nearest::BelowAll | Nearest::AboveAll => Operand::NotStored,
        Nearest::Incomparable if ty.kind.is_text() && matches!(value, Value::Bytes(_)) => Operand::NoText(value),
        Nearest::Incomparable => Operand::Incomparable,
    })
}

type EncodedInterval = (KeyBound<Vec<u8>>, KeyBound<Vec<u8>>);

/// The encoded bounds of the column after the equal ones; `None` when the key cannot hold an operand.
fn tail_ranges(
    test: &ColumnTest,
    layout: &KeyLayout,
    part: usize,
    row: &[Value],
    ctx: &EvalContext<'_>,
) -> SqlResult<Option<Vec<EncodedInterval>>> {
    let intervals: &[Interval] = match test {
        ColumnTest::Range(interval) => std::slice::from_ref(interval),
        ColumnTest::Intervals(intervals) => intervals,
        ColumnTest::StartsWith(prefix) => return Ok(starts_with(prefix, layout, part)),
        _ => return Ok(None),
    };
    let mut encoded = Vec::with_capacity(intervals.len());
    for interval in intervals {
        governor::tick()?;
        match encode_interval(interval, layout, part, row, ctx)? {
            Edge::Incomparable => return Ok(None),
            Edge::Empty => {}
            Edge::Keys(keys) => encoded.push(keys),
        }
    }
    Ok(Some(encoded))
}

/// One interval of encoded keys.
enum Edge {
    Keys(EncodedInterval),
    Empty,
    Incomparable,
}

fn encode_interval(
    interval: &Interval,
    layout: &KeyLayout,
    part: usize,
    row: &[Value],
    ctx: &EvalContext<'_>,
) -> SqlResult<Edge> {
    let key_part = &layout.parts()[part];
    let encode = |value: &Value| {
        let mut key = Vec::new();
        layout.encode_part_to(part, value, &mut key);
        key
    };
    // NULL is below every value and in no interval.
    let above_null = match key_part.ty.nullable {
        true => KeyBound::Excluded(encode(&Value::Null)),
        false => KeyBound::Unbounded,
    };
    let place = |bound: &Bound| -> SqlResult<Option<Nearest>> {
        let value = bound.operand.eval(row, ctx)?;
        Ok(if value.is_null() {
            None
        } else {
            Some(nearest(&value, &key_part.ty, &ctx.settings.time_zone))
        })
    };
    // A prefix of a string says only where the string may be.
    let loose = key_part.prefix.is_some();
    let lower = match &interval.lower {
        None => above_null,
        Some(bound) => match place(bound)? {
            None | Some(Nearest::AboveAll) => return Ok(Edge::Empty),
            Some(Nearest::Incomparable) => return Ok(Edge::Incomparable),
            Some(Nearest::BelowAll) => above_null,
            Some(Nearest::Exactly(value)) if bound.inclusive || loose => KeyBound::Included(encode(&value)),
            Some(Nearest::Exactly(value) | Nearest::JustAbove(value)) => KeyBound::Excluded(encode(&value)),
        },
    };
    let upper = match &interval.upper {
        None => KeyBound::Unbounded,
        Some(bound) => match place(bound)? {
            None | Some(Nearest::BelowAll) => return Ok(Edge::Empty),
            Some(Nearest::Incomparable) => return Ok(Edge::Incomparable),
            Some(Nearest::AboveAll) => KeyBound::Unbounded,
            Some(Nearest::Exactly(value)) if !bound.inclusive && !loose => KeyBound::Excluded(encode(&value)),
            Some(Nearest::Exactly(value) | Nearest::JustAbove(value)) => KeyBound::Included(encode(&value)),
        },
    };
    Ok(Edge::Keys(if key_part.descending {
        (upper, lower)
    } else {
        (lower, upper)
    }))
}

/// The keys of the strings that begin with `prefix`; only where weights of a prefix are a prefix of the weights.
fn starts_with(prefix: &Value, layout: &KeyLayout, part: usize) -> Option<Vec<EncodedInterval>> {
    let key = layout.encode_string_prefix(part, prefix)?;
    Some(vec![(KeyBound::Included(key.clone()), KeyBound::Included(key))])
}
