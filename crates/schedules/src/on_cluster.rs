//! The schedules on a cluster: through a node that follows, through all three in turn, and with a lead that moves.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::cluster::{Cluster, NODES};
use crate::explained::Explained;
use crate::moved::{self, How, Job};
use crate::run::{self, Kind, Place, Server};
use crate::{Arguments, File, run_file, side_by_side};

/// How often a schedule runs again, at most, where the lead moves though nobody has told it to.
const TRIES: usize = 5;

/// How often one that is answered otherwise runs again, alone: on a busy machine who waits longer may be another.
const AGAIN: usize = 2;

/// How many things are wrong.
pub fn run_all(files: &[File], binary: &Path, arguments: &Arguments) -> Result<usize> {
    let explained = Explained::read_file(&arguments.folder.join("cluster.txt"))?;
    let mut cluster = Cluster::start(binary, &arguments.dir)?;
    let leader = cluster.leader().context("nobody leads")?;
    let follower = cluster.mysql((leader + 1) % NODES).to_owned();
    let all: Vec<String> = (0..NODES).map(|node| cluster.mysql(node).to_owned()).collect();
    let (mut count, mut wrong) = (0, 0);
    let mut add = |(more, more_wrong)| {
        count += more;
        wrong += more_wrong;
    };
    for (what, addresses) in [
        ("a node that follows", vec![follower]),
        ("three nodes in turn", all.clone()),
    ] {
        let server = Server::open(addresses, &arguments.user, &arguments.password)?;
        add(as_recorded(files, &cluster, &server, &explained, what, arguments)?);
    }
    let server = Server::open(all, &arguments.user, &arguments.password)?;
    add(with_moves(files, &mut cluster, &server, &explained, arguments)?);
    cluster.check_panics()?;
    println!("{} passed, {wrong} failed", count - wrong);
    Ok(wrong)
}

/// How many runs, and how many of them are wrong.
fn as_recorded(
    files: &[File],
    cluster: &Cluster,
    server: &Server,
    explained: &Explained,
    what: &str,
    arguments: &Arguments,
) -> Result<(usize, usize)> {
    let (mut count, mut wrong, mut otherwise) = (0, 0, 0);
    for file in files {
        let mut term = cluster.term();
        let runs = run_file(file, server, arguments)?;
        let mut has_moved = cluster.term() != term;
        for (at, level, mut answers) in runs {
            let schedule = &file.schedules[at];
            count += 1;
            let Some(expected) = file.recorded[&Kind::Latsdb].answers(schedule, level) else {
                continue;
            };
            let is_explained = explained.reason(level, &schedule.name).is_some();
            // On a busy machine the lead moves by itself, and ends transactions: that says nothing.
            let mut tries = 0;
            while expected != answers && (has_moved && tries < TRIES || !is_explained && tries < AGAIN) {
                term = cluster.term();
                let place = Place {
                    server,
                    first: at,
                    watches: at,
                    database: &arguments.databases,
                };
                answers = run::run(schedule, level, place, Some(&expected))?;
                has_moved = cluster.term() != term;
                tries += 1;
            }
            has_moved |= tries > 0;
            if expected == answers {
                continue;
            }
            if is_explained {
                otherwise += 1;
                continue;
            }
            wrong += 1;
            println!("{} {}, through {what}:", schedule.name, level.name());
            print!("{}", side_by_side(schedule, &answers, &expected, "recorded"));
        }
    }
    println!("{count} runs through {what}: {otherwise} answered otherwise with a reason, {wrong} without");
    Ok((count, wrong))
}

/// Each schedule at one of its levels, some at a time: by turns the lead is handed over, or the node that leads is killed.
fn with_moves(
    files: &[File],
    cluster: &mut Cluster,
    server: &Server,
    explained: &Explained,
    arguments: &Arguments,
) -> Result<(usize, usize)> {
    let mut jobs = Vec::new();
    for file in files {
        for schedule in &file.schedules {
            if !schedule.name.contains(&arguments.only) || schedule.steps.len() < 2 {
                continue;
            }
            let turn = arguments.seed + jobs.len();
            let level = schedule.levels[turn % schedule.levels.len()];
            // Before the first step nobody has done anything.
            let at = 1 + turn * 7 % (schedule.steps.len() - 1);
            let Some(expected) = file.recorded[&Kind::Latsdb].answers(schedule, level) else {
                continue;
            };
            jobs.extend(Job::of(schedule, level, at, expected));
        }
    }
    let mut wrong = 0;
    for (number, jobs) in jobs.chunks(arguments.parallel.max(1)).enumerate() {
        let how = match (number + arguments.seed) % 2 {
            0 => How::HandedOver,
            _ => How::Killed,
        };
        let mut tries = 1;
        let judged = loop {
            match moved::round(cluster, server, jobs, how, &arguments.databases)? {
                Some(judged) => break judged,
                None => ensure!(tries < TRIES, "the lead moves all the time"),
            }
            tries += 1;
        };
        for (job, problem) in jobs.iter().zip(judged) {
            let Some(mut problem) = problem else { continue };
            let mut is_wrong = explained.reason(job.level, &job.schedule.name).is_none();
            for _ in 0..AGAIN {
                if !is_wrong {
                    break;
                }
                let alone = std::slice::from_ref(job);
                if let Some(judged) = moved::round(cluster, server, alone, how, &arguments.databases)? {
                    let again = judged.into_iter().flatten().next();
                    is_wrong = again.is_some();
                    problem = again.unwrap_or(problem);
                }
            }
            if is_wrong {
                wrong += 1;
                println!("{how:?}: {problem}");
            }
        }
    }
    println!("{} runs with a lead that moves: {wrong} wrong", jobs.len());
    Ok((jobs.len(), wrong))
}
