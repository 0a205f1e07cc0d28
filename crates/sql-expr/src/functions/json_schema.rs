//! JSON_SCHEMA_VALID and JSON_SCHEMA_VALIDATION_REPORT: JSON Schema, draft 4.
//!
//! Source: the MySQL manual, "JSON Schema Validation Functions"; the specification at json-schema.org, "draft-04". What the
//! specification leaves open is as in RapidJSON, which MySQL has: a keyword with a value of another type than its own says nothing,
//! names in `required` and `dependencies` are no additional properties.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write as _;

use types::error::{ErrorKind, SqlError};
use types::json::{Json, JsonRef, JsonView, MAX_DEPTH, Members, Node, ObjectRef};
use types::{SqlResult, SqlType, Value};

use super::args::{Args, Inference};
use super::json::{document, finish};
use super::regexp::schema_pattern_matches;
use super::{Function, exactly};

pub const FUNCTIONS: &[Function] = &[
    Function::strict("JSON_SCHEMA_VALID", exactly(2), infer_truth, |args| {
        Ok(Value::from(failure(args)?.is_none()))
    }),
    Function::strict("JSON_SCHEMA_VALIDATION_REPORT", exactly(2), infer_report, report),
];

fn infer_truth(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::boolean())
}

fn infer_report(_: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(SqlType::json())
}

/// Where a document breaks its schema, both as fragments of a URI.
struct Failure {
    keyword: &'static str,
    schema: String,
    document: String,
}

fn report(args: &Args<'_>) -> SqlResult<Value> {
    let text = |text: &str| Node::Str(text.to_owned());
    let Some(failure) = failure(args)? else {
        let valid = ("valid".to_owned(), Node::Bool(true));
        return finish(&Node::Object(Members::new(vec![valid])));
    };
    let reason = format!(
        "The JSON document location '{}' failed requirement '{}' at JSON Schema location '{}'",
        failure.document, failure.keyword, failure.schema
    );
    let members = [
        ("valid", Node::Bool(false)),
        ("reason", Node::Str(reason)),
        ("schema-location", text(&failure.schema)),
        ("document-location", text(&failure.document)),
        ("schema-failed-keyword", text(failure.keyword)),
    ];
    let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
    finish(&Node::Object(Members::new(members.collect())))
}

/// The first thing that is wrong with the document. 3853 for a schema that is no object, 1235 for a reference to another one, 3157 for
/// references in a circle.
fn failure(args: &Args<'_>) -> SqlResult<Option<Failure>> {
    let schema = schema(args)?;
    let Some(members) = object(schema.as_ref()) else {
        let name = args.name.to_ascii_lowercase();
        return Err(SqlError::new(ErrorKind::InvalidJsonType, &[&1, &name, &"an object"]));
    };
    References {
        root: schema.as_ref(),
        followed: HashSet::new(),
    }
    .check(JsonView::Object(members), 0)?;
    let document = document(args, 1)?;
    let mut validator = Validator {
        root: schema.as_ref(),
        args,
        at: Places::default(),
    };
    validator.check(Some(schema.as_ref()), document.as_ref())
}

/// The schema's text may be a binary string.
fn schema(args: &Args<'_>) -> SqlResult<Json> {
    let Value::Bytes(bytes) = args.value(0) else {
        return document(args, 0);
    };
    let text = String::from_utf8_lossy(bytes);
    let parsed = Json::parse(&text);
    governor::check()?;
    parsed.map_err(|error| {
        let name = args.name.to_ascii_lowercase();
        let args: [&dyn std::fmt::Display; 4] = [&1, &name, &error.message, &error.position];
        SqlError::new(ErrorKind::InvalidJsonTextInParam, &args)
    })
}

fn object(value: JsonRef<'_>) -> Option<ObjectRef<'_>> {
    match value.view() {
        JsonView::Object(members) => Some(members),
        _ => None,
    }
}

/// Looks through a schema for references that cannot be followed.
struct References<'s> {
    root: JsonRef<'s>,
    /// The places whose references are known to end.
    followed: HashSet<*const u8>,
}

impl<'s> References<'s> {
    fn check(&mut self, value: JsonView<'s>, depth: usize) -> SqlResult<()> {
        governor::tick()?;
        governor::descend()?;
        if depth > MAX_DEPTH {
            return Err(ErrorKind::JsonDocumentTooDeep.into());
        }
        match value {
            JsonView::Array(items) => items.iter().try_for_each(|item| self.check(item.view(), depth + 1)),
            JsonView::Object(members) => {
                if let Some(reference) = reference(members) {
                    let Some(fragment) = reference.strip_prefix('#') else {
                        return Err(SqlError::not_supported("references in JSON Schema"));
                    };
                    if let Some(target) = resolve(self.root, fragment)
                        && !self.followed.contains(&target.as_bytes().as_ptr())
                    {
                        self.check(target.view(), depth + 1)?;
                        self.followed.insert(target.as_bytes().as_ptr());
                    }
                }
                members
                    .iter()
                    .try_for_each(|(_, member)| self.check(member.view(), depth + 1))
            }
            _ => Ok(()),
        }
    }
}

/// What `$ref` says.
fn reference(schema: ObjectRef<'_>) -> Option<&str> {
    match schema.get("$ref")?.view() {
        JsonView::Str(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// The value at a pointer (RFC 6901) that is written as the fragment of a URI.
fn resolve<'s>(root: JsonRef<'s>, fragment: &str) -> Option<JsonRef<'s>> {
    if fragment.is_empty() {
        return Some(root);
    }
    let mut value = root;
    for token in fragment.strip_prefix('/')?.split('/') {
        if !governor::go_on() {
            return None;
        }
        let token = percent_decoded(token).replace("~1", "/").replace("~0", "~");
        value = match value.view() {
            JsonView::Object(members) => members.get(&token)?,
            JsonView::Array(items) => items.get(token.parse().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

fn percent_decoded(token: &str) -> String {
    let bytes = token.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        out.push(byte.unwrap_or(bytes[at]));
        at += if byte.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where a validation is, in the schema and in the document: pointers without their `#`.
#[derive(Default)]
struct Places {
    schema: String,
    document: String,
}

fn push_token(place: &mut String, token: &str) {
    place.push('/');
    for byte in token.bytes() {
        match byte {
            b'~' => place.push_str("~0"),
            b'/' => place.push_str("~1"),
            b'-' | b'.' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => place.push(char::from(byte)),
            other => {
                let _ = write!(place, "%{other:02X}");
            }
        }
    }
}

struct Validator<'s, 'a> {
    root: JsonRef<'s>,
    args: &'a Args<'a>,
    at: Places,
}

type Checked = SqlResult<Option<Failure>>;

/// How JSON Schema sees a value.
enum Kind<'d> {
    Null,
    Bool,
    Number(JsonRef<'d>),
    Text(Cow<'d, str>),
    Array(types::json::ArrayRef<'d>),
    Object(ObjectRef<'d>),
}

fn kind(value: JsonRef<'_>) -> Kind<'_> {
    match value.view() {
        JsonView::Null => Kind::Null,
        JsonView::Bool(_) => Kind::Bool,
        JsonView::Int(_) | JsonView::UInt(_) | JsonView::Double(_) | JsonView::Decimal(_) => Kind::Number(value),
        JsonView::Array(items) => Kind::Array(items),
        JsonView::Object(members) => Kind::Object(members),
        // Dates and bytes are strings where they are printed.
        _ => Kind::Text(value.unquoted()),
    }
}

impl<'s> Validator<'s, '_> {
    /// Holds a value to a schema. What is no object is a schema that everything fulfils.
    fn check(&mut self, schema: Option<JsonRef<'s>>, value: JsonRef<'_>) -> Checked {
        governor::tick()?;
        governor::descend()?;
        let Some(schema) = schema.and_then(object) else {
            return Ok(None);
        };
        if let Some(fragment) = reference(schema).and_then(|reference| reference.strip_prefix('#')) {
            let target = resolve(self.root, fragment);
            governor::check()?;
            let before = std::mem::replace(&mut self.at.schema, fragment.to_owned());
            let checked = self.check(target, value);
            self.at.schema = before;
            return checked;
        }
        let kind = kind(value);
        if !is_of_type(schema, &kind) {
            return self.fails("type");
        }
        let failed = match &kind {
            Kind::Null | Kind::Bool => None,
            Kind::Number(number) => self.number(schema, *number)?,
            Kind::Text(text) => self.text(schema, text)?,
            Kind::Array(items) => self.array(schema, *items)?,
            Kind::Object(members) => self.object(schema, *members)?,
        };
        match failed {
            Some(failure) => Ok(Some(failure)),
            None => self.combined(schema, value),
        }
    }

    fn fails(&self, keyword: &'static str) -> Checked {
        Ok(Some(Failure {
            keyword,
            schema: format!("#{}", self.at.schema),
            document: format!("#{}", self.at.document),
        }))
    }

    /// Whether a value fulfils a schema that stands beside: what is wrong is not told.
    fn fulfils(&mut self, schema: JsonRef<'s>, value: JsonRef<'_>) -> SqlResult<bool> {
        Ok(self.check(Some(schema), value)?.is_none())
    }

    /// As [`Self::check`], below: `tokens` lead from the schema to that below, `part` from the value to its own.
    fn check_below(&mut self, schema: Option<JsonRef<'s>>, tokens: &[&str], part: &str, value: JsonRef<'_>) -> Checked {
        let (schema_end, document_end) = (self.at.schema.len(), self.at.document.len());
        tokens.iter().for_each(|token| push_token(&mut self.at.schema, token));
        push_token(&mut self.at.document, part);
        let checked = self.check(schema, value);
        self.at.schema.truncate(schema_end);
        self.at.document.truncate(document_end);
        checked
    }

    /// `fails` at a part of the value.
    fn fails_at(&mut self, keyword: &'static str, part: &str) -> Checked {
        let end = self.at.document.len();
        push_token(&mut self.at.document, part);
        let failed = self.fails(keyword);
        self.at.document.truncate(end);
        failed
    }

    fn number(&self, schema: ObjectRef<'s>, number: JsonRef<'_>) -> Checked {
        let bound = |name| schema.get(name).filter(|bound| matches!(kind(*bound), Kind::Number(_)));
        let is_exclusive = |name| matches!(schema.get(name).map(JsonRef::view), Some(JsonView::Bool(true)));
        if let Some(bound) = bound("minimum") {
            let order = number.compare(bound);
            if order.is_lt() || (order.is_eq() && is_exclusive("exclusiveMinimum")) {
                return self.fails("minimum");
            }
        }
        if let Some(bound) = bound("maximum") {
            let order = number.compare(bound);
            if order.is_gt() || (order.is_eq() && is_exclusive("exclusiveMaximum")) {
                return self.fails("maximum");
            }
        }
        match bound("multipleOf") {
            Some(of) if !is_multiple(number, of) => self.fails("multipleOf"),
            _ => Ok(None),
        }
    }

    fn text(&self, schema: ObjectRef<'s>, text: &str) -> Checked {
        let (least, most) = (count(schema, "minLength"), count(schema, "maxLength"));
        if least.is_some() || most.is_some() {
            let chars = types::charset::char_count(text.as_bytes()) as u64;
            if least.is_some_and(|least| chars < least) {
                return self.fails("minLength");
            }
            if most.is_some_and(|most| chars > most) {
                return self.fails("maxLength");
            }
        }
        if let Some(JsonView::Str(pattern)) = schema.get("pattern").map(JsonRef::view)
            && schema_pattern_matches(self.args, pattern, text)? == Some(false)
        {
            return self.fails("pattern");
        }
        Ok(None)
    }

    fn array(&mut self, schema: ObjectRef<'s>, items: types::json::ArrayRef<'_>) -> Checked {
        let of_items = schema.get("items");
        let tuple = match of_items.map(JsonRef::view) {
            Some(JsonView::Array(tuple)) if !tuple.is_empty() => Some(tuple),
            _ => None,
        };
        let is_unique = matches!(schema.get("uniqueItems").map(JsonRef::view), Some(JsonView::Bool(true)));
        let mut seen = Seen::default();
        for (at, item) in items.iter().enumerate() {
            let place = at.to_string();
            let failed = match tuple {
                None => self.check_below(of_items, &["items"], &place, item)?,
                Some(tuple) if at < tuple.len() => self.check_below(tuple.get(at), &["items", &place], &place, item)?,
                Some(_) => match schema.get("additionalItems") {
                    Some(more) if matches!(more.view(), JsonView::Bool(false)) => {
                        return self.fails_at("additionalItems", &place);
                    }
                    more => self.check_below(more, &["additionalItems"], &place, item)?,
                },
            };
            if failed.is_some() {
                return Ok(failed);
            }
            if is_unique && !seen.insert(item)? {
                return self.fails_at("uniqueItems", &place);
            }
        }
        let len = items.len() as u64;
        if count(schema, "minItems").is_some_and(|least| len < least) {
            return self.fails("minItems");
        }
        if count(schema, "maxItems").is_some_and(|most| len > most) {
            return self.fails("maxItems");
        }
        Ok(None)
    }

    fn object(&mut self, schema: ObjectRef<'s>, members: ObjectRef<'_>) -> Checked {
        for (name, value) in members.iter() {
            governor::tick()?;
            let failed = self.member(schema, name, value)?;
            if failed.is_some() {
                return Ok(failed);
            }
        }
        if let Some(JsonView::Array(required)) = schema.get("required").map(JsonRef::view) {
            for name in required.iter() {
                governor::tick()?;
                if let JsonView::Str(name) = name.view()
                    && members.get(name).is_none()
                {
                    return self.fails("required");
                }
            }
        }
        let len = members.len() as u64;
        if count(schema, "minProperties").is_some_and(|least| len < least) {
            return self.fails("minProperties");
        }
        if count(schema, "maxProperties").is_some_and(|most| len > most) {
            return self.fails("maxProperties");
        }
        Ok(None)
    }

    /// A member by the schemas for its name: that of `properties`, those of `patternProperties`, or that for all others.
    fn member(&mut self, schema: ObjectRef<'s>, name: &str, value: JsonRef<'_>) -> Checked {
        let mut by_pattern = Vec::new();
        if let Some(patterns) = schema.get("patternProperties").and_then(object) {
            for (pattern, of_pattern) in patterns.iter() {
                governor::tick()?;
                if schema_pattern_matches(self.args, pattern, name)? == Some(true) {
                    by_pattern.push(of_pattern);
                }
            }
        }
        let mut fulfils_patterns = true;
        for of_pattern in &by_pattern {
            fulfils_patterns &= self.fulfils(*of_pattern, value)?;
        }
        let property = schema.get("properties").and_then(object).and_then(|all| all.get(name));
        if property.is_some() || is_named(schema, name)? {
            if by_pattern.is_empty() {
                return self.check_below(property, &["properties", name], name, value);
            }
            let fulfils = match property {
                Some(property) => self.fulfils(property, value)?,
                None => true,
            };
            return self.fails_patterns_unless(fulfils && fulfils_patterns, name);
        }
        let others = schema.get("additionalProperties");
        match (others.map(JsonRef::view), others) {
            (Some(JsonView::Object(_)), Some(others)) if by_pattern.is_empty() => {
                self.check_below(Some(others), &["additionalProperties"], name, value)
            }
            (Some(JsonView::Object(_)), Some(others)) => {
                let fulfils = fulfils_patterns || self.fulfils(others, value)?;
                self.fails_patterns_unless(fulfils, name)
            }
            (Some(JsonView::Bool(false)), _) if by_pattern.is_empty() => self.fails_at("additionalProperties", name),
            _ => self.fails_patterns_unless(fulfils_patterns, name),
        }
    }

    fn fails_patterns_unless(&mut self, fulfils: bool, name: &str) -> Checked {
        if fulfils {
            return Ok(None);
        }
        let schema = std::mem::take(&mut self.at.schema);
        let failed = self.fails_at("patternProperties", name);
        self.at.schema = schema;
        failed
    }

    /// What holds for values of every type.
    fn combined(&mut self, schema: ObjectRef<'s>, value: JsonRef<'_>) -> Checked {
        if let (JsonView::Object(members), Some(dependencies)) =
            (value.view(), schema.get("dependencies").and_then(object))
        {
            for (name, needs) in dependencies.iter() {
                governor::tick()?;
                if members.get(name).is_none() {
                    continue;
                }
                let is_met = match needs.view() {
                    JsonView::Array(names) => names.iter().all(|name| match name.view() {
                        JsonView::Str(name) => members.get(name).is_some(),
                        _ => true,
                    }),
                    JsonView::Object(_) => self.fulfils(needs, value)?,
                    _ => true,
                };
                if !is_met {
                    return self.fails("dependencies");
                }
            }
        }
        let list = |name| match schema.get(name).map(JsonRef::view) {
            Some(JsonView::Array(list)) if !list.is_empty() => Some(list),
            _ => None,
        };
        if let Some(values) = list("enum") {
            let mut found = false;
            for one in values.iter() {
                governor::tick()?;
                found |= one.compare(value).is_eq();
            }
            if !found {
                return self.fails("enum");
            }
        }
        for (keyword, takes) in [
            ("allOf", (|met, all| met == all) as fn(usize, usize) -> bool),
            ("anyOf", |met, _| met > 0),
            ("oneOf", |met, _| met == 1),
        ] {
            if let Some(schemas) = list(keyword) {
                let mut met = 0;
                for one in schemas.iter() {
                    met += usize::from(self.fulfils(one, value)?);
                }
                if !takes(met, schemas.len()) {
                    return self.fails(keyword);
                }
            }
        }
        match schema.get("not").filter(|not| object(*not).is_some()) {
            Some(not) if self.fulfils(not, value)? => self.fails("not"),
            _ => Ok(None),
        }
    }
}

/// Whether `required` or `dependencies` names a property.
fn is_named(schema: ObjectRef<'_>, name: &str) -> SqlResult<bool> {
    if let Some(JsonView::Array(required)) = schema.get("required").map(JsonRef::view) {
        for one in required.iter() {
            governor::tick()?;
            if matches!(one.view(), JsonView::Str(one) if one == name) {
                return Ok(true);
            }
        }
    }
    let dependencies = schema.get("dependencies").and_then(object);
    Ok(dependencies.is_some_and(|all| all.get(name).is_some()))
}

/// The values of an array, to find equal ones: by the hash of each, and then by comparison.
#[derive(Default)]
struct Seen<'d> {
    by_hash: std::collections::HashMap<u64, Vec<JsonRef<'d>>>,
}

impl<'d> Seen<'d> {
    /// Whether it is new.
    fn insert(&mut self, value: JsonRef<'d>) -> SqlResult<bool> {
        use std::hash::{DefaultHasher, Hasher};
        governor::ensure(2 * size_of::<JsonRef<'d>>() * (self.by_hash.len() + 1))?;
        let mut hasher = DefaultHasher::new();
        value.hash_value(&mut hasher);
        let alike = self.by_hash.entry(hasher.finish()).or_default();
        for other in alike.iter() {
            governor::tick()?;
            if other.compare(value).is_eq() {
                return Ok(false);
            }
        }
        alike.push(value);
        Ok(true)
    }
}

/// A limit: a whole number that is not negative.
fn count(schema: ObjectRef<'_>, name: &str) -> Option<u64> {
    match schema.get(name)?.view() {
        JsonView::Int(limit) => u64::try_from(limit).ok(),
        JsonView::UInt(limit) => Some(limit),
        _ => None,
    }
}

fn is_of_type(schema: ObjectRef<'_>, kind: &Kind<'_>) -> bool {
    let is = |name: &str| match kind {
        Kind::Null => name == "null",
        Kind::Bool => name == "boolean",
        Kind::Number(number) => {
            let is_whole = matches!(number.view(), JsonView::Int(_) | JsonView::UInt(_));
            name == "number" || (name == "integer" && is_whole)
        }
        Kind::Text(_) => name == "string",
        Kind::Array(_) => name == "array",
        Kind::Object(_) => name == "object",
    };
    match schema.get("type").map(JsonRef::view) {
        Some(JsonView::Str(name)) => is(name),
        Some(JsonView::Array(names)) => names
            .iter()
            .take_while(|_| governor::go_on())
            .any(|name| matches!(name.view(), JsonView::Str(name) if is(name))),
        _ => true,
    }
}

/// Two whole numbers exactly, others as near as doubles are. A factor that is not positive says nothing.
fn is_multiple(number: JsonRef<'_>, of: JsonRef<'_>) -> bool {
    let whole = |value: JsonRef<'_>| match value.view() {
        JsonView::Int(number) => Some(i128::from(number)),
        JsonView::UInt(number) => Some(i128::from(number)),
        _ => None,
    };
    let real = |value: JsonRef<'_>| match value.view() {
        JsonView::Int(number) => number as f64,
        JsonView::UInt(number) => number as f64,
        JsonView::Double(number) => number,
        JsonView::Decimal(number) => number.to_f64(),
        _ => 0.0,
    };
    if real(of) <= 0.0 {
        return true;
    }
    match (whole(number), whole(of)) {
        (Some(number), Some(of)) => number % of == 0,
        _ => {
            let quotient = real(number).abs() / real(of);
            let nearest = (quotient + 0.5).floor();
            (nearest - quotient).abs() <= (quotient + nearest) * f64::EPSILON
        }
    }
}
