//! Path expressions: `$.name[0]."odd name"[*].*`, `**`, `[last-1]`, `[1 to 3]`.

use super::parse;
use std::fmt;

/// A parsed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath {
    legs: Vec<PathLeg>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathLeg {
    /// `.name`
    Member(String),
    /// `.*`
    AnyMember,
    /// `[3]`, `[last]`, `[last-2]`
    Cell(Position),
    /// `[1 to last]`
    Range(Position, Position),
    /// `[*]`
    AnyCell,
    /// `**`: the value itself and everything within.
    Ellipsis,
}

/// A place in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    FromStart(usize),
    /// 0 is `last`.
    FromEnd(usize),
}

impl Position {
    /// The index in an array of `len`; `None` if it is before the first.
    pub(super) fn in_array(self, len: usize) -> Option<usize> {
        match self {
            Position::FromStart(i) => Some(i),
            Position::FromEnd(back) => len.checked_sub(1 + back),
        }
    }
}

/// The text is not a path; error 3143 shows the position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonPathError {
    /// Where in the text, from 1.
    pub position: usize,
}

impl fmt::Display for JsonPathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid JSON path around character {}", self.position)
    }
}

impl std::error::Error for JsonPathError {}

impl JsonPath {
    pub fn parse(text: &str) -> Result<JsonPath, JsonPathError> {
        let mut parser = PathParser { text, at: 0 };
        parser.path().ok_or(JsonPathError {
            position: text[..parser.at.min(text.len())].chars().count().max(1),
        })
    }

    pub fn legs(&self) -> &[PathLeg] {
        &self.legs
    }

    /// Whether it may match more than one value: it has `*`, `**` or a range.
    pub fn has_wildcard(&self) -> bool {
        self.legs
            .iter()
            .any(|leg| !matches!(leg, PathLeg::Member(_) | PathLeg::Cell(_)))
    }

    /// Whether it is `$`.
    pub fn is_root(&self) -> bool {
        self.legs.is_empty()
    }
}

struct PathParser<'a> {
    text: &'a str,
    at: usize,
}

impl PathParser<'_> {
    fn path(&mut self) -> Option<JsonPath> {
        self.skip_blanks();
        self.take("$").then_some(())?;
        let mut legs = Vec::new();
        loop {
            self.skip_blanks();
            if self.rest().is_empty() {
                break;
            }
            legs.push(self.leg()?);
        }
        // Nothing can end in an ellipsis.
        (legs.last() != Some(&PathLeg::Ellipsis)).then_some(JsonPath { legs })
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn leg(&mut self) -> Option<PathLeg> {
        if self.take("**") {
            // A third asterisk is an error.
            return (!self.rest().starts_with('*')).then_some(PathLeg::Ellipsis);
        }
        if self.take(".") {
            self.skip_blanks();
            return self.member();
        }
        if self.take("[") {
            return self.cell();
        }
        None
    }

    fn member(&mut self) -> Option<PathLeg> {
        if self.take("*") {
            return Some(PathLeg::AnyMember);
        }
        if self.rest().starts_with('"') {
            let (name, consumed) = parse::parse_string(self.rest()).ok()?;
            self.at += consumed;
            return Some(PathLeg::Member(name));
        }
        let name: String = self.rest().chars().take_while(|&c| is_name_part(c)).collect();
        let starts_well = name.chars().next().is_some_and(is_name_start);
        starts_well.then(|| {
            self.at += name.len();
            PathLeg::Member(name)
        })
    }

    fn cell(&mut self) -> Option<PathLeg> {
        self.skip_blanks();
        let leg = if self.take("*") {
            PathLeg::AnyCell
        } else {
            let from = self.position()?;
            self.skip_blanks();
            if self.take("to") {
                self.skip_blanks();
                let to = self.position()?;
                // A range that is empty whatever the array.
                match (from, to) {
                    (Position::FromStart(a), Position::FromStart(b)) if a > b => return None,
                    (Position::FromEnd(a), Position::FromEnd(b)) if a < b => return None,
                    _ => PathLeg::Range(from, to),
                }
            } else {
                PathLeg::Cell(from)
            }
        };
        self.skip_blanks();
        self.take("]").then_some(leg)
    }

    fn position(&mut self) -> Option<Position> {
        if self.take("last") {
            self.skip_blanks();
            if !self.take("-") {
                return Some(Position::FromEnd(0));
            }
            self.skip_blanks();
            return self.index().map(Position::FromEnd);
        }
        self.index().map(Position::FromStart)
    }

    /// At most 2^32 - 1.
    fn index(&mut self) -> Option<usize> {
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let index: u32 = self.rest()[..digits].parse().ok()?;
        self.at += digits;
        Some(index as usize)
    }
}

/// ECMAScript identifiers, as MySQL takes them.
fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn is_name_part(c: char) -> bool {
    is_name_start(c) || c.is_numeric() || matches!(c, '\u{200c}' | '\u{200d}')
}

/// Appends `.name`, quoted if it is not an identifier.
pub(super) fn write_member(name: &str, out: &mut String) {
    out.push('.');
    let mut chars = name.chars();
    if chars.next().is_some_and(is_name_start) && chars.all(is_name_part) {
        out.push_str(name);
    } else {
        out.push_str(&super::quote(name));
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn position(p: &Position) -> String {
            match p {
                Position::FromStart(i) => i.to_string(),
                Position::FromEnd(0) => "last".into(),
                Position::FromEnd(back) => format!("last-{back}"),
            }
        }
        let mut out = String::from("$");
        for leg in &self.legs {
            match leg {
                PathLeg::Member(name) => write_member(name, &mut out),
                PathLeg::AnyMember => out.push_str(".*"),
                PathLeg::Cell(at) => out.push_str(&format!("[{}]", position(at))),
                PathLeg::Range(from, to) => out.push_str(&format!("[{} to {}]", position(from), position(to))),
                PathLeg::AnyCell => out.push_str("[*]"),
                PathLeg::Ellipsis => out.push_str("**"),
            }
        }
        f.write_str(&out)
    }
}
