//! What must hold before the first rung, looked at in seconds instead of found out in hours: servers that answer and take
//! enough connections and prepared statements, files and disk enough here, and the same rows on every target.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use lab_driver::{Check, Control, DriverError, PrepareSpec};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::interrupt::Interrupt;
use crate::progress::Progress;
use crate::subject::{Sent, Subject};

/// What a target said of itself.
#[derive(Debug, Default)]
pub struct Facts {
    pub versions: Vec<String>,
    pub variables: BTreeMap<String, String>,
    /// Of each server, protocol and cipher, or `plain`.
    pub encryption: Vec<String>,
}

/// What a server must take during the series.
#[derive(Debug, Clone, Copy)]
pub struct Demand {
    /// Connections at once to one server; those that are idle among them.
    pub connections_per_server: u64,
    pub prepared_per_server: u64,
}

/// Server variables that decide what figures mean; those that exist are kept with the results.
const VARIABLES: &[&str] = &[
    "binlog_format",
    "character_set_server",
    "innodb_buffer_pool_size",
    "innodb_doublewrite",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "log_bin",
    "max_connections",
    "max_prepared_stmt_count",
    "performance_schema",
    "query_cache_type",
    "sync_binlog",
    "thread_handling",
    "transaction_isolation",
    "tx_isolation",
    "version",
    "version_comment",
    "wsrep_cluster_size",
    "wsrep_on",
    "wsrep_sync_wait",
];

/// Connections that a server needs beside the load's: ours for looking, and somebody's who watches.
const SPARE_CONNECTIONS: u64 = 5;
/// Files of ours that are no connections.
const SPARE_FILES: u64 = 200;
const FREE_DISK_MIN: u64 = 1 << 30;
const REPLICATION_LIMIT: Duration = Duration::from_secs(20);
const LOAD_CONNECTIONS: usize = 4;
const NO_SUCH_DATABASE: u16 = 1049;

/// Whether this process may have so many connections. Raises the soft limit of open files where that is enough.
pub fn files(connections: u64) -> Result<()> {
    let needed = connections.saturating_add(SPARE_FILES);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < needed) {
        if limit.maximum.is_some_and(|maximum| maximum < needed) {
            bail!(
                "{connections} connections need {needed} open files, the limit here is {}: raise it (`ulimit -Hn {needed}`, \
                 LimitNOFILE=) or ask for fewer threads or idle connections",
                limit.maximum.unwrap_or_default()
            );
        }
        let raised = Rlimit {
            current: Some(needed),
            maximum: limit.maximum,
        };
        setrlimit(Resource::Nofile, raised)?;
    }
    Ok(())
}

/// This machine's disk, where the results go.
pub fn disk(results: &Path) -> Result<Vec<String>> {
    let disk = rustix::fs::statvfs(results)?;
    let free = disk.f_bavail * disk.f_frsize;
    let mut warnings = Vec::new();
    if free < FREE_DISK_MIN {
        warnings.push(format!(
            "only {} MiB are free where the results go ({})",
            free >> 20,
            results.display()
        ));
    }
    Ok(warnings)
}

/// One target's servers: reachable, big enough. Problems are sentences that say what to do.
pub fn servers(subject: &Subject, demand: Demand, problems: &mut Vec<String>) -> Facts {
    let mut facts = Facts::default();
    for server in subject.servers() {
        if let Err(error) = server_facts(subject, server, demand, &mut facts, problems) {
            problems.push(format!("target {}: {}", subject.name, error.with_remedy()));
        }
    }
    facts
}

fn server_facts(
    subject: &Subject,
    server: &str,
    demand: Demand,
    facts: &mut Facts,
    problems: &mut Vec<String>,
) -> Result<(), DriverError> {
    let mut control = Control::connect_without_database(&subject.in_database(""), server)?;
    let encryption = control.encryption();
    facts.encryption.push(encryption.unwrap_or_else(|| "plain".to_owned()));
    let variables: BTreeMap<String, String> = control
        .query("SHOW GLOBAL VARIABLES")?
        .rows
        .into_iter()
        .filter_map(|row| {
            let mut row = row.into_iter();
            Some((row.next()??.to_lowercase(), row.next()?.unwrap_or_default()))
        })
        .collect();
    let version = variables
        .get("version")
        .cloned()
        .unwrap_or_else(|| control.server_version().to_owned());
    facts.versions.push(match variables.get("version_comment") {
        Some(comment) if !comment.is_empty() => format!("{version} ({comment})"),
        _ => version,
    });
    let number = |name: &str| variables.get(name).and_then(|value| value.parse::<u64>().ok());
    let connections = demand.connections_per_server + SPARE_CONNECTIONS;
    if number("max_connections").is_some_and(|max| max > 0 && max < connections) {
        problems.push(format!(
            "target {}: {server} takes {} connections, the series needs {connections}: SET GLOBAL max_connections = {connections}",
            subject.name,
            number("max_connections").unwrap_or_default()
        ));
    }
    let prepared = demand.prepared_per_server;
    if number("max_prepared_stmt_count").is_some_and(|max| max < prepared) {
        problems.push(format!(
            "target {}: {server} keeps {} prepared statements, the series needs {prepared}: SET GLOBAL max_prepared_stmt_count = \
             {prepared}, or db_ps_mode = \"disable\" in the workload",
            subject.name,
            number("max_prepared_stmt_count").unwrap_or_default()
        ));
    }
    for name in VARIABLES {
        if let Some(value) = variables.get(*name) {
            keep(&mut facts.variables, name, value, server);
        }
    }
    Ok(())
}

/// Servers of one target that differ in a variable are a finding: both values are kept.
fn keep(kept: &mut BTreeMap<String, String>, name: &str, value: &str, server: &str) {
    match kept.get_mut(name) {
        None => {
            kept.insert(name.to_owned(), value.to_owned());
        }
        Some(known) if known == value || known.contains(&format!("{value} on ")) => {}
        Some(known) => {
            *known = format!("{known}, {value} on {server}");
        }
    }
}

/// What to do with tables that are there and are not what the workload needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Nothing is dropped that the series did not make.
    Keep,
    /// Dropped and filled anew: the user said so.
    Reload,
}

/// Sees to it that `sent`'s tables are on `subject` with the rows they must have.
pub fn data(
    subject: &Subject,
    sent: &Sent,
    existing: Existing,
    seed: u64,
    progress: &mut Progress,
    interrupt: &Interrupt,
) -> Result<Vec<Check>> {
    let target = subject.for_workload(sent);
    let Some(first) = target.servers.first() else {
        bail!("target {} has no server", subject.name);
    };
    there(&target, first)
        .and_then(|()| {
            let is_empty = lab_driver::check(&target, first, &sent.workload)?.tables.is_empty();
            if is_empty {
                fill(subject, sent, seed, progress, interrupt)?;
            } else if existing == Existing::Reload || sent.changes_rows {
                lab_driver::cleanup(&target, &sent.workload)?;
                fill(subject, sent, seed, progress, interrupt)?;
            }
            Ok(())
        })
        .map_err(|error| {
            anyhow!(
                "target {}, tables of workload {}: {}",
                subject.name,
                sent.name,
                error.with_remedy()
            )
        })?;
    let mut checks = Vec::new();
    for server in &target.servers {
        let end = Instant::now() + REPLICATION_LIMIT;
        let check = loop {
            let check = lab_driver::check(&target, server, &sent.workload)?;
            // What one server of several has just been told, the others may learn a moment later.
            if check.problems.is_empty() || target.servers.len() == 1 || Instant::now() > end || interrupt.asked() {
                break check;
            }
            interrupt.sleep(Duration::from_millis(500));
        };
        if !check.problems.is_empty() {
            bail!(
                "target {}: the tables in database `{}` are not what workload {} needs ({}): give the target another \
                 `database`, or run with --reload, which drops and fills them anew",
                subject.name,
                target.database,
                sent.name,
                check.problems.join("; ")
            );
        }
        checks.push(check);
    }
    Ok(checks)
}

/// Makes the database if it is not there. Where it is, nothing is written: a server to read from may refuse that.
fn there(target: &lab_driver::Target, server: &str) -> Result<(), DriverError> {
    match Control::connect(target, server) {
        Err(DriverError::Server {
            code: NO_SUCH_DATABASE, ..
        }) => {
            let mut control = Control::connect_without_database(target, server)?;
            control.query(&format!("CREATE DATABASE IF NOT EXISTS `{}`", target.database))?;
            Ok(())
        }
        connected => connected.map(drop),
    }
}

/// Fills the tables, which are not there.
fn fill(
    subject: &Subject,
    sent: &Sent,
    seed: u64,
    progress: &mut Progress,
    interrupt: &Interrupt,
) -> Result<(), DriverError> {
    let target = subject.for_workload(sent);
    progress.doing(&format!(
        "filling the tables of {} on {} ({} rows)",
        sent.name,
        subject.name,
        sent.workload.rows()
    ));
    let spec = PrepareSpec {
        connections: LOAD_CONNECTIONS.max(target.servers.len()),
        seed,
    };
    let filled = lab_driver::prepare(&target, &sent.workload, &spec, interrupt.stop(), &mut |done, all| {
        let percent = 100 * done / all.max(1);
        progress.detail(&format!("filling {} on {}: {percent} %", sent.name, subject.name));
    });
    if let Err(error) = filled {
        // Half filled tables would be in the way of the next series; what made filling fail may keep them from going.
        lab_driver::cleanup(&target, &sent.workload).ok();
        return Err(error);
    }
    Ok(())
}

/// Sentences on what differs between the tables of two targets; rows that differ make figures that do not compare.
pub fn unequal(first: (&str, &[Check]), other: (&str, &[Check])) -> Vec<String> {
    let (Some(ours), Some(theirs)) = (first.1.first(), other.1.first()) else {
        return Vec::new();
    };
    let mut said = Vec::new();
    for (ours, theirs) in ours.tables.iter().zip(&theirs.tables) {
        if ours.rows != theirs.rows || ours.name != theirs.name {
            said.push(format!(
                "table {} has {} rows on {} and {} has {} on {}: run with --reload",
                ours.name, ours.rows, first.0, theirs.name, theirs.rows, other.0
            ));
        } else if ours.schema != theirs.schema {
            said.push(format!(
                "table {} is ({}) on {} and ({}) on {}: run with --reload",
                ours.name,
                only_in(&ours.schema, &theirs.schema),
                first.0,
                only_in(&theirs.schema, &ours.schema),
                other.0
            ));
        }
    }
    said
}

/// The lines that only the first has; columns and keys that are alike would hide them.
fn only_in(these: &[String], those: &[String]) -> String {
    let only: Vec<&str> = these
        .iter()
        .filter(|line| !those.contains(line))
        .map(String::as_str)
        .collect();
    match only.is_empty() {
        true => "nothing more".to_owned(),
        false => format!("… {} …", only.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use lab_driver::TableCheck;

    use super::*;

    fn check(rows: u64) -> Vec<Check> {
        vec![Check {
            tables: vec![TableCheck {
                name: "sbtest1".to_owned(),
                rows,
                ..TableCheck::default()
            }],
            problems: Vec::new(),
        }]
    }

    #[test]
    fn targets_with_other_rows_are_told() {
        assert_eq!(unequal(("a", &check(10)), ("b", &check(10))), Vec::<String>::new());
        let said = unequal(("a", &check(10)), ("b", &check(9)));
        assert_eq!(
            said,
            ["table sbtest1 has 10 rows on a and sbtest1 has 9 on b: run with --reload"]
        );
    }

    #[test]
    fn targets_with_other_keys_are_told() {
        let with = |keys: &[&str]| {
            let mut check = check(10);
            check[0].tables[0].schema = keys.iter().map(|key| (*key).to_owned()).collect();
            check
        };
        let said = unequal(
            ("a", &with(&["id int not null", "k_1 (k)"])),
            ("b", &with(&["id int not null"])),
        );
        assert_eq!(
            said,
            ["table sbtest1 is (… k_1 (k) …) on a and (nothing more) on b: run with --reload"]
        );
    }

    #[test]
    fn a_variable_that_differs_between_servers_keeps_both_values() {
        let mut kept = BTreeMap::new();
        for (value, server) in [("1", "a:1"), ("1", "b:1"), ("2", "c:1"), ("2", "d:1")] {
            keep(&mut kept, "sync_binlog", value, server);
        }
        assert_eq!(kept["sync_binlog"], "1, 2 on c:1");
    }

    #[test]
    fn more_threads_than_files_are_refused_with_the_remedy() {
        let error = files(u64::from(u32::MAX)).unwrap_err().to_string();
        assert!(error.contains("ulimit"), "{error}");
    }
}
