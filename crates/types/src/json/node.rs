//! The tree: what parsing makes and modifying works on.

use super::{
    BINARY_STRING_TYPE, BINARY_TYPE, BIT_TYPE, BLOB_TYPE, JsonRef, JsonView, LONG_BLOB_TYPE, MEDIUM_BLOB_TYPE,
    TINY_BLOB_TYPE,
};
use crate::TypeKind;
use crate::decimal::Decimal;
use crate::time::{Date, DateTime, Time};
use crate::value::ValueRef;
use governor::bulk;
use governor::sort::sort_by;
use governor::stepwise::{self, Stepwise};
use std::cmp::Ordering;

/// A JSON value as a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Decimal(Decimal),
    Str(String),
    Array(Stepwise<Vec<Node>>),
    Object(Members),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// The protocol's type byte and the bytes.
    Opaque(u8, Vec<u8>),
}

/// The members of an object in MySQL's order: shorter names first, then by bytes. No name twice.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Members(Stepwise<Vec<(String, Node)>>);

/// The order of names in an object.
pub(super) fn compare_names(a: &str, b: &str) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl Members {
    /// In any order; of members with the same name the last wins.
    pub fn new(mut members: Vec<(String, Node)>) -> Members {
        // A statement that has to end needs no order any more.
        let _ = sort_by(&mut members, |(a, _), (b, _)| compare_names(a, b));
        // Keeps the first of equal neighbours, so look from the end.
        members.reverse();
        members.dedup_by(|(a, _), (b, _)| {
            governor::pause();
            a == b
        });
        members.reverse();
        Members(members.into())
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(n, _)| compare_names(n, name))
    }

    pub fn get(&self, name: &str) -> Option<&Node> {
        self.position(name).ok().map(|i| &self.0[i].1)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.position(name).ok().map(|i| &mut self.0[i].1)
    }

    /// Adds the member or replaces its value.
    pub fn insert(&mut self, name: &str, value: Node) {
        match self.position(name) {
            Ok(i) => self.0[i].1 = value,
            Err(i) => self.0.insert(i, (name.to_owned(), value)),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Node> {
        self.position(name).ok().map(|i| self.0.remove(i).1)
    }

    /// Those of both, in one pass; `join` makes one of two values with the same name, or of a value that stands in `other` alone.
    /// `None` is no member.
    pub(super) fn merge(self, other: Members, mut join: impl FnMut(Option<Node>, Node) -> Option<Node>) -> Members {
        let mut merged = Vec::with_capacity(self.len() + other.len());
        let mut own = self.0.into_iter().peekable();
        for (name, value) in other.0 {
            governor::pause();
            while let Some(before) = own.next_if(|(own, _)| compare_names(own, &name).is_lt()) {
                merged.push(before);
            }
            let same = own.next_if(|(own, _)| *own == name);
            if let Some(value) = join(same.map(|(_, own)| own), value) {
                merged.push((name, value));
            }
        }
        merged.extend(own);
        Members(merged.into())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Node)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl IntoIterator for Members {
    type Item = (String, Node);
    type IntoIter = stepwise::IntoIter<(String, Node)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Node {
    /// What is in a column of binary strings.
    pub fn of_binary_column(bytes: &[u8], kind: TypeKind) -> Node {
        let ty = match kind {
            TypeKind::Binary => BINARY_TYPE,
            TypeKind::TinyBlob | TypeKind::Blob | TypeKind::MediumBlob | TypeKind::LongBlob => BLOB_TYPE,
            _ => BINARY_STRING_TYPE,
        };
        Node::Opaque(ty, bulk::copy(bytes))
    }

    /// A binary string that was computed: its type tells how long it may be.
    pub fn of_binary_result(bytes: &[u8], kind: TypeKind) -> Node {
        let ty = match kind {
            TypeKind::TinyBlob => TINY_BLOB_TYPE,
            TypeKind::MediumBlob => MEDIUM_BLOB_TYPE,
            TypeKind::LongBlob => LONG_BLOB_TYPE,
            TypeKind::Blob => BLOB_TYPE,
            _ => BINARY_STRING_TYPE,
        };
        Node::Opaque(ty, bulk::copy(bytes))
    }

    /// A SQL value: a scalar, or the tree of a JSON value.
    pub fn from_value(value: ValueRef<'_>) -> Node {
        match value {
            ValueRef::Null => Node::Null,
            ValueRef::Int(v) => Node::Int(v),
            ValueRef::UInt(v) => Node::UInt(v),
            ValueRef::Float(v) => Node::Double(v.into()),
            ValueRef::Double(v) => Node::Double(v),
            ValueRef::Decimal(v) => Node::Decimal(v),
            ValueRef::Date(v) => Node::Date(v),
            ValueRef::Time(v) => Node::Time(v),
            ValueRef::DateTime(v) => Node::DateTime(v),
            ValueRef::Timestamp(v) => Node::DateTime(crate::time::TimeZone::UTC.to_local(v)),
            ValueRef::Year(v) => Node::UInt(v.into()),
            ValueRef::Bit(v) => Node::Opaque(BIT_TYPE, v.to_bytes().to_vec()),
            ValueRef::Str(v) => Node::Str(bulk::copy_text(v)),
            ValueRef::Bytes(v) => Node::Opaque(BINARY_STRING_TYPE, bulk::copy(v)),
            ValueRef::Enum(_) | ValueRef::Set(_) => Node::Str(value.text().into_owned()),
            ValueRef::Json(v) => v.to_node(),
        }
    }

    /// How many bytes the document takes.
    pub fn encoded_len(&self) -> usize {
        super::binary::encoded_len(self)
    }

    /// Whether nesting exceeds what a document may have.
    pub fn is_too_deep(&self) -> bool {
        fn exceeds(node: &Node, left: usize) -> bool {
            if !governor::go_on() {
                return false;
            }
            match node {
                Node::Array(items) => left == 0 || items.iter().any(|n| exceeds(n, left - 1)),
                Node::Object(members) => left == 0 || members.iter().any(|(_, n)| exceeds(n, left - 1)),
                _ => false,
            }
        }
        exceeds(self, super::MAX_DEPTH)
    }
}

impl JsonRef<'_> {
    pub fn to_node(self) -> Node {
        if !governor::go_on() {
            return Node::Null;
        }
        match self.view() {
            JsonView::Null => Node::Null,
            JsonView::Bool(v) => Node::Bool(v),
            JsonView::Int(v) => Node::Int(v),
            JsonView::UInt(v) => Node::UInt(v),
            JsonView::Double(v) => Node::Double(v),
            JsonView::Decimal(v) => Node::Decimal(v),
            JsonView::Str(v) => Node::Str(bulk::copy_text(v)),
            JsonView::Array(v) => Node::Array(v.iter().map(JsonRef::to_node).collect()),
            JsonView::Object(v) => {
                // They are in order already.
                Node::Object(Members(
                    v.iter()
                        .map(|(name, value)| (name.to_owned(), value.to_node()))
                        .collect(),
                ))
            }
            JsonView::Date(v) => Node::Date(v),
            JsonView::Time(v) => Node::Time(v),
            JsonView::DateTime(v) => Node::DateTime(v),
            JsonView::Opaque(ty, bytes) => Node::Opaque(ty, bulk::copy(bytes)),
        }
    }
}
