//! Regular expressions, by the `regex` crate: ICU's syntax as far as it needs no backtracking (no look-around, no
//! back-references), in time linear in the text.

use types::charset::char_count;
use types::error::{ErrorKind, SqlError};
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use governor::bulk;
use parser::ast::VarScope;
use regex::Captures;

use super::args::{Args, Inference, string_type};
use super::{Function, between};
use crate::collation::is_given_bytes;
use crate::pattern::{Flags, Limits, Pattern};

pub const FUNCTIONS: &[Function] = &[
    Function::strict("REGEXP_LIKE", between(2, 3), infer_like, like),
    Function::strict("REGEXP_INSTR", between(2, 6), infer_instr, instr),
    Function::strict("REGEXP_SUBSTR", between(2, 5), infer_substr, substr),
    Function::strict("REGEXP_REPLACE", between(3, 6), infer_replace, replace),
];

/// The collation of a search; 3995 where a binary string meets a text, whether or not there is a row.
fn searching_collation(inference: &mut Inference<'_>) -> SqlResult<()> {
    check_character_sets(inference, [standing(inference, 0), standing(inference, 1)])?;
    inference.comparing_collation(0, 2)?;
    Ok(())
}

/// What an argument is to the check of character sets.
#[derive(Clone, Copy, PartialEq)]
enum Standing {
    Text(CollationId),
    /// A VARBINARY: BINARY and BLOB go with text.
    Bytes,
    Neither,
}

fn standing(inference: &Inference<'_>, arg: usize) -> Standing {
    if is_given_bytes(&inference.args[arg]) {
        return Standing::Neither;
    }
    match &inference.args[arg].ty {
        ty if ty.collation == CollationId::BINARY => match ty.kind {
            TypeKind::VarBinary => Standing::Bytes,
            _ => Standing::Neither,
        },
        ty if ty.kind.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set) => Standing::Text(ty.collation),
        _ => Standing::Neither,
    }
}

/// 3995 where some are texts and others binary strings.
fn check_character_sets<const N: usize>(inference: &Inference<'_>, standings: [Standing; N]) -> SqlResult<()> {
    let text = standings.iter().enumerate().find_map(|(at, standing)| match standing {
        Standing::Text(collation) => Some((at, *collation)),
        _ => None,
    });
    let bytes = standings.iter().position(|standing| *standing == Standing::Bytes);
    let (Some((text, collation)), Some(bytes)) = (text, bytes) else {
        return Ok(());
    };
    let mut names = [collation.name(), CollationId::BINARY.name()];
    if bytes < text {
        names.reverse();
    }
    let names: [&dyn std::fmt::Display; 3] = [&names[0], &names[1], &inference.name.to_ascii_lowercase()];
    Err(SqlError::new(ErrorKind::CharacterSetMismatch, &names))
}

fn infer_like(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    searching_collation(inference)?;
    Ok(inference.nullable_as_args(SqlType::boolean()))
}

fn infer_instr(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    searching_collation(inference)?;
    Ok(inference.nullable_as_args(SqlType {
        length: 21,
        ..SqlType::bigint()
    }))
}

fn infer_substr(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    searching_collation(inference)?;
    let collation = inference.mix_collations(0, 1)?;
    Ok(string_type(inference.chars(0), text_collation(collation)))
}

fn infer_replace(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    searching_collation(inference)?;
    // Beside bytes of any kind a literal becomes a binary string, and as such meets the replacement.
    let is_bytes = |arg: usize| inference.args[arg].ty.kind.is_binary() && !is_given_bytes(&inference.args[arg]);
    let becomes = |arg: usize, other: usize| match standing(inference, arg) {
        Standing::Text(_) if is_bytes(other) && inference.literal(arg).is_some() => Standing::Bytes,
        standing => standing,
    };
    check_character_sets(inference, [becomes(0, 1), becomes(1, 0), standing(inference, 2)])?;
    let collation = inference.mix_collations(0, 1)?;
    Ok(SqlType::text(TypeKind::LongText, text_collation(collation)))
}

fn text_collation(collation: CollationId) -> CollationId {
    if collation == CollationId::BINARY {
        CollationId::UTF8MB4_BIN
    } else {
        collation
    }
}

/// Runs `work` with the compiled second argument; `match_type` is the index of the argument with its flags.
fn with_pattern<R>(args: &Args<'_>, match_type: usize, work: impl FnOnce(&Pattern) -> SqlResult<R>) -> SqlResult<R> {
    let mixed = crate::collation::aggregate(&args.exprs[..2], args.ctx.settings.collation, "", true)?;
    let mut flags = Flags {
        ignore_case: !mixed.collation.is_binary() && !is_case_sensitive(mixed.collation),
        ..Flags::default()
    };
    let letters = if args.len() > match_type {
        args.text(match_type)
    } else {
        "".into()
    };
    for letter in letters.chars() {
        match letter {
            'c' => flags.ignore_case = false,
            'i' => flags.ignore_case = true,
            'm' => flags.multi_line = true,
            'n' => flags.dot_all = true,
            'u' => {}
            _ => {
                let name = args_name(match_type);
                return Err(SqlError::new(ErrorKind::WrongArguments, &[&name]));
            }
        }
    }
    let pattern = args.text(1);
    let key = format!("{}{}{}", flags.ignore_case, flags.multi_line, flags.dot_all);
    args.ctx
        .pattern(&pattern, &key, || Pattern::new(&pattern, flags, limits(args)), work)
}

/// Whether a text matches a pattern of a JSON schema; `None` for one that is no pattern.
pub(super) fn schema_pattern_matches(args: &Args<'_>, pattern: &str, text: &str) -> SqlResult<Option<bool>> {
    let compile = || Pattern::new(pattern, Flags::default(), limits(args));
    let matched = args
        .ctx
        .pattern(pattern, "schema", compile, |pattern| pattern.is_match(text));
    match matched {
        Ok(matched) => Ok(Some(matched)),
        Err(error) if (3685..=3700).contains(&error.kind().code()) && !is_limit(error.kind()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_limit(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::RegexpTimeOut | ErrorKind::RegexpStackOverflow | ErrorKind::RegexpPatternTooBig
    )
}

/// `regexp_time_limit` and `regexp_stack_limit`, as they are when the pattern is compiled.
fn limits(args: &Args<'_>) -> Limits {
    let services = args.ctx.statement.services;
    let number = |name| match services.system_variable(Some(VarScope::Global), name) {
        Ok((Value::UInt(number), _)) => Some(number),
        _ => None,
    };
    let default = Limits::default();
    Limits {
        time: number("regexp_time_limit").unwrap_or(default.time),
        stack_bytes: number("regexp_stack_limit").unwrap_or(default.stack_bytes),
    }
}

fn args_name(match_type: usize) -> &'static str {
    match match_type {
        2 => "regexp_like",
        4 => "regexp_substr",
        _ => "regexp_replace",
    }
}

fn is_case_sensitive(collation: CollationId) -> bool {
    collation.name().ends_with("_cs")
}

fn like(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    with_pattern(args, 2, |pattern| Ok(Value::from(pattern.is_match(&text)?)))
}

/// The byte offset of the 1-based character position in argument `index`; 3686 when it lies outside of the text.
fn start(args: &Args<'_>, index: usize, text: &str) -> SqlResult<usize> {
    if args.len() <= index {
        return Ok(0);
    }
    let position = args.int(index)?;
    let chars = char_count(text.as_bytes()) as i64;
    if position < 1 || position > chars + 1 {
        return Err(ErrorKind::RegexpIndexOutOfBounds.into());
    }
    Ok(CollationId::DEFAULT
        .prefix(text.as_bytes(), position as usize - 1)
        .len())
}

fn occurrence(args: &Args<'_>, index: usize) -> SqlResult<usize> {
    Ok(if args.len() > index {
        args.int(index)?.max(1) as usize
    } else {
        1
    })
}

/// `REGEXP_INSTR(text, pattern [, position [, occurrence [, after [, match_type]]]])`
fn instr(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    let start = start(args, 2, &text)?;
    let nth = occurrence(args, 3)?;
    let after = args.len() > 4 && args.int(4)? == 1;
    with_pattern(args, 5, |pattern| {
        let found = pattern.find_iter(&text[start..]).nth(nth - 1).transpose()?;
        let place = found.map_or(0, |found| {
            let at = start + if after { found.end } else { found.start };
            char_count(&text.as_bytes()[..at]) as i64 + 1
        });
        Ok(Value::Int(place))
    })
}

/// `REGEXP_SUBSTR(text, pattern [, position [, occurrence [, match_type]]])`
fn substr(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    let start = start(args, 2, &text)?;
    let nth = occurrence(args, 3)?;
    with_pattern(args, 4, |pattern| {
        let found = pattern.find_iter(&text[start..]).nth(nth - 1).transpose()?;
        Ok(found.map_or(Value::Null, |found| Value::str(&text[start..][found])))
    })
}

/// `REGEXP_REPLACE(text, pattern, replacement [, position [, occurrence [, match_type]]])`; occurrence 0 is all of them.
fn replace(args: &Args<'_>) -> SqlResult<Value> {
    let text = args.text(0);
    let replacement = args.text(2);
    let start = start(args, 3, &text)?;
    let nth = if args.len() > 4 {
        args.int(4)?.max(0) as usize
    } else {
        0
    };
    let has_groups = replacement.contains(['$', '\\']);
    with_pattern(args, 5, |pattern| {
        let mut out = bulk::copy(&text.as_bytes()[..start]);
        let searched = &text[start..];
        let mut end = 0;
        for (i, found) in pattern.find_iter(searched).enumerate() {
            let found = found?;
            if nth != 0 && i + 1 != nth {
                continue;
            }
            bulk::append(&mut out, &searched.as_bytes()[end..found.start]);
            match has_groups {
                true => {
                    let mut expanded = String::new();
                    expand(&replacement, &pattern.groups(searched, &found)?, &mut expanded)?;
                    bulk::append(&mut out, expanded.as_bytes());
                }
                false => bulk::append(&mut out, replacement.as_bytes()),
            }
            if args.too_long("regexp_replace", out.len() as u64)? {
                return Ok(Value::Null);
            }
            end = found.end;
            if nth != 0 {
                break;
            }
        }
        bulk::append(&mut out, &searched.as_bytes()[end..]);
        if args.too_long("regexp_replace", out.len() as u64)? {
            return Ok(Value::Null);
        }
        Ok(args.string_result(out))
    })
}

/// ICU's replacement text: `$1` and `${name}` are groups, `\` makes the next character plain.
fn expand(replacement: &str, captures: &Captures<'_>, out: &mut String) -> SqlResult<()> {
    let mut rest = replacement.chars().peekable();
    while let Some(c) = rest.next() {
        governor::tick()?;
        match c {
            '\\' => out.extend(rest.next()),
            '$' if rest.peek().is_some_and(char::is_ascii_digit) => {
                // As many digits as name a group there is.
                let mut group = 0usize;
                while let Some(digit) = rest.peek().and_then(|c| c.to_digit(10)) {
                    let longer = group * 10 + digit as usize;
                    if group > 0 && longer >= captures.len() {
                        break;
                    }
                    group = longer;
                    rest.next();
                }
                if group >= captures.len() {
                    return Err(ErrorKind::RegexpIndexOutOfBounds.into());
                }
                out.push_str(captures.get(group).map_or("", |found| found.as_str()));
            }
            '$' if rest.peek() == Some(&'{') => {
                rest.next();
                let name: String = rest.by_ref().take_while(|c| *c != '}').collect();
                let found = captures
                    .name(&name)
                    .ok_or_else(|| SqlError::from(ErrorKind::RegexpIllegalArgument))?;
                out.push_str(found.as_str());
            }
            '$' => return Err(ErrorKind::RegexpIllegalArgument.into()),
            other => out.push(other),
        }
    }
    Ok(())
}
