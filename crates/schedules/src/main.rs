//! Holds a server to the schedules of `tests/schedules`, records what servers answer, and writes the document about it.

mod cluster;
mod document;
mod explained;
mod moved;
mod on_cluster;
mod recorded;
mod run;
mod schedule;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result};
use clap::Parser;

use explained::Explained;
use recorded::Recorded;
use run::{Kind, Place, Server};
use schedule::{Level, Schedule};

#[derive(Parser)]
#[command(about = "Run schedules of statements in several sessions against a MySQL-compatible server")]
struct Arguments {
    /// Of several, separated by commas, each session goes to the next
    #[arg(long, default_value = "127.0.0.1:3306")]
    addr: String,
    #[arg(long, default_value = "root")]
    user: String,
    #[arg(long, default_value = "")]
    password: String,
    /// Keep what the server answers
    #[arg(long)]
    record: bool,
    /// Ask no server: write docs/isolation.md
    #[arg(long)]
    document: bool,
    /// Ask no server: show the recorded differences that nobody has explained
    #[arg(long)]
    differences: bool,
    /// Hold a cluster of three nodes of this program to what is recorded
    #[arg(long, value_name = "BINARY")]
    cluster: Option<PathBuf>,
    /// Where the data of that cluster lies
    #[arg(long, default_value = "target/test-data/schedules-cluster")]
    dir: PathBuf,
    /// Chooses where in a schedule the lead of that cluster moves
    #[arg(long, default_value_t = 1)]
    seed: usize,
    /// Only schedules whose names contain this
    #[arg(long, default_value = "")]
    only: String,
    /// Schedules at a time
    #[arg(long, default_value_t = 8)]
    parallel: usize,
    /// What the runner's databases begin with
    #[arg(long, default_value = "isolation_schedules")]
    databases: String,
    #[arg(long, default_value = "tests/schedules")]
    folder: PathBuf,
    #[arg(long, default_value = "docs/isolation.md")]
    output: PathBuf,
}

/// A file of schedules with all that is recorded of it.
struct File {
    name: String,
    schedules: Vec<Schedule>,
    recorded: BTreeMap<Kind, Recorded>,
}

/// Where MySQL answers otherwise than LatsDB.
struct Difference {
    level: Level,
    ours: Vec<String>,
    theirs: Vec<String>,
}

impl File {
    fn differences(&self, schedule: &Schedule) -> Vec<Difference> {
        let answers = |kind: Kind, level| self.recorded[&kind].answers(schedule, level);
        let both = |&level: &Level| Some((level, answers(Kind::Latsdb, level)?, answers(Kind::Mysql, level)?));
        let all = schedule.levels.iter().filter_map(both);
        all.filter(|(_, ours, theirs)| ours != theirs)
            .map(|(level, ours, theirs)| Difference { level, ours, theirs })
            .collect()
    }
}

fn main() -> ExitCode {
    match run_all(&Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::from(2)
        }
    }
}

/// How many things are wrong.
fn run_all(arguments: &Arguments) -> Result<usize> {
    let mut files = read(&arguments.folder)?;
    let explained = Explained::read(&arguments.folder)?;
    if arguments.document {
        let text = document::document(&files, &explained, &arguments.folder)?;
        std::fs::write(&arguments.output, text)?;
        return Ok(0);
    }
    if arguments.differences {
        return Ok(show_all(unexplained(&files, &explained)));
    }
    if let Some(binary) = &arguments.cluster {
        return on_cluster::run_all(&files, binary, arguments);
    }
    let addresses = arguments.addr.split(',').map(str::to_owned).collect();
    let server = Server::open(addresses, &arguments.user, &arguments.password)?;
    let mut wrong = 0;
    let mut count = 0;
    for file in &mut files {
        let runs = run_file(file, &server, arguments)?;
        count += runs.len();
        let recorded = file.recorded.get_mut(&server.kind).context("read for every kind")?;
        if arguments.record {
            recorded.version = format!("{} {}", server.kind.name(), server.version);
            let known = |name: &str| file.schedules.iter().any(|schedule| schedule.name == name);
            recorded.runs.retain(|(name, _), _| known(name));
        }
        for (at, level, answers) in runs {
            let schedule = &file.schedules[at];
            let questions = schedule.questions();
            if arguments.record {
                let run = questions.into_iter().zip(answers).collect();
                recorded.runs.insert((schedule.name.clone(), level), run);
                continue;
            }
            let Some(expected) = recorded.answers(schedule, level) else {
                println!("{} {}: no answers are recorded", schedule.name, level.name());
                wrong += 1;
                continue;
            };
            if expected != answers {
                wrong += 1;
                println!("{} {}:", schedule.name, level.name());
                print!("{}", side_by_side(schedule, &answers, &expected, "recorded"));
            }
        }
        if arguments.record {
            recorded.write(&arguments.folder, &file.name, server.kind)?;
        }
    }
    if arguments.only.is_empty() && !arguments.record {
        wrong += show_all(unexplained(&files, &explained));
    }
    println!("{count} runs against {} {}", server.kind.name(), server.version);
    println!("{} passed, {wrong} failed", count.saturating_sub(wrong));
    Ok(wrong)
}

/// Two servers' answers, or one server's at two times.
fn side_by_side(schedule: &Schedule, answers: &[String], others: &[String], other: &str) -> String {
    let mut text = String::new();
    for ((question, answer), others) in schedule.questions().iter().zip(answers).zip(others) {
        text += &match answer == others {
            true => format!("    {question}  =>  {answer}\n"),
            false => format!("  ! {question}  =>  {answer}    ({other}: {others})\n"),
        };
    }
    text
}

fn show_all(problems: Vec<String>) -> usize {
    for problem in &problems {
        println!("{problem}");
    }
    problems.len()
}

/// Differences without a reason, and reasons without a difference.
fn unexplained(files: &[File], explained: &Explained) -> Vec<String> {
    let mut problems = Vec::new();
    for file in files {
        for schedule in &file.schedules {
            for Difference { level, ours, theirs } in file.differences(schedule) {
                if explained.reason(level, &schedule.name).is_some() {
                    continue;
                }
                let answers = side_by_side(schedule, &ours, &theirs, "mysql");
                problems.push(format!(
                    "{} {}: MySQL differs, and nobody says why:\n{answers}",
                    schedule.name,
                    level.name()
                ));
            }
        }
    }
    let unused = explained.unused();
    problems.extend(unused.map(|rule| format!("explained.txt: nothing differs so any more: {rule}")));
    problems
}

fn read(folder: &Path) -> Result<Vec<File>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "schedules") {
            continue;
        }
        let name = path
            .file_stem()
            .context("a file has a name")?
            .to_string_lossy()
            .into_owned();
        let schedules = schedule::parse(&name, &std::fs::read_to_string(&path)?)?;
        let mut recorded = BTreeMap::new();
        for kind in Kind::ALL {
            recorded.insert(kind, Recorded::read(folder, &name, kind)?);
        }
        files.push(File {
            name,
            schedules,
            recorded,
        });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

type Run = (usize, Level, Vec<String>);

/// Runs the schedules of a file, some at a time.
fn run_file(file: &File, server: &Server, arguments: &Arguments) -> Result<Vec<Run>> {
    let jobs: Vec<(usize, Level)> = file
        .schedules
        .iter()
        .enumerate()
        .filter(|(_, schedule)| schedule.name.contains(&arguments.only))
        .flat_map(|(at, schedule)| schedule.levels.iter().map(move |&level| (at, level)))
        .collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Result<Run>>> = Mutex::default();
    thread::scope(|scope| {
        for worker in 0..arguments.parallel.max(1) {
            let (next, done, jobs) = (&next, &done, &jobs);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(at, level)) = jobs.get(number) else { break };
                    let schedule = &file.schedules[at];
                    let expected = file.recorded[&server.kind].answers(schedule, level);
                    let expected = expected.as_deref().filter(|_| !arguments.record);
                    let database = format!("{}_{worker}", arguments.databases);
                    let place = Place {
                        server,
                        first: number,
                        watches: number,
                        database: &database,
                    };
                    let run = run::run(schedule, level, place, expected)
                        .with_context(|| format!("{} {}", schedule.name, level.name()));
                    done.lock()
                        .expect("no worker panics")
                        .push(run.map(|lines| (at, level, lines)));
                }
            });
        }
    });
    let mut done = done
        .into_inner()
        .expect("no worker panics")
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    done.sort_by_key(|(at, level, _)| (*at, *level));
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_explained_and_the_document_is_current() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = root.join("tests/schedules");
        let files = read(&folder).unwrap();
        let explained = Explained::read(&folder).unwrap();
        assert_eq!(unexplained(&files, &explained), [""; 0]);
        let text = document::document(&files, &explained, &folder).unwrap();
        let written = std::fs::read_to_string(root.join("docs/isolation.md")).unwrap();
        assert!(text == written, "cargo run -p schedules -- --document");
    }
}
