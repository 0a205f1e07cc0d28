//! Against a real MariaDB, and the real sysbench, where they are installed: tables, statements, consistency.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab_driver::{Control, Password, PrepareSpec, RungSpec, Stop, Target, Tls, Workload};
use lab_results::run::Load;

/// A MariaDB in a folder of its own; both are gone when this is.
struct MariaDb {
    process: Child,
    folder: PathBuf,
    server: String,
}

impl MariaDb {
    /// `None` where it is not installed.
    fn start() -> Option<MariaDb> {
        let folder = std::env::temp_dir().join(format!("lab-driver-mariadb-{}", std::process::id()));
        let installed = Command::new("mariadb-install-db")
            .args([
                "--no-defaults",
                "--user=root",
                "--auth-root-authentication-method=normal",
            ])
            .arg(format!("--datadir={}", folder.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .ok()?;
        assert!(installed.success(), "mariadb-install-db failed");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let process = Command::new("mariadbd")
            .args(["--no-defaults", "--user=root", "--bind-address=127.0.0.1"])
            .arg(format!("--datadir={}", folder.display()))
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}/s.sock", folder.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let server = format!("127.0.0.1:{port}");
        let mariadb = MariaDb {
            process,
            folder,
            server,
        };
        let begun = Instant::now();
        while TcpStream::connect(&mariadb.server).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "mariadbd does not come up");
            thread::sleep(Duration::from_millis(50));
        }
        let mut control = Control::connect_without_database(&mariadb.target(), &mariadb.server).unwrap();
        control.query("CREATE DATABASE lab").unwrap();
        Some(mariadb)
    }

    fn target(&self) -> Target {
        Target {
            servers: vec![self.server.clone()],
            user: "root".to_owned(),
            password: Password::default(),
            database: "lab".to_owned(),
            tls: Tls::default(),
        }
    }

    fn control(&self) -> Control {
        Control::connect(&self.target(), &self.server).unwrap()
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn workload(kind: &str, options: &[(&str, &str)]) -> Workload {
    let options: BTreeMap<String, String> = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Workload::new(kind, &options).unwrap()
}

fn one_second() -> RungSpec {
    let load = Load::Closed {
        threads_per_server: 4,
        threads_total: 4,
    };
    RungSpec::new(load, Duration::ZERO, Duration::from_secs(1), 3)
}

fn prepare(mariadb: &MariaDb, workload: &Workload, connections: usize) {
    let spec = PrepareSpec { connections, seed: 5 };
    lab_driver::prepare(&mariadb.target(), workload, &spec, &Stop::new(), &mut |_, _| {}).unwrap();
}

#[test]
fn against_mariadb() {
    let Some(mariadb) = MariaDb::start() else {
        eprintln!("MariaDB is not installed: nothing was tested");
        return;
    };
    tables_are_whole_and_gaps_are_found(&mariadb);
    the_same_rows_whoever_loads(&mariadb);
    every_workload_runs(&mariadb);
    tpcc_is_consistent_until_something_is_changed(&mariadb);
    if lab_driver::sysbench::version().is_some() {
        our_statements_are_sysbenchs(&mariadb);
        sysbench_drives_too(&mariadb);
    } else {
        eprintln!("sysbench is not installed: nothing was compared with it");
    }
}

fn tables_are_whole_and_gaps_are_found(mariadb: &MariaDb) {
    let workload = workload("oltp_read_write", &[("tables", "3"), ("table_size", "7001")]);
    let check = || lab_driver::check(&mariadb.target(), &mariadb.server, &workload).unwrap();
    assert!(check().problems.iter().all(|problem| problem.contains("is not there")));
    prepare(mariadb, &workload, 4);
    let found = check();
    assert_eq!(found.problems, Vec::<String>::new());
    for table in &found.tables {
        assert_eq!(
            (table.rows, table.least_id, table.greatest_id),
            (7001, Some(1), Some(7001))
        );
        assert!(
            table.schema.iter().any(|key| key.starts_with("k_")),
            "{:?}",
            table.schema
        );
    }
    mariadb.control().query("DELETE FROM sbtest2 WHERE id=17").unwrap();
    let problems = check().problems;
    assert!(problems.len() == 1 && problems[0].contains("sbtest2"), "{problems:?}");
    lab_driver::cleanup(&mariadb.target(), &workload).unwrap();
    assert_eq!(check().problems.len(), 3);
}

fn the_same_rows_whoever_loads(mariadb: &MariaDb) {
    let workload = workload("oltp_read_write", &[("table_size", "9000")]);
    let mut sums = Vec::new();
    for connections in [1, 5] {
        prepare(mariadb, &workload, connections);
        sums.push(mariadb.control().query("CHECKSUM TABLE sbtest1").unwrap().rows);
        lab_driver::cleanup(&mariadb.target(), &workload).unwrap();
    }
    assert_eq!(sums[0], sums[1]);
}

fn every_workload_runs(mariadb: &MariaDb) {
    let variants: [&[(&str, &str)]; 3] = [
        &[],
        &[("filter", "on"), ("in_list", "20"), ("in_keys", "consecutive")],
        &[
            ("data", "rondb"),
            ("sort_keys", "on"),
            ("clip_ranges", "on"),
            ("tables", "2"),
        ],
    ];
    for kind in Workload::kinds() {
        let is_oltp = kind.starts_with("oltp_") || kind.starts_with("select_");
        for variant in variants.iter().take(if is_oltp { 3 } else { 1 }) {
            let mut options = variant.to_vec();
            options.push(if kind == "tpcc" {
                ("items", "200")
            } else {
                ("table_size", "2000")
            });
            options.extend((kind == "tpcc").then_some(("customers", "30")));
            let workload = workload(kind, &options);
            prepare(mariadb, &workload, 2);
            let mut spec = one_second();
            spec.measure = Duration::from_millis(200);
            // On so few rows transactions do meet; what is not a lock is a fault.
            let outcome = lab_driver::run(&mariadb.target(), &workload, &spec, &Stop::new(), &mut |_| {}).unwrap();
            assert_eq!(outcome.failure, None, "{kind} {variant:?}");
            assert!(outcome.totals.transactions > 0, "{kind} {variant:?}");
            lab_driver::cleanup(&mariadb.target(), &workload).unwrap();
        }
    }
}

fn tpcc_is_consistent_until_something_is_changed(mariadb: &MariaDb) {
    let options = [("warehouses", "2"), ("items", "500"), ("customers", "60")];
    let workload = workload("tpcc", &options);
    let check = || {
        lab_driver::check(&mariadb.target(), &mariadb.server, &workload)
            .unwrap()
            .problems
    };
    prepare(mariadb, &workload, 3);
    assert_eq!(check(), Vec::<String>::new());
    let outcome = lab_driver::run(&mariadb.target(), &workload, &one_second(), &Stop::new(), &mut |_| {}).unwrap();
    assert_eq!(outcome.failure, None);
    for transaction in ["new_order", "payment"] {
        assert!(outcome.statements[transaction].count > 0);
    }
    assert_eq!(check(), Vec::<String>::new());
    for (change, broken) in [
        (
            "UPDATE district SET d_ytd=d_ytd+1 WHERE d_w_id=2 AND d_id=3",
            "condition 1",
        ),
        (
            "DELETE FROM order_line WHERE ol_w_id=1 AND ol_d_id=1 AND ol_o_id=5 AND ol_number=1",
            "condition 6",
        ),
        (
            "UPDATE customer SET c_balance=c_balance+1 WHERE c_w_id=1 AND c_d_id=1 AND c_id=1",
            "condition 10",
        ),
        ("DELETE FROM new_order WHERE no_w_id=2 AND no_d_id=10", "condition 5"),
    ] {
        mariadb.control().query(change).unwrap();
        let problems = check();
        assert!(
            problems.iter().any(|problem| problem.contains(broken)),
            "{change}: {problems:?}"
        );
    }
    lab_driver::cleanup(&mariadb.target(), &workload).unwrap();
}

fn our_statements_are_sysbenchs(mariadb: &MariaDb) {
    let modes: [&[(&str, &str)]; 3] = [
        &[("table_size", "2000"), ("tables", "2")],
        &[("table_size", "2000"), ("db_ps_mode", "disable"), ("skip_trx", "on")],
        &[("table_size", "2000"), ("rand_type", "special")],
    ];
    for kind in Workload::kinds() {
        let is_sysbenchs = lab_driver::sysbench::has(kind);
        for mode in modes.iter().take(if is_sysbenchs { 3 } else { 0 }) {
            // Without transactions, two connections meet duplicates (1062), as in sysbench.
            if mode.contains(&("skip_trx", "on")) && matches!(kind, "oltp_read_write" | "oltp_write_only") {
                continue;
            }
            let workload = workload(kind, mode);
            let findings = lab_driver::verify::verify(&mariadb.target(), &mariadb.server, &workload, 200).unwrap();
            assert!(findings.len() > 6);
            for finding in findings {
                assert!(finding.agrees, "{kind} {mode:?}: {finding:?}");
            }
        }
    }
}

fn sysbench_drives_too(mariadb: &MariaDb) {
    let workload = workload("oltp_read_write", &[("table_size", "5000")]);
    prepare(mariadb, &workload, 2);
    let mut seconds = 0;
    let outcome = lab_driver::sysbench::run(&mariadb.target(), &workload, &one_second(), &Stop::new(), &mut |_| {
        seconds += 1;
    })
    .unwrap();
    assert_eq!(outcome.failure, None);
    assert!(outcome.totals.transactions > 0 && outcome.client.cpu_s > 0.0);
    assert_eq!(outcome.latency.count(), outcome.totals.transactions);
    let filtered = workload_with_filter();
    let refused = lab_driver::sysbench::run(&mariadb.target(), &filtered, &one_second(), &Stop::new(), &mut |_| {});
    assert!(refused.unwrap_err().to_string().contains("`filter`"));
    let mut wrong = mariadb.target();
    wrong.password = Password::new("wrong");
    let outcome = lab_driver::sysbench::run(&wrong, &workload, &one_second(), &Stop::new(), &mut |_| {}).unwrap();
    assert!(outcome.failure.is_some());
}

fn workload_with_filter() -> Workload {
    workload("oltp_read_write", &[("filter", "on")])
}
