//! What AGAINST asks for, as a tree.
//!
//! ```text
//!   query  ::= item …
//!   item   ::= ['+' '-' '~' '<' '>'] part
//!   part   ::= word ['*'] | '"' words '"' ['@' number] | '(' item … ')'
//! ```
//!
//! In natural language only words, phrases and the star are known. What is between two words for the index is none of the query's: `a.b`
//! is one word here that the index takes for two. The errors are those of MySQL's grammar.

use parser::ast::MatchMode;
use types::fulltext::{TextRules, words};
use types::{ErrorKind, SqlError, SqlResult};

/// How a part changes what was found by those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// Adds.
    None,
    /// `+`
    Must,
    /// `-`
    Not,
    /// `~`
    Negate,
    /// `<`
    Lower,
    /// `>`
    Raise,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    pub operator: Operator,
    pub part: Part,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// What was written as one word.
    Words(Vec<Word>),
    Phrase {
        text: String,
        /// All words within so many words, in any order.
        distance: Option<usize>,
    },
    Group(Vec<Item>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// Every word that begins so.
    pub is_prefix: bool,
}

/// What becomes of a word as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Splitting {
    /// The words that an index knows.
    Words,
    /// Nothing: the index knows pieces.
    Whole,
}

/// Reads a query. 1064 for one that is against the grammar.
pub fn parse(text: &str, mode: MatchMode, splitting: Splitting) -> SqlResult<Vec<Item>> {
    let mut parser = Parser {
        lexer: Lexer {
            text,
            at: 0,
            is_boolean: mode == MatchMode::Boolean,
        },
        next: Token::End,
        splitting,
    };
    parser.bump()?;
    parser.items(Level::Top)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Number(&'t str),
    /// Without the quotes.
    Text(&'t str),
    Sign(char),
    End,
}

impl Token<'_> {
    /// As MySQL's messages name it.
    fn name(self) -> String {
        match self {
            Token::Word(_) => "FTS_TERM".to_owned(),
            Token::Number(_) => "FTS_NUMB".to_owned(),
            Token::Text(_) => "FTS_TEXT".to_owned(),
            Token::Sign(sign) => format!("'{sign}'"),
            Token::End => "$end".to_owned(),
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    is_boolean: bool,
}

impl<'t> Lexer<'t> {
    fn next(&mut self) -> SqlResult<Token<'t>> {
        let bytes = self.text.as_bytes();
        loop {
            governor::tick()?;
            let Some(&byte) = bytes.get(self.at) else {
                return Ok(Token::End);
            };
            match byte {
                b' ' | b'\t' | b'\n' | b'%' => self.at += 1,
                b'"' => {
                    let behind = &self.text[self.at + 1..];
                    match behind.find(['"', '\n']) {
                        Some(end) if behind.as_bytes()[end] == b'"' => {
                            self.at += end + 2;
                            return Ok(Token::Text(&behind[..end]));
                        }
                        // Without another one on its line it is nothing.
                        _ => self.at += 1,
                    }
                }
                byte if self.is_boolean && SIGNS.contains(&byte) => {
                    self.at += 1;
                    return Ok(Token::Sign(char::from(byte)));
                }
                _ => return Ok(self.word()),
            }
        }
    }

    fn word(&mut self) -> Token<'t> {
        let rest = &self.text[self.at..];
        let ends = |byte: u8| b"\" \n%".contains(&byte) || (self.is_boolean && SIGNS.contains(&byte));
        let len = governor::bulk::prefix_len(rest.as_bytes(), |byte| !ends(byte));
        self.at += len;
        let word = &rest[..len];
        match word {
            "*" => Token::Sign('*'),
            word if self.is_boolean && word.bytes().all(|byte| byte.is_ascii_digit()) => Token::Number(word),
            word => Token::Word(word),
        }
    }
}

const SIGNS: &[u8] = b"*()+-<>~@";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Top,
    Parentheses,
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    next: Token<'t>,
    splitting: Splitting,
}

impl<'t> Parser<'t> {
    fn bump(&mut self) -> SqlResult<()> {
        self.next = self.lexer.next()?;
        Ok(())
    }

    fn eat(&mut self, sign: char) -> SqlResult<bool> {
        let found = self.next == Token::Sign(sign);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn items(&mut self, level: Level) -> SqlResult<Vec<Item>> {
        governor::descend()?;
        let mut items = Vec::new();
        loop {
            governor::tick()?;
            let operator = match (self.next, level) {
                (Token::End, Level::Top) => return Ok(items),
                (Token::Sign(')'), Level::Parentheses) => {
                    self.bump()?;
                    return Ok(items);
                }
                (Token::Sign('@' | ')'), Level::Top) => return Err(self.unexpected("$end")),
                (Token::End | Token::Sign('@'), Level::Parentheses) => return Err(self.unexpected("")),
                (Token::Sign(sign), _) => operator(sign),
                _ => None,
            };
            if operator.is_some() {
                self.bump()?;
            }
            let part = self.part()?;
            items.extend(part.map(|part| Item {
                operator: operator.unwrap_or(Operator::None),
                part,
            }));
        }
    }

    /// `None`: nothing is asked for.
    fn part(&mut self) -> SqlResult<Option<Part>> {
        if self.eat('(')? {
            let items = self.items(Level::Parentheses)?;
            return Ok(Some(Part::Group(items)));
        }
        let mut stars = false;
        while self.eat('*')? {
            stars = true;
        }
        match self.next {
            Token::Word(text) | Token::Number(text) => {
                self.bump()?;
                let is_prefix = self.eat('*')?;
                Ok(match self.splitting {
                    Splitting::Words => words_of(text, is_prefix).map(Part::Words),
                    Splitting::Whole => {
                        let text = text.to_owned();
                        Some(Part::Words(vec![Word { text, is_prefix }]))
                    }
                })
            }
            _ if stars => Err(self.unexpected("FTS_TERM or FTS_NUMB or '*'")),
            Token::Text(text) => {
                self.bump()?;
                let mut distance = None;
                if self.eat('@')? {
                    let Token::Number(number) = self.next else {
                        return Err(self.unexpected("FTS_NUMB"));
                    };
                    distance = Some(number.parse().unwrap_or(usize::MAX));
                    self.bump()?;
                }
                let text = text.to_owned();
                // A distance of nothing is none.
                let distance = distance.filter(|&distance| distance > 0);
                Ok((!text.is_empty()).then_some(Part::Phrase { text, distance }))
            }
            _ => Err(self.unexpected("")),
        }
    }

    fn unexpected(&self, expected: &str) -> SqlError {
        let unexpected = self.next.name();
        let message = match expected {
            "" => format!("syntax error, unexpected {unexpected}"),
            expected => format!("syntax error, unexpected {unexpected}, expecting {expected}"),
        };
        SqlError::with_message(ErrorKind::ParseError, message)
    }
}

fn operator(sign: char) -> Option<Operator> {
    match sign {
        '+' => Some(Operator::Must),
        '-' => Some(Operator::Not),
        '~' => Some(Operator::Negate),
        '<' => Some(Operator::Lower),
        '>' => Some(Operator::Raise),
        _ => None,
    }
}

/// The words of one that is written without spaces. All but the first are left out where they are too short for an index.
fn words_of(text: &str, is_prefix: bool) -> Option<Vec<Word>> {
    let mut found: Vec<Word> = Vec::new();
    for token in words(text) {
        let is_too_short = !found.is_empty() && token.chars < usize::from(TextRules::MIN_CHARS);
        if is_too_short || token.chars > usize::from(TextRules::MAX_CHARS) {
            continue;
        }
        found.push(Word {
            text: token.text.to_owned(),
            is_prefix: false,
        });
    }
    if let Some(last) = found.last_mut() {
        last.is_prefix = is_prefix;
    }
    (!found.is_empty()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(items: &[Item]) -> String {
        let part = |part: &Part| match part {
            Part::Words(words) => {
                let words = words
                    .iter()
                    .map(|word| format!("{}{}", word.text, if word.is_prefix { "*" } else { "" }));
                words.collect::<Vec<_>>().join("&")
            }
            Part::Phrase { text, distance: None } => format!("\"{text}\""),
            Part::Phrase {
                text,
                distance: Some(words),
            } => format!("\"{text}\"@{words}"),
            Part::Group(items) => format!("({})", shown(items)),
        };
        let item = |item: &Item| {
            let operator = match item.operator {
                Operator::None => "",
                Operator::Must => "+",
                Operator::Not => "-",
                Operator::Negate => "~",
                Operator::Lower => "<",
                Operator::Raise => ">",
            };
            format!("{operator}{}", part(&item.part))
        };
        items.iter().map(item).collect::<Vec<_>>().join(" ")
    }

    fn boolean(text: &str) -> String {
        match parse(text, MatchMode::Boolean, Splitting::Words) {
            Ok(items) => shown(&items),
            Err(error) => error.message().to_owned(),
        }
    }

    #[test]
    fn boolean_queries() {
        for (text, tree) in [
            ("+mysql -db ~x >y <z", "+mysql -db ~x >y <z"),
            ("+(a.bcd <efg*) \"h i\" @3 \"j\"", "+(a&bcd <efg*) \"h i\"@3 \"j\""),
            ("**mysql +*foo*bar*", "mysql +foo* bar*"),
            ("\"foo % \"\" 100% x'y it's", "\"foo % \" 100 x it"),
            ("()+()", "() +()"),
            ("x-y 10@", "syntax error, unexpected '@', expecting $end"),
            ("\"a\"@0", "\"a\""),
        ] {
            assert_eq!(boolean(text), tree, "{text}");
        }
    }

    /// As MySQL 9.7 answers.
    #[test]
    fn what_is_against_the_grammar() {
        for (text, message) in [
            ("+", "$end"),
            ("+-foo", "'-'"),
            ("foo +", "$end"),
            ("(foo", "$end"),
            ("foo)", "')', expecting $end"),
            ("(foo@3)", "'@'"),
            ("\"foo\"@x", "FTS_TERM, expecting FTS_NUMB"),
            ("\"foo\"@", "$end, expecting FTS_NUMB"),
            ("+@", "'@'"),
            ("@", "'@', expecting $end"),
            ("*", "$end, expecting FTS_TERM or FTS_NUMB or '*'"),
            ("mysql**", "$end, expecting FTS_TERM or FTS_NUMB or '*'"),
            ("\"mysql tutorial\"*", "$end, expecting FTS_TERM or FTS_NUMB or '*'"),
        ] {
            assert_eq!(boolean(text), format!("syntax error, unexpected {message}"), "{text}");
        }
    }

    #[test]
    fn natural_language_knows_words_and_phrases() {
        let items = parse(
            "+mysql (vs) \"a b\" foo* bar *",
            MatchMode::NaturalLanguage,
            Splitting::Words,
        )
        .unwrap();
        assert_eq!(shown(&items), "mysql vs \"a b\" foo bar*");
    }
}
