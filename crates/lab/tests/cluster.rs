//! A cluster of three LatsDB nodes under the lab: who leads, who is behind, what changes when the leader dies, and what of it is refused beforehand.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::end_to_end::{HERE, Scratch, lab, latsdb, rungs, wait_until};

/// Three nodes on this machine, of which the first founded the cluster; each with a script that starts it again.
struct Nodes {
    starts: Vec<PathBuf>,
    pid_files: Vec<PathBuf>,
    mysql: Vec<String>,
    http: Vec<String>,
}

fn free_addresses(count: usize) -> Vec<String> {
    let listeners: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners
        .iter()
        .map(|listener| listener.local_addr().unwrap().to_string())
        .collect()
}

impl Nodes {
    fn start(program: &Path, scratch: &Scratch) -> Nodes {
        let addresses = free_addresses(9);
        let mut nodes = Nodes {
            starts: Vec::new(),
            pid_files: Vec::new(),
            mysql: addresses[..3].to_vec(),
            http: addresses[3..6].to_vec(),
        };
        let peers = &addresses[6..];
        for at in 0..3 {
            let id = at + 1;
            let (start, pid_file) = (scratch.path(&format!("start-{id}")), scratch.path(&format!("pid-{id}")));
            let join = match at {
                0 => String::new(),
                _ => format!("--join {}", peers[0]),
            };
            let script = format!(
                "#!/bin/sh\nsetsid {} serve --data-dir {} --node-id {id} --memory-limit 512MiB --mysql-addr {} --http-addr {} --peer-addr {} \
                 {join} >>{} 2>&1 </dev/null &\necho $! > {}\n",
                program.display(),
                scratch.path(&format!("node-{id}")).display(),
                nodes.mysql[at],
                nodes.http[at],
                peers[at],
                scratch.path(&format!("log-{id}")).display(),
                pid_file.display()
            );
            fs::write(&start, script).unwrap();
            assert!(Command::new("sh").arg(&start).status().unwrap().success());
            nodes.starts.push(start);
            nodes.pid_files.push(pid_file);
            wait_until(|| TcpStream::connect(&nodes.mysql[at]).is_ok());
        }
        wait_until(|| nodes.http.iter().all(|page| nodes_on(page) == 3));
        nodes
    }

    /// The section of the plan, with so many of the nodes' pages.
    fn target(&self, watched: usize, more: &str) -> String {
        format!(
            "[[target]]\nname = \"three\"\nhosts = {:?}\nstatus = {:?}\nnodes = [\"here\"]\n{more}",
            self.mysql,
            &self.http[..watched]
        )
    }
}

/// How many nodes a node's page shows.
fn nodes_on(page: &str) -> usize {
    let mut text = String::new();
    let Ok(mut stream) = TcpStream::connect(page) else {
        return 0;
    };
    let asked = stream.write_all(b"GET /status HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    match asked.and_then(|()| stream.read_to_string(&mut text)) {
        Ok(_) => text.matches("\"levels\"").count(),
        Err(_) => 0,
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for pid_file in &self.pid_files {
            if let Ok(pid) = fs::read_to_string(pid_file) {
                Command::new("kill").args(["-KILL", pid.trim()]).status().ok();
            }
        }
    }
}

#[test]
#[ignore = "needs LAB_TEST_LATSDB: cargo xtask test lab"]
fn the_loss_of_a_leader_is_seen_beside_the_writes_that_it_costs() {
    let program = latsdb();
    let scratch = Scratch::new("cluster");
    let nodes = Nodes::start(&program, &scratch);
    // A node that nobody watches is refused, and nothing is measured.
    let faults = format!(
        "[availability]\nwriters = 3\nworkload = \"w\"\nthreads_per_server = 1\nmeasure = \"10s\"\n[[availability.fault]]\nat = \"3s\"\nkill = {:?}\n\
         restore = \"sh {}\"\nrestore_after = \"2s\"\n[[workload]]\nname = \"w\"\nkind = \"oltp_read_write\"\ntables = 1\ntable_size = 500\n",
        nodes.pid_files[0].display().to_string(),
        nodes.starts[0].display()
    );
    let two = scratch.plan(&format!("{}{HERE}{faults}", nodes.target(2, "")));
    let error = format!("{:#}", lab(&["availability", &two]).unwrap_err());
    assert!(
        error.contains("node 3 of the cluster") && error.contains("is not among the addresses"),
        "{error}"
    );

    let plan = scratch.plan(&format!("{}{HERE}{faults}", nodes.target(3, "")));
    lab(&["availability", &plan, "--name", "all"]).unwrap();
    let folder = lab_results::Folder::open(&scratch.path("results").join("all"));
    let run = folder.run().unwrap();
    let cluster = run.targets[0].cluster.as_ref().unwrap();
    assert_eq!(cluster.leader, Some(1));
    let known: Vec<(u64, &String)> = cluster.nodes.iter().map(|node| (node.id, &node.mysql_addr)).collect();
    assert_eq!(
        known,
        (1..).zip(&nodes.mysql).collect::<Vec<_>>(),
        "each with its own address"
    );

    let found = &folder.availability().unwrap()[0];
    assert!(found.data.holds(), "{:?}", found.data);
    let said: Vec<&str> = found.changes.iter().map(|change| change.what.as_str()).collect();
    assert!(said.contains(&"node 1 does not answer"), "{said:?}");
    assert!(said.contains(&"node 1 answers again"), "{said:?}");
    let elected = found
        .changes
        .iter()
        .find(|change| change.what.contains(" leads (term "));
    let elected = elected.unwrap_or_else(|| panic!("{said:?}"));
    assert!(elected.at >= found.faults[0].at, "not before it was lost");
    // The leader is not behind; every node was seen, the first one not while it was away.
    let seconds = |node: usize| found.cluster[node].seconds.len();
    assert!(
        seconds(0) < seconds(1) && seconds(1) >= 9 && seconds(2) >= 9,
        "{:?}",
        found.cluster
    );
    assert!(found.cluster[0].seconds[0].leads && !found.cluster[0].seconds.last().unwrap().leads);
    // The workload beside the writers has the same in its own time.
    let rung = &rungs(&folder)[0];
    assert_eq!(rung.cluster.len(), 3);
    assert!(
        rung.events.iter().any(|event| event.what == elected.what),
        "{:?}",
        rung.events
    );
    let report = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(report.contains("Nodes of the clusters, before the load") && report.contains(&elected.what));
}
