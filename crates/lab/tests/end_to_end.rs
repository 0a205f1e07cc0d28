//! The lab against real servers: a LatsDB named by `LAB_TEST_LATSDB`, and MariaDB where it is installed.
//!
//! They are not run without it; `cargo xtask test lab` builds the server and sets it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab::interrupt::Interrupt;
use lab::servers::{Server, find_program};
use lab_results::run::Load;
use lab_results::{Folder, Rung};

/// A folder of one test, removed at its end.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(test: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("lab-{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes the plan, with results in this folder, and gives its path.
    pub fn plan(&self, text: &str) -> String {
        let path = self.path("plan.toml");
        let head = format!(
            "name = \"run\"\nresults = {:?}\n",
            self.path("results").display().to_string()
        );
        fs::write(&path, head + text).unwrap();
        path.display().to_string()
    }

    fn results(&self) -> Folder {
        Folder::open(&self.path("results").join("run"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

pub fn latsdb() -> PathBuf {
    std::env::var_os("LAB_TEST_LATSDB")
        .map(PathBuf::from)
        .expect("LAB_TEST_LATSDB names the latsdb to test against")
}

pub fn lab(arguments: &[&str]) -> anyhow::Result<()> {
    let arguments = std::iter::once("lab").chain(arguments.iter().copied());
    lab::run(&lab::command().try_get_matches_from(arguments).unwrap())
}

pub fn rungs(folder: &Folder) -> Vec<Rung> {
    folder
        .rungs()
        .unwrap()
        .iter()
        .map(|rung| rung.rung().unwrap())
        .collect()
}

fn target(name: &str, address: &str) -> String {
    format!("[[target]]\nname = \"{name}\"\nhosts = [\"{address}\"]\nnodes = [\"here\"]\n")
}

pub const HERE: &str = "[[node]]\nname = \"here\"\nroles = [\"load\", \"sql\", \"data\"]\n[probes]\nbefore = false\n";

const WORKLOAD: &str = "[[workload]]\nname = \"rw\"\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\n";

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn a_plan_gives_rungs_in_fair_order_and_a_report() {
    let program = latsdb();
    let scratch = Scratch::new("plan");
    let interrupt = Interrupt::default();
    let mut servers = vec![Server::latsdb(&program, &scratch.path("a"), &interrupt).unwrap()];
    match find_program("mariadbd") {
        Some(mariadbd) => servers.push(Server::mariadb(&mariadbd, &scratch.path("b"), &interrupt).unwrap()),
        None => servers.push(Server::latsdb(&program, &scratch.path("b"), &interrupt).unwrap()),
    }
    let plan = scratch.plan(&format!(
        "{}{}{HERE}{WORKLOAD}[ladder]\nthreads_per_server = [1, 4]\nwarmup = \"200ms\"\nmeasure = \"1s\"\ncooldown = \"100ms\"\n\
         repeats = 2\nrepeats_max = 3\nspread = 0.0000001\n[slo]\nlatency = \"50ms\"\n",
        target("a", &servers[0].address),
        target("b", &servers[1].address),
    ));
    lab(&["run", &plan]).unwrap();

    let folder = scratch.results();
    let run = folder.run().unwrap();
    assert!(run.ended.is_some() && !run.interrupted);
    assert_eq!(run.targets.len(), 2);
    assert!(
        run.targets.iter().all(|target| target.versions.len() == 1),
        "{:?}",
        run.targets
    );
    let rungs = rungs(&folder);
    let order: String = rungs.iter().map(|rung| rung.target.as_str()).collect();
    // Two repeats, and one more since no two rungs are as alike as the plan wants them.
    assert_eq!(order, "abbabaababba");
    for rung in &rungs {
        assert_eq!(rung.void, None, "{} {}", rung.target, rung.index);
        assert!(rung.totals.transactions > 0);
        assert_eq!(rung.latency.count(), rung.totals.transactions);
        assert_eq!(
            rung.totals.queries,
            rung.statements.values().map(|totals| totals.count).sum::<u64>()
        );
        assert!(rung.verdict.is_some());
        assert!(rung.costs.contains_key("here"), "{:?}", rung.costs.keys());
    }
    for name in ["plan.toml", "report.html", "report.md", "summary.json"] {
        assert!(folder.path().join(name).exists(), "{name}");
    }
    // The same name again must not mix two series.
    let error = format!("{:#}", lab(&["run", &plan]).unwrap_err());
    assert!(error.contains("is there already"), "{error}");
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn a_target_that_dies_is_told_and_the_other_goes_on() {
    let program = latsdb();
    let scratch = Scratch::new("dies");
    let interrupt = Interrupt::default();
    let lives = Server::latsdb(&program, &scratch.path("lives"), &interrupt).unwrap();
    let dies = Server::latsdb(&program, &scratch.path("dies"), &interrupt).unwrap();
    let plan = scratch.plan(&format!(
        "{}{}{HERE}{WORKLOAD}[ladder]\nthreads_per_server = [1, 2, 4]\nwarmup = \"100ms\"\nmeasure = \"1s\"\ncooldown = \"0s\"\n\
         repeats = 2\n",
        target("lives", &lives.address),
        target("dies", &dies.address),
    ));
    let results = scratch.results();
    let killer = thread::spawn(move || {
        wait_until(|| !results.rungs().unwrap().is_empty());
        drop(dies);
    });
    lab(&["run", &plan]).unwrap();
    killer.join().unwrap();

    let folder = scratch.results();
    let run = folder.run().unwrap();
    assert!(
        run.not_run.iter().any(|not_run| not_run.what.contains("dies")),
        "{:?}",
        run.not_run
    );
    assert!(!run.events.is_empty());
    let good = rungs(&folder)
        .iter()
        .filter(|rung| rung.target == "lives" && rung.void.is_none())
        .count();
    assert_eq!(good, 6);
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn an_open_loop_holds_its_rate_and_the_search_finds_one() {
    let program = latsdb();
    let scratch = Scratch::new("open");
    let server = Server::latsdb(&program, &scratch.path("a"), &Interrupt::default()).unwrap();
    let workload = "[[workload]]\nname = \"ps\"\nkind = \"oltp_point_select\"\ntable_size = 1000\n";
    let plan = scratch.plan(&format!(
        "{}{HERE}{workload}[ladder]\nthreads_per_server = [4]\nwarmup = \"100ms\"\nmeasure = \"1s\"\ncooldown = \"0s\"\nrepeats = 1\n\
         [open_loop]\nrates = [200]\narrivals = \"even\"\nthreads_per_server = 8\n[slo]\nlatency = \"1s\"\nsearch = true\n\
         rate_max = 400\n",
        target("a", &server.address),
    ));
    lab(&["run", &plan]).unwrap();
    let folder = scratch.results();
    let rungs = rungs(&folder);
    let open = rungs
        .iter()
        .find(|rung| matches!(rung.load, Load::Open { rate_per_s: 200.0, .. }))
        .unwrap();
    let rate = open.totals.transactions as f64 / open.measured_s;
    assert!((rate - 200.0).abs() < 20.0, "{rate}");
    assert!(open.service_latency.is_some());
    let found = &folder.run().unwrap().slo_rates[0];
    assert_eq!(
        (found.rate_per_s, found.broken_at_per_s),
        (400.0, None),
        "a second is long"
    );
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn what_cannot_be_measured_is_refused_before_anything_is() {
    let scratch = Scratch::new("refused");
    let server = Server::latsdb(&latsdb(), &scratch.path("a"), &Interrupt::default()).unwrap();
    let ladder =
        |threads: u32| format!("[ladder]\nthreads_per_server = [{threads}]\nwarmup = \"100ms\"\nmeasure = \"1s\"\n");
    let refused = |text: &str| format!("{:#}", lab(&["run", &scratch.plan(text)]).unwrap_err());

    let closed = refused(&format!("{}{HERE}{WORKLOAD}{}", target("a", "127.0.0.1:1"), ladder(1)));
    assert!(
        closed.contains("nothing was measured") && closed.contains("127.0.0.1:1"),
        "{closed}"
    );

    // Somebody else's table of the same name stays as it is.
    let address = server.address.as_str();
    let theirs = lab_driver::Target {
        servers: vec![address.to_owned()],
        user: "root".to_owned(),
        password: lab_driver::target::Password::default(),
        database: String::new(),
        tls: lab_driver::Tls::default(),
    };
    let mut control = lab_driver::Control::connect_without_database(&theirs, address).unwrap();
    for sql in [
        "CREATE DATABASE IF NOT EXISTS sbtest",
        "CREATE TABLE sbtest.sbtest1 (id INT PRIMARY KEY)",
        "INSERT INTO sbtest.sbtest1 VALUES (1)",
    ] {
        control.query(sql).unwrap();
    }
    let other_rows = refused(&format!("{}{HERE}{WORKLOAD}{}", target("a", address), ladder(1)));
    assert!(other_rows.contains("--reload"), "{other_rows}");
    assert_eq!(
        control.value("SELECT COUNT(*) FROM sbtest.sbtest1").unwrap().as_deref(),
        Some("1")
    );
    assert!(!scratch.results().path().exists(), "the name is free for the next try");

    let plan = scratch.plan(&format!("{}{HERE}{WORKLOAD}{}", target("a", address), ladder(1)));
    lab(&["run", "--reload", &plan]).unwrap();
    assert_eq!(
        control.value("SELECT COUNT(*) FROM sbtest.sbtest1").unwrap().as_deref(),
        Some("1000")
    );
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn the_password_is_in_no_file() {
    const PASSWORD: &str = "correct-horse-battery";
    let scratch = Scratch::new("password");
    let server = Server::latsdb(&latsdb(), &scratch.path("a"), &Interrupt::default()).unwrap();
    let root = lab_driver::Target {
        servers: vec![server.address.clone()],
        user: "root".to_owned(),
        password: lab_driver::target::Password::default(),
        database: String::new(),
        tls: lab_driver::Tls::default(),
    };
    let mut control = lab_driver::Control::connect_without_database(&root, &server.address).unwrap();
    control
        .query(&format!(
            "CREATE USER bench@'%' IDENTIFIED WITH mysql_native_password BY '{PASSWORD}'"
        ))
        .unwrap();
    control.query("GRANT ALL ON *.* TO bench@'%'").unwrap();
    let secret = scratch.path("secret");
    fs::write(&secret, format!("{PASSWORD}\n")).unwrap();
    let mut workloads = WORKLOAD.to_owned();
    if find_program("sysbench").is_some() {
        workloads += "[[workload]]\nname = \"theirs\"\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 1000\ndriver = \"sysbench\"\n";
    }
    let plan = scratch.plan(&format!(
        "[[target]]\nname = \"a\"\nhosts = [\"{}\"]\nuser = \"bench\"\npassword_file = {:?}\nnodes = [\"here\"]\n{HERE}{workloads}\
         [ladder]\nthreads_per_server = [2]\nwarmup = \"0s\"\nmeasure = \"1s\"\nrepeats = 1\n",
        server.address,
        secret.display().to_string()
    ));
    lab(&["run", &plan]).unwrap();
    assert!(
        rungs(&scratch.results())
            .iter()
            .all(|rung| rung.totals.transactions > 0)
    );
    let mut folders = vec![scratch.results().path().to_owned()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                let text = fs::read(&path).unwrap();
                assert!(!String::from_utf8_lossy(&text).contains(PASSWORD), "{}", path.display());
            }
        }
    }
    assert!(files > 5);
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn a_server_that_hangs_ends_its_rung_and_is_told() {
    let scratch = Scratch::new("hangs");
    let server = Server::latsdb(&latsdb(), &scratch.path("a"), &Interrupt::default()).unwrap();
    let plan = scratch.plan(&format!(
        "{}{HERE}{WORKLOAD}[ladder]\nthreads_per_server = [2]\nwarmup = \"500ms\"\nmeasure = \"2s\"\nrepeats = 1\n",
        target("a", &server.address)
    ));
    let (results, pid) = (scratch.results(), server.pid);
    let stopper = thread::spawn(move || {
        // Its version is known when the tables are there and the rung begins.
        wait_until(|| results.run().is_ok_and(|run| !run.targets[0].versions.is_empty()));
        thread::sleep(Duration::from_millis(1000));
        signal("-STOP", pid);
    });
    let error = format!("{:#}", lab(&["run", &plan]).unwrap_err());
    stopper.join().unwrap();
    signal("-CONT", pid);
    assert!(error.contains("not one rung was measured to its end"), "{error}");
    let rung = &rungs(&scratch.results())[0];
    let void = rung.void.clone().unwrap_or_default();
    assert!(void.contains("hangs"), "{void}");
    assert!(scratch.results().path().join("report.html").exists());
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn tables_that_are_not_the_workloads_are_told_before_the_series() {
    let scratch = Scratch::new("schema");
    let server = Server::latsdb(&latsdb(), &scratch.path("a"), &Interrupt::default()).unwrap();
    let plan = scratch.plan(&format!(
        "{}{HERE}{WORKLOAD}[ladder]\nthreads_per_server = [1]\nwarmup = \"0s\"\nmeasure = \"1s\"\nrepeats = 1\n",
        target("a", &server.address)
    ));
    lab(&["run", &plan]).unwrap();
    fs::remove_dir_all(scratch.results().path()).unwrap();
    let root = lab_driver::Target {
        servers: vec![server.address.clone()],
        user: "root".to_owned(),
        password: lab_driver::target::Password::default(),
        database: "sbtest".to_owned(),
        tls: lab_driver::Tls::default(),
    };
    let mut control = lab_driver::Control::connect(&root, &server.address).unwrap();
    control.query("ALTER TABLE sbtest1 DROP COLUMN c").unwrap();
    let error = format!("{:#}", lab(&["run", &plan]).unwrap_err());
    assert!(
        error.contains("cannot be prepared") && error.contains("--reload"),
        "{error}"
    );
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn targets_are_measured_through_tls() {
    let scratch = Scratch::new("tls");
    let server = Server::latsdb(&latsdb(), &scratch.path("a"), &Interrupt::default()).unwrap();
    let root = lab_driver::Target {
        servers: vec![server.address.clone()],
        user: "root".to_owned(),
        password: lab_driver::target::Password::default(),
        database: String::new(),
        tls: lab_driver::Tls::default(),
    };
    let mut control = lab_driver::Control::connect_without_database(&root, &server.address).unwrap();
    // A first login with this plugin sends the password itself, through TLS.
    for sql in [
        "CREATE USER bench@'%' IDENTIFIED WITH caching_sha2_password BY 'geheim'",
        "GRANT ALL ON *.* TO bench@'%'",
    ] {
        control.query(sql).unwrap();
    }
    let secret = scratch.path("secret");
    fs::write(&secret, "geheim\n").unwrap();
    let plan = |mode: &str| {
        scratch.plan(&format!(
            "[[target]]\nname = \"a\"\nhosts = [\"{}\"]\nuser = \"bench\"\npassword_file = {:?}\ntls = \"{mode}\"\nnodes = \
             [\"here\"]\n{HERE}{WORKLOAD}idle_connections = 3\nidle_prepared = true\n[ladder]\nthreads_per_server = [2]\nwarmup = \
             \"0s\"\nmeasure = \"1s\"\nrepeats = 1\n[[profile]]\nname = \"ramp\"\nsteps = [{{ rate = 50, to = 150, for = \"1s\" }}, {{ \
             rate = 20, for = \"500ms\" }}]\narrivals = \"even\"\nthreads_per_server = 4\n",
            server.address,
            secret.display().to_string()
        ))
    };
    // The certificate that LatsDB made for itself is signed by nobody whom the system knows.
    let error = format!("{:#}", lab(&["run", &plan("verify_ca")]).unwrap_err());
    assert!(
        error.contains("nothing was measured") && error.contains("tls_ca"),
        "{error}"
    );

    lab(&["run", &plan("required")]).unwrap();
    let folder = scratch.results();
    let tls = folder.run().unwrap().targets[0].tls.clone().unwrap();
    assert_eq!(tls.mode, "required");
    assert!(
        tls.used.len() == 1 && tls.used[0].starts_with("TLSv1.3 TLS_"),
        "{:?}",
        tls.used
    );
    let rungs = rungs(&folder);
    assert_eq!(rungs.len(), 2);
    for rung in &rungs {
        assert_eq!(rung.void, None);
        let idle = rung.idle.as_ref().unwrap();
        assert_eq!((idle.opened, idle.kept), (3, 3));
        assert!(rung.totals.transactions > 0 && idle.prepared_statements > 5);
    }
    let phases = &rungs[1].phases;
    assert_eq!(phases.iter().map(|phase| phase.due).collect::<Vec<_>>(), [100, 10]);
    assert!((rungs[1].measured_s - 1.5).abs() < 0.01);
    assert!(
        fs::read_to_string(folder.path().join("report.md"))
            .unwrap()
            .contains("Rates that vary")
    );
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn idle_connections_count_in_what_a_server_must_take() {
    let Some(mariadbd) = find_program("mariadbd") else {
        eprintln!("MariaDB is not installed: nothing was tested");
        return;
    };
    let scratch = Scratch::new("idle");
    let server = Server::mariadb(&mariadbd, &scratch.path("b"), &Interrupt::default()).unwrap();
    let plan = scratch.plan(&format!(
        "{}{HERE}{WORKLOAD}idle_connections = 3000\n[ladder]\nthreads_per_server = [2]\nwarmup = \"0s\"\nmeasure = \"1s\"\n",
        target("b", &server.address)
    ));
    let error = format!("{:#}", lab(&["run", &plan]).unwrap_err());
    assert!(
        error.contains("takes 2000 connections, the series needs 3007"),
        "{error}"
    );
}

/// A LatsDB that the plan's own commands kill and start again.
struct Restartable {
    start: PathBuf,
    pid_file: PathBuf,
    address: String,
}

impl Restartable {
    fn new(program: &Path, scratch: &Scratch) -> Restartable {
        let [mysql, http] = [0, 1].map(|_| {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap().port()
        });
        let (start, pid_file) = (scratch.path("start.sh"), scratch.path("pid"));
        let script = format!(
            "#!/bin/sh\nsetsid {} serve --data-dir {} --mysql-addr 127.0.0.1:{mysql} --http-addr 127.0.0.1:{http} >>{} 2>&1 \
             </dev/null &\necho $! > {}\n",
            program.display(),
            scratch.path("data").display(),
            scratch.path("log").display(),
            pid_file.display()
        );
        fs::write(&start, script).unwrap();
        let restartable = Restartable {
            start,
            pid_file,
            address: format!("127.0.0.1:{mysql}"),
        };
        assert!(Command::new("sh").arg(&restartable.start).status().unwrap().success());
        wait_until(|| std::net::TcpStream::connect(&restartable.address).is_ok());
        restartable
    }
}

impl Drop for Restartable {
    fn drop(&mut self) {
        if let Ok(pid) = fs::read_to_string(&self.pid_file) {
            Command::new("kill").args(["-KILL", pid.trim()]).status().ok();
        }
    }
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn acknowledged_writes_survive_a_kill_and_the_gap_is_told() {
    let program = latsdb();
    let scratch = Scratch::new("kill");
    let server = Restartable::new(&program, &scratch);
    let plan = scratch.plan(&format!(
        "{}{HERE}{WORKLOAD}[availability]\nwriters = 3\nworkload = \"rw\"\nthreads_per_server = 2\nmeasure = \"9s\"\n\
         [[availability.fault]]\nat = \"2s\"\nkill = {:?}\nrestore = \"sh {}\"\nrestore_after = \"1s\"\n",
        target("a", &server.address),
        server.pid_file.display().to_string(),
        server.start.display()
    ));
    lab(&["availability", &plan]).unwrap();
    let found = &scratch.results().availability().unwrap()[0];
    assert!(found.data.holds(), "{:?}", found.data);
    assert!(found.data.acknowledged > 0);
    let fault = &found.faults[0];
    assert_eq!(fault.problems, Vec::<String>::new());
    let gap = fault.gap.as_ref().unwrap().us().unwrap();
    assert!((1_000_000..5_000_000).contains(&gap), "{gap} µs");
    assert!(!fault.errors.is_empty(), "somebody's connection was cut");
    let rung = &rungs(&scratch.results())[0];
    assert!(rung.totals.reconnects > 0, "the workload beside the writers lived on");
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn a_planted_loss_is_found() {
    let program = latsdb();
    let scratch = Scratch::new("loss");
    let server = Server::latsdb(&program, &scratch.path("a"), &Interrupt::default()).unwrap();
    let port = server.address.rsplit(':').next().unwrap();
    // The thief takes one row that was acknowledged a while ago.
    let plan = scratch.plan(&format!(
        "{}{HERE}[availability]\nwriters = 2\nmeasure = \"3s\"\n[[availability.fault]]\nat = \"2s\"\nname = \"a thief\"\ncommand = \
         \"MYSQL_PWD= {} sql -h 127.0.0.1 -P {port} -u root -D sbtest -e 'DELETE FROM lab_ledger WHERE id = 1'\"\n",
        target("a", &server.address),
        program.display()
    ));
    let error = format!("{:#}", lab(&["availability", &plan]).unwrap_err());
    assert!(error.contains("not what was acknowledged"), "{error}");
    let found = &scratch.results().availability().unwrap()[0];
    assert_eq!(found.faults[0].problems, Vec::<String>::new());
    assert_eq!(
        (found.data.lost, found.data.doubled, found.data.unexpected),
        (1, 0, 0),
        "{:?}",
        found.data
    );
}

/// The lab as a process: what `cargo test` builds beside this test.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/lab")
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").args([name, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn ctrl_c_keeps_what_was_measured_and_quick_leaves_nothing_running() {
    a_signal_keeps_what_was_measured("quick-int", "-INT", 130);
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn so_does_the_end_of_the_terminal() {
    a_signal_keeps_what_was_measured("quick-hup", "-HUP", 129);
}

fn a_signal_keeps_what_was_measured(name: &str, sent: &str, code: i32) {
    let program = latsdb();
    let scratch = Scratch::new(name);
    let results = scratch.path("results");
    // Whoever started the tests may ignore the signal (nohup does), and programs inherit that.
    let mut lab = Command::new("env")
        .arg("--default-signal=INT,TERM,HUP")
        .arg(example())
        .args(["quick", "--without-mariadb", "--seconds", "2", "--latsdb"])
        .arg(&program)
        .arg("--results")
        .arg(&results)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let folder = || {
        let mut entries = fs::read_dir(&results).ok()?.filter_map(Result::ok);
        let entry = entries.find(|entry| entry.file_name().to_string_lossy().starts_with("quick-"))?;
        Some(Folder::open(&entry.path()))
    };
    wait_until(|| folder().is_some_and(|folder| !folder.rungs().unwrap().is_empty()));
    signal(sent, lab.id());
    let status = lab.wait().unwrap();
    assert_eq!(status.code(), Some(code));
    let folder = folder().unwrap();
    let run = folder.run().unwrap();
    assert!(run.interrupted && run.ended.is_some());
    let rungs = rungs(&folder);
    assert!(rungs[0].void.is_none() && rungs.len() < 6, "{} rungs", rungs.len());
    assert!(folder.path().join("report.html").exists());
    // The server's address stands in the kept plan; nobody may answer there, and its data must be gone.
    let address = &run.targets[0].servers[0];
    assert!(
        std::net::TcpStream::connect(address).is_err(),
        "{address} still answers"
    );
    let left: Vec<_> = fs::read_dir(&results)
        .unwrap()
        .filter_map(|entry| Some(entry.ok()?.file_name()))
        .filter(|name| name.to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

pub fn wait_until(mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < end, "the condition did not come true in a minute");
        thread::sleep(Duration::from_millis(20));
    }
}
