//! A plan out of an `autobench.conf`: the shell variables by which sysbench-based bench scripts are told what to run.
//!
//! What has a counterpart is carried over; what has none is listed in the plan as a comment, so that nobody believes it holds.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// The plan's text for the file at `path`.
pub fn import(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let plan = plan_of(&text, &path.display().to_string()).with_context(|| format!("{}", path.display()))?;
    super::parse(&plan).with_context(|| format!("{}: what it asks for makes no plan", path.display()))?;
    Ok(plan)
}

/// Assignments of a shell file, the last one of each name.
fn variables(text: &str) -> Result<BTreeMap<String, String>> {
    let mut variables = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let Some((name, value)) = line.split_once('=') else {
            bail!("line {}: `{line}` is not NAME=\"value\"", number + 1);
        };
        let (name, value) = (name.trim(), value.trim());
        if value.contains('$') && !value.starts_with('\'') && !name.contains("PASS") {
            bail!(
                "line {}: {name} is made of other variables, and nothing is expanded here: write its value",
                number + 1
            );
        }
        variables.insert(name.to_owned(), unquoted(value).to_owned());
    }
    Ok(variables)
}

/// Without quotes, or up to a comment.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(rest) = value.strip_prefix(quote) {
            return rest.split(quote).next().unwrap_or(rest);
        }
    }
    value.split_whitespace().next().unwrap_or("")
}

/// Variables that are an option of the workload, by another name.
const OPTIONS: &[(&str, &str)] = &[
    ("SB_NUM_TABLES", "tables"),
    ("SYSBENCH_ROWS", "table_size"),
    ("SB_RANGE_SIZE", "range_size"),
    ("SB_POINT_SELECTS", "point_selects"),
    ("SB_SIMPLE_RANGES", "simple_ranges"),
    ("SB_SUM_RANGES", "sum_ranges"),
    ("SB_ORDER_RANGES", "order_ranges"),
    ("SB_DISTINCT_RANGES", "distinct_ranges"),
    ("SB_USE_IN_STATEMENT", "in_list"),
    ("SB_DIST_TYPE", "rand_type"),
];

/// The same for switches, yes and no.
const SWITCHES: &[(&str, &str)] = &[
    ("SB_USE_FILTER", "filter"),
    ("SB_AVOID_DEADLOCKS", "sort_keys"),
    ("SB_USE_AUTO_INC", "auto_inc"),
    ("SB_USE_SECONDARY_INDEX", "secondary"),
];

const KINDS: &[(&str, &str)] = &[
    ("oltp_rw", "oltp_read_write"),
    ("oltp_ro", "oltp_read_only"),
    ("oltp_ro_ps", "oltp_point_select"),
    ("oltp_write_intensive", "oltp_write_only"),
];

fn plan_of(text: &str, source: &str) -> Result<String> {
    let mut given = variables(text)?;
    let mut take = |name: &str| given.remove(name).filter(|value| !value.is_empty());

    if let Some(benchmark) = take("BENCHMARK_TO_RUN")
        && benchmark != "sysbench"
    {
        bail!("BENCHMARK_TO_RUN=\"{benchmark}\": only `sysbench` can be imported");
    }
    let test = take("SYSBENCH_TEST").unwrap_or_else(|| "oltp_rw".to_owned());
    let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == test) else {
        let known: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        bail!(
            "SYSBENCH_TEST=\"{test}\" has no counterpart; there is one for {}",
            known.join(", ")
        );
    };
    let port = take("SERVER_PORT").unwrap_or_else(|| "3306".to_owned());
    let port = port.split(';').next().unwrap_or("3306").to_owned();
    let hosts: Vec<String> = take("SERVER_HOST")
        .unwrap_or_else(|| "127.0.0.1".to_owned())
        .split([';', ','])
        .map(str::trim)
        .filter(|host| !host.is_empty())
        .map(|host| format!("\"{host}:{port}\""))
        .collect();
    let threads = take("THREAD_COUNTS_TO_RUN").unwrap_or_else(|| "1;2;4;8;12;16;24;32;48;64;96;112;128".to_owned());
    let mut threads: Vec<u32> = threads
        .split([';', ','])
        .filter(|count| !count.trim().is_empty())
        .map(|count| {
            count
                .trim()
                .parse()
                .with_context(|| format!("THREAD_COUNTS_TO_RUN: `{count}` is not a number"))
        })
        .collect::<Result<_>>()?;
    threads.sort_unstable();
    threads.dedup();
    let seconds = take("MAX_TIME").unwrap_or_else(|| "60".to_owned());
    let repeats = take("NUM_TEST_RUNS").unwrap_or_else(|| "1".to_owned());
    let pause = take("BETWEEN_RUNS").unwrap_or_else(|| "1".to_owned());
    let user = take("MYSQL_USER").unwrap_or_else(|| "root".to_owned());
    let has_password = take("MYSQL_PASSWORD").is_some();
    let seed = take("SB_RANDOM_SEED").or_else(|| take("SYSBENCH_SEED"));
    let engine = take("ENGINE").or_else(|| take("MYSQL_ENGINE"));
    let instances = take("SYSBENCH_INSTANCES");

    let mut plan = format!("# Made of {source}. Threads are per server, as there.\n\nname = \"{test}\"\n");
    if let Some(seed) = seed {
        writeln!(plan, "seed = {seed}")?;
    }
    writeln!(
        plan,
        "\n[[target]]\nname = \"imported\"\nhosts = [{}]",
        hosts.join(", ")
    )?;
    writeln!(plan, "user = \"{user}\"")?;
    if has_password {
        writeln!(
            plan,
            "password_env = \"MYSQL_PASSWORD\"       # export it: a plan holds no password"
        )?;
    }
    writeln!(plan, "\n[[workload]]\nname = \"{test}\"\nkind = \"{kind}\"")?;
    if let Some(engine) = engine {
        writeln!(plan, "mysql_storage_engine = \"{engine}\"")?;
    }
    options(&mut plan, &mut take)?;
    writeln!(
        plan,
        "data = \"rondb\"                # rows and updates as those scripts' sysbench 0.4 has them; sysbench 1's without this\n\
         clip_ranges = true"
    )?;
    if let Some(instances) = instances
        && instances.parse() != Ok(hosts.len())
    {
        writeln!(
            plan,
            "# SYSBENCH_INSTANCES=\"{instances}\" was for {} servers: here every server gets the ladder's threads.",
            hosts.len()
        )?;
    }
    writeln!(plan, "\n[ladder]\nthreads_per_server = {threads:?}")?;
    writeln!(
        plan,
        "warmup = \"5s\"                # the scripts had none\nmeasure = \"{seconds}s\""
    )?;
    writeln!(
        plan,
        "cooldown = \"{pause}s\"\nrepeats = {repeats}\norder = \"sequential\""
    )?;
    if !given.is_empty() {
        writeln!(plan, "\n# These have no counterpart here and do not hold:")?;
        for (name, value) in &given {
            let value = if name.contains("PASS") { "…" } else { value };
            writeln!(plan, "#   {name}=\"{value}\"")?;
        }
    }
    Ok(plan)
}

fn options(plan: &mut String, take: &mut impl FnMut(&str) -> Option<String>) -> Result<()> {
    let in_keys = take("SB_USE_IN_STATEMENT");
    for (variable, option) in OPTIONS {
        let value = match *variable {
            "SB_USE_IN_STATEMENT" => in_keys.clone(),
            "SYSBENCH_ROWS" => Some(take(variable).unwrap_or_else(|| "1000000".to_owned())),
            _ => take(variable),
        };
        match value {
            Some(value) if value.parse::<u64>().is_ok() => writeln!(plan, "{option} = {value}")?,
            Some(value) => writeln!(plan, "{option} = \"{value}\"")?,
            None => {}
        }
    }
    if in_keys.is_some_and(|keys| keys != "0") {
        writeln!(plan, "in_keys = \"consecutive\"")?;
    }
    for (variable, option) in SWITCHES {
        if let Some(value) = take(variable) {
            writeln!(plan, "{option} = {}", value == "yes")?;
        }
    }
    if take("SB_USE_TRX").is_some_and(|value| value == "no") {
        writeln!(plan, "skip_trx = true")?;
    }
    if take("SB_USE_RANGE").is_some_and(|value| value == "no") {
        writeln!(plan, "range_selects = false")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONF: &str = r#"
# how the cluster manager writes it
BENCHMARK_TO_RUN="sysbench"
SYSBENCH_TEST="oltp_rw"
SERVER_HOST="10.0.0.1;10.0.0.2"
SERVER_PORT="3307"
MYSQL_USER="bench"
MYSQL_PASSWORD="hunter2"
THREAD_COUNTS_TO_RUN="1;2;4"
MAX_TIME="30"
SYSBENCH_ROWS="1000"
SB_USE_FILTER="yes"
SB_USE_IN_STATEMENT="100"
SB_DISTINCT_RANGES="0"
TASKSET="taskset"
"#;

    #[test]
    fn an_autobench_conf_becomes_a_plan() {
        let text = plan_of(CONF, "autobench.conf").unwrap();
        let plan = crate::plan::parse(&text).unwrap();
        assert_eq!(plan.targets[0].hosts, ["10.0.0.1:3307", "10.0.0.2:3307"]);
        assert_eq!(plan.targets[0].password_env.as_deref(), Some("MYSQL_PASSWORD"));
        let workload = &plan.workloads[0];
        let option = |name: &str| workload.options.get(name).map(|fact| fact.0.as_str());
        assert_eq!(workload.kind, "oltp_read_write");
        assert_eq!(option("table_size"), Some("1000"));
        assert_eq!(option("filter"), Some("true"));
        assert_eq!(
            (option("in_list"), option("in_keys")),
            (Some("100"), Some("consecutive"))
        );
        assert_eq!(option("distinct_ranges"), Some("0"));
        let ladder = plan.ladder.unwrap();
        assert_eq!(ladder.threads_per_server, [1, 2, 4]);
        assert_eq!(ladder.measure.to_string(), "30s");
        assert!(text.contains("TASKSET"), "what does not hold is named");
        assert!(!text.contains("hunter2"), "the password stays where it was");
    }

    #[test]
    fn what_a_shell_would_have_to_make_is_refused_with_its_line() {
        let error = plan_of("MAX_TIME=\"30\"\nSERVER_HOST=\"$HOST1;$HOST2\"", "x")
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("line 2: SERVER_HOST"), "{error}");
    }

    #[test]
    fn counts_in_any_order_become_a_ladder() {
        let text = plan_of("THREAD_COUNTS_TO_RUN=\"8;1;8;64\"", "x").unwrap();
        let plan = crate::plan::parse(&text).unwrap();
        assert_eq!(plan.ladder.unwrap().threads_per_server, [1, 8, 64]);
    }

    #[test]
    fn another_benchmark_is_refused_by_name() {
        let error = plan_of("BENCHMARK_TO_RUN=\"dbt2\"", "x").unwrap_err().to_string();
        assert!(error.contains("dbt2"), "{error}");
    }
}
