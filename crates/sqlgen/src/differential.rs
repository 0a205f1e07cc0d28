//! LatsDB beside MySQL: the same statements to both, and what came of each.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mysql_client::{Answer, Client, ClientError};

use crate::compare::{self, Depth, Difference};
use crate::explained::Explained;
use crate::itself;
use crate::parameters;
use crate::plan::{Episode, Role};
use crate::session::{self, Server};
use crate::shrink::{self, Shows};

pub struct Options {
    pub ours: Server,
    pub theirs: Server,
    pub seed: u64,
    pub statements: u64,
    pub deadline: Instant,
    pub connections: u64,
    pub depth: Depth,
    /// Prefix of the databases.
    pub database: String,
    /// Where findings go.
    pub out: PathBuf,
    /// Of one class so many are shrunk.
    pub keep: usize,
    /// How long one finding is made smaller.
    pub shrinking: Duration,
}

/// What all connections found.
#[derive(Default)]
pub struct Report {
    pub statements: u64,
    pub episodes: u64,
    /// Statements that both refused: a measure of the generator.
    pub refused: u64,
    pub explained: BTreeMap<String, u64>,
    pub unexplained: BTreeMap<String, u64>,
    /// Checks of LatsDB against itself.
    pub itself: u64,
    /// Queries with typed parameters.
    pub typed: u64,
    kept: BTreeMap<String, usize>,
    next_seed: u64,
}

const STATEMENTS_OF_AN_EPISODE: usize = 400;
/// How long MySQL may take for a query. What takes longer there is not compared.
const THEIR_TIME_MS: u64 = 20_000;
/// A query that took longer than that.
const QUERY_TIMEOUT: u16 = 3024;

pub fn run(options: &Options) -> Result<Report> {
    std::fs::create_dir_all(&options.out)?;
    let explained = Explained::built_in();
    let report = Mutex::new(Report {
        next_seed: options.seed,
        ..Report::default()
    });
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.connections)
            .map(|worker| {
                let (explained, report) = (&explained, &report);
                scope.spawn(move || {
                    let database = format!("{}_{worker}", options.database);
                    Worker {
                        options,
                        explained,
                        report,
                        database,
                    }
                    .work()
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap_or_else(|_| anyhow::bail!("a worker panicked")))
    })?;
    Ok(report.into_inner().unwrap_or_else(|broken| broken.into_inner()))
}

struct Worker<'a> {
    options: &'a Options,
    explained: &'a Explained,
    report: &'a Mutex<Report>,
    database: String,
}

/// Two sessions in the same state.
struct Pair {
    ours: Client,
    theirs: Client,
}

/// What one statement gave.
struct Outcome {
    ours: Answer,
    difference: Option<Difference>,
}

impl Pair {
    fn new(options: &Options, database: &str) -> Result<Pair> {
        let mut pair = Pair {
            ours: options.ours.connect_to_new(database)?,
            theirs: options.theirs.connect_to_new(database)?,
        };
        session::must(
            &mut pair.theirs,
            &format!("SET SESSION max_execution_time = {THEIR_TIME_MS}"),
        )?;
        Ok(pair)
    }

    fn ask(&mut self, sql: &str, depth: Depth) -> Result<Outcome> {
        let theirs = self.theirs.query(sql)?;
        let ours = match self.ours.query(sql) {
            Ok(answer) => answer,
            Err(error) => return Ok(lost(&error)),
        };
        let mut difference = compare::difference(sql, &ours, &theirs, depth);
        if difference.is_none() || sql.starts_with("CALL ") {
            let earlier = (self.ours.take_earlier(), self.theirs.take_earlier());
            difference = compare::results(sql, &earlier.0, &earlier.1, depth).or(difference);
        }
        if matches!(
            theirs,
            Answer::Error {
                code: QUERY_TIMEOUT,
                ..
            }
        ) {
            difference = None;
        }
        let counts = (session::warning_count(&ours), session::warning_count(&theirs));
        let is_answered = |answer: &Answer| !matches!(answer, Answer::Error { .. });
        if difference.is_none() && counts.0 != counts.1 && is_answered(&ours) && is_answered(&theirs) {
            let codes = session::warning_codes(&mut self.ours)?;
            difference = compare::warnings(&codes, &session::warning_codes(&mut self.theirs)?);
        }
        Ok(Outcome { ours, difference })
    }
}

/// The connection is gone, or no answer came.
fn lost(error: &ClientError) -> Outcome {
    Outcome {
        ours: Answer::Error {
            code: 2013,
            sqlstate: "HY000".to_owned(),
            message: error.to_string(),
        },
        difference: Some(Difference::new("lost", error.to_string())),
    }
}

impl Worker<'_> {
    fn report(&self) -> std::sync::MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn work(&self) -> Result<()> {
        loop {
            let seed = {
                let mut report = self.report();
                if report.statements >= self.options.statements || Instant::now() > self.options.deadline {
                    return Ok(());
                }
                report.episodes += 1;
                report.next_seed += 1;
                report.next_seed - 1
            };
            self.episode(seed)?;
        }
    }

    fn episode(&self, seed: u64) -> Result<()> {
        let mut pair = Pair::new(self.options, &self.database)?;
        let mut episode = Episode::of_one_session(seed);
        let mut history: Vec<String> = Vec::new();
        for _ in 0..STATEMENTS_OF_AN_EPISODE {
            if Instant::now() > self.options.deadline {
                break;
            }
            let (sql, role) = episode.next();
            let told = || format!("seed {seed}: {sql}");
            let outcome = pair.ask(&sql, self.options.depth).with_context(told)?;
            let refused = matches!(outcome.ours, Answer::Error { .. });
            {
                let mut report = self.report();
                report.statements += 1;
                report.refused += u64::from(refused && outcome.difference.is_none());
            }
            if let Some(difference) = outcome.difference {
                self.found(seed, &history, &sql, &difference)?;
                // After a change that went differently nothing can be compared.
                if role == Role::Change || difference.class == "lost" {
                    return Ok(());
                }
            } else if role == Role::Query && !refused && episode.rng.chance(15) {
                self.report().itself += 1;
                let prepared = itself::prepared(&mut pair.ours, &sql, &outcome.ours).with_context(told)?;
                if let Some(difference) = prepared {
                    self.found(seed, &history, &sql, &difference)?;
                }
            }
            if role == Role::Query && !refused && episode.rng.chance(12) {
                self.typed(seed, &mut pair, &mut episode, &history, &sql)?;
            }
            match (role, refused) {
                (Role::Change, false) => history.push(sql),
                (Role::Change, true) => episode.failed(&sql),
                (Role::Query, _) => {}
            }
        }
        self.tables_agree(seed, &mut pair, &episode, &history)
    }

    /// The same query by the prepared protocol, some of its literals sent as parameters in types of their own.
    fn typed(&self, seed: u64, pair: &mut Pair, episode: &mut Episode, history: &[String], sql: &str) -> Result<()> {
        let Some((text, values)) = parameters::typed(&mut episode.rng, sql) else {
            return Ok(());
        };
        // GROUP_CONCAT(… ORDER BY ?) does not come back there.
        if text.contains("ORDER BY ?") {
            return Ok(());
        }
        self.report().typed += 1;
        let told = || format!("{text}\nparameters {values:?}");
        let theirs = pair.theirs.execute(&text, &values).with_context(told)?;
        let ours = pair.ours.execute(&text, &values).with_context(told)?;
        let Some(found) = compare::difference(&text, &ours, &theirs, Depth::Content) else {
            return Ok(());
        };
        let detail = format!("{}\nparameters {values:?}", found.detail);
        let difference = Difference::new(format!("typed {}", found.class), detail);
        self.found(seed, history, &text, &difference)
    }

    /// At the end of an episode both have the same rows.
    fn tables_agree(&self, seed: u64, pair: &mut Pair, episode: &Episode, history: &[String]) -> Result<()> {
        for table in &episode.schema.base_tables() {
            let sql = format!("SELECT * FROM {}", table.name);
            if let Some(difference) = pair.ask(&sql, self.options.depth)?.difference {
                self.found(seed, history, &sql, &difference)?;
            }
        }
        Ok(())
    }

    fn found(&self, seed: u64, history: &[String], sql: &str, difference: &Difference) -> Result<()> {
        // What is executed is what was prepared.
        let prepared = history.iter().rev().find(|before| before.starts_with("PREPARE "));
        let text = match prepared {
            Some(prepared) if sql.starts_with("EXECUTE ") => prepared,
            _ => sql,
        };
        if let Some(why) = self.explained.why(text, difference) {
            let what = format!("{}: {why}", difference.class);
            *self.report().explained.entry(what).or_default() += 1;
            return Ok(());
        }
        let number = {
            let mut report = self.report();
            *report.unexplained.entry(difference.class.clone()).or_default() += 1;
            let kept = report.kept.entry(difference.class.clone()).or_default();
            *kept += 1;
            *kept
        };
        if number > self.options.keep {
            return Ok(());
        }
        let script = [history, &[sql.to_owned()]].concat();
        let mut search = Search {
            worker: self,
            class: difference.class.clone(),
            database: format!("{}_shrink", self.database),
            until: Instant::now() + self.options.shrinking,
            last: None,
            made: None,
        };
        // What shows only beside others, or on a prepared statement, is kept as it is.
        let script = if search.shows(&script) {
            shrink::shrink(script, &mut search)
        } else {
            script
        };
        let difference = search.last.take().unwrap_or_else(|| difference.clone());
        let name: String = difference
            .class
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        let path = self.options.out.join(format!("{name}_{seed}.test"));
        std::fs::write(&path, as_script(seed, &script, &difference))?;
        println!(
            "{} (seed {seed}): {}\n{}",
            difference.class,
            script.last().cloned().unwrap_or_default(),
            difference.detail
        );
        Ok(())
    }
}

/// A script of `tests/sql`; `cargo xtask oracle record` fills in the answer.
fn as_script(seed: u64, script: &[String], difference: &Difference) -> String {
    let mut text = format!("# {}, seed {seed}\n", difference.class);
    for line in difference.detail.lines() {
        text += &format!("# {line}\n");
    }
    for (at, sql) in script.iter().enumerate() {
        text += &format!("\n{sql}\n");
        if at + 1 == script.len() {
            text += "----\n";
        }
    }
    text
}

struct Search<'a> {
    worker: &'a Worker<'a>,
    class: String,
    database: String,
    until: Instant,
    last: Option<Difference>,
    /// Sessions in which these statements have run.
    made: Option<(Pair, Vec<String>)>,
}

impl Search<'_> {
    /// What `last` gives after `before`; nothing when a statement before it already went differently.
    fn run(&mut self, before: &[String], last: &str) -> Result<Option<Difference>> {
        let mut pair = match self.made.take() {
            Some((pair, made)) if made == before => pair,
            _ => {
                let mut pair = Pair::new(self.worker.options, &self.database)?;
                for sql in before {
                    let outcome = pair.ask(sql, Depth::Content)?;
                    let differs = |difference: Difference| !difference.class.starts_with("warnings");
                    if outcome.difference.is_some_and(differs) {
                        return Ok(None);
                    }
                }
                pair
            }
        };
        let outcome = pair.ask(last, self.worker.options.depth)?;
        if ["SELECT", "WITH", "("].iter().any(|start| last.starts_with(start)) {
            self.made = Some((pair, before.to_vec()));
        }
        Ok(outcome.difference)
    }
}

impl Shows for Search<'_> {
    fn shows(&mut self, script: &[String]) -> bool {
        let Some((last, before)) = script.split_last() else {
            return false;
        };
        match self.run(before, last) {
            Ok(Some(difference)) if difference.class == self.class => {
                self.last = Some(difference);
                true
            }
            _ => false,
        }
    }

    fn may_try(&mut self) -> bool {
        Instant::now() < self.until
    }
}
