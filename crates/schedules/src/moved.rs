//! Schedules in whose middle the lead of the cluster moves, or the node that leads is killed.
//!
//! What may answers be then? A transaction that has begun, and would lock, is over: it is told so by 1213 when it locks something next, or commits. A session of
//! the killed node is gone. Nothing else may be noticed. So it has to be as if, at that moment, those who lost something had rolled back:
//!
//! ```text
//!   as it was      a: BEGIN   a: UPDATE t …   ── the lead moves ──   b: UPDATE t …   a: COMMIT => 1213   final: SELECT * FROM t
//!   the same       a: BEGIN   a: UPDATE t …        a: ROLLBACK       b: UPDATE t …                       final: SELECT * FROM t
//! ```
//!
//! The second is run, too, and has to be answered alike. Where an answer does not tell whether somebody has lost something, both are tried.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;

use anyhow::{Context, Result, ensure};

use crate::cluster::{Cluster, NODES};
use crate::run::{GONE, LEFT_OUT, Place, Run, Server, WAITS};
use crate::schedule::{Level, Schedule, Step};

/// 1213: the transaction's locks are lost. It is a deadlock's victim's, and a conflict's, too.
const LOST: &str = "error 1213";
/// What says that the cluster had no leader for long, or that nobody knows what became of a commit: no schedule can say what has to follow.
const NOBODY_KNOWS: [&str; 2] = ["error 1047", "error 1180"];

/// A schedule at a level, with the number of the step before which the lead moves.
pub struct Job<'a> {
    pub schedule: &'a Schedule,
    pub level: Level,
    pub at: usize,
    /// What is recorded of it.
    pub expected: Vec<String>,
}

impl<'a> Job<'a> {
    /// `None`: what it does is more than rows in transactions. Locks of names and of tables are lost in their own ways, a change of a definition cannot be
    /// rolled back, and automatic ids go on elsewhere.
    pub fn of(schedule: &'a Schedule, level: Level, at: usize, expected: Vec<String>) -> Option<Job<'a>> {
        let plain = [
            "SELECT",
            "INSERT",
            "UPDATE",
            "DELETE",
            "REPLACE",
            "BEGIN",
            "START",
            "COMMIT",
            "ROLLBACK",
            "SAVEPOINT",
            "WITH",
            "DO",
        ];
        let is_plain = |sql: &String| {
            let first = sql
                .trim_start_matches('(')
                .split_whitespace()
                .next()
                .unwrap_or_default();
            plain.contains(&first)
                && !["_LOCK", "AUTO_", "LAST_INSERT_ID"]
                    .iter()
                    .any(|word| sql.contains(word))
        };
        let counts = schedule.setup.iter().any(|sql| sql.contains("AUTO_INCREMENT"));
        let all_plain = schedule.steps.iter().all(|step| is_plain(&step.sql));
        (all_plain && !counts && at < schedule.steps.len()).then_some(Job {
            schedule,
            level,
            at,
            expected,
        })
    }
}

/// What happened, line by line: before the move, at it, after it, at the end, and what is there then.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// Of each line, who was answered what. The first one of a step is of its session.
    lines: Vec<Vec<(String, String)>>,
    finals: Vec<String>,
}

/// How the lead moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    HandedOver,
    Killed,
}

/// Runs these schedules at once, and lets the lead move in the middle of all. Returns what is wrong with each, if something is; nothing where the lead has moved
/// more often than that.
pub fn round(
    cluster: &mut Cluster,
    server: &Server,
    jobs: &[Job<'_>],
    how: How,
    databases: &str,
) -> Result<Option<Vec<Option<String>>>> {
    let leader = cluster.leader().context("nobody leads")?;
    let watches = (leader + 1) % NODES;
    let names: Vec<String> = (0..jobs.len()).map(|at| format!("{databases}_{at}")).collect();
    let (before, after) = (Barrier::new(jobs.len() + 1), Barrier::new(jobs.len() + 1));
    let place = |at: usize| Place {
        server,
        first: at,
        watches,
        database: names[at].as_str(),
    };
    // A killed node takes its sessions with it.
    let lost_node = (how == How::Killed).then_some(leader);
    let (seen, moved) = thread::scope(|scope| {
        let threads: Vec<_> = jobs
            .iter()
            .enumerate()
            .map(|(at, job)| {
                let (before, after, place) = (&before, &after, place(at));
                scope.spawn(move || observe(job, place, before, after))
            })
            .collect();
        before.wait();
        let moved = match how {
            How::HandedOver => cluster.move_lead().map(|()| leader),
            How::Killed => cluster.kill_leader(),
        };
        let term = cluster.term();
        after.wait();
        let seen: Vec<Result<Seen>> = threads
            .into_iter()
            .map(|thread| thread.join().expect("no schedule panics"))
            .collect();
        (seen, moved.map(|moved| (moved, term)))
    });
    let (moved, term) = moved?;
    if how == How::Killed {
        cluster.restart(moved)?;
    }
    if cluster.term() != term || moved != leader {
        return Ok(None);
    }
    let judged = thread::scope(|scope| {
        let threads: Vec<_> = jobs
            .iter()
            .zip(seen)
            .enumerate()
            .map(|(at, (job, seen))| {
                let place = place(at);
                scope.spawn(move || {
                    let what = || format!("{} {}", job.schedule.name, job.level.name());
                    judge(job, &seen.with_context(what)?, place, lost_node).with_context(what)
                })
            })
            .collect();
        let judged = threads
            .into_iter()
            .map(|thread| thread.join().expect("no schedule panics"));
        judged.collect::<Result<Vec<_>>>()
    });
    // A schedule that was ended by another move may say anything.
    match cluster.term() == term {
        true => judged.map(Some),
        false => Ok(None),
    }
}

fn observe(job: &Job<'_>, place: Place<'_>, before: &Barrier, after: &Barrier) -> Result<Seen> {
    let begin = || -> Result<(Run<'_>, Vec<_>)> {
        let mut run = Run::open(job.schedule, job.level, place)?;
        let mut lines = Vec::new();
        for (at, step) in job.schedule.steps[..job.at].iter().enumerate() {
            lines.push(parsed(&step.session, &run.take(step, Some(&job.expected[at]))?));
        }
        Ok((run, lines))
    };
    let begun = begin();
    // In any case: the others wait.
    before.wait();
    after.wait();
    let (mut run, mut lines) = begun?;
    lines.push(parsed("", &run.let_go("", None)?));
    for step in &job.schedule.steps[job.at..] {
        lines.push(parsed(&step.session, &run.take(step, None)?));
    }
    lines.push(parsed("", &run.end()?));
    let finals = run.finals(job.schedule, place.watches)?;
    for node in 0..NODES {
        // One of them may be down.
        if let Ok(there) = run.finals(job.schedule, node) {
            ensure!(there == finals, "nodes show different rows: {there:?} and {finals:?}");
        }
    }
    run.close()?;
    Ok(Seen { lines, finals })
}

/// `answer | name: answer | …`
fn parsed(session: &str, line: &str) -> Vec<(String, String)> {
    let mut parts = line.split(" | ");
    let own = parts.next().filter(|_| !session.is_empty());
    let own = own.map(|answer| (session.to_owned(), answer.to_owned()));
    let others = parts.filter_map(|part| part.split_once(": "));
    let others = others.map(|(name, answer)| (name.to_owned(), answer.to_owned()));
    own.into_iter().chain(others).collect()
}

/// The line in which a session is told that it has lost its transaction, or has lost it otherwise. It may have read until then.
fn notice(job: &Job<'_>, seen: &Seen, name: &str) -> Option<usize> {
    let tells = |line: &Vec<(String, String)>| line.iter().any(|(who, answer)| who == name && answer == LOST);
    // Who rolls back has no more to be told.
    let rolls_back = |at: usize| {
        let step = at.checked_sub(1).filter(|&step| step >= job.at);
        let step = step.and_then(|step| job.schedule.steps.get(step));
        step.is_some_and(|step| step.session == name && step.sql == "ROLLBACK")
    };
    (job.at..seen.lines.len()).find(|&at| tells(&seen.lines[at]) || rolls_back(at))
}

fn unparsed(step: &Step, line: &[(String, String)]) -> String {
    let parts = line.iter().enumerate().map(|(at, (name, answer))| match at {
        0 if *name == step.session => answer.clone(),
        _ => format!("{name}: {answer}"),
    });
    parts.collect::<Vec<_>>().join(" | ")
}

/// What is wrong, if something is.
fn judge(job: &Job<'_>, seen: &Seen, place: Place<'_>, lost_node: Option<usize>) -> Result<Option<String>> {
    let before = job.expected[..job.at].iter().zip(&job.schedule.steps);
    let before: Vec<_> = before.map(|(line, step)| parsed(&step.session, line)).collect();
    if before != seen.lines[..job.at] {
        // Without any move: another pass tells of it.
        return Ok(None);
    }
    let after = &seen.lines[job.at..];
    if after
        .iter()
        .flatten()
        .any(|(_, answer)| NOBODY_KNOWS.contains(&answer.as_str()))
    {
        return Ok(None);
    }
    let mut names = Vec::new();
    for step in &job.schedule.steps {
        if !names.contains(&step.session) {
            names.push(step.session.clone());
        }
    }
    let is_gone = |name: &String| {
        let place_of = names.iter().position(|known| known == name).expect("it has a step");
        lost_node == Some((place.first + place_of) % NODES)
    };
    let (gone, others): (Vec<String>, Vec<String>) = names.iter().cloned().partition(is_gone);
    // Whoever is told 1213 at some time, and those who are told nothing.
    let may_have_lost = |name: &&String| {
        let is_told = after
            .iter()
            .flatten()
            .any(|(who, answer)| who == *name && answer != LEFT_OUT);
        !is_told || notice(job, seen, name).is_some()
    };
    let unclear: Vec<&String> = others.iter().filter(may_have_lost).collect();
    let mut tried = Vec::new();
    // All of them first.
    for left_out in 0..1_usize << unclear.len() {
        let lost = unclear.iter().enumerate().filter(|(at, _)| left_out >> at & 1 == 0);
        let lost: BTreeSet<&str> = lost.map(|(_, name)| name.as_str()).collect();
        let gone: BTreeSet<&str> = gone.iter().map(String::as_str).collect();
        let model = rolled_back(job, seen, place, &lost, &gone)?;
        if same(job, seen, &model, &lost, &gone) {
            return Ok(None);
        }
        tried.push((lost.into_iter().map(str::to_owned).collect::<Vec<_>>(), model));
    }
    let mut text = format!(
        "{} {}: the lead moved before step {} ({} gone)\n",
        job.schedule.name,
        job.level.name(),
        job.at + 1,
        if gone.is_empty() {
            "nobody".to_owned()
        } else {
            gone.join(", ")
        }
    );
    text += &shown("as it was", job, seen);
    for (lost, model) in tried {
        text += &shown(
            &format!("as if these had rolled back: {}", lost.join(", ")),
            job,
            &model,
        );
    }
    Ok(Some(text))
}

/// The same schedule where these sessions roll back, or go, and the lead does not move.
fn rolled_back<'j>(
    job: &Job<'j>,
    seen: &Seen,
    place: Place<'j>,
    lost: &BTreeSet<&str>,
    gone: &BTreeSet<&str>,
) -> Result<Seen> {
    let mut run = Run::open(job.schedule, job.level, place)?;
    let mut lines = Vec::new();
    for (at, step) in job.schedule.steps[..job.at].iter().enumerate() {
        lines.push(parsed(&step.session, &run.take(step, Some(&job.expected[at]))?));
    }
    for name in lost {
        run.abandon(name, false)?;
    }
    for name in gone {
        run.abandon(name, true)?;
    }
    lines.push(parsed("", &run.let_go("", None)?));
    for (at, step) in job.schedule.steps.iter().enumerate().skip(job.at) {
        // What it does until it is told it does in a transaction that is over.
        let is_over =
            lost.contains(step.session.as_str()) && notice(job, seen, &step.session).is_some_and(|notice| at < notice);
        if is_over {
            lines.push(parsed("", &run.let_go("", None)?));
            continue;
        }
        lines.push(parsed(
            &step.session,
            &run.take(step, Some(&unparsed(step, &seen.lines[at + 1])))?,
        ));
    }
    lines.push(parsed("", &run.end()?));
    let finals = run.finals(job.schedule, place.watches)?;
    run.close()?;
    Ok(Seen { lines, finals })
}

/// Whether both have been told the same: each session in its order, but for what tells of the loss.
fn same(job: &Job<'_>, seen: &Seen, model: &Seen, lost: &BTreeSet<&str>, gone: &BTreeSet<&str>) -> bool {
    let answers = |of: &Seen, name: &str| -> Vec<String> {
        let first = match lost.contains(name) {
            true => notice(job, seen, name).map_or(job.at, |notice| notice + 1),
            false => job.at,
        };
        let lines = of.lines.iter().skip(first).flatten();
        let own = lines.filter(|(who, answer)| who == name && ![WAITS, LEFT_OUT, GONE].contains(&answer.as_str()));
        own.map(|(_, answer)| answer.clone()).collect()
    };
    let mut names: Vec<&str> = job.schedule.steps.iter().map(|step| step.session.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut others = names.into_iter().filter(|name| !gone.contains(name));
    let same_answers = others.all(|name| answers(seen, name) == answers(model, name));
    same_answers && seen.finals == model.finals
}

fn shown(title: &str, job: &Job<'_>, seen: &Seen) -> String {
    let mut text = format!("  {title}\n");
    let questions = job.schedule.questions();
    let mut lines = seen.lines.iter();
    let told = |line: &Vec<(String, String)>| {
        let parts = line.iter().map(|(name, answer)| format!("{name}: {answer}"));
        parts.collect::<Vec<_>>().join(" | ")
    };
    for question in &questions[..job.at] {
        text += &format!("    {question}  =>  {}\n", lines.next().map(told).unwrap_or_default());
    }
    text += &format!(
        "    the lead moves  =>  {}\n",
        lines.next().map(told).unwrap_or_default()
    );
    for question in &questions[job.at..=job.schedule.steps.len()] {
        text += &format!("    {question}  =>  {}\n", lines.next().map(told).unwrap_or_default());
    }
    for (question, answer) in questions[job.schedule.steps.len() + 1..].iter().zip(&seen.finals) {
        text += &format!("    {question}  =>  {answer}\n");
    }
    text
}
