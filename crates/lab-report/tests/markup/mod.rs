//! Just enough HTML to read our own page: elements with attributes, and where each text stands.

#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
pub struct Element {
    pub name: String,
    attributes: BTreeMap<String, String>,
}

/// A text with the elements around it, outermost first.
pub struct Node {
    pub text: String,
    pub path: Vec<Element>,
}

impl Element {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    pub fn classes(&self) -> impl Iterator<Item = &str> {
        self.get("class").unwrap_or("").split_whitespace()
    }
}

pub fn texts(html: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    walk(html, &mut |path, text| {
        if let Some(text) = text {
            nodes.push(Node {
                text: text.to_owned(),
                path: path.to_vec(),
            });
        }
    });
    nodes
}

/// Each element with those around it; the last of a path is the element itself.
pub fn elements(html: &str) -> Vec<Vec<Element>> {
    let mut all = Vec::new();
    walk(html, &mut |path, text| {
        if text.is_none() {
            all.push(path.to_vec());
        }
    });
    all
}

const VOID: [&str; 4] = ["meta", "link", "br", "img"];

fn walk(html: &str, visit: &mut dyn FnMut(&[Element], Option<&str>)) {
    let mut open: Vec<Element> = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let text = &rest[..start];
        if !text.trim().is_empty() {
            visit(&open, Some(unescaped(text).trim()));
        }
        rest = &rest[start..];
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[1..end];
        rest = &rest[end + 1..];
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let closed = open.pop().unwrap_or_else(|| panic!("</{name}> closes nothing"));
            assert_eq!(closed.name, name, "elements are nested");
            continue;
        }
        let alone = tag.ends_with('/');
        let element = element(tag.trim_end_matches('/'));
        let raw = ["style", "script"].contains(&element.name.as_str());
        let void = VOID.contains(&element.name.as_str());
        open.push(element);
        visit(&open, None);
        if alone || void {
            open.pop();
        } else if raw {
            let name = open.pop().unwrap().name;
            let close = format!("</{name}>");
            let end = rest.find(&close).expect("raw text ends");
            rest = &rest[end + close.len()..];
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}

fn element(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let mut attributes = BTreeMap::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            break;
        }
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let key = &rest[..end];
        rest = &rest[end..];
        if let Some(after) = rest.strip_prefix("=\"") {
            let end = after.find('"').expect("a quoted value ends");
            attributes.insert(key.to_owned(), unescaped(&after[..end]));
            rest = &after[end + 1..];
        } else {
            attributes.insert(key.to_owned(), String::new());
        }
    }
    Element {
        name: name.to_owned(),
        attributes,
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}
