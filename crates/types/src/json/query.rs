//! Reading by path: JSON_EXTRACT, JSON_KEYS, JSON_LENGTH, JSON_DEPTH, JSON_SEARCH.

use super::path::{JsonPath, PathLeg, write_member};
use super::{Json, JsonRef, JsonView, Node};

/// JSON_EXTRACT. One path without wildcards gives its value; otherwise the values found are wrapped in an array.
/// `None` (NULL) if nothing was found.
pub fn extract(document: JsonRef<'_>, paths: &[JsonPath]) -> Option<Json> {
    if let [path] = paths
        && !path.has_wildcard()
    {
        return document.at(path).map(JsonRef::to_json);
    }
    let found: Vec<Node> = paths
        .iter()
        .flat_map(|path| document.find(path))
        .map(JsonRef::to_node)
        .collect();
    (!found.is_empty()).then(|| Json::from(&Node::Array(found)))
}

impl<'a> JsonRef<'a> {
    /// The value at a path without wildcards; of one with wildcards the first.
    pub fn at(self, path: &JsonPath) -> Option<JsonRef<'a>> {
        if path.has_wildcard() {
            return self.find(path).into_iter().next();
        }
        path.legs().iter().try_fold(self, |value, leg| value.step(leg))
    }

    /// Along a leg without wildcard. A value that is no array is an array of itself.
    fn step(self, leg: &PathLeg) -> Option<JsonRef<'a>> {
        match (leg, self.view()) {
            (PathLeg::Member(name), JsonView::Object(object)) => object.get(name),
            (PathLeg::Cell(position), JsonView::Array(array)) => array.get(position.in_array(array.len())?),
            (PathLeg::Cell(position), _) => (position.in_array(1)? == 0).then_some(self),
            _ => None,
        }
    }

    /// All values that a path matches, each once, in document order.
    pub fn find(self, path: &JsonPath) -> Vec<JsonRef<'a>> {
        let mut found = Vec::new();
        collect(self, path.legs(), &mut found);
        found
    }

    /// JSON_KEYS; `None` if it is no object.
    pub fn keys(self) -> Option<Json> {
        match self.view() {
            JsonView::Object(object) => {
                let names = object.iter().map(|(name, _)| Node::Str(name.to_owned())).collect();
                Some(Json::from(&Node::Array(names)))
            }
            _ => None,
        }
    }

    /// JSON_LENGTH: elements, members, or 1.
    pub fn length(self) -> usize {
        match self.view() {
            JsonView::Array(array) => array.len(),
            JsonView::Object(object) => object.len(),
            _ => 1,
        }
    }

    /// JSON_DEPTH: 1 for scalars and empty containers.
    pub fn depth(self) -> usize {
        1 + match self.view() {
            JsonView::Array(array) => array.iter().map(JsonRef::depth).max().unwrap_or(0),
            JsonView::Object(object) => object.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// The strings of the document that `accept` takes, as paths, for JSON_SEARCH; at most `limit`.
    pub fn search(self, accept: &dyn Fn(&str) -> bool, limit: usize) -> Vec<String> {
        let mut found = Vec::new();
        self.search_below(&mut String::from("$"), accept, limit, &mut found);
        found
    }

    fn search_below(self, path: &mut String, accept: &dyn Fn(&str) -> bool, limit: usize, found: &mut Vec<String>) {
        if found.len() >= limit {
            return;
        }
        let here = path.len();
        match self.view() {
            JsonView::Str(text) if accept(text) => found.push(path.clone()),
            JsonView::Array(array) => {
                for (i, item) in array.iter().enumerate() {
                    path.push_str(&format!("[{i}]"));
                    item.search_below(path, accept, limit, found);
                    path.truncate(here);
                }
            }
            JsonView::Object(object) => {
                for (name, value) in object.iter() {
                    write_member(name, path);
                    value.search_below(path, accept, limit, found);
                    path.truncate(here);
                }
            }
            _ => {}
        }
    }
}

fn collect<'a>(value: JsonRef<'a>, legs: &[PathLeg], found: &mut Vec<JsonRef<'a>>) {
    let Some((leg, rest)) = legs.split_first() else {
        // `**` may reach a value along several ways: it is one value by its place in the document.
        if !found
            .iter()
            .any(|other| std::ptr::eq(other.as_bytes(), value.as_bytes()))
        {
            found.push(value);
        }
        return;
    };
    match leg {
        PathLeg::Member(_) | PathLeg::Cell(_) => {
            if let Some(next) = value.step(leg) {
                collect(next, rest, found);
            }
        }
        PathLeg::AnyMember => {
            if let JsonView::Object(object) = value.view() {
                object.iter().for_each(|(_, member)| collect(member, rest, found));
            }
        }
        // Unlike `[0]`, it does not take a value that is no array for an array of itself.
        PathLeg::AnyCell => {
            if let JsonView::Array(array) = value.view() {
                array.iter().for_each(|item| collect(item, rest, found));
            }
        }
        PathLeg::Range(from, to) => {
            let array = match value.view() {
                JsonView::Array(array) => Some(array),
                _ => None,
            };
            let len = array.map_or(1, |a| a.len());
            let first = from.in_array(len).unwrap_or(0);
            let Some(last) = to.in_array(len) else { return };
            for i in first..=last.min(len.saturating_sub(1)) {
                let item = array.map_or(Some(value), |a| a.get(i));
                item.into_iter().for_each(|item| collect(item, rest, found));
            }
        }
        PathLeg::Ellipsis => {
            collect(value, rest, found);
            match value.view() {
                JsonView::Array(array) => array.iter().for_each(|item| collect(item, legs, found)),
                JsonView::Object(object) => object.iter().for_each(|(_, member)| collect(member, legs, found)),
                _ => {}
            }
        }
    }
}
