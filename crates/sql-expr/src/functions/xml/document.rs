//! XML as MySQL reads it: elements, attributes and texts in one list, in the order of the text. Entities stay as they are written, and what a
//! document type says is not looked at.

use std::ops::Range;

/// Where a text is no XML, and why.
#[derive(Debug)]
pub struct XmlError {
    line: usize,
    column: usize,
    what: String,
}

impl XmlError {
    pub fn message(&self) -> String {
        format!("parse error at line {} pos {}: {}", self.line, self.column, self.what)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The whole text, and each element.
    Element,
    Attribute,
    Text,
}

#[derive(Debug)]
pub struct Node {
    pub kind: Kind,
    /// Of an element or an attribute its name, of a text itself.
    pub name: Range<usize>,
    /// What UpdateXML replaces.
    pub span: Range<usize>,
    /// The whole text is its own parent.
    pub parent: usize,
    /// Behind the last node inside.
    pub end: usize,
}

/// The first node is the whole text.
pub struct Document<'a> {
    pub text: &'a str,
    pub nodes: Vec<Node>,
}

pub enum Failure {
    Xml(XmlError),
    Stop(governor::Stop),
}

impl From<governor::Stop> for Failure {
    fn from(stop: governor::Stop) -> Failure {
        Failure::Stop(stop)
    }
}

type Parsed<T> = Result<T, Failure>;

impl Document<'_> {
    pub fn parse(text: &str) -> Parsed<Document<'_>> {
        let mut parser = Parser {
            text,
            at: 0,
            nodes: Vec::new(),
            open: Vec::new(),
        };
        parser.enter(Kind::Element, 0..0, 0..text.len())?;
        while parser.at < text.len() {
            governor::tick()?;
            parser.piece()?;
        }
        if parser.open.len() > 1 {
            parser.at += 1;
            return Err(parser.error("unexpected END-OF-INPUT".to_owned()));
        }
        parser.leave();
        Ok(Document {
            text,
            nodes: parser.nodes,
        })
    }

    pub fn name(&self, node: usize) -> &str {
        &self.text[self.nodes[node].name.clone()]
    }

    /// The nodes right inside.
    pub fn children(&self, node: usize) -> impl Iterator<Item = usize> {
        let end = self.nodes[node].end;
        let mut next = node + 1;
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.nodes[child].end;
            Some(child)
        })
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    nodes: Vec<Node>,
    /// The elements around.
    open: Vec<usize>,
}

impl Parser<'_> {
    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn enter(&mut self, kind: Kind, name: Range<usize>, span: Range<usize>) -> Parsed<()> {
        if self.nodes.len() == self.nodes.capacity() {
            governor::ensure(2 * self.nodes.len() * size_of::<Node>())?;
        }
        self.open.push(self.nodes.len());
        self.nodes.push(Node {
            kind,
            name,
            span,
            parent: self.open[self.open.len().saturating_sub(2)],
            end: 0,
        });
        Ok(())
    }

    fn leave(&mut self) -> usize {
        let node = self.open.pop().unwrap_or(0);
        self.nodes[node].end = self.nodes.len();
        node
    }

    fn leaf(&mut self, kind: Kind, text: Range<usize>) -> Parsed<()> {
        if !text.is_empty() {
            self.enter(kind, text.clone(), text)?;
            self.leave();
        }
        Ok(())
    }

    /// A text, a comment, a mark.
    fn piece(&mut self) -> Parsed<()> {
        const COMMENT: [&str; 2] = ["<!--", "-->"];
        const LITERAL: [&str; 2] = ["<![CDATA[", "]]>"];
        if self.rest()[0] != b'<' {
            let end = self.find("<")?.unwrap_or(self.text.len());
            let text = self.at..end;
            self.at = end;
            return self.leaf(Kind::Text, text);
        }
        for [begin, end] in [COMMENT, LITERAL] {
            if !self.rest().starts_with(begin.as_bytes()) {
                continue;
            }
            let start = self.at + begin.len();
            self.at = start;
            let Some(found) = self.find(end)? else {
                self.at = self.text.len() + 1;
                return Err(self.error("unexpected END-OF-INPUT".to_owned()));
            };
            self.at = found + end.len();
            return match begin == LITERAL[0] {
                true => self.leaf(Kind::Text, start..found),
                false => Ok(()),
            };
        }
        self.mark()
    }

    /// Where `wanted` stands next.
    fn find(&self, wanted: &str) -> Parsed<Option<usize>> {
        let bytes = self.text.as_bytes();
        let mut from = self.at;
        while from < bytes.len() {
            governor::tick()?;
            let end = (from + governor::bulk::PIECE).min(bytes.len());
            let window = &bytes[from..(end + wanted.len() - 1).min(bytes.len())];
            if let Some(found) = window
                .windows(wanted.len())
                .position(|piece| piece == wanted.as_bytes())
            {
                return Ok(Some(from + found));
            }
            from = end;
        }
        Ok(None)
    }

    /// `<name attributes>`, `</name>`, `<?name attributes?>`, `<!name words>`
    fn mark(&mut self) -> Parsed<()> {
        let start = self.at;
        self.at += 1;
        if self.eat(b'/') {
            return self.end_mark();
        }
        let sign = [b'?', b'!'].into_iter().find(|sign| self.eat(*sign));
        let Some(name) = self.name()? else {
            return Err(self.unexpected("ident or '/' wanted"));
        };
        self.enter(Kind::Element, name, start..0)?;
        self.attributes(sign)?;
        let is_closed = match sign {
            Some(b'?') => {
                if !self.eat(b'?') {
                    return Err(self.unexpected("'?' wanted"));
                }
                true
            }
            Some(_) => true,
            None => self.eat(b'/'),
        };
        if !self.eat(b'>') {
            return Err(self.unexpected("'>' wanted"));
        }
        if is_closed {
            let node = self.leave();
            self.nodes[node].span.end = self.at;
        }
        Ok(())
    }

    fn end_mark(&mut self) -> Parsed<()> {
        let Some(name) = self.name()? else {
            return Err(self.unexpected("ident wanted"));
        };
        let name = &self.text[name];
        let node = match *self.open {
            [_, .., node] => node,
            _ => return Err(self.error(format!("'</{name}>' unexpected (END-OF-INPUT wanted)"))),
        };
        let wanted = &self.text[self.nodes[node].name.clone()];
        if name != wanted {
            return Err(self.error(format!("'</{name}>' unexpected ('</{wanted}>' wanted)")));
        }
        if !self.eat(b'>') {
            return Err(self.unexpected("'>' wanted"));
        }
        self.leave();
        self.nodes[node].span.end = self.at;
        Ok(())
    }

    /// `name="value"`, `name=value`, `name`; behind `<!` a string alone, too.
    fn attributes(&mut self, sign: Option<u8>) -> Parsed<()> {
        loop {
            governor::tick()?;
            if sign == Some(b'!') && self.string()?.is_some() {
                continue;
            }
            let Some(name) = self.name()? else { return Ok(()) };
            let (start, mut end) = (name.start, name.end);
            self.enter(Kind::Attribute, name, start..end)?;
            if self.eat(b'=') {
                let value = match self.string()? {
                    Some(value) => Some(value),
                    None => self.name()?,
                };
                let Some(value) = value else {
                    return Err(self.unexpected("ident or string wanted"));
                };
                self.leaf(Kind::Text, value)?;
                end = self.at;
            }
            let node = self.leave();
            self.nodes[node].span.end = end;
        }
    }

    fn blanks(&mut self) {
        while self.rest().first().is_some_and(u8::is_ascii_whitespace) {
            governor::pause();
            self.at += 1;
        }
    }

    fn eat(&mut self, wanted: u8) -> bool {
        self.blanks();
        let found = self.rest().first() == Some(&wanted);
        self.at += usize::from(found);
        found
    }

    fn name(&mut self) -> Parsed<Option<Range<usize>>> {
        self.blanks();
        let start = self.at;
        let begins = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || !byte.is_ascii();
        let goes_on = |byte: u8| begins(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        if !self.rest().first().is_some_and(|byte| begins(*byte)) {
            return Ok(None);
        }
        while self.rest().first().is_some_and(|byte| goes_on(*byte)) {
            governor::tick()?;
            self.at += 1;
        }
        Ok(Some(start..self.at))
    }

    /// What stands in quotes; one that is not closed goes on to the end of the text.
    fn string(&mut self) -> Parsed<Option<Range<usize>>> {
        self.blanks();
        let quote = match self.rest().first() {
            Some(b'"') => "\"",
            Some(b'\'') => "'",
            _ => return Ok(None),
        };
        self.at += 1;
        let start = self.at;
        let end = self.find(quote)?.unwrap_or(self.text.len());
        self.at = (end + 1).min(self.text.len());
        Ok(Some(start..end))
    }

    fn unexpected(&self, wanted: &str) -> Failure {
        let found = match self.rest().first() {
            None => "END-OF-INPUT",
            Some(b'=') => "'='",
            Some(b'>') => "'>'",
            Some(b'<') => "'<'",
            Some(b'/') => "'/'",
            Some(b'"' | b'\'') => "STRING",
            Some(byte) if byte.is_ascii_alphabetic() => "IDENT",
            Some(_) => "unknown token",
        };
        self.error(format!("{found} unexpected ({wanted})"))
    }

    fn error(&self, what: String) -> Failure {
        let before = &self.text.as_bytes()[..self.at.min(self.text.len())];
        let lines = governor::bulk::pieces(before)
            .map(|piece| piece.iter().filter(|byte| **byte == b'\n').count())
            .sum::<usize>();
        let in_line = governor::bulk::suffix_len(before, |byte| byte != b'\n');
        Failure::Xml(XmlError {
            line: lines + 1,
            column: self.at + in_line - before.len(),
            what,
        })
    }
}
