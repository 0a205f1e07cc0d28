//! Tables of expressions with their values (`crates/sql/tests/expr`), which a test holds the evaluator to without any server.
//!
//! ```text
//! # a remark
//! #! recorded mysql 9.7.4-2 5f3a0c11
//! @ time_zone = '+02:00'        a session variable from here on
//! 1 + 1 => 2                    an expression and its value as the text protocol has it
//! 1 / 0 => NULL ~ 1365          with the codes of its warnings
//! 2 << => ! 1064                or the code of its error
//! MD5('') => d41d8cd9…          what LatsDB answers, and below it
//!     mysql: gone in 9.7 => ! 1305    a server that answers otherwise, and why
//!     mariadb => …                    (of MariaDB no reason is asked)
//! 1 + 1                         new: gets its value
//! ```

use std::path::Path;

use anyhow::{Context, Result, bail};
use mysql_client::{Answer, Client, ClientError, Protocol};

use crate::run::{Outcome, Target, Task};
use crate::script::{UNEXPLAINED, fnv};

const ARROW: &str = " => ";
const INDENT: &str = "    ";
const RECORDED: &str = "#! recorded ";

/// What the test's session has: the time of the statement, UTC, MySQL's default mode.
const SESSION: [&str; 4] = [
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
     NO_ENGINE_SUBSTITUTION'",
    "SET time_zone = '+00:00'",
    "SET timestamp = 1700000000.123456",
];

/// One line of a table, with what stands below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// Remarks and empty lines, kept as they are.
    Remark(String),
    /// `NAME = VALUE`.
    Set(String),
    Expression(Row),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub text: String,
    pub answer: Option<String>,
    pub others: Vec<Other>,
}

/// What another server says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    pub server: String,
    pub why: Option<String>,
    pub answer: String,
}

pub struct Table {
    /// `SERVER VERSION DIGEST`.
    pub recorded: Vec<String>,
    pub lines: Vec<Line>,
}

impl Table {
    pub fn parse(text: &str) -> Result<Table> {
        let mut table = Table {
            recorded: Vec::new(),
            lines: Vec::new(),
        };
        for (number, line) in text.lines().enumerate() {
            let parsed = table.line(line);
            parsed.with_context(|| format!("line {}: {line}", number + 1))?;
        }
        Ok(table)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        if let Some(recorded) = line.strip_prefix(RECORDED) {
            self.recorded.push(recorded.to_owned());
        } else if line.is_empty() || line.starts_with('#') {
            self.lines.push(Line::Remark(line.to_owned()));
        } else if let Some(setting) = line.strip_prefix("@ ") {
            self.lines.push(Line::Set(setting.to_owned()));
        } else if let Some(other) = line.strip_prefix(INDENT) {
            let Some(Line::Expression(row)) = self.lines.last_mut() else {
                bail!("an answer below no expression");
            };
            let (head, answer) = other.split_once(ARROW.trim_start()).context("no =>")?;
            let (server, why) = match head.trim_end().split_once(": ") {
                Some((server, why)) => (server, Some(why.to_owned())),
                None => (head.trim_end(), None),
            };
            row.others.push(Other {
                server: server.to_owned(),
                why,
                answer: answer.to_owned(),
            });
        } else {
            let (text, answer) = match line.split_once(ARROW) {
                Some((text, answer)) => (text, Some(answer.to_owned())),
                None => (line, None),
            };
            self.lines.push(Line::Expression(Row {
                text: text.to_owned(),
                answer,
                others: Vec::new(),
            }));
        }
        Ok(())
    }

    fn print(&self) -> String {
        let mut out = String::new();
        for recorded in &self.recorded {
            out += &format!("{RECORDED}{recorded}\n");
        }
        for line in &self.lines {
            match line {
                Line::Remark(text) => out += &format!("{text}\n"),
                Line::Set(setting) => out += &format!("@ {setting}\n"),
                Line::Expression(row) => {
                    out += &row.text;
                    if let Some(answer) = &row.answer {
                        out += &format!("{ARROW}{answer}");
                    }
                    out.push('\n');
                    for Other { server, why, answer } in &row.others {
                        let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                        out += &format!("{INDENT}{server}{why}{ARROW}{answer}\n");
                    }
                }
            }
        }
        out
    }

    pub fn digest(&self) -> String {
        let rows = self.lines.iter().filter_map(|line| match line {
            Line::Expression(row) => Some(format!("{}{ARROW}{:?}\n", row.text, row.answer)),
            _ => None,
        });
        fnv(&rows.collect::<String>())
    }
}

/// Asks the server for every value of the table at `path`.
pub fn record(path: &Path, target: &Target) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    if target.task == Task::Check {
        return Ok(outcome);
    }
    let text = std::fs::read_to_string(path)?;
    let mut table = Table::parse(&text)?;
    let mut client = target.connect()?;
    for sql in SESSION {
        crate::run::must(&mut client, sql)?;
    }
    let (server, version) = crate::run::server_of(&client);
    for line in &mut table.lines {
        match line {
            Line::Remark(_) => {}
            Line::Set(setting) => crate::run::must(&mut client, &format!("SET {setting}"))?,
            Line::Expression(row) => {
                let got = ask(&mut client, &row.text)?;
                row.take(server, got);
                outcome.passed += 1;
                outcome.differing += usize::from(row.others.iter().any(|other| other.server == server));
            }
        }
    }
    let digest = table.digest();
    table
        .recorded
        .retain(|recorded| recorded.split(' ').next() != Some(server));
    table.recorded.push(format!("{server} {version} {digest}"));
    table.recorded.sort();
    let printed = table.print();
    if printed != text {
        std::fs::write(path, printed)?;
    }
    Ok(outcome)
}

impl Row {
    fn take(&mut self, server: &str, got: String) {
        let at = self.others.iter().position(|other| other.server == server);
        match &self.answer {
            None => self.answer = Some(got),
            Some(answer) if *answer == got => {
                at.map(|at| self.others.remove(at));
            }
            Some(_) => match at {
                Some(at) => self.others[at].answer = got,
                None => self.others.push(Other {
                    server: server.to_owned(),
                    why: (server == "mysql").then(|| UNEXPLAINED.to_owned()),
                    answer: got,
                }),
            },
        }
    }
}

/// `value ~ warnings`, or `! error`.
fn ask(client: &mut Client, expression: &str) -> Result<String, ClientError> {
    // A query of a table first: without one, MariaDB keeps the warnings of the statement before.
    client.query("SELECT 1 FROM information_schema.character_sets LIMIT 1")?;
    let (rows, warnings) = match client.query(&format!("SELECT {expression}"))? {
        Answer::Error { code, .. } => return Ok(format!("! {code}")),
        Answer::Ok { .. } => return Ok("ok".to_owned()),
        Answer::Rows { rows, warnings, .. } => (rows, warnings),
    };
    let value = rows
        .first()
        .and_then(|row| row.first()?.as_deref())
        .map_or("NULL".to_owned(), escaped);
    if warnings == 0 {
        return Ok(value);
    }
    let Answer::Rows { rows, .. } = client.run("SHOW WARNINGS", Protocol::Text)? else {
        return Ok(value);
    };
    let codes: Vec<String> = rows
        .iter()
        .filter_map(|row| Some(String::from_utf8_lossy(row.get(1)?.as_deref()?).into_owned()))
        .collect();
    Ok(format!("{value} ~ {}", codes.join(" ")))
}

/// A value on one line, as the test writes it.
fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\t' => out += "\\t",
                '\n' => out += "\\n",
                '\\' => out += "\\\\",
                '\0' => out += "\\0",
                other => out.push(other),
            }
        }
        for byte in chunk.invalid() {
            out += &format!("\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
#! recorded mysql 9.7.4 00000000
# A remark.
@ time_zone = '+01:00'
1 + 1 => 2
    mariadb => 3
    mysql: it is wrong => NULL ~ 1292
'a' => a
";

    #[test]
    fn a_table_prints_as_it_was_read() {
        assert_eq!(Table::parse(TABLE).unwrap().print(), TABLE);
    }

    #[test]
    fn what_agrees_again_is_forgotten() {
        let mut table = Table::parse(TABLE).unwrap();
        let Line::Expression(row) = &mut table.lines[2] else {
            panic!("an expression")
        };
        row.take("mysql", "2".to_owned());
        row.take("mariadb", "4".to_owned());
        assert_eq!(row.others.len(), 1);
        assert_eq!(row.others[0].answer, "4");
        row.take("mysql", "5".to_owned());
        assert_eq!(row.others[1].why.as_deref(), Some(UNEXPLAINED));
    }
}
