//! A disk whose sync fails, and one that is full.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use mysql_client::{Answer, Client};

use crate::server::Setup;
use crate::workload::{DATABASE, execute, rows};

/// Rows tried at most.
const ROWS: i64 = 100_000;

fn prepare(client: &mut Client, columns: &str) -> Result<()> {
    execute(client, &format!("CREATE DATABASE {DATABASE}"))?;
    execute(
        client,
        &format!("CREATE TABLE {DATABASE}.counts (id INT PRIMARY KEY{columns})"),
    )
}

fn found(client: &mut Client) -> Result<i64> {
    let found = rows(
        client,
        &format!("SELECT COUNT(*), COALESCE(MAX(id), 0) FROM {DATABASE}.counts"),
    )?;
    ensure!(
        found[0][0] == found[0][1],
        "{} rows, the newest has number {}",
        found[0][0],
        found[0][1]
    );
    Ok(found[0][0])
}

/// The n-th sync fails: commits stop with the reason, reads go on, and after a restart nothing acknowledged is gone.
pub fn sync(setup: &Setup) -> Result<()> {
    for nth in [30, 77, 200] {
        let _ = fs::remove_dir_all(&setup.dir);
        fs::create_dir_all(&setup.dir)?;
        let mut faulty = setup.clone();
        faulty
            .environment
            .push(("ENV_FAULTS".into(), format!("sync:fail@{nth}")));
        let server = faulty.start()?;
        let mut client = server.connect(None)?;
        prepare(&mut client, "")?;
        let mut acknowledged = 0;
        let reason = loop {
            ensure!(acknowledged < 1000, "no sync failed: is the server built with faults?");
            match client.query(&format!("INSERT INTO {DATABASE}.counts VALUES ({})", acknowledged + 1)) {
                Ok(Answer::Ok { .. }) => acknowledged += 1,
                Ok(Answer::Error { message, .. }) => break message,
                other => bail!("{other:?}"),
            }
        };
        ensure!(
            reason.contains("sync of ") && reason.contains(".log"),
            "it does not say why: {reason}"
        );
        let mut other = server.connect(None)?;
        match other.query(&format!("INSERT INTO {DATABASE}.counts VALUES (5000)")) {
            Ok(Answer::Error { message, .. }) => {
                ensure!(message.contains("sync of "), "it does not say why: {message}")
            }
            answer => bail!("a commit after a failed sync: {answer:?}"),
        }
        ensure!(
            found(&mut other)? == acknowledged,
            "what was not acknowledged is visible"
        );
        server.kill()?;
        let server = setup.start()?;
        let after = found(&mut server.connect(None)?)?;
        ensure!(
            after == acknowledged || after == acknowledged + 1,
            "{after} rows, {acknowledged} acknowledged"
        );
    }
    println!("sync: commits stopped at once and said why; nothing acknowledged was lost");
    Ok(())
}

/// Runs this program again where it may mount a small file system of its own, and fills that.
pub fn full(arguments: &[String]) -> Result<()> {
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--"])
        .arg(std::env::current_exe()?)
        .args(arguments)
        .arg("full-inside")
        .status()
        .context("cannot run unshare")?;
    ensure!(status.success(), "the test of a full disk failed");
    Ok(())
}

/// On a disk of 260 MiB: clean errors when it is full, reads and deletes of other files go on, commits go on with space.
pub fn full_inside(setup: &Setup) -> Result<()> {
    let dir = &setup.dir;
    let _ = fs::remove_dir_all(dir);
    fs::create_dir_all(dir)?;
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=260m", "none"])
        .arg(dir)
        .status()?;
    ensure!(mounted.success(), "cannot mount a tmpfs");
    // What the test will give back when it wants space to return.
    let ballast = dir.join("ballast");
    fs::write(&ballast, vec![1; 70 << 20])?;
    let data = dir.join("data");
    fs::create_dir_all(&data)?;
    let setup = Setup {
        dir: data,
        ..setup.clone()
    };
    let server = setup.start()?;
    let mut client = server.connect(None)?;
    prepare(&mut client, ", filler VARCHAR(16000)")?;
    let filler = "x".repeat(15_000);
    let insert = |id: i64| format!("INSERT INTO {DATABASE}.counts VALUES ({id}, '{filler}')");
    let mut acknowledged = 0;
    let message = loop {
        ensure!(acknowledged < ROWS, "the disk was never full");
        match client.query(&insert(acknowledged + 1))? {
            Answer::Ok { .. } => acknowledged += 1,
            Answer::Error { message, .. } => break message,
            other => bail!("{other:?}"),
        }
    };
    ensure!(
        message.to_lowercase().contains("full"),
        "it does not say that the disk is full: {message}"
    );
    for _ in 0..50 {
        ensure!(
            matches!(client.query(&insert(acknowledged + 1))?, Answer::Error { .. }),
            "the disk is still full"
        );
    }
    ensure!(found(&mut client)? == acknowledged, "rows that were refused are there");
    // A crash on a full disk, too.
    server.kill()?;
    let server = setup.start().context("starting on a full disk")?;
    let mut client = server.connect(None)?;
    ensure!(
        found(&mut client)? == acknowledged,
        "rows are gone after a crash on a full disk"
    );
    ensure!(
        matches!(client.query(&insert(acknowledged + 1))?, Answer::Error { .. }),
        "the disk is still full"
    );

    fs::remove_file(&ballast)?;
    for id in acknowledged + 1..=acknowledged + 500 {
        execute(&mut client, &insert(id)).context("space has returned")?;
    }
    server.kill()?;
    let server = setup.start()?;
    let after = found(&mut server.connect(None)?)?;
    ensure!(
        after == acknowledged + 500,
        "{after} rows, {} acknowledged",
        acknowledged + 500
    );
    println!("full: a clean error after {acknowledged} rows, nothing lost, and commits went on with the space");
    Ok(())
}

/// Whether this system lets a user mount a tmpfs in a namespace.
pub fn can_mount() -> bool {
    let probe = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "--",
            "mount",
            "-t",
            "tmpfs",
            "none",
        ])
        .arg(Path::new("/tmp"))
        .status();
    probe.is_ok_and(|status| status.success())
}
