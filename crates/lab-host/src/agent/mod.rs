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

/// Bytes that nobody can guess.
pub(crate) fn random_bytes() -> std::io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes)
}

/// Compares in a time that does not tell where the first difference is.
pub(crate) fn same_bytes(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |different, (a, b)| different | (a ^ b)) == 0
}
