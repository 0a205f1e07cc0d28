//! The files of the matrix: statements, MySQL's answers, differences with their reasons.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::grants::Grant;

pub struct Statement {
    pub kind: String,
    pub text: String,
    /// Grants that it is not tried with.
    skipped: Vec<String>,
}

impl Statement {
    pub fn skips(&self, grant: &str) -> bool {
        self.skipped.iter().any(|skipped| grant.starts_with(skipped))
    }
}

/// `Kind: statement`, and below it `! grant` for each that it is not tried with.
pub fn read_statements(path: &Path) -> Result<Vec<Statement>> {
    let mut statements: Vec<Statement> = Vec::new();
    for line in read(path)?.lines().map(str::trim).filter(|line| is_content(line)) {
        match line.strip_prefix("! ") {
            Some(skipped) => {
                let last = statements.last_mut().context("a grant before the first statement")?;
                last.skipped.push(skipped.to_owned());
            }
            None => {
                let (kind, text) = line.split_once(": ").with_context(|| line.to_owned())?;
                statements.push(Statement {
                    kind: kind.to_owned(),
                    text: text.to_owned(),
                    skipped: Vec::new(),
                });
            }
        }
    }
    Ok(statements)
}

/// What a server said to a statement: by grant, and to all others.
#[derive(Default)]
struct OfStatement {
    by_grant: BTreeMap<String, String>,
    rest: String,
}

/// All that a server said.
pub struct Answers {
    pub version: String,
    /// How many grants each statement was tried with.
    pub grants: usize,
    by_statement: BTreeMap<String, OfStatement>,
}

const HEADER: &str = "# What MySQL ";
const REST: &str = "the rest";

impl Answers {
    pub fn read_or_begin(path: &Path, version: &str, grants: usize) -> Result<Answers> {
        if path.exists() {
            let known = Answers::read(path)?;
            if known.version == version && known.grants == grants {
                return Ok(known);
            }
        }
        Ok(Answers {
            version: version.to_owned(),
            grants,
            by_statement: BTreeMap::new(),
        })
    }

    pub fn read(path: &Path) -> Result<Answers> {
        let text = read(path)?;
        let header = || {
            let (version, rest) = text
                .lines()
                .next()?
                .strip_prefix(HEADER)?
                .split_once(" answers under ")?;
            let (grants, _) = rest.split_once(' ')?;
            Some((version.to_owned(), grants.parse().ok()?))
        };
        let (version, grants) = header().with_context(|| format!("{}: no version", path.display()))?;
        let mut by_statement: BTreeMap<String, OfStatement> = BTreeMap::new();
        let mut current = String::new();
        for line in text.lines().filter(|line| is_content(line)) {
            let Some(answer) = line.strip_prefix("    ") else {
                current = line.to_owned();
                continue;
            };
            let (answer, grants) = answer.rsplit_once(": ").with_context(|| line.to_owned())?;
            let known = by_statement.entry(current.clone()).or_default();
            match grants {
                REST => known.rest = answer.to_owned(),
                grants => {
                    let each = grants.split(", ");
                    known
                        .by_grant
                        .extend(each.map(|grant| (grant.to_owned(), answer.to_owned())));
                }
            }
        }
        Ok(Answers {
            version,
            grants,
            by_statement,
        })
    }

    pub fn has(&self, statement: &str) -> bool {
        self.by_statement.contains_key(statement)
    }

    pub fn of(&self, statement: &str, grant: &str) -> Result<&str> {
        let known = self.by_statement.get(statement);
        let known = known.with_context(|| format!("no answers to {statement}"))?;
        Ok(known.by_grant.get(grant).unwrap_or(&known.rest))
    }

    /// The most frequent answer is that of the rest.
    pub fn keep(&mut self, statement: &Statement, grants: &[Grant], given: &[Option<String>]) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for answer in given.iter().flatten() {
            *counts.entry(answer).or_default() += 1;
        }
        let rest = counts.iter().max_by_key(|(_, count)| **count);
        let rest = rest.map_or_else(String::new, |(answer, _)| (*answer).to_owned());
        let answered = grants.iter().zip(given);
        let others = answered.filter_map(|(grant, answer)| Some((grant.name.clone(), answer.clone()?)));
        let by_grant = others.filter(|(_, answer)| *answer != rest).collect();
        self.by_statement
            .insert(statement.text.clone(), OfStatement { by_grant, rest });
    }

    /// In the order of the statements. The whole file takes the place of the old one.
    pub fn write(&self, path: &Path, statements: &[Statement]) -> Result<()> {
        let (version, grants) = (&self.version, self.grants);
        let mut text =
            format!("{HEADER}{version} answers under {grants} grants; by `rights --record`, see crates/sqltest.\n");
        for statement in statements {
            let Some(known) = self.by_statement.get(&statement.text) else {
                continue;
            };
            let _ = writeln!(text, "\n{}", statement.text);
            let mut by_answer: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (grant, answer) in &known.by_grant {
                by_answer.entry(answer).or_default().push(grant);
            }
            for (answer, grants) in by_answer {
                let _ = writeln!(text, "    {answer}: {}", grants.join(", "));
            }
            let _ = writeln!(text, "    {}: {REST}", known.rest);
        }
        let written = path.with_extension("new");
        std::fs::write(&written, text)?;
        Ok(std::fs::rename(written, path)?)
    }
}

/// Differences that are meant.
pub struct Explained(Vec<Reason>);

/// Holds for statements, grants and pairs of answers that begin as it says.
struct Reason {
    statement: String,
    grant: String,
    expected: String,
    given: String,
    line: String,
    was_used: bool,
}

impl Explained {
    /// `statement | grant | MySQL's answer | ours | reason`, each but the last by its beginning; `*` for all.
    pub fn read(path: &Path) -> Result<Explained> {
        let text = read(path)?;
        let reasons = text.lines().filter(|line| is_content(line)).map(|line| {
            let parts: Vec<&str> = line.splitn(5, " | ").collect();
            let [statement, grant, expected, given, _] = parts[..] else {
                bail!("not `statement | grant | MySQL's answer | ours | reason`: {line}");
            };
            let beginning = |text: &str| text.strip_prefix('*').unwrap_or(text).to_owned();
            Ok(Reason {
                statement: beginning(statement),
                grant: beginning(grant),
                expected: beginning(expected),
                given: beginning(given),
                line: line.to_owned(),
                was_used: false,
            })
        });
        Ok(Explained(reasons.collect::<Result<_>>()?))
    }

    pub fn explains(&mut self, statement: &str, grant: &str, expected: &str, given: &str) -> bool {
        let found = self.0.iter_mut().find(|reason| {
            statement.starts_with(&reason.statement)
                && grant.starts_with(&reason.grant)
                && expected.starts_with(&reason.expected)
                && given.starts_with(&reason.given)
        });
        let Some(reason) = found else { return false };
        reason.was_used = true;
        true
    }

    /// The lines that explained nothing.
    pub fn idle(&self) -> Vec<&str> {
        let idle = self.0.iter().filter(|reason| !reason.was_used);
        idle.map(|reason| reason.line.as_str()).collect()
    }
}

/// The differences of one statement, alike ones together.
#[derive(Default)]
pub struct Differences(BTreeMap<(String, String), Vec<String>>);

impl Differences {
    pub fn add(&mut self, expected: &str, given: &str, grant: &str) {
        let alike = self.0.entry((expected.to_owned(), given.to_owned())).or_default();
        alike.push(grant.to_owned());
    }

    pub fn print(&self, statement: &str) {
        for ((expected, given), grants) in &self.0 {
            println!(
                "{statement}\n    {given}\n    instead of {expected}: {}",
                grants.join(", ")
            );
        }
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn is_content(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}
