//! Three nodes as processes, and what their clients have in common.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mysql_client::{Answer, Client};

use crate::support::{DataDir, Running, directory, latsdb, rows};

/// For what comes about by itself. A machine that does much else takes its time.
const DEADLINE: Duration = Duration::from_secs(60);

/// A state that a statement has for so long is no step on its way.
const LASTING: Duration = Duration::from_millis(200);

/// Three nodes that know each other.
pub struct Cluster {
    pub peer: Vec<String>,
    nodes: Vec<Option<Running>>,
    /// Behind the nodes: they end before it goes.
    pub dir: DataDir,
    is_founded: bool,
    /// Nodes that speak less than this version does, and what.
    speaks: BTreeMap<usize, &'static str>,
    /// The node that is a witness.
    pub witness: Option<usize>,
    /// Of each node, where clients find it at the same address after each start.
    mysql: Vec<String>,
    /// Flags of all nodes, beside what makes them a cluster.
    pub more_flags: Vec<&'static str>,
    /// One at a time: three nodes are much for a small machine.
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Cluster {
    pub fn start(name: &str) -> Cluster {
        Cluster::start_speaking(name, None)
    }

    /// Of nodes that speak certain feature levels (`1-1`).
    pub fn start_speaking(name: &str, levels: Option<&'static str>) -> Cluster {
        let mut cluster = Cluster::down(name, levels);
        for node in 1..=3 {
            cluster.run(node);
        }
        cluster.wait_until_whole();
        cluster.is_founded = true;
        cluster
    }

    /// None of whose nodes has been started.
    pub fn down(name: &str, levels: Option<&'static str>) -> Cluster {
        let dir = directory(name);
        Cluster {
            dir,
            peer: (0..3).map(|_| format!("127.0.0.1:{}", free_port())).collect(),
            nodes: vec![None, None, None],
            is_founded: false,
            speaks: levels
                .iter()
                .flat_map(|&levels| (1..=3).map(move |node| (node, levels)))
                .collect(),
            witness: None,
            mysql: Vec::new(),
            more_flags: Vec::new(),
            _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// As [`start`](Self::start), of nodes whose clients find them at the same addresses after each start.
    pub fn start_in_place(name: &str) -> Cluster {
        let mut cluster = Cluster::down(name, None);
        cluster.mysql = (0..3).map(|_| format!("127.0.0.1:{}", free_port())).collect();
        for node in 1..=3 {
            cluster.run(node);
        }
        cluster.wait_until_whole();
        cluster.is_founded = true;
        cluster
    }

    /// From now on the first node is told whom to join, too.
    pub fn is_founded(&mut self) {
        self.is_founded = true;
    }

    /// What a node speaks from its next start on; `None`: what this version does.
    pub fn speaks(&mut self, node: usize, levels: Option<&'static str>) {
        match levels {
            Some(levels) => drop(self.speaks.insert(node, levels)),
            None => drop(self.speaks.remove(&node)),
        }
    }

    fn variables(&self, node: usize) -> Vec<(&'static str, &'static str)> {
        self.speaks
            .get(&node)
            .map(|levels| ("ENV_LEVELS", *levels))
            .into_iter()
            .collect()
    }

    /// Starts a node, counted from 1.
    pub fn run(&mut self, node: usize) {
        self.nodes[node - 1] = Some(self.started(node));
    }

    fn started(&self, node: usize) -> Running {
        let flags = self.flags(node);
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        std::fs::create_dir_all(&*self.dir).unwrap();
        Running::start_in(&self.data(node), &flags, &self.variables(node))
    }

    pub fn data(&self, node: usize) -> PathBuf {
        self.dir.join(format!("node-{node}"))
    }

    /// The first node founds the cluster; later it may be told whom to join, as the others are.
    pub fn flags(&self, node: usize) -> Vec<String> {
        let mut flags: Vec<String> = ["--node-id", &node.to_string(), "--peer-addr", &self.peer[node - 1]]
            .into_iter()
            .chain(["--memory-limit", "256MiB"])
            .map(str::to_owned)
            .collect();
        if node > 1 || self.is_founded {
            flags.extend(["--join".to_owned(), self.peer.join(",")]);
        }
        if let Some(address) = self.mysql.get(node - 1) {
            flags.extend(["--mysql-addr".to_owned(), address.clone()]);
        }
        if self.witness == Some(node) {
            flags.push("--witness".to_owned());
        }
        flags.extend(self.more_flags.iter().map(|&flag| flag.to_owned()));
        flags
    }

    /// What a node says that does not start.
    pub fn refused(&self, node: usize) -> String {
        let addresses = ["serve", "--mysql-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0"];
        let flags = self.flags(node);
        let mut command = latsdb(&addresses, &self.data(node));
        command.args(flags).envs(self.variables(node));
        let output = command.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    }

    fn wait_until_whole(&self) {
        self.wait_until_whole_from(1);
    }

    /// As that node sees it.
    pub fn wait_until_whole_from(&self, node: usize) {
        eventually("three voters", || {
            let status = self.node(node).get("/status");
            let dense: String = status.split_whitespace().collect();
            dense.contains("\"voters\":[1,2,3]").then_some(()).ok_or(status)
        });
    }

    pub fn node(&self, node: usize) -> &Running {
        self.nodes[node - 1].as_ref().expect("it runs")
    }

    pub fn client(&self, node: usize) -> Client {
        self.node(node).client()
    }

    /// Kills a node's process.
    pub fn kill(&mut self, node: usize) {
        self.nodes[node - 1] = None;
    }

    /// A node that was told to stop has come to its end.
    pub fn wait_for_end(&mut self, node: usize) {
        let mut running = self.nodes[node - 1].take().expect("it runs");
        assert!(running.child.wait().unwrap().success());
    }

    /// Starts nodes at once: none serves before there are two.
    pub fn run_together(&mut self, nodes: &[usize]) {
        let cluster = &*self;
        let started: Vec<Running> = std::thread::scope(|scope| {
            let start = |&node| scope.spawn(move || cluster.started(node));
            let threads: Vec<_> = nodes.iter().map(start).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (node, running) in nodes.iter().zip(started) {
            self.nodes[node - 1] = Some(running);
        }
    }

    fn stop_all(&mut self) {
        for node in &self.nodes {
            node.as_ref().expect("it runs").signal("TERM");
        }
        for node in &mut self.nodes {
            let mut node = node.take().expect("it runs");
            assert!(node.child.wait().unwrap().success());
        }
    }

    /// The node that leads.
    pub fn leader(&self) -> usize {
        let running = || (1..=3).filter(|node| self.nodes[node - 1].is_some());
        eventually("a leader", || {
            running()
                .find(|&node| self.node(node).get("/health/leader").starts_with("HTTP/1.1 200"))
                .ok_or_else(|| "nobody leads".to_owned())
        })
    }

    /// A node that runs and does not lead.
    pub fn follower(&self) -> usize {
        let leader = self.leader();
        let mut running = (1..=3).filter(|node| self.nodes[node - 1].is_some());
        running.find(|node| *node != leader).expect("two nodes run")
    }
}

/// Nobody listens there. Tests of this process get different ones, below those that the system gives to whoever connects (32,768 on).
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 10_000 + (std::process::id() % 5_000) as u16 * 4;
    loop {
        let port = first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)).max(1024);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Tries until it works out; the last error tells why it did not.
pub fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(error) => assert!(Instant::now() < deadline, "{what}: {error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The error number of a statement; 0: it has none.
pub fn code(client: &mut Client, sql: &str) -> u16 {
    match client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}")) {
        Answer::Error { code, .. } => code,
        _ => 0,
    }
}

pub fn run(client: &mut Client, sql: &str) {
    match client.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}")) {
        Answer::Error { code, message, .. } => panic!("{sql}: {code} {message}"),
        Answer::Ok { .. } | Answer::Rows { .. } => {}
    }
}

pub fn one(client: &mut Client, sql: &str) -> String {
    rows(client, sql).join(";")
}

/// Questions of the client's node to the leader, so far.
pub fn calls(client: &mut Client) -> u64 {
    let row = one(client, "SHOW STATUS LIKE 'Calls_to_leader'");
    row.split(' ').next_back().unwrap().parse().unwrap()
}

#[test]
fn sessions_of_all_nodes_are_seen_and_ended_from_any() {
    let mut cluster = Cluster::start("cluster-sessions");
    let mut clients: Vec<Client> = (1..=3).map(|node| cluster.client(node)).collect();
    for (place, client) in clients.iter_mut().enumerate() {
        let node = client.connection_id >> 24;
        assert_eq!(node as usize, place + 1, "the id tells the node");
        assert_eq!(one(client, "SELECT CONNECTION_ID()"), client.connection_id.to_string());
    }
    let ids: Vec<u32> = clients.iter().map(|client| client.connection_id).collect();
    let listed = |client: &mut Client, sql: &str| -> Vec<u32> {
        let first = |row: &String| row.split(' ').next().unwrap().parse().unwrap();
        rows(client, sql).iter().map(first).collect()
    };
    for sql in ["SHOW FULL PROCESSLIST", "SELECT id FROM information_schema.processlist"] {
        let seen = listed(&mut clients[1], sql);
        assert!(ids.iter().all(|id| seen.contains(id)), "{sql}: {seen:?}");
    }

    // A running statement of another node is interrupted, and its session goes on.
    let (killer, victim) = (&mut cluster.client(1), cluster.client(3));
    let victim_id = victim.connection_id;
    let interrupted = std::thread::spawn(move || {
        let mut victim = victim;
        let code = code(&mut victim, "SELECT * FROM (SELECT SLEEP(300)) t");
        (code, one(&mut victim, "SELECT 1"))
    });
    let asleep =
        format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {victim_id} AND state = 'User sleep'");
    eventually("a statement of node 3 in node 1's list", || {
        match &*one(killer, &asleep) {
            "1" => Ok(()),
            other => Err(other.to_owned()),
        }
    });
    run(killer, &format!("KILL QUERY {victim_id}"));
    let (number, then) = interrupted.join().unwrap();
    assert!([0, 1317].contains(&number), "{number}");
    assert_eq!(then, "1");

    // A session of another node ends.
    run(killer, &format!("KILL {}", ids[1]));
    eventually("the end of node 2's session", || match clients[1].query("SELECT 1") {
        Ok(answer) => Err(format!("{answer:?}")),
        Err(_) => Ok(()),
    });
    eventually("an unknown id", || match code(killer, &format!("KILL {}", ids[1])) {
        1094 => Ok(()),
        other => Err(other.to_string()),
    });
    assert_eq!(
        code(killer, &format!("KILL {}", 77 << 24 | 1)),
        1094,
        "no node of the cluster"
    );

    // Rights are the same everywhere: one's own sessions, and no others.
    run(killer, "CREATE USER tom@localhost, ann@localhost");
    let mut tom = cluster.node(1).client_of("tom");
    // A login goes by the accounts that the node has heard of.
    run(&mut cluster.client(2), "SELECT COUNT(*) FROM mysql.user");
    let tom_elsewhere = cluster.node(2).client_of("tom");
    assert_eq!(code(&mut tom, &format!("KILL {}", ids[2])), 1095);
    let seen = listed(&mut tom, "SHOW PROCESSLIST");
    assert!(
        seen.contains(&tom_elsewhere.connection_id) && !seen.contains(&ids[2]),
        "{seen:?}"
    );
    run(&mut tom, &format!("KILL {}", tom_elsewhere.connection_id));

    // A node that is gone is left out, with a warning that names it.
    cluster.leader();
    let gone = cluster.follower();
    let here = (1..=3).find(|node| *node != gone).unwrap();
    let mut client = cluster.client(here);
    cluster.kill(gone);
    let answer = client.query("SHOW PROCESSLIST").unwrap();
    assert!(matches!(answer, Answer::Rows { warnings: 1, .. }), "{answer:?}");
    let warning = one(&mut client, "SHOW WARNINGS");
    assert!(warning.contains(&format!("Node {gone} does not answer")), "{warning}");
}

#[test]
fn global_variables_are_those_of_the_cluster_until_it_stops() {
    let mut cluster = Cluster::start("cluster-variables");
    let mut first = cluster.client(1);
    let ids: Vec<String> = (1..=3)
        .map(|node| one(&mut cluster.client(node), "SELECT @@server_id, @@server_uuid"))
        .collect();
    assert!(
        ids[1].starts_with("2 ") && ids[0][2..] != ids[1][2..] && ids[1][2..] != ids[2][2..],
        "{ids:?}"
    );
    let short = |node: usize| one(&mut cluster.client(node), "SELECT UUID_SHORT() >> 56");
    assert_eq!([short(1), short(2), short(3)], ["1", "2", "3"]);

    // A value is there on every node when SET has been answered.
    let waits = "SELECT @@GLOBAL.wait_timeout, @@GLOBAL.max_error_count, @@GLOBAL.sql_safe_updates";
    run(
        &mut cluster.client(3),
        "SET GLOBAL wait_timeout = 4711, PERSIST max_error_count = 77, PERSIST_ONLY sql_safe_updates = ON",
    );
    for node in 1..=3 {
        // The statement waits for the newest commits; what it shows is no older.
        let mut client = cluster.client(node);
        run(&mut client, "SELECT COUNT(*) FROM mysql.user");
        assert_eq!(one(&mut client, waits), "4711 77 0", "node {node}");
    }
    let origin =
        "SELECT variable_source, set_user FROM performance_schema.variables_info WHERE variable_name = 'wait_timeout'";
    assert_eq!(one(&mut first, origin), "DYNAMIC root");

    // What is written anywhere obeys.
    run(&mut first, "CREATE TABLE test.t (a INT PRIMARY KEY)");
    let mut writers: Vec<Client> = (1..=3).map(|node| cluster.client(node)).collect();
    for setter in 1..=3 {
        let mut client = cluster.client(setter);
        run(&mut client, "SET GLOBAL super_read_only = ON");
        for writer in &mut writers {
            assert_eq!(
                code(writer, "INSERT INTO test.t VALUES (1)"),
                1290,
                "set on node {setter}"
            );
            assert_eq!(
                code(writer, "CREATE TABLE test.u (a INT)"),
                1290,
                "set on node {setter}"
            );
        }
        run(&mut client, "SET GLOBAL read_only = OFF");
        for writer in &mut writers {
            run(writer, "REPLACE INTO test.t VALUES (1)");
        }
    }

    // A node that comes back has what the others have; with it goes what is set meanwhile.
    let gone = cluster.follower();
    cluster.kill(gone);
    let here = cluster.leader();
    run(&mut cluster.client(here), "SET GLOBAL wait_timeout = 4712");
    cluster.run(gone);
    assert_eq!(one(&mut cluster.client(gone), waits), "4712 77 0");
    assert_eq!(one(&mut cluster.client(gone), "SELECT @@wait_timeout"), "4712");

    // The cluster stops and starts: what is persisted counts, and nothing else.
    cluster.wait_until_whole();
    cluster.stop_all();
    cluster.run_together(&[1, 2, 3]);
    for node in 1..=3 {
        assert_eq!(one(&mut cluster.client(node), waits), "28800 77 1", "node {node}");
    }
    let origin =
        "SELECT variable_source FROM performance_schema.variables_info WHERE variable_name = 'max_error_count'";
    assert_eq!(one(&mut cluster.client(2), origin), "PERSISTED");
}

#[test]
fn reads_from_the_nearest_node_ask_nobody_within_the_limit() {
    let mut cluster = Cluster::start("cluster-nearest");
    cluster.leader();
    let here = cluster.follower();
    let mut client = cluster.client(here);
    run(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY, b INT)");
    run(&mut client, "INSERT INTO test.t VALUES (1, 10), (2, 20)");
    let read = "SELECT b FROM test.t WHERE a = 1";
    let calls_of = |client: &mut Client, times: usize| {
        let before = calls(client);
        (0..times).for_each(|_| assert_eq!(one(client, read), "10"));
        calls(client) - before
    };
    assert!(calls_of(&mut client, 50) >= 50, "each read asks the leader");
    run(&mut client, "SET read_from = 'nearest', read_staleness_limit = 600000");
    let few = calls_of(&mut client, 50);
    assert!(few < 25, "{few} calls for 50 reads");
    let staleness = one(&mut client, "SHOW STATUS LIKE 'Read_staleness_ms'");
    assert!(
        staleness.split(' ').next_back().unwrap().parse::<u64>().unwrap() < 600_000,
        "{staleness}"
    );

    // A session sees its own commits, and so does whoever asks the leader.
    run(&mut client, "UPDATE test.t SET b = 11 WHERE a = 1");
    assert_eq!(one(&mut client, read), "11");
    let mut other = cluster.client(cluster.leader());
    run(&mut other, "UPDATE test.t SET b = 12 WHERE a = 1");
    run(&mut client, "BEGIN");
    assert_eq!(
        one(&mut client, &format!("{read} FOR UPDATE")),
        "12",
        "what is locked is the newest"
    );
    run(&mut client, "COMMIT");

    // A snapshot that was asked for is no older, either.
    run(&mut other, "UPDATE test.t SET b = 13 WHERE a = 1");
    let mut fresh = cluster.client(here);
    run(&mut fresh, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    assert_eq!(one(&mut fresh, read), "13");
    run(&mut fresh, "COMMIT");

    // Alone, it goes on reading what it has.
    run(&mut client, "SET read_from = 'leader'");
    assert_eq!(one(&mut client, read), "13");
    run(&mut client, "SET read_from = 'nearest'");
    for node in (1..=3).filter(|node| *node != here) {
        cluster.kill(node);
    }
    assert_eq!(one(&mut client, read), "13");
    run(&mut client, "BEGIN");
    assert_eq!(one(&mut client, read), "13");
    run(&mut client, "COMMIT");
    assert_ne!(code(&mut client, &format!("{read} FOR UPDATE")), 0);
    run(&mut client, "SET read_staleness_limit = 1");
    assert_eq!(code(&mut client, read), 1047);
    run(&mut client, "SET read_staleness_limit = 600000, read_from = 'leader'");
    assert_eq!(code(&mut client, read), 1047);
}

#[test]
fn every_node_reads_the_same_past_and_asks_nobody() {
    let mut cluster = Cluster::start("cluster-past");
    let here = cluster.follower();
    let mut client = cluster.client(here);
    run(&mut client, "SET PERSIST past_window_seconds = 600");
    run(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY, b INT, KEY (b))");
    run(&mut client, "INSERT INTO test.t VALUES (1, 10), (2, 20)");
    let then = one(&mut client, "SELECT NOW(6)");
    // A moment later than all commits is closed by one that changes nothing, at the leader.
    let read = format!("SELECT GROUP_CONCAT(b ORDER BY a) FROM test.t AS OF TIMESTAMP '{then}'");
    assert_eq!(one(&mut client, &read), "10,20");
    run(&mut client, "SET read_from = 'nearest', read_staleness_limit = 600000");
    run(&mut client, "UPDATE test.t SET b = b + 1");
    run(&mut client, "INSERT INTO test.t VALUES (3, 30)");
    run(&mut client, "DELETE FROM test.t WHERE a = 1");
    let before = calls(&mut client);
    (0..20).for_each(|_| assert_eq!(one(&mut client, &read), "10,20"));
    // What the node itself asks for counts, too.
    assert!(calls(&mut client) < before + 5, "the past is here");
    for node in 1..=3 {
        assert_eq!(one(&mut cluster.client(node), &read), "10,20");
        let newest = "SELECT GROUP_CONCAT(b ORDER BY a) FROM test.t";
        assert_eq!(one(&mut cluster.client(node), newest), "21,30");
    }
    // Commits wait for the disks of a majority, whatever is asked for.
    for level in ["majority_memory", "local_disk"] {
        for scope in ["SESSION", "GLOBAL", "PERSIST"] {
            assert_eq!(code(&mut client, &format!("SET {scope} durability = '{level}'")), 1235);
        }
    }
    // A transaction goes on where everybody else is gone, and so does one that begins then.
    run(
        &mut client,
        &format!("START TRANSACTION READ ONLY AS OF TIMESTAMP '{then}'"),
    );
    for node in (1..=3).filter(|node| *node != here) {
        cluster.kill(node);
    }
    assert_eq!(
        one(
            &mut client,
            "SELECT COUNT(*) FROM test.t FORCE INDEX (b) WHERE b IN (10, 20)"
        ),
        "2"
    );
    run(&mut client, "COMMIT");
    assert_eq!(one(&mut cluster.client(here), &read), "10,20");
    // What nobody has closed needs the others.
    assert_ne!(
        code(&mut client, "SELECT COUNT(*) FROM test.t AS OF TIMESTAMP NOW(6)"),
        0
    );
    // Started anew, a node reads as far back as its checkpoint.
    for node in (1..=3).filter(|node| *node != here) {
        cluster.run(node);
    }
    cluster.wait_until_whole();
    for node in 1..=3 {
        assert_eq!(one(&mut cluster.client(node), &read), "10,20");
    }
}

/// Runs a statement beside; `wait` is for what the process list says of it meanwhile.
pub fn beside(mut client: Client, sql: &'static str) -> std::thread::JoinHandle<u16> {
    std::thread::spawn(move || code(&mut client, sql))
}

/// Whether for the lock of a table or, asked for together, that of a row.
pub fn wait_until_waiting(client: &mut Client, id: u32) {
    let shown = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    // The state is there before the leader has been asked, and who asks later may be served first: a wait is what lasts.
    let mut seen_since = None;
    eventually("a statement that waits for a lock", || match one(client, &shown) {
        now if now.starts_with("Waiting for") && now.ends_with("lock") => {
            let since = seen_since.get_or_insert_with(Instant::now);
            (since.elapsed() >= LASTING).then_some(()).ok_or(now)
        }
        other => {
            seen_since = None;
            Err(other)
        }
    });
}

#[test]
fn named_locks_are_of_the_cluster() {
    let mut cluster = Cluster::start("cluster-named-locks");
    let leader = cluster.leader();
    let others: Vec<usize> = (1..=3).filter(|node| *node != leader).collect();
    let mut clients: Vec<Client> = [leader, others[0], others[1]].map(|node| cluster.client(node)).into();
    let get = |client: &mut Client, name: &str| one(client, &format!("SELECT GET_LOCK('{name}', 0)"));
    for (holder, other) in [(0, 1), (1, 0), (1, 2)] {
        let id = clients[holder].connection_id.to_string();
        assert_eq!(get(&mut clients[holder], "a"), "1");
        assert_eq!(get(&mut clients[holder], "A"), "1", "taken twice");
        for client in &mut clients {
            assert_eq!(
                one(client, "SELECT IS_USED_LOCK('a'), IS_FREE_LOCK('a'), IS_FREE_LOCK('z')"),
                format!("{id} 0 1")
            );
        }
        assert_eq!(get(&mut clients[other], "a"), "0");
        assert_eq!(one(&mut clients[other], "SELECT GET_LOCK('a', 0.2)"), "0");
        assert_eq!(
            one(&mut clients[other], "SELECT RELEASE_LOCK('a'), RELEASE_LOCK('z')"),
            "0 NULL"
        );
        assert_eq!(one(&mut clients[holder], "SELECT RELEASE_LOCK('a')"), "1");
        assert_eq!(get(&mut clients[other], "a"), "0", "it was taken twice");
        assert_eq!(one(&mut clients[holder], "SELECT RELEASE_LOCK('a')"), "1");
        // Whoever has given up has left nothing behind.
        assert_eq!(get(&mut clients[other], "a"), "1");
        assert_eq!(get(&mut clients[other], "b"), "1");
        assert_eq!(one(&mut clients[other], "SELECT RELEASE_ALL_LOCKS()"), "2");
    }

    // Who waits gets the lock when its holder ends.
    let mut watcher = cluster.client(leader);
    for (holder, waiter) in [(leader, others[0]), (others[0], leader), (others[0], others[1])] {
        let mut holder = cluster.client(holder);
        assert_eq!(get(&mut holder, "a"), "1");
        let mut client = cluster.client(waiter);
        let id = client.connection_id;
        let waiting = std::thread::spawn(move || one(&mut client, "SELECT GET_LOCK('a', 300)"));
        wait_until_waiting_for_user_lock(&mut watcher, id);
        drop(holder);
        assert_eq!(waiting.join().unwrap(), "1");
    }

    // A circle is found, wherever its sessions are.
    let (mut first, mut second) = (cluster.client(others[0]), cluster.client(others[1]));
    assert_eq!(get(&mut first, "a") + &get(&mut second, "b"), "11");
    let id = first.connection_id;
    let waiting = std::thread::spawn(move || code(&mut first, "SELECT GET_LOCK('b', 300)"));
    wait_until_waiting_for_user_lock(&mut watcher, id);
    let codes = [code(&mut second, "SELECT GET_LOCK('a', 300)"), {
        drop(second);
        waiting.join().unwrap()
    }];
    assert!([[3058, 0], [0, 3058]].contains(&codes), "{codes:?}");

    // The locks of a node that dies are free; those of a leader's time are lost, and who had them is told.
    let mut holder = cluster.client(others[0]);
    assert_eq!(get(&mut holder, "n") + &get(&mut clients[2], "l"), "11");
    cluster.kill(others[0]);
    assert_eq!(one(&mut clients[2], "SELECT GET_LOCK('n', 60)"), "1");
    cluster.run(others[0]);
    cluster.wait_until_whole_from(leader);
    cluster.kill(leader);
    cluster.leader();
    eventually("the loss is told", || {
        match code(&mut clients[2], "SELECT GET_LOCK('l', 0)") {
            3058 => Ok(()),
            1047 => Err("no leader".to_owned()),
            other => panic!("{other}"),
        }
    });
    assert_eq!(one(&mut clients[2], "SELECT RELEASE_ALL_LOCKS()"), "0");
    assert_eq!(get(&mut clients[2], "l"), "1");
    assert_eq!(get(&mut cluster.client(others[0]), "l"), "0");
}

fn wait_until_waiting_for_user_lock(client: &mut Client, id: u32) {
    let shown = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
    eventually("a wait for a named lock", || match one(client, &shown) {
        now if now == "User lock" => Ok(()),
        other => Err(other),
    });
}

#[test]
fn a_node_that_is_taken_out_stays_out() {
    let cluster = Cluster::start("cluster-removed");
    let leader = cluster.leader();
    let removed = cluster.follower();
    let answer = cluster.node(leader).post(&format!("/admin/remove-node?node={removed}"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut client = cluster.client(leader);
    run(&mut client, "CREATE TABLE test.after (a INT)");
    // It looks at the membership ten times a second.
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(100));
        let status: String = cluster.node(leader).get("/status").split_whitespace().collect();
        let left: Vec<String> = (1..=3)
            .filter(|node| *node != removed)
            .map(|node| node.to_string())
            .collect();
        let voters = format!("\"voters\":[{}]", left.join(","));
        assert!(status.contains(&voters), "{status}");
    }
}

/// A node whose directory is lost, or damaged, comes back with the same number when the cluster has been told.
#[test]
fn a_node_that_has_lost_its_directory_is_replaced() {
    let mut cluster = Cluster::start("cluster-replaced");
    let leader = cluster.leader();
    let lost = cluster.follower();
    let mut client = cluster.client(leader);
    run(&mut client, "CREATE TABLE test.t (a INT PRIMARY KEY)");
    run(&mut cluster.client(lost), "INSERT INTO test.t VALUES (1)");
    let data = cluster.data(lost);
    let replace = format!("/admin/replace-node?node={lost}");
    let runs = cluster.node(leader).post(&replace);
    assert!(runs.contains(&format!("node {lost} runs")), "{runs}");

    let damages: [fn(&std::path::Path); 3] = [
        |data| std::fs::remove_dir_all(data).unwrap(),
        |data| std::fs::remove_dir_all(data.join("log")).unwrap(),
        |data| {
            let log = data.join("log/000000000001.log");
            let mut bytes = std::fs::read(&log).unwrap();
            bytes[4096 + 100] ^= 1;
            std::fs::write(&log, bytes).unwrap();
        },
    ];
    for (round, damage) in damages.into_iter().enumerate() {
        cluster.kill(lost);
        damage(&data);
        let refused = cluster.refused(lost);
        assert!(
            refused.contains(&format!("latsdb admin replace-node {lost}")),
            "round {round}: {refused}"
        );
        let answer = cluster.node(leader).post(&replace);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        cluster.run(lost);
        cluster.wait_until_whole_from(leader);
        // It names its transactions as none before it did.
        let mut replaced = cluster.client(lost);
        run(&mut replaced, &format!("INSERT INTO test.t VALUES ({})", round + 2));
        let count = format!("{}", round + 2);
        for client in [&mut client, &mut replaced] {
            assert_eq!(one(client, "SELECT COUNT(*) FROM test.t"), count);
        }
    }
    assert!(data.join("damaged-1").is_dir(), "what was damaged is kept");
}
