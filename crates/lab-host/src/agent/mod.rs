//! The lab's end on a node: answers requests for probes, samples, the time and, where allowed, commands; and holds talks with
//! services that are plugged in ([`service`]).
//!
//! ```text
//!   coordinator                              agent
//!        │  {"id":7,"do":"watch","plan":{…}}   │
//!        ├────────────────────────────────────▶│  each request on a thread of its own, a few at once
//!        │◀────────────────────────────────────┤  {"id":7,"ok":null}
//!        │◀────────────────────────────────────┤  {"sample":{…}}        each second, until the line ends
//! ```
//!
//! Over ssh the line is stdin and stdout, and ssh answers for who is at the other end. Over TCP both ends prove that they know
//! a shared token ([`token`]); what follows is neither hidden nor sealed, so that way is for networks that are trusted. Here
//! as there every line, every count and every wait has its limit.

mod command;
pub(crate) mod line;
pub(crate) mod protocol;
mod serve;
pub mod service;
pub(crate) mod token;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt;

use crate::{Context, HostError};
pub(crate) use serve::serve;
pub use service::{Clock, Heard, Service, Talk};

const MOST_CONNECTIONS: u32 = 16;
/// A coordinator that takes nothing for so long is gone.
const WRITE_LIMIT: Duration = Duration::from_secs(20);
const SHORTEST_TOKEN: usize = 16;

/// How an agent serves.
#[derive(Debug, Clone, Default)]
pub struct AgentOptions {
    /// Commands are run on request. Over ssh that gives nothing away that ssh does not; over TCP it must be asked for.
    pub allow_commands: bool,
    /// This control group is the node (see [`crate::WatchPlan::cgroup`]), unless the coordinator names another.
    pub cgroup: Option<String>,
    /// What else it can be asked for.
    pub services: Vec<Arc<dyn Service>>,
    pub clock: Clock,
}

/// Serves one coordinator on stdin and stdout until it closes them: `latsdb lab agent --stdio`.
pub fn serve_stdio(options: &AgentOptions) -> Result<(), HostError> {
    serve(std::io::stdin(), std::io::stdout(), options)
}

/// Serves coordinators that know `token` on `address` for ever: `latsdb lab agent --listen ADDRESS`.
/// `on_listening` is called once, with the address that was bound.
pub fn serve_tcp(
    address: &str,
    token: &str,
    options: &AgentOptions,
    on_listening: impl FnOnce(SocketAddr),
) -> Result<(), HostError> {
    if token.len() < SHORTEST_TOKEN {
        return Err(HostError::Refused {
            node: "agent".to_owned(),
            why: format!("a token of at least {SHORTEST_TOKEN} characters is wanted, or anybody could guess it"),
        });
    }
    let listener = TcpListener::bind(address).context(|| format!("listening on {address}"))?;
    on_listening(listener.local_addr().context(|| "the listening address".to_owned())?);
    let open = Arc::new(AtomicU32::new(0));
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // Out of descriptors, most likely: what is open will end.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (counted, token, options) = (open.clone(), token.to_owned(), options.clone());
        let connection = move || {
            // Whoever fails to prove the token learns nothing; a line that breaks is the coordinator's to report.
            let _ = serve_connection(stream, &token, &options);
            counted.fetch_sub(1, Ordering::Relaxed);
        };
        if thread::Builder::new()
            .name("lab-agent".to_owned())
            .spawn(connection)
            .is_err()
        {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn serve_connection(stream: TcpStream, token: &str, options: &AgentOptions) -> Result<(), HostError> {
    let prepare = || {
        notice_death(&stream)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(token::TIME_LIMIT))?;
        stream.set_write_timeout(Some(WRITE_LIMIT))
    };
    prepare().context(|| "preparing a connection".to_owned())?;
    token::admit(&stream, token)?;
    stream
        .set_read_timeout(None)
        .context(|| "preparing a connection".to_owned())?;
    let reader = stream.try_clone().context(|| "preparing a connection".to_owned())?;
    serve(reader, stream, options)
}

/// A machine that lost its power says nothing: without being asked the other end would wait for ever.
pub(crate) fn notice_death(stream: &TcpStream) -> std::io::Result<()> {
    const EACH: Duration = Duration::from_secs(5);
    const TIMES: u32 = 3;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, EACH)?;
    sockopt::set_tcp_keepintvl(stream, EACH)?;
    sockopt::set_tcp_keepcnt(stream, TIMES)?;
    sockopt::set_tcp_user_timeout(stream, (EACH * (TIMES + 1)).as_millis() as u32)?;
    Ok(())
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

#[cfg(test)]
mod tests;
