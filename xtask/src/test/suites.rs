//! The suites, cheap ones first.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::{Context, run, tools};

pub struct Suite {
    pub name: &'static str,
    pub about: &'static str,
    /// Programs without which it is skipped.
    pub needs: &'static [&'static str],
    /// Whether it gets the address of a running server; otherwise it starts what it needs by itself.
    pub with_server: bool,
    /// Flags of that server beside its addresses and data.
    pub server_flags: &'static [&'static str],
    pub time_limit: Duration,
    /// Fetches and builds what the suite needs, and says how to run it.
    pub command: fn(&Context) -> Result<Command>,
}

impl Suite {
    /// `clients` stands for all that begin with `client-`, `redis` for those that begin with `redis-`.
    pub fn matches(&self, name: &str) -> bool {
        self.name == name
            || name == "clients" && self.name.starts_with("client-")
            || name == "redis" && self.name.starts_with("redis-")
    }

    pub fn needs_server_binary(&self) -> bool {
        !matches!(self.name, "crates" | "fuzz" | "loom" | "sim")
    }
}

pub const fn minutes(n: u64) -> Duration {
    Duration::from_secs(60 * n)
}

const fn client(
    name: &'static str,
    about: &'static str,
    needs: &'static [&'static str],
    command: fn(&Context) -> Result<Command>,
) -> Suite {
    Suite {
        name,
        about,
        needs,
        with_server: true,
        server_flags: &[],
        time_limit: minutes(5),
        command,
    }
}

/// Suites that run only when they are named: without the names here, they belong to every run.
pub const ON_REQUEST: &[&str] = &[
    // They take long, or fetch much.
    "growth",
    "redis-clients",
    "redis-units",
    "redis-differential",
    "redis-hostile",
];

pub const SUITES: &[Suite] = &[
    Suite {
        name: "crates",
        about: "unit, property and integration tests of every crate",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(30),
        command: |context| {
            let mut command = Command::new(env!("CARGO"));
            command
                .args(["test", "--workspace", "--quiet", "--no-fail-fast"])
                .current_dir(&context.root);
            Ok(command)
        },
    },
    Suite {
        name: "sql",
        about: "the SQL scripts of tests/sql, by text and prepared",
        needs: &[],
        with_server: true,
        server_flags: &[],
        time_limit: minutes(5),
        command: |context| Ok(shell_suite(context, SQL)),
    },
    Suite {
        name: "schedules",
        about: "the schedules of tests/schedules: several sessions step by step, at every isolation level",
        needs: &[],
        with_server: true,
        server_flags: &[],
        time_limit: minutes(5),
        command: |context| Ok(shell_suite(context, SCHEDULES)),
    },
    Suite {
        name: "schedules-cluster",
        about: "the same on three nodes: through one that follows, through all in turn, and with a lead that moves in the middle",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(20),
        command: |context| {
            let debug = run::built(context, &["schedules"])?;
            let mut schedules = Command::new(debug.join("schedules"));
            schedules
                .arg("--cluster")
                .arg(context.server_binary())
                .arg("--dir")
                .arg(context.target("test-data/schedules-cluster"))
                .current_dir(&context.root);
            Ok(schedules)
        },
    },
    Suite {
        name: "rights",
        about: "a statement of every kind under every privilege and scope, held to MySQL's recorded answers (tests/rights)",
        needs: &[],
        with_server: true,
        server_flags: &[],
        time_limit: minutes(30),
        command: |context| {
            // The address is known to the suite's environment only once the server runs.
            let mut command = Command::new("sh");
            command.args(["-c", RIGHTS]);
            command.arg(env!("CARGO")).current_dir(&context.root);
            Ok(command)
        },
    },
    Suite {
        name: "histories",
        about: "random transactions of many clients at every isolation level, with kills; planted bugs that must be found",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(10),
        command: |context| {
            // Only the unoptimised server can be told to do wrong.
            let debug = run::built(context, &["latsdb", "histories"])?;
            let (seconds, transactions) = if context.options.long {
                ("3600", "1000000")
            } else {
                ("60", "4000")
            };
            let mut histories = Command::new("sh");
            histories
                .args(["-c", HISTORIES])
                .arg(debug.join("histories"))
                .arg("--binary")
                .arg(debug.join("latsdb"))
                .arg("--dir")
                .arg(context.target("test-data/histories"))
                .args(["--port", &run::free_ports(2)?.to_string()])
                .env("SECONDS_MAX", seconds)
                .env("TRANSACTIONS", transactions)
                .current_dir(&context.root);
            Ok(histories)
        },
    },
    Suite {
        name: "cluster",
        about: "the same by clients of three nodes, of which one after the other is killed, most often the one that leads",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(10),
        command: |context| {
            let (seconds, transactions) = match context.options.long {
                true => ("3600", "1000000"),
                false => ("60", "3000"),
            };
            let debug = run::built(context, &["histories"])?;
            let mut histories = Command::new(debug.join("histories"));
            histories
                .arg("--binary")
                .arg(context.server_binary())
                .arg("--dir")
                .arg(context.target("test-data/cluster"))
                .args(["--port", &run::free_ports(9)?.to_string()])
                .args(["--nodes", "3", "--clients", "9"])
                .args(["run", "--round", "250", "--kill-every", "2"])
                .args(["--transactions", transactions, "--seconds", seconds])
                .current_dir(&context.root);
            Ok(histories)
        },
    },
    Suite {
        name: "sim",
        about: "simulated clusters, each from a seed: kills, power cuts, partitions, bad disks, what must hold all the same, and planted bugs that must be found",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(25),
        command: |context| {
            let debug = run::built(context, &["sim"])?;
            let (seeds, minutes, minutes_of_sql) = match context.options.long {
                true => ("1..1000000", "30", "30"),
                false => ("1..200", "1", "2"),
            };
            // The bugs that it has to find; with rows on all nodes; with a witness; by transactions, and by SQL.
            let all = r#""$0" planted
                for how in "" "--witness"; do "$0" seeds "$1" --minutes "$2" $how; done
                for how in "--sql" "--sql --witness"; do "$0" seeds "$1" --minutes "$3" $how; done"#;
            let mut sim = Command::new("sh");
            sim.args(["-c", all])
                .arg(debug.join("latsdb-sim"))
                .args([seeds, minutes, minutes_of_sql])
                .current_dir(&context.root);
            Ok(sim)
        },
    },
    Suite {
        name: "availability",
        about: "nodes in network namespaces that are killed, paused, cut off, replaced: nothing lost, nothing stale, nobody hangs; for root",
        needs: &["python3", "ip", "openssl"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(30),
        command: |context| {
            let python = tools::python(context)?;
            let mut python = own_nodes(python, context, "availability", "tests/availability")?;
            python.args(["--prefix", "lats-t", "--subnet", "10.79.1", "--safety"]);
            if !context.options.long {
                python.arg("--quick");
            }
            Ok(python)
        },
    },
    Suite {
        name: "generated",
        about: "statements made at random, checked against LatsDB itself, with restarts and kills",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(6),
        command: |context| {
            let mut generator = Command::new(env!("CARGO"));
            // The short form runs the same statements wherever it runs.
            let (statements, seconds) = match context.options.long {
                true => ("1000000000", "3600"),
                false => ("15000", "300"),
            };
            generator
                .args(["run", "--quiet", "--package", "sqlgen", "--", "itself"])
                .args(["--statements", statements, "--seconds", seconds])
                .args(["--port", &run::free_ports(2)?.to_string()])
                .arg("--binary")
                .arg(context.server_binary())
                .arg("--out")
                .arg(context.target("test-data/generated"))
                .current_dir(&context.root);
            Ok(generator)
        },
    },
    Suite {
        name: "fuzz",
        about: "mutated bytes to everything that decodes bytes",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(6),
        command: |context| {
            let mut fuzz = Command::new(env!("CARGO"));
            let (inputs, seconds) = match context.options.long {
                true => ("1000000000", "3600"),
                false => ("5000", "120"),
            };
            fuzz.args(["run", "--quiet", "--package", "fuzz", "--"])
                .args(["--inputs", inputs, "--seconds", seconds])
                .current_dir(&context.root);
            Ok(fuzz)
        },
    },
    Suite {
        name: "loom",
        about: "the lock-free parts under every order of their steps",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(6),
        command: |context| {
            let mut loom = Command::new(env!("CARGO"));
            loom.args(["test", "--quiet", "--release", "--package", "store", "--lib", "loom_"])
                .env("RUSTFLAGS", "--cfg loom")
                .env("CARGO_TARGET_DIR", context.target("loom"))
                .current_dir(&context.root);
            Ok(loom)
        },
    },
    client(
        "client-cli",
        "the mariadb command line",
        &["mariadb", "bash"],
        |context| Ok(Command::new(context.root.join("tests/clients/cli/suite.sh"))),
    ),
    client("client-pymysql", "PyMySQL", &["python3"], |context| {
        python_suite(context, "test_pymysql.py")
    }),
    client("client-connector", "mysql-connector-python", &["python3"], |context| {
        python_suite(context, "test_connector.py")
    }),
    client("client-go", "Go, go-sql-driver/mysql", &["go"], |context| {
        Ok(in_folder(tools::go_suite(context)?, context, "go"))
    }),
    client("client-node", "Node, mysql2", &["node", "npm"], |context| {
        let mut node = tools::node(context)?;
        node.arg("suite.mjs");
        Ok(in_folder(node, context, "node"))
    }),
    client(
        "client-java",
        "MariaDB Connector/J",
        &["java", "javac", "mvn"],
        |context| {
            let mut java = tools::java(context)?;
            java.arg("Suite.java");
            Ok(in_folder(java, context, "java"))
        },
    ),
    client("client-rust", "Rust, mysql_async", &[], |context| {
        Ok(in_folder(tools::rust_suite(context)?, context, "rust"))
    }),
    Suite {
        name: "applications",
        about: "real applications, those that install in seconds (all of them: cargo xtask apps)",
        needs: &["python3", "bash", "mariadb", "go", "node", "npm"],
        with_server: true,
        server_flags: &[],
        time_limit: minutes(15),
        command: |context| {
            let mut python = applications(context);
            if !context.options.long {
                python.arg("--quick");
            }
            Ok(python)
        },
    },
    Suite {
        name: "failover",
        about: "drivers with several hosts to go to, while the node that they are connected to dies, is drained, or stands still",
        needs: &["python3", "openssl"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(5),
        command: |context| {
            let python = tools::python(context)?;
            let mut python = own_nodes(python, context, "failover", "tests/failover")?;
            tools::name_drivers(context, &mut python)?;
            Ok(python)
        },
    },
    Suite {
        name: "sysbench",
        about: "sysbench's OLTP scripts, with the data checked after every run",
        needs: &["sysbench", "python3"],
        with_server: true,
        server_flags: &[],
        time_limit: minutes(10),
        command: |context| {
            let mut python = tools::python(context)?;
            python.arg(context.root.join("tests/sysbench/matrix.py"));
            if context.options.long {
                python.args(["--long", "--seconds", "2"]);
            }
            Ok(python)
        },
    },
    Suite {
        name: "lab",
        about: "the lab end to end: ladder, open loop, faults with the data checked, Ctrl-C; five nodes judged",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(10),
        command: |context| {
            // The example is the lab as a process of its own. The nodes, which watch the processor, have the machine to themselves.
            let mut lab = shell_suite(context, LAB);
            lab.env("LAB_TEST_LATSDB", context.server_binary());
            Ok(lab)
        },
    },
    Suite {
        name: "crash",
        about: "kill -9, torn and damaged logs, failing and full disks",
        needs: &[],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(20),
        command: |context| {
            // Only the unoptimised server can be told to fail its disk.
            let debug = run::built(context, &["latsdb", "crashtest"])?;
            let mut crash = Command::new(debug.join("crashtest"));
            crash
                .arg("--server")
                .arg(debug.join("latsdb"))
                .arg("--dir")
                .arg(context.target("test-data/crash/data"));
            crash.arg("--port").arg(run::free_ports(2)?.to_string());
            crash.arg("all").current_dir(&context.root);
            if !context.options.long {
                crash.args(["--flips", "10"]);
            }
            Ok(crash)
        },
    },
    Suite {
        name: "rest",
        about: "rows, SQL and transactions over HTTP, a generated client, the examples of docs/rest.md, and requests that no server deserves",
        needs: &["python3", "bash", "curl"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(10),
        command: |context| own_nodes(tools::python(context)?, context, "rest", "tests/rest"),
    },
    Suite {
        name: "python-client",
        about: "the Python client: values, lost answers, transactions, Arrow and pandas, training sets, the examples of its README",
        needs: &["python3"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(5),
        command: |context| {
            let python = tools::python(context)?;
            own_nodes(python, context, "python-client", "clients/python/tests")
        },
    },
    Suite {
        name: "feast",
        about: "LatsDB as the online store of the real Feast: apply, materialize, get_online_features, time to live, teardown",
        needs: &["python3"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(5),
        command: |context| {
            let python = tools::python_of_feast(context)?;
            own_nodes(python, context, "feast", "clients/feast/tests")
        },
    },
    Suite {
        name: "monitoring",
        about: "the dashboard, the alert rules and the table of metrics, held to what nodes show, by promtool and a Prometheus",
        needs: &["python3", "promtool", "prometheus"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(5),
        command: |context| {
            let python = tools::python(context)?;
            own_nodes(python, context, "monitoring", "tests/monitoring")
        },
    },
    Suite {
        name: "console",
        about: "the console in headless Chromium: every view, logins, KILL, hostile names, the keyboard alone, both schemes, a lost node",
        needs: &["python3", "chromium"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(10),
        command: |context| {
            let python = tools::python(context)?;
            own_nodes(python, context, "console", "tests/console")
        },
    },
    Suite {
        name: "abuse",
        about: "garbage, slow and greedy clients, beside one that must not notice",
        needs: &["python3"],
        with_server: true,
        server_flags: &["--memory-limit", "1GiB"],
        time_limit: minutes(20),
        command: |context| {
            let mut python = tools::python(context)?;
            python.arg(context.root.join("tests/abuse/suite.py"));
            Ok(python)
        },
    },
    Suite {
        name: "hostile",
        about: "every function, operator and clause with hostile values, deep, wide and long, beside a client that must not notice",
        needs: &["python3"],
        with_server: true,
        server_flags: &["--memory-limit", "1GiB"],
        time_limit: minutes(75),
        command: |context| {
            let mut python = tools::python(context)?;
            python.arg(context.root.join("tests/hostile/suite.py"));
            // Without optimization, and beside other work: stalls and late ends of seconds are found here, shorter ones by the long form.
            python.args([
                "--seed", "1", "--shrink", "0", "--go-on", "--pause", "10", "--end", "15",
            ]);
            match context.options.long {
                true => python.args(["--seconds", "3600", "--large"]),
                // The same statements wherever it runs.
                false => python.args(["--seconds", "240", "--statements", "9000"]),
            };
            Ok(python)
        },
    },
    Suite {
        name: "growth",
        about: "statements and sessions with ever more of one thing, whose cost must grow no faster than that",
        needs: &["python3"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(120),
        command: |context| {
            let mut python = tools::python(context)?;
            python
                .arg(context.root.join("tests/hostile/growth.py"))
                .arg("--server")
                .arg(context.server_binary())
                .args(["--port", &run::free_ports(2)?.to_string()]);
            if !context.options.long {
                python.args(["--seconds", "0.5", "--limit", "1500"]);
            }
            Ok(python)
        },
    },
    Suite {
        name: "robustness",
        about: "the worst statements known, beside connections that must not notice (the figures: cargo xtask robustness)",
        needs: &["python3"],
        with_server: true,
        server_flags: &["--memory-limit", "512MiB"],
        time_limit: minutes(15),
        command: |context| {
            let mut python = Command::new("python3");
            // Without optimization, and beside other work: only what never ends or takes everything is found here.
            python.env("PYTHONDONTWRITEBYTECODE", "1");
            python
                .arg(context.root.join("tests/robustness/suite.py"))
                .args(["--seconds", "2", "--attackers", "2", "--rows", "20000"])
                .args([
                    "--wait-max",
                    "2000",
                    "--without-known",
                    "--kill-max",
                    "5000",
                    "--resident-max",
                    "1024",
                ]);
            Ok(python)
        },
    },
    Suite {
        name: "redis-clients",
        about: "drivers and applications of Redis",
        needs: &["python3"],
        with_server: true,
        server_flags: REDIS,
        time_limit: minutes(30),
        command: |context| redis_suite(context, "clients/run.py"),
    },
    Suite {
        name: "redis-units",
        about: "Redis's own tests, unit by unit",
        needs: &["python3", "tclsh", "apt-get"],
        with_server: true,
        server_flags: REDIS,
        time_limit: minutes(60),
        command: |context| redis_suite(context, "units/suite.py"),
    },
    Suite {
        name: "redis-differential",
        about: "random commands beside a real Redis, compared byte for byte; planted differences that must be found",
        needs: &["python3"],
        with_server: true,
        server_flags: REDIS,
        time_limit: minutes(30),
        command: |context| {
            // The lies of a proxy come first: a search that finds nothing anywhere proves nothing.
            let script =
                "\"$0\" \"$1\" --planted --seed 1 --seconds 60 && exec \"$0\" \"$1\" --seed 1 --commands \"$2\"";
            let python = tools::python(context)?;
            let mut both = Command::new("sh");
            both.args(["-c", script])
                .arg(python.get_program())
                .arg(context.root.join("tests/redis/differential/suite.py"))
                .arg(if context.options.long { "1000000" } else { "20000" })
                .env("PYTHONDONTWRITEBYTECODE", "1");
            Ok(both)
        },
    },
    Suite {
        name: "redis-histories",
        about: "many Redis clients, and SQL on the same keys, while the server is killed",
        needs: &["python3"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(15),
        command: |context| {
            let mut python = redis_suite(context, "histories/suite.py")?;
            let server = format!(
                "'{}' serve --data-dir {{dir}}/data --redis-addr 127.0.0.1:{{port}} --mysql-addr 127.0.0.1:{{sql}} --http-addr 127.0.0.1:{{http}}",
                context.server_binary().display()
            );
            python.arg("--server").arg(server);
            python.arg("--dir").arg(context.target("test-data/redis-histories"));
            python.args(["--rounds", if context.options.long { "100" } else { "4" }]);
            Ok(python)
        },
    },
    Suite {
        name: "redis-pubsub",
        about: "messages and keyspace notifications between three nodes, which are killed and paused",
        needs: &["python3"],
        with_server: false,
        server_flags: &[],
        time_limit: minutes(15),
        command: |context| {
            let mut python = redis_suite(context, "pubsub/suite.py")?;
            python.arg("--cluster").arg(context.server_binary());
            python.arg("--dir").arg(context.target("test-data/redis-pubsub"));
            Ok(python)
        },
    },
    Suite {
        name: "redis-hostile",
        about: "Redis clients that break the rules or ask for too much, beside one that must not notice",
        needs: &["python3"],
        with_server: true,
        server_flags: &["--redis-addr", "127.0.0.1:0", "--memory-limit", "1GiB"],
        time_limit: minutes(20),
        command: |context| {
            let mut python = redis_suite(context, "hostile.py")?;
            if !context.options.long {
                python.arg("--quick");
            }
            Ok(python)
        },
    },
];

/// Flags of a server that Redis's clients can reach: the suite finds it in `REDIS_ADDRESS`.
const REDIS: &[&str] = &["--redis-addr", "127.0.0.1:0"];

/// Every recorded difference has to be explained, too.
const SQL: &str = "
    \"$0\" run --quiet --package sqltest -- --differences tests/sql tests/sql/generated crates/sql/tests/expr > target/test-logs/differences.log || {
        tail -n 4 target/test-logs/differences.log; exit 1; }
    exec \"$0\" run --quiet --package sqltest -- --addr \"$DB_HOST:$DB_PORT\" --user \"$DB_USER\" tests/sql tests/sql/generated";

const SCHEDULES: &str =
    "exec \"$0\" run --quiet --package schedules -- --addr \"$DB_HOST:$DB_PORT\" --user \"$DB_USER\"";

const RIGHTS: &str =
    "exec \"$0\" run --quiet --package sqltest --bin rights -- --addr \"$DB_HOST:$DB_PORT\" --user \"$DB_USER\"";

const HISTORIES: &str = "\"$0\" \"$@\" planted && exec \"$0\" \"$@\" run --round 250 --transactions \"$TRANSACTIONS\" --seconds \"$SECONDS_MAX\"";

const LAB: &str = "
    \"$0\" test --quiet --package lab --test all --example lab -- --ignored --test-threads 2
    end_to_end=$?
    \"$0\" test --quiet --package lab-host --test five_nodes -- --ignored
    five_nodes=$?
    exit $((end_to_end | five_nodes))";

/// The script finds cargo in `$0`, and the server's address in the suite's environment, where it stands once the server runs.
fn shell_suite(context: &Context, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO")]).current_dir(&context.root);
    command
}

/// Needs nothing but Python's own library; what the applications need, they fetch themselves.
pub fn applications(context: &Context) -> Command {
    let mut python = Command::new("python3");
    python
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(context.root.join("tests/applications/run.py"));
    python
}

fn redis_suite(context: &Context, file: &str) -> Result<Command> {
    let mut python = tools::python(context)?;
    python.arg(context.root.join("tests/redis").join(file));
    Ok(python)
}

fn python_suite(context: &Context, file: &str) -> Result<Command> {
    let mut python = tools::python(context)?;
    python.arg(file);
    Ok(in_folder(python, context, "python"))
}

/// A suite that starts nodes of its own.
fn own_nodes(mut python: Command, context: &Context, name: &str, folder: &str) -> Result<Command> {
    python
        .arg(context.root.join(folder).join("suite.py"))
        .arg("--binary")
        .arg(context.server_binary())
        .arg("--dir")
        .arg(context.target("test-data").join(name));
    Ok(python)
}

fn in_folder(mut command: Command, context: &Context, client: &str) -> Command {
    command.current_dir(context.root.join("tests/clients").join(client));
    command
}
