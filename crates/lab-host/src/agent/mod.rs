//! The lab's end on a node: answers requests for probes, samples, the time and, where allowed, commands.

use std::net::SocketAddr;

use crate::HostError;

/// How an agent serves.
#[derive(Debug, Clone, Default)]
pub struct AgentOptions {
    /// Commands are run on request. Over ssh that gives nothing away that ssh does not; over TCP it must be asked for.
    pub allow_commands: bool,
    /// This control group is the node (see [`crate::WatchPlan::cgroup`]), unless the coordinator names another.
    pub cgroup: Option<String>,
}

/// Serves one coordinator on stdin and stdout until it closes them: `latsdb lab agent --stdio`.
pub fn serve_stdio(options: &AgentOptions) -> Result<(), HostError> {
    let _ = options;
    Err(HostError::Refused {
        node: "agent".into(),
        why: "the agent is not built yet".into(),
    })
}

/// Serves coordinators that know `token` on `address` for ever: `latsdb lab agent --listen ADDRESS`.
/// `on_listening` is called once, with the address that was bound.
pub fn serve_tcp(
    address: &str,
    token: &str,
    options: &AgentOptions,
    on_listening: impl FnOnce(SocketAddr),
) -> Result<(), HostError> {
    let _ = (address, token, options, on_listening);
    Err(HostError::Refused {
        node: "agent".into(),
        why: "the agent is not built yet".into(),
    })
}
