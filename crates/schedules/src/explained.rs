//! Why MySQL answers otherwise: `explained.txt` beside the schedules.
//!
//! ```text
//! gap: InnoDB locks the gaps between the rows that it reads …        a reason, by its name
//!
//! RC,RR writes.gap.* gap                                             levels, schedules (with `*`), reason
//! ```

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::schedule::Level;

pub struct Explained {
    pub reasons: BTreeMap<String, String>,
    rules: Vec<Rule>,
}

struct Rule {
    line: String,
    levels: Vec<Level>,
    schedules: String,
    reason: String,
    is_used: Cell<bool>,
}

impl Explained {
    pub fn read(folder: &Path) -> Result<Explained> {
        Explained::read_file(&folder.join("explained.txt"))
    }

    pub fn read_file(path: &Path) -> Result<Explained> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Explained::parse(&text)
    }

    fn parse(text: &str) -> Result<Explained> {
        let mut explained = Explained {
            reasons: BTreeMap::new(),
            rules: Vec::new(),
        };
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some((name, reason)) = line.split_once(": ") {
                explained.reasons.insert(name.to_owned(), reason.to_owned());
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let [levels, schedules, reason] = words[..] else {
                bail!("{line}: levels, schedules, reason");
            };
            explained.rules.push(Rule {
                line: line.to_owned(),
                levels: levels.split(',').map(Level::parse).collect::<Result<_>>()?,
                schedules: schedules.to_owned(),
                reason: reason.to_owned(),
                is_used: Cell::new(false),
            });
        }
        for rule in &explained.rules {
            if !explained.reasons.contains_key(&rule.reason) {
                bail!("{}: no such reason", rule.line);
            }
        }
        Ok(explained)
    }

    /// Why MySQL answers otherwise; the first rule counts.
    pub fn reason(&self, level: Level, schedule: &str) -> Option<&str> {
        let is_it = |rule: &&Rule| rule.levels.contains(&level) && matches(&rule.schedules, schedule);
        let rule = self.rules.iter().find(is_it)?;
        rule.is_used.set(true);
        Some(&rule.reason)
    }

    /// Rules that explain nothing.
    pub fn unused(&self) -> impl Iterator<Item = &str> {
        let unused = self.rules.iter().filter(|rule| !rule.is_used.get());
        unused.map(|rule| rule.line.as_str())
    }
}

/// Whether a name fits a pattern with `*` for any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|tail| {
            let mut starts = (0..=tail.len()).filter(|&at| tail.is_char_boundary(at));
            starts.any(|at| matches(rest, &tail[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("a.*.1", "a.b.c.1") && matches("*", "") && !matches("a.*.1", "a.b.2"));
    }

    #[test]
    fn the_first_rule_counts() {
        let explained = Explained::parse("x: because\ny: why\n\nRC,RR a.b x\nRC a.* y\nRR c z\n");
        assert!(explained.is_err());
        let explained = Explained::parse("x: because\ny: why\n\nRC,RR a.b x\nRC a.* y\n").unwrap();
        assert_eq!(explained.reason(Level::ReadCommitted, "a.b"), Some("x"));
        assert_eq!(explained.reason(Level::Serializable, "a.b"), None);
        assert_eq!(explained.unused().collect::<Vec<_>>(), ["RC a.* y"]);
    }
}
