//! Who connects, and what all connections share.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use front::{Accepted, Acceptor, Logins, Loops, Peer, Tls};
use keyspace::Keyspace;

use crate::connection;

/// What all connections share.
pub struct Shared {
    pub logins: Arc<Logins>,
    pub keyspace: Arc<Keyspace>,
    pub tls: Option<Tls>,
    /// A client that has begun a request gets so long for progress.
    pub read_timeout: Duration,
    /// A client that takes nothing of its answers is waited for so long.
    pub write_timeout: Duration,
}

const READ_TIMEOUT: Duration = Duration::from_secs(30);
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// A running front. Dropping it, or [`Server::stop`], ends accepting; what was accepted goes on.
pub struct Server {
    acceptor: Acceptor,
}

impl Server {
    /// Binds the address, and serves who connects on `loops`.
    pub fn start(
        addr: SocketAddr,
        loops: Loops,
        logins: Arc<Logins>,
        keyspace: Arc<Keyspace>,
        tls: Option<Tls>,
    ) -> io::Result<Server> {
        let shared = Arc::new(Shared {
            logins,
            keyspace,
            tls,
            read_timeout: READ_TIMEOUT,
            write_timeout: WRITE_TIMEOUT,
        });
        let welcome = move |stream, peer| welcome(stream, peer, &shared, &loops);
        let acceptor = Acceptor::start("redis-accept", addr, None, welcome)?;
        Ok(Server { acceptor })
    }

    pub fn addr(&self) -> SocketAddr {
        self.acceptor.addr()
    }

    /// Comes back when no more connections are taken.
    pub async fn stop(self) {
        self.acceptor.stop().await;
    }
}

fn welcome(mut stream: Accepted, peer: Peer, shared: &Arc<Shared>, loops: &Loops) {
    let Some(handle) = shared.logins.registry().enter(peer) else {
        // The socket's buffer is empty and takes the line at once, or the client is gone.
        let _ = stream.write_now(b"-ERR max number of clients reached\r\n");
        return;
    };
    let shared = shared.clone();
    loops.dispatch(handle, move |load| async move {
        if let Ok(stream) = stream.register() {
            connection::serve(stream, shared, load.handle().clone()).await;
        }
    });
}
