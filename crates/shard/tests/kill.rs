//! Real files and `kill -9`: a child process commits transfers until it is killed, and what it acknowledged is looked
//! for in what it left.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::support::large::{all, balance};
use crate::support::purse::{Purse, SESSIONS, opening};
use crate::support::{ACCOUNTS, Accounts, commit};
use env::Env;
use shard::{Config, Shard};

/// Set for the child: its data directory.
const CHILD_DIR: &str = "SHARD_KILL_TEST_DIR";
/// Set for a child that commits large transactions, too.
const CHILD_IS_LARGE: &str = "SHARD_KILL_TEST_LARGE";

fn config(dir: &Path) -> Config {
    Config {
        segment_bytes: 256 << 10,
        checkpoint_bytes: 1 << 20,
        ..crate::support::config(Env::real(), dir)
    }
}

/// Who tells of the large transactions, as if it were a session.
const LARGE: usize = SESSIONS as usize;

/// The child's life: transfers and large transactions without end, each told on standard output after it was acknowledged.
#[test]
#[ignore = "run by the other tests, as a process of its own"]
fn child() {
    let Some(dir) = std::env::var_os(CHILD_DIR) else { return };
    let accounts = &Accounts::new();
    let shard = &Shard::open(config(Path::new(&dir))).unwrap();
    // The one before may have been killed between the two.
    if shard.store().table(ACCOUNTS).is_none() {
        commit(shard, accounts.create()).unwrap();
    }
    if accounts.read(shard).is_empty() {
        commit(shard, opening(accounts)).unwrap();
    }
    let rows = accounts.read(shard);
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let done = rows.iter().rfind(|(id, _)| id / 1000 == session).unwrap().1;
            scope.spawn(move || {
                let mut purse = Purse::after(session, done, accounts);
                loop {
                    if let Err(error) = commit(shard, purse.transfer(accounts)) {
                        // One line, one write: the parent reads whole lines or none.
                        std::io::stdout()
                            .write_all(format!("ERROR {error}\n").as_bytes())
                            .unwrap();
                        return;
                    }
                    std::io::stdout()
                        .write_all(format!("ACK {session} {}\n", purse.transfers).as_bytes())
                        .unwrap();
                }
            });
        }
        if std::env::var_os(CHILD_IS_LARGE).is_none() {
            return;
        }
        let done = balance(&rows, "in the child").unwrap_or(0);
        scope.spawn(move || {
            for generation in done + 1.. {
                let line = match commit(shard, all(accounts, generation)) {
                    Ok(_) => format!("ACK {LARGE} {generation}\n"),
                    Err(error) => format!("ERROR {error}\n"),
                };
                std::io::stdout().write_all(line.as_bytes()).unwrap();
                if line.starts_with("ERROR") {
                    return;
                }
            }
        });
    });
}

fn spawn_child(dir: &Path, is_large: bool) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--ignored", "--nocapture"])
        .env(CHILD_DIR, dir)
        .envs(is_large.then_some((CHILD_IS_LARGE, "")))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What the child told until it ended: the newest acknowledged transfer of each session, and its last words. `at_work` hears of
/// every acknowledgement.
fn listen(child: &mut Child, mut acknowledged: Vec<i64>, at_work: &Sender<()>) -> (Vec<i64>, Vec<String>) {
    let mut errors = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        // The test harness has a line of its own, before the first of ours.
        let line = line.find("ACK ").map_or(&line[..], |start| &line[start..]);
        if let Some(error) = line.strip_prefix("ERROR ") {
            errors.push(error.to_owned());
        } else if let Some(("ACK", numbers)) = line.split_once(' ') {
            let (session, transfers) = numbers.split_once(' ').unwrap();
            acknowledged[session.parse::<usize>().unwrap()] = transfers.parse().unwrap();
            // Nobody may want to know any more.
            let _ = at_work.send(());
        }
    }
    (acknowledged, errors)
}

fn fresh_dir(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

fn check(dir: &Path, acknowledged: &mut [i64], happened: &str) {
    let accounts = Accounts::new();
    let shard = Shard::open(config(dir)).unwrap_or_else(|error| panic!("{happened}: {error}"));
    let rows = accounts.read(&shard);
    if rows.is_empty() {
        assert!(
            acknowledged.iter().all(|&transfers| transfers == 0),
            "{happened}: everything is gone"
        );
        return;
    }
    for (session, promised) in (0..SESSIONS).zip(acknowledged.iter_mut()) {
        *promised = Purse::check(session, *promised, &accounts, &rows, happened);
    }
    let found = balance(&rows, happened).unwrap_or(0);
    let promised = &mut acknowledged[LARGE];
    assert!(
        found == *promised || found == *promised + 1,
        "{happened}: {found} after {promised} large transactions"
    );
    *promised = found;
}

#[test]
fn killed_at_random_moments_it_loses_nothing() {
    let dir = fresh_dir("kill");
    let random = Env::real().random;
    let mut acknowledged = vec![0; SESSIONS as usize + 1];
    for round in 0..20 {
        // They leave the others little of a life.
        let mut child = spawn_child(&dir, round % 4 == 3);
        let life = Duration::from_millis(30 + random.next_u64() % 170);
        let pid = child.id();
        let (at_work, works) = channel();
        let killer = std::thread::spawn(move || {
            // Every other child dies at any moment of its life, also while it starts; the others, when they are at work.
            if round % 2 == 1 {
                let _ = works.recv_timeout(Duration::from_secs(30));
            }
            std::thread::sleep(life);
            Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
        });
        let (told, errors) = listen(&mut child, acknowledged, &at_work);
        acknowledged = told;
        killer.join().unwrap();
        child.wait().unwrap();
        assert_eq!(errors, Vec::<String>::new());
        check(&dir, &mut acknowledged, &format!("kill {round} after {life:?}"));
    }
    assert!(
        acknowledged.iter().sum::<i64>() > 100,
        "there was hardly any work: {acknowledged:?}"
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

#[cfg(debug_assertions)]
#[test]
fn a_failing_sync_of_real_files_stops_commits_and_loses_nothing() {
    for n in [20, 40, 111] {
        let dir = fresh_dir("failing-sync");
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command
            .args(["--exact", "kill::child", "--ignored", "--nocapture"])
            .env(CHILD_DIR, &dir)
            .env("ENV_FAULTS", format!("sync:fail@{n}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut acknowledged, errors) = listen(&mut child, vec![0; SESSIONS as usize + 1], &channel().0);
        child.wait().unwrap();
        assert_eq!(errors.len() as i64, SESSIONS, "every session was told: {errors:?}");
        assert!(errors.iter().all(|error| error.contains("sync of ")), "{errors:?}");
        check(&dir, &mut acknowledged, &format!("sync {n} failed"));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
