//! The machines of a measurement: what they can do, what they did each second, and which of them was the limit.
//!
//! ```text
//!   coordinator ── Host ──(ssh's stdin and stdout, TCP with a token, or a socket pair)── agent ── probes
//!                    │                                                                     └───── watch
//!                    ├── NodeProbes   what the machine can do          ─┐
//!                    └── NodeSample   what it did, second by second    ─┴─ verdict, cost, explanation
//! ```
//!
//! In reading order:
//!
//! 1. [`host`]: a node as the coordinator holds it: probe it, watch it, run a command on it; `link` is its line.
//! 2. [`agent`]: the other end of that line, on the node itself, and the services that others plug into it.
//! 3. [`probe`]: what a machine can do, measured in process.
//! 4. [`watch`]: what it does, a sample each second.
//! 5. [`verdict`]: from samples and probes to the one thing that held the rate back, with the evidence.
//! 6. [`cost`] and [`explain`]: what an operation cost each node, and what one thread's latency is made of.

pub mod agent;
pub mod cost;
pub mod explain;
pub mod host;
mod link;
pub mod probe;
pub mod verdict;
pub mod watch;

use std::io;
use std::time::Duration;

pub use agent::AgentOptions;
pub use explain::explain_one_thread;
pub use host::{CommandOutput, Conversation, FromTalk, Host, Reach};
pub use link::ssh_host_name;
pub use probe::ProbePlan;
pub use verdict::{Evidence, judge};
pub use watch::WatchPlan;

/// Why a node did not give what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    /// The line to the node is gone; the node itself may be.
    #[error("{node}: the connection ended: {why}")]
    Gone { node: String, why: String },
    #[error("{node}: no answer to {what} within {} s", .after.as_secs())]
    TimedOut {
        node: String,
        what: String,
        after: Duration,
    },
    /// The agent answered that it will not, or could not.
    #[error("{node}: {why}")]
    Refused { node: String, why: String },
    #[error("{node}: {why}")]
    Protocol { node: String, why: String },
}

pub(crate) trait Context<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, HostError>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, HostError> {
        self.map_err(|source| HostError::Io {
            what: what(),
            source: source.into(),
        })
    }
}
