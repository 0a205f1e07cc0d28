//! Reading by path: JSON_EXTRACT, JSON_KEYS, JSON_LENGTH, JSON_DEPTH, JSON_SEARCH.

use super::path::{JsonPath, PathLeg, write_member};
use super::{Json, JsonRef, JsonView, Node};
use governor::bulk;
use std::collections::HashSet;
use std::ops::Range;

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
    (!found.is_empty()).then(|| Json::from(&Node::Array(found.into())))
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
        if !governor::go_on() {
            return None;
        }
        match (leg, self.container()) {
            (PathLeg::Member(name), Some(JsonView::Object(object))) => object.get(name),
            (PathLeg::Cell(position), Some(JsonView::Array(array))) => array.get(position.in_array(array.len())?),
            (PathLeg::Cell(position), _) => (position.in_array(1)? == 0).then_some(self),
            _ => None,
        }
    }

    /// The view of an array or object.
    fn container(self) -> Option<JsonView<'a>> {
        self.is_container().then(|| self.view())
    }

    /// All values that a path matches, each once, in the order in which its legs reach them.
    pub fn find(self, path: &JsonPath) -> Vec<JsonRef<'a>> {
        let mut found = vec![self];
        let mut several_ways = false;
        for leg in path.legs() {
            let mut next = Vec::new();
            // `**` may reach a value along several ways: it is one value by its place in the document. Who was reached has
            // had all that is within reached too.
            let mut reached = HashSet::new();
            for value in found {
                value.along(leg, &mut next, &mut reached);
            }
            // What `**` has reached in an array is an array of itself, too: `[0]` finds it twice.
            several_ways |= *leg == PathLeg::Ellipsis;
            if several_ways {
                let mut places = HashSet::new();
                next.retain(|value| governor::go_on() && places.insert(value.as_bytes().as_ptr()));
            }
            found = next;
        }
        found
    }

    fn along(self, leg: &PathLeg, found: &mut Vec<JsonRef<'a>>, reached: &mut HashSet<*const u8>) {
        if !governor::go_on() {
            return;
        }
        match (leg, self.container()) {
            (PathLeg::Member(_) | PathLeg::Cell(_), _) => found.extend(self.step(leg)),
            (PathLeg::AnyMember, Some(JsonView::Object(object))) => {
                found.extend(
                    object
                        .iter()
                        .take_while(|_| governor::go_on())
                        .map(|(_, member)| member),
                );
            }
            // Unlike `[0]`, it does not take a value that is no array for an array of itself.
            (PathLeg::AnyCell, Some(JsonView::Array(array))) => {
                found.extend(array.iter().take_while(|_| governor::go_on()));
            }
            (PathLeg::AnyMember | PathLeg::AnyCell, _) => {}
            (PathLeg::Range(from, to), container) => {
                let array = match container {
                    Some(JsonView::Array(array)) => Some(array),
                    _ => None,
                };
                let len = array.map_or(1, |a| a.len());
                let first = from.in_array(len).unwrap_or(0);
                let Some(last) = to.in_array(len) else { return };
                let places = first..=last.min(len.saturating_sub(1));
                let places = places.take_while(|_| governor::go_on());
                found.extend(places.filter_map(|i| array.map_or(Some(self), |a| a.get(i))));
            }
            (PathLeg::Ellipsis, container) => {
                if !reached.insert(self.as_bytes().as_ptr()) {
                    return;
                }
                found.push(self);
                match container {
                    Some(JsonView::Array(array)) => array.iter().for_each(|item| item.along(leg, found, reached)),
                    Some(JsonView::Object(object)) => {
                        object.iter().for_each(|(_, member)| member.along(leg, found, reached));
                    }
                    _ => {}
                }
            }
        }
    }

    /// JSON_KEYS; `None` if it is no object.
    pub fn keys(self) -> Option<Json> {
        match self.view() {
            JsonView::Object(object) => {
                let names = object.iter().take_while(|_| governor::go_on());
                let names = names.map(|(name, _)| Node::Str(bulk::copy_text(name)));
                Some(Json::from(&Node::Array(names.collect())))
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
        if !governor::go_on() {
            return 1;
        }
        1 + match self.view() {
            JsonView::Array(array) => array.iter().map(JsonRef::depth).max().unwrap_or(0),
            JsonView::Object(object) => object.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// The strings of the document that `accept` takes, as paths, for JSON_SEARCH; at most `limit`. With `within`, those that one
    /// of its paths reaches or encloses, path by path.
    pub fn search(self, within: &[JsonPath], accept: &dyn Fn(&str) -> bool, limit: usize) -> Vec<String> {
        let mut places = Vec::new();
        let first_only = if within.is_empty() { limit } else { usize::MAX };
        self.search_below(&mut String::from("$"), accept, first_only, &mut places);
        if within.is_empty() {
            return places.into_iter().map(|(path, _)| path).collect();
        }
        let mut found = Vec::new();
        for path in within {
            let enclosing = enclosing(self.find(path));
            let mut others = Vec::with_capacity(places.len());
            for (path, value) in places {
                governor::pause();
                let at = value.as_bytes().as_ptr();
                let next = enclosing.partition_point(|range| range.start <= at);
                match next
                    .checked_sub(1)
                    .is_some_and(|before| enclosing[before].contains(&at))
                {
                    true => found.push(path),
                    false => others.push((path, value)),
                }
            }
            places = others;
        }
        found.truncate(limit);
        found
    }

    fn search_below(
        self,
        path: &mut String,
        accept: &dyn Fn(&str) -> bool,
        limit: usize,
        found: &mut Vec<(String, JsonRef<'a>)>,
    ) {
        if found.len() >= limit || !governor::go_on() {
            return;
        }
        let here = path.len();
        match self.view() {
            JsonView::Str(text) if accept(text) => found.push((path.clone(), self)),
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

/// The places of values in their document's bytes, without those that lie in others, in order.
fn enclosing(values: Vec<JsonRef<'_>>) -> Vec<Range<*const u8>> {
    let mut ranges: Vec<_> = values.iter().map(|value| value.as_bytes().as_ptr_range()).collect();
    // An outer value begins before what it holds.
    ranges.sort_unstable_by_key(|range| range.start);
    ranges.dedup_by(|inner, outer| inner.end <= outer.end);
    ranges
}
