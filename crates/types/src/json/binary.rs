//! The binary form.
//!
//! A value is a tag byte and a payload; how long it is, its container says (offsets), so that any element or member is found
//! without reading the others:
//!
//! ```text
//! scalar   tag, payload to the end: integers and doubles 8 bytes little-endian, strings their UTF-8, ...
//! array    tag, count, end offset of each element, elements
//! object   tag, count, end offset of each name, end offset of each value, names, values
//! ```
//!
//! Members are ordered by the length of their name, then its bytes: names are found by binary search. Counts and offsets are 2
//! bytes, or 4 when the `WIDE` bit of the tag is set; offsets count from the first element (name, value).

use governor::bulk;

use super::node::{Node, compare_names};
use super::{JsonRef, JsonView};
use crate::decimal::Decimal;
use crate::time::{Date, DateTime, Time};
use crate::value::utf8;

mod tag {
    pub const NULL: u8 = 0;
    pub const FALSE: u8 = 1;
    pub const TRUE: u8 = 2;
    pub const INT: u8 = 3;
    pub const UINT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    /// Scale, then the sortable form.
    pub const DECIMAL: u8 = 6;
    pub const STRING: u8 = 7;
    pub const ARRAY: u8 = 8;
    pub const OBJECT: u8 = 9;
    /// 3 bytes.
    pub const DATE: u8 = 10;
    /// Fraction digits, microseconds.
    pub const TIME: u8 = 11;
    /// Fraction digits, microseconds (3 bytes), packed seconds (5 bytes).
    pub const DATETIME: u8 = 12;
    /// Protocol type, bytes.
    pub const OPAQUE: u8 = 13;
    pub const WIDE: u8 = 0x80;
}

/// The binary form; that of `null` where the statement has to end.
pub(super) fn encode(node: &Node) -> Vec<u8> {
    let mut wide = Vec::new();
    let mut out = Vec::with_capacity(measure(node, &mut wide));
    if governor::check().is_ok() {
        write(node, &mut wide.iter().copied(), &mut out);
    }
    match governor::check() {
        Ok(()) => out,
        Err(_) => vec![tag::NULL],
    }
}

/// The length of the binary form.
pub(super) fn encoded_len(node: &Node) -> usize {
    measure(node, &mut Vec::new())
}

/// The length of the binary form. Appends for each container, outer ones first, whether it is wide: what is inside of a container
/// says so, and is measured once however deep it is.
fn measure(node: &Node, wide: &mut Vec<bool>) -> usize {
    if !governor::go_on() {
        return 0;
    }
    let mut container = |count: usize, contents: &mut dyn FnMut(&mut Vec<bool>) -> (usize, usize)| {
        let place = wide.len();
        wide.push(false);
        let (names, values) = contents(wide);
        wide[place] = [count, names, values].iter().any(|number| number >> 16 != 0);
        (width(wide[place]), names + values)
    };
    1 + match node {
        Node::Null | Node::Bool(_) => 0,
        Node::Int(_) | Node::UInt(_) | Node::Double(_) => 8,
        Node::Decimal(v) => 1 + Decimal::sortable_len(v.precision()),
        Node::Str(v) => v.len(),
        Node::Array(items) => {
            let (width, contents) = container(items.len(), &mut |wide| {
                (0, items.iter().map(|item| measure(item, wide)).sum())
            });
            width + items.len() * width + contents
        }
        Node::Object(members) => {
            let (width, contents) = container(members.len(), &mut |wide| {
                let names = members.iter().map(|(name, _)| name.len()).sum();
                (names, members.iter().map(|(_, value)| measure(value, wide)).sum())
            });
            width + 2 * members.len() * width + contents
        }
        Node::Date(_) => 3,
        Node::Time(_) => 1 + 8,
        Node::DateTime(_) => 1 + 3 + 5,
        Node::Opaque(_, bytes) => 1 + bytes.len(),
    }
}

/// Writes the form; `wide` says of each container, outer ones first, whether it is.
fn write(node: &Node, wide: &mut dyn Iterator<Item = bool>, out: &mut Vec<u8>) {
    if !governor::go_on() {
        return;
    }
    match node {
        Node::Null => out.push(tag::NULL),
        Node::Bool(v) => out.push(if *v { tag::TRUE } else { tag::FALSE }),
        Node::Int(v) => push(tag::INT, &v.to_le_bytes(), out),
        Node::UInt(v) => push(tag::UINT, &v.to_le_bytes(), out),
        Node::Double(v) => push(tag::DOUBLE, &v.to_le_bytes(), out),
        Node::Decimal(v) => {
            push(tag::DECIMAL, &[v.scale()], out);
            v.write_sortable(v.scale(), Decimal::sortable_len(v.precision()), out);
        }
        Node::Str(v) => push(tag::STRING, v.as_bytes(), out),
        Node::Array(items) => {
            let width = write_head(tag::ARRAY, items.len(), wide, out);
            let mut ends = reserve(items.len() * width, out);
            let first = out.len();
            for item in items {
                write(item, wide, out);
                write_end(&mut ends, first, width, out);
            }
        }
        Node::Object(members) => {
            let width = write_head(tag::OBJECT, members.len(), wide, out);
            // Both tables stand before both contents.
            let mut ends = reserve(members.len() * width, out);
            let mut value_ends = reserve(members.len() * width, out);
            let first = out.len();
            for (name, _) in members.iter() {
                bulk::append(out, name.as_bytes());
                governor::pause();
                write_end(&mut ends, first, width, out);
            }
            let first = out.len();
            for (_, value) in members.iter() {
                write(value, wide, out);
                write_end(&mut value_ends, first, width, out);
            }
        }
        Node::Date(v) => push(tag::DATE, &v.to_packed().to_le_bytes()[..3], out),
        Node::Time(v) => {
            push(tag::TIME, &[v.fsp], out);
            out.extend_from_slice(&v.micros.to_le_bytes());
        }
        Node::DateTime(v) => {
            push(tag::DATETIME, &[v.fsp], out);
            out.extend_from_slice(&v.micros.to_le_bytes()[..3]);
            out.extend_from_slice(&v.packed_seconds().to_le_bytes()[..5]);
        }
        Node::Opaque(ty, bytes) => {
            push(tag::OPAQUE, &[*ty], out);
            bulk::append(out, bytes);
        }
    }
}

fn push(tag: u8, payload: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    bulk::append(out, payload);
}

fn width(wide: bool) -> usize {
    if wide { 4 } else { 2 }
}

/// The tag and the count of a container; the width of its offsets.
fn write_head(tag: u8, count: usize, wide: &mut dyn Iterator<Item = bool>, out: &mut Vec<u8>) -> usize {
    let wide = wide.next().expect("every container was measured");
    out.push(if wide { tag | tag::WIDE } else { tag });
    out.extend_from_slice(&(count as u32).to_le_bytes()[..width(wide)]);
    width(wide)
}

/// Room for a table of that many bytes, and where it is.
fn reserve(bytes: usize, out: &mut Vec<u8>) -> usize {
    let place = out.len();
    bulk::fill(out, 0, bytes);
    place
}

/// Enters into a table where the part that was written last ends, counted from the first.
fn write_end(place: &mut usize, first: usize, width: usize, out: &mut [u8]) {
    let end = (out.len() - first) as u32;
    out[*place..*place + width].copy_from_slice(&end.to_le_bytes()[..width]);
    *place += width;
}

/// The elements of an array.
#[derive(Debug, Clone, Copy)]
pub struct ArrayRef<'a> {
    table: Table<'a>,
}

/// The members of an object.
#[derive(Debug, Clone, Copy)]
pub struct ObjectRef<'a> {
    names: Table<'a>,
    values: Table<'a>,
}

/// Parts behind each other and their end offsets.
#[derive(Debug, Clone, Copy)]
struct Table<'a> {
    ends: &'a [u8],
    parts: &'a [u8],
    wide: bool,
}

impl<'a> Table<'a> {
    fn len(self) -> usize {
        self.ends.len() / width(self.wide)
    }

    fn end(self, index: usize) -> usize {
        let width = width(self.wide);
        little_endian(&self.ends[index * width..(index + 1) * width]) as usize
    }

    fn start(self, index: usize) -> usize {
        if index == 0 { 0 } else { self.end(index - 1) }
    }

    fn part(self, index: usize) -> &'a [u8] {
        &self.parts[self.start(index)..self.end(index)]
    }

    fn try_part(self, index: usize) -> Option<&'a [u8]> {
        self.parts.get(self.start(index)..self.end(index))
    }
}

impl<'a> ArrayRef<'a> {
    pub fn len(self) -> usize {
        self.table.len()
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    pub fn get(self, index: usize) -> Option<JsonRef<'a>> {
        (index < self.len()).then(|| JsonRef(self.table.part(index)))
    }

    pub fn iter(self) -> impl ExactSizeIterator<Item = JsonRef<'a>> {
        (0..self.len()).map(move |i| JsonRef(self.table.part(i)))
    }
}

impl<'a> ObjectRef<'a> {
    pub fn len(self) -> usize {
        self.names.len()
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    fn name(self, index: usize) -> &'a str {
        utf8(self.names.part(index)).expect("names were valid when the document was made or loaded")
    }

    pub fn get(self, name: &str) -> Option<JsonRef<'a>> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            let found = self.names.part(middle);
            match found.len().cmp(&name.len()).then_with(|| found.cmp(name.as_bytes())) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(JsonRef(self.values.part(middle))),
            }
        }
        None
    }

    /// In the order of names.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a str, JsonRef<'a>)> {
        (0..self.len()).map(move |i| (self.name(i), JsonRef(self.values.part(i))))
    }
}

impl<'a> JsonRef<'a> {
    /// Whether it is an array or an object; unlike [`view`](Self::view), does not look at the content.
    pub(super) fn is_container(self) -> bool {
        self.0
            .first()
            .is_some_and(|tag| matches!(tag & !tag::WIDE, tag::ARRAY | tag::OBJECT))
    }

    /// What the value is.
    pub fn view(self) -> JsonView<'a> {
        view(self.0).expect("the document was valid when it was made or loaded")
    }
}

/// `None` if the outermost value is damaged; parts are looked at when they are asked for.
fn view(bytes: &[u8]) -> Option<JsonView<'_>> {
    let (&tag, payload) = bytes.split_first()?;
    Some(match tag {
        tag::NULL if payload.is_empty() => JsonView::Null,
        tag::FALSE if payload.is_empty() => JsonView::Bool(false),
        tag::TRUE if payload.is_empty() => JsonView::Bool(true),
        tag::INT => JsonView::Int(i64::from_le_bytes(payload.try_into().ok()?)),
        tag::UINT => JsonView::UInt(u64::from_le_bytes(payload.try_into().ok()?)),
        tag::DOUBLE => JsonView::Double(f64::from_le_bytes(payload.try_into().ok()?)),
        tag::DECIMAL => {
            let (&scale, sortable) = payload.split_first()?;
            JsonView::Decimal(Decimal::read_sortable(sortable, scale)?)
        }
        tag::STRING => JsonView::Str(utf8(payload).ok()?),
        tag::DATE if payload.len() == 3 => JsonView::Date(Date::from_packed(little_endian(payload) as u32)),
        tag::TIME => {
            let (&fsp, micros) = payload.split_first()?;
            JsonView::Time(Time {
                fsp,
                micros: i64::from_le_bytes(micros.try_into().ok()?),
            })
        }
        tag::DATETIME if payload.len() == 9 => {
            let micros = little_endian(&payload[1..4]) as u32;
            JsonView::DateTime(DateTime::from_packed(little_endian(&payload[4..]), micros, payload[0]))
        }
        tag::OPAQUE => {
            let (&ty, bytes) = payload.split_first()?;
            JsonView::Opaque(ty, bytes)
        }
        container => {
            let wide = container & tag::WIDE != 0;
            let width = width(wide);
            let (count, rest) = payload.split_at_checked(width)?;
            let table_len = (little_endian(count) as usize).checked_mul(width)?;
            let (ends, rest) = rest.split_at_checked(table_len)?;
            match container & !tag::WIDE {
                tag::ARRAY => JsonView::Array(ArrayRef {
                    table: Table {
                        ends,
                        parts: rest,
                        wide,
                    },
                }),
                tag::OBJECT => {
                    let (value_ends, rest) = rest.split_at_checked(table_len)?;
                    let names = Table { ends, parts: &[], wide };
                    let names_len = if names.len() == 0 {
                        0
                    } else {
                        names.end(names.len() - 1)
                    };
                    let (name_parts, value_parts) = rest.split_at_checked(names_len)?;
                    JsonView::Object(ObjectRef {
                        names: Table {
                            parts: name_parts,
                            ..names
                        },
                        values: Table {
                            ends: value_ends,
                            parts: value_parts,
                            wide,
                        },
                    })
                }
                _ => return None,
            }
        }
    })
}

/// Whether the bytes are a whole document that reads without panic, at most `depth` levels deep.
pub(super) fn is_valid(bytes: &[u8], depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    // Every part of a table, in range and together all of it.
    let parts_are = |table: Table<'_>, valid: &dyn Fn(usize, &[u8]) -> bool| {
        let whole = if table.len() == 0 {
            table.parts.is_empty()
        } else {
            table.end(table.len() - 1) == table.parts.len()
        };
        whole && (0..table.len()).all(|i| table.try_part(i).is_some_and(|part| valid(i, part)))
    };
    match view(bytes) {
        None => false,
        Some(JsonView::Array(array)) => parts_are(array.table, &|_, part| is_valid(part, depth - 1)),
        Some(JsonView::Object(object)) => {
            object.names.len() == object.values.len()
                && parts_are(object.names, &|i, name| {
                    let Ok(name) = std::str::from_utf8(name) else {
                        return false;
                    };
                    let before = (i > 0).then(|| std::str::from_utf8(object.names.part(i - 1)));
                    before.is_none_or(|before| before.is_ok_and(|b| compare_names(b, name).is_lt()))
                })
                && parts_are(object.values, &|_, part| is_valid(part, depth - 1))
        }
        Some(JsonView::Double(v)) => v.is_finite(),
        Some(JsonView::Date(v)) => v.is_in_range(),
        Some(JsonView::Time(v)) => v.fsp <= 6 && v.micros.unsigned_abs() <= crate::time::MAX_TIME_MICROS.unsigned_abs(),
        Some(JsonView::DateTime(v)) => v.fsp <= 6 && v.is_in_range(),
        Some(_) => true,
    }
}

/// Up to 8 bytes.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b))
}
