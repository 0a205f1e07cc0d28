//! XPath, as much as MySQL has: the tree of a query, and how it is read.
//!
//! Source: the MySQL manual, "XML Functions".

use types::SqlResult;
use types::error::{ErrorKind, SqlError};

/// Operators, calls, steps and predicates of one query.
const PARTS_MAX: usize = 1000;

#[derive(Debug)]
pub enum Expr {
    Path(Path),
    /// Two or more.
    Union(Vec<Expr>),
    Number(f64),
    Text(String),
    /// `$@name`
    UserVariable(String),
    Call(Function, Vec<Expr>),
    Negative(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
}

#[derive(Debug)]
pub struct Path {
    pub start: Start,
    pub steps: Vec<Step>,
}

#[derive(Debug)]
pub enum Start {
    Root,
    /// The node that a predicate is asked about; the root outside of predicates.
    Context,
    Nodes(Box<Expr>),
}

#[derive(Debug)]
pub struct Step {
    pub axis: Axis,
    /// None: any.
    pub name: Option<String>,
    pub predicates: Vec<Expr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Parent,
    Itself,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Boolean,
    Ceiling,
    Concat,
    Contains,
    Count,
    False,
    Floor,
    Last,
    Not,
    Number,
    Position,
    Round,
    StringLength,
    Substring,
    Sum,
    True,
}

/// Name, function, least and most arguments.
const FUNCTIONS: [(&str, Function, usize, usize); 16] = [
    ("boolean", Function::Boolean, 1, 1),
    ("ceiling", Function::Ceiling, 1, 1),
    ("concat", Function::Concat, 2, 255),
    ("contains", Function::Contains, 2, 2),
    ("count", Function::Count, 1, 1),
    ("false", Function::False, 0, 0),
    ("floor", Function::Floor, 1, 1),
    ("last", Function::Last, 0, 0),
    ("not", Function::Not, 1, 1),
    ("number", Function::Number, 0, 1),
    ("position", Function::Position, 0, 0),
    ("round", Function::Round, 1, 1),
    ("string-length", Function::StringLength, 0, 1),
    ("substring", Function::Substring, 2, 3),
    ("sum", Function::Sum, 1, 1),
    ("true", Function::True, 0, 0),
];

const AXES: [(&str, Axis); 8] = [
    ("ancestor", Axis::Ancestor),
    ("ancestor-or-self", Axis::AncestorOrSelf),
    ("attribute", Axis::Attribute),
    ("child", Axis::Child),
    ("descendant", Axis::Descendant),
    ("descendant-or-self", Axis::DescendantOrSelf),
    ("parent", Axis::Parent),
    ("self", Axis::Itself),
];

/// MySQL reads these as `child`.
const OTHER_AXES: [&str; 5] = [
    "following",
    "following-sibling",
    "namespace",
    "preceding",
    "preceding-sibling",
];

const NODE_TYPES: [&str; 4] = ["comment", "node", "processing-instruction", "text"];

impl Expr {
    /// Reads a query. 1105 where it is none.
    pub fn parse(text: &str) -> SqlResult<Expr> {
        let mut parser = Parser {
            text,
            token: Token::End,
            start: 0,
            end: 0,
            predicates: 0,
            parts: 0,
        };
        parser.next();
        let expr = parser.expr()?;
        match parser.token {
            Token::End => Ok(expr),
            _ => Err(parser.syntax_error()),
        }
    }

    pub fn gives_nodes(&self) -> bool {
        matches!(self, Expr::Path(_) | Expr::Union(_))
    }

    /// Whether a predicate of this asks for a truth, and not for a place.
    pub fn gives_truth(&self) -> bool {
        match self {
            Expr::Path(_) | Expr::Union(_) => true,
            Expr::Binary(operator, ..) => !matches!(
                operator,
                Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder
            ),
            Expr::Call(function, _) => matches!(
                function,
                Function::Boolean | Function::Contains | Function::False | Function::Not | Function::True
            ),
            Expr::Number(_) | Expr::Text(_) | Expr::UserVariable(_) | Expr::Negative(_) => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    End,
    Name,
    Number,
    /// With its quotes.
    Text,
    /// `//`, `..`, `::`, `!=`, `<=`, `>=`: the second is one more.
    Sign(u8),
    Double(u8),
    Bad,
}

struct Parser<'a> {
    text: &'a str,
    token: Token,
    start: usize,
    end: usize,
    /// Around the place.
    predicates: usize,
    parts: usize,
}

impl<'a> Parser<'a> {
    fn next(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = self.end;
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            governor::pause();
            at += 1;
        }
        self.start = at;
        let length = |from: usize, is_inside: fn(u8) -> bool| {
            let rest = bytes.get(from..).unwrap_or_default();
            governor::bulk::prefix_len(rest, is_inside)
        };
        let begins_name = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii();
        (self.token, self.end) = match bytes.get(at).copied() {
            None => (Token::End, at),
            Some(byte) if begins_name(byte) => {
                let goes_on =
                    |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.') || !byte.is_ascii();
                let mut end = at + length(at, goes_on);
                // `prefix:name`, but `axis::name`.
                if bytes.get(end) == Some(&b':') && bytes.get(end + 1).is_some_and(|byte| begins_name(*byte)) {
                    end += 1 + length(end + 1, goes_on);
                }
                (Token::Name, end)
            }
            Some(byte) if byte.is_ascii_digit() => {
                let mut end = at + length(at, |byte| byte.is_ascii_digit());
                if bytes.get(end) == Some(&b'.') {
                    end += 1 + length(end + 1, |byte| byte.is_ascii_digit());
                }
                (Token::Number, end)
            }
            Some(quote @ (b'"' | b'\'')) => {
                let inside = match quote {
                    b'"' => length(at + 1, |byte| byte != b'"'),
                    _ => length(at + 1, |byte| byte != b'\''),
                };
                match at + 1 + inside < bytes.len() {
                    true => (Token::Text, at + inside + 2),
                    false => (Token::Bad, bytes.len()),
                }
            }
            Some(byte) => {
                let second = bytes.get(at + 1).copied();
                match (byte, second) {
                    (b'/', Some(b'/')) | (b'.', Some(b'.')) | (b':', Some(b':')) => (Token::Double(byte), at + 2),
                    (b'!' | b'<' | b'>', Some(b'=')) => (Token::Double(byte), at + 2),
                    (
                        b'/' | b'.' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b',' | b'@' | b'*' | b'+' | b'-' | b'='
                        | b'|' | b'$',
                        _,
                    ) => (Token::Sign(byte), at + 1),
                    _ => (Token::Bad, at + 1),
                }
            }
        };
    }

    fn word(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    fn eat(&mut self, token: Token) -> bool {
        let found = self.token == token;
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, token: Token) -> SqlResult<()> {
        match self.eat(token) {
            true => Ok(()),
            false => Err(self.syntax_error()),
        }
    }

    fn syntax_error(&self) -> SqlError {
        self.error("XPATH syntax error")
    }

    /// 1105 with the text from the token on.
    fn error(&self, what: &str) -> SqlError {
        const SHOWN_CHARS: usize = 128;
        let rest: String = self.text[self.start..].chars().take(SHOWN_CHARS).collect();
        SqlError::with_message(ErrorKind::UnknownError, format!("{what}: '{rest}'"))
    }

    fn part(&mut self) -> SqlResult<()> {
        governor::tick()?;
        self.parts += 1;
        match self.parts > PARTS_MAX {
            true => Err(SqlError::not_supported("an XPath query of so many parts")),
            false => Ok(()),
        }
    }

    fn expr(&mut self) -> SqlResult<Expr> {
        governor::descend()?;
        self.part()?;
        self.binary(0)
    }

    /// Operators of this level and of those that bind tighter.
    fn binary(&mut self, level: usize) -> SqlResult<Expr> {
        const TIGHTEST: usize = 5;
        if level > TIGHTEST {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(operator) = self.operator(level) {
            self.part()?;
            let start = self.start;
            self.next();
            let right = self.binary(level + 1)?;
            if level == 2 || level == 3 {
                self.check_comparison(&left, &right, start)?;
            }
            left = Expr::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn operator(&self, level: usize) -> Option<Operator> {
        let word = match self.token {
            Token::Name => self.word(),
            _ => "",
        };
        Some(match (level, self.token) {
            (0, _) if word == "or" => Operator::Or,
            (1, _) if word == "and" => Operator::And,
            (2, Token::Sign(b'=')) => Operator::Equal,
            (2, Token::Double(b'!')) => Operator::NotEqual,
            (3, Token::Sign(b'<')) => Operator::Less,
            (3, Token::Double(b'<')) => Operator::LessOrEqual,
            (3, Token::Sign(b'>')) => Operator::Greater,
            (3, Token::Double(b'>')) => Operator::GreaterOrEqual,
            (4, Token::Sign(b'+')) => Operator::Add,
            (4, Token::Sign(b'-')) => Operator::Subtract,
            (5, Token::Sign(b'*')) => Operator::Multiply,
            (5, _) if word == "div" => Operator::Divide,
            (5, _) if word == "mod" => Operator::Remainder,
            _ => return None,
        })
    }

    fn check_comparison(&mut self, left: &Expr, right: &Expr, start: usize) -> SqlResult<()> {
        if left.gives_nodes() && right.gives_nodes() {
            self.start = start;
            return Err(self.error("XPATH error: comparison of two nodesets is not supported"));
        }
        Ok(())
    }

    fn unary(&mut self) -> SqlResult<Expr> {
        if self.eat(Token::Sign(b'-')) {
            governor::descend()?;
            self.part()?;
            return Ok(Expr::Negative(Box::new(self.unary()?)));
        }
        let first = self.path()?;
        if self.token != Token::Sign(b'|') {
            return Ok(first);
        }
        let mut sets = vec![first];
        while sets.last().is_some_and(Expr::gives_nodes) && self.eat(Token::Sign(b'|')) {
            self.part()?;
            sets.push(self.path()?);
        }
        match sets.iter().all(Expr::gives_nodes) {
            true => Ok(Expr::Union(sets)),
            false => Err(self.syntax_error()),
        }
    }

    fn path(&mut self) -> SqlResult<Expr> {
        let mut path = Path {
            start: Start::Root,
            steps: Vec::new(),
        };
        if self.eat(Token::Sign(b'/')) {
            if self.at_step() {
                self.relative(&mut path)?;
            }
            return Ok(Expr::Path(path));
        }
        if self.eat(Token::Double(b'/')) {
            path.steps.push(any_below());
            self.relative(&mut path)?;
            return Ok(Expr::Path(path));
        }
        if self.at_step() && !self.at_call() {
            path.start = Start::Context;
            self.relative(&mut path)?;
            return Ok(Expr::Path(path));
        }
        let primary = self.primary()?;
        if !primary.gives_nodes() || !matches!(self.token, Token::Sign(b'/') | Token::Double(b'/')) {
            return Ok(primary);
        }
        path.start = Start::Nodes(Box::new(primary));
        if !self.eat(Token::Sign(b'/')) {
            self.next();
            path.steps.push(any_below());
        }
        self.relative(&mut path)?;
        Ok(Expr::Path(path))
    }

    fn at_step(&self) -> bool {
        matches!(
            self.token,
            Token::Name | Token::Sign(b'*' | b'.' | b'@') | Token::Double(b'.')
        )
    }

    fn at_call(&self) -> bool {
        let rest = &self.text[self.end..];
        self.token == Token::Name
            && rest.trim_start().starts_with('(')
            && FUNCTIONS.iter().any(|(name, ..)| *name == self.word())
    }

    /// `step/step//step`
    fn relative(&mut self, path: &mut Path) -> SqlResult<()> {
        loop {
            self.part()?;
            self.step(path)?;
            match self.token {
                Token::Sign(b'/') => {}
                Token::Double(b'/') => path.steps.push(any_below()),
                _ => return Ok(()),
            }
            self.next();
        }
    }

    fn step(&mut self, path: &mut Path) -> SqlResult<()> {
        if self.eat(Token::Sign(b'.')) {
            return Ok(());
        }
        if self.eat(Token::Double(b'.')) {
            path.steps.push(step(Axis::Parent));
            return Ok(());
        }
        let mut step = step(Axis::Child);
        if self.eat(Token::Sign(b'@')) {
            step.axis = Axis::Attribute;
        } else if self.token == Token::Name && self.text[self.end..].starts_with("::") {
            let word = self.word();
            if OTHER_AXES.contains(&word) {
                return Err(SqlError::not_supported(format!("the XPath axis {word}")));
            }
            let axis = AXES.iter().find(|(name, _)| *name == word);
            let Some((_, axis)) = axis else {
                // Where MySQL sees a name with a prefix end.
                self.start = self.end + 1;
                return Err(self.syntax_error());
            };
            step.axis = *axis;
            self.next();
            self.next();
        }
        match self.token {
            Token::Sign(b'*') => self.next(),
            Token::Name => {
                let name = self.word();
                self.next();
                if self.token == Token::Sign(b'(') {
                    if !NODE_TYPES.contains(&name) {
                        return Err(self.syntax_error());
                    }
                    self.next();
                    self.eat(Token::Text);
                    self.expect(Token::Sign(b')'))?;
                    // What MySQL makes of a type of nodes: it stays where it is.
                    step.axis = Axis::Itself;
                } else {
                    step.name = Some(name.to_owned());
                }
            }
            _ => return Err(self.syntax_error()),
        }
        while self.eat(Token::Sign(b'[')) {
            self.predicates += 1;
            step.predicates.push(self.expr()?);
            self.predicates -= 1;
            self.expect(Token::Sign(b']'))?;
        }
        path.steps.push(step);
        Ok(())
    }

    fn primary(&mut self) -> SqlResult<Expr> {
        match self.token {
            Token::Number => {
                let number = self.word().parse().map_err(|_| self.syntax_error())?;
                self.next();
                Ok(Expr::Number(number))
            }
            Token::Text => {
                let text = self.text[self.start + 1..self.end - 1].to_owned();
                self.next();
                Ok(Expr::Text(text))
            }
            Token::Sign(b'(') => {
                self.next();
                let inner = self.expr()?;
                self.expect(Token::Sign(b')'))?;
                Ok(inner)
            }
            Token::Sign(b'$') => self.variable(),
            Token::Name => self.call(),
            _ => Err(self.syntax_error()),
        }
    }

    fn variable(&mut self) -> SqlResult<Expr> {
        let dollar = self.start;
        self.next();
        if !self.eat(Token::Sign(b'@')) {
            // Variables of programs are not seen from here.
            self.start = dollar;
            return Err(self.error("Unknown XPATH variable at"));
        }
        if self.token != Token::Name {
            return Err(self.syntax_error());
        }
        let name = self.word().to_owned();
        self.next();
        Ok(Expr::UserVariable(name))
    }

    fn call(&mut self) -> SqlResult<Expr> {
        let found = FUNCTIONS.iter().find(|(name, ..)| *name == self.word());
        let (_, function, least, most) = *found.ok_or_else(|| self.syntax_error())?;
        self.next();
        self.expect(Token::Sign(b'('))?;
        let mut arguments = Vec::new();
        while arguments.len() < most && self.token != Token::Sign(b')') {
            if !arguments.is_empty() {
                self.expect(Token::Sign(b','))?;
            }
            arguments.push(self.expr()?);
        }
        if arguments.len() < least {
            return Err(self.syntax_error());
        }
        self.expect(Token::Sign(b')'))?;
        let is_wrong = match function {
            Function::Count | Function::Sum => !arguments[0].gives_nodes(),
            // Only a node among others has a place.
            Function::Position | Function::Last => self.predicates == 0,
            _ => false,
        };
        match is_wrong {
            true => Err(self.syntax_error()),
            false => Ok(Expr::Call(function, arguments)),
        }
    }
}

fn step(axis: Axis) -> Step {
    Step {
        axis,
        name: None,
        predicates: Vec::new(),
    }
}

/// What `//` stands for.
fn any_below() -> Step {
    step(Axis::DescendantOrSelf)
}
