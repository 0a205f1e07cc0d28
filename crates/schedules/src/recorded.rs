//! What servers have answered: a text file for each file of schedules and each server.
//!
//! ```text
//! #! mysql 9.7.1
//! == locking.lost_update.1 RR
//! a: BEGIN => ok
//! b: UPDATE t SET v = 11 WHERE id = 1 => waits
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};

use crate::run::Kind;
use crate::schedule::{Level, Schedule};

/// A server's answers to the schedules of one file.
#[derive(Debug, Default)]
pub struct Recorded {
    pub version: String,
    pub runs: BTreeMap<(String, Level), Vec<(String, String)>>,
}

impl Recorded {
    pub fn read(folder: &Path, file: &str, kind: Kind) -> Result<Recorded> {
        let path = folder.join("recorded").join(format!("{file}.{}.txt", kind.name()));
        match std::fs::read_to_string(&path) {
            Ok(text) => Recorded::parse(&text).with_context(|| path.display().to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Recorded::default()),
            Err(error) => Err(error).with_context(|| path.display().to_string()),
        }
    }

    fn parse(text: &str) -> Result<Recorded> {
        let mut recorded = Recorded::default();
        let mut current = None;
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(version) = line.strip_prefix("#! ") {
                recorded.version = version.to_owned();
            } else if let Some(head) = line.strip_prefix("== ") {
                let (name, level) = head.split_once(' ').with_context(|| head.to_owned())?;
                let key = (name.to_owned(), Level::parse(level)?);
                recorded.runs.insert(key.clone(), Vec::new());
                current = Some(key);
            } else {
                let (question, answer) = line.rsplit_once(" => ").with_context(|| line.to_owned())?;
                let key = current.as_ref().context("an answer before the first schedule")?;
                let run = recorded.runs.get_mut(key).context("begun above")?;
                run.push((question.to_owned(), answer.to_owned()));
            }
        }
        Ok(recorded)
    }

    pub fn write(&self, folder: &Path, file: &str, kind: Kind) -> Result<()> {
        let mut text = format!("#! {}\n", self.version);
        for ((name, level), run) in &self.runs {
            writeln!(text, "\n== {name} {}", level.name())?;
            for (question, answer) in run {
                writeln!(text, "{question} => {answer}")?;
            }
        }
        let folder = folder.join("recorded");
        std::fs::create_dir_all(&folder)?;
        Ok(std::fs::write(
            folder.join(format!("{file}.{}.txt", kind.name())),
            text,
        )?)
    }

    /// The answers to a schedule as it is now.
    pub fn answers(&self, schedule: &Schedule, level: Level) -> Option<Vec<String>> {
        let run = self.runs.get(&(schedule.name.clone(), level))?;
        let is_same = run.iter().map(|(question, _)| question).eq(schedule.questions().iter());
        is_same.then(|| run.iter().map(|(_, answer)| answer.clone()).collect())
    }
}
