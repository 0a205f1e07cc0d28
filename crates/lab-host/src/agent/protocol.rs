//! What coordinator and agent say to each other: one JSON object per line.

use std::net::IpAddr;

use lab_results::NodeSample;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::probe::network::{Door, Width};
use crate::{ProbePlan, WatchPlan};

/// Counts up when an older end would misunderstand a newer one.
pub const VERSION: u32 = 2;
/// A request is small; an answer may hold many histograms.
pub const LONGEST_REQUEST: usize = 256 * 1024;
pub const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// The agent's first line. What comes before it over ssh (a message of the day) is skipped.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    pub lab_agent: u32,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Numbered {
    pub id: u64,
    #[serde(flatten)]
    pub request: Request,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// The node's wall clock, in microseconds.
    Time,
    Probe {
        node: String,
        plan: ProbePlan,
    },
    /// Starts the stream of samples, or replaces its plan.
    Watch {
        node: String,
        plan: WatchPlan,
    },
    /// Opens a listener for network probes; answers its [`Door`] with an empty host.
    Listen {
        bind: IpAddr,
    },
    NetworkProbe {
        door: Door,
        width: Width,
    },
    Run {
        command: String,
        limit_ms: u64,
    },
    /// Begins a talk with a service; its number is this request's.
    Open {
        service: String,
    },
    /// Is not answered.
    Say {
        talk: u64,
        said: Value,
    },
    /// Ends a talk; is not answered.
    Close {
        talk: u64,
    },
}

impl Request {
    pub fn what(&self) -> &'static str {
        match self {
            Request::Time => "the time",
            Request::Probe { .. } => "the probes",
            Request::Watch { .. } => "the watch",
            Request::Listen { .. } => "the network listener",
            Request::NetworkProbe { .. } => "the network probe",
            Request::Run { .. } => "the command",
            Request::Open { .. } | Request::Say { .. } | Request::Close { .. } => "a talk",
        }
    }
}

/// The agent's lines after the first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FromAgent {
    Ok {
        id: u64,
        ok: Value,
    },
    Error {
        id: u64,
        error: String,
    },
    Sample {
        sample: Box<NodeSample>,
    },
    Said {
        talk: u64,
        said: Value,
    },
    /// The service ended the talk.
    Over {
        talk: u64,
        over: String,
    },
}
