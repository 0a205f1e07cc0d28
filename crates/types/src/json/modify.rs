//! Changing documents: JSON_SET and its kin, JSON_REMOVE, JSON_ARRAY_APPEND, JSON_ARRAY_INSERT, JSON_MERGE_PATCH, JSON_MERGE_PRESERVE.
//!
//! Paths must not have wildcards (error 3149 is the caller's).

use super::node::{Members, Node};
use super::path::{JsonPath, PathLeg, Position};

/// What to do where a value is, and where none is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// JSON_SET: replace or add.
    Set,
    /// JSON_INSERT: add only.
    Insert,
    /// JSON_REPLACE: replace only.
    Replace,
}

impl Node {
    /// JSON_SET, JSON_INSERT, JSON_REPLACE. Adding needs the parent: a member of an object, or a cell behind the end of an array
    /// (it becomes the last; before the start, the first). A scalar counts as an array of itself.
    pub fn place(&mut self, path: &JsonPath, value: Node, placement: Placement) {
        if let Some(existing) = self.at_mut(path.legs()) {
            if placement != Placement::Insert {
                *existing = value;
            }
            return;
        }
        let Some((leg, parents)) = path.legs().split_last() else {
            return;
        };
        let Some(parent) = self.at_mut(parents) else { return };
        if placement == Placement::Replace {
            return;
        }
        match (leg, &mut *parent) {
            (PathLeg::Member(name), Node::Object(members)) => members.insert(name, value),
            (PathLeg::Cell(Position::FromStart(_)), Node::Array(items)) => items.push(value),
            (PathLeg::Cell(Position::FromEnd(_)), Node::Array(items)) => items.insert(0, value),
            (PathLeg::Cell(position), scalar) => {
                let itself = std::mem::replace(scalar, Node::Null);
                *scalar = match position {
                    Position::FromStart(_) => Node::Array(vec![itself, value].into()),
                    Position::FromEnd(_) => Node::Array(vec![value, itself].into()),
                };
            }
            _ => {}
        }
    }

    /// JSON_REMOVE of one path; no effect if nothing is there. The root cannot be removed (error 3153 is the caller's).
    pub fn remove(&mut self, path: &JsonPath) {
        let Some((leg, parents)) = path.legs().split_last() else {
            return;
        };
        match (leg, self.at_mut(parents)) {
            (PathLeg::Member(name), Some(Node::Object(members))) => {
                members.remove(name);
            }
            (PathLeg::Cell(position), Some(Node::Array(items))) => {
                if let Some(i) = position.in_array(items.len()).filter(|i| *i < items.len()) {
                    items.remove(i);
                }
            }
            _ => {}
        }
    }

    /// JSON_ARRAY_APPEND: to the array at the path; a scalar or object there becomes an array first.
    pub fn array_append(&mut self, path: &JsonPath, value: Node) {
        match self.at_mut(path.legs()) {
            Some(Node::Array(items)) => items.push(value),
            Some(other) => {
                let itself = std::mem::replace(other, Node::Null);
                *other = Node::Array(vec![itself, value].into());
            }
            None => {}
        }
    }

    /// JSON_ARRAY_INSERT: before the cell that the path ends with. False if it does not end with a cell (error 3165).
    pub fn array_insert(&mut self, path: &JsonPath, value: Node) -> bool {
        let Some((PathLeg::Cell(position), parents)) = path.legs().split_last() else {
            return false;
        };
        if let Some(Node::Array(items)) = self.at_mut(parents) {
            let at = match position {
                Position::FromStart(i) => (*i).min(items.len()),
                // Before the element that has this place.
                Position::FromEnd(back) => items.len().saturating_sub(1 + back),
            };
            items.insert(at, value);
        }
        true
    }

    fn at_mut(&mut self, legs: &[PathLeg]) -> Option<&mut Node> {
        legs.iter().try_fold(self, |node, leg| match (leg, node) {
            (PathLeg::Member(name), Node::Object(members)) => members.get_mut(name),
            (PathLeg::Cell(position), Node::Array(items)) => {
                let i = position.in_array(items.len())?;
                items.get_mut(i)
            }
            (PathLeg::Cell(position), scalar) => (position.in_array(1)? == 0).then_some(scalar),
            _ => None,
        })
    }

    /// JSON_MERGE_PATCH (RFC 7396): members of `patch` replace, null removes; anything that is no object replaces all.
    pub fn merge_patch(self, patch: Node) -> Node {
        let Node::Object(patch) = patch else { return patch };
        let target = match self {
            Node::Object(members) => members,
            _ => Members::default(),
        };
        Node::Object(target.merge(patch, |own, value| match value {
            Node::Null => None,
            value => Some(own.unwrap_or(Node::Null).merge_patch(value)),
        }))
    }

    /// JSON_MERGE_PRESERVE: arrays are joined, objects merged with both values of a shared name, everything else is put in an
    /// array.
    pub fn merge_preserve(self, other: Node) -> Node {
        match (self, other) {
            (Node::Object(a), Node::Object(b)) => Node::Object(a.merge(b, |own, value| match own {
                Some(own) => Some(own.merge_preserve(value)),
                None => Some(value),
            })),
            (Node::Array(mut a), Node::Array(b)) => {
                a.extend(b);
                Node::Array(a)
            }
            (Node::Array(mut a), b) => {
                a.push(b);
                Node::Array(a)
            }
            (a, Node::Array(mut b)) => {
                b.insert(0, a);
                Node::Array(b)
            }
            (a, b) => Node::Array(vec![a, b].into()),
        }
    }
}
