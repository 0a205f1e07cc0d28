//! Against a real MariaDB, and the real sysbench, where they are installed: tables, statements, consistency.
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab_driver::{Control, Identity, Password, Pem, PrepareSpec, RungSpec, Stop, Target, Tls, TlsMode, Workload};
use lab_results::run::Load;

/// A MariaDB in a folder of its own; both are gone when this is.
struct MariaDb {
    process: Child,
    folder: PathBuf,
    server: String,
}

impl MariaDb {
    /// `None` where it is not installed.
    fn start(name: &str, options: &[String]) -> Option<MariaDb> {
        let folder = std::env::temp_dir().join(format!("lab-driver-{name}-{}", std::process::id()));
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
            .args(options)
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
    let Some(mariadb) = MariaDb::start("mariadb", &[]) else {
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

/// A folder of certificates as an administrator makes them.
struct Certificates(PathBuf);

impl Certificates {
    /// `None` where openssl is not installed.
    fn new() -> Option<Certificates> {
        let folder = std::env::temp_dir().join(format!("lab-driver-certificates-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let certificates = Certificates(folder);
        certificates
            .openssl("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem")?;
        for (name, subject) in [("server", "/CN=localhost"), ("client", "/CN=client")] {
            certificates.openssl(&format!(
                "req -newkey rsa:2048 -nodes -subj {subject} -addext subjectAltName=DNS:localhost -keyout {name}.key -out {name}.csr"
            ))?;
            // The client's is of X.509 version 1: no extensions are copied.
            let extensions = if name == "server" { "-copy_extensions copy" } else { "" };
            certificates.openssl(&format!(
                "x509 -req -days 2 -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial {extensions} -out {name}.pem"
            ))?;
        }
        Some(certificates)
    }

    fn openssl(&self, arguments: &str) -> Option<()> {
        let output = Command::new("openssl")
            .args(arguments.split_whitespace())
            .current_dir(&self.0)
            .output()
            .ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(())
    }

    fn option(&self, name: &str, file: &str) -> String {
        format!("--{name}={}", self.0.join(file).display())
    }

    fn pem(&self, file: &str) -> Pem {
        Pem::read(&self.0.join(file)).unwrap()
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn through_tls() {
    let Some(certificates) = Certificates::new() else {
        eprintln!("openssl is not installed: nothing was tested");
        return;
    };
    let options = [
        ("ssl-cert", "server.pem"),
        ("ssl-key", "server.key"),
        ("ssl-ca", "ca.pem"),
    ]
    .map(|(name, file)| certificates.option(name, file));
    let Some(mariadb) = MariaDb::start("mariadb-tls", &options) else {
        eprintln!("MariaDB is not installed: nothing was tested");
        return;
    };
    for sql in [
        "DELETE FROM mysql.global_priv WHERE User=''",
        "FLUSH PRIVILEGES",
        "CREATE USER known@'%' IDENTIFIED BY 'geheim' REQUIRE X509",
        "GRANT ALL ON *.* TO known@'%'",
    ] {
        mariadb.control().query(sql).unwrap();
    }
    let port = mariadb.server.rsplit(':').next().unwrap();
    let mut target = Target {
        servers: vec![format!("localhost:{port}")],
        user: "known".to_owned(),
        password: Password::new("geheim"),
        ..mariadb.target()
    };
    let connect = |target: &Target| Control::connect(target, &target.servers[0]).map(|control| control.encryption());
    assert!(
        connect(&target)
            .unwrap_err()
            .to_string()
            .contains("`tls = \"required\"`")
    );
    target.tls.mode = TlsMode::VerifyIdentity;
    target.tls.ca = Some(certificates.pem("ca.pem"));
    assert!(connect(&target).is_err(), "the account wants a certificate");
    target.tls.identity = Some(Identity {
        certificate: certificates.pem("client.pem"),
        key: certificates.pem("client.key"),
    });
    assert!(connect(&target).unwrap().unwrap().starts_with("TLSv1.3 TLS_"));
    let by_address = Target {
        servers: vec![mariadb.server.clone()],
        ..target.clone()
    };
    assert!(
        connect(&by_address)
            .unwrap_err()
            .to_string()
            .contains("made out to localhost")
    );

    // Filled, checked and read through TLS, by prepared statements whose columns come once (MariaDB's flags) and by text.
    let mut workload = workload("oltp_read_write", &[("table_size", "3000")]);
    let spec = PrepareSpec {
        connections: 2,
        seed: 5,
    };
    lab_driver::prepare(&target, &workload, &spec, &Stop::new(), &mut |_, _| {}).unwrap();
    for mode in ["auto", "disable"] {
        workload = self::workload("oltp_read_write", &[("table_size", "3000"), ("db_ps_mode", mode)]);
        let outcome = lab_driver::run(&target, &workload, &one_second(), &Stop::new(), &mut |_| {}).unwrap();
        assert!(outcome.failure.is_none() && outcome.totals.transactions > 0, "{mode}");
        let ranges = &outcome.statements["simple_range"];
        assert!(ranges.rows > ranges.count * 90);
    }
    let found = lab_driver::check(&target, &target.servers[0], &workload).unwrap();
    assert_eq!(found.problems, Vec::<String>::new());
    if lab_driver::sysbench::version().is_some() {
        sysbench_speaks_tls_as_far_as_it_can(&target, &workload);
    }
}

fn sysbench_speaks_tls_as_far_as_it_can(target: &Target, workload: &Workload) {
    let run = |target: &Target| lab_driver::sysbench::run(target, workload, &one_second(), &Stop::new(), &mut |_| {});
    let refused = |mode: TlsMode, without_files: bool| {
        let mut target = target.clone();
        target.tls.mode = mode;
        if without_files {
            target.tls.identity = None;
        }
        run(&target).unwrap_err().to_string()
    };
    assert!(refused(TlsMode::VerifyIdentity, false).contains("no `tls = \"verify_identity\"`"));
    assert!(refused(TlsMode::Required, true).contains("`tls_cert`"));
    let mut target = target.clone();
    target.tls.mode = TlsMode::VerifyCa;
    // The account lets nobody in whose connection is plain.
    let outcome = run(&target).unwrap();
    assert_eq!(outcome.failure, None);
    assert!(outcome.totals.transactions > 0);
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
