//! What the coordinator and a load node say to each other, one JSON value at a time, in a talk of the node's agent.
//!
//! ```text
//!   coordinator   Hello ─────────▶ Hello            every talk begins so: both ends must be the same lab
//!                 Look ──────────▶ Looked           before the series: reaches the targets, files enough
//!                 Begin ─────────▶ Ready            connections are open, statements prepared
//!                 Start (a time) ▶ Begun, Second, Second, …, Finished
//!                 GoOn, GoOn, …                     each second: who hears nothing for a while ends its load
//!                 Stop                              ends it early; what was measured comes in Finished
//! ```

use std::collections::BTreeMap;
use std::fmt;

use lab_driver::{Idle, Outcome, Password, Pem, RungSpec, Share, Target};
use lab_results::UnixMicros;
use lab_results::rung::Second;
use serde::{Deserialize, Serialize};

use super::Task;
use crate::plan::Driver;

/// By which agents know the service.
pub const SERVICE: &str = "load";
/// Counts up with every change of what is said here.
pub const PROTOCOL: u32 = 1;
pub const LAB: &str = env!("CARGO_PKG_VERSION");

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum ToNode {
    Hello(Version),
    Look {
        targets: Vec<Database>,
        files: u64,
    },
    Begin(Box<Order>),
    /// By the node's clock: when the warm-up begins.
    Start {
        at: UnixMicros,
    },
    GoOn,
    Stop,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FromNode {
    Hello {
        #[serde(flatten)]
        version: Version,
        /// Of the agent, whose threads carry the load.
        pid: u32,
        /// The installed one, as `1.0.20`.
        sysbench: Option<String>,
    },
    /// What stands against a series, as sentences.
    Looked {
        problems: Vec<String>,
    },
    Ready,
    /// The warm-up has begun, so long after the time that was asked for.
    Begun {
        late_us: u64,
    },
    CannotBegin(Refusal),
    Second(Box<Second>),
    /// Without its seconds, which were told one by one.
    Finished(Box<Outcome>),
}

/// Unlike labs measure unlike things.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub lab: String,
    pub protocol: u32,
}

impl Version {
    pub fn ours() -> Version {
        Version {
            lab: LAB.to_owned(),
            protocol: PROTOCOL,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lab {} (load protocol {})", self.lab, self.protocol)
    }
}

/// Why a rung did not begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub why: String,
    /// The target did not answer (it may come back), rather than the node could not.
    pub unreachable: bool,
}

/// A target as its clients see it. What must not be written down is left out of `target`'s own form and stands beside it here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Database {
    pub name: String,
    target: Target,
    password: Secret,
    /// The texts of the files that `target` names: authorities, and the client's certificate and key.
    authorities: Option<String>,
    identity: Option<(String, Secret)>,
}

/// How the node comes by what must stay secret. It is never printed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Secret {
    #[default]
    None,
    /// Only over a line that nobody else can read.
    Text(String),
    /// A variable of the agent's own environment.
    Variable(String),
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Secret::None => f.write_str("(none)"),
            Secret::Text(_) => f.write_str("(hidden)"),
            Secret::Variable(name) => write!(f, "(of {name})"),
        }
    }
}

impl Database {
    /// `private`: whether the line to the node can be read by nobody else; over one that can, neither password nor key is sent.
    /// `variable` is the one that the password came from, if it came from one.
    pub fn new(name: &str, target: &Target, variable: Option<&str>, private: bool) -> Result<Database, String> {
        let why = |what: &str, instead: &str| {
            format!(
                "target {name}: {what} is not sent over an agent's TCP line, which is not encrypted: {instead}, or reach the node by ssh"
            )
        };
        let text = target.password.reveal();
        let password = match variable {
            _ if text.is_empty() => Secret::None,
            _ if private => Secret::Text(text.to_owned()),
            Some(variable) => Secret::Variable(variable.to_owned()),
            None => {
                return Err(why(
                    "its password",
                    "use `password_env` in the plan and export that variable where the agent is started",
                ));
            }
        };
        if target.tls.identity.is_some() && !private {
            return Err(why("the client's key", "leave `tls_cert` and `tls_key` out"));
        }
        let words = |pem: &Pem| String::from_utf8_lossy(pem.reveal()).into_owned();
        Ok(Database {
            name: name.to_owned(),
            password,
            authorities: target.tls.ca.as_ref().map(words),
            identity: target
                .tls
                .identity
                .as_ref()
                .map(|identity| (words(&identity.certificate), Secret::Text(words(&identity.key)))),
            target: target.clone(),
        })
    }

    /// As the driver knows it; errors say what to do.
    pub fn to_driver(&self) -> Result<Target, String> {
        let password = match &self.password {
            Secret::None => String::new(),
            Secret::Text(password) => password.clone(),
            Secret::Variable(name) => std::env::var(name).map_err(|_| {
                format!(
                    "target {}: the variable {name} with its password is not set for the agent there: passwords are not sent over an \
                     agent's TCP line, which is not encrypted: export {name} where the agent is started, or reach the node by ssh",
                    self.name
                )
            })?,
        };
        let mut target = self.target.clone();
        target.password = Password::new(password);
        if let (Some(ca), Some(text)) = (&mut target.tls.ca, &self.authorities) {
            *ca = Pem::new(&ca.path, text.as_str());
        }
        if let (Some(identity), Some((certificate, Secret::Text(key)))) = (&mut target.tls.identity, &self.identity) {
            identity.certificate = Pem::new(&identity.certificate.path, certificate.as_str());
            identity.key = Pem::new(&identity.key.path, key.as_str());
        }
        Ok(target)
    }
}

/// A node's part of a rung.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    pub target: Database,
    pub kind: String,
    pub options: BTreeMap<String, String>,
    pub driver: Driver,
    /// With the node's share in it.
    pub spec: RungSpec,
}

impl Order {
    /// `spec` is of the whole rung, of which this is the `index`-th of `parts`: connections of the load and idle ones.
    pub fn new(target: Database, task: &Task<'_>, share: Share, (index, parts): (u32, u32)) -> Order {
        let mut spec = task.spec.clone();
        spec.share = Some(share);
        spec.idle = spec.idle.map(|idle| Idle {
            per_server: Share::nth(idle.per_server, index, parts).connections,
            ..idle
        });
        spec.idle = spec.idle.filter(|idle| idle.per_server > 0);
        Order {
            target,
            kind: task.workload.kind_name().to_owned(),
            options: task.workload.options().clone(),
            driver: task.driver,
            spec,
        }
    }
}
