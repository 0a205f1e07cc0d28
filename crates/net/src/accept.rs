//! Who comes in: connections are strangers until they have said who they are.
//!
//! A stranger gets a fixed small buffer and a short time. There are only so many of them: one more ends the oldest, so that idle ones
//! cannot keep out a node, which says its name at once.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::hello::{HELLO_BYTES, Hello, NoHello, REASON_BYTES, Refused, Verdict, may_be_hello};
use crate::owner::Ends;
use crate::serve::{Serving, serve};
use crate::shared::Shared;
use crate::socket::Socket;

/// How long accepting rests when the system has no more descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections for ever.
pub async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let strangers = Arc::new(Strangers {
        limit: shared.limits.strangers.max(1),
        oldest_first: Mutex::default(),
    });
    let serving = Arc::new(Serving::default());
    for number in 0.. {
        let (stream, addr) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection of a node");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let place = Place {
            number,
            strangers: strangers.clone(),
        };
        let task = tokio::spawn(welcome(stream, addr, place, shared.clone(), serving.clone()));
        if strangers.add(number, task.abort_handle()) {
            shared.turned_away.fetch_add(1, Relaxed);
        }
    }
}

/// Connections of nobody known.
struct Strangers {
    limit: usize,
    oldest_first: Mutex<VecDeque<(u64, AbortHandle)>>,
}

impl Strangers {
    /// True when the oldest one had to go.
    fn add(&self, number: u64, task: AbortHandle) -> bool {
        let mut strangers = self.oldest_first.lock();
        strangers.push_back((number, task));
        if strangers.len() <= self.limit {
            return false;
        }
        let oldest = strangers.pop_front();
        drop(strangers);
        oldest.is_some_and(|(_, task)| {
            task.abort();
            true
        })
    }
}

/// A connection's place among the strangers.
struct Place {
    number: u64,
    strangers: Arc<Strangers>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut strangers = self.strangers.oldest_first.lock();
        if let Ok(at) = strangers.binary_search_by_key(&self.number, |(number, _)| *number) {
            strangers.remove(at);
        }
    }
}

async fn welcome(stream: TcpStream, addr: SocketAddr, place: Place, shared: Arc<Shared>, serving: Arc<Serving>) {
    let limit = shared.limits.handshake_timeout;
    let (socket, theirs, is_member) = match timeout(limit, greet(stream, &shared)).await {
        Ok(Ok(greeted)) => greeted,
        Ok(Err(away)) => {
            shared.turned_away.fetch_add(1, Relaxed);
            let (subject, reason) = match away {
                Away::Stranger(reason) => (format!("stranger {}", addr.ip()), reason),
                Away::Refused(node, refused) => (format!("caller {node} {}", addr.ip()), refused.reason),
            };
            if shared.is_news(&subject, &reason) {
                tracing::warn!(%addr, reason, "a connection is refused");
            }
            return;
        }
        Err(_late) => {
            shared.turned_away.fetch_add(1, Relaxed);
            tracing::debug!(%addr, "a connection did not say who it is in time");
            return;
        }
    };
    shared.is_over(&format!("caller {} {}", theirs.who.node, addr.ip()));
    // A member gives its place back. Others can still be ended for a newer one.
    let place = (!is_member).then_some(place);
    serve(socket, &theirs, is_member, &shared, &serving).await;
    drop(place);
}

/// Why a connection is not served.
enum Away {
    Stranger(String),
    Refused(u32, Refused),
}

async fn greet(stream: TcpStream, shared: &Shared) -> Result<(Socket, Hello, bool), Away> {
    let ended = |error: std::io::Error| Away::Stranger(error.to_string());
    stream.set_nodelay(true).map_err(ended)?;
    let mut socket = match &shared.tls {
        None => {
            if !shared.trusts_all {
                let ends = Ends::of(&stream).map_err(ended)?;
                ends.check().map_err(Away::Stranger)?;
            }
            Socket::plain(stream)
        }
        Some(tls) => tls.accept(stream).await.map_err(Away::Stranger)?,
    };
    let theirs = read_hello(&mut socket).await.map_err(Away::Stranger)?;
    let met = shared.meet(0, &theirs, socket.names.as_ref());
    let mut own = shared.hello(theirs.lane, theirs.who.node);
    let mut answer = Vec::with_capacity(HELLO_BYTES + REASON_BYTES);
    match &met {
        Ok(_) => answer.extend_from_slice(&own.encode()),
        Err(refused) => {
            let reason = &refused.reason.as_bytes()[..refused.reason.len().min(REASON_BYTES)];
            own.verdict = Verdict::Refused {
                refusal: refused.refusal,
                reason_bytes: reason.len() as u16,
            };
            answer.extend_from_slice(&own.encode());
            answer.extend_from_slice(reason);
        }
    }
    socket.writer.write_all(&answer).await.map_err(ended)?;
    socket.writer.flush().await.map_err(ended)?;
    match met {
        Ok(is_member) => Ok((socket, theirs, is_member)),
        Err(refused) => Err(Away::Refused(theirs.who.node, refused)),
    }
}

async fn read_hello(socket: &mut Socket) -> Result<Hello, String> {
    let mut bytes = [0; HELLO_BYTES];
    let mut read = 0;
    while read < HELLO_BYTES {
        match socket.reader.read(&mut bytes[read..]).await {
            Ok(0) => return Err("the other end has closed the connection before it said who it is".into()),
            Ok(more) => read += more,
            Err(error) => return Err(error.to_string()),
        }
        if !may_be_hello(&bytes[..read]) {
            return Err(NoHello::Magic.to_string());
        }
    }
    Hello::decode(&bytes).map_err(|error| error.to_string())
}
