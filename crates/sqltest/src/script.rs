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
//! -- differs mysql: the second key is not unique
//! ALTER TABLE t ADD FOREIGN KEY (a) REFERENCES u (b)
//! ----
//! ok
//! ---- mysql
//! error 6125 HY000
//!
//! -- each
//! 1 + 1            => 2
//! 'a' + 1          => 1, warning 1292
//! 1 / 3 * 3        => 1.0000
//!     mysql: a quotient is rounded => 0.9999
//! ```
//!
//! The results of a statement that has several, as CALL has, stand below each other with a line `++` between.
//!
//! Where a server answers otherwise, its own answer stands below `---- SERVER`, or in an indented line below the expression, and why.
//! `#! recorded SERVER VERSION DIGEST` says which version gave the answers, and to which statements: [`Script::digest`].
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
/// Before a line about where the answers come from.
const RECORDED: &str = "#! recorded ";
/// Before the answer of a server that differs to one of many expressions.
const INDENT: &str = "    ";
/// The reason of a difference that nobody has explained yet.
pub const UNEXPLAINED: &str = "UNEXPLAINED";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Comments, kept as they are.
    Comment(Vec<String>),
    /// Which servers gave the answers.
    Recorded(Vec<Recorded>),
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
        /// Servers with answers of their own.
        others: Vec<(String, Vec<String>)>,
    },
    Each(Vec<Expression>),
}

/// One expression of `-- each`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    pub text: String,
    /// None where it is still to be recorded.
    pub answer: Option<String>,
    /// Servers with answers of their own.
    pub others: Vec<Other>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    pub server: String,
    pub why: String,
    pub answer: String,
}

/// Where a script's answers come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub server: String,
    pub version: String,
    /// Of the statements as they were then.
    pub digest: String,
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

    /// Of the statements and of the common answers: it tells whether the script has changed since a server was asked.
    pub fn digest(&self) -> String {
        let mut text = String::new();
        for block in &self.blocks {
            match block {
                Block::Comment(_) | Block::Recorded(_) => {}
                Block::Test(Test {
                    body: Body::Statement { sql, answer, .. },
                    ..
                }) => {
                    text.push_str(sql);
                    answer.iter().flatten().for_each(|line| text.push_str(line));
                }
                Block::Test(Test {
                    body: Body::Each(each), ..
                }) => each.iter().for_each(|Expression { text: sql, answer, .. }| {
                    text.push_str(sql);
                    text.push_str(answer.as_deref().unwrap_or_default());
                }),
            }
        }
        fnv(&text)
    }

    /// Notes that the answers are this server's.
    pub fn note_recorded(&mut self, server: &str, version: &str) {
        let digest = self.digest();
        let noted = Recorded {
            server: server.to_owned(),
            version: version.to_owned(),
            digest,
        };
        let at = self.blocks.iter().position(|block| matches!(block, Block::Recorded(_)));
        let at = at.unwrap_or_else(|| {
            let at = usize::from(matches!(self.blocks.first(), Some(Block::Comment(_))));
            self.blocks.insert(at, Block::Recorded(Vec::new()));
            at
        });
        if let Block::Recorded(recorded) = &mut self.blocks[at] {
            recorded.retain(|other| other.server != server);
            recorded.push(noted);
            recorded.sort_by(|a, b| a.server.cmp(&b.server));
        }
    }

    pub fn recorded(&self) -> &[Recorded] {
        let recorded = self.blocks.iter().find_map(|block| match block {
            Block::Recorded(recorded) => Some(recorded.as_slice()),
            _ => None,
        });
        recorded.unwrap_or_default()
    }
}

impl Block {
    fn parse(line: usize, lines: &[&str]) -> Result<Block> {
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
        if lines.iter().all(|line| line.starts_with(RECORDED)) {
            let recorded = lines.iter().map(|line| Recorded::parse(line));
            return Ok(Block::Recorded(recorded.collect::<Result<_>>()?));
        }
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
            return Ok(Block::Test(Test {
                line,
                directives,
                body: Body::Each(Expression::parse_all(lines)?),
            }));
        }
        let mut parts = lines.split(|line| line.starts_with(ANSWER));
        let sql = parts.next().unwrap_or_default().join("\n");
        let heads = lines.iter().filter_map(|line| line.strip_prefix(ANSWER));
        let (mut answer, mut others) = (None, Vec::new());
        for (head, part) in heads.zip(parts) {
            match head.trim() {
                "" if answer.is_none() && others.is_empty() => answer = Some(owned(part)),
                "" => bail!("a block has one answer"),
                server => others.push((server.to_owned(), owned(part))),
            }
        }
        let body = Body::Statement { sql, answer, others };
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
            Block::Recorded(recorded) => lines.extend(recorded.iter().map(Recorded::print)),
            Block::Test(test) => {
                lines.extend(test.directives.iter().map(Directive::print));
                match &test.body {
                    Body::Statement { sql, answer, others } => {
                        lines.extend(sql.lines().map(str::to_owned));
                        if let Some(answer) = answer {
                            lines.push(ANSWER.to_owned());
                            lines.extend_from_slice(answer);
                        }
                        for (server, answer) in others {
                            lines.push(format!("{ANSWER} {server}"));
                            lines.extend_from_slice(answer);
                        }
                    }
                    Body::Each(each) => {
                        lines.extend(Expression::print_all(each));
                    }
                }
            }
        }
        lines.join("\n") + "\n"
    }
}

impl Expression {
    fn parse_all(lines: &[&str]) -> Result<Vec<Expression>> {
        let mut each: Vec<Expression> = Vec::new();
        for line in lines {
            let (text, answer) = match line.rsplit_once(ARROW) {
                Some((text, answer)) => (text.trim_end(), Some(answer.to_owned())),
                None => (*line, None),
            };
            if let Some(head) = text.strip_prefix(INDENT) {
                let other = head.split_once(": ").zip(answer).map(|((server, why), answer)| Other {
                    server: server.to_owned(),
                    why: why.to_owned(),
                    answer,
                });
                let (Some(last), Some(other)) = (each.last_mut(), other) else {
                    bail!("{line:?} is not `{INDENT}SERVER: WHY => ANSWER` below an expression");
                };
                last.others.push(other);
            } else {
                each.push(Expression {
                    text: text.to_owned(),
                    answer,
                    others: Vec::new(),
                });
            }
        }
        Ok(each)
    }

    fn print_all(each: &[Expression]) -> Vec<String> {
        let widths = each.iter().map(|expression| expression.text.chars().count());
        let width = widths.max().unwrap_or(0).min(60);
        let mut lines = Vec::new();
        for Expression { text, answer, others } in each {
            lines.push(match answer {
                Some(answer) => format!("{text:width$}{ARROW}{answer}"),
                None => text.clone(),
            });
            lines.extend(
                others
                    .iter()
                    .map(|Other { server, why, answer }| format!("{INDENT}{server}: {why}{ARROW}{answer}")),
            );
        }
        lines
    }
}

impl Recorded {
    fn parse(line: &str) -> Result<Recorded> {
        let words: Vec<&str> = line.trim_start_matches(RECORDED).split_whitespace().collect();
        let &[server, version, digest] = words.as_slice() else {
            bail!("{line:?} is not `{RECORDED}SERVER VERSION DIGEST`");
        };
        Ok(Recorded {
            server: server.to_owned(),
            version: version.to_owned(),
            digest: digest.to_owned(),
        })
    }

    fn print(&self) -> String {
        let Recorded {
            server,
            version,
            digest,
        } = self;
        format!("{RECORDED}{server} {version} {digest}")
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

    /// Why this server differs, if it is said.
    pub fn why_differs(&self, this: &str) -> Option<&str> {
        self.directives.iter().find_map(|directive| match directive {
            Directive::Differs { server, why } if server == this => Some(why.as_str()),
            _ => None,
        })
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

/// FNV-1a, as eight digits: enough to see a change, and the same everywhere.
pub fn fnv(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    format!("{:08x}", (hash ^ (hash >> 32)) as u32)
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
---- mysql
error 1064 42000

-- each
1 + 1 => 2
    mysql: it counts otherwise => 3
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
        let Body::Statement { sql, answer, .. } = &test.body else {
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
    fn a_recording_is_noted_once() {
        let mut script = Script::parse(SCRIPT).unwrap();
        script.note_recorded("mysql", "9.0");
        script.note_recorded("mariadb", "10.11");
        script.note_recorded("mysql", "9.1");
        let noted: Vec<_> = script.recorded().iter().map(|noted| noted.version.as_str()).collect();
        assert_eq!(noted, ["10.11", "9.1"]);
        assert_eq!(script.recorded()[0].digest, script.digest());
        let printed = script.print();
        assert_eq!(Script::parse(&printed).unwrap().print(), printed);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Script::parse("-- sideways\nSELECT 1\n").is_err());
        assert!(Script::parse("-- skip mariadb\nSELECT 1\n").is_err());
        assert!(Script::parse("-- finish b\nSELECT 1\n").is_err());
    }
}
