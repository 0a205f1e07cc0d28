//! The format of a schedule.
//!
//! ```text
//! setup: CREATE TABLE t (id INT PRIMARY KEY, v INT)        before the first schedule: for all of the file
//!
//! == lost_update
//! with LOCK = FOR UPDATE | FOR SHARE                       a schedule for each, with the text in place of {LOCK}
//! levels: RC RR                                            all of them unless it says so
//! setup: INSERT INTO t VALUES (1, 10)
//! a: BEGIN                                                 session a runs a statement
//! b: UPDATE t SET v = 11 WHERE id = 1
//! b: KILL QUERY <a>                                        <a> is the number of a's connection
//! a: SELECT v FROM t WHERE id = 1 {LOCK}
//! final: SELECT * FROM t                                   in a session of its own, when all others have rolled back
//! anomaly: P4                                              a row of the table of anomalies in the document
//! occurs: 4 => (10)                                        it has happened if the fourth statement answers so
//! ```
//!
//! A statement that waits for a lock leaves its session waiting, and the others go on. Its answer stands behind the statement that let
//! it come. A statement of a session that still waits is left out.

use anyhow::{Context, Result, bail};

/// Isolation levels, and what a session says to get them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    /// REPEATABLE READ with `snapshot_isolation = OFF`: MySQL's.
    Compatible,
    Serializable,
}

impl Level {
    pub const ALL: [Level; 5] = [
        Level::ReadUncommitted,
        Level::ReadCommitted,
        Level::RepeatableRead,
        Level::Compatible,
        Level::Serializable,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "RU",
            Level::ReadCommitted => "RC",
            Level::RepeatableRead => "RR",
            Level::Compatible => "OFF",
            Level::Serializable => "SER",
        }
    }

    pub fn parse(name: &str) -> Result<Level> {
        let mut all = Level::ALL.into_iter();
        all.find(|level| level.name() == name)
            .with_context(|| format!("{name} is no level"))
    }

    pub fn standard_name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "READ UNCOMMITTED",
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead | Level::Compatible => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Schedule {
    /// The file's name without its ending, a dot, and the name in the file.
    pub name: String,
    pub levels: Vec<Level>,
    pub setup: Vec<String>,
    pub steps: Vec<Step>,
    pub finals: Vec<String>,
    pub anomaly: Option<String>,
    /// Which answers show that the anomaly has happened: the statement's number from 1, and its answer.
    pub occurs: Vec<(usize, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub session: String,
    pub sql: String,
}

/// The schedules of a file, variants written out.
pub fn parse(file: &str, text: &str) -> Result<Vec<Schedule>> {
    let mut common = Vec::new();
    let mut schedules: Vec<(Schedule, Vec<Variants>)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = || format!("{file}:{}: {line}", at + 1);
        if let Some(name) = line.strip_prefix("== ") {
            schedules.push((Schedule::new(format!("{file}.{name}"), &common), Vec::new()));
            continue;
        }
        if let Some(variants) = line.strip_prefix("with ") {
            let (name, texts) = variants.split_once(" = ").with_context(place)?;
            let texts = texts.split(" | ").map(|text| text.trim().to_owned()).collect();
            let (_, all) = schedules.last_mut().with_context(place)?;
            all.push((format!("{{{name}}}"), texts));
            continue;
        }
        let (head, rest) = line.split_once(": ").with_context(place)?;
        if head == "setup" && schedules.is_empty() {
            common.push(rest.to_owned());
            continue;
        }
        let (schedule, _) = schedules.last_mut().with_context(place)?;
        schedule.line(head, rest).with_context(place)?;
    }
    Ok(schedules
        .into_iter()
        .flat_map(|(one, variants)| one.variants(&variants))
        .collect())
}

/// A name in braces and what it stands for, one after the other.
type Variants = (String, Vec<String>);

impl Schedule {
    fn new(name: String, setup: &[String]) -> Schedule {
        Schedule {
            name,
            levels: Level::ALL.to_vec(),
            setup: setup.to_vec(),
            steps: Vec::new(),
            finals: Vec::new(),
            anomaly: None,
            occurs: Vec::new(),
        }
    }

    fn line(&mut self, head: &str, rest: &str) -> Result<()> {
        match head {
            "levels" => self.levels = rest.split(' ').map(Level::parse).collect::<Result<_>>()?,
            "setup" => self.setup.push(rest.to_owned()),
            "final" => self.finals.push(rest.to_owned()),
            "anomaly" => self.anomaly = Some(rest.to_owned()),
            "occurs" => {
                let (step, answer) = rest.split_once(" => ").context("a number and an answer")?;
                self.occurs.push((step.parse()?, answer.to_owned()));
            }
            session if session.len() == 1 => self.steps.push(Step {
                session: session.to_owned(),
                sql: rest.to_owned(),
            }),
            other => bail!("{other:?} is neither a session nor a word of the format"),
        }
        Ok(())
    }

    /// Each combination of the variants; named by their positions.
    fn variants(self, variants: &[Variants]) -> Vec<Schedule> {
        let Some(((name, texts), rest)) = variants.split_first() else {
            return vec![self];
        };
        let mut all = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            let replace = |line: &String| line.replace(name, text);
            let one = Schedule {
                name: format!("{}.{}", self.name, at + 1),
                setup: self.setup.iter().map(replace).collect(),
                finals: self.finals.iter().map(replace).collect(),
                steps: self
                    .steps
                    .iter()
                    .map(|step| Step {
                        session: step.session.clone(),
                        sql: replace(&step.sql),
                    })
                    .collect(),
                ..self.clone()
            };
            all.extend(one.variants(rest));
        }
        all
    }

    /// What is asked, line by line as it is recorded.
    pub fn questions(&self) -> Vec<String> {
        let steps = self.steps.iter().map(|step| format!("{}: {}", step.session, step.sql));
        let finals = self.finals.iter().map(|sql| format!("final: {sql}"));
        steps.chain(["end".to_owned()]).chain(finals).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_written_out() {
        let text = "setup: CREATE TABLE t (a INT)\n\n== one\nwith X = 1 | 2\nwith Y = p | q\nlevels: RC SER\na: SELECT {X}, {Y}\n";
        let all = parse("f", text).unwrap();
        let names: Vec<_> = all.iter().map(|schedule| schedule.name.as_str()).collect();
        assert_eq!(names, ["f.one.1.1", "f.one.1.2", "f.one.2.1", "f.one.2.2"]);
        assert_eq!(all[2].steps[0].sql, "SELECT 2, p");
        assert_eq!(all[2].levels, [Level::ReadCommitted, Level::Serializable]);
        assert_eq!(all[2].questions(), ["a: SELECT 2, p", "end"]);
    }
}
