//! Who connects, and what all connections share.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::thread::JoinHandle;

use front::backend::Backend;
use front::{Accepted, Acceptor, Logins, Loops, Peer, Registry};
use mysql_wire::Output;
use mysql_wire::response::ErrPacket;
use types::ErrorKind;

use crate::config::Config;
use crate::connection;
use crate::rsa::Key;

/// What all connections of a server share.
pub struct Shared {
    pub config: Config,
    pub logins: Arc<Logins>,
    pub key: Arc<LazyLock<Key>>,
}

impl Shared {
    pub fn registry(&self) -> &Registry {
        self.logins.registry()
    }

    pub fn backend(&self) -> &dyn Backend {
        &**self.logins.backend()
    }
}

/// A running front. Dropping it, or [`Server::stop`], ends accepting; what was accepted goes on.
pub struct Server {
    acceptor: Acceptor,
    /// Makes the RSA key.
    key: JoinHandle<()>,
}

impl Server {
    /// Binds the address and the Unix socket, and serves who connects on `loops`.
    pub fn start(config: Config, loops: Loops, logins: Arc<Logins>) -> io::Result<Server> {
        let (addr, socket) = (config.addr, config.socket.clone());
        let shared = Arc::new(Shared {
            config,
            logins,
            key: Arc::new(LazyLock::new(Key::generate)),
        });
        let key = shared.key.clone();
        let welcome = move |stream, peer| welcome(stream, peer, &shared, &loops);
        let acceptor = Acceptor::start("mysql-accept", addr, socket.as_deref(), welcome)?;
        // It takes a while; this way it is there before somebody waits for it.
        let key = std::thread::Builder::new().name("mysql-key".into()).spawn(move || {
            LazyLock::force(&key);
        })?;
        Ok(Server { acceptor, key })
    }

    pub fn addr(&self) -> SocketAddr {
        self.acceptor.addr()
    }

    /// Comes back when no more connections are taken.
    pub async fn stop(self) {
        self.acceptor.stop().await;
        // A thread that ended by a panic has said so by itself.
        let _ = tokio::task::spawn_blocking(|| self.key.join()).await;
    }
}

fn welcome(stream: Accepted, peer: Peer, shared: &Arc<Shared>, loops: &Loops) {
    let Some(handle) = shared.registry().enter(peer) else {
        return turn_away(stream);
    };
    let shared = shared.clone();
    loops.dispatch(handle, move |load| async move {
        if let Ok(stream) = stream.register() {
            connection::serve(stream, shared, load.handle().clone()).await;
        }
    });
}

/// 1040 in the place of a greeting.
fn turn_away(mut stream: Accepted) {
    let kind = ErrorKind::ConCount;
    let sqlstate = kind.sqlstate().as_bytes().try_into().unwrap_or(*b"HY000");
    let mut output = Output::new(Vec::new());
    output.packet(|out| {
        ErrPacket {
            code: kind.code(),
            sqlstate,
            message: kind.format().as_bytes(),
        }
        .encode(out)
    });
    // The socket's buffer is empty and takes the packet at once, or the client is gone.
    let _ = stream.write_now(output.as_slice());
}
