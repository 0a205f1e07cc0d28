//! What runs on the nodes: mariadbd on the data nodes, a relay that takes each connection on to its data node on the SQL nodes,
//! sysbench on the load node.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, wait_for};

const PORT: u16 = 21133;
const TABLES: &[&str] = &["--tables=2", "--table-size=5000"];

/// A mariadbd on a data node, and the relay to it on the SQL node of the same number.
pub struct Database {
    processes: Vec<Child>,
    address: String,
}

impl Database {
    pub fn start(cluster: &Cluster, data: &str) -> Database {
        let node = cluster.node(data);
        let directory = cluster.directory.join(data);
        fs::create_dir_all(&directory).unwrap();
        let log = || fs::File::create(cluster.directory.join(format!("{data}.log"))).unwrap();
        let installed = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--user=root"])
            .arg(format!("--datadir={}", directory.display()))
            .stdout(log())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(installed.success(), "mariadb-install-db");
        let server = node
            .command(&format!(
                "mariadbd --no-defaults --user=root --datadir={0} --socket={0}/s.sock --port={PORT} --bind-address={1} \
                 --skip-grant-tables --skip-name-resolve --innodb-buffer-pool-size=64M --max-connections=100",
                directory.display(),
                node.address
            ))
            .stdout(Stdio::null())
            .stderr(log())
            .spawn()
            .unwrap();
        let address = format!("{}:{PORT}", node.address);
        wait_for(&address);
        let sql = cluster.node(&data.replace("data", "sql"));
        let me = std::env::current_exe().unwrap();
        let relay = sql
            .command(&format!("{} relay {}:{PORT} {address}", me.display(), sql.address))
            .spawn()
            .unwrap();
        wait_for(&format!("{}:{PORT}", sql.address));
        Database {
            processes: vec![relay, server],
            address: node.address.clone(),
        }
    }

    pub fn prepare(&self, cluster: &Cluster) {
        let mut create = cluster.node("load").command(&format!(
            "mariadb --no-defaults --host={} --port={PORT} --user=root -e 'CREATE DATABASE sbtest'",
            self.address
        ));
        assert!(create.status().unwrap().success(), "CREATE DATABASE");
        let mut prepare = sysbench(cluster, &self.address, "oltp_read_only prepare");
        assert!(
            prepare.stdout(Stdio::null()).status().unwrap().success(),
            "sysbench prepare"
        );
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn sysbench(cluster: &Cluster, hosts: &str, rest: &str) -> Command {
    cluster.node("load").command(&format!(
        "sysbench --db-driver=mysql --mysql-host={hosts} --mysql-port={PORT} --mysql-user=root --mysql-db=sbtest \
         --mysql-ssl=off --rand-type=uniform {} {rest}",
        TABLES.join(" ")
    ))
}

/// What sysbench is asked for; a rate of 0 is as fast as it can.
#[derive(Clone, Copy)]
pub struct Load {
    pub script: &'static str,
    pub arguments: &'static [&'static str],
    pub threads: u32,
    pub rate: u32,
}

pub struct Running(Child);

pub struct Summary {
    pub transactions: u64,
    pub transactions_per_s: f64,
    pub mean_latency_us: f64,
}

impl Load {
    pub fn start(&self, cluster: &Cluster) -> Running {
        let hosts = format!("{},{}", cluster.node("sql1").address, cluster.node("sql2").address);
        let rest = format!(
            "--threads={} --rate={} --time=10 --db-ps-mode=disable {} {} run",
            self.threads,
            self.rate,
            self.arguments.join(" "),
            self.script
        );
        Running(sysbench(cluster, &hosts, &rest).stdout(Stdio::piped()).spawn().unwrap())
    }
}

impl Running {
    pub fn finish(&mut self) -> Summary {
        let mut text = String::new();
        let began = Instant::now();
        self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(self.0.wait().unwrap().success(), "sysbench: {text}");
        assert!(began.elapsed() < Duration::from_secs(60));
        let word_after = |name: &str, index: usize| -> f64 {
            let (_, rest) = text.split_once(name).unwrap_or_else(|| panic!("no {name} in {text}"));
            rest.split_whitespace()
                .nth(index)
                .and_then(|word| word.trim_start_matches('(').parse().ok())
                .unwrap_or_else(|| panic!("no figure after {name} in {text}"))
        };
        Summary {
            transactions: word_after("transactions:", 0) as u64,
            transactions_per_s: word_after("transactions:", 1),
            mean_latency_us: word_after("avg:", 0) * 1000.0,
        }
    }
}

/// Takes each connection on to `to`, byte by byte: an SQL node's share of the work in small.
pub fn relay(listen: &str, to: &str) -> ExitCode {
    let listener = TcpListener::bind(listen).unwrap();
    for client in listener.incoming().flatten() {
        let Ok(server) = TcpStream::connect(to) else { continue };
        client.set_nodelay(true).unwrap();
        server.set_nodelay(true).unwrap();
        let (client_too, server_too) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        std::thread::spawn(move || carry(client, server));
        std::thread::spawn(move || carry(server_too, client_too));
    }
    ExitCode::SUCCESS
}

fn carry(mut from: TcpStream, mut to: TcpStream) {
    let mut chunk = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut chunk) {
        if to.write_all(&chunk[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
    let _ = from.shutdown(std::net::Shutdown::Both);
}
