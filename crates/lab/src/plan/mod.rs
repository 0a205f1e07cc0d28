//! `plan.toml`: what is to be measured, against what, how long, and what it costs.
//!
//! A plan is read in two steps. [`parse`] turns text into these types and refuses what it does not know;
//! [`check`] then looks at the whole: names that nothing defines, loads without a load, faults without a node.
//! Both say in which line and what to write instead. A plan never holds a password: it names a variable or a file that does.
//!
//! [`template`] is the plan that `lab init` prints, [`autobench`] makes one of an `autobench.conf`.

pub mod autobench;
mod check;
pub mod duration;
mod locate;
mod profile;
pub mod template;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use lab_driver::{Identity, Pem, Tls, TlsMode};
use lab_results::run;
use serde::de::{self, Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};

pub use duration::Span;

/// Seed of a plan that gives none; written to the results all the same.
pub const SEED: u64 = 20_240_229;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Also the name of the folder below `results`.
    pub name: String,
    #[serde(default = "seed")]
    pub seed: u64,
    #[serde(default = "results")]
    pub results: PathBuf,
    #[serde(rename = "target", default)]
    pub targets: Vec<Target>,
    #[serde(rename = "node", default)]
    pub nodes: Vec<Node>,
    #[serde(rename = "workload", default)]
    pub workloads: Vec<Workload>,
    pub ladder: Option<Ladder>,
    pub open_loop: Option<OpenLoop>,
    #[serde(rename = "profile", default)]
    pub profiles: Vec<Profile>,
    pub slo: Option<Slo>,
    pub soak: Option<Soak>,
    #[serde(default)]
    pub probes: Probes,
    pub prices: Option<Prices>,
    pub availability: Option<Availability>,
}

/// A database under test: a list of servers, or one name behind which there are several.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub name: String,
    /// `host:port` of each server; threads are spread over them evenly.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// One `host:port` that stands for all servers (a load balancer, a service name); its name is resolved again and again.
    pub balanced: Option<String>,
    /// Of `balanced`: every connection is opened anew after so long, its name resolved again. A rung then lives through lost
    /// connections.
    pub reopen_after: Option<Span>,
    #[serde(default = "root")]
    pub user: String,
    pub password_env: Option<String>,
    pub password_file: Option<PathBuf>,
    /// Only here to be refused with a reason.
    password: Option<Refused>,
    #[serde(default = "database")]
    pub database: String,
    /// `disabled`, `preferred`, `required`, `verify_ca`, `verify_identity`: MySQL's `ssl-mode`.
    #[serde(default)]
    pub tls: TlsMode,
    /// Certificates of the authorities that may have signed the server's; the system's if absent.
    pub tls_ca: Option<PathBuf>,
    /// The client's own certificate and its key.
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    /// Nodes on which this target runs: watched during its rungs, named in verdicts, counted in its price.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// Name of the server's process on those nodes, for its own processor time.
    pub process: Option<String>,
    /// `host:port` of the HTTP page of each node, of a LatsDB cluster: looked at before the load, watched during it.
    #[serde(default)]
    pub status: Vec<String>,
    /// What the whole target costs, instead of the sum of its nodes by the price file.
    pub usd_per_hour: Option<f64>,
}

/// What an availability run of a `balanced` target does unless the plan says otherwise.
pub const REOPEN_AFTER_IN_AVAILABILITY: Span = Span::seconds(10);

/// Swallows any value.
#[derive(Debug, Clone)]
struct Refused;

impl<'de> Deserialize<'de> for Refused {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Refused, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Refused)
    }
}

impl Target {
    /// Addresses to connect to: the servers, or the one name.
    pub fn addresses(&self) -> Vec<String> {
        match &self.balanced {
            Some(name) => vec![name.clone()],
            None => self.hosts.clone(),
        }
    }

    /// How its connections are encrypted, with the files read now.
    pub fn tls(&self) -> Result<Tls> {
        let pem = |path: &Option<PathBuf>, key: &str| -> Result<Option<Pem>> {
            path.as_deref().map(Pem::read).transpose().with_context(|| {
                let path = path.as_deref().unwrap_or(Path::new("")).display();
                format!("target `{}`: cannot read `{key}` from {path}", self.name)
            })
        };
        let certificate = pem(&self.tls_cert, "tls_cert")?;
        let identity = certificate.zip(pem(&self.tls_key, "tls_key")?);
        let tls = Tls {
            mode: self.tls,
            ca: pem(&self.tls_ca, "tls_ca")?,
            identity: identity.map(|(certificate, key)| Identity { certificate, key }),
        };
        tls.check().with_context(|| format!("target `{}`", self.name))?;
        Ok(tls)
    }

    /// The password, read now; it lives in memory only.
    pub fn password(&self) -> Result<String> {
        if let Some(variable) = &self.password_env {
            return std::env::var(variable).with_context(|| {
                format!(
                    "target `{}`: the variable {variable} is not set: export it first",
                    self.name
                )
            });
        }
        if let Some(path) = &self.password_file {
            let text = std::fs::read_to_string(path).with_context(|| {
                format!(
                    "target `{}`: cannot read the password from {}",
                    self.name,
                    path.display()
                )
            })?;
            return Ok(text.trim_end_matches(['\n', '\r']).to_owned());
        }
        Ok(String::new())
    }
}

/// A machine that takes part.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub name: String,
    /// `load`, `sql`, `data`, `manager`.
    pub roles: Vec<String>,
    /// Destination for the system's `ssh`.
    pub ssh: Option<String>,
    /// Its arguments before the destination: `["-p", "2222", "-i", "key"]`.
    #[serde(default)]
    pub ssh_options: Vec<String>,
    /// `host:port` of a `lab agent`.
    pub agent: Option<String>,
    /// Starts the agent at the other end of `ssh`.
    #[serde(default = "agent_command")]
    pub agent_command: String,
    /// Variable that holds the agent's token.
    #[serde(default = "token_env")]
    pub token_env: String,
    /// Where the other nodes reach this one, for the network between them.
    pub address: Option<String>,
    /// A folder on the disk that matters, where the disk probe writes its file.
    pub disk: Option<PathBuf>,
    /// `provider`, `region`, `zone`, `type`, `vcpu`, …; the first, second and fourth find the price.
    #[serde(default)]
    pub facts: BTreeMap<String, Fact>,
}

impl Workload {
    /// As the driver knows it, with every option checked.
    pub fn to_driver(&self) -> Result<lab_driver::Workload, lab_driver::WorkloadError> {
        let options = self
            .options
            .iter()
            .map(|(name, fact)| (name.clone(), fact.0.clone()))
            .collect();
        lab_driver::Workload::new(&self.kind, &options)
    }
}

impl Plan {
    /// The nodes that drive the load.
    pub fn load_nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| node.has_role("load"))
    }

    /// Whether this process drives the load by itself: no load node is named, or only this machine.
    pub fn drives_here(&self) -> bool {
        let mut nodes = self.load_nodes();
        match (nodes.next(), nodes.next()) {
            (None, _) => true,
            (Some(only), None) => only.is_local(),
            (Some(_), Some(_)) => false,
        }
    }
}

impl Node {
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|has| has == role)
    }

    /// Neither ssh nor agent: the machine that the lab runs on.
    pub fn is_local(&self) -> bool {
        self.ssh.is_none() && self.agent.is_none()
    }
}

/// A word, number or switch, kept as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact(pub String);

impl<'de> Deserialize<'de> for Fact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fact, D::Error> {
        let text = match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Boolean(yes) => yes.to_string(),
            other => {
                return Err(de::Error::custom(format!(
                    "a {} has no meaning here: write a word, a number, true or false",
                    other.type_str()
                )));
            }
        };
        Ok(Fact(text))
    }
}

/// What is sent. Everything but the fields below is an option of the kind, which the driver knows.
#[derive(Debug, Clone, Deserialize)]
pub struct Workload {
    pub name: String,
    pub kind: String,
    #[serde(default)]
    pub driver: Driver,
    /// Connections to each server, beside those of the load, that log in and ask for nothing.
    #[serde(default)]
    pub idle_connections: u32,
    /// Whether these prepare the workload's statements too.
    #[serde(default)]
    pub idle_prepared: bool,
    #[serde(flatten)]
    pub options: BTreeMap<String, Fact>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Driver {
    #[default]
    Latsdb,
    /// The `sysbench` that is installed here.
    Sysbench,
}

/// The closed loop: so many clients, each waiting for its answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladder {
    /// Threads of each server; what reaches a target of three servers is three times as much.
    pub threads_per_server: Vec<u32>,
    #[serde(default = "warmup")]
    pub warmup: Span,
    #[serde(default = "measure")]
    pub measure: Span,
    #[serde(default = "cooldown")]
    pub cooldown: Span,
    #[serde(default = "repeats")]
    pub repeats: u32,
    /// Rungs whose transactions per second still differ by more than `spread` are repeated up to this often.
    pub repeats_max: Option<u32>,
    /// Standard deviation over mean.
    #[serde(default = "spread")]
    pub spread: f64,
    #[serde(default)]
    pub order: Order,
    #[serde(default)]
    pub stop: Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Targets in turns, every other time backwards, so that drift hits all alike.
    #[default]
    Abba,
    /// All rungs of one target, then of the next.
    Sequential,
}

impl Order {
    pub fn name(self) -> &'static str {
        match self {
            Order::Abba => "abba",
            Order::Sequential => "sequential",
        }
    }
}

/// When the higher rungs of a target and workload are not worth their time.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// p95 above this.
    pub p95: Option<Span>,
    /// Share (0..=1) of transactions that met an error.
    pub errors: Option<f64>,
    /// Fewer than this many times the transactions per second of the rung before (0.8: a fall by a fifth).
    pub gain: Option<f64>,
}

/// The open loop: transactions start at a rate, whatever the answers do.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenLoop {
    /// Transactions per second.
    #[serde(default)]
    pub rates: Vec<f64>,
    /// The same as shares of the ladder's best: 0.5 is half of it.
    #[serde(default)]
    pub shares: Vec<f64>,
    #[serde(default = "open_threads")]
    pub threads_per_server: u32,
    #[serde(default)]
    pub arrivals: Arrivals,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    #[default]
    Poisson,
    Even,
}

/// A rate that varies over time; exactly one of `steps` and `burst`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// In the report and in the names of its rungs.
    pub name: String,
    #[serde(default)]
    pub steps: Vec<Step>,
    pub burst: Option<Burst>,
    /// How often the steps, or the burst, come.
    #[serde(default = "once")]
    pub times: u32,
    #[serde(default = "open_threads")]
    pub threads_per_server: u32,
    #[serde(default)]
    pub arrivals: Arrivals,
}

/// So many transactions per second for so long, or evenly from one rate to another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub rate: f64,
    /// Where it ends, in a ramp.
    pub to: Option<f64>,
    #[serde(rename = "for")]
    pub length: Span,
    pub name: Option<String>,
}

/// `every` so often the rate is `peak` for `length`, and `base` before and after.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    pub base: f64,
    pub peak: f64,
    pub every: Span,
    pub length: Span,
}

impl Arrivals {
    pub fn to_results(self) -> run::Arrivals {
        match self {
            Arrivals::Poisson => run::Arrivals::Poisson,
            Arrivals::Even => run::Arrivals::Even,
        }
    }
}

/// The service level; with `search`, the highest rate that holds it is looked for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slo {
    #[serde(default = "quantile")]
    pub quantile: f64,
    pub latency: Span,
    #[serde(default)]
    pub search: bool,
    /// Where the search ends: the found rate is that near to the true one.
    #[serde(default = "precision")]
    pub precision: f64,
    /// The highest rate to try [the ladder's best].
    pub rate_max: Option<f64>,
}

/// A long run at one load, for what short ones do not show.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Soak {
    pub measure: Span,
    pub threads_per_server: u32,
    /// Open loop at this rate instead of a closed one.
    pub rate: Option<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Probes {
    /// Whether the nodes are probed before the series.
    pub before: bool,
    /// A few seconds per node instead of about a minute.
    pub short: bool,
    /// Runs `sysbench`, `ioping` and `fio` beside our own probes.
    pub cross_checks: bool,
    /// Whether each second of each node is sampled during rungs, which a verdict needs.
    pub watch: bool,
}

impl Default for Probes {
    fn default() -> Probes {
        Probes {
            before: true,
            short: false,
            cross_checks: false,
            watch: true,
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// A price file; the one that comes with the lab otherwise.
    pub file: Option<PathBuf>,
    /// `on-demand`, `reserved-1y`, `reserved-3y`, `spot`.
    #[serde(default = "terms")]
    pub terms: String,
}

/// A workload that must live through faults, and the check of every acknowledged write after them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Availability {
    /// Writers of the ledger, spread over the servers.
    #[serde(default = "writers")]
    pub writers: u32,
    /// A workload of the plan that runs beside them.
    pub workload: Option<String>,
    #[serde(default = "writers")]
    pub threads_per_server: u32,
    #[serde(default = "availability_measure")]
    pub measure: Span,
    /// How long an answer may take before its connection is given up and the write is unknown.
    #[serde(default = "answer_limit")]
    pub answer_limit: Span,
    /// How long after the last fault every server must answer again before the data is checked.
    #[serde(default = "recovery_limit")]
    pub recovery_limit: Span,
    #[serde(rename = "fault", default)]
    pub faults: Vec<Fault>,
}

/// Exactly one of `kill`, `pause`, `cut`, `command`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// After the start of the measured interval.
    pub at: Span,
    pub name: Option<String>,
    /// Where the commands run; here if absent.
    pub node: Option<String>,
    /// File with the process id that gets SIGKILL.
    pub kill: Option<PathBuf>,
    /// File with the process id that gets SIGSTOP, and SIGCONT after `restore_after`.
    pub pause: Option<PathBuf>,
    /// TCP port that is shut with iptables, and opened after `restore_after`.
    pub cut: Option<u16>,
    /// A shell command that makes the fault.
    pub command: Option<String>,
    /// A shell command that ends it.
    pub restore: Option<String>,
    pub restore_after: Option<Span>,
}

fn seed() -> u64 {
    SEED
}
fn results() -> PathBuf {
    PathBuf::from("results")
}
fn root() -> String {
    "root".to_owned()
}
fn database() -> String {
    "sbtest".to_owned()
}
fn agent_command() -> String {
    "latsdb lab agent --stdio --allow-commands".to_owned()
}
fn token_env() -> String {
    "LAB_AGENT_TOKEN".to_owned()
}
fn warmup() -> Span {
    Span::seconds(10)
}
fn measure() -> Span {
    Span::seconds(30)
}
fn cooldown() -> Span {
    Span::seconds(2)
}
fn repeats() -> u32 {
    3
}
fn spread() -> f64 {
    0.03
}
fn open_threads() -> u32 {
    64
}
fn once() -> u32 {
    1
}
fn quantile() -> f64 {
    0.99
}
fn precision() -> f64 {
    0.05
}
fn terms() -> String {
    "on-demand".to_owned()
}
fn writers() -> u32 {
    4
}
fn availability_measure() -> Span {
    Span::seconds(60)
}
fn answer_limit() -> Span {
    Span::seconds(5)
}
fn recovery_limit() -> Span {
    Span::seconds(120)
}

/// Reads and checks the plan in `path`; `name` replaces its own.
pub fn read(path: &Path, name: Option<&String>) -> Result<(Plan, String)> {
    let text = std::fs::read_to_string(path).with_context(|| {
        format!(
            "cannot read the plan {} (`lab init > plan.toml` makes one)",
            path.display()
        )
    })?;
    let mut plan = parse(&text).with_context(|| format!("{}", path.display()))?;
    if let Some(name) = name {
        if !check::is_name(name) {
            bail!("--name {name}: a folder's name is made of letters, digits, `-`, `_` and `.`");
        }
        plan.name.clone_from(name);
    }
    Ok((plan, text))
}

/// Reads and checks a plan's text.
pub fn parse(text: &str) -> Result<Plan> {
    let plan: Plan = match toml::from_str(text) {
        Ok(plan) => plan,
        Err(error) => bail!(refusal(text, &error)),
    };
    let problems = check::problems(&plan);
    if problems.is_empty() {
        return Ok(plan);
    }
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| match locate::line(text, &problem.path) {
            Some(line) => format!("line {line}: {}: {}", problem.path, problem.message),
            None => format!("{}: {}", problem.path, problem.message),
        })
        .collect();
    bail!(lines.join("\n"))
}

fn refusal(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().trim();
    match error.span() {
        Some(span) => format!("line {}: {message}", locate::line_at(text, span.start)),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests;
