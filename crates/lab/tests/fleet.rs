//! A series whose load comes from several nodes, each agent a process of its own: one here, one over `ssh` (a stand-in that runs the
//! command on this machine), one over TCP. Against a LatsDB named by `LAB_TEST_LATSDB`; `cargo xtask test lab` builds it and sets that.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use lab::interrupt::Interrupt;
use lab::servers::{Server, find_program};
use lab_results::{Folder, Rung};

const PASSWORD: &str = "correct-horse-battery";
const TOKEN: &str = "sixteen characters and more";

/// Notes its arguments and its process id, which becomes the agent's, and forgets the password that it inherited.
const SSH: &str = r#"#!/bin/sh
unset LAB_TEST_PASSWORD
echo "$*" >> "$0.log"
echo $$ > "$0.pid"
while [ "$1" != "--" ]; do shift; done
exec $3
"#;

/// A folder with a server, the stand-in for ssh, and what a test writes; all gone at its end.
struct Scratch {
    folder: PathBuf,
    server: Server,
}

impl Scratch {
    fn new(test: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("lab-fleet-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("ssh"), SSH).unwrap();
        fs::set_permissions(folder.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
        let program = std::env::var_os("LAB_TEST_LATSDB").expect("LAB_TEST_LATSDB names the latsdb to test against");
        let server = Server::latsdb(Path::new(&program), &folder.join("data"), &Interrupt::default()).unwrap();
        let root = lab_driver::Target {
            servers: vec![server.address.clone()],
            user: "root".to_owned(),
            password: lab_driver::Password::default(),
            database: String::new(),
            tls: lab_driver::Tls::default(),
        };
        let mut control = lab_driver::Control::connect_without_database(&root, &server.address).unwrap();
        let create = format!("CREATE USER bench@'%' IDENTIFIED WITH mysql_native_password BY '{PASSWORD}'");
        control.query(&create).unwrap();
        control.query("GRANT ALL ON *.* TO bench@'%'").unwrap();
        Scratch { folder, server }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn results(&self) -> Folder {
        Folder::open(&self.path("results").join("run"))
    }

    fn rungs(&self) -> Vec<Rung> {
        let rungs = self.results().rungs().unwrap();
        rungs.iter().map(|rung| rung.rung().unwrap()).collect()
    }

    /// Nodes `here`, `far` (over ssh) and `tcp`; nobody watches them, so that no rung is void for this machine's sake.
    fn plan(&self, agent: &str, target: &str, rest: &str) -> PathBuf {
        let text = format!(
            "name = \"run\"\nresults = {:?}\n[[target]]\nname = \"a\"\nuser = \"bench\"\npassword_env = \"LAB_TEST_PASSWORD\"\nnodes = \
             [\"here\"]\n{target}\n[[node]]\nname = \"here\"\nroles = [\"load\", \"sql\"]\n[[node]]\nname = \"far\"\nroles = [\"load\"]\n\
             ssh = \"user@far\"\nagent_command = \"{} agent --stdio\"\n[[node]]\nname = \"tcp\"\nroles = [\"load\"]\nagent = \
             \"{agent}\"\n[probes]\nbefore = false\nwatch = false\n[[workload]]\nname = \"rw\"\nkind = \"oltp_read_write\"\n\
             table_size = 1000\n{rest}",
            self.path("results").display().to_string(),
            example().display(),
        );
        let path = self.path("plan.toml");
        fs::write(&path, text).unwrap();
        path
    }

    fn hosts(&self) -> String {
        format!("hosts = [\"{}\"]", self.server.address)
    }

    fn lab(&self, plan: &Path) -> Command {
        let mut lab = Command::new(example());
        let path = format!("{}:{}", self.folder.display(), std::env::var("PATH").unwrap());
        lab.args(["run".as_ref(), plan.as_os_str()])
            .env("PATH", path)
            .env("LAB_AGENT_TOKEN", TOKEN)
            .env("LAB_TEST_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        lab
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// The lab as a process: what `cargo test` builds beside this test.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().parent().unwrap().join("examples/lab")
}

/// An agent that listens; killed at its end.
struct Agent {
    process: Child,
    address: String,
}

impl Agent {
    fn start(address: &str, password: Option<&str>) -> Agent {
        let mut agent = Command::new(example());
        agent
            .args(["agent", "--listen", address])
            .env("LAB_AGENT_TOKEN", TOKEN)
            .env_remove("LAB_TEST_PASSWORD")
            .stderr(Stdio::piped());
        if let Some(password) = password {
            agent.env("LAB_TEST_PASSWORD", password);
        }
        let mut process = agent.spawn().unwrap();
        let mut said = String::new();
        BufReader::new(process.stderr.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        let address = said
            .trim()
            .strip_prefix("listening on ")
            .expect("it says where")
            .to_owned();
        Agent { process, address }
    }

    fn kill(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.kill();
    }
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < end, "the condition did not come true in a minute");
        thread::sleep(Duration::from_millis(20));
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn three_nodes_carry_a_series_and_no_password_lies_about() {
    let scratch = Scratch::new("series");
    let agent = Agent::start("127.0.0.1:0", Some(PASSWORD));
    let sysbench = match find_program("sysbench") {
        Some(_) => {
            "[[workload]]\nname = \"theirs\"\nkind = \"oltp_read_write\"\ntable_size = 1000\ndriver = \"sysbench\"\n"
        }
        None => "",
    };
    let ladder = "[ladder]\nthreads_per_server = [1, 7]\nwarmup = \"300ms\"\nmeasure = \"2s\"\ncooldown = \"0s\"\nrepeats = 1\n\
                  [open_loop]\nrates = [60]\nthreads_per_server = 6\n";
    let plan = scratch.plan(&agent.address, &scratch.hosts(), &format!("{sysbench}{ladder}"));
    let output = scratch.lab(&plan).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));

    let rungs = scratch.rungs();
    assert_eq!(rungs.len(), if sysbench.is_empty() { 3 } else { 6 });
    for rung in &rungs {
        assert_eq!(rung.void, None);
        let shares = &rung.load_shares;
        let threads: Vec<(&str, u32)> = shares
            .iter()
            .map(|share| (share.node.as_str(), share.threads))
            .collect();
        match rung.load.threads_total() {
            1 => assert_eq!(threads, [("here", 1)]),
            7 => assert_eq!(threads, [("here", 3), ("far", 2), ("tcp", 2)]),
            _ => assert_eq!(threads, [("here", 2), ("far", 2), ("tcp", 2)]),
        }
        assert!(
            shares.iter().all(|share| share.transactions > 0 && share.cpu_s > 0.0),
            "{shares:?}"
        );
        let sum: u64 = shares.iter().map(|share| share.transactions).sum();
        assert_eq!((sum, rung.latency.count()), (rung.totals.transactions, sum));
    }
    let open = rungs.iter().find(|rung| rung.service_latency.is_some()).unwrap();
    assert!(
        (open.totals.transactions + open.totals.backlog).abs_diff(120) < 60,
        "Poisson's 120"
    );
    let report = fs::read_to_string(scratch.results().path().join("report.md")).unwrap();
    assert!(report.contains("some of it on the servers' machines"), "{report}");

    let mut folders = vec![scratch.results().path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => assert!(
                    !String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(PASSWORD),
                    "{path:?}"
                ),
            }
        }
    }
    let ssh = fs::read_to_string(scratch.path("ssh.log")).unwrap();
    assert!(ssh.contains("user@far") && !ssh.contains(PASSWORD), "{ssh}");
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn an_agent_that_is_killed_voids_its_rung_and_the_next_goes_on_with_another() {
    let scratch = Scratch::new("killed");
    let mut agent = Agent::start("127.0.0.1:0", Some(PASSWORD));
    let address = agent.address.clone();
    let ladder =
        "[ladder]\nthreads_per_server = [6]\nwarmup = \"0s\"\nmeasure = \"3s\"\ncooldown = \"0s\"\nrepeats = 4\n";
    let plan = scratch.plan(&address, &scratch.hosts(), ladder);
    let mut lab = scratch.lab(&plan).spawn().unwrap();
    wait_until(|| scratch.results().rungs().is_ok_and(|rungs| !rungs.is_empty()));
    thread::sleep(Duration::from_millis(1500));
    agent.kill();
    wait_until(|| scratch.results().rungs().unwrap().len() == 2);
    let agent = Agent::start(&address, Some(PASSWORD));
    let status = lab.wait().unwrap();
    drop(agent);
    assert!(status.success());

    let rungs = scratch.rungs();
    let void = rungs[1].void.as_ref().unwrap();
    assert!(void.contains("load node tcp: the connection ended"), "{void}");
    assert_eq!(rungs[0].void, None);
    let after: Vec<&Rung> = rungs[2..].iter().filter(|rung| rung.void.is_none()).collect();
    assert!(!after.is_empty(), "it came back");
    assert!(after.iter().all(|rung| rung.load_shares.len() == 3));
    let run = scratch.results().run().unwrap();
    assert!(
        run.events.iter().any(|event| event.what.contains("load node tcp")),
        "{:?}",
        run.events
    );
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn an_agent_that_stays_away_ends_the_series_in_order() {
    let scratch = Scratch::new("away");
    let mut agent = Agent::start("127.0.0.1:0", Some(PASSWORD));
    let ladder =
        "[ladder]\nthreads_per_server = [6]\nwarmup = \"0s\"\nmeasure = \"1s\"\ncooldown = \"0s\"\nrepeats = 7\n";
    let plan = scratch.plan(&agent.address, &scratch.hosts(), ladder);
    let lab = scratch.lab(&plan).spawn().unwrap();
    wait_until(|| scratch.results().rungs().is_ok_and(|rungs| !rungs.is_empty()));
    agent.kill();
    let output = lab.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let not_run = scratch.results().run().unwrap().not_run;
    let of_rungs: Vec<&str> = not_run.iter().map(|not_run| not_run.why.as_str()).collect();
    assert!(of_rungs.len() >= 4, "{not_run:?}");
    assert!(of_rungs.iter().all(|why| why.contains("load node tcp")), "{not_run:?}");
    assert_eq!(of_rungs.last(), Some(&"the load node tcp could not take part any more"));
    assert!(scratch.results().path().join("report.html").exists());
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn ctrl_c_reaches_the_coordinator_alone_and_every_nodes_figures_are_kept() {
    let scratch = Scratch::new("ctrl-c");
    let agent = Agent::start("127.0.0.1:0", Some(PASSWORD));
    let ladder = "[ladder]\nthreads_per_server = [6]\nwarmup = \"0s\"\nmeasure = \"60s\"\nrepeats = 1\n";
    let plan = scratch.plan(&agent.address, &scratch.hosts(), ladder);
    let lab = scratch.lab(&plan).process_group(0).spawn().unwrap();
    wait_until(|| fs::read_to_string(scratch.path("ssh.pid")).is_ok_and(|pid| pid.ends_with('\n')));
    let ssh = fs::read_to_string(scratch.path("ssh.pid")).unwrap();
    let far = PathBuf::from(format!("/proc/{}", ssh.trim()));
    assert!(far.exists());
    thread::sleep(Duration::from_secs(4));
    // As a terminal does it: to the group.
    let group = format!("-{}", lab.id());
    assert!(
        Command::new("kill")
            .args(["-INT", "--", &group])
            .status()
            .unwrap()
            .success()
    );
    let output = lab.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    let rungs = scratch.rungs();
    let rung = &rungs[0];
    assert!(
        rung.void.as_ref().unwrap().contains("stopped by the user"),
        "{:?}",
        rung.void
    );
    assert!((1.0..30.0).contains(&rung.measured_s), "{}", rung.measured_s);
    assert_eq!(rung.load_shares.len(), 3);
    assert!(
        rung.load_shares.iter().all(|share| share.transactions > 0),
        "{:?}",
        rung.load_shares
    );
    wait_until(|| !far.exists());
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn what_keeps_a_node_from_its_part_is_told_before_anything_is_measured() {
    let scratch = Scratch::new("refused");
    let ladder = "[ladder]\nthreads_per_server = [6]\nwarmup = \"0s\"\nmeasure = \"1s\"\nrepeats = 1\n";
    let refused = |agent: &str, target: &str| {
        let output = scratch.lab(&scratch.plan(agent, target, ladder)).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = said(&output);
        assert!(said.contains("nothing was measured"), "{said}");
        assert!(!scratch.results().path().exists());
        said
    };
    let bare = Agent::start("127.0.0.1:0", None);
    let without_password = refused(&bare.address, &scratch.hosts());
    for part in ["load node tcp: target a", "LAB_TEST_PASSWORD", "export"] {
        assert!(without_password.contains(part), "{without_password}");
    }
    let wrong = Agent::start("127.0.0.1:0", Some("another"));
    let wrong_password = refused(&wrong.address, &scratch.hosts());
    assert!(
        wrong_password.contains("load node tcp: target a") && wrong_password.contains("1045"),
        "{wrong_password}"
    );
    let nobody = refused("127.0.0.1:1", &scratch.hosts());
    assert!(
        nobody.contains("load node tcp") && nobody.contains("127.0.0.1:1"),
        "{nobody}"
    );
}

/// Lets connections through to `to`, and counts them.
fn balancer(to: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::Relaxed);
            let far = TcpStream::connect(&to).unwrap();
            for stream in [&near, &far] {
                stream.set_nodelay(true).unwrap();
            }
            for (mut from, mut to) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far.try_clone().unwrap(), near.try_clone().unwrap()),
            ] {
                thread::spawn(move || {
                    let mut chunk = [0; 16_384];
                    while let Ok(read @ 1..) = from.read(&mut chunk) {
                        if to.write_all(&chunk[..read]).is_err() {
                            break;
                        }
                    }
                    to.shutdown(std::net::Shutdown::Both).ok();
                });
            }
        }
    });
    (address, count)
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn a_balanced_name_is_looked_up_again_during_a_rung() {
    let scratch = Scratch::new("balanced");
    let agent = Agent::start("127.0.0.1:0", Some(PASSWORD));
    let (address, count) = balancer(scratch.server.address.clone());
    let ladder =
        "[ladder]\nthreads_per_server = [6]\nwarmup = \"0s\"\nmeasure = \"3s\"\ncooldown = \"0s\"\nrepeats = 1\n";
    let measured = |reopen_after: &str| {
        count.store(0, Ordering::Relaxed);
        let target = format!("balanced = \"{address}\"\n{reopen_after}");
        let plan = scratch.plan(&agent.address, &target, ladder);
        let output = scratch.lab(&plan).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let rung = scratch.rungs().remove(0);
        let run = scratch.results().run().unwrap();
        fs::remove_dir_all(scratch.results().path()).unwrap();
        assert_eq!(rung.void, None);
        (
            rung.totals.reconnects,
            count.load(Ordering::Relaxed),
            run.targets[0].reopen_after_s,
        )
    };
    let (reconnects, kept, noted) = measured("");
    assert_eq!((reconnects, noted), (0, None));
    let (reconnects, connections, noted) = measured("reopen_after = \"500ms\"");
    assert!(reconnects >= 6, "{reconnects}");
    assert!(connections >= kept / 2 + 6, "{connections} after {kept}");
    assert_eq!(noted, Some(0.5));
}
