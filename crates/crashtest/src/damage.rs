//! Damage to the log: a torn tail is cut, everything else is refused by name.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use env::SeededRandom;
use mysql_client::Client;

use crate::server::{Setup, copy_dir, write_sparse};
use crate::workload::{DATABASE, execute, rows};

/// Single-row commits before the last one.
const COMMITS: i64 = 20;

/// After so many tears, what follows the cut is looked at, too.
const GOES_ON_EVERY: usize = 4;

/// After so long without commits, the log is at rest: its last record is a mark, which tells that all before it is durable.
const REST: Duration = Duration::from_millis(300);

/// Bytes that a mark takes in the log.
const MARK_BYTES: usize = 48;

/// A data directory as `kill -9` left it, and what one more commit added to its log.
struct Scene {
    /// After the last commit.
    dir: PathBuf,
    /// The newest log file, below the directory.
    log: PathBuf,
    /// The bytes of the last record.
    last: Range<usize>,
}

/// What a scene's log ends with.
#[derive(PartialEq, Eq)]
enum Ending {
    Commit,
    /// The mark of a log at rest.
    Mark,
}

fn stage(setup: &Setup, ending: &Ending) -> Result<Scene> {
    let _ = fs::remove_dir_all(&setup.dir);
    fs::create_dir_all(&setup.dir)?;
    let server = setup.start()?;
    let mut client = server.connect(None)?;
    execute(&mut client, &format!("CREATE DATABASE {DATABASE}"))?;
    execute(
        &mut client,
        &format!("CREATE TABLE {DATABASE}.counts (id INT PRIMARY KEY, note VARCHAR(100))"),
    )?;
    for id in 1..=COMMITS {
        insert(&mut client, id)?;
    }
    // The log is at rest when nothing has been written for a while; there is no event to wait for.
    std::thread::sleep(REST);
    let log = newest_log(&setup.dir)?;
    let before = fs::read(&log)?;
    insert(&mut client, COMMITS + 1)?;
    if *ending == Ending::Mark {
        std::thread::sleep(REST);
    }
    let after = fs::read(&log)?;
    server.kill()?;
    ensure!(
        before.len() == after.len() && newest_log(&setup.dir)? == log,
        "a commit began a new log file"
    );
    let different = |at: &usize| before[*at] != after[*at];
    let first = (0..before.len())
        .find(different)
        .context("a commit changed nothing in the log")?;
    let end = (0..before.len()).rfind(different).map_or(first, |last| last + 1);
    let last = match ending {
        Ending::Commit => first..end,
        Ending::Mark => {
            // Records begin and end at multiples of eight, and the last word of a mark is not zero.
            let end = end.next_multiple_of(8);
            end - MARK_BYTES..end
        }
    };
    let dir = setup.dir.with_extension("scene");
    copy_dir(&setup.dir, &dir)?;
    fs::write(dir.join(log.strip_prefix(&setup.dir)?), &after)?;
    Ok(Scene {
        log: log.strip_prefix(&setup.dir)?.to_owned(),
        dir,
        last,
    })
}

fn insert(client: &mut Client, id: i64) -> Result<()> {
    execute(
        client,
        &format!("INSERT INTO {DATABASE}.counts VALUES ({id}, 'row number {id}')"),
    )
}

fn newest_log(dir: &Path) -> Result<PathBuf> {
    let mut logs = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir)? {
            let path = entry?.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "log") {
                logs.push(path);
            }
        }
    }
    logs.into_iter().max().context("the server has no log file")
}

/// Puts the scene into the server's data directory, with these bytes as its newest log.
fn set(setup: &Setup, scene: &Scene, bytes: &[u8]) -> Result<()> {
    copy_dir(&scene.dir, &setup.dir)?;
    write_sparse(&setup.dir.join(&scene.log), bytes)
}

fn ids(client: &mut Client) -> Result<Vec<i64>> {
    let found = rows(client, &format!("SELECT id FROM {DATABASE}.counts ORDER BY id"))?;
    Ok(found.into_iter().map(|row| row[0]).collect())
}

/// Tears the log at every byte of its last record.
pub fn tear(setup: &Setup) -> Result<()> {
    let scene = stage(setup, &Ending::Commit)?;
    let whole = fs::read(scene.dir.join(&scene.log))?;
    let (mut cut, mut kept) = (0, 0);
    for torn_at in scene.last.clone() {
        let mut bytes = whole.clone();
        bytes[torn_at..].fill(0);
        set(setup, &scene, &bytes)?;
        let server = setup
            .start()
            .with_context(|| format!("the log torn at byte {torn_at}"))?;
        let mut client = server.connect(None)?;
        match ids(&mut client)? {
            found if found == (1..=COMMITS).collect::<Vec<_>>() => cut += 1,
            found if found == (1..=COMMITS + 1).collect::<Vec<_>>() => kept += 1,
            found => bail!("the log torn at byte {torn_at}: found {found:?}"),
        }
        // And it goes on from there.
        if (torn_at - scene.last.start) % GOES_ON_EVERY != 0 {
            continue;
        }
        insert(&mut client, 1000)?;
        server.kill()?;
        let server = setup.start()?;
        ensure!(
            ids(&mut server.connect(None)?)?.last() == Some(&1000),
            "a commit after the cut is gone"
        );
    }
    ensure!(cut > 0, "no tear cut anything");
    println!(
        "tear: at each of {} bytes; the torn commit was cut {cut} times, whole {kept} times",
        scene.last.len()
    );
    Ok(())
}

/// Flips single bits of a log at rest, before the mark that it ends with. Of a log that is not, damage to what was written
/// since the last sync that a record tells of cannot be told from a tear.
pub fn flip(setup: &Setup, times: u32, seed: u64) -> Result<()> {
    let scene = stage(setup, &Ending::Mark)?;
    let whole = fs::read(scene.dir.join(&scene.log))?;
    let used: Vec<usize> = (0..scene.last.start).filter(|&at| whole[at] != 0).collect();
    let random = SeededRandom::new(seed);
    let name = scene
        .log
        .file_name()
        .context("a log file has a name")?
        .to_string_lossy()
        .into_owned();
    for _ in 0..times {
        let at = used[random.below(used.len() as u64) as usize];
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << random.below(8);
        set(setup, &scene, &bytes)?;
        let Some(said) = setup.start_refused()? else {
            bail!("a flipped bit in byte {at} of {name} was not noticed");
        };
        ensure!(
            said.contains(&name) && said.contains("byte "),
            "byte {at}: it did not name the place:\n{said}"
        );
        ensure!(
            fs::read(setup.dir.join(&scene.log))? == bytes,
            "it changed the damaged file"
        );
    }
    println!("flip: {times} single bits, each refused by file and position");
    Ok(())
}
