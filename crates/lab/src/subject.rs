//! What the plan names, as the driver knows it: targets with their passwords, workloads with the database that holds their tables.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lab_driver::target::Password;
use lab_driver::{Idle, Survive};
use lab_host::Host;
use lab_report::Prices;
use lab_report::price::Part;
use lab_results::cluster::Cluster;
use lab_results::run;

use crate::clock;
use crate::cluster;
use crate::fleet::Database;
use crate::plan::{self, Driver, Plan};

/// A target under test.
pub struct Subject {
    pub name: String,
    /// In the plan's database; a workload may have one of its own: see [`Subject::for_workload`].
    driver: lab_driver::Target,
    pub nodes: Vec<String>,
    pub process: Option<String>,
    /// Where the nodes of a LatsDB cluster tell of themselves.
    pub status: Vec<String>,
    /// Variable of the password, if the plan names one.
    password_env: Option<String>,
    /// Connections of its measured rungs are opened anew after so long.
    reopen_after: Option<Duration>,
    is_balanced: bool,
    /// The plan says what the whole target costs.
    has_price_of_its_own: bool,
}

impl Subject {
    pub fn new(target: &plan::Target) -> Result<Subject> {
        Ok(Subject {
            name: target.name.clone(),
            driver: lab_driver::Target {
                servers: target.addresses(),
                user: target.user.clone(),
                password: Password::new(target.password()?),
                database: target.database.clone(),
                tls: target.tls()?,
            },
            nodes: target.nodes.clone(),
            process: target.process.clone(),
            status: target.status.clone(),
            password_env: target.password_env.clone(),
            reopen_after: target.reopen_after.map(|after| after.0),
            is_balanced: target.balanced.is_some(),
            has_price_of_its_own: target.usd_per_hour.is_some(),
        })
    }

    /// Of a LatsDB cluster, as its nodes say; `price` is the target's.
    pub fn cluster(&self, price: Option<&run::Price>, problems: &mut Vec<String>) -> Option<Cluster> {
        let priced = price.filter(|_| !self.has_price_of_its_own).map(|_| self.nodes.len());
        cluster::look(&self.name, &self.status, priced, problems)
    }

    pub fn servers(&self) -> &[String] {
        &self.driver.servers
    }

    /// As the results keep it, with what each server gave.
    pub fn tls_used(&self, used: Vec<String>) -> run::Tls {
        run::Tls {
            mode: self.driver.tls.mode.name().to_owned(),
            used,
        }
    }

    pub fn for_workload(&self, load: &Sent) -> lab_driver::Target {
        self.in_database(&load.suffix)
    }

    /// In an availability run servers come and go on purpose: a name that stands for several is followed without being asked to.
    pub fn reopen_after_in_availability(&self) -> Option<Duration> {
        self.reopen_after
            .or_else(|| self.is_balanced.then_some(plan::REOPEN_AFTER_IN_AVAILABILITY.0))
    }

    /// As `node` may be told it, with the database of a workload's tables. Errors say what to do.
    pub fn database_for(&self, node: &Host, suffix: &str) -> Result<Database, String> {
        let target = self.in_database(suffix);
        Database::new(&self.name, &target, self.password_env.as_deref(), node.is_private())
    }

    /// How its rungs live with servers that come and go; `None`: they end then.
    pub fn survive(&self) -> Option<Survive> {
        self.reopen_after.map(|after| Survive {
            reopen_after: Some(after),
            ..Survive::default()
        })
    }

    pub fn in_database(&self, suffix: &str) -> lab_driver::Target {
        let mut target = self.driver.clone();
        target.database.push_str(suffix);
        target
    }
}

/// A workload to be sent.
pub struct Sent {
    pub name: String,
    pub driver: Driver,
    pub workload: lab_driver::Workload,
    /// Connections beside the load's.
    pub idle: Option<Idle>,
    /// Appended to the target's database: tables that differ live apart.
    pub suffix: String,
    /// Its rungs leave fewer or more rows than they found: the tables are filled anew for each.
    pub changes_rows: bool,
}

/// Options that decide what is in the tables.
const OF_TABLES: &[&str] = &[
    "auto_inc",
    "create_secondary",
    "create_table_options",
    "data",
    "filter",
    "mysql_storage_engine",
    "secondary",
    "table_size",
    "tables",
];

/// The plan's workloads. Those of equal tables share them; any further kind of tables gets a database of its own, and so
/// does a workload that changes the number of rows.
pub fn workloads(plan: &Plan) -> Result<Vec<Sent>> {
    let mut databases: BTreeMap<Vec<(String, String)>, String> = BTreeMap::new();
    plan.workloads
        .iter()
        .map(|planned| {
            let workload = planned
                .to_driver()
                .with_context(|| format!("workload `{}`", planned.name))?;
            // Elsewhere it is looked for when the nodes are.
            if planned.driver == Driver::Sysbench && plan.drives_here() && lab_driver::sysbench::version().is_none() {
                bail!(
                    "workload `{}` asks for sysbench, which is not installed here: install it, or leave `driver` out",
                    planned.name
                );
            }
            let kind = workload.kind_name();
            let changes_rows = matches!(kind, "oltp_insert" | "oltp_delete" | "ycsb_d" | "ycsb_e");
            let suffix = if changes_rows {
                format!("_{}", word(&planned.name))
            } else {
                let is_first = databases.is_empty();
                databases
                    .entry(tables_of(&workload))
                    .or_insert_with(|| {
                        if is_first {
                            String::new()
                        } else {
                            format!("_{}", word(&planned.name))
                        }
                    })
                    .clone()
            };
            Ok(Sent {
                name: planned.name.clone(),
                driver: planned.driver,
                workload,
                idle: (planned.idle_connections > 0).then_some(Idle {
                    per_server: planned.idle_connections,
                    prepared: planned.idle_prepared,
                }),
                suffix,
                changes_rows,
            })
        })
        .collect()
}

/// What two workloads must have in common to use the same tables.
fn tables_of(workload: &lab_driver::Workload) -> Vec<(String, String)> {
    let kind = workload.kind_name();
    let is_oltp = kind.starts_with("oltp_") || kind.starts_with("select_");
    let family = match kind.split('_').next() {
        _ if is_oltp => "oltp",
        Some(family) => family,
        None => kind,
    };
    let mut tables = vec![("family".to_owned(), family.to_owned())];
    tables.extend(
        workload
            .options()
            .iter()
            .filter(|(name, _)| !is_oltp || OF_TABLES.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    tables
}

fn word(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

impl Sent {
    /// As the results keep it.
    pub fn described(&self) -> run::Workload {
        let driver = match self.driver {
            Driver::Latsdb => "latsdb".to_owned(),
            Driver::Sysbench => match lab_driver::sysbench::version() {
                Some(version) => format!("sysbench {version}"),
                None => "sysbench".to_owned(),
            },
        };
        let mut options = self.workload.options().clone();
        // Without them a series is like those from before there were any.
        if let Some(idle) = self.idle {
            options.insert("idle_connections".to_owned(), idle.per_server.to_string());
            options.insert(
                "idle_prepared".to_owned(),
                if idle.prepared { "on" } else { "off" }.to_owned(),
            );
        }
        run::Workload {
            name: self.name.clone(),
            kind: self.workload.kind_name().to_owned(),
            options,
            driver,
        }
    }

    pub fn idle_per_server(&self) -> u32 {
        self.idle.map_or(0, |idle| idle.per_server)
    }

    /// Statements that so many threads of one server and its idle connections hold prepared.
    pub fn prepared_per_server(&self, threads: u32) -> u64 {
        let idle = self.idle.filter(|idle| idle.prepared).map_or(0, |idle| idle.per_server);
        (u64::from(threads) + u64::from(idle)) * self.workload.prepared_statements_per_connection()
    }
}

/// Cost of a target by the plan's figure or by its nodes' facts; `None` if nothing is known, with the reason.
pub fn price(target: &plan::Target, plan: &Plan) -> Result<Option<run::Price>> {
    if let Some(usd_per_hour) = target.usd_per_hour {
        let given = Part::Given {
            what: target.name.clone(),
            count: 1,
            usd_per_hour,
            source: "the plan".to_owned(),
            dated: clock::date(clock::now()),
        };
        return Ok(Some(Prices::shipped().cluster(&[given])?));
    }
    let Some(settings) = &plan.prices else {
        return Ok(None);
    };
    let mut prices = Prices::shipped();
    if let Some(path) = &settings.file {
        prices = prices.preferring(Prices::read(path)?);
    }
    let mut parts = Vec::new();
    for name in &target.nodes {
        let Some(node) = plan.nodes.iter().find(|node| node.name == *name) else {
            continue;
        };
        let fact = |key: &str| {
            node.facts.get(key).map(|fact| fact.0.clone()).with_context(|| {
                format!("node `{name}` has no fact `{key}`: a price needs `provider`, `region` and `type`")
            })
        };
        parts.push(Part::Machine {
            provider: fact("provider")?,
            region: fact("region")?,
            machine: fact("type")?,
            terms: settings.terms.clone(),
            count: 1,
        });
    }
    if parts.is_empty() {
        return Ok(None);
    }
    Ok(Some(prices.cluster(&parts)?))
}
