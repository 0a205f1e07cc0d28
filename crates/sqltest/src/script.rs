//! The format of a script.
//!
//! ```text
//! # A comment.
//!
//! CREATE TABLE t (a INT PRIMARY KEY)
//!
//! INSERT INTO t VALUES (1), (2)
//! ----
//! ok, 2 affected (Records: 2  Duplicates: 0  Warnings: 0)
//!
//! SELECT a, a + 1 FROM t
//! ----
//! a | a + 1
//! 1 | 2
//! 2 | 3
//!
//! INSERT INTO t VALUES (1)
//! ----
//! error 1062 23000
//!
//! -- each
//! 1 + 1            => 2
//! 'a' + 1          => 1, warning 1292
//! ```
//!
//! Blocks are separated by empty lines. A block is a statement and, below `----`, its answer; a statement without an answer has
//! to succeed. Lines before the statement that begin with `-- ` say how to take it:
//!
//! | line | meaning |
//! |---|---|
//! | `-- each` | every line is an expression for a `SELECT` of its own, with its answer behind `=>` |
//! | `-- sorted` | the order of the rows does not count |
//! | `-- message` | the text of the error counts too |
//! | `-- on NAME` | on another connection, opened when it is first named |
//! | `-- start NAME` | the statement waits for a lock: go on without its answer |
//! | `-- finish NAME` | no statement: the answer to what was started |
//! | `-- text: WHY` | not by the prepared protocol |
//! | `-- skip SERVER: WHY` | not sent to this server (`mariadb`, `mysql`, `latsdb`) |
//! | `-- differs SERVER: WHY` | sent, but this server answers otherwise |

use anyhow::{Context, Result, bail};

/// The line between a statement and its answer.
const ANSWER: &str = "----";
const ARROW: &str = " => ";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Comments, kept as they are.
    Comment(Vec<String>),
    Test(Test),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// The line number of the block's first line.
    pub line: usize,
    pub directives: Vec<Directive>,
    pub body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    Statement {
        sql: String,
        /// None where any success will do; empty where the answer is still to be recorded.
        answer: Option<Vec<String>>,
    },
    /// Expressions, each with its answer unless that is still to be recorded.
    Each(Vec<(String, Option<String>)>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directive {
    Each,
    Sorted,
    Message,
    On(String),
    Start(String),
    Finish(String),
    Text(String),
    Skip { server: String, why: String },
    Differs { server: String, why: String },
}

impl Script {
    pub fn parse(text: &str) -> Result<Script> {
        let lines: Vec<&str> = text.lines().collect();
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let end = lines[at..]
                .iter()
                .position(|line| line.is_empty())
                .map_or(lines.len(), |len| at + len);
            if end > at {
                blocks.push(Block::parse(at + 1, &lines[at..end]).with_context(|| format!("line {}", at + 1))?);
            }
            at = end + 1;
        }
        Ok(Script { blocks })
    }

    pub fn print(&self) -> String {
        self.blocks.iter().map(Block::print).collect::<Vec<_>>().join("\n")
    }
}

impl Block {
    fn parse(line: usize, lines: &[&str]) -> Result<Block> {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
        if lines.iter().all(|line| line.starts_with('#')) {
            return Ok(Block::Comment(owned(lines)));
        }
        let head = lines.iter().take_while(|line| line.starts_with("-- ")).count();
        let directives = lines[..head]
            .iter()
            .map(|line| Directive::parse(line))
            .collect::<Result<Vec<_>>>()?;
        let lines = &lines[head..];
        if directives.contains(&Directive::Each) {
            let each = lines.iter().map(|line| match line.rsplit_once(ARROW) {
                Some((expression, answer)) => (expression.trim_end().to_owned(), Some(answer.to_owned())),
                None => ((*line).to_owned(), None),
            });
            return Ok(Block::Test(Test {
                line,
                directives,
                body: Body::Each(each.collect()),
            }));
        }
        let mut parts = lines.splitn(2, |&line| line == ANSWER);
        let sql = parts.next().unwrap_or_default().join("\n");
        let body = Body::Statement {
            sql,
            answer: parts.next().map(owned),
        };
        let test = Test { line, directives, body };
        if test.has_statement() == test.finished().is_some() {
            bail!("a block has either a statement or a `-- finish`");
        }
        Ok(Block::Test(test))
    }

    fn print(&self) -> String {
        let mut lines = Vec::new();
        match self {
            Block::Comment(comment) => lines.clone_from(comment),
            Block::Test(test) => {
                lines.extend(test.directives.iter().map(Directive::print));
                match &test.body {
                    Body::Statement { sql, answer } => {
                        lines.extend(sql.lines().map(str::to_owned));
                        if let Some(answer) = answer {
                            lines.push(ANSWER.to_owned());
                            lines.extend_from_slice(answer);
                        }
                    }
                    Body::Each(each) => {
                        let width = each
                            .iter()
                            .map(|(expression, _)| expression.chars().count())
                            .max()
                            .unwrap_or(0)
                            .min(60);
                        lines.extend(each.iter().map(|(expression, answer)| match answer {
                            Some(answer) => format!("{expression:width$}{ARROW}{answer}"),
                            None => expression.clone(),
                        }));
                    }
                }
            }
        }
        lines.join("\n") + "\n"
    }
}

impl Test {
    fn has_statement(&self) -> bool {
        !matches!(&self.body, Body::Statement { sql, .. } if sql.is_empty())
    }

    pub fn sorted(&self) -> bool {
        self.directives.contains(&Directive::Sorted)
    }

    pub fn minds_message(&self) -> bool {
        self.directives.contains(&Directive::Message)
    }

    pub fn text_only(&self) -> bool {
        self.directives
            .iter()
            .any(|directive| matches!(directive, Directive::Text(_)))
    }

    /// The name of the connection; empty for the first.
    pub fn connection(&self) -> &str {
        let name = |directive| match directive {
            &Directive::On(ref name) | &Directive::Start(ref name) | &Directive::Finish(ref name) => {
                Some(name.as_str())
            }
            _ => None,
        };
        self.directives.iter().find_map(name).unwrap_or("")
    }

    pub fn starts(&self) -> bool {
        self.directives
            .iter()
            .any(|directive| matches!(directive, Directive::Start(_)))
    }

    pub fn finished(&self) -> Option<&str> {
        self.directives.iter().find_map(|directive| match directive {
            Directive::Finish(name) => Some(name.as_str()),
            _ => None,
        })
    }

    pub fn skipped_on(&self, this: &str) -> bool {
        self.directives
            .iter()
            .any(|directive| matches!(directive, Directive::Skip { server, .. } if server == this))
    }

    pub fn differs_on(&self, this: &str) -> bool {
        self.directives
            .iter()
            .any(|directive| matches!(directive, Directive::Differs { server, .. } if server == this))
    }
}

impl Directive {
    fn parse(line: &str) -> Result<Directive> {
        let text = line.trim_start_matches("-- ");
        let (head, why) = text
            .split_once(':')
            .map_or((text, ""), |(head, why)| (head, why.trim()));
        let words: Vec<&str> = head.split_whitespace().collect();
        Ok(match (words.as_slice(), why) {
            (["each"], "") => Directive::Each,
            (["sorted"], "") => Directive::Sorted,
            (["message"], "") => Directive::Message,
            (["on", name], "") => Directive::On((*name).to_owned()),
            (["start", name], "") => Directive::Start((*name).to_owned()),
            (["finish", name], "") => Directive::Finish((*name).to_owned()),
            (["text"], why) if !why.is_empty() => Directive::Text(why.to_owned()),
            (["skip", server], why) if !why.is_empty() => Directive::Skip {
                server: (*server).to_owned(),
                why: why.to_owned(),
            },
            (["differs", server], why) if !why.is_empty() => Directive::Differs {
                server: (*server).to_owned(),
                why: why.to_owned(),
            },
            _ => bail!("what does {line:?} mean?"),
        })
    }

    fn print(&self) -> String {
        match self {
            Directive::Each => "-- each".to_owned(),
            Directive::Sorted => "-- sorted".to_owned(),
            Directive::Message => "-- message".to_owned(),
            Directive::On(name) => format!("-- on {name}"),
            Directive::Start(name) => format!("-- start {name}"),
            Directive::Finish(name) => format!("-- finish {name}"),
            Directive::Text(why) => format!("-- text: {why}"),
            Directive::Skip { server, why } => format!("-- skip {server}: {why}"),
            Directive::Differs { server, why } => format!("-- differs {server}: {why}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
# Two lines
# of comment.

-- on b
-- differs mariadb: it says otherwise
SELECT 1,
  2
----
1 | 2
1 | 2

CREATE TABLE t (a INT)

-- finish b
----
ok

-- each
1 + 1 => 2
'x'   => x
";

    #[test]
    fn a_script_prints_as_it_was_read() {
        assert_eq!(Script::parse(SCRIPT).unwrap().print(), SCRIPT);
    }

    #[test]
    fn its_parts() {
        let script = Script::parse(SCRIPT).unwrap();
        let Block::Test(test) = &script.blocks[1] else {
            panic!("a test")
        };
        assert_eq!(
            (test.line, test.connection(), test.differs_on("mariadb")),
            (4, "b", true)
        );
        let Body::Statement { sql, answer } = &test.body else {
            panic!("a statement")
        };
        assert_eq!(
            (sql.as_str(), answer.as_ref().map(Vec::len)),
            ("SELECT 1,\n  2", Some(2))
        );
        let Block::Test(test) = &script.blocks[2] else {
            panic!("a test")
        };
        assert!(matches!(&test.body, Body::Statement { answer: None, .. }));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Script::parse("-- sideways\nSELECT 1\n").is_err());
        assert!(Script::parse("-- skip mariadb\nSELECT 1\n").is_err());
        assert!(Script::parse("-- finish b\nSELECT 1\n").is_err());
    }
}
