//! Backups of running nodes, and what becomes of them.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::cluster::{Cluster, eventually, free_port, one, run};
use crate::support::{Running, SetsAtEnd, directory, fixture, rows, verify};

/// A `latsdb` command, in the directory in which its relative paths are.
fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latsdb"));
    command.args(arguments).env_clear().current_dir(dir);
    command
}

/// Output, errors and success of a command. It never panics.
fn latsdb(dir: &Path, arguments: &[&str]) -> (String, String, bool) {
    told(&command(dir, arguments).output().unwrap())
}

fn told(output: &Output) -> (String, String, bool) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(!errors.contains("panicked at"), "{errors}");
    (said, errors, output.status.success())
}

fn works(dir: &Path, arguments: &[&str]) -> String {
    let (said, errors, succeeded) = latsdb(dir, arguments);
    assert!(succeeded, "{arguments:?}: {said}{errors}");
    said
}

/// The error of a command that does not work.
fn fails(dir: &Path, arguments: &[&str]) -> String {
    let (said, errors, succeeded) = latsdb(dir, arguments);
    assert!(!succeeded, "{arguments:?}: {said}");
    errors
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// A moment by the node's clock, as text and in milliseconds.
fn moment(node: &Running) -> (String, u64) {
    let sql = "SELECT UTC_TIMESTAMP(3), CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED)";
    let row = node.rows(sql).remove(0);
    let (text, ms) = row.rsplit_once(' ').unwrap();
    (text.to_owned(), ms.parse().unwrap())
}

/// Commits that a session has made, each with the milliseconds before it was sent and after it was answered.
type Made = Vec<(u64, u64)>;

/// Inserts numbers from 0 on, one after the other.
fn count_up(node: &Running, session: usize, is_over: &AtomicBool) -> Made {
    let mut client = node.client();
    let mut made = Made::new();
    while !is_over.load(Ordering::Relaxed) {
        let before = now_ms();
        run(
            &mut client,
            &format!(
                "INSERT INTO test.numbers (session, n) VALUES ({session}, {})",
                made.len()
            ),
        );
        made.push((before, now_ms()));
    }
    made
}

/// What a restored node has of a session is what was committed up to a moment.
fn check_numbers(node: &Running, session: usize, made: &Made, at_ms: u64) {
    let counted = node.rows(&format!(
        "SELECT COUNT(*), COALESCE(MAX(n) + 1, 0) FROM test.numbers WHERE session = {session}"
    ));
    let (count, next) = counted[0].split_once(' ').unwrap();
    assert_eq!(count, next, "session {session}: one is missing");
    let count: usize = count.parse().unwrap();
    let at_least = made.iter().filter(|(_, after)| *after < at_ms).count();
    let at_most = made.iter().filter(|(before, _)| *before <= at_ms).count();
    assert!(
        (at_least..=at_most).contains(&count),
        "session {session}: {count}, and {at_least} to {at_most} were committed by then"
    );
}

const SETUP: &[&str] = &[
    "CREATE TABLE test.numbers (id INT PRIMARY KEY AUTO_INCREMENT, session INT, n INT, KEY (session, n))",
    "CREATE TABLE test.large (id INT PRIMARY KEY, round INT)",
    "CREATE TABLE test.changing (id INT PRIMARY KEY)",
    "INSERT INTO test.changing VALUES (1), (2)",
    "CREATE USER ann@localhost IDENTIFIED BY 'one'",
    "GRANT SELECT ON test.* TO ann@localhost",
    "SET PERSIST max_error_count = 77",
];
/// Enough for several chunks in the log.
const LARGE: usize = 10_000;

/// A statement that writes every row of the large table.
fn large(round: u32) -> String {
    let rows: Vec<String> = (0..LARGE).map(|id| format!("({id},{round})")).collect();
    format!("REPLACE INTO test.large VALUES {}", rows.join(","))
}

#[test]
fn a_node_is_restored_to_any_moment_between() {
    let data = directory("backup-moment");
    let dir = data.parent().unwrap();
    let node = Running::start(&data);
    let mut client = node.client();
    SETUP.iter().for_each(|sql| run(&mut client, sql));
    run(&mut client, &large(0));
    let is_over = AtomicBool::new(false);
    let (made, moments, next_id) = std::thread::scope(|scope| {
        let (node, is_over) = (&node, &is_over);
        let end = SetsAtEnd(is_over);
        let sessions: Vec<_> = (0..2)
            .map(|session| scope.spawn(move || count_up(node, session, is_over)))
            .collect();
        // One large transaction after the other, and definitions that change.
        scope.spawn(move || {
            let mut client = node.client();
            let mut round = 1;
            while !is_over.load(Ordering::Relaxed) {
                run(&mut client, &large(round));
                round += 1;
            }
        });
        scope.spawn(move || {
            let mut client = node.client();
            while !is_over.load(Ordering::Relaxed) {
                run(&mut client, "ALTER TABLE test.changing ADD COLUMN b INT DEFAULT 7");
                run(&mut client, "ALTER TABLE test.changing DROP COLUMN b, ADD INDEX (id)");
                run(&mut client, "ALTER TABLE test.changing DROP INDEX id");
            }
        });
        let pause = || std::thread::sleep(Duration::from_millis(700));
        pause();
        let said = works(dir, &["backup", "--from", &node.http, "--to", "kept"]);
        assert!(said.contains("full-") && said.contains(" rows"), "{said}");
        let mut moments = Vec::new();
        for round in 0..3 {
            pause();
            moments.push(moment(node));
            run(&mut client, &format!("CREATE USER u{round}@localhost"));
            pause();
            works(dir, &["backup", "--from", &node.http, "--log", "--to", "kept"]);
        }
        drop(end);
        let made: Vec<Made> = sessions.into_iter().map(|session| session.join().unwrap()).collect();
        let next_id: u64 = made.iter().map(|made| made.len() as u64).sum::<u64>() + 1;
        (made, moments, next_id)
    });
    let said = works(dir, &["backup", "--verify", "kept"]);
    assert!(said.contains("every moment from"), "{said}");
    for entry in std::fs::read_dir(dir.join("kept")).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(
            entry.metadata().unwrap().permissions().mode() & 0o777,
            0o600,
            "{entry:?}"
        );
    }
    assert_eq!(
        std::fs::metadata(dir.join("kept")).unwrap().permissions().mode() & 0o777,
        0o700
    );

    for (round, (text, ms)) in moments.iter().enumerate() {
        let new = format!("new-{round}");
        works(dir, &["restore", "--from", "kept", "--data-dir", &new, "--until", text]);
        let (report, is_sound) = verify(&dir.join(&new));
        assert!(is_sound, "{report}");
        let restored = Running::start(&dir.join(&new));
        for (session, made) in made.iter().enumerate() {
            check_numbers(&restored, session, made, *ms);
        }
        let large = restored.rows("SELECT COUNT(*), COUNT(DISTINCT round) FROM test.large");
        assert_eq!(large, [format!("{LARGE} 1")], "a large transaction is there whole");
        let users = "SELECT COUNT(*) FROM mysql.user WHERE user REGEXP '^u[0-9]'";
        assert_eq!(restored.rows(users), [round.to_string()]);
        assert_eq!(restored.rows("SELECT @@GLOBAL.max_error_count"), ["77"]);
        assert_eq!(restored.rows("SELECT id FROM test.changing ORDER BY id"), ["1", "2"]);
        let grants = restored.rows("SHOW GRANTS FOR ann@localhost").join(";");
        assert!(grants.contains("GRANT SELECT ON `test`.*"), "{grants}");
        // An id that was given is not given again.
        let mut client = restored.client();
        let before = one(&mut client, "SELECT MAX(id) FROM test.numbers")
            .parse::<u64>()
            .unwrap();
        run(&mut client, "INSERT INTO test.numbers (session, n) VALUES (9, 9)");
        assert!(one(&mut client, "SELECT LAST_INSERT_ID()").parse::<u64>().unwrap() > before);
        restored.stop();
    }
    // All of it.
    works(dir, &["restore", "--from", "kept", "--data-dir", "whole"]);
    let restored = Running::start(&dir.join("whole"));
    let (ids, users) = (
        "SELECT MAX(id) + 1 <= ",
        "SELECT COUNT(*) FROM mysql.user WHERE user REGEXP '^u[0-9]'",
    );
    assert_eq!(restored.rows(&format!("{ids}{next_id} FROM test.numbers")), ["1"]);
    assert_eq!(restored.rows(users), ["3"]);
    restored.stop();

    // What cannot be had is refused.
    let restore = |arguments: &[&str]| {
        fails(
            dir,
            &[&["restore", "--from", "kept", "--data-dir", "none"], arguments].concat(),
        )
    };
    let early = restore(&["--until", "2001-02-03 04:05:06"]);
    assert!(early.contains("the oldest full backup is of"), "{early}");
    let late = restore(&["--until", "2399-01-01"]);
    assert!(late.contains("nothing is known of what was committed later"), "{late}");
    assert!(restore(&["--until-position", "99999999"]).contains("the backup ends at"));
    assert!(restore(&["--until", "yesterday"]).contains("is not a moment"));
    let taken = fails(dir, &["restore", "--from", "kept", "--data-dir", "whole"]);
    assert!(taken.contains("is not empty"), "{taken}");
    assert!(!dir.join("none").exists() && !dir.join("none.restoring").exists());

    // A file that is missing, and one that is damaged.
    let mut files: Vec<_> = std::fs::read_dir(dir.join("kept"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let logs: Vec<_> = files
        .iter()
        .filter(|path| path.to_string_lossy().contains("log-"))
        .collect();
    let aside = dir.join("aside");
    std::fs::rename(logs[1], &aside).unwrap();
    let gap = restore(&[]);
    assert!(gap.contains("are missing, and behind them there is more"), "{gap}");
    let said = works(dir, &["backup", "--verify", "kept"]);
    assert!(said.contains("are missing"), "{said}");
    std::fs::rename(&aside, logs[1]).unwrap();
    let mut bytes = std::fs::read(logs[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(logs[1], &bytes).unwrap();
    let (said, errors, succeeded) = latsdb(dir, &["backup", "--verify", "kept"]);
    assert!(!succeeded && errors.contains("1 problems"), "{said}{errors}");
    let name = logs[1].file_name().unwrap().to_string_lossy().into_owned();
    assert!(said.contains(&format!("{name}: damaged: at byte")), "{said}");
    assert!(restore(&[]).contains("damaged"));
    assert!(!dir.join("none").exists());
}

#[test]
fn what_is_not_finished_is_no_backup_and_can_be_gone_on_with() {
    let data = directory("backup-unfinished");
    let dir = data.parent().unwrap();
    let mut node = Running::start(&data);
    let mut client = node.client();
    SETUP.iter().for_each(|sql| run(&mut client, sql));
    run(
        &mut client,
        "CREATE TABLE test.wide (id INT PRIMARY KEY, filling VARBINARY(2000))",
    );
    for batch in 0..10 {
        let values: Vec<String> = (0..1000)
            .map(|row| format!("({}, REPEAT(CHAR({}), 1500))", batch * 1000 + row, 65 + row % 26))
            .collect();
        run(
            &mut client,
            &format!("INSERT INTO test.wide VALUES {}", values.join(",")),
        );
    }
    let http = node.http.clone();
    let slow = |to: &str| command(dir, &["backup", "--from", &http, "--to", to, "--rate", "1MiB"]);
    let partial = dir.join("kept/full.partial");
    let has_come = || match std::fs::metadata(&partial).map_or(0, |found| found.len()) {
        length if length > 2 << 20 => Ok(()),
        length => Err(format!("{length} bytes")),
    };
    // Killed.
    let mut drawn = slow("kept").spawn().unwrap();
    eventually("some of a backup", has_come);
    drawn.kill().unwrap();
    drawn.wait().unwrap();
    let (said, errors, succeeded) = latsdb(dir, &["backup", "--verify", "kept"]);
    assert!(
        !succeeded && said.contains("not finished, and no backup"),
        "{said}{errors}"
    );
    assert!(said.contains("there is no full backup"), "{said}");
    assert!(fails(dir, &["restore", "--from", "kept", "--data-dir", "none"]).contains("there is no full backup"));
    assert!(fails(dir, &["backup", "--from", &http, "--log", "--to", "kept"]).contains("first take a full one"));
    let before = std::fs::metadata(&partial).unwrap().len();
    // One at a time; and the node stops meanwhile.
    let mut drawn = slow("kept");
    let drawn = drawn.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("the second one", || {
        let owner = std::fs::read_to_string(dir.join("kept/LOCK")).unwrap_or_default();
        match owner.trim() == drawn.id().to_string() {
            true => Ok(()),
            false => Err(owner),
        }
    });
    let errors = fails(dir, &["backup", "--from", &http, "--to", "kept"]);
    assert!(errors.contains("another backup writes to"), "{errors}");
    eventually("more of the backup", || {
        match std::fs::metadata(&partial).unwrap().len() {
            length if length > before => Ok(()),
            length => Err(format!("{length} bytes")),
        }
    });
    node.child.kill().unwrap();
    node.child.wait().unwrap();
    let (_, errors, succeeded) = told(&drawn.wait_with_output().unwrap());
    assert!(!succeeded, "{errors}");
    assert!(
        errors.contains("going on with") && errors.contains("there is no backup. What has come is in"),
        "{errors}"
    );
    assert!(errors.contains("no answer from a node at"), "{errors}");
    // It comes back with the same checkpoint, and the backup goes on.
    let node = Running::start(&data);
    let (said, errors, succeeded) = latsdb(dir, &["backup", "--from", &node.http, "--to", "kept", "--rate", "0"]);
    assert!(succeeded && errors.contains("going on with"), "{said}{errors}");
    assert!(!partial.exists());
    works(dir, &["backup", "--verify", "kept"]);

    // Through a pipe; broken, full, and whole.
    let mut drawn = command(dir, &["backup", "--from", &node.http, "--to", "-"]);
    let mut drawn = drawn.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 1000];
    let mut pipe = drawn.stdout.take().unwrap();
    pipe.read_exact(&mut some).unwrap();
    drop(pipe);
    let (_, errors, succeeded) = told(&drawn.wait_with_output().unwrap());
    assert!(!succeeded && errors.contains("there is no backup"), "{errors}");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut drawn = command(dir, &["backup", "--from", &node.http, "--to", "-"]);
    let (_, errors, succeeded) = told(&drawn.stdout(full).stderr(Stdio::piped()).output().unwrap());
    assert!(!succeeded && errors.contains("No space left on device"), "{errors}");
    let mut drawn = command(dir, &["backup", "--from", &node.http, "--to", "-"]);
    let mut drawn = drawn.stdout(Stdio::piped()).spawn().unwrap();
    let mut restore = command(
        dir,
        &["restore", "--from", "-", "--data-dir", "piped", "--node-id", "3"],
    );
    let restored = told(&restore.stdin(drawn.stdout.take().unwrap()).output().unwrap());
    assert!(drawn.wait().unwrap().success());
    assert!(restored.2, "{restored:?}");
    let cut = std::fs::read(
        std::fs::read_dir(dir.join("kept"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.extension().is_some_and(|end| end == "backup"))
            .unwrap(),
    )
    .unwrap();
    std::fs::write(dir.join("cut"), &cut[..cut.len() - 1]).unwrap();
    let mut restore = command(dir, &["restore", "--from", "-", "--data-dir", "none"]);
    let cut = std::fs::File::open(dir.join("cut")).unwrap();
    let (_, errors, succeeded) = told(&restore.stdin(cut).output().unwrap());
    assert!(!succeeded && errors.contains("the backup is cut off"), "{errors}");
    assert!(!dir.join("none").exists());
    let piped = Running::start_with(&dir.join("piped"), &["--node-id", "3"]);
    assert_eq!(
        piped.rows("SELECT COUNT(*), SUM(LENGTH(filling)) FROM test.wide"),
        ["10000 15000000"]
    );

    // Of another cluster; and into a directory that others can read.
    let errors = fails(dir, &["backup", "--from", &piped.http, "--to", "kept"]);
    assert!(errors.contains("has backups of another cluster"), "{errors}");
    let errors = fails(dir, &["backup", "--from", &piped.http, "--log", "--to", "kept"]);
    assert!(errors.contains("of another cluster"), "{errors}");
    std::fs::create_dir(dir.join("open")).unwrap();
    std::fs::set_permissions(dir.join("open"), std::fs::Permissions::from_mode(0o750)).unwrap();
    let errors = fails(dir, &["backup", "--from", &piped.http, "--to", "open"]);
    assert!(errors.contains("chmod go= open"), "{errors}");

    // Who may: the user who runs the node, and accounts with the privilege.
    let mut client = piped.client();
    run(
        &mut client,
        "CREATE USER keeper@localhost IDENTIFIED BY 'k', other@localhost IDENTIFIED BY 'o'",
    );
    run(&mut client, "GRANT BACKUP_ADMIN ON *.* TO keeper@localhost");
    run(&mut client, "GRANT PROCESS, SELECT ON *.* TO other@localhost");
    let as_user = |user: &str, password: &str| {
        let mut drawn = command(dir, &["backup", "--from", &piped.http, "--user", user, "--to", "-"]);
        told(&drawn.env("MYSQL_PWD", password).output().unwrap())
    };
    assert!(as_user("keeper", "k").2);
    let (said, errors, succeeded) = as_user("other", "o");
    assert!(
        !succeeded && said.is_empty() && errors.contains("BACKUP_ADMIN"),
        "{errors}"
    );
    assert!(!as_user("keeper", "wrong").2);
}

#[test]
fn a_cluster_is_backed_up_by_any_node_and_restored_as_another_cluster() {
    let mut cluster = Cluster::start("backup-cluster");
    let dir = cluster.dir.to_path_buf();
    let leader = cluster.leader();
    let mut client = cluster.client(leader);
    SETUP.iter().for_each(|sql| run(&mut client, sql));
    run(&mut client, "INSERT INTO test.numbers (session, n) VALUES (1, 0)");
    // A follower gives what was acknowledged before it was asked.
    let follower = cluster.follower();
    works(
        &dir,
        &["backup", "--from", &cluster.node(follower).http, "--to", "kept"],
    );
    // The log is followed by one node, which is lost; another one goes on with it.
    run(&mut client, "INSERT INTO test.numbers (session, n) VALUES (1, 1)");
    let mut follow = command(
        &dir,
        &[
            "backup",
            "--from",
            &cluster.node(leader).http,
            "--log",
            "--follow",
            "--to",
            "kept",
        ],
    );
    let follow = follow.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("entries", || match std::fs::metadata(dir.join("kept/log.partial")) {
        Ok(found) if found.len() > 200 => Ok(()),
        other => Err(format!("{other:?}")),
    });
    cluster.kill(leader);
    let (_, errors, succeeded) = told(&follow.wait_with_output().unwrap());
    assert!(!succeeded && errors.contains("no answer from a node"), "{errors}");
    let other = cluster.leader();
    run(
        &mut cluster.client(other),
        "INSERT INTO test.numbers (session, n) VALUES (1, 2)",
    );
    works(
        &dir,
        &["backup", "--from", &cluster.node(other).http, "--log", "--to", "kept"],
    );
    // Followed until it is told to stop.
    let mut follow = command(
        &dir,
        &[
            "backup",
            "--from",
            &cluster.node(other).http,
            "--log",
            "--follow",
            "--to",
            "kept",
        ],
    );
    let follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    run(
        &mut cluster.client(other),
        "INSERT INTO test.numbers (session, n) VALUES (1, 3)",
    );
    eventually("entries", || match std::fs::metadata(dir.join("kept/log.partial")) {
        Ok(found) if found.len() > 200 => Ok(()),
        other => Err(format!("{other:?}")),
    });
    let told_to_stop = Command::new("kill").arg(follow.id().to_string()).status().unwrap();
    assert!(told_to_stop.success());
    let (said, _, succeeded) = told(&follow.wait_with_output().unwrap());
    assert!(succeeded && said.contains("log entries more"), "{said}");
    works(&dir, &["backup", "--verify", "kept"]);

    works(&dir, &["restore", "--from", "kept", "--data-dir", "new"]);
    let peers: Vec<String> = (0..2).map(|_| format!("127.0.0.1:{}", free_port())).collect();
    let small = ["--memory-limit", "256MiB"];
    let flags = |node: &'static str, own: usize| {
        let mut flags = vec!["--node-id", node, "--peer-addr", &peers[own]];
        flags.extend(small);
        flags
    };
    let first = Running::start_with(&dir.join("new"), &flags("1", 0));
    let numbers = "SELECT GROUP_CONCAT(n ORDER BY n) FROM test.numbers";
    assert_eq!(first.rows(numbers), ["0,1,2,3"]);
    // Others join it as they join any cluster.
    let mut joins = flags("2", 1);
    joins.extend(["--join", &peers[0]]);
    let second = Running::start_with(&dir.join("new-2"), &joins);
    eventually("two voters", || {
        let dense: String = first.get("/status").split_whitespace().collect();
        dense.contains("\"voters\":[1,2]").then_some(()).ok_or(dense)
    });
    assert_eq!(second.rows(numbers), ["0,1,2,3"]);
    run(
        &mut second.client(),
        "INSERT INTO test.numbers (session, n) VALUES (1, 4)",
    );
    assert_eq!(first.rows(numbers), ["0,1,2,3,4"]);
    // The old cluster knows nothing of it, and goes on.
    assert_eq!(rows(&mut cluster.client(other), numbers), ["0,1,2,3"]);
    let ids = |data: &Path| std::fs::read(data.join("identity")).unwrap()[16..32].to_vec();
    assert_ne!(ids(&dir.join("new")), ids(&dir.join(format!("node-{other}"))));
}

#[test]
fn a_log_that_is_gone_is_named_and_nothing_follows_it() {
    let data = directory("backup-gone");
    let dir = data.parent().unwrap();
    let node = Running::start_with(&data, &["--log-keep", "0"]);
    SETUP.iter().for_each(|sql| run(&mut node.client(), sql));
    works(dir, &["backup", "--from", &node.http, "--to", "kept"]);
    run(
        &mut node.client(),
        "INSERT INTO test.numbers (session, n) VALUES (1, 1)",
    );
    works(dir, &["backup", "--from", &node.http, "--log", "--to", "kept"]);
    run(
        &mut node.client(),
        "INSERT INTO test.numbers (session, n) VALUES (1, 2)",
    );
    // Another checkpoint takes the log away.
    works(dir, &["backup", "--from", &node.http, "--to", "other"]);
    let errors = fails(dir, &["backup", "--from", &node.http, "--log", "--to", "kept"]);
    assert!(
        errors.contains("is gone from node 1") && errors.contains("--log-keep"),
        "{errors}"
    );
    // A full one into the same directory begins anew.
    works(dir, &["backup", "--from", &node.http, "--to", "kept"]);
    works(dir, &["backup", "--from", &node.http, "--log", "--to", "kept"]);
    works(dir, &["restore", "--from", "kept", "--data-dir", "new"]);
    let restored = Running::start(&dir.join("new"));
    assert_eq!(restored.rows("SELECT COUNT(*) FROM test.numbers"), ["2"]);
    let status = node.get("/status");
    let dense: String = status.split_whitespace().collect();
    assert!(dense.contains("\"log_keep_bytes\":0"), "{status}");
}

/// An authority's files, and those of a certificate of it, in a directory: as flags.
fn certificates(dir: &Path) -> Vec<String> {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
    std::fs::create_dir_all(dir).unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let file = |name: &str, text: String| {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path.to_string_lossy().into_owned()
    };
    let files = [
        ("--peer-tls-ca", file("ca.pem", authority.pem())),
        ("--peer-tls-cert", file("cert.pem", certificate.pem())),
        ("--peer-tls-key", file("key.pem", key.serialize_pem())),
    ];
    files
        .into_iter()
        .flat_map(|(flag, path)| [flag.to_owned(), path])
        .collect()
}

#[test]
fn by_the_nodes_way_backups_are_for_those_with_a_certificate() {
    let data = directory("backup-peer");
    let dir = data.parent().unwrap();
    let (own, others) = (certificates(&dir.join("own")), certificates(&dir.join("others")));
    let text = |flags: &'static [&'static str], more: &[String]| -> Vec<String> {
        flags
            .iter()
            .map(|flag| (*flag).to_owned())
            .chain(more.iter().cloned())
            .collect()
    };
    let peer = format!("127.0.0.1:{}", free_port());
    let mut flags = text(&["--peer-addr"], std::slice::from_ref(&peer));
    flags.extend(own.iter().cloned());
    let node = Running::start_with(&data, &flags.iter().map(String::as_str).collect::<Vec<_>>());
    let mut client = node.client();
    // Longer than what goes into one call between nodes; in the checkpoint, and in the log.
    run(
        &mut client,
        "CREATE TABLE test.long (id INT PRIMARY KEY, filling LONGBLOB)",
    );
    run(&mut client, "INSERT INTO test.long VALUES (1, REPEAT('a', 7000000))");
    let draw = |more: &[&str], certificate: &[String]| {
        let mut arguments = text(&["backup", "--from-peer"], std::slice::from_ref(&peer));
        arguments.extend(more.iter().map(|flag| (*flag).to_owned()));
        arguments.extend(certificate.iter().cloned());
        latsdb(dir, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (said, errors, succeeded) = draw(&["--to", "kept"], &own);
    assert!(succeeded, "{said}{errors}");
    run(&mut client, "INSERT INTO test.long VALUES (2, REPEAT('b', 9000000))");
    let (said, errors, succeeded) = draw(&["--to", "kept", "--log"], &own);
    assert!(succeeded, "{said}{errors}");
    works(dir, &["restore", "--from", "kept", "--data-dir", "new"]);
    let restored = Running::start(&dir.join("new"));
    assert_eq!(
        restored.rows("SELECT SUM(LENGTH(filling)) FROM test.long"),
        ["16000000"]
    );
    for certificate in [&others[..], &[]] {
        let (said, errors, succeeded) = draw(&["--to", "none"], certificate);
        assert!(
            !succeeded && errors.contains("no answer from a node at"),
            "{said}{errors}"
        );
    }
}

#[test]
fn a_backup_of_an_earlier_version_is_restored() {
    let kept = fixture("backup");
    let dir = kept.parent().unwrap();
    let said = works(dir, &["backup", "--verify", "data"]);
    assert!(said.contains("every moment from 2026-11-24 14:43:25.323 to"), "{said}");
    for (position, rows) in [("10", "x,y"), ("13", "x,y,z")] {
        let new = format!("new-{position}");
        works(
            dir,
            &[
                "restore",
                "--from",
                "data",
                "--data-dir",
                &new,
                "--until-position",
                position,
            ],
        );
        let node = Running::start(&dir.join(&new));
        assert_eq!(node.rows("SELECT GROUP_CONCAT(b ORDER BY a) FROM test.t"), [rows]);
        assert_eq!(node.rows("SELECT @@GLOBAL.max_error_count"), ["77"]);
    }
}
