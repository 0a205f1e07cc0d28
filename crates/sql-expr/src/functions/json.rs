//! JSON documents: making, reading, searching and changing them. The documents themselves are the `types` crate's.

use std::borrow::Cow;

use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::json::{self, Json, JsonPath, JsonRef, JsonView, Members, Node, Placement};
use types::{CharsetId, CollationId, SqlResult, SqlType, TypeKind, Value};

use super::args::{Args, Inference, string_type};
use super::{Function, at_least, between, exactly};
use crate::{Cast, Coercibility, Expr, ExprKind, convert};

pub const FUNCTIONS: &[Function] = &[
    Function::nullable("JSON_ARRAY", at_least(0), |_| Ok(SqlType::json().not_null()), array),
    Function::nullable("JSON_OBJECT", at_least(0), infer_object, object),
    Function::strict("JSON_QUOTE", exactly(1), infer_quote, |args| {
        refuse_binary(args)?;
        Ok(args.text_result(json::quote(&args.text(0))))
    }),
    Function::strict("JSON_UNQUOTE", exactly(1), infer_unquote, unquote),
    Function::strict("JSON_EXTRACT", at_least(2), infer_json, extract),
    Function::nullable("JSON_VALUE", exactly(7), infer_value, value),
    Function::strict("JSON_KEYS", between(1, 2), infer_json, keys),
    Function::strict("JSON_LENGTH", between(1, 2), infer_number, length),
    Function::strict("JSON_DEPTH", exactly(1), infer_number, |args| {
        Ok(Value::Int(document(args, 0)?.as_ref().depth() as i64))
    }),
    Function::strict("JSON_TYPE", exactly(1), infer_type, |args| {
        Ok(args.text_result(document(args, 0)?.as_ref().type_name().to_owned()))
    }),
    Function::strict("JSON_VALID", exactly(1), infer_test, valid),
    Function::strict("JSON_PRETTY", exactly(1), infer_text, |args| {
        Ok(args.text_result(document(args, 0)?.as_ref().pretty()))
    }),
    Function::strict("JSON_STORAGE_SIZE", exactly(1), infer_number, |args| {
        Ok(Value::Int(document(args, 0)?.as_ref().as_bytes().len() as i64))
    }),
    Function::strict("JSON_STORAGE_FREE", exactly(1), infer_number, |args| {
        document(args, 0)?;
        Ok(Value::Int(0))
    }),
    Function::strict("JSON_CONTAINS", between(2, 3), infer_test, contains),
    Function::strict("JSON_CONTAINS_PATH", at_least(3), infer_test, contains_path),
    Function::strict("JSON_OVERLAPS", exactly(2), infer_test, overlaps),
    Function::strict("MEMBER OF", exactly(2), infer_test, member_of),
    Function::until("JSON_SEARCH", at_least(3), infer_json, |at| at != 3, search),
    Function::until("JSON_SET", at_least(3), infer_pairs, is_document_or_path, |args| {
        place(args, Placement::Set)
    }),
    Function::until("JSON_INSERT", at_least(3), infer_pairs, is_document_or_path, |args| {
        place(args, Placement::Insert)
    }),
    Function::until("JSON_REPLACE", at_least(3), infer_pairs, is_document_or_path, |args| {
        place(args, Placement::Replace)
    }),
    Function::strict("JSON_REMOVE", at_least(2), infer_json, remove),
    Function::until(
        "JSON_ARRAY_APPEND",
        at_least(3),
        infer_pairs,
        is_document_or_path,
        array_append,
    ),
    Function::until(
        "JSON_ARRAY_INSERT",
        at_least(3),
        infer_pairs,
        is_document_or_path,
        array_insert,
    ),
    Function::nullable("JSON_MERGE_PATCH", at_least(2), infer_json, merge_patch),
    Function::strict("JSON_MERGE_PRESERVE", at_least(2), infer_json, merge_preserve),
    Function::strict("JSON_MERGE", at_least(2), infer_json, merge_preserve),
];

fn infer_json(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::json())
}

fn infer_number(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType {
        length: 21,
        ..SqlType::bigint()
    })
}

fn infer_test(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::boolean())
}

/// Text of JSON, which is always utf8mb4, and gives way to the collation of a column.
fn infer_text(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::text(TypeKind::LongText, CollationId::UTF8MB4_BIN))
}

fn infer_type(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(string_type(17, CollationId::UTF8MB4_BIN))
}

fn infer_value(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let returning = inference.args[6].ty.clone();
    Ok(match returning.kind {
        TypeKind::Null => string_type(512, CollationId::UTF8MB4_0900_BIN),
        _ => SqlType {
            nullable: true,
            ..returning
        },
    })
}

/// 3064 for what is no string.
fn infer_quote(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    takes_text(inference)?;
    let chars = inference.chars(0) * 6 + 2;
    Ok(string_type(chars, CollationId::UTF8MB4_BIN))
}

fn infer_unquote(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    if inference.args[0].ty.kind != TypeKind::Json {
        takes_text(inference)?;
    }
    infer_text(inference)
}

/// 3064 where the argument is a number or a time. Of a binary string is said so when there is one.
fn takes_text(inference: &Inference<'_>) -> SqlResult<()> {
    let kind = inference.args[0].ty.kind;
    let fits = kind.is_text() || kind.is_binary() || matches!(kind, TypeKind::Null | TypeKind::Enum | TypeKind::Set);
    if fits {
        return Ok(());
    }
    let name = inference.name.to_ascii_lowercase();
    Err(SqlError::new(ErrorKind::IncorrectType, &[&1, &name]))
}

/// 3144 for a binary string.
fn refuse_binary(args: &Args<'_>) -> SqlResult<()> {
    match args.arg_type(0).kind.is_binary() {
        true => Err(SqlError::new(ErrorKind::InvalidJsonCharset, &[&"binary"])),
        false => Ok(()),
    }
}

/// Names and values in pairs: 1582 for an odd number.
fn infer_object(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    if inference.args.len() % 2 == 1 {
        return Err(SqlError::new(
            ErrorKind::WrongParamcountToNativeFct,
            &[&inference.name.to_ascii_lowercase()],
        ));
    }
    Ok(SqlType::json().not_null())
}

/// A document, then paths and values in pairs.
fn infer_pairs(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    if inference.args.len().is_multiple_of(2) {
        return Err(SqlError::new(
            ErrorKind::WrongParamcountToNativeFct,
            &[&inference.name.to_ascii_lowercase()],
        ));
    }
    Ok(SqlType::json())
}

fn function_name(args: &Args<'_>) -> String {
    args.name.to_ascii_lowercase()
}

/// The argument as a document: JSON, or text that is parsed (3141). 3146 for anything else.
pub(super) fn document(args: &Args<'_>, i: usize) -> SqlResult<Json> {
    match args.value(i) {
        Value::Json(json) => Ok(json.clone()),
        Value::Str(text) => parse(text, args, i),
        Value::Bytes(_) => Err(SqlError::new(ErrorKind::InvalidJsonCharset, &[&"binary"])),
        _ => Err(SqlError::new(
            ErrorKind::InvalidTypeForJson,
            &[&(i + 1), &function_name(args)],
        )),
    }
}

fn parse(text: &str, args: &Args<'_>, i: usize) -> SqlResult<Json> {
    let parsed = Json::parse(text);
    governor::check()?;
    parsed.map_err(|error| {
        let function = function_name(args);
        SqlError::new(
            ErrorKind::InvalidJsonTextInParam,
            &[&(i + 1), &function, &error.message, &error.position],
        )
    })
}

/// Functions whose result is a truth.
const TRUTHS: [&str; 14] = [
    "ISNULL",
    "IS_IPV4",
    "IS_IPV4_COMPAT",
    "IS_IPV4_MAPPED",
    "IS_IPV6",
    "IS_UUID",
    "JSON_CONTAINS",
    "JSON_CONTAINS_PATH",
    "JSON_OVERLAPS",
    "JSON_SCHEMA_VALID",
    "JSON_VALID",
    "MEMBER OF",
    "REGEXP_LIKE",
    "STRCMP",
];

/// Whether an expression is a truth: its numbers become `false` and `true`. What chooses among truths gives a number.
pub fn is_boolean(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Xor(_)
        | ExprKind::Not(_)
        | ExprKind::Is { .. }
        | ExprKind::Compare(_)
        | ExprKind::Between(_)
        | ExprKind::In(_)
        | ExprKind::Like(_) => true,
        ExprKind::Call(call) => TRUTHS.contains(&call.function.name),
        ExprKind::Literal(_) | ExprKind::Subquery(_) => is_of_boolean_type(expr),
        _ => false,
    }
}

/// An operand beside a document: a truth is `false` or `true`, which no number equals.
pub(crate) fn beside_document(expr: Expr) -> Expr {
    if !is_boolean(&expr) {
        return expr;
    }
    if let Some(Value::Int(number)) = expr.as_literal() {
        let document = Json::from(&Node::Bool(*number != 0));
        return Expr::literal(Value::Json(document), SqlType::json().not_null());
    }
    let ty = SqlType {
        nullable: expr.ty.nullable,
        ..SqlType::json()
    };
    Expr {
        coercibility: expr.coercibility,
        kind: ExprKind::Cast(Box::new(Cast {
            operand: expr,
            length: None,
            elements: None,
        })),
        ty,
    }
}

fn is_of_boolean_type(expr: &Expr) -> bool {
    let boolean = SqlType::boolean();
    expr.ty.kind == boolean.kind && expr.ty.length == boolean.length && !expr.ty.unsigned
}

/// Whether a literal of the expression's type would be a truth where the expression is none, or the other way round.
pub(crate) fn is_told_by_kind(expr: &Expr) -> bool {
    is_boolean(expr) != is_of_boolean_type(expr)
}

/// Whether the value is one of its operands.
fn chooses(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(call) => matches!(
            call.function.name,
            "IF" | "IFNULL" | "COALESCE" | "NULLIF" | "ANY_VALUE"
        ),
        ExprKind::Case(_) => true,
        _ => false,
    }
}

fn is_unix_timestamp(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(call) if call.function.name == "UNIX_TIMESTAMP")
}

/// A document has the six digits of a moment's fraction, or none where it is zero.
fn all_or_no_digits(seconds: Decimal) -> Value {
    let whole = seconds.truncate(0).ok().filter(|whole| *whole == seconds);
    let digits = whole.map_or_else(|| seconds.round(6), Ok);
    Value::Decimal(digits.unwrap_or(seconds))
}

/// A SQL value as a JSON one; text is a string, not parsed.
pub(crate) fn node(value: &Value, expr: &Expr) -> Node {
    match value {
        Value::Int(number) if is_boolean(expr) => Node::Bool(*number != 0),
        Value::Year(year) => Node::Int(i64::from(*year)),
        Value::Decimal(seconds) if is_unix_timestamp(expr) => Node::from_value(all_or_no_digits(*seconds).as_ref()),
        Value::Bytes(bytes) if expr.is_stored() || chooses(expr) => Node::of_binary_column(bytes, expr.ty.kind),
        Value::Bytes(bytes) => Node::of_binary_result(bytes, expr.ty.kind),
        other => Node::from_value(other.as_ref()),
    }
}

/// The tree as a document; 3157 when it nests too deeply.
pub(crate) fn finish(node: &Node) -> SqlResult<Value> {
    /// MySQL's limit on a packet.
    const MAX_BYTES: usize = 1 << 30;
    if node.is_too_deep() {
        return Err(ErrorKind::JsonDocumentTooDeep.into());
    }
    let bytes = node.encoded_len();
    governor::check()?;
    if bytes > MAX_BYTES {
        return Err(ErrorKind::JsonValueTooBig.into());
    }
    Ok(Value::Json(Json::from(node)))
}

/// The argument as a path; 3143 when it is none. `None` for NULL.
fn path(args: &Args<'_>, i: usize) -> SqlResult<Option<JsonPath>> {
    if args.is_null(i) {
        return Ok(None);
    }
    if args.arg_type(i).kind.is_binary() {
        let charset = CharsetId::BINARY.name();
        return Err(SqlError::new(ErrorKind::InvalidJsonCharset, &[&charset]));
    }
    let text = args.text(i);
    JsonPath::parse(&text)
        .map(Some)
        .map_err(|error| SqlError::new(ErrorKind::InvalidJsonPath, &[&error.position]))
}

/// As [`path`], without wildcards (3149).
fn exact_path(args: &Args<'_>, i: usize) -> SqlResult<Option<JsonPath>> {
    let path = path(args, i)?;
    if path.as_ref().is_some_and(JsonPath::has_wildcard) {
        return Err(ErrorKind::InvalidJsonPathWildcard.into());
    }
    Ok(path)
}

fn array(args: &Args<'_>) -> SqlResult<Value> {
    finish(&Node::Array(
        args.values
            .iter()
            .zip(args.exprs)
            .map(|(value, expr)| node(value, expr))
            .collect(),
    ))
}

fn object(args: &Args<'_>) -> SqlResult<Value> {
    let mut members = Vec::with_capacity(args.len() / 2);
    for i in (0..args.len()).step_by(2) {
        if args.is_null(i) {
            return Err(ErrorKind::JsonDocumentNullKey.into());
        }
        members.push((args.text(i).into_owned(), node(args.value(i + 1), &args.exprs[i + 1])));
    }
    finish(&Node::Object(Members::new(members)))
}

fn unquote(args: &Args<'_>) -> SqlResult<Value> {
    refuse_binary(args)?;
    let text: Cow<'_, str> = match args.value(0) {
        Value::Json(json) => return Ok(args.text_result(json.as_ref().unquoted().into_owned())),
        Value::Str(text) => Cow::Borrowed(text),
        _ => args.text(0),
    };
    json::unquote(&text)
        .map(|text| args.text_result(text))
        .map_err(|error| {
            SqlError::new(
                ErrorKind::InvalidJsonTextInParam,
                &[&1, &"json_unquote", &error.message, &error.position],
            )
        })
}

fn extract(args: &Args<'_>) -> SqlResult<Value> {
    let document = document(args, 0)?;
    let mut paths = Vec::with_capacity(args.len() - 1);
    for i in 1..args.len() {
        match path(args, i)? {
            Some(path) => paths.push(path),
            None => return Ok(Value::Null),
        }
    }
    Ok(json::extract(document.as_ref(), &paths).map_or(Value::Null, Value::Json))
}

/// `JSON_VALUE(document, path, on empty, its default, on error, its default, NULL of the RETURNING type)`: the value as one of that
/// type; without one, as text.
fn value(args: &Args<'_>) -> SqlResult<Value> {
    if args.is_null(0) || args.is_null(1) {
        return Ok(Value::Null);
    }
    let Some(path) = exact_path(args, 1)? else {
        return Ok(Value::Null);
    };
    let respond = |word: usize, error: SqlError| match &*args.text(word) {
        "ERROR" => Err(error),
        "DEFAULT" => Ok(args.value(word + 1).clone()),
        _ => Ok(Value::Null),
    };
    let document = match document(args, 0) {
        Ok(document) => document,
        Err(error) => return respond(4, error),
    };
    match document.as_ref().at(&path) {
        None => respond(2, SqlError::new(ErrorKind::MissingJsonValue, &[&"json_value"])),
        Some(found) => match found.view() {
            JsonView::Null => Ok(Value::Null),
            _ => match returned(found, args)? {
                Some(value) => Ok(value),
                None => respond(
                    4,
                    SqlError::new(ErrorKind::DataOutOfRange, &[&returning_name(args.ty), &"json_value"]),
                ),
            },
        },
    }
}

/// How a message names the RETURNING type.
fn returning_name(ty: &SqlType) -> &'static str {
    match ty.kind {
        TypeKind::Double => "DOUBLE",
        TypeKind::Float => "FLOAT",
        TypeKind::Decimal => "DECIMAL",
        TypeKind::Date => "DATE",
        TypeKind::DateTime => "DATETIME",
        TypeKind::Time => "TIME",
        TypeKind::Year => "YEAR",
        kind if kind.is_integer() && ty.unsigned => "UNSIGNED",
        kind if kind.is_integer() => "SIGNED",
        _ => "STRING",
    }
}

/// What JSON_VALUE finds, as its RETURNING type; `None` where it is none of that type to the end.
fn returned(found: JsonRef<'_>, args: &Args<'_>) -> SqlResult<Option<Value>> {
    let ty = args.ty;
    let text = found.unquoted();
    // Text is read from its first character that is no space to its very end.
    let number = match found.view() {
        JsonView::Str(text) => text.trim_start(),
        JsonView::Bool(truth) => match truth {
            true => "1",
            false => "0",
        },
        _ => &text,
    };
    let temporal = || found.as_temporal().map(|value| value.to_value());
    let as_text = || Value::str(&text);
    Ok(match ty.kind {
        TypeKind::Json => Some(Value::Json(found.to_json())),
        kind if kind.is_integer() => whole(found, number, ty.unsigned),
        TypeKind::Year => match whole(found, number, false) {
            Some(Value::Int(year @ (0 | 1901..=2155))) => Some(Value::Year(year as u16)),
            _ => None,
        },
        TypeKind::Double => finite(number).map(Value::Double),
        TypeKind::Float => finite(number).map(|number| Value::Float(number as f32)),
        TypeKind::Decimal => {
            let number = Decimal::parse(number).or_else(|| finite(number).and_then(|f| Decimal::from_f64(f).ok()));
            number
                .and_then(|number| number.round(ty.decimals).ok())
                .filter(|number| number.fits(ty.length as u8, ty.decimals))
                .map(Value::Decimal)
        }
        TypeKind::Date | TypeKind::DateTime | TypeKind::Time => {
            let is_time = ty.kind == TypeKind::Time;
            let value = match found.view() {
                JsonView::Str(_) if is_time => convert::parse_time_quietly(&as_text(), args.ctx).map(Value::Time),
                JsonView::Str(_) => convert::parse_datetime_quietly(&as_text(), args.ctx).map(Value::DateTime),
                _ => temporal(),
            };
            let read_as = if is_time {
                SqlType::time(6)
            } else {
                SqlType::datetime(6)
            };
            value
                .map(|value| convert::cast(value, &read_as, ty, None, args.ctx))
                .transpose()?
        }
        TypeKind::VarBinary => (text.len() <= ty.length as usize).then(|| Value::bytes(text.as_bytes())),
        TypeKind::VarChar => (text.chars().count() <= ty.length as usize).then(as_text),
        _ => Some(args.text_result(text.into_owned())),
    })
}

/// A whole number, rounded to the nearest even one where it is a number with a fraction.
fn whole(found: JsonRef<'_>, text: &str, unsigned: bool) -> Option<Value> {
    let text = match found.view() {
        JsonView::Double(number) => Cow::Owned(Decimal::from_f64(number.round_ties_even()).ok()?.to_string()),
        JsonView::Decimal(number) => Cow::Owned(number.round(0).ok()?.to_string()),
        _ => Cow::Borrowed(text),
    };
    match unsigned {
        true => text.parse().ok().map(Value::UInt),
        false => text.parse().ok().map(Value::Int),
    }
}

fn finite(text: &str) -> Option<f64> {
    // Rust reads words, too.
    let is_number = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    text.parse().ok().filter(|number: &f64| is_number && number.is_finite())
}

fn keys(args: &Args<'_>) -> SqlResult<Value> {
    let document = document(args, 0)?;
    let found = match args.len() {
        1 => Some(document.as_ref()),
        _ => match exact_path(args, 1)? {
            None => return Ok(Value::Null),
            Some(path) => document.as_ref().at(&path),
        },
    };
    Ok(found.and_then(|found| found.keys()).map_or(Value::Null, Value::Json))
}

/// With a wildcard: how many values the path finds, NULL for none.
fn length(args: &Args<'_>) -> SqlResult<Value> {
    let document = document(args, 0)?;
    let found = match args.len() {
        1 => Some(document.as_ref()),
        _ => match path(args, 1)? {
            None => return Ok(Value::Null),
            Some(path) if path.has_wildcard() => {
                let found = document.as_ref().find(&path).len() as i64;
                return Ok(Value::from((found > 0).then_some(found)));
            }
            Some(path) => document.as_ref().at(&path),
        },
    };
    Ok(Value::from(found.map(|found| found.length() as i64)))
}

fn valid(args: &Args<'_>) -> SqlResult<Value> {
    Ok(Value::from(match args.value(0) {
        Value::Json(_) => true,
        Value::Str(text) => Json::parse(text).is_ok(),
        _ => false,
    }))
}

fn contains(args: &Args<'_>) -> SqlResult<Value> {
    let (document, candidate) = (document(args, 0)?, document(args, 1)?);
    let within = match args.len() {
        2 => Some(document.as_ref()),
        _ => match exact_path(args, 2)? {
            None => return Ok(Value::Null),
            Some(path) => document.as_ref().at(&path),
        },
    };
    Ok(Value::from(
        within.map(|within| i64::from(within.contains(candidate.as_ref()))),
    ))
}

/// The argument that says `one` or `all`; 3154 otherwise.
fn wants_all(args: &Args<'_>, i: usize) -> SqlResult<bool> {
    match args.text(i).to_ascii_lowercase().as_str() {
        "one" => Ok(false),
        "all" => Ok(true),
        _ => Err(SqlError::new(ErrorKind::JsonBadOneOrAllArg, &[&function_name(args)])),
    }
}

fn contains_path(args: &Args<'_>) -> SqlResult<Value> {
    let document = document(args, 0)?;
    let all = wants_all(args, 1)?;
    let mut found = all;
    for i in 2..args.len() {
        let Some(path) = path(args, i)? else {
            return Ok(Value::Null);
        };
        let here = !document.as_ref().find(&path).is_empty();
        found = if all { found && here } else { found || here };
    }
    Ok(Value::from(found))
}

fn overlaps(args: &Args<'_>) -> SqlResult<Value> {
    let (a, b) = (document(args, 0)?, document(args, 1)?);
    Ok(Value::from(a.as_ref().overlaps(b.as_ref())))
}

/// `value MEMBER OF (array)`
fn member_of(args: &Args<'_>) -> SqlResult<Value> {
    let list = document(args, 1)?;
    let wanted = match args.value(0) {
        Value::Json(json) => json.clone(),
        other => Json::from(&node(other, &args.exprs[0])),
    };
    let equal = |element: json::JsonRef<'_>| element.compare(wanted.as_ref()).is_eq();
    Ok(Value::from(match list.as_ref().view() {
        JsonView::Array(elements) => elements.iter().any(equal),
        _ => equal(list.as_ref()),
    }))
}

/// `JSON_SEARCH(document, one_or_all, pattern [, escape [, path..]])`
fn search(args: &Args<'_>) -> SqlResult<Value> {
    let document = document(args, 0)?;
    let all = wants_all(args, 1)?;
    let pattern = args.text(2);
    let escape = match args.len() {
        0..=3 => Some('\\'),
        _ if args.is_null(3) => Some('\\'),
        _ => {
            let text = args.text(3);
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (escape, None) => escape.or(Some('\\')),
                _ => return Err(SqlError::new(ErrorKind::WrongArguments, &[&"ESCAPE"])),
            }
        }
    };
    // The document's text gives way to a column's collation, and is binary beside a literal's.
    let collation = match &args.exprs[2] {
        expr if expr.coercibility < Coercibility::Coercible && expr.ty.collation.charset() == CharsetId::UTF8MB4 => {
            expr.ty.collation
        }
        _ => CollationId::UTF8MB4_BIN,
    };
    let accept = |text: &str| collation.like(pattern.as_bytes(), text.as_bytes(), escape);
    let mut within = Vec::new();
    for i in 4..args.len() {
        match path(args, i)? {
            Some(path) => within.push(path),
            None => return Ok(Value::Null),
        }
    }
    let limit = if all { usize::MAX } else { 1 };
    let found = document.as_ref().search(&within, &accept, limit);
    match found.as_slice() {
        [] => Ok(Value::Null),
        [one] => finish(&Node::Str(one.clone())),
        _ => finish(&Node::Array(found.into_iter().map(Node::Str).collect())),
    }
}

/// Of a document followed by paths, each with a value.
fn is_document_or_path(at: usize) -> bool {
    at == 0 || at % 2 == 1
}

/// Puts the value of each pair into the document where its path leads.
fn edit_pairs(args: &Args<'_>, mut put: impl FnMut(&mut Node, &JsonPath, Node) -> SqlResult<()>) -> SqlResult<Value> {
    let mut tree = document(args, 0)?.as_ref().to_node();
    for i in (1..args.len()).step_by(2) {
        let Some(path) = exact_path(args, i)? else {
            return Ok(Value::Null);
        };
        put(&mut tree, &path, node(args.value(i + 1), &args.exprs[i + 1]))?;
    }
    finish(&tree)
}

fn place(args: &Args<'_>, placement: Placement) -> SqlResult<Value> {
    edit_pairs(args, |tree, path, value| {
        tree.place(path, value, placement);
        Ok(())
    })
}

fn array_append(args: &Args<'_>) -> SqlResult<Value> {
    edit_pairs(args, |tree, path, value| {
        tree.array_append(path, value);
        Ok(())
    })
}

fn array_insert(args: &Args<'_>) -> SqlResult<Value> {
    edit_pairs(args, |tree, path, value| match tree.array_insert(path, value) {
        true => Ok(()),
        false => Err(ErrorKind::InvalidJsonPathArrayCell.into()),
    })
}

fn remove(args: &Args<'_>) -> SqlResult<Value> {
    let mut tree = document(args, 0)?.as_ref().to_node();
    for i in 1..args.len() {
        let Some(path) = exact_path(args, i)? else {
            return Ok(Value::Null);
        };
        if path.is_root() {
            return Err(ErrorKind::JsonVacuousPath.into());
        }
        tree.remove(&path);
    }
    finish(&tree)
}

fn merge_preserve(args: &Args<'_>) -> SqlResult<Value> {
    let mut merged = document(args, 0)?.as_ref().to_node();
    for i in 1..args.len() {
        merged = merged.merge_preserve(document(args, i)?.as_ref().to_node());
    }
    finish(&merged)
}

/// NULL makes the result unknown, until a patch that is no object replaces all.
fn merge_patch(args: &Args<'_>) -> SqlResult<Value> {
    let mut merged: Option<Node> = None;
    for i in 0..args.len() {
        if args.is_null(i) {
            merged = None;
            continue;
        }
        let patch = document(args, i)?.as_ref().to_node();
        merged = match (merged, &patch) {
            (Some(target), _) => Some(target.merge_patch(patch)),
            (None, Node::Object(_)) if i > 0 => None,
            (None, _) => Some(patch),
        };
    }
    match merged {
        None => Ok(Value::Null),
        Some(merged) => finish(&merged),
    }
}
