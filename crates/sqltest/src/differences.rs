//! What the scripts and tables say about differences between the servers: without asking any.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::script::{Block, Body, Directive, Script, Test, UNEXPLAINED};
use crate::table::{Line, Table};

/// An answer that is not the common one.
struct Difference {
    place: String,
    server: String,
    why: String,
    sql: String,
    common: String,
    answer: String,
}

#[derive(Default)]
struct Found {
    differences: Vec<Difference>,
    /// Files with no recording of a server, or that have changed since.
    stale: Vec<String>,
}

/// Prints every difference; whether each of MySQL's and LatsDB's is explained.
pub fn show(paths: &[PathBuf]) -> Result<bool> {
    let mut found = Found::default();
    for path in paths {
        let text = std::fs::read_to_string(path)?;
        let read = if path.extension().is_some_and(|extension| extension == "txt") {
            found.table(path, &text)
        } else {
            found.script(path, &text)
        };
        read.with_context(|| path.display().to_string())?;
    }
    let mut counts: BTreeMap<&str, (usize, usize, usize)> = BTreeMap::new();
    for difference in &found.differences {
        println!("{} ({}): {}", difference.place, difference.server, difference.why);
        for (what, text) in [
            ("", &difference.sql),
            ("common   ", &difference.common),
            ("otherwise ", &difference.answer),
        ] {
            text.lines().for_each(|line| println!("    {what}{line}"));
        }
        let count = counts.entry(&difference.server).or_default();
        count.0 += 1;
        count.1 += usize::from(difference.why.starts_with("bug:"));
        count.2 += usize::from(difference.why == UNEXPLAINED);
    }
    for stale in &found.stale {
        println!("{stale}");
    }
    for (server, (all, bugs, unexplained)) in &counts {
        println!("{server}: {all} answers of its own, {bugs} of them bugs to mend, {unexplained} unexplained");
    }
    Ok(counts.values().all(|&(_, _, unexplained)| unexplained == 0))
}

impl Found {
    fn script(&mut self, path: &Path, text: &str) -> Result<()> {
        let script = Script::parse(text)?;
        let recorded = script
            .recorded()
            .iter()
            .map(|one| (one.server.as_str(), one.digest.as_str()));
        self.note_stale(path, &script.digest(), recorded.collect());
        for block in &script.blocks {
            if let Block::Test(test) = block {
                self.test(path, test);
            }
        }
        Ok(())
    }

    fn test(&mut self, path: &Path, test: &Test) {
        let place = format!("{}:{}", path.display(), test.line);
        match &test.body {
            Body::Statement { sql, answer, others } => {
                for directive in &test.directives {
                    let Directive::Differs { server, why } = directive else {
                        continue;
                    };
                    let own = others.iter().find(|(other, _)| other == server);
                    self.differences.push(Difference {
                        place: place.clone(),
                        server: server.clone(),
                        why: why.clone(),
                        sql: sql.clone(),
                        common: answer.as_ref().map_or("success".to_owned(), |lines| lines.join("\n")),
                        answer: own.map_or("(not recorded)".to_owned(), |(_, lines)| lines.join("\n")),
                    });
                }
            }
            Body::Each(each) => {
                for expression in each {
                    for other in &expression.others {
                        self.differences.push(Difference {
                            place: place.clone(),
                            server: other.server.clone(),
                            why: other.why.clone(),
                            sql: expression.text.clone(),
                            common: expression.answer.clone().unwrap_or_default(),
                            answer: other.answer.clone(),
                        });
                    }
                }
            }
        }
    }

    fn table(&mut self, path: &Path, text: &str) -> Result<()> {
        let table = Table::parse(text)?;
        let recorded = table.recorded.iter().filter_map(|one| {
            let mut words = one.split(' ');
            Some((words.next()?, words.next_back()?))
        });
        self.note_stale(path, &table.digest(), recorded.collect());
        for line in &table.lines {
            let Line::Expression(row) = line else { continue };
            for other in &row.others {
                self.differences.push(Difference {
                    place: path.display().to_string(),
                    server: other.server.clone(),
                    why: other.why.clone().unwrap_or_default(),
                    sql: row.text.clone(),
                    common: row.answer.clone().unwrap_or_default(),
                    answer: other.answer.clone(),
                });
            }
        }
        Ok(())
    }

    fn note_stale(&mut self, path: &Path, digest: &str, recorded: BTreeMap<&str, &str>) {
        for server in ["mariadb", "mysql"] {
            let what = match recorded.get(server) {
                None => "was never recorded from",
                Some(&then) if then != digest => "has changed since it was recorded from",
                Some(_) => continue,
            };
            self.stale.push(format!("{} {what} {server}", path.display()));
        }
    }
}
