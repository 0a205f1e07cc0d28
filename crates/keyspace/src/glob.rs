//! Patterns of keys, channels and parameters: `*`, `?`, `[a-c]`, `[^x]`, `\`.

use store::KeyRange;

use crate::failure::Outcome;
use crate::tables::{Db, Part};

/// A pattern, split once.
#[derive(Clone)]
pub struct Glob {
    parts: Vec<Element>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Element {
    Byte(u8),
    Any,
    Many,
    Class { ranges: Vec<(u8, u8)>, negated: bool },
}

impl Glob {
    pub fn new(pattern: &[u8]) -> Glob {
        let mut parts = Vec::new();
        let mut rest = pattern;
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            match byte {
                b'*' if parts.last() == Some(&Element::Many) => {}
                b'*' => parts.push(Element::Many),
                b'?' => parts.push(Element::Any),
                b'[' => parts.push(class(&mut rest)),
                b'\\' => match rest.split_first() {
                    Some((&escaped, after)) => {
                        rest = after;
                        parts.push(Element::Byte(escaped));
                    }
                    None => parts.push(Element::Byte(b'\\')),
                },
                byte => parts.push(Element::Byte(byte)),
            }
        }
        Glob { parts }
    }

    /// Whether it takes a text. Gives way, and ends with the command.
    pub fn matches(&self, text: &[u8]) -> Outcome<bool> {
        self.looks(text, || Ok(governor::tick()?))
    }

    /// As [`matches`](Self::matches), of a short text, under a lock.
    pub fn takes(&self, text: &[u8]) -> bool {
        self.looks(text, || Ok(())).unwrap_or(false)
    }

    /// Goes back to the last `*` alone: time in proportion to pattern times text at worst.
    fn looks(&self, text: &[u8], tick: impl Fn() -> Outcome) -> Outcome<bool> {
        let (mut at, mut part) = (0, 0);
        let mut star: Option<(usize, usize)> = None;
        while at < text.len() {
            let fits = match self.parts.get(part) {
                Some(Element::Many) => {
                    star = Some((part, at));
                    part += 1;
                    continue;
                }
                Some(element) => element.takes(text[at]),
                None => false,
            };
            if fits {
                (at, part) = (at + 1, part + 1);
                continue;
            }
            let Some((star_part, star_at)) = star else {
                return Ok(false);
            };
            tick()?;
            star = Some((star_part, star_at + 1));
            (at, part) = (star_at + 1, star_part + 1);
        }
        Ok(self.parts[part..].iter().all(|part| *part == Element::Many))
    }

    /// What it begins with.
    fn prefix(&self) -> Vec<u8> {
        let bytes = self.parts.iter().map_while(|part| match part {
            Element::Byte(byte) => Some(*byte),
            _ => None,
        });
        bytes.collect()
    }

    /// The keys that may match.
    pub fn range(&self, db: &Db) -> KeyRange {
        let prefix = self.prefix();
        let table = db.table(Part::Keys);
        let layout = crate::tables::layout_of(table, types::IndexId::PRIMARY);
        let begin = layout.encode_string_prefix(0, &types::Value::Bytes(types::Bytes::new(&prefix)));
        match begin {
            Some(begin) if !prefix.is_empty() => KeyRange::of_prefix(begin),
            _ => KeyRange::all(),
        }
    }
}

impl Element {
    fn takes(&self, byte: u8) -> bool {
        match self {
            Element::Byte(wanted) => *wanted == byte,
            Element::Any | Element::Many => true,
            Element::Class { ranges, negated } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&byte)) != *negated
            }
        }
    }
}

/// What follows a `[`, up to its `]` or the end of the pattern.
fn class(rest: &mut &[u8]) -> Element {
    let mut bytes = *rest;
    let negated = bytes.first() == Some(&b'^');
    if negated {
        bytes = &bytes[1..];
    }
    let mut ranges = Vec::new();
    loop {
        match *bytes {
            [] => break,
            [b'\\', escaped, ref after @ ..] => {
                ranges.push((escaped, escaped));
                bytes = after;
            }
            [b']', ref after @ ..] => {
                bytes = after;
                break;
            }
            [from, b'-', to, ref after @ ..] => {
                ranges.push((from.min(to), from.max(to)));
                bytes = after;
            }
            [byte, ref after @ ..] => {
                ranges.push((byte, byte));
                bytes = after;
            }
        }
    }
    *rest = bytes;
    Element::Class { ranges, negated }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_redis() {
        for (pattern, text, matches) in [
            ("*", "", true),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h*llo", "heeeello", true),
            ("h[ae]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-c]llo", "hbllo", true),
            ("h[c-a]llo", "hbllo", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "axb", false),
            ("[\\]]", "]", true),
            ("[", "a", false),
            ("a*b*c", "axxbxxbc", true),
            ("a*b*c", "axxbxxb", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(
                Glob::new(pattern.as_bytes()).matches(text.as_bytes()).unwrap(),
                matches,
                "{pattern} {text}"
            );
        }
    }
}
