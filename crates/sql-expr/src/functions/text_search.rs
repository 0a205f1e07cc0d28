//! Finding, choosing and replacing strings.

use std::borrow::Cow;
use std::cmp::Ordering;

use governor::bulk;
use types::collation::Finder;
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use super::args::{Args, Inference, string_type, string_value};
use super::{Function, at_least, between, exactly};
use crate::compare::Comparison;
use crate::context::EvalContext;
use crate::{Expr, arithmetic, convert};

pub const FUNCTIONS: &[Function] = &[
    Function::strict("INSTR", exactly(2), infer_position, |args| locate(args, 0, 1, 1)),
    Function::strict("LOCATE", between(2, 3), infer_position, |args| {
        let from = if args.len() == 3 { args.int(2)? } else { 1 };
        locate(args, 1, 0, from)
    }),
    Function::strict("POSITION", exactly(2), infer_position, |args| locate(args, 1, 0, 1)),
    Function::strict("FIND_IN_SET", exactly(2), infer_find_in_set, find_in_set),
    Function::lazy("FIELD", at_least(2), infer_field, field),
    Function::lazy("ELT", at_least(2), infer_elt, elt),
    Function::strict("REPLACE", exactly(3), infer_replace, replace),
    Function::strict("SUBSTRING_INDEX", exactly(3), infer_substring_index, substring_index),
    Function::strict("STRCMP", exactly(2), infer_strcmp, strcmp),
    Function::lazy("MAKE_SET", at_least(2), infer_make_set, make_set),
    Function::strict("EXPORT_SET", between(3, 5), infer_export_set, export_set),
    Function::strict("SOUNDEX", exactly(1), infer_soundex, |args| {
        Ok(args.text_result(soundex(&args.text(0), args.is_binary())))
    }),
];

/// The collation under which the first two arguments are searched.
fn search_collation(args: &Args<'_>) -> CollationId {
    let connection = args.ctx.settings.collation;
    crate::collation::aggregate(&args.exprs[..2], connection, "", true)
        .map_or(CollationId::BINARY, |mixed| mixed.collation)
}

fn infer_find_in_set(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.comparing_collation(0, 2)?;
    infer_position(inference)
}

fn infer_position(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(inference.nullable_as_args(SqlType {
        length: 11,
        ..SqlType::bigint()
    }))
}

/// The 1-based place in characters of `needle` in `haystack`, looked for from the `from`th character on; 0 for none.
///
/// The haystack's collation decides, whatever the needle's coercibility: MySQL looks at no other.
fn locate(args: &Args<'_>, haystack: usize, needle: usize, from: i64) -> SqlResult<Value> {
    let collation = match args.arg_type(haystack) {
        ty if ty.kind.is_text() || ty.kind.is_binary() => ty.collation,
        _ => search_collation(args),
    };
    let (text, pattern) = (
        args.string_under(haystack, collation)?,
        args.string_under(needle, collation)?,
    );
    if from < 1 {
        return Ok(Value::Int(0));
    }
    let skipped = usize::try_from(from - 1).unwrap_or(usize::MAX);
    // An empty needle is found behind the last character, and no further.
    if skipped > collation.char_count(&text) {
        return Ok(Value::Int(0));
    }
    let start = collation.prefix(&text, skipped).len();
    let found = collation.find(&text, &pattern, start);
    Ok(Value::Int(
        found.map_or(0, |at| collation.char_count(&text[..at]) as i64 + 1),
    ))
}

fn find_in_set(args: &Args<'_>) -> SqlResult<Value> {
    let collation = search_collation(args);
    let (wanted, list) = (args.string_under(0, collation)?, args.string_under(1, collation)?);
    // Of a SET it is the place among all that may be in it.
    if let Value::Set(set) = args.value(1) {
        let place = set
            .labels
            .iter()
            .position(|label| collation.equal(label.as_bytes(), &wanted));
        let place = place.filter(|at| set.bits >> at & 1 == 1);
        return Ok(Value::Int(place.map_or(0, |at| at as i64 + 1)));
    }
    if list.is_empty() || wanted.contains(&b',') {
        return Ok(Value::Int(0));
    }
    let found = list
        .split(|byte| *byte == b',')
        .take_while(|_| governor::go_on())
        .position(|item| collation.equal(item, &wanted));
    Ok(Value::Int(found.map_or(0, |at| at as i64 + 1)))
}

fn infer_field(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    if matches!(
        field_comparison(inference.args, inference.ctx)?,
        Comparison::Double | Comparison::Integer | Comparison::Decimal
    ) {
        inference.hex_as_numbers();
    }
    Ok(SqlType {
        length: 3,
        ..SqlType::bigint()
    }
    .not_null())
}

/// All text: as text; all integers: as integers; otherwise as doubles.
fn field_comparison(args: &[Expr], ctx: &EvalContext<'_>) -> SqlResult<Comparison> {
    let is_text = |arg: &Expr| {
        let is_string = crate::collation::is_stringlike(&arg.ty) && arg.ty.kind != TypeKind::Bit;
        is_string || arg.ty.kind.is_temporal() || arg.is_null_literal()
    };
    if args.iter().all(is_text) {
        // The first argument's collation decides alone.
        let first = crate::collation::aggregate(&args[..1], ctx.settings.collation, "field", false)?;
        return Ok(match first.collation {
            CollationId::BINARY => Comparison::Bytes,
            collation => Comparison::Text(collation),
        });
    }
    let domain = |expr: &Expr| arithmetic::numeric_domain(&expr.ty);
    Ok(
        if args
            .iter()
            .all(|arg| matches!(domain(arg), arithmetic::Domain::Integer { .. }))
        {
            Comparison::Integer
        } else if args.iter().all(|arg| domain(arg) != arithmetic::Domain::Double) {
            Comparison::Decimal
        } else {
            Comparison::Double
        },
    )
}

/// Which of the later arguments equals the first; 0 for none, and for NULL.
fn field(_: &Expr, args: &[Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let how = field_comparison(args, ctx)?;
    let wanted = how.of_operand(&args[0], Cow::Owned(args[0].eval(row, ctx)?));
    if wanted.is_null() {
        return Ok(Value::Int(0));
    }
    for (i, arg) in args[1..].iter().enumerate() {
        let value = how.of_operand(arg, Cow::Owned(arg.eval(row, ctx)?));
        if how.compare(&wanted, &value, ctx)? == Some(Ordering::Equal) {
            return Ok(Value::Int(i as i64 + 1));
        }
    }
    Ok(Value::Int(0))
}

fn infer_elt(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_number(0);
    let collation = inference.mix_collations(1, usize::MAX)?;
    let chars = (1..inference.args.len()).map(|i| inference.chars(i)).max().unwrap_or(0);
    Ok(string_type(chars, collation))
}

fn elt(expr: &Expr, args: &[Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let index = args[0].eval(row, ctx)?;
    if index.is_null() {
        return Ok(Value::Null);
    }
    let index = convert::to_i64(&index, ctx)?;
    match usize::try_from(index)
        .ok()
        .filter(|index| (1..args.len()).contains(index))
    {
        Some(index) => args[index].eval_into(&expr.ty, row, ctx),
        None => Ok(Value::Null),
    }
}

fn infer_replace(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.first_collation()?;
    let (text, from, to) = (inference.chars(0), inference.chars(1), inference.chars(2));
    // Every character may become the replacement.
    let chars = if to > from {
        text + text / from.max(1) * (to - from)
    } else {
        text
    };
    Ok(inference.nullable_as_args(string_type(chars, collation)))
}

/// Byte for byte, whatever the collation.
fn replace(args: &Args<'_>) -> SqlResult<Value> {
    let (text, from, to) = (args.string(0)?, args.string(1)?, args.string(2)?);
    if from.is_empty() {
        return args.same_string(0);
    }
    let mut out = Vec::with_capacity(text.len());
    let finder = Finder::new(&from);
    let mut done = 0;
    while let Some(at) = finder.find(&text, done) {
        governor::tick()?;
        bulk::append(&mut out, &text[done..at]);
        bulk::append(&mut out, &to);
        if args.too_long("replace", out.len() as u64)? {
            return Ok(Value::Null);
        }
        done = at + from.len();
    }
    if done == 0 {
        return args.same_string(0);
    }
    bulk::append(&mut out, &text[done..]);
    Ok(args.string_result(out))
}

fn infer_substring_index(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.first_collation()?;
    Ok(inference.nullable_as_args(string_type(inference.chars(0), collation)))
}

/// What stands before the `count`th delimiter; after it, counted from the end, for a negative count.
fn substring_index(args: &Args<'_>) -> SqlResult<Value> {
    let (text, delimiter) = (args.string(0)?, args.string(1)?);
    let count = args.int(2)?;
    if count == 0 || text.is_empty() || delimiter.is_empty() {
        return Ok(args.string_result(Vec::new()));
    }
    let finder = Finder::new(&delimiter);
    // The place of the delimiter with that number; how many there are, where there are fewer.
    let place_of = |number: usize| -> SqlResult<Result<usize, usize>> {
        let (mut from, mut found) = (0, 0);
        while let Some(at) = finder.find(&text, from) {
            governor::tick()?;
            if found == number {
                return Ok(Ok(at));
            }
            found += 1;
            from = at + delimiter.len();
        }
        Ok(Err(found))
    };
    let index = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let part = if count > 0 {
        place_of(index - 1)?.map_or(&text[..], |at| &text[..at])
    } else {
        // Counted from the left, so that delimiters that overlap are the same ones.
        let all = place_of(usize::MAX)?.unwrap_or_else(|all| all);
        match all.checked_sub(index) {
            Some(nth) => place_of(nth)?.map_or(&text[..], |at| &text[at + delimiter.len()..]),
            None => &text[..],
        }
    };
    match part.len() == text.len() {
        true => args.same_string(0),
        false => Ok(args.string_result(bulk::copy(part))),
    }
}

fn infer_strcmp(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.comparing_collation(0, 2)?;
    Ok(inference.nullable_as_args(SqlType {
        length: 2,
        ..SqlType::bigint()
    }))
}

fn strcmp(args: &Args<'_>) -> SqlResult<Value> {
    let collation = search_collation(args);
    let order = collation.compare(&args.string_under(0, collation)?, &args.string_under(1, collation)?);
    Ok(Value::Int(order as i64))
}

fn infer_make_set(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.hex_as_number(0);
    let collation = inference.mix_collations(1, usize::MAX)?;
    let chars = (1..inference.args.len())
        .map(|i| inference.chars(i) + 1)
        .sum::<u64>()
        .saturating_sub(1);
    let nullable = inference.args[0].ty.nullable;
    Ok(SqlType {
        nullable,
        ..string_type(chars, collation)
    })
}

fn make_set(expr: &Expr, args: &[Expr], row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<Value> {
    let bits = args[0].eval_ref(row, ctx)?;
    if bits.is_null() {
        return Ok(Value::Null);
    }
    let bits = convert::bits_of(&args[0], &bits, ctx)?;
    // Only the strings whose bits are set are computed.
    let mut chosen = Vec::new();
    for (at, arg) in args[1..].iter().enumerate().take(64) {
        if bits >> at & 1 == 1 {
            let value = arg.eval_into(&expr.ty, row, ctx)?;
            if !value.is_null() {
                chosen.push(value);
            }
        }
    }
    let mut out = Vec::new();
    for (at, value) in chosen.iter().enumerate() {
        if at > 0 {
            bulk::append(&mut out, b",");
        }
        bulk::append(&mut out, &convert::to_bytes(value));
    }
    Ok(string_value(out, expr.ty.kind.is_binary()))
}

fn infer_export_set(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.mix_collations(1, 4)?;
    let piece = inference.chars(1).max(inference.chars(2));
    let separator = if inference.args.len() > 3 {
        inference.chars(3)
    } else {
        1
    };
    Ok(inference.nullable_as_args(string_type(piece * 64 + separator * 63, collation)))
}

fn export_set(args: &Args<'_>) -> SqlResult<Value> {
    let bits = args.bits(0)?;
    let (on, off) = (args.string(1)?, args.string(2)?);
    let separator = if args.len() > 3 {
        args.string(3)?
    } else {
        b",".as_slice().into()
    };
    let count = match args.len() {
        5 => u64::try_from(args.int(4)?).map_or(64, |count| count.min(64)),
        _ => 64,
    };
    let mut out = Vec::new();
    for bit in 0..count {
        if bit > 0 {
            bulk::append(&mut out, &separator);
        }
        bulk::append(&mut out, if bits >> bit & 1 == 1 { &on } else { &off });
        if args.too_long("export_set", out.len() as u64)? {
            return Ok(Value::Null);
        }
    }
    Ok(args.string_result(out))
}

fn infer_soundex(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let collation = inference.mix_collations(0, 1)?;
    Ok(inference.nullable_as_args(string_type(inference.chars(0).max(4), collation)))
}

/// MySQL's: the first letter, then the codes of the others, at least four characters, of any length. Bytes have ASCII letters only.
fn soundex(text: &str, is_binary: bool) -> String {
    // Vowels and H, W, Y have no code; other alphabets' letters count as vowels.
    fn code(letter: char) -> u8 {
        const CODES: &[u8; 26] = b"01230120022455012623010202";
        match letter.to_ascii_uppercase() {
            letter @ 'A'..='Z' => CODES[letter as usize - 'A' as usize],
            _ => b'0',
        }
    }
    let mut letters = bulk::text_pieces(text).flat_map(str::chars).filter(|c| {
        if is_binary {
            c.is_ascii_alphabetic()
        } else {
            c.is_alphabetic()
        }
    });
    let Some(first) = letters.next() else {
        return String::new();
    };
    let mut out = String::from(first.to_ascii_uppercase());
    let mut last = code(first);
    for letter in letters {
        let code = code(letter);
        if code != b'0' && code != last {
            out.push(char::from(code));
            last = code;
        }
    }
    while out.chars().count() < 4 {
        out.push('0');
    }
    out
}
